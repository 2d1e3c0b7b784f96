/* SPDX-License-Identifier: Apache-2.0 */
/* Random runs of every kernel on every preset, half of them with some parts made perfect: the report passes its checks and meets the kernel's closed forms, and the
 * timeline, read back, adds up to the same figures. */
#include "sim/config.h"
#include "sim/facts.h"
#include "sim/hotspots.h"
#include "sim/insn_work.h"
#include "sim/report_json.h"
#include "sim/simulate_parts.h"
#include "sim/timeline/pftrace.h"
#include "tests/sim/timeline_read.h"
#include "tests/support/kernel_cases.h"
#include "tests/support/machine_loop.h"
#include "tests/support/suite.h"

enum { CASES = 12, LONGEST = 96, ALL_IDEAL = 2 * MACHINE_IDEAL_DISPATCH };

static bool loop_machine(const struct simulation_request *r, const struct probe *probe, struct machine_totals *totals,
			 struct npu_error *err)
{
	return machine_loop_run(r->hw, r->program, r->ideal, probe, false, totals, err);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static void check_lanes(struct read_trace *t, const struct simulation *s)
{
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		char name[64];
		snprintf(name, sizeof(name), "%s states", npu_engine_name((enum npu_engine)e));
		const struct read_track *track = read_track(t, name);
		ck_assert_ptr_nonnull(track);
		ck_assert_uint_eq(track->last, s->account.cycles);
		for (unsigned i = 0; i < NPU_STATES; i++)
			ck_assert_uint_eq(read_cycles(t, track, account_state_name((enum npu_state)i)), s->account.states[e][i]);
	}
	for (unsigned i = 0; i < NPU_SEQ_STATES; i++)
		ck_assert_uint_eq(read_cycles(t, read_track(t, "sequencer"), account_sequencer_name((enum npu_seq_state)i)),
				  s->account.sequencer[i]);
}

static void check_counters(struct read_trace *t, const struct simulation *s)
{
	const struct account *a = &s->account;
	double mhz = s->request.hw->npu.clock_mhz;
	double moved = (read_track(t, "DRAM read")->area + read_track(t, "DRAM write")->area) * 1000 / mhz;
	/* A read answered from the write queue, of at most DRAM_REQUEST_MAX bytes, never was on the bus. */
	double forwarded = (double)s->totals.dram.forwarded * DRAM_REQUEST_MAX, slack = 1 + 1e-6 * (double)a->dram_bus_bytes;
	ck_assert_double_le(moved, (double)a->dram_bus_bytes + slack);
	ck_assert_double_ge(moved, (double)a->dram_bus_bytes - forwarded - slack);
	ck_assert_double_eq(read_track(t, "SRAM live")->peak, (double)a->sram_peak_bytes);
	ck_assert_double_eq(read_track(t, "accumulators live")->peak, (double)a->accum_peak_bytes);
}

static void check_flows(struct read_trace *t)
{
	ck_assert_uint_eq(t->nout, t->nin);
	qsort(t->flows_out, t->nout, sizeof(uint64_t), compare);
	qsort(t->flows_in, t->nin, sizeof(uint64_t), compare);
	for (uint64_t i = 0; i < t->nout; i++)
		ck_assert_uint_eq(t->flows_out[i], t->flows_in[i]);
}

static void check_timeline(const struct simulation *s)
{
	char *bytes = NULL;
	size_t size;
	struct npu_error err;
	FILE *out = open_memstream(&bytes, &size);
	ck_assert(pftrace_write(s, out, false, &err));
	fclose(out);
	struct read_trace *t = read_trace((uint8_t *)bytes, size, 2ull * s->request.program->ninsns);
	ck_assert_uint_eq(t->details, s->request.program->ninsns);
	ck_assert_uint_eq(t->macs, s->account.macs);
	check_lanes(t, s);
	check_counters(t, s);
	check_flows(t);
	read_free(t);
	free(bytes);
}

static void check_report(const struct simulation *s, const struct npu_kernel *kernel, const struct npu_args *args)
{
	const struct account *a = &s->account;
	struct npu_expect expect = kernel->expect(args);
	ck_assert_uint_eq(a->macs, expect.macs);
	ck_assert_uint_eq(a->useful_macs, expect.useful_macs);
	ck_assert_uint_eq(a->dram_read_bytes, expect.dram_read_bytes);
	ck_assert_uint_eq(a->dram_write_bytes, expect.dram_write_bytes);
	ck_assert_uint_le(a->sram_peak_bytes, s->request.hw->sram.size);
	ck_assert_uint_le(a->accum_peak_bytes, s->request.hw->accum.size);
}

