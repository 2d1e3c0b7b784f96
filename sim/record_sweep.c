/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses are cut where any range begins or ends; in each piece the lives over it are joined along time. */
#include "sim/record_sweep.h"

#include "sim/record_grow.h"

#include <string.h>

/* A piece's life; `piece` indexes the cuts. */
struct part {
	uint64_t piece, start, end;
	bool declared;
};

struct change {
	uint64_t time;
	int64_t bytes;
};

struct work {
	uint64_t *cuts;
	uint64_t ncuts;
	struct part *parts;
	uint64_t nparts, parts_capacity;
	struct change *changes;
	uint64_t nchanges, changes_capacity;
};

static int compare(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

static int by_value(const void *a, const void *b) { return compare(*(const uint64_t *)a, *(const uint64_t *)b); }

static int by_piece_and_start(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	if (x->piece != y->piece)
		return compare(x->piece, y->piece);
	if (x->start != y->start)
		return compare(x->start, y->start);
	return compare(x->end, y->end);
}

static int by_time(const void *a, const void *b)
{
	return compare(((const struct change *)a)->time, ((const struct change *)b)->time);
}

static bool make_cuts(struct work *w, const struct sweep_life *lives, uint64_t count)
{
	w->cuts = malloc((2 * count + 1) * sizeof(*w->cuts));
	if (!w->cuts)
		return false;
	uint64_t n = 0;
	for (uint64_t i = 0; i < count; i++) {
		w->cuts[n++] = lives[i].lo;
		w->cuts[n++] = lives[i].hi;
	}
	qsort(w->cuts, n, sizeof(*w->cuts), by_value);
	for (uint64_t i = 0; i < n; i++)
		if (w->ncuts == 0 || w->cuts[i] != w->cuts[w->ncuts - 1])
			w->cuts[w->ncuts++] = w->cuts[i];
	return true;
}

static uint64_t cut_at(const struct work *w, uint64_t address)
{
	uint64_t lo = 0, hi = w->ncuts;
	while (hi - lo > 1) {
		uint64_t mid = lo + (hi - lo) / 2;
		if (w->cuts[mid] <= address)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

static bool make_parts(struct work *w, const struct sweep_life *life)
{
	for (uint64_t piece = cut_at(w, life->lo); w->cuts[piece] < life->hi; piece++) {
		void *parts = w->parts;
		if (!record_grow(&parts, &w->parts_capacity, w->nparts + 1, sizeof(*w->parts)))
			return false;
		w->parts = parts;
		w->parts[w->nparts++] = (struct part){ piece, life->start, life->end, life->declared };
	}
	return true;
}

static bool add_change(struct work *w, uint64_t time, int64_t bytes)
{
	void *changes = w->changes;
	if (!record_grow(&changes, &w->changes_capacity, w->nchanges + 1, sizeof(*w->changes)))
		return false;
	w->changes = changes;
	w->changes[w->nchanges++] = (struct change){ time, bytes };
	return true;
}

static bool add_life(struct work *w, uint64_t piece, uint64_t start, uint64_t end)
{
	int64_t bytes = (int64_t)(w->cuts[piece + 1] - w->cuts[piece]);
	return add_change(w, start, bytes) && add_change(w, end, -bytes);
}

/* The undeclared lives of parts[from..to), all of one piece, become one. */
static uint64_t join_undeclared(struct work *w, uint64_t from, uint64_t to)
{
	struct part whole = { .piece = w->parts[from].piece, .start = UINT64_MAX, .end = 0 };
	uint64_t kept = from;
	for (uint64_t i = from; i < to; i++) {
		const struct part part = w->parts[i];
		if (part.declared) {
			w->parts[kept++] = part;
			continue;
		}
		whole.start = part.start < whole.start ? part.start : whole.start;
		whole.end = part.end > whole.end ? part.end : whole.end;
	}
	if (whole.end > 0) {
		w->parts[kept++] = whole;
		qsort(w->parts + from, kept - from, sizeof(*w->parts), by_piece_and_start);
	}
	return kept;
}

static bool join_piece(struct work *w, uint64_t from, uint64_t to)
{
	to = join_undeclared(w, from, to);
	uint64_t start = w->parts[from].start, end = w->parts[from].end;
	for (uint64_t i = from + 1; i < to; i++) {
		const struct part *p = &w->parts[i];
		if (p->start > end) {
			if (!add_life(w, p->piece, start, end))
				return false;
			start = p->start;
		}
		end = p->end > end ? p->end : end;
	}
	return add_life(w, w->parts[from].piece, start, end);
}

static bool add_up(struct work *w, struct live_steps *out)
{
	qsort(w->changes, w->nchanges, sizeof(*w->changes), by_time);
	uint64_t bytes = 0;
	for (uint64_t i = 0; i < w->nchanges;) {
		uint64_t time = w->changes[i].time, before = bytes;
		for (; i < w->nchanges && w->changes[i].time == time; i++)
			bytes += (uint64_t)w->changes[i].bytes;
		if (bytes == before)
			continue;
		void *items = out->items;
		if (!record_grow(&items, &out->capacity, out->count + 1, sizeof(*out->items)))
			return false;
		out->items = items;
		out->items[out->count++] = (struct live_step){ time, bytes };
	}
	return true;
}

static bool run(struct work *w, const struct sweep_life *lives, uint64_t count, uint64_t from, uint64_t to,
		struct live_steps *out)
{
	if (!make_cuts(w, lives, count))
		return false;
	for (uint64_t i = 0; i < count; i++)
		if (lives[i].lo >= from && lives[i].lo < to && !make_parts(w, &lives[i]))
			return false;
	if (w->nparts == 0)
		return true;
	qsort(w->parts, w->nparts, sizeof(*w->parts), by_piece_and_start);
	for (uint64_t first = 0; first < w->nparts;) {
		uint64_t end = first;
		while (end < w->nparts && w->parts[end].piece == w->parts[first].piece)
			end++;
		if (!join_piece(w, first, end))
			return false;
		first = end;
	}
	return add_up(w, out);
}

bool sweep(const struct sweep_life *lives, uint64_t count, uint64_t from, uint64_t to, struct live_steps *out)
{
	struct work w = { 0 };
	bool ok = run(&w, lives, count, from, to, out);
	free(w.cuts);
	free(w.parts);
	free(w.changes);
	return ok;
}
