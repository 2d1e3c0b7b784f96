/* SPDX-License-Identifier: Apache-2.0 */
/* npusim roofline: operational intensity, ridge point and what was achieved, of a run and of each of its regions. */
#include "sim/account.h"
#include "sim/cli.h"
#include "sim/cmd/report_file.h"
#include "sim/gnuplot.h"
#include "sim/region_cycles.h"
#include "sim/report_json.h"
#include "sim/report_read.h"
#include "sim/report_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 20, DRAWN = 16, QUOTED = 200 };

struct point {
	const char *name;
	uint64_t macs, bytes, cycles;
	double intensity, achieved, roof; /* MAC/byte; GMAC/s; NAN where there is none */
};

struct roofline {
	struct point whole, *regions; /* most cycles first */
	size_t n;
	double peak_macs, peak_bytes, ridge; /* GMAC/s, GB/s, MAC/byte */
	double ns_per_cycle;                 /* 0 of a run without a cycle */
	const char *memory;                  /* whose bytes a second the slope is */
};

static void place(struct roofline *r, struct point *p)
{
	double ns = (double)p->cycles * r->ns_per_cycle;
	p->intensity = p->bytes > 0 ? (double)p->macs / (double)p->bytes : NAN;
	p->achieved = ns > 0 ? (double)p->macs / ns : NAN;
	double slope = p->intensity * r->peak_bytes;
	p->roof = isnan(slope) || slope > r->peak_macs ? r->peak_macs : slope;
}

/* Instructions of two regions overlap, and the older one decides the cycle: a region is at it for no less than the machine
 * needs for what it asks. */
static uint64_t least_cycles(const struct roofline *r, const struct point *p)
{
	double array = (double)p->macs / r->peak_macs, memory = (double)p->bytes / r->peak_bytes, ns = array > memory ? array : memory;
	return r->ns_per_cycle > 0 ? (uint64_t)ceil(ns / r->ns_per_cycle) : 0;
}

static int by_cycles(const void *x, const void *y)
{
	const struct point *a = x, *b = y;
	return a->cycles != b->cycles ? (a->cycles > b->cycles ? -1 : 1) : strcmp(a->name, b->name);
}

static bool is_ideal(const json_t *report)
{
	size_t i;
	json_t *part;
	json_array_foreach(report_value(report, "ideal"), i, part)
		if (json_is_string(part) && strcmp(json_string_value(part), "dram") == 0)
			return true;
	return json_is_true(report_value(report, "hw.dram.ideal"));
}

/* DRAM's peak is a roof where the part was simulated. Perfect DRAM, or a memory of the user's, has none that is known: what is
 * left are the ports of the two DMA engines on chip. */
static bool find_slope(struct roofline *r, const json_t *report)
{
	r->memory = "DRAM";
	r->peak_bytes = report_real(report, "dram.peak_gb_per_s");
	r->ridge = report_real(report, "ridge_macs_per_byte");
	r->peak_macs = r->ridge * r->peak_bytes;
	if (!is_ideal(report) && !report_value(report, "command.memory"))
		return r->peak_bytes > 0 && r->ridge > 0;
	r->memory = "DMA ports";
	r->peak_bytes = 2 * report_real(report, "hw.dma.port") * report_real(report, "hw.npu.clock_mhz") / 1000;
	r->ridge = r->peak_macs / r->peak_bytes;
	return r->peak_bytes > 0 && r->ridge > 0;
}

