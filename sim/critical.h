/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path of a run: what each cycle of it was spent on, seen from its end backwards.
 *
 * From the end of the last instruction the path goes back through its service to what held it there, or to its start and
 * what came last of all that had to come before that:
 *
 *   post      it started `sync_latency` after the end of the one whose post it waited for
 *   dispatch  it started when it was issued: back over the issues to the start that made room in a full queue
 *   engine    it started when its engine could take it, in the same cycle: the path goes on in the one that the engine was
 *             still at (an array that streams), or in the one that just ended (a channel)
 *
 * Instructions of one engine overlap, so one may be held while in service too: a product by the stream or the results of the
 * one before, a transfer by the one before that moved data through the same port, or that had to end first. There the path
 * goes on in that one.
 *
 * So the path is a chain of half-open segments from 0 to `cycles` without gap or overlap: the lengths add up by construction.
 * It is one longest chain of many; what is made shorter on it shortens the run until another chain is as long: an engine
 * wins at most its share, and nothing where it has none (but for what banks and DRAM make of other arrivals). */
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

/* What an instruction waited for last before it could do its work. */
enum critical_enabler {
#define ENABLED(NAME, text, doc) ENABLED_##NAME,
#include "sim/critical.def"
};
const char *critical_enabler_name(enum critical_enabler);

struct critical_enabled {
	enum critical_enabler by;
	uint32_t insn; /* PROBE_NOBODY: the sequencer */
};

struct critical_segment {
	uint64_t from, to;
	uint32_t insn; /* in service, waiting for the post, or issued; PROBE_NOBODY at the beginning */
	enum critical_kind kind;
};

/* All segments of service of one instruction; of one source line, or of one instruction that has none. */
struct critical_site {
	uint32_t insn; /* the first of them on the path */
	uint64_t segments, cycles;
};

struct critical {
	struct critical_segment *segments; /* in the order of time; none is empty */
	uint64_t nsegments, room;
	uint64_t kinds[CRITICAL_KINDS]; /* cycles; their sum is the run's */
	record_states service;          /* of CRITICAL_SERVICE by the engine's state; their sum is kinds[CRITICAL_SERVICE] */
	struct critical_site *sites;    /* source lines, most cycles first */
	struct critical_site *insns;    /* instructions, likewise */
	uint32_t nsites, ninsns;        /* that are on the path */
	struct critical_enabled *enabled; /* [program->ninsns] all of them, on the path or not */
};

/* The simulation was recorded (want_record). False when out of memory, or when the record contradicts itself; the path is
 * then empty. */
bool critical_init(struct critical *, const struct simulation *, struct npu_error *);
void critical_fini(struct critical *);

#endif
