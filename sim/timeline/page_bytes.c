/* SPDX-License-Identifier: Apache-2.0 */
/* See the header. */
#include "sim/timeline/page_bytes.h"

#include "sim/record_grow.h"

#include <string.h>

void page_bytes_fini(struct page_bytes *b)
{
	free(b->items);
	memset(b, 0, sizeof(*b));
}

static void put_byte(struct page_bytes *b, uint8_t byte)
{
	void *items = b->items;
	if (b->count == b->capacity && (b->failed || !record_grow(&items, &b->capacity, b->count + 1, 1))) {
		b->failed = true;
		return;
	}
	b->items = items;
	b->items[b->count++] = byte;
}

void page_put(struct page_bytes *b, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put_byte(b, (uint8_t)(value | 0x80));
	put_byte(b, (uint8_t)value);
}

void page_put_change(struct page_bytes *b, uint64_t from, uint64_t to)
{
	page_put(b, to >= from ? 2 * (to - from) : 2 * (from - to) - 1);
}

void page_put_real(struct page_bytes *b, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	for (unsigned i = 0; i < sizeof(bits); i++)
		put_byte(b, (uint8_t)(bits >> 8 * i));
}

void page_base64(const struct page_bytes *b, FILE *out)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (uint64_t i = 0; i < b->count; i += 3) {
		uint64_t left = b->count - i;
		uint32_t three = (uint32_t)b->items[i] << 16 | (left > 1 ? (uint32_t)b->items[i + 1] << 8 : 0) |
				 (left > 2 ? b->items[i + 2] : 0);
		char four[4] = { digits[three >> 18], digits[three >> 12 & 63], left > 1 ? digits[three >> 6 & 63] : '=',
				 left > 2 ? digits[three & 63] : '=' };
		fwrite(four, 1, sizeof(four), out);
	}
}
