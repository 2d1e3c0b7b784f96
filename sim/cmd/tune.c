/* SPDX-License-Identifier: Apache-2.0 */
/* npusim tune: tiles and buffering for a machine. */
#include "sim/sweep/tune.h"
#include "isa/units.h"
#include "sim/child.h"
#include "sim/cli_work.h"
#include "traces/model_config.h"
#include "sim/output.h"
#include "sim/report_json.h"
#include "sim/report_table.h"
#include "sim/sweep/command.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_INTERRUPTED = 130 };

static const char *value_text(const struct tuning *t, const struct tune_candidate *c, unsigned f, char out[32])
{
	const struct npu_param *p = &t->kernel->params[t->free[f]];
	if (p->type == NPU_PARAM_CHOICE)
		return p->choices[c->args.value[t->free[f]]];
	snprintf(out, 32, "%" PRId64, c->args.value[t->free[f]]);
	return out;
}

static bool print_tried(const struct tuning *t)
{
	const char *titles[TUNE_FREE + 6];
	char text[32];
	unsigned n = 0;
	titles[n++] = "run";
	for (unsigned f = 0; f < t->nfree; f++)
		titles[n++] = t->kernel->params[t->free[f]].name;
	titles[n++] = "at least";
	titles[n++] = "estimate";
	titles[n++] = "cycles";
	titles[n++] = "";
	titles[n] = NULL;
	struct report_table *table = report_table_new(titles);
	for (unsigned i = 0; table && i < t->nsimulated; i++) {
		const struct tune_candidate *c = &t->list[t->order[i]];
		snprintf(text, sizeof text, "%u", i + 1);
		report_table_row(table, text);
		for (unsigned f = 0; f < t->nfree; f++)
			report_table_text(table, value_text(t, c, f, text));
		report_table_count(table, (uint64_t)c->bound);
		report_table_count(table, (uint64_t)c->estimate);
		report_table_count(table, c->cycles);
		report_table_text(table, t->order[i] == t->best ? "best" : i == 0 ? "the kernel's own" : "");
	}
	return table && report_table_print(table, stdout, &(struct report_style){ .color = isatty(STDOUT_FILENO) && !getenv("NO_COLOR") });
}

/* As a shell takes it. */
static void print_word(FILE *out, const char *word)
{
	if (*word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+:,@=")]) {
		fprintf(out, " %s", word);
		return;
	}
	fputs(" '", out);
	for (; *word; word++)
		fputs(*word == '\'' ? "'\\''" : (char[]){ *word, '\0' }, out);
	fputc('\'', out);
}

/* The command that runs the best. */
static void print_command(FILE *out, const struct cli *cli, const struct tuning *t)
{
	char text[32];
	fputs("npusim run", out);
	print_word(out, cli->words[0]);
	for (unsigned i = 0; i < cli->nparameters; i++)
		print_word(out, cli->parameters[i]);
	for (unsigned f = 0; f < t->nfree; f++)
		fprintf(out, " %s=%s", t->kernel->params[t->free[f]].name, value_text(t, &t->list[t->best], f, text));
	if (cli->hw) {
		fputs(" --hw", out);
		print_word(out, cli->hw);
	}
	for (unsigned i = 0; i < cli->nsets; i++)
		print_word(out, cli->sets[i]);
}

static void print_result(const struct cli *cli, const struct tuning *t)
{
	const struct tune_candidate *best = &t->list[t->best], *own = &t->list[t->order[0]];
	char text[32];
	printf("\n%s combinations, %s legal%s: %s simulated, %s the program of another, %s ruled out by bounds, %s left%s\nbest  ",
	       npu_count_text(t->all).text, npu_count_text(t->n - t->own_apart).text, t->own_apart ? " and the kernel's own" : "",
	       npu_count_text(t->nsimulated).text, npu_count_text(t->same).text, npu_count_text(t->pruned).text, npu_count_text(t->left).text, t->stopped ? "" : " by their estimate");
	for (unsigned f = 0; f < t->nfree; f++)
		printf(" %s=%s", t->kernel->params[t->free[f]].name, value_text(t, best, f, text));
	printf("   %s cycles", npu_count_text(best->cycles).text);
	if (best != own)
		printf(", %.1f %% less than the kernel's own choice", 100 * (1 - (double)best->cycles / (double)own->cycles));
	else
		printf(", the kernel's own choice");
	printf("\n\n");
	print_command(stdout, cli, t);
	fputc('\n', stdout);
}

