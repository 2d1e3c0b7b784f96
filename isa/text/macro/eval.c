/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers: 64-bit integers that never wrap, and doubles for what an instruction takes as a float. */
#include "isa/text/macro/state.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool overflow(struct npu_mac *s, const struct npu_mac_node *node)
{
	return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "the result is beyond 64 bits");
}

static const char *kind_name(const struct npu_mac_value *value)
{
	switch (value->kind) {
	case NPU_MAC_INT:
		return "a number";
	case NPU_MAC_WORD:
		return "a word";
	case NPU_MAC_VIEW:
		return "part of a tensor or buffer";
	case NPU_MAC_SEM:
		return "a semaphore";
	case NPU_MAC_OBJECT:
		switch (value->object->kind) {
		case NPU_MAC_TENSOR_OBJECT:
			return "a tensor";
		case NPU_MAC_BUFFER_OBJECT:
			return "a buffer";
		case NPU_MAC_SEM_OBJECT:
			return "a semaphore";
		case NPU_MAC_TABLE_OBJECT:
			return "a table";
		}
	}
	return "something else";
}

static bool unknown(struct npu_mac *s, const struct npu_mac_node *node)
{
	struct npu_mac_span span = { node->span.begin, node->span.begin + node->symbol->length };
	if (*span.begin == '"' || span.end > node->span.end)
		span = node->span;
	return npu_mac_refuse_as(s, NPU_ERR_VALUE, span, "%s means nothing here%s", node->symbol->name,
				 node->symbol->binding ? NPU_MAC_HIDDEN : npu_mac_hint(s, span).text);
}

static bool name_int(struct npu_mac *s, const struct npu_mac_node *node, int64_t *out)
{
	const struct npu_mac_binding *binding = npu_mac_bound(s, node->symbol);
	if (!binding)
		return unknown(s, node);
	if (binding->value.kind != NPU_MAC_INT)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "%s is %s, not a number", node->symbol->name,
					 kind_name(&binding->value));
	if (node->n || node->turned)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "%s is a number and has no %s",
					 node->symbol->name, node->n ? "index" : "transpose");
	*out = binding->value.number;
	return true;
}

static bool unary_int(struct npu_mac *s, const struct npu_mac_node *node, int64_t *out)
{
	int64_t a;
	if (!npu_mac_int(s, node->a, &a))
		return false;
	switch (node->op) {
	case '-':
		return !__builtin_sub_overflow(0, a, out) || overflow(s, node);
	case '!':
		*out = !a;
		return true;
	default: /* '~' */
		*out = ~a;
		return true;
	}
}

/* Rounds down, so that (i - 1) % 2 is 0 or 1 for every i. */
static bool divide(struct npu_mac *s, const struct npu_mac_node *node, int64_t a, int64_t b, int64_t *out)
{
	if (b == 0)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->b->span, "a division by 0");
	if (a == INT64_MIN && b == -1) {
		*out = 0;
		return node->op == '%' || overflow(s, node);
	}
	bool down = a % b != 0 && (a < 0) != (b < 0);
	*out = node->op == '/' ? a / b - down : a % b + (down ? b : 0);
	return true;
}

static bool shift(struct npu_mac *s, const struct npu_mac_node *node, int64_t a, int64_t b, int64_t *out)
{
	if (b < 0 || b > 63)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->b->span, "a shift by %" PRId64 ": 0 to 63", b);
	if (node->op == NPU_PUNCT2('>', '>')) {
		*out = a >> b;
		return true;
	}
	*out = (int64_t)((uint64_t)a << b);
	return *out >> b == a || overflow(s, node);
}

