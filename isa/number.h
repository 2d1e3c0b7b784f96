/* SPDX-License-Identifier: Apache-2.0 */
/* The number formats of isa/dtype.def: one value at a time and whole rows. Every conversion rounds once, to nearest
 * even; integers saturate and take NaN as 0. docs/values.md says it in prose. */
#ifndef NPU_ISA_NUMBER_H
#define NPU_ISA_NUMBER_H

#include "isa/insn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Exact. A NaN keeps its sign and payload and becomes quiet. */
float npu_fp16_to_f32(uint16_t bits);
float npu_bf16_to_f32(uint16_t bits);

/* Nearest even; too large becomes infinity, subnormal results are kept. A NaN keeps its sign and the upper bits of its
 * payload. From double the value is rounded once, never by way of fp32. */
uint16_t npu_fp16_from_f32(float x);
uint16_t npu_fp16_from_f64(double x);
uint16_t npu_bf16_from_f32(float x);
uint16_t npu_bf16_from_f64(double x);

/* Nearest even integer of the range of integer type `t`, saturated; NaN: 0. */
int32_t npu_int_from_f64(enum npu_dtype t, double x);

/* Least and largest value of integer type `t`. */
double npu_int_min(enum npu_dtype t);
double npu_int_max(enum npu_dtype t);

/* Element `i` of a row that starts at `row`: element i of 4-bit types is the low nibble of byte i / 2 when i is even,
 * else the high one. Reading is exact. Writing an element of a 4-bit type leaves the other nibble alone. */
double npu_number_get(enum npu_dtype t, const void *row, uint64_t i);
void npu_number_set(enum npu_dtype t, void *row, uint64_t i, double x);

/* `n` elements of type `t` from `src` (any alignment) as fp32; int32 is rounded. Reads npu_dtype_bytes(t, n) bytes. */
void npu_row_to_f32(enum npu_dtype t, const void *src, float *dst, uint64_t n);
/* The converse; writes npu_dtype_bytes(t, n) bytes: behind an odd number of 4-bit elements the spare nibble becomes 0.
 */
void npu_row_from_f32(enum npu_dtype t, const float *src, void *dst, uint64_t n);

#ifdef __cplusplus
}
#endif

#endif
