/* SPDX-License-Identifier: Apache-2.0 */
/* npusim sweep best: the best points of a folder under a condition, with the command that runs each again. */
#include "isa/units.h"
#include "sim/cmd/model.h"
#include "sim/report_table.h"
#include "sim/sweep/command.h"
#include "sim/sweep/expr.h"
#include "sim/sweep/figures.h"
#include "sim/sweep/machines.h"
#include "sim/sweep/names.h"
#include "sim/sweep/shown.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WHAT_BYTES = 256 };

/* What a name in a condition is. */
enum meaning { UNKNOWN, OF_POINT, FIGURE, PARAMETER, HARDWARE, TWO_THINGS };

struct choice {
	struct sweep_rows rows;
	struct expr *where;
	const struct npu_kernel *kernel; /* NULL: a program, or a plug-in, which is not loaded */
	enum meaning meaning[EXPR_NAMES];
	char name[EXPR_NAMES][EXPR_NAME_BYTES]; /* `sram` written out */
	struct sweep_machines machines; /* none: not read yet */
	struct sweep_set *passing;      /* points for which `where` holds; NULL: there is none */
	uint64_t point;                 /* the record that is looked at */
	const json_t *record;
	char scratch[WHAT_BYTES];
	const struct sweep_row *taken[1000];
	uint64_t ntaken;
	struct npu_error err;
};

static bool fits(void *context, const struct sweep_row *row)
{
	struct choice *c = context;
	for (uint64_t i = 0; i < c->ntaken; i++)
		if (c->taken[i] == row)
			return false;
	return !c->passing || sweep_set_has(c->passing, row->point);
}

/* ---- what names stand for ---- */

/* The value of a parameter as resolved, "tile_q=64 buffering=double"; NULL: there is none of that name. */
static const char *parameter(const char *params, const char *name, char out[WHAT_BYTES])
{
	size_t n = strlen(name);
	for (const char *at = params; at && *at; at += strcspn(at, " "), at += *at == ' ')
		if (strncmp(at, name, n) == 0 && at[n] == '=') {
			snprintf(out, WHAT_BYTES, "%.*s", (int)strcspn(at + n + 1, " "), at + n + 1);
			return out;
		}
	return NULL;
}

static const char *params_of(const json_t *record)
{
	return json_string_value(json_object_get(record, "params"));
}

static const char *hardware(const struct choice *c, const char *name, char out[WHAT_BYTES])
{
	struct config machine;
	struct npu_error ignored;
	bool ok = sweep_machines_at(&c->machines, c->rows.space, c->point, &machine, &ignored);
	if (ok)
		sweep_machine_value(&machine, config_key_find(name), out, WHAT_BYTES);
	config_fini(&machine);
	return ok ? out : NULL;
}

static struct expr_value value_of(void *context, unsigned n)
{
	struct choice *c = context;
	const struct sweep_space *s = c->rows.space;
	const char *name = c->name[n], *text = NULL;
	switch (c->meaning[n]) {
	case OF_POINT:
		text = sweep_value(s, c->point, name, c->scratch, sizeof c->scratch);
		break;
	case FIGURE:
		text = json_string_value(json_object_get(json_object_get(c->record, "figures"), name));
		if (!text)
			return (struct expr_value){ .number = sweep_record_figure(c->record, name) };
		return (struct expr_value){ .text = text };
	case PARAMETER:
		text = parameter(params_of(c->record), name, c->scratch);
		break;
	case HARDWARE:
		text = hardware(c, name, c->scratch);
		break;
	case UNKNOWN:
	case TWO_THINGS:
		break;
	}
	return text ? sweep_value_of(name, text) : (struct expr_value){ .number = (double)NAN };
}

static bool unknown_name(struct choice *c, const char *name)
{
	const struct sweep_space *s = c->rows.space;
	const char *names[768];
	unsigned n = 0;
	for (unsigned a = 0; a < s->naxes; a++)
		for (unsigned k = 0; k < s->axes[a].nkeys; k++)
			names[n++] = s->axes[a].keys[k];
	for (unsigned i = 0; sweep_figures[i].name && n < 512; i++)
		names[n++] = sweep_figures[i].name;
	for (unsigned i = 0; i < config_nkeys; i++)
		names[n++] = config_keys[i].name;
	const char *near = npu_nearest(name, names, n);
	return npu_fail(&c->err, NPU_ERR_USAGE, "--where: unknown name %s%s%s%s", name,
			near ? "; did you mean " : "; axes, parameters, hardware keys and figures are known",
			near ? near : "", near ? "?" : "");
}

