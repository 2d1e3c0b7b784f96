/* SPDX-License-Identifier: Apache-2.0 */
/* See the header. */
#include "kernels/linear.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/bound.h"
#include "kernels/params.h"
#include "kernels/pingpong.h"

const char *const param_weights[] = { "fp16", "bf16", "int8", "int4", NULL };
const char *const param_groups[] = { "none", "channel", "32", "64", "128", NULL };

enum { NONE, CHANNEL, GROUP32 }; /* choices of group; 32 << (choice - GROUP32) from there on */
enum { INT8_CHOICE = 2, INT4_CHOICE = 3 };

/* Columns that the reference takes at a time. */
enum { BLOCK = 64 };

static enum npu_dtype weights_type(int64_t choice)
{
	return choice == INT4_CHOICE ? NPU_INT4 : dtype_of(choice);
}

struct linear linear_of(const struct npu_kernel *kernel, const struct npu_args *args)
{
	int64_t group = npu_arg(kernel, args, "group", NONE);
	struct linear w = { .act = dtype_of(npu_arg(kernel, args, "dtype", 0)),
			    .type = weights_type(npu_arg(kernel, args, "weights", 0)) };
	w.group = group >= GROUP32 ? 32u << (group - GROUP32) : 0;
	w.channel = group == CHANNEL;
	w.bias = npu_arg(kernel, args, "bias", 0) != 0;
	w.convert = w.type == NPU_INT8 && w.act != NPU_INT8;
	w.product = w.convert ? w.act : w.type;
	w.out = w.act != NPU_INT8 ? w.act : linear_scaled(&w) ? NPU_FP16 : NPU_INT32;
	return w;
}

/* ---- parameters ---- */

static int64_t default_group(enum npu_dtype act, enum npu_dtype type)
{
	if (type == NPU_INT4)
		return GROUP32 + 2;
	return type == NPU_INT8 && act != NPU_INT8 ? CHANNEL : NONE;
}

static bool resolve_types(struct npu_args *args, int dtype, int weights, int group, struct npu_error *err)
{
	int64_t *v = args->value;
	if (!args->named[weights])
		v[weights] = v[dtype];
	if (v[weights] != v[dtype] && v[weights] < INT8_CHOICE)
		return npu_fail(err, NPU_ERR_VALUE, "weights=%s: with dtype=%s must be %s%s", param_weights[v[weights]],
				param_operands[v[dtype]], v[dtype] == INT8_CHOICE ? "" : param_operands[v[dtype]],
				v[dtype] == INT8_CHOICE ? "int8 or int4" : ", int8 or int4");
	if (!args->named[group])
		v[group] = default_group(dtype_of(v[dtype]), weights_type(v[weights]));
	if (v[group] != NONE && v[weights] < INT8_CHOICE)
		return npu_fail(err, NPU_ERR_VALUE, "group=%s: has no effect with weights=%s, only with int8 or int4",
				param_groups[v[group]], param_weights[v[weights]]);
	return true;
}

/* A tile of k holds whole groups, or all of k. */
static bool whole_groups(const struct linear *w, const struct npu_args *args, int tile, uint64_t k,
			 struct npu_error *err)
{
	uint64_t size = (uint64_t)args->value[tile];
	if (!w->group || !args->named[tile] || size % w->group == 0 || size >= k)
		return true;
	return npu_fail(err, NPU_ERR_VALUE,
			"tile_k=%" PRIu64 ": must be a multiple of group=%" PRIu64 ", or at least k=%" PRIu64, size,
			w->group, k);
}

/* So is a row of int4 that of whole bytes. */
static bool whole_bytes(const struct linear *w, const char *name, uint64_t length, struct npu_error *err)
{
	if (w->type != NPU_INT4 || length % 2 == 0)
		return true;
	return npu_fail(err, NPU_ERR_VALUE, "%s=%" PRIu64 ": must be even with weights=int4, two to a byte", name,
			length);
}

static bool result_takes_bias(const struct linear *w, struct npu_error *err)
{
	if (w->bias && linear_raw(w))
		return npu_fail(err, NPU_ERR_VALUE, "bias=1: needs a result with scales; group=channel would be right");
	return true;
}

bool linear_resolve(const struct npu_kernel *kernel, struct npu_args *args, struct npu_error *err)
{
	if (!linear_resolve_any_k(kernel, args, err))
		return false;
	if (linear_of(kernel, args).bias && !npu_arg(kernel, args, "k", 0))
		return npu_fail(err, NPU_ERR_VALUE, "bias=1: with k=0 there are no sums to add it to");
	return true;
}

bool linear_resolve_any_k(const struct npu_kernel *kernel, struct npu_args *args, struct npu_error *err)
{
	int n = npu_param_index(kernel, "n"), tile_n = npu_param_index(kernel, "tile_n");
	if (!resolve_types(args, npu_param_index(kernel, "dtype"), npu_param_index(kernel, "weights"),
			   npu_param_index(kernel, "group"), err))
		return false;
	struct linear w = linear_of(kernel, args);
	/* A tile of all columns ends where they do. */
	bool cuts = args->named[tile_n] && args->value[tile_n] < args->value[n];
	return result_takes_bias(&w, err) &&
	       whole_bytes(&w, "n", (uint64_t)args->value[n], err) &&
	       (!cuts || whole_bytes(&w, "tile_n", (uint64_t)args->value[tile_n], err)) &&
	       whole_groups(&w, args, npu_param_index(kernel, "tile_k"), (uint64_t)npu_arg(kernel, args, "k", 0), err);
}

