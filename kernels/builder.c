/* SPDX-License-Identifier: Apache-2.0 */
/* Collects a program and places what it refers to: buffers first fit in SRAM groups and accumulator banks, tensors one
 * after the other in DRAM. */
#include "kernels/builder.h"

#include "isa/units.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRAM_ALIGN = 4096, NAME_BYTES = 64, SEM_MAX = 65535, MAX_TENSORS = 1 << 20 };
static const uint64_t NOWHERE = UINT64_MAX;

/* A buffer, alive or not any more. */
struct block {
	char name[NAME_BYTES];
	bool accum;
	bool live;
	uint64_t at; /* offset in its memory */
	uint64_t bytes;
	uint32_t index; /* in the program */
};

struct npu_builder {
	struct npu_capacity capacity;
	struct npu_assembly *assembly;
	struct npu_error error;
	struct block *blocks;
	size_t nblocks, room;
	uint64_t dram_used;
	uint32_t ninsns, nsems, ntensors, ntables, nbuffers, npages, nregions;
	unsigned depth; /* of open regions */
	char (*open)[NAME_BYTES]; /* their names, [NPU_MAX_DEPTH] */
	unsigned unpaired;
};

/* One of the two local memories, as its contiguous groups. */
struct memory {
	bool accum;
	const char *name;
	uint64_t bytes;
	uint64_t group_bytes;
	uint64_t align;
};

static uint64_t align_up(uint64_t x, uint64_t to)
{
	return (x + to - 1) / to * to;
}

static struct memory memory_of(const struct npu_builder *b, bool accum)
{
	const struct npu_capacity *c = &b->capacity;
	uint64_t bytes = accum ? c->limits.accum_bytes : c->limits.sram_bytes;
	uint64_t groups = accum ? c->accum_banks : c->sram_groups;
	uint64_t word = c->sram_word_bytes ? c->sram_word_bytes : 1;
	uint64_t row = 4 * (uint64_t)(c->array_cols > c->vector_lanes ? c->array_cols : c->vector_lanes);

	return (struct memory){
		.accum = accum,
		.name = accum ? "accumulators" : "SRAM",
		.bytes = bytes,
		.group_bytes = groups > 1 ? bytes / groups : bytes,
		/* A row of an accumulator bank, so that no two buffers meet in one. */
		.align = accum && row ? row : word,
	};
}

struct npu_builder *npu_builder_new(const char *program, const struct npu_capacity *capacity)
{
	struct npu_builder *b = calloc(1, sizeof *b);
	if (!b)
		return NULL;
	b->capacity = *capacity;
	b->assembly = npu_assembly_new(program);
	if (!b->assembly) {
		free(b);
		return NULL;
	}
	return b;
}

bool npu_builder_failed(const struct npu_builder *b)
{
	return b->error.code != NPU_ERR_NONE;
}

const struct npu_error *npu_builder_error(const struct npu_builder *b)
{
	return npu_builder_failed(b) ? &b->error : NULL;
}

void npu_builder_fail(struct npu_builder *b, enum npu_error_code code, const char *format, ...)
{
	char text[sizeof b->error.text];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (!npu_builder_failed(b))
		npu_fail(&b->error, code == NPU_ERR_NONE ? NPU_ERR_VALUE : code, "%s", text);
}

const struct npu_capacity *npu_builder_capacity(const struct npu_builder *b)
{
	return &b->capacity;
}

void npu_builder_discard(struct npu_builder *b)
{
	if (!b)
		return;
	npu_assembly_free(b->assembly);
	free(b->blocks);
	free(b->open);
	free(b);
}

/* Counts one more of what a program has; false with an error when it is one too many. So a loop without an end finds one
 * before memory does. */
static bool one_more(struct npu_builder *b, uint32_t *count, uint32_t most, const char *what)
{
	if (npu_builder_failed(b))
		return false;
	if (*count == most)
		return npu_fail(&b->error, NPU_ERR_FIT, "more than %s %s", npu_count_text(most).text, what);
	++*count;
	return true;
}

/* After the assembly took something. */
static void look_for_memory(struct npu_builder *b)
{
	if (npu_assembly_out_of_memory(b->assembly) && !npu_builder_failed(b))
		npu_fail(&b->error, NPU_ERR_MEMORY, "out of memory while assembling a program");
}

