/* SPDX-License-Identifier: Apache-2.0 */
/* Why a span of a request's life passed, read off the records that the other files keep. Decides nothing. */
#include <stddef.h>

#include "models/dram/core.h"

/* Emits maximal runs. */
struct runs {
	void (*emit)(void *, enum dram_wait, uint64_t, uint64_t);
	void *ctx;
	enum dram_wait wait;
	uint64_t from, to;
};

static void flush(struct runs *r)
{
	if (r->from < r->to)
		r->emit(r->ctx, r->wait, r->from, r->to);
}

static void add(struct runs *r, enum dram_wait wait, uint64_t to)
{
	if (wait != r->wait) {
		flush(r);
		r->from = r->to;
		r->wait = wait;
	}
	r->to = to;
}

/* One state and until when it surely lasts. */
struct state {
	bool on;
	uint64_t until;
};

/* The banks of the piece's bursts that wait in the controller at clk, and until when they are these. */
static bank_set banks_open(const struct dram *d, const struct piece *p, uint64_t clk, uint64_t *until)
{
	bank_set banks = 0;
	*until = clk < p->visible ? p->visible : p->done > clk ? p->done : NEVER;
	if (clk < p->visible || p->done <= clk)
		return 0;
	struct lanes lanes = dram_lanes(d, p);
	for (uint32_t i = 0; i < p->lanes; i++) {
		bool to_come = p->accepted >= NEVER || p->lane_gone[i] == UINT32_MAX;
		uint64_t gone = to_come ? NEVER : p->accepted + p->lane_gone[i];
		if (gone <= clk)
			continue;
		*until = min64(*until, gone);
		banks |= bit(dram_lane(&lanes, i).bank);
	}
	return banks;
}

/* Is one of the banks refreshing or waiting to at clk? */
static struct state refreshing(const struct dram *d, const struct channel *ch, bank_set banks, uint64_t clk)
{
	struct state s = { false, NEVER };
	uint32_t kept = ch->nwindows < REFRESH_HISTORY ? ch->nwindows : REFRESH_HISTORY;
	for (uint32_t i = 1; i <= kept;
	     i++) { /* newest first: they end in order, so the first that ended before clk ends the search */
		const struct refresh_window *w = &ch->window[(ch->nwindows - i) % REFRESH_HISTORY];
		if (w->to <= clk)
			break;
		if (!(w->banks & banks))
			continue;
		if (w->from <= clk)
			return (struct state){ true, w->to };
		s.until = min64(s.until, w->from);
	}
	for (uint32_t r = 0; r < d->config.ranks; r++) {
		const struct refresh *now = &ch->rank[r].refresh;
		if (!(now->banks & banks))
			continue;
		if (now->since <= clk)
			return (struct state){ true, NEVER };
		s.until = min64(s.until, now->since);
	}
	return s;
}

/* The first of the intervals kept that ends after clk; the last one is the channel's own, which may still grow. What is
 * asked for has mostly just passed, so the search begins with the newest and looks back twice as far each time. */
static struct interval busy_after(const struct channel *ch, uint64_t clk)
{
	uint32_t kept = ch->nbusy < BUSY_HISTORY ? ch->nbusy : BUSY_HISTORY, low = kept, high = kept;
	for (uint32_t step = 1; low > 0; step *= 2) {
		low = kept > step ? kept - step : 0;
		if (ch->busy[(ch->nbusy - kept + low) % BUSY_HISTORY].to <= clk) {
			low++;
			break;
		}
		high = low;
	}
	while (low < high) {
		uint32_t mid = (low + high) / 2;
		if (ch->busy[(ch->nbusy - kept + mid) % BUSY_HISTORY].to > clk)
			high = mid;
		else
			low = mid + 1;
	}
	return low == kept ? (struct interval){ ch->data_from, ch->data_end }
			   : ch->busy[(ch->nbusy - kept + low) % BUSY_HISTORY];
}

