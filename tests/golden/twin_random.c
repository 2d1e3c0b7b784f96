/* SPDX-License-Identifier: Apache-2.0 */
/* Random machines and programs for the twin. */
#include "tests/golden/twin_random.h"

#include "isa/access.h"
#include "sim/config.h"

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

static bool one_in(struct random *r, unsigned n)
{
	return below(r, n) == 0;
}

#define ONE_OF(r, ...)                                                                                                 \
	(((const uint64_t[]){ __VA_ARGS__ })[below(r, sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))])

/* ---- machines ---- */

static struct hw preset(const char *name, const char *part)
{
	struct hw hw;
	struct npu_error err;
	char set[80];
	const char *sets[] = { set };
	snprintf(set, sizeof set, "dram.part=%s", part ? part : "");
	if (!config_load(&hw, name, sets, part != NULL, &err)) {
		fprintf(stderr, "%s: %s\n", name, err.text);
		exit(2);
	}
	return hw;
}

static void vary(struct random *r, struct hw *hw)
{
	hw->npu.clock_mhz = (double)ONE_OF(r, 1000, 1000, 700, 1333);
	hw->dram.channels = (uint32_t)ONE_OF(r, 1, 2, 4);
	hw->dram.refresh = (uint32_t)ONE_OF(r, DRAM_REFRESH_ALLBANK, DRAM_REFRESH_ALLBANK, DRAM_REFRESH_PERBANK);
	hw->dram.refresh_order = (uint32_t)ONE_OF(r, DRAM_REFRESH_FIXED, DRAM_REFRESH_IDLE);
	hw->dram.front_delay = (uint32_t)ONE_OF(r, 0, 0, 3);
	hw->dram.channel_hash = one_in(r, 2);
	hw->dram.bank_hash = one_in(r, 2);
	hw->dram.turn = (uint32_t)ONE_OF(r, 128, 128, 32, 256);
	hw->dram.hit_cap = (uint32_t)ONE_OF(r, 32, 32, 4, 0);
	hw->dram.drain_high = (uint32_t)ONE_OF(r, 80, 80, 50);
	hw->dram.drain_low = (uint32_t)ONE_OF(r, 20, 20, 0);
	hw->dram.ideal = one_in(r, 10);
	hw->sequencer.launch_cycles = ONE_OF(r, 1, 50);
	hw->sequencer.issue_cycles = ONE_OF(r, 0, 1, 1, 7, 40);
	hw->sequencer.queue_depth = ONE_OF(r, 1, 2, 4, 16);
	hw->sequencer.sync_latency = ONE_OF(r, 0, 1, 4, 30);
	hw->sequencer.fetch = (uint32_t)ONE_OF(r, HW_FETCH_ROM, HW_FETCH_ROM, HW_FETCH_DRAM);
	hw->sequencer.fetch_buffer = ONE_OF(r, 3, 8, 64);
	hw->dma.load_channels = ONE_OF(r, 1, 2, 3);
	hw->dma.store_channels = ONE_OF(r, 1, 2);
	hw->dma.port = ONE_OF(r, 16, 32, 64);
	hw->dma.max_burst = ONE_OF(r, 64, 256, 512);
	hw->dma.outstanding = ONE_OF(r, 8, 16, 32, 64); /* with fewer, two streams lock in step with each other or with
							   refresh: a cycle decides for thousands */
	hw->dma.start_cycles = ONE_OF(r, 0, 2, 16);
	hw->dma.descriptor_cycles = ONE_OF(r, 0, 1, 5);
	hw->dma.cdc_cycles = ONE_OF(r, 1, 4, 9);
	hw->matrix.dataflow = (uint32_t)below(r, 3);
	hw->matrix.weight_load = (uint32_t)ONE_OF(r, HW_LOAD_OVERLAPPED, HW_LOAD_OVERLAPPED, HW_LOAD_SERIAL);
	hw->matrix.ragged = (uint32_t)ONE_OF(r, HW_RAGGED_FULL, HW_RAGGED_USED);
	hw->matrix.int8_macs_per_pe = ONE_OF(r, 1, 2);
	hw->matrix.preload = (uint32_t)ONE_OF(r, HW_PRELOAD_EARLY, HW_PRELOAD_EARLY, HW_PRELOAD_LAST_BLOCK);
	hw->matrix.shift_out = (uint32_t)ONE_OF(r, HW_SHIFT_DOWN, HW_SHIFT_DOWN, HW_SHIFT_ACROSS);
	hw->matrix.load_rows = ONE_OF(r, 0, 0, 1);
	hw->matrix.input_registers = ONE_OF(r, 0, 0, 2);
	hw->matrix.output_registers = ONE_OF(r, 0, 0, 1);
	hw->vector.startup_cycles = ONE_OF(r, 0, 8, 20);
	hw->sram.groups = ONE_OF(r, 1, 2, 4);
	hw->sram.bank_bytes = ONE_OF(r, 16, 32, 64);
}