struct npu_program *npu_builder_finish(struct npu_builder *b, struct npu_error *err)
{
	if (!b) {
		npu_fail(err, NPU_ERR_MEMORY, "out of memory");
		return NULL;
	}
	if (b->depth && !npu_builder_failed(b))
		npu_fail(&b->error, NPU_ERR_OPERAND, "the region \"%s\" is still open at the end of the program",
			 b->open[b->depth - 1]);
	if (npu_builder_failed(b)) {
		if (err)
			*err = b->error;
		npu_builder_discard(b);
		return NULL;
	}
	for (size_t i = 0; i < b->nblocks; i++)
		if (b->blocks[i].live)
			npu_assembly_buffer_end(b->assembly, b->blocks[i].index);
	struct npu_program *program = npu_assembly_finish(b->assembly, err);
	free(b->blocks);
	free(b->open);
	free(b);
	return program;
}

/* ---- local memory ---- */

/* First fit of `bytes` in [from, to) of one memory, among the live blocks. */
static uint64_t first_fit(const struct npu_builder *b, const struct memory *m, uint64_t from, uint64_t to,
			  uint64_t bytes)
{
	uint64_t at = align_up(from, m->align);
	bool moved = true;

	while (moved && at <= to && bytes <= to - at) {
		moved = false;
		for (size_t i = 0; i < b->nblocks; i++) {
			const struct block *o = &b->blocks[i];
			if (o->live && o->accum == m->accum && at < o->at + o->bytes && o->at < at + bytes) {
				at = align_up(o->at + o->bytes, m->align);
				moved = true;
			}
		}
	}
	return at <= to && bytes <= to - at ? at : NOWHERE;
}

static uint64_t live_bytes(const struct npu_builder *b, const struct memory *m, uint64_t from, uint64_t to)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < b->nblocks; i++) {
		const struct block *o = &b->blocks[i];
		if (!o->live || o->accum != m->accum || o->at >= to || o->at + o->bytes <= from)
			continue;
		uint64_t lo = o->at > from ? o->at : from;
		uint64_t hi = o->at + o->bytes < to ? o->at + o->bytes : to;
		sum += hi - lo;
	}
	return sum;
}

/* In group g: inside it, or from its beginning on where it is larger than a group. */
static uint64_t fit_in_group(const struct npu_builder *b, const struct memory *m, uint64_t g, uint64_t bytes)
{
	uint64_t from = g * m->group_bytes;
	uint64_t to = from + (bytes > m->group_bytes ? bytes : m->group_bytes);
	if (bytes > m->group_bytes && align_up(from, m->align) != from)
		to += m->align;
	return to <= m->bytes ? first_fit(b, m, from, to, bytes) : NOWHERE;
}

static uint64_t find_place(const struct npu_builder *b, const struct memory *m, uint64_t bytes, int group)
{
	uint64_t groups = m->group_bytes ? m->bytes / m->group_bytes : 0;
	uint64_t at = NOWHERE;
	if (group >= 0 && groups)
		at = fit_in_group(b, m, (uint64_t)group % groups, bytes);

	/* The emptiest group that has a gap. */
	uint64_t least = NOWHERE;
	for (uint64_t g = 0; at == NOWHERE && g < groups; g++) {
		uint64_t used = live_bytes(b, m, g * m->group_bytes, (g + 1) * m->group_bytes);
		if (used < least && fit_in_group(b, m, g, bytes) != NOWHERE)
			least = used;
	}
	for (uint64_t g = 0; at == NOWHERE && least != NOWHERE && g < groups; g++)
		if (live_bytes(b, m, g * m->group_bytes, (g + 1) * m->group_bytes) == least)
			at = fit_in_group(b, m, g, bytes);
	return at != NOWHERE ? at : first_fit(b, m, 0, m->bytes, bytes);
}

static struct block *new_block(struct npu_builder *b)
{
	if (b->nblocks == b->room) {
		size_t room = b->room ? 2 * b->room : 32;
		struct block *blocks = realloc(b->blocks, room * sizeof *blocks);
		if (!blocks) {
			npu_fail(&b->error, NPU_ERR_MEMORY, "out of memory");
			return NULL;
		}
		b->blocks = blocks;
		b->room = room;
	}
	return &b->blocks[b->nblocks++];
}

