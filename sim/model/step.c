/* SPDX-License-Identifier: Apache-2.0 */
/* From a plan to runs, and back to sums. */
#include "sim/model/step.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* About the work of a simulation, in bursts of DRAM: an operator of more than DRAWN_OUT is drawn out from one of about SAMPLE
 * and one of twice that. An instruction costs as much as several bursts. */
enum { BURST = 256, INSN_BURSTS = 8, SAMPLE = 1 << 15, DRAWN_OUT = 4 * SAMPLE };

static double mib(uint64_t bytes) { return (double)bytes / (1 << 20); }

static bool fits(struct model_step *s, struct npu_error *err)
{
	struct npu_capacity capacity = hw_capacity(&s->config->hw);
	s->weight_bytes = model_weight_bytes(s->dims, s->ask);
	s->kv_bytes = model_kv_bytes(s->dims, s->ask);
	s->activation_bytes = model_activation_bytes(s->dims, s->ask);
	s->dram_bytes = capacity.limits.dram_bytes;
	uint64_t sum = s->weight_bytes + s->kv_bytes + s->activation_bytes;
	if (sum <= s->dram_bytes)
		return true;
	return npu_fail(err, NPU_ERR_FIT,
			"%s does not fit: weights %.0f MiB + KV %.0f MiB + activations %.0f MiB = %.0f MiB, the DRAM of %s has "
			"%.0f MiB", s->dims->name, mib(s->weight_bytes), mib(s->kv_bytes), mib(s->activation_bytes), mib(sum),
			s->config->title, mib(s->dram_bytes));
}

static bool resolve(struct model_step *s, unsigned i, struct npu_error *err)
{
	const struct model_op *op = &s->plan.ops[i];
	struct model_step_op *r = &s->ops[i];
	struct npu_capacity capacity = hw_capacity(&s->config->hw);
	r->kernel = npu_kernel_find(op->kernel);
	if (!r->kernel)
		return npu_fail(err, NPU_ERR_INTERNAL, "%s: there is no kernel %s", op->name, op->kernel);
	npu_args_init(r->kernel, &r->args);
	for (unsigned a = 0; a < op->nargs; a++)
		if (!npu_args_set(r->kernel, &r->args, op->args[a], err)) {
			npu_error_before(err, "%s: %s: ", op->name, op->kernel);
			return false;
		}
	if (!(r->kernel->resolve ? r->kernel->resolve(&capacity, &r->args, err)
				 : npu_args_check(r->kernel, &r->args, err))) {
		npu_error_before(err, "%s: %s: ", op->name, op->kernel);
		return false;
	}
	r->expect = r->kernel->expect ? r->kernel->expect(&r->args) : (struct npu_expect){ 0 };
	return true;
}

struct model_step *model_step_new(const struct transformer *dims, const struct model_ask *ask,
				  const struct config *config, bool exact, struct npu_error *err)
{
	struct model_step *s = calloc(1, sizeof *s);
	if (!s) {
		npu_fail(err, NPU_ERR_MEMORY, "out of memory");
		return NULL;
	}
	s->dims = dims;
	s->ask = ask;
	s->config = config;
	s->exact = exact;
	bool ok = model_plan(dims, ask, &s->plan, err) && fits(s, err);
	for (unsigned i = 0; ok && i < s->plan.nops; i++)
		ok = resolve(s, i, err);
	if (ok)
		return s;
	free(s);
	return NULL;
}

void model_step_free(struct model_step *s) { free(s); }

static void measure(struct model_step_op *r, const struct npu_program *program)
{
	r->needs = program->needs;
	r->instructions = program->ninsns;
	r->sram_bytes = r->accum_bytes = 0;
	for (uint32_t i = 0; i < program->nbuffers; i++)
		*(program->buffers[i].local & NPU_ACC_BIT ? &r->accum_bytes : &r->sram_bytes) += program->buffers[i].bytes;
}

bool model_step_measure(struct model_step *s, struct npu_error *err)
{
	struct npu_capacity capacity = hw_capacity(&s->config->hw);
	for (unsigned i = 0; i < s->plan.nops; i++) {
		struct npu_args args = s->ops[i].args;
		struct npu_program *program = npu_kernel_build(s->ops[i].kernel, &capacity, &args, err);
		if (!program || !npu_program_fits(program, &capacity.limits, err)) {
			npu_error_before(err, "%s: ", s->plan.ops[i].name);
			npu_program_free(program);
			return false;
		}
		measure(&s->ops[i], program);
		npu_program_free(program);
	}
	return true;
}

