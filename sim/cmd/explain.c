/* SPDX-License-Identifier: Apache-2.0 */
/* npusim explain: why a run takes as long as it does, and what would help. */
#include "sim/explain.h"

#include "isa/units.h"
#include "sim/cli_work.h"
#include "sim/cmd/report_file.h"
#include "sim/forks.h"
#include "sim/report_json.h"
#include "sim/report_read.h"
#include "sim/report_table.h"
#include "sim/rerun.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IDEALS = 5, RUNS = 1 + IDEALS + IDEALS * (IDEALS - 1) / 2, JOBS = RUNS + EXPLAIN_RULES * EXPLAIN_TRIES };

/* Runs of --what-if: the run itself, each part ideal, each pair, then what the findings would try. */
struct what_if {
	struct rerun_job jobs[JOBS];
	unsigned n, ntries;
	unsigned of[EXPLAIN_RULES][EXPLAIN_TRIES]; /* job of a finding's try */
};

static const char *ideal_names(unsigned ideal, char out[64])
{
	size_t used = 0;
	out[0] = '\0';
	for (unsigned bit = 0; bit < IDEALS; bit++)
		if (ideal & 1u << bit)
			used += (size_t)snprintf(out + used, 64 - used, "%s%s", used ? "," : "", simulate_ideal_name(bit));
	return out;
}

static void plan(struct what_if *w, const struct explain *x)
{
	w->jobs[w->n++] = (struct rerun_job){ .settings = "" };
	for (unsigned i = 0; i < IDEALS; i++)
		w->jobs[w->n++] = (struct rerun_job){ .settings = "", .ideal = 1u << i };
	for (unsigned i = 0; i < IDEALS; i++)
		for (unsigned j = i + 1; j < IDEALS; j++)
			w->jobs[w->n++] = (struct rerun_job){ .settings = "", .ideal = 1u << i | 1u << j };
	for (unsigned i = 0; i < x->nfindings; i++)
		for (unsigned t = 0; t < x->findings[i].ntries; t++) {
			w->of[i][t] = w->n;
			w->jobs[w->n++] = (struct rerun_job){ .settings = x->findings[i].tries[t] };
		}
}

static bool run_what_if(struct what_if *w, const struct explain *x, const struct rerun *r, struct npu_error *err)
{
	plan(w, x);
	if (!rerun_jobs(r, w->jobs, w->n, err))
		return false;
	if (!w->jobs[0].ok)
		return npu_fail(err, NPU_ERR_VALUE, "the run cannot be repeated: %s", w->jobs[0].why);
	if ((double)w->jobs[0].cycles != x->cycles)
		return npu_fail(err, NPU_ERR_VALUE, "the run takes %s cycles, but the report tells of %s: it is not of this program, "
						    "machine and version", npu_count_text(w->jobs[0].cycles).text,
				npu_count_text((uint64_t)x->cycles).text);
	return true;
}

/* The job with that one part ideal; NULL: there is none, or it did not run. */
static const struct rerun_job *ideal_job(const struct what_if *w, const char *part)
{
	for (unsigned i = 1; i <= IDEALS; i++)
		if (strcmp(simulate_ideal_name(i - 1), part) == 0 && w->jobs[i].ok)
			return &w->jobs[i];
	return NULL;
}

/* What was run says better what can be won than what was reckoned. A finding's tries keep their jobs. */
static void bound_findings(struct what_if *w, struct explain *x)
{
	unsigned of[EXPLAIN_RULES][EXPLAIN_TRIES];
	for (unsigned i = 0; i < x->nfindings; i++) {
		const char *says = explain_rule_ideal(x->findings[i].rule);
		const struct rerun_job *job = ideal_job(w, says);
		double most = job ? x->cycles - (double)job->cycles : x->cycles, won = 0;
		bool tried_all = strcmp(says, "try") == 0 && x->findings[i].ntries > 0;
		for (unsigned t = 0; t < x->findings[i].ntries; t++) {
			const struct rerun_job *tried = &w->jobs[w->of[i][t]];
			tried_all = tried_all && tried->ok;
			won = tried->ok && x->cycles - (double)tried->cycles > won ? x->cycles - (double)tried->cycles : won;
		}
		explain_bound(x, i, most > 0 && !tried_all ? most : 0, won);
		memcpy(of[x->findings[i].rule], w->of[i], sizeof(w->of[i]));
	}
	explain_sort(x);
	for (unsigned i = 0; i < x->nfindings; i++)
		memcpy(w->of[i], of[x->findings[i].rule], sizeof(w->of[i]));
}

