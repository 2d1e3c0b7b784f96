/* SPDX-License-Identifier: Apache-2.0 */
/* Families of programs that the machine and its twin are compared on, and what they must agree on. */
#ifndef NPU_TESTS_GOLDEN_TWIN_CASES_H
#define NPU_TESTS_GOLDEN_TWIN_CASES_H

#include "tests/golden/twin_compare.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Seeds [from, to): a random program each, on the presets in turn (`plain`) or on a random machine. */
bool twin_add_random(struct twin_table *, uint64_t from, uint64_t to, bool plain);
/* The same with the small machines and programs of tests/support/machine_random.h. */
bool twin_add_small(struct twin_table *, uint64_t from, uint64_t to);
/* Every shipped kernel, `each` times on every preset, with random parameters of lengths up to `longest`; those that do
 * not fit, or that would run for more than `macs` products, are drawn again. */
bool twin_add_kernels(struct twin_table *, unsigned each, uint64_t longest, uint64_t macs);

/* The tables of docs/models/machine.md, which golden_bench prints. */
enum { TWIN_TABLES = 4 };
bool twin_documented(struct twin_table[TWIN_TABLES]);

#ifdef __cplusplus
}
#endif

#endif
