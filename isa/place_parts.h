/* SPDX-License-Identifier: Apache-2.0 */
/* What placing and the words of a refusal share. */
#pragma once

#include "isa/place.h"

#define PLACE_NOWHERE UINT64_MAX

struct place_block {
	const char *name;
	uint32_t index; /* in its array; PLACE_NO_INDEX: it is none */
	bool accum;
	bool live;
	uint64_t at;
	uint64_t bytes;
	uint32_t first, last; /* instructions; last counts when it is over */
	struct npu_placed_line declared, ended;
};
enum { PLACE_NO_INDEX = 0xffffffff };

/* Where the last search of a range ended: what is larger, or must be aligned to more, does not fit before. */
struct place_hint {
	uint64_t from, to, bytes, align, at;
	uint32_t epoch; /* of the space; 0: none */
};
enum { HINT_BITS = 6, HINTS = 1 << HINT_BITS, MOST_COUNTED_GROUPS = 1 << 16 };

/* What lives in one memory. */
struct place_space {
	uint32_t *order; /* indices of blocks by address */
	uint32_t n, room;
	uint64_t *used; /* [ngroups] live bytes; NULL: too many groups to count */
	uint64_t ngroups;
	uint32_t epoch; /* counts what gave room back */
	struct place_hint hints[HINTS];
};

struct npu_placer {
	struct npu_capacity capacity;
	struct place_block *blocks;
	uint32_t nblocks, room;
	bool lacks_accum;
	const struct npu_place_request *clash; /* a fixed one that lies on another; NULL: none */
	unsigned clash_request;
	uint32_t clash_slot;
	struct place_block clash_with;
	struct place_space spaces[2]; /* SRAM, accumulators */
};

struct place_memory {
	bool accum;
	uint64_t bytes;
	uint64_t group_bytes; /* of a bank group, or an accumulator bank */
	uint64_t align;       /* of every block */
};

struct place_memory npu_place_memory(const struct npu_placer *, bool accum);

/* What `bytes` take of it. */
uint64_t npu_place_taken(const struct place_memory *, uint64_t bytes);

/* Live bytes in [from, to). */
uint64_t npu_place_live(const struct npu_placer *, const struct place_memory *, uint64_t from, uint64_t to);

/* The fewest buffers that a request takes. */
uint32_t npu_place_least(const struct npu_place_request *);

/* The index in the name of buffer `slot` of `count`. */
uint32_t npu_place_index(const struct npu_place_request *, uint32_t count, uint32_t slot);

/* One of `count` buffers of a request; false when there is no room (or an error of memory). `packed`: in no group. */
bool npu_place_one(struct npu_placer *, const struct npu_place_request *, uint32_t count, uint32_t slot, bool packed,
		   uint32_t now, struct npu_error *);

/* All buffers of `n` requests, those at fixed addresses first; false: none of them. */
bool npu_place_all(struct npu_placer *, const struct npu_place_request *requests, const uint32_t *counts, unsigned n,
		   bool packed, uint32_t now, struct npu_error *);

/* Blocks from `before` on were never there. */
void npu_place_forget(struct npu_placer *, uint32_t before);

/* isa/place_refuse.c */

/* Says why the requests of this memory find no room, with a map of it; false when they do. */
bool npu_place_refuse(struct npu_placer *, bool accum, const struct npu_place_request *requests, unsigned n,
		      uint32_t now, struct npu_error *);

/* Says on what the request that npu_placer_clashes() names lies; false. */
bool npu_place_refuse_clash(const struct npu_placer *, struct npu_error *);
