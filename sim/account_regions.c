/* SPDX-License-Identifier: Apache-2.0 */
/* A loop opens a region of the same name again and again; people think of them as one. */
#include "sim/account_regions.h"

#include "isa/access.h"

#include <stdlib.h>
#include <string.h>

struct rows {
	uint32_t *of_region; /* [nregions + 1] row of each region; the last: (none) */
	uint32_t *parent;    /* [rows] row of the parent, or UINT32_MAX */
	const char **name;   /* [rows] without the path */
	uint32_t *table;     /* open-addressed, row + 1 */
	uint64_t mask;
};

static bool rows_init(struct rows *rows, uint32_t n)
{
	uint64_t size = 16;
	while (size < 2ull * n)
		size *= 2;
	rows->mask = size - 1;
	rows->of_region = calloc(n, sizeof(*rows->of_region));
	rows->parent = calloc(n, sizeof(*rows->parent));
	rows->name = calloc(n, sizeof(*rows->name));
	rows->table = calloc(size, sizeof(*rows->table));
	return rows->of_region && rows->parent && rows->name && rows->table;
}

static void rows_fini(struct rows *rows)
{
	free(rows->of_region);
	free(rows->parent);
	free(rows->name);
	free(rows->table);
}

/* The row of `name` below row `parent`, a new one where there is none; `*count` rows so far. */
static uint32_t row_of(struct rows *rows, uint32_t parent, const char *name, uint32_t *count)
{
	uint64_t slot = parent * 0x9e3779b97f4a7c15ull;
	for (const char *c = name; *c; c++)
		slot = (slot ^ (unsigned char)*c) * 0x100000001b3ull;
	for (slot ^= slot >> 32;; slot++) {
		uint32_t *at = &rows->table[slot & rows->mask];
		if (*at == 0) {
			*at = ++*count;
			rows->parent[*count - 1] = parent;
			rows->name[*count - 1] = name;
			return *count - 1;
		}
		if (rows->parent[*at - 1] == parent && strcmp(rows->name[*at - 1], name) == 0)
			return *at - 1;
	}
}

/* Parents come before their children in a program. */
static uint32_t make_rows(struct rows *rows, const struct npu_program *p)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < p->nregions; i++) {
		uint32_t parent = p->regions[i].parent;
		uint32_t above = parent < i ? rows->of_region[parent] : UINT32_MAX;
		rows->of_region[i] = row_of(rows, above, p->regions[i].name, &count);
	}
	return count;
}

/* "above/name"; NULL when out of memory. Not by snprintf: there may be as many as tiles. */
static char *path_of(const char *above, const char *name)
{
	size_t front = above ? strlen(above) + 1 : 0, size = strlen(name) + 1;
	char *path = malloc(front + size);
	if (!path)
		return NULL;
	if (above) {
		memcpy(path, above, front - 1);
		path[front - 1] = '/';
	}
	memcpy(path + front, name, size);
	return path;
}

static bool name_rows(struct account *a, const struct rows *rows, uint32_t named)
{
	for (uint32_t i = 0; i < named; i++) {
		const char *above = rows->parent[i] == UINT32_MAX ? NULL : a->regions[rows->parent[i]].name;
		a->regions[i].name = path_of(above, rows->name[i]);
		if (!a->regions[i].name)
			return false;
	}
	a->regions[named].name = path_of(NULL, "(none)");
	return a->regions[named].name != NULL;
}

static void add_program(struct account *a, const struct rows *rows, const struct npu_program *p)
{
	for (uint32_t i = 0; i < p->ninsns; i++) {
		const struct npu_insn *insn = &p->insns[i];
		uint32_t region = p->region[i] == NPU_NO_REGION ? p->nregions : p->region[i];
		struct account_region *row = &a->regions[rows->of_region[region]];
		enum npu_engine engine = npu_op_engine(insn->op);
		row->instructions++;
		if (engine == NPU_ENGINE_MATRIX)
			row->macs += npu_insn_macs(insn);
		if (engine != NPU_ENGINE_LOAD && engine != NPU_ENGINE_STORE)
			continue;
		row->dram_read_bytes += npu_insn_table_bytes(insn);
		if (engine == NPU_ENGINE_STORE)
			row->dram_write_bytes += npu_insn_dram_bytes(insn);
		else
			row->dram_read_bytes += npu_insn_dram_bytes(insn);
	}
}

static void add_record(struct account *a, const struct rows *rows, const struct npu_program *p, const struct record *r)
{
	for (uint32_t i = 0; i <= p->nregions; i++)
		for (unsigned e = 0; e < NPU_ENGINES; e++)
			for (unsigned s = 0; s < NPU_STATES; s++)
				a->regions[rows->of_region[i]].states[e][s] += r->regions[i][e][s];
}

static bool fill(struct account *a, struct rows *rows, const struct npu_program *p, const struct record *r)
{
	if (!rows_init(rows, p->nregions + 1))
		return false;
	uint32_t named = make_rows(rows, p);
	rows->of_region[p->nregions] = named;
	a->regions = calloc(named + 1ull, sizeof(*a->regions));
	if (!a->regions)
		return false;
	a->nregions = named + 1;
	if (!name_rows(a, rows, named))
		return false;
	add_program(a, rows, p);
	/* Instruction fetch belongs to no instruction's region. */
	for (uint32_t i = 0; i < a->traffic.nrows; i++)
		if (strcmp(a->traffic.rows[i].name, "(instructions)") == 0)
			a->regions[named].dram_read_bytes += a->traffic.rows[i].read_bytes;
	add_record(a, rows, p, r);
	return true;
}

bool account_regions(struct account *a, const struct npu_program *p, const struct record *r)
{
	if (p->nregions == 0)
		return true;
	struct rows rows = { 0 };
	bool ok = fill(a, &rows, p, r);
	a->row_of_region = ok ? rows.of_region : NULL;
	rows.of_region = ok ? NULL : rows.of_region;
	rows_fini(&rows);
	return ok;
}

const char *account_region_path(const struct account *a, const struct npu_program *p, uint32_t insn)
{
	return p->region[insn] != NPU_NO_REGION ? a->regions[a->row_of_region[p->region[insn]]].name : "";
}
