/* SPDX-License-Identifier: Apache-2.0 */
/* See the header. */
#include "isa/pool.h"

#include <stdlib.h>

struct by_address {
	uint64_t dram;
	uint32_t insn;
};

static int compare(const void *a, const void *b)
{
	const struct by_address *x = a, *y = b;
	if (x->dram != y->dram)
		return x->dram < y->dram ? -1 : 1;
	return x->insn < y->insn ? -1 : x->insn > y->insn;
}

static bool is_paged(const struct npu_insn *insn)
{
	return npu_op_format(insn->op) == NPU_FORMAT_paged;
}

bool npu_pools_init(struct npu_pools *pools, const struct npu_program *program)
{
	uint32_t n = 0, at = 0;
	*pools = (struct npu_pools){ .program = program };
	for (uint32_t i = 0; i < program->ninsns; i++)
		n += is_paged(&program->insns[i]);
	struct by_address *sorted = malloc((n + (size_t)1) * sizeof *sorted);
	pools->insns = malloc((n + (size_t)1) * sizeof *pools->insns);
	bool ok = sorted && pools->insns;
	for (uint32_t i = 0; ok && i < program->ninsns; i++)
		if (is_paged(&program->insns[i]))
			sorted[at++] = (struct by_address){ program->insns[i].paged.dram, i };
	if (ok)
		qsort(sorted, n, sizeof *sorted, compare);
	for (uint32_t i = 0; ok && i < n; i++)
		pools->insns[i] = sorted[i].insn;
	pools->count = ok ? n : 0;
	free(sorted);
	return ok;
}

void npu_pools_fini(struct npu_pools *pools)
{
	free(pools->insns);
	pools->insns = NULL;
}

uint64_t npu_pools_page_bytes(const struct npu_pools *pools, uint32_t tensor)
{
	const struct npu_insn *insns = pools->program->insns;
	const struct npu_tensor *t = &pools->program->tensors[tensor];
	uint32_t lo = 0, hi = pools->count;
	while (lo < hi) {
		uint32_t middle = lo + (hi - lo) / 2;
		if (insns[pools->insns[middle]].paged.dram < t->addr)
			lo = middle + 1;
		else
			hi = middle;
	}
	if (lo < pools->count && insns[pools->insns[lo]].paged.dram - t->addr < t->bytes &&
	    insns[pools->insns[lo]].paged.page_stride)
		return insns[pools->insns[lo]].paged.page_stride;
	return t->rank > 1 && t->shape[0] ? npu_tensor_bytes(t) / t->shape[0] : 0;
}

uint64_t npu_pools_pages(const struct npu_pools *pools, uint32_t tensor)
{
	uint64_t bytes = npu_pools_page_bytes(pools, tensor);
	return bytes ? (pools->program->tensors[tensor].bytes + bytes - 1) / bytes : 0;
}
