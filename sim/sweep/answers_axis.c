/* SPDX-License-Identifier: Apache-2.0 */
/* Answers about an axis: the best point for each of its values, where it is flat, where it turns, and why. */
#include "isa/units.h"
#include "sim/report_table.h"
#include "sim/sweep/answers_parts.h"
#include "sim/sweep/figures.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Less is no difference to speak of; less against the way an axis goes is no turn of it. */
static const double FLAT = 0.001, TURN = 0.01;

bool answers_is_ordered(const struct sweep_axis *x)
{
	for (size_t i = 0; i < (size_t)x->count * x->nkeys; i++)
		if (!isdigit((unsigned char)x->values[i][0]))
			return false;
	return true;
}

/* ---- causes ---- */

static double state(const json_t *record, const char *engine, const char *name)
{
	char path[96];
	snprintf(path, sizeof path, "engines.%s.%s", engine, name);
	return sweep_record_figure(record, path);
}

/* What made b slower or faster than a: the state of the engine that computes (that loads, where none does) that changed
 * most. */
static const char *cause(const json_t *a, const json_t *b, char *out, unsigned size)
{
	bool macs = sweep_record_figure(b, "macs") > 0;
	const char *engine = macs ? "matrix" : "load";
	double worse = sweep_record_figure(b, "cycles") > sweep_record_figure(a, "cycles") ? 1 : -1, most = 0;
	const char *which = NULL;
	for (unsigned i = 0; i < NPU_STATES; i++) {
		const char *name = account_state_name((enum npu_state)i);
		double change = (state(b, engine, name) - state(a, engine, name)) * worse;
		if (change > most) {
			most = change;
			which = name;
		}
	}
	double from = sweep_record_figure(a, "dram.bus_bytes"), to = sweep_record_figure(b, "dram.bus_bytes");
	if (!which)
		return snprintf(out, size, "no state of the engines says why"), out;
	int n = snprintf(out, size, "%s %s %s -> %s cycles", engine, which,
			 npu_count_text((uint64_t)state(a, engine, which)).text,
			 npu_count_text((uint64_t)state(b, engine, which)).text);
	if (fabs(to - from) > 0.01 * from && n > 0 && (unsigned)n < size)
		snprintf(out + n, size - (unsigned)n, ", DRAM %.1f -> %.1f MiB", from / 1048576, to / 1048576);
	return out;
}

static const char *bound_of(const json_t *record, char *out, unsigned size)
{
	const json_t *figures = json_object_get(record, "figures");
	const char *bound = json_string_value(json_object_get(figures, "bound"));
	const char *evidence = json_string_value(json_object_get(figures, "bound_evidence"));
	snprintf(out, size, "bound by %s%s%s%s", bound ? bound : "nothing", evidence ? " (" : "",
		 evidence ? evidence : "", evidence ? ")" : "");
	return out;
}

/* Why more of a key changes nothing. */
static const char *flat_cause(const struct sweep_axis *x, const json_t *record, char *out, unsigned size)
{
	double used = sweep_record_figure(record, "sram.peak_bytes");
	if (strcmp(x->keys[0], "sram.size") == 0 && used > 0)
		snprintf(out, size, "the best tiles use %s KiB", npu_count_text((uint64_t)llround(used / 1024)).text);
	else
		bound_of(record, out, size);
	return out;
}

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
	uint32_t *some;              /* [n] indices of those that are there */
	uint32_t n;
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

