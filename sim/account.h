/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a run, as report.def names them, from its record and the machine's own totals. Shown by report_*.c. */
#ifndef NPU_SIM_ACCOUNT_H
#define NPU_SIM_ACCOUNT_H

#include "models/machine.h"
#include "sim/record.h"
#include "sim/simulate.h"
#include "sim/traffic.h"

/* Facts of models/states.def. */
enum account_group { ACCOUNT_ACTIVE, ACCOUNT_WAITING, ACCOUNT_EMPTY };
enum account_group account_state_group(enum npu_state);
const char *account_state_name(enum npu_state);
const char *account_state_doc(enum npu_state);
/* Neither busy nor idle. */
bool account_state_is_stall(enum npu_state);
/* Of stalls, one that an instruction decides: in service, or waiting at the head of its queue. */
bool account_state_is_decided(enum npu_state);
const char *account_sequencer_name(enum npu_seq_state);
/* The cycles of one engine that are in service. */
uint64_t account_active(const uint64_t states[NPU_STATES]);

/* A row of the regions table: all regions of one path. */
struct account_region {
	char *name; /* the path; "(none)" in the last row */
	uint64_t instructions;
	uint64_t macs;
	uint64_t dram_read_bytes;
	uint64_t dram_write_bytes;
	record_states states;
};

struct account {
#define ACCOUNT_UINT uint64_t
#define ACCOUNT_REAL double
#define ACCOUNT_TEXT const char *
#define FIGURE(type, field, path, unit, doc) ACCOUNT_##type field;
#include "sim/report.def"
#undef ACCOUNT_UINT
#undef ACCOUNT_REAL
#undef ACCOUNT_TEXT
	record_states states;
	uint64_t instructions[NPU_ENGINES];
	uint64_t active[NPU_ENGINES];
	uint64_t sequencer[NPU_SEQ_STATES];
	struct traffic traffic;
	struct account_region *regions; /* none when the program has no regions, else in order of appearance, (none) last */
	uint32_t nregions;
	uint32_t *row_of_region; /* of a region's number; NULL without regions */
	char evidence[200]; /* what bound_evidence points to */
};

/* From a record that record_finish() accepted. False with an error when memory is short or account_check() refuses. */
bool account_init(struct account *, const struct simulation_request *, const struct record *,
		  const struct machine_totals *, struct npu_error *err);
void account_fini(struct account *);
/* "outer/inner", as the table of regions names the region of an instruction; "" when it is in none. */
const char *account_region_path(const struct account *, const struct npu_program *, uint32_t insn);

/* That the figures agree with each other: every engine's states, the sequencer's, the overlap's four parts add up to the
 * cycles; active is what it is made of; regions and tensors add up to the totals; no fraction is above 1. A report that
 * fails is a fault of the simulator, never of the program. */
bool account_check(const struct account *, struct npu_error *err);

#endif
