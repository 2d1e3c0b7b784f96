/* SPDX-License-Identifier: Apache-2.0 */
/* Runs both machines and measures how far they are apart. */
#include "tests/golden/twin_compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TWIN_SHORTEST = 1000 }; /* cycles; below, a handful of them would be percents */

static const char *const state_names[NPU_STATES] = {
#define STATE(NAME, text, group, doc) text,
#include "models/states.def"
};

/* ---- the machine, in a child ---- */

static void on_insn(void *ctx, const struct probe_insn *i)
{
	struct twin_result *r = ctx;
	r->start[i->insn] = i->start;
	r->end[i->insn] = i->end;
}

static void on_span(void *ctx, const struct probe_span *s)
{
	((struct twin_result *)ctx)->state[s->engine][s->state] += s->to - s->from;
}

static void on_line(void *ctx, enum npu_seq_state state, uint64_t from, uint64_t to)
{
	((struct twin_result *)ctx)->line[state] += to - from;
}

static bool all_bytes(int fd, void *bytes, uint64_t n, bool writes)
{
	for (char *at = bytes; n;) {
		ssize_t got = writes ? write(fd, at, n) : read(fd, at, n);
		if (got <= 0)
			return false;
		at += got;
		n -= (uint64_t)got;
	}
	return true;
}

static bool carry(int fd, struct twin_result *r, uint64_t ninsns, bool writes)
{
	return all_bytes(fd, &r->cycles, sizeof r->cycles, writes) &&
	       all_bytes(fd, r->state, sizeof r->state, writes) && all_bytes(fd, r->line, sizeof r->line, writes) &&
	       all_bytes(fd, r->start, ninsns * sizeof *r->start, writes) &&
	       all_bytes(fd, r->end, ninsns * sizeof *r->end, writes);
}

_Noreturn static void child(int fd, const struct hw *hw, const struct npu_program *program, struct twin_result *out)
{
	struct probe probe = { .ctx = out, .insn = on_insn, .span = on_span, .sequencer = on_line };
	struct machine_totals totals;
	struct npu_error err;
	bool ok = machine_run(hw, program, 0, &probe, &totals, &err);
	out->cycles = totals.cycles;
	if (!ok)
		fprintf(stderr, "machine: %s\n", err.text);
	_exit(ok && carry(fd, out, program->ninsns, true) ? 0 : 1);
}

bool twin_machine_run(const struct hw *hw, const struct npu_program *program, struct twin_result *out, char *err,
		      uint64_t size)
{
	int fds[2], status = 1;
	*out = (struct twin_result){ 0 };
	out->start = calloc(program->ninsns + 1, sizeof *out->start);
	out->end = calloc(program->ninsns + 1, sizeof *out->end);
	if (!out->start || !out->end || pipe(fds)) {
		snprintf(err, size, "no memory or no pipe");
		return false;
	}
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		close(fds[0]);
		child(fds[1], hw, program, out);
	}
	close(fds[1]);
	bool ok = pid > 0 && carry(fds[0], out, program->ninsns, false);
	close(fds[0]);
	ok = pid > 0 && waitpid(pid, &status, 0) == pid && ok && status == 0;
	if (!ok)
		snprintf(err, size, "the machine ended with status %d", status);
	return ok;
}

/* ---- differences ---- */

static bool is_active(enum npu_state s)
{
	switch (s) {
#define GROUP_ACTIVE  true
#define GROUP_WAITING false
#define GROUP_EMPTY   false
#define STATE(NAME, text, group, doc)                                                                                  \
	case NPU_STATE_##NAME:                                                                                         \
		return GROUP_##group;
#include "models/states.def"
	case NPU_STATES:
		break;
	}
	return false;
}

static double apart(uint64_t a, uint64_t b, uint64_t cycles)
{
	return ((double)a - (double)b) / (double)cycles;
}

