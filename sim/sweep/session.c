/* SPDX-License-Identifier: Apache-2.0 */
/* npusim sweep run: what is there already, how long the rest takes, grids and searches, and answers at the end. */
#include "isa/units.h"
#include "sim/sweep/alike.h"
#include "sim/sweep/answers.h"
#include "sim/sweep/command.h"
#include "sim/sweep/names.h"
#include "sim/sweep/run.h"
#include "sim/sweep/search.h"
#include "sim/sweep/shown.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PILOT = 8, STATUS_INTERRUPTED = 130 };

static bool stderr_is_terminal(void)
{
	return isatty(STDERR_FILENO);
}
static bool stdout_is_colored(void)
{
	const char *no_color = getenv("NO_COLOR");
	return isatty(STDOUT_FILENO) && !(no_color && *no_color);
}

/* "2/8" */
static bool read_shard(const struct cli *cli, unsigned *shard, unsigned *shards, struct npu_error *err)
{
	const char *text = cli_value(cli, "shard");
	int used = 0;
	*shard = *shards = 1;
	if (!text)
		return true;
	if (sscanf(text, "%9u/%9u%n", shard, shards, &used) == 2 && !text[used] && *shard >= 1 && *shard <= *shards &&
	    *shards <= 100000)
		return true;
	return npu_fail(err, NPU_ERR_USAGE, "--shard %.40s: I/N, as in 1/4 to 4/4, would be right", text);
}

/* A few points that were there, whose programs are built again: the order of points has no pattern, so that any are as
 * good as others. */
enum { REBUILT = 4 };
struct rebuilt {
	uint64_t point;
	char program[17];
};

struct session {
	const struct cli *cli;
	struct sweep_spec *spec;
	struct sweep_store store;
	struct sweep_set *done;
	struct known *known;
	char *folder;
	unsigned parallel;
	uint64_t before; /* points that were there */
	struct rebuilt rebuilt[REBUILT];
	unsigned nrebuilt;
	struct sweep_counts counts;
	double seconds;
	bool stopped;
	struct npu_error err;
};

static bool note_done(void *context, uint64_t point, enum sweep_status status, const json_t *record)
{
	struct session *s = context;
	struct alike alike;
	const char *program = json_string_value(json_object_get(record, "program"));
	/* One that failed is tried again. */
	if (status == SWEEP_FAILED || sweep_set_has(s->done, point))
		return true;
	/* What was simulated by a run before is known to this one. */
	if (status == SWEEP_RUN && s->known && alike_read(json_object_get(record, "alike"), &alike) &&
	    !known_has(s->known, alike))
		known_add(s->known, alike, json_object_get(record, "figures"));
	if (program && s->nrebuilt < REBUILT) {
		struct rebuilt *r = &s->rebuilt[s->nrebuilt++];
		r->point = point;
		snprintf(r->program, sizeof r->program, "%s", program);
	}
	s->before++;
	return sweep_set_add(s->done, point) || npu_fail(&s->err, NPU_ERR_MEMORY, "out of memory");
}

/* Another build of one version may make other programs. Of a plug-in, whose bytes are in the identity, none is built
 * here. */
static bool is_same_build(struct session *s)
{
	char program[17];
	for (unsigned i = 0; !s->spec->plugin && i < s->nrebuilt; i++) {
		const struct rebuilt *r = &s->rebuilt[i];
		struct npu_error err = { 0 };
		bool built = sweep_point_program(s->spec, r->point, program, &err);
		if (built && strcmp(program, r->program) == 0)
			continue;
		if (err.code == NPU_ERR_MEMORY)
			return s->err = err, false;
		return npu_fail(&s->err, NPU_ERR_USAGE,
				"%s holds results of another build of npusim %s: point %s has another program now; "
				"another folder (-o) would be right",
				s->folder, s->spec->space->version, npu_count_text(r->point).text);
	}
	return true;
}

static uint64_t points_of_shard(const struct sweep_space *space, const struct sweep_store *store)
{
	return space->count / store->shards + (store->shard <= space->count % store->shards);
}

static bool run_part(struct session *s, const uint64_t *list, uint64_t from, uint64_t count, uint64_t all)
{
	uint64_t here = s->counts.run + s->counts.not_legal + s->counts.failed;
	struct sweep_job job = {
		.spec = s->spec,
		.store = &s->store,
		.known = s->known,
		.done = s->done,
		.list = list,
		.from = from,
		.count = count,
		.parallel = s->parallel,
		.progress = cli_value(s->cli, "quiet") ? NULL : stderr,
		.terminal = stderr_is_terminal(),
		.all = all,
		.before = here + (s->store.shards > 1 ? 0 : s->before),
	};
	return sweep_run(&job, &s->counts, &s->seconds, &s->stopped, &s->err);
}

