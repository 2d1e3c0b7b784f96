/* SPDX-License-Identifier: Apache-2.0 */
/* Every command that the DRAM core issues, judged by the naive checker, over all parts and random traffic; and single
 * intervals, each exactly as long as JEDEC asks: refused at c - 1, ready at c. More traffic is in dram_rules_slow_test.
 */
#include "tests/support/dram_part.h"
#include "tests/support/dram_streams.h"
#include "tests/support/dram_traffic.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

enum { REQUESTS = 250, SHOWN = 64 };

START_TEST(no_part_breaks_a_rule_under_random_traffic_and_every_request_completes_once)
{
	traffic_check_part(dram_part_names[_i], 12345, REQUESTS);
}
END_TEST

START_TEST(ranks_channels_hashes_turns_and_row_hit_caps_break_no_rule)
{
	traffic_check_options(dram_part_names[_i], 1, REQUESTS);
}
END_TEST

static void on_command(void *ctx, const struct dram_command *c)
{
	checker_command(ctx, c);
}

/* A refresh waits at most for what is under way on its banks: the longest is a write, WR to PRE, then tRP; a CAS, PRE
 * or another rank's commands may hold the bus for a few clocks more. */
START_TEST(refreshes_come_at_their_rate)
{
	struct dram_config config = dram_part(dram_part_names[_i]), *c = &config;
	struct checker *checker = calloc(1, sizeof *checker);
	struct stream s;
	ck_assert(stream_open(&s, "x_rand64_mix"));
	s.requests = 4000;
	checker_init(checker, c);
	struct pump_result r = stream_pump(c, &s, on_command, checker);
	uint64_t bound = c->tRAS + c->CWL + c->tDQSS + dram_burst_clk(c) + c->tWR + c->tRPab + c->tRP + 64;
	ck_assert_str_eq(checker->problem, "");
	ck_assert_uint_le(checker->latest_refresh_delay, bound);
	ck_assert_uint_eq(checker->refreshes[0], r.stats.refreshes);
	ck_assert_uint_ge(r.stats.refreshes, r.clocks / c->tREFI - 1);
	free(checker);
}
END_TEST

/* ---- single intervals, DDR4-2400, one bank group lowest ---- */

struct script {
	struct dram_command seen[SHOWN];
	uint32_t n;
	uint64_t done_clk[SHOWN];
};

static void note_command(void *ctx, const struct dram_command *c)
{
	struct script *s = ctx;
	if (s->n < SHOWN)
		s->seen[s->n++] = *c;
}

static void note_done(void *ctx, uint8_t port, uint32_t tag, uint64_t clk)
{
	struct script *s = ctx;
	(void)port;
	s->done_clk[tag] = clk;
}

/* Start of the k-th `op` since the beginning, counted from 0. */
static uint64_t nth(const struct script *s, enum dram_command_op op, uint32_t k)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->seen[i].op == op && k-- == 0)
			return s->seen[i].clk;
	ck_abort_msg("no such command: %s", checker_op_name(op));
}

/* One line of a script: a 64 B request. Addresses are made of DDR4-2400's fields: 64 B, 4 groups, 128 columns, 4 banks.
 */
struct line {
	uint32_t arrival, row, bank, group, column;
	bool write;
};

static struct script play(const struct line *lines, uint32_t n)
{
	struct script s = { .n = 0 };
	struct dram_config c = dram_part("DDR4-2400");
	struct dram_hooks hooks = { .ctx = &s, .done = note_done, .command = note_command, .reaction_clk = UINT64_MAX };
	c.refresh = DRAM_REFRESH_NONE;
	struct dram *d = dram_new(&c, &hooks);
	for (uint32_t i = 0; i < n; i++) {
		const struct line *l = &lines[i];
		uint64_t addr = (((((uint64_t)l->row * 4 + l->bank) * 128 + l->column) * 4 + l->group)) * 64;
		dram_push(d, l->arrival,
			  &(struct dram_request){ .addr = addr, .nbytes = 64, .tag = i, .write = l->write });
	}
	dram_drain(d);
	dram_free(d);
	return s;
}

struct interval_case {
	const char *name;
	struct line lines[6];
	uint32_t n;
	enum dram_command_op first;
	uint32_t first_k;
	enum dram_command_op second;
	uint32_t second_k;
	uint32_t expected;
};

/* DDR4-2400 (models/presets/dram/DDR4-2400.yaml): CL 16, CWL 12, tRCD 16, tRP 16, tRAS 39, tRRD 4/6, tFAW 26, tCCD 4/6,
 * tRTP 9, tWR 18, tWTR 3/9, burst 4 clk; one-clock commands, so intervals are start to start. */
