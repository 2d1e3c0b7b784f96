/* SPDX-License-Identifier: Apache-2.0 */
/* FR-FCFS: which command a channel issues next and when. Commands are issued in order of clk. Of those that can go
 * first the one that leaves the command bus first goes; then refresh before columns (row hits), columns before rows,
 * and older requests before younger. Timing rules are in bank.c, queues in queue.c.
 *
 * Each kind of command keeps its next choice (struct choice); a kind's banks are scanned only when its bound comes
 * first and is not exact, about once for each command of that kind. */
#include "models/dram/core.h"

/* When the rank of any bank lets `op` start: tFAW holds ACT back besides the rules. */
static inline uint64_t rank_floor(const struct channel *ch, uint32_t op, uint32_t rank, uint64_t floor)
{
	const struct rank *r = &ch->rank[rank];
	uint64_t clk = max64(floor, ch->rank_next[rank].next[op]);
	return op == DRAM_ACT ? max64(clk, r->faw[r->faw_at]) : clk;
}

/* The first start of `op` on any of the banks; of equal ones that for the oldest entry. Both fit into one key, so that
 * no branch depends on the requests: starts lie within 2^24 clk of `floor` (plan.c bounds the intervals), ages below
 * 2^40. */
static void scan(const struct dram *d, const struct channel *ch, uint32_t op, bank_set among, const uint64_t *age,
		 uint64_t floor, struct choice *best)
{
	uint64_t least = NEVER;
	uint32_t first = NO_BANK;
	for (uint32_t r = 0; among; r++) {
		uint64_t rank_clk = rank_floor(ch, op, r, floor);
		bank_set banks = among & d->plan.rank_banks[r];
		for (among &= ~banks; banks; banks &= banks - 1) {
			uint32_t bank = lowest(banks);
			uint64_t group_clk = ch->group_next[d->plan.group_of[bank]].next[op];
			uint64_t clk = max64(rank_clk, max64(ch->bank_next[bank].next[op], group_clk));
			uint64_t key = (clk - floor) << AGE_BITS | age[bank];
			first = key < least ? bank : first;
			least = min64(key, least);
		}
	}
	best->clk = first == NO_BANK ? NEVER : floor + (least >> AGE_BITS);
	best->bank = first;
	best->exact = 1;
}

/* LPDDR5: once the data clock has stopped, a CAS must restart it tCAS before the column command. */
static void wait_for_data_clock(const struct dram *d, const struct channel *ch, const struct queue *q,
				struct choice *best)
{
	if (!d->config.tCAS || best->clk <= ch->data_end || best->clk >= NEVER)
		return;
	uint64_t known = piece_of(d, ch->entry[q->first_hit[best->bank]].piece)->accepted;
	best->clk = max64(best->clk, max64(known, ch->command_free[0]) + d->config.tCAS);
}

/* Can this entry go as soon as the rank lets any column command go? No other can come before it then, and the scan is
 * spared. */
static bool goes_soonest(const struct dram *d, const struct channel *ch, const struct queue *q, uint16_t at,
			 uint64_t floor, struct choice *best)
{
	if (d->config.ranks > 1)
		return false;
	uint32_t op = column_op(q == &ch->queue[1]), bank = ch->entry[at].bank;
	if (q->first_hit[bank] != at || !(q->set[COLUMN] & ~ch->blocked & bit(bank)))
		return false;
	uint64_t soonest = max64(floor, ch->rank_next[0].next[op]);
	if (max64(ch->bank_next[bank].next[op], ch->group_next[d->plan.group_of[bank]].next[op]) > soonest)
		return false;
	best->clk = soonest;
	best->bank = bank;
	best->exact = 1;
	return true;
}

/* The entry of the oldest waiting burst: that of the oldest piece which comes first in order of address. */
static inline uint16_t oldest_burst(const struct dram *d, const struct channel *ch, const struct queue *q)
{
	const struct piece *p = piece_of(d, ch->entry[q->oldest].piece);
	uint16_t oldest = q->oldest;
	for (uint32_t i = 0; p->lanes > 1 && i < p->lanes; i++)
		if (p->lane[i] != NO_ENTRY && ch->entry[p->lane[i]].age < ch->entry[oldest].age)
			oldest = p->lane[i];
	return oldest;
}

