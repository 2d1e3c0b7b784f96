/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of kernels: reading, ranges, derived values, tiles. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/kernel_cases.h"
#include "tests/support/suite.h"

/* Sets parameters from a text of assignments and resolves them; the error text, "" when there is none. */
static const char *resolve(const char *preset, const char *kernel, const char *assignments, struct npu_args *args)
{
	static struct npu_error err;
	const struct npu_kernel *k = npu_kernel_find(kernel);
	char text[200];
	snprintf(text, sizeof text, "%s", assignments);
	err = (struct npu_error){ 0 };
	npu_args_init(k, args);
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
		if (!npu_args_set(k, args, word, &err))
			return err.text;
	return k->resolve(preset_capacity(preset), args, &err) ? "" : err.text;
}

static int64_t value(const char *kernel, const struct npu_args *args, const char *name)
{
	return npu_arg(npu_kernel_find(kernel), args, name, -1);
}

START_TEST(every_parameter_is_described)
{
	for (const struct npu_kernel *const *k = npu_kernels; *k; k++) {
		ck_assert_ptr_eq(npu_kernel_find((*k)->name), *k);
		for (unsigned i = 0; i < (*k)->nparams; i++) {
			const struct npu_param *p = &(*k)->params[i];
			ck_assert_int_eq(npu_param_index(*k, p->name), (int)i);
			ck_assert_uint_gt(strlen(p->meaning), 5);
			ck_assert_ptr_nonnull(p->unit);
			if (p->type == NPU_PARAM_CHOICE)
				ck_assert_ptr_nonnull(p->choices[p->initial]);
			else
				ck_assert(p->derived || (p->min <= p->initial && p->initial <= p->max));
		}
	}
	ck_assert_ptr_null(npu_kernel_find("none"));
}
END_TEST

/* Assignment, error or "" and then the value. */
static const struct {
	const char *kernel, *assignment, *error, *name;
	int64_t value;
} readings[] = {
	{ "gemm", "m=384", "", "m", 384 },
	{ "gemm", "m=4k", "", "m", 4096 },
	{ "gemm", "m=2KiB", "", "m", 2048 },
	{ "gemm", "dtype=int8", "", "dtype", 2 },
	{ "gemm", "m", "m: a parameter is written m=VALUE", NULL, 0 },
	{ "gemm", "m=0", "", "m", 0 },
	{ "gemm", "m=1M", "m=1M: too large; m must be 0 to 1048575 rows", NULL, 0 },
	{ "gemm", "m=ten", "m=ten: not a whole number; m must be 0 to 1048575", NULL, 0 },
	{ "gemm", "m=99999999999999999999", "m=99999999999999999999: too large; m must be 0 to 1048575 rows", NULL, 0 },
	{ "gemm", "m=-99999999999999999999", "m=-99999999999999999999: too small; m must be 0 to 1048575 rows", NULL, 0 },
	{ "gemm", "m=9007199254740993M", "m=9007199254740993M: too large; m must be 0 to 1048575 rows", NULL, 0 },
	{ "gemm", "m=", "m=: the value is missing", NULL, 0 },
	{ "gemm", "m=1.5", "m=1.5: not a whole number; m must be 0 to 1048575", NULL, 0 },
	{ "gemm", "dtype=fp8", "dtype=fp8: must be fp16|bf16|int8", NULL, 0 },
	{ "gemm", "tile_w=3", "gemm has no parameter tile_w, did you mean tile_m?", NULL, 0 },
	{ "gemm", "seventeen=3", "gemm has no parameter seventeen", NULL, 0 },
};

START_TEST(an_assignment_is_read_or_refused)
{
	const struct npu_kernel *k = npu_kernel_find(readings[_i].kernel);
	struct npu_args args;
	struct npu_error err = { 0 };
	npu_args_init(k, &args);
	bool ok = npu_args_set(k, &args, readings[_i].assignment, &err);
	ck_assert_str_eq(err.text, readings[_i].error);
	ck_assert_int_eq(ok, readings[_i].error[0] == '\0');
	if (ok)
		ck_assert_int_eq(npu_arg(k, &args, readings[_i].name, -1), readings[_i].value);
}
END_TEST

