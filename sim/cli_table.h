/* SPDX-License-Identifier: Apache-2.0 */
/* A plain table on stdout: aligned columns, wrapped on a terminal, whole lines otherwise. */
#ifndef NPU_SIM_CLI_TABLE_H
#define NPU_SIM_CLI_TABLE_H

#include <stdbool.h>

struct libscols_table;

/* Column kinds: words, numbers (to the right), sentences (may wrap on a terminal). */
enum table_kind { TABLE_WORD, TABLE_NUMBER, TABLE_TEXT };

/* NULL when memory is short; the other functions then do nothing. */
struct libscols_table *table_new(void);
void table_column(struct libscols_table *, const char *title, enum table_kind);
/* A row of as many cells as there are columns; cells are copied. */
void table_row(struct libscols_table *, const char *const *cells, unsigned ncells);
/* Prints and frees; false when memory was short. Whether stdout took it is cli_main()'s to tell. */
bool table_print(struct libscols_table *);

#endif
