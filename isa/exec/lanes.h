/* SPDX-License-Identifier: Apache-2.0 */
/* Four fp32 lanes of the host, which every x86-64 and arm64 has. Lane by lane they compute what scalar code computes,
 * so values do not depend on the host. */
#ifndef NPU_ISA_EXEC_LANES_H
#define NPU_ISA_EXEC_LANES_H

#include <stdint.h>
#include <string.h>

enum { NPU_LANES = 4 };

typedef float npu_f4 __attribute__((vector_size(16)));
typedef int32_t npu_i4 __attribute__((vector_size(16)));
typedef uint32_t npu_u4 __attribute__((vector_size(16)));
typedef uint16_t npu_h8 __attribute__((vector_size(16)));
typedef uint8_t npu_b16 __attribute__((vector_size(16)));
typedef double npu_d2 __attribute__((vector_size(16)));
typedef int64_t npu_l2 __attribute__((vector_size(16)));
typedef uint64_t npu_u2 __attribute__((vector_size(16)));

/* At any alignment. */
static inline npu_f4 npu_f4_load(const float *p)
{
	npu_f4 v;
	memcpy(&v, p, sizeof v);
	return v;
}

static inline void npu_f4_store(float *p, npu_f4 v)
{
	memcpy(p, &v, sizeof v);
}

static inline npu_f4 npu_f4_all(float x)
{
	return (npu_f4){ x, x, x, x };
}

static inline npu_u4 npu_u4_all(uint32_t x)
{
	return (npu_u4){ x, x, x, x };
}

/* The bits of one as the other. */
static inline npu_u4 npu_f4_bits(npu_f4 v)
{
	return (npu_u4)v;
}

static inline npu_f4 npu_bits_f4(npu_u4 v)
{
	return (npu_f4)v;
}

/* `mask` lanes are all ones or all zeros, as comparisons give them. */
static inline npu_u4 npu_u4_select(npu_i4 mask, npu_u4 yes, npu_u4 no)
{
	return ((npu_u4)mask & yes) | (~(npu_u4)mask & no);
}

static inline npu_f4 npu_f4_select(npu_i4 mask, npu_f4 yes, npu_f4 no)
{
	return npu_bits_f4(npu_u4_select(mask, npu_f4_bits(yes), npu_f4_bits(no)));
}

static inline npu_d2 npu_d2_select(npu_l2 mask, npu_d2 yes, npu_d2 no)
{
	return (npu_d2)((mask & (npu_l2)yes) | (~mask & (npu_l2)no));
}

/* The larger operand: NaN when either is one, +0 above -0. */
static inline npu_f4 npu_f4_max(npu_f4 a, npu_f4 b)
{
	npu_f4 equal = npu_bits_f4(npu_f4_bits(a) & npu_f4_bits(b));
	npu_f4 v = npu_f4_select(a > b, a, npu_f4_select(a < b, b, equal));
	return npu_f4_select((a != a) | (b != b), a + b, v);
}

/* The smaller one, likewise. */
static inline npu_f4 npu_f4_min(npu_f4 a, npu_f4 b)
{
	npu_f4 equal = npu_bits_f4(npu_f4_bits(a) | npu_f4_bits(b));
	npu_f4 v = npu_f4_select(a < b, a, npu_f4_select(a > b, b, equal));
	return npu_f4_select((a != a) | (b != b), a + b, v);
}

#endif
