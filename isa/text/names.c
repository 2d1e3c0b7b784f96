/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep over buffer lives, a binary search over tensors. */
#include "isa/text/names.h"

#include <stdlib.h>

struct key {
	uint64_t key;
	uint32_t index;
};

static int by_key(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static uint64_t key_of(const struct npu_program *program, uint32_t i, bool tensors)
{
	return tensors ? program->tensors[i].addr : program->buffers[i].first;
}

static uint32_t *sorted(const struct npu_program *program, uint32_t n, bool tensors)
{
	struct key *keys = calloc(n ? n : 1, sizeof *keys);
	uint32_t *order = calloc(n ? n : 1, sizeof *order);
	if (keys && order) {
		for (uint32_t i = 0; i < n; i++)
			keys[i] = (struct key){ key_of(program, i, tensors), i };
		qsort(keys, n, sizeof *keys, by_key);
		for (uint32_t i = 0; i < n; i++)
			order[i] = keys[i].index;
	} else {
		free(order);
		order = NULL;
	}
	free(keys);
	return order;
}

bool npu_names_init(struct npu_names *names, const struct npu_program *program)
{
	*names = (struct npu_names){ .program = program };
	names->by_first = sorted(program, program->nbuffers, false);
	names->by_addr = sorted(program, program->ntensors, true);
	names->alive = calloc(program->nbuffers ? program->nbuffers : 1, sizeof *names->alive);
	return names->by_first && names->by_addr && names->alive;
}

void npu_names_fini(struct npu_names *names)
{
	free(names->by_first);
	free(names->by_addr);
	free(names->alive);
}

void npu_names_seek(struct npu_names *names, uint32_t insn)
{
	const struct npu_buffer *buffers = names->program->buffers;
	if (!names->by_first || !names->alive)
		return;
	bool grown = false;
	names->insn = insn;
	for (; names->next < names->program->nbuffers && buffers[names->by_first[names->next]].first <= insn;
	     names->next++) {
		names->alive[names->nalive++] = names->by_first[names->next];
		grown = true;
	}
	if (!grown)
		return; /* the dead are passed over until others come */
	uint32_t kept = 0;
	for (uint32_t i = 0; i < names->nalive; i++)
		if (buffers[names->alive[i]].end > insn)
			names->alive[kept++] = names->alive[i];
	names->nalive = kept;
}

const struct npu_buffer *npu_names_buffer(const struct npu_names *names, uint32_t local)
{
	for (uint32_t i = names->nalive; i-- > 0;) {
		const struct npu_buffer *b = &names->program->buffers[names->alive[i]];
		if (b->end > names->insn && local >= b->local && local - b->local < b->bytes)
			return b;
	}
	return NULL;
}

const struct npu_tensor *npu_names_tensor(const struct npu_names *names, uint64_t dram)
{
	enum { MOST_VIEWS = 16 }; /* that start below the address and end before it */
	uint32_t low = 0, high = names->by_addr ? names->program->ntensors : 0;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (names->program->tensors[names->by_addr[middle]].addr <= dram)
			low = middle + 1;
		else
			high = middle;
	}
	for (uint32_t i = low; i > 0 && low - i < MOST_VIEWS; i--) {
		const struct npu_tensor *t = &names->program->tensors[names->by_addr[i - 1]];
		if (dram - t->addr < t->bytes)
			return t;
	}
	return NULL;
}
