/* SPDX-License-Identifier: Apache-2.0 */
/* How far the output of a kernel may lie from its plain reference: the worst case over all roundings on the way, from
 * the values themselves. docs/values.md derives every formula here and uses the same letters. */
#include "kernels/attn.h"
#include "kernels/bound.h"
#include "kernels/kernels.h"
#include "kernels/params.h"
#include "kernels/pingpong.h"

#include <stdlib.h>
#include <string.h>

/* A relative error of x >= 0; of what is exactly 0 nothing is lost. */
static double share(double error, double x)
{
	return x > 0 ? error * x : 0;
}

/* ---- products ---- */

bool product_bound(const struct product *p, double *bound)
{
	if (!npu_dtype_is_float(p->type)) { /* int32 sums are exact */
		memset(bound, 0, p->m * p->n * sizeof *bound);
		return true;
	}
	double *columns = malloc(p->n * sizeof *columns);
	for (uint64_t j = 0; columns && j < p->n; j++)
		columns[j] = p->transpose_b ? norm(p->b + j * p->k, p->k, 1) : norm(p->b + j, p->k, p->n);
	for (uint64_t i = 0; columns && i < p->m; i++) {
		double row = norm(p->a + i * p->k, p->k, 1);
		for (uint64_t j = 0; j < p->n; j++)
			bound[i * p->n + j] = dot_bound(row, columns[j], (double)p->k);
	}
	free(columns);
	return columns != NULL;
}

/* A product for each head, whose b is that of its key head; `p` is the first one's. */
static bool heads_bound(const struct attn *a, struct product p, double *bound)
{
	const double *first_a = p.a, *first_b = p.b;
	bool ok = p.a && p.b;
	for (uint64_t h = 0; ok && h < a->heads; h++) {
		p.a = first_a + h * p.m * p.k;
		p.b = first_b + attn_kv_head(a, h) * a->seq * a->dim;
		ok = product_bound(&p, bound + h * p.m * p.n);
	}
	return ok;
}

static bool qk_bound(const struct npu_args *args, const struct npu_reference_io *io, double exp_error, double *bound)
{
	struct attn a = attn_of(&npu_qk_tiled, args);
	(void)exp_error;
	return heads_bound(&a,
			   (struct product){ .m = a.seq_q,
					     .n = a.seq,
					     .k = a.dim,
					     .a = npu_reference_read(io, "Q", a.heads * a.seq_q * a.dim),
					     .b = npu_reference_read(io, "K", a.kv_heads * a.seq * a.dim),
					     .transpose_b = true,
					     .type = a.type },
			   bound);
}

static bool pv_bound(const struct npu_args *args, const struct npu_reference_io *io, double exp_error, double *bound)
{
	struct attn a = attn_of(&npu_pv_tiled, args);
	(void)exp_error;
	return heads_bound(&a,
			   (struct product){ .m = a.seq_q,
					     .n = a.dim,
					     .k = a.seq,
					     .a = npu_reference_read(io, "P", a.heads * a.seq_q * a.seq),
					     .b = npu_reference_read(io, "V", a.kv_heads * a.seq * a.dim),
					     .type = a.type },
			   bound);
}

/* ---- softmax ---- */

/* Keys that a row sees, [first, end). */
struct visible {
	uint64_t first, end;
};

static struct visible visible_of(const struct npu_mask *m, uint64_t row)
{
	return (struct visible){ npu_mask_first(m, row), npu_mask_end(m, row) };
}

/* What happens to weights exp(s - max) and their sum: `exponent` is the absolute error of s - max, `exps` how many
 * approximate exps a weight is a product of, the rest roundings to fp32 on the way of a numerator and a denominator. */
struct weights {
	double exponent, exps, exp_error, numerator, denominator;
};

/* Relative error of sum(w x) / sum(w); INFINITY where nothing can be said. */
static double quotient_error(const struct weights *w)
{
	double weight = expm1(w->exponent + w->exps * log1p(w->exp_error)), sum = gamma_of(w->denominator);
	if (!(weight < 1) || !(sum < 1))
		return INFINITY;
	return (1 + weight) / (1 - weight) * (1 + gamma_of(w->numerator)) / (1 - sum) - 1;
}

