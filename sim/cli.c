/* SPDX-License-Identifier: Apache-2.0 */
/* From argv to a struct cli, and from a command's result to an exit status. */
#include "sim/cli.h"
#include "sim/config.h"
#include "sim/output.h"
#include "sim/plugin.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* What a shell reports for a program that SIGPIPE ended. */
enum { STATUS_BROKEN_PIPE = 128 + SIGPIPE };

static const struct cli_option hardware_options[] = {
	{ "hw", 0, "NAME|FILE.yaml", "hardware: a preset or a YAML file; edge-1mb when none is named" },
	{ "set", 0, "KEY=VALUE", "the same as KEY=VALUE without --set; may be repeated, left to right" },
};
static const struct cli_option plugin_options[] = {
	{ "plugin-timeout", 0, "SECONDS", "how long a call into a plug-in may take; 60 when not given, 0: for ever" },
	{ "plugin-memory", 0, "SIZE", "how much memory it may take; 4GiB when not given, 0: all" },
};
static const struct cli_option common_options[] = {
	{ "help", 'h', NULL, "this help" },
};
static const struct cli_option program_options[] = {
	{ "version", 0, NULL, "the version" },
};

const struct cli_option *cli_command_option(const struct cli_command *command, unsigned n)
{
	if (command && command->options)
		for (const struct cli_option *o = command->options; o->name; o++)
			if (n-- == 0)
				return o;
	if (command && command->takes_hardware)
		for (unsigned i = 0; i < sizeof hardware_options / sizeof *hardware_options; i++)
			if (n-- == 0)
				return &hardware_options[i];
	if (command && (command->takes_plugins || command->reads_plugins))
		for (unsigned i = 0; i < sizeof plugin_options / sizeof *plugin_options; i++)
			if (n-- == 0)
				return &plugin_options[i];
	if (!command)
		for (unsigned i = 0; i < sizeof program_options / sizeof *program_options; i++)
			if (n-- == 0)
				return &program_options[i];
	return n < sizeof common_options / sizeof *common_options ? &common_options[n] : NULL;
}

const struct cli_command *cli_command_find(const char *name)
{
	for (unsigned i = 0; cli_commands[i]; i++)
		if (strcmp(cli_commands[i]->name, name) == 0)
			return cli_commands[i];
	return NULL;
}

int cli_fail(const struct npu_error *err)
{
	char text[sizeof err->text + sizeof err->file + 32];
	fflush(stdout);
	npu_error_print(err, text, sizeof text);
	for (const char *line = text, *end; line; line = *end ? end + 1 : NULL) {
		end = line + strcspn(line, "\n");
		fprintf(stderr, "%s%.*s\n", line > text && *line == ' ' ? "" : "npusim: ", (int)(end - line), line);
	}
	return npu_error_exit_status(err->code);
}

int cli_usage(const char *format, ...)
{
	char text[1024];
	va_list args;
	struct npu_error err = { 0 };
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	npu_fail(&err, NPU_ERR_USAGE, "%s", text);
	return cli_fail(&err);
}

const char *cli_next(const struct cli *cli, const char *option, unsigned *at)
{
	while (*at < cli->ngiven) {
		const struct cli_given *given = &cli->given[(*at)++];
		if (strcmp(given->option->name, option) == 0)
			return given->value;
	}
	return NULL;
}

const char *cli_value(const struct cli *cli, const char *option)
{
	unsigned at = 0;
	const char *last = NULL;
	for (const char *value; (value = cli_next(cli, option, &at));)
		last = value;
	return last;
}

/* "key=value" with a key of letters, digits and _; whether it holds a dot goes into *dotted. */
static bool is_assignment(const char *word, bool *dotted)
{
	*dotted = false;
	if (!isalpha((unsigned char)*word) && *word != '_')
		return false;
	for (; isalnum((unsigned char)*word) || *word == '_' || *word == '.'; word++)
		*dotted = *dotted || *word == '.';
	return *word == '=';
}

