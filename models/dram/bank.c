/* SPDX-License-Identifier: Apache-2.0 */
/* What a command forbids, and for how long: the interpreter of rules.def, and tFAW. Chooses nothing. */
#include "models/dram/core.h"

static void push_faw(struct rank *rank, uint64_t end)
{
	rank->faw[rank->faw_at] = end;
	rank->faw_at = (rank->faw_at + 1) % FAW_WINDOW;
}

static void forbid_other_ranks(const struct dram *d, struct channel *ch, const struct rules *rules, uint32_t rank,
			       uint64_t clk)
{
	for (uint32_t i = rules->n; i < rules->n + rules->other; i++)
		for (uint32_t r = 0; r < d->config.ranks; r++)
			if (r != rank)
				not_before(&ch->next[rules->row[i].second][RANK_SLOT + r], clk + rules->row[i].gap);
}

static void forbid(const struct dram *d, struct channel *ch, const struct rules *rules, uint32_t bank, uint64_t clk)
{
	const uint32_t slot[] = {
		[SCOPE_BANK] = bank,
		[SCOPE_GROUP] = GROUP_SLOT + d->plan.group_of[bank],
		[SCOPE_RANK] = RANK_SLOT + d->plan.rank_of[bank],
	};
	for (const struct rule *rule = rules->row, *end = rule + rules->n; rule < end; rule++)
		not_before(&ch->next[rule->second][slot[rule->scope]], clk + rule->gap);
}

static inline void hold(uint64_t *next, uint64_t clk, uint32_t gap)
{
	if (gap)
		not_before(next, clk + gap);
}

/* As forbid(), of ACT, ACT-2 and PRE. */
static inline void forbid_rows(const struct dram *d, struct channel *ch, uint32_t op, uint32_t bank, uint64_t clk)
{
	const struct row_gaps *gaps = &d->plan.row_gaps[op];
	uint32_t rank = RANK_SLOT + d->plan.rank_of[bank];
	if (op == DRAM_PRE) {
		hold(&ch->next[DRAM_ACT][bank], clk, gaps->activate);
		hold(&ch->next[DRAM_PRE][rank], clk, gaps->precharge_rank);
		return;
	}
	if (gaps->opens) {
		hold(&ch->next[DRAM_RD][bank], clk, gaps->read);
		hold(&ch->next[DRAM_WR][bank], clk, gaps->write);
		hold(&ch->next[DRAM_PRE][bank], clk, gaps->precharge);
	}
	if (op == DRAM_ACT) {
		hold(&ch->next[DRAM_ACT][bank], clk, gaps->activate);
		hold(&ch->next[DRAM_ACT][GROUP_SLOT + d->plan.group_of[bank]], clk, gaps->activate_group);
		hold(&ch->next[DRAM_ACT][rank], clk, gaps->activate_rank);
	}
}

/* What a command means to other ranks, and to who watches. */
static OUT_OF_LINE void watch(const struct dram *d, struct channel *ch, uint32_t op, uint32_t bank, uint32_t row,
			      uint32_t column, uint64_t clk)
{
	if (d->config.ranks > 1)
		forbid_other_ranks(d, ch, &d->plan.rules[op], d->plan.rank_of[bank], clk);
	if (!d->hooks.command)
		return;
	d->hooks.command(d->hooks.ctx,
			 &(struct dram_command){ .clk = clk,
						 .channel = ch->index,
						 .rank = d->plan.rank_of[bank],
						 .bank_group = d->plan.group_of[bank] & d->plan.group.mask,
						 .bank = bank,
						 .row = row,
						 .column = column,
						 .op = op });
}

/* What every command means to its bus, and to who watches. */
static inline void on_bus(const struct dram *d, struct channel *ch, uint32_t op, uint32_t bank, uint32_t row,
			  uint64_t clk)
{
	ch->command_free[d->plan.bus_of[op]] = clk + d->plan.command_clk[op];
	if (d->watched)
		watch(d, ch, op, bank, row, 0, clk);
}

void dram_command(const struct dram *d, struct channel *ch, uint32_t op, uint32_t bank, uint32_t row, uint64_t clk)
{
	forbid(d, ch, &d->plan.rules[op], bank, clk);
	on_bus(d, ch, op, bank, row, clk);
}

void dram_act(const struct dram *d, struct channel *ch, uint32_t bank, uint32_t row, uint64_t clk)
{
	forbid_rows(d, ch, DRAM_ACT, bank, clk);
	push_faw(&ch->rank[d->plan.rank_of[bank]], clk + d->config.tFAW);
	on_bus(d, ch, DRAM_ACT, bank, row, clk);
}

void dram_act2(const struct dram *d, struct channel *ch, uint32_t bank, uint32_t row, uint64_t clk)
{
	forbid_rows(d, ch, DRAM_ACT2, bank, clk);
	on_bus(d, ch, DRAM_ACT2, bank, row, clk);
}

void dram_pre(const struct dram *d, struct channel *ch, uint32_t bank, uint32_t row, uint64_t clk)
{
	forbid_rows(d, ch, DRAM_PRE, bank, clk);
	on_bus(d, ch, DRAM_PRE, bank, row, clk);
}

void dram_watch_column(struct dram *d, struct channel *ch, const struct entry *e, uint32_t column, uint32_t op,
		       uint64_t clk)
{
	watch(d, ch, op, e->bank, e->row, column, clk);
}
