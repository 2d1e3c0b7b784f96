/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of results that are made up, so that it is known what is true of them: in whatever order the values of an
 * axis stand, with points that are missing, left out or failed, of figures that are 0, and for every kind of goal. */
#define _GNU_SOURCE
#include "isa/random.h"
#include "sim/sweep/answers_parts.h"
#include "sim/sweep/key.h"
#include "tests/support/suite.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[32];
static unsigned nfolders;

static void set_up(void)
{
	snprintf(folder, sizeof folder, "/tmp/npusim-answers-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
}

static void tear_down(void)
{
	char command[sizeof folder + 16];
	ck_assert_int_eq(chdir("/"), 0);
	snprintf(command, sizeof command, "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

/* A sweep and its results. */
struct made {
	struct sweep_spec *spec;
	struct sweep_store store;
	struct sweep_log log;
	char path[32];
};

static struct made *make(const char *text)
{
	struct npu_error err = { 0 };
	const struct plugin_limits limits = { 0 };
	struct made *m = calloc(1, sizeof *m);
	FILE *out = fopen("s.yaml", "we");
	ck_assert_ptr_nonnull(m);
	ck_assert_ptr_nonnull(out);
	fputs(text, out);
	fclose(out);
	m->spec = sweep_spec_read("s.yaml", &limits, &err);
	ck_assert_msg(m->spec != NULL, "%s: %s", text, err.text);
	snprintf(m->path, sizeof m->path, "r%u", nfolders++);
	ck_assert_msg(sweep_store_open(&m->store, m->path, m->spec->space, 1, 1, &err) && sweep_log_open(&m->log, &m->store, 0, &err),
		      "%s", err.text);
	return m;
}

static void append(struct made *m, json_t *record)
{
	struct npu_error err = { 0 };
	ck_assert_msg(sweep_log_append(&m->log, record, &err), "%s", err.text);
	json_decref(record);
}

/* A point that was run, with these figures, "cycles":1. */
static void run(struct made *m, uint64_t point, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void run(struct made *m, uint64_t point, const char *format, ...)
{
	char figures[1024], text[1100], key[17];
	struct config machine;
	struct npu_error err = { 0 };
	va_list args;
	va_start(args, format);
	vsnprintf(figures, sizeof figures, format, args);
	va_end(args);
	snprintf(text, sizeof text, "{%s}", figures);
	ck_assert_msg(sweep_machines_at(&m->spec->machines, m->spec->space, point, &machine, &err), "%s", err.text);
	sweep_key(m->spec->space, sweep_machine_hash(&machine, true), "0123456789abcdef", "", key);
	config_fini(&machine);
	json_t *o = json_loads(text, 0, NULL);
	ck_assert_msg(o != NULL, "%s", text);
	append(m, json_pack("{s:I,s:o,s:s,s:s,s:s,s:s,s:o}", "point", (json_int_t)point, "at", sweep_place(m->spec->space, point),
			    "status", "run", "key", key, "program", "0123456789abcdef", "params", "", "figures", o));
}

/* All that is said; malloc'ed. */
static char *told(struct made *m)
{
	struct npu_error err = { 0 };
	struct sweep_rows rows = { .space = m->spec->space };
	char *text = NULL;
	size_t size;
	sweep_log_close(&m->log, &m->store);
	sweep_store_close(&m->store);
	rows.nnames = sweep_shown(m->spec->space, rows.names);
	ck_assert_msg(sweep_rows_read(&rows, m->path, &err), "%s", err.text);
	char strays[160];
	ck_assert_str_eq(sweep_strays_text(&rows.strays, strays), "");
	FILE *out = open_memstream(&text, &size);
	ck_assert_msg(sweep_answers(&rows, m->path, out, false, &err), "%s", err.text);
	fclose(out);
	sweep_rows_fini(&rows);
	sweep_spec_free(m->spec);
	free(m);
	return text;
}

/* Whether a line of it is that. */
static bool has_line(const char *text, const char *line)
{
	size_t n = strlen(line);
	for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
		if (strcspn(at, "\n") == n && strncmp(at, line, n) == 0)
			return true;
	return false;
}

#define ck_says(text, line) ck_assert_msg(has_line(text, line), "it does not say \"%s\":%s", line, text)
#define ck_says_no(text, word) ck_assert_msg(!strstr(text, word), "it says \"%s\":%s", word, text)

START_TEST(an_axis_is_judged_in_the_order_of_its_values_however_they_are_written)
{
	static const struct {
		const char *axis;
		unsigned cycles[4];
		const char *line; /* NULL: nothing turns */
	} cases[] = {
		{ "dram.channels: [4, 1, 2]", { 100, 400, 200 }, NULL },
		{ "dram.channels: [4, 1, 2]", { 100, 400, 50 }, "not monotonic: dram.channels 2 -> 4 loses 100.0 %" },
		{ "sram.size: [1MiB, 262144, 512KiB]", { 100, 400, 200 }, NULL },
		{ "sram.size: [1MiB, 262144, 512KiB]", { 400, 100, 200 }, "more cycles with sram.size, 262144 -> 1MiB +300.0 %" },
		{ "tile_k: [32, 016, 64]", { 200, 100, 400 }, "more cycles with tile_k, 016 -> 64 +300.0 %" },
		{ "npu.clock_mhz: [1500.5, 250, 1000]", { 30, 10, 20 }, "more cycles with npu.clock_mhz, 250 -> 1500.5 +200.0 %" },
		/* Words have no order. */
		{ "order: [output, weight, activation]", { 100, 400, 200 }, NULL },
		{ "matrix.dataflow: [ws, os]", { 100, 400 }, NULL },
		/* Keys that rise together, one that falls, and such as do neither. */
		{ "z: {zip: {tile_m: [32, 16, 64], tile_n: [32, 16, 64]}}", { 200, 100, 400 }, "more cycles with z, 16x16 -> 64x64 +300.0 %" },
		{ "z: {zip: {tile_m: [32, 16, 64], tile_n: [32, 64, 16]}}", { 200, 100, 400 }, "more cycles with z, 16x64 -> 64x16 +300.0 %" },
		{ "z: {zip: {tile_m: [32, 16, 64], tile_n: [16, 32, 64]}}", { 200, 100, 400 }, NULL },
	};
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[256];
		snprintf(text, sizeof text, "run: gemm\naxes: {%s}\nreport: [cycles]\n", cases[i].axis);
		struct made *m = make(text);
		for (unsigned p = 0; p < m->spec->space->points; p++)
			run(m, p, "\"cycles\":%u,\"time_us\":%u", cases[i].cycles[p], cases[i].cycles[p]);
		char *said = told(m);
		if (cases[i].line)
			ck_says(said, cases[i].line);
		else {
			ck_says_no(said, "not monotonic");
			ck_says_no(said, "more cycles");
		}
		free(said);
	}
}
END_TEST

START_TEST(the_nearest_point_is_nearest_by_its_values)
{
	/* The best is at 64; of what is not legal, 128 is a step from it, 512 is three. */
	struct made *m = make("run: gemm\naxes: {tile_k: [64, 512, 256, 128]}\n");
	run(m, 0, "\"cycles\":100");
	for (unsigned p = 1; p < 4; p++) {
		json_t *o = sweep_point_excluded(m->spec->space, p, false);
		append(m, o);
	}
	char *said = told(m);
	ck_assert_msg(strstr(said, "tile_k=128") && !strstr(said, "tile_k=512") && !strstr(said, "tile_k=256"), "%s", said);
	free(said);
}
END_TEST

static void tell_all(struct made *m, uint64_t but)
{
	for (uint64_t p = 0; p < m->spec->space->points; p++)
		if (p != but)
			run(m, p, "\"cycles\":%" PRIu64, 100 + 10 * p);
}

START_TEST(nothing_is_said_of_differences_unless_it_is_known_what_became_of_every_point)
{
	static const char spec[] = "run: gemm\naxes: {tile_m: [16, 32], tile_n: [16, 32]}\n";
	struct made *all = make(spec), *failed = make(spec), *missing = make(spec);
	tell_all(all, UINT64_MAX);
	tell_all(failed, 3);
	append(failed, sweep_point_failed(failed->spec->space, 3, "killed"));
	tell_all(missing, 3);
	char *said = told(all);
	ck_assert_msg(strstr(said, "gain") && strstr(said, "\nmore cycles with tile_m, 16 -> 32 +20.0 %"), "%s", said);
	free(said);
	said = told(failed);
	ck_says_no(said, "gain");
	ck_says_no(said, "more cycles");
	ck_says(said, "fastest of what was tried for each tile_m; 1 of 4 points have failed, so that differences may be theirs");
	free(said);
	said = told(missing);
	ck_says_no(said, "gain");
	ck_says_no(said, "more cycles");
	ck_says(said, "fastest of what was tried for each tile_m; 1 of 4 points are missing, so that differences may be theirs");
	free(said);
}
END_TEST

START_TEST(from_nothing_to_something_is_a_change)
{
	struct made *m = make("run: gemm\naxes: {tile_k: [16, 32, 64]}\nreport: [engines.matrix.wait_vector]\n");
	run(m, 0, "\"cycles\":100");
	run(m, 1, "\"engines.matrix.wait_vector\":729");
	run(m, 2, "\"engines.matrix.wait_vector\":1559");
	char *said = told(m);
	ck_says(said, "more engines.matrix.wait_vector with tile_k, 16 -> 64 0 -> 1,559");
	ck_says_no(said, "flat");
	ck_says_no(said, "inf");
	ck_says_no(said, "nan");
	free(said);
	m = make("run: gemm\naxes: {tile_k: [16, 32, 64]}\nreport: [engines.matrix.wait_vector]\n");
	run(m, 0, "\"engines.matrix.wait_vector\":7");
	run(m, 1, "\"cycles\":100");
	run(m, 2, "\"engines.matrix.wait_vector\":5");
	said = told(m);
	ck_says(said, "not monotonic: tile_k 32 -> 64 loses, 0 -> 5");
	free(said);
}
END_TEST

START_TEST(a_hump_around_the_best_point_is_told_beside_a_hardware_axis_as_without_one)
{
	static const unsigned cycles[] = { 100, 120, 110, 150, 90, 91, 140 };
	struct made *m = make("run: gemm\nhw: edge-1mb\naxes: {sram.size: [1MiB, 2MiB], tile_k: {range: [16, 112, 16]}}\n");
	for (unsigned p = 0; p < 14; p++)
		run(m, p, "\"cycles\":%u", cycles[p % 7] + (p < 7 ? 0 : 50));
	char *said = told(m);
	ck_says(said, "not monotonic: tile_k 16 -> 32 loses 20.0 % at the best point");
	ck_says(said, "not monotonic: tile_k 48 -> 64 loses 36.4 % at the best point");
	ck_says(said, "not monotonic: tile_k 80 -> 112 loses 55.6 % at the best point");
	free(said);
	/* The machine itself has 1 MiB, and the best point is elsewhere. */
	m = make("run: gemm\nhw: edge-1mb\naxes: {sram.size: [2097152, 1048576], tile_k: {range: [16, 112, 16]}}\n");
	for (unsigned p = 0; p < 14; p++)
		run(m, p, "\"cycles\":%u", cycles[p % 7] + (p < 7 ? 0 : 50));
	said = told(m);
	ck_says(said, "not monotonic: tile_k 16 -> 32 loses 13.3 % at the best point of sram.size 1048576");
	free(said);
	/* It is as good as the first best one. */
	m = make("run: gemm\nhw: edge-1mb\naxes: {sram.size: [2097152, 1048576], tile_k: {range: [16, 112, 16]}}\n");
	for (unsigned p = 0; p < 14; p++)
		run(m, p, "\"cycles\":%u", cycles[p % 7]);
	said = told(m);
	ck_says(said, "not monotonic: tile_k 16 -> 32 loses 20.0 % at the best point");
	free(said);
}
END_TEST

START_TEST(the_machine_itself_is_found_however_its_values_are_written)
{
	static const struct {
		const char *with, *axis;
		uint32_t home;
	} cases[] = {
		{ "", "sram.size: [256KiB, 1MiB, 2MiB]", 1 },
		{ "", "sram.size: [262144, 1048576, 2097152]", 1 },
		{ "", "sram.size: [256KiB, 1024KiB, 2048KiB]", 1 },
		{ "", "matrix.rows: [16, 032, 64]", 1 },
		{ "", "dram.channel_hash: [false, true]", 1 },
		{ "", "z: {zip: {matrix.rows: [64, 32], sram.size: [512KiB, 1048576]}}", 1 },
		/* Of what `with` says; of what is not on the axis, where the best point is. */
		{ "dram.part: LPDDR5-6400, ", "dram.CL: [10, 17]", 1 },
		{ "", "sram.size: [256KiB, 2MiB, 4MiB]", 2 },
	};
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[256];
		struct npu_error err = { 0 };
		snprintf(text, sizeof text, "run: gemm\nwith: {%sm: 64}\naxes: {%s}\n", cases[i].with, cases[i].axis);
		struct made *m = make(text);
		/* The last value is best. */
		for (uint64_t p = 0; p < m->spec->space->points; p++)
			run(m, p, "\"cycles\":%u", (unsigned)(cases[i].home == 1 ? 100 + p : 100 - p));
		sweep_log_close(&m->log, &m->store);
		sweep_store_close(&m->store);
		struct sweep_rows rows = { .space = m->spec->space };
		rows.nnames = sweep_shown(m->spec->space, rows.names);
		ck_assert_msg(sweep_rows_read(&rows, m->path, &err), "%s", err.text);
		ck_assert_msg(sweep_home(&rows, 0) == cases[i].home, "%s: it stands at %u", cases[i].axis, sweep_home(&rows, 0));
		sweep_rows_fini(&rows);
		sweep_spec_free(m->spec);
		free(m);
	}
}
END_TEST

START_TEST(a_cause_is_derived_from_the_goal)
{
	static const struct {
		const char *goal, *a, *b, *said;
	} cases[] = {
		/* Of all engines, the state that changed most the way the cycles did. */
		{ "cycles", "\"cycles\":1000,\"time_us\":1,\"engines.load.dram_refresh\":100,\"engines.vector.sram_conflict\":10,\"engines.matrix.idle\":0",
		  "\"cycles\":2000,\"time_us\":2,\"engines.load.dram_refresh\":700,\"engines.vector.sram_conflict\":910,\"engines.matrix.idle\":1000",
		  "vector sram_conflict 10 -> 910 cycles" },
		{ "cycles", "\"cycles\":2000,\"time_us\":2,\"engines.load.busy\":100,\"engines.vector.busy\":900",
		  "\"cycles\":1000,\"time_us\":1,\"engines.load.busy\":1000,\"engines.vector.busy\":200", "vector busy 900 -> 200 cycles" },
		/* One that waits tells of another. */
		{ "cycles", "\"cycles\":1000,\"time_us\":1,\"engines.matrix.wait_load\":5,\"engines.load.dram_latency\":6",
		  "\"cycles\":2000,\"time_us\":2,\"engines.matrix.wait_load\":955,\"engines.load.dram_latency\":306",
		  "matrix wait_load 5 -> 955 cycles, waits aside load dram_latency 6 -> 306 cycles" },
		{ "tokens_per_s", "\"cycles\":1000,\"time_us\":1,\"tokens_per_s\":1e6,\"dram.bus_bytes\":1048576,\"engines.load.busy\":100",
		  "\"cycles\":2000,\"time_us\":2,\"tokens_per_s\":5e5,\"dram.bus_bytes\":3145728,\"engines.load.busy\":1200",
		  "load busy 100 -> 1,200 cycles, DRAM 1 -> 3 MiB" },
		/* Two tokens a step instead of one. */
		{ "tokens_per_s", "\"cycles\":1000,\"time_us\":1,\"tokens_per_s\":1e6,\"engines.load.busy\":800,\"engines.matrix.busy\":10",
		  "\"cycles\":3000,\"time_us\":3,\"tokens_per_s\":666666.6666666,\"engines.load.busy\":800,\"engines.matrix.busy\":2000",
		  "matrix busy 10 -> 1,000 cycles a token" },
		/* A clock: cycles against it, where the goal is time. */
		{ "time_us", "\"cycles\":2000,\"time_us\":1,\"engines.matrix.wait_load\":1800", "\"cycles\":1000,\"time_us\":2,\"engines.matrix.wait_load\":20",
		  "2,000 -> 1,000 cycles against a clock of 2000 -> 500 MHz" },
		{ "cycles", "\"cycles\":1000,\"time_us\":2,\"engines.load.dram_latency\":20", "\"cycles\":2000,\"time_us\":1,\"engines.load.dram_latency\":990",
		  "load dram_latency 20 -> 990 cycles, a clock of 500 -> 2000 MHz" },
		/* Energy, by its parts. */
		{ "energy.total_uj", "\"cycles\":9,\"time_us\":1,\"energy.total_uj\":10,\"energy.mac_uj\":1,\"energy.sram_uj\":5,\"energy.idle_gated_uj\":0",
		  "\"cycles\":1,\"time_us\":1,\"energy.total_uj\":20,\"energy.mac_uj\":14.5,\"energy.sram_uj\":1,\"energy.idle_gated_uj\":99",
		  "energy.mac_uj 1 -> 14.5 uJ" },
		{ "uj_per_token", "\"energy.total_uj\":10,\"uj_per_token\":10,\"energy.dram_uj\":8,\"energy.mac_uj\":2",
		  "\"energy.total_uj\":24,\"uj_per_token\":12,\"energy.dram_uj\":8,\"energy.mac_uj\":16", "energy.mac_uj 2 -> 8 uJ a token" },
		/* What a figure is reckoned from, or nothing. */
		{ "dram.bus_bytes", "\"dram.read_bytes\":10240,\"dram.write_bytes\":2048", "\"dram.read_bytes\":20480,\"dram.write_bytes\":2048",
		  "dram.read_bytes 10 KiB -> 20 KiB" },
		{ "mac_utilization", "\"cycles\":1000,\"time_us\":1,\"macs\":256000,\"mac_utilization\":1", "\"cycles\":500,\"time_us\":1,\"macs\":256000,\"mac_utilization\":0.5",
		  "cycles 1,000 -> 500, of at most 256 -> 1024 a cycle" },
		{ "engines.load.dram_latency", "\"cycles\":1,\"engines.matrix.idle\":10,\"engines.load.dram_latency\":1",
		  "\"cycles\":2,\"engines.matrix.idle\":90,\"engines.load.dram_latency\":9", "" },
		{ "dram.read_bytes", "\"cycles\":1,\"engines.load.busy\":10", "\"cycles\":2,\"engines.load.busy\":90", "" },
		/* The same cycles have no cause. */
		{ "cycles", "\"cycles\":1000,\"time_us\":1,\"engines.load.busy\":1", "\"cycles\":1000,\"time_us\":1,\"engines.load.busy\":9", "" },
	};
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[1024], out[512];
		snprintf(text, sizeof text, "[{\"figures\":{%s}},{\"figures\":{%s}}]", cases[i].a, cases[i].b);
		json_t *both = json_loads(text, 0, NULL);
		ck_assert_msg(both != NULL, "%s", text);
		ck_assert_str_eq(answers_cause(cases[i].goal, json_array_get(both, 0), json_array_get(both, 1), out, sizeof out),
				 cases[i].said);
		json_decref(both);
	}
}
END_TEST

/* ---- made up at random, and judged by looking at every pair ---- */

enum { CASES = 60, MOST = 12 };

static double at(const double *value, const unsigned *list, unsigned n, unsigned tile)
{
	for (unsigned i = 0; i < n; i++)
		if (list[i] == tile)
			return value[i];
	ck_abort_msg("%u is not on the axis", tile);
	return 0;
}

/* What is between two values differs by no more than this share of the least. */
static double spread(const double *value, const unsigned *list, unsigned n, unsigned from, unsigned to)
{
	double low = INFINITY, high = 0;
	for (unsigned i = 0; i < n; i++)
		if (list[i] >= from && list[i] <= to) {
			low = fmin(low, value[i]);
			high = fmax(high, value[i]);
		}
	return (high - low) / low;
}

START_TEST(flat_and_not_monotonic_are_true_of_whatever_was_measured)
{
	uint64_t random = 27;
	unsigned turns = 0, flats = 0, straight = 0;
	for (unsigned c = 0; c < CASES; c++) {
		unsigned n = 2 + (unsigned)(npu_random_next(&random) % (MOST - 1)), list[MOST];
		double value[MOST];
		char text[512], axis[256] = "";
		static const double steps[] = { 0, 0, 0.0004, 0.004, 0.02, 0.3 };
		for (unsigned i = 0; i < n; i++)
			list[i] = 8 * (i + 1);
		for (unsigned i = n; i > 1; i--) {
			unsigned j = (unsigned)(npu_random_next(&random) % i), other = list[i - 1];
			list[i - 1] = list[j];
			list[j] = other;
		}
		for (unsigned i = 0; i < n; i++) {
			double step = steps[npu_random_next(&random) % 6];
			unsigned rank = list[i] / 8;
			/* Some only fall, some only rise. */
			value[i] = c % 3 == 0 ? 20000 - 1000.0 * rank : c % 3 == 1 ? 10000 + 900.0 * rank
										    : round(10000 * (1 + step));
			snprintf(axis + strlen(axis), sizeof axis - strlen(axis), "%s%u", i ? ", " : "", list[i]);
		}
		snprintf(text, sizeof text, "run: gemm\naxes: {tile_k: [%s]}\nreport: [cycles]\n", axis);
		struct made *m = make(text);
		for (unsigned i = 0; i < n; i++)
			run(m, i, "\"cycles\":%.0f,\"time_us\":%.0f", value[i], value[i]);
		char *said = told(m);
		/* What is said is true. */
		unsigned from, to, own_turns = 0, more = 0, flat = 0, some = 0;
		double percent;
		for (const char *line = said; *line; line += strcspn(line, "\n"), line += *line == '\n') {
			if (sscanf(line, "not monotonic: tile_k %u -> %u loses %lf %%", &from, &to, &percent) == 3) {
				double a = at(value, list, n, from), b = at(value, list, n, to);
				ck_assert_msg(from < to && b > 1.01 * a && fabs((b / a - 1) * 100 - percent) < 0.06, "%s%s", text, said);
				own_turns++;
			} else if (sscanf(line, "more cycles with tile_k, %u -> %u +%lf %%", &from, &to, &percent) == 3) {
				double a = at(value, list, n, from), b = at(value, list, n, to);
				ck_assert_msg(from < to && b > 1.01 * a && fabs((b / a - 1) * 100 - percent) < 0.06, "%s%s", text, said);
				more++;
			} else if (sscanf(line, "flat: tile_k %u -> %u changes nothing", &from, &to) == 2) {
				ck_assert_msg(from < to && spread(value, list, n, from, to) <= 0.001, "%s%s", text, said);
				flat++;
			} else if (strncmp(line, "not monotonic: ", 15) == 0 || strncmp(line, "flat: ", 6) == 0)
				some++;
		}
		/* What is true is said: whether any value is worse than a lesser one, and whether any is better. */
		bool loses = false, wins = false, level = false;
		for (unsigned i = 0; i < n; i++)
			for (unsigned j = 0; j < n; j++)
				if (list[i] < list[j]) {
					loses = loses || value[j] > 1.01 * value[i];
					wins = wins || value[i] - value[j] > 0.01 * value[i];
					level = level || (list[j] == list[i] + 8 && spread(value, list, n, list[i], list[j]) <= 0.001);
				}
		ck_assert_msg((own_turns > 0) == (loses && wins) && (more > 0) == (loses && !wins) && (flat > 0) == level, "%s%s", text, said);
		ck_assert_msg(some == 0 || own_turns == 3 || flat == 3, "%s%s", text, said);
		turns += own_turns;
		flats += flat;
		straight += !own_turns;
		free(said);
	}
	ck_assert_msg(turns > CASES / 4 && flats > CASES / 4 && straight > CASES / 4, "%u turns, %u flats, %u straight", turns, flats, straight);
}
END_TEST

static Suite *answers_suite(void)
{
	Suite *s = suite_create("sweep_answers_rows");
	TCase *t = tcase_create("answers");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, an_axis_is_judged_in_the_order_of_its_values_however_they_are_written);
	tcase_add_test(t, the_nearest_point_is_nearest_by_its_values);
	tcase_add_test(t, nothing_is_said_of_differences_unless_it_is_known_what_became_of_every_point);
	tcase_add_test(t, from_nothing_to_something_is_a_change);
	tcase_add_test(t, a_hump_around_the_best_point_is_told_beside_a_hardware_axis_as_without_one);
	tcase_add_test(t, the_machine_itself_is_found_however_its_values_are_written);
	tcase_add_test(t, a_cause_is_derived_from_the_goal);
	tcase_add_test(t, flat_and_not_monotonic_are_true_of_whatever_was_measured);
	suite_add_tcase(s, t);
	return s;
}

int main(void) { return npu_suite_run(answers_suite()); }
