/* SPDX-License-Identifier: Apache-2.0 */
/* A trace out of the requests of a run. */
#include "sim/output.h"
#include "sim/simulate_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64 };

/* A request and its place among those that were sent, for an order that is always the same. */
struct sent {
	struct probe_request request;
	uint64_t order;
};

static int by_arrival(const void *x, const void *y)
{
	const struct sent *a = x, *b = y;
	if (a->request.clk != b->request.clk)
		return a->request.clk < b->request.clk ? -1 : 1;
	if (a->request.port != b->request.port)
		return a->request.port < b->request.port ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

static void put(const struct probe_request *r, uint64_t capacity, FILE *out)
{
	uint64_t from = r->addr / LINE * LINE;
	for (uint64_t at = from; at < r->addr + r->bytes; at += LINE)
		fprintf(out, "0x%" PRIx64 " %c %" PRIu64 "\n", at % capacity, r->write ? 'W' : 'R', r->clk);
}

static void put_all(const struct simulation *s, const struct sent *sent, FILE *out)
{
	const struct record_requests *requests = &s->record.requests;
	const struct simulation_request *r = &s->request;
	fprintf(out, "# %s on %s: address, direction, clock of %s; %d bytes a line\n", r->subject, simulate_title(r),
		r->dram_part && r->dram_part[0] ? r->dram_part : "the DRAM", LINE);
	for (uint64_t i = 0; i < requests->count; i++)
		put(&sent[i].request, dram_capacity(&r->hw->dram), out);
}

bool dram_requests_write(const struct simulation *s, const char *path, struct npu_error *err)
{
	const struct record_requests *requests = &s->record.requests;
	struct sent *sent = malloc((requests->count + 1) * sizeof(*sent));
	if (!sent)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory for the DRAM requests");
	for (uint64_t i = 0; i < requests->count; i++)
		sent[i] = (struct sent){ requests->items[i], i };
	qsort(sent, requests->count, sizeof(*sent), by_arrival);
	struct output *output = output_open(path, err);
	if (output)
		put_all(s, sent, output_stream(output));
	free(sent);
	return output && output_commit(output, err);
}
