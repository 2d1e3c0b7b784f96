/* SPDX-License-Identifier: Apache-2.0 */
/* npusim sweep: many points of a design space, run and answered. */
#include "sim/cli.h"
#include "sim/sweep/command.h"
#include "sim/sweep/figures.h"

#include <stdio.h>
#include <string.h>

static int list_figures(const struct cli *cli)
{
	(void)cli;
	for (unsigned i = 0; sweep_figures[i].name; i++)
		printf("%-40s %-12s %s\n", sweep_figures[i].name, sweep_figures[i].unit, sweep_figures[i].doc);
	return 0;
}

static const struct cli_option options[] = {
	{ "output", 'o', "FILE|FOLDER",
	  "run, submit: the folder of results, SPEC.sweep when not given; merge: the SQLite file; plot: the folder of "
	  "pictures" },
	{ "jobs", 'j', "N", "run, submit: points at a time; as many as there are processors when not given" },
	{ "shard", 0, "I/N", "run: the I-th of N parts of the points, for machines that share the work" },
	{ "dry-run", 0, NULL, "run: count the points and estimate the time; submit: write the scripts only" },
	{ "each", 0, NULL, "run: simulate each point, also those that cannot differ from another one" },
	{ "by", 0, "LIST",
	  "best, plot: the figure that is made best; cycles (time_us where clocks differ), or the first one of report, "
	  "when not given" },
	{ "against", 0, "LIST",
	  "plot: the figure across in the Pareto chart; several charts, against SRAM used, energy and traffic, when "
	  "not given" },
	{ "x", 0, "AXIS", "plot: across in the heat map; an axis of parameters when not given" },
	{ "y", 0, "AXIS",
	  "plot: up in the heat map, and whose values have their best; sram.size or a hardware axis when not given" },
	{ "where", 0, "CONDITION",
	  "best: only points for which it holds, as in 'sram.size<=1MiB'; axes, parameters and figures" },
	{ "top", 0, "N", "best: so many points instead of one" },
	{ "csv", 0, "FILE.csv", "merge: all points as CSV, too; - is stdout" },
	{ "json", 0, "FILE.json", "merge: all points as JSON, too; - is stdout" },
	{ "slurm", 0, NULL, "submit: an array of sbatch" },
	{ "shards", 0, "N", "submit: parts; 8 when not given" },
	{ "array-limit", 0, "N", "submit: parts that run at a time; all when not given" },
	{ "quiet", 'q', NULL, "run, best, plot, merge, submit: no progress" },
	{ 0 },
};

/* The help of an option says which parts take it: "run, submit: ...; merge: ...". In another one it would be ignored.
 */
static bool is_of(const struct cli_option *o, const char *part)
{
	for (const char *clause = o->help; *clause; clause += strcspn(clause, ";"), clause += *clause == ';') {
		size_t names = strcspn(clause, ":;");
		const char *at = strstr(clause, part);
		if (clause[names] == ':' && at && at < clause + names)
			return true;
	}
	return false;
}

static bool takes(const struct cli *cli, const char *part, const char **wrong)
{
	for (const struct cli_option *o = options; o->name; o++)
		if (cli_value(cli, o->name) && !is_of(o, part)) {
			*wrong = o->name;
			return false;
		}
	return true;
}

static int run(struct cli *cli)
{
	const char *wrong;
	static const struct {
		const char *word;
		int (*run)(const struct cli *);
		const char *words;
	} parts[] = {
		{ "run", sweep_run_command, "one SPEC.yaml" },
		{ "best", sweep_best_command, "one folder" },
		{ "plot", sweep_plot_command, "one folder" },
		{ "merge", sweep_merge_command, "one folder or more" },
		{ "submit", sweep_submit_command, "one SPEC.yaml" },
		{ "figures", list_figures, "nothing" },
	};
	enum { PARTS = sizeof parts / sizeof *parts };
	const char *names[PARTS];
	for (unsigned i = 0; i < PARTS; i++) {
		names[i] = parts[i].word;
		if (strcmp(cli->words[0], parts[i].word) != 0)
			continue;
		bool none = parts[i].run == list_figures, many = parts[i].run == sweep_merge_command;
		if (!takes(cli, parts[i].word, &wrong))
			return cli_usage("sweep %s takes no --%s", parts[i].word, wrong);
		if (cli->nwords == (none ? 1 : 2) || (many && cli->nwords > 2))
			return parts[i].run(cli);
		return cli_usage("sweep %s takes %s", parts[i].word, parts[i].words);
	}
	const char *near = npu_nearest(cli->words[0], names, PARTS);
	return cli_usage("sweep %.40s: %s%s%s", cli->words[0],
			 near ? "did you mean " : "run, best, plot, merge, submit or figures would be right",
			 near ? near : "", near ? "?" : "");
}

static void values(const char *option, struct cli_words *words)
{
	for (unsigned i = 0; (strcmp(option, "by") == 0 || strcmp(option, "against") == 0) && sweep_figures[i].name;
	     i++)
		cli_word(words, sweep_figures[i].name, sweep_figures[i].doc);
}

const struct cli_command cmd_sweep = {
	.name = "sweep",
	.synopsis = "run FILE.yaml | best FOLDER | plot FOLDER | merge FOLDER... | submit FILE.yaml | figures",
	.summary = "run a design space: axes over hardware keys and parameters, answers, charts",
	.text =
	    "run takes a specification: a kernel, a program, a plug-in or a model (`run`, `model`), fixed parameters "
	    "(`with`), the machine (`hw`), `axes` over hardware keys and parameters (lists, {pow2: [a, b]}, {range: "
	    "[a, b, step]}, {zip: {...}} for keys that go together), a condition (`where`), figures to show "
	    "(`report`), and for large spaces `sample: N` or `search: pareto`. docs/sweep.md tells all of it.\n"
	    "\n"
	    "  npusim sweep run sram.yaml -o results -j 4\n"
	    "  npusim sweep best results --by energy.total_uj --where 'sram.size<=1MiB'\n"
	    "  npusim sweep plot results\n"
	    "\n"
	    "Results are kept point by point: after Ctrl-C, a kill or a power cut the same command goes on. Points "
	    "that "
	    "are not legal are recorded with the reason; those that fail are tried twice and told with a command that "
	    "runs them again. The exit status is 1 when a point has failed or is missing.\n"
	    "\n"
	    "merge makes one SQLite file of a folder, or of several of the same sweep: a row a point, a column a "
	    "figure.\n"
	    "\n"
	    "  npusim sweep run sram.yaml -o results --shard 2/8\n"
	    "  npusim sweep submit sram.yaml -o results --slurm --shards 8\n"
	    "  npusim sweep merge results --csv results.csv\n",
	.options = options,
	.min_words = 1,
	.max_words = 256,
	.reads_plugins = true,
	.run = run,
	.values = values,
};
