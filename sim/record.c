/* SPDX-License-Identifier: Apache-2.0 */
/* What happens at each event: a few additions, and an append where events are kept. */
#include "sim/record.h"

#include "sim/record_grow.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { ACTIVE = 1, WAITING = 0, EMPTY = 0 };
static const bool state_is_active[NPU_STATES] = {
#define STATE(NAME, text, group, doc) [NPU_STATE_##NAME] = (group) != 0,
#include "models/states.def"
};

static void fault(struct record *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fault(struct record *r, const char *format, ...)
{
	if (r->fault[0] != '\0')
		return;
	va_list args;
	va_start(args, format);
	vsnprintf(r->fault, sizeof(r->fault), format, args);
	va_end(args);
}

static void keep_span(struct record *r, struct record_spans *spans, struct record_span span)
{
	struct record_span *last = spans->count > 0 ? &spans->items[spans->count - 1] : NULL;
	if (last && last->state == span.state && last->insn == span.insn) {
		last->to = span.to;
		return;
	}
	void *items = spans->items;
	if (!record_grow(&items, &spans->capacity, spans->count + 1, sizeof(*spans->items))) {
		r->no_memory = true;
		return;
	}
	spans->items = items;
	spans->items[spans->count++] = span;
}

/* Once the program holds nothing more for an engine, nobody need wait to hear that it stays inactive. */
static void note_done(struct record *r, enum npu_engine e)
{
	if (r->done[e] || r->insns[e] < r->planned[e] || r->upto[e] < r->last_end[e])
		return;
	r->done[e] = true;
	overlap_engine_done(&r->overlap, e);
}

static __attribute__((cold, noinline)) void refuse_span(struct record *r, const struct probe_span *s)
{
	if (s->from != r->upto[s->engine] || s->to < s->from)
		fault(r, "%s tells %" PRIu64 "..%" PRIu64 " after %" PRIu64, npu_engine_name(s->engine), s->from, s->to,
		      r->upto[s->engine]);
	else
		fault(r, "%s is active at %" PRIu64 ", after its last instruction", npu_engine_name(s->engine), s->from);
}

static void on_span(void *ctx, const struct probe_span *s)
{
	struct record *r = ctx;
	enum npu_engine e = s->engine;
	uint64_t from = s->from, to = s->to;
	if (from != r->upto[e] || to < from) {
		refuse_span(r, s);
		return;
	}
	if (to == from)
		return;
	bool active = state_is_active[s->state];
	if (active && r->done[e])
		refuse_span(r, s);
	const struct npu_program *program = r->program;
	uint32_t region = s->insn == PROBE_NOBODY ? NPU_NO_REGION : program->region[s->insn];
	if (region == NPU_NO_REGION)
		region = program->nregions;
	r->upto[e] = to;
	r->states[e][s->state] += to - from;
	r->regions[region][e][s->state] += to - from;
	if (!overlap_span(&r->overlap, e, active, from, to))
		r->no_memory = true;
	if (r->keep)
		keep_span(r, &r->spans[e], (struct record_span){ to, s->insn, s->state });
	if (!r->done[e])
		note_done(r, e);
}

static void on_insn(void *ctx, const struct probe_insn *event)
{
	struct record *r = ctx;
	enum npu_engine e = event->engine;
	if (event->insn >= r->program->ninsns || r->insns[e] == r->planned[e]) {
		fault(r, "instruction %" PRIu32 " ends a second time", event->insn);
		return;
	}
	if (event->issued > event->head || event->head > event->start || event->start > event->stream_begin ||
	    event->stream_begin > event->stream_end || event->stream_end > event->end || event->end < r->last_end[e]) {
		fault(r, "the times of instruction %" PRIu32 " are out of order", event->insn);
		return;
	}
	r->insns[e]++;
	r->last_end[e] = event->end;
	live_insn(r->live, event->insn, event->start, event->end);
	if (r->keep)
		r->events[event->insn] = *event;
	note_done(r, e);
}

static void on_sequencer(void *ctx, enum npu_seq_state state, uint64_t from, uint64_t to)
{
	struct record *r = ctx;
	if (from != r->sequencer_upto || to < from) {
		fault(r, "the sequencer tells %" PRIu64 "..%" PRIu64 " after %" PRIu64, from, to, r->sequencer_upto);
		return;
	}
	r->sequencer[state] += to - from;
	r->sequencer_upto = to;
	if (r->keep && to > from)
		keep_span(r, &r->sequencer_spans, (struct record_span){ to, PROBE_NOBODY, state });
}

static bool join_transfer(struct record *r, const struct probe_transfer *t)
{
	uint64_t last = r->last_transfer[t->channel];
	if (last == UINT64_MAX)
		return false;
	struct probe_transfer *old = &r->transfers.items[last];
	if (old->write != t->write || t->from > old->to || t->to < old->to || old->bytes > UINT32_MAX - t->bytes)
		return false;
	old->to = t->to;
	old->bytes += t->bytes;
	return true;
}

static void on_transfer(void *ctx, const struct probe_transfer *t)
{
	struct record *r = ctx;
	if (t->channel >= r->channels || t->to < t->from) {
		fault(r, "a transfer on channel %" PRIu32 " from %" PRIu64 " to %" PRIu64, t->channel, t->from, t->to);
		return;
	}
	if (join_transfer(r, t))
		return;
	void *items = r->transfers.items;
	if (!record_grow(&items, &r->transfers.capacity, r->transfers.count + 1, sizeof(*r->transfers.items))) {
		r->no_memory = true;
		return;
	}
	r->transfers.items = items;
	r->last_transfer[t->channel] = r->transfers.count;
	r->transfers.items[r->transfers.count++] = *t;
}

static void on_request(void *ctx, const struct probe_request *request)
{
	struct record *r = ctx;
	void *items = r->requests.items;
	if (!record_grow(&items, &r->requests.capacity, r->requests.count + 1, sizeof(*r->requests.items))) {
		r->no_memory = true;
		return;
	}
	r->requests.items = items;
	r->requests.items[r->requests.count++] = *request;
}

static bool init_events(struct record *r)
{
	r->events = calloc(r->program->ninsns + 1ull, sizeof(*r->events));
	r->last_transfer = malloc((r->channels + 1ull) * sizeof(*r->last_transfer));
	if (!r->events || !r->last_transfer)
		return false;
	for (uint32_t c = 0; c < r->channels; c++)
		r->last_transfer[c] = UINT64_MAX;
	return true;
}

bool record_init(struct record *r, const struct npu_program *program, uint32_t channels, bool keep)
{
	memset(r, 0, sizeof(*r));
	r->program = program;
	r->keep = keep;
	r->channels = channels;
	overlap_init(&r->overlap);
	r->regions = calloc(program->nregions + 1ull, sizeof(*r->regions));
	r->live = live_new(program);
	if (!r->regions || !r->live || (keep && !init_events(r))) {
		record_fini(r);
		return false;
	}
	for (uint32_t i = 0; i < program->ninsns; i++)
		r->planned[npu_op_engine(program->insns[i].op)]++;
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		note_done(r, e);
	return true;
}

void record_fini(struct record *r)
{
	overlap_fini(&r->overlap);
	live_free(r->live);
	free(r->regions);
	free(r->events);
	free(r->last_transfer);
	free(r->transfers.items);
	free(r->requests.items);
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		free(r->spans[e].items);
	free(r->sequencer_spans.items);
	memset(r, 0, sizeof(*r));
}

struct probe record_probe(struct record *r)
{
	return (struct probe){
		.ctx = r,
		.insn = on_insn,
		.span = on_span,
		.sequencer = on_sequencer,
		.transfer = r->keep ? on_transfer : NULL,
		.request = r->keep_requests ? on_request : NULL,
	};
}

bool record_finish(struct record *r, uint64_t cycles, struct npu_error *err)
{
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		if (r->upto[e] != cycles)
			fault(r, "%s has told %" PRIu64 " of %" PRIu64 " cycles", npu_engine_name(e), r->upto[e], cycles);
		if (r->insns[e] != r->planned[e])
			fault(r, "%s has ended %" PRIu64 " of %" PRIu64 " instructions", npu_engine_name(e), r->insns[e],
			      r->planned[e]);
	}
	if (r->sequencer_upto != cycles)
		fault(r, "the sequencer has told %" PRIu64 " of %" PRIu64 " cycles", r->sequencer_upto, cycles);
	if (r->fault[0] != '\0')
		return npu_fail(err, NPU_ERR_INTERNAL, "internal: %s", r->fault);
	overlap_finish(&r->overlap, cycles);
	if (!live_finish(r->live))
		r->no_memory = true;
	if (r->no_memory)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory while the run was recorded");
	return true;
}
