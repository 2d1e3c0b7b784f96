/* SPDX-License-Identifier: Apache-2.0 */
/* The record's sums: overlap against a count of every cycle, lives of local memory, events that contradict each other. */
#include "sim/record.h"
#include "tests/sim/record_play.h"
#include "tests/support/suite.h"

#include <stdio.h>

/* A small generator, so that every run tests the same. */
static uint32_t random_state = 1;
static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (random_state >> 8) % n;
}

enum { CYCLES = 20000 };

/* Tells random spans of four engines in a random order and compares with a count of every cycle. */
static void check_random_overlap(uint32_t seed)
{
	static bool active[NPU_ENGINES][CYCLES];
	struct overlap o;
	uint64_t told[NPU_ENGINES] = { 0 }, expected[OVERLAP_GROUPS] = { 0 };
	random_state = seed;
	overlap_init(&o);
	for (unsigned left = NPU_ENGINES; left > 0;) {
		unsigned e = random_below(NPU_ENGINES);
		if (told[e] == CYCLES)
			continue;
		uint64_t length = 1 + random_below(e == NPU_ENGINE_STORE ? 4000 : 20);
		uint64_t to = told[e] + length < CYCLES ? told[e] + length : CYCLES;
		bool is_active = random_below(2);
		ck_assert(overlap_span(&o, (enum npu_engine)e, is_active, told[e], to));
		for (; told[e] < to; told[e]++)
			active[e][told[e]] = is_active;
		left -= to == CYCLES;
	}
	overlap_finish(&o, CYCLES);
	for (unsigned t = 0; t < CYCLES; t++)
		expected[(active[NPU_ENGINE_LOAD][t] || active[NPU_ENGINE_STORE][t] ? OVERLAP_DMA : 0) +
			 (active[NPU_ENGINE_MATRIX][t] || active[NPU_ENGINE_VECTOR][t] ? OVERLAP_COMPUTE : 0)]++;
	for (unsigned g = 0; g < OVERLAP_GROUPS; g++)
		ck_assert_uint_eq(o.cycles[g], expected[g]);
	overlap_fini(&o);
}

START_TEST(overlap_counts_every_cycle_once)
{
	for (uint32_t seed = 1; seed <= 50; seed++)
		check_random_overlap(seed);
}
END_TEST

START_TEST(overlap_keeps_nothing_for_an_engine_that_is_done)
{
	struct overlap o;
	overlap_init(&o);
	overlap_engine_done(&o, NPU_ENGINE_STORE);
	overlap_engine_done(&o, NPU_ENGINE_VECTOR);
	for (uint64_t t = 0; t < 1000000; t += 2) {
		ck_assert(overlap_span(&o, NPU_ENGINE_LOAD, t % 4, t, t + 2));
		ck_assert(overlap_span(&o, NPU_ENGINE_MATRIX, !(t % 4), t, t + 2));
	}
	ck_assert_uint_lt(o.lane[NPU_ENGINE_LOAD].capacity, 1000);
	overlap_finish(&o, 1000000);
	ck_assert_uint_eq(o.cycles[OVERLAP_DMA], 500000);
	ck_assert_uint_eq(o.cycles[OVERLAP_COMPUTE], 500000);
	overlap_fini(&o);
}
END_TEST

/* A program of loads of [1, elements] fp16 into the given addresses, with declared buffers. */
struct load {
	uint32_t local, bytes;
};
static struct npu_program *loads(const struct load *load, unsigned n, const struct npu_buffer *buffers, unsigned nbuffers)
{
	struct npu_error err;
	struct npu_assembly *a = npu_assembly_new("loads");
	for (unsigned i = 0; i < nbuffers; i++)
		npu_assembly_buffer(a, &buffers[i]);
	for (unsigned i = 0; i < n; i++) {
		struct npu_insn insn = npu_insn_initial(NPU_OP_LOAD);
		insn.dma.local = load[i].local;
		insn.dma.dram = 4096ull * i;
		insn.dma.rows = 1;
		insn.dma.cols = load[i].bytes / 2;
		npu_assembly_insn(a, &insn);
	}
	struct npu_program *p = npu_assembly_finish(a, &err);
	ck_assert_msg(p != NULL, "%s", err.text);
	return p;
}

