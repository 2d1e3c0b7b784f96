/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters that a .npu file declares, read without assembling it: its .param lines, not those of files it includes. */
#include "sim/cli_complete_file.h"
#include "isa/text/lex.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Parameters stand at the top, and TAB must not wait for the rest. */
enum { BYTES_MAX = 1 << 16, CHOICES_MAX = 32 };

struct scan {
	struct npu_lexer lexer;
	struct npu_token token;
};

static bool is_mark(const struct scan *s, char mark)
{
	return s->token.kind == NPU_TOKEN_PUNCT && s->token.punct == (uint16_t)mark;
}

static void advance(struct scan *s) { s->token = npu_lex(&s->lexer); }

static char *copy_token(const struct npu_token *token)
{
	return strndup(token->begin, (size_t)(token->end - token->begin));
}

/* Passes over "none|causal", of which it makes choices, or over an expression, up to the comma behind it. Returns how many
 * there are. */
static unsigned read_choices(struct scan *s, const char *choices[CHOICES_MAX + 1])
{
	unsigned n = 0, depth = 0;
	bool words = true;
	for (bool wants_word = true; s->token.kind != NPU_TOKEN_END && s->token.kind != NPU_TOKEN_NEWLINE; advance(s)) {
		if (is_mark(s, ',') && !depth)
			break;
		depth += is_mark(s, '(') || is_mark(s, '[');
		depth -= depth && (is_mark(s, ')') || is_mark(s, ']'));
		words = words && n < CHOICES_MAX && (wants_word ? s->token.kind == NPU_TOKEN_NAME : is_mark(s, '|'));
		if (words && wants_word)
			choices[n++] = copy_token(&s->token);
		wants_word = !wants_word;
	}
	return words ? n : 0;
}

static void read_param_line(struct scan *s, cli_param_taker *take, void *context)
{
	do {
		const char *choices[CHOICES_MAX + 1] = { NULL };
		advance(s);
		if (s->token.kind != NPU_TOKEN_NAME)
			return;
		char *name = copy_token(&s->token);
		advance(s);
		bool has_default = is_mark(s, '=');
		if (has_default)
			advance(s);
		unsigned n = has_default ? read_choices(s, choices) : 0;
		/* One word may be the name of another parameter. */
		struct npu_param param = { .name = name, .type = n > 1 ? NPU_PARAM_CHOICE : NPU_PARAM_INT, .choices = choices };
		if (name && has_default)
			take(context, &param);
		for (unsigned i = 0; choices[i]; i++)
			free((char *)choices[i]);
		free(name);
	} while (is_mark(s, ','));
}

static void scan_text(const char *text, size_t nbytes, cli_param_taker *take, void *context)
{
	struct scan s = { .lexer = { text, text + nbytes } };
	for (advance(&s); s.token.kind != NPU_TOKEN_END; advance(&s))
		if (s.token.kind == NPU_TOKEN_DIRECTIVE && npu_token_is(&s.token, ".param"))
			read_param_line(&s, take, context);
}

void cli_file_params(const char *path, cli_param_taker *take, void *context)
{
	struct stat status;
	size_t length = strlen(path);
	if (length < 4 || strcmp(path + length - 4, ".npu") != 0)
		return;
	/* A pipe would have to be waited for. */
	int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (file < 0)
		return;
	char *text = fstat(file, &status) == 0 && S_ISREG(status.st_mode) ? malloc(BYTES_MAX) : NULL;
	ssize_t n = text ? read(file, text, BYTES_MAX) : 0;
	if (n > 0)
		scan_text(text, (size_t)n, take, context);
	free(text);
	close(file);
}
