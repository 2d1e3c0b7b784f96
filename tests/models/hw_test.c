/* SPDX-License-Identifier: Apache-2.0 */
/* Relations between hardware keys, what is derived from them, and exact clocks. */
#include "models/hw.h"
#include "tests/support/dram_part.h"
#include "tests/support/suite.h"

#include <string.h>

/* The initial values are edge-1mb. */
static struct hw edge(void)
{
	struct hw hw = { 0 };
#define KEY(section, type, name, initial, min, max, unit, doc) hw.section.name = initial;
#include "models/hw.def"
	hw.dram = dram_part("LPDDR4X-4266");
	return hw;
}

START_TEST(initial_values_are_a_machine)
{
	struct hw hw = edge();
	struct npu_error err = { 0 };
	const char *key = NULL;
	ck_assert_msg(hw_check(&hw, &key, &err), "%s", err.text);
	ck_assert_ptr_null(key);
	struct npu_capacity c = hw_capacity(&hw);
	ck_assert_uint_eq(c.limits.sram_bytes, 1048576);
	ck_assert_uint_eq(c.limits.accum_bytes, 262144);
	ck_assert_uint_eq(c.limits.dram_bytes, dram_capacity(&hw.dram));
	ck_assert_uint_eq(c.sram_groups, 4);
	/* 1,024 MACs and, of one channel, 8.53 bytes a cycle. */
	ck_assert_uint_eq(c.int8_ridge, 120);
	ck_assert_uint_eq(c.dram_granule, dram_burst_bytes(&hw.dram));
}
END_TEST

START_TEST(ports_left_at_0_follow_the_array)
{
	struct hw hw = edge();
	hw.matrix.rows = 64;
	ck_assert_uint_eq(hw_activation_port(&hw), 128);
	ck_assert_uint_eq(hw_weight_port(&hw), 64);
	hw.matrix.activation_port = 10;
	ck_assert_uint_eq(hw_activation_port(&hw), 10);
	ck_assert_uint_eq(hw_accum_word_bytes(&hw), 128);
}
END_TEST

/* What no machine has: a key set to a value, and the key that is blamed. */
struct wrong {
	const char *blamed, *says;
	void (*spoil)(struct hw *);
};

static void odd_word(struct hw *hw) { hw->sram.bank_bytes = 48; }
static void banks_between_groups(struct hw *hw) { hw->sram.groups = 3; }
static void half_a_word(struct hw *hw) { hw->sram.size += 256; }
static void ragged_accumulators(struct hw *hw) { hw->accum.banks = 7; }
static void small_accumulators(struct hw *hw) { hw->accum.size = 1024, hw->accum.banks = 64; }
static void wide_dma(struct hw *hw) { hw->dma.port = 256; }
static void odd_burst(struct hw *hw) { hw->dma.max_burst = 100; }

static const struct wrong wrongs[7] = {
	{ "sram.bank_bytes", "no power of two", odd_word },
	{ "sram.groups", "no multiple", banks_between_groups },
	{ "sram.size", "no multiple", half_a_word },
	{ "accum.size", "no multiple", ragged_accumulators },
	{ "accum.banks", "128 bytes", small_accumulators },
	{ "dma.port", "wider than the 128 bytes", wide_dma },
	{ "dma.max_burst", "no power of two", odd_burst },
};

START_TEST(a_combination_that_is_no_machine_is_refused_with_its_numbers)
{
	struct hw hw = edge();
	struct npu_error err = { 0 };
	const char *key = NULL;
	wrongs[_i].spoil(&hw);
	ck_assert(!hw_check(&hw, &key, &err));
	ck_assert_str_eq(key, wrongs[_i].blamed);
	ck_assert_ptr_nonnull(strstr(err.text, wrongs[_i].says));
	ck_assert_ptr_nonnull(strstr(err.text, key));
	ck_assert_int_eq(err.code, NPU_ERR_VALUE);
	ck_assert(!hw_check(&hw, NULL, NULL));
}
END_TEST

