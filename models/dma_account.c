/* SPDX-License-Identifier: Apache-2.0 */
/* What each cycle of a DMA engine is put down to. Between two events nothing changes that is not known here: who is
 * oldest, what is in flight; so the cycles of a gap between beats have one burst to blame, and the DRAM tells why it
 * took so long. */
#include "models/dma_core.h"

static void put(struct dma *d, enum npu_state state, uint64_t from, uint64_t to)
{
	if (from < to)
		d->listener.span(d->listener.ctx, state, d->channel[d->age[0]].insn, from, to);
}

static void put_explained(void *ctx, enum npu_state state, uint64_t from, uint64_t to)
{
	put(ctx, state, from, to);
}

/* The oldest burst in flight of the oldest instruction that has one. */
static const struct dma_flight *oldest_in_flight(const struct dma *d)
{
	for (unsigned i = 0; i < d->in_service; i++) {
		uint32_t tag = d->channel[d->age[i]].oldest;
		if (tag != DMA_NO_BURST)
			return &d->flight[tag];
	}
	return NULL;
}

/* No beat crossed or was denied in [from, to) and this burst is to blame. */
static void blame(struct dma *d, const struct dma_flight *f, uint64_t from, uint64_t to, uint64_t now)
{
	if (f->table) {
		put(d, NPU_STATE_DMA_SETUP, from, to);
		return;
	}
	uint64_t away = !f->sent || f->answer <= from ? from : f->answer < to ? f->answer : to;
	if (from < away)
		crossing_explain(d->crossing, d->port, (uint32_t)(f - d->flight), from, away, now, put_explained, d);
	put(d, NPU_STATE_ENGINE_LATENCY, away, to);
}

/* `f` is what the gap hangs on, from the cycle in which it was issued. */
static void settle_gap(struct dma *d, uint64_t from, uint64_t to, uint64_t now)
{
	if (from >= to)
		return;
	const struct dma_channel *oldest = &d->channel[d->age[0]];
	const struct dma_flight *f = oldest_in_flight(d);
	uint64_t begin = to;
	if (oldest->oldest != DMA_NO_BURST) {
		begin = f->issued;
	} else if (d->free == DMA_NO_BURST) {
		/* Its next burst is ready but others have had all the slots since the last issue. */
		begin = oldest->ready > d->next_issue - 1 ? oldest->ready : d->next_issue - 1;
	}
	begin = begin < from ? from : begin < to ? begin : to;
	put(d, NPU_STATE_DMA_SETUP, from, begin);
	if (begin < to)
		blame(d, f, begin, to, now);
}

void dma_put_down(struct dma *d, uint64_t until, uint64_t now)
{
	if (!d->listener.span || d->settled >= until)
		return;
	if (d->in_service) {
		while (ring_count(&d->beats)) {
			struct dma_beats *b = ring_at(&d->beats, 0);
			if (b->from >= until)
				break;
			settle_gap(d, d->settled, b->from, now);
			uint64_t from = b->from > d->settled ? b->from : d->settled;
			uint64_t to = b->to < until ? b->to : until;
			put(d, b->state, from, to);
			d->settled = to > d->settled ? to : d->settled;
			if (b->to > until)
				break;
			ring_pop(&d->beats);
		}
		settle_gap(d, d->settled, until, now);
	}
	d->settled = until;
}
