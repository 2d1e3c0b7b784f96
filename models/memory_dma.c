/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of a DMA port: a list of bursts a channel, served beat by beat in turn. Banks are memory.c's. */
#include "models/memory_port.h"

#include <stdlib.h>

bool port_dma_init(struct port *p, uint64_t channels, uint64_t beat_bytes, uint64_t bursts)
{
	p->channels = (unsigned)channels;
	p->last = p->channels - 1;
	p->beat_bytes = divider_of((uint32_t)beat_bytes);
	p->pool_size = (int32_t)bursts;
	p->pool = malloc((size_t)p->pool_size * sizeof *p->pool);
	if (!p->pool)
		return false;
	for (int32_t i = 0; i < p->pool_size; i++)
		p->pool[i].next = i + 1 < p->pool_size ? i + 1 : NO_BURST;
	p->unused = 0;
	return true;
}

void port_dma_fini(struct port *p) { free(p->pool); }

/* More bursts at once than there are outstanding: a burst may be cut into pieces. */
static void grow(struct port *p)
{
	int32_t size = p->pool_size * 2;
	struct burst *pool = realloc(p->pool, (size_t)size * sizeof *pool);
	if (!pool)
		abort();
	for (int32_t i = p->pool_size; i < size; i++)
		pool[i].next = i + 1 < size ? i + 1 : NO_BURST;
	p->unused = p->pool_size;
	p->pool = pool;
	p->pool_size = size;
}

static void reach_add(struct memory_reach *reach, const struct burst *b)
{
	uint64_t self = b->self ? b->mask : 0;
	if (!b->accum) {
		reach->sram |= b->mask;
		reach->self_sram |= self;
	} else if (b->write) {
		reach->accum_write |= b->mask;
		reach->self_accum_write |= self;
	} else {
		reach->accum_read |= b->mask;
		reach->self_accum_read |= self;
	}
}

bool port_dma_reach(struct port *p, uint64_t to)
{
	struct memory_reach *reach = &p->part_reach;
	uint64_t sram = 0;
	bool plain = true;
	for (uint64_t queued = p->queued; queued; queued &= queued - 1) {
		const struct burst *b = &p->pool[p->head[__builtin_ctzll(queued)]];
		while (b->at < to) {
			if (b->accum || b->self) {
				if (plain)
					*reach = (struct memory_reach){ 0 };
				plain = false;
				reach_add(reach, b);
			} else {
				sram |= b->mask;
			}
			if (b->next == NO_BURST)
				break;
			b = &p->pool[b->next];
		}
	}
	if (plain && !p->part_plain)
		*reach = (struct memory_reach){ 0 };
	p->part_plain = plain;
	reach->sram = plain ? sram : reach->sram | sram;
	return sram || !plain;
}

