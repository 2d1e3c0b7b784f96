/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of which programs, contents and sweeps are made. */
#include "isa/random.h"
#include "tests/support/suite.h"

/* As the reference implementation has them (S. Vigna, splitmix64.c): seed 1234567. */
START_TEST(a_stream_is_that_of_splitmix64)
{
	const uint64_t expected[] = { 6457827717110365317u, 3203168211198807973u, 9817491932198370423u };
	uint64_t state = 1234567;
	for (unsigned i = 0; i < 3; i++)
		ck_assert_uint_eq(npu_random_next(&state), expected[i]);
}
END_TEST

START_TEST(an_order_has_each_number_once_and_is_decided_by_its_seed)
{
	enum { N = 1000 };
	uint32_t order[N], again[N], other[N];
	unsigned seen[N] = { 0 };
	npu_random_order(order, N, 7);
	npu_random_order(again, N, 7);
	npu_random_order(other, N, 8);
	for (unsigned i = 0; i < N; i++) {
		ck_assert_uint_lt(order[i], N);
		ck_assert_uint_eq(seen[order[i]]++, 0);
	}
	ck_assert_mem_eq(order, again, sizeof order);
	ck_assert_mem_ne(order, other, sizeof order);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("random");
	TCase *tcase = tcase_create("random");
	tcase_add_test(tcase, a_stream_is_that_of_splitmix64);
	tcase_add_test(tcase, an_order_has_each_number_once_and_is_decided_by_its_seed);
	suite_add_tcase(suite, tcase);
	return npu_suite_run(suite);
}
