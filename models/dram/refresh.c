/* SPDX-License-Identifier: Apache-2.0 */
/* Refresh at its rate: from the clk at which it is due its banks take no new command; open ones are precharged; then
 * REF. An all-bank refresh holds the rank, a per-bank refresh only its bank (or the pair that it covers); which one is
 * chosen when it is due, among those that have not had their turn in this round. An idle channel is not woken: dues
 * that pass meanwhile are caught up when the next request arrives. Nothing is postponed. */
#include "models/dram/core.h"

static bool per_bank(const struct dram *d)
{
	return d->config.refresh == DRAM_REFRESH_PERBANK;
}

static uint32_t interval(const struct dram *d)
{
	return per_bank(d) ? d->config.tREFIpb : d->config.tREFI;
}

/* Nothing to do before the first due; always something while a refresh is under way. */
static void set_due(const struct dram *d, struct channel *ch)
{
	ch->refresh_due = NEVER;
	for (uint32_t r = 0; r < d->config.ranks; r++)
		ch->refresh_due = min64(ch->refresh_due, ch->rank[r].refresh.banks ? 0 : ch->rank[r].refresh.due);
}

/* Turns of a round: turn k of n covers banks k, k + n, k + 2n, ... of the rank. */
static uint32_t turns_of(const struct dram *d)
{
	return d->plan.banks / d->config.ranks / d->config.refresh_banks;
}

static bank_set whole_round(const struct dram *d)
{
	return per_bank(d) ? ~(bank_set)0 >> (MAX_BANKS - turns_of(d)) : 0;
}

void dram_refresh_init(struct dram *d, struct channel *ch)
{
	for (uint32_t r = 0; r < d->config.ranks; r++) {
		ch->rank[r].refresh.due = d->config.refresh == DRAM_REFRESH_NONE ? NEVER : interval(d);
		ch->rank[r].refresh.left = whole_round(d);
	}
	set_due(d, ch);
}

static void turn_over(const struct dram *d, struct refresh *refresh, uint32_t turn)
{
	refresh->left &= ~bit(turn);
	if (!refresh->left)
		refresh->left = whole_round(d);
}

/* While nothing waits the turns of a round come in order. One that others went before has left its row open, and here
 * none is; so after whole rounds the same are left. */
static void skip_turns(const struct dram *d, struct refresh *refresh, uint64_t n)
{
	for (n %= turns_of(d); n; n--)
		turn_over(d, refresh, lowest(refresh->left));
}

static bank_set banks_of_turn(const struct dram *d, uint32_t rank, uint32_t turn)
{
	bank_set set = 0;
	for (uint32_t bank = turn; bank < d->plan.banks / d->config.ranks; bank += turns_of(d))
		set |= bit(rank * (d->plan.banks / d->config.ranks) + bank);
	return set;
}

static bank_set waiting_banks(const struct channel *ch)
{
	bank_set set = 0;
	for (uint32_t w = 0; w < 2; w++)
		for (uint32_t kind = 0; kind < KINDS; kind++)
			set |= ch->queue[w].set[kind];
	return set;
}

/* The first turn of the round that is to come; one on whose banks no burst waits before others. */
static uint32_t next_turn(const struct dram *d, const struct channel *ch, uint32_t rank)
{
	bank_set left = ch->rank[rank].refresh.left;
	bank_set waiting = d->config.refresh_order == DRAM_REFRESH_IDLE ? waiting_banks(ch) : 0;
	for (bank_set turns = left; waiting && turns; turns &= turns - 1)
		if (!(banks_of_turn(d, rank, lowest(turns)) & waiting))
			return lowest(turns);
	return lowest(left);
}

static bank_set open_banks(const struct channel *ch, bank_set among)
{
	bank_set open = 0;
	for (bank_set banks = among; banks; banks &= banks - 1)
		if (ch->bank[lowest(banks)].row != NO_ROW)
			open |= bit(lowest(banks));
	return open;
}

/* When `op` may go on all of these banks. */
static uint64_t all_allowed_at(const struct dram *d, const struct channel *ch, uint32_t op, bank_set banks)
{
	uint64_t clk = 0;
	for (; banks; banks &= banks - 1)
		clk = max64(clk, allowed_at(d, ch, op, lowest(banks)));
	return clk;
}

/* REF ends when ACT could have ended: both intervals count to the last clock of their command. */
static uint64_t refresh_at(const struct dram *d, const struct channel *ch, uint32_t op, bank_set banks)
{
	uint64_t act = all_allowed_at(d, ch, DRAM_ACT, banks) + d->plan.command_clk[DRAM_ACT];
	uint64_t clk = act > d->plan.command_clk[op] ? act - d->plan.command_clk[op] : 0;
	return max64(clk, ch->next[op][RANK_SLOT + d->plan.rank_of[lowest(banks)]]);
}

