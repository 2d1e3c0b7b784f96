/* SPDX-License-Identifier: Apache-2.0 */
/* The checker finds what goes wrong when a kernel loses a wait or a post, or uses a wrong address: every mutant of
 * shipped kernels is reported, or its independent twin proves that the mutant is as good as the original. */
#include "isa/check.h"
#include "isa/exec.h"
#include "isa/field.h"
#include "isa/seal.h"
#include "tests/sim/check_twin.h"
#include "tests/support/kernel_cases.h"
#include "tests/support/suite.h"

#include <stdio.h>

enum { PROGRAMS = 30, SHORT = 48, FEWEST = 12, MOST = 200 };

static int count_kernels(void)
{
	int n = 0;
	while (npu_kernels[n])
		n++;
	return n;
}

/* A program that may be changed. */
struct mutant {
	struct npu_program program;
	struct npu_insn *insns;
	struct npu_sem *sems;
};

static struct mutant mutant_of(const struct npu_program *p)
{
	struct mutant m = { .program = *p,
			    .insns = calloc(p->ninsns, sizeof *m.insns),
			    .sems = calloc(p->nsems + 1, sizeof *m.sems) };
	m.program.insns = memcpy(m.insns, p->insns, p->ninsns * sizeof *m.insns);
	m.program.sems = memcpy(m.sems, p->sems, p->nsems * sizeof *m.sems);
	return m;
}

static void mutant_free(struct mutant *m)
{
	free(m->insns);
	free(m->sems);
}

static void remove_ref(struct mutant *m, struct npu_sem_ref refs[NPU_SYNC_SLOTS], unsigned slot)
{
	if (slot == 0)
		refs[0] = refs[1];
	refs[1] = (struct npu_sem_ref){ 0, 0 };
	npu_seal_engines(m->sems, m->program.nsems, m->insns, m->program.ninsns);
}

static bool is_about_order(const struct npu_finding *f)
{
	return f->kind == NPU_CHECK_RACE || f->kind == NPU_CHECK_WAIT_ORDER || f->kind == NPU_CHECK_NEVER_POSTED ||
	       f->kind == NPU_CHECK_DEADLOCK;
}

/* Errors at all, or those about order only. */
static unsigned errors_of(const struct npu_program *p, bool order_only)
{
	struct npu_error err = { 0 };
	struct npu_check_report *report = npu_check(p, NULL, &err);
	unsigned errors = 0;
	if (!report)
		return 1; /* not even the loader takes it */
	for (uint32_t i = 0; i < report->nfindings; i++)
		errors += npu_check_severity_of(report->findings[i].kind) == NPU_CHECK_ERROR &&
			  (!order_only || is_about_order(&report->findings[i]));
	npu_check_free(report);
	return errors;
}

struct tally {
	unsigned mutants, reported;
};

/* The mutant is wrong if and only if the checker says so. */
static void judge(struct mutant *m, struct twin *twin, struct tally *tally, const char *what, const char *text,
		  uint32_t insn)
{
	bool wrong_order = twin_out_of_order(&m->program);
	/* Where reading in order fails, the twin's order may have circles; that it fails is wrong enough. */
	if (!wrong_order)
		twin_order(twin, &m->program);
	bool wrong = wrong_order || twin_races(twin) > 0, reported = errors_of(&m->program, true) > 0;
	ck_assert_msg(wrong == reported, "%s without %s of #%u %s: %s", text, what, insn,
		      npu_op_mnemonic(m->insns[insn].op),
		      wrong ? "wrong, and not reported" : "reported, and as good as before");
	tally->mutants++;
	tally->reported += reported;
}

static void remove_each(const struct npu_program *p, struct twin *twin, struct tally *waits, struct tally *posts,
			const char *text)
{
	for (uint32_t i = 0; i < p->ninsns; i++)
		for (unsigned slot = 0; slot < 2 * NPU_SYNC_SLOTS; slot++) {
			bool post = slot >= NPU_SYNC_SLOTS;
			unsigned at = slot % NPU_SYNC_SLOTS;
			if (!(post ? p->insns[i].post : p->insns[i].wait)[at].count)
				continue;
			struct mutant m = mutant_of(p);
			remove_ref(&m, post ? m.insns[i].post : m.insns[i].wait, at);
			judge(&m, twin, post ? posts : waits, post ? "a post" : "a wait", text, i);
			mutant_free(&m);
		}
}

