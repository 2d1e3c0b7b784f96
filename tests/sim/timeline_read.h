/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a timeline back, packet by packet, and adds it up: what a viewer would see, to compare with the report. */
#ifndef NPU_TESTS_SIM_TIMELINE_READ_H
#define NPU_TESTS_SIM_TIMELINE_READ_H

#include "sim/timeline/perfetto.pb-c.h"

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { READ_TRACKS = 512, READ_NAMES = 4096 };

/* ck_assert tells its parent about every check, which is too slow for a million packets. */
static inline void need(bool ok, const char *what)
{
	if (!ok)
		ck_abort_msg("%s", what);
}

struct read_track {
	char name[64];
	bool open, counter;
	uint64_t begin, last; /* of the open slice; time of the last event */
	uint64_t name_iid;
	uint64_t slices, instants, values;
	uint64_t by_name[READ_NAMES]; /* cycles, by name number */
	double value, area;           /* of a counter: the sum of value x time */
	double peak;
};

struct read_trace {
	struct read_track *tracks; /* [READ_TRACKS] by uuid */
	char names[READ_NAMES][64];
	uint64_t nnames, nannotations, packets;
	char annotations[READ_NAMES][64];
	uint64_t details; /* slices and instants that carry an instruction's facts */
	uint64_t bytes, macs;
	uint64_t *flows_out, *flows_in; /* in order of appearance */
	uint64_t *flows_out_time, *flows_in_time;
	uint64_t nout, nin;
	uint64_t capacity;
};

static inline void read_names(struct read_trace *t, const Pf__InternedData *d)
{
	for (size_t i = 0; i < d->n_event_names; i++) {
		need(d->event_names[i]->iid == ++t->nnames, "name numbers rise by one");
		need(t->nnames < READ_NAMES, "few names");
		snprintf(t->names[t->nnames], sizeof(t->names[0]), "%s", d->event_names[i]->name);
	}
	for (size_t i = 0; i < d->n_debug_annotation_names; i++) {
		need(d->debug_annotation_names[i]->iid == ++t->nannotations, "annotation numbers rise by one");
		snprintf(t->annotations[t->nannotations], sizeof(t->names[0]), "%s", d->debug_annotation_names[i]->name);
	}
}

static inline void read_annotations(struct read_trace *t, const Pf__TrackEvent *e)
{
	for (size_t i = 0; i < e->n_debug_annotations; i++) {
		const Pf__DebugAnnotation *a = e->debug_annotations[i];
		const char *name = t->annotations[a->name_iid];
		t->details += strcmp(name, "issued") == 0;
		t->bytes += strcmp(name, "bytes") == 0 ? a->uint_value : 0;
		t->macs += strcmp(name, "macs") == 0 ? a->uint_value : 0;
	}
}

static inline void read_flows(struct read_trace *t, const Pf__TrackEvent *e, uint64_t time)
{
	for (size_t i = 0; i < e->n_flow_ids; i++) {
		need(t->nout < t->capacity, "as many flows as waits");
		t->flows_out_time[t->nout] = time;
		t->flows_out[t->nout++] = e->flow_ids[i];
	}
	for (size_t i = 0; i < e->n_terminating_flow_ids; i++) {
		need(t->nin < t->capacity, "as many flows as waits");
		t->flows_in_time[t->nin] = time;
		t->flows_in[t->nin++] = e->terminating_flow_ids[i];
	}
}

static inline void read_counter(struct read_track *track, const Pf__TrackEvent *e, uint64_t time)
{
	need(track->counter, "counter values are on counter tracks");
	track->area += track->value * (double)(time - track->last);
	track->value = e->has_counter_value ? (double)e->counter_value : e->double_counter_value;
	track->peak = track->value > track->peak ? track->value : track->peak;
	track->values++;
}

