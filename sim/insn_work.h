/* SPDX-License-Identifier: Apache-2.0 */
/* What an instruction asks of its engine, beside its bytes and MACs: how its bytes lie in DRAM, the shape of a product, the
 * drain that it waited out. Rows of a report tell it, and npusim explain judges by it. */
#ifndef NPU_SIM_INSN_WORK_H
#define NPU_SIM_INSN_WORK_H

#include "sim/simulate_parts.h"

struct insn_work {
	uint64_t bursts;           /* that a DMA instruction asks DRAM for */
	uint64_t granule_bytes;    /* bytes of the whole access granules that they touch */
	uint64_t rearranged_bytes; /* that change their layout on the way */
	uint64_t m, n, k;          /* of a product */
	uint64_t drain;            /* cycles in which the array only drained the product before this one */
};

struct insn_works {
	const struct simulation *s;
	struct dma_run *runs;
	const struct probe_insn *product; /* the one before */
};

/* The simulation was recorded. False when out of memory. */
bool insn_works_init(struct insn_works *, const struct simulation *);
void insn_works_fini(struct insn_works *);
/* In program order, each instruction once. */
struct insn_work insn_works_next(struct insn_works *, uint32_t insn);

#endif
