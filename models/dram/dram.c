/* SPDX-License-Identifier: Apache-2.0 */
/* The door of the DRAM core: requests in, pieces to channels, completions out, channels in step. Timing is elsewhere.
 */
#include <stdlib.h>
#include <string.h>

#include "models/dram/map.h"

enum { FIRST_RING = 1024 };

static bool grow_requests(struct dram *d)
{
	uint32_t old = d->request_mask + 1, n = d->request ? old * 2 : FIRST_RING;
	struct request *ring = calloc(n, sizeof *ring);
	if (!ring)
		return false;
	for (uint32_t i = 0; i < n; i++)
		ring[i].id = NO_REQUEST;
	for (uint32_t i = 0, id = d->next_request - old; d->request && i < old; i++, id++)
		ring[id & (n - 1)] = *request_of(d, id);
	free(d->request);
	d->request = ring;
	d->request_mask = n - 1;
	return true;
}

static bool grow_pieces(struct dram *d)
{
	uint32_t old = d->piece_mask + 1, n = d->piece ? old * 2 : FIRST_RING;
	struct piece *ring = calloc(n, sizeof *ring);
	if (!ring)
		return false;
	for (uint32_t i = 0; i < n; i++)
		ring[i].request = NO_REQUEST;
	for (uint32_t i = 0, id = d->next_piece - old; d->piece && i < old; i++, id++)
		ring[id & (n - 1)] = *piece_of(d, id);
	free(d->piece);
	d->piece = ring;
	d->piece_mask = n - 1;
	return true;
}

static void init_queue(struct queue *q, bool write, uint32_t size)
{
	q->op[COLUMN] = column_op(write);
	q->op[ACTIVATE] = DRAM_ACT;
	q->op[PRECHARGE] = DRAM_PRE;
	q->size = size;
	q->oldest = q->youngest = NO_PIECE;
	for (uint32_t kind = 0; kind < KINDS; kind++)
		q->next[kind].clk = NEVER;
	for (uint32_t b = 0; b < MAX_BANKS; b++)
		q->head[b] = q->tail[b] = q->first_hit[b] = NO_ENTRY;
}

static bool init_channel(struct dram *d, struct channel *ch, uint32_t index)
{
	uint32_t slots = d->config.read_queue + d->config.write_queue;
	ch->entry = calloc(slots, sizeof *ch->entry);
	if (!ch->entry)
		return false;
	for (uint32_t i = 0; i < slots; i++)
		ch->entry[i].next = (uint16_t)(i + 1 < slots ? i + 1 : NO_ENTRY);
	init_queue(&ch->queue[0], false, d->config.read_queue);
	init_queue(&ch->queue[1], true, d->config.write_queue);
	for (uint32_t b = 0; b < d->plan.banks; b++)
		ch->bank[b].row = NO_ROW;
	ch->index = (uint8_t)index;
	ch->due = ch->write_due = ch->full_clk = NEVER;
	ch->turn = d->config.turn;
	ch->reader = NOBODY;
	ch->act1_bank = ch->forced = NO_BANK;
	ch->door_moved = true;
	dram_refresh_init(d, ch);
	return true;
}

struct dram *dram_new(const struct dram_config *config, const struct dram_hooks *hooks)
{
	if (dram_config_check(config, NULL))
		return NULL;
	struct dram *d = calloc(1, sizeof *d);
	if (!d)
		return NULL;
	d->config = *config;
	d->config.refresh = config->ideal ? DRAM_REFRESH_NONE : dram_refresh_of(config); /* no banks, no turns of them */
	d->hooks = *hooks;
	d->watched = config->ranks > 1 || hooks->command;
	dram_plan(&d->plan, config);
	memset(d->bucket, 0xff, sizeof d->bucket);
	size_t bytes = config->channels * sizeof *d->channel;
	d->channel = aligned_alloc(_Alignof(struct channel), bytes);
	bool ok = d->channel && grow_requests(d) && grow_pieces(d);
	d->full_request = d->full_piece = FIRST_RING;
	if (d->channel)
		memset(d->channel, 0, bytes);
	for (uint32_t i = 0; i < DRAM_CHANNELS; i++)
		d->told[i] = NEVER;
	for (uint32_t i = 0; ok && i < config->channels; i++)
		ok = init_channel(d, &d->channel[i], i);
	if (ok)
		return d;
	dram_free(d);
	return NULL;
}

void dram_free(struct dram *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; d->channel && i < d->config.channels; i++)
		free(d->channel[i].entry);
	free(d->channel);
	free(d->request);
	free(d->piece);
	free(d);
}

static uint64_t plus(uint64_t a, uint64_t b)
{
	return a >= NEVER || b >= NEVER - a ? NEVER : a + b;
}

