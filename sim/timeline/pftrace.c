/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes and slices as Perfetto tracks and track events. */
#include "sim/timeline/pftrace.h"

#include "sim/facts.h"
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
};

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
	track.uuid = FIRST_LANE + lane->id;
	track.parent_uuid = PROCESS;
	track.sibling_order_rank = (int32_t)lane->id;
	track.sibling_merge_behavior = NEVER_MERGE;
	track.name = (char *)lane->name;
	if (lane->kind == TIMELINE_COUNTER) {
		counter = counter_of(lane);
		track.counter = &counter;
	}
	pf_track(&t->pf, &track);
	return !t->pf.failed;
}

static void tell_number(void *ctx, const char *name, uint64_t value) { pf_annotate_uint(ctx, name, value); }

static void tell_text(void *ctx, const char *name, const char *text) { pf_annotate_text(ctx, name, text); }

static void set_flows_in(struct pftrace *t, const struct timeline_slice *slice)
{
	t->pf.event.n_terminating_flow_ids = slice->flows.nin;
	t->pf.event.terminating_flow_ids = (uint64_t *)slice->flows.in;
}

static void set_flows_out(struct pftrace *t, const struct timeline_slice *slice)
{
	t->pf.event.n_flow_ids = slice->flows.nout;
	t->pf.event.flow_ids = (uint64_t *)slice->flows.out;
}

static bool on_slice(void *ctx, const struct timeline_slice *slice)
{
	struct pftrace *t = ctx;
	uint64_t track = FIRST_LANE + slice->lane;
	bool instant = slice->from == slice->to;
	pf_event_begin(&t->pf, instant ? PF_INSTANT : PF_SLICE_BEGIN, track, slice->from, slice->name);
	/* A reader sorts by time, then by place in the file: an arrival before its departure would be lost. */
	if (instant || !slice->flows.tied)
		set_flows_in(t, slice);
	if (instant)
		set_flows_out(t, slice);
	if (slice->details) {
		struct insn_facts facts = facts_of(&t->facts, slice->insn);
		facts_tell(&facts, &(struct facts_teller){ &t->pf, tell_number, tell_text });
	} else if (slice->insn != PROBE_NOBODY) {
		pf_annotate_uint(&t->pf, "instruction", slice->insn);
	}
	pf_event_end(&t->pf);
	if (!instant) {
		pf_event_begin(&t->pf, PF_SLICE_END, track, slice->to, NULL);
		set_flows_out(t, slice);
		if (slice->flows.tied)
			set_flows_in(t, slice);
		pf_event_end(&t->pf);
	}
	return !t->pf.failed;
}

static bool on_counter(void *ctx, uint32_t lane, uint64_t time, double value)
{
	struct pftrace *t = ctx;
	pf_event_begin(&t->pf, PF_COUNTER, FIRST_LANE + lane, time, NULL);
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
	char name[512], scale[64], clock[64], part[64];
	snprintf(name, sizeof(name), "npusim: %s on %s", r->subject, simulate_title(r));
	snprintf(scale, sizeof(scale), "1 ns shown = 1 cycle");
	snprintf(clock, sizeof(clock), "real clock %g MHz", r->hw->npu.clock_mhz);
	snprintf(part, sizeof(part), "cycles %" PRIu64 ":%" PRIu64 " only", window.from, window.to);
	char *labels[] = { scale, clock, part };
	Pf__ProcessDescriptor process = PF__PROCESS_DESCRIPTOR__INIT;
	process.has_pid = true;
	process.pid = PID;
	process.process_name = name;
	process.n_process_labels = sizeof(labels) / sizeof(labels[0]) - (r->window.to == 0);
	process.process_labels = labels;
	Pf__TrackDescriptor track = PF__TRACK_DESCRIPTOR__INIT;
	track.has_uuid = track.has_child_ordering = true;
	track.uuid = PROCESS;
	track.child_ordering = BY_RANK;
	track.process = &process;
	pf_track(&t->pf, &track);

	pf_event_begin(&t->pf, PF_INSTANT, PROCESS, window.from, "run");
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

bool pftrace_write(const struct simulation *s, FILE *out, bool gzip, struct npu_error *err)
{
	struct pftrace *t = calloc(1, sizeof(*t));
	if (!t || !pf_init(&t->pf, out, gzip)) {
		free(t);
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory for the timeline");
	}
	t->s = s;
	bool walked = write_trace(t), written = pf_fini(&t->pf);
	facts_fini(&t->facts);
	free(t);
	if (ferror(out))
		return npu_fail(err, NPU_ERR_IO, "the timeline cannot be written");
	return (walked && written) || npu_fail(err, NPU_ERR_MEMORY, "out of memory for the timeline");
}
