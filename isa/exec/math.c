/* SPDX-License-Identifier: Apache-2.0 */
/* exp in three ways, what is made of it, and the plain arithmetic of rows. No function of libm but sqrt, whose result
 * IEEE fixes: values are the same on every host. */
#include "isa/exec/math.h"

#include "isa/exec.h"
#include "isa/exec/lanes.h"

#include <math.h>

const char *const npu_exp_names[] = {
#define NPU_EXP_NAME(NAME, text, doc) text,
	NPU_EXPS(NPU_EXP_NAME)
#undef NPU_EXP_NAME
	NULL
};

/* Four values at once: two vectors keep the host busy while a result is under way. */
struct pair {
	npu_d2 lo;
	npu_d2 hi;
};

/* 1 / j!, even and odd powers apart: two chains half as long. */
static const double even[] = { 1.0, 1.0 / 2, 1.0 / 24, 1.0 / 720, 1.0 / 40320, 1.0 / 3628800, 1.0 / 479001600 };
static const double odd[] = { 1.0, 1.0 / 6, 1.0 / 120, 1.0 / 5040, 1.0 / 362880, 1.0 / 39916800, 1.0 / 6227020800 };
enum { TERMS = sizeof even / sizeof *even };

static inline npu_d2 exp_series(npu_d2 r)
{
	npu_d2 square = r * r, p = { even[TERMS - 1], even[TERMS - 1] }, q = { odd[TERMS - 1], odd[TERMS - 1] };
#pragma GCC unroll 8
	for (int i = TERMS - 2; i >= 0; i--) {
		p = p * square + even[i];
		q = q * square + odd[i];
	}
	return p + r * q;
}

/* e^x for |x| < 709 with a relative error below 4e-16; further out 0 (or nearly) and infinity; NaN stays. */
static inline npu_d2 exp_exact(npu_d2 x)
{
	const double magic = 0x1.8p52; /* beside it double has a spacing of 1 */
	const npu_d2 most = { 709, 709 }, least = { -708, -708 }, infinity = { INFINITY, INFINITY };
	npu_d2 v = npu_d2_select(x > most, most, x);
	v = npu_d2_select(v < least, least, v);
	npu_d2 shifted = v * 0x1.71547652b82fep0 + magic; /* 1 / ln 2 */
	npu_d2 n = shifted - magic;
	/* ln 2 in two parts, the first short enough for n times it to be exact */
	npu_d2 r = (v - n * 0x1.62e42fefa0000p-1) - n * 0x1.cf79abc9e3b3ap-40;
	/* the low bits of `shifted` are n: as an exponent they are 2^n */
	npu_d2 power = (npu_d2)(((npu_u2)shifted << 52) + (1023ull << 52));
	return npu_d2_select(x > most, infinity, exp_series(r) * power);
}

/* Bounds of x between which fp32 holds e^x as a normal number. */
static const float exp_most = 88.722839f, exp_least = -87.336544f;

static float exp_lut(const struct npu_math *m, float x)
{
	if (x != x)
		return x;
	if (x < exp_least)
		return 0;
	if (x > exp_most)
		return INFINITY;
	float z = x * (NPU_EXP_TABLE * 1.44269504f);
	int32_t i = (int32_t)z;
	i -= z < (float)i;
	int32_t j = i & (NPU_EXP_TABLE - 1), n = (i - j) / NPU_EXP_TABLE;
	float v = m->base[j] + (z - (float)i) * m->slope[j], power;
	uint32_t bits = (uint32_t)(n + 127) << 23;
	memcpy(&power, &bits, sizeof power);
	return v * power;
}

static inline npu_f4 exp_poly(npu_f4 x)
{
	const float magic = 0x1.8p23f;
	const npu_f4 most = npu_f4_all(exp_most), least = npu_f4_all(exp_least);
	npu_f4 v = npu_f4_select(x > most, most, x);
	v = npu_f4_select(v < least, least, v);
	npu_f4 shifted = v * 1.44269504f + magic;
	npu_f4 n = shifted - magic;
	npu_f4 r = (v - n * 0.693359375f) - n * -2.12194440e-4f;
	npu_f4 p = ((r * 0.0423806787f + 0.168086610f) * r + 0.499959612f) * r + 0.999951539f;
	p = p * r + 1.0f;
	/* n is added to the exponent: 2^128 as a factor would be too large, although the result is not */
	npu_f4 y = npu_bits_f4(npu_f4_bits(p) + (npu_f4_bits(shifted) << 23));
	y = npu_f4_select(x > most, npu_f4_all(INFINITY), y);
	y = npu_f4_select(x < least, npu_f4_all(0), y);
	return npu_f4_select(x != x, x, y);
}

