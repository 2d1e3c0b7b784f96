/* SPDX-License-Identifier: Apache-2.0 */
/* The one door through which the machine tells what happened. It knows no report: sim/record listens. */
#ifndef NPU_MODELS_PROBE_H
#define NPU_MODELS_PROBE_H

#include "isa/insn.h"

enum npu_state {
#define STATE(NAME, text, group, doc) NPU_STATE_##NAME,
#include "models/states.def"
	NPU_STATES
};

enum npu_seq_state {
#define SEQ_STATE(NAME, text, doc) NPU_SEQ_##NAME,
#include "models/states.def"
	NPU_SEQ_STATES
};

enum { PROBE_NOBODY = 0xffffffff };

/* One instruction, told when it has ended. Cycles; intervals are half open. A sync has no service: start == end. */
struct probe_insn {
	uint32_t insn;
	enum npu_engine engine;
	uint32_t slot;          /* DMA channel; 0 otherwise */
	uint64_t issued;        /* put into its queue */
	uint64_t head;          /* became the oldest one in its queue that has not started */
	uint64_t start;         /* waits hold, service begins */
	uint64_t stream_begin;  /* matrix: first operand in; others: start */
	uint64_t stream_end;    /* matrix: last operand in; others: end */
	uint64_t end;           /* ended, posts given */
	uint32_t enabled_by[NPU_SYNC_SLOTS]; /* the instruction whose post each wait took last, or PROBE_NOBODY */
};

/* A span of one engine in one state; spans of an engine come in order, without gaps, from 0 to the end of the run.
 * `insn` decided the state, or PROBE_NOBODY. Adjacent spans may have the same state. */
struct probe_span {
	enum npu_engine engine;
	enum npu_state state;
	uint32_t insn;
	uint64_t from;
	uint64_t to;
};

/* Data on a DRAM channel's bus, in NPU cycles rounded up (an event between two edges counts at the next). */
struct probe_transfer {
	uint32_t channel;
	bool write;
	uint32_t bytes;
	uint64_t from;
	uint64_t to;
};

/* A request as it reaches the DRAM controller, whole: no burst is cut. Told when it is sent: arrivals of a port do not fall,
 * those of different ports may stand in another order. */
struct probe_request {
	uint64_t clk; /* DRAM clock of its arrival */
	uint64_t addr;
	uint32_t bytes;
	uint8_t port; /* load, store, instruction fetch: 0, 1, 2; at one clock the lower one comes first */
	bool write;
};

/* Any function may be NULL: then what it would tell is not even collected. */
struct probe {
	void *ctx;
	void (*insn)(void *ctx, const struct probe_insn *);
	void (*span)(void *ctx, const struct probe_span *);
	void (*sequencer)(void *ctx, enum npu_seq_state, uint64_t from, uint64_t to);
	void (*transfer)(void *ctx, const struct probe_transfer *);
	void (*request)(void *ctx, const struct probe_request *);
};

#endif
