/* SPDX-License-Identifier: Apache-2.0 */
/* The issue of instructions, worked ahead. */
#include "models/sequencer.h"

#include "models/machine_ring.h"

struct blocked {
	uint64_t from, to;
};

struct request {
	uint64_t arrival; /* NPU_NEVER while it is out */
};

struct sequencer {
	const struct npu_program *program;
	struct sequencer_config config;
	struct sequencer_listener listener;
	const struct probe *probe;
	struct machine_wake wake;

	uint32_t next;   /* instruction to be issued */
	uint64_t ready;  /* cycle from which the rate allows it */
	uint64_t held[NPU_ENGINES];      /* entries of each queue in use */
	uint64_t remaining[NPU_ENGINES];
	enum npu_engine stuck;           /* on this queue, since `stuck_from` */
	uint64_t stuck_from;

	/* The time line, told one span behind so that equal neighbours join. */
	enum npu_seq_state line_state;
	uint64_t line_from, line_to;

	/* Spans in which it was stuck: kept while an engine may still be asked about them. */
	bool keep_blocked;
	struct ring blocked;             /* struct blocked */
	uint64_t asked[NPU_ENGINES];     /* each engine has been explained up to here */

	/* Fetch. */
	struct ring requests;            /* struct request, from that of instruction `next` on */
	struct ring issue_times;         /* uint64_t, of the last fetch_buffer instructions */
	uint64_t last_request;           /* cycle after the last request */
	uint64_t fetch_bytes;
};

struct sequencer *sequencer_new(const struct npu_program *program, const struct sequencer_config *config,
				const struct sequencer_listener *listener, const struct probe *probe,
				const struct machine_wake *wake)
{
	struct sequencer *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	*s = (struct sequencer){ .program = program, .config = *config, .listener = *listener, .probe = probe,
				 .wake = *wake, .ready = config->launch_cycles, .stuck = NPU_ENGINES,
				 .line_state = NPU_SEQ_LAUNCH, .line_to = config->launch_cycles,
				 .keep_blocked = probe->span != NULL };
	ring_init(&s->blocked, sizeof(struct blocked));
	ring_init(&s->requests, sizeof(struct request));
	ring_init(&s->issue_times, sizeof(uint64_t));
	/* Only the account asks what is to come. */
	for (uint32_t i = 0; s->keep_blocked && i < program->ninsns; i++)
		s->remaining[npu_op_engine(program->insns[i].op)]++;
	return s;
}

void sequencer_free(struct sequencer *s)
{
	if (!s)
		return;
	ring_fini(&s->blocked);
	ring_fini(&s->requests);
	ring_fini(&s->issue_times);
	free(s);
}

static void line(struct sequencer *s, enum npu_seq_state state, uint64_t to)
{
	if (to <= s->line_to)
		return;
	if (state != s->line_state && s->line_to > s->line_from) {
		if (s->probe->sequencer)
			s->probe->sequencer(s->probe->ctx, s->line_state, s->line_from, s->line_to);
		s->line_from = s->line_to;
	}
	s->line_state = state;
	s->line_to = to;
}

/* Forgets spans that no engine will be asked about: of the engines with something to come, the one explained least far. */
static void forget_blocked(struct sequencer *s)
{
	uint64_t least = NPU_NEVER;
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		if ((s->remaining[e] || s->held[e]) && s->asked[e] < least)
			least = s->asked[e];
	while (ring_count(&s->blocked) && ((struct blocked *)ring_at(&s->blocked, 0))->to <= least)
		ring_pop(&s->blocked);
}

static void keep_blocked(struct sequencer *s, uint64_t from, uint64_t to)
{
	if (!s->keep_blocked || from >= to)
		return;
	uint64_t n = ring_count(&s->blocked);
	struct blocked *last = n ? ring_at(&s->blocked, n - 1) : NULL;
	if (last && last->to == from) {
		last->to = to;
		return;
	}
	if (n > s->blocked.mask)
		forget_blocked(s);
	*(struct blocked *)ring_push(&s->blocked) = (struct blocked){ from, to };
}

