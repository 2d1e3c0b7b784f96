/* SPDX-License-Identifier: Apache-2.0 */
/* Of more points than a page can hold it shows many, wherever in the grid those that were run are: the best one and
 * every one that nothing beats among them; and it says so. */
#define _GNU_SOURCE
#include "isa/random.h"
#include "sim/sweep/page.h"
#include "sim/sweep/shown.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A grid of SIDE x SIDE points. */
enum { SIDE = 300, POINTS = SIDE * SIDE, SHOWN = 20000 };

struct grid {
	struct sweep_space space;
	struct sweep_rows rows;
	char text[SIDE][8];
	char *values[SIDE];
};

/* Every `one_of`-th row of the grid was run, the others are not legal. */
static struct grid *make(uint64_t one_of)
{
	static char m[] = "m", n[] = "n", gemm[] = "gemm";
	struct grid *g = calloc(1, sizeof *g);
	ck_assert_ptr_nonnull(g);
	for (unsigned i = 0; i < SIDE; i++) {
		snprintf(g->text[i], sizeof g->text[i], "%u", i + 1);
		g->values[i] = g->text[i];
	}
	g->space = (struct sweep_space){ .kind = SWEEP_KERNEL, .subject = gemm, .naxes = 2, .points = POINTS, .count = POINTS };
	g->space.axes[0] = (struct sweep_axis){ .name = m, .nkeys = 1, .keys = { m }, .count = SIDE, .values = g->values };
	g->space.axes[1] = (struct sweep_axis){ .name = n, .nkeys = 1, .keys = { n }, .count = SIDE, .values = g->values };
	g->rows = (struct sweep_rows){ .space = &g->space, .names = { "cycles", "sram.peak_bytes", "energy.total_uj" }, .nnames = 3,
				       .n = POINTS };
	g->rows.row = calloc(POINTS, sizeof *g->rows.row);
	g->rows.figures = calloc((size_t)POINTS * 3, sizeof *g->rows.figures);
	g->rows.words = calloc((size_t)POINTS * 3, sizeof *g->rows.words);
	uint64_t random = one_of;
	for (uint64_t p = 0; p < POINTS; p++) {
		bool run = p / SIDE % one_of == 0;
		g->rows.row[p] = (struct sweep_row){ .point = p, .at = (uint32_t)g->rows.nfigures,
						     .status = run ? SWEEP_RUN : SWEEP_NOT_LEGAL };
		g->rows.count[g->rows.row[p].status]++;
		for (unsigned f = 0; run && f < 3; f++)
			g->rows.figures[g->rows.nfigures * 3 + f] = (double)(1 + npu_random_next(&random) % 100000);
		g->rows.nfigures += run;
	}
	return g;
}

static char *page_of(struct grid *g)
{
	struct npu_error err = { 0 };
	const char *const none[] = { NULL };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	ck_assert_msg(sweep_page(&g->rows, ".", none, out, &err), "%s", err.text);
	fclose(out);
	return text;
}

static void drop(struct grid *g, char *page)
{
	free(g->rows.row);
	free(g->rows.figures);
	free(g->rows.words);
	free(g);
	free(page);
}

/* The points of a page, by number. */
static json_t *points_in(const char *page)
{
	const char *data = strstr(page, "id=\"data\"");
	ck_assert_ptr_nonnull(data);
	data = strchr(data, '>') + 1;
	char *text = strndup(data, (size_t)(strstr(data, "</script>") - data));
	json_t *all = json_loads(text, 0, NULL), *points = json_object();
	ck_assert_msg(all != NULL, "no JSON: %.80s", text);
	size_t i;
	json_t *p;
	json_array_foreach(json_object_get(all, "points"), i, p)
	{
		char number[24];
		snprintf(number, sizeof number, "%lld", (long long)json_integer_value(json_object_get(p, "n")));
		ck_assert_msg(!json_object_get(points, number), "point %s is there twice", number);
		json_object_set(points, number, p);
	}
	json_decref(all);
	free(text);
	return points;
}

static bool holds(const json_t *points, uint64_t point)
{
	char number[24];
	snprintf(number, sizeof number, "%llu", (unsigned long long)point);
	return json_object_get(points, number) != NULL;
}

START_TEST(every_point_that_was_run_is_in_the_page_however_many_are_not_legal)
{
	struct grid *g = make(20);
	char *page = page_of(g);
	json_t *points = points_in(page);
	ck_assert_uint_eq(json_object_size(points), POINTS / 20);
	for (uint64_t p = 0; p < POINTS; p++)
		ck_assert_msg(holds(points, p) == (g->rows.row[p].status == SWEEP_RUN), "point %d", (int)p);
	ck_assert_ptr_nonnull(strstr(page, "<p id=\"counts\">4,500 run, 85,500 not legal, 0 failed.</p>"));
	json_decref(points);
	drop(g, page);
}
END_TEST

START_TEST(of_too_many_points_the_page_holds_the_best_and_the_fronts_and_says_what_it_left_out)
{
	struct grid *g = make(2);
	char *page = page_of(g), said[160];
	json_t *points = points_in(page);
	size_t n = json_object_size(points);
	ck_assert_msg(n >= SHOWN && n < SHOWN + 200, "%zu points", n);
	snprintf(said, sizeof said, "45,000 run, 45,000 not legal, 0 failed. Shown are 20,%03zu of those that were run: ", n - SHOWN);
	ck_assert_msg(strstr(page, said) != NULL, "it does not say %s", said);
	ck_assert(holds(points, sweep_best(&g->rows, 0, NULL, NULL)->point));
	unsigned front = 0, left_out = 0;
	for (unsigned f = 1; f < 3; f++)
		for (uint64_t i = 0; i < POINTS; i++) {
			/* What is on a front: of those with fewer cycles, none has less of the other figure. The least cycles of all
			 * are rare enough to look at these alone. */
			double cycles = sweep_rows_figure(&g->rows, &g->rows.row[i], 0), other = sweep_rows_figure(&g->rows, &g->rows.row[i], f);
			bool beaten = !(cycles < 200) || !(other > 0);
			for (uint64_t j = 0; !beaten && j < POINTS; j++) {
				double c = sweep_rows_figure(&g->rows, &g->rows.row[j], 0), o = sweep_rows_figure(&g->rows, &g->rows.row[j], f);
				beaten = (c < cycles && o <= other) || (c <= cycles && o < other) || (c <= cycles && o <= other && j < i);
			}
			front += !beaten;
			ck_assert_msg(beaten || holds(points, i), "point %d is on a front", (int)i);
		}
	ck_assert_uint_gt(front, 4);
	/* No value of an axis is left out. */
	for (unsigned value = 0; value < SIDE; value++) {
		unsigned there = 0;
		for (unsigned row = 0; row < SIDE; row += 2)
			there += holds(points, (uint64_t)row * SIDE + value);
		left_out += there == 0;
	}
	ck_assert_uint_eq(left_out, 0);
	json_decref(points);
	drop(g, page);
}
END_TEST

static Suite *page_suite(void)
{
	Suite *s = suite_create("sweep_page");
	TCase *t = tcase_create("page");
	tcase_add_test(t, every_point_that_was_run_is_in_the_page_however_many_are_not_legal);
	tcase_add_test(t, of_too_many_points_the_page_holds_the_best_and_the_fronts_and_says_what_it_left_out);
	suite_add_tcase(s, t);
	return s;
}

int main(void) { return npu_suite_run(page_suite()); }
