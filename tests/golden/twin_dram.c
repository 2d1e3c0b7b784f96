/* SPDX-License-Identifier: Apache-2.0 */
/* DRAM, tick by tick: in every clock each channel lets bursts in, looks after refresh, and may start one command.
 *
 * Timing rules are JEDEC's: an interval counts from the last clock of one command to the last clock of another. */
#include "tests/golden/twin_parts.h"

#include <stdlib.h>
#include <string.h>

enum { PORTS = 3, NO_ROW = -1, BUSY_KEPT = 4096, PIECE = 8 };
#define LONG_AGO INT64_MIN / 4

/* What a queue holds: a column burst. Up to PIECE neighbours of one channel and row (in each bank group) come into the
 * queue together. */
struct burst {
	uint64_t addr, end;                       /* bytes asked for */
	uint64_t visible, accepted, issued, done; /* issued: its column command */
	int64_t row;
	uint32_t bank, channel;
	uint32_t together;         /* bursts of its piece from this one on */
	uint64_t piece, piece_end; /* bytes of the piece */
	bool write;
};

struct request {
	uint32_t first, bursts;
};

struct list {
	uint32_t *item; /* bursts, oldest first */
	uint64_t n, head;
};

/* First clocks of the last commands. */
struct last {
	int64_t act, act2, pre, preab, rd, wr, refab, refpb;
};

struct bank {
	int64_t row;
	uint32_t passed[2]; /* [write]: bursts since ACT that went before an older one of the bank and direction */
	bool refreshing;    /* refresh is due: no new command */
	struct last last;
};

struct rank {
	struct last last;
	int64_t acts[4];
	uint64_t due;
	bool pending;
	uint32_t turn; /* per bank: of the refresh that is pending */
	bool had[64];  /* turns of this round */
};

struct refresh_span {
	uint64_t from, to; /* `to` TWIN_NEVER: under way */
};

struct channel {
	struct list door[PORTS];
	struct list queue[2]; /* [write] */
	struct bank bank[64];
	struct last group[32];
	struct rank rank[4];
	struct refresh_span refresh[64]; /* the last one of each bank */
	int64_t bus_free[2];             /* command buses */
	int64_t data_end;
	int64_t came; /* clock in which a piece last came in */
	bool drain;
	uint32_t turn;  /* bursts since the direction changed */
	bool leaving;   /* the turn is over but for rows opened for it */
	uint64_t fresh; /* banks opened and not used yet, a bit each */
	int act1_bank;  /* waits for its second ACT, -1: none */
	int64_t act1_row, act1_clk;
	struct {
		int64_t from, to;
	} busy[BUSY_KEPT]; /* data on the bus, a ring */
	uint64_t nbusy;
};

struct twin_dram {
	struct dram_config c;
	uint32_t banks; /* of a channel, all ranks */
	int64_t read_gap, write_gap, burst_clk;
	struct burst *burst;
	uint64_t nbursts;
	struct request *request;
	uint64_t nrequests;
	uint64_t last_data;
	struct channel *channel;
};

static void push(struct list *l, uint32_t item)
{
	l->item = twin_room(l->item, l->n, sizeof *l->item);
	l->item[l->n++] = item;
}

static uint64_t waiting(const struct list *l)
{
	return l->n - l->head;
}

static void take_out(struct list *l, uint64_t at)
{
	memmove(&l->item[at], &l->item[at + 1], (l->n - at - 1) * sizeof *l->item);
	l->n--;
}

static struct last never(void)
{
	return (struct last){ LONG_AGO, LONG_AGO, LONG_AGO, LONG_AGO, LONG_AGO, LONG_AGO, LONG_AGO, LONG_AGO };
}

static bool per_bank(const struct twin_dram *d)
{
	return d->c.refresh == DRAM_REFRESH_PERBANK && d->c.tREFIpb;
}

struct twin_dram *twin_dram_new(const struct dram_config *c)
{
	struct twin_dram *d = twin_alloc(1, sizeof *d);
	d->c = *c;
	d->banks = c->ranks * c->bank_groups * c->banks;
	d->burst_clk = dram_burst_clk(c);
	d->read_gap = (int64_t)c->CL + c->tDQSCK;
	d->write_gap = (int64_t)c->CWL + c->tDQSS;
	d->channel = twin_alloc(c->channels, sizeof *d->channel);
	for (uint32_t i = 0; i < c->channels; i++) {
		struct channel *ch = &d->channel[i];
		ch->act1_bank = -1;
		ch->turn = c->turn;
		ch->data_end = ch->bus_free[0] = ch->bus_free[1] = 0;
		for (uint32_t b = 0; b < 64; b++)
			ch->bank[b] = (struct bank){ .row = NO_ROW, .last = never() };
		for (uint32_t g = 0; g < 32; g++)
			ch->group[g] = never();
		for (uint32_t r = 0; r < 4; r++) {
			ch->rank[r].last = never();
			for (unsigned k = 0; k < 4; k++)
				ch->rank[r].acts[k] = LONG_AGO;
			ch->rank[r].due = c->refresh == DRAM_REFRESH_NONE ? TWIN_NEVER
					  : per_bank(d)                   ? c->tREFIpb
									  : c->tREFI;
		}
	}
	return d;
}

