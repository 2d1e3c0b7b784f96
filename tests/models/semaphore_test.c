/* SPDX-License-Identifier: Apache-2.0 */
/* Semaphores: what is seen when, whose post it was, and when a count goes over its maximum. */
#include "models/semaphore.h"
#include "tests/support/suite.h"

enum { LATENCY = 4 };

struct woken {
	unsigned block;
	uint64_t cycle;
	unsigned times;
};

static void note(void *ctx, unsigned block, uint64_t cycle)
{
	struct woken *w = ctx;
	w->block = block;
	w->cycle = cycle;
	w->times++;
}

static struct semaphores *semaphores(uint32_t initial, uint32_t max, uint64_t latency, struct woken *woken)
{
	static struct npu_sem sem;
	static struct npu_program program;
	sem = (struct npu_sem){ "s", initial, max, NPU_ENGINE_LOAD, NPU_ENGINE_MATRIX };
	program = (struct npu_program){ .name = "p", .nsems = 1, .sems = &sem };
	*woken = (struct woken){ 0 };
	return semaphores_new(&program, latency, &(struct machine_wake){ woken, note });
}

static struct npu_sem_ref count(uint16_t n)
{
	return (struct npu_sem_ref){ 0, n };
}

START_TEST(initial_counts_are_seen_from_the_start_and_come_from_nobody)
{
	struct woken woken;
	uint32_t by;
	struct semaphores *s = semaphores(2, 10, LATENCY, &woken);
	ck_assert_uint_eq(semaphore_seen(s, 0, 2, &by), 0);
	ck_assert_uint_eq(by, PROBE_NOBODY);
	ck_assert_uint_eq(semaphore_seen(s, 0, 3, &by), NPU_NEVER);
	semaphores_free(s);
}
END_TEST

START_TEST(there_is_news_once_when_what_was_asked_for_in_vain_is_posted)
{
	struct woken woken;
	uint32_t by;
	struct semaphores *s = semaphores(0, 10, LATENCY, &woken);
	ck_assert_uint_eq(semaphore_seen(s, 0, 2, &by), NPU_NEVER);
	uint64_t news = semaphores_news(s, NPU_ENGINE_MATRIX);
	semaphore_post(s, count(1), 7, 100);
	ck_assert_uint_eq(semaphores_news(s, NPU_ENGINE_MATRIX), news);
	semaphore_post(s, count(1), 8, 200);
	ck_assert_uint_eq(semaphores_news(s, NPU_ENGINE_MATRIX), news + 1);
	semaphore_post(s, count(1), 9, 300);
	ck_assert_uint_eq(semaphores_news(s, NPU_ENGINE_MATRIX), news + 1);
	ck_assert_uint_eq(semaphores_news(s, NPU_ENGINE_LOAD), 0);
	ck_assert_uint_eq(semaphore_seen(s, 0, 2, &by), 204);
	semaphores_free(s);
}
END_TEST

START_TEST(a_post_is_seen_the_latency_after_its_end)
{
	struct woken woken;
	uint32_t by;
	struct semaphores *s = semaphores(0, 10, LATENCY, &woken);
	semaphore_post(s, count(1), 7, 100);
	ck_assert_uint_eq(semaphore_seen(s, 0, 1, &by), 104);
	ck_assert_uint_eq(by, 7);
	semaphores_free(s);
}
END_TEST

START_TEST(the_kth_wait_meets_the_kth_post_after_the_initial_counts)
{
	struct woken woken;
	uint32_t by;
	struct semaphores *s = semaphores(1, 10, LATENCY, &woken);
	semaphore_post(s, count(1), 7, 100);
	semaphore_post(s, count(2), 8, 200);
	ck_assert_uint_eq(semaphore_seen(s, 0, 1, &by), 0);
	semaphore_take(s, count(1), 10);
	ck_assert_uint_eq(semaphore_seen(s, 0, 1, &by), 104);
	ck_assert_uint_eq(by, 7);
	semaphore_take(s, count(1), 104);
	/* The post of two serves two waits of one. */
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(semaphore_seen(s, 0, 1, &by), 204);
		ck_assert_uint_eq(by, 8);
		semaphore_take(s, count(1), 204);
	}
	ck_assert_uint_eq(semaphore_count(s, 0), 0);
	semaphores_free(s);
}
END_TEST

START_TEST(a_wait_for_several_counts_is_enabled_by_the_last_of_them)
{
	struct woken woken;
	uint32_t by;
	struct semaphores *s = semaphores(1, 10, LATENCY, &woken);
	semaphore_post(s, count(1), 7, 100);
	semaphore_post(s, count(1), 8, 150);
	ck_assert_uint_eq(semaphore_seen(s, 0, 3, &by), 154);
	ck_assert_uint_eq(by, 8);
	semaphore_take(s, count(3), 154);
	ck_assert_uint_eq(semaphore_seen(s, 0, 1, &by), NPU_NEVER);
	semaphores_free(s);
}
END_TEST

