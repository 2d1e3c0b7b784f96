/* SPDX-License-Identifier: Apache-2.0 */
/* The shipped kernels. npu_kernels in kernel.c lists them. */
#ifndef NPU_KERNELS_KERNELS_H
#define NPU_KERNELS_KERNELS_H

#include "kernels/kernel.h"

extern const struct npu_kernel npu_gemm;
extern const struct npu_kernel npu_qk_tiled;
extern const struct npu_kernel npu_mask_softmax;
extern const struct npu_kernel npu_pv_tiled;
extern const struct npu_kernel npu_attention;
extern const struct npu_kernel npu_flash_attention;
extern const struct npu_kernel npu_kv_fetch_paged;
extern const struct npu_kernel npu_conv2d;
extern const struct npu_kernel npu_gemv;
extern const struct npu_kernel npu_rmsnorm;
extern const struct npu_kernel npu_layernorm;
extern const struct npu_kernel npu_rope;
extern const struct npu_kernel npu_swiglu;
extern const struct npu_kernel npu_gelu;
extern const struct npu_kernel npu_softcap;
extern const struct npu_kernel npu_quantise;
extern const struct npu_kernel npu_residual_add;
extern const struct npu_kernel npu_embedding;
extern const struct npu_kernel npu_decode_attention_paged;
extern const struct npu_kernel npu_prefill_attention_paged;

#endif
