/* SPDX-License-Identifier: Apache-2.0 */
/* npu_program_check: the parts of a program, its semaphores, and each instruction. */
#include "isa/legal.h"

#include "isa/pool.h"
#include "isa/units.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool npu_legal_refuse(const struct npu_legal *c, enum npu_error_code code, const char *format, ...)
{
	const struct npu_program *program = c->program;
	const struct npu_place *place = &program->place[c->insn];
	char text[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return npu_fail_at(c->err, code, place->line ? program->files[place->file] : NULL, place->line, 0,
			   "#%" PRIu32 " %s: %s", c->insn, npu_op_mnemonic(program->insns[c->insn].op), text);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Also bounds what a small file can make of itself as text: many things may share one long string. */
static bool legal_length(const char *text, uint64_t most, const char *what, struct npu_error *err)
{
	if (strnlen(text, most + 1) <= most)
		return true;
	return npu_fail(err, NPU_ERR_VALUE, "the name of a %s is longer than %" PRIu64 " bytes: %.40s...", what, most,
			text);
}

/* What every named thing of a program begins with. */
struct named {
	const char *name;
};
static_assert(offsetof(struct npu_sem, name) == 0, "legal_names reads it so");
static_assert(offsetof(struct npu_tensor, name) == 0, "legal_names reads it so");
static_assert(offsetof(struct npu_table, name) == 0, "legal_names reads it so");

static const char *name_at(const void *things, uint32_t i, size_t size)
{
	struct named named;
	memcpy(&named, (const char *)things + i * size, sizeof named);
	return named.name;
}

/* The same names, sorted; NULL when out of memory. */
static const char **sorted_names(const void *things, uint32_t n, size_t size)
{
	const char **names = malloc((n ? n : 1) * sizeof *names);
	if (!names)
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		names[i] = name_at(things, i, size);
	qsort(names, n, sizeof *names, by_text);
	return names;
}

/* The names of `n` things of `size` bytes are neither empty nor equal. */
static bool legal_names(const void *things, uint32_t n, size_t size, const char *what, struct npu_error *err)
{
	for (uint32_t i = 0; i < n; i++) {
		const char *name = name_at(things, i, size);
		if (!name[0])
			return npu_fail(err, NPU_ERR_VALUE, "a %s has no name", what);
		if (!legal_length(name, NPU_MAX_NAME, what, err))
			return false;
	}
	const char **names = sorted_names(things, n, size), *twice = NULL;
	if (!names)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory while checking a program");
	for (uint32_t i = 1; i < n && !twice; i++)
		if (strcmp(names[i - 1], names[i]) == 0)
			twice = names[i];
	free(names);
	return !twice || npu_fail(err, NPU_ERR_VALUE, "two %ss are called %s", what, twice);
}

static bool legal_all_names(const struct npu_program *program, struct npu_error *err)
{
	if (!legal_names(program->sems, program->nsems, sizeof *program->sems, "semaphore", err) ||
	    !legal_names(program->tensors, program->ntensors, sizeof *program->tensors, "tensor", err) ||
	    !legal_names(program->tables, program->ntables, sizeof *program->tables, "table", err))
		return false;
	for (uint32_t i = 0; i < program->nbuffers; i++) {
		if (!program->buffers[i].name[0])
			return npu_fail(err, NPU_ERR_VALUE, "a buffer has no name");
		if (!legal_length(program->buffers[i].name, NPU_MAX_NAME, "buffer", err))
			return false;
	}
	for (uint32_t i = 0; i < program->nregions; i++)
		if (!legal_length(program->regions[i].name, NPU_MAX_NAME, "region", err))
			return false;
	for (uint32_t i = 0; i < program->nfiles; i++)
		if (!legal_length(program->files[i], NPU_MAX_PATH, "file", err))
			return false;
	return legal_length(program->name, NPU_MAX_NAME, "program", err);
}

static bool legal_sem(const struct npu_sem *sem, struct npu_error *err)
{
	if (sem->max < 1 || sem->max > NPU_SEM_MAX_COUNT)
		return npu_fail(err, NPU_ERR_SEMAPHORE, "semaphore %s: max=%" PRIu32 ", must be 1 to %u", sem->name,
				sem->max, NPU_SEM_MAX_COUNT);
	if (sem->initial > sem->max)
		return npu_fail(err, NPU_ERR_SEMAPHORE,
				"semaphore %s: it starts at %" PRIu32 ", above its max of %" PRIu32, sem->name,
				sem->initial, sem->max);
	if (sem->poster > NPU_ENGINES || sem->waiter > NPU_ENGINES)
		return npu_fail(err, NPU_ERR_SEMAPHORE, "semaphore %s: no such engine", sem->name);
	return true;
}

/* Without an element, whatever its other dimensions are within reason. */
static bool empty(const struct npu_tensor *t)
{
	bool none = false;
	for (uint32_t i = 0; i < t->rank; i++) {
		if (t->shape[i] > NPU_DRAM_LIMIT)
			return false;
		none = none || t->shape[i] == 0;
	}
	return none;
}

static bool legal_tensor(const struct npu_tensor *t, struct npu_error *err)
{
	if (t->rank < 1 || t->rank > NPU_MAX_RANK)
		return npu_fail(err, NPU_ERR_VALUE, "tensor %s: %" PRIu32 " dimensions, must be 1 to %d", t->name,
				t->rank, NPU_MAX_RANK);
	if ((unsigned)t->dtype >= NPU_DTYPES || t->layout > NPU_LAYOUT_BLOCK32 || (unsigned)t->dir > NPU_TENSOR_TEMP)
		return npu_fail(err, NPU_ERR_VALUE, "tensor %s: no such type, layout or direction", t->name);
	if (t->layout == NPU_LAYOUT_ROW && t->shape[t->rank - 1] * npu_dtype_bits(t->dtype) % 8)
		return npu_fail(err, NPU_ERR_VALUE, "tensor %s: a row of %" PRIu64 " %s element%s is not whole bytes",
				t->name, t->shape[t->rank - 1], npu_dtype_name(t->dtype),
				t->shape[t->rank - 1] == 1 ? "" : "s");
	uint64_t bytes = npu_tensor_bytes(t);
	if (!bytes && !empty(t))
		return npu_fail(err, NPU_ERR_VALUE, "tensor %s: its size must be at most 1 TiB", t->name);
	if (t->bytes < bytes)
		return npu_fail(err, NPU_ERR_VALUE, "tensor %s: %s, but its shape needs %s", t->name,
				npu_bytes_text(t->bytes).text, npu_bytes_text(bytes).text);
	if (t->addr > NPU_DRAM_LIMIT || t->bytes > NPU_DRAM_LIMIT - t->addr)
		return npu_fail(err, NPU_ERR_BOUNDS,
				"tensor %s: %s from dram:0x%" PRIx64 " end behind the last address", t->name,
				npu_bytes_text(t->bytes).text, t->addr);
	if (t->seeded && (t->dir == NPU_TENSOR_OUT || t->dir == NPU_TENSOR_TEMP))
		return npu_fail(err, NPU_ERR_VALUE, "tensor %s: the program fills it: a seed is for inputs", t->name);
	if (t->seeded && t->seed > NPU_MAX_SEED)
		return npu_fail(err, NPU_ERR_VALUE, "tensor %s: its seed must be at most 2^63 - 1", t->name);
	return true;
}

static bool legal_buffer(const struct npu_program *program, const struct npu_buffer *b, struct npu_error *err)
{
	uint64_t offset = npu_local_offset(b->local);
	if (!b->bytes || offset + b->bytes > NPU_LOCAL_LIMIT)
		return npu_fail(err, NPU_ERR_BOUNDS, "buffer %s: %s from %s are not a range of local memory", b->name,
				npu_bytes_text(b->bytes).text, npu_local_text(b->local).text);
	if (b->first > b->end || b->end > program->ninsns)
		return npu_fail(err, NPU_ERR_VALUE,
				"buffer %s: alive for instructions %" PRIu32 "..%" PRIu32 " of %" PRIu32, b->name,
				b->first, b->end, program->ninsns);
	return true;
}

static bool legal_table(const struct npu_table *t, struct npu_error *err)
{
	if (t->addr > NPU_DRAM_LIMIT || 4 * (uint64_t)t->count > NPU_DRAM_LIMIT - t->addr)
		return npu_fail(err, NPU_ERR_BOUNDS,
				"table %s: %" PRIu32 " entries from dram:0x%" PRIx64 " end behind the last address",
				t->name, t->count, t->addr);
	return true;
}

static bool legal_page_event(const struct npu_program *program, uint32_t i, struct npu_error *err)
{
	const struct npu_page_event *e = &program->pages[i];
	if (e->insn > program->ninsns || (i && e->insn < program->pages[i - 1].insn))
		return npu_fail(err, NPU_ERR_VALUE,
				"page record %" PRIu32 ": at instruction %" PRIu32 " of %" PRIu32
				", and they must come in order",
				i, e->insn, program->ninsns);
	if (e->pool >= program->ntensors)
		return npu_fail(err, NPU_ERR_VALUE, "page record %" PRIu32 ": tensor %" PRIu32 " of %" PRIu32, i,
				e->pool, program->ntensors);
	if (e->state > NPU_PAGE_SHARED || (e->state != NPU_PAGE_OWNED && e->sequence))
		return npu_fail(err, NPU_ERR_VALUE,
				"page record %" PRIu32 ": free and shared pages belong to no sequence", i);
	return true;
}

/* Records of pages that there are, for pools of which that is known. */
static bool legal_page_numbers(const struct npu_program *program, struct npu_error *err)
{
	struct npu_pools pools;
	bool ok =
	    npu_pools_init(&pools, program) || npu_fail(err, NPU_ERR_MEMORY, "out of memory while checking a program");
	for (uint32_t i = 0; ok && i < program->npages; i++) {
		const struct npu_page_event *e = &program->pages[i];
		const struct npu_place *place = program->page_place ? &program->page_place[i] : NULL;
		bool placed = place && place->line && place->file < program->nfiles;
		uint64_t pages = npu_pools_pages(&pools, e->pool);
		if (pages && e->page >= pages)
			ok = npu_fail_at(err, NPU_ERR_BOUNDS, placed ? program->files[place->file] : NULL,
					 placed ? place->line : 0, 0,
					 "page %" PRIu32 " of %s does not exist: the pool has %s", e->page,
					 program->tensors[e->pool].name, npu_number_of(pages, "page").text);
	}
	npu_pools_fini(&pools);
	return ok;
}

static bool legal_parts(const struct npu_program *program, struct npu_error *err)
{
	if (program->nsems > NPU_MAX_SEMS)
		return npu_fail(err, NPU_ERR_SEMAPHORE, "%" PRIu32 " semaphores, at most %d", program->nsems,
				NPU_MAX_SEMS);
	if (!legal_all_names(program, err))
		return false;
	for (uint32_t i = 0; i < program->nsems; i++)
		if (!legal_sem(&program->sems[i], err))
			return false;
	for (uint32_t i = 0; i < program->ntensors; i++)
		if (!legal_tensor(&program->tensors[i], err))
			return false;
	for (uint32_t i = 0; i < program->nbuffers; i++)
		if (!legal_buffer(program, &program->buffers[i], err))
			return false;
	for (uint32_t i = 0; i < program->ntables; i++)
		if (!legal_table(&program->tables[i], err))
			return false;
	for (uint32_t i = 0; i < program->npages; i++)
		if (!legal_page_event(program, i, err))
			return false;
	return true;
}

/* Follows the brackets: `top` is the innermost open region, `opened` how many have been opened. */
struct brackets {
	const struct npu_program *program;
	uint32_t top;
	uint32_t opened;
};

/* Regions without instructions leave no trace but their number: one opens at the latest before its parent closes. */
static bool close_to(struct brackets *b, uint32_t region)
{
	const struct npu_region *regions = b->program->regions;
	while (b->top != region && b->top != NPU_NO_REGION) {
		if (b->opened < b->program->nregions && regions[b->opened].parent == b->top)
			b->top = b->opened++;
		else
			b->top = regions[b->top].parent;
	}
	return b->top == region;
}

static bool move_to(struct brackets *b, uint32_t region)
{
	while (b->opened < b->program->nregions && region != NPU_NO_REGION && b->opened <= region) {
		if (!close_to(b, b->program->regions[b->opened].parent))
			return false;
		b->top = b->opened++;
	}
	return close_to(b, region);
}

/* After the brackets have been followed: a parent comes before its children. */
static bool legal_depth(const struct npu_program *program, struct npu_error *err)
{
	for (uint32_t i = 0; i < program->nregions; i++) {
		unsigned depth = 0;
		for (uint32_t r = i; r != NPU_NO_REGION; r = program->regions[r].parent)
			if (++depth > NPU_MAX_DEPTH)
				return npu_fail(err, NPU_ERR_VALUE,
						"region %" PRIu32 " lies too deep: regions nest at most %d deep", i,
						NPU_MAX_DEPTH);
	}
	return true;
}

static bool legal_regions(const struct npu_program *program, struct npu_error *err)
{
	struct brackets b = { program, NPU_NO_REGION, 0 };
	for (uint32_t i = 0; i < program->ninsns; i++) {
		uint32_t region = program->region[i];
		if ((region >= program->nregions && region != NPU_NO_REGION) || !move_to(&b, region))
			return npu_legal_refuse(&(struct npu_legal){ program, err, i }, NPU_ERR_VALUE,
						"its region is not open: regions must nest like brackets");
	}
	if (b.opened < program->nregions && !move_to(&b, program->nregions - 1))
		return npu_fail(err, NPU_ERR_VALUE, "regions must nest like brackets");
	return legal_depth(program, err);
}

static bool legal_place(const struct npu_program *program, const struct npu_place *place, uint32_t ncalls,
			const char *what, uint32_t number, struct npu_error *err)
{
	if (place->file >= program->nfiles)
		return npu_fail(err, NPU_ERR_VALUE, "%s%" PRIu32 " was written in file %" PRIu32 " of %" PRIu32, what,
				number, place->file, program->nfiles);
	return place->call <= ncalls ||
	       npu_fail(err, NPU_ERR_VALUE, "%s%" PRIu32 " stands in use %" PRIu32 " of a macro, of %" PRIu32, what,
			number, place->call, ncalls);
}

/* Uses of macros stand in those before them, not too deep. */
static bool legal_calls(const struct npu_program *program, struct npu_error *err)
{
	uint8_t *depth = calloc(program->ncalls + (size_t)1, sizeof *depth);
	bool ok = depth || npu_fail(err, NPU_ERR_MEMORY, "out of memory while checking a program");
	for (uint32_t i = 0; ok && i < program->ncalls; i++) {
		const struct npu_call *call = &program->calls[i];
		ok = legal_length(call->name, NPU_MAX_NAME, "macro", err) &&
		     legal_place(program, &call->at, i, "use of a macro ", i + 1, err);
		depth[i + 1] = ok ? depth[call->at.call] + 1 : 0;
		if (depth[i + 1] > NPU_MAX_DEPTH)
			ok = npu_fail(err, NPU_ERR_VALUE, "macros are used in each other more than %d deep",
				      NPU_MAX_DEPTH);
	}
	free(depth);
	return ok;
}

static bool legal_places(const struct npu_program *program, struct npu_error *err)
{
	for (uint32_t i = 0; i < program->ninsns; i++)
		if (!legal_place(program, &program->place[i], program->ncalls, "#", i, err))
			return false;
	for (uint32_t i = 0; program->page_place && i < program->npages; i++)
		if (!legal_place(program, &program->page_place[i], program->ncalls, "page record ", i, err))
			return false;
	return legal_calls(program, err);
}

/* Where the engine that owns one side of a semaphore first used it, for the message. */
static uint32_t first_use(const struct npu_program *program, uint16_t sem, bool post)
{
	for (uint32_t i = 0; i < program->ninsns; i++)
		for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++) {
			const struct npu_sem_ref *ref =
			    post ? &program->insns[i].post[slot] : &program->insns[i].wait[slot];
			if (ref->count && ref->sem == sem)
				return i;
		}
	return 0;
}

static bool refuse_engine(const struct npu_legal *c, uint16_t number, bool post)
{
	const struct npu_sem *sem = &c->program->sems[number];
	enum npu_engine owner = post ? sem->poster : sem->waiter;
	enum npu_engine engine = npu_op_engine(c->program->insns[c->insn].op);
	uint32_t other = first_use(c->program, number, post);
	const char *verb = post ? "posts" : "waits for";
	if (owner == NPU_ENGINES || other == c->insn)
		return npu_legal_refuse(c, NPU_ERR_SEMAPHORE, "the %s engine %s %s, which is declared for %s",
					npu_engine_name(engine), verb, sem->name, npu_engine_name(owner));
	char place[300], where[320] = "";
	if (c->program->place[other].line)
		snprintf(where, sizeof where, ", %s", npu_insn_place(c->program, other, place, sizeof place));
	return npu_legal_refuse(c, NPU_ERR_SEMAPHORE,
				"the %s engine %s %s, but so does the %s engine (#%" PRIu32
				"%s); a semaphore has one %s engine",
				npu_engine_name(engine), verb, sem->name, npu_engine_name(owner), other, where,
				post ? "posting" : "waiting");
}

static bool legal_ref(const struct npu_legal *c, const struct npu_sem_ref *ref, bool post)
{
	const char *verb = post ? "post" : "wait";
	if (!ref->count)
		return ref->sem == 0 ||
		       npu_legal_refuse(c, NPU_ERR_SEMAPHORE, "%s of semaphore %u with count 0", verb, ref->sem);
	if (ref->sem >= c->program->nsems)
		return npu_legal_refuse(c, NPU_ERR_SEMAPHORE, "%s of semaphore %u, the program has %" PRIu32, verb,
					ref->sem, c->program->nsems);
	const struct npu_sem *sem = &c->program->sems[ref->sem];
	if (ref->count > sem->max)
		return npu_legal_refuse(c, NPU_ERR_SEMAPHORE, "%s %s:%u: above its max of %" PRIu32, verb, sem->name,
					ref->count, sem->max);
	if ((post ? sem->poster : sem->waiter) != npu_op_engine(c->program->insns[c->insn].op))
		return refuse_engine(c, ref->sem, post);
	return true;
}

static bool legal_refs(const struct npu_legal *c, const struct npu_sem_ref refs[NPU_SYNC_SLOTS], bool post)
{
	const char *verb = post ? "post" : "wait";
	if (!legal_ref(c, &refs[0], post) || !legal_ref(c, &refs[1], post))
		return false;
	if (refs[1].count && !refs[0].count)
		return npu_legal_refuse(c, NPU_ERR_SEMAPHORE, "%s slot 1 is used and slot 0 is not", verb);
	if (refs[1].count && refs[0].sem == refs[1].sem)
		return npu_legal_refuse(c, NPU_ERR_SEMAPHORE, "two %ss of %s: write one with their sum, %s:%u", verb,
					c->program->sems[refs[0].sem].name, c->program->sems[refs[0].sem].name,
					refs[0].count + refs[1].count);
	return true;
}

static bool legal_insn(const struct npu_legal *c)
{
	const struct npu_insn *insn = &c->program->insns[c->insn];
	if (!npu_op_known(insn->op))
		return npu_legal_refuse(c, NPU_ERR_OPERAND, "opcode 0x%02x is none of the instruction set", insn->op);
	return legal_refs(c, insn->wait, false) && legal_refs(c, insn->post, true) && npu_legal_operands(c);
}

/* Paged accesses are the only ones whose end is not known before the block tables are read. */
static bool legal_reach(const struct npu_program *program, const struct npu_reach *dram, struct npu_error *err)
{
	if (dram->end <= NPU_DRAM_LIMIT)
		return true;
	return npu_legal_refuse(&(struct npu_legal){ program, err, dram->index }, NPU_ERR_BOUNDS,
				"a page of its table lies behind the last address of DRAM, 0x%" PRIx64,
				NPU_DRAM_LIMIT - 1);
}

bool npu_program_legal(const struct npu_program *program, struct npu_reach reach[NPU_SPACES], struct npu_error *err)
{
	if (!legal_places(program, err) || !legal_parts(program, err))
		return false;
	for (uint32_t i = 0; i < program->ninsns; i++)
		if (!legal_insn(&(struct npu_legal){ program, err, i }))
			return false;
	if (!legal_regions(program, err) || (program->npages && !legal_page_numbers(program, err)))
		return false;
	if (!npu_program_reach(program, reach))
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory while checking a program");
	return legal_reach(program, &reach[NPU_SPACE_DRAM], err);
}

bool npu_program_check(const struct npu_program *program, struct npu_error *err)
{
	struct npu_reach reach[NPU_SPACES];
	return npu_program_legal(program, reach, err);
}
