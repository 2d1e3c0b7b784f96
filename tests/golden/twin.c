/* SPDX-License-Identifier: Apache-2.0 */
/* The twin's one loop: sequencer, queues, semaphores, and what each cycle of each engine was. */
#include "tests/golden/twin.h"

#include "tests/golden/twin_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PATIENCE = 200000, /* cycles in which nothing is in service: nothing will come any more */
	LONGEST = 1000000, /* cycles in which no instruction starts or ends: broken, or too large a program */
};

/* A post that is on its way. */
struct post {
	uint64_t seen;
	uint32_t count;
};

struct semaphore {
	uint64_t count; /* seen and not taken */
	struct post *post;
	uint64_t nposts, next;
};

struct queue {
	uint32_t *waits; /* instructions issued and not started, oldest first */
	uint64_t nwaits, head;
	uint32_t *runs; /* started and not ended */
	uint64_t nruns, oldest;
	uint64_t both; /* cycles in which both waits of the head were unsatisfied: whose they are is not known yet */
	uint64_t remaining;
};

struct run {
	struct twin t;
	struct twin_result *out;
	struct semaphore *sem;
	struct queue queue[NPU_ENGINES];
	/* sequencer */
	uint32_t next;
	uint64_t ready;
	uint64_t moved; /* cycle in which an instruction last started or ended */
	enum npu_seq_state line;
	/* instruction fetch: requests of `per_request` instructions */
	uint32_t per_request, requested, arrived, *request;
	uint64_t nrequests;
};

static const struct twin_body *body_of(enum npu_engine e)
{
	switch (e) {
	case NPU_ENGINE_MATRIX:
		return &twin_matrix_body;
	case NPU_ENGINE_VECTOR:
		return &twin_vector_body;
	case NPU_ENGINE_LOAD:
	case NPU_ENGINE_STORE:
	case NPU_ENGINES:
		break;
	}
	return &twin_dma_body;
}

/* ---- the clock crossing ---- */

uint32_t twin_send(struct twin *t, unsigned port, uint64_t addr, uint32_t bytes, bool write)
{
	uint64_t at = t->now + t->hw->dma.cdc_cycles;
	return twin_dram_send(t->dram, hw_ratio_up(at, t->ratio.den, t->ratio.num), port, addr, bytes, write);
}

bool twin_answered(const struct twin *t, uint32_t request)
{
	uint64_t clk = twin_dram_done(t->dram, request);
	return clk != TWIN_NEVER && hw_ratio_up(clk, t->ratio.num, t->ratio.den) + t->hw->dma.cdc_cycles <= t->now;
}

/* DRAM clocks whose edge lies at or before this cycle's. */
static void tick_dram(struct twin *t)
{
	while (hw_ratio_up(t->clk, t->ratio.num, t->ratio.den) <= t->now)
		twin_dram_tick(t->dram, t->clk++);
}

/* ---- instruction fetch ---- */

static uint64_t image_base(const struct run *r)
{
	uint64_t bytes = ((uint64_t)r->t.program->ninsns * NPU_INSN_BYTES + 4095) / 4096 * 4096;
	uint64_t capacity = dram_capacity(&r->t.hw->dram);
	return bytes < capacity ? capacity - bytes : 0;
}

static bool fetches(const struct run *r)
{
	return r->t.hw->sequencer.fetch == HW_FETCH_DRAM;
}

static void fetch_arrive(struct run *r)
{
	for (uint64_t i = r->arrived / r->per_request; i < r->nrequests; i++) {
		if (!twin_answered(&r->t, r->request[i]))
			return;
		uint32_t end = (uint32_t)(i + 1) * r->per_request;
		r->arrived = end < r->t.program->ninsns ? end : r->t.program->ninsns;
	}
}

/* A request a cycle, when the buffer has room for all of it. */
static void fetch_leave(struct run *r)
{
	uint32_t left = r->t.program->ninsns - r->requested, n = left < r->per_request ? left : r->per_request;
	if (!n || r->requested + n - r->next > r->t.hw->sequencer.fetch_buffer)
		return;
	r->request = twin_room(r->request, r->nrequests, sizeof *r->request);
	r->request[r->nrequests++] =
	    twin_send(&r->t, 2, image_base(r) + (uint64_t)r->requested * NPU_INSN_BYTES, n * NPU_INSN_BYTES, false);
	r->requested += n;
}