/* Of the row hits that can go first, the oldest. */
static void scan_columns(const struct dram *d, const struct channel *ch, struct queue *q, uint64_t floor)
{
	struct choice *best = &q->next[COLUMN];
	if (!goes_soonest(d, ch, q, oldest_burst(d, ch, q), floor, best))
		scan(d, ch, column_op(q == &ch->queue[1]), q->set[COLUMN] & ~ch->blocked, q->hit_age, floor, best);
	wait_for_data_clock(d, ch, q, best);
}

/* The queue whose banks are opened and closed: that of the direction that comes when a turn is over. */
static inline struct queue *preparing(struct channel *ch)
{
	return &ch->queue[ch->drain != ch->leaving];
}

/* ACT or PRE; rows just opened for a turn that is over stay for their first burst. */
static void scan_rows(const struct dram *d, const struct channel *ch, struct queue *q, enum kind kind, uint64_t floor)
{
	bank_set kept = ch->leaving ? ch->fresh & ch->queue[ch->drain].set[COLUMN] : 0;
	scan(d, ch, kind == ACTIVATE ? DRAM_ACT : DRAM_PRE, q->set[kind] & ~(ch->blocked | kept), q->head_age, floor,
	     &q->next[kind]);
}

enum decision { TAKE_COLUMN, TAKE_ACT, TAKE_ACT2, TAKE_PRE };

/* The next command. Column commands that start before `rest` come before any row command. */
struct verdict {
	uint64_t clk, rest;
	enum decision what;
	uint32_t bank;
};

/* ACT-2 takes the first free slot after its ACT-1 that no column command wants, and the last one before tAAD is over.
 */
static void second_step(const struct dram *d, const struct channel *ch, uint64_t floor, uint64_t column,
			struct verdict *v)
{
	uint64_t clk = max64(floor, ch->act1_clk + d->plan.command_clk[DRAM_ACT]);
	bool last = column < NEVER && column + d->plan.command_clk[DRAM_RD] > ch->act1_clk + d->config.tAAD;
	v->rest = min64(v->rest, clk);
	if (clk < v->clk || (clk == v->clk && (v->what != TAKE_COLUMN || last))) {
		v->clk = clk;
		v->what = TAKE_ACT2;
	}
}

static uint64_t first_column(const struct dram *d, struct channel *ch, struct queue *q)
{
	const struct choice *next = &q->next[COLUMN];
	uint64_t floor = max64(ch->command_free[0], ch->now);
	if (q->set[COLUMN] && !(next->exact && next->clk >= floor))
		scan_columns(d, ch, q, floor);
	return next->clk;
}

/* Looks at what each kind of command would do next, rows by their bounds first, and scans until it is known which of
 * them leaves the bus first. Ties: columns, ACT, PRE. */
static void first_command(const struct dram *d, struct channel *ch, struct verdict *v)
{
	const uint8_t *length = d->plan.command_clk;
	struct queue *q = &ch->queue[ch->drain], *rows = preparing(ch);
	struct choice *act = &rows->next[ACTIVATE], *pre = &rows->next[PRECHARGE];
	uint64_t column = first_column(d, ch, q), column_leaves = column + length[DRAM_RD];
	uint64_t floor = max64(ch->command_free[d->plan.bus_of[DRAM_ACT]], ch->now);
	bool two_steps = ch->act1_bank != NO_BANK;
	v->clk = column;
	v->rest = NEVER;
	v->what = TAKE_COLUMN;
	v->bank = q->next[COLUMN].bank;
	if (act->clk >= NEVER && pre->clk >= NEVER && !two_steps)
		return;
	for (;;) {
		uint64_t act_clk = two_steps ? NEVER : max64(act->clk, floor), pre_clk = max64(pre->clk, floor);
		uint64_t act_leaves = act_clk + length[DRAM_ACT], pre_leaves = pre_clk + length[DRAM_PRE];
		bool act_first = act_leaves <= pre_leaves;
		struct choice *row = act_first ? act : pre;
		uint64_t row_leaves = min64(act_leaves, pre_leaves);
		if (column_leaves <= row_leaves) {
			v->rest = row_leaves + 1 - length[DRAM_RD];
			break;
		}
		if (row->exact && row->clk >= floor) {
			v->clk = act_first ? act_clk : pre_clk;
			v->what = act_first ? TAKE_ACT : TAKE_PRE;
			v->bank = row->bank;
			break;
		}
		scan_rows(d, ch, rows, act_first ? ACTIVATE : PRECHARGE, floor);
	}
	if (two_steps)
		second_step(d, ch, floor, column, v);
}

