/* SPDX-License-Identifier: Apache-2.0 */
/* What assembler, disassembler and reference must agree on. */
#ifndef NPU_ISA_TEXT_SYNTAX_H
#define NPU_ISA_TEXT_SYNTAX_H

#include "isa/field.h"

enum { NPU_MAX_POSITIONAL = 4 };

/* Addresses are written by position, destination first: in the order of the table, but DRAM first where it is written.
 * Optional ones come last; they may be left out from the end. Returns their number. */
unsigned npu_syntax_positional(const struct npu_op_info *, const struct npu_field *out[NPU_MAX_POSITIONAL]);
static inline bool npu_syntax_is_positional(const struct npu_field *field)
{
	return field->kind == NPU_KIND_LOCAL || field->kind == NPU_KIND_DRAM;
}
/* Whether the instruction looks at an optional address. */
bool npu_syntax_uses(const struct npu_insn *, const struct npu_field *);
/* Whether text may write a name without quotes: q, k_free[0], layer0.q; wait, post, sram, acc and dram mean other
 * things. */
bool npu_syntax_is_plain_name(const char *name);

#endif
