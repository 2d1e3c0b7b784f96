/* SPDX-License-Identifier: Apache-2.0 */
/* A YAML file as libyaml's document tree, with limits: 1 MiB, one document, depth 32, no aliases. Every node keeps its
 * line and column. */
#ifndef NPU_SIM_CONFIG_YAML_H
#define NPU_SIM_CONFIG_YAML_H

#include "isa/error.h"

#include <yaml.h>

enum { YAML_FILE_MAX = 1 << 20, YAML_DEPTH_MAX = 32 };

struct yaml_file {
	char *name; /* what errors call it */
	char *text; /* NUL-terminated */
	uint64_t nbytes;
	yaml_document_t document;
};

/* `path` "-" is stdin. On failure nothing is kept. */
bool yaml_file_open(struct yaml_file *, const char *path, struct npu_error *err);
/* From memory; the text is copied. */
bool yaml_file_text(struct yaml_file *, const char *text, uint64_t nbytes, const char *name, struct npu_error *err);
void yaml_file_close(struct yaml_file *);

/* The node of that number, NULL for 0. */
const yaml_node_t *yaml_file_node(const struct yaml_file *, int node);
/* The text of a scalar without NUL bytes inside; NULL for anything else. */
const char *yaml_scalar(const yaml_node_t *);
/* Sets an error at a node; returns false. */
bool yaml_fail(const struct yaml_file *, const yaml_node_t *, struct npu_error *err, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* The comment that belongs to a value: behind it on its line, else the comment lines right above; malloc'ed, "" for
 * none, NULL when memory is short. */
char *yaml_comment(const struct yaml_file *, const yaml_node_t *value);

#endif
