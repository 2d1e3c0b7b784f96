/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel's hand-written source with the parameters of a command line. */
#ifndef NPU_SIM_CMD_EMIT_MACRO_H
#define NPU_SIM_CMD_EMIT_MACRO_H

#include "kernels/kernel.h"

/* The text, malloc'ed, whose .param defaults are the arguments, which are resolved. It fits the capacity, for which the
 * kernel built `program` from the same arguments: where there is no room for each second buffer, the source gets a
 * smaller `buffering`, if it takes the buffers of `program` then. NULL with an error: the kernel has no source, or that
 * source cannot do what an argument asks for, or does not fit so. */
char *emit_macro(const struct npu_kernel *, const struct npu_args *, const struct npu_program *program,
		 const struct npu_capacity *, struct npu_error *);

#endif
