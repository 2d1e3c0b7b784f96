/* SPDX-License-Identifier: Apache-2.0 */
/* --help and man pages, both from the command tables. */
#include "sim/cli.h"

#include <ctype.h>
#include <string.h>

enum { HELP_WIDTH = 100, MARGIN = 2 };

/* Words of `text` from column `at` on, wrapped with an indent; ends the line. */
static void wrap(FILE *out, const char *text, unsigned at, unsigned indent)
{
	bool first = true;
	while (*text) {
		unsigned length = (unsigned)strcspn(text, " ");
		if (!first && at + 1 + length > HELP_WIDTH) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
			first = true;
		}
		fprintf(out, "%s%.*s", first ? "" : " ", (int)length, text);
		at += length + !first;
		first = false;
		text += length;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

/* Paragraphs, one a line of `text`; a line that begins with a space is printed as it is. */
static void paragraphs(FILE *out, const char *text)
{
	while (*text) {
		char line[2048];
		size_t length = strcspn(text, "\n");
		snprintf(line, sizeof line, "%.*s", (int)length, text);
		if (*line == ' ' || !*line)
			fprintf(out, "%s\n", line);
		else
			wrap(out, line, 0, 0);
		text += length + (text[length] == '\n');
	}
}

static unsigned option_text(const struct cli_option *option, char out[96])
{
	char letter[8] = "";
	if (option->letter)
		snprintf(letter, sizeof letter, "-%c, ", option->letter);
	return (unsigned)snprintf(out, 96, "%s--%s%s%s", letter, option->name, option->argument ? " " : "",
				  option->argument ? option->argument : "");
}

static void print_options(const struct cli_command *command, FILE *out)
{
	char text[96];
	unsigned width = 0;
	const struct cli_option *option;
	for (unsigned n = 0; (option = cli_command_option(command, n)); n++) {
		unsigned length = option_text(option, text);
		width = length > width ? length : width;
	}
	fprintf(out, "\noptions:\n");
	for (unsigned n = 0; (option = cli_command_option(command, n)); n++) {
		option_text(option, text);
		fprintf(out, "%*s%-*s  ", MARGIN, "", (int)width, text);
		wrap(out, option->help, MARGIN + width + 2, MARGIN + width + 2);
	}
}

static void print_program_help(FILE *out)
{
	fputs("npusim: a cycle-approximate simulator of an NPU for on-device Transformers\n\n"
	      "usage: npusim COMMAND ...\n\ncommands:\n",
	      out);
	for (unsigned i = 0; cli_commands[i]; i++)
		if (!cli_commands[i]->hidden)
			fprintf(out, "  %-10s  %s\n", cli_commands[i]->name, cli_commands[i]->summary);
	fputs("\nnpusim COMMAND --help tells more; npusim --version prints the version.\n\n"
	      "A key with a dot is hardware (sram.size=2MiB), one without is a kernel parameter (tile_q=128).\n"
	      "exit status: 0 clean, 1 an error found in the work, 2 a wrong command line, input or output\n",
	      out);
}

void cli_print_help(const struct cli_command *command, FILE *out)
{
	if (!command) {
		print_program_help(out);
		return;
	}
	fprintf(out, "usage: npusim %s %s [options]\n\n", command->name, command->synopsis);
	char summary[256];
	snprintf(summary, sizeof summary, "%c%s.", toupper((unsigned char)command->summary[0]), command->summary + 1);
	wrap(out, summary, 0, 0);
	if (command->text) {
		fputc('\n', out);
		paragraphs(out, command->text);
	}
	print_options(command, out);
}

/* Text for roff: a backslash, a hyphen that is typed, a dot or quote at the start of a line. */
static void roff(FILE *out, const char *text)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", out);
	for (; *text; text++)
		if (*text == '\\')
			fputs("\\e", out);
		else if (*text == '-')
			fputs("\\-", out);
		else
			fputc(*text, out);
}

