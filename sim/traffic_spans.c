/* SPDX-License-Identifier: Apache-2.0 */
/* Interval union by sorting, at doubling sizes: tiles arrive in any order, and most of them more than once. */
#include "sim/traffic_spans.h"

#include "sim/record_grow.h"

enum { FIRST_LIMIT = 4096 };

static int by_lo(const void *a, const void *b)
{
	const struct traffic_span *x = a, *y = b;
	return (x->lo > y->lo) - (x->lo < y->lo);
}

static void join(struct traffic_spans *s)
{
	if (s->count == 0)
		return;
	qsort(s->items, s->count, sizeof(*s->items), by_lo);
	uint64_t kept = 0;
	for (uint64_t i = 1; i < s->count; i++) {
		if (s->items[i].lo > s->items[kept].hi)
			s->items[++kept] = s->items[i];
		else if (s->items[i].hi > s->items[kept].hi)
			s->items[kept].hi = s->items[i].hi;
	}
	s->count = kept + 1;
}

bool traffic_spans_add(struct traffic_spans *s, uint64_t lo, uint64_t hi)
{
	if (s->count > 0 && s->items[s->count - 1].lo <= lo && lo <= s->items[s->count - 1].hi) {
		if (hi > s->items[s->count - 1].hi)
			s->items[s->count - 1].hi = hi;
		return true;
	}
	if (s->count >= s->limit) {
		join(s);
		s->limit = s->count < FIRST_LIMIT / 2 ? FIRST_LIMIT : 2 * s->count;
	}
	void *items = s->items;
	if (!record_grow(&items, &s->capacity, s->count + 1, sizeof(*s->items)))
		return false;
	s->items = items;
	s->items[s->count++] = (struct traffic_span){ lo, hi };
	return true;
}

uint64_t traffic_spans_bytes(struct traffic_spans *s)
{
	uint64_t bytes = 0;
	join(s);
	for (uint64_t i = 0; i < s->count; i++)
		bytes += s->items[i].hi - s->items[i].lo;
	return bytes;
}

void traffic_spans_fini(struct traffic_spans *s) { free(s->items); }
