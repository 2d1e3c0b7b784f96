/* SPDX-License-Identifier: Apache-2.0 */
/* Small reports: JSON through sim/output.h, lines on stdout. */
#include "sim/cmd/report_file.h"
#include "sim/output.h"
#include "sim/report_json.h"

#include <string.h>

json_t *report_begin(const char *schema, const char *command, const char *subject)
{
	json_t *report = json_pack("{s:s, s:s, s:{s:s}}", "schema", schema, "tool", "npusim " NPUSIM_VERSION, "command",
				   "subcommand", command);
	if (report && subject)
		json_object_set_new(json_object_get(report, "command"), "subject", report_json_text(subject));
	return report;
}

bool report_wants_lines(const struct cli *cli)
{
	const char *path = cli_value(cli, "report");
	return !path || strcmp(path, "-") != 0;
}

static bool write_report(const json_t *report, const char *path, struct npu_error *err)
{
	struct output *output = output_open(path, err);
	if (!output)
		return false;
	/* A failed write is told by the commit. */
	report_json_print(report, output_stream(output));
	return output_commit(output, err);
}

int report_finish(const struct cli *cli, json_t *report)
{
	struct npu_error err = { 0 };
	const char *path = cli_value(cli, "report");
	int status = 0;
	if (!report)
		return cli_usage("out of memory");
	if (path && !write_report(report, path, &err))
		status = cli_fail(&err);
	json_decref(report);
	return status;
}

void report_line(const char *name, const char *value, const char *remark)
{
	printf("%-12s  %14s%s%s\n", name, value, *remark ? "   " : "", remark);
}
