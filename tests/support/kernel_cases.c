/* SPDX-License-Identifier: Apache-2.0 */
/* See the header. */
#include "tests/support/kernel_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isa/access.h"

#define KIB ((uint64_t)1024)
#define GIB (KIB * KIB * KIB)

/* Shorter cases are run many times each, element by element. */
enum { LONG_HEADS_FROM = 300 };

const struct named_capacity preset_capacities[] = {
	{ "tiny-256k",
	  { .limits = { 256 * KIB, 64 * KIB, 2 * GIB },
	    .sram_groups = 2,
	    .sram_word_bytes = 16,
	    .accum_banks = 4,
	    .array_rows = 16,
	    .array_cols = 16,
	    .vector_lanes = 16,
	    .dram_granule = 32,
	    .load_channels = 1,
	    .store_channels = 1,
	    .int8_ridge = 40 } },
	{ "edge-1mb",
	  { .limits = { 1024 * KIB, 256 * KIB, 4 * GIB },
	    .sram_groups = 4,
	    .sram_word_bytes = 32,
	    .accum_banks = 8,
	    .array_rows = 32,
	    .array_cols = 32,
	    .vector_lanes = 32,
	    .dram_granule = 32,
	    .load_channels = 2,
	    .store_channels = 1,
	    .int8_ridge = 60 } },
	{ "edge-2mb",
	  { .limits = { 2048 * KIB, 512 * KIB, 8 * GIB },
	    .sram_groups = 4,
	    .sram_word_bytes = 32,
	    .accum_banks = 8,
	    .array_rows = 64,
	    .array_cols = 64,
	    .vector_lanes = 128,
	    .dram_granule = 32,
	    .load_channels = 2,
	    .store_channels = 2,
	    .int8_ridge = 160 } },
	{ "server",
	  { .limits = { 16 * 1024 * KIB, 2048 * KIB, 8 * GIB },
	    .sram_groups = 8,
	    .sram_word_bytes = 64,
	    .accum_banks = 8,
	    .array_rows = 128,
	    .array_cols = 128,
	    .vector_lanes = 512,
	    .dram_granule = 32,
	    .load_channels = 8,
	    .store_channels = 8,
	    .int8_ridge = 128 } },
	{ .name = NULL },
};

const struct npu_capacity *preset_capacity(const char *name)
{
	for (const struct named_capacity *c = preset_capacities; c->name; c++)
		if (!strcmp(c->name, name))
			return &c->capacity;
	return NULL;
}

struct npu_capacity capacity_of_case(const struct named_capacity *preset, unsigned number)
{
	struct npu_capacity c = preset->capacity;
	if (number % 3 == 0)
		c.load_channels = 4;
	return c;
}

uint64_t case_below(struct case_rng *r, uint64_t n)
{
	r->state = r->state * 6364136223846793005u + 1442695040888963407u;
	return (r->state >> 33) % n;
}

static void set(const struct npu_kernel *k, struct npu_args *args, const char *name, uint64_t value)
{
	int i = npu_param_index(k, name);
	if (i < 0)
		return;
	args->value[i] = (int64_t)value;
	args->named[i] = true;
}

/* Where it has no effect it would be refused. */
static void set_used(const struct npu_kernel *k, struct npu_args *args, const char *name, uint64_t value)
{
	int i = npu_param_index(k, name);
	if (i >= 0 && npu_param_matters(k, args, (unsigned)i))
		set(k, args, name, value);
}

static uint64_t choices(const struct npu_kernel *k, const char *name)
{
	int i = npu_param_index(k, name);
	uint64_t n = 0;
	while (i >= 0 && k->params[i].choices[n])
		n++;
	return n ? n : 1;
}

/* Around powers of two as often as anywhere. */
static uint64_t random_length(struct case_rng *r, uint64_t longest)
{
	if (!case_below(r, 40))
		return 0;
	if (case_below(r, 2))
		return 1 + case_below(r, longest);
	uint64_t power = 1;
	while (power * 2 <= longest && case_below(r, 8))
		power *= 2;
	uint64_t length = power + case_below(r, 3);
	return length > 1 ? length - 1 : 1;
}

