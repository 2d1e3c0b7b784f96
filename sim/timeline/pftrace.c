/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes and slices as Perfetto tracks and track events. */
#include "sim/timeline/pftrace.h"

#include "sim/facts.h"
#include "sim/record_grow.h"
#include "sim/timeline/flows.h"
#include "sim/timeline/lanes.h"
#include "sim/timeline/pf_packet.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESS = 1, FIRST_LANE = 2, PID = 1, BY_RANK = 3, NEVER_MERGE = 2, UNIT_BYTES = 3 };

struct pftrace {
	const struct simulation *s;
	struct pf_writer pf;
	struct facts facts;
	/* Of two runs. */
	const struct timeline_pair *pair; /* NULL: there is one */
	unsigned run;
	uint64_t tracks, flows; /* of the runs before, above which this one's numbers begin */
	uint64_t *flow_ids;     /* of one slice */
	uint64_t flow_room, nlanes;
};

static uint64_t track_of(const struct pftrace *t, uint32_t lane) { return t->tracks + FIRST_LANE + lane; }

static Pf__CounterDescriptor counter_of(const struct timeline_lane *lane)
{
	Pf__CounterDescriptor counter = PF__COUNTER_DESCRIPTOR__INIT;
	counter.has_unit = strcmp(lane->unit, "bytes") == 0;
	counter.unit = UNIT_BYTES;
	if (!counter.has_unit)
		counter.unit_name = (char *)lane->unit;
	return counter;
}

static bool on_lane(void *ctx, const struct timeline_lane *lane)
{
	struct pftrace *t = ctx;
	Pf__TrackDescriptor track = PF__TRACK_DESCRIPTOR__INIT;
	Pf__CounterDescriptor counter;
	track.has_uuid = track.has_parent_uuid = track.has_sibling_order_rank = true;
	track.has_sibling_merge_behavior = true;
	track.uuid = track_of(t, lane->id);
	track.parent_uuid = t->tracks + PROCESS;
	track.sibling_order_rank = (int32_t)lane->id;
	track.sibling_merge_behavior = NEVER_MERGE;
	track.name = (char *)lane->name;
	if (lane->kind == TIMELINE_COUNTER) {
		counter = counter_of(lane);
		track.counter = &counter;
	}
	t->nlanes = lane->id + 1ull;
	pf_track(&t->pf, &track);
	return !t->pf.failed;
}

static void tell_number(void *ctx, const char *name, uint64_t value) { pf_annotate_uint(ctx, name, value); }

static void tell_text(void *ctx, const char *name, const char *text) { pf_annotate_text(ctx, name, text); }

/* Room behind the ids that an event has; NULL when out of memory. */
static uint64_t *more_flow_ids(struct pftrace *t, uint64_t n)
{
	void *items = t->flow_ids;
	if (!record_grow(&items, &t->flow_room, n, sizeof(*t->flow_ids))) {
		t->pf.failed = true;
		return NULL;
	}
	return t->flow_ids = items;
}

/* The first run's ids are as they are. */
static uint64_t *flow_ids(struct pftrace *t, const uint64_t *ids, uint64_t n)
{
	if (t->flows == 0 || n == 0)
		return (uint64_t *)ids;
	uint64_t *own = more_flow_ids(t, n);
	for (uint64_t i = 0; own && i < n; i++)
		own[i] = ids[i] + t->flows;
	return own;
}

static void set_flows_in(struct pftrace *t, const struct timeline_slice *slice, uint64_t room[NPU_SYNC_SLOTS])
{
	for (uint32_t i = 0; i < slice->flows.nin; i++)
		room[i] = slice->flows.in[i] + t->flows;
	t->pf.event.n_terminating_flow_ids = slice->flows.nin;
	t->pf.event.terminating_flow_ids = room;
}

static void set_flows_out(struct pftrace *t, const struct timeline_slice *slice)
{
	uint64_t *ids = flow_ids(t, slice->flows.out, slice->flows.nout);
	t->pf.event.n_flow_ids = ids ? slice->flows.nout : 0;
	t->pf.event.flow_ids = ids;
}

