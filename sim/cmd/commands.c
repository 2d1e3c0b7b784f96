/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands. */
#include "sim/cli.h"

#define COMMAND(name) extern const struct cli_command cmd_##name;
#include "sim/cmd/commands.def"

const struct cli_command *const cli_commands[] = {
#define COMMAND(name) &cmd_##name,
#include "sim/cmd/commands.def"
	NULL,
};
