/* SPDX-License-Identifier: Apache-2.0 */
/* Page records: who may touch which page of KV memory, and when. */
#include "isa/check.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POOL      ".tensor pool[8, 16, 8] fp16 inout dram:0x0\n"
#define TABLE     ".table t dram:0x4000 sequence=1 = [2, 5]\n.table u dram:0x5000 sequence=2 = [5, 7]\n"
#define GATHER(t) "gather sram:0x0, dram:0x0 rows=32 cols=8 page_stride=256 page_rows=16 table=" t "\n"
#define SCATTER(t)                                                                                                     \
	"vfill sram:0x0 rows=1 cols=256 post s\nscatter dram:0x0, sram:0x0 rows=32 cols=8 page_stride=256 "            \
	"page_rows=16 table=" t " wait s\n"

static struct npu_program *program;

static struct npu_check_report *checked(const char *text)
{
	struct npu_error err = { 0 };
	npu_program_free(program);
	program = npu_asm_text(text, strlen(text), "t.npu", &err);
	ck_assert_msg(program != NULL, "%s", err.text);
	struct npu_check_report *report = npu_check(program, NULL, &err);
	ck_assert_msg(report != NULL, "%s", err.text);
	return report;
}

static void clean(const char *text)
{
	struct npu_check_report *report = checked(text);
	ck_assert_msg(report->nfindings == 0, "%s", report->nfindings ? report->findings[0].text : "");
	npu_check_free(report);
}

static void says(const char *text, enum npu_check_kind kind, const char *what, const char *notes)
{
	struct npu_check_report *report = checked(text);
	ck_assert_uint_eq(report->nfindings, 1);
	ck_assert_str_eq(report->findings[0].text, what);
	ck_assert_str_eq(report->findings[0].notes, notes);
	ck_assert_int_eq(report->findings[0].kind, kind);
	ck_assert_uint_eq(report->errors, 1);
	npu_check_free(report);
}

START_TEST(a_sequence_uses_its_own_pages_and_shared_ones)
{
	clean(POOL TABLE ".page pool 2 owned 1\n.page pool 5 shared\n" GATHER("t"));
	clean(POOL TABLE GATHER("t") GATHER("u")); /* no records, no questions */
}
END_TEST

/* Pages of pool are 16 x 8 x 2 = 256 bytes: page 2 from 0x200, page 3 from 0x300. */
#define LOAD(at, rows)  "load sram:0x0, dram:" at " rows=" rows " cols=8\n"
#define STORE(at, rows) "vfill sram:0x0 rows=1 cols=256 post s\nstore dram:" at ", sram:0x0 rows=" rows " cols=8 wait s\n"

START_TEST(a_plain_load_or_store_uses_pages_that_are_somebodys)
{
	clean(POOL ".page pool 2 owned 1\n.page pool 3 shared\n" LOAD("0x200", "32"));
	clean(POOL ".page pool 2 owned 1\n.sem s\n" STORE("0x200", "16"));
	clean(POOL LOAD("0x0", "16")); /* no records, no questions */
	says(POOL ".page pool 2 owned 1\n" LOAD("0x200", "32"), NPU_CHECK_PAGE_FREE,
	     "#0 load (dram, page 3) reads a page of pool that is free", "no record has given it to anybody");
	says(POOL ".page pool 2 owned 1\n" LOAD("0x1f0", "2"), NPU_CHECK_PAGE_FREE,
	     "#0 load (dram, page 1) reads a page of pool that is free", "no record has given it to anybody");
	says(POOL ".page pool 2 owned 1\n.page pool 2 free\n" LOAD("0x210", "1"), NPU_CHECK_PAGE_FREE,
	     "#0 load (dram, page 2) reads a page of pool that is free", "by the record before #0 (t.npu:3)");
	says(POOL ".page pool 2 shared\n.sem s\n" STORE("0x2f0", "1"), NPU_CHECK_PAGE_SHARED,
	     "#1 store (dram, page 2) writes a page of pool that is shared", "by the record before #0 (t.npu:2)");
	/* Rows 768 bytes apart: pages 2 and 5, not those between. */
	clean(POOL ".page pool 2 shared\n.page pool 5 owned 4\nload sram:0x0, dram:0x200 rows=2 cols=8 dram_stride=768\n");
}
END_TEST

/* K of 16 tokens, then V: the gather steps by 128 bytes, so do its pages. */
START_TEST(paged_instructions_say_how_large_a_page_is)
{
	says(POOL ".table t dram:0x4000 sequence=1 = [2]\n.page pool 2 owned 1\n"
		  "gather sram:0x0, dram:0x0 rows=8 cols=8 page_stride=128 page_rows=8 table=t\n" LOAD("0x100", "16"),
	     NPU_CHECK_PAGE_FREE, "#1 load (dram, page 3) reads a page of pool that is free",
	     "no record has given it to anybody");
}
END_TEST

START_TEST(a_page_of_another_sequence_is_named_by_its_table_entry)
{
	says(POOL TABLE ".page pool 2 owned 1\n.page pool 5 owned 2\n" GATHER("t"), NPU_CHECK_PAGE_OWNER,
	     "#0 gather (entry 1 of table t, page 5) reads a page of pool that belongs to sequence 2, not 1",
	     "by the record before #0 (t.npu:5)");
}
END_TEST

