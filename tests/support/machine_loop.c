/* SPDX-License-Identifier: Apache-2.0 */
/* A plain event loop over the blocks, and a recorder. */
#include "tests/support/machine_loop.h"

#include "models/machine_core.h"
#include "tests/support/dram_part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct loop {
	uint64_t next[MACHINE_BLOCKS];
};

static void wake(void *ctx, unsigned block, uint64_t cycle)
{
	struct loop *loop = ctx;
	if (cycle < loop->next[block])
		loop->next[block] = cycle;
}

static uint64_t earliest(const struct loop *loop)
{
	uint64_t now = NPU_NEVER;
	for (unsigned b = 0; b < MACHINE_BLOCKS; b++)
		now = loop->next[b] < now ? loop->next[b] : now;
	return now;
}

bool machine_loop_run(const struct hw *hw, const struct npu_program *program, unsigned ideal, const struct probe *probe,
		      bool reverse, struct machine_totals *totals, struct npu_error *err)
{
	struct loop loop;
	memset(loop.next, 0xff, sizeof(loop.next));
	struct machine *m = machine_new(hw, program, ideal, probe, &(struct machine_wake){ &loop, wake }, err);
	if (!m)
		return false;
	machine_start(m);
	for (uint64_t now; (now = earliest(&loop)) != NPU_NEVER;)
		for (unsigned i = 0; i < MACHINE_BLOCKS; i++) {
			unsigned b = reverse ? MACHINE_BLOCKS - 1 - i : i;
			if (loop.next[b] != now)
				continue;
			loop.next[b] = NPU_NEVER;
			wake(&loop, b, machine_step(m, b, now));
		}
	bool ok = machine_finish(m, totals, err);
	machine_free(m);
	return ok;
}

struct hw machine_hw(const char *part)
{
	struct hw hw = { .name = "test" };
#define KEY(section, type, key, initial, min, max, unit, doc) hw.section.key = initial;
#include "models/hw.def"
	hw.dram = dram_part(part);
	return hw;
}

/* Room for element `n` of an array that doubles. */
static void *room(void **array, uint64_t n, size_t element)
{
	if (!(n & (n - 1)))
		*array = realloc(*array, (n ? 2 * n : 1) * element);
	if (!*array)
		abort();
	return (char *)*array + n * element;
}

static void record_insn(void *ctx, const struct probe_insn *insn)
{
	struct machine_record *r = ctx;
	memcpy(room((void **)&r->insns, r->ninsns++, sizeof(*insn)), insn, sizeof(*insn));
}

static void record_span(void *ctx, const struct probe_span *span)
{
	struct machine_record *r = ctx;
	r->state[span->engine][span->state] += span->to - span->from;
	memcpy(room((void **)&r->spans, r->nspans++, sizeof(*span)), span, sizeof(*span));
}

static void record_line(void *ctx, enum npu_seq_state state, uint64_t from, uint64_t to)
{
	struct machine_record *r = ctx;
	r->line[state] += to - from;
	struct machine_record_line line = { state, from, to };
	memcpy(room((void **)&r->lines, r->nlines++, sizeof(line)), &line, sizeof(line));
}

static void record_transfer(void *ctx, const struct probe_transfer *transfer)
{
	struct machine_record *r = ctx;
	memcpy(room((void **)&r->transfers, r->ntransfers++, sizeof(*transfer)), transfer, sizeof(*transfer));
}

struct probe machine_record_probe(struct machine_record *r)
{
	*r = (struct machine_record){ 0 };
	return (struct probe){ .ctx = r, .insn = record_insn, .span = record_span, .sequencer = record_line,
			       .transfer = record_transfer };
}

void machine_record_free(struct machine_record *r)
{
	free(r->spans);
	free(r->insns);
	free(r->lines);
	free(r->transfers);
	*r = (struct machine_record){ 0 };
}

const struct probe_insn *machine_record_insn(const struct machine_record *r, uint32_t insn)
{
	for (uint64_t i = 0; i < r->ninsns; i++)
		if (r->insns[i].insn == insn)
			return &r->insns[i];
	return NULL;
}

