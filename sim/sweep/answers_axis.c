/* SPDX-License-Identifier: Apache-2.0 */
/* Answers about an axis: the best point for each of its values, where it is flat, where it turns, and why. */
#include "isa/units.h"
#include "sim/report_table.h"
#include "sim/sweep/answers_parts.h"
#include "sim/sweep/figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Less is no difference to speak of; less against the way an axis goes is no turn of it. */
static const double FLAT = 0.001, TURN = 0.01;

/* ---- best for each value ---- */

bool answers_is_fixed(void *context, const struct sweep_row *row)
{
	const struct fixed *f = context;
	for (unsigned a = 0; a < f->s->naxes; a++)
		if (f->index[a] >= 0 && sweep_index(f->s, row->point, a) != (uint32_t)f->index[a])
			return false;
	return true;
}

/* The best point at each value of an axis. */
struct along {
	const struct sweep_rows *r;
	unsigned axis;
	bool whole;                  /* everything else was tried there, so that values can be compared */
	const struct sweep_row **at; /* [count], NULL: nothing is legal there, or tried */
	uint32_t *some;              /* [n] indices of those that are there, in the order of the axis */
	uint32_t n;
	bool ordered; /* from less to more */
};

/* A stretch of `some`. */
struct stretch {
	uint32_t from, to;
	double gain;
};

enum { MOST_STRETCHES = 3, MOST_ROWS = 16, MOST_RECORDS = 3 * MOST_STRETCHES };

/* Records that tell causes. */
struct records {
	uint64_t point[MOST_RECORDS];
	json_t *of[MOST_RECORDS];
	unsigned n;
};

static double figure_at(const struct along *l, uint32_t i)
{
	return sweep_rows_figure(l->r, l->at[l->some[i]], 0);
}

static double gain_between(const struct along *l, uint32_t from, uint32_t to)
{
	return sweep_gain(l->r->names[0], figure_at(l, from), figure_at(l, to));
}

static bool along_axis(struct along *l, const struct answers *a, unsigned axis, const struct fixed *fixed, bool whole)
{
	const struct sweep_rows *r = a->rows;
	uint32_t count = r->space->axes[axis].count;
	*l = (struct along){ .r = r,
			     .axis = axis,
			     .whole = whole,
			     .ordered = a->order[axis].ordered,
			     .at = calloc(count, sizeof *l->at),
			     .some = calloc(count, sizeof *l->some) };
	bool more = sweep_figure_wants_more(r->names[0]);
	for (uint64_t i = 0; l->at && i < r->n; i++) {
		const struct sweep_row *row = &r->row[i];
		double v = sweep_rows_figure(r, row, 0);
		if (isnan(v) || !answers_is_fixed((void *)fixed, row))
			continue;
		const struct sweep_row **best = &l->at[sweep_index(r->space, row->point, axis)];
		double than = *best ? sweep_rows_figure(r, *best, 0) : 0;
		if (!*best || (more ? v > than : v < than))
			*best = row;
	}
	for (uint32_t i = 0; l->at && l->some && i < count; i++)
		if (l->at[a->order[axis].at[i]])
			l->some[l->n++] = a->order[axis].at[i];
	return l->at && l->some;
}

static void along_free(struct along *l)
{
	free(l->at);
	free(l->some);
}

static void want_record(struct records *records, const struct sweep_row *row)
{
	for (unsigned i = 0; i < records->n; i++)
		if (records->point[i] == row->point)
			return;
	if (records->n < MOST_RECORDS)
		records->point[records->n++] = row->point;
}

static const json_t *record_at(const struct records *records, const struct along *l, uint32_t i)
{
	for (unsigned k = 0; k < records->n; k++)
		if (records->point[k] == l->at[l->some[i]]->point)
			return records->of[k];
	return NULL;
}

/* ---- the table ---- */

/* Which values have a row: those that change something, and of very many an even choice with both ends and the best. */
static unsigned rows_of(const struct along *l, uint32_t out[MOST_ROWS + 2])
{
	unsigned n = 0;
	uint32_t changes = 0, before = 0, best = 0, nth = 0;
	for (uint32_t i = 0; i < l->n; i++) {
		if (gain_between(l, best, i) > 0)
			best = i;
		if (i && l->whole && fabs(gain_between(l, before, i)) <= FLAT)
			continue;
		before = i;
		changes++;
	}
	uint32_t step = changes > MOST_ROWS ? (changes + MOST_ROWS - 2) / (MOST_ROWS - 1) : 1;
	for (uint32_t i = 0; i < l->n; i++) {
		bool flat = i && l->whole && fabs(gain_between(l, before, i)) <= FLAT;
		bool own = step > 1 && (i == best || i + 1 == l->n);
		if (!flat)
			before = i;
		if ((!flat && nth++ % step == 0) || own)
			out[n++] = i;
	}
	return n;
}

