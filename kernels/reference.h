/* SPDX-License-Identifier: Apache-2.0 */
/* Plain results in double, written to be obviously right: what kernels are compared with. And how far a correct program
 * may lie from them. */
#ifndef NPU_KERNELS_REFERENCE_H
#define NPU_KERNELS_REFERENCE_H

#include "kernels/kernel.h"
#include "kernels/mask.h"

/* The tensors of a program by name, every element a double, dense row-major in the tensor's shape. Inputs hold values
 * when a kernel's `reference` is called, outputs are filled by it; the caller owns all of them. */
struct npu_reference_tensor {
	const char *name;
	uint64_t count; /* elements */
	double *at;
	bool input;   /* alone: not to be written */
	bool written; /* npu_reference_write has handed it out */
};
struct npu_reference_io {
	unsigned n;
	struct npu_reference_tensor *tensors;
};

/* -- npu.h -- */
/* A tensor of exactly `count` elements, NULL when there is none of that name and size; to write, one that is an output.
 */
const double *npu_reference_read(const struct npu_reference_io *, const char *name, uint64_t count);
double *npu_reference_write(const struct npu_reference_io *, const char *name, uint64_t count);

/* D[m,n] = A[m,k] B[k,n]; transpose_b: B is stored [n,k]. Each sum runs in the order of k. */
void npu_reference_matmul(uint64_t m, uint64_t n, uint64_t k, const double *a, const double *b, bool transpose_b,
			  double *d);
/* -- private -- */
/* P = softmax of each row of scale * S[rows, seq], hidden positions 0; row r is query row r of the mask. Rows hidden
 * altogether, and rows whose visible scores are all -inf, are 0; a NaN or +inf among them makes all of them NaN. In
 * place is fine. */
void npu_reference_softmax(uint64_t rows, const struct npu_mask *, double scale, const double *s, double *p);

/* Integers of `n` values in q; returns the scale that they share, max|x| / the largest integer, which is rounded to fp16 before it is
 * used. Where it is 0, and for a NaN, q is 0. */
double npu_reference_quantise(enum npu_dtype, const double *x, uint64_t n, double *q);

/* bound[i]: how far element i of the kernel's output may lie from the reference before it is rounded to the type of the
 * tensor, by the worst case over all roundings on its way (docs/values.md derives it). 0: exact; INFINITY: anything may
 * come out, as where fp32 overflows. `io` holds inputs and the reference's outputs, `exp_error` is the relative error
 * of exp. False when no bound is known for that kernel and tensor, or memory is short. */
bool npu_reference_bound(const struct npu_kernel *, const struct npu_args *, const struct npu_reference_io *,
			 double exp_error, const char *tensor, double *bound);

#endif
