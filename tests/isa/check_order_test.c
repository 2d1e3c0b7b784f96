/* SPDX-License-Identifier: Apache-2.0 */
/* Happens-before against every legal interleaving of small random programs: what the checker calls ordered never
 * overlaps, what it calls unordered does in some execution, and what it says of deadlock and of counts is what can
 * happen. */
#include "isa/check.h"
#include "isa/check/order.h"
#include "tests/isa/random.h"
#include "tests/support/suite.h"

#include <stdlib.h>

enum { SEMS = 5, MOST = 11, PROGRAMS = 4000 };

/* ---- random programs ---- */

struct sides {
	enum npu_engine poster, waiter;
};

static uint32_t slot_address(struct rng *rng)
{
	return 8 * rng_below(rng, 6);
}

/* Small operands in few places, so that many conflict, some of them in part; strided ones too. */
static struct npu_insn small_insn(struct rng *rng, enum npu_engine e)
{
	static const enum npu_op syncs[] = { NPU_OP_SYNC_LOAD, NPU_OP_SYNC_STORE, NPU_OP_SYNC_MATRIX,
					     NPU_OP_SYNC_VECTOR };
	struct npu_insn insn = npu_insn_initial(syncs[e]);
	if (rng_one_in(rng, 5))
		return insn;
	switch (e) {
	case NPU_ENGINE_LOAD:
	case NPU_ENGINE_STORE:
		insn = npu_insn_initial(e == NPU_ENGINE_LOAD ? NPU_OP_LOAD : NPU_OP_STORE);
		insn.dma = (struct npu_dma){ .local = slot_address(rng),
					     .dram = 4096 + slot_address(rng),
					     .rows = 1 + rng_below(rng, 2),
					     .cols = 8,
					     .dtype = NPU_INT8,
					     .dram_stride = rng_one_in(rng, 2) ? 16 : 0,
					     .local_stride = rng_one_in(rng, 2) ? 24 : 0 };
		break;
	case NPU_ENGINE_MATRIX:
		insn = npu_insn_initial(NPU_OP_MATMUL);
		insn.matmul.dst = NPU_ACC_BIT | (16 * rng_below(rng, 3));
		insn.matmul.a = slot_address(rng);
		insn.matmul.b = slot_address(rng);
		insn.matmul.m = insn.matmul.n = insn.matmul.k = 2;
		insn.matmul.accumulate = rng_below(rng, 2);
		break;
	case NPU_ENGINE_VECTOR:
		insn = npu_insn_initial(NPU_OP_VCOPY);
		insn.un.dst = slot_address(rng);
		insn.un.a = rng_one_in(rng, 2) ? slot_address(rng) : NPU_ACC_BIT | (16 * rng_below(rng, 3));
		insn.un.rows = insn.un.cols = 2;
		insn.un.a_stride = rng_one_in(rng, 2) ? 16 : 0;
		break;
	case NPU_ENGINES:
		break;
	}
	return insn;
}

static bool used(const struct npu_sem_ref refs[NPU_SYNC_SLOTS], uint16_t sem)
{
	return (refs[0].count && refs[0].sem == sem) || (refs[1].count && refs[1].sem == sem);
}

/* Mostly waits that find their count in program order. */
static void random_sync(struct rng *rng, struct npu_insn *insn, const struct sides *sides, int *counts)
{
	enum npu_engine e = npu_op_engine(insn->op);
	unsigned nwaits = 0, nposts = 0;
	for (unsigned tries = 0; tries < 6 && nwaits < NPU_SYNC_SLOTS; tries++) {
		uint16_t s = (uint16_t)rng_below(rng, SEMS), n = (uint16_t)(1 + rng_one_in(rng, 3));
		if (sides[s].waiter != e || used(insn->wait, s) || (counts[s] < n && !rng_one_in(rng, 40)))
			continue;
		insn->wait[nwaits++] = (struct npu_sem_ref){ s, n };
		counts[s] -= n;
	}
	for (unsigned tries = 0; tries < 6 && nposts < NPU_SYNC_SLOTS; tries++) {
		uint16_t s = (uint16_t)rng_below(rng, SEMS), n = (uint16_t)(1 + rng_one_in(rng, 3));
		if (sides[s].poster != e || used(insn->post, s))
			continue;
		insn->post[nposts++] = (struct npu_sem_ref){ s, n };
		counts[s] += n;
	}
}

