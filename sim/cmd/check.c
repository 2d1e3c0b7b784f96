/* SPDX-License-Identifier: Apache-2.0 */
/* npusim check: hazards, bounds, reads of nothing, deadlock: all that is wrong with a program, at once. */
#include "isa/units.h"
#include "models/hw.h"
#include "sim/cmd/check_output.h"
#include "sim/cmd/warnings.h"
#include "sim/output.h"
#include "sim/report_json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool check_work(struct check_result *result, const struct work *work, const char *path,
		const struct npu_check_options *options, struct npu_error *err)
{
	struct npu_capacity capacity = hw_capacity(&work->config.hw);
	struct npu_check_options with_capacity = *options;
	with_capacity.capacity = &capacity;
	*result = (struct check_result){ .work = work };
	result->report = npu_check(work->program, &with_capacity, err);
	result->sources = result->report ? sources_new(work->program, work->kernel ? NULL : path) : NULL;
	return result->report != NULL;
}

void check_result_fini(struct check_result *result)
{
	sources_free(result->sources);
	free(result->costs);
	npu_check_free(result->report);
}

int check_status(const struct check_result *result, bool werror)
{
	return result->report->errors || (werror && result->report->warnings) ? 1 : 0;
}

static bool print_json(json_t *value, FILE *out, struct npu_error *err)
{
	if (!value)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory for the findings");
	/* A failed write is told by the commit. */
	report_json_print(value, out);
	json_decref(value);
	return true;
}

static bool print_text(const struct check_result *result, FILE *out, struct npu_error *err)
{
	(void)err;
	check_print_text(result, out);
	return true;
}

static bool print_report(const struct check_result *result, FILE *out, struct npu_error *err)
{
	return print_json(check_json(result), out, err);
}

static bool print_sarif(const struct check_result *result, FILE *out, struct npu_error *err)
{
	return print_json(check_sarif(result), out, err);
}

static const struct format {
	const char *name;
	bool (*print)(const struct check_result *, FILE *, struct npu_error *);
} formats[] = {
	{ "text", print_text },
	{ "json", print_report },
	{ "sarif", print_sarif },
};
enum { FORMATS = sizeof formats / sizeof *formats };

static const char *const value_modes[] = {
	[CHECK_VALUES_AUTO] = "auto", [CHECK_VALUES_NO] = "no", [CHECK_VALUES_YES] = "yes"
};
enum { VALUE_MODES = sizeof value_modes / sizeof *value_modes };

static bool find_value_mode(const struct cli *cli, enum check_values_mode *mode, struct npu_error *err)
{
	const char *name = cli_value(cli, "values");
	*mode = CHECK_VALUES_AUTO;
	for (unsigned i = 0; i < VALUE_MODES; i++)
		if (!name || strcmp(name, value_modes[i]) == 0) {
			*mode = (enum check_values_mode)i;
			return true;
		}
	return npu_fail(err, NPU_ERR_USAGE, "--values %.40s: auto, no or yes would be right", name);
}

static const struct format *find_format(const struct cli *cli, struct npu_error *err)
{
	const char *name = cli_value(cli, "format");
	for (unsigned i = 0; i < FORMATS; i++)
		if (!name || strcmp(name, formats[i].name) == 0)
			return &formats[i];
	npu_fail(err, NPU_ERR_USAGE, "--format %.40s: text, json or sarif would be right", name);
	return NULL;
}

static bool write_result(const struct cli *cli, const struct format *format, const struct check_result *result,
			 struct npu_error *err)
{
	struct output *output = output_open(cli_value(cli, "output") ? cli_value(cli, "output") : "-", err);
	if (!output)
		return false;
	return output_end(output, format->print(result, output_stream(output), err), err);
}

struct request {
	const struct format *format;
	enum check_values_mode values;
};

