/* SPDX-License-Identifier: Apache-2.0 */
/* A played machine and a program for it: made-up durations, told to the probe as the real machine would, so that records,
 * reports and timelines are tested for what they add up and not for what a model costs. Included by one test at a time. */
#ifndef NPU_TESTS_SIM_RECORD_PLAY_H
#define NPU_TESTS_SIM_RECORD_PLAY_H

#include "isa/access.h"
#include "isa/field.h"
#include "models/machine.h"
#include "sim/simulate_parts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLAY_SYNC_LATENCY = 4, PLAY_SETUP = 16, PLAY_VECTOR = 60, PLAY_DRAIN = 20, PLAY_POSTS = 8 };

struct play_post {
	uint64_t time;
	uint32_t insn;
};

/* Posts of a semaphore in order; a legal program's waits take them in that order. */
struct play_sem {
	struct play_post *posts;
	uint64_t posted, taken, capacity;
};

struct play {
	const struct npu_program *program;
	const struct probe *probe;
	struct machine_totals *totals;
	struct play_sem *sems;
	uint64_t free_at[NPU_ENGINES]; /* the engine's last instruction has ended, or accepts the next one */
	uint64_t told[NPU_ENGINES];    /* spans up to here */
	uint64_t last_end[NPU_ENGINES];
	uint64_t last_start[NPU_ENGINES];
	uint32_t loads;
	uint64_t issue; /* the sequencer's next instruction */
	uint64_t end;
	uint64_t bus;
};

static inline void play_hw(struct hw *hw)
{
	memset(hw, 0, sizeof(*hw));
	strcpy(hw->name, "folder/play.yaml");
#define KEY(section, type, name, initial, min, max, unit, doc) hw->section.name = (initial);
#include "models/hw.def"
	dram_config_init(&hw->dram);
	hw->dram.bus_bits = 16;
	hw->dram.beats_per_clk = 2;
	hw->dram.tck_num = 1000;
	hw->dram.tck_den = 1;
}

static inline void play_span(struct play *p, enum npu_engine e, enum npu_state state, uint32_t insn, uint64_t to)
{
	if (to <= p->told[e])
		return;
	struct probe_span span = { .engine = e, .state = state, .insn = insn, .from = p->told[e], .to = to };
	p->told[e] = to;
	p->probe->span(p->probe->ctx, &span);
}

static inline void play_post(struct play *p, const struct npu_sem_ref *ref, uint64_t time, uint32_t insn)
{
	struct play_sem *sem = &p->sems[ref->sem];
	for (unsigned i = 0; i < ref->count; i++) {
		if (sem->posted == sem->capacity) {
			sem->capacity = sem->capacity ? 2 * sem->capacity : PLAY_POSTS;
			sem->posts = realloc(sem->posts, sem->capacity * sizeof(*sem->posts));
		}
		sem->posts[sem->posted++] = (struct play_post){ time, insn };
	}
}

static inline enum npu_state play_wait_state(enum npu_engine poster)
{
	switch (poster) {
	case NPU_ENGINE_LOAD:
		return NPU_STATE_WAIT_LOAD;
	case NPU_ENGINE_STORE:
		return NPU_STATE_WAIT_STORE;
	case NPU_ENGINE_MATRIX:
		return NPU_STATE_WAIT_MATRIX;
	case NPU_ENGINE_VECTOR:
	case NPU_ENGINES:
		break;
	}
	return NPU_STATE_WAIT_VECTOR;
}

/* When the waits hold; `*state` is what the engine waits for until then. */
static inline uint64_t play_waits(struct play *p, const struct npu_insn *insn, struct probe_insn *event,
				  enum npu_state *state)
{
	uint64_t ready = event->head;
	for (unsigned w = 0; w < NPU_SYNC_SLOTS; w++) {
		const struct npu_sem_ref *ref = &insn->wait[w];
		event->enabled_by[w] = PROBE_NOBODY;
		if (ref->count == 0)
			continue;
		struct play_sem *sem = &p->sems[ref->sem];
		sem->taken += ref->count;
		assert(sem->taken <= sem->posted);
		const struct play_post *last = &sem->posts[sem->taken - 1];
		event->enabled_by[w] = last->insn;
		if (last->insn != PROBE_NOBODY && last->time + PLAY_SYNC_LATENCY > ready) {
			ready = last->time + PLAY_SYNC_LATENCY;
			*state = play_wait_state(p->program->sems[ref->sem].poster);
		}
	}
	return ready;
}

