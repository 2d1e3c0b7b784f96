/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates by traffic, then by simulation; at last the best of them against the kernel's own tiles. */
#include "sim/choose.h"
#include "sim/model/jobs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SMALLEST = 32, SIZES = 5, TILES_MAX = 3, FINALISTS = 6 };
/* Work of simulations, about as many bursts of DRAM: what is cut short for the search, what is run whole in the end, and what
 * two longer ones are drawn out from. */
enum { BURST = 256, INSN_BURSTS = 8, LONG = 1 << 14, WHOLE = 1 << 19, SAMPLE = 1 << 16 };
/* Drawn out, a run must be so many hundredths shorter to count as shorter: a line through two of them is off by less. */
enum { MARGIN = 2 };

/* A length and the tile that cuts it; heads are run one group of them. */
static const struct {
	const char *tile, *length;
	int tiles; /* that a short run keeps; k is the innermost loop, where tiles stream */
} cuts[] = { { "tile_m", "m", 2 }, { "tile_n", "n", 2 }, { "tile_k", "k", 12 }, { "tile_rows", "rows", 16 } };

/* The length that a tile cuts; beyond it a larger tile is the same one again. */
static const struct {
	const char *tile, *length;
} lengths[] = { { "tile_m", "m" },    { "tile_n", "n" },	 { "tile_k", "k" },	  { "tile_q", "seq_q" },
		{ "tile_kv", "seq" }, { "tile_rows", "rows" }, { "tile_rows", "seq_q" } };

struct candidate {
	struct npu_args args; /* resolved */
	uint64_t traffic, instructions;
};

struct search {
	const struct npu_kernel *kernel;
	struct npu_capacity capacity;
	const struct npu_args *named;
	int tiles[TILES_MAX], order; /* parameters that are free; order -1: it is not */
	int64_t longest[TILES_MAX];  /* what each tile cuts; INT64_MAX: not known */
	unsigned ntiles;
	struct candidate best[FINALISTS + 1]; /* by traffic, then instructions; the kernel's own is the last */
	unsigned n;
};

static bool is_better(const struct candidate *a, const struct candidate *b)
{
	return a->traffic < b->traffic || (a->traffic == b->traffic && a->instructions < b->instructions);
}

static bool resolved(const struct search *s, struct candidate *c, struct npu_error *err)
{
	if (!s->kernel->resolve(&s->capacity, &c->args, err))
		return false;
	struct npu_expect e = s->kernel->expect(&c->args);
	c->traffic = e.dram_read_bytes + e.dram_write_bytes;
	c->instructions = e.instructions;
	return true;
}

static void keep(struct search *s, const struct candidate *c)
{
	unsigned at = s->n;
	while (at > 0 && is_better(c, &s->best[at - 1]))
		at--;
	if (at == FINALISTS)
		return;
	s->n += s->n < FINALISTS;
	memmove(&s->best[at + 1], &s->best[at], (s->n - 1 - at) * sizeof *c);
	s->best[at] = *c;
}

/* Every combination of sizes. */
static void try_sizes(struct search *s, struct candidate *c, unsigned tile)
{
	if (tile == s->ntiles || tile == TILES_MAX) {
		struct npu_error ignored;
		struct candidate trial = *c;
		if (resolved(s, &trial, &ignored))
			keep(s, &trial);
		return;
	}
	for (unsigned i = 0; i < SIZES && (i == 0 || SMALLEST << (i - 1) < s->longest[tile]); i++) {
		c->args.value[s->tiles[tile]] = SMALLEST << i;
		c->args.named[s->tiles[tile]] = true;
		try_sizes(s, c, tile + 1);
	}
}

static void try_all(struct search *s)
{
	struct candidate c = { .args = *s->named };
	if (s->order < 0) {
		try_sizes(s, &c, 0);
		return;
	}
	for (int64_t i = 0; s->kernel->params[s->order].choices[i]; i++) {
		c.args.value[s->order] = i;
		c.args.named[s->order] = true;
		try_sizes(s, &c, 0);
	}
}

/* An instruction is worth several bursts. */
static uint64_t work(uint64_t traffic, uint64_t instructions)
{
	return traffic / BURST + instructions * INSN_BURSTS;
}

static bool is_long(const struct candidate *c) { return work(c->traffic, c->instructions) > LONG; }

/* Operands that stay are as long as k: cut, they would leave room for second buffers that the whole has not. */
static bool keeps_k(const struct npu_kernel *k, const struct npu_args *args)
{
	int order = npu_param_index(k, "order");
	return order >= 0 && strcmp(k->params[order].choices[args->value[order]], "output") != 0;
}

/* The images of a convolution; -1: this is none. */
static int images_of(const struct npu_kernel *k)
{
	return npu_param_index(k, "filters") >= 0 ? npu_param_index(k, "batch") : -1;
}

