/* SPDX-License-Identifier: Apache-2.0 */
/* A run that is run again with something changed, each time in a process of its own: what-if, and which keys explain a
 * difference. */
#ifndef NPU_SIM_RERUN_H
#define NPU_SIM_RERUN_H

#include "sim/cli.h"
#include "sim/cli_work.h"

#include <jansson.h>
#include <stdint.h>

struct rerun {
	struct cli cli;    /* of a command line that would run it */
	const char *word;  /* kernel, file or plug-in */
	unsigned ideal;
	const char *hash;  /* that the program must have when nothing is changed; NULL: any */
	char **owned;
	unsigned nowned;
};

/* What a command line names. */
void rerun_of_cli(struct rerun *, const struct cli *, const char *word);
/* What a report tells of: the kernel of its name, or `program`, or, when that is NULL, a file of its name beside the report or
 * in the current folder; a file must be the program that was run. The report must live as long. False with an error that
 * names `path` when it cannot be run again. */
bool rerun_of_report(struct rerun *, const json_t *report, const char *path, const char *program, struct npu_error *);
void rerun_fini(struct rerun *);

/* The machine and the program of the run itself; work_fini() frees, on failure too. */
bool rerun_work(const struct rerun *, struct work *, struct npu_error *);

struct rerun_job {
	const char *settings; /* "tile_q=256 sram.size=2MiB", in force above those of the run; "" none */
	unsigned ideal;       /* enum machine_ideal, beside those of the run */
	unsigned real;        /* of those of the run, not to be ideal */
	/* Once run. */
	bool ok;
	char why[200]; /* it did not run */
	uint64_t cycles, sram_peak_bytes, accum_peak_bytes, dram_bytes;
	double mac_utilization, energy_uj;
};

/* Runs all. False only when processes fail; a job that is not legal says so in `why`. */
bool rerun_jobs(const struct rerun *, struct rerun_job *jobs, unsigned n, struct npu_error *);

#endif
