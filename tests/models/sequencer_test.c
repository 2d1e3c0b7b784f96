/* SPDX-License-Identifier: Apache-2.0 */
/* The sequencer alone: when instructions come into their queues, and what it says about its own time. */
#include "models/sequencer.h"
#include "tests/support/suite.h"

enum { N = 12 };

struct seen {
	uint64_t at[N];
	enum npu_engine engine[N];
	uint32_t n;
	uint64_t line[NPU_SEQ_STATES], line_to;
	uint64_t explained[NPU_STATES];
	uint64_t fetch_at[N], fetch_addr[N];
	uint32_t fetch_bytes[N], fetches;
};

static void push(void *ctx, enum npu_engine engine, uint32_t insn, uint64_t at)
{
	struct seen *s = ctx;
	ck_assert_uint_eq(insn, s->n);
	s->engine[s->n] = engine;
	s->at[s->n++] = at;
}

static void fetch(void *ctx, uint64_t now, uint64_t addr, uint32_t bytes, uint32_t tag)
{
	struct seen *s = ctx;
	ck_assert_uint_eq(tag, s->fetches);
	s->fetch_at[s->fetches] = now;
	s->fetch_addr[s->fetches] = addr;
	s->fetch_bytes[s->fetches++] = bytes;
}

static void line(void *ctx, enum npu_seq_state state, uint64_t from, uint64_t to)
{
	struct seen *s = ctx;
	ck_assert_uint_eq(from, s->line_to);
	s->line[state] += to - from;
	s->line_to = to;
}

static void span(void *ctx, const struct probe_span *told)
{
	(void)ctx;
	(void)told;
}

static void explain(void *ctx, enum npu_state state, uint64_t from, uint64_t to)
{
	((struct seen *)ctx)->explained[state] += to - from;
}

static struct npu_insn insns[N];
static struct npu_program program;
static struct seen seen;
static struct probe probe;

/* "llm": two syncs of the load queue, one of the matrix queue. */
static struct sequencer *sequencer(const char *text, const struct sequencer_config *config)
{
	uint32_t n = 0;
	for (; text[n]; n++)
		insns[n].op = text[n] == 'l' ? NPU_OP_SYNC_LOAD :
			      text[n] == 's' ? NPU_OP_SYNC_STORE :
			      text[n] == 'm' ? NPU_OP_SYNC_MATRIX :
					       NPU_OP_SYNC_VECTOR;
	program = (struct npu_program){ .name = "p", .ninsns = n, .insns = insns };
	seen = (struct seen){ 0 };
	probe = (struct probe){ .ctx = &seen, .sequencer = line, .span = span };
	return sequencer_new(&program, config, &(struct sequencer_listener){ &seen, push, fetch }, &probe,
			     &(struct machine_wake){ 0 });
}

static const struct sequencer_config plain = { .launch_cycles = 10, .issue_cycles = 3, .queue_depth = 4 };

START_TEST(instructions_come_at_the_issue_rate_after_the_launch)
{
	struct sequencer *s = sequencer("lmvs", &plain);
	sequencer_start(s);
	ck_assert_uint_eq(seen.n, 4);
	for (uint32_t i = 0; i < 4; i++)
		ck_assert_uint_eq(seen.at[i], 10 + 3 * i);
	/* 10 cycles of launch, 4 x 3 of issue. */
	sequencer_close(s, 100);
	ck_assert_uint_eq(seen.line[NPU_SEQ_LAUNCH], 10);
	ck_assert_uint_eq(seen.line[NPU_SEQ_ISSUE], 12);
	ck_assert_uint_eq(seen.line[NPU_SEQ_DONE], 78);
	ck_assert_uint_eq(seen.line_to, 100);
	sequencer_free(s);
}
END_TEST

START_TEST(a_full_queue_holds_everything_behind_it_until_an_entry_is_given_up)
{
	struct sequencer_config config = plain;
	config.queue_depth = 2;
	struct sequencer *s = sequencer("lllv", &config);
	sequencer_start(s);
	/* The third load finds its queue full at 16; the vector instruction behind it waits too. */
	ck_assert_uint_eq(seen.n, 2);
	ck_assert_int_eq(sequencer_stuck(s), NPU_ENGINE_LOAD);
	sequencer_popped(s, NPU_ENGINE_LOAD, 50);
	ck_assert_uint_eq(seen.n, 4);
	ck_assert_uint_eq(seen.at[2], 50);
	ck_assert_uint_eq(seen.at[3], 53);
	sequencer_close(s, 60);
	ck_assert_uint_eq(seen.line[NPU_SEQ_FULL_LOAD], 50 - 16);
	ck_assert_uint_eq(seen.line[NPU_SEQ_ISSUE], 4 * 3);
	ck_assert_uint_eq(seen.line[NPU_SEQ_DONE], 60 - 56);
	sequencer_free(s);
}
END_TEST

