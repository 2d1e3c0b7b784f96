/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations: tensors, buffers, semaphores, tables, pages. */
#include "isa/text/macro/declare.h"

#include "isa/random.h"
#include "isa/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRAM_ALIGN = 4096, MOST_PAGES = 1 << 20, MOST_TABLE_ENTRIES = 1 << 24 };

static uint64_t align_up(uint64_t x, uint64_t to)
{
	return (x + to - 1) / to * to;
}

const char *npu_mac_kept_text(struct npu_mac *s, struct npu_arena *arena, const char *text)
{
	const char *copy = npu_arena_text(arena, text, strlen(text));
	if (!copy)
		npu_mac_no_memory(s);
	return copy;
}

bool npu_mac_refuse_second(struct npu_mac *s, const struct npu_mac_decl *d)
{
	return npu_mac_refuse_as(s, NPU_ERR_VALUE, d->span, "a second %s; the first is at %s", d->symbol->name,
				 npu_mac_where(s, d->symbol->binding->span).text);
}

/* ---- objects ---- */

static struct npu_placed_line placed_line(const struct npu_mac *s, struct npu_mac_span span, uint32_t line)
{
	return (struct npu_placed_line){ npu_mac_other_file(s, span), line };
}

static struct npu_mac_object *new_object(struct npu_mac *s, const struct npu_mac_decl *d, enum npu_mac_object_kind kind)
{
	const struct npu_mac_binding *b = d->symbol->binding;
	if (b && b->frame == (s->depth ? s->macro_frame + 1 : 0) &&
	    !(b->value.kind == NPU_MAC_OBJECT && b->value.object->freed)) {
		npu_mac_refuse_second(s, d);
		return NULL;
	}
	if (d->symbol->length > NPU_MAX_NAME - 24) {
		npu_mac_refuse_as(s, NPU_ERR_VALUE, d->span, "a name of more than %d bytes", NPU_MAX_NAME - 24);
		return NULL;
	}
	if (s->nobjects == NPU_MAC_MAX_OBJECTS) {
		npu_mac_refuse_as(s, NPU_ERR_FIT, d->span, "more than %d tensors, buffers, semaphores and tables",
				  NPU_MAC_MAX_OBJECTS);
		return NULL;
	}
	struct npu_mac_object *o = npu_arena_alloc(s->arena, 1, sizeof *o);
	if (!o) {
		npu_mac_no_memory(s);
		return NULL;
	}
	s->nobjects++;
	o->kind = kind;
	o->name = d->symbol->name;
	o->span = d->span;
	o->line = placed_line(s, d->span, d->line);
	o->at = o->bank = -1;
	o->step = 1;
	o->count = 1;
	return o;
}

static bool bind_object(struct npu_mac *s, const struct npu_mac_decl *d, struct npu_mac_object *o)
{
	struct npu_mac_binding *b = d->symbol->binding;
	if (b && b->value.kind == NPU_MAC_OBJECT && b->value.object->freed &&
	    b->frame == (s->depth ? s->macro_frame + 1 : 0)) {
		b->value.object = o;
		b->span = d->span;
		return true;
	}
	return npu_mac_bind(s, d->symbol, (struct npu_mac_value){ .kind = NPU_MAC_OBJECT, .object = o }, d->span) !=
	       NULL;
}

static bool read_type_and_layout(struct npu_mac *s, const struct npu_mac_decl *d, struct npu_mac_object *o)
{
	uint64_t dtype, layout = NPU_LAYOUT_ROW;
	if (!npu_mac_named(s, d->dtype, NPU_KIND_DTYPE, "type", &dtype) ||
	    (d->layout && !npu_mac_named(s, d->layout, NPU_KIND_LAYOUT, "layout", &layout)))
		return false;
	o->dtype = (enum npu_dtype)dtype;
	o->layout = (uint32_t)layout;
	return true;
}

