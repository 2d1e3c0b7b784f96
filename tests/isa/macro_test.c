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
	struct rng rng = { (uint64_t)_i };
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
END_TEST

START_TEST(sizes_and_types_follow_from_the_operands)
{
	expect_insns(".sram a[4, 64] bf16 at=0x0\n.sram b[16, 64] bf16 at=0x1000\n.acc d[4, 16] fp32 at=0x0\n"
		     "matmul d, a, b.T\n",
		     "matmul acc:0x0, sram:0x0, sram:0x1000 m=4 n=16 k=64 a_type=bf16 b_type=bf16 transpose_b=1\n");
}
END_TEST

/* Sizes that are a product, a half or a number of groups of what the operands are. */
START_TEST(sizes_that_follow_from_several_fields_are_found_and_checked)
{
	expect_insns(".sram x[32, 64] fp16\n.sram y[32, 64] fp16\n.sram cs[2][32, 16] fp32\n"
		     "vrope y, x, cs[0], cs[1]\nvrope y, x, cs[0], cs[1] heads=1\nvrope y, x, cs[0], cs[1] heads=2\n",
		     "vrope sram:0x40000, sram:0x0, sram:0x80000, sram:0xc0000 rows=32 dim=64 rotary=32\n"
		     "vrope sram:0x40000, sram:0x0, sram:0x80000, sram:0xc0000 rows=32 dim=64 rotary=32\n"
		     "vrope sram:0x40000, sram:0x0, sram:0x80000, sram:0xc0000 rows=32 heads=2 dim=32 rotary=32\n");
	expect_insns(".sram a[32, 64] fp16\n.sram b[64, 32] int4\n.sram s[3, 32] fp16\n.acc o[32, 32] fp32\n"
		     "matmul o, a, b, s group=24\n",
		     "matmul acc:0x0, sram:0x0, sram:0x40000, sram:0x80000 m=32 n=32 k=64 group=24 b_type=int4\n");
}
END_TEST

/* Types that no field says: of sums, state and zero points. */
START_TEST(types_without_a_field_follow_from_the_instruction)
{
	expect_insns(".sram a[16, 16] int8\n.acc c[16, 16] int32\nmatmul c, a, a\n",
		     "matmul acc:0x0, sram:0x0, sram:0x0 m=16 n=16 k=16 a_type=int8 b_type=int8\n");
	expect_insns(".sram a[4, 16] fp16\n.sram q[4, 16] uint8\n.sram s[4] fp16\n.sram z[4] uint8\n"
		     "vquant q, a, s, z scale=row asymmetric=1\n",
		     "vquant sram:0x40000, sram:0x0, sram:0x80000, sram:0xc0000 rows=4 cols=16 scale=row asymmetric=1 "
		     "dst_type=uint8\n");
}
END_TEST

START_TEST(a_reference_may_start_from_what_a_tensor_held_before)
{
	struct npu_macro *m = assemble(".tensor X[4] fp16 in\n.tensor O[4] fp16 inout = O + X\n.let a = 1\n");
	const struct npu_reference_node *sum = m->tensors[1].reference;
	ck_assert_int_eq(sum->kind, NPU_REFERENCE_ADD);
	ck_assert_uint_eq(sum->a->tensor, 1);
	npu_macro_free(m);
}
END_TEST

START_TEST(a_buffer_over_another_has_its_bytes_and_the_program_one_name)
{
	/* two of them, in another type; and a row of the second, 128 bytes from 0x100080 on */
	expect_insns(".sram a[2][4, 32] fp32 at=0x100\n.sram b[2][4, 64] fp16 over=a\n.sram r[32] fp32 over=a[1][1:2, :]\n"
		     "vcopy b[1], b[0]\nvfill r\n",
		     "vcopy sram:0x300, sram:0x100 rows=4 cols=64 dst_type=fp16 a_type=fp16\nvfill sram:0x380 rows=1 cols=32\n");
	/* slices without gaps: of one row, of whole rows of three dimensions, of blocks */
	expect_insns(".sram a[4, 8, 8] fp16 at=0\n.sram w[32, 32] fp16 layout=block16 at=0x1000\n.sram b[4] fp16 over=a[1, 2, 4:8]\n"
		     ".sram c[16, 8] fp16 over=a[2:4, :, :]\n.sram d[256] fp16 over=w[16:32, 16:32]\n.sram e[512] fp16 over=w[16:32, :]\n"
		     "vfill b\nvfill c\nvfill d\nvfill e\n",
		     "vfill sram:0xa8 rows=1 cols=4 dst_type=fp16\nvfill sram:0x100 rows=16 cols=8 dst_type=fp16\n"
		     "vfill sram:0x1600 rows=1 cols=256 dst_type=fp16\nvfill sram:0x1400 rows=1 cols=512 dst_type=fp16\n");
	const char *text = ".sram a[4] fp32 at=0\n.sram b[8] fp16 over=a\n.sram c[4] int8 over=b\nvfill a\nvfill b\n.free b\n.sram b[4] fp32\nvfill b\n";
	struct npu_macro *m = npu_macro_text(text, strlen(text), "t.npu", NULL, NULL);
	ck_assert_ptr_nonnull(m);
	ck_assert_uint_eq(m->program->nbuffers, 2);
	ck_assert_str_eq(m->program->buffers[0].name, "a");
	ck_assert_uint_eq(m->program->buffers[0].end, 3);
	npu_macro_free(m);
}
END_TEST

