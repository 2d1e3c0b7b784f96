/* SPDX-License-Identifier: Apache-2.0 */
/* The checker again, without its ideas: all pairs of events, all pairs of rows, units of semaphores one by one. Slow,
 * and short enough to be believed. */
#ifndef NPU_TESTS_SIM_CHECK_TWIN_H
#define NPU_TESTS_SIM_CHECK_TWIN_H

#include "isa/access.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { TWIN_MOST = 512 };

/* Event 2i is the start of instruction i, 2i + 1 its end. */
struct twin {
	const struct npu_program *program;
	bool conflict[TWIN_MOST][TWIN_MOST];
	uint64_t after[2 * TWIN_MOST][2 * TWIN_MOST / 64]; /* bit b of after[a]: a before b */
};

static inline enum npu_engine twin_engine(const struct npu_program *p, uint32_t insn)
{
	return npu_op_engine(p->insns[insn].op);
}

/* ---- who touches the same bytes ---- */

struct twin_rows {
	uint64_t (*rows)[2]; /* from, to */
	bool *write;
	enum npu_space *space;
	unsigned n, capacity;
};

static inline void twin_add_row(struct twin_rows *r, enum npu_space space, bool write, uint64_t from, uint64_t bytes)
{
	if (r->n == r->capacity) {
		r->capacity = r->capacity ? 2 * r->capacity : 64;
		r->rows = realloc(r->rows, r->capacity * sizeof *r->rows);
		r->write = realloc(r->write, r->capacity * sizeof *r->write);
		r->space = realloc(r->space, r->capacity * sizeof *r->space);
	}
	r->rows[r->n][0] = from;
	r->rows[r->n][1] = from + bytes;
	r->write[r->n] = write;
	r->space[r->n++] = space;
}

static inline struct twin_rows twin_rows_of(const struct npu_program *p, uint32_t insn)
{
	struct twin_rows rows = { 0 };
	struct npu_access accesses[NPU_MAX_ACCESSES];
	struct npu_piece_walk walk;
	struct npu_piece piece;
	unsigned n = npu_insn_accesses(&p->insns[insn], accesses);
	for (unsigned i = 0; i < n; i++)
		for (uint64_t row = 0; accesses[i].space != NPU_SPACE_DRAM && row < accesses[i].rows; row++)
			twin_add_row(&rows, accesses[i].space, accesses[i].write,
				     accesses[i].base + row * accesses[i].stride, accesses[i].row_bytes);
	npu_piece_walk_init(&walk, p, &p->insns[insn]);
	while (npu_piece_next(&walk, &piece))
		twin_add_row(&rows, NPU_SPACE_DRAM, twin_engine(p, insn) == NPU_ENGINE_STORE, piece.dram, piece.bytes);
	return rows;
}

static inline bool twin_rows_conflict(const struct twin_rows *a, const struct twin_rows *b)
{
	for (unsigned i = 0; i < a->n; i++)
		for (unsigned j = 0; j < b->n; j++)
			if (a->space[i] == b->space[j] && (a->write[i] || b->write[j]) &&
			    a->rows[i][0] < b->rows[j][1] && b->rows[j][0] < a->rows[i][1])
				return true;
	return false;
}

static inline void twin_conflicts(struct twin *t, const struct npu_program *p)
{
	struct twin_rows *rows = calloc(p->ninsns, sizeof *rows);
	ck_assert_uint_le(p->ninsns, TWIN_MOST);
	for (uint32_t i = 0; i < p->ninsns; i++)
		rows[i] = twin_rows_of(p, i);
	for (uint32_t i = 0; i < p->ninsns; i++)
		for (uint32_t j = 0; j < i; j++)
			t->conflict[i][j] =
			    twin_engine(p, i) != twin_engine(p, j) && twin_rows_conflict(&rows[i], &rows[j]);
	for (uint32_t i = 0; i < p->ninsns; i++) {
		free(rows[i].rows);
		free(rows[i].write);
		free(rows[i].space);
	}
	free(rows);
}

/* ---- who comes before whom ---- */

static inline bool twin_before(const struct twin *t, uint32_t a, uint32_t b)
{
	return t->after[a][b / 64] >> b % 64 & 1;
}

