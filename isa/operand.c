/* SPDX-License-Identifier: Apache-2.0 */
/* What the operands of each format are. */
#include "isa/operand.h"

#include <assert.h>
#include <stddef.h>

enum role { READ, WRITE, READ_WRITE };

struct list {
	struct npu_operand *out;
	unsigned n;
};

/* Inline: what the compiler knows of an operand it need not carry through a call, and programs have many. */
static inline __attribute__((always_inline)) void add(struct list *list, const char *name, enum role role, enum npu_space space, uint64_t addr,
		const char *stride_name, struct npu_matrix m)
{
	assert(list->n < NPU_MAX_ACCESSES);
	list->out[list->n++] = (struct npu_operand){
		.name = name,
		.stride_name = stride_name,
		.space = space,
		.addr = addr,
		.m = m,
		.reads = role != WRITE,
		.writes = role != READ,
	};
}

static inline __attribute__((always_inline)) void add_local(struct list *list, const char *name, enum role role, uint32_t local, const char *stride_name,
		      struct npu_matrix m)
{
	add(list, name, role, npu_is_acc(local) ? NPU_SPACE_ACCUM : NPU_SPACE_SRAM, npu_local_offset(local),
	    stride_name, m);
}

static struct npu_matrix rows_of(uint64_t rows, uint64_t cols, uint32_t dtype, uint64_t stride)
{
	return (struct npu_matrix){ rows, cols, (enum npu_dtype)dtype, NPU_LAYOUT_ROW, stride };
}

static struct npu_matrix vector_of(uint64_t n, uint32_t dtype)
{
	return rows_of(1, n, dtype, 0);
}

/* A matrix that may be stored as its transpose. */
static struct npu_matrix stored(uint64_t rows, uint64_t cols, bool transposed, uint32_t dtype, uint32_t layout,
				uint64_t stride)
{
	return (struct npu_matrix){ transposed ? cols : rows, transposed ? rows : cols, (enum npu_dtype)dtype, layout,
				    stride };
}

static bool is_to_dram(const struct npu_insn *insn)
{
	return npu_op_engine(insn->op) == NPU_ENGINE_STORE;
}

static void operands_of_dma(const struct npu_insn *insn, struct list *list)
{
	const struct npu_dma *d = &insn->dma;
	bool store = is_to_dram(insn);
	add_local(list, "local", store ? READ : WRITE, d->local, "local_stride",
		  stored(d->rows, d->cols, d->transpose, d->dtype, d->local_layout, d->local_stride));
	add(list, "dram", store ? WRITE : READ, NPU_SPACE_DRAM, d->dram, "dram_stride",
	    stored(d->rows, d->cols, false, d->dtype, d->dram_layout, d->dram_stride));
}

static void operands_of_paged(const struct npu_insn *insn, struct list *list)
{
	const struct npu_paged *p = &insn->paged;
	enum role role = is_to_dram(insn) ? READ : WRITE;
	uint32_t odd = p->odd ? p->rows / 2 : 0;
	add_local(list, "local", role, p->local, "local_stride",
		  stored(p->rows - odd, p->cols, p->transpose, p->dtype, p->local_layout, p->local_stride));
	if (odd)
		add(list, "odd", role, npu_is_acc(p->local) ? NPU_SPACE_ACCUM : NPU_SPACE_SRAM,
		    npu_local_offset(p->local) + (uint64_t)(int64_t)p->odd, "local_stride",
		    rows_of(odd, p->cols, p->dtype, p->local_stride));
}

static void operands_of_matmul(const struct npu_insn *insn, struct list *list)
{
	const struct npu_matmul *p = &insn->matmul;
	bool integer = !p->group && !npu_dtype_is_float((enum npu_dtype)p->a_type) &&
		       !npu_dtype_is_float((enum npu_dtype)p->b_type);
	add_local(list, "dst", p->accumulate ? READ_WRITE : WRITE, p->dst, "dst_stride",
		  rows_of(p->m, p->n, integer ? NPU_INT32 : NPU_FP32, p->dst_stride));
	add_local(list, "a", READ, p->a, "a_stride",
		  stored(p->m, p->k, p->transpose_a, p->a_type, p->a_layout, p->a_stride));
	add_local(list, "b", READ, p->b, "b_stride",
		  stored(p->k, p->n, p->transpose_b, p->b_type, p->b_layout, p->b_stride));
	if (p->group)
		add_local(list, "scales", READ, p->scales, NULL,
			  rows_of(((uint64_t)p->k + p->group - 1) / p->group, p->n, NPU_FP16, 0));
}

static void operands_of_ew(const struct npu_insn *insn, struct list *list)
{
	const struct npu_ew *p = &insn->ew;
	add_local(list, "dst", WRITE, p->dst, "dst_stride", rows_of(p->rows, p->cols, p->dst_type, p->dst_stride));
	add_local(list, "a", READ, p->a, "a_stride", rows_of(p->rows, p->cols, p->a_type, p->a_stride));
	if (p->b_bcast != NPU_BCAST_IMM)
		add_local(list, "b", READ, p->b, "b_stride",
			  rows_of(p->b_bcast == NPU_BCAST_ROW ? 1 : p->rows, p->b_bcast == NPU_BCAST_COL ? 1 : p->cols,
				  p->b_type, p->b_stride));
}

