/* SPDX-License-Identifier: Apache-2.0 */
/* How many bytes of local memory are alive when. A declared buffer lives from the start of the first instruction that
 * touches it to the end of the last; bytes outside declared buffers likewise, each run of them that is always touched
 * alike. Bytes under several live buffers count once. */
#ifndef NPU_SIM_RECORD_LIVE_H
#define NPU_SIM_RECORD_LIVE_H

#include "isa/program.h"

enum live_space { LIVE_SRAM, LIVE_ACCUM, LIVE_SPACES };

/* From `time` on, `bytes` are alive, until the next step. */
struct live_step {
	uint64_t time;
	uint64_t bytes;
};

struct live;

/* Reads the whole program: finds the first and last instruction of each engine that touches each range. NULL when out
 * of memory. */
struct live *live_new(const struct npu_program *);
void live_free(struct live *);
/* When an instruction ran; those that begin or end no life are ignored. */
void live_insn(struct live *, uint32_t insn, uint64_t start, uint64_t end);
/* After the last instruction. False when out of memory. */
bool live_finish(struct live *);
uint64_t live_peak_bytes(const struct live *, enum live_space);
/* In order of time, times unequal; the last one holds 0 bytes. */
const struct live_step *live_steps(const struct live *, enum live_space, uint64_t *count);

#endif
