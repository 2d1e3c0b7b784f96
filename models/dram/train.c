/* SPDX-License-Identifier: Apache-2.0 */
/* A train: bursts of one piece that follow each other on the data bus without a gap, in order of address, a lane after
 * the other. It is measured and issued as a whole, and ends where a decision taken anew could be another one; ending it
 * too soon costs time and changes nothing. Which piece goes first is the scheduler's choice. */
#include "models/dram/core.h"

/* Bursts until whose turn it is or who may come in can change, at least one. */
static uint32_t undisturbed(const struct dram *d, const struct channel *ch, const struct queue *q, uint32_t most)
{
	uint32_t room = q->size - q->used;
	if (ch->leaving || ch->forced != NO_BANK || q->wanted <= room)
		return 1;
	most = (uint32_t)min64(most, q->wanted - room);
	if (ch->turn < d->config.turn)
		most = (uint32_t)min64(most, d->config.turn - ch->turn);
	if (ch->drain && ch->queue[0].used)
		most = (uint32_t)min64(most, q->used > d->plan.low ? q->used - d->plan.low : 1);
	return most;
}

static inline uint32_t next_lane(const struct piece *p, uint32_t lane)
{
	return lane + 1 < p->lanes ? lane + 1 : 0;
}

/* Does the lane's next burst go at clk, of age `age`? */
static bool follows(const struct dram *d, const struct channel *ch, const struct train *t, uint16_t at, uint64_t age,
		    uint64_t clk)
{
	if (at == NO_ENTRY)
		return false;
	const struct entry *e = &ch->entry[at];
	return e->age == age && t->q->first_hit[e->bank] == at && t->q->set[COLUMN] & ~ch->blocked & bit(e->bank) &&
	       allowed_at(d, ch, column_op(t->p->write), e->bank) <= clk;
}

/* No more than `bursts`, of which the lane's are the ones from `first` on, every lanes-th: it may end, its row may have
 * to yield, and when it is done with its row its bank may want another one. */
static uint32_t as_far_as(const struct dram *d, const struct channel *ch, const struct train *t, uint16_t at,
			  uint32_t first, uint32_t bursts)
{
	const struct entry *e = &ch->entry[at];
	uint32_t lanes = t->p->lanes, after_last = first + e->left * lanes;
	bool passes = t->q->head[e->bank] != at;
	if (passes && d->config.hit_cap) {
		uint32_t passed = ch->bank[e->bank].passed[t->p->write];
		uint32_t more = d->config.hit_cap > passed + 1 ? d->config.hit_cap - passed - 1 : 0;
		bursts = (uint32_t)min64(bursts, first + more * lanes + 1);
	}
	if (bursts + lanes <= after_last)
		return bursts;
	bool closes = passes || (e->next != NO_ENTRY && ch->entry[e->next].row != e->row);
	uint32_t far = closes ? after_last - lanes + d->plan.before_close[t->p->write] : after_last;
	return (uint32_t)min64(bursts, min64(far, after_last));
}

/* Bursts of the queue's oldest piece that can follow each other, when they have gone in order so far: its entries are
 * the heads of their banks, which pass nobody. */
static uint32_t oldest_ready(const struct dram *d, const struct channel *ch, const struct train *t)
{
	const struct piece *p = t->p;
	const struct queue *q = t->q;
	uint32_t step = d->plan.burst_clk, lanes = p->left < p->lanes ? p->left : p->lanes;
	uint64_t clk = t->clk;
	const uint64_t *next = ch->next[column_op(p->write)];
	bank_set hits = q->set[COLUMN] & ~ch->blocked;
	for (uint32_t i = 1, lane = next_lane(p, t->lane); i < lanes; i++, lane = next_lane(p, lane)) {
		uint32_t bank = ch->entry[p->lane[lane]].bank;
		clk += step;
		if (q->first_hit[bank] != p->lane[lane] || !(hits & bit(bank)) ||
		    max64(next[bank], next[GROUP_SLOT + d->plan.group_of[bank]]) > clk)
			return i;
	}
	return p->left;
}

