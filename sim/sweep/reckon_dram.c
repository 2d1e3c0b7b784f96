/* SPDX-License-Identifier: Apache-2.0 */
/* A request is served at the pace of the bus, in order. One that needs a row opens it once it is in the queue, that is when no more than
 * the queue is before it; until the row is open others of the queue go, so that the bus stands still only for what exceeds the queue.
 *
 * Writes wait until they fill the share drain_high of their queue or nobody reads, and go down to drain_low, with a turn of the bus
 * before and behind. */
#include "sim/sweep/reckon_dram.h"

#include <math.h>
#include <stdlib.h>

struct row {
	uint32_t row;
	double opened, open, used; /* last ACT; its row can be read; until then it is */
};

struct channel {
	double bus;     /* busy until then */
	double waiting; /* cycles that the writes take that wait */
	double activate; /* the next ACT may come */
	bool wrote;
};

struct reckon_dram {
	const struct dram_config *config;
	struct dram *map;
	uint64_t granule, block;
	uint32_t banks;
	/* NPU cycles. */
	double burst, queue, write_queue, high, low, to_write, to_read, activates, tRC, tRCD, close, latency;
	struct channel *channel;
	struct row *row; /* [channels][banks] */
};

/* Of the time that all banks, or the bank that is needed, do not refresh. */
static double refresh_share(const struct dram_config *d)
{
	if (d->refresh == DRAM_REFRESH_NONE || !d->tREFI)
		return 1;
	if (d->refresh == DRAM_REFRESH_PERBANK && d->tREFIpb)
		return 1 - (double)(d->tRFCpb + d->tRP + d->tRCD) / d->tREFIpb / (d->banks * d->bank_groups);
	return 1 - (double)(d->tRFCab + d->tRP + d->tRCD) / d->tREFI;
}

struct reckon_dram *reckon_dram_new(const struct hw *hw)
{
	const struct dram_config *c = &hw->dram;
	struct hw_clock_ratio ratio = hw_clock_ratio(hw);
	double clk = (double)ratio.num / (double)ratio.den;
	struct reckon_dram *d = calloc(1, sizeof *d);
	if (!d)
		return NULL;
	d->config = c;
	d->granule = dram_burst_bytes(c);
	d->block = c->channels > 1 && c->channel_interleave < c->row_bytes ? c->channel_interleave : c->row_bytes;
	d->banks = c->ranks * c->bank_groups * c->banks;
	d->burst = clk * dram_burst_clk(c) / fmax(0.5, refresh_share(c));
	d->queue = d->burst * c->read_queue;
	d->write_queue = d->burst * c->write_queue;
	d->high = d->write_queue * c->drain_high / 100;
	d->low = d->write_queue * c->drain_low / 100;
	d->to_write = clk * (c->tRTW + 1);
	d->to_read = clk * ((double)c->tWTR_L + c->CL + c->tDQSCK);
	double lanes = c->mapping == DRAM_RoBaCoBg ? c->bank_groups : 1;
	d->activates = clk * lanes * fmax((double)c->tRRD_S, (double)c->tFAW / 4);
	d->tRC = clk * c->tRC;
	d->tRCD = clk * c->tRCD;
	d->close = clk * ((double)c->tRTP + c->tRP);
	d->latency = clk * ((double)c->CL + c->tDQSCK + c->back_delay);
	d->map = dram_new(c, &(struct dram_hooks){ 0 });
	d->channel = calloc(c->channels, sizeof *d->channel);
	d->row = calloc((size_t)c->channels * d->banks, sizeof *d->row);
	if (d->map && d->channel && d->row) {
		for (size_t i = 0; i < (size_t)c->channels * d->banks; i++)
			d->row[i].row = UINT32_MAX;
		return d;
	}
	reckon_dram_free(d);
	return NULL;
}

void reckon_dram_free(struct reckon_dram *d)
{
	if (!d)
		return;
	dram_free(d->map);
	free(d->channel);
	free(d->row);
	free(d);
}

