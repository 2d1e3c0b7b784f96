/* SPDX-License-Identifier: Apache-2.0 */
/* A program that writes the kernel beside it for a machine of its own choice: emit FILE.npub [key=value...] */
#include <npu.h>
#include <stdio.h>

/* The sizes of edge-1mb; npusim hw show prints those of other machines. */
static const struct npu_capacity capacity = {
	.limits = { .sram_bytes = 1 << 20, .accum_bytes = 256 << 10, .dram_bytes = (uint64_t)4 << 30 },
	.sram_groups = 4,
	.sram_word_bytes = 32,
	.accum_banks = 8,
	.array_rows = 32,
	.array_cols = 32,
	.vector_lanes = 32,
	.dram_granule = 32,
	.load_channels = 2,
	.store_channels = 1,
	.int8_ridge = 60,
};

static int fail(const struct npu_error *err)
{
	char text[4096];
	fprintf(stderr, "emit: %s\n", npu_error_print(err, text, sizeof text));
	return 1;
}

int main(int argc, char **argv)
{
	struct npu_error err = { 0 };
	struct npu_args args;
	char text[1024];
	if (argc < 2) {
		fprintf(stderr, "usage: emit FILE.npub [key=value...]\n");
		return 2;
	}
	npu_args_init(&npu_plugin, &args);
	for (int i = 2; i < argc; i++)
		if (!npu_args_set(&npu_plugin, &args, argv[i], &err))
			return fail(&err);
	struct npu_program *program = npu_kernel_build(&npu_plugin, &capacity, &args, &err);
	if (!program || !npu_program_write(program, argv[1], &err)) {
		npu_program_free(program);
		return fail(&err);
	}
	printf("%s %s: %u instructions, %llu bytes of SRAM, libnpu %s\n", npu_plugin.name,
	       npu_args_print(&npu_plugin, &args, text, sizeof text), npu_program_ninsns(program),
	       (unsigned long long)npu_program_needs(program).sram_bytes, npu_version());
	npu_program_free(program);
	return 0;
}