/* What the other run made of this region. Arrows have the numbers behind those of both runs. */
static void tell_region(struct pftrace *t, const struct timeline_slice *slice, uint64_t *arrow)
{
	static const char *const names[ALIGN_RUNS] = { "A cycles", "B cycles" };
	const struct align *a = t->pair->align;
	uint32_t number = a->pair_of[t->run][slice->region];
	if (number == UINT32_MAX)
		return;
	const struct align_pair *pair = &a->pairs[number];
	for (unsigned r = 0; r < ALIGN_RUNS; r++)
		pf_annotate_uint(&t->pf, names[r], pair->to[r] - pair->from[r]);
	uint64_t mark = align_mark_of(a, t->run, pair->from[t->run]);
	/* Not on what a gap cut off, and only where it leads to no time before. */
	if (!pair->together || slice->from != a->marks[mark].shown)
		return;
	*arrow = UINT64_MAX - number;
	if (t->run == 0) {
		t->pf.event.n_flow_ids = 1;
		t->pf.event.flow_ids = arrow;
	} else {
		t->pf.event.n_terminating_flow_ids = 1;
		t->pf.event.terminating_flow_ids = arrow;
	}
}

static bool on_slice(void *ctx, const struct timeline_slice *slice)
{
	struct pftrace *t = ctx;
	uint64_t track = track_of(t, slice->lane), in[NPU_SYNC_SLOTS], arrow;
	bool instant = slice->from == slice->to;
	pf_event_begin(&t->pf, instant ? PF_INSTANT : PF_SLICE_BEGIN, track, slice->from, slice->name);
	/* A reader sorts by time, then by place in the file: an arrival before its departure would be lost. */
	if (instant || !slice->flows.tied)
		set_flows_in(t, slice, in);
	if (instant)
		set_flows_out(t, slice);
	if (slice->details) {
		struct insn_facts facts = facts_of(&t->facts, slice->insn);
		facts_tell(&facts, &(struct facts_teller){ &t->pf, tell_number, tell_text });
	} else if (slice->insn != PROBE_NOBODY) {
		pf_annotate_uint(&t->pf, "instruction", slice->insn);
	}
	if (t->pair && slice->region != PROBE_NOBODY)
		tell_region(t, slice, &arrow);
	pf_event_end(&t->pf);
	if (!instant) {
		pf_event_begin(&t->pf, PF_SLICE_END, track, slice->to, NULL);
		set_flows_out(t, slice);
		if (slice->flows.tied)
			set_flows_in(t, slice, in);
		pf_event_end(&t->pf);
	}
	return !t->pf.failed;
}

static bool on_counter(void *ctx, uint32_t lane, uint64_t time, double value)
{
	struct pftrace *t = ctx;
	pf_event_begin(&t->pf, PF_COUNTER, track_of(t, lane), time, NULL);
	if (value == (double)(int64_t)value) {
		t->pf.event.has_counter_value = true;
		t->pf.event.counter_value = (int64_t)value;
	} else {
		t->pf.event.has_double_counter_value = true;
		t->pf.event.double_counter_value = value;
	}
	pf_event_end(&t->pf);
	return !t->pf.failed;
}

