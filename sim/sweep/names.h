/* SPDX-License-Identifier: Apache-2.0 */
/* What names stand for in a condition about points: axes, keys on them, settings, and words among their values. */
#ifndef NPU_SIM_SWEEP_NAMES_H
#define NPU_SIM_SWEEP_NAMES_H

#include "isa/macro.h"
#include "kernels/kernel.h"
#include "sim/config.h"
#include "sim/sweep/space.h"

/* A value of a name that a point has: of an axis, a key on it, or a setting; NULL: none of these. A label is put into
 * `out`. */
const char *sweep_value(const struct sweep_space *, uint64_t point, const char *name, char *out, unsigned size);
/* What the values of such a name are; false: it is none of these. */
bool sweep_kind(const struct sweep_space *, const char *name, enum expr_kind *kind);
/* What the values of a hardware key are. */
enum expr_kind sweep_key_kind(const struct config_key *);
/* The value of a name as a condition sees it: of a flag yes or no, however it was written. */
struct expr_value sweep_value_of(const char *name, const char *text);
/* Words with an operator in them, for expr_parse(): presets, and values of axes and settings; malloc'ed, freed by
 * config_names_free(). */
char **sweep_words(const struct sweep_space *);

/* What conditions are about. */
struct sweep_names {
	const struct sweep_space *space;
	const struct npu_kernel *kernel; /* NULL: none */
	const struct npu_macro *macro;   /* of a program, where it is at hand */
	/* The name at that place of the condition as the plan, the kernel, the machine or the figures have it, with what
	 * its values are; NULL: none of these. */
	const char *(*known)(void *context, unsigned at, enum expr_kind *kind);
	void *context;
};
/* What stands opposite a name whose values are words is one of them, where it can be, whether a point has it or not:
 * bounds, choices, presets. False with an error, and the place in *at, for a word that such a name never is. */
bool sweep_bind_words(struct expr *, const struct sweep_names *, unsigned *at, struct npu_error *err);

#endif
