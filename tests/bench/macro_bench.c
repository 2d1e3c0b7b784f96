/* SPDX-License-Identifier: Apache-2.0 */
/* How long it takes to assemble a million instructions: a loop, macros in loops, and the same written out in flat text.
 * Usage: macro_bench [instructions]. */
#include "isa/macro.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct npu_capacity edge = { .limits = { 1 << 20, 256 << 10, (uint64_t)4 << 30 },
					  .sram_groups = 4,
					  .sram_word_bytes = 32,
					  .accum_banks = 8,
					  .array_rows = 32,
					  .array_cols = 32,
					  .vector_lanes = 32 };

static const char declarations[] = ".param n=1\n"
				   ".tensor K[1024, 128] fp16 in\n"
				   ".tensor S[1024, 1024] fp32 out\n"
				   ".sram q[128, 128] fp16\n"
				   ".sram k[2][128, 128] fp16\n"
				   ".acc s[2][128, 128] fp32\n"
				   ".sem k_full[2], k_free[2]=1, s_full[2], s_free[2]=1\n";

#define TILE(x, i)                                                                                                     \
	"  load   k[" x "], K[" i "%8*128:+128, :]    wait k_free[" x "]   post k_full[" x "]\n"                       \
	"  matmul s[" x "], q, k[" x "].T   wait k_full[" x "], s_free[" x "]   post k_free[" x "], s_full[" x "]\n"   \
	"  store  S[" i "/8%8*128:+128, " i "%8*128:+128], s[" x "]   wait s_full[" x "]   post s_free[" x "]\n"

static const char loop[] = ".for i in 0..n\n" TILE("i%2", "i") ".end\n";
static const char macros[] = ".macro tile i\n.let x = i%2\n" TILE("x", "i") ".end\n.for i in 0..n\ntile i\n.end\n";

/* Processor time: the best of a few is what the machine can do. */
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static struct npu_macro *assemble(const char *text, const char *param)
{
	struct npu_error err = { 0 };
	struct npu_macro_options options = { .capacity = &edge, .params = &param, .nparams = param != NULL };
	struct npu_macro *m = npu_macro_text(text, strlen(text), "bench.npu", &options, &err);
	if (!m)
		fprintf(stderr, "%u:%u: %s\n", err.line, err.column, err.text);
	return m;
}

static void measure(const char *name, const char *text, const char *param)
{
	double best = 1e9;
	uint32_t n = 0;
	for (int i = 0; i < 5; i++) {
		double begin = now();
		struct npu_macro *m = assemble(text, param);
		double seconds = now() - begin;
		if (!m)
			exit(1);
		n = m->program->ninsns;
		best = seconds < best ? seconds : best;
		npu_macro_free(m);
	}
	printf("%-8s %9u instructions  %.3f s  %.2f million/s\n", name, n, best, n / best * 1e-6);
}

int main(int argc, char **argv)
{
	char text[4096], param[32];
	long insns = argc > 1 ? strtol(argv[1], NULL, 10) : 1000000;
	snprintf(param, sizeof param, "n=%ld", insns / 3);
	snprintf(text, sizeof text, "%s%s", declarations, loop);
	measure("loop", text, param);
	struct npu_macro *m = assemble(text, param);
	char *flat = m ? npu_disasm_text(m->program) : NULL;
	npu_macro_free(m);
	snprintf(text, sizeof text, "%s%s", declarations, macros);
	measure("macros", text, param);
	if (!flat)
		return 1;
	measure("flat", flat, NULL);
	free(flat);
	return 0;
}