START_TEST(a_dram_that_cannot_be_built_is_blamed_on_its_key)
{
	struct hw hw = edge();
	struct npu_error err = { 0 };
	const char *key = NULL;
	hw.dram.banks = 3;
	ck_assert(!hw_check(&hw, &key, &err));
	ck_assert_str_eq(key, "dram.banks");
	ck_assert_ptr_nonnull(strstr(err.text, "dram.banks"));
}
END_TEST

struct clocks {
	uint32_t tck_num, tck_den;
	double mhz;
	uint64_t num, den;
};

static const struct clocks clocks[] = {
	{ 46875, 100, 1000, 15, 32 },      /* LPDDR4X-4266: 468.75 ps */
	{ 2500, 3, 1000, 5, 6 },           /* DDR4-2400: 833.33... ps */
	{ 1250, 1, 800, 1, 1 },            /* the same clock */
	{ 1250, 1, 933.333, 933333, 800000 },
};

START_TEST(clocks_are_exact_fractions)
{
	struct hw hw = edge();
	hw.dram.tck_num = clocks[_i].tck_num;
	hw.dram.tck_den = clocks[_i].tck_den;
	hw.npu.clock_mhz = clocks[_i].mhz;
	struct hw_clock_ratio r = hw_clock_ratio(&hw);
	ck_assert_uint_eq(r.num, clocks[_i].num);
	ck_assert_uint_eq(r.den, clocks[_i].den);
	/* The first NPU edge at or after a DRAM edge, and back; up to runs of 2^50 cycles. */
	for (uint64_t clk = 0; clk < UINT64_C(1) << 50; clk = clk * 3 + 1) {
		uint64_t cycle = hw_ratio_cycle_of_clk(r, clk);
		ck_assert(cycle == hw_cycle_of_dram_clk(&hw, clk));
		unsigned __int128 exact = (unsigned __int128)clk * r.num;
		ck_assert((unsigned __int128)cycle * r.den >= exact);
		ck_assert(!cycle || (unsigned __int128)(cycle - 1) * r.den < exact);
		uint64_t back = hw_dram_clk_of_cycle(&hw, cycle);
		ck_assert(back >= clk);
		ck_assert((unsigned __int128)back * r.num <= (unsigned __int128)cycle * r.den);
		ck_assert((unsigned __int128)(back + 1) * r.num > (unsigned __int128)cycle * r.den);
	}
}
END_TEST

START_TEST(an_edge_between_two_npu_edges_counts_at_the_next)
{
	/* 15 / 32 cycles a clock: clk 0 1 2 3 -> 0, 0.47, 0.94, 1.41. */
	struct hw hw = edge();
	hw.dram.tck_num = 46875;
	hw.dram.tck_den = 100;
	static const uint64_t cycles[] = { 0, 1, 1, 2 };
	for (uint64_t clk = 0; clk < 4; clk++)
		ck_assert_uint_eq(hw_cycle_of_dram_clk(&hw, clk), cycles[clk]);
	/* 1 cycle is 2.13 clocks. */
	ck_assert_uint_eq(hw_dram_clk_of_cycle(&hw, 1), 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hw");
	TCase *keys = tcase_create("keys");
	tcase_add_test(keys, initial_values_are_a_machine);
	tcase_add_test(keys, ports_left_at_0_follow_the_array);
	tcase_add_loop_test(keys, a_combination_that_is_no_machine_is_refused_with_its_numbers, 0,
			    sizeof wrongs / sizeof *wrongs);
	tcase_add_test(keys, a_dram_that_cannot_be_built_is_blamed_on_its_key);
	suite_add_tcase(suite, keys);
	TCase *time = tcase_create("clocks");
	tcase_add_loop_test(time, clocks_are_exact_fractions, 0, sizeof clocks / sizeof *clocks);
	tcase_add_test(time, an_edge_between_two_npu_edges_counts_at_the_next);
	suite_add_tcase(suite, time);
	return npu_suite_run(suite);
}
