/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of KV memory against the records of who owns them, in program order. Two sequences that use a page one after
 * the other without waiting are race.c's to find. */
#include "isa/check/checker.h"
#include "isa/pool.h"
#include "isa/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* What the records say of a page so far. */
struct page {
	uint64_t key; /* pool and page number */
	uint32_t state, sequence;
	uint32_t since; /* record that said so; NPU_CHECK_NOBODY: none yet */
};

struct pages {
	struct npu_checker *c;
	struct page *pages; /* those that have records, sorted */
	uint32_t count, next;
	struct npu_pools pools;
};

static uint64_t key_of(uint32_t pool, uint32_t page)
{
	return (uint64_t)pool << 32 | page;
}

static int by_key(const void *a, const void *b)
{
	const struct page *x = a, *y = b;
	return (x->key > y->key) - (x->key < y->key);
}

static bool init(struct pages *p)
{
	const struct npu_program *program = p->c->program;
	uint32_t kept = 0;
	p->pages = calloc(program->npages + (uint64_t)1, sizeof *p->pages);
	if (!npu_pools_init(&p->pools, program) || !p->pages)
		return false;
	for (uint32_t i = 0; i < program->npages; i++)
		p->pages[i] = (struct page){ .key = key_of(program->pages[i].pool, program->pages[i].page),
					     .state = NPU_PAGE_FREE,
					     .since = NPU_CHECK_NOBODY };
	qsort(p->pages, program->npages, sizeof *p->pages, by_key);
	for (uint32_t i = 0; i < program->npages; i++)
		if (!i || p->pages[i].key != p->pages[kept - 1].key)
			p->pages[kept++] = p->pages[i];
	p->count = kept;
	return true;
}

