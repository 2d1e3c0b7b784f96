/* SPDX-License-Identifier: Apache-2.0 */
/* References that a source gives for its outputs: evaluated in double, node by node, each with the worst that roundings
 * of a correct program may do to it (docs/values.md). */
#include "kernels/reference.h"
#include "sim/values_parts.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "isa/number.h"

/* Unit roundoff of fp32; what underflow of a product and of exp may lose. */
static const double U = 0x1p-24, PRODUCT_LOST = 0x1p-149, EXP_LOST = 0x1p-124;

/* Values and how far each may be off. */
struct grid {
	uint64_t n;
	double *value;
	double *error;       /* INFINITY: anything may come out */
	bool exact;          /* every error is 0 */
	bool whole;          /* integers, whose sums do not round */
	enum npu_dtype type; /* of a tensor */
	bool computed;       /* not a tensor: rounded before the array takes it */
};

struct evaluation {
	const struct values *v;
	double exp_error;
	enum npu_dtype operand; /* what the array takes: the coarsest type of the program's floats */
	uint64_t narrowest;     /* columns of the narrowest vsoftmax_online; 0: there is none */
	uint64_t online;        /* how many there are */
	struct npu_error *err;
};

static double gamma_of(double n)
{
	return n * U < 1 ? n * U / (1 - n * U) : INFINITY;
}

static double unit_roundoff(enum npu_dtype t)
{
	return t == NPU_FP16 ? 0x1p-11 : t == NPU_BF16 ? 0x1p-8 : U;
}

/* Half the distance of subnormals. */
static double subnormal_lost(enum npu_dtype t)
{
	return t == NPU_FP16 ? 0x1p-25 : t == NPU_BF16 ? 0x1p-134 : 0x1p-150;
}

static void free_grid(struct grid *g)
{
	free(g->value);
	free(g->error);
	g->value = g->error = NULL;
}

static uint64_t elements_of(const struct npu_reference_node *r)
{
	uint64_t n = 1;
	for (uint32_t i = 0; i < r->rank; i++)
		n *= r->shape[i];
	return n;
}

static bool new_grid(struct evaluation *e, const struct npu_reference_node *r, struct grid *out)
{
	*out = (struct grid){ .n = elements_of(r), .computed = true };
	out->value = malloc((out->n ? out->n : 1) * sizeof *out->value);
	out->error = calloc(out->n ? out->n : 1, sizeof *out->error);
	if (out->value && out->error)
		return true;
	free_grid(out);
	return npu_fail(e->err, NPU_ERR_MEMORY, "out of memory for a reference");
}

static bool evaluate(struct evaluation *, const struct npu_reference_node *, struct grid *);

/* ---- leaves ---- */

static bool number(struct evaluation *e, const struct npu_reference_node *r, struct grid *out)
{
	if (!new_grid(e, r, out))
		return false;
	out->value[0] = r->number;
	out->error[0] = fabs(r->number - (double)(float)r->number);
	out->exact = out->error[0] == 0;
	return true;
}

static bool tensor(struct evaluation *e, const struct npu_reference_node *r, struct grid *out)
{
	const struct npu_reference_tensor *t = &e->v->tensors[r->tensor];
	if (!t->at)
		return npu_fail(e->err, NPU_ERR_VALUE, "the reference uses %s, which the program fills",
				e->v->request.program->tensors[r->tensor].name);
	if (!new_grid(e, r, out))
		return false;
	memcpy(out->value, t->at, out->n * sizeof *out->value);
	out->type = e->v->request.program->tensors[r->tensor].dtype;
	out->whole = !npu_dtype_is_float(out->type);
	out->exact = true;
	out->computed = false;
	return true;
}

/* ---- shapes ---- */

static uint64_t turned(const struct npu_reference_node *r, uint64_t i)
{
	uint64_t rows = r->shape[r->rank - 2], cols = r->shape[r->rank - 1], matrix = rows * cols;
	return i / matrix * matrix + i % cols * rows + i % matrix / cols;
}

static uint64_t repeated(const struct npu_reference_node *r, uint64_t i)
{
	uint64_t matrix = r->shape[r->rank - 2] * r->shape[r->rank - 1];
	return i / matrix / r->count * matrix + i % matrix;
}

