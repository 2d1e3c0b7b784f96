/* SPDX-License-Identifier: Apache-2.0 */
/* Which commands hold a plug-in, and the processes in which they run: this one waits, a second one watches, the third holds
 * the plug-in. The second outlives this one where it is killed, and ends what is left. */
#include "sim/plugin_parts.h"
#include "sim/config_parse.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLUGIN_LEAST_BYTES ((uint64_t)1 << 20)

/* ---- which words ---- */

static bool is_elf(const char *path)
{
	char magic[4];
	struct stat status;
	/* A pipe is read once, by whoever takes it for a program. */
	if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
		return false;
	FILE *in = fopen(path, "rb");
	bool elf = in && fread(magic, 1, sizeof magic, in) == sizeof magic && memcmp(magic, "\177ELF", 4) == 0;
	if (in)
		fclose(in);
	return elf;
}

bool is_plugin(const char *word)
{
	size_t n = strlen(word);
	return (n > 3 && strcmp(word + n - 3, ".so") == 0) || (strchr(word, '/') && is_elf(word));
}

static const char *plugin_word(const struct cli *cli)
{
	for (unsigned i = 0; cli->command->takes_plugins && i < cli->nwords; i++)
		if (is_plugin(cli->words[i]))
			return cli->words[i];
	return NULL;
}

static bool read_limits(const struct cli *cli, struct plugin_limits *limits, struct npu_error *err)
{
	const char *seconds = cli_value(cli, "plugin-timeout"), *bytes = cli_value(cli, "plugin-memory");
	char *end;
	*limits = (struct plugin_limits){ PLUGIN_SECONDS, PLUGIN_BYTES };
	if (seconds) {
		limits->seconds = strtod(seconds, &end);
		if (end == seconds || *end || !isfinite(limits->seconds) || limits->seconds < 0)
			return npu_fail(err, NPU_ERR_USAGE, "--plugin-timeout %.40s: seconds would be right, 0 for no limit",
					seconds);
	}
	/* Less cannot be measured. */
	if (bytes && (!config_parse_size(bytes, &limits->bytes) ||
		      (limits->bytes && limits->bytes < PLUGIN_LEAST_BYTES)))
		return npu_fail(err, NPU_ERR_USAGE, "--plugin-memory %.40s: 1MiB or more would be right, 0 for no limit",
				bytes);
	return true;
}

/* ---- the processes ---- */

static bool fail(int *status, const char *what)
{
	struct npu_error err;
	npu_fail(&err, NPU_ERR_MEMORY, "no process for a plug-in: %s: %s", what, strerror(errno));
	*status = cli_fail(&err);
	return true;
}

/* Waits for the process that watches; its exit status is the command's. */
static int status_of(pid_t watcher, const char *path)
{
	int status;
	struct npu_error err;
	while (waitpid(watcher, &status, 0) < 0)
		if (errno != EINTR)
			return cli_usage("no process for a plug-in: waitpid: %s", strerror(errno));
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	npu_fail_at(&err, NPU_ERR_PLUGIN, path, 0, 0, "the process that watched it was ended: %s (signal %d)",
		    strsignal(WTERMSIG(status)), WTERMSIG(status));
	return cli_fail(&err);
}

bool plugin_fork(const struct cli *cli, int *status)
{
	struct plugin_limits limits;
	struct npu_error err;
	const char *path = plugin_word(cli);
	if (!read_limits(cli, &limits, &err)) {
		*status = cli_fail(&err);
		return true;
	}
	if (!path)
		return false;
	fflush(NULL);
	pid_t parent = getpid(), watcher = fork();
	if (watcher < 0)
		return fail(status, "fork");
	if (watcher > 0) {
		*status = status_of(watcher, path);
		return true;
	}
	const char *failed = plugin_watch_over(path, &limits, parent);
	if (failed) {
		fail(status, failed);
		_exit(*status);
	}
	return false;
}
