/* SPDX-License-Identifier: Apache-2.0 */
/* Which keys a query sees. With causal and window, query rows are the last seq_q of seq positions: row r stands at
 * position seq - seq_q + r. Rows before position 0 see nothing. */
#ifndef NPU_KERNELS_MASK_H
#define NPU_KERNELS_MASK_H

#include "isa/insn.h"

enum npu_mask_kind {
	NPU_MASK_NONE,
	NPU_MASK_CAUSAL,  /* keys up to the own position */
	NPU_MASK_PADDING, /* keys before `valid` */
	NPU_MASK_WINDOW,  /* the last `window` keys up to the own position */
};

struct npu_mask {
	enum npu_mask_kind kind;
	uint64_t seq;
	uint64_t seq_q;
	uint64_t window;
	uint64_t valid;
};

/* The definition. */
bool npu_mask_sees(const struct npu_mask *, uint64_t row, uint64_t key);
/* Every row sees one range of keys: [first, end). Both rise with the row. */
uint64_t npu_mask_first(const struct npu_mask *, uint64_t row);
uint64_t npu_mask_end(const struct npu_mask *, uint64_t row);
/* Rows that see no key: these are the first ones. */
uint64_t npu_mask_blind(const struct npu_mask *);
/* Positions of a tile that are hidden. */
uint64_t npu_mask_hidden(const struct npu_mask *, uint64_t row, uint64_t rows, uint64_t key, uint64_t keys);
/* Positions seen by all rows together, in closed form. */
uint64_t npu_mask_seen(const struct npu_mask *);
/* Sets the mask of a vector instruction on the tile of scores that begins at (row, key); a tile that is seen as a whole
 * needs none. */
void npu_mask_set(const struct npu_mask *, uint64_t row, uint64_t rows, uint64_t key, uint64_t keys,
		  struct npu_softmax *);

#endif
