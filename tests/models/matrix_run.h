/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the array share: a machine, a product, and products run one after the other with everything told noted. */
#ifndef NPU_TESTS_MODELS_MATRIX_RUN_H
#define NPU_TESTS_MODELS_MATRIX_RUN_H

#include "isa/program.h"
#include "models/machine.h"
#include "models/matrix.h"
#include "tests/support/suite.h"

enum { KIB = 1024, GROUP = 256 * KIB };

/* The initial values are edge-1mb; here with a square array of `dim` and more accumulators. */
static inline struct hw array_of(uint64_t dim)
{
	struct hw hw = { 0 };
#define KEY(section, type, name, initial, min, max, unit, doc) hw.section.name = initial;
#include "models/hw.def"
	hw.matrix.rows = hw.matrix.cols = dim;
	hw.accum.size = 2048 * KIB;
	return hw;
}

/* A in group 0, B in group 1, scales in group 2: no operand meets another. */
static inline struct npu_insn product(uint32_t m, uint32_t n, uint32_t k)
{
	struct npu_insn insn = { .op = NPU_OP_MATMUL };
	insn.matmul = (struct npu_matmul){ .dst = NPU_ACC_BIT, .a = 0, .b = GROUP, .scales = 2 * GROUP, .m = m, .n = n, .k = k,
					   .a_type = NPU_FP16, .b_type = NPU_FP16 };
	return insn;
}

enum { PRODUCTS = 24 };

struct told {
	uint64_t accepted[PRODUCTS], begin[PRODUCTS], stream_end[PRODUCTS], end[PRODUCTS];
	unsigned ended;
	uint64_t spans_end;
	uint64_t cycles[NPU_STATES];
	uint64_t cycles_of[PRODUCTS];
};

static inline void must(bool holds, const char *what)
{
	if (!holds)
		ck_abort_msg("%s", what);
}

static inline void on_span(void *ctx, enum npu_state state, uint32_t insn, uint64_t from, uint64_t to)
{
	struct told *told = ctx;
	must(from < to, "a span is not empty");
	must(from >= told->spans_end, "spans are in order");
	must(insn >= told->ended, "a span is of an instruction in service");
	told->spans_end = to;
	told->cycles[state] += to - from;
	told->cycles_of[insn] += to - from;
}

static inline void on_ended(void *ctx, uint32_t insn, uint32_t slot, uint64_t stream_begin, uint64_t stream_end, uint64_t end)
{
	struct told *told = ctx;
	must(insn == told->ended && slot == 0, "instructions end in order");
	must(told->spans_end == end, "spans are told up to the end");
	told->ended++;
	told->begin[insn] = stream_begin;
	told->stream_end[insn] = stream_end;
	told->end[insn] = end;
}

/* Runs the products, each accepted as soon as it is ready and the array takes it. */
static inline struct told run(const struct hw *hw, const struct npu_insn *insns, unsigned n, const uint64_t *ready, unsigned ideal,
		       struct memory *memory)
{
	struct told told = { 0 };
	struct npu_program program = { .insns = insns, .ninsns = n };
	struct memory *own = memory ? NULL : memory_new(hw, true);
	struct body_listener listener = { &told, on_span, on_ended };
	struct matrix *m = matrix_new(hw, &program, memory ? memory : own, &listener, ideal);
	unsigned next = 0;
	for (uint64_t now = 0; now != NPU_NEVER;) {
		uint64_t wake = matrix_ops.step(m, now);
		while (next < n) {
			uint64_t at = matrix_ops.accept_at(m, now, next);
			if (ready && ready[next] > at)
				at = ready[next];
			if (at > now) {
				wake = at < wake ? at : wake;
				break;
			}
			matrix_ops.accept(m, now, next);
			told.accepted[next++] = now;
			wake = matrix_ops.step(m, now);
		}
		must(wake > now, "a step looks ahead");
		now = wake;
	}
	must(told.ended == n && matrix_ops.in_service(m) == 0, "all products end");
	matrix_free(m);
	memory_free(own);
	return told;
}

#endif