START_TEST(dimensions_merge_drop_and_turn)
{
	/* two heads of 4 x 64, dense: one matrix of 8 rows */
	expect_insns(".tensor Q[2, 4, 64] fp16 in\n.sram q[8, 64] fp16 at=0\nload q, Q\n",
		     "load sram:0x0, dram:0x0 rows=8 cols=64\n");
	/* one head, half of its columns: 128 bytes from row to row, from byte 512 + 64 on */
	expect_insns(".tensor Q[2, 4, 64] fp16 in\n.sram q[4, 32] fp16 at=0\nload q, Q[1, :, 32:]\n",
		     "load sram:0x0, dram:0x240 rows=4 cols=32 dram_stride=128\n");
	/* one column: an element a row */
	expect_insns(".sram a[4, 64] fp32 at=0\n.sram m[4] fp32 at=0x1000\nvcopy m{4, 1}, a[:, 3]\n",
		     "vcopy sram:0x1000, sram:0xc rows=4 cols=1 a_stride=256\n");
	/* rows that stand apart keep their distance; the first bytes in another shape do not */
	expect_insns(".acc s[64, 64] fp32 at=0\nvfill s[0:8, 0:16]\nvfill s{8, 16}\n",
		     "vfill acc:0x0 rows=8 cols=16 dst_stride=256\nvfill acc:0x0 rows=8 cols=16\n");
	/* blocks, too: 16 of the 32 columns, and a row of blocks of those, 16 x 16 x 2 bytes */
	expect_insns(".tensor W[32, 32] fp16 in layout=block16\n.sram w[32, 32] fp16 at=0 layout=block16\nload w{32, 16}, W[:, 16:]\n",
		     "load sram:0x0, dram:0x200 rows=32 cols=16 dram_layout=block16 local_layout=block16 dram_stride=1024\n");
	/* the DMA turns: local memory holds [cols, rows] */
	expect_insns(".tensor K[8, 64] fp16 in\n.sram t[64, 8] fp16 at=0\nload t, K.T\n",
		     "load sram:0x0, dram:0x0 rows=8 cols=64 transpose=1\n");
	/* blocks: rows of blocks are 64 * 16 * 2 bytes */
	expect_insns(".tensor W[64, 64] fp16 in layout=block16\n.sram w[32, 64] fp16 at=0 layout=block16\nload w, "
		     "W[32:+32, :]\n",
		     "load sram:0x0, dram:0x1000 rows=32 cols=64 dram_layout=block16 local_layout=block16\n");
	/* sizes by name make a name the address that it is in flat text */
	expect_insns(".tensor K[8, 64] fp32 in at=64\n.sram k[8, 64] fp32 at=0\nload k, K rows=4 cols=32\n",
		     "load sram:0x0, dram:0x40 rows=4 cols=32\n");
	/* two 4-bit elements a byte */
	expect_insns(".tensor W[64, 64] int4 in\n.sram w[8, 64] int4 at=0\nload w, W[8:+8, :]\n",
		     "load sram:0x0, dram:0x100 rows=8 cols=64 dtype=int4\n");
}
END_TEST

START_TEST(operands_that_follow_need_not_be_written)
{
	const char *vectors = ".sram x[4, 64] fp32 at=0\n.sram r[64] fp32 at=0x1000\n.sram c[4] fp32 at=0x2000\n";
	char text[1024];
	snprintf(text, sizeof text, "%svadd x, x, r\nvadd x, x, c\nvmul x, x imm=1/sqrt(4)\nvredmax c, x\n", vectors);
	expect_insns(text, "vadd sram:0x0, sram:0x0, sram:0x1000 rows=4 cols=64 b_bcast=row\n"
			   "vadd sram:0x0, sram:0x0, sram:0x2000 rows=4 cols=64 b_bcast=col\n"
			   "vmul sram:0x0, sram:0x0 imm=0.5 rows=4 cols=64 b_bcast=imm\n"
			   "vredmax sram:0x2000, sram:0x0 rows=4 cols=64\n");
	expect_insns(
	    ".sram x[4, 64] fp32 at=0\n.sram w[64] fp16 at=0x1000\n.sram b[64] fp16 at=0x2000\n"
	    "vlayernorm x, x, w, b\n",
	    "vlayernorm sram:0x0, sram:0x0, sram:0x1000, sram:0x2000 rows=4 cols=64 has_bias=1 dst_type=fp32\n");
	expect_insns(".sram p[4, 64] fp16 at=0\n.acc s[4, 64] fp32 at=0\n.sram st[3, 16] fp32 at=0x1000\n"
		     "vsoftmax_online p, s, st[:, 0:4] first=1\n",
		     "vsoftmax_online sram:0x0, acc:0x0, sram:0x1000 rows=4 cols=64 state_stride=64 first=1\n");
	expect_insns(
	    ".tensor pool[8, 2, 2, 16, 64] fp16 in\n.table t = [3, 1]\n.sram k[20, 64] fp16 at=0\n"
	    "gather k, pool[:, 1, 0, :, :] table=t\n",
	    "gather sram:0x0, dram:0x1000 cols=64 rows=20 page_stride=8192 row_stride=128 page_rows=16 table=t\n");
}
END_TEST

/* ---- expressions ---- */

static const struct {
	const char *expression;
	int64_t value;
} expressions[] = {
	{ "2 + 3 * 4", 14 },
	{ "-9223372036854775808 + 1", -9223372036854775807 },
	{ "(2 + 3) * 4", 20 },
	{ "10 - 3 - 2", 5 },
	{ "-7 / 2", -4 }, /* rounds down, */
	{ "-7 % 2", 1 },  /* so that a turn before the first has a slot */
	{ "7 / -2", -4 },
	{ "7 % -2", -1 },
	{ "ceil(7 / 2)", 4 },
	{ "ceil(7, 2)", 4 },
	{ "ceil(-7 / 2)", -3 },
	{ "ceil(8 / 2)", 4 },
	{ "min(3, 1, 2)", 1 },
	{ "max(3, 1, 2)", 3 },
	{ "abs(-5)", 5 },
	{ "1 < 2 && 2 < 3", 1 },
	{ "1 > 2 || 2 > 3", 0 },
	{ "0 && 1 / 0", 0 },
	{ "1 || 1 / 0", 1 },
	{ "5 > 3 ? 10 : 1 / 0", 10 },
	{ "0 ? 1 : 0 ? 2 : 3", 3 },
	{ "1 + (1 == 1)", 2 },
	{ "!3", 0 },
	{ "~0", -1 },
	{ "6 & 3 | 8 ^ 1", 11 },
	{ "1 << 40", (int64_t)1 << 40 },
	{ "-16 >> 2", -4 },
	{ "32KiB", 32768 },
	{ "0xff", 255 },
	{ "9223372036854775807", INT64_MAX },
	{ "-9223372036854775807 - 1", INT64_MIN },
	{ "x * x", 49 },
	{ "word == causal", 1 },
	{ "word != none", 1 },
};

START_TEST(an_expression_has_its_value)
{
	char text[256], want[64];
	snprintf(text, sizeof text,
		 ".param x=7, word=causal|none\n.let y = %s\n.region \"{y}\"\nsync.load\n.endregion\n",
		 expressions[_i].expression);
	struct npu_macro *m = assemble(text);
	snprintf(want, sizeof want, "%lld", (long long)expressions[_i].value);
	ck_assert_str_eq(m->program->regions[0].name, want);
	npu_macro_free(m);
}
END_TEST

/* ---- statements ---- */

