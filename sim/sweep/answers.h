/* SPDX-License-Identifier: Apache-2.0 */
/* What a sweep says at its end, in words and small tables. */
#ifndef NPU_SIM_SWEEP_ANSWERS_H
#define NPU_SIM_SWEEP_ANSWERS_H

#include "sim/sweep/rows.h"

#include <stdio.h>

/* Best point for each value of the main axes, flat and non-monotonic axes with the cause, refusals with the nearest
 * legal point, failures with commands. False with an error when the folder `path` cannot be read. */
bool sweep_answers(const struct sweep_rows *, const char *path, FILE *out, bool color, struct npu_error *err);

#endif
