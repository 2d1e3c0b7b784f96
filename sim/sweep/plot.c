/* SPDX-License-Identifier: Apache-2.0 */
/* npusim sweep plot: charts by gnuplot, and one page. */
#define _GNU_SOURCE
#include "isa/units.h"
#include "sim/output.h"
#include "sim/sweep/command.h"
#include "sim/sweep/figures.h"
#include "sim/sweep/order.h"
#include "sim/sweep/page.h"
#include "sim/sweep/search.h"
#include "sim/sweep/shown.h"

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
	struct sweep_order order[SWEEP_AXES];
	const char *tried; /* what a title ends with where not all was */
	char folder[4096];
	const char *results; /* the folder that they are of */
	int x, y;            /* axes that a person named, -1: none */
	const char *against; /* NULL: nobody said */
	bool there[PICTURES];
	const struct sweep_row *best;
	struct npu_error err;
};

/* What is across in the Pareto charts, a chart each that is not the same for all points. */
enum { AGAINST = 4 };
static const char *const against[AGAINST] = { "sram.peak_bytes", "energy.total_uj", "dram.bus_bytes",
					      "dram.peak_gb_per_s" };

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

/* More cells than this on a side are put together, more labels than that would be printed over each other, and in more
 * cells no numbers would be. */
enum { MOST_CELLS = 400, MOST_LABELS = 16, MOST_WRITTEN = 10 };

/* An axis in a chart, its values in their order. */
struct scale {
	int axis;                        /* -1: none, one cell */
	const struct sweep_order *order; /* of it */
	uint32_t cells, values;          /* values of a cell */
};

static struct scale scale_of(const struct plot *p, int axis)
{
	uint32_t count = axis < 0 ? 1 : p->space->axes[axis].count, values = (count + MOST_CELLS - 1) / MOST_CELLS;
	return (struct scale){ axis, axis < 0 ? NULL : &p->order[axis], (count + values - 1) / values, values };
}

static uint32_t cell_of(const struct sweep_space *s, const struct scale *scale, uint64_t point)
{
	return scale->axis < 0 ? 0 : scale->order->rank[sweep_index(s, point, (unsigned)scale->axis)] / scale->values;
}

