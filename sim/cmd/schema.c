/* SPDX-License-Identifier: Apache-2.0 */
/* npusim schema: what the JSON files hold, for programs that read them. */
#include "sim/schema.h"
#include "sim/cli.h"

#include <string.h>

static const struct schema {
	const char *name;
	bool (*print)(FILE *, struct npu_error *);
	bool (*markdown)(FILE *);
} schemas[] = {
	{ "report", report_schema, report_schema_markdown },
	{ "check", check_schema, check_schema_markdown },
};

static int run(struct cli *cli)
{
	struct npu_error err = { 0 };
	const struct schema *schema = strcmp(cli->words[0], "check") == 0 ? &schemas[1] : &schemas[0];
	if (strcmp(cli->words[0], schema->name) != 0)
		return cli_usage("schema %.40s: report or check would be right", cli->words[0]);
	if (cli_value(cli, "markdown")) {
		/* A stream that failed is told at the end of the program. */
		schema->markdown(stdout);
		return 0;
	}
	return schema->print(stdout, &err) || ferror(stdout) ? 0 : cli_fail(&err);
}

static const struct cli_option options[] = {
	{ "markdown", 0, NULL, "as tables for people" },
	{ 0 },
};

const struct cli_command cmd_schema = {
	.name = "schema",
	.synopsis = "report|check",
	.summary = "print the JSON Schema of a report, or of what check finds",
	.text = "Names may be added to npusim.report/1 and npusim.check/1, never changed; units are in \"unit\".\n",
	.options = options,
	.min_words = 1,
	.max_words = 1,
	.run = run,
};
