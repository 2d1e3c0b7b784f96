/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from the keys of hw.def, and which combinations of them are no machine. */
#include "models/hw.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
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

/* Peak MACs a second over peak bytes a second. */
static uint32_t int8_ridge(const struct hw *hw)
{
	double ps = (double)hw->dram.tck_num / (double)hw->dram.tck_den;
	double cycle_bytes = dram_peak_bytes_per_clk(&hw->dram) / ps * 1e6 / hw->npu.clock_mhz;
	return (uint32_t)lround(fmin((double)hw_macs_per_cycle(hw, NPU_INT8) / cycle_bytes, UINT32_MAX));
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
		.no_transpose_b = !hw->matrix.transposer && hw->matrix.dataflow == HW_DATAFLOW_WS,
		.int8_ridge = int8_ridge(hw),
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
				"dma.port=%" PRIu64 " is wider than the %" PRIu64
				" bytes a cycle of an SRAM group (sram.banks=%" PRIu64 " / sram.groups=%" PRIu64
				" x sram.bank_bytes=%" PRIu64 ")",
				hw->dma.port, group, hw->sram.banks, hw->sram.groups, hw->sram.bank_bytes);
	if (!is_power_of_two(hw->dma.max_burst))
		return blame(key, "dma.max_burst") &&
		       npu_fail(err, NPU_ERR_VALUE, "dma.max_burst=%" PRIu64 " is no power of two", hw->dma.max_burst);
	return true;
}

/* The keys of the DRAM part as hw knows them: one string a key, so that *key may point to it. */
struct dram_key {
	const char *name, *key, *words; /* of an enum: "a|b|c"; else NULL */
	size_t offset, nbytes;
};

#define DRAM_WORDS_uint(unit) NULL
#define DRAM_WORDS_size(unit) NULL
#define DRAM_WORDS_bool(unit) NULL
#define DRAM_WORDS_enum(unit) unit
#define DRAM_FIELD(key) offsetof(struct dram_config, key), sizeof(((struct dram_config *)0)->key)
#define DRAM_KEY(key, kind, dflt, min, max, unit, doc) { #key, "dram." #key, DRAM_WORDS_##kind(unit), DRAM_FIELD(key) },
#define DRAM_TIMING(key, min, doc) { #key, "dram." #key, NULL, DRAM_FIELD(key) },
static const struct dram_key dram_keys[] = {
#include "models/dram/keys.def"
#include "models/dram/timing.def"
};
#undef DRAM_KEY
#undef DRAM_TIMING
enum { DRAM_KEYS = sizeof dram_keys / sizeof *dram_keys };

/* "dram.tRAS=90", "dram.mapping=RoBaCo" behind what is in `text`. */
static void add_dram_value(const struct dram_config *c, const struct dram_key *key, char *text, size_t size)
{
	uint64_t wide = 0;
	uint32_t narrow = 0;
	bool flag = false;
	size_t used = strlen(text);
	const char *field = (const char *)c + key->offset, *word = key->words;
	if (key->nbytes == sizeof wide)
		memcpy(&wide, field, sizeof wide);
	else if (key->nbytes == sizeof narrow)
		memcpy(&narrow, field, sizeof narrow);
	else
		memcpy(&flag, field, sizeof flag);
	wide |= narrow | flag;
	if (!word) {
		snprintf(text + used, size - used, "%s=%" PRIu64, key->key, wide);
		return;
	}
	for (; wide && strchr(word, '|'); wide--)
		word = strchr(word, '|') + 1;
	snprintf(text + used, size - used, "%s=%.*s", key->key, (int)strcspn(word, "|"), word);
}

static bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/* As a word of its own, and without a value behind it. */
static bool mentions(const char *text, const char *name)
{
	size_t n = strlen(name);
	for (const char *at = text; (at = strstr(at, name)); at += n)
		if ((at == text || !is_word(at[-1])) && !is_word(at[n]) && at[n] != '=')
			return true;
	return false;
}

/* A part's clock: 10 GHz to 10 MHz holds every one there is and every what-if; beyond it figures mean nothing. */
static bool check_dram_clock(const struct dram_config *c, const char **key, struct npu_error *err)
{
	enum { LEAST_PS = 100, MOST_PS = 100000 };
	double ps = (double)c->tck_num / (double)c->tck_den;
	if (ps >= LEAST_PS && ps <= MOST_PS)
		return true;
	return blame(key, "dram.tck_num") &&
	       npu_fail(err, NPU_ERR_VALUE,
			"dram.tck_num=%" PRIu32 ", dram.tck_den=%" PRIu32 ": a clock period of %.4g ps; %d to %d ps would be "
			"right",
			c->tck_num, c->tck_den, ps, LEAST_PS, MOST_PS);
}

/* The message gets the value of every key that it names. */
static bool check_dram(const struct hw *hw, const char **key, struct npu_error *err)
{
	const char *name = NULL, *wrong = dram_config_check(&hw->dram, &name);
	char blamed[64] = "dram", others[256] = "";
	if (!wrong)
		return check_dram_clock(&hw->dram, key, err);
	for (size_t i = 0; i < DRAM_KEYS; i++) {
		if (name && strcmp(dram_keys[i].name, name) == 0) {
			blame(key, dram_keys[i].key);
			*blamed = '\0';
			add_dram_value(&hw->dram, &dram_keys[i], blamed, sizeof blamed);
		} else if (mentions(wrong, dram_keys[i].name)) {
			strcat(others, *others ? ", " : "; ");
			add_dram_value(&hw->dram, &dram_keys[i], others, sizeof others - 2);
		}
	}
	bool missing = strncmp(wrong, "is missing", 10) == 0; /* its value is 0, which says nothing */
	return npu_fail(err, NPU_ERR_VALUE, "%s%s %s%s", missing && key ? *key : blamed, missing ? "" : ":", wrong, others);
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
