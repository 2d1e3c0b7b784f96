/* SPDX-License-Identifier: Apache-2.0 */
/* The DRAM core against the DRAM that is ticked clock by clock: random traffic on random controllers, the clock of
 * every completion and the cause of every clock of every request. */
#include "tests/golden/twin_parts.h"
#include "tests/support/dram_part.h"
#include "tests/support/dram_streams.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REQUESTS = 300, LONGEST = 2000000, KEPT = 4096 };

struct random {
	uint64_t state;
};

static uint64_t below(struct random *r, uint64_t n) /* splitmix64 */
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (z ^ z >> 31) % n;
}

#define ONE_OF(r, ...)                                                                                                 \
	(((const uint64_t[]){ __VA_ARGS__ })[below(r, sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))])

static struct dram_config random_config(struct random *r, const char *part)
{
	struct dram_config c = dram_part(part);
	c.channels = (uint32_t)ONE_OF(r, 1, 1, 2, 4, 16);
	c.channel_interleave = ONE_OF(r, 64, 256, 256, 4096);
	c.channel_hash = below(r, 2);
	c.bank_hash = below(r, 2);
	c.ranks = (uint32_t)ONE_OF(r, 1, 1, 1, 2);
	c.mapping = c.bank_groups > 1 ? (uint32_t)below(r, 2) : DRAM_RoBaCo;
	c.refresh = (uint32_t)ONE_OF(r, DRAM_REFRESH_NONE, DRAM_REFRESH_ALLBANK, DRAM_REFRESH_PERBANK);
	c.refresh_order = (uint32_t)ONE_OF(r, DRAM_REFRESH_FIXED, DRAM_REFRESH_IDLE, DRAM_REFRESH_IDLE);
	c.read_queue = (uint32_t)ONE_OF(r, 32, 32, 5, 64);
	c.write_queue = (uint32_t)ONE_OF(r, 32, 32, 3, 64);
	c.drain_high = (uint32_t)ONE_OF(r, 80, 80, 50, 100);
	c.drain_low = (uint32_t)ONE_OF(r, 20, 20, 0, 40);
	c.write_wait = (uint32_t)ONE_OF(r, 65536, 4096, 300);
	c.turn = (uint32_t)ONE_OF(r, 128, 128, 7, 1);
	c.hit_cap = (uint32_t)ONE_OF(r, 32, 32, 0, 1, 2, 4, 7);
	c.front_delay = (uint32_t)ONE_OF(r, 0, 0, 7);
	c.back_delay = (uint32_t)ONE_OF(r, 0, 0, 5);
	return c;
}

struct traffic {
	struct dram_request request[REQUESTS];
	uint64_t arrival[REQUESTS], done[REQUESTS];
};

static void on_done(void *ctx, uint8_t port, uint32_t tag, uint64_t clk)
{
	struct traffic *t = ctx;
	(void)port;
	t->done[tag] = clk;
}

/* Two streams and random places, of which half lie close together so that rows conflict; crowds of arrivals, and
 * pauses. */
static void draw(struct traffic *t, struct random *r)
{
	uint64_t clk = 0, next[2] = { below(r, 64) * 4096, (uint64_t)1 << 24 };
	uint64_t writes = ONE_OF(r, 2, 4, 16), streams = ONE_OF(r, 0, 3, 4), longest = ONE_OF(r, 64, 256, 512);
	uint64_t crowd = ONE_OF(r, 300, 500, 509);
	for (uint32_t i = 0; i < REQUESTS; i++) {
		uint64_t pause = below(r, 512);
		bool write = below(r, writes) == 0;
		struct dram_request *q = &t->request[i];
		*q = (struct dram_request){ .tag = i, .write = write, .port = (uint8_t)ONE_OF(r, 0, write, 2) };
		q->nbytes = (uint32_t)(1 + below(r, longest));
		if (below(r, 4) < streams) {
			q->nbytes = (uint32_t)longest;
			q->addr = next[write];
			q->port = write;
			next[write] += longest;
		} else {
			q->addr = below(r, (uint64_t)1 << ONE_OF(r, 20, 28));
		}
		clk += pause == 0 ? below(r, 20000) : pause < crowd ? 0 : below(r, 40);
		t->arrival[i] = clk;
	}
}

