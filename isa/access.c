/* SPDX-License-Identifier: Apache-2.0 */
/* Operands as bytes, counts of work, and whether two accesses meet. */
#include "isa/access.h"

#include "isa/operand.h"

static struct npu_access access_of(const struct npu_operand *operand)
{
	const struct npu_matrix *m = &operand->m;
	uint64_t rows = npu_matrix_strips(m), bytes = npu_matrix_strip_bytes(m), stride = m->stride ? m->stride : bytes;
	if (rows <= 1 || stride == bytes) { /* dense */
		bytes = stride = rows ? (rows - 1) * stride + bytes : 0;
		rows = 1;
	}
	return (struct npu_access){
		.space = operand->space,
		.base = operand->addr,
		.row_bytes = bytes,
		.rows = rows,
		.stride = stride,
		.operand = operand->name,
	};
}

unsigned npu_insn_accesses(const struct npu_insn *insn, struct npu_access out[NPU_MAX_ACCESSES])
{
	struct npu_operand operands[NPU_MAX_ACCESSES];
	unsigned noperands = npu_insn_operands(insn, operands), n = 0;
	for (unsigned i = 0; i < noperands; i++)
		if (operands[i].reads)
			out[n++] = access_of(&operands[i]);
	for (unsigned i = 0; i < noperands; i++)
		if (operands[i].writes) {
			out[n] = access_of(&operands[i]);
			out[n++].write = true;
		}
	return n;
}

static uint64_t dma_bytes(const struct npu_dma *d)
{
	struct npu_matrix m = { d->rows, d->cols, (enum npu_dtype)d->dtype, d->dram_layout, d->dram_stride };
	return npu_matrix_strips(&m) * npu_matrix_strip_bytes(&m);
}

static uint64_t paged_bytes(const struct npu_paged *p)
{
	return p->rows * npu_dtype_bytes((enum npu_dtype)p->dtype, p->cols);
}

uint64_t npu_insn_dram_bytes(const struct npu_insn *insn)
{
	switch (npu_op_format(insn->op)) {
	case NPU_FORMAT_dma:
		return dma_bytes(&insn->dma);
	case NPU_FORMAT_paged:
		return paged_bytes(&insn->paged);
	case NPU_FORMAT_matmul:
	case NPU_FORMAT_ew:
	case NPU_FORMAT_un:
	case NPU_FORMAT_red:
	case NPU_FORMAT_quant:
	case NPU_FORMAT_rope:
	case NPU_FORMAT_norm:
	case NPU_FORMAT_softmax:
	case NPU_FORMAT_fill:
	case NPU_FORMAT_none:
		break;
	}
	return 0;
}

uint64_t npu_insn_table_bytes(const struct npu_insn *insn)
{
	if (npu_op_format(insn->op) != NPU_FORMAT_paged || !insn->paged.rows || !insn->paged.page_rows)
		return 0;
	uint64_t first = insn->paged.first, last = first + insn->paged.rows - 1;
	return 4 * (last / insn->paged.page_rows - first / insn->paged.page_rows + 1);
}

uint64_t npu_insn_macs(const struct npu_insn *insn)
{
	if (npu_op_format(insn->op) != NPU_FORMAT_matmul)
		return 0;
	return (uint64_t)insn->matmul.m * insn->matmul.n * insn->matmul.k;
}

static uint64_t end_of(const struct npu_access *a)
{
	return a->base + (a->rows - 1) * a->stride + a->row_bytes;
}

/* Whether a row of `a` meets lo <= byte < hi. Rows do not overlap, so the last row that starts below hi also ends last.
 */
static bool meets(const struct npu_access *a, uint64_t lo, uint64_t hi)
{
	if (hi <= a->base)
		return false;
	uint64_t row = a->rows > 1 ? (hi - 1 - a->base) / a->stride : 0;
	if (row >= a->rows)
		row = a->rows - 1;
	return a->base + row * a->stride + a->row_bytes > lo;
}

/* Rows i of a and j of b lie d + (j - i) * stride apart; they meet when that is above -b->row_bytes and below
 * a->row_bytes. */
static bool meet_in_step(const struct npu_access *a, const struct npu_access *b)
{
	int64_t d = (int64_t)(b->base - a->base), stride = (int64_t)a->stride;
	int64_t above = -(int64_t)b->row_bytes - d;
	int64_t k = above / stride - (above % stride < 0) + 1; /* least k with k * stride > above */
	int64_t least = -(int64_t)(a->rows - 1);
	k = k < least ? least : k;
	return k <= (int64_t)(b->rows - 1) && d + k * stride < (int64_t)a->row_bytes;
}

bool npu_access_overlap(const struct npu_access *a, const struct npu_access *b)
{
	if (a->space != b->space || !a->rows || !b->rows || !a->row_bytes || !b->row_bytes)
		return false;
	if (a->base >= end_of(b) || b->base >= end_of(a))
		return false;
	if (a->stride == b->stride && a->rows > 1 && b->rows > 1)
		return meet_in_step(a, b);
	const struct npu_access *few = a->rows <= b->rows ? a : b, *many = few == a ? b : a;
	for (uint64_t i = 0; i < few->rows; i++) {
		uint64_t lo = few->base + i * few->stride;
		if (meets(many, lo, lo + few->row_bytes))
			return true;
	}
	return false;
}
