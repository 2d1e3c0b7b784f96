/* SPDX-License-Identifier: Apache-2.0 */
/* Processes and pipes. */
#include "sim/child.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_PARALLEL = 8, FIRST_ROOM = 4096 };

bool child_write(int fd, const void *bytes, size_t nbytes)
{
	const char *at = bytes;
	while (nbytes) {
		ssize_t n = write(fd, at, nbytes);
		if (n < 0 && errno != EINTR)
			return false;
		at += n > 0 ? n : 0;
		nbytes -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

bool child_start(struct child *c, child_body *body, void *context, struct npu_error *err)
{
	int ends[2];
	*c = (struct child){ .fd = -1 };
	if (pipe(ends) != 0)
		return npu_fail(err, NPU_ERR_IO, "no pipe to another process: %s", strerror(errno));
	pid_t parent = getpid();
	c->pid = fork();
	if (c->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* The parent may have been gone before that. */
		if (getppid() != parent)
			_exit(1);
		close(ends[0]);
		body(context, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	c->fd = ends[0];
	if (c->pid > 0)
		return true;
	int why = errno;
	close(ends[0]);
	return npu_fail(err, NPU_ERR_MEMORY, "no other process: %s", strerror(why));
}

static bool make_room(struct child *c)
{
	if (c->got + 1 < c->room)
		return true;
	size_t room = c->room ? 2 * c->room : FIRST_ROOM;
	char *bytes = realloc(c->bytes, room);
	if (!bytes)
		return false;
	c->bytes = bytes;
	c->room = room;
	return true;
}

bool child_take(struct child *c)
{
	/* Without memory the answer is cut, and a cut answer is told to be none. */
	if (!make_room(c))
		return true;
	ssize_t n = read(c->fd, c->bytes + c->got, c->room - c->got - 1);
	c->got += n > 0 ? (size_t)n : 0;
	c->bytes[c->got] = '\0';
	return n == 0 || (n < 0 && errno != EINTR);
}

int child_end(struct child *c)
{
	int status = 0;
	close(c->fd);
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return status;
}

void child_free(struct child *c)
{
	free(c->bytes);
	c->bytes = NULL;
	c->got = c->room = 0;
}

unsigned child_parallel(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	return cpus < 1 ? 1 : cpus > MOST_PARALLEL ? MOST_PARALLEL : (unsigned)cpus;
}