/* The next step of the refresh of one rank. */
static struct refresh_step rank_step(const struct dram *d, const struct channel *ch, uint32_t rank, uint64_t floor)
{
	const struct refresh *refresh = &ch->rank[rank].refresh;
	bank_set banks = refresh->banks, open = open_banks(ch, banks);
	if (!banks)
		return (struct refresh_step){ max64(refresh->due, ch->now), REFRESH_DUE, rank, 0 };
	if (ch->act1_bank != NO_BANK && banks & bit(ch->act1_bank)) /* its ACT-2 first */
		return (struct refresh_step){ NEVER, REFRESH_NONE, rank, 0 };
	if (open && per_bank(d))
		return (struct refresh_step){ max64(floor, allowed_at(d, ch, DRAM_PRE, lowest(open))), REFRESH_PRE,
					      rank, lowest(open) };
	if (open)
		return (struct refresh_step){ max64(floor, all_allowed_at(d, ch, DRAM_PRE, open)), REFRESH_PREAB, rank,
					      lowest(banks) };
	uint32_t op = per_bank(d) ? DRAM_REFPB : DRAM_REFAB;
	enum step step = per_bank(d) ? REFRESH_BANK : REFRESH_ALL;
	return (struct refresh_step){ max64(floor, refresh_at(d, ch, op, banks)), step, rank, lowest(banks) };
}

struct refresh_step dram_refresh_next(const struct dram *d, const struct channel *ch, uint64_t floor)
{
	struct refresh_step best = { NEVER, REFRESH_NONE, 0, 0 };
	for (uint32_t r = 0; r < d->config.ranks; r++) {
		struct refresh_step step = rank_step(d, ch, r, floor);
		if (step.clk < best.clk)
			best = step;
	}
	return best;
}

static void begin(struct dram *d, struct channel *ch, uint32_t rank)
{
	struct refresh *refresh = &ch->rank[rank].refresh;
	refresh->banks = d->plan.rank_banks[rank];
	if (per_bank(d)) {
		uint32_t turn = next_turn(d, ch, rank);
		refresh->banks = banks_of_turn(d, rank, turn);
		turn_over(d, refresh, turn);
	}
	refresh->since = ch->now;
	ch->blocked |= refresh->banks;
	set_due(d, ch);
}

static void close_rows(struct dram *d, struct channel *ch, uint32_t op, uint32_t bank, bank_set banks)
{
	dram_command(d, ch, op, bank, 0, ch->now);
	d->stats.precharges++;
	for (; banks; banks &= banks - 1) {
		ch->bank[lowest(banks)].conflict = false;
		dram_row_closed(ch, lowest(banks));
	}
}

static void finish(struct dram *d, struct channel *ch, uint32_t rank, uint64_t end)
{
	struct refresh *refresh = &ch->rank[rank].refresh;
	ch->window[ch->nwindows++ % REFRESH_HISTORY] = (struct refresh_window){ refresh->since, end, refresh->banks };
	ch->blocked &= ~refresh->banks;
	for (bank_set banks = refresh->banks; banks; banks &= banks - 1)
		ch->bank[lowest(banks)].conflict = false;
	refresh->banks = 0;
	refresh->due += interval(d);
	d->stats.refreshes++;
	set_due(d, ch);
}

void dram_refresh_take(struct dram *d, struct channel *ch, const struct refresh_step *s)
{
	bank_set banks = ch->rank[s->rank].refresh.banks;
	ch->now = s->clk;
	switch (s->step) {
	case REFRESH_NONE:
		return;
	case REFRESH_DUE:
		begin(d, ch, s->rank);
		break;
	case REFRESH_PREAB:
		close_rows(d, ch, DRAM_PREAB, s->bank, banks);
		break;
	case REFRESH_PRE:
		close_rows(d, ch, DRAM_PRE, s->bank, bit(s->bank));
		break;
	case REFRESH_ALL:
		dram_command(d, ch, DRAM_REFAB, s->bank, 0, s->clk);
		finish(d, ch, s->rank, s->clk + d->config.tRFCab);
		break;
	case REFRESH_BANK:
		for (; banks; banks &= banks - 1)
			dram_command(d, ch, DRAM_REFPB, lowest(banks), 0, s->clk);
		finish(d, ch, s->rank, s->clk + d->config.tRFCpb);
		break;
	}
	dram_forget_choices(ch);
}

/* The first due after the last request runs as usual and closes the rows; of the others only the last two can matter.
 */
void dram_refresh_skip(struct dram *d, struct channel *ch, uint64_t until)
{
	for (uint32_t r = 0; r < d->config.ranks; r++) {
		struct refresh *refresh = &ch->rank[r].refresh;
		if (refresh->banks || refresh->due == NEVER || refresh->due + 3ull * interval(d) >= until)
			continue;
		if (open_banks(ch, d->plan.rank_banks[r]))
			continue;
		uint64_t missed = (until - refresh->due) / interval(d) - 2;
		refresh->due += missed * interval(d);
		if (per_bank(d))
			skip_turns(d, refresh, missed);
		d->stats.refreshes += missed;
		set_due(d, ch);
	}
}
