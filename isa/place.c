/* SPDX-License-Identifier: Apache-2.0 */
/* First fit in groups; the emptiest group when none is preferred. */
#include "isa/place.h"

#include "isa/insn.h"
#include "isa/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOWHERE UINT64_MAX

struct block {
	const char *name;
	uint32_t index; /* in its array; NO_INDEX: it is none */
	bool accum;
	bool live;
	uint64_t at;
	uint64_t bytes;
	uint32_t first, last; /* instructions; last counts when it is over */
	struct npu_placed_line declared, ended;
};
enum { NO_INDEX = 0xffffffff };

/* Where the last search of a range ended: what is larger, or must be aligned to more, does not fit before. */
struct hint {
	uint64_t from, to, bytes, align, at;
	uint32_t epoch; /* of the space; 0: none */
};
enum { HINT_BITS = 6, HINTS = 1 << HINT_BITS, MOST_COUNTED_GROUPS = 1 << 16 };

/* What lives in one memory. */
struct space {
	uint32_t *order; /* indices of blocks by address */
	uint32_t n, room;
	uint64_t *used; /* [ngroups] live bytes; NULL: too many groups to count */
	uint64_t ngroups;
	uint32_t epoch; /* counts what gave room back */
	struct hint hints[HINTS];
};

struct npu_placer {
	struct npu_capacity capacity;
	struct block *blocks;
	uint32_t nblocks, room;
	bool lacks_accum;
	const struct npu_place_request *clash; /* a fixed one that lies on another; NULL: none */
	unsigned clash_request;
	uint32_t clash_slot;
	struct block clash_with;
	struct space spaces[2]; /* SRAM, accumulators */
};

struct memory {
	bool accum;
	uint64_t bytes;
	uint64_t group_bytes;
	uint64_t align;
};

static uint64_t align_up(uint64_t x, uint64_t to)
{
	return (x + to - 1) / to * to;
}

static struct memory memory_of(const struct npu_placer *p, bool accum)
{
	const struct npu_capacity *c = &p->capacity;
	uint64_t bytes = accum ? c->limits.accum_bytes : c->limits.sram_bytes;
	uint64_t groups = accum ? c->accum_banks : c->sram_groups;
	uint64_t word = c->sram_word_bytes ? c->sram_word_bytes : 1;
	uint64_t row = 4 * (uint64_t)(c->array_cols > c->vector_lanes ? c->array_cols : c->vector_lanes);
	return (struct memory){
		.accum = accum,
		.bytes = bytes,
		.group_bytes = groups > 1 ? bytes / groups : bytes,
		/* A row of an accumulator bank, so that no two buffers meet in one. */
		.align = accum && row ? row : word,
	};
}

static uint64_t groups_of(const struct memory *m)
{
	return m->group_bytes ? m->bytes / m->group_bytes : 0;
}

struct npu_placer *npu_placer_new(const struct npu_capacity *capacity)
{
	struct npu_placer *p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	p->capacity = *capacity;
	for (unsigned accum = 0; accum < 2; accum++) {
		struct space *space = &p->spaces[accum];
		struct memory m = memory_of(p, accum);
		space->epoch = 1;
		space->ngroups = groups_of(&m);
		if (space->ngroups <= MOST_COUNTED_GROUPS)
			space->used = calloc(space->ngroups + 1, sizeof *space->used);
	}
	return p;
}

void npu_placer_free(struct npu_placer *p)
{
	if (!p)
		return;
	for (unsigned accum = 0; accum < 2; accum++) {
		free(p->spaces[accum].order);
		free(p->spaces[accum].used);
	}
	free(p->blocks);
	free(p);
}

static uint64_t taken_bytes(const struct memory *m, uint64_t bytes)
{
	return align_up(bytes ? bytes : 1, m->align);
}

uint64_t npu_placer_bytes(const struct npu_placer *p, bool accum, uint64_t bytes)
{
	const struct memory m = memory_of(p, accum);
	return taken_bytes(&m, bytes);
}

bool npu_placer_lacks_accum(const struct npu_placer *p)
{
	return p->lacks_accum;
}

/* Adds the bytes of a block to those of its groups, or takes them away. */
static void count_block(struct npu_placer *p, const struct block *b, bool add)
{
	struct space *space = &p->spaces[b->accum];
	const struct memory m = memory_of(p, b->accum);
	for (uint64_t at = b->at, end = b->at + b->bytes; space->used && at < end;) {
		uint64_t group = m.group_bytes ? at / m.group_bytes : 0;
		if (group >= space->ngroups)
			break;
		uint64_t next = (group + 1) * m.group_bytes < end ? (group + 1) * m.group_bytes : end;
		space->used[group] += add ? next - at : at - next;
		at = next;
	}
}