/* ---- tables ---- */

static void print_try(const struct rerun_job *job, const char *settings, double cycles, bool energy)
{
	printf("   try       %s", settings);
	if (job && job->ok)
		printf("   simulated: %s cycles, %.3f times as fast; MAC utilisation %.1f %%", npu_count_text(job->cycles).text,
		       job->cycles ? cycles / (double)job->cycles : 0, 100 * job->mac_utilization);
	if (job && job->ok && energy)
		printf(", %.2f uJ", job->energy_uj);
	if (job && !job->ok)
		printf("   not legal: %.120s", job->why);
	putchar('\n');
}

/* Whether an earlier try came to the same: what it leaves out follows from the rest. */
static bool is_same_run(const struct what_if *w, const unsigned of[EXPLAIN_TRIES], unsigned t)
{
	const struct rerun_job *job = &w->jobs[of[t]];
	for (unsigned i = 0; i < t; i++) {
		const struct rerun_job *other = &w->jobs[of[i]];
		if (job->ok && other->ok && job->cycles == other->cycles && job->dram_bytes == other->dram_bytes &&
		    job->sram_peak_bytes == other->sram_peak_bytes && job->accum_peak_bytes == other->accum_peak_bytes)
			return true;
	}
	return false;
}

static void print_finding(const struct explain *x, unsigned i, const struct what_if *w)
{
	const struct explain_finding *f = &x->findings[i];
	if (f->energy_uj > 0)
		printf("%u  %-64s %13.2f uJ\n", i + 1, f->title, f->energy_uj);
	else
		printf("%u  %-64s %12s cycles %6.1f %%\n", i + 1, f->title, npu_count_text((uint64_t)f->cycles).text,
		       100 * f->cycles / x->cycles);
	for (unsigned k = 0; k < f->nevidence; k++)
		printf("   %-9s %s\n", k ? "" : "evidence", f->evidence[k]);
	if (f->place[0])
		printf("   mostly    %s\n", f->place);
	printf("   advice    %s\n", f->advice);
	for (unsigned t = 0; t < f->ntries; t++)
		if (!w || !is_same_run(w, w->of[i], t))
			print_try(w ? &w->jobs[w->of[i][t]] : NULL, f->tries[t], x->cycles, f->energy_uj > 0);
}

static bool print_what_if(const struct what_if *w, const struct report_style *style)
{
	static const char *const titles[] = { "what if", "cycles", "speed-up", NULL };
	struct report_table *t = report_table_new(titles);
	char names[64];
	for (unsigned i = 1; t && i < RUNS; i++) {
		const struct rerun_job *job = &w->jobs[i];
		report_table_row(t, ideal_names(job->ideal, names));
		if (!job->ok)
			continue;
		report_table_count(t, job->cycles);
		report_table_real(t, job->cycles ? (double)w->jobs[0].cycles / (double)job->cycles : 0, 3);
	}
	putchar('\n');
	return t && report_table_print(t, stdout, style);
}

/* "ideal dram, sram; " of a run with perfect parts. */
static void print_ideal(const json_t *report)
{
	size_t i;
	json_t *part;
	const char *name, *comma = "ideal ";
	json_array_foreach(report_value(report, "ideal"), i, part)
		for (unsigned bit = 0; (name = simulate_ideal_name(bit)) && json_is_string(part); bit++)
			if (strcmp(name, json_string_value(part)) == 0) {
				printf("%s%s", comma, name);
				comma = ", ";
			}
	if (comma[0] == ',')
		printf("; ");
}

