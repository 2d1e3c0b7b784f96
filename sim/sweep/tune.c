/* SPDX-License-Identifier: Apache-2.0 */
/* Half of the simulations go to the candidates of the least estimate, the others to neighbours of the best so far, by the estimate times
 * how wrong it was nearby. */
#include "sim/sweep/tune.h"
#include "sim/model/jobs.h"
#include "sim/model/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES = 6, LEAST = 3, FEW = 5, PART = 10, BATCH = 2 };

/* Of the estimate. A DRAM seldom gives more than this of its peak; without a second buffer this part of the shorter of moving and
 * computing does not hide, and this part of the longer one is lost to waiting for the other; a third buffer gains little, but it does;
 * an instruction costs cycles of hand-off; the first is loaded and the last stored with nothing beside it. */
static const double DRAM_SHARE = 0.9, UNHIDDEN = 0.6, UNPAIRED = 0.25, THIRD = 0.005, INSN_CYCLES = 20;

static bool out_of_memory(struct npu_error *err) { return npu_fail(err, NPU_ERR_MEMORY, "out of memory"); }

/* ---- candidates ---- */

static unsigned values_of(const struct npu_param *p)
{
	unsigned n = 0;
	if (p->type != NPU_PARAM_CHOICE)
		return SIZES;
	while (p->choices[n])
		n++;
	return n;
}

static int64_t value_at(const struct npu_param *p, unsigned i)
{
	return p->type == NPU_PARAM_CHOICE ? (int64_t)i : (int64_t)TUNE_SMALLEST << i;
}

/* A tile of fewer rows than the array waits for weights, one of fewer columns leaves some of them idle. */
static double array_cycles(const struct tuning *t, const struct npu_args *args, double macs)
{
	const struct hw *hw = &t->config->hw;
	double rows = (double)hw->matrix.rows, cols = (double)hw->matrix.cols, factor = 1;
	int dtype = npu_param_index(t->kernel, "dtype");
	bool int8 = dtype >= 0 && strcmp(t->kernel->params[dtype].choices[args->value[dtype]], "int8") == 0;
	for (unsigned i = 0; i < t->kernel->nparams; i++) {
		const char *name = t->kernel->params[i].name;
		double tile = (double)args->value[i], side = strcmp(name, "tile_n") == 0 || strcmp(name, "tile_kv") == 0 ? cols : rows;
		/* All rows of a product that is not cut along them. */
		bool rows_of_all = strcmp(name, "m") == 0 && npu_param_index(t->kernel, "tile_m") < 0;
		if ((strncmp(name, "tile_", 5) == 0 || rows_of_all) && tile > 0 && tile < side)
			factor *= side / tile;
	}
	return macs / (rows * cols * (int8 ? (double)hw->matrix.int8_macs_per_pe : 1)) * factor;
}

static void judge(const struct tuning *t, struct tune_candidate *c)
{
	struct npu_expect e = t->kernel->expect(&c->args);
	const struct hw *hw = &t->config->hw;
	double bytes_a_cycle = model_peak_gb_per_s(hw) * 1e3 / hw->npu.clock_mhz;
	double dram = bytes_a_cycle > 0 ? (double)(e.dram_read_bytes + e.dram_write_bytes) / bytes_a_cycle : 0;
	/* Masked or padded, no product is faster than all PEs at their fastest. */
	double least = (double)e.useful_macs / (double)(hw->matrix.rows * hw->matrix.cols * (hw->matrix.int8_macs_per_pe > 1 ? 2 : 1));
	double array = array_cycles(t, &c->args, (double)e.macs), insns = (double)e.instructions;
	int buffering = npu_param_index(t->kernel, "buffering");
	int64_t more = buffering >= 0 ? c->args.value[buffering] : 1;
	double both = fmax(dram / DRAM_SHARE, array);
	if (more == 0)
		both += UNHIDDEN * fmin(dram, array) + UNPAIRED * fmax(dram, array);
	else if (more > 1)
		both *= 1 - THIRD;
	c->bound = fmax(dram, least);
	c->estimate = both + (dram + array) / fmax(1, insns) + INSN_CYCLES * insns;
}

static bool add(struct tuning *t, const struct tune_candidate *c, unsigned *room, struct npu_error *err)
{
	if (t->n == *room) {
		*room = *room ? 2 * *room : 256;
		struct tune_candidate *list = realloc(t->list, *room * sizeof *list);
		if (!list)
			return out_of_memory(err);
		t->list = list;
	}
	t->list[t->n++] = *c;
	return true;
}

