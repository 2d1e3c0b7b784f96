/* SPDX-License-Identifier: Apache-2.0 */
/* Which lanes a run has and what is in them. */
#include "sim/timeline/lanes.h"

#include "sim/critical.h"
#include "sim/timeline/counters.h"
#include "sim/timeline/flows.h"
#include "sim/timeline/region_lanes.h"

#include <stdlib.h>
#include <string.h>

/* Lanes of one engine. A hardware slot holds an instruction at a time, so it is one lane; should two overlap all the same,
 * the second goes to a lane of its own rather than into the first. */
enum { SLOTS = 64, SHARES = 4 };
struct engine_lanes {
	uint32_t work[SLOTS][SHARES]; /* lane + 1; 0: none */
	uint64_t free_at[SLOTS][SHARES];
	uint32_t drain, instants, states; /* lane + 1 */
};

struct walk {
	const struct simulation *s;
	const struct timeline_writer *writer;
	struct engine_lanes engine[NPU_ENGINES];
	struct region_lanes regions;
	struct flows flows;
	uint8_t *shown; /* [ninsns] FLOWS_BEGINS, FLOWS_ENDS; NULL without a window */
	struct timeline_window window;
	struct timeline_dropped dropped;
	double held; /* of the curve `held_lane`: its value before the window, not written yet */
	uint32_t held_lane;
	bool holding;
	uint32_t nlanes;
	uint32_t sequencer, critical, counters;
};

static bool declare(struct walk *w, enum timeline_kind kind, enum npu_engine e, const char *name, const char *unit)
{
	struct timeline_lane lane = { .id = w->nlanes++, .kind = kind, .engine = e, .name = name, .unit = unit };
	return w->writer->lane(w->writer->ctx, &lane);
}

/* Instants at the run's end lie behind its last cycle. */
static bool lies_in(struct timeline_window w, uint64_t cycles, uint64_t from, uint64_t to)
{
	if (from == to)
		return from >= w.from && (from < w.to || w.to == cycles);
	return to > w.from && from < w.to;
}

static bool shows(const struct walk *w, uint64_t from, uint64_t to)
{
	return lies_in(w->window, w->s->account.cycles, from, to);
}

/* Writes what of a slice lies in the window. */
static bool put(struct walk *w, const struct timeline_slice *slice)
{
	struct timeline_slice cut = *slice;
	if (!shows(w, slice->from, slice->to)) {
		w->dropped.slices++;
		return true;
	}
	cut.from = slice->from > w->window.from ? slice->from : w->window.from;
	cut.to = slice->to < w->window.to ? slice->to : w->window.to;
	w->dropped.cut += cut.from != slice->from || cut.to != slice->to;
	return w->writer->slice(w->writer->ctx, &cut);
}

static bool put_held(struct walk *w)
{
	if (!w->holding)
		return true;
	w->holding = false;
	w->dropped.values--;
	return w->writer->counter(w->writer->ctx, w->held_lane, w->window.from, w->held);
}

/* The last value before the window holds at its beginning, unless one is written there. */
static bool put_value(void *ctx, uint32_t lane, uint64_t time, double value)
{
	struct walk *w = ctx;
	if (w->holding && w->held_lane == lane && time <= w->window.from)
		w->holding = false;
	if (!put_held(w))
		return false;
	if (time >= w->window.from && time <= w->window.to)
		return w->writer->counter(w->writer->ctx, lane, time, value);
	w->dropped.values++;
	w->holding = time < w->window.from;
	w->held = value;
	w->held_lane = lane;
	return true;
}

/* The lane of a slice in a slot: the first that is free when it begins. */
static unsigned share_of(struct engine_lanes *lanes, uint32_t slot, uint64_t from, uint64_t to)
{
	unsigned share = 0;
	while (share < SHARES - 1 && lanes->free_at[slot][share] > from)
		share++;
	lanes->free_at[slot][share] = to;
	return share;
}

static uint32_t slot_of(const struct probe_insn *event) { return event->slot < SLOTS ? event->slot : SLOTS - 1; }

/* What an instruction shows: [from, to) in its slot, then, for a product, [to, end) of the drain. */
struct shown {
	uint64_t from, to, drain_from, end;
};