static int take_assignment(struct cli *cli, const char *word, bool dotted)
{
	const struct cli_command *command = cli->command;
	if (dotted && !command->takes_hardware)
		return cli_usage("%s: npusim %s takes no hardware keys", word, command->name);
	if (!dotted && !command->takes_parameters)
		return cli_usage("%s: npusim %s takes no parameters%s", word, command->name,
				 command->takes_hardware ? "; a hardware key has a dot, as in sram.size=2MiB" : "");
	if (dotted)
		cli->sets[cli->nsets++] = word;
	else
		cli->parameters[cli->nparameters++] = word;
	return 0;
}

static int take_option(struct cli *cli, const struct cli_option *option, const char *value)
{
	bool dotted;
	if (strcmp(option->name, "hw") == 0)
		cli->hw = value;
	if (strcmp(option->name, "set") != 0)
		cli->given[cli->ngiven++] = (struct cli_given){ option, value };
	else if (!is_assignment(value, &dotted))
		return cli_usage("--set %s: KEY=VALUE would be right, as in sram.size=2MiB", value);
	else
		return take_assignment(cli, value, dotted);
	return 0;
}

static int unknown_option(const struct cli_command *command, const char *name)
{
	const char *names[64];
	unsigned n = 0;
	for (const struct cli_option *o; n < 64 && (o = cli_command_option(command, n));)
		names[n++] = o->name;
	const char *meant = npu_nearest(name, names, n);
	const char *command_name = command ? command->name : "", *space = command ? " " : "";
	if (meant)
		return cli_usage("unknown option --%s; did you mean --%s?", name, meant);
	return cli_usage("unknown option --%s; npusim%s%s --help lists the options", name, space, command_name);
}

/* argv[*i] is "--name", "--name=value": takes it, and the next one where that is its value. */
static int take_long(struct cli *cli, char **argv, int *i)
{
	char name[64];
	const char *equals = strchr(argv[*i], '=');
	size_t length = equals ? (size_t)(equals - argv[*i]) - 2 : strlen(argv[*i]) - 2;
	snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), argv[*i] + 2);
	const struct cli_option *option = NULL;
	for (unsigned n = 0; (option = cli_command_option(cli->command, n)); n++)
		if (strcmp(option->name, name) == 0)
			break;
	if (!option)
		return unknown_option(cli->command, name);
	if (!option->argument && equals)
		return cli_usage("--%s takes no value", name);
	if (!option->argument)
		return take_option(cli, option, "");
	if (equals)
		return take_option(cli, option, equals + 1);
	if (!argv[*i + 1])
		return cli_usage("--%s %s: the value is missing", name, option->argument);
	return take_option(cli, option, argv[++*i]);
}

/* argv[*i] is "-x", "-xVALUE" or "-x" with its value behind; several flags in one word are not taken. */
static int take_short(struct cli *cli, char **argv, int *i)
{
	const char *word = argv[*i];
	const struct cli_option *option = NULL;
	for (unsigned n = 0; (option = cli_command_option(cli->command, n)); n++)
		if (option->letter == word[1])
			break;
	if (!option || (!option->argument && word[2]))
		return cli_usage("unknown option %s; npusim %s --help lists the options", word, cli->command->name);
	if (!option->argument)
		return take_option(cli, option, "");
	if (word[2])
		return take_option(cli, option, word + 2);
	if (!argv[*i + 1])
		return cli_usage("%s %s: the value is missing", word, option->argument);
	return take_option(cli, option, argv[++*i]);
}

static int parse(struct cli *cli, char **argv)
{
	bool words_only = false, dotted;
	for (int i = 0; argv[i]; i++) {
		const char *word = argv[i];
		int status = 0;
		if (!words_only && strcmp(word, "--") == 0)
			words_only = true;
		else if (!words_only && strncmp(word, "--", 2) == 0)
			status = take_long(cli, argv, &i);
		else if (!words_only && word[0] == '-' && word[1])
			status = take_short(cli, argv, &i);
		else if (!words_only && is_assignment(word, &dotted))
			status = take_assignment(cli, word, dotted);
		else
			cli->words[cli->nwords++] = word;
		if (status)
			return status;
	}
	return 0;
}

