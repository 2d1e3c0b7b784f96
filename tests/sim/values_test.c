/* SPDX-License-Identifier: Apache-2.0 */
/* What --values promises: right programs pass whatever their shape, wrong ones are caught with the instruction that
 * wrote the wrong element, and neither hardware nor timing decides a bit. */
#include "tests/sim/values_cases.h"

#include "isa/number.h"
#include "kernels/reference.h"
#include "sim/values_cli.h"
#include "sim/values_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CASES = 60, LONGEST = 96, MOST_KERNELS = 64, MOST_SETTINGS = 12 };

static const struct npu_kernel *kernels[MOST_KERNELS];

/* A kernel with settings such as "seq=3", on one preset; the caller frees it. */
struct built {
	const struct npu_kernel *kernel;
	struct npu_args args;
	struct npu_program *program;
	char text[512];
};

static struct built build_on(const char *preset, const char *kernel, const char *settings)
{
	struct built b = { .kernel = npu_kernel_find(kernel) };
	struct npu_error err = { 0 };
	char copy[512], *save = NULL;
	snprintf(copy, sizeof copy, "%s", settings);
	snprintf(b.text, sizeof b.text, "%s %.300s on %s", kernel, settings, preset);
	npu_args_init(b.kernel, &b.args);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		ck_assert_msg(npu_args_set(b.kernel, &b.args, word, &err), "%s: %s", b.text, err.text);
	b.program = npu_kernel_build(b.kernel, preset_capacity(preset), &b.args, &err);
	ck_assert_msg(b.program != NULL, "%s: %s", b.text, err.text);
	return b;
}

static struct built build(const char *kernel, const char *settings)
{
	return build_on("edge-1mb", kernel, settings);
}

static struct values_request request_of(const struct built *b)
{
	return (struct values_request){ .program = b->program, .kernel = b->kernel, .args = &b->args, .seed = 1 };
}

/* ---- right programs ---- */

START_TEST(a_kernel_stays_within_its_bounds)
{
	struct case_rng rng = { 5 };
	unsigned ran = 0;
	for (int i = 0; i < CASES; i++)
		ran += random_case(kernels[_i], LONGEST, &rng, NULL);
	ck_assert_uint_gt(ran, CASES / 2);
}
END_TEST

