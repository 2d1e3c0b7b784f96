/* SPDX-License-Identifier: Apache-2.0 */
/* Events in order of time: the next instruction of an engine starts, or the next few bursts of a DMA instruction meet the bus of the
 * DRAM. All that an event depends on has happened before it. */
#include "sim/sweep/reckon.h"
#include "isa/access.h"
#include "models/dma_walk.h"
#include "models/matrix.h"
#include "models/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bursts that go as one; of the DRAM's peak, what a stream gets beside refresh and activations. */
enum { CHUNK = 8 };
static const double DRAM_SHARE = 0.96;

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
	uint64_t chunks; /* left */
	double ready;            /* its next chunk may be issued */
	/* Of one chunk. */
	double issue, beats, bus;
};

struct engine {
	uint32_t *list, n, head, issued;
	double *at;        /* [n] issued */
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
	struct engine engine[NPU_ENGINES];
	struct semaphore *sems;
	struct post *posts;
	uint32_t next;
	double ready, stuck_from; /* of the sequencer */
	enum npu_engine stuck;
	/* DRAM, in NPU cycles. */
	double bus, cycles_a_byte, cycles_a_row, to, back, turn, queued;
	bool wrote;
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

static double start_matrix(struct reckoner *r, struct engine *e, const struct npu_insn *insn, double now)
{
	struct matrix_plan plan = matrix_plan(r->hw, insn);
	bool overlapped = r->hw->matrix.weight_load == HW_LOAD_OVERLAPPED, os = r->hw->matrix.dataflow == HW_DATAFLOW_OS;
	double begin = overlapped ? now : fmax(now, e->ended);
	double first = begin + (double)(plan.transposer + plan.load);
	if (overlapped)
		first = fmax(first, e->stream_end + (os && plan.results > plan.stream ? (double)(plan.results - plan.stream) : 0));
	double last_fold = first + (double)(plan.folds - 1) * (double)plan.period;
	e->stream_end = last_fold + (double)plan.stream;
	e->gate = overlapped && !os ? last_fold + (double)plan.load_after : e->stream_end;
	r->stream += (double)plan.folds * (double)plan.stream;
	return e->stream_end + (double)plan.latency;
}

static void begin_transfer(struct reckoner *r, struct engine *e, uint32_t index, double now)
{
	const struct npu_insn *insn = &r->program->insns[index];
	const struct hw *hw = r->hw;
	struct npu_piece_walk walk;
	struct npu_piece piece;
	uint64_t bursts = 0, beats = 0, descriptors = 0, pieces = 0, moved = 0, bytes = 0;
	uint64_t granule = dram_burst_bytes(&hw->dram), beat = dma_beat_bytes(hw, insn), row_bytes = hw->dram.row_bytes;
	npu_piece_walk_init(&walk, r->program, insn);
	while (npu_piece_next(&walk, &piece)) {
		bytes += piece.bytes;
		bursts += (piece.bytes + hw->dma.max_burst - 1) / hw->dma.max_burst;
		beats += (piece.bytes + beat - 1) / beat;
		moved += (piece.dram + piece.bytes + granule - 1) / granule * granule - piece.dram / granule * granule;
		pieces += 1 + piece.bytes / (row_bytes * hw->dram.channels);
		descriptors += piece.new_descriptor;
	}
	double setup = (double)(hw->dma.start_cycles + hw->dma.descriptor_cycles);
	uint64_t chunk = hw->dma.outstanding < CHUNK ? hw->dma.outstanding : CHUNK, chunks = (bursts + chunk - 1) / chunk;
	chunks = chunks ? chunks : 1;
	double n = (double)chunks, between = (double)descriptors * ((double)hw->dma.descriptor_cycles - 1);
	e->active[e->nactive++] = (struct transfer){
		.insn = index, .table = npu_op_format(insn->op) == NPU_FORMAT_paged, .chunks = chunks, .ready = now + setup,
		.issue = ((double)bursts + fmax(0, between)) / n, .beats = (double)beats / n,
		.bus = fmax((double)moved * r->cycles_a_byte, (double)pieces * r->cycles_a_row) / n,
	};
	enum npu_engine id = npu_op_engine(insn->op);
	r->beats[id] += (double)((bytes + hw->dma.port - 1) / hw->dma.port);
	r->bytes += (double)bytes;
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
		if (e->active[i].chunks && !e->active[i].sync && ready < *at) {
			*at = ready;
			found = &e->active[i];
		}
	}
	return found;
}

static double over_bus(struct reckoner *r, double arrival, double cost, bool write)
{
	double begin = fmax(arrival, r->bus);
	if (write != r->wrote)
		begin = fmax(arrival, r->bus + r->turn);
	r->wrote = write;
	r->bus = begin + cost;
	return begin;
}

