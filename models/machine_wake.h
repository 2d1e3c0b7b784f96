/* SPDX-License-Identifier: Apache-2.0 */
/* How a core asks for another block to be looked at. Whoever drives the cores (SystemC, or a loop in a test) steps each
 * block at the earliest cycle that it was woken for or that its last step returned. */
#ifndef NPU_MODELS_MACHINE_WAKE_H
#define NPU_MODELS_MACHINE_WAKE_H

#include "models/body.h"

/* What is stepped: the four engines under their own numbers, and these. */
enum machine_block { MACHINE_SEQUENCER = NPU_ENGINES, MACHINE_DRAM, MACHINE_BLOCKS };

struct machine_wake {
	void *ctx;
	/* Step `block` no later than at `cycle` (>= now; in the same cycle again when it is now). May be NULL. */
	void (*wake)(void *ctx, unsigned block, uint64_t cycle);
};

static inline void machine_wake_up(const struct machine_wake *w, unsigned block, uint64_t cycle)
{
	if (w->wake && cycle != NPU_NEVER)
		w->wake(w->ctx, block, cycle);
}

#endif
