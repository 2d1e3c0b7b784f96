/* SPDX-License-Identifier: Apache-2.0 */
/* Collects a program and places what it refers to: buffers in SRAM groups and accumulator banks by isa/place.h, tensors
 * one after the other in DRAM. */
#include "kernels/builder.h"

#include "isa/arena.h"
#include "isa/place.h"
#include "isa/units.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRAM_ALIGN = 4096, NAME_BYTES = 64, SEM_MAX = 65535, MAX_TENSORS = 1 << 20 };

/* A buffer, alive or not any more. */
struct block {
	const char *name;
	bool live;
	uint32_t local;
	uint64_t bytes;
	uint32_t handle; /* of the placer */
	uint32_t index;  /* in the program */
};

struct npu_builder {
	struct npu_capacity capacity;
	struct npu_assembly *assembly;
	struct npu_error error;
	struct npu_placer *placer;
	struct npu_arena *names;
	struct block *blocks;
	size_t nblocks, room;
	uint64_t dram_used;
	uint32_t ninsns, nsems, ntensors, ntables, nbuffers, npages, nregions;
	unsigned depth; /* of open regions */
	char (*open)[NAME_BYTES]; /* their names, [NPU_MAX_DEPTH] */
	unsigned unpaired;
	struct npu_laid *noted;        /* npu_builder_lay; NULL: an ordinary program */
	const struct npu_laid *whole;  /* npu_builder_lay_as; NULL: no part */
	uint64_t row[NPU_LAID_TENSORS]; /* of a part: bytes from row to row of its own tensors */
};

static uint64_t align_up(uint64_t x, uint64_t to)
{
	return (x + to - 1) / to * to;
}

struct npu_builder *npu_builder_new(const char *program, const struct npu_capacity *capacity)
{
	struct npu_builder *b = calloc(1, sizeof *b);
	if (!b)
		return NULL;
	b->capacity = *capacity;
	b->assembly = npu_assembly_new(program);
	b->placer = npu_placer_new(capacity);
	b->names = npu_arena_new();
	if (!b->assembly || !b->placer || !b->names) {
		npu_builder_discard(b);
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
	npu_placer_free(b->placer);
	npu_arena_free(b->names);
	free(b->blocks);
	free(b->open);
	free(b);
}

/* Counts one more of what a program has; false with an error when it is one too many. So a loop without an end finds
 * one before memory does. */
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
	b->assembly = NULL;
	npu_builder_discard(b);
	return program;
}

/* ---- local memory ---- */

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

/* A copy that lasts, for the program and the placer's map; NULL with an error. */
static const char *keep_name(struct npu_builder *b, const char *name)
{
	const char *kept = name ? npu_arena_text(b->names, name, strlen(name)) : "";
	if (!kept)
		npu_fail(&b->error, NPU_ERR_MEMORY, "out of memory");
	return kept;
}

