/* SPDX-License-Identifier: Apache-2.0 */
/* Attention over a paged cache: whole pages of several heads, which one gather brings as they lie,
 *
 *   k, v    [page][head][token][dim]          of the last page as many tokens as there are
 *   scales  [page][head][token], or [token] where all heads of a token share one
 *
 * become what the array takes, [head][token][dim]: dequantised on the way, or copied as they are, word by word. */
#include "kernels/paged_emit.h"

/* Pages of a tile that are alike: all whole ones, then the rest of the last one. */
struct part {
	uint64_t begin;         /* tokens before it */
	uint64_t pages, tokens; /* of a page */
};

/* The parts of a tile; returns how many there are. */
static unsigned parts_of(const struct paged *p, const struct step *s, struct part parts[2])
{
	uint64_t pages = s->keys / p->page, rest = s->keys % p->page;
	unsigned n = 0;
	if (pages)
		parts[n++] = (struct part){ 0, pages, p->page };
	if (rest)
		parts[n++] = (struct part){ pages * p->page, 1, rest };
	return n;
}

static void emit_quant(const struct emitter *e, struct npu_quant convert, struct npu_order order)
{
	convert.group = (uint32_t)e->p.dim;
	convert.scale = NPU_SCALE_GROUP;
	convert.dst_type = NPU_FP16;
	convert.a_type = e->p.kv;
	convert.scale_type = NPU_FP16;
	npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_VDEQUANT, .quant = convert }, &order);
}

/* Rows of `bytes`, in words where these divide them: as integers, of which none is a NaN. */
static void emit_copy(const struct emitter *e, struct npu_un copy, uint64_t bytes, struct npu_order order)
{
	copy.scale = 1;
	copy.a_type = bytes % 4 == 0 ? NPU_INT32 : NPU_INT8;
	copy.dst_type = copy.a_type;
	copy.cols = (uint32_t)(bytes * 8 / npu_dtype_bits(copy.a_type));
	npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_VCOPY, .un = copy }, &order);
}

/* Pages of a part, one by one: the tokens of a head are a row, and each of them has a scale. */
static void dequantise_pages(const struct emitter *e, const struct step *s, const struct part *part, uint32_t from,
			     uint32_t to, struct npu_order first, struct npu_order last)
{
	const struct paged *p = &e->p;
	for (uint64_t i = 0; i < part->pages; i++) {
		uint64_t token = part->begin + i * p->page;
		struct npu_order order = { 0 };
		if (i == 0)
			order.wait[0] = first.wait[0];
		if (i == part->pages - 1)
			order = (struct npu_order){ .wait = { order.wait[0] }, .post = { last.post[0], last.post[1] } };
		emit_quant(e,
			   (struct npu_quant){ .dst = to + (uint32_t)(token * p->dim * 2),
					       .a = from + (uint32_t)(token * s->heads * p->row_bytes),
					       .scales = from + (uint32_t)(e->k_part + token * s->heads * 2),
					       .rows = (uint32_t)s->heads,
					       .cols = (uint32_t)(part->tokens * p->dim),
					       .dst_stride = (uint32_t)made_head(p) },
			   order);
	}
}

/* Head `h` of a part: its pages are rows. */
static void make_head(const struct emitter *e, const struct step *s, const struct part *part, uint64_t h, uint32_t from,
		      uint32_t to, struct npu_order order)
{
	const struct paged *p = &e->p;
	uint64_t row = part->tokens * p->row_bytes, page = s->heads * row;
	uint32_t a = from + (uint32_t)(part->begin * s->heads * p->row_bytes + h * row);
	uint32_t dst = to + (uint32_t)(h * made_head(p) + part->begin * made_row(p));
	if (p->mode == PAGED_VECTOR)
		emit_quant(e,
			   (struct npu_quant){ .dst = dst,
					       .a = a,
					       .scales = from + (uint32_t)(e->k_part + part->begin * 2),
					       .rows = (uint32_t)part->pages,
					       .cols = (uint32_t)(part->tokens * p->dim),
					       .a_stride = (uint32_t)page },
			   order);
	else
		emit_copy(
		    e, (struct npu_un){ .dst = dst, .a = a, .rows = (uint32_t)part->pages, .a_stride = (uint32_t)page },
		    row, order);
}

/* The scales of a part, for the array: those of head `h`, or of all. */
static void copy_scales(const struct emitter *e, const struct step *s, const struct part *part, uint64_t h,
			uint32_t from, uint32_t to, struct npu_order order)
{
	const struct paged *p = &e->p;
	uint64_t heads = p->scope == PAGED_TOKEN ? 1 : s->heads, row = part->tokens * 2;
	emit_copy(
	    e,
	    (struct npu_un){ .dst = to + (uint32_t)(p->at_once * made_head(p) + h * made_scales(p) + part->begin * 2),
			     .a = from + (uint32_t)(e->k_part + part->begin * heads * 2 + h * row),
			     .rows = (uint32_t)part->pages,
			     .a_stride = (uint32_t)(heads * row) },
	    row, order);
}

/* K or V: `full` is waited for first; `made` is posted for each head, or once where pages are made; `free` at the end.
 */
static void order_pages(const struct emitter *e, const struct step *s, uint32_t from, uint32_t to,
			struct npu_semaphore full, struct npu_semaphore made, struct npu_semaphore free)
{
	const struct paged *p = &e->p;
	struct part parts[2];
	unsigned n = parts_of(p, s, parts);
	if (!makes_heads(p)) {
		for (unsigned i = 0; i < n; i++)
			dequantise_pages(e, s, &parts[i], from, to,
					 (struct npu_order){ .wait = { i == 0 ? full : NPU_NO_SEMAPHORE } },
					 i == n - 1 ? (struct npu_order){ .post = { made, free } }
						    : (struct npu_order){ 0 });
		return;
	}
	for (uint64_t h = 0; h < s->heads; h++) {
		bool scales = p->mode == PAGED_MATRIX && (h == 0 || made_scales(p));
		for (unsigned i = 0; scales && i < n; i++) {
			copy_scales(e, s, &parts[i], h, from, to, (struct npu_order){ .wait = { full } });
			full = NPU_NO_SEMAPHORE;
		}
		for (unsigned i = 0; i < n; i++) {
			struct npu_order order = { .wait = { full } };
			if (i == n - 1)
				order.post[0] = made;
			if (i == n - 1 && h == s->heads - 1)
				order.post[1] = free;
			make_head(e, s, &parts[i], h, from, to, order);
			full = NPU_NO_SEMAPHORE;
		}
	}
}

void paged_order_k(const struct emitter *e, const struct step *s)
{
	struct slot k = ring_at(&e->k, s->number);
	order_pages(e, s, k.at, e->k16[s->number % 2], k.full, e->k16_full, NPU_NO_SEMAPHORE);
}

void paged_prepare_v(const struct emitter *e, const struct step *s)
{
	struct slot v = ring_at(&e->v, s->number);
	if (e->p.whole)
		order_pages(e, s, v.at, e->v16[s->number % 2], NPU_NO_SEMAPHORE, NPU_NO_SEMAPHORE, v.free);
}