static enum npu_seq_state full_state(enum npu_engine e)
{
	switch (e) {
	case NPU_ENGINE_LOAD:
		return NPU_SEQ_FULL_LOAD;
	case NPU_ENGINE_STORE:
		return NPU_SEQ_FULL_STORE;
	case NPU_ENGINE_MATRIX:
		return NPU_SEQ_FULL_MATRIX;
	case NPU_ENGINE_VECTOR:
		return NPU_SEQ_FULL_VECTOR;
	case NPU_ENGINES:
		break;
	}
	return NPU_SEQ_ISSUE;
}

static void issue(struct sequencer *s, enum npu_engine e, uint64_t at)
{
	uint32_t insn = s->next++;
	s->ready = at + s->config.issue_cycles;
	line(s, NPU_SEQ_ISSUE, s->ready);
	s->held[e]++;
	s->remaining[e] -= s->keep_blocked;
	if (s->config.fetch_buffer) {
		*(uint64_t *)ring_push(&s->issue_times) = at;
		if (ring_count(&s->issue_times) > s->config.fetch_buffer)
			ring_pop(&s->issue_times);
		if (s->next % s->config.fetch_insns == 0)
			ring_pop(&s->requests);
	}
	s->listener.push(s->listener.ctx, e, insn, at);
}

/* The cycle at which the bytes of the next instruction are there, NPU_NEVER: not known. */
static uint64_t arrival(const struct sequencer *s)
{
	if (!s->config.fetch_buffer)
		return 0;
	return ring_count(&s->requests) ? ((struct request *)ring_at(&s->requests, 0))->arrival : NPU_NEVER;
}

/* The first instruction of the next fetch request. */
static uint64_t request_first(const struct sequencer *s)
{
	return s->requests.end * s->config.fetch_insns;
}

static uint32_t request_insns(const struct sequencer *s)
{
	uint64_t left = s->program->ninsns - request_first(s);
	return (uint32_t)(left < s->config.fetch_insns ? left : s->config.fetch_insns);
}

/* The cycle at which the next fetch request can leave: a cycle after the last, when the buffer has room for all of it.
 * NPU_NEVER: not known, or nothing is left to be fetched. */
static uint64_t request_at(const struct sequencer *s)
{
	if (!s->config.fetch_buffer || request_first(s) >= s->program->ninsns)
		return NPU_NEVER;
	uint64_t end = request_first(s) + request_insns(s);
	if (end <= s->config.fetch_buffer)
		return s->last_request;
	uint64_t gives_room = end - 1 - s->config.fetch_buffer; /* instruction whose issue makes the last bit of room */
	if (gives_room >= s->next)
		return NPU_NEVER;
	uint64_t at = *(uint64_t *)ring_at(&s->issue_times, gives_room - s->issue_times.first);
	return at > s->last_request ? at : s->last_request;
}

/* Issues until a queue is full or bytes are missing. `room_at`: the queue that it was stuck on had room from then on. */
static void dispatch(struct sequencer *s, uint64_t room_at)
{
	while (s->next < s->program->ninsns) {
		uint64_t bytes_at = arrival(s), at = s->ready > bytes_at ? s->ready : bytes_at;
		if (at == NPU_NEVER)
			break;
		line(s, NPU_SEQ_FETCH, at);
		enum npu_engine e = npu_op_engine(s->program->insns[s->next].op);
		assert(e < NPU_ENGINES);
		if (s->held[e] >= s->config.queue_depth) {
			s->stuck = e;
			s->stuck_from = at;
			break;
		}
		if (room_at > at) {
			line(s, full_state(e), room_at);
			keep_blocked(s, at, room_at);
			at = room_at;
		}
		room_at = 0;
		issue(s, e, at);
	}
	machine_wake_up(&s->wake, MACHINE_SEQUENCER, request_at(s));
}

