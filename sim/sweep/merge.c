/* SPDX-License-Identifier: Apache-2.0 */
/* npusim sweep merge: folders into one SQLite file, and CSV and JSON out of it. */
#include "isa/units.h"
#include "sim/output.h"
#include "sim/report_json.h"
#include "sim/sweep/command.h"
#include "sim/sweep/expr.h"
#include "sim/sweep/figures.h"
#include "sim/sweep/store.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIXED = 6, MOST_COLUMNS = 512 };
static const char *const fixed[FIXED] = { "point", "status", "reason", "error", "key", "params" };

struct merge {
	struct sweep_space *space;
	const char *path; /* of the SQLite file */
	sqlite3 *db;
	sqlite3_stmt *insert;
	char *columns[MOST_COLUMNS];
	unsigned ncolumns, nkeys; /* fixed ones, keys of axes, figures */
	struct sweep_strays strays;
	struct npu_error err;
};

static bool fail_db(struct merge *m)
{
	return npu_fail(&m->err, NPU_ERR_IO, "%s: cannot be written: %s", m->path,
			m->db ? sqlite3_errmsg(m->db) : "out of memory");
}

static bool is_column(const struct merge *m, const char *name)
{
	for (unsigned i = 0; i < m->ncolumns; i++)
		if (strcasecmp(m->columns[i], name) == 0)
			return true;
	for (unsigned i = 0; sweep_figures[i].name; i++)
		if (strcasecmp(sweep_figures[i].name, name) == 0)
			return true;
	return false;
}

static void name_columns(struct merge *m)
{
	const struct sweep_space *s = m->space;
	char name[256];
	for (unsigned i = 0; i < FIXED; i++)
		m->columns[m->ncolumns++] = strdup(fixed[i]);
	for (unsigned a = 0; a < s->naxes; a++)
		for (unsigned k = 0; k < s->axes[a].nkeys; k++) {
			/* Names of columns do not tell capitals from small letters. */
			snprintf(name, sizeof name, "%.128s", s->axes[a].keys[k]);
			while (is_column(m, name)) {
				char longer[256];
				snprintf(longer, sizeof longer, "axis.%.240s", name);
				memcpy(name, longer, sizeof name);
			}
			m->columns[m->ncolumns++] = strdup(name);
			m->nkeys++;
		}
	for (unsigned i = 0; sweep_figures[i].name && m->ncolumns < MOST_COLUMNS; i++)
		m->columns[m->ncolumns++] = strdup(sweep_figures[i].name);
}

static bool run_sql(struct merge *m, const char *sql)
{
	return sqlite3_exec(m->db, sql, NULL, NULL, NULL) == SQLITE_OK || fail_db(m);
}

static const char *column_type(const struct merge *m, unsigned i)
{
	static const char *const types[] = { "INTEGER", "REAL", "TEXT" };
	if (i == 0)
		return "INTEGER PRIMARY KEY";
	/* Numbers of axes are kept as numbers, sizes in bytes; words as words. */
	return i < FIXED ? "TEXT" : i < FIXED + m->nkeys ? "" : types[sweep_figures[i - FIXED - m->nkeys].type];
}

static bool create(struct merge *m)
{
	char *sql = NULL, *insert = NULL;
	size_t n;
	FILE *out = open_memstream(&sql, &n), *in = NULL;
	if (!out)
		return npu_fail(&m->err, NPU_ERR_MEMORY, "out of memory");
	fprintf(out, "CREATE TABLE points (");
	for (unsigned i = 0; i < m->ncolumns; i++)
		fprintf(out, "%s\"%s\" %s", i ? ", " : "", m->columns[i], column_type(m, i));
	fprintf(out, "); CREATE TABLE sweep (name TEXT PRIMARY KEY, value TEXT);"
		     " CREATE TABLE columns (name TEXT PRIMARY KEY, unit TEXT, meaning TEXT);");
	fclose(out);
	bool ok = run_sql(m, sql);
	free(sql);
	in = ok ? open_memstream(&insert, &n) : NULL;
	if (!in)
		return ok ? npu_fail(&m->err, NPU_ERR_MEMORY, "out of memory") : false;
	fprintf(in, "INSERT INTO points VALUES (?");
	for (unsigned i = 1; i < m->ncolumns; i++)
		fprintf(in, ",?");
	/* Of several records of a point the one that ran stays, then the one that is not legal. */
	fprintf(in, ") ON CONFLICT(point) DO UPDATE SET ");
	for (unsigned i = 1; i < m->ncolumns; i++)
		fprintf(in, "%s\"%s\"=excluded.\"%s\"", i > 1 ? "," : "", m->columns[i], m->columns[i]);
	fprintf(in, " WHERE (excluded.status = 'run' AND points.status <> 'run') OR (excluded.status = 'not legal' AND "
		    "points.status = 'failed')");
	fclose(in);
	ok = sqlite3_prepare_v2(m->db, insert, -1, &m->insert, NULL) == SQLITE_OK || fail_db(m);
	free(insert);
	return ok;
}

