/* SPDX-License-Identifier: Apache-2.0 */
/* Workers take numbers from a counter in shared memory, so that none waits for another; each writes its own file. */
#define _GNU_SOURCE
#include "sim/sweep/run.h"
#include "isa/units.h"
#include "sim/child.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_WORKERS = 256, LOOK_MS = 100 };
static const double LINE_SECONDS = 10;
/* So many times a point may take its worker with it; so many workers may be lost without a point done, before it is
 * given up. */
enum { MOST_DEATHS = 2, MOST_LOSSES = 16 };

/* What a worker is at. */
struct hand {
	_Atomic uint64_t point;  /* + 1; 0: none */
	_Atomic unsigned deaths; /* of workers that were at it */
};

/* Between the processes. */
struct shared {
	struct hand hands[MOST_WORKERS];
	_Atomic uint64_t next;
	_Atomic bool stop;
	_Atomic uint64_t run, not_legal, failed;
	atomic_flag told;
	_Atomic bool broken; /* `err` holds why */
	struct npu_error err;
};

/* A signal handler takes no context. */
static volatile sig_atomic_t wanted_to_stop;
static void want_to_stop(int sig)
{
	(void)sig;
	wanted_to_stop = 1;
}

unsigned sweep_processors(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
	return n < 1 ? 1 : n > MOST_WORKERS ? MOST_WORKERS : (unsigned)n;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- one point ---- */

struct order {
	const struct sweep_job *job;
	uint64_t point;
	int fd; /* where the record goes */
};

static void tell(int fd, json_t *record)
{
	char *text = record ? json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
	if (text)
		child_write(fd, text, strlen(text));
	free(text);
	json_decref(record);
}

static void run_and_tell(void *context)
{
	const struct order *order = context;
	tell(order->fd, sweep_point_run(order->job->spec, order->point, order->job->known));
}

static void run_there(void *context, int fd)
{
	struct order *order = context;
	const struct sweep_spec *spec = order->job->spec;
	struct npu_error err = { 0 };
	char why[sizeof err.text + sizeof err.file + 32];
	order->fd = fd;
	/* A stop is the worker's to decide. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	if (!spec->plugin)
		run_and_tell(order);
	else if (!plugin_guard(spec->subject, &spec->limits, run_and_tell, order, &err))
		tell(fd, sweep_point_failed(spec->space, order->point, npu_error_print(&err, why, sizeof why)));
}

/* The record of one attempt; NULL when it was stopped. */
static json_t *attempt(const struct sweep_job *job, struct shared *shared, uint64_t point)
{
	struct order order = { job, point, -1 };
	struct npu_error err = { 0 };
	struct child child;
	char why[128];
	if (!child_start(&child, run_there, &order, &err))
		return sweep_point_failed(job->spec->space, point, err.text);
	struct pollfd fd = { .fd = child.fd, .events = POLLIN };
	bool ended = false;
	while (!ended && !shared->stop)
		if (poll(&fd, 1, LOOK_MS) > 0)
			ended = child_take(&child);
	/* Who watches a plug-in takes away all of it, at once. */
	if (!ended)
		kill(child.pid, job->spec->plugin ? SIGTERM : SIGKILL);
	int status = child_end(&child);
	json_t *record = ended && child.got ? json_loadb(child.bytes, child.got, 0, NULL) : NULL;
	child_free(&child);
	if (record || !ended)
		return record;
	if (WIFSIGNALED(status))
		snprintf(why, sizeof why, "its process was ended by signal %d%s", WTERMSIG(status),
			 WTERMSIG(status) == SIGKILL ? ", as for want of memory" : "");
	else
		snprintf(why, sizeof why, "its process told nothing");
	return sweep_point_failed(job->spec->space, point, why);
}

static bool has_failed(const json_t *record)
{
	const char *status = json_string_value(json_object_get(record, "status"));
	return status && strcmp(status, sweep_status_name(SWEEP_FAILED)) == 0;
}

/* What a run of the point alone needs to fail the same way. */
static void add_limits(const struct sweep_spec *spec, json_t *record)
{
	char text[80];
	if (spec->plugin && record && has_failed(record) && *plugin_limits_text(&spec->limits, text))
		json_object_set_new(record, "options", json_string(text));
}

static void count(struct shared *shared, const json_t *record)
{
	const char *status = json_string_value(json_object_get(record, "status"));
	if (has_failed(record))
		shared->failed++;
	else if (status && strcmp(status, sweep_status_name(SWEEP_RUN)) == 0)
		shared->run++;
	else
		shared->not_legal++;
}

/* ---- a worker ---- */

static void break_off(struct shared *shared, const struct npu_error *err)
{
	if (!atomic_flag_test_and_set(&shared->told)) {
		shared->err = *err;
		shared->broken = true;
	}
	shared->stop = true;
}

static void work_on(const struct sweep_job *job, struct shared *shared, struct sweep_log *log, struct hand *hand,
		    uint64_t point)
{
	struct npu_error err = { 0 };
	bool divides = false;
	json_t *record;
	hand->point = point + 1;
	if (hand->deaths >= MOST_DEATHS)
		record = sweep_point_failed(job->spec->space, point,
					    "each time it was run, the process that runs points was ended");
	else
		record = sweep_spec_passes(job->spec, point, &divides)
			     ? attempt(job, shared, point)
			     : sweep_point_excluded(job->spec->space, point, divides);
	if (record && has_failed(record) && hand->deaths < MOST_DEATHS) {
		json_decref(record);
		record = attempt(job, shared, point);
		add_limits(job->spec, record);
	}
	if (record && log && !sweep_log_append(log, record, &err))
		break_off(shared, &err);
	else if (record)
		count(shared, record);
	json_decref(record);
	hand->point = 0;
	hand->deaths = 0;
}

static void work(const struct sweep_job *job, struct shared *shared, struct sweep_log *log, struct hand *hand)
{
	const struct sweep_space *space = job->spec->space;
	uint64_t n;
	/* What the one before it was at. */
	if (hand->point)
		work_on(job, shared, log, hand, hand->point - 1);
	while (!shared->stop && (n = shared->next++) < job->from + job->count) {
		unsigned shards = job->store ? job->store->shards : 1;
		if (!job->list && shards > 1 && n % shards != job->store->shard - 1)
			continue;
		uint64_t point = job->list ? job->list[n] : sweep_nth(space, n);
		if (job->done && sweep_set_has(job->done, point))
			continue;
		work_on(job, shared, log, hand, point);
	}
}

static _Noreturn void be_worker(const struct sweep_job *job, struct shared *shared, unsigned number, pid_t parent)
{
	struct npu_error err = { 0 };
	struct sweep_log log = { .fd = -1 };
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	if (getppid() != parent)
		_exit(1);
	if (job->store && !sweep_log_open(&log, job->store, number, &err))
		break_off(shared, &err);
	else
		work(job, shared, job->store ? &log : NULL, &shared->hands[number]);
	if (job->store)
		sweep_log_close(&log, job->store);
	_exit(0);
}

/* ---- all of them ---- */

static void show(const struct sweep_job *job, const struct shared *shared, double seconds, bool last)
{
	enum { BAR = 24 };
	uint64_t here = shared->run + shared->not_legal + shared->failed, done = job->before + here;
	double rate = seconds > 0 ? (double)here / seconds : 0, share = job->all ? (double)done / (double)job->all : 1;
	char left[48] = "";
	if (rate > 0 && !last) {
		double s = (double)(job->all - done) / rate;
		if (s < 120)
			snprintf(left, sizeof left, ", %.0f s left", s);
		else if (s < 7200)
			snprintf(left, sizeof left, ", %.0f min left", s / 60);
		else
			snprintf(left, sizeof left, ", %.1f h left", s / 3600);
	}
	if (job->terminal) {
		char bar[BAR + 1] = "";
		unsigned full = (unsigned)(share * BAR);
		for (unsigned i = 0; i < BAR; i++)
			bar[i] = i < full ? '#' : '.';
		fprintf(job->progress, "\r\033[K[%s] %3.0f %%  %s of %s, %.1f points/s%s", bar, share * 100,
			npu_count_text(done).text, npu_count_text(job->all).text, rate, left);
		if (last)
			fprintf(job->progress, "\r\033[K");
	} else if (!last) {
		fprintf(job->progress, "%s of %s points (%.0f %%), %.1f points/s%s\n", npu_count_text(done).text,
			npu_count_text(job->all).text, share * 100, rate, left);
	}
	fflush(job->progress);
}

/* Workers, by number. */
struct crew {
	pid_t pids[MOST_WORKERS];
	unsigned n, losses;
	uint64_t done; /* points, when the last one was lost */
};

static bool start_one(const struct sweep_job *job, struct shared *shared, struct crew *crew, unsigned number,
		      struct npu_error *err)
{
	pid_t parent = getpid(), pid = fork();
	if (pid == 0)
		be_worker(job, shared, number, parent);
	crew->pids[number] = pid > 0 ? pid : 0;
	return pid > 0 || npu_fail(err, NPU_ERR_MEMORY, "no other process: %s", strerror(errno));
}

static void start_all(const struct sweep_job *job, struct shared *shared, struct crew *crew, struct npu_error *err)
{
	while (crew->n < job->parallel && crew->n < MOST_WORKERS && start_one(job, shared, crew, crew->n, err))
		crew->n++;
}

static uint64_t all_done(const struct shared *shared)
{
	return shared->run + shared->not_legal + shared->failed;
}

/* One that did not end by itself: what it has written is kept, and another one goes on with what it was at. */
static bool replace(const struct sweep_job *job, struct shared *shared, struct crew *crew, unsigned number, int status)
{
	struct npu_error err = { 0 };
	struct hand *hand = &shared->hands[number];
	uint64_t point = hand->point, done = all_done(shared);
	char how[40], what[64] = "";
	snprintf(how, sizeof how, WIFSIGNALED(status) ? "signal %d" : "exit status %d",
		 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	if (job->progress && job->terminal)
		fputs("\r\033[K", job->progress);
	if (point) {
		snprintf(what, sizeof what, ", at point %s", npu_count_text(point - 1).text);
		hand->deaths++;
	}
	fprintf(stderr, "npusim: warning: a process that runs points has ended by %s%s; another one goes on\n", how,
		what);
	crew->losses = done > crew->done ? 1 : crew->losses + 1;
	crew->done = done;
	if (job->store && !sweep_log_recover(job->store, number, &err))
		return break_off(shared, &err), false;
	if (crew->losses < MOST_LOSSES)
		return start_one(job, shared, crew, number, &err) || (break_off(shared, &err), false);
	npu_fail(&err, NPU_ERR_IO, "%d processes in a row have ended by %s without a point done", MOST_LOSSES, how);
	return break_off(shared, &err), false;
}

static void wait_for_all(const struct sweep_job *job, struct shared *shared, struct crew *crew, double begun)
{
	struct timespec pause = { 0, LOOK_MS / 2 * 1000000L };
	double next = begun + (job->terminal ? 0.2 : LINE_SECONDS);
	int status;
	for (unsigned left = crew->n; left;) {
		if (wanted_to_stop || (job->seconds > 0 && now() - begun > job->seconds))
			shared->stop = true;
		for (unsigned i = 0; i < crew->n; i++)
			if (crew->pids[i] > 0 && waitpid(crew->pids[i], &status, WNOHANG) == crew->pids[i]) {
				bool by_itself = WIFEXITED(status) && WEXITSTATUS(status) == 0;
				crew->pids[i] = 0;
				if (by_itself || !replace(job, shared, crew, i, status))
					left--;
			}
		if (job->progress && now() >= next && left) {
			show(job, shared, now() - begun, false);
			next = now() + (job->terminal ? 0.2 : LINE_SECONDS);
		}
		if (left)
			nanosleep(&pause, NULL);
	}
}

bool sweep_run(const struct sweep_job *job, struct sweep_counts *counts, double *seconds, bool *stopped,
	       struct npu_error *err)
{
	struct crew crew = { .n = 0 };
	struct sigaction handler = { .sa_handler = want_to_stop }, old[2];
	struct npu_error failed = { 0 };
	struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	shared->next = job->from;
	atomic_flag_clear(&shared->told);
	fflush(NULL);
	wanted_to_stop = 0;
	sigemptyset(&handler.sa_mask);
	sigaction(SIGINT, &handler, &old[0]);
	sigaction(SIGTERM, &handler, &old[1]);
	double begun = now();
	start_all(job, shared, &crew, &failed);
	wait_for_all(job, shared, &crew, begun);
	*seconds += now() - begun;
	if (job->progress && job->terminal)
		show(job, shared, now() - begun, true);
	sigaction(SIGINT, &old[0], NULL);
	sigaction(SIGTERM, &old[1], NULL);
	counts->run += shared->run;
	counts->not_legal += shared->not_legal;
	counts->failed += shared->failed;
	*stopped = wanted_to_stop;
	bool ok = crew.n > 0 && !shared->broken;
	if (!ok && err)
		*err = shared->broken ? shared->err : failed;
	munmap(shared, sizeof *shared);
	return ok;
}
