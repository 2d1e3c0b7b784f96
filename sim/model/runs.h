/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that are to be run for their figures: resolved, the same ones once, long ones drawn out from two shorter runs. */
#ifndef NPU_SIM_MODEL_RUNS_H
#define NPU_SIM_MODEL_RUNS_H

#include "sim/model/jobs.h"

struct model_run {
	const char *name;                /* of the operator or layer, for errors; the caller's */
	const struct npu_kernel *kernel;
	struct npu_args args;            /* resolved */
	struct npu_expect expect;        /* where the kernel tells */
	const char *along;               /* a parameter in which cost is linear but for its ends, of gemm m or n; NULL: none */
	unsigned jobs[2];                /* jobs of its run; two: it is drawn out from a shorter and a longer one */
	double lengths[3];               /* of these two, and its own; 0 where it is not drawn out */
	struct model_figures one;        /* of one run, once run */
};

/* Fills in a run of that kernel with "name=value" arguments for a machine. `choose`: tiles and order of products, where a kernel has
 * an order, are chosen by sim/choose.h. An error begins with the name. */
bool model_run_resolve(struct model_run *, const char *kernel, const char *const *args, unsigned nargs, bool choose,
		       const struct config *, struct npu_error *);
/* Runs all, `parallel` processes at a time; *njobs: how many it took. */
bool model_runs(struct model_run *, unsigned n, const struct config *, unsigned parallel, unsigned *njobs,
		struct npu_error *);

/* Jobs, each but once. */
struct model_jobs {
	struct model_job *list;
	unsigned n, room;
	struct npu_error *err;
};
/* The number of a job, one that is there already where it is the same; UINT_MAX when out of memory. */
unsigned model_jobs_add(struct model_jobs *, const struct model_job *);

#endif
