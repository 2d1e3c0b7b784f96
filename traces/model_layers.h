/* SPDX-License-Identifier: Apache-2.0 */
/* What both sources of dimensions, files and the table, share. */
#ifndef NPU_TRACES_MODEL_LAYERS_H
#define NPU_TRACES_MODEL_LAYERS_H

#include "isa/transformer.h"

/* Sets `windowed` and `moe` of every layer from the patterns: layer i (from 0) sees all when window_full_every divides
 * i + 1, and has experts from dense_first on where moe_every divides i (DeepSeek) or i + 1 (others; alike for 1). */
void model_fill_layers(struct transformer *);

#endif
