/* SPDX-License-Identifier: Apache-2.0 */
/* npusim run: simulates a kernel or a program and tells what happened. */
#include "sim/budget.h"
#include "sim/cmd/check_output.h"
#include "sim/cmd/warnings.h"
#include "sim/report_json.h"
#include "sim/memory_plugin.h"
#include "sim/output.h"
#include "sim/simulate_parts.h"
#include "sim/values_cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool parse_ideal(const char *list, unsigned *bits, struct npu_error *err)
{
	do {
		size_t length = strcspn(list, ",");
		unsigned i = 0;
		const char *name;
		while ((name = simulate_ideal_name(i)) && (strlen(name) != length || memcmp(name, list, length) != 0))
			i++;
		if (!name)
			return npu_fail(err, NPU_ERR_USAGE,
					"--ideal %.*s: dram, sram, vector, matrix, dispatch, with commas between, would be right",
					(int)(length < 40 ? length : 40), list);
		*bits |= 1u << i;
		list += length + (list[length] == ',');
	} while (*list);
	return true;
}

/* The file of the n-th output, NULL behind the last; "-" is none. */
static const char *output_file(const struct cli *cli, unsigned n)
{
	static const char *const options[] = { "report", "timeline", "dram-trace", "dump" };
	for (unsigned i = 0; i < sizeof options / sizeof *options; i++) {
		unsigned at = 0;
		for (const char *text; (text = cli_next(cli, options[i], &at));) {
			const char *equals = strcmp(options[i], "dump") == 0 ? strchr(text, '=') : NULL;
			if (n-- == 0)
				return equals ? equals + 1 : text;
		}
	}
	return NULL;
}

/* Devices and pipes take more than one. */
static bool is_replaced(const char *path)
{
	struct stat st;
	return strcmp(path, "-") != 0 && (stat(path, &st) != 0 || S_ISREG(st.st_mode));
}

/* The last one would silently replace the others. */
static bool check_files_differ(const struct cli *cli, struct npu_error *err)
{
	const char *one, *other;
	for (unsigned i = 1; (one = output_file(cli, i)); i++)
		for (unsigned j = 0; j < i && (other = output_file(cli, j)); j++)
			if (strcmp(one, other) == 0 && is_replaced(one))
				return npu_fail(err, NPU_ERR_USAGE, "two outputs want the file %s", one);
	return true;
}

/* How many outputs want stdout. */
static unsigned wants_stdout(const struct cli *cli)
{
	unsigned n = cli_value(cli, "json") != NULL, at = 0;
	for (const char *path; (path = cli_next(cli, "report", &at));)
		n += strcmp(path, "-") == 0;
	at = 0;
	for (const char *path; (path = cli_next(cli, "timeline", &at));)
		n += strcmp(path, "-") == 0;
	at = 0;
	for (const char *path; (path = cli_next(cli, "dram-trace", &at));)
		n += strcmp(path, "-") == 0;
	at = 0;
	for (const char *text; (text = cli_next(cli, "dump", &at));)
		n += strchr(text, '=') && strcmp(strchr(text, '='), "=-") == 0;
	return n;
}

/* Before a long run: everything that can be told to be wrong already. */
static bool check_options(const struct cli *cli, unsigned *ideal, struct npu_error *err)
{
	unsigned at = 0;
	for (const char *list; (list = cli_next(cli, "ideal", &at));)
		if (!parse_ideal(list, ideal, err))
			return false;
	at = 0;
	for (const char *path; (path = cli_next(cli, "timeline", &at));)
		if (!timeline_check(path, err))
			return false;
	if (cli_value(cli, "timeline-window") && !cli_value(cli, "timeline"))
		return npu_fail(err, NPU_ERR_USAGE, "--timeline-window says what part --timeline FILE writes; give that, too");
	struct timeline_window window;
	if (cli_value(cli, "timeline-window") && !timeline_window_parse(cli_value(cli, "timeline-window"), &window, err))
		return false;
	if (wants_stdout(cli) > 1)
		return npu_fail(err, NPU_ERR_USAGE,
				"two outputs want stdout: of --json, --report -, --timeline -, --dram-trace - and --dump NAME=-, one can be");
	if (!check_files_differ(cli, err))
		return false;
	if (cli_value(cli, "memory") && *ideal & MACHINE_IDEAL_DRAM)
		return npu_fail(err, NPU_ERR_USAGE, "--ideal dram and --memory: one can be, what stands in the DRAM's place");
	return values_check(cli, err);
}

