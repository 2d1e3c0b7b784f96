/* SPDX-License-Identifier: Apache-2.0 */
/* docs/editors knows every word of the language, and is JSON where it should be. */
#include "isa/field.h"
#include "isa/text/macro/words.h"
#include "tests/support/suite.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char vim_syntax[] = "vim/syntax/npu.vim";
static const char grammar[] = "vscode/syntaxes/npu.tmLanguage.json";

static char *path_of(const char *name, char out[4096])
{
	const char *root = getenv("SRC");
	snprintf(out, 4096, "%s/docs/editors/%s", root ? root : ".", name);
	return out;
}

static json_t *read_json(const char *name)
{
	char path[4096];
	json_error_t error;
	json_t *value = json_load_file(path_of(name, path), JSON_REJECT_DUPLICATES, &error);
	ck_assert_msg(value != NULL, "%s:%d: %s", name, error.line, error.text);
	return value;
}

static char *read_text(const char *name)
{
	char path[4096];
	FILE *file = fopen(path_of(name, path), "rb");
	ck_assert_msg(file != NULL, "%s cannot be read", path);
	char *text = calloc(1, 1 << 18);
	ck_assert_ptr_nonnull(text);
	ck_assert_uint_lt(fread(text, 1, 1 << 18, file), 1 << 18);
	fclose(file);
	return text;
}

/* Whether the text has the word as one of several alternatives, its dots escaped. */
static bool has_alternative(const char *text, const char *word)
{
	char escaped[64];
	unsigned n = 0;
	for (; *word; word++) {
		if (*word == '.')
			escaped[n++] = '\\';
		escaped[n++] = *word;
	}
	escaped[n] = '\0';
	for (const char *at = text; (at = strstr(at, escaped)); at++)
		if (at > text && strchr("|(:", at[-1]) && strchr("|)", at[n]))
			return true;
	return false;
}

static void check_words(const char *text, const char *file)
{
	const char *word;
	ck_assert_msg(strstr(text, "once") != NULL, "%s lacks once", file);
	for (unsigned i = 0; i < npu_nops; i++)
		ck_assert_msg(has_alternative(text, npu_ops[i].mnemonic), "%s lacks %s", file, npu_ops[i].mnemonic);
	for (int kind = NPU_MACRO_DIRECTIVES; kind <= NPU_MACRO_PAGE_STATES; kind++)
		for (unsigned n = 0; (word = npu_macro_word((enum npu_macro_words)kind, n)); n++)
			ck_assert_msg(has_alternative(text, word), "%s lacks %s", file, word);
	for (unsigned f = 0; f < npu_nformats; f++)
		for (const struct npu_field *field = npu_formats[f].fields; field->name; field++)
			if (field->kind != NPU_KIND_LOCAL && field->kind != NPU_KIND_DRAM)
				ck_assert_msg(has_alternative(text, field->name), "%s lacks %s", file, field->name);
	for (int kind = NPU_KIND_DTYPE; kind <= NPU_KIND_SCALE; kind++) {
		const char *const *names;
		unsigned n = npu_kind_names((enum npu_field_kind)kind, &names);
		for (unsigned i = 0; i < n; i++)
			ck_assert_msg(has_alternative(text, names[i]), "%s lacks %s", file, names[i]);
	}
}

START_TEST(vim_knows_every_word_of_the_tables)
{
	char *text = read_text(vim_syntax);
	check_words(text, vim_syntax);
	free(text);
}
END_TEST

/* All regular expressions of the grammar, a line each. */
static void add_expressions(const json_t *rule, char *out, size_t size)
{
	static const char *const keys[] = { "match", "begin" };
	for (unsigned i = 0; i < 2; i++) {
		const char *text = json_string_value(json_object_get(rule, keys[i]));
		if (text)
			snprintf(out + strlen(out), size - strlen(out), "%s\n", text);
	}
}

START_TEST(the_grammar_knows_every_word_of_the_tables)
{
	json_t *value = read_json(grammar), *rule;
	const char *name;
	enum { SIZE = 1 << 16 };
	char *text = calloc(1, SIZE);
	json_object_foreach(json_object_get(value, "repository"), name, rule)
		add_expressions(rule, text, SIZE);
	check_words(text, grammar);
	free(text);
	json_decref(value);
}
END_TEST

static void check_includes(const json_t *rule, const json_t *repository)
{
	size_t i;
	json_t *pattern;
	json_array_foreach(json_object_get(rule, "patterns"), i, pattern)
	{
		const char *name = json_string_value(json_object_get(pattern, "include"));
		ck_assert_ptr_nonnull(name);
		ck_assert_msg(name[0] == '#' && json_object_get(repository, name + 1), "no rule is called %s", name);
	}
}

START_TEST(the_grammar_includes_only_rules_that_it_has)
{
	json_t *value = read_json(grammar), *repository = json_object_get(value, "repository"), *rule;
	const char *name;
	ck_assert_uint_gt(json_array_size(json_object_get(value, "patterns")), 0);
	check_includes(value, repository);
	json_object_foreach(repository, name, rule)
	{
		check_includes(rule, repository);
		ck_assert_msg(!json_object_get(rule, "match") != !json_object_get(rule, "begin"), "%s", name);
		ck_assert_msg(!json_object_get(rule, "begin") == !json_object_get(rule, "end"), "%s", name);
	}
	json_decref(value);
}
END_TEST

START_TEST(the_extension_names_files_that_are_there)
{
	json_t *package = read_json("vscode/package.json"), *contributes = json_object_get(package, "contributes");
	json_t *language = json_array_get(json_object_get(contributes, "languages"), 0);
	json_t *entry = json_array_get(json_object_get(contributes, "grammars"), 0);
	const char *configuration = json_string_value(json_object_get(language, "configuration"));
	const char *path = json_string_value(json_object_get(entry, "path"));
	char name[256];
	ck_assert_ptr_nonnull(configuration);
	ck_assert_ptr_nonnull(path);
	snprintf(name, sizeof name, "vscode/%s", configuration);
	json_decref(read_json(name));
	snprintf(name, sizeof name, "vscode/%s", path);
	json_t *value = read_json(name);
	ck_assert_str_eq(json_string_value(json_object_get(value, "scopeName")),
			 json_string_value(json_object_get(entry, "scopeName")));
	ck_assert_str_eq(json_string_value(json_object_get(entry, "language")),
			 json_string_value(json_object_get(language, "id")));
	json_decref(value);
	json_decref(package);
}
END_TEST

static Suite *editors_suite(void)
{
	Suite *suite = suite_create("sim.editors");
	TCase *tests = tcase_create("editors");
	tcase_add_test(tests, vim_knows_every_word_of_the_tables);
	tcase_add_test(tests, the_grammar_knows_every_word_of_the_tables);
	tcase_add_test(tests, the_grammar_includes_only_rules_that_it_has);
	tcase_add_test(tests, the_extension_names_files_that_are_there);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(void) { return npu_suite_run(editors_suite()); }