/* Bytes from `addr` on that lie in its block, and their cycles on the bus. */
static uint64_t in_block(const struct reckon_dram *d, uint64_t addr, uint64_t bytes, double *cycles)
{
	uint64_t left = d->block - addr % d->block;
	bytes = bytes < left ? bytes : left;
	*cycles = d->burst * (double)((addr + bytes + d->granule - 1) / d->granule - addr / d->granule);
	return bytes;
}

/* Opens a row if it is not, as early as `from`; returns when it is open. */
static double open_row(struct reckon_dram *d, const struct dram_location *at, double from)
{
	struct row *row = &d->row[at->channel * d->banks + at->bank];
	struct channel *channel = &d->channel[at->channel];
	if (row->row != at->row) {
		from = fmax(fmax(from, channel->activate), row->row == UINT32_MAX ? 0 : fmax(row->opened + d->tRC, row->used + d->close));
		channel->activate = from + d->activates;
		*row = (struct row){ .row = at->row, .opened = from, .open = from + d->tRCD, .used = from + d->tRCD };
	}
	return row->open;
}

/* Nobody has read since: writes went. */
static void drain_idle(struct reckon_dram *d, struct channel *c, double now)
{
	double idle = now - c->bus - (c->wrote ? 0 : d->to_write);
	if (c->waiting == 0 || idle <= 0)
		return;
	double went = fmin(idle, c->waiting);
	c->bus = now - idle + went;
	c->waiting -= went;
	c->wrote = true;
}

static struct dram_location locate(const struct reckon_dram *d, uint64_t addr)
{
	/* Bank groups take turns inside a block: it is told by its first bank. */
	return dram_locate(d->map, addr / d->block * d->block);
}

double reckon_dram_read(struct reckon_dram *d, uint64_t addr, uint64_t bytes, double arrival)
{
	double end = arrival, cycles;
	if (d->config->ideal)
		return arrival;
	for (uint64_t part; bytes; addr += part, bytes -= part) {
		part = in_block(d, addr, bytes, &cycles);
		struct dram_location at = locate(d, addr);
		struct channel *c = &d->channel[at.channel];
		drain_idle(d, c, arrival);
		if (c->wrote)
			c->bus += d->to_read;
		c->wrote = false;
		double queued = fmax(arrival, c->bus - d->queue), open = open_row(d, &at, queued);
		c->bus = fmax(fmax(c->bus, queued) + cycles, open + cycles - d->queue);
		double done = fmax(c->bus, open + cycles);
		struct row *row = &d->row[at.channel * d->banks + at.bank];
		row->used = fmax(row->used, done);
		end = fmax(end, done);
	}
	return end + d->latency;
}

double reckon_dram_write(struct reckon_dram *d, uint64_t addr, uint64_t bytes, double arrival)
{
	double end = arrival, cycles;
	if (d->config->ideal)
		return arrival;
	for (uint64_t part; bytes; addr += part, bytes -= part) {
		part = in_block(d, addr, bytes, &cycles);
		struct dram_location at = locate(d, addr);
		struct channel *c = &d->channel[at.channel];
		drain_idle(d, c, arrival);
		double open = open_row(d, &at, fmax(arrival, c->bus - d->queue));
		c->waiting += cycles;
		if (c->waiting <= d->high)
			continue;
		c->bus = fmax(c->bus, arrival) + (c->wrote ? 0 : d->to_write) + c->waiting - d->low;
		c->bus = fmax(c->bus, open + cycles - d->queue);
		c->wrote = true;
		c->waiting = d->low;
		end = fmax(end, c->bus - d->write_queue);
	}
	return end;
}

double reckon_dram_end(const struct reckon_dram *d)
{
	double end = 0;
	for (uint32_t i = 0; i < d->config->channels; i++) {
		const struct channel *c = &d->channel[i];
		if (c->bus > 0 || c->waiting > 0)
			end = fmax(end, c->bus + (c->waiting > 0 && !c->wrote ? d->to_write : 0) + c->waiting);
	}
	return end;
}
