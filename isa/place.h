/* SPDX-License-Identifier: Apache-2.0 */
/* Places buffers in local memory: first fit in the groups of SRAM and the banks of the accumulators. Knows names and
 * lives only to draw a map when something does not fit. */
#ifndef NPU_ISA_PLACE_H
#define NPU_ISA_PLACE_H

#include "isa/error.h"
#include "isa/limits.h"

#include <stdbool.h>
#include <stdint.h>

struct npu_placer;

/* NULL when out of memory. */
struct npu_placer *npu_placer_new(const struct npu_capacity *);
void npu_placer_free(struct npu_placer *);

/* A line of source. */
struct npu_placed_line {
	const char *file; /* kept by reference; NULL: the one that all know */
	uint32_t line;    /* 0: not known */
};

/* Buffers of one name: name[0] to name[count - 1], or one called name. */
struct npu_place_request {
	const char *name; /* kept by reference */
	bool accum;       /* in the accumulators instead of SRAM */
	bool array;       /* has an index even when there is one */
	uint64_t bytes;   /* of each */
	uint32_t count;
	int64_t group;    /* SRAM group or accumulator bank to prefer, modulo their number; -1: the emptiest */
	int64_t step;     /* groups from one of an array to the next; 0: one */
	uint64_t align;   /* at least that of the memory; 0: just that */
	int64_t at;       /* offset of the first, the others behind it, where nothing lives; -1: anywhere */
	uint32_t *locals; /* [count] local addresses, written */
	uint32_t *handles; /* [count] for npu_placer_release, written */
	struct npu_placed_line declared; /* for the map */
	uint32_t least; /* buffers that must have room, the others up to `count` may go without; 0: all */
	bool pair;      /* as many buffers as the request before this one has */
	uint32_t *got;  /* buffers placed, least to count; NULL: nobody asks */
};

/* All of them, each in the group it prefers, or, where that leaves gaps too small for one of them, packed without
 * regard to groups. Fixed ones first. Where not all buffers have room, all requests get a second one before any gets a
 * third, the first request first. `now` is the instruction at which their lives begin. False: an error of code FIT
 * with a map of the memory that is too small, or the name of what lives where a fixed one should be; then nothing is
 * placed. */
bool npu_placer_place(struct npu_placer *, const struct npu_place_request *, unsigned n, uint32_t now,
		      struct npu_error *);
/* Whether that failed for a fixed buffer where another one lives, and of which request. */
bool npu_placer_clashes(const struct npu_placer *, unsigned *request);
/* Which memory was too small when it failed for another reason. */
bool npu_placer_lacks_accum(const struct npu_placer *);
void npu_placer_release(struct npu_placer *, uint32_t handle);
/* The same, and the map says when its life was over: before instruction `now`, in a line. */
void npu_placer_end(struct npu_placer *, uint32_t handle, uint32_t now, struct npu_placed_line);
/* Bytes that a buffer of `bytes` takes in a memory. */
uint64_t npu_placer_bytes(const struct npu_placer *, bool accum, uint64_t bytes);

#endif
