/* SPDX-License-Identifier: Apache-2.0 */
/* What a program keeps on chip, buffer by buffer: for npusim run --budget. */
#ifndef NPU_SIM_BUDGET_H
#define NPU_SIM_BUDGET_H

#include "isa/program.h"
#include "sim/report_table.h"

#include <jansson.h>

/* A table of the program's buffers by name: what each holds as the instructions use it, bytes of one and its copies (the halves of a
 * ping-pong), and their share of what the machine has. Buffers whose lives do not meet share bytes, so shares may add up to
 * more than what is taken. False when memory is short or the stream failed. */
bool budget_print(const struct npu_program *, const struct npu_limits *, FILE *, const struct report_style *);
/* The same as the rows of a report's `buffers`. NULL when memory is short. */
json_t *budget_json(const struct npu_program *);

#endif
