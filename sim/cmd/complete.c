/* SPDX-License-Identifier: Apache-2.0 */
/* npusim complete: what the scripts of npusim completion ask. */
#include "sim/cli.h"

#include <limits.h>

static int run(struct cli *cli)
{
	cli_complete(cli->words, cli->nwords, stdout);
	return 0;
}

const struct cli_command cmd_complete = {
	.name = "complete",
	.synopsis = "-- [WORD...]",
	.summary = "print what may be typed next",
	.max_words = UINT_MAX,
	.hidden = true,
	.run = run,
};
