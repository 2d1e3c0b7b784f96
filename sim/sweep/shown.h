/* SPDX-License-Identifier: Apache-2.0 */
/* Figures as a person reads them: which a sweep shows, how they are written, and what is best by them. */
#ifndef NPU_SIM_SWEEP_SHOWN_H
#define NPU_SIM_SWEEP_SHOWN_H

#include "sim/sweep/rows.h"

/* Figures that a sweep shows: those of `report`, or the usual ones; the first one is what is made best. Into names[].
 */
unsigned sweep_shown(const struct sweep_space *, const char *names[SWEEP_ROW_FIGURES]);
/* What a table calls a figure. */
const char *sweep_figure_title(const char *name);
/* "12.5 %", "208 KiB", "732,711" of a figure. */
const char *sweep_figure_text(const char *name, double value, char *out, unsigned size);
/* The same of a row, words as they are. */
const char *sweep_rows_text(const struct sweep_rows *, const struct sweep_row *, unsigned figure, char *out,
			    unsigned size);
/* How much better b is than a, as a share of a: above 0 is better, infinite where a is 0 and b is not. */
double sweep_gain(const char *name, double a, double b);

/* The best run point that `fits`, by figure `figure` of the rows; NULL: none. Of equal ones the one of the lowest
 * number. */
typedef bool sweep_fits(void *context, const struct sweep_row *);
const struct sweep_row *sweep_best(const struct sweep_rows *, unsigned figure, sweep_fits *, void *context);
/* The index on a hardware axis at which the machine of the plan stands; where it stands at none, and of other axes, that
 * of the best point. */
uint32_t sweep_home(const struct sweep_rows *, unsigned axis);

#endif
