/* SPDX-License-Identifier: Apache-2.0 */
/* The array: counts of one product, hand-off between products, against an array that is simulated PE by PE. */
#include "tests/models/matrix_run.h"
#include "tests/support/pe_array.h"

#include <string.h>

/* ---- one product ---- */

struct count {
	uint32_t dataflow, load, m, n, k;
	uint64_t dim, cycles;
	const char *why;
};

static const struct count counts[] = {
	/* One fold, serial: M + 2R + C - 2, N + 2R + C - 2, K + 2R + C - 2. */
	{ HW_DATAFLOW_WS, HW_LOAD_SERIAL, 100, 32, 32, 32, 100 + 64 + 32 - 2, "ws, one fold" },
	{ HW_DATAFLOW_IS, HW_LOAD_SERIAL, 32, 100, 32, 32, 100 + 64 + 32 - 2, "is, one fold" },
	{ HW_DATAFLOW_OS, HW_LOAD_SERIAL, 32, 32, 100, 32, 100 + 64 + 32 - 2, "os, one fold" },
	{ HW_DATAFLOW_OS, HW_LOAD_OVERLAPPED, 32, 32, 100, 32, 100 + 64 + 32 - 2, "os, one fold, nothing to overlap" },
	/* 3 tiles of n x 2 tiles of k (ragged ones cost as much): 6 folds. */
	{ HW_DATAFLOW_WS, HW_LOAD_SERIAL, 10, 17, 9, 8, 6 * (10 + 16 + 8 - 2), "ws, six folds" },
	/* 16 x 16 folds of 512 rows, one load of 32 before, one drain of 62 behind. */
	{ HW_DATAFLOW_WS, HW_LOAD_OVERLAPPED, 512, 512, 512, 32, 32 + 131072 + 62, "512 x 512 x 512 fills the array" },
	/* 4 rows stream in 4 cycles but a tile loads in 32: 32 + 3 x 32 + 4 + 62. */
	{ HW_DATAFLOW_WS, HW_LOAD_OVERLAPPED, 4, 64, 64, 32, 32 + 3 * 32 + 4 + 62, "few rows wait for weights" },
	/* RTL: tiny-tpu sysArr 16 x 16, loads then computes, M = 128: 174. */
	{ HW_DATAFLOW_WS, HW_LOAD_SERIAL, 128, 16, 16, 16, 174, "tiny-tpu 16 x 16" },
	{ HW_DATAFLOW_WS, HW_LOAD_SERIAL, 2, 4, 4, 4, 12, "tiny-tpu 4 x 4" },
	/* 8 folds of K = 32 on 4 x 4 stream back to back: 7 x 32 + 32 + 8 + 4 - 2. */
	{ HW_DATAFLOW_OS, HW_LOAD_OVERLAPPED, 4, 32, 32, 4, 8 * 32 + 10, "os, sums leave under the next fold" },
	/* K = 4 is shorter than the 16 cycles in which sums leave. */
	{ HW_DATAFLOW_OS, HW_LOAD_OVERLAPPED, 16, 48, 4, 16, 2 * 16 + 4 + 46, "os, folds wait for sums to leave" },
};

START_TEST(one_product_takes_what_the_formula_says)
{
	const struct count *c = &counts[_i];
	struct hw hw = array_of(c->dim);
	hw.matrix.dataflow = c->dataflow;
	hw.matrix.weight_load = c->load;
	struct npu_insn insn = product(c->m, c->n, c->k);
	ck_assert_msg(matrix_alone_cycles(&hw, &insn) == c->cycles, "%s: %llu, not %llu", c->why,
		      (unsigned long long)matrix_alone_cycles(&hw, &insn), (unsigned long long)c->cycles);
}
END_TEST

START_TEST(a_tile_of_narrow_weights_loads_several_rows_a_cycle)
{
	/* 32 x 32 at 64 bytes a cycle: fp16 32 cycles, int8 16, int4 8. */
	struct hw hw = array_of(32);
	struct npu_insn insn = product(64, 32, 32);
	ck_assert_uint_eq(matrix_plan(&hw, &insn).load, 32);
	insn.matmul.a_type = insn.matmul.b_type = NPU_INT8;
	ck_assert_uint_eq(matrix_plan(&hw, &insn).load, 16);
	insn.matmul.b_type = NPU_INT4;
	ck_assert_uint_eq(matrix_plan(&hw, &insn).load, 8);
}
END_TEST

