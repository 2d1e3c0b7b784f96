/* SPDX-License-Identifier: Apache-2.0 */
/* Which commands hold a plug-in, and the processes in which they run: this one waits, a second one watches, the third holds
 * the plug-in. The second outlives this one where it is killed, and ends what is left. */
#include "sim/plugin_parts.h"
#include "sim/config_parse.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
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

bool plugin_limits_read(const struct cli *cli, struct plugin_limits *limits, struct npu_error *err)
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

const char *plugin_limits_text(const struct plugin_limits *limits, char out[80])
{
	int used = 0;
	out[0] = '\0';
	if (limits->seconds < PLUGIN_SECONDS || limits->seconds > PLUGIN_SECONDS)
		used = snprintf(out, 80, "--plugin-timeout %g", limits->seconds);
	if (limits->bytes != PLUGIN_BYTES)
		snprintf(out + used, 80 - (size_t)used, "%s--plugin-memory %" PRIu64, used ? " " : "", limits->bytes);
	return out;
}

/* ---- the processes ---- */

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
	if (!plugin_limits_read(cli, &limits, &err)) {
		*status = cli_fail(&err);
		return true;
	}
	if (!path)
		return false;
	fflush(NULL);
	pid_t parent = getpid(), watcher = fork();
	if (watcher < 0) {
		npu_fail(&err, NPU_ERR_MEMORY, "no process for a plug-in: fork: %s", strerror(errno));
		*status = cli_fail(&err);
		return true;
	}
	if (watcher > 0) {
		*status = status_of(watcher, path);
		return true;
	}
	if (plugin_watch_over(path, &limits, parent, status, &err))
		return false;
	_exit(err.code != NPU_ERR_NONE ? cli_fail(&err) : *status);
}

bool plugin_guard(const char *path, const struct plugin_limits *limits, void (*body)(void *context), void *context,
		  struct npu_error *err)
{
	int status = 0;
	pid_t parent = getppid();
	/* An end without warning would leave what the plug-in has forked; the end of the parent is seen all the same. */
	prctl(PR_SET_PDEATHSIG, 0);
	if (plugin_watch_over(path, limits, parent, &status, err)) {
		body(context);
		/* What the plug-in does at the end of a process is left out. */
		plugin_end(0);
		_exit(0);
	}
	return err->code == NPU_ERR_NONE;
}
