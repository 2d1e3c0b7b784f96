/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters that several kernels share, as rows of their parameter lists. */
#ifndef NPU_KERNELS_PARAMS_H
#define NPU_KERNELS_PARAMS_H

#include "kernels/kernel.h"

/* Lengths that instruction fields hold. */
enum { MAX_LENGTH = (1 << 20) - 1, MAX_HEADS = 1024, MAX_HEAD_DIM = 1024 };

/* The choices of `dtype`, in the order of dtype_of(). */
extern const char *const param_floats[];    /* fp16|bf16 */
extern const char *const param_operands[];  /* fp16|bf16|int8 */
extern const char *const param_buffering[]; /* single|double|triple: 1 + choice buffers */
extern const char *const param_masks[];     /* none|causal|padding|window */
extern const char *const param_flag[];      /* 0|1 */
extern const char *const param_hidden[];    /* skip|compute */

/* The default of PARAM_BUFFERING_BY_CHANNELS. */
static inline int64_t buffering_of(const struct npu_capacity *c)
{
	return c->load_channels > 2 ? 2 : 1;
}

static inline enum npu_dtype dtype_of(int64_t choice)
{
	return choice == 0 ? NPU_FP16 : choice == 1 ? NPU_BF16 : NPU_INT8;
}

#define PARAM_INT(NAME, initial_, min_, max_, unit_, meaning_)                                                         \
	{                                                                                                              \
		.name = NAME, .type = NPU_PARAM_INT, .initial = initial_, .min = min_, .max = max_, .unit = unit_,     \
		.meaning = meaning_                                                                                    \
	}
#define PARAM_WITH(with_, NAME, min_, max_, unit_, meaning_)                                                           \
	{                                                                                                              \
		.name = NAME, .type = NPU_PARAM_INT, .min = min_, .max = max_, .derived = true, .unit = unit_,         \
		.meaning = meaning_, .with = with_                                                                     \
	}
#define PARAM_DERIVED(NAME, min_, max_, unit_, meaning_) PARAM_WITH(NULL, NAME, min_, max_, unit_, meaning_)
#define PARAM_CHOICE(NAME, initial_, choices_, meaning_)                                                               \
	{                                                                                                              \
		.name = NAME, .type = NPU_PARAM_CHOICE, .initial = initial_, .choices = choices_, .unit = "",          \
		.meaning = meaning_                                                                                    \
	}

#define PARAM_TILE(NAME, meaning) PARAM_DERIVED(NAME, 1, MAX_LENGTH, "element", meaning)
#define PARAM_BUFFERING                                                                                                \
	PARAM_CHOICE("buffering", 1, param_buffering,                                                                  \
		     "buffers for what is loaded: 1, 2 (ping-pong) or 3; results have no more than 2")
/* Likewise, where more channels load than two tiles keep busy. */
#define PARAM_BUFFERING_BY_CHANNELS(unless)                                                                            \
	{                                                                                                              \
		.name = "buffering", .type = NPU_PARAM_CHOICE, .choices = param_buffering, .derived = true,            \
		.unit = "",                                                                                            \
		.meaning = "buffers for what is loaded: 1, 2 (ping-pong) or 3; results have no more than 2; default "  \
			   "triple with more than two load channels" unless ", else double"                            \
	}
#define PARAM_OPERANDS PARAM_CHOICE("dtype", 0, param_operands, "element type of the operands")
#define PARAM_FLOATS   PARAM_CHOICE("dtype", 0, param_floats, "element type of the operands")

#define PARAM_SEQ PARAM_INT("seq", 1024, 0, MAX_LENGTH, "token", "key and value positions")
#define PARAM_SEQ_Q                                                                                                    \
	PARAM_DERIVED("seq_q", 0, MAX_LENGTH, "token",                                                                 \
		      "query positions, with mask=causal and window the last ones of seq; default seq")
#define PARAM_HEADS PARAM_INT("heads", 8, 1, MAX_HEADS, "head", "query heads")
#define PARAM_KV_HEADS                                                                                                 \
	PARAM_DERIVED("kv_heads", 1, MAX_HEADS, "head", "key and value heads, a divisor of heads; default heads")
#define PARAM_HEAD_DIM PARAM_INT("head_dim", 128, 1, MAX_HEAD_DIM, "element", "elements a head")
#define PARAM_SOFTCAP                                                                                                  \
	PARAM_INT("softcap", 0, 0, 1024, "",                                                                           \
		  "scaled scores become softcap x tanh(score / softcap), as Gemma 2 has them; 0: they stay")
#define PARAM_TILE_Q    PARAM_TILE("tile_q", "query rows a tile")
#define PARAM_TILE_KV   PARAM_TILE("tile_kv", "key and value rows a tile")
#define PARAM_TILE_ROWS PARAM_TILE("tile_rows", "whole rows of scores that softmax takes at a time")
#define PARAM_MASK                                                                                                     \
	PARAM_CHOICE(                                                                                                  \
	    "mask", 0, param_masks,                                                                                    \
	    "what a query may not see: nothing, later keys, keys from valid on, all but the last window keys")
#define PARAM_WINDOW                                                                                                   \
	PARAM_WITH("mask=window", "window", 1, MAX_LENGTH, "token",                                                    \
		   "keys seen with mask=window, the own one included; default 256")
#define PARAM_VALID                                                                                                    \
	PARAM_WITH("mask=padding", "valid", 0, MAX_LENGTH, "token",                                                    \
		   "keys that are no padding with mask=padding; default seq")

/* The choices of `hidden`. */
enum { SKIP_HIDDEN, COMPUTE_HIDDEN };
#define PARAM_HIDDEN(meaning) PARAM_CHOICE("hidden", SKIP_HIDDEN, param_hidden, meaning)

#define PARAM_FUSED PARAM_CHOICE("fused", 1, param_flag, "softmax as one instruction instead of seven")

#define PARAMS_OF(list) .params = list, .nparams = sizeof list / sizeof list[0]

#endif