/* Lengths, strides, bytes. */
static bool read_geometry(struct npu_mac *s, const struct npu_mac_decl *d, struct npu_mac_object *o)
{
	uint64_t bits = npu_dtype_bits(o->dtype);
	o->rank = d->rank;
	for (unsigned i = 0; i < d->rank; i++) {
		int64_t length;
		if (!npu_mac_int_in(s, d->shape[i], "a dimension", 1, (int64_t)1 << 40, &length))
			return false;
		o->dim[i].length = (uint64_t)length;
	}
	struct npu_matrix inner = { .rows = o->rank > 1 ? o->dim[o->rank - 2].length : 1,
				    .cols = o->dim[o->rank - 1].length,
				    .dtype = o->dtype,
				    .layout = o->layout };
	uint64_t bytes;
	o->dim[o->rank - 1].stride = bits;
	if (o->rank > 1)
		o->dim[o->rank - 2].stride = npu_matrix_stride(&inner) * 8;
	if (__builtin_mul_overflow(npu_matrix_strips(&inner), npu_matrix_strip_bytes(&inner), &bytes) ||
	    bytes > NPU_DRAM_LIMIT)
		return npu_mac_refuse_as(s, NPU_ERR_FIT, d->span, "%s has more than 2^40 bytes", o->name);
	for (unsigned i = o->rank; i-- > 0;) {
		if (i + 2 >= o->rank)
			continue;
		o->dim[i].stride = bytes * 8;
		if (__builtin_mul_overflow(bytes, o->dim[i].length, &bytes) || bytes > NPU_DRAM_LIMIT)
			return npu_mac_refuse_as(s, NPU_ERR_FIT, d->span, "%s has more than 2^40 bytes", o->name);
	}
	o->bytes = bytes;
	return true;
}

/* ---- tensors ---- */

static bool take_dram(struct npu_mac *s, const struct npu_mac_decl *d, uint64_t bytes, uint64_t *addr)
{
	uint64_t at = align_up(s->dram_used, DRAM_ALIGN), most = s->capacity.limits.dram_bytes;
	int64_t fixed;
	if (d->at) {
		if (!npu_mac_int_in(s, d->at, "an address", 0, (int64_t)NPU_DRAM_LIMIT - 1, &fixed))
			return false;
		at = (uint64_t)fixed;
	}
	if (at > most || bytes > most - at)
		return npu_mac_refuse_as(s, NPU_ERR_FIT, d->span,
					 "%s needs %s at dram:0x%" PRIx64 ", but DRAM ends at %s", d->symbol->name,
					 npu_bytes_text(bytes).text, at, npu_bytes_text(most).text);
	if (at + bytes > s->dram_used)
		s->dram_used = at + bytes;
	*addr = at;
	return true;
}

/* bytes=: room behind the elements, of which nothing else is placed. */
static bool read_tensor_bytes(struct npu_mac *s, const struct npu_mac_decl *d, const struct npu_mac_object *o,
			      uint64_t *out)
{
	int64_t bytes = (int64_t)o->bytes;
	if (d->bytes && !npu_mac_int_in(s, d->bytes, "bytes", (int64_t)o->bytes, (int64_t)NPU_DRAM_LIMIT, &bytes))
		return false;
	*out = (uint64_t)bytes;
	return true;
}

static bool read_seed(struct npu_mac *s, const struct npu_mac_decl *d, const struct npu_mac_object *o,
		      struct npu_tensor *t)
{
	int64_t seed;
	if (!d->seed)
		return true;
	if (!npu_mac_int_in(s, d->seed, "seed", 0, (int64_t)NPU_MAX_SEED, &seed))
		return false;
	if (d->dir == NPU_TENSOR_OUT || d->dir == NPU_TENSOR_TEMP)
		return npu_mac_refuse(s, d->seed->span, "the program fills %s: seed= is for inputs", o->name);
	if (d->file)
		return npu_mac_refuse(s, d->seed->span, "%s has file= already: seed= is for random contents", o->name);
	t->seeded = true;
	t->seed = (uint64_t)seed;
	return true;
}

static bool add_tensor(struct npu_mac *s, const struct npu_mac_decl *d, struct npu_mac_object *o)
{
	struct npu_tensor t = { .name = o->name,
				.dtype = o->dtype,
				.layout = o->layout,
				.dir = (enum npu_tensor_dir)d->dir,
				.rank = o->rank };
	for (unsigned i = 0; i < o->rank; i++)
		t.shape[i] = o->dim[i].length;
	if (!read_tensor_bytes(s, d, o, &t.bytes) || !take_dram(s, d, t.bytes, &o->addr) || !read_seed(s, d, o, &t))
		return false;
	t.addr = o->addr;
	if (s->ntensors == s->tensor_room) {
		uint32_t room = s->tensor_room ? 2 * s->tensor_room : 16;
		struct npu_macro_tensor *grown = realloc(s->tensors, room * sizeof *grown);
		if (!grown)
			return npu_mac_no_memory(s);
		s->tensors = grown;
		s->tensor_room = room;
	}
	s->tensors[s->ntensors] = (struct npu_macro_tensor){ 0 };
	o->dir = d->dir;
	o->index = npu_assembly_tensor(s->assembly, &t);
	s->ntensors++;
	return true;
}