/* axis.NAME and figure.NAME are one of them, where both are called NAME; `sram` is sram.size: the size of a memory is
 * what one means by it. */
static enum meaning meaning_of(struct choice *c, unsigned i, const char *params)
{
	const struct sweep_space *s = c->rows.space;
	const char *name = expr_name(c->where, i, NULL);
	bool axis = strncmp(name, "axis.", 5) == 0, figure = strncmp(name, "figure.", 7) == 0;
	const char *bare = name + (axis ? 5 : figure ? 7 : 0);
	char scratch[WHAT_BYTES], size[EXPR_NAME_BYTES];
	snprintf(c->name[i], sizeof c->name[i], "%s", bare);
	snprintf(size, sizeof size, "%.80s.size", name);
	bool is_axis = !figure && sweep_value(s, 0, bare, scratch, sizeof scratch),
	     is_figure = !axis && sweep_figure_find(bare) >= 0;
	if (is_axis || is_figure || axis || figure)
		return is_axis && is_figure ? TWO_THINGS : is_axis ? OF_POINT : is_figure ? FIGURE : UNKNOWN;
	if (parameter(params, name, scratch) || (c->kernel && npu_param_index(c->kernel, name) >= 0))
		return PARAMETER;
	if (config_key_find(name))
		return HARDWARE;
	if (!config_key_find(size))
		return UNKNOWN;
	snprintf(c->name[i], sizeof c->name[i], "%s", size);
	return sweep_value(s, 0, size, scratch, sizeof scratch) ? OF_POINT : HARDWARE;
}

static enum expr_kind kind_of(void *context, unsigned n)
{
	const struct choice *c = context;
	const char *name = c->name[n];
	int param = c->kernel ? npu_param_index(c->kernel, name) : -1;
	enum expr_kind kind;
	switch (c->meaning[n]) {
	case OF_POINT:
		return sweep_kind(c->rows.space, name, &kind) ? kind : EXPR_ANY;
	case FIGURE:
		return sweep_figures[sweep_figure_find(name)].type == SWEEP_TEXT ? EXPR_WORD : EXPR_NUMBER;
	case HARDWARE:
		return sweep_key_kind(config_key_find(name));
	case PARAMETER:
		return param < 0						    ? EXPR_ANY
		       : c->kernel->params[param].type == NPU_PARAM_CHOICE ? EXPR_WORD
									    : EXPR_NUMBER;
	case UNKNOWN:
	case TWO_THINGS:
		break;
	}
	return EXPR_ANY;
}

static const char *known(void *context, unsigned at, enum expr_kind *kind)
{
	const struct choice *c = context;
	*kind = kind_of(context, at);
	return c->meaning[at] == UNKNOWN || c->meaning[at] == TWO_THINGS ? NULL : c->name[at];
}

/* What a name that is left is, once words are known. */
static bool bind_name(struct choice *c, unsigned i)
{
	const char *name = expr_name(c->where, i, NULL);
	if (expr_is_word(c->where, i))
		return true;
	if (c->meaning[i] == UNKNOWN)
		return unknown_name(c, name);
	if (c->meaning[i] == TWO_THINGS)
		return npu_fail(&c->err, NPU_ERR_USAGE,
				"--where: %s is an axis and a figure; axis.%s or figure.%s would be right", name, name,
				name);
	/* A key that is neither swept nor set is that of the machine of the point. */
	return c->meaning[i] != HARDWARE || c->machines.n ||
	       sweep_machines_read(&c->machines, c->rows.space, &c->err);
}

static bool take_point(void *context, uint64_t point, enum sweep_status status, const json_t *record)
{
	struct choice *c = context;
	c->point = point;
	c->record = record;
	if (status != SWEEP_RUN || point >= c->rows.space->points || !expr_holds(c->where, value_of, c, NULL))
		return true;
	return sweep_set_add(c->passing, point) || npu_fail(&c->err, NPU_ERR_MEMORY, "out of memory");
}

static bool fail_at_where(struct choice *c, const char *text)
{
	char what[256];
	snprintf(what, sizeof what, "%.200s", c->err.text);
	return npu_fail(&c->err, NPU_ERR_USAGE, "--where '%s', character %u: %s", text, c->err.column, what);
}

