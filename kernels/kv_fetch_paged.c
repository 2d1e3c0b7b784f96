/* SPDX-License-Identifier: Apache-2.0 */
/* Fetches the keys and values of one sequence from a paged pool, through its block table; nothing is computed.
 *
 *   for h in kv_heads
 *     for j in tiles of seq
 *       gather  k = pool[table[...], h, 0, ...], v = pool[table[...], h, 1, ...]
 *       sync    the vector engine takes the pair and gives it back
 *
 * The pool is [pages, kv_heads, K|V, page, dim]: a page holds `page` tokens of all heads. The table lists the pages of
 * the sequence, in a shuffled order that `seed` decides. k and v are a ping-pong pair of pairs. */
#include "isa/random.h"
#include "kernels/kernels.h"
#include "kernels/params.h"
#include "kernels/pingpong.h"
#include "kernels/tiles.h"

#include <stdlib.h>

enum { SEQ, KV_HEADS, HEAD_DIM, DTYPE, PAGE, SEED, TILE_KV, BUFFERING };
/* The number of the one sequence, which owns all pages of the pool. */
enum { SEQUENCE = 0 };

static const struct npu_param params[] = {
	[SEQ] = PARAM_INT("seq", 1024, 0, MAX_LENGTH, "token", "tokens of the sequence"),
	[KV_HEADS] = PARAM_INT("kv_heads", 8, 1, MAX_HEADS, "head", "key and value heads"),
	[HEAD_DIM] = PARAM_HEAD_DIM,
	[DTYPE] = PARAM_CHOICE("dtype", 0, param_operands, "element type of the pool"),
	[PAGE] = PARAM_INT("page", 16, 1, 4095, "token", "tokens a page"),
	[SEED] = PARAM_INT("seed", 1, 0, INT32_MAX, "", "decides the order of the pages"),
	[TILE_KV] = PARAM_TILE("tile_kv", "tokens a gather"),
	[BUFFERING] = PARAM_BUFFERING,
};

struct fetch {
	uint64_t seq, kv_heads, dim, page, pages, tile;
	uint64_t seed;
	unsigned buffers;
	enum npu_dtype type;
	uint64_t bytes; /* an element */

	struct npu_builder *b;
	struct ring kv; /* k, and the semaphores of both */
	uint32_t v_at[RING_SLOTS];
	struct npu_semaphore turn; /* of loads_in_turn: k and v take theirs together */
};

static struct fetch fetch_of(const struct npu_args *args)
{
	const int64_t *v = args->value;
	struct fetch f = { .seq = (uint64_t)v[SEQ], .kv_heads = (uint64_t)v[KV_HEADS], .dim = (uint64_t)v[HEAD_DIM] };
	f.page = (uint64_t)v[PAGE];
	f.pages = tiles_of(f.seq, f.page);
	f.tile = tile_within((uint64_t)v[TILE_KV], f.seq);
	f.seed = (uint64_t)v[SEED];
	f.buffers = (unsigned)v[BUFFERING] + 1;
	f.type = dtype_of(v[DTYPE]);
	f.bytes = npu_dtype_bytes(f.type, 1);
	return f;
}

static bool place(struct fetch *f)
{
	uint64_t bytes = f->tile * f->dim * f->bytes;
	unsigned n = load_slots(f->buffers, f->kv_heads * tiles_of(f->seq, f->tile));
	const struct npu_request requests[] = {
		{ "k", false, bytes, n, 0, f->kv.at, .least = 1, .got = &f->kv.n },
		{ "v", false, bytes, n, 2, f->v_at, .least = 1, .pair = true },
	};
	return npu_place(f->b, requests, 2);
}

static bool try_place(struct npu_builder *b, const struct npu_args *args)
{
	struct fetch f = fetch_of(args);
	f.b = b;
	return place(&f);
}

static bool resolve(const struct npu_capacity *capacity, struct npu_args *args, struct npu_error *err)
{
	const struct tile_dim dims[] = { { "tile_kv", (uint64_t)args->value[SEQ], 0 } };
	if (!npu_args_check(&npu_kv_fetch_paged, args, err))
		return false;
	struct fetch f = fetch_of(args);
	if (f.kv_heads * 2 * f.page * f.dim * f.bytes > UINT32_MAX)
		return npu_fail(err, NPU_ERR_VALUE, "page=%u: kv_heads x 2 x page x head_dim must be less than 4 GiB",
				(unsigned)f.page);
	return tiles_resolve(&npu_kv_fetch_paged, capacity, args, dims, 1, try_place, NULL, err);
}