/* A file is looked for beside the one that names it. */
static const char *beside(struct npu_mac *s, const char *name)
{
	const char *from = s->cursor.file->source.file, *slash = strrchr(from, '/');
	size_t folder = slash && *name != '/' ? (size_t)(slash - from) + 1 : 0, length = strlen(name);
	char *path = npu_arena_alloc(s->result, folder + length + 1, 1);
	if (!path) {
		npu_mac_no_memory(s);
		return NULL;
	}
	memcpy(path, from, folder);
	memcpy(path + folder, name, length + 1);
	return path;
}

/* file=: it is there, and as long as the tensor. */
static bool take_file(struct npu_mac *s, const struct npu_mac_decl *d, const struct npu_mac_object *o,
		      struct npu_macro_tensor *t)
{
	struct npu_error err = { .code = NPU_ERR_NONE };
	const char *source;
	uint64_t bytes;
	if (!(t->file = beside(s, d->file)))
		return false;
	npu_mac_place_of(s, d->file_span, &source, &t->line, &t->column);
	if (source && !(t->source = npu_mac_kept_text(s, s->result, source)))
		return false;
	if (d->dir == NPU_TENSOR_OUT && o->layout != NPU_LAYOUT_ROW)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, d->file_span,
					 "the expected contents of %s would have to be row-major", o->name);
	if (!s->options->size)
		return true;
	if (!s->options->size(s->options->context, t->file, &bytes, &err))
		return npu_mac_refuse_as(s, err.code, d->file_span, "%s", err.text);
	return bytes == o->bytes || bytes == NPU_MACRO_ANY_SIZE ||
	       npu_mac_refuse_as(s, NPU_ERR_VALUE, d->file_span, "%s has %s bytes; tensor %s is exactly %s", t->file,
				 npu_count_text(bytes).text, o->name, npu_count_text(o->bytes).text);
}

static bool describe_tensor(struct npu_mac *s, const struct npu_mac_decl *d, struct npu_mac_object *o)
{
	struct npu_macro_tensor *t = &s->tensors[o->index];
	bool out = d->dir == NPU_TENSOR_OUT || d->dir == NPU_TENSOR_INOUT;
	if (d->file && !take_file(s, d, o, t))
		return false;
	if (!d->value)
		return true;
	if (!out)
		return npu_mac_refuse(s, d->value->span, "%s is no output: only those have a reference", o->name);
	const struct npu_reference_node *r = npu_mac_reference(s, d->value);
	if (!r)
		return false;
	bool same = r->rank == o->rank;
	for (unsigned i = 0; same && i < o->rank; i++)
		same = r->shape[i] == o->dim[i].length;
	if (!same) {
		struct npu_mac_view a = { .rank = (int)r->rank }, b = { .rank = (int)o->rank };
		for (unsigned i = 0; i < NPU_MAX_RANK; i++) {
			a.dim[i].length = r->shape[i];
			b.dim[i].length = o->dim[i].length;
		}
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, d->value->span, "the reference is %s, and %s is %s",
					 r->rank ? npu_mac_shape_text(&a).text : "a number", o->name,
					 npu_mac_shape_text(&b).text);
	}
	s->tensors[o->index].reference = r;
	return true;
}

static bool is_first(struct npu_mac *s, const struct npu_mac_decl *d, struct npu_mac_span *of, const char *what)
{
	if (of->begin)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, d->span,
					 "a second %s %s, and the program has the first, of %s, to its end", what,
					 d->symbol->name, npu_mac_where(s, *of).text);
	*of = d->span;
	return true;
}

static bool declare_tensor(struct npu_mac *s, const struct npu_mac_decl *d)
{
	struct npu_mac_object *o = new_object(s, d, NPU_MAC_TENSOR_OBJECT);
	return o && is_first(s, d, &d->symbol->tensor, "tensor") && read_type_and_layout(s, d, o) &&
	       read_geometry(s, d, o) && add_tensor(s, d, o) && bind_object(s, d, o) && describe_tensor(s, d, o);
}

/* ---- buffers ---- */

static bool read_count(struct npu_mac *s, const struct npu_mac_decl *d, struct npu_mac_object *o, int64_t most)
{
	int64_t count;
	o->array = d->array;
	if (!d->array)
		return true;
	if (!npu_mac_int_in(s, d->count, "how many", 1, most, &count))
		return false;
	o->count = (uint32_t)count;
	return true;
}