static bool resolve(const struct tuning *t, struct npu_args *args, struct npu_error *err)
{
	struct npu_capacity capacity = hw_capacity(&t->config->hw);
	if (!(t->kernel->resolve ? t->kernel->resolve(&capacity, args, err) : npu_args_check(t->kernel, args, err)))
		return false;
	return true;
}

/* Every combination, the last parameter changing first. */
static bool enumerate(struct tuning *t, const struct npu_args *named, unsigned *room, struct npu_error *err)
{
	t->all = 1;
	for (unsigned f = 0; f < t->nfree; f++)
		t->all *= values_of(&t->kernel->params[t->free[f]]);
	for (uint64_t i = 0; i < t->all; i++) {
		struct tune_candidate c = { .args = *named };
		struct npu_error ignored;
		uint64_t rest = i;
		for (unsigned f = t->nfree; f-- > 0;) {
			const struct npu_param *p = &t->kernel->params[t->free[f]];
			c.at[f] = (int8_t)(rest % values_of(p));
			rest /= values_of(p);
			c.args.value[t->free[f]] = value_at(p, (unsigned)c.at[f]);
			c.args.named[t->free[f]] = true;
		}
		if (!resolve(t, &c.args, &ignored))
			continue;
		judge(t, &c);
		if (!add(t, &c, room, err))
			return false;
	}
	return true;
}

static bool add_own(struct tuning *t, const struct npu_args *named, unsigned *room, struct npu_error *err)
{
	struct tune_candidate c = { .args = *named };
	if (!resolve(t, &c.args, err))
		return false;
	for (unsigned f = 0; f < t->nfree; f++) {
		const struct npu_param *p = &t->kernel->params[t->free[f]];
		c.at[f] = -1;
		for (unsigned i = 0; i < values_of(p); i++)
			if (value_at(p, i) == c.args.value[t->free[f]])
				c.at[f] = (int8_t)i;
	}
	judge(t, &c);
	return add(t, &c, room, err);
}

/* ---- simulations ---- */

/* In place of cycles: not to be looked at again. */
#define PICKED UINT64_MAX

struct programs {
	uint64_t hash[TUNE_MOST];
	unsigned n;
};

/* The hash of a candidate's program; false where it cannot be built after all. */
static bool program_hash(const struct tuning *t, const struct tune_candidate *c, uint64_t *hash)
{
	struct npu_capacity capacity = hw_capacity(&t->config->hw);
	struct npu_args args = c->args;
	struct npu_error ignored;
	struct npu_program *program = npu_kernel_build(t->kernel, &capacity, &args, &ignored);
	bool ok = program && npu_program_fits(program, &capacity.limits, &ignored);
	*hash = program ? program->hash : 0;
	npu_program_free(program);
	return ok;
}

/* Picks for a simulation, or takes the cycles of the same program. */
static bool pick(struct tuning *t, struct programs *p, unsigned candidate, unsigned *batch, unsigned *n)
{
	struct tune_candidate *c = &t->list[candidate];
	uint64_t hash;
	if (!program_hash(t, c, &hash)) {
		c->cycles = PICKED;
		return false;
	}
	for (unsigned i = 0; i < p->n; i++)
		if (p->hash[i] == hash) {
			c->cycles = PICKED;
			t->same++;
			return false;
		}
	p->hash[p->n] = hash;
	p->n++;
	c->cycles = PICKED;
	batch[(*n)++] = candidate;
	return true;
}

static bool simulate_batch(struct tuning *t, const unsigned *batch, unsigned n, unsigned parallel, struct npu_error *err)
{
	struct model_job jobs[TUNE_MOST];
	for (unsigned i = 0; i < n; i++)
		jobs[i] = (struct model_job){ .kernel = t->kernel, .args = t->list[batch[i]].args, .name = t->kernel->name };
	if (!model_jobs_run(jobs, n, t->config, parallel, err))
		return false;
	for (unsigned i = 0; i < n; i++) {
		struct tune_candidate *c = &t->list[batch[i]];
		c->cycles = (uint64_t)jobs[i].out.cycles;
		t->order[t->nsimulated++] = batch[i];
		if (t->nsimulated == 1 || c->cycles < t->list[t->best].cycles)
			t->best = batch[i];
	}
	return true;
}

/* ---- the search ---- */

