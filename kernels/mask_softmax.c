/* SPDX-License-Identifier: Apache-2.0 */
/* P = softmax(mask(scale S)) of each row, scale = 1 / sqrt(head_dim), from fp32 scores in DRAM.
 *
 *   for h in heads
 *     for i in tiles of seq_q (tile_rows)
 *       load    scores = S[h, i, :]                 whole rows, but for keys that none of them sees
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
 * Rows that see nothing, the first ones of a head, are only stored, as zeros. Keys that no row of a tile sees are not
 * loaded; vfill makes their zeros (but in attention, where they are not stored either). hidden=compute takes whole rows.
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
	PARAM_HIDDEN("keys that no row of a tile sees: neither loaded nor computed, or like the others"),
};

/* Keys are left out so many at a time: whole granules of any DRAM. */
enum { KEYS_AT_A_TIME = 64 };

static struct attn softmax_of(const struct npu_args *args)
{
	struct attn a = attn_of(&npu_mask_softmax, args);
	a.tile_kv = tile_within(KEYS_AT_A_TIME, a.seq);
	return a;
}

struct rows_softmax {
	struct npu_builder *b;
	const struct attn *a;
	struct ring scores, probs;
	struct zeros zeros; /* of a tile of rows that see nothing */
	uint32_t stat[2]; /* max and sum of each row, with fused=0 */
};

/* Some rows, and the keys of S, and of P, that they take; those of P hold those of S. */
struct part {
	uint64_t i;
	uint32_t rows;
	struct attn_keys keys, stored;
};

/* Rows from i on, of one group. */
static struct part part_at(const struct attn *a, uint64_t i)
{
	struct part p = { .i = i, .rows = (uint32_t)least(a->tile_rows, a->seq_q - i), .stored = { 0, a->seq } };
	if (!a->group) {
		p.keys = attn_keys(a, i, p.rows);
		return p;
	}
	uint64_t start = i / a->group * a->group;
	p.rows = (uint32_t)least(p.rows, start + a->group - i);
	p.keys = p.stored = attn_tile_keys(a, start);
	return p;
}

/* The first rows of P that anyone wants. */
static uint64_t first_row(const struct attn *a)
{
	return a->group ? a->unscored : 0;
}

/* Of the rows that see nothing: they have the keys of the first group. */
static struct part blind_part(const struct attn *a, uint64_t i)
{
	struct part p = part_at(a, first_row(a));
	p.i = i;
	p.rows = (uint32_t)least(a->tile_rows, a->blind - i);
	return p;
}

/* Of the tiles that hold such rows. */
static uint64_t blind_bytes(const struct attn *a)
{
	uint64_t rows = least(a->tile_rows, a->blind - first_row(a));
	return rows * attn_keys_count(part_at(a, first_row(a)).stored) * a->bytes;
}

static bool has_blind(const struct attn *a)
{
	return first_row(a) < a->blind;
}
static bool has_scores(const struct attn *a)
{
	return a->blind < a->seq_q;
}

/* Tiles of all heads, RING_SLOTS or more are not told apart. */
static uint64_t few_tiles(const struct attn *a)
{
	uint64_t tiles = 0;
	for (uint64_t i = a->blind; i < a->seq_q && tiles < RING_SLOTS; i += part_at(a, i).rows)
		tiles += a->heads;
	return tiles;
}

/* Keys of P in SRAM. */
static uint64_t stored_keys(const struct attn *a)
{
	return a->group ? attn_most_keys(a, a->group) : a->seq;
}

static bool place(struct rows_softmax *p)
{
	const struct attn *a = p->a;
	uint64_t scores = a->tile_rows * attn_most_keys(a, a->group ? a->group : a->tile_rows) * 4;
	uint64_t probs = a->tile_rows * stored_keys(a) * a->bytes, tiles = few_tiles(a);
	unsigned n = load_slots(a->buffers, tiles), results = result_slots(a->buffers, tiles);
	if (has_blind(a)) {
		struct npu_request zeros = zeros_request(&p->zeros, blind_bytes(a));
		if (!npu_place(p->b, &zeros, 1))
			return false;
	}
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
	if (has_blind(p->a))
		npu_release(p->b, p->zeros.at);
	if (!has_scores(p->a))
		return;
	ring_release(p->b, &p->scores);
	ring_release(p->b, &p->probs);
	for (int i = 0; i < 2 && !p->a->fused; i++)
		npu_release(p->b, p->stat[i]);
}

bool softmax_fits(struct npu_builder *b, const struct attn *a)
{
	struct rows_softmax p = { .b = b, .a = a };
	if (first_row(a) == a->seq_q || !a->seq)
		return true;
	bool ok = place(&p);
	if (ok)
		release(&p);
	return ok;
}

/* Bytes between rows of P in SRAM. */
static uint32_t probs_stride(const struct attn *a, const struct part *part)
{
	return (uint32_t)(attn_keys_count(part->stored) * a->bytes);
}

