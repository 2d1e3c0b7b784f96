/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of attention kernels: from parameters, checked, with tiles chosen. */
#include "kernels/attn.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/params.h"
#include "kernels/pingpong.h"

enum { DEFAULT_WINDOW = 256 };

struct attn attn_of(const struct npu_kernel *k, const struct npu_args *args)
{
	struct attn a = {
		.seq = (uint64_t)npu_arg(k, args, "seq", 1),
		.seq_q = (uint64_t)npu_arg(k, args, "seq_q", 1),
		.heads = (uint64_t)npu_arg(k, args, "heads", 1),
		.dim = (uint64_t)npu_arg(k, args, "head_dim", 1),
		.buffers = (unsigned)npu_arg(k, args, "buffering", 1) + 1,
		.fused = npu_arg(k, args, "fused", 1) != 0,
		.type = dtype_of(npu_arg(k, args, "dtype", 0)),
	};
	a.kv_heads = (uint64_t)npu_arg(k, args, "kv_heads", (int64_t)a.heads);
	a.tile_q = tile_within((uint64_t)npu_arg(k, args, "tile_q", 1), a.seq_q);
	a.tile_kv = tile_within((uint64_t)npu_arg(k, args, "tile_kv", 1), a.seq);
	a.tile_rows = tile_within((uint64_t)npu_arg(k, args, "tile_rows", 1), a.seq_q);
	a.bytes = npu_dtype_bytes(a.type, 1);
	a.scale = 1 / sqrt((double)a.dim);
	a.softcap = (double)npu_arg(k, args, "softcap", 0);
	a.mask = (struct npu_mask){
		.kind = (enum npu_mask_kind)npu_arg(k, args, "mask", NPU_MASK_NONE),
		.seq = a.seq,
		.seq_q = a.seq_q,
		.window = (uint64_t)npu_arg(k, args, "window", DEFAULT_WINDOW),
		.valid = (uint64_t)npu_arg(k, args, "valid", (int64_t)a.seq),
	};
	a.blind = npu_mask_blind(&a.mask);
	a.skip = a.mask.kind != NPU_MASK_NONE && npu_arg(k, args, "hidden", COMPUTE_HIDDEN) == SKIP_HIDDEN;
	return a;
}

struct attn_keys attn_keys(const struct attn *a, uint64_t i, uint64_t rows)
{
	struct attn_keys all = { 0, a->seq };
	if (!a->skip)
		return all;
	uint64_t first = npu_mask_first(&a->mask, i), end = npu_mask_end(&a->mask, i + rows - 1);
	if (end <= first)
		return (struct attn_keys){ 0 };
	return (struct attn_keys){ first / a->tile_kv * a->tile_kv,
				   least(tiles_of(end, a->tile_kv) * a->tile_kv, a->seq) };
}

struct attn_keys attn_tile_keys(const struct attn *a, uint64_t i)
{
	return attn_keys(a, i, least(a->tile_q, a->seq_q - i));
}

/* Under a window the rows see window + rows - 1 keys, which begin and end anywhere in a tile. */
uint64_t attn_most_keys(const struct attn *a, uint64_t rows)
{
	uint64_t most = a->seq;
	if (a->skip && a->mask.kind == NPU_MASK_WINDOW)
		most = (1 + tiles_of(a->mask.window + rows - 1, a->tile_kv)) * a->tile_kv;
	if (a->skip && a->mask.kind == NPU_MASK_PADDING)
		most = tiles_of(a->mask.valid, a->tile_kv) * a->tile_kv;
	return least(most, a->seq);
}

static void add_work(const struct attn *a, struct attn_work *w, uint64_t rows_of_tiles, uint64_t rows,
		     struct attn_keys keys)
{
	uint64_t count = attn_keys_count(keys);
	w->rows += rows_of_tiles;
	w->tiles += rows_of_tiles * tiles_of(count, a->tile_kv);
	w->keys += rows_of_tiles * count;
	w->positions += rows * count;
}

struct attn_work attn_work(const struct attn *a, uint64_t first_row)
{
	struct attn_work w = { 0 };
	uint64_t rows = a->seq_q - first_row;
	if (!a->skip) {
		add_work(a, &w, tiles_of(rows, a->tile_q), rows, (struct attn_keys){ 0, a->seq });
		return w;
	}
	for (uint64_t i = first_row; i < a->seq_q; i += a->tile_q)
		add_work(a, &w, 1, least(a->tile_q, a->seq_q - i), attn_tile_keys(a, i));
	return w;
}

uint64_t attn_few_tiles(const struct attn *a, uint64_t first_row)
{
	uint64_t tiles = 0;
	for (uint64_t i = first_row; i < a->seq_q && tiles < RING_BUFFERS; i += a->tile_q)
		tiles += a->heads * tiles_of(attn_keys_count(attn_tile_keys(a, i)), a->tile_kv);
	return tiles;
}