START_TEST(derived_parameters_follow_others)
{
	struct npu_args args;
	ck_assert_str_eq(resolve("edge-1mb", "attention", "seq=300 heads=6", &args), "");
	ck_assert_int_eq(value("attention", &args, "seq_q"), 300);
	ck_assert_int_eq(value("attention", &args, "kv_heads"), 6);
	ck_assert_int_eq(value("attention", &args, "valid"), 300);
	ck_assert_str_eq(resolve("edge-1mb", "attention", "seq=300 heads=6 kv_heads=2 seq_q=1", &args), "");
	ck_assert_int_eq(value("attention", &args, "seq_q"), 1);
	ck_assert_int_eq(value("attention", &args, "kv_heads"), 2);
}
END_TEST

/* What belongs together. */
static const struct {
	const char *kernel, *assignments, *error;
} refusals[] = {
	{ "flash_attention", "heads=8 kv_heads=3", "kv_heads=3: must divide heads=8" },
	{ "flash_attention", "seq=10 seq_q=11 mask=causal", "" },
	{ "flash_attention", "seq=0 valid=1 mask=padding", "valid=1: must be at most seq=0" },
	{ "flash_attention", "seq=10 seq_q=11 mask=none", "" },
	{ "flash_attention", "seq=10 seq_q=11 mask=padding valid=4", "" },
	{ "attention", "seq=10 valid=11 mask=padding", "valid=11: must be at most seq=10" },
	{ "attention", "seq=10 valid=11", "valid=11: has no effect with mask=none, only with mask=padding" },
	{ "attention", "seq=10 valid=10", "" },
	{ "mask_softmax", "mask=causal window=64", "window=64: has no effect with mask=causal, only with mask=window" },
	{ "flash_attention", "window=64 mask=padding",
	  "window=64: has no effect with mask=padding, only with mask=window" },
	{ "flash_attention", "window=256 mask=causal", "" },
	{ "gemm", "layout=block16 tile_m=100",
	  "tile_m=100: must be a multiple of 16 with layout=block16, or at least m=512" },
	{ "gemm", "layout=block32 tile_n=48 n=40", "" },
	{ "gemm", "layout=block32 a_layout=row c_layout=row tile_m=48", "" },
	{ "gemm", "layout=block16 c_layout=block32 tile_m=48",
	  "tile_m=48: must be a multiple of 32 with c_layout=block32, or at least m=512" },
	{ "gemm", "order=weight k=1000000",
	  "k=1000000: order=weight keeps a column of tiles of B in SRAM, 2,000,000 bytes of 1,048,576; order=output "
	  "keeps none" },
	{ "gemm", "order=activation k=4096 tile_m=256",
	  "k=4096: order=activation keeps a row of tiles of A in SRAM, 2,097,152 bytes of 1,048,576; order=output "
	  "keeps none" },
	{ "gemm", "weights=int4 tile_k=64", "tile_k=64: must be a multiple of group=128, or at least k=512" },
	{ "gemv", "weights=bf16", "weights=bf16: with dtype=fp16 must be fp16, int8 or int4" },
	{ "gemv", "dtype=int8 weights=fp16", "weights=fp16: with dtype=int8 must be int8 or int4" },
	{ "gemv", "group=64", "group=64: has no effect with weights=fp16, only with int8 or int4" },
	{ "gemv", "weights=int4 n=31", "n=31: must be even with weights=int4, two to a byte" },
	{ "gemv", "weights=int4 tile_n=3", "tile_n=3: must be even with weights=int4, two to a byte" },
	{ "gemv", "weights=int4 tile_k=100", "tile_k=100: must be a multiple of group=128, or at least k=4096" },
	{ "gemv", "weights=int4 tile_k=100 k=90", "" },
	{ "rope", "rotary=3", "rotary=3: must be even and at most head_dim=128" },
	{ "rope", "rotary=130", "rotary=130: must be even and at most head_dim=128" },
	{ "rope", "head_dim=33", "" },
	{ "gemv", "m=128",
	  "m=128: X stays in SRAM, 128 x 8,192 bytes, of which it has 1,048,576; gemm takes any number of rows" },
	{ "gemv", "dtype=int8 bias=1", "bias=1: needs a result with scales; group=channel would be right" },
	{ "gemm", "k=0 bias=1", "" },
	{ "gemv", "k=0 bias=1", "bias=1: with k=0 there are no sums to add it to" },
	{ "gemm", "dtype=int8 group=channel bias=1", "" },
	{ "decode_attention_paged", "heads=8 kv_heads=3", "kv_heads=3: must divide heads=8" },
	{ "decode_attention_paged", "batch=2 seq=10 seq_min=11", "seq_min=11: must be at most seq=10" },
	{ "decode_attention_paged", "seq=10 seq_min=9",
	  "seq_min=9: has no effect with batch=1, whose sequence has seq=10 tokens" },
	{ "decode_attention_paged", "seq=10 seq_min=10", "" },
	{ "prefill_attention_paged", "seq=10 chunk=11", "chunk=11: must be at most seq=10, which counts the new tokens" },
	{ "prefill_attention_paged", "batch=2 seq=10 seq_min=3 chunk=4",
	  "chunk=4: must be at most seq_min=3, which counts the new tokens" },
	{ "decode_attention_paged", "dequant=matrix",
	  "dequant=matrix: has no effect with kv=fp16, only with kv=int8 and kv=int4" },
	{ "decode_attention_paged", "kv_group=half kv=fp16",
	  "kv_group=half: has no effect with kv=fp16, only with kv=int8 and kv=int4" },
	{ "decode_attention_paged", "kv_group=head dequant=vector", "" },
	{ "decode_attention_paged", "gather=together kv_layout=kv_page_head", "gather=together: needs kv_layout=page_head_kv" },
	{ "decode_attention_paged", "gather=together buffering=single",
	  "gather=together: needs buffering=double or triple" },
	{ "decode_attention_paged", "gather=pages kv_layout=kv_page_head", "gather=pages: needs kv_layout=page_head_kv" },
	{ "decode_attention_paged", "gather=pages kv=int8 kv_group=half", "gather=pages: needs kv_group=head or token" },
	{ "decode_attention_paged", "gather=pages tile_kv=40",
	  "gather=pages: needs tiles of whole pages, tile_kv a multiple of page" },
	{ "decode_attention_paged", "gather=together tile_kv=40",
	  "gather=together: needs tiles of whole pages, tile_kv a multiple of page" },
	{ "prefill_attention_paged", "batch=1024 seq=100000 chunk=100000 tile_q=1 tile_kv=1",
	  "prefill_attention_paged: more than 16,777,216 instructions: larger tiles, fewer sequences or shorter lengths need "
	  "fewer" },
	{ "decode_attention_paged", "kv=int4 head_dim=33", "head_dim=33: must be a multiple of 2 with kv=int4" },
	{ "decode_attention_paged", "kv=int8 kv_group=half head_dim=33",
	  "head_dim=33: must be a multiple of 2 with kv=int8 kv_group=half" },
	{ "decode_attention_paged", "kv=int4 kv_group=half head_dim=66",
	  "head_dim=66: must be a multiple of 4 with kv=int4 kv_group=half" },
	{ "decode_attention_paged", "heads=1024 kv_heads=1024 head_dim=1024",
	  "kv_heads=1024: kv_heads x head_dim must be less than 1,048,576" },
	{ "decode_attention_paged", "heads=1000 kv_heads=1000 page=1 seq=1000000",
	  "page=1: kv_heads x pages of a sequence must be less than 16,777,216" },
	{ "prefill_attention_paged", "seq=20000 tile_q=9000 chunk=9000",
	  "tile_q=9000: tile_q x head_dim must be less than 1,048,576, and tile_q x heads / kv_heads less than 262,144" },
};

