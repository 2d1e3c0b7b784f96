/* SPDX-License-Identifier: Apache-2.0 */
/* Many runs of kernels, each in a process of its own: SystemC builds one machine a process. */
#ifndef NPU_SIM_MODEL_JOBS_H
#define NPU_SIM_MODEL_JOBS_H

#include "kernels/kernel.h"
#include "sim/config.h"
#include "sim/model/figures.h"

struct model_job {
	const struct npu_kernel *kernel;
	struct npu_args args;     /* resolved, or to be */
	uint64_t dram_from;       /* its tensors lie behind */
	const struct npu_args *whole; /* a part of that, whose tensors lie as there; NULL: it is whole. Resolved, the caller's */
	const char *name;         /* of the operator, for errors; the caller's */
	bool optional;            /* its program need not be buildable: the cycles are infinite where it is not */
	struct model_figures out; /* once run */
};

/* As many processes at a time as there are processors, within reason. */
unsigned model_parallel(void);

/* Runs all, `parallel` at a time; false with the error of the first that failed, in their order, the others ended. */
bool model_jobs_run(struct model_job *jobs, unsigned n, const struct config *, unsigned parallel, struct npu_error *err);

#endif
