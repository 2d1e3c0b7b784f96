/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of nodes, names, and what names are bound to. */
#include "isa/text/macro/state.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 64 * 1024, ALIGNMENT = 16 };

struct npu_mac_chunk {
	struct npu_mac_chunk *next;
	uint64_t size;
	_Alignas(16) char bytes[];
};

static struct npu_mac_chunk *next_chunk(struct npu_mac_pool *pool, uint64_t bytes)
{
	struct npu_mac_chunk *chunk = pool->current ? pool->current->next : pool->first;
	if (chunk && chunk->size >= bytes)
		return chunk;
	uint64_t size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
	struct npu_mac_chunk *made = malloc(sizeof *made + size);
	if (!made)
		return NULL;
	made->next = chunk;
	made->size = size;
	if (pool->current)
		pool->current->next = made;
	else
		pool->first = made;
	return made;
}

static void *pool_alloc(struct npu_mac_pool *pool, uint64_t bytes)
{
	if (!pool->current || pool->current->size - pool->used < bytes) {
		struct npu_mac_chunk *chunk = next_chunk(pool, bytes);
		if (!chunk)
			return NULL;
		pool->current = chunk;
		pool->used = 0;
	}
	void *memory = pool->current->bytes + pool->used;
	pool->used += bytes;
	return memset(memory, 0, bytes);
}

void *npu_mac_alloc(struct npu_mac *s, uint64_t count, uint64_t size)
{
	uint64_t bytes = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	void *memory = s->keep ? npu_arena_alloc(s->arena, count, size) : pool_alloc(&s->pool, bytes);
	if (!memory)
		npu_mac_no_memory(s);
	return memory;
}

void npu_mac_pool_reset(struct npu_mac *s)
{
	s->pool.current = s->pool.first;
	s->pool.used = 0;
}

void npu_mac_pool_fini(struct npu_mac *s)
{
	for (struct npu_mac_chunk *next, *chunk = s->pool.first; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
}

struct npu_mac_symbol *npu_mac_symbol(struct npu_mac *s, const char *name, uint64_t length)
{
	const struct npu_symbol *found = npu_symbols_find(&s->symbols, name, length);
	if (found)
		return (struct npu_mac_symbol *)(uintptr_t)found->value;
	struct npu_mac_symbol *symbol = npu_arena_alloc(s->arena, 1, sizeof *symbol);
	const char *copy = npu_arena_text(s->arena, name, length);
	if (!symbol || !copy || !npu_symbols_set(&s->symbols, copy, length, (uint64_t)(uintptr_t)symbol)) {
		npu_mac_no_memory(s);
		return NULL;
	}
	symbol->name = copy;
	s->quoted_indices |= memchr(copy, '[', length) != NULL;
	symbol->length = (uint32_t)length;
	return symbol;
}

struct npu_mac_binding *npu_mac_bind(struct npu_mac *s, struct npu_mac_symbol *symbol, struct npu_mac_value value,
				     struct npu_mac_span span)
{
	struct npu_mac_binding *binding = s->free_bindings;
	if (binding)
		s->free_bindings = binding->below;
	else
		binding = npu_arena_alloc(s->arena, 1, sizeof *binding);
	if (s->nundo == s->undo_room) {
		uint32_t room = s->undo_room ? 2 * s->undo_room : 64;
		void *undo = realloc(s->undo, room * sizeof *s->undo);
		if (undo) {
			s->undo = undo;
			s->undo_room = room;
		}
	}
	if (!binding || s->nundo == s->undo_room) {
		npu_mac_no_memory(s);
		return NULL;
	}
	*binding = (struct npu_mac_binding){
		.value = value, .frame = s->depth ? s->macro_frame + 1 : 0, .span = span, .below = symbol->binding
	};
	symbol->binding = binding;
	s->undo[s->nundo++].symbol = symbol;
	return binding;
}

struct npu_mac_binding *npu_mac_bound(const struct npu_mac *s, const struct npu_mac_symbol *symbol)
{
	struct npu_mac_binding *binding = symbol->binding;
	while (binding && binding->frame != 0 && binding->frame != s->macro_frame + 1)
		binding = binding->below;
	return binding;
}

struct npu_mac_kept_view {
	struct npu_mac_view view;
	struct npu_mac_kept_view *next;
};

struct npu_mac_view *npu_mac_keep_view(struct npu_mac *s, const struct npu_mac_view *view)
{
	struct npu_mac_kept_view *kept = s->free_views;
	if (kept)
		s->free_views = kept->next;
	else
		kept = npu_arena_alloc(s->arena, 1, sizeof *kept);
	if (!kept) {
		npu_mac_no_memory(s);
		return NULL;
	}
	kept->view = *view;
	return &kept->view;
}

void npu_mac_drop_value(struct npu_mac *s, struct npu_mac_value *value)
{
	if (value->kind != NPU_MAC_VIEW)
		return;
	struct npu_mac_kept_view *kept = (struct npu_mac_kept_view *)value->view; /* its first member */
	kept->next = s->free_views;
	s->free_views = kept;
	value->kind = NPU_MAC_INT;
}

void npu_mac_unbind(struct npu_mac *s, uint32_t nundo)
{
	while (s->nundo > nundo) {
		struct npu_mac_symbol *symbol = s->undo[--s->nundo].symbol;
		struct npu_mac_binding *binding = symbol->binding;
		symbol->binding = binding->below;
		npu_mac_drop_value(s, &binding->value);
		binding->below = s->free_bindings;
		s->free_bindings = binding;
	}
}
