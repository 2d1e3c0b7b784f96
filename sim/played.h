/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a run in a file, and the machine that plays them again. A process runs a machine once; one that wants the
 * records of several lets children run them, each into a file, and plays the files. */
#ifndef NPU_SIM_PLAYED_H
#define NPU_SIM_PLAYED_H

#include "sim/simulate_parts.h"

/* Runs the machine that is asked for and keeps what it tells; the file is for this process and its parent alone, for it
 * holds structures as they lie. False with an error: as machine_run(), or the file takes no more. */
bool played_keep(const struct simulation_request *, FILE *, struct npu_error *);
/* A simulate_machine of request.played: tells the events of the file in their order. False when they are cut short. */
bool played_machine(const struct simulation_request *, const struct probe *, struct machine_totals *, struct npu_error *);

#endif
