/* SPDX-License-Identifier: Apache-2.0 */
/* C = A B with A[m,k] and B[k,n] streamed from DRAM tile by tile; C is fp16 or bf16 as they are, int32 for int8.
 *
 *   for i in tiles of m
 *     for j in tiles of n
 *       for l in tiles of k
 *         load    a = A[i, l], b = B[l, j]
 *         matmul  acc (+)= a b
 *       vcopy   c = acc              int8: acc is stored as it is
 *       store   C[i, j] = c
 *
 * With k = 0 there are only stores, of zeros.
 *
 * a and b are a ping-pong pair of pairs, acc and c one each: the loads of step s + 1, the product of step s, and
 * conversion and store of the tile before run at the same time. On a large array a half of a and b is a panel of
 * several tiles. */
#include "kernels/kernels.h"
#include "kernels/params.h"
#include "kernels/pingpong.h"
#include "kernels/reference.h"
#include "kernels/tiles.h"
#include "kernels/zeros.h"

enum { M, N, K, DTYPE, TILE_M, TILE_N, TILE_K, BUFFERING };

static const struct npu_param params[] = {
	[M] = PARAM_INT("m", 512, 0, MAX_LENGTH, "row", "rows of A and C"),
	[N] = PARAM_INT("n", 512, 0, MAX_LENGTH, "column", "columns of B and C"),
	[K] = PARAM_INT("k", 512, 0, MAX_LENGTH, "element", "columns of A, rows of B"),
	[DTYPE] = PARAM_OPERANDS,
	[TILE_M] = PARAM_TILE("tile_m", "rows of a tile of A and C"),
	[TILE_N] = PARAM_TILE("tile_n", "columns of a tile of B and C"),
	[TILE_K] = PARAM_TILE("tile_k", "columns of a tile of A, rows of a tile of B"),
	[BUFFERING] = PARAM_BUFFERING,
};

/* The parameters, resolved, and what the program is made of. */
struct gemm {
	uint64_t m, n, k;
	uint64_t tile_m, tile_n, tile_k; /* no larger than the dimension, but 1 where that is 0 */
	unsigned buffers;
	enum npu_dtype in, out;
	uint64_t in_bytes, out_bytes; /* an element */

	struct npu_builder *b;
	struct npu_dram A, B, C;
	struct ring ab; /* a, and the semaphores of a and b together */
	uint32_t b_at[RING_BUFFERS];
	struct ring acc;
	struct ring c; /* unused for int8 */
	struct zeros zeros; /* instead of all these where k is 0 */
};

/* One product: a tile of C and a tile of k. */
struct step {
	uint64_t i, j, l; /* first row, column and element of k */
	uint32_t m, n, k;
	bool first, last; /* of k */
	struct slot ab, acc, c;
	uint32_t b_at;
};

static struct gemm gemm_of(const struct npu_args *args)
{
	const int64_t *v = args->value;
	struct gemm g = { .m = (uint64_t)v[M], .n = (uint64_t)v[N], .k = (uint64_t)v[K] };
	g.buffers = (unsigned)v[BUFFERING] + 1;
	g.tile_m = tile_within((uint64_t)v[TILE_M], g.m);
	g.tile_n = tile_within((uint64_t)v[TILE_N], g.n);
	g.tile_k = tile_within((uint64_t)v[TILE_K], g.k);
	g.in = dtype_of(v[DTYPE]);
	g.out = g.in == NPU_INT8 ? NPU_INT32 : g.in;
	g.in_bytes = npu_dtype_bytes(g.in, 1);
	g.out_bytes = npu_dtype_bytes(g.out, 1);
	return g;
}

static bool place(struct gemm *g)
{
	uint64_t a = g->tile_m * g->tile_k * g->in_bytes, b = g->tile_k * g->tile_n * g->in_bytes;
	uint64_t acc = g->tile_m * g->tile_n * 4, c = g->tile_m * g->tile_n * g->out_bytes;
	uint64_t tiles = tiles_of(g->m, g->tile_m) * tiles_of(g->n, g->tile_n);
	if (!tiles)
		return true;
	if (!g->k) {
		const struct npu_request zeros = zeros_request(&g->zeros, c);
		return npu_place(g->b, &zeros, 1);
	}
	const struct npu_capacity *capacity = npu_builder_capacity(g->b);
	uint64_t turns = tiles * tiles_of(g->k, g->tile_k);
	unsigned n = load_slots(g->buffers, turns), results = result_slots(g->buffers, tiles);
	uint64_t steps = tile_steps(capacity, g->tile_m, g->tile_m, g->tile_n, g->tile_n, g->tile_k, g->tile_k);
	unsigned panel = tile_panel(capacity, steps, turns, n, a + b, results * c), fewest = panel > 1 ? n * panel : 1;
	/* The halves of a pair lie in neighbouring groups, the operands of a product two groups apart. */
	const struct npu_request requests[] = {
		{ "a", false, a, n * panel, 0, g->ab.at, .least = fewest, .got = &g->ab.n },
		{ "b", false, b, n * panel, 2, g->b_at, .least = fewest, .pair = true },
		{ "acc", true, acc, results, -1, g->acc.at, .least = 1, .got = &g->acc.n },
		{ "c", false, c, results, 2, g->c.at, .least = 1, .got = &g->c.n },
	};
	if (!npu_place(g->b, requests, g->in == NPU_INT8 ? 3 : 4))
		return false;
	ring_panels(&g->ab, panel);
	return true;
}

