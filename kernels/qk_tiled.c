/* SPDX-License-Identifier: Apache-2.0 */
/* S = Q K^T for each head, scores stored straight from the accumulators.
 *
 *   for h in heads
 *     for i in tiles of seq_q
 *       load    q = Q[h, i]
 *       for j in tiles of seq
 *         load    k = K[h, j]
 *         matmul  s = q k^T
 *         store   S[h, i, j] = s
 *
 * q, k and s are ping-pong pairs: tile j + 1 loads while tile j multiplies and tile j - 1 is stored. k lies in SRAM as
 * DRAM holds it, [keys, dim], and the array turns it; on an array that cannot, the load does. */
#include "kernels/attn.h"
#include "kernels/kernels.h"
#include "kernels/params.h"
#include "kernels/pingpong.h"

static const struct npu_param params[] = {
	PARAM_SEQ,      PARAM_SEQ_Q,  PARAM_HEADS,   PARAM_KV_HEADS,  PARAM_HEAD_DIM,
	PARAM_OPERANDS, PARAM_TILE_Q, PARAM_TILE_KV, PARAM_BUFFERING,
};

struct qk {
	struct npu_builder *b;
	const struct attn *a;
	struct qk_operands in;
	struct ring s;
};

static bool place(struct qk *p)
{
	const struct attn *a = p->a;
	uint64_t rows = a->heads * tiles_of(a->seq_q - a->unscored, a->tile_q), tiles = attn_few_tiles(a, a->unscored);
	uint64_t q = a->tile_q * a->dim * a->bytes, k = a->tile_kv * a->dim * a->bytes, s = a->tile_q * a->tile_kv * 4;
	/* The halves of a pair lie in neighbouring groups, the operands of the product two groups apart. */
	const struct npu_request requests[] = {
		{ "k", false, k, load_slots(a->buffers, tiles), 0, p->in.k.at, .least = 1, .got = &p->in.k.n },
		{ "q", false, q, load_slots(a->buffers, rows), 2, p->in.q, .least = 1, .got = &p->in.nq },
		{ "s", true, s, result_slots(a->buffers, tiles), -1, p->s.at, .least = 1, .got = &p->s.n },
	};
	return npu_place(p->b, requests, 3);
}

static void release(const struct qk *p)
{
	for (unsigned i = 0; i < p->in.nq; i++)
		npu_release(p->b, p->in.q[i]);
	ring_release(p->b, &p->in.k);
	ring_release(p->b, &p->s);
}

bool qk_fits(struct npu_builder *b, const struct attn *a)
{
	struct qk p = { .b = b, .a = a };
	if (a->unscored == a->seq_q || !a->seq)
		return true;
	bool ok = place(&p);
	if (ok)
		release(&p);
	return ok;
}

static enum npu_dtype score_type(const struct attn *a)
{
	return a->type == NPU_INT8 ? NPU_INT32 : NPU_FP32;
}

bool qk_phase(struct npu_builder *b, const struct attn *a, const struct attn_tensors *t, struct attn_phase phase)
{
	struct qk p = { .b = b, .a = a };
	uint64_t row = 0, tile = 0, rows_of_tiles = a->heads * tiles_of(a->seq_q - a->unscored, a->tile_q);

	if (!rows_of_tiles || !a->seq)
		return !npu_builder_failed(b);
	if (!place(&p))
		return false;
	ring_init(b, &p.in.k, "k");
	ring_init(b, &p.s, "s");
	if (p.in.k.n > 1)
		p.in.turn = loads_in_turn(b, 2, a->tile_kv * a->dim * a->bytes);
	if (phase.after.count)
		npu_emit(b, &(struct npu_insn){ .op = NPU_OP_SYNC_LOAD },
			 &(struct npu_order){ .wait = { phase.after } });

	for (uint64_t h = 0; h < a->heads; h++)
		for (uint64_t i = a->unscored; i < a->seq_q && !npu_builder_failed(b); i += a->tile_q, row++) {
			uint32_t rows = (uint32_t)least(a->tile_q, a->seq_q - i), q_at = p.in.q[row % p.in.nq];
			struct attn_keys seen = attn_tile_keys(a, i);
			npu_region(b, "head %u, q tile %u", (unsigned)h, (unsigned)(i / a->tile_q));
			for (uint64_t j = seen.first; j < seen.end; j += a->tile_kv, tile++) {
				uint32_t keys = (uint32_t)least(a->tile_kv, seen.end - j);
				struct slot k = ring_at(&p.in.k, tile), s = ring_at(&p.s, tile);
				struct npu_matmul product = {
					.dst = s.at,
					.a = q_at,
					.b = k.at,
					.m = rows,
					.n = keys,
					.k = (uint32_t)a->dim,
					.a_type = a->type,
					.b_type = a->type,
					.transpose_b = attn_array_turns_k(b),
					.masked = attn_masked_macs(a, i, rows, j, keys),
				};
				struct npu_dma scores = attn_block(a, t->S, score_type(a), s.at, h, i, rows, j, keys);
				bool last = row + 1 == rows_of_tiles && j + keys == seen.end;
				struct npu_semaphore done = last ? phase.done : NPU_NO_SEMAPHORE;

				load_qk(b, &p.in, attn_q_rows(a, t->Q, q_at, h, i, rows),
					attn_k_rows(b, a, t->K, k.at, h, j, keys), j == seen.first, row, tile);
				npu_emit(b, &(struct npu_insn){ .op = NPU_OP_MATMUL, .matmul = product },
					 &(struct npu_order){ .wait = { k.full, s.free }, .post = { k.free, s.full } });
				npu_emit(b, &(struct npu_insn){ .op = NPU_OP_STORE, .dma = scores },
					 &(struct npu_order){ .wait = { s.full }, .post = { s.free, done } });
			}
			npu_region_end(b);
		}
	release(&p);
	return !npu_builder_failed(b);
}