/* The best of each cell, [y][x], NaN where there is none; malloc'ed. */
static double *best_of_cells(const struct plot *p, const struct scale *x, const struct scale *y)
{
	size_t n = (size_t)x->cells * y->cells;
	double *cells = malloc(n * sizeof *cells);
	bool more = sweep_figure_wants_more(p->rows.names[0]);
	for (size_t i = 0; cells && i < n; i++)
		cells[i] = (double)NAN;
	for (uint64_t i = 0; cells && i < p->rows.n; i++) {
		const struct sweep_row *row = &p->rows.row[i];
		double v = sweep_rows_figure(&p->rows, row, 0);
		double *cell =
		    &cells[(size_t)cell_of(p->space, y, row->point) * x->cells + cell_of(p->space, x, row->point)];
		if (!isnan(v) && (isnan(*cell) || (more ? v > *cell : v < *cell)))
			*cell = v;
	}
	return cells;
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

/* Of a cell of a scale: of its first value; of many, some have none. */
static void put_label(FILE *f, const struct sweep_space *s, const struct scale *scale, uint32_t cell)
{
	char text[256];
	uint32_t step = (scale->cells + MOST_LABELS - 1) / MOST_LABELS;
	fputc('"', f);
	sweep_label(&s->axes[scale->axis], scale->order->at[cell * scale->values], text, sizeof text);
	for (const char *at = cell % step ? "" : text; *at; at++)
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

/* ---- units ---- */

/* How a figure is written in a chart: as so many of a unit, with k, M and G where numbers are long. */
struct unit {
	double scale;
	char label[128];    /* "sram.peak_bytes, KiB" */
	const char *format; /* of gnuplot */
};

static struct unit unit_of(const struct sweep_rows *r, unsigned figure)
{
	const char *name = r->names[figure], *unit = sweep_figures[sweep_figure_find(name)].unit, *shown = "";
	struct unit u = { .scale = 1 };
	double most = 0;
	for (uint64_t i = 0; i < r->n; i++)
		most = fmax(most, fabs(sweep_rows_figure(r, &r->row[i], figure)));
	if (strcmp(unit, "byte") == 0) {
		u.scale = most >= 0x1p23 ? 0x1p-20 : 0x1p-10;
		shown = most >= 0x1p23 ? ", MiB" : ", KiB";
	} else if (strcmp(unit, "ratio") == 0) {
		u.scale = 100;
		shown = ", %";
	}
	/* All others have their unit in their name. */
	snprintf(u.label, sizeof u.label, "%s%s", name, shown);
	u.format = most * u.scale >= 10000 ? "%.1s%c" : "%.4g";
	return u;
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
	int x = p->x, y = p->y;
	if (x < 0)
		x = axis_of(s, false, y);
	if (y < 0)
		y = axis_of(s, true, x);
	if (x < 0)
		x = axis_of(s, true, y);
	if (y < 0)
		y = axis_of(s, false, x);
	if (x < 0 || y < 0)
		return false;
	struct scale across = scale_of(p, x), up = scale_of(p, y);
	struct unit unit = unit_of(&p->rows, 0);
	double *cells = best_of_cells(p, &across, &up);
	if (!cells)
		return false;
	fprintf(f, "$map << EOD\n-");
	for (uint32_t i = 0; i < across.cells; i++) {
		fputc(' ', f);
		put_label(f, s, &across, i);
	}
	fputc('\n', f);
	for (uint32_t j = 0; j < up.cells; j++) {
		put_label(f, s, &up, j);
		for (uint32_t i = 0; i < across.cells; i++)
			put_value(f, unit.scale * cells[(size_t)j * across.cells + i]);
		fputc('\n', f);
	}
	free(cells);
	fprintf(f, "EOD\n");
	for (unsigned svg = 0; svg < 2; svg++) {
		terminal(f, p, pictures[0], svg, WIDTH, HEIGHT);
		set(f, "title", "best %s of all other axes%s", p->rows.names[0], p->tried);
		set(f, "xlabel", "%s", s->axes[x].name);
		set(f, "ylabel", "%s", s->axes[y].name);
		set(f, "cblabel", "%s", unit.label);
		set(f, "format cb", "%s", unit.format);
		fprintf(f, "set palette defined (0 '#4a90c2', 1 '#7fc4ad', 2 '#f2e394', 3 '#e0804f')\n"
			   "plot $map matrix rowheaders columnheaders using 1:2:3 with image pixels notitle");
		if (across.cells <= MOST_WRITTEN && up.cells <= MOST_WRITTEN)
			fprintf(f,
				", $map matrix rowheaders columnheaders using 1:2:($3 == $3 ? gprintf('%s', $3) : '') "
				"with labels notitle",
				unit.format);
		fputs("\nreset\n", f);
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
	const double across = unit_of(r, x).scale, up = unit_of(r, 0).scale;
	const unsigned goals[2] = { 0, x };
	const struct sweep_row **front;
	fprintf(f, "$all%u << EOD\n", chart);
	for (uint64_t i = 0; i < r->n; i++)
		if (!isnan(sweep_rows_figure(r, &r->row[i], x)) && !isnan(sweep_rows_figure(r, &r->row[i], 0)))
			fprintf(f, "%.12g %.12g\n", across * sweep_rows_figure(r, &r->row[i], x),
				up * sweep_rows_figure(r, &r->row[i], 0));
	fprintf(f, "EOD\n$front%u << EOD\n", chart);
	uint64_t n = sweep_front(r, goals, 2, &front);
	for (uint64_t i = 0; i < n; i++)
		fprintf(f, "%.12g %.12g\n", across * sweep_rows_figure(r, front[i], x),
			up * sweep_rows_figure(r, front[i], 0));
	free(front);
	fprintf(f, "EOD\n");
}

static bool pareto(struct plot *p, FILE *f)
{
	const struct sweep_rows *r = &p->rows;
	unsigned xs[AGAINST], n = 0;
	for (unsigned k = 0; k < (p->against ? 1 : AGAINST); k++)
		for (unsigned i = 1; i < r->nnames; i++)
			if (strcmp(r->names[i], p->against ? p->against : against[k]) == 0 &&
			    (p->against || varies(r, i))) {
				put_front(r, i, n, f);
				xs[n++] = i;
			}
	for (unsigned svg = 0; svg < 2 && n; svg++) {
		terminal(f, p, pictures[1], svg, n > 1 ? 1200 : WIDTH, n > 2 ? 2 * HEIGHT : HEIGHT);
		fprintf(f, "set multiplot layout %u,%u\nset grid\nset key bmargin horizontal\nset bmargin 5\n",
			n > 2 ? 2 : 1, n > 1 ? 2 : 1);
		for (unsigned k = 0; k < n; k++) {
			struct unit across = unit_of(r, xs[k]), up = unit_of(r, 0);
			set(f, "title", "%s against %s: what nothing beats in both%s", r->names[0], r->names[xs[k]],
			    p->tried);
			set(f, "xlabel", "%s", across.label);
			set(f, "format x", "%s", across.format);
			set(f, "ylabel", "%s", up.label);
			set(f, "format y", "%s", up.format);
			fprintf(f,
				"plot $all%u with points pt 7 ps 0.4 lc rgb '#9db4d8' title 'points', $front%u smooth "
				"unique with linespoints pt 7 ps 0.7 lc rgb '#c0392b' title 'front'\n",
				k, k);
		}
		fprintf(f, "unset multiplot\nreset\n");
	}
	return n > 0;
}

/* What an axis changes, everything else at the best point. */
struct sensitivity {
	double most; /* by how much its worst value is worse than the best point, percent; of a best one of 0, itself */
	uint32_t values; /* of the axis */
	uint32_t known;  /* of these it is known what became of the point there */
	uint32_t valued; /* and of these it has a figure; 1: the best point alone, so that `most` says nothing */
};

static struct sensitivity sensitivity(const struct plot *p, unsigned axis)
{
	double own = sweep_rows_figure(&p->rows, p->best, 0);
	bool share = fabs(own) > 0;
	struct sensitivity s = { .values = p->space->axes[axis].count };
	for (uint32_t i = 0; i < s.values; i++) {
		const struct sweep_row *row = sweep_rows_find(&p->rows, sweep_move(p->space, p->best->point, axis, i));
		if (!row || row->status == SWEEP_FAILED)
			continue;
		double value = sweep_rows_figure(&p->rows, row, 0),
		       loss = share ? -100 * sweep_gain(p->rows.names[0], own, value) : fabs(value);
		s.known++;
		s.valued += !isnan(value);
		s.most = loss > s.most ? loss : s.most;
	}
	return s;
}

static bool bars(struct plot *p, FILE *f)
{
	if (!p->best)
		return false;
	bool share = fabs(sweep_rows_figure(&p->rows, p->best, 0)) > 0, any = false;
	struct unit unit = unit_of(&p->rows, 0);
	fprintf(f, "$axes << EOD\n");
	for (unsigned a = 0; a < p->space->naxes; a++) {
		struct sensitivity s = sensitivity(p, a);
		fprintf(f, "\"%s", p->space->axes[a].name);
		if (s.known < s.values)
			fprintf(f, "\\n%u of %u tried", s.known, s.values);
		fputc('"', f);
		/* Of the best point alone nothing is known. */
		put_value(f, s.valued < 2 ? (double)NAN : share ? s.most : unit.scale * s.most);
		any = any || s.valued > 1;
		fputc('\n', f);
	}
	fprintf(f, "EOD\n");
	for (unsigned svg = 0; any && svg < 2; svg++) {
		terminal(f, p, pictures[2], svg, WIDTH, HEIGHT);
		set(f, "title", "what each axis changes at the best point%s", p->tried);
		set(f, "ylabel", share ? "worst against best %s, %%" : "worst %s; 0 at best",
		    share ? p->rows.names[0] : unit.label);
		fprintf(f,
			"set style fill solid 0.8\nset boxwidth 0.6\n"
			"set bmargin 4\nset xrange [-0.5:%u - 0.5]\nset yrange [0:*]\nset grid y\nplot $axes using "
			"0:2:xtic(1) with "
			"boxes lc rgb '#3465a4' "
			"notitle\nreset\n",
			p->space->naxes);
	}
	return any;
}

static bool best_for_each(struct plot *p, FILE *f)
{
	const struct sweep_space *s = p->space;
	int axis = p->y;
	if (axis < 0)
		axis = axis_of(s, true, -1);
	if (axis < 0)
		axis = axis_of(s, false, -1);
	if (axis < 0)
		return false;
	struct scale across = scale_of(p, axis), one = scale_of(p, -1);
	struct unit unit = unit_of(&p->rows, 0);
	double *cells = best_of_cells(p, &across, &one);
	if (!cells)
		return false;
	fprintf(f, "$best << EOD\n");
	for (uint32_t i = 0; i < across.cells; i++) {
		put_label(f, s, &across, i);
		put_value(f, unit.scale * cells[i]);
		fputc('\n', f);
	}
	free(cells);
	fprintf(f, "EOD\n");
	for (unsigned svg = 0; svg < 2; svg++) {
		terminal(f, p, pictures[3], svg, WIDTH, HEIGHT);
		set(f, "title", "best %s for each %s%s", p->rows.names[0], s->axes[axis].name, p->tried);
		set(f, "xlabel", "%s", s->axes[axis].name);
		set(f, "ylabel", "%s", unit.label);
		set(f, "format y", "%s", unit.format);
		fprintf(
		    f, "set style fill solid 0.8\nset boxwidth 0.6\nset yrange [0:*]\nset offsets 0, 0, graph 0.05, 0\n"
		       "set grid y\nplot $best using 0:2:xtic(1) with boxes lc rgb '#4e9a06' notitle");
		if (across.cells <= MOST_LABELS)
			fprintf(
			    f,
			    ", $best using 0:2:($2 == $2 ? gprintf('%s', $2) : '') with labels offset 0, 0.7 notitle",
			    unit.format);
		fputs("\nreset\n", f);
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
	return (WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
	       npu_fail(&p->err, NPU_ERR_IO, "gnuplot failed on %s", script);
}

/* Whether a picture has an end; one that has none is taken away. */
static bool is_whole(struct plot *p, const char *name, bool svg)
{
	static const char png[] = "IEND\xae\x42\x60\x82";
	char path[4200], tail[64];
	snprintf(path, sizeof path, "%s/%s.%s", p->folder, name, svg ? "svg" : "png");
	FILE *in = fopen(path, "re");
	size_t n = 0;
	if (in && fseek(in, -(long)sizeof tail, SEEK_END) == 0)
		n = fread(tail, 1, sizeof tail, in);
	if (in)
		fclose(in);
	if (n == sizeof tail && (svg ? memmem(tail, n, "</svg>", 6) != NULL : memcmp(tail + n - 8, png, 8) == 0))
		return true;
	unlink(path);
	return npu_fail(&p->err, NPU_ERR_IO, "%s: gnuplot could not write it as a whole: is there room on the disk?",
			path);
}

static bool are_whole(struct plot *p)
{
	bool ok = true;
	for (unsigned i = 0; i < PICTURES; i++)
		for (unsigned svg = 0; p->there[i] && svg < 2; svg++)
			ok = is_whole(p, pictures[i], svg) && ok;
	return ok;
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
	return output_commit(out, &p->err) && run_gnuplot(p, path) && are_whole(p);
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

/* An axis by its name, or by a key on it. */
static bool read_axis(struct plot *p, const char *option, const char *name, int *axis)
{
	const struct sweep_space *s = p->space;
	const char *names[SWEEP_AXES];
	*axis = -1;
	for (unsigned a = 0; name && a < s->naxes; a++) {
		names[a] = s->axes[a].name;
		bool is = strcmp(names[a], name) == 0;
		for (unsigned k = 0; k < s->axes[a].nkeys; k++)
			is = is || strcmp(s->axes[a].keys[k], name) == 0;
		*axis = is ? (int)a : *axis;
	}
	if (!name || *axis >= 0)
		return true;
	const char *near = npu_nearest(name, names, s->naxes);
	return npu_fail(&p->err, NPU_ERR_USAGE, "--%s: no axis %.60s%s%s%s", option, name,
			near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static bool read_options(struct plot *p, const struct cli *cli)
{
	int f;
	if (!read_axis(p, "x", cli_value(cli, "x"), &p->x) || !read_axis(p, "y", cli_value(cli, "y"), &p->y))
		return false;
	if (p->x >= 0 && p->x == p->y)
		return npu_fail(&p->err, NPU_ERR_USAGE, "--x and --y: two axes would be right");
	p->rows.nnames = sweep_shown(p->space, p->rows.names);
	if (!sweep_choose_figure(&p->rows, cli_value(cli, "by"), &p->err))
		return false;
	p->against = cli_value(cli, "against");
	if (p->against) {
		if (!sweep_figure_named(p->space, "against", p->against, &f, &p->err))
			return false;
		if (strcmp(p->against, p->rows.names[0]) == 0)
			return npu_fail(&p->err, NPU_ERR_USAGE, "--against %s: that is what is made best", p->against);
		want(&p->rows, sweep_figures[f].name);
	}
	for (unsigned i = 0; i < AGAINST; i++)
		want(&p->rows, against[i]);
	return true;
}

static bool has_value(const struct sweep_rows *r, const char *name)
{
	for (unsigned f = 0; f < r->nnames; f++)
		for (uint64_t i = 0; strcmp(r->names[f], name) == 0 && i < r->n; i++)
			if (!isnan(sweep_rows_figure(r, &r->row[i], f)))
				return true;
	return false;
}

int sweep_plot_command(const struct cli *cli)
{
	struct plot p = { .x = -1, .y = -1 };
	const char *folder = cli_value(cli, "output");
	snprintf(p.folder, sizeof p.folder, folder ? "%s" : "%s/plots", folder ? folder : cli->words[1]);
	p.results = cli->words[1];
	p.space = sweep_store_plan(p.results, &p.err);
	p.rows.space = p.space;
	/* A page is opened anywhere. */
	if (p.space)
		p.space->abroad = true;
	bool ok = p.space != NULL;
	if (ok) {
		ok = read_options(&p, cli) && sweep_rows_read(&p.rows, cli->words[1], &p.err);
	}
	p.best = ok ? sweep_best(&p.rows, 0, NULL, NULL) : NULL;
	if (ok && !p.rows.count[SWEEP_RUN])
		ok = npu_fail(&p.err, NPU_ERR_FIT, "%s: no point was run, so there is nothing to draw", cli->words[1]);
	if (ok && (!p.best || (p.against && !has_value(&p.rows, p.against))))
		ok = npu_fail(&p.err, NPU_ERR_FIT, "no point that was run has a value of %s",
			      p.best ? p.against : p.rows.names[0]);
	p.tried = ok && !sweep_rows_whole(&p.rows) ? ", of what was tried" : "";
	for (unsigned a = 0; ok && a < p.space->naxes; a++)
		ok =
		    sweep_order_of(&p.order[a], &p.space->axes[a]) || npu_fail(&p.err, NPU_ERR_MEMORY, "out of memory");
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
	for (unsigned a = 0; a < SWEEP_AXES; a++)
		sweep_order_fini(&p.order[a]);
	sweep_rows_fini(&p.rows);
	sweep_space_free(p.space);
	return status;
}