static void expect_regions(const char *text, const char *names)
{
	struct npu_macro *m = assemble(text);
	char got[1024] = "";
	for (uint32_t i = 0; i < m->program->nregions; i++) {
		strcat(got, i ? " " : "");
		strcat(got, m->program->regions[i].name);
	}
	ck_assert_str_eq(got, names);
	npu_macro_free(m);
}

#define SAY(text) ".region \"" text "\"\n.endregion\n"

START_TEST(loops_count_up_down_and_not_at_all)
{
	expect_regions(".for i in 0..3\n" SAY("{i}") ".end\n", "0 1 2");
	expect_regions(".for i in 0..10 step 4\n" SAY("{i}") ".end\n", "0 4 8");
	expect_regions(".for i in 3..0 step -1\n" SAY("{i}") ".end\n", "3 2 1");
	expect_regions(".for i in 5..5\n" SAY("{i}") ".end\n" SAY("none"), "none");
	expect_regions(".for i in 0..2\n.for j in i..2\n" SAY("{i}{j}") ".end\n.end\n", "00 01 11");
	expect_regions(".for i in 9223372036854775806..9223372036854775807\n" SAY("{i}") ".end\n",
		       "9223372036854775806");
}
END_TEST

START_TEST(branches_take_the_first_that_holds)
{
	const char *text = ".for i in 0..4\n.if i == 0\n" SAY("a") ".elif i == 1\n" SAY("b") ".elif i == 2\n" SAY(
	    "c") ".else\n" SAY("d") ".end\n.end\n";
	expect_regions(text, "a b c d");
}
END_TEST

START_TEST(variables_live_where_they_were_made)
{
	/* a counter of the file changes from inside; one of a turn is new in every turn */
	expect_regions(".let n = 0\n.for i in 0..3\n.let n = n + 1, m = i * 2\n" SAY("{n}{m}") ".end\n" SAY("{n}"),
		       "10 22 34 3");
	/* a macro changes the file's, not its caller's */
	expect_regions(".macro bump\n.let n = n + 1, x = 9\n.end\n.let n = 0\n.for i in 0..2\n.let x = 5\nbump\n" SAY(
			   "{n}{x}") ".end\n",
		       "15 25");
	/* what .if declares stays */
	expect_regions(".if 1\n.let a = 4\n.end\n" SAY("{a}"), "4");
}
END_TEST

START_TEST(macros_take_numbers_slices_and_semaphores)
{
	expect_insns(".tensor K[64, 64] fp16 in\n.sram k[2][32, 64] fp16 at=0\n.sem full[2], free[2]=1\n"
		     ".macro fetch to, from, take, give, rows=32\n"
		     "  load to[0:rows, :], from[0:rows, :]   wait take   post give\n"
		     ".end\n"
		     "fetch k[1], K[32:, :], free[1], full[1]\n"
		     "fetch k[0], K, give=full[0], take=free[0], rows=16\n",
		     "load sram:0x1000, dram:0x1000 rows=32 cols=64   wait free[1]   post full[1]\n"
		     "load sram:0x0, dram:0x0 rows=16 cols=64   wait free[0]   post full[0]\n");
}
END_TEST

START_TEST(a_count_of_nothing_is_no_wait)
{
	expect_insns(".sem a, b[2]\n.for i in 0..2\nsync.load wait a:(i > 0), b[i]   post b[i]:i + 1\n.end\n",
		     "sync.load   wait b[0]   post b[0]\n"
		     "sync.load   wait a, b[1]   post b[1]:2\n");
}
END_TEST

START_TEST(buffers_are_placed_together_and_used_again_after_free)
{
	struct npu_macro *m = assemble(".sram a[2][64, 64] fp16 bank=1\n.sram b[64, 64] fp16 align=4096\nvfill b\n"
				       ".free a\n.sram c[64, 64] fp16 bank=1\nvfill c\n");
	const struct npu_program *p = m->program;
	ck_assert_uint_eq(p->nbuffers, 4);
	/* a group of SRAM is 256 KiB; the second of a pair goes to the next one */
	ck_assert_uint_eq(p->buffers[0].local, 256 << 10);
	ck_assert_uint_eq(p->buffers[1].local, 512 << 10);
	ck_assert_uint_eq(p->buffers[2].local % 4096, 0);
	ck_assert_uint_eq(p->buffers[3].local, p->buffers[0].local);
	ck_assert_uint_eq(p->buffers[0].end, 1);
	ck_assert_uint_eq(p->buffers[3].first, 1);
	ck_assert_uint_eq(p->buffers[3].end, 2);
	npu_macro_free(m);
}
END_TEST

/* Four groups of 256 KiB. */
START_TEST(a_step_says_in_which_group_the_next_buffer_lies)
{
	struct npu_macro *m = assemble(".sram a[2][64, 64] fp16 bank=1 step=4\n.sram b[2][64, 64] fp16 bank=1 step=2\n"
				       "vfill a[0]\n");
	const struct npu_program *p = m->program;
	ck_assert_uint_eq(p->nbuffers, 4);
	ck_assert_uint_eq(p->buffers[0].local, 256 << 10);
	ck_assert_uint_eq(p->buffers[1].local, (256 << 10) + (8 << 10));
	ck_assert_uint_eq(p->buffers[2].local, (256 << 10) + (16 << 10));
	ck_assert_uint_eq(p->buffers[3].local, 768 << 10);
	npu_macro_free(m);
}
END_TEST

START_TEST(parameters_come_from_the_command_line)
{
	static const char *const given[] = { "n=2k", "mode=slow", "n=3" };
	struct npu_macro *m = assemble_with(".param n=1, mode=fast|slow\n.param twice=n*2, same=mode\n"
					    ".region \"{n} {mode} {twice} {same}\"\nsync.load\n.endregion\n",
					    given, 3);
	ck_assert_str_eq(m->program->regions[0].name, "3 slow 6 slow");
	ck_assert_uint_eq(m->nparams, 4);
	ck_assert_str_eq(m->params[0].name, "n");
	ck_assert_str_eq(m->params[0].value, "3");
	ck_assert_str_eq(m->params[1].value, "slow");
	npu_macro_free(m);
}
END_TEST

/* ---- files ---- */

