/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the parts of a program in any order and hands them over as one struct npu_program. */
#include "isa/arena.h"
#include "isa/program.h"
#include "isa/seal.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_CAPACITY = 16 };
#define OPEN_END UINT32_MAX

/* What grows; counts are in npu_assembly.program. */
struct arrays {
	struct npu_insn *insns;
	uint32_t *region;
	struct npu_place *place;
	struct npu_sem *sems;
	struct npu_tensor *tensors;
	struct npu_buffer *buffers;
	struct npu_table *tables;
	struct npu_page_event *pages;
	struct npu_place *page_place;
	struct npu_region *regions;
	const char **files;
	struct npu_call *calls;
};

struct npu_assembly {
	struct npu_arena *arena; /* names, entries of tables */
	struct npu_program program;
	struct arrays arrays;
	uint32_t open_region;
	struct npu_place here;
	uint32_t *call_slots; /* a hash table of numbers of calls, 0: free; at most half full */
	uint32_t ncall_slots;
	bool out_of_memory;
	bool region_underflow;
};

/* Room for one more member after `n`: capacity doubles whenever n reaches a power of two. False: out of memory. */
static bool grow(struct npu_assembly *assembly, void *array, uint32_t n, uint64_t size)
{
	void *old, *grown;
	if (n >= LEAST_CAPACITY ? (n & (n - 1)) != 0 : n != 0)
		return true;
	memcpy(&old, array, sizeof old);
	uint64_t capacity = n < LEAST_CAPACITY ? LEAST_CAPACITY : (uint64_t)n * 2;
	grown = capacity > UINT32_MAX ? NULL : realloc(old, capacity * size);
	if (!grown) {
		assembly->out_of_memory = true;
		return false;
	}
	memcpy(array, &grown, sizeof grown);
	return true;
}

static const char *copy_text(struct npu_assembly *assembly, const char *text)
{
	const char *copy = npu_arena_text(assembly->arena, text ? text : "", text ? strlen(text) : 0);
	if (!copy)
		assembly->out_of_memory = true;
	return copy ? copy : "";
}

struct npu_assembly *npu_assembly_new(const char *name)
{
	struct npu_assembly *assembly = calloc(1, sizeof *assembly);
	if (!assembly)
		return NULL;
	assembly->arena = npu_arena_new();
	if (!assembly->arena) {
		free(assembly);
		return NULL;
	}
	assembly->open_region = NPU_NO_REGION;
	assembly->program.name = copy_text(assembly, name);
	npu_assembly_place(assembly, "", 0);
	return assembly;
}

void npu_assembly_free(struct npu_assembly *assembly)
{
	if (!assembly)
		return;
	struct arrays *arrays = &assembly->arrays;
	free(arrays->insns);
	free(arrays->region);
	free(arrays->place);
	free(arrays->sems);
	free(arrays->tensors);
	free(arrays->buffers);
	free(arrays->tables);
	free(arrays->pages);
	free(arrays->page_place);
	free(arrays->regions);
	free(arrays->files);
	free(arrays->calls);
	free(assembly->call_slots);
	npu_arena_free(assembly->arena);
	free(assembly);
}

bool npu_assembly_out_of_memory(const struct npu_assembly *assembly)
{
	return assembly->out_of_memory;
}

uint32_t npu_assembly_sem(struct npu_assembly *assembly, const char *name, uint32_t initial, uint32_t max)
{
	uint32_t n = assembly->program.nsems;
	if (!grow(assembly, &assembly->arrays.sems, n, sizeof *assembly->arrays.sems))
		return 0;
	assembly->arrays.sems[n] = (struct npu_sem){ copy_text(assembly, name), initial, max ? max : NPU_SEM_MAX_COUNT,
						     NPU_ENGINES, NPU_ENGINES };
	return assembly->program.nsems++;
}

uint32_t npu_assembly_tensor(struct npu_assembly *assembly, const struct npu_tensor *tensor)
{
	uint32_t n = assembly->program.ntensors;
	if (!grow(assembly, &assembly->arrays.tensors, n, sizeof *assembly->arrays.tensors))
		return 0;
	struct npu_tensor *copy = &assembly->arrays.tensors[n];
	*copy = *tensor;
	copy->name = copy_text(assembly, tensor->name);
	if (!copy->bytes)
		copy->bytes = npu_tensor_bytes(copy);
	return assembly->program.ntensors++;
}

uint32_t npu_assembly_buffer(struct npu_assembly *assembly, const struct npu_buffer *buffer)
{
	uint32_t n = assembly->program.nbuffers;
	if (!grow(assembly, &assembly->arrays.buffers, n, sizeof *assembly->arrays.buffers))
		return 0;
	struct npu_buffer *copy = &assembly->arrays.buffers[n];
	*copy = *buffer;
	copy->name = copy_text(assembly, buffer->name);
	copy->end = copy->end ? copy->end : OPEN_END;
	return assembly->program.nbuffers++;
}

