/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors in the DRAM image as doubles, whatever their type and layout. */
#include "isa/exec/state.h"

#include <stdlib.h>
#include <string.h>

/* A tensor is a stack of matrices of its two innermost dimensions. */
struct stack {
	struct npu_matrix m;
	uint64_t depth;
	uint64_t bytes; /* of one matrix */
};

static struct stack stack_of(const struct npu_tensor *t)
{
	struct stack s = { { 1, 1, t->dtype, t->layout, 0 }, 1, 0 };
	if (t->rank > 0)
		s.m.cols = t->shape[t->rank - 1];
	if (t->rank > 1)
		s.m.rows = t->shape[t->rank - 2];
	for (uint32_t d = 0; d + 2 < t->rank; d++)
		s.depth *= t->shape[d];
	if (s.m.rows == 0 || s.m.cols == 0)
		s.depth = 0;
	s.bytes = s.depth ? npu_matrix_extent(&s.m) : 0;
	return s;
}

static bool check(const struct npu_tensor *t, const struct stack *s, struct npu_error *err)
{
	const uint64_t end = (uint64_t)1 << NPU_DRAM_BITS;
	if (t->addr > end || (s->bytes && s->depth > (end - t->addr) / s->bytes))
		return npu_fail(err, NPU_ERR_BOUNDS, "tensor %s reaches past the end of DRAM", t->name);
	return true;
}

static uint8_t *buffer_of(const struct stack *s, struct npu_error *err)
{
	uint8_t *bytes = calloc(1, s->bytes ? s->bytes : 1);
	if (!bytes)
		npu_fail(err, NPU_ERR_MEMORY, "out of memory for a matrix of a tensor");
	return bytes;
}

/* Element (row, col): its type's row that starts at the byte, and the index in it. */
static uint8_t *element(const struct npu_matrix *m, uint8_t *bytes, uint64_t row, uint64_t col, uint64_t *index)
{
	uint64_t bit = npu_matrix_bit(m, row, col);
	*index = bit % 8 / 4;
	return bytes + bit / 8;
}

bool npu_exec_tensor_read(const struct npu_exec *e, const struct npu_tensor *t, double *values, struct npu_error *err)
{
	struct stack s = stack_of(t);
	uint64_t index;
	uint8_t *bytes;
	if (!check(t, &s, err) || !(bytes = buffer_of(&s, err)))
		return false;
	for (uint64_t i = 0; i < s.depth; i++) {
		npu_dram_read(&e->dram, t->addr + i * s.bytes, bytes, s.bytes);
		for (uint64_t row = 0; row < s.m.rows; row++)
			for (uint64_t col = 0; col < s.m.cols; col++) {
				const uint8_t *at = element(&s.m, bytes, row, col, &index);
				*values++ = npu_number_get(t->dtype, at, index);
			}
	}
	free(bytes);
	return true;
}

bool npu_exec_tensor_write(struct npu_exec *e, const struct npu_tensor *t, const double *values, struct npu_error *err)
{
	struct stack s = stack_of(t);
	uint64_t index;
	uint8_t *bytes;
	if (!check(t, &s, err) || !(bytes = buffer_of(&s, err)))
		return false;
	bool fits = true;
	for (uint64_t i = 0; i < s.depth && fits; i++) {
		for (uint64_t row = 0; row < s.m.rows; row++)
			for (uint64_t col = 0; col < s.m.cols; col++) {
				uint8_t *at = element(&s.m, bytes, row, col, &index);
				npu_number_set(t->dtype, at, index, *values++);
			}
		fits = npu_dram_write(&e->dram, t->addr + i * s.bytes, bytes, s.bytes, NPU_EXEC_NOBODY);
	}
	free(bytes);
	return fits || npu_fail(err, NPU_ERR_MEMORY, "out of memory for the pages of tensor %s", t->name);
}

uint64_t npu_exec_tensor_addr(const struct npu_tensor *t, uint64_t index)
{
	struct stack s = stack_of(t);
	uint64_t matrix = s.m.rows * s.m.cols, within = matrix ? index % matrix : 0;
	uint64_t row = s.m.cols ? within / s.m.cols : 0, col = s.m.cols ? within % s.m.cols : 0;
	return t->addr + (matrix ? index / matrix : 0) * s.bytes + npu_matrix_bit(&s.m, row, col) / 8;
}
