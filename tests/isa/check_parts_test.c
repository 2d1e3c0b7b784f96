/* SPDX-License-Identifier: Apache-2.0 */
/* The data structures of the checker against plain arrays. */
#include "isa/check/byteset.h"
#include "isa/check/ranges.h"
#include "isa/check/spans.h"
#include "tests/isa/random.h"
#include "tests/support/suite.h"

enum { BYTES = 240000 };

/* Runs that end near pages of the set, and short ones. */
static uint64_t random_at(struct rng *rng)
{
	return rng_one_in(rng, 3) ? (uint64_t)(1 << 15) * rng_below(rng, 6) + rng_below(rng, 3)
				  : rng_below(rng, BYTES - 70000);
}

START_TEST(a_byteset_is_an_array_of_flags)
{
	static bool plain[BYTES];
	struct npu_byteset set = { 0 };
	struct rng rng = { (uint64_t)_i };
	memset(plain, 0, sizeof plain);
	for (unsigned n = 0; n < 300; n++) {
		uint64_t from = random_at(&rng),
			 to = from + (rng_one_in(&rng, 3) ? rng_below(&rng, 70000) : rng_below(&rng, 200));
		bool add = !rng_one_in(&rng, 3);
		if (add)
			npu_byteset_add(&set, from, to);
		else
			npu_byteset_remove(&set, from, to);
		memset(plain + from, add, to - from);

		uint64_t first = 1, last = 2, expected_first = 1, expected_last = 2, missing = 0;
		from = random_at(&rng);
		to = from + rng_below(&rng, 70000);
		for (uint64_t at = from; at < to; at++) {
			expected_first = !plain[at] && !missing ? at : expected_first;
			expected_last = plain[at] ? expected_last : at;
			missing += !plain[at];
		}
		ck_assert_uint_eq(npu_byteset_missing(&set, from, to, &first, &last), missing);
		ck_assert_uint_eq(first, expected_first);
		ck_assert_uint_eq(last, expected_last);
	}
	ck_assert(!set.failed);
	npu_byteset_fini(&set);
}
END_TEST

START_TEST(spans_find_the_one_that_holds_most)
{
	enum { SPANS = 40 };
	struct rng rng = { (uint64_t)_i };
	struct npu_spans spans = { 0 };
	struct {
		uint64_t lo, hi;
		bool there;
	} plain[SPANS] = { 0 };
	for (unsigned n = 0; n < 2000; n++) {
		uint32_t i = rng_below(&rng, SPANS);
		if (plain[i].there) {
			npu_spans_remove(&spans, plain[i].lo, i);
			plain[i].there = false;
		} else {
			plain[i].lo = rng_below(&rng, 60);
			plain[i].hi = plain[i].lo + 1 + rng_below(&rng, 30);
			plain[i].there = npu_spans_add(&spans, plain[i].lo, plain[i].hi, i);
		}
		uint64_t lo = rng_below(&rng, 100), hi = lo + 1 + rng_below(&rng, 20), reach = 0;
		bool met = false;
		for (uint32_t s = 0; s < SPANS; s++) {
			met = met || (plain[s].there && plain[s].lo < hi && lo < plain[s].hi);
			if (plain[s].there && plain[s].lo <= lo && lo < plain[s].hi)
				reach = plain[s].hi > reach ? plain[s].hi : reach;
		}
		const struct npu_span *holder = npu_spans_holder(&spans, lo, hi), *any = npu_spans_met(&spans, lo, hi);
		ck_assert_int_eq(holder != NULL, reach > 0);
		ck_assert(!holder ||
			  (holder->lo <= lo && lo < holder->hi && (holder->hi == reach || holder->hi >= hi)));
		ck_assert_int_eq(any != NULL, met);
		ck_assert(!any || (any->lo < hi && lo < any->hi));
	}
	npu_spans_fini(&spans);
}
END_TEST

START_TEST(what_two_ranges_share_is_counted_to_the_byte)
{
	struct rng rng = { (uint64_t)_i };
	for (unsigned n = 0; n < 500; n++) {
		struct npu_range r[2];
		bool touched[2][600] = { 0 };
		for (unsigned i = 0; i < 2; i++) {
			r[i] = (struct npu_range){ .base = rng_below(&rng, 60),
						   .row_bytes = 1 + rng_below(&rng, 20),
						   .rows = 1 + rng_below(&rng, 8) };
			r[i].stride = r[i].row_bytes + rng_below(&rng, 30);
			for (uint64_t at = 0; at < r[i].rows * r[i].row_bytes; at++)
				touched[i][r[i].base + at / r[i].row_bytes * r[i].stride + at % r[i].row_bytes] = true;
		}
		uint64_t first, last, bytes = 0, expected_first = UINT64_MAX, expected_last = 0;
		for (uint64_t at = 0; at < 600; at++)
			if (touched[0][at] && touched[1][at]) {
				expected_first = bytes++ ? expected_first : at;
				expected_last = at;
			}
		ck_assert_uint_eq(npu_range_common(&r[0], &r[1], &first, &last), bytes);
		ck_assert_uint_eq(first, expected_first);
		ck_assert_uint_eq(last, expected_last);
		struct npu_access a = npu_range_access(&r[0]), b = npu_range_access(&r[1]);
		ck_assert_int_eq(npu_access_overlap(&a, &b), bytes > 0);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("parts of the checker");
	TCase *t = tcase_create("against plain arrays");
	tcase_add_loop_test(t, a_byteset_is_an_array_of_flags, 0, 6);
	tcase_add_loop_test(t, spans_find_the_one_that_holds_most, 0, 6);
	tcase_add_loop_test(t, what_two_ranges_share_is_counted_to_the_byte, 0, 6);
	suite_add_tcase(s, t);
	return npu_suite_run(s);
}