/* ---- sequencer ---- */

static enum npu_seq_state full_state(enum npu_engine e)
{
	return (enum npu_seq_state)(NPU_SEQ_FULL_LOAD + (unsigned)e);
}

static void put(struct run *r, enum npu_engine e, uint32_t insn)
{
	struct queue *q = &r->queue[e];
	q->waits = twin_room(q->waits, q->nwaits, sizeof *q->waits);
	q->waits[q->nwaits++] = insn;
	q->remaining--;
}

/* Issues the next instruction if it can be now; says what the sequencer does in this cycle. */
static bool issue(struct run *r)
{
	const struct hw_sequencer *s = &r->t.hw->sequencer;
	if (r->t.now < r->ready) {
		r->line = r->t.now < s->launch_cycles ? NPU_SEQ_LAUNCH : NPU_SEQ_ISSUE;
		return false;
	}
	r->line = NPU_SEQ_DONE;
	if (r->next == r->t.program->ninsns)
		return false;
	enum npu_engine e = npu_op_engine(r->t.program->insns[r->next].op);
	r->line = NPU_SEQ_FETCH;
	if (fetches(r) && r->next >= r->arrived)
		return false;
	r->line = full_state(e);
	if (r->queue[e].nwaits - r->queue[e].head >= s->queue_depth)
		return false;
	put(r, e, r->next++);
	r->ready = r->t.now + s->issue_cycles;
	r->line = NPU_SEQ_ISSUE;
	return true;
}

/* ---- semaphores ---- */

static void see_posts(struct run *r)
{
	for (uint32_t i = 0; i < r->t.program->nsems; i++) {
		struct semaphore *s = &r->sem[i];
		for (; s->next < s->nposts && s->post[s->next].seen <= r->t.now; s->next++)
			s->count += s->post[s->next].count;
	}
}

static bool holds(const struct run *r, const struct npu_insn *insn, unsigned slot)
{
	const struct npu_sem_ref *w = insn->wait;
	if (!w[slot].count)
		return true;
	bool shared = slot && w[0].count && w[0].sem == w[1].sem;
	return r->sem[w[slot].sem].count >= (uint64_t)w[slot].count + (shared ? w[0].count : 0);
}

static void give_posts(struct run *r, uint32_t insn)
{
	for (unsigned i = 0; i < NPU_SYNC_SLOTS; i++) {
		const struct npu_sem_ref *p = &r->t.program->insns[insn].post[i];
		struct semaphore *s = &r->sem[p->sem];
		if (!p->count)
			continue;
		s->post = twin_room(s->post, s->nposts, sizeof *s->post);
		s->post[s->nposts++] = (struct post){ r->t.now + r->t.hw->sequencer.sync_latency, p->count };
	}
	see_posts(r);
}

/* ---- engines ---- */

/* Ends in queue order; a sync ends when everything before it has. */
static bool end_some(struct run *r, enum npu_engine e)
{
	struct queue *q = &r->queue[e];
	uint32_t done = body_of(e)->ended(&r->t, e);
	bool moved = false;
	for (; q->oldest < q->nruns; q->oldest++, moved = true) {
		uint32_t insn = q->runs[q->oldest];
		bool sync = npu_op_is_sync(r->t.program->insns[insn].op);
		if (!sync && insn != done)
			break;
		if (sync)
			r->out->start[insn] = r->t.now;
		r->out->end[insn] = r->t.now;
		r->moved = r->t.now;
		give_posts(r, insn);
	}
	return moved;
}

static enum npu_state wait_state(const struct run *r, enum npu_engine e, const struct npu_insn *insn, unsigned slot)
{
	enum npu_engine poster = r->t.program->sems[insn->wait[slot].sem].poster;
	return (enum npu_state)(NPU_STATE_WAIT_LOAD + (unsigned)(poster == NPU_ENGINES ? e : poster));
}