static bool same_insn(const struct probe_insn *a, const struct probe_insn *b)
{
	return a->insn == b->insn && a->slot == b->slot && a->issued == b->issued && a->head == b->head &&
	       a->start == b->start && a->stream_begin == b->stream_begin && a->stream_end == b->stream_end &&
	       a->end == b->end && a->enabled_by[0] == b->enabled_by[0] && a->enabled_by[1] == b->enabled_by[1];
}

static bool same_span(const struct probe_span *a, const struct probe_span *b)
{
	return a->state == b->state && a->insn == b->insn && a->from == b->from && a->to == b->to;
}

/* The index of the next element of this engine from `i` on. */
static uint64_t next_insn(const struct machine_record *r, enum npu_engine e, uint64_t i)
{
	while (i < r->ninsns && r->insns[i].engine != e)
		i++;
	return i;
}

static uint64_t next_span(const struct machine_record *r, enum npu_engine e, uint64_t i)
{
	while (i < r->nspans && r->spans[i].engine != e)
		i++;
	return i;
}

static const char *engine_difference(const struct machine_record *a, const struct machine_record *b, enum npu_engine e)
{
	uint64_t i = next_insn(a, e, 0), j = next_insn(b, e, 0);
	while (i < a->ninsns && j < b->ninsns) {
		if (!same_insn(&a->insns[i], &b->insns[j]))
			return "instructions differ";
		i = next_insn(a, e, i + 1);
		j = next_insn(b, e, j + 1);
	}
	if (i < a->ninsns || j < b->ninsns)
		return "numbers of instructions differ";
	i = next_span(a, e, 0);
	j = next_span(b, e, 0);
	while (i < a->nspans && j < b->nspans) {
		if (!same_span(&a->spans[i], &b->spans[j]))
			return "spans differ";
		i = next_span(a, e, i + 1);
		j = next_span(b, e, j + 1);
	}
	return i < a->nspans || j < b->nspans ? "numbers of spans differ" : NULL;
}

const char *machine_record_difference(const struct machine_record *a, const struct machine_record *b)
{
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		const char *difference = engine_difference(a, b, (enum npu_engine)e);
		if (difference)
			return difference;
	}
	if (a->nlines != b->nlines)
		return "numbers of sequencer spans differ";
	for (uint64_t i = 0; i < a->nlines; i++)
		if (a->lines[i].state != b->lines[i].state || a->lines[i].from != b->lines[i].from ||
		    a->lines[i].to != b->lines[i].to)
			return "sequencer spans differ";
	return NULL;
}

const char *machine_record_fault(const struct machine_record *r, uint64_t cycles, char *out, uint64_t size)
{
	uint64_t at[NPU_ENGINES] = { 0 }, line = 0;
	for (uint64_t i = 0; i < r->nspans; i++) {
		const struct probe_span *s = &r->spans[i];
		if (s->from != at[s->engine] || s->to <= s->from) {
			snprintf(out, size, "%s: span [%llu, %llu) after %llu", npu_engine_name(s->engine),
				 (unsigned long long)s->from, (unsigned long long)s->to,
				 (unsigned long long)at[s->engine]);
			return out;
		}
		at[s->engine] = s->to;
	}
	for (uint64_t i = 0; i < r->nlines; i++) {
		if (r->lines[i].from != line || r->lines[i].to <= line) {
			snprintf(out, size, "sequencer: span from %llu after %llu",
				 (unsigned long long)r->lines[i].from, (unsigned long long)line);
			return out;
		}
		line = r->lines[i].to;
	}
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		if (at[e] != cycles) {
			snprintf(out, size, "%s: spans end at %llu of %llu", npu_engine_name((enum npu_engine)e),
				 (unsigned long long)at[e], (unsigned long long)cycles);
			return out;
		}
	if (line == cycles)
		return NULL;
	snprintf(out, size, "sequencer: line ends at %llu of %llu", (unsigned long long)line, (unsigned long long)cycles);
	return out;
}
