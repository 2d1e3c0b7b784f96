/* SPDX-License-Identifier: Apache-2.0 */
/* The operands of a vector instruction as its passes walk them, and what follows from its shape. Private to
 * models/vector*.c. */
#ifndef NPU_MODELS_VECTOR_WALK_H
#define NPU_MODELS_VECTOR_WALK_H

#include "isa/operand.h"
#include "models/vector.h"

/* Operands in the order of isa/operand.h: 0 the destination, 1 operand a (if there is one), then the others. */
struct vector_operands {
	unsigned n;
	bool no_a;
	struct npu_operand operand[NPU_MAX_ACCESSES];
	uint64_t times[NPU_MAX_ACCESSES]; /* times a pass reads all of it */
	uint64_t bytes[NPU_MAX_ACCESSES]; /* a pass, `times` included */
};
void vector_operands(const struct npu_insn *, struct vector_operands *);
struct vector_plan vector_plan_of(const struct hw *, const struct npu_insn *, const struct vector_operands *);
uint64_t vector_slots_of(const struct vector_plan *);

/* Operand i read or written in beats [begin, end). */
struct memory_walk vector_walk(const struct vector_operands *, unsigned i, bool write, uint64_t begin, uint64_t end);

/* All that follows from an instruction but for where its operands lie. Programs repeat few shapes. Bit i is operand i. */
struct vector_shape {
	struct npu_insn key; /* no waits, no posts, what does not matter 0 */
	struct vector_plan plan;
	uint64_t slots;
	uint64_t bytes[2]; /* moved in SRAM, in accumulators */
	uint64_t extent[NPU_MAX_ACCESSES]; /* bytes from the first to behind the last */
	uint32_t meets_itself[VECTOR_PASSES][2]; /* of those read, written: one beat may ask twice for one bank */
};

/* Shapes met last. All 0: none. */
enum { VECTOR_SHAPES = 64 };
struct vector_shapes {
	struct vector_shape shape[VECTOR_SHAPES];
};
/* The shape of `insn`, valid until the next call. `hw` and `memory` are the same ones in all calls. */
const struct vector_shape *vector_shape_of(struct vector_shapes *, const struct hw *, const struct memory *,
					   const struct npu_insn *insn);

#endif
