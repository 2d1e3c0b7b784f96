/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens, strings, expressions. */
#include "isa/text/macro/state.h"

#include <stdlib.h>
#include <string.h>

void npu_mac_advance(struct npu_mac *s)
{
	struct npu_mac_cursor *c = &s->cursor;
	c->line += c->token.kind == NPU_TOKEN_NEWLINE;
	c->before = c->token.end;
	c->token = npu_lex(&c->lexer);
}

bool npu_mac_at_line_end(const struct npu_mac *s)
{
	return s->cursor.token.kind == NPU_TOKEN_NEWLINE || s->cursor.token.kind == NPU_TOKEN_END;
}

bool npu_mac_is(const struct npu_mac *s, uint16_t punct)
{
	return s->cursor.token.kind == NPU_TOKEN_PUNCT && s->cursor.token.punct == punct;
}

bool npu_mac_take(struct npu_mac *s, uint16_t punct)
{
	if (!npu_mac_is(s, punct))
		return false;
	npu_mac_advance(s);
	return true;
}

bool npu_mac_is_word(const struct npu_mac *s, const char *word)
{
	return s->cursor.token.kind == NPU_TOKEN_NAME && npu_token_is(&s->cursor.token, word);
}

struct npu_mac_span npu_mac_here(const struct npu_mac *s)
{
	return (struct npu_mac_span){ s->cursor.token.begin, s->cursor.token.end };
}

bool npu_mac_expected(struct npu_mac *s, const char *what)
{
	const struct npu_token *token = &s->cursor.token;
	struct npu_mac_span here = npu_mac_here(s);
	int length = (int)(token->end - token->begin < 40 ? token->end - token->begin : 40);
	if (npu_mac_at_line_end(s))
		return npu_mac_refuse(s, here, "expected %s, found the end of the line", what);
	if (token->kind == NPU_TOKEN_BAD && *token->begin == '"')
		return npu_mac_refuse(s, here, "a string without its closing quote");
	if (token->kind == NPU_TOKEN_BAD && (unsigned char)*token->begin - 0x20u >= 0x5f)
		return npu_mac_refuse(s, here, "expected %s, found byte 0x%02x", what, (unsigned char)*token->begin);
	return npu_mac_refuse(s, here, "expected %s, found %.*s", what, length, token->begin);
}

/* ---- strings ---- */

/* Reports hold names, and JSON is UTF-8. Returns the first byte that is not, NULL when all are. */
static const char *not_utf8(const char *at, const char *end)
{
	while (at < end) {
		unsigned char c = (unsigned char)*at;
		unsigned more = c < 0x80                ? 0
				: c >= 0xc2 && c < 0xe0 ? 1
				: c >= 0xe0 && c < 0xf0 ? 2
				: c >= 0xf0 && c < 0xf5 ? 3
							: 9;
		if (more == 9 || (uint64_t)(end - at) <= more)
			return at;
		for (unsigned i = 1; i <= more; i++)
			if (((unsigned char)at[i] & 0xc0) != 0x80)
				return at;
		if (more == 2 &&
		    ((c == 0xe0 && (unsigned char)at[1] < 0xa0) || (c == 0xed && (unsigned char)at[1] > 0x9f)))
			return at;
		if (more == 3 &&
		    ((c == 0xf0 && (unsigned char)at[1] < 0x90) || (c == 0xf4 && (unsigned char)at[1] > 0x8f)))
			return at;
		at += 1 + more;
	}
	return NULL;
}

static char *unescaped(struct npu_mac *s, const char *begin, const char *end, uint64_t *length)
{
	/* npu_token_string passes over a quote at either end */
	struct npu_token token = { .kind = NPU_TOKEN_STRING, .begin = begin - 1, .end = end + 1 };
	uint64_t size = (uint64_t)(end - begin) + 1;
	char *text = npu_mac_alloc(s, size, 1);
	int64_t n = text ? npu_token_string(&token, text, size) : 0;
	if (n < 0)
		npu_mac_refuse(s, (struct npu_mac_span){ begin, end },
			       "a bad escape: a string knows \\\" \\\\ \\n \\t and \\xNN");
	const char *bad = text && n >= 0 ? not_utf8(text, text + n) : NULL;
	if (bad)
		npu_mac_refuse(s, (struct npu_mac_span){ begin, end }, "byte 0x%02x in a string: it must be UTF-8",
			       (unsigned char)*bad);
	*length = (uint64_t)n;
	return n < 0 || bad ? NULL : text;
}

