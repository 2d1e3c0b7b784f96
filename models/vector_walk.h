/* SPDX-License-Identifier: Apache-2.0 */
/* The operands of a vector instruction as its passes walk them. Private to models/vector*.c. */
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

#endif