/* Programs of kernel `which` that are large enough to reuse buffers and small enough for the twin. */
static struct npu_program *next_program(int which, struct case_rng *rng, char *text, size_t size)
{
	const struct npu_kernel *k = npu_kernels[which];
	for (unsigned tries = 0; tries < 3000; tries++) {
		struct npu_args args;
		struct npu_error err;
		char values[400];
		random_args(k, &args, SHORT, rng);
		struct npu_program *p = npu_kernel_build(k, preset_capacity("tiny-256k"), &args, &err);
		if (p && p->ninsns >= FEWEST && p->ninsns <= MOST) {
			snprintf(text, size, "%s %s", k->name, npu_args_print(k, &args, values, sizeof values));
			return p;
		}
		npu_program_free(p);
	}
	ck_abort_msg("no small program of %s", k->name);
	return NULL;
}

START_TEST(a_mutant_without_a_wait_or_a_post_is_reported_or_as_good_as_before)
{
	static struct twin twin;
	struct case_rng rng = { 23 };
	struct tally waits = { 0 }, posts = { 0 };
	for (unsigned n = 0; n < PROGRAMS; n++) {
		char text[500];
		struct npu_program *p = next_program(_i, &rng, text, sizeof text);
		twin_conflicts(&twin, p);
		twin_order(&twin, p);
		ck_assert_msg(twin_races(&twin) == 0 && errors_of(p, false) == 0, "%s is wrong as it is", text);
		remove_each(p, &twin, &waits, &posts, text);
		npu_program_free(p);
	}
	printf("%-20s %5u waits removed, %5u reported; %5u posts removed, %5u reported\n", npu_kernels[_i]->name,
	       waits.mutants, waits.reported, posts.mutants, posts.reported);
	ck_assert_uint_gt(posts.reported, 0);
}
END_TEST

/* ---- wrong addresses ---- */

static const struct npu_buffer *buffer_of(const struct npu_program *p, uint32_t insn, uint32_t local)
{
	for (uint32_t i = 0; i < p->nbuffers; i++)
		if (p->buffers[i].first <= insn && insn < p->buffers[i].end &&
		    local - p->buffers[i].local < p->buffers[i].bytes)
			return &p->buffers[i];
	return NULL;
}

/* The buffer of the same name with another index: k[1] of k[0]; NULL when there is none. */
static const struct npu_buffer *other_half(const struct npu_program *p, const struct npu_buffer *b, uint32_t insn)
{
	size_t length = strcspn(b->name, "[");
	for (uint32_t i = 0; i < p->nbuffers; i++) {
		const struct npu_buffer *o = &p->buffers[i];
		if (o != b && b->name[length] && strncmp(o->name, b->name, length + 1) == 0 && o->first <= insn &&
		    insn < o->end)
			return o;
	}
	return NULL;
}

typedef bool changer(const struct npu_program *, uint32_t insn, uint32_t *local);

/* By half a buffer, into the neighbour. */
static bool shift(const struct npu_program *p, uint32_t insn, uint32_t *local)
{
	const struct npu_buffer *b = buffer_of(p, insn, *local);
	if (b)
		*local += (b->bytes / 2 + 3) & ~3u;
	return b != NULL;
}

static bool swap_halves(const struct npu_program *p, uint32_t insn, uint32_t *local)
{
	const struct npu_buffer *b = buffer_of(p, insn, *local), *other = b ? other_half(p, b, insn) : NULL;
	if (other)
		*local = other->local + (*local - b->local);
	return other != NULL;
}

static bool same_accesses(const struct npu_insn *one, const struct npu_insn *other)
{
	struct npu_access a[NPU_MAX_ACCESSES], b[NPU_MAX_ACCESSES];
	unsigned n = npu_insn_accesses(one, a);
	bool same = n == npu_insn_accesses(other, b);
	for (unsigned i = 0; same && i < n; i++)
		same = a[i].base == b[i].base && a[i].space == b[i].space;
	return same;
}

/* Changes one local operand of all instructions with this opcode, as a wrong line of a kernel would; false when that
 * touches nothing else than before. */
static bool change_field(struct mutant *m, uint8_t op, const struct npu_field *field, changer *change)
{
	bool changed = false;
	for (uint32_t i = 0; i < m->program.ninsns; i++) {
		if (m->insns[i].op != op)
			continue;
		struct npu_insn before = m->insns[i];
		uint32_t local = (uint32_t)npu_field_get(field, &m->insns[i]);
		if (change(&m->program, i, &local))
			npu_field_set(field, &m->insns[i], local);
		changed = changed || !same_accesses(&before, &m->insns[i]);
	}
	return changed;
}

/* Bytes that are ordered, inside a live buffer, and written before: another computation, but no hazard. Where all that is
 * written is still read, too, that is for the comparison of values to find. */
