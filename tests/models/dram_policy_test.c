/* SPDX-License-Identifier: Apache-2.0 */
/* Whom the DRAM controller serves next, and how long anyone waits: order in the window, turns of reads and writes, row
 * hits before older requests. Every expected clk is derived from the part's intervals. */
#include "tests/support/dram_part.h"
#include "tests/support/suite.h"

#include <stdlib.h>

enum { TAGS = 1 << 15 };

struct bench {
	struct dram_config config;
	struct dram *dram;
	uint64_t done[2][TAGS]; /* [port] */
	uint64_t first_write;
};

static void on_done(void *ctx, uint8_t port, uint32_t tag, uint64_t clk)
{
	struct bench *b = ctx;
	b->done[port][tag] = clk;
}

static void on_command(void *ctx, const struct dram_command *c)
{
	struct bench *b = ctx;
	if (c->op == DRAM_WR && b->first_write == UINT64_MAX)
		b->first_write = c->clk;
}

static struct bench *bench_new(const struct dram_config *c)
{
	struct bench *b = calloc(1, sizeof *b);
	struct dram_hooks hooks = { .ctx = b, .done = on_done, .command = on_command, .reaction_clk = UINT64_MAX };
	b->config = *c;
	b->first_write = UINT64_MAX;
	b->dram = dram_new(c, &hooks);
	ck_assert_ptr_nonnull(b->dram);
	return b;
}

static void bench_free(struct bench *b)
{
	dram_free(b->dram);
	free(b);
}

static void put(struct bench *b, uint64_t clk, uint8_t port, uint32_t tag, uint64_t addr, uint32_t nbytes, bool write)
{
	dram_push(b->dram, clk,
		  &(struct dram_request){ .addr = addr, .nbytes = nbytes, .tag = tag, .port = port, .write = write });
}

static int count_parts(void)
{
	int n = 0;
	while (dram_part_names[n])
		n++;
	return n;
}

/* ---- order in the window ---- */

/* LPDDR5-6400, two reads of 256 B at 0 and 256: eight bursts of 32 B each, in turn over four bank groups.
 * ACT-1 every tRRD 4 from 0 on, ACT-2 a clk later, RD tRCD 15 after that: the groups can begin at 16, 20, 24, 28.
 * From 20 on the bus is never idle (tCCD_S 2; of one group tCCD_L 4): 15 more bursts at 20, 22, ... 48. The first
 * request's eighth burst is the second of the last group: 28 + 4 = 32. Data end CL 17 + 2 after RD: 51 and 67. */
START_TEST(bursts_of_one_request_are_served_oldest_first_over_its_bank_groups)
{
	struct dram_config c = dram_part("LPDDR5-6400");
	struct bench *b = bench_new(&c);
	put(b, 0, 0, 1, 0, 256, false);
	put(b, 0, 0, 2, 256, 256, false);
	dram_drain(b->dram);
	ck_assert_uint_eq(b->done[0][1], 32 + 17 + 2);
	ck_assert_uint_eq(b->done[0][2], 48 + 17 + 2);
	bench_free(b);
}
END_TEST

/* ---- turns ---- */

/* 8 + 8 + 8 + 1 bursts are in the queue of 32, as many as drain_high allows (25); the last piece of 8 has no room, so
 * the queue drains though reads wait. Nothing is open: ACT at 0 (where there are two steps ACT-2 right behind it), WR
 * tRCD after its last clk; it leaves 24 bursts, so the last piece comes in with it. */
START_TEST(a_write_that_finds_the_queue_full_starts_a_drain)
{
	struct dram_config c = dram_part(dram_part_names[_i]);
	struct bench *b = bench_new(&c);
	static const uint32_t bursts[] = { 8, 8, 8, 1, 8 };
	uint32_t granule = dram_burst_bytes(&c), steps = c.tAAD ? 2 : 1;
	for (uint32_t i = 0; i < 2000; i++)
		put(b, 0, 0, i, (uint64_t)i * 8 * granule, 8 * granule, false);
	for (uint32_t i = 0; i < 5; i++)
		put(b, 0, 1, i, (1u << 26) + (uint64_t)i * 8 * granule, bursts[i] * granule, true);
	dram_drain(b->dram);
	for (uint32_t i = 0; i < 4; i++)
		ck_assert_uint_eq(b->done[1][i], 0);
	ck_assert_uint_eq(b->first_write, steps * c.act_clk + (c.tRCDWR ? c.tRCDWR : c.tRCD) - c.column_clk);
	ck_assert_uint_eq(b->done[1][4], b->first_write);
	bench_free(b);
}
END_TEST

/* A store of 20,000 lines keeps the write queue full; every 1,000 clk a read of another row of a bank that it writes.
 * Returns the longest wait. */