static struct shown shown_of(const struct probe_insn *event, uint64_t *drained)
{
	struct shown s = { event->stream_begin, event->end, event->end, event->end };
	if (event->engine != NPU_ENGINE_MATRIX)
		return s;
	s.to = event->stream_end;
	s.drain_from = s.to > *drained ? s.to : *drained;
	*drained = s.end;
	return s;
}

/* Which of its ends lie in the window; an arrow points to the end of a slice only where it is not cut. */
static uint8_t ends_of(const struct walk *w, const struct shown *s)
{
	uint64_t begin = s->from < s->to ? s->from : s->drain_from, end = s->drain_from < s->end ? s->end : s->to;
	if (s->from >= s->to && s->drain_from >= s->end)
		return shows(w, s->end, s->end) ? FLOWS_BEGINS | FLOWS_ENDS : 0;
	return (uint8_t)((begin >= w->window.from && begin < w->window.to ? FLOWS_BEGINS : 0) |
			 (end > w->window.from && end <= w->window.to ? FLOWS_ENDS : 0));
}

/* Which lanes the engine's instructions need; marks them with 1. */
static void find_lanes(struct walk *w, enum npu_engine e)
{
	const struct npu_program *p = w->s->request.program;
	struct engine_lanes *lanes = &w->engine[e];
	uint64_t drained = 0;
	for (uint32_t i = 0; i < p->ninsns; i++) {
		if (npu_op_engine(p->insns[i].op) != e)
			continue;
		const struct probe_insn *event = &w->s->record.events[i];
		struct shown s = shown_of(event, &drained);
		if (w->shown)
			w->shown[i] = ends_of(w, &s);
		if (s.from < s.to)
			lanes->work[slot_of(event)][share_of(lanes, slot_of(event), s.from, s.to)] = 1;
		if (s.drain_from < s.end)
			lanes->drain = 1;
		else if (s.from == s.to)
			lanes->instants = 1;
	}
	memset(lanes->free_at, 0, sizeof(lanes->free_at));
}

static bool declare_work(struct walk *w, enum npu_engine e, uint32_t slot, unsigned share)
{
	bool dma = e == NPU_ENGINE_LOAD || e == NPU_ENGINE_STORE;
	char name[64], number[16] = "", letter[16] = "";
	if (dma)
		snprintf(number, sizeof(number), ".%u", (unsigned)slot);
	if (share > 0)
		snprintf(letter, sizeof(letter), " (%u)", share + 1);
	snprintf(name, sizeof(name), "%s%s%s", npu_engine_name(e), number, letter);
	w->engine[e].work[slot][share] = w->nlanes + 1;
	return declare(w, TIMELINE_WORK, e, name, NULL);
}

static bool declare_engine(struct walk *w, enum npu_engine e)
{
	struct engine_lanes *lanes = &w->engine[e];
	char name[64];
	find_lanes(w, e);
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		for (unsigned share = 0; share < SHARES; share++)
			if (lanes->work[slot][share] && !declare_work(w, e, slot, share))
				return false;
	if (lanes->drain) {
		snprintf(name, sizeof(name), "%s.drain", npu_engine_name(e));
		lanes->drain = w->nlanes + 1;
		if (!declare(w, TIMELINE_DRAIN, e, name, NULL))
			return false;
	}
	if (lanes->instants) {
		snprintf(name, sizeof(name), "%s.sync", npu_engine_name(e));
		lanes->instants = w->nlanes + 1;
		if (!declare(w, TIMELINE_INSTANTS, e, name, NULL))
			return false;
	}
	snprintf(name, sizeof(name), "%s states", npu_engine_name(e));
	lanes->states = w->nlanes + 1;
	return declare(w, TIMELINE_STATES, e, name, NULL);
}

static bool declare_regions(struct walk *w)
{
	for (uint32_t i = 0; i < w->regions.nlanes; i++) {
		char name[64], letter[16] = "";
		if (w->regions.order[i] > 0)
			snprintf(letter, sizeof(letter), " (%u)", (unsigned)w->regions.order[i] + 1);
		snprintf(name, sizeof(name), "regions %u%s", (unsigned)w->regions.depth[i], letter);
		if (!declare(w, TIMELINE_REGIONS, NPU_ENGINES, name, NULL))
			return false;
	}
	return true;
}

