/* SPDX-License-Identifier: Apache-2.0 */
/* The horizon at cycle `now` is the DRAM edge of min over ports of (earliest next request) + cdc_cycles. An answer needs
 * cdc_cycles to come back, so nothing is lost by looking at a decision of clk R only at cycle_of(R) + cdc_cycles: several
 * decisions a wake-up. */
#include "models/dma_crossing.h"

#include <assert.h>
#include <stdlib.h>

/* n * num / den without a division: hw_ratio_up() and hw_ratio_down(), to the bit. */
struct conversion {
	uint64_t num, den;
	uint64_t inverse; /* 2^64 / den, rounded down */
	uint64_t safe;    /* n up to here: neither n num nor what is added to it overflows */
};

/* Bytes [begin, end) of the DRAM. */
struct extent {
	uint64_t begin, end;
};

struct crossing {
	struct conversion to_cycles, to_clks;
	uint64_t cdc;
	struct dram *dram;
	const struct probe *probe;
	struct machine_wake wake;
	struct crossing_user user[CROSSING_PORTS];
	uint64_t reaction; /* clocks from a completion to a request because of it, at least */
	uint64_t horizon;  /* decisions were taken up to here */
	uint64_t open;     /* clk from which a larger horizon decides more */
	uint64_t look_at;  /* the cycle at which an answer decided there can be back */
	uint64_t ask_at;   /* the cycle at which an answer to what is yet to be sent late can be back */
	struct {
		uint64_t leaves; /* NPU_NEVER: nothing */
		struct extent bytes;
	} expected[CROSSING_FETCH]; /* of ports that are brought up */
	struct extent written; /* by all requests so far */
	uint64_t read_cycles;  /* from the arrival of a read to its data, at least, unless a write that waits has them */
	uint64_t capacity;
	bool deciding;
	uint64_t arrived[CROSSING_PORTS]; /* the last request of each port */
	uint64_t told;     /* the earliest completion of the current call of dram_run */
	/* In the DRAM's place; request NULL: nobody is. */
	struct outside outside;
	struct dram_stats outside_stats; /* latencies in cycles */
	/* dram_explain on its way to the caller's emit. */
	struct {
		void (*emit)(void *ctx, enum npu_state state, uint64_t from, uint64_t to);
		void *ctx;
		uint64_t at, to;
	} explain;
};

static struct conversion conversion_of(uint64_t num, uint64_t den)
{
	return (struct conversion){ num, den, UINT64_MAX / den, (UINT64_MAX - den) / num };
}

static uint64_t divided(const struct conversion *c, uint64_t n)
{
	uint64_t quotient = (uint64_t)((unsigned __int128)n * c->inverse >> 64), rest = n - quotient * c->den;
	for (; rest >= c->den; rest -= c->den) /* twice at most */
		quotient++;
	return quotient;
}

static uint64_t up(const struct conversion *c, uint64_t n)
{
	if (n > c->safe)
		return hw_ratio_up(n, c->num, c->den);
	return divided(c, n * c->num + c->den - 1);
}

static uint64_t down(const struct conversion *c, uint64_t n)
{
	if (n > c->safe)
		return hw_ratio_down(n, c->num, c->den);
	return divided(c, n * c->num);
}

static uint64_t cycle_of(const struct crossing *x, uint64_t clk)
{
	return up(&x->to_cycles, clk);
}

/* The first DRAM edge at or after an NPU edge. */
static uint64_t clk_after(const struct crossing *x, uint64_t cycle)
{
	return up(&x->to_clks, cycle);
}

/* The last one at or before it. */
static uint64_t clk_before(const struct crossing *x, uint64_t cycle)
{
	return down(&x->to_clks, cycle);
}

static void dram_done(void *ctx, uint8_t port, uint32_t tag, uint64_t clk)
{
	struct crossing *x = ctx;
	x->told = clk < x->told ? clk : x->told;
	x->user[port].done(x->user[port].ctx, tag, cycle_of(x, clk) + x->cdc);
}

