/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that stream rows through one vector instruction, a few rows at a time:
 *
 *   load    w, b                       what all rows share, once
 *   for i in tiles of rows
 *     load    x = X[i], ...            all inputs
 *     v...    y = f(x, ..., w, b)
 *     store   Y[i] = y
 *
 * x and y are ping-pong pairs. w and b need no semaphore: they come before the first x in the load queue. */
#include "kernels/rowwise.h"

#include "kernels/kernels.h"
#include "kernels/params.h"
#include "kernels/pingpong.h"
#include "kernels/tiles.h"

/* Smaller tiles begin and end sooner; larger ones gain nothing, for 32 KiB are long enough for any DRAM. */
enum { MOST_TILE_BYTES = 32 << 10 };

static const char *const epsilons[] = { "1e-5", "1e-6", NULL };
static const char *const activations[] = { "silu", "gelu", NULL };

#define PARAM_ROWS     PARAM_INT("rows", 512, 0, MAX_LENGTH, "row", "rows of X and Y: tokens")
#define PARAM_COLS     PARAM_INT("cols", 4096, 1, MAX_LENGTH, "element", "elements a row")
#define PARAM_ROW_TILE PARAM_TILE("tile_rows", "whole rows at a time")
#define PARAM_EPS      PARAM_CHOICE("eps", 0, epsilons, "added to the mean of squares")
#define PARAM_OFFSET   PARAM_CHOICE("unit_offset", 0, param_flag, "the weight is 1 + w, as Gemma has it")

static const struct npu_param rmsnorm_params[] = {
	PARAM_ROWS, PARAM_COLS, PARAM_FLOATS, PARAM_EPS, PARAM_OFFSET, PARAM_ROW_TILE, PARAM_BUFFERING,
};
static const struct npu_param layernorm_params[] = {
	PARAM_ROWS,     PARAM_COLS,      PARAM_FLOATS,
	PARAM_EPS,      PARAM_OFFSET,    PARAM_CHOICE("bias", 1, param_flag, "b is added"),
	PARAM_ROW_TILE, PARAM_BUFFERING,
};
static const struct npu_param rope_params[] = {
	PARAM_ROWS,
	PARAM_INT("heads", 32, 1, 1023, "head", "heads a row"),
	PARAM_INT("head_dim", 128, 2, MAX_HEAD_DIM, "element", "elements a head"),
	PARAM_DERIVED("rotary", 2, MAX_HEAD_DIM, "element",
		      "elements of a head that turn, an even number up to head_dim; default all"),
	PARAM_CHOICE("interleaved", 0, param_flag, "pairs are (2i, 2i+1) instead of (i, i + rotary/2)"),
	PARAM_FLOATS,
	PARAM_ROW_TILE,
	PARAM_BUFFERING,
};
static const struct npu_param swiglu_params[] = {
	PARAM_ROWS,     PARAM_COLS,
	PARAM_FLOATS,   PARAM_CHOICE("act", 0, activations, "activation of the gate: SwiGLU or GeGLU"),
	PARAM_ROW_TILE, PARAM_BUFFERING,
};
static const struct npu_param softcap_params[] = {
	PARAM_ROWS,     PARAM_COLS,      PARAM_FLOATS, PARAM_INT("cap", 30, 1, 1024, "", "largest magnitude of Y"),
	PARAM_ROW_TILE, PARAM_BUFFERING,
};
static const struct npu_param plain_params[] = { PARAM_ROWS, PARAM_COLS, PARAM_FLOATS, PARAM_ROW_TILE,
						 PARAM_BUFFERING };

/* ---- what each of them is ---- */

/* With one input X, to be completed. */
static struct rowwise rowwise_of(const struct npu_kernel *k, const struct npu_args *args, uint64_t cols)
{
	struct rowwise r = { .rows = (uint64_t)npu_arg(k, args, "rows", 0), .cols = cols, .ninputs = 1 };
	r.tile = tile_within((uint64_t)npu_arg(k, args, "tile_rows", 1), r.rows);
	r.buffers = (unsigned)npu_arg(k, args, "buffering", 0) + 1;
	r.type = dtype_of(npu_arg(k, args, "dtype", 0));
	r.input[0] = (struct row_tensor){ "X", cols, r.type };
	return r;
}

static struct rowwise elements_of(const struct npu_kernel *k, const struct npu_args *args)
{
	return rowwise_of(k, args, (uint64_t)npu_arg(k, args, "cols", 0));
}

