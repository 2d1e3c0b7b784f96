/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of parameters equal the published ones; the table of names equals the config.json files where they lie beside the tree. */
#include "kernels/model/model.h"
#include "sim/config_file.h"
#include "sim/model/figures.h"
#include "tests/support/suite.h"
#include "traces/model_config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

START_TEST(parameters_equal_the_published_counts)
{
	for (unsigned i = 0; i < model_table_size; i++) {
		struct transformer dims;
		model_dims(&model_table[i], &dims);
		ck_assert_msg(model_parameters(&dims) == model_table[i].parameters, "%s: %llu, published %llu",
			      model_table[i].name, (unsigned long long)model_parameters(&dims),
			      (unsigned long long)model_table[i].parameters);
	}
}
END_TEST

START_TEST(active_parameters_are_those_that_the_authors_name)
{
	static const struct {
		const char *name;
		double billions, within; /* as printed, so half of the last digit */
	} known[] = {
		{ "mixtral-8x7b", 12.9, 0.05 },   /* Mixtral of Experts: 13B active of 47B */
		{ "qwen3-30b-a3b", 3.3, 0.06 },   /* Qwen3: 30.5B, 3.3B activated */
		{ "deepseek-v3", 37, 0.6 },       /* Technical Report: 37B activated, the embedding left out */
	};
	for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++) {
		struct transformer dims;
		model_dims(model_find(known[i].name), &dims);
		double found = (double)model_active_parameters(&dims) * 1e-9;
		ck_assert_msg(found > known[i].billions - known[i].within && found < known[i].billions + known[i].within,
			      "%s: %.3f", known[i].name, found);
	}
	struct transformer dense;
	model_dims(model_find("llama-3-8b"), &dense);
	ck_assert_uint_eq(model_active_parameters(&dense), model_parameters(&dense));
}
END_TEST

static const struct {
	const char *name, *file;
} configs[] = {
	{ "smollm2-135m", "HuggingFaceTB--SmolLM2-135M" },
	{ "smollm2-360m", "HuggingFaceTB--SmolLM2-360M" },
	{ "qwen2-0.5b", "Qwen--Qwen2-0.5B" },
	{ "qwen2-1.5b", "Qwen--Qwen2-1.5B" },
	{ "qwen2-7b", "Qwen--Qwen2-7B" },
	{ "qwen2.5-3b", "Qwen--Qwen2.5-3B" },
	{ "qwen3-0.6b", "Qwen--Qwen3-0.6B" },
	{ "qwen3-1.7b", "Qwen--Qwen3-1.7B" },
	{ "qwen3-8b", "Qwen--Qwen3-8B" },
	{ "tinyllama-1.1b", "TinyLlama--TinyLlama-1.1B-Chat-v1.0" },
	{ "deepseek-v2-lite", "deepseek-ai--DeepSeek-V2-Lite" },
	{ "deepseek-v3", "deepseek-ai--DeepSeek-V3" },
	{ "gemma-2-2b", "google--gemma-2-2b" },
	{ "gemma-2b", "google--gemma-2b" },
	{ "llama-2-7b", "meta-llama--Llama-2-7b" },
	{ "llama-3.2-1b", "meta-llama--Llama-3.2-1B" },
	{ "llama-3.2-3b", "meta-llama--Llama-3.2-3B" },
	{ "llama-3-8b", "meta-llama--Meta-Llama-3-8B-Instruct" },
	{ "llama-3.1-8b", "meta-llama--Meta-Llama-3.1-8B" },
	{ "phi-3.5-mini", "microsoft--Phi-3.5-mini-instruct" },
	{ "phi-2", "microsoft--phi-2" },
	{ "phi-2", "microsoft--phi-2_legacy-phi-msft" },
	{ "mistral-7b-v0.1", "mistralai--Mistral-7B-v0.1_mlc-preset" },
	{ "mistral-7b-v0.3", "mistralai--Mistral-7B-v0.3" },
	{ "minicpm-2b", "openbmb--MiniCPM-2B" },
};

START_TEST(the_table_equals_the_config_files)
{
	const char *folder = "../shared/reference/configs";
	char path[512];
	const char *source = getenv("SRC");
	for (unsigned i = 0; i < sizeof configs / sizeof configs[0]; i++) {
		struct npu_error err = { 0 };
		struct transformer read, row;
		uint64_t nbytes;
		snprintf(path, sizeof path, "%s/%s/%s.config.json", source ? source : ".", folder, configs[i].file);
		/* They are of others, and not shipped. */
		if (access(path, R_OK) != 0)
			continue;
		char *text = read_whole_file(path, 1 << 20, &nbytes, &err);
		ck_assert_ptr_nonnull(text);
		ck_assert_msg(model_config_read(path, text, nbytes, &read, &err), "%s", err.text);
		free(text);
		model_dims(model_find(configs[i].name), &row);
		ck_assert_uint_eq(model_parameters(&read), model_parameters(&row));
		memcpy(read.name, row.name, sizeof read.name);
		/* Of another type in name alone. */
		if (strcmp(configs[i].file, "microsoft--phi-2_legacy-phi-msft") == 0)
			memcpy(read.family, row.family, sizeof read.family);
		const unsigned char *a = (const void *)&read, *b = (const void *)&row;
		for (size_t at = 0; at < sizeof read; at++)
			ck_assert_msg(a[at] == b[at], "%s: byte %zu of struct transformer differs", configs[i].file, at);
	}
}
END_TEST

