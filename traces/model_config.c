/* SPDX-License-Identifier: Apache-2.0 */
/* config.json by its families. A field that is null counts as absent, as in the library. */
#define _GNU_SOURCE /* memmem */
#include "traces/model_config.h"
#include "isa/plain.h"
#include "isa/units.h"
#include "traces/model_layers.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { REQUIRED = -1 };

/* What a model_type means where its config.json says nothing. */
struct family {
	const char *type, *architecture;
	bool tied;           /* the head shares the embedding */
	bool old_names;      /* sizes are n_embd, n_layer, ..., and rotary_dim is one of them */
	bool qkv_bias;       /* without a field that says so */
	bool all_bias;       /* linear layers have biases */
	bool attention_bias; /* the field attention_bias is read, for Q, K, V and the output */
	bool mlp_bias;       /* so is mlp_bias */
	bool qk_norm;
	bool post_norms;
	bool latent;         /* MLA */
	bool plain;          /* Phi: LayerNorm, parallel branches, an MLP without gate */
	const char *experts; /* the field that counts routed experts; NULL: it has none */
	bool wide_experts;   /* each is an MLP of intermediate_size, where moe_intermediate_size is missing */
	bool shared_gate;    /* a gate weighs the shared ones, which shared_expert_intermediate_size gives */
	bool router_bias;    /* unless topk_method says otherwise */
	int64_t head_dim;    /* REQUIRED: hidden_size / num_attention_heads */
	uint32_t kv_heads;   /* without the field; 0: num_attention_heads. null says that of all families */
	uint32_t heads, vocab; /* likewise; 0: they are asked for */
	int64_t window;      /* sliding_window without the field */
	bool window_switch;  /* use_sliding_window (default false) and max_window_layers are read */
	bool window_pattern; /* so is sliding_window_pattern, with full_every as its default */
	uint32_t full_every; /* of windowed layers; 0: every layer is windowed */
	const char *activation;
};

#define NO_HEAD_DIM .head_dim = REQUIRED
#define QWEN_WINDOW .window = 4096, .window_switch = true
static const struct family families[] = {
	{ "llama", "LlamaForCausalLM", .attention_bias = true, .mlp_bias = true, NO_HEAD_DIM, .activation = "silu" },
	{ "mistral", "MistralForCausalLM", .kv_heads = 8, NO_HEAD_DIM, .window = 4096, .activation = "silu" },
	{ "mixtral", "MixtralForCausalLM", .kv_heads = 8, .experts = "num_local_experts", .wide_experts = true, NO_HEAD_DIM,
	  .activation = "silu" },
	{ "qwen2", "Qwen2ForCausalLM", .kv_heads = 32, .qkv_bias = true, NO_HEAD_DIM, QWEN_WINDOW, .activation = "silu" },
	{ "qwen2_moe", "Qwen2MoeForCausalLM", .kv_heads = 16, .qkv_bias = true, .experts = "num_experts", .shared_gate = true,
	  NO_HEAD_DIM, QWEN_WINDOW, .activation = "silu" },
	{ "qwen3", "Qwen3ForCausalLM", .kv_heads = 32, .attention_bias = true, .qk_norm = true, .head_dim = 128, QWEN_WINDOW,
	  .activation = "silu" },
	{ "qwen3_moe", "Qwen3MoeForCausalLM", .kv_heads = 4, .attention_bias = true, .qk_norm = true, .experts = "num_experts",
	  NO_HEAD_DIM, QWEN_WINDOW, .activation = "silu" },
	{ "gemma", "GemmaForCausalLM", .kv_heads = 16, .tied = true, .attention_bias = true, .head_dim = 256,
	  .activation = "gelu_pytorch_tanh" },
	{ "gemma2", "Gemma2ForCausalLM", .kv_heads = 4, .tied = true, .attention_bias = true, .post_norms = true, .head_dim = 256,
	  .window = 4096, .full_every = 2, .activation = "gelu_pytorch_tanh" },
	{ "gemma3_text", "Gemma3ForCausalLM", .kv_heads = 4, .heads = 8, .vocab = 262208, .tied = true, .attention_bias = true, .post_norms = true, .qk_norm = true,
	  .head_dim = 256, .window = 4096, .full_every = 6, .window_pattern = true, .activation = "gelu_pytorch_tanh" },
	{ "phi", "PhiForCausalLM", .all_bias = true, .plain = true, NO_HEAD_DIM, .activation = "gelu_new" },
	{ "phi-msft", "PhiForCausalLM", .old_names = true, .all_bias = true, .plain = true, NO_HEAD_DIM,
	  .activation = "gelu_new" },
	{ "phi3", "Phi3ForCausalLM", NO_HEAD_DIM, .activation = "silu" },
	{ "minicpm", "MiniCPMForCausalLM", .tied = true, NO_HEAD_DIM, .activation = "silu" },
	{ "deepseek_v2", "DeepseekV2ForCausalLM", .attention_bias = true, .latent = true, .experts = "n_routed_experts",
	  NO_HEAD_DIM, .activation = "silu" },
	{ "deepseek_v3", "DeepseekV3ForCausalLM", .attention_bias = true, .latent = true, .experts = "n_routed_experts",
	  .router_bias = true, NO_HEAD_DIM, .activation = "silu" },
};
enum { FAMILIES = sizeof families / sizeof families[0] };