static uint64_t longest_read_beside_a_store(const struct dram_config *c)
{
	enum { LINES = 20000, READS = 60 };
	struct bench *b = bench_new(c);
	uint64_t longest = 0;
	for (uint32_t i = 0; i < LINES; i++)
		put(b, 0, 1, i, (uint64_t)i * 64, 64, true);
	for (uint32_t i = 0; i < READS; i++)
		put(b, 1000 + i * 1000, 0, i, (1u << 26) + i * 8192, 64, false);
	dram_drain(b->dram);
	for (uint32_t i = 0; i < READS; i++)
		longest = b->done[0][i] - (1000 + i * 1000) > longest ? b->done[0][i] - (1000 + i * 1000) : longest;
	bench_free(b);
	return longest;
}

/* DDR4-2400. A read that comes when a drain has just begun: `turn` writes of 4 clk each; rows that had just been opened
 * for writes have a burst each, four groups at most; then its bank is closed, CWL 12 + 4 + tWR 18 after the last write
 * to it, tRP 16, ACT, tRCD 16, RD (WR to RD, 12 + 4 + tWTR_L 9, is over by then), CL 16, 4 clk of data. */
START_TEST(a_store_delays_a_read_by_one_turn_of_writes_at_most)
{
	struct dram_config c = dram_part("DDR4-2400");
	c.refresh = DRAM_REFRESH_NONE;
	for (c.turn = 16; c.turn <= 256; c.turn *= 4)
		ck_assert_uint_le(longest_read_beside_a_store(&c),
				  (c.turn + 4) * 4 + (12 + 4 + 18) + 16 + 16 + (16 + 4));
	/* Without turns it waits for what is left of the store: 80,000 clk in all, 250 a 1,000 of them before it. */
	c.turn = 65536;
	ck_assert_uint_gt(longest_read_beside_a_store(&c), 20000 * 4 - 2000);
}
END_TEST

/* Both directions always wait: each has as many bursts, whatever the watermarks say. */
START_TEST(an_endless_store_and_endless_loads_share_the_bus)
{
	struct dram_config c = dram_part("DDR4-2400");
	struct bench *b = bench_new(&c);
	enum { N = 8000 };
	for (uint32_t i = 0; i < N; i++) {
		put(b, 0, 0, i, (uint64_t)i * 64, 64, false);
		put(b, 0, 1, i, (1u << 26) + (uint64_t)i * 64, 64, true);
	}
	dram_drain(b->dram);
	uint64_t reads = b->done[0][N - 1], writes = b->done[1][N - 1];
	/* They end within a queue and a turn of each other, 5 clk a burst for turnarounds and refresh. */
	uint64_t apart = reads > writes ? reads - writes : writes - reads;
	ck_assert_uint_le(apart, (c.write_queue + 2 * c.turn) * 5);
	bench_free(b);
}
END_TEST

/* ---- row hits ---- */

/* DDR4-2400, one bank, hits 5 clk apart that take tCCD_L 6 each, so that one always waits; at 200 a read of another
 * row. Returns how long that takes. */
static uint64_t wait_beside_hits(const struct dram_config *c, uint32_t hits)
{
	struct bench *b = bench_new(c);
	for (uint32_t i = 0; i < hits; i++)
		put(b, i * 5, 0, i, (uint64_t)(i % 128) * 64, 64, false);
	put(b, 200, 1, 0, 8192 * 16, 64, false);
	dram_drain(b->dram);
	uint64_t wait = b->done[1][0] - 200;
	bench_free(b);
	return wait;
}

/* At 200, 41 hits have come and 31 have gone (at 16, 22, ... 196): 10 are older. Then hit_cap younger ones go before
 * it, 6 clk each, the first up to 6 clk later; then tRTP 9, tRP 16, tRCD 16, CL 16, data 4. */
START_TEST(row_hits_go_before_an_older_request_of_the_bank_hit_cap_times)
{
	struct dram_config c = dram_part("DDR4-2400");
	c.refresh = DRAM_REFRESH_NONE;
	c.mapping = DRAM_RoBaBgCo;
	for (c.hit_cap = 2; c.hit_cap <= 64; c.hit_cap *= 2) {
		uint64_t wait = wait_beside_hits(&c, 600), rest = 10 * 6 + 9 + 16 + 16 + 16 + 4;
		ck_assert_uint_gt(wait, (c.hit_cap - 2) * 6 + rest);
		ck_assert_uint_le(wait, c.hit_cap * 6 + 6 + rest);
	}
	/* Without a cap it goes last. */
	c.hit_cap = 0;
	ck_assert_uint_gt(wait_beside_hits(&c, 600), 600 * 6 - 200);
}
END_TEST

START_TEST(no_part_lets_row_hits_starve_a_request_by_default)
{
	struct dram_config c = dram_part(dram_part_names[_i]);
	ck_assert_uint_gt(c.hit_cap, 0);
	ck_assert_uint_le(c.turn, 1024);
}
END_TEST

/* ---- whose turn it is to refresh ---- */

enum { MOST_TURNS = 4096 };

/* Bank of the k-th per-bank refresh, told or caught up: the k-th is due at k + 1 intervals, and later by less than one.
 */
struct turns {
	uint32_t interval;
	uint32_t bank[MOST_TURNS];
	bool told[MOST_TURNS];
	uint64_t n;
};

