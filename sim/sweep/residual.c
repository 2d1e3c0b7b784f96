/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sweep/residual.h"

#include <math.h>

/* Correlations fall to 1 / e within half a step, or where estimates lie 1.7 % apart: banks, which an estimate knows least of, depend on
 * little else so much as on sizes. A twentieth of the variance is of a point alone. */
static const double STEP = 0.5, ESTIMATE = 0.0167, ALONE = 0.05;
/* An estimate is off by 4 % or so: what three points say before any is known. */
static const double USUAL = 0.04, WEIGHT = 3;

static double correlation(const struct residual *r, const struct residual_point *a, const struct residual_point *b)
{
	double distance = fabs(a->log_estimate - b->log_estimate) / ESTIMATE;
	for (unsigned i = 0; i < r->axes; i++) {
		double steps = fabs(a->at[i] - b->at[i]);
		distance += (r->choices >> i & 1 ? fmin(1, steps) : steps) / STEP;
	}
	return exp(-distance);
}

void residual_add(struct residual *r, const struct residual_point *point, double value)
{
	r->point[r->n] = *point;
	r->value[r->n++] = value;
}

/* What row i of the factor leaves of a value. */
static double behind(const struct residual *r, unsigned i, double value, const double *before)
{
	for (unsigned k = 0; k < i; k++)
		value -= r->factor[i][k] * before[k];
	return value / r->factor[i][i];
}

void residual_fit(struct residual *r)
{
	double one[RESIDUAL_MOST], value[RESIDUAL_MOST], ones = 0, values = 0, squares = 0;
	for (unsigned i = 0; i < r->n; i++) {
		for (unsigned j = 0; j < i; j++)
			r->factor[i][j] = behind(r, j, correlation(r, &r->point[i], &r->point[j]), r->factor[i]);
		double rest = 1 + ALONE;
		for (unsigned k = 0; k < i; k++)
			rest -= r->factor[i][k] * r->factor[i][k];
		r->factor[i][i] = sqrt(fmax(rest, ALONE / 2)); /* exactly it is ALONE at least */
		one[i] = behind(r, i, 1, one);
		value[i] = behind(r, i, r->value[i], value);
		ones += one[i] * one[i];
		values += one[i] * value[i];
	}
	r->mean = values / ones;
	for (unsigned i = 0; i < r->n; i++) {
		r->left[i] = value[i] - r->mean * one[i];
		squares += r->left[i] * r->left[i];
	}
	r->variance = (WEIGHT * USUAL * USUAL + squares) / (WEIGHT + r->n - 1);
}

void residual_guess(const struct residual *r, const struct residual_point *point, double *value, double *deviation)
{
	double row[RESIDUAL_MOST], rest = 1;
	*value = r->mean;
	for (unsigned i = 0; i < r->n; i++) {
		row[i] = behind(r, i, correlation(r, point, &r->point[i]), row);
		*value += row[i] * r->left[i];
		rest -= row[i] * row[i];
	}
	*deviation = sqrt(r->variance * fmax(rest, 1e-9));
}

double residual_gain(double best, double mean, double deviation)
{
	double z = (best - mean) / deviation, pi = acos(-1);
	return deviation * (z * 0.5 * erfc(-z / sqrt(2)) + exp(-z * z / 2) / sqrt(2 * pi));
}