static void dram_transfer(void *ctx, uint32_t channel, uint64_t from, uint64_t to, uint32_t nbytes, bool write)
{
	struct crossing *x = ctx;
	x->probe->transfer(x->probe->ctx, &(struct probe_transfer){ .channel = channel, .write = write, .bytes = nbytes,
								    .from = cycle_of(x, from),
								    .to = cycle_of(x, to) });
}

static void extend(struct extent *e, uint64_t begin, uint64_t end)
{
	e->begin = begin < e->begin ? begin : e->begin;
	e->end = end > e->end ? end : e->end;
}

/* Whether a read of these bytes may find them in the write queue. Addresses wrap at the capacity. */
static bool may_be_waiting(const struct crossing *x, const struct extent *read)
{
	if (x->written.begin >= x->written.end)
		return false;
	return (read->begin < x->written.end && x->written.begin < read->end) || read->end > x->capacity ||
	       x->written.end > x->capacity;
}

static void set_ask_at(struct crossing *x)
{
	/* A memory outside wants each request when it arrives: a cycle after it left, no answer can come sooner than that. */
	uint64_t least = x->outside.request ? 1 : 2 * x->cdc;
	x->ask_at = NPU_NEVER;
	for (unsigned p = 0; p < CROSSING_FETCH; p++) {
		if (x->expected[p].leaves == NPU_NEVER)
			continue;
		uint64_t at = x->expected[p].leaves + least;
		if (p == CROSSING_LOAD && !x->outside.request && !may_be_waiting(x, &x->expected[p].bytes))
			at += x->read_cycles;
		x->ask_at = at < x->ask_at ? at : x->ask_at;
	}
}

static void forget_expected(struct crossing *x)
{
	x->ask_at = NPU_NEVER;
	for (unsigned p = 0; p < CROSSING_FETCH; p++) {
		x->expected[p].leaves = NPU_NEVER;
		x->expected[p].bytes = (struct extent){ UINT64_MAX, 0 };
	}
}

struct crossing *crossing_new(const struct hw *hw, bool ideal, const struct probe *probe, const struct machine_wake *wake)
{
	struct crossing *x = calloc(1, sizeof(*x));
	if (!x)
		return NULL;
	struct hw_clock_ratio ratio = hw_clock_ratio(hw);
	*x = (struct crossing){ .to_cycles = conversion_of(ratio.num, ratio.den),
				.to_clks = conversion_of(ratio.den, ratio.num), .cdc = hw->dma.cdc_cycles,
				.probe = probe, .wake = *wake, .open = UINT64_MAX, .look_at = NPU_NEVER, .ask_at = NPU_NEVER };
	/* Back, and there again; never less, as both roundings only add. */
	x->reaction = clk_before(x, 2 * x->cdc);
	struct dram_config config = hw->dram;
	config.ideal = config.ideal || ideal;
	x->written = (struct extent){ UINT64_MAX, 0 };
	forget_expected(x);
	x->capacity = dram_capacity(&config);
	if (!config.ideal)
		x->read_cycles = down(&x->to_cycles, (uint64_t)config.front_delay + config.CL + dram_burst_clk(&config) +
							     config.back_delay);
	struct dram_hooks hooks = {
		.ctx = x,
		.done = dram_done,
		.transfer = probe->transfer ? dram_transfer : NULL,
		.reaction_clk = x->reaction,
	};
	x->dram = dram_new(&config, &hooks);
	if (!x->dram) {
		free(x);
		return NULL;
	}
	return x;
}

void crossing_free(struct crossing *x)
{
	if (!x)
		return;
	dram_free(x->dram);
	free(x);
}

void crossing_attach(struct crossing *x, enum crossing_port port, const struct crossing_user *user)
{
	x->user[port] = *user;
}

void crossing_attach_outside(struct crossing *x, const struct outside *memory)
{
	x->outside = *memory;
}

