/* SPDX-License-Identifier: Apache-2.0 */
/* What a fuzzer (tests/fuzz/NAME_fuzz.c) defines. libFuzzer or standalone.c calls it. */
#ifndef NPU_TESTS_FUZZ_FUZZ_H
#define NPU_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Works on data[size], which may hold anything, and returns 0. A finding is a crash, an abort or a hang. data is not
 * NUL-terminated and belongs to the caller. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
