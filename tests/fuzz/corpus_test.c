/* SPDX-License-Identifier: Apache-2.0 */
/* The seeds of the fuzzers begin where the language is: every word of it, every instruction, every kind of mistake. */
#include "isa/field.h"
#include "isa/macro.h"
#include "isa/text/macro/words.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 512, MOST_BYTES = 1 << 16 };

static struct seed {
	char name[256];
	char *text;
	uint64_t nbytes;
} seeds[MOST_FILES];
static unsigned nseeds;

static void read_folder(const char *corpus)
{
	char folder[4096], path[8192];
	const char *root = getenv("SRC");
	snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus/%s", root ? root : ".", corpus);
	DIR *dir = opendir(folder);
	ck_assert_msg(dir != NULL, "%s cannot be read", folder);
	for (struct dirent *e; (e = readdir(dir)) != NULL;) {
		if (e->d_name[0] == '.')
			continue;
		ck_assert_uint_lt(nseeds, MOST_FILES);
		struct seed *s = &seeds[nseeds++];
		snprintf(s->name, sizeof s->name, "%s", e->d_name);
		snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
		FILE *in = fopen(path, "rb");
		ck_assert_ptr_nonnull(in);
		s->text = calloc(1, MOST_BYTES + 1);
		ck_assert_ptr_nonnull(s->text);
		s->nbytes = fread(s->text, 1, MOST_BYTES, in);
		fclose(in);
	}
	closedir(dir);
}

static void read_macro(void)
{
	nseeds = 0;
	read_folder("macro");
}

static void read_asm(void)
{
	nseeds = 0;
	read_folder("asm");
}

static void free_seeds(void)
{
	for (unsigned i = 0; i < nseeds; i++)
		free(seeds[i].text);
	nseeds = 0;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

/* Whether a seed has the word, not as a part of another one. */
static bool have_word(const char *word)
{
	size_t length = strlen(word);
	for (unsigned i = 0; i < nseeds; i++)
		for (const char *at = seeds[i].text; (at = strstr(at, word)) != NULL; at++)
			if ((at == seeds[i].text || !is_letter(at[-1])) && !is_letter(at[length]))
				return true;
	return false;
}

START_TEST(every_word_of_macro_assembly_is_in_a_seed)
{
	static const enum npu_macro_words kinds[] = { NPU_MACRO_DIRECTIVES, NPU_MACRO_FUNCTIONS, NPU_MACRO_OPTIONS,
						      NPU_MACRO_DIRECTIONS, NPU_MACRO_PAGE_STATES };
	for (unsigned k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
		for (unsigned n = 0; npu_macro_word(kinds[k], n); n++)
			ck_assert_msg(have_word(npu_macro_word(kinds[k], n)), "no seed has %s",
				      npu_macro_word(kinds[k], n));
}
END_TEST

START_TEST(every_instruction_is_in_a_seed)
{
	for (unsigned i = 0; i < npu_nops; i++)
		ck_assert_msg(have_word(npu_ops[i].mnemonic), "no seed has %s", npu_ops[i].mnemonic);
}
END_TEST

static char *read_none(void *context, const char *path, uint64_t *nbytes, struct npu_error *err)
{
	(void)context, (void)nbytes;
	if (strstr(path, "unreadable"))
		npu_fail(err, NPU_ERR_IO, "%s: cannot be read", path);
	return NULL;
}

/* Of those that a text alone can have; no text makes the others. */
START_TEST(every_kind_of_mistake_is_in_a_seed)
{
	static const enum npu_error_code kinds[] = { NPU_ERR_SYNTAX, NPU_ERR_VALUE,   NPU_ERR_FIT,
						     NPU_ERR_BOUNDS, NPU_ERR_OPERAND, NPU_ERR_IO, NPU_ERR_SEMAPHORE };
	static const struct npu_capacity machine = { .limits = { 1 << 20, 256 << 10, (uint64_t)4 << 30 },
						     .sram_groups = 4,
						     .sram_word_bytes = 32,
						     .accum_banks = 8,
						     .array_rows = 32,
						     .array_cols = 32,
						     .vector_lanes = 32 };
	unsigned found = 0, accepted = 0;
	for (unsigned i = 0; i < nseeds; i++) {
		struct npu_error err = { .code = NPU_ERR_NONE };
		struct npu_macro_options options = {
			.capacity = &machine, .read = read_none, .max_insns = 5000, .max_turns = 20000
		};
		struct npu_macro *m = npu_macro_text(seeds[i].text, seeds[i].nbytes, "seed.npu", &options, &err);
		bool wrong = strncmp(seeds[i].name, "wrong_", 6) == 0;
		ck_assert_msg(!wrong || !m, "%s is not wrong", seeds[i].name);
		accepted += m != NULL;
		found |= m ? 0 : 1u << err.code;
		npu_macro_free(m);
	}
	ck_assert_uint_gt(accepted, 5);
	for (unsigned k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
		ck_assert_msg(found >> kinds[k] & 1, "no seed has an error of kind %d", (int)kinds[k]);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("fuzz.corpus");
	TCase *t = tcase_create("macro");
	tcase_add_checked_fixture(t, read_macro, free_seeds);
	tcase_add_test(t, every_word_of_macro_assembly_is_in_a_seed);
	tcase_add_test(t, every_kind_of_mistake_is_in_a_seed);
	suite_add_tcase(s, t);
	t = tcase_create("asm");
	tcase_add_checked_fixture(t, read_asm, free_seeds);
	tcase_add_test(t, every_instruction_is_in_a_seed);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return npu_suite_run(suite());
}
