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
enum { LOADED = 1, GATHERED = 2, STORED = 4, STREAMED = 8, STATIONARY = 16, SCALES = 32, SUMS = 64, VECTOR = 128,
       CONVERTED = 256, PICKED = 512 };

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
	uint32_t *row_of;    /* [nbuffers] */
	uint64_t at_once[2]; /* the most bytes that hold something at the same time: SRAM, accumulators */
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

/* What the vector engine does with an operand. */
static unsigned vector_use(const struct npu_insn *insn, const struct npu_access *a)
{
	bool integers = insn->op == NPU_OP_VDEQUANT || (insn->op == NPU_OP_VCOPY && insn->un.a_type != insn->un.dst_type &&
							(insn->un.a_type == NPU_INT8 || insn->un.a_type == NPU_INT4));
	if (!a->write && npu_op_format(insn->op) == NPU_FORMAT_quant && strcmp(a->operand, "scales") == 0)
		return SCALES;
	return !a->write && integers && strcmp(a->operand, "a") == 0 ? CONVERTED : VECTOR;
}

static unsigned use_of(const struct npu_insn *insn, const struct npu_access *a)
{
	switch (npu_op_engine(insn->op)) {
	case NPU_ENGINE_LOAD:
		return insn->op != NPU_OP_GATHER ? LOADED : insn->paged.page_rows > 1 ? GATHERED : PICKED;
	case NPU_ENGINE_STORE:
		return STORED;
	case NPU_ENGINE_MATRIX:
		return a->write ? SUMS : strcmp(a->operand, "scales") == 0 ? SCALES : strcmp(a->operand, "b") == 0 ? STATIONARY : STREAMED;
	case NPU_ENGINE_VECTOR:
		return vector_use(insn, a);
	case NPU_ENGINES:
		break;
	}
	return 0;
}

static void count_use(struct row *row, unsigned use)
{
	row->uses |= use;
	row->loads += (use & (LOADED | GATHERED | PICKED)) != 0;
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
	if (row->uses & GATHERED)
		return row->uses & SCALES && !(row->uses & (STATIONARY | CONVERTED)) ? "scales" : "KV pages";
	if (row->uses & PICKED)
		return "rows picked by a table";
	if (row->uses & SCALES)
		return "scales";
	if (row->uses & CONVERTED && row->uses & LOADED)
		return "weights, for the vector engine to convert";
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
	if (!table)
		return false;
	for (unsigned accum = 0; accum < 2; accum++) {
		uint64_t all = accum ? has->accum_bytes : has->sram_bytes;
		char share[64];
		uint64_t sum = 0;
		for (uint32_t i = 0; i < b->n; i++)
			if (b->rows[i].accum == accum) {
				print_row(table, &b->rows[i], has);
				sum += b->rows[i].total;
			}
		snprintf(share, sizeof share, "%.1f %%", 100.0 * (double)b->at_once[accum] / (double)all);
		report_table_row(table, sum == b->at_once[accum] ? "total" : "at once");
		report_table_text(table, accum ? "accumulators" : "SRAM");
		report_table_text(table, "");
		report_table_text(table, "");
		report_table_count(table, b->at_once[accum]);
		report_table_text(table, share);
		snprintf(share, sizeof share, "of %s", npu_bytes_text(all).text);
		report_table_text(table, share);
	}
	return report_table_print(table, out, style);
}

/* Where a buffer begins or ends to be one. */
struct edge {
	uint32_t at;
	bool accum, ends;
	uint64_t bytes;
};

static int by_place(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (int)y->ends - (int)x->ends; /* what ends makes room first */
}

/* Phases of a program have the memories one after the other. */
static bool count_at_once(struct budget *b, const struct npu_program *p)
{
	struct edge *edges = calloc(2ull * p->nbuffers + 1, sizeof *edges);
	uint64_t now[2] = { 0 };
	uint32_t n = 0;
	if (!edges)
		return false;
	for (uint32_t i = 0; i < p->nbuffers; i++) {
		const struct npu_buffer *buffer = &p->buffers[i];
		bool accum = npu_is_acc(buffer->local);
		edges[n++] = (struct edge){ buffer->first, accum, false, buffer->bytes };
		edges[n++] = (struct edge){ buffer->end, accum, true, buffer->bytes };
	}
	qsort(edges, n, sizeof *edges, by_place);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t *bytes = &now[edges[i].accum];
		*bytes = edges[i].ends ? *bytes - edges[i].bytes : *bytes + edges[i].bytes;
		b->at_once[edges[i].accum] = *bytes > b->at_once[edges[i].accum] ? *bytes : b->at_once[edges[i].accum];
	}
	free(edges);
	return true;
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
	return count_at_once(b, p);
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
