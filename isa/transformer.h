/* SPDX-License-Identifier: Apache-2.0 */
/* The dimensions of a Transformer, as readers of configurations fill them in (traces/) and builders of operators read
 * them (kernels/model/): neither of those rooms may include the other. No weight and no time is here. */
#ifndef NPU_ISA_TRANSFORMER_H
#define NPU_ISA_TRANSFORMER_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* With these limits a count of parameters stays below 2^63. */
enum {
	TRANSFORMER_LAYERS_MAX = 1024,
	TRANSFORMER_HIDDEN_MAX = 1 << 18,
	TRANSFORMER_WIDTH_MAX = (1 << 20) - 1, /* intermediate sizes, vocabularies, heads x head_dim */
	TRANSFORMER_HEADS_MAX = 1024,
	TRANSFORMER_HEAD_DIM_MAX = 1024,
	TRANSFORMER_RANK_MAX = 1 << 16,
	TRANSFORMER_EXPERTS_MAX = 4096,
};

enum transformer_activation { TRANSFORMER_SILU, TRANSFORMER_GELU };

/* Members that are 0 or false say that the model has no such thing. */
struct transformer {
	char name[96];
	char family[32];    /* `model_type` */
	char quantized[32]; /* `quant_method` of a checkpoint that is quantised; no figure depends on it */
	char outer[32];     /* `model_type` of the model of which this is the language part, its text_config */
	bool kv_heads_assumed; /* kv_heads is the default of its class, which is not that of Llama */

	uint32_t layers, hidden, vocab;
	uint32_t heads, kv_heads, head_dim;
	uint32_t rotary_dim;   /* elements of a head that are rotated */
	uint32_t intermediate; /* of a dense MLP */
	uint32_t max_context;  /* positions that it was made for; 0: not said */
	enum transformer_activation activation;
	bool gated;      /* the MLP multiplies an activated gate with a second projection */
	bool tied;       /* the head is the embedding */
	bool layer_norm; /* LayerNorm with bias in place of RMSNorm */
	bool parallel;   /* one norm feeds attention and MLP, which are added together */
	bool post_norms; /* a norm behind attention and one behind the MLP, too */
	bool qk_norm;    /* a norm over each head of Q and of K */
	bool qkv_bias, o_bias, mlp_bias, head_bias;
	double attention_softcap, final_softcap; /* softcap x tanh(x / softcap) of scores, of logits */

	uint32_t window;            /* keys that a windowed layer sees, the own one included */
	uint32_t window_full_every; /* every so manieth layer sees all; 0: none does */

	uint32_t experts, experts_used, expert_intermediate;
	uint32_t shared_intermediate; /* of the experts that every token takes, together */
	uint32_t dense_first;         /* layers before the first one with experts */
	uint32_t moe_every;           /* from there on every so manieth layer has experts */
	bool shared_gate;             /* a gate weighs the shared experts */
	bool router_bias;             /* a correction a routed expert */

	/* Multi-head latent attention: a token's cache is kv_rank + rope_dim elements, whatever the heads. */
	uint32_t kv_rank, q_rank, nope_dim, rope_dim, v_dim;
	uint32_t predict_layers; /* more layers that predict later tokens: neither counted nor run */

	bool windowed[TRANSFORMER_LAYERS_MAX];
	bool moe[TRANSFORMER_LAYERS_MAX];
};

#ifdef __cplusplus
}
#endif

#endif
