/* SPDX-License-Identifier: Apache-2.0 */
/* From options to values, and from values to an exit status. */
#include "sim/values_cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INITIAL_SEED = 1, LONG_SECONDS = 10 };

static bool parse_seed(const char *text, uint64_t *seed, struct npu_error *err)
{
	char *end;
	errno = 0;
	*seed = strtoull(text, &end, 0);
	if (*text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && *seed <= INT64_MAX)
		return true;
	return npu_fail(err, NPU_ERR_USAGE, "--seed %s: a whole number from 0 to 9223372036854775807 would be right",
			text);
}

static bool parse_exp(const char *text, enum npu_exp *exp, struct npu_error *err)
{
	for (unsigned i = 0; npu_exp_names[i]; i++)
		if (strcmp(npu_exp_names[i], text) == 0) {
			*exp = (enum npu_exp)i;
			return true;
		}
	return npu_fail(err, NPU_ERR_USAGE, "--exp %s: exact, lut or poly would be right", text);
}

/* "NAME=FILE" into its two parts; `name` is the caller's to free. NULL with an error. */
static char *split(const char *option, const char *text, const char **path, struct npu_error *err)
{
	const char *equals = strchr(text, '=');
	char *name = equals && equals > text && equals[1] ? strndup(text, (size_t)(equals - text)) : NULL;
	if (!name)
		npu_fail(err, NPU_ERR_USAGE, "--%s %s: NAME=FILE would be right, as in Q=q.bin", option, text);
	*path = equals ? equals + 1 : NULL;
	return name;
}

static bool check_files(const struct cli *cli, const char *option, struct npu_error *err)
{
	unsigned at = 0;
	const char *path;
	for (const char *text; (text = cli_next(cli, option, &at));) {
		char *name = split(option, text, &path, err);
		free(name);
		if (!name)
			return false;
	}
	return true;
}

bool values_check(const struct cli *cli, struct npu_error *err)
{
	static const char *const options[] = { "seed", "tensor", "exp", "dump" };
	const char *seed = cli_value(cli, "seed"), *exp = cli_value(cli, "exp");
	uint64_t number;
	enum npu_exp way;
	for (unsigned i = 0; i < sizeof options / sizeof *options; i++)
		if (cli_value(cli, options[i]) && !cli_value(cli, "values"))
			return npu_fail(err, NPU_ERR_USAGE, "--%s goes with --values: without it nothing is computed",
					options[i]);
	return (!seed || parse_seed(seed, &number, err)) && (!exp || parse_exp(exp, &way, err)) &&
	       check_files(cli, "tensor", err) && check_files(cli, "dump", err);
}

static unsigned count(const struct cli *cli, const char *option)
{
	unsigned at = 0, n = 0;
	while (cli_next(cli, option, &at))
		n++;
	return n;
}

static bool open_request(const struct cli *cli, struct values_request *r, struct values_file *files,
			 struct npu_error *err)
{
	const char *seed = cli_value(cli, "seed"), *exp = cli_value(cli, "exp");
	unsigned at = 0;
	for (const char *text; (text = cli_next(cli, "tensor", &at));) {
		files[r->nfiles].tensor = split("tensor", text, &files[r->nfiles].path, err);
		if (!files[r->nfiles++].tensor)
			return false;
	}
	r->files = files;
	return (!seed || parse_seed(seed, &r->seed, err)) && (!exp || parse_exp(exp, &r->exp, err));
}

/* A dump of a tensor that does not exist is told before the work. */
static bool check_dumps(const struct cli *cli, const struct npu_program *program, struct npu_error *err)
{
	unsigned at = 0;
	const char *path;
	bool ok = true;
	for (const char *text; ok && (text = cli_next(cli, "dump", &at));) {
		char *name = split("dump", text, &path, err);
		ok = name && values_has(program, name, err);
		free(name);
	}
	return ok;
}

bool values_open(const struct cli *cli, const struct work *work, struct values **out, struct npu_error *err)
{
	struct values_request request = { .program = work->program,
					  .kernel = work->kernel,
					  .args = work->kernel ? &work->args : NULL,
					  .macro = work->macro,
					  .seed = INITIAL_SEED };
	*out = NULL;
	if (!cli_value(cli, "values"))
		return true;
	struct values_file *files = calloc(count(cli, "tensor") + 1, sizeof *files);
	if (!files)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	if (check_dumps(cli, work->program, err) && open_request(cli, &request, files, err))
		*out = values_new(&request, err);
	for (unsigned i = 0; i < request.nfiles; i++)
		free((char *)files[i].tensor);
	free(files);
	return *out != NULL;
}

static void tell_time(const struct values *v)
{
	double seconds = values_seconds(&v->request);
	if (seconds >= LONG_SECONDS && isatty(STDERR_FILENO))
		fprintf(stderr, "values: %.1f G MACs, about %.0f s\n", (double)v->macs * 1e-9, seconds);
}

static int tell_mismatches(const struct values *v)
{
	int status = 0;
	struct npu_error err = { 0 };
	for (unsigned i = 0; i < v->noutputs; i++)
		if (values_mismatch(v, i, &err))
			status = cli_fail(&err);
	return status;
}

int values_finish(const struct cli *cli, struct values *v, const struct report_style *style, bool quiet)
{
	struct npu_error err = { 0 };
	unsigned at = 0;
	const char *path;
	tell_time(v);
	if (!values_run(v, &err))
		return cli_fail(&err);
	if (!quiet)
		values_print(v, stdout, style);
	int status = tell_mismatches(v);
	for (const char *text; (text = cli_next(cli, "dump", &at));) {
		char *name = split("dump", text, &path, &err);
		if (!name || !values_dump(v, name, path, &err))
			status = cli_fail(&err);
		free(name);
	}
	return status;
}