static void put_row(struct report_table *table, const struct along *l, uint32_t i, double before)
{
	const struct sweep_rows *r = l->r;
	const struct sweep_space *s = r->space;
	const struct sweep_row *row = l->at[l->some[i]];
	char text[256];
	report_table_row(table, sweep_label(&s->axes[l->axis], l->some[i], text, sizeof text));
	for (unsigned a = 0; a < s->naxes; a++)
		if (a != l->axis && !s->axes[a].hardware)
			report_table_text(table,
					  sweep_label(&s->axes[a], sweep_index(s, row->point, a), text, sizeof text));
	for (unsigned f = 0; f < r->nnames; f++) {
		double v = sweep_rows_figure(r, row, f);
		report_table_text(table, sweep_rows_text(r, row, f, text, sizeof text));
		if (f > 0 || !l->whole)
			continue;
		snprintf(text, sizeof text, "%+.1f %%", (v / before - 1) * 100);
		report_table_text(table, isnan(before) || fabs(before) <= 0 ? "" : text);
	}
}

static struct report_table *table_of(const struct along *l)
{
	const struct sweep_rows *r = l->r;
	const char *titles[SWEEP_AXES + SWEEP_ROW_FIGURES + 3];
	unsigned n = 0;
	titles[n++] = r->space->axes[l->axis].name;
	for (unsigned a = 0; a < r->space->naxes; a++)
		if (a != l->axis && !r->space->axes[a].hardware)
			titles[n++] = r->space->axes[a].name;
	for (unsigned i = 0; i < r->nnames; i++) {
		titles[n++] = sweep_figure_title(r->names[i]);
		if (i == 0 && l->whole)
			titles[n++] = "gain";
	}
	titles[n] = NULL;
	return report_table_new(titles);
}

void answers_put_goal(const struct answers *a)
{
	const struct sweep_rows *r = a->rows;
	FILE *out = a->out;
	bool cycles = strcmp(r->names[0], "cycles") == 0;
	if (strcmp(r->names[0], "time_us") == 0 || (cycles && !r->space->clocks))
		fputs("fastest", out);
	else if (cycles)
		fputs("fewest cycles (clocks differ: time_us tells what is fastest)", out);
	else
		fprintf(out, "best by %s", r->names[0]);
}

static void heading(const struct answers *answers, const struct along *l, const struct fixed *fixed)
{
	char text[256];
	FILE *out = answers->out;
	const struct sweep_space *s = l->r->space;
	fputc('\n', out);
	answers_put_goal(answers);
	fprintf(out, "%s for each %s", l->whole ? "" : " of what was tried", s->axes[l->axis].name);
	for (unsigned a = 0; a < s->naxes; a++)
		if (fixed->index[a] >= 0 && a != l->axis)
			fprintf(out, ", %s %s", s->axes[a].name,
				sweep_label(&s->axes[a], (uint32_t)fixed->index[a], text, sizeof text));
	if (l->whole)
		fputc('\n', out);
	else if (l->r->count[SWEEP_MISSING])
		fprintf(out, "; %s of %s points are missing, so that differences may be theirs\n",
			npu_count_text(l->r->count[SWEEP_MISSING]).text, npu_count_text(s->count).text);
	else if (l->r->count[SWEEP_FAILED])
		fprintf(out, "; %s of %s points have failed, so that differences may be theirs\n",
			npu_count_text(l->r->count[SWEEP_FAILED]).text, npu_count_text(s->count).text);
	else
		fputs("; the other axes were not exhausted, so that differences may be theirs\n", out);
}

/* ---- remarks below it ---- */

/* Whether it is better at b than at a by more than TURN, 1, or worse, -1. */
static int way_between(const struct along *l, uint32_t a, uint32_t b)
{
	double g = gain_between(l, a, b);
	return g > TURN ? 1 : g < -TURN ? -1 : 0;
}

/* Where an axis of numbers goes up and down: stretches that alternate, each by more than TURN, from the best of what is
 * before to the worst of what comes, or the other way round. */
static uint32_t stretches_of(const struct along *l, struct stretch *out)
{
	uint32_t n = 0, start = 0, end = 0, best = 0, worst = 0;
	int way = 0;
	for (uint32_t i = 1; i < l->n; i++) {
		if (way == 0) {
			best = gain_between(l, best, i) >= 0 ? i : best;
			worst = gain_between(l, worst, i) <= 0 ? i : worst;
			way = worst < best ? way_between(l, worst, best) : way_between(l, best, worst);
			start = way > 0 ? worst : best;
			end = i;
			continue;
		}
		/* As far as it went so far. */
		if (gain_between(l, end, i) * way >= 0)
			end = i;
		else if (way_between(l, end, i) * way < 0) {
			out[n++] = (struct stretch){ start, end, gain_between(l, start, end) };
			start = end;
			end = i;
			way = -way;
		}
	}
	if (way != 0)
		out[n++] = (struct stretch){ start, end, gain_between(l, start, end) };
	return n;
}

