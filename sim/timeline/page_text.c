/* SPDX-License-Identifier: Apache-2.0 */
/* See the header. */
#include "sim/timeline/page_text.h"

#include "isa/plain.h"
#include "sim/record_grow.h"

#include <ctype.h>
#include <string.h>

/* Digits that stay below 2^52. */
enum { DECIMAL_DIGITS = 15, HEX_DIGITS = 13 };

/* Length of the number in base 10 or 16 that the text begins with; 0: none, or one that would not be printed so. */
static size_t take_number(const char *text, unsigned base, uint64_t *value)
{
	size_t n = 0;
	*value = 0;
	for (; base == 16 ? isxdigit((unsigned char)text[n]) : isdigit((unsigned char)text[n]); n++) {
		if (isupper((unsigned char)text[n]) || n >= (base == 16 ? HEX_DIGITS : DECIMAL_DIGITS))
			return 0;
		*value = *value * base + (uint64_t)(text[n] <= '9' ? text[n] - '0' : text[n] - 'a' + 10);
	}
	return n > 1 && text[0] == '0' ? 0 : n;
}

unsigned page_template(const char *text, char *template, uint64_t numbers[PAGE_NUMBERS])
{
	unsigned count = 0;
	char before = ' ';
	while (*text) {
		bool part = isalnum((unsigned char)before) || before == '_'; /* of a name: fp16 */
		bool hex = text[0] == '0' && text[1] == 'x';
		size_t n = part || count == PAGE_NUMBERS ? 0
							 : take_number(text + (hex ? 2 : 0), hex ? 16 : 10, &numbers[count]);
		if (n > 0) {
			count++;
			*template++ = hex ? PAGE_HEX : PAGE_DECIMAL;
			text += n + (hex ? 2 : 0);
			before = '0';
		} else {
			*template++ = before = *text++;
		}
	}
	*template = '\0';
	return count;
}

bool page_strings_init(struct page_strings *s)
{
	memset(s, 0, sizeof(*s));
	s->numbers = intern_new(UINT32_MAX - 1);
	return s->numbers != NULL;
}

void page_strings_fini(struct page_strings *s)
{
	if (s->numbers)
		intern_free(s->numbers);
	for (uint64_t i = 0; i < s->count; i++)
		free(s->items[i]);
	free(s->items);
	memset(s, 0, sizeof(*s));
}

bool page_string(struct page_strings *s, const char *text, uint32_t *number)
{
	void *items = s->items;
	bool fresh;
	if (!record_grow(&items, &s->capacity, s->count + 1, sizeof(*s->items)))
		return false;
	s->items = items;
	*number = intern(s->numbers, text, &fresh);
	if (*number == 0)
		return false;
	if (fresh && !(s->items[s->count++] = strdup(text)))
		return false;
	--*number;
	return true;
}
