/* SPDX-License-Identifier: Apache-2.0 */
/* The walk back from the end of a run. All that it asks for is in the event record. */
#include "sim/critical.h"

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

struct walk {
	struct critical *path;
	const struct record *record;
	uint32_t *before;      /* [ninsns] the one before it in its queue, or PROBE_NOBODY */
	uint32_t *slot_before; /* [ninsns] the one before it in its slot, or PROBE_NOBODY */
	uint32_t *queue[NPU_ENGINES]; /* instructions of each engine in order */
	uint32_t nqueue[NPU_ENGINES];
	uint64_t sync_latency;
	bool failed;
};

static bool is_known(const struct walk *w, uint32_t insn) { return insn < w->record->program->ninsns; }

/* The chain is built backwards. */
static void add(struct walk *w, uint64_t from, uint64_t to, uint32_t insn, enum critical_kind kind)
{
	struct critical *c = w->path;
	void *items = c->segments;
	if (from >= to || w->failed)
		return;
	if (!record_grow(&items, &c->room, c->nsegments + 1, sizeof(*c->segments))) {
		w->failed = true;
		return;
	}
	c->segments = items;
	c->segments[c->nsegments++] = (struct critical_segment){ from, to, insn, kind };
}

/* What came before an instruction's start: from whom, at which of its times, and what the cycles since then are. */
struct cause {
	uint64_t known; /* when it let go, as the waiting one could see */
	uint64_t time;  /* where the path goes on in `insn` */
	uint32_t insn;  /* PROBE_NOBODY: the sequencer */
	enum critical_kind kind;
};

/* The later one; of two at one time the first asked. */
static void offer(struct cause *best, struct cause other, uint64_t start)
{
	if (other.known <= start && (best->kind == CRITICAL_KINDS || other.known > best->known))
		*best = other;
}

/* Times at which an instruction lets the next of its queue go on; which of them counts depends on the engine, and the
 * latest that the next one's start does not precede is the one that held it. */
