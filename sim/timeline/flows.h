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

/* What of an instruction a window shows. */
enum { FLOWS_BEGINS = 1, FLOWS_ENDS = 2 };
/* Whether the flow from `poster` to `waiter` is shown; `shown` ([ninsns] of those bits) NULL: all are. */
static inline bool flow_shown(const uint8_t *shown, uint32_t poster, uint32_t waiter)
{
	return !shown || (shown[poster] & FLOWS_ENDS && shown[waiter] & FLOWS_BEGINS);
}
/* False when out of memory. */
bool flows_init(struct flows *, const struct record *, const uint8_t *shown);
void flows_fini(struct flows *);

#endif