struct twin_error twin_compare(const struct twin_result *machine, const struct twin_result *twin)
{
	struct twin_error e = { .total = apart(machine->cycles, twin->cycles, twin->cycles) };
	for (unsigned n = 0; n < NPU_ENGINES; n++) {
		uint64_t a = 0, b = 0;
		for (unsigned s = 0; s < NPU_STATES; s++) {
			if (is_active((enum npu_state)s)) {
				a += machine->state[n][s];
				b += twin->state[n][s];
			}
			double stall = apart(machine->state[n][s], twin->state[n][s], twin->cycles);
			if (fabs(stall) > fabs(e.stall)) {
				e.stall = stall;
				e.stall_engine = (enum npu_engine)n;
				e.stall_state = (enum npu_state)s;
			}
		}
		double active = apart(a, b, twin->cycles);
		if (fabs(active) > fabs(e.active)) {
			e.active = active;
			e.active_engine = (enum npu_engine)n;
		}
	}
	for (unsigned s = 0; s < NPU_SEQ_STATES; s++) {
		double line = apart(machine->line[s], twin->line[s], twin->cycles);
		if (fabs(line) > fabs(e.line))
			e.line = line;
	}
	return e;
}

static const char *const block_names[TWIN_BLOCKS] = { "load", "store", "matrix", "vector", "sequencer", "SRAM",
						      "accumulators", "DRAM" };

/* The memory that a state is put down to, or TWIN_BLOCKS. */
static enum twin_block memory_of(enum npu_state s)
{
	if (s == NPU_STATE_SRAM_CONFLICT)
		return TWIN_SRAM;
	if (s == NPU_STATE_ACCUM_CONFLICT)
		return TWIN_ACCUMULATORS;
	return s == NPU_STATE_DRAM_REFRESH || s == NPU_STATE_DRAM_BANDWIDTH || s == NPU_STATE_DRAM_LATENCY ? TWIN_DRAM
													    : TWIN_BLOCKS;
}

static void further(double *off, double is)
{
	*off = fabs(is) > fabs(*off) ? is : *off;
}

static void add_blocks(struct twin_table *t, const struct twin_result *machine, const struct twin_result *twin)
{
	double off[TWIN_BLOCKS + 1] = { 0 };
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		for (unsigned s = 0; s < NPU_STATES; s++) {
			double is = apart(machine->state[e][s], twin->state[e][s], twin->cycles);
			further(&off[TWIN_LOAD + e], is);
			further(&off[memory_of((enum npu_state)s)], is);
		}
	for (unsigned s = 0; s < NPU_SEQ_STATES; s++)
		further(&off[TWIN_SEQUENCER], apart(machine->line[s], twin->line[s], twin->cycles));
	for (unsigned b = 0; b < TWIN_BLOCKS; b++) {
		t->block_sum[b] += fabs(off[b]);
		further(&t->block_worst[b], off[b]);
	}
}

static void keep_worst(double is, double was, struct twin_error *worst, char text[640], const struct twin_error *e,
		       const char *what)
{
	if (fabs(is) < fabs(was) || (fabs(is) == fabs(was) && text[0]))
		return;
	*worst = *e;
	snprintf(text, 640, "%s", what);
}

static void sum(struct twin_result *to, const struct twin_result *r)
{
	to->cycles += r->cycles;
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		for (unsigned i = 0; i < NPU_STATES; i++)
			to->state[e][i] += r->state[e][i];
	for (unsigned i = 0; i < NPU_SEQ_STATES; i++)
		to->line[i] += r->line[i];
}

bool twin_table_add(struct twin_table *t, const struct hw *hw, const struct npu_program *program, const char *what)
{
	struct twin_result machine, twin;
	char err[256];
	bool ok = twin_machine_run(hw, program, &machine, err, sizeof err);
	if (!ok)
		fprintf(stderr, "%s: %s\n", what, err);
	if (!twin_run(hw, program, &twin)) {
		fprintf(stderr, "%s: the twin is stuck\n", what);
		ok = false;
	}
	if (ok && twin.cycles >= TWIN_SHORTEST) {
		struct twin_error e = twin_compare(&machine, &twin);
		t->runs++;
		t->total_sum += fabs(e.total);
		t->active_sum += fabs(e.active);
		t->stall_sum += fabs(e.stall);
		t->beyond += fabs(e.active) > TWIN_WITHIN || fabs(e.stall) > TWIN_WITHIN;
		add_blocks(t, &machine, &twin);
		sum(&t->machine, &machine);
		sum(&t->twin, &twin);
		keep_worst(e.total, t->worst_total.total, &t->worst_total, t->worst_total_case, &e, what);
		keep_worst(e.active, t->worst_active.active, &t->worst_active, t->worst_active_case, &e, what);
		keep_worst(e.stall, t->worst_stall.stall, &t->worst_stall, t->worst_stall_case, &e, what);
	}
	twin_result_free(&machine);
	twin_result_free(&twin);
	return ok;
}

