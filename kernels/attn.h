/* SPDX-License-Identifier: Apache-2.0 */
/* What the attention kernels share: their shape, the tensors they pass to one another, the phases of `attention`.
 *
 *   Q[heads, seq_q, dim]   K, V[kv_heads, seq, dim]   S[heads, seq_q, seq] fp32   P like S   O like Q
 *
 * Query head h uses kv head h / (heads / kv_heads). */
#ifndef NPU_KERNELS_ATTN_H
#define NPU_KERNELS_ATTN_H

#include "kernels/kernel.h"
#include "kernels/mask.h"
#include "kernels/pingpong.h"
#include "kernels/reference.h"
#include "kernels/tiles.h"
#include "kernels/zeros.h"

struct attn {
	uint64_t heads, kv_heads, seq_q, seq, dim;
	uint64_t tile_q, tile_kv; /* no larger than seq_q, seq, but 1 where these are 0 */
	uint64_t tile_rows;       /* of softmax over whole rows */
	unsigned buffers;
	bool fused;
	enum npu_dtype type; /* of Q, K, V, P, O */
	uint64_t bytes;      /* an element of that */
	struct npu_mask mask;
	uint64_t blind; /* the first rows of a head, which see no key */
	uint64_t unscored; /* of them, whole tiles of which nobody wants the scores */
	bool skip;         /* tiles that the mask hides are left out of all phases */
	uint64_t group;    /* rows with the same keys in DRAM, from 0 on: tile_q when tiles are skipped; 0: each has all */
	double scale;   /* 1 / sqrt(dim) */
	double softcap; /* scale x score becomes softcap tanh(that / softcap); 0: it stays */
};

/* Where the tensors lie; those that a kernel does not use are zero. */
struct attn_tensors {
	struct npu_dram Q, K, V, S, P, O;
};

/* Keys [first, end). */
struct attn_keys {
	uint64_t first, end;
};
static inline uint64_t attn_keys_count(struct attn_keys k)
{
	return k.end - k.first;
}
/* Those that rows [i, i + rows) take: all of them, or with `skip` the tiles of seq that hold one that a row sees. */
struct attn_keys attn_keys(const struct attn *, uint64_t i, uint64_t rows);
/* Those of the row of tiles that begins at i. */
struct attn_keys attn_tile_keys(const struct attn *, uint64_t i);
/* No rows of a tile of `rows` take more keys. */
uint64_t attn_most_keys(const struct attn *, uint64_t rows);
/* The first row whose scores are computed at all, from which rows of tiles with keys begin. */
static inline uint64_t attn_first_row(const struct attn *a)
{
	return a->skip ? a->unscored : 0;
}
/* What the rows of tiles of one head from `first_row` on take together: rows of tiles, tiles, keys of all rows of tiles,
 * positions of all tiles. */
struct attn_work {
	uint64_t rows, tiles, keys, positions;
};
struct attn_work attn_work(const struct attn *, uint64_t first_row);
/* Tiles of scores of all heads, RING_BUFFERS or more are not told apart. */
uint64_t attn_few_tiles(const struct attn *, uint64_t first_row);

static inline uint64_t attn_kv_head(const struct attn *a, uint64_t head)
{
	return head / (a->heads / a->kv_heads);
}

/* The arguments of a kernel as a shape; parameters that the kernel does not have are neutral. */
struct attn attn_of(const struct npu_kernel *, const struct npu_args *);
/* Up to where tiles of seq_q and seq may be widened beyond TILE_LARGEST; 0: they may not. */
struct wide_tiles {
	int64_t q, kv;
};
#define NO_WIDE_TILES ((struct wide_tiles){ 0, 0 })
/* Fills in seq_q, kv_heads, window, valid; checks what belongs together; chooses tiles. */
bool attn_resolve(const struct npu_kernel *, const struct npu_capacity *, struct npu_args *, tile_trial *,
		  tile_costing *, struct wide_tiles, struct npu_error *);

struct npu_dram attn_q(struct npu_builder *, const struct attn *);
struct npu_dram attn_kv(struct npu_builder *, const struct attn *, const char *name);
struct npu_dram attn_scores(struct npu_builder *, const struct attn *, const char *name, enum npu_dtype,
			    enum npu_tensor_dir);
struct npu_dram attn_o(struct npu_builder *, const struct attn *);

/* Rows of one head as a DMA: of Q or O (row counts query positions), of K or V (of the kv head that the query head
 * uses). */
struct npu_dma attn_q_rows(const struct attn *, struct npu_dram, uint32_t local, uint64_t head, uint64_t row,
			   uint32_t rows);
