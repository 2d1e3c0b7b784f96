/* SPDX-License-Identifier: Apache-2.0 */
/* Which bytes an instruction reads and writes: the one place that knows, for the machine's interlocks and traffic, the
 * hazard checker, bounds checks and buffer lifetimes. */
#ifndef NPU_ISA_ACCESS_H
#define NPU_ISA_ACCESS_H

#include "isa/program.h"

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

/* Accesses of one instruction, paged DRAM ones left out; returns their number. In-place and accumulating operands appear
 * twice, read first. Dense runs are one row. */
unsigned npu_insn_accesses(const struct npu_insn *, struct npu_access out[NPU_MAX_ACCESSES]);

/* DRAM pieces of a DMA instruction, in the order in which the DMA touches them: contiguous bytes of one row, page row or
 * row of a block. Adjacent rows that are contiguous in DRAM *and* local memory stay separate pieces (a descriptor each)
 * unless the whole transfer is dense on both sides. Returns false when there are no more. */
struct npu_piece {
	uint64_t dram;        /* address */
	uint32_t local;       /* local address of the piece's first byte */
	uint32_t bytes;
	uint32_t entry;       /* block-table entry index of paged ones */
	bool new_descriptor;  /* first piece of a row or page */
};
struct npu_piece_walk {
	const struct npu_program *program;
	const struct npu_insn *insn;
	uint64_t next;
};
void npu_piece_walk_init(struct npu_piece_walk *, const struct npu_program *, const struct npu_insn *);
bool npu_piece_next(struct npu_piece_walk *, struct npu_piece *out);
/* Bytes a DMA instruction asks of DRAM, 0 for others; the block table not included. */
uint64_t npu_insn_dram_bytes(const struct npu_insn *);
/* Bytes of the block table a paged instruction reads: 4 an entry it touches. */
uint64_t npu_insn_table_bytes(const struct npu_insn *);
/* m * n * k of a product, 0 for others. */
uint64_t npu_insn_macs(const struct npu_insn *);

bool npu_access_overlap(const struct npu_access *, const struct npu_access *);

#endif
