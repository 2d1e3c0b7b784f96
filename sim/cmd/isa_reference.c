/* SPDX-License-Identifier: Apache-2.0 */
/* npusim isa-reference: docs/isa.md, which a test keeps fresh. */
#include "isa/reference.h"
#include "sim/cli.h"

#include <stdlib.h>

static int run(struct cli *cli)
{
	(void)cli;
	char *page = npu_isa_reference();
	if (!page)
		return cli_usage("out of memory");
	fputs(page, stdout);
	free(page);
	return 0;
}

const struct cli_command cmd_isa_reference = {
	.name = "isa-reference",
	.synopsis = "",
	.summary = "print the reference of the instruction set",
	.hidden = true,
	.run = run,
};