static void roff_paragraphs(FILE *out, const char *text)
{
	bool literal = false;
	while (*text) {
		char line[2048];
		size_t length = strcspn(text, "\n");
		snprintf(line, sizeof line, "%.*s", (int)length, text);
		bool is_literal = *line == ' ';
		if (is_literal != literal)
			fputs(is_literal ? ".PP\n.nf\n" : ".fi\n", out);
		if (!is_literal && *line)
			fputs(".PP\n", out);
		literal = is_literal;
		if (*line) {
			roff(out, line);
			fputc('\n', out);
		}
		text += length + (text[length] == '\n');
	}
	if (literal)
		fputs(".fi\n", out);
}

static void man_head(FILE *out, const char *title, const char *summary)
{
	fprintf(out, ".\\\" SPDX-License-Identifier: Apache-2.0\n.TH ");
	for (const char *c = title; *c; c++)
		fputc(toupper((unsigned char)*c), out);
	fputs(" 1 \"\" npusim \"User Commands\"\n.SH NAME\n", out);
	roff(out, title);
	fputs(" \\- ", out);
	roff(out, summary);
	fputs("\n.SH SYNOPSIS\n", out);
}

static void man_options(const struct cli_command *command, FILE *out)
{
	char text[96];
	const struct cli_option *option;
	fputs(".SH OPTIONS\n", out);
	for (unsigned n = 0; (option = cli_command_option(command, n)); n++) {
		option_text(option, text);
		fputs(".TP\n.B ", out);
		roff(out, text);
		fputc('\n', out);
		roff(out, option->help);
		fputc('\n', out);
	}
}

static void man_tail(FILE *out)
{
	fputs(".SH EXIT STATUS\n.TP\n.B 0\nclean, warnings too\n.TP\n.B 1\n"
	      "an error found in the work: a race, a deadlock, an address out of bounds, a program that does not fit\n"
	      ".TP\n.B 2\na wrong command line, an illegal value, unreadable input or unwritable output\n",
	      out);
}

static void man_program(FILE *out)
{
	man_head(out, "npusim", "a cycle-approximate simulator of an NPU for on-device Transformers");
	fputs(".B npusim\n.I COMMAND\n.RI [ ARGUMENT ...]\n.SH DESCRIPTION\n"
	      "npusim runs hand\\-written Transformer kernels on a model of a systolic MAC array, a vector engine, an\n"
	      "on\\-chip SRAM, a DMA engine and external DRAM, and tells how busy each engine was, what each stalled cycle\n"
	      "waited for and how much data movement was hidden under compute.\n.PP\n"
	      "A key with a dot is hardware (sram.size=2MiB), one without is a kernel parameter (tile_q=128). A preset\n"
	      "applies before a YAML file, that before the command line, from left to right.\n.SH COMMANDS\n",
	      out);
	for (unsigned i = 0; cli_commands[i]; i++)
		if (!cli_commands[i]->hidden) {
			fprintf(out, ".TP\n.BR npusim\\-%s (1)\n", cli_commands[i]->name);
			roff(out, cli_commands[i]->summary);
			fputc('\n', out);
		}
	fputs(".SH ENVIRONMENT\n.TP\n.B NPUSIM_PRESETS\na folder of presets that is searched first; DRAM parts lie in\n"
	      "its folder dram\n.TP\n.B NO_COLOR\nset to anything: no colours\n",
	      out);
	man_tail(out);
}

void cli_print_man(const struct cli_command *command, FILE *out)
{
	char title[64];
	if (!command) {
		man_program(out);
		return;
	}
	snprintf(title, sizeof title, "npusim-%s", command->name);
	man_head(out, title, command->summary);
	fprintf(out, ".B npusim %s\n", command->name);
	roff(out, command->synopsis);
	fputs("\n[options]\n", out);
	if (command->text) {
		fputs(".SH DESCRIPTION\n", out);
		roff_paragraphs(out, command->text);
	}
	man_options(command, out);
	man_tail(out);
	fputs(".SH SEE ALSO\n.BR npusim (1)\n", out);
}
