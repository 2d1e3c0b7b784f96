/* SPDX-License-Identifier: Apache-2.0 */
/* The whole machine: runs a program and tells the probe. C on the outside, SystemC inside (machine_sc.cpp). */
#ifndef NPU_MODELS_MACHINE_H
#define NPU_MODELS_MACHINE_H

#include "isa/program.h"
#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* structs and functions of one name, as C has them */
extern "C" {
#endif
#include "models/dram/dram.h"
#include "models/hw.h"
#ifdef __cplusplus
}
#pragma GCC diagnostic pop
#endif
#include "models/probe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Parts that can be made perfect, for what-if. */
enum machine_ideal {
	MACHINE_IDEAL_DRAM = 1,     /* no latency, unlimited bandwidth */
	MACHINE_IDEAL_SRAM = 2,     /* no bank is ever denied, accumulators included */
	MACHINE_IDEAL_VECTOR = 4,   /* a vector instruction takes one cycle */
	MACHINE_IDEAL_MATRIX = 8,   /* a product takes macs / peak, rounded up, nothing else */
	MACHINE_IDEAL_DISPATCH = 16 /* no launch, issue, sync latency, fetch; queues without end */
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
 * `hw` must have passed hw_check and the program npu_program_check and npu_program_fits. `probe` may be NULL.
 * False on a deadlock: the error names every waiting instruction, what it waits for, and the full queue that holds the
 * sequencer; `totals` is filled up to there, and the probe's spans end there. False also when a semaphore goes over its
 * maximum, and out of memory. Nothing is printed. */
bool machine_run(const struct hw *hw, const struct npu_program *program, unsigned ideal, const struct probe *probe,
		 struct machine_totals *totals, struct npu_error *err);

/* Another memory in the place of models/dram: a TLM-2.0 target. docs/models/outside.md. */
struct machine_memory {
	/* Called while the model is built: makes the memory, which lives until the process ends, and binds it to `socket`, a
	 * tlm::tlm_initiator_socket<>*. May throw a std::exception. */
	void (*attach)(void *socket, const char *arguments);
	const char *arguments; /* for attach; not NULL */
};

/* As machine_run, with that memory. False also when it breaks the protocol: an error response, an answer to nothing, no answer
 * for 10 ms of simulated time. */
bool machine_run_memory(const struct hw *hw, const struct npu_program *program, unsigned ideal,
			const struct machine_memory *memory, const struct probe *probe, struct machine_totals *totals,
			struct npu_error *err);

/* DRAM requests through the SystemC shell alone: benchmark and `npusim dram`. They come in order, each no earlier than at its
 * `clk` and, of those that the controller holds, no more than `window` at a time: the next one comes when one is done. */
struct machine_dram_request {
	uint64_t clk; /* DRAM clocks; 0: as early as possible */
	uint64_t addr;
	uint32_t bytes; /* 1..DRAM_REQUEST_MAX */
	bool write;
};

/* What became of a request, in DRAM clocks. */
struct machine_dram_answer {
	uint64_t arrival;
	uint64_t done; /* read: data delivered; write: accepted */
};

struct machine_dram_totals {
	uint64_t clocks; /* from 0 to the last data on the bus */
	struct dram_stats dram;
	uint64_t sc_activations;
};

/* `window` 0: what the controllers' read queues hold. `answers`: NULL, or room for one a request. One run a process,
 * as machine_run. False when `config` cannot be built or memory is short. */
bool machine_run_dram(const struct dram_config *config, const struct machine_dram_request *requests, uint64_t n,
		      uint32_t window, struct machine_dram_answer *answers, struct machine_dram_totals *totals,
		      struct npu_error *err);

#ifdef __cplusplus
}
#endif

#endif
