/* SPDX-License-Identifier: Apache-2.0 */
/* The reference page of the instruction set, docs/isa.md. */
#ifndef NPU_ISA_REFERENCE_H
#define NPU_ISA_REFERENCE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Markdown, malloc'ed, NUL-terminated; NULL when out of memory. */
char *npu_isa_reference(void);

#ifdef __cplusplus
}
#endif

#endif
