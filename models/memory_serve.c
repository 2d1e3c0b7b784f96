/* SPDX-License-Identifier: Apache-2.0 */
/* Cycles in which ports meet: what each beat asks for, and who is served. Between what times that is needed at all is
 * memory.c. Only walks and bank words that can be denied are looked at: whatever else a beat wants it gets at once. */
#include "models/memory_port.h"

#include <string.h>

/* Bank words that matter now. */
struct words {
	unsigned n;
	unsigned mask;
	uint8_t word[BANK_WORDS];
};

/* ---- what beats ask for ---- */

static void stream_ahead(const struct bank_map *map, struct port *p, uint64_t beat, const struct words *words)
{
	struct ahead *ahead = &p->ahead;
	bool placed = p->walkers_placed && ahead->first + ahead->n <= beat;
	uint64_t next = NPU_NEVER;
	for (uint32_t walks = p->hot_walks; walks; walks &= walks - 1) {
		unsigned i = (unsigned)__builtin_ctz(walks);
		struct walker *w = &p->walker[i];
		if (!placed || w->next < beat)
			walker_seek(map, w, &p->segment.walk[i], beat);
		next = w->next < next ? w->next : next;
	}
	uint64_t left = p->segment.until - beat;
	ahead->first = beat;
	ahead->n = left < AHEAD ? (uint32_t)left : AHEAD;
	ahead->busy = 0;
	p->walkers_placed = true;
	p->quiet_until = next;
	for (unsigned k = 0; k < words->n; k++) {
		memset(ahead->ask[words->word[k]], 0, ahead->n * sizeof ahead->ask[0][0]);
		ahead->deep[words->word[k]] = 0;
	}
	if (next - beat >= ahead->n)
		return;
	uint32_t all = ahead->n;
	for (uint32_t walks = p->hot_walks; walks; walks &= walks - 1) {
		unsigned i = (unsigned)__builtin_ctz(walks);
		walker_ahead(map, &p->walker[i], &p->segment.walk[i], ahead);
	}
	if (ahead->n < all)
		p->walkers_placed = false; /* some went too far */
}

/* Works out beats of a stream from the first one on that has not begun. */
static void look_ahead(const struct bank_map *map, struct port *p, const struct words *words)
{
	uint64_t beat = p->passed + p->under_way;
	p->ahead.words = words->mask;
	if (beat < p->segment.until)
		stream_ahead(map, p, beat, words);
}

/* Index of the first beat that has not begun; ahead.n or more: it is not worked out. */
static uint64_t ahead_index(const struct port *p) { return p->passed + p->under_way - p->ahead.first; }
static uint64_t ahead_left(const struct port *p)
{
	return ahead_index(p) < p->ahead.n ? p->ahead.n - ahead_index(p) : 0;
}

/* A beat of a stream that asks a bank more often than there are layers, on its own. */
static void begin_deep_beat(const struct bank_map *map, struct port *p)
{
	for (uint32_t walks = p->hot_walks; walks; walks &= walks - 1) {
		unsigned i = (unsigned)__builtin_ctz(walks);
		walker_seek(map, &p->walker[i], &p->segment.walk[i], p->passed);
		if (p->walker[i].next == p->passed)
			walker_beat(map, &p->walker[i], &p->segment.walk[i], &p->need);
	}
}

static void begin_beat(const struct bank_map *map, struct port *p, uint64_t t, const struct words *words)
{
	if (p->channels) {
		port_dma_begin(map, p, t, words->mask);
		return;
	}
	if (ahead_index(p) >= p->ahead.n)
		look_ahead(map, p, words);
	if (!p->ahead.n) {
		begin_deep_beat(map, p);
		return;
	}
	uint64_t i = ahead_index(p);
	if (!(p->ahead.busy >> i & 1))
		return;
	for (unsigned k = 0; k < words->n; k++) {
		unsigned w = words->word[k];
		struct bank_ask *need = &p->need.ask[w];
		if (p->ahead.deep[w] >> i & 1)
			*need = p->ahead.more[w][i];
		need->layer[0] = p->ahead.ask[w][i];
	}
}

