/* SPDX-License-Identifier: Apache-2.0 */
/* Attention over a paged cache: online softmax as in flash_attention.c, keys and values gathered page by page.
 *
 *   for b in batch
 *     load, quantise, scatter the new keys and values        before the gathers that meet them
 *     for h in kv_heads, for i in tiles of chunk             a unit: all query heads of a kv head
 *       for s in splits, for j in tiles of the keys of s
 *         gather  k, v of (h, j), and their scales
 *         matmul  s = q k^T
 *         softmax p
 *         matmul  acc[s] (+)= p v
 *       merge the splits, divide, store O
 *
 * Row r of a unit is query head r / rows of the tile, token r % rows. The queues run one tile apart as there. */
#include "kernels/paged.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isa/units.h"
#include "kernels/kernels.h"
#include "kernels/params.h"
#include "kernels/pingpong.h"

enum { STATE_MAX = 0, STATE_SUM = 1, STATE_RESCALE = 2, STATE_VECTORS = 3 };
/* New tokens that are staged at a time; parts of a buffer begin at multiples of PART; up to where tiles of keys grow: a
 * gather then takes much longer than what it waits for its table. */
enum { STAGED = 16, PART = 64, WIDEST_KV = 512 };

/* One tile of keys of one unit. */
struct step {
	uint64_t b, head, i, j, unit, number;
	uint64_t rows, keys; /* query rows of a head; keys */
	uint64_t tile;       /* of the unit */
	uint64_t split;
	bool opens, closes; /* the unit */
	bool first;         /* of its split */
};

struct emitter {
	struct npu_builder *b;
	struct paged p;
	struct npu_dram Q, K_new, V_new, O, pool, scales;
	uint32_t *tables;
	uint64_t k_part, q_part, p_part; /* bytes before the scales in a buffer of k or v, q8, p8 */
	uint64_t fresh_q, fresh_scales;  /* offsets of what is quantised in a buffer of new tokens */
	uint64_t staged;                 /* tokens of it */
	uint32_t state_stride;

	struct ring k, v, q, o, fresh, vs;
	uint32_t k16[2], v16[2], q8[2], p_at[2], p32, s[2], part[2], state[2], ones, acc;
	uint64_t acc_bytes;
	struct npu_semaphore s_full, p_full, pv_done, k16_full, q8_full, fresh_q_full, appended;
	uint64_t fresh_turn;
	bool fresh_once; /* a slot is used once in a sequence: when `appended` has been waited for, it is free */
	uint64_t next_append;
	uint64_t waited; /* sequences whose new tokens a gather has waited for */
};

static uint64_t part_of(uint64_t bytes)
{
	return (bytes + PART - 1) / PART * PART;
}

/* ---- units and tiles ---- */

/* Keys that the unit sees: up to its last query. */
static uint64_t keys_of(const struct paged *p, uint64_t length, uint64_t i)
{
	return length - p->chunk + i + least(p->tile_q, p->chunk - i);
}

static uint64_t splits_of(const struct paged *p, uint64_t tiles)
{
	return least(p->splits, tiles);
}

/* The first tile of a split. */
static uint64_t split_begin(uint64_t tiles, uint64_t splits, uint64_t split)
{
	return tiles * split / splits;
}

static struct step step_at(const struct paged *p, struct step s)
{
	uint64_t end = keys_of(p, paged_length(p, s.b), s.i), tiles = tiles_of(end, p->tile_kv), n = splits_of(p, tiles);
	s.rows = least(p->tile_q, p->chunk - s.i);
	s.j = s.tile * p->tile_kv;
	s.keys = least(p->tile_kv, end - s.j);
	s.opens = s.tile == 0;
	s.closes = s.tile == tiles - 1;
	s.split = 0;
	while (split_begin(tiles, n, s.split + 1) <= s.tile)
		s.split++;
	s.first = s.tile == split_begin(tiles, n, s.split);
	return s;
}

/* The tile after `s`; false when there is none. */
static bool advance(const struct paged *p, struct step *s)
{
	struct step next = *s;
	next.number++;
	next.tile++;
	if (s->closes) {
		next.tile = 0;
		next.unit++;
		next.i += p->tile_q;
		if (next.i >= p->chunk) {
			next.i = 0;
			next.head++;
		}
		if (next.head == p->kv_heads) {
			next.head = 0;
			next.b++;
		}
		if (next.b == p->batch)
			return false;
	}
	*s = step_at(p, next);
	return true;
}

static uint64_t active_splits(const struct paged *p, const struct step *s)
{
	return splits_of(p, tiles_of(keys_of(p, paged_length(p, s->b), s->i), p->tile_kv));
}

static bool is_in_last_unit(const struct paged *p, const struct step *s)
{
	return s->head == p->kv_heads - 1 && s->i + p->tile_q >= p->chunk;
}

static uint64_t rows_of(const struct paged *p, const struct step *s)
{
	return p->group * s->rows;
}

/* Units and tiles of the program, counted as far as buffers have use for: no further than MANY. */
enum { MANY = 8 };
struct totals {
	uint64_t units, tiles;
};

static struct totals totals_of(const struct paged *p)
{
	struct totals t = { 0 };
	for (uint64_t b = 0; b < p->batch && t.units < MANY; b++)
		for (uint64_t i = 0; i < p->chunk && t.units < MANY; i += p->tile_q) {
			t.units += p->kv_heads;
			t.tiles += p->kv_heads * tiles_of(keys_of(p, paged_length(p, b), i), p->tile_kv);
		}
	return t;
}

/* ---- buffers ---- */

static bool place(struct emitter *e)
{
	const struct paged *p = &e->p;
	bool on_vector = p->mode == PAGED_VECTOR, on_matrix = p->mode == PAGED_MATRIX;
	struct totals totals = totals_of(p);
	uint64_t rows = p->group * p->tile_q, q_bytes = rows * p->dim * 2, tile = rows * p->tile_kv;
	uint64_t scales = p->mode == PAGED_PLAIN ? 0 : p->halves * part_of(p->tile_kv * 2);
	uint64_t wide = p->kv_heads * p->dim, loaded = p->tile_kv * p->row_bytes;
	unsigned n = load_slots(p->buffers, totals.tiles), turns = totals.tiles > 1 ? 2 : 1;
	unsigned unit_turns = totals.units > 1 ? 2 : 1, kv_least = p->together && totals.tiles > 1 ? 2 : 1;
	struct npu_request requests[NPU_MAX_REQUESTS];
	unsigned count = 0;

	e->staged = least(STAGED, p->chunk);
	e->fresh_q = part_of(e->staged * wide * 2);
	e->fresh_scales = e->fresh_q + part_of(e->staged * p->kv_heads * p->row_bytes);
	uint64_t fresh = p->mode == PAGED_PLAIN ? e->staged * wide * 2
						: e->fresh_scales + e->staged * p->kv_heads * p->halves * 2;
	e->k_part = part_of(loaded);
	e->q_part = part_of(rows * p->dim);
	e->p_part = part_of(tile);
	e->state_stride = (uint32_t)(part_of(rows * 4));
	e->acc_bytes = part_of(rows * p->dim * 4);

	/* Groups as in flash_attention: what streams at the same time lies in different ones. */
	requests[count++] = (struct npu_request){ "k", false, scales ? e->k_part + scales : loaded, n, on_vector ? 0 : 5, e->k.at, .least = kv_least, .got = &e->k.n, .step = on_vector ? 4 : 1 };
	requests[count++] = (struct npu_request){ "v", false, on_vector ? e->k_part + scales : loaded, n, on_vector ? 0 : 3, e->v.at, .least = kv_least, .got = &e->v.n, .pair = true, .step = 4 };
	if (on_matrix)
		requests[count++] = (struct npu_request){ "v_scales", false, scales, n, 7, e->vs.at, .least = kv_least, .got = &e->vs.n, .pair = true };
	requests[count++] = (struct npu_request){ "q", false, q_bytes, totals.units > 1 ? n : 1, on_vector ? 3 : 0, e->q.at, .least = totals.units > 1 && p->mode == PAGED_PLAIN ? kv_least : 1,
						  .got = &e->q.n, .pair = totals.units > 1 && p->mode == PAGED_PLAIN, .step = 4 };
	if (on_vector) {
		requests[count++] = (struct npu_request){ "k16", false, p->tile_kv * p->dim * 2, turns, 1, e->k16, .least = turns, .step = 4 };
		requests[count++] = (struct npu_request){ "v16", false, p->tile_kv * p->dim * 2, turns, 2, e->v16, .least = turns, .step = 4 };
	}
	if (on_matrix) {
		requests[count++] = (struct npu_request){ "q8", false, e->q_part + rows * 4, unit_turns, 0, e->q8, .least = unit_turns };
		requests[count++] = (struct npu_request){ "p32", false, tile * 4, 1, 6, &e->p32, .least = 1 };
	}
	requests[count++] = (struct npu_request){ "p", false, on_matrix ? p->halves * part_of(e->p_part + rows * 4) : tile * 2, turns, on_vector ? 3 : 1,
						  e->p_at, .least = turns };
	requests[count++] = (struct npu_request){ "o", false, q_bytes, result_slots(p->buffers, totals.units), 2, e->o.at,
						  .least = 1, .got = &e->o.n, .step = 4 };
	requests[count++] = (struct npu_request){ "new", false, fresh, load_slots(p->buffers, 2 * p->batch * tiles_of(p->chunk, STAGED)), 6,
						  e->fresh.at, .least = 1, .got = &e->fresh.n };
	requests[count++] = (struct npu_request){ "state", false, p->splits * STATE_VECTORS * e->state_stride, unit_turns, 7, e->state,
						  .least = unit_turns, .step = 4 };
	requests[count++] = (struct npu_request){ "ones", false, rows * 4, 1, 7, &e->ones, .least = 1 };
	requests[count++] = (struct npu_request){ "s", true, tile * 4, turns, -1, e->s, .least = turns };
	requests[count++] = (struct npu_request){ "acc", true, p->splits * e->acc_bytes, 1, -1, &e->acc, .least = 1 };
	if (on_matrix)
		requests[count++] = (struct npu_request){ "part", true, rows * p->dim * 4, turns, -1, e->part, .least = turns };
	return npu_place(e->b, requests, count);
}

