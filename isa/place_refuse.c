/* SPDX-License-Identifier: Apache-2.0 */
/* Why buffers have no room: how much is missing, or what lies where it may not, and a map of what lives when. */
#include "isa/place_parts.h"

#include "isa/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *memory_name(bool accum)
{
	return accum ? "accumulators" : "SRAM";
}

static struct npu_text name_of(const char *name, uint32_t index)
{
	struct npu_text out;
	if (index == PLACE_NO_INDEX)
		snprintf(out.text, sizeof out.text, "%.39s", name);
	else
		snprintf(out.text, sizeof out.text, "%.27s[%" PRIu32 "]", name, index);
	return out;
}

/* "line 3", "lib.npi:3" */
static struct npu_text line_text(const struct npu_placed_line *l)
{
	struct npu_text out;
	const char *slash = l->file ? strrchr(l->file, '/') : NULL;
	if (l->file)
		snprintf(out.text, sizeof out.text, "%.*s:%" PRIu32, (int)sizeof out.text - 12,
			 slash ? slash + 1 : l->file, l->line);
	else
		snprintf(out.text, sizeof out.text, "line %" PRIu32, l->line);
	return out;
}

/* "line 3 to line 9", or of instructions where lines are not known; "end": it is alive. */
static void write_life(const struct place_block *b, char *out, size_t size)
{
	bool lines = b->declared.line != 0;
	struct npu_text first = line_text(&b->declared), last = line_text(&b->ended);
	if (!lines)
		snprintf(first.text, sizeof first.text, "#%" PRIu32, b->first);
	if (b->live)
		snprintf(last.text, sizeof last.text, "end");
	else if (!lines)
		snprintf(last.text, sizeof last.text, "#%" PRIu32, b->last);
	snprintf(out, size, "%s to %s", first.text, last.text);
}

/* `against`: the buffer that found no room. */
static void note_block(const struct place_block *b, const struct place_memory *m, const struct place_block *against,
		       struct npu_error *err)
{
	char life[2 * sizeof(struct npu_text) + 8];
	write_life(b, life, sizeof life);
	npu_error_note(err, "  %-12s %s0x%06" PRIx64 "  %12s bytes  %s %" PRIu64 "  %s%s%s",
		       name_of(b->name, b->index).text, b->accum ? "acc:" : "sram:", b->at,
		       npu_count_text(b->bytes).text, b->accum ? "bank" : "group",
		       m->group_bytes ? b->at / m->group_bytes : 0, life,
		       !b->live  ? ", its bytes are free again"
		       : against ? ", overlaps "
				 : "",
		       b->live && against ? name_of(against->name, against->index).text : "");
}

enum { MAP_LINES = 24, MAP_REQUESTS = 10 };

/* The first request that finds no room when all are packed in their order: of what lives then the lives overlap. */
static struct place_block find_lacking(struct npu_placer *p, const struct place_memory *m,
				       const struct npu_place_request *requests, unsigned n, uint32_t now)
{
	struct npu_error ignored;
	struct place_block lacking = { .name = NULL };
	uint32_t before = p->nblocks;
	for (unsigned i = 0; i < n && !lacking.name; i++) {
		const struct npu_place_request *r = &requests[i];
		uint32_t count = r->accum == m->accum ? npu_place_least(r) : 0;
		for (uint32_t slot = 0; slot < count && !lacking.name; slot++)
			if (!npu_place_one(p, r, count, slot, true, now, &ignored))
				lacking =
				    (struct place_block){ .name = r->name, .index = npu_place_index(r, count, slot) };
	}
	npu_place_forget(p, before);
	return lacking;
}

/* A map that is being written. */
struct map {
	const struct place_memory *memory;
	const struct place_block *lacking; /* the buffer that found no room; NULL: none */
	struct npu_error *err;
	uint32_t lines;
};

/* Blocks 0 to n - 1 in at most so many lines: where these are short, the oldest of those that are over go first. */
static void note_blocks(const struct npu_placer *p, struct map *map, uint32_t n, uint32_t most)
{
	bool accum = map->memory->accum;
	uint32_t over = 0, left = 0, live = p->spaces[accum].n;
	for (uint32_t i = 0; i < n; i++)
		over += p->blocks[i].accum == accum && !p->blocks[i].live;
	uint32_t skip = over + live > most ? over + live - most : 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct place_block *b = &p->blocks[i];
		if (b->accum != accum)
			continue;
		if (map->lines == most || (!b->live && skip)) {
			skip -= !b->live && skip;
			left++;
			continue;
		}
		note_block(b, map->memory, map->lacking, map->err);
		map->lines++;
	}
	if (left)
		npu_error_note(map->err, "  and %s more before", npu_count_text(left).text);
}

