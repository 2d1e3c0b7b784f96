/* SPDX-License-Identifier: Apache-2.0 */
/* What commands that do not check tell of a program on their way. */
#ifndef NPU_SIM_CMD_WARNINGS_H
#define NPU_SIM_CMD_WARNINGS_H

#include "sim/cli_work.h"

/* Tells on stderr of semaphores that nobody waits for, or that are waited for and nobody posts, in the words of `npusim
 * check`, as warnings. `path` as for check_work(). The number of warnings into *n. False with an error: memory. */
bool warn_of_semaphores(const struct work *, const char *path, unsigned *n, struct npu_error *);

/* The same of inputs that the source fills from files (file=), which a program does not hold. */
void warn_of_files(const struct work *, unsigned *n);

/* The option with which they count as errors. */
#define WERROR_OPTION { "werror", 0, NULL, "exit with status 1 when there are warnings, too" }

#endif
