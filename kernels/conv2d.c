/* SPDX-License-Identifier: Apache-2.0 */
/* Y = X * W, a convolution without padding, as a product whose A is never stored: the DMA gathers its rows out of X
 * (im2col). X is [batch, height, width, channels], W [filter_h, filter_w, channels, filters], Y [batch, out_h, out_w,
 * filters].
 *
 *   m = batch x out_h x out_w positions, n = filters, k = filter_h x filter_w x channels
 *   for i in tiles of m
 *     for j in tiles of n
 *       for l in tiles of k
 *         load    a = elements l of the windows at positions i: one a row of Y and position of W that they touch
 *         load    b = W[l, j]
 *         matmul  acc (+)= a b
 *       vcopy   y = acc              int8: acc is stored as it is
 *       store   Y[i, j] = y
 *
 * Windows that overlap load what they share once each: X is read filter_h x filter_w / stride^2 times, about, and again
 * for each tile of n. Where positions follow one another in X (1 x 1 without stride), or windows do not overlap, one
 * load takes more. */
#include "kernels/bound.h"
#include "kernels/kernels.h"
#include "kernels/params.h"
#include "kernels/pingpong.h"
#include "kernels/reference.h"
#include "kernels/tiles.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH, HEIGHT, WIDTH, CHANNELS, FILTER_H, FILTER_W, FILTERS, STRIDE, DTYPE, TILE_M, TILE_N, TILE_K, BUFFERING };

static const struct npu_param params[] = {
	[BATCH] = PARAM_INT("batch", 1, 1, MAX_LENGTH, "image", "images"),
	[HEIGHT] = PARAM_INT("height", 56, 1, MAX_LENGTH, "row", "rows of X"),
	[WIDTH] = PARAM_INT("width", 56, 1, MAX_LENGTH, "column", "columns of X"),
	[CHANNELS] = PARAM_INT("channels", 64, 1, MAX_LENGTH, "element", "elements a position of X"),
	[FILTER_H] = PARAM_INT("filter_h", 3, 1, MAX_LENGTH, "row", "rows of a filter, no more than height"),
	[FILTER_W] = PARAM_INT("filter_w", 3, 1, MAX_LENGTH, "column", "columns of a filter, no more than width"),
	[FILTERS] = PARAM_INT("filters", 64, 1, MAX_LENGTH, "element", "filters: elements a position of Y"),
	[STRIDE] =
	    PARAM_INT("stride", 1, 1, MAX_LENGTH, "position", "positions of X from one window to the next, both ways"),
	[DTYPE] = PARAM_OPERANDS,
	[TILE_M] = PARAM_TILE("tile_m", "positions a tile of Y"),
	[TILE_N] = PARAM_TILE("tile_n", "filters a tile of W and Y"),
	[TILE_K] = PARAM_TILE("tile_k", "elements of a window a tile"),
	[BUFFERING] = PARAM_BUFFERING,
};

struct conv {
	uint64_t batch, height, width, channels, filter_h, filter_w, stride;
	uint64_t out_h, out_w;
	uint64_t m, n, k;
	uint64_t tile_m, tile_n, tile_k;
	uint64_t row;    /* positions whose windows lie evenly in X: a row of Y, an image, or all */
	uint64_t window; /* elements of a window that one load takes: a position, a row of a filter, or all */
	unsigned buffers;
	enum npu_dtype in, out;
	uint64_t in_bytes, out_bytes;

	struct npu_builder *b;
	struct npu_dram X, W, Y;
	struct ring ab;
	uint32_t b_at[RING_SLOTS];
	struct ring acc, y;
};

struct step {
	uint64_t i, j, l;
	uint32_t m, n, k;
	bool first, last;
	struct slot ab, acc, y;
	uint32_t b_at;
};

/* Elements of a window that one load takes of several positions: those that follow one another in X, unless the next
 * position's begin among them, for the rows of a DMA instruction may not overlap. */
static uint64_t run_of_window(const struct conv *c)
{
	uint64_t apart = c->row > 1 ? c->stride * c->channels : UINT64_MAX;
	if (c->filter_w == c->width && c->k <= apart)
		return c->k;
	return c->filter_w * c->channels <= apart ? c->filter_w * c->channels : c->channels;
}

