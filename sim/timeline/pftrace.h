/* SPDX-License-Identifier: Apache-2.0 */
/* Perfetto's trace format. */
#ifndef NPU_SIM_TIMELINE_PFTRACE_H
#define NPU_SIM_TIMELINE_PFTRACE_H

#include "sim/timeline/pair.h"

/* Writes the whole trace. One cycle is one nanosecond; the real clock is in the description. The same simulation gives the
 * same bytes. */
bool pftrace_write(const struct simulation *, FILE *, bool gzip, struct npu_error *);
/* Two runs as two processes on one axis of time; a region of both has an arrow from the first run's to the second's, and the
 * lengths of both. */
bool pftrace_write_pair(const struct timeline_pair *, FILE *, bool gzip, struct npu_error *);

#endif
