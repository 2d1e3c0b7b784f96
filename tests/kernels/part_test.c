/* SPDX-License-Identifier: Apache-2.0 */
/* A program of a part of an operator: its loads and stores are some of those of the whole, address by address. */
#include "kernels/kernel.h"
#include "tests/support/suite.h"

#include <inttypes.h>

static const struct npu_capacity capacity = {
	.limits = { .sram_bytes = 1 << 20, .accum_bytes = 256 << 10, .dram_bytes = 1ull << 30 },
	.sram_groups = 4, .sram_word_bytes = 32, .accum_banks = 2, .array_rows = 32, .array_cols = 32, .dram_granule = 64,
};

static struct npu_args args_of(const struct npu_kernel *k, const char *const *words, const char *changed)
{
	struct npu_args args;
	struct npu_error err = { 0 };
	npu_args_init(k, &args);
	for (unsigned i = 0; words[i]; i++)
		ck_assert_msg(npu_args_set(k, &args, words[i], &err), "%s", err.text);
	if (changed)
		ck_assert_msg(npu_args_set(k, &args, changed, &err), "%s", err.text);
	return args;
}

static bool moves(const struct npu_insn *insn)
{
	return insn->op == NPU_OP_LOAD || insn->op == NPU_OP_STORE;
}

/* An instruction of the program that moves the same. */
static bool has(const struct npu_program *p, const struct npu_insn *insn, uint32_t *from)
{
	for (uint32_t tries = 0; tries < p->ninsns; tries++) {
		const struct npu_insn *o = &p->insns[(*from + tries) % p->ninsns];
		if (o->op == insn->op && o->dma.dram == insn->dma.dram && o->dma.dram_stride == insn->dma.dram_stride &&
		    o->dma.rows == insn->dma.rows && o->dma.cols == insn->dma.cols && o->dma.dtype == insn->dma.dtype) {
			*from = (*from + tries + 1) % p->ninsns;
			return true;
		}
	}
	return false;
}

static const struct {
	const char *kernel;
	const char *words[8]; /* of the whole, all tiles named */
	const char *part;
} cases[] = {
	/* Columns of B, C and scales of groups: rows stay as far apart. */
	{ "gemm", { "m=96", "n=640", "k=256", "tile_m=32", "tile_n=64", "tile_k=64" }, "n=128" },
	{ "gemm", { "m=96", "n=640", "k=256", "tile_m=32", "tile_n=64", "tile_k=128", "weights=int4" }, "n=192" },
	{ "gemm", { "m=96", "n=640", "k=256", "tile_m=32", "tile_n=64", "tile_k=64", "order=weight" }, "n=64" },
	/* Rows of A and C: B lies behind all of A. */
	{ "gemm", { "m=320", "n=96", "k=256", "tile_m=32", "tile_n=32", "tile_k=64", "weights=int8" }, "m=64" },
	{ "gemv", { "m=2", "n=2048", "k=512", "tile_n=64", "tile_k=128", "weights=int4" }, "n=256" },
	{ "swiglu", { "rows=300", "cols=512" }, "rows=64" },
	{ "residual_add", { "rows=300", "cols=512" }, "rows=64" },
	{ "flash_attention", { "seq=256", "heads=6", "head_dim=64", "tile_q=64", "tile_kv=64" }, "heads=2" },
	{ "conv2d", { "batch=6", "height=10", "width=10", "channels=8", "filters=16", "tile_m=64" }, "batch=2" },
};
enum { CASES = sizeof cases / sizeof cases[0] };

START_TEST(what_a_part_moves_the_whole_moves_too)
{
	const struct npu_kernel *k = npu_kernel_find(cases[_i].kernel);
	struct npu_error err = { 0 };
	struct npu_args all = args_of(k, cases[_i].words, NULL);
	struct npu_program *whole = npu_kernel_build(k, &capacity, &all, &err);
	ck_assert_msg(whole != NULL, "%s", err.text);
	/* The tiles of the whole, whatever the shorter one would have. */
	struct npu_args few = all, changed = args_of(k, cases[_i].words, cases[_i].part);
	for (unsigned i = 0; i < k->nparams; i++) {
		few.named[i] = true;
		if (changed.named[i])
			few.value[i] = changed.value[i];
	}
	int heads = npu_param_index(k, "heads"), kv_heads = npu_param_index(k, "kv_heads");
	if (kv_heads >= 0)
		few.value[kv_heads] = few.value[heads];
	struct npu_program *part = npu_kernel_build_part(k, &capacity, &few, &all, &err);
	ck_assert_msg(part != NULL, "%s", err.text);
	uint32_t from = 0, moved = 0, all_moved = 0;
	for (uint32_t i = 0; i < part->ninsns; i++)
		if (moves(&part->insns[i])) {
			moved++;
			ck_assert_msg(has(whole, &part->insns[i], &from), "%s: instruction %" PRIu32 " at dram:0x%" PRIx64, k->name,
				      i, part->insns[i].dma.dram);
		}
	for (uint32_t i = 0; i < whole->ninsns; i++)
		all_moved += moves(&whole->insns[i]);
	ck_assert_uint_gt(moved, 0);
	ck_assert_uint_lt(moved, all_moved);
	ck_assert_uint_eq(part->ntensors, whole->ntensors);
	for (uint32_t i = 0; i < part->ntensors; i++)
		ck_assert(part->tensors[i].addr == whole->tensors[i].addr && part->tensors[i].bytes == whole->tensors[i].bytes);
	npu_program_free(part);
	npu_program_free(whole);
}
END_TEST

/* Pages of fewer heads are smaller ones: such a part lies as it would by itself. */
START_TEST(a_paged_cache_of_fewer_heads_lies_by_itself)
{
	static const char *const words[] = { "seq=256", "chunk=256", "heads=8", "kv_heads=4", "head_dim=64", NULL };
	const struct npu_kernel *k = npu_kernel_find("prefill_attention_paged");
	struct npu_error err = { 0 };
	struct npu_args all = args_of(k, words, NULL), few = args_of(k, words, "heads=4"), alone;
	few.value[npu_param_index(k, "kv_heads")] = 2;
	alone = few;
	struct npu_program *whole = npu_kernel_build(k, &capacity, &all, &err);
	struct npu_program *part = npu_kernel_build_part(k, &capacity, &few, &all, &err);
	struct npu_program *other = npu_kernel_build(k, &capacity, &alone, &err);
	ck_assert_msg(whole && part && other, "%s", err.text);
	ck_assert_uint_eq(part->hash, other->hash);
	npu_program_free(whole);
	npu_program_free(part);
	npu_program_free(other);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("part");
	TCase *tests = tcase_create("all");
	tcase_add_loop_test(tests, what_a_part_moves_the_whole_moves_too, 0, CASES);
	tcase_add_test(tests, a_paged_cache_of_fewer_heads_lies_by_itself);
	suite_add_tcase(suite, tests);
	return npu_suite_run(suite);
}
