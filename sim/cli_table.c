/* SPDX-License-Identifier: Apache-2.0 */
/* libsmartcols behind four functions. Sentences are wrapped at words here: the library would cut through them. */
#include "sim/cli_table.h"

#include <libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A narrower column of sentences is harder to read than a line that the terminal folds. */
enum { TEXT_WIDTH_MIN = 24, SEPARATOR = 2 };

struct libscols_table *table_new(void)
{
	struct libscols_table *table = scols_new_table();
	if (table) {
		scols_table_set_column_separator(table, "  ");
		scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER);
	}
	return table;
}

void table_column(struct libscols_table *table, const char *title, enum table_kind kind)
{
	static const int flags[] = { 0, SCOLS_FL_RIGHT, SCOLS_FL_WRAP };
	struct libscols_column *column = table ? scols_table_new_column(table, title, 0, flags[kind]) : NULL;
	if (column && kind == TABLE_TEXT) {
		scols_column_set_wrapfunc(column, scols_wrapnl_chunksize, scols_wrapnl_nextchunk, NULL);
		scols_column_set_safechars(column, "\n");
	}
}

void table_row(struct libscols_table *table, const char *const *cells, unsigned ncells)
{
	struct libscols_line *line = table ? scols_table_new_line(table, NULL) : NULL;
	for (unsigned i = 0; line && i < ncells; i++)
		scols_line_set_data(line, i, cells[i]);
}

/* Columns of the terminal on stdout; 0: no terminal. */
static unsigned terminal_width(void)
{
	struct winsize size;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static unsigned column_width(struct libscols_table *table, unsigned column)
{
	const char *title = scols_column_get_name(scols_table_get_column(table, column));
	unsigned width = (unsigned)strlen(title);
	for (size_t i = 0; i < scols_table_get_nlines(table); i++) {
		const char *text = scols_line_get_column_data(scols_table_get_line(table, i),
							      scols_table_get_column(table, column));
		if (text && strlen(text) > width)
			width = (unsigned)strlen(text);
	}
	return width;
}

static bool is_text(struct libscols_table *table, unsigned column)
{
	return scols_column_is_wrap(scols_table_get_column(table, column)) != 0;
}

/* Columns that each column of sentences may have; 0: as many as it likes. */
static unsigned text_width(struct libscols_table *table)
{
	unsigned terminal = terminal_width(), used = 0, ntexts = 0;
	for (unsigned c = 0; c < scols_table_get_ncols(table); c++) {
		used += SEPARATOR + (is_text(table, c) ? 0 : column_width(table, c));
		ntexts += is_text(table, c);
	}
	if (!terminal || !ntexts)
		return 0;
	unsigned each = terminal > used ? (terminal - used) / ntexts : 0;
	return each > TEXT_WIDTH_MIN ? each : TEXT_WIDTH_MIN;
}

/* Turns the last blank before each line's end into a line break. */
static void wrap(char *text, unsigned width)
{
	char *line = text, *blank = NULL;
	for (char *at = text; *at; at++) {
		if (*at == ' ')
			blank = at;
		if (at - line >= (long)width && blank) {
			*blank = '\n';
			line = blank + 1;
			blank = NULL;
		}
	}
}

static void wrap_cells(struct libscols_table *table)
{
	unsigned width = text_width(table);
	for (unsigned c = 0; width && c < scols_table_get_ncols(table); c++)
		for (size_t i = 0; is_text(table, c) && i < scols_table_get_nlines(table); i++) {
			struct libscols_line *line = scols_table_get_line(table, i);
			const char *old = scols_line_get_column_data(line, scols_table_get_column(table, c));
			char *text = old ? strdup(old) : NULL;
			if (text) {
				wrap(text, width);
				scols_line_set_data(line, c, text);
			}
			free(text);
		}
}

/* Trailing blanks of the last column are noise in files and diffs. */
static void print_trimmed(const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\n"), keep = length;
		while (keep && text[keep - 1] == ' ')
			keep--;
		printf("%.*s\n", (int)keep, text);
		text += length + (text[length] == '\n');
	}
}

bool table_print(struct libscols_table *table)
{
	char *text = NULL;
	if (!table)
		return false;
	wrap_cells(table);
	bool ok = scols_print_table_to_string(table, &text) == 0;
	if (ok)
		print_trimmed(text);
	free(text);
	scols_unref_table(table);
	return ok;
}
