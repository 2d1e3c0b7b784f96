/* SPDX-License-Identifier: Apache-2.0 */
/* Geometry of layouts. */
#include "isa/layout.h"

uint64_t npu_matrix_bit(const struct npu_matrix *m, uint64_t row, uint64_t col)
{
	unsigned shift = npu_layout_shift(m->layout);
	uint64_t inside = (UINT64_C(1) << shift) - 1;
	uint64_t in_strip = (col >> shift << 2 * shift) + ((row & inside) << shift) + (col & inside);
	return (row >> shift) * npu_matrix_stride(m) * 8 + in_strip * npu_dtype_bits(m->dtype);
}
