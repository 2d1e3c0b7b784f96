/* SPDX-License-Identifier: Apache-2.0 */
/* Happens-before: which ends of instructions every legal execution puts before which starts. Private to isa/check. */
#ifndef NPU_ISA_CHECK_ORDER_H
#define NPU_ISA_CHECK_ORDER_H

#include "isa/program.h"

/* Each instruction i is two events, its start S(i) and its end E(i). All that a legal execution must keep:
 *
 *   S(i) before E(i)
 *   S(i) before S(j), E(i) before E(j)   when i comes before j in one queue
 *   E(p) before S(i)                     when i waits for a semaphore, and the post of p completes the units that i
 *                                        and all waits before it take
 *
 * The last line is exact because a semaphore has one posting and one waiting engine: posts come in queue order (ends
 * do), takes come in queue order (starts do), so the units are numbered on both sides and unit k taken is unit k
 * posted. The first `initial` units need no post. When i takes up to unit k, S(i) needs "k - initial units posted",
 * which is true from E(p) on and not before, p being the first one in its queue with at least that many. Two waits of
 * an instruction are two such lines: nobody else takes from either semaphore, so taking them together adds nothing.
 *
 * A `sync` is an instruction like the others: it starts when its waits hold, ends after all before it have ended (the
 * second line), and what comes later in its queue starts after its waits hold (the second line again). Whether it also
 * holds back later starts until it ends does not matter to other engines, and neither do the interlocks inside an
 * engine: both add lines E(i) before S(j) within one queue, and whatever is known to precede E(i) but not S(j) would
 * have reached E(i) through the start of an instruction at or before i, hence before S(j) too.
 *
 * So the legal executions are exactly the orders of events that keep these lines, and i is ordered before j if and only
 * if a chain of lines leads from E(i) to S(j). (If: every execution keeps the chain. Only if: without a chain either
 * way, put S(j) before E(i) and S(i) before E(j). A cycle through the new lines would need a chain from E(i) to S(j),
 * from E(j) to S(i), or from some E to its own S; there is none, so an execution with both exists, and in it i and j
 * overlap.)
 *
 * Ends of one queue are in order, so what must have ended before an event is four numbers, one a queue: a vector clock.
 */
struct npu_clock {
	uint32_t ended[NPU_ENGINES]; /* instructions of each queue */
};

struct npu_order {
	const struct npu_program *program;
	uint32_t *position;           /* [ninsns] place of an instruction in its queue */
	uint32_t *queue[NPU_ENGINES]; /* instructions of each queue */
	uint32_t length[NPU_ENGINES];
	uint32_t *sequence;      /* [ninsns] instructions in an order that is legal; program order if that is */
	struct npu_clock *start; /* [ninsns] what has ended before the start of an instruction */
	struct npu_clock *end;   /* [ninsns] what has ended when it ends, itself included */
	uint32_t (*poster)[NPU_SYNC_SLOTS]; /* [ninsns] whose end each wait needs, or one of the two below */
	uint32_t nstuck;                    /* heads of queues when the first deadlock was met, 0: there is none */
	uint32_t stuck[NPU_ENGINES];
};

enum {
	NPU_ORDER_NOBODY = 0xffffffff, /* the slot is not used, or the initial count suffices */
	NPU_ORDER_NEVER = 0xfffffffe   /* no post completes it */
};

/* False: out of memory. `without`: a semaphore whose waits are ignored, NPU_ORDER_NOBODY for none. A deadlock is broken
 * by ignoring the waits of the earliest instruction that is stuck. */
bool npu_order_init(struct npu_order *, const struct npu_program *, uint32_t without);
void npu_order_fini(struct npu_order *);
/* Whether every legal execution ends i before it starts j. */
static inline bool npu_ends_before(const struct npu_order *o, uint32_t i, uint32_t j)
{
	return o->start[j].ended[npu_op_engine(o->program->insns[i].op)] > o->position[i];
}
/* Whether everything that has ended by `want` and is more than a sync has ended by `have`. */
bool npu_clock_covers(const struct npu_order *, const struct npu_clock *have, const struct npu_clock *want);
/* Whether one wait of an instruction orders nothing but what its others and those before it in its queue order. */
bool npu_order_implied(const struct npu_order *, uint32_t insn, unsigned slot);

#endif