/* Of a run with --check what it found is part of the report. */
static bool print_report(const struct simulation *simulation, const struct check_result *checked, FILE *out,
			 struct npu_error *err)
{
	json_t *report = report_json(simulation);
	bool ok = report && (!checked || json_object_set_new(report, "check", check_json(checked)) == 0);
	if (ok && !report_json_print(report, out))
		npu_fail(err, NPU_ERR_IO, "the report cannot be written");
	else if (!ok)
		npu_fail(err, NPU_ERR_MEMORY, "out of memory for the report");
	json_decref(report);
	return ok && !ferror(out);
}

static bool write_report(const struct simulation *simulation, const struct check_result *checked, const char *path,
			 struct npu_error *err)
{
	struct output *output = output_open(path, err);
	if (!output)
		return false;
	return output_end(output, print_report(simulation, checked, output_stream(output), err), err);
}


static struct report_style style_of(const struct cli *cli)
{
	const char *no_color = getenv("NO_COLOR");
	return (struct report_style){ .color = isatty(STDOUT_FILENO) && !(no_color && *no_color),
				      .regions = cli_value(cli, "regions") != NULL };
}

/* Tables, and what follows them: values. */
static int print_tables(const struct cli *cli, struct simulation *simulation, struct values *values)
{
	struct report_style style = style_of(cli);
	bool quiet = cli_value(cli, "quiet") || wants_stdout(cli);
	struct npu_capacity capacity = hw_capacity(simulation->request.hw);
	if (!quiet)
		report_print(simulation, stdout, &style);
	if (!quiet && cli_value(cli, "budget")) {
		putchar('\n');
		if (!budget_print(simulation->request.program, &capacity.limits, stdout, &style) && !ferror(stdout))
			return cli_usage("out of memory");
	}
	if (!values)
		return 0;
	simulation->request.values = values;
	return values_finish(cli, values, &style, quiet);
}

/* Every output is tried, also after one has failed; the last error decides the status, `status` when there is none. */
static int write_outputs(const struct cli *cli, const struct simulation *simulation, const struct check_result *checked,
			 int status)
{
	unsigned at = 0;
	struct npu_error err = { 0 };
	bool tables = !cli_value(cli, "quiet") && !wants_stdout(cli);
	if (cli_value(cli, "json") && !write_report(simulation, checked, "-", &err))
		status = cli_fail(&err);
	for (const char *path; (path = cli_next(cli, "report", &at));)
		if (!write_report(simulation, checked, path, &err))
			status = cli_fail(&err);
	at = 0;
	for (const char *path; (path = cli_next(cli, "timeline", &at));) {
		if (!timeline_write(simulation, path, &err)) {
			status = cli_fail(&err);
			continue;
		}
		if (tables)
			printf("timeline  %s   %s\n", path, timeline_advice(path));
		fflush(stdout);
		timeline_tell(simulation, path, stderr);
	}
	at = 0;
	for (const char *path; (path = cli_next(cli, "dram-trace", &at));) {
		if (!dram_requests_write(simulation, path, &err))
			status = cli_fail(&err);
		else if (tables)
			printf("DRAM      %s   npusim dram replays it\n", path);
	}
	return status;
}