static struct rowwise norm_of(const struct npu_kernel *k, const struct npu_args *args, enum npu_op op)
{
	struct rowwise r = elements_of(k, args);
	bool bias = npu_arg(k, args, "bias", 0);
	r.constant[r.nconstants++] = (struct row_tensor){ "w", r.cols, r.type };
	if (bias)
		r.constant[r.nconstants++] = (struct row_tensor){ "b", r.cols, r.type };
	r.op.op = op;
	r.op.norm = (struct npu_norm){ .cols = (uint32_t)r.cols, .has_bias = bias };
	r.op.norm.unit_offset = (uint32_t)npu_arg(k, args, "unit_offset", 0);
	r.op.norm.dst_type = r.op.norm.a_type = r.op.norm.weight_type = r.type;
	r.op.norm.eps = npu_arg(k, args, "eps", 0) ? 1e-6f : 1e-5f;
	return r;
}

static struct rowwise rmsnorm_of(const struct npu_args *args)
{
	return norm_of(&npu_rmsnorm, args, NPU_OP_VRMSNORM);
}

static struct rowwise layernorm_of(const struct npu_args *args)
{
	return norm_of(&npu_layernorm, args, NPU_OP_VLAYERNORM);
}

static struct rowwise rope_of(const struct npu_args *args)
{
	const struct npu_kernel *k = &npu_rope;
	uint32_t heads = (uint32_t)npu_arg(k, args, "heads", 1), dim = (uint32_t)npu_arg(k, args, "head_dim", 2);
	uint32_t rotary = (uint32_t)npu_arg(k, args, "rotary", 2);
	struct rowwise r = rowwise_of(k, args, (uint64_t)heads * dim);
	r.input[r.ninputs++] = (struct row_tensor){ "cos", rotary / 2, NPU_FP32 };
	r.input[r.ninputs++] = (struct row_tensor){ "sin", rotary / 2, NPU_FP32 };
	r.op.op = NPU_OP_VROPE;
	r.op.rope = (struct npu_rope){ .heads = heads, .dim = dim, .rotary = rotary, .table_type = NPU_FP32 };
	r.op.rope.interleaved = (uint32_t)npu_arg(k, args, "interleaved", 0);
	r.op.rope.dst_type = r.op.rope.a_type = r.type;
	return r;
}

static struct rowwise pair_of(const struct npu_kernel *k, const struct npu_args *args, enum npu_op op, uint32_t act)
{
	struct rowwise r = elements_of(k, args);
	r.input[r.ninputs++] = (struct row_tensor){ op == NPU_OP_VMUL ? "up" : "R", r.cols, r.type };
	r.op.op = op;
	r.op.ew = (struct npu_ew){ .cols = (uint32_t)r.cols, .act = act };
	r.op.ew.dst_type = r.op.ew.a_type = r.op.ew.b_type = r.type;
	return r;
}

static struct rowwise swiglu_of(const struct npu_args *args)
{
	bool gelu = npu_arg(&npu_swiglu, args, "act", 0);
	struct rowwise r = pair_of(&npu_swiglu, args, NPU_OP_VMUL, gelu ? NPU_ACT_GELU : NPU_ACT_SILU);
	r.input[0].name = "gate";
	return r;
}

static struct rowwise residual_add_of(const struct npu_args *args)
{
	return pair_of(&npu_residual_add, args, NPU_OP_VADD, NPU_ACT_NONE);
}

static struct rowwise gelu_of(const struct npu_args *args)
{
	struct rowwise r = elements_of(&npu_gelu, args);
	r.op.op = NPU_OP_VGELU;
	r.op.un = (struct npu_un){ .scale = 1, .cols = (uint32_t)r.cols, .dst_type = r.type, .a_type = r.type };
	return r;
}

static struct rowwise softcap_of(const struct npu_args *args)
{
	struct rowwise r = elements_of(&npu_softcap, args);
	r.cap = (double)npu_arg(&npu_softcap, args, "cap", 1);
	r.op.op = NPU_OP_VTANH;
	r.op.un = (struct npu_un){ .cols = (uint32_t)r.cols, .dst_type = r.type, .a_type = r.type };
	r.op.un.scale = (float)(1 / r.cap);
	return r;
}

/* ---- the program ---- */

/* Addresses of a tile. */
struct row_places {
	uint32_t input[ROW_INPUTS], constant[ROW_CONSTANTS], y;
};