struct reader {
	const char *path, *text;
	uint64_t nbytes;
	uint64_t from;      /* fields of the object that is read begin there in the text */
	json_t *root;       /* that object: the file's, or its text_config */
	const struct family *family;
	struct transformer *model;
	struct npu_error *err;
};

/* ---- where a field stands ---- */

/* The first `"key" :` of the text; fields of one name in inner objects come later in practice, or mislead by a line. */
static void place_of(const struct reader *r, const char *key, uint32_t *line, uint32_t *column)
{
	size_t length = strlen(key);
	uint32_t at_line = 1;
	const char *begin = r->text, *end = r->text + r->nbytes;
	*line = *column = 0;
	for (const char *p = r->text; p + length + 2 <= end; p++) {
		if (*p == '\n') {
			at_line++;
			begin = p + 1;
		} else if (p >= r->text + r->from && *p == '"' && memcmp(p + 1, key, length) == 0 && p[length + 1] == '"') {
			const char *colon = p + length + 2;
			while (colon < end && isspace((unsigned char)*colon))
				colon++;
			if (colon < end && *colon == ':') {
				*line = at_line;
				*column = (uint32_t)(p - begin) + 1;
				return;
			}
		}
	}
}

static bool fail(const struct reader *r, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool fail(const struct reader *r, const char *key, const char *format, ...)
{
	char text[512];
	uint32_t line, column;
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	place_of(r, key, &line, &column);
	return npu_fail_at(r->err, NPU_ERR_VALUE, r->path, line, column, "%s: %s", key, text);
}

/* ---- fields ---- */

static const json_t *field(const struct reader *r, const char *key)
{
	const json_t *value = json_object_get(r->root, key);
	return json_is_null(value) ? NULL : value;
}

static const char *type_name(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "a list";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
	case JSON_REAL:
		return "a number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "true or false";
	case JSON_NULL:
		break;
	}
	return "null";
}

/* A whole number in min..max. `missing` is its value without the field. */
static bool whole(const struct reader *r, const char *key, int64_t min, int64_t max, int64_t missing, uint32_t *out)
{
	const json_t *value = field(r, key);
	if (!value) {
		*out = (uint32_t)missing;
		return missing != REQUIRED ||
		       npu_fail_at(r->err, NPU_ERR_VALUE, r->path, 0, 0, "%s: the field is missing; a %s model has it",
				   key, r->family->type);
	}
	if (!json_is_integer(value))
		return fail(r, key, "is %s, a whole number would be right",
			    json_is_real(value) ? "no whole number" : type_name(value));
	json_int_t n = json_integer_value(value);
	if (n < min || n > max)
		return fail(r, key, "%" JSON_INTEGER_FORMAT " is not %" PRId64 " to %" PRId64, n, min, max);
	*out = (uint32_t)n;
	return true;
}

static bool flag(const struct reader *r, const char *key, bool missing, bool *out)
{
	const json_t *value = field(r, key);
	*out = value ? json_is_true(value) : missing;
	return !value || json_is_boolean(value) ||
	       fail(r, key, "is %s, true or false would be right", type_name(value));
}

