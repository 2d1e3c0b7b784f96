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
	uint32_t first;
};
enum { NO_INDEX = 0xffffffff };

struct npu_placer {
	struct npu_capacity capacity;
	struct block *blocks;
	uint32_t nblocks, room;
	bool lacks_accum;
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

struct npu_placer *npu_placer_new(const struct npu_capacity *capacity)
{
	struct npu_placer *p = calloc(1, sizeof *p);
	if (p)
		p->capacity = *capacity;
	return p;
}

void npu_placer_free(struct npu_placer *p)
{
	if (p)
		free(p->blocks);
	free(p);
}

uint64_t npu_placer_bytes(const struct npu_placer *p, bool accum, uint64_t bytes)
{
	return align_up(bytes ? bytes : 1, memory_of(p, accum).align);
}

bool npu_placer_lacks_accum(const struct npu_placer *p)
{
	return p->lacks_accum;
}

void npu_placer_release(struct npu_placer *p, uint32_t handle)
{
	p->blocks[handle].live = false;
}

/* First fit of `bytes` in [from, to) among the live blocks. */
static uint64_t first_fit(const struct npu_placer *p, const struct memory *m, uint64_t from, uint64_t to,
			  uint64_t bytes, uint64_t align)
{
	uint64_t at = align_up(from, align);
	bool moved = true;
	while (moved && at <= to && bytes <= to - at) {
		moved = false;
		for (uint32_t i = 0; i < p->nblocks; i++) {
			const struct block *o = &p->blocks[i];
			if (o->live && o->accum == m->accum && at < o->at + o->bytes && o->at < at + bytes) {
				at = align_up(o->at + o->bytes, align);
				moved = true;
			}
		}
	}
	return at <= to && bytes <= to - at ? at : NOWHERE;
}

static uint64_t live_bytes(const struct npu_placer *p, const struct memory *m, uint64_t from, uint64_t to)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < p->nblocks; i++) {
		const struct block *o = &p->blocks[i];
		if (!o->live || o->accum != m->accum || o->at >= to || o->at + o->bytes <= from)
			continue;
		uint64_t lo = o->at > from ? o->at : from;
		uint64_t hi = o->at + o->bytes < to ? o->at + o->bytes : to;
		sum += hi - lo;
	}
	return sum;
}

/* In group g: inside it, or from its beginning on where it is larger than a group. */
static uint64_t fit_in_group(const struct npu_placer *p, const struct memory *m, uint64_t g, uint64_t bytes,
			     uint64_t align)
{
	uint64_t from = g * m->group_bytes;
	uint64_t to = from + (bytes > m->group_bytes ? bytes : m->group_bytes);
	if (bytes > m->group_bytes && align_up(from, align) != from)
		to += align;
	return to <= m->bytes ? first_fit(p, m, from, to, bytes, align) : NOWHERE;
}

