/* SPDX-License-Identifier: Apache-2.0 */
/* Plain results of attention over a paged cache. */
#include "kernels/paged.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/attn.h"
#include "kernels/pingpong.h"

/* ---- the cache ---- */

/* What the reference reads and, but for bounds, writes. */
struct cache {
	const struct paged *p;
	const double *Q, *K_new, *V_new, *pool, *scales;
	double *new_pool, *new_scales;
	uint32_t *order;
};

static bool open_cache(struct cache *c, const struct paged *p, const struct npu_reference_io *io)
{
	uint64_t fresh = p->batch * p->chunk * p->kv_heads * p->dim,
		 pool = p->pages * p->kv_heads * 2 * p->page * p->dim;
	bool plain = p->mode == PAGED_PLAIN;
	*c = (struct cache){
		.p = p,
		.Q = npu_reference_read(io, "Q", p->batch * p->heads * p->chunk * p->dim),
		.K_new = npu_reference_read(io, "K_new", fresh),
		.V_new = npu_reference_read(io, "V_new", fresh),
		.pool = npu_reference_read(io, "pool", pool),
		.scales = plain ? NULL : npu_reference_read(io, "scales", paged_scale_count(p)),
		.order = paged_order(p),
	};
	return c->Q && c->K_new && c->V_new && c->pool && (c->scales || plain) && c->order;
}

static bool open_to_write(struct cache *c, const struct paged *p, const struct npu_reference_io *io)
{
	if (!open_cache(c, p, io))
		return false;
	c->new_pool = npu_reference_write(io, "pool", p->pages * p->kv_heads * 2 * p->page * p->dim);
	c->new_scales = c->scales ? npu_reference_write(io, "scales", paged_scale_count(p)) : NULL;
	return c->new_pool && (c->new_scales || !c->scales);
}

/* Where a token of a sequence lies. */
struct place {
	uint64_t page, token;
};

static struct place place_of(const struct cache *c, const uint32_t *pages, uint64_t token)
{
	return (struct place){ pages[token / c->p->page], token % c->p->page };
}

/* A new token of all heads, K or V, into the page. */
static void append_token(const struct cache *c, const double *x, struct place at, unsigned half, double *q)
{
	const struct paged *p = c->p;
	uint64_t wide = p->kv_heads * p->dim, shared = p->scope == PAGED_TOKEN ? wide : p->dim / p->halves;
	for (uint64_t i = 0; i < wide; i += shared) {
		if (p->mode == PAGED_PLAIN)
			memcpy(q + i, x + i, shared * sizeof *q);
		else
			c->new_scales[paged_scale(p, at.page, half, i / p->dim, at.token, i % p->dim)] =
			    npu_reference_quantise(p->kv, x + i, shared, q + i);
	}
	for (uint64_t i = 0; i < wide; i++)
		c->new_pool[paged_element(p, at.page, half, i / p->dim, at.token, i % p->dim)] = q[i];
}

static bool append(const struct cache *c)
{
	const struct paged *p = c->p;
	const uint32_t *pages = c->order;
	uint64_t wide = p->kv_heads * p->dim;
	double *q = malloc(wide * sizeof *q);
	for (uint64_t b = 0; q && b < p->batch; b++) {
		uint64_t length = paged_length(p, b);
		for (uint64_t t = 0; t < p->chunk; t++) {
			struct place at = place_of(c, pages, length - p->chunk + t);
			append_token(c, c->K_new + (b * p->chunk + t) * wide, at, 0, q);
			append_token(c, c->V_new + (b * p->chunk + t) * wide, at, 1, q);
		}
		pages += tiles_of(length, p->page);
	}
	free(q);
	return q != NULL;
}

/* Keys or values of a head as numbers, [length, dim]. */
static void read_head(const struct cache *c, const uint32_t *pages, uint64_t length, unsigned half, uint64_t head,
		      double *x)
{
	const struct paged *p = c->p;
	for (uint64_t t = 0; t < length; t++) {
		struct place at = place_of(c, pages, t);
		for (uint64_t d = 0; d < p->dim; d++, x++) {
			*x = c->pool[paged_element(p, at.page, half, head, at.token, d)];
			if (p->mode != PAGED_PLAIN)
				*x *= c->scales[paged_scale(p, at.page, half, head, at.token, d)];
		}
	}
}

/* The queries of a kv head: a head each, over keys of their own sequence. */
static struct attn attention_of(const struct paged *p, uint64_t length)
{
	struct attn a = {
		.heads = p->group,
		.kv_heads = 1,
		.seq_q = p->chunk,
		.seq = length,
		.dim = p->dim,
		.tile_kv = p->tile_kv,
		.type = NPU_FP16,
		.bytes = 2,
		.scale = p->scale,
		.softcap = p->softcap,
		.mask = paged_mask(p, length),
	};
	return a;
}

