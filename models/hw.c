/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from the keys of hw.def, and which combinations of them are no machine. */
#include "models/hw.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

static uint64_t largest(uint64_t a, uint64_t b) { return a > b ? a : b; }

uint64_t hw_activation_port(const struct hw *hw)
{
	return hw->matrix.activation_port ? hw->matrix.activation_port : hw->matrix.rows * 2;
}

uint64_t hw_weight_port(const struct hw *hw)
{
	return hw->matrix.weight_port ? hw->matrix.weight_port : hw->matrix.cols * 2;
}

uint64_t hw_accum_word_bytes(const struct hw *hw) { return largest(hw->matrix.cols, hw->vector.lanes) * 4; }

uint64_t hw_macs_per_cycle(const struct hw *hw, enum npu_dtype a)
{
	return hw->matrix.rows * hw->matrix.cols * (a == NPU_INT8 ? hw->matrix.int8_macs_per_pe : 1);
}

struct npu_capacity hw_capacity(const struct hw *hw)
{
	return (struct npu_capacity){
		.limits = { .sram_bytes = hw->sram.size,
			    .accum_bytes = hw->accum.size,
			    .dram_bytes = dram_capacity(&hw->dram) },
		.sram_groups = (uint32_t)hw->sram.groups,
		.sram_word_bytes = (uint32_t)hw->sram.bank_bytes,
		.accum_banks = (uint32_t)hw->accum.banks,
		.array_rows = (uint32_t)hw->matrix.rows,
		.array_cols = (uint32_t)hw->matrix.cols,
		.vector_lanes = (uint32_t)hw->vector.lanes,
		.dram_granule = dram_burst_bytes(&hw->dram),
		.load_channels = (uint32_t)hw->dma.load_channels,
		.store_channels = (uint32_t)hw->dma.store_channels,
	};
}

/* Names the key to blame; true, so that `return blame(...) && npu_fail(...)` reads well. */
static bool blame(const char **key, const char *name)
{
	if (key)
		*key = name;
	return true;
}

static bool is_power_of_two(uint64_t n) { return n && !(n & (n - 1)); }

static bool check_sram(const struct hw_sram *s, const char **key, struct npu_error *err)
{
	if (!is_power_of_two(s->bank_bytes))
		return blame(key, "sram.bank_bytes") &&
		       npu_fail(err, NPU_ERR_VALUE, "sram.bank_bytes=%" PRIu64 " is no power of two", s->bank_bytes);
	if (s->banks % s->groups)
		return blame(key, "sram.groups") &&
		       npu_fail(err, NPU_ERR_VALUE, "sram.banks=%" PRIu64 " is no multiple of sram.groups=%" PRIu64,
				s->banks, s->groups);
	if (s->size % (s->banks * s->bank_bytes))
		return blame(key, "sram.size") &&
		       npu_fail(err, NPU_ERR_VALUE,
				"sram.size=%" PRIu64 " is no multiple of sram.banks=%" PRIu64 " x sram.bank_bytes=%" PRIu64,
				s->size, s->banks, s->bank_bytes);
	return true;
}

static bool check_accum(const struct hw *hw, const char **key, struct npu_error *err)
{
	uint64_t word = hw_accum_word_bytes(hw);
	if (hw->accum.size % (hw->accum.banks * 4))
		return blame(key, "accum.size") &&
		       npu_fail(err, NPU_ERR_VALUE,
				"accum.size=%" PRIu64 " is no multiple of accum.banks=%" PRIu64 " x 4 bytes",
				hw->accum.size, hw->accum.banks);
	if (hw->accum.size / hw->accum.banks < word)
		return blame(key, "accum.banks") &&
		       npu_fail(err, NPU_ERR_VALUE,
				"accum.size=%" PRIu64 " in accum.banks=%" PRIu64 " leaves a bank less than the %" PRIu64
				" bytes it serves a cycle (4 x the larger of matrix.cols=%" PRIu64 " and vector.lanes=%" PRIu64
				")",
				hw->accum.size, hw->accum.banks, word, hw->matrix.cols, hw->vector.lanes);
	return true;
}

static bool check_dma(const struct hw *hw, const char **key, struct npu_error *err)
{
	uint64_t group = hw->sram.banks / hw->sram.groups * hw->sram.bank_bytes;
	if (hw->dma.port > group)
		return blame(key, "dma.port") &&
		       npu_fail(err, NPU_ERR_VALUE,
				"dma.port=%" PRIu64 " is wider than the %" PRIu64 " bytes a cycle of an SRAM group",
				hw->dma.port, group);
	if (!is_power_of_two(hw->dma.max_burst))
		return blame(key, "dma.max_burst") &&
		       npu_fail(err, NPU_ERR_VALUE, "dma.max_burst=%" PRIu64 " is no power of two", hw->dma.max_burst);
	return true;
}

/* The key of the DRAM part as hw knows it: one string a key, so that *key may point to it. */
static const char *dram_key(const char *name)
{
#define DRAM_KEY(key, kind, dflt, min, max, unit, doc) { #key, "dram." #key },
#define DRAM_TIMING(key, min, doc) { #key, "dram." #key },
	static const struct {
		const char *name, *key;
	} keys[] = {
#include "models/dram/keys.def"
#include "models/dram/timing.def"
	};
#undef DRAM_KEY
#undef DRAM_TIMING
	for (size_t i = 0; name && i < sizeof keys / sizeof *keys; i++) {
		if (!strcmp(keys[i].name, name))
			return keys[i].key;
	}
	return "dram";
}

static bool check_dram(const struct hw *hw, const char **key, struct npu_error *err)
{
	const char *name = NULL;
	const char *wrong = dram_config_check(&hw->dram, &name);
	if (wrong)
		return blame(key, dram_key(name)) && npu_fail(err, NPU_ERR_VALUE, "%s: %s", dram_key(name), wrong);
	return true;
}

bool hw_check(const struct hw *hw, const char **key, struct npu_error *err)
{
	return check_sram(&hw->sram, key, err) && check_accum(hw, key, err) && check_dma(hw, key, err) &&
	       check_dram(hw, key, err);
}

/* cycles = clk x tCK x f = clk x (tck_num / tck_den) 1e-12 s x f Hz. */
struct hw_clock_ratio hw_clock_ratio(const struct hw *hw)
{
	uint64_t num = hw->dram.tck_num * (uint64_t)llround(hw->npu.clock_mhz * 1e6);
	uint64_t den = hw->dram.tck_den * UINT64_C(1000000000000);
	uint64_t a = num, b = den;
	while (b) {
		uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return (struct hw_clock_ratio){ num / a, den / a };
}

uint64_t hw_cycle_of_dram_clk(const struct hw *hw, uint64_t clk) { return hw_ratio_cycle_of_clk(hw_clock_ratio(hw), clk); }

uint64_t hw_dram_clk_of_cycle(const struct hw *hw, uint64_t cycle)
{
	return hw_ratio_clk_of_cycle(hw_clock_ratio(hw), cycle);
}
