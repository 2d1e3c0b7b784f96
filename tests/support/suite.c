/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one Check suite and turns its result into an exit status. */
#include "tests/support/suite.h"

#include <stdlib.h>

int npu_suite_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int ran = srunner_ntests_run(runner);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return ran > 0 && failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
