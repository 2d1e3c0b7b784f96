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

/* A case of kernel `k`; false when its parameters do not go together or fit no preset. */
static inline bool random_case(const struct npu_kernel *k, uint64_t longest, struct case_rng *rng)
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
