/* SPDX-License-Identifier: Apache-2.0 */
/* What the DRAM core promises its owner: completions, order, forwarding, horizons, idle refresh, explanations, figures.
 * Timing rules are in dram_rules_test.c, other simulators in dram_reference_test.c. */
#include "tests/support/dram_part.h"
#include "tests/support/dram_streams.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

enum { TAGS = 4096, SPANS = 256, CLKS = 1 << 16 };

struct owner {
	struct dram *dram;
	uint64_t done[TAGS]; /* clk, 0: not yet */
	uint64_t calls;
	uint64_t first_read, first_write, last_read, activates; /* commands */
	uint8_t busy[CLKS], refresh[CLKS];                      /* what one channel does at each clk */
	uint64_t transfer_bytes;
	struct dram_config config;
};

static void on_done(void *ctx, uint8_t port, uint32_t tag, uint64_t clk)
{
	struct owner *o = ctx;
	(void)port;
	o->done[tag % TAGS] = clk;
	o->calls++;
}

static void on_command(void *ctx, const struct dram_command *c)
{
	struct owner *o = ctx;
	if (c->op == DRAM_RD) {
		o->last_read = c->clk;
		o->first_read = o->first_read ? o->first_read : c->clk;
	}
	if (c->op == DRAM_WR && !o->first_write)
		o->first_write = c->clk;
	o->activates += c->op == DRAM_ACT;
	/* A refresh holds its rank from the clk at which it is due: the k-th all-bank refresh at k x tREFI. */
	if (c->op == DRAM_REFAB)
		for (uint64_t clk = c->clk / o->config.tREFI * o->config.tREFI;
		     clk < c->clk + o->config.tRFCab && clk < CLKS; clk++)
			o->refresh[clk] = 1;
}

static void on_transfer(void *ctx, uint32_t channel, uint64_t from, uint64_t to, uint32_t nbytes, bool write)
{
	struct owner *o = ctx;
	(void)channel, (void)write;
	o->transfer_bytes += nbytes;
	for (uint64_t clk = from; clk < to && clk < CLKS; clk++)
		o->busy[clk]++;
}

static struct owner *own(const struct dram_config *c, uint64_t reaction)
{
	struct owner *o = calloc(1, sizeof *o);
	struct dram_hooks hooks = { o, on_done, on_transfer, on_command, reaction };
	o->config = *c;
	o->dram = dram_new(c, &hooks);
	ck_assert_ptr_nonnull(o->dram);
	return o;
}

static void disown(struct owner *o)
{
	dram_free(o->dram);
	free(o);
}

static void push(struct owner *o, uint64_t clk, uint64_t addr, uint32_t nbytes, bool write, uint32_t tag)
{
	dram_push(o->dram, clk, &(struct dram_request){ .addr = addr, .nbytes = nbytes, .tag = tag, .write = write });
}

/* ---- configuration ---- */

START_TEST(every_part_is_a_legal_configuration_of_the_peak_it_is_named_for)
{
	static const uint32_t mega_transfers[] = { 3200, 4266, 6400, 8533, 2400, 3200, 2000 };
	struct dram_config c = dram_part(dram_part_names[_i]);
	const char *key = NULL;
	ck_assert_ptr_null(dram_config_check(&c, &key));
	/* transfers/us = beats a clk x 10^6 / (tCK in ps) */
	double transfers = 1e6 * c.beats_per_clk * c.tck_den / c.tck_num;
	ck_assert_double_eq_tol(transfers, mega_transfers[_i], 1.0);
	ck_assert_uint_eq(dram_peak_bytes_per_clk(&c), c.bus_bits / 8 * c.beats_per_clk);
	ck_assert_uint_eq(dram_burst_clk(&c) * dram_peak_bytes_per_clk(&c), dram_burst_bytes(&c));
}
END_TEST

START_TEST(a_wrong_configuration_names_its_key)
{
	struct dram_config good = dram_part("DDR4-2400"), c;
	const char *key;
#define REFUSED(field, value, expected)                                                                                \
	c = good;                                                                                                      \
	c.field = (value);                                                                                             \
	ck_assert_ptr_nonnull(dram_config_check(&c, &key));                                                            \
	ck_assert_str_eq(key, expected);                                                                               \
	ck_assert_ptr_null(dram_new(&c, &(struct dram_hooks){ .done = on_done }));
	REFUSED(channels, 3, "channels")
	REFUSED(channels, 0, "channels")
	REFUSED(read_queue, 1000, "read_queue")
	REFUSED(tRCD, 0, "tRCD")
	REFUSED(tRC, 10, "tRC")
	REFUSED(tREFI, 0, "tREFI")
	REFUSED(channel_interleave, 96, "channel_interleave")
	REFUSED(row_bytes, 100, "row_bytes")
	REFUSED(mapping, DRAM_RoBaCo, "mapping")
	REFUSED(drain_low, 90, "drain_low")
	REFUSED(bus_bits, 24, "bus_bits")
#undef REFUSED
}
END_TEST

