/* SPDX-License-Identifier: Apache-2.0 */
/* What can be asked of a finished program: its hash, its needs against a machine, where an instruction was written. */
#include "isa/program.h"

#include "isa/arena.h"
#include "isa/plain.h"
#include "isa/reach.h"
#include "isa/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void npu_program_free(struct npu_program *program)
{
	if (program)
		npu_arena_free(program->arena);
}

/* Leaves a name that is fit to be shown, as nearly all are; false when out of memory. */
static bool show(void *arena, const char **name, uint64_t longest)
{
	const char *c = *name;
	while (*c >= 0x20 && *c < 0x7f)
		c++;
	if (!*c && (uint64_t)(c - *name) <= longest)
		return true;
	char text[NPU_MAX_PATH + 1];
	uint64_t n = npu_plain(*name, strlen(*name), text, longest + 1);
	if (strcmp(*name, text) == 0)
		return true;
	*name = npu_arena_text(arena, text, n);
	return *name != NULL;
}

bool npu_program_show_names(struct npu_program *p)
{
	/* Const for those who read a program; the memory is the arena's. */
	struct npu_sem *sems = (struct npu_sem *)p->sems;
	struct npu_tensor *tensors = (struct npu_tensor *)p->tensors;
	struct npu_buffer *buffers = (struct npu_buffer *)p->buffers;
	struct npu_table *tables = (struct npu_table *)p->tables;
	struct npu_region *regions = (struct npu_region *)p->regions;
	const char **files = (const char **)p->files;
	struct npu_call *calls = (struct npu_call *)p->calls;
	bool ok = show(p->arena, &p->name, NPU_MAX_NAME);
	for (uint32_t i = 0; ok && i < p->nsems; i++)
		ok = show(p->arena, &sems[i].name, NPU_MAX_NAME);
	for (uint32_t i = 0; ok && i < p->ntensors; i++)
		ok = show(p->arena, &tensors[i].name, NPU_MAX_NAME);
	for (uint32_t i = 0; ok && i < p->nbuffers; i++)
		ok = show(p->arena, &buffers[i].name, NPU_MAX_NAME);
	for (uint32_t i = 0; ok && i < p->ntables; i++)
		ok = show(p->arena, &tables[i].name, NPU_MAX_NAME);
	for (uint32_t i = 0; ok && i < p->nregions; i++)
		ok = show(p->arena, &regions[i].name, NPU_MAX_NAME);
	for (uint32_t i = 0; ok && i < p->nfiles; i++)
		ok = show(p->arena, &files[i], NPU_MAX_PATH);
	for (uint32_t i = 0; ok && i < p->ncalls; i++)
		ok = show(p->arena, &calls[i].name, NPU_MAX_NAME);
	return ok;
}

uint32_t npu_program_ninsns(const struct npu_program *program)
{
	return program->ninsns;
}

struct npu_limits npu_program_needs(const struct npu_program *program)
{
	return program->needs;
}

uint64_t npu_tensor_bytes(const struct npu_tensor *t)
{
	uint64_t outer = 1;
	if (t->rank < 1 || t->rank > NPU_MAX_RANK)
		return 0;
	for (uint32_t i = 0; i < t->rank; i++) {
		if (t->shape[i] < 1 || t->shape[i] > NPU_DRAM_LIMIT)
			return 0;
		if (i + 2 < t->rank && __builtin_mul_overflow(outer, t->shape[i], &outer))
			return 0;
	}
	struct npu_matrix m = { t->rank > 1 ? t->shape[t->rank - 2] : 1, t->shape[t->rank - 1], t->dtype, t->layout,
				0 };
	uint64_t inner, strip = npu_matrix_strip_bytes(&m);
	if (__builtin_mul_overflow(strip, npu_matrix_strips(&m), &inner) ||
	    __builtin_mul_overflow(inner, outer, &inner))
		return 0;
	return inner <= NPU_DRAM_LIMIT ? inner : 0;
}

struct shortage {
	const char *memory;
	uint64_t needs;
	uint64_t has;
	enum npu_space space;
};

static void tell_shortage(const struct npu_program *program, const struct shortage *s, const struct npu_reach *reach,
			  struct npu_error *err)
{
	char who[128], line[512];
	const char *prefix = s->space == NPU_SPACE_SRAM ? "sram" : s->space == NPU_SPACE_ACCUM ? "acc" : "dram";
	snprintf(line, sizeof line,
		 "%s needs %s of %s, the hardware has %s: %s too little; %s reaches farthest, %s:0x%" PRIx64
		 " to 0x%" PRIx64,
		 program->name[0] ? program->name : "the program", npu_bytes_text(s->needs).text, s->memory,
		 npu_bytes_text(s->has).text, npu_bytes_text(s->needs - s->has).text,
		 npu_reach_text(program, reach, who, sizeof who), prefix, reach->begin, reach->end);
	if (err->code == NPU_ERR_NONE)
		npu_fail(err, NPU_ERR_FIT, "%s", line);
	else
		npu_error_note(err, "%s", line);
}

bool npu_program_fits(const struct npu_program *program, const struct npu_limits *limits, struct npu_error *err)
{
	const struct shortage all[] = {
		{ "SRAM", program->needs.sram_bytes, limits->sram_bytes, NPU_SPACE_SRAM },
		{ "accumulators", program->needs.accum_bytes, limits->accum_bytes, NPU_SPACE_ACCUM },
		{ "DRAM", program->needs.dram_bytes, limits->dram_bytes, NPU_SPACE_DRAM },
	};
	struct npu_reach reach[NPU_SPACES];
	struct npu_error found = { .code = NPU_ERR_NONE };
	for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) {
		if (all[i].needs <= all[i].has)
			continue;
		if (found.code == NPU_ERR_NONE && !npu_program_reach(program, reach))
			return npu_fail(err, NPU_ERR_MEMORY,
					"out of memory while checking a program against the hardware");
		tell_shortage(program, &all[i], &reach[all[i].space], &found);
	}
	if (found.code == NPU_ERR_NONE)
		return true;
	if (err)
		*err = found;
	return false;
}

char *npu_insn_place(const struct npu_program *program, uint32_t insn, char *out, uint64_t size)
{
	const struct npu_place *place = &program->place[insn];
	if (place->line)
		snprintf(out, size, "%s:%" PRIu32, program->files[place->file], place->line);
	else
		snprintf(out, size, "#%" PRIu32, insn);
	return out;
}
