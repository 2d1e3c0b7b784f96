/* SPDX-License-Identifier: Apache-2.0 */
/* Products. A block of D is computed at a time: operands become fp32 once a block, in strips as the inner loop wants
 * them.
 *
 *   for each block of D (BLOCK_ROWS x BLOCK_COLS):
 *     for each group of k (all of k without scales):
 *       for each stretch of the group (at most STRETCH):  part += A B, in fp32
 *       with scales: D += part * scale
 *
 * Integers need no loop of their own: a stretch is so short that fp32 holds its sums exactly. */
#include "isa/exec/state.h"
#include "isa/exec/tile.h"

#include <string.h>

enum {
	BLOCK_ROWS = 128,
	BLOCK_COLS = 256,
	BLOCK_TILES = (BLOCK_ROWS / NPU_TILE_ROWS) * (BLOCK_COLS / NPU_TILE_COLS),
	STRETCH = 256, /* 256 * 255 * 255 < 2^24: exact in fp32 */
};

struct product {
	const struct npu_matmul *p;
	const struct npu_view *d, *a, *b, *scales;
	bool integer; /* sums are int32 */
	bool scaled;
	/* of one block; tiles of D row-major, each [4][8] */
	float *strip_a;  /* [rows / 4][k of the stretch][4] */
	float *strip_b;  /* [cols / 8][k of the stretch][8] */
	float *line;     /* a strip's elements on the way */
	float *part;     /* fp32 sums of the group, or of the stretch for integers */
	uint32_t *whole; /* int32 sums of the group */
	float *result;   /* D in fp32, with scales */
	float *scale;    /* of the group, [cols] */
};

struct block {
	uint64_t row, col;   /* of D */
	uint64_t rows, cols; /* its true size */
	uint64_t tile_rows, tile_cols;
};

static uint64_t at_most(uint64_t n, uint64_t limit)
{
	return n < limit ? n : limit;
}

/* The width of a strip is known where these are called, and inlined. */
#define INLINED static inline __attribute__((always_inline))

/* Strips of `width` lines each out of an operand whose stored rows run along k: line `first` + i, k `from` + j goes to
 * out[i / width][j][i % width]. Missing lines of the last strip are zeros. */
INLINED void pack_along_k(const struct npu_view *v, uint64_t first, uint64_t lines, uint64_t from, uint64_t k,
			  unsigned width, float *line, float *out)
{
	for (uint64_t strip = 0; strip < lines; strip += width, out += k * width) {
		for (unsigned i = 0; i < width; i++) {
			if (strip + i < lines)
				npu_view_get_run(v, first + strip + i, from, k, line);
			else
				memset(line, 0, k * sizeof *line);
			for (uint64_t j = 0; j < k; j++)
				out[j * width + i] = line[j];
		}
	}
}

/* The same where stored rows run across the lines. */
INLINED void pack_across_k(const struct npu_view *v, uint64_t first, uint64_t lines, uint64_t from, uint64_t k,
			   unsigned width, float *line, float *out)
{
	uint64_t padded = (lines + width - 1) / width * width;
	memset(line + lines, 0, (padded - lines) * sizeof *line);
	for (uint64_t j = 0; j < k; j++) {
		npu_view_get_run(v, from + j, first, lines, line);
		for (uint64_t strip = 0; strip < padded; strip += width)
			memcpy(out + strip * k + j * width, line + strip, width * sizeof *out);
	}
}

INLINED void pack(const struct npu_view *v, bool along_k, uint64_t first, uint64_t lines, uint64_t from, uint64_t k,
		  unsigned width, float *line, float *out)
{
	if (along_k)
		pack_along_k(v, first, lines, from, k, width, line, out);
	else
		pack_across_k(v, first, lines, from, k, width, line, out);
}

static float *tile_of(const struct block *b, float *tiles, uint64_t i, uint64_t j)
{
	return tiles + (i * b->tile_cols + j) * NPU_TILE;
}

/* part += A B over k `from` .. `from` + `k`. */
static void multiply(struct product *x, const struct block *b, uint64_t from, uint64_t k)
{
	pack(x->a, !x->p->transpose_a, b->row, b->rows, from, k, NPU_TILE_ROWS, x->line, x->strip_a);
	pack(x->b, x->p->transpose_b, b->col, b->cols, from, k, NPU_TILE_COLS, x->line, x->strip_b);
	for (uint64_t j = 0; j < b->tile_cols; j++)
		for (uint64_t i = 0; i < b->tile_rows; i++)
			npu_tile_multiply(k, x->strip_a + i * k * NPU_TILE_ROWS, x->strip_b + j * k * NPU_TILE_COLS,
					  tile_of(b, x->part, i, j));
}

static uint64_t elements(const struct block *b)
{
	return b->tile_rows * b->tile_cols * NPU_TILE;
}

/* whole += part, modulo 2^32. */
static void add_whole(struct product *x, const struct block *b)
{
	for (uint64_t i = 0; i < elements(b); i++)
		x->whole[i] += (uint32_t)(int32_t)x->part[i];
}

/* Sums over one group of k into `part`, or `whole` for integers. */
static void multiply_group(struct product *x, const struct block *b, uint64_t from, uint64_t k)
{
	for (uint64_t done = 0; done < k; done += STRETCH) {
		if (x->integer)
			memset(x->part, 0, elements(b) * sizeof *x->part);
		multiply(x, b, from + done, at_most(k - done, STRETCH));
		if (x->integer)
			add_whole(x, b);
	}
}

