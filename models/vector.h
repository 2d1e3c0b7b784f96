/* SPDX-License-Identifier: Apache-2.0 */
/* The vector engine: what each instruction costs, and one instruction after the other. Costs are data: vector.def. */
#ifndef NPU_MODELS_VECTOR_H
#define NPU_MODELS_VECTOR_H

#include "models/body.h"
#include "models/hw.h"
#include "models/memory.h"

struct npu_program;

#ifdef __cplusplus
extern "C" {
#endif

enum { VECTOR_PASSES = 3 };

/* One pass over the elements:
 *
 *   cycles = max(ceil(elements / lanes) x slots, ceil(rows / lanes) x row_slots, ceil(bytes / port)), at least 1
 *
 * `rows` are rows of the operand, or scales where those are more. */
struct vector_pass {
	uint64_t elements;
	uint64_t rows;
	uint64_t bytes;      /* read and written */
	uint64_t cycles;
	uint32_t slots;      /* of the slowest class, an element */
	uint32_t row_slots;  /* likewise, a row */
	uint32_t all_slots;  /* of all classes together, an element */
	uint32_t all_row_slots;
	uint32_t reads;      /* bit i: operand i of npu_insn_operands() is read in this pass */
	uint32_t writes;
};
struct vector_plan {
	uint64_t startup;
	uint64_t cycles;      /* startup + all passes */
	unsigned passes;
	struct vector_pass pass[VECTOR_PASSES];
};

/* Pure. `insn` is a legal vector instruction, no sync. */
struct vector_plan vector_plan(const struct hw *, const struct npu_insn *insn);
/* Lane slots it uses: elements and rows x slots of every class, all passes. What energy counts. */
uint64_t vector_slots(const struct hw *, const struct npu_insn *insn);

/* The engine behind its queue. All pointers must outlive it. `ideal`: enum machine_ideal. NULL: out of memory. */
struct vector;
struct vector *vector_new(const struct hw *, const struct npu_program *, struct memory *, const struct body_listener *,
			  unsigned ideal);
void vector_free(struct vector *);
/* vector_slots() of all instructions accepted so far. */
uint64_t vector_slots_used(const struct vector *);
extern const struct body_ops vector_ops;

#ifdef __cplusplus
}
#endif

#endif
