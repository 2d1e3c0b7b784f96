/* SPDX-License-Identifier: Apache-2.0 */
/* The twin against numbers derived by hand, and the machine against the twin on a few programs of each family. */
#include "sim/config.h"
#include "tests/golden/twin_cases.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static struct hw configured(const char *preset, const char *const *sets, unsigned n)
{
	struct hw hw;
	struct npu_error err;
	if (!config_load(&hw, preset, sets, n, &err))
		ck_abort_msg("%s", err.text);
	return hw;
}

#define SETS(...) ((const char *const[]){ __VA_ARGS__ }), sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *)

/* Cycles of a program from the launch, at cycle 1, to its end. */
static uint64_t cycles_of(const struct hw *hw, const char *text)
{
	struct npu_error err;
	struct twin_result twin;
	struct npu_program *p = npu_asm_text(text, strlen(text), "test", &err);
	if (!p)
		ck_abort_msg("%s", err.text);
	ck_assert(twin_run(hw, p, &twin));
	uint64_t cycles = twin.cycles - 1;
	twin_result_free(&twin);
	npu_program_free(p);
	return cycles;
}

static const char *const product = "matmul acc:0x0, sram:0x0, sram:0x40000 m=32 n=32 k=64\n";

START_TEST(weight_stationary_loads_streams_and_drains)
{
	struct hw hw = configured("edge-1mb", NULL, 0);
	/* two folds along k: load 32, then a fold every 32, latency 32 + 32 - 2 = 62 */
	ck_assert_uint_eq(cycles_of(&hw, product), 32 + 2 * 32 + 62);
}
END_TEST

START_TEST(serial_folds_follow_one_another)
{
	struct hw hw = configured("edge-1mb", SETS("matrix.weight_load=serial"));
	ck_assert_uint_eq(cycles_of(&hw, product), 2 * (32 + 32 + 62));
}
END_TEST

START_TEST(output_stationary_streams_k_and_shifts_out)
{
	struct hw hw = configured("edge-1mb", SETS("matrix.dataflow=os", "sram.ideal=yes"));
	/* 64 steps, skew 62, then 32 rows of sums leave */
	ck_assert_uint_eq(cycles_of(&hw, product), 64 + 62 + 32);
}
END_TEST

START_TEST(a_word_that_two_rows_share_is_read_once)
{
	struct hw hw = configured("server", NULL, 0);
	/* one fold: load 256 rows x 128 B / 512 B, stream 127 rows, latency 254; rows of 65 B lie densely and conflict
	 * with nobody */
	ck_assert_uint_eq(
	    cycles_of(&hw, "matmul acc:0x0, sram:0x0, sram:0x80000 m=127 n=65 k=127 a_type=int8 b_type=int8\n"),
	    64 + 127 + 254);
}
END_TEST

START_TEST(a_vector_instruction_is_its_start_up_and_its_passes)
{
	struct hw hw = configured("edge-1mb", SETS("sram.ideal=yes"));
	/* 32 x 32 elements in 32 lanes: 32 cycles x 4 slots of an exponential; 8 KiB through 128 B a cycle take only 64
	 */
	ck_assert_uint_eq(cycles_of(&hw, "vexp sram:0x0, sram:0x40000 rows=32 cols=32\n"), 8 + 32 * 4);
	/* scale, max; then subtract, exp, sum, convert */
	ck_assert_uint_eq(
	    cycles_of(&hw, "vsoftmax_online sram:0x0, sram:0x40000, sram:0x80000 rows=32 cols=32 first=1\n"),
	    8 + 32 + 32 * 4);
}
END_TEST

START_TEST(a_load_of_an_ideal_dram_is_set_up_crosses_twice_and_beats)
{
	struct hw hw = configured("edge-1mb", SETS("dram.ideal=yes", "dram.tck_num=1000", "dram.tck_den=1"));
	/* start 16, descriptor 1, there 4, back 4, 256 B in beats of 32 B */
	ck_assert_uint_eq(cycles_of(&hw, "load sram:0x0, dram:0x0 rows=1 cols=128\n"), 16 + 1 + 4 + 4 + 8);
}
END_TEST

