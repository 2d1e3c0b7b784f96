/* SPDX-License-Identifier: Apache-2.0 */
/* The systolic array as an engine: products that follow one another through it. One product alone is matrix_plan.c.
 *
 * Time in the array is counted in beats. The array moves in lock step: in a cycle in which one word of the current beat
 * is denied nothing moves, the beat is tried again in the next cycle. So everything is closed form in beats, and only the
 * distance between beats and cycles (base) grows, by one a denied cycle.
 *
 * Hand-off from a product P to the next, Q, accepted with first free beat a:
 *   overlapped  Q is accepted from the beat on in which P's last fold begins to stream, or its last block of rows with
 *               preload=last_block (the second weight registers are free then; one product can be preloaded, for Q itself
 *               has streamed no fold). Transposer and first load begin at a. Q streams at max(end of its load, end of P's
 *               stream).
 *   serial      Q is accepted when P's last operand row has entered; it loads from max(a, P's end) on.
 *   OS          Q is accepted when P's last operands have entered. Overlapped, it streams at
 *               max(a, end of P's stream + max(0, rows - Q's stream of a fold)): P's last sums need `rows` beats to leave
 *               before Q's take their place; with preload=last_block no earlier than `rows` beats after the beginning of
 *               P's last block, beside which Q's initial sums enter. Serial: at max(a, P's end).
 * Results leave in order. The adder of a column adds to the accumulators in the order in which sums leave the array, one
 * row a beat, read and write in the same beat: two products that meet in the accumulators need no interlock, and A, B and
 * scales are only read. */
#include "isa/program.h"
#include "models/machine.h"
#include "models/matrix_flight.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPES = 8 };

struct matrix {
	const struct hw *hw;
	const struct npu_program *program;
	struct memory *memory;
	struct body_listener listener;
	struct memory_stream stream;
	bool ideal;
	uint64_t base;    /* beat b that has not passed falls into cycle base + b or later */
	uint64_t next;    /* first beat of the next product on an empty array */
	uint64_t told;    /* spans are told up to this cycle */
	uint32_t oldest;  /* flights, running numbers: [oldest, newest) are in service */
	uint32_t newest;
	uint32_t begins;  /* first flight whose stream_begin_cycle is not known; likewise the end */
	uint32_t ends;
	uint32_t mask;
	unsigned oldest_shape; /* the next one to be replaced */
	struct flight_shape shape[SHAPES];
	struct flight flight[];
};

static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

static struct flight *flight_at(struct matrix *m, uint32_t i) { return &m->flight[i & m->mask]; }

/* What array and port do in `beat`, for the memory. */
static void segment(void *self, uint64_t beat, struct memory_segment *out)
{
	struct matrix *m = self;
	out->until = NPU_NEVER;
	for (uint32_t i = m->oldest; i != m->newest; i++) {
		const struct flight *f = flight_at(m, i);
		if (f->end > beat && !m->ideal)
			flight_segment(m->hw, &m->program->insns[f->insn], f, beat, out);
	}
}

/* The state of the array in `beat` is the oldest unfinished product's; returns the beat up to which it lasts. Weights that
 * load, operands that stream and results that leave are work, whosesoever they are; what remains is the transposer. */
static uint64_t state_at(const struct flight *f, uint64_t beat, enum npu_state *state)
{
	*state = NPU_STATE_BUSY;
	if (!f->plan.transposer)
		return f->end;
	uint64_t begin = f->begin;
	if (!f->overlapped)
		begin += (beat - f->begin) / f->plan.period * f->plan.period;
	if (beat < begin + f->plan.transposer) {
		*state = NPU_STATE_ENGINE_LATENCY;
		return begin + f->plan.transposer;
	}
	uint64_t again = begin + f->plan.period;
	return f->overlapped || again > f->end ? f->end : again;
}

static void say(const struct matrix *m, enum npu_state state, uint32_t insn, uint64_t from, uint64_t to)
{
	if (m->listener.span)
		m->listener.span(m->listener.ctx, state, insn, from, to);
}

/* Tells spans up to cycle `to`; nothing was denied since the last call. */
static void tell(struct matrix *m, uint64_t to)
{
	uint32_t i = m->oldest;
	while (m->told < to && i != m->newest) {
		const struct flight *f = flight_at(m, i);
		uint64_t beat = m->told - m->base;
		if (f->end <= beat) {
			i++;
			continue;
		}
		enum npu_state state;
		uint64_t until = m->base + state_at(f, beat, &state);
		until = until < to ? until : to;
		say(m, state, f->insn, m->told, until);
		m->told = until;
	}
}