/* Stretches in which no value differs from another by more than FLAT. */
static uint32_t flats_of(const struct along *l, struct stretch *out)
{
	uint32_t n = 0;
	for (uint32_t i = 0, end; i < l->n; i = end + 1) {
		uint32_t best = i, worst = i;
		for (end = i; end + 1 < l->n; end++) {
			uint32_t next = end + 1, high = gain_between(l, best, next) > 0 ? next : best,
				 low = gain_between(l, worst, next) < 0 ? next : worst;
			if (gain_between(l, high, low) < -FLAT)
				break;
			best = high;
			worst = low;
		}
		if (end > i)
			out[n++] = (struct stretch){ i, end, 0 };
	}
	return n;
}

/* The most of `n`, by what they lose or how long they are, in their order; how many there are. */
static uint32_t pick(struct stretch *list, uint32_t n, bool losses)
{
	uint32_t kept = 0, all = 0;
	for (uint32_t i = 0; i < n; i++)
		if (!losses || list[i].gain < 0)
			list[all++] = list[i];
	for (uint32_t i = 0; i < all; i++) {
		uint32_t greater = 0;
		for (uint32_t j = 0; j < all && greater < MOST_STRETCHES; j++) {
			double a = losses ? -list[j].gain : list[j].to - list[j].from,
			       b = losses ? -list[i].gain : list[i].to - list[i].from;
			greater += a > b || (a == b && j < i);
		}
		list[i].gain = greater < MOST_STRETCHES ? list[i].gain : (double)NAN;
	}
	for (uint32_t i = 0; i < all; i++)
		if (!isnan(list[i].gain))
			list[kept++] = list[i];
	return all;
}

struct remarks {
	struct stretch *turns, *flats; /* the first MOST_STRETCHES at most are told */
	uint32_t nturns, nflats;       /* all of them */
	bool monotonic;                /* there is one stretch */
	bool flat;                     /* there is none, and nothing changes from end to end */
};

static uint32_t told(uint32_t n)
{
	return n < MOST_STRETCHES ? n : MOST_STRETCHES;
}

static bool remarks_of(struct remarks *m, const struct along *l, struct records *records)
{
	*m = (struct remarks){ .turns = calloc(l->n + 1, sizeof *m->turns),
			       .flats = calloc(l->n + 1, sizeof *m->flats) };
	if (!m->turns || !m->flats)
		return false;
	if (!l->whole)
		return true;
	uint32_t n = l->ordered ? stretches_of(l, m->turns) : 0;
	m->monotonic = n == 1;
	m->nturns = pick(m->turns, n, true);
	m->nflats = pick(m->flats, flats_of(l, m->flats), false);
	m->flat = m->nflats == 1 && m->flats[0].from == 0 && m->flats[0].to + 1 == l->n;
	for (uint32_t i = 0; i < told(m->nturns); i++) {
		want_record(records, l->at[l->some[m->turns[i].from]]);
		want_record(records, l->at[l->some[m->turns[i].to]]);
	}
	for (uint32_t i = 0; i < told(m->nflats); i++)
		want_record(records, l->at[l->some[m->flats[i].from]]);
	return true;
}

static const char *label_at(const struct along *l, uint32_t i, char *out, unsigned size)
{
	return sweep_label(&l->r->space->axes[l->axis], l->some[i], out, size);
}

/* `at`: " at the best point", "". */
static void print_turn(const struct along *l, const struct stretch *t, bool monotonic, const struct records *records,
		       const char *at, FILE *out)
{
	const char *goal = l->r->names[0], *axis = l->r->space->axes[l->axis].name;
	char from[256], to[256], was[64], is[64], why[512];
	double a = figure_at(l, t->from), b = figure_at(l, t->to);
	/* There is no share of nothing. */
	bool share = fabs(a) > 0;
	label_at(l, t->from, from, sizeof from);
	label_at(l, t->to, to, sizeof to);
	sweep_figure_text(goal, a, was, sizeof was);
	sweep_figure_text(goal, b, is, sizeof is);
	answers_cause(goal, record_at(records, l, t->from), record_at(records, l, t->to), why, sizeof why);
	if (monotonic)
		fprintf(out, "%s %s with %s, %s -> %s", sweep_figure_wants_more(goal) ? "less" : "more", goal, axis,
			from, to);
	else
		fprintf(out, "not monotonic: %s %s -> %s loses", axis, from, to);
	if (!share)
		fprintf(out, "%s %s -> %s", monotonic ? "" : ",", was, is);
	else if (monotonic)
		fprintf(out, " %+.1f %%", (b / a - 1) * 100);
	else
		fprintf(out, " %.1f %%", -t->gain * 100);
	fprintf(out, "%s%s%s\n", at, *why ? ": " : "", why);
}

