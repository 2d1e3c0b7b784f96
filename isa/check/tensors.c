/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors that share bytes with others in part. One inside another is a view. */
#include "isa/check/checker.h"

#include <inttypes.h>
#include <stdlib.h>

static uint64_t end_of(const struct npu_tensor *t)
{
	return t->addr + t->bytes;
}

static int by_address(const void *a, const void *b)
{
	const struct npu_tensor *x = *(const struct npu_tensor *const *)a, *y = *(const struct npu_tensor *const *)b;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	/* the one that holds the other first */
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* `later` begins in `first` and ends behind it. */
static void tell(struct npu_checker *c, const struct npu_tensor *first, const struct npu_tensor *later)
{
	const struct npu_tensor *all = c->program->tensors;
	bool is_new;
	struct npu_finding like = { .sem = NPU_CHECK_NOBODY };
	struct npu_finding_key key = { NPU_CHECK_TENSORS, { (uint64_t)(first - all), (uint64_t)(later - all) } };
	struct npu_finding *f = npu_checker_add(c, &key, &like, &is_new);
	if (!f || !is_new)
		return;
	f->bytes = (struct npu_check_bytes){ NPU_SPACE_DRAM, later->addr, end_of(first) - 1,
					     end_of(first) - later->addr, later->name };
	f->text = npu_checker_text(c, "tensors %s and %s overlap in part, %s; a view would lie inside", first->name,
				   later->name, npu_check_bytes_name(&f->bytes).text);
}

void npu_check_tensors(struct npu_checker *c)
{
	uint32_t n = c->program->ntensors, depth = 0;
	const struct npu_tensor **order = calloc(2 * (size_t)n + 1, sizeof *order), **around = order + n;
	c->out_of_memory |= !order;
	for (uint32_t i = 0; order && i < n; i++)
		order[i] = &c->program->tensors[i];
	if (order)
		qsort(order, n, sizeof *order, by_address);
	/* Those that are open lie in each other, the innermost last. */
	for (uint32_t i = 0; order && i < n; i++) {
		while (depth && end_of(around[depth - 1]) <= order[i]->addr)
			depth--;
		if (!order[i]->bytes)
			continue;
		/* Of those that end inside of it the outermost is told; from here on it covers what they do. */
		const struct npu_tensor *cut = NULL;
		while (depth && end_of(around[depth - 1]) < end_of(order[i]))
			cut = around[--depth];
		if (cut)
			tell(c, cut, order[i]);
		around[depth++] = order[i];
	}
	free(order);
}
