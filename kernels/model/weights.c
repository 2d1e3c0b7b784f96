/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors of a model, and what they and its caches take. */
#include "kernels/model/model.h"
#include "kernels/paged.h"

#include <string.h>

struct list {
	struct model_tensor *out;
	unsigned n;
};

static void add(struct list *l, const char *name, uint64_t k, uint64_t n, uint64_t count)
{
	if (k && n && count)
		l->out[l->n++] = (struct model_tensor){ name, k, n, count };
}

/* A linear layer, with its bias where it has one. */
static void linear(struct list *l, const char *name, uint64_t k, uint64_t n, bool bias)
{
	add(l, name, k, n, 1);
	if (bias)
		add(l, "bias", 1, n, 1);
}

static void norm(struct list *l, const struct transformer *t, const char *name, uint64_t width)
{
	add(l, name, 1, width, t->layer_norm ? 2 : 1);
}

static void latent_attention(struct list *l, const struct transformer *t)
{
	uint64_t q = (uint64_t)t->heads * t->head_dim;
	if (t->q_rank) {
		linear(l, "q_a_proj", t->hidden, t->q_rank, t->qkv_bias);
		norm(l, t, "q_a_norm", t->q_rank);
		linear(l, "q_b_proj", t->q_rank, q, false);
	} else {
		linear(l, "q_proj", t->hidden, q, false);
	}
	linear(l, "kv_a_proj", t->hidden, t->kv_rank + t->rope_dim, t->qkv_bias);
	norm(l, t, "kv_a_norm", t->kv_rank);
	linear(l, "kv_b_proj", t->kv_rank, (uint64_t)t->heads * (t->nope_dim + t->v_dim), false);
	linear(l, "o_proj", (uint64_t)t->heads * t->v_dim, t->hidden, t->o_bias);
}

static void attention(struct list *l, const struct transformer *t)
{
	uint64_t q = (uint64_t)t->heads * t->head_dim, kv = (uint64_t)t->kv_heads * t->head_dim;
	linear(l, "qkv_proj", t->hidden, q + 2 * kv, t->qkv_bias);
	if (t->qk_norm) {
		norm(l, t, "q_norm", t->head_dim);
		norm(l, t, "k_norm", t->head_dim);
	}
	linear(l, "o_proj", q, t->hidden, t->o_bias);
}

static void mlp(struct list *l, const struct transformer *t, uint64_t intermediate, uint64_t count)
{
	uint64_t up = t->gated ? 2 * intermediate : intermediate;
	add(l, t->gated ? "gate_up_proj" : "up_proj", t->hidden, up, count);
	add(l, "down_proj", intermediate, t->hidden, count);
	if (t->mlp_bias)
		add(l, "bias", 1, up + t->hidden, count);
}

unsigned model_layer_tensors(const struct transformer *t, bool moe, struct model_tensor out[MODEL_TENSORS])
{
	struct list l = { out, 0 };
	norm(&l, t, "attention_norm", t->hidden);
	if (t->kv_rank)
		latent_attention(&l, t);
	else
		attention(&l, t);
	if (!t->parallel)
		norm(&l, t, "mlp_norm", t->hidden);
	if (t->post_norms) {
		norm(&l, t, "attention_post_norm", t->hidden);
		norm(&l, t, "mlp_post_norm", t->hidden);
	}
	if (!moe) {
		mlp(&l, t, t->intermediate, 1);
		return l.n;
	}
	add(&l, "router", t->hidden, t->experts, 1);
	if (t->router_bias)
		add(&l, "router_bias", 1, t->experts, 1);
	mlp(&l, t, t->expert_intermediate, t->experts);
	if (t->shared_intermediate)
		mlp(&l, t, t->shared_intermediate, 1);
	if (t->shared_gate)
		add(&l, "shared_gate", 1, t->hidden, 1);
	return l.n;
}

unsigned model_outer_tensors(const struct transformer *t, struct model_tensor out[MODEL_TENSORS])
{
	struct list l = { out, 0 };
	add(&l, "embedding", t->hidden, t->vocab, 1);
	norm(&l, t, "final_norm", t->hidden);
	if (!t->tied)
		add(&l, "lm_head", t->hidden, t->vocab, 1);
	if (t->head_bias)
		add(&l, "bias", 1, t->vocab, 1);
	return l.n;
}

/* ---- sums ---- */

typedef uint64_t tensor_size(const struct model_tensor *, const struct model_ask *);

static uint64_t elements(const struct model_tensor *t, const struct model_ask *ask)
{
	(void)ask;
	return t->k * t->n * t->count;
}

uint64_t model_tensor_bytes(const struct model_tensor *t, const struct model_ask *ask)
{
	uint64_t groups = ask->group ? (t->k + ask->group - 1) / ask->group : 1;
	uint64_t scales = 2 * t->n * groups;
	/* Vectors stay as they are. */
	enum model_type type = t->k > 1 ? ask->weights : MODEL_FP16;
	switch (type) {
	case MODEL_INT8:
		return (t->k * t->n + scales) * t->count;
	case MODEL_INT4:
		return ((t->k * t->n + 1) / 2 + scales) * t->count;
	case MODEL_FP16:
		break;
	}
	return 2 * t->k * t->n * t->count;
}

static uint64_t sum(const struct model_tensor *tensors, unsigned n, tensor_size *size, const struct model_ask *ask)
{
	uint64_t total = 0;
	for (unsigned i = 0; i < n; i++)
		total += size(&tensors[i], ask);
	return total;
}