/* Weights and scales that go together; int4 in whole bytes, tiles of whole groups. A few rows where all of them stay in
 * SRAM. */
static void random_weights(const struct npu_kernel *k, struct npu_args *args, struct case_rng *r)
{
	enum { INT8 = 2, INT4 = 3 };
	int weights = npu_param_index(k, "weights"), group = npu_param_index(k, "group");
	set(k, args, "weights", case_below(r, choices(k, "weights")));
	set(k, args, "group", case_below(r, choices(k, "group")));
	int64_t type = args->value[weights];
	if (type < INT8)
		set(k, args, "weights", (uint64_t)npu_arg(k, args, "dtype", 0));
	if (args->value[weights] < INT8)
		set(k, args, "group", 0);
	args->named[group] = args->named[group] && case_below(r, 2);
	if (type == INT4)
		set(k, args, "n", (uint64_t)npu_arg(k, args, "n", 0) & ~1ull);
	if (type == INT4 && args->named[npu_param_index(k, "tile_n")])
		set(k, args, "tile_n", ((uint64_t)npu_arg(k, args, "tile_n", 0) + 1) & ~1ull);
	if (args->named[npu_param_index(k, "tile_k")])
		set(k, args, "tile_k", ((uint64_t)npu_arg(k, args, "tile_k", 0) + 127) & ~127ull);
	if (npu_param_index(k, "tile_m") < 0)
		set(k, args, "m", case_below(r, 9));
}

/* Small images; a filter lies within them. */
static void random_convolution(const struct npu_kernel *k, struct npu_args *args, struct case_rng *r)
{
	uint64_t height = 1 + case_below(r, 12), width = 1 + case_below(r, 12);
	set(k, args, "batch", 1 + case_below(r, 3));
	set(k, args, "height", height);
	set(k, args, "width", width);
	set(k, args, "channels", 1 + case_below(r, 40));
	set(k, args, "filter_h", 1 + case_below(r, height < 4 ? height : 4));
	set(k, args, "filter_w", case_below(r, 4) ? 1 + case_below(r, width < 4 ? width : 4) : width);
	set(k, args, "filters", 1 + case_below(r, 70));
	set(k, args, "stride", 1 + case_below(r, 3));
}

/* Tiles of whole blocks. */
static void random_layout(const struct npu_kernel *k, struct npu_args *args, struct case_rng *r)
{
	static const char *const tiles[] = { "tile_m", "tile_n", "tile_k" };
	uint64_t layout = case_below(r, choices(k, "layout")), side = layout ? 8u << layout : 1;
	set(k, args, "layout", layout);
	for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++)
		if (args->named[npu_param_index(k, tiles[i])])
			set(k, args, tiles[i], ((uint64_t)npu_arg(k, args, tiles[i], 0) + side - 1) / side * side);
}

/* Half of the operands lie otherwise than `layout` says. */
static void random_operand_layouts(const struct npu_kernel *k, struct npu_args *args, struct case_rng *r)
{
	static const char *const operands[] = { "a_layout", "b_layout", "c_layout" };
	static const char *const tiles[] = { "tile_m", "tile_n", "tile_k" };
	uint64_t side = 1;
	for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++) {
		uint64_t layout = case_below(r, choices(k, operands[i]));
		set(k, args, operands[i], layout);
		side = layout > 1 && side < 4u << layout ? 4u << layout : side;
	}
	for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++)
		if (args->named[npu_param_index(k, tiles[i])])
			set(k, args, tiles[i], ((uint64_t)npu_arg(k, args, tiles[i], 0) + side - 1) / side * side);
}

/* Whatever has rows of one length: norms, rope, element by element, embeddings. */
static void random_rows(const struct npu_kernel *k, struct npu_args *args, uint64_t longest, struct case_rng *r)
{
	static const char *const enums[] = { "eps", "unit_offset", "bias", "interleaved", "act" };
	for (size_t i = 0; i < sizeof enums / sizeof enums[0]; i++)
		if (npu_param_index(k, enums[i]) >= 0)
			set(k, args, enums[i], case_below(r, choices(k, enums[i])));
	set(k, args, "rows", random_length(r, longest));
	set(k, args, "cols", 1 + random_length(r, longest));
	set(k, args, "vocab", 1 + random_length(r, longest));
	int64_t dim = npu_arg(k, args, "head_dim", 2);
	if (npu_param_index(k, "rotary") >= 0 && dim < 2)
		set(k, args, "head_dim", 2);
	if (case_below(r, 2))
		set(k, args, "rotary", 2 + 2 * case_below(r, (uint64_t)npu_arg(k, args, "head_dim", 2) / 2));
}