/* Roundings in a sum of n elements by 16 lanes and a tree. */
static double lane_sum(uint64_t n)
{
	return (double)((n + 15) / 16 + 4);
}

/* Largest |s| among visible scores, -inf left out; NaN when one is NaN or +inf. */
static double largest_score(const double *s, uint64_t n, double scale)
{
	double most = 0;
	for (uint64_t c = 0; c < n; c++) {
		double x = scale * s[c];
		if (isnan(x) || x == INFINITY)
			return NAN;
		if (x != -INFINITY && fabs(x) > most)
			most = fabs(x);
	}
	return most;
}

static void softmax_row_bound(const struct attn *a, uint64_t row, const double *s, const double *p, double exp_error,
			      double *bound)
{
	struct visible see = visible_of(&a->mask, row);
	double most = largest_score(s + see.first, see.end - see.first, a->scale);
	/* The scale and the product are rounded, and the difference, which is at most twice the largest. */
	struct weights w = { 4.001 * U * most, 1, exp_error, 1, lane_sum(a->seq) };
	double error = quotient_error(&w);
	for (uint64_t c = 0; c < a->seq; c++) {
		bool hidden = c < see.first || c >= see.end;
		if (isnan(most)) /* separate instructions spread NaN over hidden positions too */
			bound[c] = hidden && !a->fused ? INFINITY : 0;
		else
			bound[c] = hidden ? 0 : share(error, p[c]) + EXP_LOST;
	}
}

static bool softmax_bound(const struct npu_args *args, const struct npu_reference_io *io, double exp_error,
			  double *bound)
{
	struct attn a = attn_of(&npu_mask_softmax, args);
	const double *S = npu_reference_read(io, "S", a.heads * a.seq_q * a.seq);
	const double *P = npu_reference_read(io, "P", a.heads * a.seq_q * a.seq);
	for (uint64_t h = 0, at = 0; S && P && h < a.heads; h++)
		for (uint64_t r = 0; r < a.seq_q; r++, at += a.seq)
			softmax_row_bound(&a, r, S + at, P + at, exp_error, bound + at);
	return S && P;
}

/* ---- attention ---- */

enum { ROWS = 16 }; /* of a head at a time: products of several rows are faster */

struct attention {
	struct attn a;
	bool online; /* softmax tile by tile */
	struct attn_noise noise;
	const double *q, *k, *v; /* the rows of a head; all rows of a kv head */
	double *key_norm;        /* [seq] of this kv head */
	double *size;            /* [seq, dim] |v|; 0 where v is not finite */
	bool *wild;              /* [dim] the column of v holds an infinity or a NaN */
	double *p;               /* [ROWS, keys] of the rows at hand */
	double *sum;             /* [ROWS, dim] p |v| */
	double *plain;           /* [dim] sum of |v| over the keys that any of these rows sees */
	double *coarse;          /* [dim] what weights lose as int8 */
};

/* What is known of a row of scores. */
struct row {
	struct visible see;
	double most;  /* largest |score|, -inf left out; NaN: one is NaN or +inf, and so is the whole row of O */
	double error; /* of a score */
};

/* What a score loses before it is summed: K as fp16; or q as int8, half a step of its row in each element, and the
 * roundings of what the integer sum is multiplied with. */
static double operand_error(const struct attention *x, uint64_t row, double query, double key)
{
	double n = sqrt((double)x->a.dim), most = 0;
	if (x->noise.converted)
		return query * (1.001 * unit_roundoff(NPU_FP16) * key + n * subnormal_lost(NPU_FP16));
	if (!x->noise.integers)
		return 0;
	for (uint64_t d = 0; d < x->a.dim; d++)
		most = fmax(most, fabs(x->q[row * x->a.dim + d]));
	return (1.001 * n * most / (2 * 127) + 8 * U * query) * key;
}

