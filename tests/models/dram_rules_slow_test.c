/* SPDX-License-Identifier: Apache-2.0 */
/* dram_rules_test's random traffic, more of it. */
#include "tests/support/dram_part.h"
#include "tests/support/dram_traffic.h"
#include "tests/support/suite.h"

enum { REQUESTS = 4000, SEEDS = 3 };

START_TEST(no_part_breaks_a_rule_under_much_random_traffic)
{
	for (uint64_t seed = 0; seed < SEEDS; seed++)
		traffic_check_part(dram_part_names[_i], 777 + 10 * seed, REQUESTS);
}
END_TEST

START_TEST(options_break_no_rule_under_much_random_traffic)
{
	for (uint64_t seed = 0; seed < SEEDS; seed++)
		traffic_check_options(dram_part_names[_i], 888 + 10 * seed, REQUESTS);
}
END_TEST

static int count_parts(void)
{
	int n = 0;
	while (dram_part_names[n])
		n++;
	return n;
}

static Suite *dram_rules_slow_suite(void)
{
	Suite *s = suite_create("dram_rules_slow");
	TCase *t = tcase_create("traffic");
	tcase_set_timeout(t, 600);
	tcase_add_loop_test(t, no_part_breaks_a_rule_under_much_random_traffic, 0, count_parts());
	tcase_add_loop_test(t, options_break_no_rule_under_much_random_traffic, 0, count_parts());
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return npu_suite_run(dram_rules_slow_suite());
}
