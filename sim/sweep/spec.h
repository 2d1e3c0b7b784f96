/* SPDX-License-Identifier: Apache-2.0 */
/* A specification of a sweep (YAML), checked as far as that goes without running: every key is known, every value of
 * every axis is one that its key takes, names of the condition and of figures exist. */
#ifndef NPU_SIM_SWEEP_SPEC_H
#define NPU_SIM_SWEEP_SPEC_H

#include "kernels/kernel.h"
#include "kernels/model/model.h"
#include "sim/plugin.h"
#include "sim/sweep/machines.h"

struct sweep_spec {
	struct sweep_space *space;
	char *subject;                   /* where it is to be found from here; of a preset its name */
	const struct npu_kernel *kernel; /* of kernels; of models, their parameters */
	struct plugin_facts *plugin;     /* `kernel` is its; NULL: the subject is none */
	struct plugin_limits limits;     /* of calls into it */
	struct transformer dims;         /* of models */
	struct sweep_machines machines;
	struct expr *where; /* NULL: none */
	bool late;          /* `where` asks for what is known only once the program is built */
};

/* `path` "-" is stdin. NULL with an error. A plug-in is not loaded by this process. */
struct sweep_spec *sweep_spec_read(const char *path, const struct plugin_limits *, struct npu_error *err);
void sweep_spec_free(struct sweep_spec *);
/* Whether the condition lets a point pass, from axes and settings alone; true where it has to wait. *divides (may be
 * NULL) becomes true where it does not for a division by 0. */
bool sweep_spec_passes(const struct sweep_spec *, uint64_t point, bool *divides);

#endif
