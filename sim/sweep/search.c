/* SPDX-License-Identifier: Apache-2.0 */
/* A front and its neighbours. */
#include "sim/sweep/search.h"
#include "sim/sweep/figures.h"

#include <math.h>
#include <stdlib.h>

/* Of the budget, what is tried without knowing anything; the least generation. */
enum { FIRST_PART = 4, FIRST_LEAST = 16 };

bool sweep_is_on_front(const struct sweep_rows *r, const struct sweep_row *row, unsigned ngoals)
{
	if (row->status != SWEEP_RUN)
		return false;
	for (uint64_t i = 0; i < r->n; i++) {
		bool as_good = r->row[i].status == SWEEP_RUN && &r->row[i] != row, better = false;
		for (unsigned g = 0; as_good && g < ngoals; g++) {
			double gain = sweep_rows_figure(r, &r->row[i], g) - sweep_rows_figure(r, row, g);
			gain = sweep_figure_wants_more(r->names[g]) ? gain : -gain;
			as_good = gain >= 0;
			better = better || gain > 0;
		}
		/* Of equal ones the first stands for all. */
		if (as_good && (better || &r->row[i] < row))
			return false;
	}
	return true;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

static uint64_t sort_out(uint64_t *list, uint64_t n, const struct sweep_set *known)
{
	uint64_t kept = 0;
	qsort(list, n, sizeof *list, by_number);
	for (uint64_t i = 0; i < n; i++)
		if ((!kept || list[i] != list[kept - 1]) && !sweep_set_has(known, list[i]))
			list[kept++] = list[i];
	return kept;
}

/* One step on each axis, and the ends of it where a front has few points. */
static uint64_t neighbours(const struct sweep_space *s, uint64_t point, uint64_t *list)
{
	uint64_t n = 0;
	for (unsigned a = 0; a < s->naxes; a++) {
		uint32_t at = sweep_index(s, point, a);
		if (at > 0)
			list[n++] = sweep_move(s, point, a, at - 1);
		if (at + 1 < s->axes[a].count)
			list[n++] = sweep_move(s, point, a, at + 1);
		/* A longer step, so that long axes are walked in few. */
		uint32_t far = s->axes[a].count / 4;
		if (far > 1 && at >= far)
			list[n++] = sweep_move(s, point, a, at - far);
		if (far > 1 && at + far < s->axes[a].count)
			list[n++] = sweep_move(s, point, a, at + far);
	}
	return n;
}

uint64_t sweep_generation(const struct sweep_rows *r, const struct sweep_set *known, uint64_t most, uint64_t **list)
{
	const struct sweep_space *s = r->space;
	uint64_t first = s->count / FIRST_PART < FIRST_LEAST ? FIRST_LEAST : s->count / FIRST_PART, n = 0, tried = 0;
	*list = malloc((4 * SWEEP_AXES * (r->n + 1) + first) * sizeof **list);
	if (!*list)
		return 0;
	if (r->n < first)
		for (; n < first && tried < s->points; tried++) {
			uint64_t point = sweep_shuffle(tried, s->points, s->seed);
			if (n < first)
				(*list)[n++] = point;
		}
	else
		for (uint64_t i = 0; i < r->n; i++)
			if (sweep_is_on_front(r, &r->row[i], s->ngoals))
				n += neighbours(s, r->row[i].point, *list + n);
	n = sort_out(*list, n, known);
	/* Fewer than the front asks for: spread over all of them. */
	if (n > most) {
		for (uint64_t i = 0; i < most; i++)
			(*list)[i] = (*list)[i * n / most];
		n = most;
	}
	return n;
}
