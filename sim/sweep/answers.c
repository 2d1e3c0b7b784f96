/* SPDX-License-Identifier: Apache-2.0 */
/* Answers out of rows. */
#include "sim/sweep/answers.h"
#include "isa/units.h"
#include "sim/config.h"
#include "sim/report_table.h"
#include "sim/sweep/figures.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Less is no difference to speak of. */
static const double FLAT = 0.001;

unsigned sweep_shown(const struct sweep_space *s, const char *names[SWEEP_ROW_FIGURES])
{
	static const char *const usual[] = { "cycles", "mac_utilization", "dram.bus_bytes", "sram.peak_bytes" };
	static const char *const of_models[] = { "tokens_per_s", "cycles", "mac_utilization", "dram.bus_bytes", "sram.peak_bytes" };
	unsigned n = 0;
	for (unsigned i = 0; i < s->nreport && n < SWEEP_ROW_FIGURES; i++)
		names[n++] = s->report[i];
	if (n && sweep_figures[sweep_figure_find(names[0])].type != SWEEP_TEXT)
		return n;
	n = 0;
	if (s->kind == SWEEP_MODEL)
		for (; n < 5; n++)
			names[n] = of_models[n];
	else
		for (; n < 4; n++)
			names[n] = usual[n];
	return n;
}