static bool declare_lanes(struct walk *w)
{
	if (!declare_regions(w))
		return false;
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		if (!declare_engine(w, (enum npu_engine)e))
			return false;
	w->sequencer = w->nlanes;
	if (!declare(w, TIMELINE_STATES, NPU_ENGINES, "sequencer", NULL))
		return false;
	w->critical = w->nlanes;
	if (!declare(w, TIMELINE_CRITICAL, NPU_ENGINES, "critical path", NULL))
		return false;
	w->counters = w->nlanes;
	for (unsigned i = 0; i < TIMELINE_COUNTERS; i++)
		if (!declare(w, TIMELINE_COUNTER, NPU_ENGINES, timeline_counter(i).name, timeline_counter(i).unit))
			return false;
	return true;
}

static bool walk_regions(struct walk *w)
{
	for (uint32_t i = 0; i < w->regions.nslices; i++) {
		const struct region_slice *r = &w->regions.slices[i];
		struct timeline_slice slice = {
			.lane = r->lane,
			.from = r->from,
			.to = r->to,
			.name = w->s->request.program->regions[r->region].name,
			.region = r->region,
			.insn = PROBE_NOBODY,
		};
		if (!put(w, &slice))
			return false;
	}
	return true;
}

/* Flows arrive at the first slice of an instruction and leave from its last. */
static void set_flows(const struct walk *w, struct timeline_slice *slice, bool first, bool last)
{
	const struct probe_insn *event = &w->s->record.events[slice->insn];
	memset(&slice->flows, 0, sizeof(slice->flows));
	for (unsigned i = 0; first && i < NPU_SYNC_SLOTS; i++) {
		if (event->enabled_by[i] >= w->s->request.program->ninsns ||
		    !flow_shown(w->shown, event->enabled_by[i], slice->insn))
			continue;
		slice->flows.in[slice->flows.nin++] = flow_of(slice->insn, i);
		slice->flows.tied |= w->s->record.events[event->enabled_by[i]].end == slice->from;
	}
	if (last) {
		slice->flows.out = w->flows.items + w->flows.first[slice->insn];
		slice->flows.nout = (uint32_t)(w->flows.first[slice->insn + 1] - w->flows.first[slice->insn]);
	}
	slice->details = first;
}

/* The slices of one lane after the other would need a pass each; a pass an engine writes them in the order of their
 * instructions, which is the order of time in each of its lanes. */
static bool walk_insn(struct walk *w, enum npu_engine e, uint32_t insn, uint64_t *drained)
{
	struct engine_lanes *lanes = &w->engine[e];
	const struct probe_insn *event = &w->s->record.events[insn];
	struct shown s = shown_of(event, drained);
	bool streams = s.from < s.to, drains = s.drain_from < s.end;
	struct timeline_slice slice = { .name = npu_op_mnemonic(w->s->request.program->insns[insn].op), .insn = insn,
					.region = PROBE_NOBODY };
	if (!streams && !drains) {
		slice.lane = lanes->instants - 1;
		slice.from = slice.to = s.end;
		set_flows(w, &slice, true, true);
		return put(w, &slice);
	}
	if (streams) {
		slice.lane = lanes->work[slot_of(event)][share_of(lanes, slot_of(event), s.from, s.to)] - 1;
		slice.from = s.from;
		slice.to = s.to;
		set_flows(w, &slice, true, !drains);
		if (!put(w, &slice))
			return false;
	}
	if (!drains)
		return true;
	slice.lane = lanes->drain - 1;
	slice.from = s.drain_from;
	slice.to = s.end;
	set_flows(w, &slice, !streams, true);
	/* The facts go with the first slice that is shown. */
	slice.details |= !shows(w, s.from, s.to);
	return put(w, &slice);
}

static bool walk_engine(struct walk *w, enum npu_engine e)
{
	const struct npu_program *p = w->s->request.program;
	uint64_t drained = 0;
	for (uint32_t i = 0; i < p->ninsns; i++)
		if (npu_op_engine(p->insns[i].op) == e && !walk_insn(w, e, i, &drained))
			return false;
	return true;
}