static uint64_t find_place(const struct npu_placer *p, const struct memory *m, uint64_t bytes, uint64_t align,
			   int64_t group)
{
	uint64_t groups = m->group_bytes ? m->bytes / m->group_bytes : 0;
	uint64_t at = NOWHERE;
	if (group >= 0 && groups)
		at = fit_in_group(p, m, (uint64_t)group % groups, bytes, align);

	/* The emptiest group that has a gap. */
	uint64_t least = NOWHERE;
	for (uint64_t g = 0; at == NOWHERE && g < groups; g++) {
		uint64_t used = live_bytes(p, m, g * m->group_bytes, (g + 1) * m->group_bytes);
		if (used < least && fit_in_group(p, m, g, bytes, align) != NOWHERE)
			least = used;
	}
	for (uint64_t g = 0; at == NOWHERE && least != NOWHERE && g < groups; g++)
		if (live_bytes(p, m, g * m->group_bytes, (g + 1) * m->group_bytes) == least)
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

/* One buffer of a request; false when there is no room (or an error of memory). */
static bool place_one(struct npu_placer *p, const struct npu_place_request *r, uint32_t slot, bool packed, uint32_t now,
		      struct npu_error *err)
{
	struct memory m = memory_of(p, r->accum);
	uint64_t bytes = align_up(r->bytes ? r->bytes : 1, m.align);
	uint64_t align = r->align > 1 ? align_up(m.align, r->align) : m.align;
	uint64_t at;
	if (r->at >= 0) {
		bytes = r->bytes;
		at = (uint64_t)r->at + slot * bytes;
		at = at <= m.bytes && bytes <= m.bytes - at ? at : NOWHERE;
	} else {
		at = packed ? first_fit(p, &m, 0, m.bytes, bytes, align)
			    : find_place(p, &m, bytes, align, r->group < 0 ? -1 : r->group + slot * (r->step ? r->step : 1));
	}
	if (at == NOWHERE || !make_room(p, err))
		return false;
	p->blocks[p->nblocks] = (struct block){ r->name, r->array ? slot : NO_INDEX, r->accum, true, at, bytes, now };
	r->locals[slot] = (uint32_t)at | (r->accum ? NPU_ACC_BIT : 0);
	r->handles[slot] = p->nblocks++;
	return true;
}

static bool place_all(struct npu_placer *p, const struct npu_place_request *requests, unsigned n, bool packed,
		      uint32_t now, struct npu_error *err)
{
	uint32_t before = p->nblocks;
	bool ok = true;
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < n && ok; i++)
			for (uint32_t slot = 0; (requests[i].at >= 0) == (pass == 0) && slot < requests[i].count && ok;
			     slot++)
				ok = place_one(p, &requests[i], slot, packed, now, err);
	if (!ok)
		p->nblocks = before;
	return ok;
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

static void note_block(const struct block *b, const struct memory *m, struct npu_error *err)
{
	npu_error_note(err, "  %-12s %s0x%06" PRIx64 "  %12s bytes  %s %" PRIu64 "  from #%" PRIu32 " on",
		       name_of(b->name, b->index).text, b->accum ? "acc:" : "sram:", b->at,
		       npu_count_text(b->bytes).text, b->accum ? "bank" : "group",
		       m->group_bytes ? b->at / m->group_bytes : 0, b->first);
}

/* The map: what lives, then the requests, packed in their order as far as it goes. */
static void draw_map(struct npu_placer *p, const struct memory *m, const struct npu_place_request *requests, unsigned n,
		     uint32_t now, struct npu_error *err)
{
	struct npu_error ignored;
	for (uint32_t i = 0; i < p->nblocks; i++)
		if (p->blocks[i].live && p->blocks[i].accum == m->accum)
			note_block(&p->blocks[i], m, err);
	for (unsigned i = 0; i < n; i++)
		for (uint32_t slot = 0; requests[i].accum == m->accum && slot < requests[i].count; slot++) {
			if (place_one(p, &requests[i], slot, true, now, &ignored))
				note_block(&p->blocks[p->nblocks - 1], m, err);
			else
				npu_error_note(
				    err, "  %-12s %-14s %12s bytes  does not fit",
				    name_of(requests[i].name, requests[i].array ? slot : NO_INDEX).text, "",
				    npu_count_text(align_up(requests[i].bytes ? requests[i].bytes : 1, m->align)).text);
		}
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
		sum += requests[i].count * align_up(requests[i].bytes ? requests[i].bytes : 1, m.align);
		fits = place_all(p, &requests[i], 1, true, now, err) && fits;
	}
	p->nblocks = before;
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
	p->nblocks = before;
	return true;
}

bool npu_placer_place(struct npu_placer *p, const struct npu_place_request *requests, unsigned n, uint32_t now,
		      struct npu_error *err)
{
	struct npu_error memory = { .code = NPU_ERR_NONE };
	if (place_all(p, requests, n, false, now, &memory) || place_all(p, requests, n, true, now, &memory))
		return true;
	if (memory.code) {
		if (err)
			*err = memory;
		return false;
	}
	if (refuse(p, false, requests, n, now, err) || refuse(p, true, requests, n, now, err))
		return false;
	return npu_fail(err, NPU_ERR_FIT, "buffers at fixed addresses leave no room for the others");
}
