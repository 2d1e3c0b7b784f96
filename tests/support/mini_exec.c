/* SPDX-License-Identifier: Apache-2.0 */
/* See the header. Every access is checked against its memory; arithmetic is in double, rounded when it is stored. */
#include "tests/support/mini_exec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SRAM, ACCUM, DRAM };

/* A matrix somewhere, row-major or in blocks of `block` x `block`; `stride` is bytes between rows (of blocks). */
struct view {
	int memory;
	uint64_t at, stride;
	enum npu_dtype type;
	uint64_t block; /* 0: row-major */
};

static uint64_t bits_of(enum npu_dtype t)
{
	return t == NPU_FP32 || t == NPU_INT32 ? 32 : t == NPU_FP16 || t == NPU_BF16 ? 16 : t == NPU_INT4 ? 4 : 8;
}

/* Bytes that hold one element, or two of int4. */
static uint64_t size_of(enum npu_dtype t)
{
	return bits_of(t) < 8 ? 1 : bits_of(t) / 8;
}

static double half_to_double(uint16_t bits)
{
	int exponent = bits >> 10 & 31, mantissa = bits & 1023;
	double x = exponent == 31 ? (mantissa ? NAN : INFINITY)
				  : ldexp(exponent ? 1024 + mantissa : mantissa, (exponent ? exponent : 1) - 25);
	return bits & 0x8000 ? -x : x;
}

static uint16_t half_from_double(double x)
{
	uint16_t sign = signbit(x) ? 0x8000 : 0;
	if (isnan(x))
		return 0x7e00;
	/* Units of 2^-10 of the power of two below, no finer than the subnormal ones; the default rounding is to even.
	 */
	int power = x != 0 && fabs(x) >= 0x1p-14 ? ilogb(x) : -14;
	double units = nearbyint(ldexp(fabs(x), 10 - power));
	if (ldexp(units, power - 10) >= 65536)
		return sign | 0x7c00;
	/* A carry out of the mantissa runs into the exponent, as it should. */
	return (uint16_t)(sign | ((uint32_t)(power + 14) * 1024 + (uint32_t)units));
}

static uint8_t *bytes_at(struct mini *m, const struct view *v, uint64_t row, uint64_t col)
{
	static uint8_t nowhere[4];
	uint64_t side = v->block ? v->block : 1;
	uint64_t element = v->block ? (col / side * side + row % side) * side + col % side : col;
	uint64_t at = v->at + row / side * v->stride + element * bits_of(v->type) / 8;
	if (at + size_of(v->type) <= m->bytes[v->memory])
		return m->memory[v->memory] + at;
	if (!m->error[0])
		snprintf(m->error, sizeof m->error, "byte 0x%llx of memory %d does not exist", (unsigned long long)at,
			 v->memory);
	memset(nowhere, 0xff, sizeof nowhere);
	return nowhere;
}

static double get(struct mini *m, const struct view *v, uint64_t row, uint64_t col)
{
	union {
		uint8_t bytes[4];
		uint32_t u;
		int32_t i;
		int8_t i8;
		float f;
		uint16_t h;
	} x = { { 0 } };
	memcpy(x.bytes, bytes_at(m, v, row, col), size_of(v->type));
	switch (v->type) {
	case NPU_FP32:
		return x.f;
	case NPU_FP16:
		return half_to_double(x.h);
	case NPU_BF16:
		x.u <<= 16;
		return x.f;
	case NPU_INT32:
		return x.i;
	case NPU_INT8:
		return x.i8;
	case NPU_INT4:
		return (x.bytes[0] >> (col % 2 * 4) & 15) - (x.bytes[0] >> (col % 2 * 4) & 8) * 2;
	case NPU_UINT8:
	case NPU_UINT4:
	case NPU_DTYPES:
		break;
	}
	abort();
}