/* DDR4 has no per-bank refresh: a machine that asks for it can still be tried with such a part. */
START_TEST(a_part_without_per_bank_refresh_refreshes_all_banks)
{
	struct dram_config c = dram_part("DDR4-2400");
	struct stream s;
	ck_assert(stream_open(&s, "a_seq_rd"));
	struct pump_result all = stream_pump(&c, &s, NULL, NULL);
	c.refresh = DRAM_REFRESH_PERBANK;
	ck_assert_ptr_null(dram_config_check(&c, NULL));
	ck_assert(stream_open(&s, "a_seq_rd"));
	struct pump_result per_bank = stream_pump(&c, &s, NULL, NULL);
	ck_assert_uint_eq(per_bank.stats.refreshes, all.stats.refreshes);
	ck_assert_uint_eq(per_bank.clocks, all.clocks);
	c = dram_part("LPDDR5-6400");
	c.refresh = DRAM_REFRESH_PERBANK;
	c.tRFCpb = 0;
	ck_assert_ptr_nonnull(dram_config_check(&c, NULL));
}
END_TEST

/* LPDDR4X-4266 lets a REFpb follow the one before after tRFCpb = 406, for it states no tREFpbREFpb; LPDDR5-6400 after
 * tREFpbREFpb = 72. Of LPDDR5's 16 banks two refresh at a time: with tRFCpb = 800 and an interval of 100 a bank would be
 * refreshing all the time, 8 x 100 clocks after its last turn. */