/* ---- who is served ---- */

/* Of `contested` banks, for which only ports a < b ask: those that b is granted. b comes first where the last winner is
 * one of a .. b - 1. The turn moves to the winner. */
static uint64_t settle_two(uint64_t turn[PORTS], unsigned a, unsigned b, uint64_t contested)
{
	uint64_t b_wins = 0;
	for (unsigned last = a; last < b; last++)
		b_wins |= turn[last];
	b_wins &= contested;
	for (unsigned p = 0; p < PORTS; p++)
		turn[p] &= ~contested;
	turn[b] |= b_wins;
	turn[a] |= contested & ~b_wins;
	return b_wins;
}

/* The same for any number of ports: the first one that asks behind the last winner. */
static void settle_many(uint64_t turn[PORTS], const uint64_t asks[PORTS], uint64_t contested, uint64_t wins[PORTS])
{
	for (unsigned p = 0; p < PORTS; p++)
		wins[p] = 0;
	for (unsigned last = 0; last < PORTS; last++) {
		uint64_t open = turn[last] & contested;
		for (unsigned k = 1; k <= PORTS && open; k++) {
			unsigned p = (last + k) % PORTS;
			wins[p] |= open & asks[p];
			open &= ~asks[p];
		}
	}
	for (unsigned p = 0; p < PORTS; p++)
		turn[p] = (turn[p] & ~contested) | wins[p];
}

/* What each port that asks `left` is not granted, in place of it. */
static inline void settle(uint64_t turn[PORTS], struct port *const *ports, unsigned n, uint64_t contested,
			  uint64_t *left)
{
	if (n == 2) {
		uint64_t second = settle_two(turn, ports[0]->engine, ports[1]->engine, contested);
		left[1] = contested & ~second;
		left[0] = second;
		return;
	}
	uint64_t asks[PORTS] = { 0 }, wins[PORTS];
	for (unsigned i = 0; i < n; i++)
		asks[ports[i]->engine] = left[i];
	settle_many(turn, asks, contested, wins);
	for (unsigned i = 0; i < n; i++)
		left[i] &= contested & ~wins[ports[i]->engine];
}

static enum npu_state lost_state(unsigned w)
{
	return w == BANK_SRAM || w == BANK_SRAM + 1 ? NPU_STATE_SRAM_CONFLICT : NPU_STATE_ACCUM_CONFLICT;
}

/* One cycle: what only one port asks for is granted; of a contested bank the first port behind the last winner is
 * served. */
static void serve_cycle(uint64_t turn[BANK_WORDS][PORTS], const struct words *words, struct port *const *ports, unsigned n,
			uint64_t t)
{
	uint64_t waits[PORTS] = { 0 };
	for (unsigned k = 0; k < words->n; k++) {
		unsigned w = words->word[k];
		uint64_t left[PORTS], seen = 0, contested = 0;
		for (unsigned i = 0; i < n; i++) {
			left[i] = ports[i]->need.ask[w].layer[0];
			contested |= seen & left[i];
			seen |= left[i];
		}
		if (contested)
			settle(turn[w], ports, n, contested, left);
		for (unsigned i = 0; i < n; i++) {
			need_served(&ports[i]->need, w, contested ? left[i] : 0);
			waits[i] |= ports[i]->need.ask[w].layer[0];
		}
	}
	for (unsigned i = 0; i < n; i++) {
		struct port *p = ports[i];
		p->under_way = waits[i] != 0;
		if (!waits[i]) {
			if (p->channels)
				port_dma_passed(p, t);
			else
				p->passed++;
			continue;
		}
		bool sram = p->need.ask[BANK_SRAM].layer[0] | p->need.ask[BANK_SRAM + 1].layer[0];
		port_tell(p, lost_state(sram ? BANK_SRAM : BANK_ACCUM_READ), t, t + 1);
	}
}

