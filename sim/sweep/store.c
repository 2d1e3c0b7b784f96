/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a kill, a full disk or a power cut leaves whole but for their last line. */
#include "sim/sweep/store.h"
#include "isa/units.h"
#include "sim/config_file.h"
#include "sim/output.h"
#include "sim/report_json.h"
#include "sim/sweep/hash.h"
#include "sim/sweep/key.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SUM_BYTES = 27, PLAN_MAX = 64 << 20, LOCK_TRIES = 40 };
#define PART ".part"
#define DONE ".jsonl"

/* ---- the folder ---- */

static bool fail_io(struct npu_error *err, const char *path, const char *what)
{
	return npu_fail(err, NPU_ERR_IO, "%s: %s: %s", path, what, strerror(errno));
}

static void sync_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
}

static bool join(char out[4096], const char *folder, const char *name, struct npu_error *err)
{
	if (snprintf(out, 4096, "%s/%s", folder, name) < 4096)
		return true;
	return npu_fail(err, NPU_ERR_IO, "%.80s...: the path is too long", folder);
}

static bool make_folder(const char *path, struct npu_error *err)
{
	struct stat st;
	if (mkdir(path, 0777) == 0)
		return true;
	if (errno != EEXIST)
		return fail_io(err, path, "the folder cannot be made");
	if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
		return npu_fail(err, NPU_ERR_IO, "%s is no folder; results need one", path);
	return true;
}

struct sweep_space *sweep_store_plan(const char *path, struct npu_error *err)
{
	char file[4096];
	uint64_t nbytes;
	json_error_t where;
	if (!join(file, path, "sweep.json", err))
		return NULL;
	struct stat st;
	if (stat(file, &st) != 0 && errno == ENOENT) {
		npu_fail(err, NPU_ERR_IO, "%s: no sweep is in there (sweep.json is missing)", path);
		return NULL;
	}
	char *text = read_whole_file(file, PLAN_MAX, &nbytes, err);
	if (!text)
		return NULL;
	json_t *o = json_loadb(text, nbytes, 0, &where);
	struct sweep_space *s = NULL;
	if (o)
		s = sweep_space_read(o, file, err);
	else
		npu_fail_at(err, NPU_ERR_FORMAT, file, 0, 0, "the plan of a sweep is damaged");
	free(text);
	json_decref(o);
	return s;
}

static bool write_plan(const char *path, const struct sweep_space *space, struct npu_error *err)
{
	char file[4096];
	if (!join(file, path, "sweep.json", err))
		return false;
	struct output *out = output_open(file, err);
	json_t *o = out ? sweep_space_json(space) : NULL;
	if (!o) {
		output_abort(out);
		return out ? npu_fail(err, NPU_ERR_MEMORY, "out of memory") : false;
	}
	report_json_print(o, output_stream(out));
	json_decref(o);
	fflush(output_stream(out));
	fsync(fileno(output_stream(out)));
	if (!output_commit(out, err))
		return false;
	sync_folder(path);
	return true;
}

static bool note_nothing(void *context, uint64_t point, enum sweep_status status, const json_t *record)
{
	(void)context;
	(void)point;
	(void)status;
	(void)record;
	return true;
}

/* Results whose plan is gone belong to whom they say. */
static bool is_free(const char *path, const struct sweep_space *space, struct npu_error *err)
{
	struct sweep_strays strays = { 0 };
	return sweep_store_read(path, space, note_nothing, NULL, &strays, err) &&
	       (!strays.foreign || npu_fail(err, NPU_ERR_USAGE,
					    "%s holds results of another sweep, whose sweep.json is missing; another "
					    "folder (-o) would be right",
					    path));
}

struct sweep_space *sweep_store_same(const char *path, const struct sweep_space *space, struct npu_error *err)
{
	struct sweep_space *there = sweep_store_plan(path, err);
	bool version = there && strcmp(there->version, space->version) == 0;
	if (!there || (version && strcmp(there->identity, space->identity) == 0))
		return there;
	const char *changed = sweep_other_file(space, there);
	if (!version)
		npu_fail(err, NPU_ERR_USAGE,
			 "%s holds results of npusim %s, this is another version; another folder (-o) would be right",
			 path, there->version);
	else
		npu_fail(err, NPU_ERR_USAGE, "%s holds results of another sweep%s%s%s; another folder (-o) would be right",
			 path, changed ? ": " : "", changed ? changed : "", changed ? " has changed since" : "");
	sweep_space_free(there);
	return NULL;
}

