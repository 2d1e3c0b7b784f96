/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes that simulators of systolic arrays are known for, one test a kind, and the mechanisms of arrays in RTL. */
#include "tests/models/matrix_run.h"

START_TEST(the_drain_of_the_last_fold_is_part_of_every_product)
{
	/* One fold on 16 x 8 with nothing to overlap: what is left of load and stream is the skew, 16 + 8 - 2, and of OS the 16
	 * rows of sums on their way down. */
	struct hw hw = array_of(16);
	hw.matrix.cols = 8;
	for (unsigned load = 0; load < 2; load++) {
		hw.matrix.weight_load = load;
		struct npu_insn insn = product(100, 8, 16);
		hw.matrix.dataflow = HW_DATAFLOW_WS;
		ck_assert_uint_eq(run(&hw, &insn, 1, NULL, 0, NULL).end[0], 16 + 100 + (16 + 8 - 2));
		insn = product(8, 100, 16);
		hw.matrix.dataflow = HW_DATAFLOW_IS;
		ck_assert_uint_eq(run(&hw, &insn, 1, NULL, 0, NULL).end[0], 16 + 100 + (16 + 8 - 2));
		insn = product(16, 8, 100);
		hw.matrix.dataflow = HW_DATAFLOW_OS;
		ck_assert_uint_eq(run(&hw, &insn, 1, NULL, 0, NULL).end[0], 100 + (16 + 8 - 2) + 16);
	}
}
END_TEST

START_TEST(two_by_two_by_two_takes_six_cycles_not_the_number_of_the_last_one)
{
	/* WS on 2 x 2: weights enter in cycles 0 and 1, rows in 2 and 3, the last sum is made in PE (1, 1) in cycle 5: six
	 * cycles. OS: pairs enter in 0 and 1, meet there in 3, sums leave in 4 and 5. */
	struct hw hw = array_of(2);
	struct npu_insn insn = product(2, 2, 2);
	for (unsigned dataflow = 0; dataflow < 3; dataflow++)
		for (unsigned load = 0; load < 2; load++) {
			hw.matrix.dataflow = dataflow;
			hw.matrix.weight_load = load;
			struct told told = run(&hw, &insn, 1, NULL, 0, NULL);
			ck_assert_uint_eq(told.end[0], 6);
			ck_assert_uint_eq(told.cycles[NPU_STATE_BUSY], 6);
			ck_assert_uint_eq(matrix_plan(&hw, &insn).macs, 8);
		}
}
END_TEST

START_TEST(edges_are_not_moved_as_full_arrays)
{
	/* m = 40, n = 33, k = 5 on 32 x 32: the second tile of n is one column, k fills 5 rows. Bytes are the operands': A once
	 * a tile of n, B once, D once. */
	struct npu_insn insn = product(40, 33, 5);
	for (unsigned ragged = 0; ragged < 2; ragged++) {
		struct hw hw = array_of(32);
		hw.matrix.ragged = ragged;
		struct memory *memory = memory_new(&hw, false);
		run(&hw, &insn, 1, NULL, 0, memory);
		ck_assert_uint_eq(memory_bytes(memory, NPU_ENGINE_MATRIX, false), 2 * 40 * 5 * 2 + 5 * 33 * 2);
		ck_assert_uint_eq(memory_bytes(memory, NPU_ENGINE_MATRIX, true), 40 * 33 * 4);
		memory_free(memory);
	}
	/* Used: as on 5 x 32, 5 rows of 64 bytes load in 5 cycles: 5 + 2 x 40 + 5 + 32 - 2. Full: 32 + 2 x 40 + 62. */
	struct hw hw = array_of(32);
	ck_assert_uint_eq(matrix_alone_cycles(&hw, &insn), 32 + 80 + 62);
	hw.matrix.ragged = HW_RAGGED_USED;
	ck_assert_uint_eq(matrix_alone_cycles(&hw, &insn), 5 + 80 + 35);
}
END_TEST

