/* SPDX-License-Identifier: Apache-2.0 */
/* Each region goes to the first lane of its depth that is free when it begins. */
#include "sim/timeline/region_lanes.h"

#include "sim/record_grow.h"

#include <string.h>

/* Start and end of each region's own instructions, then of what lies inside it. Parents come before their children. */
static void measure(struct region_slice *slices, const struct record *r)
{
	const struct npu_program *p = r->program;
	for (uint32_t i = 0; i < p->nregions; i++) {
		uint32_t parent = p->regions[i].parent;
		slices[i] = (struct region_slice){ .from = UINT64_MAX, .region = i };
		slices[i].depth = parent < i ? slices[parent].depth + 1 : 0;
	}
	for (uint32_t i = 0; i < p->ninsns; i++) {
		if (p->region[i] == NPU_NO_REGION)
			continue;
		struct region_slice *s = &slices[p->region[i]];
		s->from = r->events[i].start < s->from ? r->events[i].start : s->from;
		s->to = r->events[i].end > s->to ? r->events[i].end : s->to;
	}
	for (uint32_t i = p->nregions; i-- > 0;) {
		if (p->regions[i].parent >= i)
			continue;
		struct region_slice *outer = &slices[p->regions[i].parent];
		outer->from = slices[i].from < outer->from ? slices[i].from : outer->from;
		outer->to = slices[i].to > outer->to ? slices[i].to : outer->to;
	}
}

static int by_depth_and_time(const void *a, const void *b)
{
	const struct region_slice *x = a, *y = b;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->region > y->region) - (x->region < y->region);
}

static int by_lane_and_time(const void *a, const void *b)
{
	const struct region_slice *x = a, *y = b;
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

static bool new_lane(struct region_lanes *l, uint64_t **ends, uint64_t *capacity, uint32_t depth, uint32_t order)
{
	uint64_t same = *capacity;
	void *end = *ends;
	if (!record_grow(&end, capacity, l->nlanes + 1ull, sizeof(**ends)))
		return false;
	*ends = end;
	if (*capacity != same) {
		uint32_t *depths = realloc(l->depth, *capacity * sizeof(*depths));
		if (depths)
			l->depth = depths;
		uint32_t *orders = realloc(l->order, *capacity * sizeof(*orders));
		if (orders)
			l->order = orders;
		if (!depths || !orders)
			return false;
	}
	l->depth[l->nlanes] = depth;
	l->order[l->nlanes] = order;
	(*ends)[l->nlanes++] = 0;
	return true;
}

static bool assign(struct region_lanes *l)
{
	uint64_t *ends = NULL, capacity = 0;
	uint32_t first = 0; /* lane of this depth */
	bool ok = true;
	for (uint32_t i = 0; i < l->nslices && ok; i++) {
		struct region_slice *s = &l->slices[i];
		if (i > 0 && s->depth != l->slices[i - 1].depth)
			first = l->nlanes;
		uint32_t lane = first;
		while (lane < l->nlanes && ends[lane] > s->from)
			lane++;
		if (lane == l->nlanes)
			ok = new_lane(l, &ends, &capacity, s->depth, lane - first);
		if (!ok)
			break;
		s->lane = lane;
		ends[lane] = s->to;
	}
	free(ends);
	return ok;
}

bool region_lanes_init(struct region_lanes *l, const struct record *r)
{
	uint32_t n = r->program->nregions;
	memset(l, 0, sizeof(*l));
	l->slices = malloc((n + 1ull) * sizeof(*l->slices));
	if (!l->slices)
		return false;
	measure(l->slices, r);
	for (uint32_t i = 0; i < n; i++)
		if (l->slices[i].from < l->slices[i].to)
			l->slices[l->nslices++] = l->slices[i];
	qsort(l->slices, l->nslices, sizeof(*l->slices), by_depth_and_time);
	if (!assign(l))
		return false;
	qsort(l->slices, l->nslices, sizeof(*l->slices), by_lane_and_time);
	return true;
}

void region_lanes_fini(struct region_lanes *l)
{
	free(l->slices);
	free(l->depth);
	free(l->order);
	memset(l, 0, sizeof(*l));
}
