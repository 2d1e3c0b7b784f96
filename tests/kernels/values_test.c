/* SPDX-License-Identifier: Apache-2.0 */
/* Every kernel computes what its plain reference does, on random tensors with random small shapes: masks, grouped
 * heads, ragged tiles, one to three buffers, by two executors that share nothing. This finds wrong addresses, strides,
 * operands and masks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isa/exec.h"
#include "kernels/reference.h"
#include "tests/support/kernel_cases.h"
#include "tests/support/mini_exec.h"
#include "tests/support/suite.h"

enum { CASES = 60, LONGEST = 40, INT4_CACHE = 2, PAGES = 2 };
static const double COARSE = 0.08;

static uint64_t elements(const struct npu_tensor *t)
{
	uint64_t n = 1;
	for (uint32_t i = 0; i < t->rank; i++)
		n *= t->shape[i];
	return n;
}

/* Small multiples of 1/8 for floats, integers for int8: exact in every type. */
static double random_value(struct case_rng *rng, enum npu_dtype type)
{
	double x = (double)case_below(rng, 33) - 16;
	return type == NPU_INT8 ? x : type == NPU_INT4 ? (double)case_below(rng, 16) - 8 : x / 8;
}

/* fp16 and bf16 round P (at most 1) and the output; both are relative to values of at most a few units. */
static double tolerance(const struct npu_tensor *t)
{
	return t->dtype == NPU_BF16 ? 0.03 : t->dtype == NPU_FP16 ? 0.004 : t->dtype == NPU_FP32 ? 1e-4 : 0;
}

/* `bound`: what rounding to integers on the way may move an element; NULL: there is none. */
static void compare(const struct npu_tensor *t, const double *got, const double *expected, const double *bound,
		    const char *who, const char *text)
{
	double error = 0, size = 0;
	for (uint64_t i = 0; i < elements(t); i++) {
		double limit = tolerance(t) * fmax(1, fabs(expected[i])) + (bound ? bound[i] : 0);
		ck_assert_msg(fabs(got[i] - expected[i]) <= limit, "%s: %s[%llu] is %g by %s, expected %g", text,
			      t->name, (unsigned long long)i, got[i], who, expected[i]);
		error += (got[i] - expected[i]) * (got[i] - expected[i]);
		size += expected[i] * expected[i];
	}
	/* A worst case of many roundings is wide; a wrong page would make it as large as the result. */
	ck_assert_msg(error <= COARSE * COARSE * (size + 1e-3), "%s: %s by %s is off by %g, of %g", text, t->name, who, sqrt(error),
		      sqrt(size));
}

/* Values of all tensors: inputs random, outputs what an executor leaves or the reference says. */
struct values {
	struct npu_reference_tensor tensors[16];
	struct npu_reference_io io;
	double *before[16]; /* of inputs */
	double *bound[16];  /* of outputs */
};

static bool is_input(const struct npu_tensor *t)
{
	return t->dir == NPU_TENSOR_IN || t->dir == NPU_TENSOR_INOUT;
}

static bool is_output(const struct npu_tensor *t)
{
	return t->dir == NPU_TENSOR_OUT || t->dir == NPU_TENSOR_INOUT;
}

static void values_init(struct values *v, const struct npu_kernel *k, const struct npu_args *args,
			const struct npu_program *p, struct case_rng *rng)
{
	*v = (struct values){ 0 };
	v->io = (struct npu_reference_io){ p->ntensors, v->tensors };
	for (uint32_t i = 0; i < p->ntensors; i++) {
		const struct npu_tensor *t = &p->tensors[i];
		double *at = calloc(elements(t), sizeof *at);
		double magnitude = k->magnitude ? k->magnitude(args, t->name) : 1;
		v->before[i] = calloc(elements(t), sizeof *at);
		for (uint64_t e = 0; is_input(t) && e < elements(t); e++)
			at[e] = v->before[i][e] = magnitude * random_value(rng, t->dtype);
		v->tensors[i] = (struct npu_reference_tensor){ .name = t->name, .count = elements(t), .at = at };
	}
}

static void values_fini(struct values *v)
{
	for (unsigned i = 0; i < v->io.n; i++) {
		free(v->tensors[i].at);
		free(v->before[i]);
		free(v->bound[i]);
	}
}

static void bound_outputs(struct values *v, const struct npu_kernel *k, const struct npu_args *args,
			  const struct npu_program *p)
{
	for (uint32_t i = 0; i < p->ntensors; i++) {
		v->bound[i] = is_output(&p->tensors[i]) ? calloc(elements(&p->tensors[i]), sizeof *v->bound[i]) : NULL;
		ck_assert(!v->bound[i] || k->bound(args, &v->io, 0x1p-24, p->tensors[i].name, v->bound[i]));
	}
}

static void run_naive(const struct npu_program *p, const struct values *v, const char *text)
{
	struct mini m;
	ck_assert(mini_init(&m, p));
	for (uint32_t i = 0; i < p->ntensors; i++)
		for (uint64_t e = 0; is_input(&p->tensors[i]) && e < elements(&p->tensors[i]); e++)
			mini_set(&m, &p->tensors[i], e, v->before[i][e]);
	ck_assert_msg(mini_run(&m), "%s: %s", text, m.error);
	for (uint32_t i = 0; i < p->ntensors; i++) {
		const struct npu_tensor *t = &p->tensors[i];
		if (!is_output(t))
			continue;
		double *got = calloc(elements(t), sizeof *got);
		for (uint64_t e = 0; e < elements(t); e++)
			got[e] = mini_get(&m, t, e);
		compare(t, got, v->tensors[i].at, v->bound[i], "the naive executor", text);
		free(got);
	}
	mini_fini(&m);
}