/* ---- pages ---- */

static uint64_t bytes_of(const struct paged *p, uint64_t element)
{
	return element * npu_dtype_bits(p->kv) / 8;
}

/* Tokens [from, from + rows) of a head, K or V, as a gather or scatter. */
static struct npu_paged token_rows(const struct emitter *e, uint64_t b, unsigned half, uint64_t head, uint64_t from,
				   uint64_t rows, uint32_t local)
{
	const struct paged *p = &e->p;
	return (struct npu_paged){
		.local = local,
		.cols = (uint32_t)p->dim,
		.dtype = p->kv,
		.dram = e->pool.addr + bytes_of(p, paged_element(p, 0, half, head, 0, 0)),
		.rows = (uint32_t)rows,
		.page_stride = (uint32_t)bytes_of(p, paged_element(p, 1, half, head, 0, 0) - paged_element(p, 0, half, head, 0, 0)),
		.row_stride = (uint32_t)p->row_bytes,
		.first = (uint32_t)from,
		.page_rows = (uint32_t)p->page,
		.table = e->tables[b],
	};
}

/* The same of their scales: one of each token, of half `part` of a head. */
static struct npu_paged scale_rows(const struct emitter *e, uint64_t b, unsigned half, uint64_t head, uint64_t part,
				   uint64_t from, uint64_t rows, uint32_t local)
{
	const struct paged *p = &e->p;
	uint64_t col = part * (p->dim / 2);
	return (struct npu_paged){
		.local = local,
		.cols = 1,
		.dtype = NPU_FP16,
		.dram = e->scales.addr + 2 * paged_scale(p, 0, half, head, 0, col),
		.rows = (uint32_t)rows,
		.page_stride = (uint32_t)(2 * (paged_scale(p, 1, half, head, 0, col) - paged_scale(p, 0, half, head, 0, col))),
		.row_stride = 2,
		.first = (uint32_t)from,
		.page_rows = (uint32_t)p->page,
		.table = e->tables[b],
	};
}

/* One token of all heads instead of several of one: heads are the rows of a page. */
static void turn_to_heads(const struct paged *p, struct npu_paged *rows, uint64_t heads, uint64_t stride)
{
	uint64_t page = rows->first / p->page, token = rows->first % p->page;
	rows->dram += token * rows->row_stride;
	rows->rows = rows->page_rows = (uint32_t)heads;
	rows->first = (uint32_t)(page * heads);
	rows->row_stride = (uint32_t)stride;
}

/* ---- new tokens ---- */

struct store_list {
	struct npu_paged at[2 * MAX_HEADS * 2];
	unsigned n;
};

/* Scatters of tokens [from, from + rows) of K or V: head by head, or of a single token all heads at once. */
static void scatters_of(const struct emitter *e, uint64_t b, unsigned half, uint64_t from, uint64_t rows, uint32_t at,
			struct store_list *list)
{
	const struct paged *p = &e->p;
	uint64_t heads = rows == 1 ? 1 : p->kv_heads, shared = p->scope == PAGED_TOKEN ? 1 : heads;
	bool plain = p->mode == PAGED_PLAIN;
	uint32_t wide = (uint32_t)(p->kv_heads * p->row_bytes), data = plain ? at : at + (uint32_t)e->fresh_q;
	uint32_t scales = at + (uint32_t)e->fresh_scales, scale_wide = (uint32_t)(p->scope == PAGED_TOKEN ? 1 : p->kv_heads * p->halves);
	for (uint64_t h = 0; h < heads; h++) {
		struct npu_paged s = token_rows(e, b, half, h, from, rows, data + (uint32_t)(h * p->row_bytes));
		s.local_stride = wide;
		if (rows == 1) {
			s.local_stride = 0;
			turn_to_heads(p, &s, p->kv_heads,
				      bytes_of(p, paged_element(p, 0, half, 1, 0, 0) - paged_element(p, 0, half, 0, 0, 0)));
		}
		list->at[list->n++] = s;
	}
	for (uint64_t h = 0; !plain && h < shared; h++)
		for (uint64_t part = 0; part < p->halves; part++) {
			struct npu_paged s = scale_rows(e, b, half, h, part, from, rows,
							scales + 2 * (uint32_t)(h * p->halves + part));
			s.local_stride = 2 * scale_wide;
			if (rows == 1 && p->scope != PAGED_TOKEN) {
				s.local_stride = 2 * (uint32_t)p->halves;
				turn_to_heads(p, &s, p->kv_heads,
					      2 * (paged_scale(p, 0, half, 1, 0, 0) - paged_scale(p, 0, half, 0, 0, 0)));
			}
			list->at[list->n++] = s;
		}
}

/* Scales of each token, head or half, as the pool keeps them. */
static void quantise_new(const struct emitter *e, uint32_t at, uint64_t rows, struct npu_order order)
{
	const struct paged *p = &e->p;
	struct npu_quant quantise = {
		.dst = at + (uint32_t)e->fresh_q,
		.a = at,
		.scales = at + (uint32_t)e->fresh_scales,
		.rows = (uint32_t)rows,
		.cols = (uint32_t)(p->kv_heads * p->dim),
		.group = p->scope == PAGED_TOKEN ? 0 : (uint32_t)(p->dim / p->halves),
		.scale = p->scope == PAGED_TOKEN ? NPU_SCALE_ROW : NPU_SCALE_GROUP,
		.dst_type = p->kv,
		.a_type = NPU_FP16,
		.scale_type = NPU_FP16,
		.dynamic = 1,
	};
	npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_VQUANT, .quant = quantise }, &order);
}

