/* SPDX-License-Identifier: Apache-2.0 */
/* From a plan to runs, and back to sums. */
#include "sim/model/step.h"
#include "isa/units.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Few of them keep a digit. */
static struct npu_text mib(double bytes)
{
	struct npu_text text;
	double n = bytes / (1 << 20);
	snprintf(text.text, sizeof text.text, "%.*f MiB", n < 10 ? 1 : 0, n);
	return text;
}

static bool fits(struct model_step *s, struct npu_error *err)
{
	struct npu_capacity capacity = hw_capacity(&s->config->hw);
	s->weight_bytes = model_weight_bytes(s->dims, s->ask);
	s->kv_bytes = model_kv_bytes(s->dims, s->ask);
	s->activation_bytes = model_activation_bytes(s->dims, s->ask);
	s->dram_bytes = capacity.limits.dram_bytes;
	/* In floating point: a cache may be larger than any number. */
	double sum = (double)s->weight_bytes + (double)s->kv_bytes + (double)s->activation_bytes;
	if (sum <= (double)s->dram_bytes)
		return true;
	return npu_fail(err, NPU_ERR_FIT,
			"%s of %s parameters does not fit: weights %s + KV %s + activations %s = %s, the DRAM of %s has %s",
			s->dims->name, npu_count_text(model_parameters(s->dims)).text,
			mib((double)s->weight_bytes).text, mib((double)s->kv_bytes).text, mib((double)s->activation_bytes).text,
			mib(sum).text, s->config->title, mib((double)s->dram_bytes).text);
}

static bool resolve(struct model_step *s, unsigned i, struct npu_error *err)
{
	const struct model_op *op = &s->plan.ops[i];
	const char *args[MODEL_ARGS];
	for (unsigned a = 0; a < op->nargs; a++)
		args[a] = op->args[a];
	s->runs[i] = (struct model_run){ .name = op->name, .along = op->along };
	return model_run_resolve(&s->runs[i], op->kernel, args, op->nargs, s->choose, s->config, err);
}

struct model_step *model_step_new(const struct transformer *dims, const struct model_ask *ask,
				  const struct config *config, bool choose, bool exact, struct npu_error *err)
{
	struct model_step *s = calloc(1, sizeof *s);
	if (!s) {
		npu_fail(err, NPU_ERR_MEMORY, "out of memory");
		return NULL;
	}
	s->dims = dims;
	s->ask = ask;
	s->config = config;
	s->choose = choose;
	s->exact = exact;
	struct npu_capacity capacity = hw_capacity(&config->hw);
	bool ok = model_plan(dims, ask, &capacity, &s->plan, err) && fits(s, err);
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
		struct npu_args args = s->runs[i].args;
		struct npu_program *program = npu_kernel_build(s->runs[i].kernel, &capacity, &args, err);
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
	if (!model_runs(s->runs, s->plan.nops, s->config, parallel, &s->njobs, err))
		return false;
	for (unsigned i = 0; i < s->plan.nops; i++) {
		const struct model_op *op = &s->plan.ops[i];
		const struct model_section *section = &s->plan.sections[op->section];
		const struct model_figures *one = &s->runs[i].one;
		model_figures_add(&s->ops[i].total, one, (double)op->repeat * section->count);
		for (uint32_t l = 0; section->is_layer && l < s->dims->layers; l++)
			if (s->plan.section_of[l] == op->section)
				model_figures_add(&s->layers[l], one, op->repeat);
	}
	return true;
}

/* ---- exact ---- */

enum { PAGE = 4096 };

/* The runs of a step in its order: of each, its job. */
struct exact {
	struct model_jobs jobs;
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
	struct model_job job = { .kernel = s->runs[op].kernel, .args = s->runs[op].args, .name = s->plan.ops[op].name };
	(void)layer;
	job.dram_from = address(s, e, op);
	e->weights += s->plan.ops[op].weight_bytes;
	unsigned at = model_jobs_add(&e->jobs, &job);
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
