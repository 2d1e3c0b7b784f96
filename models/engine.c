/* SPDX-License-Identifier: Apache-2.0 */
/* The queue in front of a body. The account is kept lazily: `covered` is the cycle up to which the probe was told (but for
 * one span, held back to join it with its neighbour); a wait is told when it is over, for only then is its cause known. */
#include "models/engine.h"

#include "models/machine_ring.h"

struct entry {
	uint64_t issued;
	uint32_t insn;
	bool sync;
};

/* An instruction that has started and not ended. */
struct flight {
	uint64_t issued, head, start;
	uint32_t insn;
	uint32_t enabled_by[NPU_SYNC_SLOTS];
	bool sync;
};

/* When the waits of an instruction hold, and by whose posts. */
struct waits {
	uint64_t hold_at;
	uint64_t seen[NPU_SYNC_SLOTS]; /* of waits that there are */
	uint32_t by[NPU_SYNC_SLOTS];
};

struct engine {
	enum npu_engine id;
	const struct npu_program *program;
	struct semaphores *semaphores;
	struct sequencer *sequencer;
	const struct probe *probe;
	struct machine_wake wake;
	const struct body_ops *ops;
	void *body;

	struct ring queue;   /* struct entry */
	struct ring flights; /* struct flight */
	uint64_t last_start; /* when the head of the queue became it */
	uint64_t last_end;
	uint64_t now;
	uint32_t waits_of;   /* the instruction whose waits are known: */
	struct waits waits;  /* for ever once all of its counts are posted, else until there is news of semaphores */
	uint64_t news;

	uint64_t covered;
	struct probe_span span; /* held back; empty when from == to */
};

struct engine *engine_new(enum npu_engine id, const struct npu_program *program, struct semaphores *semaphores,
			  const struct probe *probe, const struct machine_wake *wake)
{
	struct engine *e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	*e = (struct engine){ .id = id, .program = program, .semaphores = semaphores, .probe = probe, .wake = *wake,
			      .waits_of = PROBE_NOBODY, .span = { .from = NPU_NEVER, .to = NPU_NEVER } };
	ring_init(&e->queue, sizeof(struct entry));
	ring_init(&e->flights, sizeof(struct flight));
	return e;
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	ring_fini(&e->queue);
	ring_fini(&e->flights);
	free(e);
}

void engine_attach(struct engine *e, const struct body_ops *ops, void *body, struct sequencer *sequencer)
{
	e->ops = ops;
	e->body = body;
	e->sequencer = sequencer;
}

/* The account. */

static void tell_span(struct engine *e)
{
	if (e->span.from < e->span.to)
		e->probe->span(e->probe->ctx, &e->span);
}

static void cover(struct engine *e, enum npu_state state, uint32_t insn, uint64_t from, uint64_t to)
{
	if (from >= to || !e->probe->span)
		return;
	assert(from == e->covered);
	e->covered = to;
	if (e->span.state == state && e->span.insn == insn && e->span.to == from) {
		e->span.to = to;
		return;
	}
	tell_span(e);
	e->span = (struct probe_span){ .engine = e->id, .state = state, .insn = insn, .from = from, .to = to };
}

static void body_span(void *ctx, enum npu_state state, uint32_t insn, uint64_t from, uint64_t to)
{
	cover(ctx, state, insn, from, to);
}

static void empty_span(void *ctx, enum npu_state state, uint64_t from, uint64_t to)
{
	cover(ctx, state, PROBE_NOBODY, from, to);
}

static enum npu_state wait_state(enum npu_engine poster, enum npu_engine self)
{
	switch (poster) {
	case NPU_ENGINE_LOAD:
		return NPU_STATE_WAIT_LOAD;
	case NPU_ENGINE_STORE:
		return NPU_STATE_WAIT_STORE;
	case NPU_ENGINE_MATRIX:
		return NPU_STATE_WAIT_MATRIX;
	case NPU_ENGINE_VECTOR:
		return NPU_STATE_WAIT_VECTOR;
	case NPU_ENGINES: /* nobody ever posts it: it waits for itself */
		return wait_state(self, self);
	}
	return NPU_STATE_IDLE;
}