/* ---- jobs ---- */

struct jobs {
	struct model_job *list;
	unsigned n, room;
	struct npu_error *err;
};

static bool same(const struct model_job *a, const struct model_job *b)
{
	return a->kernel == b->kernel && a->dram_from == b->dram_from &&
	       memcmp(a->args.value, b->args.value, a->kernel->nparams * sizeof a->args.value[0]) == 0;
}

/* The number of a job, one that is there already where it is the same; UINT_MAX when out of memory. */
static unsigned add(struct jobs *jobs, const struct model_job *job)
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

static bool along_of(const struct model_op *op, const struct model_step_op *r, struct along *a)
{
	char tile[MODEL_ARG];
	if (!op->along)
		return false;
	*a = (struct along){ npu_param_index(r->kernel, op->along), -1, 0, 1 };
	if (a->param < 0)
		return false;
	a->full = r->args.value[a->param];
	if (strcmp(op->along, "heads") == 0 && (a->with = npu_param_index(r->kernel, "kv_heads")) >= 0)
		a->step = a->full / r->args.value[a->with];
	snprintf(tile, sizeof tile, "tile_%s", op->along);
	int64_t step = npu_arg(r->kernel, &r->args, tile, 0);
	if (step > 0 && step < a->full)
		a->step = step;
	return true;
}

/* The same operator, shorter, with the tiles of the whole one. */
static struct npu_args shortened(const struct model_step_op *r, const struct along *a, int64_t length)
{
	struct npu_args args = r->args;
	for (unsigned i = 0; i < r->kernel->nparams; i++)
		args.named[i] = true;
	args.value[a->param] = length;
	if (a->with >= 0)
		args.value[a->with] = r->args.value[a->with] * length / a->full;
	return args;
}

/* Lengths of the two runs that a long operator is drawn out from; false: it is run as it is. */
static bool sample(const struct model_op *op, const struct model_step_op *r, struct along *a, int64_t length[2])
{
	double work = (double)(r->expect.dram_read_bytes + r->expect.dram_write_bytes) / BURST +
		      (double)r->expect.instructions * INSN_BURSTS;
	if (work < DRAWN_OUT || !along_of(op, r, a))
		return false;
	double steps = (double)a->full / (double)a->step * SAMPLE / work;
	length[0] = a->step * ((int64_t)steps + 1);
	length[1] = 2 * length[0];
	return length[1] <= a->full / 2;
}

static bool plan_op(struct model_step *s, unsigned i, struct jobs *jobs)
{
	const struct model_op *op = &s->plan.ops[i];
	struct model_step_op *r = &s->ops[i];
	struct along along;
	int64_t length[2];
	struct model_job job = { .kernel = r->kernel, .args = r->args, .name = op->name };
	r->runs[1] = UINT_MAX;
	if (!sample(op, r, &along, length))
		return (r->runs[0] = add(jobs, &job)) != UINT_MAX;
	for (unsigned k = 0; k < 2; k++) {
		job.args = shortened(r, &along, length[k]);
		r->lengths[k] = (double)length[k];
		if ((r->runs[k] = add(jobs, &job)) == UINT_MAX)
			return false;
	}
	r->lengths[2] = (double)along.full;
	return true;
}

static struct model_figures one_run(const struct model_step_op *r, const struct model_job *jobs)
{
	struct model_figures f;
	if (r->runs[1] == UINT_MAX)
		return jobs[r->runs[0]].out;
	model_figures_draw_out(&f, &jobs[r->runs[0]].out, r->lengths[0], &jobs[r->runs[1]].out, r->lengths[1], r->lengths[2]);
	return f;
}

static void sum_up(struct model_step *s)
{
	for (unsigned i = 0; i < s->plan.nops; i++)
		model_figures_add(&s->sections[s->plan.ops[i].section], &s->ops[i].total, 1);
	for (unsigned k = 0; k < s->plan.nsections; k++)
		model_figures_add(&s->total, &s->sections[k], 1);
}