static int check(const struct cli *cli, const struct work *work, void *context)
{
	const struct request *request = context;
	const struct format *format = request->format;
	struct npu_error err = { 0 };
	struct check_result result;
	bool all = cli_value(cli, "all") != NULL;
	struct npu_check_options options = {
		.all = all,
		.redundant = cli_value(cli, "redundant"),
		/* A program reads all there is, but for a flood. */
		.waiting = all || format->print != print_text ? NPU_CHECK_MOST_OF_ALL : NPU_CHECK_WAITING,
	};
	struct timespec begin, end;
	int status;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	bool ok = check_work(&result, work, cli->words[0], &options, &err);
	clock_gettime(CLOCK_MONOTONIC, &end);
	bool right = ok && check_values(&result, request->values, &err);
	if (ok && options.redundant)
		check_measure(&result);
	if (right && write_result(cli, format, &result, &err))
		status = check_status(&result, cli_value(cli, "werror"));
	else
		status = cli_fail(&err);
	if (ok && cli_value(cli, "time")) {
		double seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
		fflush(stdout);
		fprintf(stderr, "checked %s in %.3f s\n", npu_number_of(work->program->ninsns, "instruction").text, seconds);
	}
	check_result_fini(&result);
	return status;
}

static int run(struct cli *cli)
{
	struct npu_error err = { 0 };
	struct request request = { .format = find_format(cli, &err) };
	if (!request.format || !find_value_mode(cli, &request.values, &err))
		return cli_fail(&err);
	return work_run(cli, check, &request);
}

static void words_of(const char *option, struct cli_words *words)
{
	for (unsigned i = 0; strcmp(option, "values") == 0 && i < VALUE_MODES; i++)
		cli_word(words, value_modes[i], NULL);
	for (unsigned i = 0; strcmp(option, "format") == 0 && i < FORMATS; i++)
		cli_word(words, formats[i].name, NULL);
}

static const struct cli_option options[] = {
	{ "format", 0, "FORMAT",
	  "text (the default), json (npusim.check/1), or sarif (2.1.0, which code hosts show beside the source)" },
	{ "output", 'o', "FILE", "where to; - is stdout, the default" },
	{ "all", 0, NULL,
	  "list what is left together otherwise: every pair, every instance of a line; 10,000 of a kind at most, else 100" },
	{ "redundant", 0, NULL,
	  "also look for what could be left out: waits that order nothing, with the cycles that they cost (16 are measured), "
	  "writes that nobody reads" },
	{ "values", 0, "WHEN",
	  "whether to execute the program, too, and compare what it computes with its reference: auto (the default: when it "
	  "has one and takes no more than about three seconds), no, yes" },
	WERROR_OPTION,
	{ "time", 0, NULL, "print on stderr how long it took" },
	MACRO_INCLUDE_OPTION,
	{ 0 },
};

const struct cli_command cmd_check = {
	.name = "check",
	.synopsis = "KERNEL|FILE.npu|FILE.npub|./PLUGIN.so|- [key=value...]",
	.summary = "find races, deadlock, bad addresses and reads of nothing",
	.text =
	    "Proves that the values of a program do not depend on timing, or names two instructions, the bytes they "
	    "touch, and the order that is missing between them. Also finds deadlock, counts that overflow, reads of "
	    "what nobody wrote, accesses past the end of a buffer, tensor or page, pages of other sequences, and accesses "
	    "off the DRAM granule or bank word of the machine. A kernel, and a text file that says what its outputs "
	    "should be, is also executed, and outputs that differ from the reference are errors as well. All findings "
	    "come at once; the exit status is 1 when one of them is an error.\n"
	    "\n"
	    "  npusim check flash_attention seq=1024 heads=8 head_dim=128\n"
	    "  npusim check qk.npu --redundant\n"
	    "  npusim check qk.npu --format sarif -o qk.sarif\n",
	.options = options,
	.min_words = 1,
	.max_words = 1,
	.takes_hardware = true,
	.takes_parameters = true,
	.takes_plugins = true,
	.run = run,
	.values = words_of,
};
