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
	struct place place; /* SRAM: of a word, the next one if no beat has passed freely */
	int32_t next;
	bool accum;
	bool write;
	bool self;        /* one beat may ask twice for one bank */
	uint32_t regular; /* SRAM of one bank word: so many words a beat, all different banks; 0: it is not so */
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

	bool meets_itself;                    /* in this part, one beat may ask twice for one bank */

	/* Streams. */
	uint64_t passed; /* beats */
	struct ahead ahead;
	const struct memory_stream *stream;
	uint64_t end;
	bool segment_known;
	uint64_t quiet_until; /* as of the last look ahead: no beat before asks for anything that may be denied */
	bool walkers_placed; /* the walkers of hot_walks stand behind the beats ahead */
	uint32_t hot_walks;  /* bit mask: walks that may be denied */
	struct memory_reach segment_reach;
	struct memory_segment segment;
	struct memory_reach walk_reach[MEMORY_WALKS];
	struct walker walker[MEMORY_WALKS];

	/* DMA; channels is 0 for streams. */
	unsigned channels;
	unsigned last;        /* channel whose beat crossed last */
	unsigned current;     /* channel of the beat under way, */
	bool crosses;         /* if there is one */
	uint64_t queued;      /* bit mask: channels with bursts */
	uint64_t ready;       /* bit mask, before ready_until: the first burst may cross */
	uint64_t ready_until;
	struct memory_reach part_reach; /* what bursts of this part touch */
	bool part_plain;                /* which is groups of the SRAM alone, each bank once a beat */
	struct divider beat_bytes;
	/* Words, beats and `regular` of the SRAM burst pushed last: most are alike. */
	uint32_t like_words, like_beats, like_regular;
	struct burst *pool;
	int32_t pool_size;
	int32_t unused;
	int32_t head[DMA_CHANNELS_MAX];
	int32_t tail[DMA_CHANNELS_MAX];
};

/* Tells what is noted. */
static inline void port_flush(struct port *p)
{
	if (p->state != NPU_STATES && p->listener.span)
		p->listener.span(p->listener.ctx, p->engine, p->state, p->from, p->to);
	p->state = NPU_STATES;
}
/* Notes that the port was in `state` in [from, to); told merged. */
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

bool port_dma_init(struct port *, uint64_t channels, uint64_t beat_bytes, uint64_t bursts);
void port_dma_fini(struct port *);
/* Returns the beats of it. */
uint32_t port_dma_push(const struct bank_map *, struct port *, const struct memory_burst *);
/* Cycles [from, to) in which nothing is denied. */
void port_dma_pass(struct port *, uint64_t from, uint64_t to);
/* Sets `part_reach` to what bursts that may cross before `to` touch; false: there are none. */
bool port_dma_reach(struct port *, uint64_t to);
/* Works out which channels are ready at `t`. */
void port_dma_look(struct port *, uint64_t t);
static inline bool port_dma_ready(struct port *p, uint64_t t)
{
	if (t >= p->ready_until)
		port_dma_look(p, t);
	return p->ready != 0;
}
/* Bit mask: the first one of `channels` (not none) behind the channel whose beat crossed last. */
static inline unsigned port_dma_turn(const struct port *p, uint64_t channels)
{
	uint64_t behind = p->last < 63 ? channels & ~UINT64_C(0) << (p->last + 1) : 0;
	return (unsigned)__builtin_ctzll(behind ? behind : channels);
}
/* Whether the next beat asks neighbouring banks of one group, once each. */
static inline bool burst_is_simple(const struct bank_map *map, struct burst *b)
{
	if (!b->regular)
		return false;
	uint32_t word = b->first + (b->beats - b->left) * b->regular;
	if (b->place.word != word)
		b->place = place_of(map, word);
	return b->place.bank + b->regular <= map->group_banks;
}
/* The banks that such a beat asks. */
static inline uint64_t burst_beat(const struct burst *b)
{
	return ((UINT64_C(1) << b->regular) - 1) << (b->place.base + b->place.bank);
}
static inline uint64_t burst_take_beat(const struct bank_map *map, struct burst *b)
{
	uint64_t banks = burst_beat(b);
	place_move(map, &b->place, b->regular, b->regular);
	return banks;
}
/* What a beat that is no simple one asks of `words` (a bit mask), in port->need. */
void port_dma_ask(const struct bank_map *, struct port *, struct burst *, unsigned words);
/* The next beat begins in cycle t, if there is one: chooses its channel and puts what it asks of `words` into port->need,
 * which is empty. */
static inline void port_dma_begin(const struct bank_map *map, struct port *p, uint64_t t, unsigned words)
{
	p->crosses = port_dma_ready(p, t);
	if (!p->crosses)
		return;
	p->current = port_dma_turn(p, p->ready);
	struct burst *b = &p->pool[p->head[p->current]];
	if (!burst_is_simple(map, b))
		port_dma_ask(map, p, b, words);
	else if (words & 1u << BANK_SRAM)
		p->need.ask[BANK_SRAM].layer[0] = burst_take_beat(map, b);
}
void port_dma_pop(struct port *, unsigned channel, uint64_t end);
/* The beat that crosses, if there is one, passes in cycle t. */
static inline void port_dma_passed(struct port *p, uint64_t t)
{
	if (!p->crosses)
		return;
	p->crosses = false;
	port_tell(p, NPU_STATE_BUSY, t, t + 1);
	p->last = p->current;
	if (--p->pool[p->head[p->current]].left == 0)
		port_dma_pop(p, p->current, t + 1);
}
/* Earliest end of a burst from `t` on. */
uint64_t port_dma_next(const struct port *, uint64_t t);
/* Earliest end of all bursts of a channel from `t` on. */
uint64_t port_dma_channel_end(const struct port *, unsigned channel, uint64_t t);

/* Cycles [from, to) of a port that meets nobody. */
static inline void port_pass_freely(struct port *p, uint64_t from, uint64_t to)
{
	if (p->queued) {
		if (p->ready || p->ready_until < to)
			port_dma_pass(p, from, to);
	} else if (p->passed < p->end) {
		p->passed += to - from < p->end - p->passed ? to - from : p->end - p->passed;
	}
}

/* Cycles [from, to) of `n` ports, in ascending order, that may meet in bank words `words` (a bit mask). No stream's segment
 * ends before `to` even if nothing is denied. turn[w][p]: banks of word w where
 * port p won the last contest. memory_serve.c. */
void serve_ports(const struct bank_map *, uint64_t turn[BANK_WORDS][PORTS], unsigned words, struct port *const *ports,
		 unsigned n, uint64_t from, uint64_t to);

#endif
