/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a point, by name. */
#ifndef NPU_SIM_SWEEP_FIGURES_H
#define NPU_SIM_SWEEP_FIGURES_H

#include "sim/model/step.h"
#include "sim/simulate_parts.h"

#include <jansson.h>

enum sweep_type { SWEEP_UINT, SWEEP_REAL, SWEEP_TEXT };

struct sweep_figure {
	const char *name;
	enum sweep_type type;
	const char *unit, *doc;
};

/* Ends with a name NULL. */
extern const struct sweep_figure sweep_figures[];
/* Its number; -1 when there is none of that name. */
int sweep_figure_find(const char *name);
/* The nearest name, NULL when none is near. */
const char *sweep_figure_near(const char *name);
/* Whether runs (steps of a model) have a value of it. */
bool sweep_figure_is_of(const char *name, bool model);
/* Whether more of it is better. */
bool sweep_figure_wants_more(const char *name);

/* Figures as an object, those that are 0 and cycles of engines left out; NULL when out of memory. */
json_t *sweep_figures_of(const struct simulation *);
json_t *sweep_figures_of_step(const struct model_step *);

#endif
