/* SPDX-License-Identifier: Apache-2.0 */
/* Drawings by Graphviz: DOT text laid out and rendered in a process of its own, within a time limit. */
#ifndef NPU_SIM_GRAPHVIZ_H
#define NPU_SIM_GRAPHVIZ_H

#include "isa/error.h"

#include <stdio.h>

/* Whether a drawing can be written under that name: .svg, .png or .dot (the text itself), or "-": DOT on stdout. */
bool graphviz_check(const char *path, struct npu_error *);
/* Draws `dot` into `path` (sim/output.h). False when it takes longer than `seconds`, Graphviz fails, or the file cannot be
 * written. */
bool graphviz_draw(const char *dot, const char *path, unsigned seconds, struct npu_error *);
/* Writes text as a DOT string, quotes and all; a newline becomes a centred line break. */
void graphviz_quote(const char *text, FILE *);

#endif
