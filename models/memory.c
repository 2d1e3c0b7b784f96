/* SPDX-License-Identifier: Apache-2.0 */
/* Ports meet banks. Time is cut where what a port may touch changes: between two cuts ports whose reaches meet nobody
 * advance in closed form, the others cycle by cycle. Words of walks are memory_walk.c, cycles in which ports meet
 * memory_serve.c, the DMA ports' queues memory_dma.c. */
#include "models/memory_port.h"

#include <assert.h>
#include <stdlib.h>

/* Where at least two ports, or one port twice, may ask for one bank. */
struct hot {
	uint64_t sram;
	uint64_t accum_read;
	uint64_t accum_write;
};

struct memory {
	struct bank_map map;
	bool ideal;
	unsigned sram_words; /* bit mask: bank words that the SRAM has */
	uint64_t settled;
	/* Where streams may be denied something, and touch anything, in the segments that they are in: */
	struct hot stream_hot, stream_seen;
	unsigned streams; /* bit mask: of these ports; 0: not known */
	bool meet_known;     /* nothing has begun and nobody has come to rest since `meet` was worked out: */
	bool meet;           /* something can be denied */
	/* turn[w][p]: banks of word w where p won the last contest; each bank is in exactly one. */
	uint64_t turn[BANK_WORDS][PORTS];
	struct port port[PORTS];
};

static bool is_dma(enum npu_engine port) { return port == NPU_ENGINE_LOAD || port == NPU_ENGINE_STORE; }

struct memory *memory_new(const struct hw *hw, bool ideal)
{
	struct memory *m = calloc(1, sizeof *m);
	if (!m)
		return NULL;
	uint64_t accum_word = (hw->matrix.cols > hw->vector.lanes ? hw->matrix.cols : hw->vector.lanes) * 4;
	uint32_t group_banks = (uint32_t)(hw->sram.banks / hw->sram.groups);
	m->map = (struct bank_map){
		.word_shift = (uint32_t)__builtin_ctzll(hw->sram.bank_bytes),
		.group_banks = group_banks,
		.groups = (uint32_t)hw->sram.groups,
		.accum_word = (uint32_t)accum_word,
		.wide = hw->sram.banks > 64,
		.group_words = divider_of((uint32_t)(hw->sram.size / hw->sram.groups / hw->sram.bank_bytes)),
		.banks_of_group = divider_of(group_banks),
		.accum_bank_bytes = divider_of((uint32_t)(hw->accum.size / hw->accum.banks)),
		.accum_words = divider_of((uint32_t)accum_word),
	};
	m->ideal = ideal || hw->sram.ideal;
	m->sram_words = m->map.wide ? 3 : 1;
	for (unsigned w = 0; w < BANK_WORDS; w++)
		m->turn[w][NPU_ENGINE_VECTOR] = ~UINT64_C(0);
	for (unsigned p = 0; p < PORTS; p++) {
		m->port[p].engine = (enum npu_engine)p;
		m->port[p].state = NPU_STATES;
	}
	if (!port_dma_init(&m->port[NPU_ENGINE_LOAD], hw->dma.load_channels, hw->dma.port, hw->dma.outstanding) ||
	    !port_dma_init(&m->port[NPU_ENGINE_STORE], hw->dma.store_channels, hw->dma.port, hw->dma.outstanding)) {
		memory_free(m);
		return NULL;
	}
	return m;
}

void memory_free(struct memory *m)
{
	if (!m)
		return;
	for (unsigned p = 0; p < PORTS; p++)
		port_dma_fini(&m->port[p]);
	free(m);
}

void memory_listen(struct memory *m, enum npu_engine port, const struct memory_listener *listener)
{
	m->port[port].listener = *listener;
}

static struct memory_reach reach_or(struct memory_reach a, const struct memory_reach *b)
{
	a.sram |= b->sram;
	a.accum_read |= b->accum_read;
	a.accum_write |= b->accum_write;
	a.self_sram |= b->self_sram;
	a.self_accum_read |= b->self_accum_read;
	a.self_accum_write |= b->self_accum_write;
	return a;
}

