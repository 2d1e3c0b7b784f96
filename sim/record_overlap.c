/* SPDX-License-Identifier: Apache-2.0 */
/* The merge: a lane is a ring of active intervals, settled together up to the time that every engine has told. */
#include "sim/record_overlap.h"

#include "sim/record_grow.h"

#include <string.h>

enum { BATCH = 64 };

static const unsigned group_of[NPU_ENGINES] = {
	[NPU_ENGINE_LOAD] = OVERLAP_DMA,
	[NPU_ENGINE_STORE] = OVERLAP_DMA,
	[NPU_ENGINE_MATRIX] = OVERLAP_COMPUTE,
	[NPU_ENGINE_VECTOR] = OVERLAP_COMPUTE,
};

void overlap_init(struct overlap *o)
{
	memset(o, 0, sizeof(*o));
	o->limit = BATCH;
}

void overlap_fini(struct overlap *o)
{
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		free(o->lane[e].items);
}

static uint64_t min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }

static void settle(struct overlap *o, uint64_t horizon)
{
	uint64_t t = o->settled;
	while (t < horizon) {
		uint64_t next = horizon;
		unsigned groups = OVERLAP_NEITHER;
		for (unsigned e = 0; e < NPU_ENGINES; e++) {
			struct overlap_lane *lane = &o->lane[e];
			while (lane->head < lane->count && lane->items[lane->head].to <= t)
				lane->head++;
			if (lane->head == lane->count)
				continue;
			const struct overlap_interval *first = &lane->items[lane->head];
			if (first->from <= t) {
				groups |= group_of[e];
				next = min_u64(next, first->to);
			} else {
				next = min_u64(next, first->from);
			}
		}
		o->cycles[groups] += next - t;
		t = next;
	}
	o->settled = t;
}

static void drop_settled(struct overlap_lane *lane)
{
	uint64_t left = lane->count - lane->head;
	if (left > 0)
		memmove(lane->items, lane->items + lane->head, left * sizeof(*lane->items));
	lane->head = 0;
	lane->count = left;
}

/* A lane that runs far ahead of the others cannot be settled: then it is tried again only when it has doubled. */
static void settle_known(struct overlap *o)
{
	uint64_t horizon = UINT64_MAX;
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		horizon = min_u64(horizon, o->lane[e].known);
	if (horizon != UINT64_MAX)
		settle(o, horizon);
	uint64_t longest = 0;
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		drop_settled(&o->lane[e]);
		if (o->lane[e].count > longest)
			longest = o->lane[e].count;
	}
	o->limit = longest < BATCH / 2 ? BATCH : 2 * longest;
}

bool overlap_begin(struct overlap *o, enum npu_engine engine, uint64_t from, uint64_t to)
{
	struct overlap_lane *lane = &o->lane[engine];
	void *items = lane->items;
	if (!record_grow(&items, &lane->capacity, lane->count + 1, sizeof(*lane->items)))
		return false;
	lane->items = items;
	lane->items[lane->count++] = (struct overlap_interval){ from, to };
	if (lane->count >= o->limit)
		settle_known(o);
	return true;
}

void overlap_engine_done(struct overlap *o, enum npu_engine engine) { o->lane[engine].known = UINT64_MAX; }

void overlap_finish(struct overlap *o, uint64_t end) { settle(o, end); }
