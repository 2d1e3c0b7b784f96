/* SPDX-License-Identifier: Apache-2.0 */
/* A list of requests, a window of which is on its way. */
#include "models/machine_dram.h"

#include <stdlib.h>

struct dram_feed {
	struct dram *dram;
	const struct machine_dram_request *requests;
	struct machine_dram_answer *answers;
	uint64_t n, next;
	uint64_t room;    /* requests that may come */
	uint64_t room_at; /* since this clk */
	uint64_t last;    /* arrival of the one before */
	uint64_t *number; /* request of each tag in use */
	uint32_t *free;   /* `room` tags that are not */
};

static void done(void *ctx, uint8_t port, uint32_t tag, uint64_t clk)
{
	struct dram_feed *f = ctx;
	(void)port;
	f->free[f->room++] = tag;
	f->room_at = clk > f->room_at ? clk : f->room_at;
	if (f->answers)
		f->answers[f->number[tag]].done = clk;
}

/* What the read (or the write) queues of all channels hold. */
static uint32_t default_window(const struct dram_config *c)
{
	return c->channels * (c->read_queue > c->write_queue ? c->read_queue : c->write_queue);
}

struct dram_feed *dram_feed_new(const struct dram_config *config, const struct machine_dram_request *requests, uint64_t n,
				uint32_t window, struct machine_dram_answer *answers)
{
	struct dram_feed *f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	*f = (struct dram_feed){ .requests = requests, .answers = answers, .n = n };
	f->room = window ? window : default_window(config);
	f->number = calloc(f->room, sizeof(*f->number));
	f->free = calloc(f->room, sizeof(*f->free));
	if (f->number && f->free)
		f->dram = dram_new(config, &(struct dram_hooks){ .ctx = f, .done = done });
	if (!f->dram) {
		dram_feed_free(f);
		return NULL;
	}
	for (uint32_t i = 0; i < f->room; i++)
		f->free[i] = i;
	return f;
}

void dram_feed_free(struct dram_feed *f)
{
	if (!f)
		return;
	dram_free(f->dram);
	free(f->number);
	free(f->free);
	free(f);
}

static void push(struct dram_feed *f)
{
	const struct machine_dram_request *r = &f->requests[f->next];
	uint64_t at = r->clk > f->room_at ? r->clk : f->room_at;
	uint32_t tag = f->free[--f->room];
	f->last = at = at > f->last ? at : f->last;
	f->number[tag] = f->next;
	if (f->answers)
		f->answers[f->next] = (struct machine_dram_answer){ .arrival = at };
	f->next++;
	dram_push(f->dram, at, &(struct dram_request){ .addr = r->addr, .nbytes = r->bytes, .tag = tag,
						       .write = r->write });
}

uint64_t dram_feed_step(struct dram_feed *f, uint64_t until)
{
	for (;;) {
		while (f->room && f->next < f->n)
			push(f);
		/* What is not yet pushed waits for an answer, and no decision is taken past the first one. */
		uint64_t open = dram_run(f->dram, until);
		if (open == UINT64_MAX && !(f->room && f->next < f->n))
			return UINT64_MAX;
		if (open >= until && !(f->room && f->next < f->n))
			return open;
	}
}

void dram_feed_finish(struct dram_feed *f, struct machine_dram_totals *totals)
{
	totals->clocks = dram_drain(f->dram);
	dram_stats(f->dram, &totals->dram);
}
