/* SPDX-License-Identifier: Apache-2.0 */
/* Random machines and random legal programs that are large enough to be measured, the same for a seed every time. */
#ifndef NPU_TESTS_GOLDEN_TWIN_RANDOM_H
#define NPU_TESTS_GOLDEN_TWIN_RANDOM_H

#include "models/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A preset, of which keys have changed unless `plain`; hw_check takes it. */
struct hw twin_random_hw(uint64_t seed, bool plain);
/* It fits the machine; read in program order, every wait finds its count. Exits when the assembly refuses it. */
struct npu_program *twin_random_program(uint64_t seed, const struct hw *hw, unsigned ninsns);

#ifdef __cplusplus
}
#endif

#endif
