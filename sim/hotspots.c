/* SPDX-License-Identifier: Apache-2.0 */
/* Groups by a table of jansson's: place to position. */
#include "sim/hotspots.h"

#include "sim/report_read.h"

#include <stdlib.h>
#include <string.h>

static const char *const ways[HOTSPOTS_WAYS] = { "line", "instruction", "region" };

const char *hotspots_way(unsigned by) { return by < HOTSPOTS_WAYS ? ways[by] : NULL; }

static const char *place_of(const json_t *row, enum hotspots_by by)
{
	const char *key = by == HOTSPOTS_LINE ? "source" : by == HOTSPOTS_REGION ? "region" : "text";
	const char *place = report_text(row, key);
	return place[0] ? place : "(none)";
}

/* The group of a row: by itself, or the one of its place. */
static struct hotspot *group_of(struct hotspots *h, json_t *places, const json_t *row, uint32_t i, enum hotspots_by by)
{
	const char *place = place_of(row, by);
	json_t *known = by == HOTSPOTS_INSTRUCTION ? NULL : json_object_get(places, place);
	if (known)
		return &h->items[json_integer_value(known)];
	if (by != HOTSPOTS_INSTRUCTION && json_object_set_new(places, place, json_integer(h->n)) != 0)
		return NULL;
	h->items[h->n] = (struct hotspot){ .place = place, .engine = report_text(row, "engine"), .first = i };
	return &h->items[h->n++];
}

static void add(struct hotspot *spot, const json_t *row)
{
	const char *name;
	json_t *cycles, *stalls = json_object_get(row, "stalls");
	if (strcmp(spot->engine, report_text(row, "engine")) != 0)
		spot->engine = "mixed";
	spot->count++;
	spot->dram_bytes += report_count(row, "dram_bytes");
	spot->macs += report_count(row, "macs");
	spot->states[NPU_STATE_BUSY] += report_count(row, "busy");
	spot->cycles += report_count(row, "busy");
	json_object_foreach(stalls, name, cycles) {
		for (unsigned s = 0; s < NPU_STATES; s++) {
			if (strcmp(name, account_state_name((enum npu_state)s)) != 0)
				continue;
			spot->states[s] += report_count(stalls, name);
			if (account_state_group((enum npu_state)s) == ACCOUNT_ACTIVE)
				spot->cycles += report_count(stalls, name);
		}
	}
}

static int by_cycles(const void *x, const void *y)
{
	const struct hotspot *a = x, *b = y;
	if (a->cycles != b->cycles)
		return a->cycles > b->cycles ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

/* The row of tensors for instructions that came from DRAM. */
static const char fetches[] = "(instructions)";

static uint64_t fetched_bytes(const json_t *report)
{
	size_t i;
	json_t *row;
	json_array_foreach(report_value(report, "tensors"), i, row)
		if (strcmp(report_text(row, "name"), fetches) == 0)
			return report_count(row, "read_bytes");
	return 0;
}

bool hotspots_init(struct hotspots *h, const json_t *report, const char *path, enum hotspots_by by, struct npu_error *err)
{
	const json_t *rows = report_value(report, "instructions");
	size_t n = json_array_size(rows);
	memset(h, 0, sizeof(*h));
	if (n == 0 && (report_count(report, "program.instructions") > 0 || !report_value(report, "program.instructions")))
		return npu_fail(err, NPU_ERR_VALUE, "%s: no rows of instructions; npusim run ... --report %s --instructions "
						    "writes them", path, path);
	json_t *places = json_object();
	h->items = calloc(n + 1, sizeof(*h->items));
	bool ok = places && h->items;
	for (size_t i = 0; ok && i < n; i++) {
		const json_t *row = json_array_get(rows, i);
		struct hotspot *spot = group_of(h, places, row, (uint32_t)i, by);
		ok = spot != NULL;
		if (ok)
			add(spot, row);
	}
	json_decref(places);
	if (!ok) {
		hotspots_fini(h);
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	}
	qsort(h->items, h->n, sizeof(*h->items), by_cycles);
	uint64_t fetched = fetched_bytes(report);
	if (fetched > 0)
		h->items[h->n++] = (struct hotspot){ .place = fetches, .engine = "sequencer", .first = (uint32_t)n, .dram_bytes = fetched };
	return true;
}

void hotspots_fini(struct hotspots *h)
{
	free(h->items);
	memset(h, 0, sizeof(*h));
}