/* The first place in the order whose block begins at `at` or later; `by_end`: ends behind it. */
static uint32_t order_from(const struct npu_placer *p, const struct space *space, uint64_t at, bool by_end)
{
	uint32_t low = 0, high = space->n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct block *b = &p->blocks[space->order[middle]];
		if (by_end ? b->at + b->bytes > at : b->at >= at)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static bool add_to_order(struct npu_placer *p, uint32_t index)
{
	const struct block *b = &p->blocks[index];
	struct space *space = &p->spaces[b->accum];
	if (space->n == space->room) {
		uint32_t room = space->room ? 2 * space->room : 32;
		uint32_t *order = realloc(space->order, room * sizeof *order);
		if (!order)
			return false;
		space->order = order;
		space->room = room;
	}
	uint32_t i = order_from(p, space, b->at, false);
	memmove(space->order + i + 1, space->order + i, (space->n - i) * sizeof *space->order);
	space->order[i] = index;
	space->n++;
	count_block(p, b, true);
	return true;
}

void npu_placer_release(struct npu_placer *p, uint32_t handle)
{
	npu_placer_end(p, handle, p->blocks[handle].first, (struct npu_placed_line){ 0 });
}

void npu_placer_end(struct npu_placer *p, uint32_t handle, uint32_t now, struct npu_placed_line line)
{
	struct block *b = &p->blocks[handle];
	struct space *space = &p->spaces[b->accum];
	if (!b->live)
		return;
	b->live = false;
	b->last = now;
	b->ended = line;
	uint32_t i = order_from(p, space, b->at, false);
	while (i < space->n && space->order[i] != handle)
		i++;
	space->n--;
	memmove(space->order + i, space->order + i + 1, (space->n - i) * sizeof *space->order);
	space->epoch++;
	count_block(p, b, false);
}

/* Blocks from `before` on were never there. */
static void forget_blocks(struct npu_placer *p, uint32_t before)
{
	for (unsigned accum = 0; accum < 2; accum++) {
		struct space *space = &p->spaces[accum];
		uint32_t kept = 0;
		for (uint32_t i = 0; i < space->n; i++) {
			if (space->order[i] < before)
				space->order[kept++] = space->order[i];
			else
				count_block(p, &p->blocks[space->order[i]], false);
		}
		space->n = kept;
		space->epoch++;
	}
	p->nblocks = before;
}

static struct hint *hint_of(struct npu_placer *p, bool accum, uint64_t from, uint64_t to)
{
	uint64_t mixed = (from * 0x9e3779b97f4a7c15u) ^ (to * 0xbf58476d1ce4e5b9u);
	return &p->spaces[accum].hints[mixed * 0x94d049bb133111ebu >> (64 - HINT_BITS)];
}

/* First fit of `bytes` in [from, to) among the live blocks. */
static uint64_t first_fit(struct npu_placer *p, const struct memory *m, uint64_t from, uint64_t to, uint64_t bytes,
			  uint64_t align)
{
	const struct space *space = &p->spaces[m->accum];
	struct hint *hint = hint_of(p, m->accum, from, to);
	bool helps = hint->epoch == space->epoch && hint->from == from && hint->to == to && hint->bytes <= bytes &&
		     align % hint->align == 0;
	if (helps && hint->at == NOWHERE)
		return NOWHERE;
	uint64_t at = align_up(helps ? hint->at : from, align);
	for (uint32_t i = order_from(p, space, at, true); i < space->n; i++) {
		const struct block *o = &p->blocks[space->order[i]];
		if (at > to || bytes > to - at || o->at >= at + bytes)
			break;
		if (o->at + o->bytes > at)
			at = align_up(o->at + o->bytes, align);
	}
	at = at <= to && bytes <= to - at ? at : NOWHERE;
	*hint = (struct hint){ from, to, bytes, align, at, space->epoch };
	return at;
}

static uint64_t live_bytes(const struct npu_placer *p, const struct memory *m, uint64_t from, uint64_t to)
{
	const struct space *space = &p->spaces[m->accum];
	uint64_t sum = 0;
	for (uint32_t i = 0; i < space->n; i++) {
		const struct block *o = &p->blocks[space->order[i]];
		if (o->at >= to || o->at + o->bytes <= from)
			continue;
		uint64_t lo = o->at > from ? o->at : from;
		uint64_t hi = o->at + o->bytes < to ? o->at + o->bytes : to;
		sum += hi - lo;
	}
	return sum;
}

static uint64_t bytes_in_group(const struct npu_placer *p, const struct memory *m, uint64_t g)
{
	const struct space *space = &p->spaces[m->accum];
	return space->used ? space->used[g] : live_bytes(p, m, g * m->group_bytes, (g + 1) * m->group_bytes);
}

/* In group g: inside it, or from its beginning on where it is larger than a group. */
static uint64_t fit_in_group(struct npu_placer *p, const struct memory *m, uint64_t g, uint64_t bytes, uint64_t align)
{
	uint64_t from = g * m->group_bytes;
	uint64_t to = from + (bytes > m->group_bytes ? bytes : m->group_bytes);
	if (bytes > m->group_bytes && align_up(from, align) != from)
		to += align;
	return to <= m->bytes ? first_fit(p, m, from, to, bytes, align) : NOWHERE;
}

static uint64_t find_place(struct npu_placer *p, const struct memory *m, uint64_t bytes, uint64_t align, int64_t group)
{
	uint64_t groups = groups_of(m);
	uint64_t at = NOWHERE;
	if (group >= 0 && groups)
		at = fit_in_group(p, m, (uint64_t)group % groups, bytes, align);

	/* The emptiest group that has a gap. */
	uint64_t least = NOWHERE;
	for (uint64_t g = 0; at == NOWHERE && g < groups; g++) {
		uint64_t used = bytes_in_group(p, m, g);
		if (used < least && fit_in_group(p, m, g, bytes, align) != NOWHERE)
			least = used;
	}
	for (uint64_t g = 0; at == NOWHERE && least != NOWHERE && g < groups; g++)
		if (bytes_in_group(p, m, g) == least)
			at = fit_in_group(p, m, g, bytes, align);
	return at != NOWHERE ? at : first_fit(p, m, 0, m->bytes, bytes, align);
}

static bool make_room(struct npu_placer *p, struct npu_error *err)
{
	if (p->nblocks < p->room)
		return true;
	uint32_t room = p->room ? 2 * p->room : 32;
	struct block *blocks = realloc(p->blocks, room * sizeof *blocks);
	if (!blocks)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	p->blocks = blocks;
	p->room = room;
	return true;
}

/* What lives in a range; NULL: nothing. */
static const struct block *block_in(const struct npu_placer *p, bool accum, uint64_t at, uint64_t bytes)
{
	const struct space *space = &p->spaces[accum];
	uint32_t i = order_from(p, space, at, true);
	const struct block *b = i < space->n ? &p->blocks[space->order[i]] : NULL;
	return b && b->at < at + bytes ? b : NULL;
}

/* The index in the name of buffer `slot`. */
static uint32_t index_of(const struct npu_place_request *r, uint32_t count, uint32_t slot)
{
	return r->array || count > 1 ? slot : NO_INDEX;
}

/* One of `count` buffers of a request; false when there is no room (or an error of memory). */
static bool place_one(struct npu_placer *p, const struct npu_place_request *r, uint32_t count, uint32_t slot,
		      bool packed, uint32_t now, struct npu_error *err)
{
	struct memory m = memory_of(p, r->accum);
	uint64_t bytes = taken_bytes(&m, r->bytes);
	uint64_t align = r->align > 1 ? align_up(m.align, r->align) : m.align;
	uint64_t at;
	if (r->at >= 0) {
		bytes = r->bytes;
		at = (uint64_t)r->at + slot * bytes;
		at = at <= m.bytes && bytes <= m.bytes - at ? at : NOWHERE;
		const struct block *other = at == NOWHERE ? NULL : block_in(p, r->accum, at, bytes);
		if (other) {
			p->clash = r;
			p->clash_slot = index_of(r, count, slot);
			p->clash_with = *other;
			return false;
		}
	} else {
		at = packed ? first_fit(p, &m, 0, m.bytes, bytes, align)
			    : find_place(p, &m, bytes, align,
					 r->group < 0 ? -1 : r->group + slot * (r->step ? r->step : 1));
	}
	if (at == NOWHERE || !make_room(p, err))
		return false;
	p->blocks[p->nblocks] = (struct block){ .name = r->name,
						.index = index_of(r, count, slot),
						.accum = r->accum,
						.live = true,
						.at = at,
						.bytes = bytes,
						.first = now,
						.declared = r->declared };
	if (!add_to_order(p, p->nblocks))
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	r->locals[slot] = (uint32_t)at | (r->accum ? NPU_ACC_BIT : 0);
	r->handles[slot] = p->nblocks++;
	return true;
}

static bool place_all(struct npu_placer *p, const struct npu_place_request *requests, const uint32_t *counts,
		      unsigned n, bool packed, uint32_t now, struct npu_error *err)
{
	uint32_t before = p->nblocks;
	bool ok = true;
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < n && ok; i++)
			for (uint32_t slot = 0; (requests[i].at >= 0) == (pass == 0) && slot < counts[i] && ok; slot++)
				ok = place_one(p, &requests[i], counts[i], slot, packed, now, err);
	if (!ok)
		forget_blocks(p, before);
	return ok;
}