const char *npu_mac_read_string(struct npu_mac *s, const char *what)
{
	uint64_t length;
	if (s->cursor.token.kind != NPU_TOKEN_STRING) {
		npu_mac_expected(s, what);
		return NULL;
	}
	const char *text = unescaped(s, s->cursor.token.begin + 1, s->cursor.token.end - 1, &length);
	if (text)
		npu_mac_advance(s);
	return text;
}

/* The expression behind a brace; *at moves behind the closing one. */
static struct npu_mac_node *read_braces(struct npu_mac *s, const char **at, const char *end)
{
	const struct npu_mac_cursor outside = s->cursor;
	s->cursor.lexer = (struct npu_lexer){ *at, end };
	s->cursor.token = npu_lex(&s->cursor.lexer);
	struct npu_mac_node *node = npu_mac_read_expr(s);
	if (node && !npu_mac_is(s, '}')) {
		npu_mac_expected(s, "} behind the expression");
		node = NULL;
	}
	*at = s->cursor.token.end;
	s->cursor = outside;
	return node;
}

/* Up to a brace that opens an expression, or the end; {{ and }} are braces. */
static struct npu_mac_piece *read_plain(struct npu_mac *s, const char **at, const char *end)
{
	struct npu_mac_piece *piece = npu_mac_alloc(s, 1, sizeof *piece);
	const char *begin = *at;
	while (*at < end && **at != '{' && **at != '}')
		*at += **at == '\\' && *at + 1 < end ? 2 : 1;
	bool doubled = *at + 1 < end && (*at)[0] == (*at)[1];
	if (*at < end && **at == '}' && !doubled) {
		npu_mac_refuse(s, (struct npu_mac_span){ *at, *at + 1 },
			       "a } without its {; a brace itself is written }}");
		return NULL;
	}
	const char *stop = doubled ? *at + 1 : *at;
	*at = doubled ? *at + 2 : *at;
	if (piece)
		piece->text = unescaped(s, begin, stop, &piece->length);
	return piece && piece->text ? piece : NULL;
}

struct npu_mac_piece *npu_mac_read_text(struct npu_mac *s, const char *what)
{
	struct npu_mac_piece *first = NULL, **last = &first;
	if (s->cursor.token.kind != NPU_TOKEN_STRING) {
		npu_mac_expected(s, what);
		return NULL;
	}
	const char *at = s->cursor.token.begin + 1, *end = s->cursor.token.end - 1;
	do {
		struct npu_mac_piece *piece;
		if (at < end && at[0] == '{' && !(at + 1 < end && at[1] == '{')) {
			piece = npu_mac_alloc(s, 1, sizeof *piece);
			at++;
			if (piece)
				piece->value = read_braces(s, &at, end);
			if (!piece || !piece->value)
				return NULL;
		} else {
			piece = read_plain(s, &at, end);
			if (!piece)
				return NULL;
		}
		*last = piece;
		last = &piece->next;
	} while (at < end);
	npu_mac_advance(s);
	return first;
}

/* ---- expressions ---- */

struct npu_mac_node *npu_mac_new_node(struct npu_mac *s, enum npu_mac_node_kind kind, const char *begin)
{
	struct npu_mac_node *node = npu_mac_alloc(s, 1, sizeof *node);
	if (!node)
		return NULL;
	node->kind = (uint8_t)kind;
	node->span = (struct npu_mac_span){ begin, s->cursor.token.end };
	return node;
}

static unsigned deepest(unsigned depth, const struct npu_mac_node *child)
{
	return child && child->depth > depth ? child->depth : depth;
}