/* The new keys and values of sequence b: into the last pages. */
static void append(struct emitter *e, uint64_t b)
{
	const struct paged *p = &e->p;
	uint64_t wide = p->kv_heads * p->dim, old = paged_length(p, b) - p->chunk;
	bool plain = p->mode == PAGED_PLAIN;
	struct store_list *list = calloc(1, sizeof *list);
	if (!list) {
		npu_builder_fail(e->b, NPU_ERR_MEMORY, "out of memory");
		return;
	}
	npu_region(e->b, "new tokens of sequence %u", (unsigned)b);
	for (unsigned half = 0; half < 2; half++)
		for (uint64_t t = 0; t < p->chunk && !npu_builder_failed(e->b); t += STAGED) {
			struct slot slot = ring_at(&e->fresh, e->fresh_turn++);
			uint64_t rows = least(STAGED, p->chunk - t);
			bool done = half == 1 && t + rows == p->chunk;
			struct npu_dma load = {
				.local = slot.at,
				.dram = (half ? e->V_new : e->K_new).addr + (b * p->chunk + t) * wide * 2,
				.rows = (uint32_t)rows,
				.cols = (uint32_t)wide,
				.dtype = NPU_FP16,
			};
			struct npu_semaphore free = e->fresh_once ? NPU_NO_SEMAPHORE : slot.free;
			npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_LOAD, .dma = load },
				 &(struct npu_order){ .wait = { free }, .post = { slot.full } });
			if (!plain)
				quantise_new(e, slot.at, rows,
					     (struct npu_order){ .wait = { slot.full }, .post = { e->fresh_q_full } });
			list->n = 0;
			scatters_of(e, b, half, old + t, rows, slot.at, list);
			for (unsigned i = 0; i < list->n; i++) {
				struct npu_order order = { 0 };
				if (i == 0)
					order.wait[0] = plain ? slot.full : e->fresh_q_full;
				if (i == list->n - 1) {
					order.post[0] = free;
					order.post[1] = done ? e->appended : NPU_NO_SEMAPHORE;
				}
				npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_SCATTER, .paged = list->at[i] }, &order);
			}
		}
	npu_region_end(e->b);
	free(list);
}

/* ---- loads ---- */

static struct npu_dma query_rows(const struct emitter *e, struct npu_dram t, const struct step *s, uint32_t local)
{
	const struct paged *p = &e->p;
	uint64_t head = (s->b * p->heads + s->head * p->group) * p->chunk + s->i;
	return (struct npu_dma){
		.local = local,
		.dram = t.addr + head * p->dim * 2,
		.rows = (uint32_t)p->group,
		.cols = (uint32_t)(s->rows * p->dim),
		.dtype = NPU_FP16,
		.dram_stride = (uint32_t)(p->chunk * p->dim * 2),
	};
}

static bool array_turns_k(const struct emitter *e)
{
	return !npu_builder_capacity(e->b)->no_transpose_b;
}

/* Bytes from the scales of one half of the columns to those of the other; a product wants them dense. */
static uint32_t scales_apart(const struct paged *p, const struct step *s, unsigned half)
{
	return (uint32_t)(p->mode == PAGED_MATRIX && half == 0 ? s->keys * 2 : part_of(p->tile_kv * 2));
}

static void gather_scales(const struct emitter *e, const struct step *s, unsigned half, uint32_t at,
			  struct npu_semaphore full)
{
	for (uint64_t part = 0; part < e->p.halves; part++) {
		struct npu_paged scales = scale_rows(e, s->b, half, s->head, part, s->j, s->keys,
						      at + (uint32_t)part * scales_apart(&e->p, s, half));
		npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_GATHER, .paged = scales },
			 &(struct npu_order){ .post = { part == e->p.halves - 1 ? full : NPU_NO_SEMAPHORE } });
	}
}

/* q has as many buffers as k, so that of fp16 needs no semaphores: with the slot of k that is free now, the last product
 * with that slot of q has ended. Where others read k, it has its own. True when it took `kv_free`. */
static bool load_q(const struct emitter *e, const struct step *s, struct npu_semaphore kv_free)
{
	struct slot q = ring_at(&e->q, s->unit);
	bool plain = e->p.mode == PAGED_PLAIN;
	if (!s->opens)
		return false;
	npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_LOAD, .dma = query_rows(e, e->Q, s, q.at) },
		 &(struct npu_order){ .wait = { plain ? kv_free : q.free },
				      .post = { e->p.mode == PAGED_MATRIX ? q.full : NPU_NO_SEMAPHORE } });
	return plain;
}

/* Waited for by the first gather that meets the new tokens of its sequence. */
static struct npu_semaphore new_tokens(struct emitter *e, const struct step *s)
{
	if (e->waited != s->b || s->j + s->keys <= paged_length(&e->p, s->b) - e->p.chunk)
		return NPU_NO_SEMAPHORE;
	e->waited++;
	return e->appended;
}

/* Rows of one token, of K, become blocks of `tokens` tokens of K and V in turns, which go to `k` and `v`: of page `page` and
 * `n` in all. */
static struct npu_paged take_both(const struct paged *p, struct npu_paged rows, uint64_t page, uint64_t n, uint64_t tokens,
				  uint32_t k, uint32_t v)
{
	uint64_t row_bytes = rows.row_stride;
	rows.local = k + (uint32_t)(rows.first * row_bytes);
	rows.odd = (int32_t)(v - k);
	rows.cols *= (uint32_t)tokens;
	rows.rows = (uint32_t)(2 * n);
	rows.row_stride = (uint32_t)(p->page * row_bytes);
	rows.first = (uint32_t)(2 * page);
	rows.page_rows = 2;
	return rows;
}

/* K and V of a tile, or their scales, to `k` and `v`: whole pages first, then the rest. `rows`: from the first token on,
 * as they would come alone. */
static void gather_both(const struct emitter *e, const struct step *s, struct npu_paged rows, uint32_t k, uint32_t v,
			struct npu_order order)
{
	const struct paged *p = &e->p;
	uint64_t page = s->j / p->page, whole = s->keys / p->page, rest = s->keys % p->page;
	struct npu_order first = order, last = order;
	if (whole && rest) {
		memset(first.post, 0, sizeof first.post);
		memset(last.wait, 0, sizeof last.wait);
	}
	if (whole) {
		rows.first = 0; /* of the tile */
		npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_GATHER, .paged = take_both(p, rows, page, whole, p->page, k, v) },
			 &first);
	}
	if (rest) {
		rows.first = (uint32_t)(whole * p->page);
		npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_GATHER, .paged = take_both(p, rows, page + whole, 1, rest, k, v) },
			 &last);
	}
}

static void load_together(struct emitter *e, const struct step *s)
{
	const struct paged *p = &e->p;
	struct slot k = ring_at(&e->k, s->number), v = ring_at(&e->v, s->number);
	bool plain = p->mode == PAGED_PLAIN, taken = load_q(e, s, v.free);
	struct npu_order order = { .wait = { taken ? NPU_NO_SEMAPHORE : v.free, new_tokens(e, s) },
				   .post = { plain ? k.full : NPU_NO_SEMAPHORE } };
	gather_both(e, s, token_rows(e, s->b, 0, s->head, 0, 1, 0), k.at, v.at, order);
	if (plain)
		return;
	/* On the matrix engine k waits for its scales, on the vector engine p for those of v. */
	uint32_t k_scales = k.at + (uint32_t)e->k_part, v_scales = v.at + (uint32_t)e->k_part;
	struct npu_order ready = { .post = { k.full } };
	if (p->mode == PAGED_MATRIX) {
		v_scales = ring_at(&e->vs, s->number).at;
		ready.post[1] = ring_at(&e->vs, s->number).full;
	}
	if (p->halves == 1) {
		gather_both(e, s, scale_rows(e, s->b, 0, s->head, 0, 0, 1, 0), k_scales, v_scales, ready);
		return;
	}
	gather_scales(e, s, 0, k_scales, p->mode == PAGED_MATRIX ? ready.post[0] : NPU_NO_SEMAPHORE);
	gather_scales(e, s, 1, v_scales, ready.post[p->mode == PAGED_MATRIX]);
}

static void load_k(struct emitter *e, const struct step *s)
{
	struct slot k = ring_at(&e->k, s->number);
	bool plain = e->p.mode == PAGED_PLAIN;
	if (e->p.together) {
		load_together(e, s);
		return;
	}
	bool taken = load_q(e, s, k.free);
	struct npu_paged rows = token_rows(e, s->b, 0, s->head, s->j, s->keys, k.at);
	rows.transpose = !array_turns_k(e);
	npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_GATHER, .paged = rows },
		 &(struct npu_order){ .wait = { taken ? NPU_NO_SEMAPHORE : k.free, new_tokens(e, s) },
				      .post = { plain ? k.full : NPU_NO_SEMAPHORE } });
	if (!plain)
		gather_scales(e, s, 0, k.at + (uint32_t)e->k_part, k.full);
}

