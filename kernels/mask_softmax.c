/* SPDX-License-Identifier: Apache-2.0 */
/* P = softmax(mask(scale S)) of each row, scale = 1 / sqrt(head_dim), from fp32 scores in DRAM.
 *
 *   for h in heads
 *     for i in tiles of seq_q (tile_rows)
 *       load    scores = S[h, i, :]                 whole rows
 *       fused=1   vsoftmax  probs = softmax(mask(scale scores))
 *       fused=0   vmul      scores *= scale
 *                 vmask     scores = mask(scores)    where the mask cuts
 *                 vredmax   stat[0] = max of each row
 *                 vsub      scores -= stat[0]
 *                 vexp      scores = exp(scores)
 *                 vredsum   stat[1] = sum of each row
 *                 vdiv      probs = scores / stat[1]
 *       store   P[h, i, :] = probs
 *
 * Rows that see nothing, the first ones of a head, are only stored, as zeros.
 *
 * scores and probs are ping-pong pairs. The next load begins when the one before has ended, so that the tile for which
 * the vector engine waits has the DRAM to itself. stat belongs to the vector engine alone, which runs in order. */
#include "kernels/attn.h"
#include "kernels/kernels.h"
#include "kernels/params.h"
#include "kernels/pingpong.h"
#include "kernels/zeros.h"

static const struct npu_param params[] = {
	PARAM_SEQ,
	PARAM_SEQ_Q,
	PARAM_HEADS,
	PARAM_INT("head_dim", 128, 1, MAX_HEAD_DIM, "element", "elements a head, for the scale 1 / sqrt(head_dim)"),
	PARAM_MASK,
	PARAM_WINDOW,
	PARAM_VALID,
	PARAM_CHOICE("dtype", 0, param_floats, "element type of P"),
	PARAM_FUSED,
	PARAM_TILE_ROWS,
	PARAM_BUFFERING,
};

struct rows_softmax {
	struct npu_builder *b;
	const struct attn *a;
	struct ring scores, probs;
	struct zeros zeros; /* of a tile of rows that see nothing */
	uint32_t stat[2]; /* max and sum of each row, with fused=0 */
};

/* Of the tiles that hold rows which see nothing. */
static uint64_t blind_bytes(const struct attn *a)
{
	return least(a->tile_rows, a->blind) * a->seq * a->bytes;
}

static bool place(struct rows_softmax *p)
{
	const struct attn *a = p->a;
	uint64_t scores = a->tile_rows * a->seq * 4, probs = a->tile_rows * a->seq * a->bytes;
	uint64_t tiles = a->heads * tiles_of(a->seq_q - a->blind, a->tile_rows);
	unsigned n = load_slots(a->buffers, tiles), results = result_slots(a->buffers, tiles);
	struct npu_request zeros = zeros_request(&p->zeros, blind_bytes(a));
	if (a->blind && !npu_place(p->b, &zeros, 1))
		return false;
	if (!tiles)
		return true;
	const struct npu_request requests[] = {
		{ "scores", false, scores, n, 0, p->scores.at, .least = 1, .got = &p->scores.n },
		{ "probs", false, probs, results, 2, p->probs.at, .least = 1, .got = &p->probs.n },
		{ "stat", false, a->tile_rows * 4, 2, -1, p->stat, .least = 2 },
	};
	return npu_place(p->b, requests, a->fused ? 2 : 3);
}

static void release(const struct rows_softmax *p)
{
	if (p->a->blind)
		npu_release(p->b, p->zeros.at);
	if (p->a->blind == p->a->seq_q)
		return;
	ring_release(p->b, &p->scores);
	ring_release(p->b, &p->probs);
	for (int i = 0; i < 2 && !p->a->fused; i++)
		npu_release(p->b, p->stat[i]);
}

bool softmax_fits(struct npu_builder *b, const struct attn *a)
{
	struct rows_softmax p = { .b = b, .a = a };
	if (!a->seq_q || !a->seq)
		return true;
	bool ok = place(&p);
	if (ok)
		release(&p);
	return ok;
}

/* One instruction for rows i .. i + rows of scores. */
static void emit_fused(const struct rows_softmax *p, uint64_t i, uint32_t rows, struct slot scores, struct slot probs)
{
	const struct attn *a = p->a;
	struct npu_softmax softmax = {
		.dst = probs.at,
		.a = scores.at,
		.scale = (float)a->scale,
		.rows = rows,
		.cols = (uint32_t)a->seq,
		.dst_type = a->type,
		.a_type = NPU_FP32,
	};
	struct npu_order order = { .wait = { scores.full, probs.free }, .post = { scores.free, probs.full } };
	npu_mask_set(&a->mask, i, rows, 0, a->seq, &softmax);
	npu_emit(p->b, &(struct npu_insn){ .op = NPU_OP_VSOFTMAX, .softmax = softmax }, &order);
}

