/* SPDX-License-Identifier: Apache-2.0 */
/* Charts drawn by gnuplot, a program of its own. */
#ifndef NPU_SIM_GNUPLOT_H
#define NPU_SIM_GNUPLOT_H

#include "isa/error.h"

/* Whether a chart can be written under that name: .svg or .png. */
bool gnuplot_check(const char *path, struct npu_error *);
/* Draws the script, which sets neither terminal nor output, into `path` (sim/output.h). False when there is no gnuplot, the
 * script is wrong or the file cannot be written. */
bool gnuplot_draw(const char *script, const char *path, struct npu_error *);
/* Writes text as a string of gnuplot's into `out`, quotes and all, cut to `size`; returns `out`. */
char *gnuplot_quote(const char *text, char *out, unsigned size);

#endif