const char *twin_table_fault(const struct twin_table *t, char *out, uint64_t size)
{
	double runs = t->runs ? (double)t->runs : 1;
	struct twin_error all = twin_compare(&t->machine, &t->twin);
	out[0] = '\0';
	if (!t->runs)
		snprintf(out, size, "nothing was compared");
	else if (t->total_sum / runs > TWIN_MEAN_WITHIN)
		snprintf(out, size, "total cycles are off by %.2f%% on average", 100 * t->total_sum / runs);
	else if (fabs(t->worst_total.total) > TWIN_WITHIN)
		snprintf(out, size, "total cycles are off by %+.2f%%: %s", 100 * t->worst_total.total,
			 t->worst_total_case);
	else if (fabs(all.active) > TWIN_MEAN_WITHIN || fabs(all.stall) > TWIN_MEAN_WITHIN)
		snprintf(out, size, "of all runs together, %s is active %+.2f%% of the cycles too long, %s %s %+.2f%%",
			 npu_engine_name(all.active_engine), 100 * all.active, npu_engine_name(all.stall_engine),
			 state_names[all.stall_state], 100 * all.stall);
	else if (t->beyond)
		snprintf(out, size,
			 "%llu of %llu runs put more than 5%% of their cycles down to something else; worst %+.2f%% "
			 "(%s %s): %s",
			 (unsigned long long)t->beyond, (unsigned long long)t->runs, 100 * t->worst_stall.stall,
			 npu_engine_name(t->worst_stall.stall_engine), state_names[t->worst_stall.stall_state],
			 t->worst_stall_case);
	return out[0] ? out : NULL;
}

static struct twin_figures figures_of(const struct twin_table *t)
{
	double runs = t->runs ? (double)t->runs : 1;
	return (struct twin_figures){ .total_mean = 100 * t->total_sum / runs,
				      .total_worst = 100 * t->worst_total.total,
				      .active_mean = 100 * t->active_sum / runs,
				      .active_worst = 100 * t->worst_active.active,
				      .cause_mean = 100 * t->stall_sum / runs,
				      .cause_worst = 100 * t->worst_stall.stall };
}