static const char *slot_name(const struct npu_request *r, unsigned count, unsigned slot, char out[NAME_BYTES])
{
	if (count > 1)
		snprintf(out, NAME_BYTES, "%s[%u]", r->name, slot);
	else
		snprintf(out, NAME_BYTES, "%s", r->name);
	return out;
}

static int group_of(const struct npu_request *r, unsigned slot)
{
	unsigned step = r->step ? r->step : 1;
	return r->group < 0 ? -1 : (int)((unsigned)r->group + slot * step);
}

/* Places one buffer of a request; false without an error when there is no room. */
static bool place_one(struct npu_builder *b, const struct npu_request *r, unsigned count, unsigned slot, bool packed)
{
	struct memory m = memory_of(b, r->accum);
	uint64_t bytes = align_up(r->bytes ? r->bytes : 1, m.align);
	uint64_t at = packed ? first_fit(b, &m, 0, m.bytes, bytes)
			     : find_place(b, &m, bytes, group_of(r, slot));
	struct block *block = at == NOWHERE ? NULL : new_block(b);
	if (!block)
		return false;

	*block = (struct block){ .accum = r->accum, .live = true, .at = at, .bytes = bytes };
	slot_name(r, count, slot, block->name);
	r->local[slot] = (uint32_t)at | (r->accum ? NPU_ACC_BIT : 0);
	return true;
}

static bool place_all(struct npu_builder *b, const struct npu_request *requests, const unsigned *counts, unsigned n,
		      bool packed)
{
	size_t before = b->nblocks;
	bool ok = true;
	for (unsigned i = 0; i < n && ok; i++)
		for (unsigned slot = 0; slot < counts[i] && ok; slot++)
			ok = place_one(b, &requests[i], counts[i], slot, packed);
	if (!ok)
		b->nblocks = before;
	return ok;
}

/* Each request with that many buffers, in its groups or else packed. */
static bool place_counts(struct npu_builder *b, const struct npu_request *requests, const unsigned *counts, unsigned n)
{
	return place_all(b, requests, counts, n, false) || place_all(b, requests, counts, n, true);
}

static unsigned least_of(const struct npu_request *r)
{
	return r->least ? r->least : r->count;
}

/* One more buffer for request i and those paired with it; false, and the counts as they were, when there is no room. */
static bool add_buffer(struct npu_builder *b, const struct npu_request *requests, unsigned *counts, unsigned n,
		       unsigned i)
{
	size_t before = b->nblocks;
	unsigned end = i + 1;
	while (end < n && requests[end].pair)
		end++;
	for (unsigned j = i; j < end; j++)
		counts[j]++;
	bool fits = place_counts(b, requests, counts, n);
	b->nblocks = before;
	for (unsigned j = i; j < end && !fits; j++)
		counts[j]--;
	return fits;
}

/* The buffers that each request gets, from its least on. */
static void grow_counts(struct npu_builder *b, const struct npu_request *requests, unsigned *counts, unsigned n)
{
	unsigned most = 0;
	for (unsigned i = 0; i < n; i++)
		most = requests[i].count > most ? requests[i].count : most;
	for (unsigned level = 2; level <= most; level++)
		for (unsigned i = 0; i < n; i++)
			if (!requests[i].pair && counts[i] < level && level <= requests[i].count)
				add_buffer(b, requests, counts, n, i);
}

static void note_buffer(struct npu_error *err, const struct memory *m, const char *name, uint64_t at, uint64_t bytes)
{
	const char *kind = m->accum ? "bank" : "group";
	if (at == NOWHERE)
		npu_error_note(err, "  %-10s %-14s %12s bytes  not placed", name, "", npu_count_text(bytes).text);
	else
		npu_error_note(err, "  %-10s %s0x%06" PRIx64 " %*s %12s bytes  %s %" PRIu64, name,
			       m->accum ? "acc:" : "sram:", at, m->accum ? 1 : 0, "", npu_count_text(bytes).text, kind,
			       m->group_bytes ? at / m->group_bytes : 0);
}

