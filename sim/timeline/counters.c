/* SPDX-License-Identifier: Apache-2.0 */
/* Curves from transfers, lives and instruction times. A value is written when it changes. */
#include "sim/timeline/counters.h"

#include <stdlib.h>

enum { BUCKETS = 2048, NARROWEST = 64 };

enum counter { DRAM_READ, DRAM_WRITE, SRAM_LIVE, ACCUM_LIVE, QUEUE };

static const struct timeline_lane counters[TIMELINE_COUNTERS] = {
	[DRAM_READ] = { .kind = TIMELINE_COUNTER, .name = "DRAM read", .unit = "GB/s" },
	[DRAM_WRITE] = { .kind = TIMELINE_COUNTER, .name = "DRAM write", .unit = "GB/s" },
	[SRAM_LIVE] = { .kind = TIMELINE_COUNTER, .name = "SRAM live", .unit = "bytes" },
	[ACCUM_LIVE] = { .kind = TIMELINE_COUNTER, .name = "accumulators live", .unit = "bytes" },
#define ENGINE(NAME, text, doc) \
	[QUEUE + NPU_ENGINE_##NAME] = { .kind = TIMELINE_COUNTER, .name = text " queue", .unit = "instructions" },
#include "isa/engine.def"
};

struct timeline_lane timeline_counter(unsigned counter) { return counters[counter]; }

/* A counter that writes changes only; starts at 0. */
struct curve {
	const struct timeline_writer *writer;
	uint32_t lane;
	double value;
	bool begun;
};

static bool set(struct curve *c, uint64_t time, double value)
{
	if (c->begun && value == c->value)
		return true;
	c->begun = true;
	c->value = value;
	return c->writer->counter(c->writer->ctx, c->lane, time, value);
}

uint64_t timeline_bucket_cycles(uint64_t cycles)
{
	uint64_t width = NARROWEST;
	while (cycles / width >= BUCKETS)
		width *= 2;
	return width;
}

/* Divides a transfer's bytes over the buckets that it passes, without losing any. */
static void spread(uint64_t *buckets, uint64_t last, uint64_t width, const struct probe_transfer *t)
{
	uint64_t length = t->to - t->from, given = 0;
	for (uint64_t b = t->from / width; b < last && length > 0; b++) {
		uint64_t end = (b + 1) * width;
		if (end >= t->to)
			break;
		uint64_t upto = (uint64_t)((double)t->bytes * (double)(end - t->from) / (double)length);
		buckets[b] += upto - given;
		given = upto;
	}
	/* The last byte is on the bus in the cycle before `to`; a burst of less than a cycle may end with the run. */
	uint64_t b = (t->to > t->from ? t->to - 1 : t->to) / width;
	buckets[b < last ? b : last] += t->bytes - given;
}

static bool bandwidth(const struct simulation *s, struct curve *c, bool write)
{
	const struct record_transfers *t = &s->record.transfers;
	uint64_t cycles = s->account.cycles, width = timeline_bucket_cycles(cycles), n = (cycles + width - 1) / width;
	uint64_t *buckets = calloc(n + 1, sizeof(*buckets));
	if (!buckets)
		return false;
	for (uint64_t i = 0; i < t->count; i++)
		if (t->items[i].write == write && n > 0)
			spread(buckets, n - 1, width, &t->items[i]);
	bool ok = true;
	for (uint64_t b = 0; b < n && ok; b++) {
		uint64_t covered = cycles - b * width < width ? cycles - b * width : width;
		/* bytes a cycle x MHz = MB/s */
		ok = set(c, b * width, (double)buckets[b] / (double)covered * s->request.hw->npu.clock_mhz / 1000);
	}
	free(buckets);
	return ok && set(c, cycles, 0);
}

static bool live(const struct simulation *s, struct curve *c, enum live_space space)
{
	uint64_t n;
	const struct live_step *steps = live_steps(s->record.live, space, &n);
	bool ok = set(c, 0, 0);
	for (uint64_t i = 0; i < n && ok; i++)
		ok = set(c, steps[i].time, (double)steps[i].bytes);
	return ok;
}

static uint32_t next_of(const struct npu_program *p, enum npu_engine e, uint32_t from)
{
	while (from < p->ninsns && npu_op_engine(p->insns[from].op) != e)
		from++;
	return from;
}

/* Instructions issued and not yet started. Both times rise along an engine's instructions, so two walks merge. */
static bool queue(const struct simulation *s, struct curve *c, enum npu_engine e)
{
	const struct npu_program *p = s->request.program;
	const struct probe_insn *event = s->record.events;
	uint32_t in = next_of(p, e, 0), out = in;
	uint64_t length = 0;
	bool ok = set(c, 0, 0);
	while (out < p->ninsns && ok) {
		uint64_t time = event[out].start;
		if (in < p->ninsns && event[in].issued < time)
			time = event[in].issued;
		for (; in < p->ninsns && event[in].issued == time; in = next_of(p, e, in + 1))
			length++;
		for (; out < in && event[out].start == time; out = next_of(p, e, out + 1))
			length--;
		ok = set(c, time, (double)length);
	}
	return ok;
}

bool timeline_counters(const struct simulation *s, const struct timeline_writer *writer, uint32_t first)
{
	struct curve curves[TIMELINE_COUNTERS];
	for (unsigned i = 0; i < TIMELINE_COUNTERS; i++)
		curves[i] = (struct curve){ .writer = writer, .lane = first + i };
	bool ok = bandwidth(s, &curves[DRAM_READ], false) && bandwidth(s, &curves[DRAM_WRITE], true) &&
		  live(s, &curves[SRAM_LIVE], LIVE_SRAM) && live(s, &curves[ACCUM_LIVE], LIVE_ACCUM);
	for (unsigned e = 0; e < NPU_ENGINES && ok; e++)
		ok = queue(s, &curves[QUEUE + e], (enum npu_engine)e);
	return ok;
}