START_TEST(a_free_page_must_not_be_touched)
{
	says(POOL TABLE ".page pool 2 owned 1\n" GATHER("t"), NPU_CHECK_PAGE_FREE,
	     "#0 gather (entry 1 of table t, page 5) reads a page of pool that is free",
	     "no record has given it to anybody");
	says(POOL TABLE ".page pool 2 owned 1\n.page pool 5 owned 1\n" GATHER("t") ".page pool 5 free\n" GATHER("t"),
	     NPU_CHECK_PAGE_FREE, "#1 gather (entry 1 of table t, page 5) reads a page of pool that is free",
	     "by the record before #1 (t.npu:7)");
}
END_TEST

START_TEST(a_shared_page_is_read_only)
{
	says(".sem s\n" POOL TABLE ".page pool 2 owned 1\n.page pool 5 shared\n" SCATTER("t"), NPU_CHECK_PAGE_SHARED,
	     "#1 scatter (entry 1 of table t, page 5) writes a page of pool that is shared", "by the record before #0 (t.npu:6)");
	clean(".sem s\n" POOL TABLE ".page pool 2 owned 1\n.page pool 5 owned 1\n" SCATTER("t"));
}
END_TEST

START_TEST(a_page_is_freed_once_and_given_once)
{
	says(POOL TABLE ".page pool 2 owned 1\nsync.load\n.page pool 2 free\nsync.load\n.page pool 2 free\nsync.load\n",
	     NPU_CHECK_DOUBLE_FREE, "page 2 of pool is freed a second time before #2", "");
	says(POOL TABLE "sync.load\n.page pool 2 free\n", NPU_CHECK_DOUBLE_FREE,
	     "page 2 of pool is freed, and was never in use, before #1", "");
	says(POOL TABLE ".page pool 2 owned 1\nsync.load\n.page pool 2 owned 2\nsync.load\n", NPU_CHECK_PAGE_OWNER,
	     "page 2 of pool is given to sequence 2 before #1 while sequence 1 owns it", "");
}
END_TEST

START_TEST(records_survive_text_and_binary)
{
	struct npu_error err = { 0 };
	npu_check_free(
	    checked(POOL TABLE ".page pool 0..4 owned 1\n.page pool 6 shared\nsync.load\n.page pool 1 free\n"));
	char *text = npu_disasm_text(program);
	ck_assert_ptr_nonnull(strstr(text, ".table t dram:0x4000 sequence=1 = [2, 5]\n"));
	ck_assert_ptr_nonnull(strstr(text, ".loc \"t.npu\" 4\n.page pool 0..4 owned 1\n.loc 5\n.page pool 6..7 shared\n"));
	ck_assert_ptr_nonnull(strstr(text, "sync.load\n.loc 7\n.page pool 1..2 free\n"));
	struct npu_program *again = npu_asm_text(text, strlen(text), "again.npu", &err);
	ck_assert_msg(again != NULL, "%s", err.text);
	uint8_t *bytes;
	uint64_t nbytes = npu_program_encode(again, &bytes);
	struct npu_program *binary = npu_program_decode(bytes, nbytes, "again.npub", &err);
	ck_assert_msg(binary != NULL, "%s", err.text);
	ck_assert_uint_eq(binary->npages, 6);
	ck_assert_mem_eq(binary->pages, program->pages, 6 * sizeof *binary->pages);
	ck_assert_uint_eq(binary->tables[1].sequence, 2);
	char *same = npu_disasm_text(binary);
	ck_assert_str_eq(same, text);
	free(same);
	free(text);
	free(bytes);
	npu_program_free(binary);
	npu_program_free(again);
}
END_TEST

START_TEST(records_that_do_not_parse_say_what_would)
{
	static const struct {
		const char *text, *says;
	} wrong[] = {
		{ POOL ".page poool 3 free\n", "no tensor is called poool; did you mean pool?" },
		{ POOL ".page pool 3 lost\n", "expected free, shared, or owned and a sequence" },
		{ POOL ".page pool 3..3 free\n", "pages 3..3: a line has 1 to" },
		{ POOL "sync.load\n.page pool 99 owned 7\n", "page 99 of pool does not exist: the pool has " },
		{ POOL ".page pool 3 owned\n", "expected the number of the sequence" },
	};
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		struct npu_error err = { 0 };
		ck_assert_ptr_null(npu_asm_flat(wrong[i].text, strlen(wrong[i].text), "t.npu", &err));
		ck_assert_msg(strstr(err.text, wrong[i].says) != NULL, "%s", err.text);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("page records");
	TCase *t = tcase_create("pages");
	tcase_add_test(t, a_sequence_uses_its_own_pages_and_shared_ones);
	tcase_add_test(t, a_plain_load_or_store_uses_pages_that_are_somebodys);
	tcase_add_test(t, paged_instructions_say_how_large_a_page_is);
	tcase_add_test(t, a_page_of_another_sequence_is_named_by_its_table_entry);
	tcase_add_test(t, a_free_page_must_not_be_touched);
	tcase_add_test(t, a_shared_page_is_read_only);
	tcase_add_test(t, a_page_is_freed_once_and_given_once);
	tcase_add_test(t, records_survive_text_and_binary);
	tcase_add_test(t, records_that_do_not_parse_say_what_would);
	suite_add_tcase(s, t);
	return npu_suite_run(s);
}
