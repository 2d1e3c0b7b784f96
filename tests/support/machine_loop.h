/* SPDX-License-Identifier: Apache-2.0 */
/* Drives the machine's cores with a plain loop in place of SystemC, and what tests of it share: a default hardware, a
 * recorder behind the probe. */
#ifndef NPU_TESTS_SUPPORT_MACHINE_LOOP_H
#define NPU_TESTS_SUPPORT_MACHINE_LOOP_H

#include "models/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As machine_run; any number of times a process. `reverse` steps the blocks of one cycle in the other order: nothing that
 * the probe is told may depend on it. */
bool machine_loop_run(const struct hw *hw, const struct npu_program *program, unsigned ideal, const struct probe *probe,
		      bool reverse, struct machine_totals *totals, struct npu_error *err);

/* Every key of hw.def at its initial value, with a DRAM part of models/presets/dram. */
struct hw machine_hw(const char *part);

/* Everything that the probe was told. */
struct machine_record {
	struct probe_span *spans;
	struct probe_insn *insns;
	struct machine_record_line {
		enum npu_seq_state state;
		uint64_t from, to;
	} *lines;
	struct probe_transfer *transfers;
	uint64_t nspans, ninsns, nlines, ntransfers;
	uint64_t state[NPU_ENGINES][NPU_STATES]; /* cycles */
	uint64_t line[NPU_SEQ_STATES];
};
struct probe machine_record_probe(struct machine_record *);
void machine_record_free(struct machine_record *);
/* The record of one instruction, NULL when it was not told. */
const struct probe_insn *machine_record_insn(const struct machine_record *, uint32_t insn);
/* NULL when the same was told in the same order an engine (and of instructions, an engine); else where they differ. */
const char *machine_record_difference(const struct machine_record *, const struct machine_record *);
/* NULL when each engine's spans cover [0, cycles) without gap or overlap and so does the sequencer's line; else what is
 * wrong, in a buffer of the caller's. */
const char *machine_record_fault(const struct machine_record *, uint64_t cycles, char *out, uint64_t size);

#ifdef __cplusplus
}
#endif

#endif
