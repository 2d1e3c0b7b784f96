/* SPDX-License-Identifier: Apache-2.0 */
/* Macro assembly: what its statements expand to, and that flat text is a part of it. */
#include "isa/access.h"
#include "isa/macro.h"
#include "tests/isa/random.h"
#include "tests/support/suite.h"

#include <stdlib.h>

static const struct npu_capacity edge = { .limits = { 1 << 20, 256 << 10, (uint64_t)4 << 30 },
					  .sram_groups = 4,
					  .sram_word_bytes = 32,
					  .accum_banks = 8,
					  .array_rows = 32,
					  .array_cols = 32,
					  .vector_lanes = 32 };

static struct npu_macro *assemble_with(const char *text, const char *const *params, unsigned nparams)
{
	struct npu_error err = { .code = NPU_ERR_NONE };
	struct npu_macro_options options = { .capacity = &edge, .params = params, .nparams = nparams };
	struct npu_macro *m = npu_macro_text(text, strlen(text), "t.npu", &options, &err);
	ck_assert_msg(m != NULL, "%u:%u: %s", err.line, err.column, err.text);
	return m;
}

static struct npu_macro *assemble(const char *text)
{
	return assemble_with(text, NULL, 0);
}

/* What follows the declarations in the flat text of a program. */
static const char *flat_insns(const struct npu_macro *m)
{
	static char out[8192];
	size_t used = 0;
	out[0] = '\0';
	for (uint32_t i = 0; i < m->program->ninsns; i++) {
		npu_insn_print(m->program, i, out + used, sizeof out - used);
		used += strlen(out + used);
		out[used++] = '\n';
		out[used] = '\0';
	}
	return out;
}

static void expect_insns(const char *text, const char *insns)
{
	struct npu_macro *m = assemble(text);
	ck_assert_str_eq(flat_insns(m), insns);
	npu_macro_free(m);
}

/* The tiled product of one head that the documentation shows. */
static const char qk[] =
    "; S = Q K^T for one head. Tile j+1 loads while tile j multiplies and tile j-1 is stored.\n"
    ".param   seq=1024, d=128, tq=128, tk=128\n"
    ".require seq % tq == 0 && seq % tk == 0, \"tq={tq} and tk={tk} must divide seq={seq}\"\n"
    ".tensor  Q[seq, d]   fp16 in\n"
    ".tensor  K[seq, d]   fp16 in\n"
    ".tensor  S[seq, seq] fp32 out = Q @ K.T          ; what --values compares with\n"
    ".sram    q[2][tq, d] fp16                        ; the assembler places them;\n"
    ".sram    k[2][tk, d] fp16                        ; [2] is a ping-pong pair\n"
    ".acc     s[2][tq, tk] fp32\n"
    ".sem     q_full[2], k_full[2], s_full[2], q_free[2]=1, k_free[2]=1, s_free[2]=1\n"
    "\n"
    ".for i in 0..seq/tq\n"
    ".region \"q tile {i}\"\n"
    "  load     q[i%2], Q[i*tq:+tq, :]                wait q_free[i%2]             post q_full[i%2]\n"
    "  sync.matrix                                    wait q_full[i%2]\n"
    "  .for j in 0..seq/tk\n"
    "    load   k[j%2], K[j*tk:+tk, :]                wait k_free[j%2]             post k_full[j%2]\n"
    "    matmul s[j%2], q[i%2], k[j%2].T              wait k_full[j%2], s_free[j%2] post k_free[j%2], s_full[j%2]\n"
    "    store  S[i*tq:+tq, j*tk:+tk], s[j%2]         wait s_full[j%2]             post s_free[j%2]\n"
    "  .end\n"
    "  sync.matrix                                    post q_free[i%2]\n"
    ".endregion\n"
    ".end\n";