/* The plan is written by whoever comes first; shards that come together write the same one. */
bool sweep_store_agree(const char *path, const struct sweep_space *space, struct npu_error *err)
{
	char file[4096];
	struct stat st;
	if (!join(file, path, "sweep.json", err))
		return false;
	if (stat(file, &st) != 0)
		return is_free(path, space, err) && write_plan(path, space, err);
	struct sweep_space *there = sweep_store_same(path, space, err);
	if (!there)
		return false;
	bool shows = there->nreport == space->nreport;
	for (unsigned i = 0; shows && i < space->nreport; i++)
		shows = strcmp(there->report[i], space->report[i]) == 0;
	/* What is shown may change, and what decides nothing in a file, as a comment does. */
	shows = shows && !sweep_other_file(space, there);
	sweep_space_free(there);
	return shows || write_plan(path, space, err);
}

static int lock(const char *path, const char *name, int how, struct npu_error *err)
{
	char file[4096];
	if (!join(file, path, name, err))
		return -1;
	int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0) {
		fail_io(err, path, "results cannot be written");
		return -1;
	}
	/* A run that was killed has let go of it once its last process has ended. */
	struct timespec pause = { 0, 50 * 1000000L };
	unsigned tries = 0;
	while (flock(fd, how | LOCK_NB) != 0) {
		if (errno == EINTR)
			continue;
		if (errno != EWOULDBLOCK || ++tries == LOCK_TRIES)
			break;
		nanosleep(&pause, NULL);
	}
	if (tries < LOCK_TRIES)
		return fd;
	int why = errno;
	close(fd);
	if (why == EWOULDBLOCK)
		npu_fail(err, NPU_ERR_IO, "%s: another sweep is running in this folder", path);
	else
		npu_fail(err, NPU_ERR_IO, "%s: cannot be locked: %s", path, strerror(why));
	return -1;
}

static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);
	return n > m && strcmp(name + n - m, end) == 0;
}

/* Gives a worker's file its last name. */
static void put_away(const char *path, const char *part)
{
	char done[4200];
	int stem = (int)(strlen(part) - strlen(PART));
	for (unsigned n = 1; n < 1000000; n++) {
		snprintf(done, sizeof done, "%.*s.%u" DONE, stem, part, n);
		if (link(part, done) == 0 || errno != EEXIST)
			break;
	}
	/* Where links are not to be had. */
	struct stat st;
	if (stat(done, &st) != 0)
		rename(part, done);
	else
		unlink(part);
	sync_folder(path);
}

/* Cuts what is no whole line. */
static bool mend(const char *file, struct npu_error *err)
{
	int fd = open(file, O_RDWR | O_CLOEXEC);
	struct stat st;
	char buffer[4096];
	if (fd < 0 || fstat(fd, &st) != 0) {
		if (fd >= 0)
			close(fd);
		return fail_io(err, file, "cannot be read");
	}
	off_t keep = st.st_size;
	bool found = keep == 0;
	while (keep > 0 && !found) {
		off_t from = keep > (off_t)sizeof buffer ? keep - (off_t)sizeof buffer : 0;
		ssize_t n = pread(fd, buffer, (size_t)(keep - from), from);
		if (n <= 0)
			break;
		while (n > 0 && buffer[n - 1] != '\n')
			n--;
		found = n > 0;
		keep = from + n;
	}
	bool ok = keep == st.st_size || ftruncate(fd, keep) == 0;
	close(fd);
	if (ok && keep == 0)
		unlink(file);
	return ok || fail_io(err, file, "cannot be written");
}

static bool tidy(const struct sweep_store *s, struct npu_error *err)
{
	char prefix[64], file[4096];
	struct dirent *e;
	struct stat st;
	DIR *d = opendir(s->path);
	bool ok = d != NULL;
	snprintf(prefix, sizeof prefix, "points-%u-%u-", s->shard, s->shards);
	while (ok && (e = readdir(d))) {
		bool mine = strncmp(e->d_name, s->shards == 1 ? "points-" : prefix,
				    strlen(s->shards == 1 ? "points-" : prefix)) == 0;
		if (!mine || !ends_in(e->d_name, PART))
			continue;
		ok = join(file, s->path, e->d_name, err) && mend(file, err);
		if (ok && stat(file, &st) == 0)
			put_away(s->path, file);
	}
	if (d)
		closedir(d);
	return ok || d || fail_io(err, s->path, "cannot be read");
}