void npu_assembly_buffer_end(struct npu_assembly *assembly, uint32_t buffer)
{
	if (buffer < assembly->program.nbuffers)
		assembly->arrays.buffers[buffer].end = assembly->program.ninsns;
}

uint32_t npu_assembly_table(struct npu_assembly *assembly, const struct npu_table *table)
{
	uint32_t n = assembly->program.ntables;
	if (!grow(assembly, &assembly->arrays.tables, n, sizeof *assembly->arrays.tables))
		return 0;
	uint32_t *entries = npu_arena_alloc(assembly->arena, table->count, sizeof *entries);
	if (!entries) {
		assembly->out_of_memory = true;
		return 0;
	}
	if (table->count)
		memcpy(entries, table->entries, table->count * sizeof *entries);
	assembly->arrays.tables[n] = *table;
	assembly->arrays.tables[n].name = copy_text(assembly, table->name);
	assembly->arrays.tables[n].entries = entries;
	return assembly->program.ntables++;
}

void npu_assembly_page(struct npu_assembly *assembly, const struct npu_page_event *event)
{
	uint32_t n = assembly->program.npages;
	if (!grow(assembly, &assembly->arrays.pages, n, sizeof *assembly->arrays.pages) ||
	    !grow(assembly, &assembly->arrays.page_place, n, sizeof *assembly->arrays.page_place))
		return;
	assembly->arrays.page_place[n] = assembly->here;
	assembly->arrays.pages[n] = *event;
	assembly->arrays.pages[n].insn = assembly->program.ninsns;
	assembly->program.npages++;
}

uint32_t npu_assembly_region_begin(struct npu_assembly *assembly, const char *name)
{
	uint32_t n = assembly->program.nregions;
	if (!grow(assembly, &assembly->arrays.regions, n, sizeof *assembly->arrays.regions))
		return NPU_NO_REGION;
	assembly->arrays.regions[n] = (struct npu_region){ copy_text(assembly, name), assembly->open_region };
	assembly->program.nregions++;
	return assembly->open_region = n;
}

void npu_assembly_region_end(struct npu_assembly *assembly)
{
	if (assembly->open_region == NPU_NO_REGION)
		assembly->region_underflow = true;
	else
		assembly->open_region = assembly->arrays.regions[assembly->open_region].parent;
}

/* The number of a file; one that is new gets the next. 0 when out of memory. */
static uint32_t file_of(struct npu_assembly *assembly, const char *file)
{
	uint32_t n = assembly->program.nfiles;
	file = file ? file : "";
	if (n > 0 && strcmp(assembly->arrays.files[assembly->here.file], file) == 0)
		return assembly->here.file;
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(assembly->arrays.files[i], file) == 0)
			return i;
	if (!grow(assembly, &assembly->arrays.files, n, sizeof *assembly->arrays.files))
		return 0;
	assembly->arrays.files[n] = copy_text(assembly, file);
	return assembly->program.nfiles++;
}

void npu_assembly_place(struct npu_assembly *assembly, const char *file, uint32_t line)
{
	assembly->here = (struct npu_place){ file_of(assembly, file), line, 0 };
}

void npu_assembly_inside(struct npu_assembly *assembly, uint32_t call)
{
	assembly->here.call = call <= assembly->program.ncalls ? call : 0;
}

