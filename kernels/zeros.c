/* SPDX-License-Identifier: Apache-2.0 */
/* See the header. */
#include "kernels/zeros.h"

#include "kernels/pingpong.h"

/* Elements of a filled row; more are several rows. */
enum { MOST_COLS = 1 << 16 };

struct words {
	uint64_t rows, cols;
};

static struct words words_of(uint64_t bytes)
{
	uint64_t words = tiles_of(bytes ? bytes : 1, 4), rows = tiles_of(words, MOST_COLS);
	return (struct words){ rows, tiles_of(words, rows) };
}

struct npu_request zeros_request(struct zeros *z, uint64_t bytes)
{
	struct words words = words_of(bytes);
	return (struct npu_request){ "zeros", false, 4 * words.rows * words.cols, 1, 0, &z->at, .least = 1 };
}

void zeros_fill(struct npu_builder *b, struct zeros *z, uint64_t bytes, struct npu_semaphore after)
{
	struct words words = words_of(bytes);
	struct npu_fill fill = { .dst = z->at, .rows = (uint32_t)words.rows, .cols = (uint32_t)words.cols };
	z->full = npu_semaphore(b, z->full_name ? z->full_name : "zeros_full", 0);
	npu_emit(b, &(struct npu_insn){ .op = NPU_OP_VFILL, .fill = fill },
		 &(struct npu_order){ .wait = { after }, .post = { z->full } });
}

void zeros_store(struct npu_builder *b, struct zeros *z, struct npu_dma store, struct npu_semaphore done)
{
	store.local = z->at;
	npu_emit(b, &(struct npu_insn){ .op = NPU_OP_STORE, .dma = store },
		 &(struct npu_order){ .wait = { z->taken ? NPU_NO_SEMAPHORE : z->full }, .post = { done } });
	z->taken = true;
}
