/* SPDX-License-Identifier: Apache-2.0 */
/* Flat text with the cycles of a run beside each instruction. */
#ifndef NPU_SIM_CMD_ANNOTATE_H
#define NPU_SIM_CMD_ANNOTATE_H

#include "isa/program.h"

/* Writes it to `path`. False with an error: `report` is none of this program, or has no rows of instructions. */
bool annotate(const struct npu_program *, const char *report, const char *path, struct npu_error *);

#endif
