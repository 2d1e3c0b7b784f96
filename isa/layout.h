/* SPDX-License-Identifier: Apache-2.0 */
/* Where the elements of a matrix lie: row-major, or in square blocks. Knows no instruction. */
#ifndef NPU_ISA_LAYOUT_H
#define NPU_ISA_LAYOUT_H

#include "isa/insn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* M[rows, cols]. In memory it is a number of strips: rows, or rows of blocks. The blocks at a ragged edge are stored
 * whole: whoever writes a blocked matrix writes zeros into their padding. `stride` is bytes between strips, 0: dense.
 */
struct npu_matrix {
	uint64_t rows;
	uint64_t cols;
	enum npu_dtype dtype;
	uint32_t layout; /* NPU_LAYOUT_* */
	uint64_t stride;
};

/* log2 of the elements a side of a block; 0 for row-major: a strip is a row. */
static inline unsigned npu_layout_shift(uint32_t layout)
{
	switch (layout) {
	case NPU_LAYOUT_BLOCK16:
		return 4;
	case NPU_LAYOUT_BLOCK32:
		return 5;
	default: /* NPU_LAYOUT_ROW; a loader has refused the rest */
		return 0;
	}
}
static inline unsigned npu_layout_block(uint32_t layout) { return 1u << npu_layout_shift(layout); }

/* Blocks that hold so many elements of a side. */
static inline uint64_t npu_layout_blocks(uint32_t layout, uint64_t elements)
{
	return (elements + npu_layout_block(layout) - 1) >> npu_layout_shift(layout);
}
static inline uint64_t npu_matrix_strips(const struct npu_matrix *m) { return npu_layout_blocks(m->layout, m->rows); }
/* Bytes of a strip, padding of blocks included. */
static inline uint64_t npu_matrix_strip_bytes(const struct npu_matrix *m)
{
	return npu_dtype_bytes(m->dtype, npu_layout_blocks(m->layout, m->cols) << 2 * npu_layout_shift(m->layout));
}
/* Bytes from strip to strip. */
static inline uint64_t npu_matrix_stride(const struct npu_matrix *m)
{
	return m->stride ? m->stride : npu_matrix_strip_bytes(m);
}
/* From the first byte to behind the last; 0 for an empty matrix. */
static inline uint64_t npu_matrix_extent(const struct npu_matrix *m)
{
	uint64_t strips = npu_matrix_strips(m);
	return strips ? (strips - 1) * npu_matrix_stride(m) + npu_matrix_strip_bytes(m) : 0;
}
/* No gap between strips. */
static inline bool npu_matrix_is_dense(const struct npu_matrix *m)
{
	return npu_matrix_strips(m) <= 1 || npu_matrix_stride(m) == npu_matrix_strip_bytes(m);
}
/* Bits from the start of the matrix to element (row, col): 4-bit elements start inside bytes. */
uint64_t npu_matrix_bit(const struct npu_matrix *, uint64_t row, uint64_t col);

#ifdef __cplusplus
}
#endif

#endif