void sequencer_start(struct sequencer *s)
{
	dispatch(s, 0);
}

void sequencer_popped(struct sequencer *s, enum npu_engine e, uint64_t now)
{
	s->held[e]--;
	s->asked[e] = now;
	if (s->stuck != e)
		return;
	s->stuck = NPU_ENGINES;
	dispatch(s, now);
}

void sequencer_fetched(struct sequencer *s, uint32_t tag, uint64_t at)
{
	uint32_t ahead = tag - (uint32_t)s->requests.first;
	assert(ahead < ring_count(&s->requests));
	((struct request *)ring_at(&s->requests, ahead))->arrival = at;
	if (ahead == 0 && s->stuck == NPU_ENGINES)
		dispatch(s, 0);
}

uint64_t sequencer_step(struct sequencer *s, uint64_t now)
{
	uint64_t at = request_at(s);
	if (at > now)
		return at;
	uint64_t first = request_first(s);
	uint32_t bytes = request_insns(s) * NPU_INSN_BYTES, tag = (uint32_t)s->requests.end;
	((struct request *)ring_push(&s->requests))->arrival = NPU_NEVER;
	s->last_request = now + 1;
	s->fetch_bytes += bytes;
	s->listener.fetch(s->listener.ctx, now, s->config.fetch_base + first * NPU_INSN_BYTES, bytes, tag);
	return request_at(s);
}

uint64_t sequencer_earliest_fetch(const struct sequencer *s, uint64_t now)
{
	if (!s->config.fetch_buffer || request_first(s) >= s->program->ninsns)
		return NPU_NEVER;
	uint64_t at = request_at(s);
	return at == NPU_NEVER || at < now ? now : at;
}

uint64_t sequencer_remaining(const struct sequencer *s, enum npu_engine e)
{
	return s->remaining[e];
}

void sequencer_explain(struct sequencer *s, enum npu_engine e, uint64_t from, uint64_t to,
		       void (*emit)(void *ctx, enum npu_state state, uint64_t from, uint64_t to), void *ctx)
{
	struct blocked open = { s->stuck_from, s->stuck == NPU_ENGINES ? s->stuck_from : NPU_NEVER };
	uint64_t n = ring_count(&s->blocked), at = from, low = 0, high = n;
	while (low < high) {
		uint64_t middle = (low + high) / 2;
		if (((struct blocked *)ring_at(&s->blocked, middle))->to <= from)
			low = middle + 1;
		else
			high = middle;
	}
	for (uint64_t i = low; i <= n && at < to; i++) {
		struct blocked b = i < n ? *(struct blocked *)ring_at(&s->blocked, i) : open;
		uint64_t begin = b.from < to ? b.from : to, end = b.to < to ? b.to : to;
		if (begin > at)
			emit(ctx, NPU_STATE_DISPATCH_RATE, at, begin);
		at = begin > at ? begin : at;
		if (end > at)
			emit(ctx, NPU_STATE_DISPATCH_BLOCKED, at, end);
		at = end > at ? end : at;
	}
	if (at < to)
		emit(ctx, NPU_STATE_DISPATCH_RATE, at, to);
	s->asked[e] = to;
}

enum npu_engine sequencer_stuck(const struct sequencer *s)
{
	return s->stuck;
}

uint32_t sequencer_next(const struct sequencer *s)
{
	return s->next;
}

uint64_t sequencer_end(const struct sequencer *s)
{
	return s->line_to;
}

uint64_t sequencer_fetch_bytes(const struct sequencer *s)
{
	return s->fetch_bytes;
}

void sequencer_close(struct sequencer *s, uint64_t cycles)
{
	if (s->stuck != NPU_ENGINES)
		line(s, full_state(s->stuck), cycles);
	line(s, NPU_SEQ_DONE, cycles);
	uint64_t to = s->line_to < cycles ? s->line_to : cycles;
	if (s->probe->sequencer && to > s->line_from)
		s->probe->sequencer(s->probe->ctx, s->line_state, s->line_from, to);
}
