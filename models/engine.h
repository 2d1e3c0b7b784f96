/* SPDX-License-Identifier: Apache-2.0 */
/* What the four engines have in common: the in-order queue, the waits and posts, syncs, and the account of every cycle.
 * The work itself is a body (models/body.h) behind it. Plain C, no SystemC. */
#ifndef NPU_MODELS_ENGINE_H
#define NPU_MODELS_ENGINE_H

#include "models/body.h"
#include "models/semaphore.h"
#include "models/sequencer.h"

#ifdef __cplusplus
extern "C" {
#endif

struct engine;
/* All pointers must outlive it. NULL when out of memory. */
struct engine *engine_new(enum npu_engine id, const struct npu_program *program, struct semaphores *semaphores,
			  const struct probe *probe, const struct machine_wake *wake);
void engine_free(struct engine *);
/* What the body is given on its way up; then the body, and who fills the queue. */
struct body_listener engine_listener(struct engine *);
void engine_attach(struct engine *, const struct body_ops *ops, void *body, struct sequencer *sequencer);

/* `insn` is in the queue from cycle `at` on. */
void engine_push(struct engine *, uint32_t insn, uint64_t at);

/* Does all that is due at `now`: ends and posts, waits taken, service begun. Returns the next cycle to look, NPU_NEVER when
 * only others can move it on. Any number of times a cycle; the state of a cycle is the same whatever the order of blocks. */
uint64_t engine_step(struct engine *, uint64_t now);

/* When the last instruction so far has ended. */
uint64_t engine_last_end(const struct engine *);
/* Instructions that began and have not ended, and those in the queue. */
uint64_t engine_unfinished(const struct engine *);
/* The head of the queue, PROBE_NOBODY when the queue is empty. */
uint32_t engine_head(const struct engine *);
/* Tells the probe the rest of the account, so that it ends at `cycles`. */
void engine_close(struct engine *, uint64_t cycles);

#ifdef __cplusplus
}
#endif

#endif
