/* SPDX-License-Identifier: Apache-2.0 */
/* Findings: the table of kinds, collecting them, and how messages call things. */
#include "isa/check/checker.h"
#include "isa/units.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *id;
	enum npu_check_severity severity;
	const char *doc;
} kinds[] = {
#define CHECK(KIND, SEVERITY, id, doc) { id, NPU_CHECK_##SEVERITY, doc },
#include "isa/check.def"
};

const char *npu_check_id(enum npu_check_kind kind)
{
	return kinds[kind].id;
}

const char *npu_check_doc(enum npu_check_kind kind)
{
	return kinds[kind].doc;
}

enum npu_check_severity npu_check_severity_of(enum npu_check_kind kind)
{
	return kinds[kind].severity;
}

const char *npu_check_severity_name(enum npu_check_severity severity)
{
	switch (severity) {
	case NPU_CHECK_NOTE:
		return "note";
	case NPU_CHECK_WARNING:
		return "warning";
	case NPU_CHECK_ERROR:
		break;
	}
	return "error";
}

/* ---- collecting ---- */

struct npu_finding_slot {
	struct npu_finding_key key;
	uint32_t finding; /* its index + 1; 0: the slot is free */
};

static uint64_t hash_of(const struct npu_finding_key *key)
{
	uint64_t hash = (uint64_t)key->kind;
	for (unsigned i = 0; i < sizeof key->words / sizeof key->words[0]; i++) {
		hash = (hash ^ key->words[i]) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 31;
	}
	return hash;
}

static bool same_key(const struct npu_finding_key *a, const struct npu_finding_key *b)
{
	return a->kind == b->kind && memcmp(a->words, b->words, sizeof a->words) == 0;
}

static struct npu_finding_slot *slot_of(const struct npu_checker *c, const struct npu_finding_key *key)
{
	uint32_t at = (uint32_t)hash_of(key) & (c->nslots - 1);
	while (c->slots[at].finding && !same_key(&c->slots[at].key, key))
		at = (at + 1) & (c->nslots - 1);
	return &c->slots[at];
}

/* At most half full, so that looking for a key ends soon. */
static bool grow_slots(struct npu_checker *c)
{
	struct npu_finding_slot *old = c->slots;
	uint32_t nold = c->nslots;
	if (2 * (uint64_t)c->nfindings < nold)
		return true;
	c->nslots = nold ? 2 * nold : 64;
	c->slots = calloc(c->nslots, sizeof *c->slots);
	if (!c->slots) {
		c->slots = old;
		c->nslots = nold;
		return false;
	}
	for (uint32_t i = 0; i < nold; i++)
		if (old[i].finding)
			*slot_of(c, &old[i].key) = old[i];
	free(old);
	return true;
}

static bool grow_findings(struct npu_checker *c)
{
	if (c->nfindings < c->capacity)
		return true;
	uint32_t capacity = c->capacity ? 2 * c->capacity : 16;
	struct npu_finding *grown = realloc(c->findings, capacity * sizeof *grown);
	if (!grown)
		return false;
	c->findings = grown;
	c->capacity = capacity;
	return true;
}

uint32_t npu_checker_most(const struct npu_checker *c)
{
	return c->options.all ? NPU_CHECK_MOST_OF_ALL : NPU_CHECK_MOST;
}

struct npu_finding *npu_checker_add(struct npu_checker *c, const struct npu_finding_key *key,
				    const struct npu_finding *like, bool *is_new)
{
	*is_new = false;
	if (!grow_slots(c) || !grow_findings(c)) {
		c->out_of_memory = true;
		return NULL;
	}
	struct npu_finding_slot *slot = slot_of(c, key);
	if (slot->finding && !c->options.all) {
		c->findings[slot->finding - 1].count++;
		return &c->findings[slot->finding - 1];
	}
	if (c->nkind[key->kind] == npu_checker_most(c)) {
		c->untold++;
		return NULL;
	}
	c->nkind[key->kind]++;
	*is_new = true;
	struct npu_finding *finding = &c->findings[c->nfindings++];
	*slot = (struct npu_finding_slot){ *key, c->nfindings };
	*finding = *like;
	finding->kind = key->kind;
	finding->count = 1;
	finding->text = finding->notes = "";
	return finding;
}

const char *npu_checker_text(struct npu_checker *c, const char *format, ...)
{
	char text[2048];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	const char *copy = npu_arena_text(c->arena, text, strlen(text));
	if (!copy)
		c->out_of_memory = true;
	return copy ? copy : "";
}

/* ---- lives ---- */

struct life {
	uint32_t first, buffer;
};

static int by_first(const void *a, const void *b)
{
	const struct life *x = a, *y = b;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->buffer < y->buffer ? -1 : 1;
}

