/* SPDX-License-Identifier: Apache-2.0 */
/* How many cycles a vector instruction takes: the rules of vector.def, evaluated. */
#include "models/vector_walk.h"

#include <stdbool.h>
#include <string.h>

/* Operations of one element, by class. */
struct vector_work {
	uint32_t add, mul, max, compare, convert, exp, div, rsqrt;
};

/* What of an instruction decides its work; see vector.def. */
struct facts {
	uint32_t scaled, masks, convert, biased, offset, guarded, asymmetric, dynamic, scales;
	struct vector_work act;
	uint64_t elements, rows;
};

static const struct vector_work act_silu = { .exp = 1, .add = 1, .div = 1 };
static const struct vector_work act_gelu = { .exp = 1, .add = 2, .div = 1, .mul = 3 };

static struct vector_work plus(struct vector_work a, struct vector_work b)
{
	return (struct vector_work){ a.add + b.add,         a.mul + b.mul, a.max + b.max, a.compare + b.compare,
				     a.convert + b.convert, a.exp + b.exp, a.div + b.div, a.rsqrt + b.rsqrt };
}

static struct vector_work act_work(uint32_t act)
{
	switch (act) {
	case NPU_ACT_SILU:
		return act_silu;
	case NPU_ACT_GELU:
		return act_gelu;
	case NPU_ACT_RELU:
		return (struct vector_work){ .max = 1 };
	case NPU_ACT_EXP:
		return (struct vector_work){ .exp = 1 };
	default: /* NPU_ACT_NONE; a loader has refused the rest */
		return (struct vector_work){ 0 };
	}
}

/* What the passes are made from. */
struct planner {
	const struct hw_vector *hw;
	struct vector_plan *plan;
	const struct vector_operands *operands;
};

static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }
static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }
static uint64_t pieces(uint64_t n, uint64_t d)
{
	return (n | d) >> 31 ? (n + d - 1) / d : ((uint32_t)n + (uint32_t)d - 1) / (uint32_t)d;
}

static void slots_of(const struct hw_vector *hw, const struct vector_work *w, uint32_t *most, uint32_t *all)
{
	uint32_t slots[] = {
		w->add * (uint32_t)hw->slots_add,         w->mul * (uint32_t)hw->slots_mul,
		w->max * (uint32_t)hw->slots_max,         w->compare * (uint32_t)hw->slots_compare,
		w->convert * (uint32_t)hw->slots_convert, w->exp * (uint32_t)hw->slots_exp,
		w->div * (uint32_t)hw->slots_div,         w->rsqrt * (uint32_t)hw->slots_rsqrt,
	};
	*most = *all = 0;
	for (unsigned i = 0; i < sizeof slots / sizeof *slots; i++) {
		*most = larger(*most, slots[i]);
		*all += slots[i];
	}
}

/* Sets of operands, as vector.def names them. */
enum { A = 1, D = 2, X = 4, OLD = 8 };

static uint32_t operands_of(const struct vector_operands *o, unsigned set, bool write)
{
	uint32_t mask = 0;
	for (unsigned i = 0; i < o->n; i++) {
		const struct npu_operand *op = &o->operand[i];
		unsigned kind = i == 0 ? D : i == 1 && !o->no_a ? A : X;
		bool wanted = set & kind;
		if (kind == X)
			wanted = wanted && (write ? op->writes : op->reads);
		if (kind == D && !write && set & OLD && op->reads)
			wanted = true;
		mask |= (uint32_t)wanted << i;
	}
	return mask;
}

