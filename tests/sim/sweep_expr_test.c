/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions of sweeps: what binds how, words and sizes, what is not there; and the order of points. */
#include "sim/sweep/expr.h"
#include "sim/sweep/space.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct expr_value value(void *context, unsigned n)
{
	const char *name = expr_name(context, n, NULL);
	if (strcmp(name, "a") == 0)
		return (struct expr_value){ .number = 6 };
	if (strcmp(name, "sram.size") == 0)
		return expr_value_of("1.5MiB");
	if (strcmp(name, "buffering") == 0)
		return expr_value_of("double");
	if (strcmp(name, "hw") == 0)
		return expr_value_of("tiny-256k");
	if (strcmp(name, "array") == 0)
		return expr_value_of("32x32");
	return (struct expr_value){ .number = (double)NAN };
}

static bool holds(const char *text)
{
	struct npu_error err = { 0 };
	struct expr *e = expr_parse(text, NULL, &err);
	ck_assert_msg(e != NULL, "%s: %s", text, err.text);
	for (unsigned i = 0; expr_name(e, i, NULL); i++)
		if (strcmp(expr_name(e, i, NULL), "double") == 0 || strcmp(expr_name(e, i, NULL), "single") == 0)
			expr_make_word(e, i, NULL);
	bool result = expr_holds(e, value, e, NULL);
	expr_free(e);
	return result;
}

START_TEST(operators_bind_as_in_c)
{
	ck_assert(holds("1 + 2 * 3 == 7"));
	ck_assert(holds("(1 + 2) * 3 == 9"));
	ck_assert(holds("10 - 4 - 3 == 3"));
	ck_assert(holds("100 / 10 / 5 == 2"));
	ck_assert(holds("0 && 0 || 1"));
	ck_assert(!holds("0 && (0 || 1)"));
	ck_assert(holds("!(a > 6) && -a < 0 && a % 4 == 2"));
	ck_assert(holds("(1 < 2) == 1"));
	ck_assert(holds("a < 1e1 && a * 1e6 == 6000000 && a > 1.5e-1 && 2e+1 == 20"));
}
END_TEST

START_TEST(sizes_are_bytes_and_words_are_words)
{
	ck_assert(holds("sram.size == 1572864 && sram.size < 2MiB && sram.size >= 1536KiB"));
	ck_assert(holds("sram.size == 1.5 MiB && 1536 KiB == sram.size && sram.size*2 < 1 \t GiB"));
	ck_assert(holds("buffering == double && buffering != single"));
	ck_assert(holds("hw == 'tiny-256k' && hw == \"tiny-256k\""));
	ck_assert(holds("array == 32x32 && array != 16x16"));
	ck_assert_msg(!holds("buffering == 3") && !holds("buffering < 3"), "a word is no number");
}
END_TEST

START_TEST(what_is_not_there_holds_for_nothing)
{
	ck_assert(!holds("nothing < 1"));
	ck_assert(!holds("nothing != 1"));
	ck_assert(!holds("!nothing"));
	ck_assert(!holds("1 / 0 > 1"));
	ck_assert(!holds("1 % 0 == 0"));
}
END_TEST

START_TEST(mistakes_have_a_column)
{
	static const struct {
		const char *text;
		uint32_t column;
	} wrong[] = { { "", 1 }, { "a +", 4 }, { "(a", 3 }, { "a b", 3 }, { "a < 3xyz", 5 }, { "a == 'x", 6 }, { "* 3", 1 }, { "a && ", 6 },
		      { "2 < a < 5", 7 }, { "a == 3 == 1", 8 }, { "a < 3 != a", 7 }, { "1 == a < 3", 3 } };
	for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct npu_error err = { 0 };
		ck_assert(expr_parse(wrong[i].text, NULL, &err) == NULL);
		ck_assert_msg(err.column == wrong[i].column, "%s: column %u: %s", wrong[i].text, err.column, err.text);
	}
	char deep[400];
	memset(deep, '(', sizeof deep);
	deep[sizeof deep - 1] = '\0';
	ck_assert(expr_parse(deep, NULL, NULL) == NULL);
}
END_TEST

static enum expr_kind kind_of(void *context, unsigned n)
{
	const char *name = expr_name(context, n, NULL);
	return strcmp(name, "buffering") == 0 ? EXPR_WORD : strcmp(name, "a") == 0 ? EXPR_NUMBER : EXPR_ANY;
}

