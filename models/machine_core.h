/* SPDX-License-Identifier: Apache-2.0 */
/* The machine without whoever drives it: blocks that are stepped at cycles. SystemC drives it in machine_sc.cpp, a plain loop
 * in tests/support/machine_loop.c; both must tell the probe the same. */
#ifndef NPU_MODELS_MACHINE_CORE_H
#define NPU_MODELS_MACHINE_CORE_H

#include "models/machine.h"
#include "models/machine_wake.h"
#include "models/outside.h"

#ifdef __cplusplus
extern "C" {
#endif

struct machine;
/* Everything is kept by reference but `wake`. The first wake-ups come from here: the driver must be ready to note them. NULL
 * with `err` filled in when memory is short or the DRAM part cannot be built. */
struct machine *machine_new(const struct hw *hw, const struct npu_program *program, unsigned ideal,
			    const struct probe *probe, const struct machine_wake *wake, struct npu_error *err);
void machine_free(struct machine *);

/* Another memory in the DRAM's place (copied), before machine_start(), and its answers. */
void machine_attach_memory(struct machine *, const struct outside *memory);
void machine_answer(struct machine *, const struct outside_answer *answer);

/* Begins at cycle 0: the sequencer issues. */
void machine_start(struct machine *);
/* Steps one block (enum machine_block) at `now`; returns when to step it next, NPU_NEVER: when it is woken. */
uint64_t machine_step(struct machine *, unsigned block, uint64_t now);
/* Nothing is to be stepped any more: drains the DRAM, fills in `totals` (but for sc_activations), closes the account. False
 * on a deadlock or a semaphore over its maximum. */
bool machine_finish(struct machine *, struct machine_totals *totals, struct npu_error *err);

#ifdef __cplusplus
}
#endif

#endif