static void bind_value(sqlite3_stmt *s, int at, const char *text)
{
	struct expr_value v = expr_value_of(text);
	if (v.text || strcmp(text, "") == 0)
		sqlite3_bind_text(s, at, text, -1, SQLITE_TRANSIENT);
	else if (v.number == floor(v.number))
		sqlite3_bind_int64(s, at, (sqlite3_int64)v.number);
	else
		sqlite3_bind_double(s, at, v.number);
}

static void bind_json(sqlite3_stmt *s, int at, const json_t *v)
{
	if (json_is_integer(v))
		sqlite3_bind_int64(s, at, json_integer_value(v));
	else if (json_is_real(v))
		sqlite3_bind_double(s, at, json_real_value(v));
	else if (json_is_string(v))
		sqlite3_bind_text(s, at, json_string_value(v), -1, SQLITE_TRANSIENT);
	else
		sqlite3_bind_null(s, at);
}

static bool insert(void *context, uint64_t point, enum sweep_status status, const json_t *record)
{
	struct merge *m = context;
	const struct sweep_space *s = m->space;
	const json_t *figures = json_object_get(record, "figures");
	int at = 1;
	sqlite3_reset(m->insert);
	for (unsigned i = 0; i < FIXED; i++)
		bind_json(m->insert, at++, json_object_get(record, fixed[i]));
	for (unsigned a = 0; a < s->naxes; a++)
		for (unsigned k = 0; k < s->axes[a].nkeys; k++)
			bind_value(m->insert, at++,
				   s->axes[a].values[(size_t)k * s->axes[a].count + sweep_index(s, point, a)]);
	for (unsigned i = 0; sweep_figures[i].name; i++) {
		const json_t *v = json_object_get(figures, sweep_figures[i].name);
		if (!v && status == SWEEP_RUN && strncmp(sweep_figures[i].name, "engines.", 8) == 0)
			sqlite3_bind_int64(m->insert, at++, 0);
		else
			bind_json(m->insert, at++, v);
	}
	return sqlite3_step(m->insert) == SQLITE_DONE || fail_db(m);
}

static bool describe(struct merge *m)
{
	sqlite3_stmt *s = NULL;
	json_t *plan = sweep_space_json(m->space);
	const char *name;
	json_t *value;
	bool ok = sqlite3_prepare_v2(m->db, "INSERT INTO sweep VALUES (?, ?)", -1, &s, NULL) == SQLITE_OK;
	/* The same file from wherever it was run. */
	static const char *const of_this_machine[] = { "spec", "folder", "files" };
	for (unsigned i = 0; i < sizeof of_this_machine / sizeof *of_this_machine; i++)
		json_object_del(plan, of_this_machine[i]);
	json_object_foreach(plan, name, value)
	{
		char *text = json_is_string(value) ? strdup(json_string_value(value))
						   : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
		sqlite3_reset(s);
		sqlite3_bind_text(s, 1, name, -1, SQLITE_TRANSIENT);
		sqlite3_bind_text(s, 2, text, -1, SQLITE_TRANSIENT);
		ok = ok && sqlite3_step(s) == SQLITE_DONE;
		free(text);
	}
	sqlite3_finalize(s);
	json_decref(plan);
	ok = ok && sqlite3_prepare_v2(m->db, "INSERT INTO columns VALUES (?, ?, ?)", -1, &s, NULL) == SQLITE_OK;
	for (unsigned i = 0; ok && sweep_figures[i].name; i++) {
		sqlite3_reset(s);
		sqlite3_bind_text(s, 1, sweep_figures[i].name, -1, SQLITE_STATIC);
		sqlite3_bind_text(s, 2, sweep_figures[i].unit, -1, SQLITE_STATIC);
		sqlite3_bind_text(s, 3, sweep_figures[i].doc, -1, SQLITE_STATIC);
		ok = sqlite3_step(s) == SQLITE_DONE;
	}
	if (ok)
		sqlite3_finalize(s);
	return ok || fail_db(m);
}

