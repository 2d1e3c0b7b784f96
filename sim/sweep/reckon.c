/* SPDX-License-Identifier: Apache-2.0 */
/* Events in order of time: the next instruction of an engine starts, or the next few bursts of a DMA instruction meet the bus of the
 * DRAM. All that an event depends on has happened before it. */
#include "sim/sweep/reckon.h"
#include "isa/access.h"
#include "models/dma_walk.h"
#include "models/matrix.h"
#include "models/vector.h"
#include "sim/sweep/alone.h"
#include "sim/sweep/reckon_dram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bursts that go as one: as many chunks are in flight. */
enum { CHUNKS = 8 };

struct post {
	uint64_t counts; /* of this semaphore, up to and with this post */
	double seen;
};

struct semaphore {
	struct post *posts;
	uint32_t n, at;  /* posted; the next one that a wait may need */
	uint64_t taken;
};

struct transfer {
	uint32_t insn;
	bool sync;       /* taken behind others, moves nothing */
	bool table;      /* entries of its block table come first */
	struct dma_walk walk; /* bursts that are left */
	double ready;         /* its next chunk may be issued */
};

struct engine {
	uint32_t *list, n, head, issued;
	double *at;        /* [n] issued */
	double started;    /* the last one */
	double ended;      /* the last one that started, or all before it */
	/* Matrix. */
	double gate, stream_end;
	/* DMA. */
	struct transfer *active;
	double *free;      /* [channels] since then; INFINITY: in service */
	unsigned channels, nactive;
	double port, slot_of_issue;
	double *slots;     /* [nslots] ends of the chunks in flight */
	unsigned nslots;
	uint64_t nissued;
};

struct reckoner {
	const struct hw *hw;
	const struct npu_program *program;
	struct alone *alone;
	struct engine engine[NPU_ENGINES];
	struct semaphore *sems;
	struct post *posts;
	uint32_t next;
	double ready, stuck_from; /* of the sequencer */
	enum npu_engine stuck;
	struct reckon_dram *dram;
	struct dma_run *runs; /* of a burst */
	uint64_t chunk;       /* bursts */
	double to, back;      /* across the clocks */
	double end;
	double vector, stream, beats[NPU_ENGINES], bytes;
};

static bool is_dma(unsigned e) { return e == NPU_ENGINE_LOAD || e == NPU_ENGINE_STORE; }

/* ---- the sequencer ---- */

static void issue(struct reckoner *r, double room)
{
	uint64_t depth = r->hw->sequencer.queue_depth;
	for (; r->next < r->program->ninsns; r->next++) {
		enum npu_engine e = npu_op_engine(r->program->insns[r->next].op);
		struct engine *engine = &r->engine[e];
		if (engine->issued - engine->head >= depth) {
			r->stuck = e;
			return;
		}
		double at = fmax(r->ready, room);
		engine->at[engine->issued++] = at;
		r->ready = at + (double)r->hw->sequencer.issue_cycles;
	}
	r->stuck = NPU_ENGINES;
}

/* ---- semaphores ---- */

static double waits_of(struct reckoner *r, const struct npu_insn *insn)
{
	double at = 0;
	for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++) {
		struct npu_sem_ref ref = insn->wait[slot];
		if (!ref.count)
			continue;
		struct semaphore *s = &r->sems[ref.sem];
		uint64_t need = s->taken + ref.count;
		if (slot && insn->wait[0].count && insn->wait[0].sem == ref.sem)
			need += insn->wait[0].count;
		uint32_t i = s->at;
		while (i < s->n && s->posts[i].counts < need)
			i++;
		if (i == s->n)
			return INFINITY;
		at = fmax(at, s->posts[i].seen);
	}
	return at;
}

static void take(struct reckoner *r, const struct npu_insn *insn)
{
	for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++) {
		struct semaphore *s = &r->sems[insn->wait[slot].sem];
		if (!insn->wait[slot].count)
			continue;
		s->taken += insn->wait[slot].count;
		while (s->at < s->n && s->posts[s->at].counts <= s->taken)
			s->at++;
	}
}

