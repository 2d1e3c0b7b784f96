/* SPDX-License-Identifier: Apache-2.0 */
/* The walk back from the end of a run. All that it asks for is in the event record. */
#include "sim/critical.h"

#include "models/matrix.h"
#include "sim/record_grow.h"
#include "sim/sites.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name, *doc;
} kinds[CRITICAL_KINDS] = {
#define CRITICAL(NAME, text, doc) { text, doc },
#include "sim/critical.def"
};

const char *critical_kind_name(enum critical_kind kind) { return kinds[kind].name; }

const char *critical_kind_doc(enum critical_kind kind) { return kinds[kind].doc; }

const char *critical_enabler_name(enum critical_enabler by)
{
	static const char *const names[] = {
#define ENABLED(NAME, text, doc) text,
#include "sim/critical.def"
	};
	return names[by];
}

struct walk {
	struct critical *path;
	const struct record *record;
	const struct hw *hw;
	bool ideal_matrix;
	uint32_t *before;      /* [ninsns] the one before it in its queue, or PROBE_NOBODY */
	uint32_t *served;      /* [ninsns] the last one before it in its queue that is no sync, or PROBE_NOBODY */
	uint64_t *taken;       /* [ninsns] when it left its queue: its start, but a sync is told to start at its end */
	uint32_t *queue[NPU_ENGINES]; /* instructions of each engine in order */
	uint32_t nqueue[NPU_ENGINES];
	uint64_t sync_latency;
	bool failed;
};

/* A place on the path: `insn` up to `time`, in service or, `starting`, what came before its start. */
struct place {
	uint32_t insn; /* PROBE_NOBODY: the path is at its beginning */
	uint64_t time;
	bool starting;
};

/* What an instruction waited for last; where the path goes on. */
struct cause {
	enum critical_enabler by;
	uint64_t known; /* when it let the instruction go */
	struct place place;
};

static const struct place launched = { .insn = PROBE_NOBODY };

static bool is_known(const struct walk *w, uint32_t insn) { return insn < w->record->program->ninsns; }

static const struct probe_insn *event_of(const struct walk *w, uint32_t insn) { return &w->record->events[insn]; }

static bool is_sync(const struct walk *w, uint32_t insn) { return npu_op_is_sync(w->record->program->insns[insn].op); }

/* The chain is built backwards. */
static void add(struct walk *w, uint64_t from, uint64_t to, uint32_t insn, enum critical_kind kind)
{
	struct critical *c = w->path;
	void *items = c->segments;
	if (from >= to || w->failed)
		return;
	struct critical_segment *last = c->nsegments > 0 ? &c->segments[c->nsegments - 1] : NULL;
	if (last && last->insn == insn && last->kind == kind && last->from == to) {
		last->from = from;
		return;
	}
	if (!record_grow(&items, &c->room, c->nsegments + 1, sizeof(*c->segments))) {
		w->failed = true;
		return;
	}
	c->segments = items;
	c->segments[c->nsegments++] = (struct critical_segment){ from, to, insn, kind };
}

