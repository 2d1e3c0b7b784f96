/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses against the buffers, tensors and block tables of a program, and buffers against each other. */
#include "isa/check/checker.h"
#include "isa/check/spans.h"
#include "isa/units.h"

#include <inttypes.h>
#include <stdlib.h>

enum { SPACES = NPU_SPACE_DRAM + 1, TABLE = 0x80000000u /* marks the index of a span of DRAM */ };

struct bounds {
	struct npu_checker *c;
	struct npu_spans alive[SPACES]; /* of DRAM: all tensors and tables */
	bool any[SPACES];               /* the program names something there */
	struct event {
		uint32_t insn;
		uint32_t buffer;
		bool begins; /* else its life is over */
	} * events;
	uint32_t nevents, next;
};

static enum npu_space space_of(const struct npu_buffer *b)
{
	return npu_is_acc(b->local) ? NPU_SPACE_ACCUM : NPU_SPACE_SRAM;
}

static const char *span_name(const struct bounds *b, enum npu_space space, const struct npu_span *span)
{
	const struct npu_program *program = b->c->program;
	if (space != NPU_SPACE_DRAM)
		return program->buffers[span->index].name;
	return span->index & TABLE ? program->tables[span->index & ~(uint32_t)TABLE].name
				   : program->tensors[span->index].name;
}

/* ---- accesses ---- */

static struct npu_finding *add(struct bounds *b, enum npu_check_kind kind, const struct npu_range *r)
{
	bool is_new;
	struct npu_finding like = npu_check_about(b->c, r);
	struct npu_finding_key key = { kind,
				       { npu_checker_line(b->c, r->insn), (uint64_t)(uintptr_t)like.site[0].operand } };
	struct npu_finding *f = npu_checker_add(b->c, &key, &like, &is_new);
	return is_new ? f : NULL;
}

static void set_bytes(struct npu_finding *f, const struct npu_range *r, uint64_t first, uint64_t end)
{
	f->bytes = (struct npu_check_bytes){ (enum npu_space)r->space, first, end - 1, end - first, "" };
}

static void tell_past_end(struct bounds *b, const struct npu_range *r, const struct npu_span *holder)
{
	struct npu_finding *f = add(b, NPU_CHECK_BOUNDS, r);
	uint64_t end = npu_range_end(r), past = end - holder->hi;
	if (!f)
		return;
	set_bytes(f, r, holder->hi, end);
	f->bytes.name = span_name(b, (enum npu_space)r->space, holder);
	f->text = npu_checker_text(b->c, "%s (%s) runs %s byte%s past the end of %s, %s",
				   npu_check_insn_name(b->c, r->insn).text, npu_check_range_name(b->c, r).text,
				   npu_count_text(past).text, past == 1 ? "" : "s", f->bytes.name,
				   npu_check_bytes_name(&f->bytes).text);
}

static void tell_into(struct bounds *b, const struct npu_range *r, const struct npu_span *met)
{
	struct npu_finding *f = add(b, NPU_CHECK_BOUNDS, r);
	if (!f)
		return;
	set_bytes(f, r, r->base, npu_range_end(r));
	f->bytes.name = span_name(b, (enum npu_space)r->space, met);
	f->text = npu_checker_text(b->c, "%s (%s) begins outside of everything that has a name and runs into %s, %s",
				   npu_check_insn_name(b->c, r->insn).text, npu_check_range_name(b->c, r).text,
				   f->bytes.name, npu_check_bytes_name(&f->bytes).text);
}

/* A buffer that is not alive here and would hold the first byte; NULL when there is none. */
static const struct npu_buffer *dead_buffer(const struct npu_program *program, const struct npu_range *r)
{
	for (uint32_t i = 0; i < program->nbuffers; i++) {
		const struct npu_buffer *buffer = &program->buffers[i];
		uint64_t from = npu_local_offset(buffer->local);
		if (space_of(buffer) == (enum npu_space)r->space && from <= r->base && r->base < from + buffer->bytes)
			return buffer;
	}
	return NULL;
}

static void tell_outside(struct bounds *b, const struct npu_range *r)
{
	const struct npu_buffer *dead = r->space == NPU_SPACE_DRAM ? NULL : dead_buffer(b->c->program, r);
	struct npu_finding *f = add(b, dead ? NPU_CHECK_LIFETIME : NPU_CHECK_UNNAMED, r);
	if (!f)
		return;
	set_bytes(f, r, r->base, npu_range_end(r));
	struct npu_check_name insn = npu_check_insn_name(b->c, r->insn), operand = npu_check_range_name(b->c, r);
	if (dead) {
		f->bytes.name = dead->name;
		f->text =
		    npu_checker_text(b->c, "%s (%s) uses %s, which is alive for #%" PRIu32 "..#%" PRIu32 " only, %s",
				     insn.text, operand.text, dead->name, dead->first, dead->end ? dead->end - 1 : 0,
				     npu_check_bytes_name(&f->bytes).text);
		return;
	}
	f->text =
	    npu_checker_text(b->c, "%s (%s) touches bytes of no %s, %s", insn.text, operand.text,
			     r->space == NPU_SPACE_DRAM ? "tensor" : "buffer", npu_check_bytes_name(&f->bytes).text);
}