void crossing_answer(struct crossing *x, const struct outside_answer *a)
{
	const struct outside_request *r = &a->request;
	struct dram_stats *s = &x->outside_stats;
	uint64_t latency = a->done - r->arrival;
	if (r->write) {
		s->writes++;
		s->write_bytes += r->bytes;
	} else {
		s->reads++;
		s->read_bytes += r->bytes;
		s->read_latency_sum += latency;
		s->read_latency_max = latency > s->read_latency_max ? latency : s->read_latency_max;
	}
	s->bus_bytes += a->bus_bytes;
	s->last_data_clk = a->done > s->last_data_clk ? a->done : s->last_data_clk;
	x->user[r->port].done(x->user[r->port].ctx, r->tag, a->done + x->cdc);
}

static void set_open(struct crossing *x, uint64_t clk)
{
	x->open = clk;
	x->look_at = clk == UINT64_MAX ? NPU_NEVER : cycle_of(x, clk) + x->cdc;
}

void crossing_send(struct crossing *x, enum crossing_port port, uint64_t now, uint64_t addr, uint32_t bytes, bool write,
		   uint32_t tag)
{
	if (x->probe->request)
		x->probe->request(x->probe->ctx, &(struct probe_request){ .clk = clk_after(x, now + x->cdc), .addr = addr,
									  .bytes = bytes, .port = (uint8_t)port, .write = write });
	if (x->outside.request) {
		x->outside.request(x->outside.ctx, &(struct outside_request){ .arrival = now + x->cdc, .addr = addr,
									      .bytes = bytes, .tag = tag,
									      .port = (uint8_t)port, .write = write });
		return;
	}
	uint64_t arrival = clk_after(x, now + x->cdc);
	assert(arrival >= x->horizon && arrival >= x->arrived[port]);
	x->arrived[port] = arrival;
	if (write && (addr < x->written.begin || addr + bytes > x->written.end)) {
		extend(&x->written, addr, addr + bytes);
		set_ask_at(x);
		if (!x->deciding)
			machine_wake_up(&x->wake, MACHINE_DRAM, x->ask_at);
	}
	dram_push(x->dram, arrival, &(struct dram_request){ .addr = addr, .nbytes = bytes, .tag = tag, .write = write,
							    .port = (uint8_t)port });
	if (arrival < x->open) {
		set_open(x, arrival);
		if (!x->deciding)
			machine_wake_up(&x->wake, MACHINE_DRAM, x->look_at);
	}
}

void crossing_expect(struct crossing *x, enum crossing_port port, uint64_t leaves, uint64_t begin, uint64_t end)
{
	if (leaves >= x->expected[port].leaves && begin >= x->expected[port].bytes.begin && end <= x->expected[port].bytes.end)
		return;
	uint64_t before = x->ask_at;
	x->expected[port].leaves = leaves < x->expected[port].leaves ? leaves : x->expected[port].leaves;
	extend(&x->expected[port].bytes, begin, end);
	set_ask_at(x);
	if (!x->deciding && x->ask_at < before)
		machine_wake_up(&x->wake, MACHINE_DRAM, x->ask_at);
}

static uint64_t horizon_at(const struct crossing *x, uint64_t now)
{
	uint64_t earliest = NPU_NEVER;
	for (unsigned p = 0; p < CROSSING_PORTS; p++) {
		if (!x->user[p].earliest)
			continue;
		uint64_t at = x->user[p].earliest(x->user[p].ctx, now);
		earliest = at < earliest ? at : earliest;
	}
	return earliest == NPU_NEVER ? UINT64_MAX : clk_after(x, earliest + x->cdc);
}

/* All requests that leave before `until` are sent. */
static void bring_up(struct crossing *x, uint64_t until, uint64_t now)
{
	forget_expected(x);
	for (unsigned p = 0; p < CROSSING_PORTS; p++)
		if (x->user[p].bring_up)
			x->user[p].bring_up(x->user[p].ctx, until, now);
}

/* Decides as far as possible when all requests that leave before `until` are sent. Answers told on the way tell the ports
 * when they can go on, which may move the horizon. To explain what happened, a port that is brought up may ask for decisions
 * in its turn. */