/* Where the probabilities of a part begin. */
static uint32_t probs_at(const struct attn *a, const struct part *part, struct slot probs)
{
	return probs.at + (uint32_t)((part->keys.first - part->stored.first) * a->bytes);
}

/* Zeros for the keys [from, end) of P that lie before or behind those of S. */
static void fill_hidden(const struct rows_softmax *p, const struct part *part, uint64_t from, uint64_t end, uint32_t at,
			struct npu_semaphore *wait)
{
	struct npu_fill fill = {
		.dst = at + (uint32_t)((from - part->stored.first) * p->a->bytes),
		.rows = part->rows,
		.cols = (uint32_t)(end - from),
		.dst_stride = probs_stride(p->a, part),
		.dst_type = p->a->type,
	};
	if (from == end)
		return;
	npu_emit(p->b, &(struct npu_insn){ .op = NPU_OP_VFILL, .fill = fill }, &(struct npu_order){ .wait = { *wait } });
	*wait = NPU_NO_SEMAPHORE;
}

/* The first of them waits until probs is free, so that nobody has to who comes later. */
static void fill_all_hidden(const struct rows_softmax *p, const struct part *part, struct slot *probs)
{
	fill_hidden(p, part, part->stored.first, part->keys.first, probs->at, &probs->free);
	fill_hidden(p, part, part->keys.end, part->stored.end, probs->at, &probs->free);
}

static uint64_t fills(const struct part *part)
{
	return (part->stored.first < part->keys.first) + (part->keys.end < part->stored.end);
}

/* One instruction for a part of the scores. */
static void emit_fused(const struct rows_softmax *p, const struct part *part, struct slot scores, struct slot probs)
{
	const struct attn *a = p->a;
	uint32_t cols = (uint32_t)attn_keys_count(part->keys);
	struct npu_softmax softmax = {
		.dst = probs_at(a, part, probs),
		.a = scores.at,
		.scale = (float)a->scale,
		.rows = part->rows,
		.cols = cols,
		.dst_stride = probs_stride(a, part),
		.dst_type = a->type,
		.a_type = NPU_FP32,
	};
	struct npu_order order = { .wait = { scores.full, probs.free }, .post = { scores.free, probs.full } };
	npu_mask_set(&a->mask, part->i, part->rows, part->keys.first, cols, &softmax);
	npu_emit(p->b, &(struct npu_insn){ .op = NPU_OP_VSOFTMAX, .softmax = softmax }, &order);
}

/* Whether a tile has positions that the mask hides. */
static bool cuts(const struct npu_softmax *mask)
{
	return mask->causal || mask->window || mask->padded;
}

/* The same as separate instructions, in place; all but the last in fp32. */
static void emit_unfused(const struct rows_softmax *p, const struct part *part, struct slot scores, struct slot probs)
{
	const struct attn *a = p->a;
	struct npu_builder *b = p->b;
	uint32_t x = scores.at, max = p->stat[0], sum = p->stat[1], rows = part->rows;
	uint32_t cols = (uint32_t)attn_keys_count(part->keys);

	struct npu_ew scale = {
		.dst = x, .a = x, .imm = (float)a->scale, .rows = rows, .cols = cols, .b_bcast = NPU_BCAST_IMM
	};
	struct npu_softmax mask = { .dst = x, .a = x, .scale = 1, .rows = rows, .cols = cols, .dst_type = NPU_FP32 };
	struct npu_red largest = { .dst = max, .a = x, .rows = rows, .cols = cols };
	struct npu_ew subtract = { .dst = x, .a = x, .b = max, .rows = rows, .cols = cols, .b_bcast = NPU_BCAST_COL };
	struct npu_un exp = { .dst = x, .a = x, .scale = 1, .rows = rows, .cols = cols };
	struct npu_red total = { .dst = sum, .a = x, .rows = rows, .cols = cols };
	struct npu_ew divide = {
		.dst = probs_at(a, part, probs), .a = x, .b = sum, .rows = rows, .cols = cols, .b_bcast = NPU_BCAST_COL
	};
	divide.dst_stride = probs_stride(a, part);
	divide.dst_type = a->type;
	divide.guard = 1;
	npu_mask_set(&a->mask, part->i, rows, part->keys.first, cols, &mask);

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
	for (uint64_t i = first_row(a); i < a->blind && !npu_builder_failed(p->b); i += a->tile_rows) {
		struct part part = blind_part(a, i);
		struct npu_dma store = attn_block(a, t->P, a->type, 0, h, i, part.rows, part.stored.first,
						  (uint32_t)attn_keys_count(part.stored));
		zeros_store(p->b, &p->zeros, store, i + part.rows == a->blind ? done : NPU_NO_SEMAPHORE);
	}
}

