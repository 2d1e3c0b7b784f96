/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of an engine, behind its queue: what the matrix array, the vector engine and the two DMA engines have in
 * common. The queue, the waits and the order of ends are models/engine.h, the same for all four. Plain C, no SystemC. */
#ifndef NPU_MODELS_BODY_H
#define NPU_MODELS_BODY_H

#include "models/probe.h"

#define NPU_NEVER UINT64_MAX

/* What a body tells its engine. */
struct body_listener {
	void *ctx;
	/* Every cycle before now in which an instruction was in service, in order, without gaps while one is. */
	void (*span)(void *ctx, enum npu_state state, uint32_t insn, uint64_t from, uint64_t to);
	/* The service of `insn` is over at cycle `end` (its last effect lies before `end`); bodies end in accept order. */
	void (*ended)(void *ctx, uint32_t insn, uint32_t slot, uint64_t stream_begin, uint64_t stream_end, uint64_t end);
};

/* Time only moves forward: `now` never falls between calls on one body. */
struct body_ops {
	/* Earliest cycle >= now at which `insn`, the next one in queue order, could be accepted as far as is known now:
	 * structural limits (a free channel, the last operand row has entered) and interlocks with those in service.
	 * It may turn out later when asked again, never earlier; NPU_NEVER: not before step() reports something. */
	uint64_t (*accept_at)(void *self, uint64_t now, uint32_t insn);
	/* Service of `insn` begins at `now`; accept_at(now) == now held. Its waits hold. */
	void (*accept)(void *self, uint64_t now, uint32_t insn);
	/* Tells ends at or before `now` and the spans before them; what is in service may stay untold until it ends. Returns
	 * the next cycle > now at which to look again, NPU_NEVER when nothing is in service. May be called any number of
	 * times in one cycle. */
	uint64_t (*step)(void *self, uint64_t now);
	/* Number of instructions in service. */
	unsigned (*in_service)(const void *self);
};

#endif
