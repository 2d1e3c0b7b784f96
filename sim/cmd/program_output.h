/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a program as text or binary. */
#ifndef NPU_SIM_CMD_PROGRAM_OUTPUT_H
#define NPU_SIM_CMD_PROGRAM_OUTPUT_H

#include "isa/program.h"

enum program_form { PROGRAM_TEXT, PROGRAM_BINARY };

/* By extension: .npub is binary, .npu text, others `other`. */
enum program_form program_form(const char *path, enum program_form other);
/* "-" is stdout; binary on a terminal is refused. */
bool program_output(const struct npu_program *, const char *path, enum program_form, struct npu_error *err);

#endif
