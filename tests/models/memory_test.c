/* SPDX-License-Identifier: Apache-2.0 */
/* The memory against a twin that goes cycle by cycle and word by word, and its rules one by one. */
#include "models/memory.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The initial values are edge-1mb: 4 groups of 4 banks of 32 B, so group g begins at g x 256 KiB and word w of it lies in
 * bank w % 4; accumulators 8 x 32 KiB, 128 bytes a cycle and direction. */
static struct hw edge(void)
{
	struct hw hw = { 0 };
#define KEY(section, type, name, initial, min, max, unit, doc) hw.section.name = initial;
#include "models/hw.def"
	return hw;
}

enum { KIB = 1024, GROUP = 256 * KIB, CYCLES_MAX = 4000, DONE_MAX = 4000 };

/* What either side was told: a letter a cycle and port, '.' nothing denied, and the ends of bursts. */
struct log {
	char state[NPU_ENGINES][CYCLES_MAX + 1];
	unsigned n;
	struct {
		enum npu_engine port;
		uint32_t tag;
		uint64_t cycle;
	} done[DONE_MAX];
};

/* ck_assert reports to another process every time, too slow for what holds millions of times. */
static void must(bool holds, const char *what)
{
	if (!holds)
		ck_abort_msg("%s", what);
}

static char letter(enum npu_state state)
{
	return state == NPU_STATE_BUSY ? 'b' : state == NPU_STATE_SRAM_CONFLICT ? 's' : 'a';
}

static void log_span(void *ctx, enum npu_engine port, enum npu_state state, uint64_t from, uint64_t to)
{
	struct log *log = ctx;
	must(from < to && to <= CYCLES_MAX, "a span is not empty");
	for (uint64_t t = from; t < to; t++) {
		must(log->state[port][t] == '.', "a cycle is told once");
		log->state[port][t] = letter(state);
	}
}

static void log_done(void *ctx, enum npu_engine port, uint32_t tag, uint64_t cycle)
{
	struct log *log = ctx;
	must(log->n < DONE_MAX, "bursts fit the log");
	log->done[log->n].port = port;
	log->done[log->n].tag = tag;
	log->done[log->n++].cycle = cycle;
}

static void log_init(struct log *log)
{
	memset(log, 0, sizeof *log);
	for (unsigned p = 0; p < NPU_ENGINES; p++)
		memset(log->state[p], '.', CYCLES_MAX);
}

/* The port's first cycles, a letter each. */
static void expect_states(const struct log *log, enum npu_engine port, const char *states)
{
	ck_assert_msg(!strncmp(log->state[port], states, strlen(states)), "%.*s, not %s", (int)strlen(states),
		      log->state[port], states);
}

static struct memory *listened(const struct hw *hw, bool ideal, struct log *log)
{
	struct memory *m = memory_new(hw, ideal);
	log_init(log);
	for (unsigned p = 0; p < NPU_ENGINES; p++)
		memory_listen(m, (enum npu_engine)p, &(struct memory_listener){ log, log_span, log_done });
	return m;
}

/* A stream as a list of walks in beats. */
enum { WALKS = 10 };
struct script {
	unsigned n;
	struct memory_walk walk[WALKS];
};

static void script_segment(void *ctx, uint64_t beat, struct memory_segment *out)
{
	const struct script *s = ctx;
	out->until = NPU_NEVER;
	for (unsigned i = 0; i < s->n; i++) {
		uint64_t edge_of[2] = { s->walk[i].begin, s->walk[i].end };
		for (unsigned e = 0; e < 2; e++)
			if (edge_of[e] > beat && edge_of[e] < out->until)
				out->until = edge_of[e];
		if (beat >= s->walk[i].begin && beat < s->walk[i].end)
			out->walk[out->n++] = s->walk[i];
	}
}

