/* SPDX-License-Identifier: Apache-2.0 */
/* Reports read back, for the commands that look at one afterwards. */
#ifndef NPU_SIM_REPORT_READ_H
#define NPU_SIM_REPORT_READ_H

#include "isa/error.h"

#include <jansson.h>
#include <stdint.h>

/* A file that `npusim run --report` wrote; "-" is stdin. A new reference; NULL with an error that names the file, and the
 * line where it is no JSON, or the key that cannot be so (sim/report_check.h). What the check does not cover is not trusted
 * either: ask through the functions below. */
json_t *report_read(const char *path, struct npu_error *);

/* The same of a file with one of two schemas; what an error says it should be: "report of a run or a model". */
json_t *report_read_either(const char *path, const char *one, const char *other, const char *what, struct npu_error *);

/* Values at "engines.load.busy"; 0, NAN and "" where there is none of that type. */
uint64_t report_count(const json_t *report, const char *path);
double report_real(const json_t *report, const char *path);
const char *report_text(const json_t *report, const char *path);
/* NULL where there is nothing. */
json_t *report_value(const json_t *report, const char *path);

#endif
