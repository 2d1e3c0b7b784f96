/* SPDX-License-Identifier: Apache-2.0 */
/* Races: conflicting ranges in different engines that no chain of order.h connects.
 *
 * Instructions are taken in a legal order. What is ordered before an instruction is a prefix of each queue, so what
 * races with it is among the instructions of another queue from a known position on: a window, short where the program
 * is synchronised. A tree over addresses tells quickly whether anything in the window touches the bytes (frontier.h);
 * only then the window is gone through, newest first. */
#include "isa/check/checker.h"
#include "isa/check/frontier.h"
#include "isa/check/ranges.h"

#include <inttypes.h>
#include <stdlib.h>

enum { SPACES = NPU_SPACE_DRAM + 1 };

/* More pairs than these are not looked for; with `all` each one is a finding of its own. */
enum { MOST_PAIRS = 1000000 };

struct hit {
	const struct npu_range *first, *second;
};

struct races {
	struct npu_checker *c;
	struct npu_cells cells[SPACES];
	struct npu_frontier frontiers[SPACES][NPU_ENGINES][2]; /* of reads, of writes */
	struct hit *hits;                                      /* of the instruction at hand */
	uint32_t nhits, capacity;
	uint64_t most;
};

static const char *page_note(struct npu_checker *c, const struct npu_range *r)
{
	if (r->entry == NPU_RANGE_NO_PAGE)
		return "";
	return npu_checker_text(c, "%s: %s\n", npu_check_insn_name(c, r->insn).text, npu_check_range_name(c, r).text);
}

static struct npu_check_site site_of(const struct npu_checker *c, const struct npu_range *r)
{
	return (struct npu_check_site){ r->insn, npu_range_operand(c->program, r), r->write ? "writes" : "reads" };
}

static void tell(struct npu_checker *c, const struct hit *hit)
{
	const struct npu_range *first = hit->first, *second = hit->second;
	bool is_new;
	struct npu_finding like = { .nsites = 2,
				    .site = { site_of(c, second), site_of(c, first) },
				    .sem = NPU_CHECK_NOBODY };
	struct npu_finding_key key = { NPU_CHECK_RACE,
				       { npu_checker_line(c, second->insn), npu_checker_line(c, first->insn),
					 (uint64_t)(uintptr_t)like.site[0].operand,
					 (uint64_t)(uintptr_t)like.site[1].operand } };
	c->races++;
	struct npu_finding *f = npu_checker_add(c, &key, &like, &is_new);
	if (!f || !is_new)
		return;
	f->bytes.space = (enum npu_space)second->space;
	f->bytes.bytes = npu_range_common(first, second, &f->bytes.first, &f->bytes.last);
	f->bytes.name = npu_check_holder(c->program, second->insn, f->bytes.space, f->bytes.first);
	f->text = npu_checker_text(c, "race on %s%s%s", f->bytes.name, f->bytes.name[0] ? ", " : "",
				   npu_check_bytes_name(&f->bytes).text);
	f->notes = npu_checker_text(c, "%s%s%s", page_note(c, first), page_note(c, second),
				    npu_check_advice(c, first->insn, second->insn));
}

static int by_pair(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;
	const struct npu_range *pairs[][2] = { { x->first, y->first }, { x->second, y->second } };
	if (x->first->insn != y->first->insn)
		return x->first->insn < y->first->insn ? -1 : 1;
	for (unsigned i = 0; i < 2; i++) {
		const struct npu_range *p = pairs[i][0], *q = pairs[i][1];
		if (p->operand != q->operand)
			return p->operand < q->operand ? -1 : 1;
	}
	return 0;
}

/* Two instructions that share several pages are one pair. */
static void tell_hits(struct races *r)
{
	if (!r->nhits)
		return;
	qsort(r->hits, r->nhits, sizeof *r->hits, by_pair);
	for (uint32_t i = 0; i < r->nhits && !r->c->races_cut; i++) {
		if (i && by_pair(&r->hits[i - 1], &r->hits[i]) == 0)
			continue;
		if (r->c->races == r->most)
			r->c->races_cut = true;
		else
			tell(r->c, &r->hits[i]);
	}
	r->nhits = 0;
}

static void add_hit(struct races *r, const struct npu_range *first, const struct npu_range *second)
{
	if (r->nhits == r->capacity) {
		uint32_t capacity = r->capacity ? 2 * r->capacity : 64;
		struct hit *grown = realloc(r->hits, capacity * sizeof *grown);
		if (!grown) {
			r->c->out_of_memory = true;
			return;
		}
		r->hits = grown;
		r->capacity = capacity;
	}
	r->hits[r->nhits++] = (struct hit){ first, second };
}