void twin_table_print(FILE *f, const struct twin_table *t, unsigned n)
{
	fprintf(
	    f,
	    "| programs | runs | total, mean | worst | active, mean | worst | cause, mean | worst | beyond 5 %% |\n");
	fprintf(f, "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
	for (unsigned i = 0; i < n; i++) {
		struct twin_figures e = figures_of(&t[i]);
		fprintf(f, "| %s | %llu | %.2f %% | %+.2f %% | %.2f %% | %+.2f %% | %.2f %% | %+.2f %% | %llu |\n",
			t[i].name, (unsigned long long)t[i].runs, e.total_mean, e.total_worst, e.active_mean,
			e.active_worst, e.cause_mean, e.cause_worst, (unsigned long long)t[i].beyond);
	}
	for (unsigned i = 0; i < n; i++) {
		const struct twin_error *a = &t[i].worst_active, *s = &t[i].worst_stall;
		fprintf(f, "%s, worst total: %s\n", t[i].name, t[i].worst_total_case);
		fprintf(f, "%s, worst active (%s): %s\n", t[i].name, npu_engine_name(a->active_engine),
			t[i].worst_active_case);
		fprintf(f, "%s, worst cause (%s %s): %s\n", t[i].name, npu_engine_name(s->stall_engine),
			state_names[s->stall_state], t[i].worst_stall_case);
	}
}

struct block_figures {
	unsigned long long runs;
	double mean, worst;
};

static struct block_figures block_figures(const struct twin_table *t, unsigned n, unsigned block)
{
	struct block_figures f = { 0 };
	for (unsigned i = 0; i < n; i++) {
		f.runs += t[i].runs;
		f.mean += 100 * t[i].block_sum[block];
		further(&f.worst, 100 * t[i].block_worst[block]);
	}
	f.mean /= f.runs ? (double)f.runs : 1;
	return f;
}

void twin_blocks_print(FILE *f, const struct twin_table *t, unsigned n)
{
	fprintf(f, "| block | of runs | mean | worst |\n| --- | --- | --- | --- |\n");
	for (unsigned b = 0; b < TWIN_BLOCKS; b++) {
		struct block_figures is = block_figures(t, n, b);
		fprintf(f, "| %s | %llu | %.2f %% | %+.2f %% |\n", block_names[b], is.runs, is.mean, is.worst);
	}
}

static void check_grown(double is, double said, const char *what, char *out, uint64_t size)
{
	if (fabs(is) > fabs(said) + 0.006)
		snprintf(out, size, "%s is %.2f %%, the page says %.2f %%", what, is, said);
}

const char *twin_table_grown(const struct twin_table *t, FILE *page, char *out, uint64_t size)
{
	char line[512], name[32];
	unsigned long long runs, beyond;
	struct twin_figures is = figures_of(t), said;
	out[0] = '\0';
	rewind(page);
	while (fgets(line, sizeof line, page)) {
		if (sscanf(line, "| %31[a-z ] | %llu | %lf %% | %lf %% | %lf %% | %lf %% | %lf %% | %lf %% | %llu |",
			   name, &runs, &said.total_mean, &said.total_worst, &said.active_mean, &said.active_worst,
			   &said.cause_mean, &said.cause_worst, &beyond) != 9)
			continue;
		name[strcspn(name, " ")] = '\0';
		if (strcmp(name, t->name))
			continue;
		check_grown(is.total_mean, said.total_mean, "the mean of total cycles", out, size);
		check_grown(is.total_worst, said.total_worst, "the worst of total cycles", out, size);
		check_grown(is.active_mean, said.active_mean, "the mean of active cycles", out, size);
		check_grown(is.active_worst, said.active_worst, "the worst of active cycles", out, size);
		check_grown(is.cause_mean, said.cause_mean, "the mean of a cause", out, size);
		check_grown(is.cause_worst, said.cause_worst, "the worst of a cause", out, size);
		if (t->runs != runs || t->beyond > beyond)
			snprintf(out, size, "%llu of %llu runs are beyond 5 %%, the page says %llu of %llu",
				 (unsigned long long)t->beyond, (unsigned long long)t->runs, beyond, runs);
		return out[0] ? out : NULL;
	}
	snprintf(out, size, "the page has no row for it");
	return out;
}

const char *twin_blocks_grown(const struct twin_table *t, unsigned n, FILE *page, char *out, uint64_t size)
{
	char line[512], name[32];
	unsigned rows = 0;
	out[0] = '\0';
	rewind(page);
	while (fgets(line, sizeof line, page)) {
		struct block_figures said;
		if (sscanf(line, "| %31[a-zA-Z] | %llu | %lf %% | %lf %% |", name, &said.runs, &said.mean, &said.worst) != 4)
			continue;
		for (unsigned b = 0; b < TWIN_BLOCKS; b++) {
			struct block_figures is = block_figures(t, n, b);
			if (strcmp(name, block_names[b]))
				continue;
			rows++;
			check_grown(is.mean, said.mean, name, out, size);
			check_grown(is.worst, said.worst, name, out, size);
			if (is.runs != said.runs)
				snprintf(out, size, "%s: %llu runs, the page says %llu", name, is.runs, said.runs);
		}
	}
	if (rows != TWIN_BLOCKS)
		snprintf(out, size, "the page has rows for %u of %u blocks", rows, (unsigned)TWIN_BLOCKS);
	return out[0] ? out : NULL;
}
