/* SPDX-License-Identifier: Apache-2.0 */
/* What the words of npu.h call: structs that begin with the order and of which a caller may know less, or more, than
 * this library. Loops over the whole instruction set. */
#include "isa/field.h"
#include "kernels/words.h"
#include "tests/support/suite.h"

#include <stddef.h>
#include <string.h>

enum { ORDER_BYTES = sizeof(struct npu_order), INSN_OPERANDS = offsetof(struct npu_insn, dma), ROOM = 256 };

static const struct npu_capacity capacity = { .limits = { 1 << 20, 1 << 18, 1 << 30 } };

/* Bytes from the first field of a format to behind its last. */
static size_t field_bytes(const struct npu_format *format)
{
	size_t end = INSN_OPERANDS;
	for (unsigned i = 0; i < format->nfields; i++) {
		size_t behind = format->fields[i].offset + format->fields[i].size;
		end = behind > end ? behind : end;
	}
	return end - INSN_OPERANDS;
}

START_TEST(initial_operands_are_those_of_the_table)
{
	for (unsigned i = 0; i < npu_nops; i++) {
		const struct npu_op_info *info = &npu_ops[i];
		unsigned char operands[ROOM], zero[ORDER_BYTES] = { 0 };
		struct npu_insn insn = { .op = (uint8_t)info->op };
		size_t n = field_bytes(info->format);
		memset(operands, 0xa5, sizeof operands);
		ck_assert(npu_operands_initial(info->op, operands, ORDER_BYTES + n));
		ck_assert_int_eq(operands[ORDER_BYTES + n], 0xa5);
		ck_assert_mem_eq(operands, zero, ORDER_BYTES);
		memcpy((unsigned char *)&insn + INSN_OPERANDS, operands + ORDER_BYTES, n);
		for (unsigned f = 0; f < info->format->nfields; f++) {
			const struct npu_field *field = &info->format->fields[f];
			ck_assert_uint_eq(npu_field_get(field, &insn), field->required ? 0 : npu_field_initial(field));
		}
	}
	ck_assert(!npu_operands_initial(0xee, NULL, 0));
}
END_TEST

/* Whether the builder takes an instruction of which the caller knows `size` bytes. */
static bool emitted(unsigned op, const void *operands, size_t size, struct npu_error *err)
{
	struct npu_builder *b = npu_builder_new("one", &capacity);
	npu_emit_op(b, "one.c", 1, op, operands, size);
	bool ok = !npu_builder_failed(b);
	if (!ok && err)
		*err = *npu_builder_error(b);
	npu_builder_discard(b);
	return ok;
}

START_TEST(an_older_caller_gets_initial_values_for_what_it_does_not_know)
{
	/* vrmsnorm of a caller whose npu.h ended before eps: 1e-5 of the table, not 0. */
	size_t size = ORDER_BYTES + offsetof(struct npu_norm, eps);
	unsigned char operands[ROOM];
	struct npu_norm norm = { .dst = 0x100, .a = 0, .weight = 0x200, .rows = 1, .cols = 64, .dst_type = NPU_FP16,
				 .a_type = NPU_FP16, .weight_type = NPU_FP16 };
	struct npu_order order = { 0 };
	memcpy(operands, &order, sizeof order);
	memset(operands + ORDER_BYTES, 0x77, ROOM - ORDER_BYTES);
	memcpy(operands + ORDER_BYTES, &norm, offsetof(struct npu_norm, eps));
	struct npu_builder *b = npu_builder_new("older", &capacity);
	npu_emit_op(b, "older.c", 1, NPU_OP_VRMSNORM, operands, size);
	struct npu_program *program = npu_builder_finish(b, NULL);
	ck_assert_ptr_nonnull(program);
	ck_assert_uint_eq(program->ninsns, 1);
	ck_assert(program->insns[0].norm.eps == 1e-5f);
	ck_assert_uint_eq(program->insns[0].norm.weight, 0x200);
	npu_program_free(program);
}
END_TEST

START_TEST(a_newer_caller_is_refused_only_when_it_uses_what_is_new)
{
	for (unsigned i = 0; i < npu_nops; i++) {
		struct npu_error err = { 0 };
		unsigned op = npu_ops[i].op;
		unsigned char operands[ROOM] = { 0 };
		/* The struct may end in padding, which is no field: 8 bytes are more than that. */
		size_t size = ORDER_BYTES + field_bytes(npu_ops[i].format) + 16;
		ck_assert(npu_operands_initial(op, operands, size));
		ck_assert(emitted(op, operands, size, &err));
		operands[size - 1] = 1;
		ck_assert(!emitted(op, operands, size, &err));
		ck_assert_int_eq(err.code, NPU_ERR_OPERAND);
		ck_assert_ptr_nonnull(strstr(err.text, npu_ops[i].mnemonic));
		ck_assert(!emitted(op, operands, ORDER_BYTES - 1, &err));
	}
}
END_TEST

START_TEST(a_word_is_the_instruction_with_its_order)
{
	struct npu_builder *b = npu_builder_new("order", &capacity);
	struct npu_semaphore s = npu_semaphore(b, "s", 0), t = npu_semaphore(b, "t", 1);
	struct {
		struct npu_order order;
		struct npu_dma dma;
	} load = { { .wait = { t }, .post = { s } }, { .local = 64, .dram = 128, .rows = 2, .cols = 32, .dtype = NPU_INT8 } };
	npu_emit_op(b, "order.c", 5, NPU_OP_LOAD, &load, sizeof load);
	struct npu_order back = { .wait = { s }, .post = { t } };
	npu_emit_op(b, "order.c", 6, NPU_OP_SYNC_STORE, &back, sizeof back);
	struct npu_program *program = npu_builder_finish(b, NULL);
	char text[256], place[64];
	ck_assert_ptr_nonnull(program);
	npu_insn_print(program, 0, text, sizeof text);
	ck_assert_str_eq(text, "load sram:0x40, dram:0x80 rows=2 cols=32 dtype=int8   wait t   post s");
	ck_assert_str_eq(npu_insn_place(program, 1, place, sizeof place), "order.c:6");
	npu_program_free(program);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("words");
	TCase *tcase = tcase_create("words");
	tcase_add_test(tcase, initial_operands_are_those_of_the_table);
	tcase_add_test(tcase, an_older_caller_gets_initial_values_for_what_it_does_not_know);
	tcase_add_test(tcase, a_newer_caller_is_refused_only_when_it_uses_what_is_new);
	tcase_add_test(tcase, a_word_is_the_instruction_with_its_order);
	suite_add_tcase(suite, tcase);
	return npu_suite_run(suite);
}
