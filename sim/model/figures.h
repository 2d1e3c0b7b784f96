/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of an operator, a layer, a model: sums of runs. */
#ifndef NPU_SIM_MODEL_FIGURES_H
#define NPU_SIM_MODEL_FIGURES_H

#include "sim/simulate_parts.h"

enum { MODEL_BOUNDS = 7 };
/* What may limit a run, as account_bound() says it. */
extern const char *const model_bounds[MODEL_BOUNDS];

struct model_figures {
#define FIGURE(field, member) double field;
#include "sim/model/figures.def"
	double array_cycles; /* cycles of an array that never misses one: over `cycles` it is mac_utilization */
	double instructions;
	double states[NPU_ENGINES][NPU_STATES];
	uint64_t sram_peak_bytes, accum_peak_bytes; /* the largest, not sums */
	double bounds[MODEL_BOUNDS]; /* cycles of runs by what limits them */
};

void model_figures_of(struct model_figures *, const struct simulation *);
/* *sum += factor x f. */
void model_figures_add(struct model_figures *sum, const struct model_figures *f, double factor);
/* What a run of length `at` would be, on the straight line through runs of length a and b, a < b <= at. Counts are whole numbers, as those of
 * a run are, and cycles of engines and of their overlap add up to `cycles`. */
void model_figures_draw_out(struct model_figures *, const struct model_figures *fa, double a,
			    const struct model_figures *fb, double b, double at);
/* Cycles of an engine in service. */
double model_figures_active(const struct model_figures *, enum npu_engine);
/* What limits the runs that most cycles go to; "" without any. */
const char *model_figures_bound(const struct model_figures *);
/* What all channels of the part move at most. */
double model_peak_gb_per_s(const struct hw *);
/* The share of that which a step moves; NaN with an ideal DRAM. */
double model_peak_fraction(const struct hw *, double gb_per_s);
static inline double model_ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

#endif
