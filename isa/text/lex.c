/* SPDX-License-Identifier: Apache-2.0 */
/* The lexer. Every loop is bounded by lexer->end: the text need not end in NUL. */
#include "isa/text/lex.h"

#include <stdlib.h>
#include <string.h>

/* PAIR: a mark that may be the first of two characters. */
enum { LETTER = 1, DIGIT = 2, BLANK = 4, MARK = 8, PAIR = 16 };

/* By bytes, not <ctype.h>: the same in every locale. */
static const uint8_t class_of[256] = {
	['a' ... 'z'] = LETTER,
	['A' ... 'Z'] = LETTER,
	['_'] = LETTER,
	['0' ... '9'] = DIGIT,
	[' '] = BLANK,
	['\t'] = BLANK,
	['\r'] = BLANK,
	[','] = MARK,
	[':'] = MARK,
	['['] = MARK,
	[']'] = MARK,
	['('] = MARK,
	[')'] = MARK,
	['{'] = MARK,
	['}'] = MARK,
	['+'] = MARK,
	['-'] = MARK,
	['*'] = MARK,
	['/'] = MARK,
	['%'] = MARK,
	['?'] = MARK,
	['@'] = MARK,
	['^'] = MARK,
	['~'] = MARK,
	['.'] = MARK | PAIR,
	['='] = MARK | PAIR,
	['!'] = MARK | PAIR,
	['<'] = MARK | PAIR,
	['>'] = MARK | PAIR,
	['&'] = MARK | PAIR,
	['|'] = MARK | PAIR,
};

static bool is(char c, unsigned classes)
{
	return (class_of[(uint8_t)c] & classes) != 0;
}

static char peek(const struct npu_lexer *lexer, unsigned ahead)
{
	return (uint64_t)(lexer->end - lexer->at) > ahead ? lexer->at[ahead] : '\0';
}

static void skip_blanks(struct npu_lexer *lexer)
{
	const char *at = lexer->at, *end = lexer->end;
	while (at < end && is(*at, BLANK))
		at++;
	if (at < end && *at == ';') {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		at = newline ? newline : end;
	}
	lexer->at = at;
}

/* A dot belongs to the word only when a word goes on behind it: 0..8 is a range. */
static void skip_word(struct npu_lexer *lexer)
{
	const char *at = lexer->at, *end = lexer->end;
	for (;;) {
		while (at < end && is(*at, LETTER | DIGIT))
			at++;
		if (end - at < 2 || *at != '.' || !is(at[1], LETTER | DIGIT))
			break;
		at += 2;
	}
	lexer->at = at;
}

static void skip_number(struct npu_lexer *lexer)
{
	bool hexadecimal = peek(lexer, 0) == '0' && (peek(lexer, 1) | 0x20) == 'x';
	skip_word(lexer);
	char last = lexer->at[-1], sign = peek(lexer, 0);
	if (!hexadecimal && (last | 0x20) == 'e' && (sign == '-' || sign == '+') && is(peek(lexer, 1), DIGIT)) {
		lexer->at++;
		skip_word(lexer);
	}
}

static enum npu_token_kind skip_string(struct npu_lexer *lexer)
{
	for (lexer->at++; lexer->at < lexer->end && *lexer->at != '\n'; lexer->at++) {
		if (*lexer->at == '"') {
			lexer->at++;
			return NPU_TOKEN_STRING;
		}
		if (*lexer->at == '\\' && lexer->at + 1 < lexer->end && lexer->at[1] != '\n')
			lexer->at++;
	}
	return NPU_TOKEN_BAD;
}

