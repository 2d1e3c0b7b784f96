/* SPDX-License-Identifier: Apache-2.0 */
/* Counting semaphores in time. Each has one posting and one waiting engine, so counts are taken in the order in which
 * they were posted and the k-th wait always meets the same post. */
#ifndef NPU_MODELS_SEMAPHORE_H
#define NPU_MODELS_SEMAPHORE_H

#include "isa/program.h"
#include "models/machine_wake.h"

#ifdef __cplusplus
extern "C" {
#endif

struct semaphores;

/* `latency`: cycles from a post to when it is seen. Keeps `program`. NULL when out of memory. */
struct semaphores *semaphores_new(const struct npu_program *program, uint64_t latency, const struct machine_wake *wake);
void semaphores_free(struct semaphores *);

/* `insn` ended at cycle `end`; posts of one semaphore come in order of `end`. Wakes the waiting engine when what it asked
 * for last is now there. */
void semaphore_post(struct semaphores *, struct npu_sem_ref what, uint32_t insn, uint64_t end);

/* The cycle from which `count` counts are seen, NPU_NEVER while they are not posted. *by: the instruction that posted the
 * last of them, PROBE_NOBODY for initial counts. */
uint64_t semaphore_seen(struct semaphores *, uint32_t sem, uint64_t count, uint32_t *by);
/* How often what this engine asked for in vain has come to be posted: while it stays the same, so does NPU_NEVER. */
uint64_t semaphores_news(const struct semaphores *, enum npu_engine waiter);

/* Takes counts that are seen at `now`. */
void semaphore_take(struct semaphores *, struct npu_sem_ref what, uint64_t now);

/* Counts posted or initial and not yet taken, seen or not. */
uint64_t semaphore_count(const struct semaphores *, uint32_t sem);

/* A count went over its maximum: a post that was seen in a cycle before now, takes of its own cycle being made first.
 * False fills `err` with the first such semaphore and the post that did it. */
bool semaphores_check(struct semaphores *, struct npu_error *err);
/* The same for the posts that nobody has looked at yet, at the end of a run. */
bool semaphores_close(struct semaphores *, struct npu_error *err);

#ifdef __cplusplus
}
#endif

#endif
