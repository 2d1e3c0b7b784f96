/* SPDX-License-Identifier: Apache-2.0 */
/* Attention over a paged cache: what the vector engine does. */
#include <string.h>

#include "kernels/attn.h"
#include "kernels/paged_emit.h"

/* Kv head `h` of the unit to fp16, a part of the columns at a time, as each has scales of its own. K that the DMA has
 * turned has a scale a column. */
static void dequantise(const struct emitter *e, const struct step *s, uint64_t h, uint32_t from, uint32_t to,
		       bool turned, struct npu_order order)
{
	const struct paged *p = &e->p;
	uint64_t cols = p->dim / p->halves;
	uint32_t at = from + (uint32_t)(h * e->k_head), scales = from + (uint32_t)(e->k_part + h * e->scale_head);
	to += (uint32_t)(h * made_head(p));
	for (uint64_t part = 0; part < p->halves; part++) {
		bool begins = part == 0, ends = part == p->halves - 1;
		uint64_t skipped =
		    turned ? part * cols * npu_dtype_bytes(p->kv, s->keys) : part * npu_dtype_bytes(p->kv, cols);
		struct npu_quant convert = {
			.dst = to + (uint32_t)(turned ? part * cols * s->keys * 2 : part * cols * 2),
			.a = at + (uint32_t)skipped,
			.scales = scales + (uint32_t)part * scales_apart(p, s, 1),
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

/* The array takes them one by one, so each is told of. */
static void dequantise_k(const struct emitter *e, const struct step *s)
{
	struct slot k = ring_at(&e->k, s->number);
	for (uint64_t h = 0; h < s->heads; h++)
		dequantise(
		    e, s, h, k.at, e->k16[s->number % 2], !array_turns_k(e),
		    (struct npu_order){ .wait = { k.full },
					.post = { e->k16_full, h == s->heads - 1 ? k.free : NPU_NO_SEMAPHORE } });
}

static void dequantise_v(const struct emitter *e, const struct step *s, struct npu_semaphore ready)
{
	struct slot v = ring_at(&e->v, s->number);
	for (uint64_t h = 0; h < s->heads; h++) {
		struct npu_order order = { .wait = { v.full } };
		if (h == s->heads - 1) {
			order.post[0] = v.free;
			order.post[1] = ready;
		}
		dequantise(e, s, h, v.at, e->v16[s->number % 2], false, order);
	}
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

static void elementwise(const struct emitter *e, enum npu_op op, struct npu_ew ew, struct npu_order order)
{
	npu_emit(e->b, &(struct npu_insn){ .op = op, .ew = ew }, &order);
}

/* `ready`: posted by the last instruction. */
static void softmax(const struct emitter *e, const struct step *s, struct npu_semaphore full,
		    struct npu_semaphore ready)
{
	const struct paged *p = &e->p;
	bool masked = is_masked(p, s), wide = p->mode == PAGED_MATRIX;
	uint64_t heads = masked ? s->heads * p->group : 1, rows = rows_of(p, s) / heads;
	uint64_t at = paged_length(p, s->b) - p->chunk + s->i, end = at + s->rows;
	/* A window that begins with the tile, or before it, for the last query does so for all. */
	bool left = p->window && end > p->window && end - p->window > s->j;
	if (p->softcap > 0) {
		attn_cap_scores(e->b, p->scale, p->softcap, e->s[s->number % 2], (uint32_t)rows_of(p, s),
				(uint32_t)s->keys, full);
		full = NPU_NO_SEMAPHORE;
	}
	for (uint64_t h = 0; h < heads; h++) {
		uint64_t row = h * rows;
		struct npu_softmax online = {
			.dst = (wide ? e->p32 : e->p_at[s->number % 2]) + (uint32_t)(row * s->keys * (wide ? 4 : 2)),
			.a = e->s[s->number % 2] + (uint32_t)(row * s->keys * 4),
			.state = state_at(e, s->unit, s->split, STATE_MAX) + 4 * (uint32_t)row,
			.scale = (float)(p->softcap > 0 ? p->softcap : p->scale),
			.rows = (uint32_t)rows,
			.cols = (uint32_t)s->keys,
			.state_stride = e->state_stride,
			.causal = at + 1 < s->j + s->keys,
			.first = s->first,
			.dst_type = wide ? NPU_FP32 : NPU_FP16,
			.a_type = NPU_FP32,
			.window = left ? (uint32_t)p->window : 0,
			.diagonal = masked ? (int32_t)((int64_t)at - (int64_t)s->j) : 0,
		};
		npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_VSOFTMAX_ONLINE, .softmax = online },
			 &(struct npu_order){ .wait = { h == 0 ? full : NPU_NO_SEMAPHORE },
					      .post = { h == heads - 1 ? ready : NPU_NO_SEMAPHORE } });
	}
}

/* Those of whole pages are there: the vector engine has put them behind v. */
static struct slot scales_of_v(const struct emitter *e, const struct step *s)
{
	if (e->p.whole)
		return (struct slot){ .at = e->v16[s->number % 2] + (uint32_t)(e->p.at_once * made_head(&e->p)) };
	return ring_at(&e->vs, s->number);
}

/* Integer scores get the scales of q; weights those of v, and become int8 with a scale a row. */
static void softmax_of_integers(const struct emitter *e, const struct step *s)
{
	const struct paged *p = &e->p;
	struct slot vs = scales_of_v(e, s);
	uint64_t apart = p->whole ? made_scales(p) : e->scale_head;
	uint32_t rows = (uint32_t)rows_of(p, s), keys = (uint32_t)s->keys, scores = e->s[s->number % 2];
	elementwise(e, NPU_OP_VMUL,
		    (struct npu_ew){ .dst = scores,
				     .a = scores,
				     .b = e->q8[s->unit % 2] + (uint32_t)e->q_part,
				     .rows = rows,
				     .cols = keys,
				     .b_bcast = NPU_BCAST_COL },
		    (struct npu_order){ .wait = { e->s_full } });
	softmax(e, s, NPU_NO_SEMAPHORE, NPU_NO_SEMAPHORE);
	for (uint64_t part = 0; part < p->halves; part++) {
		bool ends = part == p->halves - 1;
		/* The scores are no longer wanted: weights of another half of v take their place. */
		uint32_t to = ends ? e->p32 : scores;
		for (uint64_t h = 0; h < s->heads; h++) {
			uint32_t row = (uint32_t)(h * head_rows(p, s) * s->keys * 4);
			elementwise(e, NPU_OP_VMUL,
				    (struct npu_ew){ .dst = to + row,
						     .a = e->p32 + row,
						     .b = vs.at + (uint32_t)(h * apart) +
							  (uint32_t)part * scales_apart(p, s, 1),
						     .rows = (uint32_t)head_rows(p, s),
						     .cols = keys,
						     .b_type = NPU_FP16,
						     .b_bcast = NPU_BCAST_ROW },
				    (struct npu_order){ .wait = { part == 0 ? vs.full : NPU_NO_SEMAPHORE } });
		}
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
		    (struct npu_ew){ .dst = acc,
				     .a = acc,
				     .b = state_at(e, s->unit, s->split, STATE_RESCALE),
				     .rows = (uint32_t)rows_of(&e->p, s),
				     .cols = (uint32_t)e->p.dim,
				     .b_bcast = NPU_BCAST_COL },
		    order);
}

/* acc (+)= the integer sums of a tile, times the scales of p. */
void paged_add_part(const struct emitter *e, const struct step *s)
{
	const struct paged *p = &e->p;
	uint32_t cols = (uint32_t)(p->dim / p->halves), stride = (uint32_t)p->dim * 4, sums = e->part[s->number % 2];
	uint32_t rows = (uint32_t)rows_of(p, s), acc = acc_at(e, s->split);
	for (uint32_t part = 0; part < p->halves; part++)
		elementwise(e, NPU_OP_VMUL,
			    (struct npu_ew){ .dst = (s->first ? acc : sums) + part * cols * 4,
					     .a = sums + part * cols * 4,
					     .b = p8_at(e, s, part) + (uint32_t)e->p_part,
					     .rows = rows,
					     .cols = cols,
					     .dst_stride = stride,
					     .a_stride = stride,
					     .a_type = NPU_INT32,
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
	return (struct npu_ew){
		.dst = at, .a = at, .rows = (uint32_t)n, .cols = rows, .dst_stride = stride, .a_stride = stride
	};
}

/* Splits of a unit weigh exp(max - largest max); what divides them is the sum of their sums, weighted. acc[0] +=
 * acc[s], each times its share; the last of them becomes o. `sums`: waited for before acc is touched. */
static void merge(const struct emitter *e, const struct step *s, uint64_t n, struct npu_semaphore sums,
		  struct npu_order out)
{
	const struct paged *p = &e->p;
	uint32_t rows = (uint32_t)rows_of(p, s), largest = state_at(e, s->unit, 0, STATE_RESCALE);
	struct npu_ew over = over_splits(e, s->unit, rows, n, STATE_MAX);
	for (uint64_t i = 1; i < n; i++)
		elementwise(e, NPU_OP_VMAX,
			    (struct npu_ew){ .dst = largest,
					     .a = i == 1 ? state_at(e, s->unit, 0, STATE_MAX) : largest,
					     .b = state_at(e, s->unit, i, STATE_MAX),
					     .rows = 1,
					     .cols = rows },
			    (struct npu_order){ 0 });
	over.b = largest;
	over.b_bcast = NPU_BCAST_ROW;
	elementwise(e, NPU_OP_VSUB, over, (struct npu_order){ 0 });
	struct npu_un weigh = { .dst = over.dst,
				.a = over.a,
				.scale = 1,
				.rows = over.rows,
				.cols = over.cols,
				.dst_stride = over.dst_stride,
				.a_stride = over.a_stride };
	npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_VEXP, .un = weigh }, NULL);

	struct npu_ew weighted = over_splits(e, s->unit, rows, n, STATE_SUM);
	weighted.b = over.dst;
	weighted.b_stride = over.dst_stride;
	elementwise(e, NPU_OP_VMUL, weighted, (struct npu_order){ 0 });
	for (uint64_t i = 1; i < n; i++)
		elementwise(e, NPU_OP_VADD,
			    (struct npu_ew){ .dst = weighted.dst,
					     .a = weighted.dst,
					     .b = state_at(e, s->unit, i, STATE_SUM),
					     .rows = 1,
					     .cols = rows },
			    (struct npu_order){ 0 });
	elementwise(
	    e, NPU_OP_VDIV,
	    (struct npu_ew){ .dst = largest, .a = e->ones, .b = weighted.dst, .rows = 1, .cols = rows, .guard = 1 },
	    (struct npu_order){ 0 });
	elementwise(e, NPU_OP_VMUL, over, (struct npu_order){ 0 });
	for (uint64_t i = 0; i < n; i++)
		elementwise(e, NPU_OP_VMUL,
			    (struct npu_ew){ .dst = acc_at(e, i),
					     .a = acc_at(e, i),
					     .b = state_at(e, s->unit, i, STATE_MAX),
					     .rows = rows,
					     .cols = (uint32_t)p->dim,
					     .b_bcast = NPU_BCAST_COL },
			    (struct npu_order){ .wait = { i == 0 ? sums : NPU_NO_SEMAPHORE } });
	for (uint64_t i = 1; i < n; i++) {
		bool last = i == n - 1;
		struct npu_ew add = { .dst = last ? ring_at(&e->o, s->unit).at : acc_at(e, 0),
				      .a = acc_at(e, 0),
				      .b = acc_at(e, i),
				      .rows = rows,
				      .cols = (uint32_t)p->dim,
				      .dst_type = last ? NPU_FP16 : NPU_FP32 };
		elementwise(e, NPU_OP_VADD, add, last ? out : (struct npu_order){ 0 });
	}
}

/* The unit that `s` closes: o, and its store. `ready` is posted once acc may be written again. */
void paged_finish(const struct emitter *e, const struct step *s, struct npu_semaphore sums, struct npu_semaphore ready)
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
			    (struct npu_ew){ .dst = o.at,
					     .a = acc_at(e, 0),
					     .b = sum,
					     .rows = rows,
					     .cols = (uint32_t)p->dim,
					     .dst_type = NPU_FP16,
					     .b_bcast = NPU_BCAST_COL },
			    (struct npu_order){ .wait = { o.free, sums }, .post = { o.full, ready } });
	}
	npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_STORE, .dma = paged_query_rows(e, e->O, s, o.at) },
		 &(struct npu_order){ .wait = { o.full }, .post = { o.free } });
}

