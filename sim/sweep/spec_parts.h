/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that read a specification share. Each takes the nodes of its own words; all of them fail at a node,
 * with what would be right there. */
#ifndef NPU_SIM_SWEEP_SPEC_PARTS_H
#define NPU_SIM_SWEEP_SPEC_PARTS_H

#include "isa/macro.h"
#include "sim/config_yaml.h"
#include "sim/sweep/spec.h"

struct spec_reader {
	struct yaml_file file;
	struct sweep_spec *spec;
	struct sweep_space *space;
	struct npu_args args;    /* scratch, to try values on */
	struct npu_macro *macro; /* of a program: its parameters */
	uint64_t bytes_hash;     /* of the program's file */
	struct npu_error *err;
};

/* ---- spec.c ---- */

bool spec_fail(struct spec_reader *, const yaml_node_t *, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* An error of somebody else, told at a node. */
bool spec_fail_as(struct spec_reader *, const yaml_node_t *, const struct npu_error *);
static inline const yaml_node_t *spec_at(const struct spec_reader *r, int node)
{
	return yaml_file_node(&r->file, node);
}
static inline char *spec_keep(const char *text)
{
	return strdup(text);
}

/* ---- spec_subject.c ---- */

/* Either may be NULL. */
bool spec_read_subject(struct spec_reader *, const yaml_node_t *run, const yaml_node_t *model);
/* A file that results depend on. */
void spec_note_file(struct spec_reader *, const char *path);
bool spec_has_param(const struct spec_reader *, const char *key);
/* Fails, with the nearest name. */
bool spec_unknown_param(struct spec_reader *, const yaml_node_t *, const char *key);

/* ---- spec_keys.c ---- */

/* `node` NULL: nothing is said. */
bool spec_read_hw(struct spec_reader *, const yaml_node_t *node);
bool spec_read_with(struct spec_reader *, const yaml_node_t *);
bool spec_add_machine(struct spec_reader *, const yaml_node_t *, const char *name);
/* A preset or a DRAM part by its name, or where a file beside the specification is; malloc'ed. */
char *spec_machine_name(struct spec_reader *, const char *name);
/* Whether a key exists, before its values. */
bool spec_check_key(struct spec_reader *, const yaml_node_t *, const char *key);
/* Whether a key takes a value, as far as that can be said of it alone. */
bool spec_check_value(struct spec_reader *, const yaml_node_t *, const char *key, const char *value);
/* A value that was checked just now in the one way in which it is written, so that 1MiB and 1048576, yes and true, a
 * preset and its file are the same text; malloc'ed. */
char *spec_plain_value(struct spec_reader *, const char *key, const char *value);
/* Whether it stands in settings or another axis already. */
bool spec_is_taken(const struct sweep_space *, const char *key);

/* ---- spec_axes.c, spec_where.c ---- */

/* `hw`: the node of that word, NULL where there is none. */
bool spec_read_axes(struct spec_reader *, const yaml_node_t *, const yaml_node_t *hw);
/* All of a list must hold. */
bool spec_read_where(struct spec_reader *, const yaml_node_t *);
/* Whether some point does, as far as can be looked at. */
bool spec_something_passes(const struct sweep_spec *);

#endif
