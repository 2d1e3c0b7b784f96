/* SPDX-License-Identifier: Apache-2.0 */
/* Y[i] = E[token[i]]: rows of a table of embeddings, fetched by the ids of the tokens.
 *
 *   for i in tiles of rows
 *     gather  y = E[token[i ...]]
 *     store   Y[i ...] = y
 *
 * The ids are a block table whose pages have one row each, drawn from `seed`. y is a ping-pong pair. */
#include <stdlib.h>

#include "isa/random.h"
#include "kernels/kernels.h"
#include "kernels/params.h"
#include "kernels/pingpong.h"
#include "kernels/reference.h"
#include "kernels/tiles.h"

enum { ROWS, VOCAB, COLS, DTYPE, SEED, TILE_ROWS, BUFFERING };
enum { MOST_TILE_BYTES = 64 << 10 };

static const struct npu_param params[] = {
	[ROWS] = PARAM_INT("rows", 512, 0, MAX_LENGTH, "row", "rows of Y: tokens"),
	[VOCAB] = PARAM_INT("vocab", 32000, 1, MAX_LENGTH, "row", "rows of E: the vocabulary"),
	[COLS] = PARAM_INT("cols", 4096, 1, MAX_LENGTH, "element", "elements a row"),
	[DTYPE] = PARAM_CHOICE("dtype", 0, param_operands, "element type of E and Y"),
	[SEED] = PARAM_INT("seed", 1, 0, INT32_MAX, "", "decides the ids of the tokens"),
	[TILE_ROWS] = PARAM_TILE("tile_rows", "rows a gather"),
	[BUFFERING] = PARAM_BUFFERING,
};

struct embedding {
	uint64_t rows, vocab, cols, tile, seed;
	unsigned buffers;
	enum npu_dtype type;
	uint64_t row_bytes;

	struct npu_builder *b;
	struct ring y;
};

static struct embedding embedding_of(const struct npu_args *args)
{
	const int64_t *v = args->value;
	struct embedding e = { .rows = (uint64_t)v[ROWS], .vocab = (uint64_t)v[VOCAB], .cols = (uint64_t)v[COLS] };
	e.tile = tile_within((uint64_t)v[TILE_ROWS], e.rows);
	e.seed = (uint64_t)v[SEED];
	e.buffers = (unsigned)v[BUFFERING] + 1;
	e.type = dtype_of(v[DTYPE]);
	e.row_bytes = npu_dtype_bytes(e.type, e.cols);
	return e;
}

/* The id of token i. Rows are fewer than 2^20, so that no two seeds share a stream. */
static uint32_t token(const struct embedding *e, uint64_t i)
{
	uint64_t state = (e->seed << 20) + i;
	return (uint32_t)(npu_random_next(&state) % e->vocab);
}

static bool place(struct embedding *e)
{
	unsigned n = load_slots(e->buffers, tiles_of(e->rows, e->tile));
	const struct npu_request y = { "y", false, e->tile * e->row_bytes, n, 0, e->y.at, .least = 1, .got = &e->y.n };
	return !e->rows || npu_place(e->b, &y, 1);
}

static bool try_place(struct npu_builder *b, const struct npu_args *args)
{
	struct embedding e = embedding_of(args);
	e.b = b;
	return place(&e);
}

/* The same whatever the tile. */
static struct tile_cost cost(const struct npu_capacity *capacity, const struct npu_args *args)
{
	struct embedding e = embedding_of(args);
	(void)capacity;
	return (struct tile_cost){ .dram = 2 * e.rows * e.row_bytes };
}

static bool resolve(const struct npu_capacity *capacity, struct npu_args *args, struct npu_error *err)
{
	if (!npu_args_check(&npu_embedding, args, err))
		return false;
	struct embedding e = embedding_of(args);
	uint64_t rows = 1;
	while (2 * rows * e.row_bytes <= MOST_TILE_BYTES && rows < TILE_LARGEST)
		rows *= 2;
	const struct tile_dim dims[] = { { "tile_rows", least(e.rows, rows), 0 } };
	return tiles_resolve(&npu_embedding, capacity, args, dims, 1, try_place, cost, err);
}