/* Several sequences of a paged cache, of at least a token: new ones, types that go together. */
static void random_batch(const struct npu_kernel *k, struct npu_args *args, struct case_rng *r)
{
	enum { HALF = 2, INT4 = 2 };
	uint64_t seq = (uint64_t)npu_arg(k, args, "seq", 1), shortest, batch = 1 + case_below(r, 3);
	uint64_t dim = (uint64_t)npu_arg(k, args, "head_dim", 1), kv, group;
	seq = seq ? seq : 1;
	shortest = batch > 1 && case_below(r, 2) ? 1 + case_below(r, seq) : seq;
	set(k, args, "batch", batch);
	set(k, args, "seq", seq);
	if (shortest < seq)
		set(k, args, "seq_min", shortest);
	set(k, args, "chunk", 1 + case_below(r, case_below(r, 2) ? shortest : shortest < 40 ? shortest : 40));
	set(k, args, "splits", case_below(r, 2) ? 1 : 1 + case_below(r, 4));
	do {
		kv = case_below(r, 3);
		group = case_below(r, 3);
	} while (kv && dim % ((group == HALF ? 2 : 1) * (kv == INT4 ? 2 : 1)));
	set(k, args, "kv_layout", case_below(r, 2));
	if (!case_below(r, 3))
		set(k, args, "gather", 1);
	set(k, args, "kv", kv);
	set(k, args, "kv_group", kv ? group : 1);
	set(k, args, "dequant", kv ? case_below(r, 2) : 0);
}

void random_heads(const struct npu_kernel *k, struct npu_args *args, struct case_rng *r)
{
	enum { HALF = 2, PAGES = 2 };
	if (npu_param_index(k, "heads_at_once") < 0)
		return;
	bool halves = npu_arg(k, args, "kv", 0) && npu_arg(k, args, "kv_group", 0) == HALF;
	if (case_below(r, 3))
		set(k, args, "heads_at_once", 1 + case_below(r, 4));
	if (npu_arg(k, args, "kv_layout", 0) || halves || case_below(r, 2))
		return;
	set(k, args, "gather", PAGES);
	set(k, args, "tile_kv", (uint64_t)npu_arg(k, args, "page", 1) * (1 + case_below(r, 3)));
}

/* Few heads with rows so long that a tile of keys may be one of those that are loaded in turn. */
static void random_long_heads(const struct npu_kernel *k, struct npu_args *args, struct case_rng *r)
{
	set(k, args, "head_dim", 512ull << case_below(r, 2));
	set(k, args, "kv_heads", 1);
	set(k, args, "heads", 1 + case_below(r, 2));
	if (npu_param_index(k, "page") < 0)
		set(k, args, "tile_kv", 64ull << case_below(r, 3));
}