static bool print_text(const struct explain *x, const struct what_if *w)
{
	const char *no_color = getenv("NO_COLOR"), *machine = report_text(x->report, "hw.name");
	struct report_style style = { .color = isatty(STDOUT_FILENO) && !(no_color && *no_color) };
	double still = x->cycles - x->active[NPU_ENGINE_MATRIX];
	printf("%s on %s%s: %s cycles, bound by %s; ", report_text(x->report, "command.subject"), machine,
	       json_array_size(report_value(x->report, "hw.changed")) ? ", changed" : "",
	       npu_count_text((uint64_t)x->cycles).text, report_text(x->report, "bound"));
	print_ideal(x->report);
	printf("the array stands still for %s (%.1f %%)\n", npu_count_text((uint64_t)(still > 0 ? still : 0)).text,
	       still > 0 ? 100 * still / x->cycles : 0);
	for (unsigned i = 0; i < x->nfindings; i++) {
		putchar('\n');
		print_finding(x, i, w);
	}
	if (x->nfindings == 0)
		printf("\nno rule finds more than its least share of the cycles\n");
	if (w && !print_what_if(w, &style))
		return false;
	if (x->nfindings || w)
		printf("\nA gain is an upper bound unless marked simulated; gains of different rules do not add.\n");
	if (x->unasked)
		printf("%u rules were not asked: the report has no rows of instructions; npusim run ... --report R.json "
		       "--instructions writes them\n", x->unasked);
	return true;
}

/* ---- JSON ---- */

static json_t *job_json(const struct rerun_job *job, double cycles)
{
	if (!job->ok)
		return json_pack("{s:b, s:s, s:n, s:n, s:n}", "simulated", 0, "why", job->why, "cycles", "speed_up", "energy_uj");
	return json_pack("{s:b, s:s, s:I, s:f, s:f}", "simulated", 1, "why", "", "cycles", (json_int_t)job->cycles, "speed_up",
			 job->cycles ? cycles / (double)job->cycles : 0.0, "energy_uj", job->energy_uj);
}

static json_t *try_json(const struct rerun_job *job, const char *settings, double cycles)
{
	json_t *row = job ? job_json(job, cycles) : json_pack("{s:b, s:s, s:n, s:n, s:n}", "simulated", 0, "why", "", "cycles", "speed_up",
								    "energy_uj");
	if (row)
		json_object_set_new(row, "settings", json_string(settings));
	return row;
}

static json_t *finding_json(const struct explain *x, unsigned i, const struct what_if *w)
{
	const struct explain_finding *f = &x->findings[i];
	json_t *evidence = json_array(), *tries = json_array();
	for (unsigned k = 0; k < f->nevidence; k++)
		json_array_append_new(evidence, json_string(f->evidence[k]));
	for (unsigned t = 0; t < f->ntries; t++)
		json_array_append_new(tries, try_json(w ? &w->jobs[w->of[i][t]] : NULL, f->tries[t], x->cycles));
	return json_pack("{s:s, s:s, s:I, s:f, s:f, s:s, s:o, s:s, s:o}", "rule", explain_rule_name(f->rule), "title", f->title,
			 "cycles", (json_int_t)f->cycles, "cycles_fraction", f->cycles / x->cycles, "energy_uj", f->energy_uj,
			 "place", f->place, "evidence", evidence, "advice", f->advice, "try", tries);
}

static json_t *to_json(const struct explain *x, const struct what_if *w)
{
	json_t *report = report_begin("npusim.explain/1", "explain", report_text(x->report, "command.subject"));
	json_t *findings = json_array(), *ifs = json_array();
	char names[64];
	for (unsigned i = 0; i < x->nfindings; i++)
		json_array_append_new(findings, finding_json(x, i, w));
	for (unsigned i = 1; w && i < RUNS; i++) {
		json_t *row = job_json(&w->jobs[i], x->cycles);
		json_object_set_new(row, "ideal", json_string(ideal_names(w->jobs[i].ideal, names)));
		json_array_append_new(ifs, row);
	}
	json_object_set_new(report, "run", json_string(report_text(x->report, "command.line")));
	json_object_set_new(report, "cycles", json_integer((json_int_t)x->cycles));
	json_object_set_new(report, "bound", json_string(report_text(x->report, "bound")));
	json_object_set_new(report, "rules_not_asked", json_integer(x->unasked));
	json_object_set_new(report, "findings", findings);
	json_object_set_new(report, "what_if", ifs);
	return report;
}

