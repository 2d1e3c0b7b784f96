/* SPDX-License-Identifier: Apache-2.0 */
/* Both runs of a comparison once more, for their events; then one timeline of both. */
#include "sim/cmd/compare_parts.h"

#include "isa/plain.h"
#include "isa/units.h"
#include "sim/forks.h"
#include "sim/played.h"
#include "sim/report_read.h"
#include "sim/rerun.h"
#include "sim/timeline/pair.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const letters[ALIGN_RUNS] = { "A", "B" };

/* One of the two. */
struct side {
	struct rerun rerun;
	struct work work;
	FILE *file; /* its events */
	char name[256], title[160];
	struct simulation_request request;
	struct simulation *simulation;
};

struct pair_of_runs {
	struct side sides[ALIGN_RUNS];
};

/* "edge-1mb", "edge-1mb, changed": as the run itself was called. */
static void name_machine(struct side *side, const json_t *report)
{
	bool changed = json_array_size(report_value(report, "hw.changed")) > 0;
	char shown[128];
	const char *name = report_text(report, "hw.name");
	npu_plain(name, strlen(name), shown, sizeof shown);
	snprintf(side->title, sizeof side->title, "%s%s", shown, changed ? ", changed" : "");
}

static bool prepare(struct side *side, const struct cli *cli, unsigned r, const json_t *report, struct npu_error *err)
{
	const char *path = cli->words[r], *subject = report_text(report, "command.subject");
	/* --program is of the one that is no kernel. */
	const char *program = npu_kernel_find(subject) ? NULL : cli_value(cli, "program");
	npu_plain(path, strlen(path), side->name, sizeof side->name);
	if (!rerun_of_report(&side->rerun, report, path, program, err) ||
	    !rerun_work(&side->rerun, &side->work, err))
		return false;
	if (!(side->file = tmpfile()))
		return npu_fail(err, NPU_ERR_IO, "no temporary file for the events of the runs");
	name_machine(side, report);
	const struct work *work = &side->work;
	side->request = (struct simulation_request){
		.hw = &work->config.hw, .dram_part = work->config.dram_part, .title = side->title, .preset = work->config.preset,
		.changes = work->config.changes, .program = work->program, .command = "run", .subject = work->subject,
		.kernel = work->kernel, .args = work->kernel ? &work->args : NULL, .macro = work->macro,
		.ideal = side->rerun.ideal, .want_record = true,
	};
	return true;
}

static bool keep_run(void *ctx, unsigned i, void *answer, struct npu_error *err)
{
	struct side *side = &((struct pair_of_runs *)ctx)->sides[i];
	*(char *)answer = 0;
	return played_keep(&side->request, side->file, err);
}

static const char *name_of(void *ctx, unsigned i) { return ((struct pair_of_runs *)ctx)->sides[i].name; }

/* That it is the run of the report. */
static bool check_run(const struct side *side, unsigned r, const json_t *report, struct npu_error *err)
{
	char hash[32];
	uint64_t cycles = simulation_cycles(side->simulation);
	snprintf(hash, sizeof hash, "%016" PRIx64, side->work.program->hash);
	if (cycles == report_count(report, "cycles") && strcmp(hash, report_text(report, "program.hash")) == 0)
		return true;
	return npu_fail(err, NPU_ERR_VALUE, "%s takes %s cycles, but its report tells of %s: it is not of this program, machine and version",
			letters[r], npu_count_text(cycles).text, npu_count_text(report_count(report, "cycles")).text);
}

static bool play(struct side *side, unsigned r, const json_t *report, struct npu_error *err)
{
	side->request.played = side->file;
	side->simulation = simulate(&side->request, err);
	return side->simulation && check_run(side, r, report, err);
}

static bool run_both(struct pair_of_runs *p, const struct cli *cli, const json_t *const reports[ALIGN_RUNS], struct npu_error *err)
{
	char answers[ALIGN_RUNS];
	for (unsigned r = 0; r < ALIGN_RUNS; r++)
		if (!prepare(&p->sides[r], cli, r, reports[r], err))
			return false;
	struct forks forks = { .n = ALIGN_RUNS, .parallel = ALIGN_RUNS, .ctx = p, .answers = answers, .answer_bytes = 1,
			       .run = keep_run, .name = name_of };
	if (!forks_run(&forks, err))
		return false;
	for (unsigned r = 0; r < ALIGN_RUNS; r++)
		if (!play(&p->sides[r], r, reports[r], err))
			return false;
	return true;
}

static void fini(struct pair_of_runs *p)
{
	for (unsigned r = 0; r < ALIGN_RUNS; r++) {
		struct side *side = &p->sides[r];
		simulation_free(side->simulation);
		if (side->file)
			fclose(side->file);
		work_fini(&side->work);
		rerun_fini(&side->rerun);
	}
}

/* Every file is tried; false with the error of the last that failed. */
static bool write_all(const struct cli *cli, const struct timeline_pair *pair, bool tables, struct npu_error *err)
{
	uint64_t together = pair->align->nmarks - 1;
	unsigned at = 0;
	bool ok = true;
	for (const char *path; (path = cli_next(cli, "timeline", &at));) {
		char shown[1024];
		if (!timeline_pair_write(pair, path, err)) {
			ok = false;
			continue;
		}
		npu_plain(path, strlen(path), shown, sizeof shown);
		if (tables)
			printf("\ntimeline  %s   %s of both runs, %s of them shown beginning together\n", shown,
			       npu_number_of(pair->align->npairs, "region").text, npu_count_text(together).text);
		fflush(stdout);
		timeline_warn(path, "", stderr);
	}
	return ok;
}

bool compare_timeline_check(const struct cli *cli, struct npu_error *err)
{
	unsigned at = 0;
	for (const char *path; (path = cli_next(cli, "timeline", &at));)
		if (!timeline_pair_check(path, err))
			return false;
	return true;
}

bool compare_timeline(const struct cli *cli, const json_t *a, const json_t *b, bool tables, struct npu_error *err)
{
	struct pair_of_runs *p = calloc(1, sizeof *p);
	const json_t *const reports[ALIGN_RUNS] = { a, b };
	struct align align = { 0 };
	if (!p)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	bool ok = run_both(p, cli, reports, err);
	if (ok) {
		const struct simulation *const runs[ALIGN_RUNS] = { p->sides[0].simulation, p->sides[1].simulation };
		struct timeline_pair pair = {
			.runs = { runs[0], runs[1] }, .names = { p->sides[0].name, p->sides[1].name }, .reports = { a, b },
			.align = &align,
		};
		ok = align_init(&align, runs) ? write_all(cli, &pair, tables, err)
					      : npu_fail(err, NPU_ERR_MEMORY, "out of memory for the timeline");
		align_fini(&align);
	}
	fini(p);
	free(p);
	return ok;
}
