/* SPDX-License-Identifier: Apache-2.0 */
/* Two runs on one axis: what begins together, what stands still, and that nothing else changes. */
#include "sim/timeline/align.h"
#include "tests/sim/record_play.h"
#include "tests/support/suite.h"

enum { TILES = 30, FEWER = 20, LANES = 64 };

static struct hw hw[ALIGN_RUNS];
static struct npu_program *programs[ALIGN_RUNS];
static struct simulation *runs[ALIGN_RUNS];
static struct align align;

static void setup(void)
{
	for (unsigned r = 0; r < ALIGN_RUNS; r++) {
		programs[r] = play_program(r == 0 ? TILES : FEWER);
		runs[r] = play_recorded(&hw[r], programs[r]);
	}
	ck_assert(align_init(&align, (const struct simulation *const *)runs));
}

static void teardown(void)
{
	align_fini(&align);
	for (unsigned r = 0; r < ALIGN_RUNS; r++) {
		simulation_free(runs[r]);
		npu_program_free(programs[r]);
	}
}

/* What a writer is told, by lane. */
struct told {
	bool rate[LANES];
	uint64_t end[LANES], lengths[LANES], first[LANES];
	double value[LANES], area[LANES];
	uint64_t at[LANES];
	uint32_t arrows_in, arrows_out, details;
	bool risen; /* no slice begins before the one before it has ended, no value comes before the one before it */
};

static bool on_lane(void *ctx, const struct timeline_lane *lane)
{
	struct told *t = ctx;
	ck_assert_uint_lt(lane->id, LANES);
	t->rate[lane->id] = lane->unit && strcmp(lane->unit, "GB/s") == 0;
	return true;
}

static bool on_slice(void *ctx, const struct timeline_slice *s)
{
	struct told *t = ctx;
	t->risen = t->risen && s->from >= t->end[s->lane] && s->to >= s->from;
	t->end[s->lane] = s->to;
	t->lengths[s->lane] += s->to - s->from;
	t->arrows_in += s->flows.nin;
	t->arrows_out += s->flows.nout;
	t->details += s->details;
	return true;
}

static bool on_counter(void *ctx, uint32_t lane, uint64_t time, double value)
{
	struct told *t = ctx;
	t->risen = t->risen && time >= t->at[lane];
	t->area[lane] += t->value[lane] * (double)(time - t->at[lane]);
	t->at[lane] = time;
	t->value[lane] = value;
	return true;
}

/* Walks a run as it is, or aligned. */
static void walk(unsigned run, bool aligned, struct told *t)
{
	const struct timeline_writer plain = { .ctx = t, .lane = on_lane, .slice = on_slice, .counter = on_counter };
	struct align_writer w;
	struct timeline_writer shifted = align_writer(&w, &align, run, &plain);
	*t = (struct told){ .risen = true };
	ck_assert(timeline_walk(runs[run], aligned ? &shifted : &plain));
}

START_TEST(regions_of_both_that_rise_in_both_begin_together)
{
	/* Each head has its tiles and itself; a tile of the shorter run has one in the longer. */
	ck_assert_uint_ge(align.npairs, PLAY_HEADS);
	ck_assert_uint_gt(align.nmarks, 1);
	uint64_t together = 0;
	for (uint64_t i = 0; i < align.npairs; i++) {
		const struct align_pair *p = &align.pairs[i];
		uint64_t shown[ALIGN_RUNS];
		for (unsigned r = 0; r < ALIGN_RUNS; r++) {
			const struct align_mark *m = &align.marks[align_mark_of(&align, r, p->from[r])];
			shown[r] = p->from[r] - m->at[r] + m->shown;
			ck_assert_uint_eq(align.pair_of[r][p->region[r]], i);
		}
		ck_assert_str_eq(programs[0]->regions[p->region[0]].name, programs[1]->regions[p->region[1]].name);
		ck_assert(!p->together || shown[0] == shown[1]);
		together += p->together;
	}
	ck_assert_uint_ge(together, align.nmarks - 1);
}
END_TEST

START_TEST(between_two_marks_only_the_run_that_is_there_first_stands_still)
{
	for (uint64_t m = 1; m < align.nmarks; m++) {
		const struct align_mark *a = &align.marks[m - 1], *b = &align.marks[m];
		uint64_t x = b->at[0] - a->at[0], y = b->at[1] - a->at[1];
		ck_assert_uint_gt(x, 0);
		ck_assert_uint_gt(y, 0);
		ck_assert_uint_eq(b->shown - a->shown, x > y ? x : y);
	}
}
END_TEST

START_TEST(lengths_arrows_facts_and_bytes_of_a_run_stay_as_they_are)
{
	struct told plain, shifted;
	walk((unsigned)_i, false, &plain);
	walk((unsigned)_i, true, &shifted);
	ck_assert(shifted.risen);
	ck_assert_uint_eq(shifted.arrows_in, plain.arrows_in);
	ck_assert_uint_eq(shifted.arrows_out, plain.arrows_out);
	ck_assert_uint_eq(shifted.details, plain.details);
	ck_assert_uint_eq(shifted.details, programs[_i]->ninsns);
	unsigned rates = 0;
	for (unsigned lane = 0; lane < LANES; lane++) {
		ck_assert_uint_eq(shifted.lengths[lane], plain.lengths[lane]);
		/* GB/s times cycles: nothing moves while the run stands still. */
		if (plain.rate[lane])
			ck_assert_double_eq_tol(shifted.area[lane], plain.area[lane], 1e-6 * (1 + plain.area[lane]));
		rates += plain.rate[lane] && plain.area[lane] > 0;
	}
	ck_assert_uint_gt(rates, 0);
}
END_TEST

START_TEST(runs_without_a_region_in_common_begin_together)
{
	for (uint32_t i = 0; i < programs[1]->nregions; i++)
		((char *)programs[1]->regions[i].name)[0] = '!';
	struct align none;
	ck_assert(align_init(&none, (const struct simulation *const *)runs));
	ck_assert_uint_eq(none.npairs, 0);
	ck_assert_uint_eq(none.nmarks, 1);
	ck_assert_uint_eq(none.marks[0].shown, 0);
	align_fini(&none);
}
END_TEST

START_TEST(a_run_beside_itself_never_stands_still)
{
	struct align same;
	const struct simulation *const twice[ALIGN_RUNS] = { runs[0], runs[0] };
	ck_assert(align_init(&same, twice));
	for (uint64_t i = 0; i < same.npairs; i++)
		ck_assert(same.pairs[i].together);
	for (uint64_t m = 0; m < same.nmarks; m++)
		ck_assert_uint_eq(same.marks[m].shown, same.marks[m].at[0]);
	align_fini(&same);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("timeline align");
	TCase *t = tcase_create("two runs");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, regions_of_both_that_rise_in_both_begin_together);
	tcase_add_test(t, between_two_marks_only_the_run_that_is_there_first_stands_still);
	tcase_add_loop_test(t, lengths_arrows_facts_and_bytes_of_a_run_stay_as_they_are, 0, ALIGN_RUNS);
	tcase_add_test(t, runs_without_a_region_in_common_begin_together);
	tcase_add_test(t, a_run_beside_itself_never_stands_still);
	suite_add_tcase(suite, t);
	return npu_suite_run(suite);
}