static void note_data(struct channel *ch, uint64_t from, uint64_t to)
{
	if (from != ch->data_end) {
		ch->busy[ch->nbusy++ % BUSY_HISTORY] = (struct interval){ ch->data_from, ch->data_end };
		ch->data_from = from;
	}
	ch->data_end = to;
	ch->bursts++;
}

/* The first burst of a row that was opened for it. */
static void count_opening(struct dram *d, struct channel *ch, uint32_t bank)
{
	d->outcomes[ch->bank[bank].outcome]++;
	ch->bank[bank].outcome = ROW_HIT;
	ch->fresh &= ~bit(bank);
}

/* One burst of entry `at` starts at clk. */
static void issue_burst(struct dram *d, struct channel *ch, struct queue *q, uint16_t at, struct piece *p, uint64_t clk)
{
	const struct entry *e = &ch->entry[at];
	struct bank *bank = &ch->bank[e->bank];
	uint64_t data = clk + d->plan.data_gap[p->write], end = data + d->plan.burst_clk;
	column_command(d, ch, p->write, e, clk);
	note_data(ch, data, end);
	if (bank->outcome != ROW_HIT)
		count_opening(d, ch, e->bank);
	ch->now = clk;
	ch->turn++;
	if (e->left == 1) {
		p->lane[e->lane] = NO_ENTRY;
		p->lane_gone[e->lane] = (uint32_t)(clk - p->accepted);
	}
	dram_burst_taken(d, ch, q, at);
	if (--p->left == 0) {
		piece_gone(d, p);
		if (p->write)
			row_set_drop(&ch->writes, row_key(d, p));
		else
			dram_piece_done(d, p, end + d->config.back_delay);
	}
}

/* The direction that ought to have its turn. While both wait: reads until writes fill the queue above drain_high or one
 * finds no room, then writes until they are down to drain_low, but no more than `turn` bursts; after such a cut reads
 * have as many. An overdue write comes before all that. */
static bool wants_drain(const struct dram *d, const struct channel *ch)
{
	const struct queue *reads = &ch->queue[0], *writes = &ch->queue[1];
	if (!writes->used || !reads->used || ch->forced != NO_BANK)
		return writes->used;
	uint32_t mark = ch->drain ? d->plan.low : d->plan.high;
	bool many = writes->used > mark || ch->full_clk <= ch->now, over = ch->turn >= d->config.turn;
	return many && over != ch->drain;
}

/* May an ACT or PRE leave the bus before a column command of clk? Their bounds know of banks that the run has done
 * with. */
static bool row_goes_first(const struct dram *d, struct channel *ch, uint64_t clk)
{
	const uint8_t *length = d->plan.command_clk;
	const struct queue *rows = preparing(ch);
	uint64_t floor = max64(ch->command_free[d->plan.bus_of[DRAM_ACT]], ch->now), leaves = clk + length[DRAM_RD];
	return (ch->act1_bank == NO_BANK && max64(rows->next[ACTIVATE].clk, floor) + length[DRAM_ACT] < leaves) ||
	       max64(rows->next[PRECHARGE].clk, floor) + length[DRAM_PRE] < leaves;
}

/* Would the next decision, were it taken anew, be the oldest burst, in entry `at`, at clk? */
static bool goes_on(const struct dram *d, struct channel *ch, const struct queue *q, uint16_t at, uint64_t clk,
		    uint64_t rest)
{
	uint32_t bank = ch->entry[at].bank;
	if (q->first_hit[bank] != at || !(q->set[COLUMN] & ~ch->blocked & bit(bank)) || clk >= rest || clk >= d->limit)
		return false;
	if (ch->leaving || ch->now >= ch->write_due || ch->forced != NO_BANK || wants_drain(d, ch) != ch->drain ||
	    (ch->full_clk > ch->now && ch->full_clk <= clk))
		return false;
	return max64(ch->command_free[0], allowed_at(d, ch, column_op(ch->drain), bank)) <= clk &&
	       !row_goes_first(d, ch, clk) && next_entry(d, ch) > clk;
}