static void check_range(struct bounds *b, const struct npu_range *r)
{
	const struct npu_spans *alive = &b->alive[r->space];
	uint64_t end = npu_range_end(r);
	if (!b->any[r->space])
		return;
	const struct npu_span *holder = npu_spans_holder(alive, r->base, end);
	const struct npu_span *met = holder ? NULL : npu_spans_met(alive, r->base, end);
	if (holder && holder->hi < end)
		tell_past_end(b, r, holder);
	else if (met)
		tell_into(b, r, met);
	else if (!holder)
		tell_outside(b, r);
}

/* ---- pages and tables ---- */

static void tell_page_end(struct bounds *b, const struct npu_range *r, uint64_t page_end)
{
	struct npu_finding *f = add(b, NPU_CHECK_PAGE_END, r);
	uint64_t past = npu_range_end(r) - page_end;
	if (!f)
		return;
	set_bytes(f, r, page_end, npu_range_end(r));
	f->bytes.name = npu_check_holder(b->c->program, r->insn, NPU_SPACE_DRAM, r->base);
	f->text =
	    npu_checker_text(b->c, "%s (%s) runs %s byte%s past the end of its page, %s",
			     npu_check_insn_name(b->c, r->insn).text, npu_check_range_name(b->c, r).text,
			     npu_count_text(past).text, past == 1 ? "" : "s", npu_check_bytes_name(&f->bytes).text);
}

static void tell_outside_pool(struct bounds *b, const struct npu_range *r, const struct npu_span *pool)
{
	struct npu_finding *f = add(b, NPU_CHECK_BOUNDS, r);
	if (!f)
		return;
	set_bytes(f, r, r->base, npu_range_end(r));
	f->text = npu_checker_text(b->c, "%s (%s) lies outside of %s, %s", npu_check_insn_name(b->c, r->insn).text,
				   npu_check_range_name(b->c, r).text, span_name(b, NPU_SPACE_DRAM, pool),
				   npu_check_bytes_name(&f->bytes).text);
}

/* A page against the tensor in which page 0 begins, the pool, and rows of a page against its size. Where in the page
 * the rows begin follows from where the pool does. */
static void check_page(struct bounds *b, const struct npu_range *r)
{
	const struct npu_paged *p = &b->c->program->insns[r->insn].paged;
	uint64_t page = p->dram + (uint64_t)b->c->program->tables[p->table].entries[r->entry] * p->page_stride;
	uint64_t end = npu_range_end(r);
	const struct npu_span *pool = npu_spans_holder(&b->alive[NPU_SPACE_DRAM], p->dram, end);
	uint64_t before = pool ? (p->dram - pool->lo) % p->page_stride : 0;
	if (end > page - before + p->page_stride)
		tell_page_end(b, r, page - before + p->page_stride);
	else if (!pool)
		check_range(b, r);
	else if (end > pool->hi)
		tell_outside_pool(b, r, pool);
}

/* Block tables are constants of the program: the DMA of a machine reads them whenever it likes. */
static void check_table_write(struct bounds *b, const struct npu_spans *tables, const struct npu_range *r)
{
	const struct npu_span *met = npu_spans_met(tables, r->base, npu_range_end(r));
	for (uint32_t row = 0; met && row < r->rows; row++) {
		uint64_t lo = r->base + row * r->stride, hi = lo + r->row_bytes;
		const struct npu_span *table = npu_spans_met(tables, lo, hi);
		struct npu_finding *f = table ? add(b, NPU_CHECK_TABLE_WRITE, r) : NULL;
		if (!table)
			continue;
		if (f) {
			set_bytes(f, r, table->lo > lo ? table->lo : lo, table->hi < hi ? table->hi : hi);
			f->bytes.name = span_name(b, NPU_SPACE_DRAM, table);
			f->text = npu_checker_text(
			    b->c, "%s (%s) overwrites block table %s, %s", npu_check_insn_name(b->c, r->insn).text,
			    npu_check_range_name(b->c, r).text, f->bytes.name, npu_check_bytes_name(&f->bytes).text);
		}
		return;
	}
}

/* ---- lives of buffers ---- */

