/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of points. */
#ifndef NPU_SIM_SWEEP_SET_H
#define NPU_SIM_SWEEP_SET_H

#include <stdbool.h>
#include <stdint.h>

struct sweep_set;
/* Of points below that number; NULL when out of memory. */
struct sweep_set *sweep_set_new(uint64_t points);
bool sweep_set_add(struct sweep_set *, uint64_t point); /* false when out of memory */
bool sweep_set_has(const struct sweep_set *, uint64_t point);
void sweep_set_free(struct sweep_set *);

#endif