/* The beat under way was denied in [from, to): the array stood still. */
static void denied(void *self, enum npu_engine port, enum npu_state state, uint64_t from, uint64_t to)
{
	struct matrix *m = self;
	(void)port;
	tell(m, from);
	uint64_t beat = from - m->base;
	for (; m->begins != m->newest && flight_at(m, m->begins)->first <= beat; m->begins++)
		flight_at(m, m->begins)->stream_begin_cycle = m->base + flight_at(m, m->begins)->first;
	for (; m->ends != m->newest && flight_at(m, m->ends)->stream_end <= beat; m->ends++)
		flight_at(m, m->ends)->stream_end_cycle = m->base + flight_at(m, m->ends)->stream_end;
	uint32_t i = m->oldest;
	while (flight_at(m, i)->end <= beat)
		i++;
	say(m, state, flight_at(m, i)->insn, from, to);
	m->told = to;
	m->base += to - from;
}

struct matrix *matrix_new(const struct hw *hw, const struct npu_program *program, struct memory *memory,
			  const struct body_listener *listener, unsigned ideal)
{
	/* In service at once: one that streams, one preloaded, and those whose results leave: each streamed for a beat. */
	uint64_t rows = hw->matrix.rows, cols = hw->matrix.cols;
	uint64_t flights = 4 + rows + cols + later(rows, cols) + hw->matrix.input_registers + hw->matrix.output_registers;
	uint32_t ring = 1;
	while (ring < flights)
		ring *= 2;
	struct matrix *m = calloc(1, sizeof *m + ring * sizeof m->flight[0]);
	if (!m)
		return NULL;
	m->hw = hw;
	m->program = program;
	m->memory = memory;
	m->listener = *listener;
	m->stream = (struct memory_stream){ m, segment };
	m->ideal = ideal & MACHINE_IDEAL_MATRIX;
	m->mask = ring - 1;
	memory_listen(memory, NPU_ENGINE_MATRIX, &(struct memory_listener){ .ctx = m, .span = denied });
	return m;
}

void matrix_free(struct matrix *m) { free(m); }

/* macs / peak, nothing else. */
static struct matrix_plan ideal_plan(const struct hw *hw, const struct npu_matmul *p)
{
	uint64_t peak = hw_macs_per_cycle(hw, (enum npu_dtype)p->a_type);
	uint64_t macs = (uint64_t)p->m * p->n * p->k;
	uint64_t cycles = (macs + peak - 1) / peak;
	return (struct matrix_plan){ .folds = 1, .stream = cycles, .period = cycles, .macs = macs };
}

/* The shape of a product: one of those met last, or a new one. */
static const struct flight_shape *shape_of(struct matrix *m, const struct npu_matmul *p)
{
	struct npu_matmul key = *p;
	key.dst = key.a = key.b = key.scales = 0;
	key.masked = 0;
	for (unsigned i = 0; i < SHAPES; i++)
		if (!memcmp(&m->shape[i].key, &key, sizeof key))
			return &m->shape[i];
	struct flight_shape *shape = &m->shape[m->oldest_shape];
	m->oldest_shape = (m->oldest_shape + 1) % SHAPES;
	*shape = flight_shape(m->hw, m->memory, &key);
	return shape;
}

/* What products in service may touch. Parts of one kind are touched one after the other, by whatever product. */
static void set_reach(struct matrix *m)
{
	uint64_t sram[FLIGHT_RESULTS] = { 0 };
	struct memory_reach all = { 0 };
	for (uint32_t i = m->oldest; i != m->newest; i++) {
		const struct memory_reach *r = flight_at(m, i)->reach;
		for (unsigned part = 0; part < FLIGHT_RESULTS; part++) {
			sram[part] |= r[part].sram;
			all.self_sram |= r[part].self_sram;
		}
		all.accum_read |= r[FLIGHT_RESULTS].accum_read;
		all.accum_write |= r[FLIGHT_RESULTS].accum_write;
		all.self_accum_read |= r[FLIGHT_RESULTS].self_accum_read;
		all.self_accum_write |= r[FLIGHT_RESULTS].self_accum_write;
	}
	all.sram = sram[FLIGHT_STREAM] | sram[FLIGHT_LOAD] | sram[FLIGHT_SCALES];
	all.self_sram |= (sram[FLIGHT_STREAM] & sram[FLIGHT_LOAD]) |
			 ((sram[FLIGHT_STREAM] | sram[FLIGHT_LOAD]) & sram[FLIGHT_SCALES]);
	memory_set_reach(m->memory, NPU_ENGINE_MATRIX, &all);
}

/* Results leave in order: behind those of the product before, then each fold's `period` after the one before, when it
 * has crossed the array, but not before that one's have left. */
static void place_results(struct flight *f, uint64_t free)
{
	const struct matrix_plan *plan = &f->plan;
	f->results = f->first + plan->stream + plan->latency - plan->results;
	f->results_free = free;
	f->late = 0;
	f->end = f->stream_end + plan->latency;
	if (free <= f->results)
		return;
	uint64_t behind = free - f->results, gained = plan->period - plan->results; /* a fold */
	f->late = plan->folds;
	if (gained && (behind - 1) / gained + 1 < plan->folds)
		f->late = (behind - 1) / gained + 1;
	else
		f->end = free + plan->folds * plan->results;
}

