/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers by name, and their roles by the operands that meet them. */
#include "sim/budget.h"
#include "isa/access.h"
#include "isa/units.h"
#include "sim/report_json.h"

#include <stdlib.h>
#include <string.h>

enum { NAME = 64 };

/* Uses of a row's buffers. */
enum { LOADED = 1, GATHERED = 2, STORED = 4, STREAMED = 8, STATIONARY = 16, SCALES = 32, SUMS = 64, VECTOR = 128 };

/* All buffers of one name but for their number: a[0], a[1]. */
struct row {
	char name[NAME];
	bool accum;
	uint64_t bytes; /* of the largest */
	uint64_t total;
	unsigned copies, uses;
	uint64_t loads, stores; /* instructions that fill and empty them */
};

struct budget {
	struct row *rows;
	uint32_t n;
	uint32_t *row_of; /* [nbuffers] */
};

static void base_name(const char *name, char out[NAME])
{
	snprintf(out, NAME, "%.*s", (int)strcspn(name, "["), name);
}

static void add_buffer(struct budget *b, const struct npu_program *p, uint32_t i)
{
	char name[NAME];
	bool accum = npu_is_acc(p->buffers[i].local);
	base_name(p->buffers[i].name, name);
	uint32_t r = 0;
	while (r < b->n && (b->rows[r].accum != accum || strcmp(b->rows[r].name, name) != 0))
		r++;
	struct row *row = &b->rows[r];
	if (r == b->n) {
		*row = (struct row){ .accum = accum };
		memcpy(row->name, name, sizeof name);
		b->n++;
	}
	row->copies++;
	row->total += p->buffers[i].bytes;
	row->bytes = p->buffers[i].bytes > row->bytes ? p->buffers[i].bytes : row->bytes;
	b->row_of[i] = r;
}

static unsigned use_of(const struct npu_insn *insn, const struct npu_access *a)
{
	switch (npu_op_engine(insn->op)) {
	case NPU_ENGINE_LOAD:
		return insn->op == NPU_OP_GATHER ? GATHERED : LOADED;
	case NPU_ENGINE_STORE:
		return STORED;
	case NPU_ENGINE_MATRIX:
		return a->write ? SUMS : strcmp(a->operand, "scales") == 0 ? SCALES : strcmp(a->operand, "b") == 0 ? STATIONARY : STREAMED;
	case NPU_ENGINE_VECTOR:
		return VECTOR;
	case NPU_ENGINES:
		break;
	}
	return 0;
}

static void count_use(struct row *row, unsigned use)
{
	row->uses |= use;
	row->loads += (use & (LOADED | GATHERED)) != 0;
	row->stores += (use & STORED) != 0;
}

static void add_uses(struct budget *b, const struct npu_program *p, uint32_t insn)
{
	struct npu_access access[NPU_MAX_ACCESSES];
	unsigned n = npu_insn_accesses(&p->insns[insn], access);
	for (unsigned k = 0; k < n; k++) {
		if (access[k].space == NPU_SPACE_DRAM)
			continue;
		for (uint32_t i = 0; i < p->nbuffers; i++) {
			const struct npu_buffer *buffer = &p->buffers[i];
			uint64_t from = npu_local_offset(buffer->local);
			if (npu_is_acc(buffer->local) == (access[k].space == NPU_SPACE_ACCUM) && buffer->first <= insn &&
			    insn < buffer->end && access[k].base >= from && access[k].base < from + buffer->bytes)
				count_use(&b->rows[b->row_of[i]], use_of(&p->insns[insn], &access[k]));
		}
	}
}

/* The first that applies. */
static const char *role(const struct row *row)
{
	if (row->accum)
		return row->uses & SUMS ? "sums of products" : "accumulators";
	if (row->uses & SCALES)
		return "scales";
	if (row->uses & GATHERED)
		return "KV pages";
	if (row->uses & STATIONARY)
		return row->uses & LOADED ? "stationary operand: weights, keys, values" : "stationary operand, made on chip";
	if (row->uses & STREAMED)
		return row->uses & LOADED ? "streamed operand: activations, queries" : "streamed operand, made on chip";
	if (row->uses & STORED)
		return row->uses & LOADED ? "passes through" : "results";
	return row->uses & LOADED ? "operand of the vector engine" : "working values";
}

static void print_row(struct report_table *table, const struct row *row, const struct npu_limits *has)
{
	char share[32];
	uint64_t all = row->accum ? has->accum_bytes : has->sram_bytes;
	snprintf(share, sizeof share, "%.1f %%", 100.0 * (double)row->total / (double)all);
	report_table_row(table, row->name);
	report_table_text(table, row->accum ? "accumulators" : "SRAM");
	report_table_count(table, row->bytes);
	report_table_count(table, row->copies);
	report_table_count(table, row->total);
	report_table_text(table, share);
	report_table_text(table, role(row));
}

static bool print(const struct budget *b, const struct npu_limits *has, FILE *out, const struct report_style *style)
{
	static const char *const titles[] = { "budget", "where", "bytes each", "copies", "bytes", "share", "holds", NULL };
	struct report_table *table = report_table_new(titles);
	uint64_t taken[2] = { 0 };
	if (!table)
		return false;
	for (unsigned accum = 0; accum < 2; accum++) {
		uint64_t all = accum ? has->accum_bytes : has->sram_bytes;
		char share[64];
		for (uint32_t i = 0; i < b->n; i++)
			if (b->rows[i].accum == accum) {
				print_row(table, &b->rows[i], has);
				taken[accum] += b->rows[i].total;
			}
		snprintf(share, sizeof share, "%.1f %%", 100.0 * (double)taken[accum] / (double)all);
		report_table_row(table, "total");
		report_table_text(table, accum ? "accumulators" : "SRAM");
		report_table_text(table, "");
		report_table_text(table, "");
		report_table_count(table, taken[accum]);
		report_table_text(table, share);
		snprintf(share, sizeof share, "of %s", npu_bytes_text(all).text);
		report_table_text(table, share);
	}
	return report_table_print(table, out, style);
}

static bool budget_init(struct budget *b, const struct npu_program *p)
{
	b->rows = calloc(p->nbuffers + 1, sizeof *b->rows);
	b->row_of = calloc(p->nbuffers + 1, sizeof *b->row_of);
	if (!b->rows || !b->row_of)
		return false;
	for (uint32_t i = 0; i < p->nbuffers; i++)
		add_buffer(b, p, i);
	for (uint32_t i = 0; i < p->ninsns; i++)
		add_uses(b, p, i);
	return true;
}

static void budget_fini(struct budget *b)
{
	free(b->rows);
	free(b->row_of);
}

bool budget_print(const struct npu_program *p, const struct npu_limits *has, FILE *out, const struct report_style *style)
{
	struct budget b = { 0 };
	bool ok = budget_init(&b, p) && print(&b, has, out, style);
	budget_fini(&b);
	return ok;
}

json_t *budget_json(const struct npu_program *p)
{
	struct budget b = { 0 };
	json_t *rows = budget_init(&b, p) ? json_array() : NULL;
	for (uint32_t i = 0; rows && i < b.n; i++) {
		const struct row *r = &b.rows[i];
		json_array_append_new(rows, json_pack("{s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:s}", "name", report_json_text(r->name),
						      "memory", r->accum ? "accum" : "sram", "copies", (json_int_t)r->copies,
						      "bytes", (json_int_t)r->bytes, "total_bytes", (json_int_t)r->total,
						      "loads", (json_int_t)r->loads, "stores", (json_int_t)r->stores, "role",
						      role(r)));
	}
	budget_fini(&b);
	return rows;
}