START_TEST(parameters_that_do_not_belong_together_are_refused)
{
	struct npu_args args;
	ck_assert_str_eq(resolve("edge-1mb", refusals[_i].kernel, refusals[_i].assignments, &args), refusals[_i].error);
}
END_TEST

/* Tiles that nobody named. Buffers are listed where a memory decides. */
static const struct {
	const char *preset, *kernel, *assignments, *name;
	int64_t tile;
} defaults[] = {
	{ "edge-1mb", "flash_attention", "", "tile_q", 128 },
	{ "edge-1mb", "flash_attention", "", "tile_kv", 128 },
	/* No larger than the length, rounded up to a power of two. */
	{ "edge-1mb", "flash_attention", "seq=100 seq_q=1", "tile_q", 1 },
	{ "edge-1mb", "flash_attention", "seq=100 seq_q=5", "tile_q", 8 },
	{ "edge-1mb", "flash_attention", "seq=100", "tile_kv", 128 },
	/* 64 KiB of accumulators: s twice 64 x 64 x 4 and acc 64 x 128 x 4 are all of it. */
	{ "tiny-256k", "flash_attention", "", "tile_q", 64 },
	{ "tiny-256k", "flash_attention", "", "tile_kv", 64 },
	/* s twice 32 x 128 x 4 and acc 32 x 128 x 4: 48 KiB. */
	{ "tiny-256k", "flash_attention", "tile_q=32", "tile_kv", 128 },
	/* s twice 256 x 128 x 4 and acc 256 x 128 x 4: 384 KiB of 512; acc of 256 x 512 x 4 takes all of them. */
	{ "edge-2mb", "flash_attention", "", "tile_q", 256 },
	{ "edge-2mb", "flash_attention", "", "tile_kv", 128 },
	{ "edge-2mb", "flash_attention", "buffering=single", "tile_q", 256 },
	{ "edge-2mb", "flash_attention", "tile_kv=64", "tile_q", 256 },
	{ "edge-2mb", "flash_attention", "head_dim=512", "tile_q", 128 },
	/* 256 rows would be 4 and 8 tiles. */
	{ "edge-2mb", "flash_attention", "seq=256 heads=2", "tile_q", 128 },
	{ "edge-2mb", "flash_attention", "seq=256 heads=4", "tile_q", 256 },
	/* An array of 128 columns, after rows of 256 alone. */
	{ "server", "flash_attention", "", "tile_kv", 256 },
	{ "server", "flash_attention", "seq_q=1", "tile_kv", 128 },
	{ "server", "flash_attention", "tile_q=128", "tile_kv", 128 },
	{ "server", "qk_tiled", "", "tile_q", 128 },
	{ "server", "attention", "", "tile_kv", 128 },
	/* Rows of 256 bytes of int4, as long as 64 tiles remain and acc has its pair. */
	{ "edge-1mb", "gemm", "m=16 n=1024 k=2048 weights=int4", "tile_n", 256 },
	{ "edge-1mb", "gemm", "m=16 n=4096 k=4096 weights=int4", "tile_n", 512 },
	{ "edge-1mb", "gemm", "m=16 n=4096 k=4096 weights=int4", "tile_k", 512 },
	{ "edge-1mb", "gemm", "m=512 n=1024 k=1024 weights=int4", "tile_n", 256 },
	{ "edge-1mb", "gemm", "m=512 n=1024 k=1024 weights=int4", "tile_k", 128 },
	{ "edge-1mb", "gemm", "m=512 n=1024 k=1024", "tile_n", 128 },
	/* 1,024 scores of 4 bytes and as many probabilities of 2, twice: 12 KiB a row of 1,024 KiB. */
	{ "edge-1mb", "mask_softmax", "", "tile_rows", 64 },
	{ "edge-1mb", "mask_softmax", "buffering=single", "tile_rows", 128 },
	{ "edge-1mb", "mask_softmax", "seq=20000", "tile_rows", 4 },
	/* 64 KiB of accumulators hold s of 128 x 128 once, or of 128 x 64 twice with no more to load and store. */
	{ "tiny-256k", "qk_tiled", "seq=512 head_dim=64", "tile_q", 128 },
	{ "tiny-256k", "qk_tiled", "seq=512 head_dim=64", "tile_kv", 64 },
	{ "tiny-256k", "qk_tiled", "seq=512 head_dim=64 buffering=single", "tile_kv", 128 },
	/* Rows of 508 bytes, cut in two, would store 62 bytes of granules more. */
	{ "tiny-256k", "qk_tiled", "seq=127 heads=4 head_dim=17", "tile_kv", 128 },
	/* acc of 128 x 512 x 4 once; with 64 rows twice, V would be loaded twice as often. */
	{ "edge-1mb", "pv_tiled", "seq=512 head_dim=512", "tile_q", 128 },
	/* Of softmax any number of rows loads the same: 32 x 512 x (4 + 2) bytes twice are 192 KiB. */
	{ "tiny-256k", "mask_softmax", "seq=512", "tile_rows", 32 },
	{ "edge-1mb", "gemm", "m=300 n=20 k=1", "tile_m", 128 },
	{ "edge-1mb", "gemm", "m=300 n=20 k=1", "tile_n", 32 },
	{ "edge-1mb", "gemm", "m=300 n=20 k=1", "tile_k", 1 },
	/* 128 KiB of weights: 128 columns of 2,048, 1,024 or 512 elements. */
	{ "edge-2mb", "gemv", "weights=int4", "tile_k", 2048 },
	{ "edge-2mb", "gemv", "dtype=int8", "tile_k", 1024 },
	{ "edge-2mb", "gemv", "", "tile_k", 512 },
	/* 32 KiB of Y: 4 rows of 8 KiB. */
	{ "edge-1mb", "rmsnorm", "", "tile_rows", 4 },
	{ "edge-1mb", "swiglu", "cols=64", "tile_rows", 128 },
	{ "edge-1mb", "gelu", "rows=3", "tile_rows", 4 },
	/* No fewer than 8 tiles. */
	{ "edge-2mb", "gemv", "n=512 k=1024 weights=int4", "tile_k", 512 },
	/* 64 KiB of x, and twice 128 columns of 1,024 elements with their scales: 196 KiB. */
	{ "tiny-256k", "gemv", "weights=int4 k=32768", "tile_k", 1024 },
};