/* tanh has a slope of at most 1, and x tanh'(x) is below 1/2: what comes in grows no larger. With 1 - 2 / (1 + exp(2x))
 * an error of exp costs at most half of it, roundings 5 U. */
static double softcap_error(const struct attention *x)
{
	return x->a.softcap * (0.501 * x->noise.exp_error + 6 * U);
}

/* Scores p[0..n) of the keys from `from` on become probabilities, hidden ones 0. */
static struct row probabilities(const struct attention *x, uint64_t row, uint64_t from, uint64_t n, double *p)
{
	const struct attn *a = &x->a;
	struct row r = { .see = visible_of(&a->mask, row) };
	uint64_t first = r.see.first - from, end = r.see.end - from;
	double max = -INFINITY, total = 0, key = 0, query = norm(x->q + row * a->dim, a->dim, 1);
	for (uint64_t c = first; c < end; c++)
		if (isfinite(p[c]))
			key = fmax(key, x->key_norm[from + c]);
	attn_softcap(a, p, n);
	r.most = largest_score(p + first, end - first, a->scale);
	for (uint64_t c = first; c < end; c++)
		max = fmax(max, a->scale * p[c]);
	for (uint64_t c = 0; c < n; c++) {
		bool counts = c >= first && c < end && max != -INFINITY && !isnan(r.most);
		p[c] = counts ? exp(a->scale * p[c] - max) : 0;
		total += p[c];
	}
	for (uint64_t c = first; c < end && total > 0; c++)
		p[c] /= total;
	r.error = 1.001 * a->scale * (dot_bound(query, key, (double)a->dim) + operand_error(x, row, query, key)) +
		  2.001 * U * r.most + softcap_error(x);
	return r;
}

/* Roundings on the way of a row. Online softmax rescales once for each tile, and multiplies by 1 / sum. Merged splits
 * are weighed by an exp of their own and added. */
static struct weights attention_weights(const struct attention *x, const struct row *r)
{
	const struct attn *a = &x->a;
	double n = (double)(r->see.end - r->see.first);
	if (!x->online)
		return (struct weights){ r->error + 2.001 * U * r->most, 1, x->noise.exp_error, n + 1,
					 lane_sum(a->seq) };
	double tiles = (double)(tiles_of(r->see.end, a->tile_kv) - r->see.first / a->tile_kv);
	double merged = x->noise.splits > 1 ? 1 : 0,
	       more = merged * (x->noise.splits + 4) + (x->noise.integers ? 4 * tiles : 0);
	return (struct weights){ r->error + (4.001 + 2.001 * merged) * U * r->most, tiles + merged, x->noise.exp_error,
				 n + tiles + 2 + more, lane_sum(a->tile_kv) + 2 * tiles + more };
}

/* Where column d of v is not finite: a visible one makes the result so, to be met exactly. A hidden one is multiplied
 * by 0 in tiles that are seen in part, and left alone in others: anything may come out. */
static double wild_bound(const struct attention *x, struct visible see, uint64_t d)
{
	for (uint64_t c = see.first; c < see.end; c++)
		if (!isfinite(x->v[c * x->a.dim + d]))
			return 0;
	return INFINITY;
}

/* Of a tile and half of the columns: half a step of the row, times what it is multiplied with; p[0..n) are the weights
 * of the keys from `from` on. */
static void add_coarse(const struct attention *x, uint64_t part, uint64_t from, uint64_t n, const double *p)
{
	uint64_t cols = x->a.dim / x->noise.parts, first = part * cols;
	const double *scales = x->noise.v_scales + part * x->a.seq + from;
	double most = 0;
	for (uint64_t c = 0; c < n; c++)
		most = fmax(most, p[c] * fabs(scales[c]));
	for (uint64_t c = 0; c < n; c++)
		for (uint64_t d = first; d < first + cols && p[c] * scales[c] != 0; d++)
			x->coarse[d] += 1.001 * most / (2 * 127) * x->size[(from + c) * x->a.dim + d] / fabs(scales[c]);
}

