/* SPDX-License-Identifier: Apache-2.0 */
/* One new token of each sequence attends to a paged cache; its key and value go into the last page. See paged.c. */
#include "kernels/kernels.h"
#include "kernels/paged.h"
#include "kernels/params.h"

static const struct npu_param params[] = {
	PAGED_PARAM_BATCH,   PAGED_PARAM_SEQ(4096), PAGED_PARAM_SEQ_MIN,
	PAGED_PARAM_HEADS,   PAGED_PARAM_KV_HEADS,  PARAM_HEAD_DIM,
	PAGED_PARAM_PAGE,    PAGED_PARAM_KV,        PAGED_PARAM_GROUP,
	PAGED_PARAM_DEQUANT, PAGED_PARAM_LAYOUT,    PAGED_PARAM_GATHER,
	PAGED_PARAM_SPLITS,  PAGED_PARAM_SEED,      PARAM_SOFTCAP,
	PAGED_PARAM_AT_ONCE, PARAM_TILE_KV,         PARAM_BUFFERING_BY_CHANNELS(""),
};

static bool resolve(const struct npu_capacity *c, struct npu_args *args, struct npu_error *err)
{
	return paged_resolve(&npu_decode_attention_paged, c, args, err);
}

static bool emit(struct npu_builder *b, const struct npu_args *args)
{
	return paged_emit(&npu_decode_attention_paged, b, args);
}

static struct npu_expect expect(const struct npu_args *args)
{
	return paged_expect(&npu_decode_attention_paged, args);
}

static bool reference(const struct npu_args *args, struct npu_reference_io *io)
{
	return paged_reference(&npu_decode_attention_paged, args, io);
}

static bool bound(const struct npu_args *args, const struct npu_reference_io *io, double exp_error, const char *tensor,
		  double *out)
{
	return paged_bound(&npu_decode_attention_paged, args, io, exp_error, tensor, out);
}

static double magnitude(const struct npu_args *args, const char *tensor)
{
	return paged_magnitude(&npu_decode_attention_paged, args, tensor);
}

const struct npu_kernel npu_decode_attention_paged = {
	.name = "decode_attention_paged",
	.summary = "a new token of each sequence attends to a paged KV cache",
	PARAMS_OF(params),
	.resolve = resolve,
	.emit = emit,
	.expect = expect,
	.reference = reference,
	.bound = bound,
	.magnitude = magnitude,
};
