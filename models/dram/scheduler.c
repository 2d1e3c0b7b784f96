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
	uint64_t clk = max64(floor, ch->next[op][RANK_SLOT + rank]);
	return op == DRAM_ACT ? max64(clk, r->faw[r->faw_at]) : clk;
}

/* A start and, of equal ones, an age, in one key, so that no branch depends on the requests: starts lie within 2^24 clk
 * of the floor (plan.c bounds the intervals), ages below 2^40. */
struct first {
	uint64_t key, more; /* more + 1: until one that can not start at the floor can */
	uint32_t bank;
};

/* The first start of `op` on any of the banks of a rank, not before rank_clk; of equal ones that for the oldest entry.
 */
IN_LINE void scan_rank(const struct dram *d, const struct channel *ch, uint32_t op, bank_set banks, const uint64_t *age,
		       uint64_t floor, uint64_t rank_clk, bool grouped, struct first *first)
{
	const uint64_t *next = ch->next[op];
	uint64_t least = rank_clk - floor;
	for (; banks; banks &= banks - 1) {
		uint64_t bank = lowest(banks), from = next[bank];
		if (grouped)
			from = max64(from, next[GROUP_SLOT + d->plan.group_of[bank]]);
		uint64_t wait = max64(from, floor) - floor; /* a choice would be a branch that nobody can predict */
		wait = max64(wait, least);
		uint64_t key = wait << AGE_BITS | age[bank];
		first->bank = key < first->key ? (uint32_t)bank : first->bank;
		first->key = min64(key, first->key);
		first->more = min64(wait - 1, first->more);
	}
}

static inline struct choice chosen(const struct first *first, uint64_t floor)
{
	uint64_t clk = first->bank == NO_BANK ? NEVER : floor + (first->key >> AGE_BITS);
	return (struct choice){ clk, floor + 1 + first->more, first->bank, true };
}

static const struct first none = { NEVER, NEVER, NO_BANK };

/* Of several ranks. */
static OUT_OF_LINE void scan_ranks(const struct dram *d, const struct channel *ch, uint32_t op, bank_set among,
				   const uint64_t *age, uint64_t floor, struct choice *best)
{
	struct first first = none;
	for (uint32_t r = 0; among; r++) {
		bank_set banks = among & d->plan.rank_banks[r];
		among &= ~banks;
		scan_rank(d, ch, op, banks, age, floor, rank_floor(ch, op, r, floor), true, &first);
	}
	*best = chosen(&first, floor);
}