/* result += sums of the group * its scales. */
static void add_scaled(struct product *x, const struct block *b, uint64_t group)
{
	npu_view_get_run(x->scales, group, b->col, b->cols, x->scale);
	memset(x->scale + b->cols, 0, NPU_TILE_COLS * sizeof *x->scale);
	float *to = x->result, *part = x->part;
	const uint32_t *whole = x->whole;
	for (uint64_t tile = 0; tile < b->tile_rows * b->tile_cols; tile++) {
		const float *scale = x->scale + tile % b->tile_cols * NPU_TILE_COLS;
		for (unsigned e = 0; e < NPU_TILE; e++, to++, part++, whole++)
			*to += (x->integer ? (float)(int32_t)*whole : *part) * scale[e % NPU_TILE_COLS];
	}
}

/* Moves the 32-bit words of a block between D and tiles; D is fp32 or int32 alike. */
static void move_block(const struct product *x, const struct block *b, void *tiles, bool to_d)
{
	for (uint64_t row = 0; row < b->rows; row++) {
		uint8_t *d = npu_view_row(x->d, b->row + row) + b->col * 4;
		for (uint64_t col = 0; col < b->cols; col += NPU_TILE_COLS) {
			uint64_t word = (row / NPU_TILE_ROWS * b->tile_cols + col / NPU_TILE_COLS) * NPU_TILE +
					row % NPU_TILE_ROWS * NPU_TILE_COLS;
			uint64_t nbytes = at_most(b->cols - col, NPU_TILE_COLS) * 4;
			uint8_t *tile = (uint8_t *)tiles + word * 4;
			memcpy(to_d ? d + col * 4 : tile, to_d ? tile : d + col * 4, nbytes);
		}
	}
}

/* Where the sums that D receives are kept while a block is computed. */
static void *sums_of_d(struct product *x)
{
	return x->scaled ? (void *)x->result : x->integer ? (void *)x->whole : (void *)x->part;
}

static void multiply_block(struct product *x, const struct block *b)
{
	uint64_t k = x->p->k, nbytes = elements(b) * 4;
	memset(sums_of_d(x), 0, nbytes);
	if (x->p->accumulate)
		move_block(x, b, sums_of_d(x), false);
	if (!x->scaled)
		multiply_group(x, b, 0, k);
	for (uint64_t from = 0; x->scaled && from < k; from += x->p->group) {
		memset(x->part, 0, nbytes);
		memset(x->whole, 0, nbytes);
		multiply_group(x, b, from, at_most(k - from, x->p->group));
		add_scaled(x, b, from / x->p->group);
	}
	move_block(x, b, sums_of_d(x), true);
}

static bool reserve(struct npu_exec *e, struct product *x, struct npu_error *err)
{
	uint64_t tiles = (uint64_t)BLOCK_TILES * NPU_TILE;
	return (x->strip_a = npu_scratch_row(e, (uint64_t)BLOCK_ROWS * STRETCH, err)) &&
	       (x->strip_b = npu_scratch_row(e, (uint64_t)BLOCK_COLS * STRETCH, err)) &&
	       (x->line = npu_scratch_row(e, BLOCK_COLS, err)) && (x->part = npu_scratch_row(e, tiles, err)) &&
	       (x->whole = npu_scratch(e, tiles * sizeof *x->whole, err)) &&
	       (x->result = npu_scratch_row(e, tiles, err)) && (x->scale = npu_scratch_row(e, BLOCK_COLS, err));
}

bool npu_exec_matmul(struct npu_exec *e, const struct npu_insn *insn, struct npu_error *err)
{
	const struct npu_matmul *p = &insn->matmul;
	struct npu_views views;
	if (!npu_views_bind(e, insn, &views, err))
		return false;
	struct npu_view *d = npu_views_find(&views, "dst"), *scales = npu_views_find(&views, "scales");
	for (unsigned i = 0; i < views.n; i++)
		if (&views.view[i] != d && !npu_view_detach(e, &views.view[i], d, err))
			return false;
	struct product x = {
		.p = p,
		.d = d,
		.a = npu_views_find(&views, "a"),
		.b = npu_views_find(&views, "b"),
		.scales = scales,
		.integer = !npu_dtype_is_float((enum npu_dtype)p->a_type) &&
			   !npu_dtype_is_float((enum npu_dtype)p->b_type),
		.scaled = scales != NULL,
	};
	if (!reserve(e, &x, err))
		return false;
	for (uint64_t row = 0; row < p->m; row += BLOCK_ROWS) {
		for (uint64_t col = 0; col < p->n; col += BLOCK_COLS) {
			struct block b = { .row = row, .col = col };
			b.rows = at_most(p->m - row, BLOCK_ROWS);
			b.cols = at_most(p->n - col, BLOCK_COLS);
			b.tile_rows = (b.rows + NPU_TILE_ROWS - 1) / NPU_TILE_ROWS;
			b.tile_cols = (b.cols + NPU_TILE_COLS - 1) / NPU_TILE_COLS;
			multiply_block(&x, &b);
		}
	}
	return true;
}