START_TEST(two_int8_products_a_pe_fold_k_half_as_often)
{
	/* 64 x 64, k = 256: 2 folds of 128 instead of 4; a streamed row is 128 bytes, one beat of 2 x 64 bytes. */
	struct hw hw = array_of(64);
	hw.matrix.int8_macs_per_pe = 2;
	struct npu_insn insn = product(100, 64, 256);
	insn.matmul.a_type = insn.matmul.b_type = NPU_INT8;
	struct matrix_plan plan = matrix_plan(&hw, &insn);
	ck_assert_uint_eq(plan.folds, 2);
	ck_assert_uint_eq(plan.row_beats, 1);
	ck_assert_uint_eq(plan.load, 64);
	ck_assert_uint_eq(hw_macs_per_cycle(&hw, NPU_INT8), 8192);
	ck_assert_uint_eq(hw_macs_per_cycle(&hw, NPU_FP16), 4096);
}
END_TEST

START_TEST(a_narrow_activation_port_slows_every_row)
{
	/* 64 bytes of fp16 through 16 bytes a cycle: 4 beats a row. */
	struct hw hw = array_of(32);
	hw.matrix.activation_port = 16;
	struct npu_insn insn = product(10, 32, 32);
	ck_assert_uint_eq(matrix_alone_cycles(&hw, &insn), 32 + 10 * 4 + 62);
}
END_TEST

START_TEST(tiles_of_k_do_not_mix_scale_groups)
{
	/* Groups of 48 on 32 rows: 32 + 16 in each; k = 100 is 48 + 48 + 4: 2 + 2 + 1 tiles. */
	struct hw hw = array_of(32);
	struct npu_insn insn = product(10, 32, 100);
	insn.matmul.b_type = NPU_INT4;
	insn.matmul.group = 48;
	ck_assert_uint_eq(matrix_plan(&hw, &insn).k_tiles, 5);
	insn.matmul.group = 32;
	ck_assert_uint_eq(matrix_plan(&hw, &insn).k_tiles, 4);
	insn.matmul.group = 128;
	ck_assert_uint_eq(matrix_plan(&hw, &insn).k_tiles, 4);
}
END_TEST

START_TEST(a_transposed_stationary_operand_takes_the_transposer_or_is_refused)
{
	/* Overlapped: `rows` once; serial: once a fold (2 folds here). */
	struct hw hw = array_of(8);
	struct npu_insn straight = product(20, 16, 8), transposed = product(20, 16, 8);
	transposed.matmul.transpose_b = 1;
	ck_assert_uint_eq(matrix_alone_cycles(&hw, &transposed), matrix_alone_cycles(&hw, &straight) + 8);
	hw.matrix.weight_load = HW_LOAD_SERIAL;
	ck_assert_uint_eq(matrix_alone_cycles(&hw, &transposed), matrix_alone_cycles(&hw, &straight) + 16);

	struct npu_error err = { 0 };
	hw.matrix.transposer = false;
	ck_assert(matrix_check(&hw, &straight, &err));
	ck_assert(!matrix_check(&hw, &transposed, &err));
	ck_assert_int_eq(err.code, NPU_ERR_OPERAND);
	ck_assert_ptr_nonnull(strstr(err.text, "must be transposed by the DMA"));
	/* What streams may lie either way. */
	hw.matrix.dataflow = HW_DATAFLOW_IS;
	ck_assert(matrix_check(&hw, &transposed, &err));
	transposed.matmul.transpose_a = 1;
	ck_assert(!matrix_check(&hw, &transposed, &err));
	hw.matrix.dataflow = HW_DATAFLOW_OS;
	ck_assert(matrix_check(&hw, &transposed, &err));
}
END_TEST