/* Instructions end in order: those that have moved all, up to the first that has not. */
static void end_transfers(struct reckoner *r, struct engine *e)
{
	for (; e->nactive && !e->active[0].chunks; memmove(e->active, e->active + 1, --e->nactive * sizeof *e->active)) {
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
	double end;
	if (t->table) {
		double granule = (double)dram_burst_bytes(&r->hw->dram) * r->cycles_a_byte;
		t->table = false;
		t->ready = over_bus(r, at + r->to, granule, false) + granule + r->back + (double)r->hw->dma.descriptor_cycles;
		e->slot_of_issue = at + 1;
		return;
	}
	e->slot_of_issue = at + t->issue;
	if (id == NPU_ENGINE_LOAD) {
		double begin = over_bus(r, at + r->to, t->bus, false);
		/* The first beats cross while the last bursts are on the bus. */
		e->port = fmax(e->port, begin + r->back) + t->beats;
		e->port = fmax(e->port, begin + t->bus + r->back);
		end = e->port;
	} else {
		e->port = fmax(e->port, at) + t->beats;
		double begin = over_bus(r, e->port + (double)r->hw->dma.cdc_cycles, t->bus, true);
		end = fmax(e->port + 2 * (double)r->hw->dma.cdc_cycles, begin - r->queued);
	}
	e->slots[e->nissued++ % e->nslots] = end;
	t->chunks--;
	t->ready = t->chunks ? e->slot_of_issue : end;
	end_transfers(r, e);
}

static double head_at(struct reckoner *r, unsigned id)
{
	struct engine *e = &r->engine[id];
	if (e->head == e->issued)
		return INFINITY;
	const struct npu_insn *insn = &r->program->insns[e->list[e->head]];
	double at = fmax(e->at[e->head], waits_of(r, insn));
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
		end = start_matrix(r, e, insn, now);
	} else if (!sync) {
		double cycles = (double)vector_plan(r->hw, insn).cycles;
		r->vector += cycles;
		end = now + cycles;
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
	uint64_t chunk = hw->dma.outstanding < CHUNK ? hw->dma.outstanding : CHUNK;
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
			engine->nslots = (unsigned)(hw->dma.outstanding / chunk);
			engine->active = malloc(2 * (size_t)engine->channels * sizeof *engine->active);
			engine->free = calloc(engine->channels, sizeof *engine->free);
			engine->slots = calloc(engine->nslots, sizeof *engine->slots);
			ok = ok && engine->active && engine->free && engine->slots;
		}
		engine->n = 0;
	}
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
	free(r->sems);
	free(r->posts);
}

static void init_dram(struct reckoner *r)
{
	const struct dram_config *d = &r->hw->dram;
	struct hw_clock_ratio ratio = hw_clock_ratio(r->hw);
	double cycle = (double)ratio.num / (double)ratio.den; /* a DRAM clock in NPU cycles */
	double cdc = (double)r->hw->dma.cdc_cycles;
	double peak = (double)dram_peak_bytes_per_clk(d), burst = dram_burst_clk(d);
	r->cycles_a_byte = d->ideal ? 0 : cycle / peak / DRAM_SHARE;
	double rows = fmax((double)d->tRRD_S, (double)d->tFAW / 4);
	r->cycles_a_row = d->ideal ? 0 : cycle * rows / d->channels;
	r->to = cdc + (d->ideal ? 0 : cycle * d->front_delay);
	r->back = cdc + (d->ideal ? 0 : cycle * ((double)d->tRCD + d->CL + d->tDQSCK + burst + d->back_delay));
	r->turn = d->ideal ? 0 : cycle * (double)(d->CWL + d->tDQSS + d->tWTR_L) / 2;
	r->queued = d->ideal ? 0 : cycle * (double)d->write_queue * dram_burst_bytes(d) / peak * d->channels * d->drain_high / 100;
}

bool reckon(const struct hw *hw, const struct npu_program *program, struct reckoning *out)
{
	struct reckoner r = { .hw = hw, .program = program, .stuck = NPU_ENGINES, .ready = (double)hw->sequencer.launch_cycles };
	init_dram(&r);
	bool ok = init(&r) && run(&r);
	fini(&r);
	if (!ok)
		return false;
	double n = program->ninsns;
	double least = n > 0 ? (double)hw->sequencer.launch_cycles + (double)hw->sequencer.issue_cycles * (n - 1) : 0;
	double on_bus = r.bytes * r.cycles_a_byte * DRAM_SHARE;
	least = fmax(fmax(least, on_bus), fmax(r.vector, r.stream));
	least = fmax(least, fmax(r.beats[NPU_ENGINE_LOAD], r.beats[NPU_ENGINE_STORE]));
	*out = (struct reckoning){ .least = least, .cycles = fmax(fmax(r.end, r.bus), least) };
	return true;
}