struct hw twin_random_hw(uint64_t seed, bool plain)
{
	static const char *const presets[] = { "tiny-256k", "edge-1mb", "edge-2mb", "server" };
	static const char *const parts[] = { "DDR4-2400", "LPDDR4-3200", "LPDDR4X-4266", "LPDDR5-6400", "HBM2-2000" };
	struct random r = { seed * 2 + 1 };
	const char *name = presets[plain ? seed % 4 : below(&r, 3)];
	if (plain)
		return preset(name, NULL);
	struct hw base = preset(name, parts[below(&r, sizeof parts / sizeof *parts)]);
	for (;;) {
		struct hw hw = base;
		struct npu_error err;
		vary(&r, &hw);
		if (hw_check(&hw, NULL, &err))
			return hw;
	}
}

/* ---- programs ---- */

enum { SEMS = 6, ENTRIES = 256, POOL = 1 << 24, TABLE_AT = 1 << 23 };

struct writer {
	struct random r;
	const struct hw *hw;
	struct npu_assembly *a;
	uint32_t entries[ENTRIES];
	struct {
		enum npu_engine poster, waiter;
		uint32_t count; /* in program order */
	} sem[SEMS];
};

/* Few places, so that engines meet in groups and banks now and then; whoever needs more than there is goes to the
 * front. */
static uint32_t sram(struct writer *w, uint64_t bytes)
{
	uint64_t places = w->hw->sram.size / 32768, at = below(&w->r, places) * 32768 + below(&w->r, 3) * 64;
	return at + bytes > w->hw->sram.size ? 0 : (uint32_t)at;
}

static uint32_t accum(struct writer *w, uint64_t bytes)
{
	uint64_t at = below(&w->r, w->hw->accum.banks) * (w->hw->accum.size / w->hw->accum.banks) / 64 * 64;
	return NPU_ACC_BIT | (at + bytes > w->hw->accum.size ? 0 : (uint32_t)at);
}

static uint32_t local(struct writer *w, uint64_t bytes)
{
	bool fits = bytes <= w->hw->accum.size;
	return fits && below(&w->r, 2) ? accum(w, bytes) : sram(w, bytes);
}

static enum npu_dtype element(struct writer *w)
{
	return (enum npu_dtype)ONE_OF(&w->r, NPU_FP16, NPU_FP16, NPU_FP32, NPU_INT8);
}

static void dma(struct writer *w, struct npu_insn *i, bool store)
{
	struct npu_dma *d = &i->dma;
	d->rows = (uint32_t)(1 + below(&w->r, 64));
	d->cols = (uint32_t)ONE_OF(&w->r, 16, 33, 64, 128, 200, 256);
	d->dtype = element(w);
	if (one_in(&w->r, 4)) {
		d->dram_layout = (uint32_t)below(&w->r, 3);
		d->local_layout = (uint32_t)below(&w->r, 3);
		d->transpose = (uint32_t)below(&w->r, 2);
		d->rows = d->rows > 40 ? 40 : d->rows;
	} else if (below(&w->r, 2)) {
		d->dram_stride = 2048;
	}
	d->local = store && one_in(&w->r, 4) ? accum(w, 65536) : sram(w, 100000);
	d->dram = below(&w->r, 64) * 65536 + below(&w->r, 3) * 128;
}