static bool roofline_init(struct roofline *r, const json_t *report, const char *path, struct npu_error *err)
{
	const json_t *rows = report_value(report, "regions");
	size_t i;
	json_t *row;
	uint64_t cycles = report_count(report, "cycles");
	double us = report_real(report, "time_us");
	*r = (struct roofline){ 0 };
	if (!find_slope(r, report) || !(us >= 0) || (us > 0) != (cycles > 0) || !report_value(report, "cycles"))
		return npu_fail(err, NPU_ERR_VALUE, "%s: a roofline needs cycles, time_us, dram.peak_gb_per_s and ridge_macs_per_byte, "
						    "which this report does not have", path);
	r->ns_per_cycle = cycles > 0 ? us * 1000 / (double)cycles : 0;
	r->whole = (struct point){ .name = "whole", .macs = report_count(report, "macs"), .cycles = cycles,
				   .bytes = report_count(report, "dram.read_bytes") + report_count(report, "dram.write_bytes") };
	place(r, &r->whole);
	r->regions = calloc(json_array_size(rows) + 1, sizeof *r->regions);
	if (!r->regions)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	json_array_foreach(rows, i, row) {
		struct point p = { .name = report_text(row, "name"), .macs = report_count(row, "macs"), .cycles = region_cycles(row),
				   .bytes = report_count(row, "dram_read_bytes") + report_count(row, "dram_write_bytes") };
		uint64_t least = least_cycles(r, &p);
		p.cycles = p.cycles < least ? least : p.cycles;
		place(r, &p);
		if (p.macs > 0 || p.bytes > 0)
			r->regions[r->n++] = p;
	}
	qsort(r->regions, r->n, sizeof *r->regions, by_cycles);
	return true;
}

static const char *limit(const struct roofline *r, const struct point *p)
{
	return p->macs == 0 ? "no MACs" : isnan(p->intensity) || p->intensity >= r->ridge ? "compute" : "memory";
}

/* ---- for people ---- */

static void put_row(struct report_table *t, const struct roofline *r, const struct point *p)
{
	char share[32] = "";
	report_table_row(t, p->name);
	report_table_count(t, p->cycles);
	report_table_count(t, p->macs);
	report_table_count(t, p->bytes);
	report_table_real(t, isnan(p->intensity) ? 0 : p->intensity, 2);
	report_table_real(t, isnan(p->achieved) ? 0 : p->achieved, 2);
	report_table_real(t, p->roof, 2);
	if (p->macs > 0 && p->roof > 0 && !isnan(p->achieved))
		snprintf(share, sizeof share, "%.1f %%", 100 * p->achieved / p->roof);
	report_table_text(t, share);
	report_table_text(t, limit(r, p));
}

static bool print(const struct roofline *r, const json_t *report, uint64_t rows)
{
	static const char *const titles[] = { "roofline", "cycles", "MACs", "DRAM bytes", "MAC/B", "GMAC/s", "roof", "of roof",
					      "below", NULL };
	const char *no_color = getenv("NO_COLOR");
	struct report_style style = { .color = isatty(STDOUT_FILENO) && !(no_color && *no_color) };
	struct report_table *t = report_table_new(titles);
	if (!t)
		return false;
	printf("%s on %s: array %.1f GMAC/s, %s %.2f GB/s, ridge %.2f MAC/B\n\n", report_text(report, "command.subject"),
	       report_text(report, "hw.name"), r->peak_macs, r->memory, r->peak_bytes, r->ridge);
	put_row(t, r, &r->whole);
	for (size_t i = 0; i < r->n && i < rows; i++)
		put_row(t, r, &r->regions[i]);
	bool ok = report_table_print(t, stdout, &style);
	if (ok && r->n > rows)
		printf("%zu more regions; --rows 0 lists all\n", r->n - (size_t)rows);
	return ok;
}