static bool is_hazard(const struct npu_program *p, struct twin *twin)
{
	twin_conflicts(twin, p);
	twin_order(twin, p);
	return twin_races(twin) > 0 || twin_bad_bytes(p);
}

static void change_each(const struct npu_program *p, changer *change, struct twin *twin, struct tally *tally,
			const char *text)
{
	for (unsigned o = 0; o < npu_nops; o++)
		for (unsigned f = 0; f < npu_ops[o].format->nfields; f++) {
			const struct npu_field *field = &npu_ops[o].format->fields[f];
			struct mutant m = mutant_of(p);
			struct npu_error err;
			/* What the loader refuses is reported. */
			if (field->kind == NPU_KIND_LOCAL && change_field(&m, (uint8_t)npu_ops[o].op, field, change)) {
				bool reported = errors_of(&m.program, false) > 0;
				bool hazard = !npu_program_check(&m.program, &err) || is_hazard(&m.program, twin);
				ck_assert_msg(reported == hazard, "%s with another %s of %s: %s", text, field->name,
					      npu_ops[o].mnemonic,
					      hazard ? "a hazard that is not reported" : "reported, and harmless");
				tally->mutants++;
				tally->reported += reported;
			}
			mutant_free(&m);
		}
}

START_TEST(a_line_with_a_wrong_address_is_reported_unless_it_only_computes_something_else)
{
	static struct twin twin;
	struct case_rng rng = { 29 };
	struct tally shifted = { 0 }, swapped = { 0 };
	for (unsigned n = 0; n < PROGRAMS; n++) {
		char text[500];
		struct npu_program *p = next_program(_i, &rng, text, sizeof text);
		change_each(p, shift, &twin, &shifted, text);
		change_each(p, swap_halves, &twin, &swapped, text);
		npu_program_free(p);
	}
	printf("%-20s %5u operands shifted, %5u reported; %5u halves swapped, %5u reported\n", npu_kernels[_i]->name,
	       shifted.mutants, shifted.reported, swapped.mutants, swapped.reported);
	ck_assert_uint_gt(shifted.reported, 0);
}
END_TEST

/* ---- one wrong address ---- */

static bool to_another_buffer(const struct npu_program *p, uint32_t insn, uint32_t *local, struct case_rng *rng)
{
	const struct npu_buffer *b = buffer_of(p, insn, *local);
	if (!b)
		return false;
	const struct npu_buffer *o = &p->buffers[case_below(rng, p->nbuffers)];
	bool fits = o != b && npu_is_acc(o->local) == npu_is_acc(b->local) && o->first <= insn && insn < o->end;
	if (fits)
		*local = o->local + (*local - b->local);
	return fits;
}

/* False when the instruction touches nothing else than before. */
static bool change_one(struct mutant *m, uint32_t insn, struct case_rng *rng)
{
	struct npu_insn before = m->insns[insn];
	const struct npu_format *format = npu_op_info(before.op)->format;
	const struct npu_field *field = format->nfields ? &format->fields[case_below(rng, format->nfields)] : NULL;
	if (!field || field->kind != NPU_KIND_LOCAL)
		return false;
	uint32_t local = (uint32_t)npu_field_get(field, &before);
	bool changed = case_below(rng, 3) ? to_another_buffer(&m->program, insn, &local, rng)
					  : shift(&m->program, insn, &local);
	if (changed)
		npu_field_set(field, &m->insns[insn], local);
	return changed && !same_accesses(&before, &m->insns[insn]);
}

static bool tells(const struct npu_program *p)
{
	struct npu_error err = { 0 };
	struct npu_check_report *report = npu_check(p, NULL, &err);
	bool told = !report || report->errors > 0;
	for (uint32_t i = 0; !told && i < report->nfindings; i++)
		told = report->findings[i].kind == NPU_CHECK_UNREAD;
	npu_check_free(report);
	return told;
}

/* DRAM after the program, its inputs random. */
static uint8_t *dram_after(const struct npu_program *p)
{
	struct npu_error err = { 0 };
	struct npu_exec *exec = npu_exec_new(p, NULL, &err);
	struct case_rng rng = { 5 };
	uint8_t *bytes = malloc(p->needs.dram_bytes + 1);
	for (uint32_t i = 0; i < p->ntensors; i++) {
		const struct npu_tensor *t = &p->tensors[i];
		uint64_t n = 1;
		for (unsigned d = 0; d < t->rank; d++)
			n *= t->shape[d];
		double *values = calloc(n, sizeof *values);
		for (uint64_t at = 0; at < n; at++)
			values[at] = (double)(int64_t)case_below(&rng, 15) - 7;
		ck_assert(npu_exec_tensor_write(exec, t, values, NULL));
		free(values);
	}
	ck_assert_msg(npu_exec_run(exec, &err), "%s", err.text);
	ck_assert(npu_exec_dram_read(exec, 0, bytes, p->needs.dram_bytes));
	npu_exec_free(exec);
	return bytes;
}