/* Weights of tile `now`; then acc is made ready for their product. `before` is the tile before, which is still summed.
 */
void paged_weigh(const struct emitter *e, const struct step *now, const struct step *before)
{
	bool very_first = now->number == 0;
	struct npu_order order = { .wait = { e->pv_done }, .post = { e->p_full } };
	if (e->p.mode == PAGED_MATRIX) {
		softmax_of_integers(e, now);
		if (!very_first)
			paged_add_part(e, before);
		if (now->opens && !very_first)
			paged_finish(e, before, NPU_NO_SEMAPHORE, NPU_NO_SEMAPHORE);
		else if (!now->first)
			rescale(e, now, (struct npu_order){ 0 });
		return;
	}
	/* Nothing stands between the very first weights and their product. */
	struct npu_semaphore ready = very_first ? e->p_full : NPU_NO_SEMAPHORE;
	bool convert = e->p.mode == PAGED_VECTOR && !e->p.whole;
	softmax(e, now, e->s_full, convert ? NPU_NO_SEMAPHORE : ready);
	if (convert)
		dequantise_v(e, now, ready);
	if (very_first)
		return;
	if (now->opens)
		paged_finish(e, before, e->pv_done, e->p_full);
	else if (now->first)
		npu_emit(e->b, &(struct npu_insn){ .op = NPU_OP_SYNC_VECTOR }, &order);
	else
		rescale(e, now, order);
}

void paged_prepare_k(const struct emitter *e, const struct step *s)
{
	if (e->p.whole)
		paged_order_k(e, s);
	else if (e->p.mode == PAGED_VECTOR)
		dequantise_k(e, s);
	if (e->p.mode == PAGED_MATRIX && s->opens)
		quantise_q(e, s);
}
