/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions that work element by element: two operands, one operand, none; and the transposer. */
#include "isa/exec/state.h"

#include <string.h>

static npu_unary_fn *const activations[] = {
	[NPU_ACT_NONE] = NULL,         [NPU_ACT_SILU] = npu_row_silu, [NPU_ACT_GELU] = npu_row_gelu,
	[NPU_ACT_RELU] = npu_row_relu, [NPU_ACT_EXP] = npu_row_exp,
};

static void fill(float *x, uint64_t n, float value)
{
	for (uint64_t i = 0; i < n; i++)
		x[i] = value;
}

/* B of any broadcast: what stays for all rows is read once, before anything is written. */
struct broadcast {
	const struct npu_view *view;
	uint32_t kind;
	float *row;
	float *column;
};

static bool broadcast_open(struct npu_exec *e, struct broadcast *b, const struct npu_ew *p, struct npu_view *view,
			   struct npu_view *dst, struct npu_error *err)
{
	*b = (struct broadcast){ .view = view, .kind = p->b_bcast };
	if (!(b->row = npu_scratch_row(e, p->cols, err)))
		return false;
	if (p->b_bcast == NPU_BCAST_IMM)
		fill(b->row, p->cols, p->imm);
	else if (p->b_bcast == NPU_BCAST_ROW)
		npu_view_get(view, 0, b->row);
	else if (p->b_bcast == NPU_BCAST_FULL)
		return npu_view_unshare(e, view, dst, err);
	else if (!(b->column = npu_scratch_row(e, p->rows, err)))
		return false;
	else
		for (uint64_t r = 0; r < p->rows; r++)
			npu_view_get(view, r, b->column + r);
	return true;
}

static const float *broadcast_row(struct broadcast *b, uint64_t row, uint64_t cols)
{
	if (b->kind == NPU_BCAST_FULL)
		npu_view_get(b->view, row, b->row);
	else if (b->kind == NPU_BCAST_COL)
		fill(b->row, cols, b->column[row]);
	return b->row;
}

bool npu_exec_ew(struct npu_exec *e, const struct npu_insn *insn, npu_binary_fn *op, struct npu_error *err)
{
	const struct npu_ew *p = &insn->ew;
	struct npu_views views;
	struct broadcast b;
	float *x;
	if (p->act >= sizeof activations / sizeof *activations)
		return npu_exec_fail(e, err, NPU_ERR_OPERAND, "no activation %u", p->act);
	if (!npu_views_bind(e, insn, &views, err))
		return false;
	struct npu_view *dst = npu_views_find(&views, "dst"), *a = npu_views_find(&views, "a");
	if (!broadcast_open(e, &b, p, npu_views_find(&views, "b"), dst, err) || !npu_view_unshare(e, a, dst, err) ||
	    !(x = npu_scratch_row(e, p->cols, err)))
		return false;
	npu_unary_fn *activation = activations[p->act];
	for (uint64_t r = 0; r < p->rows; r++) {
		npu_view_get(a, r, x);
		if (activation)
			activation(&e->math, x, x, p->cols);
		op(&e->math, x, broadcast_row(&b, r, p->cols), x, p->cols);
		npu_view_set(dst, r, x);
	}
	return true;
}

/* Same type, nothing to compute: bits move, NaNs and large int32 included. */
static bool only_moves(const struct npu_un *p, npu_unary_fn *op)
{
	return op == npu_row_copy && p->scale == 1 && p->dst_type == p->a_type;
}

static void clear_spare_nibbles(const struct npu_view *dst)
{
	if (npu_dtype_bits(dst->m.dtype) == 4 && dst->m.cols % 2)
		for (uint64_t r = 0; r < dst->m.rows; r++)
			npu_view_row(dst, r)[dst->m.cols / 2] &= 15;
}

static void move_rows(const struct npu_view *dst, const struct npu_view *a)
{
	for (uint64_t r = 0; r < a->m.rows; r++)
		memmove(npu_view_row(dst, r), npu_view_row(a, r), npu_matrix_strip_bytes(&a->m));
	clear_spare_nibbles(dst);
}

