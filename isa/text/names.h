/* SPDX-License-Identifier: Apache-2.0 */
/* Which tensor or buffer an address lies in, for a reader that goes through a program from front to back. */
#ifndef NPU_ISA_TEXT_NAMES_H
#define NPU_ISA_TEXT_NAMES_H

#include "isa/program.h"

struct npu_names {
	const struct npu_program *program;
	uint32_t *by_first; /* buffers in the order in which their lives begin */
	uint32_t *alive;    /* buffers that may be alive */
	uint32_t *by_addr;  /* tensors in the order of their addresses */
	uint32_t next;      /* in by_first */
	uint32_t nalive;
	uint32_t insn;
};

/* False: out of memory; everything may then still be called, and finds nothing. */
bool npu_names_init(struct npu_names *, const struct npu_program *);
void npu_names_fini(struct npu_names *);
/* Goes to instruction `insn`, never backwards. */
void npu_names_seek(struct npu_names *, uint32_t insn);
/* The buffer alive here, or the tensor, that holds the address; NULL when there is none. */
const struct npu_buffer *npu_names_buffer(const struct npu_names *, uint32_t local);
const struct npu_tensor *npu_names_tensor(const struct npu_names *, uint64_t dram);

#endif
