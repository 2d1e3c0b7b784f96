/* SPDX-License-Identifier: Apache-2.0 */
/* What vector instructions cost, and how they follow one another. */
#include "isa/field.h"
#include "isa/program.h"
#include "models/machine.h"
#include "models/vector_walk.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

enum { KIB = 1024, GROUP = 256 * KIB };

/* The initial values are edge-1mb: 32 lanes, 4-slot exp, div, rsqrt, 128 bytes a cycle, 8 cycles of start-up. */
static struct hw edge(void)
{
	struct hw hw = { 0 };
#define KEY(section, type, name, initial, min, max, unit, doc) hw.section.name = initial;
#include "models/hw.def"
	return hw;
}

/* Reads the accumulators, writes SRAM: nothing meets. 128 x 128 fp32 = 65,536 bytes = 512 cycles of the port. */
static struct npu_insn softmax(enum npu_op op)
{
	struct npu_insn insn = { .op = (uint8_t)op };
	insn.softmax = (struct npu_softmax){ .dst = 0, .a = NPU_ACC_BIT, .state = GROUP, .scale = 0.125f, .rows = 128,
					     .cols = 128, .causal = 1, .dst_type = NPU_FP16, .a_type = NPU_FP32 };
	return insn;
}

static struct npu_insn elementwise(enum npu_op op)
{
	struct npu_insn insn = { .op = (uint8_t)op };
	insn.ew = (struct npu_ew){ .dst = 0, .a = GROUP, .b = 2 * GROUP, .rows = 64, .cols = 64, .dst_type = NPU_FP32,
				   .a_type = NPU_FP32, .b_type = NPU_FP32 };
	return insn;
}

static struct npu_insn unary(enum npu_op op)
{
	struct npu_insn insn = { .op = (uint8_t)op };
	insn.un = (struct npu_un){ .dst = 0, .a = GROUP, .scale = 1, .rows = 64, .cols = 64, .dst_type = NPU_FP32,
				   .a_type = NPU_FP32 };
	return insn;
}

START_TEST(online_softmax_is_two_passes)
{
	/* 16,384 elements / 32 lanes = 512 steps. Pass 1: scale, mask, max, a slot each: 512, and 65,536 bytes / 128 = 512.
	 * Pass 2: exp 4 slots: 2,048; bytes are fewer than that. */
	struct hw hw = edge();
	struct npu_insn insn = softmax(NPU_OP_VSOFTMAX_ONLINE);
	insn.softmax.first = 1;
	struct vector_plan plan = vector_plan(&hw, &insn);
	ck_assert_uint_eq(plan.passes, 2);
	ck_assert_uint_eq(plan.pass[0].slots, 1);
	ck_assert_uint_eq(plan.pass[0].cycles, 512);
	ck_assert_uint_eq(plan.pass[1].slots, 4);
	ck_assert_uint_eq(plan.pass[1].cycles, 2048);
	ck_assert_uint_eq(plan.cycles, 8 + 512 + 2048);
	/* mul + compare + max, then 2 add + exp + convert: 3 + 2 + 4 + 1 slots an element; a row: max, 2 add + exp + mul. */
	ck_assert_uint_eq(vector_slots(&hw, &insn), 16384 * (3 + 7) + 128 * (1 + 7));
	/* Not the first tile: running max and sum of 128 rows are read too, 1,024 bytes. */
	insn.softmax.first = 0;
	ck_assert_uint_eq(vector_plan(&hw, &insn).pass[0].cycles, 520);
}
END_TEST

START_TEST(what_a_mask_hides_costs_as_much)
{
	struct hw hw = edge();
	struct npu_insn all = softmax(NPU_OP_VSOFTMAX_ONLINE), hidden = all;
	hidden.softmax.diagonal = -128; /* row 127 sees nothing yet */
	ck_assert_uint_eq(vector_plan(&hw, &hidden).cycles, vector_plan(&hw, &all).cycles);
}
END_TEST

START_TEST(whole_softmax_is_three_passes)
{
	/* max 512; exp 2,048; A is read and D written, then D read and written again: 2 x 32,768 / 128 = 512. */
	struct hw hw = edge();
	struct npu_insn insn = softmax(NPU_OP_VSOFTMAX);
	struct vector_plan plan = vector_plan(&hw, &insn);
	ck_assert_uint_eq(plan.passes, 3);
	ck_assert_uint_eq(plan.cycles, 8 + 512 + 2048 + 512);
}
END_TEST