/* A word too many that looks like a key whose value is missing, or a value whose key is. */
static int excess_word(const struct cli_command *command, const char *word)
{
	size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
	bool dotted = strchr(word, '.') != NULL;
	if (*word == '=')
		return cli_usage("%s: the name before = is missing", word);
	bool name = n && !word[n] && !isdigit((unsigned char)*word);
	if (name && (dotted ? command->takes_hardware && config_key_find(word) : command->takes_parameters))
		return cli_usage("%s: its value is missing, as in %s=VALUE", word, word);
	return cli_usage("%s: one word too many; usage: npusim %s %s", word, command->name, command->synopsis);
}

static int check_words(const struct cli *cli)
{
	const struct cli_command *command = cli->command;
	if (cli->nwords > command->max_words)
		return excess_word(command, cli->words[command->max_words]);
	if (cli->nwords < command->min_words)
		return cli_usage("usage: npusim %s %s", command->name, command->synopsis);
	return 0;
}

static int run_command(const struct cli_command *command, int argc, char **argv)
{
	struct cli cli = { .command = command };
	size_t n = (size_t)argc + 1;
	/* Nothing can be taken more often than there are arguments. */
	const char **strings = calloc(3 * n, sizeof *strings);
	cli.given = calloc(n, sizeof *cli.given);
	int status = 2;
	if (strings && cli.given) {
		cli.words = strings;
		cli.sets = strings + n;
		cli.parameters = strings + 2 * n;
		status = parse(&cli, argv);
		if (!status && cli_value(&cli, "help"))
			cli_print_help(command, stdout);
		else if (!status && !(status = check_words(&cli)) && !plugin_fork(&cli, &status))
			status = command->run(&cli);
	} else {
		cli_usage("out of memory");
	}
	free(strings);
	free(cli.given);
	return status;
}

static int unknown_command(const char *name)
{
	const char *names[64];
	unsigned n = 0;
	for (unsigned i = 0; cli_commands[i] && n < 64; i++)
		if (!cli_commands[i]->hidden)
			names[n++] = cli_commands[i]->name;
	const char *meant = npu_nearest(name, names, n);
	if (meant)
		return cli_usage("unknown command \"%.64s\"; did you mean %s?", name, meant);
	return cli_usage("unknown command \"%.64s\"; npusim --help lists the commands", name);
}

static int dispatch(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	if (!name) {
		cli_print_help(NULL, stderr);
		return 2;
	}
	bool help = strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0;
	if (help && argc == 2) {
		cli_print_help(NULL, stdout);
		return 0;
	}
	if (strncmp(name, "--", 2) == 0 && strcmp(name + 2, program_options[0].name) == 0) {
		printf("npusim %s\n", NPUSIM_VERSION);
		return 0;
	}
	if (*name == '-' && !help)
		return unknown_option(NULL, name + strspn(name, "-"));
	const struct cli_command *command = cli_command_find(help ? argv[2] : name);
	if (!command)
		return unknown_command(help ? argv[2] : name);
	if (help) {
		cli_print_help(command, stdout);
		return 0;
	}
	return run_command(command, argc - 2, argv + 2);
}

/* What was printed must have arrived; a reader that went away (head, less) is no error of ours and gets no message. */
static int finish_stdout(int status)
{
	int error = output_flush(stdout);
	if (!error)
		return status;
	if (error == EPIPE)
		return status ? status : STATUS_BROKEN_PIPE;
	fprintf(stderr, "npusim: standard output: cannot be written: %s\n", strerror(error));
	return 2;
}

int cli_main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	/* A file that grows past the limit (ulimit -f) is one that cannot be written: EFBIG, and no temporary file is left. */
	signal(SIGXFSZ, SIG_IGN);
	/* People's comments may be UTF-8. Numbers stay as they are everywhere: LC_NUMERIC is not touched. */
	setlocale(LC_CTYPE, "");
	int status = finish_stdout(dispatch(argc, argv));
	plugin_end(status);
	return status;
}
