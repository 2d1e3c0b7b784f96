/* SPDX-License-Identifier: Apache-2.0 */
/* The data of a page, gathered by one walk; sim/timeline/page.h says how they are laid out. */
#ifndef NPU_SIM_TIMELINE_PAGE_DATA_H
#define NPU_SIM_TIMELINE_PAGE_DATA_H

#include "sim/facts.h"
#include "sim/timeline/lanes.h"
#include "sim/timeline/page_text.h"

struct page_lane {
	enum timeline_kind kind;
	enum npu_engine engine;
	uint32_t name, unit; /* strings */
	uint64_t count;      /* slices or values */
	uint64_t end;        /* of the latest slice; time of the latest value */
	uint32_t insn;       /* of the latest slice, + 1 */
	double value;        /* the latest */
	struct page_bytes bytes;
};

struct page_data {
	const struct simulation *s;
	struct facts facts;
	struct page_strings strings, templates;
	struct page_lane *lanes;
	uint64_t nlanes, lane_room;
	uint8_t *shown; /* [ninsns] has a slice, or decides a state */
	uint64_t ninsns;  /* shown */
	struct page_bytes fixed, numbers;
	struct timeline_dropped dropped;
	/* Of each template: what its numbers were last, and in which run of PAGE_BLOCK instructions. */
	struct page_last {
		uint64_t *numbers;
		uint64_t block;
	} *last;
	uint64_t last_room;
};

/* Instructions after which numbers start again at 0, so that a text can be read without all before it. */
enum { PAGE_BLOCK = 256 };

/* False when out of memory; free it also then. */
bool page_data_init(struct page_data *, const struct simulation *);
void page_data_fini(struct page_data *);

#endif
