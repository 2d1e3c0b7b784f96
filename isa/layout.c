/* SPDX-License-Identifier: Apache-2.0 */
/* Geometry of layouts. */
#include "isa/layout.h"

unsigned npu_layout_block(uint32_t layout)
{
	switch (layout) {
	case NPU_LAYOUT_BLOCK16:
		return 16;
	case NPU_LAYOUT_BLOCK32:
		return 32;
	default: /* NPU_LAYOUT_ROW; a loader has refused the rest */
		return 1;
	}
}

static uint64_t blocks_over(uint64_t elements, unsigned block)
{
	return (elements + block - 1) / block;
}

uint64_t npu_matrix_strips(const struct npu_matrix *m)
{
	return blocks_over(m->rows, npu_layout_block(m->layout));
}

uint64_t npu_matrix_strip_bytes(const struct npu_matrix *m)
{
	unsigned block = npu_layout_block(m->layout);
	return npu_dtype_bytes(m->dtype, blocks_over(m->cols, block) * block * block);
}

uint64_t npu_matrix_stride(const struct npu_matrix *m)
{
	return m->stride ? m->stride : npu_matrix_strip_bytes(m);
}

uint64_t npu_matrix_extent(const struct npu_matrix *m)
{
	uint64_t strips = npu_matrix_strips(m);
	return strips ? (strips - 1) * npu_matrix_stride(m) + npu_matrix_strip_bytes(m) : 0;
}

bool npu_matrix_is_dense(const struct npu_matrix *m)
{
	return npu_matrix_strips(m) <= 1 || npu_matrix_stride(m) == npu_matrix_strip_bytes(m);
}

uint64_t npu_matrix_bit(const struct npu_matrix *m, uint64_t row, uint64_t col)
{
	unsigned block = npu_layout_block(m->layout);
	uint64_t in_strip = col / block * block * block + row % block * block + col % block;
	return row / block * npu_matrix_stride(m) * 8 + in_strip * npu_dtype_bits(m->dtype);
}
