/* SPDX-License-Identifier: Apache-2.0 */
/* A step of a model on the machine: which runs it takes, and the sums of their figures. */
#ifndef NPU_SIM_MODEL_STEP_H
#define NPU_SIM_MODEL_STEP_H

#include "kernels/model/model.h"
#include "sim/model/runs.h"

/* What an operator of the plan needs and gave. */
struct model_step_op {
	struct npu_limits needs;          /* of its program */
	uint64_t sram_bytes, accum_bytes; /* of its buffers */
	uint64_t instructions;
	struct model_figures total;       /* of all its runs in the step */
};

struct model_step {
	const struct transformer *dims;
	const struct model_ask *ask;
	const struct config *config;
	bool choose; /* tiles of large products by sim/choose.h, else the kernel's own */
	bool exact;  /* every operator of every layer, at its own addresses, nothing drawn out */
	struct model_plan plan;
	struct model_run runs[MODEL_OPS]; /* of the plan's operators */
	struct model_step_op ops[MODEL_OPS];
	struct model_figures layers[TRANSFORMER_LAYERS_MAX]; /* of each layer */
	struct model_figures sections[MODEL_SECTIONS];       /* of all their layers */
	struct model_figures total;
	uint64_t weight_bytes, kv_bytes, activation_bytes, dram_bytes; /* planned; of the part */
	unsigned njobs;
};

/* The plan with resolved kernels; refused when weights, cache and activations exceed the DRAM, or a kernel does not fit. The
 * step is malloc'ed; NULL with an error. The other arguments stay the caller's. */
struct model_step *model_step_new(const struct transformer *, const struct model_ask *, const struct config *, bool choose,
				  bool exact, struct npu_error *);
/* Programs built and dropped, for what they need; without this `needs` and `instructions` are 0. */
bool model_step_measure(struct model_step *, struct npu_error *);
/* Runs what is needed, `parallel` processes at a time. */
bool model_step_run(struct model_step *, unsigned parallel, struct npu_error *);
void model_step_free(struct model_step *);

#endif
