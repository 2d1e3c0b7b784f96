/* SPDX-License-Identifier: Apache-2.0 */
/* npusim compare: what changed from one report to another, and which keys differ. */
#include "isa/units.h"
#include "sim/account.h"
#include "sim/cli.h"
#include "sim/cmd/compare_parts.h"
#include "sim/cmd/report_file.h"
#include "sim/report_json.h"
#include "sim/report_read.h"
#include "sim/report_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 12, NAME = 160 };

/* One figure of both reports; counts and reals alike. */
struct change {
	char name[NAME];
	double a, b;
};

struct changes {
	struct change *items;
	size_t n, room;
	bool failed;
};

static void add(struct changes *c, const char *name, double a, double b)
{
	if (c->n == c->room) {
		c->room = c->room ? 2 * c->room : 64;
		struct change *items = realloc(c->items, c->room * sizeof(*items));
		if (!items) {
			c->failed = true;
			return;
		}
		c->items = items;
	}
	struct change *change = &c->items[c->n++];
	snprintf(change->name, sizeof(change->name), "%s", name);
	change->a = a;
	change->b = b;
}

static double number(const json_t *report, const char *path)
{
	double value = report_real(report, path);
	return isnan(value) ? 0 : value;
}

/* The summary, in this order; every path is one of report.def. */
static const char *const summary[] = {
	"cycles", "time_us", "macs", "mac_utilization", "matrix_active_fraction", "overlap.hidden_fraction",
	"dram.read_bytes", "dram.write_bytes", "dram.bus_bytes", "dram.gb_per_s", "dram.peak_fraction",
	"dram.row_hit_fraction", "sram.peak_bytes", "accum.peak_bytes", "energy.total_uj",
};

/* Cycles of an engine in a state: "busy", "idle" and the stalls. */
static double state_cycles(const json_t *engine, enum npu_state state)
{
	char path[64];
	bool stall = account_state_is_stall(state);
	snprintf(path, sizeof(path), "%s%s", stall ? "stalls." : "", account_state_name(state));
	return number(engine, path);
}

static void compare_engines(struct changes *c, const json_t *a, const json_t *b)
{
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		for (unsigned s = 0; s < NPU_STATES; s++) {
			char name[NAME];
			const char *engine = npu_engine_name((enum npu_engine)e);
			snprintf(name, sizeof(name), "engines.%s", engine);
			double x = state_cycles(report_value(a, name), (enum npu_state)s);
			double y = state_cycles(report_value(b, name), (enum npu_state)s);
			snprintf(name, sizeof(name), "%s %s", engine, account_state_name((enum npu_state)s));
			if (x != y)
				add(c, name, x, y);
		}
}

static json_t *region_named(const json_t *regions, const char *name)
{
	size_t i;
	json_t *row;
	json_array_foreach(regions, i, row) {
		if (strcmp(report_text(row, "name"), name) == 0)
			return row;
	}
	return NULL;
}

/* Cycles of all engines that belong to a region, idle ones left out. */
static double region_cycles(const json_t *region)
{
	double sum = 0;
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		char path[64];
		snprintf(path, sizeof(path), "engines.%s", npu_engine_name((enum npu_engine)e));
		for (unsigned s = 0; s < NPU_STATES; s++)
			if (s != NPU_STATE_IDLE)
				sum += state_cycles(report_value(region, path), (enum npu_state)s);
	}
	return sum;
}

static void compare_regions(struct changes *c, const json_t *a, const json_t *b)
{
	const json_t *x = report_value(a, "regions"), *y = report_value(b, "regions");
	size_t i;
	json_t *row;
	json_t *seen = json_object();
	json_array_foreach(x, i, row) {
		const char *name = report_text(row, "name");
		double before = region_cycles(row), after = region_cycles(region_named(y, name));
		json_object_set_new(seen, name, json_true());
		if (before != after)
			add(c, name, before, after);
	}
	json_array_foreach(y, i, row) {
		const char *name = report_text(row, "name");
		if (!json_object_get(seen, name) && region_cycles(row) > 0)
			add(c, name, 0, region_cycles(row));
	}
	json_decref(seen);
}

static int by_size(const void *x, const void *y)
{
	const struct change *a = x, *b = y;
	double da = fabs(a->b - a->a), db = fabs(b->b - b->a);
	if (da != db)
		return da > db ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Leaves of an object as "sram.size": text of the value. */
static void flatten(const json_t *object, const char *prefix, json_t *out)
{
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)object, key, value) {
		char path[NAME];
		snprintf(path, sizeof(path), "%s%s%s", prefix, prefix[0] ? "." : "", key);
		if (json_is_object(value)) {
			flatten(value, path, out);
			continue;
		}
		/* 200 and 200.0 are one number, whatever wrote the file. */
		double number = json_number_value(value);
		bool whole = json_is_real(value) && number == floor(number) && fabs(number) < 1e15;
		json_t *plain = whole ? json_integer((json_int_t)number) : json_incref(value);
		char *text = json_is_string(value) ? strdup(json_string_value(value)) : json_dumps(plain, JSON_ENCODE_ANY);
		json_decref(plain);
		if (text)
			json_object_set_new(out, path, json_string(text));
		free(text);
	}
}