/* Whatever random cases may miss: the usual head sizes, one token, grouped heads, tiles that do not divide. */
static const struct {
	const char *kernel, *settings;
} shapes[] = {
	{ "flash_attention", "seq=1 heads=1 head_dim=1" },
	{ "flash_attention", "seq=1 heads=4 head_dim=64 mask=causal" },
	{ "flash_attention", "seq=257 seq_q=1 heads=8 kv_heads=2 head_dim=128 mask=causal" },
	{ "flash_attention", "seq=100 heads=2 head_dim=64 tile_q=32 tile_kv=48 mask=causal" },
	{ "flash_attention", "seq=100 heads=2 head_dim=80 tile_q=33 tile_kv=17 mask=window window=5" },
	{ "flash_attention", "seq=100 heads=2 head_dim=48 tile_q=64 tile_kv=12 mask=causal" },
	{ "flash_attention", "seq=100 seq_q=70 heads=2 head_dim=48 tile_q=64 tile_kv=12 mask=window window=30" },
	{ "flash_attention", "seq=100 heads=6 kv_heads=3 head_dim=96 dtype=bf16 mask=padding valid=7" },
	{ "flash_attention", "seq=64 heads=8 kv_heads=1 head_dim=128 buffering=single mask=causal" },
	{ "flash_attention", "seq=96 heads=1 head_dim=256 buffering=triple tile_q=16 tile_kv=16" },
	{ "flash_attention", "seq=64 heads=1 head_dim=64 tile_q=64 tile_kv=8 mask=window window=1" },
	{ "flash_attention", "seq=50 seq_q=130 heads=2 head_dim=48 tile_q=32 tile_kv=16 mask=causal" },
	{ "flash_attention", "seq=50 seq_q=90 heads=2 head_dim=48 tile_q=32 tile_kv=16 mask=window window=9" },
	{ "attention", "seq=50 seq_q=90 heads=2 head_dim=80 mask=causal fused=0" },
	{ "attention", "seq=50 heads=2 head_dim=80 mask=padding valid=0" },
	{ "attention", "seq=150 seq_q=290 heads=2 head_dim=80 mask=causal tile_q=32 tile_kv=48 tile_rows=20" },
	{ "attention", "seq=150 seq_q=170 heads=2 head_dim=80 mask=window window=40 tile_q=64 tile_kv=16 fused=0" },
	{ "attention", "seq=150 seq_q=170 heads=2 head_dim=80 mask=causal tile_q=64 hidden=compute" },
	{ "mask_softmax", "seq=250 seq_q=290 heads=2 mask=window window=9 tile_rows=32" },
	{ "mask_softmax", "seq=50 seq_q=90 heads=2 mask=window window=9 fused=0" },
	{ "flash_attention", "seq=100 heads=2 head_dim=64 tile_q=32 tile_kv=48 mask=causal softcap=3" },
	{ "flash_attention", "seq=100 heads=2 head_dim=80 mask=window window=9 softcap=1 dtype=bf16" },
	{ "decode_attention_paged", "batch=2 seq=257 seq_min=30 heads=8 kv_heads=2 softcap=2" },
	{ "decode_attention_paged", "batch=2 seq=257 seq_min=30 heads=8 kv_heads=2 kv=int8 splits=2 softcap=5" },
	{ "decode_attention_paged", "batch=2 seq=257 seq_min=30 heads=8 kv_heads=2 kv=int4 dequant=matrix softcap=5" },
	{ "prefill_attention_paged", "batch=2 seq=100 chunk=40 heads=4 kv_heads=2 softcap=2" },
	{ "softcap", "rows=33 cols=100 cap=1" },
	{ "quantise", "rows=33 cols=288" },
	{ "quantise", "rows=33 cols=100 to=int4 group=7 tile_rows=4 buffering=single" },
	{ "quantise", "rows=33 cols=100 group=0 buffering=triple tile_rows=5" },
	{ "softcap", "rows=33 cols=100 dtype=bf16 buffering=triple tile_rows=5" },
	{ "decode_attention_paged", "seq=1 heads=1 kv_heads=1 head_dim=1" },
	{ "decode_attention_paged", "batch=3 seq=257 seq_min=1 heads=8 kv_heads=2" },
	{ "decode_attention_paged", "batch=2 seq=257 seq_min=30 heads=8 kv_heads=8 page=8 head_dim=64 kv_layout=kv_page_head" },
	{ "decode_attention_paged", "batch=2 seq=257 seq_min=30 heads=8 kv_heads=1 page=64 tile_kv=33 splits=3 buffering=triple" },
	{ "decode_attention_paged", "batch=2 seq=257 seq_min=30 heads=8 kv_heads=2 kv=int8" },
	{ "decode_attention_paged", "batch=2 seq=257 seq_min=30 heads=8 kv_heads=2 kv=int8 kv_group=half dequant=matrix" },
	{ "decode_attention_paged", "batch=2 seq=257 seq_min=30 heads=8 kv_heads=2 kv=int4 kv_group=token splits=4" },
	{ "decode_attention_paged", "batch=2 seq=257 seq_min=30 heads=8 kv_heads=2 kv=int4 kv_group=half dequant=matrix tile_kv=40" },
	{ "prefill_attention_paged", "seq=100 chunk=100 heads=4 kv_heads=2 tile_q=33 tile_kv=17" },
	{ "prefill_attention_paged", "batch=2 seq=200 seq_min=90 chunk=50 heads=4 kv_heads=1 kv=int8 kv_group=half buffering=single" },
	{ "prefill_attention_paged", "batch=2 seq=200 seq_min=90 chunk=50 heads=4 kv_heads=2 kv=int4 dequant=matrix splits=2 tile_kv=32" },
	{ "prefill_attention_paged", "batch=2 seq=200 seq_min=90 chunk=70 heads=4 kv_heads=2 window=33 tile_q=32 tile_kv=16" },
	{ "prefill_attention_paged", "seq=200 chunk=200 heads=4 kv_heads=1 window=1 kv=int8 kv_group=half tile_q=5 tile_kv=16" },
	{ "prefill_attention_paged", "seq=200 chunk=150 heads=4 kv_heads=2 window=100 kv=int4 dequant=matrix splits=3 tile_kv=32 softcap=5" },
	{ "prefill_attention_paged", "seq=100 chunk=1 heads=4 kv_heads=2 window=40 kv=int4 tile_kv=32" },
	{ "attention", "seq=1 heads=1 head_dim=64" },
	{ "attention", "seq=100 heads=4 kv_heads=2 head_dim=80 mask=causal fused=0" },
	{ "attention", "seq=65 seq_q=3 heads=2 head_dim=256 dtype=bf16 mask=window window=9" },
	{ "attention", "seq=50 heads=2 head_dim=96 mask=padding valid=1 fused=0" },
	{ "mask_softmax", "seq=1 heads=1" },
	{ "mask_softmax", "seq=129 heads=2 mask=causal fused=0 dtype=bf16" },
	{ "qk_tiled", "seq=33 heads=3 kv_heads=1 head_dim=96 dtype=int8" },
	{ "pv_tiled", "seq=77 seq_q=5 heads=2 head_dim=256" },
	{ "gemm", "m=1 n=1 k=1" },
	{ "gemm", "m=5 n=700 k=600 weights=int4 group=32" },
	{ "gemm", "m=40 n=202 k=300 weights=int4 dtype=int8 tile_n=128 layout=block16 order=weight" },
	{ "gemm", "m=70 n=90 k=130 a_layout=block16 b_layout=block32 tile_m=16 tile_n=32 tile_k=64" },
	{ "gemm", "m=70 n=90 k=130 layout=block32 a_layout=row weights=int8 group=32 order=weight" },
	{ "gemm", "m=70 n=90 k=130 layout=block16 c_layout=row weights=int4 group=32 order=activation dtype=int8" },
	{ "gemm", "m=70 n=90 k=0 bias=1 tile_m=32 tile_n=32" },
	{ "gemm", "m=5 n=90 k=0 bias=1 dtype=int8 weights=int4 group=128 layout=block16 buffering=single" },
	{ "gemm", "m=1 n=257 k=1000 dtype=bf16" },
	{ "gemm", "m=100 n=90 k=130 tile_m=32 tile_n=32 tile_k=64 bias=1" },
	{ "gemm", "m=100 n=90 k=130 tile_m=32 tile_n=32 tile_k=64 weights=int8 order=weight bias=1" },
	{ "gemm", "m=100 n=90 k=130 tile_m=32 tile_n=32 dtype=int8 group=channel bias=1 order=activation" },
	{ "gemv", "m=3 n=90 k=300 tile_n=32 tile_k=128 weights=int4 bias=1" },
	{ "gemv", "m=3 n=91 k=300 tile_n=32 tile_k=128 weights=int8 dtype=bf16 bias=1" },
	{ "gemv", "n=91 k=300 tile_n=32 dtype=int8 group=64 bias=1" },
	{ "gemm", "m=65 n=33 k=129 dtype=int8 tile_m=32 tile_n=16 tile_k=64 buffering=triple" },
};