static struct npu_insn instruction(const struct rowwise *r, const struct row_places *p, uint32_t rows)
{
	struct npu_insn insn = r->op;
	enum npu_format_index format = npu_op_format(insn.op);
	if (format == NPU_FORMAT_norm) {
		insn.norm.dst = p->y;
		insn.norm.a = p->input[0];
		insn.norm.weight = p->constant[0];
		insn.norm.bias = p->constant[1];
		insn.norm.rows = rows;
	} else if (format == NPU_FORMAT_rope) {
		insn.rope.dst = p->y;
		insn.rope.a = p->input[0];
		insn.rope.cosine = p->input[1];
		insn.rope.sine = p->input[2];
		insn.rope.rows = rows;
	} else if (format == NPU_FORMAT_ew) {
		insn.ew.dst = p->y;
		insn.ew.a = p->input[0];
		insn.ew.b = p->input[1];
		insn.ew.rows = rows;
	} else {
		insn.un.dst = p->y;
		insn.un.a = p->input[0];
		insn.un.rows = rows;
	}
	return insn;
}

uint64_t rowwise_input_bytes(const struct rowwise *r)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < r->ninputs; i++)
		sum += npu_dtype_bytes(r->input[i].type, r->input[i].cols);
	return sum;
}

uint64_t rowwise_constant_bytes(const struct rowwise *r)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < r->nconstants; i++)
		sum += npu_dtype_bytes(r->constant[i].type, r->constant[i].cols);
	return sum;
}

struct rows_program {
	struct npu_builder *b;
	const struct rowwise *r;
	struct ring x, y; /* x: the first input, and the semaphores of all */
	uint32_t more[ROW_INPUTS][RING_SLOTS];
	uint32_t constant[ROW_CONSTANTS];
};

static bool place(struct rows_program *p)
{
	const struct rowwise *r = p->r;
	uint64_t tiles = tiles_of(r->rows, r->tile);
	unsigned n = load_slots(r->buffers, tiles), results = result_slots(r->buffers, tiles), used = 0;
	/* What is read together lies apart, where there are groups beyond those of x, y and their second buffers. */
	enum { OTHER_GROUP = 4 };
	struct npu_request requests[NPU_MAX_REQUESTS];
	for (unsigned i = 0; i < r->nconstants; i++)
		requests[used++] = (struct npu_request){
			r->constant[i].name, false,     npu_dtype_bytes(r->constant[i].type, r->constant[i].cols), 1, 3,
			&p->constant[i],     .least = 1
		};
	for (unsigned i = 0; i < r->ninputs; i++)
		requests[used++] = (struct npu_request){ r->input[i].name,
							 false,
							 r->tile * npu_dtype_bytes(r->input[i].type, r->input[i].cols),
							 n,
							 i ? OTHER_GROUP : 0,
							 i ? p->more[i] : p->x.at,
							 .least = 1,
							 .got = i ? NULL : &p->x.n,
							 .pair = i > 0 };
	requests[used++] = (struct npu_request){
		"y", false, r->tile * npu_dtype_bytes(r->type, r->cols), results, 2, p->y.at, .least = 1, .got = &p->y.n
	};
	return !tiles || npu_place(p->b, requests, used);
}

static bool fits(struct npu_builder *b, const struct rowwise *r)
{
	struct rows_program p = { .b = b, .r = r };
	return place(&p);
}

static void move(struct npu_builder *b, enum npu_op op, uint32_t local, uint64_t dram, uint64_t rows,
		 const struct row_tensor *t, struct npu_semaphore wait, struct npu_semaphore post)
{
	struct npu_dma dma = { .local = local, .dram = dram, .rows = (uint32_t)rows, .cols = (uint32_t)t->cols };
	dma.dtype = t->type;
	npu_emit(b, &(struct npu_insn){ .op = (uint8_t)op, .dma = dma },
		 &(struct npu_order){ .wait = { wait }, .post = { post } });
}

/* Tensors in DRAM. */
struct row_tensors {
	struct npu_dram input[ROW_INPUTS], constant[ROW_CONSTANTS], y;
};

