/* SPDX-License-Identifier: Apache-2.0 */
/* Random kernels on every preset, single and double: with the tiles that nobody named, a ping-pong is never slower than
 * one buffer by more than 2 % and the first loads, which nothing hides. NPUSIM names the program; CASES how many to
 * run, and then the table of those that gained least is worth reading. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/kernel.h"
#include "tests/support/kernel_cases.h"
#include "tests/support/suite.h"

enum { LONGEST = 600, REPORT_BYTES = 1 << 20, WORDS = 500 };

static int cases(void)
{
	return getenv("CASES") ? atoi(getenv("CASES")) : 60;
}

static uint64_t number(const char *report, const char *object, const char *key)
{
	char name[40];
	snprintf(name, sizeof name, "\"%s\": {", object);
	const char *at = object[0] ? strstr(report, name) : report;
	snprintf(name, sizeof name, "\"%s\":", key);
	at = at ? strstr(at, name) : NULL;
	ck_assert_msg(at != NULL, "no %s of %s", key, object);
	return strtoull(at + strlen(name), NULL, 10);
}

struct timing {
	uint64_t cycles, load_active;
};

static struct timing run(const char *words, const char *buffering)
{
	static char text[REPORT_BYTES];
	char command[WORDS + 300];
	snprintf(command, sizeof command, "%s run %s buffering=%s --report - 2>/dev/null | sed -n '/^{/,$p'",
		 getenv("NPUSIM"), words, buffering);
	FILE *f = popen(command, "r");
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
	text[n] = '\0';
	ck_assert_msg(f && pclose(f) == 0 && n > 0, "%s", command);
	return (struct timing){ number(text, "", "cycles"), number(text, "load", "active") };
}

/* Instructions of the load engine, with double buffers. */
static uint64_t loads_of(const struct npu_kernel *k, struct npu_args args, const struct npu_capacity *capacity)
{
	struct npu_error err = { 0 };
	args.value[npu_param_index(k, "buffering")] = 1;
	struct npu_program *p = npu_kernel_build(k, capacity, &args, &err);
	uint64_t loads = 0;
	ck_assert_msg(p != NULL, "%s", err.text);
	for (uint32_t i = 0; i < p->ninsns; i++)
		loads += npu_op_engine(p->insns[i].op) == NPU_ENGINE_LOAD;
	npu_program_free(p);
	return loads;
}

/* "name=value ..." of what a person would name: tiles and buffering are left open. */
static void write_words(const struct npu_kernel *k, const struct npu_args *args, const char *preset, char words[WORDS])
{
	int n = snprintf(words, WORDS, "%s --hw %s", k->name, preset);
	for (unsigned i = 0; i < k->nparams; i++) {
		const struct npu_param *p = &k->params[i];
		if (!args->named[i] || !npu_param_matters(k, args, i) || !strcmp(p->name, "buffering"))
			continue;
		if (p->type == NPU_PARAM_CHOICE)
			n += snprintf(words + n, (size_t)(WORDS - n), " %s=%s", p->name, p->choices[args->value[i]]);
		else
			n += snprintf(words + n, (size_t)(WORDS - n), " %s=%" PRId64, p->name, args->value[i]);
	}
}

START_TEST(a_ping_pong_is_not_slower_than_one_buffer)
{
	const struct npu_kernel *k = npu_kernels[_i];
	struct case_rng rng = { 23 };
	double sum = 0, worst = 0;
	unsigned n = 0;
	for (int i = 0; i < cases(); i++) {
		struct npu_args args;
		char words[WORDS];
		const struct named_capacity *preset = &preset_capacities[i % 4];
		random_args(k, &args, LONGEST, &rng);
		for (unsigned p = 0; p < k->nparams; p++)
			args.named[p] = args.named[p] && strncmp(k->params[p].name, "tile_", 5) != 0;
		write_words(k, &args, preset->name, words);
		struct timing one = run(words, "single"), two = run(words, "double");
		/* A tile is two loads at most. Without an element there is none, and no cycle. */
		uint64_t loads = loads_of(k, args, &preset->capacity), fill = loads ? 2 * two.load_active / loads : 0;
		double ratio = one.cycles ? (double)two.cycles / (double)one.cycles : 1;
		ck_assert_msg(two.cycles <= one.cycles + one.cycles / 50 + fill,
			      "%s: %" PRIu64 " cycles with double, %" PRIu64 " with single", words, two.cycles,
			      one.cycles);
		if (ratio > 1 && getenv("CASES"))
			printf("%.3f %s\n", ratio, words);
		sum += ratio;
		worst = ratio > worst ? ratio : worst;
		n++;
	}
	printf("%-16s %u cases, double takes %.2f of single in the mean, at most %.3f\n", k->name, n, sum / n, worst);
}
END_TEST

int main(void)
{
	int n = 0;
	if (!getenv("NPUSIM") || access(getenv("NPUSIM"), X_OK))
		return 77;
	while (npu_kernels[n])
		n++;
	Suite *s = suite_create("single and double buffers");
	TCase *t = tcase_create("random kernels");
	tcase_set_timeout(t, 1000);
	tcase_add_loop_test(t, a_ping_pong_is_not_slower_than_one_buffer, 0, n);
	suite_add_tcase(s, t);
	return npu_suite_run(s);
}
