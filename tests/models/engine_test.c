/* SPDX-License-Identifier: Apache-2.0 */
/* The queue in front of a body: order, waits, syncs, and an account without gaps. The body here is a fake. */
#include "models/engine.h"
#include "tests/support/suite.h"

enum { MOST = 16 };

/* A body whose instructions take a given time and of which `lanes` may overlap; each ends no earlier than the one before. */
struct fake {
	struct body_listener up;
	unsigned lanes, n;
	uint64_t length[MOST]; /* by instruction */
	struct {
		uint32_t insn;
		uint64_t start, end;
	} in[MOST];
	uint64_t told;
};

static uint64_t fake_accept_at(void *self, uint64_t now, uint32_t insn)
{
	struct fake *f = self;
	(void)insn;
	return f->n < f->lanes ? now : NPU_NEVER;
}

static void fake_accept(void *self, uint64_t now, uint32_t insn)
{
	struct fake *f = self;
	uint64_t end = now + f->length[insn];
	if (f->n && f->in[f->n - 1].end > end)
		end = f->in[f->n - 1].end;
	if (!f->n)
		f->told = now;
	f->in[f->n].insn = insn;
	f->in[f->n].start = now;
	f->in[f->n++].end = end;
}

static uint64_t fake_step(void *self, uint64_t now)
{
	struct fake *f = self;
	while (f->n) {
		uint32_t insn = f->in[0].insn;
		uint64_t start = f->in[0].start, end = f->in[0].end, to = end < now ? end : now;
		if (to > f->told)
			f->up.span(f->up.ctx, NPU_STATE_BUSY, insn, f->told, to);
		f->told = to > f->told ? to : f->told;
		if (end > now)
			return end;
		f->n--;
		for (unsigned i = 0; i < f->n; i++)
			f->in[i] = f->in[i + 1];
		f->up.ended(f->up.ctx, insn, 0, start, end, end);
	}
	return NPU_NEVER;
}

static unsigned fake_in_service(const void *self)
{
	return ((const struct fake *)self)->n;
}

static const struct body_ops fake_ops = { fake_accept_at, fake_accept, fake_step, fake_in_service };

/* A matrix engine with its surroundings; the test plays the other engines by posting. */
static struct bench {
	struct npu_insn insns[MOST];
	struct npu_sem sems[4];
	struct npu_program program;
	struct fake fake;
	struct engine *engine;
	struct semaphores *semaphores;
	struct sequencer *sequencer;
	struct probe probe;
	uint64_t wake; /* of the engine */
	struct probe_span span[64];
	unsigned nspans;
	struct probe_insn told[MOST];
	unsigned ntold;
} b;

static void on_wake(void *ctx, unsigned block, uint64_t cycle)
{
	(void)ctx;
	if (block == NPU_ENGINE_MATRIX && cycle < b.wake)
		b.wake = cycle;
}

static void on_span(void *ctx, const struct probe_span *span)
{
	(void)ctx;
	ck_assert_uint_eq(span->from, b.nspans ? b.span[b.nspans - 1].to : 0);
	b.span[b.nspans++] = *span;
}

static void on_insn(void *ctx, const struct probe_insn *insn)
{
	(void)ctx;
	b.told[b.ntold++] = *insn;
}

static void on_push(void *ctx, enum npu_engine engine, uint32_t insn, uint64_t at)
{
	(void)ctx;
	if (engine == NPU_ENGINE_MATRIX)
		engine_push(b.engine, insn, at);
}

enum { FULL, FREE, DONE, READY }; /* posted by load, vector, matrix, store */

static void add(enum npu_op op, uint64_t length, struct npu_sem_ref wait0, struct npu_sem_ref wait1, struct npu_sem_ref post)
{
	uint32_t i = b.program.ninsns++;
	b.insns[i] = (struct npu_insn){ .op = (uint8_t)op, .wait = { wait0, wait1 }, .post = { post } };
	b.fake.length[i] = length;
}

#define NONE ((struct npu_sem_ref){ 0, 0 })
#define ONE(sem) ((struct npu_sem_ref){ (sem), 1 })

static void begin(unsigned lanes)
{
	b = (struct bench){ .wake = NPU_NEVER };
	b.sems[FULL] = (struct npu_sem){ "full", 0, 9, NPU_ENGINE_LOAD, NPU_ENGINE_MATRIX };
	b.sems[FREE] = (struct npu_sem){ "free", 0, 9, NPU_ENGINE_VECTOR, NPU_ENGINE_MATRIX };
	b.sems[DONE] = (struct npu_sem){ "done", 0, 9, NPU_ENGINE_MATRIX, NPU_ENGINE_STORE };
	b.sems[READY] = (struct npu_sem){ "ready", 0, 9, NPU_ENGINE_STORE, NPU_ENGINE_MATRIX };
	b.program = (struct npu_program){ .name = "p", .insns = b.insns, .sems = b.sems, .nsems = 4 };
	b.fake.lanes = lanes;
}