START_TEST(one_wrong_address_is_reported_or_all_that_is_written_still_is_read)
{
	static struct twin twin;
	struct case_rng rng = { 37 };
	unsigned mutants = 0, reported = 0, equal = 0;
	for (unsigned n = 0; n < PROGRAMS; n++) {
		char text[500];
		struct npu_program *p = next_program(_i, &rng, text, sizeof text);
		uint8_t *expected = dram_after(p);
		for (unsigned tries = 0; tries < 40; tries++) {
			struct mutant m = mutant_of(p);
			struct npu_error err;
			uint32_t insn = (uint32_t)case_below(&rng, p->ninsns);
			if (change_one(&m, insn, &rng)) {
				bool told = tells(&m.program), legal = npu_program_check(&m.program, &err);
				bool wrong = !legal || is_hazard(&m.program, &twin) || twin_vain(&m.program);
				ck_assert_msg(told == wrong, "%s with another address in #%u: %s", text, insn,
					      wrong ? "not reported" : "reported, and all is of use");
				mutants++;
				reported += told;
				uint8_t *found = told ? NULL : dram_after(&m.program);
				equal += found && memcmp(found, expected, p->needs.dram_bytes) == 0;
				free(found);
			}
			mutant_free(&m);
		}
		free(expected);
		npu_program_free(p);
	}
	printf("%-20s %5u addresses changed, %5u reported, %3u with equal values, %3u read something else\n",
	       npu_kernels[_i]->name, mutants, reported, equal, mutants - reported - equal);
	ck_assert_uint_gt(reported, 0);
}
END_TEST

/* ---- block tables ---- */

static unsigned uses_of(const struct npu_program *p, uint32_t table)
{
	unsigned n = 0;
	for (uint32_t i = 0; i < p->ninsns; i++)
		n += npu_op_format(p->insns[i].op) == NPU_FORMAT_paged && p->insns[i].paged.table == table;
	return n;
}

/* A copy of the program whose table is one entry shorter, or has one entry behind the pool. */
static bool reports_table(const struct npu_program *p, uint32_t table, bool shorter, uint32_t entry)
{
	struct npu_program copy = *p;
	struct npu_table *tables = calloc(p->ntables, sizeof *tables);
	uint32_t *entries = calloc(p->tables[table].count, sizeof *entries);
	memcpy(tables, p->tables, p->ntables * sizeof *tables);
	memcpy(entries, p->tables[table].entries, p->tables[table].count * sizeof *entries);
	if (shorter)
		tables[table].count--;
	else
		entries[entry] = p->tables[table].count; /* pools of the kernels are as large as their tables */
	tables[table].entries = entries;
	copy.tables = tables;
	bool reported = errors_of(&copy, false) > 0;
	free(tables);
	free(entries);
	return reported;
}

START_TEST(a_wrong_block_table_is_reported)
{
	struct case_rng rng = { 31 };
	for (unsigned n = 0; n < PROGRAMS; n++) {
		char text[500];
		struct npu_program *p = next_program(_i, &rng, text, sizeof text);
		for (uint32_t t = 0; t < p->ntables; t++) {
			ck_assert_msg(!uses_of(p, t) || reports_table(p, t, true, 0), "%s: a table that is too short",
				      text);
			for (uint32_t entry = 0; uses_of(p, t) && entry < p->tables[t].count; entry++)
				ck_assert_msg(reports_table(p, t, false, entry), "%s: entry %u leaves the pool", text,
					      entry);
		}
		npu_program_free(p);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mutants of kernels");
	TCase *t = tcase_create("mutants");
	TCase *one = tcase_create("one address");
	tcase_set_timeout(t, 600);
	tcase_set_timeout(one, 600);
	tcase_add_loop_test(t, a_mutant_without_a_wait_or_a_post_is_reported_or_as_good_as_before, 0, count_kernels());
	tcase_add_loop_test(t, a_line_with_a_wrong_address_is_reported_unless_it_only_computes_something_else, 0,
			    count_kernels());
	tcase_add_loop_test(one, one_wrong_address_is_reported_or_all_that_is_written_still_is_read, 0, count_kernels());
	tcase_add_loop_test(t, a_wrong_block_table_is_reported, 0, count_kernels());
	suite_add_tcase(s, t);
	suite_add_tcase(s, one);
	return npu_suite_run(s);
}