START_TEST(a_tile_that_nobody_named_is_the_largest_that_fits)
{
	struct npu_args args;
	ck_assert_str_eq(resolve(defaults[_i].preset, defaults[_i].kernel, defaults[_i].assignments, &args), "");
	ck_assert_int_eq(value(defaults[_i].kernel, &args, defaults[_i].name), defaults[_i].tile);
	/* Resolving again changes nothing. */
	ck_assert(npu_kernel_find(defaults[_i].kernel)->resolve(preset_capacity(defaults[_i].preset), &args, NULL));
	ck_assert_int_eq(value(defaults[_i].kernel, &args, defaults[_i].name), defaults[_i].tile);
}
END_TEST

START_TEST(a_named_tile_that_does_not_fit_is_refused_with_what_would)
{
	struct npu_args args;
	/* In 262,144 bytes: 256 rows of q take 131,072 of acc and leave 131,072 / 2,048 = 64 columns of s twice. */
	const char *text = resolve("edge-1mb", "flash_attention", "tile_q=256 tile_kv=128", &args);
	ck_assert_ptr_nonnull(strstr(text,
				     "tile_q=256 tile_kv=128: buffers do not fit: 393,216 needed of 262,144 bytes of "
				     "accumulators, 131,072 too many\n"));
	ck_assert_ptr_nonnull(strstr(text, "would fit: tile_q=256 tile_kv=64\n"));
	ck_assert_ptr_nonnull(strstr(text, "would fit: tile_q=128 tile_kv=128, chosen when none is named\n"));
	ck_assert_ptr_null(strstr(strstr(text, "when none is named"), "would fit"));
	ck_assert_str_eq(resolve("edge-1mb", "flash_attention", "tile_q=256 tile_kv=64", &args), "");
}
END_TEST

