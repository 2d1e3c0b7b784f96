/* SPDX-License-Identifier: Apache-2.0 */
/* How many cycles one product takes on the array, fold by fold. Hand-off between products is matrix.c. */
#include "models/matrix.h"

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }
static uint32_t most(uint32_t a, uint32_t b) { return a > b ? a : b; }
static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }
/* ceil(n / d); 32-bit division where it suffices: it takes half the time. */
static uint64_t pieces(uint64_t n, uint32_t d)
{
	return n <= UINT32_MAX - d ? ((uint32_t)n + d - 1) / d : (n + d - 1) / d;
}

/* Of OS both operands stream, each row or column of PEs from a feeder of its own, and either order will do. */
static bool is_stationary_transposed(const struct hw *hw, const struct npu_matmul *p)
{
	return (hw->matrix.dataflow == HW_DATAFLOW_WS && p->transpose_b) ||
	       (hw->matrix.dataflow == HW_DATAFLOW_IS && p->transpose_a);
}

bool matrix_check(const struct hw *hw, const struct npu_insn *insn, struct npu_error *err)
{
	if (hw->matrix.transposer || !is_stationary_transposed(hw, &insn->matmul))
		return true;
	return npu_fail(err, NPU_ERR_OPERAND,
			"the array has no transposer (matrix.transposer=no): %s, which stays in the PEs, is stored as its "
			"transpose and must be transposed by the DMA",
			hw->matrix.dataflow == HW_DATAFLOW_WS ? "B" : "A");
}

/* Tiles along k. A scale belongs to one group of k and is applied to sums on their way into the accumulators, so no sum
 * may mix two groups: with scales, tiles start anew at every group. */
static void plan_k(struct matrix_plan *plan, const struct npu_matmul *p, uint32_t k_tile)
{
	plan->k_group = p->group ? p->group : p->k;
	plan->k_tile = least(k_tile, plan->k_group);
	plan->k_per_group = (uint32_t)pieces(plan->k_group, plan->k_tile);
	plan->k_tiles = plan->k_per_group;
	if (p->group)
		plan->k_tiles = p->k / p->group * plan->k_per_group + (uint32_t)pieces(p->k % p->group, plan->k_tile);
}

/* Rows that stream before the last block of at most `rows` of them. */
static uint64_t before_last_block(const struct hw *hw, uint64_t streamed)
{
	return hw->matrix.preload == HW_PRELOAD_LAST_BLOCK ? (streamed - 1) / hw->matrix.rows * hw->matrix.rows : 0;
}

static uint64_t registers(const struct hw *hw) { return hw->matrix.input_registers + hw->matrix.output_registers; }

/* Weight-stationary (n stays, rows of A pass) and input-stationary (m stays, columns of B pass; D is made transposed).
 *
 *   load     stationary bytes / weight port: an fp16 row of PEs a cycle, two of int8, four of int4 at the default port; no
 *            more than load_rows rows of PEs a cycle
 *   stream   one operand row of k_tile elements enters in row_beats cycles
 *   latency  the last row's element for PE row R - 1 enters R - 1 cycles after its first, its sum reaches column C - 1
 *            C - 1 cycles after column 0: R + C - 2, and a cycle a register before the PEs (weights pass them too) and behind
 *
 * serial: the parts follow one another, load + stream + latency = M + 2R + C - 2 for fp16 (SCALE-Sim's count).
 * overlapped: each PE has a second weight register. Weights and operands enter with the same skew, so seen from any PE a
 * tile is complete when its load has taken `load` cycles, and the register is free again when the tile before it begins to
 * be used. Hence a fold every max(stream, load) cycles, one load before and one latency behind all. preload=last_block: the
 * load begins with the last block of `rows` operand rows: a fold every max(stream, rows before that block + load). */
