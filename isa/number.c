/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions by integer arithmetic on the bits, four at a time for rows. Rows of fp16 use the host's own conversion
 * where it has one: IEEE leaves it no other result. */
#include "isa/number.h"

#include "isa/exec/lanes.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "memory images are little-endian and read as they lie");

static uint32_t bits_of(float x)
{
	uint32_t bits;
	memcpy(&bits, &x, sizeof bits);
	return bits;
}

static float of_bits(uint32_t bits)
{
	float x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

/* Comparisons of magnitudes are signed: the host's vectors have no others. */
static inline npu_f4 f4_from_fp16(npu_u4 h)
{
	const npu_u4 rebias = npu_u4_all(112u << 23);
	npu_u4 magnitude = (h & 0x7fffu) << 13;
	npu_u4 finite = magnitude + rebias;
	/* a subnormal m * 2^-24 is what 2^-14 * (1 + m * 2^-10) has above 2^-14 */
	npu_u4 tiny = npu_f4_bits(npu_bits_f4(magnitude + (113u << 23)) - npu_f4_all(0x1p-14f));
	npu_u4 infinite = finite + rebias;
	npu_u4 quiet = infinite | (1u << 22);
	npu_u4 v = npu_u4_select((npu_i4)magnitude < (1 << 23), tiny, finite);
	v = npu_u4_select((npu_i4)magnitude >= (0x7c00 << 13), infinite, v);
	v = npu_u4_select((npu_i4)magnitude > (0x7c00 << 13), quiet, v);
	return npu_bits_f4(v | (h & 0x8000u) << 16);
}

static inline npu_u4 fp16_from_f4(npu_f4 x)
{
	npu_u4 u = npu_f4_bits(x), magnitude = u & 0x7fffffffu;
	npu_u4 finite = (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
	/* adding 0.5 shifts the bits that a subnormal keeps to the bottom, and rounds */
	npu_u4 tiny = npu_f4_bits(npu_bits_f4(magnitude) + npu_f4_all(0.5f)) - (126u << 23);
	npu_u4 nan = (magnitude >> 13 & 0x3ffu) | 0x7e00u;
	npu_u4 v = npu_u4_select((npu_i4)magnitude < (113 << 23), tiny, finite);
	v = npu_u4_select((npu_i4)magnitude >= (143 << 23), npu_u4_all(0x7c00u), v);
	v = npu_u4_select((npu_i4)magnitude > (255 << 23), nan, v);
	return v | (u >> 16 & 0x8000u);
}

static inline npu_f4 f4_from_bf16(npu_u4 h)
{
	npu_u4 u = h << 16;
	return npu_bits_f4(npu_u4_select((npu_i4)(u & 0x7fffffffu) > (255 << 23), u | (1u << 22), u));
}

static inline npu_u4 bf16_from_f4(npu_f4 x)
{
	npu_u4 u = npu_f4_bits(x);
	npu_u4 rounded = (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
	return npu_u4_select((npu_i4)(u & 0x7fffffffu) > (255 << 23), u >> 16 | 0x40u, rounded);
}

/* Saturated to least..most, which must lie within +-2^22. */
static inline npu_i4 small_int_from_f4(npu_f4 x, float least, float most)
{
	const float magic = 0x1.8p23f; /* beside it fp32 has a spacing of 1 */
	npu_f4 lo = npu_f4_all(least), hi = npu_f4_all(most);
	npu_f4 v = npu_f4_select(x < lo, lo, x);
	v = npu_f4_select(v > hi, hi, v);
	v = npu_f4_select(v == v, v, npu_f4_all(0));
	return (npu_i4)(npu_f4_bits(v + magic) - npu_f4_bits(npu_f4_all(magic)));
}

float npu_fp16_to_f32(uint16_t bits)
{
	return f4_from_fp16(npu_u4_all(bits))[0];
}

float npu_bf16_to_f32(uint16_t bits)
{
	return f4_from_bf16(npu_u4_all(bits))[0];
}

uint16_t npu_fp16_from_f32(float x)
{
	return (uint16_t)fp16_from_f4(npu_f4_all(x))[0];
}

uint16_t npu_bf16_from_f32(float x)
{
	return (uint16_t)bf16_from_f4(npu_f4_all(x))[0];
}

/* fp32 rounded to odd: cut, with the last bit set when something was cut off. Rounding that to a format with at least
 * two bits less gives what rounding `x` itself gives. */
static float odd_f32(double x)
{
	float f = (float)x;
	if (x != x || (double)f == x)
		return f;
	uint32_t bits = bits_of(f);
	double magnitude = x < 0 ? -x : x, rounded = of_bits(bits & 0x7fffffffu);
	if (rounded > magnitude)
		bits--;
	return of_bits(bits | 1u);
}

uint16_t npu_fp16_from_f64(double x)
{
	return npu_fp16_from_f32(odd_f32(x));
}

uint16_t npu_bf16_from_f64(double x)
{
	return npu_bf16_from_f32(odd_f32(x));
}

struct range {
	double min;
	double max;
};

/* (-1 << 1) ... for types of any width; 0..0 for floating-point ones. */
static const struct range ranges[NPU_DTYPES] = {
#define DTYPE(NAME, text, bits, is_float, is_signed)                                                                   \
	[NPU_##NAME] = { (is_float) || !(is_signed) ? 0 : -(double)(1ull << ((bits)-1)),                               \
			 (is_float) ? 0 : (double)((1ull << ((bits) - (is_signed))) - 1) },
#include "isa/dtype.def"
};

double npu_int_min(enum npu_dtype t)
{
	return ranges[t].min;
}

double npu_int_max(enum npu_dtype t)
{
	return ranges[t].max;
}

int32_t npu_int_from_f64(enum npu_dtype t, double x)
{
	const double magic = 0x1.8p52; /* beside it double has a spacing of 1 */
	struct range range = ranges[t];
	if (x != x)
		return 0;
	double v = x < range.min ? range.min : x > range.max ? range.max : x;
	double shifted = v + magic;
	uint64_t bits;
	memcpy(&bits, &shifted, sizeof bits);
	return (int32_t)(uint32_t)bits;
}

static void row_from_fp32(const uint8_t *src, float *dst, uint64_t n)
{
	memcpy(dst, src, n * sizeof *dst);
}

enum { EIGHT = 2 * NPU_LANES };

typedef npu_f4 from_half_fn(npu_u4 h);
typedef npu_u4 to_half_fn(npu_f4 x);

/* Converters are inlined into the loops over rows. */
#define INLINED static inline __attribute__((always_inline))

INLINED void eight_from_half(npu_h8 h, npu_f4 out[2], from_half_fn *convert)
{
	const npu_h8 zero = { 0 };
	out[0] = convert((npu_u4)__builtin_shufflevector(h, zero, 0, 8, 1, 9, 2, 10, 3, 11));
	out[1] = convert((npu_u4)__builtin_shufflevector(h, zero, 4, 12, 5, 13, 6, 14, 7, 15));
}

/* Whole eights, then the rest through a padded eight. */
INLINED void row_from_half(const uint8_t *src, float *dst, uint64_t n, from_half_fn *convert)
{
	npu_h8 h = { 0 };
	npu_f4 out[2];
	uint64_t i = 0;
	for (; i + EIGHT <= n; i += EIGHT) {
		memcpy(&h, src + 2 * i, sizeof h);
		eight_from_half(h, out, convert);
		npu_f4_store(dst + i, out[0]);
		npu_f4_store(dst + i + NPU_LANES, out[1]);
	}
	memcpy(&h, src + 2 * i, 2 * (n - i));
	eight_from_half(h, out, convert);
	memcpy(dst + i, out, (n - i) * sizeof *dst);
}

#ifdef __x86_64__
typedef short host_half8 __attribute__((vector_size(16)));
typedef float host_f8 __attribute__((vector_size(32)));

/* clang cannot ask for f16c itself; the processors with avx2 have it. */
static bool host_converts_fp16(void)
{
	return __builtin_cpu_supports("avx2");
}

__attribute__((target("avx,f16c"))) static void host_from_fp16(const uint8_t *src, float *dst, uint64_t n)
{
	for (uint64_t i = 0; i < n; i += EIGHT) {
		host_half8 h;
		memcpy(&h, src + 2 * i, sizeof h);
		host_f8 x = __builtin_ia32_vcvtph2ps256(h);
		memcpy(dst + i, &x, sizeof x);
	}
}

__attribute__((target("avx,f16c"))) static void host_to_fp16(const float *src, uint8_t *dst, uint64_t n)
{
	for (uint64_t i = 0; i < n; i += EIGHT) {
		host_f8 x;
		memcpy(&x, src + i, sizeof x);
		host_half8 h = __builtin_ia32_vcvtps2ph256(x, 0); /* 0: to nearest even */
		memcpy(dst + 2 * i, &h, sizeof h);
	}
}
#else
static bool host_converts_fp16(void)
{
	return false;
}

static void host_from_fp16(const uint8_t *src, float *dst, uint64_t n)
{
	(void)src, (void)dst, (void)n;
}

static void host_to_fp16(const float *src, uint8_t *dst, uint64_t n)
{
	(void)src, (void)dst, (void)n;
}
#endif

static void row_from_fp16(const uint8_t *src, float *dst, uint64_t n)
{
	uint64_t whole = host_converts_fp16() ? n / EIGHT * EIGHT : 0;
	host_from_fp16(src, dst, whole);
	row_from_half(src + 2 * whole, dst + whole, n - whole, f4_from_fp16);
}

static void row_from_bf16(const uint8_t *src, float *dst, uint64_t n)
{
	row_from_half(src, dst, n, f4_from_bf16);
}

static void row_from_int32(const uint8_t *src, float *dst, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		int32_t v;
		memcpy(&v, src + 4 * i, sizeof v);
		dst[i] = (float)v;
	}
}

static inline int32_t nibble(uint8_t byte, uint64_t i)
{
	return i & 1 ? byte >> 4 : byte & 15;
}

static inline int32_t signed_nibble(uint8_t byte, uint64_t i)
{
	return (nibble(byte, i) ^ 8) - 8;
}

/* Eight integers that are the top bits of bytes; shifting right by `shift` brings them down with their sign, or
 * without. */
INLINED void eight_from_top(npu_b16 top, int shift, bool has_sign, npu_f4 out[2])
{
	const npu_b16 zero = { 0 };
	npu_h8 words =
		(npu_h8)__builtin_shufflevector(zero, top, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
	npu_u4 lo = (npu_u4)__builtin_shufflevector((npu_h8)zero, words, 0, 8, 1, 9, 2, 10, 3, 11);
	npu_u4 hi = (npu_u4)__builtin_shufflevector((npu_h8)zero, words, 4, 12, 5, 13, 6, 14, 7, 15);
	npu_i4 low = has_sign ? (npu_i4)lo >> shift : (npu_i4)(lo >> shift);
	npu_i4 high = has_sign ? (npu_i4)hi >> shift : (npu_i4)(hi >> shift);
	out[0] = __builtin_convertvector(low, npu_f4);
	out[1] = __builtin_convertvector(high, npu_f4);
}

/* Up to eight bytes, by way of a register: a vector cannot be read from where a shorter word has just been written. */
INLINED npu_b16 low_bytes(const uint8_t *src, uint64_t nbytes)
{
	uint64_t word = 0;
	memcpy(&word, src, nbytes);
	return (npu_b16)(npu_u2){ word, 0 };
}

INLINED void row_from_bytes(const uint8_t *src, float *dst, uint64_t n, bool has_sign)
{
	npu_f4 out[2];
	uint64_t i = 0;
	for (; i + EIGHT <= n; i += EIGHT) {
		eight_from_top(low_bytes(src + i, EIGHT), 24, has_sign, out);
		npu_f4_store(dst + i, out[0]);
		npu_f4_store(dst + i + NPU_LANES, out[1]);
	}
	eight_from_top(low_bytes(src + i, n - i), 24, has_sign, out);
	memcpy(dst + i, out, (n - i) * sizeof *dst);
}

/* Four bytes of nibbles as eight bytes with the nibbles on top. */
INLINED npu_b16 spread_nibbles(npu_b16 packed)
{
	npu_b16 even = (npu_b16)((npu_h8)packed << 4) & 0xf0, odd = packed & 0xf0;
	return __builtin_shufflevector(even, odd, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

INLINED void row_from_nibbles(const uint8_t *src, float *dst, uint64_t n, bool has_sign)
{
	npu_f4 out[2];
	uint64_t i = 0;
	for (; i + EIGHT <= n; i += EIGHT) {
		eight_from_top(spread_nibbles(low_bytes(src + i / 2, EIGHT / 2)), 28, has_sign, out);
		npu_f4_store(dst + i, out[0]);
		npu_f4_store(dst + i + NPU_LANES, out[1]);
	}
	eight_from_top(spread_nibbles(low_bytes(src + i / 2, (n - i + 1) / 2)), 28, has_sign, out);
	memcpy(dst + i, out, (n - i) * sizeof *dst);
}

static void row_from_int8(const uint8_t *src, float *dst, uint64_t n)
{
	row_from_bytes(src, dst, n, true);
}

static void row_from_uint8(const uint8_t *src, float *dst, uint64_t n)
{
	row_from_bytes(src, dst, n, false);
}

static void row_from_int4(const uint8_t *src, float *dst, uint64_t n)
{
	row_from_nibbles(src, dst, n, true);
}

static void row_from_uint4(const uint8_t *src, float *dst, uint64_t n)
{
	row_from_nibbles(src, dst, n, false);
}

static void row_to_fp32(const float *src, uint8_t *dst, uint64_t n)
{
	memcpy(dst, src, n * sizeof *src);
}

INLINED npu_h8 eight_to_half(const npu_f4 x[2], to_half_fn *convert)
{
	npu_h8 lo = (npu_h8)convert(x[0]), hi = (npu_h8)convert(x[1]);
	return __builtin_shufflevector(lo, hi, 0, 2, 4, 6, 8, 10, 12, 14);
}

INLINED void row_to_half(const float *src, uint8_t *dst, uint64_t n, to_half_fn *convert)
{
	npu_f4 x[2];
	uint64_t i = 0;
	for (; i + EIGHT <= n; i += EIGHT) {
		x[0] = npu_f4_load(src + i);
		x[1] = npu_f4_load(src + i + NPU_LANES);
		npu_h8 h = eight_to_half(x, convert);
		memcpy(dst + 2 * i, &h, sizeof h);
	}
	memset(x, 0, sizeof x);
	memcpy(x, src + i, (n - i) * sizeof *src);
	npu_h8 h = eight_to_half(x, convert);
	memcpy(dst + 2 * i, &h, 2 * (n - i));
}

static void row_to_fp16(const float *src, uint8_t *dst, uint64_t n)
{
	uint64_t whole = host_converts_fp16() ? n / EIGHT * EIGHT : 0;
	host_to_fp16(src, dst, whole);
	row_to_half(src + whole, dst + 2 * whole, n - whole, fp16_from_f4);
}

static void row_to_bf16(const float *src, uint8_t *dst, uint64_t n)
{
	row_to_half(src, dst, n, bf16_from_f4);
}

static void row_to_int32(const float *src, uint8_t *dst, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		int32_t v = npu_int_from_f64(NPU_INT32, src[i]);
		memcpy(dst + 4 * i, &v, sizeof v);
	}
}

/* Lanes as `width` bits each, next to each other, in the low bits of the result. */
INLINED uint32_t join_lanes(npu_i4 v, int width)
{
	npu_u2 pairs = (npu_u2)(v & ((1 << width) - 1));
	pairs |= pairs >> (32 - width);
	return (uint32_t)(pairs[0] & ((1u << 2 * width) - 1)) | (uint32_t)pairs[1] << 2 * width;
}

INLINED void row_to_ints(const float *src, uint8_t *dst, uint64_t n, int width, float least, float most)
{
	npu_f4 rest = { 0 };
	uint32_t joined;
	uint64_t i = 0;
	for (; i + NPU_LANES <= n; i += NPU_LANES) {
		joined = join_lanes(small_int_from_f4(npu_f4_load(src + i), least, most), width);
		memcpy(dst + i * (unsigned)width / 8, &joined, (unsigned)width / 2);
	}
	memcpy(&rest, src + i, (n - i) * sizeof *src);
	joined = join_lanes(small_int_from_f4(rest, least, most), width);
	memcpy(dst + i * (unsigned)width / 8, &joined, ((n - i) * (unsigned)width + 7) / 8);
}

static void row_to_int8(const float *src, uint8_t *dst, uint64_t n)
{
	row_to_ints(src, dst, n, 8, -128, 127);
}

static void row_to_uint8(const float *src, uint8_t *dst, uint64_t n)
{
	row_to_ints(src, dst, n, 8, 0, 255);
}

static void row_to_int4(const float *src, uint8_t *dst, uint64_t n)
{
	row_to_ints(src, dst, n, 4, -8, 7);
}

static void row_to_uint4(const float *src, uint8_t *dst, uint64_t n)
{
	row_to_ints(src, dst, n, 4, 0, 15);
}

struct rows {
	void (*to_f32)(const uint8_t *src, float *dst, uint64_t n);
	void (*from_f32)(const float *src, uint8_t *dst, uint64_t n);
};

static const struct rows rows[NPU_DTYPES] = {
	[NPU_FP32] = { row_from_fp32, row_to_fp32 }, [NPU_FP16] = { row_from_fp16, row_to_fp16 },
	[NPU_BF16] = { row_from_bf16, row_to_bf16 }, [NPU_INT32] = { row_from_int32, row_to_int32 },
	[NPU_INT8] = { row_from_int8, row_to_int8 }, [NPU_UINT8] = { row_from_uint8, row_to_uint8 },
	[NPU_INT4] = { row_from_int4, row_to_int4 }, [NPU_UINT4] = { row_from_uint4, row_to_uint4 },
};

void npu_row_to_f32(enum npu_dtype t, const void *src, float *dst, uint64_t n)
{
	if (n)
		rows[t].to_f32(src, dst, n);
}

void npu_row_from_f32(enum npu_dtype t, const float *src, void *dst, uint64_t n)
{
	if (n)
		rows[t].from_f32(src, dst, n);
}

double npu_number_get(enum npu_dtype t, const void *row, uint64_t i)
{
	const uint8_t *bytes = (const uint8_t *)row + (npu_dtype_bits(t) * i >> 3);
	int32_t whole;
	float x;
	switch (t) {
	case NPU_INT32: /* fp32 could not hold it */
		memcpy(&whole, bytes, sizeof whole);
		return whole;
	case NPU_INT4:
		return signed_nibble(*bytes, i);
	case NPU_UINT4:
		return nibble(*bytes, i);
	case NPU_FP32:
	case NPU_FP16:
	case NPU_BF16:
	case NPU_INT8:
	case NPU_UINT8:
		npu_row_to_f32(t, bytes, &x, 1);
		return x;
	case NPU_DTYPES:
		break;
	}
	return 0;
}

void npu_number_set(enum npu_dtype t, void *row, uint64_t i, double x)
{
	uint8_t *bytes = (uint8_t *)row + (npu_dtype_bits(t) * i >> 3);
	float single = (float)x;
	uint16_t half;
	int32_t whole;
	switch (t) {
	case NPU_FP32:
		memcpy(bytes, &single, sizeof single);
		return;
	case NPU_FP16:
		half = npu_fp16_from_f64(x);
		memcpy(bytes, &half, sizeof half);
		return;
	case NPU_BF16:
		half = npu_bf16_from_f64(x);
		memcpy(bytes, &half, sizeof half);
		return;
	case NPU_INT32:
		whole = npu_int_from_f64(t, x);
		memcpy(bytes, &whole, sizeof whole);
		return;
	case NPU_INT8:
	case NPU_UINT8:
		*bytes = (uint8_t)npu_int_from_f64(t, x);
		return;
	case NPU_INT4:
	case NPU_UINT4:
		whole = npu_int_from_f64(t, x) & 15;
		*bytes = (uint8_t)(i & 1 ? (*bytes & 0x0f) | whole << 4 : (*bytes & 0xf0) | whole);
		return;
	case NPU_DTYPES:
		return;
	}
}