static bool compute(struct npu_mac *s, const struct npu_mac_node *node, int64_t a, int64_t b, int64_t *out)
{
	switch (node->op) {
	case '+':
		return !__builtin_add_overflow(a, b, out) || overflow(s, node);
	case '-':
		return !__builtin_sub_overflow(a, b, out) || overflow(s, node);
	case '*':
		return !__builtin_mul_overflow(a, b, out) || overflow(s, node);
	case '/':
	case '%':
		return divide(s, node, a, b, out);
	case NPU_PUNCT2('<', '<'):
	case NPU_PUNCT2('>', '>'):
		return shift(s, node, a, b, out);
	case NPU_PUNCT2('=', '='):
		*out = a == b;
		return true;
	case NPU_PUNCT2('!', '='):
		*out = a != b;
		return true;
	case NPU_PUNCT2('<', '='):
		*out = a <= b;
		return true;
	case NPU_PUNCT2('>', '='):
		*out = a >= b;
		return true;
	case '<':
		*out = a < b;
		return true;
	case '>':
		*out = a > b;
		return true;
	case '&':
		*out = a & b;
		return true;
	case '|':
		*out = a | b;
		return true;
	case '^':
		*out = a ^ b;
		return true;
	default: /* '@' */
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span,
					 "@ multiplies matrices, in the reference of a tensor");
	}
}

/* Of fp16, block16, row, words that instructions know: all of its kind. n 0: it is none. */
static struct npu_mac_choices named_values(const char *name)
{
	for (unsigned kind = NPU_KIND_LOCAL; kind <= NPU_KIND_SCALE; kind++) {
		const char *const *names;
		unsigned n = npu_kind_names((enum npu_field_kind)kind, &names);
		for (unsigned i = 0; i < n; i++)
			if (strcmp(names[i], name) == 0)
				return (struct npu_mac_choices){ names, n, true };
	}
	return (struct npu_mac_choices){ NULL, 0, true };
}

static bool is_word(const struct npu_mac *s, const struct npu_mac_node *node)
{
	const struct npu_mac_binding *b = npu_mac_bound(s, node->symbol);
	return b && b->value.kind == NPU_MAC_WORD;
}

/* A name that stands for a word, else the name itself, whatever else it means. */
static const char *word_of(const struct npu_mac *s, const struct npu_mac_node *node)
{
	return is_word(s, node) ? npu_mac_bound(s, node->symbol)->value.word : node->symbol->name;
}

/* mask == causal: whether a name stands for that word. */
static bool compares_words(const struct npu_mac *s, const struct npu_mac_node *node)
{
	const struct npu_mac_node *a = node->a, *b = node->b;
	bool equality = node->op == NPU_PUNCT2('=', '=') || node->op == NPU_PUNCT2('!', '=');
	return equality && a->kind == NPU_MAC_NAME && b->kind == NPU_MAC_NAME && !a->n && !b->n &&
	       (is_word(s, a) || is_word(s, b));
}

static bool refuse_word(struct npu_mac *s, const struct npu_mac_node *node, const struct npu_mac_choices *choices)
{
	char list[160];
	size_t used = 0;
	const char *word = node->symbol->name, *nearest = npu_nearest(word, choices->names, choices->n);
	for (unsigned i = 0; i < choices->n && used < sizeof list; i++)
		used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? "|" : "", choices->names[i]);
	return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "%s is none of %s%s%s%s", word, list,
				 nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

/* A word that the other side can never be is a misspelt one. */
static bool check_word(struct npu_mac *s, const struct npu_mac_node *node, const struct npu_mac_node *other)
{
	if (is_word(s, node) || !is_word(s, other))
		return true;
	const struct npu_mac_choices *choices = &npu_mac_bound(s, other->symbol)->value.choices;
	const char *word = node->symbol->name;
	if (choices->open && named_values(word).n)
		return true;
	for (unsigned i = 0; i < choices->n; i++)
		if (strcmp(choices->names[i], word) == 0)
			return true;
	return !choices->n || refuse_word(s, node, choices);
}

static bool compare_words(struct npu_mac *s, const struct npu_mac_node *node, int64_t *out)
{
	*out = (strcmp(word_of(s, node->a), word_of(s, node->b)) == 0) == (node->op == NPU_PUNCT2('=', '='));
	return check_word(s, node->a, node->b) && check_word(s, node->b, node->a);
}