void random_args(const struct npu_kernel *k, struct npu_args *args, uint64_t longest, struct case_rng *r)
{
	static const uint64_t dims[] = { 1, 5, 16, 33, 64, 80, 96, 128, 256 };
	static const char *const names[] = { "m", "n", "k", "page" };
	static const char *const tiles[] = { "tile_m", "tile_n", "tile_k", "tile_q", "tile_kv", "tile_rows" };
	static const char *const enums[] = { "dtype", "mask", "fused", "buffering" };
	uint64_t seq = random_length(r, longest);
	uint64_t kv_heads = 1 + case_below(r, 3);

	npu_args_init(k, args);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		set(k, args, names[i], strcmp(names[i], "page") ? random_length(r, longest) : 1 + random_length(r, longest - 1));
	for (size_t i = 0; i < sizeof enums / sizeof enums[0]; i++)
		set(k, args, enums[i], case_below(r, choices(k, enums[i])));
	for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++)
		if (case_below(r, 2))
			set(k, args, tiles[i], 1 + random_length(r, longest - 1));
	set(k, args, "seq", seq);
	if (case_below(r, 2))
		set(k, args, "seq_q", case_below(r, seq + 2 + seq / 4));
	set(k, args, "kv_heads", kv_heads);
	set(k, args, "heads", kv_heads << case_below(r, 3));
	uint64_t dim = dims[case_below(r, sizeof dims / sizeof dims[0])];
	set(k, args, "head_dim", longest < 256 && dim > longest ? longest : dim);
	if (npu_param_index(k, "weights") >= 0)
		random_weights(k, args, r);
	if (npu_param_index(k, "filter_h") >= 0)
		random_convolution(k, args, r);
	if (npu_param_index(k, "order") >= 0)
		set(k, args, "order", case_below(r, choices(k, "order")));
	if (npu_param_index(k, "layout") >= 0)
		random_layout(k, args, r);
	set_used(k, args, "window", 1 + random_length(r, longest - 1));
	set_used(k, args, "valid", case_below(r, seq + 1));
	set(k, args, "seed", case_below(r, 1000));
	if (npu_param_index(k, "rows") >= 0)
		random_rows(k, args, longest, r);
	if (npu_param_index(k, "kv_layout") >= 0)
		random_batch(k, args, r);
	/* From numbers of their own: what else is drawn does not hang on them. */
	struct case_rng own = *r;
	if (npu_param_index(k, "softcap") >= 0 && !case_below(&own, 3))
		set(k, args, "softcap", 1 + case_below(&own, 60));
	if (npu_param_index(k, "to") >= 0) {
		set(k, args, "to", case_below(&own, 2));
		set(k, args, "group", case_below(&own, 100));
		int64_t cols = npu_arg(k, args, "cols", 2);
		set(k, args, "cols", (uint64_t)(cols + (npu_arg(k, args, "to", 0) && cols % 2)));
	}
	/* The paged one does without, too. */
	if (npu_param_index(k, "window") >= 0 && npu_param_index(k, "chunk") >= 0 && case_below(&own, 2))
		set(k, args, "window", 0);
	/* int8 sums may be the result, which has no bias; nor has gemv without sums. */
	bool sums = npu_arg(k, args, "k", 0) > 0 || npu_param_index(k, "order") >= 0;
	if (npu_param_index(k, "weights") >= 0 && npu_arg(k, args, "dtype", 0) < 2 && sums)
		set(k, args, "bias", case_below(&own, 2));
	if (npu_param_index(k, "hidden") >= 0)
		set(k, args, "hidden", !case_below(&own, 3));
	if (npu_param_index(k, "a_layout") >= 0)
		random_operand_layouts(k, args, &own);
	if (npu_param_index(k, "tile_kv") >= 0 && longest >= LONG_HEADS_FROM && !case_below(&own, 4))
		random_long_heads(k, args, &own);
}

/* Whether bytes [at, at + bytes) of a local memory lie in a buffer that lives at instruction `insn`. */
static bool in_live_buffer(const struct npu_program *p, uint32_t insn, bool accum, uint64_t at, uint64_t bytes)
{
	for (uint32_t i = 0; i < p->nbuffers; i++) {
		const struct npu_buffer *b = &p->buffers[i];
		uint64_t from = npu_local_offset(b->local);
		if (npu_is_acc(b->local) == accum && b->first <= insn && insn < b->end && at >= from &&
		    at + bytes <= from + b->bytes)
			return true;
	}
	return false;
}

static bool buffers_hold(const struct npu_program *p, uint32_t insn, char *why, uint64_t size)
{
	struct npu_access access[NPU_MAX_ACCESSES];
	unsigned n = npu_insn_accesses(&p->insns[insn], access);
	for (unsigned i = 0; i < n; i++) {
		const struct npu_access *a = &access[i];
		uint64_t bytes = (a->rows - 1) * a->stride + a->row_bytes;
		if (a->space == NPU_SPACE_DRAM || in_live_buffer(p, insn, a->space == NPU_SPACE_ACCUM, a->base, bytes))
			continue;
		snprintf(why, size, "#%u %s: %s, %llu bytes at 0x%llx, lies in no live buffer", insn,
			 npu_op_mnemonic(p->insns[insn].op), a->operand, (unsigned long long)bytes,
			 (unsigned long long)a->base);
		return false;
	}
	return true;
}

