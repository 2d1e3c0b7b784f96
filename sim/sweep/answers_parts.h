/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of answers share. */
#ifndef NPU_SIM_SWEEP_ANSWERS_PARTS_H
#define NPU_SIM_SWEEP_ANSWERS_PARTS_H

#include "sim/sweep/answers.h"
#include "sim/sweep/order.h"
#include "sim/sweep/shown.h"

/* Where the answers go, and where the records are that tell causes. */
struct answers {
	const struct sweep_rows *rows;
	struct sweep_order order[SWEEP_AXES]; /* of the axes */
	const char *path;                     /* the folder */
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
/* "fastest", or what else is made best. */
void answers_put_goal(const struct answers *);

/* The best point for each value of an axis, the others as fixed, and what is to be said of the axis; `whole`:
 * everything else was tried there, so that values can be compared. *told becomes true where there is something. False
 * with an error. */
bool answers_along(const struct answers *, unsigned axis, const struct fixed *, bool whole, bool *told);
/* What is to be said of an axis around a point, which is called `where`: "the best point". */
bool answers_around(const struct answers *, unsigned axis, const struct sweep_row *best, const char *where);

/* What made b better or worse than a (records) by the goal, into `out`: for time, the state of an engine that changed
 * most the way the cycles did, `idle` left out, or cycles against the clock; for energy, its part that changed most;
 * for a figure that is reckoned from others, these; "" where nothing more is known. */
const char *answers_cause(const char *goal, const json_t *a, const json_t *b, char *out, unsigned size);
/* Why other values of an axis leave the goal as it is in this record, "" likewise. */
const char *answers_flat_cause(const char *goal, const struct sweep_axis *, const json_t *record, char *out,
			       unsigned size);

#endif
