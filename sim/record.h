/* SPDX-License-Identifier: Apache-2.0 */
/* The probe's listener: sums for the report while the machine runs and, where asked for, every event for timelines. Both
 * come from the same events; nothing here knows what a figure is called. */
#ifndef NPU_SIM_RECORD_H
#define NPU_SIM_RECORD_H

#include "isa/program.h"
#include "models/probe.h"
#include "sim/record_live.h"
#include "sim/record_overlap.h"

typedef uint64_t record_states[NPU_ENGINES][NPU_STATES];

/* What is kept of a span: spans of an engine join, so a beginning is the end of the one before it. */
struct record_span {
	uint64_t to;
	uint32_t insn; /* or PROBE_NOBODY */
	uint32_t state;
};

struct record_spans {
	struct record_span *items;
	uint64_t count, capacity;
};

struct record_transfers {
	struct probe_transfer *items;
	uint64_t count, capacity;
};

struct record_requests {
	struct probe_request *items;
	uint64_t count, capacity;
};

struct record {
	const struct npu_program *program;
	bool keep; /* the events too, not only the sums */
	bool keep_requests; /* to DRAM; set between record_init() and record_probe() */

	/* Sums. Cycles; a region's row is its number, the last row is for what belongs to none. */
	record_states states;
	record_states *regions; /* [program->nregions + 1] */
	uint64_t sequencer[NPU_SEQ_STATES];
	uint64_t insns[NPU_ENGINES];
	struct overlap overlap;
	struct live *live;

	/* Events, with `keep`. */
	struct probe_insn *events;       /* [program->ninsns], by instruction */
	struct record_spans spans[NPU_ENGINES];
	struct record_spans sequencer_spans; /* states are enum npu_seq_state */
	struct record_transfers transfers; /* back-to-back ones of a channel and direction are one */
	uint64_t *last_transfer;         /* [channels]: the latest one of each channel, for joining */
	uint32_t channels;

	struct record_requests requests; /* with `keep_requests`, as they were sent */

	/* How far each stream has been told. */
	uint64_t upto[NPU_ENGINES];
	uint64_t sequencer_upto;
	uint64_t last_end[NPU_ENGINES];
	uint64_t planned[NPU_ENGINES]; /* instructions that the program holds */
	bool done[NPU_ENGINES];
	bool no_memory;
	char fault[160]; /* the first event that broke the probe's contract; "" none */
};

/* `channels` of DRAM. The program must live as long. False when out of memory; the record is then empty. */
bool record_init(struct record *, const struct npu_program *, uint32_t channels, bool keep);
void record_fini(struct record *);
/* The listener to pass to the machine; it refers to the record. */
struct probe record_probe(struct record *);
/* After the last event of a run of `cycles`. False when memory ran out on the way or the events contradict each other;
 * then the sums are worth nothing. */
bool record_finish(struct record *, uint64_t cycles, struct npu_error *err);

#endif