/* Cycles in which both waits were open belong to the one that is satisfied last; of two at once to the first. */
static void settle_both(struct run *r, enum npu_engine e, const struct npu_insn *insn)
{
	bool first = holds(r, insn, 0), second = holds(r, insn, 1);
	if (!r->queue[e].both || (!first && !second))
		return;
	r->out->state[e][wait_state(r, e, insn, first && !second ? 1 : 0)] += r->queue[e].both;
	r->queue[e].both = 0;
}

static bool start_one(struct run *r, enum npu_engine e)
{
	struct queue *q = &r->queue[e];
	if (q->head == q->nwaits)
		return false;
	uint32_t number = q->waits[q->head];
	const struct npu_insn *insn = &r->t.program->insns[number];
	bool sync = npu_op_is_sync(insn->op);
	settle_both(r, e, insn);
	if (!holds(r, insn, 0) || !holds(r, insn, 1) || (!sync && !body_of(e)->may_start(&r->t, e, number)))
		return false;
	for (unsigned i = 0; i < NPU_SYNC_SLOTS; i++)
		if (insn->wait[i].count)
			r->sem[insn->wait[i].sem].count -= insn->wait[i].count;
	q->head++;
	q->runs = twin_room(q->runs, q->nruns, sizeof *q->runs);
	q->runs[q->nruns++] = number;
	r->out->start[number] = r->moved = r->t.now;
	if (!sync)
		body_of(e)->start(&r->t, e, number);
	return true;
}

/* Everything that happens at the edge of this cycle, until nothing more does; what ends, before anything starts. */
static void move(struct run *r)
{
	bool moved = true;
	while (moved) {
		moved = issue(r);
		for (unsigned e = 0; e < NPU_ENGINES; e++) {
			while (end_some(r, (enum npu_engine)e))
				moved = true;
			moved |= start_one(r, (enum npu_engine)e);
		}
	}
}

/* ---- the account ---- */

static bool is_full(enum npu_seq_state line)
{
	return line >= NPU_SEQ_FULL_LOAD && line <= NPU_SEQ_FULL_VECTOR;
}

static void account(struct run *r, enum npu_engine e)
{
	struct queue *q = &r->queue[e];
	enum npu_state state = NPU_STATE_IDLE;
	if (body_of(e)->in_service(&r->t, e)) {
		state = body_of(e)->state(&r->t, e);
	} else if (q->head < q->nwaits) {
		const struct npu_insn *insn = &r->t.program->insns[q->waits[q->head]];
		bool first = holds(r, insn, 0), second = holds(r, insn, 1);
		if (!first && !second) {
			q->both++;
			return;
		}
		state = first && second ? NPU_STATE_ENGINE_LATENCY : wait_state(r, e, insn, first);
	} else if (q->remaining) {
		state = is_full(r->line) ? NPU_STATE_DISPATCH_BLOCKED : NPU_STATE_DISPATCH_RATE;
	}
	r->out->state[e][state]++;
}

static bool works(const struct run *r)
{
	bool any = !twin_dram_empty(r->t.dram);
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		any |= body_of((enum npu_engine)e)->in_service(&r->t, (enum npu_engine)e);
	return any;
}

static bool is_over(const struct run *r)
{
	uint64_t drained = hw_ratio_up(twin_dram_last_data(r->t.dram), r->t.ratio.num, r->t.ratio.den);
	if (r->next < r->t.program->ninsns || !twin_dram_empty(r->t.dram) || r->t.now < drained)
		return false;
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		if (r->queue[e].head < r->queue[e].nwaits || r->queue[e].oldest < r->queue[e].nruns)
			return false;
	return true;
}