/* Finds the points for which the condition holds, by their records. */
static bool choose_points(struct choice *c, const char *path, const char *text)
{
	const struct sweep_space *space = c->rows.space;
	json_t *first = NULL;
	unsigned at;
	char **words = sweep_words(space);
	c->where = expr_parse(text, (const char *const *)words, &c->err);
	config_names_free(words);
	if (!c->where)
		return fail_at_where(c, text);
	/* One that was run tells which parameters there are. */
	for (uint64_t i = 0; i < c->rows.n; i++)
		if (c->rows.row[i].status == SWEEP_RUN) {
			if (!sweep_rows_fetch(path, space, &c->rows.row[i].point, 1, &first, &c->err))
				return false;
			break;
		}
	c->kernel = space->kind == SWEEP_KERNEL  ? npu_kernel_find(space->subject)
		    : space->kind == SWEEP_MODEL ? &model_ask_parameters
						 : NULL;
	for (unsigned i = 0; expr_name(c->where, i, NULL); i++)
		c->meaning[i] = meaning_of(c, i, params_of(first));
	json_decref(first);
	struct sweep_names names = { space, c->kernel, NULL, known, c };
	if (!sweep_bind_words(c->where, &names, &at, &c->err)) {
		expr_name(c->where, at, &c->err.column);
		return fail_at_where(c, text);
	}
	bool ok = true;
	for (unsigned i = 0; ok && expr_name(c->where, i, NULL); i++)
		ok = bind_name(c, i);
	if (ok && !expr_check(c->where, kind_of, c, &c->err))
		return fail_at_where(c, text);
	c->passing = ok ? sweep_set_new(c->rows.space->points) : NULL;
	if (ok && !c->passing)
		ok = npu_fail(&c->err, NPU_ERR_MEMORY, "out of memory");
	return ok && sweep_store_read(path, c->rows.space, take_point, c, NULL, &c->err) && !c->err.code;
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
		if (!sweep_rows_fetch(path, s, &c->taken[i]->point, 1, &record, &c->err))
			return false;
		const json_t *longest = json_object_get(record, "longest");
		const char *name = json_string_value(json_object_get(longest, "name")),
			   *run = json_string_value(json_object_get(longest, "run"));
		if (name && run)
			printf("%slongest operator of point %s: %s, %.1f %% of the cycles; its timeline:\n%s "
			       "--timeline point-%llu.pftrace\n",
			       i ? "" : "\n", npu_count_text(c->taken[i]->point).text, name,
			       100 * json_number_value(json_object_get(longest, "share")),
			       sweep_command_on(s, c->taken[i]->point, run, text, sizeof text),
			       (unsigned long long)c->taken[i]->point);
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
		npu_fail(&c->err, NPU_ERR_FIT, "no point that was run%s has a value of %s",
			 c->where ? " and fits --where" : "", c->rows.names[0]);
		return cli_fail(&c->err);
	}
	struct report_table *table = table_of(c, shown);
	if (!table)
		return cli_usage("out of memory");
	for (uint64_t n = 0; n < c->ntaken; n++) {
		const struct sweep_row *row = c->taken[n];
		report_table_row(table, npu_count_text(row->point).text);
		for (unsigned a = 0; a < s->naxes; a++)
			report_table_text(table,
					  sweep_label(&s->axes[a], sweep_index(s, row->point, a), text, sizeof text));
		for (unsigned i = 0; i < shown; i++)
			report_table_text(table,
					  sweep_figure_text(c->rows.names[i], sweep_rows_figure(&c->rows, row, i), text,
							    sizeof text));
	}
	report_table_print(table, stdout,
			   &(struct report_style){ .color = isatty(STDOUT_FILENO) && !getenv("NO_COLOR") });
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
	ok = ok && sweep_choose_figure(&c->rows, cli_value(cli, "by"), &c->err);
	unsigned shown = c->rows.nnames;
	ok = ok && sweep_rows_read(&c->rows, cli->words[1], &c->err) &&
	     (!where || choose_points(c, cli->words[1], where));
	if (ok) {
		sweep_warn_of_changes(space);
		sweep_warn_of_gaps(&c->rows, cli->words[1]);
	}
	status = ok ? print_best(c, cli->words[1], top, shown) : cli_fail(&c->err);
	sweep_rows_fini(&c->rows);
	expr_free(c->where);
	sweep_set_free(c->passing);
	sweep_machines_fini(&c->machines);
	sweep_space_free(space);
	free(c);
	return status;
}
