/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probes, at most half full. */
#include "isa/text/symbols.h"

#include "isa/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_CAPACITY = 64, LONGEST_GUESS = 64, MOST_GUESSES = 65536 };

void npu_symbols_fini(struct npu_symbols *symbols)
{
	free(symbols->slots);
	*symbols = (struct npu_symbols){ 0 };
}

static uint32_t hash_of(const char *name, uint64_t length)
{
	uint32_t hash = 2166136261u;
	for (uint64_t i = 0; i < length; i++)
		hash = (hash ^ (uint8_t)name[i]) * 16777619u;
	return hash ^ hash >> 15;
}

/* The slot that holds the name, or the free one where it belongs. */
static struct npu_symbol *slot_of(struct npu_symbol *slots, uint32_t capacity, const char *name, uint64_t length,
				  uint32_t hash)
{
	for (uint32_t i = hash;; i++) {
		struct npu_symbol *slot = &slots[i & (capacity - 1)];
		if (!slot->name)
			return slot;
		if (slot->hash == hash && slot->length == length && memcmp(slot->name, name, length) == 0)
			return slot;
	}
}

const struct npu_symbol *npu_symbols_find(const struct npu_symbols *symbols, const char *name, uint64_t length)
{
	if (!symbols->count)
		return NULL;
	const struct npu_symbol *slot = slot_of(symbols->slots, symbols->capacity, name, length, hash_of(name, length));
	return slot->name ? slot : NULL;
}

static bool grow(struct npu_symbols *symbols)
{
	uint32_t capacity = symbols->capacity ? symbols->capacity * 2 : LEAST_CAPACITY;
	struct npu_symbol *slots = capacity > symbols->capacity ? calloc(capacity, sizeof *slots) : NULL;
	if (!slots)
		return false;
	for (uint32_t i = 0; i < symbols->capacity; i++) {
		const struct npu_symbol *old = &symbols->slots[i];
		if (old->name)
			*slot_of(slots, capacity, old->name, old->length, old->hash) = *old;
	}
	free(symbols->slots);
	symbols->slots = slots;
	symbols->capacity = capacity;
	return true;
}

bool npu_symbols_set(struct npu_symbols *symbols, const char *name, uint64_t length, uint64_t value)
{
	if (length > UINT32_MAX || (symbols->count >= symbols->capacity / 2 && !grow(symbols)))
		return false;
	uint32_t hash = hash_of(name, length);
	struct npu_symbol *slot = slot_of(symbols->slots, symbols->capacity, name, length, hash);
	symbols->count += !slot->name;
	*slot = (struct npu_symbol){ name, (uint32_t)length, hash, value };
	return true;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool npu_symbols_nearest(const struct npu_symbols *symbols, const char *name, uint64_t length, char *out, uint64_t size)
{
	char wanted[LONGEST_GUESS];
	if (length >= sizeof wanted || !symbols->count || symbols->count > MOST_GUESSES)
		return false;
	snprintf(wanted, sizeof wanted, "%.*s", (int)length, name);
	char(*copies)[LONGEST_GUESS] = calloc(symbols->count, sizeof *copies);
	const char **names = calloc(symbols->count, sizeof *names);
	const char *nearest = NULL;
	if (copies && names) {
		unsigned n = 0;
		for (uint32_t i = 0; i < symbols->capacity; i++) {
			const struct npu_symbol *slot = &symbols->slots[i];
			if (!slot->name || slot->length >= LONGEST_GUESS)
				continue;
			memcpy(copies[n], slot->name, slot->length);
			names[n] = copies[n];
			n++;
		}
		/* the order of the slots means nothing: of equally near names the first in the alphabet is told */
		qsort(names, n, sizeof *names, by_text);
		nearest = npu_nearest(wanted, names, n);
		if (nearest)
			snprintf(out, size, "%s", nearest);
	}
	free(copies);
	free(names);
	return nearest != NULL;
}
