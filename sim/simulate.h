/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a program on the machine, its figures and its event record; and how they are shown. The door between the
 * commands (sim/cmd) and accounting, reports and timelines. */
#ifndef NPU_SIM_SIMULATE_H
#define NPU_SIM_SIMULATE_H

#include "isa/macro.h"
#include "isa/program.h"
#include "kernels/kernel.h"
#include "models/hw.h"

#include <stdio.h>

/* The cycles [from, to) that timelines show; `to` 0: all. */
struct timeline_window {
	uint64_t from, to;
};

/* Everything stays the caller's and must live until simulation_free(). */
struct simulation_request {
	const struct hw *hw;               /* passed hw_check() */
	const char *dram_part;             /* name of the DRAM part, for people; NULL or "": none was named */
	const char *title;                 /* of the machine, as of struct config; NULL: the name in `hw` */
	const char *preset;                /* that the machine is made from; NULL or "": none */
	const char *const *changes;        /* "sram.size=2MiB" above it, as of struct config; NULL: none */
	const struct npu_program *program; /* passed npu_program_check() and npu_program_fits() */
	const char *command;               /* "run", for the report's `command` */
	const char *subject;               /* kernel, or file name without its folder; "stdin" */
	const struct npu_kernel *kernel;   /* NULL for files */
	const struct npu_args *args;       /* resolved; NULL for files */
	const struct npu_macro *macro;     /* parameters of a source; NULL: there are none */
	unsigned ideal;                    /* enum machine_ideal */
	const struct memory_plugin *memory; /* in the DRAM's place (sim/memory_plugin.h); NULL: none */
	bool want_record;                  /* keep the event record: timelines need it */
	bool want_requests;                /* to DRAM, for dram_requests_write() */
	bool want_critical;                /* the critical path in the report and its tables; needs want_record */
	bool want_insns;                   /* a row an instruction and the critical path in the report; needs want_record */
	struct timeline_window window;     /* of every timeline */
	FILE *played;                      /* events of this very run (sim/played.h), in the machine's place; NULL: it runs */
	FILE *progress;                    /* a terminal that is told of a long run; NULL: nobody is */
	const struct values *values;       /* computed beside the run (sim/values.h), for the report; NULL: none were */
};

/* How tables are printed; the figures never depend on it. */
struct report_style {
	bool color;   /* escape sequences are welcome: a terminal, and no NO_COLOR */
	bool regions; /* the table of regions even when they are many */
};

/* The figures of a run and, where asked for, its event record. */
struct simulation;

/* Runs to the end. NULL with an error: a deadlock (it names every waiting instruction), or memory is short. One call a
 * process, as machine_run(). */
struct simulation *simulate(const struct simulation_request *, struct npu_error *);
void simulation_free(struct simulation *);
uint64_t simulation_cycles(const struct simulation *);

/* The tables that people read. False when the stream failed; the caller, who knows its name, tells. */
bool report_print(const struct simulation *, FILE *, const struct report_style *);
/* `npusim.report/1`, one object and a newline; nothing in it depends on the host. */
bool report_write_json(const struct simulation *, FILE *, struct npu_error *);

/* Whether a timeline can be written under that name, told before a long run: the extension chooses the format, "-" is
 * Perfetto's on a stdout that is no terminal. An error lists the extensions that there are. */
bool timeline_check(const char *path, struct npu_error *);
/* "1000:2000", "1000:", ":2000". False with an error of usage for anything else and for a window without a cycle. */
bool timeline_window_parse(const char *text, struct timeline_window *, struct npu_error *);
/* Replaces `path` atomically (sim/output.h); needs want_record. An error when the window begins behind the run's end. */
bool timeline_write(const struct simulation *, const char *path, struct npu_error *);
/* After timeline_write(): a line on what a window left out, and a warning of a file above 200 MB. */
void timeline_tell(const struct simulation *, const char *path, FILE *);
/* Warns of a file above 200 MB, with what to do about it: "; ...". */
void timeline_warn(const char *path, const char *advice, FILE *);
/* The DRAM requests of a run with want_requests, in order of arrival, as lines that `npusim dram` replays: address, R or W,
 * DRAM clock. A line is 64 bytes: a request is cut at multiples of them, and one of less is a line, too. Replaces `path`
 * atomically. */
bool dram_requests_write(const struct simulation *, const char *path, struct npu_error *);
/* What to do with such a file, for the line below the report: "open it at ui.perfetto.dev (1 ns shown = 1 cycle)". */
const char *timeline_advice(const char *path);

#endif