/* Whether a tile has positions that the mask hides. */
static bool cuts(const struct npu_softmax *mask)
{
	return mask->causal || mask->window || mask->padded;
}

/* The same as separate instructions, in place; all but the last in fp32. */
static void emit_unfused(const struct rows_softmax *p, uint64_t i, uint32_t rows, struct slot scores, struct slot probs)
{
	const struct attn *a = p->a;
	struct npu_builder *b = p->b;
	uint32_t x = scores.at, max = p->stat[0], sum = p->stat[1], cols = (uint32_t)a->seq;

	struct npu_ew scale = {
		.dst = x, .a = x, .imm = (float)a->scale, .rows = rows, .cols = cols, .b_bcast = NPU_BCAST_IMM
	};
	struct npu_softmax mask = { .dst = x, .a = x, .scale = 1, .rows = rows, .cols = cols, .dst_type = NPU_FP32 };
	struct npu_red largest = { .dst = max, .a = x, .rows = rows, .cols = cols };
	struct npu_ew subtract = { .dst = x, .a = x, .b = max, .rows = rows, .cols = cols, .b_bcast = NPU_BCAST_COL };
	struct npu_un exp = { .dst = x, .a = x, .scale = 1, .rows = rows, .cols = cols };
	struct npu_red total = { .dst = sum, .a = x, .rows = rows, .cols = cols };
	struct npu_ew divide = {
		.dst = probs.at, .a = x, .b = sum, .rows = rows, .cols = cols, .b_bcast = NPU_BCAST_COL
	};
	divide.dst_type = a->type;
	divide.guard = 1;
	npu_mask_set(&a->mask, i, rows, 0, a->seq, &mask);

	npu_emit(b, &(struct npu_insn){ .op = NPU_OP_VMUL, .ew = scale },
		 &(struct npu_order){ .wait = { scores.full } });
	if (cuts(&mask))
		npu_emit(b, &(struct npu_insn){ .op = NPU_OP_VMASK, .softmax = mask }, NULL);
	npu_emit(b, &(struct npu_insn){ .op = NPU_OP_VREDMAX, .red = largest }, NULL);
	npu_emit(b, &(struct npu_insn){ .op = NPU_OP_VSUB, .ew = subtract }, NULL);
	npu_emit(b, &(struct npu_insn){ .op = NPU_OP_VEXP, .un = exp }, NULL);
	npu_emit(b, &(struct npu_insn){ .op = NPU_OP_VREDSUM, .red = total }, NULL);
	npu_emit(b, &(struct npu_insn){ .op = NPU_OP_VDIV, .ew = divide },
		 &(struct npu_order){ .wait = { probs.free }, .post = { scores.free, probs.full } });
}

/* `done` is posted by the last store. */
static void store_blind(struct rows_softmax *p, const struct attn_tensors *t, uint64_t h, struct npu_semaphore done)
{
	const struct attn *a = p->a;
	for (uint64_t i = 0; i < a->blind && !npu_builder_failed(p->b); i += a->tile_rows) {
		uint32_t rows = (uint32_t)least(a->tile_rows, a->blind - i);
		struct npu_dma store = attn_block(a, t->P, a->type, 0, h, i, rows, 0, (uint32_t)a->seq);
		zeros_store(p->b, &p->zeros, store, i + rows == a->blind ? done : NPU_NO_SEMAPHORE);
	}
}

bool softmax_phase(struct npu_builder *b, const struct attn *a, const struct attn_tensors *t, struct attn_phase phase)
{
	struct rows_softmax p = { .b = b, .a = a };
	uint64_t tile = 0, tiles = a->heads * tiles_of(a->seq_q - a->blind, a->tile_rows);
	uint32_t seq = (uint32_t)a->seq;
	struct npu_semaphore begun = NPU_NO_SEMAPHORE;

	if (!a->seq_q || !a->seq)
		return !npu_builder_failed(b);
	if (!place(&p))
		return false;
	ring_init(b, &p.scores, "scores");
	/* Large tiles, one load each: two that run at once, on two channels, would both be late. */
	struct npu_semaphore turn = p.scores.n > 1 ? npu_semaphore(b, "load_turn", 1) : NPU_NO_SEMAPHORE;
	ring_init(b, &p.probs, "probs");
	if (phase.after.count && a->blind)
		begun = npu_semaphore(b, "softmax_begun", 0);
	if (phase.after.count)
		npu_emit(b, &(struct npu_insn){ .op = NPU_OP_SYNC_LOAD },
			 &(struct npu_order){ .wait = { phase.after }, .post = { begun } });
	if (a->blind)
		zeros_fill(b, &p.zeros, blind_bytes(a), begun);
	for (uint64_t h = 0; h < a->heads && a->blind; h++) {
		npu_region(b, "head %u, rows that see nothing", (unsigned)h);
		store_blind(&p, t, h, !tiles && h + 1 == a->heads ? phase.done : NPU_NO_SEMAPHORE);
		npu_region_end(b);
	}

	for (uint64_t h = 0; h < a->heads; h++)
		for (uint64_t i = a->blind; i < a->seq_q && !npu_builder_failed(b); i += a->tile_rows, tile++) {
			uint32_t rows = (uint32_t)least(a->tile_rows, a->seq_q - i);
			struct slot scores = ring_at(&p.scores, tile), probs = ring_at(&p.probs, tile);
			struct npu_dma load = attn_block(a, t->S, NPU_FP32, scores.at, h, i, rows, 0, seq);
			struct npu_dma store = attn_block(a, t->P, a->type, probs.at, h, i, rows, 0, seq);
			struct npu_semaphore done = tile + 1 == tiles ? phase.done : NPU_NO_SEMAPHORE;

			npu_region(b, "head %u, rows %u", (unsigned)h, (unsigned)((i - a->blind) / a->tile_rows));
			npu_emit(b, &(struct npu_insn){ .op = NPU_OP_LOAD, .dma = load },
				 &(struct npu_order){ .wait = { scores.free, turn }, .post = { scores.full, turn } });
			if (a->fused)
				emit_fused(&p, i, rows, scores, probs);
			else
				emit_unfused(&p, i, rows, scores, probs);
			npu_emit(b, &(struct npu_insn){ .op = NPU_OP_STORE, .dma = store },
				 &(struct npu_order){ .wait = { probs.full }, .post = { probs.free, done } });
			npu_region_end(b);
		}
	release(&p);
	return !npu_builder_failed(b);
}