/* Cycles [from, to) in which all that matters is layer 0 of bank word `w`; streams have as many beats ahead. Inlined so that n
 * is a constant. */
static inline __attribute__((always_inline)) void run_cycles(const struct bank_map *map, uint64_t turn[PORTS], unsigned w,
							     struct port *const *ports, unsigned n, uint64_t from,
							     uint64_t to)
{
	const uint64_t *ask[PORTS]; /* of a stream's next beat */
	uint64_t left[PORTS];
	bool under_way[PORTS];
	for (unsigned i = 0; i < n; i++) {
		const struct port *p = ports[i];
		ask[i] = p->ahead.ask[w] + (p->channels || !ahead_left(p) ? 0 : ahead_index(p));
		under_way[i] = p->under_way;
		left[i] = p->need.ask[w].layer[0];
	}
	for (uint64_t t = from; t < to; t++) {
		uint64_t seen = 0, contested = 0;
		for (unsigned i = 0; i < n; i++) {
			struct port *p = ports[i];
			if (!under_way[i] && !p->channels) {
				left[i] = *ask[i]++;
			} else if (!under_way[i]) {
				p->need.ask[w].layer[0] = 0;
				port_dma_begin(map, p, t, 1u << w);
				left[i] = p->need.ask[w].layer[0];
			}
			contested |= seen & left[i];
			seen |= left[i];
		}
		if (contested)
			settle(turn, ports, n, contested, left);
		for (unsigned i = 0; i < n; i++) {
			struct port *p = ports[i];
			under_way[i] = contested && left[i];
			if (under_way[i])
				port_tell(p, lost_state(w), t, t + 1);
			else if (p->channels)
				port_dma_passed(p, t);
			else
				p->passed++;
		}
	}
	for (unsigned i = 0; i < n; i++) {
		ports[i]->under_way = under_way[i];
		ports[i]->need.ask[w].layer[0] = under_way[i] ? left[i] : 0;
	}
}

/* How many of `n` beats of a burst, or of those in its row of banks, pass before one that asks for banks of `ask`, which has
 * the asks of the cycles that they fall into. */
static uint64_t beats_free(const struct bank_map *map, struct burst *b, const uint64_t *ask, uint64_t n)
{
	struct place *at = &b->place;
	uint32_t words = b->regular;
	/* Up to the end of the row of banks; behind it the next beat is another one. */
	if (n > 1 && at->bank + n * words > map->group_banks)
		n = (map->group_banks - at->bank) / words;
	uint64_t banks = burst_beat(b), k = 0;
	while (k < n && !(banks & ask[k])) {
		banks <<= words;
		k++;
	}
	place_move(map, at, (uint32_t)k * words, (uint32_t)k * words);
	return k;
}

/* Cycles [from, to) in which a DMA port and a stream meet in the SRAM's first bank word, and neither has a beat under way: how
 * many of them pass until one is denied, a beat of a burst is no simple one, or a burst ends. `ask` is what the stream's beats
 * want. */
static uint64_t pass_together(const struct bank_map *map, struct port *d, const uint64_t *ask, uint64_t from, uint64_t to)
{
	uint64_t limit = d->ready_until < to ? d->ready_until : to, ready = d->ready, k = 0;
	bool in_turn = ready & (ready - 1);
	while (from + k < limit) {
		unsigned c = port_dma_turn(d, ready);
		struct burst *b = &d->pool[d->head[c]];
		if (!burst_is_simple(map, b))
			break;
		uint64_t n = 1;
		if (!in_turn)
			n = beats_free(map, b, ask + k, limit - from - k < b->left ? limit - from - k : b->left);
		else if (burst_beat(b) & ask[k])
			break;
		else
			place_move(map, &b->place, b->regular, b->regular);
		if (!n)
			break;
		k += n;
		b->left -= (uint32_t)n;
		d->last = c;
		if (b->left)
			continue;
		port_tell(d, NPU_STATE_BUSY, from, from + k);
		port_dma_pop(d, c, from + k);
		return k;
	}
	if (k)
		port_tell(d, NPU_STATE_BUSY, from, from + k);
	return k;
}

