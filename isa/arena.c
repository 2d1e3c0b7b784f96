/* SPDX-License-Identifier: Apache-2.0 */
/* A list of chunks; large requests and adopted blocks get entries of their own. */
#include "isa/arena.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 16 * 1024, ALIGNMENT = 16 };

struct block {
	struct block *next;
	void *memory;
};

struct npu_arena {
	struct block *blocks;
	char *free;
	uint64_t left;
};

struct npu_arena *npu_arena_new(void)
{
	return calloc(1, sizeof(struct npu_arena));
}

void npu_arena_free(struct npu_arena *arena)
{
	if (!arena)
		return;
	for (struct block *next, *block = arena->blocks; block; block = next) {
		next = block->next;
		free(block->memory);
		free(block);
	}
	free(arena);
}

bool npu_arena_adopt(struct npu_arena *arena, void *memory)
{
	struct block *block = malloc(sizeof *block);
	if (!block) {
		free(memory);
		return false;
	}
	*block = (struct block){ arena->blocks, memory };
	arena->blocks = block;
	return true;
}

static void *own_block(struct npu_arena *arena, uint64_t bytes)
{
	void *memory = calloc(1, bytes);
	return memory && npu_arena_adopt(arena, memory) ? memory : NULL;
}

void *npu_arena_alloc(struct npu_arena *arena, uint64_t count, uint64_t size)
{
	if (size && count > (UINT64_MAX - ALIGNMENT) / size)
		return NULL;
	uint64_t bytes = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	bytes = bytes ? bytes : ALIGNMENT;
	if (bytes > CHUNK_BYTES / 4)
		return own_block(arena, bytes);
	if (bytes > arena->left) {
		char *chunk = own_block(arena, CHUNK_BYTES);
		if (!chunk)
			return NULL;
		arena->free = chunk;
		arena->left = CHUNK_BYTES;
	}
	void *memory = arena->free;
	arena->free += bytes;
	arena->left -= bytes;
	return memory;
}

char *npu_arena_text(struct npu_arena *arena, const char *text, uint64_t length)
{
	char *copy = npu_arena_alloc(arena, length + 1, 1);
	if (copy && length)
		memcpy(copy, text, length);
	return copy;
}
