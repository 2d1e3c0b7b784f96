/* SPDX-License-Identifier: Apache-2.0 */
/* A child a run, its figures through a pipe. */
#include "sim/model/jobs.h"

#include "sim/child.h"

#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { MOST = 64 };

struct answer {
	bool ok;
	struct model_figures figures;
	struct npu_error err;
};

/* A run that has begun. */
struct running {
	struct child child;
	unsigned job;
};

/* What the child is to do. */
struct order {
	const struct model_job *job;
	const struct config *config;
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

static void run_there(void *context, int fd)
{
	const struct order *order = context;
	struct answer answer = { 0 };
	answer.ok = run_here(order->job, order->config, &answer);
	child_write(fd, &answer, sizeof answer);
}

/* What became of a child that ended. */
static bool finish(struct running *r, struct model_job *jobs, struct npu_error *err)
{
	struct model_job *job = &jobs[r->job];
	struct answer answer;
	int status = child_end(&r->child);
	bool whole = r->child.got == sizeof answer;
	if (whole)
		memcpy(&answer, r->child.bytes, sizeof answer);
	child_free(&r->child);
	if (!whole) {
		if (WIFSIGNALED(status))
			return npu_fail(err, NPU_ERR_MEMORY, "%s: the process that ran %s was ended by signal %d", job->name,
					job->kernel->name, WTERMSIG(status));
		return npu_fail(err, NPU_ERR_IO, "%s: the process that ran %s told nothing", job->name, job->kernel->name);
	}
	if (!answer.ok) {
		*err = answer.err;
		npu_error_before(err, "%s: ", job->name);
		return false;
	}
	job->out = answer.figures;
	return true;
}

struct pool {
	struct model_job *jobs;
	struct running children[MOST];
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
		fds[i] = (struct pollfd){ .fd = p->children[i].child.fd, .events = POLLIN };
	if (poll(fds, p->running, -1) < 0)
		return;
	for (unsigned i = p->running; i-- > 0;) {
		struct running *c = &p->children[i];
		struct npu_error err = { 0 };
		if (!fds[i].revents || !child_take(&c->child))
			continue;
		if (!finish(c, p->jobs, &err))
			note_failure(p, c->job, &err);
		*c = p->children[--p->running];
	}
}

unsigned model_parallel(void) { return child_parallel(); }

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
			struct order order = { &jobs[next], config };
			p->children[p->running].job = next;
			if (child_start(&p->children[p->running].child, run_there, &order, &failed))
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
