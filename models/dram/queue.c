/* SPDX-License-Identifier: Apache-2.0 */
/* The read and the write queue of a channel and the doors before them: who is in, which bank has a row hit, which needs
 * ACT or PRE, who may come in. Issues no command. */
#include <string.h>

#include "models/dram/core.h"

static bank_set waiting(const struct queue *q)
{
	return q->set[COLUMN] | q->set[ACTIVATE] | q->set[PRECHARGE];
}

void dram_forget_choices(struct channel *ch)
{
	for (uint32_t w = 0; w < 2; w++)
		for (uint32_t kind = 0; kind < KINDS; kind++)
			ch->queue[w].next[kind] = (struct choice){ .clk = ch->queue[w].set[kind] ? 0 : NEVER };
	ch->turn_moved = true;
}

/* A bank joins a set: the kind's next choice stays exact when this bank cannot come before it, and for as long as
 * before when this bank is younger. */
static inline void join(const struct channel *ch, struct queue *q, enum kind kind, uint32_t bank)
{
	struct choice *next = &q->next[kind];
	uint64_t from = ch->next[q->op[kind]][bank];
	q->set[kind] |= bit(bank);
	if (from <= next->clk) {
		next->clk = from;
		next->exact = false;
	} else if (from < next->until && next->exact && q->head_age[bank] < q->head_age[next->bank])
		next->until = from;
}

static inline void move(const struct channel *ch, struct queue *q, enum kind from, enum kind to, uint32_t bank)
{
	leave_set(q, from, bank);
	join(ch, q, to, bank);
}

/* The bank's first row hit becomes the oldest entry of `row` from `at` on. */
static void find_hit(const struct channel *ch, struct queue *q, uint32_t bank, uint16_t at, uint32_t row)
{
	while (at != NO_ENTRY && ch->entry[at].row != row)
		at = ch->entry[at].next;
	q->first_hit[bank] = at;
	if (at != NO_ENTRY)
		q->hit_age[bank] = ch->entry[at].age;
}

/* The row closes in spite of waiting hits once hit_cap bursts have gone before an older one, or for an overdue write.
 */
static bool must_yield(const struct dram *d, const struct channel *ch, const struct queue *q, uint32_t bank)
{
	if (q->first_hit[bank] == q->head[bank])
		return false;
	return (d->config.hit_cap && ch->bank[bank].passed[q == &ch->queue[1]] >= d->config.hit_cap) ||
	       (q == &ch->queue[1] && ch->forced == bank);
}

/* The kind of command that a bank with entries needs next. */
static enum kind kind_of(const struct dram *d, const struct channel *ch, const struct queue *q, uint32_t bank)
{
	if (ch->bank[bank].row == NO_ROW)
		return ACTIVATE;
	return q->first_hit[bank] == NO_ENTRY || must_yield(d, ch, q, bank) ? PRECHARGE : COLUMN;
}

static enum kind present_kind(const struct queue *q, uint32_t bank)
{
	return q->set[COLUMN] & bit(bank) ? COLUMN : q->set[ACTIVATE] & bit(bank) ? ACTIVATE : PRECHARGE;
}

static void sort_bank(const struct dram *d, const struct channel *ch, struct queue *q, uint32_t bank)
{
	enum kind now = present_kind(q, bank), then = kind_of(d, ch, q, bank);
	if (now != then)
		move(ch, q, now, then, bank);
}

void dram_row_opened(const struct dram *d, struct channel *ch, uint32_t bank, uint32_t row)
{
	ch->bank[bank].row = row;
	ch->bank[bank].passed[0] = ch->bank[bank].passed[1] = 0;
	ch->fresh |= bit(bank);
	for (uint32_t w = 0; w < 2; w++) {
		struct queue *q = &ch->queue[w];
		if (!(q->set[ACTIVATE] & bit(bank)))
			continue;
		uint16_t head = q->head[bank];
		if (ch->entry[head].row == row) { /* whom it was opened for */
			q->first_hit[bank] = head;
			q->hit_age[bank] = q->head_age[bank];
			move(ch, q, ACTIVATE, COLUMN, bank);
		} else {
			find_hit(ch, q, bank, head, row);
			move(ch, q, ACTIVATE, kind_of(d, ch, q, bank), bank);
		}
	}
}

