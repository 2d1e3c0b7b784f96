/* SPDX-License-Identifier: Apache-2.0 */
/* Bits of bytes, a page of them at a time. */
#include "isa/check/byteset.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 1 << 15, WORD = 64, WORDS = PAGE / WORD };

static uint32_t slot_of(const struct npu_byteset *s, uint64_t number)
{
	uint64_t hash = number * 0x9e3779b97f4a7c15u;
	uint32_t at = (uint32_t)(hash >> 32) & (s->capacity - 1);
	while (s->pages[at].number && s->pages[at].number != number)
		at = (at + 1) & (s->capacity - 1);
	return at;
}

static struct npu_byteset_page *find(const struct npu_byteset *s, uint64_t page)
{
	if (!s->capacity)
		return NULL;
	struct npu_byteset_page *found = &s->pages[slot_of(s, page + 1)];
	return found->number ? found : NULL;
}

static bool grow(struct npu_byteset *s)
{
	if (2 * (uint64_t)s->count < s->capacity)
		return true;
	struct npu_byteset old = *s;
	s->capacity = old.capacity ? 2 * old.capacity : 64;
	s->pages = calloc(s->capacity, sizeof *s->pages);
	if (!s->pages) {
		*s = old;
		return false;
	}
	for (uint32_t i = 0; i < old.capacity; i++)
		if (old.pages[i].number)
			s->pages[slot_of(s, old.pages[i].number)] = old.pages[i];
	free(old.pages);
	return true;
}

/* The page, new and empty if it was not there; its bits may be changed. NULL: out of memory. */
static struct npu_byteset_page *open_page(struct npu_byteset *s, uint64_t page)
{
	struct npu_byteset_page *found = find(s, page);
	if (found && found->bits)
		return found;
	uint64_t *bits = calloc(WORDS, sizeof *bits);
	if (!bits || (!found && !grow(s))) {
		free(bits);
		return NULL;
	}
	if (found) {
		memset(bits, 0xff, WORDS * sizeof *bits);
	} else {
		found = &s->pages[slot_of(s, page + 1)];
		found->number = page + 1;
		s->count++;
	}
	found->bits = bits;
	return found;
}

void npu_byteset_fini(struct npu_byteset *s)
{
	for (uint32_t i = 0; i < s->capacity; i++)
		free(s->pages[i].bits);
	free(s->pages);
	*s = (struct npu_byteset){ 0 };
}

/* Bits of word `word` that lie in from <= bit < to. */
static uint64_t mask_of(uint32_t word, uint32_t from, uint32_t to)
{
	uint64_t mask = ~(uint64_t)0;
	if (from > word * WORD)
		mask &= ~(uint64_t)0 << (from - word * WORD);
	if (to < (word + 1) * WORD)
		mask &= ~(uint64_t)0 >> ((word + 1) * WORD - to);
	return mask;
}

static void set_bits(uint64_t *bits, uint32_t from, uint32_t to, bool on)
{
	for (uint32_t word = from / WORD; word * WORD < to; word++) {
		uint64_t mask = mask_of(word, from, to);
		bits[word] = on ? bits[word] | mask : bits[word] & ~mask;
	}
}

static void fill_page(struct npu_byteset *s, uint64_t page)
{
	struct npu_byteset_page *found = find(s, page);
	if (!found)
		found = open_page(s, page);
	if (!found) {
		s->failed = true;
		return;
	}
	free(found->bits);
	found->bits = NULL;
}

static void change(struct npu_byteset *s, uint64_t from, uint64_t to, bool on)
{
	for (uint64_t at = from, end; at < to; at = end) {
		uint64_t page = at / PAGE;
		end = (page + 1) * PAGE < to ? (page + 1) * PAGE : to;
		const struct npu_byteset_page *found = find(s, page);
		if (on ? found && !found->bits : !found)
			continue;
		if (on && end - at == PAGE) {
			fill_page(s, page);
			continue;
		}
		struct npu_byteset_page *opened = open_page(s, page);
		if (opened)
			set_bits(opened->bits, (uint32_t)(at % PAGE), (uint32_t)(at % PAGE + (end - at)), on);
		else
			s->failed = true;
	}
}

void npu_byteset_add(struct npu_byteset *s, uint64_t from, uint64_t to)
{
	change(s, from, to, true);
}

void npu_byteset_remove(struct npu_byteset *s, uint64_t from, uint64_t to)
{
	change(s, from, to, false);
}

struct gap {
	uint64_t bytes, first, last;
};

static void note_gap(struct gap *gap, uint64_t first, uint64_t last, uint64_t bytes)
{
	if (!gap->bytes)
		gap->first = first;
	gap->last = last;
	gap->bytes += bytes;
}

uint64_t npu_byteset_missing(const struct npu_byteset *s, uint64_t from, uint64_t to, uint64_t *first, uint64_t *last)
{
	struct gap gap = { 0 };
	for (uint64_t at = from, end; at < to; at = end) {
		uint64_t page = at / PAGE, base = page * PAGE;
		end = base + PAGE < to ? base + PAGE : to;
		const struct npu_byteset_page *found = find(s, page);
		if (!found)
			note_gap(&gap, at, end - 1, end - at);
		if (!found || !found->bits)
			continue;
		uint32_t lo = (uint32_t)(at - base), hi = (uint32_t)(end - base);
		for (uint32_t word = lo / WORD; word * WORD < hi; word++) {
			uint64_t missing = ~found->bits[word] & mask_of(word, lo, hi);
			if (missing)
				note_gap(&gap, base + word * WORD + (unsigned)__builtin_ctzll(missing),
					 base + word * WORD + 63 - (unsigned)__builtin_clzll(missing),
					 (unsigned)__builtin_popcountll(missing));
		}
	}
	if (gap.bytes) {
		*first = gap.first;
		*last = gap.last;
	}
	return gap.bytes;
}