static uint32_t *call_slot(const struct npu_assembly *assembly, const struct npu_call *call)
{
	uint64_t hash = (uint64_t)call->at.line << 32 ^ (uint64_t)call->at.call << 8 ^ call->at.file;
	for (const char *c = call->name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
	hash = (hash ^ hash >> 29) * 0x9e3779b97f4a7c15u;
	for (uint32_t at = (uint32_t)(hash >> 32);; at++) {
		uint32_t *slot = &assembly->call_slots[at & (assembly->ncall_slots - 1)];
		const struct npu_call *there = *slot ? &assembly->arrays.calls[*slot - 1] : NULL;
		if (!there || (there->at.file == call->at.file && there->at.line == call->at.line &&
			       there->at.call == call->at.call && strcmp(there->name, call->name) == 0))
			return slot;
	}
}

static bool grow_call_slots(struct npu_assembly *assembly)
{
	if (2 * ((uint64_t)assembly->program.ncalls + 1) <= assembly->ncall_slots)
		return true;
	uint64_t n = assembly->ncall_slots ? 2 * (uint64_t)assembly->ncall_slots : 64;
	uint32_t *slots = n > UINT32_MAX ? NULL : calloc(n, sizeof *slots);
	if (!slots) {
		assembly->out_of_memory = true;
		return false;
	}
	free(assembly->call_slots);
	assembly->call_slots = slots;
	assembly->ncall_slots = (uint32_t)n;
	for (uint32_t i = 0; i < assembly->program.ncalls; i++)
		*call_slot(assembly, &assembly->arrays.calls[i]) = i + 1;
	return true;
}

uint32_t npu_assembly_call(struct npu_assembly *assembly, const char *name, const char *file, uint32_t line,
			   uint32_t around)
{
	uint32_t n = assembly->program.ncalls;
	struct npu_call call = { name, { file_of(assembly, file), line, around } };
	if (!grow_call_slots(assembly))
		return 0;
	uint32_t *slot = call_slot(assembly, &call);
	if (*slot)
		return *slot;
	if (!grow(assembly, &assembly->arrays.calls, n, sizeof *assembly->arrays.calls))
		return 0;
	call.name = copy_text(assembly, name);
	assembly->arrays.calls[n] = call;
	return *slot = ++assembly->program.ncalls;
}

/* One spelling of each meaning: used slots first, unused ones all zero. */
static void normalise(struct npu_sem_ref refs[NPU_SYNC_SLOTS])
{
	struct npu_sem_ref used[NPU_SYNC_SLOTS] = { 0 };
	unsigned n = 0;
	for (unsigned i = 0; i < NPU_SYNC_SLOTS; i++)
		if (refs[i].count)
			used[n++] = refs[i];
	memcpy(refs, used, sizeof used);
}

uint32_t npu_assembly_insn(struct npu_assembly *assembly, const struct npu_insn *insn)
{
	uint32_t n = assembly->program.ninsns;
	if (!grow(assembly, &assembly->arrays.insns, n, sizeof *assembly->arrays.insns) ||
	    !grow(assembly, &assembly->arrays.region, n, sizeof *assembly->arrays.region) ||
	    !grow(assembly, &assembly->arrays.place, n, sizeof *assembly->arrays.place))
		return 0;
	assembly->arrays.insns[n] = *insn;
	normalise(assembly->arrays.insns[n].wait);
	normalise(assembly->arrays.insns[n].post);
	assembly->arrays.region[n] = assembly->open_region;
	assembly->arrays.place[n] = assembly->here;
	return assembly->program.ninsns++;
}

static void close_buffers(struct npu_assembly *assembly)
{
	for (uint32_t i = 0; i < assembly->program.nbuffers; i++)
		if (assembly->arrays.buffers[i].end == OPEN_END)
			assembly->arrays.buffers[i].end = assembly->program.ninsns;
}

static void point_at(struct npu_program *program, const struct arrays *arrays)
{
	program->insns = arrays->insns;
	program->region = arrays->region;
	program->place = arrays->place;
	program->sems = arrays->sems;
	program->tensors = arrays->tensors;
	program->buffers = arrays->buffers;
	program->tables = arrays->tables;
	program->pages = arrays->pages;
	program->page_place = arrays->page_place;
	program->regions = arrays->regions;
	program->files = arrays->files;
	program->calls = arrays->calls;
}

/* Makes a program of everything, without a copy; NULL when out of memory. */
static struct npu_program *hand_over(struct npu_assembly *assembly)
{
	struct npu_program *program = npu_arena_alloc(assembly->arena, 1, sizeof *program);
	const struct arrays arrays = assembly->arrays;
	void *const blocks[] = { arrays.insns,      arrays.region,  arrays.place,  arrays.sems,
				 arrays.tensors,    arrays.buffers, arrays.tables, arrays.pages,
				 arrays.page_place, arrays.regions, arrays.files,  arrays.calls };
	bool ok = program != NULL;
	if (!ok)
		return NULL;
	assembly->arrays = (struct arrays){ 0 };
	for (unsigned i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
		ok &= npu_arena_adopt(assembly->arena, blocks[i]);
	if (!ok)
		return NULL;
	*program = assembly->program;
	point_at(program, &arrays);
	program->arena = assembly->arena;
	assembly->arena = NULL;
	return program;
}

struct npu_program *npu_assembly_finish(struct npu_assembly *assembly, struct npu_error *err)
{
	bool underflow = assembly->region_underflow, out_of_memory = assembly->out_of_memory;
	struct npu_program *program = NULL;
	if (!out_of_memory && !underflow) {
		npu_seal_engines(assembly->arrays.sems, assembly->program.nsems, assembly->arrays.insns,
				 assembly->program.ninsns);
		close_buffers(assembly);
		program = hand_over(assembly);
		out_of_memory = program == NULL;
	}
	npu_assembly_free(assembly);
	if (out_of_memory) {
		npu_fail(err, NPU_ERR_MEMORY, "out of memory while assembling a program");
		return NULL;
	}
	if (underflow) {
		npu_fail(err, NPU_ERR_VALUE, "a region is closed that was never opened");
		return NULL;
	}
	if (!npu_program_seal(program, err)) {
		npu_program_free(program);
		return NULL;
	}
	return program;
}