static void set(struct mini *m, const struct view *v, uint64_t row, uint64_t col, double value)
{
	union {
		uint8_t bytes[4];
		uint32_t u;
		int32_t i;
		int8_t i8;
		float f;
		uint16_t h;
	} x = { { 0 } };
	switch (v->type) {
	case NPU_FP32:
		x.f = (float)value;
		break;
	case NPU_FP16:
		x.h = half_from_double(value);
		break;
	case NPU_BF16:
		x.f = (float)value;
		x.u = (x.u + 0x7fff + ((x.u >> 16) & 1)) >> 16;
		break;
	case NPU_INT32:
		x.i = (int32_t)value;
		break;
	case NPU_INT8:
		x.i8 = (int8_t)value;
		break;
	case NPU_INT4:
		x.bytes[0] = *bytes_at(m, v, row, col) & (uint8_t)(0xf0 >> col % 2 * 4);
		x.bytes[0] |= (uint8_t)(((int)value & 15) << col % 2 * 4);
		break;
	case NPU_UINT8:
	case NPU_UINT4:
	case NPU_DTYPES:
		abort();
	}
	memcpy(bytes_at(m, v, row, col), x.bytes, size_of(v->type));
}

static uint64_t row_bytes(uint32_t type, uint64_t cols)
{
	return (cols * bits_of(type) + 7) / 8;
}

static struct view local(uint32_t at, uint32_t stride, uint32_t type, uint64_t cols)
{
	return (struct view){ npu_is_acc(at) ? ACCUM : SRAM, npu_local_offset(at),
			      stride ? stride : row_bytes(type, cols), type, 0 };
}

static struct view dram(uint64_t at, uint64_t stride, uint32_t type, uint64_t cols)
{
	return (struct view){ DRAM, at, stride ? stride : row_bytes(type, cols), type, 0 };
}

/* The same in a layout, rows of whole blocks. */
static struct view blocked(struct view v, uint32_t layout, uint32_t stride, uint64_t cols)
{
	v.block = layout == NPU_LAYOUT_ROW ? 0 : layout == NPU_LAYOUT_BLOCK16 ? 16 : 32;
	if (v.block && !stride)
		v.stride = (cols + v.block - 1) / v.block * v.block * v.block * bits_of(v.type) / 8;
	return v;
}

static void copy(struct mini *m, const struct view *from, const struct view *to, uint64_t rows, uint64_t cols)
{
	for (uint64_t r = 0; r < rows; r++)
		for (uint64_t c = 0; c < cols; c++) {
			if (to->type == NPU_INT4)
				set(m, to, r, c, get(m, from, r, c));
			else
				memmove(bytes_at(m, to, r, c), bytes_at(m, from, r, c), size_of(to->type));
		}
}

static void dma(struct mini *m, const struct npu_dma *d, bool store)
{
	struct view l = local(d->local, d->local_stride, d->dtype, d->cols),
		    e = dram(d->dram, d->dram_stride, d->dtype, d->cols);
	if (d->transpose && (store || d->dram_layout || d->local_layout))
		abort();
	l = blocked(l, d->local_layout, d->local_stride, d->cols);
	e = blocked(e, d->dram_layout, d->dram_stride, d->cols);
	if (!d->transpose) {
		copy(m, store ? &l : &e, store ? &e : &l, d->rows, d->cols);
		return;
	}
	l.stride = d->local_stride ? d->local_stride : d->rows * size_of(d->dtype);
	for (uint64_t r = 0; r < d->rows; r++)
		for (uint64_t c = 0; c < d->cols; c++)
			memcpy(bytes_at(m, &l, c, r), bytes_at(m, &e, r, c), size_of(d->dtype));
}

/* Gathers, or scatters; the transpose is of whole bytes. */
static void paged(struct mini *m, const struct npu_paged *p, bool store)
{
	const struct npu_table *table = &m->program->tables[p->table];
	struct view l = local(p->local, p->local_stride, p->dtype, p->transpose ? p->rows : p->cols);
	for (uint64_t r = 0; r < p->rows; r++) {
		uint64_t token = p->first + r, page = token / p->page_rows;
		struct view e = dram(p->dram, p->row_stride, p->dtype, p->cols), line = l;
		if (page >= table->count) {
			snprintf(m->error, sizeof m->error, "table entry %llu does not exist",
				 (unsigned long long)page);
			return;
		}
		e.at += (uint64_t)table->entries[page] * p->page_stride + token % p->page_rows * e.stride;
		line.at += p->odd ? r / 2 * l.stride + (r % 2 ? (uint64_t)(int64_t)p->odd : 0) : r * l.stride;
		if (!p->transpose)
			copy(m, store ? &line : &e, store ? &e : &line, 1, p->cols);
		for (uint64_t c = 0; p->transpose && c < p->cols; c++)
			memcpy(bytes_at(m, &l, c, r), bytes_at(m, &e, 0, c), size_of(p->dtype));
	}
}