/* Instruction i runs in [100 i, 100 i + 100). */
static struct live *run_loads(const struct npu_program *p)
{
	struct live *l = live_new(p);
	ck_assert_ptr_nonnull(l);
	for (uint32_t i = 0; i < p->ninsns; i++)
		live_insn(l, i, 100ull * i, 100ull * i + 100);
	ck_assert(live_finish(l));
	return l;
}

static void check_steps(const struct live *l, enum live_space space, const struct live_step *expected, unsigned n)
{
	uint64_t count;
	const struct live_step *steps = live_steps(l, space, &count);
	ck_assert_uint_eq(count, n);
	for (unsigned i = 0; i < n; i++) {
		ck_assert_uint_eq(steps[i].time, expected[i].time);
		ck_assert_uint_eq(steps[i].bytes, expected[i].bytes);
	}
}

START_TEST(a_buffer_lives_whole_from_its_first_toucher_to_its_last)
{
	const struct load load[] = { { 0x200, 64 }, { 0x8000, 32 }, { 0x240, 64 }, { 0x8000, 32 } };
	const struct npu_buffer buffer[] = { { "b", 0x200, 1024, 0, 4 } };
	struct npu_program *p = loads(load, 4, buffer, 1);
	struct live *l = run_loads(p);
	/* 1,024 bytes in [0, 300); 32 undeclared ones in [100, 400). */
	check_steps(l, LIVE_SRAM,
		    (struct live_step[]){ { 0, 1024 }, { 100, 1056 }, { 300, 32 }, { 400, 0 } }, 4);
	ck_assert_uint_eq(live_peak_bytes(l, LIVE_SRAM), 1056);
	ck_assert_uint_eq(live_peak_bytes(l, LIVE_ACCUM), 0);
	live_free(l);
	npu_program_free(p);
}
END_TEST

START_TEST(buffers_at_one_address_count_once)
{
	const struct load load[] = { { 0, 64 }, { 0, 64 }, { 0, 64 } };
	const struct npu_buffer buffer[] = { { "first", 0, 512, 0, 2 }, { "view", 256, 512, 0, 3 }, { "second", 0, 512, 2, 3 } };
	struct npu_program *p = loads(load, 3, buffer, 3);
	struct live *l = run_loads(p);
	/* `first` in [0, 200), `second` in [200, 300), on the same bytes; nobody touches `view`. */
	check_steps(l, LIVE_SRAM, (struct live_step[]){ { 0, 512 }, { 300, 0 } }, 2);
	live_free(l);
	npu_program_free(p);
}
END_TEST

START_TEST(overlapping_buffers_share_their_bytes)
{
	const struct load load[] = { { 0, 64 }, { 512, 64 } };
	const struct npu_buffer buffer[] = { { "a", 0, 1024, 0, 2 }, { "b", 512, 1024, 0, 2 } };
	struct npu_program *p = loads(load, 2, buffer, 2);
	struct live *l = run_loads(p);
	/* `a` in [0, 200), `b` in [100, 200); 512 bytes are in both. */
	check_steps(l, LIVE_SRAM, (struct live_step[]){ { 0, 1024 }, { 100, 1536 }, { 200, 0 } }, 3);
	live_free(l);
	npu_program_free(p);
}
END_TEST

START_TEST(undeclared_bytes_live_from_first_touch_to_last)
{
	const struct load load[] = { { 0, 1024 }, { 4096, 64 }, { 256, 256 } };
	struct npu_program *p = loads(load, 3, NULL, 0);
	struct live *l = run_loads(p);
	/* 1,024 bytes in [0, 100), 256 of them in [0, 300); 64 others in [100, 200). */
	check_steps(l, LIVE_SRAM,
		    (struct live_step[]){ { 0, 1024 }, { 100, 320 }, { 200, 256 }, { 300, 0 } }, 4);
	live_free(l);
	npu_program_free(p);
}
END_TEST

