/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up rectangles of addresses x time: how many distinct bytes are covered at each time. */
#ifndef NPU_SIM_RECORD_SWEEP_H
#define NPU_SIM_RECORD_SWEEP_H

#include "sim/record_live.h"

/* Bytes [lo, hi) alive in [start, end). A byte outside declared ranges lives from the earliest start to the latest end
 * of the undeclared ones over it; over declared ones it lives while one of them does. */
struct sweep_life {
	uint64_t lo, hi;
	uint64_t start, end;
	bool declared;
};

struct live_steps {
	struct live_step *items;
	uint64_t count, capacity;
};

/* Steps of the lives that begin in addresses [from, to). False when out of memory. */
bool sweep(const struct sweep_life *lives, uint64_t count, uint64_t from, uint64_t to, struct live_steps *out);

#endif