static void offer_hand_off(const struct walk *w, struct cause *best, uint32_t before, uint64_t start)
{
	if (!is_known(w, before))
		return;
	const struct probe_insn *e = &w->record->events[before];
	const uint64_t times[] = { e->end, e->stream_end, e->stream_begin, e->start };
	for (unsigned i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		offer(best, (struct cause){ times[i], times[i], before, CRITICAL_HAND_OFF }, start);
}

static struct cause cause_of(const struct walk *w, uint32_t insn)
{
	const struct probe_insn *e = &w->record->events[insn];
	struct cause best = { .kind = CRITICAL_KINDS };
	for (unsigned i = 0; i < NPU_SYNC_SLOTS; i++) {
		if (!is_known(w, e->enabled_by[i]))
			continue;
		uint64_t end = w->record->events[e->enabled_by[i]].end;
		offer(&best, (struct cause){ end + w->sync_latency, end, e->enabled_by[i], CRITICAL_POST }, e->start);
	}
	offer_hand_off(w, &best, w->before[insn], e->start);
	offer_hand_off(w, &best, w->slot_before[insn], e->start);
	offer(&best, (struct cause){ e->issued, e->issued, PROBE_NOBODY, CRITICAL_DISPATCH }, e->start);
	return best;
}

/* The last instruction of a queue that had started by then. */
static uint32_t started_by(const struct walk *w, enum npu_engine e, uint64_t time)
{
	uint32_t lo = 0, hi = w->nqueue[e];
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (w->record->events[w->queue[e][mid]].start <= time)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo > 0 ? w->queue[e][lo - 1] : PROBE_NOBODY;
}

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

/* The sequencer issued `insn` at `time`: back over its spans until one in which a full queue held it, whose start of an
 * instruction let it go; or to the launch. Returns that instruction; *time moves to its start, or to 0. */
static uint32_t before_issue(struct walk *w, uint32_t insn, uint64_t *time)
{
	const struct record_spans *spans = &w->record->sequencer_spans;
	uint64_t i = 0, hi = spans->count, launched = 0;
	while (i < hi) { /* the first span that ends after `time` - 1 */
		uint64_t mid = i + (hi - i) / 2;
		if (spans->items[mid].to < *time)
			i = mid + 1;
		else
			hi = mid;
	}
	for (i = i < spans->count ? i + 1 : spans->count; i-- > 0;) {
		const struct record_span *s = &spans->items[i];
		uint64_t from = i > 0 ? spans->items[i - 1].to : 0;
		enum npu_engine full = engine_of_full(s->state);
		if (s->to <= *time && s->state == NPU_SEQ_LAUNCH && s->to > launched)
			launched = s->to;
		if (full == NPU_ENGINES || from >= *time)
			continue;
		uint64_t until = s->to < *time ? s->to : *time;
		uint32_t other = started_by(w, full, until);
		if (!is_known(w, other) || w->record->events[other].start <= from)
			continue;
		add(w, w->record->events[other].start, *time, insn, CRITICAL_DISPATCH);
		*time = w->record->events[other].start;
		return other;
	}
	add(w, launched, *time, insn, CRITICAL_DISPATCH);
	add(w, 0, launched, PROBE_NOBODY, CRITICAL_LAUNCH);
	*time = 0;
	return PROBE_NOBODY;
}

/* From `insn`, on the path up to `time`, to the one that it waited for. */
static uint32_t step(struct walk *w, uint32_t insn, uint64_t *time)
{
	uint64_t start = w->record->events[insn].start;
	add(w, start, *time, insn, CRITICAL_SERVICE);
	if (start < *time)
		*time = start;
	struct cause cause = cause_of(w, insn);
	if (cause.kind == CRITICAL_KINDS) {
		add(w, 0, *time, PROBE_NOBODY, CRITICAL_LAUNCH);
		*time = 0;
		return PROBE_NOBODY;
	}
	add(w, cause.time, *time, insn, cause.kind);
	*time = cause.time < *time ? cause.time : *time;
	return cause.kind == CRITICAL_DISPATCH ? before_issue(w, insn, time) : cause.insn;
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
	uint32_t insn = last_to_end(w->record);
	uint64_t time = is_known(w, insn) ? w->record->events[insn].end : 0;
	/* An instruction waits for none that was issued after it in a legal program, and for none that ended later in any:
	 * so the walk ends; the bound is for records that contradict themselves. */
	uint64_t steps = 4ull * w->record->program->ninsns + 4;
	add(w, time, cycles, PROBE_NOBODY, is_known(w, insn) ? CRITICAL_DRAIN : CRITICAL_LAUNCH);
	while (time > 0 && is_known(w, insn) && steps-- > 0)
		insn = step(w, insn, &time);
	add(w, 0, time, PROBE_NOBODY, CRITICAL_LAUNCH);
}

static bool find_neighbours(struct walk *w)
{
	enum { SLOTS = 64 };
	const struct npu_program *p = w->record->program;
	uint32_t last[NPU_ENGINES], slot[NPU_ENGINES][SLOTS];
	memset(last, 0xff, sizeof(last));
	memset(slot, 0xff, sizeof(slot));
	w->before = malloc((p->ninsns + 1ull) * sizeof(*w->before));
	w->slot_before = malloc((p->ninsns + 1ull) * sizeof(*w->slot_before));
	w->queue[0] = malloc((p->ninsns + 1ull) * sizeof(*w->queue[0]));
	if (!w->before || !w->slot_before || !w->queue[0])
		return false;
	for (uint32_t i = 0; i < p->ninsns; i++)
		w->nqueue[npu_op_engine(p->insns[i].op)]++;
	for (unsigned e = 1; e < NPU_ENGINES; e++)
		w->queue[e] = w->queue[e - 1] + w->nqueue[e - 1];
	memset(w->nqueue, 0, sizeof(w->nqueue));
	for (uint32_t i = 0; i < p->ninsns; i++) {
		enum npu_engine e = npu_op_engine(p->insns[i].op);
		uint32_t *in_slot = &slot[e][w->record->events[i].slot % SLOTS];
		w->queue[e][w->nqueue[e]++] = i;
		w->before[i] = last[e];
		w->slot_before[i] = *in_slot;
		last[e] = *in_slot = i;
	}
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

/* The states of the engine within a segment of service. */
static void count_states(struct critical *c, const struct record *r, const struct critical_segment *s)
{
	enum npu_engine e = npu_op_engine(r->program->insns[s->insn].op);
	const struct record_spans *spans = &r->spans[e];
	uint64_t lo = 0, hi = spans->count;
	while (lo < hi) { /* the first span that ends after the segment begins */
		uint64_t mid = lo + (hi - lo) / 2;
		if (spans->items[mid].to <= s->from)
			lo = mid + 1;
		else
			hi = mid;
	}
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

/* Service by source line; lines without any are left out. */
static bool count_sites(struct critical *c, const struct npu_program *p)
{
	struct sites sites;
	bool ok = sites_init(&sites, p);
	c->sites = ok ? calloc(sites.n + 1ull, sizeof(*c->sites)) : NULL;
	for (uint64_t i = 0; c->sites && i < c->nsegments; i++) {
		const struct critical_segment *s = &c->segments[i];
		if (s->kind != CRITICAL_SERVICE)
			continue;
		struct critical_site *site = &c->sites[sites.of[s->insn]];
		site->insn = sites.items[sites.of[s->insn]].first;
		site->segments++;
		site->cycles += s->to - s->from;
	}
	if (c->sites)
		qsort(c->sites, sites.n, sizeof(*c->sites), by_cycles);
	for (; c->sites && c->nsites < sites.n && c->sites[c->nsites].segments > 0; c->nsites++)
		;
	sites_fini(&sites);
	return c->sites != NULL;
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
	if (w->failed)
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
	struct walk w = { .path = c, .record = &s->record,
			  .sync_latency = ideal ? 0 : s->request.hw->sequencer.sync_latency };
	memset(c, 0, sizeof(*c));
	bool ok = find(c, s, &w), right = ok && adds_up(c, s->account.cycles);
	free(w.before);
	free(w.slot_before);
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
	memset(c, 0, sizeof(*c));
}