static json_t *real(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *point_json(const struct roofline *r, const struct point *p)
{
	return json_pack("{s:s, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:s}", "name", p->name, "cycles", (json_int_t)p->cycles, "macs",
			 (json_int_t)p->macs, "dram_bytes", (json_int_t)p->bytes, "macs_per_dram_byte", real(p->intensity),
			 "gmac_per_s", real(p->achieved), "roof_gmac_per_s", real(p->roof), "roof_fraction",
			 real(p->roof > 0 ? p->achieved / p->roof : NAN), "below", limit(r, p));
}

static json_t *to_json(const struct roofline *r, const json_t *report)
{
	json_t *out = report_begin("npusim.roofline/1", "roofline", report_text(report, "command.subject")), *rows = json_array();
	for (size_t i = 0; i < r->n; i++)
		json_array_append_new(rows, point_json(r, &r->regions[i]));
	json_object_set_new(out, "run", json_string(report_text(report, "command.line")));
	json_object_set_new(out, "peak_gmac_per_s", real(r->peak_macs));
	json_object_set_new(out, "peak_gb_per_s", real(r->peak_bytes));
	json_object_set_new(out, "peak_of", json_string(r->memory));
	json_object_set_new(out, "ridge_macs_per_byte", real(r->ridge));
	json_object_set_new(out, "whole", point_json(r, &r->whole));
	json_object_set_new(out, "regions", rows);
	return out;
}

/* ---- the chart ---- */

static bool is_drawn(const struct point *p) { return p->intensity > 0 && p->achieved > 0; }

static void draw_point(FILE *out, const struct point *p)
{
	fprintf(out, "%.9g %.9g\n", p->intensity, p->achieved);
}

struct axes {
	double least, most, low, high; /* MAC/byte, GMAC/s */
};

/* The range of the axes: all points, the ridge, and a bit more. */
static struct axes axes_of(const struct roofline *r)
{
	struct axes a = { r->ridge / 8, r->ridge * 8, r->peak_macs / 16, r->peak_macs * 2 };
	for (size_t i = 0; i <= r->n && i <= DRAWN; i++) {
		const struct point *p = i ? &r->regions[i - 1] : &r->whole;
		if (!is_drawn(p))
			continue;
		a.least = p->intensity / 2 < a.least ? p->intensity / 2 : a.least;
		a.most = p->intensity * 2 > a.most ? p->intensity * 2 : a.most;
		a.low = p->achieved / 2 < a.low ? p->achieved / 2 : a.low;
	}
	return a;
}

/* Of the width and the height of the chart that a label takes. */
static const double LABEL_WIDTH = 0.25, LABEL_HEIGHT = 0.045;

static bool labels_meet(const struct axes *a, const struct point *p, const struct point *q)
{
	return fabs(log(p->intensity / q->intensity)) < LABEL_WIDTH * log(a->most / a->least) &&
	       fabs(log(p->achieved / q->achieved)) < LABEL_HEIGHT * log(a->high / a->low);
}

/* A label is to the right of its point, on the right half of the chart to the left. */
static void label(FILE *out, const struct axes *a, const struct point *p, unsigned more)
{
	char text[QUOTED], quoted[QUOTED];
	bool left = p->intensity * p->intensity > a->least * a->most;
	snprintf(text, sizeof text, "%.32s%s", p->name, strlen(p->name) > 32 ? "..." : "");
	if (more)
		snprintf(text + strlen(text), sizeof text - strlen(text), " and %u more", more);
	fprintf(out, "set label %s at %.9g,%.9g %s offset %s,0 font ',10'\n", gnuplot_quote(text, quoted, sizeof quoted), p->intensity,
		p->achieved, left ? "right" : "left", left ? "-1" : "1");
}

/* Points whose labels would lie on each other share the one of the first. */
static void draw_labels(FILE *out, const struct roofline *r, const struct axes *a)
{
	const struct point *shown[DRAWN + 1];
	unsigned more[DRAWN + 1] = { 0 }, n = 0;
	for (size_t i = 0; i <= r->n && i <= DRAWN; i++) {
		const struct point *p = i ? &r->regions[i - 1] : &r->whole;
		unsigned at = 0;
		if (!is_drawn(p))
			continue;
		while (at < n && !labels_meet(a, p, shown[at]))
			at++;
		if (at < n)
			more[at]++;
		else
			shown[n++] = p;
	}
	for (unsigned i = 0; i < n; i++)
		label(out, a, shown[i], more[i]);
}

static bool draw(const struct roofline *r, const json_t *report, const char *path, struct npu_error *err)
{
	char *script = NULL, title[QUOTED], text[QUOTED];
	size_t size;
	FILE *out = open_memstream(&script, &size);
	if (!out)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	snprintf(text, sizeof text, "%.80s on %.60s", report_text(report, "command.subject"), report_text(report, "hw.name"));
	fprintf(out, "set title %s\nset xlabel 'MAC/byte of DRAM'\nset ylabel 'GMAC/s'\nset grid\nset key bottom right\n",
		gnuplot_quote(text, title, sizeof title));
	struct axes axes = axes_of(r);
	fprintf(out, "set logscale xy\nset xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\n", axes.least, axes.most, axes.low, axes.high);
	fprintf(out, "set arrow from %.9g, graph 0 to %.9g, graph 1 nohead dashtype 3\n", r->ridge, r->ridge);
	/* Above the roof: no point and no legend is there. */
	fprintf(out, "set label 'ridge %.2f MAC/B' at %.9g, graph 0.965 offset 0.5,0\n", r->ridge, r->ridge);
	draw_labels(out, r, &axes);
	fputs("set samples 2000\n$whole << EOD\n", out);
	if (is_drawn(&r->whole))
		draw_point(out, &r->whole);
	fputs("EOD\n$regions << EOD\n", out);
	for (size_t i = 0; i < r->n && i < DRAWN; i++)
		if (is_drawn(&r->regions[i]))
			draw_point(out, &r->regions[i]);
	fputs("EOD\n", out);
	fprintf(out, "plot (x * %.9g < %.9g ? x * %.9g : %.9g) with lines linewidth 2 linecolor 'black' title '%s %.2f GB/s, array %.1f GMAC/s'",
		r->peak_bytes, r->peak_macs, r->peak_bytes, r->peak_macs, r->memory, r->peak_bytes, r->peak_macs);
	bool regions = false;
	for (size_t i = 0; i < r->n && i < DRAWN; i++)
		regions = regions || is_drawn(&r->regions[i]);
	if (regions)
		fputs(", $regions using 1:2 with points pointtype 6 linecolor '#3366aa' title 'regions'", out);
	if (is_drawn(&r->whole))
		fputs(", $whole using 1:2 with points pointtype 7 pointsize 1.5 linecolor '#cc3311' title 'whole'", out);
	fputc('\n', out);
	bool ok = fclose(out) == 0;
	ok = ok ? gnuplot_draw(script, path, err) : npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	free(script);
	return ok;
}

/* ---- the command ---- */

static int show(const struct cli *cli, const struct roofline *r, const json_t *report, uint64_t rows)
{
	struct npu_error err = { 0 };
	const char *chart = cli_value(cli, "output");
	int status = 0;
	if (report_wants_lines(cli) && !print(r, report, rows ? rows : UINT64_MAX))
		status = cli_usage("out of memory");
	if (chart && !draw(r, report, chart, &err))
		status = cli_fail(&err);
	int written = cli_value(cli, "report") ? report_finish(cli, to_json(r, report)) : 0;
	return status ? status : written;
}

static int run(struct cli *cli)
{
	struct npu_error err = { 0 };
	struct roofline r = { 0 };
	const char *rows = cli_value(cli, "rows") ? cli_value(cli, "rows") : "20", *chart = cli_value(cli, "output");
	char *end;
	unsigned long long n = strtoull(rows, &end, 10);
	if (*rows < '0' || *rows > '9' || *end)
		return cli_usage("--rows %.40s: a number of rows would be right, 0 for all", rows);
	if (chart && !gnuplot_check(chart, &err))
		return cli_fail(&err);
	json_t *report = report_read(cli->words[0], &err);
	int status = report && roofline_init(&r, report, cli->words[0], &err) ? show(cli, &r, report, n) : cli_fail(&err);
	free(r.regions);
	json_decref(report);
	return status;
}

static const struct cli_option options[] = {
	{ "output", 'o', "FILE", "draw it, with gnuplot: .svg or .png" },
	{ "rows", 0, "N", "of the table, beside the whole run; 20 when not given, 0: all" },
	{ "report", 0, "FILE.json", "write the points as JSON (npusim.roofline/1); - is stdout, instead of the table" },
	{ 0 },
};

const struct cli_command cmd_roofline = {
	.name = "roofline",
	.synopsis = "R.json",
	.summary = "operational intensity against what array and DRAM can do",
	.text = "Of the whole run and of each region of the program: MACs for each byte of DRAM, MACs a second, and the roof above, "
		"which is DRAM's peak times the intensity left of the ridge, and the array's peak right of it. A perfect DRAM and a "
		"--memory have no peak that is known: there the slope is that of both DMA ports.\n"
		"\n"
		"  npusim run gemm --report r.json -q && npusim roofline r.json -o roofline.svg\n"
		"\n"
		"The cycles of a region are the most that one engine was at it, working or waiting, and no less than its MACs and "
		"bytes take at the peaks; regions overlap, so their cycles add up to more than the run's.\n",
	.options = options,
	.min_words = 1,
	.max_words = 1,
	.run = run,
};
