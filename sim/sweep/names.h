/* SPDX-License-Identifier: Apache-2.0 */
/* What names stand for in a condition about points: axes, keys on them, settings, and words among their values. */
#ifndef NPU_SIM_SWEEP_NAMES_H
#define NPU_SIM_SWEEP_NAMES_H

#include "kernels/kernel.h"
#include "sim/sweep/space.h"

/* A value of a name that a point has: of an axis, a key on it, or a setting; NULL: none of these. A label is put into
 * `out`. */
const char *sweep_value(const struct sweep_space *, uint64_t point, const char *name, char *out, unsigned size);
/* What the values of such a name are; false: it is none of these. */
bool sweep_kind(const struct sweep_space *, const char *name, enum expr_kind *kind);
/* Values of axes and settings that begin with a letter, for expr_parse(); the array is malloc'ed, NULL at its end. */
const char **sweep_words(const struct sweep_space *);
/* Whether it is a value of an axis, a choice of the kernel's (NULL: there is none), or a word that a hardware key
 * takes. */
bool sweep_is_word(const struct sweep_space *, const struct npu_kernel *, const char *word);

#endif
