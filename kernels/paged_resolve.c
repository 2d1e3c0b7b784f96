/* SPDX-License-Identifier: Apache-2.0 */
/* Attention over a paged cache: closed forms, and parameters that belong together. */
#include <inttypes.h>

#include "isa/units.h"
#include "kernels/kernels.h"
#include "kernels/paged_emit.h"
#include "kernels/params.h"

/* ---- closed forms ---- */

static uint64_t pages_of(const struct paged *p, uint64_t from, uint64_t rows)
{
	return (from + rows - 1) / p->page - from / p->page + 1;
}

/* New tokens of sequence b. */
static void expect_append(const struct paged *p, uint64_t b, struct npu_expect *x)
{
	bool plain = p->mode == PAGED_PLAIN;
	uint64_t old = paged_length(p, b) - p->chunk, shared = p->scope == PAGED_TOKEN ? 1 : p->kv_heads;
	for (uint64_t t = 0; t < p->chunk && x->instructions <= NPU_MAX_INSNS; t += STAGED) {
		uint64_t rows = least(STAGED, p->chunk - t);
		uint64_t scatters = rows == 1 ? 1 : p->kv_heads;
		if (!plain)
			scatters += (rows == 1 ? 1 : shared) * p->halves;
		x->instructions += 2 * (1 + !plain + scatters);
		x->dram_read_bytes += 2 * 4 * scatters * pages_of(p, old + t, rows);
	}
	x->dram_read_bytes += 2 * p->chunk * p->kv_heads * p->dim * 2;
	x->dram_write_bytes += 2 * p->chunk * (p->kv_heads * p->row_bytes + (plain ? 0 : 2 * shared * p->halves));
}

/* How many gathers bring a tile of a head, or of all heads of a unit at once; `*entries` grows by those of the table
 * that they read. */
static uint64_t expect_gathers(const struct paged *p, uint64_t j, uint64_t keys, uint64_t *entries)
{
	uint64_t halves = p->mode == PAGED_PLAIN ? 0 : p->halves, pages = pages_of(p, j, keys);
	uint64_t both = (keys >= p->page) + (keys % p->page > 0);
	if (p->whole) {
		*entries += (1 + (halves > 0)) * pages;
		return (1 + (halves > 0)) * both;
	}
	uint64_t alone = (p->together ? 0 : 2) + (p->together && halves < 2 ? 0 : 2 * halves);
	uint64_t pairs = p->together ? 1 + (halves == 1) : 0;
	*entries += (alone + pairs) * pages;
	return alone + pairs * both;
}

/* What the vector engine does to K and V of a tile of `heads` kv heads before they are multiplied. */
static uint64_t expect_made(const struct paged *p, uint64_t heads, uint64_t keys)
{
	uint64_t parts = (keys >= p->page) + (keys % p->page > 0), scales = made_scales(p) ? heads : 1;
	if (!are_made(p))
		return 0;
	if (!p->whole)
		return 2 * heads * p->halves;
	if (!makes_heads(p))
		return 2 * tiles_of(keys, p->page);
	return 2 * parts * (heads + (p->mode == PAGED_MATRIX ? scales : 0));
}

/* Instructions of a unit of `heads` kv heads, but for its gathers and what is made of them. */
static uint64_t expect_unit(const struct paged *p, uint64_t heads, uint64_t tiles, uint64_t splits, uint64_t masked)
{
	uint64_t insns = 2 + (splits > 1 ? 4 * splits + 2 : 2);           /* q, o, what divides */
	insns += heads * tiles + tiles + masked * (heads * p->group - 1); /* scores, softmax */
	insns += p->softcap > 0 ? tiles : 0;
	/* On the array: q8; scales of q, weights and p8, their product and sum; rescales and additions. Else product;
	 * rescales. */
	if (p->mode == PAGED_MATRIX)
		return insns + 1 + tiles * (1 + p->halves * (2 + 2 * heads)) + 2 * (tiles - splits);
	return insns + heads * tiles + tiles - 1;
}