static void print_time(char out[48], double seconds)
{
	snprintf(out, 48, "%.*f %s", seconds < 9.5 || seconds >= 7200 ? 1 : 0,
		 seconds < 120    ? seconds
		 : seconds < 7200 ? seconds / 60
				  : seconds / 3600,
		 seconds < 120    ? "s"
		 : seconds < 7200 ? "min"
				  : "h");
}

/* `least`: no more than that is known. */
static void print_estimate(const struct session *s, uint64_t left, double all, bool least)
{
	char time[48];
	if (!left || cli_value(s->cli, "quiet"))
		return;
	/* Later ones know more of what they need. */
	char text[64];
	bool most = s->known && s->spec->space->kind != SWEEP_MODEL &&
		    sweep_value(s->spec->space, 0, "sram.size", text, sizeof text);
	print_time(time, all);
	fprintf(stderr, "%s point%s to go on %u process%s: %s %s\n", npu_count_text(left).text, left > 1 ? "s" : "",
		s->parallel, s->parallel > 1 ? "es" : "",
		least  ? "more than"
		: most ? "at most"
		       : "about",
		time);
}

/* The first few tell how long the others will take. */
static bool run_grid(struct session *s)
{
	const struct sweep_space *space = s->spec->space;
	uint64_t mine = points_of_shard(space, &s->store), left = mine > s->before ? mine - s->before : 0;
	uint64_t pilot = (PILOT > 2 * s->parallel ? PILOT : 2 * s->parallel) * (uint64_t)s->store.shards;
	if (pilot > space->count)
		pilot = space->count;
	if (!run_part(s, NULL, 0, pilot, mine) || s->stopped)
		return false;
	uint64_t here = s->counts.run + s->counts.not_legal + s->counts.failed;
	left = left > here ? left - here : 0;
	if (here)
		print_estimate(s, left, s->seconds / (double)here * (double)left, false);
	return run_part(s, NULL, pilot, space->count - pilot, mine) && !s->stopped;
}

/* Points that are known to be illegal, or the same program again, cost little; without an end they would cost all the
 * same. */
static const uint64_t TRIES = 20;

static bool add_all(struct sweep_set *set, const uint64_t *list, uint64_t n, struct npu_error *err)
{
	for (uint64_t i = 0; i < n; i++)
		if (!sweep_set_add(set, list[i]))
			return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	return true;
}

/* Every generation is whole before the next one is chosen, from those before it and nothing else that may be in the
 * folder: a search that was killed goes on as if it had not been. */
static bool run_search(struct session *s)
{
	struct sweep_space *space = s->spec->space;
	struct sweep_set *seen = sweep_set_new(space->points);
	bool ok = seen || npu_fail(&s->err, NPU_ERR_MEMORY, "out of memory");
	for (uint64_t n = 1, tried = 0; ok && n; tried += n) {
		struct sweep_rows rows = { .space = space, .nnames = space->ngoals };
		uint64_t *list = NULL, spent = 0;
		bool all_there = true;
		n = 0;
		for (unsigned i = 0; i < space->ngoals; i++)
			rows.names[i] = space->goals[i];
		ok = sweep_rows_read(&rows, s->folder, &s->err);
		if (ok) {
			sweep_rows_keep(&rows, seen);
			spent = sweep_spent(&rows);
		}
		if (ok && spent < space->count && tried < TRIES * space->count) {
			n = sweep_generation(&rows, seen, space->count - spent, &list);
			ok = list || npu_fail(&s->err, NPU_ERR_MEMORY, "out of memory");
		}
		sweep_rows_fini(&rows);
		for (uint64_t i = 0; i < n; i++)
			all_there = all_there && sweep_set_has(s->done, list[i]);
		ok = ok && (!n || all_there || (run_part(s, list, 0, n, tried + space->count - spent) && !s->stopped));
		ok = ok && add_all(s->done, list, n, &s->err) && add_all(seen, list, n, &s->err);
		free(list);
	}
	sweep_set_free(seen);
	return ok;
}

/* Of each reason the message of its first point: there is no legal one that the others could be compared with. */
struct examples {
	const struct sweep_row *row[SWEEP_REASONS];
	char *why[SWEEP_REASONS];
};

static bool take_example(void *context, uint64_t point, enum sweep_status status, const json_t *record)
{
	struct examples *e = context;
	const char *why = status == SWEEP_NOT_LEGAL ? json_string_value(json_object_get(record, "error")) : NULL;
	for (unsigned i = 0; why && i < SWEEP_REASONS; i++)
		if (e->row[i] && e->row[i]->point == point && !e->why[i])
			e->why[i] = strdup(why);
	return true;
}

