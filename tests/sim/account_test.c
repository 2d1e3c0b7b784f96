/* SPDX-License-Identifier: Apache-2.0 */
/* Figures against hand counts, and the checks that refuse a report which contradicts itself. */
#include "sim/account_bound.h"
#include "sim/simulate_parts.h"
#include "tests/sim/record_play.h"
#include "tests/support/suite.h"

#include <math.h>

enum { TILES = 8 };

static struct hw hw;
static struct npu_program *program;
static struct simulation *simulation;
static struct account *account;
static struct npu_error err;

static void setup(void)
{
	play_hw(&hw);
	program = play_program(TILES);
	struct simulation_request request = { .hw = &hw, .program = program, .command = "run", .subject = "play.npu" };
	simulation = simulate_on(play_machine, &request, &err);
	ck_assert_msg(simulation != NULL, "%s", err.text);
	account = &simulation->account;
}

static void teardown(void)
{
	simulation_free(simulation);
	npu_program_free(program);
}

START_TEST(figures_of_products)
{
	/* 2 heads x 8 tiles of 64 x 128 x 64; the last tile of a head masks 64 x 64 x 32. */
	uint64_t macs = 2ull * TILES * 64 * 128 * 64;
	ck_assert_uint_eq(account->macs, macs);
	ck_assert_uint_eq(account->useful_macs, macs - 2 * 64 * 64 * 32);
	ck_assert_double_eq_tol(account->mac_utilization, (double)macs / 1024 / (double)account->cycles, 1e-12);
	/* Reads: K and Q; writes: S, fp16 [64, 64] a tile. */
	double bytes = 2 * (TILES + 1) * 16384.0 + 2 * TILES * 8192.0;
	ck_assert_double_eq_tol(account->macs_per_dram_byte, (double)macs / bytes, 1e-9);
	/* 1,024 MACs a cycle at 1 GHz over 4 GB/s. */
	ck_assert_double_eq_tol(account->ridge_macs_per_byte, 256, 1e-9);
}
END_TEST

START_TEST(figures_of_dram)
{
	ck_assert_uint_eq(account->dram_read_bytes, 2 * (TILES + 1) * 16384);
	ck_assert_uint_eq(account->dram_write_bytes, 2 * TILES * 8192);
	double bytes = (double)(account->dram_read_bytes + account->dram_write_bytes);
	/* 1 GHz: bytes a cycle are GB/s; 2 bytes wide, double data rate at 1 GHz. */
	ck_assert_double_eq_tol(account->dram_gb_per_s, bytes / (double)account->cycles, 1e-9);
	ck_assert_double_eq_tol(account->dram_peak_gb_per_s, 4, 1e-12);
	ck_assert_double_eq_tol(account->dram_peak_fraction, account->dram_gb_per_s / 4, 1e-12);
	ck_assert_double_eq(account->dram_row_hit_fraction, 1);
	/* 50 clocks of 1 ns. */
	ck_assert_double_eq_tol(account->dram_mean_latency_ns, 50, 1e-9);
}
END_TEST

START_TEST(figures_of_tensors)
{
	const struct traffic *t = &account->traffic;
	ck_assert_uint_eq(t->nrows, 3);
	ck_assert_str_eq(t->rows[0].name, "Q");
	ck_assert_uint_eq(t->rows[0].read_bytes, 2 * 16384);
	ck_assert_uint_eq(t->rows[0].unique_bytes, 2 * 16384);
	ck_assert_str_eq(t->rows[1].name, "K");
	ck_assert_uint_eq(t->rows[1].read_bytes, 2 * TILES * 16384);
	ck_assert_uint_eq(t->rows[1].unique_bytes, TILES * 16384);
	ck_assert_str_eq(t->rows[2].name, "S");
	ck_assert_uint_eq(t->rows[2].write_bytes, 2 * TILES * 8192);
	ck_assert_uint_eq(t->rows[2].unique_bytes, 2 * TILES * 8192);
}
END_TEST

START_TEST(figures_of_local_memory)
{
	/* q, k[0], k[1] and p live together; s in the accumulators. */
	ck_assert_uint_eq(account->sram_peak_bytes, 3 * PLAY_TILE + 8192);
	ck_assert_uint_eq(account->accum_peak_bytes, PLAY_S_BYTES);
	ck_assert_uint_eq(account->sram_conflict_cycles, account->states[NPU_ENGINE_MATRIX][NPU_STATE_SRAM_CONFLICT]);
}
END_TEST