/* A unit of `heads` kv heads over queries [i, i + rows) of sequence b; K and V themselves are not counted. */
static void expect_heads(const struct paged *p, uint64_t b, uint64_t i, uint64_t heads, struct npu_expect *x)
{
	uint64_t length = paged_length(p, b), end = keys_of(p, length, i);
	uint64_t from = hidden_tiles(p, length, i) * p->tile_kv, tiles = tiles_seen(p, length, i);
	uint64_t splits = splits_of(p, tiles), entries = 0, gathers = 0, masked = 0, times = p->whole ? 1 : heads;
	uint64_t scales = p->whole && p->scope == PAGED_TOKEN ? 1 : heads; /* kv heads that read them */
	for (uint64_t j = from; j < end; j += p->tile_kv) {
		uint64_t keys = least(p->tile_kv, end - j);
		gathers += expect_gathers(p, j, keys, &entries);
		x->instructions += expect_made(p, heads, keys);
		masked += is_masked(p, &(struct step){
					   .b = b, .i = i, .j = j, .rows = least(p->tile_q, p->chunk - i), .keys = keys });
	}
	x->instructions += expect_unit(p, heads, tiles, splits, masked);
	x->instructions += times * gathers;
	x->dram_read_bytes += times * 4 * entries + (p->mode == PAGED_PLAIN ? 0 : scales * 2 * (end - from) * 2 * p->halves);
}

/* The units of all kv heads over queries [i, i + rows) of sequence b. */
static void expect_units(const struct paged *p, uint64_t b, uint64_t i, struct npu_expect *x)
{
	uint64_t length = paged_length(p, b), rows = least(p->tile_q, p->chunk - i), end = keys_of(p, length, i);
	uint64_t met = end - hidden_tiles(p, length, i) * p->tile_kv;
	struct npu_mask mask = paged_mask(p, end); /* of these queries alone, the last ones of what they see */
	mask.seq_q = rows;
	struct npu_expect each = { 0 }, rest = { 0 };
	expect_heads(p, b, i, p->at_once, &each);
	if (p->kv_heads % p->at_once)
		expect_heads(p, b, i, p->kv_heads % p->at_once, &rest);
	x->instructions += p->kv_heads / p->at_once * each.instructions + rest.instructions;
	x->macs += 2 * p->heads * rows * met * p->dim;
	x->useful_macs += 2 * p->heads * npu_mask_seen(&mask) * p->dim;
	x->dram_read_bytes += p->kv_heads / p->at_once * each.dram_read_bytes + rest.dram_read_bytes +
			      p->kv_heads * 2 * met * p->row_bytes;
}

struct npu_expect paged_expect(const struct npu_kernel *k, const struct npu_args *args)
{
	struct paged p = paged_of(k, args);
	uint64_t queries = p.batch * p.heads * p.chunk * p.dim * 2;
	struct npu_expect x = { .instructions = 1, .dram_read_bytes = queries, .dram_write_bytes = queries };
	/* More instructions than that are refused, however many. */
	for (uint64_t b = 0; b < p.batch && x.instructions <= NPU_MAX_INSNS; b++) {
		expect_append(&p, b, &x);
		for (uint64_t i = 0; i < p.chunk && x.instructions <= NPU_MAX_INSNS; i += p.tile_q)
			expect_units(&p, b, i, &x);
	}
	return x;
}

/* ---- parameters ---- */

static bool refuse(struct npu_error *err, const char *name, uint64_t value, const char *what)
{
	return npu_fail(err, NPU_ERR_VALUE, "%s=%" PRIu64 ": %s", name, value, what);
}

static bool check_unused(const struct npu_kernel *k, const struct npu_args *args, const char *name,
			 struct npu_error *err)
{
	int i = npu_param_index(k, name);
	if (!args->named[i] || args->value[i] == k->params[i].initial)
		return true;
	return npu_fail(err, NPU_ERR_VALUE, "%s=%s: has no effect with kv=fp16, only with kv=int8 and kv=int4", name,
			k->params[i].choices[args->value[i]]);
}

static bool check_types(const struct npu_kernel *k, const struct npu_capacity *c, const struct npu_args *args,
			const struct paged *p, struct npu_error *err)
{
	if (p->mode == PAGED_PLAIN)
		return check_unused(k, args, "kv_group", err) && check_unused(k, args, "dequant", err);
	uint64_t part = p->scope == PAGED_HALF ? 2 : 1, packed = p->kv == NPU_INT4 ? 2 : 1;
	if (p->dim % (part * packed))
		return npu_fail(err, NPU_ERR_VALUE,
				"head_dim=%" PRIu64 ": must be a multiple of %" PRIu64 " with kv=%s%s", p->dim,
				part * packed, npu_dtype_name(p->kv), part == 2 ? " kv_group=half" : "");
	if (p->kv == NPU_INT4 && c->no_transpose_b)
		return npu_fail(
		    err, NPU_ERR_VALUE,
		    "kv=int4: K would have to be turned by the DMA, which moves whole bytes, as the array has no "
		    "transposer (matrix.transposer=no); kv=int8 can be");
	return true;
}

