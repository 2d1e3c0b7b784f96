/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of projections: how they are stored, what scales them, and which engine does it. Shared by gemm and gemv. */
#ifndef NPU_KERNELS_LINEAR_H
#define NPU_KERNELS_LINEAR_H

#include "kernels/kernel.h"
#include "kernels/reference.h"

/* dtype=  weights=        the product is of              scales                           result
 * float   the same        float x float                  none                             as dtype
 *         int4            float x int4                   group: the array, on its sums    as dtype
 *         int8            float x float: the vector      group: the vector engine, in     as dtype
 *                         engine converts them           that conversion
 *                                                        channel: the vector engine, on
 *                                                        the sums (int4 too)
 * int8    int8, int4      int8 x int8 or int4            likewise                         fp16; int32 without scales
 */
struct linear {
	enum npu_dtype act;     /* of activations */
	enum npu_dtype type;    /* as they are stored */
	enum npu_dtype product; /* as the array takes them */
	enum npu_dtype out;     /* of the result */
	uint64_t group;         /* elements of k that share a scale; 0: no scale, or one a channel */
	bool channel;           /* one scale a column, which multiplies its sums */
	bool convert;           /* the vector engine makes `product` of `type` */
	bool bias;              /* a number a column, of the type of the result, is added to its sums */
};

extern const char *const param_weights[]; /* fp16|bf16|int8|int4 */
extern const char *const param_groups[];  /* none|channel|32|64|128 */

#define PARAM_WEIGHTS                                                                                                  \
	{                                                                                                              \
		.name = "weights", .type = NPU_PARAM_CHOICE, .choices = param_weights, .derived = true, .unit = "",    \
		.meaning = "type of the weights as they are stored, that of dtype, int8 or int4; default as dtype"     \
	}
#define PARAM_BIAS PARAM_CHOICE("bias", 0, param_flag, "a number a column, of the type of the result, is added")
#define PARAM_GROUP                                                                                                    \
	{                                                                                                              \
		.name = "group", .type = NPU_PARAM_CHOICE, .choices = param_groups, .derived = true, .unit = "",       \
		.meaning = "weights that share an fp16 scale: a column (channel), or so many of k; default 128 for "   \
			   "int4, channel for int8 with other activations, else none"                                  \
	}

/* Of the kernel's parameters dtype, weights and group, resolved. */
struct linear linear_of(const struct npu_kernel *, const struct npu_args *);
/* Fills in `weights` and `group`, and refuses what does not go together: types, columns n and a named tile_n that cut
 * int4 inside a byte, a named tile_k that cuts groups, a bias where there are no sums or they are the result. */
bool linear_resolve(const struct npu_kernel *, struct npu_args *, struct npu_error *);
/* The same for a kernel whose results are the bias alone where k is 0. */
bool linear_resolve_any_k(const struct npu_kernel *, struct npu_args *, struct npu_error *);
/* The next larger tile that groups (of k) and whole bytes (of n) allow, within the length. */
uint64_t linear_tile_k(const struct linear *, uint64_t tile, uint64_t k);
uint64_t linear_tile_n(const struct linear *, uint64_t tile, uint64_t n);
/* Rows of scales for so much of k; 0 without groups. */
static inline uint64_t linear_groups(const struct linear *w, uint64_t k)
{
	return w->group ? (k + w->group - 1) / w->group : 0;
}
/* Any scales at all. */
static inline bool linear_scaled(const struct linear *w)
{
	return w->group || w->channel;
}
/* Whether sums go to DRAM as they are. */
static inline bool linear_raw(const struct linear *w)
{
	return w->out == NPU_INT32;
}
static inline uint64_t linear_bytes(const struct linear *w, uint64_t n)
{
	return npu_dtype_bytes(w->type, n);
}

/* A tile of weights in SRAM. */
struct linear_tile {
	uint32_t at, scales, converted; /* `scales` used with groups, `converted` with `convert` */
	uint32_t n, k;
};
/* Instructions that linear_convert() emits for so much of k. */
uint64_t linear_conversions(const struct linear *, uint64_t k);
/* Emits the conversion of a tile; the first instruction waits, the last one posts. */
void linear_convert(struct npu_builder *, const struct linear *, const struct linear_tile *, const struct npu_order *);
/* What scales and is added to the columns of a tile, in SRAM. */
struct linear_vectors {
	uint32_t scales, bias; /* used with a scale a channel, with a bias */
};
/* Emits result = sums, converted and, with a scale a channel, multiplied by `scales`, plus `bias`; all dense. With both
 * it leaves the products in `sums`. */
void linear_finish(struct npu_builder *, const struct linear *, uint32_t result, uint32_t sums,
		   const struct linear_vectors *, uint32_t rows, uint32_t cols, const struct npu_order *);
/* Instructions that that takes. */
static inline uint64_t linear_finishes(const struct linear *w)
{
	return w->channel && w->bias ? 2 : 1;
}

/* Columns [first, first + n) of the weights and their scales as the reference reads them. */
struct linear_columns {
	uint64_t first, n;
	const double *at; /* weight (l, j) at at[l * stride + j] */
	uint64_t stride;
	const double *scales; /* scale (g, j) at scales[g * scale_stride + j] */
	uint64_t scale_stride;
};
typedef struct linear_columns linear_view(const void *context, uint64_t first);

/* C[m, n] = A[m, k] times the weights with their scales, in double; `view` gives the columns from `first` on. False
 * when out of memory. */
bool linear_reference(const struct linear *, uint64_t m, uint64_t n, uint64_t k, const double *a, linear_view *,
		      const void *context, double *c);
/* Adds to each row of C, and what that adds to its bound; c is the result of the reference. */
void linear_add_bias(uint64_t m, uint64_t n, const double *bias, double *c);
void linear_bias_bound(uint64_t m, uint64_t n, const double *c, double *bound);
/* bound[i] of that product (npu_reference_bound). */
bool linear_bound(const struct linear *, uint64_t m, uint64_t n, uint64_t k, const double *a, linear_view *,
		  const void *context, double *bound);

#endif