static int simulate_work(const struct cli *cli, const struct work *work, unsigned ideal, struct values *values,
			 const struct memory_plugin *memory, const struct check_result *checked)
{
	struct npu_error err = { 0 };
	struct simulation_request request = {
		.hw = &work->config.hw,
		.dram_part = work->config.dram_part,
		.title = work->config.title,
		.preset = work->config.preset,
		.changes = work->config.changes,
		.program = work->program,
		.command = "run",
		.subject = work->subject,
		.kernel = work->kernel,
		.args = work->kernel ? &work->args : NULL,
		.macro = work->macro,
		.ideal = ideal,
		.memory = memory,
		.progress = isatty(STDERR_FILENO) ? stderr : NULL,
		.want_record = cli_value(cli, "timeline") || cli_value(cli, "instructions") || cli_value(cli, "critical"),
		.want_requests = cli_value(cli, "dram-trace") != NULL,
		.want_critical = cli_value(cli, "critical") != NULL,
		.want_insns = cli_value(cli, "instructions") != NULL,
	};
	if (cli_value(cli, "timeline-window") &&
	    !timeline_window_parse(cli_value(cli, "timeline-window"), &request.window, &err))
		return cli_fail(&err);
	struct timespec begin, end;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	struct simulation *simulation = simulate(&request, &err);
	clock_gettime(CLOCK_MONOTONIC, &end);
	if (!simulation)
		return cli_fail(&err);
	int status = write_outputs(cli, simulation, checked, print_tables(cli, simulation, values));
	if (cli_value(cli, "time")) {
		double seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
		fflush(stdout);
		fprintf(stderr, "simulated in %.3f s, %.2f million cycles/s\n", seconds,
			seconds > 0 ? (double)simulation_cycles(simulation) / seconds * 1e-6 : 0.0);
	}
	simulation_free(simulation);
	return status;
}

static int run_work(const struct cli *cli, const struct work *work, unsigned ideal, const struct check_result *checked)
{
	struct values *values;
	struct memory_plugin memory = { 0 };
	struct npu_error err = { 0 };
	const char *plugin = cli_value(cli, "memory");
	if (plugin && !memory_plugin_open(&memory, plugin, &err))
		return cli_fail(&err);
	int status;
	if (values_open(cli, work, &values, &err)) {
		status = simulate_work(cli, work, ideal, values, plugin ? &memory : NULL, checked);
		values_free(values);
	} else {
		status = cli_fail(&err);
	}
	memory_plugin_close(&memory);
	return status;
}

/* Findings go below the tables, or to stderr where stdout is taken or not wanted. Their status when the run's is 0. */
static int print_findings(const struct cli *cli, const struct check_result *checked, int status)
{
	bool elsewhere = cli_value(cli, "quiet") || wants_stdout(cli);
	int found = check_status(checked, cli_value(cli, "werror"));
	fputs(elsewhere ? "" : "\n", stdout);
	if (!elsewhere || checked->report->errors || checked->report->warnings)
		check_print_text(checked, elsewhere ? stderr : stdout);
	return status ? status : found;
}

static int run_and_check(const struct cli *cli, const struct work *work, unsigned ideal)
{
	struct npu_error err = { 0 };
	struct check_result checked;
	int status;
	/* With --values the run itself compares. */
	enum check_values_mode mode = cli_value(cli, "values") ? CHECK_VALUES_NO : CHECK_VALUES_AUTO;
	if (check_work(&checked, work, cli->words[0], &(struct npu_check_options){ 0 }, &err) &&
	    check_values(&checked, mode, &err))
		status = print_findings(cli, &checked, run_work(cli, work, ideal, &checked));
	else
		status = cli_fail(&err);
	check_result_fini(&checked);
	return status;
}

static int run_and_warn(const struct cli *cli, const struct work *work, unsigned ideal)
{
	struct npu_error err = { 0 };
	unsigned warnings;
	if (!warn_of_semaphores(work, cli->words[0], &warnings, &err))
		return cli_fail(&err);
	int status = run_work(cli, work, ideal, NULL);
	return status ? status : warnings && cli_value(cli, "werror");
}

static int run_program(const struct cli *cli, const struct work *work, void *context)
{
	const unsigned *ideal = context;
	return cli_value(cli, "check") ? run_and_check(cli, work, *ideal) : run_and_warn(cli, work, *ideal);
}

static int run(struct cli *cli)
{
	struct npu_error err = { 0 };
	unsigned ideal = 0;
	return check_options(cli, &ideal, &err) ? work_run(cli, run_program, &ideal) : cli_fail(&err);
}

