/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels outside this tree: shared objects that export one struct npu_kernel (npu.h, docs/library.md). Everything that
 * they do, they do in a child process, which another one watches and reports on. */
#ifndef NPU_SIM_PLUGIN_H
#define NPU_SIM_PLUGIN_H

#include "kernels/kernel.h"
#include "sim/cli.h"

/* Limits of each call into a plug-in when none are given. */
enum { PLUGIN_SECONDS = 60 };
#define PLUGIN_BYTES ((uint64_t)4 << 30)

/* Whether a word of the command line names one: it ends in .so, or it is the path of an ELF file. */
bool is_plugin(const char *word);
/* Before a command runs. Where a word names a plug-in, forks: true in the parent once the child has ended, with the
 * command's exit status (that of the child, or, when the plug-in crashed, called exit or exceeded a limit, that of the
 * error which has then been told). False in the child, and where no word names one: the command is to be run. */
bool plugin_fork(const struct cli *, int *status);
/* When all is done and printed: in the child, what a plug-in does at the end of a process is a call into it, too. */
void plugin_end(int status);
/* The kernel of a plug-in, loaded and found to be well-formed; valid as long as the process lives. Its functions are
 * watched. NULL with an error. A process loads one plug-in. */
const struct npu_kernel *plugin_kernel(const char *path, struct npu_error *);

#endif
