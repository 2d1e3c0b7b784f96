/* SPDX-License-Identifier: Apache-2.0 */
/* npusim schema: what the JSON files hold, for programs that read them. */
#include "sim/schema.h"
#include "sim/cli.h"

static int run(struct cli *cli)
{
	struct npu_error err = { 0 };
	const char *name = cli->words[0];
	if (!schema_is(name))
		return cli_usage("schema %.40s: report, check, model, explain or import would be right", name);
	if (cli_value(cli, "markdown")) {
		/* A stream that failed is told at the end of the program. */
		schema_markdown(name, stdout);
		return 0;
	}
	return schema_write(name, stdout, &err) || ferror(stdout) ? 0 : cli_fail(&err);
}

static const struct cli_option options[] = {
	{ "markdown", 0, NULL, "as tables for people" },
	{ 0 },
};

const struct cli_command cmd_schema = {
	.name = "schema",
	.synopsis = "report|check|model|explain|import",
	.summary =
	    "print the JSON Schema of a report, of what check or explain finds, or of the report of a model or list",
	.text = "Names may be added to npusim.report/1, npusim.check/1, npusim.model/1, npusim.explain/1 and "
		"npusim.import/1, "
		"never changed; units are in \"unit\".\n",
	.options = options,
	.min_words = 1,
	.max_words = 1,
	.run = run,
};
