/* SPDX-License-Identifier: Apache-2.0 */
/* The shipped kernels, one file each. npu_kernels in kernel.c lists them. */
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

#endif
