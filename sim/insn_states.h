/* SPDX-License-Identifier: Apache-2.0 */
/* The cycles of each instruction: the spans of its engine whose state it decided. Overlapping instructions share none. */
#ifndef NPU_SIM_INSN_STATES_H
#define NPU_SIM_INSN_STATES_H

#include "sim/record.h"

struct insn_state {
	uint64_t cycles;
	uint32_t state; /* enum npu_state */
};

struct insn_states {
	uint64_t *first; /* [ninsns + 1] into items */
	struct insn_state *items;
};

/* False when out of memory. */
bool insn_states_init(struct insn_states *, const struct record *);
void insn_states_fini(struct insn_states *);
/* Adds up an instruction's cycles by state. */
void insn_states_of(const struct insn_states *, uint32_t insn, uint64_t cycles[NPU_STATES]);

#endif
