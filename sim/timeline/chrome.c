/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes and slices as Chrome Trace Events: a thread a lane, complete events ("X"), flows ("s", "f"), counters ("C"). */
#include "isa/plain.h"
#include "sim/facts.h"
#include "sim/timeline/formats.h"
#include "sim/timeline/lanes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PID = 1 };

struct chrome {
	const struct simulation *s;
	FILE *out;
	struct facts facts;
	char **counters; /* [lanes] names of the counters among them; NULL for others */
	uint32_t nlanes;
	bool first; /* no event is written yet */
};

static void put_text(FILE *out, const char *text)
{
	putc('"', out);
	for (const char *at = text, *end = text + strlen(text); at < end;) {
		char shown[NPU_PLAIN_CHAR];
		unsigned n = npu_plain_char(&at, end, shown, NULL);
		if (n == 1 && (shown[0] == '"' || shown[0] == '\\'))
			putc('\\', out);
		fwrite(shown, 1, n, out);
	}
	putc('"', out);
}

/* Cycles as the format's microseconds, exactly. */
static void put_time(FILE *out, const char *key, uint64_t cycles)
{
	fprintf(out, ",\"%s\":%" PRIu64 ".%03u", key, cycles / 1000, (unsigned)(cycles % 1000));
}

/* Opens an event; the caller adds members and closes it with a brace. */
static void begin(struct chrome *c, const char *phase, uint32_t lane)
{
	fprintf(c->out, "%s\n{\"ph\":\"%s\",\"pid\":%d,\"tid\":%" PRIu32, c->first ? "" : ",", phase, PID, lane + 1);
	c->first = false;
}

static void put_name(struct chrome *c, const char *name)
{
	fputs(",\"name\":", c->out);
	put_text(c->out, name);
}

/* A metadata event about the process (lane NULL) or a lane: `text`, or the integer `number`. */
static void describe(struct chrome *c, uint32_t lane, const char *what, const char *text, uint32_t number)
{
	begin(c, "M", lane);
	put_name(c, what);
	if (text) {
		fputs(",\"args\":{\"name\":", c->out);
		put_text(c->out, text);
	} else {
		fprintf(c->out, ",\"args\":{\"sort_index\":%" PRIu32, number);
	}
	fputs("}}", c->out);
}

static bool on_lane(void *ctx, const struct timeline_lane *lane)
{
	struct chrome *c = ctx;
	char **counters = realloc(c->counters, (lane->id + 1) * sizeof(*counters));
	if (!counters)
		return false;
	c->counters = counters;
	c->counters[lane->id] = NULL;
	c->nlanes = lane->id + 1;
	if (lane->kind == TIMELINE_COUNTER) {
		char name[128];
		snprintf(name, sizeof(name), "%s, %s", lane->name, lane->unit);
		c->counters[lane->id] = strdup(name);
		return c->counters[lane->id] != NULL;
	}
	describe(c, lane->id, "thread_name", lane->name, 0);
	describe(c, lane->id, "thread_sort_index", NULL, lane->id);
	return !ferror(c->out);
}

static void tell_number(void *ctx, const char *name, uint64_t value)
{
	FILE *out = ctx;
	putc(',', out);
	put_text(out, name);
	fprintf(out, ":%" PRIu64, value);
}

static void tell_text(void *ctx, const char *name, const char *text)
{
	FILE *out = ctx;
	putc(',', out);
	put_text(out, name);
	putc(':', out);
	put_text(out, text);
}

static void flow(struct chrome *c, const char *phase, uint32_t lane, uint64_t id, uint64_t time)
{
	begin(c, phase, lane);
	put_time(c->out, "ts", time);
	fprintf(c->out, ",\"cat\":\"post\",\"name\":\"post\",\"id\":%" PRIu64 "%s}", id,
		phase[0] == 'f' ? ",\"bp\":\"e\"" : "");
}

