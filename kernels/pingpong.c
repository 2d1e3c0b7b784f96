/* SPDX-License-Identifier: Apache-2.0 */
/* Semaphores of a ring of buffers. */
#include "kernels/pingpong.h"

#include <stdio.h>

/* What is larger keeps the DRAM busy alone. */
enum { LARGE_TILE = 128 * 1024 };

static struct npu_semaphore slot_semaphore(struct npu_builder *b, const char *name, const char *state, unsigned slots,
					   unsigned slot, uint32_t initial)
{
	char text[64];
	if (slots > 1)
		snprintf(text, sizeof text, "%s_%s[%u]", name, state, slot);
	else
		snprintf(text, sizeof text, "%s_%s", name, state);
	return npu_semaphore(b, text, initial);
}

void ring_init(struct npu_builder *b, struct ring *r, const char *name)
{
	for (unsigned i = 0; i < r->n; i++) {
		r->full[i] = slot_semaphore(b, name, "full", r->n, i, 0);
		r->free[i] = slot_semaphore(b, name, "free", r->n, i, 1);
	}
}

void ring_init_free(struct npu_builder *b, struct ring *r, const char *name)
{
	for (unsigned i = 0; i < r->n; i++)
		r->free[i] = slot_semaphore(b, name, "free", r->n, i, 1);
}

void ring_init_full(struct npu_builder *b, struct ring *r, const char *name)
{
	for (unsigned i = 0; i < r->n; i++)
		r->full[i] = slot_semaphore(b, name, "full", r->n, i, 0);
}

void ring_release(struct npu_builder *b, const struct ring *r)
{
	for (unsigned i = 0; i < r->n * (r->panel ? r->panel : 1); i++)
		npu_release(b, r->at[i]);
}

struct npu_semaphore loads_in_turn(struct npu_builder *b, unsigned few, uint64_t bytes)
{
	bool meet = npu_builder_capacity(b)->load_channels > few && bytes >= LARGE_TILE;
	return meet ? npu_semaphore(b, "load_turn", 1) : NPU_NO_SEMAPHORE;
}