static void emit_tile(const struct rows_program *p, const struct row_tensors *t, uint64_t i, uint64_t tile)
{
	const struct rowwise *r = p->r;
	const struct row_tensor out = { "Y", r->cols, r->type };
	struct slot x = ring_at(&p->x, tile), y = ring_at(&p->y, tile);
	uint64_t rows = least(r->tile, r->rows - i);
	struct row_places at = { .input = { x.at }, .y = y.at };
	for (unsigned n = 0; n < r->ninputs; n++) {
		const struct row_tensor *in = &r->input[n];
		if (n)
			at.input[n] = p->more[n][tile % p->x.n];
		move(p->b, NPU_OP_LOAD, at.input[n], t->input[n].addr + i * npu_dtype_bytes(in->type, in->cols), rows,
		     in, n == 0 ? x.free : NPU_NO_SEMAPHORE, n + 1 == r->ninputs ? x.full : NPU_NO_SEMAPHORE);
	}
	for (unsigned n = 0; n < r->nconstants; n++)
		at.constant[n] = p->constant[n];
	struct npu_insn insn = instruction(r, &at, (uint32_t)rows);
	struct npu_order order = { .wait = { x.full, y.free }, .post = { x.free, y.full } };
	if (r->cap > 0) {
		order.post[1] = NPU_NO_SEMAPHORE;
		npu_emit(p->b, &insn, &order);
		insn.op = NPU_OP_VCOPY;
		insn.un.a = y.at;
		insn.un.scale = (float)r->cap;
		order = (struct npu_order){ .post = { y.full } };
	}
	npu_emit(p->b, &insn, &order);
	move(p->b, NPU_OP_STORE, y.at, t->y.addr + i * npu_dtype_bytes(r->type, r->cols), rows, &out, y.full, y.free);
}

static bool emit_rows(struct npu_builder *b, const struct rowwise *r)
{
	struct rows_program p = { .b = b, .r = r };
	struct row_tensors t;
	for (unsigned i = 0; i < r->ninputs; i++)
		t.input[i] = npu_tensor(b, r->input[i].name, r->input[i].type, NPU_TENSOR_IN, 2,
					(uint64_t[]){ r->rows, r->input[i].cols });
	for (unsigned i = 0; i < r->nconstants; i++)
		t.constant[i] = npu_tensor(b, r->constant[i].name, r->constant[i].type, NPU_TENSOR_IN, 1,
					   (uint64_t[]){ r->constant[i].cols });
	t.y = npu_tensor(b, "Y", r->type, NPU_TENSOR_OUT, 2, (uint64_t[]){ r->rows, r->cols });
	if (!r->rows)
		return !npu_builder_failed(b);
	if (!place(&p))
		return false;
	ring_init(b, &p.x, "x");
	ring_init(b, &p.y, "y");
	for (unsigned i = 0; i < r->nconstants; i++)
		move(b, NPU_OP_LOAD, p.constant[i], t.constant[i].addr, 1, &r->constant[i], NPU_NO_SEMAPHORE,
		     NPU_NO_SEMAPHORE);
	for (uint64_t i = 0, tile = 0; i < r->rows && !npu_builder_failed(b); i += r->tile, tile++)
		emit_tile(&p, &t, i, tile);
	return !npu_builder_failed(b);
}

/* Everything passes once. */
static struct npu_expect expect_rows(const struct rowwise *r)
{
	if (!r->rows)
		return (struct npu_expect){ 0 };
	return (struct npu_expect){
		.dram_read_bytes = r->rows * rowwise_input_bytes(r) + rowwise_constant_bytes(r),
		.dram_write_bytes = r->rows * npu_dtype_bytes(r->type, r->cols),
		.instructions = tiles_of(r->rows, r->tile) * (r->ninputs + 2 + (r->cap > 0)) + r->nconstants,
	};
}

static struct tile_cost cost_rows(const struct rowwise *r)
{
	struct npu_expect e = expect_rows(r);
	return (struct tile_cost){ .dram = e.dram_read_bytes + e.dram_write_bytes };
}

/* Rows that a tile may have when nobody names it. */
static uint64_t most_rows(const struct rowwise *r)
{
	uint64_t row = npu_dtype_bytes(r->type, r->cols), rows = 1;
	while (2 * rows * row <= MOST_TILE_BYTES && rows < TILE_LARGEST)
		rows *= 2;
	return least(r->rows, rows);
}

/* ---- the kernels ---- */

