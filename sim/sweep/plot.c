/* SPDX-License-Identifier: Apache-2.0 */
/* npusim sweep plot: charts by gnuplot, and one page. */
#include "isa/units.h"
#include "sim/output.h"
#include "sim/sweep/answers.h"
#include "sim/sweep/command.h"
#include "sim/sweep/figures.h"
#include "sim/sweep/page.h"
#include "sim/sweep/search.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PICTURES = 4, WIDTH = 720, HEIGHT = 440 }; /* pixels */
static const char *const pictures[PICTURES] = { "heatmap", "pareto", "sensitivity", "best" };

struct plot {
	struct sweep_rows rows;
	struct sweep_space *space;
	char folder[4096];
	const char *results; /* the folder that they are of */
	bool there[PICTURES];
	const struct sweep_row *best;
	struct npu_error err;
};

/* What is across in the Pareto charts, a chart each that is not the same for all points. */
enum { AGAINST = 4 };
static const char *const against[AGAINST] = { "sram.peak_bytes", "energy.total_uj", "dram.bus_bytes", "dram.peak_gb_per_s" };

/* ---- which axes ---- */

/* Of those that are hardware or not, `sram.size` first, then the longest. */
static int axis_of(const struct sweep_space *s, bool hardware, int but)
{
	int found = -1;
	for (unsigned a = 0; a < s->naxes; a++) {
		if (s->axes[a].hardware != hardware || s->axes[a].count < 2 || (int)a == but)
			continue;
		if (strcmp(s->axes[a].keys[0], "sram.size") == 0)
			return (int)a;
		if (found < 0 || s->axes[a].count > s->axes[found].count)
			found = (int)a;
	}
	return found;
}

struct cell {
	const struct sweep_space *s;
	int x, y; /* axes, -1: any */
	uint32_t at_x, at_y;
};

static bool in_cell(void *context, const struct sweep_row *row)
{
	const struct cell *c = context;
	return (c->x < 0 || sweep_index(c->s, row->point, (unsigned)c->x) == c->at_x) &&
	       (c->y < 0 || sweep_index(c->s, row->point, (unsigned)c->y) == c->at_y);
}

static double best_in(const struct plot *p, struct cell *c)
{
	const struct sweep_row *row = sweep_best(&p->rows, 0, in_cell, c);
	return row ? sweep_rows_figure(&p->rows, row, 0) : (double)NAN;
}

/* A word of gnuplot: nothing in single quotes is more than text. */
static void put_word(FILE *f, const char *text)
{
	fputc('\'', f);
	for (; *text; text++)
		if (*text == '\'')
			fputs("''", f);
		else if ((unsigned char)*text >= 0x20)
			fputc(*text, f);
	fputc('\'', f);
}