struct npu_dma attn_kv_rows(const struct attn *, struct npu_dram, uint32_t local, uint64_t head, uint64_t row,
			    uint32_t rows);
/* Rows of K for a product q k^T. SRAM holds them as DRAM does, [rows, dim], and the array turns them on their way in;
 * where it cannot, the load does, and SRAM holds [dim, rows]. */
struct npu_dma attn_k_rows(const struct npu_builder *, const struct attn *, struct npu_dram, uint32_t local,
			   uint64_t head, uint64_t row, uint32_t rows);
/* transpose_b of that product. */
bool attn_array_turns_k(const struct npu_builder *);
/* A block of S or P: rows x keys from (row, key) on. */
struct npu_dma attn_block(const struct attn *, struct npu_dram, enum npu_dtype, uint32_t local, uint64_t head,
			  uint64_t row, uint32_t rows, uint64_t key, uint32_t keys);
/* MACs of a product with such a block that only meet hidden positions. */
uint64_t attn_masked_macs(const struct attn *, uint64_t row, uint32_t rows, uint64_t key, uint32_t keys);

/* The operands of S = Q K^T: q once a row of tiles, k with each tile. q has no semaphores of its own, those of k
 * guard it. */
struct qk_operands {
	unsigned nq;
	uint32_t q[RING_SLOTS];
	struct ring k;
	bool taken[RING_SLOTS]; /* a load of q has taken k.free of that slot, so that the next load into it need not */
	struct npu_semaphore turn; /* of loads_in_turn */
};
/* The loads of tile `tile` of the program in row `row` of tiles, which it opens if `first`. They end in queue order:
 * when k is there, so is q. */
void load_qk(struct npu_builder *, struct qk_operands *, struct npu_dma q, struct npu_dma k, bool first, uint64_t row,
	     uint64_t tile);

/* A phase places its buffers, runs over all heads and gives the buffers back. Its first load waits for `after` and its
 * last store posts `done`, if these are semaphores: then all that comes later, from loads on, is ordered after the
 * phase. */
struct attn_phase {
	struct npu_semaphore after;
	struct npu_semaphore done;
};
bool qk_phase(struct npu_builder *, const struct attn *, const struct attn_tensors *, struct attn_phase);
bool softmax_phase(struct npu_builder *, const struct attn *, const struct attn_tensors *, struct attn_phase);
bool pv_phase(struct npu_builder *, const struct attn *, const struct attn_tensors *, struct attn_phase);
/* Rows of tiles without keys are zeros of O. pv_phase stores them when there are no others; otherwise it is done first of
 * all, and the place is kept until the program ends, so that nobody has to wait for its stores. */
bool pv_place_zeros(struct npu_builder *, const struct attn *, struct zeros *);
void pv_store_zeros(struct npu_builder *, const struct attn *, const struct attn_tensors *, struct zeros *);
/* Whether there are such rows, and others. */
bool pv_has_both(const struct attn *);
/* Places the buffers of a phase on trial and gives them back. */
bool qk_fits(struct npu_builder *, const struct attn *);
bool softmax_fits(struct npu_builder *, const struct attn *);
bool pv_fits(struct npu_builder *, const struct attn *);

struct tile_cost qk_cost(const struct npu_capacity *, const struct attn *);
struct tile_cost pv_cost(const struct npu_capacity *, const struct attn *);
struct npu_expect qk_expect(const struct attn *);
struct npu_expect softmax_expect(const struct attn *);
struct npu_expect pv_expect(const struct attn *);
/* Emits s = tanh(scale s / softcap) for dense fp32 scores, whose scale for softmax then is softcap. */
void attn_cap_scores(struct npu_builder *, double scale, double softcap, uint32_t scores, uint32_t rows, uint32_t cols,
		     struct npu_semaphore wait);
/* What the cap makes of scores before softmax multiplies them by `scale`; nothing without one. */
void attn_softcap(const struct attn *, double *scores, uint64_t n);
/* O = softmax(mask(scale Q K^T)) V from the named tensors. */
bool attn_reference(const struct attn *, struct npu_reference_io *);

/* What happens to the values of online softmax beyond the roundings of flash_attention. */
struct attn_noise {
	double exp_error;       /* relative error of exp */
	double splits;          /* parts of the keys that are merged; 0, 1: one */
	bool converted;         /* K and V are products, rounded to fp16 */
	bool integers;          /* Q and P are rounded to int8 with a scale a row */
	uint64_t parts;         /* of the columns of V, each with scales of its own */
	const double *v_scales; /* [parts, seq] */
};
/* How far O may lie from its reference; K and V of kv head after kv head. */
bool attn_bound(const struct attn *, const double *Q, const double *K, const double *V, const struct attn_noise *,
		double *bound);

#endif
