/* SPDX-License-Identifier: Apache-2.0 */
/* The house's table on libsmartcols. */
#include "sim/report_table.h"

#include "isa/units.h"

#include <libsmartcols/libsmartcols.h>
#include <stdlib.h>
#include <string.h>

struct report_table {
	struct libscols_table *table;
	struct libscols_line *line;
	unsigned column; /* next cell of the line */
	bool failed;
};

struct report_table *report_table_new(const char *const *titles)
{
	struct report_table *t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->table = scols_new_table();
	if (!t->table) {
		free(t);
		return NULL;
	}
	/* No terminal: nothing is cut to its width. */
	scols_table_set_termforce(t->table, SCOLS_TERMFORCE_NEVER);
	scols_table_set_column_separator(t->table, "  ");
	for (unsigned i = 0; titles[i]; i++)
		if (!scols_table_new_column(t->table, titles[i], 0, i > 0 ? SCOLS_FL_RIGHT : 0))
			t->failed = true;
	return t;
}

void report_table_row(struct report_table *t, const char *label)
{
	t->line = scols_table_new_line(t->table, NULL);
	t->column = 0;
	if (!t->line)
		t->failed = true;
	report_table_text(t, label);
}

void report_table_text(struct report_table *t, const char *text)
{
	if (!t->line || scols_line_set_data(t->line, t->column++, text) != 0)
		t->failed = true;
}

void report_table_count(struct report_table *t, uint64_t value)
{
	report_table_text(t, value == 0 ? "." : npu_count_text(value).text);
}

void report_table_real(struct report_table *t, double value, unsigned decimals)
{
	char text[48];
	snprintf(text, sizeof(text), "%.*f", (int)decimals, value);
	report_table_text(t, value == 0 ? "." : text);
}

static bool print_text(const char *text, FILE *out, const struct report_style *style)
{
	uint64_t title = strcspn(text, "\n");
	if (style->color)
		fprintf(out, "\033[1m%.*s\033[0m%s\n", (int)title, text, text + title);
	else
		fprintf(out, "%s\n", text);
	return !ferror(out);
}

bool report_table_print(struct report_table *t, FILE *out, const struct report_style *style)
{
	char *text = NULL;
	bool ok = !t->failed && scols_print_table_to_string(t->table, &text) == 0 && text;
	if (ok)
		ok = print_text(text, out, style);
	free(text);
	scols_unref_table(t->table);
	free(t);
	return ok;
}
