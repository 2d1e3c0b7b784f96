/* SPDX-License-Identifier: Apache-2.0 */
/* docs/isa.md is what the tables say. */
#include "isa/field.h"
#include "isa/operand.h"
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

/* The program in the next block of examples at or behind *at, which moves past it; NULL past the last one. */
static struct npu_program *next_examples(const char **at, const char **block)
{
	static const char fence[] = "```npu\n";
	struct npu_error err;
	const char *begin = strstr(*at, fence), *end = begin ? strstr(begin + 1, "```") : NULL;
	if (!end)
		return NULL;
	*block = begin + strlen(fence);
	*at = end + 3;
	struct npu_program *program = npu_asm_text(*block, (uint64_t)(end - *block), "isa.md", &err);
	ck_assert_msg(program != NULL, "%s", err.text);
	return program;
}

START_TEST(every_instruction_has_one_example_and_it_assembles)
{
	char *text = npu_isa_reference(), line[512], wanted[640];
	const char *at = text, *block;
	unsigned seen[256] = { 0 };
	for (struct npu_program *p; (p = next_examples(&at, &block)); npu_program_free(p))
		for (uint32_t i = 0; i < p->ninsns; i++) {
			const struct npu_op_info *info = npu_op_info(p->insns[i].op);
			seen[info->op]++;
			/* as the disassembler writes it, below what the table says that it computes */
			npu_insn_print(p, i, line, sizeof line);
			snprintf(wanted, sizeof wanted, "\n; %s\n%s", info->doc, line);
			const char *found = strstr(block - 1, wanted);
			ck_assert_msg(found && found < at, "%s", wanted);
		}
	for (unsigned i = 0; i < npu_nops; i++)
		ck_assert_msg(seen[npu_ops[i].op] == 1, "%s has %u examples", npu_ops[i].mnemonic, seen[npu_ops[i].op]);
	free(text);
}
END_TEST

START_TEST(operands_of_an_example_lie_apart)
{
	char *text = npu_isa_reference();
	const char *at = text, *block;
	unsigned compared = 0;
	for (struct npu_program *p; (p = next_examples(&at, &block)); npu_program_free(p))
		for (uint32_t i = 0; i < p->ninsns; i++) {
			struct npu_operand o[NPU_MAX_ACCESSES];
			unsigned n = npu_insn_operands(&p->insns[i], o);
			for (unsigned a = 0; a < n; a++)
				for (unsigned b = 0; b < a; b++) {
					/* the state of online softmax is read and written */
					if (o[a].space != o[b].space || strcmp(o[a].name, o[b].name) == 0)
						continue;
					compared++;
					ck_assert_msg(o[a].addr + npu_matrix_extent(&o[a].m) <= o[b].addr ||
							  o[b].addr + npu_matrix_extent(&o[b].m) <= o[a].addr,
						      "%s: %s and %s", npu_op_mnemonic(p->insns[i].op), o[a].name, o[b].name);
				}
		}
	/* 24 vector instructions at least have a source and a destination */
	ck_assert_uint_ge(compared, 24);
	free(text);
}
END_TEST

START_TEST(an_example_shows_the_addresses_that_a_flag_brings_into_use)
{
	char *text = npu_isa_reference();
	const char *at = text, *block;
	unsigned found = 0;
	for (struct npu_program *p; (p = next_examples(&at, &block)); npu_program_free(p))
		for (uint32_t i = 0; i < p->ninsns; i++) {
			const struct npu_insn *insn = &p->insns[i];
			if (insn->op == NPU_OP_VLAYERNORM)
				found += insn->norm.has_bias && insn->norm.bias != 0;
			if (insn->op == NPU_OP_VQUANT)
				found += insn->quant.scale != NPU_SCALE_TENSOR && insn->quant.scales != 0;
			/* no RMSNorm has one: it stays at its initial value, which text leaves out */
			if (insn->op == NPU_OP_VRMSNORM)
				found += !insn->norm.has_bias && insn->norm.bias == 0;
		}
	ck_assert_uint_eq(found, 3);
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
	tcase_add_test(tests, every_instruction_has_one_example_and_it_assembles);
	tcase_add_test(tests, operands_of_an_example_lie_apart);
	tcase_add_test(tests, an_example_shows_the_addresses_that_a_flag_brings_into_use);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(void)
{
	return npu_suite_run(reference_suite());
}
