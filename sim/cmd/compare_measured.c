/* SPDX-License-Identifier: Apache-2.0 */
/* A report beside measured times, operator by operator or region by region. */
#include "sim/cmd/compare_parts.h"

#include "isa/units.h"
#include "sim/cmd/report_file.h"
#include "sim/measured.h"
#include "sim/region_cycles.h"
#include "sim/report_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A name of the report and the cycles of all its rows; those of the whole are under "total". */
struct simulated {
	json_t *cycles; /* {name: real} */
	double us_per_cycle;
};

static void add(struct simulated *s, const char *name, double cycles)
{
	json_object_set_new(s->cycles, name, json_real(cycles + json_number_value(json_object_get(s->cycles, name))));
}

static const char *last_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Regions of a run, under their whole path and under its last part, whose rows are added up; operators of a model. */
static bool simulated_init(struct simulated *s, const json_t *report, const char *path, struct npu_error *err)
{
	bool model = strcmp(report_text(report, "schema"), "npusim.model/1") == 0;
	double cycles = report_real(report, model ? "total.cycles" : "cycles");
	double us = report_real(report, model ? "total.time_us" : "time_us");
	size_t i;
	json_t *row;
	if (!(cycles > 0) || !(us > 0))
		return npu_fail(err, NPU_ERR_VALUE, "%s: a run without a cycle", path);
	*s = (struct simulated){ .cycles = json_object(), .us_per_cycle = us / cycles };
	if (!s->cycles)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	json_array_foreach(report_value(report, model ? "operators" : "regions"), i, row) {
		const char *name = report_text(row, "name");
		double of_row = model ? report_real(row, "cycles") : (double)region_cycles(row);
		add(s, name, isnan(of_row) ? 0 : of_row);
		if (strcmp(last_of(name), name) != 0)
			add(s, last_of(name), isnan(of_row) ? 0 : of_row);
	}
	json_object_set_new(s->cycles, "total", json_real(cycles));
	return true;
}

struct pair {
	const char *name;
	double measured, simulated; /* in the unit of the file; simulated NAN: the report has no such name */
	uint64_t count;
};

static double error_of(const struct pair *p) { return p->measured > 0 ? (p->simulated - p->measured) / p->measured : NAN; }

static void pair_up(const struct measured *m, const struct simulated *s, struct pair *pairs)
{
	for (uint32_t i = 0; i < m->n; i++) {
		const json_t *found = json_object_get(s->cycles, m->rows[i].name);
		double cycles = found ? json_number_value(found) : NAN;
		pairs[i] = (struct pair){ .name = m->rows[i].name, .measured = m->rows[i].value, .count = m->rows[i].count,
					  .simulated = m->in_cycles ? cycles : cycles * s->us_per_cycle };
	}
}

struct errors {
	double mean, worst; /* of magnitudes, as ratios */
	uint32_t n, unknown;
};

static struct errors errors_of(const struct pair *pairs, uint32_t n)
{
	struct errors e = { 0 };
	for (uint32_t i = 0; i < n; i++) {
		double error = fabs(error_of(&pairs[i]));
		e.unknown += isnan(pairs[i].simulated);
		if (isnan(error))
			continue;
		e.n++;
		e.mean += error;
		e.worst = error > e.worst ? error : e.worst;
	}
	e.mean = e.n ? e.mean / e.n : NAN;
	return e;
}

static bool print(const struct pair *pairs, const struct measured *m, const struct errors *e)
{
	const char *unit = m->in_cycles ? "cycles" : "us";
	char measured[32], simulated[32];
	snprintf(measured, sizeof measured, "measured %s", unit);
	snprintf(simulated, sizeof simulated, "simulated %s", unit);
	const char *titles[] = { "operator", "rows", measured, simulated, "difference", "error", NULL };
	struct report_table *t = report_table_new(titles);
	const char *no_color = getenv("NO_COLOR");
	struct report_style style = { .color = isatty(STDOUT_FILENO) && !(no_color && *no_color) };
	for (uint32_t i = 0; t && i < m->n; i++) {
		const struct pair *p = &pairs[i];
		char error[32] = "";
		report_table_row(t, p->name);
		report_table_count(t, p->count);
		report_table_real(t, p->measured, m->in_cycles ? 0 : 3);
		if (isnan(p->simulated))
			continue;
		if (!isnan(error_of(p)))
			snprintf(error, sizeof error, "%+.1f %%", 100 * error_of(p));
		report_table_real(t, p->simulated, m->in_cycles ? 0 : 3);
		report_table_real(t, p->simulated - p->measured, m->in_cycles ? 0 : 3);
		report_table_text(t, error);
	}
	if (!t || !report_table_print(t, stdout, &style))
		return false;
	if (e->n)
		printf("\nerror  mean of magnitudes %.1f %%, largest %.1f %%, of %u\n", 100 * e->mean, 100 * e->worst, e->n);
	if (e->unknown)
		printf("%s %s not in the report\n", npu_number_of(e->unknown, "measured name").text, e->unknown == 1 ? "is" : "are");
	return true;
}

static json_t *real(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *to_json(const struct pair *pairs, const struct measured *m, const struct errors *e, const json_t *report)
{
	json_t *out = report_begin("npusim.measured/1", "compare", report_text(report, "command.subject")), *rows = json_array();
	for (uint32_t i = 0; i < m->n; i++)
		json_array_append_new(rows, json_pack("{s:s, s:I, s:o, s:o, s:o}", "name", pairs[i].name, "rows",
						      (json_int_t)pairs[i].count, "measured", real(pairs[i].measured), "simulated",
						      real(pairs[i].simulated), "error_fraction", real(error_of(&pairs[i]))));
	json_object_set_new(out, "unit", json_string(m->in_cycles ? "cycle" : "us"));
	json_object_set_new(out, "mean_error_fraction", real(e->mean));
	json_object_set_new(out, "largest_error_fraction", e->n ? json_real(e->worst) : json_null());
	json_object_set_new(out, "operators", rows);
	return out;
}

static int show(const struct cli *cli, const json_t *report, const struct measured *m, const struct simulated *s)
{
	struct pair *pairs = calloc(m->n + 1u, sizeof *pairs);
	if (!pairs)
		return cli_usage("out of memory");
	pair_up(m, s, pairs);
	struct errors e = errors_of(pairs, m->n);
	int status = 0;
	if (e.unknown == m->n)
		status = cli_usage("%s: %s, and none is a region or operator of %s", cli_value(cli, "measured"),
				   npu_number_of(m->n, "name").text, cli->words[0]);
	else if (report_wants_lines(cli) && !print(pairs, m, &e))
		status = cli_usage("out of memory");
	if (status == 0 && cli_value(cli, "report"))
		status = report_finish(cli, to_json(pairs, m, &e, report));
	free(pairs);
	return status;
}

int compare_measured(const struct cli *cli)
{
	struct npu_error err = { 0 };
	struct measured m = { 0 };
	struct simulated s = { 0 };
	const char *path = cli->words[0], *csv = cli_value(cli, "measured");
	if (strcmp(path, "-") == 0 && strcmp(csv, "-") == 0)
		return cli_usage("- and --measured -: one of them can come from stdin");
	json_t *report = report_read_either(path, "npusim.report/1", "npusim.model/1", "report of npusim run or npusim model", &err);
	bool ok = report && simulated_init(&s, report, path, &err) && measured_read(&m, csv, &err);
	int status = ok ? show(cli, report, &m, &s) : cli_fail(&err);
	measured_fini(&m);
	json_decref(s.cycles);
	json_decref(report);
	return status;
}
