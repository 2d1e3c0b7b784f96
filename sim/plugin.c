/* SPDX-License-Identifier: Apache-2.0 */
/* The child in which a command with a plug-in runs, and the parent that watches it: signals, exit, time, memory. */
#include "sim/plugin_parts.h"
#include "sim/config_parse.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "isa/units.h"

enum { LOOK_MS = 20, MOMENT_MS = 1 };

struct limits {
	double seconds; /* 0: none */
	uint64_t bytes; /* 0: none */
};

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

static bool read_limits(const struct cli *cli, struct limits *limits, struct npu_error *err)
{
	const char *seconds = cli_value(cli, "plugin-timeout"), *bytes = cli_value(cli, "plugin-memory");
	char *end;
	*limits = (struct limits){ PLUGIN_SECONDS, PLUGIN_BYTES };
	if (seconds) {
		limits->seconds = strtod(seconds, &end);
		if (end == seconds || *end || !isfinite(limits->seconds) || limits->seconds < 0)
			return npu_fail(err, NPU_ERR_USAGE, "--plugin-timeout %.40s: seconds would be right, 0 for no limit",
					seconds);
	}
	if (bytes && !config_parse_size(bytes, &limits->bytes))
		return npu_fail(err, NPU_ERR_USAGE, "--plugin-memory %.40s: a size as 512MiB would be right, 0 for no limit",
				bytes);
	return true;
}

/* ---- the parent ---- */

uint64_t plugin_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t plugin_resident(long pid)
{
	char path[64];
	uint64_t pages = 0;
	snprintf(path, sizeof path, "/proc/%ld/statm", pid);
	FILE *in = fopen(path, "r");
	if (!in)
		return 0;
	if (fscanf(in, "%*u %" SCNu64, &pages) != 1)
		pages = 0;
	fclose(in);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static const char *call_text(enum plugin_call call)
{
	switch (call) {
#define PLUGIN_CALL_TEXT(NAME, text)                                                                                   \
	case PLUGIN_CALL_##NAME:                                                                                       \
		return text;
		PLUGIN_CALLS(PLUGIN_CALL_TEXT)
#undef PLUGIN_CALL_TEXT
	}
	return "";
}

struct child {
	pid_t pid;
	const char *path;
	struct limits limits;
	struct plugin_watch *watch;
	struct npu_error err; /* the limit that it exceeded */
};

static enum plugin_call call_of(const struct child *c)
{
	return (enum plugin_call)c->watch->call;
}

/* Sets the error of a call that takes too long or too much. */
static bool within_limits(struct child *c)
{
	enum plugin_call call = call_of(c);
	uint64_t since = c->watch->since_ns, now = plugin_now_ns();
	if (call == PLUGIN_CALL_NONE)
		return true;
	if (c->limits.seconds > 0 && now > since && (double)(now - since) * 1e-9 > c->limits.seconds)
		return npu_fail_at(&c->err, NPU_ERR_PLUGIN, c->path, 0, 0,
				   "%s has not returned after %g s (--plugin-timeout sets the limit)", call_text(call),
				   c->limits.seconds);
	uint64_t base = c->watch->base_bytes, resident = plugin_resident(c->pid);
	if (c->limits.bytes && resident > base && resident - base > c->limits.bytes)
		return npu_fail_at(&c->err, NPU_ERR_PLUGIN, c->path, 0, 0,
				   "%s took more than %s of memory (--plugin-memory sets the limit)", call_text(call),
				   npu_bytes_text(c->limits.bytes).text);
	return true;
}

/* Waits for the end of the child, or makes one; its wait status. `alive` reads the end of file when the child ends. */
static int await(struct child *c, int alive)
{
	struct pollfd end = { .fd = alive, .events = POLLIN };
	int status = 0, wait_ms = LOOK_MS;
	for (;;) {
		if (poll(&end, 1, wait_ms) > 0) {
			/* It has ended, or is about to, or the plug-in closed what it did not open. */
			end.fd = -1;
			wait_ms = MOMENT_MS;
		} else if (end.fd < 0 && wait_ms < LOOK_MS) {
			wait_ms++;
		}
		pid_t pid = waitpid(c->pid, &status, WNOHANG);
		if (pid == c->pid || (pid < 0 && errno != EINTR))
			return status;
		if (!within_limits(c)) {
			kill(c->pid, SIGKILL);
			while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
				continue;
			return status;
		}
	}
}

static int judge(struct child *c, int wait_status)
{
	enum plugin_call call = call_of(c);
	if (c->err.code != NPU_ERR_NONE)
		return cli_fail(&c->err);
	if (WIFEXITED(wait_status) && call == PLUGIN_CALL_NONE)
		return WEXITSTATUS(wait_status);
	if (WIFEXITED(wait_status))
		npu_fail_at(&c->err, NPU_ERR_PLUGIN, c->path, 0, 0, "%s called exit(%d)", call_text(call),
			    WEXITSTATUS(wait_status));
	else if (call == PLUGIN_CALL_NONE)
		npu_fail_at(&c->err, NPU_ERR_PLUGIN, c->path, 0, 0, "npusim crashed after its functions had returned: %s (signal %d)",
			    strsignal(WTERMSIG(wait_status)), WTERMSIG(wait_status));
	else
		npu_fail_at(&c->err, NPU_ERR_PLUGIN, c->path, 0, 0, "%s crashed: %s (signal %d)", call_text(call),
			    strsignal(WTERMSIG(wait_status)), WTERMSIG(wait_status));
	return cli_fail(&c->err);
}

static bool fail(int *status, const char *what)
{
	struct npu_error err;
	npu_fail(&err, NPU_ERR_MEMORY, "no process for a plug-in: %s: %s", what, strerror(errno));
	*status = cli_fail(&err);
	return true;
}

bool plugin_fork(const struct cli *cli, int *status)
{
	struct child child = { .path = plugin_word(cli) };
	struct npu_error err;
	int ends[2];
	if (!read_limits(cli, &child.limits, &err)) {
		*status = cli_fail(&err);
		return true;
	}
	if (!child.path)
		return false;
	child.watch =
	    mmap(NULL, sizeof *child.watch, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (child.watch == MAP_FAILED)
		return fail(status, "mmap");
	if (pipe(ends) != 0)
		return fail(status, "pipe");
	fflush(NULL);
	pid_t parent = getpid();
	child.pid = fork();
	if (child.pid < 0)
		return fail(status, "fork");
	if (child.pid == 0) {
		close(ends[0]);
		/* Nobody is left to watch it. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			raise(SIGKILL);
		plugin_watched_by(child.watch);
		return false;
	}
	close(ends[1]);
	*status = judge(&child, await(&child, ends[0]));
	close(ends[0]);
	munmap(child.watch, sizeof *child.watch);
	return true;
}
