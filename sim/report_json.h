/* SPDX-License-Identifier: Apache-2.0 */
/* The report as a jansson value, for whoever looks figures up by name. */
#ifndef NPU_SIM_REPORT_JSON_H
#define NPU_SIM_REPORT_JSON_H

#include "sim/simulate_parts.h"

#include <jansson.h>

/* Text of anybody as it is shown everywhere (isa/plain.h), so that JSON stays UTF-8. NULL when out of memory. */
json_t *report_json_text(const char *);
/* Every parameter of a kernel, or of a text file, by name, resolved; an empty object without either (NULL). */
json_t *report_json_args(const struct npu_kernel *, const struct npu_args *, const struct npu_macro *);
/* A new reference; NULL when out of memory. */
json_t *report_json(const struct simulation *);
/* Writes a value the way all of npusim's JSON files are written: indented by two, keys in their order, one newline at
 * the end. False when the stream failed. */
bool report_json_print(const json_t *, FILE *);

/* Cycles of an engine by state; stalls without a cycle are left out unless all are wanted. */
json_t *report_json_states(const uint64_t states[NPU_STATES], bool all_stalls);
/* The parts of report.def's BEGIN rows. */
#define BEGIN(path, writer, type, unit, doc) json_t *report_json_##writer(const struct simulation *);
#include "sim/report.def"

#endif