static json_t *settings_of(const json_t *report)
{
	json_t *all = json_object();
	json_object_set_new(all, "subject", json_string(report_text(report, "command.subject")));
	flatten(report_value(report, "params"), "", all);
	json_t *hw = json_object();
	flatten(report_value(report, "hw"), "", hw);
	/* What the machine is called does not explain what it does. */
	json_object_del(hw, "name");
	json_object_del(hw, "preset");
	json_object_del(hw, "changed");
	json_object_update(all, hw);
	json_decref(hw);
	char *ideal = json_dumps(report_value(report, "ideal") ? report_value(report, "ideal") : json_null(), JSON_ENCODE_ANY);
	if (ideal)
		json_object_set_new(all, "ideal", json_string(ideal));
	free(ideal);
	return all;
}

/* {"sram.size": ["1048576", "2097152"], ...} */
static json_t *differing(const json_t *a, const json_t *b)
{
	json_t *x = settings_of(a), *y = settings_of(b), *out = json_object(), *value;
	const char *key;
	json_object_foreach(x, key, value) {
		json_t *other = json_object_get(y, key);
		if (!json_equal(value, other))
			json_object_set_new(out, key, json_pack("[O, O?]", value, other));
	}
	json_object_foreach(y, key, value) {
		if (!json_object_get(x, key))
			json_object_set_new(out, key, json_pack("[n, O]", value));
	}
	json_decref(x);
	json_decref(y);
	return out;
}

static void put_value(struct report_table *t, double value)
{
	if (value == floor(value) && fabs(value) < 1e15) {
		char text[48];
		snprintf(text, sizeof(text), "%s%s", value < 0 ? "-" : "", npu_count_text((uint64_t)fabs(value)).text);
		report_table_text(t, value == 0 ? "." : text);
	} else {
		report_table_real(t, value, fabs(value) < 10 ? 4 : 1);
	}
}

static bool print_changes(const struct changes *c, const char *title, size_t rows, const struct report_style *style)
{
	const char *titles[] = { title, "A", "B", "B - A", "B / A", NULL };
	struct report_table *t = report_table_new(titles);
	if (!t)
		return false;
	for (size_t i = 0; i < c->n && i < rows; i++) {
		const struct change *change = &c->items[i];
		report_table_row(t, change->name);
		put_value(t, change->a);
		put_value(t, change->b);
		put_value(t, change->b - change->a);
		report_table_real(t, change->a != 0 ? change->b / change->a : 0, 3);
	}
	putchar('\n');
	if (!report_table_print(t, stdout, style))
		return false;
	if (c->n > rows)
		printf("%zu more in --report FILE.json\n", c->n - rows);
	return true;
}

static bool print_settings(const json_t *settings, const struct report_style *style)
{
	static const char *const titles[] = { "differs", "A", "B", NULL };
	const char *key;
	json_t *pair;
	if (json_object_size(settings) == 0) {
		puts("\nno parameter and no hardware key differs");
		return true;
	}
	struct report_table *t = report_table_new(titles);
	if (!t)
		return false;
	json_object_foreach((json_t *)settings, key, pair) {
		const char *a = json_string_value(json_array_get(pair, 0)), *b = json_string_value(json_array_get(pair, 1));
		report_table_row(t, key);
		report_table_text(t, a ? a : "-");
		report_table_text(t, b ? b : "-");
	}
	putchar('\n');
	return report_table_print(t, stdout, style);
}

struct comparison {
	struct changes summary, engines, regions;
	json_t *settings;
};

static json_t *changes_json(const struct changes *c)
{
	json_t *rows = json_array();
	for (size_t i = 0; i < c->n; i++)
		json_array_append_new(rows, json_pack("{s:s, s:f, s:f, s:f}", "name", c->items[i].name, "a", c->items[i].a, "b",
						      c->items[i].b, "difference", c->items[i].b - c->items[i].a));
	return rows;
}

