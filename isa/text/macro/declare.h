/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of declarations share. Each returns false, or NULL, with an error told. */
#ifndef NPU_ISA_TEXT_MACRO_DECLARE_H
#define NPU_ISA_TEXT_MACRO_DECLARE_H

#include "isa/text/macro/state.h"

bool npu_mac_declare_param(struct npu_mac *, const struct npu_mac_decl *);
bool npu_mac_declare_let(struct npu_mac *, const struct npu_mac_decl *);
/* A copy of a text in the arena. */
const char *npu_mac_kept_text(struct npu_mac *, struct npu_arena *, const char *text);
/* Tells that the name is declared already, and where; false. */
bool npu_mac_refuse_second(struct npu_mac *, const struct npu_mac_decl *);

#endif
