/* SPDX-License-Identifier: Apache-2.0 */
/* Random sizes, three ports, half in a small hot region so that rows conflict, bursts of arrivals and pauses. */
#include "tests/support/dram_traffic.h"
#include "tests/support/dram_part.h"
#include "tests/support/dram_streams.h"

#include <check.h>
#include <stdlib.h>

struct traffic {
	struct checker checker[TRAFFIC_CHANNELS];
	uint32_t requests;
	uint64_t *arrival;
	uint8_t *completed;
};

static void on_command(void *ctx, const struct dram_command *c)
{
	struct traffic *t = ctx;
	checker_command(&t->checker[c->channel], c);
}

static void on_done(void *ctx, uint8_t port, uint32_t tag, uint64_t clk)
{
	struct traffic *t = ctx;
	(void)port;
	ck_assert_uint_lt(tag, t->requests);
	ck_assert_uint_ge(clk, t->arrival[tag]);
	t->completed[tag]++;
}

static struct dram_request random_request(uint64_t *rng, uint32_t tag)
{
	uint64_t x = stream_random(rng), y = stream_random(rng);
	uint64_t span = x & 1 ? 1u << 20 : 1u << 28;
	return (struct dram_request){ .addr = y * 8 % span,
				      .nbytes = 1 + (uint32_t)(x >> 1 & (x & 512 ? 511 : 63)),
				      .tag = tag,
				      .write = x >> 10 & 1,
				      .port = (uint8_t)((x >> 11) % 3) };
}

static void run(struct traffic *t, const struct dram_config *c, uint64_t seed)
{
	struct dram_hooks hooks = { .ctx = t, .done = on_done, .command = on_command };
	uint64_t rng = seed, clk = 0;
	struct dram *d = dram_new(c, &hooks);
	ck_assert_ptr_nonnull(d);
	for (uint32_t tag = 0; tag < t->requests; tag++) {
		struct dram_request r = random_request(&rng, tag);
		uint64_t pause = stream_random(&rng);
		clk += pause % 64 == 0 ? pause % 20000 : pause % 512 < 300 ? 0 : pause % 40;
		while (dram_run(d, clk) < clk)
			;
		t->arrival[tag] = clk;
		dram_push(d, clk, &r);
	}
	dram_drain(d);
	dram_free(d);
}

void traffic_check(const struct dram_config *c, const char *part, uint64_t seed, uint32_t requests)
{
	struct traffic *t = calloc(1, sizeof *t);
	t->requests = requests;
	t->arrival = calloc(requests, sizeof *t->arrival);
	t->completed = calloc(requests, 1);
	for (int i = 0; i < TRAFFIC_CHANNELS; i++)
		checker_init(&t->checker[i], c);
	run(t, c, seed);
	for (uint32_t i = 0; i < c->channels; i++)
		ck_assert_msg(!t->checker[i].problem[0], "%s, refresh %u, mapping %u: %s", part, c->refresh, c->mapping,
			      t->checker[i].problem);
	for (uint32_t i = 0; i < requests; i++)
		ck_assert_msg(t->completed[i] == 1, "%s: request %u completed %u times", part, i, t->completed[i]);
	free(t->arrival);
	free(t->completed);
	free(t);
}

void traffic_check_part(const char *part, uint64_t seed, uint32_t requests)
{
	struct dram_config c = dram_part(part);
	bool groups = c.bank_groups > 1;
	for (c.refresh = 0; c.refresh < 3; c.refresh++)
		for (c.mapping = groups ? 0 : 2; c.mapping < (groups ? 2u : 3u); c.mapping++)
			if (c.refresh != DRAM_REFRESH_PERBANK || c.tREFIpb)
				traffic_check(&c, part, seed + c.refresh, requests);
}

void traffic_check_options(const char *part, uint64_t seed, uint32_t requests)
{
	struct dram_config c = dram_part(part);
	c.channels = TRAFFIC_CHANNELS;
	c.bank_hash = true;
	c.channel_hash = true;
	traffic_check(&c, part, seed, requests);
	c.channels = 1;
	c.ranks = 2;
	c.turn = 1;
	traffic_check(&c, part, seed + 1, requests);
	c.hit_cap = 4;
	c.turn = 7;
	c.write_wait = 200;
	c.front_delay = 7;
	c.back_delay = 5;
	c.read_queue = 5;
	c.write_queue = 3;
	traffic_check(&c, part, seed + 2, requests);
}