static void paged(struct writer *w, struct npu_insn *i, bool store)
{
	struct npu_paged *p = &i->paged;
	p->cols = (uint32_t)ONE_OF(&w->r, 32, 64, 128);
	p->dtype = NPU_FP16;
	p->page_rows = (uint32_t)ONE_OF(&w->r, 1, 8, 16, 32);
	p->first = (uint32_t)below(&w->r, p->page_rows * 3);
	p->rows = (uint32_t)(1 + below(&w->r, 96));
	p->row_stride = below(&w->r, 2) ? 0 : p->cols * 4;
	p->page_stride = p->page_rows * p->cols * 4;
	p->dram = POOL;
	p->transpose = one_in(&w->r, 4);
	p->local_layout = one_in(&w->r, 4) ? NPU_LAYOUT_BLOCK16 : NPU_LAYOUT_ROW;
	p->local = store && one_in(&w->r, 4) ? accum(w, 32768) : sram(w, 32768);
	/* Half of the rows of at most 96, of 256 bytes, somewhere in the same room. */
	if (!p->transpose && p->local_layout == NPU_LAYOUT_ROW && one_in(&w->r, 3))
		p->odd = (int32_t)ONE_OF(&w->r, 12288, 16384, 64);
}

static void matmul(struct writer *w, struct npu_insn *i)
{
	struct npu_matmul *m = &i->matmul;
	uint64_t rows = w->hw->matrix.rows;
	m->m = (uint32_t)(1 + below(&w->r, 2 * rows));
	m->n = (uint32_t)(1 + below(&w->r, 2 * rows));
	m->k = (uint32_t)(1 + below(&w->r, 3 * rows));
	if (below(&w->r, 2)) { /* whole tiles */
		m->m = (uint32_t)(rows * (1 + below(&w->r, 2)));
		m->n = (uint32_t)(rows * (1 + below(&w->r, 2)));
		m->k = (uint32_t)(rows * (1 + below(&w->r, 3)));
	}
	m->a_type = (uint32_t)ONE_OF(&w->r, NPU_FP16, NPU_FP16, NPU_BF16, NPU_INT8);
	m->b_type = one_in(&w->r, 4) ? NPU_INT4 : m->a_type;
	m->accumulate = (uint32_t)below(&w->r, 2);
	m->transpose_a = one_in(&w->r, 4);
	m->transpose_b = (uint32_t)below(&w->r, 2);
	m->a_layout = one_in(&w->r, 5) ? NPU_LAYOUT_BLOCK16 : NPU_LAYOUT_ROW;
	m->b_layout = one_in(&w->r, 5) ? NPU_LAYOUT_BLOCK32 : NPU_LAYOUT_ROW;
	if (m->b_type == NPU_INT4 || m->b_type == NPU_INT8)
		m->group = (uint32_t)ONE_OF(&w->r, 0, 32, 64);
	if (m->b_type == NPU_INT4) {
		m->n += m->n % 2;
		m->k += m->k % 2;
	}
	m->a = sram(w, 100000);
	m->b = sram(w, 100000);
	m->scales = sram(w, 16384);
	m->dst = accum(w, 4ull * m->m * m->n);
	if (4ull * m->m * m->n > w->hw->accum.size)
		m->m = (uint32_t)rows;
}