bool sweep_store_open(struct sweep_store *s, const char *path, const struct sweep_space *space, unsigned shard,
		      unsigned shards, struct npu_error *err)
{
	char name[64];
	*s = (struct sweep_store){ .path = path, .lock = -1, .shard_lock = -1, .shard = shard, .shards = shards };
	snprintf(s->identity, sizeof s->identity, "%s", space->identity);
	snprintf(name, sizeof name, "lock-%u-%u", shard, shards);
	bool ok = make_folder(path, err) && (s->lock = lock(path, "lock", shards > 1 ? LOCK_SH : LOCK_EX, err)) >= 0 &&
		  (shards == 1 || (s->shard_lock = lock(path, name, LOCK_EX, err)) >= 0) &&
		  sweep_store_agree(path, space, err) && tidy(s, err);
	if (!ok)
		sweep_store_close(s);
	return ok;
}

void sweep_store_close(struct sweep_store *s)
{
	if (s->lock >= 0)
		close(s->lock);
	if (s->shard_lock >= 0)
		close(s->shard_lock);
	s->lock = s->shard_lock = -1;
}

/* ---- records ---- */

static uint64_t sum_of(const char *text, size_t n)
{
	return sweep_hash_bytes(SWEEP_HASH_BEGIN, text, n);
}