void dram_row_closed(struct channel *ch, uint32_t bank)
{
	ch->bank[bank].row = NO_ROW;
	ch->fresh &= ~bit(bank);
	for (uint32_t w = 0; w < 2; w++) {
		struct queue *q = &ch->queue[w];
		q->first_hit[bank] = NO_ENTRY;
		if (q->head[bank] != NO_ENTRY)
			move(ch, q, present_kind(q, bank), ACTIVATE, bank);
	}
}

void dram_force(const struct dram *d, struct channel *ch, uint32_t bank)
{
	struct queue *q = &ch->queue[1];
	uint32_t before = ch->forced;
	ch->forced = bank;
	if (before != NO_BANK && waiting(q) & bit(before))
		sort_bank(d, ch, q, before);
	if (bank != NO_BANK)
		sort_bank(d, ch, q, bank);
}

/* The youngest of its bank. */
static inline void append(const struct dram *d, struct channel *ch, struct queue *q, uint16_t at)
{
	struct entry *e = &ch->entry[at];
	uint32_t bank = e->bank;
	e->next = NO_ENTRY;
	e->prev = q->tail[bank];
	q->tail[bank] = at;
	bool first_hit = q->first_hit[bank] == NO_ENTRY && e->row == ch->bank[bank].row;
	if (first_hit) {
		q->first_hit[bank] = at;
		q->hit_age[bank] = e->age;
	}
	if (e->prev == NO_ENTRY) {
		q->head[bank] = at;
		q->head_age[bank] = e->age;
		join(ch, q, kind_of(d, ch, q, bank), bank);
		return;
	}
	ch->entry[e->prev].next = at;
	if (first_hit)
		sort_bank(d, ch, q, bank);
}

static void new_head(const struct channel *ch, struct queue *q, uint32_t bank, uint16_t at)
{
	q->head[bank] = at;
	if (at != NO_ENTRY)
		q->head_age[bank] = ch->entry[at].age;
}

static void unlink_entry(struct channel *ch, struct queue *q, const struct entry *e)
{
	if (e->prev == NO_ENTRY)
		new_head(ch, q, e->bank, e->next);
	else
		ch->entry[e->prev].next = e->next;
	*(e->next == NO_ENTRY ? &q->tail[e->bank] : &ch->entry[e->next].prev) = e->prev;
}

static void remove_entry(struct channel *ch, struct queue *q, uint16_t at)
{
	struct entry *e = &ch->entry[at];
	unlink_entry(ch, q, e);
	if (q->first_hit[e->bank] == at)
		find_hit(ch, q, e->bank, e->next, e->row);
	e->next = ch->free_entry;
	ch->free_entry = at;
}

/* Its age grows by the bursts of the other lanes in between. It stays older than what is behind it in its bank. */
static void next_burst(const struct dram *d, struct queue *q, struct entry *e, uint16_t at, uint32_t bursts)
{
	uint32_t bank = e->bank;
	e->age += bursts * piece_of(d, e->piece)->lanes;
	if (q->first_hit[bank] == at)
		q->hit_age[bank] = e->age;
	if (q->head[bank] == at)
		q->head_age[bank] = e->age;
}

void dram_other_row(const struct dram *d, struct channel *ch, struct queue *q, uint32_t bank)
{
	uint16_t head = q->head[bank];
	find_hit(ch, q, bank, ch->entry[head].next, ch->bank[bank].row);
	if (q->first_hit[bank] == NO_ENTRY || must_yield(d, ch, q, bank))
		move(ch, q, COLUMN, PRECHARGE, bank);
}

void dram_lane_advances(const struct dram *d, struct channel *ch, struct queue *q, uint16_t at, uint32_t bursts)
{
	struct entry *e = &ch->entry[at];
	uint32_t bank = e->bank;
	if (q->head[bank] != at)
		ch->bank[bank].passed[q == &ch->queue[1]] += bursts;
	e->column += (uint16_t)bursts;
	e->left -= (uint8_t)bursts;
	if (e->left == 0)
		remove_entry(ch, q, at);
	else
		next_burst(d, q, e, at, bursts);
	if (q->head[bank] == NO_ENTRY)
		leave_set(q, COLUMN, bank);
	else if (q->first_hit[bank] != q->head[bank])
		sort_bank(d, ch, q, bank);
}