START_TEST(the_usual_shapes_stay_within_their_bounds)
{
	struct built b = build(shapes[_i].kernel, shapes[_i].settings);
	struct values_request request = request_of(&b);
	for (unsigned exp = 0; exp < NPU_EXP_CHOICES; exp++) {
		request.exp = (enum npu_exp)exp;
		struct values *v = computed(&request, b.text);
		expect_right(v, b.text);
		values_free(v);
	}
	npu_program_free(b.program);
}
END_TEST

/* Every kernel of attention with every usual head size, for one token and for tiles that do not divide. */
static const char *const attentions[] = { "qk_tiled", "pv_tiled", "attention", "flash_attention" };
static const unsigned head_sizes[] = { 64, 80, 96, 128, 256 };
enum { ATTENTIONS = sizeof attentions / sizeof *attentions, HEAD_SIZES = sizeof head_sizes / sizeof *head_sizes };

START_TEST(every_head_size_stays_within_its_bounds)
{
	static const unsigned lengths[] = { 1, 2, 37 };
	const char *kernel = attentions[_i % ATTENTIONS];
	for (unsigned l = 0; l < 3; l++)
		for (unsigned masked = 0; masked < (_i % ATTENTIONS < 2 ? 1 : 2); masked++) {
			char settings[160];
			snprintf(settings, sizeof settings, "seq=%u heads=2 head_dim=%u tile_q=16 tile_kv=16%s", lengths[l],
				 head_sizes[_i / ATTENTIONS], masked ? " mask=causal" : "");
			struct built b = build(kernel, settings);
			struct values_request request = request_of(&b);
			struct values *v = computed(&request, b.text);
			expect_right(v, b.text);
			ck_assert_uint_gt(v->outputs[0].elements, 0);
			ck_assert_msg((v->outputs[0].max != 0 || v->outputs[0].min != 0) && v->outputs[0].nans == 0, "%s: nothing was computed", b.text);
			values_free(v);
			npu_program_free(b.program);
		}
}
END_TEST

/* Kernel, settings, instructions. A sum over nothing is 0, and so is a row that sees nothing: 1 fill and the stores, of
 * 2 heads here. Results without an element take no instruction. */
static const struct {
	const char *kernel, *settings;
	uint32_t instructions;
} nothings[] = {
	{ "flash_attention", "seq=0", 0 },
	{ "flash_attention", "seq=9 seq_q=0 mask=causal", 0 },
	{ "flash_attention", "seq=0 seq_q=50 heads=2 head_dim=33 tile_q=32", 1 + 2 * 2 },
	{ "flash_attention", "seq=40 heads=2 mask=padding valid=0 tile_q=32 dtype=bf16", 1 + 2 * 2 },
	{ "attention", "seq=0", 0 },
	{ "attention", "seq=0 seq_q=50 heads=2 tile_q=32", 1 + 2 * 2 },
	{ "mask_softmax", "seq=0 seq_q=50", 0 },
	{ "mask_softmax", "seq=40 heads=2 mask=padding valid=0 tile_rows=32", 1 + 2 * 2 },
	{ "mask_softmax", "seq=40 heads=2 mask=padding valid=0 tile_rows=32 fused=0", 1 + 2 * 2 },
	{ "qk_tiled", "seq=0 seq_q=50", 0 },
	{ "pv_tiled", "seq=0", 0 },
	{ "pv_tiled", "seq=0 seq_q=50 heads=2 tile_q=32", 1 + 2 * 2 },
	{ "kv_fetch_paged", "seq=0", 0 },
	{ "gemm", "m=0", 0 },
	{ "gemm", "n=0", 0 },
	{ "gemm", "k=0 m=50 n=50 tile_m=32 tile_n=64", 1 + 2 },
	{ "gemm", "k=0 m=50 n=51 tile_m=32 tile_n=64 dtype=int8", 1 + 2 },
};

