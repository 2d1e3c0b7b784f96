/* SPDX-License-Identifier: Apache-2.0 */
/* One character at a time: what it is, and whether it may be seen. */
#include "isa/plain.h"

#include <stdbool.h>
#include <string.h>

/* The bytes of the character at `at` and its number; 0 when they are no UTF-8 (Unicode 15, table 3-7). */
static unsigned decode(const unsigned char *at, const unsigned char *end, uint32_t *number)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned n = *at < 0x80 ? 1 : *at >= 0xc2 && *at < 0xe0 ? 2 : (*at & 0xf0) == 0xe0 ? 3 : *at >= 0xf0 && *at < 0xf5 ? 4 : 0;
	if (n == 0 || end - at < (long)n)
		return 0;
	*number = n == 1 ? *at : *at & (0x7fu >> n);
	for (unsigned i = 1; i < n; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		*number = *number << 6 | (at[i] & 0x3f);
	}
	bool surrogate = *number >= 0xd800 && *number < 0xe000;
	return *number >= least[n] && *number <= 0x10ffff && !surrogate ? n : 0;
}

/* C0, DEL, C1; marks, embeddings, overrides and isolates of direction; the separators of lines and paragraphs. */
static bool steers(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || (c >= 0x200e && c <= 0x200f) ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

unsigned npu_plain_char(const char **at, const char *end, char out[NPU_PLAIN_CHAR], unsigned *columns)
{
	const unsigned char *text = (const unsigned char *)*at;
	uint32_t number;
	unsigned n = decode(text, (const unsigned char *)end, &number), used = 0;
	bool shown = n && !steers(number);
	*at += n ? n : 1;
	if (shown) {
		memcpy(out, text, n);
		used = n;
	} else if (n == 1 && (number == '\n' || number == '\t')) {
		out[used++] = '\\';
		out[used++] = number == '\n' ? 'n' : 't';
	} else {
		for (unsigned i = 0; i < (n ? n : 1) && i < 3; i++) { /* none of four bytes steers */
			out[used++] = '\\';
			out[used++] = 'x';
			out[used++] = "0123456789abcdef"[text[i] >> 4];
			out[used++] = "0123456789abcdef"[text[i] & 15];
		}
	}
	if (columns)
		*columns = shown ? 1 : used;
	return used;
}

uint64_t npu_plain(const char *text, uint64_t length, char *out, uint64_t size)
{
	const char *at = text, *end = text + length;
	char one[NPU_PLAIN_CHAR];
	uint64_t used = 0;
	while (at < end) {
		unsigned n = npu_plain_char(&at, end, one, NULL);
		if (used + n >= size)
			break;
		memcpy(out + used, one, n);
		used += n;
	}
	out[used] = '\0';
	return used;
}