START_TEST(a_whole_kernel_expands_to_its_tiles)
{
	struct npu_macro *m = assemble_with(qk, (const char *const[]){ "seq=256" }, 1);
	const struct npu_program *p = m->program;
	char loops[64];
	uint64_t macs = 0;
	for (uint32_t i = 0; i < p->ninsns; i++)
		macs += npu_insn_macs(&p->insns[i]);
	/* 2 row tiles of (load, sync, 2 x (load, matmul, store), sync) */
	ck_assert_uint_eq(p->ninsns, 2 * (3 + 2 * 3));
	ck_assert_uint_eq(macs, 256u * 256 * 128);
	ck_assert_uint_eq(p->nsems, 12);
	ck_assert_uint_eq(p->nregions, 2);
	ck_assert_str_eq(p->regions[1].name, "q tile 1");
	/* row 1, tile 1: the last product reads the second half of both pairs */
	const struct npu_insn *product = &p->insns[9 + 2 + 3 + 1];
	ck_assert_uint_eq(product->op, NPU_OP_MATMUL);
	ck_assert_uint_eq(product->matmul.transpose_b, 1);
	ck_assert_uint_eq(product->matmul.m, 128);
	ck_assert_uint_eq(product->matmul.n, 128);
	ck_assert_uint_eq(product->matmul.k, 128);
	ck_assert_uint_eq(product->matmul.a, p->insns[9].dma.local);
	ck_assert_str_eq(npu_macro_loop_values(m, 9 + 2 + 3 + 1, loops, sizeof loops), "i=1 j=1");
	ck_assert_str_eq(npu_macro_loop_values(m, 9, loops, sizeof loops), "i=1");
	/* its tile of S: rows from 128, columns from 128, of 256 fp32 a row */
	const struct npu_dma *store = &p->insns[9 + 2 + 3 + 2].dma;
	ck_assert_uint_eq(store->dram, p->tensors[2].addr + (128 * 256 + 128) * 4);
	ck_assert_uint_eq(store->dram_stride, 256 * 4);
	ck_assert_uint_eq(store->dtype, NPU_FP32);
	npu_macro_free(m);
}
END_TEST

START_TEST(its_flat_form_assembles_to_the_same_bytes)
{
	struct npu_macro *m = assemble(qk);
	char *text = npu_disasm_text(m->program);
	struct npu_macro *again = assemble(text);
	char *twice = npu_disasm_text(again->program);
	ck_assert_str_eq(text, twice);
	ck_assert_uint_eq(m->program->hash, again->program->hash);
	npu_macro_free(m);
	npu_macro_free(again);
	free(text);
	free(twice);
}
END_TEST

/* The same flat text through both assemblers: once as it is, once with a line that makes it macro assembly. */
START_TEST(flat_text_means_the_same_in_macro_assembly)
{
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct rng rng = { seed };
		struct npu_program *program = random_program(&rng, 200);
		char *text = npu_disasm_text(program);
		size_t size = strlen(text) + 64;
		char *macro = malloc(size);
		const char *behind = strchr(text, '\n') + 1; /* .program stays the first line */
		snprintf(macro, size, "%.*s.let unused = 1\n%s", (int)(behind - text), text, behind);
		struct npu_macro *m = assemble(macro);
		ck_assert_uint_eq(m->program->hash, program->hash);
		char *again = npu_disasm_text(m->program);
		ck_assert_str_eq(again, text);
		npu_macro_free(m);
		npu_program_free(program);
		free(text);
		free(macro);
		free(again);
	}
}
END_TEST

START_TEST(sizes_and_types_follow_from_the_operands)
{
	expect_insns(".sram a[4, 64] bf16 at=0x0\n.sram b[16, 64] bf16 at=0x1000\n.acc d[4, 16] fp32 at=0x0\n"
		     "matmul d, a, b.T\n",
		     "matmul acc:0x0, sram:0x0, sram:0x1000 m=4 n=16 k=64 a_type=bf16 b_type=bf16 transpose_b=1\n");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("isa.macro");
	TCase *t = tcase_create("programs");
	tcase_add_test(t, a_whole_kernel_expands_to_its_tiles);
	tcase_add_test(t, its_flat_form_assembles_to_the_same_bytes);
	tcase_add_test(t, flat_text_means_the_same_in_macro_assembly);
	suite_add_tcase(s, t);
	t = tcase_create("operands");
	tcase_add_test(t, sizes_and_types_follow_from_the_operands);
	suite_add_tcase(s, t);
	return s;
}

int main(void) { return npu_suite_run(suite()); }