/* The first span that ends after `time`. */
static uint64_t span_at(const struct record_spans *spans, uint64_t time)
{
	uint64_t lo = 0, hi = spans->count;
	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;
		if (spans->items[mid].to <= time)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Cycles of an engine between two times in states of a set, a bit each. */
static uint64_t cycles_in(const struct record_spans *spans, uint32_t states, uint64_t from, uint64_t to)
{
	uint64_t cycles = 0, at = from;
	for (uint64_t i = span_at(spans, from); at < to && i < spans->count; i++) {
		uint64_t until = spans->items[i].to < to ? spans->items[i].to : to;
		cycles += states >> spans->items[i].state & 1 ? until - at : 0;
		at = until;
	}
	return cycles;
}

/* ---- in service: what held an instruction up that had started ---- */

/* The array counts in beats: a cycle in which a bank denies a word is none. */
static uint64_t beats_between(const struct walk *w, uint64_t from, uint64_t to)
{
	uint32_t denied = 1u << NPU_STATE_SRAM_CONFLICT | 1u << NPU_STATE_ACCUM_CONFLICT;
	return to - from - cycles_in(&w->record->spans[NPU_ENGINE_MATRIX], denied, from, to);
}

/* Products overlap: one is accepted, and loads its first weights, while the one before streams. Its stream, and its results,
 * come behind those of that one: where they were held by them the path goes on there, at that time; else its own start is
 * what counts. */
static struct place product_before(const struct walk *w, uint32_t insn, uint64_t time)
{
	const struct probe_insn *e = event_of(w, insn), *before = event_of(w, w->served[insn]);
	struct place own = { insn, w->taken[insn], true };
	struct matrix_plan plan = { 0 };
	if (!w->ideal_matrix)
		plan = matrix_plan(w->hw, &w->record->program->insns[insn]);
	bool serial = w->hw->matrix.weight_load == HW_LOAD_SERIAL;
	if (time == e->end && before->end > e->stream_end && before->end < time &&
	    beats_between(w, e->stream_end, e->end) > plan.latency)
		return (struct place){ w->served[insn], before->end, false };
	if (time < e->stream_begin || before->end <= e->start)
		return own;
	bool behind = !serial && e->stream_begin == before->stream_end;
	if (!behind && beats_between(w, e->start, e->stream_begin) <= plan.transposer + plan.load)
		return own;
	return (struct place){ w->served[insn], serial ? before->end : e->stream_begin, false };
}

/* Transfers of one engine share its port and end in order. One that ends with the one before was held by it. One that moved
 * data as soon as the one before had ended, which had moved data all along, could not have ended earlier by starting
 * earlier: the data of both go through one door. Measured where it matters: about the end of the one before, as far as they
 * were both in service. */
static struct place transfer_before(const struct walk *w, uint32_t insn, uint64_t time)
{
	enum { IDLE_SHARE = 4 };
	const struct probe_insn *e = event_of(w, insn), *before = event_of(w, w->served[insn]);
	const uint32_t waiting = 1u << NPU_STATE_DMA_SETUP | 1u << NPU_STATE_DRAM_LATENCY | 1u << NPU_STATE_ENGINE_LATENCY;
	uint64_t both = before->end > e->start ? before->end - e->start : 0;
	uint64_t alone = time - before->end < both ? time - before->end : both;
	if (both == 0 || (alone > 0 && cycles_in(&w->record->spans[e->engine], waiting, e->start, before->end + alone) * IDLE_SHARE >=
					   both + alone))
		return (struct place){ insn, w->taken[insn], true };
	return (struct place){ w->served[insn], before->end, false };
}

static struct place sync_before(const struct walk *w, uint32_t insn, uint64_t time)
{
	uint32_t before = w->served[insn];
	if (w->taken[insn] < time && is_known(w, before) && event_of(w, before)->end == time)
		return (struct place){ before, time, false };
	return (struct place){ insn, w->taken[insn], true };
}

static struct place in_service(const struct walk *w, uint32_t insn, uint64_t time)
{
	struct place own = { insn, w->taken[insn], true };
	if (is_sync(w, insn))
		return sync_before(w, insn, time);
	if (!is_known(w, w->served[insn]) || event_of(w, w->served[insn])->end > event_of(w, insn)->end)
		return own;
	switch (npu_op_engine(w->record->program->insns[insn].op)) {
	case NPU_ENGINE_MATRIX:
		return product_before(w, insn, time);
	case NPU_ENGINE_LOAD:
	case NPU_ENGINE_STORE:
		return transfer_before(w, insn, time);
	case NPU_ENGINE_VECTOR:
	case NPU_ENGINES:
		break;
	}
	return own;
}

/* ---- at the start: what came last of all that had to come before it ---- */

static enum npu_engine engine_of_full(uint32_t state)
{
	switch ((enum npu_seq_state)state) {
	case NPU_SEQ_FULL_LOAD:
		return NPU_ENGINE_LOAD;
	case NPU_SEQ_FULL_STORE:
		return NPU_ENGINE_STORE;
	case NPU_SEQ_FULL_MATRIX:
		return NPU_ENGINE_MATRIX;
	case NPU_SEQ_FULL_VECTOR:
		return NPU_ENGINE_VECTOR;
	case NPU_SEQ_LAUNCH:
	case NPU_SEQ_ISSUE:
	case NPU_SEQ_FETCH:
	case NPU_SEQ_DONE:
	case NPU_SEQ_STATES:
		break;
	}
	return NPU_ENGINES;
}

/* The instruction of a queue that left it at `time`, the first of several; PROBE_NOBODY: none. */
static uint32_t taken_at(const struct walk *w, enum npu_engine e, uint64_t time)
{
	uint32_t lo = 0, hi = w->nqueue[e];
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (w->taken[w->queue[e][mid]] < time)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < w->nqueue[e] && w->taken[w->queue[e][lo]] == time ? w->queue[e][lo] : PROBE_NOBODY;
}

/* The sequencer issued `insn` at `time`: back over its spans until one in which a full queue held it, and to the start of the
 * instruction that made room; or to the launch. */
static struct place before_issue(struct walk *w, uint32_t insn, uint64_t time)
{
	const struct record_spans *spans = &w->record->sequencer_spans;
	uint64_t launch = 0;
	for (uint64_t i = time > 0 ? span_at(spans, time - 1) + 1 : 0; i-- > 0;) {
		if (i >= spans->count)
			continue;
		const struct record_span *s = &spans->items[i];
		enum npu_engine full = engine_of_full(s->state);
		if (s->state == NPU_SEQ_LAUNCH)
			launch = s->to < time ? s->to : time;
		if (full == NPU_ENGINES || s->to > time)
			continue;
		uint32_t other = taken_at(w, full, s->to);
		if (!is_known(w, other) || other >= insn)
			continue;
		add(w, s->to, time, insn, CRITICAL_DISPATCH);
		return (struct place){ other, s->to, true };
	}
	add(w, launch, time, insn, CRITICAL_DISPATCH);
	add(w, 0, launch, PROBE_NOBODY, CRITICAL_LAUNCH);
	return launched;
}

/* The post that a wait of the instruction saw last; false: it waited for none. */
static bool last_post(const struct walk *w, uint32_t insn, uint64_t *seen, uint32_t *by)
{
	const struct probe_insn *e = event_of(w, insn);
	bool any = false;
	for (unsigned i = 0; i < NPU_SYNC_SLOTS; i++) {
		if (!is_known(w, e->enabled_by[i]))
			continue;
		uint64_t at = event_of(w, e->enabled_by[i])->end + w->sync_latency;
		if (any && at <= *seen)
			continue;
		any = true;
		*seen = at;
		*by = e->enabled_by[i];
	}
	return any;
}

/* The one of its engine that ended when this one started: it gave a channel, or the bytes that both write. */
static uint32_t made_room(const struct walk *w, uint32_t insn, uint64_t start)
{
	uint32_t other = w->served[insn];
	while (is_known(w, other) && event_of(w, other)->end > start)
		other = w->served[other];
	return is_known(w, other) && event_of(w, other)->end == start ? other : PROBE_NOBODY;
}

/* Why `insn` left its queue at `start`, and where the path goes on. The engine itself is asked last, for what it waited for is
 * known of all but it; but one that takes an instruction at a time waited for the one before for certain. */
static struct cause cause_of(const struct walk *w, uint32_t insn, uint64_t start)
{
	const struct probe_insn *e = event_of(w, insn);
	uint64_t seen = 0;
	uint32_t by = PROBE_NOBODY, before = w->served[insn];
	bool waited = last_post(w, insn, &seen, &by), follows = is_known(w, before) && !is_sync(w, insn);
	if (follows && e->engine == NPU_ENGINE_VECTOR && event_of(w, before)->end == start)
		return (struct cause){ ENABLED_HAND_OFF, start, { before, start, false } };
	if (waited && seen == start)
		return (struct cause){ ENABLED_POST, start, { by, event_of(w, by)->end, false } };
	if (e->issued == start)
		return (struct cause){ ENABLED_DISPATCH, start, { insn, start, true } };
	if (e->head == start && is_known(w, w->before[insn]))
		return (struct cause){ ENABLED_TURN, start, { w->before[insn], start, true } };
	if (follows && e->engine == NPU_ENGINE_MATRIX && event_of(w, before)->end >= start)
		return (struct cause){ ENABLED_HAND_OFF, start, { before, start, false } };
	uint32_t room = follows ? made_room(w, insn, start) : PROBE_NOBODY;
	if (is_known(w, room))
		return (struct cause){ ENABLED_HAND_OFF, start, { room, start, false } };
	/* Its engine took its time. No engine of this machine does. */
	if (waited && seen < start && seen > e->head)
		return (struct cause){ ENABLED_POST, seen, { by, event_of(w, by)->end, false } };
	if (e->head > e->issued && e->head < start && is_known(w, w->before[insn]))
		return (struct cause){ ENABLED_TURN, e->head, { w->before[insn], e->head, true } };
	return (struct cause){ ENABLED_DISPATCH, e->issued < start ? e->issued : start, { insn, e->issued, true } };
}

static struct place at_start(struct walk *w, uint32_t insn, uint64_t start)
{
	struct cause cause = cause_of(w, insn, start);
	add(w, cause.known, start, insn, CRITICAL_HAND_OFF);
	if (cause.by == ENABLED_DISPATCH)
		return before_issue(w, insn, cause.known);
	if (cause.by == ENABLED_POST)
		add(w, cause.place.time, cause.known, insn, CRITICAL_POST);
	return cause.place;
}

/* One link back. */
static struct place step(struct walk *w, struct place at)
{
	if (at.starting)
		return at_start(w, at.insn, at.time);
	struct place next = in_service(w, at.insn, at.time);
	next.time = next.time < at.time ? next.time : at.time;
	add(w, next.time, at.time, at.insn, CRITICAL_SERVICE);
	return next;
}

static uint32_t last_to_end(const struct record *r)
{
	uint32_t last = PROBE_NOBODY;
	for (uint32_t i = 0; i < r->program->ninsns; i++)
		if (last == PROBE_NOBODY || r->events[i].end > r->events[last].end)
			last = i;
	return last;
}

static void walk_back(struct walk *w, uint64_t cycles)
{
	uint32_t last = last_to_end(w->record);
	struct place at = { last, is_known(w, last) ? event_of(w, last)->end : 0, false };
	/* An instruction waits for none that was issued after it in a legal program, and for none that ended later in any: so
	 * the walk ends; the bound is for records that contradict themselves. */
	uint64_t steps = 8ull * w->record->program->ninsns + 8;
	add(w, at.time, cycles, PROBE_NOBODY, is_known(w, last) ? CRITICAL_DRAIN : CRITICAL_LAUNCH);
	while (is_known(w, at.insn) && steps-- > 0)
		at = step(w, at);
}

/* A sync is told with its end; it left its queue when its waits held, which the one behind it knows best. */
static void find_taken(struct walk *w, enum npu_engine e)
{
	for (uint32_t i = 0; i < w->nqueue[e]; i++) {
		uint32_t insn = w->queue[e][i], by;
		const struct probe_insn *event = event_of(w, insn);
		const struct probe_insn *next = i + 1 < w->nqueue[e] ? event_of(w, w->queue[e][i + 1]) : NULL;
		uint64_t seen = 0;
		w->taken[insn] = event->start;
		if (!is_sync(w, insn))
			continue;
		w->taken[insn] = event->head;
		if (next && next->head > next->issued)
			w->taken[insn] = next->head;
		else if (last_post(w, insn, &seen, &by) && seen > event->head)
			w->taken[insn] = seen;
		if (w->taken[insn] > event->end)
			w->taken[insn] = event->end;
	}
}

static bool find_neighbours(struct walk *w)
{
	const struct npu_program *p = w->record->program;
	uint32_t last[NPU_ENGINES], served[NPU_ENGINES];
	memset(last, 0xff, sizeof(last));
	memset(served, 0xff, sizeof(served));
	w->before = malloc((p->ninsns + 1ull) * sizeof(*w->before));
	w->served = malloc((p->ninsns + 1ull) * sizeof(*w->served));
	w->taken = malloc((p->ninsns + 1ull) * sizeof(*w->taken));
	w->queue[0] = malloc((p->ninsns + 1ull) * sizeof(*w->queue[0]));
	if (!w->before || !w->served || !w->taken || !w->queue[0])
		return false;
	for (uint32_t i = 0; i < p->ninsns; i++)
		w->nqueue[npu_op_engine(p->insns[i].op)]++;
	for (unsigned e = 1; e < NPU_ENGINES; e++)
		w->queue[e] = w->queue[e - 1] + w->nqueue[e - 1];
	memset(w->nqueue, 0, sizeof(w->nqueue));
	for (uint32_t i = 0; i < p->ninsns; i++) {
		enum npu_engine e = npu_op_engine(p->insns[i].op);
		w->queue[e][w->nqueue[e]++] = i;
		w->before[i] = last[e];
		w->served[i] = served[e];
		last[e] = i;
		if (!is_sync(w, i))
			served[e] = i;
	}
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		find_taken(w, (enum npu_engine)e);
	return true;
}

static void reverse(struct critical *c)
{
	for (uint64_t i = 0, j = c->nsegments; i + 1 < j; i++) {
		struct critical_segment other = c->segments[--j];
		c->segments[j] = c->segments[i];
		c->segments[i] = other;
	}
}

/* What each instruction waited for last: of its start, or in service. */
static bool find_enablers(struct critical *c, const struct walk *w)
{
	uint32_t n = w->record->program->ninsns;
	c->enabled = calloc(n + 1ull, sizeof(*c->enabled));
	for (uint32_t i = 0; c->enabled && i < n; i++) {
		struct place held = in_service(w, i, event_of(w, i)->end);
		struct cause cause = cause_of(w, i, w->taken[i]);
		enum npu_engine e = event_of(w, i)->engine;
		if (held.insn == i)
			c->enabled[i] = (struct critical_enabled){ cause.by, cause.by == ENABLED_DISPATCH ? PROBE_NOBODY : cause.place.insn };
		else
			c->enabled[i] = (struct critical_enabled){
				is_sync(w, i) ? ENABLED_TURN : e == NPU_ENGINE_MATRIX ? ENABLED_STREAM : ENABLED_PORT, held.insn,
			};
	}
	return c->enabled != NULL;
}

/* The states of the engine within a segment of service. */
static void count_states(struct critical *c, const struct record *r, const struct critical_segment *s)
{
	enum npu_engine e = npu_op_engine(r->program->insns[s->insn].op);
	const struct record_spans *spans = &r->spans[e];
	uint64_t lo = span_at(spans, s->from);
	for (uint64_t at = s->from; at < s->to && lo < spans->count; lo++) {
		uint64_t to = spans->items[lo].to < s->to ? spans->items[lo].to : s->to;
		c->service[e][spans->items[lo].state] += to - at;
		at = to;
	}
}

static int by_cycles(const void *x, const void *y)
{
	const struct critical_site *a = x, *b = y;
	if (a->cycles != b->cycles)
		return a->cycles > b->cycles ? -1 : 1;
	return (a->insn > b->insn) - (a->insn < b->insn);
}

/* Service by site, `of` an instruction (NULL: its number); sites without any are left out. NULL when out of memory. */
static struct critical_site *count_by(const struct critical *c, const uint32_t *of, uint32_t n, uint32_t *found)
{
	struct critical_site *all = calloc(n + 1ull, sizeof(*all));
	for (uint64_t i = 0; all && i < c->nsegments; i++) {
		const struct critical_segment *s = &c->segments[i];
		if (s->kind != CRITICAL_SERVICE)
			continue;
		struct critical_site *site = &all[of ? of[s->insn] : s->insn];
		if (site->segments++ == 0 || s->insn < site->insn)
			site->insn = s->insn;
		site->cycles += s->to - s->from;
	}
	uint32_t used = 0;
	for (uint32_t i = 0; all && i < n; i++)
		if (all[i].segments > 0)
			all[used++] = all[i];
	if (all)
		qsort(all, used, sizeof(*all), by_cycles);
	*found = used;
	return all;
}

static bool count_sites(struct critical *c, const struct npu_program *p)
{
	struct sites sites;
	bool ok = sites_init(&sites, p);
	if (ok) {
		c->sites = count_by(c, sites.of, sites.n, &c->nsites);
		c->insns = count_by(c, NULL, p->ninsns, &c->ninsns);
	}
	sites_fini(&sites);
	return c->sites && c->insns;
}

/* By construction; a record that contradicts itself must not become figures. */
static bool adds_up(const struct critical *c, uint64_t cycles)
{
	uint64_t at = 0, service = 0;
	for (uint64_t i = 0; i < c->nsegments; at = c->segments[i++].to)
		if (c->segments[i].from != at)
			return false;
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		for (unsigned s = 0; s < NPU_STATES; s++)
			service += c->service[e][s];
	return at == cycles && service == c->kinds[CRITICAL_SERVICE];
}

static bool find(struct critical *c, const struct simulation *s, struct walk *w)
{
	if (!find_neighbours(w))
		return false;
	walk_back(w, s->account.cycles);
	if (!find_enablers(c, w) || w->failed)
		return false;
	reverse(c);
	for (uint64_t i = 0; i < c->nsegments; i++) {
		c->kinds[c->segments[i].kind] += c->segments[i].to - c->segments[i].from;
		if (c->segments[i].kind == CRITICAL_SERVICE)
			count_states(c, &s->record, &c->segments[i]);
	}
	return count_sites(c, s->request.program);
}

bool critical_init(struct critical *c, const struct simulation *s, struct npu_error *err)
{
	bool ideal = s->request.ideal & MACHINE_IDEAL_DISPATCH;
	struct walk w = { .path = c, .record = &s->record, .hw = s->request.hw,
			  .ideal_matrix = s->request.ideal & MACHINE_IDEAL_MATRIX,
			  .sync_latency = ideal ? 0 : s->request.hw->sequencer.sync_latency };
	memset(c, 0, sizeof(*c));
	bool ok = find(c, s, &w), right = ok && adds_up(c, s->account.cycles);
	free(w.before);
	free(w.served);
	free(w.taken);
	free(w.queue[0]);
	if (right)
		return true;
	critical_fini(c);
	return ok ? npu_fail(err, NPU_ERR_INTERNAL, "the critical path does not add up to the cycles")
		  : npu_fail(err, NPU_ERR_MEMORY, "out of memory for the critical path");
}

void critical_fini(struct critical *c)
{
	free(c->segments);
	free(c->sites);
	free(c->insns);
	free(c->enabled);
	memset(c, 0, sizeof(*c));
}