/* What the weights p[0..n) of a row, of the keys from `from` on, lose as integers. */
static void coarse_bound(const struct attention *x, uint64_t from, uint64_t n, const double *p)
{
	uint64_t tile = x->a.tile_kv, keys;
	memset(x->coarse, 0, x->a.dim * sizeof *x->coarse);
	for (uint64_t c = 0; x->noise.integers && c < n; c += keys) {
		keys = least(tile - (from + c) % tile, n - c);
		for (uint64_t part = 0; part < x->noise.parts; part++)
			add_coarse(x, part, from + c, keys, p + c);
	}
}

static void attention_row_bound(const struct attention *x, const struct row *r, const double *sum, double *bound)
{
	struct weights w = attention_weights(x, r);
	double u = x->noise.integers ? 0 : unit_roundoff(x->a.type), n = (double)(r->see.end - r->see.first);
	double v = x->noise.converted ? unit_roundoff(NPU_FP16) : 0;
	double weight = quotient_error(&w), error = (1 + weight) * (1 + u) * (1 + v) - 1; /* P and V are rounded */
	double lost = 1.1 * (subnormal_lost(x->a.type) + (w.exps + 1) * EXP_LOST);
	for (uint64_t d = 0; d < x->a.dim; d++) {
		if (isnan(r->most))
			bound[d] = 0;
		else if (x->wild[d])
			bound[d] = wild_bound(x, r->see, d);
		else
			bound[d] = share(error, sum[d]) + lost * x->plain[d] + n * PRODUCT_LOST +
				   share(1 + weight, x->coarse[d]) + (v > 0 ? 1.1 * subnormal_lost(NPU_FP16) : 0);
	}
}

static void attention_rows_bound(const struct attention *x, uint64_t row, uint64_t rows, double *bound)
{
	const struct attn *a = &x->a;
	uint64_t from = npu_mask_first(&a->mask, row), n = npu_mask_end(&a->mask, row + rows - 1) - from;
	struct row known[ROWS];
	npu_reference_matmul(rows, n, a->dim, x->q + row * a->dim, x->k + from * a->dim, true, x->p);
	for (uint64_t r = 0; r < rows; r++)
		known[r] = probabilities(x, row + r, from, n, x->p + r * n);
	npu_reference_matmul(rows, a->dim, n, x->p, x->size + from * a->dim, false, x->sum);
	memset(x->plain, 0, a->dim * sizeof *x->plain);
	for (uint64_t c = from; c < from + n; c++)
		for (uint64_t d = 0; d < a->dim; d++)
			x->plain[d] += x->size[c * a->dim + d];
	for (uint64_t r = 0; r < rows; r++) {
		coarse_bound(x, from, n, x->p + r * n);
		attention_row_bound(x, &known[r], x->sum + r * a->dim, bound + (row + r) * a->dim);
	}
}

static void open_kv_head(struct attention *x)
{
	const struct attn *a = &x->a;
	memset(x->wild, 0, a->dim * sizeof *x->wild);
	for (uint64_t c = 0; c < a->seq; c++) {
		x->key_norm[c] = norm(x->k + c * a->dim, a->dim, 1);
		for (uint64_t d = 0; d < a->dim; d++) {
			double value = fabs(x->v[c * a->dim + d]);
			x->size[c * a->dim + d] = isfinite(value) ? value : 0;
			x->wild[d] |= !isfinite(value);
		}
	}
}

/* False when out of memory; the caller frees *scratch. */
static bool open_attention(struct attention *x, double **scratch)
{
	uint64_t seq = x->a.seq, dim = x->a.dim;
	*scratch = malloc((seq + seq * dim + ROWS * seq + ROWS * dim + 3 * dim) * sizeof **scratch);
	if (!*scratch)
		return false;
	x->key_norm = *scratch;
	x->size = x->key_norm + seq;
	x->p = x->size + seq * dim;
	x->sum = x->p + ROWS * seq;
	x->plain = x->sum + ROWS * dim;
	x->coarse = x->plain + dim;
	x->wild = (bool *)(x->coarse + dim);
	return true;
}

