/* SPDX-License-Identifier: Apache-2.0 */
/* The line that a terminal sees during a long run. */
#include "sim/progress.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

struct heard {
	unsigned insns, spans;
};

static void hear_insn(void *ctx, const struct probe_insn *insn)
{
	(void)insn;
	((struct heard *)ctx)->insns++;
}

static void hear_span(void *ctx, const struct probe_span *span)
{
	(void)span;
	((struct heard *)ctx)->spans++;
}

/* Two of 1,500 instructions end, the second in the queue first; what was written. */
static char *told(double after, double every, struct heard *heard)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	struct probe inner = { .ctx = heard, .insn = hear_insn, .span = hear_span };
	struct progress p;
	progress_begin(&p, f, &inner, 1500, after, every);
	struct probe probe = progress_probe(&p);
	ck_assert(probe.sequencer == NULL && probe.transfer == NULL); /* nobody wants them */
	probe.insn(probe.ctx, &(struct probe_insn){ .end = 12345 });
	probe.insn(probe.ctx, &(struct probe_insn){ .end = 12000 });
	probe.span(probe.ctx, &(struct probe_span){ .to = 1 });
	progress_end(&p);
	fclose(f);
	return text;
}

START_TEST(a_long_run_tells_how_far_it_is_and_clears_the_line)
{
	struct heard heard = { 0 };
	char *text = told(0, 0, &heard);
	ck_assert_str_eq(text, "\r\033[K12,345 cycles, 1 of 1,500 instructions"
			       "\r\033[K12,345 cycles, 2 of 1,500 instructions\r\033[K");
	ck_assert_uint_eq(heard.insns, 2);
	ck_assert_uint_eq(heard.spans, 1);
	free(text);
}
END_TEST

START_TEST(lines_come_no_more_often_than_asked_for)
{
	struct heard heard = { 0 };
	char *text = told(0, 1e6, &heard);
	ck_assert_str_eq(text, "\r\033[K12,345 cycles, 1 of 1,500 instructions\r\033[K");
	free(text);
}
END_TEST

START_TEST(a_short_run_writes_nothing)
{
	struct heard heard = { 0 };
	char *text = told(1e6, 0, &heard);
	ck_assert_str_eq(text, "");
	ck_assert_uint_eq(heard.insns, 2);
	free(text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("progress");
	TCase *t = tcase_create("progress");
	tcase_add_test(t, a_long_run_tells_how_far_it_is_and_clears_the_line);
	tcase_add_test(t, lines_come_no_more_often_than_asked_for);
	tcase_add_test(t, a_short_run_writes_nothing);
	suite_add_tcase(s, t);
	return npu_suite_run(s);
}
