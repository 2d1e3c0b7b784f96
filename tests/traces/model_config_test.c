/* SPDX-License-Identifier: Apache-2.0 */
/* config.json: what is read from which field, what stands for fields that are missing, and every kind of bad input by the field
 * that it is in. */
#include "tests/support/suite.h"
#include "traces/model_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct transformer dims;
static struct npu_error err;

#define LLAMA_BUT                                                                                        \
	"{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_hidden_layers\": 3, \"vocab_size\": 100,\n" \
	" \"num_attention_heads\": 8, \"intermediate_size\": 172"

static bool read_text(const char *text)
{
	memset(&dims, 0, sizeof dims);
	return model_config_read("c.json", text, strlen(text), &dims, &err);
}

static void accept(const char *text)
{
	ck_assert_msg(read_text(text), "%s\n%s", text, err.text);
}

static void refuse(const char *text, const char *message)
{
	char said[3400];
	ck_assert_msg(!read_text(text), "read: %s", text);
	ck_assert_str_eq(npu_error_print(&err, said, sizeof said), message);
	ck_assert_ptr_null(strchr(said, '\n'));
	ck_assert_uint_eq(dims.hidden, 0);
}

START_TEST(fields_that_are_missing_have_the_library_s_defaults)
{
	accept(LLAMA_BUT "}");
	ck_assert_uint_eq(dims.kv_heads, 8);
	ck_assert_uint_eq(dims.head_dim, 8);
	ck_assert_uint_eq(dims.rotary_dim, 8);
	ck_assert(!dims.tied && !dims.qkv_bias && !dims.windowed[0] && dims.gated);
	accept("{\"model_type\": \"gemma2\", \"hidden_size\": 64, \"num_hidden_layers\": 3, \"vocab_size\": 100,"
	       "\"num_attention_heads\": 8, \"intermediate_size\": 172, \"head_dim\": null}");
	ck_assert_uint_eq(dims.head_dim, 256);
	ck_assert(dims.tied && dims.post_norms);
	ck_assert(dims.windowed[0] && !dims.windowed[1] && dims.windowed[2]);
}
END_TEST

#define MISTRAL(heads) "{\"model_type\": \"mistral\", \"hidden_size\": 4096, \"num_hidden_layers\": 3, \"vocab_size\": 100," \
		       "\"num_attention_heads\": " heads ", \"intermediate_size\": 172"
START_TEST(kv_heads_that_are_missing_are_those_of_the_class_and_null_means_the_query_heads)
{
	accept(MISTRAL("32") "}");
	ck_assert(dims.kv_heads == 8 && dims.kv_heads_assumed);
	accept(MISTRAL("32") ", \"num_key_value_heads\": null}");
	ck_assert(dims.kv_heads == 32 && !dims.kv_heads_assumed);
	accept(MISTRAL("32") ", \"num_key_value_heads\": 8}");
	ck_assert(dims.kv_heads == 8 && !dims.kv_heads_assumed);
	/* 8 heads of K and V cannot serve 4. */
	accept(MISTRAL("4") "}");
	ck_assert(dims.kv_heads == 4 && !dims.kv_heads_assumed);
}
END_TEST

#define GEMMA3 "{\"model_type\": \"gemma3\", \"architectures\": [\"Gemma3ForConditionalGeneration\"], \"hidden_size\": 1,\n" \
	       "\"vision_config\": {\"hidden_size\": 1152},\n" \
	       "\"text_config\": {\"model_type\": \"gemma3_text\", \"hidden_size\": 2560,\n" \
	       "\"num_hidden_layers\": 34, \"intermediate_size\": 10240, \"sliding_window\": 1024"