bool program_order_is_legal(const struct npu_program *p, char *why, uint64_t size)
{
	uint64_t *count = calloc(p->nsems + 1, sizeof *count);
	bool ok = count != NULL;
	for (uint32_t s = 0; ok && s < p->nsems; s++)
		count[s] = p->sems[s].initial;

	for (uint32_t i = 0; ok && i < p->ninsns; i++) {
		const struct npu_insn *insn = &p->insns[i];
		enum npu_engine engine = npu_op_engine(insn->op);
		for (int slot = 0; ok && slot < NPU_SYNC_SLOTS; slot++) {
			const struct npu_sem_ref *w = &insn->wait[slot];
			if (w->count && (count[w->sem] < w->count || p->sems[w->sem].waiter != engine)) {
				snprintf(why, size, "#%u %s waits for %s, which holds %llu", i,
					 npu_op_mnemonic(insn->op), p->sems[w->sem].name,
					 (unsigned long long)count[w->sem]);
				ok = false;
			}
			if (ok && w->count)
				count[w->sem] -= w->count;
		}
		for (int slot = 0; ok && slot < NPU_SYNC_SLOTS; slot++) {
			const struct npu_sem_ref *post = &insn->post[slot];
			if (!post->count)
				continue;
			count[post->sem] += post->count;
			if (count[post->sem] > p->sems[post->sem].max || p->sems[post->sem].poster != engine) {
				snprintf(why, size, "#%u %s posts %s against its declaration", i,
					 npu_op_mnemonic(insn->op), p->sems[post->sem].name);
				ok = false;
			}
		}
		ok = ok && buffers_hold(p, i, why, size);
	}
	/* A full slot that nobody took, or a semaphore that nobody waits for. (A load may have taken the free slot of a
	 * tile that never comes.) */
	for (uint32_t s = 0; ok && s < p->nsems; s++)
		if (count[s] > p->sems[s].initial || p->sems[s].waiter == NPU_ENGINES) {
			/* One slot of a ring may never be used when there are few tiles. */
			bool used = p->sems[s].poster != NPU_ENGINES || p->sems[s].waiter != NPU_ENGINES;
			if (used) {
				snprintf(why, size, "%s ends at %llu, began at %u", p->sems[s].name,
					 (unsigned long long)count[s], p->sems[s].initial);
				ok = false;
			}
		}
	free(count);
	return ok;
}

/* What is known when instruction i starts: how many instructions of each engine have ended. */
struct known {
	uint32_t ended[NPU_ENGINES];
};

struct race_walk {
	const struct npu_program *program;
	struct known *known;          /* [ninsns] */
	uint32_t *queue[NPU_ENGINES]; /* instructions of each engine in order */
	uint32_t length[NPU_ENGINES];
	uint32_t **posts;         /* [nsems] the instruction of each post */
	uint32_t *nposts, *taken; /* [nsems] posts given, counts taken */
};

static void learn(struct known *k, const struct known *from)
{
	for (int e = 0; e < NPU_ENGINES; e++)
		if (from->ended[e] > k->ended[e])
			k->ended[e] = from->ended[e];
}

/* The wait has taken posts up to one; that instruction, and all before it in its queue, have ended. */
static void learn_from_wait(struct race_walk *w, struct known *k, const struct npu_sem_ref *wait)
{
	uint32_t initial = w->program->sems[wait->sem].initial;
	w->taken[wait->sem] += wait->count;
	if (w->taken[wait->sem] <= initial)
		return;
	uint32_t poster = w->posts[wait->sem][w->taken[wait->sem] - initial - 1];
	enum npu_engine e = npu_op_engine(w->program->insns[poster].op);
	learn(k, &w->known[poster]);
	for (uint32_t n = w->length[e]; n > k->ended[e]; n--)
		if (w->queue[e][n - 1] == poster)
			k->ended[e] = n;
}