static inline void twin_edge(struct twin *t, uint32_t a, uint32_t b)
{
	t->after[a][b / 64] |= (uint64_t)1 << b % 64;
}

/* Units of one semaphore: the instruction that posts each of them. A wait for the n-th needs it. */
static inline void twin_semaphore_edges(struct twin *t, uint32_t sem)
{
	const struct npu_program *p = t->program;
	static uint32_t units[1 << 16];
	uint32_t nunits = 0, taken = 0, nobody = p->ninsns;
	for (uint32_t i = 0; i < p->sems[sem].initial; i++)
		units[nunits++] = nobody;
	for (uint32_t i = 0; i < p->ninsns; i++)
		for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++)
			for (unsigned n = 0; p->insns[i].post[slot].sem == sem && n < p->insns[i].post[slot].count; n++)
				units[nunits++] = i;
	for (uint32_t i = 0; i < p->ninsns; i++)
		for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++)
			for (unsigned n = 0; p->insns[i].wait[slot].sem == sem && n < p->insns[i].wait[slot].count;
			     n++, taken++)
				if (taken < nunits && units[taken] != nobody)
					twin_edge(t, 2 * units[taken] + 1, 2 * i);
}

static inline void twin_order(struct twin *t, const struct npu_program *p)
{
	uint32_t n = 2 * p->ninsns;
	t->program = p;
	memset(t->after, 0, sizeof t->after);
	for (uint32_t i = 0; i < p->ninsns; i++) {
		twin_edge(t, 2 * i, 2 * i + 1);
		for (uint32_t j = i + 1; j < p->ninsns; j++)
			if (twin_engine(p, i) == twin_engine(p, j)) {
				twin_edge(t, 2 * i, 2 * j);
				twin_edge(t, 2 * i + 1, 2 * j + 1);
			}
	}
	for (uint32_t s = 0; s < p->nsems; s++)
		twin_semaphore_edges(t, s);
	for (uint32_t via = 0; via < n; via++)
		for (uint32_t a = 0; a < n; a++)
			for (uint32_t word = 0; twin_before(t, a, via) && word < (n + 63) / 64; word++)
				t->after[a][word] |= t->after[via][word];
}

/* Conflicting instructions of two engines that nothing orders. */
static inline unsigned twin_races(const struct twin *t)
{
	unsigned races = 0;
	for (uint32_t i = 0; i < t->program->ninsns; i++)
		for (uint32_t j = 0; j < i; j++)
			races +=
			    t->conflict[i][j] && !twin_before(t, 2 * i + 1, 2 * j) && !twin_before(t, 2 * j + 1, 2 * i);
	return races;
}

/* ---- bytes ---- */

/* Where byte `at` of a local memory lies in the buffers that are alive: one that begins at or before it and holds it.
 */
static inline bool twin_row_is_inside(const struct npu_program *p, uint32_t insn, enum npu_space space, uint64_t from,
				      uint64_t to)
{
	for (uint32_t i = 0; i < p->nbuffers; i++) {
		const struct npu_buffer *b = &p->buffers[i];
		uint64_t at = npu_local_offset(b->local);
		if (npu_is_acc(b->local) == (space == NPU_SPACE_ACCUM) && b->first <= insn && insn < b->end &&
		    at <= from && to <= at + b->bytes)
			return true;
	}
	return false;
}

/* Whether an access to local memory leaves its buffer, or reads a byte that nobody wrote during the life of that. */
static inline bool twin_bad_bytes(const struct npu_program *p)
{
	bool bad = false, *written[2] = { calloc(1 << 22, 1), calloc(1 << 22, 1) };
	for (uint32_t insn = 0; insn < p->ninsns; insn++) {
		struct npu_access a[NPU_MAX_ACCESSES];
		unsigned n = npu_insn_accesses(&p->insns[insn], a);
		for (uint32_t i = 0; i < p->nbuffers; i++)
			if (p->buffers[i].first == insn)
				memset(written[npu_is_acc(p->buffers[i].local)] + npu_local_offset(p->buffers[i].local),
				       0, p->buffers[i].bytes);
		for (unsigned i = 0; i < n && !bad; i++) {
			if (a[i].space == NPU_SPACE_DRAM)
				continue;
			bad = !twin_row_is_inside(p, insn, a[i].space, a[i].base,
						  a[i].base + (a[i].rows - 1) * a[i].stride + a[i].row_bytes);
			for (uint64_t row = 0; row < a[i].rows && !bad; row++)
				for (uint64_t at = 0; at < a[i].row_bytes; at++) {
					bool *byte =
					    &written[a[i].space == NPU_SPACE_ACCUM][a[i].base + row * a[i].stride + at];
					bad = bad || (!a[i].write && !*byte);
					*byte = *byte || a[i].write;
				}
		}
	}
	free(written[0]);
	free(written[1]);
	return bad;
}