static char *read_file(void *context, const char *path, uint64_t *nbytes, struct npu_error *err)
{
	static const struct {
		const char *path, *text;
	} files[] = {
		{ "dir/lib.npu", ".macro two\nsync.load\nsync.load\n.end\n.include \"more.npu\"\n" },
		{ "dir/more.npu", ".let more = 1" },
		{ "dir/self.npu", ".include \"self.npu\"\n" },
		{ "dir/bad.npu", "sync.load\n\nsync.lod\n" },
		{ "sys/std.npu", ".let std = 7\n" },
		{ "dir/copy.npu", ".let std = 7\n" },
		{ "dir/x/../std.npu", ".let std = 7\n" },
		{ "dir/.//std.npu", ".let std = 7\n" },
		{ "dir/x/.././/std.npu", ".let std = 7\n" },
		{ "dir/../../std.npu", ".let std = 7\n" },
		{ "dir/a.npu", ".include once \"b.npu\"\n.macro a\nb\n.end\n" },
		{ "dir/b.npu", ".include once \"a.npu\"\n.macro b\nsync.load\n.end\n" },
	};
	(void)context, (void)err;
	for (unsigned i = 0; i < sizeof files / sizeof files[0]; i++)
		if (strcmp(files[i].path, path) == 0) {
			*nbytes = strlen(files[i].text);
			char *copy = malloc(*nbytes + 1);
			return strcpy(copy, files[i].text);
		}
	return NULL;
}

static struct npu_macro *assemble_in_folder(const char *text, struct npu_error *err)
{
	static const char *const folders[] = { "sys" };
	struct npu_macro_options options = { .capacity = &edge, .folders = folders, .nfolders = 1, .read = read_file };
	return npu_macro_text(text, strlen(text), "dir/t.npu", &options, err);
}

START_TEST(files_are_included_once_each_time_and_found_beside_and_in_folders)
{
	struct npu_error err = { 0 };
	struct npu_macro *m =
	    assemble_in_folder(".include \"lib.npu\"\n.include \"std.npu\"\n.for i in more..std\ntwo\n.end\n", &err);
	ck_assert_msg(m != NULL, "%s", err.text);
	ck_assert_uint_eq(m->program->ninsns, 12);
	/* the line of the macro, in its file */
	ck_assert_str_eq(m->program->files[m->program->place[0].file], "dir/lib.npu");
	ck_assert_uint_eq(m->program->place[1].line, 3);
	npu_macro_free(m);
}
END_TEST

START_TEST(a_file_that_is_wanted_once_is_passed_over_when_it_was_read)
{
	struct npu_error err = { 0 };
	/* a second .include alone would define its macros twice */
	ck_assert_ptr_null(assemble_in_folder(".include \"lib.npu\"\n.include \"lib.npu\"\n", &err));
	ck_assert_ptr_nonnull(strstr(err.text, "a second macro two; the first is at dir/lib.npu:1"));
	struct npu_macro *m = assemble_in_folder(".include \"lib.npu\"\n.include once \"lib.npu\"\ntwo\n", &err);
	ck_assert_msg(m != NULL, "%s", err.text);
	ck_assert_uint_eq(m->program->ninsns, 2);
	npu_macro_free(m);
	/* each wants the other */
	m = assemble_in_folder(".include once \"a.npu\"\n.include once \"b.npu\"\na\n", &err);
	ck_assert_msg(m != NULL, "%s", err.text);
	ck_assert_uint_eq(m->program->ninsns, 1);
	npu_macro_free(m);
	/* by another path it is the same file; the same text elsewhere is not, for what it includes may be other files */
	static const struct {
		const char *name;
		unsigned insns;
	} others[] = { { "copy.npu", 7 }, { ".//std.npu", 8 }, { "x/.././/std.npu", 8 }, { "../../std.npu", 7 } };
	for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
		char text[256];
		snprintf(text, sizeof text,
			 ".include \"x/../std.npu\"\n.let std = 8\n.include once \"%s\"\n.for i in 0..std\nsync.load\n.end\n",
			 others[i].name);
		m = assemble_in_folder(text, &err);
		ck_assert_msg(m != NULL, "%s", err.text);
		ck_assert_uint_eq(m->program->ninsns, others[i].insns);
		npu_macro_free(m);
	}
	ck_assert_ptr_null(assemble_in_folder(".include once \"none.npu\"\n", &err));
	ck_assert_ptr_nonnull(strstr(err.text, "none.npu is neither"));
}
END_TEST

START_TEST(errors_in_other_files_say_how_they_were_reached)
{
	struct npu_error err = { 0 };
	char text[4096];
	ck_assert_ptr_null(assemble_in_folder("\n.include \"bad.npu\"\n", &err));
	ck_assert_str_eq(npu_error_print(&err, text, sizeof text),
			 "dir/bad.npu:3:1: no instruction and no macro is called sync.lod; did you mean sync.load?\n"
			 "    3 | sync.lod\n"
			 "      | ^~~~~~~~\n"
			 "  included at dir/t.npu:2");
	ck_assert_ptr_null(assemble_in_folder(".include \"self.npu\"\n", &err));
	ck_assert_ptr_nonnull(strstr(err.text, "self.npu includes itself"));
	ck_assert_ptr_null(assemble_in_folder(".include \"none.npu\"\n", &err));
	ck_assert_ptr_nonnull(strstr(err.text, "none.npu is neither beside this file nor in a folder of -I"));
}
END_TEST

/* ---- mistakes ---- */