static bool real_in(const struct reader *r, const json_t *object, const char *key, double min, double max,
		    double missing, double *out)
{
	const json_t *value = json_object_get(object, key);
	*out = missing;
	if (!value || json_is_null(value))
		return true;
	*out = json_number_value(value);
	if (!json_is_number(value))
		return fail(r, key, "is %s, a number would be right", type_name(value));
	return (*out >= min && *out <= max) || fail(r, key, "%g is not %g to %g", *out, min, max);
}

/* A word; NULL without the field. False when it is none. */
static bool word(const struct reader *r, const json_t *object, const char *key, const char **out)
{
	const json_t *value = json_object_get(object, key);
	*out = NULL;
	if (!value || json_is_null(value))
		return true;
	*out = json_string_value(value);
	return *out || fail(r, key, "is %s, a string would be right", type_name(value));
}

/* ---- the family ---- */

static const struct family *family_of_type(const char *type)
{
	for (unsigned i = 0; type && i < FAMILIES; i++)
		if (strcmp(families[i].type, type) == 0)
			return &families[i];
	return NULL;
}

static const struct family *family_of_architecture(const char *architecture)
{
	for (unsigned i = 0; architecture && i < FAMILIES; i++)
		if (strcmp(families[i].architecture, architecture) == 0)
			return &families[i];
	return NULL;
}

static bool unknown(const struct reader *r, const char *key, const char *word_given)
{
	char list[512] = "", shown[64];
	size_t used = 0;
	npu_plain(word_given, strlen(word_given), shown, sizeof shown);
	for (unsigned i = 0; i < FAMILIES; i++)
		used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", families[i].type);
	return fail(r, key, "\"%s\" is not supported; of decoders, these are: %s", shown, list);
}

/* Of a model that is more than a decoder the object text_config describes the decoder. What is said of the whole model in the outer
 * object alone holds for it, too. */
static bool enter_text_config(struct reader *r)
{
	static const char *const both[] = { "tie_word_embeddings", "quantization_config" };
	const char *type;
	json_t *inner = json_object_get(r->root, "text_config");
	if (!word(r, r->root, "model_type", &type))
		return false;
	if (!inner || json_is_null(inner) || family_of_type(type))
		return true;
	if (!json_is_object(inner))
		return fail(r, "text_config", "is %s, an object would be right", type_name(inner));
	for (unsigned i = 0; i < sizeof both / sizeof both[0]; i++) {
		json_t *value = json_object_get(r->root, both[i]);
		if (value && !json_object_get(inner, both[i]))
			json_object_set(inner, both[i], value);
	}
	type = type ? type : "multimodal";
	npu_plain(type, strlen(type), r->model->outer, sizeof r->model->outer);
	const char *at = memmem(r->text, r->nbytes, "\"text_config\"", strlen("\"text_config\""));
	r->from = at ? (uint64_t)(at - r->text) : 0;
	r->root = inner;
	return true;
}

/* By model_type; the architecture, where it is given, must be that type's: a vision or classification model of a known
 * type is another model. */
static bool read_family(struct reader *r)
{
	const char *type, *architecture = NULL;
	const json_t *list = field(r, "architectures");
	if (list && (!json_is_array(list) || (json_array_size(list) && !json_is_string(json_array_get(list, 0)))))
		return fail(r, "architectures", "is no list of strings");
	if (list)
		architecture = json_string_value(json_array_get(list, 0));
	if (!word(r, r->root, "model_type", &type))
		return false;
	if (!type && !architecture)
		return npu_fail_at(r->err, NPU_ERR_VALUE, r->path, 0, 0,
				   "model_type: the field is missing, and so is architectures");
	r->family = type ? family_of_type(type) : family_of_architecture(architecture);
	if (!r->family)
		return unknown(r, type ? "model_type" : "architectures", type ? type : architecture);
	if (architecture && strcmp(architecture, r->family->architecture) != 0) {
		char shown[64];
		npu_plain(architecture, strlen(architecture), shown, sizeof shown);
		return fail(r, "architectures", "\"%s\" is not supported; of model_type %s, %s is", shown,
			    r->family->type, r->family->architecture);
	}
	snprintf(r->model->family, sizeof r->model->family, "%s", r->family->type);
	return true;
}

/* ---- dimensions ---- */

static int64_t or_required(uint32_t size)
{
	return size ? (int64_t)size : REQUIRED;
}

