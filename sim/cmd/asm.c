/* SPDX-License-Identifier: Apache-2.0 */
/* npusim asm: text to binary. */
#include "sim/cli_work.h"
#include "sim/cmd/program_output.h"

static int run(struct cli *cli)
{
	struct npu_error err = { 0 };
	const char *path = cli_value(cli, "output") ? cli_value(cli, "output") : "-";
	struct npu_program *program = program_load(cli->words[0], &err);
	int status = 0;
	if (!program || !program_output(program, path, program_form(path, PROGRAM_BINARY), &err))
		status = cli_fail(&err);
	npu_program_free(program);
	return status;
}

static const struct cli_option options[] = {
	{ "output", 'o', "FILE", "where to: FILE.npu is text, anything else binary; - is stdout, the default" },
	{ 0 },
};

const struct cli_command cmd_asm = {
	.name = "asm",
	.synopsis = "FILE.npu|-",
	.summary = "assemble a program into its binary form",
	.text = "Errors carry file, line, column and a caret.\n"
		"\n"
		"  npusim asm qk.npu -o qk.npub\n",
	.options = options,
	.min_words = 1,
	.max_words = 1,
	.run = run,
};