static void vector(struct writer *w, struct npu_insn *i)
{
	static const enum npu_op ew[] = { NPU_OP_VADD, NPU_OP_VMUL, NPU_OP_VDIV, NPU_OP_VMAX };
	static const enum npu_op un[] = { NPU_OP_VCOPY, NPU_OP_VEXP,  NPU_OP_VRSQRT,
					  NPU_OP_VGELU, NPU_OP_VTANH, NPU_OP_VTRANSPOSE };
	static const enum npu_op red[] = { NPU_OP_VREDMAX, NPU_OP_VREDSUM, NPU_OP_VREDSUMSQ };
	static const enum npu_op soft[] = { NPU_OP_VMASK, NPU_OP_VSOFTMAX, NPU_OP_VSOFTMAX_ONLINE };
	uint32_t rows = (uint32_t)(1 + below(&w->r, 64)), cols = (uint32_t)ONE_OF(&w->r, 16, 40, 64, 128);
	uint64_t bytes = 4ull * rows * cols;
	uint32_t a = local(w, bytes), dst = local(w, bytes), x = sram(w, bytes), y = sram(w, bytes);
	enum npu_dtype from = (enum npu_dtype)ONE_OF(&w->r, NPU_FP32, NPU_FP16),
		       to = (enum npu_dtype)ONE_OF(&w->r, NPU_FP32, NPU_FP16);
#define COMMON(f)                                                                                                      \
	(i->f.dst = dst, i->f.a = a, i->f.rows = rows, i->f.cols = cols, i->f.dst_type = to, i->f.a_type = from)
	switch (below(&w->r, 7)) {
	case 0:
		*i = npu_insn_initial(ew[below(&w->r, 4)]);
		COMMON(ew);
		i->ew.b = x;
		i->ew.b_type = from;
		i->ew.b_bcast = (uint32_t)below(&w->r, 4);
		i->ew.act = (uint32_t)below(&w->r, 5);
		break;
	case 1:
		*i = npu_insn_initial(un[below(&w->r, 6)]);
		COMMON(un);
		break;
	case 2:
		*i = npu_insn_initial(red[below(&w->r, 3)]);
		COMMON(red);
		i->red.accumulate = (uint32_t)below(&w->r, 2);
		break;
	case 3:
		*i = npu_insn_initial(NPU_OP_VQUANT);
		COMMON(quant);
		i->quant.dst_type = NPU_INT8;
		i->quant.scale = (uint32_t)ONE_OF(&w->r, NPU_SCALE_ROW, NPU_SCALE_COL, NPU_SCALE_GROUP);
		i->quant.group = 8;
		i->quant.scales = x;
		i->quant.zeros = y;
		i->quant.dynamic = (uint32_t)below(&w->r, 2);
		i->quant.asymmetric = (uint32_t)below(&w->r, 2);
		break;
	case 4:
		*i = npu_insn_initial(below(&w->r, 2) ? NPU_OP_VRMSNORM : NPU_OP_VLAYERNORM);
		COMMON(norm);
		i->norm.weight = x;
		i->norm.bias = y;
		break;
	case 5:
		*i = npu_insn_initial(NPU_OP_VROPE);
		i->rope.dst = dst;
		i->rope.a = a;
		i->rope.rows = rows;
		i->rope.heads = 1;
		i->rope.dim = cols;
		i->rope.rotary = cols;
		i->rope.cosine = x;
		i->rope.sine = y;
		break;
	default:
		*i = npu_insn_initial(soft[below(&w->r, 3)]);
		COMMON(softmax);
		i->softmax.state = x;
		i->softmax.causal = (uint32_t)below(&w->r, 2);
		break;
	}
}

