/* SPDX-License-Identifier: Apache-2.0 */
/* Layer lists of SCALE-Sim: padded cells, commas at the end, headings, marks of UTF-8; and bad ones by line and column. */
#include "tests/support/suite.h"
#include "traces/scalesim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct scalesim list;
static struct npu_error err;

static bool read_text(const char *text)
{
	return scalesim_read("l.csv", text, strlen(text), &list, &err);
}

static void refuse(const char *text, const char *message)
{
	char said[3400];
	ck_assert_msg(!read_text(text), "read: %s", text);
	ck_assert_str_eq(npu_error_print(&err, said, sizeof said), message);
	ck_assert_ptr_null(list.layers);
}

#define GEMM "Layer, M, N, K,\n"
#define CONV "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n"

START_TEST(products_are_read_by_the_names_of_their_columns)
{
	ck_assert_msg(read_text("\xef\xbb\xbf" "L,K,N,M,\r\n qk , 64 ,32, 16 , \r\n,,,\n\nHeading,\npv,1,2,3"), "%s", err.text);
	ck_assert_uint_eq(list.n, 2);
	ck_assert_str_eq(list.layers[0].name, "qk");
	ck_assert(list.layers[0].m == 16 && list.layers[0].n == 32 && list.layers[0].k == 64);
	ck_assert(list.layers[1].m == 3 && list.layers[1].n == 2 && list.layers[1].k == 1 && list.layers[1].line == 6);
	scalesim_free(&list);
}
END_TEST

START_TEST(convolutions_become_products_of_whole_windows)
{
	/* (224 - 7) / 2 + 1 = 109 positions each way, 7 x 7 x 3 elements a window; SCALE-Sim counts a partial window, 110. */
	ck_assert_msg(read_text("Layer name,IFMAP Height,IFMAP Width,Filter Height,Filter Width,Channels,Num Filter,Strides,batch size,\n"
				"conv1,224,224,7,7,3,64,2,\nfc,1,1,1,1,2048,1000,1,8\n"), "%s", err.text);
	ck_assert(list.layers[0].m == 109 * 109 && list.layers[0].n == 64 && list.layers[0].k == 147);
	ck_assert(list.layers[1].m == 8 && list.layers[1].batch == 8);
	scalesim_free(&list);
}
END_TEST

START_TEST(cells_may_have_quotes_and_lists_a_column_of_sparsity)
{
	ck_assert_msg(read_text("Layer,M,N,K,Sparsity,\n\"qk\", \"64\" ,32,16,2:2,\npv,1,2,3,\n"), "%s", err.text);
	ck_assert(list.n == 2 && list.layers[0].m == 64);
	ck_assert_str_eq(list.layers[0].name, "qk");
	scalesim_free(&list);
	refuse("Layer,M,N,K,Sparsity\nx,1,2,3,2:4\n",
	       "l.csv:2:9: Sparsity is \"2:4\": no kernel leaves zeros out; as many of as many, 1:1, would be right");
	refuse("Layer,M,N,K,Sparsity\nx,1,2,3,half\n", "l.csv:2:9: Sparsity is \"half\", N:M would be right");
	refuse(GEMM "x, 1, \", 3\n", "l.csv:2:7: N is \"\x22\", a whole number from 1 to 1048575 would be right");
}
END_TEST

START_TEST(bad_lists_are_refused_at_their_cell)
{
	refuse("", "l.csv: no layer");
	refuse(GEMM, "l.csv: no layer");
	refuse("a,b,c\n1,2,3\n", "l.csv:1:1: the column \"a\" is not known; lists begin with Layer, M, N, K or Layer name, IFMAP Height, "
				 "IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides");
	refuse("Layer,M,N\nx,1,2\n", "l.csv:1:1: there is no column \"K\"");
	refuse("Layer,M,N,K,M\n", "l.csv:1:13: a second column \"M\"");
	refuse(GEMM "x, 1, 2,\n", "l.csv:2:7: K is missing");
	refuse(GEMM "x, 1, , 2\n", "l.csv:2:7: N is missing");
	refuse(GEMM "x, 1, two, 2\n", "l.csv:2:7: N is \"two\", a whole number from 1 to 1048575 would be right");
	refuse(GEMM "x, 1, 2, 0\n", "l.csv:2:10: K is \"0\", a whole number from 1 to 1048575 would be right");
	refuse(GEMM "x, 1, 2, 99999999999999999999\n",
	       "l.csv:2:10: K is \"99999999999999999999\", a whole number from 1 to 1048575 would be right");
	refuse(GEMM "x, 1, -2, 3\n", "l.csv:2:7: N is \"-2\", a whole number from 1 to 1048575 would be right");
	refuse(GEMM "x, 1, 2, 3, 4\n", "l.csv:2:13: a cell under no column");
	refuse(CONV "c,3,3,5,1,1,1,1\n", "l.csv:2:7: a filter of 5 x 1 is larger than its input of 3 x 3");
	refuse(CONV "c,100000,100000,1,1,1,1,1\n",
	       "l.csv:2:1: 10000000000 positions of the result and 1 elements a window: 1048575 at most would be right");
}
END_TEST

START_TEST(the_lists_beside_the_tree_are_read_whole)
{
	static const struct {
		const char *file;
		unsigned layers;
	} files[] = {
		{ "scalesim_GEMM_mnk_gpt2.csv", 6 },   { "scalesim_GEMM_mnk_gnmt.csv", 17 },
		{ "scalesim_ispass25_models_vit_bg.csv", 4 }, { "scalesim_mlperf_Transformer_short.csv", 9 },
		{ "transformer_fwd.csv", 54 },
	};
	const char *source = getenv("SRC");
	for (unsigned i = 0; i < sizeof files / sizeof files[0]; i++) {
		char path[512];
		snprintf(path, sizeof path, "%s/../shared/reference/topologies/%s", source ? source : ".", files[i].file);
		FILE *file = fopen(path, "r");
		if (!file)
			continue; /* they are of others, and not shipped */
		char *text = calloc(1, 1 << 20);
		uint64_t n = fread(text, 1, 1 << 20, file);
		fclose(file);
		ck_assert_msg(scalesim_read(path, text, n, &list, &err), "%s:%u: %s", path, err.line, err.text);
		ck_assert_msg(list.n == files[i].layers, "%s: %u layers", files[i].file, list.n);
		scalesim_free(&list);
		free(text);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("scalesim");
	TCase *cases = tcase_create("all");
	tcase_add_test(cases, products_are_read_by_the_names_of_their_columns);
	tcase_add_test(cases, convolutions_become_products_of_whole_windows);
	tcase_add_test(cases, cells_may_have_quotes_and_lists_a_column_of_sparsity);
	tcase_add_test(cases, bad_lists_are_refused_at_their_cell);
	tcase_add_test(cases, the_lists_beside_the_tree_are_read_whole);
	suite_add_tcase(suite, cases);
	return npu_suite_run(suite);
}
