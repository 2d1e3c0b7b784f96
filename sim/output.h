/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a person asked for: written beside their place and renamed at the end, so that a reader never sees half of
 * one and a failed or interrupted run leaves what was there. A run that is killed outright (SIGKILL, power) leaves FILE.npusim-XXXXXX,
 * which the next one that writes FILE takes away. Devices, pipes and "-" are written directly. */
#ifndef NPU_SIM_OUTPUT_H
#define NPU_SIM_OUTPUT_H

#include "isa/error.h"

#include <stdio.h>

struct output;

/* NULL with an error of code IO that names `path`: a folder, no permission, no such folder, ... `path` "-" is stdout. A
 * symbolic link stays one: what it points to is replaced. An existing file's permissions are kept. */
struct output *output_open(const char *path, struct npu_error *);
FILE *output_stream(struct output *);
/* Flushes and puts the file in its place. The output is freed, also on failure; then the old file is untouched. Stdout
 * never fails here: cli_main() tells once, at the end, whether all of it arrived. */
bool output_commit(struct output *, struct npu_error *);
/* After a writer that says whether it could: commits what it wrote, and aborts with its error where it could not. Where the
 * stream failed the error is the commit's, which names the file and the reason. */
bool output_end(struct output *, bool written, struct npu_error *);
/* Gives up: the old file is untouched. NULL is fine. */
void output_abort(struct output *);

/* Flushes a stream: 0 when everything written to it has arrived, else the errno of what has not. */
int output_flush(FILE *);

#endif