/* What would fit is what a person would use, not the one element of tile_kv that lets a larger tile_q in. */
START_TEST(what_would_fit_is_what_the_rule_chooses)
{
	struct npu_args args;
	const char *text = resolve("edge-1mb", "flash_attention", "tile_q=600", &args);
	/* s twice 600 x 4, aligned to 128, and acc 600 x 128 x 4 */
	ck_assert_ptr_eq(text, strstr(text, "tile_q=600, even with tile_kv=1: buffers do not fit: 312,064 needed of "
					    "262,144 bytes of accumulators, 49,920 too many\n"
					    "would fit: tile_q=128 tile_kv=128, chosen when none is named\n"));
	ck_assert_ptr_nonnull(strstr(text, "acc                              307,200 bytes  does not fit"));
	/* c takes 2,000,000 bytes; 64 rows of it 128,000, and those of a and b twice 16,384 and 256,000. */
	text = resolve("edge-1mb", "gemm", "m=2k n=2k tile_m=1000 tile_n=1000", &args);
	ck_assert_ptr_nonnull(strstr(text, "would fit: tile_m=64 tile_n=1000 tile_k=128\n"));
	ck_assert_ptr_nonnull(strstr(text, "would fit: tile_m=1000 tile_n=64 tile_k=128\n"));
	ck_assert_str_eq(resolve("edge-1mb", "gemm", "m=2k n=2k tile_m=64 tile_n=1000 tile_k=128", &args), "");
}
END_TEST

