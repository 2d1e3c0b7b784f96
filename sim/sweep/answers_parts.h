/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of answers share. */
#ifndef NPU_SIM_SWEEP_ANSWERS_PARTS_H
#define NPU_SIM_SWEEP_ANSWERS_PARTS_H

#include "sim/sweep/answers.h"
#include "sim/sweep/shown.h"

/* Where the answers go, and where the records are that tell causes. */
struct answers {
	const struct sweep_rows *rows;
	const char *path; /* the folder */
	FILE *out;
	bool color;
	struct npu_error *err;
};

/* Axes that stand still. */
struct fixed {
	const struct sweep_space *s;
	int index[SWEEP_AXES]; /* -1: any */
};
/* Whether a row is where they stand; a sweep_fits of struct fixed. */
bool answers_is_fixed(void *fixed, const struct sweep_row *);
/* Whether the values of an axis are numbers. */
bool answers_is_ordered(const struct sweep_axis *);
/* "fastest", or what else is made best. */
void answers_put_goal(const struct answers *);

/* The best point for each value of an axis, the others as fixed, and what is to be said of the axis; `whole`:
 * everything else was tried there, so that values can be compared. *told becomes true where there is something. False
 * with an error. */
bool answers_along(const struct answers *, unsigned axis, const struct fixed *, bool whole, bool *told);
/* What is to be said of an axis around the best point. */
bool answers_around(const struct answers *, unsigned axis, const struct sweep_row *best);

#endif