/* "set WHAT 'A B'" */
static void set(FILE *f, const char *what, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void set(FILE *f, const char *what, const char *format, ...)
{
	char text[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	fprintf(f, "set %s ", what);
	put_word(f, text);
	fputc('\n', f);
}

static void put_label(FILE *f, const struct sweep_axis *x, uint32_t i)
{
	char text[256];
	fputc('"', f);
	for (const char *at = sweep_label(x, i, text, sizeof text); *at; at++)
		if (*at != '"' && *at != '\\' && *at != '`' && (unsigned char)*at >= 0x20)
			fputc(*at, f);
	fputc('"', f);
}

static void put_value(FILE *f, double v)
{
	if (isnan(v))
		fputs(" NaN", f);
	else
		fprintf(f, " %.12g", v);
}

/* ---- scripts ---- */

static void terminal(FILE *f, const struct plot *p, const char *name, bool svg, unsigned width, unsigned height)
{
	/* Keys hold underscores that are no subscripts. */
	fprintf(f, "set terminal %s size %u,%u noenhanced\n", svg ? "svg" : "pngcairo", width, height);
	set(f, "output", "%s/%s.%s", p->folder, name, svg ? "svg" : "png");
}

static bool heatmap(struct plot *p, FILE *f)
{
	const struct sweep_space *s = p->space;
	int x = axis_of(s, false, -1), y = axis_of(s, true, -1);
	if (x < 0)
		x = axis_of(s, true, y);
	if (y < 0)
		y = axis_of(s, false, x);
	if (x < 0 || y < 0)
		return false;
	fprintf(f, "$map << EOD\n-");
	for (uint32_t i = 0; i < s->axes[x].count; i++) {
		fputc(' ', f);
		put_label(f, &s->axes[x], i);
	}
	fputc('\n', f);
	for (uint32_t j = 0; j < s->axes[y].count; j++) {
		put_label(f, &s->axes[y], j);
		for (uint32_t i = 0; i < s->axes[x].count; i++)
			put_value(f, best_in(p, &(struct cell){ s, x, y, i, j }));
		fputc('\n', f);
	}
	fprintf(f, "EOD\n");
	for (unsigned svg = 0; svg < 2; svg++) {
		terminal(f, p, pictures[0], svg, WIDTH, HEIGHT);
		set(f, "title", "best %s of all other axes", p->rows.names[0]);
		set(f, "xlabel", "%s", s->axes[x].name);
		set(f, "ylabel", "%s", s->axes[y].name);
		set(f, "cblabel", "%s", p->rows.names[0]);
		fprintf(f, "set palette defined (0 '#1b5e8c', 1 '#6fb7a0', 2 '#f2e394', 3 '#d9673a')\n"
			   "plot $map matrix rowheaders columnheaders using 1:2:3 with image pixels notitle\nreset\n");
	}
	return true;
}

/* Whether a figure differs from point to point. */
static bool varies(const struct sweep_rows *r, unsigned figure)
{
	double low = INFINITY, high = -INFINITY;
	for (uint64_t i = 0; i < r->n; i++) {
		double v = sweep_rows_figure(r, &r->row[i], figure);
		low = v < low ? v : low;
		high = v > high ? v : high;
	}
	return low < high;
}

/* All points, and the front of the goal and another figure: what is on it is better than all before. */
static void put_front(const struct sweep_rows *r, unsigned x, unsigned chart, FILE *f)
{
	const unsigned goals[2] = { 0, x };
	const struct sweep_row **front;
	fprintf(f, "$all%u << EOD\n", chart);
	for (uint64_t i = 0; i < r->n; i++)
		if (r->row[i].status == SWEEP_RUN)
			fprintf(f, "%.12g %.12g\n", sweep_rows_figure(r, &r->row[i], x), sweep_rows_figure(r, &r->row[i], 0));
	fprintf(f, "EOD\n$front%u << EOD\n", chart);
	uint64_t n = sweep_front(r, goals, 2, &front);
	for (uint64_t i = 0; i < n; i++)
		fprintf(f, "%.12g %.12g\n", sweep_rows_figure(r, front[i], x), sweep_rows_figure(r, front[i], 0));
	free(front);
	fprintf(f, "EOD\n");
}

static bool pareto(struct plot *p, FILE *f)
{
	const struct sweep_rows *r = &p->rows;
	unsigned xs[AGAINST], n = 0;
	for (unsigned k = 0; k < AGAINST; k++)
		for (unsigned i = 1; i < r->nnames; i++)
			if (strcmp(r->names[i], against[k]) == 0 && varies(r, i)) {
				put_front(r, i, n, f);
				xs[n++] = i;
			}
	for (unsigned svg = 0; svg < 2 && n; svg++) {
		terminal(f, p, pictures[1], svg, n > 1 ? 1200 : WIDTH, n > 2 ? 2 * HEIGHT : HEIGHT);
		fprintf(f, "set multiplot layout %u,%u\nset grid\nset format '%%.1s%%c'\n", n > 2 ? 2 : 1, n > 1 ? 2 : 1);
		for (unsigned k = 0; k < n; k++) {
			set(f, "title", "%s against %s: what nothing beats in both", r->names[0], r->names[xs[k]]);
			set(f, "xlabel", "%s", r->names[xs[k]]);
			set(f, "ylabel", "%s", r->names[0]);
			fprintf(f, "plot $all%u with points pt 7 ps 0.4 lc rgb '#9db4d8' title 'points', $front%u smooth unique with linespoints pt 7 ps 0.7 lc rgb '#c0392b' title 'front'\n", k, k);
		}
		fprintf(f, "unset multiplot\nreset\n");
	}
	return n > 0;
}

/* By how much the worst value of an axis is worse than the best one, everything else at the best point. */
static double sensitivity(const struct plot *p, unsigned axis)
{
	double own = sweep_rows_figure(&p->rows, p->best, 0), most = 0;
	for (uint32_t i = 0; i < p->space->axes[axis].count; i++) {
		const struct sweep_row *row = sweep_rows_find(&p->rows, sweep_move(p->space, p->best->point, axis, i));
		double gain = row && row->status == SWEEP_RUN ? sweep_gain(p->rows.names[0], own, sweep_rows_figure(&p->rows, row, 0)) : 0;
		most = fabs(gain) > most ? fabs(gain) : most;
	}
	return most * 100;
}

static bool bars(struct plot *p, FILE *f)
{
	if (!p->best)
		return false;
	fprintf(f, "$axes << EOD\n");
	for (unsigned a = 0; a < p->space->naxes; a++)
		fprintf(f, "\"%s\" %.6g\n", p->space->axes[a].name, sensitivity(p, a));
	fprintf(f, "EOD\n");
	for (unsigned svg = 0; svg < 2; svg++) {
		terminal(f, p, pictures[2], svg, WIDTH, HEIGHT);
		set(f, "title", "what each axis changes at the best point");
		set(f, "ylabel", "worst against best %s, %%", p->rows.names[0]);
		fprintf(f, "set style fill solid 0.8\nset boxwidth 0.6\n"
			   "set yrange [0:*]\nset grid y\nplot $axes using 0:2:xtic(1) with boxes lc rgb '#3465a4' notitle\nreset\n");
	}
	return true;
}

static bool best_for_each(struct plot *p, FILE *f)
{
	const struct sweep_space *s = p->space;
	int axis = axis_of(s, true, -1);
	if (axis < 0)
		axis = axis_of(s, false, -1);
	if (axis < 0)
		return false;
	fprintf(f, "$best << EOD\n");
	for (uint32_t i = 0; i < s->axes[axis].count; i++) {
		put_label(f, &s->axes[axis], i);
		put_value(f, best_in(p, &(struct cell){ s, axis, -1, i, 0 }));
		fputc('\n', f);
	}
	fprintf(f, "EOD\n");
	for (unsigned svg = 0; svg < 2; svg++) {
		terminal(f, p, pictures[3], svg, WIDTH, HEIGHT);
		set(f, "title", "best %s for each %s", p->rows.names[0], s->axes[axis].name);
		set(f, "xlabel", "%s", s->axes[axis].name);
		set(f, "ylabel", "%s", p->rows.names[0]);
		fprintf(f, "set style fill solid 0.8\nset boxwidth 0.6\nset yrange [0:*]\n"
			   "set grid y\nset format y '%%.4g'\n"
			   "plot $best using 0:2:xtic(1) with boxes lc rgb '#4e9a06' notitle\nreset\n");
	}
	return true;
}

/* ---- the whole ---- */

static bool run_gnuplot(struct plot *p, const char *script)
{
	int status = 0;
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		/* It warns of cells without a legal point. */
		if (!freopen("/dev/null", "w", stderr))
			_exit(1);
		execlp("gnuplot", "gnuplot", script, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return npu_fail(&p->err, NPU_ERR_IO, "gnuplot cannot be run: %s", strerror(errno));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return npu_fail(&p->err, NPU_ERR_IO, "gnuplot is not there: the page is written, pictures are not");
	return (WIFEXITED(status) && WEXITSTATUS(status) == 0) || npu_fail(&p->err, NPU_ERR_IO, "gnuplot failed on %s", script);
}

static bool draw(struct plot *p)
{
	static bool (*const parts[PICTURES])(struct plot *, FILE *) = { heatmap, pareto, bars, best_for_each };
	char path[4200];
	snprintf(path, sizeof path, "%s/plots.gp", p->folder);
	struct output *out = output_open(path, &p->err);
	if (!out)
		return false;
	fprintf(output_stream(out), "set encoding utf8\n");
	for (unsigned i = 0; i < PICTURES; i++)
		p->there[i] = parts[i](p, output_stream(out));
	return output_commit(out, &p->err) && run_gnuplot(p, path);
}

static bool write_page(struct plot *p, bool drawn)
{
	char path[4200], paths[PICTURES][4200];
	const char *list[PICTURES + 1];
	unsigned n = 0;
	for (unsigned i = 0; i < PICTURES; i++)
		if (p->there[i]) {
			snprintf(paths[i], sizeof paths[i], "%s/%s.svg", p->folder, pictures[i]);
			if (drawn)
				list[n++] = paths[i];
		}
	list[n] = NULL;
	snprintf(path, sizeof path, "%s/index.html", p->folder);
	struct npu_error err = { 0 };
	struct output *out = output_open(path, &err);
	if (out && !sweep_page(&p->rows, p->results, list, output_stream(out), &err)) {
		output_abort(out);
		out = NULL;
	}
	if (out && output_commit(out, &err)) {
		for (unsigned i = 0; i < n; i++)
			printf("%s\n", list[i]);
		printf("%s   open it in a browser\n", path);
		return true;
	}
	p->err = err;
	return false;
}

static void want(struct sweep_rows *r, const char *name)
{
	for (unsigned i = 0; i < r->nnames; i++)
		if (strcmp(r->names[i], name) == 0)
			return;
	if (r->nnames < SWEEP_ROW_FIGURES)
		r->names[r->nnames++] = name;
}

int sweep_plot_command(const struct cli *cli)
{
	struct plot p = { 0 };
	const char *folder = cli_value(cli, "output");
	snprintf(p.folder, sizeof p.folder, folder ? "%s" : "%s/plots", folder ? folder : cli->words[1]);
	p.results = cli->words[1];
	p.space = sweep_store_plan(p.results, &p.err);
	p.rows.space = p.space;
	bool ok = p.space != NULL;
	if (ok) {
		p.rows.nnames = sweep_shown(p.space, p.rows.names);
		for (unsigned i = 0; i < AGAINST; i++)
			want(&p.rows, against[i]);
		ok = sweep_rows_read(&p.rows, cli->words[1], &p.err);
	}
	p.best = ok ? sweep_best(&p.rows, 0, NULL, NULL) : NULL;
	if (ok && !p.best)
		ok = npu_fail(&p.err, NPU_ERR_FIT, "%s: no point was run, so there is nothing to draw", cli->words[1]);
	if (ok && mkdir(p.folder, 0777) != 0 && errno != EEXIST)
		ok = npu_fail(&p.err, NPU_ERR_IO, "%s: the folder cannot be made: %s", p.folder, strerror(errno));
	if (ok && strpbrk(p.folder, "\n\r\t"))
		ok = npu_fail(&p.err, NPU_ERR_USAGE, "%s: gnuplot takes a path on one line", p.folder);
	if (ok) {
		sweep_warn_of_changes(p.space);
		sweep_warn_of_gaps(&p.rows, p.results);
		/* The page comes also where there is no gnuplot. */
		bool drawn = draw(&p);
		struct npu_error first = p.err;
		ok = write_page(&p, drawn);
		if (ok && !drawn) {
			p.err = first;
			ok = false;
		}
	}
	int status = ok ? 0 : cli_fail(&p.err);
	sweep_rows_fini(&p.rows);
	sweep_space_free(p.space);
	return status;
}
