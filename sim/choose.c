/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates by traffic, then by simulation. */
#include "sim/choose.h"
#include "sim/model/jobs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SMALLEST = 32, SIZES = 5, TILES_MAX = 3, FINALISTS = 6 };
enum { BURST = 256, INSN_BURSTS = 8, LONG = 1 << 14 };

/* A length and the tile that cuts it; heads are run one group of them. */
static const struct {
	const char *tile, *length;
	int tiles; /* that a short run keeps; k is the innermost loop, where tiles stream */
} cuts[] = { { "tile_m", "m", 2 }, { "tile_n", "n", 2 }, { "tile_k", "k", 12 } };

struct candidate {
	struct npu_args args; /* resolved */
	uint64_t traffic, instructions;
};

struct search {
	const struct npu_kernel *kernel;
	struct npu_capacity capacity;
	const struct npu_args *named;
	int tiles[TILES_MAX], order; /* parameters that are free; order -1: it is not */
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
	for (unsigned i = 0; i < SIZES; i++) {
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

/* About the bursts of DRAM that a simulation of all candidates is worth; an instruction is worth several. */
static bool is_long(const struct candidate *c)
{
	return c->traffic / BURST + c->instructions * INSN_BURSTS > LONG;
}

/* Operands that stay are as long as k: cut, they would leave room for second buffers that the whole has not. */
static bool keeps_k(const struct npu_kernel *k, const struct npu_args *args)
{
	int order = npu_param_index(k, "order");
	return order >= 0 && strcmp(k->params[order].choices[args->value[order]], "output") != 0;
}

/* A few tiles each way, and one group of heads. */
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
	int heads = npu_param_index(k, "heads"), kv_heads = npu_param_index(k, "kv_heads");
	if (heads >= 0 && kv_heads >= 0 && args->value[kv_heads] > 0) {
		args->value[heads] /= args->value[kv_heads];
		args->value[kv_heads] = 1;
	}
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
		for (unsigned p = 0; p < s->kernel->nparams; p++)
			jobs[n].args.named[p] = true;
		/* Compared with each other, all are cut or none is. */
		if (is_long(&s->best[s->n - 1]))
			shorten(s->kernel, &jobs[n].args);
		of[n] = i;
		n += s->kernel->resolve(&s->capacity, &jobs[n].args, &ignored);
	}
	if (!model_jobs_run(jobs, n, config, parallel, err))
		return false;
	for (unsigned i = 0; i < n; i++) {
		double cycles = jobs[i].out.cycles / (jobs[i].out.macs > 0 ? jobs[i].out.macs : 1);
		if (cycles >= least)
			continue;
		least = cycles;
		*args = s->best[of[i]].args;
	}
	return true;
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
		try_all(s);
		s->best[s->n++] = own;
		ok = fastest(s, config, parallel, &chosen, err);
		own.args = chosen;
	}
	if (ok)
		*args = own.args;
	free(s);
	return ok;
}