START_TEST(bytes_follow_from_the_dimensions)
{
	struct transformer dims;
	model_dims(model_find("llama-3-8b"), &dims);
	struct model_ask ask = { .context = 4096, .batch = 1, .weights = MODEL_INT4, .group = 128, .kv = MODEL_INT8, .page = 16 };
	/* 65 vectors of 4,096 in fp16; the rest half a byte each and 2 bytes a group of 128. */
	uint64_t vectors = 65 * 4096, matrices = 8030261248 - vectors;
	ck_assert_uint_eq(model_weight_bytes(&dims, &ask), matrices / 2 + matrices / 128 * 2 + 2 * vectors);
	/* K and V of 8 heads of 128 bytes and a scale of 2. */
	ck_assert_uint_eq(model_kv_bytes(&dims, &ask), 32ull * 4096 * 2 * 8 * 130);
	ask.context = 4097; /* one more page */
	ck_assert_uint_eq(model_kv_bytes(&dims, &ask), 32ull * 4112 * 2 * 8 * 130);
	/* More than 64 bits hold is the largest number, not a small one. */
	dims.kv_heads = dims.heads = dims.head_dim = 1024;
	ask = (struct model_ask){ .context = 1048575, .batch = 1 << 20, .page = 4095 };
	ck_assert_uint_eq(model_kv_bytes(&dims, &ask), UINT64_MAX);
	/* Latents: 27 layers of 576 elements. */
	model_dims(model_find("deepseek-v2-lite"), &dims);
	ask = (struct model_ask){ .context = 1024, .batch = 2, .page = 16 };
	ck_assert_uint_eq(model_kv_bytes(&dims, &ask), 27ull * 2 * 1024 * 576 * 2);
	/* Of 26 layers, 13 keep a window of 4,096 and part of one more page. */
	model_dims(model_find("gemma-2-2b"), &dims);
	ask = (struct model_ask){ .context = 8192, .batch = 1, .page = 16 };
	ck_assert_uint_eq(model_kv_bytes(&dims, &ask), 13ull * (8192 + 4096 + 16) * 2 * 4 * 256 * 2);
}
END_TEST

/* States of the longer run that the shorter one has more of end at 0, however much that is, and the others are all cycles. */
START_TEST(what_is_drawn_out_adds_up_and_is_never_below_0)
{
	enum { STALL = 1, OTHER = 2, IDLE = 3 };
	struct model_figures one = { .cycles = 100 }, two = { .cycles = 101 }, out;
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		one.states[e][STALL] = 40;
		one.states[e][OTHER] = 30;
		one.states[e][IDLE] = 30;
		two.states[e][OTHER] = 50.5;
		two.states[e][IDLE] = 50.5;
	}
	one.neither = 100;
	two.both = two.dma_only = two.compute_only = 101.0 / 3;
	model_figures_draw_out(&out, &one, 1, &two, 2, 7);
	ck_assert_double_eq(out.cycles, 106);
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		double sum = 0;
		for (unsigned i = 0; i < NPU_STATES; i++) {
			ck_assert_double_ge(out.states[e][i], 0);
			ck_assert_double_eq(out.states[e][i], floor(out.states[e][i]));
			sum += out.states[e][i];
		}
		ck_assert_double_eq(sum, out.cycles);
		ck_assert_double_eq(out.states[e][STALL], 0);
		ck_assert_double_eq(out.states[e][OTHER], 53);
	}
	ck_assert_double_ge(out.neither, 0);
	ck_assert_double_ge(fmin(out.both, fmin(out.dma_only, out.compute_only)), 35);
	ck_assert_double_eq(out.both + out.dma_only + out.compute_only + out.neither, out.cycles);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("model_table");
	TCase *cases = tcase_create("all");
	tcase_add_test(cases, parameters_equal_the_published_counts);
	tcase_add_test(cases, active_parameters_are_those_that_the_authors_name);
	tcase_add_test(cases, the_table_equals_the_config_files);
	tcase_add_test(cases, bytes_follow_from_the_dimensions);
	tcase_add_test(cases, what_is_drawn_out_adds_up_and_is_never_below_0);
	suite_add_tcase(suite, cases);
	return npu_suite_run(suite);
}
