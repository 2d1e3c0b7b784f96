/* SPDX-License-Identifier: Apache-2.0 */
/* What is run of what is asked for. */
#include "sim/model/runs.h"
#include "sim/choose.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* About the work of a simulation, in bursts of DRAM: an operator of more than DRAWN_OUT is drawn out from one of about SAMPLE
 * and one of twice that. An instruction costs as much as several bursts. */
enum { BURST = 256, INSN_BURSTS = 8, SAMPLE = 1 << 15, DRAWN_OUT = 4 * SAMPLE };

bool model_run_resolve(struct model_run *r, const char *kernel, const char *const *args, unsigned nargs, bool choose,
		       const struct config *config, struct npu_error *err)
{
	struct npu_capacity capacity = hw_capacity(&config->hw);
	r->kernel = npu_kernel_find(kernel);
	if (!r->kernel)
		return npu_fail(err, NPU_ERR_INTERNAL, "%s: there is no kernel %s", r->name, kernel);
	npu_args_init(r->kernel, &r->args);
	bool ok = true;
	for (unsigned a = 0; ok && a < nargs; a++)
		ok = npu_args_set(r->kernel, &r->args, args[a], err);
	if (ok && choose && npu_param_index(r->kernel, "order") >= 0)
		ok = choose_tiles(r->kernel, &r->args, config, model_parallel(), err);
	ok = ok && (r->kernel->resolve ? r->kernel->resolve(&capacity, &r->args, err)
				       : npu_args_check(r->kernel, &r->args, err));
	if (!ok) {
		npu_error_before(err, "%s: %s: ", r->name, kernel);
		return false;
	}
	r->expect = r->kernel->expect ? r->kernel->expect(&r->args) : (struct npu_expect){ 0 };
	return true;
}

/* ---- jobs ---- */

static bool same_values(const struct npu_kernel *k, const struct npu_args *a, const struct npu_args *b)
{
	return memcmp(a->value, b->value, k->nparams * sizeof a->value[0]) == 0;
}

static bool same(const struct model_job *a, const struct model_job *b)
{
	return a->kernel == b->kernel && a->dram_from == b->dram_from && same_values(a->kernel, &a->args, &b->args) &&
	       !a->whole == !b->whole && (!a->whole || same_values(a->kernel, a->whole, b->whole));
}

unsigned model_jobs_add(struct model_jobs *jobs, const struct model_job *job)
{
	for (unsigned i = 0; i < jobs->n; i++)
		if (same(&jobs->list[i], job))
			return i;
	if (jobs->n == jobs->room) {
		unsigned room = jobs->room ? 2 * jobs->room : 64;
		struct model_job *list = realloc(jobs->list, room * sizeof *list);
		if (!list) {
			npu_fail(jobs->err, NPU_ERR_MEMORY, "out of memory");
			return UINT_MAX;
		}
		jobs->list = list;
		jobs->room = room;
	}
	jobs->list[jobs->n] = *job;
	return jobs->n++;
}

/* A parameter along which an operator repeats itself: what goes with it, and in what steps. */
struct along {
	int param, with; /* `with` in proportion; -1: nothing */
	int64_t full, step;
};

/* Of a product that which has more tiles. */
static const char *dimension(const struct model_run *r)
{
	int64_t rows = npu_arg(r->kernel, &r->args, "tile_m", 0), columns = npu_arg(r->kernel, &r->args, "tile_n", 0);
	if (strcmp(r->kernel->name, "gemm") != 0 || !rows || !columns)
		return r->along;
	int64_t down = npu_arg(r->kernel, &r->args, "m", 0) / rows, across = npu_arg(r->kernel, &r->args, "n", 0) / columns;
	return across > down ? "n" : "m";
}

static bool along_of(const struct model_run *r, struct along *a)
{
	char tile[64];
	if (!r->along)
		return false;
	const char *along = dimension(r);
	*a = (struct along){ npu_param_index(r->kernel, along), -1, 0, 1 };
	if (a->param < 0)
		return false;
	a->full = r->args.value[a->param];
	if (strcmp(along, "heads") == 0 && (a->with = npu_param_index(r->kernel, "kv_heads")) >= 0)
		a->step = a->full / r->args.value[a->with];
	snprintf(tile, sizeof tile, "tile_%s", along);
	int64_t step = npu_arg(r->kernel, &r->args, tile, 0);
	/* A single tile has no steps. */
	if (step > 0)
		a->step = step < a->full ? step : a->full;
	return true;
}

