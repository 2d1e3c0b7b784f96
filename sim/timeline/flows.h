/* SPDX-License-Identifier: Apache-2.0 */
/* Which posts each instruction's waits took, seen from the posting side. */
#ifndef NPU_SIM_TIMELINE_FLOWS_H
#define NPU_SIM_TIMELINE_FLOWS_H

#include "sim/record.h"

/* Flow number of a waiting instruction's slot: never 0, unlike any other's. */
static inline uint64_t flow_of(uint32_t waiter, unsigned slot) { return (uint64_t)waiter * NPU_SYNC_SLOTS + slot + 1; }

struct flows {
	uint64_t *first; /* [ninsns + 1] into items */
	uint64_t *items; /* flows by posting instruction, in the order of the waiters */
};

/* False when out of memory. */
bool flows_init(struct flows *, const struct record *);
void flows_fini(struct flows *);

#endif