/* Places a product behind `before` (NULL: the array is empty), from beat `free` on. */
static void place(const struct hw *hw, struct flight *f, const struct flight *before, uint64_t free)
{
	const struct matrix_plan *plan = &f->plan;
	uint64_t stream_free = before ? before->stream_end : 0;
	f->begin = before && !f->overlapped ? later(free, before->end) : free;
	f->load = f->begin + plan->transposer;
	if (hw->matrix.dataflow == HW_DATAFLOW_OS && before && f->overlapped) {
		uint64_t block_begin = before->last_fold + before->plan.load_after;
		if (before->plan.results > plan->stream)
			stream_free += before->plan.results - plan->stream;
		if (hw->matrix.preload == HW_PRELOAD_LAST_BLOCK)
			stream_free = later(stream_free, block_begin + before->plan.results);
	}
	f->first = later(f->load + plan->load, stream_free);
	f->last_fold = f->first + (plan->folds - 1) * plan->period;
	f->stream_end = f->last_fold + plan->stream;
	place_results(f, before ? before->end : 0);
}

/* From this beat on the next product may be accepted. */
static uint64_t gate(const struct matrix *m, const struct flight *f)
{
	bool early = f->overlapped && m->hw->matrix.dataflow != HW_DATAFLOW_OS && !m->ideal;
	return early ? f->last_fold + f->plan.load_after : f->stream_end;
}

/* The cycle from which on the next product may be accepted, as far as denials are settled. */
static uint64_t gate_at(struct matrix *m)
{
	uint64_t at = m->base + gate(m, flight_at(m, m->newest - 1));
	if (m->newest - m->oldest > m->mask)
		at = later(at, m->base + flight_at(m, m->oldest)->end);
	return at;
}

/* What is denied before now only delays beats: while what is asked for lies ahead, nothing need be settled. */
static uint64_t accept_at(void *self, uint64_t now, uint32_t insn)
{
	struct matrix *m = self;
	(void)insn;
	if (m->oldest == m->newest)
		return now;
	if (gate_at(m) <= now)
		memory_advance(m->memory, now);
	return later(gate_at(m), now);
}

static void accept(void *self, uint64_t now, uint32_t insn)
{
	struct matrix *m = self;
	memory_advance(m->memory, now);
	bool empty = m->oldest == m->newest;
	const struct npu_matmul *p = &m->program->insns[insn].matmul;
	const struct flight *before = empty ? NULL : flight_at(m, m->newest - 1);
	struct flight *f = flight_at(m, m->newest);
	f->insn = insn;
	f->overlapped = m->hw->matrix.weight_load == HW_LOAD_OVERLAPPED;
	if (m->ideal) {
		f->plan = ideal_plan(m->hw, p);
		memset(f->reach, 0, sizeof f->reach);
	} else {
		const struct flight_shape *shape = shape_of(m, p);
		f->plan = shape->plan;
		flight_reach(m->hw, m->memory, p, shape, f->reach);
		memory_count(m->memory, NPU_ENGINE_MATRIX, false, shape->sram_bytes);
		memory_count(m->memory, NPU_ENGINE_MATRIX, true, shape->accum_bytes);
	}
	place(m->hw, f, before, empty ? m->next : memory_fresh(m->memory, NPU_ENGINE_MATRIX));
	m->newest++;
	if (empty) {
		m->base = now - m->next;
		m->told = now;
		memory_begin(m->memory, NPU_ENGINE_MATRIX, now, &m->stream, m->next, f->end);
	} else {
		memory_extend(m->memory, NPU_ENGINE_MATRIX, f->end);
	}
	m->next = f->end;
	set_reach(m);
}

static uint64_t step(void *self, uint64_t now)
{
	struct matrix *m = self;
	if (m->oldest != m->newest && m->base + flight_at(m, m->oldest)->end <= now)
		memory_advance(m->memory, now);
	for (; m->oldest != m->newest; m->oldest++) {
		const struct flight *f = flight_at(m, m->oldest);
		uint64_t end = m->base + f->end;
		if (end > now)
			return end;
		tell(m, end);
		uint64_t begin = m->begins - m->oldest ? f->stream_begin_cycle : m->base + f->first;
		uint64_t last = m->ends - m->oldest ? f->stream_end_cycle : m->base + f->stream_end;
		if (m->begins == m->oldest)
			m->begins++;
		if (m->ends == m->oldest)
			m->ends++;
		m->listener.ended(m->listener.ctx, f->insn, 0, begin, last, end);
	}
	return NPU_NEVER;
}

static unsigned in_service(const void *self)
{
	const struct matrix *m = self;
	return m->newest - m->oldest;
}

const struct body_ops matrix_ops = { accept_at, accept, step, in_service };
