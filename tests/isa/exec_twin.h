/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the executor share: memories filled at random, matrices read bit by bit without the executor's
 * help, one instruction run on them, and a check that it wrote its result and nothing else. */
#ifndef NPU_TESTS_ISA_EXEC_TWIN_H
#define NPU_TESTS_ISA_EXEC_TWIN_H

#include "isa/exec.h"
#include "isa/number.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An assertion for inner loops: Check's own writes to a pipe each time it holds. */
#define MUST(holds, ...)                                                                                               \
	do {                                                                                                           \
		if (!(holds))                                                                                          \
			ck_abort_msg(__VA_ARGS__);                                                                     \
	} while (0)

static inline uint64_t next_random(uint64_t *state) /* splitmix64 */
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* least <= n <= most. */
static inline uint32_t pick(uint64_t *random, uint32_t least, uint32_t most)
{
	return least + (uint32_t)(next_random(random) % (most - least + 1u));
}

/* -range < x < range. */
static inline double pick_real(uint64_t *random, double range)
{
	return (double)(int64_t)next_random(random) * 0x1p-63 * range;
}

#define PICK(random, array) ((array)[next_random(random) % (sizeof(array) / sizeof *(array))])

enum { TWIN_SRAM = 256 << 10, TWIN_ACCUM = 128 << 10 };

/* A matrix in local memory; stride 0: dense. */
struct twin_matrix {
	uint32_t local;
	uint32_t rows;
	uint32_t cols;
	enum npu_dtype dtype;
	uint32_t layout;
	uint32_t stride;
};

static const unsigned twin_type_bits[] = { [NPU_FP32] = 32, [NPU_FP16] = 16, [NPU_BF16] = 16, [NPU_INT32] = 32,
					   [NPU_INT8] = 8,  [NPU_UINT8] = 8, [NPU_INT4] = 4,  [NPU_UINT4] = 4 };

static inline uint32_t twin_block(uint32_t layout)
{
	return layout == NPU_LAYOUT_BLOCK32 ? 32 : layout == NPU_LAYOUT_BLOCK16 ? 16 : 1;
}

static inline uint64_t twin_strip_bits(const struct twin_matrix *m)
{
	uint64_t block = twin_block(m->layout), blocks = (m->cols + block - 1) / block;
	return (blocks * block * block * twin_type_bits[m->dtype] + 7) / 8 * 8;
}

static inline uint64_t twin_stride(const struct twin_matrix *m)
{
	return m->stride ? m->stride : twin_strip_bits(m) / 8;
}

static inline uint64_t twin_strips(const struct twin_matrix *m)
{
	return (m->rows + twin_block(m->layout) - 1) / twin_block(m->layout);
}

static inline uint64_t twin_extent(const struct twin_matrix *m)
{
	return (twin_strips(m) - 1) * twin_stride(m) + twin_strip_bits(m) / 8;
}

/* Counts its way to the element: strip, then block, then row of the block, then element. */
static inline uint64_t twin_bit(const struct twin_matrix *m, uint64_t row, uint64_t col)
{
	uint64_t block = twin_block(m->layout), bits = twin_type_bits[m->dtype], at = 0;
	at += row / block * twin_stride(m) * 8;
	at += col / block * (block * block * bits);
	at += row % block * (block * bits);
	at += col % block * bits;
	return at;
}

static inline uint64_t twin_raw_at(const uint8_t *bytes, const struct twin_matrix *m, uint64_t row, uint64_t col)
{
	uint64_t at = twin_bit(m, row, col), raw = 0;
	for (unsigned i = 0; i < twin_type_bits[m->dtype]; i++)
		raw |= (uint64_t)(bytes[(at + i) / 8] >> (at + i) % 8 & 1) << i;
	return raw;
}

static inline double twin_decode(enum npu_dtype t, uint64_t raw)
{
	uint8_t bytes[8];
	memcpy(bytes, &raw, sizeof bytes);
	return npu_number_get(t, bytes, 0);
}

struct twin_memory {
	uint8_t sram[TWIN_SRAM];
	uint8_t accum[TWIN_ACCUM];
};

/* Before and after an instruction. */
struct twin {
	uint64_t random;
	struct twin_memory before;
	struct twin_memory after;
	struct npu_exec_options options;
	uint32_t next_sram; /* where the next matrix goes */
	uint32_t next_accum;
};

static inline struct twin *twin_new(uint64_t seed)
{
	struct twin *t = calloc(1, sizeof *t);
	t->random = seed;
	return t;
}

static inline uint8_t *twin_bytes(struct twin_memory *memory, uint32_t local)
{
	return (local & NPU_ACC_BIT ? memory->accum : memory->sram) + (local & ~NPU_ACC_BIT);
}

/* A fresh trial: both memories full of random bytes, nothing placed. */
static inline void twin_shuffle(struct twin *t)
{
	uint64_t *words = (uint64_t *)(void *)&t->before;
	for (size_t i = 0; i < sizeof t->before / sizeof *words; i++)
		words[i] = next_random(&t->random);
	t->next_sram = pick(&t->random, 0, 64);
	t->next_accum = pick(&t->random, 0, 16) * 4;
}