bool sweep_log_open(struct sweep_log *log, const struct sweep_store *s, unsigned worker, struct npu_error *err)
{
	char name[64];
	*log = (struct sweep_log){ .fd = -1 };
	snprintf(name, sizeof name, "points-%u-%u-%u" PART, s->shard, s->shards, worker);
	if (!join(log->path, s->path, name, err))
		return false;
	log->fd = open(log->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
	if (log->fd < 0)
		return fail_io(err, log->path, "cannot be written");
	log->identity = s->identity;
	sync_folder(s->path);
	return true;
}

bool sweep_log_append(struct sweep_log *log, json_t *record, struct npu_error *err)
{
	if (record)
		json_object_set_new(record, "sweep", json_string(log->identity));
	char *text = record ? json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
	size_t n = text ? strlen(text) : 0;
	char *line = text ? malloc(n + SUM_BYTES + 2) : NULL;
	const char *status = json_string_value(json_object_get(record, "status"));
	if (!line) {
		free(text);
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	}
	/* The closing brace makes room for the checksum of what stands before it. */
	memcpy(line, text, n - 1);
	snprintf(line + n - 1, SUM_BYTES + 3, ",\"sum\":\"%016" PRIx64 "\"}\n", sum_of(text, n - 1));
	free(text);
	n = strlen(line);
	size_t done = 0;
	bool ok = true;
	while (ok && done < n) {
		ssize_t wrote = write(log->fd, line + done, n - done);
		if (wrote < 0 && errno != EINTR)
			ok = fail_io(err, log->path, "cannot be written");
		done += wrote > 0 ? (size_t)wrote : 0;
	}
	/* What takes no time needs no disk: it would just be told again. */
	if (ok && strcmp(status ? status : "", "not legal") != 0 && fdatasync(log->fd) != 0 && errno != EINVAL)
		ok = fail_io(err, log->path, "cannot be written");
	free(line);
	if (ok)
		log->bytes += (int64_t)n;
	else if (ftruncate(log->fd, log->bytes) != 0)
		npu_error_note(err, "  its last line is cut; the next run takes it away");
	return ok;
}

bool sweep_log_recover(const struct sweep_store *s, unsigned worker, struct npu_error *err)
{
	char name[64], file[4096];
	struct stat st;
	snprintf(name, sizeof name, "points-%u-%u-%u" PART, s->shard, s->shards, worker);
	if (!join(file, s->path, name, err))
		return false;
	if (stat(file, &st) != 0)
		return errno == ENOENT || fail_io(err, file, "cannot be read");
	if (!mend(file, err))
		return false;
	if (stat(file, &st) == 0)
		put_away(s->path, file);
	return true;
}

void sweep_log_close(struct sweep_log *log, const struct sweep_store *s)
{
	if (log->fd < 0)
		return;
	fdatasync(log->fd);
	close(log->fd);
	if (log->bytes)
		put_away(s->path, log->path);
	else
		unlink(log->path);
	log->fd = -1;
}

/* ---- reading ---- */

/* A line without its end, checked; NULL: it is damaged. */
static json_t *record_of(const char *line, size_t n)
{
	char sum[32];
	if (n <= SUM_BYTES || n > (size_t)1 << 20)
		return NULL;
	size_t body = n - SUM_BYTES + 1;
	snprintf(sum, sizeof sum, ",\"sum\":\"%016" PRIx64 "\"}", sum_of(line, body));
	if (strlen(sum) != n - body || memcmp(line + body, sum, n - body) != 0)
		return NULL;
	return json_loadb(line, n, JSON_REJECT_DUPLICATES, NULL);
}

static enum sweep_status status_of(const json_t *record)
{
	const char *text = json_string_value(json_object_get(record, "status"));
	for (enum sweep_status s = SWEEP_RUN; text && s <= SWEEP_FAILED; s++)
		if (strcmp(sweep_status_name(s), text) == 0)
			return s;
	return SWEEP_MISSING;
}

static bool is_of(const json_t *record, const struct sweep_space *space)
{
	const char *sweep = json_string_value(json_object_get(record, "sweep"));
	return sweep && strcmp(sweep, space->identity) == 0;
}

static bool read_file(const char *path, const struct sweep_space *space, sweep_each *each, void *context,
		      struct sweep_strays *strays, struct npu_error *err)
{
	FILE *in = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	bool more = true;
	/* One that was renamed since the folder was read is found under its other name. */
	if (!in)
		return errno == ENOENT || fail_io(err, path, "cannot be read");
	while (more && (n = getline(&line, &room, in)) > 0) {
		bool whole = line[n - 1] == '\n';
		json_t *record = whole ? record_of(line, (size_t)n - 1) : NULL;
		enum sweep_status status = record ? status_of(record) : SWEEP_MISSING;
		json_int_t point = json_integer_value(json_object_get(record, "point"));
		if (record && !is_of(record, space))
			strays->foreign++;
		else if (whole && (status == SWEEP_MISSING || point < 0 || (uint64_t)point >= space->points))
			strays->damaged++;
		else if (whole && !sweep_judge_holds(space->judge, space, (uint64_t)point, status, record))
			strays->astray++;
		else if (whole)
			more = each(context, (uint64_t)point, status, record);
		json_decref(record);
	}
	free(line);
	fclose(in);
	return more;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

bool sweep_store_read(const char *path, const struct sweep_space *space, sweep_each *each, void *context,
		      struct sweep_strays *strays, struct npu_error *err)
{
	struct sweep_strays here = { 0 };
	char **names = NULL, file[4096];
	size_t n = 0;
	struct dirent *e;
	DIR *d = opendir(path);
	if (!d)
		return fail_io(err, path, "cannot be read");
	bool ok = true;
	while (ok && (e = readdir(d))) {
		if (strncmp(e->d_name, "points-", 7) != 0 || !(ends_in(e->d_name, PART) || ends_in(e->d_name, DONE)))
			continue;
		char **more = realloc(names, (n + 1) * sizeof *names);
		ok = more != NULL;
		if (ok) {
			names = more;
			names[n++] = strdup(e->d_name);
		}
	}
	closedir(d);
	if (names)
		qsort(names, n, sizeof *names, by_name);
	if (!ok)
		npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	for (size_t i = 0; i < n; i++) {
		ok = ok && join(file, path, names[i], err) && read_file(file, space, each, context, &here, err);
		free(names[i]);
	}
	free(names);
	if (strays) {
		strays->damaged += here.damaged;
		strays->foreign += here.foreign;
		strays->astray += here.astray;
	}
	return ok;
}

const char *sweep_strays_text(const struct sweep_strays *s, char out[160])
{
	const struct {
		uint64_t n;
		const char *one, *many;
	} kinds[] = {
		{ s->damaged, "damaged line", "damaged lines" },
		{ s->foreign, "line of another sweep", "lines of another sweep" },
		{ s->astray, "line that is not of its point", "lines that are not of their points" },
	};
	uint64_t all = s->damaged + s->foreign + s->astray;
	unsigned used = 0;
	out[0] = '\0';
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (kinds[i].n && used < 160)
			used += (unsigned)snprintf(out + used, 160 - used, "%s%s %s", used ? ", " : "",
						   npu_count_text(kinds[i].n).text,
						   kinds[i].n > 1 ? kinds[i].many : kinds[i].one);
	if (all && used < 160)
		snprintf(out + used, 160 - used, " %s left out", all > 1 ? "are" : "is");
	return out;
}