static void derive(const struct npu_kernel *k, struct npu_args *args, const char *name, int64_t value)
{
	int i = npu_param_index(k, name);
	if (i >= 0 && !args->named[i])
		args->value[i] = value;
}

/* Refuses a parameter that was named and has no effect, unless it says what holds without it. */
static bool check_unused(const struct npu_kernel *k, const struct npu_args *args, const char *name, int64_t initial,
			 struct npu_error *err)
{
	int i = npu_param_index(k, name);
	if (i < 0 || !args->named[i] || npu_param_matters(k, args, (unsigned)i) || args->value[i] == initial)
		return true;
	return npu_fail(err, NPU_ERR_VALUE, "%s=%" PRId64 ": has no effect with mask=%s, only with %s", name,
			args->value[i], param_masks[npu_arg(k, args, "mask", 0)], k->params[i].with);
}

bool attn_resolve(const struct npu_kernel *k, const struct npu_capacity *capacity, struct npu_args *args,
		  tile_trial *trial, tile_costing *cost, struct wide_tiles wide, struct npu_error *err)
{
	if (!npu_args_check(k, args, err))
		return false;
	int64_t seq = npu_arg(k, args, "seq", 1);
	derive(k, args, "seq_q", seq);
	derive(k, args, "kv_heads", npu_arg(k, args, "heads", 1));
	if (!check_unused(k, args, "window", DEFAULT_WINDOW, err) || !check_unused(k, args, "valid", seq, err))
		return false;
	derive(k, args, "window", DEFAULT_WINDOW);
	derive(k, args, "valid", seq);

	struct attn a = attn_of(k, args);
	if (a.heads % a.kv_heads)
		return npu_fail(err, NPU_ERR_VALUE, "kv_heads=%" PRIu64 ": must divide heads=%" PRIu64, a.kv_heads,
				a.heads);
	if (a.mask.kind == NPU_MASK_PADDING && a.mask.valid > a.seq)
		return npu_fail(err, NPU_ERR_VALUE, "valid=%" PRIu64 ": must be at most seq=%" PRIu64, a.mask.valid,
				a.seq);

	const struct tile_dim all[] = {
		{ "tile_q", a.seq_q, wide.q },
		{ "tile_kv", a.seq, wide.kv },
		{ "tile_rows", a.seq_q, 0 },
	};
	struct tile_dim dims[3];
	unsigned ndims = 0;
	for (unsigned i = 0; i < 3; i++)
		if (npu_param_index(k, all[i].param) >= 0)
			dims[ndims++] = all[i];
	return tiles_resolve(k, capacity, args, dims, ndims, trial, cost, err);
}

struct npu_dram attn_q(struct npu_builder *b, const struct attn *a)
{
	return npu_tensor(b, "Q", a->type, NPU_TENSOR_IN, 3, (uint64_t[]){ a->heads, a->seq_q, a->dim });
}

struct npu_dram attn_kv(struct npu_builder *b, const struct attn *a, const char *name)
{
	return npu_tensor(b, name, a->type, NPU_TENSOR_IN, 3, (uint64_t[]){ a->kv_heads, a->seq, a->dim });
}

struct npu_dram attn_scores(struct npu_builder *b, const struct attn *a, const char *name, enum npu_dtype type,
			    enum npu_tensor_dir dir)
{
	return npu_tensor(b, name, type, dir, 3, (uint64_t[]){ a->heads, a->seq_q, a->seq });
}

struct npu_dram attn_o(struct npu_builder *b, const struct attn *a)
{
	return npu_tensor(b, "O", a->type, NPU_TENSOR_OUT, 3, (uint64_t[]){ a->heads, a->seq_q, a->dim });
}

/* Whole rows of a matrix of `dim` columns. */
static struct npu_dma rows_of(const struct attn *a, struct npu_dram t, uint32_t local, uint64_t row, uint32_t rows)
{
	return (struct npu_dma){
		.local = local,
		.dram = t.addr + row * a->dim * a->bytes,
		.rows = rows,
		.cols = (uint32_t)a->dim,
		.dtype = a->type,
	};
}

struct npu_dma attn_q_rows(const struct attn *a, struct npu_dram t, uint32_t local, uint64_t head, uint64_t row,
			   uint32_t rows)
{
	return rows_of(a, t, local, head * a->seq_q + row, rows);
}

struct npu_dma attn_kv_rows(const struct attn *a, struct npu_dram t, uint32_t local, uint64_t head, uint64_t row,
			    uint32_t rows)
{
	return rows_of(a, t, local, attn_kv_head(a, head) * a->seq + row, rows);
}

