/* SPDX-License-Identifier: Apache-2.0 */
/* A step of a model, operator by operator: which kernel does it, with which parameters. */
#include "kernels/model/model.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Rows up to which the weights pass once with all rows of activations in a quarter of SRAM (gemv); more are tiled
 * (gemm). */
enum { FEW_ROWS = 128 };

struct build {
	const struct transformer *t;
	const struct model_ask *ask;
	const struct npu_capacity *capacity;
	struct model_plan *plan;
	unsigned section;
	uint64_t tokens;
};

static const char *type_name(enum model_type type)
{
	switch (type) {
	case MODEL_INT8:
		return "int8";
	case MODEL_INT4:
		return "int4";
	case MODEL_FP16:
		break;
	}
	return "fp16";
}

static struct model_op *begin(struct build *b, const char *name, const char *kernel, uint64_t repeat)
{
	struct model_op *op = &b->plan->ops[b->plan->nops];
	if (b->plan->nops + 1 < MODEL_OPS)
		b->plan->nops++;
	*op = (struct model_op){ .section = b->section, .repeat = (uint32_t)repeat, .kernel = kernel };
	snprintf(op->name, sizeof op->name, "%s", name);
	return op;
}

static void arg(struct model_op *op, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void arg(struct model_op *op, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(op->args[op->nargs++], MODEL_ARG, format, args);
	va_end(args);
}

/* ---- operators ---- */

/* `m` rows times k x n of this type, with a scale for each `group` of k, 0: for all of it. */
static struct model_op *multiply(struct build *b, const char *name, uint64_t repeat, uint64_t m, uint64_t n, uint64_t k,
				 enum model_type type, uint32_t group)
{
	bool few = m <= FEW_ROWS && 2 * m * k <= b->capacity->limits.sram_bytes / 4;
	struct model_op *op = begin(b, name, few ? "gemv" : "gemm", repeat);
	arg(op, "m=%" PRIu64, m);
	arg(op, "n=%" PRIu64, n);
	arg(op, "k=%" PRIu64, k);
	if (type != MODEL_FP16) {
		arg(op, "weights=%s", type_name(type));
		if (group)
			arg(op, "group=%" PRIu32, group);
		else
			arg(op, "group=channel");
	}
	op->along = "n";
	return op;
}

/* Rows of the table by the ids of the tokens; of a quantised one its bytes and scales. */
static void embed(struct build *b)
{
	const struct transformer *t = b->t;
	struct model_op *op = begin(b, "embedding", "embedding", 1);
	arg(op, "rows=%" PRIu64, b->tokens);
	if (b->ask->weights == MODEL_FP16) {
		arg(op, "cols=%" PRIu32, t->hidden);
	} else {
		struct model_tensor row = { "row", t->hidden, 1, 1 };
		arg(op, "cols=%" PRIu64, model_tensor_bytes(&row, b->ask));
		arg(op, "dtype=int8");
	}
	arg(op, "vocab=%" PRIu32, t->vocab);
	op->along = "rows";
}

/* A projection of `m` rows with weights of the type asked for. */
static void project(struct build *b, const char *name, uint64_t repeat, uint64_t m, uint64_t n, uint64_t k, bool bias)
{
	const struct model_ask *ask = b->ask;
	/* Two columns of int4 share a byte: an odd one is padded. */
	n += ask->weights == MODEL_INT4 && n % 2;
	struct model_op *op = multiply(b, name, repeat, m, n, k, ask->weights, ask->group);
	if (bias)
		arg(op, "bias=1");
	op->weight_bytes = model_tensor_bytes(&(struct model_tensor){ name, k, n, 1 }, ask) + (bias ? 2 * n : 0);
}

static void norm(struct build *b, const char *name, uint64_t repeat, uint64_t rows, uint64_t width)
{
	struct model_op *op = begin(b, name, b->t->layer_norm ? "layernorm" : "rmsnorm", repeat);
	arg(op, "rows=%" PRIu64, rows);
	arg(op, "cols=%" PRIu64, width);
	op->along = "rows";
}

static void residual(struct build *b, const char *name, uint64_t repeat)
{
	struct model_op *op = begin(b, name, "residual_add", repeat);
	arg(op, "rows=%" PRIu64, b->tokens);
	arg(op, "cols=%" PRIu32, b->t->hidden);
	op->along = "rows";
}

static void rotate(struct build *b, uint64_t heads, uint64_t dim)
{
	if (!b->t->rotary_dim)
		return;
	struct model_op *op = begin(b, "rope", "rope", 1);
	arg(op, "rows=%" PRIu64, b->tokens);
	arg(op, "heads=%" PRIu64, heads);
	arg(op, "head_dim=%" PRIu64, dim);
	if (b->t->rotary_dim != dim)
		arg(op, "rotary=%" PRIu32, b->t->rotary_dim);
	op->along = "rows";
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- attention ---- */

/* Kernels take a whole number, and what is larger changes as little as the largest. The cost does not depend on it. */
static uint32_t whole_cap(double cap)
{
	return cap < 1 ? 1 : cap > 1024 ? 1024 : (uint32_t)(cap + 0.5);
}

static void attention_shape(struct model_op *op, const struct transformer *t)
{
	arg(op, "heads=%" PRIu32, t->heads);
	arg(op, "kv_heads=%" PRIu32, t->kv_heads);
	arg(op, "head_dim=%" PRIu32, t->head_dim);
	if (t->attention_softcap > 0)
		arg(op, "softcap=%" PRIu32, whole_cap(t->attention_softcap));
}

static void cache(struct model_op *op, const struct model_ask *ask)
{
	arg(op, "page=%" PRIu32, ask->page);
	arg(op, "kv=%s", type_name(ask->kv));
	if (ask->kv_apart)
		arg(op, "kv_layout=kv_page_head");
	if (ask->kv_to_array)
		arg(op, "dequant=matrix");
	if (ask->kv_group != MODEL_KV_HEAD)
		arg(op, "kv_group=%s", ask->kv_group == MODEL_KV_TOKEN ? "token" : "half");
}

static void attend_decode(struct build *b, uint64_t seen)
{
	const struct model_ask *ask = b->ask;
	struct model_op *op = begin(b, "attention (paged)", "decode_attention_paged", 1);
	arg(op, "batch=%" PRIu32, ask->batch);
	arg(op, "seq=%" PRIu64, seen);
	if (ask->context_min && ask->context_min < seen)
		arg(op, "seq_min=%" PRIu32, ask->context_min);
	else
		op->along = "batch";
	attention_shape(op, b->t);
	cache(op, ask);
}

static void attend(struct build *b, bool windowed)
{
	const struct transformer *t = b->t;
	const struct model_ask *ask = b->ask;
	if (ask->phase == MODEL_DECODE) {
		attend_decode(b, windowed ? least(ask->context, t->window) : ask->context);
		return;
	}
	struct model_op *op = begin(b, "attention (paged)", "prefill_attention_paged", 1);
	arg(op, "batch=%" PRIu32, ask->batch);
	arg(op, "seq=%" PRIu32, model_kept(t, ask, windowed));
	arg(op, "chunk=%" PRIu32, model_chunk(ask));
	if (windowed)
		arg(op, "window=%" PRIu32, t->window);
	attention_shape(op, t);
	cache(op, ask);
	op->along = "heads";
}

static void attention(struct build *b, bool windowed)
{
	const struct transformer *t = b->t;
	uint64_t q = (uint64_t)t->heads * t->head_dim, kv = (uint64_t)t->kv_heads * t->head_dim;
	project(b, "qkv_proj", 1, b->tokens, q + 2 * kv, t->hidden, t->qkv_bias);
	if (t->qk_norm)
		norm(b, "qk_norm", 1, b->tokens * (t->heads + t->kv_heads), t->head_dim);
	rotate(b, t->heads + t->kv_heads, t->head_dim);
	attend(b, windowed);
	project(b, "o_proj", 1, b->tokens, t->hidden, q, t->o_bias);
}

/* The latent of a token is the key and the value of every head, so heads of one token are rows of one product: scores,
 * softmax and sums pass it twice. The projections of a head to and from the latent are products of their own. A
 * quantised latent is the second operand of those two products; the sums' scales are as many and cost as much whichever
 * way their groups lie. */
static void latent_decode(struct build *b)
{
	const struct transformer *t = b->t;
	const struct model_ask *ask = b->ask;
	uint64_t dim = t->kv_rank + t->rope_dim;
	project(b, "q_to_latent", t->heads, b->tokens, t->kv_rank, t->nope_dim, false);
	struct model_op *op;
	if (ask->kv == MODEL_FP16) {
		op = begin(b, "latent scores", "qk_tiled", ask->batch);
		arg(op, "seq=%" PRIu32, ask->context);
		arg(op, "seq_q=%" PRIu32, t->heads);
		arg(op, "heads=1");
		arg(op, "head_dim=%" PRIu64, dim);
	} else {
		multiply(b, "latent scores", ask->batch, t->heads, ask->context, dim, ask->kv, MODEL_LATENT_GROUP);
	}
	op = begin(b, "latent softmax", "mask_softmax", ask->batch);
	arg(op, "seq=%" PRIu32, ask->context);
	arg(op, "seq_q=%" PRIu32, t->heads);
	arg(op, "heads=1");
	if (ask->kv == MODEL_FP16) {
		op = begin(b, "latent sums", "pv_tiled", ask->batch);
		arg(op, "seq=%" PRIu32, ask->context);
		arg(op, "seq_q=%" PRIu32, t->heads);
		arg(op, "heads=1");
		arg(op, "head_dim=%" PRIu32, t->kv_rank);
	} else {
		multiply(b, "latent sums", ask->batch, t->heads, t->kv_rank, ask->context, ask->kv, MODEL_LATENT_GROUP);
	}
	project(b, "v_from_latent", t->heads, b->tokens, t->v_dim, t->kv_rank, false);
}

/* The new latents into the cache; in fp16 the norm and rope write them there. */
static void quantise_latent(struct build *b)
{
	struct model_op *op = begin(b, "quantise_latent", "quantise", 1);
	arg(op, "rows=%" PRIu64, b->tokens);
	arg(op, "cols=%" PRIu32, b->t->kv_rank + b->t->rope_dim);
	arg(op, "to=%s", type_name(b->ask->kv));
	arg(op, "group=%d", MODEL_LATENT_GROUP);
	op->along = "rows";
}

static void latent_attention(struct build *b)
{
	const struct transformer *t = b->t;
	const struct model_ask *ask = b->ask;
	uint64_t q = (uint64_t)t->heads * t->head_dim;
	if (t->q_rank) {
		project(b, "q_a_proj", 1, b->tokens, t->q_rank, t->hidden, t->qkv_bias);
		norm(b, "q_a_norm", 1, b->tokens, t->q_rank);
		project(b, "q_b_proj", 1, b->tokens, q, t->q_rank, false);
	} else {
		project(b, "q_proj", 1, b->tokens, q, t->hidden, false);
	}
	project(b, "kv_a_proj", 1, b->tokens, t->kv_rank + t->rope_dim, t->hidden, t->qkv_bias);
	norm(b, "kv_a_norm", 1, b->tokens, t->kv_rank);
	rotate(b, t->heads + 1, t->rope_dim);
	if (ask->kv != MODEL_FP16)
		quantise_latent(b);
	if (ask->phase == MODEL_DECODE) {
		latent_decode(b);
	} else {
		/* Keys and values of every head, of cached tokens, too; values are padded to the length of keys, as one kernel takes them. */
		project(b, "kv_b_proj", 1, (uint64_t)ask->batch * ask->context, (uint64_t)t->heads * (t->nope_dim + t->v_dim), t->kv_rank, false);
		struct model_op *op = begin(b, "attention", "flash_attention", ask->batch);
		arg(op, "heads=%" PRIu32, t->heads);
		arg(op, "head_dim=%" PRIu32, t->head_dim);
		arg(op, "seq=%" PRIu32, ask->context);
		if (ask->context != model_chunk(ask))
			arg(op, "seq_q=%" PRIu32, model_chunk(ask));
		arg(op, "mask=causal");
	}
	project(b, "o_proj", 1, b->tokens, t->hidden, (uint64_t)t->heads * t->v_dim, t->o_bias);
}

/* ---- MLP ---- */

/* `rows` tokens through `count` such MLPs. */
static void mlp(struct build *b, const char *prefix, uint64_t count, uint64_t rows, uint64_t intermediate)
{
	const struct transformer *t = b->t;
	char name[32];
	snprintf(name, sizeof name, "%s%s", prefix, t->gated ? "gate_up_proj" : "up_proj");
	project(b, name, count, rows, t->gated ? 2 * intermediate : intermediate, t->hidden, t->mlp_bias);
	snprintf(name, sizeof name, "%s%s", prefix, t->gated ? "swiglu" : "gelu");
	struct model_op *op = begin(b, name, t->gated ? "swiglu" : "gelu", count);
	arg(op, "rows=%" PRIu64, rows);
	arg(op, "cols=%" PRIu64, intermediate);
	if (t->gated && t->activation == TRANSFORMER_GELU)
		arg(op, "act=gelu");
	op->along = "rows";
	snprintf(name, sizeof name, "%sdown_proj", prefix);
	project(b, name, count, rows, t->hidden, intermediate, t->mlp_bias);
}

/* Routing is even: tokens x experts_used choices over as many experts as there can be, those that get one more first.
 */
static void experts(struct build *b)
{
	const struct transformer *t = b->t;
	uint64_t choices = b->tokens * t->experts_used, used = least(t->experts, choices);
	uint64_t rows = choices / used, more = choices % used;
	project(b, "router", 1, b->tokens, t->experts, t->hidden, t->router_bias);
	if (more)
		mlp(b, "expert+ ", more, rows + 1, t->expert_intermediate);
	mlp(b, "expert ", used - more, rows, t->expert_intermediate);
	if (t->shared_intermediate)
		mlp(b, "shared ", 1, b->tokens, t->shared_intermediate);
	if (t->shared_gate)
		project(b, "shared_gate", 1, b->tokens, 1, t->hidden, false);
	/* What a token's experts give is added up, one after the other. */
	uint64_t sums = t->experts_used + (t->shared_intermediate > 0) - 1;
	if (!sums)
		return;
	struct model_op *op = begin(b, "expert_sum", "residual_add", sums);
	arg(op, "rows=%" PRIu64, b->tokens);
	arg(op, "cols=%" PRIu32, t->hidden);
	op->along = "rows";
}

/* ---- the step ---- */

static void layer(struct build *b, const struct model_section *s)
{
	const struct transformer *t = b->t;
	norm(b, "attention_norm", 1, b->tokens, t->hidden);
	if (t->kv_rank)
		latent_attention(b);
	else
		attention(b, s->windowed);
	if (t->post_norms)
		norm(b, "attention_post_norm", 1, b->tokens, t->hidden);
	if (!t->parallel) {
		residual(b, "residual_add", 1);
		norm(b, "mlp_norm", 1, b->tokens, t->hidden);
	}
	if (s->moe)
		experts(b);
	else
		mlp(b, "", 1, b->tokens, t->intermediate);
	if (t->post_norms)
		norm(b, "mlp_post_norm", 1, b->tokens, t->hidden);
	/* Parallel branches are both added. */
	residual(b, t->parallel ? "residual_add" : "residual_add (mlp)", t->parallel ? 2 : 1);
}

static unsigned section(struct build *b, const char *name, uint32_t count)
{
	struct model_section *s = &b->plan->sections[b->plan->nsections];
	*s = (struct model_section){ .count = count };
	snprintf(s->name, sizeof s->name, "%s", name);
	b->section = b->plan->nsections;
	return b->plan->nsections++;
}

/* One section for each kind of layer, in the order of their first layers. */
static void layers(struct build *b)
{
	const struct transformer *t = b->t;
	unsigned first = b->plan->nsections;
	for (uint32_t i = 0; i < t->layers; i++) {
		/* A window that holds the whole context is none. */
		bool windowed = t->windowed[i] && t->window < b->ask->context;
		unsigned kind = first;
		while (kind < b->plan->nsections &&
		       (b->plan->sections[kind].windowed != windowed || b->plan->sections[kind].moe != t->moe[i]))
			kind++;
		if (kind == b->plan->nsections) {
			struct model_section *s = &b->plan->sections[section(b, "", 0)];
			char window[20] = "";
			if (windowed)
				snprintf(window, sizeof window, "window %" PRIu32, t->window);
			snprintf(s->name, sizeof s->name, "layer%s%s%s%s%s", windowed || t->moe[i] ? " (" : "", window,
				 windowed && t->moe[i] ? ", " : "", t->moe[i] ? "experts" : "",
				 windowed || t->moe[i] ? ")" : "");
			s->first = i;
			s->is_layer = true;
			s->windowed = windowed;
			s->moe = t->moe[i];
		}
		b->plan->sections[kind].count++;
		b->plan->section_of[i] = (uint8_t)kind;
	}
	for (unsigned s = first; s < b->plan->nsections; s++) {
		b->section = s;
		layer(b, &b->plan->sections[s]);
	}
}

static void note(struct build *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(struct build *b, const char *format, ...)
{
	va_list args;
	if (b->plan->nnotes == sizeof b->plan->notes / sizeof b->plan->notes[0])
		return;
	va_start(args, format);
	vsnprintf(b->plan->notes[b->plan->nnotes++], sizeof b->plan->notes[0], format, args);
	va_end(args);
}

static void notes(struct build *b)
{
	const struct transformer *t = b->t;
	if (t->max_context && b->ask->context > t->max_context)
		note(b, "the model was made for contexts of up to %" PRIu32 " tokens", t->max_context);
	if (t->outer[0])
		note(b, "the language part (text_config) of a model of type %s: what else it has is neither counted nor run",
		     t->outer);
	if (t->kv_heads_assumed)
		note(b, "num_key_value_heads is not given: %" PRIu32 ", the default of %s models", t->kv_heads, t->family);
	if (t->quantized[0])
		note(b, "the checkpoint is quantised (quantization_config: %s), which is not read: weights= says what is run", t->quantized);
	if (b->ask->weights != MODEL_FP16)
		note(b, "rows of the embedding table are fetched in %s with their scales: making fp16 of them is left out",
		     type_name(b->ask->weights));
	if (t->kv_rank && b->ask->kv != MODEL_FP16 && model_chunk(b->ask) < b->ask->context && b->ask->phase == MODEL_PREFILL)
		note(b, "keys and values of cached tokens are made of latents in fp16: making fp16 of %s is left out",
		     type_name(b->ask->kv));
	if (t->experts)
		note(b, "routing is even: no expert gets more than one token more than another; choosing experts and weighing "
			"what they give is not run");
	if (t->predict_layers)
		note(b, "%" PRIu32 " more layer%s that predict%s later tokens: neither counted nor run",
		     t->predict_layers, t->predict_layers == 1 ? "" : "s", t->predict_layers == 1 ? "s" : "");
}

/* Each logit by itself, so rows may be as long as suits SRAM. */
static void cap_logits(struct build *b)
{
	enum { ROW = 4096 };
	struct model_op *op = begin(b, "logit_softcap", "softcap", 1);
	arg(op, "rows=%" PRIu64, ((uint64_t)b->ask->batch * b->t->vocab + ROW - 1) / ROW);
	arg(op, "cols=%d", ROW);
	arg(op, "cap=%" PRIu32, whole_cap(b->t->final_softcap));
	op->along = "rows";
}

static bool check(const struct transformer *t, const struct model_ask *ask, struct npu_error *err)
{
	if (model_tokens(ask) > TRANSFORMER_WIDTH_MAX)
		return npu_fail(err, NPU_ERR_VALUE,
				"batch=%" PRIu32 ": %" PRIu64 " tokens a step, %d at most would be right", ask->batch,
				model_tokens(ask), TRANSFORMER_WIDTH_MAX);
	if (t->kv_rank && ask->kv == MODEL_INT4)
		return npu_fail(err, NPU_ERR_VALUE,
				"kv=int4: the latent cache of %s has 16 or 8 bits; kv=fp16 or kv=int8 would be right",
				t->family);
	if (t->kv_rank && ask->kv_to_array)
		return npu_fail(err, NPU_ERR_VALUE,
				"dequant=matrix: the vector engine makes fp16 of the latent of %s, which is key and "
				"value at once; dequant=vector would be right",
				t->family);
	if (t->kv_rank && (ask->page_named || ask->layout_named))
		return npu_fail(err, NPU_ERR_VALUE,
				"%s: has no effect on the latent cache of %s, one row a token that follow one another without "
				"pages",
				ask->page_named ? "page" : "kv_layout", t->family);
	if (ask->kv_group_named && (t->kv_rank || ask->kv == MODEL_FP16))
		return npu_fail(err, NPU_ERR_VALUE, "kv_group: has no effect %s%s",
				t->kv_rank ? "on the latent cache of " : "with kv=fp16, only with int8 or int4",
				t->kv_rank ? t->family : "");
	if (ask->group_named && ask->weights == MODEL_FP16)
		return npu_fail(err, NPU_ERR_VALUE, "group: has no effect with weights=fp16, only with int8 or int4");
	if (ask->chunk_named && (ask->phase == MODEL_DECODE || ask->chunk > ask->context))
		return npu_fail(err, NPU_ERR_VALUE, "chunk=%" PRIu32 ": %s", ask->chunk,
				ask->phase == MODEL_DECODE ? "has no effect with phase=decode, which takes one token a sequence"
							   : "a prompt of context= tokens has no more new ones than it is long");
	if (ask->context_min_named && (ask->phase == MODEL_PREFILL || t->kv_rank || ask->context_min > ask->context))
		return npu_fail(err, NPU_ERR_VALUE, "context_min=%" PRIu32 ": %s", ask->context_min,
				ask->phase == MODEL_PREFILL ? "has no effect with phase=prefill, whose prompts are alike"
				: t->kv_rank ? "a latent cache has sequences of one length"
					     : "the shortest sequence is not longer than the longest, context=");
	if (ask->kv_to_array && ask->kv == MODEL_FP16)
		return npu_fail(err, NPU_ERR_VALUE,
				"dequant=matrix: has no effect with kv=fp16, only with int8 or int4");
	return true;
}

bool model_plan(const struct transformer *t, const struct model_ask *ask, const struct npu_capacity *capacity,
		struct model_plan *plan, struct npu_error *err)
{
	struct build b = { .t = t, .ask = ask, .capacity = capacity, .plan = plan, .tokens = model_tokens(ask) };
	*plan = (struct model_plan){ 0 };
	if (!check(t, ask, err))
		return false;
	section(&b, "embedding", 1);
	embed(&b);
	layers(&b);
	section(&b, "head", 1);
	norm(&b, "final_norm", 1, ask->batch, t->hidden);
	project(&b, "lm_head", 1, ask->batch, t->vocab, t->hidden, t->head_bias);
	if (t->final_softcap > 0)
		cap_logits(&b);
	notes(&b);
	return true;
}
