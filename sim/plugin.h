/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels outside this tree: shared objects that export one struct npu_kernel (npu.h, docs/library.md). Everything that
 * they do, they do in a child process, which another one watches and reports on. */
#ifndef NPU_SIM_PLUGIN_H
#define NPU_SIM_PLUGIN_H

#include "kernels/kernel.h"
#include "sim/cli.h"

#include <jansson.h>

/* Limits of each call into a plug-in when none are given. */
enum { PLUGIN_SECONDS = 60 };
#define PLUGIN_BYTES ((uint64_t)4 << 30)

struct plugin_limits {
	double seconds; /* of a call, 0: none */
	uint64_t bytes; /* 0: none */
};

/* --plugin-timeout and --plugin-memory, or what holds without them. */
bool plugin_limits_read(const struct cli *, struct plugin_limits *, struct npu_error *);
/* The same as words of a command line, into `out`; "" where they are what holds without them. */
const char *plugin_limits_text(const struct plugin_limits *, char out[80]);

/* Whether a word of the command line names one: it ends in .so, or it is the path of an ELF file. */
bool is_plugin(const char *word);
/* Before a command runs. Where a word names a plug-in, forks: true in the parent once the child has ended, with the
 * command's exit status (that of the child, or, when the plug-in crashed, called exit or exceeded a limit, that of the
 * error which has then been told). False in the child, and where no word names one: the command is to be run. */
bool plugin_fork(const struct cli *, int *status);
/* When all is done and printed: in the child, what a plug-in does at the end of a process is a call into it, too. */
void plugin_end(int status);
/* Whether a child of the process that holds the plug-in ended, with this status of waitpid(), during a call into it;
 * then the error says so. */
bool plugin_ended_in(long pid, int wait_status, struct npu_error *);
/* The kernel of a plug-in, loaded and found to be well-formed; valid as long as the process lives. Its functions are
 * watched. NULL with an error. A process loads one plug-in. */
const struct npu_kernel *plugin_kernel(const char *path, struct npu_error *);
/* Runs `body`, which may call into the plug-in, in a child that this process watches; the body's end is the child's.
 * False with an error when there is no child, or the plug-in crashed, called exit or exceeded a limit. What the plug-in
 * has forked has ended, too. This process has to be one that exists for that, with a parent that waits for it: it ends
 * with that parent, or when it is told to, and takes the child along. */
bool plugin_guard(const char *path, const struct plugin_limits *, void (*body)(void *context), void *context,
		  struct npu_error *);

/* What a process that never loads a plug-in may know of it. */
struct plugin_facts {
	struct npu_kernel kernel; /* name, summary and parameters; no functions */
	struct npu_param params[NPU_MAX_PARAMS];
	char digest[17]; /* of the file's bytes */
	json_t *owned;
	const char **choices[NPU_MAX_PARAMS];
};

/* Loads the plug-in in a child that tells. NULL with an error; else for plugin_facts_free(). */
struct plugin_facts *plugin_facts_of(const char *path, const struct plugin_limits *, struct npu_error *);
void plugin_facts_free(struct plugin_facts *);
/* False with an error when the file cannot be read. */
bool plugin_digest(const char *path, char out[17], struct npu_error *);

#endif