static unsigned depth_below(const struct npu_mac_node *node)
{
	unsigned depth = 0;
	switch ((enum npu_mac_node_kind)node->kind) {
	case NPU_MAC_NAME:
		for (unsigned i = 0; i < node->n; i++)
			for (unsigned j = 0; j < node->brackets[i].n; j++) {
				depth = deepest(depth, node->brackets[i].items[j].from);
				depth = deepest(depth, node->brackets[i].items[j].to);
			}
		return depth;
	case NPU_MAC_CALL:
		for (unsigned i = 0; i < node->n; i++)
			depth = deepest(depth, node->args[i]);
		return depth;
	case NPU_MAC_CHOICE:
		return deepest(deepest(deepest(0, node->a), node->b), node->c);
	case NPU_MAC_BINARY:
		return deepest(deepest(0, node->a), node->b);
	case NPU_MAC_UNARY:
	case NPU_MAC_ADDRESS:
	case NPU_MAC_TURN:
		return deepest(0, node->a);
	case NPU_MAC_NUMBER:
	case NPU_MAC_REAL:
		break;
	}
	return 0;
}

/* The last thing about a node that has others below it: whoever evaluates it recurses. */
static struct npu_mac_node *close_node(struct npu_mac *s, struct npu_mac_node *node)
{
	if (!node)
		return NULL;
	node->span.end = s->cursor.before;
	node->depth = (uint16_t)(depth_below(node) + 1);
	if (node->depth <= NPU_MAC_MAX_TREE)
		return node;
	npu_mac_refuse(s, node->span, "an expression nested too deep");
	return NULL;
}

static struct npu_mac_node *read_number(struct npu_mac *s)
{
	const struct npu_token token = s->cursor.token;
	uint64_t value;
	struct npu_mac_node *node = npu_mac_new_node(s, NPU_MAC_NUMBER, token.begin);
	if (!node)
		return NULL;
	if (npu_token_integer(&token, &value)) {
		if (value > INT64_MAX) {
			npu_mac_refuse(s, npu_mac_here(s), "a number above 9223372036854775807");
			return NULL;
		}
		node->number = (int64_t)value;
	} else {
		char copy[64], *end = copy;
		size_t length = (size_t)(token.end - token.begin);
		if (length < sizeof copy) {
			memcpy(copy, token.begin, length);
			copy[length] = '\0';
			node->real = strtod(copy, &end);
		}
		bool whole = memchr(token.begin, '.', length) == NULL && memchr(token.begin, 'e', length) == NULL &&
			     memchr(token.begin, 'E', length) == NULL;
		if (end == copy || *end || whole) {
			npu_mac_refuse(s, npu_mac_here(s), "%.*s is not a number, or one above 9223372036854775807",
				       (int)(length < 40 ? length : 40), token.begin);
			return NULL;
		}
		node->kind = NPU_MAC_REAL;
	}
	npu_mac_advance(s);
	return node;
}

static bool read_index(struct npu_mac *s, struct npu_mac_index *index)
{
	index->span.begin = s->cursor.token.begin;
	if (!npu_mac_is(s, ':') && !(index->from = npu_mac_read_expr(s)))
		return false;
	index->kind = NPU_MAC_ONE;
	if (npu_mac_take(s, ':')) {
		index->kind = npu_mac_take(s, '+') ? NPU_MAC_LENGTH : NPU_MAC_RANGE;
		bool open = npu_mac_is(s, ']') || npu_mac_is(s, ',');
		if ((!open || index->kind == NPU_MAC_LENGTH) && !(index->to = npu_mac_read_expr(s)))
			return false;
	}
	index->span.end = s->cursor.before;
	return true;
}

