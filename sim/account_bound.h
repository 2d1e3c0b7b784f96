/* SPDX-License-Identifier: Apache-2.0 */
/* What limits a run, and the figures that say so. */
#ifndef NPU_SIM_ACCOUNT_BOUND_H
#define NPU_SIM_ACCOUNT_BOUND_H

#include "sim/account.h"

/* Sets bound and bound_evidence from the other figures.
 *
 * The engine that is active longest is asked (ties: matrix, vector, load, store).
 *   It is active in less than BOUND_ACTIVE_PERCENT of the cycles: no engine is the limit, their order is. Over all engines,
 *   cycles without an instruction (dispatch_*) against cycles waiting for another engine (wait_*): the former more ->
 *   dispatch, else latency.
 *   Otherwise its cycles in service are divided: conflicts | setup and latency | the rest. Conflicts the largest -> sram;
 *   else for matrix and vector -> matrix, vector; for a DMA setup and latency the largest, or DRAM buses that carry data in
 *   less than BOUND_REST_PERCENT of these cycles beside a port that is not full -> latency; else its on-chip
 *   port busy in BOUND_PORT_PERCENT of its cycles in service while the DRAM buses are not in BOUND_BUS_PERCENT, or with an
 *   ideal DRAM -> dma (its port, dma.port, is what moves no more); else dram. */
enum { BOUND_ACTIVE_PERCENT = 60, BOUND_PORT_PERCENT = 90, BOUND_BUS_PERCENT = 70, BOUND_REST_PERCENT = 50 };
void account_bound(struct account *);

#endif
