/* SPDX-License-Identifier: Apache-2.0 */
/* What people and programs are told of a step: tables, and `npusim.model/1`. */
#ifndef NPU_SIM_MODEL_REPORT_H
#define NPU_SIM_MODEL_REPORT_H

#include "sim/model/step.h"

#include <jansson.h>

/* The head of both: the model, the machine, what is asked. */
void model_print_head(const struct model_step *, FILE *);
/* After model_step_measure(): operators, parameters, what they need and count, without any time. False when memory is short. */
bool model_print_plan(const struct model_step *, FILE *, bool color);
/* After model_step_run(). `layers`: with a table of all layers. */
bool model_print_report(const struct model_step *, FILE *, bool color, bool layers);
/* `command` is the line that was resolved; a new reference, NULL when out of memory. After model_step_run(). */
json_t *model_report_json(const struct model_step *, const char *command, json_t *params);
/* MACs a byte at the DRAM's peak rate and full utilisation of the array's own type. */
double model_ridge(const struct hw *);

#endif
