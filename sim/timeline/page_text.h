/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of many instructions as few templates and the numbers that stand in them. */
#ifndef NPU_SIM_TIMELINE_PAGE_TEXT_H
#define NPU_SIM_TIMELINE_PAGE_TEXT_H

#include "sim/timeline/page_bytes.h"

/* Stand in a template for a number as printed by %u, and for one by 0x%x; shown text (isa/plain.h) has neither. */
enum { PAGE_DECIMAL = 1, PAGE_HEX = 2, PAGE_NUMBERS = 64 };

/* Shown text into its template, which is never longer; returns how many numbers (each below 2^52) came out. */
unsigned page_template(const char *text, char *template, uint64_t numbers[PAGE_NUMBERS]);

/* Strings by number, from 0, in the order of their first use. */
struct page_strings {
	struct intern *numbers;
	char **items;
	uint64_t count, capacity;
};

bool page_strings_init(struct page_strings *);
void page_strings_fini(struct page_strings *);
/* False when out of memory. */
bool page_string(struct page_strings *, const char *text, uint32_t *number);

#endif
