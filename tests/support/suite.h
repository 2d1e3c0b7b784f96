/* SPDX-License-Identifier: Apache-2.0 */
/* The last line of every Check executable's main: return npu_suite_run(my_suite()). */
#ifndef NPU_TESTS_SUPPORT_SUITE_H
#define NPU_TESTS_SUPPORT_SUITE_H

#include <check.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs suite, each test in a process of its own (CK_FORK=no in the environment: all in this one), prints the failures
 * and Check's closing line, frees the suite. Returns EXIT_SUCCESS when at least one check ran and none failed. */
int npu_suite_run(Suite *suite);

#ifdef __cplusplus
}
#endif

#endif