uint64_t memory_mask(const struct memory *m, uint32_t local, uint64_t bytes)
{
	return bank_mask(&m->map, local, bytes);
}

struct memory_reach memory_walk_reach(const struct memory *m, const struct memory_walk *walk)
{
	struct memory_reach reach = { 0 };
	uint64_t mask = bank_mask(&m->map, walk->local, (uint64_t)(walk->rows - 1) * walk->stride + walk->row_bytes);
	uint64_t self = walk_meets_itself(&m->map, walk) ? mask : 0;
	if (!npu_is_acc(walk->local)) {
		reach.sram = mask;
		reach.self_sram = self;
	} else if (walk->write) {
		reach.accum_write = mask;
		reach.self_accum_write = self;
	} else {
		reach.accum_read = mask;
		reach.self_accum_read = self;
	}
	return reach;
}

static bool hot_none(const struct hot *hot) { return !(hot->sram | hot->accum_read | hot->accum_write); }

static bool touches(const struct memory_reach *reach, const struct hot *hot)
{
	return (reach->sram & hot->sram) | (reach->accum_read & hot->accum_read) | (reach->accum_write & hot->accum_write);
}

static inline void hot_add(struct hot *hot, struct hot *seen, const struct memory_reach *reach)
{
	hot->sram |= (seen->sram & reach->sram) | reach->self_sram;
	hot->accum_read |= (seen->accum_read & reach->accum_read) | reach->self_accum_read;
	hot->accum_write |= (seen->accum_write & reach->accum_write) | reach->self_accum_write;
	seen->sram |= reach->sram;
	seen->accum_read |= reach->accum_read;
	seen->accum_write |= reach->accum_write;
}

/* Ports as bits of a mask; `for_ports` goes through them in ascending order. */
#define for_ports(m, p, mask)                                                                                          \
	for (unsigned rest_ = (mask); rest_ && ((p) = &(m)->port[__builtin_ctz(rest_)]); rest_ &= rest_ - 1)
enum {
	DMA_PORTS = 1u << NPU_ENGINE_LOAD | 1u << NPU_ENGINE_STORE,
	STREAM_PORTS = 1u << NPU_ENGINE_MATRIX | 1u << NPU_ENGINE_VECTOR,
};

/* Those that have something to do, now or later. */
static unsigned active_ports(const struct memory *m)
{
	const struct port *p = m->port;
	return (unsigned)(p[NPU_ENGINE_LOAD].queued != 0) << NPU_ENGINE_LOAD |
	       (unsigned)(p[NPU_ENGINE_STORE].queued != 0) << NPU_ENGINE_STORE |
	       (unsigned)(p[NPU_ENGINE_MATRIX].passed < p[NPU_ENGINE_MATRIX].end) << NPU_ENGINE_MATRIX |
	       (unsigned)(p[NPU_ENGINE_VECTOR].passed < p[NPU_ENGINE_VECTOR].end) << NPU_ENGINE_VECTOR;
}

/* Whether the port can be denied something though it be alone. */
static bool meets_itself(const struct port *p)
{
	return p->under_way || (p->reach.self_sram | p->reach.self_accum_read | p->reach.self_accum_write);
}

/* Whether anything can be denied at all while the ports do what they now do. */
static bool may_meet(const struct memory *m, unsigned active)
{
	if (!active || (!(active & (active - 1)) && !meets_itself(&m->port[__builtin_ctz(active)])))
		return false;
	struct hot hot = { 0 }, seen = { 0 };
	const struct port *p;
	for_ports (m, p, active) {
		if (p->under_way)
			return true;
		hot_add(&hot, &seen, &p->reach);
	}
	return !hot_none(&hot);
}