void twin_dram_free(struct twin_dram *d)
{
	for (uint32_t i = 0; i < d->c.channels; i++) {
		for (unsigned p = 0; p < PORTS; p++)
			free(d->channel[i].door[p].item);
		free(d->channel[i].queue[0].item);
		free(d->channel[i].queue[1].item);
	}
	free(d->channel);
	free(d->burst);
	free(d->request);
	free(d);
}

/* ---- requests ---- */

/* The lowest part of *bits: a number below `values`. */
static uint64_t take_low(uint64_t *bits, uint64_t values)
{
	uint64_t low = *bits % values;
	*bits /= values;
	return low;
}

/* What is left of the bits of n, as a polynomial over GF(2), when it is divided by x^6 + x + 1. */
static uint64_t remainder_of(uint64_t n)
{
	for (int bit = 63; bit >= 6; bit--)
		if (n >> bit & 1)
			n ^= (uint64_t)0x43 << (bit - 6);
	return n;
}

static void place(const struct twin_dram *d, struct burst *b)
{
	const struct dram_config *c = &d->c;
	uint64_t granule = dram_burst_bytes(c), block = b->addr / c->channel_interleave;
	uint64_t inside = block / c->channels * c->channel_interleave + b->addr % c->channel_interleave;
	if (c->channels == 1)
		inside = b->addr;
	uint64_t bits = inside / granule, group = 0;
	if (c->mapping == DRAM_RoBaCoBg)
		group = take_low(&bits, c->bank_groups);
	take_low(&bits, c->row_bytes / granule); /* column */
	if (c->mapping == DRAM_RoBaBgCo)
		group = take_low(&bits, c->bank_groups);
	uint64_t bank = take_low(&bits, c->banks), rank = take_low(&bits, c->ranks), row = bits % c->rows;
	if (c->bank_hash) {
		group ^= row % c->bank_groups;
		bank ^= row / c->bank_groups % c->banks;
	}
	uint64_t above = block / c->channels, blocks = dram_capacity(c) / c->channels / c->channel_interleave;
	b->channel = (uint32_t)(block % c->channels);
	if (c->channel_hash)
		b->channel ^= (uint32_t)(remainder_of(above % blocks) % c->channels);
	b->bank = (uint32_t)((rank * c->bank_groups + group) * c->banks + bank);
	b->row = (int64_t)row;
}

static bool are_neighbours(const struct twin_dram *d, const struct burst *a, const struct burst *b)
{
	uint32_t group =
	    d->c.mapping == DRAM_RoBaCoBg ? d->c.banks * d->c.bank_groups : 1; /* any group, the same bank of it */
	bool same = group == 1 ? a->bank == b->bank
			       : a->bank % d->c.banks == b->bank % d->c.banks && a->bank / group == b->bank / group;
	bool block = d->c.channels == 1 || a->addr / d->c.channel_interleave == b->addr / d->c.channel_interleave;
	return same && block && a->row == b->row && a->channel == b->channel;
}

/* Cuts a request's bursts into pieces. */
static void cut(struct twin_dram *d, const struct request *r)
{
	uint32_t most = PIECE;
	while (most > d->c.read_queue || most > d->c.write_queue)
		most /= 2;
	for (uint32_t i = 0, n; i < r->bursts; i += n) {
		struct burst *first = &d->burst[r->first + i];
		for (n = 1; n < most && i + n < r->bursts && are_neighbours(d, first, &first[n]); n++)
			;
		for (uint32_t k = 0; k < n; k++) {
			first[k].together = n - k;
			first[k].piece = first->addr;
			first[k].piece_end = first[n - 1].end;
		}
	}
}