static struct memory_reach script_reach(const struct memory *m, const struct script *s)
{
	struct memory_reach all = { 0 };
	for (unsigned i = 0; i < s->n; i++) {
		struct memory_reach r = memory_walk_reach(m, &s->walk[i]);
		all.self_sram |= r.self_sram | (all.sram & r.sram);
		all.self_accum_read |= r.self_accum_read | (all.accum_read & r.accum_read);
		all.self_accum_write |= r.self_accum_write | (all.accum_write & r.accum_write);
		all.sram |= r.sram;
		all.accum_read |= r.accum_read;
		all.accum_write |= r.accum_write;
	}
	return all;
}

/* ---- the twin ---- */

enum { RESOURCES = 128 + 64 + 64, WORDS_MAX = 32768, BURSTS_MAX = 512 };

struct twin_burst {
	uint64_t at, order;
	uint32_t local, bytes, tag, passed;
	bool write;
};

struct twin_port {
	bool under_way;
	unsigned words;
	uint16_t word[WORDS_MAX];
	/* stream */
	const struct script *script;
	uint64_t passed, end;
	/* DMA */
	unsigned channels, last, current;
	unsigned head[4], tail[4];
	struct twin_burst burst[4][BURSTS_MAX];
};

/* Banks of a walk. */
enum { KNOWN = 64 };
struct known {
	struct memory_walk walk;
	unsigned n;
	uint16_t bank[WORDS_MAX];
};

struct twin {
	struct known *known;
	const struct hw *hw;
	uint64_t now;
	uint8_t turn[RESOURCES];
	struct twin_port port[NPU_ENGINES];
	struct log log;
};

static uint64_t accum_word(const struct hw *hw)
{
	return (hw->matrix.cols > hw->vector.lanes ? hw->matrix.cols : hw->vector.lanes) * 4;
}

static uint64_t ceil_div(uint64_t n, uint64_t d) { return (n + d - 1) / d; }

/* All banks that serve a walk, word by word in its order. A word that was asked for last is not asked for again: words of
 * neighbouring rows may be one. (The accumulators' begin where an access begins; rows that repeat one are read again.) */
static unsigned banks_of(const struct hw *hw, const struct memory_walk *w, uint16_t bank[WORDS_MAX])
{
	uint64_t offset = w->local & 0x7fffffff;
	bool accum = w->local >> 31;
	uint64_t word = accum ? accum_word(hw) : hw->sram.bank_bytes;
	uint64_t most = w->row_bytes / word + 2, group_words = hw->sram.size / hw->sram.groups / word;
	uint64_t banks = hw->sram.banks / hw->sram.groups, last = UINT64_MAX;
	unsigned n = 0;
	for (uint64_t i = 0; i < w->rows * most; i++) {
		uint64_t row = w->by_column ? i % w->rows : i / most, in_row = w->by_column ? i / w->rows : i % most;
		uint64_t begin = offset + row * w->stride, end = begin + w->row_bytes;
		uint64_t number = begin / word + in_row;
		if (accum ? begin + in_row * word >= end : number > (end - 1) / word)
			continue;
		must(n < WORDS_MAX, "words fit a walk");
		if (accum)
			bank[n++] = (uint16_t)(128 + (w->write ? 64 : 0) +
					       (begin + in_row * word) / (hw->accum.size / hw->accum.banks));
		else if (number != last || w->stride == 0)
			bank[n++] = (uint16_t)(number / group_words * banks + number % group_words % banks);
		last = number;
	}
	return n;
}

/* The same, remembered. */
static const struct known *known_banks(struct twin *t, const struct memory_walk *w)
{
	struct known *k = &t->known[(w->local / 4 + w->rows * 7 + w->row_bytes) % KNOWN];
	const struct memory_walk *v = &k->walk;
	if (v->local != w->local || v->rows != w->rows || v->row_bytes != w->row_bytes || v->stride != w->stride ||
	    v->write != w->write || v->by_column != w->by_column) {
		k->walk = *w;
		k->n = banks_of(t->hw, w, k->bank);
	}
	return k;
}