/* ---- JSON ---- */

static json_t *values_json(const struct tuning *t, const struct tune_candidate *c)
{
	json_t *values = json_object();
	for (unsigned f = 0; f < t->nfree; f++) {
		const struct npu_param *p = &t->kernel->params[t->free[f]];
		int64_t value = c->args.value[t->free[f]];
		json_object_set_new(values, p->name, p->type == NPU_PARAM_CHOICE ? json_string(p->choices[value]) : json_integer(value));
	}
	return values;
}

static json_t *candidate_json(const struct tuning *t, const struct tune_candidate *c)
{
	return json_pack("{s:o, s:i, s:I, s:I, s:I}", "values", values_json(t, c), "run", 0, "at_least_cycles", (json_int_t)c->bound,
			 "estimated_cycles", (json_int_t)c->estimate, "cycles", (json_int_t)c->cycles);
}

static bool write_json(const struct cli *cli, const struct tuning *t, const char *path, struct npu_error *err)
{
	char *command = NULL;
	size_t size = 0;
	FILE *text = open_memstream(&command, &size);
	if (!text)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	print_command(text, cli, t);
	json_t *tried = json_array(), *root = NULL;
	for (unsigned i = 0; i < t->nsimulated; i++) {
		json_t *c = candidate_json(t, &t->list[t->order[i]]);
		json_object_set_new(c, "run", json_integer((json_int_t)i + 1));
		json_array_append_new(tried, c);
	}
	if (fclose(text) == 0)
		root = json_pack("{s:s, s:s, s:o, s:s*, s:I, s:I, s:i, s:i, s:i, s:i, s:b, s:O, s:o, s:I, s:s}", "schema", "npusim.tune/1", "kernel",
				 t->kernel->name, "params", report_json_args(t->kernel, &t->list[t->best].args, NULL), "hw", t->config->title,
				 "combinations", (json_int_t)t->all, "legal", (json_int_t)t->n - t->own_apart, "simulated", (int)t->nsimulated,
				 "same_program", (int)t->same, "ruled_out", (int)t->pruned, "left", (int)t->left, "stopped", t->stopped, "tried",
				 tried, "best", values_json(t, &t->list[t->best]), "cycles", (json_int_t)t->list[t->best].cycles, "command", command);
	json_decref(tried);
	free(command);
	struct output *output = root ? output_open(path, err) : NULL;
	bool ok = output && output_end(output, report_json_print(root, output_stream(output)) || npu_fail(err, NPU_ERR_IO, "%s: cannot be written", path), err);
	if (!root)
		npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	json_decref(root);
	return ok;
}

/* ---- while it goes on ---- */

static volatile sig_atomic_t interrupted;
static void on_signal(int number) { interrupted = number; }

/* The first interruption ends the search, the second one the program. */
static void listen(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

struct line {
	bool shown;
	double next;
	struct timespec begun;
	unsigned simulated; /* before the search */
	double built_at;
};

static double seconds_since(const struct timespec *begun)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - begun->tv_sec) + (double)(now.tv_nsec - begun->tv_nsec) * 1e-9;
}

static bool go_on(void *ctx, const struct tuning *t, unsigned built, unsigned building, unsigned most)
{
	struct line *line = ctx;
	double now = seconds_since(&line->begun);
	if (built == building && line->built_at == 0) {
		line->built_at = now;
		line->simulated = t->nsimulated;
	}
	if (isatty(STDERR_FILENO) && now >= line->next && !interrupted) {
		line->next = now + 0.2;
		line->shown = true;
		unsigned done = t->nsimulated - line->simulated;
		if (built < building)
			fprintf(stderr, "\r\033[Kestimated %u of %u", built, building);
		else
			fprintf(stderr, "\r\033[Ksimulated %u of at most %u, best %s cycles", t->nsimulated, most, npu_count_text(t->list[t->best].cycles).text);
		if (built == building && done)
			fprintf(stderr, ", at most %.0f s left", (now - line->built_at) / done * (most - t->nsimulated));
		fflush(stderr);
	}
	return !interrupted;
}

