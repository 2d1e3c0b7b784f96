/* SPDX-License-Identifier: Apache-2.0 */
/* What one engine has read, or written, so far in one memory: which of it came late enough, and touches given bytes.
 * Private to isa/check. */
#ifndef NPU_ISA_CHECK_FRONTIER_H
#define NPU_ISA_CHECK_FRONTIER_H

#include "isa/check/ranges.h"

/* The addresses at which ranges of a memory begin and end, sorted: a range is a run of the cells between them. */
struct npu_cells {
	uint64_t *bounds;
	uint32_t count;
};

/* Ranges in queue order, and over the cells two arrays that form a binary tree: for each cell it tells the position
 * (plus 1) of the last instruction that touched it. That of all cells of a run takes a logarithm of steps to set and to
 * ask for. Rows apart from each other count as one run from first to last: a quick answer may be a false alarm, never a
 * miss. */
struct npu_frontier {
	const struct npu_cells *cells;
	uint32_t leaves;   /* a power of two; 0: nothing yet */
	uint32_t *latest;  /* [2 * leaves] largest position below a node */
	uint32_t *covered; /* [2 * leaves] largest position of a range that covers a node and not its parent */
	const struct npu_range **ranges;
	struct npu_extent {
		uint64_t lo, hi;
	} * blocks; /* extent of each NPU_FRONTIER_BLOCK ranges */
	uint32_t count, capacity;
	struct npu_shape {
		const struct npu_range *range;
		uint32_t latest; /* position */
	} * shapes;              /* ranges that differ: loops come back to the same few */
	uint32_t nshapes, shape_capacity;
	uint32_t *shape_slots; /* [2 * shape_capacity] a hash table: index into shapes + 1 */
};

enum { NPU_FRONTIER_BLOCK = 64 };

/* The cells of one memory. False: out of memory. */
bool npu_cells_init(struct npu_cells *, const struct npu_ranges *, enum npu_space);
void npu_cells_fini(struct npu_cells *);

/* Adds a range of the instruction at `position` of its queue; positions never fall. False: out of memory. */
bool npu_frontier_add(struct npu_frontier *, const struct npu_range *, uint32_t position);
/* Whether an instruction at `from` or later may touch bytes of the range; false: none does. */
bool npu_frontier_touches(const struct npu_frontier *, const struct npu_range *, uint32_t from);
/* The answer without false alarms, as long as there are fewer shapes than ranges in the window (`window` of them); true
 * when it would take too long to tell. */
bool npu_frontier_may_share(const struct npu_frontier *, const struct npu_range *, uint32_t from, uint32_t window);
void npu_frontier_fini(struct npu_frontier *);

#endif
