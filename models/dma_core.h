/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a DMA engine, shared by dma.c (what moves) and dma_account.c (what each cycle is put down to). */
#ifndef NPU_MODELS_DMA_CORE_H
#define NPU_MODELS_DMA_CORE_H

#include "models/dma.h"
#include "models/dma_interlock.h"
#include "models/dma_walk.h"
#include "models/machine_ring.h"

enum { DMA_NO_BURST = 0xffffffff };

/* A burst in flight; its number is its tag at the memory and at the crossing, and free again when it has ended. */
struct dma_flight {
	uint64_t order;     /* running number of issue */
	uint64_t issued;    /* it may lie ahead of now */
	uint64_t answer;    /* load: data at the port; store: accepted; NPU_NEVER: not known */
	uint64_t addr;
	uint32_t bytes;
	uint32_t next;      /* younger burst of its channel, or next free number */
	uint32_t runs_left; /* local runs that have not crossed the port */
	uint32_t nruns;
	uint32_t entry;     /* first table entry that it reads */
	uint16_t channel;
	bool table;         /* reads a block table */
	bool sent;          /* the request has left for the DRAM */
};

/* An instruction in service. */
struct dma_channel {
	uint32_t insn;
	uint64_t start;
	struct dma_walk walk;
	uint64_t ready;          /* its next burst may be issued from then on; NPU_NEVER: waits for the table, or none left */
	uint64_t last_issue;
	uint32_t oldest, youngest; /* bursts in flight, DMA_NO_BURST */
	uint32_t away;           /* bursts of which no answer is known */
	uint64_t last_answer;
	uint64_t dram_end;       /* load that is not paged: behind the last byte that it reads */
	struct dma_hull hull;    /* what it writes, once asked for */
	bool has_hull;
	uint32_t table;          /* block table */
	uint32_t entry, entries_end; /* entries to be read */
	bool busy;
};

/* Beats that crossed the port, or were denied, and are not yet put down. */
struct dma_beats {
	enum npu_state state;
	uint64_t from, to;
};

/* A burst whose last beat has crossed. */
struct dma_crossed {
	uint32_t tag;
	uint64_t at;
};

struct dma {
	enum npu_engine id;
	enum crossing_port port;
	bool store;
	const struct hw *hw;
	const struct npu_program *program;
	struct memory *memory;
	struct crossing *crossing;
	struct body_listener listener;
	struct machine_wake wake;

	unsigned nchannels, in_service;
	unsigned paged;               /* of those in service */
	struct dma_channel *channel;
	uint32_t *age;                /* channels in service, oldest first */
	uint64_t dram_begin, dram_end; /* load: the bytes of DRAM that those in service read lie in there */
	unsigned turn;                /* round robin: channel that is asked first for the next burst */
	uint64_t next_issue;          /* one burst a cycle */
	uint64_t soonest;             /* the least `ready` of channels in service, NPU_NEVER */

	struct dma_flight *flight;    /* dma.outstanding of them */
	uint32_t free;                /* first free number, DMA_NO_BURST: all slots are in use */
	uint64_t order;               /* of the next burst */
	struct dma_run *runs;         /* max_runs a flight */
	uint32_t max_runs;
	uint32_t at_memory;           /* runs at the on-chip port */

	struct dma_answer {
		uint64_t at;
		uint64_t order;
		uint32_t tag;
	} *answers;                   /* known and not yet come, latest first */
	uint32_t nanswers;

	uint64_t time;                /* what happened before is taken */
	bool brought_up;              /* just now, so time may be behind the machine's */
	uint64_t next_request;        /* no request of an instruction in service leaves before, as of `time` */

	struct ring crossed;          /* struct dma_crossed */
	uint64_t next_crossed;        /* `at` of the first of them, NPU_NEVER */
	struct ring beats;            /* struct dma_beats */
	uint64_t settled;             /* all before is put down */
	uint64_t table_bytes;

	uint32_t asked;               /* instruction whose conflicts are known, */
	uint32_t blocker;             /* the one in service that it must follow, or PROBE_NOBODY */
	struct dma_hull hull;         /* what it writes, if has_hull */
	bool has_hull;
};

/* Puts down every cycle before `until` in which an instruction was in service. */
void dma_put_down(struct dma *, uint64_t until, uint64_t now);
/* The same before anything changes that a cause could hang on; a run of beats needs none and is put down when it is over. */
static inline void dma_settle(struct dma *d, uint64_t until, uint64_t now)
{
	if (!d->listener.span || d->settled >= until)
		return;
	const struct dma_beats *beats = ring_count(&d->beats) ? ring_at(&d->beats, 0) : NULL;
	if (!beats || beats->from > d->settled || beats->to < until)
		dma_put_down(d, until, now);
}

#endif
