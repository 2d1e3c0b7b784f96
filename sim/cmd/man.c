/* SPDX-License-Identifier: Apache-2.0 */
/* npusim man: the man pages of docs/man, which a test compares with this. */
#include "sim/cli.h"

static int run(struct cli *cli)
{
	const struct cli_command *command = NULL;
	if (cli->nwords && !(command = cli_command_find(cli->words[0])))
		return cli_usage("unknown command %.64s", cli->words[0]);
	cli_print_man(command, stdout);
	return 0;
}

const struct cli_command cmd_man = {
	.name = "man",
	.synopsis = "[COMMAND]",
	.summary = "print a man page",
	.max_words = 1,
	.hidden = true,
	.run = run,
};
