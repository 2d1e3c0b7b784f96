/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that a seed decides, the same on every host: splitmix64 (Steele, Lea and Flood, OOPSLA 2014), and orders
 * drawn with it. Programs, contents of tensors and sweeps are made of them, so a change here changes those. */
#ifndef NPU_ISA_RANDOM_H
#define NPU_ISA_RANDOM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From one number of a stream to the next. */
#define NPU_RANDOM_STEP UINT64_C(0x9e3779b97f4a7c15)

/* The finalizer alone: each bit of `x` changes about half of the result's. */
static inline uint64_t npu_random_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* The next number; `*state` begins as the seed. */
static inline uint64_t npu_random_next(uint64_t *state)
{
	return npu_random_mix(*state += NPU_RANDOM_STEP);
}

/* Fills order[0..n) with the numbers 0 to n - 1, n at most 2^32: each takes the place of one before it. */
static inline void npu_random_order(uint32_t *order, uint64_t n, uint64_t seed)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t other = npu_random_next(&seed) % (i + 1);
		order[i] = order[other];
		order[other] = (uint32_t)i;
	}
}

#ifdef __cplusplus
}
#endif

#endif