static bool try_place(struct npu_builder *b, const struct npu_args *args)
{
	struct gemm g = gemm_of(args);
	g.b = b;
	return place(&g);
}

static struct tile_cost cost(const struct npu_capacity *c, const struct npu_args *args)
{
	struct gemm g = gemm_of(args);
	uint64_t down = tiles_of(g.m, g.tile_m), across = tiles_of(g.n, g.tile_n), size = g.in_bytes;
	uint64_t stores = tile_traffic(g.m, g.n * g.out_bytes, g.tile_n * g.out_bytes, c->dram_granule);
	bool waits = g.in == NPU_INT8 && 2 * g.tile_m * g.tile_n * g.out_bytes > c->limits.accum_bytes;
	/* Rows off the granule cost more than they count, above all stores. */
	bool whole = !c->dram_granule || (g.k * size % c->dram_granule == 0 && g.n * size % c->dram_granule == 0);
	return (struct tile_cost){
		.dram = across * tile_traffic(g.m, g.k * size, g.tile_k * size, c->dram_granule) +
			down * tile_traffic(g.k, g.n * size, g.tile_n * size, c->dram_granule) +
			stores,
		.array = tile_steps(c, g.m, g.tile_m, g.n, g.tile_n, g.k, g.tile_k),
		.second = waits && whole ? 2 * stores : 0,
	};
}

static bool resolve(const struct npu_capacity *capacity, struct npu_args *args, struct npu_error *err)
{
	const struct tile_dim dims[] = {
		{ "tile_m", (uint64_t)args->value[M], 0 },
		{ "tile_n", (uint64_t)args->value[N], 0 },
		{ "tile_k", (uint64_t)args->value[K], 0 },
	};
	if (!npu_args_check(&npu_gemm, args, err))
		return false;
	return tiles_resolve(&npu_gemm, capacity, args, dims, 3, try_place, cost, err);
}

/* Loads end in queue order: when b is there, so is a. */
static void load(const struct gemm *g, const struct step *s)
{
	struct npu_dma a = {
		.local = s->ab.at,
		.dram = g->A.addr + (s->i * g->k + s->l) * g->in_bytes,
		.rows = s->m,
		.cols = s->k,
		.dram_stride = (uint32_t)(g->k * g->in_bytes),
		.dtype = g->in,
	};
	struct npu_dma b = {
		.local = s->b_at,
		.dram = g->B.addr + (s->l * g->n + s->j) * g->in_bytes,
		.rows = s->k,
		.cols = s->n,
		.dram_stride = (uint32_t)(g->n * g->in_bytes),
		.dtype = g->in,
	};
	npu_emit(g->b, &(struct npu_insn){ .op = NPU_OP_LOAD, .dma = a },
		 &(struct npu_order){ .wait = { s->ab.take } });
	npu_emit(g->b, &(struct npu_insn){ .op = NPU_OP_LOAD, .dma = b },
		 &(struct npu_order){ .post = { s->ab.full } });
}

static void multiply(const struct gemm *g, const struct step *s)
{
	struct npu_matmul product = {
		.dst = s->acc.at,
		.a = s->ab.at,
		.b = s->b_at,
		.m = s->m,
		.n = s->n,
		.k = s->k,
		.a_type = g->in,
		.b_type = g->in,
		.accumulate = !s->first,
	};
	struct npu_order order = {
		.wait = { s->ab.full, s->first ? s->acc.free : NPU_NO_SEMAPHORE },
		.post = { s->ab.give, s->last ? s->acc.full : NPU_NO_SEMAPHORE },
	};
	npu_emit(g->b, &(struct npu_insn){ .op = NPU_OP_MATMUL, .matmul = product }, &order);
}

static void convert(const struct gemm *g, const struct step *s)
{
	struct npu_un copy = {
		.dst = s->c.at,
		.a = s->acc.at,
		.scale = 1,
		.rows = s->m,
		.cols = s->n,
		.dst_type = g->out,
		.a_type = NPU_FP32,
	};
	struct npu_order order = { .wait = { s->acc.full, s->c.free }, .post = { s->acc.free, s->c.full } };
	npu_emit(g->b, &(struct npu_insn){ .op = NPU_OP_VCOPY, .un = copy }, &order);
}

