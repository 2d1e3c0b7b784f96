/* SPDX-License-Identifier: Apache-2.0 */
/* The machines of a sweep: those that its axes begin from, and what they make of them at a point. */
#ifndef NPU_SIM_SWEEP_MACHINES_H
#define NPU_SIM_SWEEP_MACHINES_H

#include "sim/config.h"
#include "sim/sweep/space.h"

struct sweep_machines {
	struct config *bases; /* before the axes: of each value of an axis `hw`, else one */
	unsigned n;
	int axis; /* `hw`; -1: none */
};

/* A base more: a preset or a file of the sweep, with the settings that the space has so far. False with an error. */
bool sweep_machines_add(struct sweep_machines *, const struct sweep_space *, const char *name, struct npu_error *err);
/* The bases of a plan, whose files may have gone or changed since. On failure, too, sweep_machines_fini() frees. */
bool sweep_machines_read(struct sweep_machines *, const struct sweep_space *, struct npu_error *err);
void sweep_machines_fini(struct sweep_machines *);
/* The machine of a point into *out, which sweep_machines_at() initialises and the caller ends by config_fini(); strings
 * of it stay those of the bases. False with an error when its keys do not go together; config_fini() all the same. */
bool sweep_machines_at(const struct sweep_machines *, const struct sweep_space *, uint64_t point, struct config *out,
		       struct npu_error *err);
/* A key as a report of the machine has it, ports that follow from the array too; into `out`. */
const char *sweep_machine_value(const struct config *, const struct config_key *, char *out, unsigned size);
/* Over every hardware key as resolved; `sram_size`: that one, too. */
uint64_t sweep_machine_hash(const struct config *, bool sram_size);
/* Calls `each` with every base, as it is and with every DRAM part of an axis; of those that do not go together as far as
 * they could be read. */
typedef void sweep_each_machine(void *context, const struct config *);
void sweep_machines_each(const struct sweep_machines *, const struct sweep_space *, sweep_each_machine *, void *context);
/* Over the bases, with what the DRAM parts of an axis hold: what the machines were when the plan was made, 16 hex
 * digits. */
void sweep_machines_digest(const struct sweep_machines *, const struct sweep_space *, char out[17]);

#endif