static struct conv conv_of(const struct npu_args *args)
{
	const int64_t *v = args->value;
	struct conv c = {
		.batch = (uint64_t)v[BATCH],
		.height = (uint64_t)v[HEIGHT],
		.width = (uint64_t)v[WIDTH],
		.channels = (uint64_t)v[CHANNELS],
		.filter_h = (uint64_t)v[FILTER_H],
		.filter_w = (uint64_t)v[FILTER_W],
		.n = (uint64_t)v[FILTERS],
		.stride = (uint64_t)v[STRIDE],
	};
	c.out_h = (c.height - c.filter_h) / c.stride + 1;
	c.out_w = (c.width - c.filter_w) / c.stride + 1;
	c.m = c.batch * c.out_h * c.out_w;
	c.k = c.filter_h * c.filter_w * c.channels;
	c.buffers = (unsigned)v[BUFFERING] + 1;
	c.tile_m = tile_within((uint64_t)v[TILE_M], c.m);
	c.tile_n = tile_within((uint64_t)v[TILE_N], c.n);
	c.tile_k = tile_within((uint64_t)v[TILE_K], c.k);
	/* The next row of Y begins stride rows of X further down; in X its first window then follows the last one
	 * evenly. */
	bool rows_join = c.out_w == c.width, images_join = rows_join && c.out_h * c.stride == c.height;
	c.row = images_join ? c.m : rows_join ? c.out_h * c.out_w : c.out_w;
	c.window = run_of_window(&c);
	c.in = dtype_of(v[DTYPE]);
	c.out = c.in == NPU_INT8 ? NPU_INT32 : c.in;
	c.in_bytes = npu_dtype_bytes(c.in, 1);
	c.out_bytes = npu_dtype_bytes(c.out, 1);
	return c;
}

/* Pieces of [first, first + length) that runs of `run` cut it into. */
static uint64_t pieces(uint64_t first, uint64_t length, uint64_t run)
{
	return (first + length - 1) / run - first / run + 1;
}

static bool place(struct conv *c)
{
	uint64_t a = c->tile_m * c->tile_k * c->in_bytes, b = c->tile_k * c->tile_n * c->in_bytes;
	uint64_t acc = c->tile_m * c->tile_n * 4, y = c->tile_m * c->tile_n * c->out_bytes;
	uint64_t tiles = tiles_of(c->m, c->tile_m) * tiles_of(c->n, c->tile_n);
	unsigned n = load_slots(c->buffers, tiles * tiles_of(c->k, c->tile_k));
	unsigned results = result_slots(c->buffers, tiles);
	/* As those of gemm. */
	const struct npu_request requests[] = {
		{ "a", false, a, n, 0, c->ab.at, .least = 1, .got = &c->ab.n },
		{ "b", false, b, n, 2, c->b_at, .least = 1, .pair = true },
		{ "acc", true, acc, results, -1, c->acc.at, .least = 1, .got = &c->acc.n },
		{ "y", false, y, results, 2, c->y.at, .least = 1, .got = &c->y.n },
	};
	return npu_place(c->b, requests, c->in == NPU_INT8 ? 3 : 4);
}

static bool try_place(struct npu_builder *b, const struct npu_args *args)
{
	struct conv c = conv_of(args);
	c.b = b;
	return place(&c);
}

static struct tile_cost cost(const struct npu_capacity *capacity, const struct npu_args *args)
{
	struct conv c = conv_of(args);
	uint64_t down = tiles_of(c.m, c.tile_m), across = tiles_of(c.n, c.tile_n), size = c.in_bytes;
	uint64_t segment = least(c.tile_k, c.window);
	return (struct tile_cost){
		.dram = across * tile_traffic(c.m, c.k * size, segment * size, capacity->dram_granule) +
			down * tile_traffic(c.k, c.n * size, c.tile_n * size, capacity->dram_granule) +
			tile_traffic(c.m, c.n * c.out_bytes, c.tile_n * c.out_bytes, capacity->dram_granule),
		.array = tile_steps(capacity, c.m, c.tile_m, c.n, c.tile_n, c.k, c.tile_k),
	};
}

