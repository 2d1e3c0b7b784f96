/* SPDX-License-Identifier: Apache-2.0 */
/* Flat text: what it looks like, that it survives the way to a program and back, and what it says about mistakes. */
#include "isa/program.h"
#include "tests/isa/random.h"
#include "tests/support/suite.h"

#include <stdlib.h>

static struct npu_program *assemble(const char *text)
{
	struct npu_error err = { .code = NPU_ERR_NONE };
	struct npu_program *program = npu_asm_flat(text, strlen(text), "t.npu", &err);
	ck_assert_msg(program != NULL, "%u:%u: %s", err.line, err.column, err.text);
	return program;
}

/* The whole message for a text that must be refused. */
static const char *refusal(const char *text)
{
	static char message[4096];
	struct npu_error err = { .code = NPU_ERR_NONE };
	struct npu_program *program = npu_asm_flat(text, strlen(text), "t.npu", &err);
	ck_assert_msg(program == NULL, "it was accepted");
	ck_assert_int_ne(err.code, NPU_ERR_NONE);
	return npu_error_print(&err, message, sizeof message);
}

static const char kernel[] =
    ".program \"qk\"\n"
    "; touches 160 KiB of SRAM, 64 KiB of accumulators, 1,024 KiB of DRAM\n"
    ".tensor Q[1024, 128] fp16 in dram:0x0\n"
    ".tensor K[1024, 128] fp16 in dram:0x40000\n"
    ".tensor S[256, 512] fp32 out dram:0x80000\n"
    ".buffer q sram:0x0+32768 0..5\n"
    ".buffer k[0] sram:0x10000+32768 0..5\n"
    ".buffer k[1] sram:0x20000+32768 0..5\n"
    ".buffer s acc:0x0+65536 0..5\n"
    ".table seq0 dram:0x1000 = [3, 1, 4]\n"
    ".sem q_full\n"
    ".sem k_full[2]\n"
    ".sem k_free[2]=1 max=7\n"
    ".sem s_full\n"
    ".region \"q tile 0\"\n"
    "  .loc \"qk.c\" 12\n"
    "  load sram:0x0, dram:0x0 rows=128 cols=128   post q_full   ; q <- Q\n"
    "  .loc 14\n"
    "  load sram:0x10000, dram:0x44000 rows=128 cols=128   wait k_free[0]   post k_full[0]   ; k[0] <- K+0x4000\n"
    "  .region \"inner\"\n"
    "    .loc 20\n"
    "    gather sram:0x20000, dram:0x40000 cols=128 rows=20 page_stride=4096 page_rows=16 table=seq0   post k_full[1]"
    "   ; k[1] <- K\n"
    "  .endregion\n"
    "  .loc 22\n"
    "  matmul acc:0x0, sram:0x0, sram:0x10000 m=128 n=128 k=128 transpose_b=1   wait q_full, k_full[0]"
    "   post k_free[0]:2, s_full   ; s <- q, k[0]\n"
    ".endregion\n"
    ".loc \"out.c\" 3\n"
    "store dram:0x80000, acc:0x0 rows=128 cols=128 dtype=fp32 dram_stride=2048   wait s_full   ; S <- s\n";

START_TEST(text_comes_back_byte_for_byte)
{
	struct npu_program *program = assemble(kernel);
	char *text = npu_disasm_text(program);
	ck_assert_str_eq(text, kernel);
	free(text);
	npu_program_free(program);
}
END_TEST

