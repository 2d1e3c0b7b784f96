/* SPDX-License-Identifier: Apache-2.0 */
/* The vector engine: one instruction at a time, start-up, then its passes, a beat a cycle that no bank denies.
 *
 * A pass takes max(elements / lanes x slots of its slowest class, rows / lanes x slots, bytes / port). A value that
 * every element of a row needs starts a new pass. */
#include "tests/golden/twin_parts.h"

#include <stdlib.h>

enum { PASSES = 3, WALKS = 12 };

struct work {
	uint64_t add, mul, max, compare, convert, exp, div, rsqrt;
};

/* What a pass does: operands it reads and writes (A, D, all other ones X), operations of an element and of a row. */
struct pass {
	bool a, d_read, x, d, x_write;
	struct work each, row;
	uint64_t beats;
	struct twin_walk walk[WALKS];
	unsigned walks;
};

struct twin_vector {
	bool busy, under_way;
	uint32_t insn;
	uint64_t beat, startup;
	struct pass pass[PASSES];
	unsigned passes;
};

struct twin_vector *twin_vector_new(void)
{
	return twin_alloc(1, sizeof(struct twin_vector));
}

static void clear(struct twin_vector *v)
{
	for (unsigned i = 0; i < PASSES; i++)
		for (unsigned w = 0; w < WALKS; w++)
			twin_walk_free(&v->pass[i].walk[w]);
}

void twin_vector_free(struct twin_vector *v)
{
	clear(v);
	free(v);
}

static struct work plus(struct work a, struct work b)
{
	return (struct work){ a.add + b.add,         a.mul + b.mul, a.max + b.max, a.compare + b.compare,
			      a.convert + b.convert, a.exp + b.exp, a.div + b.div, a.rsqrt + b.rsqrt };
}

static uint64_t more(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}
static uint64_t up(uint64_t n, uint64_t d)
{
	return (n + d - 1) / d;
}

/* Classes overlap: the slowest one counts. */
static uint64_t slowest(const struct hw_vector *v, struct work w)
{
	uint64_t slots = more(w.add * v->slots_add, w.mul * v->slots_mul);
	slots = more(slots, more(w.max * v->slots_max, w.compare * v->slots_compare));
	slots = more(slots, more(w.convert * v->slots_convert, w.exp * v->slots_exp));
	return more(slots, more(w.div * v->slots_div, w.rsqrt * v->slots_rsqrt));
}

static const struct work sigmoid = { .exp = 1, .add = 1, .div = 1 };
static const struct work gelu = { .exp = 1, .add = 2, .div = 1, .mul = 3 };

static struct work activation(uint32_t act)
{
	switch (act) {
	case NPU_ACT_SILU:
		return sigmoid;
	case NPU_ACT_GELU:
		return gelu;
	case NPU_ACT_RELU:
		return (struct work){ .max = 1 };
	case NPU_ACT_EXP:
		return (struct work){ .exp = 1 };
	default: /* NPU_ACT_NONE */
		return (struct work){ 0 };
	}
}

static struct pass *add(struct twin_vector *v, struct pass pass)
{
	v->pass[v->passes] = pass;
	return &v->pass[v->passes++];
}

/* A in, D out. */
static void map(struct twin_vector *v, struct work each)
{
	add(v, (struct pass){ .a = true, .x = true, .d = true, .each = each });
}

static void map_ew(struct twin_vector *v, const struct npu_insn *i)
{
	struct work w = activation(i->ew.act);
	w.convert =
	    (i->ew.a_type != i->ew.dst_type) + (i->ew.b_bcast != NPU_BCAST_IMM && i->ew.b_type != i->ew.dst_type);
	w.add += i->op == NPU_OP_VADD || i->op == NPU_OP_VSUB;
	w.mul += i->op == NPU_OP_VMUL;
	w.max += i->op == NPU_OP_VMAX || i->op == NPU_OP_VMIN;
	w.div += i->op == NPU_OP_VDIV;
	w.compare += i->op == NPU_OP_VDIV && i->ew.guard;
	map(v, w);
}

static void map_un(struct twin_vector *v, const struct npu_insn *i)
{
	struct work w = { .mul = i->un.scale != 1, .convert = i->un.a_type != i->un.dst_type };
	switch (i->op) {
	case NPU_OP_VEXP:
		w.exp++;
		break;
	case NPU_OP_VRECIP:
		w.div++;
		break;
	case NPU_OP_VRSQRT:
		w.rsqrt++;
		break;
	case NPU_OP_VSILU:
	case NPU_OP_VSIGMOID:
		w = plus(w, sigmoid);
		break;
	case NPU_OP_VGELU:
		w = plus(w, gelu);
		break;
	case NPU_OP_VTANH: /* 1 - 2 / (1 + exp(2x)), the 2 in the scale */
		w = plus(w, (struct work){ .exp = 1, .add = 2, .div = 1, .mul = i->un.scale == 1 });
		break;
	case NPU_OP_VRELU:
		w.max++;
		break;
	default: /* VCOPY, VTRANSPOSE: they move */
		break;
	}
	map(v, w);
}

