/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding: every field of every instruction, one at a time and all together. */
#include "isa/insn.h"
#include "tests/isa/random.h"
#include "tests/support/suite.h"

START_TEST(a_matmul_has_the_bits_that_the_table_draws)
{
	struct npu_insn insn = npu_insn_initial(NPU_OP_MATMUL);
	insn.wait[0] = (struct npu_sem_ref){ 3, 1 };
	insn.post[1] = (struct npu_sem_ref){ 0xabcd, 2 };
	insn.matmul.dst = NPU_ACC_BIT | 0x40;
	insn.matmul.a = 0x1000;
	insn.matmul.b = 0x2000;
	insn.matmul.m = 128;
	insn.matmul.n = 64;
	insn.matmul.k = 32;
	insn.matmul.a_type = NPU_INT8;
	insn.matmul.b_type = NPU_INT4;
	insn.matmul.group = 16;
	insn.matmul.scales = 0x3000;
	insn.matmul.accumulate = 1;
	insn.matmul.masked = 5;
	uint64_t words[NPU_INSN_WORDS];
	npu_insn_encode(&insn, words);
	ck_assert_uint_eq(words[0], 0x20 | 5 << 8);
	ck_assert_uint_eq(words[1], 3 | 1 << 16);
	ck_assert_uint_eq(words[2], 0xabcdull << 32 | 2ull << 48);
	ck_assert_uint_eq(words[3], 0x80000040 | 0x1000ull << 32);
	ck_assert_uint_eq(words[4], 0x2000 | 0x3000ull << 32);
	ck_assert_uint_eq(words[5], 128 | 64ull << 20 | 32ull << 40);
	ck_assert_uint_eq(words[6], 16ull << 48 | 4ull << 60); /* group, a_type: int8 is the fifth type */
	ck_assert_uint_eq(words[7], 6ull << 24 | 1ull << 28);  /* b_type: int4 is the seventh; accumulate */
}
END_TEST

START_TEST(a_field_changes_its_own_bits_only)
{
	for (unsigned i = 0; i < npu_nops; i++)
		for (const struct npu_field *field = npu_ops[i].format->fields; field->name; field++) {
			struct npu_insn insn;
			memset(&insn, 0, sizeof insn);
			insn.op = (uint8_t)npu_ops[i].op;
			npu_field_set(field, &insn, UINT64_MAX);
			uint64_t words[NPU_INSN_WORDS], wanted[NPU_INSN_WORDS] = { npu_ops[i].op };
			wanted[field->word] |= (((uint64_t)1 << field->width) - 1) << field->lsb;
			npu_insn_encode(&insn, words);
			ck_assert_msg(memcmp(words, wanted, sizeof words) == 0, "%s.%s", npu_ops[i].mnemonic,
				      field->name);
		}
}
END_TEST

START_TEST(decoding_gives_back_what_was_encoded)
{
	struct rng rng = { 1 };
	for (unsigned round = 0; round < 2000; round++)
		for (unsigned i = 0; i < npu_nops; i++) {
			struct npu_insn insn, again;
			uint64_t words[NPU_INSN_WORDS];
			random_fields(&rng, &insn, npu_ops[i].op);
			insn.wait[1] = (struct npu_sem_ref){ (uint16_t)rng_next(&rng), (uint16_t)rng_next(&rng) };
			insn.post[0] = (struct npu_sem_ref){ (uint16_t)rng_next(&rng), (uint16_t)rng_next(&rng) };
			npu_insn_encode(&insn, words);
			if (!npu_insn_decode(words, &again) || memcmp(&insn, &again, sizeof insn) != 0)
				ck_abort_msg("%s, round %u", npu_ops[i].mnemonic, round);
		}
}
END_TEST

START_TEST(a_bit_that_no_field_claims_is_refused)
{
	unsigned refused = 0;
	for (unsigned i = 0; i < npu_nops; i++) {
		uint64_t claimed[NPU_INSN_WORDS] = { 0xff, UINT64_MAX, UINT64_MAX };
		for (const struct npu_field *field = npu_ops[i].format->fields; field->name; field++)
			claimed[field->word] |= (((uint64_t)1 << field->width) - 1) << field->lsb;
		for (unsigned bit = 8; bit < 64 * NPU_INSN_WORDS; bit++) {
			uint64_t words[NPU_INSN_WORDS] = { npu_ops[i].op };
			struct npu_insn out = { .op = 0xee };
			words[bit / 64] |= (uint64_t)1 << bit % 64;
			bool legal = claimed[bit / 64] >> bit % 64 & 1;
			if (npu_insn_decode(words, &out) != legal || out.op != (legal ? npu_ops[i].op : 0xee))
				ck_abort_msg("%s, bit %u", npu_ops[i].mnemonic, bit);
			refused += !legal;
		}
	}
	ck_assert_uint_gt(refused, 1000);
}
END_TEST

START_TEST(unknown_opcodes_are_refused)
{
	unsigned known = 0;
	for (unsigned op = 0; op < 256; op++) {
		uint64_t words[NPU_INSN_WORDS] = { op };
		struct npu_insn out;
		known += npu_insn_decode(words, &out);
		ck_assert_int_eq(npu_insn_decode(words, &out), npu_op_known(op));
	}
	ck_assert_uint_eq(known, npu_nops);
}
END_TEST

START_TEST(initial_values_are_those_of_the_table)
{
	struct npu_insn insn = npu_insn_initial(NPU_OP_VRMSNORM);
	ck_assert_float_eq(insn.norm.eps, 1e-5f);
	ck_assert_uint_eq(insn.norm.dst_type, NPU_FP16);
	ck_assert_uint_eq(insn.norm.a_type, NPU_FP32);
	ck_assert_uint_eq(insn.norm.rows, 0);
	ck_assert_uint_eq(npu_insn_initial(NPU_OP_VSOFTMAX).softmax.valid, 0x1fffff);
	ck_assert_float_eq(npu_insn_initial(NPU_OP_VEXP).un.scale, 1);
}
END_TEST

static Suite *insn_suite(void)
{
	Suite *suite = suite_create("isa.insn");
	TCase *tests = tcase_create("insn");
	tcase_add_test(tests, a_matmul_has_the_bits_that_the_table_draws);
	tcase_add_test(tests, a_field_changes_its_own_bits_only);
	tcase_add_test(tests, decoding_gives_back_what_was_encoded);
	tcase_add_test(tests, a_bit_that_no_field_claims_is_refused);
	tcase_add_test(tests, unknown_opcodes_are_refused);
	tcase_add_test(tests, initial_values_are_those_of_the_table);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(void)
{
	return npu_suite_run(insn_suite());
}