START_TEST(what_has_nothing_to_add_up_is_zero)
{
	struct built b = build(nothings[_i].kernel, nothings[_i].settings);
	struct values_request request = request_of(&b);
	struct values *v = computed(&request, b.text);
	ck_assert_uint_eq(npu_program_ninsns(b.program), nothings[_i].instructions);
	expect_right(v, b.text);
	for (unsigned i = 0; i < v->noutputs; i++) {
		ck_assert_int_eq(v->outputs[i].elements == 0, nothings[_i].instructions == 0);
		if (!v->outputs[i].elements)
			continue;
		ck_assert_double_eq(v->outputs[i].max, 0);
		ck_assert_double_eq(v->outputs[i].min, 0);
		ck_assert_uint_eq(v->outputs[i].nans, 0);
	}
	values_free(v);
	npu_program_free(b.program);
}
END_TEST

START_TEST(heads_without_elements_are_refused)
{
	static const char *const empty[] = { "heads=0", "head_dim=0", "window=0" };
	const struct npu_kernel *kernel = npu_kernel_find("flash_attention");
	for (unsigned i = 0; i < sizeof empty / sizeof *empty; i++) {
		struct npu_error err = { 0 };
		struct npu_args args;
		npu_args_init(kernel, &args);
		ck_assert(!npu_args_set(kernel, &args, empty[i], &err));
		ck_assert_msg(strstr(err.text, "too small") != NULL, "%s", err.text);
	}
}
END_TEST

START_TEST(int8_products_are_exact)
{
	struct built b = build("gemm", "m=40 n=40 k=300 dtype=int8");
	struct values_request request = request_of(&b);
	struct values *v = computed(&request, b.text);
	ck_assert_double_eq(v->outputs[0].max_abs, 0);
	ck_assert_double_eq(v->outputs[0].abs_bound, 0);
	values_free(v);
	npu_program_free(b.program);
}
END_TEST

/* ---- hardware decides nothing ---- */

static const struct {
	const char *kernel, *settings;
} fixed[] = {
	{ "gemm", "m=100 n=90 k=130 tile_m=32 tile_n=32 tile_k=64" },
	{ "qk_tiled", "seq=100 heads=2 head_dim=64 tile_q=32 tile_kv=32" },
	{ "mask_softmax", "seq=100 heads=2 mask=causal tile_rows=8" },
	{ "pv_tiled", "seq=100 heads=2 head_dim=64 tile_q=32 tile_kv=32" },
	{ "attention", "seq=100 heads=2 head_dim=64 tile_q=32 tile_kv=32 tile_rows=8 mask=causal" },
	{ "flash_attention", "seq=100 heads=2 head_dim=64 tile_q=32 tile_kv=32 mask=causal" },
};

/* The bytes of the only output, on a preset; *nbytes of them, the caller's to free. */
static uint8_t *output_bytes(const char *preset, const char *kernel, const char *settings, uint64_t *nbytes)
{
	struct built b = build_on(preset, kernel, settings);
	struct values_request request = request_of(&b);
	request.exp = NPU_EXP_LUT;
	struct values *v = computed(&request, b.text);
	ck_assert_uint_eq(v->noutputs, 1);
	const struct npu_tensor *t = v->outputs[0].tensor;
	uint8_t *bytes = malloc(*nbytes = npu_tensor_bytes(t));
	ck_assert(npu_exec_dram_read(v->exec, t->addr, bytes, *nbytes));
	values_free(v);
	npu_program_free(b.program);
	return bytes;
}

START_TEST(the_same_tiles_give_the_same_bytes_on_all_presets)
{
	char settings[400];
	uint64_t nbytes, other_bytes;
	uint8_t *first = output_bytes("tiny-256k", fixed[_i].kernel, fixed[_i].settings, &nbytes);
	for (const struct named_capacity *c = preset_capacities; c->name; c++)
		for (unsigned buffers = 0; buffers < 2; buffers++) {
			snprintf(settings, sizeof settings, "%s buffering=%s", fixed[_i].settings,
				 buffers ? "double" : "single");
			uint8_t *other = output_bytes(c->name, fixed[_i].kernel, settings, &other_bytes);
			ck_assert_uint_eq(nbytes, other_bytes);
			ck_assert_msg(memcmp(first, other, nbytes) == 0, "%s %s on %s", fixed[_i].kernel, settings,
				      c->name);
			free(other);
		}
	free(first);
}
END_TEST

/* ---- wrong programs ---- */

/* A program whose instructions may be changed. */
static struct npu_program faulty(const struct npu_program *p, struct npu_insn **insns)
{
	struct npu_program copy = *p;
	*insns = malloc(p->ninsns * sizeof **insns);
	memcpy(*insns, p->insns, p->ninsns * sizeof **insns);
	copy.insns = *insns;
	return copy;
}

static uint32_t next_store(const struct npu_program *p, uint32_t insn)
{
	while (p->insns[insn].op != NPU_OP_STORE)
		insn++;
	return insn;
}

