/* SPDX-License-Identifier: Apache-2.0 */
/* Lives of local memory: one pass over the program before the run finds who begins and ends each range's life, the run
 * tells when, and a sweep over addresses, then time, adds up what is alive. The sweep is in record_sweep.c. */
#include "sim/record_live.h"

#include "isa/operand.h"
#include "sim/record_grow.h"
#include "sim/record_sweep.h"

#include <string.h>

enum { NOBODY = 0xffffffff };

/* Bytes [lo, hi) of the 32-bit local space and the instructions of each engine that touch them first and last. An engine
 * starts and ends its instructions in order, so no other one can begin or end the range's life. */
struct range {
	uint64_t lo, hi;
	bool declared;
	uint32_t first[NPU_ENGINES];
	uint32_t last[NPU_ENGINES];
};

struct ranges {
	struct range *items;
	uint64_t count, capacity;
};

struct live {
	const struct npu_program *program;
	struct ranges buffers;   /* one a declared buffer, in the program's order */
	struct ranges anonymous; /* distinct ones, in order of appearance */
	uint32_t *table;         /* open-addressed index into `anonymous` + 1 */
	uint64_t table_size;     /* a power of two */
	uint32_t *active;        /* declared buffers alive at the instruction being read, by address */
	uint64_t *reach;         /* by the same index: the highest end of the active buffers up to here */
	uint32_t nactive;
	uint64_t *marks;      /* a bit an instruction: it begins or ends a life */
	uint32_t *mark_rank;  /* marks before each word */
	uint64_t *mark_start; /* by rank */
	uint64_t *mark_end;
	struct live_steps steps[LIVE_SPACES];
};

static void touch(struct range *r, enum npu_engine engine, uint32_t insn)
{
	if (r->first[engine] == NOBODY)
		r->first[engine] = insn;
	r->last[engine] = insn;
}

static void range_init(struct range *r, uint64_t lo, uint64_t hi, bool declared)
{
	r->lo = lo;
	r->hi = hi;
	r->declared = declared;
	memset(r->first, 0xff, sizeof(r->first));
	memset(r->last, 0xff, sizeof(r->last));
}

static uint64_t hash_range(uint64_t lo, uint64_t hi)
{
	uint64_t h = (lo * 0x9e3779b97f4a7c15ull) ^ (hi * 0xc2b2ae3d27d4eb4full);
	return h ^ h >> 29;
}

static bool grow_table(struct live *l)
{
	uint64_t size = l->table_size ? 2 * l->table_size : 64;
	uint32_t *table = calloc(size, sizeof(*table));
	if (!table)
		return false;
	for (uint64_t i = 0; i < l->anonymous.count; i++) {
		uint64_t slot = hash_range(l->anonymous.items[i].lo, l->anonymous.items[i].hi);
		while (table[slot & (size - 1)] != 0)
			slot++;
		table[slot & (size - 1)] = (uint32_t)i + 1;
	}
	free(l->table);
	l->table = table;
	l->table_size = size;
	return true;
}

/* Bytes that no declared buffer covers. */
static bool touch_anonymous(struct live *l, uint64_t lo, uint64_t hi, enum npu_engine engine, uint32_t insn)
{
	struct ranges *a = &l->anonymous;
	if (2 * a->count >= l->table_size && !grow_table(l))
		return false;
	uint64_t slot = hash_range(lo, hi);
	for (;; slot++) {
		uint32_t at = l->table[slot & (l->table_size - 1)];
		if (at == 0)
			break;
		struct range *r = &a->items[at - 1];
		if (r->lo == lo && r->hi == hi) {
			touch(r, engine, insn);
			return true;
		}
	}
	void *items = a->items;
	if (!record_grow(&items, &a->capacity, a->count + 1, sizeof(*a->items)))
		return false;
	a->items = items;
	l->table[slot & (l->table_size - 1)] = (uint32_t)a->count + 1;
	range_init(&a->items[a->count], lo, hi, false);
	touch(&a->items[a->count++], engine, insn);
	return true;
}