static const struct {
	const char *text, *says;
	int status;
} mistakes[] = {
	{ ".param a=1\nsync.lod\n",
	  "t.npu:2:1: no instruction and no macro is called sync.lod; did you mean sync.load?\n"
	  "    2 | sync.lod\n"
	  "      | ^~~~~~~~",
	  2 },
	{ ".let total = 1\n.let x = totl\n", "t.npu:2:10: totl means nothing here; did you mean total?", 2 },
	{ ".let x = 1 +\n", "t.npu:1:13: expected a number, a name or (, found the end of the line", 2 },
	{ ".let x = 3 / 0\n", "t.npu:1:14: a division by 0", 2 },
	{ ".let x = 1 << 64\n", "a shift by 64: 0 to 63", 2 },
	{ ".let x = 9223372036854775807 + 1\n", "the result is beyond 64 bits", 2 },
	{ ".let x = -9223372036854775807 * 2\n", "the result is beyond 64 bits", 2 },
	{ ".let x = 99999999999999999999\n", "is not a number, or one above 9223372036854775807", 2 },
	{ ".param mask=none|causal\n.if mask == causl\n.end\n",
	  "t.npu:2:13: causl is none of none|causal; did you mean causal?", 2 },
	{ ".param mask=none|causal\n.let m = mask\n.macro x a\n.if rows != a\n.end\n.end\nx m\n",
	  "t.npu:4:5: rows is none of none|causal", 2 },
	{ ".let t = fp16\n.if t == fp17\n.end\n", "fp17 is none of fp32|fp16|", 2 },
	{ ".let x = 1.5\n", "a whole number is needed here", 2 },
	{ ".param seq=500, tq=128\n.require seq % tq == 0, \"tq={tq} must divide seq={seq}\"\n",
	  "t.npu:2:10: tq=128 must divide seq=500\n", 2 },
	{ ".tensor K[128, 64] fp16 in\n.sram k[64, 64] fp16\n.for i in 0..3\n  load k, K[i*64:+64, :]\n.end\n",
	  "t.npu:4:13: 128:192 is out of bounds: dimension 0 of K has 128 elements\n"
	  "    4 |   load k, K[i*64:+64, :]\n"
	  "      |             ^~~~~~~~\n"
	  "  with i = 2, .for at t.npu:3",
	  1 },
	{ ".sram k[2][4, 4] fp32\n.for i in 0..3\nvfill k[i]\n.end\n", "k[2]: there are k[0] to k[1]", 1 },
	{ ".sram k[2][4, 4] fp32\nvfill k\n", "t.npu:2:7: k is an array: k[0] to k[1]", 2 },
	{ ".sram k[4, 4] fp32\nvfill k[0:2, 0:2, 0]\n", "3 indices, but k has 2 dimensions", 1 },
	{ ".sram k[4, 4] fp32\nvfill k[2:2, :]\n", "an empty slice of dimension 0 of k", 1 },
	{ ".sram a[64, 64] fp16\n.sram b[32, 64] fp16\n.acc d[64, 32] fp32\nmatmul d, a, b\n",
	  "b is 32 x 64 and makes k 32, but a is 64 x 64 and makes it 64; .T would make it fit", 1 },
	{ ".sram a[4, 64] fp32\nvadd a, a.T, a\n", "vadd takes no .T of a", 1 },
	{ ".sram a[64, 64] fp32\n.sram v[64] fp32\nvadd a, a, v\n", "b_bcast=row or b_bcast=col says which", 1 },
	{ ".sram a[4, 64] fp32\nload a, a\n", "dram: this is a buffer, not a tensor in DRAM", 1 },
	{ ".sram x[32, 64] fp16\n.sram c[32, 32] fp32\nvrope x, x, c, c heads=3\n",
	  "a is 32 x 64: its columns are not 3 heads", 1 },
	{ ".sram x[32, 64] fp16\n.sram c[32, 16] fp32\nvrope x, x, c, c heads=4 dim=32 rotary=32\n",
	  "dst is 32 x 64, but must be 32 x 128", 1 },
	{ ".sram x[32, 64] fp16\n.sram c[32, 16] fp32\n.sram s[32, 8] fp32\nvrope x, x, c, s\n",
	  "sine is 32 x 8, but must be 32 x 16", 1 },
	{ ".sram a[32, 64] fp16\n.sram b[64, 32] int4\n.sram s[2, 32] fp16\n.acc o[32, 32] fp32\n"
	  "matmul o, a, b, s group=24\n",
	  "t.npu:5:17: scales is 2 x 32, but must be 3 x 32", 1 },
	{ ".sram a[16, 16] int8\n.acc c[16, 16] fp32\nmatmul c, a, a\n",
	  "t.npu:3:8: dst is fp32, but must be int32 here: D: fp32, or int32 for integer operands without scales", 1 },
	{ ".sram a[16, 16] fp16\n.acc c[16, 16] fp16\nmatmul c, a, a\n", "dst is fp16, but must be fp32 here", 1 },
	{ ".sram a[16, 16] fp16\n.sram s[3, 16] fp16\nvsoftmax_online a, a, s first=1\n",
	  "state is fp16, but must be fp32 here", 1 },
	{ ".sram a[4, 16] fp16\n.sram q[4, 16] int8\n.sram s[4] fp16\nvquant q, a, s, s scale=row asymmetric=1\n",
	  "zeros is fp16, but must be int8 here", 1 },
	{ ".sram a[4, 4] fp17\n", "t.npu:1:15: no type is called fp17; did you mean fp16?", 2 },
	{ ".sram a[0, 4] fp16\n", "a dimension is 0: must be 1 to", 2 },
	{ ".let a = 1\n.sram a[4] fp32\n", "t.npu:2:7: a second a; the first is at t.npu:1", 2 },
	{ ".param t=512\n.sram a[2][t, t] fp16\n.sram b[2][t, t] fp16\nvfill a[0]\n",
	  "t.npu:2:7: buffers do not fit: 2,097,152 needed of 1,048,576 bytes of SRAM, 1,048,576 too many\n"
	  "    2 | .sram a[2][t, t] fp16\n"
	  "      |       ^\n"
	  "  a[0]         sram:0x000000       524,288 bytes  group 0  line 2 to end, overlaps b[0]\n"
	  "  a[1]         sram:0x080000       524,288 bytes  group 2  line 2 to end, overlaps b[0]\n"
	  "  b[0]                             524,288 bytes  does not fit\n"
	  "  b[1]                             524,288 bytes  does not fit\n"
	  "  t=352 would fit, the largest multiple of 32; t=384 would not",
	  1 },
	{ ".param n=7\n.sram a[n][300, 512] fp16\nvfill a[0]\n", "\n  n=3 would fit; n=4 would not", 1 },
	{ ".param t=40\n.sram a[t, 16384] fp16\nvfill a\n",
	  "\n  t=32 would fit, the largest multiple of 32; t=40 would not", 1 },
	{ ".param t=700\n.require t % 100 == 0\n.sram a[t, 1024] fp16\nvfill a\n", "\n  t=500 would fit; t=700 would not",
	  1 },
	{ ".let a = 1\n.buffer b sram:0+16 0..9\nsync.load\n", "t.npu:2:9: alive until instruction 9 of 1\n", 2 },
	{ ".let a = 1\n.buffer b sram:0+16 9..8\nsync.load\n", "t.npu:2:9: alive for instructions 9..8\n", 2 },
	{ ".param t=256\n.require 512 % t == 0\n.sram a[t, 2048] fp32\nvfill a\n",
	  "\n  t=128 would fit, the largest multiple of 32; t=160 would not", 1 },
	{ ".sram a[4] fp32\n.free a\nvfill a\n", "a was freed", 2 },
	{ ".tensor A[3, 4] fp16 in\n.tensor C[3, 3] fp16 out = A @ A\n", "3 x 4 @ 3 x 4: [m, k] @ [k, n]", 2 },
	{ ".tensor A[3, 4] fp16 in\n.tensor C[3, 3] fp16 out = A\n.let x = 1\n",
	  "the reference is 3 x 4, and C is 3 x 3", 2 },
	{ ".tensor X[4] fp16 in\n.tensor P[4] fp16 out = X\n.tensor O[4] fp16 out = P * 2\n",
	  "t.npu:3:25: a reference starts from what is there before the program runs, and the program fills P: write", 2 },
	{ ".tensor X[4] fp16 in\n.tensor O[4] fp16 out = X + O\n", "t.npu:2:29: a reference starts from what", 2 },
	{ ".tensor X[4] fp16 temp\n.tensor O[4] fp16 out = X\n", "t.npu:2:25: a reference starts from what", 2 },
	{ ".for i in 0..3\nsync.load\n", "t.npu:1:1: .for without its .end", 2 },
	{ ".let x = 1\n.end\n", ".end without .for, .if or .macro before it", 2 },
	{ ".for i in 0..2\n.region \"x\"\n.end\n", "t.npu:2:1: a .region without its .endregion in this block\n    2 | .region \"x\"\n      | ^~~~~~~\n  with i = 0", 2 },
	{ ".region \"x\"\n.for i in 0..2\n.endregion\n.end\n", ".endregion without a .region before it in this block",
	  2 },
	{ ".macro a x\na x + 1\n.end\na 1\n", "macros in macros more than 64 deep: a uses itself without an end", 2 },
	{ ".macro m a, b=2\n.end\nm 1, 2, 3\n", "macro m takes 2 arguments: a, b", 2 },
	{ ".macro m a, b=2\n.end\nm b=1\n", "macro m lacks a", 2 },
	{ ".macro m a, b=2\n.end\nm 1, c=3\n", "macro m has no parameter c; it has a, b", 2 },
	{ ".for i in 0..1000000000000\n.end\n", "1,000,000,000,000 turns: all loops and macros together have at most",
	  1 },
	{ ".tensor A[64, 8] fp16 in\n.sram a[5, 8] fp16\nload a, A[10:5, :]\n", "10:5 ends before it begins", 1 },
	{ ".sram a[1024] fp32 at=0xff800\nvfill a\n",
	  "a at 0xff800 takes 4,096 bytes, past the end of SRAM, 0x100000", 1 },
	{ ".tensor A[8, 8] fp32 in\n.sram a[8, 8] fp16\nload a, A\n",
	  "dram is fp32, but local is fp16, and load has one type for both", 1 },
	{ ".tensor g1[4] fp16 in\n.sem g0\nsync.load post g\n", "nothing is called g; did you mean g0?", 2 },
	{ ".sem g1\n.tensor g2[4] fp16 in\n.sram big[4] fp16\nload big, g\n", "nothing is called g; did you mean g2?", 2 },
	{ ".for i in 0..2\n.tensor A[4] fp16 in\n.end\n",
	  "t.npu:2:9: a second tensor A, and the program has the first, of t.npu:2, to its end\n"
	  "    2 | .tensor A[4] fp16 in\n"
	  "      |         ^\n"
	  "  with i = 1, .for at t.npu:1",
	  2 },
	{ ".for i in 0..2\n.sem s\n.end\n", "t.npu:2:6: a second semaphore s", 2 },
	{ ".for i in 0..2\n.sram a[1 << 20] fp16\nvfill a\n.end\n", "\n  with i = 0, .for at t.npu:1", 1 },
	{ ".macro m n, w, b\n.let x = n / 0\n.end\n.sram a[4] fp16\nm 3, fp16, a\n",
	  "\n  in macro m with n=3, w=fp16, b=a, used at t.npu:5", 2 },
	{ ".macro m\n.let x = i\n.end\n.for i in 0..2\nm\n.end\n",
	  "i means nothing here; it does where this macro is used, and can be an argument", 2 },
	{ ".macro inner\nvfill b\n.end\n.macro outer b\ninner\n.end\n.sram a[4] fp32\nouter a\n",
	  "nothing is called b; it does where this macro is used, and can be an argument", 2 },
	{ ".include 3\n", "expected once, or a file in quotes, found 3", 2 },
	{ ".sram a[4, 4] fp32\nvdiv a, a\n", "t.npu:2:1: vdiv lacks b, a buffer, or imm=, a number", 2 },
	{ ".sram a[4, 4] fp32\nvfill a imm=1.5e400\n", "t.npu:2:13: imm is beyond fp32; infinity is written inf", 2 },
	{ ".sram a[4, 4] fp32\nvfill a imm=1e39\n", "imm is beyond fp32", 2 },
	{ "vfill sram:0x0 rows=4 cols=4 imm=-1e39\n", "t.npu:1:34: imm is beyond fp32", 2 },
	{ ".sram a[4] fp32 align=3\nvfill a\n", "align is 3: a power of two", 2 },
	{ ".sram a[4] fp32 align=4096 at=0x100\nvfill a\n", "at is 256, and align=4096 does not divide it", 2 },
	{ ".sram a[64, 64] fp16 at=0\n.sram b[4, 64] fp16 at=0x1000\nvfill a\n",
	  "b lies on a, sram:0x0 to 0x2000, which is alive from line 1 on: .free that before, another at= here, or over= instead where it is meant", 1 },
	{ ".sram b[64, 64] fp16\nvfill b\n.sram k[3][32, 64] fp16 at=0x1000\nvfill k[0]\n", "k[0] lies on b, sram:0x0 to 0x2000", 1 },
	{ ".sram k[2][32, 64] fp16 at=0\n.acc k2[4] fp32 at=0\n.sram b[32, 64] fp16 at=0x1000\nvfill b\n", "b lies on k[1], sram:0x1000 to 0x2000", 1 },
	{ ".sram w[32, 32] fp16 layout=block16\nvfill w{64, 17}\n", "this shape takes more than the 2048 bytes of w", 1 },
	{ ".sram w[32, 32] fp16 layout=block16\nvfill w{8}\n", "what lies in blocks has two dimensions, {rows, cols}", 2 },
	{ ".sram a[64] fp16\n.sram b[64] fp16 over=a at=0\nvfill b\n",
	  "over= takes the place of another: no at=, bank=, step= or align= beside it", 2 },
	{ ".tensor A[64] fp16 in\n.sram b[64] fp16 over=A\nvfill b\n", "over= takes a buffer of .sram or .acc, or a slice of one", 2 },
	{ ".acc a[64] fp32\n.sram b[64] fp16 over=a\nvfill b\n", "over= takes a buffer of SRAM here", 2 },
	{ ".sram a[64] fp16\n.sram b[65] fp16 over=a\nvfill b\n", "b takes 130 bytes, and a has 128 there", 1 },
	{ ".sram a[8, 64] fp16\n.sram b[2][64] fp16 over=a[7:8, :]\nvfill b[0]\n", "b takes 256 bytes, and a has 128 there", 1 },
	{ ".sram a[16, 16] fp16\n.sram b[16, 8] fp16 over=a[0:16, 0:8]\nvfill b\n",
	  "over= takes bytes that follow one another: this slice has gaps between its rows", 2 },
	{ ".sram a[4, 8, 8] fp16\n.sram b[4, 4, 8] fp16 over=a[:, 0:4, :]\nvfill b{16, 8}\n", "this slice has gaps between its rows", 2 },
	{ ".sram a[8, 8] fp16\n.sram b[8] fp16 over=a[:, 0]\nvfill b\n", "this slice has gaps between its rows", 2 },
	{ ".sram w[32, 32] fp16 layout=block16\n.sram b[32, 16] fp16 over=w[:, 0:16]\nvfill b\n", "this slice has gaps between its rows", 2 },
	{ ".sram a[8, 8] fp16\n.sram b[64] fp16 over=a.T\nvfill b\n", "over= takes a buffer of .sram or .acc, or a slice of one", 2 },
	{ ".sram a[2][4, 8] fp16\n.sram b[64] fp16 over=a\nvfill b\n",
	  "over= takes a[0] to a[1] one at a time: a is an array, on which an array can lie, element for element", 2 },
	{ ".sram a[2][64] fp16\n.sram b[3][64] fp16 over=a\nvfill b[0]\n", "a has 2 elements, b 3: an array lies on another element for element", 2 },
	{ ".sram a[64] fp16\n.sram b[64] fp16 over=a\n.free a\nvfill b\n", "b lies over a, which was freed", 2 },
	{ ".sram a[64] fp16\n.sram b[64] fp16 over=a\n.free b\nvfill b\n", "b was freed", 2 },
	{ ".tensor A[4] fp16 in seed=1 file=\"x\"\n", "A has file= already", 2 },
	{ ".let x = 1\rsync.load\r", "t.npu:1:11: lines end in CR alone", 2 },
	{ ".tensor T[4294967296, 429496] fp32 in\n", "t.npu:1:9: T has more than 2^40 bytes", 1 },
	{ ".sem a[2]=1\nsync.load post a\n", "t.npu:2:16: a is an array: a[0] to a[1]", 2 },
	{ ".tensor A[4] fp32 in layot=row\n", "no option is called layot; did you mean layout?", 2 },
	{ ".sem s\n.for i in 0..1000000000\nsync.load post s\n.end\n", "turns of 1 instruction each, but a program has at most 100,000,000", 1 },
	{ ".let x = 1 ; \xff\n.region \"\xff\"\n.endregion\n", "t.npu:2:10: byte 0xff in a string: it must be UTF-8",
	  2 },
	{ ".let \xff = 1\n", "expected a name, found byte 0xff", 2 },
	{ ".let x = \"a\n", "a string without its closing quote", 2 },
	{ ".region \"{1 + }\"\n.endregion\n.let x = 1\n", "expected a number, a name or (, found }", 2 },
	{ ".include \"x.npu\"\n", ".include: no files can be read here", 2 },
	{ ".let a = 1\n.acc s[4, 4] fp32\n.sram c[4, 4] fp32\n.sram b[4, 4] fp16\n.for i in 0..2\nvfill s\nmatmul c, b, b\n.end\n",
	  "dst=sram:0x0: must be in the accumulators (acc:0x...)\n"
	  "    7 | matmul c, b, b\n"
	  "      | ^~~~~~\n"
	  "  with i=0",
	  1 },
};

