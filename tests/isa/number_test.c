/* SPDX-License-Identifier: Apache-2.0 */
/* Number formats against the compiler's own half type, against IEEE by definition, and against bits read one by one. */
#include "isa/number.h"

#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* gcc has a half type on every x86-64; clang 14 has it elsewhere. */
#if defined(__FLT16_MAX__) && !defined(__clang__)
#define HALF _Float16
#endif

enum { RANDOM = 4000000 };

/* An assertion for inner loops: Check's own writes to a pipe each time it holds. */
#define MUST(holds, x)                                                                                                 \
	do {                                                                                                           \
		if (!(holds))                                                                                          \
			ck_abort_msg("%s at %a", #holds, (double)(x));                                                 \
	} while (0)

static uint64_t next_random(uint64_t *state) /* splitmix64 */
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static double of_bits(uint64_t bits)
{
	double x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

static uint32_t bits_of_f32(float x)
{
	uint32_t bits;
	memcpy(&bits, &x, sizeof bits);
	return bits;
}

/* By the definition of IEEE 754, for a format with `mantissa` stored bits and exponents biased by `bias`. */
static double decode(unsigned bits, int mantissa, int bias)
{
	double sign = bits >> 15 ? -1 : 1;
	int exponent = (int)(bits & 0x7fff) >> mantissa, fraction = (int)bits & ((1 << mantissa) - 1);
	if (exponent == 2 * bias + 1)
		return fraction ? NAN : sign * INFINITY;
	if (exponent == 0)
		return sign * ldexp(fraction, 1 - bias - mantissa);
	return sign * ldexp(fraction + (1 << mantissa), exponent - bias - mantissa);
}

/* The pattern whose value is nearest to x, ties to the even pattern, by bisection over all finite ones; what the next
 * power of two would round to is infinity. */
static unsigned encode(double x, int mantissa, int bias)
{
	unsigned sign = signbit(x) ? 0x8000 : 0, infinity = (unsigned)(2 * bias + 1) << mantissa, lo = 0, hi = infinity;
	double magnitude = fabs(x), top = ldexp(1, bias + 1);
	if (magnitude >= top)
		return sign | infinity;
	while (hi - lo > 1) {
		unsigned middle = (lo + hi) / 2;
		if (decode(middle, mantissa, bias) <= magnitude)
			lo = middle;
		else
			hi = middle;
	}
	double below = magnitude - decode(lo, mantissa, bias);
	double above = (hi == infinity ? top : decode(hi, mantissa, bias)) - magnitude;
	return sign | (below < above || (below == above && lo % 2 == 0) ? lo : hi);
}

/* Doubles that crowd around what fp16 and bf16 can hold: random magnitudes, some a hair beside a tie. */
static double next_value(uint64_t *random)
{
	uint64_t r = next_random(random);
	double x = ldexp((double)(next_random(random) >> 11), -52 - 28 + (int)(r % 48));
	switch (r >> 8 & 3) {
	case 0: /* a tie of fp16 or something just beside it */
		x = decode((unsigned)(r >> 16 & 0x7bff), 10, 15);
		x += ldexp(1, ilogb(x == 0 ? 1 : x) - 11);
		x *= 1 + (double)((int)(r >> 40 & 3) - 1) * 0x1p-52;
		break;
	case 1: /* any double */
		x = of_bits(next_random(random));
		x = x != x ? 1 : x;
		break;
	default:
		break;
	}
	return r >> 63 ? -x : x;
}

START_TEST(every_fp16_pattern_has_its_ieee_value_and_comes_back)
{
	for (unsigned bits = 0; bits < 65536; bits++) {
		double value = decode(bits, 10, 15);
		float got = npu_fp16_to_f32((uint16_t)bits);
		if (value != value) {
			MUST(got != got, value);
			/* sign and payload stay, the quiet bit is set */
			MUST(bits_of_f32(got) == ((bits & 0x8000u) << 16 | 0x7fc00000u | (bits & 0x3ffu) << 13), value);
			MUST(npu_fp16_from_f32(got) == (bits | 0x200u), value);
			continue;
		}
		MUST(got == value && !signbit(got) == !signbit(value), value);
		MUST(npu_fp16_from_f32(got) == (bits), value);
		MUST(npu_fp16_from_f64(got) == (bits), value);
#ifdef HALF
		HALF half;
		uint16_t pattern = (uint16_t)bits;
		memcpy(&half, &pattern, sizeof half);
		MUST(got == (float)half, value);
#endif
	}
}
END_TEST

START_TEST(every_bf16_pattern_has_its_ieee_value_and_comes_back)
{
	for (unsigned bits = 0; bits < 65536; bits++) {
		double value = decode(bits, 7, 127);
		float got = npu_bf16_to_f32((uint16_t)bits);
		if (value != value) {
			MUST(npu_bf16_from_f32(got) == (bits | 0x40u), value);
			continue;
		}
		MUST(got == value && !signbit(got) == !signbit(value), value);
		MUST(npu_bf16_from_f32(got) == (bits), value);
		MUST(npu_bf16_from_f64(got) == (bits), value);
	}
}
END_TEST

START_TEST(doubles_round_once_to_the_nearest_even_half)
{
	uint64_t random = 1;
	for (int i = 0; i < RANDOM / 8; i++) {
		double x = next_value(&random);
		MUST(npu_fp16_from_f64(x) == encode(x, 10, 15), x);
		MUST(npu_bf16_from_f64(x) == encode(x, 7, 127), x);
		float f = (float)x;
		MUST(npu_fp16_from_f32(f) == encode(f, 10, 15), f);
		MUST(npu_bf16_from_f32(f) == encode(f, 7, 127), f);
	}
}
END_TEST

#ifdef HALF
static float of_bits_f32(uint32_t bits)
{
	float x;
	memcpy(&x, &bits, sizeof x);
	return x;
}
#endif

START_TEST(millions_of_conversions_equal_the_compilers)
{
#ifdef HALF
	uint64_t random = 2;
	for (int i = 0; i < RANDOM; i++) {
		double x = next_value(&random);
		HALF half = (HALF)x;
		uint16_t bits;
		memcpy(&bits, &half, sizeof bits);
		MUST(npu_fp16_from_f64(x) == bits, x);
		float f = of_bits_f32((uint32_t)next_random(&random));
		half = (HALF)f;
		memcpy(&bits, &half, sizeof bits);
		/* of a NaN that only the lower bits told from infinity, the sign and the quiet bit remain */
		MUST(npu_fp16_from_f32(f) == bits, f);
	}
#endif
}
END_TEST

START_TEST(a_double_just_above_a_tie_is_not_rounded_twice)
{
	/* 1 + 2^-11 is a tie of fp16 and goes to even, 1. A bit of 2^-40 above it must decide upwards, although fp32,
	 * which ends at 2^-23, would hide it. */
	ck_assert_uint_eq(npu_fp16_from_f64(1 + 0x1p-11), 0x3c00);
	ck_assert_uint_eq(npu_fp16_from_f64(1 + 0x1p-11 + 0x1p-40), 0x3c01);
	ck_assert_uint_eq(npu_fp16_from_f64(-(1 + 0x1p-11 + 0x1p-40)), 0xbc01);
	/* half of the least subnormal, 2^-25, goes to 0; anything more to 2^-24 */
	ck_assert_uint_eq(npu_fp16_from_f64(0x1p-25), 0);
	ck_assert_uint_eq(npu_fp16_from_f64(0x1p-25 + 0x1p-70), 1);
	/* 65504 is the largest; 65520 is half-way to what would be next */
	ck_assert_uint_eq(npu_fp16_from_f64(65519.999), 0x7bff);
	ck_assert_uint_eq(npu_fp16_from_f64(65520), 0x7c00);
	ck_assert_uint_eq(npu_fp16_from_f64(1e300), 0x7c00);
	ck_assert_uint_eq(npu_bf16_from_f64(1 + 0x1p-8 + 0x1p-50), 0x3f81);
}
END_TEST

START_TEST(integers_round_to_even_saturate_and_take_nan_as_0)
{
	static const struct {
		enum npu_dtype type;
		double min, max;
	} types[] = {
		{ NPU_INT32, -2147483648.0, 2147483647.0 },
		{ NPU_INT8, -128, 127 },
		{ NPU_UINT8, 0, 255 },
		{ NPU_INT4, -8, 7 },
		{ NPU_UINT4, 0, 15 },
	};
	for (unsigned i = 0; i < sizeof types / sizeof *types; i++) {
		enum npu_dtype t = types[i].type;
		ck_assert(npu_int_min(t) == types[i].min && npu_int_max(t) == types[i].max);
		ck_assert_int_eq(npu_int_from_f64(t, 2.5), 2);
		ck_assert_int_eq(npu_int_from_f64(t, 3.5), 4);
		ck_assert_int_eq(npu_int_from_f64(t, -2.5), types[i].min < 0 ? -2 : 0);
		ck_assert(npu_int_from_f64(t, INFINITY) == (int32_t)types[i].max);
		ck_assert(npu_int_from_f64(t, -INFINITY) == (int32_t)types[i].min);
		ck_assert_int_eq(npu_int_from_f64(t, NAN), 0);
	}
	ck_assert_int_eq(npu_int_from_f64(NPU_INT32, 2147483646.5), 2147483646);
	ck_assert_int_eq(npu_int_from_f64(NPU_INT8, 127.4999), 127);
}
END_TEST

START_TEST(the_even_element_of_a_nibble_row_is_in_the_low_nibble)
{
	uint8_t row[2] = { 0, 0 };
	npu_number_set(NPU_INT4, row, 0, 1);
	npu_number_set(NPU_INT4, row, 1, -2);
	npu_number_set(NPU_INT4, row, 2, 7);
	ck_assert_uint_eq(row[0], 0xe1);
	ck_assert_uint_eq(row[1], 0x07);
	ck_assert(npu_number_get(NPU_INT4, row, 1) == -2);
	ck_assert(npu_number_get(NPU_UINT4, row, 1) == 14);
}
END_TEST

/* Values of which some are special. */
static float next_element(uint64_t *random)
{
	static const float special[] = { 0,    -0.0f, INFINITY, -INFINITY, NAN,    0.5f,
					 1.5f, -0.5f, 65520,    1e-7f,     127.5f, 1e30f };
	uint64_t r = next_random(random);
	if (r % 8 == 0)
		return special[r / 8 % (sizeof special / sizeof *special)];
	return (float)((double)(int64_t)next_random(random) * 0x1p-63 * (r % 3 ? 10 : 300));
}

START_TEST(rows_convert_as_their_elements_do)
{
	enum { MOST = 37 };
	uint64_t random = 3;
	for (int trial = 0; trial < 4000; trial++) {
		enum npu_dtype t = (enum npu_dtype)(trial % NPU_DTYPES);
		uint64_t n = next_random(&random) % (MOST + 1), nbytes = npu_dtype_bytes(t, n);
		float in[MOST], out[MOST];
		for (uint64_t i = 0; i < n; i++)
			in[i] = next_element(&random);
		/* exactly as long as needed, for the sanitizer, and not aligned */
		uint8_t *row = malloc(nbytes + 1), *one = calloc(1, nbytes + 1);
		npu_row_from_f32(t, in, row + 1, n);
		for (uint64_t i = 0; i < n; i++)
			npu_number_set(t, one + 1, i, in[i]);
		ck_assert(memcmp(row + 1, one + 1, nbytes) == 0);
		npu_row_to_f32(t, row + 1, out, n);
		for (uint64_t i = 0; i < n; i++) {
			float expected = (float)npu_number_get(t, one + 1, i);
			ck_assert(out[i] == expected || (out[i] != out[i] && expected != expected));
		}
		free(row);
		free(one);
	}
}
END_TEST

static void rows_must_equal_values(const float *x, uint64_t n)
{
	uint16_t row[64];
	float back[64];
	npu_row_from_f32(NPU_FP16, x, row, n);
	npu_row_to_f32(NPU_FP16, row, back, n);
	for (uint64_t i = 0; i < n; i++) {
		MUST(row[i] == npu_fp16_from_f32(x[i]), x[i]);
		MUST(bits_of_f32(back[i]) == bits_of_f32(npu_fp16_to_f32(row[i])), x[i]);
	}
}

START_TEST(fp16_rows_have_the_bits_of_single_values_nans_included)
{
	float x[64];
	for (uint32_t bits = 0; bits < 65536; bits += 64) {
		for (uint32_t i = 0; i < 64; i++)
			x[i] = npu_fp16_to_f32((uint16_t)(bits + i));
		rows_must_equal_values(x, 64);
		/* the same without the quiet bit, and a little off */
		for (uint32_t i = 0; i < 64; i++) {
			uint32_t changed = bits_of_f32(x[i]) ^ (x[i] != x[i] ? 0x400001u : 0xfffu + i % 3);
			memcpy(&x[i], &changed, sizeof changed);
		}
		rows_must_equal_values(x, 64);
	}
	uint64_t random = 9;
	for (int trial = 0; trial < 20000; trial++) {
		for (uint32_t i = 0; i < 64; i++) {
			uint32_t bits = (uint32_t)next_random(&random);
			memcpy(&x[i], &bits, sizeof bits);
		}
		rows_must_equal_values(x, 64);
	}
}
END_TEST

START_TEST(a_row_of_an_odd_number_of_nibbles_ends_in_a_zero_nibble)
{
	float x[3] = { -1, -1, -1 };
	uint8_t row[2] = { 0x55, 0x55 };
	npu_row_from_f32(NPU_INT4, x, row, 3);
	ck_assert_uint_eq(row[0], 0xff);
	ck_assert_uint_eq(row[1], 0x0f);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("number");
	TCase *t = tcase_create("number");
	tcase_add_test(t, every_fp16_pattern_has_its_ieee_value_and_comes_back);
	tcase_add_test(t, every_bf16_pattern_has_its_ieee_value_and_comes_back);
	tcase_add_test(t, doubles_round_once_to_the_nearest_even_half);
	tcase_add_test(t, millions_of_conversions_equal_the_compilers);
	tcase_add_test(t, a_double_just_above_a_tie_is_not_rounded_twice);
	tcase_add_test(t, integers_round_to_even_saturate_and_take_nan_as_0);
	tcase_add_test(t, the_even_element_of_a_nibble_row_is_in_the_low_nibble);
	tcase_add_test(t, rows_convert_as_their_elements_do);
	tcase_add_test(t, fp16_rows_have_the_bits_of_single_values_nans_included);
	tcase_add_test(t, a_row_of_an_odd_number_of_nibbles_ends_in_a_zero_nibble);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return npu_suite_run(suite());
}
