/* SPDX-License-Identifier: Apache-2.0 */
/* What rmsnorm, layernorm, rope, swiglu, gelu, softcap and residual_add share: whole rows stream through one vector
 * instruction, of softcap two. */
#ifndef NPU_KERNELS_ROWWISE_H
#define NPU_KERNELS_ROWWISE_H

#include "kernels/kernel.h"
#include "kernels/reference.h"

enum { ROW_INPUTS = 3, ROW_CONSTANTS = 2 };

struct row_tensor {
	const char *name;
	uint64_t cols;
	enum npu_dtype type;
};

/* Y[rows, cols] from [rows, ..] inputs and constants of one row. */
struct rowwise {
	uint64_t rows, cols, tile; /* tile: rows at a time */
	unsigned buffers;
	enum npu_dtype type; /* of Y */
	unsigned ninputs, nconstants;
	struct row_tensor input[ROW_INPUTS], constant[ROW_CONSTANTS];
	struct npu_insn op; /* all but its rows and addresses */
	double cap;         /* softcap: op is the tanh, and Y that times cap; else 0 */
};

/* Bytes of a row in all inputs, and in all constants. */
uint64_t rowwise_input_bytes(const struct rowwise *);
uint64_t rowwise_constant_bytes(const struct rowwise *);

/* Y as the formula says, and how far a run may be off (npu_reference_bound); both read tensors by name. */
bool rowwise_reference(const struct rowwise *, struct npu_reference_io *);
bool rowwise_bound(const struct rowwise *, const struct npu_reference_io *, double exp_error, double *bound);

#endif