uint32_t twin_dram_send(struct twin_dram *d, uint64_t arrival, unsigned port, uint64_t addr, uint32_t bytes, bool write)
{
	uint64_t granule = dram_burst_bytes(&d->c), end = addr + bytes;
	d->request = twin_room(d->request, d->nrequests, sizeof *d->request);
	struct request *r = &d->request[d->nrequests];
	*r = (struct request){ (uint32_t)d->nbursts, 0 };
	while (addr < end) {
		uint64_t next = (addr / granule + 1) * granule;
		struct burst b = { .addr = addr,
				   .end = next < end ? next : end,
				   .visible = arrival + d->c.front_delay,
				   .accepted = TWIN_NEVER,
				   .issued = TWIN_NEVER,
				   .done = TWIN_NEVER,
				   .write = write };
		if (d->c.ideal) {
			b.done = b.visible = b.accepted = b.issued = arrival;
		} else {
			place(d, &b);
			push(&d->channel[b.channel].door[port], (uint32_t)d->nbursts);
		}
		d->burst = twin_room(d->burst, d->nbursts, sizeof *d->burst);
		d->burst[d->nbursts++] = b;
		r->bursts++;
		addr = next;
	}
	cut(d, r);
	return (uint32_t)d->nrequests++;
}

uint64_t twin_dram_done(const struct twin_dram *d, uint32_t request)
{
	const struct request *r = &d->request[request];
	uint64_t done = 0;
	for (uint32_t i = 0; i < r->bursts; i++) {
		uint64_t clk = d->burst[r->first + i].done;
		done = clk > done ? clk : done;
	}
	return done;
}

bool twin_dram_empty(const struct twin_dram *d)
{
	for (uint32_t i = 0; i < d->c.channels; i++) {
		const struct channel *ch = &d->channel[i];
		for (unsigned p = 0; p < PORTS; p++)
			if (waiting(&ch->door[p]))
				return false;
		if (waiting(&ch->queue[0]) || waiting(&ch->queue[1]))
			return false;
	}
	return true;
}

uint64_t twin_dram_last_data(const struct twin_dram *d)
{
	return d->last_data;
}

/* ---- when a command may start ---- */

static void later(int64_t *at, int64_t clk)
{
	if (clk > *at)
		*at = clk;
}

/* `second` after `first`, both with their lengths on the command bus. */
static void after(int64_t *at, int64_t first, uint32_t first_length, int64_t interval, uint32_t second_length)
{
	if (first != LONG_AGO && interval + first_length - second_length > 0)
		later(at, first + interval + first_length - second_length);
}

static uint32_t group_of(const struct twin_dram *d, uint32_t bank)
{
	return bank / d->c.banks;
}
static uint32_t rank_of(const struct twin_dram *d, uint32_t bank)
{
	return bank / (d->c.banks * d->c.bank_groups);
}

static int64_t act_from(const struct twin_dram *d, const struct channel *ch, uint32_t bank)
{
	const struct dram_config *c = &d->c;
	const struct last *b = &ch->bank[bank].last, *r = &ch->rank[rank_of(d, bank)].last;
	uint32_t a = c->act_clk, p = c->precharge_clk;
	int64_t at = 0;
	after(&at, b->act, a, c->tRC, a);
	after(&at, b->pre, p, c->tRP, a);
	after(&at, ch->group[group_of(d, bank)].act, a, c->tRRD_L, a);
	after(&at, r->act, a, c->tRRD_S, a);
	after(&at, r->preab, p, c->tRPab ? c->tRPab : c->tRP, a);
	after(&at, r->refab, p, c->tRFCab, a);
	after(&at, b->refpb, p, c->tRFCpb, a);
	after(&at, r->refpb, p, c->tREFpbACT ? c->tREFpbACT : c->tRRD_L, a);
	return at;
}

static int64_t pre_from(const struct twin_dram *d, const struct channel *ch, uint32_t bank)
{
	const struct dram_config *c = &d->c;
	const struct last *b = &ch->bank[bank].last, *r = &ch->rank[rank_of(d, bank)].last;
	uint32_t p = c->precharge_clk;
	int64_t at = 0;
	after(&at, b->act2, c->act_clk, c->tRAS, p);
	after(&at, b->rd, c->column_clk, c->tRTP, p);
	after(&at, b->wr, c->column_clk, d->write_gap + d->burst_clk + c->tWR, p);
	after(&at, r->pre, p, c->tPPD, p);
	return at;
}

