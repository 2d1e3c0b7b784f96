/* SPDX-License-Identifier: Apache-2.0 */
/* O = P V for each head, P from DRAM.
 *
 *   for h in heads
 *     for i in tiles of seq_q
 *       for j in tiles of seq
 *         load    p = P[h, i, j], v = V[h, j]
 *         matmul  acc (+)= p v
 *       vcopy   o = acc
 *       store   O[h, i] = o
 *
 * With seq = 0 there are only stores, of zeros.
 *
 * p and v are a ping-pong pair of pairs, acc and o one each. On a large array a half of p and v is a panel of several
 * tiles. */
#include "kernels/attn.h"
#include "kernels/kernels.h"
#include "kernels/params.h"
#include "kernels/pingpong.h"
#include "kernels/tiles.h"
#include "kernels/zeros.h"

static const struct npu_param params[] = {
	PARAM_SEQ,    PARAM_SEQ_Q,  PARAM_HEADS,   PARAM_KV_HEADS,  PARAM_HEAD_DIM,
	PARAM_FLOATS, PARAM_TILE_Q, PARAM_TILE_KV, PARAM_BUFFERING,
};

struct pv {
	struct npu_builder *b;
	const struct attn *a;
	struct ring pv; /* p, and the semaphores of p and v together */
	uint32_t v_at[RING_BUFFERS];
	struct ring acc, o;
	struct zeros zeros; /* instead of all these where no row of tiles has keys */
};

/* Rows of tiles that have keys, of all heads, and those that have none: the first ones. */
static uint64_t rows_with_keys(const struct attn *a)
{
	return a->seq ? a->heads * tiles_of(a->seq_q - attn_first_row(a), a->tile_q) : 0;
}
static uint64_t rows_without(const struct attn *a)
{
	return a->heads * tiles_of(a->seq ? attn_first_row(a) : a->seq_q, a->tile_q);
}

bool pv_has_both(const struct attn *a)
{
	return rows_with_keys(a) && rows_without(a);
}

bool pv_place_zeros(struct npu_builder *b, const struct attn *a, struct zeros *zeros)
{
	const struct npu_request request = zeros_request(zeros, a->tile_q * a->dim * a->bytes);
	return !rows_without(a) || npu_place(b, &request, 1);
}

static bool place(struct pv *p)
{
	const struct attn *a = p->a;
	uint64_t probs = a->tile_q * a->tile_kv * a->bytes, v = a->tile_kv * a->dim * a->bytes;
	uint64_t acc = a->tile_q * a->dim * 4, o = a->tile_q * a->dim * a->bytes;
	uint64_t rows = rows_with_keys(a);
	const struct npu_capacity *capacity = npu_builder_capacity(p->b);
	uint64_t turns = a->skip ? attn_few_tiles(a, attn_first_row(a)) : rows * tiles_of(a->seq, a->tile_kv);
	unsigned n = load_slots(a->buffers, turns), results = result_slots(a->buffers, rows);
	uint64_t steps = tile_steps(capacity, a->tile_q, a->tile_q, a->dim, a->dim, a->tile_kv, a->tile_kv);
	unsigned panel = tile_panel(capacity, steps, turns, n, probs + v, results * o),
		 fewest = panel > 1 ? n * panel : 1;
	if (!rows)
		return pv_place_zeros(p->b, a, &p->zeros);
	/* The halves of a pair lie in neighbouring groups, the operands of the product two groups apart. */
	const struct npu_request requests[] = {
		{ "p", false, probs, n * panel, 0, p->pv.at, .least = fewest, .got = &p->pv.n },
		{ "v", false, v, n * panel, 2, p->v_at, .least = fewest, .pair = true },
		{ "acc", true, acc, results, -1, p->acc.at, .least = 1, .got = &p->acc.n },
		{ "o", false, o, results, 2, p->o.at, .least = 1, .got = &p->o.n },
	};
	if (!npu_place(p->b, requests, 4))
		return false;
	ring_panels(&p->pv, panel);
	return true;
}

static void release(const struct pv *p)
{
	if (!rows_with_keys(p->a)) {
		if (rows_without(p->a))
			npu_release(p->b, p->zeros.at);
		return;
	}
	ring_release(p->b, &p->pv);
	for (unsigned i = 0; i < p->pv.n * p->pv.panel; i++)
		npu_release(p->b, p->v_at[i]);
	ring_release(p->b, &p->acc);
	ring_release(p->b, &p->o);
}