static void add_pass(struct planner *p, const struct facts *f, unsigned reads, unsigned writes, struct vector_work each,
		     struct vector_work row)
{
	struct vector_pass *pass = &p->plan->pass[p->plan->passes++];
	pass->elements = f->elements;
	pass->rows = f->rows;
	slots_of(p->hw, &each, &pass->slots, &pass->all_slots);
	slots_of(p->hw, &row, &pass->row_slots, &pass->all_row_slots);
	/* Moving an element takes the slot that its operation would. */
	pass->slots = larger(pass->slots, 1);
	pass->all_slots = larger(pass->all_slots, 1);
	pass->reads = operands_of(p->operands, reads, false);
	pass->writes = operands_of(p->operands, writes, true);
	pass->bytes = 0;
	for (unsigned i = 0; i < p->operands->n; i++)
		pass->bytes += p->operands->bytes[i] * ((pass->reads >> i & 1) + (pass->writes >> i & 1));
	uint64_t cycles = pieces(pass->elements, p->hw->lanes) * pass->slots;
	cycles = later(cycles, pieces(pass->rows, p->hw->lanes) * pass->row_slots);
	cycles = later(cycles, pieces(pass->bytes, p->hw->port));
	pass->cycles = later(cycles, 1);
	p->plan->cycles += pass->cycles;
}

#define VECTOR(OP, doc) static void passes_of_##OP(struct planner *p, const struct facts *f) {
#define PASS(reads, writes, each, row) add_pass(p, f, reads, writes, each, row);
#define PASS_IF(condition, reads, writes, each, row) if (condition) PASS(reads, writes, each, row)
#define END_VECTOR(OP) }
#include "models/vector.def"

static uint32_t masks_of(const struct npu_softmax *s) { return s->causal + (s->window != 0) + s->padded; }

static struct facts facts_of(const struct npu_insn *insn, const struct vector_operands *o)
{
	struct facts f = { 0 };
	switch (npu_op_format(insn->op)) {
	case NPU_FORMAT_ew:
		f.act = act_work(insn->ew.act);
		f.guarded = insn->ew.guard;
		f.convert = (insn->ew.a_type != insn->ew.dst_type) +
			    (insn->ew.b_bcast != NPU_BCAST_IMM && insn->ew.b_type != insn->ew.dst_type);
		f.rows = insn->ew.rows;
		f.elements = f.rows * insn->ew.cols;
		break;
	case NPU_FORMAT_un:
		f.scaled = insn->un.scale != 1;
		f.convert = insn->un.a_type != insn->un.dst_type;
		f.rows = insn->un.rows;
		f.elements = f.rows * insn->un.cols;
		break;
	case NPU_FORMAT_red:
		f.convert = insn->red.a_type != insn->red.dst_type;
		f.rows = insn->red.rows;
		f.elements = f.rows * insn->red.cols;
		break;
	case NPU_FORMAT_quant:
		f.asymmetric = insn->quant.asymmetric;
		f.dynamic = insn->quant.dynamic;
		f.scales = insn->quant.scale != NPU_SCALE_TENSOR;
		f.rows = f.scales ? o->operand[2].m.cols : 0;
		f.elements = (uint64_t)insn->quant.rows * insn->quant.cols;
		break;
	case NPU_FORMAT_rope:
		f.convert = insn->rope.a_type != insn->rope.dst_type;
		f.rows = insn->rope.rows;
		f.elements = f.rows * insn->rope.heads * insn->rope.dim;
		break;
	case NPU_FORMAT_norm:
		f.convert = insn->norm.a_type != insn->norm.dst_type;
		f.biased = insn->norm.has_bias;
		f.offset = insn->norm.unit_offset;
		f.rows = insn->norm.rows;
		f.elements = f.rows * insn->norm.cols;
		break;
	case NPU_FORMAT_softmax:
		f.scaled = insn->softmax.scale != 1;
		f.masks = masks_of(&insn->softmax);
		f.convert = insn->softmax.a_type != insn->softmax.dst_type;
		f.rows = insn->softmax.rows;
		f.elements = f.rows * insn->softmax.cols;
		break;
	case NPU_FORMAT_fill:
		f.rows = insn->fill.rows;
		f.elements = f.rows * insn->fill.cols;
		break;
	case NPU_FORMAT_dma:
	case NPU_FORMAT_paged:
	case NPU_FORMAT_matmul:
	case NPU_FORMAT_none:
		break; /* no vector instruction */
	}
	return f;
}

