/* SPDX-License-Identifier: Apache-2.0 */
/* The checker finds what goes wrong when a kernel loses a wait or a post, or uses a wrong address: every mutant of
 * shipped kernels is reported, as a hazard or by what it computes, or shown to be as good as the original: by an independent
 * twin where order is lost, by the same bytes in every tensor where an address is wrong. */
#include "isa/check.h"
#include "isa/exec.h"
#include "isa/field.h"
#include "isa/number.h"
#include "isa/seal.h"
#include "sim/values.h"
#include "tests/sim/check_twin.h"
#include "tests/support/kernel_cases.h"
#include "tests/support/suite.h"

#include <math.h>
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

/* A program to make mutants of, and what it is right to compute. */
struct original {
	struct npu_program *program;
	const struct npu_kernel *kernel;
	struct npu_args args;
	char text[500];
	uint8_t *dram; /* afterwards */
};

/* Where programs come from, and which parameters they have had. */
struct source {
	struct case_rng rng;
	uint32_t drawn[NPU_MAX_PARAMS]; /* a bit a choice */
	bool groups, ragged;
};

static void note_draw(struct source *from, const struct npu_kernel *k, const struct npu_args *args)
{
	for (unsigned i = 0; i < k->nparams; i++)
		if (k->params[i].choices)
			from->drawn[i] |= 1u << args->value[i];
	from->groups = from->groups || npu_arg(k, args, "heads", 0) > npu_arg(k, args, "kv_heads", 0);
	from->ragged = from->ragged || args->value[case_length(k)] % 16;
}

/* Every data type, mask and buffering that the kernel has, heads that share keys, and ragged lengths. */
static void expect_all_drawn(const struct source *from, const struct npu_kernel *k)
{
	for (unsigned i = 0; i < k->nparams; i++)
		for (unsigned n = 0; k->params[i].choices && k->params[i].choices[n]; n++)
			ck_assert_msg(from->drawn[i] >> n & 1, "%s: no program with %s=%s", k->name, k->params[i].name,
				      k->params[i].choices[n]);
	ck_assert_msg(from->ragged, "%s: no ragged length", k->name);
	ck_assert_msg(from->groups || npu_param_index(k, "kv_heads") < 0 || npu_param_index(k, "heads") < 0,
		      "%s: no heads that share keys", k->name);
}

/* Programs of kernel `which` that are large enough to reuse buffers and small enough for the twin. */
static struct original next_program(int which, struct source *from)
{
	const struct npu_kernel *k = npu_kernels[which];
	struct case_rng *rng = &from->rng;
	for (unsigned tries = 0; tries < 3000; tries++) {
		struct original o = { .kernel = k };
		struct npu_error err;
		char values[400];
		random_args(k, &o.args, SHORT, rng);
		/* The bounds of integers are so wide that a wrong row may pass for rounding. */
		if (!npu_arg(k, &o.args, "dequant", 0))
			random_heads(k, &o.args, &(struct case_rng){ rng->state });
		o.program = npu_kernel_build(k, preset_capacity("tiny-256k"), &o.args, &err);
		if (o.program && o.program->ninsns >= FEWEST && o.program->ninsns <= MOST) {
			snprintf(o.text, sizeof o.text, "%s %s", k->name, npu_args_print(k, &o.args, values, sizeof values));
			note_draw(from, k, &o.args);
			return o;
		}
		npu_program_free(o.program);
	}
	ck_abort_msg("no small program of %s", k->name);
	return (struct original){ 0 };
}

static void original_free(struct original *o)
{
	free(o->dram);
	npu_program_free(o->program);
}

START_TEST(a_mutant_without_a_wait_or_a_post_is_reported_or_as_good_as_before)
{
	static struct twin twin;
	struct source from = { .rng = { 23 } };
	struct tally waits = { 0 }, posts = { 0 };
	for (unsigned n = 0; n < PROGRAMS; n++) {
		struct original o = next_program(_i, &from);
		const struct npu_program *p = o.program;
		const char *text = o.text;
		twin_conflicts(&twin, p);
		twin_order(&twin, p);
		ck_assert_msg(twin_races(&twin) == 0 && errors_of(p, false) == 0, "%s is wrong as it is", text);
		remove_each(p, &twin, &waits, &posts, text);
		original_free(&o);
	}
	printf("%-20s %5u waits removed, %5u reported; %5u posts removed, %5u reported\n", npu_kernels[_i]->name,
	       waits.mutants, waits.reported, posts.mutants, posts.reported);
	ck_assert_uint_gt(posts.reported, 0);
	expect_all_drawn(&from, npu_kernels[_i]);
}
END_TEST

/* ---- values ---- */

/* The program executed with the inputs of seed 1, as `npusim check` does. NULL: it cannot be. */
static struct values *values_of(const struct original *o, const struct npu_program *p)
{
	struct npu_error err = { 0 };
	struct values_request request = { .program = p, .kernel = o->kernel, .args = &o->args, .seed = 1 };
	struct values *v = values_new(&request, &err);
	if (v && values_run(v, &err))
		return v;
	values_free(v);
	return NULL;
}

