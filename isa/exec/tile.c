/* SPDX-License-Identifier: Apache-2.0 */
/* Eight sums of four lanes live in registers; they run along n, so that no sum changes its order. */
#include "isa/exec/tile.h"

#include "isa/exec/lanes.h"

void npu_tile_multiply(uint64_t k, const float *a, const float *b, float *c)
{
	npu_f4 sum[NPU_TILE_ROWS][2];
	for (int i = 0; i < NPU_TILE_ROWS; i++) {
		sum[i][0] = npu_f4_load(c + i * NPU_TILE_COLS);
		sum[i][1] = npu_f4_load(c + i * NPU_TILE_COLS + NPU_LANES);
	}
	for (uint64_t p = 0; p < k; p++) {
		npu_f4 left = npu_f4_load(b), right = npu_f4_load(b + NPU_LANES);
#pragma GCC unroll 4
		for (int i = 0; i < NPU_TILE_ROWS; i++) {
			npu_f4 x = npu_f4_all(a[i]);
			sum[i][0] = sum[i][0] + x * left;
			sum[i][1] = sum[i][1] + x * right;
		}
		a += NPU_TILE_ROWS;
		b += NPU_TILE_COLS;
	}
	for (int i = 0; i < NPU_TILE_ROWS; i++) {
		npu_f4_store(c + i * NPU_TILE_COLS, sum[i][0]);
		npu_f4_store(c + i * NPU_TILE_COLS + NPU_LANES, sum[i][1]);
	}
}
