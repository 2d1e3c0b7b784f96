/* SPDX-License-Identifier: Apache-2.0 */
/* What makes two sweeps the same one. */
#ifndef NPU_SIM_SWEEP_IDENTITY_H
#define NPU_SIM_SWEEP_IDENTITY_H

#include "sim/sweep/spec.h"

/* Sets the space's inputs and identity: of each machine's keys, the program and the model, as they were read. `file` is
 * the hash of the program's file and `program` of what came out of it; 0: there is none. */
bool sweep_identify(struct sweep_spec *, uint64_t file, uint64_t program, struct npu_error *err);

#endif
