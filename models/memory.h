/* SPDX-License-Identifier: Apache-2.0 */
/* SRAM banks and accumulator banks: who is served in which cycle. Exact where streams meet, closed form where they do not.
 *
 * Four ports: matrix and vector (a body describes the words that its next beat needs) and the two DMA ports (bursts are
 * queued a channel, the port serves its channels round robin, a beat of `dma.port` bytes a cycle). A beat moves on when all
 * its words have been granted; words are granted one by one; a bank serves one word a cycle, round robin over ports. An
 * accumulator bank serves one row of reads and one row of writes a cycle. Nobody but this file knows banks. */
#ifndef NPU_MODELS_MEMORY_H
#define NPU_MODELS_MEMORY_H

#include "models/body.h"
#include "models/hw.h"

struct memory;

/* Up to four pieces of contiguous local bytes that one beat reads or writes. */
enum { MEMORY_PIECES = 6 };
struct memory_piece {
	uint32_t local;
	uint32_t bytes;
	bool write;
};
struct memory_beat {
	unsigned n;
	struct memory_piece piece[MEMORY_PIECES];
};

/* A port that a body drives. `beat` describes beat number `index` of the stream (consecutive, from 0 since the stream
 * began); `reach` gives, for beats [from, to), the whole range of local bytes that they can touch as at most MEMORY_PIECES
 * pieces: where these meet no other port's reach, beats pass one a cycle without being asked for one by one. */
struct memory_stream {
	void *ctx;
	void (*beat)(void *ctx, uint64_t index, struct memory_beat *out);
	void (*reach)(void *ctx, uint64_t from, uint64_t to, struct memory_beat *out);
};

struct memory *memory_new(const struct hw *hw, bool ideal);
void memory_free(struct memory *);

/* Matrix or vector: beats of the stream flow from cycle `now` on, one a cycle unless denied, until `beats` have passed.
 * One stream a port at a time; extending it while it runs is memory_extend. */
void memory_begin(struct memory *, enum npu_engine port, uint64_t now, const struct memory_stream *, uint64_t beats);
void memory_extend(struct memory *, enum npu_engine port, uint64_t beats);
/* Beats passed before `now`. */
uint64_t memory_passed(struct memory *, enum npu_engine port);
/* Cycles of this port lost before `now`, by kind: told through `denied` spans as they are settled. */

/* DMA: the burst's beats may cross the port from cycle `at` on (>= now). `done` is told when its last beat has crossed. */
void memory_push(struct memory *, enum npu_engine port, unsigned channel, uint64_t at, uint32_t local, uint32_t bytes,
		 bool write, uint32_t tag);

struct memory_listener {
	void *ctx;
	/* Matrix, vector: the beat was denied in these cycles. DMA: `state` BUSY while beats cross, *_CONFLICT while denied.
	 * In order a port. */
	void (*span)(void *ctx, enum npu_engine port, enum npu_state state, uint64_t from, uint64_t to);
	/* DMA: the last beat of burst `tag` crossed in the cycle before `cycle`. */
	void (*done)(void *ctx, enum npu_engine port, uint32_t tag, uint64_t cycle);
};
void memory_listen(struct memory *, enum npu_engine port, const struct memory_listener *);

/* Settles all cycles before `now` for all ports; cheap when nothing moves. */
void memory_advance(struct memory *, uint64_t now);
/* Earliest cycle at which something of this port can be over (stream or a burst), if nobody gets in its way. */
uint64_t memory_next(const struct memory *, enum npu_engine port);
uint64_t memory_bytes(const struct memory *, enum npu_engine port, bool accumulators);

#endif
