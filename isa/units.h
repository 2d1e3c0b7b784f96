/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people read them in messages and tables. */
#ifndef NPU_ISA_UNITS_H
#define NPU_ISA_UNITS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A number with its text; returned by value so that several fit in one printf. */
struct npu_text {
	char text[40];
};

/* 1234567 -> "1,234,567" */
struct npu_text npu_count_text(uint64_t);
/* A number of things: "1 instruction", "2,752 instructions". `noun` takes an s, and is short enough for the text. */
struct npu_text npu_number_of(uint64_t, const char *noun);
/* Whole binary units as they are ("320 KiB", "1,024 KiB", "2 GiB"), anything else in bytes ("1,234 bytes"). MiB and GiB
 * only from four of them, so that nearby sizes share a unit. */
struct npu_text npu_bytes_text(uint64_t);
/* "sram:0x1f" or "acc:0x1f". */
struct npu_text npu_local_text(uint32_t local);

#ifdef __cplusplus
}
#endif

#endif
