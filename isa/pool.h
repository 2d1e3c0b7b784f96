/* SPDX-License-Identifier: Apache-2.0 */
/* Pools of pages: tensors through which gathers and scatters go, page by page. */
#ifndef NPU_ISA_POOL_H
#define NPU_ISA_POOL_H

#include "isa/program.h"

/* The paged instructions of a program by the address of their page 0. */
struct npu_pools {
	const struct npu_program *program;
	uint32_t *insns;
	uint32_t count;
};

/* False when out of memory; npu_pools_fini() in any case. */
bool npu_pools_init(struct npu_pools *, const struct npu_program *);
void npu_pools_fini(struct npu_pools *);
/* Bytes of a page: what paged instructions step by whose page 0 lies in the tensor, else its outermost dimension counts
 * pages. 0: not known, for it has one dimension, or none. */
uint64_t npu_pools_page_bytes(const struct npu_pools *, uint32_t tensor);
/* Pages of it; 0: not known. */
uint64_t npu_pools_pages(const struct npu_pools *, uint32_t tensor);

#endif
