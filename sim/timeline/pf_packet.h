/* SPDX-License-Identifier: Apache-2.0 */
/* Packets of a Perfetto trace, one at a time, with the strings that they introduce. */
#ifndef NPU_SIM_TIMELINE_PF_PACKET_H
#define NPU_SIM_TIMELINE_PF_PACKET_H

#include "sim/timeline/intern.h"
#include "sim/timeline/perfetto.pb-c.h"
#include "sim/timeline/sink.h"

enum { PF_SLICE_BEGIN = 1, PF_SLICE_END = 2, PF_INSTANT = 3, PF_COUNTER = 4 };
enum { PF_MAX_ANNOTATIONS = 32, PF_MAX_FRESH = 2 * PF_MAX_ANNOTATIONS + 1 };

/* Strings that a packet introduces. */
struct pf_fresh {
	Pf__InternedName items[PF_MAX_FRESH];
	Pf__InternedName *pointers[PF_MAX_FRESH];
	size_t count;
};

struct pf_writer {
	struct sink *sink;
	struct intern *names, *annotation_names, *strings;
	bool begun, failed;

	Pf__TracePacket packet;
	Pf__TrackEvent event;
	Pf__InternedData interned;
	struct pf_fresh fresh_names, fresh_annotation_names;
	Pf__InternedString fresh_strings[PF_MAX_ANNOTATIONS];
	Pf__InternedString *fresh_string_pointers[PF_MAX_ANNOTATIONS];
	Pf__DebugAnnotation annotations[PF_MAX_ANNOTATIONS];
	Pf__DebugAnnotation *annotation_pointers[PF_MAX_ANNOTATIONS];
};

/* False when out of memory. */
bool pf_init(struct pf_writer *, FILE *, bool gzip);
/* False when anything failed since pf_init(). */
bool pf_fini(struct pf_writer *);

/* An event on a track; annotations may follow, then pf_event_end(). Texts must live until then. `name` NULL: none. */
void pf_event_begin(struct pf_writer *, uint32_t type, uint64_t track, uint64_t time, const char *name);
void pf_annotate_uint(struct pf_writer *, const char *name, uint64_t value);
void pf_annotate_real(struct pf_writer *, const char *name, double value);
void pf_annotate_text(struct pf_writer *, const char *name, const char *value);
void pf_event_end(struct pf_writer *);

void pf_track(struct pf_writer *, Pf__TrackDescriptor *);

#endif