/* Likewise of any piece, as far as its banks are concerned. */
static uint32_t other_ready(const struct dram *d, const struct channel *ch, const struct train *t)
{
	const struct piece *p = t->p;
	uint32_t step = d->plan.burst_clk, bursts = p->left;
	uint64_t age = ch->entry[p->lane[t->lane]].age;
	for (uint32_t i = 0, lane = t->lane; i < p->lanes && i < bursts; i++, lane = next_lane(p, lane)) {
		uint16_t at = p->lane[lane];
		if (i && !follows(d, ch, t, at, age + i, t->clk + i * step))
			return i;
		bursts = as_far_as(d, ch, t, at, i, bursts);
	}
	return bursts;
}

static uint32_t ready(const struct dram *d, const struct channel *ch, const struct train *t)
{
	const struct piece *p = t->p;
	bool oldest =
	    p->in_order && t->lane == p->front && p == piece_of(d, t->q->oldest) && d->plan.closes_late[p->write];
	uint32_t bursts = oldest ? oldest_ready(d, ch, t) : other_ready(d, ch, t);
	if (bursts > p->lanes && d->plan.column_gaps[p->write].same_group > p->lanes * d->plan.burst_clk)
		bursts = p->lanes;
	return bursts;
}

/* What the commands mean to other ranks and to who watches. */
static OUT_OF_LINE void watch(struct dram *d, struct channel *ch, const struct train *t)
{
	const struct piece *p = t->p;
	for (uint32_t i = 0, lane = t->lane; i < t->bursts; i++, lane = next_lane(p, lane)) {
		const struct entry *e = &ch->entry[p->lane[lane]];
		uint32_t column = e->column + (i < p->lanes ? 0 : i / p->lanes);
		dram_watch_column(d, ch, e, column, column_op(p->write), t->clk + i * d->plan.burst_clk);
	}
}

/* `bursts` of a lane have gone, the last of them at clk. */
IN_LINE void settle_lane(struct dram *d, struct channel *ch, struct piece *p, bool write, uint32_t lane,
			 uint32_t bursts, uint64_t clk)
{
	uint16_t at = p->lane[lane];
	struct entry *e = &ch->entry[at];
	struct queue *q = &ch->queue[write];
	const struct column_gaps *gaps = &d->plan.column_gaps[write];
	uint32_t group = GROUP_SLOT + d->plan.group_of[e->bank];
	struct bank *bank = &ch->bank[e->bank];
	not_before(&ch->next[DRAM_PRE][e->bank], clk + gaps->precharge);
	ch->next[column_op(write)][group] = clk + gaps->same_group;
	not_before(&ch->next[column_op(!write)][group], clk + gaps->other_group);
	if (bank->outcome != ROW_HIT) { /* the row was opened for the first of them */
		d->outcomes[bank->outcome]++;
		bank->outcome = ROW_HIT;
		ch->fresh &= ~bit(e->bank);
	}
	if (e->left == bursts) {
		p->lane[lane] = NO_ENTRY;
		p->lane_gone[lane] = (uint32_t)(clk - p->accepted);
	}
	if (e->left == bursts && q->head[e->bank] == at)
		dram_head_goes(d, ch, q, e, at);
	else
		dram_lane_advances(d, ch, q, at, bursts);
}

static void note_data(struct channel *ch, uint64_t from, uint64_t to)
{
	if (from != ch->data_end) {
		ch->busy[ch->nbusy++ % BUSY_HISTORY] = (struct interval){ ch->data_from, ch->data_end };
		ch->data_from = from;
	}
	ch->data_end = to;
}

/* Bursts no longer wait: there is room, and perhaps the turn is over. Reads that go on waiting in their turn change
 * nothing. */
IN_LINE void leave_queue(const struct dram *d, struct channel *ch, bool write, uint32_t bursts)
{
	struct queue *q = &ch->queue[write];
	q->used -= bursts;
	q->next[COLUMN].exact = 0;
	if (write || ch->leaving | !q->used | (ch->turn == d->config.turn))
		ch->turn_moved = true;
	if (q->size - q->used >= q->wanted)
		ch->door_moved = true;
}