static void run_exec(const struct npu_program *p, const struct values *v, const char *text)
{
	struct npu_error err = { 0 };
	struct npu_exec *x = npu_exec_new(p, NULL, &err);
	ck_assert_msg(x != NULL, "%s", err.text);
	for (uint32_t i = 0; i < p->ntensors; i++)
		if (is_input(&p->tensors[i]))
			ck_assert(npu_exec_tensor_write(x, &p->tensors[i], v->before[i], &err));
	ck_assert_msg(npu_exec_run(x, &err), "%s: %s", text, err.text);
	for (uint32_t i = 0; i < p->ntensors; i++) {
		const struct npu_tensor *t = &p->tensors[i];
		if (!is_output(t))
			continue;
		double *got = calloc(elements(t), sizeof *got);
		ck_assert(npu_exec_tensor_read(x, t, got, &err));
		compare(t, got, v->tensors[i].at, v->bound[i], "isa/exec", text);
		free(got);
	}
	npu_exec_free(x);
}

START_TEST(a_kernel_computes_its_reference)
{
	const struct npu_kernel *k = npu_kernels[_i];
	struct case_rng rng = { 11 };
	if (!k->reference)
		return;
	for (int i = 0; i < CASES; i++) {
		struct npu_args args;
		struct npu_error err = { 0 };
		char text[400], values[300];
		random_args(k, &args, LONGEST, &rng);
		random_heads(k, &args, &(struct case_rng){ rng.state });
		struct npu_capacity capacity = *preset_capacity(i % 2 ? "edge-1mb" : "tiny-256k");
		/* K turned by the array, or by the DMA, which moves whole bytes, and rows of one head. */
		capacity.no_transpose_b = i % 3 == 0 && npu_arg(k, &args, "kv", 0) != INT4_CACHE &&
					  npu_arg(k, &args, "gather", 0) != PAGES;
		struct npu_program *p = npu_kernel_build(k, &capacity, &args, &err);
		snprintf(text, sizeof text, "%s %s", k->name, npu_args_print(k, &args, values, sizeof values));
		ck_assert_msg(p != NULL, "%s: %s", text, err.text);
		struct values v;
		values_init(&v, k, &args, p, &rng);
		ck_assert_msg(k->reference(&args, &v.io), "%s: no reference", text);
		if (npu_arg(k, &args, "dequant", 0))
			bound_outputs(&v, k, &args, p);
		run_naive(p, &v, text);
		run_exec(p, &v, text);
		values_fini(&v);
		npu_program_free(p);
	}
}
END_TEST

/* What the pool holds for a token of the sequence, so that a wrong page, head, half or row shows: small integers. */
static double token_value(uint64_t token, uint64_t head, uint64_t half, uint64_t col)
{
	return (double)((token * 7 + head * 31 + half * 53 + col) % 101);
}

static void fill_pool(struct mini *m, const struct npu_table *table, const struct npu_tensor *pool)
{
	uint64_t heads = pool->shape[1], page = pool->shape[3], dim = pool->shape[4], i = 0;
	for (uint64_t n = 0; n < table->count; n++) {
		i = (uint64_t)table->entries[n] * heads * 2 * page * dim;
		for (uint64_t h = 0; h < heads; h++)
			for (uint64_t half = 0; half < 2; half++)
				for (uint64_t r = 0; r < page; r++)
					for (uint64_t c = 0; c < dim; c++)
						mini_set(m, pool, i++, token_value(n * page + r, h, half, c));
	}
}

/* Nothing is computed: each gather must leave in SRAM what the table says. They come as k, v of each tile, head by
 * head. */
START_TEST(a_paged_fetch_follows_its_table)
{
	const struct npu_kernel *k = npu_kernel_find("kv_fetch_paged");
	struct case_rng rng = { 13 };
	for (int i = 0; i < CASES; i++) {
		struct npu_args args;
		struct npu_error err = { 0 };
		struct mini m;
		random_args(k, &args, 100, &rng);
		random_heads(k, &args, &(struct case_rng){ rng.state });
		struct npu_program *p = npu_kernel_build(k, preset_capacity("edge-1mb"), &args, &err);
		ck_assert_msg(p != NULL, "%s", err.text);
		ck_assert(mini_init(&m, p));
		const struct npu_tensor *pool = mini_tensor(&m, "pool");
		fill_pool(&m, &p->tables[0], pool);

		uint64_t head = 0, token = 0, half = 0, seq = (uint64_t)npu_arg(k, &args, "seq", 0),
			 dim = pool->shape[4];
		for (uint32_t n = 0; n < p->ninsns; n++) {
			const struct npu_insn *insn = &p->insns[n];
			if (insn->op != NPU_OP_GATHER)
				continue;
			ck_assert_msg(mini_step(&m, n), "%s", m.error);
			for (uint64_t r = 0; r < insn->paged.rows; r++)
				for (uint64_t c = 0; c < dim; c++)
					ck_assert_double_eq(mini_local(&m, insn->paged.local, pool->dtype, r * dim + c),
							    token_value(token + r, head, half, c));
			token += half ? insn->paged.rows : 0;
			half = !half;
			head += token == seq;
			token %= seq;
		}
		ck_assert_uint_eq(head, pool->shape[1]);
		mini_fini(&m);
		npu_program_free(p);
	}
}
END_TEST

int main(void)
{
	int n = 0;
	while (npu_kernels[n])
		n++;
	Suite *s = suite_create("values of kernels");
	TCase *t = tcase_create("random shapes");
	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, a_kernel_computes_its_reference, 0, n);
	tcase_add_test(t, a_paged_fetch_follows_its_table);
	suite_add_tcase(s, t);
	return npu_suite_run(s);
}