static void print_examples(const struct session *s, const struct sweep_rows *rows)
{
	struct examples e = { .row = { NULL } };
	struct npu_error ignored;
	char text[4096];
	for (uint64_t i = 0; i < rows->n; i++)
		if (!e.row[rows->row[i].reason])
			e.row[rows->row[i].reason] = &rows->row[i];
	sweep_store_read(s->folder, rows->space, take_example, &e, NULL, &ignored);
	for (unsigned i = 0; i < rows->nreasons; i++) {
		if (e.why[i])
			printf("%s, as in: %s\n  %s\n", rows->reasons[i], e.why[i],
			       sweep_command(rows->space, e.row[i]->point, text, sizeof text));
		free(e.why[i]);
	}
	fflush(stdout);
}

static int summarize(struct session *s)
{
	const struct sweep_space *space = s->spec->space;
	struct sweep_rows rows = { .space = space };
	char reasons[512] = "";
	unsigned used = 0;
	uint64_t here = s->counts.run + s->counts.not_legal + s->counts.failed;
	rows.nnames = sweep_shown(space, rows.names);
	if (!sweep_rows_read(&rows, s->folder, &s->err)) {
		sweep_rows_fini(&rows);
		return cli_fail(&s->err);
	}
	for (unsigned i = 0; i < rows.nreasons && used < sizeof reasons; i++)
		used += (unsigned)snprintf(reasons + used, sizeof reasons - used, "%s%s: %s", i ? ", " : " (",
					   npu_count_text(rows.refused[i]).text, rows.reasons[i]);
	printf("%s run, %s not legal%s%s, %s failed", npu_count_text(rows.count[SWEEP_RUN]).text,
	       npu_count_text(rows.count[SWEEP_NOT_LEGAL]).text, reasons, rows.nreasons ? ")" : "",
	       npu_count_text(rows.count[SWEEP_FAILED]).text);
	if (rows.count[SWEEP_MISSING])
		printf(", %s still missing", npu_count_text(rows.count[SWEEP_MISSING]).text);
	if (here)
		printf("        %.1f s, %.1f points/s", s->seconds, s->seconds > 0 ? (double)here / s->seconds : 0);
	fputc('\n', stdout);
	int status = rows.count[SWEEP_FAILED] || (rows.count[SWEEP_MISSING] && s->store.shards == 1) ? 1 : 0;
	if (s->store.shards == 1 && !sweep_answers(&rows, s->folder, stdout, stdout_is_colored(), &s->err))
		status = cli_fail(&s->err);
	else if (s->store.shards == 1 && !rows.count[SWEEP_RUN] && !rows.count[SWEEP_FAILED]) {
		print_examples(s, &rows);
		npu_fail(&s->err, NPU_ERR_FIT, "no point is legal; npusim sweep merge %s --csv - tells all of them",
			 s->folder);
		status = cli_fail(&s->err);
	}
	sweep_rows_fini(&rows);
	return status;
}

static bool begin(struct session *s)
{
	uint64_t jobs = sweep_processors();
	struct plugin_limits limits;
	unsigned shard, shards;
	const struct cli *cli = s->cli;
	if (!sweep_read_number(cli, "jobs", 256, &jobs, &s->err) || !read_shard(cli, &shard, &shards, &s->err))
		return false;
	s->parallel = (unsigned)jobs;
	s->spec = plugin_limits_read(cli, &limits, &s->err) ? sweep_spec_read(cli->words[1], &limits, &s->err) : NULL;
	if (!s->spec)
		return false;
	if (s->spec->space->pareto && shards > 1)
		return npu_fail(&s->err, NPU_ERR_USAGE,
				"--shard: a search looks at what it has found and is not cut into shards");
	s->store = (struct sweep_store){ .lock = -1, .shard_lock = -1, .shard = shard, .shards = shards };
	s->folder = sweep_folder(cli, cli->words[1]);
	s->known = cli_value(cli, "each") ? NULL : known_new();
	s->done = s->folder ? sweep_set_new(s->spec->space->points) : NULL;
	return s->done || npu_fail(&s->err, NPU_ERR_MEMORY, "out of memory");
}

static void end(struct session *s)
{
	sweep_store_close(&s->store);
	sweep_set_free(s->done);
	known_free(s->known);
	sweep_spec_free(s->spec);
	free(s->folder);
}

