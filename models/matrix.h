/* SPDX-License-Identifier: Apache-2.0 */
/* The systolic array: how a product folds over it, and how products follow one another. What it computes is isa/. The
 * rules stand at matrix_plan.c (one product) and matrix.c (hand-off); docs/models/matrix.md tells them with sources. */
#ifndef NPU_MODELS_MATRIX_H
#define NPU_MODELS_MATRIX_H

#include "isa/error.h"
#include "models/body.h"
#include "models/hw.h"
#include "models/memory.h"

struct npu_program;

#ifdef __cplusplus
extern "C" {
#endif

/* One product on the array. Beats are cycles in which no bank is denied. The operand that stays has `stay` columns of the
 * array (n of WS, m of IS, n of OS); the operand that streams has `pass` rows (m of WS, n of IS; k of OS). A fold is one
 * tile of k x stay (OS: m x n) on the array. All folds of a product cost the same. */
struct matrix_plan {
	uint32_t k_tile;      /* elements of k a fold */
	uint32_t k_group;     /* elements of k after which tiles start anew: the scale group, or k */
	uint32_t k_per_group; /* tiles in k_group */
	uint32_t k_tiles;     /* tiles along k */
	uint32_t outer_tiles; /* tiles along n (WS), m (IS), m (OS) */
	uint32_t inner_tiles; /* OS: tiles along n; else 1 */
	uint64_t folds;       /* outer x inner x k tiles; k innermost */
	uint32_t depth;       /* products along k a PE and cycle */
	uint32_t used_rows;   /* rows and columns that cost: the whole array, or with ragged=used no more than the operand */
	uint32_t used_cols;
	uint32_t transposer;  /* beats of latency of a transposed stationary operand */
	uint32_t load;        /* beats in which a fold's stationary tile enters; 0 for OS */
	uint32_t row_beats;   /* beats a streamed row needs at the ports */
	uint64_t load_after;  /* beats of a fold's stream before the next fold's load may begin (overlapped) */
	uint64_t stream;      /* beats in which a fold's operands stream */
	uint64_t latency;     /* beats from the end of a fold's stream to its last result */
	uint64_t results;     /* beats in which a fold's results are written, the last ones before its end */
	uint64_t period;      /* beats from fold to fold */
	uint64_t macs;        /* m x n x k */
};

/* Pure. `insn` is a legal matmul. */
struct matrix_plan matrix_plan(const struct hw *, const struct npu_insn *insn);
/* Beats from the first load to the last result of one product on an empty array. */
uint64_t matrix_alone_cycles(const struct hw *, const struct npu_insn *insn);
/* Refuses what this array cannot do: a transposed stationary operand where there is no transposer. */
bool matrix_check(const struct hw *, const struct npu_insn *insn, struct npu_error *err);

/* The engine behind its queue. All pointers must outlive it. `ideal`: enum machine_ideal. NULL: out of memory. */
struct matrix;
struct matrix *matrix_new(const struct hw *, const struct npu_program *, struct memory *, const struct body_listener *,
			  unsigned ideal);
void matrix_free(struct matrix *);
extern const struct body_ops matrix_ops;

#ifdef __cplusplus
}
#endif

#endif