/* Scores come in and probabilities go out once. A tile is a load, a store and one vector instruction, or six and the
 * mask where it cuts; of rows that see nothing a store. One makes the zeros. */
struct npu_expect softmax_expect(const struct attn *a)
{
	uint64_t seeing = a->seq_q - a->blind, tiles = tiles_of(seeing, a->tile_rows);
	uint64_t instructions = tiles * (a->fused ? 3 : 8) + tiles_of(a->blind, a->tile_rows);
	if (!a->seq_q || !a->seq)
		return (struct npu_expect){ 0 };
	for (uint64_t i = a->blind; !a->fused && i < a->seq_q; i += a->tile_rows) {
		struct npu_softmax mask = { 0 };
		npu_mask_set(&a->mask, i, (uint32_t)least(a->tile_rows, a->seq_q - i), 0, a->seq, &mask);
		instructions += cuts(&mask);
	}
	return (struct npu_expect){
		.dram_read_bytes = a->heads * seeing * a->seq * 4,
		.dram_write_bytes = a->heads * a->seq_q * a->seq * a->bytes,
		.instructions = a->heads * instructions + (a->blind > 0),
	};
}

static bool try_place(struct npu_builder *b, const struct npu_args *args)
{
	struct attn a = attn_of(&npu_mask_softmax, args);
	return softmax_fits(b, &a);
}

static bool emit(struct npu_builder *b, const struct npu_args *args)
{
	struct attn a = attn_of(&npu_mask_softmax, args);
	struct attn_tensors t = { 0 };
	t.S = attn_scores(b, &a, "S", NPU_FP32, NPU_TENSOR_IN);
	t.P = attn_scores(b, &a, "P", a.type, NPU_TENSOR_OUT);
	return softmax_phase(b, &a, &t, (struct attn_phase){ 0 });
}

static struct npu_expect expect(const struct npu_args *args)
{
	struct attn a = attn_of(&npu_mask_softmax, args);
	return softmax_expect(&a);
}

/* Whole rows: the same whatever the tile. */
static struct tile_cost cost(const struct npu_capacity *capacity, const struct npu_args *args)
{
	struct npu_expect e = expect(args);
	(void)capacity;
	return (struct tile_cost){ .dram = e.dram_read_bytes + e.dram_write_bytes };
}

static bool resolve(const struct npu_capacity *capacity, struct npu_args *args, struct npu_error *err)
{
	return attn_resolve(&npu_mask_softmax, capacity, args, try_place, cost, NO_WIDE_TILES, err);
}

static bool reference(const struct npu_args *args, struct npu_reference_io *io)
{
	struct attn a = attn_of(&npu_mask_softmax, args);
	uint64_t head = a.seq_q * a.seq;
	const double *S = npu_reference_read(io, "S", a.heads * head);
	double *P = npu_reference_write(io, "P", a.heads * head);
	if (!S || !P)
		return false;
	for (uint64_t h = 0; h < a.heads; h++)
		npu_reference_softmax(a.seq_q, &a.mask, a.scale, S + h * head, P + h * head);
	return true;
}

const struct npu_kernel npu_mask_softmax = {
	.name = "mask_softmax",
	.summary = "P = softmax(mask(scale S)) of fp32 scores in DRAM, one fused instruction a tile or seven",
	PARAMS_OF(params),
	.resolve = resolve,
	.emit = emit,
	.expect = expect,
	.reference = reference,
};