static void store(struct gemm *g, const struct step *s)
{
	struct slot from = g->in == NPU_INT8 ? s->acc : s->c;
	struct npu_dma c = {
		.local = from.at,
		.dram = g->C.addr + (s->i * g->n + s->j) * g->out_bytes,
		.rows = s->m,
		.cols = s->n,
		.dram_stride = (uint32_t)(g->n * g->out_bytes),
		.dtype = g->out,
	};
	struct npu_order order = { .wait = { from.full }, .post = { from.free } };
	if (g->k)
		npu_emit(g->b, &(struct npu_insn){ .op = NPU_OP_STORE, .dma = c }, &order);
	else
		zeros_store(g->b, &g->zeros, c, NPU_NO_SEMAPHORE);
}

static bool emit(struct npu_builder *b, const struct npu_args *args)
{
	struct gemm g = gemm_of(args);
	uint64_t step = 0, tile = 0;

	g.b = b;
	g.A = npu_tensor(b, "A", g.in, NPU_TENSOR_IN, 2, (uint64_t[]){ g.m, g.k });
	g.B = npu_tensor(b, "B", g.in, NPU_TENSOR_IN, 2, (uint64_t[]){ g.k, g.n });
	g.C = npu_tensor(b, "C", g.out, NPU_TENSOR_OUT, 2, (uint64_t[]){ g.m, g.n });
	if (!place(&g))
		return false;
	ring_init(b, &g.ab, "ab");
	ring_init(b, &g.acc, "acc");
	if (g.in != NPU_INT8)
		ring_init(b, &g.c, "c");
	if (!g.k && g.m && g.n)
		zeros_fill(b, &g.zeros, g.tile_m * g.tile_n * g.out_bytes, NPU_NO_SEMAPHORE);

	for (uint64_t i = 0; i < g.m && !npu_builder_failed(b); i += g.tile_m)
		for (uint64_t j = 0; j < g.n && !npu_builder_failed(b); j += g.tile_n, tile++) {
			struct step s = { .i = i, .j = j };
			s.acc = g.k ? ring_at(&g.acc, tile) : s.acc;
			s.m = (uint32_t)least(g.tile_m, g.m - i);
			s.n = (uint32_t)least(g.tile_n, g.n - j);
			npu_region(b, "tile %u,%u", (unsigned)(i / g.tile_m), (unsigned)(j / g.tile_n));
			for (s.l = 0; s.l < g.k; s.l += g.tile_k, step++) {
				s.k = (uint32_t)least(g.tile_k, g.k - s.l);
				s.first = s.l == 0;
				s.last = s.l + s.k == g.k;
				s.ab = ring_at(&g.ab, step);
				s.b_at = g.b_at[s.ab.index];
				load(&g, &s);
				multiply(&g, &s);
			}
			if (g.in != NPU_INT8 && g.k) {
				s.c = ring_at(&g.c, tile);
				convert(&g, &s);
			}
			store(&g, &s);
			npu_region_end(b);
		}
	return !npu_builder_failed(b);
}

/* A passes once for each column of tiles of C, B once for each row of them. */
static struct npu_expect expect(const struct npu_args *args)
{
	struct gemm g = gemm_of(args);
	uint64_t macs = g.m * g.n * g.k, tiles = tiles_of(g.m, g.tile_m) * tiles_of(g.n, g.tile_n);
	/* Two loads and a product a step; a store and, but for int8, a conversion a tile. */
	uint64_t each = 3 * tiles_of(g.k, g.tile_k) + (g.in == NPU_INT8 || !g.k ? 1 : 2);
	return (struct npu_expect){
		.macs = macs,
		.useful_macs = macs,
		.dram_read_bytes =
		    g.in_bytes * (tiles_of(g.n, g.tile_n) * g.m * g.k + tiles_of(g.m, g.tile_m) * g.k * g.n),
		.dram_write_bytes = g.out_bytes * g.m * g.n,
		.instructions = tiles * each + (tiles && !g.k), /* zeros are made by one */
	};
}

static bool reference(const struct npu_args *args, struct npu_reference_io *io)
{
	struct gemm g = gemm_of(args);
	const double *A = npu_reference_read(io, "A", g.m * g.k), *B = npu_reference_read(io, "B", g.k * g.n);
	double *C = npu_reference_write(io, "C", g.m * g.n);
	if (!A || !B || !C)
		return false;
	npu_reference_matmul(g.m, g.n, g.k, A, B, false, C);
	return true;
}

const struct npu_kernel npu_gemm = {
	.name = "gemm",
	.summary = "C = A B, tiles streamed through a ping-pong pair",
	PARAMS_OF(params),
	.resolve = resolve,
	.emit = emit,
	.expect = expect,
	.reference = reference,
};