static void twin_words(struct twin *t, struct twin_port *p, const struct memory_walk *w, uint64_t beat)
{
	const struct known *k = known_banks(t, w);
	uint64_t words = k->n, beats = w->end - w->begin;
	for (uint64_t i = words * beat / beats; i < words * (beat + 1) / beats; i++) {
		must(p->words < WORDS_MAX, "words fit a beat");
		p->word[p->words++] = k->bank[i];
	}
}

static bool twin_begin(struct twin *t, struct twin_port *p)
{
	p->words = 0;
	if (!p->channels) {
		if (p->passed >= p->end)
			return false;
		for (unsigned i = 0; i < p->script->n; i++) {
			const struct memory_walk *w = &p->script->walk[i];
			if (p->passed >= w->begin && p->passed < w->end)
				twin_words(t, p, w, p->passed - w->begin);
		}
		return true;
	}
	for (unsigned k = 1; k <= p->channels; k++) {
		unsigned c = (p->last + k) % p->channels;
		const struct twin_burst *b = &p->burst[c][p->head[c] % BURSTS_MAX];
		if (p->head[c] == p->tail[c] || b->at > t->now)
			continue;
		uint64_t beats = ceil_div(b->bytes, t->hw->dma.port);
		struct memory_walk w = { .begin = 0, .end = beats, .local = b->local, .row_bytes = b->bytes, .rows = 1,
					 .write = b->write };
		p->current = c;
		twin_words(t, p, &w, b->passed);
		return true;
	}
	return false;
}

static void twin_grant(struct twin *t)
{
	bool asked[RESOURCES] = { 0 };
	for (unsigned p = 0; p < NPU_ENGINES; p++)
		for (unsigned i = 0; t->port[p].under_way && i < t->port[p].words; i++)
			asked[t->port[p].word[i]] = true;
	for (unsigned r = 0; r < RESOURCES; r++) {
		if (!asked[r])
			continue;
		int word[NPU_ENGINES];
		unsigned askers = 0, winner = 0;
		for (unsigned p = 0; p < NPU_ENGINES; p++) {
			word[p] = -1;
			for (unsigned i = 0; t->port[p].under_way && i < t->port[p].words; i++)
				if (t->port[p].word[i] == r)
					word[p] = (int)i;
			if (word[p] >= 0) {
				askers++;
				winner = p;
			}
		}
		if (!askers)
			continue;
		if (askers > 1) {
			do
				t->turn[r] = (uint8_t)((t->turn[r] + 1) % NPU_ENGINES);
			while (word[t->turn[r]] < 0);
			winner = t->turn[r];
		}
		struct twin_port *p = &t->port[winner];
		p->word[word[winner]] = p->word[--p->words];
	}
}

static void twin_cycle(struct twin *t)
{
	for (unsigned i = 0; i < NPU_ENGINES; i++)
		if (!t->port[i].under_way)
			t->port[i].under_way = twin_begin(t, &t->port[i]);
	twin_grant(t);
	for (unsigned i = 0; i < NPU_ENGINES; i++) {
		struct twin_port *p = &t->port[i];
		if (!p->under_way)
			continue;
		if (p->words) {
			enum npu_state state = NPU_STATE_ACCUM_CONFLICT;
			for (unsigned w = 0; w < p->words; w++)
				if (p->word[w] < 128)
					state = NPU_STATE_SRAM_CONFLICT;
			log_span(&t->log, (enum npu_engine)i, state, t->now, t->now + 1);
			continue;
		}
		p->under_way = false;
		if (!p->channels) {
			p->passed++;
			continue;
		}
		log_span(&t->log, (enum npu_engine)i, NPU_STATE_BUSY, t->now, t->now + 1);
		p->last = p->current;
		struct twin_burst *b = &p->burst[p->current][p->head[p->current] % BURSTS_MAX];
		if (++b->passed == ceil_div(b->bytes, t->hw->dma.port)) {
			log_done(&t->log, (enum npu_engine)i, b->tag, t->now + 1);
			p->head[p->current]++;
		}
	}
	t->now++;
}