static void load_v(const struct emitter *e, const struct step *s)
{
	struct slot v = ring_at(&e->v, s->number);
	if (e->p.together)
		return;
	struct npu_paged rows = token_rows(e, s->b, 1, s->head, s->j, s->keys, v.at);
	npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_GATHER, .paged = rows },
		 &(struct npu_order){ .wait = { v.free },
				      .post = { e->p.mode == PAGED_PLAIN ? v.full : NPU_NO_SEMAPHORE } });
	if (e->p.mode == PAGED_VECTOR)
		gather_scales(e, s, 1, v.at + (uint32_t)e->k_part, v.full);
	if (e->p.mode == PAGED_MATRIX) {
		struct slot vs = ring_at(&e->vs, s->number);
		gather_scales(e, s, 1, vs.at, vs.full);
	}
}

/* ---- the vector engine ---- */

/* To fp16, a part of the columns at a time, as each has scales of its own. K that the DMA has turned has a scale a
 * column. */
static void dequantise(const struct emitter *e, const struct step *s, uint32_t from, uint32_t to, bool turned,
		       struct npu_order order)
{
	const struct paged *p = &e->p;
	uint64_t cols = p->dim / p->halves;
	for (uint64_t part = 0; part < p->halves; part++) {
		bool begins = part == 0, ends = part == p->halves - 1;
		uint64_t skipped = turned ? part * cols * npu_dtype_bytes(p->kv, s->keys) : part * npu_dtype_bytes(p->kv, cols);
		struct npu_quant convert = {
			.dst = to + (uint32_t)(turned ? part * cols * s->keys * 2 : part * cols * 2),
			.a = from + (uint32_t)skipped,
			.scales = from + (uint32_t)e->k_part + (uint32_t)part * scales_apart(p, s, 1),
			.rows = (uint32_t)(turned ? cols : s->keys),
			.cols = (uint32_t)(turned ? s->keys : cols),
			.scale = turned ? NPU_SCALE_COL : NPU_SCALE_ROW,
			.dst_stride = turned ? 0 : (uint32_t)(p->dim * 2),
			.a_stride = turned ? 0 : (uint32_t)p->row_bytes,
			.dst_type = NPU_FP16,
			.a_type = p->kv,
			.scale_type = NPU_FP16,
		};
		struct npu_order own = { 0 };
		if (begins)
			own.wait[0] = order.wait[0];
		if (ends)
			memcpy(own.post, order.post, sizeof own.post);
		npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_VDEQUANT, .quant = convert }, &own);
	}
}

static void dequantise_k(const struct emitter *e, const struct step *s)
{
	struct slot k = ring_at(&e->k, s->number);
	dequantise(e, s, k.at, e->k16[s->number % 2], !array_turns_k(e),
		   (struct npu_order){ .wait = { k.full }, .post = { k.free, e->k16_full } });
}

static void dequantise_v(const struct emitter *e, const struct step *s, struct npu_semaphore ready)
{
	struct slot v = ring_at(&e->v, s->number);
	dequantise(e, s, v.at, e->v16[s->number % 2], false,
		   (struct npu_order){ .wait = { v.full }, .post = { v.free, ready } });
}

/* Rows of q to int8, each with a scale of its own. */
static void quantise_q(const struct emitter *e, const struct step *s)
{
	struct slot q = ring_at(&e->q, s->unit);
	uint32_t at = e->q8[s->unit % 2];
	struct npu_quant quantise = {
		.dst = at,
		.a = q.at,
		.scales = at + (uint32_t)e->q_part,
		.rows = (uint32_t)rows_of(&e->p, s),
		.cols = (uint32_t)e->p.dim,
		.scale = NPU_SCALE_ROW,
		.dst_type = NPU_INT8,
		.a_type = NPU_FP16,
		.scale_type = NPU_FP32,
		.dynamic = 1,
	};
	npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_VQUANT, .quant = quantise },
		 &(struct npu_order){ .wait = { q.full }, .post = { q.free, e->q8_full } });
}

static uint32_t state_at(const struct emitter *e, uint64_t unit, uint64_t split, uint32_t vector)
{
	return e->state[unit % 2] + (uint32_t)(split * STATE_VECTORS + vector) * e->state_stride;
}

static uint32_t acc_at(const struct emitter *e, uint64_t split)
{
	return e->acc + (uint32_t)(split * e->acc_bytes);
}

static void elementwise(const struct emitter *e, enum npu_op op, struct npu_ew ew, struct npu_order order)
{
	npu_emit(e->b, &(struct npu_insn){ .op = op, .ew = ew }, &order);
}

/* The first query of a tile that has keys later than itself sees less than the others: a mask, query head by query head. */
static bool is_masked(const struct paged *p, const struct step *s)
{
	return s->j + s->keys > paged_length(p, s->b) - p->chunk + s->i + 1;
}

static uint64_t hidden_of(const struct paged *p, const struct step *s)
{
	uint64_t hidden = 0;
	for (uint64_t r = 0; is_masked(p, s) && r < s->rows; r++) {
		uint64_t end = paged_length(p, s->b) - p->chunk + s->i + r + 1; /* keys that it sees */
		hidden += end <= s->j ? s->keys : s->j + s->keys > end ? s->j + s->keys - end : 0;
	}
	return hidden * p->group;
}

/* `ready`: posted by the last instruction. */
static void softmax(const struct emitter *e, const struct step *s, struct npu_semaphore full, struct npu_semaphore ready)
{
	const struct paged *p = &e->p;
	bool masked = is_masked(p, s), wide = p->mode == PAGED_MATRIX;
	uint64_t heads = masked ? p->group : 1, rows = rows_of(p, s) / heads;
	uint64_t at = paged_length(p, s->b) - p->chunk + s->i;
	for (uint64_t h = 0; h < heads; h++) {
		uint64_t row = h * rows;
		struct npu_softmax online = {
			.dst = (wide ? e->p32 : e->p_at[s->number % 2]) + (uint32_t)(row * s->keys * (wide ? 4 : 2)),
			.a = e->s[s->number % 2] + (uint32_t)(row * s->keys * 4),
			.state = state_at(e, s->unit, s->split, STATE_MAX) + 4 * (uint32_t)row,
			.scale = (float)p->scale,
			.rows = (uint32_t)rows,
			.cols = (uint32_t)s->keys,
			.state_stride = e->state_stride,
			.causal = masked,
			.first = s->first,
			.dst_type = wide ? NPU_FP32 : NPU_FP16,
			.a_type = NPU_FP32,
			.diagonal = masked ? (int32_t)((int64_t)at - (int64_t)s->j) : 0,
		};
		npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_VSOFTMAX_ONLINE, .softmax = online },
			 &(struct npu_order){ .wait = { h == 0 ? full : NPU_NO_SEMAPHORE },
					      .post = { h == heads - 1 ? ready : NPU_NO_SEMAPHORE } });
	}
}

static uint32_t p8_at(const struct emitter *e, const struct step *s, uint64_t part)
{
	return e->p_at[s->number % 2] + (uint32_t)(part * part_of(e->p_part + e->p.group * e->p.tile_q * 4));
}

/* Integer scores get the scales of q; weights those of v, and become int8 with a scale a row. */
static void softmax_of_integers(const struct emitter *e, const struct step *s)
{
	const struct paged *p = &e->p;
	struct slot vs = ring_at(&e->vs, s->number);
	uint32_t rows = (uint32_t)rows_of(p, s), keys = (uint32_t)s->keys, scores = e->s[s->number % 2];
	elementwise(e, NPU_OP_VMUL,
		    (struct npu_ew){ .dst = scores, .a = scores, .b = e->q8[s->unit % 2] + (uint32_t)e->q_part, .rows = rows,
				     .cols = keys, .b_bcast = NPU_BCAST_COL },
		    (struct npu_order){ .wait = { e->s_full } });
	softmax(e, s, NPU_NO_SEMAPHORE, NPU_NO_SEMAPHORE);
	for (uint64_t part = 0; part < p->halves; part++) {
		bool ends = part == p->halves - 1;
		/* The scores are no longer wanted: weights of another half of v take their place. */
		uint32_t to = ends ? e->p32 : scores;
		elementwise(e, NPU_OP_VMUL,
			    (struct npu_ew){ .dst = to, .a = e->p32, .b = vs.at + (uint32_t)part * scales_apart(p, s, 1), .rows = rows,
					     .cols = keys, .b_type = NPU_FP16, .b_bcast = NPU_BCAST_ROW },
			    (struct npu_order){ .wait = { part == 0 ? vs.full : NPU_NO_SEMAPHORE } });
		struct npu_quant quantise = {
			.dst = p8_at(e, s, part),
			.a = to,
			.scales = p8_at(e, s, part) + (uint32_t)e->p_part,
			.rows = rows,
			.cols = keys,
			.scale = NPU_SCALE_ROW,
			.dst_type = NPU_INT8,
			.a_type = NPU_FP32,
			.scale_type = NPU_FP32,
			.dynamic = 1,
		};
		npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_VQUANT, .quant = quantise },
			 &(struct npu_order){ .post = { ends ? e->p_full : NPU_NO_SEMAPHORE } });
	}
}

