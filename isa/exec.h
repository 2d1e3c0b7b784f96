/* SPDX-License-Identifier: Apache-2.0 */
/* The functional executor: what a program computes, in program order. It has no notion of time, engines or semaphores;
 * the hazard checker proves that any legal order on the machine gives the same values. docs/values.md: the arithmetic.
 */
#ifndef NPU_ISA_EXEC_H
#define NPU_ISA_EXEC_H

#include "isa/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How exp (and what is made of it: softmax, sigmoid, SiLU, GELU, tanh) is computed. X(NAME, text, doc) */
#define NPU_EXPS(X)                                                                                                    \
	X(EXACT, "exact", "in double, rounded once to fp32")                                                           \
	X(LUT, "lut", "64 values of 2^f with linear interpolation, in fp32; relative error < 2^-15")                   \
	X(POLY, "poly", "range reduction and a polynomial of degree 4, in fp32; relative error < 2^-18")

enum npu_exp {
#define NPU_EXP_ENUM(NAME, text, doc) NPU_EXP_##NAME,
	NPU_EXPS(NPU_EXP_ENUM)
#undef NPU_EXP_ENUM
	NPU_EXP_CHOICES
};

/* NULL-terminated, in the order of enum npu_exp. */
extern const char *const npu_exp_names[];

enum { NPU_EXEC_NOBODY = 0xffffffff, NPU_EXEC_WRITER_BYTES = 64 };

/* All zero: exact exp, memories as the program needs them, program order, no record of writers. */
struct npu_exec_options {
	enum npu_exp exp;
	uint64_t sram_bytes;     /* 0: what program->needs says */
	uint64_t accum_bytes;    /* 0: likewise */
	uint64_t max_dram_bytes; /* of touched DRAM pages before a write fails with MEMORY; 0: no limit */
	bool writers;            /* record who wrote each NPU_EXEC_WRITER_BYTES of DRAM last */
	/* The instruction to execute as number `step` of npu_exec_run; NULL: program order. Must give each one once. */
	uint32_t (*order)(void *context, uint32_t step);
	void *order_context;
};

struct npu_exec;

/* All memories hold zeros. The program must have passed npu_program_check and outlive the executor. `options` may be
 * NULL. NULL when out of memory. */
struct npu_exec *npu_exec_new(const struct npu_program *, const struct npu_exec_options *options, struct npu_error *);
void npu_exec_free(struct npu_exec *);

/* Executes one instruction, or all of them. A failure (BOUNDS: an operand lies outside its memory; MEMORY; OPERAND:
 * what npu_program_check would have refused) names the instruction and leaves memory as it was before that instruction,
 * but for a DMA whose DRAM runs out of host memory half-way. */
bool npu_exec_step(struct npu_exec *, uint32_t insn, struct npu_error *);
bool npu_exec_run(struct npu_exec *, struct npu_error *);

/* Bytes of DRAM. Reading what nobody wrote gives zeros and takes no memory. False, having done nothing, when the bytes
 * reach past 2^40; a write also fails when out of memory. */
bool npu_exec_dram_read(const struct npu_exec *, uint64_t addr, void *out, uint64_t nbytes);
bool npu_exec_dram_write(struct npu_exec *, uint64_t addr, const void *bytes, uint64_t nbytes);
/* Bytes of SRAM or, with NPU_ACC_BIT, of the accumulators. False, having done nothing, when out of bounds. */
bool npu_exec_local_read(const struct npu_exec *, uint32_t local, void *out, uint64_t nbytes);
bool npu_exec_local_write(struct npu_exec *, uint32_t local, const void *bytes, uint64_t nbytes);

/* Elements of a tensor, in row-major order of its shape whatever its layout. Blocks of the two innermost dimensions:
 * their padding is skipped by reading and zeroed by writing. Values are rounded once. */
bool npu_exec_tensor_read(const struct npu_exec *, const struct npu_tensor *, double *values, struct npu_error *);
bool npu_exec_tensor_write(struct npu_exec *, const struct npu_tensor *, const double *values, struct npu_error *);
/* Address in DRAM of element `index` (row-major in its shape) of a tensor; of 4-bit ones the byte that holds it. */
uint64_t npu_exec_tensor_addr(const struct npu_tensor *, uint64_t index);

/* The instruction that wrote the granule of DRAM at `addr` last; NPU_EXEC_NOBODY: none, or writers are not recorded.
 * npu_exec_dram_write leaves the record alone. */
uint32_t npu_exec_dram_writer(const struct npu_exec *, uint64_t addr);
/* Bytes of DRAM pages that were touched. */
uint64_t npu_exec_dram_touched(const struct npu_exec *);

#ifdef __cplusplus
}
#endif

#endif