static int64_t column_from(const struct twin_dram *d, const struct channel *ch, uint32_t bank, bool write)
{
	const struct dram_config *c = &d->c;
	uint32_t rank = rank_of(d, bank), n = c->column_clk;
	const struct last *b = &ch->bank[bank].last, *g = &ch->group[group_of(d, bank)], *r = &ch->rank[rank].last;
	int64_t B = d->burst_clk, read = d->read_gap, wrote = d->write_gap + B, at = 0;
	int64_t bus = c->tCCD_S > B ? c->tCCD_S : B;
	after(&at, b->act2, c->act_clk, write && c->tRCDWR ? c->tRCDWR : c->tRCD, n);
	if (write) {
		after(&at, g->wr, n, c->tCCD_L, n);
		after(&at, r->wr, n, bus, n);
		after(&at, r->rd, n, read + B + c->tRTW - c->CWL, n);
	} else {
		after(&at, g->rd, n, c->tCCD_L, n);
		after(&at, r->rd, n, bus, n);
		after(&at, g->wr, n, wrote + c->tWTR_L, n);
		after(&at, r->wr, n, wrote + c->tWTR_S, n);
	}
	for (uint32_t i = 0; i < c->ranks; i++) {
		const struct last *o = &ch->rank[i].last;
		if (i == rank)
			continue;
		after(&at, write ? o->wr : o->rd, n, B + c->tRTRS, n);
		after(&at, write ? o->rd : o->wr, n, write ? read + B + c->tRTRS - c->CWL : wrote + c->tRTRS - read, n);
	}
	return at;
}

/* ---- doors ---- */

/* A waiting burst in a bank of the piece that begins with `b` whose own piece covers that one, or shares bytes with it.
 */
static bool is_met(const struct twin_dram *d, const struct list *queue, const struct burst *b, bool covers)
{
	for (uint64_t i = queue->head; i < queue->n; i++) {
		const struct burst *w = &d->burst[queue->item[i]];
		for (uint32_t k = 0; k < b->together; k++)
			if (w->channel == b->channel && w->bank == b[k].bank &&
			    (covers ? w->piece <= b->piece && b->piece_end <= w->piece_end
				    : w->piece < b->piece_end && b->piece < w->piece_end))
				return true;
	}
	return false;
}

static bool has_room(const struct twin_dram *d, const struct channel *ch, const struct burst *b)
{
	return waiting(&ch->queue[b->write]) + b->together <= (b->write ? d->c.write_queue : d->c.read_queue);
}

/* A write must not overtake a read of the same bytes. */
static bool may_pass(const struct twin_dram *d, const struct channel *ch, const struct burst *b)
{
	return !b->write || !is_met(d, &ch->queue[0], b, false);
}

/* Of the pieces that have room the one that has waited longest; then the lowest port. */
static struct list *next_door(const struct twin_dram *d, struct channel *ch, int64_t t)
{
	struct list *best = NULL;
	for (unsigned p = 0; p < PORTS; p++) {
		struct list *door = &ch->door[p];
		if (!waiting(door))
			continue;
		const struct burst *b = &d->burst[door->item[door->head]];
		if ((int64_t)b->visible > t || !has_room(d, ch, b) || !may_pass(d, ch, b))
			continue;
		if (!best || b->visible < d->burst[best->item[best->head]].visible)
			best = door;
	}
	return best;
}

static void let_in_piece(struct twin_dram *d, struct channel *ch, struct list *door, int64_t t)
{
	struct burst *first = &d->burst[door->item[door->head]];
	ch->came = t;
	bool answered = !first->write && is_met(d, &ch->queue[1], first, true); /* from the write queue */
	for (uint32_t k = 0; k < first->together; k++) {
		struct burst *b = &first[k];
		b->accepted = (uint64_t)t;
		if (answered)
			b->issued = (uint64_t)t;
		if (answered || b->write)
			b->done = (uint64_t)t + (answered ? d->c.back_delay : 0);
		if (!answered)
			push(&ch->queue[b->write], door->item[door->head]);
		door->head++;
	}
	if (door->head == door->n)
		door->head = door->n = 0;
}

static void let_in(struct twin_dram *d, struct channel *ch, int64_t t)
{
	struct list *door;
	while ((door = next_door(d, ch, t)) != NULL)
		let_in_piece(d, ch, door, t);
}

/* A write has come to a queue that has no room for it. */
static bool is_full(const struct twin_dram *d, const struct channel *ch, int64_t t)
{
	for (unsigned p = 0; p < PORTS; p++) {
		const struct list *door = &ch->door[p];
		const struct burst *b = waiting(door) ? &d->burst[door->item[door->head]] : NULL;
		if (b && b->write && (int64_t)b->visible <= t && !has_room(d, ch, b))
			return true;
	}
	return false;
}

/* ---- refresh ---- */

static uint64_t refresh_banks(const struct twin_dram *d, const struct channel *ch, uint32_t rank, uint32_t *list)
{
	uint32_t banks = d->banks / d->c.ranks, turns = banks / d->c.refresh_banks, n = 0;
	if (!per_bank(d)) {
		for (uint32_t b = 0; b < banks; b++)
			list[n++] = rank * banks + b;
		return n;
	}
	for (uint32_t i = 0; i < d->c.refresh_banks; i++)
		list[n++] = rank * banks + ch->rank[rank].turn + i * turns;
	return n;
}