START_TEST(ragged_used_costs_as_much_as_an_array_of_that_size)
{
	/* k = 5, n = 3 on 32 x 32: as on 5 x 3: 5 rows of 3 fp16 through 64 bytes a cycle, ceil(30 / 64) = 1. */
	struct hw hw = array_of(32);
	hw.matrix.ragged = HW_RAGGED_USED;
	struct npu_insn insn = product(10, 3, 5);
	ck_assert_uint_eq(matrix_alone_cycles(&hw, &insn), 1 + 10 + 5 + 3 - 2);
	hw.matrix.ragged = HW_RAGGED_FULL;
	ck_assert_uint_eq(matrix_alone_cycles(&hw, &insn), 32 + 10 + 62);
}
END_TEST

/* ---- products one after the other ---- */

START_TEST(a_second_product_loads_while_the_first_streams)
{
	/* Both 128 x 32 x 32 on 32 x 32: load 32, stream 128, preload hidden, stream 128, drain 62. The second is accepted when
	 * the only fold of the first begins to stream. */
	struct hw hw = array_of(32);
	struct npu_insn insns[] = { product(128, 32, 32), product(128, 32, 32) };
	struct told told = run(&hw, insns, 2, NULL, 0, NULL);
	ck_assert_uint_eq(told.accepted[1], 32);
	ck_assert_uint_eq(told.begin[1], 32 + 128);
	ck_assert_uint_eq(told.end[0], 32 + 128 + 62);
	ck_assert_uint_eq(told.end[1], 32 + 128 + 128 + 62);
	ck_assert_uint_eq(told.cycles[NPU_STATE_BUSY], told.end[1]);
}
END_TEST

START_TEST(results_of_a_small_product_wait_fold_by_fold_for_those_of_a_large_one)
{
	/* 8 x 8, ragged=used. P, 8 x 8 x 8, loads in 0 .. 8, streams in 8 .. 16 and writes in 22 .. 30. Q, one row of 3 folds on
	 * 8 x 4, streams at 16, 20 and 24 (a load of 4 each) and has crossed the array 10 later: at 26, 30 and 34. Its results
	 * leave in 30, 31 and 34: the last one waits for nobody. */
	struct hw hw = array_of(8);
	hw.matrix.ragged = HW_RAGGED_USED;
	struct npu_insn insns[] = { product(8, 8, 8), product(1, 4, 24) };
	struct told told = run(&hw, insns, 2, NULL, 0, NULL);
	ck_assert_uint_eq(told.end[0], 30);
	ck_assert_uint_eq(told.begin[1], 16);
	ck_assert_uint_eq(told.end[1], 35);
	/* Of one fold fewer the last is the late one: 31, and it has left at 32. */
	insns[1] = product(1, 4, 16);
	ck_assert_uint_eq(run(&hw, insns, 2, NULL, 0, NULL).end[1], 32);
}
END_TEST

START_TEST(a_late_second_product_exposes_what_is_left_of_its_load)
{
	/* Ready at 140, 20 cycles before the first has streamed: 12 cycles of load are left at 160. */
	struct hw hw = array_of(32);
	struct npu_insn insns[] = { product(128, 32, 32), product(128, 32, 32) };
	struct told told = run(&hw, insns, 2, (const uint64_t[]){ 0, 140 }, 0, NULL);
	ck_assert_uint_eq(told.begin[1], 172);
}
END_TEST

START_TEST(transposer_cycles_are_engine_latency_where_nothing_else_moves)
{
	/* 32 exposed before the first product; the second one's are hidden under its stream. */
	struct hw hw = array_of(32);
	struct npu_insn insns[] = { product(128, 32, 32), product(128, 32, 32) };
	insns[0].matmul.transpose_b = insns[1].matmul.transpose_b = 1;
	struct told told = run(&hw, insns, 2, NULL, 0, NULL);
	ck_assert_uint_eq(told.cycles[NPU_STATE_ENGINE_LATENCY], 32);
	ck_assert_uint_eq(told.end[1], 32 + 32 + 128 + 128 + 62);
	hw.matrix.weight_load = HW_LOAD_SERIAL;
	told = run(&hw, insns, 2, NULL, 0, NULL);
	ck_assert_uint_eq(told.cycles[NPU_STATE_ENGINE_LATENCY], 64);
	ck_assert_uint_eq(told.end[1], 2 * (32 + 32 + 128 + 62));
}
END_TEST

