/* SPDX-License-Identifier: Apache-2.0 */
/* What a program computes: its tensors filled, executed in program order, compared with the kernel's plain reference.
 * Knows no time: values never depend on the hardware but through the program. */
#ifndef NPU_SIM_VALUES_H
#define NPU_SIM_VALUES_H

#include "isa/exec.h"
#include "isa/macro.h"
#include "kernels/kernel.h"
#include "sim/simulate.h"

#include <jansson.h>
#include <stdio.h>

/* Most host memory that values may take: DRAM, and inputs and results as doubles. */
#define VALUES_MAX_BYTES ((uint64_t)4 << 30)

/* The contents of a tensor: a file of its bytes as they lie in DRAM. */
struct values_file {
	const char *tensor;
	const char *path;
};

/* Everything but `files` stays the caller's and must outlive the values. */
struct values_request {
	const struct npu_program *program;
	const struct npu_kernel *kernel; /* NULL: nothing to compare with */
	const struct npu_args *args;     /* resolved; NULL without a kernel */
	const struct npu_macro *macro;   /* the source, with references and seeds of its own; NULL: there is none */
	uint64_t seed;
	enum npu_exp exp;
	const struct values_file *files;
	unsigned nfiles;
};

/* An output after execution. Elements are numbered row-major in the tensor's shape. */
struct values_output {
	const struct npu_tensor *tensor;
	uint64_t elements;
	uint64_t checksum; /* of its bytes: FNV-1a, 64 bits */
	double min, max;   /* NaN left out; NaN when nothing else is there */
	uint64_t nans;
	/* The rest only where a reference was there. */
	bool compared;
	double max_abs, max_rel; /* infinite where one side alone is not finite; relative to what is not 0 */
	double abs_bound;        /* of the element of max_abs, the last rounding included; 0: it must be exact */
	double rms_rel;          /* root of the sum of squared errors over that of squared expected values, finite ones */
	uint64_t worst;          /* the element that uses most of its bound, or is furthest past it */
	double worst_fraction;   /* how much: the least error before the last rounding that explains it, over the bound before
				  * it. 0: nothing but that rounding; above 1: wrong */
	uint64_t unjudged;       /* elements that may be anything, as where fp32 overflows */
	uint64_t wrong;          /* elements past their bound */
	uint64_t first_wrong;    /* the first of them, */
	double got, expected, bound;
	uint32_t writer; /* and the instruction that wrote it last; NPU_EXEC_NOBODY: none did */
};

struct values {
	struct values_request request;
	struct npu_exec *exec;
	bool executed; /* to the end */
	uint64_t macs;
	unsigned noutputs;
	struct values_output *outputs;
	struct npu_reference_tensor *tensors; /* for the reference; NULL without one */
};

/* Whether the program has a tensor of that name; an error names the nearest. */
bool values_has(const struct npu_program *, const char *name, struct npu_error *);
/* Fills the tensors: those named by files from them, other inputs from a stream that seed and name decide. NULL with an
 * error: a file of the wrong size, a name that no input has, more memory than VALUES_MAX_BYTES. */
struct values *values_new(const struct values_request *, struct npu_error *);
void values_free(struct values *);
/* Executes and compares. False when the program cannot be executed (an address out of bounds) or memory is short;
 * values that differ are told by values_wrong(). */
bool values_run(struct values *, struct npu_error *);
/* Outputs with elements past their bound. */
unsigned values_wrong(const struct values *);
/* The error of one output, of code MISMATCH: tensor, index, got, expected, bound, and who wrote it. False when there is
 * none. */
bool values_mismatch(const struct values *, unsigned output, struct npu_error *);
/* The table. False when the stream failed or memory is short. */
bool values_print(const struct values *, FILE *, const struct report_style *);
/* The report's `values`, a new reference; NULL, or one that was not executed to the end: nothing was computed. */
json_t *values_json(const struct values *);
/* A tensor's bytes as they lie in DRAM, to a file ("-": stdout). */
bool values_dump(const struct values *, const char *tensor, const char *path, struct npu_error *);
/* The first line of that error into `out`, cut to `size`; returns `out`. Of an output with a wrong element only. */
char *values_mismatch_text(const struct values_output *, char *out, size_t size);
/* Whether an output has a reference to be compared with. */
bool values_has_any_reference(const struct values_request *);
/* What it takes, roughly, on the machine where docs/values.md was measured. */
double values_seconds(const struct values_request *);

#endif
