/* SPDX-License-Identifier: Apache-2.0 */
/* An open-addressed table of string numbers over copies of the strings. */
#include "sim/timeline/intern.h"

#include <stdlib.h>
#include <string.h>

struct entry {
	uint64_t hash;
	uint32_t number; /* 0: empty */
	char *text;
};

struct intern {
	struct entry *table;
	uint64_t size; /* a power of two */
	uint32_t count, limit;
};

struct intern *intern_new(uint32_t limit)
{
	struct intern *in = calloc(1, sizeof(*in));
	if (!in)
		return NULL;
	in->limit = limit;
	in->size = 256;
	in->table = calloc(in->size, sizeof(*in->table));
	if (!in->table) {
		free(in);
		return NULL;
	}
	return in;
}

void intern_free(struct intern *in)
{
	if (!in)
		return;
	for (uint64_t i = 0; i < in->size; i++)
		free(in->table[i].text);
	free(in->table);
	free(in);
}

static uint64_t hash_text(const char *text)
{
	uint64_t h = 0xcbf29ce484222325ull;
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3ull;
	return h ^ h >> 32;
}

static bool grow(struct intern *in)
{
	uint64_t size = 2 * in->size;
	struct entry *table = calloc(size, sizeof(*table));
	if (!table)
		return false;
	for (uint64_t i = 0; i < in->size; i++) {
		if (in->table[i].number == 0)
			continue;
		uint64_t slot = in->table[i].hash;
		while (table[slot & (size - 1)].number != 0)
			slot++;
		table[slot & (size - 1)] = in->table[i];
	}
	free(in->table);
	in->table = table;
	in->size = size;
	return true;
}

uint32_t intern(struct intern *in, const char *text, bool *fresh)
{
	*fresh = false;
	if (2ull * in->count >= in->size && !grow(in))
		return 0;
	uint64_t hash = hash_text(text), slot = hash;
	for (;; slot++) {
		const struct entry *e = &in->table[slot & (in->size - 1)];
		if (e->number == 0)
			break;
		if (e->hash == hash && strcmp(e->text, text) == 0)
			return e->number;
	}
	char *copy = in->count < in->limit ? strdup(text) : NULL;
	if (!copy)
		return 0;
	*fresh = true;
	in->table[slot & (in->size - 1)] = (struct entry){ hash, ++in->count, copy };
	return in->count;
}
