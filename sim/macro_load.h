/* SPDX-License-Identifier: Apache-2.0 */
/* Reads programs from files: binary, flat text and macro assembly alike. */
#ifndef NPU_SIM_MACRO_LOAD_H
#define NPU_SIM_MACRO_LOAD_H

#include "isa/macro.h"
#include "sim/cli.h"

/* What a file was assembled from, and for. */
struct macro_load {
	const struct npu_capacity *capacity;
	const char *const *params; /* "seq=512" */
	unsigned nparams;
	const struct cli *cli; /* its --include folders; NULL: none */
	void (*note)(void *context, const char *path); /* of every file that is included; NULL: nobody asks */
	void *context;
};

/* The program in `path` ("-": stdin); binary by its first bytes, and then without anything but the program. NULL with
 * an error. */
struct npu_macro *macro_load(const char *path, const struct macro_load *, struct npu_error *);

/* The option of commands that assemble. */
#define MACRO_INCLUDE_OPTION                                                                                           \
	{                                                                                                              \
		"include", 'I', "FOLDER", "where .include looks after the folder of the file itself; may be repeated"  \
	}

#endif