const char *sweep_figure_title(const char *name)
{
	static const char *const titles[][2] = { { "mac_utilization", "MAC util" },   { "dram.bus_bytes", "DRAM MiB" },
						 { "sram.peak_bytes", "SRAM used" },  { "tokens_per_s", "tokens/s" },
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

struct best_row {
	const struct sweep_row *row; /* NULL: nothing is legal there */
	json_t *record;
};

static void table_row(struct report_table *table, const struct sweep_rows *r, unsigned axis, const struct best_row *b,
		      const struct best_row *before)
{
	const struct sweep_space *s = r->space;
	char text[256];
	report_table_row(table, sweep_label(&s->axes[axis], sweep_index(s, b->row->point, axis), text, sizeof text));
	for (unsigned a = 0; a < s->naxes; a++)
		if (a != axis && !s->axes[a].hardware)
			report_table_text(table, sweep_label(&s->axes[a], sweep_index(s, b->row->point, a), text, sizeof text));
	for (unsigned i = 0; i < r->nnames; i++) {
		double v = sweep_rows_figure(r, b->row, i);
		const char *word = json_string_value(json_object_get(json_object_get(b->record, "figures"), r->names[i]));
		report_table_text(table, word ? word : sweep_figure_text(r->names[i], v, text, sizeof text));
		if (i > 0)
			continue;
		snprintf(text, sizeof text, "%+.1f %%", before ? (v / sweep_rows_figure(r, before->row, 0) - 1) * 100 : 0);
		report_table_text(table, before ? text : "");
	}
}

static struct report_table *table_of(const struct sweep_rows *r, unsigned axis)
{
	const char *titles[SWEEP_AXES + SWEEP_ROW_FIGURES + 3];
	unsigned n = 0;
	titles[n++] = r->space->axes[axis].name;
	for (unsigned a = 0; a < r->space->naxes; a++)
		if (a != axis && !r->space->axes[a].hardware)
			titles[n++] = r->space->axes[a].name;
	for (unsigned i = 0; i < r->nnames; i++) {
		titles[n++] = sweep_figure_title(r->names[i]);
		if (i == 0)
			titles[n++] = "gain";
	}
	titles[n] = NULL;
	return report_table_new(titles);
}

static void heading(const struct sweep_rows *r, unsigned axis, const struct fixed *fixed, FILE *out)
{
	char text[256];
	const struct sweep_space *s = r->space;
	fprintf(out, "\n%s%s for each %s", strcmp(r->names[0], "cycles") == 0 ? "fastest" : "best by ",
		strcmp(r->names[0], "cycles") == 0 ? "" : r->names[0], s->axes[axis].name);
	for (unsigned a = 0; a < s->naxes; a++)
		if (fixed->index[a] >= 0 && a != axis)
			fprintf(out, ", %s %s", s->axes[a].name, sweep_label(&s->axes[a], (uint32_t)fixed->index[a], text, sizeof text));
	fputc('\n', out);
}

/* Lines below a table: runs of values that change nothing, steps that lose. */
static void remarks(const struct sweep_rows *r, unsigned axis, const struct best_row *best, FILE *out)
{
	const struct sweep_axis *x = &r->space->axes[axis];
	char from[256], to[256], why[512];
	const struct best_row *before = NULL;
	for (uint32_t i = 0; i < x->count; i++) {
		uint32_t end = i;
		if (!best[i].row)
			continue;
		double here = sweep_rows_figure(r, best[i].row, 0);
		if (before && is_ordered(x)) {
			double gain = sweep_gain(r->names[0], sweep_rows_figure(r, before->row, 0), here);
			if (gain < -FLAT)
				fprintf(out, "not monotonic: %s %s -> %s loses %.1f %%: %s\n", x->name,
					sweep_label(x, sweep_index(r->space, before->row->point, axis), from, sizeof from),
					sweep_label(x, i, to, sizeof to), -gain * 100, cause(before->record, best[i].record, why, sizeof why));
		}
		while (end + 1 < x->count && best[end + 1].row &&
		       fabs(sweep_gain(r->names[0], here, sweep_rows_figure(r, best[end + 1].row, 0))) <= FLAT)
			end++;
		if (end > i)
			fprintf(out, "flat: %s %s -> %s changes nothing, %s\n", x->name, sweep_label(x, i, from, sizeof from),
				sweep_label(x, end, to, sizeof to), flat_cause(x, best[i].record, why, sizeof why));
		before = &best[end];
		i = end;
	}
}

static bool print_axis(const struct sweep_rows *r, const char *path, unsigned axis, const struct fixed *home, FILE *out, bool color,
		       struct npu_error *err)
{
	enum { MOST = 64 };
	const struct sweep_axis *x = &r->space->axes[axis];
	struct best_row best[MOST] = { { 0 } };
	uint64_t points[MOST] = { 0 };
	json_t *records[MOST];
	unsigned where[MOST], n = 0;
	struct fixed fixed = *home;
	if (x->count > MOST)
		return true;
	for (uint32_t i = 0; i < x->count; i++) {
		fixed.index[axis] = (int)i;
		best[i].row = sweep_best(r, 0, is_fixed, &fixed);
		if (best[i].row) {
			points[n] = best[i].row->point;
			where[n++] = i;
		}
	}
	if (!sweep_rows_fetch(path, r->space, points, n, records, err))
		return false;
	for (unsigned k = 0; k < n; k++)
		best[where[k]].record = records[k];
	struct report_table *table = n ? table_of(r, axis) : NULL;
	const struct best_row *before = NULL;
	for (uint32_t i = 0; table && i < x->count; i++) {
		if (!best[i].row)
			continue;
		/* What changes nothing is told below. */
		if (before && fabs(sweep_gain(r->names[0], sweep_rows_figure(r, before->row, 0), sweep_rows_figure(r, best[i].row, 0))) <= FLAT)
			continue;
		table_row(table, r, axis, &best[i], before);
		before = &best[i];
	}
	if (table) {
		heading(r, axis, home, out);
		report_table_print(table, out, &(struct report_style){ .color = color });
		remarks(r, axis, best, out);
	}
	for (unsigned k = 0; k < n; k++)
		json_decref(records[k]);
	return true;
}

/* ---- axes of the kernel, around the best point ---- */

static bool around_best(const struct sweep_rows *r, const char *path, unsigned axis, const struct sweep_row *best, FILE *out,
			struct npu_error *err)
{
	enum { MOST = 64 };
	const struct sweep_axis *x = &r->space->axes[axis];
	const struct sweep_row *row[MOST];
	uint64_t points[2];
	json_t *records[2];
	char from[256], to[256], why[512];
	uint32_t own = sweep_index(r->space, best->point, axis), n = 0;
	bool flat = true;
	if (x->count > MOST || x->count < 2)
		return true;
	double value = sweep_rows_figure(r, best, 0);
	for (uint32_t i = 0; i < x->count; i++) {
		row[i] = sweep_rows_find(r, sweep_move(r->space, best->point, axis, i));
		if (row[i] && row[i]->status != SWEEP_RUN)
			row[i] = NULL;
		n += row[i] != NULL;
		flat = flat && (!row[i] || fabs(sweep_gain(r->names[0], value, sweep_rows_figure(r, row[i], 0))) <= FLAT);
	}
	if (n < 2)
		return true;
	points[0] = best->point;
	points[1] = best->point;
	bool inside = is_ordered(x) && own > 0 && own + 1 < x->count && row[own - 1] && row[own + 1];
	if (inside)
		points[1] = row[own + 1]->point;
	if (!flat && !inside)
		return true;
	if (!sweep_rows_fetch(path, r->space, points, 2, records, err))
		return false;
	if (flat)
		fprintf(out, "flat: %s changes nothing at the best point, %s\n", x->name, bound_of(records[0], why, sizeof why));
	else if (sweep_gain(r->names[0], value, sweep_rows_figure(r, row[own + 1], 0)) < -FLAT)
		fprintf(out, "not monotonic: %s is best at %s; %s loses %.1f %%: %s\n", x->name, sweep_label(x, own, from, sizeof from),
			sweep_label(x, own + 1, to, sizeof to),
			-sweep_gain(r->names[0], value, sweep_rows_figure(r, row[own + 1], 0)) * 100,
			cause(records[0], records[1], why, sizeof why));
	json_decref(records[0]);
	json_decref(records[1]);
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
	bool ok = true, main_axis = false;
	for (unsigned a = 0; a < s->naxes; a++) {
		home.index[a] = s->axes[a].hardware && s->axes[a].count > 1 ? (int)sweep_home(r, a) : -1;
		main_axis = main_axis || s->axes[a].hardware;
	}
	for (unsigned a = 0; ok && best && a < s->naxes; a++) {
		struct fixed fixed = home;
		fixed.index[a] = -1;
		if (s->axes[a].count > 1 && (s->axes[a].hardware || !main_axis))
			ok = print_axis(r, path, a, &fixed, out, color, err);
	}
	const struct sweep_row *at_home = best ? sweep_best(r, 0, is_fixed, &home) : NULL;
	for (unsigned a = 0; ok && main_axis && at_home && a < s->naxes; a++)
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
