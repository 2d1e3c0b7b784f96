/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel's hand-written source with the parameters of a command line. */
#ifndef NPU_SIM_CMD_EMIT_MACRO_H
#define NPU_SIM_CMD_EMIT_MACRO_H

#include "kernels/kernel.h"

/* The text, malloc'ed, whose .param defaults are the arguments, which are resolved. It takes as many buffers as
 * `program`, which the kernel built for that capacity from the same arguments: where that found no room for each second
 * buffer, the source gets a smaller `buffering`. NULL with an error: the kernel has no source, or that source cannot do
 * what an argument asks for, or takes other buffers whatever `buffering` is. */
char *emit_macro(const struct npu_kernel *, const struct npu_args *, const struct npu_program *program,
		 const struct npu_capacity *, struct npu_error *);

#endif
