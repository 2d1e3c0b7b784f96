/* SPDX-License-Identifier: Apache-2.0 */
/* Answers out of rows. */
#include "sim/sweep/answers.h"
#include "isa/units.h"
#include "sim/config.h"
#include "sim/report_table.h"
#include "sim/sweep/figures.h"
#include "sim/sweep/search.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Less is no difference to speak of; less against the way an axis goes is no turn of it. */
static const double FLAT = 0.001, TURN = 0.01;

static void show(const char *names[SWEEP_ROW_FIGURES], unsigned *n, const char *name)
{
	for (unsigned i = 0; i < *n; i++)
		if (strcmp(names[i], name) == 0)
			return;
	if (*n < SWEEP_ROW_FIGURES)
		names[(*n)++] = name;
}

unsigned sweep_shown(const struct sweep_space *s, const char *names[SWEEP_ROW_FIGURES])
{
	static const char *const usual[] = { "cycles", "mac_utilization", "dram.bus_bytes", "sram.peak_bytes" };
	unsigned n = 0;
	/* A search is about its goals, also where others are shown. */
	for (unsigned i = 0; i < s->nreport && n + s->ngoals < SWEEP_ROW_FIGURES; i++)
		show(names, &n, s->report[i]);
	if (n && sweep_figures[sweep_figure_find(names[0])].type == SWEEP_TEXT)
		n = 0;
	bool reported = n > 0;
	for (unsigned i = 0; i < s->ngoals; i++)
		show(names, &n, s->goals[i]);
	if (reported)
		return n;
	if (s->kind == SWEEP_MODEL)
		show(names, &n, "tokens_per_s");
	if (s->clocks)
		show(names, &n, "time_us");
	for (unsigned i = 0; i < sizeof usual / sizeof *usual; i++)
		show(names, &n, usual[i]);
	return n;
}

const char *sweep_figure_title(const char *name)
{
	static const char *const titles[][2] = { { "mac_utilization", "MAC util" },   { "dram.bus_bytes", "DRAM MiB" },
						 { "sram.peak_bytes", "SRAM used" },  { "tokens_per_s", "tokens/s" },	 { "time_us", "time us" },
						 { "dram.read_bytes", "DRAM read" },  { "dram.write_bytes", "DRAM written" } };
	for (unsigned i = 0; i < sizeof titles / sizeof *titles; i++)
		if (strcmp(titles[i][0], name) == 0)
			return titles[i][1];
	return name;
}

const char *sweep_figure_text(const char *name, double value, char *out, unsigned size)
{
	int f = sweep_figure_find(name);
	const char *unit = f >= 0 ? sweep_figures[f].unit : "";
	if (isnan(value))
		snprintf(out, size, "-");
	else if (strcmp(name, "dram.bus_bytes") == 0)
		snprintf(out, size, "%.1f", value / 1048576);
	else if (strcmp(unit, "byte") == 0 && value >= 10 * 1048576.0)
		snprintf(out, size, "%.1f MiB", value / 1048576);
	else if (strcmp(unit, "byte") == 0)
		snprintf(out, size, "%s KiB", npu_count_text((uint64_t)llround(value / 1024)).text);
	else if (strcmp(unit, "ratio") == 0)
		snprintf(out, size, "%.1f %%", value * 100);
	else if (f >= 0 && sweep_figures[f].type == SWEEP_UINT)
		snprintf(out, size, "%s", npu_count_text((uint64_t)llround(value)).text);
	else
		snprintf(out, size, value >= 100 ? "%.1f" : "%.3g", value);
	return out;
}

const char *sweep_rows_text(const struct sweep_rows *r, const struct sweep_row *row, unsigned figure, char *out, unsigned size)
{
	struct expr_value v = sweep_rows_value(r, row, figure);
	return v.text ? v.text : sweep_figure_text(r->names[figure], v.number, out, size);
}

double sweep_gain(const char *name, double a, double b)
{
	if (!(fabs(a) > 0))
		return 0;
	return (sweep_figure_wants_more(name) ? b - a : a - b) / fabs(a);
}

const struct sweep_row *sweep_best(const struct sweep_rows *r, unsigned figure, sweep_fits *fits, void *context)
{
	const struct sweep_row *best = NULL;
	double value = 0;
	for (uint64_t i = 0; i < r->n; i++) {
		double v = sweep_rows_figure(r, &r->row[i], figure);
		if (r->row[i].status != SWEEP_RUN || isnan(v) || (fits && !fits(context, &r->row[i])))
			continue;
		if (!best || (sweep_figure_wants_more(r->names[figure]) ? v > value : v < value)) {
			best = &r->row[i];
			value = v;
		}
	}
	return best;
}