START_TEST(a_wide_addition_is_bound_by_the_port)
{
	/* 4,096 x 12 bytes / 128 = 384 cycles; the lanes alone would take 128. */
	struct hw hw = edge();
	struct npu_insn insn = elementwise(NPU_OP_VADD);
	ck_assert_uint_eq(vector_plan(&hw, &insn).cycles, 8 + 384);
	/* fp16: half the bytes. */
	insn.ew.a_type = insn.ew.b_type = insn.ew.dst_type = NPU_FP16;
	ck_assert_uint_eq(vector_plan(&hw, &insn).cycles, 8 + 192);
	/* A broadcast row is read again for every row, an immediate never. */
	insn.ew.b_bcast = NPU_BCAST_ROW;
	ck_assert_uint_eq(vector_plan(&hw, &insn).cycles, 8 + 192);
	insn.ew.b_bcast = NPU_BCAST_IMM;
	ck_assert_uint_eq(vector_plan(&hw, &insn).cycles, 8 + 128);
	insn.ew.b_bcast = NPU_BCAST_COL;
	ck_assert_uint_eq(vector_plan(&hw, &insn).cycles, 8 + 129);
}
END_TEST

START_TEST(a_slow_operation_is_bound_by_its_slots)
{
	/* 4,096 / 32 x 4 = 512 cycles; bytes take 384 (division) and 256 (exp). */
	struct hw hw = edge();
	struct npu_insn divide = elementwise(NPU_OP_VDIV), exponential = unary(NPU_OP_VEXP);
	ck_assert_uint_eq(vector_plan(&hw, &divide).cycles, 8 + 512);
	ck_assert_uint_eq(vector_plan(&hw, &exponential).cycles, 8 + 512);
	/* The activation runs beside the multiplication. */
	struct npu_insn swiglu = elementwise(NPU_OP_VMUL);
	swiglu.ew.act = NPU_ACT_SILU;
	ck_assert_uint_eq(vector_plan(&hw, &swiglu).cycles, 8 + 512);
	ck_assert_uint_eq(vector_slots(&hw, &swiglu), 4096 * (1 + 4 + 1 + 4));
}
END_TEST

START_TEST(a_scale_of_one_and_equal_types_cost_nothing)
{
	struct hw hw = edge();
	struct npu_insn insn = unary(NPU_OP_VCOPY);
	ck_assert_uint_eq(vector_slots(&hw, &insn), 4096);
	insn.un.scale = 2;
	ck_assert_uint_eq(vector_slots(&hw, &insn), 4096);
	insn.un.dst_type = NPU_FP16;
	ck_assert_uint_eq(vector_slots(&hw, &insn), 2 * 4096);
}
END_TEST

START_TEST(normalisations_take_a_pass_for_each_statistic)
{
	/* 16 rows of 1,024 fp16: 16,384 / 32 = 512 steps. RMSNorm: 512 (square and add overlap), then 2 products: 1,024.
	 * LayerNorm: 512; 2 additions 1,024; 3 additions (mean, bias) 1,536. */
	struct hw hw = edge();
	struct npu_insn insn = { .op = NPU_OP_VRMSNORM };
	insn.norm = (struct npu_norm){ .dst = 0, .a = GROUP, .weight = 2 * GROUP, .bias = 3 * GROUP, .rows = 16, .cols = 1024,
				       .dst_type = NPU_FP16, .a_type = NPU_FP16, .weight_type = NPU_FP16 };
	ck_assert_uint_eq(vector_plan(&hw, &insn).cycles, 8 + 512 + 1024);
	insn.op = NPU_OP_VLAYERNORM;
	ck_assert_uint_eq(vector_plan(&hw, &insn).cycles, 8 + 512 + 1024 + 1024);
	insn.norm.has_bias = 1;
	ck_assert_uint_eq(vector_plan(&hw, &insn).cycles, 8 + 512 + 1024 + 1024);
	insn.norm.unit_offset = 1;
	ck_assert_uint_eq(vector_plan(&hw, &insn).cycles, 8 + 512 + 1024 + 1536);
}
END_TEST

START_TEST(dynamic_quantisation_looks_at_the_values_first)
{
	struct hw hw = edge();
	struct npu_insn insn = { .op = NPU_OP_VQUANT };
	insn.quant = (struct npu_quant){ .dst = 0, .a = GROUP, .scales = 2 * GROUP, .rows = 64, .cols = 64,
					 .scale = NPU_SCALE_ROW, .dst_type = NPU_INT8, .a_type = NPU_FP16,
					 .scale_type = NPU_FP16 };
	/* 128 steps of a product and a conversion. */
	ck_assert_uint_eq(vector_plan(&hw, &insn).passes, 1);
	ck_assert_uint_eq(vector_plan(&hw, &insn).cycles, 8 + 128);
	insn.quant.dynamic = 1;
	ck_assert_uint_eq(vector_plan(&hw, &insn).passes, 2);
	ck_assert_uint_eq(vector_plan(&hw, &insn).cycles, 8 + 128 + 128);
	/* Zero points: smallest value too. */
	insn.quant.asymmetric = 1;
	ck_assert_uint_eq(vector_plan(&hw, &insn).cycles, 8 + 256 + 128);
}
END_TEST

