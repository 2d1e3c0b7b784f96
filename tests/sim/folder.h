/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of its own for each test of a suite, gone afterwards, also when the test has failed. */
#ifndef NPU_TESTS_SIM_FOLDER_H
#define NPU_TESTS_SIM_FOLDER_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder_root[64];
static char folder[96]; /* that the test runs in */

static inline void folder_open(void)
{
	snprintf(folder_root, sizeof folder_root, "/tmp/npusim-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder_root));
}

static inline void folder_close(void)
{
	char command[96];
	ck_assert_int_eq(chdir("/"), 0);
	snprintf(command, sizeof command, "rm -rf %s", folder_root);
	ck_assert_int_eq(system(command), 0);
}

static inline void folder_enter(void)
{
	snprintf(folder, sizeof folder, "%s/XXXXXX", folder_root);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
}

/* Fixtures around the whole case run in the suite's own process: a test that dies leaves nothing behind. */
static inline void folder_use(TCase *tests)
{
	tcase_add_unchecked_fixture(tests, folder_open, folder_close);
	tcase_add_checked_fixture(tests, folder_enter, NULL);
}

static inline void folder_write(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
}

#endif
