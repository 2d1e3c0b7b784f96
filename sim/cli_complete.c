/* SPDX-License-Identifier: Apache-2.0 */
/* What may follow on a command line, for the shells' completion: from the tables of commands, keys and kernels. */
#include "sim/cli.h"
#include "sim/cli_complete_file.h"
#include "sim/config.h"
#include "traces/model_config.h"

#include <ctype.h>
#include <string.h>

struct cli_words {
	FILE *out;
	const char *typed;
	unsigned kept;    /* bytes of `typed` that stay in front of each word */
	unsigned offered; /* words, whether they fit or not */
	char kinds[64];   /* of files, as the line for them wants them */
	bool files;
};

/* A command line up to the word that is completed. */
struct line {
	const struct cli_command *command;
	const struct cli_option *option; /* whose argument is completed */
	const char *const *words;        /* behind the command */
	unsigned nwords;
	const char *place[8]; /* those of them that are neither options nor assignments */
	unsigned nplaces;
	bool words_only; /* behind -- */
};

/* Text of a synopsis. */
struct piece {
	const char *text;
	unsigned length;
};

/* Offers `word` and `end` behind it. */
static void offer(struct cli_words *w, const char *word, const char *end, const char *doc)
{
	char whole[256];
	const char *rest = w->typed + w->kept;
	w->offered++;
	int length = snprintf(whole, sizeof whole, "%s%s", word, end);
	if (length >= (int)sizeof whole || strncmp(whole, rest, strlen(rest)) != 0)
		return;
	/* The first clause is enough beside a word. */
	fprintf(w->out, "%.*s%s\t%.*s\n", (int)w->kept, w->typed, whole, doc ? (int)strcspn(doc, ";\n") : 0, doc ? doc : "");
}

void cli_word(struct cli_words *w, const char *word, const char *doc) { offer(w, word, "", doc); }

static void offer_files(struct cli_words *w, struct piece extension)
{
	size_t used = strlen(w->kinds);
	w->files = true;
	if (used + extension.length + 2 < sizeof w->kinds)
		snprintf(w->kinds + used, sizeof w->kinds - used, "%s%.*s", used ? " " : "", (int)extension.length,
			 extension.text);
}

static void offer_commands(struct cli_words *w)
{
	for (unsigned i = 0; cli_commands[i]; i++)
		if (!cli_commands[i]->hidden)
			cli_word(w, cli_commands[i]->name, cli_commands[i]->summary);
}

static void offer_options(struct cli_words *w, const struct cli_command *command)
{
	char name[64];
	const struct cli_option *option;
	for (unsigned n = 0; (option = cli_command_option(command, n)); n++) {
		snprintf(name, sizeof name, "--%s", option->name);
		cli_word(w, name, option->help);
	}
	/* One that is written out already gets its blank. */
	for (unsigned n = 0; w->typed[1] != '-' && (option = cli_command_option(command, n)); n++) {
		snprintf(name, sizeof name, "-%c", option->letter);
		if (option->letter)
			cli_word(w, name, option->help);
	}
}

static void offer_presets(struct cli_words *w, enum config_preset_kind kind)
{
	char **names = config_preset_names(kind);
	for (char **name = names; name && *name; name++)
		cli_word(w, *name, NULL);
	config_names_free(names);
}

static void offer_kernels(struct cli_words *w)
{
	for (unsigned i = 0; npu_kernels[i]; i++)
		cli_word(w, npu_kernels[i]->name, npu_kernels[i]->summary);
}

/* ---- hardware keys ---- */

static void offer_key_values(struct cli_words *w, const struct config_key *key)
{
	struct config_word word;
	char text[64];
	for (unsigned n = 0; config_key_word(key, n, &word); n++) {
		snprintf(text, sizeof text, "%.*s", (int)word.length, word.text);
		cli_word(w, text, word.doc);
	}
	if (key->type == CONFIG_FLAG) {
		cli_word(w, "yes", NULL);
		cli_word(w, "no", NULL);
	}
	if (key->type == CONFIG_PART)
		offer_presets(w, CONFIG_PRESET_DRAM);
}

/* "sram.", then "sram.size=", then what it may be. */
static void offer_hardware(struct cli_words *w)
{
	const char *typed = w->typed + w->kept, *equals = strchr(typed, '=');
	char name[64];
	const struct config_key *key;
	if (equals) {
		snprintf(name, sizeof name, "%.*s", (int)(equals - typed), typed);
		w->kept += (unsigned)(equals - typed) + 1;
		if ((key = config_key_find(name)))
			offer_key_values(w, key);
		return;
	}
	if (!strchr(typed, '.'))
		for (unsigned i = 0; config_section(i); i++)
			offer(w, config_section(i), ".", config_section_doc(i));
	else
		for (unsigned i = 0; i < config_nkeys; i++)
			offer(w, config_keys[i].name, "=", config_keys[i].doc);
}

/* ---- parameters ---- */

static bool is_given(const struct line *line, const char *name)
{
	size_t length = strlen(name);
	for (unsigned i = 0; i < line->nwords; i++)
		if (strncmp(line->words[i], name, length) == 0 && line->words[i][length] == '=')
			return true;
	return false;
}

