/* SPDX-License-Identifier: Apache-2.0 */
/* npusim emit: the program of a kernel, as text or binary. */
#include "sim/cli_work.h"
#include "sim/cmd/emit_macro.h"
#include "sim/cmd/program_output.h"

#include <stdlib.h>
#include <string.h>

enum { FLAT, MACRO, STYLES };
static const char *const styles[STYLES] = { [FLAT] = "flat", [MACRO] = "macro" };

static bool emit_source(const struct work *work, const char *path, struct npu_error *err)
{
	if (program_form(path, PROGRAM_TEXT) == PROGRAM_BINARY)
		return npu_fail(err, NPU_ERR_USAGE, "--style=macro writes text, and %s would be binary", path);
	struct npu_capacity capacity = hw_capacity(&work->config.hw);
	char *text = emit_macro(work->kernel, &work->args, work->program, &capacity, err);
	bool ok = text && write_file(path, text, strlen(text), err);
	free(text);
	return ok;
}

static bool emit(const struct cli *cli, const struct work *work, struct npu_error *err)
{
	const char *path = cli_value(cli, "output") ? cli_value(cli, "output") : "-";
	const char *style = cli_value(cli, "style") ? cli_value(cli, "style") : styles[FLAT];
	if (strcmp(style, styles[MACRO]) == 0)
		return emit_source(work, path, err);
	if (strcmp(style, styles[FLAT]) != 0)
		return npu_fail(err, NPU_ERR_USAGE, "--style %.40s: flat or macro would be right", style);
	return program_output(work->program, path, program_form(path, PROGRAM_TEXT), err);
}

static int run(struct cli *cli)
{
	struct work work;
	struct npu_error err = { 0 };
	int status = 0;
	if (!work_config(&work, cli, &err) || !kernel_find(cli->words[0], &err) ||
	    !work_program(&work, cli, cli->words[0], &err) || !emit(cli, &work, &err))
		status = cli_fail(&err);
	work_fini(&work);
	return status;
}

static void values(const char *option, struct cli_words *words)
{
	for (unsigned i = 0; strcmp(option, "style") == 0 && i < STYLES; i++)
		cli_word(words, styles[i], NULL);
}

static const struct cli_option options[] = {
	{ "output", 'o', "FILE", "where to: FILE.npub is binary, anything else text; - is stdout, the default" },
	{ "style", 0, "STYLE", "flat: every instruction (the default); macro: the hand-written source, where there is one" },
	{ 0 },
};

const struct cli_command cmd_emit = {
	.name = "emit",
	.synopsis = "KERNEL|./PLUGIN.so [key=value...]",
	.summary = "write the program of a kernel",
	.text = "The program depends on the hardware, which chooses tiles and places buffers. With --style=macro it is the "
		"same kernel as a person wrote it, with loops and named tiles, a good start for one's own; its parameters are "
		"those of the command line.\n"
		"\n"
		"  npusim emit gemm m=256 n=256 k=256 -o gemm.npu\n"
		"  npusim emit qk_tiled seq=512 --style=macro -o mine.npu\n",
	.options = options,
	.min_words = 1,
	.max_words = 1,
	.takes_hardware = true,
	.takes_parameters = true,
	.takes_plugins = true,
	.run = run,
	.values = values,
};
