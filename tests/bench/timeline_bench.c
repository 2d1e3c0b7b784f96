/* SPDX-License-Identifier: Apache-2.0 */
/* What recording and timelines cost: nanoseconds a probe event, seconds and bytes for about a million slices. */
#include "sim/timeline/page.h"
#include "sim/timeline/pftrace.h"
#include "tests/sim/record_play.h"

#include <time.h>

enum { TILES = 32000 }; /* 2 heads x 4 instructions */

/* Of the processor: other work on the machine does not count. */
static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t events; /* of the probe */

static void count_insn(void *ctx, const struct probe_insn *e)
{
	(void)ctx, (void)e;
	events++;
}

static void count_span(void *ctx, const struct probe_span *e)
{
	(void)ctx, (void)e;
	events++;
}

static void count_sequencer(void *ctx, enum npu_seq_state state, uint64_t from, uint64_t to)
{
	(void)ctx, (void)state, (void)from, (void)to;
	events++;
}

static void count_transfer(void *ctx, const struct probe_transfer *e)
{
	(void)ctx, (void)e;
	events++;
}

/* Seconds that the played machine takes for itself. */
static double machine_alone(const struct npu_program *p, bool transfers)
{
	const struct probe probe = { .insn = count_insn, .span = count_span, .sequencer = count_sequencer,
				     .transfer = transfers ? count_transfer : NULL };
	struct machine_totals totals;
	events = 0;
	double begin = seconds();
	play_run(p, &probe, &totals);
	return seconds() - begin;
}

static double machine_recorded(const struct hw *hw, const struct npu_program *p, bool keep)
{
	struct record r;
	struct machine_totals totals;
	struct npu_error err;
	if (!record_init(&r, p, hw->dram.channels, keep))
		exit(1);
	struct probe probe = record_probe(&r);
	double begin = seconds();
	play_run(p, &probe, &totals);
	double end = seconds();
	if (!record_finish(&r, totals.cycles, &err))
		puts(err.text);
	record_fini(&r);
	return end - begin;
}

static void bench_record(const struct hw *hw, const struct npu_program *p, bool keep)
{
	double alone = machine_alone(p, keep), recorded = machine_recorded(hw, p, keep);
	printf("%-24s %6.1f ns an event   %.1f million events\n", keep ? "record, events kept" : "record, sums only",
	       (recorded - alone) * 1e9 / (double)events, (double)events / 1e6);
}

static bool write_pftrace(const struct simulation *s, FILE *out, struct npu_error *err)
{
	return pftrace_write(s, out, false, err);
}

static bool write_pftrace_gz(const struct simulation *s, FILE *out, struct npu_error *err)
{
	return pftrace_write(s, out, true, err);
}

static void bench_write(const struct simulation *s, const char *name,
			bool (*write)(const struct simulation *, FILE *, struct npu_error *))
{
	struct npu_error err;
	FILE *out = tmpfile();
	if (!out)
		exit(1);
	double begin = seconds();
	if (!write(s, out, &err))
		puts(err.text);
	printf("%-24s %6.2f s   %.1f MB\n", name, seconds() - begin, (double)ftell(out) / 1e6);
	fclose(out);
}

static uint64_t count_slices(const struct simulation *s)
{
	const struct record *r = &s->record;
	uint64_t n = r->program->ninsns + r->program->nregions + r->sequencer_spans.count;
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		n += r->spans[e].count;
	return n;
}

int main(void)
{
	struct hw hw;
	struct npu_error err;
	play_hw(&hw);
	double begin = seconds();
	struct npu_program *p = play_program(TILES);
	printf("%-24s %6.2f s   %u instructions\n", "program", seconds() - begin, p->ninsns);
	bench_record(&hw, p, false);
	bench_record(&hw, p, true);
	struct simulation_request request = {
		.hw = &hw, .program = p, .command = "run", .subject = "bench", .want_record = true,
	};
	begin = seconds();
	struct simulation *s = simulate_on(play_machine, &request, &err);
	if (!s) {
		puts(err.text);
		return 1;
	}
	printf("%-24s %6.2f s   %.2f million slices\n", "run and account", seconds() - begin, (double)count_slices(s) / 1e6);
	bench_write(s, "timeline .pftrace", write_pftrace);
	bench_write(s, "timeline .pftrace.gz", write_pftrace_gz);
	bench_write(s, "timeline .html", timeline_write_page);
	simulation_free(s);
	npu_program_free(p);
	return 0;
}
