/* SPDX-License-Identifier: Apache-2.0 */
/* Plain results in double. */
#include "kernels/reference.h"

#include <math.h>
#include <string.h>

#include "isa/number.h"

static struct npu_reference_tensor *find(const struct npu_reference_io *io, const char *name, uint64_t count)
{
	for (unsigned i = 0; i < io->n; i++)
		if (!strcmp(io->tensors[i].name, name) && io->tensors[i].count == count)
			return &io->tensors[i];
	return NULL;
}

double *npu_reference_write(const struct npu_reference_io *io, const char *name, uint64_t count)
{
	struct npu_reference_tensor *tensor = find(io, name, count);
	if (!tensor || tensor->input)
		return NULL;
	tensor->written = true;
	return tensor->at;
}

const double *npu_reference_read(const struct npu_reference_io *io, const char *name, uint64_t count)
{
	const struct npu_reference_tensor *tensor = find(io, name, count);
	return tensor ? tensor->at : NULL;
}

/* Products go by strips of 8 columns of B and blocks of k, so that a strip stays in the cache while every row of A
 * passes; four pairs of sums hide how long an addition takes. Each sum still runs in the order of k. */
enum { STRIP = 8, BLOCK = 512 };
typedef double pair __attribute__((vector_size(16)));

/* d[0..8) += a[0..k) times a strip. */
static void multiply_strip(uint64_t k, const double *a, const double strip[][STRIP], double d[STRIP])
{
	pair s0 = { d[0], d[1] }, s1 = { d[2], d[3] }, s2 = { d[4], d[5] }, s3 = { d[6], d[7] };
	for (uint64_t l = 0; l < k; l++) {
		const double *b = strip[l];
		pair x = { a[l], a[l] };
		s0 += x * (pair){ b[0], b[1] };
		s1 += x * (pair){ b[2], b[3] };
		s2 += x * (pair){ b[4], b[5] };
		s3 += x * (pair){ b[6], b[7] };
	}
	memcpy(d, &s0, sizeof s0);
	memcpy(d + 2, &s1, sizeof s1);
	memcpy(d + 4, &s2, sizeof s2);
	memcpy(d + 6, &s3, sizeof s3);
}

void npu_reference_matmul(uint64_t m, uint64_t n, uint64_t k, const double *a, const double *b, bool transpose_b,
			  double *d)
{
	double strip[BLOCK][STRIP] = { 0 }, sums[STRIP] = { 0 };
	for (uint64_t i = 0; i < m * n; i++)
		d[i] = 0;
	for (uint64_t j = 0; j < n; j += STRIP)
		for (uint64_t at = 0; at < k; at += BLOCK) {
			uint64_t cols = n - j < STRIP ? n - j : STRIP, depth = k - at < BLOCK ? k - at : BLOCK;
			for (uint64_t l = 0; l < depth; l++)
				for (uint64_t c = 0; c < cols; c++)
					strip[l][c] = transpose_b ? b[(j + c) * k + at + l] : b[(at + l) * n + j + c];
			for (uint64_t i = 0; i < m; i++) {
				memcpy(sums, d + i * n + j, cols * sizeof *sums);
				multiply_strip(depth, a + i * k + at, strip, sums);
				memcpy(d + i * n + j, sums, cols * sizeof *sums);
			}
		}
}

/* The largest visible score of a row; NaN when one is NaN. */
static double largest(const struct npu_mask *mask, uint64_t row, double scale, const double *s)
{
	double max = -INFINITY;
	for (uint64_t c = 0; c < mask->seq; c++)
		if (npu_mask_sees(mask, row, c) && (scale * s[c] > max || isnan(s[c])))
			max = scale * s[c];
	return max;
}

void npu_reference_softmax(uint64_t rows, const struct npu_mask *mask, double scale, const double *s, double *p)
{
	for (uint64_t r = 0; r < rows; r++) {
		const double *in = s + r * mask->seq;
		double *out = p + r * mask->seq;
		double max = largest(mask, r, scale, in), sum = 0;
		for (uint64_t c = 0; c < mask->seq; c++) {
			bool counts = npu_mask_sees(mask, r, c) && max != -INFINITY;
			out[c] = counts ? exp(scale * in[c] - max) : 0;
			sum += out[c];
		}
		for (uint64_t c = 0; c < mask->seq; c++)
			if (npu_mask_sees(mask, r, c) && max != -INFINITY)
				out[c] /= sum;
	}
}

double npu_reference_quantise(enum npu_dtype type, const double *x, uint64_t n, double *q)
{
	double most = 0;
	for (uint64_t i = 0; i < n; i++)
		most = isnan(x[i]) || isnan(most) ? NAN : fmax(most, fabs(x[i]));
	double scale = npu_fp16_to_f32(npu_fp16_from_f64(most / npu_int_max(type)));
	for (uint64_t i = 0; i < n; i++) {
		double ratio = scale == 0 || isnan(x[i] / scale) ? 0 : rint(x[i] / scale);
		q[i] = fmin(fmax(ratio, npu_int_min(type)), npu_int_max(type));
	}
	return scale;
}