static bool read_bracket(struct npu_mac *s, struct npu_mac_bracket *bracket)
{
	struct npu_mac_index items[NPU_MAX_RANK + 1];
	bracket->span.begin = s->cursor.token.begin;
	bracket->shape = npu_mac_is(s, '{');
	npu_mac_advance(s); /* [ or { */
	memset(items, 0, sizeof items);
	do {
		if (bracket->n > NPU_MAX_RANK)
			return npu_mac_refuse(s, npu_mac_here(s), "more than %d indices", NPU_MAX_RANK);
		struct npu_mac_index *index = &items[bracket->n++];
		if (!read_index(s, index))
			return false;
		if (bracket->shape && index->kind != NPU_MAC_ONE)
			return npu_mac_refuse(s, index->span, "a shape is written {rows, cols}");
	} while (npu_mac_take(s, ','));
	if (!npu_mac_take(s, bracket->shape ? '}' : ']'))
		return npu_mac_expected(s, bracket->shape ? "a comma or }" : "a comma or ]");
	bracket->span.end = s->cursor.before;
	bracket->items = npu_mac_alloc(s, bracket->n, sizeof *bracket->items);
	if (bracket->items)
		memcpy(bracket->items, items, bracket->n * sizeof *items);
	return bracket->items != NULL;
}

static bool take_turn(struct npu_mac *s)
{
	if (s->cursor.token.kind != NPU_TOKEN_DIRECTIVE || !npu_token_is(&s->cursor.token, ".T"))
		return false;
	npu_mac_advance(s);
	return true;
}

static struct npu_mac_node *read_brackets(struct npu_mac *s, struct npu_mac_node *node)
{
	enum { MOST = 3 };
	struct npu_mac_bracket brackets[MOST];
	memset(brackets, 0, sizeof brackets);
	while (node && (npu_mac_is(s, '[') || npu_mac_is(s, '{'))) {
		if (node->n == MOST) {
			npu_mac_refuse(s, npu_mac_here(s), "too many brackets");
			return NULL;
		}
		if (!read_bracket(s, &brackets[node->n++]))
			return NULL;
	}
	if (node && node->n) {
		node->brackets = npu_mac_alloc(s, node->n, sizeof *brackets);
		if (!node->brackets)
			return NULL;
		memcpy(node->brackets, brackets, node->n * sizeof *brackets);
	}
	if (node && take_turn(s))
		node->turned = !node->turned;
	return close_node(s, node);
}

static struct npu_mac_node *turned(struct npu_mac *s, struct npu_mac_node *inner, const char *begin)
{
	if (!inner || !take_turn(s))
		return inner;
	struct npu_mac_node *node = npu_mac_new_node(s, NPU_MAC_TURN, begin);
	if (node)
		node->a = inner;
	return close_node(s, node);
}

static struct npu_mac_node *read_call(struct npu_mac *s, const struct npu_token *name)
{
	static const struct {
		const char *name;
		unsigned least, most;
	} functions[] = {
#define F(NAME, text, least, most) { text, least, most },
		NPU_MAC_FUNCTIONS(F)
#undef F
	};
	const char *names[NPU_MAC_FN_COUNT];
	struct npu_mac_node *args[16];
	struct npu_mac_span span = { name->begin, name->end };
	unsigned fn = 0;
	for (unsigned i = 0; i < NPU_MAC_FN_COUNT; i++)
		names[i] = functions[i].name;
	while (fn < NPU_MAC_FN_COUNT && !npu_token_is(name, functions[fn].name))
		fn++;
	if (fn == NPU_MAC_FN_COUNT) {
		npu_mac_refuse(s, span, "no function is called %.*s%s", (int)(span.end - span.begin), span.begin,
			       npu_mac_hint_of(names, NPU_MAC_FN_COUNT, span).text);
		return NULL;
	}
	struct npu_mac_node *node = npu_mac_new_node(s, NPU_MAC_CALL, name->begin);
	npu_mac_advance(s); /* ( */
	unsigned n = 0;
	do {
		if (n == functions[fn].most)
			break;
		if (!node || !(args[n++] = npu_mac_read_expr(s)))
			return NULL;
	} while (npu_mac_take(s, ','));
	if (!npu_mac_take(s, ')')) {
		npu_mac_expected(s, n < functions[fn].most ? "a comma or )" : ")");
		return NULL;
	}
	if (n < functions[fn].least) {
		npu_mac_refuse(s, span, "%s takes %u arguments", functions[fn].name, functions[fn].least);
		return NULL;
	}
	node->op = (uint16_t)fn;
	node->n = (uint8_t)n;
	node->args = npu_mac_alloc(s, n, sizeof *args);
	if (!node->args)
		return NULL;
	memcpy(node->args, args, n * sizeof *args);
	return turned(s, close_node(s, node), name->begin);
}

