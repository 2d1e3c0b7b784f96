/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: one struct a command, options as tables; parsing, --help and the man pages derive from them. */
#ifndef NPU_SIM_CLI_H
#define NPU_SIM_CLI_H

#include "isa/error.h"

#include <stdio.h>

/* --name, or --name ARGUMENT; `letter` 0: no short form. */
struct cli_option {
	const char *name;
	char letter;
	const char *argument; /* NULL: a flag */
	const char *help;
};

struct cli;
struct cli_words;

/* Completion reads `synopsis` and the arguments of options: alternatives with | between, words as they are, placeholders
 * in capitals: KERNEL, MODEL, COMMAND, NAME (of a preset), FILE.ext, FOLDER, NAME=FILE, KEY=VALUE, LIST (words with commas). */
struct cli_command {
	const char *name;
	const char *synopsis; /* the words it takes: "KERNEL|FILE|- [key=value...]" */
	const char *summary;  /* one line, no full stop */
	const char *text;     /* more for --help and the man page: paragraphs, lines of any length; NULL for none */
	const struct cli_option *options; /* ends with a name NULL; NULL for none */
	unsigned min_words, max_words;
	bool takes_hardware;   /* --hw, --set and section.key=value */
	bool takes_parameters; /* key=value */
	bool takes_plugins;    /* a word may be a plug-in: then the command runs in a child (sim/plugin.h) */
	bool reads_plugins;    /* a file that it reads may name one: --plugin-timeout and --plugin-memory are its options, too */
	bool hidden;           /* works, but --help does not list it */
	int (*run)(struct cli *);
	/* The words that the argument of an option of its own may be, by cli_word(); NULL: none has words. */
	void (*values)(const char *option, struct cli_words *);
};

/* Parsed arguments. Strings are those of argv. */
struct cli {
	const struct cli_command *command;
	const char *hw; /* NULL: not named */
	const char **words, **sets, **parameters;
	unsigned nwords, nsets, nparameters;
	struct cli_given {
		const struct cli_option *option;
		const char *value;
	} *given;
	unsigned ngiven;
};

/* Every command, in the order of --help; ends with NULL. */
extern const struct cli_command *const cli_commands[];

/* The whole program: the exit status for main(). */
int cli_main(int argc, char **argv);

/* What was given for an option: the last value ("" of a flag), NULL when it was not given. */
const char *cli_value(const struct cli *, const char *option);
/* All values of a repeatable option: start with *at = 0. NULL past the last one. */
const char *cli_next(const struct cli *, const char *option, unsigned *at);

/* Prints "npusim: FILE:LINE:COL: text" on stderr and returns the exit status. */
int cli_fail(const struct npu_error *);
/* The same for an error of usage, made on the spot. */
int cli_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* --help of one command, or of the program (NULL). */
void cli_print_help(const struct cli_command *, FILE *);
/* The man page of one command, or of the program (NULL). */
void cli_print_man(const struct cli_command *, FILE *);
/* The options that a command takes, shared ones included, or the program (NULL); NULL past the last one. */
const struct cli_option *cli_command_option(const struct cli_command *, unsigned n);
const struct cli_command *cli_command_find(const char *name);

/* What may stand in place of the last of `words`, which follow "npusim" on a command line and are begun, not checked. A
 * line a candidate: the word, a tab and what it means. Where a file may stand a line that begins with a tab: the part of
 * the word before the path, a tab, and the extensions that fit, "npu npub"; none: every file, "/": a folder. */
void cli_complete(const char *const *words, unsigned nwords, FILE *);
/* Offers a word for what is completed; `doc` may be NULL. */
void cli_word(struct cli_words *, const char *word, const char *doc);

#endif
