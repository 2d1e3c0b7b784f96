/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of results. sweep.json is the plan; points-SHARD-SHARDS-WORKER.part is what a worker appends to, a JSON line
 * a point with a checksum at its end, each on the disk before the next one begins; it is renamed to .N.jsonl when the
 * worker ends, or, after a kill, by the next run. `lock` and lock-SHARD-SHARDS keep two runs apart. */
#ifndef NPU_SIM_SWEEP_STORE_H
#define NPU_SIM_SWEEP_STORE_H

#include "sim/sweep/point.h"
#include "sim/sweep/set.h"

struct sweep_store {
	const char *path; /* the caller's */
	int lock, shard_lock;
	unsigned shard, shards; /* from 1; 1 of 1: all */
	char identity[17];      /* of the sweep; every record tells it */
};

/* Makes the folder where there is none, writes or compares its plan, locks it, and tidies up after a run that was
 * killed. */
bool sweep_store_open(struct sweep_store *, const char *path, const struct sweep_space *, unsigned shard,
		      unsigned shards, struct npu_error *err);
void sweep_store_close(struct sweep_store *);
/* Whether a folder, which is there, holds results of this sweep and version, or none: then the plan is written. False
 * with an error. */
bool sweep_store_agree(const char *path, const struct sweep_space *, struct npu_error *err);
/* The plan of a folder where it is that of this sweep; NULL with an error that names what has changed. */
struct sweep_space *sweep_store_same(const char *path, const struct sweep_space *, struct npu_error *err);
/* The plan of a folder; NULL with an error. */
struct sweep_space *sweep_store_plan(const char *path, struct npu_error *err);

/* A worker's file. */
struct sweep_log {
	int fd;
	char path[4096];
	const char *identity; /* the store's */
	int64_t bytes;        /* that are whole records */
};
bool sweep_log_open(struct sweep_log *, const struct sweep_store *, unsigned worker, struct npu_error *err);
/* Appends, and, where it was work, waits until it is on the disk. A record that did not fit is taken back. */
bool sweep_log_append(struct sweep_log *, json_t *record, struct npu_error *err);
/* Puts away what a worker has left that ended without sweep_log_close(). */
bool sweep_log_recover(const struct sweep_store *, unsigned worker, struct npu_error *err);
void sweep_log_close(struct sweep_log *, const struct sweep_store *);

/* Lines of a folder that are no results of its sweep. */
struct sweep_strays {
	uint64_t damaged; /* no record, or not what was written */
	uint64_t foreign; /* a record of another sweep */
	uint64_t astray;  /* of this one, but its key is not that of its point */
};
/* Calls `each` for every record of this sweep in the folder, one of a point or more, in no order; false stops. Adds to
 * strays, which may be NULL. */
typedef bool sweep_each(void *context, uint64_t point, enum sweep_status, const json_t *record);
bool sweep_store_read(const char *path, const struct sweep_space *, sweep_each *, void *context, struct sweep_strays *,
		      struct npu_error *err);
/* "3 damaged lines, 2 lines of another sweep are left out"; "" where there are none. */
const char *sweep_strays_text(const struct sweep_strays *, char out[160]);

#endif
