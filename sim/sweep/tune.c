/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's own choice is simulated first. What may be better is built and reckoned (reckon.h), and of these some are simulated: half
 * of the simulations go to estimates that differ, least first, the others, two at a time, to the least of the estimate times how wrong
 * it was nearby. */
#include "sim/sweep/tune.h"
#include "sim/model/jobs.h"
#include "sim/model/report.h"
#include "sim/sweep/reckon.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES = 6, FEW = 5, PART = 10, BATCH = 2 };
/* Instructions of all programs that are built, or so. */
enum { BUILT_INSNS = 1 << 23 };

/* Of the estimate. A DRAM seldom gives more than this of its peak; without a second buffer this part of the shorter of moving and
 * computing does not hide, and this part of the longer one is lost to waiting for the other; a third buffer gains little, but it does;
 * an instruction costs cycles of hand-off; the first is loaded and the last stored with nothing beside it. */
static const double DRAM_SHARE = 0.9, UNHIDDEN = 0.6, UNPAIRED = 0.25, THIRD = 0.005, INSN_CYCLES = 20;
/* Of the estimate of the best. */
static const double TWIN = 1.02;

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
	c->bound = fmax(fmax(dram, least), insns > 0 ? (double)hw->sequencer.launch_cycles + (double)hw->sequencer.issue_cycles * (insns - 1) : 0);
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

/* The kernel's own choice is often one of the combinations: it counts once. */
static void take_out(struct tuning *t, const struct tune_candidate *own)
{
	for (unsigned i = 0; i < t->n; i++)
		if (!memcmp(t->list[i].at, own->at, sizeof own->at)) {
			memmove(&t->list[i], &t->list[i + 1], (--t->n - i) * sizeof *t->list);
			return;
		}
	t->own_apart = true;
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
	take_out(t, &c);
	return add(t, &c, room, err);
}

/* ---- programs ---- */

/* Builds a candidate's program and reckons with it; what cannot be built after all is TUNE_UNFIT. */
static void build(struct tuning *t, struct tune_candidate *c, uint64_t *insns)
{
	struct npu_capacity capacity = hw_capacity(&t->config->hw);
	struct npu_args args = c->args;
	struct npu_error ignored;
	struct reckoning reckoning;
	struct npu_program *program = npu_kernel_build(t->kernel, &capacity, &args, &ignored);
	c->state = TUNE_UNFIT;
	if (program && npu_program_fits(program, &capacity.limits, &ignored) && reckon(&t->config->hw, program, &reckoning)) {
		c->state = TUNE_OPEN;
		c->hash = program->hash;
		c->bound = fmax(c->bound, reckoning.least);
		c->estimate = reckoning.cycles;
	}
	*insns += program ? program->ninsns : 0;
	npu_program_free(program);
}

static int by_closed_form(const void *left, const void *right)
{
	const struct tune_candidate *a = *(struct tune_candidate *const *)left, *b = *(struct tune_candidate *const *)right;
	if (a->estimate != b->estimate)
		return a->estimate < b->estimate ? -1 : 1;
	return a < b ? -1 : 1;
}

static int by_hash(const void *left, const void *right)
{
	const struct tune_candidate *a = *(struct tune_candidate *const *)left, *b = *(struct tune_candidate *const *)right;
	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return a < b ? 1 : -1;
}

/* ---- simulations ---- */

