/* SPDX-License-Identifier: Apache-2.0 */
/* npusim tune: tiles and buffering for a machine. */
#include "sim/sweep/tune.h"
#include "isa/units.h"
#include "sim/child.h"
#include "sim/cli_work.h"
#include "sim/report_table.h"
#include "sim/sweep/command.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static void print_result(const struct cli *cli, const struct tuning *t)
{
	const struct tune_candidate *best = &t->list[t->best], *own = &t->list[t->order[0]];
	char text[32];
	printf("\n%s combinations, %s legal%s: %s simulated, %s the program of another, %s ruled out by bounds, %s left by their estimate\nbest  ",
	       npu_count_text(t->all).text, npu_count_text(t->n - t->own_apart).text, t->own_apart ? " and the kernel's own" : "",
	       npu_count_text(t->nsimulated).text, npu_count_text(t->same).text, npu_count_text(t->pruned).text, npu_count_text(t->left).text);
	for (unsigned f = 0; f < t->nfree; f++)
		printf(" %s=%s", t->kernel->params[t->free[f]].name, value_text(t, best, f, text));
	printf("   %s cycles", npu_count_text(best->cycles).text);
	if (best != own)
		printf(", %.1f %% less than the kernel's own choice", 100 * (1 - (double)best->cycles / (double)own->cycles));
	else
		printf(", the kernel's own choice");
	printf("\n\nnpusim run %s", cli->words[0]);
	for (unsigned i = 0; i < cli->nparameters; i++)
		printf(" %s", cli->parameters[i]);
	for (unsigned f = 0; f < t->nfree; f++)
		printf(" %s=%s", t->kernel->params[t->free[f]].name, value_text(t, best, f, text));
	if (cli->hw)
		printf(" --hw %s", cli->hw);
	for (unsigned i = 0; i < cli->nsets; i++)
		printf(" %s", cli->sets[i]);
	fputc('\n', stdout);
}

static bool read_all(const struct cli *cli, struct work *work, uint64_t *most, uint64_t *jobs, struct npu_error *err)
{
	bool ok = work_config(work, cli, err);
	if (ok && work_is_file(cli->words[0]))
		return npu_fail(err, NPU_ERR_VALUE, "%.200s: tune takes kernels and plug-ins, not files; npusim sweep does, with axes over their parameters",
				cli->words[0]);
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
	uint64_t most = 0, jobs = child_parallel();
	bool ok = read_all(cli, &work, &most, &jobs, &err) &&
		  tune(&t, work.kernel, &work.args, &work.config, (unsigned)most, (unsigned)jobs, &err);
	if (ok && (cli_value(cli, "quiet") || print_tried(&t)))
		print_result(cli, &t);
	int status = ok ? 0 : cli_fail(&err);
	tune_fini(&t);
	work_fini(&work);
	return status;
}

static const struct cli_option options[] = {
	{ "simulations", 'n', "N", "how many at most; when not given a tenth of the legal tiles and bufferings, 64 at most, but 5 of fewer than 50 and all of fewer than 20" },
	{ "jobs", 'j', "N", "simulations at a time; as many as there are processors when not given" },
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
		"the command that runs the best.\n"
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