static void decide(struct crossing *x, uint64_t until, uint64_t now)
{
	bool again = x->deciding;
	x->deciding = true;
	bring_up(x, until, now);
	uint64_t horizon = horizon_at(x, now);
	for (;;) {
		horizon = horizon > x->horizon ? horizon : x->horizon;
		x->told = UINT64_MAX;
		set_open(x, dram_run(x->dram, horizon));
		if (x->told == UINT64_MAX) {
			x->horizon = horizon;
			break;
		}
		uint64_t decided = x->told + x->reaction < horizon ? x->told + x->reaction : horizon;
		x->horizon = decided > x->horizon ? decided : x->horizon;
		uint64_t next = horizon_at(x, now);
		if (decided == horizon && next <= horizon)
			break;
		horizon = next;
	}
	x->deciding = again;
}

static uint64_t next_look(const struct crossing *x)
{
	return x->look_at < x->ask_at ? x->look_at : x->ask_at;
}

uint64_t crossing_step(struct crossing *x, uint64_t now)
{
	if (x->outside.request) {
		if (x->ask_at <= now)
			bring_up(x, now, now);
		return x->ask_at;
	}
	if (next_look(x) <= now)
		decide(x, now, now);
	return next_look(x);
}

static enum npu_state state_of(enum dram_wait wait)
{
	switch (wait) {
	case DRAM_WAIT_REFRESH:
		return NPU_STATE_DRAM_REFRESH;
	case DRAM_WAIT_BANDWIDTH:
		return NPU_STATE_DRAM_BANDWIDTH;
	case DRAM_WAIT_LATENCY:
		break;
	}
	return NPU_STATE_DRAM_LATENCY;
}

static void explained(void *ctx, enum dram_wait wait, uint64_t from, uint64_t to)
{
	struct crossing *x = ctx;
	(void)from;
	uint64_t end = cycle_of(x, to);
	if (end > x->explain.to)
		end = x->explain.to;
	if (end > x->explain.at)
		x->explain.emit(x->explain.ctx, state_of(wait), x->explain.at, end);
	x->explain.at = end > x->explain.at ? end : x->explain.at;
}

void crossing_explain(struct crossing *x, enum crossing_port port, uint32_t tag, uint64_t from, uint64_t to, uint64_t now,
		      void (*emit)(void *ctx, enum npu_state state, uint64_t from, uint64_t to), void *ctx)
{
	if (x->outside.request) {
		emit(ctx, NPU_STATE_DRAM_LATENCY, from, to);
		return;
	}
	/* What cycle c sees of the DRAM is the clock whose edge was last at or before it. */
	uint64_t first = clk_before(x, from), last = clk_before(x, to - 1);
	if (last >= x->horizon) {
		decide(x, to, now);
		if (!x->deciding)
			machine_wake_up(&x->wake, MACHINE_DRAM, next_look(x));
	}
	x->explain.emit = emit;
	x->explain.ctx = ctx;
	x->explain.at = from;
	x->explain.to = to;
	dram_explain(x->dram, (uint8_t)port, tag, first, last + 1, explained, x);
	if (x->explain.at < to)
		emit(ctx, NPU_STATE_DRAM_LATENCY, x->explain.at, to);
}

uint64_t crossing_drain(struct crossing *x)
{
	return x->outside.request ? x->outside_stats.last_data_clk : cycle_of(x, dram_drain(x->dram));
}

void crossing_stats(const struct crossing *x, struct dram_stats *stats)
{
	if (!x->outside.request) {
		dram_stats(x->dram, stats);
		return;
	}
	*stats = x->outside_stats;
	/* The figures of struct dram_stats are in clocks of the configured part. */
	stats->read_latency_sum = clk_before(x, stats->read_latency_sum);
	stats->read_latency_max = clk_before(x, stats->read_latency_max);
	stats->last_data_clk = clk_after(x, stats->last_data_clk);
}