static bool resolve_rotary(struct npu_args *args, struct npu_error *err)
{
	int rotary = npu_param_index(&npu_rope, "rotary");
	int64_t dim = npu_arg(&npu_rope, args, "head_dim", 2), *value = &args->value[rotary];
	if (!args->named[rotary])
		*value = dim - dim % 2;
	if (*value % 2 == 0 && *value <= dim)
		return true;
	return npu_fail(err, NPU_ERR_VALUE, "rotary=%u: must be even and at most head_dim=%u", (unsigned)*value,
			(unsigned)dim);
}

static bool resolve_rows(const struct npu_kernel *kernel, struct rowwise (*of)(const struct npu_args *),
			 const struct npu_capacity *capacity, struct npu_args *args, tile_trial *trial,
			 tile_costing *cost, struct npu_error *err)
{
	if (!npu_args_check(kernel, args, err) || (kernel == &npu_rope && !resolve_rotary(args, err)))
		return false;
	struct rowwise r = of(args);
	if (r.cols > MAX_LENGTH)
		return npu_fail(err, NPU_ERR_VALUE, "heads=%u: heads x head_dim must be at most %u",
				(unsigned)npu_arg(kernel, args, "heads", 0), (unsigned)MAX_LENGTH);
	const struct tile_dim dims[] = { { "tile_rows", most_rows(&r), 0 } };
	return tiles_resolve(kernel, capacity, args, dims, 1, trial, cost, err);
}

/* The members of a kernel, each a call of what all share. */
#define ROWWISE(NAME, list, text)                                                                                      \
	static bool NAME##_fits(struct npu_builder *b, const struct npu_args *args)                                    \
	{                                                                                                              \
		struct rowwise r = NAME##_of(args);                                                                    \
		return fits(b, &r);                                                                                    \
	}                                                                                                              \
	static struct tile_cost NAME##_cost(const struct npu_capacity *c, const struct npu_args *args)                 \
	{                                                                                                              \
		struct rowwise r = NAME##_of(args);                                                                    \
		(void)c;                                                                                               \
		return cost_rows(&r);                                                                                  \
	}                                                                                                              \
	static bool NAME##_resolve(const struct npu_capacity *c, struct npu_args *args, struct npu_error *err)         \
	{                                                                                                              \
		return resolve_rows(&npu_##NAME, NAME##_of, c, args, NAME##_fits, NAME##_cost, err);                   \
	}                                                                                                              \
	static bool NAME##_emit(struct npu_builder *b, const struct npu_args *args)                                    \
	{                                                                                                              \
		struct rowwise r = NAME##_of(args);                                                                    \
		return emit_rows(b, &r);                                                                               \
	}                                                                                                              \
	static struct npu_expect NAME##_expect(const struct npu_args *args)                                            \
	{                                                                                                              \
		struct rowwise r = NAME##_of(args);                                                                    \
		return expect_rows(&r);                                                                                \
	}                                                                                                              \
	static bool NAME##_reference(const struct npu_args *args, struct npu_reference_io *io)                         \
	{                                                                                                              \
		struct rowwise r = NAME##_of(args);                                                                    \
		return rowwise_reference(&r, io);                                                                      \
	}                                                                                                              \
	static bool NAME##_bound(const struct npu_args *args, const struct npu_reference_io *io, double exp_error,     \
				 const char *tensor, double *bound)                                                    \
	{                                                                                                              \
		struct rowwise r = NAME##_of(args);                                                                    \
		(void)tensor;                                                                                          \
		return rowwise_bound(&r, io, exp_error, bound);                                                        \
	}                                                                                                              \
	const struct npu_kernel npu_##NAME = {                                                                         \
		.name = #NAME,                                                                                         \
		.summary = text,                                                                                       \
		PARAMS_OF(list),                                                                                       \
		.resolve = NAME##_resolve,                                                                             \
		.emit = NAME##_emit,                                                                                   \
		.expect = NAME##_expect,                                                                               \
		.reference = NAME##_reference,                                                                         \
		.bound = NAME##_bound,                                                                                 \
	}

ROWWISE(rmsnorm, rmsnorm_params, "Y = X / rms(X) w, row by row");
ROWWISE(layernorm, layernorm_params, "Y = (X - mean(X)) / deviation(X) w + b, row by row");
ROWWISE(rope, rope_params, "rotary position embedding of all heads of each row");
ROWWISE(swiglu, swiglu_params, "Y = silu(gate) up");
ROWWISE(gelu, plain_params, "Y = GELU(X), tanh form");
ROWWISE(softcap, softcap_params, "Y = cap tanh(X / cap)");
ROWWISE(residual_add, plain_params, "Y = X + R");