/* Buffer `slot` of a request, placed now if it fits. */
static void note_request(struct npu_placer *p, struct map *map, const struct npu_place_request *r, uint32_t slot,
			 uint32_t now)
{
	struct npu_error ignored;
	uint32_t count = npu_place_least(r);
	if (npu_place_one(p, r, count, slot, true, now, &ignored))
		note_block(&p->blocks[p->nblocks - 1], map->memory, map->lacking, map->err);
	else
		npu_error_note(map->err, "  %-12s %-14s %12s bytes  does not fit",
			       name_of(r->name, npu_place_index(r, count, slot)).text, "",
			       npu_count_text(npu_place_taken(map->memory, r->bytes)).text);
	map->lines++;
}

/* The map: all buffers so far, then the requests, packed in their order as far as it goes. */
static void draw_map(struct npu_placer *p, const struct place_memory *m, const struct npu_place_request *requests,
		     unsigned n, uint32_t now, struct npu_error *err)
{
	const struct place_block lacking = find_lacking(p, m, requests, n, now);
	struct map map = { .memory = m, .lacking = lacking.name ? &lacking : NULL, .err = err };
	uint32_t wanted = 0, left = 0;
	for (unsigned i = 0; i < n; i++)
		wanted += requests[i].accum == m->accum ? npu_place_least(&requests[i]) : 0;
	note_blocks(p, &map, p->nblocks, MAP_LINES - (wanted < MAP_REQUESTS ? wanted : MAP_REQUESTS));
	for (unsigned i = 0; i < n; i++)
		for (uint32_t slot = 0; requests[i].accum == m->accum && slot < npu_place_least(&requests[i]); slot++)
			if (map.lines < MAP_LINES)
				note_request(p, &map, &requests[i], slot, now);
			else
				left++;
	if (left)
		npu_error_note(err, "  and %s more", npu_count_text(left).text);
}

bool npu_place_refuse(struct npu_placer *p, bool accum, const struct npu_place_request *requests, unsigned n,
		      uint32_t now, struct npu_error *err)
{
	struct place_memory m = npu_place_memory(p, accum);
	uint32_t before = p->nblocks;
	uint64_t sum = npu_place_live(p, &m, 0, m.bytes);
	bool fits = true;
	for (unsigned i = 0; i < n; i++) {
		if (requests[i].accum != accum)
			continue;
		uint32_t count = npu_place_least(&requests[i]);
		sum += count * npu_place_taken(&m, requests[i].bytes);
		fits = npu_place_all(p, &requests[i], &count, 1, true, now, err) && fits;
	}
	npu_place_forget(p, before);
	if (fits)
		return false;
	p->lacks_accum = accum;
	const struct npu_place_request *past = NULL;
	for (unsigned i = 0; i < n && !past; i++)
		if (requests[i].accum == accum && requests[i].at >= 0 &&
		    ((uint64_t)requests[i].at > m.bytes || requests[i].bytes > m.bytes - (uint64_t)requests[i].at))
			past = &requests[i];
	if (past)
		npu_fail(err, NPU_ERR_FIT, "%s at 0x%" PRIx64 " takes %s bytes, past the end of %s, 0x%" PRIx64,
			 past->name, (uint64_t)past->at, npu_count_text(past->bytes).text, memory_name(accum), m.bytes);
	else if (sum > m.bytes)
		npu_fail(err, NPU_ERR_FIT, "buffers do not fit: %s needed of %s bytes of %s, %s too many",
			 npu_count_text(sum).text, npu_count_text(m.bytes).text, memory_name(accum),
			 npu_count_text(sum - m.bytes).text);
	else
		npu_fail(err, NPU_ERR_FIT,
			 "buffers do not fit into the gaps between others: %s needed of %s bytes of %s",
			 npu_count_text(sum).text, npu_count_text(m.bytes).text, memory_name(accum));
	draw_map(p, &m, requests, n, now, err);
	npu_place_forget(p, before);
	return true;
}

bool npu_place_refuse_clash(const struct npu_placer *p, struct npu_error *err)
{
	const struct place_block *b = &p->clash_with;
	struct npu_text since = line_text(&b->declared);
	if (!b->declared.line)
		snprintf(since.text, sizeof since.text, "#%" PRIu32, b->first);
	return npu_fail(err, NPU_ERR_FIT, "%s lies on %s, %s:0x%" PRIx64 " to 0x%" PRIx64 ", which is alive from %s on",
			name_of(p->clash->name, p->clash_slot).text, name_of(b->name, b->index).text,
			b->accum ? "acc" : "sram", b->at, b->at + b->bytes, since.text);
}
