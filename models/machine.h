/* SPDX-License-Identifier: Apache-2.0 */
/* The whole machine: runs a program and tells the probe. C on the outside, SystemC inside (machine_sc.cpp). */
#ifndef NPU_MODELS_MACHINE_H
#define NPU_MODELS_MACHINE_H

#include "isa/program.h"
#include "models/hw.h"
#include "models/probe.h"

/* Parts that can be made perfect, for what-if. */
enum machine_ideal {
	MACHINE_IDEAL_DRAM = 1,     /* no latency, unlimited bandwidth */
	MACHINE_IDEAL_SRAM = 2,     /* no bank is ever denied, accumulators included */
	MACHINE_IDEAL_VECTOR = 4,   /* a vector instruction takes one cycle */
	MACHINE_IDEAL_MATRIX = 8,   /* a product takes macs / peak, rounded up, nothing else */
	MACHINE_IDEAL_DISPATCH = 16 /* no launch, issue, sync latency; queues without end */
};

/* Totals that the machine counts itself; what can be summed from the probe is not here. */
struct machine_totals {
	uint64_t cycles;              /* last result written and DRAM drained */
	struct dram_stats dram;
	uint64_t sram_bytes[NPU_ENGINES];
	uint64_t accum_bytes[NPU_ENGINES];
	uint64_t vector_slots;        /* lane slots used */
	uint64_t table_bytes;         /* block tables read from DRAM */
	uint64_t fetch_bytes;         /* instructions read from DRAM */
	uint64_t sc_activations;      /* wake-ups of SystemC methods */
};

/* Runs the program to its end. One run a process (a second elaboration is refused by SystemC): fork for more.
 * `hw` must have passed hw_check and the program npu_program_check and npu_program_fits.
 * False on a deadlock: the error names every waiting instruction, what it waits for, and the full queue that holds the
 * sequencer; `totals` is filled up to there. Nothing is printed. */
bool machine_run(const struct hw *hw, const struct npu_program *program, unsigned ideal, const struct probe *probe,
		 struct machine_totals *totals, struct npu_error *err);

/* DRAM requests through the SystemC shell alone, as fast as the controller takes them: benchmark and `npusim dram`. */
struct machine_dram_request {
	uint64_t addr;
	uint32_t bytes;
	bool write;
};

#endif
