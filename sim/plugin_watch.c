/* SPDX-License-Identifier: Apache-2.0 */
/* The process that watches the one that holds a plug-in: signals, exit, time, memory. It adopts what the plug-in forks, and
 * ends with nothing left of it, whoever ends first. */
#include "sim/plugin_parts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "isa/units.h"

/* How often to look; how long a child that was asked to end may take away its temporary files; how often to look for
 * what it left. */
enum { LOOK_MS = 20, MOMENT_MS = 1, LOOKS_TO_END = 25, LOOKS_FOR_LEFT = 2000 };

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
	struct plugin_limits limits;
	pid_t parent;
	struct plugin_watch *watch;
	struct npu_error err; /* the limit that it exceeded */
};

bool plugin_took_too_much(const char *path, enum plugin_call call, uint64_t most_bytes, struct npu_error *err)
{
	return npu_fail_at(err, NPU_ERR_PLUGIN, path, 0, 0, "%s took more than %s of memory (--plugin-memory sets the limit)",
			   call_text(call), npu_bytes_text(most_bytes).text);
}

/* Sets the error of a call that takes too long or too much. */
static bool is_within_limits(struct child *c, const struct plugin_caller *caller)
{
	enum plugin_call call = (enum plugin_call)caller->call;
	uint64_t since = caller->since_ns, now = plugin_now_ns();
	/* One that has ended during a call is told of by whoever waited for it. */
	if (!caller->pid || call == PLUGIN_CALL_NONE || (kill(caller->pid, 0) != 0 && errno == ESRCH))
		return true;
	if (c->limits.seconds > 0 && now > since && (double)(now - since) * 1e-9 > c->limits.seconds)
		return npu_fail_at(&c->err, NPU_ERR_PLUGIN, c->path, 0, 0,
				   "%s has not returned after %g s (--plugin-timeout sets the limit)", call_text(call),
				   c->limits.seconds);
	uint64_t base = caller->base_bytes, resident = c->limits.bytes ? plugin_resident(caller->pid) : 0;
	if (c->limits.bytes && resident > base && resident - base > c->limits.bytes)
		return plugin_took_too_much(c->path, call, c->limits.bytes, &c->err);
	return true;
}

static bool within_limits(struct child *c)
{
	for (unsigned i = 0; i < PLUGIN_CALLERS; i++)
		if (!is_within_limits(c, &c->watch->callers[i]))
			return false;
	return true;
}

/* ---- ends ---- */

/* A signal handler takes no context: this is why there is a global. */
static volatile sig_atomic_t told_to_end;

static void note_signal(int sig)
{
	told_to_end = sig;
}

static void listen(void)
{
	static const int deadly[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	for (unsigned i = 0; i < sizeof deadly / sizeof *deadly; i++) {
		struct sigaction old, new = { .sa_handler = note_signal };
		sigemptyset(&new.sa_mask);
		/* nohup: what is ignored stays ignored. */
		if (sigaction(deadly[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(deadly[i], &new, NULL);
	}
}

/* The parent of a process, 0 when it cannot be told. Its name, in parentheses, may hold any character. */
static long parent_of(const char *pid)
{
	char path[64], text[512];
	long parent = 0;
	snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
	FILE *in = fopen(path, "r");
	size_t n = in ? fread(text, 1, sizeof text - 1, in) : 0;
	if (in)
		fclose(in);
	text[n] = '\0';
	const char *name_end = strrchr(text, ')');
	return name_end && sscanf(name_end + 1, " %*c %ld", &parent) == 1 ? parent : 0;
}

static void kill_children(void)
{
	DIR *dir = opendir("/proc");
	for (struct dirent *entry; dir && (entry = readdir(dir));)
		if (isdigit((unsigned char)*entry->d_name) && parent_of(entry->d_name) == (long)getpid())
			kill((pid_t)strtol(entry->d_name, NULL, 10), SIGKILL);
	if (dir)
		closedir(dir);
}

/* Children of a child that ends become this process's: until there are none. */
static void end_what_is_left(void)
{
	for (unsigned look = 0; look < LOOKS_FOR_LEFT; look++) {
		pid_t pid;
		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			continue;
		if (pid < 0)
			return;
		kill_children();
		poll(NULL, 0, MOMENT_MS);
	}
}

/* Asks the child to end, so that it takes away its temporary files, and does not wait for long. */
static void end_child(const struct child *c)
{
	kill(c->pid, SIGTERM);
	for (unsigned look = 0; look < LOOKS_TO_END && waitpid(c->pid, NULL, WNOHANG) == 0; look++)
		poll(NULL, 0, LOOK_MS);
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
		if (told_to_end || getppid() != c->parent) {
			end_child(c);
			end_what_is_left();
			_exit(128 + (told_to_end ? told_to_end : SIGTERM));
		}
		if (!within_limits(c)) {
			kill(c->pid, SIGKILL);
			while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
				continue;
			return status;
		}
	}
}

bool plugin_ended(const char *path, const struct plugin_caller *caller, uint64_t most_bytes, int wait_status, struct npu_error *err)
{
	enum plugin_call call = (enum plugin_call)caller->call;
	char what[128];
	if (caller->too_much) {
		plugin_took_too_much(path, call, most_bytes, err);
		return true;
	}
	if (caller->closed)
		snprintf(what, sizeof what, "closed a descriptor that it had not opened");
	else if (WIFEXITED(wait_status))
		snprintf(what, sizeof what, "called exit(%d)", WEXITSTATUS(wait_status));
	else
		snprintf(what, sizeof what, "crashed: %s (signal %d)", strsignal(WTERMSIG(wait_status)), WTERMSIG(wait_status));
	npu_fail_at(err, NPU_ERR_PLUGIN, path, 0, 0, "%s %s", call_text(call), what);
	return true;
}

/* The exit status of a child that did as it should; else sets the error. */
static int judge(struct child *c, int wait_status)
{
	const struct plugin_caller *caller = &c->watch->callers[0];
	int status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
	bool well = caller->call == PLUGIN_CALL_END && status == c->watch->status && !caller->too_much && !caller->closed;
	if (c->err.code == NPU_ERR_NONE && !well)
		plugin_ended(c->path, caller, c->limits.bytes, wait_status, &c->err);
	return status;
}

static bool no_child(struct npu_error *err, const char *what)
{
	return npu_fail(err, NPU_ERR_MEMORY, "no process for a plug-in: %s: %s", what, strerror(errno));
}

bool plugin_watch_over(const char *path, const struct plugin_limits *limits, pid_t parent, int *status, struct npu_error *err)
{
	struct child child = { .path = path, .limits = *limits, .parent = parent };
	int ends[2];
	pid_t self = getpid();
	child.watch =
	    mmap(NULL, sizeof *child.watch, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (child.watch == MAP_FAILED)
		return no_child(err, "mmap");
	child.watch->most_bytes = limits->bytes;
	if (pipe(ends) != 0)
		return no_child(err, "pipe");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	child.pid = fork();
	if (child.pid < 0)
		return no_child(err, "fork");
	if (child.pid == 0) {
		close(ends[0]);
		/* Nobody is left to watch it. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != self)
			raise(SIGKILL);
		plugin_watched_by(child.watch);
		return true;
	}
	listen();
	close(ends[1]);
	int wait_status = await(&child, ends[0]);
	end_what_is_left();
	*status = judge(&child, wait_status);
	*err = child.err;
	close(ends[0]);
	munmap(child.watch, sizeof *child.watch);
	return false;
}