/* A few tiles each way, one image, and one group of heads. */
static void shorten(const struct npu_kernel *k, struct npu_args *args)
{
	bool whole_k = keeps_k(k, args);
	for (unsigned i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
		int tile = npu_param_index(k, cuts[i].tile), length = npu_param_index(k, cuts[i].length);
		if (whole_k && strcmp(cuts[i].length, "k") == 0)
			continue;
		if (tile >= 0 && length >= 0 && args->value[length] > cuts[i].tiles * args->value[tile])
			args->value[length] = cuts[i].tiles * args->value[tile];
	}
	int heads = npu_param_index(k, "heads"), kv_heads = npu_param_index(k, "kv_heads"), images = images_of(k);
	if (images >= 0)
		args->value[images] = 1;
	if (heads >= 0 && kv_heads >= 0 && args->value[kv_heads] > 0) {
		args->value[heads] /= args->value[kv_heads];
		args->value[kv_heads] = 1;
	}
}

static void name_all(struct npu_args *args, unsigned n)
{
	for (unsigned p = 0; p < n; p++)
		args->named[p] = true;
}

/* What a short run has done: MACs, or bytes where there are none. */
static double done(const struct model_job *job)
{
	struct npu_expect e = job->kernel->expect(&job->args);
	double amount = (double)(e.macs ? e.macs : e.dram_read_bytes + e.dram_write_bytes);
	return amount > 0 ? amount : 1;
}

/* The fastest by cycles a MAC. A candidate whose short form is not legal is left out. */
static bool fastest(const struct search *s, const struct config *config, unsigned parallel, struct npu_args *args,
		    struct npu_error *err)
{
	struct model_job jobs[FINALISTS + 1];
	unsigned of[FINALISTS + 1], n = 0;
	double least = INFINITY;
	for (unsigned i = 0; i < s->n; i++) {
		struct npu_error ignored;
		jobs[n] = (struct model_job){ .kernel = s->kernel, .args = s->best[i].args, .name = s->kernel->name };
		name_all(&jobs[n].args, s->kernel->nparams);
		/* Compared with each other, all are cut or none is. */
		if (is_long(&s->best[s->n - 1]))
			shorten(s->kernel, &jobs[n].args);
		of[n] = i;
		n += s->kernel->resolve(&s->capacity, &jobs[n].args, &ignored);
	}
	if (!model_jobs_run(jobs, n, config, parallel, err))
		return false;
	for (unsigned i = 0; i < n; i++) {
		double cycles = jobs[i].out.cycles / done(&jobs[i]);
		if (cycles >= least)
			continue;
		least = cycles;
		*args = s->best[of[i]].args;
	}
	return true;
}

/* ---- the last comparison ---- */

/* Two candidates on the same lengths, and the lengths that a line is drawn through. */
struct pair {
	const struct npu_kernel *kernel;
	struct npu_args args[2];
	int along;         /* parameter; -1: the whole is run */
	int64_t length[3]; /* two that are run, and the whole */
};

static int64_t larger(const struct pair *p, int param)
{
	int64_t a = p->args[0].value[param], b = p->args[1].value[param];
	return a > b ? a : b;
}

static uint64_t work_of(const struct pair *p, const struct npu_args *args)
{
	struct npu_expect e = p->kernel->expect(args);
	return work(e.dram_read_bytes + e.dram_write_bytes, e.instructions);
}

static uint64_t work_of_pair(const struct pair *p)
{
	uint64_t a = work_of(p, &p->args[0]), b = work_of(p, &p->args[1]);
	return a > b ? a : b;
}

static void set(struct pair *p, int param, int64_t value)
{
	p->args[0].value[param] = p->args[1].value[param] = value;
}

/* Half of a length, in whole tiles of both, until the pair is short enough. */
static void halve(struct pair *p, const char *length, const char *tile, uint64_t most)
{
	int at = npu_param_index(p->kernel, length), by = npu_param_index(p->kernel, tile);
	if (at < 0 || by < 0)
		return;
	for (int64_t step = larger(p, by); work_of_pair(p) > most && p->args[0].value[at] >= 4 * step;) {
		int64_t half = p->args[0].value[at] / 2;
		set(p, at, half - half % step);
	}
}

/* Chooses two lengths, of one and two tiles of the longer one and the ragged one with which the whole ends; false: it has too
 * few of them. */
static bool draw_out(struct pair *p, int along, const char *tile)
{
	int by = npu_param_index(p->kernel, tile);
	if (along < 0 || (tile[0] && by < 0))
		return false;
	int64_t whole = p->args[0].value[along], step = by < 0 ? 1 : larger(p, by), rest = whole % step;
	if (whole < 4 * step)
		return false;
	p->along = along;
	p->length[0] = step + rest;
	p->length[1] = 2 * step + rest;
	p->length[2] = whole;
	return true;
}

