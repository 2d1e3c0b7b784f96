/* SPDX-License-Identifier: Apache-2.0 */
/* One product on its way through the array, in beats. Private to models/matrix*.c. */
#ifndef NPU_MODELS_MATRIX_FLIGHT_H
#define NPU_MODELS_MATRIX_FLIGHT_H

#include "models/matrix.h"

/* Things that a product touches. Only different ones are touched in one beat (of results: reads and writes). */
enum flight_part { FLIGHT_STREAM, FLIGHT_LOAD, FLIGHT_SCALES, FLIGHT_RESULTS, FLIGHT_PARTS };

/* All that follows from a product's operands but for their addresses. Programs repeat few shapes. */
struct flight_shape {
	struct npu_matmul key; /* addresses 0 */
	struct matrix_plan plan;
	uint64_t extent[FLIGHT_PARTS]; /* bytes from the first to behind the last; 0: not used */
	bool meets_itself[FLIGHT_PARTS]; /* one beat may ask twice for one bank, however the operand lies */
	bool reads_results;
	uint64_t sram_bytes; /* moved in all */
	uint64_t accum_bytes;
};

/* Fold f streams in [first + f period, + plan.stream). Its tile loads in the plan.load beats before (serial) or from
 * plan.load_after beats of the stream of fold f - 1 on (overlapped; fold 0: from `load` on). Its results are written in
 * plan.results beats from results + f period on; those of the first `late` folds, which find results of the product before
 * still leaving, one behind the other from results_free on. */
struct flight {
	struct matrix_plan plan;
	struct memory_reach reach[FLIGHT_PARTS];
	uint32_t insn;
	bool overlapped;
	uint64_t begin;      /* fold 0 begins: transposer, then load */
	uint64_t load;       /* first beat of the first load */
	uint64_t first;      /* first operand in */
	uint64_t last_fold;  /* first operand of the last fold in; plan.load_after later the next product may load (overlapped) */
	uint64_t stream_end; /* last operand in */
	uint64_t results;    /* fold 0 has crossed the array: its results are ready to be written */
	uint64_t results_free; /* the last result of the product before has been written */
	uint64_t late;       /* folds whose results are ready before those in front of them have been written */
	uint64_t end;        /* last result written */
	uint64_t stream_begin_cycle;
	uint64_t stream_end_cycle;
};

/* `key` as in struct flight_shape. */
struct flight_shape flight_shape(const struct hw *, const struct memory *, const struct npu_matmul *key);
/* What the product touches where its operands lie. */
void flight_reach(const struct hw *, const struct memory *, const struct npu_matmul *, const struct flight_shape *,
		  struct memory_reach out[FLIGHT_PARTS]);
/* Adds the walks of the flight at `beat` to `out`, and lowers out->until to where they change. */
void flight_segment(const struct hw *, const struct npu_insn *, const struct flight *, uint64_t beat,
		    struct memory_segment *out);

#endif
