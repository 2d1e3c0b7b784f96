/* SPDX-License-Identifier: Apache-2.0 */
/* What could be left out: semaphores that order nothing which is not ordered without them, and writes that nobody
 * reads. */
#include "isa/check/checker.h"
#include "isa/check/frontier.h"
#include "isa/units.h"

#include <stdlib.h>

/* Semaphores that are looked at closely, each with an order of its own. */
enum { MOST_CANDIDATES = 256 };

struct sem_use {
	uint32_t first; /* instruction that waits */
	uint64_t waits, ordering;
	bool needed; /* some wait is not implied by its neighbours */
};

static void read_waits(const struct npu_checker *c, struct sem_use *uses)
{
	for (uint32_t i = 0; i < c->program->ninsns; i++)
		for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++) {
			const struct npu_sem_ref *ref = &c->program->insns[i].wait[slot];
			struct sem_use *use = &uses[ref->sem];
			if (!ref->count)
				continue;
			if (!use->waits++)
				use->first = i;
			use->ordering += c->order.poster[i][slot] != NPU_ORDER_NOBODY;
			use->needed |= !npu_order_implied(&c->order, i, slot);
		}
}

/* Whether everything that the waits for `sem` order is ordered without all of them: each may have been implied by
 * others of them only. */
static bool holds_without(struct npu_checker *c, uint32_t sem)
{
	struct npu_order without;
	if (!npu_order_init(&without, c->program, sem)) {
		c->out_of_memory = true;
		return false;
	}
	bool holds = true;
	for (uint32_t i = 0; holds && i < c->program->ninsns; i++)
		for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++) {
			const struct npu_sem_ref *ref = &c->program->insns[i].wait[slot];
			uint32_t poster = c->order.poster[i][slot];
			if (ref->count && ref->sem == sem && poster < NPU_ORDER_NEVER)
				holds = holds && npu_clock_covers(&without, &without.start[i], &c->order.end[poster]);
		}
	npu_order_fini(&without);
	return holds;
}

static void tell(struct npu_checker *c, uint32_t sem, const struct sem_use *use)
{
	bool is_new;
	struct npu_finding like = { .nsites = 1, .site = { { use->first, "", "waits" } }, .sem = sem };
	struct npu_finding_key key = { NPU_CHECK_REDUNDANT, { npu_checker_line(c, use->first) } };
	struct npu_finding *f = npu_checker_add(c, &key, &like, &is_new);
	if (f)
		f->cost += use->waits;
	if (f && is_new)
		f->text = npu_checker_text(
		    c, "the wait for %s is redundant: what its %s unit%s order%s is ordered without it",
		    c->program->sems[sem].name, npu_count_text(use->ordering).text, use->ordering == 1 ? "" : "s",
		    use->ordering == 1 ? "s" : "");
}

void npu_check_redundant(struct npu_checker *c)
{
	if (!c->options.redundant)
		return;
	struct sem_use *uses = calloc(c->program->nsems + (uint64_t)1, sizeof *uses);
	c->redundant = npu_arena_alloc(c->arena, c->program->nsems, sizeof *c->redundant);
	c->out_of_memory |= !uses || !c->redundant;
	for (uint32_t s = 0; s < c->program->nsems && !c->out_of_memory; s++)
		c->redundant[s] = NPU_CHECK_NOBODY;
	if (!c->out_of_memory)
		read_waits(c, uses);
	for (uint32_t s = 0, looked = 0; s < c->program->nsems && looked < MOST_CANDIDATES && !c->out_of_memory; s++) {
		if (!uses[s].ordering || uses[s].needed)
			continue;
		looked++;
		if (!holds_without(c, s))
			continue;
		c->redundant[s] = uses[s].first;
		tell(c, s, &uses[s]);
	}
	free(uses);
}

/* ---- dead writes ---- */

/* The last write of each shape of range, in a hash table. */
struct last_writes {
	const struct npu_range **slots;
	uint64_t nslots;
};

