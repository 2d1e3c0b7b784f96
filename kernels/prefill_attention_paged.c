/* SPDX-License-Identifier: Apache-2.0 */
/* A chunk of new tokens of each sequence attends to a paged cache and, causally, to itself; its keys and values go into
 * the last pages. See paged.c. */
#include "kernels/kernels.h"
#include "kernels/paged.h"
#include "kernels/params.h"

static const struct npu_param params[] = {
	PAGED_PARAM_BATCH,
	PAGED_PARAM_SEQ(2048),
	PAGED_PARAM_SEQ_MIN,
	PAGED_PARAM_HEADS,
	PAGED_PARAM_KV_HEADS,
	PARAM_HEAD_DIM,
	PARAM_INT("chunk", 512, 1, MAX_LENGTH, "token", "new tokens of a sequence, its last ones"),
	PAGED_PARAM_WINDOW,
	PAGED_PARAM_PAGE,
	PAGED_PARAM_KV,
	PAGED_PARAM_GROUP,
	PAGED_PARAM_DEQUANT,
	PAGED_PARAM_LAYOUT,
	PAGED_PARAM_SPLITS,
	PAGED_PARAM_SEED,
	PARAM_SOFTCAP,
	PARAM_TILE_Q,
	PARAM_TILE_KV,
	PARAM_BUFFERING,
};

static bool resolve(const struct npu_capacity *c, struct npu_args *args, struct npu_error *err)
{
	return paged_resolve(&npu_prefill_attention_paged, c, args, err);
}

static bool emit(struct npu_builder *b, const struct npu_args *args)
{
	return paged_emit(&npu_prefill_attention_paged, b, args);
}

static struct npu_expect expect(const struct npu_args *args)
{
	return paged_expect(&npu_prefill_attention_paged, args);
}

static bool reference(const struct npu_args *args, struct npu_reference_io *io)
{
	return paged_reference(&npu_prefill_attention_paged, args, io);
}

static bool bound(const struct npu_args *args, const struct npu_reference_io *io, double exp_error, const char *tensor,
		  double *out)
{
	return paged_bound(&npu_prefill_attention_paged, args, io, exp_error, tensor, out);
}

static double magnitude(const struct npu_args *args, const char *tensor)
{
	return paged_magnitude(&npu_prefill_attention_paged, args, tensor);
}

const struct npu_kernel npu_prefill_attention_paged = {
	.name = "prefill_attention_paged",
	.summary = "a chunk of new tokens attends to a paged KV cache, causal in the chunk",
	PARAMS_OF(params),
	.resolve = resolve,
	.emit = emit,
	.expect = expect,
	.reference = reference,
	.bound = bound,
	.magnitude = magnitude,
};