static bool binary_int(struct npu_mac *s, const struct npu_mac_node *node, int64_t *out)
{
	int64_t a, b;
	if (compares_words(s, node))
		return compare_words(s, node, out);
	if (!npu_mac_int(s, node->a, &a))
		return false;
	bool both = node->op == NPU_PUNCT2('&', '&'), either = node->op == NPU_PUNCT2('|', '|');
	if (both || either) {
		if ((a != 0) == either) {
			*out = either;
			return true;
		}
		if (!npu_mac_int(s, node->b, &b))
			return false;
		*out = b != 0;
		return true;
	}
	return npu_mac_int(s, node->b, &b) && compute(s, node, a, b, out);
}

/* ceil(a / b), or ceil(a, b) */
static bool ceil_int(struct npu_mac *s, const struct npu_mac_node *node, int64_t *out)
{
	const struct npu_mac_node *quotient = node->args[0], *over = node;
	const struct npu_mac_node *a = quotient, *b = node->n == 2 ? node->args[1] : NULL;
	if (!b && quotient->kind == NPU_MAC_BINARY && quotient->op == '/') {
		a = quotient->a;
		b = quotient->b;
		over = quotient;
	}
	int64_t x, y;
	if (!b)
		return npu_mac_int(s, a, out);
	if (!npu_mac_int(s, a, &x) || !npu_mac_int(s, b, &y))
		return false;
	if (y == 0)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, b->span, "a division by 0");
	if (x == INT64_MIN && y == -1)
		return overflow(s, over);
	*out = x / y + (x % y != 0 && (x < 0) == (y < 0));
	return true;
}

/* Of all arguments, one after the other. */
static bool extreme_int(struct npu_mac *s, const struct npu_mac_node *node, int64_t *out)
{
	int64_t x;
	for (unsigned i = 0; i < node->n; i++) {
		if (!npu_mac_int(s, node->args[i], &x))
			return false;
		if (i == 0 || (node->op == NPU_MAC_FN_MIN ? x < *out : x > *out))
			*out = x;
	}
	return true;
}

static bool call_int(struct npu_mac *s, const struct npu_mac_node *node, int64_t *out)
{
	if (node->op == NPU_MAC_FN_CEIL)
		return ceil_int(s, node, out);
	if (node->op == NPU_MAC_FN_MIN || node->op == NPU_MAC_FN_MAX)
		return extreme_int(s, node, out);
	if (node->op == NPU_MAC_FN_ABS)
		return npu_mac_int(s, node->args[0], out) &&
		       (*out >= 0 || !__builtin_sub_overflow(0, *out, out) || overflow(s, node));
	return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "this function gives no whole number");
}

bool npu_mac_int(struct npu_mac *s, const struct npu_mac_node *node, int64_t *out)
{
	int64_t condition;
	switch ((enum npu_mac_node_kind)node->kind) {
	case NPU_MAC_NUMBER:
		*out = node->number;
		return true;
	case NPU_MAC_NAME:
		return name_int(s, node, out);
	case NPU_MAC_UNARY:
		return unary_int(s, node, out);
	case NPU_MAC_BINARY:
		return binary_int(s, node, out);
	case NPU_MAC_CHOICE:
		return npu_mac_int(s, node->a, &condition) && npu_mac_int(s, condition ? node->b : node->c, out);
	case NPU_MAC_CALL:
		return call_int(s, node, out);
	case NPU_MAC_REAL:
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "a whole number is needed here");
	case NPU_MAC_ADDRESS:
	case NPU_MAC_TURN:
		break;
	}
	return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "a number is needed here");
}