/* Places a matrix behind the ones placed before: any byte address, a stride that is often not dense. */
static inline struct twin_matrix twin_place(struct twin *t, bool accum, uint32_t rows, uint32_t cols,
					    enum npu_dtype dtype, uint32_t layout)
{
	struct twin_matrix m = { 0, rows, cols, dtype, layout, 0 };
	if (next_random(&t->random) % 2)
		m.stride = (uint32_t)(twin_strip_bits(&m) / 8) + pick(&t->random, 0, 9) * (accum ? 4 : 1);
	uint32_t *next = accum ? &t->next_accum : &t->next_sram;
	m.local = *next | (accum ? NPU_ACC_BIT : 0);
	*next += (uint32_t)twin_extent(&m) + pick(&t->random, 0, 7) * (accum ? 4 : 1);
	ck_assert_uint_le(*next, accum ? TWIN_ACCUM : TWIN_SRAM);
	return m;
}

static inline uint64_t twin_raw(struct twin_memory *memory, const struct twin_matrix *m, uint64_t row, uint64_t col)
{
	return twin_raw_at(twin_bytes(memory, m->local), m, row, col);
}

static inline double twin_get(struct twin_memory *memory, const struct twin_matrix *m, uint64_t row, uint64_t col)
{
	return twin_decode(m->dtype, twin_raw(memory, m, row, col));
}

static inline void twin_set(struct twin_memory *memory, const struct twin_matrix *m, uint64_t row, uint64_t col,
			    double x)
{
	uint8_t raw[8] = { 0 }, *bytes = twin_bytes(memory, m->local);
	npu_number_set(m->dtype, raw, 0, x);
	uint64_t at = twin_bit(m, row, col);
	for (unsigned i = 0; i < twin_type_bits[m->dtype]; i++) {
		bytes[(at + i) / 8] &= (uint8_t) ~(1u << (at + i) % 8);
		bytes[(at + i) / 8] |= (uint8_t)((raw[i / 8] >> i % 8 & 1) << (at + i) % 8);
	}
}

static inline void twin_fill(struct twin *t, const struct twin_matrix *m, double range)
{
	for (uint64_t row = 0; row < m->rows; row++)
		for (uint64_t col = 0; col < m->cols; col++)
			twin_set(&t->before, m, row, col, pick_real(&t->random, range));
}

static inline void twin_must(bool holds, const struct npu_error *err)
{
	if (!holds)
		ck_abort_msg("%s", err->text);
}

/* Runs one instruction on `before`, into `after`. */
static inline void twin_run(struct twin *t, const struct npu_insn *insn)
{
	struct npu_program program = {
		.name = "twin", .ninsns = 1, .insns = insn, .needs = { TWIN_SRAM, TWIN_ACCUM, 0 }
	};
	struct npu_error err;
	struct npu_exec *e = npu_exec_new(&program, &t->options, &err);
	twin_must(e, &err);
	npu_exec_local_write(e, 0, t->before.sram, TWIN_SRAM);
	npu_exec_local_write(e, NPU_ACC_BIT, t->before.accum, TWIN_ACCUM);
	twin_must(npu_exec_run(e, &err), &err);
	npu_exec_local_read(e, 0, t->after.sram, TWIN_SRAM);
	npu_exec_local_read(e, NPU_ACC_BIT, t->after.accum, TWIN_ACCUM);
	npu_exec_free(e);
}

/* No byte outside the strips of the `n` results changed. */
static inline void twin_only(struct twin *t, const struct twin_matrix *results, unsigned n)
{
	static struct twin_memory masked;
	masked = t->after;
	for (unsigned i = 0; i < n; i++) {
		const struct twin_matrix *m = &results[i];
		for (uint64_t strip = 0; strip < twin_strips(m); strip++) {
			uint64_t at = strip * twin_stride(m), nbytes = twin_strip_bits(m) / 8;
			memcpy(twin_bytes(&masked, m->local) + at, twin_bytes(&t->before, m->local) + at, nbytes);
		}
	}
	MUST(memcmp(&masked, &t->before, sizeof masked) == 0, "a byte outside the result changed");
}

/* Behind an odd number of 4-bit elements a row-major result has a zero nibble. */
static inline void twin_spare_is_zero(struct twin *t, const struct twin_matrix *m)
{
	for (uint64_t row = 0; twin_type_bits[m->dtype] == 4 && m->cols % 2 && row < m->rows; row++)
		MUST(twin_raw(&t->after, m, row, m->cols) == 0, "the spare nibble of row %u is not zero",
		     (unsigned)row);
}

static inline double twin_round(enum npu_dtype t, double x)
{
	uint8_t raw[8] = { 0 };
	npu_number_set(t, raw, 0, x);
	return npu_number_get(t, raw, 0);
}

/* `got` is what `expected`, known to within `error`, may become in type `t`. */
static inline bool twin_near(enum npu_dtype t, double got, double expected, double error)
{
	if (expected != expected)
		return got != got || (t != NPU_FP32 && t != NPU_FP16 && t != NPU_BF16 && got == 0);
	if (isinf(expected))
		error = 0;
	return got >= twin_round(t, expected - error) && got <= twin_round(t, expected + error);
}

/* An error of `steps` roundings of fp32 at magnitude `x`. */
static inline double twin_fp32_error(double x, double steps)
{
	return isfinite(x) ? fabs(x) * steps * 0x1p-24 + 0x1p-149 : 0;
}

#endif