/* The error for the buffers of one memory that do not fit, with its map: what lives there, then the request, packed in
 * its order as far as it goes. False when they do fit. */
static bool fail_fit(struct npu_builder *b, const struct memory *m, const struct npu_request *requests, unsigned n)
{
	size_t before = b->nblocks;
	uint64_t sum = live_bytes(b, m, 0, m->bytes);
	bool fits = true;
	for (unsigned i = 0; i < n; i++) {
		if (requests[i].accum != m->accum)
			continue;
		unsigned count = least_of(&requests[i]);
		sum += count * align_up(requests[i].bytes ? requests[i].bytes : 1, m->align);
		fits = place_all(b, &requests[i], &count, 1, true) && fits;
	}
	b->nblocks = before;
	if (fits)
		return false;

	if (sum > m->bytes)
		npu_fail(&b->error, NPU_ERR_FIT, "buffers do not fit: %s needed of %s bytes of %s, %s too many",
			 npu_count_text(sum).text, npu_count_text(m->bytes).text, m->name,
			 npu_count_text(sum - m->bytes).text);
	else
		npu_fail(&b->error, NPU_ERR_FIT,
			 "buffers do not fit into the gaps between others: %s needed of %s bytes of %s",
			 npu_count_text(sum).text, npu_count_text(m->bytes).text, m->name);
	for (size_t i = 0; i < b->nblocks; i++)
		if (b->blocks[i].live && b->blocks[i].accum == m->accum)
			note_buffer(&b->error, m, b->blocks[i].name, b->blocks[i].at, b->blocks[i].bytes);
	for (unsigned i = 0; i < n; i++)
		for (unsigned slot = 0; requests[i].accum == m->accum && slot < least_of(&requests[i]); slot++) {
			char name[NAME_BYTES];
			bool placed = place_one(b, &requests[i], least_of(&requests[i]), slot, true);
			note_buffer(&b->error, m, slot_name(&requests[i], least_of(&requests[i]), slot, name),
				    placed ? b->blocks[b->nblocks - 1].at : NOWHERE,
				    align_up(requests[i].bytes, m->align));
		}
	b->nblocks = before;
	return true;
}

/* The blocks from `before` on become buffers of the program. */
static bool declare_buffers(struct npu_builder *b, size_t before)
{
	for (size_t i = before; i < b->nblocks; i++) {
		struct block *block = &b->blocks[i];
		if (!one_more(b, &b->nbuffers, NPU_MAX_INSNS, "buffers"))
			return false;
		block->index = npu_assembly_buffer(b->assembly,
						   &(struct npu_buffer){
						       .name = block->name,
						       .local = (uint32_t)block->at | (block->accum ? NPU_ACC_BIT : 0),
						       .bytes = (uint32_t)block->bytes,
						       .first = b->ninsns,
						       .end = b->ninsns,
						   });
	}
	look_for_memory(b);
	return !npu_builder_failed(b);
}

bool npu_place(struct npu_builder *b, const struct npu_request *requests, unsigned n)
{
	if (npu_builder_failed(b))
		return false;
	size_t before = b->nblocks;
	unsigned counts[NPU_MAX_REQUESTS] = { 0 };
	if (n > NPU_MAX_REQUESTS)
		return npu_fail(&b->error, NPU_ERR_VALUE, "%u buffers placed together, at most %d are possible", n,
				NPU_MAX_REQUESTS);
	for (unsigned i = 0; i < n; i++)
		counts[i] = least_of(&requests[i]);
	bool fits = place_counts(b, requests, counts, n);
	if (fits) {
		b->nblocks = before;
		grow_counts(b, requests, counts, n);
		fits = place_counts(b, requests, counts, n);
	}
	if (!fits) {
		struct memory sram = memory_of(b, false), accum = memory_of(b, true);
		if (!npu_builder_failed(b) && !fail_fit(b, &sram, requests, n))
			fail_fit(b, &accum, requests, n);
		return false;
	}
	for (unsigned i = 0; i < n; i++) {
		b->unpaired += counts[i] < 2 && counts[i] < requests[i].count;
		if (requests[i].got)
			*requests[i].got = counts[i];
	}
	return declare_buffers(b, before);
}

