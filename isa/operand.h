/* SPDX-License-Identifier: Apache-2.0 */
/* The matrices that an instruction works on. isa/access.h turns them into bytes, isa/legal.c checks them, the executor
 * computes on them: nobody else knows what an operand field means. */
#ifndef NPU_ISA_OPERAND_H
#define NPU_ISA_OPERAND_H

#include "isa/access.h"
#include "isa/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npu_operand {
	const char *name;        /* field that holds the address */
	const char *stride_name; /* field that holds m.stride, NULL: always dense */
	enum npu_space space;
	uint64_t addr; /* offset in its space */
	struct npu_matrix m;
	bool reads;
	bool writes;
};

/* Operands of one instruction in the order of the table, those left out that it does not use; the DRAM side of gather
 * and scatter is not one. vsoftmax_online has its state twice: what it reads and what it writes. Returns their number.
 */
unsigned npu_insn_operands(const struct npu_insn *, struct npu_operand out[NPU_MAX_ACCESSES]);

#ifdef __cplusplus
}
#endif

#endif