bool pv_fits(struct npu_builder *b, const struct attn *a)
{
	struct pv p = { .b = b, .a = a };
	bool ok = place(&p);
	if (ok)
		release(&p);
	return ok;
}

/* The products of one row of tiles, into acc. */
static void multiply_row(const struct pv *p, const struct attn_tensors *t, uint64_t h, uint64_t i, uint32_t rows,
			 struct slot acc, uint64_t *tile)
{
	const struct attn *a = p->a;
	struct attn_keys seen = attn_tile_keys(a, i);
	for (uint64_t j = seen.first; j < seen.end; j += a->tile_kv, ++*tile) {
		uint32_t keys = (uint32_t)least(a->tile_kv, seen.end - j);
		struct slot pv = ring_at(&p->pv, *tile);
		uint32_t v_at = p->v_at[pv.index];
		struct npu_dma load_p = attn_block(a, t->P, a->type, pv.at, h, i, rows, j, keys);
		struct npu_dma load_v = attn_kv_rows(a, t->V, v_at, h, j, keys);
		struct npu_matmul product = {
			.dst = acc.at,
			.a = pv.at,
			.b = v_at,
			.m = rows,
			.n = (uint32_t)a->dim,
			.k = keys,
			.a_type = a->type,
			.b_type = a->type,
			.accumulate = j > seen.first,
			.masked = attn_masked_macs(a, i, rows, j, keys),
		};
		struct npu_order order = {
			.wait = { pv.full, j == seen.first ? acc.free : NPU_NO_SEMAPHORE },
			.post = { pv.give, j + keys == seen.end ? acc.full : NPU_NO_SEMAPHORE },
		};

		/* Loads end in queue order: when v is there, so is p. */
		npu_emit(p->b, &(struct npu_insn){ .op = NPU_OP_LOAD, .dma = load_p },
			 &(struct npu_order){ .wait = { pv.take } });
		npu_emit(p->b, &(struct npu_insn){ .op = NPU_OP_LOAD, .dma = load_v },
			 &(struct npu_order){ .post = { pv.full } });
		npu_emit(p->b, &(struct npu_insn){ .op = NPU_OP_MATMUL, .matmul = product }, &order);
	}
}

void pv_store_zeros(struct npu_builder *b, const struct attn *a, const struct attn_tensors *t, struct zeros *zeros)
{
	uint64_t end = a->seq ? attn_first_row(a) : a->seq_q;
	zeros_fill(b, zeros, a->tile_q * a->dim * a->bytes, NPU_NO_SEMAPHORE);
	for (uint64_t h = 0; h < a->heads; h++)
		for (uint64_t i = 0; i < end && !npu_builder_failed(b); i += a->tile_q)
			zeros_store(b, zeros, attn_q_rows(a, t->O, 0, h, i, (uint32_t)least(a->tile_q, end - i)),
				    NPU_NO_SEMAPHORE);
}

bool pv_phase(struct npu_builder *b, const struct attn *a, const struct attn_tensors *t, struct attn_phase phase)
{
	struct pv p = { .b = b, .a = a };
	uint64_t row = 0, tile = 0, all_rows = rows_with_keys(a);

	if (!a->seq_q)
		return !npu_builder_failed(b);
	if (!place(&p))
		return false;
	if (!all_rows) {
		pv_store_zeros(b, a, t, &p.zeros);
		release(&p);
		return !npu_builder_failed(b);
	}
	ring_init(b, &p.pv, "pv");
	ring_init(b, &p.acc, "acc");
	ring_init(b, &p.o, "o");
	if (phase.after.count)
		npu_emit(b, &(struct npu_insn){ .op = NPU_OP_SYNC_LOAD },
			 &(struct npu_order){ .wait = { phase.after } });

	for (uint64_t h = 0; h < a->heads; h++)
		for (uint64_t i = attn_first_row(a); i < a->seq_q && !npu_builder_failed(b); i += a->tile_q, row++) {
			uint32_t rows = (uint32_t)least(a->tile_q, a->seq_q - i);
			struct slot acc = ring_at(&p.acc, row), o = ring_at(&p.o, row);
			struct npu_un copy = {
				.dst = o.at,
				.a = acc.at,
				.scale = 1,
				.rows = rows,
				.cols = (uint32_t)a->dim,
				.dst_type = a->type,
				.a_type = NPU_FP32,
			};
			struct npu_dma store = attn_q_rows(a, t->O, o.at, h, i, rows);
			struct npu_semaphore done = row + 1 == all_rows ? phase.done : NPU_NO_SEMAPHORE;

			npu_region(b, "head %u, q tile %u", (unsigned)h, (unsigned)(i / a->tile_q));
			multiply_row(&p, t, h, i, rows, acc, &tile);
			npu_emit(b, &(struct npu_insn){ .op = NPU_OP_VCOPY, .un = copy },
				 &(struct npu_order){ .wait = { acc.full, o.free }, .post = { acc.free, o.full } });
			npu_emit(b, &(struct npu_insn){ .op = NPU_OP_STORE, .dma = store },
				 &(struct npu_order){ .wait = { o.full }, .post = { o.free, done } });
			npu_region_end(b);
		}
	release(&p);
	return !npu_builder_failed(b);
}