/* "mask=", or with that typed each of its choices; nothing else fits then. */
static void offer_parameter(struct cli_words *w, const struct line *line, const struct npu_param *param)
{
	size_t length = strlen(param->name);
	if (w->kept)
		return;
	if (strncmp(w->typed, param->name, length) != 0 || w->typed[length] != '=') {
		if (!is_given(line, param->name))
			offer(w, param->name, "=", param->meaning);
		return;
	}
	w->kept = (unsigned)length + 1;
	for (unsigned i = 0; param->type == NPU_PARAM_CHOICE && param->choices[i]; i++)
		cli_word(w, param->choices[i], NULL);
}

struct taker {
	struct cli_words *words;
	const struct line *line;
};

static void take_parameter(void *context, const struct npu_param *param)
{
	const struct taker *taker = context;
	offer_parameter(taker->words, taker->line, param);
}

/* Of the kernel or the .npu files that the line names. */
static void offer_parameters(struct cli_words *w, const struct line *line)
{
	struct taker taker = { w, line };
	const struct npu_kernel *kernel = NULL;
	for (unsigned i = 0; i < line->nplaces && !kernel; i++)
		kernel = npu_kernel_find(line->place[i]);
	for (unsigned i = 0; kernel && i < kernel->nparams; i++)
		offer_parameter(w, line, &kernel->params[i]);
	for (unsigned i = 0; !kernel && i < line->nplaces; i++)
		cli_file_params(line->place[i], take_parameter, &taker);
}

/* "dtype=fp16|bf16" of a synopsis. */
static void offer_written_parameter(struct cli_words *w, const struct line *line, struct piece piece)
{
	char text[64];
	const char *choices[8] = { NULL };
	unsigned n = 0;
	snprintf(text, sizeof text, "%.*s", (int)piece.length, piece.text);
	char *value = strchr(text, '=');
	while (value && n < sizeof choices / sizeof *choices - 1) {
		*value++ = '\0';
		choices[n++] = value;
		value = strchr(value, '|');
	}
	struct npu_param param = { .name = text, .type = NPU_PARAM_CHOICE, .choices = choices };
	offer_parameter(w, line, &param);
}

/* ---- synopsis ---- */

static bool is_word(struct piece piece, const char *word)
{
	return strlen(word) == piece.length && memcmp(piece.text, word, piece.length) == 0;
}

static void offer_models(struct cli_words *w)
{
	for (unsigned i = 0; i < model_table_size; i++)
		cli_word(w, model_table[i].name, NULL);
}

/* What is written in capitals, and the extension behind it. */
static void offer_placeholder(struct cli_words *w, struct piece name, struct piece extension)
{
	if (is_word(name, "KERNEL"))
		offer_kernels(w);
	else if (is_word(name, "MODEL"))
		offer_models(w);
	else if (is_word(name, "COMMAND"))
		offer_commands(w);
	else if (is_word(name, "NAME") && !w->offered)
		offer_presets(w, CONFIG_PRESET_HW);
	else if (is_word(name, "FOLDER"))
		offer_files(w, (struct piece){ "/", 1 });
	else if (is_word(name, "FILE") || is_word(name, "TRACE") || extension.length)
		offer_files(w, extension);
}

static void offer_piece(struct cli_words *w, struct piece piece)
{
	char text[64];
	const char *at = piece.text, *end = piece.text + piece.length;
	if (piece.length > 2 && memcmp(at, "./", 2) == 0)
		at += 2;
	struct piece name = { at, 0 }, extension = { "", 0 };
	while (at < end && isupper((unsigned char)*at))
		at++;
	name.length = (unsigned)(at - name.text);
	if (!name.length && at < end && islower((unsigned char)*at)) {
		snprintf(text, sizeof text, "%.*s", (int)piece.length, piece.text);
		cli_word(w, text, NULL);
		return;
	}
	if (at < end && *at == '.') {
		extension.text = ++at;
		while (at < end && isalnum((unsigned char)*at))
			at++;
		extension.length = (unsigned)(at - extension.text);
	}
	offer_placeholder(w, name, extension);
}

static struct piece next_piece(const char **at, const char *end, char mark)
{
	struct piece piece = { *at, 0 };
	while (*at < end && **at != mark)
		++*at;
	piece.length = (unsigned)(*at - piece.text);
	*at += *at < end;
	return piece;
}

static void offer_pieces(struct cli_words *w, struct piece all)
{
	for (const char *at = all.text, *end = at + all.length; at < end;)
		offer_piece(w, next_piece(&at, end, '|'));
}