START_TEST(an_ideal_array_takes_macs_over_peak)
{
	/* 10 x 33 x 33 = 10,890 MACs at 1,024: 11 cycles. */
	struct hw hw = array_of(32);
	struct npu_insn insns[] = { product(10, 33, 33), product(10, 33, 33) };
	struct told told = run(&hw, insns, 2, NULL, MACHINE_IDEAL_MATRIX, NULL);
	ck_assert_uint_eq(told.end[0], 11);
	ck_assert_uint_eq(told.end[1], 22);
}
END_TEST

START_TEST(operands_in_one_group_meet_in_its_banks)
{
	/* A and B in group 0, rows of both two words in banks 0 and 1: each of the 32 beats in which fold 2 loads while fold 1
	 * streams asks these banks twice, so it takes 2 cycles. Fold 1's own load and the rest of the stream do not. */
	struct hw hw = array_of(32);
	struct npu_insn insn = product(128, 32, 64);
	insn.matmul.b = 128 * KIB;
	insn.matmul.b_stride = 128;
	struct memory *memory = memory_new(&hw, false);
	struct told told = run(&hw, &insn, 1, NULL, 0, memory);
	ck_assert_uint_eq(told.cycles[NPU_STATE_SRAM_CONFLICT], 32);
	ck_assert_uint_eq(told.end[0], 32 + 2 * 128 + 62 + 32);
	ck_assert_uint_eq(memory_bytes(memory, NPU_ENGINE_MATRIX, false), 128 * 64 * 2 + 64 * 32 * 2);
	/* Two k tiles write, the second one reads what the first wrote. */
	ck_assert_uint_eq(memory_bytes(memory, NPU_ENGINE_MATRIX, true), 3 * 128 * 32 * 4);
	memory_free(memory);
}
END_TEST

START_TEST(operands_in_different_groups_do_not)
{
	struct hw hw = array_of(32);
	struct npu_insn insns[] = { product(128, 64, 64), product(128, 64, 64) };
	struct memory *memory = memory_new(&hw, false);
	struct told told = run(&hw, insns, 2, NULL, 0, memory);
	ck_assert_uint_eq(told.cycles[NPU_STATE_SRAM_CONFLICT] + told.cycles[NPU_STATE_ACCUM_CONFLICT], 0);
	memory_free(memory);
}
END_TEST

START_TEST(a_word_that_two_rows_share_is_read_once)
{
	/* 128 x 128, two int8 products a PE: one fold. Load 256 x 128 B / 256 B = 128, stream 127, latency 254. B's 127 rows of
	 * 65 bytes lie densely: 129 words of 64 bytes in the 64 beats of 127 rows, two or three in 8 banks, which never meet. */
	struct hw hw = array_of(128);
	hw.matrix.int8_macs_per_pe = 2;
	hw.sram = (struct hw_sram){ .size = 16384 * KIB, .banks = 64, .groups = 8, .bank_bytes = 64 };
	struct npu_insn insn = product(127, 65, 127);
	insn.matmul.b = 2048 * KIB;
	insn.matmul.a_type = insn.matmul.b_type = NPU_INT8;
	struct memory *memory = memory_new(&hw, false);
	ck_assert_uint_eq(run(&hw, &insn, 1, NULL, 0, memory).end[0], 128 + 127 + 254);
	memory_free(memory);
}
END_TEST

START_TEST(rows_that_are_no_whole_words_take_a_word_more_where_they_lie_across)
{
	/* Words of 16 bytes, four banks a group. B.T has 31 rows of 188 bytes: 32 k of a row, 64 bytes, begin at 0, 12, 8, 4, 0,
	 * ... of a word and take 5 words but for every fourth row, which takes 4. Three such rows in four are five accesses in
	 * four banks, two cycles: 23 more cycles in each of the first two folds. The third one has 30 k, 60 bytes: 4 words from
	 * 0 or 4, 5 from 8 or 12: 16 more. Transposer 32, load 32, two periods of 32, stream 1, latency 62. */
	struct hw hw = array_of(32);
	hw.sram.bank_bytes = 16;
	struct npu_insn insn = product(1, 31, 94);
	insn.matmul.transpose_b = 1;
	struct memory *memory = memory_new(&hw, false);
	struct told told = run(&hw, &insn, 1, NULL, 0, memory);
	ck_assert_uint_eq(told.cycles[NPU_STATE_SRAM_CONFLICT], 23 + 23 + 16);
	ck_assert_uint_eq(told.end[0], 32 + 32 + 2 * 32 + 1 + 62 + 62);
	memory_free(memory);
}
END_TEST

