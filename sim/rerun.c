/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines made from reports, and their runs. */
#include "sim/rerun.h"

#include "sim/config.h"
#include "sim/child.h"
#include "sim/forks.h"
#include "sim/report_read.h"
#include "sim/simulate_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SETTINGS = 128, FOLDERS = 2 };

void rerun_of_cli(struct rerun *r, const struct cli *cli, const char *word)
{
	*r = (struct rerun){ .cli = *cli, .word = word };
}

/* "key=value" of a JSON value as the command line takes it; NULL when memory is short. */
static char *assignment(const char *key, const json_t *value)
{
	char number[64];
	const char *text = number;
	if (json_is_string(value))
		text = json_string_value(value);
	else if (json_is_integer(value))
		snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_real(value))
		snprintf(number, sizeof number, "%.17g", json_real_value(value));
	else
		text = json_is_true(value) ? "yes" : "no";
	size_t size = strlen(key) + strlen(text) + 2;
	char *out = malloc(size);
	if (out)
		snprintf(out, size, "%s=%s", key, text);
	return out;
}

static bool own(struct rerun *r, const char *key, const json_t *value)
{
	char *text = assignment(key, value);
	if (text)
		r->owned[r->nowned++] = text;
	return text != NULL;
}

/* Every parameter, then every hardware key: strings in `owned`, those of parameters first. */
static bool read_settings(struct rerun *r, const json_t *report)
{
	const json_t *params = report_value(report, "params");
	const char *key;
	json_t *value;
	r->owned = calloc(json_object_size(params) + config_nkeys + 1 + FOLDERS, sizeof *r->owned);
	if (!r->owned)
		return false;
	json_object_foreach((json_t *)params, key, value) {
		if (!own(r, key, value))
			return false;
	}
	r->cli.parameters = (const char **)r->owned;
	r->cli.nparameters = r->nowned;
	r->cli.sets = (const char **)r->owned + r->nowned;
	for (unsigned i = 0; i < config_nkeys; i++) {
		char path[96];
		snprintf(path, sizeof path, "hw.%s", config_keys[i].name);
		value = report_value(report, path);
		if (value && !json_is_null(value) && !own(r, config_keys[i].name, value))
			return false;
	}
	r->cli.nsets = r->nowned - r->cli.nparameters;
	return true;
}

static bool read_ideal(struct rerun *r, const json_t *report)
{
	size_t i;
	json_t *part;
	json_array_foreach(report_value(report, "ideal"), i, part) {
		const char *name;
		unsigned bit = 0;
		while ((name = simulate_ideal_name(bit)) && json_is_string(part) && strcmp(name, json_string_value(part)) != 0)
			bit++;
		if (!name)
			return false;
		r->ideal |= 1u << bit;
	}
	return true;
}

static bool check_hash(const struct rerun *r, const struct work *work, const char *settings, struct npu_error *err)
{
	char hash[32];
	snprintf(hash, sizeof hash, "%016" PRIx64, work->program->hash);
	return !r->hash || settings[0] || strcmp(hash, r->hash) == 0 ||
	       npu_fail(err, NPU_ERR_VALUE, "%s is not the program that was run: its hash is %s, not %s", r->word, hash, r->hash);
}

bool rerun_work(const struct rerun *r, struct work *work, struct npu_error *err)
{
	return work_config(work, &r->cli, err) && work_program(work, &r->cli, r->word, err) && check_hash(r, work, "", err);
}

/* The path of the program's file in the folder of the report, or in the current one; an owned string, NULL: out of memory. */
static char *path_in(const char *folder_of, const char *name)
{
	const char *slash = folder_of ? strrchr(folder_of, '/') : NULL;
	size_t folder = slash ? (size_t)(slash - folder_of) + 1 : 0, size = folder + strlen(name) + 3;
	char *path = malloc(size);
	if (path)
		snprintf(path, size, "%.*s%s", folder ? (int)folder : 2, folder ? folder_of : "./", name);
	return path;
}

/* Looks for the file that was run where it is likely to be; takes the one whose hash is right. */
static bool find_program(struct rerun *r, const char *path, const char *subject, struct npu_error *err)
{
	const char *found = NULL;
	struct npu_error why = { 0 };
	for (unsigned i = 0; i < FOLDERS; i++) {
		char *file = path_in(i == 0 ? path : NULL, subject);
		if (!file)
			return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
		r->owned[r->nowned++] = file;
		if (strchr(subject, '/') || access(file, R_OK) != 0)
			continue;
		struct work work;
		found = r->word = file;
		bool right = rerun_work(r, &work, &why);
		work_fini(&work);
		if (right)
			return true;
	}
	if (!found)
		return npu_fail(err, NPU_ERR_VALUE,
				"%s: a report does not say where %.64s is, and it is neither beside the report nor in this folder; "
				"--program FILE would say", path, subject);
	return npu_fail(err, NPU_ERR_VALUE, "%s: %.400s; --program FILE would say where it is", path, why.text);
}

