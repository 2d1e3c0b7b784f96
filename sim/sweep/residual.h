/* SPDX-License-Identifier: Apache-2.0 */
/* How far off an estimate is, learned from what was simulated: a Gaussian process over log(cycles / estimate). Of two points of a grid it
 * is the likelier the same the fewer steps they lie apart and the nearer their estimates are. */
#ifndef NPU_SIM_SWEEP_RESIDUAL_H
#define NPU_SIM_SWEEP_RESIDUAL_H

enum { RESIDUAL_AXES = 6, RESIDUAL_MOST = 72 };

/* A point of the grid. Steps along an axis are differences of its coordinate. */
struct residual_point {
	double at[RESIDUAL_AXES];
	double log_estimate;
};

struct residual {
	unsigned n, axes;
	unsigned choices; /* bit i: of axis i no two coordinates lie more than a step apart */
	struct residual_point point[RESIDUAL_MOST];
	double value[RESIDUAL_MOST]; /* log(cycles / estimate) of each */
	/* Of residual_fit(): the Cholesky factor of the correlations, what is left of the values behind it, and of all points. */
	double factor[RESIDUAL_MOST][RESIDUAL_MOST], left[RESIDUAL_MOST], mean, variance;
};

/* Learns a point; no more than RESIDUAL_MOST. */
void residual_add(struct residual *, const struct residual_point *, double value);
/* Once after some were added, one at least. */
void residual_fit(struct residual *);
/* The value of a point that may be none of those, and its standard deviation, above 0. */
void residual_guess(const struct residual *, const struct residual_point *, double *value, double *deviation);
/* By how much a normal value of this mean and deviation is expected to lie below `best` where it does (Jones, Schonlau and Welch,
 * Journal of Global Optimization 1998). */
double residual_gain(double best, double mean, double deviation);

#endif