static struct npu_program *program_of(struct rng *rng, uint32_t n)
{
	struct npu_assembly *assembly = npu_assembly_new("small");
	struct sides sides[SEMS];
	struct npu_error err;
	int counts[SEMS];
	for (unsigned s = 0; s < SEMS; s++) {
		char name[8];
		snprintf(name, sizeof name, "s%u", s);
		uint32_t initial = rng_below(rng, 3), max = initial + 2 + rng_below(rng, 3);
		counts[s] = (int)initial;
		sides[s] = (struct sides){ (enum npu_engine)rng_below(rng, NPU_ENGINES),
					   (enum npu_engine)rng_below(rng, NPU_ENGINES) };
		npu_assembly_sem(assembly, name, initial, max);
	}
	for (uint32_t i = 0; i < n; i++) {
		struct npu_insn insn = small_insn(rng, (enum npu_engine)rng_below(rng, NPU_ENGINES));
		random_sync(rng, &insn, sides, counts);
		npu_assembly_insn(assembly, &insn);
	}
	struct npu_program *program = npu_assembly_finish(assembly, &err);
	ck_assert_msg(program != NULL, "%s", err.text);
	return program;
}

static struct npu_program *small_program(struct rng *rng)
{
	return program_of(rng, 3 + rng_below(rng, MOST - 2));
}

/* ---- every legal interleaving ---- */

/* How many instructions of each queue have started, and ended. */
struct state {
	uint8_t started[NPU_ENGINES], ended[NPU_ENGINES];
};

struct world {
	const struct npu_program *program;
	uint32_t queue[NPU_ENGINES][MOST + 1];
	uint32_t length[NPU_ENGINES];
	bool *seen;
	bool overlap[MOST + 1][MOST + 1];
	bool finishes;
	int64_t highest[SEMS];
};

static uint32_t index_of(const struct world *w, const struct state *s)
{
	uint32_t index = 0;
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		index = (index * (w->length[e] + 1) + s->started[e]) * (w->length[e] + 1) + s->ended[e];
	return index;
}

static int64_t units(const struct npu_sem_ref refs[NPU_SYNC_SLOTS], uint32_t sem)
{
	int64_t sum = 0;
	for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++)
		sum += refs[slot].count && refs[slot].sem == sem ? refs[slot].count : 0;
	return sum;
}

static int64_t count_in(const struct world *w, const struct state *s, uint32_t sem)
{
	int64_t count = w->program->sems[sem].initial;
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		for (unsigned i = 0; i < s->ended[e]; i++)
			count += units(w->program->insns[w->queue[e][i]].post, sem);
		for (unsigned i = 0; i < s->started[e]; i++)
			count -= units(w->program->insns[w->queue[e][i]].wait, sem);
	}
	return count;
}

static bool may_start(const struct world *w, const struct state *s, unsigned e)
{
	if (s->started[e] == w->length[e])
		return false;
	const struct npu_insn *insn = &w->program->insns[w->queue[e][s->started[e]]];
	for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++)
		if (insn->wait[slot].count && count_in(w, s, insn->wait[slot].sem) < insn->wait[slot].count)
			return false;
	return true;
}

static void note(struct world *w, const struct state *s)
{
	for (uint32_t sem = 0; sem < SEMS; sem++) {
		int64_t count = count_in(w, s, sem);
		w->highest[sem] = count > w->highest[sem] ? count : w->highest[sem];
	}
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		for (unsigned f = 0; f < NPU_ENGINES; f++)
			for (unsigned i = s->ended[e]; i < s->started[e]; i++)
				for (unsigned j = s->ended[f]; j < s->started[f]; j++)
					w->overlap[w->queue[e][i]][w->queue[f][j]] = true;
}

static void visit(struct world *w, struct state s)
{
	bool *seen = &w->seen[index_of(w, &s)], done = true;
	if (*seen)
		return;
	*seen = true;
	note(w, &s);
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		done = done && s.ended[e] == w->length[e];
		struct state next = s;
		if (may_start(w, &s, e)) {
			next.started[e]++;
			visit(w, next);
		}
		if (s.ended[e] < s.started[e]) {
			next = s;
			next.ended[e]++;
			visit(w, next);
		}
	}
	w->finishes = w->finishes || done;
}

static void explore(struct world *w, const struct npu_program *program)
{
	memset(w, 0, sizeof *w);
	w->program = program;
	for (uint32_t i = 0; i < program->ninsns; i++) {
		enum npu_engine e = npu_op_engine(program->insns[i].op);
		w->queue[e][w->length[e]++] = i;
	}
	uint32_t states = 1;
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		states *= (w->length[e] + 1) * (w->length[e] + 1);
	w->seen = calloc(states, sizeof *w->seen);
	visit(w, (struct state){ { 0 }, { 0 } });
	free(w->seen);
}

