/* SPDX-License-Identifier: Apache-2.0 */
/* The executor's memories, its errors, order and record of writers. */
#include "tests/isa/exec_twin.h"

static const uint64_t END = (uint64_t)1 << 40;

static struct npu_exec *open_with(const struct npu_insn *insns, uint32_t n, struct npu_exec_options options)
{
	static struct npu_program program;
	program = (struct npu_program){ .ninsns = n, .insns = insns, .needs = { 4096, 4096, 0 } };
	struct npu_error err;
	struct npu_exec *e = npu_exec_new(&program, &options, &err);
	twin_must(e, &err);
	return e;
}

START_TEST(dram_is_zero_until_written_and_takes_memory_only_then)
{
	struct npu_exec *e = open_with(NULL, 0, (struct npu_exec_options){ 0 });
	uint64_t word = 1;
	ck_assert(npu_exec_dram_read(e, END - 8, &word, 8));
	ck_assert_uint_eq(word, 0);
	ck_assert_uint_eq(npu_exec_dram_touched(e), 0);
	word = 0x1122334455667788;
	/* across a page, at the far end of the space */
	ck_assert(npu_exec_dram_write(e, END - 65536 - 4, &word, 8));
	ck_assert_uint_eq(npu_exec_dram_touched(e), 2 * 65536);
	word = 0;
	ck_assert(npu_exec_dram_read(e, END - 65536 - 4, &word, 8));
	ck_assert_uint_eq(word, 0x1122334455667788);
	npu_exec_free(e);
}
END_TEST

START_TEST(bytes_beyond_a_memory_are_refused)
{
	struct npu_exec *e = open_with(NULL, 0, (struct npu_exec_options){ .sram_bytes = 100 });
	uint64_t word = 0;
	ck_assert(!npu_exec_dram_read(e, END - 7, &word, 8));
	ck_assert(!npu_exec_dram_write(e, UINT64_MAX, &word, 8));
	ck_assert(!npu_exec_local_write(e, 93, &word, 8));
	ck_assert(npu_exec_local_write(e, 92, &word, 8));
	ck_assert(npu_exec_local_read(e, NPU_ACC_BIT | 4088, &word, 8));
	ck_assert(!npu_exec_local_read(e, NPU_ACC_BIT | 4089, &word, 8));
	npu_exec_free(e);
}
END_TEST

static struct npu_insn store_of(uint32_t local, uint64_t dram, uint32_t cols)
{
	return (struct npu_insn){
		.op = NPU_OP_STORE, .dma = { .local = local, .dram = dram, .rows = 1, .cols = cols, .dtype = NPU_UINT8 }
	};
}

START_TEST(an_operand_out_of_bounds_is_an_error_that_names_it)
{
	struct npu_insn insns[] = { store_of(4000, 0, 97), store_of(0, END - 10, 11) };
	struct npu_exec *e = open_with(insns, 2, (struct npu_exec_options){ 0 });
	struct npu_error err;
	ck_assert(!npu_exec_step(e, 0, &err));
	ck_assert_int_eq(err.code, NPU_ERR_BOUNDS);
	ck_assert_str_eq(err.text, "#0 store: local is 0xfa0..0x1001, but SRAM ends at 0x1000");
	ck_assert(!npu_exec_step(e, 1, &err));
	ck_assert_str_eq(err.text, "#1 store: dram is 0xfffffffff6..0x10000000001, but DRAM ends at 0x10000000000");
	ck_assert(!npu_exec_step(e, 2, &err));
	ck_assert_uint_eq(npu_exec_dram_touched(e), 0);
	npu_exec_free(e);
}
END_TEST

START_TEST(a_program_that_touches_too_much_dram_is_stopped)
{
	struct npu_insn insns[] = { store_of(0, 0, 8), store_of(0, 65536, 8) };
	struct npu_exec *e = open_with(insns, 2, (struct npu_exec_options){ .max_dram_bytes = 65536 });
	struct npu_error err;
	ck_assert(npu_exec_step(e, 0, &err));
	ck_assert(!npu_exec_step(e, 1, &err));
	ck_assert_int_eq(err.code, NPU_ERR_MEMORY);
	npu_exec_free(e);
}
END_TEST

START_TEST(the_last_writer_of_a_granule_is_known)
{
	struct npu_insn insns[] = { store_of(0, 0, 200), store_of(0, 100, 8), store_of(0, 190, 4) };
	struct npu_exec *e = open_with(insns, 3, (struct npu_exec_options){ .writers = true });
	struct npu_error err;
	twin_must(npu_exec_run(e, &err), &err);
	/* granules of 64: 0..63 only #0; 64..127 then #1; 128..191 and 192..255 then #2 */
	ck_assert_uint_eq(npu_exec_dram_writer(e, 0), 0);
	ck_assert_uint_eq(npu_exec_dram_writer(e, 64), 1);
	ck_assert_uint_eq(npu_exec_dram_writer(e, 128), 2);
	ck_assert_uint_eq(npu_exec_dram_writer(e, 255), 2);
	ck_assert_uint_eq(npu_exec_dram_writer(e, 256), NPU_EXEC_NOBODY);
	ck_assert_uint_eq(npu_exec_dram_writer(e, END), NPU_EXEC_NOBODY);
	npu_exec_free(e);
}
END_TEST

