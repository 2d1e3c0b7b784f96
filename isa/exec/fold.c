/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of a row in the order of a machine of 16 lanes, whatever the number of lanes that is simulated. */
#include "isa/exec/lanes.h"
#include "isa/exec/math.h"

enum { VECTORS = 4, WIDTH = VECTORS * NPU_LANES };

typedef npu_f4 step_fn(npu_f4 state, npu_f4 x);

static inline npu_f4 step_sum(npu_f4 state, npu_f4 x)
{
	return state + x;
}

static inline npu_f4 step_sumsq(npu_f4 state, npu_f4 x)
{
	return state + x * x;
}

/* All lanes start at `initial`, which also fills the lanes that the last elements leave free. */
static inline __attribute__((always_inline)) float fold(const float *x, uint64_t n, float initial, step_fn *step,
							step_fn *join)
{
	npu_f4 lane[VECTORS];
	for (int v = 0; v < VECTORS; v++)
		lane[v] = npu_f4_all(initial);
	uint64_t i = 0;
	for (; i + WIDTH <= n; i += WIDTH)
		for (int v = 0; v < VECTORS; v++)
			lane[v] = step(lane[v], npu_f4_load(x + i + v * NPU_LANES));
	float rest[WIDTH];
	for (uint64_t l = 0; l < WIDTH; l++)
		rest[l] = i + l < n ? x[i + l] : initial;
	for (int v = 0; v < VECTORS; v++)
		lane[v] = step(lane[v], npu_f4_load(rest + v * NPU_LANES));
	npu_f4 four = join(join(lane[0], lane[2]), join(lane[1], lane[3]));
	npu_f4 two = join(four, (npu_f4){ four[2], four[3], four[2], four[3] });
	return join(two, npu_f4_all(two[1]))[0];
}

float npu_fold_sum(const float *x, uint64_t n)
{
	return fold(x, n, 0, step_sum, step_sum);
}

float npu_fold_sumsq(const float *x, uint64_t n)
{
	return fold(x, n, 0, step_sumsq, step_sum);
}

float npu_fold_max(const float *x, uint64_t n)
{
	return fold(x, n, x[0], npu_f4_max, npu_f4_max);
}

float npu_fold_min(const float *x, uint64_t n)
{
	return fold(x, n, x[0], npu_f4_min, npu_f4_min);
}