START_TEST(a_line_means_what_it_says)
{
	struct npu_program *p = assemble(kernel);
	ck_assert_str_eq(p->name, "qk");
	ck_assert_uint_eq(p->ninsns, 5);
	ck_assert_uint_eq(p->nsems, 6);
	ck_assert_str_eq(p->sems[4].name, "k_free[1]");
	ck_assert_uint_eq(p->sems[4].initial, 1);
	ck_assert_uint_eq(p->sems[4].max, 7);
	ck_assert_uint_eq(p->sems[0].max, 65535);
	ck_assert_int_eq(p->sems[0].poster, NPU_ENGINE_LOAD);
	ck_assert_int_eq(p->sems[0].waiter, NPU_ENGINE_MATRIX);
	ck_assert_int_eq(p->sems[4].poster, NPU_ENGINES);
	ck_assert_uint_eq(p->insns[1].dma.local, 0x10000);
	ck_assert_uint_eq(p->insns[1].dma.dram, 0x44000);
	ck_assert_uint_eq(p->insns[1].wait[0].sem, 3);
	ck_assert_uint_eq(p->insns[2].paged.table, 0);
	ck_assert_uint_eq(p->insns[3].matmul.dst, NPU_ACC_BIT);
	ck_assert_uint_eq(p->insns[3].post[0].count, 2);
	ck_assert_uint_eq(p->insns[4].dma.dram_stride, 2048);
	ck_assert_str_eq(p->regions[p->region[2]].name, "inner");
	ck_assert_uint_eq(p->region[4], NPU_NO_REGION);
	char place[64];
	ck_assert_str_eq(npu_insn_place(p, 2, place, sizeof place), "qk.c:20");
	/* highest bytes: k[1] at 0x20000 + 32 KiB; s at 64 KiB; S at 0x80000 + 512 KiB */
	ck_assert_uint_eq(p->needs.sram_bytes, 0x28000);
	ck_assert_uint_eq(p->needs.accum_bytes, 0x10000);
	ck_assert_uint_eq(p->needs.dram_bytes, 0x100000);
	npu_program_free(p);
}
END_TEST

START_TEST(one_instruction_is_printed_and_cut_to_size)
{
	struct npu_program *p = assemble(kernel);
	static const char wanted[] = "load sram:0x0, dram:0x0 rows=128 cols=128   post q_full";
	char all[128], few[8];
	ck_assert_uint_eq(npu_insn_print(p, 0, all, sizeof all), sizeof wanted - 1);
	ck_assert_str_eq(all, wanted);
	ck_assert_uint_eq(npu_insn_print(p, 0, few, sizeof few), sizeof wanted - 1);
	ck_assert_str_eq(few, "load sr");
	ck_assert_uint_eq(npu_insn_print(p, 0, NULL, 0), sizeof wanted - 1);
	npu_program_free(p);
}
END_TEST

START_TEST(people_write_it_in_other_ways_too)
{
	struct npu_program *p =
	    assemble("  ; by hand\r\n"
		     ".tensor K [ 256 , 64 ] bf16 in dram:0x1000 layout=block16\n"
		     ".buffer k[1] sram:32KiB+8192 0..2\n"
		     ".sem full[1], \"odd one\"=2 max=3, free=1\n"
		     "load k[1]+0x20, K+256, cols=64, rows=0x20 dtype=bf16 dram_layout=block16 post full[ 0 ]:1\n"
		     "vadd acc:0x0, acc:0, sram:0x40 rows=4 cols=4 b_bcast=col wait full[0]\n");
	ck_assert_uint_eq(p->insns[0].dma.local, 0x8020);
	ck_assert_uint_eq(p->insns[0].dma.dram, 0x1100);
	ck_assert_uint_eq(p->insns[0].dma.rows, 32);
	ck_assert_uint_eq(p->insns[0].post[0].sem, 0);
	ck_assert_uint_eq(p->insns[1].ew.b, 0x40);
	ck_assert_str_eq(p->sems[1].name, "odd one");
	ck_assert_uint_eq(p->place[1].line, 6);
	ck_assert_str_eq(p->files[p->place[1].file], "t.npu");
	ck_assert_str_eq(p->name, "t");
	npu_program_free(p);
}
END_TEST

START_TEST(floats_keep_their_bits)
{
	static const uint32_t bits[] = { 0x00000001, 0x80000000, 0x7f7fffff, 0x3dcccccd, 0x7f800000, 0xff800000,
					 0x7fc00000, 0x7f800001, 0xffc12345, 0x3f800001, 0x40490fdb, 0x33d6bf95 };
	for (unsigned i = 0; i < sizeof bits / sizeof bits[0]; i++) {
		struct npu_assembly *assembly = npu_assembly_new("fill");
		struct npu_insn insn = npu_insn_initial(NPU_OP_VFILL);
		insn.fill.rows = insn.fill.cols = 1;
		memcpy(&insn.fill.imm, &bits[i], 4);
		npu_assembly_insn(assembly, &insn);
		struct npu_program *p = npu_assembly_finish(assembly, NULL);
		char *text = npu_disasm_text(p);
		struct npu_program *again = assemble(text);
		ck_assert_msg(memcmp(&again->insns[0].fill.imm, &bits[i], 4) == 0, "%08x: %s", bits[i], text);
		npu_program_free(again);
		npu_program_free(p);
		free(text);
	}
}
END_TEST