static bool is_open(const struct tuning *t, const struct tune_candidate *c)
{
	return !c->cycles && (!t->nsimulated || c->bound < (double)t->list[t->best].cycles);
}

static double steps(const struct tuning *t, const struct tune_candidate *a, const struct tune_candidate *b)
{
	double d = 0;
	for (unsigned f = 0; f < t->nfree; f++) {
		int step = abs(a->at[f] - b->at[f]);
		d += t->kernel->params[t->free[f]].type == NPU_PARAM_CHOICE ? step > 0 : step;
	}
	return d;
}

/* The estimate times what simulations nearby took over theirs. */
static double corrected(const struct tuning *t, const struct tune_candidate *c)
{
	double sum = 0, weights = 0;
	for (unsigned i = 0; i < t->nsimulated; i++) {
		const struct tune_candidate *s = &t->list[t->order[i]];
		double d = 0.25 + steps(t, c, s), weight = 1 / (d * d);
		sum += weight * (double)s->cycles / s->estimate;
		weights += weight;
	}
	return weights > 0 ? c->estimate * sum / weights : c->estimate;
}

/* The most promising candidate, among neighbours of the best or all; -1: none is open. */
static int next(const struct tuning *t, bool nearby)
{
	int found = -1;
	double least = INFINITY;
	for (unsigned i = 0; i < t->n; i++) {
		const struct tune_candidate *c = &t->list[i];
		if (!is_open(t, c) || (nearby && steps(t, c, &t->list[t->best]) > 1.5))
			continue;
		double value = nearby ? corrected(t, c) : c->estimate;
		if (value < least) {
			least = value;
			found = (int)i;
		}
	}
	return found;
}

static bool search(struct tuning *t, unsigned most, unsigned parallel, struct npu_error *err)
{
	struct programs programs = { .n = 0 };
	unsigned batch[TUNE_MOST], n = 0;
	/* The kernel's own choice first: what all others are compared with. */
	pick(t, &programs, t->n - 1, batch, &n);
	int i;
	while (n < (most + 1) / 2 && (i = next(t, false)) >= 0)
		pick(t, &programs, (unsigned)i, batch, &n);
	if (!n)
		return npu_fail(err, NPU_ERR_FIT, "%s: no candidate can be built", t->kernel->name);
	if (!simulate_batch(t, batch, n, parallel, err))
		return false;
	while (t->nsimulated < most) {
		for (n = 0; n < BATCH && t->nsimulated + n < most;) {
			if ((i = next(t, true)) < 0 && (i = next(t, false)) < 0)
				break;
			pick(t, &programs, (unsigned)i, batch, &n);
		}
		if (!n)
			break;
		if (!simulate_batch(t, batch, n, parallel, err))
			return false;
	}
	return true;
}

static void find_free(struct tuning *t, const struct npu_args *named)
{
	for (unsigned i = 0; i < t->kernel->nparams && t->nfree < TUNE_FREE; i++) {
		const char *name = t->kernel->params[i].name;
		bool tuned = strncmp(name, "tile_", 5) == 0 || strcmp(name, "buffering") == 0 || strcmp(name, "order") == 0;
		if (tuned && !named->named[i])
			t->free[t->nfree++] = (int)i;
	}
}

bool tune(struct tuning *t, const struct npu_kernel *kernel, const struct npu_args *named, const struct config *config, unsigned most,
	  unsigned parallel, struct npu_error *err)
{
	unsigned room = 0;
	*t = (struct tuning){ .kernel = kernel, .config = config };
	find_free(t, named);
	if (!t->nfree)
		return npu_fail(err, NPU_ERR_USAGE, "%s: tiles and buffering are all named; nothing is left to tune", kernel->name);
	if (!kernel->expect)
		return npu_fail(err, NPU_ERR_USAGE, "%s does not tell its traffic (expect), so nothing can be ruled out", kernel->name);
	if (!enumerate(t, named, &room, err) || !add_own(t, named, &room, err))
		return false;
	if (!most)
		most = (t->n - 1) / PART < LEAST ? FEW : (t->n - 1) / PART;
	if (most > TUNE_MOST)
		most = TUNE_MOST;
	if (!search(t, most, parallel, err))
		return false;
	for (unsigned i = 0; i < t->n; i++)
		t->pruned += !t->list[i].cycles && t->list[i].bound >= (double)t->list[t->best].cycles;
	return true;
}

void tune_fini(struct tuning *t)
{
	free(t->list);
	t->list = NULL;
}