/* sram:0x10 */
static struct npu_mac_node *read_address(struct npu_mac *s, const struct npu_token *space)
{
	struct npu_mac_node *node = npu_mac_new_node(s, NPU_MAC_ADDRESS, space->begin);
	npu_mac_advance(s); /* : */
	struct npu_mac_node *a = npu_mac_read_unary(s);
	if (!node || !a)
		return NULL;
	node->a = a;
	node->op = (uint8_t)*space->begin;
	return close_node(s, node);
}

static struct npu_mac_node *read_name(struct npu_mac *s)
{
	struct npu_token name = s->cursor.token;
	bool touches_colon = s->cursor.lexer.at < s->cursor.lexer.end && *s->cursor.lexer.at == ':';
	bool space = npu_token_is(&name, "sram") || npu_token_is(&name, "acc") || npu_token_is(&name, "dram");
	npu_mac_advance(s);
	if (space && touches_colon)
		return read_address(s, &name);
	if (npu_mac_is(s, '('))
		return read_call(s, &name);
	struct npu_mac_node *node = npu_mac_new_node(s, NPU_MAC_NAME, name.begin);
	bool turned = name.end - name.begin > 2 && memcmp(name.end - 2, ".T", 2) == 0;
	uint64_t length = (uint64_t)(name.end - name.begin) - (turned ? 2 : 0);
	if (!node || !(node->symbol = npu_mac_symbol(s, name.begin, length)))
		return NULL;
	node->turned = turned;
	return turned ? close_node(s, node) : read_brackets(s, node);
}

static struct npu_mac_node *read_quoted_name(struct npu_mac *s)
{
	const struct npu_mac_span span = npu_mac_here(s);
	const char *text = npu_mac_read_string(s, "a name");
	struct npu_mac_node *node = text ? npu_mac_new_node(s, NPU_MAC_NAME, span.begin) : NULL;
	if (!node || !(node->symbol = npu_mac_symbol(s, text, strlen(text))))
		return NULL;
	return read_brackets(s, node);
}

static struct npu_mac_node *read_paren(struct npu_mac *s)
{
	const char *begin = s->cursor.token.begin;
	npu_mac_advance(s); /* ( */
	struct npu_mac_node *inner = npu_mac_read_expr(s);
	if (!inner)
		return NULL;
	if (!npu_mac_take(s, ')')) {
		npu_mac_expected(s, "an operator or )");
		return NULL;
	}
	return turned(s, inner, begin);
}

static struct npu_mac_node *read_primary(struct npu_mac *s)
{
	switch (s->cursor.token.kind) {
	case NPU_TOKEN_NUMBER:
		return read_number(s);
	case NPU_TOKEN_NAME:
		return read_name(s);
	case NPU_TOKEN_STRING:
		return read_quoted_name(s);
	case NPU_TOKEN_PUNCT:
		if (npu_mac_is(s, '('))
			return read_paren(s);
		break;
	case NPU_TOKEN_END:
	case NPU_TOKEN_NEWLINE:
	case NPU_TOKEN_DIRECTIVE:
	case NPU_TOKEN_BAD:
		break;
	}
	npu_mac_expected(s, "a number, a name or (");
	return NULL;
}

static struct npu_mac_node *deeper(struct npu_mac *s, struct npu_mac_node *(*read)(struct npu_mac *, unsigned),
				   unsigned level)
{
	if (s->nesting == NPU_MAC_MAX_NESTING) {
		npu_mac_refuse(s, npu_mac_here(s), "an expression nested too deep");
		return NULL;
	}
	s->nesting++;
	struct npu_mac_node *node = read(s, level);
	s->nesting--;
	return node;
}

