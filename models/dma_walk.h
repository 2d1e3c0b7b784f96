/* SPDX-License-Identifier: Apache-2.0 */
/* What a DMA instruction moves, burst by burst, and where each burst lies in local memory. Pure: no cycle, no state but
 * the place in the walk. */
#ifndef NPU_MODELS_DMA_WALK_H
#define NPU_MODELS_DMA_WALK_H

#include "isa/access.h"
#include "models/hw.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Contiguous local bytes. */
struct dma_run {
	uint32_t local;
	uint32_t bytes;
};

enum { DMA_PAGE = 4096 };
/* Contiguous DRAM bytes, at most dma.max_burst and inside one 4 KiB page. */
struct dma_burst {
	uint64_t addr;
	uint32_t bytes;
	bool new_descriptor; /* first burst of a row or page: a descriptor is worked out before it */
	uint32_t entry;      /* block-table entry that its address comes from (paged) */
	uint32_t nruns;      /* local runs, in the order of their beats */
};

struct dma_walk {
	struct npu_piece_walk pieces;
	const struct npu_insn *insn;
	uint64_t max_burst;
	uint32_t run;              /* elements of a local run; 0: bytes lie in local memory as they lie in DRAM */
	/* Geometry of a rearranging instruction, which has runs. */
	uint32_t bits;             /* of an element */
	uint32_t dram_block;       /* elements a side; 1: rows */
	bool transpose;
	uint64_t rows, cols;       /* of the matrix as DRAM holds it */
	uint32_t local;            /* where the local matrix begins */
	struct npu_matrix matrix;  /* the local matrix */
	/* The place. */
	struct npu_piece piece;
	uint64_t strip;            /* pieces before this one */
	uint64_t offset;           /* bytes of it that are done */
	bool more;
};

/* Elements of the longest run that is contiguous in DRAM and in local memory, or that the 16 x 16 transposer turns at once; 0:
 * no rearranging, as long as a row. */
uint32_t dma_run_elements(const struct npu_insn *insn);
/* Bytes that one beat of the on-chip port carries: the port, or a run where bytes are rearranged. */
uint64_t dma_beat_bytes(const struct hw *hw, const struct npu_insn *insn);
/* Runs that a burst of any instruction has at most. */
uint32_t dma_most_runs(const struct hw *hw);

void dma_walk_init(struct dma_walk *, const struct hw *hw, const struct npu_program *program, const struct npu_insn *insn);
/* The next burst without moving on (only new_descriptor and entry are filled in); false when there is none. */
bool dma_walk_peek(const struct dma_walk *, struct dma_burst *out);
/* Whether a descriptor is worked out before the next burst, which must exist. */
static inline bool dma_walk_is_at_descriptor(const struct dma_walk *w)
{
	return w->offset == 0 && w->piece.new_descriptor;
}
/* The local runs of the next `bytes` of the piece, where it has runs; their number. */
uint32_t dma_walk_runs(const struct dma_walk *, uint64_t bytes, struct dma_run *runs);
void dma_walk_next_piece(struct dma_walk *);
/* The next burst, which must exist; `runs` has room for dma_most_runs. */
static inline void dma_walk_next(struct dma_walk *w, struct dma_burst *out, struct dma_run *runs)
{
	uint64_t addr = w->piece.dram + w->offset, left = w->piece.bytes - w->offset;
	uint64_t to_page = DMA_PAGE - addr % DMA_PAGE;
	uint64_t bytes = left < w->max_burst ? left : w->max_burst;
	bytes = bytes < to_page ? bytes : to_page;
	*out = (struct dma_burst){ .addr = addr, .bytes = (uint32_t)bytes, .entry = w->piece.entry,
				   .new_descriptor = dma_walk_is_at_descriptor(w), .nruns = 1 };
	if (w->run)
		out->nruns = dma_walk_runs(w, bytes, runs);
	else
		*runs = (struct dma_run){ w->piece.local + (uint32_t)w->offset, (uint32_t)bytes };
	w->offset += bytes;
	if (w->offset == w->piece.bytes)
		dma_walk_next_piece(w);
}

#ifdef __cplusplus
}
#endif

#endif