START_TEST(random_programs_survive_text)
{
	struct rng rng = { (uint64_t)_i + 1000 };
	for (unsigned round = 0; round < 25; round++) {
		struct npu_program *program = random_program(&rng, 2 * npu_nops);
		char *text = npu_disasm_text(program);
		struct npu_program *again = assemble(text);
		assert_same_program(program, again);
		char *twice = npu_disasm_text(again);
		ck_assert_str_eq(text, twice);
		free(text);
		free(twice);
		npu_program_free(program);
		npu_program_free(again);
	}
}
END_TEST

START_TEST(every_instruction_survives_text_with_any_legal_operands)
{
	const struct npu_op_info *info = &npu_ops[_i];
	struct rng rng = { (uint64_t)_i };
	struct npu_program *tables = tables_only();
	struct npu_assembly *assembly = npu_assembly_new("one");
	add_random_tables(assembly);
	add_random_sems(&rng, assembly);
	for (unsigned round = 0; round < 300; round++) {
		struct npu_insn insn = random_insn(&rng, info->op, tables);
		random_refs(&rng, &insn);
		npu_assembly_insn(assembly, &insn);
	}
	struct npu_program *program = npu_assembly_finish(assembly, NULL);
	ck_assert_ptr_nonnull(program);
	char *text = npu_disasm_text(program);
	struct npu_program *again = assemble(text);
	assert_same_program(program, again);
	free(text);
	npu_program_free(program);
	npu_program_free(again);
	npu_program_free(tables);
}
END_TEST

START_TEST(empty_regions_and_unknown_places_survive)
{
	struct npu_assembly *assembly = npu_assembly_new("");
	struct npu_insn insn = npu_insn_initial(NPU_OP_SYNC_LOAD);
	npu_assembly_region_begin(assembly, "empty");
	npu_assembly_region_begin(assembly, "");
	npu_assembly_region_end(assembly);
	npu_assembly_region_end(assembly);
	npu_assembly_insn(assembly, &insn);
	npu_assembly_region_begin(assembly, "last, never closed");
	npu_assembly_place(assembly, "x.c", 7);
	npu_assembly_insn(assembly, &insn);
	npu_assembly_region_begin(assembly, "empty too");
	struct npu_program *program = npu_assembly_finish(assembly, NULL);
	char *text = npu_disasm_text(program);
	struct npu_program *again = assemble(text);
	assert_same_program(program, again);
	char place[32];
	ck_assert_str_eq(npu_insn_place(again, 0, place, sizeof place), "#0");
	free(text);
	npu_program_free(program);
	npu_program_free(again);
}
END_TEST

START_TEST(lines_are_counted_over_tables_and_comments)
{
	struct npu_program *p =
	    assemble("; one\n\n.table t dram:0 = [\n 1, ; first\n 2,\n]\nsync.load ; here\n\nsync.load");
	ck_assert_uint_eq(p->tables[0].count, 2);
	ck_assert_uint_eq(p->place[0].line, 7);
	ck_assert_uint_eq(p->place[1].line, 9);
	npu_program_free(p);
}
END_TEST

START_TEST(an_empty_text_is_an_empty_program)
{
	struct npu_program *p = assemble("");
	ck_assert_uint_eq(p->ninsns, 0);
	npu_program_free(p);
	p = assemble("\n\n; nothing");
	ck_assert_uint_eq(p->ninsns, 0);
	npu_program_free(p);
}
END_TEST

