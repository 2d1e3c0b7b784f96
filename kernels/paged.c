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
 * Row r of a unit is query head r / rows of the tile, token r % rows. The queues run one tile apart as there, but where
 * k and v of a tile come together: then its products are done before those of the next tile. */
#include <stdio.h>
#include <stdlib.h>

#include "kernels/paged_emit.h"

/* ---- buffers ---- */

/* What lies where in a buffer. */
static void lay_out(struct emitter *e)
{
	const struct paged *p = &e->p;
	uint64_t rows = p->at_once * p->group * p->tile_q;
	e->staged = least(STAGED, p->chunk);
	e->fresh_q = part_of(e->staged * p->kv_heads * p->dim * 2);
	e->fresh_scales = e->fresh_q + part_of(e->staged * p->kv_heads * p->row_bytes);
	e->k_head = part_of(p->tile_kv * p->row_bytes);
	e->k_part = p->at_once * e->k_head;
	e->scale_head = p->halves * part_of(p->tile_kv * 2);
	e->q_part = part_of(rows * p->dim);
	e->p_part = part_of(rows * p->tile_kv);
	e->state_stride = (uint32_t)(part_of(rows * 4));
	e->acc_bytes = part_of(rows * p->dim * 4);
}

/* What is to be placed, and the sizes and counts that several of them have. */
struct buffers {
	struct npu_request requests[NPU_MAX_REQUESTS];
	unsigned count;
	uint64_t rows, weights; /* of a unit; weights: of its rows and a tile of keys */
	uint64_t scales;        /* bytes of those of a tile of K or V */
	struct totals totals;
	unsigned loads;             /* buffers of what comes with each tile */
	unsigned kv_least;          /* of them, what must have room */
	unsigned turns, unit_turns; /* of what is made for each tile, for each unit */
};

static void add(struct buffers *l, struct npu_request r)
{
	l->requests[l->count++] = r;
}

static void add_keys_and_values(struct emitter *e, struct buffers *l)
{
	const struct paged *p = &e->p;
	bool on_vector = are_made(p);
	uint64_t plain = (p->at_once - 1) * e->k_head + p->tile_kv * p->row_bytes, scaled = e->k_part + l->scales;
	add(l, (struct npu_request){ .name = "k",
				     .bytes = l->scales ? scaled : plain,
				     .count = l->loads,
				     .group = on_vector ? 0 : 5,
				     .step = p->whole    ? 3
					     : on_vector ? 4
							 : 1,
				     .local = e->k.at,
				     .least = l->kv_least,
				     .got = &e->k.n });
	add(l, (struct npu_request){ .name = "v",
				     .bytes = on_vector ? scaled : plain,
				     .count = l->loads,
				     .group = on_vector ? 0 : 3,
				     .step = p->whole ? 3 : 4,
				     .local = e->v.at,
				     .least = l->kv_least,
				     .got = &e->v.n,
				     .pair = true });
	if (p->mode == PAGED_MATRIX && !p->whole)
		add(l, (struct npu_request){ .name = "v_scales",
					     .bytes = l->scales,
					     .count = l->loads,
					     .group = 7,
					     .local = e->vs.at,
					     .least = l->kv_least,
					     .got = &e->vs.n,
					     .pair = true });
}

static void add_queries(struct emitter *e, struct buffers *l)
{
	const struct paged *p = &e->p;
	/* q as it is has no semaphores of its own: those of k guard it (load_q), so it has as many buffers. */
	bool several = l->totals.units > 1, with_k = several && p->mode == PAGED_PLAIN && !p->whole;
	add(l, (struct npu_request){ .name = "q",
				     .bytes = l->rows * p->dim * 2,
				     .count = several ? l->loads : 1,
				     .group = are_made(p) ? 3 : 0,
				     .step = 4,
				     .local = e->q.at,
				     .least = with_k ? l->kv_least : 1,
				     .got = &e->q.n,
				     .pair = with_k });
}

/* Operands as the array takes them, where they are not loaded so. */
static void add_converted(struct emitter *e, struct buffers *l)
{
	const struct paged *p = &e->p;
	uint64_t scales = p->mode == PAGED_MATRIX ? part_of(p->tile_kv * 2) : 0;
	uint64_t kv = p->at_once * made_head(p) + (made_scales(p) ? p->at_once : 1) * scales;
	unsigned turns = l->turns, units = l->unit_turns;
	if (are_made(p)) {
		bool packed = p->mode == PAGED_MATRIX;
		add(l, (struct npu_request){ packed ? "k8" : "k16", false, kv, turns, 1, e->k16, .least = turns,
					     .step = 4 });
		add(l, (struct npu_request){ packed ? "v8" : "v16", false, kv, turns, 2, e->v16, .least = turns,
					     .step = 4 });
	}
	if (p->mode == PAGED_MATRIX) {
		add(l, (struct npu_request){ "q8", false, e->q_part + l->rows * 4, units, 0, e->q8, .least = units });
		add(l, (struct npu_request){ "p32", false, l->weights * 4, 1, 6, &e->p32, .least = 1 });
	}
}