/* Layers of a kind are alike. */
static bool run_once(struct model_step *s, unsigned parallel, struct npu_error *err)
{
	struct jobs jobs = { .err = err };
	bool ok = true;
	for (unsigned i = 0; ok && i < s->plan.nops; i++)
		ok = plan_op(s, i, &jobs);
	ok = ok && model_jobs_run(jobs.list, jobs.n, s->config, parallel, err);
	for (unsigned i = 0; ok && i < s->plan.nops; i++) {
		const struct model_op *op = &s->plan.ops[i];
		const struct model_section *section = &s->plan.sections[op->section];
		struct model_figures one = one_run(&s->ops[i], jobs.list);
		model_figures_add(&s->ops[i].total, &one, (double)op->repeat * section->count);
		for (uint32_t l = 0; section->is_layer && l < s->dims->layers; l++)
			if (s->plan.section_of[l] == op->section)
				model_figures_add(&s->layers[l], &one, op->repeat);
	}
	s->njobs = jobs.n;
	free(jobs.list);
	return ok;
}

/* ---- exact ---- */

enum { PAGE = 4096 };

/* The runs of a step in its order: of each, its job. */
struct exact {
	struct jobs jobs;
	unsigned *order, n, room;
	uint64_t weights; /* bytes of those that lie before */
};

static bool follow(struct exact *e, unsigned job)
{
	if (e->n == e->room) {
		unsigned room = e->room ? 2 * e->room : 256;
		unsigned *order = realloc(e->order, room * sizeof *order);
		if (!order)
			return npu_fail(e->jobs.err, NPU_ERR_MEMORY, "out of memory");
		e->order = order;
		e->room = room;
	}
	e->order[e->n++] = job;
	return true;
}

typedef bool visit(struct model_step *, unsigned op, unsigned layer, struct exact *);

static bool visit_section(struct model_step *s, unsigned section, unsigned layer, visit *f, struct exact *e)
{
	for (unsigned i = 0; i < s->plan.nops; i++)
		for (uint32_t k = 0; s->plan.ops[i].section == section && k < s->plan.ops[i].repeat; k++)
			if (!f(s, i, layer, e))
				return false;
	return true;
}

/* What lies before all layers is the first section, what lies behind them the last one. */
static bool visit_all(struct model_step *s, visit *f, struct exact *e)
{
	bool ok = visit_section(s, 0, UINT_MAX, f, e);
	for (uint32_t l = 0; ok && l < s->dims->layers; l++)
		ok = visit_section(s, s->plan.section_of[l], l, f, e);
	return ok && visit_section(s, s->plan.nsections - 1, UINT_MAX, f, e);
}

/* Behind the weights before it; where what it needs no longer fits there, from the beginning again. */
static uint64_t address(const struct model_step *s, const struct exact *e, unsigned op)
{
	uint64_t needs = s->ops[op].needs.dram_bytes, room = needs < s->dram_bytes ? s->dram_bytes - needs : 0;
	uint64_t pages = room / PAGE;
	return pages ? e->weights / PAGE % pages * PAGE : 0;
}

static bool plan_visit(struct model_step *s, unsigned op, unsigned layer, struct exact *e)
{
	struct model_job job = { .kernel = s->ops[op].kernel, .args = s->ops[op].args, .name = s->plan.ops[op].name };
	(void)layer;
	job.dram_from = address(s, e, op);
	e->weights += s->plan.ops[op].weight_bytes;
	unsigned at = add(&e->jobs, &job);
	return at != UINT_MAX && follow(e, at);
}

static bool sum_visit(struct model_step *s, unsigned op, unsigned layer, struct exact *e)
{
	const struct model_figures *f = &e->jobs.list[e->order[e->n++]].out;
	model_figures_add(&s->ops[op].total, f, 1);
	if (layer != UINT_MAX)
		model_figures_add(&s->layers[layer], f, 1);
	return true;
}

static bool run_all(struct model_step *s, unsigned parallel, struct npu_error *err)
{
	struct exact e = { .jobs = { .err = err } };
	bool ok = model_step_measure(s, err) && visit_all(s, plan_visit, &e) &&
		  model_jobs_run(e.jobs.list, e.jobs.n, s->config, parallel, err);
	e.n = 0;
	ok = ok && visit_all(s, sum_visit, &e);
	s->njobs = e.jobs.n;
	free(e.jobs.list);
	free(e.order);
	return ok;
}

bool model_step_run(struct model_step *s, unsigned parallel, struct npu_error *err)
{
	bool ok = s->exact ? run_all(s, parallel, err) : run_once(s, parallel, err);
	if (ok)
		sum_up(s);
	return ok;
}