static void tell_overlap(struct bounds *b, uint32_t one, uint32_t other)
{
	const struct npu_buffer *x = &b->c->program->buffers[one], *y = &b->c->program->buffers[other];
	uint64_t x_lo = npu_local_offset(x->local), y_lo = npu_local_offset(y->local);
	uint64_t lo = x_lo > y_lo ? x_lo : y_lo;
	uint64_t hi = x_lo + x->bytes < y_lo + y->bytes ? x_lo + x->bytes : y_lo + y->bytes;
	bool is_new;
	struct npu_finding like = { .sem = NPU_CHECK_NOBODY };
	struct npu_finding_key key = { NPU_CHECK_OVERLAP, { one, other } };
	struct npu_finding *f = npu_checker_add(b->c, &key, &like, &is_new);
	if (!f || !is_new)
		return;
	f->bytes = (struct npu_check_bytes){ space_of(x), lo, hi - 1, hi - lo, x->name };
	f->text =
	    npu_checker_text(b->c, "buffers %s and %s overlap while both are alive (from #%" PRIu32 " on), %s", x->name,
			     y->name, x->first > y->first ? x->first : y->first, npu_check_bytes_name(&f->bytes).text);
}

/* Ends come before beginnings at the same instruction: the bytes of a dead buffer may be used at once. */
static int by_event(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	if (x->insn != y->insn)
		return x->insn < y->insn ? -1 : 1;
	if (x->begins != y->begins)
		return x->begins ? 1 : -1;
	return x->buffer < y->buffer ? -1 : x->buffer > y->buffer;
}

static bool collect_events(struct bounds *b)
{
	const struct npu_program *program = b->c->program;
	b->events = calloc(2 * (uint64_t)program->nbuffers + 1, sizeof *b->events);
	if (!b->events)
		return false;
	for (uint32_t i = 0; i < program->nbuffers; i++) {
		const struct npu_buffer *buffer = &program->buffers[i];
		b->any[space_of(buffer)] = true;
		if (buffer->first == buffer->end)
			continue;
		b->events[b->nevents++] = (struct event){ buffer->first, i, true };
		b->events[b->nevents++] = (struct event){ buffer->end, i, false };
	}
	qsort(b->events, b->nevents, sizeof *b->events, by_event);
	return true;
}

static void begin_life(struct bounds *b, uint32_t buffer)
{
	const struct npu_buffer *x = &b->c->program->buffers[buffer];
	struct npu_spans *alive = &b->alive[space_of(x)];
	uint64_t lo = npu_local_offset(x->local);
	const struct npu_span *met = npu_spans_met(alive, lo, lo + x->bytes);
	if (met)
		tell_overlap(b, met->index, buffer);
	if (!npu_spans_add(alive, lo, lo + x->bytes, buffer))
		b->c->out_of_memory = true;
}

static void live_until(struct bounds *b, uint32_t insn)
{
	for (; b->next < b->nevents && b->events[b->next].insn <= insn; b->next++) {
		uint32_t i = b->events[b->next].buffer;
		const struct npu_buffer *buffer = &b->c->program->buffers[i];
		if (b->events[b->next].begins)
			begin_life(b, i);
		else
			npu_spans_remove(&b->alive[space_of(buffer)], npu_local_offset(buffer->local), i);
	}
}

static bool collect_dram(struct bounds *b, struct npu_spans *tables)
{
	const struct npu_program *program = b->c->program;
	struct npu_spans *dram = &b->alive[NPU_SPACE_DRAM];
	bool ok = true;
	/* Block tables alone do not name the rest of a program's DRAM. */
	b->any[NPU_SPACE_DRAM] = program->ntensors > 0;
	for (uint32_t i = 0; ok && i < program->ntensors; i++)
		ok = npu_spans_add(dram, program->tensors[i].addr, program->tensors[i].addr + program->tensors[i].bytes,
				   i);
	for (uint32_t i = 0; ok && i < program->ntables; i++) {
		const struct npu_table *t = &program->tables[i];
		ok = !t->count || (npu_spans_add(dram, t->addr, t->addr + 4 * (uint64_t)t->count, i | TABLE) &&
				   npu_spans_add(tables, t->addr, t->addr + 4 * (uint64_t)t->count, i | TABLE));
	}
	return ok;
}

void npu_check_bounds(struct npu_checker *c)
{
	struct bounds b = { .c = c };
	struct npu_spans tables = { 0 };
	const struct npu_ranges *all = &c->ranges;
	c->out_of_memory |= !collect_events(&b) || !collect_dram(&b, &tables);
	for (uint32_t insn = 0; insn < c->program->ninsns && !c->out_of_memory; insn++) {
		live_until(&b, insn);
		for (uint64_t i = all->first[insn]; i < all->first[insn + 1]; i++) {
			const struct npu_range *r = &all->ranges[i];
			if (r->entry != NPU_RANGE_NO_PAGE)
				check_page(&b, r);
			else
				check_range(&b, r);
			if (r->write && r->space == NPU_SPACE_DRAM)
				check_table_write(&b, &tables, r);
		}
	}
	for (unsigned space = 0; space < SPACES; space++)
		npu_spans_fini(&b.alive[space]);
	npu_spans_fini(&tables);
	free(b.events);
}
