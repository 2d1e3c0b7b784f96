/* SPDX-License-Identifier: Apache-2.0 */
/* The points of a sweep, by number: what is swept over which values. Nothing is ever listed. The plan file of a folder
 * (sweep.json) holds all of it, so that answers need neither the specification nor the program. */
#ifndef NPU_SIM_SWEEP_SPACE_H
#define NPU_SIM_SWEEP_SPACE_H

#include "sim/sweep/expr.h"

#include <jansson.h>

enum {
	SWEEP_AXES = 16,
	SWEEP_KEYS = 16,
	SWEEP_VALUES = 65536,
	SWEEP_SETTINGS = 64,
	SWEEP_REPORT = 32,
	SWEEP_GOALS = 4
};
/* More are not run one by one: a sample or a search takes some. */
#define SWEEP_MOST_POINTS ((uint64_t)10000000)
#define SWEEP_MOST_GRID   ((uint64_t)1 << 62)
/* Of all keys of all axes together, so that a plan stays one that is read back. */
#define SWEEP_MOST_VALUES ((uint64_t)SWEEP_AXES * SWEEP_VALUES)

enum sweep_subject { SWEEP_KERNEL, SWEEP_PROGRAM, SWEEP_MODEL };

/* One axis: of several keys, their values go together. */
struct sweep_axis {
	char *name;    /* of the only key, or of the group */
	bool hardware; /* all keys are: a dot is in them, or "hw" itself */
	unsigned nkeys;
	char *keys[SWEEP_KEYS];
	uint32_t count;
	char **values; /* [nkeys * count], all of key 0 first */
	uint32_t line, column;
};

struct sweep_setting {
	char *key, *value;
};

/* A file that results depend on. */
struct sweep_file {
	char *path; /* whole; of a preset "presets/edge-1mb.yaml", wherever those lie */
	char digest[17];
};

struct sweep_space {
	enum sweep_subject kind;
	char
	    *subject; /* kernel, path, model; paths here and below are as they were written, beside the specification */
	char *hw;     /* preset or path */
	char *beside; /* in front of those paths, for this process; "" or ends with a slash */
	char *folder; /* the same for everybody: the whole path of the specification's folder */
	bool abroad;  /* commands are for somebody who is elsewhere: paths in them are whole */
	char *spec;   /* the whole path of the specification; "-": it came from stdin */
	struct sweep_setting with[SWEEP_SETTINGS];
	unsigned nwith;
	struct sweep_axis axes[SWEEP_AXES];
	unsigned naxes;
	char *where; /* NULL: none */
	char *report[SWEEP_REPORT];
	unsigned nreport;
	uint64_t sample, seed; /* 0: the whole grid */
	bool pareto;
	char *goals[SWEEP_GOALS]; /* of pareto */
	unsigned ngoals;
	uint64_t budget;   /* points that a search may run */
	uint64_t points;   /* of the grid */
	uint64_t count;    /* that are run; of a search, at most */
	bool clocks;       /* its machines run at several clocks: cycles are not time */
	char machines[17]; /* hash of the machines as they were read */
	char inputs[17];   /* the same of machines, programs and models */
	char identity[17]; /* hash of all that decides a result: of the plan and `inputs` */
	struct sweep_file *files;
	unsigned nfiles;
	char digest[17];           /* of a plug-in's file; "" where the subject is none */
	char *version;             /* of the tool */
	struct sweep_judge *judge; /* of records that are read (key.h) */
};

/* Nothing in it; NULL when out of memory. */
struct sweep_space *sweep_space_new(void);
void sweep_space_free(struct sweep_space *);
/* What axes and keys may be called: letters, digits, _ . - after a letter or _. */
bool sweep_is_name(const char *);
/* Whether a machine or a DRAM part is a file, not a preset. */
bool sweep_is_path(const char *name);
/* What is a name or a path: hw, dram.part. */
bool sweep_is_path_key(const char *key);
/* Where a file of the plan lies, from here; `name` itself where it is whole; malloc'ed. */
char *sweep_path(const struct sweep_space *, const char *name);
/* Sets identity. */
bool sweep_space_identify(struct sweep_space *, struct npu_error *err);
/* The first of its files that is not as it was when the sweep began, NULL: none. */
const char *sweep_changed_file(const struct sweep_space *);
/* A file of both that is not the same in them, by its path or by where it is beside the specification; NULL: none. */
const char *sweep_other_file(const struct sweep_space *, const struct sweep_space *other);
/* Takes the path over; the file is listed once. False when memory is short; then the path is freed. */
bool sweep_add_file(struct sweep_space *, char *path, const char *digest);
/* FNV-1a over a file, 16 hex digits; false when it cannot be read. */
bool sweep_file_digest(const char *path, char out[17]);
/* The index on an axis of a point of the grid; the last axis changes first. */
uint32_t sweep_index(const struct sweep_space *, uint64_t point, unsigned axis);
/* The point whose index on an axis is another one. */
uint64_t sweep_move(const struct sweep_space *, uint64_t point, unsigned axis, uint32_t to);
/* "1MiB"; of a group "32x32" where its values are alike, else "32,1MiB"; into `out`. */
const char *sweep_label(const struct sweep_axis *, uint32_t index, char *out, unsigned size);
/* The n-th point to be run, n < count, in an order without a pattern, each once. */
uint64_t sweep_nth(const struct sweep_space *, uint64_t n);
/* A permutation of [0, n). */
uint64_t sweep_shuffle(uint64_t i, uint64_t n, uint64_t seed);
/* "npusim run flash_attention seq=512 --hw edge-1mb tile_q=64": runs the point again, from where this process is; files
 * of the specification are whole paths elsewhere than in its folder; into `out`. */
const char *sweep_command(const struct sweep_space *, uint64_t point, char *out, unsigned size);
/* "npusim run gemv m=1 n=2048 --hw edge-1mb": `run` on the machine of a point; into `out`. */
const char *sweep_command_on(const struct sweep_space *, uint64_t point, const char *run, char *out, unsigned size);
/* A word as a shell takes it, in quotes, on one line of text whatever is in it; into `out`, of 4 bytes a byte and 4. */
const char *sweep_quoted(const char *word, char *out, unsigned size);
/* "flash_attention seq=512: 5 sram.size x 4 array = 20 points" */
const char *sweep_title(const struct sweep_space *, char *out, unsigned size);

json_t *sweep_space_json(const struct sweep_space *);
/* NULL with an error that names `file`. */
struct sweep_space *sweep_space_read(const json_t *, const char *file, struct npu_error *err);

#endif