/* The library's classes have defaults of their own, which not every number of heads can have; null is the query heads. */
static int64_t missing_kv_heads(struct reader *r, const char *key)
{
	struct transformer *m = r->model;
	uint32_t own = r->family->kv_heads;
	m->kv_heads_assumed = own && own < m->heads && m->heads % own == 0 && !json_object_get(r->root, key);
	return m->kv_heads_assumed ? own : m->heads;
}

static bool read_sizes(struct reader *r)
{
	struct transformer *m = r->model;
	bool old = r->family->old_names;
	const char *heads = old ? "n_head" : "num_attention_heads",
		   *kv_heads = old ? "n_head_kv" : "num_key_value_heads";
	const char *hidden = old ? "n_embd" : "hidden_size";
	if (!whole(r, hidden, 1, TRANSFORMER_HIDDEN_MAX, REQUIRED, &m->hidden) ||
	    !whole(r, old ? "n_layer" : "num_hidden_layers", 1, TRANSFORMER_LAYERS_MAX, REQUIRED, &m->layers) ||
	    !whole(r, heads, 1, TRANSFORMER_HEADS_MAX, or_required(r->family->heads), &m->heads) ||
	    !whole(r, kv_heads, 1, TRANSFORMER_HEADS_MAX, missing_kv_heads(r, kv_heads), &m->kv_heads) ||
	    !whole(r, "vocab_size", 1, TRANSFORMER_WIDTH_MAX, or_required(r->family->vocab), &m->vocab) ||
	    !whole(r, old ? "n_inner" : "intermediate_size", 1, TRANSFORMER_WIDTH_MAX,
		   old ? 4 * (int64_t)m->hidden : REQUIRED, &m->intermediate) ||
	    !whole(r, old ? "n_positions" : "max_position_embeddings", 1, INT32_MAX, 0, &m->max_context))
		return false;
	if (m->heads % m->kv_heads != 0)
		return fail(r, kv_heads, "%" PRIu32 " does not divide %s, %" PRIu32, m->kv_heads, heads, m->heads);
	if (r->family->latent)
		return true;
	int64_t head_dim = r->family->head_dim != REQUIRED ? r->family->head_dim : m->hidden / m->heads;
	if (r->family->head_dim == REQUIRED && !field(r, "head_dim") && m->hidden % m->heads != 0)
		return fail(r, hidden, "%" PRIu32 " is no multiple of %s, %" PRIu32 ", and head_dim is not given",
			    m->hidden, heads, m->heads);
	if (!field(r, "head_dim") && head_dim > TRANSFORMER_HEAD_DIM_MAX)
		return fail(r, heads,
			    "%" PRIu32 " heads of %s %" PRIu32 " make a head_dim of %" PRId64
			    ", %d at most would be right",
			    m->heads, hidden, m->hidden, head_dim, TRANSFORMER_HEAD_DIM_MAX);
	if (!whole(r, "head_dim", 1, TRANSFORMER_HEAD_DIM_MAX, head_dim, &m->head_dim))
		return false;
	return (uint64_t)(m->heads + 2 * m->kv_heads) * m->head_dim <= TRANSFORMER_WIDTH_MAX ||
	       fail(r, heads, "Q, K and V of a token are %" PRIu64 " elements, %d at most would be right",
		    (uint64_t)(m->heads + 2 * m->kv_heads) * m->head_dim, TRANSFORMER_WIDTH_MAX);
}

static bool read_latent(struct reader *r)
{
	struct transformer *m = r->model;
	if (!r->family->latent)
		return true;
	if (!whole(r, "kv_lora_rank", 1, TRANSFORMER_RANK_MAX, REQUIRED, &m->kv_rank) ||
	    !whole(r, "q_lora_rank", 1, TRANSFORMER_RANK_MAX, 0, &m->q_rank) ||
	    !whole(r, "qk_nope_head_dim", 1, TRANSFORMER_HEAD_DIM_MAX, REQUIRED, &m->nope_dim) ||
	    !whole(r, "qk_rope_head_dim", 1, TRANSFORMER_HEAD_DIM_MAX, REQUIRED, &m->rope_dim) ||
	    !whole(r, "v_head_dim", 1, TRANSFORMER_HEAD_DIM_MAX, REQUIRED, &m->v_dim))
		return false;
	m->head_dim = m->nope_dim + m->rope_dim;
	m->rotary_dim = m->rope_dim;
	return (uint64_t)m->heads * (m->nope_dim + m->v_dim + m->rope_dim) <= TRANSFORMER_WIDTH_MAX ||
	       fail(r, "num_attention_heads",
		    "keys and values of a token are %" PRIu64 " elements, %d at most would be right",
		    (uint64_t)m->heads * (m->nope_dim + m->v_dim + m->rope_dim), TRANSFORMER_WIDTH_MAX);
}