/* Whether what a body said that it may touch covers what it touches. */
static bool reach_holds(const struct memory_reach *all, const struct memory_reach *part)
{
	return !((part->sram & ~all->sram) | (part->accum_read & ~all->accum_read) |
		 (part->accum_write & ~all->accum_write) | (part->self_sram & ~all->self_sram) |
		 (part->self_accum_read & ~all->self_accum_read) | (part->self_accum_write & ~all->self_accum_write));
}

/* The segment of the next beat, and how far it and the stream last. */
static uint64_t stream_limit(struct memory *m, struct port *p)
{
	if (!p->segment_known || p->passed >= p->segment.until) {
		m->streams = 0;
		p->segment.n = 0;
		p->stream->segment(p->stream->ctx, p->passed, &p->segment);
		assert(p->segment.until > p->passed && p->segment.n <= MEMORY_WALKS);
		p->segment_known = true;
		p->segment_reach = (struct memory_reach){ 0 };
		struct hot self = { 0 }, seen = { 0 };
		for (unsigned i = 0; i < p->segment.n; i++) {
			p->walk_reach[i] = memory_walk_reach(m, &p->segment.walk[i]);
			p->segment_reach = reach_or(p->segment_reach, &p->walk_reach[i]);
			hot_add(&self, &seen, &p->walk_reach[i]);
		}
		p->walkers_placed = false;
		p->segment_reach.self_sram = self.sram;
		p->segment_reach.self_accum_read = self.accum_read;
		p->segment_reach.self_accum_write = self.accum_write;
		assert(reach_holds(&p->reach, &p->segment_reach));
	}
	return (p->segment.until < p->end ? p->segment.until : p->end) - p->passed;
}

/* Only walks that may be denied are looked at. */
static void choose_walks(struct port *p, const struct hot *hot)
{
	uint32_t hot_walks = 0;
	for (unsigned w = 0; w < p->segment.n; w++)
		hot_walks |= (uint32_t)touches(&p->walk_reach[w], hot) << w;
	if (hot_walks != p->hot_walks)
		p->walkers_placed = false;
	p->hot_walks = hot_walks;
}

static void look_at_streams(struct memory *m, unsigned streams)
{
	const struct port *p;
	m->streams = streams;
	m->stream_hot = m->stream_seen = (struct hot){ 0 };
	for_ports (m, p, streams)
		hot_add(&m->stream_hot, &m->stream_seen, &p->segment_reach);
}

/* Settles a part of [from, to) in which no stream comes to another segment; returns its end. */
static uint64_t settle_part(struct memory *m, unsigned active, uint64_t from, uint64_t to)
{
	unsigned in_part = active, streams = active & STREAM_PORTS;
	struct port *p;
	for_ports (m, p, streams) {
		uint64_t until = from + stream_limit(m, p);
		to = until < to ? until : to;
	}
	if (m->streams != streams)
		look_at_streams(m, streams);
	struct hot hot = m->stream_hot, seen = m->stream_seen;
	for_ports (m, p, active & DMA_PORTS) {
		if (!port_dma_reach(p, to)) {
			in_part &= ~(1u << p->engine);
		} else if (p->part_plain) {
			hot.sram |= seen.sram & p->part_reach.sram;
			seen.sram |= p->part_reach.sram;
		} else {
			hot_add(&hot, &seen, &p->part_reach);
		}
	}

	struct port *meeting[PORTS];
	unsigned n = 0;
	/* Bank words in which somebody meets, or an earlier meeting is not over. */
	unsigned words = (hot.sram ? m->sram_words : 0) | (hot.accum_read ? 1u << BANK_ACCUM_READ : 0) |
			 (hot.accum_write ? 1u << BANK_ACCUM_WRITE : 0);
	for_ports (m, p, in_part) {
		const struct memory_reach *reach = p->channels ? &p->part_reach : &p->segment_reach;
		if (!p->under_way && !(p->channels && p->part_plain ? reach->sram & hot.sram : touches(reach, &hot))) {
			port_pass_freely(p, from, to);
			continue;
		}
		meeting[n++] = p;
		for (unsigned w = 0; p->under_way && w < BANK_WORDS; w++)
			words |= (unsigned)(p->need.ask[w].layer[0] != 0) << w;
		p->meets_itself = reach->self_sram | reach->self_accum_read | reach->self_accum_write;
		if (!p->channels)
			choose_walks(p, &hot);
	}
	if (n)
		serve_ports(&m->map, m->turn, words, meeting, n, from, to);
	return to;
}