/* Elements of the operand in other places: element i of the result is element from(i) of it. */
static bool rearrange(struct evaluation *e, const struct npu_reference_node *r, struct grid *out,
		      uint64_t (*from)(const struct npu_reference_node *, uint64_t))
{
	struct grid a;
	if (!evaluate(e, r->a, &a))
		return false;
	bool ok = new_grid(e, r, out);
	for (uint64_t i = 0; ok && i < out->n; i++) {
		out->value[i] = a.value[from(r, i)];
		out->error[i] = a.error[from(r, i)];
	}
	out->exact = a.exact;
	out->whole = a.whole;
	out->type = a.type;
	out->computed = a.computed;
	free_grid(&a);
	return ok;
}

static bool turn(struct evaluation *e, const struct npu_reference_node *r, struct grid *out)
{
	return rearrange(e, r, out, turned);
}

static bool repeat(struct evaluation *e, const struct npu_reference_node *r, struct grid *out)
{
	return rearrange(e, r, out, repeated);
}

static bool hide(struct evaluation *e, const struct npu_reference_node *r, struct grid *out)
{
	int64_t rows = (int64_t)r->shape[r->rank - 2], cols = (int64_t)r->shape[r->rank - 1];
	int64_t count = (int64_t)r->count;
	if (!evaluate(e, r->a, out))
		return false;
	for (uint64_t i = 0; i < out->n; i++) {
		int64_t key = (int64_t)i % cols, position = cols - rows + (int64_t)i / cols % rows;
		bool hidden = r->kind == NPU_REFERENCE_PADDED ? key >= count
							      : key > position || (count && key <= position - count);
		if (!hidden)
			continue;
		out->value[i] = -INFINITY;
		out->error[i] = 0;
	}
	out->computed = true;
	out->whole = false;
	return true;
}

/* ---- element by element ---- */

/* Where element i of the result lies in an operand, whose missing or single dimensions are repeated. */
static uint64_t broadcast(const struct npu_reference_node *r, const struct npu_reference_node *a, uint64_t i)
{
	uint64_t at = 0, stride = 1;
	for (uint32_t d = r->rank, k = a->rank; k > 0; d--, k--) {
		uint64_t position = i % r->shape[d - 1];
		i /= r->shape[d - 1];
		at += a->shape[k - 1] == 1 ? 0 : position * stride;
		stride *= a->shape[k - 1];
	}
	return at;
}

/* Two roundings: x / c may be computed as x times 1 / c. */
static double rounded_error(double value, double error)
{
	if (!isfinite(value))
		return error == 0 ? 0 : INFINITY;
	double size = fabs(value) + error;
	return size < FLT_MAX ? error + 2.001 * U * size + PRODUCT_LOST : INFINITY;
}

static void combine(enum npu_reference_kind kind, double a, double ea, double b, double eb, double *value,
		    double *error)
{
	double raw = ea + eb;
	if (kind == NPU_REFERENCE_ADD) {
		*value = a + b;
	} else if (kind == NPU_REFERENCE_SUBTRACT) {
		*value = a - b;
	} else if (kind == NPU_REFERENCE_MULTIPLY) {
		*value = a * b;
		raw = (ea > 0 ? ea * fabs(b) : 0) + (eb > 0 ? eb * fabs(a) : 0) + ea * eb;
	} else { /* NPU_REFERENCE_DIVIDE */
		*value = a / b;
		raw = ea == 0 && eb == 0 ? 0 : fabs(b) > eb ? (ea + fabs(*value) * eb) / (fabs(b) - eb) : INFINITY;
	}
	*error = rounded_error(*value, raw);
}

static bool elementwise(struct evaluation *e, const struct npu_reference_node *r, struct grid *out)
{
	struct grid a, b;
	if (!evaluate(e, r->a, &a))
		return false;
	if (!evaluate(e, r->b, &b)) {
		free_grid(&a);
		return false;
	}
	bool ok = new_grid(e, r, out);
	for (uint64_t i = 0; ok && i < out->n; i++) {
		uint64_t x = broadcast(r, r->a, i), y = broadcast(r, r->b, i);
		combine(r->kind, a.value[x], a.error[x], b.value[y], b.error[y], &out->value[i], &out->error[i]);
	}
	free_grid(&a);
	free_grid(&b);
	return ok;
}

