/* SPDX-License-Identifier: Apache-2.0 */
/* A byte that says which event, then the event. */
#include "sim/played.h"

#include <string.h>

enum tag { INSN, SPAN, SEQUENCER, TRANSFER, TOTALS };

struct sequencer_event {
	enum npu_seq_state state;
	uint64_t from, to;
};

struct keeper {
	FILE *file;
	struct probe_span open[NPU_ENGINES]; /* not written yet: the next may continue it */
};

static void put(FILE *file, enum tag tag, const void *event, size_t nbytes)
{
	putc((int)tag, file);
	fwrite(event, nbytes, 1, file);
}

static void flush_span(struct keeper *k, enum npu_engine e)
{
	if (k->open[e].to > k->open[e].from)
		put(k->file, SPAN, &k->open[e], sizeof(k->open[e]));
}

static void on_insn(void *ctx, const struct probe_insn *event)
{
	put(((struct keeper *)ctx)->file, INSN, event, sizeof(*event));
}

/* Instructions of an engine end within its spans, so a span may be told behind them. */
static void on_span(void *ctx, const struct probe_span *s)
{
	struct keeper *k = ctx;
	struct probe_span *open = &k->open[s->engine];
	if (open->to == s->from && open->state == s->state && open->insn == s->insn) {
		open->to = s->to;
		return;
	}
	flush_span(k, s->engine);
	*open = *s;
}

static void on_sequencer(void *ctx, enum npu_seq_state state, uint64_t from, uint64_t to)
{
	struct sequencer_event event = { state, from, to };
	put(((struct keeper *)ctx)->file, SEQUENCER, &event, sizeof(event));
}

static void on_transfer(void *ctx, const struct probe_transfer *t)
{
	put(((struct keeper *)ctx)->file, TRANSFER, t, sizeof(*t));
}

bool played_keep(const struct simulation_request *r, FILE *file, struct npu_error *err)
{
	struct keeper k = { .file = file };
	struct machine_totals totals = { 0 };
	const struct probe probe = {
		.ctx = &k, .insn = on_insn, .span = on_span, .sequencer = on_sequencer, .transfer = on_transfer,
	};
	if (!machine_run(r->hw, r->program, r->ideal, &probe, &totals, err))
		return false;
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		flush_span(&k, (enum npu_engine)e);
	put(file, TOTALS, &totals, sizeof(totals));
	return (fflush(file) == 0 && !ferror(file)) ||
	       npu_fail(err, NPU_ERR_IO, "the events of the run cannot be kept: no room for a temporary file");
}

/* Reads an event and tells it; `ended` behind the last one. */
static bool play_event(const struct simulation_request *r, const struct probe *probe, struct machine_totals *totals, int tag,
		       bool *ended)
{
	union {
		struct probe_insn insn;
		struct probe_span span;
		struct sequencer_event sequencer;
		struct probe_transfer transfer;
	} event;
	switch (tag) {
	case INSN:
		if (fread(&event.insn, sizeof(event.insn), 1, r->played) != 1)
			return false;
		probe->insn(probe->ctx, &event.insn);
		return true;
	case SPAN:
		if (fread(&event.span, sizeof(event.span), 1, r->played) != 1)
			return false;
		probe->span(probe->ctx, &event.span);
		return true;
	case SEQUENCER:
		if (fread(&event.sequencer, sizeof(event.sequencer), 1, r->played) != 1)
			return false;
		probe->sequencer(probe->ctx, event.sequencer.state, event.sequencer.from, event.sequencer.to);
		return true;
	case TRANSFER:
		if (fread(&event.transfer, sizeof(event.transfer), 1, r->played) != 1)
			return false;
		if (probe->transfer)
			probe->transfer(probe->ctx, &event.transfer);
		return true;
	case TOTALS:
		*ended = true;
		return fread(totals, sizeof(*totals), 1, r->played) == 1;
	}
	return false;
}

bool played_machine(const struct simulation_request *r, const struct probe *probe, struct machine_totals *totals,
		    struct npu_error *err)
{
	bool ended = false;
	rewind(r->played);
	while (!ended)
		if (!play_event(r, probe, totals, getc(r->played), &ended))
			return npu_fail(err, NPU_ERR_IO, "the events of the run are cut short");
	return true;
}
