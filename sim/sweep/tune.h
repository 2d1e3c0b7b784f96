/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles and buffering for a machine: bounds rule out, an estimate (reckon.h) ranks, simulation decides. */
#ifndef NPU_SIM_SWEEP_TUNE_H
#define NPU_SIM_SWEEP_TUNE_H

#include "kernels/kernel.h"
#include "sim/config.h"

/* Sizes that a tile is tried at, powers of two. */
enum { TUNE_SMALLEST = 16, TUNE_LARGEST = 512, TUNE_FREE = 6, TUNE_MOST = 64 };

enum tune_state {
	TUNE_UNBUILT, /* the closed form says that others are better, and enough was built */
	TUNE_UNFIT,   /* its program cannot be built after all */
	TUNE_SAME,    /* the program of another candidate */
	TUNE_OPEN,    /* built, may be simulated */
	TUNE_TRIED    /* was simulated */
};

struct tune_candidate {
	enum tune_state state;
	uint64_t hash; /* of its program, once that is built */
	struct npu_args args; /* resolved */
	int8_t at[TUNE_FREE]; /* index on each free parameter; -1 in the kernel's own choice where it is none of the sizes */
	double bound;         /* cycles that it takes at least, by DRAM traffic and MACs */
	double estimate;      /* cycles that it may take */
	uint64_t cycles;      /* once simulated */
};

struct tuning;
/* Told as it goes on: of `building` programs `built`, then again after each few simulations, at most `most`. False: what is in flight is
 * finished, nothing more begun. */
struct tune_watch {
	void *ctx;
	bool (*go_on)(void *ctx, const struct tuning *, unsigned built, unsigned building, unsigned most);
};

struct tuning {
	const struct npu_kernel *kernel;
	const struct config *config;
	int free[TUNE_FREE]; /* parameters: those that nobody named, of tile_*, buffering, order */
	unsigned nfree, nnamed;      /* nnamed: those that somebody did */
	uint64_t all;        /* combinations */
	struct tune_candidate *list; /* the legal ones, the kernel's own choice the last */
	unsigned n;
	unsigned order[TUNE_MOST]; /* those simulated, as they were */
	unsigned nsimulated;
	bool own_apart;  /* the kernel's own choice is none of the combinations */
	struct npu_error own_refused; /* where it cannot be built */
	/* All candidates are simulated or one of these. */
	unsigned same;   /* the program of another */
	unsigned pruned; /* by their bound no better than the best */
	unsigned left;   /* by their estimate no better, or too long to be built */
	unsigned best;
	bool stopped;    /* by its watch: what is left was not looked at */
};

/* `named` holds what a person gave. At most `most` simulations, TUNE_MOST or fewer; 0: a tenth of the legal combinations of tiles and
 * buffering, orders of loops not counted, TUNE_MOST at most, 5 where there are fewer than 50, and of fewer than 20 all. Fewer than that
 * where no other is likely to be better. False with an error: nothing is free, nothing is legal, the kernel has no closed form, it was stopped before
 * anything was simulated. The watch may be NULL. tune_fini() also after that. */
bool tune(struct tuning *, const struct npu_kernel *, const struct npu_args *named, const struct config *, unsigned most,
	  unsigned parallel, const struct tune_watch *, struct npu_error *err);
void tune_fini(struct tuning *);

#endif