/* The faulty program differs, and the element named was written last by `store`. */
static void expect_caught(const struct built *b, const struct npu_program *p, uint32_t store, const char *fault)
{
	struct values_request request = request_of(b);
	struct npu_error err = { 0 };
	char number[32];
	request.program = p;
	struct values *v = computed(&request, fault);
	ck_assert_msg(values_wrong(v) == 1, "%s: not caught", fault);
	const struct values_output *o = &v->outputs[0];
	ck_assert_uint_eq(o->writer, store);
	ck_assert(o->worst_fraction > 1);
	ck_assert(values_mismatch(v, 0, &err));
	ck_assert_int_eq(err.code, NPU_ERR_MISMATCH);
	snprintf(number, sizeof number, "by #%u store ", store);
	ck_assert_msg(strstr(err.text, number) != NULL, "%s", err.text);
	ck_assert_msg(strstr(err.text, "kernels/") != NULL, "%s", err.text);
	ck_assert_msg(strstr(err.text, "region") != NULL, "%s", err.text);
	values_free(v);
}

START_TEST(a_dropped_accumulate_is_caught_with_the_store_behind_it)
{
	struct built b = build("gemm", "m=48 n=32 k=96 tile_m=16 tile_n=16 tile_k=32");
	struct npu_insn *insns;
	struct npu_program p = faulty(b.program, &insns);
	unsigned dropped = 0;
	for (uint32_t i = 0; i < p.ninsns; i++)
		if (insns[i].op == NPU_OP_MATMUL && insns[i].matmul.accumulate) {
			insns[i].matmul.accumulate = 0;
			expect_caught(&b, &p, next_store(&p, i), "a dropped accumulate");
			insns[i].matmul.accumulate = 1;
			dropped++;
		}
	ck_assert_uint_eq(dropped, 3 * 2 * 2); /* tiles of C, all but the first of k */
	free(insns);
	npu_program_free(b.program);
}
END_TEST

START_TEST(a_load_from_the_wrong_place_is_caught)
{
	struct built b = build("flash_attention", "seq=64 heads=2 head_dim=32 tile_q=32 tile_kv=16 mask=causal");
	struct npu_insn *insns;
	struct npu_program p = faulty(b.program, &insns);
	unsigned caught = 0;
	for (uint32_t i = 0; i < p.ninsns; i++)
		if (insns[i].op == NPU_OP_LOAD) {
			struct values_request request = request_of(&b);
			request.program = &p;
			insns[i].dma.dram += 2; /* one element further */
			struct values *v = computed(&request, "a load");
			ck_assert_msg(values_wrong(v) == 1, "#%u one element further", i);
			ck_assert_uint_eq(insns[v->outputs[0].writer].op, NPU_OP_STORE);
			ck_assert_uint_gt(v->outputs[0].writer, i);
			values_free(v);
			insns[i].dma.dram -= 2;
			caught++;
		}
	ck_assert_uint_gt(caught, 12);
	free(insns);
	npu_program_free(b.program);
}
END_TEST

START_TEST(a_mismatch_ends_with_status_1)
{
	struct built b = build("gemm", "m=16 n=16 k=64 tile_k=32");
	struct npu_insn *insns;
	struct npu_program p = faulty(b.program, &insns);
	struct values_request request = request_of(&b);
	struct npu_error err = { 0 };
	struct report_style style = { 0 };
	struct cli cli = { 0 };
	struct values *right = values_new(&request, &err);
	for (uint32_t i = 0; i < p.ninsns; i++)
		if (insns[i].op == NPU_OP_MATMUL)
			insns[i].matmul.accumulate = 0;
	request.program = &p;
	struct values *wrong = values_new(&request, &err);
	ck_assert(right && wrong);
	ck_assert_int_eq(values_finish(&cli, right, &style, true), 0);
	ck_assert_int_eq(values_finish(&cli, wrong, &style, true), 1);
	values_free(right);
	values_free(wrong);
	free(insns);
	npu_program_free(b.program);
}
END_TEST

START_TEST(a_mask_off_by_one_is_caught)
{
	struct built b = build("mask_softmax", "seq=64 heads=1 mask=causal tile_rows=16");
	struct npu_insn *insns;
	struct npu_program p = faulty(b.program, &insns);
	for (uint32_t i = 0; i < p.ninsns; i++)
		if (insns[i].op == NPU_OP_VSOFTMAX && insns[i].softmax.causal) {
			insns[i].softmax.diagonal--;
			expect_caught(&b, &p, next_store(&p, i), "a mask off by one");
			insns[i].softmax.diagonal++;
		}
	free(insns);
	npu_program_free(b.program);
}
END_TEST

START_TEST(a_tile_that_nobody_stored_is_caught)
{
	struct built b = build("gemm", "m=32 n=32 k=32 tile_m=16 tile_n=32");
	struct npu_insn *insns;
	struct npu_program p = faulty(b.program, &insns);
	uint32_t store = next_store(&p, 0);
	struct values_request request = request_of(&b);
	struct npu_error err = { 0 };
	insns[store].op = NPU_OP_SYNC_STORE;
	request.program = &p;
	struct values *v = computed(&request, b.text);
	ck_assert(values_mismatch(v, 0, &err));
	ck_assert_msg(strstr(err.text, "C[0,0] is 0,") && strstr(err.text, "no instruction wrote it"), "%s", err.text);
	ck_assert_uint_eq(v->outputs[0].wrong, 16 * 32);
	values_free(v);
	free(insns);
	npu_program_free(b.program);
}
END_TEST

