/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of the vector engine on rows of fp32. Knows neither instructions nor memory. Every function may
 * compute up to a whole vector (4 elements) past `n`, so rows have that much room; x and y may be the same row. */
#ifndef NPU_ISA_EXEC_MATH_H
#define NPU_ISA_EXEC_MATH_H

#include <stdint.h>

enum { NPU_EXP_TABLE = 64 };

/* How exp is computed: one of enum npu_exp of isa/exec.h, and the table of `lut`. */
struct npu_math {
	int exp;
	float base[NPU_EXP_TABLE];  /* 2^(j/64) */
	float slope[NPU_EXP_TABLE]; /* to the next one */
};

void npu_math_init(struct npu_math *, int exp);

typedef void npu_unary_fn(const struct npu_math *, const float *x, float *y, uint64_t n);
typedef void npu_binary_fn(const struct npu_math *, const float *a, const float *b, float *y, uint64_t n);
typedef float npu_fold_fn(const float *x, uint64_t n);

npu_unary_fn npu_row_copy, npu_row_exp, npu_row_recip, npu_row_rsqrt, npu_row_silu, npu_row_gelu, npu_row_tanh,
	npu_row_sigmoid, npu_row_relu;
npu_binary_fn npu_row_add, npu_row_sub, npu_row_mul, npu_row_div, npu_row_max, npu_row_min;
/* x / 0 is 0, for every x. */
npu_binary_fn npu_row_div_guarded;

/* y = s * x. */
void npu_row_scale(float s, const float *x, float *y, uint64_t n);
/* y = x / s. */
void npu_row_over(float s, const float *x, float *y, uint64_t n);
/* y = x - s. */
void npu_row_shift(float s, const float *x, float *y, uint64_t n);

/* Over n >= 1 elements. Sums: element i goes to lane i % 16, each lane sums in order from 0, then lane l adds lane l +
 * 8, l + 4, l + 2, l + 1. Max: NaN when an element is one. */
npu_fold_fn npu_fold_max, npu_fold_min, npu_fold_sum, npu_fold_sumsq;

/* 1 / sqrt(x) in double, rounded once. */
float npu_rsqrt(float x);
/* exp of one value, by the chosen method. */
float npu_exp_of(const struct npu_math *, float x);

#endif