static struct twin *twin_new(const struct hw *hw)
{
	struct twin *t = calloc(1, sizeof *t);
	t->hw = hw;
	t->known = calloc(KNOWN, sizeof *t->known);
	log_init(&t->log);
	memset(t->turn, NPU_ENGINE_VECTOR, sizeof t->turn);
	t->port[NPU_ENGINE_LOAD].channels = (unsigned)hw->dma.load_channels;
	t->port[NPU_ENGINE_STORE].channels = (unsigned)hw->dma.store_channels;
	for (unsigned p = 0; p < 2; p++)
		t->port[p].last = t->port[p].channels - 1;
	return t;
}

/* ---- random mixes ---- */

static uint64_t seed;
static uint32_t random_below(uint32_t n)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return n ? (uint32_t)(seed >> 33) % n : 0;
}
static uint32_t one_of(const uint32_t *values, uint32_t n) { return values[random_below(n)]; }
#define ONE_OF(...) one_of((const uint32_t[]){ __VA_ARGS__ }, sizeof(uint32_t[]){ __VA_ARGS__ } / sizeof(uint32_t))

static struct hw random_hw(void)
{
	struct hw hw = edge();
	hw.sram.groups = ONE_OF(1, 2, 3, 4, 8);
	hw.sram.banks = hw.sram.groups * ONE_OF(1, 2, 3, 4, 8, 16, 16);
	if (random_below(8) == 0)
		hw.sram.banks = hw.sram.groups * (128 / hw.sram.groups);
	hw.sram.bank_bytes = ONE_OF(4, 16, 32, 64);
	hw.sram.size = hw.sram.banks * hw.sram.bank_bytes * ONE_OF(64, 100, 256);
	hw.accum.banks = ONE_OF(1, 2, 3, 8);
	hw.matrix.cols = ONE_OF(4, 8, 32);
	hw.vector.lanes = ONE_OF(8, 16, 32);
	hw.accum.size = hw.accum.banks * accum_word(&hw) * ONE_OF(8, 30);
	hw.dma.load_channels = 1 + random_below(4);
	hw.dma.store_channels = 1 + random_below(3);
	hw.dma.port = ONE_OF(8, 32, 64);
	hw.dma.outstanding = 1 + random_below(8);
	return hw;
}

static uint32_t random_local(const struct hw *hw, uint32_t bytes)
{
	bool accum = random_below(3) == 0;
	uint64_t size = accum ? hw->accum.size : hw->sram.size;
	if (bytes > size)
		return 0;
	uint32_t offset = random_below((uint32_t)(size - bytes) + 1);
	if (random_below(2))
		offset &= ~63u;
	return offset | (accum ? NPU_ACC_BIT : 0);
}

static struct memory_walk random_walk(const struct hw *hw, uint64_t begin)
{
	struct memory_walk w = { .begin = begin + random_below(40), .write = random_below(2), .by_column = random_below(4) == 0 };
	uint64_t least = hw->sram.size < hw->accum.size ? hw->sram.size : hw->accum.size;
	w.end = w.begin + 1 + random_below(60);
	do {
		w.rows = 1 + random_below(ONE_OF(2, 20, 20, 20, 20, 100));
		w.row_bytes = 1 + random_below(ONE_OF(4, 20, 80, 80, 300));
		w.stride = random_below(4) ? w.row_bytes + random_below(ONE_OF(1, 4, 64)) : 0;
		if (random_below(2) && w.stride)
			w.stride = (w.stride + 63) & ~63u;
	} while ((uint64_t)(w.rows - 1) * w.stride + w.row_bytes > least);
	w.local = random_local(hw, (w.rows - 1) * w.stride + w.row_bytes);
	return w;
}

