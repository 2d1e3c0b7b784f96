/* SPDX-License-Identifier: Apache-2.0 */
/* The page: data as JSON, a scatter plot that is drawn in the browser, pictures as they are. */
#include "sim/sweep/page.h"
#include "isa/units.h"
#include "sim/html.h"
#include "sim/sweep/search.h"
#include "sim/sweep/shown.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_POINTS = 20000 };

/* page.html, page.css and page.js, as the build found them. */
#define PART(name, ...) static const char part_##name[] = { __VA_ARGS__ 0 };
#include "sim/sweep/page.inc"
#undef PART

static json_t *names_of(const struct sweep_rows *r)
{
	json_t *names = json_array();
	for (unsigned i = 0; i < r->nnames; i++)
		json_array_append_new(names, json_string(r->names[i]));
	return names;
}

/* "sram.size=1MiB", an entry a key of an axis. */
static json_t *place_of(const struct sweep_space *s, uint64_t point)
{
	json_t *at = json_array();
	for (unsigned a = 0; a < s->naxes; a++)
		for (unsigned k = 0; k < s->axes[a].nkeys; k++)
			json_array_append_new(
			    at,
			    json_sprintf("%s=%s", s->axes[a].keys[k],
					 s->axes[a].values[(size_t)k * s->axes[a].count + sweep_index(s, point, a)]));
	return at;
}

/* What nothing beats in the goal and another figure. */
static void keep_front(const struct sweep_rows *r, unsigned figure, bool *keep)
{
	const unsigned goals[2] = { 0, figure };
	const struct sweep_row **front;
	uint64_t n = sweep_front(r, goals, 2, &front);
	for (uint64_t i = 0; i < n; i++)
		keep[front[i] - r->row] = true;
	free(front);
}

/* Which rows are shown: those that were run; of very many some without a pattern, the best one, and the fronts of the
 * goal and each other figure. NULL when out of memory. */
static bool *shown_of(const struct sweep_rows *r)
{
	bool *keep = calloc(r->n + 1, sizeof *keep);
	const struct sweep_row *best = sweep_best(r, 0, NULL, NULL);
	uint64_t run = r->count[SWEEP_RUN];
	for (uint64_t i = 0, n = 0; keep && i < r->n; i++)
		if (r->row[i].status == SWEEP_RUN)
			keep[i] = run <= MOST_POINTS || sweep_shuffle(n++, run, 0) < MOST_POINTS;
	if (keep && best)
		keep[best - r->row] = true;
	for (unsigned f = 1; keep && run > MOST_POINTS && f < r->nnames; f++)
		keep_front(r, f, keep);
	return keep;
}

static json_t *points_of(const struct sweep_rows *r, const bool *keep)
{
	char text[4096];
	json_t *points = json_array();
	for (uint64_t i = 0; i < r->n; i++) {
		if (!keep[i])
			continue;
		json_t *p = json_object(), *figures = json_array();
		for (unsigned f = 0; f < r->nnames; f++) {
			double v = sweep_rows_figure(r, &r->row[i], f);
			json_array_append_new(figures, isnan(v) ? json_null() : json_real(v));
		}
		json_object_set_new(p, "n", json_integer((json_int_t)r->row[i].point));
		json_object_set_new(p, "at", place_of(r->space, r->row[i].point));
		json_object_set_new(p, "run", json_string(sweep_command(r->space, r->row[i].point, text, sizeof text)));
		json_object_set_new(p, "f", figures);
		json_array_append_new(points, p);
	}
	return points;
}