/* The first active buffer that can end after `address`: ends up to there rise with the index. */
static uint32_t first_reaching(const struct live *l, uint64_t address)
{
	uint32_t lo = 0, hi = l->nactive;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (l->reach[mid] > address)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static bool touch_bytes(struct live *l, uint64_t lo, uint64_t hi, enum npu_engine engine, uint32_t insn)
{
	uint64_t covered = lo;
	for (uint32_t i = first_reaching(l, lo); i < l->nactive; i++) {
		struct range *b = &l->buffers.items[l->active[i]];
		if (b->lo >= hi)
			break;
		if (b->hi <= lo)
			continue;
		touch(b, engine, insn);
		if (b->lo > covered && !touch_anonymous(l, covered, b->lo, engine, insn))
			return false;
		if (b->hi > covered)
			covered = b->hi;
	}
	return covered >= hi || touch_anonymous(l, covered, hi, engine, insn);
}

static bool touch_insn(struct live *l, uint32_t i)
{
	const struct npu_insn *insn = &l->program->insns[i];
	enum npu_engine engine = npu_op_engine(insn->op);
	struct npu_operand operands[NPU_MAX_ACCESSES];
	unsigned n = npu_insn_operands(insn, operands);
	for (unsigned k = 0; k < n; k++) {
		const struct npu_operand *o = &operands[k];
		uint64_t bytes = o->space == NPU_SPACE_DRAM ? 0 : npu_matrix_extent(&o->m);
		uint64_t lo = o->addr + (o->space == NPU_SPACE_ACCUM ? NPU_ACC_BIT : 0);
		if (bytes && !touch_bytes(l, lo, lo + bytes, engine, i))
			return false;
	}
	return true;
}

static void activate(struct live *l, uint32_t buffer)
{
	uint32_t at = l->nactive++;
	for (; at > 0 && l->buffers.items[l->active[at - 1]].lo > l->buffers.items[buffer].lo; at--)
		l->active[at] = l->active[at - 1];
	l->active[at] = buffer;
}

static void retire(struct live *l, uint32_t insn)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < l->nactive; i++)
		if (l->program->buffers[l->active[i]].end > insn)
			l->active[kept++] = l->active[i];
	l->nactive = kept;
}

struct beginning {
	uint32_t first, buffer;
};

static int by_first(const void *a, const void *b)
{
	const struct beginning *x = a, *y = b;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (x->buffer > y->buffer) - (x->buffer < y->buffer);
}

/* After a change of the active buffers: how far they reach, and the instruction at which the first of them ends. */
static uint32_t settle_active(struct live *l)
{
	uint32_t next = NOBODY;
	uint64_t reach = 0;
	for (uint32_t i = 0; i < l->nactive; i++) {
		if (l->program->buffers[l->active[i]].end < next)
			next = l->program->buffers[l->active[i]].end;
		if (l->buffers.items[l->active[i]].hi > reach)
			reach = l->buffers.items[l->active[i]].hi;
		l->reach[i] = reach;
	}
	return next;
}

/* All instructions in program order, with the buffers that are declared alive at each. */
static bool walk_program(struct live *l, const struct beginning *begin)
{
	uint32_t next = 0, end = NOBODY;
	for (uint32_t i = 0; i < l->program->ninsns; i++) {
		bool changed = false;
		if (i >= end) {
			retire(l, i);
			changed = true;
		}
		for (; next < l->program->nbuffers && begin[next].first <= i; next++) {
			if (l->program->buffers[begin[next].buffer].end > i)
				activate(l, begin[next].buffer);
			changed = true;
		}
		if (changed)
			end = settle_active(l);
		if (!touch_insn(l, i))
			return false;
	}
	return true;
}

static bool declare_buffers(struct live *l)
{
	const struct npu_program *p = l->program;
	struct beginning *begin = malloc((p->nbuffers + 1ull) * sizeof(*begin));
	l->buffers.items = calloc(p->nbuffers + 1ull, sizeof(*l->buffers.items));
	l->active = calloc(p->nbuffers + 1ull, sizeof(*l->active));
	l->reach = calloc(p->nbuffers + 1ull, sizeof(*l->reach));
	bool ok = begin && l->buffers.items && l->active && l->reach;
	if (ok) {
		l->buffers.count = p->nbuffers;
		for (uint32_t b = 0; b < p->nbuffers; b++) {
			uint64_t lo = p->buffers[b].local;
			range_init(&l->buffers.items[b], lo, lo + p->buffers[b].bytes, true);
			begin[b] = (struct beginning){ p->buffers[b].first, b };
		}
		qsort(begin, p->nbuffers, sizeof(*begin), by_first);
		ok = walk_program(l, begin);
	}
	free(begin);
	return ok;
}