START_TEST(a_refresh_that_leaves_no_time_is_refused)
{
	static const struct {
		const char *part;
		uint32_t kind, interval, takes, most; /* takes: tRFCpb, 0: the part's; most: the largest that is refused */
	} cases[] = {
		{ "LPDDR4X-4266", DRAM_REFRESH_PERBANK, 1, 0, 406 },
		{ "LPDDR4X-4266", DRAM_REFRESH_PERBANK, 200, 0, 406 },
		{ "LPDDR5-6400", DRAM_REFRESH_PERBANK, 30, 0, 72 },
		{ "LPDDR5-6400", DRAM_REFRESH_PERBANK, 100, 800, 0 },
		{ "LPDDR5-6400", DRAM_REFRESH_ALLBANK, 30, 0, 0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct dram_config c = dram_part(cases[i].part);
		bool per_bank = cases[i].kind == DRAM_REFRESH_PERBANK;
		uint32_t *interval = per_bank ? &c.tREFIpb : &c.tREFI, most = cases[i].most;
		const char *key = "none", *text;
		c.refresh = cases[i].kind;
		c.tRFCpb = cases[i].takes ? cases[i].takes : c.tRFCpb;
		if (!most) /* derived: what must fit into a round of all banks, or between two of them */
			most = per_bank ? (c.tRFCpb + c.tRC) / (c.bank_groups * c.banks / c.refresh_banks) : c.tRFCab + c.tRC;
		*interval = cases[i].interval;
		text = dram_config_check(&c, &key);
		ck_assert_msg(text && strstr(text, "no time between refreshes"), "case %zu: %s", i, text ? text : "taken");
		ck_assert_str_eq(key, per_bank ? "tREFIpb" : "tREFI");
		*interval = most;
		ck_assert_ptr_nonnull(dram_config_check(&c, NULL));
		*interval = most + 1;
		ck_assert_msg(!dram_config_check(&c, NULL), "case %zu: %u is refused", i, most + 1);
	}
}
END_TEST

/* ---- completions and order ---- */

/* DDR4-2400, idle: ACT at 0, RD at 16, data 32..36 (CL 16, burst 4); the second line is a row hit of another bank
 * group. */
START_TEST(an_isolated_read_takes_activation_latency_and_burst)
{
	struct dram_config c = dram_part("DDR4-2400");
	struct owner *o = own(&c, 0);
	push(o, 0, 0, 64, false, 1);
	ck_assert_uint_eq(dram_run(o->dram, UINT64_MAX), UINT64_MAX);
	ck_assert_uint_eq(o->done[1], 16 + 16 + 4);
	disown(o);

	c.front_delay = 10;
	c.back_delay = 7;
	o = own(&c, 0);
	push(o, 0, 0, 64, false, 1);
	dram_run(o->dram, UINT64_MAX);
	ck_assert_uint_eq(o->done[1], 10 + 36 + 7);
	disown(o);
}
END_TEST

/* 8 bursts of a row over four bank groups, each of 2 clk, behind commands of 3. */
START_TEST(reads_of_a_row_follow_each_other_no_faster_than_their_commands)
{
	struct dram_config c = dram_part("LPDDR5-6400");
	c.column_clk = 3;
	struct owner *o = own(&c, UINT64_MAX);
	push(o, 0, 0, 256, false, 0);
	dram_drain(o->dram);
	ck_assert_uint_lt(dram_burst_clk(&c), c.column_clk);
	/* The first burst of each bank group waits for its ACT; the second round goes over open rows. */
	ck_assert_uint_ge(o->last_read - o->first_read, 7 * c.column_clk);
	push(o, 1000, 0, 256, false, 1);
	o->first_read = 0;
	dram_drain(o->dram);
	ck_assert_uint_eq(o->last_read - o->first_read, 7 * c.column_clk);
	disown(o);
}
END_TEST

START_TEST(a_write_completes_when_the_queue_has_taken_it)
{
	struct dram_config c = dram_part("DDR4-2400");
	c.write_queue = 4;
	struct owner *o = own(&c, UINT64_MAX);
	for (uint32_t i = 0; i < 6; i++)
		push(o, 5, (uint64_t)i << 20, 64, true, i + 1);
	dram_run(o->dram, UINT64_MAX);
	for (uint32_t i = 0; i < 4; i++)
		ck_assert_uint_eq(o->done[i + 1], 5);
	ck_assert_uint_ge(o->done[5], o->first_write); /* room comes with the first WR */
	disown(o);
}
END_TEST

START_TEST(a_read_of_a_waiting_write_is_answered_from_the_queue)
{
	struct dram_config c = dram_part("DDR4-2400");
	struct owner *o = own(&c, 0);
	struct dram_stats s;
	push(o, 0, 4096, 256, true, 1);
	push(o, 0, 4096 + 100, 20, false, 2);
	dram_drain(o->dram);
	dram_stats(o->dram, &s);
	ck_assert_uint_eq(o->done[2], 0);
	ck_assert_uint_eq(o->first_read, 0);
	ck_assert_uint_eq(s.forwarded, 1);
	disown(o);
}
END_TEST

START_TEST(a_read_that_a_write_covers_in_part_reads_the_device)
{
	struct dram_config c = dram_part("DDR4-2400");
	struct owner *o = own(&c, 0);
	push(o, 0, 4096, 32, true, 1);
	push(o, 0, 4096, 64, false, 2);
	dram_drain(o->dram);
	ck_assert_uint_gt(o->done[2], 0);
	ck_assert_uint_gt(o->last_read, 0);
	disown(o);
}
END_TEST

/* 20 reads fill the bus; a write of the bytes of the last must not reach the device before it, though writes come
 * first. */
START_TEST(a_write_does_not_overtake_a_read_of_the_same_bytes)
{
	struct dram_config c = dram_part("DDR4-2400");
	c.write_queue = 1; /* any write is above the mark */
	struct owner *o = own(&c, UINT64_MAX);
	for (uint32_t i = 0; i < 20; i++)
		push(o, 0, (uint64_t)i << 18, 64, false, i + 1);
	push(o, 0, 19ull << 18, 64, true, 21);
	dram_drain(o->dram);
	ck_assert_uint_gt(o->first_write, o->last_read);
	disown(o);
}
END_TEST

/* Reads keep the bus busy for 40,000 clk; a lone write is issued within write_wait plus the time to open its row, which
 * a refresh may precede. */
START_TEST(no_write_waits_for_ever)
{
	struct dram_config c = dram_part("DDR4-2400");
	c.write_wait = 1000;
	struct owner *o = own(&c, UINT64_MAX);
	push(o, 0, 0, 64, false, 0);
	push(o, 0, 1u << 26, 64, true, 1);
	for (uint32_t i = 0; i < 10000; i++)
		push(o, 0, (uint64_t)i * 64, 64, false, 2);
	dram_drain(o->dram);
	ck_assert_uint_ge(o->first_write, 900);
	ck_assert_uint_le(o->first_write, 1000 + c.tRFCab + c.tRAS + c.tRP + c.tRCD + c.CL + 64);
	disown(o);
}
END_TEST

START_TEST(a_request_of_4_kib_over_channels_and_rows_completes_once)
{
	struct dram_config c = dram_part(dram_part_names[_i]);
	c.channels = 4;
	struct owner *o = own(&c, 0);
	struct dram_stats s;
	push(o, 0, 1000, 4096, false, 1);
	push(o, 0, 77777, 4095, true, 2);
	while (dram_run(o->dram, UINT64_MAX) != UINT64_MAX)
		;
	dram_drain(o->dram);
	dram_stats(o->dram, &s);
	ck_assert_uint_eq(o->calls, 2);
	ck_assert_uint_eq(s.read_bytes + s.write_bytes, 8191);
	ck_assert_uint_eq(s.bus_bytes, o->transfer_bytes);
	/* 1000..5096 and 77777..81872 in granules of g */
	uint64_t g = dram_burst_bytes(&c);
	ck_assert_uint_eq(s.bus_bytes, ((5095 / g - 1000 / g + 1) + (81871 / g - 77777 / g + 1)) * g);
	ck_assert_uint_eq(s.row_hits + s.row_misses + s.row_conflicts, s.bursts);
	disown(o);
}
END_TEST

/* Bursts of one bank follow each other without a gap where its group lets them, as in a part without groups. */
START_TEST(a_request_within_one_of_several_bank_groups_completes_whole)
{
	struct dram_config c = dram_part("LPDDR4X-4266");
	ck_assert_uint_eq(c.tCCD_L, dram_burst_clk(&c));
	c.bank_groups = 4;
	c.mapping = DRAM_RoBaBgCo;
	struct owner *o = own(&c, 0);
	struct dram_stats s;
	for (uint32_t i = 1; i <= 64; i++)
		push(o, 0, i * 256, 256, i & 1, i);
	dram_drain(o->dram);
	dram_stats(o->dram, &s);
	ck_assert_uint_eq(o->calls, 64);
	ck_assert_uint_eq(s.bursts, 64 * 256 / dram_burst_bytes(&c));
	disown(o);
}
END_TEST

/* What it has no use for is not held against it. */
START_TEST(the_ideal_part_has_no_banks)
{
	struct dram_config c = dram_part("LPDDR5-6400");
	c.ideal = true;
	c.ranks = 4;
	c.bank_groups = 8;
	c.banks = 16;
	c.rows = 1;
	c.row_bytes = 64;
	c.channels = 64;
	c.channel_interleave = 1 << 20;
	c.channel_hash = true;
	c.burst_length = 2;
	c.beats_per_clk = 16;
	ck_assert_ptr_null(dram_config_check(&c, NULL));
	struct owner *o = own(&c, 0);
	push(o, 7, 0, 64, false, 1);
	dram_run(o->dram, 1000);
	ck_assert_uint_eq(o->done[1], 7);
	ck_assert_uint_lt(dram_channel_of(o->dram, UINT64_MAX), 64);
	disown(o);
}
END_TEST

START_TEST(the_ideal_part_completes_at_arrival)
{
	struct dram_config c = dram_part("LPDDR5-6400");
	c.ideal = true;
	struct owner *o = own(&c, 0);
	push(o, 50, 0, 4096, false, 1);
	push(o, 60, 0, 64, true, 2);
	ck_assert_uint_eq(dram_run(o->dram, 50), 50);
	ck_assert_uint_eq(o->calls, 0);
	while (dram_run(o->dram, 1000) != UINT64_MAX)
		;
	ck_assert_uint_eq(o->done[1], 50);
	ck_assert_uint_eq(o->done[2], 60);
	disown(o);
}
END_TEST

/* ---- time ---- */

static struct dram_request random_request(uint64_t *rng, uint32_t tag)
{
	uint64_t x = stream_random(rng), y = stream_random(rng);
	return (struct dram_request){ .addr = y * 4 % (1 << 24),
				      .nbytes = 1 + x % 300,
				      .tag = tag,
				      .write = x >> 12 & 1,
				      .port = (uint8_t)(x >> 13 & 1) };
}

/* Whoever asks in small steps and whoever knows everything before sees the same clks. */
START_TEST(decisions_do_not_depend_on_how_the_horizon_advances)
{
	struct dram_config c = dram_part(dram_part_names[_i]);
	c.channels = 2;
	c.front_delay = 3;
	struct owner *ahead = own(&c, UINT64_MAX), *stepwise = own(&c, 0);
	uint64_t rng = 7, clk = 0;
	for (uint32_t tag = 0; tag < 2000; tag++) {
		struct dram_request r = random_request(&rng, tag);
		clk += stream_random(&rng) % 100 < 5 ? stream_random(&rng) % 9000 : stream_random(&rng) % 30;
		while (dram_run(stepwise->dram, clk) < clk)
			;
		dram_push(stepwise->dram, clk, &r);
		dram_push(ahead->dram, clk, &r);
	}
	ck_assert_uint_eq(dram_drain(ahead->dram), dram_drain(stepwise->dram));
	for (uint32_t tag = 0; tag < 2000; tag++)
		ck_assert_uint_eq(ahead->done[tag], stepwise->done[tag]);
	disown(ahead);
	disown(stepwise);
}
END_TEST

/* The same for random parts, queues, policies and streams of three ports, one of which only writes; horizons also lie
 * between arrivals. */
enum { STEPS = 200 };

static void random_machine(struct dram_config *c, uint64_t *rng)
{
	*c = dram_part(dram_part_names[stream_random(rng) % 7]);
	c->channels = 1u << stream_random(rng) % 3;
	c->ranks = 1u << stream_random(rng) % 2;
	c->front_delay = stream_random(rng) % 2 * 5;
	c->refresh = (uint32_t)(stream_random(rng) % 3);
	c->refresh_order = (uint32_t)(stream_random(rng) % 2);
	c->turn = 1u << stream_random(rng) % 8;
	c->hit_cap = (uint32_t)(stream_random(rng) % 9);
	c->read_queue = c->write_queue = stream_random(rng) % 2 ? 8 : 32;
	c->write_wait = stream_random(rng) % 2 ? 4096 : 100;
}

static struct dram_request random_step(uint64_t *rng, uint32_t tag, bool streams, uint64_t *next)
{
	uint64_t x = stream_random(rng), y = stream_random(rng);
	uint8_t port = (uint8_t)(x % 3);
	next[port] += 256;
	return (struct dram_request){ .addr = streams ? next[port] : y * 4 % (1 << 22),
				      .nbytes = streams ? 256 : 1 + (x >> 3) % 400,
				      .tag = tag,
				      .write = port == 1 || (port == 2 && (x >> 20 & 1)),
				      .port = port };
}

START_TEST(decisions_do_not_depend_on_horizons_between_arrivals)
{
	struct dram_config c;
	uint64_t rng = (uint64_t)_i * 7919 + 1, next[3] = { 0, 1 << 18, 1 << 22 }, clk = 0, horizon = 0;
	random_machine(&c, &rng);
	bool streams = stream_random(&rng) % 2;
	struct owner *ahead = own(&c, UINT64_MAX), *stepwise = own(&c, 0);
	for (uint32_t tag = 0; tag < STEPS; tag++) {
		struct dram_request r = random_step(&rng, tag, streams, next);
		uint64_t pause = stream_random(&rng);
		clk += pause % 100 < 5 ? pause % 3000 : pause % 97 < 60 ? 0 : pause % 20;
		while (horizon < clk) {
			horizon += 1 + stream_random(&rng) % 50;
			horizon = horizon < clk ? horizon : clk;
			while (dram_run(stepwise->dram, horizon) < horizon)
				;
		}
		dram_push(stepwise->dram, clk, &r);
		dram_push(ahead->dram, clk, &r);
	}
	ck_assert_uint_eq(dram_drain(ahead->dram), dram_drain(stepwise->dram));
	for (uint32_t tag = 0; tag < STEPS; tag++)
		ck_assert_uint_eq(ahead->done[tag], stepwise->done[tag]);
	disown(ahead);
	disown(stepwise);
}
END_TEST

/* dram_run() stops at the first completion whose reaction could still matter. */
START_TEST(a_run_does_not_decide_past_a_completion_that_may_cause_a_request)
{
	struct dram_config c = dram_part("DDR4-2400");
	struct owner *o = own(&c, 0);
	push(o, 0, 0, 64, false, 1);       /* done at 36 */
	push(o, 0, 1 << 16, 64, false, 2); /* another bank: RD at 22 or so */
	for (uint32_t i = 3; i < 40; i++)
		push(o, 0, (uint64_t)i << 20, 64, false, i); /* rows to open for a long time */
	uint64_t due = dram_run(o->dram, UINT64_MAX);
	ck_assert_uint_ge(due, 36);
	ck_assert_uint_le(due, 36 + c.tRC);
	ck_assert_uint_lt(o->calls, 20);
	disown(o);
}
END_TEST

START_TEST(an_idle_device_sleeps_and_catches_its_refreshes_up)
{
	struct dram_config c = dram_part(dram_part_names[_i]);
	for (c.refresh = DRAM_REFRESH_ALLBANK; c.refresh <= DRAM_REFRESH_PERBANK; c.refresh++) {
		uint64_t interval = c.refresh == DRAM_REFRESH_ALLBANK ? c.tREFI : c.tREFIpb;
		if (interval == 0)
			continue;
		struct owner *o = own(&c, 0);
		struct dram_stats s;
		push(o, 0, 0, 64, false, 1);
		while (dram_run(o->dram, UINT64_MAX) != UINT64_MAX)
			;
		uint64_t late = interval * 1000000 + interval / 2; /* half an interval after a due */
		push(o, late, 0, 64, false, 2);
		while (dram_run(o->dram, UINT64_MAX) != UINT64_MAX)
			;
		dram_stats(o->dram, &s);
		ck_assert_uint_eq(s.refreshes, 1000000);
		ck_assert_uint_le(o->done[2] - late, 2 * (o->done[1] + c.tRFCpb));
		disown(o);
	}
}
END_TEST

/* 256 B on a part of 32 B bursts are eight bursts over four bank groups: one transfer without a gap once the rows are
 * open. */
START_TEST(a_sequential_request_is_one_run_on_the_bus)
{
	struct dram_config c = dram_part("LPDDR5-6400");
	struct owner *o = own(&c, 0);
	push(o, 0, 0, 64, false, 1);
	push(o, 0, 64, 64, false, 1);
	dram_run(o->dram, UINT64_MAX);
	while (dram_run(o->dram, UINT64_MAX) != UINT64_MAX)
		;
	memset(o->busy, 0, sizeof o->busy);
	push(o, 1000, 256, 256, false, 2);
	while (dram_run(o->dram, UINT64_MAX) != UINT64_MAX)
		;
	uint64_t from = 1000;
	while (!o->busy[from])
		from++;
	for (uint64_t clk = from; clk < from + 16; clk++)
		ck_assert_uint_eq(o->busy[clk], 1);
	/* tCAS 1 after the data clock stood still, CL 17, eight bursts of 2 clk */
	ck_assert_uint_eq(o->done[2] - 1000, 1 + 17 + 16);
	disown(o);
}
END_TEST

/* ---- explanations ---- */

struct account {
	uint64_t at; /* covered up to here */
	enum dram_wait last;
	bool any;
	uint8_t wait[CLKS];
};

static void on_wait(void *ctx, enum dram_wait wait, uint64_t from, uint64_t to)
{
	struct account *a = ctx;
	ck_assert_uint_eq(from, a->at);
	ck_assert_uint_lt(from, to);
	ck_assert(!a->any || wait != a->last); /* maximal runs */
	for (uint64_t clk = from; clk < to && clk < CLKS; clk++)
		a->wait[clk] = (uint8_t)wait;
	a->at = to;
	a->last = wait;
	a->any = true;
}

/* One request at a time, so that the queue is never full: each clk is what the device did, seen from outside. */
START_TEST(every_clk_of_a_request_is_explained_by_what_the_device_does)
{
	struct dram_config c = dram_part(dram_part_names[_i]);
	struct owner *o = own(&c, 0);
	struct account *a = calloc(1, sizeof *a);
	uint64_t rng = 99, clk = 10;
	for (uint32_t tag = 0; clk < CLKS - 4000; tag++) {
		uint64_t begin = clk, addr = stream_random(&rng) % (1 << 22) / 64 * 64;
		dram_push(o->dram, clk, &(struct dram_request){ .addr = addr, .nbytes = 64, .tag = tag });
		while (dram_run(o->dram, UINT64_MAX) != UINT64_MAX)
			;
		uint64_t end = o->done[tag % TAGS];
		a->at = begin;
		a->any = false;
		dram_explain(o->dram, 0, tag, begin, (begin + end) / 2, on_wait, a); /* in two spans */
		a->any = false;
		dram_explain(o->dram, 0, tag, (begin + end) / 2, end, on_wait, a);
		ck_assert_uint_eq(a->at, end);
		for (uint64_t t = begin; t < end; t++) {
			enum dram_wait expected = o->refresh[t] ? DRAM_WAIT_REFRESH
						  : o->busy[t]  ? DRAM_WAIT_BANDWIDTH
								: DRAM_WAIT_LATENCY;
			ck_assert_msg(a->wait[t] == expected, "clk %llu: %d, not %d", (unsigned long long)t, a->wait[t],
				      expected);
		}
		clk = end + stream_random(&rng) % 200;
	}
	free(a);
	disown(o);
}
END_TEST

/* Refresh of a bank whose bursts have all been read delays nobody. 256 B are one piece in four banks; what is expected
 * is put together from the commands: a bank refreshes from the due of its REFpb, the k-th at k x tREFIpb, until tRFCpb
 * after it, and its bursts wait until its last RD. */
struct banks {
	uint8_t refresh[CLKS][64];
	uint64_t gone[TAGS][64]; /* last RD of a request in each bank, 0: none */
	uint64_t from[TAGS], to[TAGS];
	uint32_t tag; /* under way */
	uint64_t refreshes, last_refresh;
	struct dram_config config;
};

static void on_bank_command(void *ctx, const struct dram_command *c)
{
	struct banks *b = ctx;
	const struct dram_config *config = &b->config;
	if (c->op == DRAM_RD)
		b->gone[b->tag][c->bank] = c->clk;
	if (c->op != DRAM_REFPB)
		return;
	b->refreshes += c->clk != b->last_refresh; /* a pair is one */
	b->last_refresh = c->clk;
	for (uint64_t clk = b->refreshes * config->tREFIpb; clk < c->clk + config->tRFCpb && clk < CLKS; clk++)
		b->refresh[clk][c->bank] = 1;
}

static void on_bank_done(void *ctx, uint8_t port, uint32_t tag, uint64_t clk)
{
	struct banks *b = ctx;
	(void)port;
	b->to[tag] = clk;
}

static bool waits_for_refresh(const struct banks *b, uint32_t tag, uint64_t clk)
{
	for (uint32_t bank = 0; bank < 64; bank++)
		if (b->gone[tag][bank] > clk && b->refresh[clk][bank])
			return true;
	return false;
}

START_TEST(only_banks_of_bursts_still_to_be_read_make_a_request_wait_for_refresh)
{
	struct dram_config c = dram_part(_i ? "HBM2-2000" : "LPDDR5-6400");
	c.refresh = DRAM_REFRESH_PERBANK;
	struct banks *b = calloc(1, sizeof *b);
	struct account *a = calloc(1, sizeof *a);
	uint64_t rng = 3, waited = 0;
	struct dram_hooks hooks = { .ctx = b, .done = on_bank_done, .command = on_bank_command };
	struct dram *d = dram_new(&c, &hooks);
	b->config = c;
	for (uint64_t clk = 10; clk < CLKS - 4000; clk = b->to[b->tag++] + stream_random(&rng) % 100) {
		b->from[b->tag] = clk;
		dram_push(d, clk,
			  &(struct dram_request){
			      .addr = stream_random(&rng) % (1 << 22) / 256 * 256, .nbytes = 256, .tag = b->tag });
		while (dram_run(d, UINT64_MAX) != UINT64_MAX)
			;
		a->at = clk;
		a->any = false;
		dram_explain(d, 0, b->tag, clk, b->to[b->tag], on_wait, a);
	}
	/* Now every refresh that was due is known. */
	for (uint32_t tag = 0; tag < b->tag; tag++)
		for (uint64_t clk = b->from[tag]; clk < b->to[tag]; clk++) {
			bool expected = waits_for_refresh(b, tag, clk);
			ck_assert_msg((a->wait[clk] == DRAM_WAIT_REFRESH) == expected, "clk %llu: %d",
				      (unsigned long long)clk, a->wait[clk]);
			waited += expected;
		}
	ck_assert_uint_gt(waited, 0);
	dram_free(d);
	free(a);
	free(b);
}
END_TEST

/* A request that has yet to arrive, or is on its way back, meets the bus of its channel: time in which others use it is
 * bandwidth. 64 lines keep it busy for 64 x 4 clk. */
START_TEST(the_bus_of_the_channel_counts_before_arrival_and_after_the_end)
{
	struct dram_config c = dram_part("DDR4-2400");
	c.refresh = DRAM_REFRESH_NONE;
	struct owner *o = own(&c, UINT64_MAX);
	struct account *a = calloc(1, sizeof *a);
	for (uint32_t i = 0; i < 64; i++)
		push(o, 0, (uint64_t)i * 64, 64, false, i);
	push(o, 200, 64 * 64, 64, false, 100);
	dram_run(o->dram, UINT64_MAX);
	uint64_t end = o->done[100] + 30;
	dram_explain(o->dram, 0, 100, 0, end, on_wait, a);
	ck_assert_uint_eq(a->at, end);
	for (uint64_t clk = 0; clk < end; clk++)
		if (clk < 200 || clk >= o->done[100])
			ck_assert_int_eq(a->wait[clk], o->busy[clk] ? DRAM_WAIT_BANDWIDTH : DRAM_WAIT_LATENCY);
	ck_assert_int_eq(a->wait[16 + 16], DRAM_WAIT_BANDWIDTH); /* tRCD + CL: the first data of the others */
	free(a);
	disown(o);
}
END_TEST

/* 100 row conflicts of one bank: those outside the queue of 4 wait for room. */
START_TEST(a_request_before_a_full_queue_waits_for_bandwidth)
{
	struct dram_config c = dram_part("DDR4-2400");
	c.read_queue = 4;
	struct owner *o = own(&c, UINT64_MAX);
	struct account *a = calloc(1, sizeof *a);
	for (uint32_t i = 0; i < 100; i++)
		push(o, 0, (uint64_t)i << 20, 64, false, i);
	dram_run(o->dram, UINT64_MAX);
	dram_explain(o->dram, 0, 99, 0, o->done[99], on_wait, a);
	/* It comes in when the fifth last has left: about 4 x tRC before its end. */
	for (uint64_t clk = 0; clk + 5 * c.tRC < o->done[99]; clk++)
		ck_assert(a->wait[clk] == DRAM_WAIT_BANDWIDTH || o->refresh[clk]);
	a->at = 0;
	a->any = false;
	dram_explain(o->dram, 0, 12345, 0, 10, on_wait, a); /* unknown */
	ck_assert_uint_eq(a->at, 10);
	ck_assert_uint_eq(a->last, DRAM_WAIT_LATENCY);
	free(a);
	disown(o);
}
END_TEST

/* ---- figures ---- */

static void count_span(void *ctx, enum dram_wait wait, uint64_t from, uint64_t to)
{
	(void)wait;
	*(uint64_t *)ctx += to - from;
}

/* 300 requests are over when 1,100 at once make the ring of 1,024 grow: it keeps the last 1,024, and no chain of tags may
 * lead to those before. The tag asked for was never pushed, but shares its bucket with request 5. */
START_TEST(what_a_grown_ring_has_forgotten_is_not_looked_for)
{
	struct dram_config c = dram_part("DDR4-2400");
	struct owner *o = own(&c, UINT64_MAX);
	for (uint32_t i = 0; i < 300; i++)
		dram_push(o->dram, 0, &(struct dram_request){ .addr = i * 64, .nbytes = 64, .tag = i });
	dram_run(o->dram, UINT64_MAX);
	ck_assert_uint_eq(o->calls, 300);
	for (uint32_t i = 0; i < 1100; i++)
		dram_push(o->dram, 100000, &(struct dram_request){ .addr = i * 64, .nbytes = 64, .tag = 7 });
	uint64_t told = 0;
	dram_explain(o->dram, 0, 5 + (1u << 20), 100000, 100010, count_span, &told);
	ck_assert_uint_eq(told, 10);
	disown(o);
}
END_TEST

START_TEST(the_figures_agree_with_each_other)
{
	struct dram_config c = dram_part(dram_part_names[_i]);
	struct stream s;
	ck_assert(stream_open(&s, "x_rand64_mix"));
	s.requests = 4000;
	struct pump_result r = stream_pump(&c, &s, NULL, NULL);
	ck_assert_uint_eq(r.completed, 4000);
	ck_assert_uint_eq(r.stats.reads, 2000);
	ck_assert_uint_eq(r.stats.writes, 2000);
	ck_assert_uint_eq(r.stats.read_bytes, 2000 * 64);
	ck_assert_uint_eq(r.stats.bus_bytes, r.stats.bursts * dram_burst_bytes(&c));
	ck_assert_uint_eq(r.stats.bus_busy_clk, r.stats.bursts * dram_burst_clk(&c));
	ck_assert_uint_eq(r.stats.row_hits + r.stats.row_misses + r.stats.row_conflicts, r.stats.bursts);
	ck_assert_uint_le(r.stats.row_misses + r.stats.row_conflicts, r.stats.activates);
	ck_assert_uint_le(r.stats.bus_busy_clk, r.clocks);
	ck_assert_uint_ge(r.stats.read_latency_sum, 2000 * (c.CL + dram_burst_clk(&c)));
	ck_assert_uint_eq(r.stats.last_data_clk, r.clocks);
}
END_TEST

static int count_parts(void)
{
	int n = 0;
	while (dram_part_names[n])
		n++;
	return n;
}

static Suite *dram_suite(void)
{
	Suite *s = suite_create("dram");
	TCase *t = tcase_create("dram");
	int parts = count_parts();
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, every_part_is_a_legal_configuration_of_the_peak_it_is_named_for, 0, parts);
	tcase_add_test(t, a_wrong_configuration_names_its_key);
	tcase_add_test(t, a_part_without_per_bank_refresh_refreshes_all_banks);
	tcase_add_test(t, a_refresh_that_leaves_no_time_is_refused);
	tcase_add_test(t, an_isolated_read_takes_activation_latency_and_burst);
	tcase_add_test(t, reads_of_a_row_follow_each_other_no_faster_than_their_commands);
	tcase_add_test(t, a_write_completes_when_the_queue_has_taken_it);
	tcase_add_test(t, a_read_of_a_waiting_write_is_answered_from_the_queue);
	tcase_add_test(t, a_read_that_a_write_covers_in_part_reads_the_device);
	tcase_add_test(t, a_write_does_not_overtake_a_read_of_the_same_bytes);
	tcase_add_test(t, no_write_waits_for_ever);
	tcase_add_loop_test(t, a_request_of_4_kib_over_channels_and_rows_completes_once, 0, parts);
	tcase_add_test(t, a_request_within_one_of_several_bank_groups_completes_whole);
	tcase_add_test(t, the_ideal_part_has_no_banks);
	tcase_add_test(t, the_ideal_part_completes_at_arrival);
	tcase_add_loop_test(t, decisions_do_not_depend_on_how_the_horizon_advances, 0, parts);
	tcase_add_loop_test(t, decisions_do_not_depend_on_horizons_between_arrivals, 0, 200);
	tcase_add_test(t, a_run_does_not_decide_past_a_completion_that_may_cause_a_request);
	tcase_add_loop_test(t, an_idle_device_sleeps_and_catches_its_refreshes_up, 0, parts);
	tcase_add_test(t, a_sequential_request_is_one_run_on_the_bus);
	tcase_add_loop_test(t, every_clk_of_a_request_is_explained_by_what_the_device_does, 0, parts);
	tcase_add_loop_test(t, only_banks_of_bursts_still_to_be_read_make_a_request_wait_for_refresh, 0, 2);
	tcase_add_test(t, the_bus_of_the_channel_counts_before_arrival_and_after_the_end);
	tcase_add_test(t, a_request_before_a_full_queue_waits_for_bandwidth);
	tcase_add_test(t, what_a_grown_ring_has_forgotten_is_not_looked_for);
	tcase_add_loop_test(t, the_figures_agree_with_each_other, 0, parts);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return npu_suite_run(dram_suite());
}
