/* SPDX-License-Identifier: Apache-2.0 */
/* Quantisation and back: q = round(x / scale) + zero, x = (q - zero) * scale. */
#include "isa/exec/lanes.h"
#include "isa/exec/state.h"

#include <string.h>

/* Scales and zero points as fp32, of all of A and spread over the row at hand. */
struct scaling {
	const struct npu_quant *p;
	enum npu_dtype integer; /* the quantised side */
	struct npu_view *dst, *a, *scales, *zeros;
	uint64_t count;   /* of scales */
	uint64_t groups;  /* scales a row, with scale=group */
	float *scale;     /* [count] */
	float *zero;      /* [count] */
	float *row_scale; /* [cols] */
	float *row_zero;  /* [cols] */
	float *x;         /* [cols] */
};

static void fill(float *x, uint64_t n, float value)
{
	for (uint64_t i = 0; i < n; i++)
		x[i] = value;
}

/* Elements of a row from `col` that share a scale. */
static uint64_t span_of(const struct scaling *s, uint64_t col)
{
	uint64_t left = s->p->cols - col;
	return s->p->scale == NPU_SCALE_GROUP && s->p->group < left ? s->p->group : left;
}

/* Index of the scale of the first span of a row; the next spans follow. */
static uint64_t first_scale(const struct scaling *s, uint64_t row)
{
	return s->p->scale == NPU_SCALE_ROW ? row : row * s->groups;
}

static void spread(const struct scaling *s, uint64_t row)
{
	uint64_t i = first_scale(s, row);
	if (s->p->scale == NPU_SCALE_COL) {
		memcpy(s->row_scale, s->scale, s->p->cols * sizeof(float));
		memcpy(s->row_zero, s->zero, s->p->cols * sizeof(float));
		return;
	}
	for (uint64_t col = 0; col < s->p->cols; col += span_of(s, col), i++) {
		fill(s->row_scale + col, span_of(s, col), s->scale[i]);
		fill(s->row_zero + col, span_of(s, col), s->zero[i]);
	}
}

static bool open_scaling(struct npu_exec *e, const struct npu_insn *insn, struct npu_views *views, struct scaling *s,
			 enum npu_dtype integer, struct npu_error *err)
{
	const struct npu_quant *p = &insn->quant;
	if (!npu_views_bind(e, insn, views, err))
		return false;
	*s = (struct scaling){
		.p = p,
		.integer = integer,
		.dst = npu_views_find(views, "dst"),
		.a = npu_views_find(views, "a"),
		.scales = npu_views_find(views, "scales"),
		.zeros = npu_views_find(views, "zeros"),
	};
	if (!s->scales && p->scale != NPU_SCALE_TENSOR)
		return npu_exec_fail(e, err, NPU_ERR_OPERAND, "groups of no elements");
	s->count = s->scales ? s->scales->m.cols : 1;
	s->groups = s->scales && p->group ? (p->cols + p->group - 1) / p->group : 0;
	return npu_view_unshare(e, s->a, s->dst, err) && (s->scale = npu_scratch_row(e, s->count, err)) &&
	       (s->zero = npu_scratch_row(e, s->count, err)) && (s->row_scale = npu_scratch_row(e, p->cols, err)) &&
	       (s->row_zero = npu_scratch_row(e, p->cols, err)) && (s->x = npu_scratch_row(e, p->cols, err));
}

static void read_scales(struct scaling *s)
{
	fill(s->scale, s->count, s->p->imm);
	fill(s->zero, s->count, s->p->asymmetric ? (float)s->p->zero : 0);
	if (s->scales)
		npu_view_get(s->scales, 0, s->scale);
	if (s->scales)
		fill(s->zero, s->count, 0);
	if (s->zeros)
		npu_view_get(s->zeros, 0, s->zero);
}

/* NaN when `a` is one. */
static float larger(float a, float b)
{
	return a < b ? b : a;
}

static float smaller(float a, float b)
{
	return a > b ? b : a;
}

static void widen_range(const struct npu_math *m, float *least, float *most, const float *lo, const float *hi,
			uint64_t n)
{
	npu_row_min(m, least, lo, least, n);
	npu_row_max(m, most, hi, most, n);
}