static const struct interval_case interval_cases[] = {
	{ "ACT to RD is tRCD", { { .row = 1 } }, 1, DRAM_ACT, 0, DRAM_RD, 0, 16 },
	{ "ACT to WR is tRCD", { { .row = 1, .write = true } }, 1, DRAM_ACT, 0, DRAM_WR, 0, 16 },
	{ "ACT to PRE is tRAS when the read is long over",
	  { { .row = 1 }, { .arrival = 1, .row = 2 } },
	  2,
	  DRAM_ACT,
	  0,
	  DRAM_PRE,
	  0,
	  39 },
	{ "PRE to ACT is tRP", { { .row = 1 }, { .arrival = 1, .row = 2 } }, 2, DRAM_PRE, 0, DRAM_ACT, 1, 16 },
	{ "RD to PRE is tRTP",
	  { { .row = 1 }, { .arrival = 50, .row = 1, .column = 1 }, { .arrival = 51, .row = 2 } },
	  3,
	  DRAM_RD,
	  1,
	  DRAM_PRE,
	  0,
	  9 },
	{ "WR to PRE is CWL + 4 + tWR",
	  { { .row = 1, .write = true }, { .arrival = 1, .row = 2, .write = true } },
	  2,
	  DRAM_WR,
	  0,
	  DRAM_PRE,
	  0,
	  12 + 4 + 18 },
	{ "ACT to ACT of another group is tRRD_S",
	  { { .row = 1 }, { .row = 1, .group = 1 } },
	  2,
	  DRAM_ACT,
	  0,
	  DRAM_ACT,
	  1,
	  4 },
	{ "ACT to ACT of the same group is tRRD_L",
	  { { .row = 1 }, { .row = 1, .bank = 1 } },
	  2,
	  DRAM_ACT,
	  0,
	  DRAM_ACT,
	  1,
	  6 },
	{ "the fifth ACT is tFAW after the first",
	  { { .row = 1 },
	    { .row = 1, .group = 1 },
	    { .row = 1, .group = 2 },
	    { .row = 1, .group = 3 },
	    { .row = 1, .bank = 1 } },
	  5,
	  DRAM_ACT,
	  0,
	  DRAM_ACT,
	  4,
	  26 },
	{ "RD to RD of another group is tCCD_S",
	  { { .row = 1 },
	    { .row = 1, .group = 1 },
	    { .arrival = 90, .row = 1, .column = 1 },
	    { .arrival = 90, .row = 1, .group = 1, .column = 1 } },
	  4,
	  DRAM_RD,
	  2,
	  DRAM_RD,
	  3,
	  4 },
	{ "RD to RD of the same group is tCCD_L",
	  { { .row = 1 }, { .row = 1, .column = 1 } },
	  2,
	  DRAM_RD,
	  0,
	  DRAM_RD,
	  1,
	  6 },
	{ "WR to WR of the same group is tCCD_L",
	  { { .row = 1, .write = true }, { .row = 1, .column = 1, .write = true } },
	  2,
	  DRAM_WR,
	  0,
	  DRAM_WR,
	  1,
	  6 },
	{ "RD to WR is CL + 4 + 2 - CWL",
	  { { .row = 1 }, { .arrival = 16, .row = 1, .column = 1, .write = true } },
	  2,
	  DRAM_RD,
	  0,
	  DRAM_WR,
	  0,
	  16 + 4 + 2 - 12 },
	{ "WR to RD of the same group is CWL + 4 + tWTR_L",
	  { { .row = 1, .write = true }, { .arrival = 17, .row = 1, .column = 1 } },
	  2,
	  DRAM_WR,
	  0,
	  DRAM_RD,
	  0,
	  12 + 4 + 9 },
	{ "WR to RD of another group is CWL + 4 + tWTR_S",
	  { { .row = 1, .group = 1 },
	    { .arrival = 100, .row = 1, .write = true },
	    { .arrival = 117, .row = 1, .group = 1, .column = 1 } },
	  3,
	  DRAM_WR,
	  0,
	  DRAM_RD,
	  1,
	  12 + 4 + 3 },
};

START_TEST(an_interval_is_exactly_as_long_as_its_rule)
{
	const struct interval_case *c = &interval_cases[_i];
	struct script s = play(c->lines, c->n);
	uint64_t gap = nth(&s, c->second, c->second_k) - nth(&s, c->first, c->first_k);
	ck_assert_msg(gap == c->expected, "%s: %llu, not %u", c->name, (unsigned long long)gap, c->expected);
}
END_TEST

/* The judge itself: it must refuse what is one clock early. */
START_TEST(the_checker_refuses_at_one_clock_less)
{
	struct dram_config c = dram_part("DDR4-2400");
	struct checker k;
	for (uint64_t gap = 15; gap <= 16; gap++) { /* tRCD 16 */
		checker_init(&k, &c);
		checker_command(&k, &(struct dram_command){ .clk = 100, .op = DRAM_ACT, .row = 3 });
		checker_command(&k, &(struct dram_command){ .clk = 100 + gap, .op = DRAM_RD, .row = 3 });
		ck_assert_msg((k.problem[0] == '\0') == (gap == 16), "gap %llu: '%s'", (unsigned long long)gap,
			      k.problem);
	}
	checker_init(&k, &c);
	checker_command(&k, &(struct dram_command){ .clk = 100, .op = DRAM_RD, .row = 3 });
	ck_assert_str_ne(k.problem, "");
}
END_TEST

static int count_parts(void)
{
	int n = 0;
	while (dram_part_names[n])
		n++;
	return n;
}

static Suite *dram_rules_suite(void)
{
	Suite *s = suite_create("dram_rules");
	TCase *t = tcase_create("rules");
	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, no_part_breaks_a_rule_under_random_traffic_and_every_request_completes_once, 0,
			    count_parts());
	tcase_add_loop_test(t, ranks_channels_hashes_turns_and_row_hit_caps_break_no_rule, 0, count_parts());
	tcase_add_loop_test(t, refreshes_come_at_their_rate, 0, count_parts());
	tcase_add_loop_test(t, an_interval_is_exactly_as_long_as_its_rule, 0,
			    (int)(sizeof interval_cases / sizeof *interval_cases));
	tcase_add_test(t, the_checker_refuses_at_one_clock_less);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return npu_suite_run(dram_rules_suite());
}
