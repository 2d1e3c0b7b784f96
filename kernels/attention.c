/* SPDX-License-Identifier: Apache-2.0 */
/* Attention in three phases with the scores spilled to DRAM: what flash_attention avoids.
 *
 *   qk_tiled       S = Q K^T                     all heads
 *   mask_softmax   P = softmax(mask(scale S))    all heads
 *   pv_tiled       O = P V                       all heads
 *
 * A phase begins when the last store of the one before it has ended; each has the whole SRAM for itself. Tiles of S and P
 * that the mask hides as a whole are left out of all three: nobody writes or reads them. With hidden=compute they are
 * computed like the others; only useful_macs leaves them out. */
#include "kernels/attn.h"
#include "kernels/kernels.h"
#include "kernels/params.h"
#include "kernels/pingpong.h"

static const struct npu_param params[] = {
	PARAM_SEQ,   PARAM_SEQ_Q,  PARAM_HEADS, PARAM_KV_HEADS, PARAM_HEAD_DIM, PARAM_MASK,      PARAM_WINDOW,
	PARAM_VALID, PARAM_FLOATS, PARAM_FUSED, PARAM_TILE_Q,   PARAM_TILE_KV,  PARAM_TILE_ROWS, PARAM_BUFFERING,
	PARAM_HIDDEN("tiles that the mask hides: left out of the three phases, or computed as if it were not known yet"),
};

static struct attn attention_of(const struct npu_args *args)
{
	struct attn a = attn_of(&npu_attention, args);
	a.unscored = a.blind < a.seq_q ? a.blind / a.tile_q * a.tile_q : a.seq_q;
	a.group = a.skip ? a.tile_q : 0;
	return a;
}

/* Without them there is but one phase, of zeros. */
static bool has_scores(const struct attn *a)
{
	return a->seq && attn_first_row(a) < a->seq_q;
}

static bool try_place(struct npu_builder *b, const struct npu_args *args)
{
	struct attn a = attention_of(args);
	struct zeros zeros;
	return (!pv_has_both(&a) || pv_place_zeros(b, &a, &zeros)) && qk_fits(b, &a) && softmax_fits(b, &a) &&
	       pv_fits(b, &a);
}

/* Of the two products; softmax moves whole rows whatever the tiles. */
static struct tile_cost cost(const struct npu_capacity *capacity, const struct npu_args *args)
{
	struct attn a = attn_of(&npu_attention, args);
	struct tile_cost qk = qk_cost(capacity, &a), pv = pv_cost(capacity, &a);
	return (struct tile_cost){ .dram = qk.dram + pv.dram, .array = qk.array + pv.array };
}

static bool resolve(const struct npu_capacity *capacity, struct npu_args *args, struct npu_error *err)
{
	return attn_resolve(&npu_attention, capacity, args, try_place, cost, NO_WIDE_TILES, err);
}

static bool emit(struct npu_builder *b, const struct npu_args *args)
{
	struct attn a = attention_of(args);
	struct attn_tensors t = { .Q = attn_q(b, &a), .K = attn_kv(b, &a, "K"), .V = attn_kv(b, &a, "V") };
	t.S = attn_scores(b, &a, "S", NPU_FP32, NPU_TENSOR_TEMP);
	t.P = attn_scores(b, &a, "P", a.type, NPU_TENSOR_TEMP);
	t.O = attn_o(b, &a);
	if (!has_scores(&a))
		return pv_phase(b, &a, &t, (struct attn_phase){ 0 });
	struct zeros zeros = { .full_name = "o_zeros_full" };
	if (pv_has_both(&a)) {
		if (!pv_place_zeros(b, &a, &zeros))
			return false;
		npu_region(b, "rows that see nothing");
		pv_store_zeros(b, &a, &t, &zeros);
		npu_region_end(b);
	}
	struct npu_semaphore s_done = npu_semaphore(b, "s_done", 0), p_done = npu_semaphore(b, "p_done", 0);

	npu_region(b, "qk");
	bool scores = a.unscored < a.seq_q;
	qk_phase(b, &a, &t, (struct attn_phase){ .done = s_done });
	npu_region_end(b);
	npu_region(b, "softmax");
	softmax_phase(b, &a, &t, (struct attn_phase){ .after = scores ? s_done : NPU_NO_SEMAPHORE, .done = p_done });
	npu_region_end(b);
	npu_region(b, "pv");
	pv_phase(b, &a, &t, (struct attn_phase){ .after = p_done });
	npu_region_end(b);
	return !npu_builder_failed(b);
}

static struct npu_expect expect(const struct npu_args *args)
{
	struct attn a = attention_of(args);
	struct npu_expect qk = qk_expect(&a), softmax = softmax_expect(&a), pv = pv_expect(&a);
	return (struct npu_expect){
		.macs = qk.macs + pv.macs,
		.useful_macs = qk.useful_macs + pv.useful_macs,
		.dram_read_bytes = qk.dram_read_bytes + softmax.dram_read_bytes + pv.dram_read_bytes,
		.dram_write_bytes = qk.dram_write_bytes + softmax.dram_write_bytes + pv.dram_write_bytes,
		/* Two phases begin with a wait. */
		.instructions = qk.instructions + softmax.instructions + pv.instructions +
				(has_scores(&a) ? 1 + (a.unscored < a.seq_q) : 0),
	};
}

static bool reference(const struct npu_args *args, struct npu_reference_io *io)
{
	struct attn a = attn_of(&npu_attention, args);
	return attn_reference(&a, io);
}

const struct npu_kernel npu_attention = {
	.name = "attention",
	.summary = "attention in three phases, scores spilled to DRAM",
	PARAMS_OF(params),
	.resolve = resolve,
	.emit = emit,
	.expect = expect,
	.reference = reference,
};