/* ---- values that are no numbers ---- */

/* Computes with one element of an input changed; the caller frees the values. */
static struct values *with_element(const struct built *b, const char *tensor, uint64_t index, double x)
{
	struct values_request request = request_of(b);
	struct npu_error err = { 0 };
	uint8_t bytes[4];
	struct values *v = values_new(&request, &err);
	ck_assert_msg(v != NULL, "%s", err.text);
	const struct npu_tensor *t = values_find(b->program, tensor, &err);
	npu_number_set(t->dtype, bytes, 0, x);
	npu_exec_dram_write(v->exec, npu_exec_tensor_addr(t, index), bytes, npu_dtype_bytes(t->dtype, 1));
	ck_assert_msg(values_run(v, &err), "%s", err.text);
	return v;
}

static const struct {
	const char *kernel, *settings, *tensor;
	uint64_t index;
} odd[] = {
	{ "gemm", "m=20 n=20 k=20", "A", 45 },
	{ "gemm", "m=20 n=20 k=20 dtype=bf16", "B", 45 },
	{ "mask_softmax", "seq=20 heads=1 mask=causal", "S", 150 },
	{ "mask_softmax", "seq=20 heads=1 mask=causal fused=0", "S", 150 },
	{ "mask_softmax", "seq=20 heads=1 mask=causal", "S", 19 }, /* hidden */
	{ "attention", "seq=20 heads=1 head_dim=16 mask=causal", "K", 200 },
	{ "flash_attention", "seq=20 heads=1 head_dim=16 tile_q=8 tile_kv=4", "Q", 100 },
	{ "flash_attention", "seq=20 heads=1 head_dim=16 tile_q=8 tile_kv=4 mask=causal", "K", 200 },
	{ "flash_attention", "seq=20 heads=1 head_dim=16 tile_q=8 tile_kv=4 mask=causal", "V", 200 },
	{ "flash_attention", "seq=20 heads=1 head_dim=16 mask=window window=3", "V", 3 },
};

START_TEST(infinities_and_nans_go_where_the_reference_says)
{
	static const double values[] = { NAN, INFINITY, -INFINITY };
	struct built b = build(odd[_i].kernel, odd[_i].settings);
	for (unsigned i = 0; i < 3; i++) {
		struct values *v = with_element(&b, odd[_i].tensor, odd[_i].index, values[i]);
		expect_right(v, b.text);
		values_free(v);
	}
	npu_program_free(b.program);
}
END_TEST

START_TEST(a_nan_that_appears_is_caught)
{
	struct npu_tensor t = { .name = "C", .dtype = NPU_FP16, .rank = 1, .shape = { 4 } };
	const double expected[] = { 1, NAN, INFINITY, 70000 }, bound[] = { 0.5, 0.5, 0, 1 };
	const double good[] = { 1.5, NAN, INFINITY, INFINITY }, bad[] = { NAN, 1, 5, 60000 };
	for (unsigned i = 0; i < 4; i++) {
		double got[4];
		struct values_output right = { .tensor = &t, .elements = 4 }, wrong = right;
		memcpy(got, good, sizeof got);
		values_compare(&right, got, expected, bound);
		ck_assert_uint_eq(right.wrong, 0);
		got[i] = bad[i];
		values_compare(&wrong, got, expected, bound);
		ck_assert_uint_eq(wrong.wrong, 1);
		ck_assert_uint_eq(wrong.first_wrong, i);
		ck_assert(wrong.worst == i && (i < 3 ? isinf(wrong.worst_fraction) : wrong.worst_fraction > 1));
	}
}
END_TEST

/* fp16 has steps of 1/1024 from 1 to 2, of 1/512 from 2 to 4. */
static const struct {
	enum npu_dtype type;
	double expected, got, bound, used;
} usages[] = {
	{ NPU_FP16, 1 + 0.25 / 1024, 1, 1e-9, 0 },                            /* rounded correctly: the bound is not touched */
	{ NPU_FP16, 1 + 0.25 / 1024, 1 + 1.0 / 1024, 0.5 / 1024, 0.5 },       /* its least cause is the middle, 0.25 away */
	{ NPU_FP16, 1 + 0.25 / 1024, 1 + 2.0 / 1024, 2.0 / 1024, 1.25 / 2 },
	{ NPU_FP16, 1 + 0.25 / 1024, 1 - 1.0 / 1024, 2.0 / 1024, 0.5 },       /* below 1 steps are half: middle at 1 - 0.75/1024 */
	{ NPU_FP16, 2 - 0.25 / 1024, 2 + 1.0 / 512, 2.0 / 1024, 1.25 / 2 },
	{ NPU_FP16, -1 - 0.25 / 1024, -1 - 1.0 / 1024, 0.5 / 1024, 0.5 },
	{ NPU_FP16, 0, 0x1p-24, 0x1p-24, 0.5 },
	{ NPU_FP16, 65510, 65472, 32, 22.0 / 32 },                            /* 65504 is the last; the middle is 65488 */
	{ NPU_FP32, 3, 3 + 0x1p-21, 0x1p-20, 0.375 },                         /* steps of 2^-22: 1.5 of them, of 4 */
	{ NPU_BF16, 1, 1 + 2.0 / 128, 4.0 / 128, 0.375 },
	{ NPU_INT8, 5.25, 7, 2, 0.625 },
	{ NPU_INT32, -5, -5, 0, 0 },
};