static void push_both(struct memory *m, struct twin *t, enum npu_engine port, uint32_t tag)
{
	struct twin_port *p = &t->port[port];
	unsigned channel = random_below(p->channels);
	uint32_t bytes = 1 + random_below(ONE_OF(16, 64, 256));
	uint32_t local = random_local(t->hw, bytes);
	uint64_t at = t->now + random_below(8);
	bool write = port == NPU_ENGINE_LOAD;
	uint64_t order = random_below(3);
	memory_push(m, port,
		    &(struct memory_burst){ .at = at, .order = order, .channel = channel, .local = local, .bytes = bytes,
					    .write = write, .tag = tag });
	must(p->tail[channel] - p->head[channel] < BURSTS_MAX, "bursts fit a channel");
	/* Behind all that come no later; what crosses already came before now. */
	unsigned i = p->tail[channel]++;
	for (; i != p->head[channel]; i--) {
		const struct twin_burst *before = &p->burst[channel][(i - 1) % BURSTS_MAX];
		if (before->at < at || (before->at == at && before->order <= order))
			break;
		p->burst[channel][i % BURSTS_MAX] = *before;
	}
	p->burst[channel][i % BURSTS_MAX] = (struct twin_burst){ .at = at, .order = order, .local = local, .bytes = bytes,
								 .tag = tag, .write = write };
}

static void mix_streams(struct memory *m, struct twin *t, struct script *script, enum npu_engine port,
			struct memory_stream *stream)
{
	struct twin_port *p = &t->port[port];
	bool idle = p->passed >= p->end;
	if (random_below(idle ? 20 : 60))
		return;
	memory_advance(m, t->now);
	uint64_t first = idle ? random_below(100) : p->passed + p->under_way;
	must(memory_fresh(m, port) == p->passed + p->under_way, "a beat that was denied has begun");
	/* Walks that are over make room; new ones begin in beats that have not begun. */
	unsigned kept = 0;
	for (unsigned i = 0; i < script->n; i++)
		if (!idle && script->walk[i].end > p->passed)
			script->walk[kept++] = script->walk[i];
	script->n = kept;
	uint64_t end = idle ? first + 1 : p->end;
	for (unsigned n = 1 + random_below(4); n && script->n < WALKS; n--) {
		script->walk[script->n] = random_walk(t->hw, first);
		if (script->walk[script->n].end > end)
			end = script->walk[script->n].end;
		script->n++;
	}
	if (idle) {
		memory_begin(m, port, t->now, stream, first, end);
		p->passed = first;
		p->script = script;
	} else {
		memory_extend(m, port, end);
	}
	p->end = end;
	struct memory_reach reach = script_reach(m, script);
	memory_set_reach(m, port, &reach);
}

static void compare_logs(const struct log *a, const struct log *b, uint64_t cycles)
{
	for (unsigned p = 0; p < NPU_ENGINES; p++)
		for (uint64_t t = 0; t < cycles; t++)
			if (a->state[p][t] != b->state[p][t])
				ck_abort_msg("port %u cycle %llu: %c, twin %c", p, (unsigned long long)t, a->state[p][t],
					     b->state[p][t]);
	ck_assert_uint_eq(a->n, b->n);
	for (unsigned p = 0; p < NPU_ENGINES; p++)
		for (unsigned i = 0, j = 0; i < a->n; i++) {
			if (a->done[i].port != p)
				continue;
			while (b->done[j].port != p)
				j++;
			must(a->done[i].tag == b->done[j].tag && a->done[i].cycle == b->done[j].cycle, "bursts end alike");
			j++;
		}
}

static void one_mix(uint64_t number, uint64_t cycles)
{
	static struct log log;
	seed = number;
	struct hw hw = random_hw();
	struct memory *m = listened(&hw, false, &log);
	struct twin *t = twin_new(&hw);
	struct script script[2] = { { 0 }, { 0 } };
	struct memory_stream stream[2] = { { &script[0], script_segment }, { &script[1], script_segment } };
	uint32_t rate[2] = { ONE_OF(3, 10, 40, 1000), ONE_OF(3, 10, 40, 1000) };
	uint32_t tag = 0;

	while (t->now < cycles) {
		for (unsigned p = 0; p < 2; p++) {
			unsigned queued = 0;
			for (unsigned c = 0; c < t->port[p].channels; c++)
				queued += t->port[p].tail[c] - t->port[p].head[c];
			if (queued < 64 && !random_below(rate[p]))
				push_both(m, t, (enum npu_engine)p, tag++);
		}
		mix_streams(m, t, &script[0], NPU_ENGINE_MATRIX, &stream[0]);
		mix_streams(m, t, &script[1], NPU_ENGINE_VECTOR, &stream[1]);
		if (!random_below(12)) {
			memory_advance(m, t->now);
			for (unsigned p = NPU_ENGINE_MATRIX; p <= NPU_ENGINE_VECTOR; p++)
				must(memory_passed(m, (enum npu_engine)p) == t->port[p].passed, "as many beats have passed");
		}
		twin_cycle(t);
	}
	memory_advance(m, cycles);
	compare_logs(&log, &t->log, cycles);
	memory_free(m);
	free(t->known);
	free(t);
}

