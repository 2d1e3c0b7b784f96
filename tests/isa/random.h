/* SPDX-License-Identifier: Apache-2.0 */
/* Random legal instructions and programs for property tests, drawn from the tables so that a new instruction is tested
 * the day it exists. Deterministic: the seed is everything. */
#ifndef NPU_TESTS_ISA_RANDOM_H
#define NPU_TESTS_ISA_RANDOM_H

#include "isa/field.h"
#include "isa/program.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

struct rng {
	uint64_t state;
};

static inline uint64_t rng_next(struct rng *rng) /* splitmix64 */
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static inline uint32_t rng_below(struct rng *rng, uint32_t n)
{
	return (uint32_t)(rng_next(rng) % n);
}

static inline bool rng_one_in(struct rng *rng, uint32_t n)
{
	return rng_below(rng, n) == 0;
}

enum { RANDOM_TABLES = 3, RANDOM_TABLE_ENTRIES = 300, RANDOM_SEMS = 32 };

/* Any value that the field can hold, likely ones more often. */
static inline uint64_t random_value(struct rng *rng, const struct npu_field *field)
{
	const char *const *names;
	static const uint32_t floats[] = {
		0, 0x80000000, 0x3f800000, 0xff800000, 0x7f800000, 0x7fc00000, 0x3727c5ac, 1
	};
	uint64_t any = rng_next(rng) & npu_field_max(field);
	switch (field->kind) {
	case NPU_KIND_LOCAL:
		return (rng_one_in(rng, 2) ? NPU_ACC_BIT : 0) | (any & 0xfffff);
	case NPU_KIND_DRAM:
		return any & 0xfffffffff;
	case NPU_KIND_UINT:
		if (!field->required)
			return rng_one_in(rng, 4) ? any : 0;
		return rng_one_in(rng, 8) ? any : 1 + rng_below(rng, 64);
	case NPU_KIND_INT:
		return rng_one_in(rng, 2) ? any : (uint64_t) - (int64_t)any - 1;
	case NPU_KIND_F32:
		return rng_one_in(rng, 2) ? (rng_next(rng) & 0xffffffff) : floats[rng_below(rng, 8)];
	case NPU_KIND_FLAG:
		return rng_one_in(rng, 3);
	case NPU_KIND_TABLE:
		return rng_below(rng, RANDOM_TABLES);
	case NPU_KIND_DTYPE:
	case NPU_KIND_LAYOUT:
	case NPU_KIND_BCAST:
	case NPU_KIND_ACT:
	case NPU_KIND_SCALE:
		return rng_below(rng, npu_kind_names(field->kind, &names));
	}
	return 0;
}

static inline void random_fields(struct rng *rng, struct npu_insn *insn, enum npu_op op)
{
	memset(insn, 0, sizeof *insn);
	insn->op = (uint8_t)op;
	for (const struct npu_field *field = npu_op_info(op)->format->fields; field->name; field++)
		npu_field_set(field, insn, random_value(rng, field));
}

/* The tables that random_insn refers to; page numbers stay small, so that pages stay inside DRAM. */
static inline void add_random_tables(struct npu_assembly *assembly)
{
	static const char *const names[RANDOM_TABLES] = { "seq0", "seq[1]", "a table" };
	uint32_t entries[RANDOM_TABLE_ENTRIES];
	for (uint32_t t = 0; t < RANDOM_TABLES; t++) {
		for (uint32_t i = 0; i < RANDOM_TABLE_ENTRIES; i++)
			entries[i] = (i * 7 + t) % 61;
		npu_assembly_table(
		    assembly, &(struct npu_table){ names[t], 0x1000 * (t + 1), RANDOM_TABLE_ENTRIES - t, entries, 3 * t });
	}
}

/* A program of tables and no instruction; the caller frees it. */
static inline struct npu_program *tables_only(void)
{
	struct npu_error err;
	struct npu_assembly *assembly = npu_assembly_new("tables");
	add_random_tables(assembly);
	struct npu_program *tables = npu_assembly_finish(assembly, &err);
	ck_assert_msg(tables != NULL, "%s", err.text);
	return tables;
}

/* Whether the instruction is legal in a program with these tables. */
static inline bool is_legal(const struct npu_program *tables, const struct npu_insn *insn, struct npu_error *err)
{
	struct npu_program one = *tables;
	uint32_t region = NPU_NO_REGION;
	struct npu_place place = { 0 };
	one.ninsns = 1;
	one.insns = insn;
	one.region = &region;
	one.place = &place;
	return npu_program_check(&one, err);
}

/* One legal instruction of `op` without semaphores, by drawing until the check is content. */
static inline struct npu_insn random_insn(struct rng *rng, enum npu_op op, const struct npu_program *tables)
{
	struct npu_insn insn;
	struct npu_error err;
	unsigned tries = 0;
	do {
		if (tries++ > 1000000)
			ck_abort_msg("%s: no legal operands in a million tries: %s", npu_op_mnemonic(op), err.text);
		random_fields(rng, &insn, op);
	} while (!is_legal(tables, &insn, &err));
	return insn;
}