START_TEST(one_row_is_not_as_busy_as_256)
{
	/* 32 x 32: load 32, stream 1 or 256, latency 62: 95 and 350 cycles for 1,024 and 262,144 MACs, 1.1 and 73.1 % of
	 * 1,024 a cycle. A program of single rows waits for its weights: 32 cycles a product. */
	struct hw hw = array_of(32);
	struct npu_insn one[4], many[] = { product(256, 32, 32) };
	for (unsigned i = 0; i < 4; i++)
		one[i] = product(1, 32, 32);
	struct told told = run(&hw, one, 1, NULL, 0, NULL);
	ck_assert_uint_eq(told.cycles[NPU_STATE_BUSY], 95);
	ck_assert_uint_eq(matrix_plan(&hw, one).macs, 1024);
	told = run(&hw, many, 1, NULL, 0, NULL);
	ck_assert_uint_eq(told.cycles[NPU_STATE_BUSY], 350);
	ck_assert_uint_eq(matrix_plan(&hw, many).macs, 262144);
	ck_assert_uint_eq(run(&hw, one, 4, NULL, 0, NULL).end[3], 4 * 32 + 1 + 62);
}
END_TEST

START_TEST(element_size_counts_in_bytes_and_in_cycles)
{
	/* 64 x 32 x 32: A 2,048 and B 1,024 elements. fp16 moves twice what int8 does, int8 twice what int4 weights do; fp32 or
	 * int32 results stay as they are. A tile of B loads in 32, 16, 8 cycles. */
	static const struct {
		unsigned a, b;
		uint64_t a_bytes, b_bytes, cycles;
	} types[] = {
		{ NPU_FP16, NPU_FP16, 4096, 2048, 32 + 64 + 62 },
		{ NPU_INT8, NPU_INT8, 2048, 1024, 16 + 64 + 62 },
		{ NPU_INT8, NPU_INT4, 2048, 512, 8 + 64 + 62 },
		{ NPU_FP16, NPU_INT4, 4096, 512, 8 + 64 + 62 },
	};
	struct hw hw = array_of(32);
	for (unsigned i = 0; i < sizeof types / sizeof *types; i++) {
		struct npu_insn insn = product(64, 32, 32);
		insn.matmul.a_type = types[i].a;
		insn.matmul.b_type = types[i].b;
		struct memory *memory = memory_new(&hw, false);
		ck_assert_uint_eq(run(&hw, &insn, 1, NULL, 0, memory).end[0], types[i].cycles);
		ck_assert_uint_eq(memory_bytes(memory, NPU_ENGINE_MATRIX, false), types[i].a_bytes + types[i].b_bytes);
		ck_assert_uint_eq(memory_bytes(memory, NPU_ENGINE_MATRIX, true), 64 * 32 * 4);
		memory_free(memory);
	}
	/* A narrow activation port too: 64 bytes of fp16 through 16 a cycle are 4 cycles a row, 32 of int8 are 2. */
	hw.matrix.activation_port = 16;
	struct npu_insn insn = product(64, 32, 32);
	ck_assert_uint_eq(matrix_plan(&hw, &insn).stream, 256);
	insn.matmul.a_type = insn.matmul.b_type = NPU_INT8;
	ck_assert_uint_eq(matrix_plan(&hw, &insn).stream, 128);
}
END_TEST

/* ---- mechanisms of arrays in RTL ---- */

START_TEST(a_tile_that_loads_beside_the_last_block_hides_behind_that_block_only)
{
	/* 16 x 16, 33 rows: two blocks of 16, then one row beside which 16 cycles of load begin: 48 a fold, and 33 with preload
	 * from the first row on. Two folds: 16 + 48 + 33 + 30. */
	struct hw hw = array_of(16);
	struct npu_insn insn = product(33, 32, 16);
	ck_assert_uint_eq(matrix_alone_cycles(&hw, &insn), 16 + 33 + 33 + 30);
	hw.matrix.preload = HW_PRELOAD_LAST_BLOCK;
	ck_assert_uint_eq(matrix_alone_cycles(&hw, &insn), 16 + 48 + 33 + 30);
	/* The next product is accepted, and loads, beside the last block too: at 16 + 48 + 32. */
	struct npu_insn insns[] = { insn, product(5, 16, 16) };
	struct told told = run(&hw, insns, 2, NULL, 0, NULL);
	ck_assert_uint_eq(told.accepted[1], 16 + 48 + 32);
	ck_assert_uint_eq(told.begin[1], 16 + 48 + 32 + 16);
}
END_TEST