/* Requests that the controller has done with make room in the rings; the oldest other bounds both. */
static void retire(struct dram *d)
{
	while (d->oldest_request != d->next_request && request_of(d, d->oldest_request)->held == 0)
		d->oldest_request++;
	bool none = d->oldest_request == d->next_request;
	d->full_request = d->oldest_request + d->request_mask + 1;
	d->full_piece = (none ? d->next_piece : request_of(d, d->oldest_request)->first_piece) + d->piece_mask + 1;
}

static struct request *new_request(struct dram *d, uint64_t arrival, const struct dram_request *r)
{
	if (d->next_request == d->full_request) {
		retire(d);
		if (d->next_request == d->full_request && !grow_requests(d))
			abort();
		retire(d);
	}
	uint32_t id = d->next_request++, *bucket = &d->bucket[r->port][r->tag % TAG_BUCKETS];
	struct request *q = request_of(d, id);
	q->id = id;
	q->arrival = arrival;
	q->done = 0;
	q->tag = r->tag;
	q->older = *bucket;
	q->first_piece = d->next_piece;
	q->pieces = 0;
	q->held = 1;
	q->port = r->port;
	q->write = r->write;
	*bucket = id;
	return q;
}

static struct piece *new_piece(struct dram *d)
{
	if (d->next_piece == d->full_piece) {
		retire(d);
		if (d->next_piece == d->full_piece && !grow_pieces(d))
			abort();
		retire(d);
	}
	return piece_of(d, d->next_piece++);
}

/* The earliest completion that a channel's next decisions can bring: nobody comes in before the end of a train that was
 * put off, and no read is complete before its last burst. */
static uint64_t told_by(const struct dram *d, const struct channel *ch)
{
	uint64_t next = max64(ch->due, ch->held);
	return tells_at_once(ch) ? next : plus(next, d->plan.read_clk);
}

/* Bytes of [addr, addr + nbytes) in the first `bursts` bursts that they touch. */
static uint32_t bytes_within(const struct plan *p, uint64_t addr, uint32_t nbytes, uint32_t bursts)
{
	uint32_t most = bursts * p->burst_bytes - (uint32_t)(addr & (p->burst_bytes - 1));
	return nbytes < most ? nbytes : most;
}

IN_LINE void to_door(struct dram *d, struct channel *ch, uint32_t port, uint32_t id, const struct piece *p, bool write)
{
	struct door *door = &ch->door[port];
	ch->writes_outside += write;
	row_set_add(write ? &ch->writes : &ch->reads_outside, p->row_key);
	if (ch->ports >> port & 1) {
		piece_of(d, door->tail)->next = id;
	} else {
		dram_show(ch, port, id, p);
		ch->ports |= 1u << port;
		dram_find_reader(ch);
		ch->door_moved = true;
	}
	door->tail = id;
}

/* A piece comes in at clk at the earliest. */
static inline void comes(struct dram *d, struct channel *ch, uint64_t clk)
{
	uint64_t next = max64(ch->due, ch->held);
	if (clk < next || tells_at_once(ch)) {
		ch->held = min64(next, clk);
		ch->due = min64(ch->due, clk);
		d->told[ch->index] = told_by(d, ch);
	}
}

IN_LINE uint32_t push_piece(struct dram *d, uint64_t visible, const struct dram_request *r, uint64_t addr,
			    uint32_t nbytes)
{
	uint32_t id = d->next_piece, port = r->port;
	bool write = r->write;
	struct piece *p = new_piece(d);
	p->addr = addr;
	p->visible = visible;
	p->accepted = p->done = NEVER;
	p->request = d->next_request - 1;
	p->next = NO_PIECE;
	p->write = write;
	uint32_t bursts = dram_place(d, p, addr, nbytes), bytes = bytes_within(&d->plan, addr, nbytes, bursts);
	p->left = (uint8_t)bursts;
	p->nbytes = (uint16_t)bytes;
	struct channel *ch = &d->channel[p->channel];
	to_door(d, ch, port, id, p, write);
	comes(d, ch, max64(visible, ch->now));
	return bytes;
}

void dram_push(struct dram *d, uint64_t arrival, const struct dram_request *r)
{
	struct request *q = new_request(d, arrival, r);
	*(r->write ? &d->stats.write_bytes : &d->stats.read_bytes) += r->nbytes;
	if (d->config.ideal) {
		uint64_t granule = dram_burst_bytes(&d->config);
		uint64_t bursts = (r->addr % granule + r->nbytes + granule - 1) / granule;
		d->ideal_bursts += bursts;
		/* One bus without end; what crosses it takes no time. */
		if (d->hooks.transfer)
			d->hooks.transfer(d->hooks.ctx, 0, arrival, arrival, (uint32_t)(bursts * granule), r->write);
		return;
	}
	uint64_t visible = arrival + d->config.front_delay;
	uint64_t addr = r->addr;
	uint16_t pieces = 0;
	for (uint32_t left = r->nbytes, n; left; left -= n, addr += n, pieces++)
		n = push_piece(d, visible, r, addr, left);
	q->pieces = q->left = q->held = pieces;
}

