/* SPDX-License-Identifier: Apache-2.0 */
/* A child a run, its figures through a pipe. */
#include "sim/model/jobs.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 64 };

struct answer {
	bool ok;
	struct model_figures figures;
	struct npu_error err;
};

struct child {
	pid_t pid;
	int fd;
	unsigned job;
	size_t got; /* bytes of the answer */
	struct answer answer;
};

static bool run_here(const struct model_job *job, const struct config *config, struct answer *answer)
{
	struct npu_capacity capacity = hw_capacity(&config->hw);
	struct npu_args args = job->args;
	struct npu_error *err = &answer->err;
	struct npu_program *program = npu_kernel_build_from(job->kernel, &capacity, &args, job->dram_from, err);
	if (!program || !npu_program_fits(program, &capacity.limits, err))
		return false;
	struct simulation_request request = {
		.hw = &config->hw, .dram_part = config->dram_part, .title = config->title, .program = program,
		.command = "model", .subject = job->kernel->name, .kernel = job->kernel, .args = &args,
	};
	struct simulation *s = simulate(&request, err);
	if (s)
		model_figures_of(&answer->figures, s);
	simulation_free(s);
	npu_program_free(program);
	return s != NULL;
}

static _Noreturn void be_child(const struct model_job *job, const struct config *config, int fd)
{
	struct answer answer = { 0 };
	/* A parent that is killed takes its children along. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	answer.ok = run_here(job, config, &answer);
	const char *at = (const char *)&answer;
	for (size_t left = sizeof answer; left;) {
		ssize_t n = write(fd, at, left);
		if (n < 0 && errno != EINTR)
			_exit(1);
		at += n > 0 ? n : 0;
		left -= n > 0 ? (size_t)n : 0;
	}
	_exit(0);
}

static bool start(struct child *c, unsigned job, const struct model_job *jobs, const struct config *config,
		  struct npu_error *err)
{
	int ends[2];
	if (pipe(ends) != 0)
		return npu_fail(err, NPU_ERR_IO, "no pipe to another process: %s", strerror(errno));
	*c = (struct child){ .fd = ends[0], .job = job };
	c->pid = fork();
	if (c->pid == 0) {
		close(ends[0]);
		be_child(&jobs[job], config, ends[1]);
	}
	close(ends[1]);
	if (c->pid > 0)
		return true;
	close(ends[0]);
	return npu_fail(err, NPU_ERR_MEMORY, "no other process: %s", strerror(errno));
}

static int end(struct child *c)
{
	int status = 0;
	close(c->fd);
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return status;
}

/* What became of a child that ended. */
static bool finish(struct child *c, struct model_job *jobs, struct npu_error *err)
{
	struct model_job *job = &jobs[c->job];
	int status = end(c);
	if (c->got != sizeof c->answer) {
		if (WIFSIGNALED(status))
			return npu_fail(err, NPU_ERR_MEMORY, "%s: the process that ran %s was ended by signal %d", job->name,
					job->kernel->name, WTERMSIG(status));
		return npu_fail(err, NPU_ERR_IO, "%s: the process that ran %s told nothing", job->name, job->kernel->name);
	}
	if (!c->answer.ok) {
		*err = c->answer.err;
		npu_error_before(err, "%s: ", job->name);
		return false;
	}
	job->out = c->answer.figures;
	return true;
}

/* Reads what a child has written; true at the end of it. */
static bool take(struct child *c)
{
	char *into = (char *)&c->answer + c->got;
	ssize_t n = read(c->fd, into, sizeof c->answer - c->got);
	c->got += n > 0 ? (size_t)n : 0;
	return n == 0 || (n < 0 && errno != EINTR) || c->got == sizeof c->answer;
}

struct pool {
	struct model_job *jobs;
	struct child children[MOST];
	unsigned running;
	unsigned failed; /* the first job, in their order, that did; UINT_MAX */
	struct npu_error *err;
};

static void note_failure(struct pool *p, unsigned job, const struct npu_error *err)
{
	if (job > p->failed)
		return;
	p->failed = job;
	*p->err = *err;
}

static void collect(struct pool *p)
{
	struct pollfd fds[MOST];
	for (unsigned i = 0; i < p->running; i++)
		fds[i] = (struct pollfd){ .fd = p->children[i].fd, .events = POLLIN };
	if (poll(fds, p->running, -1) < 0)
		return;
	for (unsigned i = p->running; i-- > 0;) {
		struct child *c = &p->children[i];
		struct npu_error err = { 0 };
		if (!fds[i].revents || !take(c))
			continue;
		if (!finish(c, p->jobs, &err))
			note_failure(p, c->job, &err);
		*c = p->children[--p->running];
	}
}

unsigned model_parallel(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	return cpus < 1 ? 1 : cpus > 8 ? 8 : (unsigned)cpus;
}

/* Once one has failed, none begins; those before it have begun, so the first failure is always the same one. */
bool model_jobs_run(struct model_job *jobs, unsigned n, const struct config *config, unsigned parallel,
		    struct npu_error *err)
{
	struct pool *p = calloc(1, sizeof *p);
	if (!p)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	*p = (struct pool){ .jobs = jobs, .failed = UINT_MAX, .err = err };
	parallel = parallel < 1 ? 1 : parallel > MOST ? MOST : parallel;
	unsigned next = 0;
	while (p->running || (next < n && p->failed == UINT_MAX)) {
		while (next < n && p->failed == UINT_MAX && p->running < parallel) {
			struct npu_error failed = { 0 };
			if (start(&p->children[p->running], next, jobs, config, &failed))
				p->running++;
			else
				note_failure(p, next, &failed);
			next++;
		}
		if (p->running)
			collect(p);
	}
	bool ok = p->failed == UINT_MAX;
	free(p);
	return ok;
}
