/* SPDX-License-Identifier: Apache-2.0 */
/* What a timeline shows as curves: DRAM bandwidth, live bytes, queues. */
#ifndef NPU_SIM_TIMELINE_COUNTERS_H
#define NPU_SIM_TIMELINE_COUNTERS_H

#include "sim/timeline/lanes.h"

enum { TIMELINE_COUNTERS = 4 + NPU_ENGINES };

/* Name and unit of counter 0..TIMELINE_COUNTERS-1. */
struct timeline_lane timeline_counter(unsigned counter);
/* Writes all values; counter 0 is lane `first`, the others follow. False when memory is short or the writer fails. */
bool timeline_counters(const struct simulation *, const struct timeline_writer *, uint32_t first);
/* Width of a bandwidth bucket in cycles: the power of two that gives at most 2,048 buckets, at least 64. */
uint64_t timeline_bucket_cycles(uint64_t cycles);

#endif
