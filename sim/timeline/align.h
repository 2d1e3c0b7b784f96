/* SPDX-License-Identifier: Apache-2.0 */
/* Two runs on one axis of time, aligned by region: regions of one path, the first of that path with the first and so on, begin
 * together. Of those whose order differs between the runs as many as can are kept together.
 *
 * Between two such beginnings each run's time is as it was; who gets there first stands still until the other does, and such
 * a gap belongs to nobody: lengths and sums of a run do not change. */
#ifndef NPU_SIM_TIMELINE_ALIGN_H
#define NPU_SIM_TIMELINE_ALIGN_H

#include "sim/timeline/lanes.h"

enum { ALIGN_RUNS = 2, ALIGN_RATES = 4 };

/* From here on time `at` of each run is shown at `shown`. */
struct align_mark {
	uint64_t at[ALIGN_RUNS];
	uint64_t shown;
};

/* A region of both. Numbers of the programs; lanes of timeline_walk(); cycles of the runs. */
struct align_pair {
	uint32_t region[ALIGN_RUNS], lane[ALIGN_RUNS];
	uint64_t from[ALIGN_RUNS], to[ALIGN_RUNS];
	bool together; /* they begin at a mark */
};

struct align {
	struct align_mark *marks; /* the first is at 0 of both; all rise in both runs */
	uint64_t nmarks;
	struct align_pair *pairs; /* in the order of the first run's beginnings, outer ones before inner ones */
	uint64_t npairs;
	uint32_t *pair_of[ALIGN_RUNS]; /* [nregions] of each program: the region's pair, UINT32_MAX: none */
};

/* Both were recorded. False when out of memory. */
bool align_init(struct align *, const struct simulation *const runs[ALIGN_RUNS]);
void align_fini(struct align *);
/* The mark that a time of a run lies behind. */
uint64_t align_mark_of(const struct align *, unsigned run, uint64_t time);

/* A writer that shows one of the runs on the common axis: slices are cut where the run stands still, and rates (GB/s) are 0
 * there. */
struct align_writer {
	struct timeline_writer out;
	const struct align *align;
	unsigned run;
	uint32_t rates[ALIGN_RATES], nrates; /* lanes of rates */
	uint64_t latest; /* the latest value of a curve of rates, and when it began */
	double value;
};
struct timeline_writer align_writer(struct align_writer *, const struct align *, unsigned run,
				    const struct timeline_writer *out);

#endif
