/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel: one struct, for shipped kernels and plug-ins alike. */
#ifndef NPU_KERNELS_KERNEL_H
#define NPU_KERNELS_KERNEL_H

#include "kernels/builder.h"

/* -- npu.h -- */
enum npu_param_type { NPU_PARAM_INT, NPU_PARAM_CHOICE };

/* One parameter. A `derived` one has no fixed default: the kernel's `resolve` fills it in (tiles, seq_q, kv_heads). */
struct npu_param {
	const char *name;
	enum npu_param_type type;
	int64_t initial; /* of CHOICE: index into choices */
	int64_t min;
	int64_t max;
	const char *const *choices; /* NULL-terminated, of CHOICE */
	bool derived;
	const char *unit; /* NULL or empty: none */
	const char *meaning;
	const char *with; /* the setting without which it has no effect, "mask=window"; NULL: it always has */
};

/* Values in the order of the parameter list; `named` tells which a person gave. */
enum { NPU_MAX_PARAMS = 64 };
struct npu_args {
	int64_t value[NPU_MAX_PARAMS];
	bool named[NPU_MAX_PARAMS];
};

/* Closed forms that a run must meet, for reports and tests. */
struct npu_expect {
	uint64_t macs;
	uint64_t useful_macs;
	uint64_t dram_read_bytes; /* block tables included */
	uint64_t dram_write_bytes;
	uint64_t instructions; /* 0: not known before they are emitted */
};

struct npu_reference_io; /* named tensors as doubles; read and written by name */

/* Changes when a program that was compiled with an older npu.h would misunderstand this one. New members go to the end
 * of struct npu_kernel and struct npu_param, and fields to the end of operands, without changing it. */
enum { NPU_ABI = 1 };

/* A member that is not set is zero: nothing. */
struct npu_kernel {
	uint32_t abi;        /* NPU_ABI, set in plug-ins by NPU_PLUGIN */
	uint32_t size;       /* bytes of this struct, likewise */
	uint32_t param_size; /* bytes of struct npu_param, likewise */
	uint32_t reserved;
	const char *name;
	const char *summary; /* one line */
	const struct npu_param *params;
	unsigned nparams;
	/* Fills derived parameters and checks all of them against the hardware; an error names the parameter, and for a
	 * tile that a person named, the sizes that would fit. Resolving again changes nothing. NULL: no parameter is
	 * derived, and ranges are all there is to check. */
	bool (*resolve)(const struct npu_capacity *, struct npu_args *, struct npu_error *);
	/* Emits the program; arguments are resolved. */
	bool (*emit)(struct npu_builder *, const struct npu_args *);
	/* What the program must move and multiply, from the parameters alone; NULL in plug-ins that do not tell. */
	struct npu_expect (*expect)(const struct npu_args *);
	/* The plain result in double for `--values`: reads tensors by name through `io`, writes outputs; NULL where
	 * there is none yet. */
	bool (*reference)(const struct npu_args *, struct npu_reference_io *io);
	/* How far element i of an output may lie from the reference before it is rounded to the type of the tensor:
	 * fills in bound[i], 0 exact, INFINITY anything. `io` holds inputs and the reference's outputs; `exp_error` is
	 * the relative error of exp. False: no bound is known. NULL: `tolerance` tells. */
	bool (*bound)(const struct npu_args *, const struct npu_reference_io *io, double exp_error, const char *tensor,
		      double *bound);
	/* Of plug-ins without `bound`: the same for every element, as a share of the largest finite magnitude in the
	 * reference of that output. 0: exact. */
	double tolerance;
	/* How large the values are that `--values` makes up for an input, as a share of the usual ones: scales of
	 * integers that would otherwise stand for numbers of a hundred and more. NULL: 1 for all. */
	double (*magnitude)(const struct npu_args *, const char *tensor);
};
/* -- private -- */

/* Shipped kernels, NULL-terminated. */
extern const struct npu_kernel *const npu_kernels[];
/* -- npu.h -- */
/* A shipped kernel; NULL when there is none of that name. */
const struct npu_kernel *npu_kernel_find(const char *name);
/* -- private -- */
/* Whether a parameter has an effect with these arguments. */
bool npu_param_matters(const struct npu_kernel *, const struct npu_args *, unsigned param);
/* -- npu.h -- */
/* Index of a parameter, -1 when there is none of that name. */
int npu_param_index(const struct npu_kernel *, const char *name);
/* Value of a parameter, `missing` when the kernel has none of that name. */
int64_t npu_arg(const struct npu_kernel *, const struct npu_args *, const char *name, int64_t missing);
/* Parses "name=value" into args; errors name the parameter, its range or the nearest name. Sizes take k, KiB, MiB
 * (k and KiB are 1,024). */
bool npu_args_set(const struct npu_kernel *, struct npu_args *, const char *assignment, struct npu_error *);
void npu_args_init(const struct npu_kernel *, struct npu_args *);
/* Every value lies in its range; those derived and not named are left out. */
bool npu_args_check(const struct npu_kernel *, const struct npu_args *, struct npu_error *);
/* "name=value name=value ..." of all parameters into `out`, cut to `size`; returns `out`. */
char *npu_args_print(const struct npu_kernel *, const struct npu_args *, char *out, uint64_t size);
/* resolve + emit. NULL with an error; of more instructions than NPU_MAX_INSNS it tells before it emits any. */
struct npu_program *npu_kernel_build(const struct npu_kernel *, const struct npu_capacity *, struct npu_args *,
				     struct npu_error *);
/* -- private -- */
/* The same with its tensors behind `dram_from`, as beside others. */
struct npu_program *npu_kernel_build_from(const struct npu_kernel *, const struct npu_capacity *, struct npu_args *,
					  uint64_t dram_from, struct npu_error *);
/* The program of `args`, which is a part of that of `whole` (resolved): fewer rows, columns, heads. Where that can be
 * (npu_laid_part), its tensors lie as those of the whole do, and so meet in the same banks of the DRAM; else as they
 * would by themselves. */
struct npu_program *npu_kernel_build_part(const struct npu_kernel *, const struct npu_capacity *, struct npu_args *,
					  const struct npu_args *whole, struct npu_error *);

#endif
