/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `npusim run` that compute values. */
#ifndef NPU_SIM_VALUES_CLI_H
#define NPU_SIM_VALUES_CLI_H

#include "sim/cli_work.h"
#include "sim/values.h"

/* What can be told to be wrong before anything is built. */
bool values_check(const struct cli *, struct npu_error *);
/* The values that the command line asks for, filled; *out is NULL when it asks for none. `work` must outlive them. */
bool values_open(const struct cli *, const struct work *, struct values **out, struct npu_error *);
/* Executes, compares and, unless `quiet`, prints; then the dumps. The exit status; every error has been told. */
int values_finish(const struct cli *, struct values *, const struct report_style *, bool quiet);

#endif