/* Each request with that many buffers, in its groups or else packed. */
static bool place_counts(struct npu_placer *p, const struct npu_place_request *requests, const uint32_t *counts,
			 unsigned n, uint32_t now, struct npu_error *err)
{
	return place_all(p, requests, counts, n, false, now, err) || place_all(p, requests, counts, n, true, now, err);
}

static uint32_t least_of(const struct npu_place_request *r)
{
	return r->least ? r->least : r->count;
}

/* One more buffer for request i and those paired with it, if there is room. */
static void add_buffer(struct npu_placer *p, const struct npu_place_request *requests, uint32_t *counts, unsigned n,
		       unsigned i, struct npu_error *err)
{
	uint32_t before = p->nblocks;
	unsigned end = i + 1;
	while (end < n && requests[end].pair)
		end++;
	for (unsigned j = i; j < end; j++)
		counts[j]++;
	bool fits = place_counts(p, requests, counts, n, 0, err);
	forget_blocks(p, before);
	for (unsigned j = i; j < end && !fits; j++)
		counts[j]--;
}

/* The buffers that each request gets, from its least on. */
static void grow_counts(struct npu_placer *p, const struct npu_place_request *requests, uint32_t *counts, unsigned n,
			struct npu_error *err)
{
	uint32_t most = 0;
	for (unsigned i = 0; i < n; i++)
		if (least_of(&requests[i]) < requests[i].count)
			most = requests[i].count > most ? requests[i].count : most;
	for (uint32_t level = 2; level <= most; level++)
		for (unsigned i = 0; i < n; i++)
			if (!requests[i].pair && counts[i] < level && level <= requests[i].count)
				add_buffer(p, requests, counts, n, i, err);
}

