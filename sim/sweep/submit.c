/* SPDX-License-Identifier: Apache-2.0 */
/* npusim sweep submit: scripts for Slurm, an array of few fat shards and a merge behind it. */
#include "isa/units.h"
#include "sim/output.h"
#include "sim/sweep/command.h"
#include "sim/sweep/run.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct submission {
	const struct cli *cli;
	char *spec, *folder, *program; /* whole paths */
	uint64_t shards, limit, jobs;
	struct plugin_limits limits;
	char array[4200], merge[4200]; /* the scripts */
	struct npu_error err;
};

static void quote(FILE *out, const char *text)
{
	char quoted[4 * PATH_MAX + 4];
	fputs(sweep_quoted(text, quoted, sizeof quoted), out);
}

static bool commit(struct submission *s, struct output *out, const char *path)
{
	return output_commit(out, &s->err) &&
	       (chmod(path, 0755) == 0 ||
		npu_fail(&s->err, NPU_ERR_IO, "%s: cannot be made a program: %s", path, strerror(errno)));
}

/* n is written down: a task that is submitted again, alone, would see an array of one. */
static bool write_array(struct submission *s)
{
	char options[80];
	plugin_limits_text(&s->limits, options);
	struct output *out = output_open(s->array, &s->err);
	if (!out)
		return false;
	FILE *f = output_stream(out);
	fprintf(f, "#!/bin/bash\n#SBATCH --job-name=npusim-sweep\n#SBATCH --array=1-%llu",
		(unsigned long long)s->shards);
	if (s->limit)
		fprintf(f, "%%%llu", (unsigned long long)s->limit);
	fprintf(f, "\n#SBATCH --ntasks=1\n#SBATCH --cpus-per-task=%llu\n#SBATCH --requeue\n#SBATCH --output=",
		(unsigned long long)s->jobs);
	fprintf(f, "%s/slurm-%%A-%%a.log\n", s->folder);
	fprintf(f, "# One shard a task; to run shard 3 again: sbatch --array=3 %s\nset -eu\nexec ", s->array);
	quote(f, s->program);
	fprintf(f, " sweep run ");
	quote(f, s->spec);
	fprintf(f, " -o ");
	quote(f, s->folder);
	fprintf(f, " --shard \"$SLURM_ARRAY_TASK_ID/%llu\" -j %llu%s%s\n", (unsigned long long)s->shards,
		(unsigned long long)s->jobs, *options ? " " : "", options);
	return commit(s, out, s->array);
}

static bool write_merge(struct submission *s)
{
	struct output *out = output_open(s->merge, &s->err);
	if (!out)
		return false;
	FILE *f = output_stream(out);
	fprintf(f,
		"#!/bin/bash\n#SBATCH --job-name=npusim-merge\n#SBATCH --ntasks=1\n#SBATCH "
		"--output=%s/slurm-merge-%%j.log\n",
		s->folder);
	fprintf(f, "# Missing points are reported, with status 1.\nset -u\nstatus=0\n");
	quote(f, s->program);
	fprintf(f, " sweep merge ");
	quote(f, s->folder);
	fprintf(f, " || status=$?\n");
	fprintf(f, "exit $status\n");
	return commit(s, out, s->merge);
}

static bool make_folder(struct submission *s)
{
	char *real;
	char *named = sweep_folder(s->cli, s->cli->words[1]);
	if (!named)
		return npu_fail(&s->err, NPU_ERR_MEMORY, "out of memory");
	bool ok = mkdir(named, 0777) == 0 || errno == EEXIST;
	if (!ok)
		npu_fail(&s->err, NPU_ERR_IO, "%s: the folder cannot be made: %s", named, strerror(errno));
	real = ok ? realpath(named, NULL) : NULL;
	if (ok && !real)
		npu_fail(&s->err, NPU_ERR_IO, "%s: %s", named, strerror(errno));
	free(named);
	s->folder = real;
	return real != NULL;
}

