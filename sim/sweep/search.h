/* SPDX-License-Identifier: Apache-2.0 */
/* search: pareto. Generations of points around those that nothing beats, until the budget is spent or nothing is new; the same
 * ones whatever runs them, in whatever order. */
#ifndef NPU_SIM_SWEEP_SEARCH_H
#define NPU_SIM_SWEEP_SEARCH_H

#include "sim/sweep/rows.h"

/* The next generation: points that `known` does not hold, sorted, at most `most`, into a malloc'ed *list; their number. Rows hold the
 * goals as figures 0 to ngoals - 1; none at all begin it. 0: there is nothing left to try. */
uint64_t sweep_generation(const struct sweep_rows *, const struct sweep_set *known, uint64_t most, uint64_t **list);
/* Whether nothing that was run is as good in all goals and better in one. */
bool sweep_is_on_front(const struct sweep_rows *, const struct sweep_row *, unsigned ngoals);

#endif