static bool somebody_waits_for(const struct twin_dram *d, const struct channel *ch, uint32_t bank)
{
	for (unsigned write = 0; write < 2; write++)
		for (uint64_t i = ch->queue[write].head; i < ch->queue[write].n; i++)
			if (d->burst[ch->queue[write].item[i]].bank == bank)
				return true;
	return false;
}

/* Whose turn it is: the first that has not had one in this round, or the first such whose banks nobody waits for. */
static void choose_turn_of(const struct twin_dram *d, struct channel *ch, uint32_t r)
{
	uint32_t banks = d->banks / d->c.ranks, turns = banks / d->c.refresh_banks, first = turns;
	struct rank *rank = &ch->rank[r];
	for (uint32_t k = 0; k < turns; k++) {
		bool busy = false;
		for (uint32_t b = k; b < banks; b += turns)
			busy |= d->c.refresh_order == DRAM_REFRESH_IDLE && somebody_waits_for(d, ch, r * banks + b);
		if (rank->had[k])
			continue;
		if (first == turns)
			first = k;
		if (!busy) {
			first = k;
			break;
		}
	}
	rank->turn = first;
	rank->had[first] = true;
	uint32_t had = 0;
	for (uint32_t k = 0; k < turns; k++)
		had += rank->had[k];
	if (had == turns)
		memset(rank->had, 0, sizeof rank->had);
}

static void refresh_due(struct twin_dram *d, struct channel *ch, int64_t t)
{
	for (uint32_t r = 0; r < d->c.ranks; r++) {
		uint32_t list[64];
		if (ch->rank[r].pending || ch->rank[r].due > (uint64_t)t)
			continue;
		ch->rank[r].pending = true;
		if (per_bank(d))
			choose_turn_of(d, ch, r);
		uint64_t n = refresh_banks(d, ch, r, list);
		for (uint64_t i = 0; i < n; i++) {
			ch->bank[list[i]].refreshing = true;
			ch->refresh[list[i]] = (struct refresh_span){ (uint64_t)t, TWIN_NEVER };
		}
	}
}

static void close_bank(struct channel *ch, uint32_t bank)
{
	ch->bank[bank].row = NO_ROW;
	ch->fresh &= ~((uint64_t)1 << bank);
}

static void refresh_now(struct twin_dram *d, struct channel *ch, uint32_t r, const uint32_t *list, uint64_t n,
			int64_t t)
{
	struct rank *rank = &ch->rank[r];
	for (uint64_t i = 0; i < n; i++) {
		ch->bank[list[i]].refreshing = false;
		ch->refresh[list[i]].to = (uint64_t)t + (per_bank(d) ? d->c.tRFCpb : d->c.tRFCab);
		if (per_bank(d))
			ch->bank[list[i]].last.refpb = t;
	}
	*(per_bank(d) ? &rank->last.refpb : &rank->last.refab) = t;
	rank->due += per_bank(d) ? d->c.tREFIpb : d->c.tREFI;
	rank->pending = false;
}

/* The next step of the refresh of a rank, if it can start at t: precharge what is open, then REF. */
static bool refresh_step(struct twin_dram *d, struct channel *ch, uint32_t r, int64_t t)
{
	uint32_t list[64];
	uint64_t n = refresh_banks(d, ch, r, list), open = 0;
	int64_t pre = 0, ref = 0;
	for (uint64_t i = 0; i < n; i++)
		if ((int)list[i] == ch->act1_bank)
			return false; /* its ACT-2 first */
	for (uint64_t i = 0; i < n; i++) {
		later(&ref, act_from(d, ch, list[i]) + d->c.act_clk - d->c.precharge_clk);
		if (ch->bank[list[i]].row == NO_ROW)
			continue;
		open++;
		later(&pre, pre_from(d, ch, list[i]));
		if (per_bank(d) && pre <= t) {
			close_bank(ch, list[i]);
			ch->bank[list[i]].last.pre = ch->rank[r].last.pre = t;
			return true;
		}
	}
	if (open && (per_bank(d) || pre > t))
		return false;
	if (open) {
		for (uint64_t i = 0; i < n; i++)
			close_bank(ch, list[i]);
		ch->rank[r].last.preab = t;
		return true;
	}
	if (per_bank(d))
		after(&ref, ch->rank[r].last.refpb, 0, d->c.tREFpbREFpb ? d->c.tREFpbREFpb : d->c.tRFCpb, 0);
	if (ref > t)
		return false;
	refresh_now(d, ch, r, list, n, t);
	return true;
}

/* ---- the scheduler ---- */