static const enum npu_state state_of[] = { [DRAM_WAIT_REFRESH] = NPU_STATE_DRAM_REFRESH,
					   [DRAM_WAIT_BANDWIDTH] = NPU_STATE_DRAM_BANDWIDTH,
					   [DRAM_WAIT_LATENCY] = NPU_STATE_DRAM_LATENCY };

struct told {
	uint8_t *state;
	uint64_t from;
};

static void on_wait(void *ctx, enum dram_wait wait, uint64_t from, uint64_t to)
{
	struct told *t = ctx;
	for (; from < to && from - t->from < KEPT; from++)
		t->state[from - t->from] = (uint8_t)state_of[wait];
}

/* Runs the core with all arrivals known, `step` clocks at a time, and asks it after each for the causes of these; `why` NULL: not. */
static void run_core(const struct dram_config *c, struct traffic *t, uint8_t **why, uint64_t step)
{
	struct dram_hooks hooks = { .ctx = t, .done = on_done, .reaction_clk = UINT64_MAX };
	struct dram *d = dram_new(c, &hooks);
	uint32_t open = 0;
	ck_assert_ptr_nonnull(d);
	for (uint32_t i = 0; i < REQUESTS; i++) {
		t->done[i] = UINT64_MAX;
		dram_push(d, t->arrival[i], &t->request[i]);
	}
	for (uint64_t clk = 0; open < REQUESTS; clk += step) {
		ck_assert_uint_lt(clk, LONGEST);
		dram_run(d, clk + step);
		for (uint32_t i = open; why && i < REQUESTS && t->arrival[i] < clk + step; i++) {
			struct told all = { why[i], t->arrival[i] };
			uint64_t from = clk < t->arrival[i] ? t->arrival[i] : clk;
			uint64_t to = t->done[i] < clk + step ? t->done[i] : clk + step;
			if (from < to)
				dram_explain(d, t->request[i].port, i, from, to, on_wait, &all);
		}
		while (open < REQUESTS && t->done[open] <= clk + step)
			open++;
	}
	dram_free(d);
}

/* Ticks the twin; `why[i]`: the causes of request i from its arrival on, its first KEPT clocks; NULL: not asked for. */
static struct twin_dram *run_twin(const struct dram_config *c, const struct traffic *t, uint32_t id[REQUESTS],
				  uint8_t **why)
{
	struct twin_dram *d = twin_dram_new(c);
	uint32_t next = 0, open = 0;
	for (uint64_t clk = 0; next < REQUESTS || open < REQUESTS; clk++) {
		ck_assert_msg(clk < LONGEST, "the twin does not end: request %u is open", open);
		for (; next < REQUESTS && t->arrival[next] <= clk; next++) {
			const struct dram_request *q = &t->request[next];
			id[next] = twin_dram_send(d, t->arrival[next], q->port, q->addr, q->nbytes, q->write);
		}
		twin_dram_tick(d, clk);
		for (uint32_t i = open; why && i < next; i++)
			if (clk - t->arrival[i] < KEPT)
				why[i][clk - t->arrival[i]] = (uint8_t)twin_dram_why(d, id[i], clk);
		while (open < next && twin_dram_done(d, id[open]) <= clk)
			open++;
	}
	return d;
}

static void same_causes(const struct traffic *t, uint8_t *core[REQUESTS], uint8_t *twin[REQUESTS], const char *what)
{
	for (uint32_t i = 0; i < REQUESTS; i++)
		for (uint64_t clk = 0; clk < t->done[i] - t->arrival[i] && clk < KEPT; clk++)
			ck_assert_msg(core[i][clk] == twin[i][clk],
				      "%s: clk %llu of request %u, %llu to %llu: %u, of the twin %u", what,
				      (unsigned long long)(t->arrival[i] + clk), i, (unsigned long long)t->arrival[i],
				      (unsigned long long)t->done[i], core[i][clk], twin[i][clk]);
}

/* Every request is done at the same clock. */
static void same_ends(const struct traffic *t, const struct twin_dram *twin, const uint32_t id[REQUESTS], const char *what)
{
	for (uint32_t i = 0; i < REQUESTS; i++) {
		const struct dram_request *q = &t->request[i];
		uint64_t done = twin_dram_done(twin, id[i]);
		ck_assert_msg(t->done[i] == done,
			      "%s: request %u (%s of %u at 0x%llx, port %u, arrived at %llu) is done at %llu, of the "
			      "twin at %llu",
			      what, i, q->write ? "write" : "read", q->nbytes, (unsigned long long)q->addr, q->port,
			      (unsigned long long)t->arrival[i], (unsigned long long)t->done[i],
			      (unsigned long long)done);
	}
}

