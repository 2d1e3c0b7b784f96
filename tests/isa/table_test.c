/* SPDX-License-Identifier: Apache-2.0 */
/* The instruction table itself: what a reader of isa/npu.def takes for granted. */
#include "isa/field.h"
#include "tests/support/suite.h"

#include <string.h>

START_TEST(fields_stay_inside_their_word_and_off_opcode_and_semaphores)
{
	for (unsigned f = 0; f < npu_nformats; f++)
		for (const struct npu_field *field = npu_formats[f].fields; field->name; field++) {
			ck_assert_msg(field->width > 0 && field->lsb + field->width <= 64, "%s.%s leaves its word",
				      npu_formats[f].name, field->name);
			ck_assert_msg(field->word < NPU_INSN_WORDS && field->word != 1 && field->word != 2,
				      "%s.%s lies on the semaphores", npu_formats[f].name, field->name);
			ck_assert_msg(field->word != 0 || field->lsb >= 8, "%s.%s lies on the opcode",
				      npu_formats[f].name, field->name);
		}
}
END_TEST

START_TEST(no_two_fields_of_a_format_share_a_bit)
{
	for (unsigned f = 0; f < npu_nformats; f++) {
		uint64_t taken[NPU_INSN_WORDS] = { 0 };
		for (const struct npu_field *field = npu_formats[f].fields; field->name; field++) {
			uint64_t bits = (((uint64_t)1 << field->width) - 1) << field->lsb;
			ck_assert_msg(!(taken[field->word] & bits), "%s.%s overlaps another field", npu_formats[f].name,
				      field->name);
			taken[field->word] |= bits;
		}
	}
}
END_TEST

START_TEST(opcodes_and_mnemonics_are_unique)
{
	for (unsigned i = 0; i < npu_nops; i++)
		for (unsigned j = 0; j < i; j++) {
			ck_assert_int_ne(npu_ops[i].op, npu_ops[j].op);
			ck_assert_str_ne(npu_ops[i].mnemonic, npu_ops[j].mnemonic);
		}
}
END_TEST

START_TEST(opcode_zero_is_no_instruction)
{
	/* so that memory full of zeros is not a program */
	ck_assert(!npu_op_known(0));
	ck_assert_ptr_null(npu_op_info(0));
	ck_assert_ptr_null(npu_op_info(256));
}
END_TEST

START_TEST(every_instruction_is_found_by_opcode_and_mnemonic)
{
	for (unsigned i = 0; i < npu_nops; i++) {
		const struct npu_op_info *info = &npu_ops[i];
		ck_assert_ptr_eq(npu_op_info(info->op), info);
		ck_assert_ptr_eq(npu_op_find(info->mnemonic, strlen(info->mnemonic)), info);
		ck_assert(npu_op_known(info->op));
		ck_assert_str_eq(npu_op_mnemonic(info->op), info->mnemonic);
		ck_assert_int_eq(npu_op_engine(info->op), info->engine);
		ck_assert_ptr_eq(&npu_formats[npu_op_format(info->op)], info->format);
		ck_assert_int_eq(npu_op_is_sync(info->op), strncmp(info->mnemonic, "sync.", 5) == 0);
	}
	ck_assert_ptr_null(npu_op_find("mat", 3));
	ck_assert_ptr_null(npu_op_find("matmull", 7));
	ck_assert_ptr_null(npu_op_find("", 0));
}
END_TEST

START_TEST(initial_values_fit_their_fields)
{
	for (unsigned f = 0; f < npu_nformats; f++)
		for (const struct npu_field *field = npu_formats[f].fields; field->name; field++)
			ck_assert_msg(npu_field_fits(field, npu_field_initial(field)), "%s.%s", npu_formats[f].name,
				      field->name);
}
END_TEST