static bool read_activation(struct reader *r)
{
	static const struct {
		const char *name;
		enum transformer_activation activation;
	} known[] = {
		{ "silu", TRANSFORMER_SILU },      { "swish", TRANSFORMER_SILU },
		{ "gelu", TRANSFORMER_GELU },      { "gelu_new", TRANSFORMER_GELU },
		{ "gelu_fast", TRANSFORMER_GELU }, { "gelu_pytorch_tanh", TRANSFORMER_GELU },
	};
	/* Gemma's newer field goes before the older one, which the library no longer looks at. */
	static const char *const keys[] = { "hidden_activation", "hidden_act", "activation_function" };
	const char *key = NULL, *name = NULL;
	for (unsigned i = 0; i < sizeof keys / sizeof keys[0] && !name; i++) {
		key = keys[i];
		if (!word(r, r->root, key, &name))
			return false;
	}
	name = name ? name : r->family->activation;
	for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++)
		if (strcmp(known[i].name, name) == 0 && (!r->family->plain || known[i].activation == TRANSFORMER_GELU)) {
			r->model->activation = known[i].activation;
			return true;
		}
	char shown[64];
	npu_plain(name, strlen(name), shown, sizeof shown);
	return fail(r, key, "\"%s\" is not supported in an MLP with%s a gate; %sgelu, gelu_new, gelu_fast and gelu_pytorch_tanh are",
		    shown, r->family->plain ? "out" : "", r->family->plain ? "" : "silu, swish, ");
}

static bool read_biases(struct reader *r)
{
	struct transformer *m = r->model;
	const struct family *f = r->family;
	bool attention = false;
	if (f->attention_bias && !flag(r, "attention_bias", false, &attention))
		return false;
	m->qkv_bias = attention || f->qkv_bias || f->all_bias;
	m->o_bias = attention || f->all_bias;
	m->head_bias = f->all_bias;
	if (f->mlp_bias && !flag(r, "mlp_bias", false, &m->mlp_bias))
		return false;
	m->mlp_bias |= f->all_bias;
	m->qk_norm = f->qk_norm;
	if (f->plain && !flag(r, "qk_layernorm", false, &m->qk_norm))
		return false;
	m->gated = !f->plain;
	m->layer_norm = m->parallel = f->plain;
	m->post_norms = f->post_norms;
	return flag(r, "tie_word_embeddings", f->tied, &m->tied) &&
	       real_in(r, r->root, "attn_logit_softcapping", 1e-6, 1e9, 0, &m->attention_softcap) &&
	       real_in(r, r->root, "final_logit_softcapping", 1e-6, 1e9, 0, &m->final_softcap);
}

/* Numbers that no figure depends on are looked at all the same: a file that the library would not load describes no
 * model. */
static bool check_numbers(const struct reader *r)
{
	static const struct {
		const char *key;
		double min, max;
	} numbers[] = {
		{ "rms_norm_eps", 0, 1 },
		{ "layer_norm_eps", 0, 1 },
		{ "layer_norm_epsilon", 0, 1 },
		{ "query_pre_attn_scalar", 1e-6, 1e9 },
	};
	double value;
	for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		if (!real_in(r, r->root, numbers[i].key, numbers[i].min, numbers[i].max, 0, &value))
			return false;
	return true;
}

static bool read_quantization(struct reader *r)
{
	const json_t *object = field(r, "quantization_config");
	const char *method;
	if (!object)
		return true;
	if (!json_is_object(object))
		return fail(r, "quantization_config", "is %s, an object would be right", type_name(object));
	if (!word(r, object, "quant_method", &method))
		return false;
	method = method && method[0] ? method : "a method without a name";
	npu_plain(method, strlen(method), r->model->quantized, sizeof r->model->quantized);
	return true;
}

/* ---- rotary embedding ---- */

