/* SPDX-License-Identifier: Apache-2.0 */
/* Choices of the parameters that several kernels share. */
#include "kernels/params.h"

const char *const param_floats[] = { "fp16", "bf16", NULL };
const char *const param_operands[] = { "fp16", "bf16", "int8", NULL };
const char *const param_buffering[] = { "single", "double", "triple", NULL };
const char *const param_masks[] = { "none", "causal", "padding", "window", NULL };
const char *const param_flag[] = { "0", "1", NULL };
const char *const param_hidden[] = { "skip", "compute", NULL };