static void map_red(struct twin_vector *v, const struct npu_insn *i)
{
	bool max = i->op == NPU_OP_VREDMAX;
	struct work each = {
		.max = max, .add = !max, .mul = i->op == NPU_OP_VREDSUMSQ, .convert = i->red.a_type != i->red.dst_type
	};
	struct pass *p =
	    add(v, (struct pass){ .a = true, .d = true, .each = each, .row = { .max = max, .add = !max } });
	p->d_read = i->red.accumulate;
}

static void map_quant(struct twin_vector *v, const struct npu_insn *i)
{
	bool scales = i->quant.scale != NPU_SCALE_TENSOR, asymmetric = i->quant.asymmetric, dynamic = i->quant.dynamic;
	struct work each = { .mul = 1, .add = asymmetric, .convert = 1 };
	if (i->op == NPU_OP_VDEQUANT) {
		map(v, each);
		return;
	}
	if (dynamic)
		add(v, (struct pass){ .a = true, .each = { .max = 1 + asymmetric } });
	struct work row = { .div = scales, .mul = dynamic, .add = dynamic && asymmetric, .convert = dynamic };
	add(v, (struct pass){ .a = true, .x = true, .d = true, .x_write = true, .each = each, .row = row });
}

static void map_norm(struct twin_vector *v, const struct npu_insn *i)
{
	uint64_t convert = i->norm.a_type != i->norm.dst_type;
	struct work row = { .mul = 1, .add = 1, .rsqrt = 1 };
	if (i->op == NPU_OP_VRMSNORM) {
		add(v, (struct pass){ .a = true, .each = { .mul = 1, .add = 1 } });
		add(v, (struct pass){ .a = true,
				      .x = true,
				      .d = true,
				      .row = row,
				      .each = { .mul = 2, .add = i->norm.unit_offset, .convert = convert } });
		return;
	}
	add(v, (struct pass){ .a = true, .each = { .add = 1 } });
	add(v, (struct pass){ .a = true, .each = { .add = 2, .mul = 1 }, .row = { .mul = 1 } });
	add(v, (struct pass){
		   .a = true,
		   .x = true,
		   .d = true,
		   .row = row,
		   .each = { .add = 1 + i->norm.unit_offset + i->norm.has_bias, .mul = 2, .convert = convert } });
}

static void map_softmax(struct twin_vector *v, const struct npu_insn *i)
{
	const struct npu_softmax *s = &i->softmax;
	struct work first = { .mul = s->scale != 1, .compare = s->causal + (s->window != 0) + s->padded };
	uint64_t convert = s->a_type != s->dst_type;
	if (i->op == NPU_OP_VMASK) {
		first.convert = convert;
		map(v, first);
		return;
	}
	first.max = 1;
	struct pass *p = add(v, (struct pass){ .a = true, .each = first });
	struct work second = { .add = 2, .exp = 1, .convert = convert };
	if (i->op == NPU_OP_VSOFTMAX) {
		add(v, (struct pass){ .a = true, .d = true, .each = second });
		add(v, (struct pass){
			   .d_read = true, .d = true, .each = { .mul = 1 }, .row = { .div = 1, .compare = 1 } });
		return;
	}
	/* The running maximum is part of the new one, so the state is read first. */
	p->x = true;
	p->row = (struct work){ .max = 1 };
	add(v, (struct pass){
		   .a = true, .d = true, .x_write = true, .each = second, .row = { .add = 2, .exp = 1, .mul = 1 } });
}

static void passes_of(struct twin_vector *v, const struct npu_insn *i)
{
	v->passes = 0;
	switch (npu_op_format(i->op)) {
	case NPU_FORMAT_ew:
		map_ew(v, i);
		break;
	case NPU_FORMAT_un:
		map_un(v, i);
		break;
	case NPU_FORMAT_red:
		map_red(v, i);
		break;
	case NPU_FORMAT_quant:
		map_quant(v, i);
		break;
	case NPU_FORMAT_rope:
		map(v, (struct work){ .mul = 2, .add = 1, .convert = i->rope.a_type != i->rope.dst_type });
		break;
	case NPU_FORMAT_norm:
		map_norm(v, i);
		break;
	case NPU_FORMAT_softmax:
		map_softmax(v, i);
		break;
	case NPU_FORMAT_fill:
		add(v, (struct pass){ .d = true });
		break;
	case NPU_FORMAT_dma:
	case NPU_FORMAT_paged:
	case NPU_FORMAT_matmul:
	case NPU_FORMAT_none:
		break; /* no vector instruction */
	}
}

/* The engine walks in row order: a row that every row of A meets is read again for each. */
static uint64_t times_read(const struct npu_insn *i, unsigned operand)
{
	enum npu_format_index f = npu_op_format(i->op);
	if (operand < 2)
		return 1;
	if (f == NPU_FORMAT_ew && i->ew.b_bcast == NPU_BCAST_ROW)
		return i->ew.rows;
	if (f == NPU_FORMAT_quant && i->quant.scale == NPU_SCALE_COL && !i->quant.dynamic)
		return i->quant.rows;
	return f == NPU_FORMAT_norm ? i->norm.rows : 1;
}

