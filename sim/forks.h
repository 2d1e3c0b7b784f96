/* SPDX-License-Identifier: Apache-2.0 */
/* Many runs, each in a process of its own (sim/child.h). */
#ifndef NPU_SIM_FORKS_H
#define NPU_SIM_FORKS_H

#include "isa/error.h"

#include <stddef.h>

struct forks {
	unsigned n;
	unsigned parallel;   /* processes at a time */
	void *ctx;
	void *answers;       /* [n] of answer_bytes each: plain data, no pointers */
	size_t answer_bytes;
	/* In the child: fills answer i, or fails. */
	bool (*run)(void *ctx, unsigned i, void *answer, struct npu_error *);
	/* What i is called in errors. */
	const char *(*name)(void *ctx, unsigned i);
};

/* Runs all; false with the error of the first that failed, in their order, the others ended: once one has failed, none
 * begins. */
bool forks_run(const struct forks *, struct npu_error *err);

#endif