START_TEST(the_language_part_of_a_larger_model_is_read)
{
	/* As gemma-3-4b-it has it: what is the class's own is left out. */
	accept(GEMMA3 "}}");
	ck_assert(dims.heads == 8 && dims.kv_heads == 4 && dims.head_dim == 256 && dims.vocab == 262208 && dims.tied);
	ck_assert(dims.windowed[0] && !dims.windowed[5] && dims.windowed[6]);
	ck_assert_str_eq(dims.family, "gemma3_text");
	ck_assert_str_eq(dims.outer, "gemma3");
	/* A place is one of the part, not of a field of that name before it. */
	refuse(GEMMA3 ", \"head_dim\": \"x\"}}", "c.json:4:78: head_dim: is a string, a whole number would be right");
	refuse("{\"model_type\": \"x\", \"hidden_size\": 2,\n\"text_config\": {\"model_type\": \"llama\", \"hidden_size\": 0}}",
	       "c.json:2:40: hidden_size: 0 is not 1 to 262144");
	refuse("{\"model_type\": \"x\", \"text_config\": {\"model_type\": \"y\"}, \"z\": 1}",
	       "c.json:1:37: model_type: \"y\" is not supported; of decoders, these are: llama, mistral, mixtral, qwen2, qwen2_moe, "
	       "qwen3, qwen3_moe, gemma, gemma2, gemma3_text, phi, phi-msft, phi3, minicpm, deepseek_v2, deepseek_v3");
	refuse("{\"model_type\": \"x\", \"text_config\": 7}", "c.json:1:21: text_config: is a number, an object would be right");
	/* What the whole says of its weights holds for the part, where that says nothing; a known type has no need of one. */
	accept("{\"model_type\": \"x\", \"tie_word_embeddings\": true, \"quantization_config\": {\"quant_method\": \"awq\"},"
	       "\"text_config\": " LLAMA_BUT "}}");
	ck_assert(dims.tied && strcmp(dims.quantized, "awq") == 0);
	accept(LLAMA_BUT ", \"text_config\": 7}");
	ck_assert_str_eq(dims.outer, "");
}
END_TEST

START_TEST(explicit_fields_go_before_what_others_imply)
{
	accept(LLAMA_BUT ", \"num_key_value_heads\": 2, \"head_dim\": 16, \"tie_word_embeddings\": true,"
			 "\"attention_bias\": true, \"mlp_bias\": true}");
	ck_assert_uint_eq(dims.kv_heads, 2);
	ck_assert_uint_eq(dims.head_dim, 16);
	ck_assert(dims.tied && dims.qkv_bias && dims.o_bias && dims.mlp_bias);
	ck_assert_str_eq(dims.quantized, "");
	accept(LLAMA_BUT ", \"quantization_config\": {\"bits\": 4, \"quant_method\": \"gptq\"}, \"rms_norm_eps\": 1e-5}");
	ck_assert_str_eq(dims.quantized, "gptq");
	accept(LLAMA_BUT ", \"rope_parameters\": {\"rope_type\": \"yarn\", \"rope_theta\": 1e6, \"partial_rotary_factor\": 0.5}}");
	ck_assert_uint_eq(dims.rotary_dim, 4);
}
END_TEST

START_TEST(layer_types_say_which_layers_have_a_window)
{
	accept("{\"model_type\": \"mistral\", \"hidden_size\": 64, \"num_hidden_layers\": 3, \"vocab_size\": 100,"
	       "\"num_attention_heads\": 8, \"intermediate_size\": 172, \"sliding_window\": 32,"
	       "\"layer_types\": [\"full_attention\", \"sliding_attention\", \"full_attention\"]}");
	ck_assert_uint_eq(dims.window, 32);
	ck_assert(!dims.windowed[0] && dims.windowed[1] && !dims.windowed[2]);
}
END_TEST

START_TEST(experts_are_read_by_either_name)
{
#define MOE "\"hidden_size\": 64, \"num_hidden_layers\": 4, \"vocab_size\": 100, \"num_attention_heads\": 8," \
	    "\"intermediate_size\": 172, \"num_experts_per_tok\": 2"
	accept("{\"model_type\": \"mixtral\", " MOE ", \"num_local_experts\": 8}");
	ck_assert_uint_eq(dims.experts, 8);
	ck_assert_uint_eq(dims.expert_intermediate, 172);
	accept("{\"model_type\": \"qwen3_moe\", " MOE ", \"num_experts\": 16, \"moe_intermediate_size\": 48,"
	       "\"decoder_sparse_step\": 2, \"mlp_only_layers\": [3]}");
	ck_assert_uint_eq(dims.expert_intermediate, 48);
	/* Layers 2 and 4 by their step, and the fourth is dense. */
	ck_assert(!dims.moe[0] && dims.moe[1] && !dims.moe[2] && !dims.moe[3]);
}
END_TEST