static void start_issuing(struct sequencer_config config)
{
	struct machine_wake wake = { NULL, on_wake };
	b.probe = (struct probe){ .insn = on_insn, .span = on_span };
	b.semaphores = semaphores_new(&b.program, 4, &wake);
	b.engine = engine_new(NPU_ENGINE_MATRIX, &b.program, b.semaphores, &b.probe, &wake);
	b.sequencer = sequencer_new(&b.program, &config, &(struct sequencer_listener){ .push = on_push }, &b.probe, &wake);
	b.fake.up = engine_listener(b.engine);
	engine_attach(b.engine, &fake_ops, &b.fake, b.sequencer);
	sequencer_start(b.sequencer);
}

/* Steps the engine until `until`, at the cycles that it asks for. */
static void run(uint64_t until)
{
	while (b.wake < until) {
		uint64_t now = b.wake;
		b.wake = NPU_NEVER;
		on_wake(NULL, NPU_ENGINE_MATRIX, engine_step(b.engine, now));
	}
}

/* A post of another engine in cycle `end`. */
static void post(uint16_t sem, uint32_t insn, uint64_t end)
{
	run(end);
	semaphore_post(b.semaphores, ONE(sem), insn, end);
}

static void end(uint64_t cycles)
{
	run(NPU_NEVER);
	engine_close(b.engine, cycles);
	ck_assert_uint_eq(b.span[b.nspans - 1].to, cycles);
}

static void fini(void)
{
	engine_free(b.engine);
	semaphores_free(b.semaphores);
	sequencer_free(b.sequencer);
}

static uint64_t cycles_in(enum npu_state state)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < b.nspans; i++)
		sum += b.span[i].state == state ? b.span[i].to - b.span[i].from : 0;
	return sum;
}

static const struct sequencer_config at_10_and_11 = { .launch_cycles = 10, .issue_cycles = 1, .queue_depth = 8 };

START_TEST(an_instruction_without_waits_starts_when_it_is_issued)
{
	begin(1);
	add(NPU_OP_MATMUL, 20, NONE, NONE, ONE(DONE));
	start_issuing(at_10_and_11);
	end(50);
	ck_assert_uint_eq(b.told[0].issued, 10);
	ck_assert_uint_eq(b.told[0].start, 10);
	ck_assert_uint_eq(b.told[0].end, 30);
	ck_assert_uint_eq(b.told[0].enabled_by[0], PROBE_NOBODY);
	ck_assert_uint_eq(cycles_in(NPU_STATE_DISPATCH_RATE), 10);
	ck_assert_uint_eq(cycles_in(NPU_STATE_BUSY), 20);
	ck_assert_uint_eq(cycles_in(NPU_STATE_IDLE), 20);
	uint32_t by;
	ck_assert_uint_eq(semaphore_seen(b.semaphores, DONE, 1, &by), 34);
	ck_assert_uint_eq(by, 0);
	fini();
}
END_TEST

START_TEST(a_wait_is_put_down_to_the_engine_that_posts)
{
	begin(1);
	add(NPU_OP_MATMUL, 20, ONE(FULL), NONE, NONE);
	start_issuing(at_10_and_11);
	post(FULL, 5, 40);
	end(64);
	ck_assert_uint_eq(b.told[0].start, 44);
	ck_assert_uint_eq(b.told[0].enabled_by[0], 5);
	ck_assert_uint_eq(cycles_in(NPU_STATE_WAIT_LOAD), 34);
	fini();
}
END_TEST

START_TEST(of_two_waits_the_one_satisfied_last_decides_all_of_it)
{
	begin(1);
	add(NPU_OP_MATMUL, 20, ONE(FULL), ONE(FREE), NONE);
	start_issuing(at_10_and_11);
	post(FULL, 5, 20);
	post(FREE, 6, 40);
	end(64);
	ck_assert_uint_eq(b.told[0].start, 44);
	ck_assert_uint_eq(b.told[0].enabled_by[0], 5);
	ck_assert_uint_eq(b.told[0].enabled_by[1], 6);
	ck_assert_uint_eq(cycles_in(NPU_STATE_WAIT_VECTOR), 34);
	ck_assert_uint_eq(cycles_in(NPU_STATE_WAIT_LOAD), 0);
	fini();
}
END_TEST