bool npu_mac_int_in(struct npu_mac *s, const struct npu_mac_node *node, const char *what, int64_t least, int64_t most,
		    int64_t *out)
{
	if (!npu_mac_int(s, node, out))
		return false;
	if (*out >= least && *out <= most)
		return true;
	return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "%s is %" PRId64 ": must be %" PRId64 " to %" PRId64,
				 what, *out, least, most);
}

/* ---- reals ---- */

/* What has no meaning of its own for reals is an integer. */
static bool whole_as_real(struct npu_mac *s, const struct npu_mac_node *node, double *out)
{
	int64_t whole;
	if (!npu_mac_int(s, node, &whole))
		return false;
	*out = (double)whole;
	return true;
}

static bool binary_real(struct npu_mac *s, const struct npu_mac_node *node, double *out)
{
	double a, b;
	if (node->op > 0xff || !strchr("+-*/", node->op))
		return whole_as_real(s, node, out);
	if (!npu_mac_real(s, node->a, &a) || !npu_mac_real(s, node->b, &b))
		return false;
	*out = node->op == '+' ? a + b : node->op == '-' ? a - b : node->op == '*' ? a * b : a / b;
	return true;
}

static bool extreme_real(struct npu_mac *s, const struct npu_mac_node *node, double *out)
{
	double x;
	for (unsigned i = 0; i < node->n; i++) {
		if (!npu_mac_real(s, node->args[i], &x))
			return false;
		*out = i == 0 ? x : node->op == NPU_MAC_FN_MIN ? fmin(*out, x) : fmax(*out, x);
	}
	return true;
}

static bool call_real(struct npu_mac *s, const struct npu_mac_node *node, double *out)
{
	double x;
	if (node->op == NPU_MAC_FN_MIN || node->op == NPU_MAC_FN_MAX)
		return extreme_real(s, node, out);
	if (node->op != NPU_MAC_FN_SQRT && node->op != NPU_MAC_FN_EXP && node->op != NPU_MAC_FN_ABS)
		return whole_as_real(s, node, out);
	if (!npu_mac_real(s, node->args[0], &x))
		return false;
	*out = node->op == NPU_MAC_FN_SQRT ? sqrt(x) : node->op == NPU_MAC_FN_EXP ? exp(x) : fabs(x);
	return true;
}

bool npu_mac_real(struct npu_mac *s, const struct npu_mac_node *node, double *out)
{
	int64_t condition;
	if (node->kind == NPU_MAC_REAL) {
		*out = node->real;
		return true;
	}
	if (node->kind == NPU_MAC_UNARY && node->op == '-') {
		if (!npu_mac_real(s, node->a, out))
			return false;
		*out = -*out;
		return true;
	}
	if (node->kind == NPU_MAC_BINARY)
		return binary_real(s, node, out);
	if (node->kind == NPU_MAC_CALL)
		return call_real(s, node, out);
	if (node->kind == NPU_MAC_CHOICE)
		return npu_mac_int(s, node->a, &condition) && npu_mac_real(s, condition ? node->b : node->c, out);
	return whole_as_real(s, node, out);
}

/* ---- words and text ---- */

const char *npu_mac_word(struct npu_mac *s, const struct npu_mac_node *node)
{
	bool plain = node->kind == NPU_MAC_NAME && !node->n && !node->turned;
	const struct npu_mac_binding *binding = plain ? npu_mac_bound(s, node->symbol) : NULL;
	if (plain && !binding)
		return node->symbol->name;
	if (plain && binding->value.kind == NPU_MAC_WORD)
		return binding->value.word;
	npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "a word is needed here");
	return NULL;
}

bool npu_mac_named(struct npu_mac *s, const struct npu_mac_node *node, enum npu_field_kind kind, const char *what,
		   uint64_t *out)
{
	const char *const *names;
	unsigned n = npu_kind_names(kind, &names);
	const char *word = NULL;
	/* a type is called by its name whatever else bears that name */
	for (unsigned i = 0; i < n && node->kind == NPU_MAC_NAME; i++)
		if (strcmp(names[i], node->symbol->name) == 0)
			word = names[i];
	if (!word && !(word = npu_mac_word(s, node)))
		return false;
	for (unsigned i = 0; i < n; i++)
		if (strcmp(names[i], word) == 0) {
			*out = i;
			return true;
		}
	struct npu_mac_span span = { word, word + strlen(word) };
	return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "no %s is called %s%s", what, word,
				 npu_mac_hint_of(names, n, span).text);
}

