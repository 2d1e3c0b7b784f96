/* SPDX-License-Identifier: Apache-2.0 */
/* The vector engine behind its queue: one instruction at a time, the next one accepted when the former has ended. What an
 * instruction costs is vector_plan.c.
 *
 * Time inside an instruction is counted in beats: start-up beats without words, then its passes, each pass walking its
 * operands evenly and in row order. A cycle in which a word is denied stands still, as in the matrix array. */
#include "isa/program.h"
#include "models/machine.h"
#include "models/vector_walk.h"

#include <stdlib.h>

struct vector {
	const struct hw *hw;
	const struct npu_program *program;
	struct memory *memory;
	struct body_listener listener;
	struct memory_stream stream;
	bool ideal;
	bool busy;
	uint32_t insn;
	uint64_t begin; /* cycle of acceptance */
	uint64_t base;  /* beat b that has not passed falls into cycle base + b or later */
	uint64_t told;  /* spans are told up to this cycle */
	const struct vector_plan *plan;
	struct vector_operands operands;
	uint64_t slots; /* of all instructions accepted */
	struct vector_shapes shapes;
};

/* --ideal vector. */
static const struct vector_plan one_cycle = { .cycles = 1 };

static void add_walks(const struct vector *v, const struct vector_pass *pass, uint64_t begin, struct memory_segment *out)
{
	for (unsigned i = 0; i < v->operands.n; i++)
		for (unsigned write = 0; write < 2; write++)
			if ((write ? pass->writes : pass->reads) >> i & 1)
				out->walk[out->n++] = vector_walk(&v->operands, i, write, begin, begin + pass->cycles);
}

static void segment(void *self, uint64_t beat, struct memory_segment *out)
{
	const struct vector *v = self;
	const struct vector_plan *plan = v->plan;
	uint64_t begin = plan->startup;
	out->until = begin;
	for (unsigned i = 0; beat >= out->until && i < plan->passes; i++) {
		out->until = begin + plan->pass[i].cycles;
		if (beat < out->until)
			add_walks(v, &plan->pass[i], begin, out);
		begin = out->until;
	}
	if (beat >= out->until)
		out->until = NPU_NEVER;
}

static void say(const struct vector *v, enum npu_state state, uint64_t from, uint64_t to)
{
	if (v->listener.span)
		v->listener.span(v->listener.ctx, state, v->insn, from, to);
}

/* Tells spans up to cycle `to`; nothing was denied since the last call. */
static void tell(struct vector *v, uint64_t to)
{
	uint64_t working = v->base + v->plan->startup;
	if (v->told < working && v->told < to) {
		uint64_t until = working < to ? working : to;
		say(v, NPU_STATE_ENGINE_LATENCY, v->told, until);
		v->told = until;
	}
	if (v->told < to) {
		say(v, NPU_STATE_BUSY, v->told, to);
		v->told = to;
	}
}

static void denied(void *self, enum npu_engine port, enum npu_state state, uint64_t from, uint64_t to)
{
	struct vector *v = self;
	(void)port;
	tell(v, from);
	say(v, state, from, to);
	v->told = to;
	v->base += to - from;
}

struct vector *vector_new(const struct hw *hw, const struct npu_program *program, struct memory *memory,
			  const struct body_listener *listener, unsigned ideal)
{
	struct vector *v = calloc(1, sizeof *v);
	if (!v)
		return NULL;
	v->hw = hw;
	v->program = program;
	v->memory = memory;
	v->listener = *listener;
	v->stream = (struct memory_stream){ v, segment };
	v->ideal = ideal & MACHINE_IDEAL_VECTOR;
	memory_listen(memory, NPU_ENGINE_VECTOR, &(struct memory_listener){ .ctx = v, .span = denied });
	return v;
}

void vector_free(struct vector *v) { free(v); }

uint64_t vector_slots_used(const struct vector *v) { return v->slots; }

/* When the instruction in service ends, or the earliest cycle after `now` at which it can: what is denied before now only
 * delays it, so while its end lies ahead nothing need be settled. */