/* Points of this run that are neither there already nor excluded from what is known without running. */
static uint64_t to_go(const struct session *s, uint64_t *excluded, uint64_t pilot[PILOT], unsigned *npilot)
{
	enum { LOOKED_AT = 1000000 };
	const struct sweep_space *space = s->spec->space;
	uint64_t left = 0, looked = space->count < LOOKED_AT ? space->count : LOOKED_AT;
	for (uint64_t n = 0; n < looked; n++) {
		uint64_t point = sweep_nth(space, n);
		if (s->store.shards > 1 && n % s->store.shards != s->store.shard - 1)
			continue;
		bool passes = sweep_spec_passes(s->spec, point, NULL);
		*excluded += !passes;
		if (!passes || sweep_set_has(s->done, point))
			continue;
		if (*npilot < PILOT)
			pilot[(*npilot)++] = point;
		left++;
	}
	/* Of very many, as the first million. */
	*excluded = (uint64_t)((double)*excluded * (double)space->count / (double)looked);
	return (uint64_t)((double)left * (double)space->count / (double)looked);
}

/* Nothing is kept: what there is, and how long it takes, which a few points tell within some seconds. */
static int dry_run(struct session *s)
{
	static const double SECONDS = 10;
	struct sweep_space *space = s->spec->space;
	struct stat st;
	char plan[4200];
	uint64_t excluded = 0, pilot[PILOT];
	unsigned npilot = 0;
	snprintf(plan, sizeof plan, "%s/sweep.json", s->folder);
	if (stat(plan, &st) == 0) {
		struct sweep_space *there = sweep_store_same(s->folder, space, &s->err);
		bool ok = there != NULL;
		sweep_space_free(there);
		if (!ok || !sweep_store_read(s->folder, space, note_done, s, NULL, &s->err) || s->err.code ||
		    !is_same_build(s))
			return cli_fail(&s->err);
	}
	uint64_t left = space->pareto ? space->count : to_go(s, &excluded, pilot, &npilot);
	if (excluded)
		printf("%s excluded by where\n", npu_count_text(excluded).text);
	if (s->before)
		printf("%s in %s already\n", npu_count_text(s->before).text, s->folder);
	printf("%s to go\n", npu_count_text(left).text);
	fflush(stdout);
	if (space->pareto)
		for (; npilot < PILOT && npilot < space->points; npilot++)
			pilot[npilot] = sweep_nth(space, npilot);
	struct sweep_job job = {
		.spec = s->spec,
		.list = pilot,
		.count = npilot,
		.parallel = s->parallel,
		.seconds = SECONDS,
		.all = npilot,
		.progress = cli_value(s->cli, "quiet") ? NULL : stderr,
		.terminal = stderr_is_terminal(),
	};
	if (npilot && !sweep_run(&job, &s->counts, &s->seconds, &s->stopped, &s->err))
		return cli_fail(&s->err);
	if (s->stopped)
		return STATUS_INTERRUPTED;
	uint64_t here = s->counts.run + s->counts.not_legal + s->counts.failed;
	/* With none of them done, each takes longer than that. */
	double each = here ? s->seconds / (double)here : s->seconds / (double)s->parallel;
	if (npilot)
		print_estimate(s, left, each * (double)left, here < npilot);
	return 0;
}

static int run_all(struct session *s)
{
	char title[1024];
	printf("%s\n", sweep_title(s->spec->space, title, sizeof title));
	if (cli_value(s->cli, "dry-run"))
		return dry_run(s);
	fflush(stdout);
	unsigned shard = s->store.shard, shards = s->store.shards;
	if (!sweep_store_open(&s->store, s->folder, s->spec->space, shard, shards, &s->err) ||
	    !sweep_store_read(s->folder, s->spec->space, note_done, s, NULL, &s->err) || s->err.code ||
	    !is_same_build(s))
		return cli_fail(&s->err);
	if (s->before && shards == 1 && !cli_value(s->cli, "quiet"))
		fprintf(stderr, "%s point%s in %s already\n", npu_count_text(s->before).text,
			s->before > 1 ? "s are" : " is", s->folder);
	bool ok = s->spec->space->pareto ? run_search(s) : run_grid(s);
	if (!ok && s->stopped && !s->err.code) {
		fflush(stdout);
		fprintf(stderr, "npusim: interrupted; what is done is kept in %s, the same command goes on\n",
			s->folder);
		return STATUS_INTERRUPTED;
	}
	return ok ? summarize(s) : cli_fail(&s->err);
}

int sweep_run_command(const struct cli *cli)
{
	struct session s = { .cli = cli, .store = { .lock = -1, .shard_lock = -1 } };
	int status = begin(&s) ? run_all(&s) : cli_fail(&s.err);
	end(&s);
	return status;
}