/* The buffers that were placed for a request become buffers of the program. */
static bool declare_buffers(struct npu_builder *b, const struct npu_place_request *r, uint32_t count)
{
	for (uint32_t slot = 0; slot < count; slot++) {
		char name[NAME_BYTES];
		if (count > 1)
			snprintf(name, sizeof name, "%s[%u]", r->name, slot);
		else
			snprintf(name, sizeof name, "%s", r->name);
		struct block *block = new_block(b);
		if (!block || !one_more(b, &b->nbuffers, NPU_MAX_INSNS, "buffers"))
			return false;
		*block = (struct block){ .live = true, .local = r->locals[slot], .handle = r->handles[slot] };
		block->name = keep_name(b, name);
		block->bytes = npu_placer_bytes(b->placer, r->accum, r->bytes);
		if (!block->name)
			return false;
		block->index = npu_assembly_buffer(b->assembly, &(struct npu_buffer){
								    .name = block->name,
								    .local = block->local,
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
	struct npu_place_request places[NPU_MAX_REQUESTS];
	uint32_t counts[NPU_MAX_REQUESTS], total = 0;
	if (n > NPU_MAX_REQUESTS)
		return npu_fail(&b->error, NPU_ERR_VALUE, "%u buffers placed together, at most %d are possible", n,
				NPU_MAX_REQUESTS);
	for (unsigned i = 0; i < n; i++)
		total += requests[i].count;
	uint32_t *handles = npu_arena_alloc(b->names, total, sizeof *handles);
	if (!handles)
		return npu_fail(&b->error, NPU_ERR_MEMORY, "out of memory");
	for (unsigned i = 0; i < n; i++) {
		const struct npu_request *r = &requests[i];
		places[i] = (struct npu_place_request){
			.name = keep_name(b, r->name),
			.accum = r->accum,
			.bytes = r->bytes,
			.count = r->count,
			.group = r->group,
			.step = r->step,
			.at = -1,
			.locals = r->local,
			.handles = handles,
			.least = r->least,
			.pair = r->pair,
			.got = &counts[i],
		};
		handles += r->count;
	}
	bool ok = !npu_builder_failed(b) && npu_placer_place(b->placer, places, n, b->ninsns, &b->error);
	for (unsigned i = 0; i < n && ok; i++) {
		b->unpaired += counts[i] < 2 && counts[i] < requests[i].count;
		if (requests[i].got)
			*requests[i].got = counts[i];
		ok = declare_buffers(b, &places[i], counts[i]);
	}
	return ok;
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

/* One buffer: `at` an offset or -1, `align` 0 or a power of two. */
static uint32_t place_single(struct npu_builder *b, const char *name, uint64_t bytes, int group, bool accum, int64_t at,
			     uint32_t align)
{
	uint32_t local = 0, handle;
	if (npu_builder_failed(b))
		return 0;
	const struct npu_place_request r = {
		.name = keep_name(b, name),
		.accum = accum,
		.bytes = bytes,
		.count = 1,
		.group = group,
		.align = align,
		.at = at,
		.locals = &local,
		.handles = &handle,
	};
	bool ok = r.name && npu_placer_place(b->placer, &r, 1, b->ninsns, &b->error) && declare_buffers(b, &r, 1);
	return ok ? local : 0;
}

uint32_t npu_sram(struct npu_builder *b, const char *name, uint64_t bytes, int group)
{
	return place_single(b, name, bytes, group, false, -1, 0);
}

uint32_t npu_acc(struct npu_builder *b, const char *name, uint64_t bytes, int bank)
{
	return place_single(b, name, bytes, bank, true, -1, 0);
}

static uint32_t place_at(struct npu_builder *b, const char *name, uint64_t bytes, uint32_t at, bool accum)
{
	uint64_t most = accum ? b->capacity.limits.accum_bytes : b->capacity.limits.sram_bytes;
	const char *memory = accum ? "acc" : "sram";
	if (npu_builder_failed(b))
		return 0;
	uint64_t whole = bytes > most ? bytes : npu_placer_bytes(b->placer, accum, bytes);
	if (at > most || whole > most - at)
		return npu_fail(&b->error, NPU_ERR_FIT, "%s needs %s bytes at %s:0x%x, but the %s end at %s", name,
				npu_count_text(bytes).text, memory, at, accum ? "accumulators" : "SRAM",
				npu_count_text(most).text);
	for (size_t i = 0; i < b->nblocks; i++) {
		const struct block *o = &b->blocks[i];
		uint64_t from = npu_local_offset(o->local);
		if (o->live && npu_is_acc(o->local) == accum && at < from + o->bytes && from < at + whole)
			return npu_fail(&b->error, NPU_ERR_FIT,
					"%s needs %s bytes at %s:0x%x, where %s lies, 0x%" PRIx64 " to 0x%" PRIx64,
					name, npu_count_text(whole).text, memory, at, o->name, from, from + o->bytes);
	}
	return place_single(b, name, whole, -1, accum, at, 0);
}

static uint32_t place_aligned(struct npu_builder *b, const char *name, uint64_t bytes, int group, uint32_t align,
			      bool accum)
{
	if (!npu_builder_failed(b) && (align == 0 || align & (align - 1)))
		return npu_fail(&b->error, NPU_ERR_OPERAND, "%s: an alignment of %u, which is no power of two", name,
				align);
	return place_single(b, name, bytes, group, accum, -1, align);
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
		if (o->live && o->local == local) {
			o->live = false;
			npu_placer_release(b->placer, o->handle);
			npu_assembly_buffer_end(b->assembly, o->index);
			return;
		}
	}
	npu_fail(&b->error, NPU_ERR_BOUNDS, "released a buffer that is not there, at %s0x%x",
		 npu_is_acc(local) ? "acc:" : "sram:", npu_local_offset(local));
}

/* ---- DRAM ---- */

void npu_builder_lay(struct npu_builder *b, struct npu_laid *laid)
{
	*laid = (struct npu_laid){ 0 };
	b->noted = laid;
}

void npu_builder_lay_as(struct npu_builder *b, const struct npu_laid *whole) { b->whole = whole; }

static uint64_t row_bytes(const struct npu_tensor *t)
{
	return npu_dtype_bytes(t->dtype, t->shape[t->rank - 1]);
}

/* Tensors of a part have fewer rows or, as matrices of rows, fewer columns. */
static bool lies_in(const struct npu_tensor *t, const struct npu_tensor *whole)
{
	unsigned narrower = 0;
	if (t->rank != whole->rank || t->dtype != whole->dtype || t->layout != whole->layout)
		return false;
	for (unsigned i = 0; i < t->rank; i++) {
		if (t->shape[i] > whole->shape[i] || (i > 1 && t->shape[i] != whole->shape[i]))
			return false;
		narrower += i == 1 && t->shape[i] != whole->shape[i];
	}
	return !narrower || (t->rank == 2 && t->layout == NPU_LAYOUT_ROW);
}

bool npu_laid_part(const struct npu_laid *part, const struct npu_laid *whole)
{
	if (part->otherwise || whole->otherwise || part->n != whole->n)
		return false;
	for (unsigned i = 0; i < part->n; i++)
		if (!lies_in(&part->tensors[i], &whole->tensors[i]))
			return false;
	return true;
}

static void note(struct npu_builder *b, const struct npu_tensor *t, bool placed)
{
	struct npu_laid *laid = b->noted;
	laid->otherwise |= placed || laid->n == NPU_LAID_TENSORS;
	if (laid->n < NPU_LAID_TENSORS) {
		laid->tensors[laid->n] = *t;
		laid->tensors[laid->n++].name = NULL;
	}
}

/* An address in a tensor of a part, and the way to the next row of it, as they are in the whole. */
static void lay_as_whole(const struct npu_builder *b, struct npu_dma *dma)
{
	for (unsigned i = 0; i < b->ntensors; i++) {
		const struct npu_tensor *t = &b->whole->tensors[i];
		uint64_t offset = dma->dram - t->addr, own = b->row[i], rows = row_bytes(t);
		if (dma->dram < t->addr || offset >= t->bytes)
			continue;
		if (t->rank == 2 && own != rows) {
			dma->dram = t->addr + offset / own * rows + offset % own;
			dma->dram_stride = dma->dram_stride == own ? (uint32_t)rows : dma->dram_stride;
		}
		return;
	}
}

/* `fixed`: where, NPU_ANYWHERE: behind what is there. */
static uint64_t take_dram(struct npu_builder *b, const char *what, const char *name, uint64_t bytes, uint64_t fixed)
{
	name = name ? name : "without a name";
	uint64_t at = fixed == NPU_ANYWHERE ? align_up(b->dram_used, DRAM_ALIGN) : fixed;
	uint64_t capacity = b->capacity.limits.dram_bytes;
	if (fixed != NPU_ANYWHERE && (at > capacity || bytes > capacity - at)) {
		npu_fail(&b->error, NPU_ERR_FIT,
			 "%s %s does not fit: %s bytes at dram:0x%" PRIx64 ", but DRAM ends at 0x%" PRIx64, what, name,
			 npu_count_text(bytes).text, at, capacity);
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

static struct npu_dram add_tensor(struct npu_builder *b, const char *name, enum npu_dtype dtype,
				  enum npu_tensor_dir dir, unsigned rank, const uint64_t *shape,
				  const struct npu_tensor_options *);

struct npu_dram npu_tensor(struct npu_builder *b, const char *name, enum npu_dtype dtype, enum npu_tensor_dir dir,
			   unsigned rank, const uint64_t *shape)
{
	return npu_tensor_at(b, name, dtype, dir, rank, shape, NPU_LAYOUT_ROW, NPU_ANYWHERE);
}

struct npu_dram npu_tensor_at(struct npu_builder *b, const char *name, enum npu_dtype dtype, enum npu_tensor_dir dir,
			      unsigned rank, const uint64_t *shape, uint32_t layout, uint64_t at)
{
	return add_tensor(b, name, dtype, dir, rank, shape,
			  &(struct npu_tensor_options){ .layout = layout, .at = at, .placed = at != NPU_ANYWHERE });
}

struct npu_dram npu_tensor_with(struct npu_builder *b, const char *name, enum npu_dtype dtype, enum npu_tensor_dir dir,
				unsigned rank, const uint64_t *shape, const struct npu_tensor_options *given)
{
	struct npu_tensor_options o = { .size = sizeof o };
	if (given && given->size < offsetof(struct npu_tensor_options, placed) + sizeof o.placed) {
		npu_builder_fail(b, NPU_ERR_OPERAND,
				 "tensor %s: options of %u bytes: size is sizeof(struct npu_tensor_options)",
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
	if (o.seed && !o.seeded) {
		npu_builder_fail(b, NPU_ERR_OPERAND, "tensor %s: a seed, and seeded is 0",
				 name ? name : "without a name");
		return (struct npu_dram){ 0 };
	}
	return add_tensor(b, name, dtype, dir, rank, shape, &o);
}

static struct npu_dram add_tensor(struct npu_builder *b, const char *name, enum npu_dtype dtype,
				  enum npu_tensor_dir dir, unsigned rank, const uint64_t *shape,
				  const struct npu_tensor_options *o)
{
	uint32_t layout = o->layout;
	uint64_t bytes = o->bytes;
	if (!one_more(b, &b->ntensors, MAX_TENSORS, "tensors"))
		return (struct npu_dram){ 0 };
	struct npu_tensor t = { .name = name,
				.dtype = dtype,
				.dir = dir,
				.rank = rank,
				.layout = layout,
				.seeded = o->seeded,
				.seed = o->seeded ? o->seed : 0 };
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
		npu_builder_fail(b, NPU_ERR_OPERAND,
				 "tensor %s takes %" PRIu64 " bytes, more than the %" PRIu64 " given",
				 name ? name : "without a name", t.bytes, bytes);
		return (struct npu_dram){ 0 };
	}
	t.bytes = bytes ? bytes : t.bytes;
	uint64_t at = o->placed ? o->at : NPU_ANYWHERE;
	if (b->whole) {
		const struct npu_tensor *whole = &b->whole->tensors[b->ntensors - 1];
		b->row[b->ntensors - 1] = row_bytes(&t);
		t.bytes = whole->bytes;
		at = whole->addr;
	}
	t.addr = take_dram(b, "tensor", name, t.bytes, at);
	if (npu_builder_failed(b))
		return (struct npu_dram){ 0 };
	if (b->noted)
		note(b, &t, o->placed);
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
	if (b->noted)
		b->noted->otherwise = true;
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
		npu_fail(&b->error, NPU_ERR_SEMAPHORE,
			 "semaphore %s: initial count %u, max %u; at most max, and that 1 to %d",
			 name ? name : "without a name", initial, max, SEM_MAX);
		return (struct npu_semaphore){ 0 };
	}
	uint32_t sem = npu_assembly_sem(b->assembly, name, initial, max);
	look_for_memory(b);
	return (struct npu_semaphore){ (uint16_t)sem, 1 };
}

/* vsnprintf for text and %u alone, as the names of regions mostly are, of which there may be as many as tiles; false,
 * and the arguments untouched, when it is more or too long. */
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
		npu_fail(&b->error, NPU_ERR_OPERAND, "the region \"%s\" lies too deep: regions nest at most %d deep",
			 name, NPU_MAX_DEPTH);
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
	if (b->noted) {
		npu_fail(&b->error, NPU_ERR_INTERNAL, "tensors were asked for, and no instruction");
		return;
	}
	struct npu_insn copy = *insn;
	if (b->whole && (insn->op == NPU_OP_LOAD || insn->op == NPU_OP_STORE))
		lay_as_whole(b, &copy.dma);
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
