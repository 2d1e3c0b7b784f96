/* SPDX-License-Identifier: Apache-2.0 */
/* The words of macro assembly as its parser has them, for editors that colour it. Mnemonics, fields and named values
 * are isa/field.h's. */
#ifndef NPU_ISA_TEXT_MACRO_WORDS_H
#define NPU_ISA_TEXT_MACRO_WORDS_H

#ifdef __cplusplus
extern "C" {
#endif

enum npu_macro_words {
	NPU_MACRO_DIRECTIVES,     /* ".for" */
	NPU_MACRO_FUNCTIONS, /* "min" */
	NPU_MACRO_OPTIONS,        /* "at", of what is declared: at=0x1000 */
	NPU_MACRO_DIRECTIONS,     /* "inout", of a tensor */
	NPU_MACRO_PAGE_STATES,    /* "owned" */
};

/* The n-th of them, NULL past the last one. */
const char *npu_macro_word(enum npu_macro_words, unsigned n);

#ifdef __cplusplus
}
#endif

#endif