/* Exact. */
static void compare(const struct dram_config *c, struct traffic *t, uint64_t step, const char *what)
{
	uint32_t id[REQUESTS];
	uint8_t *why[REQUESTS], *told[REQUESTS];
	for (uint32_t i = 0; i < REQUESTS; i++) {
		why[i] = calloc(KEPT, 1);
		told[i] = calloc(KEPT, 1);
	}
	run_core(c, t, told, step);
	struct twin_dram *twin = run_twin(c, t, id, why);
	same_ends(t, twin, id, what);
	same_causes(t, told, why, what);
	for (uint32_t i = 0; i < REQUESTS; i++) {
		free(why[i]);
		free(told[i]);
	}
	twin_dram_free(twin);
}

static int count_parts(void)
{
	int n = 0;
	while (dram_part_names[n])
		n++;
	return n;
}

START_TEST(every_request_ends_at_the_same_clock_and_waits_for_the_same_causes)
{
	uint64_t runs = getenv("TWIN_RUNS") ? strtoull(getenv("TWIN_RUNS"), NULL, 10) : 3;
	struct traffic *t = calloc(1, sizeof *t);
	for (uint64_t seed = 0; seed < runs; seed++) {
		struct random r = { seed * 1000 + (uint64_t)_i };
		struct dram_config c = random_config(&r, dram_part_names[_i]);
		char what[64];
		if (dram_config_check(&c, NULL))
			continue;
		draw(t, &r);
		snprintf(what, sizeof what, "%s seed %llu", dram_part_names[_i], (unsigned long long)seed);
		compare(&c, t, ONE_OF(&r, 1, 100, 1000), what);
	}
	free(t);
}
END_TEST

/* Requests `skip` to `skip` + REQUESTS of a stream of the reference runs, all waiting from the beginning: the controller
 * takes them as fast as it can. */
static void draw_stream(struct traffic *t, const char *name, uint32_t skip)
{
	struct stream s;
	uint64_t addr;
	bool write;
	ck_assert(stream_open(&s, name));
	while (skip--)
		ck_assert(stream_next(&s, &addr, &write));
	for (uint32_t i = 0; i < REQUESTS; i++) {
		ck_assert(stream_next(&s, &addr, &write));
		t->arrival[i] = 0;
		t->request[i] = (struct dram_request){ .tag = i, .addr = addr, .nbytes = 64, .write = write };
	}
}

START_TEST(streams_as_fast_as_the_controller_takes_them_are_equal_on_every_mapping)
{
	static const char *const streams[] = { "a_seq_rd",   "b_seq_wr", "c1_pingpong4K_samebank", "c2_pingpong4K_offset",
					       "d_rand64",   "f_rand1K", "g_stride2K",		   "x_rand64_mix" };
	struct traffic *t = calloc(1, sizeof *t);
	struct dram_config part = dram_part(dram_part_names[_i]);
	unsigned compared = 0;
	for (unsigned i = 0; i < sizeof streams / sizeof *streams; i++)
		for (unsigned mapping = 0; mapping < 3; mapping++) {
			struct dram_config c = part;
			char what[96];
			c.mapping = mapping;
			c.bank_hash = (i + mapping) % 2;
			if (dram_config_check(&c, NULL))
				continue;
			snprintf(what, sizeof what, "%s %s mapping %u hash %u", dram_part_names[_i], streams[i], mapping,
				 c.bank_hash);
			draw_stream(t, streams[i], i * 977);
			uint32_t id[REQUESTS];
			run_core(&c, t, NULL, 1000);
			struct twin_dram *twin = run_twin(&c, t, id, NULL);
			same_ends(t, twin, id, what);
			twin_dram_free(twin);
			compared++;
		}
	ck_assert_uint_ge(compared, sizeof streams / sizeof *streams);
	free(t);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("golden.twin_dram");
	TCase *both = tcase_create("both");
	tcase_set_timeout(both, 300);
	tcase_add_loop_test(both, every_request_ends_at_the_same_clock_and_waits_for_the_same_causes, 0, count_parts());
	tcase_add_loop_test(both, streams_as_fast_as_the_controller_takes_them_are_equal_on_every_mapping, 0, count_parts());
	suite_add_tcase(suite, both);
	return npu_suite_run(suite);
}
