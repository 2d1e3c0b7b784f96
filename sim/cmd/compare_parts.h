/* SPDX-License-Identifier: Apache-2.0 */
/* What npusim compare does beside the tables: which keys explain a difference, and a report beside measured times. */
#ifndef NPU_SIM_CMD_COMPARE_PARTS_H
#define NPU_SIM_CMD_COMPARE_PARTS_H

#include "sim/cli.h"
#include "sim/report_table.h"

#include <jansson.h>

/* Rows [{settings, cycles, difference, why}]: run A with each setting of B that differs ({"sram.size": ["..", ".."]}), one at a
 * time, then with all of them. cycles and difference are null where it cannot run so, and `why` says why. NULL with an error
 * when A cannot be run again. A new reference. */
json_t *compare_explain(const struct cli *, const json_t *a, const json_t *b, const json_t *settings, struct npu_error *);
bool compare_explain_print(const json_t *rows, const json_t *a, const json_t *b, const struct report_style *);

/* What --timeline asks for: runs both again and writes them one above the other (sim/timeline/pair.h); with `tables` says so
 * on stdout. False when one of them cannot be run again, or a file not be written. */
bool compare_timeline(const struct cli *, const json_t *a, const json_t *b, bool tables, struct npu_error *err);
/* Whether all files of --timeline have names of timelines of two; told before anything else is. */
bool compare_timeline_check(const struct cli *, struct npu_error *err);

/* The command with --measured; an exit status. */
int compare_measured(const struct cli *);

#endif
