/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over the DRAM pieces of a DMA instruction. */
#include "isa/access.h"

static uint32_t local_at(const struct npu_piece_walk *walk, uint64_t row)
{
	if (walk->paged && walk->insn->paged.odd) {
		uint32_t apart = row % 2 ? (uint32_t)walk->insn->paged.odd : 0;
		return walk->base + apart + (uint32_t)(row / 2 * npu_matrix_stride(&walk->local));
	}
	uint64_t bit = walk->transpose ? npu_matrix_bit(&walk->local, 0, row) : npu_matrix_bit(&walk->local, row, 0);
	return walk->base + (uint32_t)(bit / 8);
}

static void init_dma(struct npu_piece_walk *walk, const struct npu_dma *d)
{
	enum npu_dtype dtype = (enum npu_dtype)d->dtype;
	struct npu_matrix dram = { d->rows, d->cols, dtype, d->dram_layout, d->dram_stride };
	walk->base = d->local;
	walk->transpose = d->transpose;
	walk->local = (struct npu_matrix){ d->transpose ? d->cols : d->rows, d->transpose ? d->rows : d->cols, dtype,
					   d->local_layout, d->local_stride };
	walk->rows = npu_matrix_strips(&dram);
	walk->rows_a_step = npu_layout_block(d->dram_layout);
	walk->stride = npu_matrix_stride(&dram);
	walk->row_bytes = npu_matrix_strip_bytes(&dram);
	if (!d->transpose && d->dram_layout == d->local_layout && npu_matrix_is_dense(&dram) &&
	    npu_matrix_is_dense(&walk->local) && walk->rows > 0) {
		walk->row_bytes = npu_matrix_extent(&dram);
		walk->rows = 1;
	}
}

static void init_paged(struct npu_piece_walk *walk, const struct npu_paged *p)
{
	enum npu_dtype dtype = (enum npu_dtype)p->dtype;
	walk->base = p->local;
	walk->transpose = p->transpose;
	walk->local = (struct npu_matrix){ p->transpose ? p->cols : p->rows, p->transpose ? p->rows : p->cols, dtype,
					   p->local_layout, p->local_stride };
	walk->rows = p->page_rows ? p->rows : 0;
	walk->row_bytes = npu_dtype_bytes(dtype, p->cols);
	walk->stride = p->row_stride ? p->row_stride : walk->row_bytes;
	walk->whole_pages = !p->odd && !p->transpose && p->local_layout == NPU_LAYOUT_ROW &&
			    walk->stride == walk->row_bytes && npu_matrix_is_dense(&walk->local);
}

void npu_piece_walk_init(struct npu_piece_walk *walk, const struct npu_program *program, const struct npu_insn *insn)
{
	*walk = (struct npu_piece_walk){ .program = program, .insn = insn };
	enum npu_format_index format = npu_op_format(insn->op);
	walk->paged = format == NPU_FORMAT_paged;
	if (walk->paged)
		init_paged(walk, &insn->paged);
	else if (format == NPU_FORMAT_dma)
		init_dma(walk, &insn->dma);
}

static bool next_of_page(struct npu_piece_walk *walk, struct npu_piece *out)
{
	const struct npu_paged *p = &walk->insn->paged;
	uint64_t row = p->first + walk->next, in_page = row % p->page_rows, count = 1;
	if (walk->whole_pages) {
		uint64_t left = walk->rows - walk->next;
		count = p->page_rows - in_page < left ? p->page_rows - in_page : left;
	}
	out->entry = (uint32_t)(row / p->page_rows);
	out->dram = p->dram + (uint64_t)walk->program->tables[p->table].entries[out->entry] * p->page_stride +
		    in_page * walk->stride;
	out->local = local_at(walk, walk->next);
	out->bytes = (uint32_t)(count * walk->row_bytes);
	out->new_descriptor = walk->next == 0 || in_page == 0;
	walk->next += count;
	return true;
}

bool npu_piece_next(struct npu_piece_walk *walk, struct npu_piece *out)
{
	if (walk->next >= walk->rows)
		return false;
	if (walk->paged)
		return next_of_page(walk, out);
	out->dram = walk->insn->dma.dram + walk->next * walk->stride;
	out->local = local_at(walk, walk->next * walk->rows_a_step);
	out->bytes = (uint32_t)walk->row_bytes;
	out->entry = 0;
	out->new_descriptor = true;
	walk->next++;
	return true;
}