/* Text with one mistake, and what the message must say; `^` in the message is the caret under the mistake. */
static const struct mistake {
	const char *text;
	const char *says;
} mistakes[] = {
	{ "laod sram:0x0, dram:0x0 rows=1 cols=1\n", "t.npu:1:1: no instruction is called laod; did you mean load?\n"
						     "    1 | laod sram:0x0, dram:0x0 rows=1 cols=1\n"
						     "      | ^~~~" },
	{ "\n\tload sram:0x0, dram:0x0 row=1 cols=1\n", "t.npu:2:26: load has no operand row; did you mean rows?\n"
							"    2 |  load sram:0x0, dram:0x0 row=1 cols=1\n"
							"      |                          ^~~" },
	{ "load sram:0x0, dram:0x0 rows=1\n", "1:1: load lacks cols=: elements a row" },
	{ "load sram:0x0 rows=1 cols=1\n", "1:1: load lacks its address dram: DRAM address" },
	{ "vadd acc:0x0, acc:0x0 rows=1 cols=1\n", "1:1: vadd lacks its address b, which these operands use" },
	{ "load sram:0x0, dram:0x0 rows=2000000 cols=1\n", "1:30: rows: must be 1 to 1,048,575" },
	{ "load sram:0x0, dram:0x0 rows=0 cols=1\n", "1:30: rows: must be 1 to 1,048,575" },
	{ "load sram:0x0, dram:0x0 rows=-1 cols=1\n", "1:30: rows: must be 1 to 1,048,575" },
	{ "vmask acc:0, acc:0 rows=1 cols=1 diagonal=-2147483649",
	  "1:43: diagonal: must be -2,147,483,648 to 2,147,483,647" },
	{ "load sram:0x0, dram:0x0 rows=1 cols=1 dtype=pf16\n", "1:45: no dtype is called pf16; did you mean fp16?" },
	{ "load sram:0x0, dram:0x0 rows=1 cols=1 dram_layout=zzzzz\n",
	  "no dram_layout is called zzzzz; one of row, block16, block32" },
	{ "load sram:0x0, dram:0x0 rows=1 rows=2 cols=1\n", "1:32: rows is given twice" },
	{ "load sram:0x0, dram:0x0, dram:0x10 rows=1 cols=1\n", "1:26: load takes 2 addresses" },
	{ "load dram:0x0, sram:0x0 rows=1 cols=1\n", "1:6: local: must be a local address, sram:0x... or acc:0x..." },
	{ "load vram:0x0, dram:0x0 rows=1 cols=1\n", "1:6: no memory is called vram: sram, acc or dram" },
	{ "load sram:0x80000000, dram:0x0 rows=1 cols=1\n", "1:11: an address: at most 2147483647" },
	{ "load k, dram:0x0 rows=1 cols=1\n", "1:6: no tensor or buffer is called k" },
	{ ".tensor K[4] fp32 in dram:0x0\nload K, dram:0x0 rows=1 cols=1\n",
	  "2:6: local: K is a tensor in DRAM, not a buffer" },
	{ ".sem k_free[2]\nload sram:0, dram:0 rows=1 cols=1 wait k_fre[1]\n",
	  "2:40: no .sem declares k_fre[1]; did you mean k_free[1]?" },
	{ ".sem a\nsync.load wait a:0\n", "2:18: a count of 0" },
	{ ".sem a, b, c\nsync.load wait a, b, c\n", "2:22: at most 2 semaphores" },
	{ ".sem a\nsync.load wait a wait a\n", "2:18: a second wait" },
	{ ".sem a, a\n", "1:9: a second semaphore called a" },
	{ ".sem a[0]\n", "1:8: an array of no semaphores" },
	{ ".sem a=3 max=2\n", "1:13: max must be at least 1 and at least the initial count" },
	{ ".smе a\n", "1:1: no directive is called .sm" },
	{ ".sme a\n", "1:1: no directive is called .sme; did you mean .sem?" },
	{ "sync.load rows=3\n", "1:11: sync.load takes no operands" },
	{ "sync.load sram:0\n", "1:11: expected wait, post or the end of the line, found sram" },
	{ "load sram:0 dram:0 rows=1 cols=1\n", "1:13: expected a comma, NAME=VALUE, wait or post, found dram" },
	{ ".region \"open\nsync.load\n", "1:9: a string without its closing quote" },
	{ "\n.region \"a \\q\"\n", "t.npu:2:9: a bad escape: a string knows \\\" \\\\ \\n \\t and \\xNN\n"
				 "    2 | .region \"a \\q\"\n"
				 "      |         ^~~~~~" },
	{ ".region \"a {b\"\n", "1:9: a single brace" },
	{ ".endregion\n", "1:1: .endregion without a .region" },
	{ ".region \"a\"\nsync.load\n", "1:1: a .region without its .endregion" },
	{ "sync.load\n.region \"a\"\n.endregion\n  .region \"b\"\n.region \"c\"\n.endregion\nsync.load\n",
	  "t.npu:4:3: a .region without its .endregion\n    4 |   .region \"b\"\n      |   ^~~~~~~" },
	{ "load sram:0, dram:0 rows=1 cols=1 table=\x01\n", "load has no operand table" },
	{ ".program \x01\n", "1:10: expected the name of the program in quotes, found byte 0x01" },
	{ "sync.load\n.program \"late\"\n", ".program comes before everything else" },
	{ ".tensor K[1,2,3,4,5,6] fp16 in dram:0\n", "1:21: at most 5 dimensions" },
	{ ".tensor K[4] fp16 between dram:0\n", "1:19: expected in, out, inout or temp, found between" },
	{ ".table t dram:0 = [1, x]\n", "1:23: expected a page number, found x" },
	{ "vfill acc:0 rows=1 cols=1 imm=1.5.2\n", "1:31: expected a number, found 1.5.2" },
	{ "gather sram:0, dram:0 rows=1 cols=1 page_rows=1 page_stride=2 table=seq\n", "no .table is called seq" },
	/* what only the loader's check knows */
	{ "\n  load acc:0, dram:0 rows=1 cols=1\n", "t.npu:2:3: #0 load: local=acc:0x0: must be in SRAM (sram:0x...)\n"
						    "    2 |   load acc:0, dram:0 rows=1 cols=1\n"
						    "      |   ^~~~" },
	{ "sync.load\n.buffer b sram:0+16 0..9\n.buffer c sram:64+16 0..1\n",
	  "t.npu:2:1: alive until instruction 9 of 1\n    2 | .buffer b sram:0+16 0..9\n      | ^~~~~~~" },
	{ "\n.buffer b sram:0+16 9..8\n", "t.npu:2:1: alive for instructions 9..8" },
};

