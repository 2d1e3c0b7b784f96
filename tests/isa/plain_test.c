/* SPDX-License-Identifier: Apache-2.0 */
/* What may be shown of text that anybody wrote. */
#include "isa/error.h"
#include "isa/plain.h"
#include "isa/program.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *text, *shown;
} cases[] = {
	{ "k[0]", "k[0]" },
	{ "\xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80" },
	{ "\x1b[31mred\x7f\a", "\\x1b[31mred\\x7f\\x07" },
	{ "two\nlines\tand\r", "two\\nlines\\tand\\x0d" },
	{ "\xc2\x9b" "31m", "\\xc2\\x9b31m" },                       /* C1: a control sequence in one character */
	{ "\xe2\x80\xae" "evil", "\\xe2\\x80\\xaeevil" },            /* right to left from here on */
	{ "\xe2\x80\xa8" "\xe2\x81\xa6", "\\xe2\\x80\\xa8\\xe2\\x81\\xa6" }, /* line separator, isolate */
	{ "caf\xe9", "caf\\xe9" },                                   /* Latin-1 */
	{ "\xc0\xaf \xe0\x80\xaf \xf0\x80\x80\xaf", "\\xc0\\xaf \\xe0\\x80\\xaf \\xf0\\x80\\x80\\xaf" }, /* overlong */
	{ "\xed\xa0\x80 \xf4\x90\x80\x80 \xf5", "\\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80 \\xf5" }, /* surrogate, too high */
	{ "cut \xe2\x82", "cut \\xe2\\x82" },
	{ "a\\b", "a\\b" },
};
enum { CASES = sizeof cases / sizeof *cases };

START_TEST(what_steers_or_is_no_utf8_is_shown_as_its_bytes)
{
	char out[128];
	ck_assert_uint_eq(npu_plain(cases[_i].text, strlen(cases[_i].text), out, sizeof out), strlen(cases[_i].shown));
	ck_assert_str_eq(out, cases[_i].shown);
}
END_TEST

START_TEST(shown_text_is_shown_as_it_is)
{
	char out[128];
	npu_plain(cases[_i].shown, strlen(cases[_i].shown), out, sizeof out);
	ck_assert_str_eq(out, cases[_i].shown);
}
END_TEST

START_TEST(text_is_cut_before_a_character_never_inside_of_one)
{
	char out[8];
	ck_assert_uint_eq(npu_plain("abcdef\x01", 7, out, sizeof out), 6); /* \x01 takes four, one is left beside the NUL */
	ck_assert_str_eq(out, "abcdef");
	ck_assert_uint_eq(npu_plain("\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac", 9, out, sizeof out), 6);
	ck_assert_uint_eq(npu_plain("a", 1, out, 1), 0);
	ck_assert_str_eq(out, "");
}
END_TEST

START_TEST(a_character_tells_the_columns_that_it_takes)
{
	const char *text = "\xe2\x82\xac\x1b", *at = text;
	char out[NPU_PLAIN_CHAR];
	unsigned columns;
	ck_assert_uint_eq(npu_plain_char(&at, text + 4, out, &columns), 3);
	ck_assert_uint_eq(columns, 1);
	ck_assert_uint_eq(npu_plain_char(&at, text + 4, out, &columns), 4);
	ck_assert_uint_eq(columns, 4);
	ck_assert_ptr_eq(at, text + 4);
}
END_TEST

START_TEST(an_error_is_fit_to_be_shown_whatever_it_quotes)
{
	struct npu_error err;
	npu_fail_at(&err, NPU_ERR_VALUE, "a\x1b.npu", 1, 2, "tensor %s\n", "\xff\nnpusim: all is well");
	npu_error_note(&err, "%s", "b\rc");
	npu_error_before(&err, "%s: ", "\a");
	ck_assert_str_eq(err.file, "a\\x1b.npu");
	ck_assert_str_eq(err.text, "\\x07: tensor \\xff\\nnpusim: all is well\\n\nb\\x0dc");
	ck_assert_uint_eq(err.column, 2);
}
END_TEST

