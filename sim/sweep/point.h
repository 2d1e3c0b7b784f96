/* SPDX-License-Identifier: Apache-2.0 */
/* One point: built, run, told as one JSON value. */
#ifndef NPU_SIM_SWEEP_POINT_H
#define NPU_SIM_SWEEP_POINT_H

#include "sim/sweep/alike.h"
#include "sim/sweep/spec.h"

/* What became of a point. */
enum sweep_status { SWEEP_MISSING, SWEEP_RUN, SWEEP_NOT_LEGAL, SWEEP_FAILED };
const char *sweep_status_name(enum sweep_status);

/* {"point", "at", "status": "run", "key", "program", "alike", "params", "figures"}, of a model no "program" and
 * "alike", but "longest": {"name", "share", "run"} of its longest operator; or "not legal" with "reason" and "error",
 * or "failed" with "error". One call a process that runs. What is known already, and alike, is not simulated; `known`
 * may be NULL. NULL when out of memory. */
json_t *sweep_point_run(const struct sweep_spec *, uint64_t point, struct known *known);
/* The hash of the program of a point of a kernel or a file, as its record has it, without a run of it. False with an
 * error where there is none. */
bool sweep_point_program(const struct sweep_spec *, uint64_t point, char out[17], struct npu_error *err);
/* The record of a point that the condition excludes, without any work; `divides`: because it divides by 0. */
json_t *sweep_point_excluded(const struct sweep_space *, uint64_t point, bool divides);
json_t *sweep_point_failed(const struct sweep_space *, uint64_t point, const char *why);

#endif
