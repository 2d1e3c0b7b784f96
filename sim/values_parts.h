/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of values share. */
#ifndef NPU_SIM_VALUES_PARTS_H
#define NPU_SIM_VALUES_PARTS_H

#include "sim/values.h"

uint64_t values_elements(const struct npu_tensor *);
/* An input or an output. */
bool values_is_input(const struct npu_tensor *);
bool values_is_output(const struct npu_tensor *);
/* By name; an error names the nearest. */
const struct npu_tensor *values_find(const struct npu_program *, const char *name, struct npu_error *);

/* Fills every input. */
bool values_fill(struct values *, struct npu_error *);
/* `n` values of a tensor's stream: bell-shaped for floats, the whole range for small integers. */
void values_seeded(const struct npu_tensor *, uint64_t seed, double *out, uint64_t n);

/* The facts of an output that need no reference. `got` are its elements. */
void values_describe(const struct values *, struct values_output *, const double *got);
/* Its errors. bound[i]: how far expected[i] may be off before the last rounding. */
void values_compare(struct values_output *, const double *got, const double *expected, const double *bound);

/* Whether the source says what tensor `t` should be. */
bool values_has_reference(const struct values_request *, uint32_t t);
/* What evaluating it takes, at most. */
uint64_t values_reference_memory(const struct npu_reference_node *);
/* That, and how far each element may be off before the last rounding. False with an error: memory, or a file. */
bool values_reference(const struct values *, uint32_t t, double exp_error, double *value, double *error,
		      struct npu_error *);

#endif
