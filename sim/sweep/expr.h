/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions of people: "tile_q * tile_kv <= 65536 && buffering != single". Numbers (sizes take KiB, MiB, GiB), names with
 * dots, words, + - * / %, comparisons, && || !, parentheses. */
#ifndef NPU_SIM_SWEEP_EXPR_H
#define NPU_SIM_SWEEP_EXPR_H

#include "isa/error.h"

struct expr;

/* A name's value; `text` NULL: a number, which NaN stands for where there is none. */
struct expr_value {
	double number;
	const char *text;
};

/* NULL with an error: text, and the column (from 1) in err->column. */
struct expr *expr_parse(const char *text, struct npu_error *err);
void expr_free(struct expr *);
/* The names in it, each once, in their order; NULL past the last one. `column` may be NULL. */
const char *expr_name(const struct expr *, unsigned n, uint32_t *column);
/* From now on the name stands for itself: the word of a choice. */
void expr_make_word(struct expr *, unsigned n);
bool expr_is_word(const struct expr *, unsigned n);
/* Whether it holds; `value` tells the values of names by number. What divides by 0, or compares what is not there, does not hold. */
typedef struct expr_value expr_values(void *context, unsigned name);
bool expr_holds(const struct expr *, expr_values *, void *context);
/* The number or word that a person wrote as a value: sizes become bytes, k is 1,024. The text is not copied. */
struct expr_value expr_value_of(const char *text);

#endif