static void add_walk(const struct hw *hw, struct pass *p, const struct npu_operand *o, uint64_t times, bool write,
		     uint64_t *bytes)
{
	uint64_t row = npu_dtype_bytes(o->m.dtype, o->m.cols);
	struct twin_rows r = { .local = (uint32_t)o->addr | (o->space == NPU_SPACE_ACCUM ? NPU_ACC_BIT : 0),
			       .row_bytes = row,
			       .rows = o->m.rows,
			       .stride = npu_matrix_stride(&o->m),
			       .write = write };
	if (times == 1 && npu_matrix_is_dense(&o->m)) {
		r.row_bytes *= r.rows;
		r.rows = 1;
	}
	for (uint64_t i = 0; i < times; i++)
		twin_walk_add(&p->walk[p->walks], hw, &r);
	p->walks++;
	*bytes += row * o->m.rows * times;
}

static void plan(const struct hw *hw, struct pass *p, const struct npu_insn *insn, uint64_t elements, uint64_t rows)
{
	struct npu_operand o[NPU_MAX_ACCESSES];
	unsigned n = npu_insn_operands(insn, o);
	uint64_t bytes = 0;
	for (unsigned i = 0; i < n; i++) {
		bool read = i == 0 ? p->d_read : i == 1 ? p->a : p->x && o[i].reads;
		bool write = i == 0 ? p->d : i > 1 && p->x_write && o[i].writes;
		if (read)
			add_walk(hw, p, &o[i], times_read(insn, i), false, &bytes);
		if (write)
			add_walk(hw, p, &o[i], times_read(insn, i), true, &bytes);
	}
	/* Moving an element takes a slot, too. */
	p->beats = up(elements, hw->vector.lanes) * more(1, slowest(&hw->vector, p->each));
	p->beats = more(p->beats, up(rows, hw->vector.lanes) * slowest(&hw->vector, p->row));
	p->beats = more(1, more(p->beats, up(bytes, hw->vector.port)));
}

static bool in_service(const struct twin *t, enum npu_engine e)
{
	(void)e;
	return t->vector->busy;
}

static bool may_start(struct twin *t, enum npu_engine e, uint32_t insn)
{
	(void)e, (void)insn;
	return !t->vector->busy;
}

static void start(struct twin *t, enum npu_engine e, uint32_t number)
{
	struct twin_vector *v = t->vector;
	const struct npu_insn *insn = &t->program->insns[number];
	struct npu_operand o[NPU_MAX_ACCESSES];
	(void)e;
	npu_insn_operands(insn, o);
	/* The elements worked on are those of A, or of D where there is no A; with scales a row of work is a scale. */
	const struct npu_matrix *m = npu_op_format(insn->op) == NPU_FORMAT_fill ? &o[0].m : &o[1].m;
	uint64_t rows = m->rows;
	if (npu_op_format(insn->op) == NPU_FORMAT_quant)
		rows = insn->quant.scale == NPU_SCALE_TENSOR ? 0 : o[2].m.cols;
	clear(v);
	passes_of(v, insn);
	for (unsigned i = 0; i < v->passes; i++)
		plan(t->hw, &v->pass[i], insn, m->rows * m->cols, rows);
	v->busy = true;
	v->insn = number;
	v->beat = 0;
	v->startup = t->hw->vector.startup_cycles;
}

static uint32_t ended(struct twin *t, enum npu_engine e)
{
	struct twin_vector *v = t->vector;
	uint64_t end = v->startup;
	(void)e;
	for (unsigned i = 0; i < v->passes; i++)
		end += v->pass[i].beats;
	if (!v->busy || v->under_way || v->beat < end)
		return TWIN_NOBODY;
	v->busy = false;
	return v->insn;
}

static void ask(struct twin *t, enum npu_engine e)
{
	struct twin_vector *v = t->vector;
	struct twin_walk nothing = { 0 };
	uint64_t begin = v->startup;
	if (!v->busy || v->under_way)
		return;
	twin_memory_ask(&t->memory, e, &nothing, 0, 1);
	for (unsigned i = 0; i < v->passes; i++) {
		struct pass *p = &v->pass[i];
		for (unsigned w = 0; v->beat >= begin && v->beat < begin + p->beats && w < p->walks; w++)
			twin_memory_ask(&t->memory, e, &p->walk[w], v->beat - begin, p->beats);
		begin += p->beats;
	}
}

static enum npu_state state(struct twin *t, enum npu_engine e)
{
	struct twin_vector *v = t->vector;
	v->under_way = t->memory.outcome[e] != TWIN_PASSED;
	if (v->under_way)
		return t->memory.outcome[e] == TWIN_DENIED_SRAM ? NPU_STATE_SRAM_CONFLICT : NPU_STATE_ACCUM_CONFLICT;
	return v->beat++ < v->startup ? NPU_STATE_ENGINE_LATENCY : NPU_STATE_BUSY;
}

const struct twin_body twin_vector_body = { may_start, start, ended, ask, state, in_service };
