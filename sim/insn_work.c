/* SPDX-License-Identifier: Apache-2.0 */
/* Bursts as the DMA itself cuts them (models/dma_walk.h). */
#include "sim/insn_work.h"

#include "isa/access.h"
#include "models/dma_walk.h"

#include <stdlib.h>
#include <string.h>

bool insn_works_init(struct insn_works *w, const struct simulation *s)
{
	*w = (struct insn_works){ .s = s };
	w->runs = calloc(dma_most_runs(s->request.hw) + 1u, sizeof(*w->runs));
	return w->runs != NULL;
}

void insn_works_fini(struct insn_works *w)
{
	free(w->runs);
	memset(w, 0, sizeof(*w));
}

/* The entries of its block table are read a granule at a time. */
static void add_table(const struct npu_program *p, const struct npu_insn *insn, uint64_t granule, struct insn_work *work)
{
	const struct npu_paged *paged = &insn->paged;
	uint64_t from = p->tables[paged->table].addr + 4ull * (paged->first / paged->page_rows);
	uint64_t granules = (from + npu_insn_table_bytes(insn) + granule - 1) / granule - from / granule;
	work->bursts += granules;
	work->granule_bytes += granules * granule;
}

static void add_bursts(struct insn_works *w, const struct npu_insn *insn, struct insn_work *work)
{
	const struct simulation_request *r = &w->s->request;
	uint64_t granule = dram_burst_bytes(&r->hw->dram);
	struct dma_walk walk;
	struct dma_burst burst;
	dma_walk_init(&walk, r->hw, r->program, insn);
	while (dma_walk_peek(&walk, &burst)) {
		dma_walk_next(&walk, &burst, w->runs);
		uint64_t from = burst.addr / granule, to = (burst.addr + burst.bytes + granule - 1) / granule;
		work->bursts++;
		work->granule_bytes += (to - from) * granule;
	}
	if (npu_insn_table_bytes(insn) > 0)
		add_table(r->program, insn, granule, work);
	if (dma_run_elements(insn) > 0)
		work->rearranged_bytes = npu_insn_dram_bytes(insn);
}

/* From the last operand of the product before to the first one of this, as long as that one had not ended. */
static uint64_t drain_before(const struct probe_insn *before, const struct probe_insn *event)
{
	uint64_t to = event->stream_begin < before->end ? event->stream_begin : before->end;
	return to > before->stream_end ? to - before->stream_end : 0;
}

struct insn_work insn_works_next(struct insn_works *w, uint32_t i)
{
	const struct npu_insn *insn = &w->s->request.program->insns[i];
	struct insn_work work = { 0 };
	if (insn->op == NPU_OP_MATMUL) {
		const struct probe_insn *event = &w->s->record.events[i];
		work.m = insn->matmul.m;
		work.n = insn->matmul.n;
		work.k = insn->matmul.k;
		work.drain = w->product ? drain_before(w->product, event) : 0;
		w->product = event;
	} else if (npu_insn_dram_bytes(insn) > 0) {
		add_bursts(w, insn, &work);
	}
	return work;
}