/* The first page at `key` or later. */
static uint32_t lower_bound(const struct pages *p, uint64_t key)
{
	uint32_t lo = 0, hi = p->count;
	while (lo < hi) {
		uint32_t middle = lo + (hi - lo) / 2;
		if (p->pages[middle].key < key)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo;
}

static struct page *find(const struct pages *p, uint32_t pool, uint32_t page)
{
	uint32_t at = lower_bound(p, key_of(pool, page));
	return at < p->count && p->pages[at].key == key_of(pool, page) ? &p->pages[at] : NULL;
}

static bool has_records(const struct pages *p, uint32_t pool)
{
	uint32_t at = lower_bound(p, key_of(pool, 0));
	return at < p->count && p->pages[at].key >> 32 == pool;
}

/* ---- records ---- */

/* A record stands before an instruction, or behind the last one. */
static void tell_record(struct pages *p, enum npu_check_kind kind, const struct npu_page_event *e, const char *text)
{
	bool is_new, placed = e->insn < p->c->program->ninsns;
	struct npu_finding like = { .nsites = placed,
				    .site = { { e->insn, "", "comes after the record" } },
				    .sem = NPU_CHECK_NOBODY,
				    .record = p->c->program->page_place
						  ? &p->c->program->page_place[e - p->c->program->pages]
						  : NULL };
	struct npu_finding_key key = { kind, { (uint64_t)e->pool << 32 | e->page, e->insn } };
	struct npu_finding *f = npu_checker_add(p->c, &key, &like, &is_new);
	if (f && is_new)
		f->text = text;
}

static void take_record(struct pages *p, uint32_t record)
{
	const struct npu_page_event *e = &p->c->program->pages[record];
	const char *pool = p->c->program->tensors[e->pool].name;
	struct page *page = find(p, e->pool, e->page);
	if (e->state == NPU_PAGE_FREE && page->state == NPU_PAGE_FREE)
		tell_record(
		    p, NPU_CHECK_DOUBLE_FREE, e,
		    npu_checker_text(p->c, "page %" PRIu32 " of %s is freed%s before #%" PRIu32, e->page, pool,
				     page->since == NPU_CHECK_NOBODY ? ", and was never in use," : " a second time",
				     e->insn));
	if (e->state == NPU_PAGE_OWNED && page->state == NPU_PAGE_OWNED && page->sequence != e->sequence)
		tell_record(p, NPU_CHECK_PAGE_OWNER, e,
			    npu_checker_text(p->c,
					     "page %" PRIu32 " of %s is given to sequence %" PRIu32 " before #%" PRIu32
					     " while sequence %" PRIu32 " owns it",
					     e->page, pool, e->sequence, e->insn, page->sequence));
	page->state = e->state;
	page->sequence = e->sequence;
	page->since = record;
}

/* ---- accesses ---- */

/* The pool of a paged instruction: the tensor that has records and holds the address of page 0. */
static bool find_pool(const struct pages *p, uint64_t dram, uint32_t *pool)
{
	const struct npu_program *program = p->c->program;
	for (uint32_t i = 0; i < p->count; i = lower_bound(p, key_of(*pool, UINT32_MAX) + 1)) {
		*pool = (uint32_t)(p->pages[i].key >> 32);
		if (dram >= program->tensors[*pool].addr &&
		    dram - program->tensors[*pool].addr < program->tensors[*pool].bytes)
			return has_records(p, *pool);
	}
	return false;
}

static const char *since_text(struct npu_checker *c, const struct page *page)
{
	if (!page || page->since == NPU_CHECK_NOBODY)
		return "no record has given it to anybody";
	const struct npu_place *place = c->program->page_place ? &c->program->page_place[page->since] : NULL;
	uint32_t before = c->program->pages[page->since].insn;
	if (!place || !place->line)
		return npu_checker_text(c, "by the record before #%" PRIu32, before);
	return npu_checker_text(c, "by the record before #%" PRIu32 " (%s:%" PRIu32 ")", before,
				c->program->files[place->file], place->line);
}

/* An access to a page: through a block table, which says whose it is meant to be, or by its address. */
struct use {
	const struct npu_range *range;
	uint32_t pool, number;
};

static void tell_access(struct pages *p, enum npu_check_kind kind, const struct use *use, const char *what,
			const struct page *page)
{
	bool is_new;
	struct npu_checker *c = p->c;
	const struct npu_range *r = use->range;
	uint32_t pool = use->pool;
	bool direct = r->entry == NPU_RANGE_NO_PAGE;
	char number[32] = "";
	struct npu_finding like = npu_check_about(c, r);
	struct npu_finding_key key = { kind,
				       { npu_checker_line(c, r->insn),
					 direct ? (uint64_t)1 << 32 | pool : c->program->insns[r->insn].paged.table } };
	struct npu_finding *f = npu_checker_add(c, &key, &like, &is_new);
	if (!f || !is_new)
		return;
	f->bytes = (struct npu_check_bytes){ NPU_SPACE_DRAM, r->base, npu_range_end(r) - 1, r->rows * r->row_bytes,
					     c->program->tensors[pool].name };
	if (direct)
		snprintf(number, sizeof number, ", page %" PRIu32, use->number);
	f->text = npu_checker_text(c, "%s (%s%s) %s a page of %s %s", npu_check_insn_name(c, r->insn).text,
				   npu_check_range_name(c, r).text, number, r->write ? "writes" : "reads",
				   c->program->tensors[pool].name, what);
	f->notes = since_text(c, page);
}

static void check_access(struct pages *p, const struct npu_range *r)
{
	const struct npu_paged *paged = &p->c->program->insns[r->insn].paged;
	const struct npu_table *table = &p->c->program->tables[paged->table];
	uint32_t pool;
	if (!find_pool(p, paged->dram, &pool))
		return;
	struct use use = { r, pool, table->entries[r->entry] };
	const struct page *page = find(p, pool, use.number);
	enum npu_page_state state = page ? (enum npu_page_state)page->state : NPU_PAGE_FREE;
	switch (state) {
	case NPU_PAGE_FREE:
		tell_access(p, NPU_CHECK_PAGE_FREE, &use, "that is free", page);
		break;
	case NPU_PAGE_OWNED:
		if (page->sequence != table->sequence)
			tell_access(p, NPU_CHECK_PAGE_OWNER, &use,
				    npu_checker_text(p->c, "that belongs to sequence %" PRIu32 ", not %" PRIu32,
						     page->sequence, table->sequence),
				    page);
		break;
	case NPU_PAGE_SHARED:
		if (r->write)
			tell_access(p, NPU_CHECK_PAGE_SHARED, &use, "that is shared", page);
		break;
	}
}

/* A plain load or store knows of no sequence: it may touch any page that is somebody's, and write one that is not
 * shared. */
static void check_page(struct pages *p, const struct use *use)
{
	const struct page *page = find(p, use->pool, use->number);
	if (!page || page->state == NPU_PAGE_FREE)
		tell_access(p, NPU_CHECK_PAGE_FREE, use, "that is free", page);
	else if (page->state == NPU_PAGE_SHARED && use->range->write)
		tell_access(p, NPU_CHECK_PAGE_SHARED, use, "that is shared", page);
}

static void check_direct(struct pages *p, const struct npu_range *r, uint32_t pool)
{
	const struct npu_tensor *t = &p->c->program->tensors[pool];
	uint64_t bytes = npu_pools_page_bytes(&p->pools, pool), next = 0; /* pages before it are done */
	bytes = bytes ? bytes : t->bytes;
	for (uint32_t row = 0; bytes && row < r->rows; row++) {
		uint64_t from = r->base + row * r->stride, end = from + r->row_bytes;
		if (end <= t->addr || from >= t->addr + t->bytes)
			continue;
		from = from > t->addr ? from - t->addr : 0;
		end = (end < t->addr + t->bytes ? end : t->addr + t->bytes) - t->addr;
		uint64_t page = from / bytes > next ? from / bytes : next;
		for (; page * bytes < end && page <= UINT32_MAX; page++)
			check_page(p, &(struct use){ r, pool, (uint32_t)page });
		next = page > next ? page : next;
	}
}

/* A range may lie across pools. */
static void check_range(struct pages *p, const struct npu_range *r)
{
	uint32_t pool;
	if (r->entry != NPU_RANGE_NO_PAGE) {
		check_access(p, r);
		return;
	}
	for (uint32_t i = 0; r->space == NPU_SPACE_DRAM && i < p->count;
	     i = lower_bound(p, key_of(pool, UINT32_MAX) + 1)) {
		pool = (uint32_t)(p->pages[i].key >> 32);
		const struct npu_tensor *t = &p->c->program->tensors[pool];
		if (r->base < t->addr + t->bytes && npu_range_end(r) > t->addr)
			check_direct(p, r, pool);
	}
}

void npu_check_pages(struct npu_checker *c)
{
	struct pages p = { .c = c };
	const struct npu_program *program = c->program;
	if (!program->npages)
		return;
	c->out_of_memory |= !init(&p);
	for (uint32_t insn = 0; insn <= program->ninsns && !c->out_of_memory; insn++) {
		while (p.next < program->npages && program->pages[p.next].insn <= insn)
			take_record(&p, p.next++);
		for (uint64_t i = insn < program->ninsns ? c->ranges.first[insn] : 0;
		     insn < program->ninsns && i < c->ranges.first[insn + 1]; i++)
			check_range(&p, &c->ranges.ranges[i]);
	}
	free(p.pages);
	npu_pools_fini(&p.pools);
}
