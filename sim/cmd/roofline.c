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
	double ns_per_cycle;
};

static void place(struct roofline *r, struct point *p)
{
	double ns = (double)p->cycles * r->ns_per_cycle;
	p->intensity = p->bytes > 0 ? (double)p->macs / (double)p->bytes : NAN;
	p->achieved = ns > 0 ? (double)p->macs / ns : NAN;
	double slope = p->intensity * r->peak_bytes;
	p->roof = isnan(slope) || slope > r->peak_macs ? r->peak_macs : slope;
}

static int by_cycles(const void *x, const void *y)
{
	const struct point *a = x, *b = y;
	return a->cycles != b->cycles ? (a->cycles > b->cycles ? -1 : 1) : strcmp(a->name, b->name);
}

static bool roofline_init(struct roofline *r, const json_t *report, const char *path, struct npu_error *err)
{
	const json_t *rows = report_value(report, "regions");
	size_t i;
	json_t *row;
	*r = (struct roofline){ .peak_bytes = report_real(report, "dram.peak_gb_per_s"),
				.ridge = report_real(report, "ridge_macs_per_byte") };
	uint64_t cycles = report_count(report, "cycles");
	double us = report_real(report, "time_us");
	if (!(r->peak_bytes > 0) || !(r->ridge > 0) || !(us > 0) || cycles == 0)
		return npu_fail(err, NPU_ERR_VALUE, "%s: a roofline needs cycles, time_us, dram.peak_gb_per_s and ridge_macs_per_byte, "
						    "which this report does not have", path);
	r->peak_macs = r->ridge * r->peak_bytes;
	r->ns_per_cycle = us * 1000 / (double)cycles;
	r->whole = (struct point){ .name = "whole", .macs = report_count(report, "macs"), .cycles = cycles,
				   .bytes = report_count(report, "dram.read_bytes") + report_count(report, "dram.write_bytes") };
	place(r, &r->whole);
	r->regions = calloc(json_array_size(rows) + 1, sizeof *r->regions);
	if (!r->regions)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	json_array_foreach(rows, i, row) {
		struct point p = { .name = report_text(row, "name"), .macs = report_count(row, "macs"), .cycles = region_cycles(row),
				   .bytes = report_count(row, "dram_read_bytes") + report_count(row, "dram_write_bytes") };
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
	if (p->macs > 0 && p->roof > 0)
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
	printf("%s on %s: array %.1f GMAC/s, DRAM %.2f GB/s, ridge %.2f MAC/B\n\n", report_text(report, "command.subject"),
	       report_text(report, "hw.name"), r->peak_macs, r->peak_bytes, r->ridge);
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

/* The range of the axes: all points, the ridge, and a bit more. */
static void draw_axes(FILE *out, const struct roofline *r)
{
	double least = r->ridge / 8, most = r->ridge * 8, low = r->peak_macs / 16;
	for (size_t i = 0; i <= r->n && i <= DRAWN; i++) {
		const struct point *p = i ? &r->regions[i - 1] : &r->whole;
		if (!is_drawn(p))
			continue;
		least = p->intensity / 2 < least ? p->intensity / 2 : least;
		most = p->intensity * 2 > most ? p->intensity * 2 : most;
		low = p->achieved / 2 < low ? p->achieved / 2 : low;
	}
	fprintf(out, "set logscale xy\nset xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\n", least, most, low, r->peak_macs * 2);
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
	draw_axes(out, r);
	fprintf(out, "set arrow from %.9g, graph 0 to %.9g, graph 1 nohead dashtype 3\n", r->ridge, r->ridge);
	fprintf(out, "set label 'ridge %.2f MAC/B' at %.9g, graph 0.04 offset 0.5,0\n", r->ridge, r->ridge);
	if (is_drawn(&r->whole))
		fprintf(out, "set label 'whole' at %.9g,%.9g center offset 0,1\n", r->whole.intensity, r->whole.achieved);
	fputs("set samples 2000\n$whole << EOD\n", out);
	if (is_drawn(&r->whole))
		draw_point(out, &r->whole);
	fputs("EOD\n$regions << EOD\n", out);
	for (size_t i = 0; i < r->n && i < DRAWN; i++)
		if (is_drawn(&r->regions[i]))
			draw_point(out, &r->regions[i]);
	fputs("EOD\n", out);
	fprintf(out, "plot (x * %.9g < %.9g ? x * %.9g : %.9g) with lines linewidth 2 linecolor 'black' title '%.2f GB/s, %.1f GMAC/s'",
		r->peak_bytes, r->peak_macs, r->peak_bytes, r->peak_macs, r->peak_bytes, r->peak_macs);
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
		"which is DRAM's peak times the intensity left of the ridge, and the array's peak right of it.\n"
		"\n"
		"  npusim run gemm --report r.json -q && npusim roofline r.json -o roofline.svg\n"
		"\n"
		"The cycles of a region are the most that one engine was at it, working or waiting; regions overlap, so their cycles "
		"add up to more than the run's.\n",
	.options = options,
	.min_words = 1,
	.max_words = 1,
	.run = run,
};
