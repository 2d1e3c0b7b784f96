/* SPDX-License-Identifier: Apache-2.0 */
/* What a command works on: the machine and the program that its words name. */
#ifndef NPU_SIM_CLI_WORK_H
#define NPU_SIM_CLI_WORK_H

#include "kernels/kernel.h"
#include "sim/cli.h"
#include "sim/config.h"
#include "sim/macro_load.h"

struct work {
	struct config config;
	struct npu_program *program;     /* NULL until work_program() */
	const struct npu_kernel *kernel; /* NULL: the program came from a file */
	struct npu_macro *macro;         /* the file; owns the program. NULL: it came from a kernel */
	struct npu_args args;            /* of the kernel, resolved */
	char subject[128];               /* kernel, or file name without its folder */
};

/* The machine of --hw and the hardware keys. On failure, too, work_fini() frees. */
bool work_config(struct work *, const struct cli *, struct npu_error *err);
/* The program that `name` names, a kernel with the command line's parameters or a file, for the machine; it fits and
 * the machine can do all it asks for. Its names, and `subject`, are fit to be shown. After work_config(). */
bool work_program(struct work *, const struct cli *, const char *name, struct npu_error *err);
/* Whether `name` is meant as a program's file, not as a kernel or plug-in. */
bool work_is_file(const char *name);
/* A file, whatever is called by its name; nothing is asked of the machine but where buffers may lie. */
bool work_file(struct work *, const struct cli *, const char *path, struct npu_error *err);
void work_fini(struct work *);
/* Both of them for the first word of the command line, then `run`, whose status it returns, and the end. */
int work_run(const struct cli *, int (*run)(const struct cli *, const struct work *, void *context), void *context);

/* Finds a kernel; an error names the nearest. */
const struct npu_kernel *kernel_find(const char *name, struct npu_error *err);
/* The part of a path behind its last slash; "stdin" for "-". */
const char *file_name(const char *path);
/* Writes text or bytes to a named file, "-" for stdout. */
bool write_file(const char *path, const void *bytes, uint64_t nbytes, struct npu_error *err);

#endif
