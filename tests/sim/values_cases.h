/* SPDX-License-Identifier: Apache-2.0 */
/* Random legal kernels through the executor and against their references: for a fast suite and a slow one. */
#ifndef NPU_TESTS_SIM_VALUES_CASES_H
#define NPU_TESTS_SIM_VALUES_CASES_H

#include "sim/values.h"
#include "tests/support/kernel_cases.h"
#include "tests/support/suite.h"

#include <stdio.h>

/* Every output within its bounds, or the error of the first that is not. */
static inline void expect_right(const struct values *v, const char *text)
{
	struct npu_error err = { 0 };
	for (unsigned i = 0; i < v->noutputs; i++)
		ck_assert_msg(!values_mismatch(v, i, &err), "%s: %s", text, err.text);
}

/* Executed and compared; the caller frees it. */
static inline struct values *computed(const struct values_request *request, const char *text)
{
	struct npu_error err = { 0 };
	struct values *v = values_new(request, &err);
	ck_assert_msg(v != NULL, "%s: %s", text, err.text);
	ck_assert_msg(values_run(v, &err), "%s: %s", text, err.text);
	for (unsigned i = 0; i < v->noutputs && request->kernel; i++)
		ck_assert_msg(v->outputs[i].compared, "%s: %s has no bound", text, v->outputs[i].tensor->name);
	return v;
}

static const int64_t head_dims[] = { 64, 80, 96, 128, 256 };
enum { HEAD_DIMS = sizeof head_dims / sizeof *head_dims };

/* What cases have had. */
struct drawn {
	uint32_t choices[NPU_MAX_PARAMS]; /* a bit a choice: types, masks, bufferings */
	unsigned exps, dims, ratios;      /* a bit each: enum npu_exp, head_dims, query heads a key head */
	bool empty, one, ragged, tiled;   /* no key or row, one, a length that is no multiple of 16, a tile that a case names */
};

static inline void note_case(struct drawn *d, const struct npu_kernel *k, const struct npu_args *args, enum npu_exp exp)
{
	int64_t n = args->value[case_length(k)], kv_heads = npu_arg(k, args, "kv_heads", 0);
	for (unsigned i = 0; i < k->nparams; i++) {
		if (k->params[i].choices)
			d->choices[i] |= 1u << args->value[i];
		d->tiled = d->tiled || (args->named[i] && strncmp(k->params[i].name, "tile_", 5) == 0);
	}
	for (unsigned i = 0; i < HEAD_DIMS; i++)
		d->dims |= (npu_arg(k, args, "head_dim", 0) == head_dims[i]) << i;
	d->ratios |= kv_heads ? 1u << npu_arg(k, args, "heads", 0) / kv_heads : 0;
	d->exps |= 1u << exp;
	d->empty = d->empty || n == 0;
	d->one = d->one || n == 1;
	d->ragged = d->ragged || n % 16;
}

static inline void expect_all(const struct drawn *d, const struct npu_kernel *k)
{
	bool heads = npu_param_index(k, "heads") >= 0 && npu_param_index(k, "kv_heads") >= 0;
	for (unsigned i = 0; i < k->nparams; i++)
		for (unsigned n = 0; k->params[i].choices && k->params[i].choices[n]; n++)
			ck_assert_msg(d->choices[i] >> n & 1, "%s: no case with %s=%s", k->name, k->params[i].name,
				      k->params[i].choices[n]);
	ck_assert_uint_eq(d->exps, (1u << NPU_EXP_CHOICES) - 1);
	ck_assert_msg(npu_param_index(k, "head_dim") < 0 || d->dims == (1u << HEAD_DIMS) - 1, "%s: a head_dim is missing", k->name);
	ck_assert_msg(!heads || (d->ratios & 1u << 1 && d->ratios & 1u << 2 && d->ratios & 1u << 4), "%s: a ratio of heads is missing", k->name);
	ck_assert_msg(d->empty || k->params[case_length(k)].min > 0, "%s: no length of 0", k->name);
	ck_assert_msg(d->one && d->ragged && d->tiled, "%s: no length of 1, none ragged, or no tile", k->name);
}

/* A case of kernel `k`; false when its parameters do not go together or fit no preset. `drawn` may be NULL. */
static inline bool random_case(const struct npu_kernel *k, uint64_t longest, struct case_rng *rng, struct drawn *drawn)
{
	static const char *const presets[] = { "tiny-256k", "edge-1mb", "edge-2mb", "server" };
	struct npu_args args;
	struct npu_error err = { 0 };
	char text[400], values[300];
	random_args(k, &args, longest, rng);
	struct npu_program *p = npu_kernel_build(k, preset_capacity(presets[case_below(rng, 4)]), &args, &err);
	if (!p)
		return false;
	struct values_request request = { .program = p,
					  .kernel = k,
					  .args = &args,
					  .seed = case_below(rng, 1000),
					  .exp = (enum npu_exp)case_below(rng, NPU_EXP_CHOICES) };
	snprintf(text, sizeof text, "%s %s exp=%s seed=%d", k->name, npu_args_print(k, &args, values, sizeof values),
		 npu_exp_names[request.exp], (int)request.seed);
	struct values *v = computed(&request, text);
	expect_right(v, text);
	if (drawn)
		note_case(drawn, k, &args, request.exp);
	values_free(v);
	npu_program_free(p);
	return true;
}

static inline int kernels_with_reference(const struct npu_kernel **out)
{
	int n = 0;
	for (unsigned i = 0; npu_kernels[i]; i++)
		if (npu_kernels[i]->reference)
			out[n++] = npu_kernels[i];
	return n;
}

#endif
