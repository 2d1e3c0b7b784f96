/* SPDX-License-Identifier: Apache-2.0 */
/* Products of any shape on the arrays whose RTL was measured, at other sizes than those: cycles as PE by PE where that is
 * quick, and as mechanisms say where it is not. */
#include "models/matrix.h"
#include "sim/config.h"
#include "tests/support/pe_array.h"
#include "tests/support/suite.h"

#include <stdio.h>

static const struct {
	const char *name;
	const char *dataflow;
} designs[] = { { "gemmini16", "ws" }, { "gemmini16", "os" }, { "axis-sa", "os" }, { "tiny-tpu", "ws" } };
enum { DESIGNS = sizeof designs / sizeof *designs };

static const unsigned sizes[][2] = { { 2, 2 }, { 4, 4 }, { 8, 8 }, { 16, 16 }, { 32, 32 }, { 8, 4 }, { 3, 7 }, { 16, 64 } };
enum { SIZES = sizeof sizes / sizeof *sizes };

static struct hw array_of(int design, unsigned rows, unsigned cols)
{
	struct hw hw;
	struct npu_error err;
	char r[32], c[32], d[32];
	snprintf(r, sizeof r, "matrix.rows=%u", rows);
	snprintf(c, sizeof c, "matrix.cols=%u", cols);
	snprintf(d, sizeof d, "matrix.dataflow=%s", designs[design].dataflow);
	const char *sets[] = { r, c, d };
	ck_assert_msg(config_load(&hw, designs[design].name, sets, 3, &err), "%s", err.text);
	return hw;
}

static uint64_t cycles(const struct hw *hw, uint64_t m, uint64_t k, uint64_t n)
{
	struct npu_insn insn = npu_insn_initial(NPU_OP_MATMUL);
	insn.matmul.m = (uint32_t)m;
	insn.matmul.k = (uint32_t)k;
	insn.matmul.n = (uint32_t)n;
	insn.matmul.a_type = insn.matmul.b_type = NPU_INT8;
	return matrix_alone_cycles(hw, &insn);
}

/* The same from operands that move through registers. */
static uint64_t pe_by_pe(const struct hw *hw, uint64_t m, uint64_t k, uint64_t n)
{
	bool os = hw->matrix.dataflow == HW_DATAFLOW_OS, across = os && hw->matrix.shift_out == HW_SHIFT_ACROSS;
	uint64_t rows = hw->matrix.rows, cols = hw->matrix.cols;
	struct pe_array array = { .rows = (unsigned)(across ? cols : rows),
				  .cols = (unsigned)(across ? rows : cols),
				  .output_stationary = os,
				  .overlapped = hw->matrix.weight_load == HW_LOAD_OVERLAPPED,
				  .last_block = hw->matrix.preload == HW_PRELOAD_LAST_BLOCK,
				  .input_registers = (unsigned)hw->matrix.input_registers,
				  .output_registers = (unsigned)hw->matrix.output_registers };
	struct pe_product p = { .pass = (unsigned)(across ? n : m), .stay = (unsigned)(across ? m : n), .k = (unsigned)k,
				.depth = 1 };
	uint64_t step = (rows + hw_activation_port(hw) - 1) / hw_activation_port(hw);
	uint64_t b_step = (cols + hw_weight_port(hw) - 1) / hw_weight_port(hw);
	p.row_beats = (unsigned)(os && b_step > step ? b_step : step);
	if (!os) {
		uint64_t load = (rows * cols + hw_weight_port(hw) - 1) / hw_weight_port(hw), by_rows = 0;
		if (hw->matrix.load_rows)
			by_rows = (rows + hw->matrix.load_rows - 1) / hw->matrix.load_rows;
		p.load = (unsigned)(load > by_rows ? load : by_rows);
	}
	const char *wrong = pe_array_run(&array, &p, 1);
	ck_assert_msg(!wrong, "%s", wrong ? wrong : "");
	return p.end;
}