/* Settles [from, to) of the active ports. */
static __attribute__((noinline)) void settle(struct memory *m, unsigned active, uint64_t from, uint64_t to)
{
	unsigned now_active = active;
	uint64_t t = from;
	struct port *p;
	for (;;) {
		if (!m->meet_known)
			m->meet = !m->ideal && may_meet(m, now_active);
		m->meet_known = true;
		if (!m->meet)
			break;
		t = settle_part(m, now_active, t, to);
		unsigned left = active_ports(m);
		m->meet_known = left == now_active;
		now_active = left;
		if (t == to)
			break;
	}
	for_ports (m, p, active) {
		if (t < to)
			port_pass_freely(p, t, to);
		port_flush(p);
	}
}

void memory_advance(struct memory *m, uint64_t now)
{
	uint64_t from = m->settled;
	if (from >= now)
		return;
	m->settled = now;
	unsigned active = active_ports(m);
	if (active)
		settle(m, active, from, now);
}

uint64_t memory_settled(const struct memory *m) { return m->settled; }

void memory_begin(struct memory *m, enum npu_engine port, uint64_t now, const struct memory_stream *stream, uint64_t first,
		  uint64_t end)
{
	struct port *p = &m->port[port];
	memory_advance(m, now);
	assert(!is_dma(port) && p->passed == p->end && m->settled == now && first <= end);
	p->stream = stream;
	p->passed = first;
	p->end = end;
	p->segment_known = false;
	m->meet_known = false;
}

void memory_extend(struct memory *m, enum npu_engine port, uint64_t end)
{
	assert(end >= m->port[port].passed);
	m->port[port].end = end;
	m->meet_known = false;
}

void memory_set_reach(struct memory *m, enum npu_engine port, const struct memory_reach *reach)
{
	m->port[port].reach = *reach;
	m->port[port].segment_known = false;
	m->meet_known = false;
}

uint64_t memory_passed(const struct memory *m, enum npu_engine port) { return m->port[port].passed; }

uint64_t memory_fresh(const struct memory *m, enum npu_engine port)
{
	return m->port[port].passed + m->port[port].under_way;
}

uint32_t memory_push(struct memory *m, enum npu_engine port, const struct memory_burst *burst)
{
	struct port *p = &m->port[port];
	assert(is_dma(port) && burst->at >= m->settled && burst->channel < p->channels && burst->bytes);
	p->bytes[npu_is_acc(burst->local)] += burst->bytes;
	m->meet_known &= m->meet;
	return port_dma_push(&m->map, p, burst);
}

uint64_t memory_next(const struct memory *m, enum npu_engine port)
{
	const struct port *p = &m->port[port];
	if (p->queued)
		return port_dma_next(p, m->settled);
	return p->passed < p->end ? m->settled + (p->end - p->passed) : NPU_NEVER;
}

uint64_t memory_channel_end(const struct memory *m, enum npu_engine port, unsigned channel)
{
	return port_dma_channel_end(&m->port[port], channel, m->settled);
}

void memory_count(struct memory *m, enum npu_engine port, bool accumulators, uint64_t bytes)
{
	m->port[port].bytes[accumulators] += bytes;
}

uint64_t memory_bytes(const struct memory *m, enum npu_engine port, bool accumulators)
{
	return m->port[port].bytes[accumulators];
}