static bool read_local_options(struct npu_mac *s, const struct npu_mac_decl *d, struct npu_mac_object *o)
{
	int64_t align = 1;
	if (d->at && !npu_mac_int_in(s, d->at, "at", 0, (int64_t)NPU_LOCAL_LIMIT - 1, &o->at))
		return false;
	if (d->bank && !npu_mac_int_in(s, d->bank, "bank", 0, 65535, &o->bank))
		return false;
	if (d->step && !npu_mac_int_in(s, d->step, "step", 0, 65535, &o->step))
		return false;
	if (d->align && !npu_mac_int_in(s, d->align, "align", 1, 1 << 20, &align))
		return false;
	if (align & (align - 1))
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, d->align->span, "align is %" PRId64 ": a power of two",
					 align);
	if (o->at >= 0 && o->at % align)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, d->at->span,
					 "at is %" PRId64 ", and align=%" PRId64 " does not divide it", o->at, align);
	o->align = (uint64_t)align;
	return true;
}

/* ---- buffers over others ---- */

static bool refuse_over(struct npu_mac *s, const struct npu_mac_node *node, const char *what)
{
	return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "over= takes %s", what);
}

/* The array that a name without an index is; NULL: something else. */
static const struct npu_mac_object *array_named(struct npu_mac *s, const struct npu_mac_node *node)
{
	const struct npu_mac_binding *b = node->kind == NPU_MAC_NAME && !node->n ? npu_mac_bound(s, node->symbol) : NULL;
	const struct npu_mac_object *o = b && b->value.kind == NPU_MAC_OBJECT ? b->value.object : NULL;
	return o && o->kind == NPU_MAC_BUFFER_OBJECT && o->array && !o->room ? o : NULL;
}

/* Bytes from an address to the end of the buffer that it lies in. */
static uint64_t bytes_behind(const struct npu_mac_object *o, uint64_t local)
{
	for (uint32_t i = 0; i < o->count; i++)
		if (local >= o->locals[i] && local < o->locals[i] + o->bytes)
			return o->locals[i] + o->bytes - local;
	return 0;
}

/* Its elements one after the other: a buffer over it has them and no others. */
static bool is_without_gaps(const struct npu_mac_view *v)
{
	uint64_t next = npu_dtype_bits(v->dtype), block = npu_layout_block(v->layout);
	int d = v->rank - 1;
	if (block > 1 && v->rank >= 2) { /* rows of whole blocks */
		uint64_t rows = (v->dim[d - 1].length + block - 1) / block;
		next *= (v->dim[d].length + block - 1) / block * block * block;
		if (rows > 1 && v->dim[d - 1].stride != next)
			return false;
		next *= rows;
		d -= 2;
	}
	for (; d >= 0; d--) {
		if (v->dim[d].length == 1)
			continue;
		if (v->dim[d].stride != next)
			return false;
		next *= v->dim[d].length;
	}
	return true;
}

static bool lay_over(struct npu_mac *s, const struct npu_mac_decl *d, struct npu_mac_object *o)
{
	struct npu_mac_view at;
	uint64_t room, needs;
	if (s->pending && !npu_mac_place_pending(s))
		return false;
	const struct npu_mac_object *under = d->array ? array_named(s, d->over) : NULL;
	bool each = under != NULL;
	if (each && under->freed)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, d->over->span, "%s was freed", under->name);
	if (each && under->count < o->count)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, d->over->span,
					 "%s has %" PRIu32 " elements, %s %" PRIu32
					 ": an array lies on another element for element",
					 under->name, under->count, o->name, o->count);
	if (!each) {
		const struct npu_mac_object *array = array_named(s, d->over);
		if (array)
			return npu_mac_refuse_as(s, NPU_ERR_VALUE, d->over->span,
						 "over= takes %s[0] to %s[%" PRIu32 "] one at a time: %s is an array, on which an array can lie, element for element",
						 array->name, array->name, array->count - 1, array->name);
		if (!npu_mac_view_of(s, d->over, &at))
			return false;
		under = at.object;
		if (!under || under->kind != NPU_MAC_BUFFER_OBJECT || under->room || at.turned)
			return refuse_over(s, d->over, "a buffer of .sram or .acc, or a slice of one");
		if (!at.whole && !is_without_gaps(&at))
			return refuse_over(s, d->over, "bytes that follow one another: this slice has gaps between its rows");
	}
	if (under->accum != o->accum)
		return refuse_over(s, d->over,
				   o->accum ? "a buffer of the accumulators here" : "a buffer of SRAM here");
	room = each ? under->bytes : bytes_behind(under, at.addr);
	needs = each ? o->bytes : o->bytes * o->count;
	if (needs > room)
		return npu_mac_refuse_as(s, NPU_ERR_FIT, d->over->span, "%s takes %s bytes, and %s has %s there",
					 o->name, npu_count_text(needs).text, under->name, npu_count_text(room).text);
	for (uint32_t i = 0; i < o->count; i++)
		o->locals[i] = each ? under->locals[i] : (uint32_t)(at.addr + i * o->bytes);
	o->over = under->over ? under->over : under;
	o->placed = true;
	return bind_object(s, d, o);
}

