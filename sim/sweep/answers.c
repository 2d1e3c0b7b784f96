/* SPDX-License-Identifier: Apache-2.0 */
/* All answers: those about axes, fronts, refusals and failures. */
#include "sim/sweep/answers.h"
#include "isa/units.h"
#include "sim/report_table.h"
#include "sim/sweep/answers_parts.h"
#include "sim/sweep/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- points as they are ---- */

/* Axes and figures of some points, a row each. */
static void print_points(const struct answers *answers, const struct sweep_row *const *rows, uint64_t n)
{
	const struct sweep_rows *r = answers->rows;
	const struct sweep_space *s = r->space;
	const char *titles[SWEEP_AXES + SWEEP_ROW_FIGURES + 1];
	unsigned columns = 0;
	char text[256];
	for (unsigned a = 0; a < s->naxes; a++)
		titles[columns++] = s->axes[a].name;
	for (unsigned f = 0; f < r->nnames; f++)
		titles[columns++] = sweep_figure_title(r->names[f]);
	titles[columns] = NULL;
	struct report_table *table = report_table_new(titles);
	for (uint64_t i = 0; table && i < n; i++) {
		for (unsigned a = 0; a < s->naxes; a++) {
			sweep_label(&s->axes[a], sweep_index(s, rows[i]->point, a), text, sizeof text);
			if (a == 0)
				report_table_row(table, text);
			else
				report_table_text(table, text);
		}
		for (unsigned f = 0; f < r->nnames; f++)
			report_table_text(table, sweep_rows_text(r, rows[i], f, text, sizeof text));
	}
	if (table)
		report_table_print(table, answers->out, &(struct report_style){ .color = answers->color });
}

static bool print_front(const struct answers *a)
{
	const struct sweep_rows *r = a->rows;
	enum { MOST = 24 };
	const struct sweep_space *s = r->space;
	unsigned goals[SWEEP_GOALS] = { 0 };
	const struct sweep_row **front;
	for (unsigned g = 0; g < s->ngoals; g++)
		for (unsigned f = 0; f < r->nnames; f++)
			if (strcmp(r->names[f], s->goals[g]) == 0)
				goals[g] = f;
	uint64_t n = sweep_front(r, goals, s->ngoals, &front);
	if (!front)
		return npu_fail(a->err, NPU_ERR_MEMORY, "out of memory");
	fprintf(a->out, "\nPareto front of what was tried: nothing is as good in ");
	for (unsigned g = 0; g < s->ngoals; g++)
		fprintf(a->out, "%s%s", g ? g + 1 < s->ngoals ? ", " : " and " : "", s->goals[g]);
	fprintf(a->out, " and better in one\n");
	print_points(a, front, n < MOST ? n : MOST);
	if (n > MOST)
		fprintf(a->out, "%s more are on it\n", npu_count_text(n - MOST).text);
	free(front);
	return true;
}

/* ---- refusals ---- */

/* In steps from value to value, whatever the order in which they are written. */
static uint64_t distance(const struct answers *answers, uint64_t a, uint64_t b)
{
	const struct sweep_space *s = answers->rows->space;
	uint64_t d = 0;
	for (unsigned i = 0; i < s->naxes; i++) {
		const struct sweep_order *o = &answers->order[i];
		uint32_t x = o->rank[sweep_index(s, a, i)], y = o->rank[sweep_index(s, b, i)];
		d += o->ordered ? x > y ? x - y : y - x : x != y;
	}
	return d;
}

/* The row of that status and reason nearest to a point. */
static const struct sweep_row *nearest(const struct answers *a, uint64_t point, enum sweep_status status,
				       unsigned reason)
{
	const struct sweep_rows *r = a->rows;
	const struct sweep_row *found = NULL;
	uint64_t least = UINT64_MAX;
	for (uint64_t i = 0; i < r->n; i++) {
		const struct sweep_row *row = &r->row[i];
		if (row->status != status || (status == SWEEP_NOT_LEGAL && row->reason != reason))
			continue;
		uint64_t d = distance(a, row->point, point);
		if (d < least) {
			least = d;
			found = row;
		}
	}
	return found;
}

/* The axes on which `a` is not `b`. */
static const char *difference(const struct sweep_space *s, uint64_t a, uint64_t b, char *out, unsigned size)
{
	char label[256];
	unsigned used = 0;
	out[0] = '\0';
	for (unsigned i = 0; i < s->naxes && used < size; i++)
		if (sweep_index(s, a, i) != sweep_index(s, b, i))
			used += (unsigned)snprintf(out + used, size - used, "%s%s=%s", used ? " " : "", s->axes[i].name,
						   sweep_label(&s->axes[i], sweep_index(s, a, i), label, sizeof label));
	return out;
}

static void print_refusals(const struct answers *a, const struct sweep_row *best)
{
	const struct sweep_rows *r = a->rows;
	static const char *const titles[] = { "not legal",           "points", "share", "nearest to the best point",
					      "nearest legal point", NULL };
	char refused[512], legal[512], share[16];
	struct report_table *table = r->count[SWEEP_NOT_LEGAL] && best ? report_table_new(titles) : NULL;
	for (unsigned i = 0; table && i < r->nreasons; i++) {
		const struct sweep_row *row = nearest(a, best->point, SWEEP_NOT_LEGAL, i);
		const struct sweep_row *other = row ? nearest(a, row->point, SWEEP_RUN, 0) : NULL;
		if (!row || !other)
			continue;
		snprintf(share, sizeof share, "%.1f %%", 100 * (double)r->refused[i] / (double)r->n);
		report_table_row(table, r->reasons[i]);
		report_table_count(table, r->refused[i]);
		report_table_text(table, share);
		report_table_text(table, difference(r->space, row->point, best->point, refused, sizeof refused));
		report_table_text(table, difference(r->space, other->point, row->point, legal, sizeof legal));
	}
	if (table) {
		fputc('\n', a->out);
		report_table_print(table, a->out, &(struct report_style){ .color = a->color });
	}
}

