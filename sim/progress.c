/* SPDX-License-Identifier: Apache-2.0 */
/* See the header. */
#include "sim/progress.h"

#include "isa/units.h"

/* To the first column, and what stands there goes. */
#define CLEAR "\r\033[K"

static double seconds_since(const struct timespec *begun)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - begun->tv_sec) + (double)(now.tv_nsec - begun->tv_nsec) * 1e-9;
}

void progress_begin(struct progress *p, FILE *to, const struct probe *inner, uint32_t instructions, double after, double every)
{
	*p = (struct progress){ .to = to, .inner = inner, .all = instructions, .after = after, .every = every, .next = after };
	clock_gettime(CLOCK_MONOTONIC, &p->begun);
}

static void on_insn(void *ctx, const struct probe_insn *insn)
{
	struct progress *p = ctx;
	p->done++;
	p->cycles = insn->end > p->cycles ? insn->end : p->cycles;
	if (p->inner->insn)
		p->inner->insn(p->inner->ctx, insn);
	double now = seconds_since(&p->begun);
	if (now < p->next)
		return;
	fprintf(p->to, CLEAR "%s cycles, %s of %s instructions", npu_count_text(p->cycles).text, npu_count_text(p->done).text,
		npu_count_text(p->all).text);
	fflush(p->to);
	p->shown = true;
	p->next = now + p->every;
}

static void on_span(void *ctx, const struct probe_span *span)
{
	const struct progress *p = ctx;
	p->inner->span(p->inner->ctx, span);
}

static void on_sequencer(void *ctx, enum npu_seq_state state, uint64_t from, uint64_t to)
{
	const struct progress *p = ctx;
	p->inner->sequencer(p->inner->ctx, state, from, to);
}

static void on_transfer(void *ctx, const struct probe_transfer *transfer)
{
	const struct progress *p = ctx;
	p->inner->transfer(p->inner->ctx, transfer);
}

static void on_request(void *ctx, const struct probe_request *request)
{
	const struct progress *p = ctx;
	p->inner->request(p->inner->ctx, request);
}

struct probe progress_probe(struct progress *p)
{
	return (struct probe){
		.ctx = p,
		.insn = on_insn,
		.span = p->inner->span ? on_span : NULL,
		.sequencer = p->inner->sequencer ? on_sequencer : NULL,
		.transfer = p->inner->transfer ? on_transfer : NULL,
		.request = p->inner->request ? on_request : NULL,
	};
}

void progress_end(struct progress *p)
{
	if (p->shown)
		fputs(CLEAR, p->to);
	fflush(p->to);
}