static void on_turn(void *ctx, const struct dram_command *c)
{
	struct turns *t = ctx;
	uint64_t k = c->clk / t->interval - 1;
	if (c->op != DRAM_REFPB || k >= MOST_TURNS || t->told[k])
		return;
	t->bank[k] = c->bank;
	t->told[k] = true;
	t->n = k + 1;
}

static void ignore_done(void *ctx, uint8_t port, uint32_t tag, uint64_t clk)
{
	(void)ctx, (void)port, (void)tag, (void)clk;
}

static struct dram_config per_bank(uint32_t order)
{
	struct dram_config c = dram_part("LPDDR4X-4266");
	c.refresh = DRAM_REFRESH_PERBANK;
	c.refresh_order = order;
	return c;
}

/* Reads of rows of bank 0, one after the other, that are all there at clk: a row cycle of 129 clk each. */
static void crowd(struct dram *d, const struct dram_config *c, uint64_t clk, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		dram_push(d, clk,
			  &(struct dram_request){ .addr = i * c->row_bytes * c->banks, .nbytes = 32, .tag = i });
	while (dram_run(d, UINT64_MAX) != UINT64_MAX)
		;
}

static struct turns *turns_of(const struct dram_config *c, uint64_t pause, uint32_t after)
{
	struct turns *t = calloc(1, sizeof *t);
	struct dram_hooks hooks = { .ctx = t, .done = ignore_done, .command = on_turn };
	t->interval = c->tREFIpb;
	struct dram *d = dram_new(c, &hooks);
	ck_assert_ptr_nonnull(d);
	crowd(d, c, 0, 200);
	if (after)
		crowd(d, c, pause, after);
	dram_free(d);
	return t;
}

/* Only bank 0 is waited for, so in each round it is the last one; in the fixed order it is the first. 200 row cycles
 * are three rounds of 8 x 1,042 clk. */
START_TEST(a_bank_that_is_waited_for_refreshes_after_idle_ones)
{
	struct dram_config fixed = per_bank(DRAM_REFRESH_FIXED), idle = per_bank(DRAM_REFRESH_IDLE);
	struct turns *f = turns_of(&fixed, 0, 0), *i = turns_of(&idle, 0, 0);
	ck_assert_uint_ge(i->n, 24);
	ck_assert_uint_ge(f->n, 24);
	for (uint32_t k = 0; k < 24; k++) {
		ck_assert(f->told[k] && i->told[k]);
		ck_assert_uint_eq(f->bank[k], k % 8);
		ck_assert_uint_eq(i->bank[k], (k + 1) % 8);
	}
	free(f);
	free(i);
}
END_TEST

/* The crowd is gone in the midst of a round that began with banks 1, 2, ...; until the next crowd nobody waits, and the
 * turns come in order. The refreshes before it arrives are told again, whatever the length of the pause. */
START_TEST(a_round_of_refreshes_goes_on_behind_a_pause)
{
	struct dram_config c = per_bank(DRAM_REFRESH_IDLE);
	struct turns *first = turns_of(&c, 0, 0);
	uint64_t known = first->n;
	ck_assert_uint_ge(known % 8, 1);
	for (uint64_t pause = 200; pause < 240; pause++) {
		struct turns *t = turns_of(&c, pause * c.tREFIpb + 500, 100);
		ck_assert_uint_gt(t->n, pause + 8);
		uint32_t had = 0, compared = 0;
		for (uint64_t turn = 0; turn < t->n; turn++) {
			uint32_t left = 0, expected;
			while (had >> left & 1)
				left++;
			expected = left;
			if (turn < known || turn >= pause) /* bank 0 is waited for */
				while (expected < 8 && (had >> expected & 1 || expected == 0))
					expected++;
			expected = expected < 8 ? expected : left;
			if (t->told[turn]) {
				ck_assert_msg(t->bank[turn] == expected, "pause %d turn %d: bank %u, expected %u",
					      (int)pause, (int)turn, t->bank[turn], expected);
				compared++;
			}
			had |= 1u << expected;
			had = had == 255 ? 0 : had;
		}
		ck_assert_uint_gt(compared, known + 8);
		free(t);
	}
	free(first);
}
END_TEST

static Suite *dram_policy_suite(void)
{
	Suite *s = suite_create("dram_policy");
	TCase *t = tcase_create("policy");
	tcase_set_timeout(t, 60);
	tcase_add_test(t, bursts_of_one_request_are_served_oldest_first_over_its_bank_groups);
	tcase_add_loop_test(t, a_write_that_finds_the_queue_full_starts_a_drain, 0, count_parts());
	tcase_add_test(t, a_store_delays_a_read_by_one_turn_of_writes_at_most);
	tcase_add_test(t, an_endless_store_and_endless_loads_share_the_bus);
	tcase_add_test(t, row_hits_go_before_an_older_request_of_the_bank_hit_cap_times);
	tcase_add_loop_test(t, no_part_lets_row_hits_starve_a_request_by_default, 0, count_parts());
	tcase_add_test(t, a_bank_that_is_waited_for_refreshes_after_idle_ones);
	tcase_add_test(t, a_round_of_refreshes_goes_on_behind_a_pause);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return npu_suite_run(dram_policy_suite());
}