/* Every vector instruction of the table. */
static const struct {
	enum npu_op op;
	enum npu_format_index format;
	enum npu_engine engine;
} all_ops[] = {
#define INSN(OP, mnemonic, opcode, f, engine, doc) { NPU_OP_##OP, NPU_FORMAT_##f, NPU_ENGINE_##engine },
#include "isa/npu.def"
};

static struct npu_insn of_format(enum npu_op op)
{
	struct npu_insn insn = { .op = (uint8_t)op };
	switch (npu_op_format(op)) {
	case NPU_FORMAT_ew:
		return elementwise(op);
	case NPU_FORMAT_un:
		return unary(op);
	case NPU_FORMAT_softmax:
		return softmax(op);
	case NPU_FORMAT_red:
		insn.red = (struct npu_red){ .dst = GROUP, .a = 0, .rows = 64, .cols = 64 };
		break;
	case NPU_FORMAT_quant:
		insn.quant = (struct npu_quant){ .dst = 0, .a = GROUP, .rows = 64, .cols = 64, .dst_type = NPU_INT8 };
		break;
	case NPU_FORMAT_rope:
		insn.rope = (struct npu_rope){ .dst = 0, .a = GROUP, .cosine = 2 * GROUP, .sine = 3 * GROUP, .rows = 16,
					       .heads = 4, .dim = 64, .rotary = 64 };
		break;
	case NPU_FORMAT_norm:
		insn.norm = (struct npu_norm){ .dst = 0, .a = GROUP, .weight = 2 * GROUP, .rows = 64, .cols = 64 };
		break;
	case NPU_FORMAT_fill:
		insn.fill = (struct npu_fill){ .dst = 0, .rows = 64, .cols = 64 };
		break;
	case NPU_FORMAT_dma:
	case NPU_FORMAT_paged:
	case NPU_FORMAT_matmul:
	case NPU_FORMAT_none:
		break;
	}
	return insn;
}

START_TEST(every_instruction_costs_at_least_a_slot_an_element_and_its_bytes)
{
	struct hw hw = edge();
	if (all_ops[_i].engine != NPU_ENGINE_VECTOR || all_ops[_i].format == NPU_FORMAT_none)
		return;
	struct npu_insn insn = of_format(all_ops[_i].op);
	struct vector_plan plan = vector_plan(&hw, &insn);
	ck_assert_uint_ge(plan.passes, 1);
	ck_assert_uint_le(plan.passes, VECTOR_PASSES);
	uint32_t written = 0;
	for (unsigned i = 0; i < plan.passes; i++) {
		ck_assert_uint_ge(plan.pass[i].cycles, (plan.pass[i].elements + 31) / 32);
		ck_assert_uint_ge(plan.pass[i].cycles, (plan.pass[i].bytes + 127) / 128);
		ck_assert_uint_gt(plan.pass[i].bytes, 0);
		written |= plan.pass[i].writes;
	}
	ck_assert_uint_eq(written & 1, 1);
	ck_assert_uint_ge(vector_slots(&hw, &insn), 4096);
}
END_TEST

