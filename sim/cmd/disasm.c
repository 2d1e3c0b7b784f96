/* SPDX-License-Identifier: Apache-2.0 */
/* npusim disasm: a program as flat text. */
#include "sim/cli_work.h"
#include "sim/cmd/annotate.h"
#include "sim/cmd/program_output.h"

static int run(struct cli *cli)
{
	struct work work;
	struct npu_error err = { 0 };
	const char *path = cli_value(cli, "output") ? cli_value(cli, "output") : "-";
	const char *report = cli_value(cli, "annotate");
	int status = 0;
	if (!work_config(&work, cli, &err) || !work_file(&work, cli, cli->words[0], &err) ||
	    !(report ? annotate(work.program, report, path, &err) : program_output(work.program, path, PROGRAM_TEXT, &err)))
		status = cli_fail(&err);
	work_fini(&work);
	return status;
}

static const struct cli_option options[] = {
	{ "output", 'o', "FILE.npu", "where to; - is stdout, the default" },
	{ "annotate", 0, "R.json", "put the cycles of a run beside each instruction: of run --report R.json --instructions" },
	MACRO_INCLUDE_OPTION,
	{ 0 },
};

const struct cli_command cmd_disasm = {
	.name = "disasm",
	.synopsis = "FILE.npub|FILE.npu|- [key=value...]",
	.summary = "print a program as flat text",
	.text = "Flat text assembles to the same bytes again. With --annotate every line has, in front of it, when its "
		"instruction started and ended, how many cycles of its engine it was busy, and what the engine waited for on "
		"its account.\n"
		"\n"
		"  npusim emit gemm -o gemm.npub && npusim disasm gemm.npub\n"
		"  npusim run gemm.npub --report r.json --instructions && npusim disasm gemm.npub --annotate r.json\n",
	.options = options,
	.min_words = 1,
	.max_words = 1,
	.takes_hardware = true,
	.takes_parameters = true,
	.run = run,
};