/* Tells the owner; what may arrive because of it bounds the decisions of this dram_run(). */
void dram_request_done(struct dram *d, struct request *q, uint64_t clk)
{
	if (q->write) {
		d->stats.writes++;
	} else {
		d->stats.reads++;
		d->stats.read_latency_sum += clk - q->arrival;
		d->stats.read_latency_max = max64(d->stats.read_latency_max, clk - q->arrival);
	}
	if (d->reaction_clk < NEVER)
		d->limit = min64(d->limit, clk + d->reaction_clk);
	d->hooks.done(d->hooks.ctx, q->port, q->tag, clk);
}

/* The ideal part: completion is arrival. */
static uint64_t run_ideal(struct dram *d)
{
	uint64_t due = NEVER;
	retire(d);
	for (uint32_t id = d->oldest_request; id != d->next_request; id++) {
		struct request *q = request_of(d, id);
		if (q->held && q->arrival < d->limit) {
			q->held = 0;
			dram_request_done(d, q, q->arrival);
		} else if (q->held) {
			due = min64(due, q->arrival);
		}
	}
	return due;
}

struct turn {
	uint32_t channel;
	uint64_t told, others; /* the earliest completions of it and of any other */
};

static struct turn whose_turn(const struct dram *d)
{
	struct turn t = { 0, NEVER, NEVER };
	for (uint32_t i = 0; i < d->config.channels; i++) {
		uint64_t told = d->told[i];
		if (told < t.told)
			t = (struct turn){ i, told, t.told };
		else
			t.others = min64(t.others, told);
	}
	return t;
}

static void run_channel(struct dram *d, uint32_t channel, uint64_t stop)
{
	struct channel *ch = &d->channel[channel];
	dram_channel_run(d, ch, stop);
	d->told[channel] = told_by(d, ch);
}

/* Channels meet only in completions: each runs up to what may react to one of another. A channel that cannot tell
 * anything before the limit is left alone: later it decides more at a time. */
static uint64_t run_channels(struct dram *d)
{
	if (d->reaction_clk >= NEVER)
		for (uint32_t i = 0; i < d->config.channels; i++)
			if (d->channel[i].due < d->limit)
				run_channel(d, i, NEVER);
	for (;;) {
		struct turn t = whose_turn(d);
		if (t.told >= d->limit)
			return t.told;
		const struct channel *ch = &d->channel[t.channel];
		run_channel(d, t.channel, max64(plus(t.others, d->reaction_clk), max64(ch->due, ch->held) + 1));
	}
}

void dram_catch_up(struct dram *d, struct channel *ch, uint64_t clk)
{
	if (ch->due >= min64(clk, d->decided))
		return;
	d->limit = d->decided;
	d->all_data = true;
	run_channel(d, ch->index, NEVER);
	d->all_data = false;
}

static uint64_t run_until(struct dram *d, uint64_t horizon, uint64_t reaction)
{
	d->reaction_clk = reaction;
	d->limit = horizon;
	if (d->config.ideal)
		return run_ideal(d);
	uint64_t told = run_channels(d);
	d->decided = max64(d->decided, d->limit);
	return told;
}

/* A request takes front_delay to the queue, so decisions may run that far ahead of what can arrive. */
uint64_t dram_run(struct dram *d, uint64_t horizon)
{
	uint64_t front = d->config.ideal ? 0 : d->config.front_delay;
	uint64_t due = run_until(d, plus(horizon, front), plus(d->hooks.reaction_clk, front));
	return due >= NEVER ? UINT64_MAX : due > front ? due - front : 0;
}

uint64_t dram_drain(struct dram *d)
{
	uint64_t end = 0;
	run_until(d, NEVER, NEVER);
	for (uint32_t i = 0; !d->config.ideal && i < d->config.channels; i++)
		end = max64(end, d->channel[i].data_end);
	return end;
}

void dram_stats(const struct dram *d, struct dram_stats *stats)
{
	*stats = d->stats;
	stats->row_misses = d->outcomes[ROW_MISS];
	stats->row_conflicts = d->outcomes[ROW_CONFLICT];
	for (uint32_t i = 0; i < d->config.channels; i++) {
		stats->bursts += d->channel[i].bursts;
		stats->last_data_clk = max64(stats->last_data_clk, d->channel[i].data_end);
	}
	stats->bus_busy_clk = stats->bursts * d->plan.burst_clk;
	stats->bursts += d->ideal_bursts;
	stats->row_hits = stats->bursts - stats->row_misses - stats->row_conflicts;
	stats->bus_bytes = stats->bursts * dram_burst_bytes(&d->config);
}

uint64_t dram_channel_busy_clk(const struct dram *d, uint32_t channel)
{
	return d->channel[channel].bursts * d->plan.burst_clk;
}