START_TEST(a_row_of_scores_that_does_not_fit_is_refused)
{
	struct npu_args args;
	const char *text = resolve("tiny-256k", "mask_softmax", "seq=50000", &args);
	/* 50,000 x (4 + 2) bytes of 262,144: once, a second row may have no room. */
	ck_assert_ptr_eq(
	    text, strstr(text, "even with the smallest tiles: buffers do not fit: 300,000 needed of 262,144 bytes of "
			       "SRAM, 37,856 too many"));
	ck_assert_str_eq(resolve("tiny-256k", "mask_softmax", "seq=30000", &args), "");
}
END_TEST

/* 4 x 1,048,575 tiles of two loads, a product, a copy and a store; 5 x as many without copy; 1,000 rows of 20,000 tiles
 * of six instructions and three more a row, and one. */
START_TEST(too_many_instructions_are_refused_before_any_is_emitted)
{
	static const struct {
		const char *kernel, *assignments, *error;
	} huge[] = {
		{ "gemm", "m=1048575 n=4 k=1 tile_m=1 tile_n=1",
		  "gemm: 20,971,500 instructions, 16,777,216 are possible: larger tiles or shorter lengths need "
		  "fewer" },
		{ "gemm", "m=1048575 n=5 k=1 tile_m=1 tile_n=1 dtype=int8",
		  "gemm: 20,971,500 instructions, 16,777,216 are possible: larger tiles or shorter lengths need "
		  "fewer" },
		{ "flash_attention", "seq=1000000 seq_q=1 heads=1000 kv_heads=1 tile_kv=50",
		  "flash_attention: 120,003,001 instructions, 16,777,216 are possible: larger tiles or shorter lengths "
		  "need fewer" },
	};
	for (size_t i = 0; i < sizeof huge / sizeof huge[0]; i++) {
		struct npu_args args;
		struct npu_error err = { 0 };
		ck_assert_str_eq(resolve("edge-1mb", huge[i].kernel, huge[i].assignments, &args), "");
		clock_t before = clock();
		ck_assert_ptr_null(
		    npu_kernel_build(npu_kernel_find(huge[i].kernel), preset_capacity("edge-1mb"), &args, &err));
		ck_assert_str_eq(err.text, huge[i].error);
		/* Emitting 16 million takes seconds. */
		ck_assert_int_lt(clock() - before, CLOCKS_PER_SEC / 2);
	}
}
END_TEST

START_TEST(arguments_print_as_they_are_written)
{
	struct npu_args args;
	char text[300], cut[10];
	ck_assert_str_eq(resolve("edge-1mb", "gemm", "dtype=bf16 k=40", &args), "");
	ck_assert_str_eq(npu_args_print(npu_kernel_find("gemm"), &args, text, sizeof text),
			 "m=512 n=512 k=40 dtype=bf16 tile_m=128 tile_n=128 tile_k=64 buffering=double weights=bf16 "
			 "group=none order=output layout=row bias=0 a_layout=same b_layout=same c_layout=same");
	ck_assert_str_eq(npu_args_print(npu_kernel_find("gemm"), &args, cut, sizeof cut), "m=512 n=5");
}
END_TEST

#define ROWS(table) ((int)(sizeof table / sizeof table[0]))

int main(void)
{
	Suite *s = suite_create("kernel parameters");
	TCase *t = tcase_create("parameters");
	tcase_add_test(t, every_parameter_is_described);
	tcase_add_loop_test(t, an_assignment_is_read_or_refused, 0, ROWS(readings));
	tcase_add_test(t, derived_parameters_follow_others);
	tcase_add_loop_test(t, parameters_that_do_not_belong_together_are_refused, 0, ROWS(refusals));
	tcase_add_loop_test(t, a_tile_that_nobody_named_is_the_largest_that_fits, 0, ROWS(defaults));
	tcase_add_test(t, a_named_tile_that_does_not_fit_is_refused_with_what_would);
	tcase_add_test(t, what_would_fit_is_what_the_rule_chooses);
	tcase_add_test(t, a_row_of_scores_that_does_not_fit_is_refused);
	tcase_add_test(t, too_many_instructions_are_refused_before_any_is_emitted);
	tcase_add_test(t, arguments_print_as_they_are_written);
	suite_add_tcase(s, t);
	return npu_suite_run(s);
}
