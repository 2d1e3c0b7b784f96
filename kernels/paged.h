/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels over a paged KV cache share: sequences of different lengths, pages found through block tables, keys
 * and values in fp16 or quantised. Decoding is the case of one new token.
 *
 *   Q[batch, heads, chunk, dim]   K_new, V_new[batch, chunk, kv_heads, dim]   O like Q
 *   pool    [page][kv_head][K|V][token][dim], or [K|V][page][kv_head][token][dim]
 *   scales  [page][kv_head][K|V][half][token], or [K|V][page]...; without kv_head where all heads of a token share one
 *
 * The last `chunk` tokens of a sequence are the new ones. */
#ifndef NPU_KERNELS_PAGED_H
#define NPU_KERNELS_PAGED_H

#include "kernels/kernel.h"
#include "kernels/mask.h"
#include "kernels/reference.h"
#include "kernels/tiles.h"

/* Choices of `kv_group`: which elements of a token share a scale. */
enum paged_group { PAGED_TOKEN, PAGED_HEAD, PAGED_HALF };
/* Choices of `gather`. */
enum paged_gather { PAGED_TOGETHER, PAGED_APART, PAGED_PAGES };
/* What is done with quantised keys and values: nothing as they are fp16, dequantised, or multiplied as int8. */
enum paged_mode { PAGED_PLAIN, PAGED_VECTOR, PAGED_MATRIX };

struct paged {
	uint64_t batch, seq, seq_min, heads, kv_heads, dim, page, chunk, tile_q, tile_kv, splits, seed;
	uint64_t group;     /* query heads of a kv head */
	uint64_t at_once;   /* kv heads of a tile */
	uint64_t halves;    /* scales of a head and token, of K and of V: 1 or 2 */
	uint64_t row_bytes; /* a token of a head */
	unsigned buffers;
	enum npu_dtype kv;
	enum paged_group scope;
	enum paged_mode mode;
	bool kv_first;  /* the layout */
	bool together;  /* one gather brings K and V of a tile */
	bool whole;     /* and of all its heads, and the vector engine puts them in order */
	double scale;   /* 1 / sqrt(dim) */
	double softcap; /* of scores, as in kernels/attn.h; 0: none */
	uint64_t window; /* keys that a query sees, its own included; 0: all up to its own */
	uint64_t pages; /* of all sequences */
};

struct paged paged_of(const struct npu_kernel *, const struct npu_args *);
/* Tokens of a sequence, the new ones included: `seq` for the first, `seq_min` for the last of several, in between what
 * the seed says for the others. */
uint64_t paged_length(const struct paged *, uint64_t sequence);
/* What the new tokens of a sequence of `length` see: row r is the r-th of them. */
struct npu_mask paged_mask(const struct paged *, uint64_t length);
/* Which page of the pool holds which page of which sequence, sequence by sequence; the caller frees it. NULL: out of
 * memory. */
uint32_t *paged_order(const struct paged *);

/* Element of the pool, and of the scales, that belongs to (K or V, kv head, token in page, column). */
uint64_t paged_element(const struct paged *, uint64_t page, unsigned half, uint64_t head, uint64_t token, uint64_t col);
uint64_t paged_scale(const struct paged *, uint64_t page, unsigned half, uint64_t head, uint64_t token, uint64_t col);
uint64_t paged_scale_count(const struct paged *);

bool paged_resolve(const struct npu_kernel *, const struct npu_capacity *, struct npu_args *, struct npu_error *);
bool paged_emit(const struct npu_kernel *, struct npu_builder *, const struct npu_args *);
struct npu_expect paged_expect(const struct npu_kernel *, const struct npu_args *);
bool paged_reference(const struct npu_kernel *, const struct npu_args *, struct npu_reference_io *);
bool paged_bound(const struct npu_kernel *, const struct npu_args *, const struct npu_reference_io *, double exp_error,
		 const char *tensor, double *bound);
/* How large random values of an input are, as a share of the usual ones; see struct npu_kernel. */
double paged_magnitude(const struct npu_kernel *, const struct npu_args *, const char *tensor);

extern const char *const paged_kv_types[]; /* fp16|int8|int4 */
extern const char *const paged_groups[];   /* token|head|half */
extern const char *const paged_dequants[]; /* vector|matrix */
extern const char *const paged_layouts[];  /* page_head_kv|kv_page_head */
extern const char *const paged_gathers[];  /* together|apart|pages */

#define PAGED_PARAM_BATCH PARAM_INT("batch", 1, 1, 1024, "sequence", "sequences")
#define PAGED_PARAM_SEQ(initial)                                                                                       \
	PARAM_INT("seq", initial, 1, MAX_LENGTH, "token", "tokens of the longest sequence, new ones included")
#define PAGED_PARAM_SEQ_MIN                                                                                            \
	PARAM_DERIVED("seq_min", 1, MAX_LENGTH, "token",                                                               \
		      "tokens of the shortest of several sequences, seed draws those in between; default seq")
#define PAGED_PARAM_HEADS    PARAM_INT("heads", 32, 1, MAX_HEADS, "head", "query heads")
#define PAGED_PARAM_KV_HEADS PARAM_INT("kv_heads", 8, 1, MAX_HEADS, "head", "key and value heads, a divisor of heads")
#define PAGED_PARAM_WINDOW                                                                                             \
	PARAM_INT("window", 0, 0, MAX_LENGTH, "token",                                                                 \
		  "keys that a query sees, its own and those before it; 0: all of them")
#define PAGED_PARAM_PAGE     PARAM_INT("page", 16, 1, 1024, "token", "tokens a page")
#define PAGED_PARAM_KV       PARAM_CHOICE("kv", 0, paged_kv_types, "type of cached keys and values")
#define PAGED_PARAM_GROUP                                                                                              \
	PARAM_CHOICE("kv_group", PAGED_HEAD, paged_groups,                                                             \
		     "elements of a token that share an fp16 scale: all heads, a head, half a head")
#define PAGED_PARAM_DEQUANT                                                                                            \
	PARAM_CHOICE(                                                                                                  \
	    "dequant", 0, paged_dequants,                                                                              \
	    "quantised keys and values become fp16 on the vector engine, or go to the array as they are, with q "      \
	    "and p as int8")
#define PAGED_PARAM_LAYOUT                                                                                             \
	PARAM_CHOICE("kv_layout", 0, paged_layouts,                                                                    \
		     "K and V of a head side by side in a page, or K of all pages before V of all pages")
#define PAGED_PARAM_GATHER                                                                                             \
	{                                                                                                              \
		.name = "gather", .type = NPU_PARAM_CHOICE, .choices = paged_gathers, .derived = true, .unit = "",     \
		.meaning =                                                                                             \
		    "K and V of a tile by an instruction a head that brings them apart, where pages allow it; by "     \
		    "one each; or by one for whole pages of all its heads, which the vector engine puts in "           \
		    "order"                                                                                            \
	}
#define PAGED_PARAM_AT_ONCE                                                                                            \
	PARAM_DERIVED("heads_at_once", 1, MAX_HEADS, "head",                                                           \
		      "kv heads that a tile takes together: their blocks of a page follow one another in DRAM")
#define PAGED_PARAM_SPLITS                                                                                             \
	PARAM_INT("splits", 1, 1, 64, "part", "parts of the keys with a softmax of their own, merged at the end")
#define PAGED_PARAM_SEED PARAM_INT("seed", 1, 0, INT32_MAX, "", "decides lengths and the order of the pages")

#endif