/* Calls `each` for every kv head of every sequence; `at`: offset of its queries in Q and O. */
struct head {
	const struct cache *c;
	const uint32_t *pages;
	uint64_t length, head;
	const double *q, *k, *v;
};
typedef bool head_visit(const struct head *, double *out, double exp_error);

static bool visit_heads(const struct cache *c, head_visit *each, double *out, double exp_error)
{
	const struct paged *p = c->p;
	const uint32_t *pages = c->order;
	uint64_t queries = p->group * p->chunk * p->dim;
	double *k = malloc((2 * p->seq * p->dim + 1) * sizeof *k);
	bool ok = k != NULL;
	for (uint64_t b = 0; ok && b < p->batch; b++) {
		uint64_t length = paged_length(p, b);
		for (uint64_t h = 0; ok && h < p->kv_heads; h++) {
			uint64_t at = (b * p->kv_heads + h) * queries;
			struct head head = { c, pages, length, h, c->Q + at, k, k + length * p->dim };
			read_head(c, pages, length, 0, h, k);
			read_head(c, pages, length, 1, h, k + length * p->dim);
			ok = each(&head, out + at, exp_error);
		}
		pages += tiles_of(length, p->page);
	}
	free(k);
	return ok;
}

static bool attend(const struct head *h, double *out, double exp_error)
{
	struct attn a = attention_of(h->c->p, h->length);
	uint64_t queries = a.seq_q * a.dim;
	double *scores = malloc((a.seq_q * a.seq + 1) * sizeof *scores);
	(void)exp_error;
	for (uint64_t g = 0; scores && g < a.heads; g++) {
		npu_reference_matmul(a.seq_q, a.seq, a.dim, h->q + g * queries, h->k, true, scores);
		attn_softcap(&a, scores, a.seq_q * a.seq);
		npu_reference_softmax(a.seq_q, &a.mask, a.scale, scores, scores);
		npu_reference_matmul(a.seq_q, a.dim, a.seq, scores, h->v, false, out + g * queries);
	}
	free(scores);
	return scores != NULL;
}

bool paged_reference(const struct npu_kernel *k, const struct npu_args *args, struct npu_reference_io *io)
{
	struct paged p = paged_of(k, args);
	struct cache c;
	double *O = npu_reference_write(io, "O", p.batch * p.heads * p.chunk * p.dim);
	bool ok = open_to_write(&c, &p, io) && O && append(&c) && visit_heads(&c, attend, O, 0);
	free(c.order);
	return ok;
}

/* The usual integers, times the usual scales, are as large as the usual fp16 then. */
double paged_magnitude(const struct npu_kernel *k, const struct npu_args *args, const char *tensor)
{
	struct paged p = paged_of(k, args);
	return strcmp(tensor, "scales") != 0 ? 1 : p.kv == NPU_INT8 ? 0x1p-6 : 0x1p-2;
}

/* ---- bounds ---- */

static bool bound_head(const struct head *h, double *bound, double exp_error)
{
	const struct paged *p = h->c->p;
	struct attn a = attention_of(p, h->length);
	struct attn_noise noise = {
		.exp_error = exp_error,
		.splits = (double)p->splits,
		.converted = p->mode == PAGED_VECTOR,
		.integers = p->mode == PAGED_MATRIX,
		.parts = p->halves,
	};
	double *scales = malloc((p->halves * h->length + 1) * sizeof *scales);
	for (uint64_t i = 0; scales && noise.integers && i < p->halves * h->length; i++) {
		struct place at = place_of(h->c, h->pages, i % h->length);
		scales[i] =
		    h->c->scales[paged_scale(p, at.page, 1, h->head, at.token, i / h->length * (p->dim / p->halves))];
	}
	noise.v_scales = scales;
	bool ok = scales && attn_bound(&a, h->q, h->k, h->v, &noise, bound);
	free(scales);
	return ok;
}

bool paged_bound(const struct npu_kernel *k, const struct npu_args *args, const struct npu_reference_io *io,
		 double exp_error, const char *tensor, double *bound)
{
	struct paged p = paged_of(k, args);
	struct cache c;
	/* Bits are moved, and the quotients that are rounded to integers lie too far from ties to depend on fp32. */
	if (!strcmp(tensor, "pool"))
		memset(bound, 0, p.pages * p.kv_heads * 2 * p.page * p.dim * sizeof *bound);
	else if (!strcmp(tensor, "scales"))
		memset(bound, 0, paged_scale_count(&p) * sizeof *bound);
	if (strcmp(tensor, "O") != 0)
		return !strcmp(tensor, "pool") || !strcmp(tensor, "scales");
	bool ok = open_cache(&c, &p, io) && visit_heads(&c, bound_head, bound, exp_error);
	free(c.order);
	return ok;
}