static bool fill(struct merge *m, const struct cli *cli)
{
	bool ok = run_sql(m, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN") && create(m) && describe(m);
	for (unsigned i = 1; ok && i < cli->nwords; i++)
		ok = sweep_store_read(cli->words[i], m->space, insert, m, &m->strays, &m->err);
	sqlite3_finalize(m->insert);
	m->insert = NULL;
	/* Rows came in any order; the file does not show it. */
	return ok && run_sql(m, "COMMIT; VACUUM");
}

/* ---- export ---- */

static void csv_cell(FILE *out, sqlite3_stmt *s, int i)
{
	const char *text = (const char *)sqlite3_column_text(s, i);
	char number[40];
	if (text && sqlite3_column_type(s, i) == SQLITE_FLOAT) {
		snprintf(number, sizeof number, "%.15g", sqlite3_column_double(s, i));
		text = number;
	}
	if (!text || !strpbrk(text, ",\"\n")) {
		fputs(text ? text : "", out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void write_csv(sqlite3_stmt *s, FILE *out)
{
	int n = sqlite3_column_count(s);
	for (int i = 0; i < n; i++)
		fprintf(out, "%s%s", i ? "," : "", sqlite3_column_name(s, i));
	fputc('\n', out);
	while (sqlite3_step(s) == SQLITE_ROW)
		for (int i = 0; i < n; i++) {
			csv_cell(out, s, i);
			fputc(i + 1 < n ? ',' : '\n', out);
		}
}

static void write_json(sqlite3_stmt *s, FILE *out)
{
	int n = sqlite3_column_count(s);
	const char *comma = "\n";
	fputc('[', out);
	for (; sqlite3_step(s) == SQLITE_ROW; comma = ",\n") {
		json_t *row = json_object();
		for (int i = 0; i < n; i++) {
			int type = sqlite3_column_type(s, i);
			json_object_set_new(row, sqlite3_column_name(s, i),
					    type == SQLITE_INTEGER ? json_integer(sqlite3_column_int64(s, i))
					    : type == SQLITE_FLOAT ? json_real(sqlite3_column_double(s, i))
					    : type == SQLITE_TEXT ? json_string((const char *)sqlite3_column_text(s, i))
								  : json_null());
		}
		fputs(comma, out);
		json_dumpf(row, out, JSON_COMPACT | JSON_REAL_PRECISION(15));
		json_decref(row);
	}
	fputs("\n]\n", out);
}

static bool export(struct merge *m, const char *path, void (*write)(sqlite3_stmt *, FILE *))
{
	sqlite3_stmt *s;
	struct output *out;
	if (!path)
		return true;
	if (sqlite3_prepare_v2(m->db, "SELECT * FROM points ORDER BY point", -1, &s, NULL) != SQLITE_OK)
		return fail_db(m);
	out = output_open(path, &m->err);
	if (out)
		write(s, output_stream(out));
	sqlite3_finalize(s);
	return out && output_commit(out, &m->err);
}

/* ---- the whole ---- */

static uint64_t count_of(struct merge *m, const char *status)
{
	sqlite3_stmt *s;
	uint64_t n = 0;
	if (sqlite3_prepare_v2(m->db, "SELECT count(*) FROM points WHERE status = ?1 OR ?1 = ''", -1, &s, NULL) !=
	    SQLITE_OK)
		return 0;
	sqlite3_bind_text(s, 1, status, -1, SQLITE_STATIC);
	if (sqlite3_step(s) == SQLITE_ROW)
		n = (uint64_t)sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return n;
}

/* Whether all folders hold the same sweep. */
static bool agree(struct merge *m, const struct cli *cli)
{
	m->space = sweep_store_plan(cli->words[1], &m->err);
	for (unsigned i = 2; m->space && i < cli->nwords; i++) {
		struct sweep_space *other = sweep_store_plan(cli->words[i], &m->err);
		bool same = other && strcmp(other->identity, m->space->identity) == 0 &&
			    strcmp(other->version, m->space->version) == 0;
		if (other && !same)
			npu_fail(&m->err, NPU_ERR_USAGE, "%s and %s hold different sweeps", cli->words[1],
				 cli->words[i]);
		sweep_space_free(other);
		if (!same)
			return false;
	}
	return m->space != NULL;
}

static int report(struct merge *m, const char *path, bool quiet)
{
	uint64_t all = count_of(m, ""), failed = count_of(m, "failed");
	uint64_t missing = !m->space->pareto && m->space->count > all ? m->space->count - all : 0;
	if (!quiet)
		printf("%s: %s point%s: %s run, %s not legal, %s failed, %s missing\n", path, npu_count_text(all).text,
		       all == 1 ? "" : "s", npu_count_text(count_of(m, "run")).text,
		       npu_count_text(count_of(m, "not legal")).text, npu_count_text(failed).text,
		       npu_count_text(missing).text);
	char strays[160];
	if (*sweep_strays_text(&m->strays, strays))
		fprintf(stderr, "npusim: warning: %s\n", strays);
	if (missing)
		fprintf(stderr, "npusim: %s of %s points are missing: the same sweep run goes on with them\n",
			npu_count_text(missing).text, npu_count_text(m->space->count).text);
	return missing || failed ? 1 : 0;
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;
	if (strcmp(a, b) == 0)
		return true;
	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Files that a sweep is made of, and that a person would not want to lose by a slip. */
static bool is_of_sweep(const struct merge *m, const struct cli *cli, const char *path)
{
	char folder[4096], own[4200];
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	bool named =
	    strcmp(name, "sweep.json") == 0 || strncmp(name, "points-", 7) == 0 || strncmp(name, "lock", 4) == 0;
	snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
	for (unsigned i = 1; i < cli->nwords; i++) {
		snprintf(own, sizeof own, "%s/sweep.json", cli->words[i]);
		if ((named && same_file(*folder ? folder : "/", cli->words[i])) || same_file(path, own))
			return true;
	}
	for (unsigned i = 0; i < m->space->nfiles; i++)
		if (same_file(path, m->space->files[i].path))
			return true;
	return m->space->spec && same_file(path, m->space->spec);
}

static bool check_outputs(struct merge *m, const struct cli *cli, const char *const paths[3])
{
	static const char *const options[] = { "-o", "--csv", "--json" };
	struct stat st;
	/* The file takes the place of what is there: a device or a pipe would be gone. */
	if (strcmp(paths[0], "-") == 0 || (stat(paths[0], &st) == 0 && !S_ISREG(st.st_mode)))
		return npu_fail(&m->err, NPU_ERR_USAGE, "-o %s: a file would be right, that is none", paths[0]);
	for (unsigned i = 0; i < 3; i++) {
		if (!paths[i] || strcmp(paths[i], "-") == 0)
			continue;
		if (is_of_sweep(m, cli, paths[i]))
			return npu_fail(&m->err, NPU_ERR_USAGE,
					"%s %s: the sweep itself is in that file; another one would be right",
					options[i], paths[i]);
		for (unsigned j = 0; j < i; j++)
			if (paths[j] && same_file(paths[i], paths[j]))
				return npu_fail(&m->err, NPU_ERR_USAGE, "%s and %s: both are %s", options[j],
						options[i], paths[i]);
	}
	return true;
}

int sweep_merge_command(const struct cli *cli)
{
	struct merge m = { 0 };
	char path[4096], temporary[4200];
	const char *csv = cli_value(cli, "csv"), *json = cli_value(cli, "json");
	const char *named = cli_value(cli, "output");
	if ((unsigned)snprintf(path, sizeof path, named ? "%s" : "%s/sweep.sqlite", named ? named : cli->words[1]) >=
	    sizeof path)
		return cli_usage("%.80s...: the path is too long", path);
	snprintf(temporary, sizeof temporary, "%s.npusim-%ld", path, (long)getpid());
	if (csv && json && strcmp(csv, "-") == 0 && strcmp(json, "-") == 0)
		return cli_usage("--csv - and --json -: one can be on stdout");
	bool quiet = (csv && strcmp(csv, "-") == 0) || (json && strcmp(json, "-") == 0) || cli_value(cli, "quiet");
	m.path = path;
	bool ok = agree(&m, cli) && check_outputs(&m, cli, (const char *const[]){ path, csv, json });
	if (ok) {
		name_columns(&m);
		unlink(temporary);
		ok = sqlite3_open(temporary, &m.db) == SQLITE_OK || fail_db(&m);
		ok = ok && fill(&m, cli) && export(&m, csv, write_csv) && export(&m, json, write_json);
	}
	int status = ok ? report(&m, path, quiet) : 0;
	sqlite3_close(m.db);
	if (ok && rename(temporary, path) != 0)
		ok = npu_fail(&m.err, NPU_ERR_IO, "%s: cannot be written: %s", path, strerror(errno));
	if (!ok) {
		unlink(temporary);
		status = cli_fail(&m.err);
	}
	for (unsigned i = 0; i < m.ncolumns; i++)
		free(m.columns[i]);
	sweep_space_free(m.space);
	return status;
}
