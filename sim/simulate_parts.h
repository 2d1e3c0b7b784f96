/* SPDX-License-Identifier: Apache-2.0 */
/* What a simulation is inside: for the reports and timelines, and for tests that play the machine. */
#ifndef NPU_SIM_SIMULATE_PARTS_H
#define NPU_SIM_SIMULATE_PARTS_H

#include "sim/account.h"

struct simulation {
	struct simulation_request request;
	struct record record; /* with events when the request wants them */
	struct machine_totals totals;
	struct account account;
	struct critical *critical; /* NULL unless it was recorded */
};

/* Runs what is requested, as machine_run() promises. */
typedef bool simulate_machine(const struct simulation_request *, const struct probe *, struct machine_totals *,
			      struct npu_error *);
/* simulate() on a given machine. */
struct simulation *simulate_on(simulate_machine *, const struct simulation_request *, struct npu_error *);

/* Parameter values as the command line takes them: "128", "causal"; into `out`. */
const char *simulate_arg_text(const struct npu_kernel *, const struct npu_args *, unsigned param, char out[32]);
/* hw->name without a folder. */
/* What the machine is called for people: "edge-1mb", "edge-1mb, changed". */
const char *simulate_title(const struct simulation_request *);
const char *simulate_hw_name(const struct hw *);
/* Names of the parts in a mask of enum machine_ideal, by bit; NULL past the last one. */
const char *simulate_ideal_name(unsigned bit);

#endif