uint64_t linear_tile_k(const struct linear *w, uint64_t tile, uint64_t k)
{
	return tile_within(w->group ? tiles_of(tile, w->group) * w->group : tile, k);
}

uint64_t linear_tile_n(const struct linear *w, uint64_t tile, uint64_t n)
{
	return tile_within(w->type == NPU_INT4 ? tile + tile % 2 : tile, n);
}

/* ---- instructions ---- */

uint64_t linear_conversions(const struct linear *w, uint64_t k)
{
	return !w->convert ? 0 : w->group ? linear_groups(w, k) : 1;
}

/* Without scales a conversion is exact, and the scale of a channel comes later. */
static void convert_plain(struct npu_builder *b, const struct linear *w, const struct linear_tile *t,
			  const struct npu_order *order)
{
	struct npu_un copy = { .dst = t->converted, .a = t->at, .scale = 1, .rows = t->k, .cols = t->n };
	copy.dst_type = w->product;
	copy.a_type = w->type;
	npu_emit(b, &(struct npu_insn){ .op = NPU_OP_VCOPY, .un = copy }, order);
}

/* The rows of a group share a row of scales, one a column. */
static void convert_group(struct npu_builder *b, const struct linear *w, const struct linear_tile *t, uint64_t group,
			  const struct npu_order *order)
{
	uint64_t from = group * w->group;
	struct npu_quant dequant = {
		.dst = t->converted + (uint32_t)npu_dtype_bytes(w->product, from * t->n),
		.a = t->at + (uint32_t)linear_bytes(w, from * t->n),
		.scales = t->scales + (uint32_t)(group * t->n * 2),
		.rows = (uint32_t)least(w->group, t->k - from),
		.cols = t->n,
		.scale = NPU_SCALE_COL,
		.dst_type = w->product,
		.a_type = w->type,
		.scale_type = NPU_FP16,
	};
	npu_emit(b, &(struct npu_insn){ .op = NPU_OP_VDEQUANT, .quant = dequant }, order);
}

void linear_convert(struct npu_builder *b, const struct linear *w, const struct linear_tile *t,
		    const struct npu_order *order)
{
	uint64_t groups = linear_groups(w, t->k);
	if (!groups)
		convert_plain(b, w, t, order);
	for (uint64_t g = 0; g < groups; g++) {
		struct npu_order part = { 0 };
		for (int i = 0; i < NPU_SYNC_SLOTS; i++) {
			part.wait[i] = g == 0 ? order->wait[i] : NPU_NO_SEMAPHORE;
			part.post[i] = g + 1 == groups ? order->post[i] : NPU_NO_SEMAPHORE;
		}
		convert_group(b, w, t, g, &part);
	}
}

void linear_finish(struct npu_builder *b, const struct linear *w, uint32_t result, uint32_t sums,
		   const struct linear_vectors *v, uint32_t rows, uint32_t cols, const struct npu_order *order)
{
	enum npu_dtype type = w->act == NPU_INT8 && !w->group ? NPU_INT32 : NPU_FP32;
	bool both = w->channel && w->bias;
	struct npu_un copy = { .dst = result, .a = sums, .scale = 1, .rows = rows, .cols = cols };
	struct npu_ew scale = { .dst = both ? sums : result, .a = sums, .b = v->scales, .rows = rows, .cols = cols };
	struct npu_ew add = { .dst = result, .a = sums, .b = v->bias, .rows = rows, .cols = cols };
	struct npu_order first = *order, last = *order;
	copy.dst_type = add.dst_type = add.b_type = w->out;
	scale.dst_type = both ? NPU_FP32 : w->out;
	copy.a_type = scale.a_type = type;
	add.a_type = both ? NPU_FP32 : type;
	scale.b_type = NPU_FP16;
	scale.b_bcast = add.b_bcast = NPU_BCAST_ROW;
	for (int i = 0; i < NPU_SYNC_SLOTS && both; i++)
		first.post[i] = last.wait[i] = NPU_NO_SEMAPHORE;
	if (w->channel)
		npu_emit(b, &(struct npu_insn){ .op = NPU_OP_VMUL, .ew = scale }, &first);
	if (w->bias)
		npu_emit(b, &(struct npu_insn){ .op = NPU_OP_VADD, .ew = add }, &last);
	if (!w->channel && !w->bias)
		npu_emit(b, &(struct npu_insn){ .op = NPU_OP_VCOPY, .un = copy }, order);
}

/* ---- reference and bound ---- */

/* The scale of weight (l, j). */
static double scale_of(const struct linear *w, const struct linear_columns *c, uint64_t l, uint64_t j)
{
	return w->group ? c->scales[l / w->group * c->scale_stride + j] : w->channel ? c->scales[j] : 1;
}

