/* SPDX-License-Identifier: Apache-2.0 */
/* What a program takes by the models' plans alone, without a simulation: each instruction costs what it would alone, engines run in
 * order, semaphores and queues hold them, and DRAM is one bus that gives a share of its peak. No bank of SRAM or DRAM, no refresh. */
#ifndef NPU_SIM_SWEEP_RECKON_H
#define NPU_SIM_SWEEP_RECKON_H

#include "isa/program.h"
#include "models/hw.h"

struct reckoning {
	double least;  /* cycles that no run takes less of: issue, DRAM traffic, MACs, vector passes, beats of the DMA ports */
	double cycles; /* that it may take */
};

/* The program has passed npu_program_fits(). False when out of memory, or when it waits for posts that never come. */
bool reckon(const struct hw *, const struct npu_program *, struct reckoning *);

#endif
