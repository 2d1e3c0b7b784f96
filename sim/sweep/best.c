/* SPDX-License-Identifier: Apache-2.0 */
/* npusim sweep best: the best points of a folder under a condition, with the command that runs each again. */
#include "isa/units.h"
#include "sim/config.h"
#include "sim/report_table.h"
#include "sim/sweep/answers.h"
#include "sim/sweep/command.h"
#include "sim/sweep/expr.h"
#include "sim/sweep/figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WHAT_BYTES = 256 };

struct choice {
	struct sweep_rows rows;
	struct expr *where;
	int figure[32]; /* of a name in `where`: which figure of the rows; -1: an axis or setting */
	char alias[32][96];
	uint64_t below; /* rows that were taken already */
	const struct sweep_row *taken[1000];
	uint64_t ntaken;
	struct { const struct choice *c; const struct sweep_row *row; char scratch[WHAT_BYTES]; } now;
	struct npu_error err;
};

static struct expr_value value_of(void *context, unsigned n)
{
	struct choice *c = context;
	if (c->figure[n] >= 0)
		return (struct expr_value){ .number = sweep_rows_figure(&c->rows, c->now.row, (unsigned)c->figure[n]) };
	const char *text = sweep_value(c->rows.space, c->now.row->point, c->alias[n], c->now.scratch, sizeof c->now.scratch);
	return text ? expr_value_of(text) : (struct expr_value){ .number = (double)NAN };
}

static bool fits(void *context, const struct sweep_row *row)
{
	struct choice *c = context;
	for (uint64_t i = 0; i < c->ntaken; i++)
		if (c->taken[i] == row)
			return false;
	c->now.row = row;
	return !c->where || expr_holds(c->where, value_of, c);
}

/* Number of a figure among those that rows keep. */
static int keep_figure(struct choice *c, const char *name)
{
	struct sweep_rows *r = &c->rows;
	int f = sweep_figure_find(name);
	if (f < 0 || sweep_figures[f].type == SWEEP_TEXT)
		return -1;
	for (unsigned i = 0; i < r->nnames; i++)
		if (strcmp(r->names[i], name) == 0)
			return (int)i;
	if (r->nnames == SWEEP_ROW_FIGURES)
		return -1;
	r->names[r->nnames++] = sweep_figures[f].name;
	return (int)r->nnames - 1;
}

static bool is_axis_value(const struct sweep_space *s, const char *word)
{
	for (unsigned a = 0; a < s->naxes; a++)
		for (size_t i = 0; i < (size_t)s->axes[a].nkeys * s->axes[a].count; i++)
			if (strcmp(s->axes[a].values[i], word) == 0)
				return true;
	return false;
}

static bool unknown_name(struct choice *c, const char *name)
{
	const struct sweep_space *s = c->rows.space;
	const char *names[512];
	unsigned n = 0;
	for (unsigned a = 0; a < s->naxes; a++)
		for (unsigned k = 0; k < s->axes[a].nkeys; k++)
			names[n++] = s->axes[a].keys[k];
	for (unsigned i = 0; sweep_figures[i].name && n < 512; i++)
		names[n++] = sweep_figures[i].name;
	const char *near = npu_nearest(name, names, n);
	return npu_fail(&c->err, NPU_ERR_USAGE, "--where: unknown name %s%s%s%s", name, near ? "; did you mean " : "; axes and figures are known",
			near ? near : "", near ? "?" : "");
}

/* `sram` is sram.size: the size of a memory is what one means by it. */
static bool bind(struct choice *c, const char *text)
{
	char scratch[WHAT_BYTES];
	const char *name;
	c->where = expr_parse(text, &c->err);
	if (!c->where) {
		char what[256];
		snprintf(what, sizeof what, "%.200s", c->err.text);
		return npu_fail(&c->err, NPU_ERR_USAGE, "--where '%s', character %u: %s", text, c->err.column, what);
	}
	for (unsigned i = 0; (name = expr_name(c->where, i, NULL)); i++) {
		snprintf(c->alias[i], sizeof c->alias[i], "%s", name);
		c->figure[i] = -1;
		if (expr_is_word(c->where, i) || sweep_value(c->rows.space, 0, name, scratch, sizeof scratch) || (c->figure[i] = keep_figure(c, name)) >= 0)
			continue;
		snprintf(c->alias[i], sizeof c->alias[i], "%.80s.size", name);
		if (sweep_value(c->rows.space, 0, c->alias[i], scratch, sizeof scratch))
			continue;
		if (!is_axis_value(c->rows.space, name))
			return unknown_name(c, name);
		expr_make_word(c->where, i);
	}
	return true;
}

