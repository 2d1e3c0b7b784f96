/* SPDX-License-Identifier: Apache-2.0 */
/* npusim asm: text to binary. */
#include "sim/cli_work.h"
#include "sim/cmd/program_output.h"
#include "sim/cmd/warnings.h"

static int run(struct cli *cli)
{
	struct work work;
	struct npu_error err = { 0 };
	const char *path = cli_value(cli, "output") ? cli_value(cli, "output") : "-";
	int status = 0;
	unsigned warnings = 0;
	bool ok = work_config(&work, cli, &err) && work_file(&work, cli, cli->words[0], &err) &&
		  warn_of_semaphores(&work, cli->words[0], &warnings, &err);
	if (ok)
		warn_of_files(&work, &warnings);
	if (ok && warnings && cli_value(cli, "werror"))
		status = 1;
	else if (!ok || !program_output(work.program, path, program_form(path, PROGRAM_BINARY), &err))
		status = cli_fail(&err);
	work_fini(&work);
	return status;
}

static const struct cli_option options[] = {
	{ "output", 'o', "FILE", "where to: FILE.npu is text, anything else binary; - is stdout, the default" },
	{ "werror", 0, NULL, "write nothing, and exit with status 1, when there are warnings" },
	MACRO_INCLUDE_OPTION,
	{ 0 },
};

const struct cli_command cmd_asm = {
	.name = "asm",
	.synopsis = "FILE.npu|- [key=value...]",
	.summary = "assemble a program into its binary form",
	.text = "Buffers are placed in the memories of --hw; npu(5) is the language, `npusim isa-reference` prints its instructions. Errors carry file, line, column, a caret, "
		"and what was being expanded; a semaphore that nobody waits for or nobody posts is a warning, and so is a `file=` of an input, whose bytes stay where they are. FILE.npu as the output is flat text: every loop unrolled, every address written "
		"out.\n"
		"\n"
		"  npusim asm qk.npu seq=512 -o qk.npub\n",
	.options = options,
	.min_words = 1,
	.max_words = 1,
	.takes_hardware = true,
	.takes_parameters = true,
	.run = run,
};