static bool negate(struct evaluation *e, const struct npu_reference_node *r, struct grid *out)
{
	if (!evaluate(e, r->a, out))
		return false;
	for (uint64_t i = 0; i < out->n; i++)
		out->value[i] = -out->value[i];
	return true;
}

static bool exponential(struct evaluation *e, const struct npu_reference_node *r, struct grid *out)
{
	if (!evaluate(e, r->a, out))
		return false;
	for (uint64_t i = 0; i < out->n; i++) {
		double value = exp(out->value[i]), factor = expm1(out->error[i] + log1p(e->exp_error));
		bool known = isfinite(value) && value < FLT_MAX && isfinite(factor);
		out->error[i] = known                                    ? value * factor + EXP_LOST
				: out->error[i] == 0 && !isfinite(value) ? 0
									 : INFINITY;
		out->value[i] = value;
	}
	out->exact = false;
	out->computed = true;
	out->whole = false;
	return true;
}

/* ---- products ---- */

/* A computed operand is rounded to what the array takes. */
static void round_operand(const struct evaluation *e, struct grid *g)
{
	double u = unit_roundoff(e->operand), lost = 1.1 * subnormal_lost(e->operand);
	if (!g->computed)
		return;
	for (uint64_t i = 0; i < g->n; i++)
		g->error[i] +=
		    u * (fabs(g->value[i]) + g->error[i]) + (g->value[i] == 0 && g->error[i] == 0 ? 0 : lost);
	g->exact = false;
}

static double *sizes(const double *x, uint64_t n)
{
	double *out = malloc((n ? n : 1) * sizeof *out);
	for (uint64_t i = 0; out && i < n; i++)
		out[i] = fabs(x[i]);
	return out;
}

/* One m x k by k x n product with errors. |a| |b|, and what the errors of either do. */
static bool multiply(const struct evaluation *e, const struct grid *a, uint64_t a_at, const struct grid *b,
		     uint64_t b_at, uint64_t m, uint64_t n, uint64_t k, double *value, double *error)
{
	bool whole = a->whole && b->whole;
	npu_reference_matmul(m, n, k, a->value + a_at, b->value + b_at, false, value);
	if (whole)
		return true;
	double *x = sizes(a->value + a_at, m * k), *y = sizes(b->value + b_at, k * n);
	double *part = malloc((m * n + 1) * sizeof *part);
	bool ok = x && y && part;
	/* additions of products, the rescaling of online softmax, and a division at the end */
	double roundings = gamma_of((double)k + 2 * (double)(e->narrowest ? k / e->narrowest + 1 : 0) + 3);
	if (ok) {
		npu_reference_matmul(m, n, k, x, y, false, part);
		for (uint64_t i = 0; i < m * n; i++)
			error[i] = part[i] < FLT_MAX ? roundings * part[i] + (double)k * PRODUCT_LOST : INFINITY;
		for (uint64_t i = 0; i < m * n; i++)
			if (!isfinite(value[i]))
				error[i] = a->exact && b->exact ? 0 : INFINITY;
	}
	if (ok && !b->exact) {
		npu_reference_matmul(m, n, k, x, b->error + b_at, false, part);
		for (uint64_t i = 0; i < m * n; i++)
			error[i] += (1 + roundings) * part[i];
	}
	if (ok && !a->exact) {
		for (uint64_t i = 0; i < k * n; i++)
			y[i] += b->error[b_at + i];
		npu_reference_matmul(m, n, k, a->error + a_at, y, false, part);
		for (uint64_t i = 0; i < m * n; i++)
			error[i] += (1 + roundings) * part[i];
	}
	for (uint64_t i = 0; ok && i < m * n; i++)
		if (isnan(error[i]))
			error[i] = INFINITY;
	free(x);
	free(y);
	free(part);
	return ok;
}

