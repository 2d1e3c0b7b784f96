/* SPDX-License-Identifier: Apache-2.0 */
/* Work in a process of its own, whose answer comes back through a pipe: SystemC builds one machine a process, and what
 * crashes there harms nobody else. */
#ifndef NPU_SIM_CHILD_H
#define NPU_SIM_CHILD_H

#include "isa/error.h"

#include <stddef.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	int fd;
	char *bytes; /* of the answer so far, NUL behind them; NULL: none yet */
	size_t got, room;
};

/* What a child does: writes its answer with child_write(); then it ends. */
typedef void child_body(void *context, int fd);
/* False with an error when there is no pipe or process. A child ends with its parent. */
bool child_start(struct child *, child_body *, void *context, struct npu_error *err);
/* Reads what has been written, waiting for some; true at the end of the answer. */
bool child_take(struct child *);
/* Waits for the end: the status of waitpid(). The answer stays until child_free(). */
int child_end(struct child *);
void child_free(struct child *);
/* All of it; false when nobody reads. */
bool child_write(int fd, const void *bytes, size_t nbytes);
/* As many processes at a time as there are processors for this one, within reason. */
unsigned child_parallel(void);

#endif
