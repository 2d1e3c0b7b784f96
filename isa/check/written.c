/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of bytes that nobody wrote, in program order. What orders the writer before the reader is race.c's to ask. */
#include "isa/check/byteset.h"
#include "isa/check/checker.h"
#include "isa/check/spans.h"

#include <stdlib.h>

enum { SPACES = NPU_SPACE_DRAM + 1 };

struct written {
	struct npu_checker *c;
	struct npu_byteset sets[SPACES];
	struct npu_spans given;    /* DRAM that is there before the program: in and inout tensors, block tables */
	struct npu_spans produced; /* DRAM that the program must write before it reads: out and temp tensors */
	struct npu_spans wanted;   /* what is read of it: only there it matters who wrote */
	uint32_t *by_first;        /* buffers in the order in which their lives begin */
	uint32_t next;
};

static bool add_tensors(struct written *w)
{
	const struct npu_program *program = w->c->program;
	bool ok = true;
	for (uint32_t i = 0; ok && i < program->ntensors; i++) {
		const struct npu_tensor *t = &program->tensors[i];
		bool given = t->dir == NPU_TENSOR_IN || t->dir == NPU_TENSOR_INOUT;
		ok = npu_spans_add(given ? &w->given : &w->produced, t->addr, t->addr + t->bytes, i);
	}
	for (uint32_t i = 0; ok && i < program->ntables; i++)
		ok = npu_spans_add(&w->given, program->tables[i].addr,
				   program->tables[i].addr + 4 * (uint64_t)program->tables[i].count, i);
	return ok;
}

/* Whether a read of DRAM depends on what the program wrote. */
static bool is_produced(const struct written *w, const struct npu_range *r)
{
	uint64_t end = npu_range_end(r);
	const struct npu_span *given = npu_spans_holder(&w->given, r->base, end);
	return !(given && given->hi >= end) && npu_spans_holder(&w->produced, r->base, end) != NULL;
}

static int by_extent(const void *a, const void *b)
{
	const struct npu_span *x = a, *y = b;
	return (x->lo > y->lo) - (x->lo < y->lo);
}

/* Extents of all reads of produced bytes, merged where they meet. */
static bool collect_wanted(struct written *w)
{
	const struct npu_ranges *all = &w->c->ranges;
	struct npu_span *spans = NULL;
	uint32_t n = 0, capacity = 0;
	for (uint64_t i = 0; i < all->count; i++) {
		const struct npu_range *r = &all->ranges[i];
		if (r->space != NPU_SPACE_DRAM || r->write || !is_produced(w, r))
			continue;
		if (n == capacity) {
			capacity = capacity ? 2 * capacity : 64;
			struct npu_span *grown = realloc(spans, capacity * sizeof *grown);
			if (!grown) {
				free(spans);
				return false;
			}
			spans = grown;
		}
		spans[n++] = (struct npu_span){ r->base, npu_range_end(r), 0, 0 };
	}
	if (n)
		qsort(spans, n, sizeof *spans, by_extent);
	bool ok = true;
	for (uint32_t from = 0, to; ok && from < n; from = to) {
		uint64_t hi = spans[from].hi;
		for (to = from + 1; to < n && spans[to].lo <= hi; to++)
			hi = spans[to].hi > hi ? spans[to].hi : hi;
		ok = npu_spans_add(&w->wanted, spans[from].lo, hi, 0);
	}
	free(spans);
	return ok;
}

/* A buffer begins its life with bytes that mean nothing, whoever wrote them. */
static void begin_lives(struct written *w, uint32_t insn)
{
	const struct npu_program *program = w->c->program;
	while (w->next < program->nbuffers && program->buffers[w->by_first[w->next]].first <= insn) {
		const struct npu_buffer *b = &program->buffers[w->by_first[w->next++]];
		uint64_t from = npu_local_offset(b->local);
		npu_byteset_remove(&w->sets[npu_is_acc(b->local) ? NPU_SPACE_ACCUM : NPU_SPACE_SRAM], from,
				   from + b->bytes);
	}
}

static void tell(struct npu_checker *c, const struct npu_range *r, const struct npu_check_bytes *bytes)
{
	bool is_new;
	struct npu_finding like = npu_check_about(c, r);
	struct npu_finding_key key = { NPU_CHECK_UNINITIALISED,
				       { npu_checker_line(c, r->insn), (uint64_t)(uintptr_t)like.site[0].operand } };
	struct npu_finding *f = npu_checker_add(c, &key, &like, &is_new);
	if (!f || !is_new)
		return;
	f->bytes = *bytes;
	f->bytes.name = npu_check_holder(c->program, r->insn, bytes->space, bytes->first);
	f->text = npu_checker_text(c, "%s (%s) reads what nobody wrote: %s%s%s", npu_check_insn_name(c, r->insn).text,
				   npu_check_range_name(c, r).text, f->bytes.name, f->bytes.name[0] ? ", " : "",
				   npu_check_bytes_name(bytes).text);
}

/* Bytes that one row misses are told once: they count as written from then on. */
static void check_read(struct written *w, const struct npu_range *r)
{
	struct npu_byteset *set = &w->sets[r->space];
	struct npu_check_bytes bytes = { .space = (enum npu_space)r->space };
	if (r->space == NPU_SPACE_DRAM && !is_produced(w, r))
		return;
	for (uint32_t row = 0; row < r->rows; row++) {
		uint64_t lo = r->base + row * r->stride, hi = lo + r->row_bytes, first, last;
		uint64_t missing = npu_byteset_missing(set, lo, hi, &first, &last);
		if (!missing)
			continue;
		if (!bytes.bytes)
			bytes.first = first;
		bytes.last = last;
		bytes.bytes += missing;
		npu_byteset_add(set, lo, hi);
	}
	if (bytes.bytes)
		tell(w->c, r, &bytes);
}

static void note_write(struct written *w, const struct npu_range *r)
{
	if (r->space == NPU_SPACE_DRAM && !npu_spans_met(&w->wanted, r->base, npu_range_end(r)))
		return;
	for (uint32_t row = 0; row < r->rows; row++)
		npu_byteset_add(&w->sets[r->space], r->base + row * r->stride,
				r->base + row * r->stride + r->row_bytes);
}

void npu_check_written(struct npu_checker *c)
{
	struct written w = { .c = c, .by_first = npu_checker_lives(c->program) };
	const struct npu_ranges *all = &c->ranges;
	c->out_of_memory |= !w.by_first || !add_tensors(&w) || !collect_wanted(&w);
	for (uint32_t insn = 0; insn < c->program->ninsns && !c->out_of_memory; insn++) {
		begin_lives(&w, insn);
		for (uint64_t i = all->first[insn]; i < all->first[insn + 1]; i++) {
			if (all->ranges[i].write)
				note_write(&w, &all->ranges[i]);
			else
				check_read(&w, &all->ranges[i]);
		}
	}
	for (unsigned space = 0; space < SPACES; space++) {
		c->out_of_memory |= w.sets[space].failed;
		npu_byteset_fini(&w.sets[space]);
	}
	npu_spans_fini(&w.given);
	npu_spans_fini(&w.produced);
	npu_spans_fini(&w.wanted);
	free(w.by_first);
}
