/* SPDX-License-Identifier: Apache-2.0 */
/* What npusim model takes, for whoever runs models, too. */
#ifndef NPU_SIM_CMD_MODEL_H
#define NPU_SIM_CMD_MODEL_H

#include "kernels/kernel.h"
#include "kernels/model/model.h"

/* Parameters of the command, in the form in which those of kernels are read. */
extern const struct npu_kernel model_ask_parameters;
/* What they ask for; `group` that nobody named is filled in. */
struct model_ask model_ask_of(struct npu_args *);
/* Whether they want tiles of large products searched for. */
bool model_ask_chooses(const struct npu_args *);
/* The dimensions of a model by name, or out of its config.json ("-": stdin). */
bool model_read(const char *name, struct transformer *, struct npu_error *);

#endif