#define DEEPSEEK "{\"model_type\": \"deepseek_v2\", " MOE ", \"kv_lora_rank\": 32, \"qk_nope_head_dim\": 16, \"qk_rope_head_dim\": 8," \
		 "\"v_head_dim\": 16, \"moe_intermediate_size\": 48"
START_TEST(counts_of_experts_are_never_guessed)
{
	accept(DEEPSEEK ", \"n_routed_experts\": 8, \"n_shared_experts\": 0, \"first_k_dense_replace\": 0}");
	ck_assert_uint_eq(dims.experts, 8);
	ck_assert(dims.shared_intermediate == 0 && dims.moe[0]);
	refuse(DEEPSEEK ", \"n_shared_experts\": 1, \"first_k_dense_replace\": 1}",
	       "c.json: n_routed_experts: the field is missing; a deepseek_v2 model has it");
	refuse(DEEPSEEK ", \"n_routed_experts\": 8, \"first_k_dense_replace\": 1}",
	       "c.json: n_shared_experts: the field is missing; a deepseek_v2 model has it");
	refuse(DEEPSEEK ", \"n_routed_experts\": 8, \"n_shared_experts\": null, \"first_k_dense_replace\": 1}",
	       "c.json: n_shared_experts: the field is missing; a deepseek_v2 model has it");
	refuse(DEEPSEEK ", \"n_routed_experts\": 8, \"n_shared_experts\": 1}",
	       "c.json: first_k_dense_replace: the field is missing; a deepseek_v2 model has it");
	refuse("{\"model_type\": \"qwen2_moe\", " MOE ", \"num_experts\": 8, \"moe_intermediate_size\": 48}",
	       "c.json: shared_expert_intermediate_size: the field is missing; a qwen2_moe model has it");
	/* Qwen3's class has no shared expert, whatever a file says. */
	accept("{\"model_type\": \"qwen3_moe\", " MOE ", \"num_experts\": 8, \"moe_intermediate_size\": 48, \"shared_expert_intermediate_size\": 96}");
	ck_assert(dims.shared_intermediate == 0 && !dims.shared_gate);
	refuse("{\"model_type\": \"mixtral\", " MOE ",\n\"num_local_experts\": 0}",
	       "c.json:2:1: num_local_experts: 0 is not 1 to 4096");
	refuse("{\"model_type\": \"mixtral\", " MOE "}",
	       "c.json: num_local_experts: the field is missing; a mixtral model has it");
}
END_TEST