static void matmul(struct mini *m, const struct npu_matmul *p)
{
	uint64_t b_cols = p->transpose_b ? p->k : p->n, group = p->group ? p->group : p->k;
	struct view a = local(p->a, p->a_stride, p->a_type, p->k), b = local(p->b, p->b_stride, p->b_type, b_cols);
	struct view d = local(p->dst, p->dst_stride, p->a_type == NPU_INT8 && !p->group ? NPU_INT32 : NPU_FP32, p->n);
	struct view scales = local(p->scales, 0, NPU_FP16, p->n);
	a = blocked(a, p->a_layout, p->a_stride, p->k);
	b = blocked(b, p->b_layout, p->b_stride, b_cols);
	if (p->transpose_a || d.memory != ACCUM)
		abort();
	for (uint64_t i = 0; i < p->m; i++)
		for (uint64_t j = 0; j < p->n; j++) {
			double sum = p->accumulate ? get(m, &d, i, j) : 0, part = 0;
			for (uint64_t l = 0; l < p->k; l++) {
				part += get(m, &a, i, l) * get(m, &b, p->transpose_b ? j : l, p->transpose_b ? l : j);
				if (l % group < group - 1 && l + 1 < p->k)
					continue;
				sum += part * (p->group ? get(m, &scales, l / group, j) : 1);
				part = 0;
			}
			set(m, &d, i, j, sum);
		}
}

static double activated(uint32_t act, double x)
{
	switch (act) {
	case NPU_ACT_NONE:
		return x;
	case NPU_ACT_SILU:
		return x / (1 + exp(-x));
	case NPU_ACT_GELU:
		return x / 2 * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
	case NPU_ACT_RELU:
		return fmax(x, 0);
	default:
		return exp(x);
	}
}

static double combined(enum npu_op op, bool guard, double x, double y)
{
	if (op == NPU_OP_VADD)
		return x + y;
	if (op == NPU_OP_VSUB)
		return x - y;
	if (op == NPU_OP_VMUL)
		return x * y;
	if (op == NPU_OP_VMAX)
		return fmax(x, y);
	if (op != NPU_OP_VDIV)
		abort();
	return guard && y == 0 ? 0 : x / y;
}

static uint64_t scale_of(const struct npu_quant *p, uint64_t r, uint64_t c)
{
	return p->scale == NPU_SCALE_ROW   ? r
	       : p->scale == NPU_SCALE_COL ? c
					   : r * ((p->cols + p->group - 1) / p->group) + c / p->group;
}

/* Symmetric, with scales in memory. */
static void quantise(struct mini *m, enum npu_op op, const struct npu_quant *p)
{
	struct view a = local(p->a, p->a_stride, p->a_type, p->cols), d = local(p->dst, p->dst_stride, p->dst_type, p->cols);
	struct view scales = local(p->scales, 0, p->scale_type, 1);
	bool there = op == NPU_OP_VQUANT;
	double least = p->dst_type == NPU_INT4 ? -8 : -128, most = p->dst_type == NPU_INT4 ? 7 : 127;
	if (p->asymmetric || p->scale == NPU_SCALE_TENSOR || there != p->dynamic)
		abort();
	for (uint64_t r = 0; there && r < p->rows; r++)
		for (uint64_t c = 0; c < p->cols; c++)
			set(m, &scales, scale_of(p, r, c), 0, 0);
	for (uint64_t r = 0; there && r < p->rows; r++)
		for (uint64_t c = 0; c < p->cols; c++) {
			uint64_t i = scale_of(p, r, c);
			double x = fabs(get(m, &a, r, c)) / most;
			if (x > get(m, &scales, i, 0))
				set(m, &scales, i, 0, x);
		}
	for (uint64_t r = 0; r < p->rows; r++)
		for (uint64_t c = 0; c < p->cols; c++) {
			double scale = get(m, &scales, scale_of(p, r, c), 0), x = get(m, &a, r, c);
			double q = there && scale == 0 ? 0 : fmin(fmax(nearbyint(x / scale), least), most);
			set(m, &d, r, c, there ? q : x * scale);
		}
}

