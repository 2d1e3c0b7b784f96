/* SPDX-License-Identifier: Apache-2.0 */
/* Values of axes by what they are, however they were written: which are the same, and which is more. */
#ifndef NPU_SIM_SWEEP_ORDER_H
#define NPU_SIM_SWEEP_ORDER_H

#include "sim/sweep/space.h"

/* Whether two values of a key are one: 1MiB and 1048576, 032 and 32, yes and true. Files are compared as they are
 * named.
 */
bool sweep_same_value(const char *key, const char *a, const char *b);
/* The number that a value of a key stands for, bytes of a size; NaN: a word, yes or no. */
double sweep_number(const char *key, const char *value);

/* The values of an axis in the order of their numbers. Of keys that go together there is one where each only rises or
 * only falls while the first one rises. */
struct sweep_order {
	uint32_t *at;   /* [count] the indices, in order; as they were written where there is none */
	uint32_t *rank; /* [count] the place of an index in `at` */
	bool ordered;
};
/* False when out of memory; sweep_order_fini() all the same. */
bool sweep_order_of(struct sweep_order *, const struct sweep_axis *);
void sweep_order_fini(struct sweep_order *);

#endif