uint32_t *npu_checker_lives(const struct npu_program *program)
{
	struct life *lives = calloc(program->nbuffers + (uint64_t)1, sizeof *lives);
	uint32_t *buffers = calloc(program->nbuffers + (uint64_t)1, sizeof *buffers);
	for (uint32_t i = 0; lives && i < program->nbuffers; i++)
		lives[i] = (struct life){ program->buffers[i].first, i };
	if (lives)
		qsort(lives, program->nbuffers, sizeof *lives, by_first);
	for (uint32_t i = 0; lives && buffers && i < program->nbuffers; i++)
		buffers[i] = lives[i].buffer;
	if (!lives) {
		free(buffers);
		buffers = NULL;
	}
	free(lives);
	return buffers;
}

/* ---- names ---- */

uint64_t npu_checker_line(const struct npu_checker *c, uint32_t insn)
{
	const struct npu_place *place = &c->program->place[insn];
	return place->line ? (uint64_t)place->file << 32 | place->line : (uint64_t)1 << 63 | insn;
}

struct npu_check_name npu_check_insn_name(const struct npu_checker *c, uint32_t insn)
{
	struct npu_check_name name;
	snprintf(name.text, sizeof name.text, "#%" PRIu32 " %s", insn, npu_op_mnemonic(c->program->insns[insn].op));
	return name;
}

struct npu_check_name npu_check_line_name(const struct npu_checker *c, uint32_t insn, uint32_t here)
{
	struct npu_check_name name;
	const struct npu_place *place = &c->program->place[insn], *other = &c->program->place[here];
	if (!place->line)
		return npu_check_insn_name(c, insn);
	if (other->line && other->file == place->file)
		snprintf(name.text, sizeof name.text, "line %" PRIu32, place->line);
	else
		npu_insn_place(c->program, insn, name.text, sizeof name.text);
	return name;
}

const char *npu_space_name(enum npu_space space)
{
	switch (space) {
	case NPU_SPACE_SRAM:
		return "SRAM";
	case NPU_SPACE_ACCUM:
		return "accumulators";
	case NPU_SPACE_DRAM:
		break;
	}
	return "DRAM";
}

struct npu_check_name npu_check_bytes_name(const struct npu_check_bytes *b)
{
	struct npu_check_name name;
	const char *gaps = b->bytes < b->last - b->first + 1 ? " of them" : "";
	snprintf(name.text, sizeof name.text, "%s 0x%" PRIx64 "..0x%" PRIx64 " (%s byte%s%s)", npu_space_name(b->space),
		 b->first, b->last, npu_count_text(b->bytes).text, b->bytes == 1 ? "" : "s", gaps);
	return name;
}

struct npu_check_name npu_check_range_name(const struct npu_checker *c, const struct npu_range *r)
{
	struct npu_check_name name;
	const struct npu_table *table;
	if (r->entry == NPU_RANGE_NO_PAGE) {
		snprintf(name.text, sizeof name.text, "%s", npu_range_operand(c->program, r));
		return name;
	}
	table = &c->program->tables[c->program->insns[r->insn].paged.table];
	snprintf(name.text, sizeof name.text, "entry %" PRIu32 " of table %s, page %" PRIu32, r->entry, table->name,
		 table->entries[r->entry]);
	return name;
}

struct npu_finding npu_check_about(const struct npu_checker *c, const struct npu_range *r)
{
	return (struct npu_finding){
		.nsites = 1,
		.site = { { r->insn, npu_range_operand(c->program, r), r->write ? "writes" : "reads" } },
		.sem = NPU_CHECK_NOBODY,
	};
}

static const char *tensor_at(const struct npu_program *program, uint64_t at)
{
	for (uint32_t i = 0; i < program->ntensors; i++)
		if (at - program->tensors[i].addr < program->tensors[i].bytes && at >= program->tensors[i].addr)
			return program->tensors[i].name;
	for (uint32_t i = 0; i < program->ntables; i++)
		if (at - program->tables[i].addr < 4 * (uint64_t)program->tables[i].count &&
		    at >= program->tables[i].addr)
			return program->tables[i].name;
	return "";
}

const char *npu_check_holder(const struct npu_program *program, uint32_t insn, enum npu_space space, uint64_t at)
{
	if (space == NPU_SPACE_DRAM)
		return tensor_at(program, at);
	for (uint32_t i = 0; i < program->nbuffers; i++) {
		const struct npu_buffer *b = &program->buffers[i];
		uint64_t from = npu_local_offset(b->local);
		if (npu_is_acc(b->local) == (space == NPU_SPACE_ACCUM) && b->first <= insn && insn < b->end &&
		    from <= at && at < from + b->bytes)
			return b->name;
	}
	return "";
}