static uint16_t punct_of(const struct npu_lexer *lexer)
{
	static const char pairs[][3] = { "..", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>" };
	char first = peek(lexer, 0);
	if (is(first, PAIR))
		for (unsigned i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
			if (first == pairs[i][0] && peek(lexer, 1) == pairs[i][1])
				return NPU_PUNCT2(pairs[i][0], pairs[i][1]);
	return is(first, MARK) ? (uint8_t)first : 0;
}

static enum npu_token_kind skip_punct(struct npu_lexer *lexer, uint16_t *punct)
{
	*punct = punct_of(lexer);
	lexer->at += *punct > 0xff ? 2 : 1;
	return *punct ? NPU_TOKEN_PUNCT : NPU_TOKEN_BAD;
}

struct npu_token npu_lex(struct npu_lexer *lexer)
{
	skip_blanks(lexer);
	struct npu_token token = { .kind = NPU_TOKEN_END, .begin = lexer->at };
	char first = peek(lexer, 0);
	if (lexer->at == lexer->end) {
		token.kind = NPU_TOKEN_END;
	} else if (first == '\n') {
		token.kind = NPU_TOKEN_NEWLINE;
		lexer->at++;
	} else if (is(first, LETTER)) {
		token.kind = NPU_TOKEN_NAME;
		skip_word(lexer);
	} else if (is(first, DIGIT)) {
		token.kind = NPU_TOKEN_NUMBER;
		skip_number(lexer);
	} else if (first == '.' && is(peek(lexer, 1), LETTER)) {
		token.kind = NPU_TOKEN_DIRECTIVE;
		lexer->at++;
		skip_word(lexer);
	} else if (first == '"') {
		token.kind = skip_string(lexer);
	} else {
		token.kind = skip_punct(lexer, &token.punct);
	}
	token.end = lexer->at;
	return token;
}

bool npu_lex_take_equals(struct npu_lexer *lexer)
{
	struct npu_lexer ahead = *lexer;
	skip_blanks(&ahead);
	if (peek(&ahead, 0) != '=' || peek(&ahead, 1) == '=')
		return false;
	lexer->at = ahead.at + 1;
	return true;
}

bool npu_token_is(const struct npu_token *token, const char *text)
{
	const char *at = token->begin;
	while (at < token->end && *at == *text) {
		at++;
		text++;
	}
	return at == token->end && *text == '\0';
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	char lower = (char)(c | 0x20);
	return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 16;
}

static bool apply_unit(const char *unit, const char *end, uint64_t *value)
{
	static const char units[][4] = { "KiB", "MiB", "GiB" };
	if (unit == end)
		return true;
	for (unsigned i = 0; i < 3; i++)
		if (end - unit == 3 && memcmp(unit, units[i], 3) == 0)
			return !__builtin_mul_overflow(*value, (uint64_t)1 << 10 * (i + 1), value);
	return false;
}

bool npu_token_integer(const struct npu_token *token, uint64_t *out)
{
	const char *at = token->begin;
	unsigned base = 10;
	uint64_t value = 0;
	if (token->end - at > 2 && at[0] == '0' && (at[1] | 0x20) == 'x') {
		base = 16;
		at += 2;
	}
	const char *digits = at;
	for (; at < token->end && (unsigned)digit_of(*at) < base; at++)
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit_of(*at), &value))
			return false;
	if (at == digits || !apply_unit(at, token->end, &value))
		return false;
	*out = value;
	return true;
}

bool npu_token_real(const struct npu_token *token, float *out)
{
	char copy[64], *end;
	size_t length = (size_t)(token->end - token->begin);
	if (length == 0 || length >= sizeof copy)
		return false;
	memcpy(copy, token->begin, length);
	copy[length] = '\0';
	float value = strtof(copy, &end);
	if (end != copy + length)
		return false;
	*out = value;
	return true;
}

static bool unescape(const char **at, char *out)
{
	switch (*(*at)++) {
	case 'n':
		*out = '\n';
		return true;
	case 't':
		*out = '\t';
		return true;
	case '"':
	case '\\':
		*out = (*at)[-1];
		return true;
	case 'x': {
		int high = digit_of((*at)[0]), low = high < 16 ? digit_of((*at)[1]) : 16;
		if (low > 15)
			return false;
		*out = (char)(high << 4 | low);
		*at += 2;
		return true;
	}
	default: /* no other escapes */
		return false;
	}
}

int64_t npu_token_string(const struct npu_token *token, char *out, uint64_t size)
{
	const char *at = token->begin + 1, *end = token->end - 1; /* a quote ends every read of an escape */
	uint64_t n = 0;
	while (at < end) {
		char c = *at++;
		if ((c == '\\' && !unescape(&at, &c)) || c == '\0' || n + 1 >= size)
			return -1;
		out[n++] = c;
	}
	out[n] = '\0';
	return (int64_t)n;
}