/* P once; V once for every row of tiles, as far as tiles are not left out. Three instructions a tile, a copy and a store
 * for each row. */
struct npu_expect pv_expect(const struct attn *a)
{
	struct attn_work w = attn_work(a, attn_first_row(a));
	uint64_t zeros = rows_without(a);
	return (struct npu_expect){
		.macs = a->heads * w.positions * a->dim,
		.useful_macs = a->heads * npu_mask_seen(&a->mask) * a->dim,
		.dram_read_bytes = a->heads * (w.positions + w.keys * a->dim) * a->bytes,
		.dram_write_bytes = a->heads * a->seq_q * a->dim * a->bytes,
		/* Of zeros only the stores, and what makes them. */
		.instructions = 2 * rows_with_keys(a) + 3 * a->heads * w.tiles + zeros + (zeros > 0),
	};
}

struct tile_cost pv_cost(const struct npu_capacity *c, const struct attn *a)
{
	uint64_t down = tiles_of(a->seq_q, a->tile_q);
	return (struct tile_cost){
		.dram = a->heads * (tile_traffic(a->seq_q, a->seq * a->bytes, a->tile_kv * a->bytes, c->dram_granule) +
				    (down * a->seq + a->seq_q) * a->dim * a->bytes),
		.array = a->heads * tile_steps(c, a->seq_q, a->tile_q, a->dim, a->dim, a->seq, a->tile_kv),
	};
}

static struct tile_cost cost(const struct npu_capacity *capacity, const struct npu_args *args)
{
	struct attn a = attn_of(&npu_pv_tiled, args);
	return pv_cost(capacity, &a);
}

static bool try_place(struct npu_builder *b, const struct npu_args *args)
{
	struct attn a = attn_of(&npu_pv_tiled, args);
	return pv_fits(b, &a);
}

static bool resolve(const struct npu_capacity *capacity, struct npu_args *args, struct npu_error *err)
{
	return attn_resolve(&npu_pv_tiled, capacity, args, try_place, cost, NO_WIDE_TILES, err);
}

static bool emit(struct npu_builder *b, const struct npu_args *args)
{
	struct attn a = attn_of(&npu_pv_tiled, args);
	struct attn_tensors t = { 0 };
	t.P = attn_scores(b, &a, "P", a.type, NPU_TENSOR_IN);
	t.V = attn_kv(b, &a, "V");
	t.O = attn_o(b, &a);
	return pv_phase(b, &a, &t, (struct attn_phase){ 0 });
}

static struct npu_expect expect(const struct npu_args *args)
{
	struct attn a = attn_of(&npu_pv_tiled, args);
	return pv_expect(&a);
}

static bool reference(const struct npu_args *args, struct npu_reference_io *io)
{
	struct attn a = attn_of(&npu_pv_tiled, args);
	const double *P = npu_reference_read(io, "P", a.heads * a.seq_q * a.seq);
	const double *V = npu_reference_read(io, "V", a.kv_heads * a.seq * a.dim);
	double *O = npu_reference_write(io, "O", a.heads * a.seq_q * a.dim);
	if (!P || !V || !O)
		return false;
	for (uint64_t h = 0; h < a.heads; h++)
		npu_reference_matmul(a.seq_q, a.dim, a.seq, P + h * a.seq_q * a.seq,
				     V + attn_kv_head(&a, h) * a.seq * a.dim, false, O + h * a.seq_q * a.dim);
	return true;
}

const struct npu_kernel npu_pv_tiled = {
	.name = "pv_tiled",
	.summary = "O = P V for each head, P streamed from DRAM",
	PARAMS_OF(params),
	.resolve = resolve,
	.emit = emit,
	.expect = expect,
	.reference = reference,
};
