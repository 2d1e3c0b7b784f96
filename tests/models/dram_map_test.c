/* SPDX-License-Identifier: Apache-2.0 */
/* Where addresses lie, seen from the commands: no two in one place, none outside, the same place a capacity further on;
 * and what the hashes are for. */
#include "tests/support/dram_part.h"
#include "tests/support/dram_streams.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

struct place {
	uint32_t channel, bank, row, column;
};

static void on_done(void *ctx, uint8_t port, uint32_t tag, uint64_t clk)
{
	(void)ctx, (void)port, (void)tag, (void)clk;
}

static void on_command(void *ctx, const struct dram_command *c)
{
	if (c->op == DRAM_RD)
		*(struct place *)ctx = (struct place){ c->channel, c->bank, c->row, c->column };
}

struct probe {
	struct dram *dram;
	struct place last;
	uint64_t clk;
};

static void probe_open(struct probe *p, const struct dram_config *c)
{
	struct dram_hooks hooks = { .ctx = &p->last, .done = on_done, .command = on_command };
	p->clk = 0;
	p->dram = dram_new(c, &hooks);
	ck_assert_ptr_nonnull(p->dram);
}

static struct place place_of(struct probe *p, uint64_t addr)
{
	dram_push(p->dram, p->clk, &(struct dram_request){ .addr = addr, .nbytes = 1 });
	while (dram_run(p->dram, UINT64_MAX) != UINT64_MAX)
		;
	p->clk += 1000;
	ck_assert_uint_eq(dram_channel_of(p->dram, addr), p->last.channel);
	struct dram_location at = dram_locate(p->dram, addr);
	ck_assert_msg(at.channel == p->last.channel && at.bank == p->last.bank && at.row == p->last.row,
		      "0x%llx lies in channel %u, bank %u, row %u, not %u, %u, %u", (unsigned long long)addr, p->last.channel,
		      p->last.bank, p->last.row, at.channel, at.bank, at.row);
	return p->last;
}

static uint32_t one_of_powers(uint64_t *rng, uint32_t most)
{
	return 1u << stream_random(rng) % (most + 1);
}

/* At most 4 channels x 2 ranks x 4 groups x 4 banks x 7 rows x 8 columns = 7,168 bursts. */
static struct dram_config random_config(uint64_t *rng)
{
	struct dram_config c = dram_part("DDR4-2400");
	c.refresh = DRAM_REFRESH_NONE;
	c.channels = one_of_powers(rng, 2);
	c.ranks = one_of_powers(rng, 1);
	c.bank_groups = one_of_powers(rng, 2);
	c.banks = one_of_powers(rng, 2);
	c.rows = 1 + stream_random(rng) % 7;
	c.row_bytes = 64 * one_of_powers(rng, 3);
	c.channel_interleave = 64 * one_of_powers(rng, 2);
	c.mapping = c.bank_groups > 1 ? stream_random(rng) % 2 : stream_random(rng) % 3;
	c.bank_hash = stream_random(rng) % 2;
	c.channel_hash = stream_random(rng) % 4 != 0;
	return c;
}

static void check_bijection(const struct dram_config *c)
{
	uint64_t granules = dram_capacity(c) / 64, banks = (uint64_t)c->ranks * c->bank_groups * c->banks;
	uint64_t columns = c->row_bytes / 64;
	uint8_t *seen = calloc(granules, 1);
	struct probe p;
	probe_open(&p, c);
	for (uint64_t i = 0; i < granules; i++) {
		struct place at = place_of(&p, i * 64 + i % 64);
		ck_assert(at.channel < c->channels && at.bank < banks && at.row < c->rows && at.column < columns);
		uint64_t index = ((at.channel * banks + at.bank) * c->rows + at.row) * columns + at.column;
		ck_assert_uint_eq(seen[index]++, 0);
		struct place again = place_of(&p, i * 64 + 3 * dram_capacity(c));
		ck_assert_int_eq(memcmp(&at, &again, sizeof at), 0);
	}
	dram_free(p.dram);
	free(seen);
}

START_TEST(every_mapping_and_hash_is_a_bijection_that_wraps_at_the_capacity)
{
	uint64_t rng = 4242;
	for (int i = 0; i < 120;) {
		struct dram_config c = random_config(&rng);
		if (dram_config_check(&c, NULL)) /* an interleave that does not divide a channel */
			continue;
		check_bijection(&c);
		i++;
	}
}
END_TEST

