/* SPDX-License-Identifier: Apache-2.0 */
/* Macro assembly (.npu): source text with parameters, expressions, loops, macros, tensors and buffers that are placed.
 * docs/npu.md is its reference. Flat text (isa/program.h) is a subset and assembles to the same bytes. */
#ifndef NPU_ISA_MACRO_H
#define NPU_ISA_MACRO_H

#include "isa/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Instructions that a source may expand to: they would take 8.4 GB. */
#define NPU_MACRO_MAX_INSNS 100000000u
/* Turns of loops and uses of macros, which need not hold an instruction. */
#define NPU_MACRO_MAX_TURNS 200000000u

/* What the result of an `out` tensor should be: a tree over tensors, evaluated in double by whoever compares values.
 * Shapes agree (checked when it was read): rank 0 is a number; the last two dimensions are a matrix, those before count
 * matrices. */
enum npu_reference_kind {
	NPU_REFERENCE_NUMBER,
	NPU_REFERENCE_TENSOR,
	NPU_REFERENCE_TURN,    /* a with its last two dimensions exchanged */
	NPU_REFERENCE_PRODUCT, /* a @ b; either may be one matrix for all of the other */
	NPU_REFERENCE_NEGATE,
	NPU_REFERENCE_ADD, /* element by element; a dimension of 1, or one that is missing in front, is repeated */
	NPU_REFERENCE_SUBTRACT,
	NPU_REFERENCE_MULTIPLY,
	NPU_REFERENCE_DIVIDE,
	NPU_REFERENCE_EXP,
	NPU_REFERENCE_SOFTMAX, /* of each row; -inf counts as hidden, rows hidden altogether are 0 */
	NPU_REFERENCE_CAUSAL,  /* -inf where key > position, or, with `count` > 0, key <= position - count; row r of R
				* rows and C keys stands at position C - R + r */
	NPU_REFERENCE_PADDED,  /* -inf from key `count` on */
	NPU_REFERENCE_REPEAT,  /* each matrix `count` times in a row: heads that share keys */
	NPU_REFERENCE_KINDS
};

struct npu_reference_node {
	enum npu_reference_kind kind;
	double number;
	uint64_t count;
	uint32_t tensor; /* of the program */
	const struct npu_reference_node *a, *b;
	uint32_t rank;
	uint64_t shape[NPU_MAX_RANK];
};

#define NPU_MACRO_ANY_SIZE UINT64_MAX

/* What the source says about the contents of a tensor and no program can: those have seeds. */
struct npu_macro_tensor {
	const char *file; /* contents of an input, expected contents of an output; NULL: none */
	const char *source; /* where the text names it: file, line, column */
	uint32_t line, column;
	const struct npu_reference_node *reference; /* of an output; NULL: none */
};

struct npu_macro_param {
	const char *name;
	const char *value; /* as text */
	const char *words; /* "none|causal", what it may be; NULL: a number, or any word */
	const char *meaning; /* the comment of its line; empty: none */
};

struct npu_macro {
	struct npu_program *program;
	const struct npu_macro_tensor *tensors; /* [program->ntensors] */
	const struct npu_macro_param *params;   /* in the order of the source */
	unsigned nparams;
	struct npu_macro_loops *loops;
	void *arena; /* owns tensors, params, references */
};

struct npu_macro_options {
	const struct npu_capacity *capacity; /* where buffers go; NULL: memories as large as addresses reach */
	const char *const *params;           /* "seq=512" */
	unsigned nparams;
	const char *const *folders; /* where .include looks after the folder of the file that says so */
	unsigned nfolders;
	/* The text of a file, malloc'ed; NULL when it cannot be read, with an error other than "no such file" in *err.
	 * NULL: .include is refused. */
	char *(*read)(void *context, const char *path, uint64_t *nbytes, struct npu_error *err);
	/* The bytes of a file that a tensor names; NPU_MACRO_ANY_SIZE where they cannot be told (a pipe); false with an
	 * error. NULL: such files are not looked at. */
	bool (*size)(void *context, const char *path, uint64_t *nbytes, struct npu_error *err);
	void *context;
	uint32_t max_insns; /* 0: NPU_MACRO_MAX_INSNS */
	uint64_t max_turns; /* of all loops and macros together; 0: NPU_MACRO_MAX_TURNS */
};

/* Assembles text, flat or not. `file` is what errors call it; `options` may be NULL. NULL with an error. */
struct npu_macro *npu_macro_text(const char *text, uint64_t nbytes, const char *file, const struct npu_macro_options *,
				 struct npu_error *err);
/* Frees the program, too. */
void npu_macro_free(struct npu_macro *);
/* "i=0 j=2", the loops around the line when it wrote this instruction, outermost first, cut to `size`; empty outside of
 * loops. Returns `out`. */
char *npu_macro_loop_values(const struct npu_macro *, uint32_t insn, char *out, uint64_t size);

#ifdef __cplusplus
}
#endif

#endif
