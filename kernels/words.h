/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions in the words of the assembly, for kernels outside this tree: npu_load(b, .local = k, .dram = K.addr,
 * ...). The build writes these words into npu.h, from isa/npu.def; here is what they call. */
#ifndef NPU_KERNELS_WORDS_H
#define NPU_KERNELS_WORDS_H

#include "kernels/builder.h"

/* -- npu.h -- */
/* What all the words below expand to. `operands` is the struct of the instruction's format, of which the caller knows
 * the first `size` bytes: fields behind them, which a later npu.h may have, keep their initial values. An opcode or a
 * field that this library does not know is an error of the builder. */
void npu_emit_op(struct npu_builder *, const char *file, unsigned line, unsigned op, const void *operands, size_t size);
/* Writes the first `size` bytes of such a struct: no waits, no posts, every field as the text form has it when it is
 * left out, required ones 0. For languages without the words. False, having done nothing, when there is no such op. */
bool npu_operands_initial(unsigned op, void *operands, size_t size);

/* The version of the library that runs, "0.1.0", and its NPU_ABI. */
const char *npu_version(void);
unsigned npu_abi(void);
/* -- private -- */

#endif
