/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel outside the tree of npusim: Y = X / sqrt(mean(X^2) + eps) * w of each row, fp16, through two pairs of buffers.
 *
 *   for i in tiles of rows (tile_rows)
 *     load       x[i % 2] = X[i, :]
 *     vrmsnorm   y[i % 2] = RMSNorm(x[i % 2]) * w
 *     store      Y[i, :] = y[i % 2] */
#include <math.h>
#include <npu.h>

enum { ROWS, COLS, TILE_ROWS };

static const struct npu_param params[] = {
	[ROWS] = { .name = "rows", .initial = 256, .min = 1, .max = 65536, .unit = "row", .meaning = "tokens" },
	[COLS] = { .name = "cols", .initial = 512, .min = 1, .max = 65536, .unit = "element", .meaning = "elements a token" },
	[TILE_ROWS] = { .name = "tile_rows", .min = 1, .max = 65536, .derived = true, .unit = "row",
			.meaning = "tokens a tile; default as many as fit, up to 64" },
};

static const float EPS = 1e-5f;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Two tiles of x, two of y, and w. */
static uint64_t sram_bytes(const struct npu_args *args, int64_t tile_rows)
{
	uint64_t row = 2 * (uint64_t)args->value[COLS];
	return 4 * (uint64_t)tile_rows * row + row;
}

static bool resolve(const struct npu_capacity *capacity, struct npu_args *args, struct npu_error *err)
{
	int64_t tile = 64;
	while (tile > 1 && sram_bytes(args, tile) > capacity->limits.sram_bytes)
		tile /= 2;
	if (!args->named[TILE_ROWS])
		args->value[TILE_ROWS] = least(tile, args->value[ROWS]);
	if (sram_bytes(args, args->value[TILE_ROWS]) > capacity->limits.sram_bytes)
		return npu_fail(err, NPU_ERR_FIT, "tile_rows=%lld does not fit: %lld would", (long long)args->value[TILE_ROWS],
				(long long)tile);
	return true;
}

static bool emit(struct npu_builder *b, const struct npu_args *args)
{
	int64_t rows = args->value[ROWS], tile_rows = args->value[TILE_ROWS];
	uint32_t cols = (uint32_t)args->value[COLS], x[2], y[2];
	uint64_t row = 2 * (uint64_t)cols, tile = (uint64_t)tile_rows * row;
	struct npu_dram X = npu_tensor(b, "X", NPU_FP16, NPU_TENSOR_IN, 2, (uint64_t[]){ (uint64_t)rows, cols });
	struct npu_dram w = npu_tensor(b, "w", NPU_FP16, NPU_TENSOR_IN, 1, (uint64_t[]){ cols });
	struct npu_dram Y = npu_tensor(b, "Y", NPU_FP16, NPU_TENSOR_OUT, 2, (uint64_t[]){ (uint64_t)rows, cols });
	struct npu_semaphore x_full[2], x_free[2], y_full[2], y_free[2], w_full = npu_semaphore(b, "w_full", 0);
	struct npu_request buffers[] = {
		{ .name = "x", .bytes = tile, .count = 2, .group = 0, .local = x },
		{ .name = "y", .bytes = tile, .count = 2, .group = 2, .local = y },
	};
	uint32_t weight = npu_sram(b, "weight", row, -1);

	npu_place(b, buffers, 2);
	for (int i = 0; i < 2; i++) {
		x_full[i] = npu_semaphore(b, i ? "x_full[1]" : "x_full[0]", 0);
		x_free[i] = npu_semaphore(b, i ? "x_free[1]" : "x_free[0]", 1);
		y_full[i] = npu_semaphore(b, i ? "y_full[1]" : "y_full[0]", 0);
		y_free[i] = npu_semaphore(b, i ? "y_free[1]" : "y_free[0]", 1);
	}
	if (npu_builder_failed(b))
		return false;

	npu_load(b, .local = weight, .dram = w.addr, .rows = 1, .cols = cols, .post = { w_full });
	npu_sync_vector(b, .wait = { w_full });
	for (int64_t at = 0, i = 0; at < rows && !npu_builder_failed(b); at += tile_rows, i = !i) {
		uint32_t n = (uint32_t)least(tile_rows, rows - at);
		npu_region(b, "rows %lld", (long long)at);
		npu_load(b, .local = x[i], .dram = X.addr + (uint64_t)at * row, .rows = n, .cols = cols,
			 .wait = { x_free[i] }, .post = { x_full[i] });
		npu_vrmsnorm(b, .dst = y[i], .a = x[i], .weight = weight, .rows = n, .cols = cols, .a_type = NPU_FP16,
			     .eps = EPS, .wait = { x_full[i], y_free[i] }, .post = { x_free[i], y_full[i] });
		npu_store(b, .local = y[i], .dram = Y.addr + (uint64_t)at * row, .rows = n, .cols = cols,
			  .wait = { y_full[i] }, .post = { y_free[i] });
		npu_region_end(b);
	}
	return !npu_builder_failed(b);
}

static bool reference(const struct npu_args *args, struct npu_reference_io *io)
{
	uint64_t rows = (uint64_t)args->value[ROWS], cols = (uint64_t)args->value[COLS];
	const double *X = npu_reference_read(io, "X", rows * cols), *w = npu_reference_read(io, "w", cols);
	double *Y = npu_reference_write(io, "Y", rows * cols);
	if (!X || !w || !Y)
		return false;
	for (uint64_t r = 0; r < rows; r++) {
		double squares = 0;
		for (uint64_t c = 0; c < cols; c++)
			squares += X[r * cols + c] * X[r * cols + c];
		for (uint64_t c = 0; c < cols; c++)
			Y[r * cols + c] = X[r * cols + c] / sqrt(squares / (double)cols + (double)EPS) * w[c];
	}
	return true;
}

/* Of the sum of squares, all of them positive, each of 16 partial sums is rounded cols / 16 times to fp32 (2^-24); the
 * root leaves half of that, 2^-13 for 65,536 columns, and what follows are a few roundings more. */
const struct npu_kernel npu_plugin = {
	NPU_PLUGIN,
	.name = "rms_norm",
	.summary = "Y = RMSNorm(X) * w of each row",
	.params = params,
	.nparams = sizeof params / sizeof *params,
	.resolve = resolve,
	.emit = emit,
	.reference = reference,
	.tolerance = 0x1p-12,
};