static inline npu_f4 exp_approximate(const struct npu_math *m, npu_f4 x)
{
	if (m->exp == NPU_EXP_POLY)
		return exp_poly(x);
	return (npu_f4){ exp_lut(m, x[0]), exp_lut(m, x[1]), exp_lut(m, x[2]), exp_lut(m, x[3]) };
}

static inline struct pair widen(npu_f4 v)
{
	return (struct pair){ { v[0], v[1] }, { v[2], v[3] } };
}

static inline npu_f4 narrow(struct pair p)
{
	return (npu_f4){ (float)p.lo[0], (float)p.lo[1], (float)p.hi[0], (float)p.hi[1] };
}

/* y = finish(x, exp(argument(x))), rounded once; but an approximate exp takes and gives fp32. Inlined for each
 * function. */
static inline __attribute__((always_inline)) void map_exp(const struct npu_math *m, const float *x, float *y,
							  uint64_t n, npu_d2 (*argument)(npu_d2 x),
							  npu_d2 (*finish)(npu_d2 x, npu_d2 e))
{
	for (uint64_t i = 0; i < n; i += NPU_LANES) {
		struct pair v = widen(npu_f4_load(x + i));
		struct pair e = { argument(v.lo), argument(v.hi) };
		if (m->exp == NPU_EXP_EXACT)
			e = (struct pair){ exp_exact(e.lo), exp_exact(e.hi) };
		else
			e = widen(exp_approximate(m, narrow(e)));
		npu_f4_store(y + i, narrow((struct pair){ finish(v.lo, e.lo), finish(v.hi, e.hi) }));
	}
}

static inline npu_d2 plain(npu_d2 x)
{
	return x;
}

static inline npu_d2 just_exp(npu_d2 x, npu_d2 e)
{
	(void)x;
	return e;
}

static inline npu_d2 negative(npu_d2 x)
{
	return -x;
}

static inline npu_d2 sigmoid(npu_d2 x, npu_d2 e)
{
	(void)x;
	return 1 / (1 + e);
}

static inline npu_d2 weighted_sigmoid(npu_d2 x, npu_d2 e)
{
	return x / (1 + e);
}

/* x/2 (1 + tanh u) = x / (1 + exp(-2u)) with u = sqrt(2/pi) (x + 0.044715 x^3) */
static inline npu_d2 gelu_argument(npu_d2 x)
{
	return (x + 0.044715 * x * x * x) * (-2 * 0.7978845608028654);
}

static inline npu_d2 magnitude(npu_d2 x)
{
	return (npu_d2)((npu_l2)x & INT64_MAX);
}

static inline npu_d2 tanh_argument(npu_d2 x)
{
	return -2 * magnitude(x);
}

/* Below 2^-12 the quotient would cancel, and two terms of the series are exact to 1e-15. */
static inline npu_d2 tanh_finish(npu_d2 x, npu_d2 e)
{
	npu_d2 quotient = (1 - e) / (1 + e);
	npu_d2 with_sign = (npu_d2)((npu_l2)quotient | ((npu_l2)x & INT64_MIN));
	npu_d2 series = x * (1 - x * x / 3);
	return npu_d2_select(magnitude(x) < 0x1p-12, series, with_sign);
}

void npu_row_exp(const struct npu_math *m, const float *x, float *y, uint64_t n)
{
	map_exp(m, x, y, n, plain, just_exp);
}

void npu_row_sigmoid(const struct npu_math *m, const float *x, float *y, uint64_t n)
{
	map_exp(m, x, y, n, negative, sigmoid);
}

void npu_row_silu(const struct npu_math *m, const float *x, float *y, uint64_t n)
{
	map_exp(m, x, y, n, negative, weighted_sigmoid);
}

void npu_row_gelu(const struct npu_math *m, const float *x, float *y, uint64_t n)
{
	map_exp(m, x, y, n, gelu_argument, weighted_sigmoid);
}

void npu_row_tanh(const struct npu_math *m, const float *x, float *y, uint64_t n)
{
	map_exp(m, x, y, n, tanh_argument, tanh_finish);
}

void npu_row_copy(const struct npu_math *m, const float *x, float *y, uint64_t n)
{
	(void)m;
	if (x != y)
		memcpy(y, x, n * sizeof *y);
}