/* The buses and the queue after it, its last burst at clk. */
IN_LINE void settle_bus(const struct dram *d, struct channel *ch, const struct train *t, bool write, uint64_t clk)
{
	const struct column_gaps *gaps = &d->plan.column_gaps[write];
	uint32_t rank = RANK_SLOT + d->plan.rank_of[t->p->bank], gap = d->plan.data_gap[write];
	ch->next[column_op(write)][rank] = clk + gaps->same_rank;
	not_before(&ch->next[column_op(!write)][rank], clk + gaps->other_rank);
	ch->command_free[0] = clk + d->plan.command_clk[DRAM_RD];
	note_data(ch, t->clk + gap, clk + gap + d->plan.burst_clk);
	ch->bursts += t->bursts;
	ch->now = clk;
	ch->turn += t->bursts;
	leave_queue(d, ch, write, t->bursts);
}

/* The lanes after it. A train longer than its piece has lanes is of all bank groups or of one. */
IN_LINE void settle_lanes(struct dram *d, struct channel *ch, const struct train *t, bool write)
{
	struct piece *p = t->p;
	uint32_t step = d->plan.burst_clk, lanes = p->lanes, round = lanes * step;
	uint32_t bits = lanes > 1 ? d->plan.group_bits : 0, last = t->bursts - 1;
	uint32_t touched = t->bursts < lanes ? t->bursts : lanes, lane = t->lane;
	uint64_t clk = t->clk;
	for (uint32_t i = 0; i < touched; i++, lane = next_lane(p, lane), clk += step) {
		uint32_t more = (last - i) >> bits;
		settle_lane(d, ch, p, write, lane, 1 + more, clk + more * round);
	}
}

/* Whose turn it is in the piece after a train that began with `lane`. */
static inline void move_front(const struct channel *ch, struct piece *p, uint32_t lane, uint32_t bursts)
{
	if (p->in_order && lane == p->front) {
		uint32_t front = lane + bursts;
		while (front >= p->lanes)
			front -= p->lanes;
		p->front = (uint8_t)front;
		return;
	}
	uint64_t age = UINT64_MAX;
	p->in_order = false;
	for (uint32_t i = 0; i < p->lanes; i++)
		if (p->lane[i] != NO_ENTRY && ch->entry[p->lane[i]].age < age) {
			age = ch->entry[p->lane[i]].age;
			p->front = (uint8_t)i;
		}
}

IN_LINE void piece_advances(struct dram *d, struct channel *ch, const struct train *t, bool write)
{
	struct piece *p = t->p;
	p->left -= (uint8_t)t->bursts;
	if (p->left) {
		move_front(ch, p, t->lane, t->bursts);
		return;
	}
	dram_piece_leaves(d, &ch->queue[write], p);
	piece_gone(d, p);
	if (write)
		row_set_drop(&ch->writes, p->row_key);
	else
		dram_piece_done(d, p, ch->data_end + d->config.back_delay);
}

uint32_t dram_train_length(const struct dram *d, struct channel *ch, const struct train *t, uint64_t before)
{
	uint32_t step = d->plan.burst_clk;
	if (t->clk + step >= before || d->plan.column_gaps[t->p->write].same_rank > step)
		return 1;
	uint32_t bursts = ch->ready = ch->ready ? ch->ready : ready(d, ch, t);
	if (bursts > 1)
		bursts = undisturbed(d, ch, t->q, bursts);
	while (t->clk + (bursts - 1) * step >= before)
		bursts--;
	return bursts;
}

IN_LINE void train(struct dram *d, struct channel *ch, const struct train *t, bool write)
{
	if (t->bursts == 1) {
		settle_bus(d, ch, t, write, t->clk);
		settle_lane(d, ch, t->p, write, t->lane, 1, t->clk);
	} else {
		settle_bus(d, ch, t, write, t->clk + (t->bursts - 1) * d->plan.burst_clk);
		settle_lanes(d, ch, t, write);
	}
	piece_advances(d, ch, t, write);
}

static OUT_OF_LINE void write_train(struct dram *d, struct channel *ch, const struct train *t)
{
	train(d, ch, t, true);
}

void dram_train(struct dram *d, struct channel *ch, const struct train *t)
{
	ch->ready = 0;
	if (d->watched)
		watch(d, ch, t);
	if (t->p->write)
		write_train(d, ch, t);
	else
		train(d, ch, t, false);
}