/* A write that has waited too long; its bank is served in order until it has gone. */
static const struct burst *overdue(const struct twin_dram *d, const struct channel *ch, int64_t t)
{
	const struct list *writes = &ch->queue[1];
	const struct burst *b = waiting(writes) ? &d->burst[writes->item[writes->head]] : NULL;
	return b && (uint64_t)t >= b->accepted + d->c.write_wait ? b : NULL;
}

/* Is there an older burst for the same bank in front of that at place `at` of the queue? */
static bool is_first_of_its_bank(const struct twin_dram *d, const struct list *q, uint64_t at)
{
	for (uint64_t i = q->head; i < at; i++)
		if (d->burst[q->item[i]].bank == d->burst[q->item[at]].bank)
			return false;
	return true;
}

/* Its row is open, and stays so for it: not once enough younger bursts have gone before an older one of the bank. */
static bool hits(const struct twin_dram *d, const struct channel *ch, unsigned write, uint64_t at, int64_t t)
{
	const struct burst *b = &d->burst[ch->queue[write].item[at]];
	const struct bank *bank = &ch->bank[b->bank];
	if (bank->row != b->row)
		return false;
	const struct burst *late = write ? overdue(d, ch, t) : NULL;
	bool yields = (d->c.hit_cap && bank->passed[write] >= d->c.hit_cap) || (late && late->bank == b->bank);
	return !yields || is_first_of_its_bank(d, &ch->queue[write], at);
}

static bool may_be_used(const struct channel *ch, uint32_t bank)
{
	return !ch->bank[bank].refreshing && ch->act1_bank != (int)bank;
}

/* Whose turn it ought to be. */
static bool wants_drain(const struct twin_dram *d, const struct channel *ch, int64_t t)
{
	uint64_t writes = waiting(&ch->queue[1]), reads = waiting(&ch->queue[0]);
	uint32_t mark = d->c.write_queue * (ch->drain ? d->c.drain_low : d->c.drain_high) / 100;
	bool many = writes > mark || is_full(d, ch, t);
	if (!writes || !reads)
		return writes;
	if (overdue(d, ch, t))
		return true;
	return many && (ch->drain ? ch->turn < d->c.turn : ch->turn >= d->c.turn);
}

/* Banks opened for the turn that ought to be over and not used yet, a bit each. */
static uint64_t unused_rows(const struct twin_dram *d, const struct channel *ch, int64_t t)
{
	const struct list *q = &ch->queue[ch->drain];
	uint64_t rows = 0;
	for (uint64_t i = q->head; i < q->n; i++)
		if (hits(d, ch, ch->drain, i, t))
			rows |= (uint64_t)1 << d->burst[q->item[i]].bank;
	return rows & ch->fresh;
}

/* Reads go first until writes pass the high mark or find no room, no read waits or a write is overdue; then writes,
 * down to the low mark, `turn` of them at most; if that cut them short reads have as many. Rows opened for the turn
 * that is over are used first. */
static void choose_turn(const struct twin_dram *d, struct channel *ch, int64_t t)
{
	bool drain = wants_drain(d, ch, t);
	ch->leaving = false;
	if (drain == ch->drain)
		return;
	uint64_t unused = unused_rows(d, ch, t);
	for (uint32_t bank = 0; bank < d->banks; bank++)
		ch->leaving |= unused >> bank & 1 && may_be_used(ch, bank);
	if (ch->leaving)
		return;
	bool cut = waiting(&ch->queue[1]) && ch->turn >= d->c.turn;
	ch->turn = drain || cut ? 0 : d->c.turn;
	ch->drain = drain;
}

static void column(struct twin_dram *d, struct channel *ch, uint64_t at, int64_t t)
{
	bool write = ch->drain;
	struct burst *b = &d->burst[ch->queue[write].item[at]];
	struct last *last[] = { &ch->bank[b->bank].last, &ch->group[group_of(d, b->bank)],
				&ch->rank[rank_of(d, b->bank)].last };
	for (unsigned i = 0; i < 3; i++)
		*(write ? &last[i]->wr : &last[i]->rd) = t;
	int64_t from = t + d->c.column_clk - 1 + (write ? d->write_gap : d->read_gap);
	ch->data_end = from + d->burst_clk;
	ch->busy[ch->nbusy % BUSY_KEPT].from = from;
	ch->busy[ch->nbusy++ % BUSY_KEPT].to = ch->data_end;
	if ((uint64_t)ch->data_end > d->last_data)
		d->last_data = (uint64_t)ch->data_end;
	if (!write)
		b->done = (uint64_t)ch->data_end + d->c.back_delay;
	b->issued = (uint64_t)t;
	ch->turn++;
	ch->bank[b->bank].passed[write] += !is_first_of_its_bank(d, &ch->queue[write], at);
	ch->fresh &= ~((uint64_t)1 << b->bank);
	ch->bus_free[0] = t + d->c.column_clk;
	take_out(&ch->queue[write], at);
}

