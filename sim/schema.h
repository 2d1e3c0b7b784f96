/* SPDX-License-Identifier: Apache-2.0 */
/* What the JSON files hold, out of the tables that they are written by. A schema has the name of the command: "report",
 * "check", "model", "explain", "import", each of npusim.NAME/1. */
#ifndef NPU_SIM_SCHEMA_H
#define NPU_SIM_SCHEMA_H

#include "isa/error.h"

#include <stdio.h>

bool schema_is(const char *name);
/* The JSON Schema (draft 2020-12) of a name that schema_is(); units are in "unit". False with an error: memory, or the stream
 * failed. */
bool schema_write(const char *name, FILE *, struct npu_error *);
/* The same as the tables of docs. False when the stream failed. */
bool schema_markdown(const char *name, FILE *);

#endif