static struct npu_mac_node *read_signed(struct npu_mac *s, unsigned level)
{
	const struct npu_token sign = s->cursor.token;
	if (!npu_mac_is(s, '-') && !npu_mac_is(s, '!') && !npu_mac_is(s, '~'))
		return read_primary(s);
	npu_mac_advance(s);
	uint64_t value;
	if (sign.punct == '-' && s->cursor.token.kind == NPU_TOKEN_NUMBER &&
	    npu_token_integer(&s->cursor.token, &value) && value == (uint64_t)INT64_MAX + 1) {
		struct npu_mac_node *least = npu_mac_new_node(s, NPU_MAC_NUMBER, sign.begin);
		if (least)
			least->number = INT64_MIN;
		npu_mac_advance(s);
		return least;
	}
	struct npu_mac_node *a = deeper(s, read_signed, level);
	struct npu_mac_node *node = a ? npu_mac_new_node(s, NPU_MAC_UNARY, sign.begin) : NULL;
	if (!node)
		return NULL;
	node->a = a;
	node->op = sign.punct;
	return close_node(s, node);
}

struct npu_mac_node *npu_mac_read_unary(struct npu_mac *s)
{
	return deeper(s, read_signed, 0);
}

/* How tightly an operator binds; 0: it is none. */
static unsigned level_of(const struct npu_token *token)
{
	if (token->kind != NPU_TOKEN_PUNCT)
		return 0;
	switch (token->punct) {
	case NPU_PUNCT2('|', '|'):
		return 1;
	case NPU_PUNCT2('&', '&'):
		return 2;
	case '|':
		return 3;
	case '^':
		return 4;
	case '&':
		return 5;
	case NPU_PUNCT2('=', '='):
	case NPU_PUNCT2('!', '='):
		return 6;
	case '<':
	case '>':
	case NPU_PUNCT2('<', '='):
	case NPU_PUNCT2('>', '='):
		return 7;
	case NPU_PUNCT2('<', '<'):
	case NPU_PUNCT2('>', '>'):
		return 8;
	case '+':
	case '-':
		return 9;
	case '*':
	case '/':
	case '%':
	case '@':
		return 10;
	default: /* a mark that is no operator */
		return 0;
	}
}

static struct npu_mac_node *read_binary(struct npu_mac *s, unsigned least)
{
	const char *begin = s->cursor.token.begin;
	struct npu_mac_node *a = npu_mac_read_unary(s);
	for (;;) {
		const struct npu_token op = s->cursor.token;
		unsigned level = level_of(&op);
		if (!a || level < least || level == 0)
			return a;
		npu_mac_advance(s);
		struct npu_mac_node *b = deeper(s, read_binary, level + 1);
		struct npu_mac_node *node = b ? npu_mac_new_node(s, NPU_MAC_BINARY, begin) : NULL;
		if (!node)
			return NULL;
		node->op = op.punct;
		node->a = a;
		node->b = b;
		a = close_node(s, node);
	}
}

static struct npu_mac_node *read_choice(struct npu_mac *s, unsigned level)
{
	const char *begin = s->cursor.token.begin;
	struct npu_mac_node *condition = read_binary(s, 1);
	if (!condition || !npu_mac_take(s, '?'))
		return condition;
	struct npu_mac_node *yes = deeper(s, read_choice, level);
	if (yes && !npu_mac_take(s, ':')) {
		npu_mac_expected(s, ": and what it is otherwise");
		return NULL;
	}
	struct npu_mac_node *no = yes ? deeper(s, read_choice, level) : NULL;
	struct npu_mac_node *node = no ? npu_mac_new_node(s, NPU_MAC_CHOICE, begin) : NULL;
	if (!node)
		return NULL;
	node->a = condition;
	node->b = yes;
	node->c = no;
	return close_node(s, node);
}

struct npu_mac_node *npu_mac_read_expr(struct npu_mac *s)
{
	return deeper(s, read_choice, 0);
}
