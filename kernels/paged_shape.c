/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of attention over a paged cache: lengths, pages, where an element lies. */
#include "kernels/paged.h"

#include <math.h>
#include <stdlib.h>

#include "isa/random.h"
#include "kernels/pingpong.h"

const char *const paged_kv_types[] = { "fp16", "int8", "int4", NULL };
const char *const paged_groups[] = { "token", "head", "half", NULL };
const char *const paged_dequants[] = { "vector", "matrix", NULL };
const char *const paged_gathers[] = { "together", "apart", "pages", NULL };
const char *const paged_layouts[] = { "page_head_kv", "kv_page_head", NULL };

struct paged paged_of(const struct npu_kernel *k, const struct npu_args *args)
{
	static const enum npu_dtype types[] = { NPU_FP16, NPU_INT8, NPU_INT4 };
	struct paged p = {
		.batch = (uint64_t)npu_arg(k, args, "batch", 1),
		.seq = (uint64_t)npu_arg(k, args, "seq", 1),
		.heads = (uint64_t)npu_arg(k, args, "heads", 1),
		.kv_heads = (uint64_t)npu_arg(k, args, "kv_heads", 1),
		.dim = (uint64_t)npu_arg(k, args, "head_dim", 1),
		.page = (uint64_t)npu_arg(k, args, "page", 1),
		.chunk = (uint64_t)npu_arg(k, args, "chunk", 1),
		.splits = (uint64_t)npu_arg(k, args, "splits", 1),
		.seed = (uint64_t)npu_arg(k, args, "seed", 1),
		.buffers = (unsigned)npu_arg(k, args, "buffering", 1) + 1,
		.kv = types[npu_arg(k, args, "kv", 0)],
		.scope = (enum paged_group)npu_arg(k, args, "kv_group", PAGED_HEAD),
		.kv_first = npu_arg(k, args, "kv_layout", 0) != 0,
		.together = npu_arg(k, args, "gather", PAGED_APART) != PAGED_APART,
		.whole = npu_arg(k, args, "gather", PAGED_APART) == PAGED_PAGES,
	};
	p.seq_min = (uint64_t)npu_arg(k, args, "seq_min", (int64_t)p.seq);
	p.tile_q = tile_within((uint64_t)npu_arg(k, args, "tile_q", 1), p.chunk);
	p.tile_kv = tile_within((uint64_t)npu_arg(k, args, "tile_kv", 1), p.seq);
	p.group = p.heads / p.kv_heads;
	p.at_once = tile_within((uint64_t)npu_arg(k, args, "heads_at_once", 1), p.kv_heads);
	p.row_bytes = npu_dtype_bytes(p.kv, p.dim);
	p.mode = p.kv == NPU_FP16 ? PAGED_PLAIN : npu_arg(k, args, "dequant", 0) ? PAGED_MATRIX : PAGED_VECTOR;
	p.halves = p.mode != PAGED_PLAIN && p.scope == PAGED_HALF ? 2 : 1;
	p.scale = 1 / sqrt((double)p.dim);
	p.softcap = (double)npu_arg(k, args, "softcap", 0);
	p.window = (uint64_t)npu_arg(k, args, "window", 0);
	for (uint64_t b = 0; b < p.batch; b++)
		p.pages += tiles_of(paged_length(&p, b), p.page);
	return p;
}

uint64_t paged_length(const struct paged *p, uint64_t sequence)
{
	uint64_t state = p->seed ^ sequence << 32;
	if (sequence == 0 || p->seq <= p->seq_min)
		return p->seq;
	if (sequence == p->batch - 1)
		return p->seq_min;
	return p->seq_min + npu_random_next(&state) % (p->seq - p->seq_min + 1);
}

struct npu_mask paged_mask(const struct paged *p, uint64_t length)
{
	return (struct npu_mask){
		.kind = p->window ? NPU_MASK_WINDOW : NPU_MASK_CAUSAL,
		.seq = length,
		.seq_q = p->chunk,
		.window = p->window,
	};
}

uint32_t *paged_order(const struct paged *p)
{
	uint32_t *order = malloc(p->pages * sizeof *order);
	if (order)
		npu_random_order(order, p->pages, p->seed);
	return order;
}

/* Blocks of one head in one page, K or V, that lie before this one. */
static uint64_t block_of(const struct paged *p, uint64_t page, unsigned half, uint64_t head, uint64_t heads)
{
	return p->kv_first ? (half * p->pages + page) * heads + head : (page * heads + head) * 2 + half;
}

uint64_t paged_element(const struct paged *p, uint64_t page, unsigned half, uint64_t head, uint64_t token, uint64_t col)
{
	return (block_of(p, page, half, head, p->kv_heads) * p->page + token) * p->dim + col;
}

uint64_t paged_scale(const struct paged *p, uint64_t page, unsigned half, uint64_t head, uint64_t token, uint64_t col)
{
	bool shared = p->scope == PAGED_TOKEN;
	uint64_t block = block_of(p, page, half, shared ? 0 : head, shared ? 1 : p->kv_heads);
	return (block * p->halves + col / (p->dim / p->halves)) * p->page + token;
}

uint64_t paged_scale_count(const struct paged *p)
{
	return p->pages * 2 * (p->scope == PAGED_TOKEN ? 1 : p->kv_heads) * p->halves * p->page;
}