/* Q once; K once for every row of tiles, as far as tiles are not left out. Three instructions a tile, and the load of q
 * for each row. */
struct npu_expect qk_expect(const struct attn *a)
{
	uint64_t scored = a->seq_q - a->unscored;
	if (!a->seq)
		return (struct npu_expect){ 0 };
	struct attn_work w = attn_work(a, a->unscored);
	return (struct npu_expect){
		.macs = a->heads * w.positions * a->dim,
		.useful_macs = a->heads * npu_mask_seen(&a->mask) * a->dim,
		.dram_read_bytes = a->heads * (scored + w.keys) * a->dim * a->bytes,
		.dram_write_bytes = a->heads * w.positions * 4,
		.instructions = a->heads * (w.rows + 3 * w.tiles),
	};
}

struct tile_cost qk_cost(const struct npu_capacity *c, const struct attn *a)
{
	uint64_t down = tiles_of(a->seq_q, a->tile_q);
	return (struct tile_cost){
		.dram = a->heads * (tile_traffic(a->seq_q, a->seq * 4, a->tile_kv * 4, c->dram_granule) +
				    (down * a->seq + a->seq_q) * a->dim * a->bytes),
		.array = a->heads * tile_steps(c, a->seq_q, a->tile_q, a->seq, a->tile_kv, a->dim, a->dim),
	};
}

static struct tile_cost cost(const struct npu_capacity *capacity, const struct npu_args *args)
{
	struct attn a = attn_of(&npu_qk_tiled, args);
	return qk_cost(capacity, &a);
}

static bool try_place(struct npu_builder *b, const struct npu_args *args)
{
	struct attn a = attn_of(&npu_qk_tiled, args);
	return qk_fits(b, &a);
}

static bool resolve(const struct npu_capacity *capacity, struct npu_args *args, struct npu_error *err)
{
	return attn_resolve(&npu_qk_tiled, capacity, args, try_place, cost, NO_WIDE_TILES, err);
}

static bool emit(struct npu_builder *b, const struct npu_args *args)
{
	struct attn a = attn_of(&npu_qk_tiled, args);
	struct attn_tensors t = { .Q = attn_q(b, &a), .K = attn_kv(b, &a, "K") };
	t.S = attn_scores(b, &a, "S", score_type(&a), NPU_TENSOR_OUT);
	return qk_phase(b, &a, &t, (struct attn_phase){ 0 });
}

static struct npu_expect expect(const struct npu_args *args)
{
	struct attn a = attn_of(&npu_qk_tiled, args);
	return qk_expect(&a);
}

static bool reference(const struct npu_args *args, struct npu_reference_io *io)
{
	struct attn a = attn_of(&npu_qk_tiled, args);
	const double *Q = npu_reference_read(io, "Q", a.heads * a.seq_q * a.dim);
	const double *K = npu_reference_read(io, "K", a.kv_heads * a.seq * a.dim);
	double *S = npu_reference_write(io, "S", a.heads * a.seq_q * a.seq);
	if (!Q || !K || !S)
		return false;
	for (uint64_t h = 0; h < a.heads; h++)
		npu_reference_matmul(a.seq_q, a.seq, a.dim, Q + h * a.seq_q * a.dim,
				     K + attn_kv_head(&a, h) * a.seq * a.dim, true, S + h * a.seq_q * a.seq);
	return true;
}

const struct npu_kernel npu_qk_tiled = {
	.name = "qk_tiled",
	.summary = "S = Q K^T for each head, fp32 scores stored from the accumulators",
	PARAMS_OF(params),
	.resolve = resolve,
	.emit = emit,
	.expect = expect,
	.reference = reference,
};