static bool check_rope_numbers(const struct reader *r, const json_t *object)
{
	static const char *const numbers[] = { "beta_fast",        "beta_slow", "low_freq_factor", "high_freq_factor",
					       "attention_factor", "mscale",    "mscale_all_dim" };
	double value;
	for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		if (!real_in(r, object, numbers[i], -1e9, 1e9, 0, &value))
			return false;
	return real_in(r, object, "factor", 1e-6, 1e9, 1, &value) &&
	       real_in(r, object, "original_max_position_embeddings", 1, INT32_MAX, 1, &value);
}

/* All of these turn pairs of elements by an angle of the position; they differ in the angle alone. */
static bool check_rope_type(struct reader *r, const char *key, const json_t *object)
{
	static const char *const types[] = { "default", "linear", "dynamic", "yarn", "llama3", "longrope", "su" };
	const char *type;
	if (!json_is_object(object))
		return fail(r, key, "is %s, an object would be right", type_name(object));
	if (!word(r, object, "rope_type", &type) || (!type && !word(r, object, "type", &type)))
		return false;
	for (unsigned i = 0; type && i < sizeof types / sizeof types[0]; i++)
		if (strcmp(types[i], type) == 0)
			return check_rope_numbers(r, object);
	if (!type)
		return check_rope_numbers(r, object);
	char shown[64];
	npu_plain(type, strlen(type), shown, sizeof shown);
	return fail(
	    r, key,
	    "the rope_type \"%s\" is not supported; default, linear, dynamic, yarn, llama3, longrope and su are",
	    shown);
}

static bool read_rope(struct reader *r)
{
	struct transformer *m = r->model;
	const json_t *parameters = field(r, "rope_parameters"), *scaling = field(r, "rope_scaling");
	const json_t *sliding = json_is_object(parameters) ? json_object_get(parameters, "sliding_attention") : NULL;
	const json_t *full = json_is_object(parameters) ? json_object_get(parameters, "full_attention") : NULL;
	double factor, inner = 0, missing = r->family->plain ? 0.5 : 1;
	if ((scaling && !check_rope_type(r, "rope_scaling", scaling)) ||
	    (parameters && !check_rope_type(r, "rope_parameters", parameters)) ||
	    (sliding && !check_rope_type(r, "rope_parameters", sliding)) ||
	    (full && !check_rope_type(r, "rope_parameters", full)))
		return false;
	double theta;
	if (!real_in(r, r->root, "rope_theta", 1, 1e12, 1e4, &theta) ||
	    (parameters && !real_in(r, full ? full : parameters, "rope_theta", 1, 1e12, 1e4, &theta)) ||
	    (parameters && !real_in(r, full ? full : parameters, "partial_rotary_factor", 0, 1, 0, &inner)) ||
	    !real_in(r, r->root, "partial_rotary_factor", 0, 1, inner > 0 ? inner : missing, &factor))
		return false;
	const char *key = m->kv_rank             ? "qk_rope_head_dim"
			  : field(r, "head_dim") ? "head_dim"
			  : r->family->old_names ? "n_embd"
						 : "hidden_size";
	if (!m->kv_rank) {
		m->rotary_dim = (uint32_t)(m->head_dim * factor);
		if (r->family->old_names && !whole(r, "rotary_dim", 0, m->head_dim, m->rotary_dim, &m->rotary_dim))
			return false;
	}
	return m->rotary_dim % 2 == 0 ||
	       fail(r, r->family->old_names && field(r, "rotary_dim") ? "rotary_dim" : key,
		    "rotary embedding turns %" PRIu32 " elements of a head, an even number would be right",
		    m->rotary_dim);
}

/* ---- which layer is what ---- */

static bool read_layer_types(struct reader *r, const json_t *types)
{
	struct transformer *m = r->model;
	if (!json_is_array(types) || json_array_size(types) != m->layers)
		return fail(r, "layer_types", "a list of num_hidden_layers, %" PRIu32 ", strings would be right",
			    m->layers);
	for (uint32_t i = 0; i < m->layers; i++) {
		const json_t *value = json_array_get(types, i);
		const char *type = json_string_value(value);
		char shown[64];
		if (!type)
			return fail(r, "layer_types", "layer %" PRIu32 ": is %s, a string would be right", i,
				    type_name(value));
		m->windowed[i] = strcmp(type, "sliding_attention") == 0;
		if (m->windowed[i] || strcmp(type, "full_attention") == 0)
			continue;
		npu_plain(type, strlen(type), shown, sizeof shown);
		return fail(r, "layer_types",
			    "layer %" PRIu32 ": \"%s\" is not supported; full_attention and sliding_attention are", i,
			    shown);
	}
	return true;
}