/* What is too long is run for one group of heads, or drawn out along its rows; along its columns, if these are few. */
static void make_shorter(struct pair *p)
{
	int heads = npu_param_index(p->kernel, "heads"), kv_heads = npu_param_index(p->kernel, "kv_heads");
	p->along = -1;
	if (work_of_pair(p) <= WHOLE)
		return;
	if (heads >= 0 && kv_heads >= 0 && p->args[0].value[kv_heads] > 0) {
		set(p, heads, p->args[0].value[heads] / p->args[0].value[kv_heads]);
		set(p, kv_heads, 1);
		return;
	}
	if (!draw_out(p, npu_param_index(p->kernel, "m"), "tile_m") &&
	    !draw_out(p, npu_param_index(p->kernel, "rows"), "tile_rows") && !draw_out(p, images_of(p->kernel), "") &&
	    !draw_out(p, npu_param_index(p->kernel, "n"), "tile_n"))
		return;
	set(p, p->along, p->length[1]);
	if (p->along != npu_param_index(p->kernel, "n"))
		halve(p, "n", "tile_n", SAMPLE);
	if (!keeps_k(p->kernel, &p->args[0]) && !keeps_k(p->kernel, &p->args[1]))
		halve(p, "k", "tile_k", SAMPLE);
}

/* Cycles of both. */
static bool run_pair(struct pair *p, const struct config *config, unsigned parallel, double cycles[2], struct npu_error *err)
{
	struct model_job jobs[4];
	unsigned each = p->along < 0 ? 1 : 2;
	for (unsigned c = 0; c < 2; c++)
		for (unsigned i = 0; i < each; i++) {
			struct model_job *job = &jobs[c * each + i];
			*job = (struct model_job){ .kernel = p->kernel, .args = p->args[c], .name = p->kernel->name };
			if (p->along >= 0)
				job->args.value[p->along] = p->length[i];
		}
	if (!model_jobs_run(jobs, 2 * each, config, parallel, err))
		return false;
	for (unsigned c = 0; c < 2; c++) {
		cycles[c] = jobs[c * each].out.cycles;
		if (p->along < 0)
			continue;
		double slope = (jobs[c * each + 1].out.cycles - cycles[c]) / (double)(p->length[1] - p->length[0]);
		cycles[c] += slope * (double)(p->length[2] - p->length[0]);
	}
	return true;
}

/* Takes the kernel's own tiles unless the others are faster on the whole, or where that takes long on enough of it. */
static bool prefer_own(const struct search *s, const struct npu_args *own, struct npu_args *chosen, const struct config *config,
		       unsigned parallel, struct npu_error *err)
{
	struct pair p = { .kernel = s->kernel, .args = { *own, *chosen } };
	double cycles[2];
	if (memcmp(own->value, chosen->value, s->kernel->nparams * sizeof own->value[0]) == 0)
		return true;
	name_all(&p.args[0], s->kernel->nparams);
	name_all(&p.args[1], s->kernel->nparams);
	uint64_t before = work_of_pair(&p);
	make_shorter(&p);
	bool whole = work_of_pair(&p) == before && p.along < 0;
	if (!run_pair(&p, config, parallel, cycles, err))
		return false;
	if (cycles[1] * 100 >= cycles[0] * (whole ? 100 : 100 - MARGIN))
		*chosen = *own;
	return true;
}

static int64_t length_of(const struct npu_kernel *k, const struct npu_args *resolved, int tile)
{
	for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
		int length = npu_param_index(k, lengths[i].length);
		if (length >= 0 && strcmp(k->params[tile].name, lengths[i].tile) == 0)
			return resolved->value[length];
	}
	return INT64_MAX;
}

static bool is_free(const struct npu_args *args, int param) { return param >= 0 && !args->named[param]; }

bool choose_tiles(const struct npu_kernel *kernel, struct npu_args *args, const struct config *config,
		  unsigned parallel, struct npu_error *err)
{
	struct search *s = calloc(1, sizeof *s);
	if (!s)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	*s = (struct search){ .kernel = kernel, .capacity = hw_capacity(&config->hw), .named = args,
			      .order = npu_param_index(kernel, "order") };
	if (!is_free(args, s->order))
		s->order = -1;
	for (unsigned i = 0; i < kernel->nparams && s->ntiles < TILES_MAX; i++)
		if (strncmp(kernel->params[i].name, "tile_", 5) == 0 && is_free(args, (int)i))
			s->tiles[s->ntiles++] = (int)i;
	struct candidate own = { .args = *args };
	bool searched = s->ntiles && kernel->expect && kernel->resolve;
	bool ok = searched ? resolved(s, &own, err)
		  : kernel->resolve ? kernel->resolve(&s->capacity, &own.args, err) : npu_args_check(kernel, &own.args, err);
	if (ok && searched) {
		struct npu_args chosen = own.args;
		for (unsigned t = 0; t < s->ntiles; t++)
			s->longest[t] = length_of(kernel, &own.args, s->tiles[t]);
		try_all(s);
		s->best[s->n++] = own;
		ok = fastest(s, config, parallel, &chosen, err) && prefer_own(s, &own.args, &chosen, config, parallel, err);
		own.args = chosen;
	}
	if (ok)
		*args = own.args;
	free(s);
	return ok;
}
