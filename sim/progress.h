/* SPDX-License-Identifier: Apache-2.0 */
/* A line on a terminal while a long run goes on: cycles so far, instructions done of all. It listens at the probe, in front of
 * the record. */
#ifndef NPU_SIM_PROGRESS_H
#define NPU_SIM_PROGRESS_H

#include "models/probe.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

struct progress {
	FILE *to;
	const struct probe *inner;
	uint32_t done, all; /* instructions */
	uint64_t cycles;    /* when the last of them ended */
	double after, every; /* seconds: until the first line, between lines */
	struct timespec begun;
	double next;
	bool shown;
};

/* From now on. `inner` must outlive the probe that progress_probe() gives. */
void progress_begin(struct progress *, FILE *to, const struct probe *inner, uint32_t instructions, double after, double every);
/* What to give to the machine instead of `inner`, to which all is told as well. */
struct probe progress_probe(struct progress *);
/* Clears the line, if there is one. */
void progress_end(struct progress *);

#endif