/* One way to use a command: "show KERNEL|./PLUGIN.so [key=value...]". */
static void offer_usage(struct cli_words *w, const struct line *line, const char *at, const char *end)
{
	unsigned place = 0;
	bool assignment = strchr(w->typed, '=') != NULL;
	while (at < end) {
		struct piece piece = next_piece(&at, end, ' ');
		const char *equals = memchr(piece.text, '=', piece.length);
		if (*piece.text == '[') {
			piece.text++;
			piece.length -= piece.length > 1;
		}
		if (*piece.text == '-' && piece.length > 1) {
			next_piece(&at, end, ' '); /* an option's argument */
			continue;
		}
		if (piece.length && piece.text[piece.length - 1] == ']')
			piece.length--;
		if (equals) {
			if (!memchr(piece.text, '.', (size_t)(equals - piece.text)) && memcmp(piece.text, "key=", 4) != 0)
				offer_written_parameter(w, line, piece);
			continue;
		}
		if (place == line->nplaces && !assignment)
			offer_pieces(w, piece);
		if (place < line->nplaces && islower((unsigned char)*piece.text) && !memchr(piece.text, '|', piece.length) &&
		    !is_word(piece, line->place[place]))
			return;
		place++;
	}
}

static void offer_words(struct cli_words *w, const struct line *line)
{
	const struct cli_command *command = line->command;
	for (const char *at = command->synopsis, *end; *at; at = *end ? end + 3 : end) {
		end = strstr(at, " | ");
		end = end ? end : at + strlen(at);
		offer_usage(w, line, at, end);
	}
	bool may_end = line->nplaces >= command->min_words;
	/* A list of sections would hide what comes first. */
	bool sections = line->nplaces >= command->max_words || (may_end && (*w->typed || (!w->offered && !w->files)));
	if (line->words_only)
		return;
	if (command->takes_parameters)
		offer_parameters(w, line);
	if (command->takes_hardware && !w->kept && (sections || strchr(w->typed, '.')))
		offer_hardware(w);
}

/* ---- options ---- */

static void offer_argument(struct cli_words *w, const struct line *line, const struct cli_option *option)
{
	const char *argument = option->argument, *typed = w->typed + w->kept, *mark;
	if (strcmp(argument, "KEY=VALUE") == 0) {
		offer_hardware(w);
		return;
	}
	if (strcmp(argument, "LIST") == 0 && (mark = strrchr(typed, ',')))
		w->kept += (unsigned)(mark - typed) + 1;
	if (strcmp(argument, "NAME=FILE") == 0) {
		if (!(mark = strchr(typed, '=')))
			return;
		w->kept += (unsigned)(mark - typed) + 1;
		argument = strchr(argument, '=') + 1;
	}
	if (line->command->values)
		line->command->values(option->name, w);
	offer_pieces(w, (struct piece){ argument, (unsigned)strlen(argument) });
}

/* The option that a word begins with, NULL when it is none; *value: its argument in the same word, NULL: none. */
static const struct cli_option *option_of(const struct cli_command *command, const char *word, const char **value)
{
	const struct cli_option *option;
	bool is_long = word[0] == '-' && word[1] == '-';
	size_t length = strcspn(word, "=");
	*value = NULL;
	if (word[0] != '-' || !word[1])
		return NULL;
	for (unsigned n = 0; (option = cli_command_option(command, n)); n++)
		if (is_long ? strlen(option->name) == length - 2 && memcmp(option->name, word + 2, length - 2) == 0
			    : option->letter == word[1])
			break;
	if (option && option->argument && word[is_long ? length : 2])
		*value = word + (is_long ? length + 1 : 2);
	return option;
}

static bool is_assignment(const char *word)
{
	size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
	return n && word[n] == '=';
}

static void read_line(struct line *line)
{
	const char *value;
	for (unsigned i = 0; i < line->nwords; i++) {
		const char *word = line->words[i];
		const struct cli_option *option = line->words_only ? NULL : option_of(line->command, word, &value);
		if (!line->words_only && strcmp(word, "--") == 0)
			line->words_only = true;
		else if (option && option->argument && !value && ++i == line->nwords)
			line->option = option;
		else if (!option && (line->words_only || !is_assignment(word)) &&
			 line->nplaces < sizeof line->place / sizeof *line->place)
			line->place[line->nplaces++] = word;
	}
}

static void complete(struct cli_words *w, const struct line *line)
{
	const char *value;
	const struct cli_option *option = line->words_only ? NULL : option_of(line->command, w->typed, &value);
	if (line->option) {
		offer_argument(w, line, line->option);
	} else if (option && value) {
		w->kept = (unsigned)(value - w->typed);
		offer_argument(w, line, option);
	} else if (!line->words_only && *w->typed == '-') {
		offer_options(w, line->command);
	} else {
		offer_words(w, line);
	}
}

void cli_complete(const char *const *words, unsigned nwords, FILE *out)
{
	struct cli_words w = { .out = out, .typed = nwords ? words[nwords - 1] : "" };
	/* What is offered is lines with tabs in them. */
	if (strpbrk(w.typed, "\t\n"))
		return;
	if (nwords < 2 && *w.typed == '-') {
		offer_options(&w, NULL);
	} else if (nwords < 2) {
		offer_commands(&w);
	} else {
		struct line line = { .command = cli_command_find(words[0]), .words = words + 1, .nwords = nwords - 2 };
		if (line.command) {
			read_line(&line);
			complete(&w, &line);
		}
	}
	if (w.files)
		fprintf(out, "\t%.*s\t%s\n", (int)w.kept, w.typed, w.kinds);
}