static bool read_window(struct reader *r)
{
	struct transformer *m = r->model;
	const json_t *types = field(r, "layer_types");
	const char *key = json_object_get(r->root, "sliding_window") || !json_object_get(r->root, "sliding_window_size")
			      ? "sliding_window"
			      : "sliding_window_size";
	bool may_be_off = r->family->window_switch, used = true;
	uint32_t first = 0, pattern = r->family->full_every;
	/* null says that there is no window, unlike a field that is not there. */
	int64_t missing = json_object_get(r->root, key) ? 0 : r->family->window;
	if ((may_be_off && !flag(r, "use_sliding_window", false, &used)) ||
	    !whole(r, key, 1, INT32_MAX, missing, &m->window) ||
	    (may_be_off && !whole(r, "max_window_layers", 0, INT32_MAX, 28, &first)) ||
	    (r->family->window_pattern &&
	     !whole(r, "sliding_window_pattern", 1, TRANSFORMER_LAYERS_MAX, pattern, &pattern)))
		return false;
	if (!used || r->family->latent)
		m->window = 0;
	m->window_full_every = m->window ? pattern : 0;
	model_fill_layers(m);
	for (uint32_t i = 0; may_be_off && i < first && i < m->layers; i++)
		m->windowed[i] = false;
	if (types && !read_layer_types(r, types))
		return false;
	bool any = false;
	for (uint32_t i = 0; i < m->layers; i++)
		any |= m->windowed[i];
	if (any && !m->window)
		return fail(r, "layer_types", "a layer is sliding_attention, and sliding_window is not given");
	m->window = any ? m->window : 0;
	return true;
}

/* Layers that are dense whatever their number. */
static bool read_dense_layers(struct reader *r)
{
	const json_t *list = field(r, "mlp_only_layers");
	if (!list)
		return true;
	if (!json_is_array(list))
		return fail(r, "mlp_only_layers", "is %s, a list would be right", type_name(list));
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *value = json_array_get(list, i);
		json_int_t layer = json_integer_value(value);
		if (!json_is_integer(value) || layer < 0 || layer >= r->model->layers)
			return fail(r, "mlp_only_layers", "layers 0 to %" PRIu32 " would be right",
				    r->model->layers - 1);
		r->model->moe[layer] = false;
	}
	return true;
}

static bool read_experts(struct reader *r)
{
	struct transformer *m = r->model;
	const char *key = r->family->experts;
	if (!key) {
		/* A dense class with experts would be run without them. */
		static const char *const others[] = { "num_experts", "num_local_experts", "n_routed_experts" };
		for (unsigned i = 0; i < 3; i++)
			if (field(r, others[i]))
				return fail(r, others[i], "a %s model has no experts", r->family->type);
		return true;
	}
	if (!field(r, key) && !r->family->latent && field(r, "num_experts"))
		key = "num_experts";
	else if (!field(r, key) && !r->family->latent && field(r, "num_local_experts"))
		key = "num_local_experts";
	if (!whole(r, key, 1, TRANSFORMER_EXPERTS_MAX, REQUIRED, &m->experts))
		return false;
	/* DeepSeek's own classes and those of the library have other defaults, so neither are guessed. */
	int64_t none = r->family->latent ? REQUIRED : 0, beside = r->family->shared_gate ? REQUIRED : 0;
	int64_t width = r->family->wide_experts ? (int64_t)m->intermediate : REQUIRED;
	uint32_t shared = 0;
	const char *method;
	if (!whole(r, "num_experts_per_tok", 1, m->experts, REQUIRED, &m->experts_used) ||
	    !whole(r, "moe_intermediate_size", 1, TRANSFORMER_WIDTH_MAX, width, &m->expert_intermediate) ||
	    !whole(r, "shared_expert_intermediate_size", 0, TRANSFORMER_WIDTH_MAX, beside, &m->shared_intermediate) ||
	    !whole(r, "n_shared_experts", 0, TRANSFORMER_EXPERTS_MAX, none, &shared) ||
	    !whole(r, "first_k_dense_replace", 0, TRANSFORMER_LAYERS_MAX, none, &m->dense_first) ||
	    !whole(r, r->family->latent ? "moe_layer_freq" : "decoder_sparse_step", 1, TRANSFORMER_LAYERS_MAX, 1,
		   &m->moe_every) ||
	    !word(r, r->root, "topk_method", &method))
		return false;
	if ((uint64_t)shared * m->expert_intermediate > TRANSFORMER_WIDTH_MAX)
		return fail(r, "n_shared_experts", "%" PRIu32 " of %" PRIu32 " elements are more than %d", shared,
			    m->expert_intermediate, TRANSFORMER_WIDTH_MAX);
	if (r->family->latent)
		m->shared_intermediate = shared * m->expert_intermediate;
	else if (!r->family->shared_gate)
		m->shared_intermediate = 0;
	m->shared_gate = r->family->shared_gate;
	m->router_bias = r->family->router_bias && (!method || strcmp(method, "noaux_tc") == 0);
	return whole(r, "num_nextn_predict_layers", 0, TRANSFORMER_LAYERS_MAX, 0, &m->predict_layers);
}

