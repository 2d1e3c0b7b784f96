/* SPDX-License-Identifier: Apache-2.0 */
/* Issues a program's instructions in order into the engines' queues. It works ahead: an instruction is put into its queue
 * with the cycle at which it arrives there, as early as that cycle is known. So it needs no event of its own an instruction.
 *
 *   t(0) = launch_cycles
 *   t(i) = max(t(i-1) + issue_cycles, arrival of the instruction's bytes, cycle in which a full queue gave up an entry)
 */
#ifndef NPU_MODELS_SEQUENCER_H
#define NPU_MODELS_SEQUENCER_H

#include "isa/program.h"
#include "models/machine_wake.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sequencer_config {
	uint64_t launch_cycles;
	uint64_t issue_cycles;
	uint64_t queue_depth;  /* NPU_NEVER: without end */
	/* Instruction bytes in DRAM. fetch_buffer 0: instructions are on chip. */
	uint64_t fetch_buffer; /* instructions */
	uint64_t fetch_base;   /* DRAM address of instruction 0 */
	uint32_t fetch_insns;  /* instructions a request, >= 1 */
};

/* What a sequencer tells. */
struct sequencer_listener {
	void *ctx;
	/* `insn` is in the queue of `engine` from cycle `at` on (which may lie ahead). */
	void (*push)(void *ctx, enum npu_engine engine, uint32_t insn, uint64_t at);
	/* Instruction bytes are asked for: the request leaves at `now`. Needed with fetch_buffer only. */
	void (*fetch)(void *ctx, uint64_t now, uint64_t addr, uint32_t bytes, uint32_t tag);
};

struct sequencer;
/* Keeps `program` and `probe`. NULL when out of memory. */
struct sequencer *sequencer_new(const struct npu_program *program, const struct sequencer_config *config,
				const struct sequencer_listener *listener, const struct probe *probe,
				const struct machine_wake *wake);
void sequencer_free(struct sequencer *);

/* Issues all that is known to fit. Call once, before the first cycle. */
void sequencer_start(struct sequencer *);
/* An entry of the engine's queue was given up at `now`; nobody will ask why it was empty before. */
void sequencer_popped(struct sequencer *, enum npu_engine engine, uint64_t now);
/* The bytes of fetch request `tag` are there at cycle `at`. */
void sequencer_fetched(struct sequencer *, uint32_t tag, uint64_t at);
/* Only with instructions in DRAM: sends what is due. Returns the next cycle to look. */
uint64_t sequencer_step(struct sequencer *, uint64_t now);
/* No fetch request leaves before this cycle, as far as is known at `now`, unless a request that is out comes back. */
uint64_t sequencer_earliest_fetch(const struct sequencer *, uint64_t now);

/* Instructions of the engine that are not yet issued; counted only for a probe that wants spans. */
uint64_t sequencer_remaining(const struct sequencer *, enum npu_engine engine);
/* The engine's queue was empty in [from, to): emits dispatch_blocked where the sequencer was stuck on a full queue,
 * dispatch_rate elsewhere. Calls for one engine come in order of time, none after the engine's next instruction. */
void sequencer_explain(struct sequencer *, enum npu_engine engine, uint64_t from, uint64_t to,
		       void (*emit)(void *ctx, enum npu_state state, uint64_t from, uint64_t to), void *ctx);
/* The engine whose full queue holds the sequencer, NPU_ENGINES: none. */
enum npu_engine sequencer_stuck(const struct sequencer *);
/* The instruction to be issued next. */
uint32_t sequencer_next(const struct sequencer *);
/* The cycle up to which its line is known: behind the last issue. */
uint64_t sequencer_end(const struct sequencer *);
uint64_t sequencer_fetch_bytes(const struct sequencer *);
/* Tells the probe the rest of the sequencer's line, so that it ends at `cycles`. */
void sequencer_close(struct sequencer *, uint64_t cycles);

#ifdef __cplusplus
}
#endif

#endif