START_TEST(a_transfer_past_the_end_of_a_buffer_is_part_undeclared)
{
	const struct load load[] = { { 64, 128 } };
	const struct npu_buffer buffer[] = { { "b", 96, 32, 0, 1 } };
	struct npu_program *p = loads(load, 1, buffer, 1);
	struct live *l = run_loads(p);
	check_steps(l, LIVE_SRAM, (struct live_step[]){ { 0, 128 }, { 100, 0 } }, 2);
	live_free(l);
	npu_program_free(p);
}
END_TEST

static struct npu_program *program;
static struct record record;

static void setup(void)
{
	program = play_program(4);
	ck_assert(record_init(&record, program, 1, true));
}

static void teardown(void)
{
	record_fini(&record);
	npu_program_free(program);
}

static void tell(enum npu_engine e, enum npu_state s, uint32_t insn, uint64_t from, uint64_t to)
{
	struct probe probe = record_probe(&record);
	probe.span(probe.ctx, &(struct probe_span){ e, s, insn, from, to });
}

START_TEST(spans_belong_to_the_region_of_their_instruction)
{
	/* Instruction 0 loads Q in "head 0", 2 loads K in the first "tile". */
	tell(NPU_ENGINE_LOAD, NPU_STATE_BUSY, 0, 0, 10);
	tell(NPU_ENGINE_LOAD, NPU_STATE_DRAM_LATENCY, 2, 10, 15);
	tell(NPU_ENGINE_LOAD, NPU_STATE_IDLE, PROBE_NOBODY, 15, 100);
	ck_assert_uint_eq(record.regions[program->region[0]][NPU_ENGINE_LOAD][NPU_STATE_BUSY], 10);
	ck_assert_uint_eq(record.regions[program->region[2]][NPU_ENGINE_LOAD][NPU_STATE_DRAM_LATENCY], 5);
	ck_assert_uint_eq(record.regions[program->nregions][NPU_ENGINE_LOAD][NPU_STATE_IDLE], 85);
	ck_assert_uint_eq(record.states[NPU_ENGINE_LOAD][NPU_STATE_IDLE], 85);
}
END_TEST

START_TEST(spans_of_one_cause_are_kept_as_one)
{
	tell(NPU_ENGINE_LOAD, NPU_STATE_BUSY, 0, 0, 10);
	tell(NPU_ENGINE_LOAD, NPU_STATE_BUSY, 0, 10, 11);
	tell(NPU_ENGINE_LOAD, NPU_STATE_BUSY, 0, 11, 11);
	tell(NPU_ENGINE_LOAD, NPU_STATE_BUSY, 2, 11, 12);
	ck_assert_uint_eq(record.spans[NPU_ENGINE_LOAD].count, 2);
	ck_assert_uint_eq(record.spans[NPU_ENGINE_LOAD].items[0].to, 11);
}
END_TEST

START_TEST(back_to_back_transfers_of_a_channel_are_kept_as_one)
{
	struct probe probe = record_probe(&record);
	probe.transfer(probe.ctx, &(struct probe_transfer){ 0, false, 64, 0, 16 });
	probe.transfer(probe.ctx, &(struct probe_transfer){ 0, false, 64, 16, 32 });
	probe.transfer(probe.ctx, &(struct probe_transfer){ 0, true, 64, 32, 48 });
	probe.transfer(probe.ctx, &(struct probe_transfer){ 0, true, 64, 50, 66 });
	ck_assert_uint_eq(record.transfers.count, 3);
	ck_assert_uint_eq(record.transfers.items[0].bytes, 128);
	ck_assert_uint_eq(record.transfers.items[0].to, 32);
}
END_TEST