static bool check(const struct npu_args *args, struct npu_error *err)
{
	const int64_t *v = args->value;
	if (v[FILTER_H] > v[HEIGHT])
		return npu_fail(err, NPU_ERR_VALUE, "filter_h=%d: more than height=%d", (int)v[FILTER_H],
				(int)v[HEIGHT]);
	if (v[FILTER_W] > v[WIDTH])
		return npu_fail(err, NPU_ERR_VALUE, "filter_w=%d: more than width=%d", (int)v[FILTER_W], (int)v[WIDTH]);
	/* Before their product: each of them is below 2^20. */
	double k = (double)v[FILTER_H] * (double)v[FILTER_W] * (double)v[CHANNELS];
	if (k > MAX_LENGTH)
		return npu_fail(err, NPU_ERR_VALUE, "channels=%d: %.0f elements a window, %d at most would be right",
				(int)v[CHANNELS], k, MAX_LENGTH);
	double out_h = (double)((v[HEIGHT] - v[FILTER_H]) / v[STRIDE] + 1);
	double m = (double)v[BATCH] * out_h * (double)((v[WIDTH] - v[FILTER_W]) / v[STRIDE] + 1);
	if (m > MAX_LENGTH)
		return npu_fail(err, NPU_ERR_VALUE, "height=%d: %.0f positions of Y, %d at most would be right",
				(int)v[HEIGHT], m, MAX_LENGTH);
	double x = (double)v[BATCH] * (double)v[HEIGHT] * (double)v[WIDTH] * (double)v[CHANNELS];
	if (x > 0x1p36)
		return npu_fail(err, NPU_ERR_VALUE, "height=%d: X has %.0f elements, 2^36 at most would be right",
				(int)v[HEIGHT], x);
	if ((double)v[STRIDE] * (double)v[CHANNELS] * 2 > UINT32_MAX)
		return npu_fail(err, NPU_ERR_VALUE, "stride=%d: windows lie too far apart for a DMA instruction",
				(int)v[STRIDE]);
	return true;
}

static bool resolve(const struct npu_capacity *capacity, struct npu_args *args, struct npu_error *err)
{
	if (!npu_args_check(&npu_conv2d, args, err) || !check(args, err))
		return false;
	struct conv c = conv_of(args);
	const struct tile_dim dims[] = { { "tile_m", c.m, 0 }, { "tile_n", c.n, 0 }, { "tile_k", c.k, 0 } };
	return tiles_resolve(&npu_conv2d, capacity, args, dims, 3, try_place, cost, err);
}

/* Element `l` of the window at position `i`, in X. */
static uint64_t element(const struct conv *c, uint64_t i, uint64_t l)
{
	uint64_t image = i / (c->out_h * c->out_w), oy = i / c->out_w % c->out_h, ox = i % c->out_w;
	uint64_t wide = c->filter_w * c->channels, fy = l / wide;
	return ((image * c->height + oy * c->stride + fy) * c->width + ox * c->stride) * c->channels + l % wide;
}

static void gather(const struct conv *c, const struct step *s)
{
	bool first = true;
	uint64_t i_end = s->i + s->m, l_end = s->l + s->k;
	for (uint64_t i = s->i, rows; i < i_end; i += rows) {
		rows = least(c->row - i % c->row, i_end - i);
		for (uint64_t l = s->l, cols; l < l_end; l += cols) {
			cols = least(c->window - l % c->window, l_end - l);
			struct npu_dma a = {
				.local = s->ab.at + (uint32_t)(((i - s->i) * s->k + l - s->l) * c->in_bytes),
				.dram = c->X.addr + element(c, i, l) * c->in_bytes,
				.rows = (uint32_t)rows,
				.cols = (uint32_t)cols,
				.dram_stride = rows > 1 ? (uint32_t)(c->stride * c->channels * c->in_bytes) : 0,
				.local_stride = (uint32_t)(s->k * c->in_bytes),
				.dtype = c->in,
			};
			npu_emit(c->b, &(struct npu_insn){ .op = NPU_OP_LOAD, .dma = a },
				 &(struct npu_order){ .wait = { first ? s->ab.free : NPU_NO_SEMAPHORE } });
			first = false;
		}
	}
}