/* Waits for the first instruction, so that buffers declared together are placed together. */
static bool declare_buffers(struct npu_mac *s, const struct npu_mac_decl *d)
{
	struct npu_mac_object *o = new_object(s, d, NPU_MAC_BUFFER_OBJECT);
	if (!o || !read_type_and_layout(s, d, o) || !read_count(s, d, o, NPU_MAC_MAX_OBJECTS) ||
	    !read_geometry(s, d, o) || !read_local_options(s, d, o))
		return false;
	o->accum = d->accum;
	o->frame = s->frame;
	s->nbuffers += o->count;
	if (o->bytes > NPU_LOCAL_LIMIT || s->nbuffers > NPU_MAC_MAX_OBJECTS)
		return npu_mac_refuse_as(s, NPU_ERR_FIT, d->span, "%s",
					 o->bytes > NPU_LOCAL_LIMIT ? "a buffer of more than 2 GiB"
								    : "more than 16,384 buffers");
	o->locals = npu_arena_alloc(s->arena, o->count, sizeof *o->locals);
	o->handles = npu_arena_alloc(s->arena, o->count, sizeof *o->handles);
	o->buffers = npu_arena_alloc(s->arena, o->count, sizeof *o->buffers);
	if (!o->locals || !o->handles || !o->buffers)
		return npu_mac_no_memory(s);
	if (d->over && (d->at || d->bank || d->step || d->align))
		return refuse_over(s, d->over, "the place of another: no at=, bank=, step= or align= beside it");
	if (d->over)
		return lay_over(s, d, o);
	*s->last_pending = o;
	s->last_pending = &o->next;
	return bind_object(s, d, o);
}

static void name_element(char *out, size_t size, const struct npu_mac_object *o, uint32_t i)
{
	if (o->array)
		snprintf(out, size, "%s[%" PRIu32 "]", o->name, i);
	else
		snprintf(out, size, "%s", o->name);
}

/* Points at the buffer that lies on another. */
static bool refuse_clash(struct npu_mac *s, const struct npu_error *fit, unsigned request)
{
	const struct npu_mac_object *o = s->pending;
	while (request-- && o->next)
		o = o->next;
	return npu_mac_refuse_as(s, fit->code, o->span,
				 "%s: .free that before, another at= here, or over= instead where it is meant",
				 fit->text);
}

/* Points at the first buffer of the memory that is too small. */
static bool refuse_places(struct npu_mac *s, const struct npu_error *fit)
{
	char text[sizeof fit->text];
	const struct npu_mac_object *first = s->pending;
	struct npu_mac_frame *frame = s->frame;
	if (fit->code == NPU_ERR_MEMORY)
		return npu_mac_no_memory(s);
	while (first->next && first->accum != npu_placer_lacks_accum(s->placer))
		first = first->next;
	snprintf(text, sizeof text, "%s", fit->text);
	char *map = strchr(text, '\n');
	if (map)
		*map++ = '\0';
	/* the line that came first to need them says nothing, the loop in which they were declared does */
	while (s->frame && s->frame != first->frame)
		s->frame = s->frame->below;
	npu_mac_refuse_as(s, fit->code, first->span, "%s", text);
	s->frame = frame;
	if (map && s->diag.count == 1)
		npu_error_notes(s->err, map);
	return false;
}