bool attn_array_turns_k(const struct npu_builder *b)
{
	return !npu_builder_capacity(b)->no_transpose_b;
}

struct npu_dma attn_k_rows(const struct npu_builder *b, const struct attn *a, struct npu_dram t, uint32_t local,
			   uint64_t head, uint64_t row, uint32_t rows)
{
	struct npu_dma k = attn_kv_rows(a, t, local, head, row, rows);
	k.transpose = !attn_array_turns_k(b);
	return k;
}

struct npu_dma attn_block(const struct attn *a, struct npu_dram t, enum npu_dtype type, uint32_t local, uint64_t head,
			  uint64_t row, uint32_t rows, uint64_t key, uint32_t keys)
{
	uint64_t bytes = npu_dtype_bytes(type, 1);
	return (struct npu_dma){
		.local = local,
		.dram = t.addr + ((head * a->seq_q + row) * a->seq + key) * bytes,
		.rows = rows,
		.cols = keys,
		.dram_stride = (uint32_t)(a->seq * bytes),
		.dtype = type,
	};
}

uint64_t attn_masked_macs(const struct attn *a, uint64_t row, uint32_t rows, uint64_t key, uint32_t keys)
{
	return npu_mask_hidden(&a->mask, row, rows, key, keys) * a->dim;
}

/* The slot of q was last used nq rows ago, so at the latest by the product nq tiles ago. With as many slots of q as of
 * k or more, the slot of k that this tile takes tells that it has ended. With fewer, another one does, whose turn is
 * later. */
void load_qk(struct npu_builder *b, struct qk_operands *o, struct npu_dma q, struct npu_dma k, bool first, uint64_t row,
	     uint64_t tile)
{
	struct slot slot = ring_at(&o->k, tile);
	unsigned own = (unsigned)(tile % o->k.n);
	struct npu_semaphore k_free = o->taken[own] ? NPU_NO_SEMAPHORE : slot.free, q_free = NPU_NO_SEMAPHORE;

	o->taken[own] = false;
	if (first && row >= o->nq && o->nq < o->k.n) {
		unsigned before = (unsigned)((tile - o->nq) % o->k.n);
		if (!o->taken[before])
			q_free = o->k.free[before];
		o->taken[before] = true;
	}
	if (first)
		npu_emit(b, &(struct npu_insn){ .op = NPU_OP_LOAD, .dma = q },
			 &(struct npu_order){ .wait = { k_free, q_free } });
	npu_emit(b, &(struct npu_insn){ .op = NPU_OP_LOAD, .dma = k },
		 &(struct npu_order){ .wait = { first ? NPU_NO_SEMAPHORE : k_free, o->turn },
				      .post = { slot.full, o->turn } });
}

void attn_cap_scores(struct npu_builder *b, double scale, double softcap, uint32_t scores, uint32_t rows, uint32_t cols,
		     struct npu_semaphore wait)
{
	struct npu_un cap = {
		.dst = scores, .a = scores, .scale = (float)(scale / softcap), .rows = rows, .cols = cols
	};
	npu_emit(b, &(struct npu_insn){ .op = NPU_OP_VTANH, .un = cap }, &(struct npu_order){ .wait = { wait } });
}

void attn_softcap(const struct attn *a, double *scores, uint64_t n)
{
	for (uint64_t i = 0; a->softcap > 0 && i < n; i++)
		scores[i] = a->softcap * tanh(a->scale * scores[i] / a->softcap) / a->scale;
}

bool attn_reference(const struct attn *a, struct npu_reference_io *io)
{
	const double *Q = npu_reference_read(io, "Q", a->heads * a->seq_q * a->dim);
	const double *K = npu_reference_read(io, "K", a->kv_heads * a->seq * a->dim);
	const double *V = npu_reference_read(io, "V", a->kv_heads * a->seq * a->dim);
	double *O = npu_reference_write(io, "O", a->heads * a->seq_q * a->dim);
	double *scores = Q && K && V && O ? malloc((a->seq_q * a->seq + 1) * sizeof *scores) : NULL;
	if (!scores)
		return false;
	for (uint64_t h = 0; h < a->heads; h++) {
		uint64_t q = h * a->seq_q * a->dim, kv = attn_kv_head(a, h) * a->seq * a->dim;
		npu_reference_matmul(a->seq_q, a->seq, a->dim, Q + q, K + kv, true, scores);
		attn_softcap(a, scores, a->seq_q * a->seq);
		npu_reference_softmax(a->seq_q, &a->mask, a->scale, scores, scores);
		npu_reference_matmul(a->seq_q, a->dim, a->seq, scores, V + kv, false, O + q);
	}
	free(scores);
	return true;
}