START_TEST(field_names_of_a_format_are_unique_and_documented)
{
	for (unsigned f = 0; f < npu_nformats; f++)
		for (const struct npu_field *a = npu_formats[f].fields; a->name; a++) {
			ck_assert_msg(a->doc[0], "%s.%s has no doc", npu_formats[f].name, a->name);
			for (const struct npu_field *b = npu_formats[f].fields; b != a; b++)
				ck_assert_str_ne(a->name, b->name);
		}
}
END_TEST

START_TEST(no_field_is_called_as_text_calls_something_else)
{
	static const char *const words[] = { "wait", "post", "sram", "acc", "dram" };
	for (unsigned f = 0; f < npu_nformats; f++)
		for (const struct npu_field *field = npu_formats[f].fields; field->name; field++)
			for (unsigned w = 0; w < sizeof words / sizeof words[0]; w++) {
				if (field->kind == NPU_KIND_DRAM && strcmp(words[w], "dram") == 0)
					continue; /* positional: its name is never written */
				ck_assert_str_ne(field->name, words[w]);
			}
}
END_TEST

START_TEST(optional_addresses_follow_required_ones)
{
	/* text gives addresses by position and leaves out optional ones from the end */
	for (unsigned f = 0; f < npu_nformats; f++) {
		bool optional = false;
		for (const struct npu_field *field = npu_formats[f].fields; field->name; field++) {
			if (field->kind != NPU_KIND_LOCAL && field->kind != NPU_KIND_DRAM)
				continue;
			ck_assert_msg(!(optional && field->required), "%s.%s", npu_formats[f].name, field->name);
			optional = optional || !field->required;
		}
	}
}
END_TEST

START_TEST(named_values_count_from_zero_without_gaps)
{
	for (int kind = NPU_KIND_DTYPE; kind <= NPU_KIND_SCALE; kind++) {
		const char *const *names;
		unsigned n = npu_kind_names((enum npu_field_kind)kind, &names);
		ck_assert_uint_gt(n, 1);
		for (unsigned i = 0; i < n; i++)
			ck_assert_ptr_nonnull(names[i]);
	}
	const char *const *names;
	ck_assert_uint_eq(npu_kind_names(NPU_KIND_DTYPE, &names), NPU_DTYPES);
	ck_assert_str_eq(names[NPU_BF16], "bf16");
	ck_assert_uint_eq(npu_kind_names(NPU_KIND_UINT, &names), 0);
}
END_TEST

START_TEST(element_types_have_their_widths)
{
	ck_assert_uint_eq(npu_dtype_bytes(NPU_FP16, 3), 6);
	ck_assert_uint_eq(npu_dtype_bytes(NPU_INT4, 3), 2); /* 12 bits */
	ck_assert_uint_eq(npu_dtype_bytes(NPU_FP32, 0), 0);
	ck_assert(npu_dtype_is_float(NPU_BF16));
	ck_assert(!npu_dtype_is_float(NPU_UINT4));
}
END_TEST

static Suite *table_suite(void)
{
	Suite *suite = suite_create("isa.table");
	TCase *tests = tcase_create("table");
	tcase_add_test(tests, fields_stay_inside_their_word_and_off_opcode_and_semaphores);
	tcase_add_test(tests, no_two_fields_of_a_format_share_a_bit);
	tcase_add_test(tests, opcodes_and_mnemonics_are_unique);
	tcase_add_test(tests, opcode_zero_is_no_instruction);
	tcase_add_test(tests, every_instruction_is_found_by_opcode_and_mnemonic);
	tcase_add_test(tests, initial_values_fit_their_fields);
	tcase_add_test(tests, field_names_of_a_format_are_unique_and_documented);
	tcase_add_test(tests, no_field_is_called_as_text_calls_something_else);
	tcase_add_test(tests, optional_addresses_follow_required_ones);
	tcase_add_test(tests, named_values_count_from_zero_without_gaps);
	tcase_add_test(tests, element_types_have_their_widths);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(void)
{
	return npu_suite_run(table_suite());
}