/* Loads end in queue order: when b is there, so is a. */
static void load(const struct conv *c, const struct step *s)
{
	struct npu_dma b = {
		.local = s->b_at,
		.dram = c->W.addr + (s->l * c->n + s->j) * c->in_bytes,
		.rows = s->k,
		.cols = s->n,
		.dram_stride = (uint32_t)(c->n * c->in_bytes),
		.dtype = c->in,
	};
	gather(c, s);
	npu_emit(c->b, &(struct npu_insn){ .op = NPU_OP_LOAD, .dma = b },
		 &(struct npu_order){ .post = { s->ab.full } });
}

static void multiply(const struct conv *c, const struct step *s)
{
	struct npu_matmul product = {
		.dst = s->acc.at,
		.a = s->ab.at,
		.b = s->b_at,
		.m = s->m,
		.n = s->n,
		.k = s->k,
		.a_type = c->in,
		.b_type = c->in,
		.accumulate = !s->first,
	};
	struct npu_order order = {
		.wait = { s->ab.full, s->first ? s->acc.free : NPU_NO_SEMAPHORE },
		.post = { s->ab.free, s->last ? s->acc.full : NPU_NO_SEMAPHORE },
	};
	npu_emit(c->b, &(struct npu_insn){ .op = NPU_OP_MATMUL, .matmul = product }, &order);
}

static void finish(const struct conv *c, const struct step *s)
{
	struct slot from = c->in == NPU_INT8 ? s->acc : s->y;
	if (c->in != NPU_INT8) {
		struct npu_un copy = { .dst = s->y.at,
				       .a = s->acc.at,
				       .scale = 1,
				       .rows = s->m,
				       .cols = s->n,
				       .dst_type = c->out,
				       .a_type = NPU_FP32 };
		npu_emit(c->b, &(struct npu_insn){ .op = NPU_OP_VCOPY, .un = copy },
			 &(struct npu_order){ .wait = { s->acc.full, s->y.free }, .post = { s->acc.free, s->y.full } });
	}
	struct npu_dma y = {
		.local = from.at,
		.dram = c->Y.addr + (s->i * c->n + s->j) * c->out_bytes,
		.rows = s->m,
		.cols = s->n,
		.dram_stride = (uint32_t)(c->n * c->out_bytes),
		.dtype = c->out,
	};
	npu_emit(c->b, &(struct npu_insn){ .op = NPU_OP_STORE, .dma = y },
		 &(struct npu_order){ .wait = { from.full }, .post = { from.free } });
}

static bool emit(struct npu_builder *b, const struct npu_args *args)
{
	struct conv c = conv_of(args);
	uint64_t step = 0, tile = 0;
	c.b = b;
	c.X = npu_tensor(b, "X", c.in, NPU_TENSOR_IN, 4, (uint64_t[]){ c.batch, c.height, c.width, c.channels });
	c.W = npu_tensor(b, "W", c.in, NPU_TENSOR_IN, 4, (uint64_t[]){ c.filter_h, c.filter_w, c.channels, c.n });
	c.Y = npu_tensor(b, "Y", c.out, NPU_TENSOR_OUT, 4, (uint64_t[]){ c.batch, c.out_h, c.out_w, c.n });
	if (!place(&c))
		return false;
	ring_init(b, &c.ab, "ab");
	ring_init(b, &c.acc, "acc");
	if (c.in != NPU_INT8)
		ring_init(b, &c.y, "y");
	for (uint64_t i = 0; i < c.m && !npu_builder_failed(b); i += c.tile_m)
		for (uint64_t j = 0; j < c.n && !npu_builder_failed(b); j += c.tile_n, tile++) {
			struct step s = { .i = i, .j = j, .acc = ring_at(&c.acc, tile) };
			s.m = (uint32_t)least(c.tile_m, c.m - i);
			s.n = (uint32_t)least(c.tile_n, c.n - j);
			npu_region(b, "tile %u,%u", (unsigned)(i / c.tile_m), (unsigned)(j / c.tile_n));
			for (s.l = 0; s.l < c.k; s.l += c.tile_k, step++) {
				s.k = (uint32_t)least(c.tile_k, c.k - s.l);
				s.first = s.l == 0;
				s.last = s.l + s.k == c.k;
				s.ab = ring_at(&c.ab, step);
				s.b_at = c.b_at[step % c.ab.n];
				load(&c, &s);
				multiply(&c, &s);
			}
			if (c.in != NPU_INT8)
				s.y = ring_at(&c.y, tile);
			finish(&c, &s);
			npu_region_end(b);
		}
	return !npu_builder_failed(b);
}