uint32_t sweep_home(const struct sweep_rows *r, unsigned axis)
{
	const struct sweep_space *s = r->space;
	const struct sweep_axis *x = &s->axes[axis];
	const struct sweep_row *best = sweep_best(r, 0, NULL, NULL);
	uint32_t home = best ? sweep_index(s, best->point, axis) : 0;
	struct config config;
	if (!x->hardware || !s->hw)
		return home;
	config_init(&config);
	char *path = sweep_is_path(s->hw) ? sweep_path(s, s->hw) : strdup(s->hw);
	bool ok = path && config_read(&config, path, NULL, 0, NULL);
	free(path);
	for (uint32_t i = 0; ok && i < x->count; i++) {
		bool same = true;
		for (unsigned k = 0; same && k < x->nkeys; k++) {
			char text[128];
			const struct config_key *key = config_key_find(x->keys[k]);
			same = key && strcmp(config_value(&config.hw, config.dram_part, key, text, sizeof text),
					     x->values[(size_t)k * x->count + i]) == 0;
		}
		if (same) {
			home = i;
			break;
		}
	}
	config_fini(&config);
	return home;
}

static bool is_ordered(const struct sweep_axis *x)
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

/* What made b slower or faster than a: the state of the engine that computes (that loads, where none does) that changed most. */
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
	int n = snprintf(out, size, "%s %s %s -> %s cycles", engine, which, npu_count_text((uint64_t)state(a, engine, which)).text,
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
	snprintf(out, size, "bound by %s%s%s%s", bound ? bound : "nothing", evidence ? " (" : "", evidence ? evidence : "", evidence ? ")" : "");
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

struct fixed {
	const struct sweep_space *s;
	int index[SWEEP_AXES]; /* -1: any */
};

static bool is_fixed(void *context, const struct sweep_row *row)
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
	bool whole; /* everything else was tried there, so that values can be compared */
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

static double figure_at(const struct along *l, uint32_t i) { return sweep_rows_figure(l->r, l->at[l->some[i]], 0); }

static double gain_between(const struct along *l, uint32_t from, uint32_t to)
{
	return sweep_gain(l->r->names[0], figure_at(l, from), figure_at(l, to));
}

static bool along_axis(struct along *l, const struct sweep_rows *r, unsigned axis, const struct fixed *fixed, bool whole)
{
	uint32_t count = r->space->axes[axis].count;
	*l = (struct along){ .r = r, .axis = axis, .whole = whole, .at = calloc(count, sizeof *l->at), .some = calloc(count, sizeof *l->some) };
	bool more = sweep_figure_wants_more(r->names[0]);
	for (uint64_t i = 0; l->at && i < r->n; i++) {
		const struct sweep_row *row = &r->row[i];
		double v = sweep_rows_figure(r, row, 0);
		if (isnan(v) || !is_fixed((void *)fixed, row))
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
			report_table_text(table, sweep_label(&s->axes[a], sweep_index(s, row->point, a), text, sizeof text));
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

/* "fastest", or what else is made best. */
static void put_goal(const struct sweep_rows *r, FILE *out)
{
	bool cycles = strcmp(r->names[0], "cycles") == 0;
	if (strcmp(r->names[0], "time_us") == 0 || (cycles && !r->space->clocks))
		fputs("fastest", out);
	else if (cycles)
		fputs("fewest cycles (clocks differ: time_us tells what is fastest)", out);
	else
		fprintf(out, "best by %s", r->names[0]);
}

static void heading(const struct along *l, const struct fixed *fixed, FILE *out)
{
	char text[256];
	const struct sweep_space *s = l->r->space;
	fputc('\n', out);
	put_goal(l->r, out);
	fprintf(out, "%s for each %s", l->whole ? "" : " of what was tried", s->axes[l->axis].name);
	for (unsigned a = 0; a < s->naxes; a++)
		if (fixed->index[a] >= 0 && a != l->axis)
			fprintf(out, ", %s %s", s->axes[a].name, sweep_label(&s->axes[a], (uint32_t)fixed->index[a], text, sizeof text));
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
			double a = losses ? -list[j].gain : list[j].to - list[j].from, b = losses ? -list[i].gain : list[i].to - list[i].from;
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

static uint32_t told(uint32_t n) { return n < MOST_STRETCHES ? n : MOST_STRETCHES; }

static bool remarks_of(struct remarks *m, const struct along *l, struct records *records)
{
	const struct sweep_axis *x = &l->r->space->axes[l->axis];
	*m = (struct remarks){ .turns = calloc(l->n + 1, sizeof *m->turns), .flats = calloc(l->n + 1, sizeof *m->flats) };
	if (!m->turns || !m->flats)
		return false;
	if (!l->whole)
		return true;
	uint32_t n = is_ordered(x) ? stretches_of(l, m->turns) : 0;
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
			fprintf(out, "%s %s with %s, %s -> %s %+.1f %%: %s\n", sweep_figure_wants_more(l->r->names[0]) ? "less" : "more",
				l->r->names[0], x->name, from, to, (figure_at(l, t->to) / figure_at(l, t->from) - 1) * 100, why);
		else
			fprintf(out, "not monotonic: %s %s -> %s loses %.1f %%: %s\n", x->name, from, to, -t->gain * 100, why);
	}
	if (m->nturns > MOST_STRETCHES)
		fprintf(out, "not monotonic: %s loses in %u more stretches\n", x->name, m->nturns - MOST_STRETCHES);
	for (uint32_t i = 0; i < told(m->nflats); i++)
		fprintf(out, "flat: %s %s -> %s changes nothing, %s\n", x->name, sweep_label(x, l->some[m->flats[i].from], from, sizeof from),
			sweep_label(x, l->some[m->flats[i].to], to, sizeof to), flat_cause(x, record_at(records, l, m->flats[i].from), why, sizeof why));
	if (m->nflats > MOST_STRETCHES)
		fprintf(out, "flat: %s has %u more stretches that change nothing\n", x->name, m->nflats - MOST_STRETCHES);
}

static bool print_along(const struct along *l, const char *path, const struct fixed *home, FILE *out, bool color, struct npu_error *err)
{
	struct remarks m;
	struct records records = { .n = 0 };
	uint32_t rows[MOST_ROWS + 2];
	unsigned n = rows_of(l, rows);
	bool ok = remarks_of(&m, l, &records) || npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	ok = ok && sweep_rows_fetch(path, l->r->space, records.point, records.n, records.of, err);
	struct report_table *table = ok && n ? table_of(l) : NULL;
	for (unsigned i = 0; table && i < n; i++)
		put_row(table, l, rows[i], i ? figure_at(l, rows[i - 1]) : (double)NAN);
	if (table) {
		heading(l, home, out);
		report_table_print(table, out, &(struct report_style){ .color = color });
		print_remarks(&m, l, &records, out);
	}
	for (unsigned i = 0; ok && i < records.n; i++)
		json_decref(records.of[i]);
	free(m.turns);
	free(m.flats);
	return ok;
}

static bool print_axis(const struct sweep_rows *r, const char *path, unsigned axis, const struct fixed *home, bool whole, bool *told_any,
		       FILE *out, bool color, struct npu_error *err)
{
	struct along l;
	bool ok = along_axis(&l, r, axis, home, whole) || npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	ok = ok && print_along(&l, path, home, out, color, err);
	*told_any = *told_any || l.n > 0;
	along_free(&l);
	return ok;
}

/* ---- axes of the kernel, around the best point ---- */

static bool around_best(const struct sweep_rows *r, const char *path, unsigned axis, const struct sweep_row *best, FILE *out,
			struct npu_error *err)
{
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
	bool turns = is_ordered(x) && worse_before && next;
	if (n < 2 || (!flat && !turns))
		return true;
	const uint64_t points[2] = { best->point, next ? next->point : best->point };
	if (!sweep_rows_fetch(path, r->space, points, 2, records, err))
		return false;
	if (flat)
		fprintf(out, "flat: %s changes nothing at the best point, %s\n", x->name, bound_of(records[0], why, sizeof why));
	else
		fprintf(out, "not monotonic: %s is best at %s; %s loses %.1f %%: %s\n", x->name, sweep_label(x, own, from, sizeof from),
			sweep_label(x, sweep_index(r->space, next->point, axis), to, sizeof to), lost * 100,
			cause(records[0], records[1], why, sizeof why));
	json_decref(records[0]);
	json_decref(records[1]);
	return true;
}

/* ---- points as they are ---- */

/* Axes and figures of some points, a row each. */
static void print_points(const struct sweep_rows *r, const struct sweep_row *const *rows, uint64_t n, FILE *out, bool color)
{
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
		report_table_print(table, out, &(struct report_style){ .color = color });
}

static bool print_front(const struct sweep_rows *r, FILE *out, bool color, struct npu_error *err)
{
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
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	fprintf(out, "\nPareto front of what was tried: nothing is as good in ");
	for (unsigned g = 0; g < s->ngoals; g++)
		fprintf(out, "%s%s", g ? g + 1 < s->ngoals ? ", " : " and " : "", s->goals[g]);
	fprintf(out, " and better in one\n");
	print_points(r, front, n < MOST ? n : MOST, out, color);
	if (n > MOST)
		fprintf(out, "%s more are on it\n", npu_count_text(n - MOST).text);
	free(front);
	return true;
}

/* ---- refusals ---- */

static uint64_t distance(const struct sweep_space *s, uint64_t a, uint64_t b)
{
	uint64_t d = 0;
	for (unsigned i = 0; i < s->naxes; i++) {
		uint32_t x = sweep_index(s, a, i), y = sweep_index(s, b, i);
		d += is_ordered(&s->axes[i]) ? x > y ? x - y : y - x : x != y;
	}
	return d;
}

/* The row of that status and reason nearest to a point. */
static const struct sweep_row *nearest(const struct sweep_rows *r, uint64_t point, enum sweep_status status, unsigned reason)
{
	const struct sweep_row *found = NULL;
	uint64_t least = UINT64_MAX;
	for (uint64_t i = 0; i < r->n; i++) {
		const struct sweep_row *row = &r->row[i];
		if (row->status != status || (status == SWEEP_NOT_LEGAL && row->reason != reason))
			continue;
		uint64_t d = distance(r->space, row->point, point);
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

static void print_refusals(const struct sweep_rows *r, const struct sweep_row *best, FILE *out, bool color)
{
	static const char *const titles[] = { "not legal", "points", "share", "nearest to the best point", "nearest legal point", NULL };
	char refused[512], legal[512], share[16];
	struct report_table *table = r->count[SWEEP_NOT_LEGAL] && best ? report_table_new(titles) : NULL;
	for (unsigned i = 0; table && i < r->nreasons; i++) {
		const struct sweep_row *row = nearest(r, best->point, SWEEP_NOT_LEGAL, i);
		const struct sweep_row *other = row ? nearest(r, row->point, SWEEP_RUN, 0) : NULL;
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
		fputc('\n', out);
		report_table_print(table, out, &(struct report_style){ .color = color });
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

static bool print_failures(const struct sweep_rows *r, const char *path, FILE *out, struct npu_error *err)
{
	struct failures f = { .n = 0 };
	char text[4096];
	for (uint64_t i = 0; i < r->n && f.n < MOST_FAILURES; i++)
		if (r->row[i].status == SWEEP_FAILED)
			f.point[f.n++] = r->row[i].point;
	bool ok = sweep_store_read(path, r->space, take_failure, &f, NULL, err);
	for (unsigned i = 0; i < f.n; i++) {
		const char *why = json_string_value(json_object_get(f.record[i], "error"));
		const char *options = json_string_value(json_object_get(f.record[i], "options"));
		if (ok)
			fprintf(out, "failed: %s\n  %s%s%s\n", why ? why : "", sweep_command(r->space, f.point[i], text, sizeof text),
				options ? " " : "", options ? options : "");
		json_decref(f.record[i]);
	}
	return ok;
}

/* ---- the whole ---- */

bool sweep_answers(const struct sweep_rows *r, const char *path, FILE *out, bool color, struct npu_error *err)
{
	const struct sweep_space *s = r->space;
	const struct sweep_row *best = sweep_best(r, 0, NULL, NULL);
	struct fixed home = { .s = s };
	/* Values of an axis are compared where each has the best of all the others behind it. */
	bool ok = true, main_axis = false, told_any = false, whole = !s->pareto && s->count == s->points && !r->count[SWEEP_MISSING];
	for (unsigned a = 0; a < s->naxes; a++) {
		bool is_main = s->axes[a].hardware && s->axes[a].count > 1;
		home.index[a] = is_main && whole ? (int)sweep_home(r, a) : -1;
		main_axis = main_axis || is_main;
	}
	if (best && s->pareto)
		ok = told_any = print_front(r, out, color, err);
	for (unsigned a = 0; ok && best && !s->pareto && a < s->naxes; a++) {
		struct fixed fixed = home;
		fixed.index[a] = -1;
		if (s->axes[a].count < 2 || (main_axis && !s->axes[a].hardware))
			continue;
		ok = print_axis(r, path, a, &fixed, whole, &told_any, out, color, err);
	}
	if (ok && best && !told_any) {
		fputc('\n', out);
		put_goal(r, out);
		fputc('\n', out);
		print_points(r, &best, 1, out, color);
	}
	const struct sweep_row *at_home = best ? sweep_best(r, 0, is_fixed, &home) : NULL;
	for (unsigned a = 0; ok && main_axis && whole && at_home && a < s->naxes; a++)
		if (!s->axes[a].hardware)
			ok = around_best(r, path, a, at_home, out, err);
	print_refusals(r, best, out, color);
	if (ok && r->count[SWEEP_FAILED])
		ok = print_failures(r, path, out, err);
	char strays[160];
	if (*sweep_strays_text(&r->strays, strays))
		fprintf(out, "%s\n", strays);
	return ok;
}
