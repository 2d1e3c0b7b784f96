/* SPDX-License-Identifier: Apache-2.0 */
/* SRAM banks and accumulator banks: who is served in which cycle. Exact where ports meet, closed form where they do not.
 * Nobody but models/memory*.c knows banks. docs/models/sram.md and accumulators.md tell the rules. */
#ifndef NPU_MODELS_MEMORY_H
#define NPU_MODELS_MEMORY_H

#include "models/body.h"
#include "models/hw.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Four ports, one an engine. Each has at most one beat under way: a set of words. Words are granted one by one, a granted
 * word is kept, and the beat has passed at the end of the cycle in which its last word is granted (a beat without words
 * passes at once). A cycle in which a beat was under way and did not pass is a denied one: sram_conflict when a word of
 * the SRAM is still missing, else accum_conflict.
 *
 *   SRAM          a word is `sram.bank_bytes` aligned bytes. A bank serves one word a cycle, read or write.
 *   accumulators  a word is max(matrix.cols, vector.lanes) x 4 bytes, unaligned. A bank serves one word of reads and one
 *                 word of writes a cycle.
 *
 * Among ports that ask one bank in one cycle the first one behind the port that won there last wins (LOAD, STORE, MATRIX,
 * VECTOR, LOAD, ...; LOAD first at the beginning). An access that nobody contests does not move the turn.
 *
 * Bodies and DMA describe what they touch as walks, the memory makes words of them: a walk of w words over t beats
 * touches words [floor(w i / t), floor(w (i + 1) / t)) in its beat i. */
struct memory;

/* `rows` rows of `row_bytes`, `stride` apart, read or written evenly in beats [begin, end) of the port: the words of each
 * row as it lies. by_column: word 0 of every row, then word 1 of every row that has one, ... (a transposed operand). A word
 * of the SRAM that two neighbours in this order share is touched once. `stride` is at least `row_bytes`, or 0: the same row
 * again and again. */
struct memory_walk {
	uint64_t begin;
	uint64_t end;
	uint32_t local;
	uint32_t row_bytes;
	uint32_t rows;
	uint32_t stride;
	bool write;
	bool by_column;
};

enum { MEMORY_WALKS = 12 };

/* All walks that touch a beat in [asked beat, until). */
struct memory_segment {
	uint64_t until;
	unsigned n;
	struct memory_walk walk[MEMORY_WALKS];
};

/* What a port that a body drives does. Beats are numbered by the body; `segment` describes those from `beat` on (until >
 * beat). It is asked only where this port meets another or itself, for the next beat to pass, and may be asked again. */
struct memory_stream {
	void *ctx;
	void (*segment)(void *ctx, uint64_t beat, struct memory_segment *out);
};

/* What a port may touch: groups of the SRAM and banks of the accumulators as bit masks. `self_*`: where one beat may ask
 * twice for one bank. A wide reach costs time, a narrow one is a bug. */
struct memory_reach {
	uint64_t sram;
	uint64_t accum_read;
	uint64_t accum_write;
	uint64_t self_sram;
	uint64_t self_accum_read;
	uint64_t self_accum_write;
};

/* Groups of the SRAM or banks of the accumulators that `bytes` bytes from `local` on lie in. */
uint64_t memory_mask(const struct memory *, uint32_t local, uint64_t bytes);
/* What one walk may touch, and where it may ask twice for one bank in one beat. */
struct memory_reach memory_walk_reach(const struct memory *, const struct memory_walk *);

/* `ideal`: nothing is ever denied. NULL: out of memory. */
struct memory *memory_new(const struct hw *hw, bool ideal);
void memory_free(struct memory *);

/* Settles all cycles before `now`, all ports. Cheap when nothing moves. Calls listeners. */
void memory_advance(struct memory *, uint64_t now);
/* Cycles before this one are settled. */
uint64_t memory_settled(const struct memory *);

struct memory_listener {
	void *ctx;
	/* Matrix, vector: the beat under way was denied in these cycles. DMA: `state` is BUSY while beats cross, *_CONFLICT
	 * while denied. In order; told when settled, possibly in several pieces. */
	void (*span)(void *ctx, enum npu_engine port, enum npu_state state, uint64_t from, uint64_t to);
	/* DMA: the last beat of burst `tag` crossed in the cycle before `cycle`. */
	void (*done)(void *ctx, enum npu_engine port, uint32_t tag, uint64_t cycle);
};
/* Listeners are called from memory_advance, which any engine may call: they note what they are told, and neither push nor
 * begin. Both functions may be NULL. */
void memory_listen(struct memory *, enum npu_engine port, const struct memory_listener *);

/* Matrix, vector: beats [first, end) pass from cycle `now` on, one a cycle unless denied. The port must be idle. Settles
 * cycles before `now`. `stream` must live as long as the memory. */
void memory_begin(struct memory *, enum npu_engine port, uint64_t now, const struct memory_stream *, uint64_t first,
		  uint64_t end);
/* Moves the end of the running stream to `end`, which is no earlier than the next beat to pass. */
void memory_extend(struct memory *, enum npu_engine port, uint64_t end);
/* The reach of beats that have not begun; nothing before the first call. Segments already asked for are forgotten. */
void memory_set_reach(struct memory *, enum npu_engine port, const struct memory_reach *);
/* The next beat to pass, and the first beat that has not begun: one more when the next one has already been denied. */
uint64_t memory_passed(const struct memory *, enum npu_engine port);
uint64_t memory_fresh(const struct memory *, enum npu_engine port);

/* Bytes that cross a DMA port in beats of `dma.port`, from cycle `at` on. */
struct memory_burst {
	uint64_t at;
	uint64_t order; /* of those of one `at`, the lower one first */
	unsigned channel;
	uint32_t local; /* it may lie in the accumulators */
	uint32_t bytes;
	bool write;
	uint32_t tag; /* comes back in `done` */
};
/* DMA: at >= memory_settled. Bursts of one channel cross in the order of `at`, then `order`, then of pushes; channels that
 * have a burst ready take turns beat by beat, the first one behind the channel whose beat crossed last; a denied beat
 * keeps the port. Returns the beats of it. */
uint32_t memory_push(struct memory *, enum npu_engine port, const struct memory_burst *);

/* Earliest cycle at which the stream or one of the bursts of this port can be over, if nobody else gets in its way and
 * nothing is pushed; NPU_NEVER when it is idle. Never too late; too early only when beats were or will be denied, or when
 * another channel of the port becomes ready before. */
uint64_t memory_next(const struct memory *, enum npu_engine port);
/* Earliest cycle at which all bursts of a channel can be over, on the same terms; NPU_NEVER when it has none. */
uint64_t memory_channel_end(const struct memory *, enum npu_engine port, unsigned channel);

/* Bytes asked of the SRAM or the accumulators: DMA ports count what is pushed, bodies what they add. */
void memory_count(struct memory *, enum npu_engine port, bool accumulators, uint64_t bytes);
uint64_t memory_bytes(const struct memory *, enum npu_engine port, bool accumulators);

#ifdef __cplusplus
}
#endif

#endif