static int print(const struct cli *cli, const struct comparison *c, const json_t *a, const json_t *b)
{
	struct npu_error err = { 0 };
	json_t *explained = NULL;
	if (cli_value(cli, "explain") && !(explained = compare_explain(cli, a, b, c->settings, &err)))
		return cli_fail(&err);
	const char *no_color = getenv("NO_COLOR");
	struct report_style style = { .color = isatty(STDOUT_FILENO) && !(no_color && *no_color) };
	if (report_wants_lines(cli)) {
		printf("A  %s   %s\nB  %s   %s\n", cli->words[0], report_text(a, "command.line"), cli->words[1],
		       report_text(b, "command.line"));
		bool ok = print_changes(&c->summary, "figure", c->summary.n, &style) &&
			  (c->engines.n == 0 || print_changes(&c->engines, "cycles of engines", ROWS, &style)) &&
			  (c->regions.n == 0 || print_changes(&c->regions, "engine cycles by region", ROWS, &style)) &&
			  print_settings(c->settings, &style) &&
			  (!explained || compare_explain_print(explained, a, b, &style));
		if (!ok) {
			json_decref(explained);
			return cli_usage("out of memory");
		}
	}
	json_t *report = report_begin("npusim.compare/1", "compare", NULL);
	json_object_set_new(report, "a", json_string(report_text(a, "command.line")));
	json_object_set_new(report, "b", json_string(report_text(b, "command.line")));
	json_object_set_new(report, "figures", changes_json(&c->summary));
	json_object_set_new(report, "engines", changes_json(&c->engines));
	json_object_set_new(report, "regions", changes_json(&c->regions));
	json_object_set(report, "settings", c->settings);
	json_object_set_new(report, "explained", explained ? explained : json_array());
	int status = report_finish(cli, report);
	if (cli_value(cli, "timeline") && !compare_timeline(cli, a, b, report_wants_lines(cli), &err))
		status = cli_fail(&err);
	return status;
}

static int compare(const struct cli *cli, const json_t *a, const json_t *b)
{
	struct comparison c = { .settings = differing(a, b) };
	for (unsigned i = 0; i < sizeof(summary) / sizeof(summary[0]); i++)
		add(&c.summary, summary[i], number(a, summary[i]), number(b, summary[i]));
	compare_engines(&c.engines, a, b);
	compare_regions(&c.regions, a, b);
	if (c.engines.n > 0)
		qsort(c.engines.items, c.engines.n, sizeof(*c.engines.items), by_size);
	if (c.regions.n > 0)
		qsort(c.regions.items, c.regions.n, sizeof(*c.regions.items), by_size);
	bool failed = c.summary.failed || c.engines.failed || c.regions.failed;
	int status = failed ? cli_usage("out of memory") : print(cli, &c, a, b);
	free(c.summary.items);
	free(c.engines.items);
	free(c.regions.items);
	json_decref(c.settings);
	return status;
}

static int run(struct cli *cli)
{
	struct npu_error err = { 0 };
	bool measured = cli_value(cli, "measured") != NULL, explain = cli_value(cli, "explain") != NULL;
	bool timeline = cli_value(cli, "timeline") != NULL;
	if (measured && (cli->nwords != 1 || explain || timeline))
		return cli_usage("--measured: one report and the measured times are compared");
	if (measured)
		return compare_measured(cli);
	if (cli->nwords != 2)
		return cli_usage("compare A.json B.json, or R.json --measured OPS.csv, would be right");
	if (cli_value(cli, "program") && !explain && !timeline)
		return cli_usage("--program: of --explain and --timeline");
	if (!compare_timeline_check(cli, &err))
		return cli_fail(&err);
	if (strcmp(cli->words[0], "-") == 0 && strcmp(cli->words[1], "-") == 0)
		return cli_usage("- and -: one report can come from stdin");
	json_t *a = report_read(cli->words[0], &err), *b = a ? report_read(cli->words[1], &err) : NULL;
	int status = b ? compare(cli, a, b) : cli_fail(&err);
	json_decref(a);
	json_decref(b);
	return status;
}

static const struct cli_option options[] = {
	{ "explain", 0, NULL, "also run A with each setting of B that differs, one at a time, and with all of them" },
	{ "timeline", 0, "FILE", "both runs one above the other, aligned by region: .html, .pftrace or .pftrace.gz; runs both again; may be repeated" },
	{ "program", 0, "FILE", "of --explain and --timeline: where the program of the runs is, if it is no kernel and neither beside the reports nor here" },
	{ "measured", 0, "OPS.csv", "one report beside measured times by operator or region; columns as name,us or operator,cycles" },
	{ "report", 0, "FILE.json", "write the comparison as JSON (npusim.compare/1); - is stdout, instead of the tables" },
	{ 0 },
};

const struct cli_command cmd_compare = {
	.name = "compare",
	.synopsis = "A.json B.json | R.json --measured OPS.csv",
	.summary = "what changed from one report to another, and from measured times",
	.text = "Figures of both runs beside each other; the cycles of engines and of regions that changed, the largest change "
		"first; and every parameter and hardware key that differs.\n"
		"\n"
		"  npusim run gemm --report a.json -q\n"
		"  npusim run gemm buffering=single --report b.json -q\n"
		"  npusim compare a.json b.json --explain --timeline both.html\n"
		"\n"
		"With --measured a report of npusim run, by region, or of npusim model, by operator, stands beside times that were "
		"measured: rows of one name are added up, `total` is the whole, and a region's time is the longest that an engine was "
		"at it.\n",
	.options = options,
	.min_words = 1,
	.max_words = 2,
	.run = run,
};
