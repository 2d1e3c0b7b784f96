/* SPDX-License-Identifier: Apache-2.0 */
/* Running points: processes that take one after the other, each run in a child of its own. A process that is killed is
 * replaced; the point that it was at is run again, and fails when that happens twice. */
#ifndef NPU_SIM_SWEEP_RUN_H
#define NPU_SIM_SWEEP_RUN_H

#include "sim/sweep/store.h"

#include <stdio.h>

/* What has become of the points of a run so far. */
struct sweep_counts {
	uint64_t run, not_legal, failed;
};

struct sweep_job {
	const struct sweep_spec *spec;
	struct sweep_store *store;    /* NULL: nothing is kept */
	struct known *known;          /* what points that are alike share; NULL: each is simulated */
	const struct sweep_set *done; /* these are left out; NULL: none */
	const uint64_t *list;         /* points; NULL: those of the plan, in its order */
	uint64_t from, count;         /* numbers in the list or the order */
	unsigned parallel;
	FILE *progress;       /* NULL: nobody is told */
	bool terminal;        /* a line that is written over */
	double seconds;       /* it is broken off after that long; 0: it is not */
	uint64_t all, before; /* for progress: points of the whole, and done before this */
};

/* Runs them. False with an error when results cannot be kept; *stopped: a person wanted that. What is done is kept
 * then, too. */
bool sweep_run(const struct sweep_job *, struct sweep_counts *, double *seconds, bool *stopped, struct npu_error *err);
/* As many processes as processors that this one may use. */
unsigned sweep_processors(void);

#endif