static uint64_t settled_end(struct vector *v, uint64_t now)
{
	if (v->base + v->plan->cycles <= now)
		memory_advance(v->memory, now);
	return v->base + v->plan->cycles;
}

static uint64_t accept_at(void *self, uint64_t now, uint32_t insn)
{
	struct vector *v = self;
	(void)insn;
	if (!v->busy)
		return now;
	uint64_t end = settled_end(v, now);
	return end > now ? end : now;
}

static void reach_add(struct memory_reach *all, bool accum, bool write, uint64_t mask, bool meets_itself)
{
	uint64_t *seen = !accum ? &all->sram : write ? &all->accum_write : &all->accum_read;
	uint64_t *self = !accum ? &all->self_sram : write ? &all->self_accum_write : &all->self_accum_read;
	*self |= meets_itself ? mask : *seen & mask;
	*seen |= mask;
}

/* What all passes together may touch; what one beat may ask twice is found pass by pass. */
static struct memory_reach reach_of(const struct vector *v, const struct vector_shape *shape)
{
	struct memory_reach all = { 0 };
	uint64_t mask[NPU_MAX_ACCESSES];
	bool accum[NPU_MAX_ACCESSES];
	for (unsigned i = 0; i < v->operands.n; i++) {
		const struct npu_operand *op = &v->operands.operand[i];
		accum[i] = op->space == NPU_SPACE_ACCUM;
		mask[i] = memory_mask(v->memory, (uint32_t)op->addr | (accum[i] ? NPU_ACC_BIT : 0), shape->extent[i]);
	}
	for (unsigned p = 0; p < shape->plan.passes; p++) {
		const struct vector_pass *pass = &shape->plan.pass[p];
		const uint32_t *meets = shape->meets_itself[p];
		struct memory_reach reach = { 0 };
		for (unsigned i = 0; i < v->operands.n; i++) {
			if (pass->reads >> i & 1)
				reach_add(&reach, accum[i], false, mask[i], meets[0] >> i & 1);
			if (pass->writes >> i & 1)
				reach_add(&reach, accum[i], true, mask[i], meets[1] >> i & 1);
		}
		all.self_sram |= reach.self_sram;
		all.self_accum_read |= reach.self_accum_read;
		all.self_accum_write |= reach.self_accum_write;
		all.sram |= reach.sram;
		all.accum_read |= reach.accum_read;
		all.accum_write |= reach.accum_write;
	}
	return all;
}

static uint64_t step(void *self, uint64_t now)
{
	struct vector *v = self;
	if (!v->busy)
		return NPU_NEVER;
	uint64_t end = settled_end(v, now);
	if (end > now)
		return end;
	tell(v, end);
	v->busy = false;
	v->listener.ended(v->listener.ctx, v->insn, 0, v->begin, end, end);
	return NPU_NEVER;
}

static void accept(void *self, uint64_t now, uint32_t insn)
{
	struct vector *v = self;
	const struct npu_insn *in = &v->program->insns[insn];
	step(v, now); /* the end of the former one may not have been told yet */
	v->insn = insn;
	v->begin = v->base = v->told = now;
	v->busy = true;
	const struct vector_shape *shape = vector_shape_of(&v->shapes, v->hw, v->memory, in);
	v->plan = v->ideal ? &one_cycle : &shape->plan;
	v->slots += shape->slots;
	memory_begin(v->memory, NPU_ENGINE_VECTOR, now, &v->stream, 0, v->plan->cycles);
	struct memory_reach reach = { 0 };
	if (!v->ideal) {
		vector_operands(in, &v->operands);
		reach = reach_of(v, shape);
		memory_count(v->memory, NPU_ENGINE_VECTOR, false, shape->bytes[false]);
		memory_count(v->memory, NPU_ENGINE_VECTOR, true, shape->bytes[true]);
	}
	memory_set_reach(v->memory, NPU_ENGINE_VECTOR, &reach);
}

static unsigned in_service(const void *self)
{
	const struct vector *v = self;
	return v->busy;
}

const struct body_ops vector_ops = { accept_at, accept, step, in_service };
