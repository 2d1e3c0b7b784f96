/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions that need a whole row at once: reductions, norms, rotary embedding. */
#include "isa/exec/state.h"

#include <string.h>

bool npu_exec_red(struct npu_exec *e, const struct npu_insn *insn, npu_fold_fn *fold, npu_binary_fn *combine,
		  struct npu_error *err)
{
	const struct npu_red *p = &insn->red;
	struct npu_views views;
	float *x, *result, *old;
	if (!npu_views_bind(e, insn, &views, err) || !(x = npu_scratch_row(e, p->cols, err)) ||
	    !(result = npu_scratch_row(e, p->rows, err)) || !(old = npu_scratch_row(e, p->rows, err)))
		return false;
	const struct npu_view *dst = npu_views_find(&views, "dst"), *a = npu_views_find(&views, "a");
	for (uint64_t r = 0; r < p->rows; r++) {
		npu_view_get(a, r, x);
		result[r] = fold(x, p->cols);
	}
	if (p->accumulate) {
		npu_view_get(dst, 0, old);
		combine(&e->math, old, result, result, p->rows);
	}
	npu_view_set(dst, 0, result);
	return true;
}

struct norm {
	const struct npu_norm *p;
	struct npu_math *math;
	float *weight;
	float *bias; /* NULL: none */
};

/* x * r * w (+ b), in this order. */
static void apply(const struct norm *n, float r, float *x)
{
	npu_row_scale(r, x, x, n->p->cols);
	npu_row_mul(n->math, x, n->weight, x, n->p->cols);
	if (n->bias)
		npu_row_add(n->math, x, n->bias, x, n->p->cols);
}

static void rmsnorm_row(const struct norm *n, float *x)
{
	float mean_square = npu_fold_sumsq(x, n->p->cols) / (float)n->p->cols;
	apply(n, npu_rsqrt(mean_square + n->p->eps), x);
}

static void layernorm_row(const struct norm *n, float *x)
{
	float count = (float)n->p->cols;
	npu_row_shift(npu_fold_sum(x, n->p->cols) / count, x, x, n->p->cols);
	float variance = npu_fold_sumsq(x, n->p->cols) / count;
	apply(n, npu_rsqrt(variance + n->p->eps), x);
}

static bool normalise(struct npu_exec *e, const struct npu_insn *insn, void (*row)(const struct norm *, float *x),
		      struct npu_error *err)
{
	const struct npu_norm *p = &insn->norm;
	struct norm n = { p, &e->math, NULL, NULL };
	struct npu_views views;
	float *x;
	if (!npu_views_bind(e, insn, &views, err) || !(n.weight = npu_scratch_row(e, p->cols, err)) ||
	    !(x = npu_scratch_row(e, p->cols, err)))
		return false;
	struct npu_view *dst = npu_views_find(&views, "dst"), *a = npu_views_find(&views, "a");
	const struct npu_view *bias = npu_views_find(&views, "bias");
	if (!npu_view_unshare(e, a, dst, err) || (bias && !(n.bias = npu_scratch_row(e, p->cols, err))))
		return false;
	npu_view_get(npu_views_find(&views, "weight"), 0, n.weight);
	if (p->unit_offset)
		npu_row_shift(-1, n.weight, n.weight, p->cols);
	if (bias)
		npu_view_get(bias, 0, n.bias);
	for (uint64_t r = 0; r < p->rows; r++) {
		npu_view_get(a, r, x);
		row(&n, x);
		npu_view_set(dst, r, x);
	}
	return true;
}

bool npu_exec_rmsnorm(struct npu_exec *e, const struct npu_insn *insn, struct npu_error *err)
{
	return normalise(e, insn, rmsnorm_row, err);
}

bool npu_exec_layernorm(struct npu_exec *e, const struct npu_insn *insn, struct npu_error *err)
{
	return normalise(e, insn, layernorm_row, err);
}

/* Turns the pairs (x[i * step], x[i * step + apart]). */
static void turn_head(float *x, const float *cosine, const float *sine, uint64_t pairs, uint64_t step, uint64_t apart)
{
	for (uint64_t i = 0; i < pairs; i++) {
		float a = x[i * step], b = x[i * step + apart];
		x[i * step] = a * cosine[i] - b * sine[i];
		x[i * step + apart] = b * cosine[i] + a * sine[i];
	}
}

bool npu_exec_rope(struct npu_exec *e, const struct npu_insn *insn, struct npu_error *err)
{
	const struct npu_rope *p = &insn->rope;
	struct npu_views views;
	float *x, *cosine, *sine;
	uint64_t pairs = p->rotary / 2, cols = (uint64_t)p->heads * p->dim;
	if (p->rotary > p->dim)
		return npu_exec_fail(e, err, NPU_ERR_OPERAND, "%u of %u elements of a head turn", p->rotary, p->dim);
	if (!npu_views_bind(e, insn, &views, err) || !(x = npu_scratch_row(e, cols, err)) ||
	    !(cosine = npu_scratch_row(e, pairs, err)) || !(sine = npu_scratch_row(e, pairs, err)))
		return false;
	struct npu_view *dst = npu_views_find(&views, "dst");
	for (unsigned i = 0; i < views.n; i++)
		if (&views.view[i] != dst && !npu_view_unshare(e, &views.view[i], dst, err))
			return false;
	for (uint64_t r = 0; r < p->rows; r++) {
		npu_view_get(npu_views_find(&views, "a"), r, x);
		npu_view_get(npu_views_find(&views, "cosine"), r, cosine);
		npu_view_get(npu_views_find(&views, "sine"), r, sine);
		for (uint64_t head = 0; head < p->heads; head++)
			turn_head(x + head * p->dim, cosine, sine, pairs, p->interleaved ? 2 : 1,
				  p->interleaved ? 1 : pairs);
		npu_view_set(dst, r, x);
	}
	return true;
}