START_TEST(registers_delay_results_and_no_throughput)
{
	struct hw hw = array_of(16);
	struct npu_insn insns[] = { product(64, 64, 64), product(64, 16, 16) };
	struct told before = run(&hw, insns, 2, NULL, 0, NULL);
	hw.matrix.input_registers = 2;
	hw.matrix.output_registers = 1;
	struct told told = run(&hw, insns, 2, NULL, 0, NULL);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_uint_eq(told.begin[i], before.begin[i]);
		ck_assert_uint_eq(told.end[i], before.end[i] + 3);
	}
	/* Serial: each of 16 folds waits for the last result of the one before. */
	hw.matrix.weight_load = HW_LOAD_SERIAL;
	ck_assert_uint_eq(matrix_alone_cycles(&hw, insns), 16 * (16 + 64 + 30 + 3));
}
END_TEST

START_TEST(weights_that_move_a_row_a_cycle_load_in_as_many_cycles_as_there_are_rows)
{
	/* int8: the port brings two rows a cycle, the array takes one; two a cycle are enough. */
	struct hw hw = array_of(32);
	struct npu_insn insn = product(64, 32, 32);
	insn.matmul.a_type = insn.matmul.b_type = NPU_INT8;
	ck_assert_uint_eq(matrix_plan(&hw, &insn).load, 16);
	hw.matrix.load_rows = 1;
	ck_assert_uint_eq(matrix_plan(&hw, &insn).load, 32);
	hw.matrix.load_rows = 2;
	ck_assert_uint_eq(matrix_plan(&hw, &insn).load, 16);
}
END_TEST

START_TEST(sums_that_leave_across_take_a_cycle_a_column)
{
	/* 8 x 32, K = 100: skew 38, then 8 rows down or 32 columns across. */
	struct hw hw = array_of(8);
	hw.matrix.cols = 32;
	hw.matrix.dataflow = HW_DATAFLOW_OS;
	struct npu_insn insn = product(8, 32, 100);
	ck_assert_uint_eq(matrix_alone_cycles(&hw, &insn), 100 + 38 + 8);
	hw.matrix.shift_out = HW_SHIFT_ACROSS;
	ck_assert_uint_eq(matrix_alone_cycles(&hw, &insn), 100 + 38 + 32);
	/* Short folds wait for them. */
	insn = product(8, 64, 10);
	ck_assert_uint_eq(matrix_alone_cycles(&hw, &insn), 32 + 10 + 38 + 32);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("matrix faults");
	TCase *mistakes = tcase_create("known mistakes");
	tcase_add_test(mistakes, the_drain_of_the_last_fold_is_part_of_every_product);
	tcase_add_test(mistakes, two_by_two_by_two_takes_six_cycles_not_the_number_of_the_last_one);
	tcase_add_test(mistakes, edges_are_not_moved_as_full_arrays);
	tcase_add_test(mistakes, one_row_is_not_as_busy_as_256);
	tcase_add_test(mistakes, element_size_counts_in_bytes_and_in_cycles);
	suite_add_tcase(suite, mistakes);
	TCase *rtl = tcase_create("RTL");
	tcase_add_test(rtl, a_tile_that_loads_beside_the_last_block_hides_behind_that_block_only);
	tcase_add_test(rtl, registers_delay_results_and_no_throughput);
	tcase_add_test(rtl, weights_that_move_a_row_a_cycle_load_in_as_many_cycles_as_there_are_rows);
	tcase_add_test(rtl, sums_that_leave_across_take_a_cycle_a_column);
	suite_add_tcase(suite, rtl);
	return npu_suite_run(suite);
}
