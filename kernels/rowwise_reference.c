/* SPDX-License-Identifier: Apache-2.0 */
/* Plain results of the row-wise kernels, and how far a correct run may lie from them: docs/values.md derives it. */
#include <float.h>
#include <math.h>

#include "kernels/bound.h"
#include "kernels/rowwise.h"

/* The values of a row's tensors. */
struct row {
	const double *in[ROW_INPUTS], *constant[ROW_CONSTANTS];
};

static bool find(const struct rowwise *r, const struct npu_reference_io *io, struct row *first)
{
	bool ok = true;
	*first = (struct row){ 0 };
	for (unsigned i = 0; i < r->ninputs; i++) {
		first->in[i] = npu_reference_read(io, r->input[i].name, r->rows * r->input[i].cols);
		ok = ok && first->in[i];
	}
	for (unsigned i = 0; i < r->nconstants; i++) {
		first->constant[i] = npu_reference_read(io, r->constant[i].name, r->constant[i].cols);
		ok = ok && first->constant[i];
	}
	return ok;
}

static struct row at_row(const struct rowwise *r, const struct row *first, uint64_t i)
{
	struct row row = *first;
	for (unsigned n = 0; n < r->ninputs; n++)
		row.in[n] += i * r->input[n].cols;
	return row;
}

/* ---- activations ---- */

/* The argument of exp: x / (1 + exp(-a)). */
static double exponent(uint32_t act, double x)
{
	return act == NPU_ACT_GELU ? 2 * sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x) : x;
}

static double activation(uint32_t act, double x)
{
	return act == NPU_ACT_NONE ? x : x / (1 + exp(-exponent(act, x)));
}

/* Of an activation in fp32, e the relative error of exp, whose argument is rounded. */
static double activation_bound(uint32_t act, double x, double e)
{
	double a = fabs(exponent(act, x)), E = exp(-exponent(act, x)), y = fabs(activation(act, x));
	double error = a < 1e5 ? expm1(1.01 * U * a) * (1 + e) + e : INFINITY; /* of E */
	double part = E < 1 ? E / (1 + E) : 1;
	if (act == NPU_ACT_NONE)
		return 0;
	/* Where E overflows, or is too small for fp32, y is 0 or x as near as can be. */
	return y > 0 && error < 0.5 ? y * (part * error / (1 - error) + 1.01 * U) + fabs(x) * EXP_LOST
				    : y + fabs(x) * EXP_LOST;
}

/* ---- norms ---- */

struct moments {
	double mean, square; /* of x; of x - mean */
	double size;         /* mean of |x| */
	double deviation;    /* mean of |x - mean| */
	double scale;        /* 1 / sqrt(square + eps) */
};

static struct moments moments_of(const struct npu_norm *p, bool layer, const double *x)
{
	struct moments m = { 0 };
	for (uint64_t c = 0; c < p->cols; c++) {
		m.mean += layer ? x[c] / p->cols : 0;
		m.size += fabs(x[c]) / p->cols;
	}
	for (uint64_t c = 0; c < p->cols; c++) {
		m.square += (x[c] - m.mean) * (x[c] - m.mean) / p->cols;
		m.deviation += fabs(x[c] - m.mean) / p->cols;
	}
	m.scale = 1 / sqrt(m.square + (double)p->eps);
	return m;
}

static double weight_of(const struct npu_norm *p, const struct row *row, uint64_t c)
{
	return row->constant[0][c] + p->unit_offset;
}

static void norm_row(const struct npu_norm *p, bool layer, const struct row *row, double *y)
{
	struct moments m = moments_of(p, layer, row->in[0]);
	for (uint64_t c = 0; c < p->cols; c++)
		y[c] =
		    (row->in[0][c] - m.mean) * m.scale * weight_of(p, row, c) + (p->has_bias ? row->constant[1][c] : 0);
}

/* Letters as in docs/values.md. */
static void norm_bound(const struct npu_norm *p, bool layer, const struct row *row, double *bound)
{
	const double *x = row->in[0];
	struct moments m = moments_of(p, layer, x);
	double sum = ceil(p->cols / 16.0) + 4; /* additions that an element goes through */
	double dm = layer ? gamma_of(sum + 1) * m.size : 0, dc = layer ? dm * (1 + U) : 0;
	double v = m.square + (double)p->eps, moved = layer ? 2 * m.deviation * dc + 2 * U * m.square + dc * dc : 0;
	double dv = moved + gamma_of(sum + 3) * (v + moved), q = dv / v;
	double dr = q < 0.5 ? 0.5 * q / pow(1 - q, 1.5) + 1.01 * U : INFINITY; /* of the scale, relative */
	for (uint64_t c = 0; c < p->cols; c++) {
		double w = weight_of(p, row, c), d = x[c] - m.mean, y = fabs(d * m.scale * w);
		double error = dr + gamma_of(2 + p->unit_offset) * (1 + dr) + (layer ? U * (1 + dr) * 1.01 : 0);
		double bias = p->has_bias ? row->constant[1][c] : 0;
		bound[c] = error * y + 1.01 * (1 + dr) * dc * m.scale * fabs(w) + PRODUCT_LOST * (1 + fabs(w));
		if (p->has_bias)
			bound[c] += U * (fabs(y) + fabs(bias) + bound[c]);
		if (!(bound[c] < FLT_MAX) || !(m.square * p->cols < FLT_MAX) || !(m.size * p->cols < FLT_MAX))
			bound[c] = INFINITY;
	}
}