static void opened(struct channel *ch, uint32_t bank, int64_t row)
{
	ch->bank[bank].row = row;
	ch->bank[bank].passed[0] = ch->bank[bank].passed[1] = 0;
	ch->fresh |= (uint64_t)1 << bank;
}

static bool second_act(struct twin_dram *d, struct channel *ch, int64_t t)
{
	int64_t *free = &ch->bus_free[d->c.row_command_bus];
	if (ch->act1_bank < 0 || t < ch->act1_clk + d->c.act_clk || *free > t)
		return false;
	ch->bank[ch->act1_bank].last.act2 = t;
	opened(ch, (uint32_t)ch->act1_bank, ch->act1_row);
	ch->act1_bank = -1;
	*free = t + d->c.act_clk;
	return true;
}

static void act(struct twin_dram *d, struct channel *ch, const struct burst *b, int64_t t)
{
	struct rank *rank = &ch->rank[rank_of(d, b->bank)];
	ch->bank[b->bank].last.act = ch->group[group_of(d, b->bank)].act = rank->last.act = t;
	memmove(rank->acts, rank->acts + 1, sizeof rank->acts - sizeof *rank->acts);
	rank->acts[3] = t;
	if (!d->c.tAAD) {
		ch->bank[b->bank].last.act2 = t;
		opened(ch, b->bank, b->row);
		return;
	}
	ch->act1_bank = (int)b->bank;
	ch->act1_row = b->row;
	ch->act1_clk = t;
}

/* A command that could be next: the burst it is for, its first clock, and that in which it has left the bus. */
struct choice {
	const struct burst *burst;
	uint64_t at; /* place in the queue */
	int64_t start, leaves;
};

static int64_t max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* The one that can start first; of equal ones the oldest, which is looked at first. */
static void prefer(struct choice *best, const struct burst *b, uint64_t at, int64_t start, uint32_t length)
{
	if (!best->burst || start < best->start)
		*best = (struct choice){ b, at, start, start + length };
}

/* A row hit of this turn, chosen as soon as all of them are there and a command has left. LPDDR5: a data clock that has
 * stopped is started again for it by a CAS, tCAS before the column command. */
static struct choice next_column(const struct twin_dram *d, const struct channel *ch, int64_t t)
{
	const struct list *q = &ch->queue[ch->drain];
	struct choice best = { 0 };
	int64_t since = max(ch->bus_free[0], ch->came);
	for (uint64_t i = q->head; i < q->n; i++) {
		const struct burst *b = &d->burst[q->item[i]];
		if (hits(d, ch, ch->drain, i, t) && may_be_used(ch, b->bank))
			prefer(&best, b, i, max(since, column_from(d, ch, b->bank, ch->drain)), d->c.column_clk);
	}
	if (d->c.tCAS && best.burst && max(t, best.start) > ch->data_end)
		best.start = max(best.start, max((int64_t)best.burst->accepted, ch->bus_free[0]) + d->c.tCAS);
	best.start = max(best.start, t);
	best.leaves = best.start + d->c.column_clk;
	return best;
}

/* The oldest burst of each bank decides: ACT when it is closed, PRE when no waiting burst of this turn hits. Of the two
 * the one that leaves the bus first. */
static struct choice next_row(const struct twin_dram *d, const struct channel *ch, int64_t t)
{
	bool turn = ch->drain != ch->leaving;
	const struct list *q = &ch->queue[turn];
	uint64_t used = 0, seen = 0, kept = ch->leaving ? unused_rows(d, ch, t) : 0;
	struct choice act = { 0 }, pre = { 0 };
	int64_t free = max(t, ch->bus_free[d->c.row_command_bus]);
	for (uint64_t i = q->head; i < q->n; i++)
		if (hits(d, ch, turn, i, t))
			used |= (uint64_t)1 << d->burst[q->item[i]].bank;
	for (uint64_t i = q->head; i < q->n; i++) {
		const struct burst *b = &d->burst[q->item[i]];
		int64_t faw = ch->rank[rank_of(d, b->bank)].acts[0] + (int64_t)d->c.tFAW;
		uint64_t bit = (uint64_t)1 << b->bank;
		if (seen & bit)
			continue;
		seen |= bit;
		if (!may_be_used(ch, b->bank) || kept & bit)
			continue;
		if (ch->bank[b->bank].row != NO_ROW && !(used & bit))
			prefer(&pre, b, i, max(free, pre_from(d, ch, b->bank)), d->c.precharge_clk);
		else if (ch->bank[b->bank].row == NO_ROW && ch->act1_bank < 0)
			prefer(&act, b, i, max(free, max(faw, act_from(d, ch, b->bank))), d->c.act_clk);
	}
	return act.burst && (!pre.burst || act.leaves <= pre.leaves) ? act : pre;
}