bool npu_mac_place_pending(struct npu_mac *s)
{
	unsigned n = 0;
	struct npu_error fit = { .code = NPU_ERR_NONE };
	for (const struct npu_mac_object *o = s->pending; o; o = o->next)
		n++;
	struct npu_place_request *requests = calloc(n ? n : 1, sizeof *requests);
	if (!requests)
		return npu_mac_no_memory(s);
	n = 0;
	for (const struct npu_mac_object *o = s->pending; o; o = o->next)
		requests[n++] = (struct npu_place_request){
			.name = o->name,
			.accum = o->accum,
			.array = o->array,
			.bytes = o->bytes,
			.count = o->count,
			.group = o->bank,
			.step = o->step,
			.align = o->align,
			.at = o->at,
			.locals = o->locals,
			.handles = o->handles,
			.declared = o->line,
		};
	bool ok = npu_placer_place(s->placer, requests, n, s->ninsns, &fit);
	free(requests);
	unsigned request;
	bool clash = !ok && npu_placer_clashes(s->placer, &request);
	s->full = !ok && !clash;
	if (!ok)
		return clash ? refuse_clash(s, &fit, request) : refuse_places(s, &fit);
	if (++s->placings == s->only_until) {
		s->failed = s->stopped = true;
		return false;
	}
	for (struct npu_mac_object *next, *o = s->pending; o; o = next) {
		next = o->next;
		o->next = NULL;
		o->placed = true;
		for (uint32_t i = 0; i < o->count; i++) {
			char name[NPU_MAX_NAME + 1];
			uint64_t bytes = o->at >= 0 ? o->bytes : npu_placer_bytes(s->placer, o->accum, o->bytes);
			name_element(name, sizeof name, o, i);
			o->buffers[i] = npu_assembly_buffer(s->assembly, &(struct npu_buffer){ .name = name,
											       .local = o->locals[i],
											       .bytes = (uint32_t)bytes,
											       .first = s->ninsns });
		}
	}
	s->pending = NULL;
	s->last_pending = &s->pending;
	return true;
}

static bool free_buffer(struct npu_mac *s, const struct npu_mac_node *node, uint32_t line)
{
	const struct npu_mac_binding *b =
	    node->kind == NPU_MAC_NAME && !node->n ? npu_mac_bound(s, node->symbol) : NULL;
	if (!b || b->value.kind != NPU_MAC_OBJECT || b->value.object->kind != NPU_MAC_BUFFER_OBJECT)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span,
					 ".free takes the name of a buffer, or of an array%s",
					 node->kind == NPU_MAC_NAME && !b ? npu_mac_hint(s, node->span).text : "");
	struct npu_mac_object *o = b->value.object;
	if (o->freed)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "%s was freed before", o->name);
	if (o->room)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span,
					 "%s says itself, in .buffer, when its life is over", o->name);
	for (uint32_t i = 0; !o->over && i < o->count; i++) {
		npu_placer_end(s->placer, o->handles[i], s->ninsns, placed_line(s, node->span, line));
		npu_assembly_buffer_end(s->assembly, o->buffers[i]);
	}
	o->freed = true;
	return true;
}

static bool free_buffers(struct npu_mac *s, const struct npu_mac_stmt *stmt)
{
	if (s->pending && !npu_mac_place_pending(s))
		return false;
	for (unsigned i = 0; i < stmt->list.n; i++)
		if (!free_buffer(s, stmt->list.nodes[i], stmt->line))
			return false;
	return true;
}

static bool make_elements(struct npu_mac *s, struct npu_mac_object *o, uint32_t count)
{
	if (count <= o->count)
		return true;
	if (count > o->room) {
		uint32_t room = count < 8 ? 8 : 2 * count;
		uint32_t *locals = npu_arena_alloc(s->arena, room, sizeof *locals);
		uint32_t *buffers = npu_arena_alloc(s->arena, room, sizeof *buffers);
		if (!locals || !buffers)
			return npu_mac_no_memory(s);
		if (o->count) {
			memcpy(locals, o->locals, o->count * sizeof *locals);
			memcpy(buffers, o->buffers, o->count * sizeof *buffers);
		}
		o->locals = locals;
		o->buffers = buffers;
		o->room = room;
	}
	while (o->count < count)
		o->buffers[o->count++] = NPU_MAC_MISSING;
	return true;
}

/* NAME, or NAME[i] of an array that is declared one by one. *index: its place in locals and buffers. NULL after a
 * message. */
static struct npu_mac_object *element_object(struct npu_mac *s, const struct npu_mac_decl *d,
					     enum npu_mac_object_kind kind, uint32_t *index)
{
	const struct npu_mac_binding *b = npu_mac_bound(s, d->symbol);
	struct npu_mac_object *o = b && b->value.kind == NPU_MAC_OBJECT ? b->value.object : NULL;
	int64_t i = 0;
	if (d->array && !npu_mac_int_in(s, d->count, "an index", 0, NPU_MAC_MAX_OBJECTS - 1, &i))
		return NULL;
	bool joins =
	    o && o->kind == kind && o->room && o->array == d->array && (d->array || kind == NPU_MAC_BUFFER_OBJECT);
	/* names of buffers in flat text may be those of tensors, whose they stay */
	bool hidden = o && !joins && kind == NPU_MAC_BUFFER_OBJECT;
	if (!joins) {
		struct npu_mac_decl named = *d;
		o = hidden ? npu_arena_alloc(s->arena, 1, sizeof *o) : new_object(s, &named, kind);
		if (!o || (!hidden && !bind_object(s, d, o))) {
			s->failed = true;
			return NULL;
		}
		o->kind = kind;
		o->name = d->symbol->name;
		o->array = d->array;
		o->placed = true;
		o->count = 0;
	}
	*index = (uint32_t)i;
	return make_elements(s, o, *index + 1) ? o : NULL;
}