static void rescale(const struct emitter *e, const struct step *s, struct npu_order order)
{
	uint32_t acc = acc_at(e, s->split);
	elementwise(e, NPU_OP_VMUL,
		    (struct npu_ew){ .dst = acc, .a = acc, .b = state_at(e, s->unit, s->split, STATE_RESCALE),
				     .rows = (uint32_t)rows_of(&e->p, s), .cols = (uint32_t)e->p.dim, .b_bcast = NPU_BCAST_COL },
		    order);
}

/* acc (+)= the integer sums of a tile, times the scales of p. */
static void add_part(const struct emitter *e, const struct step *s)
{
	const struct paged *p = &e->p;
	uint32_t cols = (uint32_t)(p->dim / p->halves), stride = (uint32_t)p->dim * 4, sums = e->part[s->number % 2];
	uint32_t rows = (uint32_t)rows_of(p, s), acc = acc_at(e, s->split);
	for (uint32_t part = 0; part < p->halves; part++)
		elementwise(e, NPU_OP_VMUL,
			    (struct npu_ew){ .dst = (s->first ? acc : sums) + part * cols * 4, .a = sums + part * cols * 4,
					     .b = p8_at(e, s, part) + (uint32_t)e->p_part, .rows = rows, .cols = cols,
					     .dst_stride = stride, .a_stride = stride, .a_type = NPU_INT32,
					     .b_bcast = NPU_BCAST_COL },
			    (struct npu_order){ .wait = { part == 0 ? e->pv_done : NPU_NO_SEMAPHORE } });
	if (!s->first)
		elementwise(e, NPU_OP_VADD,
			    (struct npu_ew){ .dst = acc, .a = acc, .b = sums, .rows = rows, .cols = (uint32_t)p->dim },
			    (struct npu_order){ 0 });
}

/* Vectors of all splits, `n` rows STATE_VECTORS apart. */
static struct npu_ew over_splits(const struct emitter *e, uint64_t unit, uint32_t rows, uint64_t n, uint32_t vector)
{
	uint32_t at = state_at(e, unit, 0, vector), stride = STATE_VECTORS * e->state_stride;
	return (struct npu_ew){ .dst = at, .a = at, .rows = (uint32_t)n, .cols = rows, .dst_stride = stride, .a_stride = stride };
}

/* Splits of a unit weigh exp(max - largest max); what divides them is the sum of their sums, weighted. acc[0] += acc[s],
 * each times its share; the last of them becomes o. `sums`: waited for before acc is touched. */
static void merge(const struct emitter *e, const struct step *s, uint64_t n, struct npu_semaphore sums, struct npu_order out)
{
	const struct paged *p = &e->p;
	uint32_t rows = (uint32_t)rows_of(p, s), largest = state_at(e, s->unit, 0, STATE_RESCALE);
	struct npu_ew over = over_splits(e, s->unit, rows, n, STATE_MAX);
	for (uint64_t i = 1; i < n; i++)
		elementwise(e, NPU_OP_VMAX,
			    (struct npu_ew){ .dst = largest, .a = i == 1 ? state_at(e, s->unit, 0, STATE_MAX) : largest,
					     .b = state_at(e, s->unit, i, STATE_MAX), .rows = 1, .cols = rows },
			    (struct npu_order){ 0 });
	over.b = largest;
	over.b_bcast = NPU_BCAST_ROW;
	elementwise(e, NPU_OP_VSUB, over, (struct npu_order){ 0 });
	struct npu_un weigh = { .dst = over.dst, .a = over.a, .scale = 1, .rows = over.rows, .cols = over.cols,
				.dst_stride = over.dst_stride, .a_stride = over.a_stride };
	npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_VEXP, .un = weigh }, NULL);

	struct npu_ew weighted = over_splits(e, s->unit, rows, n, STATE_SUM);
	weighted.b = over.dst;
	weighted.b_stride = over.dst_stride;
	elementwise(e, NPU_OP_VMUL, weighted, (struct npu_order){ 0 });
	for (uint64_t i = 1; i < n; i++)
		elementwise(e, NPU_OP_VADD,
			    (struct npu_ew){ .dst = weighted.dst, .a = weighted.dst, .b = state_at(e, s->unit, i, STATE_SUM),
					     .rows = 1, .cols = rows },
			    (struct npu_order){ 0 });
	elementwise(e, NPU_OP_VDIV,
		    (struct npu_ew){ .dst = largest, .a = e->ones, .b = weighted.dst, .rows = 1, .cols = rows, .guard = 1 },
		    (struct npu_order){ 0 });
	elementwise(e, NPU_OP_VMUL, over, (struct npu_order){ 0 });
	for (uint64_t i = 0; i < n; i++)
		elementwise(e, NPU_OP_VMUL,
			    (struct npu_ew){ .dst = acc_at(e, i), .a = acc_at(e, i), .b = state_at(e, s->unit, i, STATE_MAX),
					     .rows = rows, .cols = (uint32_t)p->dim, .b_bcast = NPU_BCAST_COL },
			    (struct npu_order){ .wait = { i == 0 ? sums : NPU_NO_SEMAPHORE } });
	for (uint64_t i = 1; i < n; i++) {
		bool last = i == n - 1;
		struct npu_ew add = { .dst = last ? ring_at(&e->o, s->unit).at : acc_at(e, 0), .a = acc_at(e, 0),
				      .b = acc_at(e, i), .rows = rows, .cols = (uint32_t)p->dim,
				      .dst_type = last ? NPU_FP16 : NPU_FP32 };
		elementwise(e, NPU_OP_VADD, add, last ? out : (struct npu_order){ 0 });
	}
}

/* The unit that `s` closes: o, and its store. `ready` is posted once acc may be written again. */
static void finish(const struct emitter *e, const struct step *s, struct npu_semaphore sums, struct npu_semaphore ready)
{
	const struct paged *p = &e->p;
	struct slot o = ring_at(&e->o, s->unit);
	uint32_t rows = (uint32_t)rows_of(p, s), sum = state_at(e, s->unit, 0, STATE_SUM);
	uint64_t n = active_splits(p, s);
	if (n > 1) {
		merge(e, s, n, sums, (struct npu_order){ .wait = { o.free }, .post = { o.full, ready } });
	} else {
		elementwise(e, NPU_OP_VDIV,
			    (struct npu_ew){ .dst = sum, .a = e->ones, .b = sum, .rows = 1, .cols = rows, .guard = 1 },
			    (struct npu_order){ 0 });
		elementwise(e, NPU_OP_VMUL,
			    (struct npu_ew){ .dst = o.at, .a = acc_at(e, 0), .b = sum, .rows = rows, .cols = (uint32_t)p->dim,
					     .dst_type = NPU_FP16, .b_bcast = NPU_BCAST_COL },
			    (struct npu_order){ .wait = { o.free, sums }, .post = { o.full, ready } });
	}
	npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_STORE, .dma = query_rows(e, e->O, s, o.at) },
		 &(struct npu_order){ .wait = { o.full }, .post = { o.free } });
}

/* ---- the array ---- */

static void multiply_qk(const struct emitter *e, const struct step *s)
{
	const struct paged *p = &e->p;
	struct slot k = ring_at(&e->k, s->number), q = ring_at(&e->q, s->unit);
	struct npu_matmul product = {
		.dst = e->s[s->number % 2],
		.a = q.at,
		.b = k.at,
		.m = (uint32_t)rows_of(p, s),
		.n = (uint32_t)s->keys,
		.k = (uint32_t)p->dim,
		.a_type = NPU_FP16,
		.b_type = NPU_FP16,
		.transpose_b = array_turns_k(e),
		.masked = hidden_of(p, s) * p->dim,
	};
	struct npu_order order = { .wait = { k.full }, .post = { e->s_full, k.free } };
	if (p->mode == PAGED_VECTOR) {
		product.b = e->k16[s->number % 2];
		order.wait[0] = e->k16_full;
		order.post[1] = s->closes ? q.free : NPU_NO_SEMAPHORE;
	}
	if (p->mode == PAGED_MATRIX) {
		product.a = e->q8[s->unit % 2];
		product.scales = k.at + (uint32_t)e->k_part;
		product.group = (uint32_t)(p->dim / p->halves);
		product.a_type = NPU_INT8;
		product.b_type = p->kv;
		order.wait[1] = s->opens ? e->q8_full : NPU_NO_SEMAPHORE;
	}
	npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_MATMUL, .matmul = product }, &order);
}

