/* SPDX-License-Identifier: Apache-2.0 */
/* What bounds of rounding errors are made of; docs/values.md derives them and uses the same letters. */
#ifndef NPU_KERNELS_BOUND_H
#define NPU_KERNELS_BOUND_H

#include <float.h>
#include <math.h>

#include "isa/insn.h"

/* Unit roundoff of fp32; what underflow of a product and of exp may lose. */
#define U            0x1p-24
#define PRODUCT_LOST 0x1p-149
#define EXP_LOST     0x1p-124

/* The factor by which n roundings may move a result, less 1. */
static inline double gamma_of(double n)
{
	return n * U < 1 ? n * U / (1 - n * U) : INFINITY;
}

static inline double unit_roundoff(enum npu_dtype t)
{
	return t == NPU_FP16 ? 0x1p-11 : t == NPU_BF16 ? 0x1p-8 : U;
}

/* Half the distance of subnormals. */
static inline double subnormal_lost(enum npu_dtype t)
{
	return t == NPU_FP16 ? 0x1p-25 : t == NPU_BF16 ? 0x1p-134 : 0x1p-150;
}

static inline double norm(const double *x, uint64_t n, uint64_t stride)
{
	double sum = 0;
	for (uint64_t i = 0; i < n; i++)
		sum += x[i * stride] * x[i * stride];
	return sqrt(sum);
}

/* Of one element, k products whose operands have norms a and b: gamma_k times sum |a| |b|, at most a b. */
static inline double dot_bound(double a, double b, double k)
{
	if (!isfinite(a * b))
		return 0; /* an operand is infinite or NaN; so is the result, in every order */
	return a * b < FLT_MAX ? gamma_of(k) * a * b + k * PRODUCT_LOST : INFINITY;
}

/* C[m, n] = A[m, k] B[k, n], or A B^T with B[n, k]; rows without gaps. */
struct product {
	uint64_t m, n, k;
	const double *a, *b;
	bool transpose_b;
	enum npu_dtype type; /* of both */
};
/* bound[m, n]: how far each element may be off whose products and sums are rounded to fp32, in any order; 0 for int8,
 * whose sums are exact. False when out of memory. */
bool product_bound(const struct product *, double *bound);

#endif