static bool choose_figure(struct choice *c, const char *by)
{
	if (!by)
		return true;
	int f = sweep_figure_find(by);
	const char *near = f < 0 ? sweep_figure_near(by) : NULL;
	if (f < 0)
		return npu_fail(&c->err, NPU_ERR_USAGE, "--by: unknown figure %.60s%s%s%s", by,
				near ? "; did you mean " : "; npusim sweep figures lists them", near ? near : "", near ? "?" : "");
	if (sweep_figures[f].type == SWEEP_TEXT)
		return npu_fail(&c->err, NPU_ERR_USAGE, "--by %s: a word is neither more nor less", by);
	/* It comes first. */
	for (unsigned i = 0; i < c->rows.nnames; i++)
		if (strcmp(c->rows.names[i], by) == 0) {
			memmove(c->rows.names + 1, c->rows.names, i * sizeof *c->rows.names);
			c->rows.names[0] = sweep_figures[f].name;
			return true;
		}
	c->rows.nnames -= c->rows.nnames == SWEEP_ROW_FIGURES;
	memmove(c->rows.names + 1, c->rows.names, c->rows.nnames * sizeof *c->rows.names);
	c->rows.names[0] = sweep_figures[f].name;
	c->rows.nnames++;
	return true;
}

static struct report_table *table_of(const struct choice *c, unsigned shown)
{
	const char *titles[SWEEP_AXES + SWEEP_ROW_FIGURES + 2];
	unsigned n = 0;
	titles[n++] = "point";
	for (unsigned a = 0; a < c->rows.space->naxes; a++)
		titles[n++] = c->rows.space->axes[a].name;
	for (unsigned i = 0; i < shown; i++)
		titles[n++] = sweep_figure_title(c->rows.names[i]);
	titles[n] = NULL;
	return report_table_new(titles);
}

/* Of steps of a model: what takes longest, and the run that shows it. */
static bool print_longest(struct choice *c, const char *path)
{
	const struct sweep_space *s = c->rows.space;
	char text[4096];
	json_t *record;
	for (uint64_t i = 0; s->kind == SWEEP_MODEL && i < c->ntaken; i++) {
		if (!sweep_rows_fetch(path, &c->taken[i]->point, 1, &record, &c->err))
			return false;
		const json_t *longest = json_object_get(record, "longest");
		const char *name = json_string_value(json_object_get(longest, "name")), *run = json_string_value(json_object_get(longest, "run"));
		if (name && run)
			printf("%slongest operator of point %s: %s, %.1f %% of the cycles; its timeline:\n%s --timeline point-%llu.pftrace\n",
			       i ? "" : "\n", npu_count_text(c->taken[i]->point).text, name,
			       100 * json_number_value(json_object_get(longest, "share")),
			       sweep_command_on(s, c->taken[i]->point, run, text, sizeof text), (unsigned long long)c->taken[i]->point);
		json_decref(record);
	}
	return true;
}

static int print_best(struct choice *c, const char *path, uint64_t top, unsigned shown)
{
	const struct sweep_space *s = c->rows.space;
	char text[4096];
	for (const struct sweep_row *row; c->ntaken < top && (row = sweep_best(&c->rows, 0, fits, c));)
		c->taken[c->ntaken++] = row;
	if (!c->ntaken) {
		npu_fail(&c->err, NPU_ERR_FIT, "no point that was run%s has a value of %s", c->where ? " and fits --where" : "", c->rows.names[0]);
		return cli_fail(&c->err);
	}
	struct report_table *table = table_of(c, shown);
	if (!table)
		return cli_usage("out of memory");
	for (uint64_t n = 0; n < c->ntaken; n++) {
		const struct sweep_row *row = c->taken[n];
		report_table_row(table, npu_count_text(row->point).text);
		for (unsigned a = 0; a < s->naxes; a++)
			report_table_text(table, sweep_label(&s->axes[a], sweep_index(s, row->point, a), text, sizeof text));
		for (unsigned i = 0; i < shown; i++)
			report_table_text(table, sweep_figure_text(c->rows.names[i], sweep_rows_figure(&c->rows, row, i), text, sizeof text));
	}
	report_table_print(table, stdout, &(struct report_style){ .color = isatty(STDOUT_FILENO) && !getenv("NO_COLOR") });
	if (!print_longest(c, path))
		return cli_fail(&c->err);
	for (uint64_t i = 0; i < c->ntaken; i++)
		printf("%s%s\n", i ? "" : "\n", sweep_command(s, c->taken[i]->point, text, sizeof text));
	return 0;
}

int sweep_best_command(const struct cli *cli)
{
	uint64_t top = 1;
	int status = 0;
	struct choice *c = calloc(1, sizeof *c);
	struct sweep_space *space = c ? sweep_store_plan(cli->words[1], &c->err) : NULL;
	const char *where = cli_value(cli, "where");
	if (!c)
		return cli_usage("out of memory");
	c->rows.space = space;
	bool ok = space && sweep_read_number(cli, "top", 1000, &top, &c->err);
	if (ok)
		c->rows.nnames = sweep_shown(space, c->rows.names);
	ok = ok && choose_figure(c, cli_value(cli, "by"));
	unsigned shown = c->rows.nnames;
	ok = ok && (!where || bind(c, where)) && sweep_rows_read(&c->rows, cli->words[1], &c->err);
	status = ok ? print_best(c, cli->words[1], top, shown) : cli_fail(&c->err);
	sweep_rows_fini(&c->rows);
	expr_free(c->where);
	sweep_space_free(space);
	free(c);
	return status;
}