/* Does the channel's data bus carry data at clk? */
static struct state carrying(const struct channel *ch, uint64_t clk)
{
	struct interval i = busy_after(ch, clk);
	if (i.to <= clk)
		return (struct state){ false, NEVER };
	return i.from <= clk ? (struct state){ true, i.to } : (struct state){ false, i.from };
}

/* Is the piece at the door of a full queue at clk? */
static struct state outside(const struct piece *p, uint64_t clk)
{
	if (clk < p->visible)
		return (struct state){ false, p->visible };
	return clk < p->accepted ? (struct state){ true, p->accepted } : (struct state){ false, NEVER };
}

static void explain_piece(const struct dram *d, const struct piece *p, uint64_t to, struct runs *runs)
{
	const struct channel *ch = &d->channel[p->channel];
	while (runs->to < to) {
		uint64_t same_banks;
		bank_set banks = banks_open(d, p, runs->to, &same_banks);
		struct state refresh = refreshing(d, ch, banks, runs->to);
		struct state full = outside(p, runs->to), bus = carrying(ch, runs->to);
		enum dram_wait wait = DRAM_WAIT_LATENCY;
		uint64_t until = min64(refresh.until, min64(full.until, bus.until));
		if (refresh.on) {
			wait = DRAM_WAIT_REFRESH;
			until = refresh.until;
		} else if (full.on || bus.on) {
			wait = DRAM_WAIT_BANDWIDTH;
			until = min64(refresh.until, full.on ? full.until : bus.until);
		}
		add(runs, wait, min64(to, min64(until, same_banks)));
	}
}

static const struct request *find_request(const struct dram *d, uint8_t port, uint32_t tag)
{
	uint32_t id = d->bucket[port][tag % TAG_BUCKETS];
	while (id != NO_REQUEST) {
		const struct request *q = request_of(d, id);
		if (q->id != id) /* its slot holds a younger one */
			return NULL;
		if (q->port == port && q->tag == tag)
			return q;
		id = q->older;
	}
	return NULL;
}

/* Could a decision from ch->due on, which has been put off, change what is told of the piece before `to`? Data follows
 * its command late; and a bank whose burst goes is not refreshed by then unless another refresh begins. */
static bool matters(const struct dram *d, const struct channel *ch, const struct piece *p, uint64_t to)
{
	bool writes = ch->queue[1].used || ch->writes_outside;
	uint64_t gap = writes ? min64(d->plan.data_gap[0], d->plan.data_gap[1]) : d->plan.data_gap[0];
	return ch->due + gap < to || ch->refresh_due < to || (p->accepted >= NEVER && p->visible < to);
}

void dram_explain(struct dram *d, uint8_t port, uint32_t tag, uint64_t from, uint64_t to,
		  void (*emit)(void *ctx, enum dram_wait, uint64_t from, uint64_t to), void *ctx)
{
	struct runs runs = { emit, ctx, DRAM_WAIT_LATENCY, from, from };
	const struct request *q = find_request(d, port, tag);
	for (uint32_t i = 0; q && i < q->pieces && runs.to < to; i++) {
		const struct piece *p = piece_of(d, q->first_piece + i);
		if (p->request != q->id) /* its slot holds a younger one */
			continue;
		struct channel *ch = &d->channel[p->channel];
		if (matters(d, ch, p, to))
			dram_catch_up(d, ch, to);
		uint64_t end = i + 1 < q->pieces ? min64(to, p->done) : to;
		if (runs.to < end)
			explain_piece(d, p, end, &runs);
	}
	if (runs.to < to)
		add(&runs, DRAM_WAIT_LATENCY, to);
	flush(&runs);
}

uint64_t dram_taken_clk(const struct dram *d, uint8_t port, uint32_t tag)
{
	const struct request *q = find_request(d, port, tag);
	uint64_t taken = q ? q->arrival : 0;
	for (uint32_t i = 0; q && i < q->pieces; i++) {
		const struct piece *p = piece_of(d, q->first_piece + i);
		if (p->request == q->id)
			taken = max64(taken, p->accepted);
	}
	return taken;
}
