/* SPDX-License-Identifier: Apache-2.0 */
/* Which operands an instruction takes. One function a format for what its fields mean together; ranges, strides and
 * addresses are checked alike for all. */
#include "isa/field.h"
#include "isa/legal.h"
#include "isa/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TYPE(t) (1u << NPU_##t)
enum {
	FLOATS = TYPE(FP32) | TYPE(FP16) | TYPE(BF16),
	INTEGERS = TYPE(INT32) | TYPE(INT8) | TYPE(UINT8) | TYPE(INT4) | TYPE(UINT4),
	QUANTISED = TYPE(INT8) | TYPE(UINT8) | TYPE(INT4) | TYPE(UINT4),
	SUMS = FLOATS | TYPE(INT32),
	ANY = FLOATS | INTEGERS,
};

/* "fp16, bf16 or int8" */
static void list_types(unsigned types, char *out, size_t size)
{
	size_t used = 0;
	out[0] = '\0';
	for (unsigned t = 0; t < NPU_DTYPES; t++) {
		if (!(types >> t & 1))
			continue;
		bool last = types >> t == 1;
		int n = snprintf(out + used, size - used, "%s%s",
				 used == 0 ? ""
				 : last    ? " or "
					   : ", ",
				 npu_dtype_name((enum npu_dtype)t));
		used += n > 0 ? (size_t)n : 0;
	}
}

static bool takes(const struct npu_legal *c, const char *field, uint32_t dtype, unsigned types)
{
	char list[128];
	if (types >> dtype & 1)
		return true;
	list_types(types, list, sizeof list);
	return npu_legal_refuse(c, NPU_ERR_OPERAND, "%s=%s: must be %s", field, npu_dtype_name((enum npu_dtype)dtype),
				list);
}

static bool in_sram(const struct npu_legal *c, const char *field, uint32_t local)
{
	if (!npu_is_acc(local))
		return true;
	return npu_legal_refuse(c, NPU_ERR_OPERAND, "%s=%s: must be in SRAM (sram:0x...)", field,
				npu_local_text(local).text);
}

static bool in_accumulators(const struct npu_legal *c, const char *field, uint32_t local)
{
	if (npu_is_acc(local))
		return true;
	return npu_legal_refuse(c, NPU_ERR_OPERAND, "%s=%s: must be in the accumulators (acc:0x...)", field,
				npu_local_text(local).text);
}

/* `flag` is set although `what` (an instruction) has no use for it. */
static bool only_for(const struct npu_legal *c, const char *flag, bool set, enum npu_op op)
{
	if (!set || c->program->insns[c->insn].op == op)
		return true;
	return npu_legal_refuse(c, NPU_ERR_OPERAND, "%s=1: only %s has a use for it", flag, npu_op_mnemonic(op));
}

static bool legal_dma(const struct npu_legal *c, const struct npu_insn *insn)
{
	return npu_op_engine(insn->op) == NPU_ENGINE_STORE || in_sram(c, "local", insn->dma.local);
}

static bool legal_page(const struct npu_legal *c, const struct npu_paged *p)
{
	uint64_t row_bytes = npu_dtype_bytes((enum npu_dtype)p->dtype, p->cols);
	if (p->cols * npu_dtype_bits((enum npu_dtype)p->dtype) % 8)
		return npu_legal_refuse(c, NPU_ERR_OPERAND, "cols=%u: a row of %u %s element%s is not whole bytes",
					p->cols, p->cols, npu_dtype_name((enum npu_dtype)p->dtype),
					p->cols == 1 ? "" : "s");
	if (p->odd && (p->transpose || p->local_layout != NPU_LAYOUT_ROW))
		return npu_legal_refuse(c, NPU_ERR_OPERAND,
					"odd=%d: rows come apart only in row-major local memory, not transposed",
					(int)p->odd);
	if (p->odd < 0 && npu_local_offset(p->local) < (uint64_t)-(int64_t)p->odd)
		return npu_legal_refuse(c, NPU_ERR_OPERAND,
					"odd=%d: rows 1, 3, ... would lie before the memory, %s is byte %u of it",
					(int)p->odd, npu_local_text(p->local).text, npu_local_offset(p->local));
	if (p->row_stride && p->row_stride < row_bytes)
		return npu_legal_refuse(c, NPU_ERR_OPERAND, "row_stride=%u: must be 0 (dense) or at least a row, %s",
					p->row_stride, npu_bytes_text(row_bytes).text);
	if (p->page_stride < row_bytes)
		return npu_legal_refuse(c, NPU_ERR_OPERAND, "page_stride=%u: must be at least a row, %s",
					p->page_stride, npu_bytes_text(row_bytes).text);
	return true;
}

