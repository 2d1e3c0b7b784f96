/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel's hand-written source with the parameters of a command line. */
#ifndef NPU_SIM_CMD_EMIT_MACRO_H
#define NPU_SIM_CMD_EMIT_MACRO_H

#include "kernels/kernel.h"

/* The text, malloc'ed, whose .param defaults are the arguments, which are resolved. NULL with an error: the kernel has
 * no source, or that source cannot do what an argument asks for. */
char *emit_macro(const struct npu_kernel *, const struct npu_args *, struct npu_error *);

#endif