START_TEST(small_products_take_what_the_design_takes_pe_by_pe)
{
	static const unsigned edges[] = { 1, 2, 5, 9, 17, 33 };
	enum { EDGES = sizeof edges / sizeof *edges };
	for (unsigned s = 0; s < SIZES; s++) {
		struct hw hw = array_of(_i, sizes[s][0], sizes[s][1]);
		if (sizes[s][0] > PE_ROWS_MAX || sizes[s][1] > PE_COLS_MAX)
			continue;
		/* Blocks of rows in the reference are those of its own side. */
		if (hw.matrix.preload == HW_PRELOAD_LAST_BLOCK && hw.matrix.shift_out == HW_SHIFT_ACROSS &&
		    sizes[s][0] != sizes[s][1])
			continue;
		for (unsigned c = 0; c < EDGES * EDGES * EDGES; c += 1 + c % 3) {
			uint64_t m = edges[c % EDGES], k = edges[c / EDGES % EDGES], n = edges[c / EDGES / EDGES];
			ck_assert_msg(cycles(&hw, m, k, n) == pe_by_pe(&hw, m, k, n),
				      "%s %s %ux%u, %llu x %llu x %llu: %llu cycles, PE by PE %llu", designs[_i].name,
				      designs[_i].dataflow, sizes[s][0], sizes[s][1], (unsigned long long)m,
				      (unsigned long long)k, (unsigned long long)n,
				      (unsigned long long)cycles(&hw, m, k, n), (unsigned long long)pe_by_pe(&hw, m, k, n));
		}
	}
}
END_TEST

START_TEST(no_dimension_makes_a_product_cheaper_and_none_is_free)
{
	for (unsigned s = 0; s < SIZES; s++) {
		struct hw hw = array_of(_i, sizes[s][0], sizes[s][1]);
		uint64_t rows = sizes[s][0], cols = sizes[s][1];
		for (uint64_t x = 1; x < 300; x++)
			for (uint64_t y = 1; y <= 65; y += 16) {
				ck_assert_uint_ge(cycles(&hw, x + 1, y, y), cycles(&hw, x, y, y));
				ck_assert_uint_ge(cycles(&hw, y, x + 1, y), cycles(&hw, y, x, y));
				ck_assert_uint_ge(cycles(&hw, y, y, x + 1), cycles(&hw, y, y, x));
				/* Never above the peak, and an operand's way through all PEs at the least. */
				ck_assert_uint_ge(cycles(&hw, x, y, y) * rows * cols, x * y * y);
				ck_assert_uint_ge(cycles(&hw, x, y, y), rows + cols - 1);
			}
	}
}
END_TEST

/* Once a pipeline is full, one more fold costs what any other does, however many there are: along the last dimension of
 * folds a whole number of tiles more is that number of periods. */
START_TEST(a_fold_more_costs_the_same_at_any_length)
{
	for (unsigned s = 0; s < SIZES; s++) {
		struct hw hw = array_of(_i, sizes[s][0], sizes[s][1]);
		uint64_t rows = sizes[s][0], cols = sizes[s][1];
		bool os = hw.matrix.dataflow == HW_DATAFLOW_OS;
		/* Of OS more rows than the array's are tiles of their own. */
		for (uint64_t other = 1; other <= (os ? rows : 129); other += os ? 1 : 32) {
			uint64_t fold = os ? cycles(&hw, other, 64, 2 * cols) - cycles(&hw, other, 64, cols)
					   : cycles(&hw, other, 2 * rows, cols) - cycles(&hw, other, rows, cols);
			for (uint64_t folds = 2; folds < 1 << 14; folds = folds * 3 + 1) {
				uint64_t one = os ? cycles(&hw, other, 64, cols) : cycles(&hw, other, rows, cols);
				uint64_t all = os ? cycles(&hw, other, 64, folds * cols)
						  : cycles(&hw, other, folds * rows, cols);
				ck_assert_uint_eq(all, one + (folds - 1) * fold);
			}
		}
		/* A K of 2^19 on OS is one fold: a step each. */
		if (os)
			ck_assert_uint_eq(cycles(&hw, 1, 1 << 19, 1) - cycles(&hw, 1, 1 << 18, 1),
					  (uint64_t)(1 << 18) * (cycles(&hw, 1, 2049, 1) - cycles(&hw, 1, 2048, 1)));
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sim.array_shapes");
	TCase *t = tcase_create("shapes");
	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, small_products_take_what_the_design_takes_pe_by_pe, 0, DESIGNS);
	tcase_add_loop_test(t, no_dimension_makes_a_product_cheaper_and_none_is_free, 0, DESIGNS);
	tcase_add_loop_test(t, a_fold_more_costs_the_same_at_any_length, 0, DESIGNS);
	suite_add_tcase(suite, t);
	return npu_suite_run(suite);
}
