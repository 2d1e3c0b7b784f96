/* SPDX-License-Identifier: Apache-2.0 */
/* What the child that holds a plug-in and the parent that watches it share. */
#ifndef NPU_SIM_PLUGIN_PARTS_H
#define NPU_SIM_PLUGIN_PARTS_H

#include "sim/plugin.h"

/* The calls into a plug-in. X(NAME, text) */
#define PLUGIN_CALLS(X)                                                                                                \
	X(NONE, "")                                                                                                    \
	X(LOAD, "loading it")                                                                                          \
	X(RESOLVE, "resolve")                                                                                          \
	X(EMIT, "emit")                                                                                                \
	X(EXPECT, "expect")                                                                                            \
	X(REFERENCE, "reference")                                                                                      \
	X(BOUND, "bound")

enum plugin_call {
#define PLUGIN_CALL_ENUM(NAME, text) PLUGIN_CALL_##NAME,
	PLUGIN_CALLS(PLUGIN_CALL_ENUM)
#undef PLUGIN_CALL_ENUM
};

/* In memory of both. The child writes, the call last. */
struct plugin_watch {
	_Atomic uint64_t since_ns;   /* CLOCK_MONOTONIC when the call began */
	_Atomic uint64_t base_bytes; /* resident memory of the child at that time */
	_Atomic int call;
};

uint64_t plugin_now_ns(void);
/* Resident memory of a process, 0 when it cannot be told. */
uint64_t plugin_resident(long pid);
/* Where the child tells what it does; NULL: nobody watches. */
void plugin_watched_by(struct plugin_watch *);
/* Whether a kernel is one that npusim can rely on. `file` is what errors call it. */
bool plugin_check(const struct npu_kernel *, const char *file, struct npu_error *);
/* The values that a kernel's resolve left. */
bool plugin_check_args(const struct npu_kernel *, const struct npu_args *, const char *file, struct npu_error *);

#endif