static bool prepare(struct submission *s)
{
	struct sweep_spec *spec;
	char program[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
	if (strcmp(s->cli->words[1], "-") == 0)
		return npu_fail(&s->err, NPU_ERR_USAGE, "submit takes a file: other machines read it, too");
	/* What is wrong with it is told here, not by a hundred tasks. */
	spec = sweep_spec_read(s->cli->words[1], &s->limits, &s->err);
	if (!spec)
		return false;
	bool search = spec->space->pareto;
	uint64_t points = spec->space->count;
	if (search)
		npu_fail(&s->err, NPU_ERR_USAGE, "a search looks at what it has found and is not cut into shards");
	bool ok = !search && make_folder(s) && sweep_store_agree(s->folder, spec->space, &s->err);
	sweep_spec_free(spec);
	if (!ok)
		return false;
	if (s->shards > points)
		s->shards = points;
	program[n > 0 ? n : 0] = '\0';
	s->program = strdup(program);
	s->spec = realpath(s->cli->words[1], NULL);
	if (!s->program || !s->spec)
		return s->err.code ? false : npu_fail(&s->err, NPU_ERR_IO, "%s: %s", s->cli->words[1], strerror(errno));
	for (const char *at = s->folder; *at; at++)
		if ((unsigned char)*at <= ' ' || strchr("\"'\\%\x7f", *at))
			return npu_fail(&s->err, NPU_ERR_USAGE, "%s: sbatch takes no blanks, quotes or %% in a path",
					s->folder);
	snprintf(s->array, sizeof s->array, "%s/array.sbatch", s->folder);
	snprintf(s->merge, sizeof s->merge, "%s/merge.sbatch", s->folder);
	return write_array(s) && write_merge(s);
}

/* What sbatch --parsable says: the number of the job, and ;cluster. */
static bool sbatch(struct submission *s, const char *dependency, const char *script, char id[64])
{
	int ends[2], status = 0;
	size_t got = 0;
	if (pipe(ends) != 0)
		return npu_fail(&s->err, NPU_ERR_IO, "no pipe to sbatch: %s", strerror(errno));
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		if (dependency)
			execlp("sbatch", "sbatch", "--parsable", "--kill-on-invalid-dep=yes", dependency, script,
			       (char *)NULL);
		else
			execlp("sbatch", "sbatch", "--parsable", script, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	for (ssize_t n; got < 63 && (n = read(ends[0], id + got, 63 - got)) > 0;)
		got += (size_t)n;
	close(ends[0]);
	id[got] = '\0';
	id[strspn(id, "0123456789")] = '\0';
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return npu_fail(&s->err, NPU_ERR_IO, "sbatch cannot be run: %s", strerror(errno));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return npu_fail(&s->err, NPU_ERR_IO, "sbatch is not there: is this a machine that submits to Slurm?");
	return (WIFEXITED(status) && WEXITSTATUS(status) == 0 && *id) ||
	       npu_fail(&s->err, NPU_ERR_IO, "sbatch refused %s", script);
}

static bool submit(struct submission *s)
{
	char array[64], merge[64], dependency[96];
	if (!sbatch(s, NULL, s->array, array))
		return false;
	/* afterok would wait for ever for a task that failed. */
	snprintf(dependency, sizeof dependency, "--dependency=afterany:%s", array);
	if (!sbatch(s, dependency, s->merge, merge))
		return false;
	printf("job %s, %llu shards; job %s merges them into %s/sweep.sqlite\n", array, (unsigned long long)s->shards,
	       merge, s->folder);
	return true;
}

/* parallel replaces {} and more in a command, but not in what it puts in; with -q that is quoted, with -0 a line break is
 * part of it. A shard that fails is told by the merge, as a point that is missing. */
static void print_parallel(const struct submission *s, const char *options)
{
	uint64_t processors = sweep_processors(), jobs = cli_value(s->cli, "jobs") ? s->jobs : 1;
	const char *const inputs[] = { s->program, s->spec, s->folder };
	printf("without Slurm:\n  parallel -0 -q -j %llu {2} sweep run {3} -o {4} --shard {1}/%llu -j %llu%s%s ::: $(seq %llu)",
	       (unsigned long long)(processors > jobs ? processors / jobs : 1), (unsigned long long)s->shards,
	       (unsigned long long)jobs, *options ? " " : "", options, (unsigned long long)s->shards);
	for (unsigned i = 0; i < 3; i++) {
		printf(" ::: ");
		quote(stdout, inputs[i]);
	}
	printf("; ");
	quote(stdout, s->program);
	printf(" sweep merge ");
	quote(stdout, s->folder);
	putchar('\n');
}

int sweep_submit_command(const struct cli *cli)
{
	struct submission s = { .cli = cli, .shards = 8, .jobs = sweep_processors() };
	bool ok = sweep_read_number(cli, "shards", 10000, &s.shards, &s.err) &&
		  sweep_read_number(cli, "array-limit", 10000, &s.limit, &s.err) &&
		  sweep_read_number(cli, "jobs", 256, &s.jobs, &s.err) && plugin_limits_read(cli, &s.limits, &s.err) &&
		  prepare(&s);
	if (ok) {
		printf("%s\n%s\n", s.array, s.merge);
		if (cli_value(cli, "slurm") && !cli_value(cli, "dry-run"))
			ok = submit(&s);
		char options[80];
		plugin_limits_text(&s.limits, options);
		print_parallel(&s, options);
	}
	int status = ok ? 0 : cli_fail(&s.err);
	free(s.spec);
	free(s.folder);
	free(s.program);
	return status;
}