static bool read_model(struct reader *r)
{
	return enter_text_config(r) && read_family(r) && read_sizes(r) && read_latent(r) && read_activation(r) && read_biases(r) &&
	       check_numbers(r) && read_quantization(r) && read_rope(r) && read_experts(r) && read_window(r) &&
	       read_dense_layers(r);
}

/* The name of the field whose value ends at `at`, without its quotes; nbytes 0: none can be told. */
static struct npu_text field_before(const char *text, uint64_t at)
{
	struct npu_text name = { "" };
	uint64_t colon = at;
	while (colon > 0 && text[colon - 1] != ':' && !strchr("\n,{}[]", text[colon - 1]))
		colon--;
	if (colon == 0 || text[colon - 1] != ':')
		return name;
	uint64_t end = colon - 1;
	while (end > 0 && text[end - 1] == ' ')
		end--;
	if (end == 0 || text[--end] != '"')
		return name;
	uint64_t from = end;
	while (from > 0 && text[from - 1] != '"' && text[from - 1] != '\n')
		from--;
	if (from > 0 && text[from - 1] == '"' && end - from < sizeof name.text - 1)
		npu_plain(text + from, end - from, name.text, sizeof name.text);
	return name;
}

bool model_config_read(const char *path, const char *text, uint64_t nbytes, struct transformer *model,
		       struct npu_error *err)
{
	json_error_t found;
	struct transformer read = { 0 };
	json_t *root = json_loadb(text, nbytes, JSON_REJECT_DUPLICATES, &found);
	struct reader r = { path, text, nbytes, 0, root, NULL, &read, err };
	const char *zero = root ? NULL : memchr(text, 0, nbytes);
	if (zero) {
		uint64_t at = (uint64_t)(zero - text), line = 1, begin = 0;
		for (uint64_t i = 0; i < at; i++)
			if (text[i] == '\n') {
				line++;
				begin = i + 1;
			}
		return npu_fail_at(err, NPU_ERR_SYNTAX, path, (uint32_t)line, (uint32_t)(at - begin + 1),
				   "a zero byte: this is no text");
	}
	if (!root) {
		char shown[160];
		npu_plain(found.text, strlen(found.text), shown, sizeof shown);
		bool ends = json_error_code(&found) == json_error_premature_end_of_input;
		if (json_error_code(&found) == json_error_numeric_overflow && found.position > 0) {
			uint64_t at = (uint64_t)found.position < nbytes ? (uint64_t)found.position : nbytes;
			struct npu_text field = field_before(text, at);
			return npu_fail_at(err, NPU_ERR_SYNTAX, path, (uint32_t)found.line, (uint32_t)found.column,
					   "%s%sthe number is too large", field.text, field.text[0] ? ": " : "");
		}
		return npu_fail_at(err, NPU_ERR_SYNTAX, path, (uint32_t)(found.line > 0 ? found.line : 0),
				   (uint32_t)(found.column > 0 ? found.column : 0), "%s%s", shown,
				   ends ? ": the file is cut short" : "");
	}
	bool ok = json_is_object(root)
		      ? read_model(&r)
		      : npu_fail_at(err, NPU_ERR_SYNTAX, path, 1, 1, "a model's config.json is an object, this is %s",
				    type_name(root));
	json_decref(root);
	if (ok)
		*model = read;
	return ok;
}