void npu_builder_dram_from(struct npu_builder *b, uint64_t addr)
{
	if (b->dram_used < addr)
		b->dram_used = addr;
}

unsigned npu_builder_unpaired(const struct npu_builder *b)
{
	return b->unpaired;
}

static uint32_t place_single(struct npu_builder *b, const char *name, uint64_t bytes, int group, bool accum)
{
	uint32_t local = 0;
	npu_place(b,
		  &(struct npu_request){
		      .name = name, .accum = accum, .bytes = bytes, .count = 1, .group = group, .local = &local },
		  1);
	return npu_builder_failed(b) ? 0 : local;
}

uint32_t npu_sram(struct npu_builder *b, const char *name, uint64_t bytes, int group)
{
	return place_single(b, name, bytes, group, false);
}

uint32_t npu_acc(struct npu_builder *b, const char *name, uint64_t bytes, int bank)
{
	return place_single(b, name, bytes, bank, true);
}

static uint32_t add_block(struct npu_builder *b, const char *name, const struct memory *m, uint64_t at, uint64_t bytes)
{
	struct block *block = new_block(b);
	if (!block)
		return 0;
	*block = (struct block){ .accum = m->accum, .live = true, .at = at, .bytes = bytes };
	snprintf(block->name, sizeof block->name, "%s", name);
	return declare_buffers(b, b->nblocks - 1) ? (uint32_t)at | (m->accum ? NPU_ACC_BIT : 0) : 0;
}

static uint32_t place_at(struct npu_builder *b, const char *name, uint64_t bytes, uint64_t at, bool accum)
{
	struct memory m = memory_of(b, accum);
	if (npu_builder_failed(b))
		return 0;
	if (bytes > m.bytes || at > m.bytes || align_up(bytes ? bytes : 1, m.align) > m.bytes - at)
		return npu_fail(&b->error, NPU_ERR_FIT, "%s needs %s bytes at %s:0x%" PRIx64 ", but the %s end at %s", name,
				npu_count_text(bytes).text, accum ? "acc" : "sram", at, m.name,
				npu_count_text(m.bytes).text);
	bytes = align_up(bytes ? bytes : 1, m.align);
	for (size_t i = 0; i < b->nblocks; i++) {
		const struct block *o = &b->blocks[i];
		if (o->live && o->accum == accum && at < o->at + o->bytes && o->at < at + bytes)
			return npu_fail(&b->error, NPU_ERR_FIT,
					"%s needs %s bytes at %s:0x%" PRIx64 ", where %s lies, 0x%" PRIx64 " to 0x%" PRIx64,
					name, npu_count_text(bytes).text, accum ? "acc" : "sram", at, o->name, o->at,
					o->at + o->bytes);
	}
	return add_block(b, name, &m, at, bytes);
}

static uint32_t place_aligned(struct npu_builder *b, const char *name, uint64_t bytes, int group, uint32_t align,
			      bool accum)
{
	struct memory m = memory_of(b, accum);
	if (npu_builder_failed(b))
		return 0;
	if (align == 0 || align & (align - 1))
		return npu_fail(&b->error, NPU_ERR_OPERAND, "%s: an alignment of %u, which is no power of two", name, align);
	uint64_t at = NOWHERE;
	if (bytes <= m.bytes) {
		bytes = align_up(bytes ? bytes : 1, m.align);
		m.align = align_up(m.align, align);
		at = find_place(b, &m, bytes, group);
	}
	if (at != NOWHERE)
		return add_block(b, name, &m, at, bytes);
	const struct npu_request r = { .name = name, .accum = accum, .bytes = bytes, .count = 1, .group = group };
	const struct memory whole = memory_of(b, accum); /* the map is of bytes, wherever they begin */
	if (!fail_fit(b, &whole, &r, 1) && !npu_builder_failed(b))
		npu_fail(&b->error, NPU_ERR_FIT, "%s: no gap of %s bytes at a multiple of %u", name,
			 npu_count_text(bytes).text, align);
	return 0;
}

uint32_t npu_sram_at(struct npu_builder *b, const char *name, uint64_t bytes, uint32_t at)
{
	return place_at(b, name, bytes, at, false);
}