START_TEST(mistakes_are_told_with_place_and_remedy)
{
	struct npu_error err = { .code = NPU_ERR_NONE };
	struct npu_macro_options options = { .capacity = &edge };
	char message[4096];
	const char *text = mistakes[_i].text;
	struct npu_macro *m = npu_macro_text(text, strlen(text), "t.npu", &options, &err);
	ck_assert_msg(m == NULL, "it was accepted: %s", text);
	npu_error_print(&err, message, sizeof message);
	ck_assert_msg(strstr(message, mistakes[_i].says) != NULL, "says: %s\nwanted: %s", message, mistakes[_i].says);
	ck_assert_int_eq(npu_error_exit_status(err.code), mistakes[_i].status);
}
END_TEST

/* What follows from a mistake is not told beside it. */
START_TEST(one_mistake_is_one_message)
{
	static const char *const texts[] = {
		".macro pulse x y\nsync.load\n.end\npulse 1\npulse 2\n",
		".macro pulse x, x\nsync.load\n.end\npulse 1\n",
		".let x = (1\n.macro pulse\nsync.load\n.end\npulse\n",
		".include lib.npu\npulse\nother 1\n",
		".for i in 0..2\n.macro pulse\nsync.load\n.end\n.end\npulse\n",
		".macro 7\nsync.load\n.end\npulse\n",
		".sem a[=1, b\nsync.load post a\nsync.load post b\n",
		".tensor A[4, 4 fp16 in\n.sram a[4, 4] fp16\nload a, A\nload a, A\n",
		".sram a[4, 4] fp17\nvfill a\nvfill a\n",
		".sram a[4, 4\nvfill a\n.free a\n",
		".table t = [1,,2]\ngather sram:0x0, dram:0x0 table=t\n",
		".buffer b sram:0x0+ 0..1\nvfill b rows=1 cols=1\n",
	};
	for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct npu_error err = { .code = NPU_ERR_NONE };
		ck_assert_ptr_null(npu_macro_text(texts[i], strlen(texts[i]), "t.npu", NULL, &err));
		ck_assert_msg(strstr(err.text, "\nt.npu:") == NULL, "%s says: %s", texts[i], err.text);
	}
	for (unsigned i = 6; i < sizeof texts / sizeof texts[0]; i++) {
		struct npu_error err = { .code = NPU_ERR_NONE };
		if (strstr(texts[i], ".sram"))
			continue;
		ck_assert_ptr_null(npu_asm_flat(texts[i], strlen(texts[i]), "t.npu", &err));
		ck_assert_msg(strstr(err.text, "\nt.npu:") == NULL, "flat, %s says: %s", texts[i], err.text);
	}
}
END_TEST