bool npu_exec_un(struct npu_exec *e, const struct npu_insn *insn, npu_unary_fn *op, struct npu_error *err)
{
	const struct npu_un *p = &insn->un;
	struct npu_views views;
	float *x;
	if (!npu_views_bind(e, insn, &views, err))
		return false;
	struct npu_view *dst = npu_views_find(&views, "dst"), *a = npu_views_find(&views, "a");
	if (!npu_view_unshare(e, a, dst, err) || !(x = npu_scratch_row(e, p->cols, err)))
		return false;
	if (only_moves(p, op)) {
		move_rows(dst, a);
		return true;
	}
	for (uint64_t r = 0; r < p->rows; r++) {
		npu_view_get(a, r, x);
		if (p->scale != 1)
			npu_row_scale(p->scale, x, x, p->cols);
		op(&e->math, x, x, p->cols);
		npu_view_set(dst, r, x);
	}
	return true;
}

/* Rows of A that the transposer takes at a time. */
enum { BAND = 16 };

/* Moves elements of `size` bytes; inlined for each size. */
static inline __attribute__((always_inline)) void turn_bytes(const struct npu_view *dst, const struct npu_view *a,
							     uint64_t size)
{
	for (uint64_t from = 0; from < a->m.rows; from += BAND)
		for (uint64_t col = 0; col < a->m.cols; col++) {
			const uint8_t *element = npu_view_row(a, from) + col * size;
			uint8_t *to = npu_view_row(dst, col) + from * size;
			for (uint64_t i = from; i < from + BAND && i < a->m.rows; i++) {
				memcpy(to, element, size);
				element += a->m.stride;
				to += size;
			}
		}
}

static void turn_nibbles(const struct npu_view *dst, const struct npu_view *a)
{
	for (uint64_t row = 0; row < a->m.rows; row++)
		for (uint64_t col = 0; col < a->m.cols; col++)
			npu_number_set(a->m.dtype, npu_view_row(dst, col), row,
				       npu_number_get(a->m.dtype, npu_view_row(a, row), col));
	clear_spare_nibbles(dst);
}

static void turn_bits(const struct npu_view *dst, const struct npu_view *a)
{
	switch (npu_dtype_bits(a->m.dtype)) {
	case 4:
		turn_nibbles(dst, a);
		break;
	case 8:
		turn_bytes(dst, a, 1);
		break;
	case 16:
		turn_bytes(dst, a, 2);
		break;
	case 32:
		turn_bytes(dst, a, 4);
		break;
	}
}

/* D in bands of columns, so that a band of A stays near. */
static void turn(const struct npu_un *p, const struct npu_view *dst, const struct npu_view *a, float *band, float *line)
{
	uint64_t width = p->cols;
	for (uint64_t from = 0; from < p->rows; from += BAND) {
		uint64_t n = p->rows - from < BAND ? p->rows - from : BAND;
		for (uint64_t i = 0; i < n; i++) {
			npu_view_get(a, from + i, line);
			if (p->scale != 1)
				npu_row_scale(p->scale, line, line, width);
			memcpy(band + i * width, line, width * sizeof *band);
		}
		for (uint64_t row = 0; row < width; row++) {
			for (uint64_t i = 0; i < n; i++)
				line[i] = band[i * width + row];
			uint8_t *to = npu_view_row(dst, row) + from * npu_dtype_bits(dst->m.dtype) / 8;
			npu_row_from_f32(dst->m.dtype, line, to, n);
		}
	}
}

bool npu_exec_transpose(struct npu_exec *e, const struct npu_insn *insn, struct npu_error *err)
{
	const struct npu_un *p = &insn->un;
	struct npu_views views;
	float *band, *line;
	if (!npu_views_bind(e, insn, &views, err))
		return false;
	struct npu_view *dst = npu_views_find(&views, "dst"), *a = npu_views_find(&views, "a");
	if (!npu_view_detach(e, a, dst, err) || !(band = npu_scratch_row(e, (uint64_t)BAND * p->cols, err)) ||
	    !(line = npu_scratch_row(e, p->cols, err)))
		return false;
	if (only_moves(p, npu_row_copy))
		turn_bits(dst, a);
	else
		turn(p, dst, a, band, line);
	return true;
}

bool npu_exec_fill(struct npu_exec *e, const struct npu_insn *insn, struct npu_error *err)
{
	const struct npu_fill *p = &insn->fill;
	struct npu_views views;
	float *x;
	if (!npu_views_bind(e, insn, &views, err) || !(x = npu_scratch_row(e, p->cols, err)))
		return false;
	fill(x, p->cols, p->imm);
	for (uint64_t r = 0; r < p->rows; r++)
		npu_view_set(npu_views_find(&views, "dst"), r, x);
	return true;
}