static bool read_all(const struct cli *cli, struct work *work, uint64_t *most, uint64_t *jobs, struct npu_error *err)
{
	bool ok = work_config(work, cli, err);
	if (ok && work_is_file(cli->words[0]))
		return npu_fail(err, NPU_ERR_VALUE, "%.200s: tune takes kernels and plug-ins, not files; npusim sweep does, with axes over their parameters",
				cli->words[0]);
	if (ok && !npu_kernel_find(cli->words[0]) && model_find(cli->words[0]))
		return npu_fail(err, NPU_ERR_VALUE, "%.200s is a model; tune takes one of its kernels, and npusim model %.200s --plan lists them with their tiles",
				cli->words[0], cli->words[0]);
	work->kernel = ok ? kernel_find(cli->words[0], err) : NULL;
	if (!work->kernel)
		return false;
	npu_args_init(work->kernel, &work->args);
	for (unsigned i = 0; i < cli->nparameters; i++)
		if (!npu_args_set(work->kernel, &work->args, cli->parameters[i], err))
			return false;
	return sweep_read_number(cli, "simulations", TUNE_MOST, most, err) && sweep_read_number(cli, "jobs", 64, jobs, err);
}

static int run(struct cli *cli)
{
	struct work work;
	struct tuning t = { 0 };
	struct npu_error err = { 0 };
	struct line line = { .next = 0.5 };
	uint64_t most = 0, jobs = child_parallel();
	const char *json = cli_value(cli, "json");
	bool ok = read_all(cli, &work, &most, &jobs, &err);
	clock_gettime(CLOCK_MONOTONIC, &line.begun);
	interrupted = 0;
	listen();
	ok = ok && tune(&t, work.kernel, &work.args, &work.config, (unsigned)most, (unsigned)jobs, &(struct tune_watch){ &line, go_on }, &err);
	if (line.shown)
		fputs("\r\033[K", stderr);
	bool table = ok && !(json && strcmp(json, "-") == 0);
	if (table && (cli_value(cli, "quiet") || print_tried(&t)))
		print_result(cli, &t);
	ok = ok && (!json || write_json(cli, &t, json, &err));
	if (ok && t.stopped)
		fprintf(stderr, "npusim: interrupted; this is the best of the %u simulated so far\n", t.nsimulated);
	int status = !ok ? cli_fail(&err) : t.stopped ? STATUS_INTERRUPTED : 0;
	tune_fini(&t);
	work_fini(&work);
	return status;
}

static const struct cli_option options[] = {
	{ "simulations", 'n', "N", "how many at most; when not given a tenth of the legal tiles and bufferings, 64 at most, but 5 of fewer than 50 and all of fewer than 20" },
	{ "jobs", 'j', "N", "simulations at a time; as many as there are processors when not given" },
	{ "json", 0, "FILE.json", "what was tried and found as JSON, too; - is stdout, without a table" },
	{ "quiet", 'q', NULL, "no table of what was tried" },
	{ 0 },
};

const struct cli_command cmd_tune = {
	.name = "tune",
	.synopsis = "KERNEL [key=value...]",
	.summary = "find tile sizes and buffering that are fast on a machine",
	.text = "Looks at all combinations of tile sizes (powers of two, 16 to 512), buffering and order of loops that nobody named and "
		"the memories have room for. Issue, DRAM traffic, MACs and passes of the vector engine bound what each takes at least; an estimate, "
		"made of what each instruction of its program costs, ranks them; a few are simulated: the kernel's own choice, then those that are "
		"expected to gain most after what was learned of the estimate nearby, until none is likely to be better. Prints what it tried and "
		"the command that runs the best; interrupted, of what was tried so far.\n"
		"\n"
		"  npusim tune flash_attention seq=512 heads=8 --hw edge-2mb\n"
		"  npusim tune gemm m=256 n=512 k=512 buffering=double sram.size=512KiB\n",
	.options = options,
	.min_words = 1,
	.max_words = 1,
	.takes_hardware = true,
	.takes_parameters = true,
	.takes_plugins = true,
	.run = run,
};