static void expect_refusal(const char *text, const char *says)
{
	struct npu_error err = { .code = NPU_ERR_NONE };
	ck_assert_ptr_null(npu_macro_text(text, strlen(text), "t.npu", NULL, &err));
	ck_assert_msg(strstr(err.text, says) != NULL, "says: %s", err.text);
}

START_TEST(what_nests_without_end_is_refused)
{
	enum { DEEP = 20000 };
	char *text = malloc(20 * DEEP);
	size_t n = (size_t)sprintf(text, ".let x = ");
	memset(text + n, '(', DEEP);
	text[n + DEEP] = '\0';
	expect_refusal(text, "an expression nested too deep");
	memset(text + n, '-', DEEP);
	expect_refusal(text, "an expression nested too deep");
	for (size_t i = 0; i < DEEP; i++)
		memcpy(text + n + 2 * i, "1+", 3);
	expect_refusal(text, "an expression nested too deep");
	n = 0;
	for (size_t i = 0; i < 100; i++)
		n += (size_t)sprintf(text + n, ".if 1\n");
	expect_refusal(text, "blocks nested more than 64 deep");
	free(text);
}
END_TEST

/* The first assembler that gets a text without loops knows no expressions: what it cannot read it leaves to the other. */
START_TEST(the_name_of_a_region_means_the_same_with_and_without_other_macros)
{
	static const char *const names[][2] = { { "a {1 + 2}", "a 3" }, { "{{i}}", "{i}" }, { "\\\"{{", "\"{" } };
	for (unsigned i = 0; i < 3; i++)
		for (unsigned more = 0; more < 2; more++) {
			char text[128];
			snprintf(text, sizeof text, ".region \"%s\"\nsync.load\n.endregion\n%s", names[i][0],
				 more ? ".let x = 1\n" : "");
			struct npu_macro *m = assemble(text);
			ck_assert_str_eq(m->program->regions[0].name, names[i][1]);
			char *flat = npu_disasm_text(m->program);
			struct npu_macro *again = assemble(flat);
			ck_assert_str_eq(again->program->regions[0].name, names[i][1]);
			npu_macro_free(again);
			npu_macro_free(m);
			free(flat);
		}
	expect_refusal(".region \"{i}\"\n.endregion\n", "i means nothing here");
}
END_TEST

