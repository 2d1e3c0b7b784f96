/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel a child, its figures as the answer. */
#include "sim/model/jobs.h"
#include "sim/child.h"
#include "sim/forks.h"

#include <math.h>
#include <stdlib.h>

struct batch {
	const struct model_job *jobs;
	const struct config *config;
};

static bool run_job(void *ctx, unsigned i, void *answer, struct npu_error *err)
{
	const struct batch *batch = ctx;
	const struct model_job *job = &batch->jobs[i];
	const struct config *config = batch->config;
	struct npu_capacity capacity = hw_capacity(&config->hw);
	struct npu_args args = job->args;
	struct npu_program *program = job->whole
		? npu_kernel_build_part(job->kernel, &capacity, &args, job->whole, err)
		: npu_kernel_build_from(job->kernel, &capacity, &args, job->dram_from, err);
	if (!program || !npu_program_fits(program, &capacity.limits, err)) {
		npu_program_free(program);
		*(struct model_figures *)answer = (struct model_figures){ .cycles = INFINITY };
		return job->optional;
	}
	struct simulation_request request = {
		.hw = &config->hw, .dram_part = config->dram_part, .title = config->title, .program = program,
		.command = "model", .subject = job->kernel->name, .kernel = job->kernel, .args = &args,
	};
	struct simulation *s = simulate(&request, err);
	if (s)
		model_figures_of(answer, s);
	simulation_free(s);
	npu_program_free(program);
	return s != NULL;
}

static const char *job_name(void *ctx, unsigned i) { return ((const struct batch *)ctx)->jobs[i].name; }

unsigned model_parallel(void) { return child_parallel(); }

bool model_jobs_run(struct model_job *jobs, unsigned n, const struct config *config, unsigned parallel,
		    struct npu_error *err)
{
	struct batch batch = { jobs, config };
	struct model_figures *answers = calloc(n + 1u, sizeof *answers);
	if (!answers)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	bool ok = forks_run(&(struct forks){ .n = n, .parallel = parallel, .ctx = &batch, .answers = answers,
					     .answer_bytes = sizeof *answers, .run = run_job, .name = job_name }, err);
	for (unsigned i = 0; ok && i < n; i++)
		jobs[i].out = answers[i];
	free(answers);
	return ok;
}