static void multiply_pv(const struct emitter *e, const struct step *s)
{
	const struct paged *p = &e->p;
	struct slot v = ring_at(&e->v, s->number);
	bool integers = p->mode == PAGED_MATRIX;
	uint64_t parts = integers ? p->halves : 1, cols = p->dim / parts;
	for (uint64_t part = 0; part < parts; part++) {
		bool begins = part == 0, ends = part == parts - 1;
		struct npu_matmul product = {
			.dst = integers ? e->part[s->number % 2] + (uint32_t)(part * cols * 4) : acc_at(e, s->split),
			.a = integers ? p8_at(e, s, part) : e->p_at[s->number % 2],
			.b = p->mode == PAGED_VECTOR ? e->v16[s->number % 2]
						     : v.at + (uint32_t)npu_dtype_bytes(p->kv, part * cols),
			.m = (uint32_t)rows_of(p, s),
			.n = (uint32_t)cols,
			.k = (uint32_t)s->keys,
			.dst_stride = (uint32_t)p->dim * 4,
			.a_type = integers ? NPU_INT8 : NPU_FP16,
			.b_stride = p->mode == PAGED_VECTOR ? 0 : (uint32_t)p->row_bytes,
			.b_type = integers ? p->kv : NPU_FP16,
			.accumulate = !integers && !s->first,
			.masked = hidden_of(p, s) * cols,
		};
		struct npu_order order = { 0 };
		if (begins) {
			order.wait[0] = e->p_full;
			order.wait[1] = p->mode == PAGED_PLAIN ? v.full : NPU_NO_SEMAPHORE;
		}
		if (ends) {
			order.post[0] = e->pv_done;
			order.post[1] = p->mode == PAGED_VECTOR ? NPU_NO_SEMAPHORE : v.free;
		}
		npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_MATMUL, .matmul = product }, &order);
	}
}

/* ---- the program ---- */

/* Weights of tile `now`; then acc is made ready for their product. `before` is the tile before, which is still summed. */
static void weigh(const struct emitter *e, const struct step *now, const struct step *before)
{
	bool very_first = now->number == 0;
	struct npu_order order = { .wait = { e->pv_done }, .post = { e->p_full } };
	if (e->p.mode == PAGED_MATRIX) {
		softmax_of_integers(e, now);
		if (!very_first)
			add_part(e, before);
		if (now->opens && !very_first)
			finish(e, before, NPU_NO_SEMAPHORE, NPU_NO_SEMAPHORE);
		else if (!now->first)
			rescale(e, now, (struct npu_order){ 0 });
		return;
	}
	/* Nothing stands between the very first weights and their product. */
	struct npu_semaphore ready = very_first ? e->p_full : NPU_NO_SEMAPHORE;
	bool convert = e->p.mode == PAGED_VECTOR;
	softmax(e, now, e->s_full, convert ? NPU_NO_SEMAPHORE : ready);
	if (convert)
		dequantise_v(e, now, ready);
	if (very_first)
		return;
	if (now->opens)
		finish(e, before, e->pv_done, e->p_full);
	else if (now->first)
		npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_SYNC_VECTOR }, &order);
	else
		rescale(e, now, order);
}

static void prepare_k(const struct emitter *e, const struct step *s)
{
	if (e->p.mode == PAGED_VECTOR)
		dequantise_k(e, s);
	if (e->p.mode == PAGED_MATRIX && s->opens)
		quantise_q(e, s);
}

/* The new tokens of the next sequence come while the last unit of this one computes, once those of this one are there. */
static void load_next(struct emitter *e, const struct step *s)
{
	load_k(e, s);
	if (is_in_last_unit(&e->p, s) && e->waited > s->b && e->next_append == s->b + 1 && e->next_append < e->p.batch)
		append(e, e->next_append++);
}

static void emit_steps(struct emitter *e)
{
	const struct paged *p = &e->p;
	struct step now = step_at(p, (struct step){ 0 }), before = now, next = now;
	struct npu_fill ones = { .dst = e->ones, .imm = 1, .rows = 1, .cols = (uint32_t)(p->group * p->tile_q) };
	bool more = true;
	npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_VFILL, .fill = ones }, NULL);
	append(e, e->next_append++);
	load_next(e, &now);
	prepare_k(e, &now);
	multiply_qk(e, &now);
	while (more && !npu_builder_failed(e->b)) {
		more = advance(p, &next);
		if (now.opens)
			npu_region(e->b, "sequence %u, kv head %u", (unsigned)now.b, (unsigned)now.head);
		if (more)
			load_next(e, &next);
		load_v(e, &now);
		/* Where v comes with k, what reads k of the next tile would keep v of this one waiting for it, and its slot. */
		if (more && !p->together) {
			prepare_k(e, &next);
			weigh(e, &now, &before);
			multiply_qk(e, &next);
			multiply_pv(e, &now);
		} else {
			weigh(e, &now, &before);
			multiply_pv(e, &now);
		}
		if (more && p->together) {
			prepare_k(e, &next);
			multiply_qk(e, &next);
		}
		if (!more && p->mode == PAGED_MATRIX)
			add_part(e, &now);
		if (!more)
			finish(e, &now, p->mode == PAGED_MATRIX ? NPU_NO_SEMAPHORE : e->pv_done, NPU_NO_SEMAPHORE);
		if (now.closes)
			npu_region_end(e->b);
		before = now;
		now = next;
	}
}

/* A table of each sequence, and who owns which page. */
static bool make_tables(struct emitter *e)
{
	const struct paged *p = &e->p;
	uint32_t *order = paged_order(p);
	uint64_t at = 0;
	e->tables = calloc(p->batch, sizeof *e->tables);
	bool ok = order && e->tables;
	if (!ok)
		npu_builder_fail(e->b, NPU_ERR_MEMORY, "out of memory");
	for (uint64_t b = 0; ok && b < p->batch; b++) {
		uint64_t pages = tiles_of(paged_length(p, b), p->page);
		char name[32];
		snprintf(name, sizeof name, "pages[%u]", (unsigned)b);
		e->tables[b] = npu_sequence_table(e->b, name, (uint32_t)b, (uint32_t)pages, order + at);
		for (uint64_t i = 0; i < pages; i++, at++) {
			npu_page(e->b, e->pool, order[at], 1, NPU_PAGE_OWNED, (uint32_t)b);
			if (p->mode != PAGED_PLAIN)
				npu_page(e->b, e->scales, order[at], 1, NPU_PAGE_OWNED, (uint32_t)b);
		}
	}
	free(order);
	return ok;
}

static void make_tensors(struct emitter *e)
{
	const struct paged *p = &e->p;
	struct npu_builder *b = e->b;
	uint64_t shared = p->scope == PAGED_TOKEN ? 1 : p->kv_heads;
	const uint64_t q[] = { p->batch, p->heads, p->chunk, p->dim };
	const uint64_t fresh[] = { p->batch, p->chunk, p->kv_heads, p->dim };
	const uint64_t pool[] = { p->pages, p->kv_heads, 2, p->page, p->dim };
	const uint64_t apart[] = { 2, p->pages, p->kv_heads, p->page, p->dim };
	const uint64_t scales[] = { p->pages, shared, 2, p->halves, p->page };
	const uint64_t scales_apart[] = { 2, p->pages, shared, p->halves, p->page };
	e->Q = npu_tensor(b, "Q", NPU_FP16, NPU_TENSOR_IN, 4, q);
	e->K_new = npu_tensor(b, "K_new", NPU_FP16, NPU_TENSOR_IN, 4, fresh);
	e->V_new = npu_tensor(b, "V_new", NPU_FP16, NPU_TENSOR_IN, 4, fresh);
	e->pool = npu_tensor(b, "pool", p->kv, NPU_TENSOR_INOUT, 5, p->kv_first ? apart : pool);
	if (p->mode != PAGED_PLAIN)
		e->scales = npu_tensor(b, "scales", NPU_FP16, NPU_TENSOR_INOUT, 5, p->kv_first ? scales_apart : scales);
	e->O = npu_tensor(b, "O", NPU_FP16, NPU_TENSOR_OUT, 4, q);
}