/* What became of the points, and which of them the page holds. */
static void put_counts(const struct sweep_rows *r, size_t shown, FILE *out)
{
	fprintf(out, "%s run, %s not legal, %s failed", npu_count_text(r->count[SWEEP_RUN]).text,
		npu_count_text(r->count[SWEEP_NOT_LEGAL]).text, npu_count_text(r->count[SWEEP_FAILED]).text);
	if (r->count[SWEEP_MISSING])
		fprintf(out, ", %s missing", npu_count_text(r->count[SWEEP_MISSING]).text);
	fputc('.', out);
	if (shown < r->count[SWEEP_RUN])
		fprintf(out,
			" Shown are %s of those that were run: the best one, the fronts of what is made best and each "
			"other "
			"figure, and others without a pattern; npusim sweep merge has all of them.",
			npu_count_text(shown).text);
}

/* Runs of longest operators, by number of point. */
struct operators {
	const struct sweep_space *space;
	json_t *of;
};

static bool take_operator(void *context, uint64_t point, enum sweep_status status, const json_t *record)
{
	struct operators *o = context;
	const json_t *longest = json_object_get(record, "longest");
	const char *name = json_string_value(json_object_get(longest, "name")),
		   *run = json_string_value(json_object_get(longest, "run"));
	char text[4096], number[24];
	if (status != SWEEP_RUN || !name || !run)
		return true;
	snprintf(number, sizeof number, "%llu", (unsigned long long)point);
	json_object_set_new(
	    o->of, number,
	    json_pack("{s:o,s:s}", "op",
		      json_sprintf("%s, %.1f %%", name, 100 * json_number_value(json_object_get(longest, "share"))),
		      "with", sweep_command_on(o->space, point, run, text, sizeof text)));
	return true;
}

/* A step has no timeline, its longest operator has. */
static bool add_operators(json_t *points, const struct sweep_rows *r, const char *path, struct npu_error *err)
{
	struct operators o = { r->space, json_object() };
	bool ok = r->space->kind != SWEEP_MODEL || sweep_store_read(path, r->space, take_operator, &o, NULL, err);
	size_t i;
	json_t *p;
	char number[24];
	json_array_foreach(points, i, p)
	{
		snprintf(number, sizeof number, "%lld", (long long)json_integer_value(json_object_get(p, "n")));
		json_object_update(p, json_object_get(o.of, number));
	}
	json_decref(o.of);
	return ok;
}

static void put_picture(const char *path, FILE *out)
{
	char line[4096];
	FILE *in = fopen(path, "re");
	bool begun = false;
	if (!in)
		return;
	fputs("<figure>", out);
	while (fgets(line, sizeof line, in)) {
		/* Without the lines of an XML file in front. */
		begun = begun || strncmp(line, "<svg", 4) == 0;
		if (begun)
			fputs(line, out);
	}
	fputs("</figure>\n", out);
	fclose(in);
}

static json_t *data_of(const struct sweep_rows *r, json_t *points)
{
	return json_pack("{s:s, s:o, s:o}", "kind", r->space->kind == SWEEP_MODEL ? "model" : "run", "names",
			 names_of(r), "points", points);
}

bool sweep_page(const struct sweep_rows *r, const char *path, const char *const *pictures, FILE *out,
		struct npu_error *err)
{
	char title[1024];
	bool *keep = shown_of(r);
	if (!keep)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	json_t *points = points_of(r, keep);
	free(keep);
	bool ok = add_operators(points, r, path, err);
	json_t *data = data_of(r, points);
	sweep_title(r->space, title, sizeof title);
	const char *html = html_until(part_html, "<!--title-->", out);
	html_text(title, out);
	html = html_until(html, "<!--style-->", out);
	fputs(part_css, out);
	html = html_until(html, "<!--title-->", out);
	html_text(title, out);
	html = html_until(html, "<!--counts-->", out);
	put_counts(r, json_array_size(points), out);
	html = html_until(html, "<!--pictures-->", out);
	for (; *pictures; pictures++)
		put_picture(*pictures, out);
	html = html_until(html, "<!--data-->", out);
	html_json("data", data, out);
	html = html_until(html, "<!--script-->", out);
	fputs(part_js, out);
	fputs(html, out);
	json_decref(data);
	return ok;
}