/* ---- rope ---- */

/* Y, or with `bound` how far it may be off. Elements that do not turn are copied. */
static void rope_row(const struct npu_rope *p, const struct row *row, bool bound, double *y)
{
	uint64_t pairs = p->rotary / 2;
	for (uint64_t h = 0; h < p->heads; h++, y += p->dim) {
		const double *x = row->in[0] + h * p->dim;
		for (uint64_t i = 0; i < p->dim; i++)
			y[i] = bound ? 0 : x[i];
		for (uint64_t i = 0; i < pairs; i++) {
			uint64_t first = p->interleaved ? 2 * i : i, second = first + (p->interleaved ? 1 : pairs);
			double c = row->in[1][i], s = row->in[2][i], a = x[first], b = x[second];
			y[first] = bound ? 2.01 * U * (fabs(a * c) + fabs(b * s)) + 2 * PRODUCT_LOST : a * c - b * s;
			y[second] = bound ? 2.01 * U * (fabs(b * c) + fabs(a * s)) + 2 * PRODUCT_LOST : b * c + a * s;
		}
	}
}

/* ---- all of them ---- */

static void plain_row(const struct rowwise *r, const struct row *row, double *y)
{
	for (uint64_t c = 0; c < r->cols; c++) {
		double x = row->in[0][c];
		if (r->cap > 0)
			y[c] = r->cap * tanh(x / r->cap);
		else if (r->op.op == NPU_OP_VGELU)
			y[c] = activation(NPU_ACT_GELU, x);
		else if (r->op.op == NPU_OP_VADD)
			y[c] = x + row->in[1][c];
		else
			y[c] = activation(r->op.ew.act, x) * row->in[1][c];
	}
}

/* 1 - 2 / (1 + exp(2x)): an error of exp costs half of it at most, roundings 5 U of 1; the tanh is rounded to the type
 * of Y. */
static double softcap_bound(const struct rowwise *r, double x, double e)
{
	double t = fabs(tanh(x / r->cap)), u = unit_roundoff(r->type), error = 0.501 * e + 6 * U;
	return isnan(x) ? 0 : r->cap * (error * (1 + u) + u * t + subnormal_lost(r->type)) * (1 + 2 * U);
}

static void plain_bound(const struct rowwise *r, const struct row *row, double exp_error, double *bound)
{
	for (uint64_t c = 0; c < r->cols; c++) {
		double x = row->in[0][c], other = r->ninputs > 1 ? row->in[1][c] : 1, y;
		uint32_t act = r->op.op == NPU_OP_VGELU ? NPU_ACT_GELU : r->op.ew.act;
		if (r->cap > 0) {
			bound[c] = softcap_bound(r, x, exp_error);
			continue;
		}
		if (r->op.op == NPU_OP_VADD) {
			y = x + other;
			bound[c] = U * fabs(y);
		} else {
			double error = activation_bound(act, x, exp_error);
			y = activation(act, x) * other;
			bound[c] = r->op.op == NPU_OP_VGELU
				       ? error
				       : error * fabs(other) * (1 + U) + 1.01 * U * fabs(y) + PRODUCT_LOST;
		}
		/* What an infinity meets may be 0 in one of both; elsewhere it stays what it is. */
		if (isfinite(x) && isfinite(other) && !(fabs(y) < FLT_MAX))
			bound[c] = INFINITY;
		if (!isfinite(x) || !isfinite(other))
			bound[c] = r->op.op == NPU_OP_VADD ? 0 : INFINITY;
	}
}

bool rowwise_reference(const struct rowwise *r, struct npu_reference_io *io)
{
	struct row first;
	double *Y = npu_reference_write(io, "Y", r->rows * r->cols);
	if (!Y || !find(r, io, &first))
		return false;
	for (uint64_t i = 0; i < r->rows; i++) {
		struct row row = at_row(r, &first, i);
		double *y = Y + i * r->cols;
		if (npu_op_format(r->op.op) == NPU_FORMAT_norm)
			norm_row(&r->op.norm, r->op.op == NPU_OP_VLAYERNORM, &row, y);
		else if (r->op.op == NPU_OP_VROPE)
			rope_row(&r->op.rope, &row, false, y);
		else
			plain_row(r, &row, y);
	}
	return true;
}

bool rowwise_bound(const struct rowwise *r, const struct npu_reference_io *io, double exp_error, double *bound)
{
	struct row first;
	if (!find(r, io, &first))
		return false;
	for (uint64_t i = 0; i < r->rows; i++) {
		struct row row = at_row(r, &first, i);
		double *b = bound + i * r->cols;
		if (npu_op_format(r->op.op) == NPU_FORMAT_norm)
			norm_bound(&r->op.norm, r->op.op == NPU_OP_VLAYERNORM, &row, b);
		else if (r->op.op == NPU_OP_VROPE)
			rope_row(&r->op.rope, &row, true, b);
		else
			plain_bound(r, &row, exp_error, b);
	}
	return true;
}