static void elementwise(struct mini *m, enum npu_op op, const struct npu_ew *p)
{
	struct view a = local(p->a, p->a_stride, p->a_type, p->cols),
		    d = local(p->dst, p->dst_stride, p->dst_type, p->cols);
	struct view b = local(p->b, p->b_stride, p->b_type, p->b_bcast == NPU_BCAST_COL ? 1 : p->cols);
	for (uint64_t r = 0; r < p->rows; r++)
		for (uint64_t c = 0; c < p->cols; c++) {
			double x = activated(p->act, get(m, &a, r, c)), y = p->imm;
			if (p->b_bcast != NPU_BCAST_IMM)
				y = get(m, &b, p->b_bcast == NPU_BCAST_ROW ? 0 : r,
					p->b_bcast == NPU_BCAST_COL ? 0 : c);
			set(m, &d, r, c, combined(op, p->guard, x, y));
		}
}

static void normalise(struct mini *m, bool layer, const struct npu_norm *p)
{
	struct view a = local(p->a, p->a_stride, p->a_type, p->cols),
		    d = local(p->dst, p->dst_stride, p->dst_type, p->cols);
	struct view w = local(p->weight, 0, p->weight_type, p->cols), b = local(p->bias, 0, p->weight_type, p->cols);
	for (uint64_t r = 0; r < p->rows; r++) {
		double mean = 0, square = 0;
		for (uint64_t c = 0; c < p->cols && layer; c++)
			mean += get(m, &a, r, c) / p->cols;
		for (uint64_t c = 0; c < p->cols; c++)
			square += pow(get(m, &a, r, c) - mean, 2) / p->cols;
		for (uint64_t c = 0; c < p->cols; c++)
			set(m, &d, r, c,
			    (get(m, &a, r, c) - mean) / sqrt(square + (double)p->eps) *
					    (get(m, &w, 0, c) + p->unit_offset) +
				    (p->has_bias ? get(m, &b, 0, c) : 0));
	}
}

static void rotate(struct mini *m, const struct npu_rope *p)
{
	uint64_t cols = (uint64_t)p->heads * p->dim, pairs = p->rotary / 2;
	struct view a = local(p->a, p->a_stride, p->a_type, cols), d = local(p->dst, p->dst_stride, p->dst_type, cols);
	struct view cosine = local(p->cosine, p->table_stride, p->table_type, pairs),
		    sine = local(p->sine, p->table_stride, p->table_type, pairs);
	for (uint64_t r = 0; r < p->rows; r++)
		for (uint64_t h = 0; h < p->heads; h++) {
			for (uint64_t i = 0; i < pairs; i++) {
				uint64_t first = h * p->dim + (p->interleaved ? 2 * i : i);
				uint64_t second = first + (p->interleaved ? 1 : pairs);
				double x = get(m, &a, r, first), y = get(m, &a, r, second);
				double c = get(m, &cosine, r, i), s = get(m, &sine, r, i);
				set(m, &d, r, first, x * c - y * s);
				set(m, &d, r, second, y * c + x * s);
			}
			for (uint64_t i = p->rotary; i < p->dim; i++)
				set(m, &d, r, h * p->dim + i, get(m, &a, r, h * p->dim + i));
		}
}

static void fill(struct mini *m, const struct npu_fill *p)
{
	struct view d = local(p->dst, p->dst_stride, p->dst_type, p->cols);
	for (uint64_t r = 0; r < p->rows; r++)
		for (uint64_t c = 0; c < p->cols; c++)
			set(m, &d, r, c, p->imm);
}

