/* SPDX-License-Identifier: Apache-2.0 */
/* search: pareto. Generations of points around those that nothing beats, until the budget is spent or nothing is new.
 * Each is a function of the plan and of the whole generations before it: the same ones whatever runs them, in whatever
 * order, however often it is interrupted. Axes of many numbers are walked in ratios: from 1,000 to 2,000 is as far as
 * from 1 to 2. */
#ifndef NPU_SIM_SWEEP_SEARCH_H
#define NPU_SIM_SWEEP_SEARCH_H

#include "sim/sweep/rows.h"

/* The next generation: points that `seen` does not hold, sorted, at most `most`, into a malloc'ed *list; their number.
 * Rows are those of the generations before, of `seen`, with the goals as figures 0 to ngoals - 1; none at all begin it.
 * 0: there is nothing left to try, or
 * (*list NULL) no memory. */
uint64_t sweep_generation(const struct sweep_rows *, const struct sweep_set *seen, uint64_t most, uint64_t **list);
/* The part of the budget that rows have spent: programs on machines that were simulated, each once, and what failed. */
uint64_t sweep_spent(const struct sweep_rows *);
/* Points that were run of which nothing is as good in all of some figures (by number in the rows) and better in one,
 * the best by the first of them first; of equal ones one, the first by number. Their number, into a malloc'ed *list;
 * NULL when out of memory. */
uint64_t sweep_front(const struct sweep_rows *, const unsigned *figures, unsigned n, const struct sweep_row ***list);

#endif