START_TEST(figures_of_energy)
{
	double bytes = (double)(account->dram_read_bytes + account->dram_write_bytes);
	ck_assert_double_eq_tol(account->energy_mac_uj, (double)account->macs * 2.0e-6, 1e-9);
	ck_assert_double_eq_tol(account->energy_vector_uj, 2 * TILES * 1000 * 2.3e-6, 1e-9);
	ck_assert_double_eq_tol(account->energy_dram_uj, bytes * 40e-6, 1e-9);
	ck_assert_double_eq_tol(account->energy_sram_uj, bytes * 2.5e-6, 1e-9);
	/* 50 mW for cycles of 1 ns. */
	ck_assert_double_eq_tol(account->energy_idle_uj, (double)account->cycles * 50e-6, 1e-9);
	/* With clocks that stop, half of it remains, and of the other half each engine's quarter while that is active. */
	double active = 0;
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		active += (double)account->active[e] / 4;
	ck_assert_double_eq_tol(account->energy_idle_gated_uj, ((double)account->cycles + active) * 25e-6, 1e-9);
	ck_assert_double_lt(account->energy_idle_gated_uj, account->energy_idle_uj);
	ck_assert_double_eq_tol(account->energy_total_uj,
				account->energy_mac_uj + account->energy_vector_uj + account->energy_sram_uj +
					account->energy_accum_uj + account->energy_dram_uj + account->energy_idle_uj,
				1e-9);
}
END_TEST

START_TEST(regions_of_one_path_are_one_row)
{
	ck_assert_uint_eq(account->nregions, 5);
	const char *const names[] = { "head 0", "head 0/tile", "head 1", "head 1/tile", "(none)" };
	const uint64_t instructions[] = { 3, 4 * TILES, 3, 4 * TILES, 0 };
	for (unsigned i = 0; i < 5; i++) {
		ck_assert_str_eq(account->regions[i].name, names[i]);
		ck_assert_uint_eq(account->regions[i].instructions, instructions[i]);
	}
	ck_assert_uint_eq(account->regions[1].macs, account->macs / 2);
	ck_assert_uint_eq(account->regions[2].dram_read_bytes, 16384);
	ck_assert_uint_eq(account->regions[3].dram_write_bytes, TILES * 8192);
}
END_TEST

START_TEST(a_played_run_passes_its_checks) { ck_assert(account_check(account, &err)); }
END_TEST

static void expect_refusal(uint64_t *figure, const char *text)
{
	(*figure)++;
	ck_assert_msg(!account_check(account, &err), "%s", text);
	ck_assert_msg(strncmp(err.text, "internal: ", strlen("internal: ")) == 0 && strstr(err.text, text), "%s not in %s", text,
		      err.text);
	(*figure)--;
}

START_TEST(a_report_that_contradicts_itself_is_refused)
{
	expect_refusal(&account->states[NPU_ENGINE_STORE][NPU_STATE_WAIT_VECTOR], "the states of store");
	expect_refusal(&account->active[NPU_ENGINE_LOAD], "busy and the stalls in service of load");
	expect_refusal(&account->sequencer[NPU_SEQ_ISSUE], "the states of the sequencer");
	expect_refusal(&account->neither, "the parts of the overlap");
	expect_refusal(&account->regions[1].states[NPU_ENGINE_LOAD][NPU_STATE_BUSY], "busy of load");
	expect_refusal(&account->regions[0].instructions, "the instructions of the regions");
	expect_refusal(&account->regions[0].macs, "the MACs of the regions");
	expect_refusal(&account->traffic.rows[0].read_bytes, "the bytes read of the tensors");
	expect_refusal(&account->traffic.rows[2].write_bytes, "the bytes written of the tensors");
	account->mac_utilization = 1.01;
	ck_assert(!account_check(account, &err));
	ck_assert(strstr(err.text, "mac_utilization"));
}
END_TEST

START_TEST(an_overlap_that_the_engines_cannot_have_is_refused)
{
	account->neither += account->dma_only;
	account->dma_only = 0;
	ck_assert(!account_check(account, &err));
	ck_assert(strstr(err.text, "the overlap contradicts the engines"));
}
END_TEST

/* A run of 1,000 cycles whose engines were only in the given states. */
struct told {
	enum npu_engine engine;
	enum npu_state state;
	uint64_t cycles;
};
static const char *bound_of(struct account *a, const struct told *told, unsigned n)
{
	memset(a, 0, sizeof(*a));
	a->cycles = 1000;
	a->macs_per_dram_byte = NAN;
	for (unsigned i = 0; i < n; i++) {
		a->states[told[i].engine][told[i].state] += told[i].cycles;
		a->instructions[told[i].engine] = 1;
	}
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		a->active[e] = account_active(a->states[e]);
	account_bound(a);
	return a->bound;
}
#define BOUND_OF(...) bound_of(&a, (struct told[]){ __VA_ARGS__ }, sizeof((struct told[]){ __VA_ARGS__ }) / sizeof(struct told))