static bool legal_paged(const struct npu_legal *c, const struct npu_insn *insn)
{
	const struct npu_paged *p = &insn->paged;
	if (npu_op_engine(insn->op) != NPU_ENGINE_STORE && !in_sram(c, "local", p->local))
		return false;
	if (p->table >= c->program->ntables)
		return npu_legal_refuse(c, NPU_ERR_OPERAND, "table=%u: the program has %u block tables", p->table,
					c->program->ntables);
	const struct npu_table *table = &c->program->tables[p->table];
	uint64_t end = (uint64_t)p->first + p->rows, holds = (uint64_t)table->count * p->page_rows;
	if (end > holds)
		return npu_legal_refuse(c, NPU_ERR_BOUNDS,
					"rows %u to %" PRIu64
					" lie outside table %s, which has %u pages of %u rows (%" PRIu64 ")",
					p->first, end - 1, table->name, table->count, p->page_rows, holds);
	return legal_page(c, p);
}

static bool legal_product_types(const struct npu_legal *c, const struct npu_matmul *p)
{
	if (!takes(c, "a_type", p->a_type, TYPE(FP16) | TYPE(BF16) | TYPE(INT8)))
		return false;
	if (!takes(c, "b_type", p->b_type, 1u << p->a_type | TYPE(INT4)))
		return false;
	if (p->group && npu_dtype_is_float((enum npu_dtype)p->b_type))
		return npu_legal_refuse(c, NPU_ERR_OPERAND,
					"group=%u: scales are for int8 and int4 weights, b_type is %s", p->group,
					npu_dtype_name((enum npu_dtype)p->b_type));
	return true;
}

static bool legal_matmul(const struct npu_legal *c, const struct npu_insn *insn)
{
	const struct npu_matmul *p = &insn->matmul;
	uint64_t macs = npu_insn_macs(insn);
	if (!legal_product_types(c, p) || !in_accumulators(c, "dst", p->dst) || !in_sram(c, "a", p->a) ||
	    !in_sram(c, "b", p->b) || (p->group && !in_sram(c, "scales", p->scales)))
		return false;
	if (p->masked > macs)
		return npu_legal_refuse(c, NPU_ERR_OPERAND, "masked=%" PRIu64 ": the product has only %" PRIu64 " MACs",
					p->masked, macs);
	return true;
}

static bool legal_ew(const struct npu_legal *c, const struct npu_insn *insn)
{
	return only_for(c, "guard", insn->ew.guard, NPU_OP_VDIV);
}

static bool legal_un(const struct npu_legal *c, const struct npu_insn *insn)
{
	(void)c, (void)insn;
	return true;
}

static bool legal_red(const struct npu_legal *c, const struct npu_insn *insn)
{
	return takes(c, "dst_type", insn->red.dst_type, SUMS);
}

static bool legal_quant(const struct npu_legal *c, const struct npu_insn *insn)
{
	const struct npu_quant *p = &insn->quant;
	bool to_integers = insn->op == NPU_OP_VQUANT;
	if (!takes(c, "dst_type", p->dst_type, to_integers ? QUANTISED : FLOATS) ||
	    !takes(c, "a_type", p->a_type, to_integers ? SUMS : INTEGERS) ||
	    !takes(c, "scale_type", p->scale_type, FLOATS) || !only_for(c, "dynamic", p->dynamic, NPU_OP_VQUANT))
		return false;
	if (p->dynamic && p->scale == NPU_SCALE_TENSOR)
		return npu_legal_refuse(
		    c, NPU_ERR_OPERAND,
		    "dynamic=1: scale=tensor has no place to write the scale; use row, col or group");
	if (p->scale == NPU_SCALE_GROUP && !p->group)
		return npu_legal_refuse(c, NPU_ERR_OPERAND, "group=0: scale=group needs at least 1 element a group");
	return true;
}