static bool check_sizes(const struct paged *p, const struct npu_args *args, const struct npu_kernel *k,
			struct npu_error *err)
{
	uint64_t most_pages = tiles_of(p->seq, p->page);
	int tile_q = npu_param_index(k, "tile_q");
	if (p->kv_heads * p->dim > MAX_LENGTH)
		return refuse(err, "kv_heads", p->kv_heads, "kv_heads x head_dim must be less than 1,048,576");
	if (p->kv_heads * 2 * p->page * p->row_bytes > UINT32_MAX)
		return refuse(err, "page", p->page, "kv_heads x 2 x page x head_dim must be less than 4 GiB");
	if (most_pages * p->kv_heads >= 1 << 24)
		return refuse(err, "page", p->page, "kv_heads x pages of a sequence must be less than 16,777,216");
	if (p->pages > UINT32_MAX)
		return refuse(err, "batch", p->batch, "there must be less than 4,294,967,296 pages");
	if (p->group >= 1 << 18)
		return refuse(err, "heads", p->heads, "there must be less than 262,144 queries of a kv head");
	if (tile_q >= 0 && args->named[tile_q] && (p->tile_q * p->dim > MAX_LENGTH || p->group * p->tile_q >= 1 << 18))
		return refuse(
		    err, "tile_q", p->tile_q,
		    "tile_q x head_dim must be less than 1,048,576, and tile_q x heads / kv_heads less than 262,144");
	return true;
}

/* Sums of products of 127 and 128 in int32. */
enum { MOST_INTEGER_KEYS = INT32_MAX / (127 * 128) };

static bool try_place(const struct npu_kernel *k, struct npu_builder *b, const struct npu_args *args)
{
	struct emitter e = { .b = b, .p = paged_of(k, args) };
	return paged_place(&e);
}

static bool try_decode(struct npu_builder *b, const struct npu_args *args)
{
	return try_place(&npu_decode_attention_paged, b, args);
}

static bool try_prefill(struct npu_builder *b, const struct npu_args *args)
{
	return try_place(&npu_prefill_attention_paged, b, args);
}

/* Of the one tile that may grow: all else stays the same. */
static struct tile_cost decode_cost(const struct npu_capacity *c, const struct npu_args *args)
{
	struct paged p = paged_of(&npu_decode_attention_paged, args);
	struct npu_expect x = paged_expect(&npu_decode_attention_paged, args);
	struct tile_cost cost = { .dram = x.dram_read_bytes + x.dram_write_bytes };
	for (uint64_t b = 0; b < p.batch; b++) {
		uint64_t length = paged_length(&p, b);
		cost.tiles += p.kv_heads * tiles_of(length, p.tile_kv);
		cost.array += p.kv_heads * (tile_steps(c, p.group, p.group, length, p.tile_kv, p.dim, p.dim) +
					    tile_steps(c, p.group, p.group, p.dim, p.dim, length, p.tile_kv));
	}
	return cost;
}

static void derive(const struct npu_kernel *k, struct npu_args *args, const char *name, int64_t value)
{
	int i = npu_param_index(k, name);
	if (!args->named[i])
		args->value[i] = value;
}

/* Most load channels that two tiles keep busy. */
enum { PAIR = 2 };

static bool choose_tiles(const struct npu_kernel *k, const struct npu_capacity *capacity, struct npu_args *args,
			 struct npu_error *err)
{
	struct paged p = paged_of(k, args);
	/* In fp16 a gather of both is long enough with half of that, and less remains to be done at the end. */
	bool half = p.mode == PAGED_PLAIN && p.together && capacity->load_channels <= PAIR && p.page <= WIDEST_KV / 2;
	const struct tile_dim decode[] = { { "tile_kv", p.seq, half ? WIDEST_KV / 2 : WIDEST_KV } };
	const struct tile_dim prefill[] = { { "tile_q", p.chunk, 0 }, { "tile_kv", p.seq, 0 } };
	if (k == &npu_decode_attention_paged)
		return tiles_resolve(k, capacity, args, decode, 1, try_decode, decode_cost, err);
	return tiles_resolve(k, capacity, args, prefill, 2, try_prefill, NULL, err);
}

