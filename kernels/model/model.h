/* SPDX-License-Identifier: Apache-2.0 */
/* A whole model as a list of kernels: which operators a step takes, with which kernel and parameters, how often; and
 * what its weights, caches and activations take in DRAM. It knows no cycle. */
#ifndef NPU_KERNELS_MODEL_H
#define NPU_KERNELS_MODEL_H

#include "isa/error.h"
#include "isa/limits.h"
#include "isa/transformer.h"

enum model_phase { MODEL_DECODE, MODEL_PREFILL };
enum model_type { MODEL_FP16, MODEL_INT8, MODEL_INT4 };
/* Elements of a token that share a scale in a quantised cache: a head, all heads, half a head. */
enum model_kv_group { MODEL_KV_HEAD, MODEL_KV_TOKEN, MODEL_KV_HALF };

/* What is asked of a model. */
struct model_ask {
	enum model_phase phase;
	uint32_t context; /* decode: positions that a new token sees, its own included; prefill: tokens of the prompt */
	uint32_t batch;   /* sequences, each of `context` */
	uint32_t context_min; /* decode: of the shortest of the batch, those between are drawn; 0: all have `context` */
	uint32_t chunk;       /* prefill: tokens of the prompt that are new, its last ones, the others are cached; 0: all are */
	enum model_type weights;
	uint32_t group; /* weights along k that share a scale; 0: all of a column do */
	enum model_type kv;
	enum model_kv_group kv_group;
	uint32_t page;    /* tokens a page of the KV cache */
	bool kv_apart;    /* K of all pages before V of all pages, else side by side in a page */
	/* asked for by name, not by default */
	bool page_named, layout_named, group_named, kv_group_named, context_min_named, chunk_named;
	bool kv_to_array; /* a quantised cache goes to the array as it is, else the vector engine makes fp16 of it */
};

/* New tokens of a sequence: one, or the prompt, or the last chunk of it. */
static inline uint32_t model_chunk(const struct model_ask *ask)
{
	return ask->phase == MODEL_DECODE ? 1 : ask->chunk ? ask->chunk : ask->context;
}
/* Tokens that a step takes, of all sequences. */
static inline uint64_t model_tokens(const struct model_ask *ask)
{
	return (uint64_t)ask->batch * model_chunk(ask);
}

/* `count` tensors of k x n; k of vectors is 1. */
struct model_tensor {
	const char *name;
	uint64_t k, n, count;
};
enum { MODEL_TENSORS = 32 };
/* The tensors of one layer, with or without experts; those outside all layers. Returns their number. */
unsigned model_layer_tensors(const struct transformer *, bool moe, struct model_tensor out[MODEL_TENSORS]);
unsigned model_outer_tensors(const struct transformer *, struct model_tensor out[MODEL_TENSORS]);
/* In DRAM: matrices in the type of the weights, scales (fp16) beside them; vectors in fp16. */
uint64_t model_tensor_bytes(const struct model_tensor *, const struct model_ask *);

/* Distinct elements of all tensors; those that one token meets (of the experts, experts_used). */
uint64_t model_parameters(const struct transformer *);
uint64_t model_active_parameters(const struct transformer *);
uint64_t model_weight_bytes(const struct transformer *, const struct model_ask *);
/* Elements of a quantised latent that share a scale. */
enum { MODEL_LATENT_GROUP = 64 };

/* What the cache of one layer keeps of one token: K and V with scales (fp16) of each as kv_group has them, or the latent, with a
 * scale for each MODEL_LATENT_GROUP elements where it is quantised. */
uint64_t model_kv_token_bytes(const struct transformer *, const struct model_ask *);
/* Tokens of a sequence whose keys and values a layer has in its cache at the end of a step: the context, or of a windowed layer
 * what the new tokens see. */
uint32_t model_kept(const struct transformer *, const struct model_ask *, bool windowed);
/* Whole pages of all layers and sequences with what they keep, of a latent whole rows. UINT64_MAX where that would be more. */
uint64_t model_kv_bytes(const struct transformer *, const struct model_ask *);
/* The most that is alive between two operators, in fp16. */
uint64_t model_activation_bytes(const struct transformer *, const struct model_ask *);

/* ---- operators ---- */

/* Layers of one kind have the same operators with the same parameters. */
struct model_section {
	char name[48];  /* "embedding", "layer", "layer (window 4096)", "head" */
	uint32_t count; /* layers; 1 outside of them */
	uint32_t first; /* the first layer of the kind; 0 outside of them */
	bool is_layer, windowed, moe;
};

enum { MODEL_ARGS = 16, MODEL_ARG = 32 };
struct model_op {
	char name[32]; /* "qkv_proj" */
	unsigned section;
	uint32_t repeat; /* times a section */
	const char *kernel;
	char args[MODEL_ARGS][MODEL_ARG]; /* "m=1" */
	unsigned nargs;
	const char *along;     /* a parameter in which cost is linear but for its ends; NULL: none */
	uint64_t weight_bytes; /* read by one of them */
};

enum { MODEL_SECTIONS = 8, MODEL_OPS = 256 };
struct model_plan {
	struct model_section sections[MODEL_SECTIONS]; /* in the order of a step; kinds of layers by their first one */
	unsigned nsections;
	struct model_op ops[MODEL_OPS]; /* in order, section by section */
	unsigned nops;
	uint8_t section_of[TRANSFORMER_LAYERS_MAX]; /* of each layer */
	char notes[8][256];                         /* what the figures leave out */
	unsigned nnotes;
};

/* The operators of a step, with kernels that suit the capacities. False with an error that names the field or parameter
 * that no kernel can do. */
bool model_plan(const struct transformer *, const struct model_ask *, const struct npu_capacity *, struct model_plan *,
		struct npu_error *);

#endif