static const char *memory_name(bool accum)
{
	return accum ? "accumulators" : "SRAM";
}

static struct npu_text name_of(const char *name, uint32_t index)
{
	struct npu_text out;
	if (index == NO_INDEX)
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
static void write_life(const struct block *b, char *out, size_t size)
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
static void note_block(const struct block *b, const struct memory *m, const struct block *against,
		       struct npu_error *err)
{
	char life[2 * sizeof(struct npu_text) + 8];
	write_life(b, life, sizeof life);
	npu_error_note(err, "  %-12s %s0x%06" PRIx64 "  %12s bytes  %s %" PRIu64 "  %s%s%s",
		       name_of(b->name, b->index).text, b->accum ? "acc:" : "sram:", b->at,
		       npu_count_text(b->bytes).text, b->accum ? "bank" : "group",
		       m->group_bytes ? b->at / m->group_bytes : 0, life,
		       !b->live ? ", its bytes are free again" : against ? ", overlaps " : "",
		       b->live && against ? name_of(against->name, against->index).text : "");
}

enum { MAP_LINES = 24, MAP_REQUESTS = 10 };

/* The first request that finds no room when all are packed in their order: of what lives then the lives overlap. */
static struct block find_lacking(struct npu_placer *p, const struct memory *m, const struct npu_place_request *requests,
				 unsigned n, uint32_t now)
{
	struct npu_error ignored;
	struct block lacking = { .name = NULL };
	uint32_t before = p->nblocks;
	for (unsigned i = 0; i < n && !lacking.name; i++) {
		const struct npu_place_request *r = &requests[i];
		uint32_t count = r->accum == m->accum ? least_of(r) : 0;
		for (uint32_t slot = 0; slot < count && !lacking.name; slot++)
			if (!place_one(p, r, count, slot, true, now, &ignored))
				lacking = (struct block){ .name = r->name, .index = index_of(r, count, slot) };
	}
	forget_blocks(p, before);
	return lacking;
}

/* A map that is being written. */
struct map {
	const struct memory *memory;
	const struct block *lacking; /* the buffer that found no room; NULL: none */
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
		const struct block *b = &p->blocks[i];
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
	uint32_t count = least_of(r);
	if (place_one(p, r, count, slot, true, now, &ignored))
		note_block(&p->blocks[p->nblocks - 1], map->memory, map->lacking, map->err);
	else
		npu_error_note(map->err, "  %-12s %-14s %12s bytes  does not fit",
			       name_of(r->name, index_of(r, count, slot)).text, "",
			       npu_count_text(taken_bytes(map->memory, r->bytes)).text);
	map->lines++;
}

/* The map: all buffers so far, then the requests, packed in their order as far as it goes. */
static void draw_map(struct npu_placer *p, const struct memory *m, const struct npu_place_request *requests, unsigned n,
		     uint32_t now, struct npu_error *err)
{
	const struct block lacking = find_lacking(p, m, requests, n, now);
	struct map map = { .memory = m, .lacking = lacking.name ? &lacking : NULL, .err = err };
	uint32_t wanted = 0, left = 0;
	for (unsigned i = 0; i < n; i++)
		wanted += requests[i].accum == m->accum ? least_of(&requests[i]) : 0;
	note_blocks(p, &map, p->nblocks, MAP_LINES - (wanted < MAP_REQUESTS ? wanted : MAP_REQUESTS));
	for (unsigned i = 0; i < n; i++)
		for (uint32_t slot = 0; requests[i].accum == m->accum && slot < least_of(&requests[i]); slot++)
			if (map.lines < MAP_LINES)
				note_request(p, &map, &requests[i], slot, now);
			else
				left++;
	if (left)
		npu_error_note(err, "  and %s more", npu_count_text(left).text);
}

/* False when the requests of this memory do fit. */
static bool refuse(struct npu_placer *p, bool accum, const struct npu_place_request *requests, unsigned n, uint32_t now,
		   struct npu_error *err)
{
	struct memory m = memory_of(p, accum);
	uint32_t before = p->nblocks;
	uint64_t sum = live_bytes(p, &m, 0, m.bytes);
	bool fits = true;
	for (unsigned i = 0; i < n; i++) {
		if (requests[i].accum != accum)
			continue;
		uint32_t count = least_of(&requests[i]);
		sum += count * taken_bytes(&m, requests[i].bytes);
		fits = place_all(p, &requests[i], &count, 1, true, now, err) && fits;
	}
	forget_blocks(p, before);
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
	forget_blocks(p, before);
	return true;
}

/* Fills in how many buffers each request has, and places them; false when not even the least have room. */
static bool place_most(struct npu_placer *p, const struct npu_place_request *requests, uint32_t *counts, unsigned n,
		       uint32_t now, struct npu_error *err)
{
	uint32_t before = p->nblocks;
	bool grows = false;
	for (unsigned i = 0; i < n; i++) {
		counts[i] = least_of(&requests[i]);
		grows |= counts[i] < requests[i].count;
	}
	if (!place_counts(p, requests, counts, n, now, err))
		return false;
	if (grows) {
		forget_blocks(p, before);
		grow_counts(p, requests, counts, n, err);
		if (!place_counts(p, requests, counts, n, now, err))
			return false;
	}
	for (unsigned i = 0; i < n; i++)
		if (requests[i].got)
			*requests[i].got = counts[i];
	return true;
}

static bool refuse_clash(const struct npu_placer *p, struct npu_error *err)
{
	const struct block *b = &p->clash_with;
	struct npu_text since = line_text(&b->declared);
	if (!b->declared.line)
		snprintf(since.text, sizeof since.text, "#%" PRIu32, b->first);
	return npu_fail(err, NPU_ERR_FIT, "%s lies on %s, %s:0x%" PRIx64 " to 0x%" PRIx64 ", which is alive from %s on",
			name_of(p->clash->name, p->clash_slot).text, name_of(b->name, b->index).text,
			b->accum ? "acc" : "sram", b->at, b->at + b->bytes, since.text);
}

bool npu_placer_clashes(const struct npu_placer *p, unsigned *request)
{
	*request = p->clash_request;
	return p->clash != NULL;
}

bool npu_placer_place(struct npu_placer *p, const struct npu_place_request *requests, unsigned n, uint32_t now,
		      struct npu_error *err)
{
	struct npu_error memory = { .code = NPU_ERR_NONE };
	uint32_t *counts = calloc(n + (size_t)1, sizeof *counts);
	if (!counts)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	p->clash = NULL;
	bool ok = place_most(p, requests, counts, n, now, &memory);
	if (ok)
		p->clash = NULL;
	p->clash_request = p->clash ? (unsigned)(p->clash - requests) : 0;
	free(counts);
	if (memory.code && err)
		*err = memory;
	if (ok || memory.code)
		return ok && !memory.code;
	if (p->clash)
		return refuse_clash(p, err);
	if (refuse(p, false, requests, n, now, err) || refuse(p, true, requests, n, now, err))
		return false;
	return npu_fail(err, NPU_ERR_FIT, "buffers at fixed addresses leave no room for the others");
}
