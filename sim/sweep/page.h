/* SPDX-License-Identifier: Apache-2.0 */
/* One page that shows a sweep and needs nothing beside it. */
#ifndef NPU_SIM_SWEEP_PAGE_H
#define NPU_SIM_SWEEP_PAGE_H

#include "sim/sweep/rows.h"

#include <stdio.h>

/* Of the results in the folder `path`. `pictures`: SVG files that are put in, NULL-terminated; those that are not there
 * are left out. False with an error when the folder cannot be read. */
bool sweep_page(const struct sweep_rows *, const char *path, const char *const *pictures, FILE *out,
		struct npu_error *err);

#endif