/* Semaphore s is posted by engine s % 4 and waited for by engine s / 4 % 4. */
static inline void random_refs(struct rng *rng, struct npu_insn *insn)
{
	unsigned engine = npu_op_engine(insn->op);
	for (unsigned slot = rng_below(rng, NPU_SYNC_SLOTS + 1); slot < NPU_SYNC_SLOTS; slot++)
		insn->wait[slot] = (struct npu_sem_ref){ (uint16_t)(4 * engine + slot + 16 * rng_below(rng, 2)),
							 (uint16_t)(1 + rng_below(rng, 3)) };
	for (unsigned slot = rng_below(rng, NPU_SYNC_SLOTS + 1); slot < NPU_SYNC_SLOTS; slot++)
		insn->post[slot] = (struct npu_sem_ref){ (uint16_t)(engine + 4 * slot + 16 * rng_below(rng, 2)),
							 (uint16_t)(1 + rng_below(rng, 3)) };
}

static inline void add_random_sems(struct rng *rng, struct npu_assembly *assembly)
{
	for (unsigned s = 0; s < RANDOM_SEMS; s++) {
		char name[32];
		if (s < 8)
			snprintf(name, sizeof name, "k_free[%u]", s);
		else if (s < 16)
			snprintf(name, sizeof name, "odd[%u]", s);
		else
			snprintf(name, sizeof name, s % 2 ? "s%u" : "a \"name\" %u", s);
		npu_assembly_sem(assembly, name, s < 4 ? 1 : rng_below(rng, 3), rng_one_in(rng, 2) ? 0 : 5);
	}
}

static inline void add_random_names(struct rng *rng, struct npu_assembly *assembly)
{
	static const char *const names[] = { "Q", "K[0]", "wait", "L0.wq", "a\nb\\c\x01", "k[1]" };
	for (unsigned i = 0; i < 6; i++) {
		struct npu_tensor t = {
			.name = names[i],
			.addr = rng_next(rng) & 0xffffffff,
			.dtype = (enum npu_dtype)rng_below(rng, NPU_DTYPES),
			.layout = rng_below(rng, 3),
			.dir = (enum npu_tensor_dir)rng_below(rng, 4),
			.rank = 1 + rng_below(rng, 5),
			.shape = { 12, 4, 6, 2, 8 },
		};
		t.seeded = (t.dir == NPU_TENSOR_IN || t.dir == NPU_TENSOR_INOUT) && rng_one_in(rng, 2);
		t.seed = t.seeded ? rng_next(rng) >> (1 + rng_below(rng, 63)) : 0;
		t.bytes = rng_one_in(rng, 3) ? npu_tensor_bytes(&t) + 64 : 0;
		npu_assembly_tensor(assembly, &t);
		npu_assembly_buffer(assembly, &(struct npu_buffer){ names[rng_below(rng, 6)],
								    (uint32_t)rng_next(rng) & 0x800fffff,
								    1 + rng_below(rng, 1 << 20), 0, 0 });
	}
}

/* A line, every other time in macros in macros. */
static inline void random_place(struct rng *rng, struct npu_assembly *assembly)
{
	static const char *const files[] = { "qk.c", "a \"b\".c", "qk.c" }, *const macros[] = { "tile", "a \"macro\"" };
	uint32_t call = 0;
	while (rng_one_in(rng, 2))
		call = npu_assembly_call(assembly, macros[rng_below(rng, 2)], files[rng_below(rng, 3)], 1 + rng_below(rng, 3), call);
	npu_assembly_place(assembly, files[rng_below(rng, 3)], 1 + rng_below(rng, 5));
	npu_assembly_inside(assembly, call);
}

/* `n` instructions with everything that a program can have; each instruction of the table comes with equal chance. */
static inline struct npu_program *random_program(struct rng *rng, uint32_t n)
{
	struct npu_program *tables = tables_only();
	struct npu_assembly *assembly = npu_assembly_new("random \"one\"");
	struct npu_error err;
	unsigned depth = 0;
	add_random_tables(assembly);
	add_random_sems(rng, assembly);
	add_random_names(rng, assembly);
	for (uint32_t i = 0; i < n; i++) {
		struct npu_insn insn = random_insn(rng, npu_ops[rng_below(rng, npu_nops)].op, tables);
		random_refs(rng, &insn);
		if (rng_one_in(rng, 3)) {
			npu_assembly_region_begin(assembly, rng_one_in(rng, 2) ? "tile" : "a \\ region");
			depth++;
		}
		if (rng_one_in(rng, 2))
			random_place(rng, assembly);
		if (depth && rng_one_in(rng, 3)) {
			npu_assembly_region_end(assembly);
			depth--;
		}
		while (rng_one_in(rng, 4)) {
			uint32_t state = rng_below(rng, 3);
			npu_assembly_page(assembly, &(struct npu_page_event){ 0, rng_below(rng, 6), rng_below(rng, 9), state,
									      state == NPU_PAGE_OWNED ? rng_below(rng, 4) : 0 });
		}
		npu_assembly_insn(assembly, &insn);
	}
	npu_program_free(tables);
	struct npu_program *program = npu_assembly_finish(assembly, &err);
	ck_assert_msg(program != NULL, "%s", err.text);
	return program;
}