/* run_cycles() for a DMA port and a stream, which goes from one denied beat to the next. */
static void run_dma_and_stream(const struct bank_map *map, uint64_t turn[PORTS], unsigned w, struct port *d, struct port *s,
			       uint64_t from, uint64_t to)
{
	const uint64_t *ask = s->ahead.ask[w] + (ahead_left(s) ? ahead_index(s) : 0);
	bool dma_waits = d->under_way, stream_waits = s->under_way;
	uint64_t dma = dma_waits ? d->need.ask[w].layer[0] : 0, stream = stream_waits ? s->need.ask[w].layer[0] : 0;
	for (uint64_t t = from; t < to; t++) {
		if (!dma_waits && !stream_waits) {
			uint64_t n = 0;
			if (!port_dma_ready(d, t))
				n = (d->ready_until < to ? d->ready_until : to) - t;
			else if (w == BANK_SRAM)
				n = pass_together(map, d, ask, t, to);
			if (n) {
				ask += n;
				s->passed += n;
				t += n - 1;
				continue;
			}
		}
		if (!stream_waits)
			stream = *ask++;
		if (!dma_waits) {
			d->need.ask[w].layer[0] = 0;
			port_dma_begin(map, d, t, 1u << w);
			dma = d->need.ask[w].layer[0];
		}
		uint64_t contested = dma & stream;
		dma_waits = stream_waits = false;
		if (contested) {
			dma = settle_two(turn, d->engine, s->engine, contested);
			stream = contested & ~dma;
			dma_waits = dma;
			stream_waits = stream;
		}
		if (dma_waits)
			port_tell(d, lost_state(w), t, t + 1);
		else
			port_dma_passed(d, t);
		if (stream_waits)
			port_tell(s, lost_state(w), t, t + 1);
		else
			s->passed++;
	}
	d->under_way = dma_waits;
	d->need.ask[w].layer[0] = dma_waits ? dma : 0;
	s->under_way = stream_waits;
	s->need.ask[w].layer[0] = stream_waits ? stream : 0;
}

/* Cycles [from, to) of a DMA port and a stream, if all that matters in them is layer 0 of one bank word; false: it is not
 * so. */
static bool serve_dma_and_stream(const struct bank_map *map, uint64_t turn[BANK_WORDS][PORTS], struct port *d, struct port *s,
				 uint64_t from, uint64_t to, const struct words *words)
{
	unsigned w = words->word[0];
	if (words->n != 1 || !d->channels || s->channels || d->meets_itself || s->meets_itself ||
	    (d->under_way && d->need.ask[w].layer[1]) || (s->under_way && s->need.ask[w].layer[1]))
		return false;
	for (uint64_t t = from, cycles; t < to; t += cycles) {
		cycles = to - t;
		if (!s->under_way && !d->under_way) {
			if (s->ahead.n && s->quiet_until > s->passed && ahead_left(s)) {
				uint64_t quiet = s->quiet_until - s->passed;
				cycles = quiet < cycles ? quiet : cycles;
				s->passed += cycles;
				port_dma_pass(d, t, t + cycles);
				continue;
			}
			if (!ahead_left(s) && !port_dma_ready(d, t)) {
				cycles = (d->ready_until < to ? d->ready_until : to) - t;
				s->passed += cycles;
				continue;
			}
		}
		if (cycles > s->under_way && !ahead_left(s)) {
			look_ahead(map, s, words);
			/* It may be quiet. */
			if (!s->under_way && !d->under_way && s->quiet_until > s->passed) {
				cycles = 0;
				continue;
			}
		}
		uint64_t beats = ahead_left(s) + s->under_way;
		cycles = beats < cycles ? beats : cycles;
		run_dma_and_stream(map, turn[w], w, d, s, t, t + cycles);
	}
	return true;
}