static bool conflict(const struct npu_program *p, uint32_t i, uint32_t j)
{
	struct npu_access a[NPU_MAX_ACCESSES], b[NPU_MAX_ACCESSES];
	unsigned na = npu_insn_accesses(&p->insns[i], a), nb = npu_insn_accesses(&p->insns[j], b);
	for (unsigned x = 0; x < na; x++)
		for (unsigned y = 0; y < nb; y++)
			if ((a[x].write || b[y].write) && npu_access_overlap(&a[x], &b[y]))
				return true;
	return false;
}

static bool races_with_earlier(struct race_walk *w, uint32_t i, char *why, uint64_t size)
{
	const struct npu_program *p = w->program;
	enum npu_engine engine = npu_op_engine(p->insns[i].op);
	for (int e = 0; e < NPU_ENGINES; e++)
		for (uint32_t n = w->known[i].ended[e]; e != (int)engine && n < w->length[e]; n++)
			if (conflict(p, w->queue[e][n], i)) {
				uint32_t other = w->queue[e][n];
				snprintf(why, size, "#%u %s and #%u %s touch the same bytes in no order", other,
					 npu_op_mnemonic(p->insns[other].op), i, npu_op_mnemonic(p->insns[i].op));
				return true;
			}
	return false;
}

bool program_has_no_race(const struct npu_program *p, char *why, uint64_t size)
{
	struct race_walk w = { .program = p };
	bool ok = true;
	w.known = calloc(p->ninsns + 1, sizeof *w.known);
	w.posts = calloc(p->nsems + 1, sizeof *w.posts);
	w.nposts = calloc(p->nsems + 1, sizeof *w.nposts);
	w.taken = calloc(p->nsems + 1, sizeof *w.taken);
	for (int e = 0; e < NPU_ENGINES; e++)
		w.queue[e] = calloc(p->ninsns + 1, sizeof *w.queue[e]);

	for (uint32_t i = 0; ok && i < p->ninsns; i++) {
		const struct npu_insn *insn = &p->insns[i];
		enum npu_engine e = npu_op_engine(insn->op);
		if (w.length[e])
			learn(&w.known[i], &w.known[w.queue[e][w.length[e] - 1]]);
		for (int s = 0; s < NPU_SYNC_SLOTS; s++)
			if (insn->wait[s].count)
				learn_from_wait(&w, &w.known[i], &insn->wait[s]);
		ok = !races_with_earlier(&w, i, why, size);
		w.queue[e][w.length[e]++] = i;
		for (int s = 0; s < NPU_SYNC_SLOTS; s++)
			for (uint32_t n = 0; n < insn->post[s].count; n++) {
				uint32_t **posts = &w.posts[insn->post[s].sem], *count = &w.nposts[insn->post[s].sem];
				if ((*count & (*count - 1)) == 0)
					*posts = realloc(*posts, (*count ? 2 * (size_t)*count : 1) * sizeof **posts);
				(*posts)[(*count)++] = i;
			}
	}
	for (int e = 0; e < NPU_ENGINES; e++)
		free(w.queue[e]);
	for (uint32_t s = 0; s < p->nsems; s++)
		free(w.posts[s]);
	free(w.known);
	free(w.posts);
	free(w.nposts);
	free(w.taken);
	return ok;
}

struct npu_expect program_counts(const struct npu_program *p)
{
	struct npu_expect sum = { .instructions = p->ninsns };
	for (uint32_t i = 0; i < p->ninsns; i++) {
		const struct npu_insn *insn = &p->insns[i];
		uint64_t bytes = npu_insn_dram_bytes(insn);
		sum.macs += npu_insn_macs(insn);
		sum.useful_macs += npu_insn_macs(insn) - (insn->op == NPU_OP_MATMUL ? insn->matmul.masked : 0);
		if (npu_op_engine(insn->op) == NPU_ENGINE_STORE)
			sum.dram_write_bytes += bytes;
		else
			sum.dram_read_bytes += bytes;
		sum.dram_read_bytes += npu_insn_table_bytes(insn);
	}
	return sum;
}

unsigned case_length(const struct npu_kernel *k)
{
	static const char *const names[] = { "seq", "m", "rows", "height" };
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (npu_param_index(k, names[i]) >= 0)
			return (unsigned)npu_param_index(k, names[i]);
	fprintf(stderr, "%s: which of its parameters is its length?\n", k->name);
	abort();
}