static void mark(struct live *l, const struct ranges *ranges)
{
	for (uint64_t i = 0; i < ranges->count; i++)
		for (unsigned e = 0; e < NPU_ENGINES; e++) {
			uint32_t first = ranges->items[i].first[e], last = ranges->items[i].last[e];
			if (first == NOBODY)
				continue;
			l->marks[first / 64] |= 1ull << first % 64;
			l->marks[last / 64] |= 1ull << last % 64;
		}
}

static bool make_marks(struct live *l)
{
	uint64_t words = l->program->ninsns / 64 + 1;
	l->marks = calloc(words, sizeof(*l->marks));
	l->mark_rank = calloc(words, sizeof(*l->mark_rank));
	if (!l->marks || !l->mark_rank)
		return false;
	mark(l, &l->buffers);
	mark(l, &l->anonymous);
	uint32_t n = 0;
	for (uint64_t w = 0; w < words; w++) {
		l->mark_rank[w] = n;
		n += (uint32_t)__builtin_popcountll(l->marks[w]);
	}
	l->mark_start = calloc(n + 1ull, sizeof(*l->mark_start));
	l->mark_end = calloc(n + 1ull, sizeof(*l->mark_end));
	return l->mark_start && l->mark_end;
}

struct live *live_new(const struct npu_program *program)
{
	struct live *l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->program = program;
	if (!declare_buffers(l) || !make_marks(l)) {
		live_free(l);
		return NULL;
	}
	return l;
}

void live_free(struct live *l)
{
	if (!l)
		return;
	free(l->buffers.items);
	free(l->anonymous.items);
	free(l->table);
	free(l->active);
	free(l->reach);
	free(l->marks);
	free(l->mark_rank);
	free(l->mark_start);
	free(l->mark_end);
	for (unsigned s = 0; s < LIVE_SPACES; s++)
		free(l->steps[s].items);
	free(l);
}

static uint32_t rank(const struct live *l, uint32_t insn)
{
	uint64_t before = l->marks[insn / 64] & ((1ull << insn % 64) - 1);
	return l->mark_rank[insn / 64] + (uint32_t)__builtin_popcountll(before);
}

void live_insn(struct live *l, uint32_t insn, uint64_t start, uint64_t end)
{
	if (!(l->marks[insn / 64] >> insn % 64 & 1))
		return;
	uint32_t at = rank(l, insn);
	l->mark_start[at] = start;
	l->mark_end[at] = end;
}

/* The life of a range that was touched at all. */
static bool lifetime(const struct live *l, const struct range *r, struct sweep_life *out)
{
	*out = (struct sweep_life){ .lo = r->lo, .hi = r->hi, .start = UINT64_MAX, .end = 0, .declared = r->declared };
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		if (r->first[e] == NOBODY)
			continue;
		uint64_t start = l->mark_start[rank(l, r->first[e])];
		uint64_t end = l->mark_end[rank(l, r->last[e])];
		if (start < out->start)
			out->start = start;
		if (end > out->end)
			out->end = end;
	}
	return out->start < out->end;
}

bool live_finish(struct live *l)
{
	uint64_t n = 0;
	struct sweep_life *lives = malloc((l->buffers.count + l->anonymous.count + 1) * sizeof(*lives));
	if (!lives)
		return false;
	for (uint64_t i = 0; i < l->buffers.count; i++)
		n += lifetime(l, &l->buffers.items[i], &lives[n]);
	for (uint64_t i = 0; i < l->anonymous.count; i++)
		n += lifetime(l, &l->anonymous.items[i], &lives[n]);
	bool ok = sweep(lives, n, 0, NPU_ACC_BIT, &l->steps[LIVE_SRAM]) &&
		  sweep(lives, n, NPU_ACC_BIT, 2ull * NPU_ACC_BIT, &l->steps[LIVE_ACCUM]);
	free(lives);
	return ok;
}

uint64_t live_peak_bytes(const struct live *l, enum live_space space)
{
	uint64_t peak = 0;
	for (uint64_t i = 0; i < l->steps[space].count; i++)
		if (l->steps[space].items[i].bytes > peak)
			peak = l->steps[space].items[i].bytes;
	return peak;
}

const struct live_step *live_steps(const struct live *l, enum live_space space, uint64_t *count)
{
	*count = l->steps[space].count;
	return l->steps[space].items;
}