/* The oldest write has waited too long: its bank is served in order until it has gone; then the next. */
static void watch_writes(const struct dram *d, struct channel *ch)
{
	uint16_t oldest = ch->queue[1].oldest;
	ch->write_due = NEVER;
	if (oldest != NO_ENTRY)
		ch->write_due = piece_of(d, ch->entry[oldest].piece)->accepted + d->config.write_wait;
	uint32_t forced = ch->now >= ch->write_due ? ch->entry[oldest].bank : NO_BANK;
	if (forced != ch->forced)
		dram_force(d, ch, forced);
}

static void tell_transfer(const struct dram *d, const struct channel *ch, uint64_t from, bool write)
{
	uint32_t bursts = (uint32_t)(ch->data_end - from) / d->plan.burst_clk;
	d->hooks.transfer(d->hooks.ctx, ch->index, from, ch->data_end, bursts * d->plan.burst_bytes, write);
}

/* The oldest burst after what comes in now. */
static uint16_t next_burst(struct dram *d, struct channel *ch, const struct queue *q)
{
	while (next_entry(d, ch) == ch->now && ch->now < d->limit)
		dram_enter(d, ch, ch->entry_port);
	return q->used ? oldest_burst(d, ch, q) : NO_ENTRY;
}

/* Bursts follow each other without another look around while the outcome is clear; a burst that would leave the bus
 * idle ends the run, so that another bank group may fill the gap. `rest` is when anything else may want a decision. */
static void issue_columns(struct dram *d, struct channel *ch, uint32_t bank, uint64_t clk, uint64_t rest)
{
	bool write = ch->drain;
	struct queue *q = &ch->queue[write];
	uint16_t at = q->first_hit[bank];
	uint64_t from = clk + d->plan.data_gap[write];
	uint32_t request = NO_REQUEST;
	d->stats.turnarounds += ch->last_write != write;
	ch->last_write = write;
	do {
		struct piece *p = piece_of(d, ch->entry[at].piece);
		if (d->hooks.transfer && request != NO_REQUEST && request != p->request) {
			tell_transfer(d, ch, from, write);
			from = ch->data_end;
		}
		request = p->request;
		issue_burst(d, ch, q, at, p, clk);
		at = next_burst(d, ch, q);
		clk += d->plan.burst_clk;
	} while (at != NO_ENTRY && goes_on(d, ch, q, at, clk, rest));
	if (d->hooks.transfer)
		tell_transfer(d, ch, from, write);
	if (write && (q->used == 0 || ch->forced != NO_BANK))
		watch_writes(d, ch);
	if (ch->leaving)
		dram_forget_choices(ch);
}

/* A row command takes a slot that a CAS may have counted on, and moves every later command of its kind. */
static void row_command(struct channel *ch, enum kind kind)
{
	for (uint32_t w = 0; w < 2; w++) {
		ch->queue[w].next[kind].exact = 0;
		if (ch->queue[w].next[COLUMN].clk > ch->data_end)
			ch->queue[w].next[COLUMN].exact = 0;
	}
}

static void open_row(struct dram *d, struct channel *ch, uint32_t bank, uint32_t row)
{
	d->stats.activates++;
	ch->bank[bank].outcome = ch->bank[bank].conflict ? ROW_CONFLICT : ROW_MISS;
	dram_row_opened(d, ch, bank, row);
}

static void activate(struct dram *d, struct channel *ch, uint32_t bank, uint64_t clk)
{
	uint32_t row = ch->entry[preparing(ch)->head[bank]].row;
	dram_command(d, ch, DRAM_ACT, bank, row, clk);
	row_command(ch, ACTIVATE);
	if (d->config.tAAD == 0) {
		open_row(d, ch, bank, row);
		return;
	}
	ch->act1_bank = bank;
	ch->act1_row = row;
	ch->act1_clk = clk;
	ch->blocked |= bit(bank);
}