static inline bool same_place(const struct npu_program *a, const struct npu_place *x, const struct npu_program *b,
			      const struct npu_place *y)
{
	if (x->line != y->line || strcmp(a->files[x->file], b->files[y->file]) != 0 || !x->call != !y->call)
		return false;
	return !x->call || (strcmp(a->calls[x->call - 1].name, b->calls[y->call - 1].name) == 0 &&
			    same_place(a, &a->calls[x->call - 1].at, b, &b->calls[y->call - 1].at));
}

/* Everything but the number and order of file names, which only says who was written first. */
static inline void assert_same_program(const struct npu_program *a, const struct npu_program *b)
{
	ck_assert_str_eq(a->name, b->name);
	ck_assert_uint_eq(a->hash, b->hash);
	ck_assert_mem_eq(&a->needs, &b->needs, sizeof a->needs);
	ck_assert_uint_eq(a->ninsns, b->ninsns);
	ck_assert_uint_eq(a->nsems, b->nsems);
	ck_assert_uint_eq(a->ntensors, b->ntensors);
	ck_assert_uint_eq(a->nbuffers, b->nbuffers);
	ck_assert_uint_eq(a->ntables, b->ntables);
	ck_assert_uint_eq(a->nregions, b->nregions);
	ck_assert_uint_eq(a->npages, b->npages);
	if (a->npages)
		ck_assert_mem_eq(a->pages, b->pages, a->npages * sizeof a->pages[0]);
	for (uint32_t i = 0; i < a->npages; i++)
		ck_assert_msg(same_place(a, &a->page_place[i], b, &b->page_place[i]), "record %u was written elsewhere", i);
	for (uint32_t i = 0; i < a->ninsns; i++) {
		uint64_t x[NPU_INSN_WORDS], y[NPU_INSN_WORDS];
		npu_insn_encode(&a->insns[i], x);
		npu_insn_encode(&b->insns[i], y);
		if (memcmp(x, y, sizeof x) != 0 || a->region[i] != b->region[i] ||
		    !same_place(a, &a->place[i], b, &b->place[i]))
			ck_abort_msg("instruction %u (%s) differs", i, npu_op_mnemonic(a->insns[i].op));
	}
	for (uint32_t i = 0; i < a->nsems; i++) {
		ck_assert_str_eq(a->sems[i].name, b->sems[i].name);
		ck_assert_uint_eq(a->sems[i].initial, b->sems[i].initial);
		ck_assert_uint_eq(a->sems[i].max, b->sems[i].max);
		ck_assert_int_eq(a->sems[i].poster, b->sems[i].poster);
		ck_assert_int_eq(a->sems[i].waiter, b->sems[i].waiter);
	}
	for (uint32_t i = 0; i < a->ntensors; i++) {
		const struct npu_tensor *x = &a->tensors[i], *y = &b->tensors[i];
		ck_assert_str_eq(x->name, y->name);
		ck_assert_int_eq(x->dtype, y->dtype);
		ck_assert(x->addr == y->addr && x->bytes == y->bytes && x->layout == y->layout && x->dir == y->dir);
		ck_assert_uint_eq(x->rank, y->rank);
		ck_assert_mem_eq(x->shape, y->shape, x->rank * sizeof x->shape[0]);
	}
	for (uint32_t i = 0; i < a->nbuffers; i++) {
		const struct npu_buffer *x = &a->buffers[i], *y = &b->buffers[i];
		ck_assert_str_eq(x->name, y->name);
		ck_assert(x->local == y->local && x->bytes == y->bytes && x->first == y->first && x->end == y->end);
	}
	for (uint32_t i = 0; i < a->ntables; i++) {
		ck_assert_str_eq(a->tables[i].name, b->tables[i].name);
		ck_assert_uint_eq(a->tables[i].addr, b->tables[i].addr);
		ck_assert_uint_eq(a->tables[i].count, b->tables[i].count);
		ck_assert_uint_eq(a->tables[i].sequence, b->tables[i].sequence);
		ck_assert_mem_eq(a->tables[i].entries, b->tables[i].entries, a->tables[i].count * sizeof(uint32_t));
	}
	for (uint32_t i = 0; i < a->nregions; i++) {
		ck_assert_str_eq(a->regions[i].name, b->regions[i].name);
		ck_assert_uint_eq(a->regions[i].parent, b->regions[i].parent);
	}
}

#endif
