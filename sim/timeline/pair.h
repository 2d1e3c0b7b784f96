/* SPDX-License-Identifier: Apache-2.0 */
/* Two runs in one timeline, one above the other, aligned by region (sim/timeline/align.h). */
#ifndef NPU_SIM_TIMELINE_PAIR_H
#define NPU_SIM_TIMELINE_PAIR_H

#include "sim/timeline/align.h"

#include <jansson.h>

/* Both were recorded. Everything stays the caller's. */
struct timeline_pair {
	const struct simulation *runs[ALIGN_RUNS];
	const char *names[ALIGN_RUNS];     /* of the reports, for people; fit to be shown */
	const json_t *reports[ALIGN_RUNS]; /* for the page's tables */
	const struct align *align;
};

/* Whether a timeline of two can be written under that name: the extension says .html, .pftrace or .pftrace.gz. */
bool timeline_pair_check(const char *path, struct npu_error *);
/* Replaces `path` atomically (sim/output.h). */
bool timeline_pair_write(const struct timeline_pair *, const char *path, struct npu_error *);

#endif
