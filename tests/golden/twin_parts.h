/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the twin (twin.h). Private to tests/golden/twin*.c.
 *
 * A cycle of the whole machine, twin.c: DRAM clocks up to its edge; what ended; issue and starts, until nothing more
 * happens; DMA bursts leave; every port names the words of its beat; banks serve them; every engine is put down to one
 * state. */
#ifndef NPU_TESTS_GOLDEN_TWIN_PARTS_H
#define NPU_TESTS_GOLDEN_TWIN_PARTS_H

#include "isa/access.h"
#include "isa/operand.h"
#include "tests/golden/twin.h"

#include <stddef.h>

#define TWIN_NEVER UINT64_MAX
enum { TWIN_NOBODY = 0xffffffff };

void *twin_alloc(size_t n, size_t size); /* zeroed; ends the process when memory is short */
/* Room for one more in an array of n elements. */
void *twin_room(void *array, size_t n, size_t size);

/* ---- memory (twin_memory.c) ---- */

/* Banks are numbered: SRAM from 0, accumulators for reading from 128, for writing from 192. */
enum { TWIN_ACC_READ = 128, TWIN_ACC_WRITE = 192, TWIN_BANKS = 256 };

/* The banks of the words of rows of bytes in local memory, in the order in which they are touched. */
struct twin_walk {
	uint8_t *bank;
	uint64_t words, next;
};
struct twin_rows {
	uint32_t local;
	uint64_t row_bytes, rows, stride;
	bool by_column; /* word 0 of every row, then word 1, ... */
	bool write;
};
/* Appends the words of `rows`. */
void twin_walk_add(struct twin_walk *, const struct hw *, const struct twin_rows *rows);
void twin_walk_free(struct twin_walk *);

enum twin_outcome { TWIN_NO_BEAT, TWIN_PASSED, TWIN_DENIED_SRAM, TWIN_DENIED_ACCUM };

struct twin_memory {
	bool ideal;
	uint16_t want[NPU_ENGINES][TWIN_BANKS]; /* words that the beat under way still lacks */
	bool beat[NPU_ENGINES];                 /* one is under way */
	uint8_t last[TWIN_BANKS];               /* port that won the last contest */
	enum twin_outcome outcome[NPU_ENGINES]; /* of this cycle */
};
void twin_memory_init(struct twin_memory *, const struct hw *);
/* The words of beat `i` of a walk that is spread over `beats`: as many as to make the first i + 1 beats' share of all.
 * Beats come in order; the port has a beat then, with words or without. */
void twin_memory_ask(struct twin_memory *, enum npu_engine port, struct twin_walk *, uint64_t i, uint64_t beats);
/* Banks serve a cycle. */
void twin_memory_cycle(struct twin_memory *);

/* ---- DRAM (twin_dram.c), in its own clock ---- */

struct twin_dram;
struct twin_dram *twin_dram_new(const struct dram_config *);
void twin_dram_free(struct twin_dram *);
/* Returns the number of the request. */
uint32_t twin_dram_send(struct twin_dram *, uint64_t arrival, unsigned port, uint64_t addr, uint32_t bytes, bool write);
void twin_dram_tick(struct twin_dram *, uint64_t clk);
/* The clock of its completion, TWIN_NEVER while it is open. */
uint64_t twin_dram_done(const struct twin_dram *, uint32_t request);
/* dram_refresh, dram_bandwidth or dram_latency. */
enum npu_state twin_dram_why(const struct twin_dram *, uint32_t request, uint64_t clk);
bool twin_dram_empty(const struct twin_dram *);
uint64_t twin_dram_last_data(const struct twin_dram *);

/* ---- the machine ---- */

struct twin;
/* The inside of an engine. `start` begins an instruction now; `ended` gives an instruction that ended with the last
 * cycle, or TWIN_NOBODY; `ask` names the words of this cycle's beat; `state` is called after the banks have served and
 * says what the cycle was, and moves on. Cycles in which nothing is in service are not theirs. */
struct twin_body {
	bool (*may_start)(struct twin *, enum npu_engine, uint32_t insn);
	void (*start)(struct twin *, enum npu_engine, uint32_t insn);
	uint32_t (*ended)(struct twin *, enum npu_engine);
	void (*ask)(struct twin *, enum npu_engine);
	enum npu_state (*state)(struct twin *, enum npu_engine);
	bool (*in_service)(const struct twin *, enum npu_engine);
};
extern const struct twin_body twin_dma_body, twin_matrix_body, twin_vector_body;

struct twin_dma;
struct twin_dma *twin_dma_new(const struct hw *, enum npu_engine);
void twin_dma_free(struct twin_dma *);
/* Answers and crossed bursts of this cycle are taken; then, after starts, a burst leaves. */
void twin_dma_arrive(struct twin *, enum npu_engine);
void twin_dma_leave(struct twin *, enum npu_engine);

struct twin_matrix;
struct twin_matrix *twin_matrix_new(void);
void twin_matrix_free(struct twin_matrix *);

struct twin_vector;
struct twin_vector *twin_vector_new(void);
void twin_vector_free(struct twin_vector *);

struct twin {
	const struct hw *hw;
	const struct npu_program *program;
	uint64_t now;
	uint64_t clk; /* DRAM clocks ticked: [0, clk) */
	struct hw_clock_ratio ratio;
	struct twin_memory memory;
	struct twin_dram *dram;
	struct twin_dma *dma[2]; /* NPU_ENGINE_LOAD, NPU_ENGINE_STORE */
	struct twin_matrix *matrix;
	struct twin_vector *vector;
};

/* A request leaves now: it arrives cdc_cycles later, at the first DRAM edge from then on. */
uint32_t twin_send(struct twin *, unsigned port, uint64_t addr, uint32_t bytes, bool write);
/* Whether its answer is there: it came back cdc_cycles after the first NPU edge at or after its completion. */
bool twin_answered(const struct twin *, uint32_t request);

#endif
