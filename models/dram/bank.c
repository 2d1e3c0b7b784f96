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

static inline void forbid(const struct dram *d, struct channel *ch, const struct rules *rules, uint32_t bank,
			  uint64_t clk)
{
	const uint32_t slot[] = {
		[SCOPE_BANK] = bank,
		[SCOPE_GROUP] = GROUP_SLOT + d->plan.group_of[bank],
		[SCOPE_RANK] = RANK_SLOT + d->plan.rank_of[bank],
	};
	for (const struct rule *rule = rules->row, *end = rule + rules->n; rule < end; rule++)
		not_before(&ch->next[rule->second][slot[rule->scope]], clk + rule->gap);
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

void dram_command(struct dram *d, struct channel *ch, uint32_t op, uint32_t bank, uint32_t row, uint64_t clk)
{
	forbid(d, ch, &d->plan.rules[op], bank, clk);
	if (op == DRAM_ACT)
		push_faw(&ch->rank[d->plan.rank_of[bank]], clk + d->config.tFAW);
	ch->command_free[d->plan.bus_of[op]] = clk + d->plan.command_clk[op];
	if (d->watched)
		watch(d, ch, op, bank, row, 0, clk);
}

void dram_watch_column(struct dram *d, struct channel *ch, const struct entry *e, uint32_t column, uint32_t op,
		       uint64_t clk)
{
	watch(d, ch, op, e->bank, e->row, column, clk);
}
