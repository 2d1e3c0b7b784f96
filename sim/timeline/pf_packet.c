/* SPDX-License-Identifier: Apache-2.0 */
/* Packs packets straight into the sink's buffer. */
#include "sim/timeline/pf_packet.h"

#include <string.h>

enum {
	SEQUENCE = 1,
	STATE_CLEARED = 1,
	NEEDS_STATE = 2,
	PACKET_KEY = 0x0a, /* Trace.packet: field 1, length-delimited */
	/* Bounds of memory; texts that never come again gain nothing from a number. */
	MAX_NAMES = 1 << 16,
	MAX_STRINGS = 1 << 16,
};

static void init_fresh(struct pf_fresh *f)
{
	for (unsigned i = 0; i < PF_MAX_FRESH; i++) {
		pf__interned_name__init(&f->items[i]);
		f->items[i].has_iid = true;
		f->pointers[i] = &f->items[i];
	}
}

static void init_messages(struct pf_writer *w)
{
	pf__trace_packet__init(&w->packet);
	pf__track_event__init(&w->event);
	pf__interned_data__init(&w->interned);
	init_fresh(&w->fresh_names);
	init_fresh(&w->fresh_annotation_names);
	for (unsigned i = 0; i < PF_MAX_ANNOTATIONS; i++) {
		pf__debug_annotation__init(&w->annotations[i]);
		w->annotation_pointers[i] = &w->annotations[i];
		pf__interned_string__init(&w->fresh_strings[i]);
		w->fresh_strings[i].has_iid = w->fresh_strings[i].has_str = true;
		w->fresh_string_pointers[i] = &w->fresh_strings[i];
	}
	w->packet.has_trusted_packet_sequence_id = w->packet.has_sequence_flags = true;
	w->packet.trusted_packet_sequence_id = SEQUENCE;
	w->event.has_type = w->event.has_track_uuid = true;
	w->event.debug_annotations = w->annotation_pointers;
	w->interned.event_names = w->fresh_names.pointers;
	w->interned.debug_annotation_names = w->fresh_annotation_names.pointers;
	w->interned.debug_annotation_string_values = w->fresh_string_pointers;
}

bool pf_init(struct pf_writer *w, FILE *out, bool gzip)
{
	memset(w, 0, sizeof(*w));
	init_messages(w);
	w->sink = sink_new(out, gzip);
	w->names = intern_new(MAX_NAMES);
	w->annotation_names = intern_new(MAX_NAMES);
	w->strings = intern_new(MAX_STRINGS);
	if (w->sink && w->names && w->annotation_names && w->strings)
		return true;
	w->failed = true;
	pf_fini(w);
	return false;
}

bool pf_fini(struct pf_writer *w)
{
	if (w->sink && !sink_close(w->sink))
		w->failed = true;
	intern_free(w->names);
	intern_free(w->annotation_names);
	intern_free(w->strings);
	w->sink = NULL;
	return !w->failed;
}

static void write_packet(struct pf_writer *w)
{
	w->packet.sequence_flags = w->begun ? NEEDS_STATE : STATE_CLEARED;
	w->packet.has_first_packet_on_sequence = w->packet.first_packet_on_sequence = !w->begun;
	w->begun = true;
	size_t length = protobuf_c_message_get_packed_size(&w->packet.base);
	uint8_t head[16];
	unsigned n = 0;
	head[n++] = PACKET_KEY;
	for (size_t left = length; left > 0 || n == 1; left >>= 7)
		head[n++] = (uint8_t)((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
	sink_write(w->sink, head, n);
	uint8_t *room = sink_room(w->sink, length);
	if (room)
		protobuf_c_message_pack(&w->packet.base, room);
	else
		w->failed = true;
}

/* The number of a name, 0 when it has none; a new one is introduced by this packet. */
static uint64_t name_number(struct intern *in, struct pf_fresh *fresh, const char *name)
{
	bool is_new;
	uint32_t number = intern(in, name, &is_new);
	if (is_new) {
		fresh->items[fresh->count].iid = number;
		fresh->items[fresh->count++].name = (char *)name;
	}
	return number;
}

void pf_event_begin(struct pf_writer *w, uint32_t type, uint64_t track, uint64_t time, const char *name)
{
	w->packet.has_timestamp = true;
	w->packet.timestamp = time;
	w->event.type = type;
	w->event.track_uuid = track;
	w->event.name_iid = name ? name_number(w->names, &w->fresh_names, name) : 0;
	w->event.has_name_iid = w->event.name_iid != 0;
	w->event.name = w->event.has_name_iid ? NULL : (char *)name;
}

static Pf__DebugAnnotation *annotate(struct pf_writer *w, const char *name)
{
	if (w->event.n_debug_annotations == PF_MAX_ANNOTATIONS) {
		w->failed = true;
		return &w->annotations[PF_MAX_ANNOTATIONS - 1];
	}
	Pf__DebugAnnotation *a = &w->annotations[w->event.n_debug_annotations++];
	a->has_name_iid = true;
	a->name_iid = name_number(w->annotation_names, &w->fresh_annotation_names, name);
	if (a->name_iid == 0)
		w->failed = true; /* memory: there are far fewer than MAX_NAMES */
	a->has_uint_value = a->has_double_value = a->has_string_value_iid = false;
	a->string_value = NULL;
	return a;
}

void pf_annotate_uint(struct pf_writer *w, const char *name, uint64_t value)
{
	Pf__DebugAnnotation *a = annotate(w, name);
	a->has_uint_value = true;
	a->uint_value = value;
}

void pf_annotate_real(struct pf_writer *w, const char *name, double value)
{
	Pf__DebugAnnotation *a = annotate(w, name);
	a->has_double_value = true;
	a->double_value = value;
}

void pf_annotate_text(struct pf_writer *w, const char *name, const char *value)
{
	Pf__DebugAnnotation *a = annotate(w, name);
	bool is_new;
	uint32_t number = intern(w->strings, value, &is_new);
	if (number == 0) {
		a->string_value = (char *)value;
		return;
	}
	a->has_string_value_iid = true;
	a->string_value_iid = number;
	if (!is_new)
		return;
	Pf__InternedString *s = &w->fresh_strings[w->interned.n_debug_annotation_string_values++];
	s->iid = number;
	s->str.data = (uint8_t *)value;
	s->str.len = strlen(value);
}

void pf_event_end(struct pf_writer *w)
{
	w->interned.n_event_names = w->fresh_names.count;
	w->interned.n_debug_annotation_names = w->fresh_annotation_names.count;
	bool introduces = w->fresh_names.count + w->fresh_annotation_names.count +
			  w->interned.n_debug_annotation_string_values > 0;
	w->packet.interned_data = introduces ? &w->interned : NULL;
	w->packet.track_event = &w->event;
	write_packet(w);
	w->packet.interned_data = NULL;
	w->packet.track_event = NULL;
	w->packet.has_timestamp = false;
	w->event.n_debug_annotations = 0;
	w->event.n_flow_ids = w->event.n_terminating_flow_ids = 0;
	w->event.has_counter_value = w->event.has_double_counter_value = false;
	w->fresh_names.count = w->fresh_annotation_names.count = 0;
	w->interned.n_debug_annotation_string_values = 0;
}

void pf_track(struct pf_writer *w, Pf__TrackDescriptor *track)
{
	w->packet.track_descriptor = track;
	write_packet(w);
	w->packet.track_descriptor = NULL;
}