static bool product(struct evaluation *e, const struct npu_reference_node *r, struct grid *out)
{
	struct grid a, b;
	if (!evaluate(e, r->a, &a))
		return false;
	if (!evaluate(e, r->b, &b)) {
		free_grid(&a);
		return false;
	}
	uint64_t m = r->shape[r->rank - 2], n = r->shape[r->rank - 1], k = r->a->shape[r->a->rank - 1];
	uint64_t matrices = elements_of(r) / (m * n);
	uint64_t a_step = r->a->rank > 2 ? m * k : 0, b_step = r->b->rank > 2 ? k * n : 0;
	round_operand(e, &a);
	round_operand(e, &b);
	bool ok = new_grid(e, r, out);
	for (uint64_t i = 0; ok && i < matrices; i++)
		ok = multiply(e, &a, i * a_step, &b, i * b_step, m, n, k, out->value + i * m * n,
			      out->error + i * m * n) ||
		     npu_fail(e->err, NPU_ERR_MEMORY, "out of memory for a reference");
	if (ok) {
		out->whole = a.whole && b.whole;
		out->exact = out->whole;
	}
	free_grid(&a);
	free_grid(&b);
	return ok;
}

/* ---- softmax ---- */

/* Relative error of exp(s - max) / sum(exp(s - max)) when s is off by at most `exponent`. */
static double quotient_error(const struct evaluation *e, double exponent, uint64_t n)
{
	uint64_t tiles = e->narrowest ? n / e->narrowest + 1 : 1;
	if (e->narrowest && tiles > e->online)
		tiles = e->online;
	double weight = expm1(exponent + (double)tiles * log1p(e->exp_error));
	double sum = gamma_of((double)n + 2 * (double)tiles); /* the terms in any order */
	if (!(weight < 1) || !(sum < 1))
		return INFINITY;
	return (1 + weight) / (1 - weight) * (1 + gamma_of(2 + (double)tiles)) / (1 - sum) - 1;
}

static void softmax_row(const struct evaluation *e, uint64_t n, double *s, double *error)
{
	double max = -INFINITY, most = 0, exponent = 0, sum = 0;
	bool wild = false;
	for (uint64_t i = 0; i < n; i++) {
		if (s[i] == -INFINITY && error[i] == 0)
			continue;
		wild |= !isfinite(s[i]) || !isfinite(error[i]);
		max = fmax(max, s[i]);
		most = fmax(most, fabs(s[i]));
		exponent = fmax(exponent, error[i]);
	}
	double relative = quotient_error(e, exponent + 4.001 * U * most, n);
	for (uint64_t i = 0; i < n; i++) {
		bool hidden = s[i] == -INFINITY && error[i] == 0;
		s[i] = hidden ? 0 : exp(s[i] - max);
		sum += s[i];
		error[i] = wild ? INFINITY : hidden ? 0 : EXP_LOST;
	}
	for (uint64_t i = 0; i < n && !wild; i++) {
		s[i] = sum > 0 ? s[i] / sum : 0;
		if (s[i] > 0)
			error[i] += relative * s[i];
	}
}

static bool softmax(struct evaluation *e, const struct npu_reference_node *r, struct grid *out)
{
	uint64_t n = r->shape[r->rank - 1];
	if (!evaluate(e, r->a, out))
		return false;
	for (uint64_t at = 0; at < out->n; at += n)
		softmax_row(e, n, out->value + at, out->error + at);
	out->exact = out->whole = false;
	out->computed = true;
	return true;
}

static bool evaluate(struct evaluation *e, const struct npu_reference_node *r, struct grid *out)
{
	switch (r->kind) {
	case NPU_REFERENCE_NUMBER:
		return number(e, r, out);
	case NPU_REFERENCE_TENSOR:
		return tensor(e, r, out);
	case NPU_REFERENCE_TURN:
		return turn(e, r, out);
	case NPU_REFERENCE_PRODUCT:
		return product(e, r, out);
	case NPU_REFERENCE_NEGATE:
		return negate(e, r, out);
	case NPU_REFERENCE_ADD:
	case NPU_REFERENCE_SUBTRACT:
	case NPU_REFERENCE_MULTIPLY:
	case NPU_REFERENCE_DIVIDE:
		return elementwise(e, r, out);
	case NPU_REFERENCE_EXP:
		return exponential(e, r, out);
	case NPU_REFERENCE_SOFTMAX:
		return softmax(e, r, out);
	case NPU_REFERENCE_CAUSAL:
	case NPU_REFERENCE_PADDED:
		return hide(e, r, out);
	case NPU_REFERENCE_REPEAT:
		return repeat(e, r, out);
	case NPU_REFERENCE_KINDS:
		break;
	}
	return npu_fail(e->err, NPU_ERR_INTERNAL, "a reference of no kind");
}