START_TEST(every_kind_of_bad_input_names_its_field)
{
	refuse("", "c.json:1: '[' or '{' expected near end of file: the file is cut short");
	refuse(LLAMA_BUT, "c.json:2:51: '}' expected near end of file: the file is cut short");
	refuse(LLAMA_BUT ", \"head_dim\" : 99999999999999999999}", "c.json:2:86: head_dim: the number is too large");
	refuse(LLAMA_BUT ", \"head_dim\": -1e999}", "c.json:2:71: head_dim: the number is too large");
	refuse(LLAMA_BUT ", \"x\": [1e999]}", "c.json:2:64: the number is too large");
	refuse("[1]", "c.json:1:1: a model's config.json is an object, this is a list");
	refuse(LLAMA_BUT ", \"head_dim\": \"64\"}", "c.json:2:54: head_dim: is a string, a whole number would be right");
	refuse(LLAMA_BUT ", \"head_dim\": 64.5}", "c.json:2:54: head_dim: is no whole number, a whole number would be right");
	refuse(LLAMA_BUT ", \"head_dim\": 0}", "c.json:2:54: head_dim: 0 is not 1 to 1024");
	refuse(LLAMA_BUT ", \"head_dim\": -64}", "c.json:2:54: head_dim: -64 is not 1 to 1024");
	refuse(LLAMA_BUT ", \"max_position_embeddings\": 99999999999}",
	       "c.json:2:54: max_position_embeddings: 99999999999 is not 1 to 2147483647");
	refuse(LLAMA_BUT ", \"num_key_value_heads\": 3}",
	       "c.json:2:54: num_key_value_heads: 3 does not divide num_attention_heads, 8");
	refuse(LLAMA_BUT ", \"tie_word_embeddings\": 1}",
	       "c.json:2:54: tie_word_embeddings: is a number, true or false would be right");
	refuse(LLAMA_BUT ", \"hidden_act\": \"mish\"}",
	       "c.json:2:54: hidden_act: \"mish\" is not supported in an MLP with a gate; silu, swish, gelu, gelu_new, gelu_fast and gelu_pytorch_tanh are");
	refuse(LLAMA_BUT ", \"hidden_act\": \"relu\"}",
	       "c.json:2:54: hidden_act: \"relu\" is not supported in an MLP with a gate; silu, swish, gelu, gelu_new, gelu_fast and gelu_pytorch_tanh are");
	refuse("{\"model_type\": \"phi\", \"hidden_size\": 64, \"num_hidden_layers\": 1, \"num_attention_heads\": 8, \"vocab_size\": 512,\n"
	       " \"intermediate_size\": 256, \"hidden_act\": \"silu\"}",
	       "c.json:2:28: hidden_act: \"silu\" is not supported in an MLP without a gate; gelu, gelu_new, gelu_fast and gelu_pytorch_tanh are");
	refuse(LLAMA_BUT ", \"rope_scaling\": {\"type\": \"ntk\\u0007\"}}",
	       "c.json:2:54: rope_scaling: the rope_type \"ntk\\x07\" is not supported; default, linear, dynamic, yarn, llama3, longrope and su are");
	refuse(LLAMA_BUT ", \"num_local_experts\": 8}", "c.json:2:54: num_local_experts: a llama model has no experts");
	refuse(LLAMA_BUT ", \"layer_types\": [\"full_attention\"]}",
	       "c.json:2:54: layer_types: a list of num_hidden_layers, 3, strings would be right");
	refuse(LLAMA_BUT ", \"layer_types\": [\"full_attention\", \"linear_attention\", \"full_attention\"]}",
	       "c.json:2:54: layer_types: layer 1: \"linear_attention\" is not supported; full_attention and sliding_attention are");
	refuse(LLAMA_BUT ", \"layer_types\": [\"full_attention\", \"sliding_attention\", \"full_attention\"]}",
	       "c.json:2:54: layer_types: a layer is sliding_attention, and sliding_window is not given");
	refuse(LLAMA_BUT ", \"layer_types\": [1, 1, 1]}", "c.json:2:54: layer_types: layer 0: is a number, a string would be right");
	refuse(LLAMA_BUT ", \"rms_norm_eps\": \"1e-5\"}", "c.json:2:54: rms_norm_eps: is a string, a number would be right");
	refuse(LLAMA_BUT ", \"rms_norm_eps\": [1e-5]}", "c.json:2:54: rms_norm_eps: is a list, a number would be right");
	refuse(LLAMA_BUT ", \"rms_norm_eps\": -1e-5}", "c.json:2:54: rms_norm_eps: -1e-05 is not 0 to 1");
	refuse(LLAMA_BUT ", \"rope_scaling\": {\"type\": \"linear\", \"factor\": \"x\"}}",
	       "c.json:2:89: factor: is a string, a number would be right");
	refuse(LLAMA_BUT ", \"rope_scaling\": {\"factor\": 0}}", "c.json:2:71: factor: 0 is not 1e-06 to 1e+09");
	refuse(LLAMA_BUT ", \"query_pre_attn_scalar\": \"x\"}", "c.json:2:54: query_pre_attn_scalar: is a string, a number would be right");
	refuse(LLAMA_BUT ", \"query_pre_attn_scalar\": 0}", "c.json:2:54: query_pre_attn_scalar: 0 is not 1e-06 to 1e+09");
	refuse(LLAMA_BUT ", \"quantization_config\": \"gptq\"}", "c.json:2:54: quantization_config: is a string, an object would be right");
	refuse(LLAMA_BUT ", \"quantization_config\": {\"quant_method\": 4}}", "c.json:2:78: quant_method: is a number, a string would be right");
	refuse(LLAMA_BUT ", \"head_dim\": 127}",
	       "c.json:2:54: head_dim: rotary embedding turns 127 elements of a head, an even number would be right");
	refuse(LLAMA_BUT ", \"vocab_size\": 7}", "c.json:2:65: duplicate object key near '\"vocab_size\"'");
	refuse(LLAMA_BUT ", \"architectures\": [\"LlamaForSequenceClassification\"]}",
	       "c.json:2:54: architectures: \"LlamaForSequenceClassification\" is not supported; of model_type llama, LlamaForCausalLM is");
	refuse("{\"model_type\": \"llama\"}", "c.json: hidden_size: the field is missing; a llama model has it");
	refuse("{\"hidden_size\": 64}", "c.json: model_type: the field is missing, and so is architectures");
	refuse("{\"model_type\": \"mamba2\"}",
	       "c.json:1:2: model_type: \"mamba2\" is not supported; of decoders, these are: llama, mistral, mixtral, qwen2, qwen2_moe, "
	       "qwen3, qwen3_moe, gemma, gemma2, gemma3_text, phi, phi-msft, phi3, minicpm, deepseek_v2, deepseek_v3");
	refuse("{\"model_type\": \"llama\", \"hidden_size\": 65, \"num_hidden_layers\": 3, \"vocab_size\": 100,"
	       "\"num_attention_heads\": 8, \"intermediate_size\": 172}",
	       "c.json:1:25: hidden_size: 65 is no multiple of num_attention_heads, 8, and head_dim is not given");
	refuse("{\"model_type\": \"llama\", \"hidden_size\": 4000000, \"num_hidden_layers\": 3}",
	       "c.json:1:25: hidden_size: 4000000 is not 1 to 262144");
}
END_TEST