static void operands(struct writer *w, struct npu_insn *i, enum npu_engine e)
{
	static const enum npu_op syncs[] = { NPU_OP_SYNC_LOAD, NPU_OP_SYNC_STORE, NPU_OP_SYNC_MATRIX,
					     NPU_OP_SYNC_VECTOR };
	bool is_paged = one_in(&w->r, 4);
	if (one_in(&w->r, 10)) {
		*i = npu_insn_initial(syncs[e]);
		return;
	}
	switch (e) {
	case NPU_ENGINE_LOAD:
		*i = npu_insn_initial(is_paged ? NPU_OP_GATHER : NPU_OP_LOAD);
		is_paged ? paged(w, i, false) : dma(w, i, false);
		break;
	case NPU_ENGINE_STORE:
		*i = npu_insn_initial(is_paged ? NPU_OP_SCATTER : NPU_OP_STORE);
		is_paged ? paged(w, i, true) : dma(w, i, true);
		break;
	case NPU_ENGINE_MATRIX:
		*i = npu_insn_initial(NPU_OP_MATMUL);
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
	for (uint16_t s = 0; s < SEMS; s++)
		if (w->sem[s].waiter == e && w->sem[s].count && waits < NPU_SYNC_SLOTS && below(&w->r, 2)) {
			uint16_t n = (uint16_t)(1 + below(&w->r, w->sem[s].count > 3 ? 3 : w->sem[s].count));
			i->wait[waits++] = (struct npu_sem_ref){ s, n };
			w->sem[s].count -= n;
		}
	for (uint16_t s = 0; s < SEMS; s++)
		if (w->sem[s].poster == e && posts < NPU_SYNC_SLOTS && below(&w->r, 2)) {
			uint16_t n = (uint16_t)(1 + below(&w->r, 2));
			i->post[posts++] = (struct npu_sem_ref){ s, n };
			w->sem[s].count += n;
		}
}

static void declare(struct writer *w)
{
	for (unsigned i = 0; i < ENTRIES; i++)
		w->entries[i] = (uint32_t)below(&w->r, 512);
	struct npu_table table = {
		.name = "table", .addr = TABLE_AT + 4 * below(&w->r, 8), .count = ENTRIES, .entries = w->entries
	};
	npu_assembly_table(w->a, &table);
	for (unsigned s = 0; s < SEMS; s++) {
		char name[8];
		snprintf(name, sizeof name, "s%u", s);
		w->sem[s].poster = (enum npu_engine)below(&w->r, NPU_ENGINES);
		w->sem[s].waiter = (enum npu_engine)below(&w->r, NPU_ENGINES);
		w->sem[s].count = (uint32_t)below(&w->r, 3);
		npu_assembly_sem(w->a, name, w->sem[s].count, NPU_SEM_MAX_COUNT);
	}
}

/* What a random instruction touches lies inside the machine. */
static bool fits(const struct hw *hw, const struct npu_insn *i)
{
	struct npu_access access[NPU_MAX_ACCESSES];
	unsigned n = npu_insn_accesses(i, access);
	for (unsigned k = 0; k < n; k++) {
		const struct npu_access *a = &access[k];
		uint64_t end = a->base + (a->rows - 1) * a->stride + a->row_bytes;
		if ((a->space == NPU_SPACE_SRAM && end > hw->sram.size) ||
		    (a->space == NPU_SPACE_ACCUM && end > hw->accum.size))
			return false;
	}
	return true;
}

struct npu_program *twin_random_program(uint64_t seed, const struct hw *hw, unsigned ninsns)
{
	struct writer w = { .r = { seed * 2 }, .hw = hw, .a = npu_assembly_new("random") };
	struct npu_error err;
	declare(&w);
	/* Some programs leave an engine or two out. */
	uint64_t out = below(&w.r, 3) ? NPU_ENGINES : below(&w.r, NPU_ENGINES);
	for (unsigned i = 0; i < ninsns;) {
		enum npu_engine e = (enum npu_engine)below(&w.r, NPU_ENGINES);
		struct npu_insn insn;
		if (e == out)
			continue;
		operands(&w, &insn, e);
		if (!fits(hw, &insn))
			continue;
		synchronise(&w, &insn, e);
		npu_assembly_insn(w.a, &insn);
		i++;
	}
	struct npu_program *p = npu_assembly_finish(w.a, &err);
	if (!p) {
		fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed, err.text);
		exit(2);
	}
	return p;
}
