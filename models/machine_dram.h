/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds a list of requests to the DRAM controller without an NPU. Plain C; dram_sc.cpp drives it. */
#ifndef NPU_MODELS_MACHINE_DRAM_H
#define NPU_MODELS_MACHINE_DRAM_H

#include "models/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

struct dram_feed;
/* Keeps all but `config`. NULL when the configuration is refused or memory is short. */
struct dram_feed *dram_feed_new(const struct dram_config *config, const struct machine_dram_request *requests, uint64_t n,
				uint32_t window, struct machine_dram_answer *answers);
void dram_feed_free(struct dram_feed *);
/* Does all that is decided before clk `until`; returns when to look again, UINT64_MAX: all is done. */
uint64_t dram_feed_step(struct dram_feed *, uint64_t until);
void dram_feed_finish(struct dram_feed *, struct machine_dram_totals *totals);

#ifdef __cplusplus
}
#endif

#endif