uint32_t npu_acc_at(struct npu_builder *b, const char *name, uint64_t bytes, uint32_t at)
{
	return place_at(b, name, bytes, at, true);
}

uint32_t npu_sram_aligned(struct npu_builder *b, const char *name, uint64_t bytes, int group, uint32_t align)
{
	return place_aligned(b, name, bytes, group, align, false);
}

uint32_t npu_acc_aligned(struct npu_builder *b, const char *name, uint64_t bytes, int bank, uint32_t align)
{
	return place_aligned(b, name, bytes, bank, align, true);
}

void npu_release(struct npu_builder *b, uint32_t local)
{
	if (npu_builder_failed(b))
		return;
	for (size_t i = 0; i < b->nblocks; i++) {
		struct block *o = &b->blocks[i];
		if (o->live && o->accum == npu_is_acc(local) && o->at == npu_local_offset(local)) {
			o->live = false;
			npu_assembly_buffer_end(b->assembly, o->index);
			return;
		}
	}
	npu_fail(&b->error, NPU_ERR_BOUNDS, "released a buffer that is not there, at %s0x%x",
		 npu_is_acc(local) ? "acc:" : "sram:", npu_local_offset(local));
}

/* ---- DRAM ---- */

/* `fixed`: where, NPU_ANYWHERE: behind what is there. */
static uint64_t take_dram(struct npu_builder *b, const char *what, const char *name, uint64_t bytes, uint64_t fixed)
{
	name = name ? name : "without a name";
	uint64_t at = fixed == NPU_ANYWHERE ? align_up(b->dram_used, DRAM_ALIGN) : fixed;
	uint64_t capacity = b->capacity.limits.dram_bytes;
	if (fixed != NPU_ANYWHERE && (at > capacity || bytes > capacity - at)) {
		npu_fail(&b->error, NPU_ERR_FIT, "%s %s does not fit: %s bytes at dram:0x%" PRIx64 ", but DRAM ends at 0x%" PRIx64,
			 what, name, npu_count_text(bytes).text, at, capacity);
		return 0;
	}
	if (at > capacity || bytes > capacity - at) {
		npu_fail(&b->error, NPU_ERR_FIT,
			 "%s %s does not fit: %s bytes after %s of the DRAM's %s bytes, %s too many", what, name,
			 npu_count_text(bytes).text, npu_count_text(at).text, npu_count_text(capacity).text,
			 npu_count_text(at + bytes - capacity).text);
		return 0;
	}
	if (at + bytes > b->dram_used)
		b->dram_used = at + bytes;
	return at;
}

static struct npu_dram add_tensor(struct npu_builder *b, const char *name, enum npu_dtype dtype, enum npu_tensor_dir dir,
				  unsigned rank, const uint64_t *shape, uint32_t layout, uint64_t at, uint64_t bytes);

struct npu_dram npu_tensor(struct npu_builder *b, const char *name, enum npu_dtype dtype, enum npu_tensor_dir dir,
			   unsigned rank, const uint64_t *shape)
{
	return npu_tensor_at(b, name, dtype, dir, rank, shape, NPU_LAYOUT_ROW, NPU_ANYWHERE);
}

struct npu_dram npu_tensor_at(struct npu_builder *b, const char *name, enum npu_dtype dtype, enum npu_tensor_dir dir,
			      unsigned rank, const uint64_t *shape, uint32_t layout, uint64_t at)
{
	return add_tensor(b, name, dtype, dir, rank, shape, layout, at, 0);
}

struct npu_dram npu_tensor_with(struct npu_builder *b, const char *name, enum npu_dtype dtype, enum npu_tensor_dir dir,
				unsigned rank, const uint64_t *shape, const struct npu_tensor_options *given)
{
	struct npu_tensor_options o = { .size = sizeof o };
	if (given && given->size < offsetof(struct npu_tensor_options, placed) + sizeof o.placed) {
		npu_builder_fail(b, NPU_ERR_OPERAND, "tensor %s: options of %u bytes: size is sizeof(struct npu_tensor_options)",
				 name ? name : "without a name", given->size);
		return (struct npu_dram){ 0 };
	}
	/* a longer one is of a later version: what this one does not know must say nothing */
	for (uint32_t i = sizeof o; given && i < given->size; i++)
		if (((const unsigned char *)given)[i]) {
			npu_builder_fail(b, NPU_ERR_OPERAND, "tensor %s: options that this version does not know",
					 name ? name : "without a name");
			return (struct npu_dram){ 0 };
		}
	if (given)
		memcpy(&o, given, given->size < sizeof o ? given->size : sizeof o);
	return add_tensor(b, name, dtype, dir, rank, shape, o.layout, o.placed ? o.at : NPU_ANYWHERE, o.bytes);
}

