/* SPDX-License-Identifier: Apache-2.0 */
/* What to say when nothing moves any more and instructions are left. */
#ifndef NPU_MODELS_MACHINE_DEADLOCK_H
#define NPU_MODELS_MACHINE_DEADLOCK_H

#include "models/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills `err`: every instruction that waits in a queue and what for (of many the first 20 behind the heads, and how many
 * more), the full queue that the sequencer is stuck on. Returns false. */
bool machine_tell_deadlock(const struct npu_program *program, struct engine *const engines[NPU_ENGINES],
			   const struct semaphores *semaphores, const struct sequencer *sequencer, uint64_t cycle,
			   struct npu_error *err);

#ifdef __cplusplus
}
#endif

#endif
