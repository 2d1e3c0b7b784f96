/* SPDX-License-Identifier: Apache-2.0 */
/* A request trace fed to the DRAM controller alone. */
#ifndef NPU_SIM_CMD_DRAM_TRACE_H
#define NPU_SIM_CMD_DRAM_TRACE_H

#include "isa/error.h"
#include "models/dram/dram.h"

enum { DRAM_TRACE_BYTES = 64 }; /* a line of the trace */

struct dram_trace_figures {
	uint64_t requests;
	uint64_t clocks; /* first arrival to last data */
	uint64_t reads;  /* the latencies are theirs, in clocks, from when the controller had taken it or the line's cycle */
	double mean_latency, median_latency;
	uint64_t max_latency;
	struct dram_stats stats;
};

/* Lines "ADDRESS R|W [CYCLE]": with cycles (DRAM clocks, on every line or on none) a request arrives then; without, each
 * is pushed in order as soon as the controller takes it. `path` "-" is stdin. */
bool dram_trace_run(const struct dram_config *, const char *path, struct dram_trace_figures *, struct npu_error *);

#endif
