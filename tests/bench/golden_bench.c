/* SPDX-License-Identifier: Apache-2.0 */
/* The table of differences between the machine and the cycle-stepped twin, for docs/models/machine.md. */
#include "tests/golden/twin_cases.h"

#include <stdlib.h>

int main(void)
{
	struct twin_table *t = calloc(TWIN_TABLES, sizeof *t);
	bool ok = t && twin_documented(t);
	if (t) {
		twin_table_print(stdout, t, TWIN_TABLES);
		twin_blocks_print(stdout, t, TWIN_TABLES);
	}
	free(t);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
