/* SPDX-License-Identifier: Apache-2.0 */
/* npusim schema: what the JSON files hold, for programs that read them. */
#include "sim/schema.h"
#include "sim/cli.h"

#include <string.h>

static int run(struct cli *cli)
{
	struct npu_error err = { 0 };
	if (strcmp(cli->words[0], "report") != 0)
		return cli_usage("schema %.40s: report would be right", cli->words[0]);
	if (cli_value(cli, "markdown")) {
		/* A stream that failed is told at the end of the program. */
		report_schema_markdown(stdout);
		return 0;
	}
	return report_schema(stdout, &err) || ferror(stdout) ? 0 : cli_fail(&err);
}

static const struct cli_option options[] = {
	{ "markdown", 0, NULL, "as tables for people" },
	{ 0 },
};

const struct cli_command cmd_schema = {
	.name = "schema",
	.synopsis = "report",
	.summary = "print the JSON Schema of a report",
	.text = "Names may be added to npusim.report/1, never changed; units are in \"unit\".\n",
	.options = options,
	.min_words = 1,
	.max_words = 1,
	.run = run,
};