START_TEST(random_mixes_of_ports_are_served_as_by_a_twin_that_goes_word_by_word)
{
	for (uint64_t i = 0; i < 50; i++)
		one_mix((uint64_t)_i * 50 + i + 1, 600);
}
END_TEST

/* ---- the rules ---- */

static void push(struct memory *m, enum npu_engine port, unsigned channel, uint64_t at, uint32_t local, uint32_t bytes,
		 uint32_t tag)
{
	memory_push(m, port,
		    &(struct memory_burst){ .at = at, .channel = channel, .local = local, .bytes = bytes,
					    .write = port == NPU_ENGINE_LOAD, .tag = tag });
}

START_TEST(a_burst_alone_crosses_in_a_beat_a_cycle)
{
	/* 256 bytes at 32 a cycle: 8 cycles from 10 on. */
	struct hw hw = edge();
	static struct log log;
	struct memory *m = listened(&hw, false, &log);
	push(m, NPU_ENGINE_LOAD, 0, 10, 0, 256, 7);
	ck_assert_uint_eq(memory_next(m, NPU_ENGINE_LOAD), 18);
	memory_advance(m, 30);
	ck_assert_uint_eq(log.n, 1);
	ck_assert_uint_eq(log.done[0].cycle, 18);
	expect_states(&log, NPU_ENGINE_LOAD, "..........bbbbbbbb..");
	memory_free(m);
}
END_TEST

START_TEST(two_channels_of_a_port_take_turns)
{
	/* 4 beats each, channel 0 first: 0101 0101, so they end at 7 and 8. */
	struct hw hw = edge();
	static struct log log;
	struct memory *m = listened(&hw, false, &log);
	push(m, NPU_ENGINE_LOAD, 0, 0, 0, 128, 0);
	push(m, NPU_ENGINE_LOAD, 1, 0, 4096, 128, 1);
	ck_assert_uint_eq(memory_next(m, NPU_ENGINE_LOAD), 7);
	memory_advance(m, 10);
	ck_assert_uint_eq(log.done[0].cycle, 7);
	ck_assert_uint_eq(log.done[1].cycle, 8);
	memory_free(m);
}
END_TEST

START_TEST(bursts_of_a_channel_cross_in_the_order_in_which_they_may)
{
	/* Pushed last, crosses first: 4 beats from 3 on, then those of 5: the lower order from 7 to 9, then the other. */
	struct hw hw = edge();
	static struct log log;
	struct memory *m = listened(&hw, false, &log);
	struct memory_burst burst = { .at = 5, .order = 2, .bytes = 64, .tag = 1 };
	memory_push(m, NPU_ENGINE_LOAD, &burst);
	burst.order = burst.tag = 0;
	memory_push(m, NPU_ENGINE_LOAD, &burst);
	push(m, NPU_ENGINE_LOAD, 0, 3, 0, 128, 2);
	ck_assert_uint_eq(memory_channel_end(m, NPU_ENGINE_LOAD, 0), 11);
	ck_assert_uint_eq(memory_channel_end(m, NPU_ENGINE_LOAD, 1), NPU_NEVER);
	memory_advance(m, 20);
	static const uint32_t tags[] = { 2, 0, 1 };
	static const uint64_t cycles[] = { 7, 9, 11 };
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_uint_eq(log.done[i].tag, tags[i]);
		ck_assert_uint_eq(log.done[i].cycle, cycles[i]);
	}
	memory_free(m);
}
END_TEST

