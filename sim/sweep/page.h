/* SPDX-License-Identifier: Apache-2.0 */
/* One page that shows a sweep and needs nothing beside it. */
#ifndef NPU_SIM_SWEEP_PAGE_H
#define NPU_SIM_SWEEP_PAGE_H

#include "sim/sweep/rows.h"

#include <stdio.h>

/* `pictures`: SVG files that are put in, NULL-terminated; those that are not there are left out. */
void sweep_page(const struct sweep_rows *, const char *const *pictures, FILE *out);

#endif
