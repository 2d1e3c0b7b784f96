/* SPDX-License-Identifier: Apache-2.0 */
/* The last steps of everything that makes programs: builder, assembler, reader of .npub. Private to isa/ but for the
 * hashes. */
#ifndef NPU_ISA_SEAL_H
#define NPU_ISA_SEAL_H

#include "isa/program.h"

/* Sets the posting and waiting engine of each semaphore from its first use; npu_program_check refuses other ones. */
void npu_seal_engines(struct npu_sem *sems, uint32_t nsems, const struct npu_insn *insns, uint32_t ninsns);
/* Of instructions, semaphores, tables and tensors, which decide time; names do not count, nor seeds. */
uint64_t npu_program_time_hash(const struct npu_program *);
/* That and the seeds of tensors: `hash` of a program. */
uint64_t npu_program_hash(const struct npu_program *);
/* Checks a program whose arrays are complete and fills in `needs` and `hash`. */
bool npu_program_seal(struct npu_program *, struct npu_error *err);

#endif
