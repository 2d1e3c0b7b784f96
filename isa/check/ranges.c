/* SPDX-License-Identifier: Apache-2.0 */
/* Collecting ranges, and what two of them share. */
#include "isa/check/ranges.h"

#include <stdlib.h>

static bool add(struct npu_ranges *all, const struct npu_range *range)
{
	if (!range->rows || !range->row_bytes)
		return true;
	if (all->count == all->capacity) {
		uint64_t capacity = all->capacity ? 2 * all->capacity : 1024;
		struct npu_range *grown = realloc(all->ranges, capacity * sizeof *grown);
		if (!grown)
			return false;
		all->ranges = grown;
		all->capacity = capacity;
	}
	all->ranges[all->count++] = *range;
	return true;
}

/* The rows of one page form one range. */
static bool add_pages(struct npu_ranges *all, const struct npu_program *program, uint32_t insn)
{
	const struct npu_paged *p = &program->insns[insn].paged;
	const struct npu_table *table = &program->tables[p->table];
	uint64_t row_bytes = npu_dtype_bytes((enum npu_dtype)p->dtype, p->cols);
	uint64_t stride = p->row_stride ? p->row_stride : row_bytes, count;
	for (uint64_t row = p->first, end = row + p->rows; row < end; row += count) {
		uint32_t entry = (uint32_t)(row / p->page_rows), inside = (uint32_t)(row % p->page_rows);
		count = p->page_rows - inside < end - row ? p->page_rows - inside : end - row;
		bool dense = stride == row_bytes;
		struct npu_range range = {
			.base = p->dram + (uint64_t)table->entries[entry] * p->page_stride + inside * stride,
			.row_bytes = dense ? count * row_bytes : row_bytes,
			.stride = dense ? count * row_bytes : stride,
			.rows = dense ? 1 : (uint32_t)count,
			.insn = insn,
			.entry = entry,
			.space = NPU_SPACE_DRAM,
			.operand = NPU_MAX_ACCESSES,
			.write = npu_op_engine(program->insns[insn].op) == NPU_ENGINE_STORE,
		};
		if (!add(all, &range))
			return false;
	}
	return true;
}

static bool add_operands(struct npu_ranges *all, const struct npu_program *program, uint32_t insn)
{
	struct npu_access accesses[NPU_MAX_ACCESSES];
	unsigned n = npu_insn_accesses(&program->insns[insn], accesses);
	for (unsigned i = 0; i < n; i++) {
		const struct npu_access *a = &accesses[i];
		struct npu_range range = {
			.base = a->base,
			.row_bytes = a->row_bytes,
			.stride = a->stride,
			.rows = (uint32_t)a->rows,
			.insn = insn,
			.entry = NPU_RANGE_NO_PAGE,
			.space = (uint8_t)a->space,
			.operand = (uint8_t)i,
			.write = a->write,
		};
		if (!add(all, &range))
			return false;
	}
	return true;
}

static bool add_insn(struct npu_ranges *all, const struct npu_program *program, uint32_t insn)
{
	bool paged = npu_op_format(program->insns[insn].op) == NPU_FORMAT_paged;
	bool gathers = paged && npu_op_engine(program->insns[insn].op) == NPU_ENGINE_LOAD;
	return (!gathers || add_pages(all, program, insn)) && add_operands(all, program, insn) &&
	       (!paged || gathers || add_pages(all, program, insn));
}

bool npu_ranges_init(struct npu_ranges *all, const struct npu_program *program)
{
	*all = (struct npu_ranges){ .first = calloc(program->ninsns + (uint64_t)1, sizeof *all->first) };
	if (!all->first)
		return false;
	for (uint32_t i = 0; i < program->ninsns; i++) {
		if (!add_insn(all, program, i))
			return false;
		all->first[i + 1] = all->count;
	}
	return true;
}

void npu_ranges_fini(struct npu_ranges *all)
{
	free(all->ranges);
	free(all->first);
	*all = (struct npu_ranges){ 0 };
}

struct npu_access npu_range_access(const struct npu_range *r)
{
	return (struct npu_access){ .space = (enum npu_space)r->space,
				    .write = r->write,
				    .base = r->base,
				    .row_bytes = r->row_bytes,
				    .rows = r->rows,
				    .stride = r->stride };
}

const char *npu_range_operand(const struct npu_program *program, const struct npu_range *r)
{
	struct npu_access accesses[NPU_MAX_ACCESSES];
	if (r->entry != NPU_RANGE_NO_PAGE)
		return "dram";
	npu_insn_accesses(&program->insns[r->insn], accesses);
	return accesses[r->operand].operand;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Bytes that [lo, hi) shares with a range. */
static uint64_t common_with_row(const struct npu_range *r, uint64_t lo, uint64_t hi, uint64_t *first, uint64_t *last)
{
	uint64_t sum = 0, row = 0;
	if (lo >= npu_range_end(r) || hi <= r->base)
		return 0;
	if (lo > r->base && r->rows > 1)
		row = smaller((lo - r->base) / r->stride, r->rows - 1);
	for (; row < r->rows && r->base + row * r->stride < hi; row++) {
		uint64_t from = larger(lo, r->base + row * r->stride);
		uint64_t to = smaller(hi, r->base + row * r->stride + r->row_bytes);
		if (from >= to)
			continue;
		*first = smaller(*first, from);
		*last = larger(*last, to - 1);
		sum += to - from;
	}
	return sum;
}

uint64_t npu_range_common(const struct npu_range *a, const struct npu_range *b, uint64_t *first, uint64_t *last)
{
	const struct npu_range *few = a->rows <= b->rows ? a : b, *many = few == a ? b : a;
	uint64_t sum = 0;
	*first = UINT64_MAX;
	*last = 0;
	if (a->space != b->space)
		return 0;
	for (uint32_t i = 0; i < few->rows; i++) {
		uint64_t lo = few->base + i * few->stride;
		sum += common_with_row(many, lo, lo + few->row_bytes, first, last);
	}
	return sum;
}
