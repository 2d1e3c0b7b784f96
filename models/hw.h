/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's configuration as the models see it; reading it from files and the command line is sim's. */
#ifndef NPU_MODELS_HW_H
#define NPU_MODELS_HW_H

#include "isa/error.h"
#include "isa/insn.h"
#include "isa/limits.h"
#include "models/dram/dram.h"

#define HW_TYPE_UINT uint64_t
#define HW_TYPE_SIZE uint64_t
#define HW_TYPE_REAL double
#define HW_TYPE_FLAG bool
#define HW_TYPE_ENUM uint32_t

#define SECTION(section, doc) struct hw_##section {
#define KEY(section, type, name, initial, min, max, unit, doc) HW_TYPE_##type name;
#define END_SECTION(section) };
#include "models/hw.def"

/* Values of the ENUM keys: HW_DATAFLOW_WS, ... */
enum hw_value {
#define HW_ENUM(section, name, VALUE, number, text, doc) HW_##VALUE = (number),
#include "models/hw.def"
};

struct hw {
	char name[64]; /* preset or file the configuration began with */
#define SECTION(section, doc) struct hw_##section section;
#include "models/hw.def"
	struct dram_config dram;
};

#ifdef __cplusplus
extern "C" {
#endif

/* What programs and kernels may know of it. */
struct npu_capacity hw_capacity(const struct hw *);
/* Relations between keys, ranges taken for granted: banks and groups divide their memories, words are powers of two, a DMA
 * beat fits into a group, the DRAM can be built. An error names the keys; `*key` (may be NULL) is set to the one to blame,
 * "sram.size". Anything else that is merely slow is legal. */
bool hw_check(const struct hw *, const char **key, struct npu_error *err);
/* Keys that are 0 in the file for "derived": activation_port, weight_port. */
uint64_t hw_activation_port(const struct hw *);
uint64_t hw_weight_port(const struct hw *);
/* Bytes that a bank of the accumulators reads, and writes, in a cycle. */
uint64_t hw_accum_word_bytes(const struct hw *);
/* Products a cycle for a left operand of type a: rows x cols, times int8_macs_per_pe for int8. */
uint64_t hw_macs_per_cycle(const struct hw *, enum npu_dtype a);

/* NPU cycles a DRAM clock, exactly, in lowest terms: tCK is a fraction of picoseconds, the NPU clock whole Hz. */
struct hw_clock_ratio {
	uint64_t num;
	uint64_t den;
};
struct hw_clock_ratio hw_clock_ratio(const struct hw *);

/* Cycles below 2^50 do not overflow: numerator and denominator are below 2^60. */
static inline uint64_t hw_ratio_up(uint64_t n, uint64_t num, uint64_t den)
{
	uint64_t product;
	if (!__builtin_mul_overflow(n, num, &product) && product <= UINT64_MAX - den)
		return (product + den - 1) / den;
	return (uint64_t)(((unsigned __int128)n * num + den - 1) / den);
}
static inline uint64_t hw_ratio_down(uint64_t n, uint64_t num, uint64_t den)
{
	uint64_t product;
	if (!__builtin_mul_overflow(n, num, &product))
		return product / den;
	return (uint64_t)((unsigned __int128)n * num / den);
}
/* The first NPU edge at or after a DRAM edge; the last DRAM edge at or before an NPU edge. */
static inline uint64_t hw_ratio_cycle_of_clk(struct hw_clock_ratio r, uint64_t clk)
{
	return hw_ratio_up(clk, r.num, r.den);
}
static inline uint64_t hw_ratio_clk_of_cycle(struct hw_clock_ratio r, uint64_t cycle)
{
	return hw_ratio_down(cycle, r.den, r.num);
}
/* The same, for whoever converts a few and keeps no ratio. */
uint64_t hw_cycle_of_dram_clk(const struct hw *, uint64_t clk);
uint64_t hw_dram_clk_of_cycle(const struct hw *, uint64_t cycle);

#ifdef __cplusplus
}
#endif

#endif
