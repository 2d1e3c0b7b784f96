/* SPDX-License-Identifier: Apache-2.0 */
/* A set of bytes, as intervals: how many distinct ones there are. */
#ifndef NPU_SIM_TRAFFIC_SPANS_H
#define NPU_SIM_TRAFFIC_SPANS_H

#include <stdbool.h>
#include <stdint.h>

struct traffic_span {
	uint64_t lo, hi;
};

/* Starts as all zero. Intervals are appended and now and then sorted and joined. */
struct traffic_spans {
	struct traffic_span *items;
	uint64_t count, capacity;
	uint64_t limit; /* intervals at which they are joined */
};

/* Adds bytes [lo, hi). False when out of memory. */
bool traffic_spans_add(struct traffic_spans *, uint64_t lo, uint64_t hi);
uint64_t traffic_spans_bytes(struct traffic_spans *);
void traffic_spans_fini(struct traffic_spans *);

#endif