/* Set-up, then beats and bandwidth stalls by turns; a DRAM transfer under every stall. */
static inline uint64_t play_dma(struct play *p, const struct probe_insn *event, uint64_t bytes)
{
	bool write = event->engine == NPU_ENGINE_STORE;
	uint64_t t = event->start + PLAY_SETUP;
	play_span(p, event->engine, NPU_STATE_DMA_SETUP, event->insn, t);
	for (uint64_t left = bytes; left > 0;) {
		uint32_t part = left < 2048 ? (uint32_t)left : 2048;
		struct probe_transfer transfer = { 0, write, part, t > p->bus ? t : p->bus, 0 };
		transfer.to = transfer.from + (part + 3) / 4;
		p->bus = transfer.to;
		play_span(p, event->engine, NPU_STATE_DRAM_BANDWIDTH, event->insn, transfer.to);
		t = transfer.to + (part + 31) / 32;
		play_span(p, event->engine, NPU_STATE_BUSY, event->insn, t);
		if (p->probe->transfer)
			p->probe->transfer(p->probe->ctx, &transfer);
		p->totals->dram.bus_busy_clk += transfer.to - transfer.from;
		p->totals->dram.bursts++;
		left -= part;
	}
	p->totals->dram.bus_bytes += bytes;
	p->totals->sram_bytes[event->engine] += bytes;
	if (write)
		p->totals->dram.write_bytes += bytes;
	else
		p->totals->dram.read_bytes += bytes;
	return t;
}

static inline void play_service(struct play *p, const struct npu_insn *insn, struct probe_insn *event)
{
	enum npu_engine e = event->engine;
	event->stream_begin = event->start;
	if (npu_op_is_sync(insn->op)) {
		event->end = event->start > p->last_end[e] ? event->start : p->last_end[e];
		event->start = event->stream_begin = event->stream_end = event->end;
		p->free_at[e] = event->end;
		return;
	}
	switch (e) {
	case NPU_ENGINE_LOAD:
	case NPU_ENGINE_STORE:
		event->slot = e == NPU_ENGINE_LOAD ? p->loads++ % 2 : 0;
		p->totals->dram.reads += e == NPU_ENGINE_LOAD;
		p->totals->table_bytes += npu_insn_table_bytes(insn);
		event->stream_end = event->end = p->free_at[e] = play_dma(p, event, npu_insn_dram_bytes(insn));
		break;
	case NPU_ENGINE_MATRIX:
		event->stream_begin += 8; /* the first weights load */
		event->stream_end = event->stream_begin + npu_insn_macs(insn) / 1024 + 1;
		event->end = event->stream_end + PLAY_DRAIN;
		play_span(p, e, NPU_STATE_BUSY, event->insn, event->stream_end - 5);
		play_span(p, e, NPU_STATE_SRAM_CONFLICT, event->insn, event->stream_end);
		play_span(p, e, NPU_STATE_BUSY, event->insn, event->end);
		p->free_at[e] = event->stream_end;
		break;
	case NPU_ENGINE_VECTOR:
		event->stream_end = event->end = p->free_at[e] = event->start + PLAY_VECTOR;
		play_span(p, e, NPU_STATE_ENGINE_LATENCY, event->insn, event->start + 8);
		play_span(p, e, NPU_STATE_BUSY, event->insn, event->end);
		p->totals->vector_slots += 1000;
		break;
	case NPU_ENGINES:
		break;
	}
}

static inline void play_insn(struct play *p, uint32_t i)
{
	const struct npu_insn *insn = &p->program->insns[i];
	enum npu_engine e = npu_op_engine(insn->op);
	struct probe_insn event = { .insn = i, .engine = e, .issued = ++p->issue };
	event.head = event.issued > p->last_start[e] ? event.issued : p->last_start[e];
	enum npu_state state = NPU_STATE_BUSY;
	uint64_t ready = play_waits(p, insn, &event, &state);
	event.start = ready > p->free_at[e] ? ready : p->free_at[e];
	play_span(p, e, NPU_STATE_DISPATCH_RATE, PROBE_NOBODY, event.issued);
	if (ready > p->told[e] && !npu_op_is_sync(insn->op))
		play_span(p, e, state, i, ready);
	else if (npu_op_is_sync(insn->op))
		play_span(p, e, state == NPU_STATE_BUSY ? NPU_STATE_DISPATCH_RATE : state, i, ready);
	play_service(p, insn, &event);
	p->last_start[e] = event.start;
	p->last_end[e] = event.end;
	p->end = event.end > p->end ? event.end : p->end;
	for (unsigned s = 0; s < NPU_SYNC_SLOTS; s++)
		if (insn->post[s].count > 0)
			play_post(p, &insn->post[s], event.end, i);
	p->probe->insn(p->probe->ctx, &event);
}

/* A run. Engines are serial, but a product may start when the one before it has streamed; loads go to two channels by
 * turns. */
