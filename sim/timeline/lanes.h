/* SPDX-License-Identifier: Apache-2.0 */
/* A run, or a window of it, as lanes of slices, whatever the file format: one place decides what a timeline shows, the
 * formats only write it.
 *
 * Lanes come in the order in which they are shown, all before the first slice. The slices of a lane come in the order of
 * time and neither overlap nor nest; none is empty; what takes no time is an instant. */
#ifndef NPU_SIM_TIMELINE_LANES_H
#define NPU_SIM_TIMELINE_LANES_H

#include "sim/simulate_parts.h"

enum timeline_kind {
	TIMELINE_REGIONS,  /* regions of one depth; a region that overlaps another of its depth is in a further lane */
	TIMELINE_WORK,     /* instructions in service: a DMA channel, operands streaming into the array, vector */
	TIMELINE_DRAIN,    /* products whose last operand is in and whose last result is not yet written */
	TIMELINE_INSTANTS, /* instructions that take no time: `sync` */
	TIMELINE_STATES,   /* one slice a run of equal state; the lengths add up to the report */
	TIMELINE_CRITICAL, /* the critical path: a slice a segment, from 0 to the end of the run */
	TIMELINE_COUNTER,
};

struct timeline_lane {
	uint32_t id; /* from 0, in order */
	enum timeline_kind kind;
	enum npu_engine engine; /* whose it is; NPU_ENGINES: nobody's */
	const char *name; /* "load.0", "matrix states", "SRAM live" */
	const char *unit; /* of a counter */
};

/* A post that a wait took: from the end of the poster's last slice to the beginning of the waiter's first. */
struct timeline_flows {
	const uint64_t *out; /* flows that leave at the slice's end */
	uint32_t nout;
	uint64_t in[NPU_SYNC_SLOTS]; /* flows that arrive at its beginning */
	uint32_t nin;
	bool tied; /* one of them left in the very cycle in which it arrives */
};

/* An instant when from == to. */
struct timeline_slice {
	uint32_t lane;
	uint64_t from, to;
	const char *name;
	uint32_t insn;   /* what it shows, or PROBE_NOBODY */
	uint32_t region; /* number of the region that it shows, or PROBE_NOBODY */
	uint32_t state;  /* of a state lane: the row of models/states.def that `name` is of */
	bool details;    /* the one slice of its instruction that carries the instruction's facts */
	struct timeline_flows flows;
};

struct timeline_writer {
	void *ctx;
	bool deciders; /* engines' states part where another instruction decides them, and slices name it */
	bool (*lane)(void *ctx, const struct timeline_lane *);
	bool (*slice)(void *ctx, const struct timeline_slice *);
	/* The value of a counter from `time` on. */
	bool (*counter)(void *ctx, uint32_t lane, uint64_t time, double value);
};

/* Walks a simulation that was recorded. Of a window (request.window) come the slices that lie in it or reach into it, these
 * cut at its edges; arrows whose both ends lie in it; the values of curves in it and, at its beginning, those that hold
 * there. False when memory is short or a function of the writer returns false. */
bool timeline_walk(const struct simulation *, const struct timeline_writer *);

/* The window in cycles of the run, whole when there is none. */
struct timeline_window timeline_window(const struct simulation *);
/* Whether [from, to), or the instant from == to, has a part in it. */
bool timeline_shows(const struct simulation *, uint64_t from, uint64_t to);
/* What a window leaves out. */
struct timeline_dropped {
	uint64_t slices, cut, values, insns; /* cut: shown in part; insns: whose service lies outside */
};
/* Counts by a walk; all 0 without a window. False when memory is short. */
bool timeline_dropped(const struct simulation *, struct timeline_dropped *);

#endif