START_TEST(a_post_is_seen_after_its_latency)
{
	struct hw hw = configured("edge-1mb", NULL, 0);
	/* vfill: start-up 8, one slot an element: 32; it ends, 4 cycles later the copy starts, as long again */
	ck_assert_uint_eq(cycles_of(&hw, ".sem s\nvfill sram:0x0 rows=32 cols=32   post s\nsync.matrix   wait s\n"),
			  8 + 32 + 4);
}
END_TEST

START_TEST(a_program_that_never_ends_is_given_up_loudly)
{
	struct hw hw = configured("tiny-256k", NULL, 0);
	struct npu_error err;
	struct twin_result twin;
	static const char *const text[] = { ".sem s\nsync.load   wait s\nsync.vector   post s\nsync.load   wait s\n",
					    "load sram:0x0, dram:0x0 rows=1 cols=16\n" };
	hw.dram.refresh = DRAM_REFRESH_ALLBANK;
	hw.dram.tREFI = 1; /* nothing but refreshes */
	for (unsigned i = 0; i < 2; i++) {
		struct npu_program *p = npu_asm_text(text[i], strlen(text[i]), "test", &err);
		ck_assert_ptr_nonnull(p);
		ck_assert(!twin_run(&hw, p, &twin));
		twin_result_free(&twin);
		npu_program_free(p);
	}
}
END_TEST

static void must_agree(struct twin_table *t)
{
	char why[1024];
	twin_table_print(stdout, t, 1);
	const char *fault = twin_table_fault(t, why, sizeof why);
	ck_assert_msg(!fault, "%s: %s", t->name, fault ? fault : "");
}

START_TEST(random_programs_on_the_presets_agree)
{
	struct twin_table t = { .name = "presets" };
	ck_assert(twin_add_random(&t, 0, 8, true));
	must_agree(&t);
}
END_TEST

START_TEST(random_programs_on_random_machines_agree)
{
	struct twin_table t = { .name = "random" };
	ck_assert(twin_add_random(&t, 0, 10, false));
	must_agree(&t);
}
END_TEST

START_TEST(small_machines_agree)
{
	struct twin_table t = { .name = "small" };
	ck_assert(twin_add_small(&t, 0, 60));
	must_agree(&t);
}
END_TEST

START_TEST(shipped_kernels_agree)
{
	struct twin_table t = { .name = "kernels" };
	ck_assert(twin_add_kernels(&t, 1, 128, 4000000));
	ck_assert_uint_ge(t.runs, 20); /* seven kernels on four presets, but for those that are over at once */
	must_agree(&t);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("golden.twin");
	TCase *by_hand = tcase_create("by hand"), *both = tcase_create("both");
	tcase_add_test(by_hand, weight_stationary_loads_streams_and_drains);
	tcase_add_test(by_hand, serial_folds_follow_one_another);
	tcase_add_test(by_hand, output_stationary_streams_k_and_shifts_out);
	tcase_add_test(by_hand, a_word_that_two_rows_share_is_read_once);
	tcase_add_test(by_hand, a_vector_instruction_is_its_start_up_and_its_passes);
	tcase_add_test(by_hand, a_load_of_an_ideal_dram_is_set_up_crosses_twice_and_beats);
	tcase_add_test(by_hand, a_post_is_seen_after_its_latency);
	tcase_add_test(by_hand, a_program_that_never_ends_is_given_up_loudly);
	tcase_set_timeout(both, 300);
	tcase_add_test(both, random_programs_on_the_presets_agree);
	tcase_add_test(both, random_programs_on_random_machines_agree);
	tcase_add_test(both, small_machines_agree);
	tcase_add_test(both, shipped_kernels_agree);
	suite_add_tcase(suite, by_hand);
	suite_add_tcase(suite, both);
	return npu_suite_run(suite);
}
