/* SPDX-License-Identifier: Apache-2.0 */
/* No false alarms: shipped kernels are clean whatever their parameters, and what the checker calls free of races
 * computes the same bits in every legal interleaving. */
#include "isa/check.h"
#include "isa/exec.h"
#include "tests/support/kernel_cases.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 40, LONGEST = 300, SHORT = 40, INTERLEAVINGS = 12 };

static int count_kernels(void)
{
	int n = 0;
	while (npu_kernels[n])
		n++;
	return n;
}

static bool names_a_tile(const struct npu_kernel *k, const struct npu_args *args)
{
	for (unsigned i = 0; i < k->nparams; i++)
		if (!strncmp(k->params[i].name, "tile_", 5) && args->named[i])
			return true;
	return false;
}

/* NULL when tiles that were drawn do not fit. */
static struct npu_program *random_program(const struct npu_kernel *k, const struct npu_capacity *capacity,
					  uint64_t longest, struct case_rng *rng, char *text, size_t size)
{
	struct npu_args args;
	struct npu_error err = { 0 };
	char values[400];
	random_args(k, &args, longest, rng);
	random_heads(k, &args, &(struct case_rng){ rng->state });
	struct npu_program *p = npu_kernel_build(k, capacity, &args, &err);
	snprintf(text, size, "%s %s", k->name, npu_args_print(k, &args, values, sizeof values));
	ck_assert_msg(p || (err.code == NPU_ERR_FIT && names_a_tile(k, &args)), "%s: %s", text, err.text);
	return p;
}

/* Rows of odd lengths do lie off the granule; nothing else may be said. */
static bool is_about_alignment(const struct npu_finding *f)
{
	return f->kind == NPU_CHECK_DRAM_GRANULE || f->kind == NPU_CHECK_BANK_WORD;
}

START_TEST(shipped_kernels_are_clean_on_every_preset)
{
	const struct npu_kernel *k = npu_kernels[_i];
	struct case_rng rng = { 11 };
	unsigned built = 0;
	for (const struct named_capacity *c = preset_capacities; c->name; c++)
		for (unsigned n = 0; n < CASES; n++) {
			char text[500];
			struct npu_error err;
			struct npu_capacity capacity = capacity_of_case(c, n);
			struct npu_program *p = random_program(k, &capacity, LONGEST, &rng, text, sizeof text);
			if (!p)
				continue;
			struct npu_check_report *report =
			    npu_check(p, &(struct npu_check_options){ .capacity = &capacity }, &err);
			ck_assert_msg(report != NULL, "%s: %s", text, err.text);
			for (uint32_t i = 0; i < report->nfindings; i++)
				ck_assert_msg(is_about_alignment(&report->findings[i]), "%s on %s: %s", text, c->name,
					      report->findings[i].text);
			npu_check_free(report);
			npu_program_free(p);
			built++;
		}
	ck_assert_uint_gt(built, CASES);
}
END_TEST

/* ---- interleavings ---- */

struct scheduler {
	const struct npu_program *program;
	struct case_rng rng;
	uint32_t next[NPU_ENGINES]; /* where to look for the head of a queue; ninsns: empty */
	uint32_t *counts;
	unsigned favourite; /* an engine that runs whenever it can */
};

static uint32_t head_from(const struct npu_program *p, unsigned e, uint32_t from)
{
	while (from < p->ninsns && (unsigned)npu_op_engine(p->insns[from].op) != e)
		from++;
	return from;
}

static void scheduler_init(struct scheduler *s, const struct npu_program *p, uint64_t seed)
{
	*s = (struct scheduler){ .program = p,
				 .rng = { seed },
				 .counts = calloc(p->nsems + (size_t)1, sizeof *s->counts) };
	s->favourite = (unsigned)case_below(&s->rng, NPU_ENGINES + 1);
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		s->next[e] = head_from(p, e, 0);
	for (uint32_t i = 0; i < p->nsems; i++)
		s->counts[i] = p->sems[i].initial;
}