START_TEST(what_never_holds_is_refused)
{
	static const struct {
		const char *text, *why; /* NULL: it may hold */
	} conditions[] = {
		{ "buffering == 'double' && a == \"64\" && other < 3", NULL },
		{ "buffering < 3", "buffering is a word, neither less nor more than 3; == or != would be right" },
		{ "a > 3 && buffering == 3", "buffering is a word and 3 a number: they are never equal" },
		{ "a == 'x'", "x is a word and a a number: they are never equal" },
		{ "a * buffering > 1", "buffering is a word: one cannot reckon with it" },
		{ "!buffering", "buffering is a word: one cannot reckon with it" },
		{ "buffering", "buffering is a word, and no condition" },
	};
	for (unsigned i = 0; i < sizeof conditions / sizeof *conditions; i++) {
		struct npu_error err = { 0 };
		struct expr *e = expr_parse(conditions[i].text, NULL, &err);
		ck_assert_msg(e != NULL, "%s: %s", conditions[i].text, err.text);
		ck_assert_msg(expr_check(e, kind_of, e, &err) == !conditions[i].why, "%s: %s", conditions[i].text, err.text);
		ck_assert_str_eq(err.text, conditions[i].why ? conditions[i].why : "");
		expr_free(e);
	}
}
END_TEST

START_TEST(words_are_numbers_where_they_can_be_and_a_division_by_0_is_told)
{
	static const char *const words[] = { "edge", "edge-2mb", NULL };
	struct npu_error err = { 0 };
	bool divides = false;
	ck_assert(holds("a == '6' && a <= \"7\" && '0.5MiB' < sram.size"));
	struct expr *e = expr_parse("a - 6 == 0 && edge-2mb == 'edge-2mb' && edge != edge-2mb", words, &err);
	ck_assert_msg(e != NULL, "%s", err.text);
	ck_assert(expr_holds(e, value, e, &divides) && !divides);
	expr_free(e);
	e = expr_parse("edge-2mbx == 1", words, &err);
	ck_assert_msg(e == NULL, "edge is no word here, but a name less 2mbx");
	e = expr_parse("100 % (a - 6) == 0", NULL, &err);
	ck_assert(!expr_holds(e, value, e, &divides) && divides);
	expr_free(e);
}
END_TEST

START_TEST(a_shuffle_is_a_permutation_for_every_length)
{
	for (uint64_t n = 1; n < 300; n++) {
		bool seen[300] = { false };
		for (uint64_t i = 0; i < n; i++) {
			uint64_t p = sweep_shuffle(i, n, 7);
			ck_assert(p < n && !seen[p]);
			seen[p] = true;
		}
	}
	for (uint64_t i = 0; i < 1000; i++)
		ck_assert(sweep_shuffle(i, (uint64_t)1000000000000, 1) < (uint64_t)1000000000000);
}
END_TEST

START_TEST(a_point_is_its_indices)
{
	struct sweep_space s = { .naxes = 3, .points = 24 };
	static const uint32_t counts[] = { 2, 3, 4 };
	for (unsigned a = 0; a < 3; a++)
		s.axes[a].count = counts[a];
	for (uint64_t p = 0; p < 24; p++) {
		uint32_t i = sweep_index(&s, p, 0), j = sweep_index(&s, p, 1), k = sweep_index(&s, p, 2);
		ck_assert_uint_eq((i * 3 + j) * 4 + k, p);
		ck_assert_uint_eq(sweep_move(&s, p, 1, 2), (i * 3 + 2) * 4 + k);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sweep_expr");
	TCase *t = tcase_create("conditions and points");
	tcase_add_test(t, operators_bind_as_in_c);
	tcase_add_test(t, sizes_are_bytes_and_words_are_words);
	tcase_add_test(t, what_is_not_there_holds_for_nothing);
	tcase_add_test(t, mistakes_have_a_column);
	tcase_add_test(t, what_never_holds_is_refused);
	tcase_add_test(t, words_are_numbers_where_they_can_be_and_a_division_by_0_is_told);
	tcase_add_test(t, a_shuffle_is_a_permutation_for_every_length);
	tcase_add_test(t, a_point_is_its_indices);
	suite_add_tcase(suite, t);
	return npu_suite_run(suite);
}