/* The same operator, shorter, with the tiles of the whole one. */
static struct npu_args shortened(const struct model_run *r, const struct along *a, int64_t length)
{
	struct npu_args args = r->args;
	for (unsigned i = 0; i < r->kernel->nparams; i++)
		args.named[i] = true;
	args.value[a->param] = length;
	if (a->with >= 0)
		args.value[a->with] = r->args.value[a->with] * length / a->full;
	return args;
}

/* Whether the array is so much slower than the DRAM that a step costs as much as the next one, from the first one on. */
static bool array_bound(const struct model_run *r, const struct hw *hw)
{
	int dtype = npu_param_index(r->kernel, "dtype");
	bool as_int8 = dtype < 0 || strcmp(r->kernel->params[dtype].choices[r->args.value[dtype]], "int8") == 0;
	double macs = (double)hw_macs_per_cycle(hw, as_int8 ? NPU_INT8 : NPU_FP16);
	double array = (double)r->expect.macs / macs / hw->npu.clock_mhz;
	double bytes = (double)(r->expect.dram_read_bytes + r->expect.dram_write_bytes);
	return array > 1.25 * bytes / model_peak_gb_per_s(hw) / 1e3;
}

/* Lengths of the two runs that a long operator is drawn out from; false: it is run as it is. Each ends with the ragged tile with which
 * the whole ends, so that the line counts it once. The first steps after an empty pipeline cost otherwise than later ones where the
 * DRAM is busy, so the shorter run has two at least. */
static bool sample(const struct model_run *r, const struct hw *hw, struct along *a, int64_t length[2])
{
	double work = (double)(r->expect.dram_read_bytes + r->expect.dram_write_bytes) / BURST +
		      (double)r->expect.instructions * INSN_BURSTS;
	if (work < DRAWN_OUT || !along_of(r, a))
		return false;
	int64_t steps = 1 + (int64_t)((double)a->full / (double)a->step * SAMPLE / work);
	if (steps < 2 && !array_bound(r, hw))
		steps = 2;
	int64_t whole = a->step * steps, rest = a->full % a->step;
	length[0] = whole + rest;
	length[1] = 2 * whole + rest;
	return 2 * whole <= a->full / 2;
}

static bool plan(struct model_run *r, const struct hw *hw, struct model_jobs *jobs)
{
	struct along along;
	int64_t length[2];
	struct model_job job = { .kernel = r->kernel, .args = r->args, .name = r->name };
	r->jobs[1] = UINT_MAX;
	if (!sample(r, hw, &along, length))
		return (r->jobs[0] = model_jobs_add(jobs, &job)) != UINT_MAX;
	for (unsigned k = 0; k < 2; k++) {
		job.args = shortened(r, &along, length[k]);
		job.whole = &r->args;
		r->lengths[k] = (double)length[k];
		if ((r->jobs[k] = model_jobs_add(jobs, &job)) == UINT_MAX)
			return false;
	}
	r->lengths[2] = (double)along.full;
	return true;
}

static struct model_figures one_run(const struct model_run *r, const struct model_job *jobs)
{
	struct model_figures f;
	if (r->jobs[1] == UINT_MAX)
		return jobs[r->jobs[0]].out;
	model_figures_draw_out(&f, &jobs[r->jobs[0]].out, r->lengths[0], &jobs[r->jobs[1]].out, r->lengths[1], r->lengths[2]);
	return f;
}

bool model_runs(struct model_run *runs, unsigned n, const struct config *config, unsigned parallel, unsigned *njobs,
		struct npu_error *err)
{
	struct model_jobs jobs = { .err = err };
	bool ok = true;
	for (unsigned i = 0; ok && i < n; i++)
		ok = plan(&runs[i], &config->hw, &jobs);
	ok = ok && model_jobs_run(jobs.list, jobs.n, config, parallel, err);
	for (unsigned i = 0; ok && i < n; i++)
		runs[i].one = one_run(&runs[i], jobs.list);
	*njobs = jobs.n;
	free(jobs.list);
	return ok;
}