static void operands_of_un(const struct npu_insn *insn, struct list *list)
{
	const struct npu_un *p = &insn->un;
	add_local(list, "dst", WRITE, p->dst, "dst_stride",
		  stored(p->rows, p->cols, insn->op == NPU_OP_VTRANSPOSE, p->dst_type, NPU_LAYOUT_ROW, p->dst_stride));
	add_local(list, "a", READ, p->a, "a_stride", rows_of(p->rows, p->cols, p->a_type, p->a_stride));
}

static void operands_of_red(const struct npu_insn *insn, struct list *list)
{
	const struct npu_red *p = &insn->red;
	add_local(list, "dst", p->accumulate ? READ_WRITE : WRITE, p->dst, NULL, vector_of(p->rows, p->dst_type));
	add_local(list, "a", READ, p->a, "a_stride", rows_of(p->rows, p->cols, p->a_type, p->a_stride));
}

static uint64_t scale_count(const struct npu_quant *p)
{
	switch (p->scale) {
	case NPU_SCALE_ROW:
		return p->rows;
	case NPU_SCALE_COL:
		return p->cols;
	case NPU_SCALE_GROUP:
		return p->group ? (uint64_t)p->rows * (((uint64_t)p->cols + p->group - 1) / p->group) : 0;
	default: /* NPU_SCALE_TENSOR: in the instruction itself */
		return 0;
	}
}

static void operands_of_quant(const struct npu_insn *insn, struct list *list)
{
	const struct npu_quant *p = &insn->quant;
	uint64_t scales = scale_count(p);
	uint32_t quantised = insn->op == NPU_OP_VQUANT ? p->dst_type : p->a_type;
	bool is_unsigned = quantised == NPU_UINT8 || quantised == NPU_UINT4;
	enum role role = p->dynamic ? WRITE : READ;
	add_local(list, "dst", WRITE, p->dst, "dst_stride", rows_of(p->rows, p->cols, p->dst_type, p->dst_stride));
	add_local(list, "a", READ, p->a, "a_stride", rows_of(p->rows, p->cols, p->a_type, p->a_stride));
	if (!scales)
		return;
	add_local(list, "scales", role, p->scales, NULL, vector_of(scales, p->scale_type));
	if (p->asymmetric)
		add_local(list, "zeros", role, p->zeros, NULL, vector_of(scales, is_unsigned ? NPU_UINT8 : NPU_INT8));
}

static void operands_of_rope(const struct npu_insn *insn, struct list *list)
{
	const struct npu_rope *p = &insn->rope;
	uint64_t cols = (uint64_t)p->heads * p->dim;
	struct npu_matrix table = rows_of(p->rows, p->rotary / 2, p->table_type, p->table_stride);
	add_local(list, "dst", WRITE, p->dst, "dst_stride", rows_of(p->rows, cols, p->dst_type, p->dst_stride));
	add_local(list, "a", READ, p->a, "a_stride", rows_of(p->rows, cols, p->a_type, p->a_stride));
	add_local(list, "cosine", READ, p->cosine, "table_stride", table);
	add_local(list, "sine", READ, p->sine, "table_stride", table);
}

static void operands_of_norm(const struct npu_insn *insn, struct list *list)
{
	const struct npu_norm *p = &insn->norm;
	add_local(list, "dst", WRITE, p->dst, "dst_stride", rows_of(p->rows, p->cols, p->dst_type, p->dst_stride));
	add_local(list, "a", READ, p->a, "a_stride", rows_of(p->rows, p->cols, p->a_type, p->a_stride));
	add_local(list, "weight", READ, p->weight, NULL, vector_of(p->cols, p->weight_type));
	if (p->has_bias)
		add_local(list, "bias", READ, p->bias, NULL, vector_of(p->cols, p->weight_type));
}

static void operands_of_softmax(const struct npu_insn *insn, struct list *list)
{
	const struct npu_softmax *p = &insn->softmax;
	add_local(list, "dst", WRITE, p->dst, "dst_stride", rows_of(p->rows, p->cols, p->dst_type, p->dst_stride));
	add_local(list, "a", READ, p->a, "a_stride", rows_of(p->rows, p->cols, p->a_type, p->a_stride));
	if (insn->op != NPU_OP_VSOFTMAX_ONLINE)
		return;
	/* Running max and running sum come from the tile before; the rescale factor is only ever a result. */
	if (!p->first)
		add_local(list, "state", READ, p->state, "state_stride",
			  rows_of(2, p->rows, NPU_FP32, p->state_stride));
	add_local(list, "state", WRITE, p->state, "state_stride", rows_of(3, p->rows, NPU_FP32, p->state_stride));
}

static void operands_of_fill(const struct npu_insn *insn, struct list *list)
{
	const struct npu_fill *p = &insn->fill;
	add_local(list, "dst", WRITE, p->dst, "dst_stride", rows_of(p->rows, p->cols, p->dst_type, p->dst_stride));
}

static void operands_of_none(const struct npu_insn *insn, struct list *list)
{
	(void)insn, (void)list;
}

unsigned npu_insn_operands(const struct npu_insn *insn, struct npu_operand out[NPU_MAX_ACCESSES])
{
	struct list list = { out, 0 };
	switch ((enum npu_op)insn->op) {
#define INSN(OP, mnemonic, opcode, f, engine, doc)                                                                     \
	case NPU_OP_##OP:                                                                                              \
		operands_of_##f(insn, &list);                                                                          \
		break;
#include "isa/npu.def"
	}
	return list.n;
}