/* A row or column of operands that every row of A needs is read again for each: the engine walks in row order. */
static uint64_t times_read(const struct npu_insn *insn, unsigned operand)
{
	if (operand < 2)
		return 1;
	switch (npu_op_format(insn->op)) {
	case NPU_FORMAT_ew:
		return insn->ew.b_bcast == NPU_BCAST_ROW ? insn->ew.rows : 1;
	case NPU_FORMAT_quant:
		return insn->quant.scale == NPU_SCALE_COL && !insn->quant.dynamic ? insn->quant.rows : 1;
	case NPU_FORMAT_norm:
		return insn->norm.rows;
	case NPU_FORMAT_un:
	case NPU_FORMAT_red:
	case NPU_FORMAT_rope:
	case NPU_FORMAT_softmax:
	case NPU_FORMAT_fill:
	case NPU_FORMAT_dma:
	case NPU_FORMAT_paged:
	case NPU_FORMAT_matmul:
	case NPU_FORMAT_none:
		break;
	}
	return 1;
}

void vector_operands(const struct npu_insn *insn, struct vector_operands *o)
{
	o->n = npu_insn_operands(insn, o->operand);
	o->no_a = npu_op_format(insn->op) == NPU_FORMAT_fill;
	for (unsigned i = 0; i < o->n; i++) {
		const struct npu_matrix *m = &o->operand[i].m;
		o->times[i] = times_read(insn, i);
		o->bytes[i] = o->times[i] * m->rows * npu_dtype_bytes(m->dtype, m->cols);
	}
}

struct vector_plan vector_plan_of(const struct hw *hw, const struct npu_insn *insn, const struct vector_operands *operands)
{
	struct vector_plan plan = { .startup = hw->vector.startup_cycles, .cycles = hw->vector.startup_cycles };
	struct planner planner = { &hw->vector, &plan, operands };
	struct facts facts = facts_of(insn, operands);
	switch ((enum npu_op)insn->op) {
/* Engines other than VECTOR, and syncs, have no passes. */
#define PASSES_LOAD(OP, f)
#define PASSES_STORE(OP, f)
#define PASSES_MATRIX(OP, f)
#define PASSES_VECTOR(OP, f) PASSES_OF_##f(OP)
#define PASSES_OF_none(OP)
#define PASSES_OF_ew(OP) passes_of_##OP(&planner, &facts);
#define PASSES_OF_un(OP) passes_of_##OP(&planner, &facts);
#define PASSES_OF_red(OP) passes_of_##OP(&planner, &facts);
#define PASSES_OF_quant(OP) passes_of_##OP(&planner, &facts);
#define PASSES_OF_rope(OP) passes_of_##OP(&planner, &facts);
#define PASSES_OF_norm(OP) passes_of_##OP(&planner, &facts);
#define PASSES_OF_softmax(OP) passes_of_##OP(&planner, &facts);
#define PASSES_OF_fill(OP) passes_of_##OP(&planner, &facts);
#define INSN(OP, mnemonic, opcode, f, engine, doc) \
	case NPU_OP_##OP:                          \
		PASSES_##engine(OP, f)             \
		break;
#include "isa/npu.def"
	}
	return plan;
}

struct vector_plan vector_plan(const struct hw *hw, const struct npu_insn *insn)
{
	struct vector_operands operands;
	vector_operands(insn, &operands);
	return vector_plan_of(hw, insn, &operands);
}

uint64_t vector_slots_of(const struct vector_plan *plan)
{
	uint64_t slots = 0;
	for (unsigned i = 0; i < plan->passes; i++)
		slots += plan->pass[i].elements * plan->pass[i].all_slots + plan->pass[i].rows * plan->pass[i].all_row_slots;
	return slots;
}

uint64_t vector_slots(const struct hw *hw, const struct npu_insn *insn)
{
	struct vector_plan plan = vector_plan(hw, insn);
	return vector_slots_of(&plan);
}
