/* SPDX-License-Identifier: Apache-2.0 */
/* Masks of attention, as ranges of keys. */
#include "kernels/mask.h"

/* Initial value of `valid` in isa/npu.def: hides nothing. */
enum { ALL_VALID = 0x1fffff };

static int64_t position(const struct npu_mask *m, uint64_t row)
{
	return (int64_t)(m->seq + row) - (int64_t)m->seq_q;
}

bool npu_mask_sees(const struct npu_mask *m, uint64_t row, uint64_t key)
{
	switch (m->kind) {
	case NPU_MASK_NONE:
		return true;
	case NPU_MASK_CAUSAL:
		return (int64_t)key <= position(m, row);
	case NPU_MASK_PADDING:
		return key < m->valid;
	case NPU_MASK_WINDOW:
		return (int64_t)key <= position(m, row) && position(m, row) - (int64_t)key < (int64_t)m->window;
	}
	return true;
}

uint64_t npu_mask_first(const struct npu_mask *m, uint64_t row)
{
	if (m->kind != NPU_MASK_WINDOW || position(m, row) < (int64_t)m->window)
		return 0;
	return (uint64_t)(position(m, row) - (int64_t)m->window + 1);
}

uint64_t npu_mask_end(const struct npu_mask *m, uint64_t row)
{
	switch (m->kind) {
	case NPU_MASK_NONE:
		return m->seq;
	case NPU_MASK_PADDING:
		return m->valid;
	case NPU_MASK_CAUSAL:
	case NPU_MASK_WINDOW:
		return position(m, row) < 0 ? 0 : (uint64_t)position(m, row) + 1;
	}
	return m->seq;
}

uint64_t npu_mask_blind(const struct npu_mask *m)
{
	bool positions = m->kind == NPU_MASK_CAUSAL || m->kind == NPU_MASK_WINDOW;
	if (!m->seq || (m->kind == NPU_MASK_PADDING && !m->valid))
		return m->seq_q;
	return positions && m->seq_q > m->seq ? m->seq_q - m->seq : 0;
}

uint64_t npu_mask_hidden(const struct npu_mask *m, uint64_t row, uint64_t rows, uint64_t key, uint64_t keys)
{
	uint64_t hidden = 0;
	if (m->kind == NPU_MASK_NONE || m->kind == NPU_MASK_PADDING) {
		/* All rows see the same keys. */
		uint64_t end = npu_mask_end(m, row) < key + keys ? npu_mask_end(m, row) : key + keys;
		return rows * (keys - (end > key ? end - key : 0));
	}
	for (uint64_t r = row; r < row + rows; r++) {
		uint64_t first = npu_mask_first(m, r), end = npu_mask_end(m, r);
		first = first > key ? first : key;
		end = end < key + keys ? end : key + keys;
		hidden += keys - (end > first ? end - first : 0);
	}
	return hidden;
}

uint64_t npu_mask_seen(const struct npu_mask *m)
{
	/* Row at position p sees p + 1 keys, or `most` where that is fewer: a triangle, then a rectangle. */
	uint64_t most = m->kind == NPU_MASK_WINDOW && m->window < m->seq ? m->window : m->seq;
	uint64_t rows = m->seq_q < m->seq ? m->seq_q : m->seq, from = m->seq - rows + 1; /* p + 1 of the first row */
	uint64_t rows_below = most > from ? most - from : 0;

	switch (m->kind) {
	case NPU_MASK_NONE:
		return m->seq_q * m->seq;
	case NPU_MASK_PADDING:
		return m->seq_q * m->valid;
	case NPU_MASK_CAUSAL:
	case NPU_MASK_WINDOW:
		return rows_below * (2 * from + rows_below - 1) / 2 + (rows - rows_below) * most;
	}
	return 0;
}

void npu_mask_set(const struct npu_mask *m, uint64_t row, uint64_t rows, uint64_t key, uint64_t keys,
		  struct npu_softmax *s)
{
	bool positions = m->kind == NPU_MASK_CAUSAL || m->kind == NPU_MASK_WINDOW;
	uint64_t last = row + rows - 1;

	s->valid = ALL_VALID;
	if (m->kind == NPU_MASK_PADDING && m->valid < key + keys) {
		s->padded = 1;
		s->valid = (uint32_t)(m->valid > key ? m->valid - key : 0);
	}
	if (positions && npu_mask_end(m, row) < key + keys)
		s->causal = 1;
	if (m->kind == NPU_MASK_WINDOW && npu_mask_first(m, last) > key)
		s->window = (uint32_t)m->window;
	if (s->causal || s->window)
		s->diagonal = (int32_t)(position(m, row) - (int64_t)key);
}
