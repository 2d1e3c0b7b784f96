/* SPDX-License-Identifier: Apache-2.0 */
/* What the shape and places of gemm (gemm.c) and its instructions (gemm_emit.c) share. */
#pragma once

#include "kernels/linear.h"
#include "kernels/pingpong.h"
#include "kernels/zeros.h"

enum order { OUTPUT, WEIGHT, ACTIVATION };

/* Buffers for scales of channels; scale_slots() says why there are so many. */
enum { SCALE_SLOTS = RING_BUFFERS + 3 };

/* NPU_LAYOUT_* of an operand in DRAM and in SRAM. */
struct layout {
	uint32_t dram, local;
};

/* Tiles that stay in SRAM while others pass, in turn; their reuse needs no semaphore (held_slots). */
struct held {
	uint64_t slots;
	uint64_t bytes; /* from one to the next */
	uint32_t at;
};

/* The parameters, resolved, and what the program is made of. */
struct gemm {
	uint64_t m, n, k;
	uint64_t tile_m, tile_n, tile_k; /* no larger than the dimension, but 1 where that is 0 */
	uint64_t down, across, deep;     /* tiles of m, n and k */
	unsigned buffers;
	enum order order;
	struct layout a_layout, b_layout, c_layout;
	uint64_t b_stride; /* bytes between rows of a tile of B in SRAM; 0: none but their own */
	struct linear linear;
	uint64_t in_bytes, out_bytes; /* an element of A and C */

	struct npu_builder *b;
	struct npu_dram A, B, S, bias, C;
	struct ring ab; /* semaphores of all that a step loads; slots of a, of b with order=activation */
	uint32_t b_at[RING_BUFFERS], s_at[RING_BUFFERS], converted_at[RING_BUFFERS];
	struct npu_semaphore raw[RING_SLOTS], converted[RING_SLOTS]; /* before and after a conversion */
	struct held panel, panel_scales;                             /* with order=weight|activation */
	unsigned nscales;
	uint32_t scale_at[SCALE_SLOTS], bias_at[SCALE_SLOTS]; /* of channels */
	struct ring acc;
	struct ring c;      /* unused for int32 */
	struct zeros zeros; /* instead of all these where k is 0 */
	struct ring biases; /* with zeros and c, where there is a bias besides */
};

/* Of resolved parameters; nothing is placed. */
struct gemm gemm_of(const struct npu_args *);
/* Places all buffers of the products, or of what stands instead of them; false with an error of the builder. */
bool gemm_place(struct gemm *);
/* gemm_emit.c */
bool gemm_emit(struct npu_builder *, const struct npu_args *);
