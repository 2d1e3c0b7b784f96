/* SPDX-License-Identifier: Apache-2.0 */
/* How long the checker takes, and how much memory: kernels of about 100,000 instructions, and programs made to be hard
 * on it. Usage: check_bench [name]. Each case runs in a process of its own, so that its memory is its own. */
#include "isa/check.h"
#include "tests/support/kernel_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { INSNS = 100000 };

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static struct npu_program *finish(struct npu_assembly *assembly)
{
	struct npu_error err = { 0 };
	struct npu_program *p = npu_assembly_finish(assembly, &err);
	if (!p)
		fprintf(stderr, "%s\n", err.text);
	return p;
}

static struct npu_program *kernel(const char *name, const char *assignments)
{
	const struct npu_kernel *k = npu_kernel_find(name);
	struct npu_args args;
	struct npu_error err = { 0 };
	char words[300];
	npu_args_init(k, &args);
	snprintf(words, sizeof words, "%s", assignments);
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
		if (!npu_args_set(k, &args, word, &err))
			fprintf(stderr, "%s\n", err.text);
	struct npu_program *p = npu_kernel_build(k, preset_capacity("edge-1mb"), &args, &err);
	if (!p)
		fprintf(stderr, "%s\n", err.text);
	return p;
}

static struct npu_insn dma(enum npu_op op, uint32_t local, uint64_t dram, uint32_t rows, uint32_t cols, uint32_t stride)
{
	struct npu_insn insn = npu_insn_initial(op);
	insn.dma.local = local;
	insn.dma.dram = dram;
	insn.dma.rows = rows;
	insn.dma.cols = cols;
	insn.dma.dram_stride = stride;
	return insn;
}

static struct npu_program *flash(void)
{
	return kernel("flash_attention", "seq=1024 heads=8 head_dim=64 tile_q=32 tile_kv=32");
}
static struct npu_program *spilled(void)
{
	return kernel("attention", "seq=4096 heads=4 tile_q=64 tile_kv=64");
}
static struct npu_program *scores(void)
{
	return kernel("qk_tiled", "seq=8192 heads=4 head_dim=64 tile_q=64 tile_kv=64");
}
static struct npu_program *paged(void)
{
	return kernel("kv_fetch_paged", "seq=131072 kv_heads=8 head_dim=64 page=16 tile_kv=32");
}

/* Two engines that never wait for each other, in stripes that alternate: every window is the whole program. */
static struct npu_program *stripes(void)
{
	struct npu_assembly *assembly = npu_assembly_new("stripes");
	for (uint32_t i = 0; i < INSNS; i++) {
		struct npu_insn insn =
		    dma(i % 2 ? NPU_OP_STORE : NPU_OP_LOAD, i % 2 ? 64 : 0, (uint64_t)(i * 37 % 8192) * 64, 1, 32, 0);
		npu_assembly_insn(assembly, &insn);
	}
	return finish(assembly);
}

/* Tiles of one matrix loaded by columns and stored by other columns: extents overlap, rows do not. */
static struct npu_program *columns(void)
{
	struct npu_assembly *assembly = npu_assembly_new("columns");
	for (uint32_t i = 0; i < INSNS; i++) {
		struct npu_insn insn =
		    dma(i % 2 ? NPU_OP_STORE : NPU_OP_LOAD, i % 2 ? 1 << 16 : 0, (uint64_t)(i % 64) * 64, 64, 32, 4096);
		npu_assembly_insn(assembly, &insn);
	}
	return finish(assembly);
}

/* Everything races with everything. */
static struct npu_program *wild(void)
{
	struct npu_assembly *assembly = npu_assembly_new("wild");
	for (uint32_t i = 0; i < INSNS; i++) {
		struct npu_insn insn = dma(i % 2 ? NPU_OP_STORE : NPU_OP_LOAD, 0, 0, 64, 32, 0);
		npu_assembly_place(assembly, "wild.npu", 1 + i % 2);
		npu_assembly_insn(assembly, &insn);
	}
	return finish(assembly);
}

static const struct {
	const char *name;
	struct npu_program *(*make)(void);
} cases[] = {
	{ "flash_attention", flash }, { "attention", spilled }, { "qk_tiled", scores }, { "kv_fetch_paged", paged },
	{ "stripes", stripes },       { "columns", columns },   { "wild", wild },
};

static int run(unsigned n)
{
	struct npu_error err = { 0 };
	struct npu_program *p = cases[n].make();
	struct rusage before, after;
	if (!p)
		return 1;
	getrusage(RUSAGE_SELF, &before);
	double begin = seconds();
	struct npu_check_report *report =
	    npu_check(p, &(struct npu_check_options){ .capacity = preset_capacity("edge-1mb") }, &err);
	double end = seconds();
	getrusage(RUSAGE_SELF, &after);
	if (!report) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	printf("%-16s %8u instructions %7.3f s %8.0f insn/s %5ld MiB more  %llu errors, %llu race pairs%s\n",
	       cases[n].name, p->ninsns, end - begin, p->ninsns / (end - begin),
	       (after.ru_maxrss - before.ru_maxrss) / 1024, (unsigned long long)report->errors,
	       (unsigned long long)report->races, report->races_cut ? " and more" : "");
	npu_check_free(report);
	npu_program_free(p);
	return 0;
}

int main(int argc, char **argv)
{
	int status = 0;
	for (unsigned n = 0; n < sizeof cases / sizeof cases[0]; n++) {
		if (argc > 1 && strcmp(argv[1], cases[n].name) != 0)
			continue;
		fflush(stdout);
		pid_t child = fork();
		if (child == 0) {
			int failed = run(n);
			fflush(stdout);
			_exit(failed);
		}
		int result = 1;
		if (child > 0)
			waitpid(child, &result, 0);
		status |= result != 0;
	}
	return status;
}