bool paged_emit(const struct npu_kernel *k, struct npu_builder *b, const struct npu_args *args)
{
	struct emitter e = { .b = b, .p = paged_of(k, args) };
	make_tensors(&e);
	if (!npu_builder_failed(b) && make_tables(&e) && place(&e)) {
		/* Together, k tells of v too that it is there, and v of k that it is free: it is read last. */
		if (e.p.together)
			ring_init_full(b, &e.k, "k");
		else
			ring_init(b, &e.k, "k");
		/* Behind v come its scales, and what waits for them posts p_full. */
		if (e.p.together || e.p.mode == PAGED_MATRIX)
			ring_init_free(b, &e.v, "v");
		else
			ring_init(b, &e.v, "v");
		ring_init(b, &e.o, "o");
		e.fresh_once = 2 * tiles_of(e.p.chunk, STAGED) <= e.fresh.n;
		if (e.fresh_once)
			ring_init_full(b, &e.fresh, "new");
		else
			ring_init(b, &e.fresh, "new");
		e.s_full = npu_semaphore(b, "s_full", 0);
		e.p_full = npu_semaphore(b, "p_full", 0);
		e.pv_done = npu_semaphore(b, "pv_done", 0);
		e.appended = npu_semaphore(b, "appended", 0);
		if (e.p.mode != PAGED_PLAIN)
			e.fresh_q_full = npu_semaphore(b, "new_quantised", 0);
		if (e.p.mode == PAGED_VECTOR) {
			ring_init_free(b, &e.q, "q");
			e.k16_full = npu_semaphore(b, "k16_full", 0);
		}
		if (e.p.mode == PAGED_MATRIX) {
			ring_init(b, &e.q, "q");
			/* The product that gives v back comes after what reads its scales. */
			ring_init_full(b, &e.vs, "v_scales");
			e.q8_full = npu_semaphore(b, "q8_full", 0);
		}
		emit_steps(&e);
	}
	free(e.tables);
	return !npu_builder_failed(b);
}

/* ---- closed forms ---- */

static uint64_t pages_of(const struct paged *p, uint64_t from, uint64_t rows)
{
	return (from + rows - 1) / p->page - from / p->page + 1;
}

/* New tokens of sequence b. */
static void expect_append(const struct paged *p, uint64_t b, struct npu_expect *x)
{
	bool plain = p->mode == PAGED_PLAIN;
	uint64_t old = paged_length(p, b) - p->chunk, shared = p->scope == PAGED_TOKEN ? 1 : p->kv_heads;
	for (uint64_t t = 0; t < p->chunk && x->instructions <= NPU_MAX_INSNS; t += STAGED) {
		uint64_t rows = least(STAGED, p->chunk - t);
		uint64_t scatters = rows == 1 ? 1 : p->kv_heads;
		if (!plain)
			scatters += (rows == 1 ? 1 : shared) * p->halves;
		x->instructions += 2 * (1 + !plain + scatters);
		x->dram_read_bytes += 2 * 4 * scatters * pages_of(p, old + t, rows);
	}
	x->dram_read_bytes += 2 * p->chunk * p->kv_heads * p->dim * 2;
	x->dram_write_bytes += 2 * p->chunk * (p->kv_heads * p->row_bytes + (plain ? 0 : 2 * shared * p->halves));
}

/* The units of all kv heads over queries [i, i + rows) of sequence b. */
/* What the gathers of a tile read of the table, and their number. */
static uint64_t expect_gathers(const struct paged *p, uint64_t j, uint64_t keys, uint64_t *entries)
{
	uint64_t halves = p->mode == PAGED_PLAIN ? 0 : p->halves, pages = pages_of(p, j, keys);
	uint64_t both = (keys >= p->page) + (keys % p->page > 0);
	uint64_t alone = (p->together ? 0 : 2) + (p->together && halves < 2 ? 0 : 2 * halves);
	uint64_t pairs = p->together ? 1 + (halves == 1) : 0;
	*entries += (alone + pairs) * pages;
	return alone + pairs * both;
}

static void expect_units(const struct paged *p, uint64_t b, uint64_t i, struct npu_expect *x)
{
	uint64_t rows = least(p->tile_q, p->chunk - i), end = keys_of(p, paged_length(p, b), i), sees = end - rows + 1;
	uint64_t tiles = tiles_of(end, p->tile_kv), splits = splits_of(p, tiles), entries = 0;
	uint64_t masked = rows > 1 ? tiles - sees / p->tile_kv : 0, halves = p->halves;
	uint64_t insns = 2 + (splits > 1 ? 4 * splits + 2 : 2); /* q, o, what divides */
	for (uint64_t j = 0; j < end; j += p->tile_kv)
		insns += expect_gathers(p, j, least(p->tile_kv, end - j), &entries);
	insns += tiles + tiles + masked * (p->group - 1); /* scores, softmax */
	if (p->mode == PAGED_MATRIX) /* q8; scales of q, weights and p8, their product and sum; rescales and additions */
		insns += 1 + tiles * (1 + 4 * halves) + 2 * (tiles - splits);
	else /* product; rescales */
		insns += tiles + tiles - 1 + (p->mode == PAGED_VECTOR ? 2 * halves * tiles : 0);
	x->instructions += p->kv_heads * insns;
	x->macs += 2 * p->heads * rows * end * p->dim;
	x->useful_macs += 2 * p->heads * (rows * end - rows * (rows - 1) / 2) * p->dim;
	x->dram_read_bytes += p->kv_heads * (2 * end * (p->row_bytes + (p->mode == PAGED_PLAIN ? 0 : 2 * halves)) + 4 * entries);
}

struct npu_expect paged_expect(const struct npu_kernel *k, const struct npu_args *args)
{
	struct paged p = paged_of(k, args);
	uint64_t queries = p.batch * p.heads * p.chunk * p.dim * 2;
	struct npu_expect x = { .instructions = 1, .dram_read_bytes = queries, .dram_write_bytes = queries };
	/* More instructions than that are refused, however many. */
	for (uint64_t b = 0; b < p.batch && x.instructions <= NPU_MAX_INSNS; b++) {
		expect_append(&p, b, &x);
		for (uint64_t i = 0; i < p.chunk && x.instructions <= NPU_MAX_INSNS; i += p.tile_q)
			expect_units(&p, b, i, &x);
	}
	return x;
}

/* ---- parameters ---- */

static bool refuse(struct npu_error *err, const char *name, uint64_t value, const char *what)
{
	return npu_fail(err, NPU_ERR_VALUE, "%s=%" PRIu64 ": %s", name, value, what);
}

static bool check_unused(const struct npu_kernel *k, const struct npu_args *args, const char *name, struct npu_error *err)
{
	int i = npu_param_index(k, name);
	if (!args->named[i] || args->value[i] == k->params[i].initial)
		return true;
	return npu_fail(err, NPU_ERR_VALUE, "%s=%s: has no effect with kv=fp16, only with kv=int8 and kv=int4", name,
			k->params[i].choices[args->value[i]]);
}

static bool check_types(const struct npu_kernel *k, const struct npu_capacity *c, const struct npu_args *args,
			const struct paged *p, struct npu_error *err)
{
	if (p->mode == PAGED_PLAIN)
		return check_unused(k, args, "kv_group", err) && check_unused(k, args, "dequant", err);
	uint64_t part = p->scope == PAGED_HALF ? 2 : 1, packed = p->kv == NPU_INT4 ? 2 : 1;
	if (p->dim % (part * packed))
		return npu_fail(err, NPU_ERR_VALUE, "head_dim=%" PRIu64 ": must be a multiple of %" PRIu64 " with kv=%s%s", p->dim,
				part * packed, npu_dtype_name(p->kv), part == 2 ? " kv_group=half" : "");
	if (p->kv == NPU_INT4 && c->no_transpose_b)
		return npu_fail(err, NPU_ERR_VALUE,
				"kv=int4: K would have to be turned by the DMA, which moves whole bytes, as the array has no "
				"transposer (matrix.transposer=no); kv=int8 can be");
	return true;
}