static bool overlaps(const struct piece *a, const struct piece *b)
{
	return a->addr < b->addr + b->nbytes && b->addr < a->addr + a->nbytes;
}

static bool covers(const struct piece *a, const struct piece *b)
{
	return a->addr <= b->addr && b->addr + b->nbytes <= a->addr + a->nbytes;
}

/* A waiting piece of queue q in one of p's banks for which `test` holds with p. */
static bool any_waiting(const struct dram *d, const struct channel *ch, const struct queue *q, const struct piece *p,
			bool (*test)(const struct piece *, const struct piece *))
{
	for (bank_set banks = dram_banks_of(d, p) & waiting(q); banks; banks &= banks - 1)
		for (uint16_t at = q->head[lowest(banks)]; at != NO_ENTRY; at = ch->entry[at].next)
			if (ch->entry[at].row == p->row && test(piece_of(d, ch->entry[at].piece), p))
				return true;
	return false;
}

/* One entry a bank: lane i has the bursts i, i + lanes, ... of the piece, `left` of them. */
IN_LINE void add_entry(struct dram *d, struct channel *ch, struct queue *q, struct piece *p, uint32_t id, uint32_t i,
		       struct lane lane, uint32_t left)
{
	uint16_t at = ch->free_entry;
	struct entry *e = &ch->entry[at];
	ch->free_entry = e->next;
	e->age = ch->age + i;
	e->row = p->row;
	e->piece = id;
	e->column = (uint16_t)lane.column;
	e->bank = (uint8_t)lane.bank;
	e->lane = (uint8_t)i;
	e->left = (uint8_t)left;
	p->lane[i] = at;
	p->lane_gone[i] = UINT32_MAX;
	append(d, ch, q, at);
}

static OUT_OF_LINE void add_lanes(struct dram *d, struct channel *ch, struct queue *q, struct piece *p, uint32_t id)
{
	uint32_t bits = d->plan.group_bits, last = p->bursts - 1u, n = p->lanes;
	struct lanes lanes = dram_lanes(d, p);
	for (uint32_t i = 0; i < n; i++)
		add_entry(d, ch, q, p, id, i, dram_lane(&lanes, i), 1 + ((last - i) >> bits));
}

IN_LINE void add_entries(struct dram *d, struct channel *ch, struct queue *q, struct piece *p, uint32_t id)
{
	if (p->lanes == 1)
		add_entry(d, ch, q, p, id, 0, (struct lane){ p->bank, p->column }, p->bursts);
	else
		add_lanes(d, ch, q, p, id);
	ch->age += p->bursts;
	ch->ready = 0;
	q->used += p->bursts;
	/* What waits for the data clock is chosen anew when somebody comes: an older row may have opened meanwhile. */
	struct choice *next = &ch->queue[ch->drain].next[COLUMN];
	if (d->config.tCAS && next->clk > ch->data_end)
		next->exact = 0;
	p->front = 0;
	p->in_order = true;
	p->next = NO_PIECE;
	p->older = q->youngest;
	*(p->older == NO_PIECE ? &q->oldest : &piece_of(d, p->older)->next) = id;
	q->youngest = id;
}

/* A read whose bytes one waiting write covers is answered from the queue; one that a write covers in part reads the
 * device, and the controller merges what the queue held when it came in. */
IN_LINE void enter(struct dram *d, struct channel *ch, uint32_t port, bool write)
{
	struct door *door = &ch->door[port];
	uint32_t id = door->head;
	struct piece *p = piece_of(d, id);
	const struct queue *writes = &ch->queue[1];
	ch->door_moved = true;
	if (write)
		ch->writes_outside--;
	else
		row_set_drop(&ch->reads_outside, p->row_key);
	p->accepted = ch->now;
	if (p->next == NO_PIECE)
		ch->ports &= ~(1u << port);
	else
		dram_show(ch, port, p->next, piece_of(d, p->next));
	if (p->next == NO_PIECE || door->write != write)
		dram_find_reader(ch);
	if (!write && row_set_has(&ch->writes, p->row_key) && any_waiting(d, ch, writes, p, covers)) {
		d->stats.forwarded++;
		d->stats.forwarded_bytes += p->nbytes;
		memset(p->lane_gone, 0, sizeof p->lane_gone);
		piece_gone(d, p);
		dram_piece_done(d, p, ch->now + d->config.back_delay);
		return;
	}
	if (write && !writes->used)
		ch->write_due = ch->now + d->config.write_wait;
	ch->turn_moved |= write || !ch->queue[0].used;
	add_entries(d, ch, &ch->queue[write], p, id);
	if (write)
		dram_piece_done(d, p, ch->now);
}