static void print_turns(const struct remarks *m, const struct along *l, const struct records *records, const char *at,
			FILE *out)
{
	for (uint32_t i = 0; i < told(m->nturns); i++)
		print_turn(l, &m->turns[i], m->monotonic, records, at, out);
	if (m->nturns > MOST_STRETCHES)
		fprintf(out, "not monotonic: %s loses in %u more stretches%s\n", l->r->space->axes[l->axis].name,
			m->nturns - MOST_STRETCHES, at);
}

static void print_flats(const struct remarks *m, const struct along *l, const struct records *records, FILE *out)
{
	const struct sweep_axis *x = &l->r->space->axes[l->axis];
	char from[256], to[256], why[512];
	for (uint32_t i = 0; i < told(m->nflats); i++) {
		answers_flat_cause(l->r->names[0], x, record_at(records, l, m->flats[i].from), why, sizeof why);
		fprintf(out, "flat: %s %s -> %s changes nothing%s%s\n", x->name,
			label_at(l, m->flats[i].from, from, sizeof from), label_at(l, m->flats[i].to, to, sizeof to),
			*why ? ", " : "", why);
	}
	if (m->nflats > MOST_STRETCHES)
		fprintf(out, "flat: %s has %u more stretches that change nothing\n", x->name,
			m->nflats - MOST_STRETCHES);
}

static bool print_along(const struct answers *a, const struct along *l, const struct fixed *home)
{
	struct remarks m;
	struct records records = { .n = 0 };
	uint32_t rows[MOST_ROWS + 2];
	unsigned n = rows_of(l, rows);
	bool ok = remarks_of(&m, l, &records) || npu_fail(a->err, NPU_ERR_MEMORY, "out of memory");
	ok = ok && sweep_rows_fetch(a->path, l->r->space, records.point, records.n, records.of, a->err);
	struct report_table *table = ok && n ? table_of(l) : NULL;
	for (unsigned i = 0; table && i < n; i++)
		put_row(table, l, rows[i], i ? figure_at(l, rows[i - 1]) : (double)NAN);
	if (table) {
		heading(a, l, home);
		report_table_print(table, a->out, &(struct report_style){ .color = a->color });
		print_turns(&m, l, &records, "", a->out);
		print_flats(&m, l, &records, a->out);
	}
	for (unsigned i = 0; ok && i < records.n; i++)
		json_decref(records.of[i]);
	free(m.turns);
	free(m.flats);
	return ok;
}

bool answers_along(const struct answers *a, unsigned axis, const struct fixed *fixed, bool whole, bool *told_any)
{
	struct along l;
	bool ok = along_axis(&l, a, axis, fixed, whole) || npu_fail(a->err, NPU_ERR_MEMORY, "out of memory");
	ok = ok && print_along(a, &l, fixed);
	*told_any = *told_any || l.n > 0;
	along_free(&l);
	return ok;
}

/* ---- axes of the kernel, around the best point ---- */

static void print_around(const struct answers *a, const struct along *l, const struct remarks *m,
			 const struct records *records, const char *where)
{
	const struct sweep_axis *x = &l->r->space->axes[l->axis];
	char why[512], at[1100];
	snprintf(at, sizeof at, " at %s", where);
	if (m->flat && l->n > 1) {
		answers_flat_cause(l->r->names[0], x, record_at(records, l, 0), why, sizeof why);
		fprintf(a->out, "flat: %s changes nothing%s%s%s\n", x->name, at, *why ? ", " : "", why);
	} else if (!m->monotonic)
		print_turns(m, l, records, at, a->out);
}

bool answers_around(const struct answers *a, unsigned axis, const struct sweep_row *best, const char *where)
{
	struct along l;
	struct remarks m = { 0 };
	struct records records = { .n = 0 };
	struct fixed fixed = { .s = a->rows->space };
	for (unsigned i = 0; i < fixed.s->naxes; i++)
		fixed.index[i] = i == axis ? -1 : (int)sweep_index(fixed.s, best->point, i);
	bool ok = (along_axis(&l, a, axis, &fixed, true) && remarks_of(&m, &l, &records)) ||
		  npu_fail(a->err, NPU_ERR_MEMORY, "out of memory");
	ok = ok && sweep_rows_fetch(a->path, a->rows->space, records.point, records.n, records.of, a->err);
	if (ok)
		print_around(a, &l, &m, &records, where);
	for (unsigned i = 0; ok && i < records.n; i++)
		json_decref(records.of[i]);
	free(m.turns);
	free(m.flats);
	along_free(&l);
	return ok;
}
