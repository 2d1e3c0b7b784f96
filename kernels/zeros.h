/* SPDX-License-Identifier: Apache-2.0 */
/* Results that nothing adds to: a sum over no elements, rows that see no key. Zeros are made once and stored wherever
 * they are wanted; nothing is loaded or multiplied. */
#ifndef NPU_KERNELS_ZEROS_H
#define NPU_KERNELS_ZEROS_H

#include "kernels/builder.h"

struct zeros {
	uint32_t at;           /* for npu_place */
	const char *full_name; /* of the semaphore, where there are other zeros too; NULL: zeros_full */
	struct npu_semaphore full;
	bool taken; /* a store has waited for them */
};

/* A buffer of them in SRAM. All types have the same zero, so fp32 fills it: whole elements of 4 bytes. */
struct npu_request zeros_request(struct zeros *, uint64_t bytes);
/* Emits the fill, which waits for `after` if that is a semaphore. */
void zeros_fill(struct npu_builder *, struct zeros *, uint64_t bytes, struct npu_semaphore after);
/* Stores zeros where `store` says, from the placed buffer; `done` is posted at its end if that is a semaphore. */
void zeros_store(struct npu_builder *, struct zeros *, struct npu_dma store, struct npu_semaphore done);

#endif