/* ---- the program around it ---- */

static enum npu_dtype coarsest(const struct npu_program *p)
{
	enum npu_dtype type = NPU_FP32;
	for (uint32_t i = 0; i < p->ntensors; i++)
		if (npu_dtype_is_float(p->tensors[i].dtype) && unit_roundoff(p->tensors[i].dtype) > unit_roundoff(type))
			type = p->tensors[i].dtype;
	return type;
}

static void look_for_online(struct evaluation *e, const struct npu_program *p)
{
	for (uint32_t i = 0; i < p->ninsns; i++) {
		if (p->insns[i].op != NPU_OP_VSOFTMAX_ONLINE)
			continue;
		uint64_t cols = p->insns[i].softmax.cols;
		e->narrowest = e->narrowest && e->narrowest < cols ? e->narrowest : cols;
		e->online++;
	}
}

static bool expected_from(const struct npu_tensor *t, const char *path, double *value, double *error, uint64_t n,
			  struct npu_error *err)
{
	uint64_t bytes = npu_tensor_bytes(t);
	if (t->layout != NPU_LAYOUT_ROW)
		return npu_fail(err, NPU_ERR_VALUE, "%s: the expected contents of %s would have to be row-major", path,
				t->name);
	uint8_t *data = malloc(bytes + 1);
	FILE *in = data ? fopen(path, "rb") : NULL;
	size_t got = in ? fread(data, 1, bytes + 1, in) : 0;
	bool ok = in && got == bytes;
	if (!data)
		npu_fail(err, NPU_ERR_MEMORY, "out of memory for tensor %s", t->name);
	else if (!in)
		npu_fail(err, NPU_ERR_IO, "%s: cannot be read: %s", path, strerror(errno));
	else if (!ok)
		npu_fail(err, NPU_ERR_VALUE, "%s: tensor %s is exactly %llu bytes", path, t->name,
			 (unsigned long long)bytes);
	if (in)
		fclose(in);
	uint64_t cols = t->shape[t->rank - 1], row = npu_dtype_bytes(t->dtype, cols);
	double u = npu_dtype_is_float(t->dtype) ? 2 * unit_roundoff(t->dtype) : 0;
	for (uint64_t i = 0; ok && i < n; i++) {
		value[i] = npu_number_get(t->dtype, data + i / cols * row, i % cols);
		error[i] = isfinite(value[i]) ? u * fabs(value[i]) : 0;
	}
	free(data);
	return ok;
}

bool values_has_reference(const struct values_request *r, uint32_t t)
{
	if (!r->macro || !r->macro->tensors)
		return false;
	const struct npu_macro_tensor *own = &r->macro->tensors[t];
	return own->reference || (own->file && r->program->tensors[t].dir == NPU_TENSOR_OUT);
}

uint64_t values_reference_memory(const struct npu_reference_node *r)
{
	return r ? 4 * sizeof(double) * elements_of(r) + values_reference_memory(r->a) + values_reference_memory(r->b)
		 : 0;
}

bool values_reference(const struct values *v, uint32_t t, double exp_error, double *value, double *error,
		      struct npu_error *err)
{
	const struct values_request *r = &v->request;
	const struct npu_tensor *tensor_of = &r->program->tensors[t];
	uint64_t n = values_elements(tensor_of);
	const struct npu_macro_tensor *said = &r->macro->tensors[t];
	if (!said->reference) {
		bool ok = expected_from(tensor_of, said->file, value, error, n, err);
		if (!ok)
			npu_error_place(err, said->source, said->line, said->column);
		return ok;
	}
	struct evaluation e = { .v = v, .exp_error = exp_error, .operand = coarsest(r->program), .err = err };
	struct grid grid;
	look_for_online(&e, r->program);
	if (!evaluate(&e, r->macro->tensors[t].reference, &grid))
		return false;
	memcpy(value, grid.value, n * sizeof *value);
	memcpy(error, grid.error, n * sizeof *error);
	free_grid(&grid);
	return true;
}