static inline void play_run(const struct npu_program *program, const struct probe *probe, struct machine_totals *totals)
{
	struct play p = { .program = program, .probe = probe, .totals = totals };
	memset(totals, 0, sizeof(*totals));
	p.sems = calloc(program->nsems + 1ull, sizeof(*p.sems));
	for (uint32_t s = 0; s < program->nsems; s++)
		play_post(&p, &(struct npu_sem_ref){ (uint16_t)s, (uint16_t)program->sems[s].initial }, 0, PROBE_NOBODY);
	probe->sequencer(probe->ctx, NPU_SEQ_LAUNCH, 0, 1);
	for (uint32_t i = 0; i < program->ninsns; i++)
		play_insn(&p, i);
	uint64_t issued = program->ninsns > 0 ? p.issue : 1;
	if (p.end < issued)
		p.end = issued;
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		play_span(&p, (enum npu_engine)e, NPU_STATE_IDLE, PROBE_NOBODY, p.end);
	probe->sequencer(probe->ctx, NPU_SEQ_ISSUE, 1, issued);
	probe->sequencer(probe->ctx, NPU_SEQ_DONE, issued, p.end);
	totals->cycles = p.end;
	totals->dram.read_bytes += totals->table_bytes;
	totals->dram.row_hits = totals->dram.bursts;
	totals->dram.read_latency_sum = 50 * totals->dram.reads;
	for (uint32_t s = 0; s < program->nsems; s++)
		free(p.sems[s].posts);
	free(p.sems);
}

/* The machine of simulate_on(). */
static inline bool play_machine(const struct simulation_request *request, const struct probe *probe,
				struct machine_totals *totals, struct npu_error *err)
{
	(void)err;
	play_run(request->program, probe, totals);
	return true;
}

/* What play_program() is made of. */
enum {
	PLAY_Q = 0x0,
	PLAY_K = 0x8000,
	PLAY_TILE = 16384, /* bytes of an fp16 [64, 128] */
	PLAY_P = 0x10000,
	PLAY_S = NPU_ACC_BIT,
	PLAY_S_BYTES = 16384, /* fp32 [64, 64] */
	PLAY_HEADS = 2,
};

static inline struct npu_insn play_load(uint32_t local, uint64_t dram)
{
	struct npu_insn insn = npu_insn_initial(NPU_OP_LOAD);
	insn.dma.local = local;
	insn.dma.dram = dram;
	insn.dma.rows = 64;
	insn.dma.cols = 128;
	return insn;
}

static inline void play_tensor(struct npu_assembly *a, const char *name, uint64_t addr, uint64_t rows, uint64_t cols,
			       enum npu_tensor_dir dir)
{
	struct npu_tensor t = { .name = name, .addr = addr, .bytes = rows * cols * 2, .dtype = NPU_FP16, .dir = dir,
				.rank = 2, .shape = { rows, cols } };
	npu_assembly_tensor(a, &t);
}

static inline void play_buffer(struct npu_assembly *a, const char *name, uint32_t local, uint32_t bytes)
{
	struct npu_buffer b = { .name = name, .local = local, .bytes = bytes, .first = 0, .end = UINT32_MAX };
	npu_assembly_buffer(a, &b);
}

struct play_sems {
	uint16_t q_full, q_free, k_full[2], k_free[2], s_full, s_free, p_full, p_free;
};

static inline struct npu_sem_ref play_one(uint16_t sem) { return (struct npu_sem_ref){ sem, 1 }; }

static inline void play_tile(struct npu_assembly *a, const struct play_sems *s, unsigned head, unsigned tile, unsigned tiles)
{
	unsigned half = tile % 2;
	npu_assembly_place(a, "play.npu", 20);
	struct npu_insn load = play_load(PLAY_K + half * PLAY_TILE, 0x100000 + (uint64_t)tile * PLAY_TILE);
	load.wait[0] = play_one(s->k_free[half]);
	load.post[0] = play_one(s->k_full[half]);
	npu_assembly_insn(a, &load);
	npu_assembly_place(a, "play.npu", 21);
	struct npu_insn product = npu_insn_initial(NPU_OP_MATMUL);
	product.matmul.dst = PLAY_S;
	product.matmul.a = PLAY_Q;
	product.matmul.b = PLAY_K + half * PLAY_TILE;
	product.matmul.m = product.matmul.n = 64;
	product.matmul.k = 128;
	product.matmul.transpose_b = 1;
	product.matmul.masked = tile + 1 == tiles ? 64 * 64 * 32 : 0;
	product.wait[0] = play_one(s->k_full[half]);
	product.wait[1] = play_one(s->s_free);
	product.post[0] = play_one(s->k_free[half]);
	product.post[1] = play_one(s->s_full);
	npu_assembly_insn(a, &product);
	npu_assembly_place(a, "play.npu", 22);
	struct npu_insn scale = npu_insn_initial(NPU_OP_VCOPY);
	scale.un.dst = PLAY_P;
	scale.un.a = PLAY_S;
	scale.un.dst_type = NPU_FP16;
	scale.un.rows = scale.un.cols = 64;
	scale.wait[0] = play_one(s->s_full);
	scale.wait[1] = play_one(s->p_free);
	scale.post[0] = play_one(s->s_free);
	scale.post[1] = play_one(s->p_full);
	npu_assembly_insn(a, &scale);
	npu_assembly_place(a, "play.npu", 23);
	struct npu_insn store = npu_insn_initial(NPU_OP_STORE);
	store.dma.local = PLAY_P;
	store.dma.dram = 0x800000 + ((uint64_t)head * tiles + tile) * 64 * 64 * 2;
	store.dma.rows = store.dma.cols = 64;
	store.wait[0] = play_one(s->p_full);
	store.post[0] = play_one(s->p_free);
	npu_assembly_insn(a, &store);
}

