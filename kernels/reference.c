/* SPDX-License-Identifier: Apache-2.0 */
/* Plain results in double. */
#include "kernels/reference.h"

#include <math.h>
#include <string.h>

double *npu_reference_write(const struct npu_reference_io *io, const char *name, uint64_t count)
{
	for (unsigned i = 0; i < io->n; i++)
		if (!strcmp(io->tensors[i].name, name) && io->tensors[i].count == count)
			return io->tensors[i].at;
	return NULL;
}

const double *npu_reference_read(const struct npu_reference_io *io, const char *name, uint64_t count)
{
	return npu_reference_write(io, name, count);
}

void npu_reference_matmul(uint64_t m, uint64_t n, uint64_t k, const double *a, const double *b, bool transpose_b,
			  double *d)
{
	for (uint64_t i = 0; i < m; i++)
		for (uint64_t j = 0; j < n; j++) {
			double sum = 0;
			for (uint64_t l = 0; l < k; l++)
				sum += a[i * k + l] * (transpose_b ? b[j * k + l] : b[l * n + j]);
			d[i * n + j] = sum;
		}
}

void npu_reference_softmax(uint64_t rows, const struct npu_mask *mask, double scale, const double *s, double *p)
{
	for (uint64_t r = 0; r < rows; r++) {
		const double *in = s + r * mask->seq;
		double *out = p + r * mask->seq;
		double max = -INFINITY, sum = 0;
		for (uint64_t c = 0; c < mask->seq; c++)
			if (npu_mask_sees(mask, r, c) && scale * in[c] > max)
				max = scale * in[c];
		for (uint64_t c = 0; c < mask->seq; c++) {
			out[c] = npu_mask_sees(mask, r, c) ? exp(scale * in[c] - max) : 0;
			sum += out[c];
		}
		for (uint64_t c = 0; c < mask->seq && sum > 0; c++)
			out[c] /= sum;
	}
}