static void post(struct reckoner *r, const struct npu_insn *insn, double end)
{
	r->end = fmax(r->end, end);
	for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++) {
		struct semaphore *s = &r->sems[insn->post[slot].sem];
		if (!insn->post[slot].count)
			continue;
		s->posts[s->n] = (struct post){ (s->n ? s->posts[s->n - 1].counts : 0) + insn->post[slot].count,
						end + (double)r->hw->sequencer.sync_latency };
		s->n++;
	}
}

/* ---- engines ---- */

static double start_matrix(struct reckoner *r, struct engine *e, uint32_t index, double now)
{
	const struct npu_insn *insn = &r->program->insns[index];
	struct matrix_plan plan = matrix_plan(r->hw, insn);
	double denied = (double)alone_denied(r->alone, index);
	bool overlapped = r->hw->matrix.weight_load == HW_LOAD_OVERLAPPED, os = r->hw->matrix.dataflow == HW_DATAFLOW_OS;
	double begin = overlapped ? now : fmax(now, e->ended);
	double first = begin + (double)(plan.transposer + plan.load);
	if (overlapped)
		first = fmax(first, e->stream_end + (os && plan.results > plan.stream ? (double)(plan.results - plan.stream) : 0));
	double last_fold = first + (double)(plan.folds - 1) * ((double)plan.period + denied / (double)plan.folds);
	e->stream_end = last_fold + (double)plan.stream + denied / (double)plan.folds;
	e->gate = overlapped && !os ? last_fold + (double)plan.load_after : e->stream_end;
	r->stream += (double)plan.folds * (double)plan.stream;
	return e->stream_end + (double)plan.latency;
}

static void begin_transfer(struct reckoner *r, struct engine *e, uint32_t index, double now)
{
	const struct npu_insn *insn = &r->program->insns[index];
	struct transfer *t = &e->active[e->nactive++];
	*t = (struct transfer){ .insn = index, .table = npu_op_format(insn->op) == NPU_FORMAT_paged,
				.ready = now + (double)(r->hw->dma.start_cycles + r->hw->dma.descriptor_cycles) };
	dma_walk_init(&t->walk, r->hw, r->program, insn);
	if (!t->walk.more)
		t->table = false;
}

/* Chunks of the engine are issued one behind the other, as slots come free. */
static double chunk_at(const struct engine *e, const struct transfer *t)
{
	double at = fmax(t->ready, e->slot_of_issue);
	return e->nissued >= e->nslots ? fmax(at, e->slots[e->nissued % e->nslots]) : at;
}

static struct transfer *next_chunk(const struct engine *e, double *at)
{
	struct transfer *found = NULL;
	*at = INFINITY;
	for (unsigned i = 0; i < e->nactive; i++) {
		double ready = chunk_at(e, &e->active[i]);
		if (!e->active[i].sync && e->active[i].walk.more && ready < *at) {
			*at = ready;
			found = &e->active[i];
		}
	}
	return found;
}

/* Instructions end in order: those that have moved all, up to the first that has not. */
static void end_transfers(struct reckoner *r, struct engine *e)
{
	for (; e->nactive && !e->active[0].walk.more; memmove(e->active, e->active + 1, --e->nactive * sizeof *e->active)) {
		const struct transfer *t = &e->active[0];
		e->ended = fmax(e->ended, t->ready);
		post(r, &r->program->insns[t->insn], e->ended);
		for (unsigned c = 0; !t->sync && c < e->channels; c++)
			if (e->free[c] == INFINITY) {
				e->free[c] = e->ended;
				break;
			}
	}
}