START_TEST(text_without_options_is_flat_or_macro_assembly)
{
	struct npu_error err;
	struct npu_program *p = npu_asm_text(qk, sizeof qk - 1, "t.npu", &err);
	ck_assert_msg(p != NULL, "%s", err.text);
	/* 8 row tiles of 8 column tiles, seq=1024 and tiles of 128 */
	ck_assert_uint_eq(p->ninsns, 8 * (3 + 8 * 3));
	npu_program_free(p);
	ck_assert_ptr_null(npu_asm_text("load sram:0x0, dram:0x0\n", 24, "t.npu", &err));
	ck_assert_ptr_nonnull(strstr(err.text, "load lacks rows=: rows"));
	ck_assert_ptr_null(npu_asm_text(".let x = 1 / 0\n", 15, "t.npu", &err));
	ck_assert_ptr_nonnull(strstr(err.text, "a division by 0"));
	/* an expression alone is no mistake of flat text */
	p = npu_asm_text("vfill sram:0x10+16 rows=2*2 cols=1\n", 35, "t.npu", &err);
	ck_assert_msg(p != NULL, "%s", err.text);
	ck_assert_uint_eq(p->insns[0].fill.dst, 0x20);
	npu_program_free(p);
}
END_TEST

START_TEST(lines_may_end_in_any_way)
{
	expect_insns(".let n = 2\r\n.for i in 0..n\r\nsync.load\r\n.end\r\n", "sync.load\nsync.load\n");
	expect_insns(".let n = 2\n.for i in 0..n\n\tsync.load\n.end", "sync.load\nsync.load\n");
	expect_insns("\xef\xbb\xbf.let n = 2\nsync.load\n", "sync.load\n");
	expect_insns("\xef\xbb\xbfsync.load\n", "sync.load\n");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("isa.macro");
	TCase *t = tcase_create("programs");
	tcase_add_test(t, a_whole_kernel_expands_to_its_tiles);
	tcase_add_test(t, its_flat_form_assembles_to_the_same_bytes);
	tcase_add_loop_test(t, flat_text_means_the_same_in_macro_assembly, 1, 31);
	suite_add_tcase(s, t);
	t = tcase_create("operands");
	tcase_add_test(t, sizes_and_types_follow_from_the_operands);
	tcase_add_test(t, sizes_that_follow_from_several_fields_are_found_and_checked);
	tcase_add_test(t, types_without_a_field_follow_from_the_instruction);
	tcase_add_test(t, a_reference_may_start_from_what_a_tensor_held_before);
	tcase_add_test(t, a_buffer_over_another_has_its_bytes_and_the_program_one_name);
	tcase_add_test(t, dimensions_merge_drop_and_turn);
	tcase_add_test(t, operands_that_follow_need_not_be_written);
	suite_add_tcase(s, t);
	t = tcase_create("statements");
	tcase_add_loop_test(t, an_expression_has_its_value, 0, sizeof expressions / sizeof expressions[0]);
	tcase_add_test(t, loops_count_up_down_and_not_at_all);
	tcase_add_test(t, branches_take_the_first_that_holds);
	tcase_add_test(t, variables_live_where_they_were_made);
	tcase_add_test(t, macros_take_numbers_slices_and_semaphores);
	tcase_add_test(t, a_count_of_nothing_is_no_wait);
	tcase_add_test(t, buffers_are_placed_together_and_used_again_after_free);
	tcase_add_test(t, a_step_says_in_which_group_the_next_buffer_lies);
	tcase_add_test(t, parameters_come_from_the_command_line);
	tcase_add_test(t, files_are_included_once_each_time_and_found_beside_and_in_folders);
	tcase_add_test(t, a_file_that_is_wanted_once_is_passed_over_when_it_was_read);
	suite_add_tcase(s, t);
	t = tcase_create("mistakes");
	tcase_add_loop_test(t, mistakes_are_told_with_place_and_remedy, 0, sizeof mistakes / sizeof mistakes[0]);
	tcase_add_test(t, one_mistake_is_one_message);
	tcase_add_test(t, errors_in_other_files_say_how_they_were_reached);
	tcase_add_test(t, what_nests_without_end_is_refused);
	tcase_add_test(t, the_name_of_a_region_means_the_same_with_and_without_other_macros);
	tcase_add_test(t, lines_may_end_in_any_way);
	tcase_add_test(t, text_without_options_is_flat_or_macro_assembly);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return npu_suite_run(suite());
}