/* Whether some instruction writes and nobody reads a byte of it, while another one with its opcode is read: every byte
 * remembers who wrote it last. What is left in DRAM at the end is read, but for temp tensors. */
static inline bool twin_vain(const struct npu_program *p)
{
	enum { LOCAL = 1 << 22 };
	uint64_t sizes[] = { [NPU_SPACE_SRAM] = LOCAL, [NPU_SPACE_ACCUM] = LOCAL, [NPU_SPACE_DRAM] = p->needs.dram_bytes + (1 << 20) };
	uint32_t *writer[3];
	bool *of_use = calloc(p->ninsns + (size_t)1, 1), *writes = calloc(p->ninsns + (size_t)1, 1), vain = false;
	for (unsigned space = 0; space < 3; space++)
		writer[space] = calloc(sizes[space], sizeof *writer[space]); /* instruction + 1 */
	for (uint32_t insn = 0; insn < p->ninsns; insn++) {
		for (uint32_t i = 0; i < p->nbuffers; i++)
			if (p->buffers[i].first == insn)
				memset(writer[npu_is_acc(p->buffers[i].local) ? NPU_SPACE_ACCUM : NPU_SPACE_SRAM] +
					       npu_local_offset(p->buffers[i].local),
				       0, p->buffers[i].bytes * sizeof **writer);
		struct twin_rows rows = twin_rows_of(p, insn);
		for (unsigned pass = 0; pass < 2; pass++)
			for (unsigned i = 0; i < rows.n; i++)
				for (uint64_t at = rows.rows[i][0]; rows.write[i] == (pass == 1) && at < rows.rows[i][1]; at++) {
					ck_assert_uint_lt(at, sizes[rows.space[i]]);
					uint32_t *last = &writer[rows.space[i]][at];
					if (pass)
						writes[*last = insn + 1] = true;
					else
						of_use[*last] = true;
				}
		free(rows.rows);
		free(rows.write);
		free(rows.space);
	}
	for (uint32_t i = 0; i < p->ntensors; i++)
		if (p->tensors[i].dir == NPU_TENSOR_TEMP)
			memset(writer[NPU_SPACE_DRAM] + p->tensors[i].addr, 0, p->tensors[i].bytes * sizeof **writer);
	for (uint64_t at = 0; at < sizes[NPU_SPACE_DRAM]; at++)
		of_use[writer[NPU_SPACE_DRAM][at]] = true;
	for (uint32_t i = 1; i <= p->ninsns; i++)
		for (uint32_t j = 1; j <= p->ninsns && writes[i] && !of_use[i]; j++)
			vain = vain || (writes[j] && of_use[j] && p->insns[i - 1].op == p->insns[j - 1].op);
	for (unsigned space = 0; space < 3; space++)
		free(writer[space]);
	free(of_use);
	free(writes);
	return vain;
}

/* Whether a wait does not find its count when the program is read in order. */
static inline bool twin_out_of_order(const struct npu_program *p)
{
	bool wrong = false;
	int64_t *counts = calloc(p->nsems + (size_t)1, sizeof *counts);
	for (uint32_t s = 0; s < p->nsems; s++)
		counts[s] = p->sems[s].initial;
	for (uint32_t i = 0; i < p->ninsns; i++) {
		for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++)
			wrong = wrong || (counts[p->insns[i].wait[slot].sem] -= p->insns[i].wait[slot].count) < 0;
		for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++)
			counts[p->insns[i].post[slot].sem] += p->insns[i].post[slot].count;
	}
	free(counts);
	return wrong;
}

#endif
