/* SPDX-License-Identifier: Apache-2.0 */
/* First fit in groups; the emptiest group when none is preferred. */
#include "isa/place_parts.h"

#include "isa/insn.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t align_up(uint64_t x, uint64_t to)
{
	return (x + to - 1) / to * to;
}

struct place_memory npu_place_memory(const struct npu_placer *p, bool accum)
{
	const struct npu_capacity *c = &p->capacity;
	uint64_t bytes = accum ? c->limits.accum_bytes : c->limits.sram_bytes;
	uint64_t groups = accum ? c->accum_banks : c->sram_groups;
	uint64_t word = c->sram_word_bytes ? c->sram_word_bytes : 1;
	uint64_t row = 4 * (uint64_t)(c->array_cols > c->vector_lanes ? c->array_cols : c->vector_lanes);
	return (struct place_memory){
		.accum = accum,
		.bytes = bytes,
		.group_bytes = groups > 1 ? bytes / groups : bytes,
		/* A row of an accumulator bank, so that no two buffers meet in one. */
		.align = accum && row ? row : word,
	};
}

static uint64_t groups_of(const struct place_memory *m)
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
		struct place_space *space = &p->spaces[accum];
		struct place_memory m = npu_place_memory(p, accum);
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

uint64_t npu_place_taken(const struct place_memory *m, uint64_t bytes)
{
	return align_up(bytes ? bytes : 1, m->align);
}

uint64_t npu_placer_bytes(const struct npu_placer *p, bool accum, uint64_t bytes)
{
	const struct place_memory m = npu_place_memory(p, accum);
	return npu_place_taken(&m, bytes);
}

bool npu_placer_lacks_accum(const struct npu_placer *p)
{
	return p->lacks_accum;
}

