/* SPDX-License-Identifier: Apache-2.0 */
/* Random machines and programs. */
#include "tests/support/machine_random.h"

#include "tests/support/machine_loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct random {
	uint64_t state;
};

static uint64_t below(struct random *r, uint64_t n) /* splitmix64 */
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (z ^ z >> 31) % n;
}

static uint64_t one_of(struct random *r, const uint64_t *values, unsigned n)
{
	return values[below(r, n)];
}

#define ONE_OF(r, ...) \
	one_of(r, (const uint64_t[]){ __VA_ARGS__ }, sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

struct hw machine_random_hw(uint64_t seed)
{
	static const char *const parts[] = { "DDR4-2400", "LPDDR4-3200", "LPDDR4X-4266", "LPDDR5-6400", "HBM2-2000" };
	struct random r = { seed * 2 + 1 };
	struct hw hw = machine_hw(parts[below(&r, sizeof(parts) / sizeof(*parts))]);
	hw.npu.clock_mhz = (double)ONE_OF(&r, 1000, 1000, 700, 1333);
	hw.dram.channels = (uint32_t)ONE_OF(&r, 1, 1, 2, 4);
	hw.dram.ideal = below(&r, 8) == 0;
	hw.dram.front_delay = (uint32_t)ONE_OF(&r, 0, 0, 3);
	hw.sequencer.launch_cycles = ONE_OF(&r, 0, 1, 50);
	hw.sequencer.issue_cycles = ONE_OF(&r, 0, 1, 1, 7, 60);
	hw.sequencer.queue_depth = ONE_OF(&r, 1, 2, 4, 16);
	hw.sequencer.sync_latency = ONE_OF(&r, 0, 1, 4, 30);
	hw.sequencer.fetch = (uint32_t)ONE_OF(&r, HW_FETCH_ROM, HW_FETCH_ROM, HW_FETCH_DRAM);
	hw.sequencer.fetch_buffer = ONE_OF(&r, 1, 3, 8, 64);
	hw.dma.load_channels = ONE_OF(&r, 1, 2, 3);
	hw.dma.store_channels = ONE_OF(&r, 1, 2);
	hw.dma.port = ONE_OF(&r, 16, 32, 64);
	hw.dma.max_burst = ONE_OF(&r, 64, 256, 256, 512);
	hw.dma.outstanding = ONE_OF(&r, 1, 2, 5, 16, 32);
	hw.dma.start_cycles = ONE_OF(&r, 0, 1, 2, 16);
	hw.dma.descriptor_cycles = ONE_OF(&r, 0, 1, 1, 5);
	hw.dma.cdc_cycles = ONE_OF(&r, 1, 2, 4, 9);
	hw.matrix.rows = hw.matrix.cols = ONE_OF(&r, 8, 16, 32);
	hw.matrix.dataflow = (uint32_t)below(&r, 3);
	hw.matrix.weight_load = (uint32_t)below(&r, 2);
	hw.sram.groups = ONE_OF(&r, 1, 2, 4);
	return hw;
}

enum { SEMS = 6, TABLES = 2, ENTRIES = 64, POOL = 1 << 24 };

struct writer {
	struct random r;
	const struct hw *hw;
	struct npu_assembly *a;
	struct {
		enum npu_engine poster, waiter;
		uint32_t count; /* in program order */
	} sem[SEMS];
};

static uint32_t sram(struct writer *w, uint32_t bytes)
{
	/* Few places, so that addresses conflict now and then. */
	uint64_t places = w->hw->sram.size / 32768;
	uint32_t at = (uint32_t)(below(&w->r, places) * 32768 + below(&w->r, 3) * 64);
	return at + bytes > w->hw->sram.size ? 0 : at;
}

static uint32_t accum(struct writer *w)
{
	return NPU_ACC_BIT | (uint32_t)(below(&w->r, w->hw->accum.size / 32768) * 32768);
}

static enum npu_dtype element(struct writer *w)
{
	return (enum npu_dtype)ONE_OF(&w->r, NPU_FP16, NPU_FP32, NPU_INT8);
}

static void dma(struct writer *w, struct npu_insn *i, bool store)
{
	struct npu_dma *d = &i->dma;
	d->rows = (uint32_t)(1 + below(&w->r, 40));
	d->cols = (uint32_t)(1 + below(&w->r, 4) * 33);
	d->dtype = element(w);
	d->local = store && below(&w->r, 4) == 0 ? accum(w) : sram(w, 32768);
	d->dram = below(&w->r, 16) * 65536 + below(&w->r, 3) * 32 * 4;
	if (below(&w->r, 3) == 0) {
		d->dram_layout = (uint32_t)below(&w->r, 3);
		d->local_layout = (uint32_t)below(&w->r, 3);
		d->transpose = (uint32_t)below(&w->r, 2);
	} else if (below(&w->r, 2)) {
		d->dram_stride = 1024;
	}
}

static void paged(struct writer *w, struct npu_insn *i, bool store)
{
	struct npu_paged *p = &i->paged;
	p->cols = (uint32_t)ONE_OF(&w->r, 16, 64);
	p->dtype = NPU_FP16;
	p->page_rows = (uint32_t)ONE_OF(&w->r, 1, 4, 16);
	p->first = (uint32_t)below(&w->r, p->page_rows * 3);
	p->rows = (uint32_t)(1 + below(&w->r, 40));
	if (p->first + p->rows > p->page_rows * ENTRIES)
		p->rows = p->page_rows;
	p->row_stride = below(&w->r, 2) ? 0 : p->cols * 4;
	p->page_stride = p->page_rows * p->cols * 4;
	p->dram = POOL;
	p->table = (uint32_t)below(&w->r, TABLES);
	p->local = store && below(&w->r, 4) == 0 ? accum(w) : sram(w, 16384);
	p->transpose = below(&w->r, 4) == 0;
	p->local_layout = below(&w->r, 4) == 0 ? NPU_LAYOUT_BLOCK16 : NPU_LAYOUT_ROW;
	if (!p->transpose && p->local_layout == NPU_LAYOUT_ROW && below(&w->r, 3) == 0)
		p->odd = (int32_t)ONE_OF(&w->r, 4096, 2560, 32);
}

static void matmul(struct writer *w, struct npu_insn *i)
{
	struct npu_matmul *m = &i->matmul;
	m->m = (uint32_t)(1 + below(&w->r, 40));
	m->n = (uint32_t)(1 + below(&w->r, 40));
	m->k = (uint32_t)(1 + below(&w->r, 70));
	m->a = sram(w, 8192);
	m->b = sram(w, 8192);
	m->dst = accum(w);
	m->a_type = m->b_type = NPU_FP16;
	m->accumulate = (uint32_t)below(&w->r, 2);
	m->transpose_b = (uint32_t)below(&w->r, 2);
}

static void vector(struct writer *w, struct npu_insn *i)
{
	i->op = (uint8_t)ONE_OF(&w->r, NPU_OP_VEXP, NPU_OP_VCOPY, NPU_OP_VRECIP);
	i->un.rows = (uint32_t)(1 + below(&w->r, 20));
	i->un.cols = (uint32_t)(1 + below(&w->r, 70));
	i->un.a = below(&w->r, 2) ? accum(w) : sram(w, 8192);
	i->un.dst = below(&w->r, 2) ? accum(w) : sram(w, 8192);
	i->un.a_type = NPU_FP32;
	i->un.dst_type = NPU_FP32;
	i->un.scale = 1;
}

static void operands(struct writer *w, struct npu_insn *i, enum npu_engine e)
{
	static const enum npu_op syncs[] = { NPU_OP_SYNC_LOAD, NPU_OP_SYNC_STORE, NPU_OP_SYNC_MATRIX, NPU_OP_SYNC_VECTOR };
	bool is_paged = below(&w->r, 4) == 0;
	if (below(&w->r, 6) == 0) {
		i->op = (uint8_t)syncs[e];
		return;
	}
	switch (e) {
	case NPU_ENGINE_LOAD:
		i->op = is_paged ? NPU_OP_GATHER : NPU_OP_LOAD;
		is_paged ? paged(w, i, false) : dma(w, i, false);
		break;
	case NPU_ENGINE_STORE:
		i->op = is_paged ? NPU_OP_SCATTER : NPU_OP_STORE;
		is_paged ? paged(w, i, true) : dma(w, i, true);
		break;
	case NPU_ENGINE_MATRIX:
		i->op = NPU_OP_MATMUL;
		matmul(w, i);
		break;
	case NPU_ENGINE_VECTOR:
		vector(w, i);
		break;
	case NPU_ENGINES:
		break;
	}
}

static void synchronise(struct writer *w, struct npu_insn *i, enum npu_engine e)
{
	unsigned waits = 0, posts = 0;
	for (uint16_t s = 0; s < SEMS; s++) {
		if (w->sem[s].waiter == e && w->sem[s].count && waits < NPU_SYNC_SLOTS && below(&w->r, 2)) {
			uint16_t n = (uint16_t)(1 + below(&w->r, w->sem[s].count > 3 ? 3 : w->sem[s].count));
			i->wait[waits++] = (struct npu_sem_ref){ s, n };
			w->sem[s].count -= n;
		}
	}
	for (uint16_t s = 0; s < SEMS; s++) {
		if (w->sem[s].poster == e && posts < NPU_SYNC_SLOTS && below(&w->r, 2)) {
			uint16_t n = (uint16_t)(1 + below(&w->r, 2));
			i->post[posts++] = (struct npu_sem_ref){ s, n };
			w->sem[s].count += n;
		}
	}
}

static void declare(struct writer *w)
{
	static uint32_t entries[TABLES][ENTRIES];
	for (unsigned t = 0; t < TABLES; t++) {
		for (unsigned i = 0; i < ENTRIES; i++)
			entries[t][i] = (uint32_t)below(&w->r, 256);
		char name[8];
		snprintf(name, sizeof(name), "t%u", t);
		struct npu_table table = { name, 0x800000 + t * 4096 + 4 * below(&w->r, 8), ENTRIES, entries[t], 0 };
		npu_assembly_table(w->a, &table);
	}
	for (unsigned s = 0; s < SEMS; s++) {
		char name[8];
		snprintf(name, sizeof(name), "s%u", s);
		w->sem[s].poster = (enum npu_engine)below(&w->r, NPU_ENGINES);
		w->sem[s].waiter = (enum npu_engine)below(&w->r, NPU_ENGINES);
		w->sem[s].count = (uint32_t)below(&w->r, 3);
		npu_assembly_sem(w->a, name, w->sem[s].count, 65535);
	}
}

struct npu_program *machine_random_program(uint64_t seed, const struct hw *hw, unsigned ninsns)
{
	struct writer w = { .r = { seed * 2 }, .hw = hw, .a = npu_assembly_new("random") };
	struct npu_error err;
	declare(&w);
	unsigned n = (unsigned)(1 + below(&w.r, ninsns));
	for (unsigned i = 0; i < n; i++) {
		enum npu_engine e = (enum npu_engine)below(&w.r, NPU_ENGINES);
		struct npu_insn insn;
		memset(&insn, 0, sizeof(insn));
		operands(&w, &insn, e);
		synchronise(&w, &insn, e);
		npu_assembly_insn(w.a, &insn);
	}
	struct npu_program *p = npu_assembly_finish(w.a, &err);
	if (!p) {
		fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed, err.text);
		exit(2);
	}
	return p;
}
