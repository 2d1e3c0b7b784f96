/* SPDX-License-Identifier: Apache-2.0 */
/* The text formats of a timeline. Of a window they hold what timeline_walk() (sim/timeline/lanes.h) shows, and say what
 * they leave out, but for the table, which has no place for it. All are byte-reproducible: nothing of the host is in them.
 * False with an error when the stream fails or memory is short; the stream stays the caller's. */
#ifndef NPU_SIM_TIMELINE_FORMATS_H
#define NPU_SIM_TIMELINE_FORMATS_H

#include "sim/simulate_parts.h"

/* A row an instruction, in program order, after a header of names with units (RFC 4180, LF line ends): what it is, the
 * cycles at which it was issued, became the oldest of its queue (ready), started and ended, its engine's stalled cycles
 * that it decided by cause, DRAM bytes, MACs. Of a window: the instructions in service in it, with all their cycles. */
bool timeline_write_csv(const struct simulation *, FILE *, struct npu_error *);
/* Chrome Trace Event Format; ts counts microseconds, so a cycle shows as 0.001. "profilingType" stands first, by which
 * MindStudio Insight knows an operator trace. */
bool timeline_write_chrome(const struct simulation *, FILE *, struct npu_error *);
/* Value Change Dump (IEEE 1364): a state of each engine and of the sequencer as text (GTKWave's string variables) and as
 * the number of models/states.def's row, and the curves as reals; a time unit is a cycle. */
bool timeline_write_vcd(const struct simulation *, FILE *, struct npu_error *);

#endif