static void unary(struct mini *m, enum npu_op op, const struct npu_un *p)
{
	struct view a = local(p->a, p->a_stride, p->a_type, p->cols),
		    d = local(p->dst, p->dst_stride, p->dst_type, p->cols);
	for (uint64_t r = 0; r < p->rows; r++)
		for (uint64_t c = 0; c < p->cols; c++) {
			double x = p->scale * get(m, &a, r, c);
			uint32_t act = op == NPU_OP_VEXP ? NPU_ACT_EXP : op == NPU_OP_VGELU ? NPU_ACT_GELU : NPU_ACT_NONE;
			set(m, &d, r, c, op == NPU_OP_VTANH ? tanh(x) : activated(act, x));
		}
}

static void reduce(struct mini *m, enum npu_op op, const struct npu_red *p)
{
	struct view a = local(p->a, p->a_stride, p->a_type, p->cols), d = local(p->dst, 0, p->dst_type, 1);
	for (uint64_t r = 0; r < p->rows; r++) {
		double x = op == NPU_OP_VREDMAX ? -INFINITY : 0;
		for (uint64_t c = 0; c < p->cols; c++)
			x = op == NPU_OP_VREDMAX ? fmax(x, get(m, &a, r, c)) : x + get(m, &a, r, c);
		set(m, &d, r, 0, x);
	}
}

static bool hidden(const struct npu_softmax *p, int64_t r, int64_t c)
{
	return (p->causal && c > p->diagonal + r) || (p->window && c <= p->diagonal + r - (int64_t)p->window) ||
	       (p->padded && c >= (int64_t)p->valid);
}

static void softmax(struct mini *m, enum npu_op op, const struct npu_softmax *p)
{
	struct view a = local(p->a, p->a_stride, p->a_type, p->cols),
		    d = local(p->dst, p->dst_stride, p->dst_type, p->cols);
	uint32_t stride = p->state_stride ? p->state_stride : p->rows * 4;
	struct view max_at = local(p->state, 0, NPU_FP32, 1), sum_at = local(p->state + stride, 0, NPU_FP32, 1);
	struct view rescale_at = local(p->state + 2 * stride, 0, NPU_FP32, 1);
	double *row = malloc(p->cols * sizeof *row);

	for (uint64_t r = 0; r < p->rows; r++) {
		bool carry = op == NPU_OP_VSOFTMAX_ONLINE && !p->first;
		double old = carry ? get(m, &max_at, r, 0) : -INFINITY, max = old, sum = 0;
		for (uint64_t c = 0; c < p->cols; c++) {
			row[c] = hidden(p, (int64_t)r, (int64_t)c) ? -INFINITY : p->scale * get(m, &a, r, c);
			max = fmax(max, row[c]);
		}
		for (uint64_t c = 0; c < p->cols; c++) {
			if (op != NPU_OP_VMASK)
				row[c] = row[c] == -INFINITY ? 0 : exp(row[c] - max);
			sum += row[c];
		}
		for (uint64_t c = 0; c < p->cols; c++)
			set(m, &d, r, c, op == NPU_OP_VSOFTMAX && sum > 0 ? row[c] / sum : row[c]);
		if (op == NPU_OP_VSOFTMAX_ONLINE) {
			double rescale = old == -INFINITY ? 0 : exp(old - max);
			set(m, &sum_at, r, 0, (carry ? get(m, &sum_at, r, 0) * rescale : 0) + sum);
			set(m, &max_at, r, 0, max);
			set(m, &rescale_at, r, 0, rescale);
		}
	}
	free(row);
}

