/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the checks and closes the report. */
#include "isa/check/checker.h"
#include "isa/units.h"

#include <stdlib.h>
#include <string.h>

static uint32_t first_insn(const struct npu_finding *f)
{
	return f->nsites ? f->site[0].insn : NPU_CHECK_NOBODY;
}

struct ranked {
	uint32_t insn;
	uint32_t index; /* keeps the order of those of one instruction */
};

static int by_insn(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->insn != y->insn)
		return x->insn < y->insn ? -1 : 1;
	return x->index < y->index ? -1 : 1;
}

/* The findings, sorted, in the arena; NULL when out of memory. */
static struct npu_finding *sorted(struct npu_checker *c)
{
	uint32_t n = c->nfindings;
	struct npu_finding *out = npu_arena_alloc(c->arena, n, sizeof *out);
	struct ranked *ranks = calloc(n ? n : 1, sizeof *ranks);
	for (uint32_t i = 0; ranks && i < n; i++)
		ranks[i] = (struct ranked){ first_insn(&c->findings[i]), i };
	if (ranks)
		qsort(ranks, n, sizeof *ranks, by_insn);
	for (uint32_t i = 0; out && ranks && i < n; i++)
		out[i] = c->findings[ranks[i].index];
	out = ranks ? out : NULL;
	free(ranks);
	return out;
}

static void count_severity(struct npu_check_report *report, enum npu_check_severity severity)
{
	report->errors += severity == NPU_CHECK_ERROR;
	report->warnings += severity == NPU_CHECK_WARNING;
	report->notes += severity == NPU_CHECK_NOTE;
}

static struct npu_check_report *close_report(struct npu_checker *c)
{
	struct npu_check_report *report = npu_arena_alloc(c->arena, 1, sizeof *report);
	struct npu_finding *findings = sorted(c);
	if (!report || !findings || c->out_of_memory)
		return NULL;
	*report = (struct npu_check_report){ .nfindings = c->nfindings,
					     .findings = findings,
					     .races = c->races,
					     .races_cut = c->races_cut,
					     .most = npu_checker_most(c),
					     .untold = c->untold,
					     .redundant = c->redundant,
					     .arena = c->arena };
	for (uint32_t i = 0; i < c->nfindings; i++)
		count_severity(report, npu_check_severity_of(findings[i].kind));
	return report;
}

static void find(struct npu_checker *c)
{
	static void (*const checks[])(struct npu_checker *) = {
		npu_check_semaphores, npu_check_races, npu_check_written,   npu_check_unread,    npu_check_bounds,
		npu_check_tensors,    npu_check_pages, npu_check_alignment, npu_check_redundant, npu_check_dead_writes,
	};
	if (c->options.sides) {
		npu_check_sides(c);
		return;
	}
	c->out_of_memory =
	    !npu_order_init(&c->order, c->program, NPU_ORDER_NOBODY) || !npu_ranges_init(&c->ranges, c->program);
	for (unsigned i = 0; i < sizeof checks / sizeof checks[0] && !c->out_of_memory; i++)
		checks[i](c);
	npu_ranges_fini(&c->ranges);
	npu_order_fini(&c->order);
}

struct npu_check_report *npu_check(const struct npu_program *program, const struct npu_check_options *options,
				   struct npu_error *err)
{
	if (!(options && options->sides) && !npu_program_check(program, err))
		return NULL;
	struct npu_checker c = { .program = program, .arena = npu_arena_new() };
	if (options)
		c.options = *options;
	if (c.arena)
		find(&c);
	struct npu_check_report *report = c.arena ? close_report(&c) : NULL;
	free(c.findings);
	free(c.slots);
	if (!report) {
		npu_arena_free(c.arena);
		npu_fail(err, NPU_ERR_MEMORY, "out of memory while checking a program of %s",
			 npu_number_of(program->ninsns, "instruction").text);
	}
	return report;
}

static const char *copied(struct npu_check_report *report, const char *text)
{
	return npu_arena_text(report->arena, text, strlen(text));
}

bool npu_check_add(struct npu_check_report *report, const struct npu_finding *found, struct npu_error *err)
{
	struct npu_finding *all = npu_arena_alloc(report->arena, report->nfindings + (uint64_t)1, sizeof *all);
	struct npu_finding f = *found;
	uint32_t at = 0;
	f.text = copied(report, f.text);
	f.notes = copied(report, f.notes);
	f.bytes.name = copied(report, f.bytes.name ? f.bytes.name : "");
	if (!all || !f.text || !f.notes || !f.bytes.name)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory for a finding");
	while (at < report->nfindings && first_insn(&report->findings[at]) <= first_insn(&f))
		at++;
	memcpy(all, report->findings, at * sizeof *all);
	all[at] = f;
	memcpy(all + at + 1, report->findings + at, (report->nfindings - at) * sizeof *all);
	report->findings = all;
	report->nfindings++;
	count_severity(report, npu_check_severity_of(f.kind));
	return true;
}

void npu_check_free(struct npu_check_report *report)
{
	if (report)
		npu_arena_free(report->arena);
}