static bool check_sizes(const struct paged *p, const struct npu_args *args, const struct npu_kernel *k, struct npu_error *err)
{
	uint64_t most_pages = tiles_of(p->seq, p->page);
	int tile_q = npu_param_index(k, "tile_q");
	if (p->kv_heads * p->dim > MAX_LENGTH)
		return refuse(err, "kv_heads", p->kv_heads, "kv_heads x head_dim must be less than 1,048,576");
	if (p->kv_heads * 2 * p->page * p->row_bytes > UINT32_MAX)
		return refuse(err, "page", p->page, "kv_heads x 2 x page x head_dim must be less than 4 GiB");
	if (most_pages * p->kv_heads >= 1 << 24)
		return refuse(err, "page", p->page, "kv_heads x pages of a sequence must be less than 16,777,216");
	if (p->pages > UINT32_MAX)
		return refuse(err, "batch", p->batch, "there must be less than 4,294,967,296 pages");
	if (p->group >= 1 << 18)
		return refuse(err, "heads", p->heads, "there must be less than 262,144 queries of a kv head");
	if (tile_q >= 0 && args->named[tile_q] && (p->tile_q * p->dim > MAX_LENGTH || p->group * p->tile_q >= 1 << 18))
		return refuse(err, "tile_q", p->tile_q,
			      "tile_q x head_dim must be less than 1,048,576, and tile_q x heads / kv_heads less than 262,144");
	return true;
}

/* Sums of products of 127 and 128 in int32. */
enum { MOST_INTEGER_KEYS = INT32_MAX / (127 * 128) };

static bool try_place(const struct npu_kernel *k, struct npu_builder *b, const struct npu_args *args)
{
	struct emitter e = { .b = b, .p = paged_of(k, args) };
	return place(&e);
}

static bool try_decode(struct npu_builder *b, const struct npu_args *args)
{
	return try_place(&npu_decode_attention_paged, b, args);
}

static bool try_prefill(struct npu_builder *b, const struct npu_args *args)
{
	return try_place(&npu_prefill_attention_paged, b, args);
}

/* Of the one tile that may grow: all else stays the same. */
static struct tile_cost decode_cost(const struct npu_capacity *c, const struct npu_args *args)
{
	struct paged p = paged_of(&npu_decode_attention_paged, args);
	struct npu_expect x = paged_expect(&npu_decode_attention_paged, args);
	struct tile_cost cost = { .dram = x.dram_read_bytes + x.dram_write_bytes };
	for (uint64_t b = 0; b < p.batch; b++) {
		uint64_t length = paged_length(&p, b);
		cost.tiles += p.kv_heads * tiles_of(length, p.tile_kv);
		cost.array += p.kv_heads * (tile_steps(c, p.group, p.group, length, p.tile_kv, p.dim, p.dim) +
					    tile_steps(c, p.group, p.group, p.dim, p.dim, length, p.tile_kv));
	}
	return cost;
}

static void derive(const struct npu_kernel *k, struct npu_args *args, const char *name, int64_t value)
{
	int i = npu_param_index(k, name);
	if (!args->named[i])
		args->value[i] = value;
}

static bool choose_tiles(const struct npu_kernel *k, const struct npu_capacity *capacity, struct npu_args *args,
			 struct npu_error *err)
{
	struct paged p = paged_of(k, args);
	const struct tile_dim decode[] = { { "tile_kv", p.seq, WIDEST_KV } };
	const struct tile_dim prefill[] = { { "tile_q", p.chunk, 0 }, { "tile_kv", p.seq, 0 } };
	if (k == &npu_decode_attention_paged)
		return tiles_resolve(k, capacity, args, decode, 1, try_decode, decode_cost, err);
	return tiles_resolve(k, capacity, args, prefill, 2, try_prefill, NULL, err);
}

/* Why K and V of a tile cannot come together; NULL: they can. Tiles are chosen. */
static const char *why_apart(const struct paged *p, const struct npu_capacity *c)
{
	if (p->kv_first)
		return "needs kv_layout=page_head_kv";
	if (c->no_transpose_b)
		return "needs an array that turns K (matrix.transposer=yes)";
	if (p->buffers < 2)
		return "needs buffering=double or triple";
	if (p->page * p->dim > MAX_LENGTH)
		return "page x head_dim must be less than 1,048,576";
	if (p->tile_kv < p->seq && p->tile_kv % p->page)
		return "needs tiles of whole pages, tile_kv a multiple of page";
	return NULL;
}

/* Together where that is possible, in tiles of which two fit. But int4 takes the vector engine and the array longer than the
 * DMA, so they are kept one tile ahead of each other, which v with a tile of its own allows. */
static bool choose_gather(const struct npu_kernel *k, const struct npu_capacity *capacity, struct npu_args *args,
			  struct npu_error *err)
{
	int gather = npu_param_index(k, "gather");
	struct npu_args together = *args;
	struct npu_error refused = { 0 };
	if (gather < 0)
		return choose_tiles(k, capacity, args, err);
	together.value[gather] = 0;
	if (args->named[gather] && args->value[gather])
		return choose_tiles(k, capacity, args, err);
	bool fits = choose_tiles(k, capacity, &together, &refused);
	struct paged p = paged_of(k, &together);
	const char *why = fits ? why_apart(&p, capacity) : NULL;
	bool wanted = args->named[gather] || p.kv != NPU_INT4 || p.mode != PAGED_VECTOR;
	if (fits && wanted && !why) {
		*args = together;
		return true;
	}
	if (args->named[gather] && why)
		return npu_fail(err, NPU_ERR_VALUE, "gather=together: %s", why);
	if (args->named[gather]) {
		if (err)
			*err = refused;
		return false;
	}
	args->value[gather] = 1;
	return choose_tiles(k, capacity, args, err);
}

bool paged_resolve(const struct npu_kernel *k, const struct npu_capacity *capacity, struct npu_args *args,
		   struct npu_error *err)
{
	if (!npu_args_check(k, args, err))
		return false;
	int64_t seq = npu_arg(k, args, "seq", 1), seq_min, heads = npu_arg(k, args, "heads", 1);
	int64_t kv_heads = npu_arg(k, args, "kv_heads", 1), chunk = npu_arg(k, args, "chunk", 1);
	derive(k, args, "seq_min", seq);
	seq_min = npu_arg(k, args, "seq_min", seq);
	if (heads % kv_heads)
		return npu_fail(err, NPU_ERR_VALUE, "kv_heads=%" PRId64 ": must divide heads=%" PRId64, kv_heads, heads);
	if (seq_min > seq)
		return npu_fail(err, NPU_ERR_VALUE, "seq_min=%" PRId64 ": must be at most seq=%" PRId64, seq_min, seq);
	if (seq_min < seq && npu_arg(k, args, "batch", 1) == 1)
		return npu_fail(err, NPU_ERR_VALUE, "seq_min=%" PRId64 ": has no effect with batch=1, whose sequence has seq=%" PRId64
				" tokens", seq_min, seq);
	if (chunk > seq_min)
		return npu_fail(err, NPU_ERR_VALUE, "chunk=%" PRId64 ": must be at most %s=%" PRId64 ", which counts the new tokens",
				chunk, seq_min < seq ? "seq_min" : "seq", seq_min);
	struct paged p = paged_of(k, args);
	if (!check_types(k, capacity, args, &p, err) || !check_sizes(&p, args, k, err))
		return false;
	if (p.mode == PAGED_MATRIX && args->named[npu_param_index(k, "tile_kv")] && p.tile_kv > MOST_INTEGER_KEYS)
		return npu_fail(err, NPU_ERR_VALUE, "tile_kv=%" PRIu64 ": must be at most %d with dequant=matrix, whose sums are int32",
				p.tile_kv, MOST_INTEGER_KEYS);
	if (!choose_gather(k, capacity, args, err))
		return false;
	/* Counted only so far: whoever asks for more would wait for the number. */
	if (paged_expect(k, args).instructions > NPU_MAX_INSNS)
		return npu_fail(err, NPU_ERR_FIT,
				"%s: more than %s instructions: larger tiles, fewer sequences or shorter lengths need fewer",
				k->name, npu_count_text(NPU_MAX_INSNS).text);
	return true;
}
