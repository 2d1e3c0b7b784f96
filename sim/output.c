/* SPDX-License-Identifier: Apache-2.0 */
/* Atomic output files: a temporary file beside the place, FILE.npusim-XXXXXX, a rename at the end, and a signal handler
 * that takes the temporary files away. Who writes one holds its lock; one without a lock was left by a run that was killed
 * in a way that nobody can handle, and goes when the same FILE is written again. */
#include "sim/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct output {
	struct output *next; /* of the list that the signal handler walks; temporary files only */
	FILE *stream;
	char *name;      /* as the person wrote it, for errors */
	char *target;    /* what is replaced: `name` with symbolic links followed; NULL: written directly */
	char *temporary; /* NULL: written directly */
};

/* A signal handler takes no context: this list is why there is a global. Changed with the signals blocked only. */
static struct output *volatile temporaries;
static pid_t owner;

static const int deadly[] = { SIGINT, SIGTERM, SIGHUP };
enum { DEADLY = sizeof deadly / sizeof *deadly };

static void remove_temporaries(int sig)
{
	/* A child after fork() inherits the list, not the files. */
	if (getpid() == owner)
		for (struct output *o = temporaries; o; o = o->next)
			unlink(o->temporary);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void block_deadly(sigset_t *before)
{
	sigset_t set;
	sigemptyset(&set);
	for (unsigned i = 0; i < DEADLY; i++)
		sigaddset(&set, deadly[i]);
	sigprocmask(SIG_BLOCK, &set, before);
}

static void install_handler(void)
{
	if (owner == getpid())
		return;
	for (unsigned i = 0; i < DEADLY; i++) {
		struct sigaction old, new = { .sa_handler = remove_temporaries };
		sigemptyset(&new.sa_mask);
		/* nohup: what is ignored stays ignored. */
		if (sigaction(deadly[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(deadly[i], &new, NULL);
	}
	owner = getpid();
	temporaries = NULL;
}

static void unlist(struct output *output)
{
	struct output *o = temporaries;
	if (o == output) {
		temporaries = output->next;
		return;
	}
	while (o && o->next != output)
		o = o->next;
	if (o)
		o->next = output->next;
}

static void output_free(struct output *output)
{
	free(output->name);
	free(output->target);
	free(output->temporary);
	free(output);
}

static bool fail(const struct output *output, const char *what, struct npu_error *err)
{
	return npu_fail(err, NPU_ERR_IO, "%s: %s: %s", output->name, what, strerror(errno));
}

/* A descriptor that `path` names, as /dev/stdout does; opening it anew would start at offset 0 of a redirected file. */
static int named_descriptor(const char *path)
{
	if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0)
		return STDOUT_FILENO;
	if (strcmp(path, "/dev/stderr") == 0)
		return STDERR_FILENO;
	if (strncmp(path, "/dev/fd/", 8) == 0 && path[8] >= '0' && path[8] <= '9') {
		char *end;
		long fd = strtol(path + 8, &end, 10);
		return *end || fd > INT_MAX ? -1 : (int)fd;
	}
	return -1;
}

static bool open_descriptor(struct output *output, int named, struct npu_error *err)
{
	if (named == STDOUT_FILENO) {
		output->stream = stdout;
		return true;
	}
	int fd = dup(named);
	if (fd >= 0 && (output->stream = fdopen(fd, "w")))
		return true;
	fail(output, "cannot be written", err);
	if (fd >= 0)
		close(fd);
	return false;
}

/* The place to replace: a link's end, even where nothing is there yet. */
static char *follow_links(const char *path)
{
	char *real = realpath(path, NULL);
	return real ? real : strdup(path);
}

static const char mark[] = ".npusim-", unique[] = "XXXXXX";

static char *temporary_name(const char *target)
{
	const char *slash = strrchr(target, '/');
	size_t folder = slash ? (size_t)(slash + 1 - target) : 0;
	const char *base = target + folder;
	/* A name may have NAME_MAX bytes. */
	int keep = (int)strnlen(base, NAME_MAX - (sizeof mark - 1) - (sizeof unique - 1));
	size_t size = folder + (size_t)keep + sizeof mark + sizeof unique;
	char *name = malloc(size);
	if (name)
		snprintf(name, size, "%.*s%.*s%s%s", (int)folder, target, keep, base, mark, unique);
	return name;
}

/* Whether `name` is one that mkstemp() makes of the temporary name that begins with `base`. */
static bool is_temporary(const char *name, const char *base)
{
	size_t n = strlen(base) - (sizeof unique - 1);
	return strncmp(name, base, n) == 0 && strlen(name + n) == sizeof unique - 1 &&
	       strspn(name + n, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == sizeof unique - 1;
}

/* Takes away what earlier runs left of the same file. `temporary` still ends in its X. What fails is left. */
static void remove_stale(const char *temporary)
{
	const char *slash = strrchr(temporary, '/');
	char *folder = slash ? strndup(temporary, (size_t)(slash + 1 - temporary)) : strdup(".");
	DIR *dir = folder ? opendir(folder) : NULL;
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		if (!is_temporary(entry->d_name, slash ? slash + 1 : temporary))
			continue;
		int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			unlinkat(dirfd(dir), entry->d_name, 0);
		if (fd >= 0)
			close(fd);
	}
	if (dir)
		closedir(dir);
	free(folder);
}

/* A new file with its lock held; -1 with errno. A neighbour may have taken it for stale before the lock was ours. */
static int create_locked(char *temporary)
{
	char *x = temporary + strlen(temporary) - (sizeof unique - 1);
	for (;;) {
		struct stat st;
		memcpy(x, unique, sizeof unique);
		int fd = mkstemp(temporary);
		/* A file system without locks has no neighbours that use them. */
		if (fd < 0 || flock(fd, LOCK_EX) != 0 || fstat(fd, &st) != 0 || st.st_nlink > 0)
			return fd;
		close(fd);
	}
}

static bool open_temporary(struct output *output, mode_t mode, struct npu_error *err)
{
	sigset_t before;
	output->target = follow_links(output->name);
	output->temporary = output->target ? temporary_name(output->target) : NULL;
	if (!output->temporary)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	remove_stale(output->temporary);
	block_deadly(&before);
	int fd = create_locked(output->temporary);
	if (fd >= 0) {
		output->next = temporaries;
		temporaries = output;
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (fd < 0) {
		fail(output, "cannot be written", err);
		free(output->temporary);
		output->temporary = NULL;
		return false;
	}
	if (fchmod(fd, mode) == 0 && (output->stream = fdopen(fd, "w")))
		return true;
	fail(output, "cannot be written", err);
	close(fd);
	return false;
}

static bool open_place(struct output *output, struct npu_error *err)
{
	struct stat st;
	int named = named_descriptor(output->name);
	if (named >= 0)
		return open_descriptor(output, named, err);
	if (!*output->name)
		return npu_fail(err, NPU_ERR_IO, "an empty file name cannot be written");
	if (stat(output->name, &st) != 0) {
		if (errno != ENOENT)
			return fail(output, "cannot be written", err);
		mode_t mask = umask(0);
		umask(mask);
		return open_temporary(output, 0666 & ~mask, err);
	}
	if (S_ISDIR(st.st_mode))
		return npu_fail(err, NPU_ERR_IO, "%s: cannot be written: it is a folder; name a file", output->name);
	if (S_ISREG(st.st_mode)) {
		/* A rename would replace what the person has protected. */
		if (access(output->name, W_OK) != 0)
			return fail(output, "cannot be written", err);
		return open_temporary(output, st.st_mode & 07777, err);
	}
	output->stream = fopen(output->name, "w");
	return output->stream ? true : fail(output, "cannot be written", err);
}

struct output *output_open(const char *path, struct npu_error *err)
{
	struct output *output = calloc(1, sizeof *output);
	if (!output || !(output->name = strdup(path))) {
		free(output);
		npu_fail(err, NPU_ERR_MEMORY, "out of memory");
		return NULL;
	}
	install_handler();
	if (open_place(output, err))
		return output;
	output_abort(output);
	return NULL;
}

FILE *output_stream(struct output *output) { return output->stream; }

int output_flush(FILE *stream)
{
	errno = 0;
	if (fflush(stream) == 0 && !ferror(stream))
		return 0;
	/* A write that failed some time ago has left a mark but no reason: one more byte asks again. */
	if (errno == 0 && fputc('\n', stream) != EOF)
		fflush(stream);
	return errno ? errno : EIO;
}

bool output_commit(struct output *output, struct npu_error *err)
{
	if (output->stream == stdout) {
		output_free(output);
		return true;
	}
	int error = output_flush(output->stream);
	bool ok = error == 0;
	errno = error;
	if (!ok)
		fail(output, "cannot be written", err);
	int closed = fclose(output->stream);
	output->stream = NULL;
	if (ok && closed != 0)
		ok = fail(output, "cannot be written", err);
	if (ok && output->temporary) {
		sigset_t before;
		block_deadly(&before);
		ok = rename(output->temporary, output->target) == 0;
		if (ok)
			unlist(output);
		sigprocmask(SIG_SETMASK, &before, NULL);
		if (!ok)
			fail(output, "cannot be replaced", err);
	}
	if (!ok) {
		output_abort(output);
		return false;
	}
	output_free(output);
	return true;
}

bool output_end(struct output *output, bool written, struct npu_error *err)
{
	if (written || ferror(output->stream))
		return output_commit(output, err);
	output_abort(output);
	return false;
}

void output_abort(struct output *output)
{
	if (!output)
		return;
	if (output->stream && output->stream != stdout)
		fclose(output->stream);
	if (output->temporary) {
		sigset_t before;
		int saved = errno;
		block_deadly(&before);
		unlist(output);
		unlink(output->temporary);
		sigprocmask(SIG_SETMASK, &before, NULL);
		errno = saved;
	}
	output_free(output);
}
