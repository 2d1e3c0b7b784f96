/* SPDX-License-Identifier: Apache-2.0 */
/* Output of the disassembler. */
#include "isa/text/out.h"

#include "isa/plain.h"
#include "isa/text/syntax.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool make_room(struct npu_out *out, uint64_t length)
{
	if (out->failed)
		return false;
	if (out->used + length < out->size)
		return true;
	uint64_t size = 2 * (out->used + length) + 256;
	char *grown = realloc(out->data, size);
	if (!grown) {
		out->failed = true;
		return false;
	}
	out->data = grown;
	out->size = size;
	return true;
}

void npu_out_bytes(struct npu_out *out, const char *text, uint64_t length)
{
	uint64_t kept = length;
	if (out->grows) {
		if (!make_room(out, length + 1))
			return;
	} else {
		uint64_t left = out->used < out->size ? out->size - out->used : 0;
		kept = length < left ? length : left;
	}
	if (kept)
		memcpy(out->data + out->used, text, kept);
	out->used += length;
}

void npu_out_text(struct npu_out *out, const char *text)
{
	npu_out_bytes(out, text, strlen(text));
}

void npu_out_char(struct npu_out *out, char c)
{
	npu_out_bytes(out, &c, 1);
}

void npu_out_blanks(struct npu_out *out, uint64_t n)
{
	static const char blanks[] = "                ";
	for (; n > sizeof blanks - 1; n -= sizeof blanks - 1)
		npu_out_bytes(out, blanks, sizeof blanks - 1);
	npu_out_bytes(out, blanks, n);
}

static void number(struct npu_out *out, uint64_t value, unsigned base)
{
	char digits[24], *at = digits + sizeof digits;
	do {
		*--at = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	npu_out_bytes(out, at, (uint64_t)(digits + sizeof digits - at));
}

void npu_out_uint(struct npu_out *out, uint64_t value)
{
	number(out, value, 10);
}

void npu_out_int(struct npu_out *out, int64_t value)
{
	if (value < 0)
		npu_out_char(out, '-');
	number(out, value < 0 ? -(uint64_t)value : (uint64_t)value, 10);
}

void npu_out_hex(struct npu_out *out, uint64_t value)
{
	npu_out_bytes(out, "0x", 2);
	number(out, value, 16);
}

void npu_out_real(struct npu_out *out, uint32_t bits)
{
	enum { QUIET_NAN = 0x7fc00000 };
	char text[32];
	float value;
	memcpy(&value, &bits, sizeof value);
	if (isnan(value) && bits != QUIET_NAN) {
		npu_out_text(out, "bits:");
		npu_out_hex(out, bits);
		return;
	}
	if (isnan(value) || isinf(value)) {
		npu_out_text(out, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
		return;
	}
	for (int digits = 6; digits <= 9; digits++) { /* 9 always suffice for 24 bits of significand */
		snprintf(text, sizeof text, "%.*g", digits, (double)value);
		if (strtof(text, NULL) == value)
			break;
	}
	npu_out_text(out, text);
}

void npu_out_quoted(struct npu_out *out, const char *text)
{
	npu_out_char(out, '"');
	for (const char *end = text + strlen(text); text < end;) {
		char shown[NPU_PLAIN_CHAR];
		if (*text == '"' || *text == '\\')
			npu_out_char(out, '\\');
		npu_out_bytes(out, shown, npu_plain_char(&text, end, shown, NULL));
	}
	npu_out_char(out, '"');
}

void npu_out_name(struct npu_out *out, const char *name)
{
	if (npu_syntax_is_plain_name(name))
		npu_out_text(out, name);
	else
		npu_out_quoted(out, name);
}

char *npu_out_finish(struct npu_out *out)
{
	if (!out->grows) {
		if (out->size)
			out->data[out->used < out->size ? out->used : out->size - 1] = '\0';
		return out->data;
	}
	if (make_room(out, 1))
		out->data[out->used] = '\0';
	if (!out->failed)
		return out->data;
	free(out->data);
	return NULL;
}