/* What the rows of instructions ask DRAM for, and what fetches them, is what the run asked for. */
static void check_bytes(const struct simulation *s, const char *what)
{
	const struct account *a = &s->account;
	uint64_t all = a->dram_read_bytes + a->dram_write_bytes, fetched = s->totals.fetch_bytes, rows = 0, spots = 0;
	struct npu_error err;
	struct facts facts;
	struct insn_works works;
	ck_assert(facts_init(&facts, s) && insn_works_init(&works, s));
	for (uint32_t i = 0; i < s->request.program->ninsns; i++) {
		uint64_t bytes = facts_of(&facts, i).bytes;
		struct insn_work work = insn_works_next(&works, i);
		ck_assert_msg(work.granule_bytes >= bytes && (bytes == 0) == (work.bursts == 0), "%s: #%u", what, (unsigned)i);
		rows += bytes;
	}
	facts_fini(&facts);
	insn_works_fini(&works);
	ck_assert_msg(rows + fetched == all, "%s: rows %llu, fetched %llu, all %llu", what, (unsigned long long)rows,
		      (unsigned long long)fetched, (unsigned long long)all);
	if (s->request.program->ninsns == 0)
		return;
	json_t *report = report_json(s);
	struct hotspots h;
	ck_assert_msg(hotspots_init(&h, report, "r.json", HOTSPOTS_REGION, &err), "%s", err.text);
	for (uint32_t i = 0; i < h.n; i++)
		spots += h.items[i].dram_bytes;
	ck_assert_msg(spots == all, "%s: hot spots %llu, all %llu", what, (unsigned long long)spots, (unsigned long long)all);
	hotspots_fini(&h);
	json_decref(report);
}

static void check_case(const struct npu_kernel *kernel, const struct hw *hw, struct case_rng *rng, unsigned *ran)
{
	struct npu_error err;
	struct npu_args args;
	struct npu_capacity capacity = hw_capacity(hw);
	npu_args_init(kernel, &args);
	random_args(kernel, &args, LONGEST, rng);
	struct npu_program *program = npu_kernel_build(kernel, &capacity, &args, &err);
	if (!program)
		return; /* does not fit, or parameters that do not go together */
	struct simulation_request request = {
		.hw = hw, .program = program, .command = "run", .subject = kernel->name, .kernel = kernel, .args = &args,
		.want_record = true, .want_insns = true,
		.ideal = case_below(rng, 2) ? 0 : (unsigned)case_below(rng, ALL_IDEAL),
	};
	struct simulation *s = simulate_on(loop_machine, &request, &err);
	ck_assert_msg(s != NULL, "%s on %s, ideal %x: %s", kernel->name, hw->name, request.ideal, err.text);
	if (hw->sequencer.fetch == HW_FETCH_ROM)
		check_report(s, kernel, &args);
	check_bytes(s, kernel->name);
	check_timeline(s);
	simulation_free(s);
	npu_program_free(program);
	++*ran;
}

static void check_preset(const char *name)
{
	struct hw hw;
	struct npu_error err;
	struct case_rng rng = { 7 };
	unsigned ran = 0;
	ck_assert_msg(config_load(&hw, name, NULL, 0, &err), "%s", err.text);
	for (unsigned k = 0; npu_kernels[k]; k++)
		for (unsigned i = 0; i < CASES; i++) {
			hw.sequencer.fetch = i % 4 == 3 ? HW_FETCH_DRAM : HW_FETCH_ROM;
			check_case(npu_kernels[k], &hw, &rng, &ran);
		}
	ck_assert_uint_gt(ran, 0);
}

START_TEST(runs_on_tiny_256k) { check_preset("tiny-256k"); }
END_TEST
START_TEST(runs_on_edge_1mb) { check_preset("edge-1mb"); }
END_TEST
START_TEST(runs_on_edge_2mb) { check_preset("edge-2mb"); }
END_TEST
START_TEST(runs_on_server) { check_preset("server"); }
END_TEST

int main(void)
{
	Suite *suite = suite_create("report_run");
	TCase *t = tcase_create("kernels");
	tcase_set_timeout(t, 60);
	tcase_add_test(t, runs_on_tiny_256k);
	tcase_add_test(t, runs_on_edge_1mb);
	tcase_add_test(t, runs_on_edge_2mb);
	tcase_add_test(t, runs_on_server);
	suite_add_tcase(suite, t);
	return npu_suite_run(suite);
}
