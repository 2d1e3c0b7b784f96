/* SPDX-License-Identifier: Apache-2.0 */
/* What a program is reckoned to take lies near what it takes, and never below what no run takes less of. */
#include "kernels/kernel.h"
#include "sim/config.h"
#include "sim/sweep/alone.h"
#include "sim/sweep/reckon.h"
#include "tests/support/machine_loop.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct npu_program *build(const struct hw *hw, const char *kernel, const char *parameters)
{
	const struct npu_kernel *k = npu_kernel_find(kernel);
	struct npu_capacity capacity = hw_capacity(hw);
	struct npu_args args;
	struct npu_error err = { 0 };
	char text[256], *rest = text;
	ck_assert_ptr_nonnull(k);
	npu_args_init(k, &args);
	ck_assert_uint_lt(strlen(parameters), sizeof text);
	strcpy(text, parameters);
	for (char *word; (word = strtok_r(rest, " ", &rest));)
		ck_assert_msg(npu_args_set(k, &args, word, &err), "%s", err.text);
	struct npu_program *program = npu_kernel_build(k, &capacity, &args, &err);
	ck_assert_msg(program != NULL, "%s %s: %s", kernel, parameters, err.text);
	ck_assert_msg(npu_program_fits(program, &capacity.limits, &err), "%s", err.text);
	return program;
}

/* How far off an estimate may be: 4 % are usual, but not where many engines meet in the banks of the SRAM or the rows of the DRAM. */
static const struct {
	const char *hw, *kernel, *parameters;
	double within;
} cases[] = {
	{ "edge-1mb", "flash_attention", "seq=256 heads=2 tile_q=128 tile_kv=128", 0.02 },
	{ "edge-1mb", "flash_attention", "seq=256 heads=2 tile_q=32 tile_kv=64 buffering=single", 0.1 },
	{ "edge-1mb", "gemm", "m=128 n=256 k=256", 0.05 },
	{ "edge-1mb", "gemm", "m=128 n=256 k=256 tile_m=32 tile_n=32 tile_k=64 buffering=triple", 0.15 },
	{ "gemmini16", "gemm", "m=128 n=128 k=256 dtype=int8 tile_m=64 tile_n=32 tile_k=64 buffering=triple", 0.1 },
	{ "edge-2mb", "gemm", "m=64 n=512 k=512 weights=int4", 0.1 },
	{ "edge-2mb", "gemm", "m=64 n=256 k=256 order=weight buffering=single", 0.1 },
	{ "edge-1mb", "gemv", "m=8 n=512 k=1024 weights=int4 tile_n=256 tile_k=256 buffering=single", 0.1 },
	{ "edge-1mb", "gemv", "m=8 n=512 k=1024 weights=int4 tile_n=128 tile_k=512", 0.03 },
	{ "tiny-256k", "gemv", "m=1 n=512 k=1024 weights=int4", 0.03 },
	{ "edge-1mb", "decode_attention_paged", "batch=2 seq=512 heads=8 kv_heads=8", 0.05 },
	{ "edge-2mb", "decode_attention_paged", "batch=2 seq=1024 heads=8 kv_heads=2", 0.1 },
	{ "edge-2mb", "prefill_attention_paged", "batch=1 seq=512 chunk=128 heads=4 kv_heads=1", 0.05 },
	{ "edge-1mb", "rmsnorm", "rows=256 cols=1024 tile_rows=64 buffering=single", 0.1 },
	{ "edge-1mb", "residual_add", "rows=512 cols=768 tile_rows=16 buffering=single", 0.1 },
	{ "edge-1mb", "residual_add", "rows=512 cols=768 tile_rows=16 buffering=triple", 0.03 },
	{ "edge-2mb", "kv_fetch_paged", "seq=1024", 0.1 },
	{ "server", "qk_tiled", "seq=512 heads=2", 0.25 },
};

START_TEST(an_estimate_is_near_what_the_machine_takes)
{
	struct hw hw;
	struct npu_error err = { 0 };
	struct machine_totals totals;
	struct reckoning reckoning;
	ck_assert_msg(config_load(&hw, cases[_i].hw, NULL, 0, &err), "%s", err.text);
	struct npu_program *program = build(&hw, cases[_i].kernel, cases[_i].parameters);
	ck_assert_msg(machine_loop_run(&hw, program, 0, NULL, false, &totals, &err), "%s", err.text);
	ck_assert(reckon(&hw, program, &reckoning));
	double cycles = (double)totals.cycles;
	ck_assert_msg(reckoning.least <= cycles && reckoning.least > 0, "%s %s on %s takes %.0f, at least %.0f", cases[_i].kernel,
		      cases[_i].parameters, cases[_i].hw, cycles, reckoning.least);
	ck_assert_msg(fabs(reckoning.cycles / cycles - 1) <= cases[_i].within, "%s %s on %s takes %.0f, reckoned %.0f (%+.1f %%)",
		      cases[_i].kernel, cases[_i].parameters, cases[_i].hw, cycles, reckoning.cycles,
		      100 * (reckoning.cycles / cycles - 1));
	npu_program_free(program);
}
END_TEST

START_TEST(nothing_takes_the_launch)
{
	struct hw hw;
	struct npu_error err = { 0 };
	struct reckoning reckoning;
	ck_assert(config_load(&hw, "edge-1mb", NULL, 0, &err));
	struct npu_program *program = build(&hw, "gemm", "m=0");
	ck_assert(reckon(&hw, program, &reckoning));
	ck_assert_double_eq(reckoning.cycles, 0);
	npu_program_free(program);
}
END_TEST

/* int4 weights load four rows of PEs a beat. Stored 64 bytes apart, each 16 bytes long, they lie in words 0, 2, 4 and 6 of a group of four
 * banks: in two banks, twice in each, so each of the 32 / 4 beats is denied once. Dense, four rows are two words of two banks. */
START_TEST(a_product_that_meets_itself_in_a_bank_is_told_so_and_one_that_does_not_is_not)
{
	struct hw hw;
	struct npu_error err = { 0 };
	ck_assert(config_load(&hw, "edge-1mb", NULL, 0, &err));
	const uint32_t group = 256 * 1024;
	struct npu_insn insns[2] = { { .op = NPU_OP_MATMUL }, { .op = NPU_OP_MATMUL } };
	insns[0].matmul = (struct npu_matmul){ .dst = NPU_ACC_BIT, .a = 0, .b = group, .scales = 2 * group, .m = 1, .n = 32, .k = 32,
					       .a_type = NPU_FP16, .b_type = NPU_INT4, .b_stride = 64, .group = 32 };
	insns[1] = insns[0];
	insns[1].matmul.b_stride = 0;
	struct npu_program program = { .insns = insns, .ninsns = 2 };
	struct alone *alone = alone_new(&hw, &program);
	ck_assert_ptr_nonnull(alone);
	uint64_t denied = alone_denied(alone, 0);
	ck_assert_uint_eq(denied, 32 / 4);
	ck_assert_uint_eq(alone_denied(alone, 1), 0);
	ck_assert_uint_eq(alone_denied(alone, 0), denied);
	alone_free(alone);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sim.reckon");
	TCase *tcase = tcase_create("estimates");
	tcase_add_loop_test(tcase, an_estimate_is_near_what_the_machine_takes, 0, sizeof cases / sizeof cases[0]);
	tcase_add_test(tcase, nothing_takes_the_launch);
	tcase_add_test(tcase, a_product_that_meets_itself_in_a_bank_is_told_so_and_one_that_does_not_is_not);
	suite_add_tcase(suite, tcase);
	return npu_suite_run(suite);
}