/* Pieces of all tiles of a length. */
static uint64_t all_pieces(uint64_t length, uint64_t tile, uint64_t run)
{
	uint64_t sum = 0;
	for (uint64_t at = 0; at < length; at += tile)
		sum += pieces(at, least(tile, length - at), run);
	return sum;
}

/* Windows pass once for each column of tiles of Y, W once for each row of them. */
static struct npu_expect expect(const struct npu_args *args)
{
	struct conv c = conv_of(args);
	uint64_t macs = c.m * c.n * c.k, down = tiles_of(c.m, c.tile_m), across = tiles_of(c.n, c.tile_n);
	uint64_t gathers = across * all_pieces(c.m, c.tile_m, c.row) * all_pieces(c.k, c.tile_k, c.window);
	/* A load of b and a product a step; a store and, but for int8, a conversion a tile. */
	uint64_t each = 2 * tiles_of(c.k, c.tile_k) + (c.in == NPU_INT8 ? 1 : 2);
	return (struct npu_expect){
		.macs = macs,
		.useful_macs = macs,
		.dram_read_bytes = c.in_bytes * (across * c.m * c.k + down * c.k * c.n),
		.dram_write_bytes = c.out_bytes * c.m * c.n,
		.instructions = gathers + down * across * each,
	};
}

/* The windows as rows of a matrix; malloc'ed. */
static double *im2col(const struct conv *c, const double *X)
{
	double *A = malloc(c->m * c->k * sizeof *A);
	for (uint64_t i = 0; A && i < c->m; i++)
		for (uint64_t l = 0; l < c->k; l++)
			A[i * c->k + l] = X[element(c, i, l)];
	return A;
}

static bool reference(const struct npu_args *args, struct npu_reference_io *io)
{
	struct conv c = conv_of(args);
	const double *X = npu_reference_read(io, "X", c.batch * c.height * c.width * c.channels);
	const double *W = npu_reference_read(io, "W", c.k * c.n);
	double *Y = npu_reference_write(io, "Y", c.m * c.n);
	double *A = X && W && Y ? im2col(&c, X) : NULL;
	if (A)
		npu_reference_matmul(c.m, c.n, c.k, A, W, false, Y);
	free(A);
	return A != NULL;
}

/* That of a product of the windows with W. */
static bool bound(const struct npu_args *args, const struct npu_reference_io *io, double exp_error, const char *tensor,
		  double *out)
{
	struct conv c = conv_of(args);
	const double *X = npu_reference_read(io, "X", c.batch * c.height * c.width * c.channels);
	const double *W = npu_reference_read(io, "W", c.k * c.n);
	(void)exp_error;
	if (!X || !W || strcmp(tensor, "Y") != 0)
		return false;
	double *A = im2col(&c, X);
	const struct product windows = { .m = c.m, .n = c.n, .k = c.k, .a = A, .b = W, .type = c.in };
	bool ok = A && product_bound(&windows, out);
	free(A);
	return ok;
}

const struct npu_kernel npu_conv2d = {
	.name = "conv2d",
	.summary = "Y = X * W, a convolution whose windows the DMA gathers (im2col)",
	PARAMS_OF(params),
	.resolve = resolve,
	.emit = emit,
	.expect = expect,
	.reference = reference,
	.bound = bound,
};