void npu_row_recip(const struct npu_math *m, const float *x, float *y, uint64_t n)
{
	(void)m;
	for (uint64_t i = 0; i < n; i += NPU_LANES)
		npu_f4_store(y + i, 1 / npu_f4_load(x + i));
}

float npu_rsqrt(float x)
{
	return (float)(1 / sqrt((double)x));
}

void npu_row_rsqrt(const struct npu_math *m, const float *x, float *y, uint64_t n)
{
	(void)m;
	for (uint64_t i = 0; i < n; i++)
		y[i] = npu_rsqrt(x[i]);
}

void npu_row_relu(const struct npu_math *m, const float *x, float *y, uint64_t n)
{
	(void)m;
	for (uint64_t i = 0; i < n; i += NPU_LANES)
		npu_f4_store(y + i, npu_f4_max(npu_f4_load(x + i), npu_f4_all(0)));
}

void npu_row_add(const struct npu_math *m, const float *a, const float *b, float *y, uint64_t n)
{
	(void)m;
	for (uint64_t i = 0; i < n; i += NPU_LANES)
		npu_f4_store(y + i, npu_f4_load(a + i) + npu_f4_load(b + i));
}

void npu_row_sub(const struct npu_math *m, const float *a, const float *b, float *y, uint64_t n)
{
	(void)m;
	for (uint64_t i = 0; i < n; i += NPU_LANES)
		npu_f4_store(y + i, npu_f4_load(a + i) - npu_f4_load(b + i));
}

void npu_row_mul(const struct npu_math *m, const float *a, const float *b, float *y, uint64_t n)
{
	(void)m;
	for (uint64_t i = 0; i < n; i += NPU_LANES)
		npu_f4_store(y + i, npu_f4_load(a + i) * npu_f4_load(b + i));
}

void npu_row_div(const struct npu_math *m, const float *a, const float *b, float *y, uint64_t n)
{
	(void)m;
	for (uint64_t i = 0; i < n; i += NPU_LANES)
		npu_f4_store(y + i, npu_f4_load(a + i) / npu_f4_load(b + i));
}

void npu_row_div_guarded(const struct npu_math *m, const float *a, const float *b, float *y, uint64_t n)
{
	(void)m;
	for (uint64_t i = 0; i < n; i += NPU_LANES) {
		npu_f4 divisor = npu_f4_load(b + i);
		npu_f4_store(y + i, npu_f4_select(divisor == 0, npu_f4_all(0), npu_f4_load(a + i) / divisor));
	}
}

void npu_row_max(const struct npu_math *m, const float *a, const float *b, float *y, uint64_t n)
{
	(void)m;
	for (uint64_t i = 0; i < n; i += NPU_LANES)
		npu_f4_store(y + i, npu_f4_max(npu_f4_load(a + i), npu_f4_load(b + i)));
}

void npu_row_min(const struct npu_math *m, const float *a, const float *b, float *y, uint64_t n)
{
	(void)m;
	for (uint64_t i = 0; i < n; i += NPU_LANES)
		npu_f4_store(y + i, npu_f4_min(npu_f4_load(a + i), npu_f4_load(b + i)));
}

void npu_row_scale(float s, const float *x, float *y, uint64_t n)
{
	for (uint64_t i = 0; i < n; i += NPU_LANES)
		npu_f4_store(y + i, npu_f4_load(x + i) * s);
}

void npu_row_over(float s, const float *x, float *y, uint64_t n)
{
	for (uint64_t i = 0; i < n; i += NPU_LANES)
		npu_f4_store(y + i, npu_f4_load(x + i) / s);
}

void npu_row_shift(float s, const float *x, float *y, uint64_t n)
{
	for (uint64_t i = 0; i < n; i += NPU_LANES)
		npu_f4_store(y + i, npu_f4_load(x + i) - s);
}

void npu_math_init(struct npu_math *m, int exp_choice)
{
	*m = (struct npu_math){ .exp = exp_choice };
	double ln2 = 0x1.62e42fefa39efp-1;
	for (int j = 0; j < NPU_EXP_TABLE; j++) {
		npu_d2 ends = { j, j + 1 };
		ends = exp_exact(ends * (ln2 / NPU_EXP_TABLE));
		m->base[j] = (float)ends[0];
		m->slope[j] = (float)(ends[1] - ends[0]);
	}
}

float npu_exp_of(const struct npu_math *m, float x)
{
	float v[NPU_LANES] = { x };
	npu_row_exp(m, v, v, 1);
	return v[0];
}