START_TEST(of_two_waits_satisfied_at_once_the_first_operand_decides)
{
	for (int swap = 0; swap < 2; swap++) {
		begin(1);
		add(NPU_OP_MATMUL, 20, ONE(swap ? FREE : FULL), ONE(swap ? FULL : FREE), NONE);
		start_issuing(at_10_and_11);
		post(FULL, 5, 40);
		post(FREE, 6, 40);
		end(64);
		ck_assert_uint_eq(cycles_in(swap ? NPU_STATE_WAIT_VECTOR : NPU_STATE_WAIT_LOAD), 34);
		fini();
	}
}
END_TEST

START_TEST(both_counts_are_taken_together_not_one_by_one)
{
	begin(1);
	add(NPU_OP_MATMUL, 20, ONE(FULL), ONE(FREE), NONE);
	start_issuing(at_10_and_11);
	post(FULL, 5, 20);
	run(40);
	ck_assert_uint_eq(semaphore_count(b.semaphores, FULL), 1);
	post(FREE, 6, 40);
	end(64);
	ck_assert_uint_eq(semaphore_count(b.semaphores, FULL), 0);
	fini();
}
END_TEST

START_TEST(two_waits_for_one_semaphore_take_the_sum)
{
	begin(1);
	add(NPU_OP_MATMUL, 20, ONE(FULL), ONE(FULL), NONE);
	start_issuing(at_10_and_11);
	post(FULL, 5, 20);
	post(FULL, 6, 40);
	end(64);
	ck_assert_uint_eq(b.told[0].start, 44);
	ck_assert_uint_eq(b.told[0].enabled_by[0], 5);
	ck_assert_uint_eq(b.told[0].enabled_by[1], 6);
	fini();
}
END_TEST

START_TEST(a_wait_that_holds_before_its_turn_costs_nothing)
{
	begin(1);
	add(NPU_OP_MATMUL, 50, NONE, NONE, NONE);
	add(NPU_OP_MATMUL, 10, ONE(FULL), NONE, NONE);
	start_issuing(at_10_and_11);
	post(FULL, 5, 20);
	end(70);
	ck_assert_uint_eq(b.told[1].head, 11);
	ck_assert_uint_eq(b.told[1].start, 60);
	ck_assert_uint_eq(cycles_in(NPU_STATE_WAIT_LOAD), 0);
	ck_assert_uint_eq(cycles_in(NPU_STATE_BUSY), 60);
	fini();
}
END_TEST

START_TEST(instructions_that_overlap_count_once_and_end_in_order)
{
	begin(2);
	add(NPU_OP_MATMUL, 50, NONE, NONE, NONE);
	add(NPU_OP_MATMUL, 10, NONE, NONE, ONE(DONE));
	start_issuing(at_10_and_11);
	end(60);
	ck_assert_uint_eq(b.told[0].end, 60);
	ck_assert_uint_eq(b.told[1].start, 11);
	ck_assert_uint_eq(b.told[1].end, 60);
	ck_assert_uint_eq(cycles_in(NPU_STATE_BUSY), 50);
	fini();
}
END_TEST

START_TEST(a_sync_ends_when_all_before_it_has_and_then_posts)
{
	begin(1);
	add(NPU_OP_MATMUL, 50, NONE, NONE, NONE);
	add(NPU_OP_SYNC_MATRIX, 0, NONE, NONE, ONE(DONE));
	start_issuing(at_10_and_11);
	end(60);
	ck_assert_uint_eq(b.told[1].insn, 1);
	ck_assert_uint_eq(b.told[1].start, 60);
	ck_assert_uint_eq(b.told[1].end, 60);
	uint32_t by;
	ck_assert_uint_eq(semaphore_seen(b.semaphores, DONE, 1, &by), 64);
	ck_assert_uint_eq(by, 1);
	fini();
}
END_TEST

START_TEST(a_sync_that_waits_holds_what_follows_but_does_not_drain_what_precedes)
{
	begin(2);
	add(NPU_OP_MATMUL, 100, NONE, NONE, NONE);
	add(NPU_OP_SYNC_MATRIX, 0, ONE(FULL), NONE, NONE);
	add(NPU_OP_MATMUL, 10, NONE, NONE, NONE);
	start_issuing(at_10_and_11);
	post(FULL, 5, 40);
	end(110);
	/* The follower starts when the wait holds; the sync itself ends after the first product. */
	ck_assert_uint_eq(b.told[1].end, 110);
	ck_assert_uint_eq(b.told[1].enabled_by[0], 5);
	ck_assert_uint_eq(b.told[2].start, 44);
	ck_assert_uint_eq(cycles_in(NPU_STATE_BUSY), 100);
	fini();
}
END_TEST