/* .buffer, as flat text has it: an address that the writer chose. */
static bool declare_buffer(struct npu_mac *s, const struct npu_mac_decl *d)
{
	struct npu_mac_view at;
	int64_t bytes, first, last;
	char name[NPU_MAX_NAME + 1];
	uint32_t i = 0;
	struct npu_mac_object *o = element_object(s, d, NPU_MAC_BUFFER_OBJECT, &i);
	if (!o || !npu_mac_view_of(s, d->at, &at) || !npu_mac_int_in(s, d->bytes, "bytes", 0, UINT32_MAX, &bytes) ||
	    !npu_mac_int_in(s, d->first, "an instruction", 0, UINT32_MAX, &first) ||
	    !npu_mac_int_in(s, d->last, "an instruction", 0, UINT32_MAX, &last))
		return false;
	if (first > last)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, d->span, "alive for instructions %" PRId64 "..%" PRId64,
					 first, last);
	if (last > s->last_end) {
		s->last_buffer = d->span;
		s->last_end = (uint32_t)last;
	}
	name_element(name, sizeof name, o, i);
	o->locals[i] = (uint32_t)at.addr;
	struct npu_buffer b = { name, (uint32_t)at.addr, (uint32_t)bytes, (uint32_t)first, (uint32_t)last };
	o->buffers[i] = npu_assembly_buffer(s->assembly, &b);
	if (!last)
		npu_assembly_buffer_end(s->assembly, o->buffers[i]);
	return true;
}

/* ---- semaphores ---- */

static bool declare_sem(struct npu_mac *s, const struct npu_mac_decl *d)
{
	int64_t initial = 0, max = NPU_SEM_MAX_COUNT;
	struct npu_mac_object *o = new_object(s, d, NPU_MAC_SEM_OBJECT);
	if (!o || !is_first(s, d, &d->symbol->sem, "semaphore") || !read_count(s, d, o, NPU_MAX_SEMS) ||
	    (d->initial && !npu_mac_int_in(s, d->initial, "the initial count", 0, NPU_SEM_MAX_COUNT, &initial)) ||
	    (d->max && !npu_mac_int_in(s, d->max, "the highest count", 1, NPU_SEM_MAX_COUNT, &max)))
		return false;
	if (initial > max)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, d->span,
					 "max=%" PRId64 ": at least the initial count, %" PRId64, max, initial);
	if (s->nsems + o->count > NPU_MAX_SEMS)
		return npu_mac_refuse_as(s, NPU_ERR_FIT, d->span, "more than %d semaphores", NPU_MAX_SEMS);
	o->index = s->nsems;
	for (uint32_t i = 0; i < o->count; i++) {
		char name[NPU_MAX_NAME + 1];
		name_element(name, sizeof name, o, i);
		npu_assembly_sem(s->assembly, name, (uint32_t)initial, (uint32_t)max);
	}
	s->nsems += o->count;
	return bind_object(s, d, o);
}

/* ---- tables, pages ---- */

bool npu_mac_count_records(struct npu_mac *s, struct npu_mac_span span, uint64_t n)
{
	s->records += n;
	if (s->records <= NPU_MAC_MAX_RECORDS)
		return true;
	return npu_mac_refuse_as(s, NPU_ERR_FIT, span,
				 "more than %s regions, page records and entries of tables together",
				 npu_count_text(NPU_MAC_MAX_RECORDS).text);
}

static bool read_entries(struct npu_mac *s, const struct npu_mac_decl *d, uint32_t *entries)
{
	for (unsigned i = 0; i < d->nentries; i++) {
		int64_t page;
		if (!npu_mac_int_in(s, d->entries[i], "a page number", 0, UINT32_MAX, &page))
			return false;
		entries[i] = (uint32_t)page;
	}
	return true;
}