/* ---- the command ---- */

static bool resolve_args(const struct npu_kernel *kernel, const struct npu_capacity *capacity, const struct rerun *r, unsigned without,
			 struct npu_args *args)
{
	struct npu_error ignored = { 0 };
	npu_args_init(kernel, args);
	for (unsigned i = 0; i < r->cli.nparameters; i++)
		if (i != without && !npu_args_set(kernel, args, r->cli.parameters[i], &ignored))
			return false;
	return kernel->resolve ? kernel->resolve(capacity, args, &ignored) : npu_args_check(kernel, args, &ignored);
}

/* A report has every parameter. Those that follow from the others are left out, last ones first, so that they follow what is
 * tried, too: another type has other tiles. */
static void leave_out_derived(struct rerun *r)
{
	const struct npu_kernel *kernel = npu_kernel_find(r->word);
	struct npu_error ignored = { 0 };
	struct npu_args all, fewer;
	struct work work;
	bool ok = work_config(&work, &r->cli, &ignored);
	struct npu_capacity capacity = ok ? hw_capacity(&work.config.hw) : (struct npu_capacity){ 0 };
	work_fini(&work);
	if (!ok || !resolve_args(kernel, &capacity, r, UINT_MAX, &all))
		return;
	for (unsigned i = r->cli.nparameters; i-- > 0;) {
		if (!resolve_args(kernel, &capacity, r, i, &fewer) || memcmp(all.value, fewer.value, sizeof all.value) != 0)
			continue;
		memmove(&r->cli.parameters[i], &r->cli.parameters[i + 1], (r->cli.nparameters - i - 1) * sizeof *r->cli.parameters);
		r->cli.nparameters--;
	}
}

/* What-if of a kernel is the same whether a report or a command line names it. */
static bool run_kernel_if(struct what_if *w, const struct explain *x, const struct rerun *given, struct npu_error *err)
{
	struct rerun r;
	if (!npu_kernel_find(given->word) || report_value(x->report, "command.memory"))
		return run_what_if(w, x, given, err);
	if (!rerun_of_report(&r, x->report, given->word, NULL, err))
		return false;
	/* The list is a part of what is freed. */
	const char **copy = calloc(r.cli.nparameters + 1, sizeof *copy), **listed = r.cli.parameters;
	if (copy && r.cli.nparameters)
		memcpy(copy, listed, r.cli.nparameters * sizeof *copy);
	r.cli.parameters = copy;
	if (copy)
		leave_out_derived(&r);
	bool ok = copy ? run_what_if(w, x, &r, err) : npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	free(copy);
	rerun_fini(&r);
	return ok;
}

static int explain_report(const struct cli *cli, const json_t *report, const struct rerun *r)
{
	struct npu_error err = { 0 };
	struct explain *x = calloc(1, sizeof *x);
	struct what_if *w = cli_value(cli, "what-if") ? calloc(1, sizeof *w) : NULL;
	if (!x || (cli_value(cli, "what-if") && !w)) {
		free(x);
		free(w);
		return cli_usage("out of memory");
	}
	int status = 0;
	if (!explain_init(x, report, &err) || (w && !run_kernel_if(w, x, r, &err))) {
		status = cli_fail(&err);
	} else {
		if (w)
			bound_findings(w, x);
		if (report_wants_lines(cli) && !print_text(x, w))
			status = cli_usage("out of memory");
		int written = cli_value(cli, "report") ? report_finish(cli, to_json(x, w)) : 0;
		status = status ? status : written;
	}
	explain_fini(x);
	free(x);
	free(w);
	return status;
}

/* What the child that runs the program of the command line needs and tells. */
struct first_run {
	const struct cli *cli;
	FILE *file; /* its report */
};