static bool is_ready(const struct scheduler *s, unsigned e)
{
	if (s->next[e] == s->program->ninsns)
		return false;
	const struct npu_insn *insn = &s->program->insns[s->next[e]];
	for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++)
		if (insn->wait[slot].count > s->counts[insn->wait[slot].sem])
			return false;
	return true;
}

static uint32_t run_one(void *context, uint32_t step)
{
	struct scheduler *s = context;
	unsigned e = s->favourite;
	(void)step;
	while (e >= NPU_ENGINES || !is_ready(s, e))
		e = (unsigned)case_below(&s->rng, NPU_ENGINES);
	uint32_t insn = s->next[e];
	for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++) {
		s->counts[s->program->insns[insn].wait[slot].sem] -= s->program->insns[insn].wait[slot].count;
		s->counts[s->program->insns[insn].post[slot].sem] += s->program->insns[insn].post[slot].count;
	}
	s->next[e] = head_from(s->program, e, insn + 1);
	return insn;
}

static void fill_inputs(struct npu_exec *exec, const struct npu_program *p)
{
	struct case_rng rng = { 5 };
	for (uint32_t i = 0; i < p->ntensors; i++) {
		const struct npu_tensor *t = &p->tensors[i];
		if (t->dir == NPU_TENSOR_OUT || t->dir == NPU_TENSOR_TEMP)
			continue;
		uint64_t n = 1;
		for (uint32_t d = 0; d < t->rank; d++)
			n *= t->shape[d];
		double *values = calloc(n, sizeof *values);
		for (uint64_t v = 0; v < n; v++)
			values[v] = ((double)case_below(&rng, 2001) - 1000) / (npu_dtype_is_float(t->dtype) ? 500 : 10);
		ck_assert(npu_exec_tensor_write(exec, t, values, NULL));
		free(values);
	}
}

/* Memories at the end: SRAM, accumulators, DRAM one after the other. */
static uint8_t *memories_after(const struct npu_program *p, struct scheduler *scheduler, uint64_t *nbytes)
{
	struct npu_error err;
	struct npu_exec_options options = { .order = scheduler ? run_one : NULL, .order_context = scheduler };
	struct npu_exec *exec = npu_exec_new(p, &options, &err);
	*nbytes = p->needs.sram_bytes + p->needs.accum_bytes + p->needs.dram_bytes;
	uint8_t *bytes = malloc(*nbytes + 1);
	fill_inputs(exec, p);
	ck_assert_msg(npu_exec_run(exec, &err), "%s", err.text);
	ck_assert(npu_exec_local_read(exec, 0, bytes, p->needs.sram_bytes));
	ck_assert(npu_exec_local_read(exec, NPU_ACC_BIT, bytes + p->needs.sram_bytes, p->needs.accum_bytes));
	ck_assert(npu_exec_dram_read(exec, 0, bytes + p->needs.sram_bytes + p->needs.accum_bytes, p->needs.dram_bytes));
	npu_exec_free(exec);
	return bytes;
}

START_TEST(every_legal_interleaving_computes_the_same_bits)
{
	const struct npu_kernel *k = npu_kernels[_i];
	struct case_rng rng = { 17 };
	unsigned ran = 0;
	for (unsigned n = 0; n < 12; n++) {
		char text[500];
		uint64_t nbytes;
		struct npu_program *p = random_program(k, preset_capacity("tiny-256k"), SHORT, &rng, text, sizeof text);
		if (!p)
			continue;
		uint8_t *expected = memories_after(p, NULL, &nbytes);
		for (unsigned run = 0; run < INTERLEAVINGS; run++) {
			struct scheduler scheduler;
			scheduler_init(&scheduler, p, 1000 * n + run);
			uint8_t *found = memories_after(p, &scheduler, &nbytes);
			ck_assert_msg(memcmp(found, expected, nbytes) == 0, "%s: other bits in interleaving %u", text,
				      run);
			free(found);
			free(scheduler.counts);
		}
		free(expected);
		npu_program_free(p);
		ran++;
	}
	ck_assert_uint_gt(ran, 4);
}
END_TEST

/* ---- what orders pages ---- */