/* Adds the bytes of a block to those of its groups, or takes them away. */
static void count_block(struct npu_placer *p, const struct place_block *b, bool add)
{
	struct place_space *space = &p->spaces[b->accum];
	const struct place_memory m = npu_place_memory(p, b->accum);
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
static uint32_t order_from(const struct npu_placer *p, const struct place_space *space, uint64_t at, bool by_end)
{
	uint32_t low = 0, high = space->n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct place_block *b = &p->blocks[space->order[middle]];
		if (by_end ? b->at + b->bytes > at : b->at >= at)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static bool add_to_order(struct npu_placer *p, uint32_t index)
{
	const struct place_block *b = &p->blocks[index];
	struct place_space *space = &p->spaces[b->accum];
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
	struct place_block *b = &p->blocks[handle];
	struct place_space *space = &p->spaces[b->accum];
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

void npu_place_forget(struct npu_placer *p, uint32_t before)
{
	for (unsigned accum = 0; accum < 2; accum++) {
		struct place_space *space = &p->spaces[accum];
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

static struct place_hint *hint_of(struct npu_placer *p, bool accum, uint64_t from, uint64_t to)
{
	uint64_t mixed = (from * 0x9e3779b97f4a7c15u) ^ (to * 0xbf58476d1ce4e5b9u);
	return &p->spaces[accum].hints[mixed * 0x94d049bb133111ebu >> (64 - HINT_BITS)];
}

/* First fit of `bytes` in [from, to) among the live blocks. */
static uint64_t first_fit(struct npu_placer *p, const struct place_memory *m, uint64_t from, uint64_t to,
			  uint64_t bytes, uint64_t align)
{
	const struct place_space *space = &p->spaces[m->accum];
	struct place_hint *hint = hint_of(p, m->accum, from, to);
	bool helps = hint->epoch == space->epoch && hint->from == from && hint->to == to && hint->bytes <= bytes &&
		     align % hint->align == 0;
	if (helps && hint->at == PLACE_NOWHERE)
		return PLACE_NOWHERE;
	uint64_t at = align_up(helps ? hint->at : from, align);
	for (uint32_t i = order_from(p, space, at, true); i < space->n; i++) {
		const struct place_block *o = &p->blocks[space->order[i]];
		if (at > to || bytes > to - at || o->at >= at + bytes)
			break;
		if (o->at + o->bytes > at)
			at = align_up(o->at + o->bytes, align);
	}
	at = at <= to && bytes <= to - at ? at : PLACE_NOWHERE;
	*hint = (struct place_hint){ from, to, bytes, align, at, space->epoch };
	return at;
}

uint64_t npu_place_live(const struct npu_placer *p, const struct place_memory *m, uint64_t from, uint64_t to)
{
	const struct place_space *space = &p->spaces[m->accum];
	uint64_t sum = 0;
	for (uint32_t i = 0; i < space->n; i++) {
		const struct place_block *o = &p->blocks[space->order[i]];
		if (o->at >= to || o->at + o->bytes <= from)
			continue;
		uint64_t lo = o->at > from ? o->at : from;
		uint64_t hi = o->at + o->bytes < to ? o->at + o->bytes : to;
		sum += hi - lo;
	}
	return sum;
}

static uint64_t bytes_in_group(const struct npu_placer *p, const struct place_memory *m, uint64_t g)
{
	const struct place_space *space = &p->spaces[m->accum];
	return space->used ? space->used[g] : npu_place_live(p, m, g * m->group_bytes, (g + 1) * m->group_bytes);
}

/* In group g: inside it, or from its beginning on where it is larger than a group. */
static uint64_t fit_in_group(struct npu_placer *p, const struct place_memory *m, uint64_t g, uint64_t bytes,
			     uint64_t align)
{
	uint64_t from = g * m->group_bytes;
	uint64_t to = from + (bytes > m->group_bytes ? bytes : m->group_bytes);
	if (bytes > m->group_bytes && align_up(from, align) != from)
		to += align;
	return to <= m->bytes ? first_fit(p, m, from, to, bytes, align) : PLACE_NOWHERE;
}

static uint64_t find_place(struct npu_placer *p, const struct place_memory *m, uint64_t bytes, uint64_t align,
			   int64_t group)
{
	uint64_t groups = groups_of(m);
	uint64_t at = PLACE_NOWHERE;
	if (group >= 0 && groups)
		at = fit_in_group(p, m, (uint64_t)group % groups, bytes, align);

	/* The emptiest group that has a gap. */
	uint64_t least = PLACE_NOWHERE;
	for (uint64_t g = 0; at == PLACE_NOWHERE && g < groups; g++) {
		uint64_t used = bytes_in_group(p, m, g);
		if (used < least && fit_in_group(p, m, g, bytes, align) != PLACE_NOWHERE)
			least = used;
	}
	for (uint64_t g = 0; at == PLACE_NOWHERE && least != PLACE_NOWHERE && g < groups; g++)
		if (bytes_in_group(p, m, g) == least)
			at = fit_in_group(p, m, g, bytes, align);
	return at != PLACE_NOWHERE ? at : first_fit(p, m, 0, m->bytes, bytes, align);
}

static bool make_room(struct npu_placer *p, struct npu_error *err)
{
	if (p->nblocks < p->room)
		return true;
	uint32_t room = p->room ? 2 * p->room : 32;
	struct place_block *blocks = realloc(p->blocks, room * sizeof *blocks);
	if (!blocks)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	p->blocks = blocks;
	p->room = room;
	return true;
}

/* What lives in a range; NULL: nothing. */
static const struct place_block *block_in(const struct npu_placer *p, bool accum, uint64_t at, uint64_t bytes)
{
	const struct place_space *space = &p->spaces[accum];
	uint32_t i = order_from(p, space, at, true);
	const struct place_block *b = i < space->n ? &p->blocks[space->order[i]] : NULL;
	return b && b->at < at + bytes ? b : NULL;
}

uint32_t npu_place_index(const struct npu_place_request *r, uint32_t count, uint32_t slot)
{
	return r->array || count > 1 ? slot : PLACE_NO_INDEX;
}

bool npu_place_one(struct npu_placer *p, const struct npu_place_request *r, uint32_t count, uint32_t slot, bool packed,
		   uint32_t now, struct npu_error *err)
{
	struct place_memory m = npu_place_memory(p, r->accum);
	uint64_t bytes = npu_place_taken(&m, r->bytes);
	uint64_t align = r->align > 1 ? align_up(m.align, r->align) : m.align;
	uint64_t at;
	if (r->at >= 0) {
		bytes = r->bytes;
		at = (uint64_t)r->at + slot * bytes;
		at = at <= m.bytes && bytes <= m.bytes - at ? at : PLACE_NOWHERE;
		const struct place_block *other = at == PLACE_NOWHERE ? NULL : block_in(p, r->accum, at, bytes);
		if (other) {
			p->clash = r;
			p->clash_slot = npu_place_index(r, count, slot);
			p->clash_with = *other;
			return false;
		}
	} else {
		at = packed ? first_fit(p, &m, 0, m.bytes, bytes, align)
			    : find_place(p, &m, bytes, align,
					 r->group < 0 ? -1 : r->group + slot * (r->step ? r->step : 1));
	}
	if (at == PLACE_NOWHERE || !make_room(p, err))
		return false;
	p->blocks[p->nblocks] = (struct place_block){ .name = r->name,
						      .index = npu_place_index(r, count, slot),
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

bool npu_place_all(struct npu_placer *p, const struct npu_place_request *requests, const uint32_t *counts, unsigned n,
		   bool packed, uint32_t now, struct npu_error *err)
{
	uint32_t before = p->nblocks;
	bool ok = true;
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < n && ok; i++)
			for (uint32_t slot = 0; (requests[i].at >= 0) == (pass == 0) && slot < counts[i] && ok; slot++)
				ok = npu_place_one(p, &requests[i], counts[i], slot, packed, now, err);
	if (!ok)
		npu_place_forget(p, before);
	return ok;
}

/* Each request with that many buffers, in its groups or else packed. */
static bool place_counts(struct npu_placer *p, const struct npu_place_request *requests, const uint32_t *counts,
			 unsigned n, uint32_t now, struct npu_error *err)
{
	return npu_place_all(p, requests, counts, n, false, now, err) ||
	       npu_place_all(p, requests, counts, n, true, now, err);
}

uint32_t npu_place_least(const struct npu_place_request *r)
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
	npu_place_forget(p, before);
	for (unsigned j = i; j < end && !fits; j++)
		counts[j]--;
}

/* The buffers that each request gets, from its least on. */
static void grow_counts(struct npu_placer *p, const struct npu_place_request *requests, uint32_t *counts, unsigned n,
			struct npu_error *err)
{
	uint32_t most = 0;
	for (unsigned i = 0; i < n; i++)
		if (npu_place_least(&requests[i]) < requests[i].count)
			most = requests[i].count > most ? requests[i].count : most;
	for (uint32_t level = 2; level <= most; level++)
		for (unsigned i = 0; i < n; i++)
			if (!requests[i].pair && counts[i] < level && level <= requests[i].count)
				add_buffer(p, requests, counts, n, i, err);
}

/* Fills in how many buffers each request has, and places them; false when not even the least have room. */
static bool place_most(struct npu_placer *p, const struct npu_place_request *requests, uint32_t *counts, unsigned n,
		       uint32_t now, struct npu_error *err)
{
	uint32_t before = p->nblocks;
	bool grows = false;
	for (unsigned i = 0; i < n; i++) {
		counts[i] = npu_place_least(&requests[i]);
		grows |= counts[i] < requests[i].count;
	}
	if (!place_counts(p, requests, counts, n, now, err))
		return false;
	if (grows) {
		npu_place_forget(p, before);
		grow_counts(p, requests, counts, n, err);
		if (!place_counts(p, requests, counts, n, now, err))
			return false;
	}
	for (unsigned i = 0; i < n; i++)
		if (requests[i].got)
			*requests[i].got = counts[i];
	return true;
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
		return npu_place_refuse_clash(p, err);
	if (npu_place_refuse(p, false, requests, n, now, err) || npu_place_refuse(p, true, requests, n, now, err))
		return false;
	return npu_fail(err, NPU_ERR_FIT, "buffers at fixed addresses leave no room for the others");
}
