/* SPDX-License-Identifier: Apache-2.0 */
/* A deliberately naive judge of DRAM command sequences: it remembers every command of the last clocks and holds each
 * new one against each of them. It shares no rule with models/dram: intervals are written down again from the JEDEC
 * tables. */
#ifndef NPU_TESTS_SUPPORT_DRAM_CHECKER_H
#define NPU_TESTS_SUPPORT_DRAM_CHECKER_H

#include "models/dram/dram.h"

enum { CHECKER_MEMORY = 4096, CHECKER_BANKS = 64, CHECKER_RANKS = 4 };

struct checker {
	const struct dram_config *config;
	struct dram_command past[CHECKER_MEMORY]; /* ring of one channel */
	uint64_t count;
	uint64_t longest;            /* interval, clk */
	uint32_t row[CHECKER_BANKS]; /* open row, UINT32_MAX: closed, UINT32_MAX - 1: between ACT-1 and ACT-2 */
	uint64_t refreshes[CHECKER_RANKS];
	uint64_t latest_refresh_delay;
	char problem[256]; /* the first violation, "" while there is none */
};

void checker_init(struct checker *, const struct dram_config *);
/* One command of the channel that this checker watches, in order of clk. */
void checker_command(struct checker *, const struct dram_command *);
const char *checker_op_name(enum dram_command_op);

#endif