static bool legal_rope(const struct npu_legal *c, const struct npu_insn *insn)
{
	const struct npu_rope *p = &insn->rope;
	if (!takes(c, "dst_type", p->dst_type, FLOATS) || !takes(c, "a_type", p->a_type, FLOATS) ||
	    !takes(c, "table_type", p->table_type, FLOATS))
		return false;
	if (!p->heads)
		return npu_legal_refuse(c, NPU_ERR_OPERAND, "heads=0: must be at least 1");
	if (p->rotary % 2 || p->rotary > p->dim)
		return npu_legal_refuse(c, NPU_ERR_OPERAND, "rotary=%u: must be even and at most dim=%u", p->rotary,
					p->dim);
	return true;
}

static bool legal_norm(const struct npu_legal *c, const struct npu_insn *insn)
{
	const struct npu_norm *p = &insn->norm;
	return takes(c, "dst_type", p->dst_type, FLOATS) && takes(c, "a_type", p->a_type, SUMS) &&
	       takes(c, "weight_type", p->weight_type, FLOATS) &&
	       only_for(c, "has_bias", p->has_bias, NPU_OP_VLAYERNORM);
}

static bool legal_softmax(const struct npu_legal *c, const struct npu_insn *insn)
{
	const struct npu_softmax *p = &insn->softmax;
	return takes(c, "dst_type", p->dst_type, FLOATS) && takes(c, "a_type", p->a_type, SUMS) &&
	       only_for(c, "first", p->first, NPU_OP_VSOFTMAX_ONLINE);
}

static bool legal_fill(const struct npu_legal *c, const struct npu_insn *insn)
{
	(void)c, (void)insn;
	return true;
}

static bool legal_none(const struct npu_legal *c, const struct npu_insn *insn)
{
	(void)c, (void)insn;
	return true;
}

static bool refuse_field(const struct npu_legal *c, const struct npu_field *field, uint64_t value)
{
	const char *const *names;
	unsigned n = npu_kind_names(field->kind, &names);
	if (n)
		return npu_legal_refuse(c, NPU_ERR_OPERAND, "%s=%" PRIu64 ": no such value, the last is %u (%s)",
					field->name, value, n - 1, names[n - 1]);
	int64_t max = (int64_t)npu_field_max(field);
	if (field->kind == NPU_KIND_INT)
		return npu_legal_refuse(c, NPU_ERR_OPERAND, "%s=%" PRId64 ": must be %" PRId64 " to %" PRId64,
					field->name, (int64_t)value, -max - 1, max);
	return npu_legal_refuse(c, NPU_ERR_OPERAND, "%s=%" PRIu64 ": must be %u to %s", field->name, value,
				field->kind == NPU_KIND_UINT && field->required, npu_count_text((uint64_t)max).text);
}

/* Whether no field is to be refused, without telling which: npu_field_fits() and the rule of legal_fields() with all
 * that the table says known to the compiler. Nearly every instruction is legal. */
#define REQUIRED                       (-1.0)
#define NPU_REQUIRED                   0
#define FITS(value, width)             ((uint64_t)(value) >> (width) == 0)
#define FITS_LOCAL(value, width, init) FITS(value, width)
#define FITS_DRAM(value, width, init)  FITS(value, width)
#define FITS_UINT(value, width, init)  (FITS(value, width) && ((double)(init) >= 0 || (value) != 0))
#define FITS_FLAG(value, width, init)  FITS(value, width)
#define FITS_TABLE(value, width, init) FITS(value, width)
#define FITS_INT(value, width, init)   FITS((value) + ((int64_t)1 << ((width)-1)), width)
#define FITS_F32(value, width, init)   ((width) == 32)
#define FITS_DTYPE(value, width, init) ((value) < NPU_DTYPES)
#define FITS_LAYOUT(value, width, init) ((value) <= NPU_LAYOUT_BLOCK32)
#define FITS_BCAST(value, width, init) ((value) <= NPU_BCAST_IMM)
#define FITS_ACT(value, width, init)   ((value) <= NPU_ACT_EXP)
#define FITS_SCALE(value, width, init) ((value) <= NPU_SCALE_GROUP)
#define FORMAT(f, doc)                                                                                                 \
	static bool fields_fit_##f(const struct npu_insn *insn)                                                        \
	{                                                                                                              \
		(void)insn;                                                                                            \
		return true
#define FIELD(f, ctype, name, word, lsb, width, kind, initial, unit, doc) &&FITS_##kind(insn->f.name, width, initial)
#define END_FORMAT(f)                                                                                                  \
	;                                                                                                              \
	}
