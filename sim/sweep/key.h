/* SPDX-License-Identifier: Apache-2.0 */
/* What a record is of: told when it is written, recomputed when it is read. */
#ifndef NPU_SIM_SWEEP_KEY_H
#define NPU_SIM_SWEEP_KEY_H

#include "sim/sweep/point.h"

/* {"sram.size": "1MiB", "tile_q": "64"}: every key of every axis, as the plan has it; NULL when out of memory. */
json_t *sweep_place(const struct sweep_space *, uint64_t point);
/* The key of a run, 16 hex digits: a hash of the version, of the machine (sweep_machine_hash() with the SRAM's size),
 * of a plug-in's bytes, and of the program; a step of a model has many programs: of what they are built from, the model
 * and `params`, with `program` NULL. */
void sweep_key(const struct sweep_space *, uint64_t machine, const char *program, const char *params, char out[17]);

/* Looks at records of one space. Its machines are resolved again, each once, where they are still those that the plan
 * was made with; elsewhere they are not held against. */
struct sweep_judge;
/* NULL when out of memory. */
struct sweep_judge *sweep_judge_new(void);
void sweep_judge_free(struct sweep_judge *);
/* Whether a record is of that point: its place is, and its key is that of its program on the machine of the point. */
bool sweep_judge_holds(struct sweep_judge *, const struct sweep_space *, uint64_t point, enum sweep_status,
		       const json_t *record);

#endif