static struct npu_dram add_tensor(struct npu_builder *b, const char *name, enum npu_dtype dtype, enum npu_tensor_dir dir,
				  unsigned rank, const uint64_t *shape, uint32_t layout, uint64_t at, uint64_t bytes)
{
	if (!one_more(b, &b->ntensors, MAX_TENSORS, "tensors"))
		return (struct npu_dram){ 0 };
	struct npu_tensor t = { .name = name, .dtype = dtype, .dir = dir, .rank = rank, .layout = layout };
	if (rank < 1 || rank > NPU_MAX_RANK) {
		npu_fail(&b->error, NPU_ERR_OPERAND, "tensor %s has %u dimensions, 1 to %d are possible",
			 name ? name : "without a name", rank, NPU_MAX_RANK);
		return (struct npu_dram){ 0 };
	}
	uint64_t rows = 1;
	for (unsigned i = 0; i < rank; i++) {
		t.shape[i] = shape[i];
		if (i + 1 < rank)
			rows *= shape[i];
	}
	t.bytes = rows * npu_dtype_bytes(dtype, shape[rank - 1]);
	/* Blocks of a layout are whole. What is not legal is told at the end, with the name. */
	if (layout != NPU_LAYOUT_ROW && npu_tensor_bytes(&t) > t.bytes)
		t.bytes = npu_tensor_bytes(&t);
	if (bytes && bytes < t.bytes) {
		npu_builder_fail(b, NPU_ERR_OPERAND, "tensor %s takes %" PRIu64 " bytes, more than the %" PRIu64 " given",
				 name ? name : "without a name", t.bytes, bytes);
		return (struct npu_dram){ 0 };
	}
	t.bytes = bytes ? bytes : t.bytes;
	t.addr = take_dram(b, "tensor", name, t.bytes, at);
	if (npu_builder_failed(b))
		return (struct npu_dram){ 0 };
	uint32_t index = npu_assembly_tensor(b->assembly, &t);
	look_for_memory(b);
	return (struct npu_dram){ .addr = t.addr, .bytes = t.bytes, .index = index };
}

uint32_t npu_block_table(struct npu_builder *b, const char *name, uint32_t count, const uint32_t *entries)
{
	return npu_sequence_table(b, name, 0, count, entries);
}

void npu_page(struct npu_builder *b, struct npu_dram pool, uint32_t first, uint32_t count, enum npu_page_state state,
	      uint32_t sequence)
{
	for (uint32_t i = 0; i < count && one_more(b, &b->npages, NPU_MAX_INSNS, "records of pages"); i++)
		npu_assembly_page(b->assembly, &(struct npu_page_event){
						   .pool = pool.index,
						   .page = first + i,
						   .state = state,
						   .sequence = state == NPU_PAGE_OWNED ? sequence : 0,
					       });
	look_for_memory(b);
}

uint32_t npu_sequence_table(struct npu_builder *b, const char *name, uint32_t sequence, uint32_t count,
			    const uint32_t *entries)
{
	if (!one_more(b, &b->ntables, MAX_TENSORS, "block tables"))
		return 0;
	uint64_t addr = take_dram(b, "block table", name, 4 * (uint64_t)count, NPU_ANYWHERE);
	if (npu_builder_failed(b))
		return 0;
	uint32_t index = npu_assembly_table(
	    b->assembly, &(struct npu_table){
			     .name = name, .addr = addr, .count = count, .entries = entries, .sequence = sequence });
	look_for_memory(b);
	return index;
}

/* ---- semaphores, regions, instructions ---- */

struct npu_semaphore npu_semaphore(struct npu_builder *b, const char *name, uint32_t initial)
{
	return npu_semaphore_max(b, name, initial, SEM_MAX);
}

