/* SPDX-License-Identifier: Apache-2.0 */
/* The machine against the twin on many programs, and the errors that docs/models/machine.md tells. */
#include "tests/golden/twin_cases.h"
#include "tests/support/dram_part.h"
#include "tests/support/suite.h"

#include <stdlib.h>

START_TEST(the_machine_agrees_with_the_twin_and_no_documented_error_has_grown)
{
	struct twin_table *t = calloc(TWIN_TABLES, sizeof *t);
	char path[1024], why[1024];
	ck_assert(twin_documented(t));
	twin_table_print(stdout, t, TWIN_TABLES);
	twin_blocks_print(stdout, t, TWIN_TABLES);
	snprintf(path, sizeof path, "%s/docs/models/machine.md", dram_part_root());
	FILE *page = fopen(path, "r");
	ck_assert_ptr_nonnull(page);
	for (unsigned i = 0; i < TWIN_TABLES; i++) {
		const char *fault = twin_table_fault(&t[i], why, sizeof why);
		ck_assert_msg(!fault, "%s: %s", t[i].name, fault ? fault : "");
		fault = twin_table_grown(&t[i], page, why, sizeof why);
		ck_assert_msg(!fault, "%s: %s", t[i].name, fault ? fault : "");
	}
	const char *fault = twin_blocks_grown(t, TWIN_TABLES, page, why, sizeof why);
	ck_assert_msg(!fault, "%s", fault ? fault : "");
	fclose(page);
	free(t);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("golden.twin_slow");
	TCase *both = tcase_create("both");
	tcase_set_timeout(both, 900);
	tcase_add_test(both, the_machine_agrees_with_the_twin_and_no_documented_error_has_grown);
	suite_add_tcase(suite, both);
	return npu_suite_run(suite);
}