/* Why K and V of a tile cannot come together; NULL: they can. Tiles are chosen. */
static const char *why_apart(const struct paged *p, const struct npu_capacity *c)
{
	if (p->kv_first)
		return "needs kv_layout=page_head_kv";
	if (c->no_transpose_b)
		return "needs an array that turns K (matrix.transposer=yes)";
	if (p->buffers < 2 && !p->whole)
		return "needs buffering=double or triple";
	if (p->whole && p->halves > 1)
		return "needs kv_group=head or token";
	if (p->whole && 2 * p->at_once * tiles_of(p->seq, p->page) >= 1 << 24)
		return "2 x heads_at_once x pages of a sequence must be less than 16,777,216";
	if (p->page * p->dim > MAX_LENGTH)
		return "page x head_dim must be less than 1,048,576";
	if (p->tile_kv < p->seq && p->tile_kv % p->page)
		return "needs tiles of whole pages, tile_kv a multiple of page";
	return NULL;
}

/* As somebody named it. */
static bool take_gather(const struct npu_kernel *k, const struct npu_capacity *capacity, struct npu_args *args,
			struct npu_error *err)
{
	int gather = npu_param_index(k, "gather");
	struct npu_args chosen = *args;
	if (!choose_tiles(k, capacity, &chosen, err))
		return false;
	struct paged p = paged_of(k, &chosen);
	const char *why = p.together ? why_apart(&p, capacity) : NULL;
	if (why)
		return npu_fail(err, NPU_ERR_VALUE, "gather=%s: %s", paged_gathers[args->value[gather]], why);
	*args = chosen;
	return true;
}

/* Together where that is possible, in tiles of which two fit. But where the vector engine and the array take longer
 * than the DMA they are kept one tile ahead of each other, which v with a tile of its own allows: int4, and whatever
 * many channels bring. */
static bool choose_gather(const struct npu_kernel *k, const struct npu_capacity *capacity, struct npu_args *args,
			  struct npu_error *err)
{
	int gather = npu_param_index(k, "gather");
	if (gather < 0)
		return choose_tiles(k, capacity, args, err);
	if (args->named[gather])
		return take_gather(k, capacity, args, err);
	struct npu_args together = *args;
	together.value[gather] = PAGED_TOGETHER;
	bool fits = choose_tiles(k, capacity, &together, NULL);
	struct paged p = paged_of(k, &together);
	bool wanted = p.mode != PAGED_VECTOR || (p.kv != NPU_INT4 && capacity->load_channels <= PAIR);
	if (fits && wanted && !why_apart(&p, capacity)) {
		*args = together;
		return true;
	}
	args->value[gather] = PAGED_APART;
	return choose_tiles(k, capacity, args, err);
}

/* All buffers fit, with the second ones. */
static bool fits(const struct npu_capacity *capacity, const struct npu_args *args)
{
	struct npu_builder *b = npu_builder_new("decode_attention_paged", capacity);
	bool ok = b && try_decode(b, args) && !npu_builder_failed(b) && !npu_builder_unpaired(b);
	if (b)
		npu_builder_discard(b);
	return ok;
}

/* How kv heads are taken at once: in tiles of `room` heads x tokens, or half of it where that does not fit. */
struct together {
	enum paged_gather gather;
	uint64_t heads, room;
};

/* fp16: gathers of one head after the other keep to one page at a time, eight in tiles of 64 tokens. With many channels
 * half of them serve one tile, and the gathers of the next tile come as these end. Quantised blocks are short, so pages
 * are taken whole. But what the vector engine has to expand to four times its size is never waited for by the DMA, nor
 * where many channels bring it: those stay apart (choose_gather). */
static struct together together_of(const struct npu_capacity *c, const struct paged *p, bool named)
{
	bool many = c->load_channels > PAIR;
	uint64_t several = many ? c->load_channels / 2 : 8;
	if (p->mode == PAGED_PLAIN && named && p->whole)
		return (struct together){ PAGED_PAGES, 4, many ? 512 : 256 };
	if (p->mode == PAGED_PLAIN)
		return (struct together){ PAGED_TOGETHER, several, many ? 1024 : 512 };
	if (p->mode == PAGED_MATRIX || named || (p->kv == NPU_INT8 && !many))
		return (struct together){ PAGED_PAGES, many ? 2 : 8, 1024 };
	return (struct together){ PAGED_APART, 1, 0 };
}

/* One choice: false where it does not fit with all second buffers, or K and V cannot come so. */
static bool try_heads(const struct npu_kernel *k, const struct npu_capacity *capacity, struct npu_args *args,
		      const struct together *t)
{
	struct npu_args chosen = *args;
	uint64_t kv_heads = (uint64_t)npu_arg(k, args, "kv_heads", 1), page = (uint64_t)npu_arg(k, args, "page", 1);
	uint64_t keys = tiles_of(t->room / t->heads, page) * page;
	/* Long gathers at a time meet in banks; one of a long page is enough. */
	if (t->gather == PAGED_TOGETHER && page > WIDEST_KV / 4)
		return false;
	derive(k, &chosen, "gather", t->gather);
	derive(k, &chosen, "heads_at_once", (int64_t)tiles_of(kv_heads, tiles_of(kv_heads, t->heads)));
	derive(k, &chosen, "tile_kv", (int64_t)keys);
	struct paged p = paged_of(k, &chosen);
	bool named = args->named[npu_param_index(k, "heads_at_once")];
	if (p.at_once < 2 || keys < capacity->array_cols || (!named && p.tile_kv * p.at_once > t->room) ||
	    why_apart(&p, capacity) || !fits(capacity, &chosen))
		return false;
	*args = chosen;
	return true;
}