/* How many cycles can be run at once from now on: every port asks layer 0 of bank word `w` at most, and beats of streams are
 * worked out. */
static uint64_t simple_cycles(const struct bank_map *map, struct port *const *ports, unsigned n, uint64_t cycles,
			      const struct words *words)
{
	if (words->n != 1 || n < 2)
		return 0;
	unsigned w = words->word[0];
	for (unsigned i = 0; i < n; i++) {
		struct port *p = ports[i];
		if (p->meets_itself || (p->under_way && p->need.ask[w].layer[1]))
			return 0;
		if (p->channels)
			continue;
		if (!ahead_left(p) && cycles > p->under_way)
			look_ahead(map, p, words);
		uint64_t beats = ahead_left(p) + p->under_way;
		cycles = beats < cycles ? beats : cycles;
	}
	return cycles;
}

/* For how many cycles from t on the port asks for nothing that may be denied; it has no beat under way. */
static uint64_t quiet_beats(const struct bank_map *map, struct port *p, uint64_t t, const struct words *words)
{
	if (p->channels)
		return port_dma_ready(p, t) ? 0 : p->ready_until - t;
	if (ahead_index(p) >= p->ahead.n)
		look_ahead(map, p, words);
	if (p->quiet_until > p->passed)
		return p->ahead.n ? p->quiet_until - p->passed : 0;
	uint32_t busy = p->ahead.n ? p->ahead.busy >> ahead_index(p) : 1;
	return busy ? (unsigned)__builtin_ctz(busy) : ahead_left(p);
}

/* Cycles from t on in which no two of the ports ask for anything that may be denied, nor one twice. */
static uint64_t quiet_cycles(const struct bank_map *map, struct port *const *ports, unsigned n, uint64_t t, uint64_t cycles,
			     const struct words *words)
{
	bool one_asks = false;
	for (unsigned i = 0; i < n; i++) {
		struct port *p = ports[i];
		if (p->under_way)
			return 0;
		uint64_t quiet = quiet_beats(map, p, t, words);
		if (quiet == 0) {
			if (one_asks || p->meets_itself)
				return 0;
			one_asks = true;
		} else if (quiet < cycles) {
			cycles = quiet;
		}
	}
	return cycles;
}

void serve_ports(const struct bank_map *map, uint64_t turn[BANK_WORDS][PORTS], unsigned words, struct port *const *ports,
		 unsigned n, uint64_t from, uint64_t to)
{
	struct words w = { .mask = words };
	for (; words; words &= words - 1)
		w.word[w.n++] = (uint8_t)__builtin_ctz(words);
	for (unsigned i = 0; i < n; i++)
		if (!ports[i]->walkers_placed || w.mask != ports[i]->ahead.words) {
			ports[i]->ahead.n = 0;
			ports[i]->ahead.first = 0;
			ports[i]->walkers_placed = false;
		}
	if (n == 2 && serve_dma_and_stream(map, turn, ports[0], ports[1], from, to, &w))
		return;
	for (uint64_t t = from, cycles; t < to; t += cycles) {
		cycles = quiet_cycles(map, ports, n, t, to - t, &w);
		if (cycles) {
			for (unsigned i = 0; i < n; i++)
				port_pass_freely(ports[i], t, t + cycles);
			continue;
		}
		cycles = simple_cycles(map, ports, n, to - t, &w);
		if (cycles) {
			if (n == 2)
				run_cycles(map, turn[w.word[0]], w.word[0], ports, 2, t, t + cycles);
			else
				run_cycles(map, turn[w.word[0]], w.word[0], ports, n, t, t + cycles);
			continue;
		}
		for (unsigned i = 0; i < n; i++)
			if (!ports[i]->under_way)
				begin_beat(map, ports[i], t, &w);
		serve_cycle(turn, &w, ports, n, t);
		cycles = 1;
	}
}