bool rerun_of_report(struct rerun *r, const json_t *report, const char *path, const char *program, struct npu_error *err)
{
	const char *subject = report_text(report, "command.subject");
	bool kernel = npu_kernel_find(subject) != NULL;
	*r = (struct rerun){ .word = program ? program : subject };
	if (strcmp(report_text(report, "command.subcommand"), "run") != 0)
		return npu_fail(err, NPU_ERR_VALUE, "%s: no report of npusim run, so nothing can be run again", path);
	if (report_value(report, "command.memory"))
		return npu_fail(err, NPU_ERR_VALUE, "%s: a run with --memory, whose plug-in a report does not hold", path);
	if (program ? work_is_file(program) : !kernel)
		r->hash = report_text(report, "program.hash");
	if (!read_ideal(r, report))
		return npu_fail(err, NPU_ERR_VALUE, "%s: `ideal` names an unknown part", path);
	if (!read_settings(r, report)) {
		rerun_fini(r);
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	}
	if (program || kernel || find_program(r, path, subject, err))
		return true;
	rerun_fini(r);
	return false;
}

void rerun_fini(struct rerun *r)
{
	for (unsigned i = 0; i < r->nowned; i++)
		free(r->owned[i]);
	free(r->owned);
	*r = (struct rerun){ 0 };
}

/* ---- in the child ---- */

struct batch {
	const struct rerun *rerun;
	const struct rerun_job *jobs;
};

struct answer {
	struct rerun_job job;
};

/* A copy of the command line with the settings behind its own; the copies live until the process ends. */
static bool extend(struct cli *cli, const char *settings, struct npu_error *err)
{
	char *copy = strdup(settings), *save = NULL;
	const char **parameters = calloc(cli->nparameters + SETTINGS, sizeof *parameters);
	const char **sets = calloc(cli->nsets + SETTINGS, sizeof *sets);
	if (!copy || !parameters || !sets)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	if (cli->nparameters)
		memcpy(parameters, cli->parameters, cli->nparameters * sizeof *parameters);
	if (cli->nsets)
		memcpy(sets, cli->sets, cli->nsets * sizeof *sets);
	unsigned n = 0;
	for (char *word = strtok_r(copy, " ", &save); word && n < SETTINGS; word = strtok_r(NULL, " ", &save), n++) {
		size_t key = strcspn(word, "=");
		if (memchr(word, '.', key))
			sets[cli->nsets++] = word;
		else
			parameters[cli->nparameters++] = word;
	}
	cli->parameters = parameters;
	cli->sets = sets;
	return true;
}

static bool run_once(const struct rerun *r, struct rerun_job *job, struct npu_error *err)
{
	struct cli cli = r->cli;
	struct work work;
	if (!extend(&cli, job->settings, err) || !work_config(&work, &cli, err) || !work_program(&work, &cli, r->word, err) ||
	    !check_hash(r, &work, job->settings, err))
		return false;
	struct simulation_request request = {
		.hw = &work.config.hw, .dram_part = work.config.dram_part, .program = work.program, .command = "run",
		.subject = work.subject, .ideal = (r->ideal & ~job->real) | job->ideal,
	};
	struct simulation *s = simulate(&request, err);
	if (!s)
		return false;
	job->cycles = s->account.cycles;
	job->sram_peak_bytes = s->account.sram_peak_bytes;
	job->accum_peak_bytes = s->account.accum_peak_bytes;
	job->dram_bytes = s->account.dram_read_bytes + s->account.dram_write_bytes;
	job->mac_utilization = s->account.mac_utilization;
	job->energy_uj = s->account.energy_total_uj;
	return true;
}

/* What is not legal is an answer, too. */
static bool run_job(void *ctx, unsigned i, void *out, struct npu_error *err)
{
	const struct batch *batch = ctx;
	struct answer *answer = out;
	(void)err;
	answer->job = batch->jobs[i];
	struct npu_error why = { 0 };
	answer->job.ok = run_once(batch->rerun, &answer->job, &why);
	if (!answer->job.ok)
		snprintf(answer->job.why, sizeof answer->job.why, "%.*s", (int)strcspn(why.text, "\n"), why.text);
	return true;
}

static const char *job_name(void *ctx, unsigned i)
{
	const struct rerun_job *job = &((const struct batch *)ctx)->jobs[i];
	return job->settings[0] ? job->settings : ((const struct batch *)ctx)->rerun->word;
}

bool rerun_jobs(const struct rerun *r, struct rerun_job *jobs, unsigned n, struct npu_error *err)
{
	struct batch batch = { r, jobs };
	struct answer *answers = calloc(n + 1u, sizeof *answers);
	if (!answers)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	bool ok = forks_run(&(struct forks){ .n = n, .parallel = child_parallel(), .ctx = &batch, .answers = answers,
					     .answer_bytes = sizeof *answers, .run = run_job, .name = job_name }, err);
	for (unsigned i = 0; ok && i < n; i++) {
		const char *settings = jobs[i].settings;
		jobs[i] = answers[i].job;
		jobs[i].settings = settings;
	}
	free(answers);
	return ok;
}
