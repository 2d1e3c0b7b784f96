/* SPDX-License-Identifier: Apache-2.0 */
/* npusim disasm: a program as flat text. */
#include "sim/cli_work.h"
#include "sim/cmd/program_output.h"

static int run(struct cli *cli)
{
	struct npu_error err = { 0 };
	const char *path = cli_value(cli, "output") ? cli_value(cli, "output") : "-";
	struct npu_macro *file = macro_load(cli->words[0], &(struct macro_load){ 0 }, &err);
	int status = 0;
	if (!file || !program_output(file->program, path, PROGRAM_TEXT, &err))
		status = cli_fail(&err);
	npu_macro_free(file);
	return status;
}

static const struct cli_option options[] = {
	{ "output", 'o', "FILE.npu", "where to; - is stdout, the default" },
	{ 0 },
};

const struct cli_command cmd_disasm = {
	.name = "disasm",
	.synopsis = "FILE.npub|-",
	.summary = "print a program as flat text",
	.text = "Flat text assembles to the same bytes again.\n"
		"\n"
		"  npusim emit gemm -o gemm.npub && npusim disasm gemm.npub\n",
	.options = options,
	.min_words = 1,
	.max_words = 1,
	.run = run,
};