static bool block_is_apart(const struct npu_frontier *f, uint32_t last, uint64_t lo, uint64_t hi)
{
	const struct npu_extent *block = &f->blocks[last / NPU_FRONTIER_BLOCK];
	return last % NPU_FRONTIER_BLOCK == NPU_FRONTIER_BLOCK - 1 && (block->lo >= hi || block->hi <= lo);
}

/* The first range at position `from` or later. */
static uint32_t window_begin(const struct races *r, const struct npu_frontier *f, uint32_t from)
{
	uint32_t lo = 0, hi = f->count;
	while (lo < hi) {
		uint32_t middle = lo + (hi - lo) / 2;
		if (r->c->order.position[f->ranges[middle]->insn] < from)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo;
}

/* Everything in the frontier from position `from` on that shares bytes with `range`. */
static void scan(struct races *r, const struct npu_frontier *f, const struct npu_range *range, uint32_t from)
{
	uint64_t lo = range->base, hi = npu_range_end(range);
	struct npu_access access = npu_range_access(range);
	uint32_t first = window_begin(r, f, from);
	if (!npu_frontier_may_share(f, range, from, f->count - first))
		return;
	for (uint32_t i = f->count; i-- > first && r->nhits < r->most;) {
		const struct npu_range *other = f->ranges[i];
		if (block_is_apart(f, i, lo, hi)) {
			i -= NPU_FRONTIER_BLOCK -
			     1; /* its first range; if the window begins inside of it, the loop ends */
			continue;
		}
		if (other->base >= hi || npu_range_end(other) <= lo)
			continue;
		struct npu_access other_access = npu_range_access(other);
		if (npu_access_overlap(&access, &other_access))
			add_hit(r, other, range);
	}
}

static void check_range(struct races *r, const struct npu_range *range)
{
	enum npu_engine engine = npu_op_engine(r->c->program->insns[range->insn].op);
	const struct npu_clock *start = &r->c->order.start[range->insn];
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		for (unsigned write = range->write ? 0 : 1; e != (unsigned)engine && write < 2; write++) {
			const struct npu_frontier *f = &r->frontiers[range->space][e][write];
			if (npu_frontier_touches(f, range, start->ended[e]))
				scan(r, f, range, start->ended[e]);
		}
}

static void check_insn(struct races *r, uint32_t insn)
{
	const struct npu_ranges *all = &r->c->ranges;
	enum npu_engine engine = npu_op_engine(r->c->program->insns[insn].op);
	for (uint64_t i = all->first[insn]; i < all->first[insn + 1]; i++)
		check_range(r, &all->ranges[i]);
	tell_hits(r);
	for (uint64_t i = all->first[insn]; i < all->first[insn + 1]; i++) {
		const struct npu_range *range = &all->ranges[i];
		struct npu_frontier *f = &r->frontiers[range->space][engine][range->write];
		if (!npu_frontier_add(f, range, r->c->order.position[insn]))
			r->c->out_of_memory = true;
	}
}

static bool init(struct races *r)
{
	for (unsigned space = 0; space < SPACES; space++) {
		if (!npu_cells_init(&r->cells[space], &r->c->ranges, (enum npu_space)space))
			return false;
		for (unsigned e = 0; e < NPU_ENGINES; e++)
			for (unsigned write = 0; write < 2; write++)
				r->frontiers[space][e][write].cells = &r->cells[space];
	}
	return true;
}

static void fini(struct races *r)
{
	for (unsigned space = 0; space < SPACES; space++) {
		for (unsigned e = 0; e < NPU_ENGINES; e++)
			for (unsigned write = 0; write < 2; write++)
				npu_frontier_fini(&r->frontiers[space][e][write]);
		npu_cells_fini(&r->cells[space]);
	}
	free(r->hits);
}

void npu_check_races(struct npu_checker *c)
{
	struct races r = { .c = c, .most = c->options.all ? NPU_CHECK_MOST_OF_ALL : MOST_PAIRS };
	c->out_of_memory |= !init(&r);
	for (uint32_t step = 0; step < c->program->ninsns && !c->out_of_memory && !c->races_cut; step++)
		check_insn(&r, c->order.sequence[step]);
	fini(&r);
}