/* With two operands the one that came last decides every cycle of the wait; of two at once, the first. */
static enum npu_state cause_of_wait(const struct engine *e, const struct npu_insn *insn, const struct waits *w)
{
	unsigned last = insn->wait[0].count && (!insn->wait[1].count || w->seen[0] >= w->seen[1]) ? 0 : 1;
	return wait_state(e->program->sems[insn->wait[last].sem].poster, e->id);
}

/* Nothing was in service up to `to`, the head came into the queue at `issued`. */
static void cover_wait(struct engine *e, const struct entry *head, const struct waits *w, uint64_t to)
{
	if (!e->probe->span || e->covered >= to)
		return;
	uint64_t issued = head->issued < to ? head->issued : to, hold_at = w->hold_at < to ? w->hold_at : to;
	if (e->covered < issued)
		sequencer_explain(e->sequencer, e->id, e->covered, issued, empty_span, e);
	if (e->covered < hold_at)
		cover(e, cause_of_wait(e, &e->program->insns[head->insn], w), head->insn, e->covered, hold_at);
	cover(e, NPU_STATE_ENGINE_LATENCY, head->insn, e->covered, to);
}

/* Ends. */

static void end_oldest(struct engine *e, struct probe_insn *told)
{
	struct flight flight = *(struct flight *)ring_at(&e->flights, 0);
	ring_pop(&e->flights);
	const struct npu_insn *insn = &e->program->insns[flight.insn];
	e->last_end = told->end;
	for (unsigned i = 0; i < NPU_SYNC_SLOTS; i++)
		if (insn->post[i].count)
			semaphore_post(e->semaphores, insn->post[i], flight.insn, told->end);
	if (!e->probe->insn)
		return;
	told->insn = flight.insn;
	told->engine = e->id;
	told->issued = flight.issued;
	told->head = flight.head;
	told->start = flight.sync ? told->end : flight.start;
	for (unsigned i = 0; i < NPU_SYNC_SLOTS; i++)
		told->enabled_by[i] = flight.enabled_by[i];
	e->probe->insn(e->probe->ctx, told);
}

/* A sync ends when everything before it has. */
static void end_syncs(struct engine *e, uint64_t end)
{
	while (ring_count(&e->flights) && ((struct flight *)ring_at(&e->flights, 0))->sync)
		end_oldest(e, &(struct probe_insn){ .stream_begin = end, .stream_end = end, .end = end });
}

static void body_ended(void *ctx, uint32_t insn, uint32_t slot, uint64_t stream_begin, uint64_t stream_end, uint64_t end)
{
	struct engine *e = ctx;
	assert(end <= e->now && ((struct flight *)ring_at(&e->flights, 0))->insn == insn);
	end_oldest(e, &(struct probe_insn){
			      .slot = slot, .stream_begin = stream_begin, .stream_end = stream_end, .end = end });
	end_syncs(e, end);
}

struct body_listener engine_listener(struct engine *e)
{
	return (struct body_listener){ .ctx = e, .span = body_span, .ended = body_ended };
}

/* Starts. */

void engine_push(struct engine *e, uint32_t insn, uint64_t at)
{
	if (!ring_count(&e->queue))
		machine_wake_up(&e->wake, e->id, at);
	bool sync = npu_op_is_sync(e->program->insns[insn].op);
	*(struct entry *)ring_push(&e->queue) = (struct entry){ .issued = at, .insn = insn, .sync = sync };
}

static void look_at_waits(struct engine *e, const struct npu_insn *insn, struct waits *w)
{
	const struct npu_sem_ref *ref = insn->wait;
	w->hold_at = 0;
	w->by[0] = w->by[1] = PROBE_NOBODY;
	for (unsigned i = 0; i < NPU_SYNC_SLOTS; i++) {
		if (!ref[i].count)
			continue;
		uint64_t before = i && ref[0].count && ref[0].sem == ref[i].sem ? ref[0].count : 0;
		w->seen[i] = semaphore_seen(e->semaphores, ref[i].sem, before + ref[i].count, &w->by[i]);
		if (w->seen[i] > w->hold_at)
			w->hold_at = w->seen[i];
	}
}