#include "isa/npu.def"

static bool fields_fit(const struct npu_insn *insn)
{
	switch ((enum npu_op)insn->op) {
#define INSN(OP, mnemonic, opcode, f, engine, doc)                                                                     \
	case NPU_OP_##OP:                                                                                              \
		return fields_fit_##f(insn);
#include "isa/npu.def"
	}
	return false;
}

/* A required number is a dimension or a distance between things: none of them may be 0. */
static bool legal_fields(const struct npu_legal *c, const struct npu_insn *insn)
{
	if (fields_fit(insn))
		return true;
	for (const struct npu_field *field = npu_op_info(insn->op)->format->fields; field->name; field++) {
		uint64_t value = npu_field_get(field, insn);
		if (!npu_field_fits(field, value) || (field->kind == NPU_KIND_UINT && field->required && value == 0))
			return refuse_field(c, field, value);
	}
	return true;
}

static bool legal_meaning(const struct npu_legal *c, const struct npu_insn *insn)
{
	switch ((enum npu_op)insn->op) {
#define INSN(OP, mnemonic, opcode, f, engine, doc)                                                                     \
	case NPU_OP_##OP:                                                                                              \
		return legal_##f(c, insn);
#include "isa/npu.def"
	}
	return false;
}

static bool legal_shape(const struct npu_legal *c, const struct npu_operand *operand)
{
	const struct npu_matrix *m = &operand->m;
	uint64_t strip = npu_matrix_strip_bytes(m);
	if (m->layout == NPU_LAYOUT_ROW && m->cols * npu_dtype_bits(m->dtype) % 8)
		return npu_legal_refuse(c, NPU_ERR_OPERAND, "%s: a row of %" PRIu64 " %s element%s is not whole bytes",
					operand->name, m->cols, npu_dtype_name(m->dtype), m->cols == 1 ? "" : "s");
	if (m->stride && m->stride < strip)
		return npu_legal_refuse(
		    c, NPU_ERR_OPERAND, "%s=%" PRIu64 ": must be 0 (dense) or at least a row%s of %s, %s",
		    operand->stride_name, m->stride, m->layout == NPU_LAYOUT_ROW ? "" : " of blocks", operand->name,
		    npu_bytes_text(strip).text);
	return true;
}

static bool legal_range(const struct npu_legal *c, const struct npu_operand *operand)
{
	bool dram = operand->space == NPU_SPACE_DRAM;
	uint64_t limit = dram ? NPU_DRAM_LIMIT : NPU_LOCAL_LIMIT, extent = npu_matrix_extent(&operand->m);
	if (operand->addr <= limit && extent <= limit - operand->addr)
		return true;
	return npu_legal_refuse(c, NPU_ERR_BOUNDS,
				"%s: %s bytes from %s:0x%" PRIx64 " end behind the last address, 0x%" PRIx64,
				operand->name, npu_count_text(extent).text,
				dram                               ? "dram"
				: operand->space == NPU_SPACE_SRAM ? "sram"
								   : "acc",
				operand->addr, limit - 1);
}

bool npu_legal_operands(const struct npu_legal *c)
{
	const struct npu_insn *insn = &c->program->insns[c->insn];
	struct npu_operand operands[NPU_MAX_ACCESSES];
	if (!legal_fields(c, insn) || !legal_meaning(c, insn))
		return false;
	unsigned n = npu_insn_operands(insn, operands);
	for (unsigned i = 0; i < n; i++)
		if (!legal_shape(c, &operands[i]) || !legal_range(c, &operands[i]))
			return false;
	return true;
}