START_TEST(the_waiting_engine_is_woken_once_and_only_when_all_it_asked_for_is_posted)
{
	struct woken woken;
	uint32_t by;
	struct semaphores *s = semaphores(0, 10, LATENCY, &woken);
	semaphore_post(s, count(1), 1, 10);
	ck_assert_uint_eq(woken.times, 0);
	ck_assert_uint_eq(semaphore_seen(s, 0, 3, &by), NPU_NEVER);
	semaphore_post(s, count(1), 2, 20);
	ck_assert_uint_eq(woken.times, 0);
	semaphore_post(s, count(1), 3, 30);
	ck_assert_uint_eq(woken.times, 1);
	ck_assert_uint_eq(woken.block, NPU_ENGINE_MATRIX);
	ck_assert_uint_eq(woken.cycle, 34);
	semaphores_free(s);
}
END_TEST

START_TEST(a_count_may_reach_its_maximum_but_not_pass_it)
{
	struct woken woken;
	struct npu_error err;
	struct semaphores *s = semaphores(1, 2, LATENCY, &woken);
	semaphore_post(s, count(1), 7, 100);
	ck_assert(semaphores_close(s, &err));
	semaphore_post(s, count(1), 9, 101);
	ck_assert(!semaphores_close(s, &err));
	ck_assert_int_eq(err.code, NPU_ERR_SEMAPHORE);
	ck_assert_str_eq(err.text, "semaphore s goes over its maximum of 2 when #9 posts it");
	semaphores_free(s);
}
END_TEST

START_TEST(a_take_in_the_cycle_in_which_a_post_is_seen_comes_first)
{
	struct npu_error err;
	/* Post and take of one cycle in both orders of the blocks; latency 0 and more. */
	for (uint64_t latency = 0; latency <= LATENCY; latency += LATENCY)
		for (int order = 0; order < 2; order++) {
			struct woken woken;
			struct semaphores *s = semaphores(1, 1, latency, &woken);
			if (order == 0)
				semaphore_post(s, count(1), 7, 100 - latency);
			semaphore_take(s, count(1), 100);
			if (order == 1)
				semaphore_post(s, count(1), 7, 100 - latency);
			ck_assert(semaphores_close(s, &err));
			semaphores_free(s);
		}
	/* A cycle later is too late. */
	struct woken woken;
	struct semaphores *s = semaphores(1, 1, 0, &woken);
	semaphore_post(s, count(1), 7, 99);
	semaphore_take(s, count(1), 100);
	ck_assert(!semaphores_check(s, &err));
	semaphores_free(s);
}
END_TEST

START_TEST(thousands_of_posts_keep_their_order)
{
	enum { N = 5000 };
	struct woken woken;
	uint32_t by;
	struct semaphores *s = semaphores(0, N, LATENCY, &woken);
	uint32_t posted = 0, taken = 0;
	while (taken < N) {
		for (int i = 0; i < 3 && posted < N; i++, posted++)
			semaphore_post(s, count(1), posted, posted * 10);
		ck_assert_uint_eq(semaphore_seen(s, 0, 1, &by), taken * 10 + LATENCY);
		ck_assert_uint_eq(by, taken);
		semaphore_take(s, count(1), posted * 10 + LATENCY);
		taken++;
	}
	ck_assert_uint_eq(semaphore_count(s, 0), 0);
	semaphores_free(s);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("models.semaphore");
	TCase *tc = tcase_create("semaphore");
	tcase_add_test(tc, initial_counts_are_seen_from_the_start_and_come_from_nobody);
	tcase_add_test(tc, there_is_news_once_when_what_was_asked_for_in_vain_is_posted);
	tcase_add_test(tc, a_post_is_seen_the_latency_after_its_end);
	tcase_add_test(tc, the_kth_wait_meets_the_kth_post_after_the_initial_counts);
	tcase_add_test(tc, a_wait_for_several_counts_is_enabled_by_the_last_of_them);
	tcase_add_test(tc, the_waiting_engine_is_woken_once_and_only_when_all_it_asked_for_is_posted);
	tcase_add_test(tc, a_count_may_reach_its_maximum_but_not_pass_it);
	tcase_add_test(tc, a_take_in_the_cycle_in_which_a_post_is_seen_comes_first);
	tcase_add_test(tc, thousands_of_posts_keep_their_order);
	suite_add_tcase(suite, tc);
	return npu_suite_run(suite);
}
