/* SPDX-License-Identifier: Apache-2.0 */
/* What the process that holds a plug-in and the one that watches it share. */
#ifndef NPU_SIM_PLUGIN_PARTS_H
#define NPU_SIM_PLUGIN_PARTS_H

#include <sys/types.h>

#include "sim/plugin.h"

/* The calls into a plug-in. X(NAME, text) */
#define PLUGIN_CALLS(X)                                                                                                \
	X(NONE, "what it left behind")                                                                                                    \
	X(LOAD, "loading it")                                                                                          \
	X(RESOLVE, "resolve")                                                                                          \
	X(EMIT, "emit")                                                                                                \
	X(EXPECT, "expect")                                                                                            \
	X(REFERENCE, "reference")                                                                                      \
	X(BOUND, "bound")                                                                                              \
	X(MAGNITUDE, "magnitude")                                                                                      \
	X(END, "a destructor or atexit function of it")

enum plugin_call {
#define PLUGIN_CALL_ENUM(NAME, text) PLUGIN_CALL_##NAME,
	PLUGIN_CALLS(PLUGIN_CALL_ENUM)
#undef PLUGIN_CALL_ENUM
};

/* A process that calls, which writes the call last. */
struct plugin_caller {
	_Atomic int pid;             /* 0: nobody's */
	_Atomic uint64_t since_ns;   /* CLOCK_MONOTONIC when the call began */
	_Atomic uint64_t base_bytes; /* resident memory of the process at that time */
	_Atomic int too_much;        /* the call took more than it may, and the process has ended itself */
	_Atomic int closed;          /* the call closed descriptors that the process needs, and it has ended itself */
	_Atomic int call;
};

/* More than there are ever at a time (sim/forks.h). */
enum { PLUGIN_CALLERS = 256 };

/* In memory of the child, of what it forks to run simulations, and of the one that watches. */
struct plugin_watch {
	struct plugin_caller callers[PLUGIN_CALLERS]; /* the child is the first */
	uint64_t most_bytes;         /* what a call may take, 0: anything; set by the one that watches */
	_Atomic int status;          /* with which the child ends, during the call END */
};

uint64_t plugin_now_ns(void);
/* Resident memory of a process, 0 when it cannot be told. */
uint64_t plugin_resident(long pid);
/* Forks once more: true in the child. False in the process itself, which watches the child, once that has ended: its exit
 * status, or the error of what it did; or the error of having no child. With the end of `parent`, too, the child is ended, and
 * then this process. */
bool plugin_watch_over(const char *path, const struct plugin_limits *, pid_t parent, int *status, struct npu_error *);
/* Where the child tells what it does; NULL: nobody watches. */
void plugin_watched_by(struct plugin_watch *);
/* Sets the error of a call that took more memory than it may; or of a caller that has ended during a call. */
bool plugin_took_too_much(const char *path, enum plugin_call, uint64_t most_bytes, struct npu_error *);
bool plugin_ended(const char *path, const struct plugin_caller *, uint64_t most_bytes, int wait_status, struct npu_error *);
/* Whether a kernel is one that npusim can rely on. `file` is what errors call it. */
bool plugin_check(const struct npu_kernel *, const char *file, struct npu_error *);
/* The values that a kernel's resolve left. */
bool plugin_check_args(const struct npu_kernel *, const struct npu_args *, const char *file, struct npu_error *);

#endif