/* Says loudly that it does not come to an end, and where it stands. */
static bool give_up(const struct run *r)
{
	fprintf(stderr, "twin: no instruction has started or ended from cycle %llu to %llu;",
		(unsigned long long)r->moved, (unsigned long long)r->t.now);
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		const struct queue *q = &r->queue[e];
		if (q->oldest < q->nruns)
			fprintf(stderr, " %s runs instruction %u", npu_engine_name((enum npu_engine)e),
				q->runs[q->oldest]);
		else if (q->head < q->nwaits)
			fprintf(stderr, " %s waits with instruction %u", npu_engine_name((enum npu_engine)e),
				q->waits[q->head]);
	}
	fprintf(stderr, "%s\n", twin_dram_empty(r->t.dram) ? "" : "; the DRAM has requests");
	return false;
}

static bool loop(struct run *r)
{
	uint64_t quiet = 0;
	for (r->t.now = 0;; r->t.now++) {
		tick_dram(&r->t);
		for (unsigned e = 0; e <= NPU_ENGINE_STORE; e++)
			twin_dma_arrive(&r->t, (enum npu_engine)e);
		if (fetches(r))
			fetch_arrive(r);
		see_posts(r);
		move(r);
		if (is_over(r))
			return true;
		quiet = works(r) ? 0 : quiet + 1;
		if (quiet > PATIENCE || r->t.now - r->moved > LONGEST)
			return give_up(r);
		for (unsigned e = 0; e <= NPU_ENGINE_STORE; e++)
			twin_dma_leave(&r->t, (enum npu_engine)e);
		if (fetches(r))
			fetch_leave(r);
		for (unsigned e = 0; e < NPU_ENGINES; e++)
			if (body_of((enum npu_engine)e)->in_service(&r->t, (enum npu_engine)e))
				body_of((enum npu_engine)e)->ask(&r->t, (enum npu_engine)e);
		twin_memory_cycle(&r->t.memory);
		for (unsigned e = 0; e < NPU_ENGINES; e++)
			account(r, (enum npu_engine)e);
		r->out->line[r->line]++;
	}
}

static void build(struct run *r, const struct hw *hw, const struct npu_program *p)
{
	uint64_t per = hw->dma.max_burst / NPU_INSN_BYTES;
	per = per < hw->sequencer.fetch_buffer ? per : hw->sequencer.fetch_buffer;
	r->per_request = per ? (uint32_t)per : 1;
	r->t.hw = hw;
	r->t.program = p;
	r->t.ratio = hw_clock_ratio(hw);
	r->t.dram = twin_dram_new(&hw->dram);
	r->t.dma[0] = twin_dma_new(hw, NPU_ENGINE_LOAD);
	r->t.dma[1] = twin_dma_new(hw, NPU_ENGINE_STORE);
	r->t.matrix = twin_matrix_new();
	r->t.vector = twin_vector_new();
	twin_memory_init(&r->t.memory, hw);
	r->ready = hw->sequencer.launch_cycles;
	r->sem = twin_alloc(p->nsems, sizeof *r->sem);
	for (uint32_t i = 0; i < p->nsems; i++)
		r->sem[i].count = p->sems[i].initial;
	for (uint32_t i = 0; i < p->ninsns; i++)
		r->queue[npu_op_engine(p->insns[i].op)].remaining++;
}

static void take_apart(struct run *r)
{
	for (uint32_t i = 0; i < r->t.program->nsems; i++)
		free(r->sem[i].post);
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		free(r->queue[e].waits);
		free(r->queue[e].runs);
	}
	free(r->sem);
	free(r->request);
	twin_vector_free(r->t.vector);
	twin_matrix_free(r->t.matrix);
	twin_dma_free(r->t.dma[0]);
	twin_dma_free(r->t.dma[1]);
	twin_dram_free(r->t.dram);
}

bool twin_run(const struct hw *hw, const struct npu_program *program, struct twin_result *out)
{
	struct run *r = twin_alloc(1, sizeof *r);
	*out = (struct twin_result){ 0 };
	out->start = twin_alloc(program->ninsns, sizeof *out->start);
	out->end = twin_alloc(program->ninsns, sizeof *out->end);
	r->out = out;
	build(r, hw, program);
	bool ok = loop(r);
	out->cycles = r->t.now;
	take_apart(r);
	free(r);
	return ok;
}

void twin_result_free(struct twin_result *result)
{
	free(result->start);
	free(result->end);
	*result = (struct twin_result){ 0 };
}
