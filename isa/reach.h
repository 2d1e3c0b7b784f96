/* SPDX-License-Identifier: Apache-2.0 */
/* How far a program reaches in each memory, and who reaches farthest. Private to isa/. */
#ifndef NPU_ISA_REACH_H
#define NPU_ISA_REACH_H

#include "isa/operand.h"

enum npu_reacher {
	NPU_REACHED_BY_NONE,
	NPU_REACHED_BY_BUFFER,
	NPU_REACHED_BY_TENSOR,
	NPU_REACHED_BY_TABLE,
	NPU_REACHED_BY_INSN
};

/* `end` is behind the last byte, saturated far above 2^40; `begin` where that thing starts. */
struct npu_reach {
	uint64_t begin;
	uint64_t end;
	enum npu_reacher by;
	uint32_t index;
	const char *operand; /* of an instruction */
};

enum { NPU_SPACES = 3 };

/* By enum npu_space. Programs must have passed the checks of isa/legal.c but for DRAM behind 2^40. False: out of
 * memory. */
bool npu_program_reach(const struct npu_program *, struct npu_reach out[NPU_SPACES]);
/* "buffer k[1]", "#8 load (local)" into `out`; returns `out`. */
char *npu_reach_text(const struct npu_program *, const struct npu_reach *, char *out, uint64_t size);

#endif
