/* SPDX-License-Identifier: Apache-2.0 */
/* Hot spots of a played run add up to its report, whatever a row is. */
#include "sim/hotspots.h"
#include "sim/report_json.h"
#include "sim/report_read.h"
#include "tests/sim/record_play.h"
#include "tests/support/suite.h"

enum { TILES = 12 };

static struct hw hw;
static struct npu_program *program;
static struct simulation *simulation;
static json_t *report;

static void play(bool want_insns)
{
	struct npu_error err;
	play_hw(&hw);
	program = play_program(TILES);
	struct simulation_request request = {
		.hw = &hw, .program = program, .command = "run", .subject = "play.npu", .want_record = true,
		.want_insns = want_insns,
	};
	simulation = simulate_on(play_machine, &request, &err);
	ck_assert_msg(simulation != NULL, "%s", err.text);
	ck_assert_ptr_nonnull(report = report_json(simulation));
}

static void setup(void) { play(true); }

static void teardown(void)
{
	json_decref(report);
	simulation_free(simulation);
	npu_program_free(program);
}

START_TEST(rows_add_up_to_the_engines_whatever_a_row_is)
{
	struct hotspots h;
	struct npu_error err;
	uint64_t count = 0, cycles = 0, bytes = 0, macs = 0, active = 0, waits = 0, all_waits = 0;
	ck_assert_msg(hotspots_init(&h, report, "r.json", (enum hotspots_by)_i, &err), "%s", err.text);
	for (uint32_t i = 0; i < h.n; i++) {
		const struct hotspot *spot = &h.items[i];
		ck_assert(i == 0 || spot->cycles <= h.items[i - 1].cycles);
		count += spot->count;
		cycles += spot->cycles;
		bytes += spot->dram_bytes;
		macs += spot->macs;
		waits += spot->states[NPU_STATE_WAIT_LOAD] + spot->states[NPU_STATE_WAIT_MATRIX];
	}
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		active += simulation->account.active[e];
		all_waits += simulation->account.states[e][NPU_STATE_WAIT_LOAD] +
			     simulation->account.states[e][NPU_STATE_WAIT_MATRIX];
	}
	ck_assert_uint_eq(count, program->ninsns);
	ck_assert_uint_eq(cycles, active);
	ck_assert_uint_eq(waits, all_waits);
	ck_assert_uint_eq(bytes, simulation->account.dram_read_bytes + simulation->account.dram_write_bytes);
	ck_assert_uint_eq(macs, simulation->account.macs);
	ck_assert_uint_le(h.n, program->ninsns);
	hotspots_fini(&h);
}
END_TEST

/* "head 0/tile" and "head 1/tile" have one name inside and are two regions. */
START_TEST(regions_are_those_of_the_report)
{
	struct hotspots h;
	struct npu_error err;
	const struct account *a = &simulation->account;
	ck_assert_msg(hotspots_init(&h, report, "r.json", HOTSPOTS_REGION, &err), "%s", err.text);
	ck_assert_uint_eq(h.n, a->nregions - 1); /* but for (none), which has no instruction here */
	for (uint32_t i = 0; i < h.n; i++) {
		uint32_t r = 0;
		while (r < a->nregions && strcmp(a->regions[r].name, h.items[i].place) != 0)
			r++;
		ck_assert_msg(r < a->nregions, "%s", h.items[i].place);
		ck_assert_uint_eq(h.items[i].count, a->regions[r].instructions);
		ck_assert_uint_eq(h.items[i].macs, a->regions[r].macs);
		ck_assert_uint_eq(h.items[i].dram_bytes, a->regions[r].dram_read_bytes + a->regions[r].dram_write_bytes);
		uint64_t active = 0;
		for (unsigned e = 0; e < NPU_ENGINES; e++)
			active += account_active(a->regions[r].states[e]);
		ck_assert_uint_eq(h.items[i].cycles, active);
	}
	hotspots_fini(&h);
}
END_TEST

START_TEST(instructions_are_rows_of_their_own_and_lines_are_not)
{
	struct hotspots lines, insns;
	struct npu_error err;
	ck_assert(hotspots_init(&lines, report, "r.json", HOTSPOTS_LINE, &err));
	ck_assert(hotspots_init(&insns, report, "r.json", HOTSPOTS_INSTRUCTION, &err));
	ck_assert_uint_eq(insns.n, program->ninsns);
	ck_assert_uint_lt(lines.n, insns.n);
	hotspots_fini(&lines);
	hotspots_fini(&insns);
}
END_TEST

START_TEST(a_report_without_rows_is_refused_with_the_command_that_writes_them)
{
	struct hotspots h;
	struct npu_error err;
	teardown();
	play(false);
	ck_assert(!hotspots_init(&h, report, "r.json", HOTSPOTS_LINE, &err));
	ck_assert_str_eq(err.text, "r.json: no rows of instructions; npusim run ... --report r.json --instructions writes them");
}
END_TEST

/* Rows that somebody else wrote: of wrong types, or without what they should have. */
START_TEST(foreign_rows_count_as_nothing_and_do_no_harm)
{
	struct hotspots h;
	struct npu_error err;
	json_t *foreign = json_loads("{\"instructions\": [1, {}, {\"source\": 3, \"busy\": -5, \"stalls\": [1]},"
				     " {\"source\": \"a:1\", \"busy\": 7, \"stalls\": {\"none\": 2, \"dram_latency\": 3}}]}",
				     0, NULL);
	ck_assert_msg(hotspots_init(&h, foreign, "r.json", HOTSPOTS_LINE, &err), "%s", err.text);
	ck_assert_uint_eq(h.n, 2);
	ck_assert_str_eq(h.items[0].place, "a:1");
	ck_assert_uint_eq(h.items[0].cycles, 10);
	ck_assert_str_eq(h.items[1].place, "(none)");
	ck_assert_uint_eq(h.items[1].cycles, 0);
	ck_assert_uint_eq(h.items[1].count, 3);
	hotspots_fini(&h);
	json_decref(foreign);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hot spots");
	TCase *t = tcase_create("played");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, rows_add_up_to_the_engines_whatever_a_row_is, 0, HOTSPOTS_WAYS);
	tcase_add_test(t, regions_are_those_of_the_report);
	tcase_add_test(t, instructions_are_rows_of_their_own_and_lines_are_not);
	tcase_add_test(t, a_report_without_rows_is_refused_with_the_command_that_writes_them);
	tcase_add_test(t, foreign_rows_count_as_nothing_and_do_no_harm);
	suite_add_tcase(suite, t);
	return npu_suite_run(suite);
}