static bool same_bytes(const struct npu_range *a, const struct npu_range *b)
{
	return a->space == b->space && a->base == b->base && a->row_bytes == b->row_bytes && a->rows == b->rows &&
	       a->stride == b->stride;
}

static const struct npu_range **slot_of(const struct last_writes *l, const struct npu_range *r)
{
	uint64_t hash = (r->base * 0x9e3779b97f4a7c15u ^ r->row_bytes ^ (uint64_t)r->space << 60) * 0x9e3779b97f4a7c15u;
	hash = (hash ^ r->stride ^ (uint64_t)r->rows << 40) * 0x9e3779b97f4a7c15u;
	uint64_t at = (hash ^ hash >> 32) & (l->nslots - 1);
	while (l->slots[at] && !same_bytes(l->slots[at], r))
		at = (at + 1) & (l->nslots - 1);
	return &l->slots[at];
}

static void tell_dead(struct npu_checker *c, const struct npu_range *dead, const struct npu_range *by)
{
	bool is_new;
	struct npu_finding like = npu_check_about(c, dead);
	like.nsites = 2;
	like.site[1] = npu_check_about(c, by).site[0];
	struct npu_finding_key key = { NPU_CHECK_DEAD_WRITE,
				       { npu_checker_line(c, dead->insn), npu_checker_line(c, by->insn),
					 (uint64_t)(uintptr_t)like.site[0].operand } };
	struct npu_finding *f = npu_checker_add(c, &key, &like, &is_new);
	if (!f || !is_new)
		return;
	enum npu_space space = (enum npu_space)dead->space;
	f->bytes = (struct npu_check_bytes){ space, dead->base, npu_range_end(dead) - 1, dead->rows * dead->row_bytes,
					     npu_check_holder(c->program, dead->insn, space, dead->base) };
	f->text = npu_checker_text(c, "%s writes %s%s%s, which %s overwrites before anybody reads it",
				   npu_check_insn_name(c, dead->insn).text, f->bytes.name, f->bytes.name[0] ? ", " : "",
				   npu_check_bytes_name(&f->bytes).text, npu_check_insn_name(c, by->insn).text);
}

/* Only whole ranges that are written again as they are: what is left of one that is overwritten in part may still be
 * read. The frontiers hold reads only, at the position of their instruction in the program. */
static void check_dead(struct npu_checker *c, struct last_writes *l, struct npu_frontier *reads)
{
	for (uint64_t i = 0; i < c->ranges.count && !c->out_of_memory; i++) {
		const struct npu_range *r = &c->ranges.ranges[i];
		if (!r->write) {
			c->out_of_memory |= !npu_frontier_add(&reads[r->space], r, r->insn);
			continue;
		}
		const struct npu_range **last = slot_of(l, r);
		if (*last && (*last)->insn != r->insn && !npu_frontier_touches(&reads[r->space], r, (*last)->insn + 1))
			tell_dead(c, *last, r);
		*last = r;
	}
}

void npu_check_dead_writes(struct npu_checker *c)
{
	enum { SPACES = NPU_SPACE_DRAM + 1 };
	struct npu_cells cells[SPACES] = { 0 };
	struct npu_frontier reads[SPACES] = { 0 };
	struct last_writes writes = { .nslots = 64 };
	if (!c->options.redundant)
		return;
	while (writes.nslots < 2 * c->ranges.count)
		writes.nslots *= 2;
	writes.slots = calloc(writes.nslots, sizeof *writes.slots);
	c->out_of_memory |= !writes.slots;
	for (unsigned space = 0; space < SPACES; space++) {
		c->out_of_memory |= !npu_cells_init(&cells[space], &c->ranges, (enum npu_space)space);
		reads[space].cells = &cells[space];
	}
	if (!c->out_of_memory)
		check_dead(c, &writes, reads);
	for (unsigned space = 0; space < SPACES; space++) {
		npu_frontier_fini(&reads[space]);
		npu_cells_fini(&cells[space]);
	}
	free(writes.slots);
}
