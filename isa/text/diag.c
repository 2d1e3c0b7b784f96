/* SPDX-License-Identifier: Apache-2.0 */
/* Finds lines only when something is wrong: a lexer that counts them would pay on every byte. */
#include "isa/text/diag.h"

#include "isa/plain.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_MESSAGES = 5, SHOWN_COLUMNS = 120, CARET_COLUMNS = 100 };

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

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* A character of source as the terminal may see it: tabs are one blank, so that carets stand where they point. */
static unsigned show(const char **at, const char *end, char out[NPU_PLAIN_CHAR], unsigned *columns)
{
	if (!is_blank(**at))
		return npu_plain_char(at, end, out, columns);
	++*at;
	out[0] = ' ';
	*columns = 1;
	return 1;
}

/* Columns that source bytes [begin, end) take. */
static size_t columns_of(const char *begin, const char *end)
{
	char out[NPU_PLAIN_CHAR];
	size_t sum = 0;
	unsigned columns;
	while (begin < end) {
		show(&begin, end, out, &columns);
		sum += columns;
	}
	return sum;
}

/* Where the shown part of a long line begins, so that what stands at `at` is in it. */
static const char *shown_from(const struct place *place, const char *at)
{
	const char *from = place->line_begin;
	char out[NPU_PLAIN_CHAR];
	unsigned columns;
	for (size_t before = columns_of(from, at); before > CARET_COLUMNS; before -= columns)
		show(&from, at, out, &columns);
	return from;
}

static void note_line(struct npu_error *err, const struct place *place, const char *from)
{
	char text[SHOWN_COLUMNS * NPU_PLAIN_CHAR + 1];
	const char *at = from, *end = place->line_end;
	size_t used = 0, width = 0;
	while (end > at && is_blank(end[-1]))
		end--;
	while (at < end && width < SHOWN_COLUMNS) {
		unsigned columns;
		used += show(&at, end, text + used, &columns);
		width += columns;
	}
	npu_error_note(err, "%5" PRIu32 " | %s%.*s%s", place->line, from > place->line_begin ? "... " : "", (int)used,
		       text, at < end ? " ..." : "");
}

/* The line of [begin, end), and that underlined. */
static void note_source(struct npu_error *err, const struct place *place, const char *begin, const char *end)
{
	char marks[SHOWN_COLUMNS + 1];
	const char *from = shown_from(place, begin);
	size_t before = columns_of(from, begin), width = columns_of(begin, end), at = 0;
	note_line(err, place, from);
	marks[at++] = '^';
	while (at < width && before + at < SHOWN_COLUMNS)
		marks[at++] = '~';
	marks[at] = '\0';
	npu_error_note(err, "      | %*s%s", (int)before + (from > place->line_begin ? 4 : 0), "", marks);
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
	note_source(diag->err, &place, begin, end < place.line_end ? end : place.line_end);
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
	note_source(err, &place, word, at);
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
