/* SPDX-License-Identifier: Apache-2.0 */
/* An example of each instruction, for docs/isa.md: made from the table, so that a new instruction has one the day it
 * exists. */
#ifndef NPU_ISA_EXAMPLE_H
#define NPU_ISA_EXAMPLE_H

#include "isa/field.h"
#include "isa/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A program with one example of each instruction of the format, in the order of npu_ops, and the block table or the
 * semaphores that they need. What the table leaves open has a usual value, what that makes illegal the first value that
 * is legal; addresses that may be left out are there where a flag or a named value alone brings them into use. NULL
 * with an error: out of memory, or no such value is legal. */
struct npu_program *npu_example_program(const struct npu_format *, struct npu_error *err);

#ifdef __cplusplus
}
#endif

#endif