/* ---- failures ---- */

enum { MOST_FAILURES = 10 };

/* The first of them by number, whichever was found out first; of one that failed in several runs, the last. */
struct failures {
	uint64_t point[MOST_FAILURES];
	json_t *record[MOST_FAILURES];
	unsigned n;
};

static bool take_failure(void *context, uint64_t point, enum sweep_status status, const json_t *record)
{
	struct failures *f = context;
	for (unsigned i = 0; status == SWEEP_FAILED && i < f->n; i++)
		if (f->point[i] == point) {
			json_decref(f->record[i]);
			f->record[i] = json_incref((json_t *)record);
		}
	return true;
}

static bool print_failures(const struct answers *a)
{
	const struct sweep_rows *r = a->rows;
	struct failures f = { .n = 0 };
	char text[4096];
	for (uint64_t i = 0; i < r->n && f.n < MOST_FAILURES; i++)
		if (r->row[i].status == SWEEP_FAILED)
			f.point[f.n++] = r->row[i].point;
	bool ok = sweep_store_read(a->path, r->space, take_failure, &f, NULL, a->err);
	for (unsigned i = 0; i < f.n; i++) {
		const char *why = json_string_value(json_object_get(f.record[i], "error"));
		const char *options = json_string_value(json_object_get(f.record[i], "options"));
		if (ok)
			fprintf(a->out, "failed: %s\n  %s%s%s\n", why ? why : "",
				sweep_command(r->space, f.point[i], text, sizeof text), options ? " " : "",
				options ? options : "");
		json_decref(f.record[i]);
	}
	return ok;
}

/* ---- the whole ---- */

/* "the best point", or, where that is of another machine, "the best point of sram.size 1MiB". */
static const char *best_at(const struct fixed *home, bool overall, char *out, unsigned size)
{
	char label[256];
	const struct sweep_space *s = home->s;
	unsigned used = (unsigned)snprintf(out, size, "the best point"), n = 0;
	for (unsigned a = 0; !overall && a < s->naxes && used < size; a++)
		if (home->index[a] >= 0)
			used +=
			    (unsigned)snprintf(out + used, size - used, "%s%s %s", n++ ? ", " : " of ", s->axes[a].name,
					       sweep_label(&s->axes[a], (uint32_t)home->index[a], label, sizeof label));
	return out;
}

/* With the orders of the axes there. */
static bool tell(const struct answers *answers)
{
	const struct sweep_rows *r = answers->rows;
	const struct sweep_space *s = r->space;
	const struct sweep_row *best = sweep_best(r, 0, NULL, NULL);
	struct fixed home = { .s = s };
	char where[1024];
	/* Values of an axis are compared where each has the best of all the others behind it. */
	bool ok = true, main_axis = false, told_any = false, whole = sweep_rows_whole(r);
	for (unsigned a = 0; a < s->naxes; a++) {
		bool is_main = s->axes[a].hardware && s->axes[a].count > 1;
		home.index[a] = is_main && whole ? (int)sweep_home(r, a) : -1;
		main_axis = main_axis || is_main;
	}
	if (best && s->pareto)
		ok = told_any = print_front(answers);
	for (unsigned a = 0; ok && best && !s->pareto && a < s->naxes; a++) {
		struct fixed fixed = home;
		fixed.index[a] = -1;
		if (s->axes[a].count < 2 || (main_axis && !s->axes[a].hardware))
			continue;
		ok = answers_along(answers, a, &fixed, whole, &told_any);
	}
	if (ok && best && !told_any) {
		fputc('\n', answers->out);
		answers_put_goal(answers);
		fputc('\n', answers->out);
		print_points(answers, &best, 1);
	}
	const struct sweep_row *at_home = best ? sweep_best(r, 0, answers_is_fixed, &home) : NULL;
	/* Another machine may be as good. */
	if (at_home)
		best_at(
		    &home,
		    fabs(sweep_gain(r->names[0], sweep_rows_figure(r, best, 0), sweep_rows_figure(r, at_home, 0))) <= 0,
		    where, sizeof where);
	for (unsigned a = 0; ok && main_axis && whole && !s->pareto && at_home && a < s->naxes; a++)
		if (!s->axes[a].hardware)
			ok = answers_around(answers, a, at_home, where);
	print_refusals(answers, best);
	return ok && (!r->count[SWEEP_FAILED] || print_failures(answers));
}

bool sweep_answers(const struct sweep_rows *r, const char *path, FILE *out, bool color, struct npu_error *err)
{
	struct answers answers = { .rows = r, .path = path, .out = out, .color = color, .err = err };
	char strays[160];
	bool ok = true;
	for (unsigned a = 0; a < r->space->naxes; a++)
		ok = sweep_order_of(&answers.order[a], &r->space->axes[a]) && ok;
	ok = ok ? tell(&answers) : npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	for (unsigned a = 0; a < r->space->naxes; a++)
		sweep_order_fini(&answers.order[a]);
	if (*sweep_strays_text(&r->strays, strays))
		fprintf(out, "%s\n", strays);
	return ok;
}