/* The process that all lanes belong to says what was run, and how long a nanosecond is. */
static void write_process(struct pftrace *t, const struct timeline_dropped *dropped)
{
	struct timeline_window window = timeline_window(t->s);
	const struct simulation_request *r = &t->s->request;
	char name[1024], scale[64], clock[64], part[64];
	if (t->pair)
		snprintf(name, sizeof(name), "%c: %.400s, %s on %s", 'A' + (int)t->run, t->pair->names[t->run], r->subject,
			 simulate_title(r));
	else
		snprintf(name, sizeof(name), "npusim: %s on %s", r->subject, simulate_title(r));
	snprintf(scale, sizeof(scale), "1 ns shown = 1 cycle");
	snprintf(clock, sizeof(clock), "real clock %g MHz", r->hw->npu.clock_mhz);
	snprintf(part, sizeof(part), "cycles %" PRIu64 ":%" PRIu64 " only", window.from, window.to);
	char *labels[] = { scale, clock, part };
	Pf__ProcessDescriptor process = PF__PROCESS_DESCRIPTOR__INIT;
	process.has_pid = true;
	process.pid = PID + (int32_t)t->run;
	process.process_name = name;
	process.n_process_labels = sizeof(labels) / sizeof(labels[0]) - (r->window.to == 0);
	process.process_labels = labels;
	Pf__TrackDescriptor track = PF__TRACK_DESCRIPTOR__INIT;
	track.has_uuid = track.has_child_ordering = true;
	track.uuid = t->tracks + PROCESS;
	track.child_ordering = BY_RANK;
	track.process = &process;
	pf_track(&t->pf, &track);

	pf_event_begin(&t->pf, PF_INSTANT, t->tracks + PROCESS, window.from, "run");
	pf_annotate_text(&t->pf, "program", r->program->name);
	pf_annotate_uint(&t->pf, "program hash", r->program->hash);
	pf_annotate_text(&t->pf, "hardware", simulate_title(r));
	pf_annotate_real(&t->pf, "clock MHz", r->hw->npu.clock_mhz);
	pf_annotate_uint(&t->pf, "cycles", t->s->account.cycles);
	if (r->window.to > 0) {
		pf_annotate_uint(&t->pf, "window from", window.from);
		pf_annotate_uint(&t->pf, "window to", window.to);
		pf_annotate_uint(&t->pf, "dropped slices", dropped->slices);
		pf_annotate_uint(&t->pf, "dropped values", dropped->values);
		pf_annotate_uint(&t->pf, "cut slices", dropped->cut);
	}
	pf_event_end(&t->pf);
}

static bool write_trace(struct pftrace *t)
{
	const struct timeline_writer writer = { .ctx = t, .lane = on_lane, .slice = on_slice, .counter = on_counter };
	struct timeline_dropped dropped;
	if (!facts_init(&t->facts, t->s) || !timeline_dropped(t->s, &dropped))
		return false;
	write_process(t, &dropped);
	return timeline_walk(t->s, &writer);
}

/* Frees what was written with, and tells how it went. */
static bool finish(struct pftrace *t, bool walked, FILE *out, struct npu_error *err)
{
	bool written = pf_fini(&t->pf);
	facts_fini(&t->facts);
	free(t->flow_ids);
	free(t);
	if (ferror(out))
		return npu_fail(err, NPU_ERR_IO, "the timeline cannot be written");
	return (walked && written) || npu_fail(err, NPU_ERR_MEMORY, "out of memory for the timeline");
}

static struct pftrace *begin(FILE *out, bool gzip, struct npu_error *err)
{
	struct pftrace *t = calloc(1, sizeof(*t));
	if (t && pf_init(&t->pf, out, gzip))
		return t;
	free(t);
	npu_fail(err, NPU_ERR_MEMORY, "out of memory for the timeline");
	return NULL;
}

bool pftrace_write(const struct simulation *s, FILE *out, bool gzip, struct npu_error *err)
{
	struct pftrace *t = begin(out, gzip, err);
	if (!t)
		return false;
	t->s = s;
	return finish(t, write_trace(t), out, err);
}

static bool write_run(struct pftrace *t, unsigned run)
{
	static const struct timeline_dropped nothing = { 0 };
	const struct timeline_writer plain = { .ctx = t, .lane = on_lane, .slice = on_slice, .counter = on_counter };
	struct align_writer aligned;
	struct timeline_writer writer = align_writer(&aligned, t->pair->align, run, &plain);
	t->run = run;
	t->s = t->pair->runs[run];
	if (!facts_init(&t->facts, t->s))
		return false;
	write_process(t, &nothing);
	if (!timeline_walk(t->s, &writer))
		return false;
	t->tracks += FIRST_LANE + t->nlanes;
	t->flows += flow_of(t->s->request.program->ninsns, 0);
	return true;
}

bool pftrace_write_pair(const struct timeline_pair *pair, FILE *out, bool gzip, struct npu_error *err)
{
	struct pftrace *t = begin(out, gzip, err);
	if (!t)
		return false;
	t->pair = pair;
	bool walked = write_run(t, 0);
	facts_fini(&t->facts);
	return finish(t, walked && write_run(t, 1), out, err);
}