START_TEST(mistakes_are_told_with_place_and_remedy)
{
	const char *message = refusal(mistakes[_i].text);
	ck_assert_msg(strstr(message, mistakes[_i].says) != NULL, "says: %s\nwanted: %s", message, mistakes[_i].says);
}
END_TEST

START_TEST(several_mistakes_are_told_at_once_but_not_all)
{
	const char *message = refusal("aa\nbb\ncc\ndd\nee\nff\ngg\n");
	ck_assert_ptr_nonnull(strstr(message, "t.npu:1:1: no instruction is called aa"));
	ck_assert_ptr_nonnull(strstr(message, "\nt.npu:5:1: no instruction is called ee"));
	ck_assert_ptr_null(strstr(message, "called ff"));
	ck_assert_ptr_nonnull(strstr(message, "\nand 2 more"));
}
END_TEST

START_TEST(text_need_not_end_in_nul)
{
	char *text = malloc(9);
	ck_assert_ptr_nonnull(text);
	memcpy(text, "sync.load", 9);
	struct npu_program *p = npu_asm_flat(text, 9, "t.npu", NULL);
	ck_assert_ptr_nonnull(p);
	ck_assert_uint_eq(p->ninsns, 1);
	npu_program_free(p);
	free(text);
}
END_TEST

static Suite *text_suite(void)
{
	Suite *suite = suite_create("isa.text");
	TCase *tests = tcase_create("text");
	tcase_add_test(tests, text_comes_back_byte_for_byte);
	tcase_add_test(tests, a_line_means_what_it_says);
	tcase_add_test(tests, one_instruction_is_printed_and_cut_to_size);
	tcase_add_test(tests, people_write_it_in_other_ways_too);
	tcase_add_test(tests, floats_keep_their_bits);
	tcase_add_loop_test(tests, random_programs_survive_text, 0, 40);
	tcase_add_loop_test(tests, every_instruction_survives_text_with_any_legal_operands, 0, (int)npu_nops);
	tcase_add_test(tests, empty_regions_and_unknown_places_survive);
	tcase_add_test(tests, lines_are_counted_over_tables_and_comments);
	tcase_add_test(tests, an_empty_text_is_an_empty_program);
	tcase_add_loop_test(tests, mistakes_are_told_with_place_and_remedy, 0, sizeof mistakes / sizeof mistakes[0]);
	tcase_add_test(tests, several_mistakes_are_told_at_once_but_not_all);
	tcase_add_test(tests, text_need_not_end_in_nul);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(void)
{
	return npu_suite_run(text_suite());
}