static void activate2(struct dram *d, struct channel *ch, uint64_t clk)
{
	uint32_t bank = ch->act1_bank;
	dram_command(d, ch, DRAM_ACT2, bank, ch->act1_row, clk);
	row_command(ch, ACTIVATE);
	ch->act1_bank = NO_BANK;
	ch->blocked &= ~bit(bank) | ch->rank[d->plan.rank_of[bank]].refresh.banks;
	open_row(d, ch, bank, ch->act1_row);
}

static void precharge(struct dram *d, struct channel *ch, uint32_t bank, uint64_t clk)
{
	dram_command(d, ch, DRAM_PRE, bank, ch->bank[bank].row, clk);
	row_command(ch, PRECHARGE);
	d->stats.precharges++;
	ch->bank[bank].conflict = true;
	dram_row_closed(ch, bank);
}

static void issue(struct dram *d, struct channel *ch, const struct verdict *v)
{
	ch->now = v->clk;
	switch (v->what) {
	case TAKE_COLUMN:
		issue_columns(d, ch, v->bank, v->clk, v->rest);
		break;
	case TAKE_ACT:
		activate(d, ch, v->bank, v->clk);
		break;
	case TAKE_ACT2:
		activate2(d, ch, v->clk);
		break;
	case TAKE_PRE:
		precharge(d, ch, v->bank, v->clk);
		break;
	}
}

/* Gives the turn to the direction that ought to have it; rows just opened for the turn that ends are used first. */
static void choose_direction(const struct dram *d, struct channel *ch)
{
	if (ch->now >= ch->write_due)
		watch_writes(d, ch);
	else if (!ch->turn_moved)
		return;
	ch->turn_moved = false;
	bool drain = wants_drain(d, ch), over = drain != ch->drain;
	bool leaving = over && ch->fresh & ch->queue[ch->drain].set[COLUMN] & ~ch->blocked;
	if (leaving != ch->leaving || (over && !leaving))
		dram_forget_choices(ch);
	ch->leaving = leaving;
	if (over && !leaving) {
		/* Reads that did not have to end the drain have no claim to their turn. */
		bool cut = !drain && ch->queue[1].used && ch->turn >= d->config.turn;
		ch->turn = drain || cut ? 0 : d->config.turn;
		ch->drain = drain;
	}
}

/* Nothing waits: the next request's arrival is due, and of the refreshes until then those that can matter to it. */
static bool idle(struct dram *d, struct channel *ch, uint64_t entry)
{
	if (ch->queue[0].used || ch->queue[1].used)
		return false;
	if (entry < NEVER)
		dram_refresh_skip(d, ch, entry);
	return entry >= NEVER;
}

void dram_channel_run(struct dram *d, struct channel *ch, uint64_t stop)
{
	for (;;) {
		uint64_t entry = next_entry(d, ch);
		/* What arrives by now is looked at before anything is decided, and not all of it may be known. */
		if (ch->now >= min64(stop, d->limit)) {
			ch->due = ch->now;
			return;
		}
		if (entry == ch->now) {
			dram_enter(d, ch, ch->entry_port);
			continue;
		}
		if (idle(d, ch, entry)) {
			ch->due = NEVER;
			return;
		}
		choose_direction(d, ch);
		struct verdict next;
		first_command(d, ch, &next);
		uint64_t news = ch->full_clk > ch->now ? min64(entry, ch->full_clk) : entry;
		struct refresh_step refresh = { ch->refresh_due, REFRESH_NONE, 0, 0 };
		if (refresh.clk <= next.clk)
			refresh = dram_refresh_next(d, ch, max64(ch->command_free[d->plan.bus_of[DRAM_ACT]], ch->now));
		ch->due = min64(news, min64(refresh.clk, next.clk));
		if (ch->due >= min64(stop, d->limit))
			return;
		if (news == ch->due) {
			ch->now = news;
			ch->turn_moved = true;
		} else if (refresh.clk == ch->due) {
			dram_refresh_take(d, ch, &refresh);
		} else {
			next.rest = min64(min64(next.rest, refresh.clk), min64(news, stop));
			issue(d, ch, &next);
		}
	}
}
