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

/* Elements a side of a block; 1 for row-major: a strip is a row. */
unsigned npu_layout_block(uint32_t layout);
uint64_t npu_matrix_strips(const struct npu_matrix *);
/* Bytes of a strip, padding of blocks included. */
uint64_t npu_matrix_strip_bytes(const struct npu_matrix *);
/* Bytes from strip to strip. */
uint64_t npu_matrix_stride(const struct npu_matrix *);
/* From the first byte to behind the last; 0 for an empty matrix. */
uint64_t npu_matrix_extent(const struct npu_matrix *);
/* No gap between strips. */
bool npu_matrix_is_dense(const struct npu_matrix *);
/* Bits from the start of the matrix to element (row, col): 4-bit elements start inside bytes. */
uint64_t npu_matrix_bit(const struct npu_matrix *, uint64_t row, uint64_t col);

#ifdef __cplusplus
}
#endif

#endif