/* Several heads side by side, in tiles of fewer tokens, as long as these fill the array: K and V of a page are one run
 * of bytes, products of different heads do not wait for one another, and less remains to be done when the last tile has
 * come. False, and nothing is chosen, where they cannot come together or have no second buffers. */
static bool choose_heads(const struct npu_kernel *k, const struct npu_capacity *capacity, struct npu_args *args)
{
	int gather = npu_param_index(k, "gather");
	if (k != &npu_decode_attention_paged)
		return false;
	struct paged p = paged_of(k, args);
	bool named = args->named[gather];
	const struct together best = together_of(capacity, &p, named && p.whole);
	if (named && args->value[gather] != (int64_t)best.gather)
		return false;
	for (uint64_t room = best.room; best.heads > 1 && 2 * room >= best.room; room /= 2)
		for (struct together t = { best.gather, best.heads, room }; t.heads > 1; t.heads /= 2)
			if (try_heads(k, capacity, args, &t))
				return true;
	return false;
}

static bool within_instructions(const struct npu_kernel *k, const struct npu_args *args, struct npu_error *err)
{
	/* Counted only so far: whoever asks for more would wait for the number. */
	if (paged_expect(k, args).instructions > NPU_MAX_INSNS)
		return npu_fail(
		    err, NPU_ERR_FIT,
		    "%s: more than %s instructions: larger tiles, fewer sequences or shorter lengths need fewer",
		    k->name, npu_count_text(NPU_MAX_INSNS).text);
	return true;
}

bool paged_resolve(const struct npu_kernel *k, const struct npu_capacity *capacity, struct npu_args *args,
		   struct npu_error *err)
{
	if (!npu_args_check(k, args, err))
		return false;
	int64_t seq = npu_arg(k, args, "seq", 1), seq_min, heads = npu_arg(k, args, "heads", 1);
	int64_t kv_heads = npu_arg(k, args, "kv_heads", 1), chunk = npu_arg(k, args, "chunk", 1);
	derive(k, args, "seq_min", seq);
	if (k == &npu_decode_attention_paged) {
		derive(k, args, "heads_at_once", 1);
		derive(k, args, "buffering", buffering_of(capacity));
	}
	seq_min = npu_arg(k, args, "seq_min", seq);
	if (heads % kv_heads)
		return npu_fail(err, NPU_ERR_VALUE, "kv_heads=%" PRId64 ": must divide heads=%" PRId64, kv_heads,
				heads);
	if (seq_min > seq)
		return npu_fail(err, NPU_ERR_VALUE, "seq_min=%" PRId64 ": must be at most seq=%" PRId64, seq_min, seq);
	if (seq_min < seq && npu_arg(k, args, "batch", 1) == 1)
		return npu_fail(err, NPU_ERR_VALUE,
				"seq_min=%" PRId64 ": has no effect with batch=1, whose sequence has seq=%" PRId64
				" tokens",
				seq_min, seq);
	if (chunk > seq_min)
		return npu_fail(err, NPU_ERR_VALUE,
				"chunk=%" PRId64 ": must be at most %s=%" PRId64 ", which counts the new tokens", chunk,
				seq_min < seq ? "seq_min" : "seq", seq_min);
	struct paged p = paged_of(k, args);
	if (!check_types(k, capacity, args, &p, err) || !check_sizes(&p, args, k, err))
		return false;
	if (p.mode == PAGED_MATRIX && args->named[npu_param_index(k, "tile_kv")] && p.tile_kv > MOST_INTEGER_KEYS)
		return npu_fail(err, NPU_ERR_VALUE,
				"tile_kv=%" PRIu64 ": must be at most %d with dequant=matrix, whose sums are int32",
				p.tile_kv, MOST_INTEGER_KEYS);
	if (choose_heads(k, capacity, args))
		return within_instructions(k, args, err);
	if (!choose_gather(k, capacity, args, err))
		return false;
	return within_instructions(k, args, err);
}