START_TEST(bound_follows_its_rule)
{
	struct account a;
	const enum npu_engine load = NPU_ENGINE_LOAD, matrix = NPU_ENGINE_MATRIX, vector = NPU_ENGINE_VECTOR;
	ck_assert_str_eq(BOUND_OF({ matrix, NPU_STATE_BUSY, 900 }, { load, NPU_STATE_DRAM_BANDWIDTH, 800 }), "matrix");
	ck_assert_str_eq(BOUND_OF({ vector, NPU_STATE_BUSY, 900 }, { matrix, NPU_STATE_BUSY, 800 }), "vector");
	ck_assert_str_eq(BOUND_OF({ matrix, NPU_STATE_BUSY, 800 }, { load, NPU_STATE_DRAM_BANDWIDTH, 500 },
				  { load, NPU_STATE_BUSY, 400 }),
			 "dram");
	ck_assert_str_eq(BOUND_OF({ load, NPU_STATE_BUSY, 900 }, { load, NPU_STATE_DRAM_BANDWIDTH, 50 }), "dma");
	ck_assert_str_eq(a.bound_evidence, "load active 95.0 %, its port busy 90.0 %");
	ck_assert_str_eq(BOUND_OF({ load, NPU_STATE_DRAM_LATENCY, 500 }, { load, NPU_STATE_BUSY, 300 }), "latency");
	ck_assert_str_eq(BOUND_OF({ matrix, NPU_STATE_SRAM_CONFLICT, 500 }, { matrix, NPU_STATE_BUSY, 400 }), "sram");
	ck_assert_str_eq(BOUND_OF({ matrix, NPU_STATE_BUSY, 500 }, { matrix, NPU_STATE_DISPATCH_RATE, 500 }), "dispatch");
	ck_assert_str_eq(a.bound_evidence, "no engine active above 50.0 % (matrix), matrix without an instruction 50.0 %");
	ck_assert_str_eq(BOUND_OF({ matrix, NPU_STATE_BUSY, 500 }, { matrix, NPU_STATE_WAIT_LOAD, 500 }), "latency");
	ck_assert_str_eq(a.bound_evidence, "no engine active above 50.0 % (matrix), matrix waits 50.0 % for load");
}
END_TEST

START_TEST(bound_of_a_run_in_which_nothing_happened)
{
	struct account a;
	memset(&a, 0, sizeof(a));
	account_bound(&a);
	ck_assert_str_eq(a.bound, "latency");
}
END_TEST

static struct npu_program *finish(struct npu_assembly *a)
{
	struct npu_program *p = npu_assembly_finish(a, &err);
	ck_assert_msg(p != NULL, "%s", err.text);
	return p;
}

static void check_row(const struct traffic_row *r, const char *name, uint64_t read, uint64_t written, uint64_t unique)
{
	ck_assert_str_eq(r->name, name);
	ck_assert_uint_eq(r->read_bytes, read);
	ck_assert_uint_eq(r->write_bytes, written);
	ck_assert_uint_eq(r->unique_bytes, unique);
}

START_TEST(traffic_across_tensors_is_divided)
{
	struct npu_assembly *a = npu_assembly_new("across");
	struct traffic t;
	play_tensor(a, "A", 0, 1, 64, NPU_TENSOR_IN);   /* bytes 0 to 127 */
	play_tensor(a, "B", 128, 1, 64, NPU_TENSOR_IN); /* bytes 128 to 255 */
	struct npu_insn insn = npu_insn_initial(NPU_OP_LOAD);
	insn.dma.dram = 64;
	insn.dma.rows = 1;
	insn.dma.cols = 128; /* bytes 64 to 319 */
	npu_assembly_insn(a, &insn);
	npu_assembly_insn(a, &insn);
	struct npu_program *p = finish(a);
	ck_assert(traffic_init(&t, p, 640));
	ck_assert_uint_eq(t.nrows, 4);
	check_row(&t.rows[0], "A", 2 * 64, 0, 64);
	check_row(&t.rows[1], "B", 2 * 128, 0, 128);
	check_row(&t.rows[2], "(unnamed)", 2 * 64, 0, 64);
	check_row(&t.rows[3], "(instructions)", 640, 0, 640);
	ck_assert_uint_eq(t.read_bytes, 2 * 256 + 640);
	traffic_fini(&t);
	npu_program_free(p);
}
END_TEST