static struct npu_program *paged_program(const char *words, struct npu_args *args)
{
	const struct npu_kernel *k = npu_kernel_find("decode_attention_paged");
	struct npu_error err = { 0 };
	char text[200];
	snprintf(text, sizeof text, "%s", words);
	npu_args_init(k, args);
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
		ck_assert_msg(npu_args_set(k, args, word, &err), "%s", err.text);
	struct npu_program *p = npu_kernel_build(k, preset_capacity("edge-1mb"), args, &err);
	ck_assert_msg(p != NULL, "%s: %s", words, err.text);
	return p;
}

static unsigned findings_of(const struct npu_program *p, enum npu_check_kind kind)
{
	struct npu_error err = { 0 };
	struct npu_check_report *report =
	    npu_check(p, &(struct npu_check_options){ .capacity = preset_capacity("edge-1mb") }, &err);
	unsigned n = 0;
	ck_assert_msg(report != NULL, "%s", err.text);
	for (uint32_t i = 0; i < report->nfindings; i++)
		n += report->findings[i].kind == kind;
	npu_check_free(report);
	return n;
}

static const char *const decoders[] = {
	"batch=2 seq=200 heads=4 kv_heads=2",
	"batch=2 seq=200 heads=4 kv_heads=2 gather=apart tile_kv=64",
	"batch=2 seq=200 heads=4 kv_heads=2 kv=int8 kv_group=half",
	"batch=2 seq=200 heads=4 kv_heads=1 kv=int4 dequant=matrix splits=2 tile_kv=64",
};
enum { DECODERS = sizeof decoders / sizeof *decoders };

START_TEST(a_new_token_that_nobody_waits_for_is_a_race)
{
	struct npu_args args;
	struct npu_program *p = paged_program(decoders[_i], &args), without = *p;
	struct npu_insn *insns = malloc(p->ninsns * sizeof *insns);
	unsigned waits = 0;
	memcpy(insns, p->insns, p->ninsns * sizeof *insns);
	without.insns = insns;
	for (uint32_t i = 0; i < p->ninsns; i++)
		for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++)
			if (insns[i].wait[slot].count && !strcmp(p->sems[insns[i].wait[slot].sem].name, "appended")) {
				insns[i].wait[slot] = (struct npu_sem_ref){ 0 };
				waits++;
			}
	ck_assert_uint_eq(waits, 2); /* one a sequence */
	ck_assert_uint_eq(findings_of(p, NPU_CHECK_RACE), 0);
	ck_assert_uint_ge(findings_of(&without, NPU_CHECK_RACE), 1);
	free(insns);
	npu_program_free(p);
}
END_TEST

/* Sequence 0 reads from a page of sequence 1. */
START_TEST(a_table_that_names_a_page_of_another_sequence_is_told)
{
	struct npu_args args;
	struct npu_program *p = paged_program(decoders[_i], &args), wrong = *p;
	struct npu_table tables[2] = { p->tables[0], p->tables[1] };
	uint32_t *entries = malloc(tables[0].count * sizeof *entries);
	memcpy(entries, tables[0].entries, tables[0].count * sizeof *entries);
	entries[0] = tables[1].entries[0];
	tables[0].entries = entries;
	wrong.tables = tables;
	ck_assert_uint_eq(findings_of(p, NPU_CHECK_PAGE_OWNER), 0);
	ck_assert_uint_ge(findings_of(&wrong, NPU_CHECK_PAGE_OWNER), 1);
	free(entries);
	npu_program_free(p);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("checker and kernels");
	TCase *t = tcase_create("no false alarms");
	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, shipped_kernels_are_clean_on_every_preset, 0, count_kernels());
	tcase_add_loop_test(t, every_legal_interleaving_computes_the_same_bits, 0, count_kernels());
	tcase_add_loop_test(t, a_new_token_that_nobody_waits_for_is_a_race, 0, DECODERS);
	tcase_add_loop_test(t, a_table_that_names_a_page_of_another_sequence_is_told, 0, DECODERS);
	suite_add_tcase(s, t);
	return npu_suite_run(s);
}