static inline void read_event(struct read_trace *t, const Pf__TracePacket *p)
{
	const Pf__TrackEvent *e = p->track_event;
	need(e->track_uuid < READ_TRACKS, "few tracks");
	struct read_track *track = &t->tracks[e->track_uuid];
	need(track->name[0] != '\0', "tracks are described before they are used");
	need(p->timestamp >= track->last, "time never goes back in a track");
	read_annotations(t, e);
	read_flows(t, e, p->timestamp);
	switch (e->type) {
	case 1:
		need(!track->open, "slices do not nest");
		track->open = true;
		track->begin = p->timestamp;
		need(e->has_name_iid != (e->name != NULL), "a slice has one name");
		track->name_iid = e->name_iid; /* 0: it has no number */
		track->slices++;
		break;
	case 2:
		need(track->open, "a slice that ends has begun");
		need(p->timestamp > track->begin, "no slice is empty");
		track->open = false;
		track->by_name[track->name_iid] += p->timestamp - track->begin;
		break;
	case 3:
		need(!track->open, "instants lie between slices");
		track->instants++;
		break;
	case 4:
		read_counter(track, e, p->timestamp);
		break;
	default:
		ck_abort_msg("an event of type %u", e->type);
	}
	track->last = p->timestamp;
}

static inline void read_descriptor(struct read_trace *t, const Pf__TrackDescriptor *d)
{
	ck_assert_uint_lt(d->uuid, READ_TRACKS);
	struct read_track *track = &t->tracks[d->uuid];
	ck_assert_str_eq(track->name, "");
	snprintf(track->name, sizeof(track->name), "%s", d->process ? "process" : d->name);
	track->counter = d->counter != NULL;
}

/* Flows at most `capacity` each way. */
static inline struct read_trace *read_trace(const uint8_t *bytes, size_t n, uint64_t capacity)
{
	struct read_trace *t = calloc(1, sizeof(*t));
	t->tracks = calloc(READ_TRACKS, sizeof(*t->tracks));
	t->capacity = capacity;
	t->flows_out = calloc(capacity + 1, sizeof(uint64_t));
	t->flows_in = calloc(capacity + 1, sizeof(uint64_t));
	t->flows_out_time = calloc(capacity + 1, sizeof(uint64_t));
	t->flows_in_time = calloc(capacity + 1, sizeof(uint64_t));
	for (size_t at = 0; at < n;) {
		need(bytes[at++] == 0x0a, "a trace is a list of packets");
		size_t length = 0;
		for (unsigned shift = 0;; shift += 7) {
			length |= (size_t)(bytes[at] & 0x7f) << shift;
			if (!(bytes[at++] & 0x80))
				break;
		}
		need(at + length <= n, "packets are whole");
		Pf__TracePacket *p = pf__trace_packet__unpack(NULL, length, bytes + at);
		need(p != NULL, "packets can be decoded");
		need(p->sequence_flags == (t->packets == 0 ? 1 : 2), "the first packet clears the state, the others need it");
		t->packets++;
		if (p->interned_data)
			read_names(t, p->interned_data);
		if (p->track_descriptor)
			read_descriptor(t, p->track_descriptor);
		if (p->track_event)
			read_event(t, p);
		pf__trace_packet__free_unpacked(p, NULL);
		at += length;
	}
	return t;
}

static inline void read_free(struct read_trace *t)
{
	free(t->tracks);
	free(t->flows_out);
	free(t->flows_in);
	free(t->flows_out_time);
	free(t->flows_in_time);
	free(t);
}

/* The track of that name; NULL when there is none. */
static inline struct read_track *read_track(struct read_trace *t, const char *name)
{
	for (unsigned i = 0; i < READ_TRACKS; i++)
		if (strcmp(t->tracks[i].name, name) == 0)
			return &t->tracks[i];
	return NULL;
}

/* Cycles under a name in a track. */
static inline uint64_t read_cycles(const struct read_trace *t, const struct read_track *track, const char *name)
{
	for (uint64_t i = 1; i <= t->nnames; i++)
		if (strcmp(t->names[i], name) == 0)
			return track->by_name[i];
	return 0;
}

#endif
