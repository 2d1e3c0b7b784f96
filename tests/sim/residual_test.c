/* SPDX-License-Identifier: Apache-2.0 */
/* What was simulated tells of its neighbours: the more the nearer. */
#include "sim/sweep/residual.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>

static struct residual_point at(double x, double y) { return (struct residual_point){ .at = { x, y }, .log_estimate = 10 }; }

static struct residual *learned(const double (*points)[3], unsigned n)
{
	struct residual *r = calloc(1, sizeof *r);
	ck_assert_ptr_nonnull(r);
	r->axes = 2;
	for (unsigned i = 0; i < n; i++) {
		struct residual_point p = at(points[i][0], points[i][1]);
		residual_add(r, &p, points[i][2]);
	}
	residual_fit(r);
	return r;
}

START_TEST(a_point_that_is_known_is_guessed_nearly_exactly_and_one_far_off_as_the_mean)
{
	const double points[][3] = { { 0, 0, 0.1 }, { 9, 9, -0.1 } };
	struct residual *r = learned(points, 2);
	double known, far, near_deviation, deviation;
	struct residual_point p = at(0, 0);
	residual_guess(r, &p, &known, &near_deviation);
	p = at(0, 9);
	residual_guess(r, &p, &far, &deviation);
	/* With a twentieth of the variance its own, 1 / 1.05 of the distance from the mean. */
	ck_assert_double_eq_tol(known, 0.1 / 1.05, 1e-6);
	ck_assert_double_eq_tol(far, 0, 1e-6);
	/* Three points of 4 % and the two, which lie 0.1 off: (3 x 0.0016 + 2 x 0.01 / 1.05) / 4. */
	ck_assert_double_eq_tol(deviation, sqrt((3 * 0.0016 + 0.02 / 1.05) / 4), 1e-6);
	ck_assert_double_lt(near_deviation, deviation / 4);
	free(r);
}
END_TEST

START_TEST(a_neighbour_is_guessed_between_what_is_known_and_the_mean)
{
	const double points[][3] = { { 0, 0, 0.08 }, { 20, 0, 0 }, { 40, 0, 0 }, { 60, 0, 0 } };
	struct residual *r = learned(points, 4);
	double value[4], deviation[4];
	for (unsigned i = 0; i < 4; i++) {
		struct residual_point p = at(0.5 * i, 0);
		residual_guess(r, &p, &value[i], &deviation[i]);
	}
	for (unsigned i = 1; i < 4; i++) {
		ck_assert_double_lt(value[i], value[i - 1]);
		ck_assert_double_gt(value[i], 0.02);
		ck_assert_double_gt(deviation[i], deviation[i - 1]);
	}
	struct residual_point other = at(0, 0);
	double apart, unused;
	other.log_estimate += 0.2;
	residual_guess(r, &other, &apart, &unused);
	ck_assert_double_eq_tol(apart, 0.02, 1e-3); /* an estimate 20 % off is another matter: the mean of the four */
	free(r);
}
END_TEST

START_TEST(choices_lie_no_more_than_a_step_apart)
{
	const double points[][3] = { { 0, 0, 0.08 }, { 40, 0, 0 } };
	double value[4], deviation;
	for (unsigned i = 0; i < 4; i++) {
		struct residual *r = learned(points, 2);
		r->choices = i < 2 ? 0 : 2;
		residual_fit(r);
		struct residual_point p = at(0, i % 2 ? 1 : 3);
		residual_guess(r, &p, &value[i], &deviation);
		free(r);
	}
	ck_assert_double_lt(value[0], value[1]);
	ck_assert_double_eq_tol(value[2], value[1], 1e-12);
	ck_assert_double_eq_tol(value[3], value[1], 1e-12);
}
END_TEST

/* The same point again and again leaves nothing to divide by but what is a point's own. */
START_TEST(as_many_equal_points_as_there_is_room_for_are_learned)
{
	struct residual *r = calloc(1, sizeof *r);
	ck_assert_ptr_nonnull(r);
	struct residual_point p = at(3, 4);
	for (unsigned i = 0; i < RESIDUAL_MOST; i++)
		residual_add(r, &p, i % 2 ? 0.01 : 0.03);
	residual_fit(r);
	double value, deviation;
	residual_guess(r, &p, &value, &deviation);
	ck_assert_double_eq_tol(value, 0.02, 1e-9);
	ck_assert(isfinite(deviation) && deviation > 0);
	free(r);
}
END_TEST

START_TEST(the_gain_is_that_of_a_normal_value)
{
	/* At the best itself a standard deviation times 1 / sqrt(2 pi); far below, the distance; far above, nothing. */
	ck_assert_double_eq_tol(residual_gain(5, 5, 2), 2 * 0.3989422804, 1e-9);
	ck_assert_double_eq_tol(residual_gain(5, 1, 0.1), 4, 1e-9);
	ck_assert_double_eq_tol(residual_gain(5, 9, 0.1), 0, 1e-9);
	double sum = 0;
	for (int i = -8000; i < 0; i++) /* by the definition: the integral of (best - x) over x below the best */
		sum += 0.001 * -(i + 0.5) * 0.001 * exp(-0.5 * (i * 0.001 - 0.7) * (i * 0.001 - 0.7)) / sqrt(2 * acos(-1));
	ck_assert_double_eq_tol(residual_gain(0, 0.7, 1), sum, 1e-3);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sim.residual");
	TCase *tcase = tcase_create("guesses");
	tcase_add_test(tcase, a_point_that_is_known_is_guessed_nearly_exactly_and_one_far_off_as_the_mean);
	tcase_add_test(tcase, a_neighbour_is_guessed_between_what_is_known_and_the_mean);
	tcase_add_test(tcase, choices_lie_no_more_than_a_step_apart);
	tcase_add_test(tcase, as_many_equal_points_as_there_is_room_for_are_learned);
	tcase_add_test(tcase, the_gain_is_that_of_a_normal_value);
	suite_add_tcase(suite, tcase);
	return npu_suite_run(suite);
}
