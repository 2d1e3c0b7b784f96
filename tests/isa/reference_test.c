/* SPDX-License-Identifier: Apache-2.0 */
/* docs/isa.md is what the tables say. */
#include "isa/field.h"
#include "isa/program.h"
#include "isa/reference.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *page(void)
{
	const char *root = getenv("SRC");
	char path[4096];
	snprintf(path, sizeof path, "%s/docs/isa.md", root ? root : ".");
	FILE *file = fopen(path, "rb");
	ck_assert_msg(file != NULL, "%s cannot be read", path);
	char *text = calloc(1, 1 << 20);
	ck_assert_ptr_nonnull(text);
	ck_assert_uint_lt(fread(text, 1, 1 << 20, file), 1 << 20);
	fclose(file);
	return text;
}

START_TEST(the_page_is_fresh)
{
	char *text = page(), *fresh = npu_isa_reference();
	ck_assert_msg(strcmp(text, fresh) == 0,
		      "docs/isa.md differs from the tables: npusim isa-reference > docs/isa.md");
	free(text);
	free(fresh);
}
END_TEST

START_TEST(the_page_names_every_instruction_and_field)
{
	char *text = npu_isa_reference(), wanted[96];
	for (unsigned i = 0; i < npu_nops; i++) {
		snprintf(wanted, sizeof wanted, "| `%s", npu_ops[i].mnemonic);
		ck_assert_msg(strstr(text, wanted) != NULL, "%s", wanted);
		for (const struct npu_field *field = npu_ops[i].format->fields; field->name; field++) {
			snprintf(wanted, sizeof wanted, "| `%s` | %u ", field->name, field->word);
			ck_assert_msg(strstr(text, wanted) != NULL, "%s", wanted);
		}
	}
	free(text);
}
END_TEST

START_TEST(the_example_of_the_page_assembles)
{
	char *text = npu_isa_reference();
	char *begin = strstr(text, ".program"), *end = begin ? strstr(begin, "```") : NULL;
	ck_assert_ptr_nonnull(end);
	/* the buffer of the example lives for 216 instructions: give it as many */
	char *program = calloc(1, 8192);
	strncpy(program, begin, (size_t)(end - begin));
	for (unsigned i = 0; i < 215; i++)
		strcat(program, "sync.load\n");
	struct npu_error err;
	struct npu_program *p = npu_asm_text(program, strlen(program), "isa.md", &err);
	ck_assert_msg(p != NULL, "%s", err.text);
	ck_assert_uint_eq(p->insns[0].dma.dram, 0x44000);
	npu_program_free(p);
	free(program);
	free(text);
}
END_TEST

static Suite *reference_suite(void)
{
	Suite *suite = suite_create("isa.reference");
	TCase *tests = tcase_create("reference");
	tcase_add_test(tests, the_page_is_fresh);
	tcase_add_test(tests, the_page_names_every_instruction_and_field);
	tcase_add_test(tests, the_example_of_the_page_assembles);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(void)
{
	return npu_suite_run(reference_suite());
}