/* least[i] and most[i] of the elements that share scale i, 0 among them: so 0 itself can be told exactly. */
static void find_ranges(const struct npu_math *m, struct scaling *s, float *least, float *most)
{
	fill(least, s->count, 0);
	fill(most, s->count, 0);
	for (uint64_t row = 0; row < s->p->rows; row++) {
		npu_view_get(s->a, row, s->x);
		if (s->p->scale == NPU_SCALE_COL) {
			widen_range(m, least, most, s->x, s->x, s->p->cols);
			continue;
		}
		uint64_t i = first_scale(s, row);
		for (uint64_t col = 0; col < s->p->cols; col += span_of(s, col), i++) {
			least[i] = smaller(npu_fold_min(s->x + col, span_of(s, col)), 0);
			most[i] = larger(npu_fold_max(s->x + col, span_of(s, col)), 0);
		}
	}
}

static bool derive_scales(struct npu_exec *e, struct scaling *s, struct npu_error *err)
{
	float *least = npu_scratch_row(e, s->count, err);
	float *most = least ? npu_scratch_row(e, s->count, err) : NULL;
	uint8_t *rounded = most ? npu_scratch(e, npu_matrix_extent(&s->scales->m), err) : NULL;
	if (!rounded)
		return false;
	float lo = (float)npu_int_min(s->integer), hi = (float)npu_int_max(s->integer);
	find_ranges(&e->math, s, least, most);
	for (uint64_t i = 0; i < s->count; i++)
		s->scale[i] = s->p->asymmetric ? (most[i] - least[i]) / (hi - lo) : larger(-least[i], most[i]) / hi;
	/* the scale that others will read, not a finer one */
	npu_row_from_f32(s->scales->m.dtype, s->scale, rounded, s->count);
	npu_row_to_f32(s->scales->m.dtype, rounded, s->scale, s->count);
	fill(s->zero, s->count, 0);
	for (uint64_t i = 0; s->p->asymmetric && i < s->count; i++) {
		double shift = s->scale[i] == 0 ? 0 : least[i] / s->scale[i];
		s->zero[i] = (float)npu_int_from_f64(s->integer, (double)lo - npu_int_from_f64(NPU_INT32, shift));
	}
	return true;
}

/* x = round(x / scale) + zero, before saturation. A NaN counts as 0, and so does everything where
 * the scale is 0. */
static void quantise_row(const struct scaling *s)
{
	const float magic = 0x1.8p23f;
	const npu_f4 bound = npu_f4_all(512); /* with any zero point still beyond every range */
	for (uint64_t i = 0; i < s->p->cols; i += NPU_LANES) {
		npu_f4 scale = npu_f4_load(s->row_scale + i);
		npu_f4 q = npu_f4_load(s->x + i) / scale;
		q = npu_f4_select((scale != 0) & (q == q), q, npu_f4_all(0));
		q = npu_f4_select(q > bound, bound, npu_f4_select(q < -bound, -bound, q));
		npu_f4_store(s->x + i, (q + magic - magic) + npu_f4_load(s->row_zero + i));
	}
}

bool npu_exec_quant(struct npu_exec *e, const struct npu_insn *insn, struct npu_error *err)
{
	const struct npu_quant *p = &insn->quant;
	struct npu_views views;
	struct scaling s;
	if (p->dynamic && p->scale == NPU_SCALE_TENSOR)
		return npu_exec_fail(e, err, NPU_ERR_OPERAND, "dynamic=1 needs scales in memory");
	if (!open_scaling(e, insn, &views, &s, (enum npu_dtype)p->dst_type, err))
		return false;
	if (!p->dynamic)
		read_scales(&s);
	else if (!derive_scales(e, &s, err))
		return false;
	for (uint64_t row = 0; row < p->rows; row++) {
		npu_view_get(s.a, row, s.x);
		spread(&s, row);
		quantise_row(&s);
		npu_view_set(s.dst, row, s.x);
	}
	if (p->dynamic)
		npu_view_set(s.scales, 0, s.scale);
	if (p->dynamic && s.zeros)
		npu_view_set(s.zeros, 0, s.zero);
	return true;
}

bool npu_exec_dequant(struct npu_exec *e, const struct npu_insn *insn, struct npu_error *err)
{
	const struct npu_quant *p = &insn->quant;
	struct npu_views views;
	struct scaling s;
	if (!open_scaling(e, insn, &views, &s, (enum npu_dtype)p->a_type, err))
		return false;
	read_scales(&s);
	for (uint64_t row = 0; row < p->rows; row++) {
		npu_view_get(s.a, row, s.x);
		spread(&s, row);
		npu_row_sub(&e->math, s.x, s.row_zero, s.x, p->cols);
		npu_row_mul(&e->math, s.x, s.row_scale, s.x, p->cols);
		npu_view_set(s.dst, row, s.x);
	}
	return true;
}
