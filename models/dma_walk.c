/* SPDX-License-Identifier: Apache-2.0 */
/* Bursts and runs of a DMA instruction.
 *
 * A layout change costs port beats: a beat carries no more than one run, the bytes that follow one another on the local
 * side. Between rows and blocks a run is a row of a block (16 or 32 elements). The transposer holds 16 x 16 elements: 16 source
 * rows go in, 16 elements of a local row come out a beat. Row r of a burst is charged with the local rows that leave when
 * the tile is full: of each 16 columns the one at r % 16, so the 16 rows of a tile touch each of its local rows once.
 * Ignored: filling and emptying the transposer, the zeros that pad a ragged block in local memory. */
#include "models/dma_walk.h"

#include <stddef.h>

enum { TRANSPOSER = 16 };

static const struct npu_dma *as_dma(const struct npu_insn *insn)
{
	return insn->op == NPU_OP_LOAD || insn->op == NPU_OP_STORE ? &insn->dma : NULL;
}

uint32_t dma_run_elements(const struct npu_insn *insn)
{
	const struct npu_dma *d = as_dma(insn);
	uint32_t dram = d ? npu_layout_block(d->dram_layout) : 1;
	uint32_t local = npu_layout_block(d ? d->local_layout : insn->paged.local_layout);
	if (d ? d->transpose : insn->paged.transpose)
		return TRANSPOSER;
	if (dram == local)
		return 0;
	return dram == 1 ? local : local == 1 || dram < local ? dram : local;
}

static uint32_t element_bits(const struct npu_insn *insn)
{
	const struct npu_dma *d = as_dma(insn);
	return npu_dtype_bits((enum npu_dtype)(d ? d->dtype : insn->paged.dtype));
}

uint64_t dma_beat_bytes(const struct hw *hw, const struct npu_insn *insn)
{
	uint64_t run = (uint64_t)dma_run_elements(insn) * element_bits(insn) / 8;
	return run && run < hw->dma.port ? run : hw->dma.port;
}

uint32_t dma_most_runs(const struct hw *hw)
{
	/* The shortest runs are 16 elements of 4 bits; the first and the last of a burst may be cut. */
	return (uint32_t)(hw->dma.max_burst / (TRANSPOSER * 4 / 8) + 2);
}

static void init_geometry(struct dma_walk *w, const struct npu_insn *insn)
{
	const struct npu_dma *d = as_dma(insn);
	const struct npu_paged *p = &insn->paged;
	w->bits = element_bits(insn);
	w->dram_block = d ? npu_layout_block(d->dram_layout) : 1;
	w->transpose = d ? d->transpose : p->transpose;
	w->rows = d ? d->rows : p->rows;
	w->cols = d ? d->cols : p->cols;
	w->local = d ? d->local : p->local;
	w->matrix = (struct npu_matrix){ .rows = w->transpose ? w->cols : w->rows,
					 .cols = w->transpose ? w->rows : w->cols,
					 .dtype = (enum npu_dtype)(d ? d->dtype : p->dtype),
					 .layout = d ? d->local_layout : p->local_layout,
					 .stride = d ? d->local_stride : p->local_stride };
}

void dma_walk_init(struct dma_walk *w, const struct hw *hw, const struct npu_program *program, const struct npu_insn *insn)
{
	w->insn = insn;
	w->max_burst = hw->dma.max_burst;
	w->run = dma_run_elements(insn);
	w->strip = 0;
	if (w->run)
		init_geometry(w, insn);
	npu_piece_walk_init(&w->pieces, program, insn);
	w->more = npu_piece_next(&w->pieces, &w->piece);
	w->offset = 0;
}

bool dma_walk_peek(const struct dma_walk *w, struct dma_burst *out)
{
	if (!w->more)
		return false;
	out->new_descriptor = dma_walk_is_at_descriptor(w);
	out->entry = w->piece.entry;
	return true;
}

/* Where `n` elements that follow one another in DRAM from element (r, c) on lie in local memory; 0 bytes: padding. */
static struct dma_run place_run(const struct dma_walk *w, uint64_t r, uint64_t c, uint64_t n)
{
	if (r >= w->rows || c >= w->cols)
		return (struct dma_run){ w->local, 0 };
	if (n > w->cols - c)
		n = w->cols - c;
	uint64_t bit;
	if (w->transpose) {
		uint64_t turned = c - c % TRANSPOSER + r % TRANSPOSER, from = r - r % TRANSPOSER;
		turned = turned < w->cols ? turned : w->cols - 1;
		from = w->rows < TRANSPOSER ? 0 : from <= w->rows - TRANSPOSER ? from : w->rows - TRANSPOSER;
		bit = npu_matrix_bit(&w->matrix, turned, from);
		/* Fewer rows than the transposer's: the charge stays inside the matrix. */
		uint64_t end = npu_matrix_extent(&w->matrix) * 8, bits = n * w->bits;
		if (bit + bits > end)
			bit = end > bits ? end - bits : 0;
	} else {
		bit = npu_matrix_bit(&w->matrix, r, c);
	}
	return (struct dma_run){ w->local + (uint32_t)(bit / 8), (uint32_t)((n * w->bits + 7) / 8) };
}

uint32_t dma_walk_runs(const struct dma_walk *w, uint64_t bytes, struct dma_run *runs)
{
	uint32_t n = 0;
	uint64_t element = w->offset * 8 / w->bits, end = (w->offset + bytes) * 8 / w->bits;
	uint64_t block = w->dram_block, per_block = block * block;
	while (element < end) {
		uint64_t in_block = element % per_block;
		uint64_t r = block == 1 ? w->strip : w->strip * block + in_block / block;
		uint64_t c = block == 1 ? element : element / per_block * block + in_block % block;
		uint64_t left = w->run - c % w->run;
		left = left < end - element ? left : end - element;
		struct dma_run run = place_run(w, r, c, left);
		if (run.bytes)
			runs[n++] = run;
		element += left;
	}
	/* All of it is padding: a beat all the same. */
	if (!n)
		runs[n++] = (struct dma_run){ w->local, (w->bits + 7) / 8 };
	return n;
}

void dma_walk_next_piece(struct dma_walk *w)
{
	w->strip++;
	w->more = npu_piece_next(&w->pieces, &w->piece);
	w->offset = 0;
}
