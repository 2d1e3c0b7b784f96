/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions of people: "tile_q * tile_kv <= 65536 && buffering != single". Numbers (sizes take KiB, MiB, GiB), names
 * with dots, words, + - * / %, comparisons, && || !, parentheses. */
#ifndef NPU_SIM_SWEEP_EXPR_H
#define NPU_SIM_SWEEP_EXPR_H

#include "isa/error.h"

struct expr;

/* A name's value; `text` NULL: a number, which NaN stands for where there is none. */
struct expr_value {
	double number;
	const char *text;
};

/* NULL with an error: text, and the column (from 1) in err->column. `words` (NULL at its end; may be NULL) are taken as
 * they are though there may be an operator in them: edge-2mb. */
struct expr *expr_parse(const char *text, const char *const *words, struct npu_error *err);
void expr_free(struct expr *);
enum { EXPR_NAMES = 256, EXPR_NAME_BYTES = 96 };
/* The names in it, each as often as it stands there, in their order; NULL past the last one, EXPR_NAMES at most. `column`
 * may be NULL. */
const char *expr_name(const struct expr *, unsigned n, uint32_t *column);
/* The name on the other side of == or !=; -1: there is none. */
int expr_opposite(const struct expr *, unsigned n);
/* From now on the name there stands for a word, its own (`text` NULL) or another one. */
void expr_make_word(struct expr *, unsigned n, const char *text);
/* Its name is another one; cut to EXPR_NAME_BYTES. */
void expr_rename(struct expr *, unsigned n, const char *name);
bool expr_is_word(const struct expr *, unsigned n);
/* What a name can stand for. */
enum expr_kind { EXPR_ANY, EXPR_NUMBER, EXPR_WORD };
typedef enum expr_kind expr_kinds(void *context, unsigned name);
/* Refuses what never holds, whatever the values are: words that are less or more, or equal to numbers, or reckoned
 * with. The error is as of expr_parse(). */
bool expr_check(const struct expr *, expr_kinds *, void *context, struct npu_error *err);
/* Whether it holds; `value` tells the values of names by number. What divides by 0, or compares what is not there, does
 * not hold. A value's text is looked at before the next one is asked for. Of the former *divides (may be NULL) becomes true. A word that is a number equals that number. */
typedef struct expr_value expr_values(void *context, unsigned name);
bool expr_holds(const struct expr *, expr_values *, void *context, bool *divides);
/* The number or word that a person wrote as a value: sizes become bytes, k is 1,024. The text is not copied. */
struct expr_value expr_value_of(const char *text);

#endif