IN_LINE void scan(const struct dram *d, const struct channel *ch, uint32_t op, bank_set among, const uint64_t *age,
		  uint64_t floor, struct choice *best)
{
	if (!d->plan.one_rank) {
		scan_ranks(d, ch, op, among, age, floor, best);
		return;
	}
	struct first first = none;
	floor = rank_floor(ch, op, 0, floor);
	if (op != DRAM_PRE && d->plan.group_holds[op])
		scan_rank(d, ch, op, among, age, floor, floor, true, &first);
	else
		scan_rank(d, ch, op, among, age, floor, floor, false, &first);
	*best = chosen(&first, floor);
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

/* The bank of the oldest burst of all if that is a row hit, else NO_BANK. `hits` is not empty. */
static inline uint32_t front_hit(const struct dram *d, const struct channel *ch, const struct queue *q, bank_set hits)
{
	const struct piece *p = piece_of(d, q->oldest);
	uint16_t front = p->lane[p->front];
	uint32_t bank = ch->entry[front].bank;
	return q->first_hit[bank] == front && hits & bit(bank) ? bank : NO_BANK;
}

/* The bank whose next row hit is the oldest, or NO_BANK. */
static inline uint32_t oldest_hit(const struct dram *d, const struct channel *ch, const struct queue *q)
{
	uint64_t age = UINT64_MAX;
	bank_set hits = q->set[COLUMN] & ~ch->blocked;
	if (!hits)
		return NO_BANK;
	uint32_t bank = front_hit(d, ch, q, hits);
	if (bank != NO_BANK)
		return bank;
	for (; hits; hits &= hits - 1) {
		uint32_t b = lowest(hits);
		bank = q->hit_age[b] < age ? b : bank;
		age = min64(age, q->hit_age[b]);
	}
	return bank;
}

/* Of the row hits that can go first, the oldest. The oldest burst of all is that when it can go as soon as the rank
 * lets any column command go; this spares the scan. */
static void scan_columns(const struct dram *d, const struct channel *ch, struct queue *q, uint64_t floor)
{
	struct choice *best = &q->next[COLUMN];
	bank_set hits = q->set[COLUMN] & ~ch->blocked;
	uint32_t op = column_op(q == &ch->queue[1]), bank = hits ? front_hit(d, ch, q, hits) : NO_BANK;
	uint64_t soonest = max64(floor, ch->next[op][RANK_SLOT]);
	if (d->plan.one_rank && bank != NO_BANK && allowed_at(d, ch, op, bank) <= soonest)
		*best = (struct choice){ soonest, 0, bank, true };
	else
		scan(d, ch, op, hits, q->hit_age, floor, best);
	wait_for_data_clock(d, ch, q, best);
}

/* The queue whose banks are opened and closed: that of the direction that comes when a turn is over. */
static inline struct queue *preparing(struct channel *ch)
{
	return &ch->queue[ch->drain != ch->leaving];
}

/* Banks that take no row command: rows just opened for a turn that is over stay for their first burst. */
static inline bank_set kept(const struct channel *ch)
{
	return ch->blocked | (ch->leaving ? ch->fresh & ch->queue[ch->drain].set[COLUMN] : 0);
}

static OUT_OF_LINE void scan_activates(const struct dram *d, const struct channel *ch, struct queue *q, uint64_t floor)
{
	scan(d, ch, DRAM_ACT, q->set[ACTIVATE] & ~kept(ch), q->head_age, floor, &q->next[ACTIVATE]);
}

static OUT_OF_LINE void scan_precharges(const struct dram *d, const struct channel *ch, struct queue *q,
					uint64_t floor)
{
	scan(d, ch, DRAM_PRE, q->set[PRECHARGE] & ~kept(ch), q->head_age, floor, &q->next[PRECHARGE]);
}

enum decision { TAKE_COLUMN, TAKE_ACT, TAKE_ACT2, TAKE_PRE };

/* The next command. Column commands that start before `rest` come before any row command. */
struct verdict {
	uint64_t clk, rest;
	enum decision what;
	uint32_t bank;
};

/* ACT-2 takes the first free slot after its ACT-1 that no column command wants, and the last one before tAAD is over.
 * The bus is free from `slot` on: PRE comes no sooner. */
static bool second_step_first(const struct dram *d, const struct channel *ch, uint64_t slot, uint64_t column)
{
	bool last = column + d->plan.command_clk[DRAM_RD] > ch->act1_clk + d->config.tAAD;
	return column > slot || (column == slot && last);
}

IN_LINE uint64_t first_column(const struct dram *d, struct channel *ch, struct queue *q)
{
	const struct choice *next = &q->next[COLUMN];
	uint64_t floor = max64(ch->command_free[0], ch->now);
	if (!(next->exact && next->clk >= floor) && q->set[COLUMN])
		scan_columns(d, ch, q, floor);
	return next->clk;
}

/* A kind of row command: its bound, and when it leaves its bus then. */
struct row {
	uint64_t clk, leaves;
};

IN_LINE struct row row_at(const struct dram *d, const struct choice *next, uint32_t op, uint64_t floor)
{
	uint64_t clk = max64(next->clk, floor);
	return (struct row){ clk, clk + d->plan.command_clk[op] };
}

static inline bool known(const struct choice *next, uint64_t floor)
{
	return next->exact && (next->clk >= floor || floor < next->until);
}

/* Looks at what each kind of command would do next, rows by their bounds first, and scans until it is known which of
 * them leaves the bus first (on a bus of its own: begins first). Ties: columns, ACT, PRE. */
IN_LINE void first_command(const struct dram *d, struct channel *ch, struct queue *q, struct queue *rows,
			   struct verdict *v)
{
	const uint64_t *shared = d->plan.shared_clk;
	struct choice *act_next = &rows->next[ACTIVATE], *pre_next = &rows->next[PRECHARGE];
	uint64_t column = first_column(d, ch, q), column_leaves = column + shared[DRAM_RD];
	bool two_steps = ch->act1_bank != NO_BANK;
	v->clk = column;
	v->rest = NEVER;
	v->what = TAKE_COLUMN;
	v->bank = q->next[COLUMN].bank;
	uint64_t floor = max64(ch->command_free[d->plan.bus_of[DRAM_ACT]], ch->now);
	if (two_steps && second_step_first(d, ch, floor, column)) {
		*v = (struct verdict){ floor, floor, TAKE_ACT2, NO_BANK };
		return;
	}
	uint64_t act_floor = two_steps ? NEVER : floor;
	struct row act = row_at(d, act_next, DRAM_ACT, act_floor);
	struct row pre = row_at(d, pre_next, DRAM_PRE, floor);
	for (;;) {
		if (act.leaves <= pre.leaves) {
			uint64_t columns_from = act.clk + shared[DRAM_ACT];
			if (column_leaves <= columns_from) {
				v->rest = columns_from + 1 - shared[DRAM_RD];
				break;
			}
			if (known(act_next, floor)) {
				v->clk = act.clk;
				v->what = TAKE_ACT;
				v->bank = act_next->bank;
				break;
			}
			scan_activates(d, ch, rows, floor);
			act = row_at(d, act_next, DRAM_ACT, act_floor);
		} else {
			uint64_t columns_from = pre.clk + shared[DRAM_PRE];
			if (column_leaves <= columns_from) {
				v->rest = columns_from + 1 - shared[DRAM_RD];
				break;
			}
			if (known(pre_next, floor)) {
				v->clk = pre.clk;
				v->what = TAKE_PRE;
				v->bank = pre_next->bank;
				break;
			}
			scan_precharges(d, ch, rows, floor);
			pre = row_at(d, pre_next, DRAM_PRE, floor);
		}
	}
	/* Not before a column command, but before PRE. */
	if (two_steps && v->what != TAKE_COLUMN)
		*v = (struct verdict){ floor, floor, TAKE_ACT2, NO_BANK };
	v->rest = two_steps ? min64(v->rest, floor) : v->rest;
}

/* Of wants_drain(): both directions wait. */
static OUT_OF_LINE bool both_want(const struct dram *d, const struct channel *ch)
{
	uint32_t mark = ch->drain ? d->plan.low : d->plan.high;
	bool many = ch->queue[1].used > mark || ch->full_clk <= ch->now, over = ch->turn >= d->config.turn;
	return many && over != ch->drain;
}

/* The direction that ought to have its turn. While both wait: reads until writes fill the queue above drain_high or one
 * finds no room, then writes until they are down to drain_low, but no more than `turn` bursts; after such a cut reads
 * have as many. An overdue write comes before all that. */
static inline bool wants_drain(const struct dram *d, const struct channel *ch)
{
	const struct queue *reads = &ch->queue[0], *writes = &ch->queue[1];
	if (!writes->used || !reads->used || ch->forced != NO_BANK)
		return writes->used;
	return both_want(d, ch);
}

/* Its first lane that still waits. */
static uint32_t first_bank(const struct channel *ch, const struct piece *p)
{
	uint32_t lane = 0;
	while (p->lane[lane] == NO_ENTRY)
		lane++;
	return ch->entry[p->lane[lane]].bank;
}

/* The oldest write has waited too long: its bank is served in order until it has gone; then the next. */
static void watch_writes(const struct dram *d, struct channel *ch)
{
	uint32_t oldest = ch->queue[1].oldest;
	ch->write_due = NEVER;
	if (oldest != NO_PIECE)
		ch->write_due = piece_of(d, oldest)->accepted + d->config.write_wait;
	uint32_t forced = ch->now >= ch->write_due ? first_bank(ch, piece_of(d, oldest)) : NO_BANK;
	if (forced != ch->forced)
		dram_force(d, ch, forced);
}

static void tell_transfer(const struct dram *d, const struct channel *ch, uint64_t from, bool write)
{
	uint32_t bursts = (uint32_t)(ch->data_end - from) / d->plan.burst_clk;
	d->hooks.transfer(d->hooks.ctx, ch->index, from, ch->data_end, bursts * d->plan.burst_bytes, write);
}

/* Until when columns may follow each other without another look around, as far as bounds tell. */
IN_LINE uint64_t undisputed(const struct dram *d, struct channel *ch, const struct queue *rows)
{
	const uint64_t *length = d->plan.shared_clk;
	uint64_t row_leaves = rows->next[PRECHARGE].clk + length[DRAM_PRE];
	if (ch->act1_bank == NO_BANK)
		row_leaves = min64(row_leaves, rows->next[ACTIVATE].clk + length[DRAM_ACT]);
	uint64_t row = row_leaves + 1 > length[DRAM_RD] ? row_leaves + 1 - length[DRAM_RD] : 0;
	uint64_t full = ch->full_clk > ch->now ? ch->full_clk : NEVER;
	return min64(min64(min64(ch->rest, row), ch->write_due), min64(next_entry(d, ch), full));
}

/* When a row hit older than the next one of `bank` may go. */
static uint64_t older_hit(const struct dram *d, const struct channel *ch, const struct queue *q, uint32_t bank)
{
	uint64_t clk = NEVER;
	for (bank_set hits = q->set[COLUMN] & ~ch->blocked; hits; hits &= hits - 1)
		if (q->hit_age[lowest(hits)] < q->hit_age[bank])
			clk = min64(clk, allowed_at(d, ch, column_op(ch->drain), lowest(hits)));
	return clk;
}

/* Until when the piece of the bank's next row hit, just chosen for clk, may go on. */
static uint64_t may_go_on(const struct dram *d, struct channel *ch, const struct queue *q, uint32_t bank, uint64_t clk)
{
	const struct entry *e = &ch->entry[q->first_hit[bank]];
	if (piece_of(d, e->piece)->left == 1)
		return 0;
	uint64_t before = undisputed(d, ch, preparing(ch));
	return before <= clk + d->plan.burst_clk ? before : min64(before, older_hit(d, ch, q, bank));
}

/* Would the next decision, were it taken anew, be the next row hit of `bank`, right behind the last burst? It is the
 * oldest. */
IN_LINE bool goes_on(const struct dram *d, struct channel *ch, bool write, uint32_t bank, uint64_t clk)
{
	if (max64(ch->command_free[0], allowed_at(d, ch, column_op(write), bank)) > clk || ch->leaving ||
	    ch->forced != NO_BANK)
		return false;
	if (ch->turn_moved && wants_drain(d, ch) != write)
		return false;
	ch->turn_moved = false;
	return true;
}

/* The train that begins with the next row hit of `bank` at clk. False when it waits for the next call: nothing that it
 * brings is told before its end, and what has come by then costs no more than what has come by now. */
IN_LINE bool next_train(const struct dram *d, struct channel *ch, struct queue *q, uint32_t bank, uint64_t clk,
			uint64_t before, uint64_t stop, struct train *t)
{
	const struct entry *e = &ch->entry[q->first_hit[bank]];
	uint32_t step = d->plan.burst_clk;
	*t = (struct train){ q, piece_of(d, e->piece), clk, 1, e->lane };
	if (t->p->left > 1)
		t->bursts = dram_train_length(d, ch, t, before);
	if (clk + (t->bursts - 1) * step < stop)
		return true;
	if (clk < stop && d->all_data) {
		t->bursts = (uint32_t)((stop - clk + step - 1) / step);
		return true;
	}
	ch->held = clk + (t->bursts - 1) * step;
	return false;
}

/* Trains follow each other without another look around while the outcome is clear; a burst that would leave the bus
 * idle ends this, so that another bank group may fill the gap. Where only `stop` is in the way, the channel rolls on in
 * the next call. */
IN_LINE void columns(struct dram *d, struct channel *ch, struct train *t, uint64_t stop, bool write)
{
	struct queue *q = &ch->queue[write];
	uint64_t from = t->clk + d->plan.data_gap[write], before;
	uint32_t request = t->p->request;
	d->stats.turnarounds += ch->last_write != write;
	ch->last_write = write;
	ch->rolls = false;
	do {
		if (d->hooks.transfer && request != t->p->request) {
			tell_transfer(d, ch, from, write);
			from = ch->data_end;
		}
		request = t->p->request;
		dram_train(d, ch, t);
		if (ch->door_moved | (ch->entry_clk <= ch->now))
			dram_enter_all(d, ch);
		uint64_t clk = ch->now + d->plan.burst_clk;
		if ((before = undisputed(d, ch, q)) <= clk)
			break;
		uint32_t bank = oldest_hit(d, ch, q);
		if (bank == NO_BANK || !goes_on(d, ch, write, bank, clk))
			break;
		ch->rolls = !next_train(d, ch, q, bank, clk, before, min64(stop, d->limit), t);
		ch->due = clk;
	} while (!ch->rolls);
	if (d->hooks.transfer)
		tell_transfer(d, ch, from, write);
	if (write && (ch->queue[1].used == 0 || ch->forced != NO_BANK))
		watch_writes(d, ch);
	if (ch->leaving)
		dram_forget_choices(ch);
}

static OUT_OF_LINE void issue_reads(struct dram *d, struct channel *ch, struct train *t, uint64_t stop)
{
	columns(d, ch, t, stop, false);
}

static OUT_OF_LINE void issue_writes(struct dram *d, struct channel *ch, struct train *t, uint64_t stop)
{
	columns(d, ch, t, stop, true);
}

static inline void issue_columns(struct dram *d, struct channel *ch, struct train *t, uint64_t stop)
{
	if (ch->drain)
		issue_writes(d, ch, t, stop);
	else
		issue_reads(d, ch, t, stop);
}

/* It moves every later command of its kind, and takes a slot that a CAS may have counted on. Choices of a queue that is
 * not at work are forgotten before it is. */
IN_LINE void row_command(const struct dram *d, struct channel *ch, struct queue *q, struct queue *rows,
			 enum kind kind)
{
	struct choice *column = &q->next[COLUMN];
	rows->next[kind].exact = false;
	if (d->config.tCAS && column->clk > ch->data_end)
		column->exact = false;
}

static void open_row(struct dram *d, struct channel *ch, uint32_t bank, uint32_t row)
{
	d->stats.activates++;
	ch->bank[bank].outcome = ch->bank[bank].conflict ? ROW_CONFLICT : ROW_MISS;
	dram_row_opened(d, ch, bank, row);
}

static void activate(struct dram *d, struct channel *ch, struct queue *q, struct queue *rows, uint32_t bank,
		     uint64_t clk)
{
	uint32_t row = ch->entry[rows->head[bank]].row;
	dram_act(d, ch, bank, row, clk);
	row_command(d, ch, q, rows, ACTIVATE);
	if (d->config.tAAD == 0) {
		open_row(d, ch, bank, row);
		return;
	}
	ch->act1_bank = bank;
	ch->act1_row = row;
	ch->act1_clk = clk;
	ch->blocked |= bit(bank);
}

static void activate2(struct dram *d, struct channel *ch, struct queue *q, struct queue *rows, uint64_t clk)
{
	uint32_t bank = ch->act1_bank;
	dram_act2(d, ch, bank, ch->act1_row, clk);
	row_command(d, ch, q, rows, ACTIVATE);
	ch->act1_bank = NO_BANK;
	ch->blocked &= ~bit(bank) | ch->rank[d->plan.rank_of[bank]].refresh.banks;
	open_row(d, ch, bank, ch->act1_row);
}

static void precharge(struct dram *d, struct channel *ch, struct queue *q, struct queue *rows, uint32_t bank,
		     uint64_t clk)
{
	dram_pre(d, ch, bank, ch->bank[bank].row, clk);
	row_command(d, ch, q, rows, PRECHARGE);
	d->stats.precharges++;
	ch->bank[bank].conflict = true;
	dram_row_closed(ch, bank);
}

IN_LINE void issue_row(struct dram *d, struct channel *ch, struct queue *q, struct queue *rows,
			     const struct verdict *v)
{
	ch->now = v->clk;
	if (v->what == TAKE_ACT)
		activate(d, ch, q, rows, v->bank, v->clk);
	else if (v->what == TAKE_ACT2)
		activate2(d, ch, q, rows, v->clk);
	else
		precharge(d, ch, q, rows, v->bank, v->clk);
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

/* True when the train, or what follows it, waits for the next call. */
static bool start_columns(struct dram *d, struct channel *ch, struct queue *q, uint32_t bank, uint64_t clk,
			  uint64_t stop)
{
	struct train t;
	if (!next_train(d, ch, q, bank, clk, may_go_on(d, ch, q, bank, clk), stop, &t))
		return true;
	ch->now = clk;
	issue_columns(d, ch, &t, stop);
	return ch->rolls;
}

/* Goes on behind the last train, unless what has arrived since forbids it. Both this and decide() return true when all
 * is decided up to `stop` or the limit, and then set ch->due. */
static bool roll_on(struct dram *d, struct channel *ch, uint64_t stop)
{
	struct queue *q = &ch->queue[ch->drain];
	uint32_t bank = oldest_hit(d, ch, q);
	uint64_t clk = ch->now + d->plan.burst_clk, before = undisputed(d, ch, preparing(ch));
	ch->due = clk;
	ch->rolls = clk < before && goes_on(d, ch, ch->drain, bank, clk);
	struct train t;
	if (ch->rolls && next_train(d, ch, q, bank, clk, before, min64(stop, d->limit), &t))
		issue_columns(d, ch, &t, stop);
	return ch->rolls;
}

/* What may come before the next command at clk: the limit, whatever else there is to look at, or refresh. Sets ch->due
 * and ch->rest. */
static OUT_OF_LINE bool other_news(struct dram *d, struct channel *ch, uint64_t clk, uint64_t rest, uint64_t news,
				   uint64_t stop)
{
	struct refresh_step refresh = { ch->refresh_due, REFRESH_NONE, 0, 0 };
	if (refresh.clk <= clk)
		refresh = dram_refresh_next(d, ch, max64(ch->command_free[d->plan.bus_of[DRAM_ACT]], ch->now));
	ch->due = min64(news, min64(refresh.clk, clk));
	ch->rest = min64(rest, refresh.clk);
	if (ch->due >= stop)
		return true;
	if (news == ch->due) {
		ch->now = news;
		ch->turn_moved = true;
		return true;
	}
	if (refresh.clk != ch->due)
		return false;
	dram_refresh_take(d, ch, &refresh);
	return true;
}

/* Takes the next decisions, up to the first that is no row command. */
static bool decide(struct dram *d, struct channel *ch, uint64_t entry, uint64_t stop)
{
	if (idle(d, ch, entry)) {
		ch->due = NEVER;
		return true;
	}
	choose_direction(d, ch);
	ch->ready = 0;
	stop = min64(stop, d->limit);
	uint64_t news = ch->full_clk > ch->now ? min64(entry, ch->full_clk) : entry;
	/* An overdue write may change the direction at any command. */
	bool overdue = ch->write_due <= ch->now;
	if (!overdue)
		news = min64(news, ch->write_due);
	struct queue *q = &ch->queue[ch->drain], *rows = preparing(ch);
	uint64_t end = min64(news, stop);
	for (;;) {
		struct verdict next;
		first_command(d, ch, q, rows, &next);
		if (next.clk >= end || ch->refresh_due <= next.clk) {
			if (other_news(d, ch, next.clk, next.rest, news, stop))
				return ch->due >= stop;
		} else {
			ch->rest = min64(next.rest, ch->refresh_due);
		}
		ch->due = next.clk;
		if (next.what == TAKE_COLUMN)
			return start_columns(d, ch, q, next.bank, next.clk, stop);
		issue_row(d, ch, q, rows, &next);
		if (overdue)
			return false;
	}
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
		if (entry == ch->now)
			dram_enter_all(d, ch);
		else if (ch->rolls ? roll_on(d, ch, stop) : decide(d, ch, entry, stop))
			return;
	}
}