static void move_chunk(struct reckoner *r, unsigned id, struct transfer *t, double at)
{
	struct engine *e = &r->engine[id];
	const struct hw *hw = r->hw;
	struct dma_burst burst;
	double end = at;
	if (t->table) {
		uint64_t table = r->program->tables[r->program->insns[t->insn].paged.table].addr;
		t->table = false;
		t->ready = reckon_dram_read(r->dram, table, 4, at + r->to) + r->back + (double)hw->dma.descriptor_cycles;
		e->slot_of_issue = at + 1;
		return;
	}
	uint64_t beat = dma_beat_bytes(hw, &r->program->insns[t->insn]);
	for (uint64_t i = 0; i < r->chunk && t->walk.more; i++) {
		dma_walk_next(&t->walk, &burst, r->runs);
		at += burst.new_descriptor ? fmax(1, (double)hw->dma.descriptor_cycles) : 1;
		double beats = (double)((burst.bytes + beat - 1) / beat);
		if (id == NPU_ENGINE_LOAD) {
			end = reckon_dram_read(r->dram, burst.addr, burst.bytes, at + r->to) + r->back;
			end = e->port = fmax(e->port, end) + beats;
		} else {
			e->port = fmax(e->port, at) + beats;
			end = reckon_dram_write(r->dram, burst.addr, burst.bytes, e->port + r->to) + r->back;
		}
		r->beats[id] += (double)((burst.bytes + hw->dma.port - 1) / hw->dma.port);
		r->bytes += (double)burst.bytes;
	}
	e->slot_of_issue = at;
	e->slots[e->nissued++ % e->nslots] = end;
	t->ready = t->walk.more ? at : end;
	end_transfers(r, e);
}

static double head_at(struct reckoner *r, unsigned id)
{
	struct engine *e = &r->engine[id];
	if (e->head == e->issued)
		return INFINITY;
	const struct npu_insn *insn = &r->program->insns[e->list[e->head]];
	double at = fmax(fmax(e->at[e->head], e->started), waits_of(r, insn));
	if (npu_op_is_sync(insn->op))
		return is_dma(id) && e->nactive == 2 * e->channels ? INFINITY : at;
	if (is_dma(id)) {
		double free = INFINITY;
		for (unsigned c = 0; c < e->channels; c++)
			free = fmin(free, e->free[c]);
		return e->nactive == 2 * e->channels ? INFINITY : fmax(at, free);
	}
	return fmax(at, id == NPU_ENGINE_MATRIX ? e->gate : e->ended);
}

static void start(struct reckoner *r, unsigned id, double now)
{
	struct engine *e = &r->engine[id];
	uint32_t index = e->list[e->head];
	const struct npu_insn *insn = &r->program->insns[index];
	take(r, insn);
	e->head++;
	e->started = now;
	if (r->stuck == id)
		issue(r, now);
	bool sync = npu_op_is_sync(insn->op);
	if (is_dma(id)) {
		if (sync) {
			e->active[e->nactive++] = (struct transfer){ .insn = index, .sync = true, .ready = now };
			end_transfers(r, e);
			return;
		}
		unsigned first = 0;
		for (unsigned c = 1; c < e->channels; c++)
			first = e->free[c] < e->free[first] ? c : first;
		e->free[first] = INFINITY;
		begin_transfer(r, e, index, now);
		return;
	}
	double end = now;
	if (!sync && id == NPU_ENGINE_MATRIX) {
		end = start_matrix(r, e, index, now);
	} else if (!sync) {
		double cycles = (double)vector_plan(r->hw, insn).cycles;
		r->vector += cycles;
		end = now + cycles + (double)alone_denied(r->alone, index);
	}
	e->ended = fmax(e->ended, end);
	post(r, insn, e->ended);
}

/* ---- the run ---- */

static bool run(struct reckoner *r)
{
	uint32_t left = r->program->ninsns;
	issue(r, 0);
	for (;;) {
		double first = INFINITY, at;
		unsigned id = NPU_ENGINES;
		struct transfer *chunk = NULL;
		for (unsigned e = 0; e < NPU_ENGINES; e++) {
			if (is_dma(e)) {
				struct transfer *t = next_chunk(&r->engine[e], &at);
				if (t && at < first) {
					first = at;
					id = e;
					chunk = t;
				}
			}
			at = head_at(r, e);
			if (at < first) {
				first = at;
				id = e;
				chunk = NULL;
			}
		}
		if (id == NPU_ENGINES)
			return left == 0;
		if (chunk) {
			move_chunk(r, id, chunk, first);
		} else {
			start(r, id, first);
			left--;
		}
	}
}

