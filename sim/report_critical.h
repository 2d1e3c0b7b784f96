/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path for people: what its cycles were spent on, most first, and the source lines and
 * instructions that most of them are in. */
#ifndef NPU_SIM_REPORT_CRITICAL_H
#define NPU_SIM_REPORT_CRITICAL_H

#include "sim/critical.h"

/* Of a simulation with a path (want_critical). False when memory was short or the stream failed. */
bool report_critical_print(const struct simulation *, FILE *, const struct report_style *);

#endif