START_TEST(load_and_store_in_one_bank_alternate)
{
	/* Both walk banks 0 1 2 3 from cycle 0 on: load wins bank 0 in cycle 0, is one bank ahead, and they never meet again. */
	struct hw hw = edge();
	static struct log log;
	struct memory *m = listened(&hw, false, &log);
	push(m, NPU_ENGINE_LOAD, 0, 0, 0, 128, 0);
	push(m, NPU_ENGINE_STORE, 0, 0, 1024, 128, 1);
	memory_advance(m, 10);
	expect_states(&log, NPU_ENGINE_LOAD, "bbbb..");
	expect_states(&log, NPU_ENGINE_STORE, "sbbbb.");
	memory_free(m);
}
END_TEST

START_TEST(different_groups_never_meet)
{
	struct hw hw = edge();
	static struct log log;
	struct memory *m = listened(&hw, false, &log);
	push(m, NPU_ENGINE_LOAD, 0, 0, 0, 128, 0);
	push(m, NPU_ENGINE_STORE, 0, 0, GROUP, 128, 1);
	memory_advance(m, 10);
	expect_states(&log, NPU_ENGINE_STORE, "bbbb..");
	memory_free(m);
}
END_TEST

/* Begins a stream of one walk. */
static void begin_walk(struct memory *m, enum npu_engine port, struct script *s, struct memory_stream *stream,
		       struct memory_walk walk)
{
	s->walk[s->n++] = walk;
	*stream = (struct memory_stream){ s, script_segment };
	memory_begin(m, port, 0, stream, 0, walk.end);
	struct memory_reach reach = script_reach(m, s);
	memory_set_reach(m, port, &reach);
}

START_TEST(a_bank_of_the_accumulators_reads_and_writes_in_one_cycle)
{
	/* Matrix writes rows of 128 B into bank 0 while the vector engine reads others there: nobody waits. */
	struct hw hw = edge();
	static struct log log;
	struct memory *m = listened(&hw, false, &log);
	struct script s[2] = { { 0 }, { 0 } };
	struct memory_stream stream[2];
	begin_walk(m, NPU_ENGINE_MATRIX, &s[0], &stream[0],
		   (struct memory_walk){ 0, 8, NPU_ACC_BIT, 128, 8, 128, true, false });
	begin_walk(m, NPU_ENGINE_VECTOR, &s[1], &stream[1],
		   (struct memory_walk){ 0, 8, NPU_ACC_BIT + 4096, 128, 8, 128, false, false });
	memory_advance(m, 8);
	ck_assert_uint_eq(memory_passed(m, NPU_ENGINE_MATRIX), 8);
	ck_assert_uint_eq(memory_passed(m, NPU_ENGINE_VECTOR), 8);
	memory_free(m);
}
END_TEST

START_TEST(two_readers_of_one_accumulator_bank_share_it)
{
	/* Both need the bank every cycle: 8 beats each in 16 cycles, in turn. */
	struct hw hw = edge();
	static struct log log;
	struct memory *m = listened(&hw, false, &log);
	struct script s[2] = { { 0 }, { 0 } };
	struct memory_stream stream[2];
	for (unsigned i = 0; i < 2; i++)
		begin_walk(m, i ? NPU_ENGINE_VECTOR : NPU_ENGINE_MATRIX, &s[i], &stream[i],
			   (struct memory_walk){ 0, 8, NPU_ACC_BIT, 128, 8, 128, false, false });
	memory_advance(m, 15);
	ck_assert_uint_eq(memory_passed(m, NPU_ENGINE_MATRIX), 8);
	ck_assert_uint_eq(memory_passed(m, NPU_ENGINE_VECTOR), 7);
	memory_advance(m, 16);
	ck_assert_uint_eq(memory_passed(m, NPU_ENGINE_VECTOR), 8);
	expect_states(&log, NPU_ENGINE_VECTOR, "a.a.a.a.a.a.a.a..");
	memory_free(m);
}
END_TEST