static void plan_stationary(const struct hw *hw, const struct npu_matmul *p, struct matrix_plan *plan)
{
	bool ws = hw->matrix.dataflow == HW_DATAFLOW_WS;
	uint32_t rows = (uint32_t)hw->matrix.rows, cols = (uint32_t)hw->matrix.cols;
	uint32_t depth = p->a_type == NPU_INT8 ? (uint32_t)hw->matrix.int8_macs_per_pe : 1;
	uint32_t stay = ws ? p->n : p->m, pass = ws ? p->m : p->n;
	enum npu_dtype stays = (enum npu_dtype)(ws ? p->b_type : p->a_type);
	enum npu_dtype streams = (enum npu_dtype)(ws ? p->a_type : p->b_type);
	bool used = hw->matrix.ragged == HW_RAGGED_USED;

	plan->depth = depth;
	plan_k(plan, p, rows * depth);
	plan->outer_tiles = (uint32_t)pieces(stay, cols);
	plan->inner_tiles = 1;
	plan->used_rows = used ? least(rows, (uint32_t)pieces(plan->k_tile, depth)) : rows;
	plan->used_cols = used ? least(cols, stay) : cols;
	uint64_t k_used = (uint64_t)plan->used_rows * depth;
	plan->load = (uint32_t)pieces(k_used * npu_dtype_bytes(stays, plan->used_cols), (uint32_t)hw_weight_port(hw));
	if (hw->matrix.load_rows)
		plan->load = most(plan->load, (uint32_t)pieces(plan->used_rows, (uint32_t)hw->matrix.load_rows));
	plan->transposer = is_stationary_transposed(hw, p) ? rows : 0;
	plan->row_beats = (uint32_t)pieces(npu_dtype_bytes(streams, k_used), (uint32_t)hw_activation_port(hw));
	plan->stream = (uint64_t)pass * plan->row_beats;
	plan->latency = (uint64_t)plan->used_rows + plan->used_cols - 2 + registers(hw);
	plan->results = plan->stream;
	plan->load_after = before_last_block(hw, pass) * plan->row_beats;
	if (hw->matrix.weight_load == HW_LOAD_SERIAL)
		plan->period = plan->transposer + plan->load + plan->stream + plan->latency;
	else
		plan->period = later(plan->stream, plan->load_after + plan->load);
}

/* Output-stationary: a tile of m x n stays, a column of A and a row of B enter for every k.
 *
 *   stream   ceil(k_tile / products a PE) steps, each as long as the slower of the two ports takes
 *   latency  skew R + C - 2 and registers as above, then R cycles in which the sums leave through the columns (C where they
 *            leave through the rows)
 *
 * serial: K + 2R + C - 2 a fold (SCALE-Sim's count). overlapped: sums leave through registers of their own while the next
 * fold streams, so folds follow every max(K, R) cycles. preload=last_block: through the same registers initial sums enter
 * beside the last block of R steps: every max(K, steps before that block + R). */
static void plan_output(const struct hw *hw, const struct npu_matmul *p, struct matrix_plan *plan)
{
	uint32_t rows = (uint32_t)hw->matrix.rows, cols = (uint32_t)hw->matrix.cols;
	uint32_t depth = p->a_type == NPU_INT8 ? (uint32_t)hw->matrix.int8_macs_per_pe : 1;
	bool used = hw->matrix.ragged == HW_RAGGED_USED;

	plan->depth = depth;
	plan_k(plan, p, UINT32_MAX);
	plan->outer_tiles = (uint32_t)pieces(p->m, rows);
	plan->inner_tiles = (uint32_t)pieces(p->n, cols);
	plan->used_rows = used ? least(rows, p->m) : rows;
	plan->used_cols = used ? least(cols, p->n) : cols;
	plan->load = 0;
	plan->transposer = 0;
	plan->row_beats = most(
		(uint32_t)pieces(npu_dtype_bytes((enum npu_dtype)p->a_type, (uint64_t)plan->used_rows * depth),
				 (uint32_t)hw_activation_port(hw)),
		(uint32_t)pieces(npu_dtype_bytes((enum npu_dtype)p->b_type, (uint64_t)plan->used_cols * depth),
				 (uint32_t)hw_weight_port(hw)));
	plan->stream = pieces(plan->k_tile, depth) * plan->row_beats;
	plan->results = hw->matrix.shift_out == HW_SHIFT_ACROSS ? plan->used_cols : plan->used_rows;
	plan->latency = (uint64_t)plan->used_rows + plan->used_cols - 2 + registers(hw) + plan->results;
	plan->load_after = before_last_block(hw, pieces(plan->k_tile, depth)) * plan->row_beats;
	if (hw->matrix.weight_load == HW_LOAD_SERIAL)
		plan->period = plan->stream + plan->latency;
	else
		plan->period = later(plan->stream, plan->load_after + plan->results);
}

struct matrix_plan matrix_plan(const struct hw *hw, const struct npu_insn *insn)
{
	const struct npu_matmul *p = &insn->matmul;
	struct matrix_plan plan;
	if (hw->matrix.dataflow == HW_DATAFLOW_OS)
		plan_output(hw, p, &plan);
	else
		plan_stationary(hw, p, &plan);
	plan.folds = (uint64_t)plan.outer_tiles * plan.inner_tiles * plan.k_tiles;
	plan.macs = (uint64_t)p->m * p->n * p->k;
	return plan;
}

uint64_t matrix_alone_cycles(const struct hw *hw, const struct npu_insn *insn)
{
	struct matrix_plan plan = matrix_plan(hw, insn);
	return plan.transposer + plan.load + (plan.folds - 1) * plan.period + plan.stream + plan.latency;
}
