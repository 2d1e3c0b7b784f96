/* SPDX-License-Identifier: Apache-2.0 */
/* Attention over a paged cache: what is loaded, page by page, and the new tokens. */
#include <stdlib.h>
#include <string.h>

#include "kernels/paged_emit.h"
#include "kernels/params.h"

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
		.page_stride = (uint32_t)bytes_of(p, paged_element(p, 1, half, head, 0, 0) -
							 paged_element(p, 0, half, head, 0, 0)),
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
		.page_stride =
		    (uint32_t)(2 * (paged_scale(p, 1, half, head, 0, col) - paged_scale(p, 0, half, head, 0, col))),
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
	uint32_t scales = at + (uint32_t)e->fresh_scales,
		 scale_wide = (uint32_t)(p->scope == PAGED_TOKEN ? 1 : p->kv_heads * p->halves);
	for (uint64_t h = 0; h < heads; h++) {
		struct npu_paged s = token_rows(e, b, half, h, from, rows, data + (uint32_t)(h * p->row_bytes));
		s.local_stride = wide;
		if (rows == 1) {
			s.local_stride = 0;
			turn_to_heads(
			    p, &s, p->kv_heads,
			    bytes_of(p, paged_element(p, 0, half, 1, 0, 0) - paged_element(p, 0, half, 0, 0, 0)));
		}
		list->at[list->n++] = s;
	}
	for (uint64_t h = 0; !plain && h < shared; h++)
		for (uint64_t part = 0; part < p->halves; part++) {
			struct npu_paged s =
			    scale_rows(e, b, half, h, part, from, rows, scales + 2 * (uint32_t)(h * p->halves + part));
			s.local_stride = 2 * scale_wide;
			if (rows == 1 && p->scope != PAGED_TOKEN) {
				s.local_stride = 2 * (uint32_t)p->halves;
				turn_to_heads(
				    p, &s, p->kv_heads,
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
void paged_append(struct emitter *e, uint64_t b)
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
				npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_SCATTER, .paged = list->at[i] },
					 &order);
			}
		}
	npu_region_end(e->b);
	free(list);
}

/* ---- loads ---- */

struct npu_dma paged_query_rows(const struct emitter *e, struct npu_dram t, const struct step *s, uint32_t local)
{
	const struct paged *p = &e->p;
	uint64_t head = (s->b * p->heads + s->head * p->group) * p->chunk + s->i;
	return (struct npu_dma){
		.local = local,
		.dram = t.addr + head * p->dim * 2,
		.rows = (uint32_t)(s->heads * p->group),
		.cols = (uint32_t)(s->rows * p->dim),
		.dtype = NPU_FP16,
		.dram_stride = (uint32_t)(p->chunk * p->dim * 2),
	};
}

/* Scales of kv head `h` of the unit. */
static void gather_scales(const struct emitter *e, const struct step *s, uint64_t h, unsigned half, uint32_t at,
			  struct npu_semaphore full)
{
	for (uint64_t part = 0; part < e->p.halves; part++) {
		struct npu_paged scales = scale_rows(e, s->b, half, s->head + h, part, s->j, s->keys,
						     at + (uint32_t)part * scales_apart(&e->p, s, half));
		npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_GATHER, .paged = scales },
			 &(struct npu_order){ .post = { part == e->p.halves - 1 ? full : NPU_NO_SEMAPHORE } });
	}
}

/* q has as many buffers as k, so that of fp16 needs no semaphores: with the slot of k that is free now, the last
 * product with that slot of q has ended. Where others read k, it has its own. True when it took `kv_free`. */
static bool load_q(const struct emitter *e, const struct step *s, struct npu_semaphore kv_free)
{
	struct slot q = ring_at(&e->q, s->unit);
	bool plain = e->p.mode == PAGED_PLAIN && !e->p.whole;
	if (!s->opens)
		return false;
	npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_LOAD, .dma = paged_query_rows(e, e->Q, s, q.at) },
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

/* Rows of one token, of K, become blocks of `tokens` tokens of K and V in turns, which go to `k` and `v`: of `heads`
 * heads that follow one another in a page, of page `page` and `n` in all. */
static struct npu_paged take_both(const struct paged *p, struct npu_paged rows, uint64_t heads, uint64_t page,
				  uint64_t n, uint64_t tokens, uint32_t k, uint32_t v)
{
	uint64_t row_bytes = rows.row_stride;
	rows.local = k + (uint32_t)(rows.first * heads * row_bytes);
	rows.odd = (int32_t)(v - k);
	rows.cols *= (uint32_t)tokens;
	rows.rows = (uint32_t)(2 * heads * n);
	rows.row_stride = (uint32_t)(p->page * row_bytes);
	rows.first = (uint32_t)(2 * heads * page);
	rows.page_rows = (uint32_t)(2 * heads);
	return rows;
}

/* K and V of a tile of `heads` heads, or their scales, to `k` and `v`: whole pages first, then the rest. `rows`: from
 * the first token on, as they would come alone. */
static void gather_both(const struct emitter *e, const struct step *s, struct npu_paged rows, uint64_t heads,
			uint32_t k, uint32_t v, struct npu_order order)
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
		npu_emit(e->b,
			 &(struct npu_insn){ .op = NPU_OP_GATHER,
					     .paged = take_both(p, rows, heads, page, whole, p->page, k, v) },
			 &first);
	}
	if (rest) {
		rows.first = (uint32_t)(whole * p->page);
		npu_emit(e->b,
			 &(struct npu_insn){ .op = NPU_OP_GATHER,
					     .paged = take_both(p, rows, heads, page + whole, 1, rest, k, v) },
			 &last);
	}
}