static uint8_t *dram_of(const struct values *v)
{
	const struct npu_program *p = v->request.program;
	uint8_t *bytes = calloc(p->needs.dram_bytes + 1, 1);
	ck_assert(npu_exec_dram_read(v->exec, 0, bytes, p->needs.dram_bytes));
	return bytes;
}

/* The last bits of an output: what several roundings to its type may move, of the largest number in it. */
static double last_bits(const struct npu_tensor *t, const uint8_t *bytes)
{
	double largest = 0, unit = t->dtype == NPU_FP16 ? 0x1p-11 : t->dtype == NPU_BF16 ? 0x1p-8 : 0;
	for (uint64_t e = 0; unit > 0 && e < 8 * npu_tensor_bytes(t) / npu_dtype_bits(t->dtype); e++)
		largest = fmax(largest, fabs(npu_number_get(t->dtype, bytes, e)));
	return 8 * unit * largest;
}

enum sameness { OTHER, ROUNDED, SAME };

/* How the outputs of a mutant without hazards compare with the original's. ROUNDED: but for last bits, as where weights of
 * a softmax are taken relative to another row's maximum, which cancels. */
static enum sameness same_outputs(const struct original *o, const uint8_t *dram)
{
	enum sameness same = SAME;
	for (uint32_t i = 0; i < o->program->ntensors; i++) {
		const struct npu_tensor *t = &o->program->tensors[i];
		const uint8_t *one = o->dram + t->addr, *other = dram + t->addr;
		if ((t->dir != NPU_TENSOR_OUT && t->dir != NPU_TENSOR_INOUT) || memcmp(other, one, npu_tensor_bytes(t)) == 0)
			continue;
		double most = last_bits(t, one);
		same = ROUNDED;
		for (uint64_t e = 0; e < 8 * npu_tensor_bytes(t) / npu_dtype_bits(t->dtype); e++)
			if (!(fabs(npu_number_get(t->dtype, one, e) - npu_number_get(t->dtype, other, e)) <= most))
				return OTHER;
	}
	return same;
}

struct address_tally {
	unsigned mutants, hazards, values, equal, rounded;
};

/* A mutant with a wrong address is a hazard, computes what its reference does not allow, or computes the same, but for last
 * bits. */
static void judge_address(const struct mutant *m, struct original *o, bool hazard, struct address_tally *tally,
			  const char *what, const char *where)
{
	tally->mutants++;
	if (hazard) {
		tally->hazards++;
		return;
	}
	if (!o->dram) {
		struct values *right = values_of(o, o->program);
		ck_assert_msg(right && !values_wrong(right), "%s computes something wrong as it is", o->text);
		o->dram = dram_of(right);
		values_free(right);
	}
	struct values *v = values_of(o, &m->program);
	bool wrong = !v || values_wrong(v) > 0;
	uint8_t *dram = v ? dram_of(v) : NULL;
	enum sameness same = dram ? same_outputs(o, dram) : OTHER;
	ck_assert_msg(wrong || same != OTHER, "%s with another %s of %s: other values, which nothing reports", o->text, what, where);
	tally->values += wrong;
	tally->equal += !wrong && same == SAME;
	tally->rounded += !wrong && same == ROUNDED;
	free(dram);
	values_free(v);
}

static void print_tally(const char *kernel, const char *what, const struct address_tally *t)
{
	printf("%-16s %5u %-18s %5u hazards, %3u wrong values, %3u the same values, %u but for last bits, 0 not reported\n", kernel, t->mutants, what,
	       t->hazards, t->values, t->equal, t->rounded);
}

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

/* Bytes that are ordered, inside a live buffer, and written before: another computation, but no hazard. */
static bool is_hazard(const struct npu_program *p, struct twin *twin)
{
	twin_conflicts(twin, p);
	twin_order(twin, p);
	return twin_races(twin) > 0 || twin_bad_bytes(p);
}

static void change_each(struct original *original, changer *change, struct twin *twin, struct address_tally *tally)
{
	const struct npu_program *p = original->program;
	for (unsigned o = 0; o < npu_nops; o++)
		for (unsigned f = 0; f < npu_ops[o].format->nfields; f++) {
			const struct npu_field *field = &npu_ops[o].format->fields[f];
			struct mutant m = mutant_of(p);
			struct npu_error err;
			/* What the loader refuses is reported. */
			if (field->kind == NPU_KIND_LOCAL && change_field(&m, (uint8_t)npu_ops[o].op, field, change)) {
				bool reported = errors_of(&m.program, false) > 0;
				bool hazard = !npu_program_check(&m.program, &err) || is_hazard(&m.program, twin);
				ck_assert_msg(reported == hazard, "%s with another %s of %s: %s", original->text, field->name,
					      npu_ops[o].mnemonic,
					      hazard ? "a hazard that is not reported" : "reported, and harmless");
				judge_address(&m, original, reported, tally, field->name, npu_ops[o].mnemonic);
			}
			mutant_free(&m);
		}
}

