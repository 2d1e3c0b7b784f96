/* SPDX-License-Identifier: Apache-2.0 */
/* A second, naive reading of the instructions that the shipped kernels use: element by element. It
 * shares nothing with isa/exec but the instruction structs, so that one checks the other. */
#ifndef NPU_TESTS_SUPPORT_MINI_EXEC_H
#define NPU_TESTS_SUPPORT_MINI_EXEC_H

#include "isa/program.h"

/* Memories filled with 0xff: what nobody wrote reads as NaN. */
struct mini {
	const struct npu_program *program;
	uint8_t *memory[3]; /* SRAM, accumulators, DRAM */
	uint64_t bytes[3];
	char error[200]; /* first failure, empty while there is none */
};

bool mini_init(struct mini *, const struct npu_program *);
void mini_fini(struct mini *);
/* All instructions in program order; false with `error` set. */
bool mini_run(struct mini *);
/* One of them. */
bool mini_step(struct mini *, uint32_t insn);
/* A tensor of the program by name, NULL when there is none. */
const struct npu_tensor *mini_tensor(const struct mini *, const char *name);
/* Elements of a tensor. */
double mini_get(struct mini *, const struct npu_tensor *, uint64_t index);
/* Element `index` of a dense row that begins at a local address. */
double mini_local(struct mini *, uint32_t local, enum npu_dtype, uint64_t index);
void mini_set(struct mini *, const struct npu_tensor *, uint64_t index, double value);

#endif