/* K and V of kv head `h` of the unit, and their scales. */
static void load_head(struct emitter *e, const struct step *s, uint64_t h, struct npu_order order)
{
	const struct paged *p = &e->p;
	struct slot k = ring_at(&e->k, s->number), v = ring_at(&e->v, s->number);
	uint32_t at = (uint32_t)(h * e->k_head), scales_at = (uint32_t)(h * e->scale_head);
	gather_both(e, s, token_rows(e, s->b, 0, s->head + h, 0, 1, 0), 1, k.at + at, v.at + at, order);
	if (p->mode == PAGED_PLAIN)
		return;
	/* On the matrix engine k waits for its scales, on the vector engine p for those of v. */
	uint32_t k_scales = k.at + (uint32_t)e->k_part + scales_at, v_scales = v.at + (uint32_t)e->k_part + scales_at;
	struct npu_order ready = { .post = { k.full } };
	if (p->mode == PAGED_MATRIX) {
		v_scales = ring_at(&e->vs, s->number).at + scales_at;
		ready.post[1] = ring_at(&e->vs, s->number).full;
	}
	if (p->halves == 1) {
		gather_both(e, s, scale_rows(e, s->b, 0, s->head + h, 0, 0, 1, 0), 1, k_scales, v_scales, ready);
		return;
	}
	gather_scales(e, s, h, 0, k_scales, p->mode == PAGED_MATRIX ? ready.post[0] : NPU_NO_SEMAPHORE);
	gather_scales(e, s, h, 1, v_scales, ready.post[p->mode == PAGED_MATRIX]);
}

/* Whole pages of all heads of the unit, then their scales. */
static void load_pages(struct emitter *e, const struct step *s)
{
	const struct paged *p = &e->p;
	struct slot k = ring_at(&e->k, s->number), v = ring_at(&e->v, s->number);
	bool plain = p->mode == PAGED_PLAIN;
	struct npu_order order = { .wait = { v.free, new_tokens(e, s) },
				   .post = { plain ? k.full : NPU_NO_SEMAPHORE } };
	load_q(e, s, NPU_NO_SEMAPHORE);
	gather_both(e, s, token_rows(e, s->b, 0, s->head, 0, 1, 0), s->heads, k.at, v.at, order);
	if (!plain)
		gather_both(e, s, scale_rows(e, s->b, 0, s->head, 0, 0, 1, 0), p->scope == PAGED_TOKEN ? 1 : s->heads,
			    k.at + (uint32_t)e->k_part, v.at + (uint32_t)e->k_part,
			    (struct npu_order){ .post = { k.full } });
}

static void load_together(struct emitter *e, const struct step *s)
{
	struct slot k = ring_at(&e->k, s->number), v = ring_at(&e->v, s->number);
	bool plain = e->p.mode == PAGED_PLAIN, taken = load_q(e, s, v.free);
	struct npu_order order = { .wait = { taken ? NPU_NO_SEMAPHORE : v.free, new_tokens(e, s) },
				   .post = { plain ? k.full : NPU_NO_SEMAPHORE } };
	for (uint64_t h = 0; h < s->heads; h++) {
		load_head(e, s, h, order);
		memset(order.wait, 0, sizeof order.wait);
	}
}

void paged_load_k(struct emitter *e, const struct step *s)
{
	struct slot k = ring_at(&e->k, s->number);
	bool plain = e->p.mode == PAGED_PLAIN;
	if (e->p.whole) {
		load_pages(e, s);
		return;
	}
	if (e->p.together) {
		load_together(e, s);
		return;
	}
	bool taken = load_q(e, s, k.free);
	struct npu_order order = { .wait = { taken ? NPU_NO_SEMAPHORE : k.free, new_tokens(e, s) },
				   .post = { plain ? k.full : NPU_NO_SEMAPHORE } };
	for (uint64_t h = 0; h < s->heads; h++) {
		uint32_t at = k.at + (uint32_t)(h * e->k_head);
		struct npu_paged rows = token_rows(e, s->b, 0, s->head + h, s->j, s->keys, at);
		rows.transpose = !array_turns_k(e);
		npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_GATHER, .paged = rows }, &order);
		if (!plain)
			gather_scales(e, s, h, 0, k.at + (uint32_t)(e->k_part + h * e->scale_head), k.full);
		memset(order.wait, 0, sizeof order.wait);
	}
}

void paged_load_v(const struct emitter *e, const struct step *s)
{
	const struct paged *p = &e->p;
	struct slot v = ring_at(&e->v, s->number);
	for (uint64_t h = 0; h < s->heads && !p->together; h++) {
		uint32_t at = v.at + (uint32_t)(h * e->k_head), scales_at = (uint32_t)(h * e->scale_head);
		struct npu_paged rows = token_rows(e, s->b, 1, s->head + h, s->j, s->keys, at);
		npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_GATHER, .paged = rows },
			 &(struct npu_order){ .wait = { h == 0 ? v.free : NPU_NO_SEMAPHORE },
					      .post = { p->mode == PAGED_PLAIN ? v.full : NPU_NO_SEMAPHORE } });
		if (p->mode == PAGED_VECTOR)
			gather_scales(e, s, h, 1, v.at + (uint32_t)e->k_part + scales_at, v.full);
		if (p->mode == PAGED_MATRIX) {
			struct slot vs = ring_at(&e->vs, s->number);
			gather_scales(e, s, h, 1, vs.at + scales_at, vs.full);
		}
	}
}