static void add_results(struct emitter *e, struct buffers *l)
{
	const struct paged *p = &e->p;
	bool on_matrix = p->mode == PAGED_MATRIX;
	uint64_t fresh = e->staged * p->kv_heads; /* rows */
	add(l, (struct npu_request){ .name = "p",
				     .bytes = on_matrix ? p->halves * part_of(e->p_part + l->rows * 4) : l->weights * 2,
				     .count = l->turns,
				     .group = are_made(p) ? 3 : 1,
				     .local = e->p_at,
				     .least = l->turns });
	add(l, (struct npu_request){ .name = "o",
				     .bytes = l->rows * p->dim * 2,
				     .count = result_slots(p->buffers, l->totals.units),
				     .group = 2,
				     .step = 4,
				     .local = e->o.at,
				     .least = 1,
				     .got = &e->o.n });
	add(l, (struct npu_request){ .name = "new",
				     .bytes = p->mode == PAGED_PLAIN ? fresh * p->dim * 2
								     : e->fresh_scales + fresh * p->halves * 2,
				     .count = load_slots(p->buffers, 2 * p->batch * tiles_of(p->chunk, STAGED)),
				     .group = 6,
				     .local = e->fresh.at,
				     .least = 1,
				     .got = &e->fresh.n });
}

/* The state of softmax, and the accumulators. */
static void add_sums(struct emitter *e, struct buffers *l)
{
	const struct paged *p = &e->p;
	unsigned turns = l->turns, units = l->unit_turns;
	uint64_t state = p->splits * STATE_VECTORS * e->state_stride, sums = l->rows * p->dim * 4;
	add(l, (struct npu_request){ "state", false, state, units, 7, e->state, .least = units, .step = 4 });
	add(l, (struct npu_request){ "ones", false, l->rows * 4, 1, 7, &e->ones, .least = 1 });
	add(l, (struct npu_request){ "s", true, l->weights * 4, turns, -1, e->s, .least = turns });
	add(l, (struct npu_request){ "acc", true, p->splits * e->acc_bytes, 1, -1, &e->acc, .least = 1 });
	if (p->mode == PAGED_MATRIX)
		add(l, (struct npu_request){ "part", true, sums, turns, -1, e->part, .least = turns });
}

/* Groups as in flash_attention: what streams at the same time lies in different ones. */
bool paged_place(struct emitter *e)
{
	const struct paged *p = &e->p;
	struct totals totals = totals_of(p);
	uint64_t rows = p->at_once * p->group * p->tile_q;
	struct buffers l = {
		.rows = rows,
		.weights = rows * p->tile_kv,
		.scales = p->mode == PAGED_PLAIN ? 0 : p->at_once * p->halves * part_of(p->tile_kv * 2),
		.totals = totals,
		.loads = load_slots(p->buffers, totals.tiles),
		.kv_least = p->together && !p->whole && totals.tiles > 1 ? 2 : 1,
		.turns = totals.tiles > 1 ? 2 : 1,
		.unit_turns = totals.units > 1 ? 2 : 1,
	};
	lay_out(e);
	add_keys_and_values(e, &l);
	add_queries(e, &l);
	add_converted(e, &l);
	add_results(e, &l);
	add_sums(e, &l);
	return npu_place(e->b, l.requests, l.count);
}

/* ---- the array ---- */

