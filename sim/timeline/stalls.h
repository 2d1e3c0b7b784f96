/* SPDX-License-Identifier: Apache-2.0 */
/* The stalled cycles of each instruction: the spans of its engine whose state it decided. */
#ifndef NPU_SIM_TIMELINE_STALLS_H
#define NPU_SIM_TIMELINE_STALLS_H

#include "sim/record.h"

struct stalls_item {
	uint64_t cycles;
	uint32_t state; /* enum npu_state, neither busy nor idle */
};

struct stalls {
	uint64_t *first; /* [ninsns + 1] into items */
	struct stalls_item *items;
};

/* False when out of memory. */
bool stalls_init(struct stalls *, const struct record *);
void stalls_fini(struct stalls *);
/* Adds up an instruction's stalls by state. */
void stalls_of(const struct stalls *, uint32_t insn, uint64_t cycles[NPU_STATES]);

#endif
