/* SPDX-License-Identifier: Apache-2.0 */
/* Which bytes an instruction reads and writes: the one place that knows, for the machine's interlocks and traffic, the
 * hazard checker, bounds checks and buffer lifetimes. */
#ifndef NPU_ISA_ACCESS_H
#define NPU_ISA_ACCESS_H

#include "isa/layout.h"
#include "isa/program.h"

#ifdef __cplusplus
extern "C" {
#endif

enum npu_space { NPU_SPACE_SRAM, NPU_SPACE_ACCUM, NPU_SPACE_DRAM };

/* `rows` pieces of `row_bytes`, `stride` apart: bytes base + i * stride .. + row_bytes. */
struct npu_access {
	enum npu_space space;
	bool write;
	uint64_t base;
	uint64_t row_bytes;
	uint64_t rows;
	uint64_t stride;
	const char *operand; /* field name: "dst", "a", "local", "dram", ... */
};

enum { NPU_MAX_ACCESSES = 8 };

/* Accesses of one instruction, reads first, paged DRAM ones left out; returns their number. In-place and accumulating
 * operands appear twice. Dense runs are one row. Blocked matrices count whole blocks. */
unsigned npu_insn_accesses(const struct npu_insn *, struct npu_access out[NPU_MAX_ACCESSES]);

/* DRAM pieces of a DMA instruction, contiguous in DRAM, in the order in which the DMA touches them:
 *
 *   load, store   one piece for all when DRAM and local memory are dense and equally laid out (same layout, no
 * transpose); else a piece a row as DRAM holds it, a row of blocks when dram_layout is blocked. Each is a descriptor.
 *   gather,       one piece a page when the rows of a page are dense in DRAM and local memory is dense, row-major, not
 *   scatter       transposed and not apart (odd=); else a piece a row. The first piece of each page is a descriptor (and a table entry).
 * Pages that happen to be neighbours stay apart.
 *
 * Blocks are moved whole, with the padding at ragged edges. */
struct npu_piece {
	uint64_t dram;  /* address */
	uint32_t local; /* local address of the piece's first element; the rest follows the local layout */
	uint32_t bytes;
	uint32_t entry;      /* block-table entry index of paged ones */
	bool new_descriptor; /* first piece of a row or page */
};
/* Private but for its size; keep no copy of `program` or `insn` longer than they live. */
struct npu_piece_walk {
	const struct npu_program *program;
	const struct npu_insn *insn;
	uint64_t next, rows, rows_a_step;
	uint64_t row_bytes, stride;
	struct npu_matrix local;
	uint32_t base;
	bool paged, transpose, whole_pages;
};
/* `program` may be NULL for load and store. An instruction that is no DMA has no pieces. */
void npu_piece_walk_init(struct npu_piece_walk *, const struct npu_program *, const struct npu_insn *);
/* Returns false when there are no more; `out` is then untouched. */
bool npu_piece_next(struct npu_piece_walk *, struct npu_piece *out);
/* Bytes a DMA instruction asks of DRAM, 0 for others; the block table not included. */
uint64_t npu_insn_dram_bytes(const struct npu_insn *);
/* Bytes of the block table a paged instruction reads: 4 an entry it touches. */
uint64_t npu_insn_table_bytes(const struct npu_insn *);
/* m * n * k of a product, 0 for others. */
uint64_t npu_insn_macs(const struct npu_insn *);

/* Whether they share a byte, exactly; rows of one access must not overlap each other (stride 0 or >= row_bytes). */
bool npu_access_overlap(const struct npu_access *, const struct npu_access *);

#ifdef __cplusplus
}
#endif

#endif