/* ---- what the checker says ---- */

static bool conflict(const struct npu_program *program, uint32_t i, uint32_t j)
{
	struct npu_access a[NPU_MAX_ACCESSES], b[NPU_MAX_ACCESSES];
	unsigned na = npu_insn_accesses(&program->insns[i], a), nb = npu_insn_accesses(&program->insns[j], b);
	for (unsigned x = 0; x < na; x++)
		for (unsigned y = 0; y < nb; y++)
			for (uint64_t at = 0; at < a[x].rows * a[x].row_bytes; at++)
				for (uint64_t to = 0; to < b[y].rows * b[y].row_bytes; to++)
					if (a[x].space == b[y].space && (a[x].write || b[y].write) &&
					    a[x].base + at / a[x].row_bytes * a[x].stride + at % a[x].row_bytes ==
						b[y].base + to / b[y].row_bytes * b[y].stride + to % b[y].row_bytes)
						return true;
	return false;
}

static bool told(const struct npu_check_report *report, enum npu_check_kind kind, uint32_t i, uint32_t j)
{
	for (uint32_t f = 0; f < report->nfindings; f++) {
		const struct npu_finding *finding = &report->findings[f];
		if (finding->kind == kind && finding->site[0].insn == j &&
		    (finding->nsites < 2 || finding->site[1].insn == i))
			return true;
	}
	return false;
}

static bool told_of_sem(const struct npu_check_report *report, enum npu_check_kind kind, uint32_t sem)
{
	for (uint32_t f = 0; f < report->nfindings; f++)
		if (report->findings[f].kind == kind && report->findings[f].sem == sem)
			return true;
	return false;
}

static void compare_order(const struct world *w, const struct npu_order *order)
{
	for (uint32_t i = 0; i < w->program->ninsns; i++)
		for (uint32_t j = 0; j < i; j++) {
			if (npu_op_engine(w->program->insns[i].op) == npu_op_engine(w->program->insns[j].op))
				continue;
			bool ordered = npu_ends_before(order, i, j) || npu_ends_before(order, j, i);
			ck_assert_msg(ordered != w->overlap[i][j], "#%u and #%u: %s in\n%s", j, i,
				      ordered ? "ordered, and overlap" : "not ordered, and never overlap",
				      npu_disasm_text(w->program));
		}
}

static void compare_races(const struct world *w, const struct npu_check_report *report)
{
	for (uint32_t i = 0; i < w->program->ninsns; i++)
		for (uint32_t j = 0; j < i; j++) {
			bool races = npu_op_engine(w->program->insns[i].op) != npu_op_engine(w->program->insns[j].op) &&
				     w->overlap[i][j] && conflict(w->program, i, j);
			bool found = told(report, NPU_CHECK_RACE, i, j) || told(report, NPU_CHECK_RACE, j, i);
			ck_assert_msg(races == found, "#%u and #%u: %s in\n%s", j, i,
				      found ? "no race" : "a race that is not told", npu_disasm_text(w->program));
		}
}

static void compare_counts(const struct world *w, const struct npu_check_report *report)
{
	for (uint32_t s = 0; s < SEMS; s++)
		ck_assert_msg(told_of_sem(report, NPU_CHECK_OVERFLOW, s) == (w->highest[s] > w->program->sems[s].max),
			      "s%u reaches %d of %u in\n%s", s, (int)w->highest[s], w->program->sems[s].max,
			      npu_disasm_text(w->program));
}

START_TEST(the_order_is_what_every_legal_execution_keeps_and_no_more)
{
	struct rng rng = { (uint64_t)_i };
	static struct world w;
	for (unsigned n = 0; n < PROGRAMS / 8; n++) {
		struct npu_program *program = small_program(&rng);
		struct npu_order order;
		ck_assert(npu_order_init(&order, program, NPU_ORDER_NOBODY));
		explore(&w, program);
		ck_assert_msg(w.finishes == !order.nstuck, "%s\n%s",
			      w.finishes ? "no deadlock" : "a deadlock that is not seen", npu_disasm_text(program));
		if (w.finishes)
			compare_order(&w, &order);
		npu_order_fini(&order);
		npu_program_free(program);
	}
}
END_TEST

