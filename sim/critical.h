/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path of a run: what each cycle of it was spent on, seen from its end backwards.
 *
 * From the end of the last instruction the path goes back to that instruction's start, from there to what came last of all
 * that had to come before it (a post that a wait took, the instruction before it in its queue or in its slot, its issue by
 * the sequencer), and on from the end, or the hand-off, of that. So the path is a chain of half-open segments from 0 to
 * `cycles` without gap or overlap: the lengths add up by construction. It is one longest chain of many; what is made
 * shorter on it shortens the run until another chain is as long. */
#ifndef NPU_SIM_CRITICAL_H
#define NPU_SIM_CRITICAL_H

#include "sim/simulate_parts.h"

/* What a segment was spent on. */
enum critical_kind {
#define CRITICAL(NAME, text, doc) CRITICAL_##NAME,
#include "sim/critical.def"
	CRITICAL_KINDS
};
const char *critical_kind_name(enum critical_kind);
const char *critical_kind_doc(enum critical_kind);

struct critical_segment {
	uint64_t from, to;
	uint32_t insn; /* in service, waiting for the post, or issued; PROBE_NOBODY at the beginning */
	enum critical_kind kind;
};

/* All segments of service of one source line, or of one instruction that has none. */
struct critical_site {
	uint32_t insn; /* the first of them */
	uint64_t segments, cycles;
};

struct critical {
	struct critical_segment *segments; /* in the order of time; none is empty */
	uint64_t nsegments, room;
	uint64_t kinds[CRITICAL_KINDS]; /* cycles; their sum is the run's */
	record_states service;          /* of CRITICAL_SERVICE by the engine's state; their sum is kinds[CRITICAL_SERVICE] */
	struct critical_site *sites;    /* most cycles first */
	uint32_t nsites;
};

/* The simulation was recorded (want_record). False when out of memory, or when the record contradicts itself; the path is
 * then empty. */
bool critical_init(struct critical *, const struct simulation *, struct npu_error *);
void critical_fini(struct critical *);

#endif
