/* SPDX-License-Identifier: Apache-2.0 */
/* npusim emit: the program of a kernel, as text or binary. */
#include "sim/cli_work.h"
#include "sim/cmd/program_output.h"

#include <string.h>

static int run(struct cli *cli)
{
	struct work work;
	struct npu_error err = { 0 };
	int status = 0;
	const char *path = cli_value(cli, "output") ? cli_value(cli, "output") : "-";
	if (!work_config(&work, cli, &err) || !kernel_find(cli->words[0], &err) ||
	    !work_program(&work, cli, cli->words[0], &err) ||
	    !program_output(work.program, path, program_form(path, PROGRAM_TEXT), &err))
		status = cli_fail(&err);
	work_fini(&work);
	return status;
}

static const struct cli_option options[] = {
	{ "output", 'o', "FILE", "where to: FILE.npub is binary, anything else text; - is stdout, the default" },
	{ 0 },
};

const struct cli_command cmd_emit = {
	.name = "emit",
	.synopsis = "KERNEL|./PLUGIN.so [key=value...]",
	.summary = "write the program of a kernel",
	.text = "The program depends on the hardware, which chooses tiles and places buffers.\n"
		"\n"
		"  npusim emit gemm m=256 n=256 k=256 -o gemm.npu\n",
	.options = options,
	.min_words = 1,
	.max_words = 1,
	.takes_hardware = true,
	.takes_parameters = true,
	.takes_plugins = true,
	.run = run,
};