static OUT_OF_LINE void enter_read(struct dram *d, struct channel *ch, uint32_t port)
{
	enter(d, ch, port, false);
}

static OUT_OF_LINE void enter_write(struct dram *d, struct channel *ch, uint32_t port)
{
	enter(d, ch, port, true);
}

/* Would this write overtake a waiting read of the same bytes? */
static bool overtakes(const struct dram *d, const struct channel *ch, const struct door *door)
{
	return any_waiting(d, ch, &ch->queue[0], piece_of(d, door->head), overlaps);
}

/* Finds the next piece to come in; queues note for how much room one waits that does not fit (a write that must not
 * pass a read: the read queue notes that any burst may help), the channel since when a write does. */
static OUT_OF_LINE void look_at_all(const struct dram *d, struct channel *ch)
{
	uint64_t first = NEVER, full = NEVER;
	uint32_t wanted[2] = { NOBODY, NOBODY };
	for (uint32_t ports = ch->ports; ports; ports &= ports - 1) {
		uint32_t port = (uint32_t)__builtin_ctz(ports);
		const struct door *door = &ch->door[port];
		uint32_t write = door->write;
		if (ch->queue[write].used + door->bursts > ch->queue[write].size) {
			wanted[write] = door->bursts < wanted[write] ? door->bursts : wanted[write];
			full = write ? min64(full, door->visible) : full;
		} else if (write && ch->queue[0].used && overtakes(d, ch, door)) {
			wanted[0] = 0;
		} else if (door->visible < first) {
			first = door->visible;
			ch->entry_port = port;
		}
	}
	ch->entry_clk = first;
	ch->queue[0].wanted = wanted[0];
	ch->queue[1].wanted = wanted[1];
	ch->turn_moved |= full != ch->full_clk;
	ch->full_clk = full;
}

/* Only reads of one port wait: the usual case, and the shortest. */
IN_LINE void look_at_reads(struct channel *ch)
{
	uint32_t port = ch->reader;
	const struct door *door = &ch->door[port];
	struct queue *reads = &ch->queue[0];
	bool fits = reads->used + door->bursts <= reads->size;
	ch->entry_clk = fits ? door->visible : NEVER;
	ch->entry_port = port;
	reads->wanted = fits ? NOBODY : door->bursts;
	ch->queue[1].wanted = NOBODY;
	if (ch->full_clk != NEVER) {
		ch->turn_moved = true;
		ch->full_clk = NEVER;
	}
}

IN_LINE void look_at_doors(const struct dram *d, struct channel *ch)
{
	ch->door_moved = false;
	if (ch->reader != NOBODY)
		look_at_reads(ch);
	else
		look_at_all(d, ch);
}

void dram_look_at_doors(const struct dram *d, struct channel *ch)
{
	look_at_doors(d, ch);
}

void dram_enter_all(struct dram *d, struct channel *ch)
{
	const struct queue *reads = &ch->queue[0];
	while (ch->reader != NOBODY) { /* the usual case, without notes that the next one overwrites */
		const struct door *door = &ch->door[ch->reader];
		if (reads->used + door->bursts > reads->size || door->visible > ch->now || ch->now >= d->limit)
			break;
		enter(d, ch, ch->reader, false);
	}
	for (;;) {
		if (ch->door_moved)
			look_at_doors(d, ch);
		if (ch->entry_clk > ch->now || ch->now >= d->limit)
			return;
		if (ch->door[ch->entry_port].write)
			enter_write(d, ch, ch->entry_port);
		else
			enter_read(d, ch, ch->entry_port);
	}
}
