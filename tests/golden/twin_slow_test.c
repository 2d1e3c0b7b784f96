/* SPDX-License-Identifier: Apache-2.0 */
/* The machine against the twin on many programs. */
#include "tests/support/suite.h"
#include "tests/support/twin_cases.h"

static void must_agree(struct twin_table *t)
{
	char why[1024];
	twin_table_print(stdout, t, 1);
	const char *fault = twin_table_fault(t, why, sizeof why);
	ck_assert_msg(!fault, "%s: %s", t->name, fault ? fault : "");
}

START_TEST(random_programs_on_the_presets_agree)
{
	struct twin_table t = { .name = "presets" };
	ck_assert(twin_add_random(&t, 1000, 1080, true));
	must_agree(&t);
}
END_TEST

START_TEST(random_programs_on_random_machines_agree)
{
	struct twin_table t = { .name = "random" };
	ck_assert(twin_add_random(&t, 1000, 1160, false));
	must_agree(&t);
}
END_TEST

START_TEST(shipped_kernels_agree)
{
	struct twin_table t = { .name = "kernels" };
	ck_assert(twin_add_kernels(&t, 5, 256, 10000000));
	must_agree(&t);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("golden.twin_slow");
	TCase *both = tcase_create("both");
	tcase_set_timeout(both, 900);
	tcase_add_test(both, random_programs_on_the_presets_agree);
	tcase_add_test(both, random_programs_on_random_machines_agree);
	tcase_add_test(both, shipped_kernels_agree);
	suite_add_tcase(suite, both);
	return npu_suite_run(suite);
}
