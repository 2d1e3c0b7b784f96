/* SPDX-License-Identifier: Apache-2.0 */
/* The table of differences between the machine and the cycle-stepped twin, for the documentation. */
#include "tests/support/twin_cases.h"

#include <stdlib.h>

/* golden_bench [RUNS]: random programs a family; kernels a tenth of it each. */
int main(int argc, char **argv)
{
	uint64_t runs = argc > 1 ? strtoull(argv[1], NULL, 10) : 40;
	struct twin_table t[] = { { .name = "presets" }, { .name = "random" }, { .name = "kernels" } };
	bool ok = twin_add_random(&t[0], 0, runs, true);
	ok = twin_add_random(&t[1], 0, runs, false) && ok;
	ok = twin_add_kernels(&t[2], 1 + (unsigned)(runs / 10), 256, 10000000) && ok;
	twin_table_print(stdout, t, 3);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