START_TEST(the_bound_that_is_used_does_not_count_the_last_rounding)
{
	struct npu_tensor t = { .name = "C", .dtype = usages[_i].type, .rank = 1, .shape = { 1 } };
	struct values_output o = { .tensor = &t, .elements = 1 };
	values_compare(&o, &usages[_i].got, &usages[_i].expected, &usages[_i].bound);
	ck_assert_uint_eq(o.wrong, 0);
	ck_assert_double_eq_tol(o.worst_fraction, usages[_i].used, 1e-9);
}
END_TEST

START_TEST(past_its_bound_an_element_uses_more_than_all_of_it)
{
	struct npu_tensor t = { .name = "C", .dtype = NPU_FP16, .rank = 1, .shape = { 1 } };
	struct values_output o = { .tensor = &t, .elements = 1 };
	double expected = 1, got = 1 + 4.0 / 1024, bound = 1.0 / 1024;
	values_compare(&o, &got, &expected, &bound);
	ck_assert_uint_eq(o.wrong, 1);
	ck_assert_double_eq_tol(o.worst_fraction, 3.5, 1e-9);
}
END_TEST

/* Errors 1 and 0 beside values 3 and 4: 1 / 5. A value near 0 does not count for more than it is. */
START_TEST(the_relative_error_is_that_of_the_whole_tensor)
{
	struct npu_tensor t = { .name = "C", .dtype = NPU_FP32, .rank = 1, .shape = { 4 } };
	struct values_output o = { .tensor = &t, .elements = 4 };
	const double expected[] = { 3, 4, 1e-30, INFINITY }, got[] = { 4, 4, 2e-30, INFINITY }, bound[] = { 2, 2, 2, 2 };
	values_compare(&o, got, expected, bound);
	ck_assert_double_eq_tol(o.rms_rel, 0.2, 1e-9);
	ck_assert_double_eq_tol(o.max_rel, 1, 1e-6);
	ck_assert_double_eq_tol(o.max_abs, 1, 1e-9);
}
END_TEST

/* Rows that see nothing: no kernel has them, a program may. */
START_TEST(rows_that_see_nothing_are_zero)
{
	static const char text[] = ".tensor S[4, 8] fp32 in dram:0x0\n"
				   ".tensor P[4, 8] fp16 out dram:0x1000\n"
				   "load sram:0x0, dram:0x0 rows=4 cols=8 dtype=fp32\n"
				   "vsoftmax sram:0x1000, sram:0x0 rows=4 cols=8 padded=1 valid=0\n"
				   "store dram:0x1000, sram:0x1000 rows=4 cols=8 dtype=fp16\n";
	struct npu_error err = { 0 };
	struct npu_program *p = npu_asm_text(text, sizeof text - 1, "zeros.npu", &err);
	ck_assert_msg(p != NULL, "%u: %s", err.line, err.text);
	struct values_request request = { .program = p, .seed = 1 };
	struct values *v = computed(&request, "zeros.npu");
	ck_assert_uint_eq(v->noutputs, 1);
	ck_assert(!v->outputs[0].compared);
	ck_assert(v->outputs[0].min == 0 && v->outputs[0].max == 0);
	ck_assert_uint_eq(v->outputs[0].nans, 0);
	values_free(v);
	npu_program_free(p);
}
END_TEST

/* ---- inputs ---- */

enum { MANY = 100000 };

START_TEST(floats_are_bell_shaped_and_integers_use_their_range)
{
	static double x[MANY], y[MANY];
	struct npu_tensor a = { .name = "A", .dtype = NPU_FP16 }, b = { .name = "B", .dtype = NPU_INT8 };
	double sum = 0, squares = 0, least = 0, most = 0;
	values_seeded(&a, 1, x, MANY);
	values_seeded(&b, 1, y, MANY);
	for (int i = 0; i < MANY; i++) {
		sum += x[i];
		squares += x[i] * x[i];
		least = fmin(least, y[i]);
		most = fmax(most, y[i]);
	}
	/* Standard deviations of mean and variance over 100,000 draws: 0.0032 and 0.0038. */
	ck_assert_double_lt(fabs(sum / MANY), 0.013);
	ck_assert_double_lt(fabs(squares / MANY - 1), 0.016);
	ck_assert(least == -128 && most == 127);
}
END_TEST

