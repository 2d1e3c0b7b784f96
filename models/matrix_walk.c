/* SPDX-License-Identifier: Apache-2.0 */
/* Which words of its operands a product touches in which beat. When is matrix_plan.c and matrix.c, who is served
 * memory.c. */
#include "isa/layout.h"
#include "models/matrix_flight.h"

static uint64_t lesser(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* A tile of a stored matrix, rows [row, row + rows) x columns [col, col + cols), as a walk. A blocked tile is read in
 * stored order, its bytes counted evenly over its strips of blocks. */
static struct memory_walk stored_tile(uint32_t local, const struct npu_matrix *m, uint64_t row, uint64_t rows, uint64_t col,
				      uint64_t cols, bool by_column)
{
	unsigned block = npu_layout_block(m->layout);
	uint64_t strips = (row + rows + block - 1) / block - row / block;
	uint64_t bytes = block == 1 ? npu_dtype_bytes(m->dtype, cols) : npu_dtype_bytes(m->dtype, rows * cols) / strips;
	return (struct memory_walk){
		.local = local + (uint32_t)(npu_matrix_bit(m, row / block * block, col / block * block) / 8),
		.row_bytes = bytes ? (uint32_t)bytes : 1,
		.rows = (uint32_t)strips,
		.stride = (uint32_t)npu_matrix_stride(m),
		.by_column = by_column && block == 1,
	};
}

static struct npu_matrix stored_a(const struct npu_matmul *p)
{
	return (struct npu_matrix){ p->transpose_a ? p->k : p->m, p->transpose_a ? p->m : p->k, (enum npu_dtype)p->a_type,
				    p->a_layout, p->a_stride };
}

static struct npu_matrix stored_b(const struct npu_matmul *p)
{
	return (struct npu_matrix){ p->transpose_b ? p->n : p->k, p->transpose_b ? p->k : p->n, (enum npu_dtype)p->b_type,
				    p->b_layout, p->b_stride };
}

/* A[m0 .. m0+m, k0 .. k0+k]; by_k: it enters k by k instead of row by row. */
static struct memory_walk tile_of_a(const struct npu_matmul *p, uint64_t m0, uint64_t m, uint64_t k0, uint64_t k, bool by_k)
{
	struct npu_matrix a = stored_a(p);
	return p->transpose_a ? stored_tile(p->a, &a, k0, k, m0, m, !by_k) : stored_tile(p->a, &a, m0, m, k0, k, by_k);
}

/* B[k0 .. k0+k, n0 .. n0+n]; by_n: it enters column by column instead of k by k. */
static struct memory_walk tile_of_b(const struct npu_matmul *p, uint64_t k0, uint64_t k, uint64_t n0, uint64_t n, bool by_n)
{
	struct npu_matrix b = stored_b(p);
	return p->transpose_b ? stored_tile(p->b, &b, n0, n, k0, k, !by_n) : stored_tile(p->b, &b, k0, k, n0, n, by_n);
}

static struct memory_walk tile_of_d(const struct npu_matmul *p, uint64_t m0, uint64_t m, uint64_t n0, uint64_t n, bool by_n)
{
	struct npu_matrix d = { p->m, p->n, NPU_FP32, NPU_LAYOUT_ROW, p->dst_stride };
	return stored_tile(p->dst, &d, m0, m, n0, n, by_n);
}

static struct memory_walk row_of_scales(const struct npu_matmul *p, uint64_t k0, uint64_t n0, uint64_t n)
{
	struct npu_matrix s = { (p->k + (uint64_t)p->group - 1) / p->group, p->n, NPU_FP16, NPU_LAYOUT_ROW, 0 };
	return stored_tile(p->scales, &s, k0 / p->group, 1, n0, n, false);
}

/* What fold f works on. */
struct fold {
	uint64_t m0, m, n0, n, k0, k;
	bool first_k;
};

static struct fold fold_of(const struct hw *hw, const struct npu_matmul *p, const struct matrix_plan *plan, uint64_t f)
{
	uint64_t kt = f % plan->k_tiles, tile = f / plan->k_tiles;
	uint64_t k0 = kt / plan->k_per_group * plan->k_group + kt % plan->k_per_group * plan->k_tile;
	uint64_t k_end = lesser(p->k, (kt / plan->k_per_group + 1) * (uint64_t)plan->k_group);
	struct fold fold = { .m = p->m, .n = p->n, .k0 = k0, .k = lesser(plan->k_tile, k_end - k0), .first_k = kt == 0 };
	uint64_t rows = hw->matrix.rows, cols = hw->matrix.cols;
	switch (hw->matrix.dataflow) {
	case HW_DATAFLOW_WS:
		fold.n0 = tile * cols;
		fold.n = lesser(cols, p->n - fold.n0);
		break;
	case HW_DATAFLOW_IS:
		fold.m0 = tile * cols;
		fold.m = lesser(cols, p->m - fold.m0);
		break;
	default: /* HW_DATAFLOW_OS: hw_check has refused the rest */
		fold.m0 = tile / plan->inner_tiles * rows;
		fold.m = lesser(rows, p->m - fold.m0);
		fold.n0 = tile % plan->inner_tiles * cols;
		fold.n = lesser(cols, p->n - fold.n0);
		break;
	}
	return fold;
}

static struct memory_walk streamed_tile(const struct hw *hw, const struct npu_matmul *p, const struct fold *f)
{
	return hw->matrix.dataflow == HW_DATAFLOW_IS ? tile_of_b(p, f->k0, f->k, f->n0, f->n, true)
						     : tile_of_a(p, f->m0, f->m, f->k0, f->k,
								 hw->matrix.dataflow == HW_DATAFLOW_OS);
}

/* The stationary tile enters as it is stored, through the transposer where that is across; of OS it streams beside A. */
static struct memory_walk loaded_tile(const struct hw *hw, const struct npu_matmul *p, const struct fold *f)
{
	struct memory_walk walk;
	if (hw->matrix.dataflow == HW_DATAFLOW_IS)
		walk = tile_of_a(p, f->m0, f->m, f->k0, f->k, false);
	else
		walk = tile_of_b(p, f->k0, f->k, f->n0, f->n, false);
	if (hw->matrix.dataflow != HW_DATAFLOW_OS)
		walk.by_column = false;
	return walk;
}

/* Beats in which a ragged tile really moves: its rows come at the pace of a full one's, zeros afterwards. */
static uint64_t part_of(uint64_t beats, uint64_t rows, uint64_t full)
{
	return rows < full ? (beats * rows + full - 1) / full : beats;
}

/* Whether a row of the stationary tile as stored is one of k. */
static bool loads_k_by_k(const struct hw *hw, const struct npu_matmul *p)
{
	return hw->matrix.dataflow == HW_DATAFLOW_IS ? p->transpose_a : !p->transpose_b;
}

static uint64_t full_load_rows(const struct hw *hw, const struct npu_matmul *p, const struct matrix_plan *plan)
{
	return loads_k_by_k(hw, p) ? (uint64_t)plan->used_rows * plan->depth : plan->used_cols;
}

static uint64_t load_part(const struct hw *hw, const struct npu_matmul *p, const struct matrix_plan *plan,
			  const struct fold *f)
{
	uint64_t rows = loads_k_by_k(hw, p) ? f->k : hw->matrix.dataflow == HW_DATAFLOW_IS ? f->m : f->n;
	return part_of(plan->load, rows, full_load_rows(hw, p, plan));
}

static uint64_t stream_part(const struct hw *hw, const struct matrix_plan *plan, const struct fold *f)
{
	return hw->matrix.dataflow == HW_DATAFLOW_OS ? part_of(plan->stream, f->k, plan->k_tile) : plan->stream;
}

static uint64_t result_part(const struct hw *hw, const struct matrix_plan *plan, const struct fold *f)
{
	if (hw->matrix.dataflow != HW_DATAFLOW_OS)
		return plan->results;
	return hw->matrix.shift_out == HW_SHIFT_ACROSS ? part_of(plan->results, f->n, plan->used_cols)
						       : part_of(plan->results, f->m, plan->used_rows);
}

/* Results leave column by column: columns of B streamed, or sums are shifted through the rows. */
static bool writes_columns(const struct hw *hw)
{
	return hw->matrix.dataflow == HW_DATAFLOW_IS ||
	       (hw->matrix.dataflow == HW_DATAFLOW_OS && hw->matrix.shift_out == HW_SHIFT_ACROSS);
}

static void at(struct memory_walk *walk, uint64_t begin, uint64_t end)
{
	walk->begin = begin;
	walk->end = end;
}

/* Whether a beat of the tile may ask twice for one bank if it begins as badly in a word as it can. */
static bool tile_meets_itself(const struct hw *hw, const struct memory *memory, struct memory_walk tile, uint64_t beats)
{
	at(&tile, 0, beats);
	if (!npu_is_acc(tile.local))
		tile.local |= (uint32_t)hw->sram.bank_bytes - 1;
	struct memory_reach reach = memory_walk_reach(memory, &tile);
	return reach.self_sram || reach.self_accum_read || reach.self_accum_write;
}

/* Folds that stand for all: tiles differ only at the end of a scale group, of k, of m and of n. */
enum { FOLD_KINDS = 16 };
static unsigned fold_kinds(const struct matrix_plan *plan, uint64_t kind[FOLD_KINDS])
{
	uint32_t last_group = (plan->k_tiles - 1) / plan->k_per_group * plan->k_per_group;
	const uint64_t k[] = { 0, plan->k_per_group - 1, last_group, plan->k_tiles - 1 };
	const uint64_t outer[] = { 0, plan->outer_tiles - 1 }, inner[] = { 0, plan->inner_tiles - 1 };
	unsigned n = 0;
	for (unsigned i = 0; i < FOLD_KINDS; i++) {
		if (i % 4 && k[i % 4] <= k[i % 4 - 1])
			continue;
		if ((i & 4 && !outer[1]) || (i & 8 && !inner[1]))
			continue;
		kind[n++] = (outer[i >> 2 & 1] * plan->inner_tiles + inner[i >> 3]) * plan->k_tiles + k[i % 4];
	}
	return n;
}

static void find_meetings(const struct hw *hw, const struct memory *memory, struct flight_shape *shape)
{
	const struct npu_matmul *p = &shape->key;
	const struct matrix_plan *plan = &shape->plan;
	bool is = hw->matrix.dataflow == HW_DATAFLOW_IS, os = hw->matrix.dataflow == HW_DATAFLOW_OS;
	bool *meets = shape->meets_itself;
	uint64_t kind[FOLD_KINDS];
	/* A tile of blocks may take a strip more where it does not begin with one. */
	meets[FLIGHT_STREAM] = (is ? p->b_layout : p->a_layout) != NPU_LAYOUT_ROW;
	meets[FLIGHT_LOAD] = (is ? p->a_layout : p->b_layout) != NPU_LAYOUT_ROW;
	for (unsigned i = 0, n = fold_kinds(plan, kind); i < n; i++) {
		struct fold fold = fold_of(hw, p, plan, kind[i]);
		uint64_t stream = stream_part(hw, plan, &fold);
		uint64_t load = os ? stream : load_part(hw, p, plan, &fold), results = result_part(hw, plan, &fold);
		struct memory_walk result = tile_of_d(p, fold.m0, fold.m, fold.n0, fold.n, writes_columns(hw));
		result.local |= NPU_ACC_BIT;
		meets[FLIGHT_STREAM] = meets[FLIGHT_STREAM] ||
				       tile_meets_itself(hw, memory, streamed_tile(hw, p, &fold), stream);
		meets[FLIGHT_LOAD] = meets[FLIGHT_LOAD] ||
				     tile_meets_itself(hw, memory, loaded_tile(hw, p, &fold), load);
		meets[FLIGHT_RESULTS] = meets[FLIGHT_RESULTS] || tile_meets_itself(hw, memory, result, results);
		if (p->group)
			meets[FLIGHT_SCALES] = meets[FLIGHT_SCALES] ||
					       tile_meets_itself(hw, memory,
								 row_of_scales(p, fold.k0, fold.n0, fold.n),
								 is ? plan->stream : os ? plan->results : plan->load);
	}
}

static void moved_bytes(const struct hw *hw, struct flight_shape *shape)
{
	const struct npu_matmul *p = &shape->key;
	const struct matrix_plan *plan = &shape->plan;
	uint64_t a = npu_dtype_bytes((enum npu_dtype)p->a_type, (uint64_t)p->m * p->k);
	uint64_t b = npu_dtype_bytes((enum npu_dtype)p->b_type, (uint64_t)p->k * p->n);
	uint64_t scales = p->group ? (uint64_t)plan->k_tiles * p->n * 2 : 0;
	uint64_t outer = plan->outer_tiles, inner = plan->inner_tiles;
	/* WS reads A once a tile of n, IS B once a tile of m, OS A once a tile of n and B once a tile of m. */
	switch (hw->matrix.dataflow) {
	case HW_DATAFLOW_WS:
		shape->sram_bytes = a * outer + b + scales;
		break;
	case HW_DATAFLOW_IS:
		shape->sram_bytes = a + (b + scales) * outer;
		break;
	default: /* HW_DATAFLOW_OS: the configuration has no others */
		shape->sram_bytes = a * inner + (b + scales) * outer;
		break;
	}
	/* Every tile of k writes D; the first one reads it when it accumulates. */
	shape->accum_bytes = (uint64_t)p->m * p->n * 4 * (2 * (uint64_t)plan->k_tiles - (p->accumulate ? 0 : 1));
}

struct flight_shape flight_shape(const struct hw *hw, const struct memory *memory, const struct npu_matmul *key)
{
	struct flight_shape shape = { .key = *key };
	const struct npu_matmul *p = &shape.key;
	const struct npu_insn insn = { .op = NPU_OP_MATMUL, .matmul = *key };
	shape.plan = matrix_plan(hw, &insn);
	const struct matrix_plan *plan = &shape.plan;
	bool is = hw->matrix.dataflow == HW_DATAFLOW_IS;
	struct npu_matrix a = stored_a(p), b = stored_b(p), d = { p->m, p->n, NPU_FP32, NPU_LAYOUT_ROW, p->dst_stride };

	shape.extent[FLIGHT_STREAM] = npu_matrix_extent(is ? &b : &a);
	shape.extent[FLIGHT_LOAD] = npu_matrix_extent(is ? &a : &b);
	shape.extent[FLIGHT_RESULTS] = npu_matrix_extent(&d);
	if (p->group)
		shape.extent[FLIGHT_SCALES] = ((p->k + (uint64_t)p->group - 1) / p->group) * p->n * 2;
	shape.reads_results = p->accumulate || plan->k_tiles > 1;
	find_meetings(hw, memory, &shape);
	moved_bytes(hw, &shape);
	return shape;
}

void flight_reach(const struct hw *hw, const struct memory *memory, const struct npu_matmul *p,
		  const struct flight_shape *shape, struct memory_reach out[FLIGHT_PARTS])
{
	bool is = hw->matrix.dataflow == HW_DATAFLOW_IS;
	uint32_t local[FLIGHT_RESULTS] = { is ? p->b : p->a, is ? p->a : p->b, p->scales };
	for (unsigned i = 0; i < FLIGHT_RESULTS; i++) {
		uint64_t mask = shape->extent[i] ? memory_mask(memory, local[i], shape->extent[i]) : 0;
		out[i] = (struct memory_reach){ .sram = mask, .self_sram = shape->meets_itself[i] ? mask : 0 };
	}
	uint64_t mask = memory_mask(memory, p->dst, shape->extent[FLIGHT_RESULTS]);
	uint64_t self = shape->meets_itself[FLIGHT_RESULTS] ? mask : 0;
	out[FLIGHT_RESULTS] = (struct memory_reach){ .accum_write = mask, .self_accum_write = self };
	if (shape->reads_results) {
		out[FLIGHT_RESULTS].accum_read = mask;
		out[FLIGHT_RESULTS].self_accum_read = self;
	}
}

static void segment_until(struct memory_segment *out, uint64_t beat, uint64_t boundary)
{
	if (boundary > beat && boundary < out->until)
		out->until = boundary;
}

static void add(struct memory_segment *out, struct memory_walk walk, uint64_t beat, uint64_t begin, uint64_t end)
{
	if (beat >= end)
		return;
	segment_until(out, beat, end);
	at(&walk, begin, end);
	out->walk[out->n++] = walk;
}

/* Which fold is in its interval [base + f period, + length) at `beat`; false: none. Cuts the segment at its edges. */
static bool fold_at(uint64_t base, uint64_t period, uint64_t length, uint64_t folds, uint64_t beat,
		    struct memory_segment *out, uint64_t *f)
{
	segment_until(out, beat, base);
	if (beat < base)
		return false;
	*f = (beat - base) / period;
	if (*f >= folds)
		return false;
	uint64_t begin = base + *f * period;
	segment_until(out, beat, begin + length);
	if (*f + 1 < folds)
		segment_until(out, beat, begin + period);
	return beat < begin + length;
}

static void add_load(const struct hw *hw, const struct npu_matmul *p, const struct flight *flight, uint64_t f,
		     uint64_t begin, uint64_t beat, struct memory_segment *out)
{
	struct fold fold = fold_of(hw, p, &flight->plan, f);
	add(out, loaded_tile(hw, p, &fold), beat, begin, begin + load_part(hw, p, &flight->plan, &fold));
	if (p->group && hw->matrix.dataflow == HW_DATAFLOW_WS)
		add(out, row_of_scales(p, fold.k0, fold.n0, fold.n), beat, begin, begin + flight->plan.load);
}

static void add_stream(const struct hw *hw, const struct npu_matmul *p, const struct flight *flight, uint64_t f,
		       uint64_t beat, struct memory_segment *out)
{
	struct fold fold = fold_of(hw, p, &flight->plan, f);
	uint64_t begin = flight->first + f * flight->plan.period, end = begin + stream_part(hw, &flight->plan, &fold);
	add(out, streamed_tile(hw, p, &fold), beat, begin, end);
	if (hw->matrix.dataflow == HW_DATAFLOW_OS)
		add(out, loaded_tile(hw, p, &fold), beat, begin, end);
	if (p->group && hw->matrix.dataflow == HW_DATAFLOW_IS)
		add(out, row_of_scales(p, fold.k0, fold.n0, fold.n), beat, begin, begin + flight->plan.stream);
}

static void add_results(const struct hw *hw, const struct npu_matmul *p, const struct flight *flight, uint64_t f,
			uint64_t begin, uint64_t beat, struct memory_segment *out)
{
	struct fold fold = fold_of(hw, p, &flight->plan, f);
	uint64_t end = begin + result_part(hw, &flight->plan, &fold);
	struct memory_walk walk = tile_of_d(p, fold.m0, fold.m, fold.n0, fold.n, writes_columns(hw));
	if (p->accumulate || !fold.first_k)
		add(out, walk, beat, begin, end);
	walk.write = true;
	add(out, walk, beat, begin, end);
	if (p->group && hw->matrix.dataflow == HW_DATAFLOW_OS)
		add(out, row_of_scales(p, fold.k0, fold.n0, fold.n), beat, begin, begin + flight->plan.results);
}

void flight_segment(const struct hw *hw, const struct npu_insn *insn, const struct flight *flight, uint64_t beat,
		    struct memory_segment *out)
{
	const struct npu_matmul *p = &insn->matmul;
	const struct matrix_plan *plan = &flight->plan;
	uint64_t f;

	if (plan->load && flight->overlapped) {
		segment_until(out, beat, flight->load);
		segment_until(out, beat, flight->load + plan->load);
		if (beat >= flight->load && beat < flight->load + plan->load)
			add_load(hw, p, flight, 0, flight->load, beat, out);
		uint64_t loads = flight->first + plan->load_after;
		if (fold_at(loads, plan->period, plan->load, plan->folds - 1, beat, out, &f))
			add_load(hw, p, flight, f + 1, loads + f * plan->period, beat, out);
	} else if (plan->load) {
		if (fold_at(flight->load, plan->period, plan->load, plan->folds, beat, out, &f))
			add_load(hw, p, flight, f, flight->load + f * plan->period, beat, out);
	}
	if (fold_at(flight->first, plan->period, plan->stream, plan->folds, beat, out, &f))
		add_stream(hw, p, flight, f, beat, out);
	if (flight->late && fold_at(flight->results_free, plan->results, plan->results, flight->late, beat, out, &f))
		add_results(hw, p, flight, f, flight->results_free + f * plan->results, beat, out);
	uint64_t in_time = flight->results + flight->late * plan->period;
	if (fold_at(in_time, plan->period, plan->results, plan->folds - flight->late, beat, out, &f))
		add_results(hw, p, flight, flight->late + f, in_time + f * plan->period, beat, out);
}
