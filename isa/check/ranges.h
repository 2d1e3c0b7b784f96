/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that the instructions of a program touch, as strided ranges: operands, and the pages of gathers and
 * scatters through their block tables. Private to isa/check. */
#ifndef NPU_ISA_CHECK_RANGES_H
#define NPU_ISA_CHECK_RANGES_H

#include "isa/access.h"

/* `rows` pieces of `row_bytes`, `stride` apart, as in struct npu_access. */
struct npu_range {
	uint64_t base, row_bytes, stride;
	uint32_t rows;
	uint32_t insn;
	uint32_t entry;  /* of the block table; NPU_RANGE_NO_PAGE for operands */
	uint8_t space;   /* enum npu_space */
	uint8_t operand; /* index into npu_insn_accesses(); NPU_MAX_ACCESSES of a page */
	bool write;
};

enum { NPU_RANGE_NO_PAGE = 0xffffffff };

/* All ranges, in program order; the reads of an instruction come before its writes. */
struct npu_ranges {
	struct npu_range *ranges;
	uint64_t count, capacity;
	uint64_t *first; /* [ninsns + 1] those of instruction i at first[i] to first[i + 1] */
};

/* False: out of memory; fini may be called all the same. */
bool npu_ranges_init(struct npu_ranges *, const struct npu_program *);
void npu_ranges_fini(struct npu_ranges *);

static inline uint64_t npu_range_end(const struct npu_range *r)
{
	return r->base + (r->rows - 1) * r->stride + r->row_bytes;
}
struct npu_access npu_range_access(const struct npu_range *);
/* Name of the operand field; "dram" of a page. */
const char *npu_range_operand(const struct npu_program *, const struct npu_range *);
/* The bytes that two ranges share: first, last, and their number; 0 when there are none. */
uint64_t npu_range_common(const struct npu_range *, const struct npu_range *, uint64_t *first, uint64_t *last);

#endif
