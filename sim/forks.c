/* SPDX-License-Identifier: Apache-2.0 */
/* A child a run, its answer through a pipe. */
#include "sim/forks.h"

#include "sim/child.h"
#include "sim/plugin.h"

#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { MOST = 64 };

/* What comes through the pipe, before the answer's own bytes. */
struct head {
	bool ok;
	struct npu_error err;
};

struct fork {
	const struct forks *forks;
	unsigned i;
	struct child child;
};

struct pool {
	const struct forks *forks;
	struct fork running[MOST];
	unsigned nrunning;
	unsigned failed; /* the first, in their order, that did; UINT_MAX */
	struct npu_error *err;
};

static size_t size_of(const struct forks *f) { return sizeof(struct head) + f->answer_bytes; }

static void answer(void *context, int fd)
{
	const struct fork *self = context;
	char *bytes = calloc(1, size_of(self->forks));
	struct head head = { 0 };
	if (!bytes)
		return;
	head.ok = self->forks->run(self->forks->ctx, self->i, bytes + sizeof head, &head.err);
	memcpy(bytes, &head, sizeof head);
	child_write(fd, bytes, size_of(self->forks));
	free(bytes);
}

/* What became of a child that ended. */
static bool finish(struct fork *c, const struct forks *f, struct npu_error *err)
{
	int status = child_end(&c->child);
	const char *name = f->name(f->ctx, c->i);
	struct head head;
	if (c->child.got != size_of(f)) {
		if (plugin_ended_in(c->child.pid, status, err))
			return false;
		if (WIFSIGNALED(status))
			return npu_fail(err, NPU_ERR_MEMORY, "%s: the process that ran it was ended by signal %d", name, WTERMSIG(status));
		return npu_fail(err, NPU_ERR_IO, "%s: the process that ran it told nothing", name);
	}
	memcpy(&head, c->child.bytes, sizeof head);
	if (!head.ok) {
		*err = head.err;
		npu_error_before(err, "%s: ", name);
		return false;
	}
	memcpy((char *)f->answers + c->i * f->answer_bytes, c->child.bytes + sizeof head, f->answer_bytes);
	return true;
}

static void note_failure(struct pool *p, unsigned i, const struct npu_error *err)
{
	if (i > p->failed)
		return;
	p->failed = i;
	*p->err = *err;
}

static void collect(struct pool *p)
{
	struct pollfd fds[MOST];
	for (unsigned i = 0; i < p->nrunning; i++)
		fds[i] = (struct pollfd){ .fd = p->running[i].child.fd, .events = POLLIN };
	if (poll(fds, p->nrunning, -1) < 0)
		return;
	for (unsigned i = p->nrunning; i-- > 0;) {
		struct fork *c = &p->running[i];
		struct npu_error err = { 0 };
		if (!fds[i].revents || !child_take(&c->child))
			continue;
		if (!finish(c, p->forks, &err))
			note_failure(p, c->i, &err);
		child_free(&c->child);
		*c = p->running[--p->nrunning];
	}
}

/* Those before a failure have begun, so the first failure is always the same one. */
bool forks_run(const struct forks *f, struct npu_error *err)
{
	struct pool *p = calloc(1, sizeof *p);
	if (!p)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	*p = (struct pool){ .forks = f, .failed = UINT_MAX, .err = err };
	unsigned next = 0, parallel = f->parallel < 1 ? 1 : f->parallel > MOST ? MOST : f->parallel;
	while (p->nrunning || (next < f->n && p->failed == UINT_MAX)) {
		while (next < f->n && p->failed == UINT_MAX && p->nrunning < parallel) {
			struct npu_error failed = { 0 };
			struct fork *c = &p->running[p->nrunning];
			*c = (struct fork){ .forks = f, .i = next };
			if (child_start(&c->child, answer, c, &failed))
				p->nrunning++;
			else
				note_failure(p, next, &failed);
			next++;
		}
		if (p->nrunning)
			collect(p);
	}
	bool ok = p->failed == UINT_MAX;
	free(p);
	return ok;
}
