/* SPDX-License-Identifier: Apache-2.0 */
/* Capacities that a program needs or a machine has. */
#ifndef NPU_ISA_LIMITS_H
#define NPU_ISA_LIMITS_H

#include <stdint.h>

/* -- npu.h -- */
struct npu_limits {
	uint64_t sram_bytes;
	uint64_t accum_bytes;
	uint64_t dram_bytes;
};

/* What a builder or a kernel may know of the hardware to place buffers and choose tiles; no cycles. */
struct npu_capacity {
	struct npu_limits limits;
	uint32_t sram_groups; /* contiguous ranges of sram_bytes / sram_groups; streams in different ones never meet */
	uint32_t sram_word_bytes; /* bytes of a bank word: alignment of buffers */
	uint32_t accum_banks;     /* contiguous ranges of accum_bytes / accum_banks */
	uint32_t array_rows;
	uint32_t array_cols;
	uint32_t vector_lanes;
	uint32_t dram_granule; /* bytes of one DRAM access */
	uint32_t load_channels;
	uint32_t store_channels;
	uint32_t no_transpose_b; /* 1: the array cannot turn B, a matmul with transpose_b is refused; load B transposed */
	uint32_t int8_ridge; /* int8 MACs that the array makes while DRAM moves a byte, both at their peak; 0: not known */
	uint32_t reserved[6]; /* zero; room for more */
};
/* -- private -- */

#endif
