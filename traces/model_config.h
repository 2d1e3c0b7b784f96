/* SPDX-License-Identifier: Apache-2.0 */
/* The dimensions of models: out of a Hugging Face config.json, and by name out of a table of this project's own
 * (models.def). Fields and defaults are those of the `transformers` library, version 4.57, class by class. */
#ifndef NPU_TRACES_MODEL_CONFIG_H
#define NPU_TRACES_MODEL_CONFIG_H

#include "isa/error.h"
#include "isa/transformer.h"

/* Reads text[0..nbytes), the content of the file called `path` in errors. An error names the field and where it stands:
 * what is missing, of the wrong type, out of range, at odds with another one, or of a model that is not known. `*model`
 * is changed on success only. */
bool model_config_read(const char *path, const char *text, uint64_t nbytes, struct transformer *model,
		       struct npu_error *);

/* A model of the table. */
struct model_entry {
	const char *name;
	uint64_t parameters;     /* as published */
	const char *source;      /* of the dimensions and of the count */
	struct transformer dims; /* layer by layer only after model_find() */
};
extern const struct model_entry model_table[];
extern const unsigned model_table_size;

/* By name, upper and lower case alike; NULL when there is none. */
const struct model_entry *model_find(const char *name);
/* The dimensions of a row, layers filled in. */
void model_dims(const struct model_entry *, struct transformer *);

#endif