START_TEST(columns_of_narrow_rows_read_a_word_of_several_rows_once)
{
	/* OS 8 x 8: A and B.T stream across their rows. 8 rows of 4 bytes are one word of 32, read once and not 8 times, so
	 * nothing is denied: K + 2 R + C - 2. */
	struct hw hw = array_of(8);
	hw.matrix.dataflow = HW_DATAFLOW_OS;
	struct npu_insn insn = product(8, 8, 2);
	insn.matmul.transpose_b = 1;
	struct memory *memory = memory_new(&hw, false);
	struct told told = run(&hw, &insn, 1, NULL, 0, memory);
	ck_assert_uint_eq(told.cycles[NPU_STATE_SRAM_CONFLICT], 0);
	ck_assert_uint_eq(told.end[0], 2 + 16 + 8 - 2);
	memory_free(memory);
}
END_TEST

/* ---- against the array PE by PE ---- */

static uint64_t seed;
static uint32_t random_below(uint32_t n)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 33) % n;
}

static uint64_t ceil_div(uint64_t n, uint64_t d) { return (n + d - 1) / d; }

static void random_case(uint64_t number)
{
	seed = number;
	struct hw hw = array_of(8);
	hw.matrix.rows = 1 + random_below(9);
	hw.matrix.cols = 1 + random_below(9);
	hw.matrix.dataflow = random_below(3);
	hw.matrix.weight_load = random_below(2);
	hw.matrix.int8_macs_per_pe = 1 + random_below(2);
	hw.matrix.activation_port = random_below(2) ? 0 : 1 + random_below(40);
	hw.matrix.weight_port = random_below(2) ? 0 : 1 + random_below(40);
	bool os = hw.matrix.dataflow == HW_DATAFLOW_OS, is = hw.matrix.dataflow == HW_DATAFLOW_IS;
	hw.matrix.preload = random_below(3) == 0;
	hw.matrix.load_rows = random_below(3) ? 0 : 1 + random_below(3);
	hw.matrix.shift_out = random_below(2);
	hw.matrix.input_registers = random_below(2) ? 0 : random_below(5);
	hw.matrix.output_registers = random_below(2) ? 0 : random_below(5);
	/* Sums that leave through the rows: the same array lying on its side. Blocks are of `rows` there and here. */
	bool across = os && hw.matrix.shift_out == HW_SHIFT_ACROSS;
	if (across)
		hw.matrix.cols = hw.matrix.preload ? hw.matrix.rows : hw.matrix.cols;
	struct pe_array array = { .rows = (unsigned)(across ? hw.matrix.cols : hw.matrix.rows),
				  .cols = (unsigned)(across ? hw.matrix.rows : hw.matrix.cols),
				  .output_stationary = os,
				  .overlapped = hw.matrix.weight_load == HW_LOAD_OVERLAPPED,
				  .last_block = hw.matrix.preload == HW_PRELOAD_LAST_BLOCK,
				  .input_registers = (unsigned)hw.matrix.input_registers,
				  .output_registers = (unsigned)hw.matrix.output_registers };

	enum { N = 5 };
	unsigned n = 1 + random_below(N);
	struct npu_insn insns[N];
	struct pe_product pe[N] = { 0 };
	uint64_t ready[N] = { 0 }, at = 0;
	for (unsigned i = 0; i < n; i++) {
		uint32_t largest = random_below(2) ? 6 : 40;
		insns[i] = product(1 + random_below(largest), 1 + random_below(largest), 1 + random_below(largest));
		struct npu_matmul *p = &insns[i].matmul;
		if (random_below(2)) {
			p->a_type = NPU_INT8;
			p->b_type = random_below(2) ? NPU_INT8 : NPU_INT4;
		} else if (random_below(4) == 0) {
			p->b_type = NPU_INT4;
		}
		p->transpose_a = random_below(2);
		p->transpose_b = random_below(2);
		p->accumulate = random_below(2);
		at += random_below(3) ? 0 : random_below(200);
		ready[i] = at;

		/* What enters a cycle, from the definition of the ports. */
		uint64_t depth = p->a_type == NPU_INT8 ? hw.matrix.int8_macs_per_pe : 1;
		uint64_t a_port = hw.matrix.activation_port ? hw.matrix.activation_port : hw.matrix.rows * 2;
		uint64_t w_port = hw.matrix.weight_port ? hw.matrix.weight_port : hw.matrix.cols * 2;
		unsigned a_bits = p->a_type == NPU_INT8 ? 8 : 16;
		unsigned b_bits = p->b_type == NPU_INT8 ? 8 : p->b_type == NPU_INT4 ? 4 : 16;
		unsigned stays = is ? a_bits : b_bits, streams = is ? b_bits : a_bits;
		pe[i].pass = is || across ? p->n : p->m;
		pe[i].stay = is || across ? p->m : p->n;
		pe[i].k = p->k;
		pe[i].depth = (unsigned)depth;
		pe[i].ready = at;
		if (os) {
			uint64_t a = ceil_div(ceil_div(hw.matrix.rows * depth * a_bits, 8), a_port);
			uint64_t b = ceil_div(ceil_div(hw.matrix.cols * depth * b_bits, 8), w_port);
			pe[i].row_beats = (unsigned)(a > b ? a : b);
		} else {
			pe[i].row_beats = (unsigned)ceil_div(ceil_div(hw.matrix.rows * depth * streams, 8), a_port);
			pe[i].load = (unsigned)ceil_div(hw.matrix.rows * depth * ceil_div(hw.matrix.cols * stays, 8), w_port);
			if (hw.matrix.load_rows && pe[i].load < ceil_div(hw.matrix.rows, hw.matrix.load_rows))
				pe[i].load = (unsigned)ceil_div(hw.matrix.rows, hw.matrix.load_rows);
			pe[i].transposer = (is ? p->transpose_a : p->transpose_b) ? (unsigned)hw.matrix.rows : 0;
		}
	}
	const char *wrong = pe_array_run(&array, pe, n);
	if (wrong)
		ck_abort_msg("case %llu: %s", (unsigned long long)number, wrong);
	struct told told = run(&hw, insns, n, ready, 0, NULL);
	for (unsigned i = 0; i < n; i++)
		if (told.accepted[i] != pe[i].accepted || told.begin[i] != pe[i].first ||
		    told.stream_end[i] != pe[i].stream_end || told.end[i] != pe[i].end)
			ck_abort_msg("case %llu product %u: accepted %llu first %llu last %llu end %llu, "
				     "PE by PE %llu %llu %llu %llu",
				     (unsigned long long)number, i, (unsigned long long)told.accepted[i],
				     (unsigned long long)told.begin[i], (unsigned long long)told.stream_end[i],
				     (unsigned long long)told.end[i], (unsigned long long)pe[i].accepted,
				     (unsigned long long)pe[i].first, (unsigned long long)pe[i].stream_end,
				     (unsigned long long)pe[i].end);
	if (ready[0] == 0 && n == 1)
		must(matrix_alone_cycles(&hw, &insns[0]) == pe[0].end, "a product alone");
}