/* Numbers and words as they are, the rest by name. */
bool npu_mac_text(struct npu_mac *s, const struct npu_mac_piece *piece, char *out, uint64_t size)
{
	uint64_t used = 0;
	out[0] = '\0';
	for (; piece; piece = piece->next) {
		uint64_t left = size - used;
		const struct npu_mac_node *node = piece->value;
		int64_t number;
		const struct npu_mac_binding *named =
		    node && node->kind == NPU_MAC_NAME && !node->n ? npu_mac_bound(s, node->symbol) : NULL;
		if (!node) {
			snprintf(out + used, left, "%.*s", (int)(piece->length < size ? piece->length : size),
				 piece->text);
		} else if (named && named->value.kind == NPU_MAC_WORD) {
			snprintf(out + used, left, "%s", named->value.word);
		} else if (npu_mac_int(s, node, &number)) {
			snprintf(out + used, left, "%" PRId64, number);
		} else {
			return false;
		}
		used += strlen(out + used);
	}
	return true;
}

/* ---- arguments and .let ---- */

static bool is_object_name(const struct npu_mac *s, const struct npu_mac_node *node)
{
	const struct npu_mac_binding *binding = node->kind == NPU_MAC_NAME ? npu_mac_bound(s, node->symbol) : NULL;
	return binding && (binding->value.kind == NPU_MAC_OBJECT || binding->value.kind == NPU_MAC_VIEW ||
			   binding->value.kind == NPU_MAC_SEM);
}

static bool is_sem(const struct npu_mac_value *value)
{
	return value->kind == NPU_MAC_SEM ||
	       (value->kind == NPU_MAC_OBJECT && value->object->kind == NPU_MAC_SEM_OBJECT);
}

bool npu_mac_value(struct npu_mac *s, const struct npu_mac_node *node, struct npu_mac_value *out)
{
	bool plain = node->kind == NPU_MAC_NAME && !node->n && !node->turned;
	const struct npu_mac_binding *bound = plain ? npu_mac_bound(s, node->symbol) : NULL;
	if (bound) {
		*out = bound->value;
		return out->kind != NPU_MAC_VIEW || (out->view = npu_mac_keep_view(s, out->view)) != NULL;
	}
	struct npu_mac_choices choices = plain ? named_values(node->symbol->name) : (struct npu_mac_choices){ .n = 0 };
	if (choices.n) {
		*out = (struct npu_mac_value){ .kind = NPU_MAC_WORD, .choices = choices, .word = node->symbol->name };
		return true;
	}
	if (plain)
		return unknown(s, node);
	int64_t condition;
	if (node->kind == NPU_MAC_CHOICE)
		return npu_mac_int(s, node->a, &condition) && npu_mac_value(s, condition ? node->b : node->c, out);
	if (is_object_name(s, node) && is_sem(&npu_mac_bound(s, node->symbol)->value)) {
		out->kind = NPU_MAC_SEM;
		return npu_mac_sem_of(s, node, &out->sem);
	}
	bool offset =
	    node->kind == NPU_MAC_BINARY && (node->op == '+' || node->op == '-') && is_object_name(s, node->a);
	if (is_object_name(s, node) || node->kind == NPU_MAC_ADDRESS || offset) {
		struct npu_mac_view view;
		out->kind = NPU_MAC_VIEW;
		return npu_mac_view_of(s, node, &view) && (out->view = npu_mac_keep_view(s, &view)) != NULL;
	}
	out->kind = NPU_MAC_INT;
	return npu_mac_int(s, node, &out->number);
}