/* As `npusim run --instructions` does; the report goes into the file. */
static int simulate_program(const struct cli *cli, const struct work *work, void *context)
{
	struct npu_error err = { 0 };
	struct simulation_request request = {
		.hw = &work->config.hw, .dram_part = work->config.dram_part, .title = work->config.title,
		.preset = work->config.preset, .changes = work->config.changes, .program = work->program, .command = "run",
		.subject = work->subject, .kernel = work->kernel, .args = work->kernel ? &work->args : NULL,
		.macro = work->macro, .want_record = true, .want_insns = true,
		.progress = isatty(STDERR_FILENO) ? stderr : NULL,
	};
	(void)cli;
	struct simulation *s = simulate(&request, &err);
	if (!s)
		return cli_fail(&err);
	bool ok = report_write_json(s, context, &err) && fflush(context) == 0;
	simulation_free(s);
	return ok ? 0 : cli_usage("the report of the run cannot be kept: no room for a temporary file");
}

static bool run_first(void *ctx, unsigned i, void *answer, struct npu_error *err)
{
	struct first_run *first = ctx;
	(void)i;
	(void)err;
	*(int *)answer = work_run(first->cli, simulate_program, first->file);
	return true;
}

static const char *first_name(void *ctx, unsigned i)
{
	(void)i;
	return ((struct first_run *)ctx)->cli->words[0];
}

/* In a child, for a process that has run a machine once has no second one to give to those of --what-if. */
static int run_program(const struct cli *cli, json_t **report)
{
	struct npu_error err = { 0 };
	struct first_run first = { cli, tmpfile() };
	int status = 0;
	if (!first.file)
		return cli_usage("no temporary file for the report of the run");
	struct forks forks = { .n = 1, .parallel = 1, .ctx = &first, .answers = &status, .answer_bytes = sizeof status,
			       .run = run_first, .name = first_name };
	if (!forks_run(&forks, &err)) {
		status = cli_fail(&err);
	} else if (status == 0) {
		rewind(first.file);
		*report = json_loadf(first.file, 0, NULL);
		status = *report ? 0 : cli_usage("out of memory");
	}
	fclose(first.file);
	return status;
}

static bool is_report(const char *word)
{
	size_t n = strlen(word);
	return strcmp(word, "-") == 0 || (n > 5 && strcmp(word + n - 5, ".json") == 0);
}

/* The operator of a model's report that --operator names, else the one with most cycles. */
static const json_t *operator_of(const json_t *report, const char *name)
{
	const json_t *most = NULL;
	size_t i;
	json_t *row;
	json_array_foreach(report_value(report, "operators"), i, row) {
		if (name ? strcmp(report_text(row, "name"), name) == 0 && !most
			 : !most || report_real(row, "cycles") > report_real(most, "cycles"))
			most = row;
	}
	return most;
}

/* Each operator of a model is a run of its own: that of one of them, on the model's machine. */
static int explain_operator(const struct cli *cli, const json_t *model, const char *path)
{
	struct npu_error err = { 0 };
	struct rerun r = { 0 };
	const json_t *row = operator_of(model, cli_value(cli, "operator"));
	if (!row)
		return cli_usage("%s: no operator %.60s", path, cli_value(cli, "operator") ? cli_value(cli, "operator") : "in it");
	const char *kernel = report_text(row, "kernel");
	json_t *report = json_pack("{s:{s:s, s:s}, s:O?, s:O?}", "command", "subcommand", "run", "subject", kernel, "params",
				   json_object_get(row, "params"), "hw", json_object_get(model, "hw"));
	int status = 0;
	json_t *first = NULL;
	if (!report || !rerun_of_report(&r, report, path, NULL, &err)) {
		status = report ? cli_fail(&err) : cli_usage("out of memory");
	} else {
		struct cli of = r.cli;
		of.words = &kernel;
		of.nwords = 1;
		if (report_wants_lines(cli))
			printf("%s of %s: %s of %s cycles, %s\n", report_text(row, "name"), report_text(model, "command.subject"),
			       npu_count_text((uint64_t)(report_real(row, "cycles") + 0.5)).text,
			       npu_count_text((uint64_t)(report_real(model, "total.cycles") + 0.5)).text,
			       npu_number_of(report_count(row, "count"), "time").text);
		status = run_program(&of, &first);
		/* Its machine is the model's, every key of which was set. */
		json_t *hw = json_object_get(first, "hw");
		json_object_set(hw, "changed", (json_t *)report_value(model, "hw.changed"));
		json_object_set(hw, "name", (json_t *)report_value(model, "hw.name"));
	}
	if (status == 0)
		status = explain_report(cli, first, &r);
	json_decref(first);
	json_decref(report);
	rerun_fini(&r);
	return status;
}