static void expect_fault(uint64_t cycles, const char *text)
{
	struct npu_error err;
	ck_assert(!record_finish(&record, cycles, &err));
	ck_assert_msg(strstr(err.text, text) != NULL, "%s", err.text);
	ck_assert_int_eq(strncmp(err.text, "internal: ", strlen("internal: ")), 0);
}

START_TEST(a_gap_between_spans_is_refused)
{
	tell(NPU_ENGINE_LOAD, NPU_STATE_BUSY, 0, 0, 10);
	tell(NPU_ENGINE_LOAD, NPU_STATE_BUSY, 0, 11, 12);
	expect_fault(12, "load tells 11..12 after 10");
}
END_TEST

START_TEST(a_run_that_stops_telling_early_is_refused)
{
	expect_fault(10, "load has told 0 of 10 cycles");
}
END_TEST

START_TEST(an_instruction_whose_times_are_out_of_order_is_refused)
{
	struct probe probe = record_probe(&record);
	probe.insn(probe.ctx, &(struct probe_insn){ .insn = 0, .engine = NPU_ENGINE_LOAD, .issued = 5, .head = 4 });
	expect_fault(0, "the times of instruction 0 are out of order");
}
END_TEST

START_TEST(a_missing_instruction_is_refused)
{
	struct machine_totals totals;
	struct probe probe = record_probe(&record);
	play_run(program, &probe, &totals);
	record.insns[NPU_ENGINE_VECTOR]--;
	expect_fault(totals.cycles, "vector has ended 7 of 8 instructions");
}
END_TEST

START_TEST(without_events_the_sums_are_the_same)
{
	struct record plain;
	struct machine_totals totals;
	struct npu_error err;
	ck_assert(record_init(&plain, program, 1, false));
	struct probe probe = record_probe(&plain), kept = record_probe(&record);
	ck_assert(probe.transfer == NULL);
	play_run(program, &probe, &totals);
	ck_assert(record_finish(&plain, totals.cycles, &err));
	play_run(program, &kept, &totals);
	ck_assert(record_finish(&record, totals.cycles, &err));
	ck_assert_int_eq(memcmp(plain.states, record.states, sizeof(plain.states)), 0);
	ck_assert_int_eq(memcmp(plain.overlap.cycles, record.overlap.cycles, sizeof(plain.overlap.cycles)), 0);
	ck_assert_ptr_null(plain.events);
	ck_assert_uint_eq(plain.spans[0].count, 0);
	record_fini(&plain);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("record");
	TCase *t = tcase_create("overlap");
	tcase_add_test(t, overlap_counts_every_cycle_once);
	tcase_add_test(t, overlap_keeps_nothing_for_an_engine_that_is_done);
	suite_add_tcase(suite, t);
	t = tcase_create("live");
	tcase_add_test(t, a_buffer_lives_whole_from_its_first_toucher_to_its_last);
	tcase_add_test(t, buffers_at_one_address_count_once);
	tcase_add_test(t, overlapping_buffers_share_their_bytes);
	tcase_add_test(t, undeclared_bytes_live_from_first_touch_to_last);
	tcase_add_test(t, a_transfer_past_the_end_of_a_buffer_is_part_undeclared);
	suite_add_tcase(suite, t);
	t = tcase_create("events");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, spans_belong_to_the_region_of_their_instruction);
	tcase_add_test(t, spans_of_one_cause_are_kept_as_one);
	tcase_add_test(t, back_to_back_transfers_of_a_channel_are_kept_as_one);
	tcase_add_test(t, a_gap_between_spans_is_refused);
	tcase_add_test(t, a_run_that_stops_telling_early_is_refused);
	tcase_add_test(t, an_instruction_whose_times_are_out_of_order_is_refused);
	tcase_add_test(t, a_missing_instruction_is_refused);
	tcase_add_test(t, without_events_the_sums_are_the_same);
	suite_add_tcase(suite, t);
	return npu_suite_run(suite);
}
