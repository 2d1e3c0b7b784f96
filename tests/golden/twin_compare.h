/* SPDX-License-Identifier: Apache-2.0 */
/* The machine and its twin, side by side. */
#ifndef NPU_TESTS_GOLDEN_TWIN_COMPARE_H
#define NPU_TESTS_GOLDEN_TWIN_COMPARE_H

#include "tests/golden/twin.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How far they are apart, as fractions of the twin's cycles. */
struct twin_error {
	double total;  /* signed: the machine's cycles less the twin's */
	double active; /* of the engine that is furthest off; likewise the others */
	double stall;
	double line; /* sequencer */
	enum npu_engine active_engine, stall_engine;
	enum npu_state stall_state;
};

/* What the documentation says of many comparisons, in percent of cycles. */
struct twin_figures {
	double total_mean, total_worst, active_mean, active_worst, cause_mean, cause_worst;
};

/* The same figures from the machine, through SystemC in a child process. False with an error when it fails. */
bool twin_machine_run(const struct hw *hw, const struct npu_program *program, struct twin_result *out, char *err,
		      uint64_t size);

struct twin_error twin_compare(const struct twin_result *machine, const struct twin_result *twin);

/* What a page of docs/models is about: the states of an engine, the sequencer's line, and the cycles of all engines that
 * one memory held up. */
enum twin_block {
	TWIN_LOAD,
	TWIN_STORE,
	TWIN_MATRIX,
	TWIN_VECTOR,
	TWIN_SEQUENCER,
	TWIN_SRAM,
	TWIN_ACCUMULATORS,
	TWIN_DRAM,
	TWIN_BLOCKS
};

/* Many comparisons together. */
struct twin_table {
	const char *name;
	uint64_t runs;
	double total_sum, active_sum, stall_sum; /* of absolute values */
	uint64_t beyond; /* runs in which an engine's active cycles or a cause are off by more than 5 % */
	double block_sum[TWIN_BLOCKS], block_worst[TWIN_BLOCKS]; /* of a run: the state that is furthest off */
	struct twin_result machine, twin; /* sums, without start and end */
	struct twin_error worst_total, worst_active, worst_stall;
	char worst_total_case[640], worst_active_case[640], worst_stall_case[640];
};
/* Runs both and adds what they differ by; programs of fewer than 1,000 cycles are run and not counted. False, with a
 * line on stderr, when one of them fails. */
bool twin_table_add(struct twin_table *, const struct hw *, const struct npu_program *, const char *what);
/* What the machine must keep to: total cycles within 2 % on average and 5 % at worst; of every run each engine's active
 * cycles and each cause within 5 % of the cycles, of all runs together within 2 %. NULL when it does, else what is wrong,
 * in a buffer of the caller's. */
#define TWIN_MEAN_WITHIN 0.02
#define TWIN_WITHIN      0.05
const char *twin_table_fault(const struct twin_table *, char *out, uint64_t size);
/* Means and worst cases in percent, a row of Markdown a table, and the worst cases' names. */
void twin_table_print(FILE *, const struct twin_table *, unsigned n);
/* A row a block, of all tables together. */
void twin_blocks_print(FILE *, const struct twin_table *, unsigned n);
/* NULL when no block is further off in them than its row in `page` says; else which is. */
const char *twin_blocks_grown(const struct twin_table *, unsigned n, FILE *page, char *out, uint64_t size);
/* NULL when no figure of the table is worse than the row of its name in `page` says; else what is. */
const char *twin_table_grown(const struct twin_table *, FILE *page, char *out, uint64_t size);

#ifdef __cplusplus
}
#endif

#endif