static int explain_file(const struct cli *cli, const char *path)
{
	struct npu_error err = { 0 };
	struct rerun r = { 0 };
	if (cli->hw || cli->nsets || cli->nparameters)
		return cli_usage("%s: a report has its machine and its parameters; a kernel or program takes others", path);
	json_t *report = report_read_either(path, "npusim.report/1", "npusim.model/1",
					    "report of a run; npusim run ... --report FILE.json writes one", &err);
	int status = 0;
	if (!report)
		return cli_fail(&err);
	bool model = strcmp(report_text(report, "schema"), "npusim.model/1") == 0;
	if (model && !cli_value(cli, "program"))
		status = explain_operator(cli, report, path);
	else if (model)
		status = cli_usage("--program: of a run; the operators of a model are kernels");
	else if (cli_value(cli, "operator"))
		status = cli_usage("--operator: of a report of npusim model");
	else if (cli_value(cli, "what-if") && !rerun_of_report(&r, report, path, cli_value(cli, "program"), &err))
		status = cli_fail(&err);
	else
		status = explain_report(cli, report, &r);
	json_decref(report);
	rerun_fini(&r);
	return status;
}

static int run(struct cli *cli)
{
	struct rerun r = { 0 };
	const char *word = cli->words[0];
	json_t *report = NULL;
	if (is_report(word))
		return explain_file(cli, word);
	if (cli_value(cli, "program"))
		return cli_usage("--program %s: of a report; %s is the program", cli_value(cli, "program"), word);
	if (cli_value(cli, "operator"))
		return cli_usage("--operator: of a report of npusim model");
	rerun_of_cli(&r, cli, word);
	int status = run_program(cli, &report);
	if (status == 0)
		status = explain_report(cli, report, &r);
	json_decref(report);
	rerun_fini(&r);
	return status;
}

static const struct cli_option options[] = {
	{ "what-if", 0, NULL, "also run with each part, and each pair of parts, made perfect, and with what the findings would try" },
	{ "program", 0, "FILE", "of --what-if with a report: where the program of the run is, if it is no kernel and neither beside the report nor here" },
	{ "operator", 0, "NAME", "of a model's report: which of its operators; the one with most cycles when not given" },
	{ "report", 0, "FILE.json", "write the findings as JSON (npusim.explain/1); - is stdout, instead of the text" },
	MACRO_INCLUDE_OPTION,
	{ 0 },
};

const struct cli_command cmd_explain = {
	.name = "explain",
	.synopsis = "R.json|KERNEL|FILE.npu|FILE.npub|./PLUGIN.so [key=value...]",
	.summary = "why a run takes as long as it does, and what to try",
	.text = "Findings ordered by the cycles at stake, each with its evidence, the line where most of it is, and what to try. A "
		"report, of npusim run ... --report R.json --instructions, or a kernel or program that is run for it; of a report of npusim "
		"model one of its operators is.\n"
		"\n"
		"  npusim explain flash_attention seq=1024 heads=8 --what-if\n"
		"  npusim run gemm --report r.json --instructions -q && npusim explain r.json\n"
		"\n"
		"Cycles at stake are an upper bound of what a remedy can win, and those of different findings do not add; what is "
		"marked simulated was run.\n",
	.options = options,
	.min_words = 1,
	.max_words = 1,
	.takes_hardware = true,
	.takes_parameters = true,
	.takes_plugins = true,
	.run = run,
};