static uint32_t backwards(void *context, uint32_t step)
{
	return *(uint32_t *)context - 1 - step;
}

START_TEST(a_run_follows_the_order_that_is_given)
{
	struct npu_insn insns[] = {
		{ .op = NPU_OP_VFILL, .fill = { .dst = 0, .imm = 1, .rows = 1, .cols = 1, .dst_type = NPU_FP32 } },
		{ .op = NPU_OP_VFILL, .fill = { .dst = 0, .imm = 2, .rows = 1, .cols = 1, .dst_type = NPU_FP32 } },
		{ .op = NPU_OP_SYNC_VECTOR },
	};
	uint32_t n = 3;
	struct npu_error err;
	float x;
	struct npu_exec *e = open_with(insns, n, (struct npu_exec_options){ 0 });
	twin_must(npu_exec_run(e, &err), &err);
	npu_exec_local_read(e, 0, &x, sizeof x);
	ck_assert(x == 2);
	npu_exec_free(e);
	e = open_with(insns, n, (struct npu_exec_options){ .order = backwards, .order_context = &n });
	twin_must(npu_exec_run(e, &err), &err);
	npu_exec_local_read(e, 0, &x, sizeof x);
	ck_assert(x == 1);
	npu_exec_free(e);
}
END_TEST

START_TEST(a_tensor_of_any_type_and_layout_reads_back_what_was_written)
{
	enum { DEPTH = 2, ROWS = 19, COLS = 35, N = DEPTH * ROWS * COLS };
	static double in[N], out[N];
	uint64_t random = 1;
	for (unsigned layout = 0; layout < 3; layout++)
		for (unsigned type = 0; type < NPU_DTYPES; type++) {
			struct npu_tensor t = { .name = "t",
						.addr = 65536 - 100,
						.dtype = (enum npu_dtype)type,
						.layout = layout,
						.rank = 3,
						.shape = { DEPTH, ROWS, COLS } };
			struct npu_exec *e = open_with(NULL, 0, (struct npu_exec_options){ 0 });
			struct npu_error err;
			for (unsigned i = 0; i < N; i++)
				in[i] = twin_round(t.dtype, pick_real(&random, 10));
			twin_must(npu_exec_tensor_write(e, &t, in, &err), &err);
			twin_must(npu_exec_tensor_read(e, &t, out, &err), &err);
			ck_assert(memcmp(in, out, sizeof in) == 0);
			/* each element lies where the twin finds it */
			struct twin_matrix m = { 0, ROWS, COLS, t.dtype, layout, 0 };
			for (unsigned i = 0; i < N; i += 7) {
				uint64_t matrix = i / (ROWS * COLS), row = i / COLS % ROWS, col = i % COLS;
				uint64_t bit = twin_bit(&m, row, col);
				ck_assert_uint_eq(npu_exec_tensor_addr(&t, i),
						  t.addr + matrix * twin_extent(&m) + bit / 8);
				uint8_t raw[4];
				npu_exec_dram_read(e, npu_exec_tensor_addr(&t, i), raw, sizeof raw);
				ck_assert(npu_number_get(t.dtype, raw, bit % 8 / 4) == in[i]);
			}
			npu_exec_free(e);
		}
}
END_TEST

START_TEST(a_tensor_past_the_end_of_dram_is_refused)
{
	double x[4] = { 0 };
	struct npu_tensor t = { .name = "t", .addr = END - 7, .dtype = NPU_FP16, .rank = 1, .shape = { 4 } };
	struct npu_exec *e = open_with(NULL, 0, (struct npu_exec_options){ 0 });
	struct npu_error err;
	ck_assert(!npu_exec_tensor_read(e, &t, x, &err));
	ck_assert_int_eq(err.code, NPU_ERR_BOUNDS);
	ck_assert(!npu_exec_tensor_write(e, &t, x, &err));
	npu_exec_free(e);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("exec_memory");
	TCase *t = tcase_create("exec_memory");
	tcase_add_test(t, dram_is_zero_until_written_and_takes_memory_only_then);
	tcase_add_test(t, bytes_beyond_a_memory_are_refused);
	tcase_add_test(t, an_operand_out_of_bounds_is_an_error_that_names_it);
	tcase_add_test(t, a_program_that_touches_too_much_dram_is_stopped);
	tcase_add_test(t, the_last_writer_of_a_granule_is_known);
	tcase_add_test(t, a_run_follows_the_order_that_is_given);
	tcase_add_test(t, a_tensor_of_any_type_and_layout_reads_back_what_was_written);
	tcase_add_test(t, a_tensor_past_the_end_of_dram_is_refused);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return npu_suite_run(suite());
}