static void pick(struct tuning *t, unsigned candidate, unsigned *batch, unsigned *n)
{
	t->list[candidate].state = TUNE_TRIED;
	batch[(*n)++] = candidate;
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

static bool is_ruled_out(const struct tuning *t, const struct tune_candidate *c)
{
	return c->state != TUNE_TRIED && t->nsimulated && c->bound >= (double)t->list[t->best].cycles;
}

/* All that may be better than the kernel's own choice, in the order of the closed form until enough is built. Of those of one program
 * one stays. */
static bool build_all(struct tuning *t, struct npu_error *err)
{
	struct tune_candidate **list = malloc(t->n * sizeof *list);
	uint64_t insns = 0;
	unsigned n = 0, built = 0;
	if (!list)
		return out_of_memory(err);
	for (unsigned i = 0; i + 1 < t->n; i++)
		list[n++] = &t->list[i];
	qsort(list, n, sizeof *list, by_closed_form);
	for (unsigned i = 0; i < n && insns < BUILT_INSNS; i++)
		if (!is_ruled_out(t, list[i]))
			build(t, list[i], &insns);
	for (unsigned i = 0; i < t->n; i++)
		if (t->list[i].state == TUNE_OPEN || t->list[i].state == TUNE_TRIED)
			list[built++] = &t->list[i];
	qsort(list, built, sizeof *list, by_hash);
	for (unsigned i = 1; i < built; i++)
		if (list[i]->hash == list[i - 1]->hash)
			list[i]->state = TUNE_SAME;
	free(list);
	return true;
}

static bool is_open(const struct tuning *t, const struct tune_candidate *c)
{
	return c->state == TUNE_OPEN && !is_ruled_out(t, c);
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

/* Whether a candidate that was picked is estimated alike. */
static bool is_tried(const struct tuning *t, const struct tune_candidate *c)
{
	for (unsigned i = 0; i < t->n; i++)
		if (t->list[i].state == TUNE_TRIED && t->list[i].estimate == c->estimate)
			return true;
	return false;
}

/* The most promising open candidate, of equal ones that of the largest tiles; `fresh`: of those only that no other was estimated like.
 * -1: there is none. */
static int next(const struct tuning *t, bool fresh)
{
	int found = -1;
	double least = INFINITY;
	for (unsigned i = 0; i < t->n; i++) {
		const struct tune_candidate *c = &t->list[i];
		if (!is_open(t, c))
			continue;
		double value = corrected(t, c);
		if (value <= least && !(fresh && is_tried(t, c))) {
			least = value;
			found = (int)i;
		}
	}
	return found;
}

/* An open candidate with the tiles of the best one that is estimated to be no more than TWIN slower, the first of them; -1:
 * there is none. An estimate tells least of what only buffers differ in. */
static int twin(const struct tuning *t)
{
	const struct tune_candidate *best = &t->list[t->best];
	for (unsigned i = 0; i < t->n; i++) {
		const struct tune_candidate *c = &t->list[i];
		bool same = is_open(t, c) && c->estimate <= TWIN * best->estimate;
		for (unsigned f = 0; same && f < t->nfree; f++)
			same = t->kernel->params[t->free[f]].type == NPU_PARAM_CHOICE || c->args.value[t->free[f]] == best->args.value[t->free[f]];
		if (same)
			return (int)i;
	}
	return -1;
}

/* The kernel's own choice: what all others are compared with. */
static bool simulate_own(struct tuning *t, struct npu_error *err)
{
	unsigned batch[1], n = 0;
	uint64_t ignored = 0;
	build(t, &t->list[t->n - 1], &ignored);
	if (t->list[t->n - 1].state != TUNE_OPEN)
		return true;
	pick(t, t->n - 1, batch, &n);
	return simulate_batch(t, batch, n, 1, err);
}

static bool search(struct tuning *t, unsigned most, unsigned parallel, struct npu_error *err)
{
	unsigned batch[TUNE_MOST], n = 0;
	int i;
	while (t->nsimulated + n < (most + 1) / 2 && ((i = next(t, true)) >= 0 || (i = next(t, false)) >= 0))
		pick(t, (unsigned)i, batch, &n);
	if (!n && !t->nsimulated)
		return npu_fail(err, NPU_ERR_FIT, "%s: no candidate can be built", t->kernel->name);
	if (n && !simulate_batch(t, batch, n, parallel, err))
		return false;
	while (t->nsimulated < most) {
		for (n = 0; n < BATCH && t->nsimulated + n < most;) {
			if ((n || (i = twin(t)) < 0) && (i = next(t, false)) < 0)
				break;
			pick(t, (unsigned)i, batch, &n);
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
	if (!enumerate(t, named, &room, err) || !add_own(t, named, &room, err) || !simulate_own(t, err) || !build_all(t, err))
		return false;
	if (!most)
		most = t->n - t->own_apart < FEW * PART ? FEW : (t->n - t->own_apart) / PART;
	if (most > TUNE_MOST)
		most = TUNE_MOST;
	if (!search(t, most, parallel, err))
		return false;
	for (unsigned i = 0; i < t->n; i++) {
		const struct tune_candidate *c = &t->list[i];
		if (c->state == TUNE_TRIED)
			continue;
		if (c->state == TUNE_SAME)
			t->same++;
		else if (is_ruled_out(t, c))
			t->pruned++;
		else
			t->left++;
	}
	return true;
}

void tune_fini(struct tuning *t)
{
	free(t->list);
	t->list = NULL;
}