START_TEST(an_entry_given_up_before_it_is_needed_costs_nothing)
{
	struct sequencer_config config = plain;
	config.queue_depth = 1;
	struct sequencer *s = sequencer("ll", &config);
	sequencer_start(s);
	/* Given up at 11, the second could come at 13 at the earliest. */
	sequencer_popped(s, NPU_ENGINE_LOAD, 11);
	ck_assert_uint_eq(seen.at[1], 13);
	sequencer_close(s, 20);
	ck_assert_uint_eq(seen.line[NPU_SEQ_FULL_LOAD], 0);
	sequencer_free(s);
}
END_TEST

START_TEST(an_empty_queue_blames_the_rate_or_the_full_queue)
{
	struct sequencer_config config = plain;
	config.queue_depth = 2;
	struct sequencer *s = sequencer("lllv", &config);
	sequencer_start(s);
	sequencer_popped(s, NPU_ENGINE_LOAD, 50);
	/* Vector waits from 0 to 53: stuck from 16 to 50, else the rate. */
	sequencer_explain(s, NPU_ENGINE_VECTOR, 0, 53, explain, &seen);
	ck_assert_uint_eq(seen.explained[NPU_STATE_DISPATCH_BLOCKED], 34);
	ck_assert_uint_eq(seen.explained[NPU_STATE_DISPATCH_RATE], 19);
	sequencer_free(s);
}
END_TEST

START_TEST(being_stuck_now_is_told_too)
{
	struct sequencer_config config = plain;
	config.queue_depth = 1;
	struct sequencer *s = sequencer("llv", &config);
	sequencer_start(s);
	sequencer_explain(s, NPU_ENGINE_VECTOR, 0, 40, explain, &seen);
	ck_assert_uint_eq(seen.explained[NPU_STATE_DISPATCH_RATE], 13);
	ck_assert_uint_eq(seen.explained[NPU_STATE_DISPATCH_BLOCKED], 27);
	sequencer_free(s);
}
END_TEST

START_TEST(the_line_is_cut_where_the_run_ends)
{
	/* A sync ends in the cycle in which it is issued: the run is over before its issue cycles are. */
	struct sequencer *s = sequencer("l", &plain);
	sequencer_start(s);
	sequencer_close(s, 11);
	ck_assert_uint_eq(seen.line[NPU_SEQ_ISSUE], 1);
	ck_assert_uint_eq(seen.line_to, 11);
	sequencer_free(s);
}
END_TEST

START_TEST(fetched_instructions_wait_for_their_bytes_and_the_buffer_bounds_the_prefetch)
{
	struct sequencer_config config = plain;
	config.queue_depth = 100;
	config.fetch_buffer = 4;
	config.fetch_insns = 2;
	config.fetch_base = 4096;
	struct sequencer *s = sequencer("llllll", &config);
	sequencer_start(s);
	ck_assert_uint_eq(seen.n, 0);
	/* Two requests of two fill the buffer, a cycle apart. */
	ck_assert_uint_eq(sequencer_step(s, 0), 1);
	ck_assert_uint_eq(sequencer_step(s, 1), NPU_NEVER);
	ck_assert_uint_eq(seen.fetches, 2);
	ck_assert_uint_eq(seen.fetch_addr[1], 4096 + 128);
	ck_assert_uint_eq(seen.fetch_bytes[1], 128);
	/* The first bytes come at 40: launch 10, fetch 30, issue 40 and 43. */
	sequencer_fetched(s, 0, 40);
	ck_assert_uint_eq(seen.n, 2);
	ck_assert_uint_eq(seen.at[0], 40);
	ck_assert_uint_eq(seen.at[1], 43);
	/* The third request finds room when the second instruction is issued. */
	ck_assert_uint_eq(sequencer_step(s, 43), NPU_NEVER);
	ck_assert_uint_eq(seen.fetches, 3);
	sequencer_fetched(s, 2, 60);
	ck_assert_uint_eq(seen.n, 2);
	sequencer_fetched(s, 1, 70);
	ck_assert_uint_eq(seen.n, 6);
	ck_assert_uint_eq(seen.at[2], 70);
	ck_assert_uint_eq(seen.at[5], 79);
	ck_assert_uint_eq(sequencer_fetch_bytes(s), 6 * 64);
	sequencer_close(s, 100);
	ck_assert_uint_eq(seen.line[NPU_SEQ_FETCH], (40 - 10) + (70 - 46));
	ck_assert_uint_eq(seen.line_to, 100);
	sequencer_free(s);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("models.sequencer");
	TCase *tc = tcase_create("sequencer");
	tcase_add_test(tc, instructions_come_at_the_issue_rate_after_the_launch);
	tcase_add_test(tc, a_full_queue_holds_everything_behind_it_until_an_entry_is_given_up);
	tcase_add_test(tc, an_entry_given_up_before_it_is_needed_costs_nothing);
	tcase_add_test(tc, an_empty_queue_blames_the_rate_or_the_full_queue);
	tcase_add_test(tc, being_stuck_now_is_told_too);
	tcase_add_test(tc, the_line_is_cut_where_the_run_ends);
	tcase_add_test(tc, fetched_instructions_wait_for_their_bytes_and_the_buffer_bounds_the_prefetch);
	suite_add_tcase(suite, tc);
	return npu_suite_run(suite);
}