static bool on_slice(void *ctx, const struct timeline_slice *slice)
{
	struct chrome *c = ctx;
	begin(c, "X", slice->lane);
	put_name(c, slice->name);
	put_time(c->out, "ts", slice->from);
	put_time(c->out, "dur", slice->to - slice->from);
	if (slice->details) {
		struct insn_facts facts = facts_of(&c->facts, slice->insn);
		fprintf(c->out, ",\"args\":{\"opcode\":");
		put_text(c->out, slice->name);
		facts_tell(&facts, &(struct facts_teller){ c->out, tell_number, tell_text });
		putc('}', c->out);
	} else if (slice->insn != PROBE_NOBODY) {
		fprintf(c->out, ",\"args\":{\"instruction\":%" PRIu32 "}", slice->insn);
	}
	putc('}', c->out);
	for (uint32_t i = 0; i < slice->flows.nin; i++)
		flow(c, "f", slice->lane, slice->flows.in[i], slice->from);
	/* A flow leaves from the slice that its time lies in: the last cycle of this one, as the next has none of it. */
	for (uint32_t i = 0; i < slice->flows.nout; i++)
		flow(c, "s", slice->lane, slice->flows.out[i], slice->to > slice->from ? slice->to - 1 : slice->to);
	return !ferror(c->out);
}

static bool on_counter(void *ctx, uint32_t lane, uint64_t time, double value)
{
	struct chrome *c = ctx;
	begin(c, "C", lane);
	put_name(c, c->counters[lane]);
	put_time(c->out, "ts", time);
	fprintf(c->out, ",\"args\":{\"value\":%.15g}}", value);
	return !ferror(c->out);
}

/* What the run was, before the events: readers that stream know it at once. */
static void put_head(struct chrome *c, const struct timeline_dropped *dropped)
{
	struct timeline_window window = timeline_window(c->s);
	const struct simulation_request *r = &c->s->request;
	fputs("{\"profilingType\":\"op\",\"displayTimeUnit\":\"ns\",\"otherData\":{\"tool\":\"npusim\",\"program\":", c->out);
	put_text(c->out, r->subject);
	fputs(",\"hardware\":", c->out);
	put_text(c->out, simulate_title(r));
	fprintf(c->out, ",\"scale\":\"1 ns shown = 1 cycle\",\"clock_mhz\":%.15g,\"program_hash\":\"%016" PRIx64
			"\",\"cycles\":%" PRIu64,
		r->hw->npu.clock_mhz, r->program->hash, c->s->account.cycles);
	if (r->window.to > 0)
		fprintf(c->out,
			",\"window\":\"%" PRIu64 ":%" PRIu64 "\",\"dropped_slices\":%" PRIu64 ",\"dropped_values\":%" PRIu64
			",\"cut_slices\":%" PRIu64,
			window.from, window.to, dropped->slices, dropped->values, dropped->cut);
	fputs("},\n\"traceEvents\":[", c->out);
}

static bool write_events(struct chrome *c)
{
	const struct timeline_writer writer = { .ctx = c, .lane = on_lane, .slice = on_slice, .counter = on_counter };
	struct timeline_dropped dropped;
	char name[512];
	if (!facts_init(&c->facts, c->s) || !timeline_dropped(c->s, &dropped))
		return false;
	snprintf(name, sizeof(name), "npusim: %s on %s", c->s->request.subject, simulate_title(&c->s->request));
	put_head(c, &dropped);
	c->first = true;
	describe(c, 0, "process_name", name, 0);
	if (!timeline_walk(c->s, &writer))
		return false;
	fputs("\n]}\n", c->out);
	return true;
}

bool timeline_write_chrome(const struct simulation *s, FILE *out, struct npu_error *err)
{
	struct chrome *c = calloc(1, sizeof(*c));
	bool ok = false;
	if (c) {
		c->s = s;
		c->out = out;
		ok = write_events(c);
		facts_fini(&c->facts);
		for (uint32_t i = 0; i < c->nlanes; i++)
			free(c->counters[i]);
		free(c->counters);
		free(c);
	}
	if (ferror(out))
		return npu_fail(err, NPU_ERR_IO, "the timeline cannot be written");
	return ok || npu_fail(err, NPU_ERR_MEMORY, "out of memory for the timeline");
}
