/* SPDX-License-Identifier: Apache-2.0 */
/* A front and its neighbours. */
#define _GNU_SOURCE
#include "sim/sweep/search.h"
#include "sim/sweep/expr.h"
#include "sim/sweep/figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the budget, what is tried without knowing anything, and what a generation takes at most; either at least so many.
 * Longer axes are walked in ratios. */
enum { FIRST_PART = 4, NEXT_PART = 10, LEAST = 16, SHORT_AXIS = 16 };

struct order {
	const struct sweep_rows *r;
	const unsigned *figures;
	unsigned n;
};

/* How much better b is than a by one of the figures. */
static double gain(const struct order *o, const struct sweep_row *a, const struct sweep_row *b, unsigned i)
{
	double more = sweep_rows_figure(o->r, b, o->figures[i]) - sweep_rows_figure(o->r, a, o->figures[i]);
	return sweep_figure_wants_more(o->r->names[o->figures[i]]) ? more : -more;
}

static int by_goals(const void *a, const void *b, void *context)
{
	const struct order *o = context;
	const struct sweep_row *x = *(const struct sweep_row *const *)a, *y = *(const struct sweep_row *const *)b;
	for (unsigned i = 0; i < o->n; i++) {
		double g = gain(o, x, y, i);
		if (g < 0 || g > 0)
			return g > 0 ? 1 : -1;
	}
	return x->point < y->point ? -1 : x->point > y->point;
}

static bool is_beaten(const struct order *o, const struct sweep_row *by, const struct sweep_row *row)
{
	for (unsigned i = 0; i < o->n; i++)
		if (gain(o, row, by, i) < 0)
			return false;
	return true;
}

