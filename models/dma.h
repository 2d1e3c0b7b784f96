/* SPDX-License-Identifier: Apache-2.0 */
/* A DMA engine: the body of the load or of the store queue. Instructions become bursts (dma_walk.h), bursts cross to the DRAM
 * (dma_crossing.h), their beats cross the on-chip port (memory.h). docs/models/dma.md tells the rules. */
#ifndef NPU_MODELS_DMA_H
#define NPU_MODELS_DMA_H

#include "models/body.h"
#include "models/dma_crossing.h"
#include "models/memory.h"

struct npu_program;

#ifdef __cplusplus
extern "C" {
#endif

struct dma;
/* `id` is NPU_ENGINE_LOAD or NPU_ENGINE_STORE; listener->span may be NULL: then no cause is worked out. Listens to the
 * engine's port of `memory` and of `crossing`. All pointers must outlive it. NULL when out of memory. */
struct dma *dma_new(enum npu_engine id, const struct hw *, const struct npu_program *, struct memory *, struct crossing *,
		    const struct body_listener *, const struct machine_wake *);
void dma_free(struct dma *);
extern const struct body_ops dma_ops;

/* Bytes of block tables that it read. */
uint64_t dma_table_bytes(const struct dma *);

#ifdef __cplusplus
}
#endif

#endif