START_TEST(every_name_of_a_program_can_be_made_one_to_be_shown)
{
	const char text[] = ".program \"p\\x1b\"\n.tensor \"t\\xff\"[64] fp16 in dram:0x0\n.buffer \"b\\n\" sram:0x0+64 0..1\n"
			    ".table \"e\\x7f\" dram:0x1000 = [1]\n.sem \"s\\x01\"\n.region \"r\\x03\"\n"
			    "sync.load post \"s\\x01\"\n.endregion\n";
	struct npu_error err = { .text = "" };
	struct npu_program *p = npu_asm_text(text, sizeof text - 1, "x", &err);
	ck_assert_msg(p != NULL, "%s", err.text);
	ck_assert_str_eq(p->sems[0].name, "s\x01");
	ck_assert(npu_program_show_names(p));
	ck_assert_str_eq(p->name, "p\\x1b");
	ck_assert_str_eq(p->tensors[0].name, "t\\xff");
	ck_assert_str_eq(p->buffers[0].name, "b\\n");
	ck_assert_str_eq(p->tables[0].name, "e\\x7f");
	ck_assert_str_eq(p->sems[0].name, "s\\x01");
	ck_assert_str_eq(p->regions[0].name, "r\\x03");
	npu_program_free(p);
}
END_TEST

START_TEST(assembly_shows_names_and_reads_the_same_bytes_back)
{
	const char text[] = ".program \"\\xff\\x1b\\n\\t\\xc2\\x9b\xc3\xa9\\\\\\\"\"\nsync.load\n";
	struct npu_error err;
	struct npu_program *p = npu_asm_text(text, sizeof text - 1, "x", &err);
	ck_assert(p != NULL);
	char *flat = npu_disasm_text(p);
	ck_assert_msg(strncmp(flat, text, strcspn(text, "\n")) == 0, "%s", flat);
	struct npu_program *again = npu_asm_text(flat, strlen(flat), "x", &err);
	ck_assert_str_eq(again->name, p->name);
	free(flat);
	npu_program_free(again);
	npu_program_free(p);
}
END_TEST

START_TEST(the_caret_stands_below_what_it_means_behind_characters_of_many_bytes)
{
	const char text[] = ".program \"\xc3\xa9\x1b\" oops\n";
	struct npu_error err;
	ck_assert_ptr_null(npu_asm_text(text, sizeof text - 1, "x", &err));
	const char *line = strchr(err.text, '\n') + 1;
	ck_assert_msg(strcmp(line, "    1 | .program \"\xc3\xa9\\x1b\" oops\n      |                  ^~~~") == 0, "%s", err.text);
}
END_TEST

START_TEST(a_mistake_far_to_the_right_is_still_shown_above_its_caret)
{
	char text[512];
	struct npu_error err;
	snprintf(text, sizeof text, ".program \"%0300d\" oops behind\n", 0);
	ck_assert_ptr_null(npu_asm_text(text, strlen(text), "x", &err));
	const char *line = strchr(err.text, '\n') + 1, *caret = strchr(strchr(line, '\n'), '^');
	ck_assert_msg(caret != NULL, "%s", err.text);
	ck_assert_msg(strncmp(line + (caret - strchr(line, '\n') - 1), "oops behind", 11) == 0, "%s", err.text);
	ck_assert_uint_eq(err.column, 313); /* bytes: .program, a blank, 302 of the string, a blank */
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plain");
	TCase *tcase = tcase_create("plain");
	tcase_add_loop_test(tcase, what_steers_or_is_no_utf8_is_shown_as_its_bytes, 0, CASES);
	tcase_add_loop_test(tcase, shown_text_is_shown_as_it_is, 0, CASES);
	tcase_add_test(tcase, text_is_cut_before_a_character_never_inside_of_one);
	tcase_add_test(tcase, a_character_tells_the_columns_that_it_takes);
	tcase_add_test(tcase, an_error_is_fit_to_be_shown_whatever_it_quotes);
	tcase_add_test(tcase, every_name_of_a_program_can_be_made_one_to_be_shown);
	tcase_add_test(tcase, assembly_shows_names_and_reads_the_same_bytes_back);
	tcase_add_test(tcase, the_caret_stands_below_what_it_means_behind_characters_of_many_bytes);
	tcase_add_test(tcase, a_mistake_far_to_the_right_is_still_shown_above_its_caret);
	suite_add_tcase(suite, tcase);
	return npu_suite_run(suite);
}
