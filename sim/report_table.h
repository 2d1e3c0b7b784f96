/* SPDX-License-Identifier: Apache-2.0 */
/* Tables for people: the first column to the left, figures to the right, two spaces between, never cut. */
#ifndef NPU_SIM_REPORT_TABLE_H
#define NPU_SIM_REPORT_TABLE_H

#include "sim/simulate.h"

struct report_table;

/* `titles`: one a column, NULL-terminated. NULL when out of memory. */
struct report_table *report_table_new(const char *const *titles);
/* Begins a row; its cells follow from left to right. */
void report_table_row(struct report_table *, const char *label);
void report_table_text(struct report_table *, const char *text);
/* With thousands separators; `.` for 0. */
void report_table_count(struct report_table *, uint64_t value);
/* `.` for 0. */
void report_table_real(struct report_table *, double value, unsigned decimals);
/* Prints and frees the table. False when memory was short or the stream failed. */
bool report_table_print(struct report_table *, FILE *, const struct report_style *);

#endif
