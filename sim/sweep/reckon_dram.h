/* SPDX-License-Identifier: Apache-2.0 */
/* DRAM as an estimate needs it: for each channel a data bus, the rows that its banks have open, and writes that wait; no commands, no
 * order of requests but that a few others may go while a row opens. Refresh is a share of the time. Times are NPU cycles. */
#ifndef NPU_SIM_SWEEP_RECKON_DRAM_H
#define NPU_SIM_SWEEP_RECKON_DRAM_H

#include "models/dram/dram.h"
#include "models/hw.h"

struct reckon_dram;

/* NULL: out of memory. The configuration must outlive it. */
struct reckon_dram *reckon_dram_new(const struct hw *);
void reckon_dram_free(struct reckon_dram *);
/* A request of one row of the DMA, `bytes` from `addr` on, that reaches the controller at `arrival`: when the last byte has left it,
 * and when the controller holds the whole of it. */
double reckon_dram_read(struct reckon_dram *, uint64_t addr, uint64_t bytes, double arrival);
double reckon_dram_write(struct reckon_dram *, uint64_t addr, uint64_t bytes, double arrival);
/* When the writes that wait have left, too. */
double reckon_dram_end(const struct reckon_dram *);

#endif
