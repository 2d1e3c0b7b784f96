/* SPDX-License-Identifier: Apache-2.0 */
/* What an instruction of the matrix array or the vector engine takes with every other engine at rest: its plan, and the cycles in
 * which its own operands ask one bank twice. Found by the engine's own model, once for all instructions that are alike. */
#ifndef NPU_SIM_SWEEP_ALONE_H
#define NPU_SIM_SWEEP_ALONE_H

#include "isa/program.h"
#include "models/hw.h"

struct alone;

/* Both must outlive it. NULL: out of memory. */
struct alone *alone_new(const struct hw *, const struct npu_program *);
void alone_free(struct alone *);
/* Cycles in which instruction `insn`, a matmul or of the vector engine and no sync, stands still for its own banks. */
uint64_t alone_denied(struct alone *, uint32_t insn);

#endif