static bool along_axis(struct along *l, const struct sweep_rows *r, unsigned axis, const struct fixed *fixed,
		       bool whole)
{
	uint32_t count = r->space->axes[axis].count;
	*l = (struct along){ .r = r,
			     .axis = axis,
			     .whole = whole,
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
		if (l->at[i])
			l->some[l->n++] = i;
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
		report_table_text(table, isnan(before) ? "" : text);
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
	fputs(l->whole ? "\n" : "; the other axes were not exhausted, so that differences may be theirs\n", out);
}

/* ---- remarks below it ---- */

/* Where an axis of numbers goes up and down: stretches that alternate, each by more than TURN. */
static uint32_t stretches_of(const struct along *l, struct stretch *out)
{
	uint32_t n = 0, start = 0, end = 0;
	int way = 0;
	for (uint32_t i = 1; i < l->n; i++) {
		double g = gain_between(l, end, i);
		if (way == 0 ? fabs(g) <= TURN : g * way < 0 && fabs(g) <= TURN)
			continue;
		if (way != 0 && g * way < 0) {
			out[n++] = (struct stretch){ start, end, gain_between(l, start, end) };
			start = end;
		}
		way = g > 0 ? 1 : g < 0 ? -1 : way;
		end = i;
	}
	if (way != 0)
		out[n++] = (struct stretch){ start, end, gain_between(l, start, end) };
	return n;
}

static uint32_t flats_of(const struct along *l, struct stretch *out)
{
	uint32_t n = 0;
	for (uint32_t i = 0, end; i < l->n; i = end + 1) {
		for (end = i; end + 1 < l->n && fabs(gain_between(l, i, end + 1)) <= FLAT; end++)
			continue;
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
	bool monotonic;                /* the only stretch loses */
};

static uint32_t told(uint32_t n)
{
	return n < MOST_STRETCHES ? n : MOST_STRETCHES;
}

static bool remarks_of(struct remarks *m, const struct along *l, struct records *records)
{
	const struct sweep_axis *x = &l->r->space->axes[l->axis];
	*m = (struct remarks){ .turns = calloc(l->n + 1, sizeof *m->turns),
			       .flats = calloc(l->n + 1, sizeof *m->flats) };
	if (!m->turns || !m->flats)
		return false;
	if (!l->whole)
		return true;
	uint32_t n = answers_is_ordered(x) ? stretches_of(l, m->turns) : 0;
	m->monotonic = n == 1;
	m->nturns = pick(m->turns, n, true);
	m->nflats = pick(m->flats, flats_of(l, m->flats), false);
	for (uint32_t i = 0; i < told(m->nturns); i++) {
		want_record(records, l->at[l->some[m->turns[i].from]]);
		want_record(records, l->at[l->some[m->turns[i].to]]);
	}
	for (uint32_t i = 0; i < told(m->nflats); i++)
		want_record(records, l->at[l->some[m->flats[i].from]]);
	return true;
}

static void print_remarks(const struct remarks *m, const struct along *l, const struct records *records, FILE *out)
{
	const struct sweep_axis *x = &l->r->space->axes[l->axis];
	char from[256], to[256], why[512];
	for (uint32_t i = 0; i < told(m->nturns); i++) {
		const struct stretch *t = &m->turns[i];
		sweep_label(x, l->some[t->from], from, sizeof from);
		sweep_label(x, l->some[t->to], to, sizeof to);
		cause(record_at(records, l, t->from), record_at(records, l, t->to), why, sizeof why);
		if (m->monotonic)
			fprintf(out, "%s %s with %s, %s -> %s %+.1f %%: %s\n",
				sweep_figure_wants_more(l->r->names[0]) ? "less" : "more", l->r->names[0], x->name,
				from, to, (figure_at(l, t->to) / figure_at(l, t->from) - 1) * 100, why);
		else
			fprintf(out, "not monotonic: %s %s -> %s loses %.1f %%: %s\n", x->name, from, to,
				-t->gain * 100, why);
	}
	if (m->nturns > MOST_STRETCHES)
		fprintf(out, "not monotonic: %s loses in %u more stretches\n", x->name, m->nturns - MOST_STRETCHES);
	for (uint32_t i = 0; i < told(m->nflats); i++)
		fprintf(out, "flat: %s %s -> %s changes nothing, %s\n", x->name,
			sweep_label(x, l->some[m->flats[i].from], from, sizeof from),
			sweep_label(x, l->some[m->flats[i].to], to, sizeof to),
			flat_cause(x, record_at(records, l, m->flats[i].from), why, sizeof why));
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
		print_remarks(&m, l, &records, a->out);
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
	bool ok = along_axis(&l, a->rows, axis, fixed, whole) || npu_fail(a->err, NPU_ERR_MEMORY, "out of memory");
	ok = ok && print_along(a, &l, fixed);
	*told_any = *told_any || l.n > 0;
	along_free(&l);
	return ok;
}

/* ---- axes of the kernel, around the best point ---- */

bool answers_around(const struct answers *a, unsigned axis, const struct sweep_row *best)
{
	const struct sweep_rows *r = a->rows;
	const struct sweep_axis *x = &r->space->axes[axis];
	json_t *records[2];
	char from[256], to[256], why[512];
	uint32_t own = sweep_index(r->space, best->point, axis), n = 0;
	const struct sweep_row *next = NULL;
	bool flat = true, worse_before = false;
	double value = sweep_rows_figure(r, best, 0), lost = 0;
	for (uint32_t i = 0; i < x->count; i++) {
		const struct sweep_row *row = sweep_rows_find(r, sweep_move(r->space, best->point, axis, i));
		if (!row || row->status != SWEEP_RUN)
			continue;
		double gain = sweep_gain(r->names[0], value, sweep_rows_figure(r, row, 0));
		n++;
		flat = flat && fabs(gain) <= FLAT;
		worse_before = worse_before || (i < own && gain < -TURN);
		if (i > own && !next && gain < -TURN) {
			next = row;
			lost = -gain;
		}
	}
	bool turns = answers_is_ordered(x) && worse_before && next;
	if (n < 2 || (!flat && !turns))
		return true;
	const uint64_t points[2] = { best->point, next ? next->point : best->point };
	if (!sweep_rows_fetch(a->path, r->space, points, 2, records, a->err))
		return false;
	if (flat)
		fprintf(a->out, "flat: %s changes nothing at the best point, %s\n", x->name,
			bound_of(records[0], why, sizeof why));
	else
		fprintf(a->out, "not monotonic: %s is best at %s; %s loses %.1f %%: %s\n", x->name,
			sweep_label(x, own, from, sizeof from),
			sweep_label(x, sweep_index(r->space, next->point, axis), to, sizeof to), lost * 100,
			cause(records[0], records[1], why, sizeof why));
	json_decref(records[0]);
	json_decref(records[1]);
	return true;
}