uint64_t sweep_front(const struct sweep_rows *r, const unsigned *figures, unsigned n, const struct sweep_row ***list)
{
	struct order o = { r, figures, n };
	const struct sweep_row **rows = malloc((r->n + 1) * sizeof *rows);
	uint64_t all = 0, kept = 0;
	for (uint64_t i = 0; rows && i < r->n; i++) {
		bool valued = r->row[i].status == SWEEP_RUN;
		for (unsigned f = 0; valued && f < n; f++)
			valued = !isnan(sweep_rows_figure(r, &r->row[i], figures[f]));
		if (valued)
			rows[all++] = &r->row[i];
	}
	if (all)
		qsort_r(rows, all, sizeof *rows, by_goals, &o);
	/* What beats a point stands before it, or something that beats that. The last one kept is the likeliest. */
	for (uint64_t i = 0; i < all; i++) {
		uint64_t k = kept;
		while (k && !is_beaten(&o, rows[k - 1], rows[i]))
			k--;
		if (!k)
			rows[kept++] = rows[i];
	}
	*list = rows;
	return kept;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

uint64_t sweep_spent(const struct sweep_rows *r)
{
	uint64_t *keys = malloc((r->n + 1) * sizeof *keys), n = 0, spent = r->count[SWEEP_FAILED];
	for (uint64_t i = 0; keys && i < r->n; i++)
		if (r->row[i].status == SWEEP_RUN)
			keys[n++] = r->row[i].key;
	if (n)
		qsort(keys, n, sizeof *keys, by_number);
	for (uint64_t i = 0; i < n; i++)
		spent += i == 0 || keys[i] != keys[i - 1];
	free(keys);
	return spent;
}

/* ---- axes as ladders of numbers ---- */

struct ladder {
	double *value; /* [count], rising; NULL: the axis is short, or no such */
};

static struct ladder ladder_of(const struct sweep_axis *x)
{
	struct ladder l = { NULL };
	if (x->nkeys != 1 || x->count <= SHORT_AXIS || !(l.value = malloc(x->count * sizeof *l.value)))
		return l;
	bool rises = true;
	for (uint32_t i = 0; rises && i < x->count; i++) {
		struct expr_value v = expr_value_of(x->values[i]);
		l.value[i] = v.number;
		rises = !v.text && v.number >= 0 && (i == 0 || v.number > l.value[i - 1]);
	}
	if (!rises) {
		free(l.value);
		l.value = NULL;
	}
	return l;
}

/* The index whose value is nearest. */
static uint32_t rung(const struct ladder *l, uint32_t count, double value)
{
	uint32_t low = 0, high = count - 1;
	while (low < high) {
		uint32_t mid = (low + high) / 2;
		if (l->value[mid] < value)
			low = mid + 1;
		else
			high = mid;
	}
	return low > 0 && value - l->value[low - 1] < l->value[low] - value ? low - 1 : low;
}

struct generation {
	const struct sweep_space *s;
	struct ladder ladders[SWEEP_AXES];
	struct candidate {
		uint64_t point;
		uint64_t order; /* those of the least are taken first */
	} * list;
	uint64_t n, room;
	bool failed;
};

static void suggest(struct generation *g, uint64_t point, unsigned rank)
{
	if (g->n == g->room) {
		uint64_t room = g->room ? 2 * g->room : 256;
		struct candidate *list = realloc(g->list, room * sizeof *list);
		g->failed = g->failed || !list;
		if (!list)
			return;
		g->list = list;
		g->room = room;
	}
	/* Of one rank none comes before the others for its place in the grid. */
	g->list[g->n++] =
	    (struct candidate){ point, (uint64_t)rank << 60 | sweep_shuffle(point, g->s->points, g->s->seed) >> 4 };
}

/* ---- the first one ---- */

/* Half of it are powers of two, which tiles are made of, where axes are long. */
static void begin(struct generation *g, uint64_t from, uint64_t n)
{
	const struct sweep_space *s = g->s;
	for (uint64_t i = from; i < from + n; i++) {
		uint64_t point = 0;
		for (unsigned a = 0; a < s->naxes; a++) {
			const struct sweep_axis *x = &s->axes[a];
			const struct ladder *l = &g->ladders[a];
			uint64_t random = sweep_shuffle(i * SWEEP_AXES + a, (uint64_t)1 << 40, s->seed + 1);
			uint32_t at = (uint32_t)(random % x->count);
			if (l->value) {
				double low = fmax(l->value[0], 1), high = fmax(l->value[x->count - 1], low);
				double value = low * pow(high / low, (double)random * 0x1p-40);
				at = rung(l, x->count, i % 2 ? value : exp2(rint(log2(value))));
			}
			point = sweep_move(s, point, a, at);
		}
		suggest(g, point, 0);
	}
	/* Of small spaces that is less than there is room for. */
	for (uint64_t i = 0; i < from + 2 * n && i < s->points; i++)
		suggest(g, sweep_shuffle(i, s->points, s->seed), 1);
}

/* ---- those behind it ---- */

/* Where a step on an axis leads: the index itself where it leads nowhere. */
static uint32_t step(const struct generation *g, uint64_t point, unsigned a, bool up)
{
	uint32_t at = sweep_index(g->s, point, a), count = g->s->axes[a].count;
	const struct ladder *l = &g->ladders[a];
	if (l->value)
		return rung(l, count, up ? fmax(2 * l->value[at], 1) : l->value[at] / 2);
	return up ? at + (at + 1 < count) : at - (at > 0);
}

static void neighbours(struct generation *g, uint64_t point)
{
	const struct sweep_space *s = g->s;
	for (unsigned a = 0; a < s->naxes; a++) {
		uint32_t at = sweep_index(s, point, a), count = s->axes[a].count, far = count / 4;
		uint64_t up = sweep_move(s, point, a, step(g, point, a, true)),
			 down = sweep_move(s, point, a, step(g, point, a, false));
		const struct ladder *l = &g->ladders[a];
		suggest(g, up, 0);
		suggest(g, down, 0);
		if (l->value && l->value[at] >= 1) {
			suggest(g, sweep_move(s, point, a, rung(l, count, exp2(floor(log2(l->value[at]))))), 0);
			suggest(g, sweep_move(s, point, a, rung(l, count, exp2(ceil(log2(l->value[at]))))), 0);
		}
		/* What one axis gives, another takes. */
		for (unsigned b = 0; b < s->naxes; b++)
			if (b != a)
				suggest(g, sweep_move(s, up, b, step(g, up, b, false)), 1);
		if (l->value) {
			suggest(g, sweep_move(s, point, a, rung(l, count, 1.5 * l->value[at])), 2);
			suggest(g, sweep_move(s, point, a, rung(l, count, 0.75 * l->value[at])), 2);
			suggest(g, sweep_move(s, point, a, at + (at + 1 < count)), 3);
			suggest(g, sweep_move(s, point, a, at - (at > 0)), 3);
		} else if (far > 1) {
			suggest(g, sweep_move(s, point, a, at >= far ? at - far : 0), 2);
			suggest(g, sweep_move(s, point, a, at + far < count ? at + far : count - 1), 2);
		}
	}
}

static int by_order(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return x->point < y->point ? -1 : x->point > y->point;
}

static uint64_t take(struct generation *g, const struct sweep_set *seen, uint64_t most, uint64_t *list)
{
	struct sweep_set *taken = sweep_set_new(UINT64_MAX);
	uint64_t n = 0;
	if (g->n)
		qsort(g->list, g->n, sizeof *g->list, by_order);
	for (uint64_t i = 0; taken && i < g->n && n < most; i++)
		if (!sweep_set_has(seen, g->list[i].point) && !sweep_set_has(taken, g->list[i].point) &&
		    sweep_set_add(taken, g->list[i].point))
			list[n++] = g->list[i].point;
	sweep_set_free(taken);
	if (n)
		qsort(list, n, sizeof *list, by_number);
	return n;
}

uint64_t sweep_generation(const struct sweep_rows *r, const struct sweep_set *seen, uint64_t most, uint64_t **list)
{
	const struct sweep_space *s = r->space;
	struct generation g = { .s = s };
	const unsigned goals[SWEEP_GOALS] = { 0, 1, 2, 3 };
	const struct sweep_row **front;
	uint64_t part = s->count / (r->n ? NEXT_PART : FIRST_PART), n = 0;
	most = most < (part < LEAST ? LEAST : part) ? most : part < LEAST ? LEAST : part;
	for (unsigned a = 0; a < s->naxes; a++)
		g.ladders[a] = ladder_of(&s->axes[a]);
	uint64_t nfront = sweep_front(r, goals, s->ngoals, &front);
	for (uint64_t i = 0; i < nfront; i++)
		neighbours(&g, front[i]->point);
	g.failed = g.failed || !front;
	free(front);
	*list = malloc((most + 1) * sizeof **list);
	if (*list && !g.failed)
		n = take(&g, seen, most, *list);
	/* None yet, or all of them are known: elsewhere, then. */
	if (*list && !g.failed && !n) {
		begin(&g, r->n, most);
		n = take(&g, seen, most, *list);
	}
	if (g.failed) {
		free(*list);
		*list = NULL;
		n = 0;
	}
	for (unsigned a = 0; a < s->naxes; a++)
		free(g.ladders[a].value);
	free(g.list);
	return n;
}
