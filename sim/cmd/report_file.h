/* SPDX-License-Identifier: Apache-2.0 */
/* A small report of a command that is not a run: JSON into a file, or lines for people. */
#ifndef NPU_SIM_CMD_REPORT_FILE_H
#define NPU_SIM_CMD_REPORT_FILE_H

#include "isa/error.h"
#include "sim/cli.h"

#include <jansson.h>

/* Starts a report of `schema` ("npusim.array/1") with tool and command; NULL when memory is short. */
json_t *report_begin(const char *schema, const char *command, const char *subject);
/* What --report asks for: nothing when it is not given. Frees `report`; an exit status. */
int report_finish(const struct cli *, json_t *report);
/* Whether stdout is for people: no --report -. */
bool report_wants_lines(const struct cli *);
/* "cycles           2,448,882   (2,448.9 us)": a name, a value and a remark. */
void report_line(const char *name, const char *value, const char *remark);

#endif
