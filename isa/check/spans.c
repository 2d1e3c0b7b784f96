/* SPDX-License-Identifier: Apache-2.0 */
/* A sorted array: there are many more questions than changes. */
#include "isa/check/spans.h"

#include <stdlib.h>
#include <string.h>

/* The first one that begins at `lo` or later. */
static uint32_t lower_bound(const struct npu_spans *s, uint64_t lo)
{
	uint32_t from = 0, to = s->count;
	while (from < to) {
		uint32_t middle = from + (to - from) / 2;
		if (s->spans[middle].lo < lo)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static void update_reach(struct npu_spans *s, uint32_t from)
{
	for (uint32_t i = from; i < s->count; i++) {
		uint64_t before = i ? s->spans[i - 1].reach : 0;
		s->spans[i].reach = s->spans[i].hi > before ? s->spans[i].hi : before;
	}
}

bool npu_spans_add(struct npu_spans *s, uint64_t lo, uint64_t hi, uint32_t index)
{
	if (s->count == s->capacity) {
		uint32_t capacity = s->capacity ? 2 * s->capacity : 16;
		struct npu_span *grown = realloc(s->spans, capacity * sizeof *grown);
		if (!grown)
			return false;
		s->spans = grown;
		s->capacity = capacity;
	}
	uint32_t at = lower_bound(s, lo);
	memmove(s->spans + at + 1, s->spans + at, (s->count - at) * sizeof *s->spans);
	s->spans[at] = (struct npu_span){ lo, hi, 0, index };
	s->count++;
	update_reach(s, at);
	return true;
}

void npu_spans_remove(struct npu_spans *s, uint64_t lo, uint32_t index)
{
	for (uint32_t at = lower_bound(s, lo); at < s->count && s->spans[at].lo == lo; at++) {
		if (s->spans[at].index != index)
			continue;
		s->count--;
		memmove(s->spans + at, s->spans + at + 1, (s->count - at) * sizeof *s->spans);
		update_reach(s, at);
		return;
	}
}

const struct npu_span *npu_spans_holder(const struct npu_spans *s, uint64_t lo, uint64_t hi)
{
	const struct npu_span *best = NULL;
	for (uint32_t i = lower_bound(s, lo + 1); i-- > 0 && s->spans[i].reach > lo;) {
		const struct npu_span *span = &s->spans[i];
		if (span->hi <= lo)
			continue;
		if (span->hi >= hi)
			return span;
		if (!best || span->hi > best->hi)
			best = span;
	}
	return best;
}

const struct npu_span *npu_spans_met(const struct npu_spans *s, uint64_t lo, uint64_t hi)
{
	for (uint32_t i = lower_bound(s, hi); i-- > 0 && s->spans[i].reach > lo;)
		if (s->spans[i].hi > lo)
			return &s->spans[i];
	return NULL;
}

void npu_spans_fini(struct npu_spans *s)
{
	free(s->spans);
	*s = (struct npu_spans){ 0 };
}