/* ACT or PRE of the bank of `b`. */
static void row(struct twin_dram *d, struct channel *ch, const struct burst *b, int64_t t)
{
	if (ch->bank[b->bank].row == NO_ROW) {
		act(d, ch, b, t);
		ch->bus_free[d->c.row_command_bus] = t + d->c.act_clk;
		return;
	}
	close_bank(ch, b->bank);
	ch->bank[b->bank].last.pre = ch->rank[rank_of(d, b->bank)].last.pre = t;
	ch->bus_free[d->c.row_command_bus] = t + d->c.precharge_clk;
}

static bool try_refresh(struct twin_dram *d, struct channel *ch, int64_t t)
{
	for (uint32_t r = 0; r < d->c.ranks; r++)
		if (ch->rank[r].pending && refresh_step(d, ch, r, t)) {
			ch->bus_free[d->c.row_command_bus] = t + d->c.precharge_clk;
			return true;
		}
	return false;
}

/* The next command, if it can start at t: what leaves its bus first; of equals refresh, column, row. */
static bool command(struct twin_dram *d, struct channel *ch, int64_t t)
{
	unsigned rows = d->c.row_command_bus;
	refresh_due(d, ch, t);
	choose_turn(d, ch, t);
	if (ch->bus_free[rows] <= t && try_refresh(d, ch, t))
		return true;
	if (!waiting(&ch->queue[0]) && !waiting(&ch->queue[1]) && ch->act1_bank < 0)
		return false;
	struct choice hit = next_column(d, ch, t), other = next_row(d, ch, t);
	bool last = hit.burst && hit.leaves > ch->act1_clk + (int64_t)d->c.tAAD;
	if (!rows && hit.burst && other.burst)
		*(hit.leaves <= other.leaves ? &other : &hit) = (struct choice){ 0 };
	/* ACT-2 takes a clock that no column command wants, or the last one. */
	if ((!hit.burst || hit.start > t || last) && second_act(d, ch, t))
		return true;
	if (hit.burst && hit.start == t)
		column(d, ch, hit.at, t);
	else if (other.burst && other.start == t)
		row(d, ch, other.burst, t);
	else
		return false;
	return true;
}

/* A column command makes room, and may have been the last of its turn; another bus may have a command, too. */
static void tick(struct twin_dram *d, struct channel *ch, int64_t t)
{
	do
		let_in(d, ch, t);
	while (command(d, ch, t));
}

void twin_dram_tick(struct twin_dram *d, uint64_t clk)
{
	for (uint32_t i = 0; !d->c.ideal && i < d->c.channels; i++)
		tick(d, &d->channel[i], (int64_t)clk);
}

/* ---- why ---- */

static bool carries(const struct channel *ch, int64_t t)
{
	for (uint64_t i = 1; i <= ch->nbusy && i <= BUSY_KEPT; i++) {
		uint64_t at = (ch->nbusy - i) % BUSY_KEPT;
		if (ch->busy[at].to <= t)
			return false;
		if (ch->busy[at].from <= t)
			return true;
	}
	return false;
}

static bool refreshes(const struct channel *ch, uint32_t bank, uint64_t clk)
{
	const struct refresh_span *r = &ch->refresh[bank];
	return r->to && r->from <= clk && clk < r->to;
}

/* The oldest piece that is not finished answers for the request. */
enum npu_state twin_dram_why(const struct twin_dram *d, uint32_t request, uint64_t clk)
{
	const struct request *r = &d->request[request];
	uint32_t i = 0;
	while (i + 1 < r->bursts && d->burst[r->first + i].done <= clk)
		i++;
	const struct burst *b = &d->burst[r->first + i];
	const struct channel *ch = &d->channel[b->channel];
	if (d->c.ideal)
		return NPU_STATE_DRAM_LATENCY;
	bool here = clk >= b->visible && clk < b->done;
	for (uint32_t k = 0; here && k < b->together; k++)
		if ((b->write ? b[k].accepted : b[k].issued) > clk && refreshes(ch, b[k].bank, clk))
			return NPU_STATE_DRAM_REFRESH;
	/* Its address says which channel, also while it crosses clocks. */
	if (carries(ch, (int64_t)clk) || (here && clk < b->accepted))
		return NPU_STATE_DRAM_BANDWIDTH;
	return NPU_STATE_DRAM_LATENCY;
}