static bool declare_table(struct npu_mac *s, const struct npu_mac_decl *d)
{
	int64_t count = d->nentries, seed = 0, sequence = 0;
	char name[NPU_MAX_NAME + 1];
	uint32_t index = 0;
	struct npu_mac_object *o = element_object(s, d, NPU_MAC_TABLE_OBJECT, &index);
	if (!o)
		return false;
	if (o->buffers[index] != NPU_MAC_MISSING)
		return npu_mac_refuse_second(s, d);
	if ((d->bytes && !npu_mac_int_in(s, d->bytes, "how many pages", 0, MOST_TABLE_ENTRIES, &count)) ||
	    (d->seed && !npu_mac_int(s, d->seed, &seed)) ||
	    (d->sequence && !npu_mac_int_in(s, d->sequence, "a sequence", 0, UINT32_MAX, &sequence)))
		return false;
	if (s->ntables == UINT16_MAX)
		return npu_mac_refuse_as(s, NPU_ERR_FIT, d->span, "more than %d tables", UINT16_MAX);
	struct npu_table t = { .count = (uint32_t)count, .sequence = (uint32_t)sequence, .name = name };
	name_element(name, sizeof name, o, index);
	if (!npu_mac_count_records(s, d->span, (uint64_t)count) || !take_dram(s, d, 4 * (uint64_t)count, &t.addr))
		return false;
	uint32_t *entries = malloc((size_t)(count ? count : 1) * sizeof *entries);
	if (!entries)
		return npu_mac_no_memory(s);
	bool ok = true;
	if (d->bytes)
		npu_random_order(entries, (uint64_t)count, (uint64_t)seed);
	else
		ok = read_entries(s, d, entries);
	t.entries = entries;
	if (ok) {
		o->locals[index] = npu_assembly_table(s->assembly, &t);
		o->buffers[index] = 0;
		s->ntables++;
	}
	free(entries);
	return ok;
}

static bool declare_page(struct npu_mac *s, const struct npu_mac_stmt *stmt)
{
	int64_t first, end, sequence = 0;
	struct npu_mac_view pool;
	if (!npu_mac_view_of(s, stmt->page.pool, &pool) ||
	    !npu_mac_int_in(s, stmt->page.first, "a page number", 0, UINT32_MAX, &first))
		return false;
	end = first + 1;
	if ((stmt->page.end && !npu_mac_int(s, stmt->page.end, &end)) ||
	    (stmt->page.sequence && !npu_mac_int_in(s, stmt->page.sequence, "a sequence", 0, UINT32_MAX, &sequence)))
		return false;
	if (!pool.dram || !pool.object)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, stmt->page.pool->span, "a pool is a tensor");
	if (end <= first || end - first > MOST_PAGES)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, stmt->span,
					 "pages %" PRId64 "..%" PRId64 ": a line has 1 to %d pages", first, end,
					 MOST_PAGES);
	struct npu_page_event e = { .pool = pool.object->index,
				    .state = stmt->page.state,
				    .sequence = (uint32_t)sequence };
	if (!npu_mac_count_records(s, stmt->span, (uint64_t)(end - first)))
		return false;
	npu_mac_place(s, stmt);
	for (int64_t page = first; page < end; page++) {
		e.page = (uint32_t)page;
		npu_assembly_page(s->assembly, &e);
	}
	return true;
}

bool npu_mac_declare(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	bool (*declare)(struct npu_mac *, const struct npu_mac_decl *) = NULL;
	switch (stmt->kind) {
	case NPU_MAC_PARAM:
		declare = npu_mac_declare_param;
		break;
	case NPU_MAC_LET:
		declare = npu_mac_declare_let;
		break;
	case NPU_MAC_TENSOR:
		declare = declare_tensor;
		break;
	case NPU_MAC_BUFFERS:
		declare = declare_buffers;
		break;
	case NPU_MAC_BUFFER:
		declare = declare_buffer;
		break;
	case NPU_MAC_SEMS:
		declare = declare_sem;
		break;
	case NPU_MAC_TABLE:
		declare = declare_table;
		break;
	case NPU_MAC_PAGE:
		return declare_page(s, stmt);
	case NPU_MAC_FREE:
		return free_buffers(s, stmt);
	case NPU_MAC_INSN:
	case NPU_MAC_MACRO_CALL:
	case NPU_MAC_PROGRAM:
	case NPU_MAC_REQUIRE:
	case NPU_MAC_REGION:
	case NPU_MAC_ENDREGION:
	case NPU_MAC_LOC:
	case NPU_MAC_FOR:
	case NPU_MAC_IF:
	case NPU_MAC_MACRO:
	case NPU_MAC_INCLUDE:
		return false;
	}
	for (const struct npu_mac_decl *d = stmt->decls; d; d = d->next)
		if (!declare(s, d))
			return false;
	return true;
}
