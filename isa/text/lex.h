/* SPDX-License-Identifier: Apache-2.0 */
/* Text into tokens, one at a time, without copying. Knows no instruction; serves flat and macro assembly. */
#ifndef NPU_ISA_TEXT_LEX_H
#define NPU_ISA_TEXT_LEX_H

#include <stdbool.h>
#include <stdint.h>

enum npu_token_kind {
	NPU_TOKEN_END,
	NPU_TOKEN_NEWLINE,
	NPU_TOKEN_NAME,      /* letter or _, then letters, digits, _ and inner dots: sync.load, q.0 */
	NPU_TOKEN_DIRECTIVE, /* a dot and a name, no blank between: .sem */
	NPU_TOKEN_NUMBER,    /* 12, 0x1f, 1.5, 1e-05, 32KiB */
	NPU_TOKEN_STRING,    /* "..." with \" \\ \n \t \xNN; begin and end include the quotes */
	NPU_TOKEN_PUNCT,     /* one or two characters, see npu_token.punct */
	NPU_TOKEN_BAD,       /* a character that starts nothing, or a string without an end */
};

/* Two-character marks: .. == != <= >= && || << >> */
#define NPU_PUNCT2(a, b) ((uint16_t)((a) | (b) << 8))

struct npu_token {
	enum npu_token_kind kind;
	uint16_t punct; /* of NPU_TOKEN_PUNCT: the character, or NPU_PUNCT2 */
	const char *begin;
	const char *end;
};

/* `;` starts a comment that ends with the line. Lines end with LF or CR LF. */
struct npu_lexer {
	const char *at;
	const char *end;
};

struct npu_token npu_lex(struct npu_lexer *);
/* Passes over a single = if that is next; the quick way to tell NAME=VALUE from a name. */
bool npu_lex_take_equals(struct npu_lexer *);

/* What a number token means. False: not an integer, or above 2^64. KiB, MiB and GiB are understood. */
bool npu_token_integer(const struct npu_token *, uint64_t *out);
/* False: no number. */
bool npu_token_real(const struct npu_token *, float *out);
/* The bytes of a string token, into out[0..size), NUL-terminated; returns their number, or -1 for a bad escape, a NUL
 * byte or when it does not fit. */
int64_t npu_token_string(const struct npu_token *, char *out, uint64_t size);
bool npu_token_is(const struct npu_token *, const char *text);

#endif
