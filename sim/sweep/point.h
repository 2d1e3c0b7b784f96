/* SPDX-License-Identifier: Apache-2.0 */
/* One point: built, run, told as one JSON value. */
#ifndef NPU_SIM_SWEEP_POINT_H
#define NPU_SIM_SWEEP_POINT_H

#include "sim/sweep/alike.h"
#include "sim/sweep/spec.h"

/* What became of a point. */
enum sweep_status { SWEEP_MISSING, SWEEP_RUN, SWEEP_NOT_LEGAL, SWEEP_FAILED };
const char *sweep_status_name(enum sweep_status);

/* {"point", "status": "run", "key", "params", "figures"}, of a model also "longest": {"name", "share", "run"} of its longest operator, or "not legal" with "reason" and "error", or "failed" with
 * "error". One call a process that runs. What is known already, and alike, is not simulated; `known` may be NULL. NULL when out of
 * memory. */
json_t *sweep_point_run(const struct sweep_spec *, uint64_t point, struct known *known);
/* The same of a point that the condition excludes, without any work; `divides`: because it divides by 0. */
json_t *sweep_point_excluded(uint64_t point, bool divides);
json_t *sweep_point_failed(uint64_t point, const char *why);

#endif