START_TEST(random_products_take_what_an_array_takes_pe_by_pe)
{
	for (uint64_t i = 0; i < 150; i++)
		random_case((uint64_t)_i * 150 + i + 1);
}
END_TEST

/* ---- beats ---- */

/* The memory may be asked for any beat: with a stream that meets itself everywhere, every product of a random sequence must
 * describe its beats within the reach that it announced (asserted by the memory) and end in time without denials when there
 * are banks for everybody. */
START_TEST(beats_lie_within_the_announced_reach)
{
	for (uint64_t i = 0; i < 300; i++) {
		seed = (uint64_t)_i * 300 + i + 1;
		struct hw hw = array_of(8);
		hw.matrix.rows = 1 + random_below(9);
		hw.matrix.cols = 1 + random_below(9);
		hw.matrix.dataflow = random_below(3);
		hw.matrix.weight_load = random_below(2);
		hw.matrix.ragged = random_below(2);
		hw.matrix.preload = random_below(2);
		hw.matrix.shift_out = random_below(2);
		hw.matrix.input_registers = random_below(3);
		hw.matrix.output_registers = random_below(3);
		hw.matrix.int8_macs_per_pe = 1 + random_below(2);
		hw.matrix.activation_port = random_below(2) ? 0 : 1 + random_below(40);
		hw.matrix.weight_port = random_below(2) ? 0 : 1 + random_below(40);
		hw.sram.groups = 1 + random_below(4);
		hw.sram.banks = hw.sram.groups * (1 + random_below(4));
		hw.sram.size = hw.sram.banks * 32 * KIB;
		enum { N = 6 };
		struct npu_insn insns[N];
		for (unsigned p = 0; p < N; p++) {
			uint32_t largest = random_below(2) ? 6 : 40;
			insns[p] = product(1 + random_below(largest), 1 + random_below(largest), 1 + random_below(largest));
			struct npu_matmul *mm = &insns[p].matmul;
			mm->a = random_below((uint32_t)hw.sram.size - 8 * KIB) & ~1u;
			mm->b = random_below((uint32_t)hw.sram.size - 8 * KIB) & ~1u;
			mm->scales = random_below((uint32_t)hw.sram.size - 8 * KIB) & ~1u;
			mm->dst = NPU_ACC_BIT | (random_below((uint32_t)hw.accum.size - 8 * KIB) & ~3u);
			if (random_below(2))
				mm->a_type = mm->b_type = NPU_INT8;
			if (random_below(3) == 0)
				mm->b_type = NPU_INT4;
			mm->transpose_a = random_below(2);
			mm->transpose_b = random_below(2);
			mm->accumulate = random_below(2);
			mm->a_layout = random_below(3);
			mm->b_layout = random_below(3);
			mm->group = random_below(2) ? 1 + random_below(20) : 0;
		}
		struct memory *memory = memory_new(&hw, false);
		struct told told = run(&hw, insns, N, NULL, 0, memory);
		struct told alone = run(&hw, insns, N, NULL, 0, NULL);
		uint64_t denied = told.cycles[NPU_STATE_SRAM_CONFLICT] + told.cycles[NPU_STATE_ACCUM_CONFLICT];
		must(told.end[N - 1] == alone.end[N - 1] + denied, "only denied cycles delay the array");
		memory_free(memory);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("matrix");
	TCase *one = tcase_create("one product");
	tcase_add_loop_test(one, one_product_takes_what_the_formula_says, 0, sizeof counts / sizeof *counts);
	tcase_add_test(one, a_tile_of_narrow_weights_loads_several_rows_a_cycle);
	tcase_add_test(one, two_int8_products_a_pe_fold_k_half_as_often);
	tcase_add_test(one, a_narrow_activation_port_slows_every_row);
	tcase_add_test(one, tiles_of_k_do_not_mix_scale_groups);
	tcase_add_test(one, a_transposed_stationary_operand_takes_the_transposer_or_is_refused);
	tcase_add_test(one, ragged_used_costs_as_much_as_an_array_of_that_size);
	suite_add_tcase(suite, one);
	TCase *several = tcase_create("several products");
	tcase_add_test(several, a_second_product_loads_while_the_first_streams);
	tcase_add_test(several, a_late_second_product_exposes_what_is_left_of_its_load);
	tcase_add_test(several, results_of_a_small_product_wait_fold_by_fold_for_those_of_a_large_one);
	tcase_add_test(several, transposer_cycles_are_engine_latency_where_nothing_else_moves);
	tcase_add_test(several, an_ideal_array_takes_macs_over_peak);
	tcase_add_test(several, operands_in_one_group_meet_in_its_banks);
	tcase_add_test(several, operands_in_different_groups_do_not);
	tcase_add_test(several, a_word_that_two_rows_share_is_read_once);
	tcase_add_test(several, rows_that_are_no_whole_words_take_a_word_more_where_they_lie_across);
	tcase_add_test(several, columns_of_narrow_rows_read_a_word_of_several_rows_once);
	tcase_add_loop_test(several, random_products_take_what_an_array_takes_pe_by_pe, 0, 20);
	tcase_add_loop_test(several, beats_lie_within_the_announced_reach, 0, 10);
	suite_add_tcase(suite, several);
	return npu_suite_run(suite);
}
