/* SPDX-License-Identifier: Apache-2.0 */
/* A port of the memory: the beat under way, what is told of it, the queue of a DMA port. Private to models/memory*.c. */
#ifndef NPU_MODELS_MEMORY_PORT_H
#define NPU_MODELS_MEMORY_PORT_H

#include "models/memory_bank.h"

enum { PORTS = NPU_ENGINES, DMA_CHANNELS_MAX = 64, NO_BURST = -1 };

struct burst {
	uint64_t at;
	uint64_t order;
	uint64_t mask;  /* groups or accumulator banks */
	uint32_t tag;
	uint32_t beats;
	uint32_t left;  /* beats that have not crossed */
	uint32_t words;
	uint32_t first;     /* SRAM: first word; accumulators: first byte */
	struct place place; /* SRAM: a word, the next one if no beat has passed freely */
	int32_t next;
	bool accum;
	bool write;
};

struct port {
	enum npu_engine engine;
	struct memory_listener listener;
	struct memory_reach reach; /* DMA: of all bursts pushed since the queue was last empty */
	uint64_t bytes[2];         /* SRAM, accumulators */

	/* The beat under way has been denied at least once. */
	bool under_way;
	struct bank_need need;

	/* Told up to here: state NPU_STATES is nothing. */
	enum npu_state state;
	uint64_t from;
	uint64_t to;

	uint64_t passed; /* beats; of DMA ports those that met somebody */
	struct ahead ahead;

	/* Streams. */
	const struct memory_stream *stream;
	uint64_t end;
	bool segment_known;
	uint64_t quiet_until; /* as of the last look ahead: no beat before asks for anything that may be denied */
	bool walkers_placed; /* the walkers of hot_walks stand behind the beats ahead */
	bool meets_itself;   /* in this part, one beat may ask twice for one bank */
	uint32_t hot_walks;  /* bit mask: walks that may be denied */
	struct memory_reach segment_reach;
	struct memory_segment segment;
	struct memory_reach walk_reach[MEMORY_WALKS];
	struct walker walker[MEMORY_WALKS];

	/* DMA; channels is 0 for streams. */
	unsigned channels;
	unsigned last;    /* channel whose beat crossed last */
	unsigned current; /* channel of the beat under way */
	uint64_t queued;  /* bit mask: channels with bursts */
	uint64_t ready;   /* bit mask as of the last cut: the first burst may cross */
	struct memory_reach part_reach; /* what those touch */
	struct divider beat_bytes;
	struct burst *pool;
	int32_t pool_size;
	int32_t unused;
	int32_t head[DMA_CHANNELS_MAX];
	int32_t tail[DMA_CHANNELS_MAX];
};

/* Notes that the port was in `state` in [from, to); told merged. */
void port_flush(struct port *);
static inline void port_tell(struct port *p, enum npu_state state, uint64_t from, uint64_t to)
{
	if (p->state == state && p->to == from) {
		p->to = to;
		return;
	}
	port_flush(p);
	p->state = state;
	p->from = from;
	p->to = to;
}

/* The beat under way passed in cycle t. */
void port_dma_passed(struct port *, uint64_t t);
static inline void port_passed(struct port *p, uint64_t t)
{
	if (p->channels)
		port_dma_passed(p, t);
	else
		p->passed++;
}

bool port_dma_init(struct port *, uint64_t channels, uint64_t beat_bytes, uint64_t bursts);
void port_dma_fini(struct port *);
void port_dma_push(const struct bank_map *, struct port *, const struct memory_burst *);
/* Cycles [from, to) in which nothing is denied. */
void port_dma_pass(struct port *, uint64_t from, uint64_t to);
/* Sets `ready` and `part_reach` for `t`; returns the earliest cycle at which they can change. */
uint64_t port_dma_cut(struct port *, uint64_t t);
/* What the next ahead->n beats that have not begun ask for, among channels that were ready at the last cut; fewer where a
 * burst ends or a beat is too deep. */
void port_dma_ahead(const struct bank_map *, struct port *);
/* The next beat begins: chooses its channel. */
void port_dma_begin_beat(struct port *);
/* What the beat that begins asks of `words` (a bit mask), where it is too deep for the beats ahead. */
void port_dma_begin_deep_beat(const struct bank_map *, struct port *, unsigned words);
/* `n` beats crossed, the last one in the cycle before `end`; told already. */
void port_dma_passed_many(struct port *, uint32_t n, uint64_t end);
/* Earliest end of a burst from `t` on. */
uint64_t port_dma_next(const struct port *, uint64_t t);
/* Earliest end of all bursts of a channel from `t` on. */
uint64_t port_dma_channel_end(const struct port *, unsigned channel, uint64_t t);

/* Cycles [from, to) of a port that meets nobody. */
static inline void port_pass_freely(struct port *p, uint64_t from, uint64_t to)
{
	if (p->queued)
		port_dma_pass(p, from, to);
	else if (!p->channels && p->passed < p->end)
		p->passed += to - from < p->end - p->passed ? to - from : p->end - p->passed;
}

/* Cycles [from, to) of `n` ports, in ascending order, that may meet in bank words `words` (a bit mask). No stream's segment
 * ends, no burst ends and no channel becomes ready before `to` even if nothing is denied. turn[w][p]: banks of word w where
 * port p won the last contest. memory_serve.c. */
void serve_ports(const struct bank_map *, uint64_t turn[BANK_WORDS][PORTS], unsigned words, struct port *const *ports,
		 unsigned n, uint64_t from, uint64_t to);

#endif
