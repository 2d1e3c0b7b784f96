/* SPDX-License-Identifier: Apache-2.0 */
/* Finds lines only when something is wrong: a lexer that counts them would pay on every byte. */
#include "isa/text/diag.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_MESSAGES = 5, SHOWN_COLUMNS = 120 };

struct place {
	uint32_t line;
	uint32_t column;
	const char *line_begin;
	const char *line_end;
};

static struct place place_of(const struct npu_source *source, const char *at)
{
	struct place place = { .line = 1, .line_begin = source->begin };
	for (const char *c = source->begin; c < at; c++)
		if (*c == '\n') {
			place.line++;
			place.line_begin = c + 1;
		}
	place.column = (uint32_t)(at - place.line_begin) + 1;
	const char *newline = memchr(at, '\n', (size_t)(source->end - at));
	place.line_end = newline ? newline : source->end;
	return place;
}

/* A character of source as the terminal may see it: tabs are one blank, so that carets stand where they point. */
static char shown(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f ? ' ' : c;
}

static void note_line(struct npu_error *err, const struct place *place)
{
	char text[SHOWN_COLUMNS + 1];
	size_t length = (size_t)(place->line_end - place->line_begin);
	size_t kept = length < SHOWN_COLUMNS ? length : SHOWN_COLUMNS;
	for (size_t i = 0; i < kept; i++)
		text[i] = shown(place->line_begin[i]);
	while (kept > 0 && text[kept - 1] == ' ')
		kept--;
	text[kept] = '\0';
	npu_error_note(err, "%5" PRIu32 " | %s%s", place->line, text, length > SHOWN_COLUMNS ? " ..." : "");
}

static void note_caret(struct npu_error *err, const struct place *place, size_t width)
{
	char marks[SHOWN_COLUMNS + 1];
	size_t at = 0;
	if (place->column >= SHOWN_COLUMNS)
		return;
	marks[at++] = '^';
	while (at < width && place->column + at < SHOWN_COLUMNS)
		marks[at++] = '~';
	marks[at] = '\0';
	npu_error_note(err, "      | %*s%s", (int)place->column - 1, "", marks);
}

bool npu_diag_at(struct npu_diag *diag, enum npu_error_code code, const char *begin, const char *end,
		 const char *format, ...)
{
	if (diag->count++ >= MAX_MESSAGES || !diag->err)
		return false;
	struct place place = place_of(diag->source, begin);
	char text[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (diag->count == 1)
		npu_fail_at(diag->err, code, diag->source->file, place.line, place.column, "%s", text);
	else
		npu_error_note(diag->err, "%s:%" PRIu32 ":%" PRIu32 ": %s", diag->source->file, place.line,
			       place.column, text);
	note_line(diag->err, &place);
	note_caret(diag->err, &place, end < place.line_end ? (size_t)(end - begin) : (size_t)(place.line_end - begin));
	return false;
}

void npu_diag_show_line(const struct npu_source *source, struct npu_error *err)
{
	const char *at = source->begin, *end = source->end;
	for (uint32_t n = 1; n < err->line && at; n++) {
		at = memchr(at, '\n', (size_t)(end - at));
		at = at ? at + 1 : NULL;
	}
	if (!at || !err->line)
		return;
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	const char *word = at;
	while (at < end && (unsigned char)*at > ' ')
		at++;
	struct place place = place_of(source, word);
	err->column = place.column;
	note_line(err, &place);
	note_caret(err, &place, (size_t)(at - word));
}

bool npu_diag_has_room(const struct npu_diag *diag)
{
	return diag->count < MAX_MESSAGES;
}

void npu_diag_close(struct npu_diag *diag)
{
	if (diag->count > MAX_MESSAGES)
		npu_error_note(diag->err, "and %u more", diag->count - MAX_MESSAGES);
}