struct npu_semaphore npu_semaphore_max(struct npu_builder *b, const char *name, uint32_t initial, uint32_t max)
{
	if (!one_more(b, &b->nsems, NPU_MAX_SEMS, "semaphores"))
		return (struct npu_semaphore){ 0 };
	if (max < 1 || max > SEM_MAX || initial > max) {
		npu_fail(&b->error, NPU_ERR_SEMAPHORE, "semaphore %s: initial count %u, max %u; at most max, and that 1 to %d",
			 name ? name : "without a name", initial, max, SEM_MAX);
		return (struct npu_semaphore){ 0 };
	}
	uint32_t sem = npu_assembly_sem(b->assembly, name, initial, max);
	look_for_memory(b);
	return (struct npu_semaphore){ (uint16_t)sem, 1 };
}

/* vsnprintf for text and %u alone, as the names of regions mostly are, of which there may be as many as tiles; false, and
 * the arguments untouched, when it is more or too long. */
static bool format_numbers(char *out, size_t size, const char *format, va_list args)
{
	va_list numbers;
	size_t used = 0;
	bool plain = true;
	va_copy(numbers, args);
	for (const char *f = format; plain && *f; f++) {
		char digits[16];
		size_t first = sizeof digits;
		if (*f != '%') {
			digits[--first] = *f;
		} else if (*++f == 'u') {
			unsigned n = va_arg(numbers, unsigned);
			do
				digits[--first] = (char)('0' + n % 10);
			while (n /= 10);
		}
		size_t n = sizeof digits - first;
		plain = n && used + n < size;
		if (plain)
			memcpy(out + used, digits + first, n);
		used += n;
	}
	va_end(numbers);
	if (plain)
		out[used] = '\0';
	return plain;
}

void npu_region(struct npu_builder *b, const char *format, ...)
{
	char name[NAME_BYTES];
	va_list args;
	va_start(args, format);
	if (!format_numbers(name, sizeof name, format, args))
		vsnprintf(name, sizeof name, format, args);
	va_end(args);
	if (!one_more(b, &b->nregions, NPU_MAX_INSNS, "regions"))
		return;
	if (b->depth == NPU_MAX_DEPTH) {
		npu_fail(&b->error, NPU_ERR_OPERAND, "the region \"%s\" lies too deep: regions nest at most %d deep", name,
			 NPU_MAX_DEPTH);
		return;
	}
	if (!b->open && !(b->open = calloc(NPU_MAX_DEPTH, sizeof *b->open))) {
		npu_fail(&b->error, NPU_ERR_MEMORY, "out of memory");
		return;
	}
	memcpy(b->open[b->depth++], name, sizeof name);
	npu_assembly_region_begin(b->assembly, name);
	look_for_memory(b);
}

void npu_region_end(struct npu_builder *b)
{
	if (npu_builder_failed(b))
		return;
	if (b->depth == 0) {
		npu_fail(&b->error, NPU_ERR_OPERAND, "a region is closed that was never opened");
		return;
	}
	b->depth--;
	npu_assembly_region_end(b->assembly);
}

void npu_emit_at(struct npu_builder *b, const char *file, unsigned line, const struct npu_insn *insn,
		 const struct npu_order *order)
{
	if (npu_builder_failed(b))
		return;
	if (b->ninsns == NPU_MAX_INSNS) {
		npu_fail(&b->error, NPU_ERR_FIT,
			 "more than %s instructions: larger tiles or shorter lengths need fewer",
			 npu_count_text(NPU_MAX_INSNS).text);
		return;
	}
	struct npu_insn copy = *insn;
	for (int i = 0; order && i < NPU_SYNC_SLOTS; i++) {
		copy.wait[i] = (struct npu_sem_ref){ order->wait[i].sem, order->wait[i].count };
		copy.post[i] = (struct npu_sem_ref){ order->post[i].sem, order->post[i].count };
	}
	/* Programs do not depend on where the source tree lies. */
	const char *slash = file[0] == '/' ? strrchr(file, '/') : NULL;
	npu_assembly_place(b->assembly, slash ? slash + 1 : file, line);
	npu_assembly_insn(b->assembly, &copy);
	b->ninsns++;
	look_for_memory(b);
}
