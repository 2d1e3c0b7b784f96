/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges, counts and instruction fields of a mask agree with its definition. */
#include "kernels/mask.h"
#include "tests/support/kernel_cases.h"
#include "tests/support/suite.h"

enum { CASES = 3000, LONGEST = 24 };

static struct npu_mask random_mask(struct case_rng *rng)
{
	struct npu_mask m = { .kind = (enum npu_mask_kind)case_below(rng, 4), .seq = case_below(rng, LONGEST + 1) };
	m.seq_q = case_below(rng, 2 * LONGEST);
	m.window = 1 + case_below(rng, LONGEST);
	m.valid = case_below(rng, m.seq + 1);
	return m;
}

START_TEST(a_row_sees_one_range_of_keys)
{
	struct case_rng rng = { 1 };
	for (int i = 0; i < CASES; i++) {
		struct npu_mask m = random_mask(&rng);
		uint64_t seen = 0;
		for (uint64_t r = 0; r < m.seq_q; r++)
			for (uint64_t c = 0; c < m.seq; c++) {
				ck_assert_int_eq(npu_mask_sees(&m, r, c),
						 c >= npu_mask_first(&m, r) && c < npu_mask_end(&m, r));
				seen += npu_mask_sees(&m, r, c);
			}
		ck_assert_uint_eq(npu_mask_seen(&m), seen);
		for (uint64_t r = 0; r < m.seq_q; r++)
			ck_assert_int_eq(r < npu_mask_blind(&m), npu_mask_first(&m, r) == npu_mask_end(&m, r));
		ck_assert_uint_eq(npu_mask_hidden(&m, 0, m.seq_q, 0, m.seq), m.seq_q * m.seq - seen);
	}
}
END_TEST

START_TEST(an_instruction_hides_what_the_mask_hides)
{
	struct case_rng rng = { 2 };
	for (int i = 0; i < CASES; i++) {
		struct npu_mask m = random_mask(&rng);
		if (!m.seq || !m.seq_q)
			continue;
		uint64_t row = case_below(&rng, m.seq_q), rows = 1 + case_below(&rng, m.seq_q - row);
		uint64_t key = case_below(&rng, m.seq), keys = 1 + case_below(&rng, m.seq - key);
		struct npu_softmax s = { 0 };
		uint64_t hidden = 0;
		npu_mask_set(&m, row, rows, key, keys, &s);
		for (int64_t r = 0; r < (int64_t)rows; r++)
			for (int64_t c = 0; c < (int64_t)keys; c++) {
				/* the words of isa/npu.def */
				bool hides = (s.causal && c > s.diagonal + r) ||
					     (s.window && c <= s.diagonal + r - (int64_t)s.window) ||
					     (s.padded && c >= (int64_t)s.valid);
				ck_assert_int_eq(hides, !npu_mask_sees(&m, row + (uint64_t)r, key + (uint64_t)c));
				hidden += hides;
			}
		ck_assert_uint_eq(npu_mask_hidden(&m, row, rows, key, keys), hidden);
		/* A tile that is seen as a whole carries no mask. */
		if (!hidden)
			ck_assert(!s.causal && !s.window && !s.padded);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("masks");
	TCase *t = tcase_create("masks");
	tcase_add_test(t, a_row_sees_one_range_of_keys);
	tcase_add_test(t, an_instruction_hides_what_the_mask_hides);
	suite_add_tcase(s, t);
	return npu_suite_run(s);
}
