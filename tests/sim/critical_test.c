/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path of played runs: what it is made of, and that it adds up. */
#include "sim/critical.h"
#include "tests/sim/record_play.h"
#include "tests/support/suite.h"

enum { TILES = 40 };

static struct hw hw;
static struct npu_program *program;
static struct simulation *simulation;
static struct critical path;

static void play(struct npu_program *p)
{
	struct npu_error err;
	play_hw(&hw);
	hw.sequencer.sync_latency = PLAY_SYNC_LATENCY;
	program = p;
	struct simulation_request request = {
		.hw = &hw, .program = program, .command = "run", .subject = "play.npu", .want_record = true,
	};
	simulation = simulate_on(play_machine, &request, &err);
	ck_assert_msg(simulation != NULL, "%s", err.text);
	ck_assert_msg(critical_init(&path, simulation, &err), "%s", err.text);
}

static void teardown(void)
{
	critical_fini(&path);
	simulation_free(simulation);
	npu_program_free(program);
}

static uint64_t sum_of(const uint64_t *cycles, unsigned n)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < n; i++)
		sum += cycles[i];
	return sum;
}

START_TEST(segments_follow_each_other_from_the_start_to_the_end_of_the_run)
{
	play(play_program(TILES));
	uint64_t at = 0, service = 0;
	for (uint64_t i = 0; i < path.nsegments; i++) {
		ck_assert_uint_eq(path.segments[i].from, at);
		ck_assert_uint_gt(path.segments[i].to, at);
		at = path.segments[i].to;
	}
	ck_assert_uint_eq(at, simulation->account.cycles);
	ck_assert_uint_eq(sum_of(path.kinds, CRITICAL_KINDS), simulation->account.cycles);
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		service += sum_of(path.service[e], NPU_STATES);
	ck_assert_uint_eq(service, path.kinds[CRITICAL_SERVICE]);
	for (uint32_t i = 0; i < path.nsites; i++)
		service -= path.sites[i].cycles;
	ck_assert_uint_eq(service, 0);
	teardown();
}
END_TEST

/* load (posts) -> vector (waits, posts) -> load: nothing overlaps, so the path is all of them. */
START_TEST(a_chain_of_posts_is_followed_from_engine_to_engine)
{
	struct npu_error err;
	static const char text[] = ".sem a, b\n"
				   "load sram:0, dram:0 rows=1 cols=64 dtype=fp32 post a\n"
				   "vfill sram:0x1000 imm=1 rows=1 cols=1\n"
				   "vcopy sram:0x2000, sram:0 rows=1 cols=64 wait a post b\n"
				   "store dram:0x4000, sram:0x2000 rows=1 cols=64 dtype=fp32 wait b\n";
	struct npu_program *p = npu_asm_text(text, sizeof(text) - 1, "chain.npu", &err);
	ck_assert_msg(p != NULL, "%s", err.text);
	play(p);
	static const struct {
		enum critical_kind kind;
		uint32_t insn;
	} expected[] = {
		{ CRITICAL_LAUNCH, PROBE_NOBODY }, { CRITICAL_SERVICE, 0 }, { CRITICAL_POST, 2 },
		{ CRITICAL_SERVICE, 2 },	   { CRITICAL_POST, 3 },    { CRITICAL_SERVICE, 3 },
	};
	ck_assert_uint_eq(path.nsegments, sizeof(expected) / sizeof(expected[0]));
	for (uint64_t i = 0; i < path.nsegments; i++) {
		ck_assert_int_eq(path.segments[i].kind, expected[i].kind);
		ck_assert_uint_eq(path.segments[i].insn, expected[i].insn);
	}
	ck_assert_uint_eq(path.kinds[CRITICAL_POST], 2 * PLAY_SYNC_LATENCY);
	ck_assert_uint_eq(path.service[NPU_ENGINE_VECTOR][NPU_STATE_BUSY], PLAY_VECTOR - 8);
	ck_assert_uint_eq(path.service[NPU_ENGINE_LOAD][NPU_STATE_DMA_SETUP], PLAY_SETUP);
	ck_assert_uint_eq(path.nsites, 3);
	teardown();
}
END_TEST

/* Sixty vector instructions in a row hand their engine on. */
START_TEST(an_engine_that_is_never_free_holds_the_whole_path)
{
	struct npu_error err;
	char text[60 * 64], *at = text;
	for (unsigned i = 0; i < 60; i++)
		at += sprintf(at, "vfill sram:0x%x imm=1 rows=1 cols=1\n", 64 * i);
	struct npu_program *p = npu_asm_text(text, (uint64_t)(at - text), "row.npu", &err);
	ck_assert_msg(p != NULL, "%s", err.text);
	play(p);
	ck_assert_uint_eq(path.kinds[CRITICAL_SERVICE], 60 * PLAY_VECTOR);
	ck_assert_uint_eq(sum_of(path.service[NPU_ENGINE_VECTOR], NPU_STATES), 60 * PLAY_VECTOR);
	ck_assert_uint_eq(path.kinds[CRITICAL_LAUNCH], simulation->account.cycles - 60 * PLAY_VECTOR);
	teardown();
}
END_TEST

START_TEST(an_empty_program_is_launched_and_done)
{
	struct npu_error err;
	play(npu_assembly_finish(npu_assembly_new("empty"), &err));
	ck_assert_uint_eq(path.kinds[CRITICAL_LAUNCH], simulation->account.cycles);
	ck_assert_uint_eq(path.nsites, 0);
	teardown();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("critical path");
	TCase *t = tcase_create("played");
	tcase_add_test(t, segments_follow_each_other_from_the_start_to_the_end_of_the_run);
	tcase_add_test(t, a_chain_of_posts_is_followed_from_engine_to_engine);
	tcase_add_test(t, an_engine_that_is_never_free_holds_the_whole_path);
	tcase_add_test(t, an_empty_program_is_launched_and_done);
	suite_add_tcase(suite, t);
	return npu_suite_run(suite);
}