START_TEST(seed_and_name_decide_the_stream)
{
	double x[4], y[4];
	struct npu_tensor a = { .name = "K", .dtype = NPU_FP16 }, b = { .name = "V", .dtype = NPU_FP16 };
	values_seeded(&a, 1, x, 4);
	values_seeded(&a, 1, y, 4);
	ck_assert(memcmp(x, y, sizeof x) == 0);
	values_seeded(&a, 2, y, 4);
	ck_assert(memcmp(x, y, sizeof x) != 0);
	values_seeded(&b, 1, y, 4);
	ck_assert(memcmp(x, y, sizeof x) != 0);
}
END_TEST

START_TEST(what_takes_too_much_memory_is_refused_with_the_numbers)
{
	/* S: 30,000^2 x 4 B, P half of that; as doubles twice 6.7 GiB, and as much scratch, result and bound. */
	struct built b =
	    build_on("server", "mask_softmax", "seq=30000 seq_q=30000 heads=1 tile_rows=1 buffering=single");
	struct values_request request = request_of(&b);
	struct npu_error err = { 0 };
	ck_assert(values_new(&request, &err) == NULL);
	ck_assert_int_eq(err.code, NPU_ERR_MEMORY);
	ck_assert_msg(strstr(err.text, "GiB"), "%s", err.text);
	npu_program_free(b.program);
}
END_TEST

/* ---- the plain softmax ---- */

START_TEST(plain_softmax_treats_what_is_not_finite_as_documented)
{
	const struct npu_mask mask = { .kind = NPU_MASK_PADDING, .seq = 4, .seq_q = 4, .valid = 3 };
	const double inf = INFINITY, s[] = { 1, NAN, 2, NAN, inf, 1, 2, NAN, -inf, -inf, -inf, 5, 0, -inf, 0, 5 };
	double p[16];
	npu_reference_softmax(4, &mask, 1, s, p);
	for (int row = 0; row < 2; row++)
		for (int c = 0; c < 4; c++)
			ck_assert_msg(c < 3 ? isnan(p[4 * row + c]) : p[4 * row + c] == 0, "row %d, %d", row, c);
	for (int c = 0; c < 4; c++)
		ck_assert_double_eq(p[8 + c], 0);
	ck_assert(p[12] == 0.5 && p[13] == 0 && p[14] == 0.5 && p[15] == 0);
}
END_TEST

static void add_right(TCase *t)
{
	tcase_add_loop_test(t, a_kernel_stays_within_its_bounds, 0, kernels_with_reference(kernels));
	tcase_add_loop_test(t, the_usual_shapes_stay_within_their_bounds, 0, sizeof shapes / sizeof *shapes);
	tcase_add_loop_test(t, every_head_size_stays_within_its_bounds, 0, ATTENTIONS * HEAD_SIZES);
	tcase_add_loop_test(t, what_has_nothing_to_add_up_is_zero, 0, sizeof nothings / sizeof *nothings);
	tcase_add_test(t, heads_without_elements_are_refused);
	tcase_add_test(t, int8_products_are_exact);
	tcase_add_loop_test(t, the_same_tiles_give_the_same_bytes_on_all_presets, 0, sizeof fixed / sizeof *fixed);
	tcase_add_loop_test(t, infinities_and_nans_go_where_the_reference_says, 0, sizeof odd / sizeof *odd);
	tcase_add_test(t, rows_that_see_nothing_are_zero);
	tcase_add_test(t, plain_softmax_treats_what_is_not_finite_as_documented);
}

static void add_wrong(TCase *t)
{
	tcase_add_test(t, a_dropped_accumulate_is_caught_with_the_store_behind_it);
	tcase_add_test(t, a_load_from_the_wrong_place_is_caught);
	tcase_add_test(t, a_mask_off_by_one_is_caught);
	tcase_add_test(t, a_mismatch_ends_with_status_1);
	tcase_add_test(t, a_tile_that_nobody_stored_is_caught);
	tcase_add_test(t, a_nan_that_appears_is_caught);
	tcase_add_loop_test(t, the_bound_that_is_used_does_not_count_the_last_rounding, 0, sizeof usages / sizeof *usages);
	tcase_add_test(t, past_its_bound_an_element_uses_more_than_all_of_it);
	tcase_add_test(t, the_relative_error_is_that_of_the_whole_tensor);
	tcase_add_test(t, what_takes_too_much_memory_is_refused_with_the_numbers);
}

int main(void)
{
	Suite *s = suite_create("values");
	TCase *right = tcase_create("right programs"), *wrong = tcase_create("wrong programs"),
	      *inputs = tcase_create("inputs");
	tcase_set_timeout(right, 120);
	tcase_set_timeout(wrong, 120);
	add_right(right);
	add_wrong(wrong);
	tcase_add_test(inputs, floats_are_bell_shaped_and_integers_use_their_range);
	tcase_add_test(inputs, seed_and_name_decide_the_stream);
	suite_add_tcase(s, right);
	suite_add_tcase(s, wrong);
	suite_add_tcase(s, inputs);
	return npu_suite_run(s);
}