/* Columns [at, at + n) of a view, times their scales, [k, n]. */
static void scaled_columns(const struct linear *w, const struct linear_columns *c, uint64_t k, uint64_t at, uint64_t n,
			   double *out)
{
	for (uint64_t l = 0; l < k; l++)
		for (uint64_t j = 0; j < n; j++)
			out[l * n + j] = c->at[l * c->stride + at + j] * scale_of(w, c, l, at + j);
}

bool linear_reference(const struct linear *w, uint64_t m, uint64_t n, uint64_t k, const double *a, linear_view *view,
		      const void *context, double *c)
{
	double *block = malloc((k + m + 1) * BLOCK * sizeof *block), *result = block ? block + k * BLOCK : NULL;
	struct linear_columns columns = { 0 };
	for (uint64_t j = 0, cols; block && j < n; j += cols) {
		if (j == columns.first + columns.n)
			columns = view(context, j);
		cols = least(BLOCK, columns.first + columns.n - j);
		scaled_columns(w, &columns, k, j - columns.first, cols, block);
		npu_reference_matmul(m, cols, k, a, block, false, result);
		for (uint64_t i = 0; i < m; i++)
			memcpy(c + i * n + j, result + i * cols, cols * sizeof *c);
	}
	free(block);
	return block != NULL;
}

void linear_add_bias(uint64_t m, uint64_t n, const double *bias, double *c)
{
	for (uint64_t i = 0; i < m; i++)
		for (uint64_t j = 0; j < n; j++)
			c[i * n + j] += bias[j];
}

/* The addition rounds once, what may be off by the bound so far. */
void linear_bias_bound(uint64_t m, uint64_t n, const double *c, double *bound)
{
	for (uint64_t i = 0; i < m * n; i++)
		if (isfinite(c[i]))
			bound[i] += U * (fabs(c[i]) + bound[i]);
}

/* What is known of a column. */
struct column {
	double plain, scaled; /* norms without and with scales */
	double scale;         /* largest magnitude, at least 1 */
	bool wild;            /* a scale is not finite, or a converted weight may not be */
};

static struct column column_of(const struct linear *w, const struct linear_columns *c, uint64_t k, uint64_t j)
{
	struct column x = { .scale = 1 };
	double most = w->product == NPU_FP16 ? 65504 : FLT_MAX, plain = 0, scaled = 0;
	for (uint64_t l = 0; l < k; l++) {
		double q = c->at[l * c->stride + j], s = scale_of(w, c, l, j);
		plain += q * q;
		scaled += q * s * q * s;
		x.scale = fmax(x.scale, fabs(s));
		x.wild |= !isfinite(s) || (w->convert && w->group && !(fabs(q * s) < most));
	}
	x.plain = sqrt(plain);
	x.scaled = sqrt(scaled);
	return x;
}

/* Roundings that a product goes through on its way into the result. */
static double roundings(const struct linear *w, uint64_t k)
{
	double groups = (double)linear_groups(w, k);
	if (w->act == NPU_INT8) /* sums of int32 are exact */
		return w->group ? groups + 1 : 2;
	if (w->group && !w->convert)
		return (double)least(w->group, k) + 1 + groups;
	return (double)k + w->channel;
}

static double element_bound(const struct linear *w, const struct column *x, double row, uint64_t k)
{
	double n = (double)k, sum = row * x->scaled;
	bool rounded = w->convert && w->group; /* weights, to the type of the product */
	if (linear_raw(w))
		return 0;
	if (x->wild || (rounded && !isfinite(row)) || (w->act == NPU_INT8 && !w->group && n * 0x1p14 >= 0x1p31))
		return INFINITY;
	if (!isfinite(sum))
		return 0;
	if (row * x->plain >= FLT_MAX || sum >= FLT_MAX)
		return INFINITY;
	double weight = rounded ? (1 + U) * (1 + unit_roundoff(w->product)) - 1 : 0;
	double lost = rounded ? 1.1 * subnormal_lost(w->product) * sqrt(n) * row : 0;
	double error = gamma_of(roundings(w, k)) * (1 + weight) + weight;
	return (sum > 0 ? error * sum : 0) + lost + (2 * n + 1) * x->scale * PRODUCT_LOST;
}

bool linear_bound(const struct linear *w, uint64_t m, uint64_t n, uint64_t k, const double *a, linear_view *view,
		  const void *context, double *bound)
{
	double *rows = malloc((m + 1) * sizeof *rows);
	struct linear_columns columns = { 0 };
	for (uint64_t i = 0; rows && i < m; i++)
		rows[i] = norm(a + i * k, k, 1);
	for (uint64_t j = 0; rows && j < n; j++) {
		if (j == columns.first + columns.n)
			columns = view(context, j);
		struct column x = column_of(w, &columns, k, j - columns.first);
		for (uint64_t i = 0; i < m; i++)
			bound[i * n + j] = element_bound(w, &x, rows[i], k);
	}
	free(rows);
	return rows != NULL;
}