static void values(const char *option, struct cli_words *words)
{
	const char *name;
	for (unsigned i = 0; strcmp(option, "ideal") == 0 && (name = simulate_ideal_name(i)); i++)
		cli_word(words, name, NULL);
	for (unsigned i = 0; strcmp(option, "exp") == 0 && (name = npu_exp_names[i]); i++)
		cli_word(words, name, NULL);
}

static const struct cli_option options[] = {
	{ "report", 0, "FILE.json", "write the report as JSON (npusim.report/1); - is stdout, instead of the tables" },
	{ "timeline", 0, "FILE", "write what each engine did when; the extension chooses the format, - is a .pftrace on stdout, instead of the tables; may be repeated" },
	{ "timeline-window", 0, "A:B", "the cycles from A up to B only, in every timeline" },
	{ "dram-trace", 0, "FILE", "write the requests to DRAM as they arrive there: lines that npusim dram replays, 64 bytes each; - is stdout, instead of the tables" },
	{ "ideal", 0, "LIST", "what if these were perfect: dram, sram, vector, matrix, dispatch, with commas between; a run of another machine, no bound" },
	{ "memory", 0, "F.so[,ARGUMENTS]", "a memory of your own in the DRAM's place, a TLM-2.0 target in a shared object" },
	{ "values", 0, NULL, "compute the tensors too and compare them with the kernel's plain reference in double" },
	{ "seed", 0, "N", "of --values: what inputs hold; 1 when not given" },
	{ "tensor", 0, "NAME=FILE", "of --values: an input's bytes; may be repeated" },
	{ "exp", 0, "WAY", "of --values: how exp is computed: exact (when not given), lut or poly" },
	{ "dump", 0, "NAME=FILE", "of --values: write a tensor's bytes afterwards; may be repeated" },
	{ "check", 0, NULL, "also prove that the values do not depend on timing, as npusim check does" },
	WERROR_OPTION,
	{ "critical", 0, NULL, "the critical path, too: what the chain that decided the run's length was spent on" },
	{ "budget", 0, NULL, "also a table of the buffers: what each holds, copies, bytes, share of the memories" },
	{ "instructions", 0, NULL, "of --report: a row an instruction, too, for npusim disasm --annotate" },
	{ "regions", 0, NULL, "the table of regions even when they are many" },
	{ "json", 0, NULL, "the same as --report -" },
	{ "quiet", 'q', NULL, "no tables" },
	{ "time", 0, NULL, "print on stderr how long the simulation took" },
	MACRO_INCLUDE_OPTION,
	{ 0 },
};

const struct cli_command cmd_run = {
	.name = "run",
	.synopsis = "KERNEL|FILE.npu|FILE.npub|./PLUGIN.so|- [key=value...]",
	.summary = "simulate a kernel or a program",
	.text = "Runs the program on the machine and prints how busy each engine was, what each stalled cycle waited for, and "
		"how much data movement hid under compute. A file is text or binary by its first bytes, - is stdin.\n"
		"\n"
		"  npusim run flash_attention seq=1024 heads=8 head_dim=128 --timeline fa.pftrace\n"
		"  npusim run qk.npu --hw edge-2mb sram.size=1MiB --report qk.json\n"
		"  npusim run ./mine.so rows=128 --values\n"
		"\n"
		"tile=auto chooses the tiles (and the order) that nobody named: of those with the least DRAM traffic and the fewest "
		"instructions by the kernel's closed form the fastest in short simulations, unless the kernel's own choice is faster on the whole. check and emit take it, too.\n"
		"\n"
		"With --values the program is also executed. Inputs come from --tensor files (raw bytes, little-endian, as they "
		"lie in DRAM) or from --seed; every output of a kernel, and every output of a text file that says what it should "
		"be, is compared with its plain reference in double. An element past the bound that follows from its type and "
		"length is an error that names the instruction that wrote it, and the exit status is 1. Without a reference the "
		"program is executed, and checksums are printed.\n"
		"\n"
		"  npusim run flash_attention seq=256 mask=causal --values --exp lut --dump O=o.bin\n",
	.options = options,
	.min_words = 1,
	.max_words = 1,
	.takes_hardware = true,
	.takes_parameters = true,
	.takes_plugins = true,
	.run = run,
	.values = values,
};
