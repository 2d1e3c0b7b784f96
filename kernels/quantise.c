/* SPDX-License-Identifier: Apache-2.0 */
/* Q, S = quantised X: each group of a row becomes integers and the fp16 scale that they share, max|x| / largest integer.
 *
 *   for i in tiles of rows
 *     load    x = X[i ...]
 *     vquant  q, s = x
 *     store   Q[i ...] = q
 *     store   S[i ...] = s
 *
 * x and the pair of q and s are ping-pong pairs. */
#include "kernels/kernels.h"
#include "kernels/params.h"
#include "kernels/pingpong.h"
#include "kernels/reference.h"
#include "kernels/tiles.h"

#include <string.h>

enum { ROWS, COLS, TO, GROUP, TILE_ROWS, BUFFERING };
enum { MOST_TILE_BYTES = 32 << 10 };

static const char *const types[] = { "int8", "int4", NULL };

static const struct npu_param params[] = {
	[ROWS] = PARAM_INT("rows", 512, 0, MAX_LENGTH, "row", "rows of X and Q: tokens"),
	[COLS] = PARAM_INT("cols", 576, 1, MAX_LENGTH, "element", "elements a row"),
	[TO] = PARAM_CHOICE("to", 0, types, "type of Q"),
	[GROUP] = PARAM_INT("group", 64, 0, 4095, "element", "elements of a row that share a scale; 0: all of them"),
	[TILE_ROWS] = PARAM_TILE("tile_rows", "whole rows at a time"),
	[BUFFERING] = PARAM_BUFFERING,
};

struct quantise {
	uint64_t rows, cols, group, groups, tile;
	unsigned buffers;
	enum npu_dtype type;
	uint64_t row_bytes; /* of Q */

	struct npu_builder *b;
	struct ring x, q; /* q: with the semaphores of s */
	uint32_t s[RING_SLOTS];
};

static struct quantise quantise_of(const struct npu_args *args)
{
	const int64_t *v = args->value;
	struct quantise q = { .rows = (uint64_t)v[ROWS], .cols = (uint64_t)v[COLS], .group = (uint64_t)v[GROUP] };
	q.groups = q.group ? tiles_of(q.cols, q.group) : 1;
	q.tile = tile_within((uint64_t)v[TILE_ROWS], q.rows);
	q.buffers = (unsigned)v[BUFFERING] + 1;
	q.type = v[TO] ? NPU_INT4 : NPU_INT8;
	q.row_bytes = npu_dtype_bytes(q.type, q.cols);
	return q;
}

static bool place(struct quantise *q)
{
	uint64_t tiles = tiles_of(q->rows, q->tile);
	unsigned n = load_slots(q->buffers, tiles), results = result_slots(q->buffers, tiles);
	const struct npu_request requests[] = {
		{ "x", false, q->tile * q->cols * 2, n, 0, q->x.at, .least = 1, .got = &q->x.n },
		{ "q", false, q->tile * q->row_bytes, results, 2, q->q.at, .least = 1, .got = &q->q.n },
		{ "s", false, q->tile * q->groups * 2, results, 3, q->s, .least = 1, .pair = true },
	};
	return !tiles || npu_place(q->b, requests, 3);
}

static bool try_place(struct npu_builder *b, const struct npu_args *args)
{
	struct quantise q = quantise_of(args);
	q.b = b;
	return place(&q);
}

/* Everything passes once. */
static struct npu_expect expect(const struct npu_args *args)
{
	struct quantise q = quantise_of(args);
	return (struct npu_expect){
		.dram_read_bytes = q.rows * q.cols * 2,
		.dram_write_bytes = q.rows * (q.row_bytes + q.groups * 2),
		.instructions = 4 * tiles_of(q.rows, q.tile),
	};
}

static struct tile_cost cost(const struct npu_capacity *capacity, const struct npu_args *args)
{
	struct npu_expect e = expect(args);
	(void)capacity;
	return (struct tile_cost){ .dram = e.dram_read_bytes + e.dram_write_bytes };
}

static bool resolve(const struct npu_capacity *capacity, struct npu_args *args, struct npu_error *err)
{
	if (!npu_args_check(&npu_quantise, args, err))
		return false;
	struct quantise q = quantise_of(args);
	uint64_t rows = 1;
	if (q.type == NPU_INT4 && q.cols % 2)
		return npu_fail(err, NPU_ERR_VALUE, "cols=%u: must be a multiple of 2 with to=int4", (unsigned)q.cols);
	while (2 * rows * q.cols * 2 <= MOST_TILE_BYTES && rows < TILE_LARGEST)
		rows *= 2;
	const struct tile_dim dims[] = { { "tile_rows", least(q.rows, rows), 0 } };
	return tiles_resolve(&npu_quantise, capacity, args, dims, 1, try_place, cost, err);
}