/* s of one kv head after the other, each as soon as its k is there. */
static void multiply_qk(const struct emitter *e, const struct step *s)
{
	const struct paged *p = &e->p;
	struct slot k = ring_at(&e->k, s->number), q = ring_at(&e->q, s->unit);
	uint64_t rows = head_rows(p, s);
	for (uint64_t h = 0; h < s->heads; h++) {
		bool last = h == s->heads - 1;
		struct npu_matmul product = {
			.dst = e->s[s->number % 2] + (uint32_t)(h * rows * s->keys * 4),
			.a = q.at + (uint32_t)(h * rows * p->dim * 2),
			.b = k.at + (uint32_t)(h * e->k_head),
			.m = (uint32_t)rows,
			.n = (uint32_t)s->keys,
			.k = (uint32_t)p->dim,
			.a_type = NPU_FP16,
			.b_type = NPU_FP16,
			.transpose_b = array_turns_k(e),
			.masked = hidden_of(p, s) * p->dim,
		};
		struct npu_order order = { .wait = { k.full } };
		struct npu_semaphore free = k.free;
		uint32_t scales = k.at + (uint32_t)(e->k_part + h * e->scale_head);
		if (are_made(p)) {
			uint32_t made = e->k16[s->number % 2];
			product.b = made + (uint32_t)(h * made_head(p));
			scales = made + (uint32_t)(p->at_once * made_head(p) + h * made_scales(p));
			order.wait[0] = h == 0 || makes_heads(p) ? e->k16_full : NPU_NO_SEMAPHORE;
			free = s->closes && p->mode != PAGED_MATRIX ? q.free : NPU_NO_SEMAPHORE;
		}
		if (p->mode == PAGED_MATRIX) {
			product.a = e->q8[s->unit % 2] + (uint32_t)(h * rows * p->dim);
			product.scales = scales;
			product.group = (uint32_t)(p->dim / p->halves);
			product.a_type = NPU_INT8;
			product.b_type = p->kv;
			order.wait[1] = s->opens && h == 0 ? e->q8_full : NPU_NO_SEMAPHORE;
		}
		if (last) {
			order.post[0] = e->s_full;
			order.post[1] = free;
		}
		npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_MATMUL, .matmul = product }, &order);
	}
}

static void multiply_pv(const struct emitter *e, const struct step *s)
{
	const struct paged *p = &e->p;
	struct slot v = ring_at(&e->v, s->number);
	bool integers = p->mode == PAGED_MATRIX;
	uint64_t parts = integers ? p->halves : 1, cols = p->dim / parts, rows = head_rows(p, s);
	uint64_t products = s->heads * parts;
	for (uint64_t i = 0; i < products; i++) {
		uint64_t h = i / parts, part = i % parts, row = h * rows;
		uint32_t to = (uint32_t)((row * p->dim + part * cols) * 4);
		struct npu_matmul product = {
			.dst = (integers ? e->part[s->number % 2] : acc_at(e, s->split)) + to,
			.a = integers ? p8_at(e, s, part) + (uint32_t)(row * s->keys)
				      : e->p_at[s->number % 2] + (uint32_t)(row * s->keys * 2),
			.b = are_made(p) ? e->v16[s->number % 2] + (uint32_t)(h * made_head(p))
					 : v.at + (uint32_t)(h * e->k_head + npu_dtype_bytes(p->kv, part * cols)),
			.m = (uint32_t)rows,
			.n = (uint32_t)cols,
			.k = (uint32_t)s->keys,
			.dst_stride = (uint32_t)p->dim * 4,
			.a_type = integers ? NPU_INT8 : NPU_FP16,
			.b_stride = are_made(p) ? 0 : (uint32_t)p->row_bytes,
			.b_type = integers ? p->kv : NPU_FP16,
			.accumulate = !integers && !s->first,
			.masked = hidden_of(p, s) * cols,
		};
		struct npu_order order = { 0 };
		if (i == 0)
			order.wait[0] = e->p_full;
		if (part == 0 && p->mode == PAGED_PLAIN && !are_made(p))
			order.wait[1] = v.full;
		if (i == products - 1) {
			order.post[0] = e->pv_done;
			order.post[1] = are_made(p) ? NPU_NO_SEMAPHORE : v.free;
		}
		npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_MATMUL, .matmul = product }, &order);
	}
}

/* ---- the program ---- */

/* The new tokens of the next sequence come while the last unit of this one computes, once those of this one are there.
 */
static void load_next(struct emitter *e, const struct step *s)
{
	paged_load_k(e, s);
	if (is_in_last_unit(&e->p, s) && e->waited > s->b && e->next_append == s->b + 1 && e->next_append < e->p.batch)
		paged_append(e, e->next_append++);
}

/* Loads that are yet to be emitted. */
struct loads {
	struct step next;
	bool more;
};

static void load_up_to(struct emitter *e, struct loads *l, uint64_t number)
{
	while (l->more && l->next.number <= number) {
		load_next(e, &l->next);
		l->more = advance(&e->p, &l->next);
	}
}

/* How many tiles before their turn loads are emitted. The vector engine gives the buffers of whole pages back before
 * anything is multiplied: while its queue is full of work on one tile, the load of the next but one need not wait. */
static uint64_t loads_ahead(const struct emitter *e)
{
	bool twice = e->k.n > 1 && e->v.n > 1 && (e->q.n > 1 || totals_of(&e->p).units == 1);
	return e->p.whole && twice ? 2 : 1;
}

