/* SPDX-License-Identifier: Apache-2.0 */
/* The idiom that all kernels share: a ring of buffers between two engines. With one buffer they take turns, with two
 * (ping-pong) one fills tile i + 1 while the other works on tile i. */
#ifndef NPU_KERNELS_PINGPONG_H
#define NPU_KERNELS_PINGPONG_H

#include "kernels/builder.h"

/* A slot is one buffer, or a panel of a few that fill one after the other and are given back together. */
enum { RING_SLOTS = 3, PANEL_BUFFERS = 4, RING_BUFFERS = RING_SLOTS * PANEL_BUFFERS };

/* The producer of turn t waits for `free`, fills `at`, posts `full`; the consumer waits for `full` and posts `free`. */
struct slot {
	uint32_t at;
	unsigned index; /* of the buffer, for what lies beside it */
	struct npu_semaphore full;
	struct npu_semaphore free;
	struct npu_semaphore take; /* `free` for the first buffer of a panel, none for the others */
	struct npu_semaphore give; /* `free` for the last one */
};

struct ring {
	unsigned n; /* slots in use: 1, 2 or 3; filled by npu_place, as `at` is */
	unsigned panel; /* buffers a slot; 0: one */
	uint32_t at[RING_BUFFERS];
	struct npu_semaphore full[RING_SLOTS];
	struct npu_semaphore free[RING_SLOTS];
};

/* Slots for what is loaded `turns` times: no more than turns, for what comes once needs no second one. */
static inline unsigned load_slots(unsigned buffers, uint64_t turns)
{
	return turns < buffers ? (unsigned)turns : buffers;
}

/* Slots for what is computed and stored: two are enough, a third helps only what is loaded. */
static inline unsigned result_slots(unsigned buffers, uint64_t turns)
{
	return load_slots(buffers < 2 ? buffers : 2, turns);
}

/* Makes slots of panels, after npu_place has counted buffers in `n`. */
static inline void ring_panels(struct ring *r, unsigned panel)
{
	r->n /= panel;
	r->panel = panel;
}

/* Makes NAME_full[i] = 0 and NAME_free[i] = 1 for each of the slots that npu_place found room for. */
void ring_init(struct npu_builder *, struct ring *, const char *name);
/* NAME_free[i] alone, where something else tells that a slot is full; NAME_full[i] alone, that it is free. */
void ring_init_free(struct npu_builder *, struct ring *, const char *name);
void ring_init_full(struct npu_builder *, struct ring *, const char *name);
/* Gives the buffers back. */
void ring_release(struct npu_builder *, const struct ring *);

/* Where more than `few` channels serve large tiles at once, all of them come late and their rows meet in the banks of
 * the DRAM: a semaphore that each load of such a tile waits for and posts; none where there are few channels, or the
 * tiles, of `bytes`, are small. It orders no bytes. */
struct npu_semaphore loads_in_turn(struct npu_builder *, unsigned few, uint64_t bytes);

/* The slot of turn `t`: tiles pass through the slots round robin. */
static inline struct slot ring_at(const struct ring *r, uint64_t t)
{
	unsigned panel = r->panel ? r->panel : 1, i = (unsigned)(t % (r->n * panel));
	struct slot s = { .at = r->at[i], .index = i, .full = r->full[i / panel], .free = r->free[i / panel] };
	s.take = i % panel == 0 ? s.free : NPU_NO_SEMAPHORE;
	s.give = i % panel == panel - 1 ? s.free : NPU_NO_SEMAPHORE;
	return s;
}

/* The smaller of two lengths: the last tile of a dimension is ragged. */
static inline uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What a tile of size `tile` holds of a dimension; one that is empty has no tiles, of size 1. */
static inline uint64_t tile_within(uint64_t tile, uint64_t length)
{
	return length ? least(tile, length) : 1;
}

static inline uint64_t tiles_of(uint64_t length, uint64_t tile)
{
	return (length + tile - 1) / tile;
}

#endif