bool softmax_phase(struct npu_builder *b, const struct attn *a, const struct attn_tensors *t, struct attn_phase phase)
{
	struct rows_softmax p = { .b = b, .a = a };
	uint64_t tile = 0;
	bool blind = has_blind(a), scores_too = has_scores(a);
	struct npu_semaphore begun = NPU_NO_SEMAPHORE;

	if (first_row(a) == a->seq_q || !a->seq)
		return !npu_builder_failed(b);
	if (!place(&p))
		return false;
	ring_init(b, &p.scores, "scores");
	/* Large tiles, one load each: two that run at once, on two channels, would both be late. */
	struct npu_semaphore turn = p.scores.n > 1 ? npu_semaphore(b, "scores_turn", 1) : NPU_NO_SEMAPHORE;
	ring_init(b, &p.probs, "probs");
	if (phase.after.count && blind)
		begun = npu_semaphore(b, "softmax_begun", 0);
	if (phase.after.count)
		npu_emit(b, &(struct npu_insn){ .op = NPU_OP_SYNC_LOAD },
			 &(struct npu_order){ .wait = { phase.after }, .post = { begun } });
	if (blind)
		zeros_fill(b, &p.zeros, blind_bytes(a), begun);
	for (uint64_t h = 0; h < a->heads && blind; h++) {
		npu_region(b, "head %u, rows that see nothing", (unsigned)h);
		store_blind(&p, t, h, !scores_too && h + 1 == a->heads ? phase.done : NPU_NO_SEMAPHORE);
		npu_region_end(b);
	}

	for (uint64_t h = 0; h < a->heads; h++)
		for (uint64_t i = a->blind, in_head = 0, next; i < a->seq_q && !npu_builder_failed(b); i = next, tile++) {
			struct part part = part_at(a, i);
			struct slot scores = ring_at(&p.scores, tile), probs = ring_at(&p.probs, tile);
			struct npu_dma load = attn_block(a, t->S, NPU_FP32, scores.at, h, i, part.rows, part.keys.first,
							 (uint32_t)attn_keys_count(part.keys));
			struct npu_dma store = attn_block(a, t->P, a->type, probs.at, h, i, part.rows, part.stored.first,
							  (uint32_t)attn_keys_count(part.stored));
			struct npu_semaphore free = probs.free;
			next = i + part.rows;
			bool last = h + 1 == a->heads && next == a->seq_q;
			struct npu_semaphore done = last ? phase.done : NPU_NO_SEMAPHORE;

			npu_region(b, "head %u, rows %u", (unsigned)h, (unsigned)in_head++);
			npu_emit(b, &(struct npu_insn){ .op = NPU_OP_LOAD, .dma = load },
				 &(struct npu_order){ .wait = { scores.free, turn }, .post = { scores.full, turn } });
			fill_all_hidden(&p, &part, &probs);
			if (a->fused)
				emit_fused(&p, &part, scores, probs);
			else
				emit_unfused(&p, &part, scores, probs);
			npu_emit(b, &(struct npu_insn){ .op = NPU_OP_STORE, .dma = store },
				 &(struct npu_order){ .wait = { probs.full }, .post = { free, done } });
			npu_region_end(b);
		}
	release(&p);
	return !npu_builder_failed(b);
}

/* Scores come in and probabilities go out once, but for keys that are left out. A tile is a load, a store and one vector
 * instruction, or six and the mask where it cuts, and what fills hidden keys; of rows that see nothing a store. One makes
 * the zeros. */
struct npu_expect softmax_expect(const struct attn *a)
{
	uint64_t read = 0, written = 0, instructions = 0;
	if (first_row(a) == a->seq_q || !a->seq)
		return (struct npu_expect){ 0 };
	if (has_blind(a)) {
		uint64_t rows = a->blind - first_row(a);
		written = rows * attn_keys_count(blind_part(a, first_row(a)).stored);
		instructions = tiles_of(rows, a->tile_rows);
	}
	for (uint64_t i = a->blind, next; i < a->seq_q; i = next) {
		struct part part = part_at(a, i);
		struct npu_softmax mask = { 0 };
		next = i + part.rows;
		read += part.rows * attn_keys_count(part.keys);
		written += part.rows * attn_keys_count(part.stored);
		npu_mask_set(&a->mask, i, part.rows, part.keys.first, attn_keys_count(part.keys), &mask);
		instructions += fills(&part) + (a->fused ? 3 : 8 + cuts(&mask));
	}
	return (struct npu_expect){
		.dram_read_bytes = a->heads * read * 4,
		.dram_write_bytes = a->heads * written * a->bytes,
		.instructions = a->heads * instructions + has_blind(a),
	};
}

static bool try_place(struct npu_builder *b, const struct npu_args *args)
{
	struct attn a = softmax_of(args);
	return softmax_fits(b, &a);
}

static bool emit(struct npu_builder *b, const struct npu_args *args)
{
	struct attn a = softmax_of(args);
	struct attn_tensors t = { 0 };
	t.S = attn_scores(b, &a, "S", NPU_FP32, NPU_TENSOR_IN);
	t.P = attn_scores(b, &a, "P", a.type, NPU_TENSOR_OUT);
	return softmax_phase(b, &a, &t, (struct attn_phase){ 0 });
}

static struct npu_expect expect(const struct npu_args *args)
{
	struct attn a = softmax_of(args);
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
	struct attn a = softmax_of(args);
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
