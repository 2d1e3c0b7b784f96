/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loop of products: 4 x 8 outputs over a stretch of k. Knows neither types nor memory. */
#ifndef NPU_ISA_EXEC_TILE_H
#define NPU_ISA_EXEC_TILE_H

#include <stdint.h>

enum { NPU_TILE_ROWS = 4, NPU_TILE_COLS = 8, NPU_TILE = NPU_TILE_ROWS * NPU_TILE_COLS };

/* c[4][8] += a[k][4]^T b[k][8], each output its own sum in the order of k: a product rounded, then a sum rounded. */
void npu_tile_multiply(uint64_t k, const float *a, const float *b, float *c);

#endif
