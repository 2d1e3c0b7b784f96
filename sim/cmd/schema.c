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
	{ "model", model_schema, model_schema_markdown },
	{ "explain", explain_schema, explain_schema_markdown },
	{ "import", import_schema, import_schema_markdown },
};

static int run(struct cli *cli)
{
	struct npu_error err = { 0 };
	const struct schema *schema = NULL;
	for (unsigned i = 0; i < sizeof schemas / sizeof schemas[0]; i++)
		if (strcmp(cli->words[0], schemas[i].name) == 0)
			schema = &schemas[i];
	if (!schema)
		return cli_usage("schema %.40s: report, check, model, explain or import would be right", cli->words[0]);
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
	.synopsis = "report|check|model|explain|import",
	.summary = "print the JSON Schema of a report, of what check or explain finds, or of the report of a model or list",
	.text = "Names may be added to npusim.report/1, npusim.check/1, npusim.model/1, npusim.explain/1 and npusim.import/1, never changed; units are in \"unit\".\n",
	.options = options,
	.min_words = 1,
	.max_words = 1,
	.run = run,
};
