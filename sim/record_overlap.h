/* SPDX-License-Identifier: Apache-2.0 */
/* Which cycles had DMA, computation, both or neither in service: an exact merge of four ordered streams of spans that
 * keeps only what the slowest stream has not told yet. */
#ifndef NPU_SIM_RECORD_OVERLAP_H
#define NPU_SIM_RECORD_OVERLAP_H

#include "isa/insn.h"

enum { OVERLAP_NEITHER = 0, OVERLAP_DMA = 1, OVERLAP_COMPUTE = 2, OVERLAP_BOTH = 3, OVERLAP_GROUPS = 4 };

struct overlap_interval {
	uint64_t from;
	uint64_t to;
};

struct overlap_lane {
	struct overlap_interval *items; /* active intervals not settled yet: items[head..count) */
	uint64_t head, count, capacity;
	uint64_t known; /* told up to here; UINT64_MAX: nothing active comes any more */
};

struct overlap {
	struct overlap_lane lane[NPU_ENGINES];
	uint64_t settled;
	uint64_t limit; /* intervals of a lane at which settling is tried */
	uint64_t cycles[OVERLAP_GROUPS];
};

void overlap_init(struct overlap *);
void overlap_fini(struct overlap *);
/* An active span that joins no former one. False when out of memory. */
bool overlap_begin(struct overlap *, enum npu_engine, uint64_t from, uint64_t to);
/* The next span of an engine; spans of an engine join without gaps. False when out of memory. */
static inline bool overlap_span(struct overlap *o, enum npu_engine engine, bool active, uint64_t from, uint64_t to)
{
	struct overlap_lane *lane = &o->lane[engine];
	if (lane->known != UINT64_MAX)
		lane->known = to;
	if (!active)
		return true;
	if (lane->count == lane->head || lane->items[lane->count - 1].to != from)
		return overlap_begin(o, engine, from, to);
	lane->items[lane->count - 1].to = to;
	return true;
}
/* The engine's remaining spans, if any, are inactive: nobody has to wait for them. */
void overlap_engine_done(struct overlap *, enum npu_engine);
/* Settles [0, end); all spans before it have been told. */
void overlap_finish(struct overlap *, uint64_t end);

#endif