static uint32_t tokens_table(const struct embedding *e)
{
	uint32_t *tokens = malloc((e->rows ? e->rows : 1) * sizeof *tokens);
	if (!tokens) {
		npu_builder_fail(e->b, NPU_ERR_MEMORY, "out of memory for %u tokens", (unsigned)e->rows);
		return 0;
	}
	for (uint64_t i = 0; i < e->rows; i++)
		tokens[i] = token(e, i);
	uint32_t table = npu_block_table(e->b, "tokens", (uint32_t)e->rows, tokens);
	free(tokens);
	return table;
}

static bool emit(struct npu_builder *b, const struct npu_args *args)
{
	struct embedding e = embedding_of(args);
	e.b = b;
	struct npu_dram E = npu_tensor(b, "E", e.type, NPU_TENSOR_IN, 2, (uint64_t[]){ e.vocab, e.cols });
	struct npu_dram Y = npu_tensor(b, "Y", e.type, NPU_TENSOR_OUT, 2, (uint64_t[]){ e.rows, e.cols });
	if (!e.rows)
		return !npu_builder_failed(b);
	uint32_t table = tokens_table(&e);
	if (!place(&e))
		return false;
	ring_init(b, &e.y, "y");
	for (uint64_t i = 0, tile = 0; i < e.rows && !npu_builder_failed(b); i += e.tile, tile++) {
		struct slot y = ring_at(&e.y, tile);
		struct npu_paged gather = {
			.local = y.at,
			.cols = (uint32_t)e.cols,
			.dtype = e.type,
			.dram = E.addr,
			.rows = (uint32_t)least(e.tile, e.rows - i),
			.page_stride = (uint32_t)e.row_bytes,
			.first = (uint32_t)i,
			.page_rows = 1,
			.table = table,
		};
		struct npu_dma store = {
			.local = y.at, .dram = Y.addr + i * e.row_bytes, .rows = gather.rows, .cols = gather.cols
		};
		store.dtype = e.type;
		npu_emit(b, &(struct npu_insn){ .op = NPU_OP_GATHER, .paged = gather },
			 &(struct npu_order){ .wait = { y.free }, .post = { y.full } });
		npu_emit(b, &(struct npu_insn){ .op = NPU_OP_STORE, .dma = store },
			 &(struct npu_order){ .wait = { y.full }, .post = { y.free } });
	}
	return !npu_builder_failed(b);
}

/* Each row once, and 4 bytes of the table for it. */
static struct npu_expect expect(const struct npu_args *args)
{
	struct embedding e = embedding_of(args);
	return (struct npu_expect){
		.dram_read_bytes = e.rows * (e.row_bytes + 4),
		.dram_write_bytes = e.rows * e.row_bytes,
		.instructions = 2 * tiles_of(e.rows, e.tile),
	};
}

static bool reference(const struct npu_args *args, struct npu_reference_io *io)
{
	struct embedding e = embedding_of(args);
	const double *E = npu_reference_read(io, "E", e.vocab * e.cols);
	double *Y = npu_reference_write(io, "Y", e.rows * e.cols);
	for (uint64_t i = 0; E && Y && i < e.rows; i++)
		for (uint64_t c = 0; c < e.cols; c++)
			Y[i * e.cols + c] = E[token(&e, i) * e.cols + c];
	return E && Y;
}

/* Nothing is computed. */
static bool bound(const struct npu_args *args, const struct npu_reference_io *io, double exp_error, const char *tensor,
		  double *bound)
{
	struct embedding e = embedding_of(args);
	(void)io, (void)exp_error, (void)tensor;
	for (uint64_t i = 0; i < e.rows * e.cols; i++)
		bound[i] = 0;
	return true;
}

const struct npu_kernel npu_embedding = {
	.name = "embedding",
	.summary = "rows of a table of embeddings, fetched by token ids",
	PARAMS_OF(params),
	.resolve = resolve,
	.emit = emit,
	.expect = expect,
	.reference = reference,
	.bound = bound,
};