static void execute(struct mini *m, const struct npu_insn *insn)
{
	enum npu_op op = (enum npu_op)insn->op;
	if (npu_op_is_sync(op))
		return;
	if (op == NPU_OP_LOAD || op == NPU_OP_STORE)
		dma(m, &insn->dma, op == NPU_OP_STORE);
	else if (op == NPU_OP_GATHER)
		paged(m, &insn->paged, false);
	else if (op == NPU_OP_SCATTER)
		paged(m, &insn->paged, true);
	else if (op == NPU_OP_VQUANT || op == NPU_OP_VDEQUANT)
		quantise(m, op, &insn->quant);
	else if (op == NPU_OP_MATMUL)
		matmul(m, &insn->matmul);
	else if (op == NPU_OP_VMUL || op == NPU_OP_VSUB || op == NPU_OP_VDIV || op == NPU_OP_VADD || op == NPU_OP_VMAX)
		elementwise(m, op, &insn->ew);
	else if (op == NPU_OP_VCOPY || op == NPU_OP_VEXP || op == NPU_OP_VGELU || op == NPU_OP_VTANH)
		unary(m, op, &insn->un);
	else if (op == NPU_OP_VRMSNORM || op == NPU_OP_VLAYERNORM)
		normalise(m, op == NPU_OP_VLAYERNORM, &insn->norm);
	else if (op == NPU_OP_VROPE)
		rotate(m, &insn->rope);
	else if (op == NPU_OP_VFILL)
		fill(m, &insn->fill);
	else if (op == NPU_OP_VREDMAX || op == NPU_OP_VREDSUM)
		reduce(m, op, &insn->red);
	else if (op == NPU_OP_VMASK || op == NPU_OP_VSOFTMAX || op == NPU_OP_VSOFTMAX_ONLINE)
		softmax(m, op, &insn->softmax);
	else
		snprintf(m->error, sizeof m->error, "%s is not known here", npu_op_mnemonic(op));
}

bool mini_init(struct mini *m, const struct npu_program *program)
{
	*m = (struct mini){ .program = program };
	m->bytes[SRAM] = program->needs.sram_bytes;
	m->bytes[ACCUM] = program->needs.accum_bytes;
	m->bytes[DRAM] = program->needs.dram_bytes;
	for (int i = 0; i < 3; i++) {
		m->memory[i] = malloc(m->bytes[i] + 1);
		if (!m->memory[i])
			return false;
		memset(m->memory[i], 0xff, m->bytes[i]);
	}
	return true;
}

void mini_fini(struct mini *m)
{
	for (int i = 0; i < 3; i++)
		free(m->memory[i]);
}

bool mini_step(struct mini *m, uint32_t insn)
{
	const struct npu_insn *i = &m->program->insns[insn];
	execute(m, i);
	size_t length = strlen(m->error);
	if (length)
		snprintf(m->error + length, sizeof m->error - length, " (#%u %s)", insn, npu_op_mnemonic(i->op));
	return !length;
}

bool mini_run(struct mini *m)
{
	for (uint32_t i = 0; i < m->program->ninsns; i++)
		if (!mini_step(m, i))
			return false;
	return true;
}

const struct npu_tensor *mini_tensor(const struct mini *m, const char *name)
{
	for (uint32_t i = 0; i < m->program->ntensors; i++)
		if (!strcmp(m->program->tensors[i].name, name))
			return &m->program->tensors[i];
	return NULL;
}

/* A tensor as one row, or its blocks, where it has two dimensions and a layout. */
static struct view tensor_view(const struct npu_tensor *t, uint64_t index, uint64_t *row, uint64_t *col)
{
	uint64_t cols = t->layout ? t->shape[1] : index + 1;
	*row = index / cols;
	*col = index % cols;
	return blocked(dram(t->addr, 0, t->dtype, cols), t->layout, 0, cols);
}

double mini_get(struct mini *m, const struct npu_tensor *t, uint64_t index)
{
	uint64_t row, col;
	struct view v = tensor_view(t, index, &row, &col);
	return get(m, &v, row, col);
}

void mini_set(struct mini *m, const struct npu_tensor *t, uint64_t index, double value)
{
	uint64_t row, col;
	struct view v = tensor_view(t, index, &row, &col);
	set(m, &v, row, col, value);
}

double mini_local(struct mini *m, uint32_t at, enum npu_dtype type, uint64_t index)
{
	struct view v = local(at, 0, type, 1);
	return get(m, &v, 0, index);
}