START_TEST(a_line_with_a_wrong_address_is_reported_or_computes_the_same)
{
	static struct twin twin;
	struct source from = { .rng = { 29 } };
	struct address_tally shifted = { 0 }, swapped = { 0 };
	for (unsigned n = 0; n < PROGRAMS; n++) {
		struct original o = next_program(_i, &from);
		change_each(&o, shift, &twin, &shifted);
		change_each(&o, swap_halves, &twin, &swapped);
		original_free(&o);
	}
	print_tally(npu_kernels[_i]->name, "operands shifted", &shifted);
	print_tally(npu_kernels[_i]->name, "halves swapped", &swapped);
	ck_assert_uint_gt(shifted.hazards, 0);
	expect_all_drawn(&from, npu_kernels[_i]);
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
		told = report->findings[i].kind == NPU_CHECK_UNREAD || report->findings[i].kind == NPU_CHECK_UNNAMED;
	npu_check_free(report);
	return told;
}

START_TEST(one_wrong_address_is_reported_or_computes_the_same)
{
	static struct twin twin;
	struct source from = { .rng = { 37 } };
	struct address_tally tally = { 0 };
	for (unsigned n = 0; n < PROGRAMS; n++) {
		struct original o = next_program(_i, &from);
		for (unsigned tries = 0; tries < 40; tries++) {
			struct mutant m = mutant_of(o.program);
			struct npu_error err;
			uint32_t insn = (uint32_t)case_below(&from.rng, o.program->ninsns);
			if (change_one(&m, insn, &from.rng)) {
				bool told = tells(&m.program), legal = npu_program_check(&m.program, &err);
				bool wrong = !legal || is_hazard(&m.program, &twin) || twin_vain(&m.program);
				ck_assert_msg(told == wrong, "%s with another address in #%u: %s", o.text, insn,
					      wrong ? "a hazard that is not reported" : "reported, and all is of use");
				judge_address(&m, &o, told, &tally, "address",
					      npu_op_mnemonic(m.insns[insn].op));
			}
			mutant_free(&m);
		}
		original_free(&o);
	}
	print_tally(npu_kernels[_i]->name, "addresses changed", &tally);
	ck_assert_uint_gt(tally.hazards, 0);
	expect_all_drawn(&from, npu_kernels[_i]);
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
static bool reports_table(const struct original *o, uint32_t table, bool shorter, uint32_t entry)
{
	const struct npu_program *p = o->program;
	struct npu_program copy = *p;
	struct npu_table *tables = calloc(p->ntables, sizeof *tables);
	uint32_t *entries = calloc(p->tables[table].count, sizeof *entries);
	uint32_t pages = 0;
	memcpy(tables, p->tables, p->ntables * sizeof *tables);
	memcpy(entries, p->tables[table].entries, p->tables[table].count * sizeof *entries);
	for (uint32_t t = 0; t < p->ntables; t++) /* pools of pages are as large as their tables together */
		pages += p->tables[t].count;
	pages = (uint32_t)npu_arg(o->kernel, &o->args, "vocab", pages); /* rows of an embedding are as many as words */
	if (shorter)
		tables[table].count--;
	else
		entries[entry] = pages;
	tables[table].entries = entries;
	copy.tables = tables;
	bool reported = errors_of(&copy, false) > 0;
	free(tables);
	free(entries);
	return reported;
}

START_TEST(a_wrong_block_table_is_reported)
{
	struct source from = { .rng = { 31 } };
	for (unsigned n = 0; n < PROGRAMS; n++) {
		struct original o = next_program(_i, &from);
		const struct npu_program *p = o.program;
		const char *text = o.text;
		for (uint32_t t = 0; t < p->ntables; t++) {
			ck_assert_msg(!uses_of(p, t) || reports_table(&o, t, true, 0), "%s: a table that is too short",
				      text);
			for (uint32_t entry = 0; uses_of(p, t) && entry < p->tables[t].count; entry++)
				ck_assert_msg(reports_table(&o, t, false, entry), "%s: entry %u leaves the pool", text,
					      entry);
		}
		original_free(&o);
	}
	expect_all_drawn(&from, npu_kernels[_i]);
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
	tcase_add_loop_test(t, a_line_with_a_wrong_address_is_reported_or_computes_the_same, 0,
			    count_kernels());
	tcase_add_loop_test(one, one_wrong_address_is_reported_or_computes_the_same, 0, count_kernels());
	tcase_add_loop_test(t, a_wrong_block_table_is_reported, 0, count_kernels());
	suite_add_tcase(s, t);
	suite_add_tcase(s, one);
	return npu_suite_run(s);
}