static bool all_heads_bound(struct attention *x, const double *Q, const double *K, const double *V, double *bound)
{
	const struct attn *a = &x->a;
	double *scratch = NULL;
	bool ok = open_attention(x, &scratch);
	for (uint64_t h = 0; ok && h < a->heads; h++) {
		uint64_t kv = attn_kv_head(a, h) * a->seq * a->dim, q = h * a->seq_q * a->dim;
		x->q = Q + q;
		x->k = K + kv;
		x->v = V + kv;
		open_kv_head(x);
		for (uint64_t r = 0; r < a->seq_q; r += ROWS)
			attention_rows_bound(x, r, least(ROWS, a->seq_q - r), bound + q);
	}
	free(scratch);
	return ok;
}

/* Beyond fp16, and of what is not finite, nothing is known of values that are converted. */
static bool all_below(const double *x, uint64_t n, double limit)
{
	for (uint64_t i = 0; i < n; i++)
		if (!(fabs(x[i]) <= limit))
			return false;
	return true;
}

bool attn_bound(const struct attn *a, const double *Q, const double *K, const double *V, const struct attn_noise *noise,
		double *bound)
{
	struct attention x = { .a = *a, .online = true, .noise = *noise };
	const double largest = 65504;
	uint64_t queries = a->heads * a->seq_q * a->dim, keys = a->kv_heads * a->seq * a->dim;
	if (noise->converted || noise->integers)
		if (!all_below(Q, queries, largest) || !all_below(K, keys, largest) || !all_below(V, keys, largest)) {
			for (uint64_t i = 0; i < queries; i++)
				bound[i] = INFINITY;
			return true;
		}
	return all_heads_bound(&x, Q, K, V, bound);
}

static bool attention_bound(struct attention *x, const struct npu_reference_io *io, double *bound)
{
	const struct attn *a = &x->a;
	const double *Q = npu_reference_read(io, "Q", a->heads * a->seq_q * a->dim);
	const double *K = npu_reference_read(io, "K", a->kv_heads * a->seq * a->dim);
	const double *V = npu_reference_read(io, "V", a->kv_heads * a->seq * a->dim);
	return Q && K && V && all_heads_bound(x, Q, K, V, bound);
}

static bool phases_bound(const struct npu_args *args, const struct npu_reference_io *io, double exp_error,
			 double *bound)
{
	struct attention x = { .a = attn_of(&npu_attention, args), .noise.exp_error = exp_error };
	return attention_bound(&x, io, bound);
}

static bool flash_bound(const struct npu_args *args, const struct npu_reference_io *io, double exp_error, double *bound)
{
	struct attention x = { .a = attn_of(&npu_flash_attention, args), .online = true, .noise.exp_error = exp_error };
	return attention_bound(&x, io, bound);
}

/* ---- all of them ---- */

static const struct {
	const struct npu_kernel *kernel;
	const char *tensor;
	bool (*fill)(const struct npu_args *, const struct npu_reference_io *, double exp_error, double *bound);
} bounds[] = {
	{ &npu_qk_tiled, "S", qk_bound },
	{ &npu_mask_softmax, "P", softmax_bound },
	{ &npu_pv_tiled, "O", pv_bound },
	{ &npu_attention, "O", phases_bound },
	{ &npu_flash_attention, "O", flash_bound },
};

bool npu_reference_bound(const struct npu_kernel *kernel, const struct npu_args *args,
			 const struct npu_reference_io *io, double exp_error, const char *tensor, double *bound)
{
	if (kernel->bound)
		return kernel->bound(args, io, exp_error, tensor, bound);
	for (unsigned i = 0; i < sizeof bounds / sizeof bounds[0]; i++)
		if (bounds[i].kernel == kernel && !strcmp(bounds[i].tensor, tensor))
			return bounds[i].fill(args, io, exp_error, bound);
	return false;
}
