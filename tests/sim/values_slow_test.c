/* SPDX-License-Identifier: Apache-2.0 */
/* Many and longer random cases of every kernel stay within their bounds. */
#include "tests/sim/values_cases.h"

enum { CASES = 400, LONGEST = 300, MOST_KERNELS = 64 };

static const struct npu_kernel *kernels[MOST_KERNELS];

START_TEST(a_kernel_stays_within_its_bounds)
{
	struct case_rng rng = { 29 };
	struct drawn drawn = { .exps = 0 };
	unsigned ran = 0;
	for (int i = 0; i < CASES; i++)
		ran += random_case(kernels[_i], LONGEST, &rng, &drawn);
	ck_assert_uint_gt(ran, CASES / 2);
	expect_all(&drawn, kernels[_i]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("values, at length");
	TCase *t = tcase_create("random cases");
	tcase_set_timeout(t, 1000);
	tcase_add_loop_test(t, a_kernel_stays_within_its_bounds, 0, kernels_with_reference(kernels));
	suite_add_tcase(s, t);
	return npu_suite_run(s);
}