START_TEST(races_deadlocks_and_overflows_are_those_that_can_happen)
{
	struct rng rng = { 100 + (uint64_t)_i };
	static struct world w;
	unsigned races = 0, overflows = 0, clean = 0;
	for (unsigned n = 0; n < PROGRAMS / 8; n++) {
		struct npu_program *program = small_program(&rng);
		struct npu_error err;
		struct npu_check_report *report = npu_check(program, &(struct npu_check_options){ .all = true }, &err);
		ck_assert_msg(report != NULL, "%s", err.text);
		explore(&w, program);
		ck_assert(told_of_sem(report, NPU_CHECK_DEADLOCK, NPU_CHECK_NOBODY) == !w.finishes);
		if (w.finishes) {
			compare_races(&w, report);
			compare_counts(&w, report);
		}
		races += report->races > 0;
		clean += w.finishes && !report->races;
		for (uint32_t s = 0; s < SEMS; s++)
			overflows += told_of_sem(report, NPU_CHECK_OVERFLOW, s);
		npu_check_free(report);
		npu_program_free(program);
	}
	/* The programs are worth the work. */
	ck_assert_uint_gt(races, PROGRAMS / 80);
	ck_assert_uint_gt(clean, PROGRAMS / 80);
	ck_assert_uint_gt(overflows, PROGRAMS / 400);
}
END_TEST

/* Reading a program in order must never meet a wait without its count, or a short queue can stop it for ever. */
START_TEST(a_wait_is_out_of_order_when_reading_in_order_does_not_find_its_count)
{
	struct rng rng = { 200 };
	unsigned wrong = 0;
	for (unsigned n = 0; n < PROGRAMS; n++) {
		struct npu_program *program = small_program(&rng);
		struct npu_error err;
		struct npu_check_report *report = npu_check(program, NULL, &err);
		int64_t counts[SEMS];
		bool expected = false, found = false;
		for (uint32_t s = 0; s < SEMS; s++)
			counts[s] = program->sems[s].initial;
		for (uint32_t i = 0; i < program->ninsns; i++)
			for (uint32_t s = 0; s < SEMS; s++) {
				counts[s] -= units(program->insns[i].wait, s);
				expected = expected || counts[s] < 0;
				counts[s] += units(program->insns[i].post, s);
			}
		for (uint32_t f = 0; f < report->nfindings; f++)
			found = found || report->findings[f].kind == NPU_CHECK_WAIT_ORDER ||
				report->findings[f].kind == NPU_CHECK_NEVER_POSTED;
		ck_assert_msg(found == expected, "%s", npu_disasm_text(program));
		wrong += found;
		npu_check_free(report);
		npu_program_free(program);
	}
	ck_assert_uint_gt(wrong, PROGRAMS / 100);
}
END_TEST

/* The order of all pairs is known to be right; here windows are long, and many ranges have the same shape. */
START_TEST(no_race_of_a_long_program_is_missed)
{
	enum { LONG = 300 };
	struct rng rng = { 300 + (uint64_t)_i };
	static bool found[LONG][LONG];
	struct npu_program *program = program_of(&rng, LONG);
	struct npu_order order;
	struct npu_error err;
	struct npu_check_report *report = npu_check(program, &(struct npu_check_options){ .all = true }, &err);
	ck_assert(report && npu_order_init(&order, program, NPU_ORDER_NOBODY));
	memset(found, 0, sizeof found);
	for (uint32_t f = 0; f < report->nfindings; f++) {
		const struct npu_finding *finding = &report->findings[f];
		if (finding->kind == NPU_CHECK_RACE)
			found[finding->site[0].insn][finding->site[1].insn] =
			    found[finding->site[1].insn][finding->site[0].insn] = true;
	}
	for (uint32_t i = 0; i < LONG && !report->races_cut; i++)
		for (uint32_t j = 0; j < i; j++) {
			bool races = npu_op_engine(program->insns[i].op) != npu_op_engine(program->insns[j].op) &&
				     !npu_ends_before(&order, i, j) && !npu_ends_before(&order, j, i) &&
				     conflict(program, i, j);
			ck_assert_msg(races == found[i][j], "#%u and #%u: %s", j, i, races ? "missed" : "no race");
		}
	npu_order_fini(&order);
	npu_check_free(report);
	npu_program_free(program);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("order of the checker");
	TCase *t = tcase_create("every interleaving");
	tcase_add_loop_test(t, the_order_is_what_every_legal_execution_keeps_and_no_more, 0, 8);
	tcase_add_loop_test(t, races_deadlocks_and_overflows_are_those_that_can_happen, 0, 8);
	tcase_add_test(t, a_wait_is_out_of_order_when_reading_in_order_does_not_find_its_count);
	tcase_add_loop_test(t, no_race_of_a_long_program_is_missed, 0, 30);
	suite_add_tcase(s, t);
	return npu_suite_run(s);
}
