/* SPDX-License-Identifier: Apache-2.0 */
/* Small random machines and legal programs for them, the same for a seed every time. */
#ifndef NPU_TESTS_SUPPORT_MACHINE_RANDOM_H
#define NPU_TESTS_SUPPORT_MACHINE_RANDOM_H

#include "models/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A machine that hw_check takes. */
struct hw machine_random_hw(uint64_t seed);
/* At most `ninsns` instructions of all engines, with waits and posts, syncs, layouts, block tables; it fits the machine and,
 * read in program order, every wait finds its count. Exits when the assembly refuses it. */
struct npu_program *machine_random_program(uint64_t seed, const struct hw *hw, unsigned ninsns);

#ifdef __cplusplus
}
#endif

#endif