static void begin_region(struct emitter *e, const struct step *s)
{
	unsigned b = (unsigned)s->b, head = (unsigned)s->head;
	if (s->heads == 1)
		npu_region(e->b, "sequence %u, kv head %u", b, head);
	else
		npu_region(e->b, "sequence %u, kv heads %u to %u", b, head, head + (unsigned)s->heads - 1);
}

static void emit_steps(struct emitter *e)
{
	const struct paged *p = &e->p;
	struct step now = step_at(p, (struct step){ 0 }), before = now, next = now;
	struct npu_fill ones = {
		.dst = e->ones, .imm = 1, .rows = 1, .cols = (uint32_t)(p->at_once * p->group * p->tile_q)
	};
	struct loads loads = { .next = now, .more = true };
	uint64_t ahead = loads_ahead(e);
	bool more = true;
	npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_VFILL, .fill = ones }, NULL);
	paged_append(e, e->next_append++);
	load_up_to(e, &loads, ahead - 1);
	paged_prepare_k(e, &now);
	paged_prepare_v(e, &now);
	multiply_qk(e, &now);
	while (more && !npu_builder_failed(e->b)) {
		more = advance(p, &next);
		if (now.opens)
			begin_region(e, &now);
		load_up_to(e, &loads, now.number + ahead);
		paged_load_v(e, &now);
		/* Where v comes with k, what reads k of the next tile would keep v of this one waiting for it, and its
		 * slot. */
		if (more && (!p->together || p->whole)) {
			paged_prepare_k(e, &next);
			if (p->whole)
				multiply_qk(e, &next);
			paged_weigh(e, &now, &before);
			paged_prepare_v(e, &next);
			if (!p->whole)
				multiply_qk(e, &next);
			multiply_pv(e, &now);
		} else {
			paged_weigh(e, &now, &before);
			multiply_pv(e, &now);
		}
		if (more && p->together && !p->whole) {
			paged_prepare_k(e, &next);
			multiply_qk(e, &next);
		}
		if (!more && p->mode == PAGED_MATRIX)
			paged_add_part(e, &now);
		if (!more)
			paged_finish(e, &now, p->mode == PAGED_MATRIX ? NPU_NO_SEMAPHORE : e->pv_done,
				     NPU_NO_SEMAPHORE);
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

static void make_semaphores(struct emitter *e)
{
	/* Together, k tells of v too that it is there, and v of k that it is free: it is read last. */
	if (e->p.together)
		ring_init_full(e->b, &e->k, "k");
	else
		ring_init(e->b, &e->k, "k");
	/* Behind v come its scales, and what waits for them posts p_full. */
	if (e->p.together || e->p.mode == PAGED_MATRIX)
		ring_init_free(e->b, &e->v, "v");
	else
		ring_init(e->b, &e->v, "v");
	ring_init(e->b, &e->o, "o");
	e->fresh_once = 2 * tiles_of(e->p.chunk, STAGED) <= e->fresh.n;
	if (e->fresh_once)
		ring_init_full(e->b, &e->fresh, "new");
	else
		ring_init(e->b, &e->fresh, "new");
	e->s_full = npu_semaphore(e->b, "s_full", 0);
	e->p_full = npu_semaphore(e->b, "p_full", 0);
	e->pv_done = npu_semaphore(e->b, "pv_done", 0);
	e->appended = npu_semaphore(e->b, "appended", 0);
	if (e->p.mode != PAGED_PLAIN)
		e->fresh_q_full = npu_semaphore(e->b, "new_quantised", 0);
	if (are_made(&e->p))
		e->k16_full = npu_semaphore(e->b, "k16_full", 0);
	/* q comes before what is waited for with k. */
	if (are_made(&e->p))
		ring_init_free(e->b, &e->q, "q");
	if (e->p.mode == PAGED_MATRIX) {
		if (!e->p.whole)
			ring_init(e->b, &e->q, "q");
		/* The product that gives v back comes after what reads its scales. */
		if (!e->p.whole)
			ring_init_full(e->b, &e->vs, "v_scales");
		e->q8_full = npu_semaphore(e->b, "q8_full", 0);
	}
}

bool paged_emit(const struct npu_kernel *k, struct npu_builder *b, const struct npu_args *args)
{
	struct emitter e = { .b = b, .p = paged_of(k, args) };
	make_tensors(&e);
	if (!npu_builder_failed(b) && make_tables(&e) && paged_place(&e)) {
		make_semaphores(&e);
		emit_steps(&e);
	}
	free(e.tables);
	return !npu_builder_failed(b);
}