START_TEST(two_words_of_a_beat_in_one_bank_take_two_cycles)
{
	/* Two walks of one port, both a word of bank 0 a beat: every beat is denied once. */
	struct hw hw = edge();
	static struct log log;
	struct memory *m = listened(&hw, false, &log);
	struct script s = { 0 };
	struct memory_stream stream;
	s.walk[s.n++] = (struct memory_walk){ 0, 4, 4096, 32, 4, 128, false, false };
	begin_walk(m, NPU_ENGINE_VECTOR, &s, &stream, (struct memory_walk){ 0, 4, 0, 32, 4, 128, false, false });
	memory_advance(m, 8);
	ck_assert_uint_eq(memory_passed(m, NPU_ENGINE_VECTOR), 4);
	expect_states(&log, NPU_ENGINE_VECTOR, "s.s.s.s.");
	memory_free(m);
}
END_TEST

START_TEST(nothing_is_denied_in_an_ideal_memory)
{
	struct hw hw = edge();
	static struct log log;
	struct memory *m = listened(&hw, true, &log);
	struct script s[2] = { { 0 }, { 0 } };
	struct memory_stream stream[2];
	for (unsigned i = 0; i < 2; i++)
		begin_walk(m, i ? NPU_ENGINE_VECTOR : NPU_ENGINE_MATRIX, &s[i], &stream[i],
			   (struct memory_walk){ 0, 8, 0, 32, 8, 128, false, false });
	push(m, NPU_ENGINE_LOAD, 0, 0, 0, 256, 0);
	memory_advance(m, 8);
	ck_assert_uint_eq(memory_passed(m, NPU_ENGINE_MATRIX), 8);
	ck_assert_uint_eq(memory_passed(m, NPU_ENGINE_VECTOR), 8);
	ck_assert_uint_eq(log.done[0].cycle, 8);
	memory_free(m);
}
END_TEST

START_TEST(bytes_are_counted_a_port_and_a_memory)
{
	struct hw hw = edge();
	static struct log log;
	struct memory *m = listened(&hw, false, &log);
	push(m, NPU_ENGINE_LOAD, 0, 0, 0, 100, 0);
	push(m, NPU_ENGINE_STORE, 0, 0, NPU_ACC_BIT, 60, 0);
	memory_count(m, NPU_ENGINE_MATRIX, true, 5);
	ck_assert_uint_eq(memory_bytes(m, NPU_ENGINE_LOAD, false), 100);
	ck_assert_uint_eq(memory_bytes(m, NPU_ENGINE_LOAD, true), 0);
	ck_assert_uint_eq(memory_bytes(m, NPU_ENGINE_STORE, true), 60);
	ck_assert_uint_eq(memory_bytes(m, NPU_ENGINE_MATRIX, true), 5);
	memory_free(m);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory");
	TCase *rules = tcase_create("rules");
	tcase_add_test(rules, a_burst_alone_crosses_in_a_beat_a_cycle);
	tcase_add_test(rules, two_channels_of_a_port_take_turns);
	tcase_add_test(rules, bursts_of_a_channel_cross_in_the_order_in_which_they_may);
	tcase_add_test(rules, load_and_store_in_one_bank_alternate);
	tcase_add_test(rules, different_groups_never_meet);
	tcase_add_test(rules, a_bank_of_the_accumulators_reads_and_writes_in_one_cycle);
	tcase_add_test(rules, two_readers_of_one_accumulator_bank_share_it);
	tcase_add_test(rules, two_words_of_a_beat_in_one_bank_take_two_cycles);
	tcase_add_test(rules, nothing_is_denied_in_an_ideal_memory);
	tcase_add_test(rules, bytes_are_counted_a_port_and_a_memory);
	suite_add_tcase(suite, rules);
	TCase *twin = tcase_create("twin");
	tcase_add_loop_test(twin, random_mixes_of_ports_are_served_as_by_a_twin_that_goes_word_by_word, 0, 40);
	suite_add_tcase(suite, twin);
	return npu_suite_run(suite);
}