static uint64_t sum_all(const struct transformer *t, tensor_size *size, const struct model_ask *ask)
{
	struct model_tensor tensors[MODEL_TENSORS];
	uint64_t total = sum(tensors, model_outer_tensors(t, tensors), size, ask);
	uint64_t dense = sum(tensors, model_layer_tensors(t, false, tensors), size, ask);
	uint64_t moe = t->experts ? sum(tensors, model_layer_tensors(t, true, tensors), size, ask) : 0;
	for (uint32_t i = 0; i < t->layers; i++)
		total += t->moe[i] ? moe : dense;
	return total;
}

uint64_t model_parameters(const struct transformer *t)
{
	return sum_all(t, elements, NULL);
}

uint64_t model_active_parameters(const struct transformer *t)
{
	struct transformer used = *t;
	/* The router looks at all of them. */
	uint64_t router = (uint64_t)(t->experts - t->experts_used) * (t->hidden + t->router_bias);
	used.experts = t->experts_used;
	uint64_t total = model_parameters(&used);
	for (uint32_t i = 0; i < t->layers; i++)
		total += t->moe[i] ? router : 0;
	return total;
}

uint64_t model_weight_bytes(const struct transformer *t, const struct model_ask *ask)
{
	return sum_all(t, model_tensor_bytes, ask);
}

/* Scales of K and V of a token, or of its latent. */
static uint64_t kv_scales(const struct transformer *t, const struct model_ask *ask)
{
	if (t->kv_rank)
		return (t->kv_rank + t->rope_dim + MODEL_LATENT_GROUP - 1) / MODEL_LATENT_GROUP;
	switch (ask->kv_group) {
	case MODEL_KV_TOKEN:
		return 2;
	case MODEL_KV_HALF:
		return 4 * (uint64_t)t->kv_heads;
	case MODEL_KV_HEAD:
		break;
	}
	return 2 * (uint64_t)t->kv_heads;
}

/* A latent has no heads: its one part is a token's kv_rank + rope_dim elements. */
uint64_t model_kv_token_bytes(const struct transformer *t, const struct model_ask *ask)
{
	uint64_t parts = t->kv_rank ? 1 : 2 * (uint64_t)t->kv_heads;
	uint64_t dim = t->kv_rank ? t->kv_rank + t->rope_dim : t->head_dim;
	switch (ask->kv) {
	case MODEL_INT8:
		return parts * dim + 2 * kv_scales(t, ask);
	case MODEL_INT4:
		return parts * ((dim + 1) / 2) + 2 * kv_scales(t, ask);
	case MODEL_FP16:
		break;
	}
	return parts * dim * 2;
}

/* UINT64_MAX where that would be more. */
static uint64_t product(uint64_t a, uint64_t b)
{
	uint64_t result;
	return __builtin_mul_overflow(a, b, &result) ? UINT64_MAX : result;
}

static uint64_t sum_of(uint64_t a, uint64_t b)
{
	uint64_t result;
	return __builtin_add_overflow(a, b, &result) ? UINT64_MAX : result;
}

/* Pages of all sequences of a layer that keeps `tokens` of a context at most, and of the shortest one `least`. */
static uint64_t layer_pages(const struct model_ask *ask, uint64_t page, uint64_t tokens, uint64_t least)
{
	/* A window may begin with the last token of a page. */
	uint64_t before = tokens < ask->context ? page - 1 : 0, total = 0;
	struct paged p = { .batch = ask->batch, .seq = tokens, .seq_min = least, .seed = 1 };
	if (least == tokens)
		return product(ask->batch, (tokens + before + page - 1) / page);
	for (uint64_t b = 0; b < ask->batch; b++)
		total += (paged_length(&p, b) + before + page - 1) / page;
	return total;
}

uint32_t model_kept(const struct transformer *t, const struct model_ask *ask, bool windowed)
{
	uint64_t seen = (uint64_t)t->window + model_chunk(ask) - 1;
	return windowed && seen < ask->context ? (uint32_t)seen : ask->context;
}

uint64_t model_kv_bytes(const struct transformer *t, const struct model_ask *ask)
{
	uint64_t token = model_kv_token_bytes(t, ask), total = 0;
	uint32_t page = t->kv_rank ? 1 : ask->page; /* rows of a latent follow one another */
	for (uint32_t i = 0; i < t->layers; i++) {
		uint32_t keeps = model_kept(t, ask, t->windowed[i]);
		uint32_t least = ask->context_min && ask->context_min < keeps ? ask->context_min : keeps;
		total = sum_of(total, product(layer_pages(ask, page, keeps, least), page * token));
	}
	return total;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

uint64_t model_activation_bytes(const struct transformer *t, const struct model_ask *ask)
{
	uint64_t tokens = model_tokens(ask), heads = t->heads, wide = 0;
	uint64_t attention = t->kv_rank ? heads * t->head_dim + heads * (t->nope_dim + t->v_dim) + heads * t->v_dim
					: (2 * heads + 2 * (uint64_t)t->kv_heads) * t->head_dim;
	for (uint32_t i = 0; i < t->layers; i++) {
		uint64_t up = t->moe[i] ? (uint64_t)t->experts_used * t->expert_intermediate + t->shared_intermediate
					: t->intermediate;
		wide = larger(wide, (t->gated ? 3 : 1) * up);
	}
	/* The stream of residuals, what a norm made of it, and the widest branch; or the logits. */
	return larger(2 * tokens * (2 * (uint64_t)t->hidden + larger(attention, wide)),
		      2 * (2 * tokens * t->hidden + (uint64_t)ask->batch * t->vocab));
}