START_TEST(a_file_cut_anywhere_is_refused_and_reads_no_byte_behind)
{
	static const char text[] = LLAMA_BUT ", \"rope_scaling\": {\"type\": \"yarn\"}, \"layer_types\": null}";
	for (size_t n = 0; n + 1 < sizeof text; n++) {
		char *copy = malloc(n + 1);
		memcpy(copy, text, n);
		ck_assert_msg(!model_config_read("c.json", copy, n, &dims, &err), "cut at %zu", n);
		free(copy);
	}
	accept(text);
}
END_TEST

START_TEST(the_table_finds_names_in_either_case_and_each_row_is_whole)
{
	ck_assert_ptr_nonnull(model_find("Llama-3-8B"));
	ck_assert_ptr_null(model_find("llama"));
	for (unsigned i = 0; i < model_table_size; i++) {
		const struct model_entry *e = &model_table[i];
		model_dims(e, &dims);
		ck_assert_ptr_eq(model_find(e->name), e);
		ck_assert_msg(dims.layers && dims.hidden && dims.vocab && dims.heads && dims.head_dim && dims.intermediate &&
				  dims.heads % dims.kv_heads == 0 && (!dims.experts || dims.experts_used), "%s", e->name);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("model_config");
	TCase *cases = tcase_create("all");
	tcase_add_test(cases, fields_that_are_missing_have_the_library_s_defaults);
	tcase_add_test(cases, kv_heads_that_are_missing_are_those_of_the_class_and_null_means_the_query_heads);
	tcase_add_test(cases, the_language_part_of_a_larger_model_is_read);
	tcase_add_test(cases, explicit_fields_go_before_what_others_imply);
	tcase_add_test(cases, layer_types_say_which_layers_have_a_window);
	tcase_add_test(cases, experts_are_read_by_either_name);
	tcase_add_test(cases, counts_of_experts_are_never_guessed);
	tcase_add_test(cases, every_kind_of_bad_input_names_its_field);
	tcase_add_test(cases, a_file_cut_anywhere_is_refused_and_reads_no_byte_behind);
	tcase_add_test(cases, the_table_finds_names_in_either_case_and_each_row_is_whole);
	suite_add_tcase(suite, cases);
	return npu_suite_run(suite);
}
