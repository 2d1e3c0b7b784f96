/* SPDX-License-Identifier: Apache-2.0 */
/* What a loader refuses. Whether the instructions make sense together (races, deadlock, uninitialised reads) is
 * isa/check. Private to isa/. */
#ifndef NPU_ISA_LEGAL_H
#define NPU_ISA_LEGAL_H

#include "isa/reach.h"

/* What a check needs to say where it stands. */
struct npu_legal {
	const struct npu_program *program;
	struct npu_error *err;
	uint32_t insn;
};

/* Sets the error "#8 load: ..." at the place of the instruction; returns false. */
bool npu_legal_refuse(const struct npu_legal *, enum npu_error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Fields, types, shapes, strides and addresses of one instruction; semaphores apart. */
bool npu_legal_operands(const struct npu_legal *);
/* npu_program_check, which also tells how far the program reaches. */
bool npu_program_legal(const struct npu_program *, struct npu_reach reach[NPU_SPACES], struct npu_error *err);

#endif