/* The pages in an order that the seed decides; NULL when out of memory. */
static uint32_t *shuffled(uint64_t pages, uint64_t seed)
{
	uint32_t *order = malloc(pages * sizeof *order);
	if (order)
		npu_random_order(order, pages, seed);
	return order;
}

/* Gathers end in queue order: when v is there, so is k. */
static void fetch_tile(const struct fetch *f, uint64_t pool, uint32_t table, uint64_t head, uint64_t j, uint64_t tile)
{
	uint64_t block = f->page * f->dim * f->bytes; /* K or V of one head in one page */
	struct slot kv = ring_at(&f->kv, tile);
	struct npu_paged k = {
		.local = kv.at,
		.cols = (uint32_t)f->dim,
		.dtype = f->type,
		.dram = pool + head * 2 * block,
		.rows = (uint32_t)least(f->tile, f->seq - j),
		.page_stride = (uint32_t)(f->kv_heads * 2 * block),
		.row_stride = (uint32_t)(f->dim * f->bytes),
		.first = (uint32_t)j,
		.page_rows = (uint32_t)f->page,
		.table = table,
	};
	struct npu_paged v = k;
	v.local = f->v_at[tile % f->kv.n];
	v.dram += block;

	npu_emit(f->b, &(struct npu_insn){ .op = NPU_OP_GATHER, .paged = k },
		 &(struct npu_order){ .wait = { kv.free, f->turn } });
	npu_emit(f->b, &(struct npu_insn){ .op = NPU_OP_GATHER, .paged = v },
		 &(struct npu_order){ .post = { kv.full, f->turn } });
	npu_emit(f->b, &(struct npu_insn){ .op = NPU_OP_SYNC_VECTOR },
		 &(struct npu_order){ .wait = { kv.full }, .post = { kv.free } });
}

static bool emit(struct npu_builder *b, const struct npu_args *args)
{
	struct fetch f = fetch_of(args);
	uint64_t tile = 0;

	f.b = b;
	uint64_t shape[] = { f.pages, f.kv_heads, 2, f.page, f.dim };
	struct npu_dram pool = npu_tensor(b, "pool", f.type, NPU_TENSOR_IN, 5, shape);
	if (!f.seq)
		return !npu_builder_failed(b);
	uint32_t *order = shuffled(f.pages, f.seed);
	if (!order)
		return false;
	uint32_t table = npu_sequence_table(b, "pages", SEQUENCE, (uint32_t)f.pages, order);
	free(order);
	npu_page(b, pool, 0, (uint32_t)f.pages, NPU_PAGE_OWNED, SEQUENCE);
	if (!place(&f))
		return false;
	ring_init(b, &f.kv, "kv");
	if (f.kv.n > 1)
		f.turn = loads_in_turn(b, 1, f.tile * f.dim * f.bytes);

	for (uint64_t h = 0; h < f.kv_heads; h++) {
		npu_region(b, "head %u", (unsigned)h);
		for (uint64_t j = 0; j < f.seq && !npu_builder_failed(b); j += f.tile, tile++)
			fetch_tile(&f, pool.addr, table, h, j, tile);
		npu_region_end(b);
	}
	return !npu_builder_failed(b);
}

/* The whole sequence once in two gathers and a sync a tile, and for K and V of each tile the 4-byte table entries of
 * the pages that it touches. */
static struct npu_expect expect(const struct npu_args *args)
{
	struct fetch f = fetch_of(args);
	uint64_t entries = 0;
	for (uint64_t j = 0; j < f.seq; j += f.tile)
		entries += (least(j + f.tile, f.seq) - 1) / f.page - j / f.page + 1;
	return (struct npu_expect){
		.dram_read_bytes = f.kv_heads * 2 * (f.seq * f.dim * f.bytes + 4 * entries),
		.instructions = f.kv_heads * 3 * tiles_of(f.seq, f.tile),
	};
}

const struct npu_kernel npu_kv_fetch_paged = {
	.name = "kv_fetch_paged",
	.summary = "keys and values of a sequence gathered from a paged pool",
	PARAMS_OF(params),
	.resolve = resolve,
	.emit = emit,
	.expect = expect,
};