static void move(const struct quantise *q, enum npu_op op, uint32_t local, uint64_t dram, uint64_t rows, uint64_t cols,
		 enum npu_dtype type, struct npu_order order)
{
	struct npu_dma dma = { .local = local, .dram = dram, .rows = (uint32_t)rows, .cols = (uint32_t)cols };
	dma.dtype = type;
	npu_emit(q->b, &(struct npu_insn){ .op = (uint8_t)op, .dma = dma }, &order);
}

/* Stores end in queue order: when s is there, so is q. */
static bool emit(struct npu_builder *b, const struct npu_args *args)
{
	struct quantise q = quantise_of(args);
	q.b = b;
	struct npu_dram X = npu_tensor(b, "X", NPU_FP16, NPU_TENSOR_IN, 2, (uint64_t[]){ q.rows, q.cols });
	struct npu_dram Q = npu_tensor(b, "Q", q.type, NPU_TENSOR_OUT, 2, (uint64_t[]){ q.rows, q.cols });
	struct npu_dram S = npu_tensor(b, "S", NPU_FP16, NPU_TENSOR_OUT, 2, (uint64_t[]){ q.rows, q.groups });
	if (!q.rows)
		return !npu_builder_failed(b);
	if (!place(&q))
		return false;
	ring_init(b, &q.x, "x");
	ring_init(b, &q.q, "q");
	for (uint64_t i = 0, tile = 0; i < q.rows && !npu_builder_failed(b); i += q.tile, tile++) {
		struct slot x = ring_at(&q.x, tile), out = ring_at(&q.q, tile);
		uint64_t rows = least(q.tile, q.rows - i);
		struct npu_quant quantise = {
			.dst = out.at,
			.a = x.at,
			.scales = q.s[tile % q.q.n],
			.rows = (uint32_t)rows,
			.cols = (uint32_t)q.cols,
			.group = (uint32_t)q.group,
			.scale = q.group ? NPU_SCALE_GROUP : NPU_SCALE_ROW,
			.dst_type = q.type,
			.a_type = NPU_FP16,
			.scale_type = NPU_FP16,
			.dynamic = 1,
		};
		move(&q, NPU_OP_LOAD, x.at, X.addr + i * q.cols * 2, rows, q.cols, NPU_FP16,
		     (struct npu_order){ .wait = { x.free }, .post = { x.full } });
		npu_emit(b, &(struct npu_insn){ .op = NPU_OP_VQUANT, .quant = quantise },
			 &(struct npu_order){ .wait = { x.full, out.free }, .post = { x.free, out.full } });
		move(&q, NPU_OP_STORE, out.at, Q.addr + i * q.row_bytes, rows, q.cols, q.type,
		     (struct npu_order){ .wait = { out.full } });
		move(&q, NPU_OP_STORE, quantise.scales, S.addr + i * q.groups * 2, rows, q.groups, NPU_FP16,
		     (struct npu_order){ .post = { out.free } });
	}
	return !npu_builder_failed(b);
}

static bool reference(const struct npu_args *args, struct npu_reference_io *io)
{
	struct quantise q = quantise_of(args);
	const double *X = npu_reference_read(io, "X", q.rows * q.cols);
	double *Q = npu_reference_write(io, "Q", q.rows * q.cols), *S = npu_reference_write(io, "S", q.rows * q.groups);
	uint64_t group = q.group ? q.group : q.cols;
	for (uint64_t i = 0; X && Q && S && i < q.rows; i++)
		for (uint64_t g = 0; g < q.groups; g++) {
			uint64_t at = i * q.cols + g * group;
			S[i * q.groups + g] = npu_reference_quantise(q.type, X + at, least(group, q.cols - g * group), Q + at);
		}
	return X && Q && S;
}

/* Quotients of two fp16 lie too far from ties to depend on fp32. */
static bool bound(const struct npu_args *args, const struct npu_reference_io *io, double exp_error, const char *tensor,
		  double *bound)
{
	struct quantise q = quantise_of(args);
	(void)io, (void)exp_error;
	memset(bound, 0, q.rows * (strcmp(tensor, "S") ? q.cols : q.groups) * sizeof *bound);
	return true;
}

const struct npu_kernel npu_quantise = {
	.name = "quantise",
	.summary = "rows become integers and their scales",
	PARAMS_OF(params),
	.resolve = resolve,
	.emit = emit,
	.expect = expect,
	.reference = reference,
	.bound = bound,
};