/* When the head of the queue sees what it waits for, NPU_NEVER while some of it is not posted. */
static uint64_t head_holds_at(struct engine *e, uint32_t head)
{
	uint64_t news = semaphores_news(e->semaphores, e->id);
	if (e->waits_of != head || (e->waits.hold_at == NPU_NEVER && e->news != news)) {
		look_at_waits(e, &e->program->insns[head], &e->waits);
		e->waits_of = head;
		e->news = news;
	}
	return e->waits.hold_at;
}

static void start(struct engine *e, const struct entry *head, const struct waits *w, uint64_t now)
{
	const struct npu_insn *insn = &e->program->insns[head->insn];
	struct flight *flight = ring_push(&e->flights);
	*flight = (struct flight){ .issued = head->issued,
				   .head = head->issued > e->last_start ? head->issued : e->last_start,
				   .start = now, .insn = head->insn, .enabled_by = { w->by[0], w->by[1] }, .sync = head->sync };
	for (unsigned i = 0; i < NPU_SYNC_SLOTS; i++)
		if (insn->wait[i].count)
			semaphore_take(e->semaphores, insn->wait[i], now);
	e->last_start = now;
	if (!head->sync)
		e->ops->accept(e->body, now, head->insn);
	ring_pop(&e->queue);
	sequencer_popped(e->sequencer, e->id, now);
	end_syncs(e, now);
}

/* Starts what can start at `now`. Returns whether the body was given something; *next: when the head may start as far as
 * is known, NPU_NEVER: when somebody else has moved. */
static bool start_heads(struct engine *e, uint64_t now, uint64_t *next)
{
	*next = NPU_NEVER;
	while (ring_count(&e->queue)) {
		struct entry head = *(struct entry *)ring_at(&e->queue, 0);
		if (head.issued > now) {
			*next = head.issued;
			break;
		}
		uint64_t at = head_holds_at(e, head.insn);
		if (at <= now)
			at = head.sync ? now : e->ops->accept_at(e->body, now, head.insn);
		if (at > now) {
			*next = at;
			break;
		}
		if (!e->ops->in_service(e->body))
			cover_wait(e, &head, &e->waits, now);
		start(e, &head, &e->waits, now);
		if (!head.sync)
			return true;
	}
	return false;
}

uint64_t engine_step(struct engine *e, uint64_t now)
{
	uint64_t body, head;
	e->now = now;
	do
		body = e->ops->step(e->body, now);
	while (start_heads(e, now, &head));
	return body < head ? body : head;
}

uint64_t engine_last_end(const struct engine *e)
{
	return e->last_end;
}

uint64_t engine_unfinished(const struct engine *e)
{
	return ring_count(&e->flights) + ring_count(&e->queue);
}

uint32_t engine_head(const struct engine *e)
{
	return ring_count(&e->queue) ? ((struct entry *)ring_at(&e->queue, 0))->insn : PROBE_NOBODY;
}

void engine_close(struct engine *e, uint64_t cycles)
{
	if (!e->probe->span)
		return;
	if (ring_count(&e->queue) && e->covered < cycles) {
		struct entry head = *(struct entry *)ring_at(&e->queue, 0);
		struct waits w;
		look_at_waits(e, &e->program->insns[head.insn], &w);
		cover_wait(e, &head, &w, cycles);
	} else if (sequencer_remaining(e->sequencer, e->id) && e->covered < cycles) {
		sequencer_explain(e->sequencer, e->id, e->covered, cycles, empty_span, e);
	}
	cover(e, NPU_STATE_IDLE, PROBE_NOBODY, e->covered, cycles);
	tell_span(e);
	e->span.from = e->span.to;
}