/* Spans of equal state join, whoever decided it unless the writer asks. */
static bool walk_spans(struct walk *w, const struct record_spans *spans, uint32_t lane, bool sequencer)
{
	uint64_t from = 0;
	for (uint64_t i = 0; i < spans->count; i++) {
		const struct record_span *s = &spans->items[i];
		bool parts = w->writer->deciders && !sequencer;
		if (i + 1 < spans->count && spans->items[i + 1].state == s->state &&
		    (!parts || spans->items[i + 1].insn == s->insn))
			continue;
		struct timeline_slice slice = {
			.lane = lane,
			.from = from,
			.to = s->to,
			.name = sequencer ? account_sequencer_name((enum npu_seq_state)s->state)
					  : account_state_name((enum npu_state)s->state),
			.state = s->state,
			.insn = parts ? s->insn : PROBE_NOBODY,
			.region = PROBE_NOBODY,
		};
		from = s->to;
		if (!put(w, &slice))
			return false;
	}
	return true;
}

static bool walk_critical(struct walk *w)
{
	const struct critical *c = w->s->critical;
	for (uint64_t i = 0; i < c->nsegments; i++) {
		const struct critical_segment *s = &c->segments[i];
		bool service = s->kind == CRITICAL_SERVICE;
		struct timeline_slice slice = {
			.lane = w->critical,
			.from = s->from,
			.to = s->to,
			.name = service ? npu_op_mnemonic(w->s->request.program->insns[s->insn].op)
					: critical_kind_name(s->kind),
			.insn = s->insn,
			.region = PROBE_NOBODY,
		};
		if (!put(w, &slice))
			return false;
	}
	return true;
}

static bool walk_lanes(struct walk *w)
{
	const struct timeline_writer curves = { .ctx = w, .counter = put_value };
	if (!walk_regions(w))
		return false;
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		if (!walk_engine(w, (enum npu_engine)e) ||
		    !walk_spans(w, &w->s->record.spans[e], w->engine[e].states - 1, false))
			return false;
	return walk_spans(w, &w->s->record.sequencer_spans, w->sequencer, true) && walk_critical(w) &&
	       timeline_counters(w->s, &curves, w->counters) && put_held(w);
}

struct timeline_window timeline_window(const struct simulation *s)
{
	struct timeline_window w = s->request.window;
	w.to = w.to > 0 && w.to < s->account.cycles ? w.to : s->account.cycles;
	return w;
}

bool timeline_shows(const struct simulation *s, uint64_t from, uint64_t to)
{
	return lies_in(timeline_window(s), s->account.cycles, from, to);
}

static bool walk(struct walk *w, const struct simulation *s, const struct timeline_writer *writer)
{
	w->s = s;
	w->writer = writer;
	w->window = timeline_window(s);
	if (s->request.window.to > 0 && !(w->shown = calloc(s->request.program->ninsns + 1ull, 1)))
		return false;
	return region_lanes_init(&w->regions, &s->record) && declare_lanes(w) &&
	       flows_init(&w->flows, &s->record, w->shown) && walk_lanes(w);
}

static void walk_free(struct walk *w)
{
	region_lanes_fini(&w->regions);
	flows_fini(&w->flows);
	free(w->shown);
	free(w);
}

bool timeline_walk(const struct simulation *s, const struct timeline_writer *writer)
{
	struct walk *w = calloc(1, sizeof(*w));
	if (!w)
		return false;
	bool ok = walk(w, s, writer);
	walk_free(w);
	return ok;
}

static bool no_lane(void *ctx, const struct timeline_lane *lane)
{
	(void)ctx, (void)lane;
	return true;
}

static bool no_slice(void *ctx, const struct timeline_slice *slice)
{
	(void)ctx, (void)slice;
	return true;
}

static bool no_value(void *ctx, uint32_t lane, uint64_t time, double value)
{
	(void)ctx, (void)lane, (void)time, (void)value;
	return true;
}

bool timeline_dropped(const struct simulation *s, struct timeline_dropped *out)
{
	static const struct timeline_writer nobody = { .lane = no_lane, .slice = no_slice, .counter = no_value };
	memset(out, 0, sizeof(*out));
	if (s->request.window.to == 0)
		return true;
	struct walk *w = calloc(1, sizeof(*w));
	if (!w)
		return false;
	bool ok = walk(w, s, &nobody);
	*out = w->dropped;
	for (uint32_t i = 0; i < s->request.program->ninsns; i++)
		out->insns += !shows(w, s->record.events[i].start, s->record.events[i].end);
	walk_free(w);
	return ok;
}
