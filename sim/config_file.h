/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files into memory, whatever they turn out to be. */
#ifndef NPU_SIM_CONFIG_FILE_H
#define NPU_SIM_CONFIG_FILE_H

#include "isa/error.h"

/* Reads a whole file of at most `max` bytes, pipes too; NUL-terminated, malloc'ed. `path` "-" is stdin. NULL with an
 * error for folders, missing and larger files. */
char *read_whole_file(const char *path, uint64_t max, uint64_t *nbytes, struct npu_error *err);
/* The same, but soon after the first NUL nothing more is read: whoever wants text need not wait for the rest. */
char *read_text_file(const char *path, uint64_t max, uint64_t *nbytes, struct npu_error *err);

#endif