static inline void play_head(struct npu_assembly *a, const struct play_sems *s, unsigned head, unsigned tiles)
{
	char name[16];
	snprintf(name, sizeof(name), "head %u", head);
	npu_assembly_region_begin(a, name);
	npu_assembly_place(a, "play.npu", 10);
	struct npu_insn q = play_load(PLAY_Q, (uint64_t)head * PLAY_TILE);
	q.wait[0] = play_one(s->q_free);
	q.post[0] = play_one(s->q_full);
	npu_assembly_insn(a, &q);
	struct npu_insn sync = npu_insn_initial(NPU_OP_SYNC_MATRIX);
	sync.wait[0] = play_one(s->q_full);
	npu_assembly_insn(a, &sync);
	for (unsigned t = 0; t < tiles; t++) {
		npu_assembly_region_begin(a, "tile");
		play_tile(a, s, head, t, tiles);
		npu_assembly_region_end(a);
	}
	struct npu_insn release = npu_insn_initial(NPU_OP_SYNC_MATRIX);
	release.post[0] = play_one(s->q_free);
	npu_assembly_insn(a, &release);
	npu_assembly_region_end(a);
}

/* Two heads, regions "head 0" and "head 1", a region "tile" a tile in each: a tile of K is loaded (double-buffered) and
 * multiplied with the head's Q, the result scaled and stored. K is read once a head. 4 instructions a tile, 3 a head. */
static inline struct npu_program *play_program(unsigned tiles)
{
	struct npu_error err;
	struct npu_assembly *a = npu_assembly_new("play");
	assert(a);
	struct play_sems s = {
		.q_full = (uint16_t)npu_assembly_sem(a, "q_full", 0, 4),
		.q_free = (uint16_t)npu_assembly_sem(a, "q_free", 1, 4),
		.k_full = { (uint16_t)npu_assembly_sem(a, "k_full[0]", 0, 4), (uint16_t)npu_assembly_sem(a, "k_full[1]", 0, 4) },
		.k_free = { (uint16_t)npu_assembly_sem(a, "k_free[0]", 1, 4), (uint16_t)npu_assembly_sem(a, "k_free[1]", 1, 4) },
		.s_full = (uint16_t)npu_assembly_sem(a, "s_full", 0, 4),
		.s_free = (uint16_t)npu_assembly_sem(a, "s_free", 1, 4),
		.p_full = (uint16_t)npu_assembly_sem(a, "p_full", 0, 4),
		.p_free = (uint16_t)npu_assembly_sem(a, "p_free", 1, 4),
	};
	play_tensor(a, "Q", 0, PLAY_HEADS * 64, 128, NPU_TENSOR_IN);
	play_tensor(a, "K", 0x100000, (uint64_t)tiles * 64, 128, NPU_TENSOR_IN);
	play_tensor(a, "S", 0x800000, (uint64_t)PLAY_HEADS * tiles * 64, 64, NPU_TENSOR_OUT);
	play_buffer(a, "q", PLAY_Q, PLAY_TILE);
	play_buffer(a, "k[0]", PLAY_K, PLAY_TILE);
	play_buffer(a, "k[1]", PLAY_K + PLAY_TILE, PLAY_TILE);
	play_buffer(a, "p", PLAY_P, 8192);
	play_buffer(a, "s", PLAY_S, PLAY_S_BYTES);
	for (unsigned head = 0; head < PLAY_HEADS; head++)
		play_head(a, &s, head, tiles);
	struct npu_program *program = npu_assembly_finish(a, &err);
	if (!program) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	return program;
}

/* A recorded run of a program on the played machine. */
static inline struct simulation *play_recorded(struct hw *hw, const struct npu_program *program)
{
	struct npu_error err;
	play_hw(hw);
	struct simulation_request request = {
		.hw = hw, .program = program, .command = "run", .subject = "play.npu", .want_record = true,
	};
	struct simulation *s = simulate_on(play_machine, &request, &err);
	assert(s != NULL);
	return s;
}

#endif