/* The largest number of `n` blocks at a distance of `stride` that lie in one channel, or in one bank. */
struct crowd {
	uint32_t channel, bank;
};

static struct crowd crowd_of(const struct dram_config *c, uint64_t stride, uint32_t n)
{
	uint32_t channels[64] = { 0 }, banks[64] = { 0 };
	struct crowd most = { 0, 0 };
	struct probe p;
	probe_open(&p, c);
	for (uint32_t i = 0; i < n; i++) {
		struct place at = place_of(&p, i * stride);
		uint32_t channel = ++channels[at.channel], bank = ++banks[at.bank];
		most.channel = channel > most.channel ? channel : most.channel;
		most.bank = bank > most.bank ? bank : most.bank;
	}
	dram_free(p.dram);
	return most;
}

/* x^k i mod a primitive polynomial of degree 6 takes all 64 values for i = 0..63, so 64 blocks lie evenly on any number
 * of channels, at every power-of-two distance at which they lie in one channel without it. */
START_TEST(blocks_at_a_power_of_two_distance_share_the_channels_evenly)
{
	struct dram_config c = dram_part("LPDDR5-6400");
	c.refresh = DRAM_REFRESH_NONE;
	for (c.channels = 2; c.channels <= 64; c.channels *= 2)
		for (uint64_t stride = c.channels * c.channel_interleave; stride <= 1 << 22; stride *= 2) {
			c.channel_hash = false;
			ck_assert_uint_eq(crowd_of(&c, stride, 64).channel, 64);
			c.channel_hash = true;
			ck_assert_uint_eq(crowd_of(&c, stride, 64).channel, 64 / c.channels);
		}
}
END_TEST

/* Rows of 768, 1,536, 3,072 ... elements. An even share of 64 is 64 / channels; chance alone gives about 1.3 times that
 * on two channels and 1.5 times on four; without a hash it is 64 on all that are multiples of the channels. */
START_TEST(blocks_at_three_times_a_power_of_two_do_not_crowd_one_channel)
{
	struct dram_config c = dram_part("LPDDR4X-4266");
	c.refresh = DRAM_REFRESH_NONE;
	c.channel_hash = true;
	for (c.channels = 2; c.channels <= 4; c.channels *= 2)
		for (uint64_t stride = 3 * 512; stride <= 3 << 20; stride *= 2)
			ck_assert_uint_le(crowd_of(&c, stride, 64).channel, 64 / c.channels * 3 / 2 + 4);
}
END_TEST

START_TEST(rows_at_a_power_of_two_distance_share_the_banks_evenly)
{
	struct dram_config c = dram_part("LPDDR4X-4266");
	c.refresh = DRAM_REFRESH_NONE;
	uint64_t stride = c.row_bytes * c.banks; /* a row of every bank */
	ck_assert_uint_eq(crowd_of(&c, stride, 64).bank, 64);
	c.bank_hash = true;
	ck_assert_uint_eq(crowd_of(&c, stride, 64).bank, 64 / c.banks);
}
END_TEST

/* 16 blocks in a row are 16 / channels in each, with the hash or without: it permutes the channels of a group. */
START_TEST(a_sequential_stream_visits_the_channels_in_turn_under_the_hash)
{
	struct dram_config c = dram_part("HBM2-2000");
	c.refresh = DRAM_REFRESH_NONE;
	c.channels = 16;
	c.channel_hash = true;
	ck_assert_uint_eq(crowd_of(&c, c.channel_interleave, 64).channel, 4);
}
END_TEST

static Suite *dram_map_suite(void)
{
	Suite *s = suite_create("dram_map");
	TCase *t = tcase_create("map");
	tcase_set_timeout(t, 60);
	tcase_add_test(t, every_mapping_and_hash_is_a_bijection_that_wraps_at_the_capacity);
	tcase_add_test(t, blocks_at_a_power_of_two_distance_share_the_channels_evenly);
	tcase_add_test(t, blocks_at_three_times_a_power_of_two_do_not_crowd_one_channel);
	tcase_add_test(t, rows_at_a_power_of_two_distance_share_the_banks_evenly);
	tcase_add_test(t, a_sequential_stream_visits_the_channels_in_turn_under_the_hash);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return npu_suite_run(dram_map_suite());
}