/* Moves all local addresses by a whole word, and the mask. */
static struct npu_insn elsewhere(const struct npu_insn *insn, uint32_t bytes)
{
	struct npu_insn moved = *insn;
	switch (npu_op_format(insn->op)) {
#define FORMAT(f, doc) case NPU_FORMAT_##f:
#define FIELD(f, ctype, name, word, lsb, width, kind, initial, unit, doc) \
	if (NPU_KIND_##kind == NPU_KIND_LOCAL)                            \
		moved.f.name = moved.f.name + (ctype)bytes;
#define END_FORMAT(f) break;
#include "isa/npu.def"
	}
	if (npu_op_format(insn->op) == NPU_FORMAT_softmax) {
		moved.softmax.diagonal = -17;
		moved.softmax.valid = 99;
	}
	moved.post[0] = (struct npu_sem_ref){ 3, 1 };
	return moved;
}

START_TEST(instructions_that_differ_in_place_and_mask_share_a_shape)
{
	struct hw hw = edge();
	if (all_ops[_i].engine != NPU_ENGINE_VECTOR || all_ops[_i].format == NPU_FORMAT_none)
		return;
	struct memory *memory = memory_new(&hw, false);
	struct vector_shapes *shapes = calloc(1, sizeof *shapes);
	struct npu_insn insn = of_format(all_ops[_i].op);
	struct npu_insn moved = elsewhere(&insn, 3 * (uint32_t)hw.sram.bank_bytes);
	const struct vector_shape *shape = vector_shape_of(shapes, &hw, memory, &insn);
	struct vector_shape first = *shape;
	ck_assert_ptr_eq(vector_shape_of(shapes, &hw, memory, &moved), shape);
	ck_assert_mem_eq(shape, &first, sizeof first);
	ck_assert_uint_eq(shape->plan.cycles, vector_plan(&hw, &moved).cycles);
	ck_assert_uint_eq(shape->slots, vector_slots(&hw, &moved));
	/* Within a word it may ask for other words a beat, so that is another shape. */
	struct npu_insn shifted = elsewhere(&insn, 4);
	ck_assert(memcmp(&vector_shape_of(shapes, &hw, memory, &shifted)->key, &first.key, sizeof first.key));
	free(shapes);
	memory_free(memory);
}
END_TEST

/* 64 places are too few for 500 shapes: some are forgotten and found again. */
START_TEST(a_shape_that_was_forgotten_is_found_again)
{
	struct hw hw = edge();
	struct memory *memory = memory_new(&hw, false);
	struct vector_shapes *shapes = calloc(1, sizeof *shapes);
	for (unsigned round = 0; round < 2; round++)
		for (uint32_t cols = 1; cols <= 500; cols++) {
			struct npu_insn insn = unary(NPU_OP_VEXP);
			insn.un.cols = cols;
			const struct vector_shape *shape = vector_shape_of(shapes, &hw, memory, &insn);
			ck_assert_uint_eq(shape->plan.cycles, vector_plan(&hw, &insn).cycles);
			ck_assert_uint_eq(shape->bytes[0], 2 * 64 * cols * 4);
			ck_assert_uint_eq(shape->bytes[1], 0);
		}
	free(shapes);
	memory_free(memory);
}
END_TEST

/* ---- behind the queue ---- */

struct told {
	uint64_t end[8], cycles[NPU_STATES], spans_end;
	unsigned ended;
};

static void on_span(void *ctx, enum npu_state state, uint32_t insn, uint64_t from, uint64_t to)
{
	struct told *told = ctx;
	ck_assert_uint_eq(insn, told->ended);
	ck_assert_uint_lt(from, to);
	ck_assert_uint_ge(from, told->spans_end);
	told->spans_end = to;
	told->cycles[state] += to - from;
}

static void on_ended(void *ctx, uint32_t insn, uint32_t slot, uint64_t begin, uint64_t stream_end, uint64_t end)
{
	struct told *told = ctx;
	(void)slot, (void)begin;
	ck_assert_uint_eq(insn, told->ended++);
	ck_assert_uint_eq(stream_end, end);
	ck_assert_uint_eq(told->spans_end, end);
	told->end[insn] = end;
}

static struct told run(const struct hw *hw, const struct npu_insn *insns, unsigned n, unsigned ideal, struct memory *memory)
{
	struct told told = { 0 };
	struct npu_program program = { .insns = insns, .ninsns = n };
	struct body_listener listener = { &told, on_span, on_ended };
	struct vector *v = vector_new(hw, &program, memory, &listener, ideal);
	unsigned next = 0;
	for (uint64_t now = 0; now != NPU_NEVER;) {
		uint64_t wake = vector_ops.step(v, now);
		if (next < n && vector_ops.accept_at(v, now, next) == now) {
			vector_ops.accept(v, now, next++);
			wake = vector_ops.step(v, now);
		}
		now = wake;
	}
	ck_assert_uint_eq(told.ended, n);
	vector_free(v);
	return told;
}

START_TEST(one_instruction_follows_the_other)
{
	struct hw hw = edge();
	struct npu_insn insns[] = { elementwise(NPU_OP_VADD), softmax(NPU_OP_VSOFTMAX_ONLINE) };
	struct memory *memory = memory_new(&hw, true);
	struct told told = run(&hw, insns, 2, 0, memory);
	uint64_t first = vector_plan(&hw, &insns[0]).cycles, second = vector_plan(&hw, &insns[1]).cycles;
	ck_assert_uint_eq(told.end[0], first);
	ck_assert_uint_eq(told.end[1], first + second);
	ck_assert_uint_eq(told.cycles[NPU_STATE_ENGINE_LATENCY], 16);
	ck_assert_uint_eq(told.cycles[NPU_STATE_BUSY], first + second - 16);
	memory_free(memory);
}
END_TEST

START_TEST(an_ideal_engine_takes_a_cycle)
{
	struct hw hw = edge();
	struct npu_insn insns[] = { elementwise(NPU_OP_VADD), softmax(NPU_OP_VSOFTMAX_ONLINE) };
	struct memory *memory = memory_new(&hw, false);
	struct told told = run(&hw, insns, 2, MACHINE_IDEAL_VECTOR, memory);
	ck_assert_uint_eq(told.end[0], 1);
	ck_assert_uint_eq(told.end[1], 2);
	memory_free(memory);
}
END_TEST

START_TEST(operands_in_one_bank_wait_for_each_other)
{
	/* A and D of a copy lie in one group of one bank of 128 bytes a cycle: 64 words are read and 64 written in 128 cycles
	 * of 256 bytes port; at two words a cycle and one bank, half of the cycles are denied. */
	struct hw hw = edge();
	hw.sram.banks = hw.sram.groups = 4;
	hw.sram.bank_bytes = 128;
	hw.vector.port = 256;
	struct npu_insn insn = unary(NPU_OP_VCOPY);
	insn.un.a = 32 * KIB;
	struct memory *memory = memory_new(&hw, false);
	struct told told = run(&hw, &insn, 1, 0, memory);
	/* 4,096 x 8 bytes / 256 = 128 beats, each a word of A and a word of D. */
	ck_assert_uint_eq(told.cycles[NPU_STATE_SRAM_CONFLICT], 128);
	ck_assert_uint_eq(told.end[0], 8 + 256);
	ck_assert_uint_eq(memory_bytes(memory, NPU_ENGINE_VECTOR, false), 2 * 4096 * 4);
	memory_free(memory);
}
END_TEST

START_TEST(every_instruction_touches_no_more_than_it_announced)
{
	/* Everything in one bank, so that the memory asks for every beat and asserts. */
	struct hw hw = edge();
	hw.sram.banks = hw.sram.groups = 1;
	hw.accum.banks = 1;
	if (all_ops[_i].engine != NPU_ENGINE_VECTOR || all_ops[_i].format == NPU_FORMAT_none)
		return;
	struct npu_insn insn = of_format(all_ops[_i].op);
	struct memory *memory = memory_new(&hw, false);
	struct told told = run(&hw, &insn, 1, 0, memory);
	uint64_t denied = told.cycles[NPU_STATE_SRAM_CONFLICT] + told.cycles[NPU_STATE_ACCUM_CONFLICT];
	ck_assert_uint_eq(told.end[0], vector_plan(&hw, &insn).cycles + denied);
	memory_free(memory);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("vector");
	TCase *cost = tcase_create("cost");
	tcase_add_test(cost, online_softmax_is_two_passes);
	tcase_add_test(cost, what_a_mask_hides_costs_as_much);
	tcase_add_test(cost, whole_softmax_is_three_passes);
	tcase_add_test(cost, a_wide_addition_is_bound_by_the_port);
	tcase_add_test(cost, a_slow_operation_is_bound_by_its_slots);
	tcase_add_test(cost, a_scale_of_one_and_equal_types_cost_nothing);
	tcase_add_test(cost, normalisations_take_a_pass_for_each_statistic);
	tcase_add_test(cost, dynamic_quantisation_looks_at_the_values_first);
	tcase_add_loop_test(cost, every_instruction_costs_at_least_a_slot_an_element_and_its_bytes, 0,
			    sizeof all_ops / sizeof *all_ops);
	tcase_add_loop_test(cost, instructions_that_differ_in_place_and_mask_share_a_shape, 0,
			    sizeof all_ops / sizeof *all_ops);
	tcase_add_test(cost, a_shape_that_was_forgotten_is_found_again);
	suite_add_tcase(suite, cost);
	TCase *engine = tcase_create("engine");
	tcase_add_test(engine, one_instruction_follows_the_other);
	tcase_add_test(engine, an_ideal_engine_takes_a_cycle);
	tcase_add_test(engine, operands_in_one_bank_wait_for_each_other);
	tcase_add_loop_test(engine, every_instruction_touches_no_more_than_it_announced, 0, sizeof all_ops / sizeof *all_ops);
	suite_add_tcase(suite, engine);
	return npu_suite_run(suite);
}
