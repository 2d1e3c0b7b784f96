/* SPDX-License-Identifier: Apache-2.0 */
/* Conflicts between DMA instructions, page by page where they are paged. */
#include "models/dma_interlock.h"

/* Pairs of pages that are compared one by one. */
enum { PAIRS = 4096 };

static uint32_t first_page(const struct npu_paged *p)
{
	return p->first / p->page_rows;
}

static uint32_t pages(const struct npu_insn *insn)
{
	const struct npu_paged *p = &insn->paged;
	if (insn->op == NPU_OP_GATHER && p->odd && p->rows > 1)
		return 2;
	if (insn->op != NPU_OP_SCATTER || !p->rows)
		return 1;
	return (uint32_t)(((uint64_t)p->first + p->rows - 1) / p->page_rows) - first_page(p) + 1;
}

/* What a scatter writes of its `n`-th page. */
static struct npu_access page_access(const struct npu_program *program, const struct npu_paged *p, uint32_t n)
{
	uint64_t row_bytes = npu_dtype_bytes((enum npu_dtype)p->dtype, p->cols);
	uint64_t stride = p->row_stride ? p->row_stride : row_bytes;
	uint64_t page = (uint64_t)first_page(p) + n, begin = page * p->page_rows, end = begin + p->page_rows;
	uint64_t last = (uint64_t)p->first + p->rows;
	begin = begin > p->first ? begin : p->first;
	end = end < last ? end : last;
	struct npu_access access = { .space = NPU_SPACE_DRAM, .write = true, .row_bytes = row_bytes,
				     .rows = end - begin, .stride = stride };
	access.base = p->dram + (uint64_t)program->tables[p->table].entries[page] * p->page_stride +
		      begin % p->page_rows * stride;
	return access;
}

/* The bytes that an instruction writes; `n`: the page of a scatter, even or odd rows of a gather that has them apart. */
static struct npu_access written(const struct npu_program *program, const struct npu_insn *insn, uint32_t n)
{
	struct npu_access all[NPU_MAX_ACCESSES];
	if (insn->op == NPU_OP_SCATTER)
		return page_access(program, &insn->paged, n);
	unsigned count = npu_insn_accesses(insn, all);
	for (unsigned i = 0; i < count; i++)
		if (all[i].write && n-- == 0)
			return all[i];
	return (struct npu_access){ .rows = 0 };
}

struct dma_hull dma_hull(const struct npu_program *program, const struct npu_insn *insn)
{
	struct dma_hull hull = { .begin = UINT64_MAX };
	for (uint32_t n = 0; n < pages(insn); n++) {
		struct npu_access page = written(program, insn, n);
		uint64_t end = page.base + (page.rows ? (page.rows - 1) * page.stride + page.row_bytes : 0);
		hull.space = page.space;
		hull.begin = page.base < hull.begin ? page.base : hull.begin;
		hull.end = end > hull.end ? end : hull.end;
	}
	return hull;
}

bool dma_conflict(const struct npu_program *program, const struct npu_insn *a, const struct npu_insn *b)
{
	uint32_t na = pages(a), nb = pages(b);
	if ((uint64_t)na * nb > PAIRS)
		return true;
	for (uint32_t i = 0; i < na; i++) {
		struct npu_access of_a = written(program, a, i);
		for (uint32_t j = 0; j < nb; j++) {
			struct npu_access of_b = written(program, b, j);
			if (npu_access_overlap(&of_a, &of_b))
				return true;
		}
	}
	return false;
}