START_TEST(a_sync_alone_takes_no_time_and_its_wait_is_a_wait)
{
	begin(1);
	add(NPU_OP_SYNC_MATRIX, 0, ONE(READY), NONE, ONE(DONE));
	start_issuing(at_10_and_11);
	post(READY, 5, 30);
	end(40);
	ck_assert_uint_eq(b.told[0].end, 34);
	ck_assert_uint_eq(cycles_in(NPU_STATE_WAIT_STORE), 24);
	ck_assert_uint_eq(cycles_in(NPU_STATE_BUSY), 0);
	fini();
}
END_TEST

START_TEST(an_entry_is_given_up_at_the_start)
{
	begin(1);
	for (int i = 0; i < 3; i++)
		add(NPU_OP_MATMUL, 20, NONE, NONE, NONE);
	start_issuing((struct sequencer_config){ .launch_cycles = 10, .issue_cycles = 1, .queue_depth = 1 });
	end(70);
	/* One in the queue: the second comes when the first starts, the third when the second does. */
	ck_assert_uint_eq(b.told[1].issued, 11);
	ck_assert_uint_eq(b.told[2].issued, 30);
	ck_assert_uint_eq(b.told[2].end, 70);
	fini();
}
END_TEST

START_TEST(a_queue_that_runs_dry_waits_for_the_issue_rate)
{
	begin(1);
	add(NPU_OP_MATMUL, 5, NONE, NONE, NONE);
	add(NPU_OP_MATMUL, 5, NONE, NONE, NONE);
	start_issuing((struct sequencer_config){ .launch_cycles = 10, .issue_cycles = 30, .queue_depth = 8 });
	end(45);
	ck_assert_uint_eq(cycles_in(NPU_STATE_DISPATCH_RATE), 10 + 25);
	ck_assert_uint_eq(cycles_in(NPU_STATE_BUSY), 10);
	fini();
}
END_TEST

START_TEST(neighbours_in_one_state_are_told_as_one_span)
{
	begin(1);
	add(NPU_OP_MATMUL, 50, NONE, NONE, NONE);
	start_issuing(at_10_and_11);
	for (uint64_t now = 10; now < 60; now++)
		engine_step(b.engine, now);
	end(60);
	ck_assert_uint_eq(b.nspans, 2);
	fini();
}
END_TEST

START_TEST(a_wait_that_never_ends_is_told_up_to_the_end)
{
	begin(1);
	add(NPU_OP_MATMUL, 20, ONE(FREE), NONE, NONE);
	start_issuing(at_10_and_11);
	end(100);
	ck_assert_uint_eq(engine_unfinished(b.engine), 1);
	ck_assert_uint_eq(engine_head(b.engine), 0);
	ck_assert_uint_eq(cycles_in(NPU_STATE_WAIT_VECTOR), 90);
	fini();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("models.engine");
	TCase *tc = tcase_create("engine");
	tcase_add_test(tc, an_instruction_without_waits_starts_when_it_is_issued);
	tcase_add_test(tc, a_wait_is_put_down_to_the_engine_that_posts);
	tcase_add_test(tc, of_two_waits_the_one_satisfied_last_decides_all_of_it);
	tcase_add_test(tc, of_two_waits_satisfied_at_once_the_first_operand_decides);
	tcase_add_test(tc, both_counts_are_taken_together_not_one_by_one);
	tcase_add_test(tc, two_waits_for_one_semaphore_take_the_sum);
	tcase_add_test(tc, a_wait_that_holds_before_its_turn_costs_nothing);
	tcase_add_test(tc, instructions_that_overlap_count_once_and_end_in_order);
	tcase_add_test(tc, a_sync_ends_when_all_before_it_has_and_then_posts);
	tcase_add_test(tc, a_sync_that_waits_holds_what_follows_but_does_not_drain_what_precedes);
	tcase_add_test(tc, a_sync_alone_takes_no_time_and_its_wait_is_a_wait);
	tcase_add_test(tc, an_entry_is_given_up_at_the_start);
	tcase_add_test(tc, a_queue_that_runs_dry_waits_for_the_issue_rate);
	tcase_add_test(tc, neighbours_in_one_state_are_told_as_one_span);
	tcase_add_test(tc, a_wait_that_never_ends_is_told_up_to_the_end);
	suite_add_tcase(suite, tc);
	return npu_suite_run(suite);
}