static bool init(struct reckoner *r)
{
	const struct npu_program *p = r->program;
	const struct hw *hw = r->hw;
	uint32_t posts = p->nsems, n = p->ninsns, at = 0;
	bool ok = true;
	r->chunk = hw->dma.outstanding < CHUNKS ? 1 : hw->dma.outstanding / CHUNKS;
	for (uint32_t i = 0; i < n; i++) {
		r->engine[npu_op_engine(p->insns[i].op)].n++;
		for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++)
			posts += p->insns[i].post[slot].count != 0;
	}
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		struct engine *engine = &r->engine[e];
		engine->list = malloc((engine->n + (size_t)1) * sizeof *engine->list);
		engine->at = malloc((engine->n + (size_t)1) * sizeof *engine->at);
		ok = ok && engine->list && engine->at;
		if (is_dma(e)) {
			engine->channels = (unsigned)(e == NPU_ENGINE_LOAD ? hw->dma.load_channels : hw->dma.store_channels);
			engine->nslots = (unsigned)(hw->dma.outstanding / r->chunk);
			engine->active = malloc(2 * (size_t)engine->channels * sizeof *engine->active);
			engine->free = calloc(engine->channels, sizeof *engine->free);
			engine->slots = calloc(engine->nslots, sizeof *engine->slots);
			ok = ok && engine->active && engine->free && engine->slots;
		}
		engine->n = 0;
	}
	r->alone = alone_new(hw, p);
	r->dram = reckon_dram_new(hw);
	r->runs = malloc(dma_most_runs(hw) * sizeof *r->runs);
	ok = ok && r->alone && r->dram && r->runs;
	r->sems = calloc(p->nsems + (size_t)1, sizeof *r->sems);
	r->posts = malloc((posts + (size_t)1) * sizeof *r->posts);
	uint32_t *posted = calloc(p->nsems + (size_t)1, sizeof *posted);
	ok = ok && r->sems && r->posts && posted;
	for (uint32_t i = 0; ok && i < n; i++) {
		struct engine *engine = &r->engine[npu_op_engine(p->insns[i].op)];
		engine->list[engine->n++] = i;
		for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++)
			posted[p->insns[i].post[slot].sem] += p->insns[i].post[slot].count != 0;
	}
	for (uint32_t s = 0; ok && s < p->nsems; s++) {
		r->sems[s].posts = r->posts + at;
		at += posted[s] + 1;
		if (p->sems[s].initial)
			r->sems[s].posts[r->sems[s].n++] = (struct post){ p->sems[s].initial, 0 };
	}
	free(posted);
	return ok;
}

static void fini(struct reckoner *r)
{
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		free(r->engine[e].list);
		free(r->engine[e].at);
		free(r->engine[e].active);
		free(r->engine[e].free);
		free(r->engine[e].slots);
	}
	alone_free(r->alone);
	reckon_dram_free(r->dram);
	free(r->runs);
	free(r->sems);
	free(r->posts);
}

/* A DRAM clock in NPU cycles. */
static double ratio_of(const struct hw *hw)
{
	struct hw_clock_ratio ratio = hw_clock_ratio(hw);
	return (double)ratio.num / (double)ratio.den;
}

bool reckon(const struct hw *hw, const struct npu_program *program, struct reckoning *out)
{
	struct reckoner r = { .hw = hw, .program = program, .stuck = NPU_ENGINES, .ready = (double)hw->sequencer.launch_cycles };
	r.to = (double)hw->dma.cdc_cycles + (hw->dram.ideal ? 0 : ratio_of(hw) * hw->dram.front_delay);
	r.back = (double)hw->dma.cdc_cycles;
	bool ok = init(&r) && run(&r);
	double drained = ok ? reckon_dram_end(r.dram) : 0;
	fini(&r);
	if (!ok)
		return false;
	double n = program->ninsns;
	double least = n > 0 ? (double)hw->sequencer.launch_cycles + (double)hw->sequencer.issue_cycles * (n - 1) : 0;
	double on_bus = hw->dram.ideal ? 0 : r.bytes * ratio_of(hw) / (double)dram_peak_bytes_per_clk(&hw->dram);
	least = fmax(fmax(least, on_bus), fmax(r.vector, r.stream));
	least = fmax(least, fmax(r.beats[NPU_ENGINE_LOAD], r.beats[NPU_ENGINE_STORE]));
	*out = (struct reckoning){ .least = least, .cycles = fmax(fmax(r.end, drained), least) };
	return true;
}