START_TEST(traffic_of_strided_tiles_counts_each_byte_once)
{
	struct npu_assembly *a = npu_assembly_new("strided");
	struct traffic t;
	play_tensor(a, "A", 4096, 16, 64, NPU_TENSOR_INOUT);
	/* Columns 0 to 31 and 16 to 47 of 16 rows of 64 fp16; then columns 32 to 63 are written. */
	struct npu_insn insn = npu_insn_initial(NPU_OP_LOAD);
	insn.dma.rows = 16;
	insn.dma.cols = 32;
	insn.dma.dram_stride = 128;
	insn.dma.dram = 4096;
	npu_assembly_insn(a, &insn);
	insn.dma.dram = 4096 + 32;
	npu_assembly_insn(a, &insn);
	insn.op = NPU_OP_STORE;
	insn.dma.dram = 4096 + 64;
	npu_assembly_insn(a, &insn);
	struct npu_program *p = finish(a);
	ck_assert(traffic_init(&t, p, 0));
	ck_assert_uint_eq(t.nrows, 1);
	check_row(&t.rows[0], "A", 2 * 16 * 64, 16 * 64, 16 * 128);
	traffic_fini(&t);
	npu_program_free(p);
}
END_TEST

START_TEST(traffic_of_paged_rows_counts_pages_and_table)
{
	struct npu_assembly *a = npu_assembly_new("paged");
	struct traffic t;
	const uint32_t pages[] = { 3, 1, 3 };
	const struct npu_table table = { .name = "t", .addr = 65536, .count = 3, .entries = pages };
	npu_assembly_table(a, &table);
	play_tensor(a, "pool", 0, 4 * 16, 32, NPU_TENSOR_IN); /* 4 pages of 16 rows of 64 bytes */
	struct npu_insn insn = npu_insn_initial(NPU_OP_GATHER);
	insn.paged.cols = 32;
	insn.paged.rows = 40; /* pages 3 and 1 whole, 8 rows of page 3 again */
	insn.paged.page_rows = 16;
	insn.paged.page_stride = 16 * 64;
	npu_assembly_insn(a, &insn);
	npu_assembly_insn(a, &insn);
	struct npu_program *p = finish(a);
	ck_assert(traffic_init(&t, p, 0));
	ck_assert_uint_eq(t.nrows, 2);
	check_row(&t.rows[0], "pool", 2 * 40 * 64, 0, 32 * 64);
	check_row(&t.rows[1], "(block tables)", 2 * 3 * 4, 0, 3 * 4);
	traffic_fini(&t);
	npu_program_free(p);
}
END_TEST

START_TEST(an_empty_program_has_no_figures_that_are_not_numbers)
{
	struct npu_program *empty = finish(npu_assembly_new("empty"));
	struct simulation_request request = { .hw = &hw, .program = empty, .command = "run", .subject = "empty" };
	struct simulation *s = simulate_on(play_machine, &request, &err);
	ck_assert_msg(s != NULL, "%s", err.text);
	ck_assert(isnan(s->account.hidden_fraction));
	ck_assert(isnan(s->account.macs_per_dram_byte));
	ck_assert(isnan(s->account.dram_row_hit_fraction));
	ck_assert_double_eq(s->account.mac_utilization, 0);
	ck_assert_double_eq(s->account.dram_gb_per_s, 0);
	simulation_free(s);
	npu_program_free(empty);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("account");
	TCase *t = tcase_create("figures");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, figures_of_products);
	tcase_add_test(t, figures_of_dram);
	tcase_add_test(t, figures_of_tensors);
	tcase_add_test(t, figures_of_local_memory);
	tcase_add_test(t, figures_of_energy);
	tcase_add_test(t, regions_of_one_path_are_one_row);
	tcase_add_test(t, a_played_run_passes_its_checks);
	tcase_add_test(t, a_report_that_contradicts_itself_is_refused);
	tcase_add_test(t, an_overlap_that_the_engines_cannot_have_is_refused);
	tcase_add_test(t, an_empty_program_has_no_figures_that_are_not_numbers);
	suite_add_tcase(suite, t);
	t = tcase_create("bound");
	tcase_add_test(t, bound_follows_its_rule);
	tcase_add_test(t, bound_of_a_run_in_which_nothing_happened);
	suite_add_tcase(suite, t);
	t = tcase_create("traffic");
	tcase_add_test(t, traffic_across_tensors_is_divided);
	tcase_add_test(t, traffic_of_strided_tiles_counts_each_byte_once);
	tcase_add_test(t, traffic_of_paged_rows_counts_pages_and_table);
	suite_add_tcase(suite, t);
	return npu_suite_run(suite);
}
