/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two DMA instructions of one engine must follow one another: both write, and the bytes that they write meet. (A load
 * writes local memory and reads DRAM, a store the other way round: inside one engine only writes can conflict.) */
#ifndef NPU_MODELS_DMA_INTERLOCK_H
#define NPU_MODELS_DMA_INTERLOCK_H

#include "isa/access.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The local or DRAM bytes between the first and behind the last that an instruction writes. */
struct dma_hull {
	enum npu_space space;
	uint64_t begin, end;
};
struct dma_hull dma_hull(const struct npu_program *program, const struct npu_insn *insn);
static inline bool dma_hulls_meet(const struct dma_hull *a, const struct dma_hull *b)
{
	return a->space == b->space && a->begin < b->end && b->begin < a->end;
}

/* Given that their hulls meet. Never false when they conflict; scatters of many pages are taken to when their hulls do. */
bool dma_conflict(const struct npu_program *program, const struct npu_insn *a, const struct npu_insn *b);

#ifdef __cplusplus
}
#endif

#endif
