/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles and buffering for a machine: bounds rule out, an estimate ranks, simulation decides. */
#ifndef NPU_SIM_SWEEP_TUNE_H
#define NPU_SIM_SWEEP_TUNE_H

#include "kernels/kernel.h"
#include "sim/config.h"

/* Sizes that a tile is tried at, powers of two. */
enum { TUNE_SMALLEST = 16, TUNE_LARGEST = 512, TUNE_FREE = 6, TUNE_MOST = 40 };

struct tune_candidate {
	struct npu_args args; /* resolved */
	int8_t at[TUNE_FREE]; /* index on each free parameter; -1 in the kernel's own choice where it is none of the sizes */
	double bound;         /* cycles that it takes at least, by DRAM traffic and MACs */
	double estimate;      /* cycles that it may take */
	uint64_t cycles;      /* once simulated; 0 or the largest there is: it was not */
};

struct tuning {
	const struct npu_kernel *kernel;
	const struct config *config;
	int free[TUNE_FREE]; /* parameters: those that nobody named, of tile_*, buffering, order */
	unsigned nfree;
	uint64_t all;        /* combinations */
	struct tune_candidate *list; /* the legal ones, and the kernel's own choice behind them */
	unsigned n;
	unsigned order[TUNE_MOST]; /* those simulated, as they were */
	unsigned nsimulated;
	unsigned pruned; /* not simulated, and by their bound no better than the best */
	unsigned same;   /* passed over: the same program as one that was */
	unsigned best;
};

/* `named` holds what a person gave. At most `most` simulations, 0: a tenth of the legal candidates, TUNE_MOST at most, 5 where there are
 * fewer than 30. False with an error: nothing is free, nothing is legal, the kernel has no closed form. tune_fini() also after that. */
bool tune(struct tuning *, const struct npu_kernel *, const struct npu_args *named, const struct config *, unsigned most,
	  unsigned parallel, struct npu_error *err);
void tune_fini(struct tuning *);

#endif