static bool crosses_before(const struct burst *a, const struct burst *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

/* A place in the list of `channel` behind all bursts that come before `b`. Most come last. */
static void enqueue(struct port *p, unsigned channel, int32_t index)
{
	struct burst *b = &p->pool[index];
	bool empty = !(p->queued >> channel & 1);
	int32_t before = empty ? NO_BURST : p->tail[channel];
	if (!empty && crosses_before(b, &p->pool[before])) {
		before = NO_BURST;
		for (int32_t i = p->head[channel]; !crosses_before(b, &p->pool[i]); i = p->pool[i].next)
			before = i;
		b->next = before == NO_BURST ? p->head[channel] : p->pool[before].next;
	} else {
		b->next = NO_BURST;
		p->tail[channel] = index;
	}
	if (before == NO_BURST)
		p->head[channel] = index;
	else
		p->pool[before].next = index;
	p->queued |= UINT64_C(1) << channel;
}

/* Words of each beat, 0 when not all have as many. */
static uint32_t regular_words(struct port *p, uint32_t words, uint32_t beats)
{
	if (words != p->like_words || beats != p->like_beats) {
		p->like_words = words;
		p->like_beats = beats;
		p->like_regular = words % beats ? 0 : words / beats;
	}
	return p->like_regular;
}

uint32_t port_dma_push(const struct bank_map *map, struct port *p, const struct memory_burst *burst)
{
	if (p->unused == NO_BURST)
		grow(p);
	int32_t index = p->unused;
	struct burst *b = &p->pool[index];
	p->unused = b->next;
	uint32_t offset = npu_local_offset(burst->local), bytes = burst->bytes;
	b->at = burst->at;
	b->order = burst->order;
	b->tag = burst->tag;
	b->beats = b->left = divide(p->beat_bytes, bytes + p->beat_bytes.divisor - 1);
	b->accum = npu_is_acc(burst->local);
	b->write = burst->write;
	if (b->accum) {
		b->mask = bank_mask(map, burst->local, bytes);
		b->first = offset;
		b->words = divide(map->accum_words, bytes + map->accum_word - 1);
	} else {
		b->first = offset >> map->word_shift;
		b->words = ((offset + bytes - 1) >> map->word_shift) - b->first + 1;
		uint32_t group = divide(map->group_words, b->first);
		b->place = place_in_group(map, b->first, group);
		b->mask = (int32_t)b->words <= b->place.behind ? UINT64_C(1) << group
							      : bank_mask(map, burst->local, bytes);
	}

	/* Neighbouring words of the SRAM lie in different banks, as many as a group has. */
	b->self = b->words > (uint64_t)b->beats * (b->accum ? 1 : map->group_banks);
	b->regular = b->accum || map->wide || b->self ? 0 : regular_words(p, b->words, b->beats);

	if (!p->queued)
		p->reach = (struct memory_reach){ 0 };
	bool first = !(p->queued >> burst->channel & 1);
	enqueue(p, burst->channel, index);
	reach_add(&p->reach, b);
	if (!first && p->head[burst->channel] == index)
		p->ready_until = 0;
	else if (first && b->at < p->ready_until)
		p->ready_until = b->at;
	return b->beats;
}

/* First channel of `channels` (not 0) at or behind `from`, cyclically. */
static unsigned next_channel(uint64_t channels, unsigned from)
{
	uint64_t behind = from < 64 ? channels >> from << from : 0;
	return (unsigned)__builtin_ctzll(behind ? behind : channels);
}

/* Channels whose first burst may cross at t; *next is when another one may. */
static uint64_t ready_channels(const struct port *p, uint64_t t, uint64_t *next)
{
	uint64_t ready = 0;
	if (t < p->ready_until) {
		*next = p->ready_until;
		return p->ready;
	}
	*next = NPU_NEVER;
	for (uint64_t queued = p->queued; queued; queued &= queued - 1) {
		unsigned c = (unsigned)__builtin_ctzll(queued);
		uint64_t at = p->pool[p->head[c]].at;
		if (at <= t)
			ready |= UINT64_C(1) << c;
		else if (at < *next)
			*next = at;
	}
	return ready;
}

void port_dma_look(struct port *p, uint64_t t)
{
	p->ready = ready_channels(p, t, &p->ready_until);
}

void port_dma_pop(struct port *p, unsigned channel, uint64_t end)
{
	int32_t index = p->head[channel];
	struct burst *b = &p->pool[index];
	p->head[channel] = b->next;
	/* What is known of the other channels stays so. */
	if (b->next == NO_BURST) {
		p->queued &= ~(UINT64_C(1) << channel);
		p->ready &= ~(UINT64_C(1) << channel);
	} else if (p->pool[b->next].at > end) {
		p->ready &= ~(UINT64_C(1) << channel);
		if (p->pool[b->next].at < p->ready_until)
			p->ready_until = p->pool[b->next].at;
	}
	b->next = p->unused;
	p->unused = index;
	if (p->listener.done)
		p->listener.done(p->listener.ctx, p->engine, b->tag, end);
}

void port_dma_pass(struct port *p, uint64_t t, uint64_t to)
{
	while (t < to && p->queued) {
		bool any = port_dma_ready(p, t);
		uint64_t ready = p->ready, limit = p->ready_until < to ? p->ready_until : to;
		if (!any) {
			t = limit;
			continue;
		}
		if (!(ready & (ready - 1))) {
			unsigned c = (unsigned)__builtin_ctzll(ready);
			struct burst *b = &p->pool[p->head[c]];
			uint64_t n = b->left < limit - t ? b->left : limit - t;
			port_tell(p, NPU_STATE_BUSY, t, t + n);
			t += n;
			p->last = c;
			b->left -= (uint32_t)n;
			if (!b->left)
				port_dma_pop(p, c, t);
			continue;
		}
		/* Whole rounds in which no burst ends, then beats until one does or another channel is ready. */
		unsigned k = (unsigned)__builtin_popcountll(ready);
		uint32_t least = UINT32_MAX;
		for (uint64_t rest = ready; rest; rest &= rest - 1) {
			uint32_t left = p->pool[p->head[__builtin_ctzll(rest)]].left;
			least = left < least ? left : least;
		}
		uint64_t rounds = (limit - t) / k < least - 1 ? (limit - t) / k : least - 1;
		if (rounds) {
			for (uint64_t rest = ready; rest; rest &= rest - 1)
				p->pool[p->head[__builtin_ctzll(rest)]].left -= (uint32_t)rounds;
			port_tell(p, NPU_STATE_BUSY, t, t + rounds * k);
			t += rounds * k;
			/* A round ends with the channel before the one that it began with. */
			uint64_t up_to = ready & (p->last < 63 ? (UINT64_C(2) << p->last) - 1 : ~UINT64_C(0));
			p->last = 63 - (unsigned)__builtin_clzll(up_to ? up_to : ready);
		}
		while (t < limit) {
			p->current = port_dma_turn(p, ready);
			p->crosses = true;
			bool ends = p->pool[p->head[p->current]].left == 1;
			port_dma_passed(p, t++);
			if (ends)
				break;
		}
	}
}

/* In turn: a burst with n beats left ends with its n-th turn, if nobody else becomes ready. */
static uint64_t first_end(const struct port *p, uint64_t t, uint64_t ready)
{
	uint64_t earliest = NPU_NEVER;
	if (!ready)
		return NPU_NEVER;
	if (!(ready & (ready - 1)))
		return t + p->pool[p->head[__builtin_ctzll(ready)]].left;
	unsigned k = (unsigned)__builtin_popcountll(ready);
	unsigned c = p->under_way ? p->current : port_dma_turn(p, ready);
	for (unsigned i = 0; i < k; i++) {
		uint64_t end = t + (uint64_t)(p->pool[p->head[c]].left - 1) * k + i + 1;
		earliest = end < earliest ? end : earliest;
		c = next_channel(ready, c + 1);
	}
	return earliest;
}

/* Words of beat `beat` of a burst: *n of them from *first on. */
static void words_of_beat(const struct burst *b, uint32_t beat, uint32_t *first, uint32_t *n)
{
	*first = beat;
	*n = 1;
	if (b->words == b->beats)
		return;
	*first = (uint32_t)((uint64_t)beat * b->words / b->beats);
	*n = (uint32_t)((uint64_t)(beat + 1) * b->words / b->beats) - *first;
}

/* Some of `n` words of a burst from word `first` on; returns their banks, in *taken how many they are. */
static uint64_t take_words(const struct bank_map *map, struct burst *b, uint32_t first, uint32_t n, uint32_t *taken,
			   unsigned *bank_word)
{
	if (b->accum) {
		*taken = 1;
		*bank_word = accum_word_of(b->write);
		return accum_bank(map, b->first + first * map->accum_word);
	}
	if (b->place.word != b->first + first)
		b->place = place_of(map, b->first + first);
	return place_take(map, &b->place, n, taken, bank_word);
}

void port_dma_ask(const struct bank_map *map, struct port *p, struct burst *b, unsigned words)
{
	uint32_t first, n, taken;
	unsigned w;
	words_of_beat(b, b->beats - b->left, &first, &n);
	for (; n; n -= taken, first += taken) {
		uint64_t banks = take_words(map, b, first, n, &taken, &w);
		if (words >> w & 1)
			need_add(&p->need, w, banks);
	}
}

uint64_t port_dma_next(const struct port *p, uint64_t t)
{
	uint64_t next;
	uint64_t ready = ready_channels(p, t, &next);
	uint64_t earliest = first_end(p, t, ready);
	for (uint64_t rest = p->queued & ~ready; rest; rest &= rest - 1) {
		const struct burst *b = &p->pool[p->head[__builtin_ctzll(rest)]];
		earliest = b->at + b->left < earliest ? b->at + b->left : earliest;
	}
	return earliest;
}

/* Beats of a channel's bursts from `i` on that may cross at t, one after the other; *i: the first burst that may not. */
static uint64_t beats_ready(const struct port *p, int32_t *i, uint64_t t)
{
	uint64_t beats = 0;
	for (; *i != NO_BURST && p->pool[*i].at <= t; *i = p->pool[*i].next)
		beats += p->pool[*i].left;
	return beats;
}

/* Whether of two channels that are ready now `a` has its turn before `b`. */
static bool has_turn_before(const struct port *p, unsigned a, unsigned b)
{
	if (p->under_way && (p->current == a || p->current == b))
		return p->current == a;
	unsigned last = p->under_way ? p->current : p->last;
	return ((a - last - 1) & 63) < ((b - last - 1) & 63);
}

uint64_t port_dma_channel_end(const struct port *p, unsigned channel, uint64_t t)
{
	if (!(p->queued >> channel & 1))
		return NPU_NEVER;
	int32_t i = p->head[channel];
	uint64_t beats = beats_ready(p, &i, t), end = t + beats;
	/* Before each of these beats, but perhaps the first, each channel that is ready, too, has its turn. */
	for (uint64_t others = beats ? p->queued & ~(UINT64_C(1) << channel) : 0; others; others &= others - 1) {
		unsigned other = (unsigned)__builtin_ctzll(others);
		int32_t j = p->head[other];
		uint64_t turns = beats_ready(p, &j, t), most = beats - !has_turn_before(p, other, channel);
		end += turns < most ? turns : most;
	}
	for (; i != NO_BURST; i = p->pool[i].next)
		end = (end > p->pool[i].at ? end : p->pool[i].at) + p->pool[i].left;
	return end;
}
