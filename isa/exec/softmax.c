/* SPDX-License-Identifier: Apache-2.0 */
/* Masks and softmax. A mask leaves one stretch of columns of each row visible; all else follows from that. */
#include "isa/exec/state.h"

#include <math.h>
#include <string.h>

struct tile {
	const struct npu_softmax *p;
	const struct npu_view *dst, *a;
	struct npu_view *state;
	const struct npu_math *math;
	float *x; /* a row */
};

/* Visible columns from <= c < to. */
struct visible {
	uint64_t from;
	uint64_t to;
};

static int64_t clamp(int64_t v, int64_t most)
{
	return v < 0 ? 0 : v > most ? most : v;
}

static struct visible visible_of(const struct npu_softmax *p, uint64_t row)
{
	int64_t position = (int64_t)p->diagonal + (int64_t)row, from = 0, to = p->cols;
	if (p->causal)
		to = clamp(position + 1, to);
	if (p->padded)
		to = clamp(p->valid, to);
	if (p->window)
		from = clamp(position - (int64_t)p->window + 1, p->cols);
	return (struct visible){ (uint64_t)from, (uint64_t)(to > from ? to : from) };
}

static void fill(float *x, uint64_t from, uint64_t to, float value)
{
	for (uint64_t i = from; i < to; i++)
		x[i] = value;
}

static bool open_tile(struct npu_exec *e, const struct npu_insn *insn, struct npu_views *views, struct tile *t,
		      struct npu_error *err)
{
	if (!npu_views_bind(e, insn, views, err))
		return false;
	struct npu_view *a = npu_views_find(views, "a");
	*t = (struct tile){
		&insn->softmax, npu_views_find(views, "dst"), a, npu_views_find(views, "state"), &e->math, NULL
	};
	return npu_view_unshare(e, a, t->dst, err) && (t->x = npu_scratch_row(e, insn->softmax.cols, err));
}

/* scale * A, hidden columns at `hidden`. */
static struct visible scores(const struct tile *t, uint64_t row, float hidden)
{
	struct visible v = visible_of(t->p, row);
	npu_view_get(t->a, row, t->x);
	npu_row_scale(t->p->scale, t->x, t->x, t->p->cols);
	fill(t->x, 0, v.from, hidden);
	fill(t->x, v.to, t->p->cols, hidden);
	return v;
}

bool npu_exec_mask(struct npu_exec *e, const struct npu_insn *insn, struct npu_error *err)
{
	struct npu_views views;
	struct tile t;
	if (!open_tile(e, insn, &views, &t, err))
		return false;
	for (uint64_t r = 0; r < t.p->rows; r++) {
		scores(&t, r, -INFINITY);
		npu_view_set(t.dst, r, t.x);
	}
	return true;
}

static float max_of(const struct tile *t, struct visible v)
{
	return v.from < v.to ? npu_fold_max(t->x + v.from, v.to - v.from) : -INFINITY;
}

/* x = exp(x - max), hidden columns 0, all of them when there is no maximum; returns the sum of the row. */
static float exp_row(const struct tile *t, struct visible v, float max)
{
	uint64_t cols = t->p->cols;
	if (max == -INFINITY)
		v.to = v.from;
	if (v.from < v.to) {
		npu_row_shift(max, t->x, t->x, cols);
		npu_row_exp(t->math, t->x, t->x, cols);
	}
	fill(t->x, 0, v.from, 0);
	fill(t->x, v.to, cols, 0);
	return npu_fold_sum(t->x, cols);
}

bool npu_exec_softmax(struct npu_exec *e, const struct npu_insn *insn, struct npu_error *err)
{
	struct npu_views views;
	struct tile t;
	if (!open_tile(e, insn, &views, &t, err))
		return false;
	for (uint64_t r = 0; r < t.p->rows; r++) {
		struct visible v = scores(&t, r, -INFINITY);
		float max = max_of(&t, v), sum = exp_row(&t, v, max);
		if (max != -INFINITY) {
			npu_row_over(sum, t.x, t.x, t.p->cols);
			/* a NaN of the visible columns stays with them */
			fill(t.x, 0, v.from, 0);
			fill(t.x, v.to, t.p->cols, 0);
		}
		npu_view_set(t.dst, r, t.x);
	}
	return true;
}

/* The state of all rows, read before and written after everything else. */
struct state {
	float *max;
	float *sum;
	float *rescale;
};

static bool open_state(struct npu_exec *e, const struct tile *t, struct state *s, struct npu_error *err)
{
	uint64_t rows = t->p->rows;
	if (!(s->max = npu_scratch_row(e, rows, err)) || !(s->sum = npu_scratch_row(e, rows, err)) ||
	    !(s->rescale = npu_scratch_row(e, rows, err)))
		return false;
	if (t->p->first) {
		fill(s->max, 0, rows, -INFINITY);
		fill(s->sum, 0, rows, 0);
	} else {
		npu_view_get(t->state, 0, s->max);
		npu_view_get(t->state, 1, s->sum);
	}
	return true;
}

static void step_online(const struct tile *t, struct state *s, uint64_t row)
{
	struct visible v = scores(t, row, -INFINITY);
	float max[4] = { max_of(t, v) }, old[4] = { s->max[row] };
	npu_row_max(t->math, old, max, max, 1);
	/* before a row has seen a column there is nothing to rescale, and exp(-inf - -inf) would be NaN */
	float rescale = old[0] == -INFINITY ? 0 : npu_exp_of(t->math, old[0] - max[0]);
	float sum = exp_row(t, v, max[0]);
	s->max[row] = max[0];
	s->rescale[row] = rescale;
	s->sum[row] = s->sum[row] * rescale + sum;
}

bool npu_exec_softmax_online(struct npu_exec *e, const struct npu_insn *insn, struct npu_error *err)
{
	struct npu_views views;
	struct tile t;
	struct state s;
	if (!open_tile(e, insn, &views, &t, err) || !open_state(e, &t, &s, err))
		return false;
	for (uint64_t r = 0; r < t.p->rows; r++) {
		step_online(&t, &s, r);
		npu_view_set(t.dst, r, t.x);
	}
	npu_view_set(t.state, 0, s.max);
	npu_view_set(t.state, 1, s.sum);
	npu_view_set(t.state, 2, s.rescale);
	return true;
}
