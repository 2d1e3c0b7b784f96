/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as values, and the nearest name to one that is not known. */
#include "isa/error.h"

#include "isa/plain.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool set(struct npu_error *err, enum npu_error_code code, const char *file, uint32_t line, uint32_t column,
		const char *format, va_list args)
{
	char raw[sizeof err->text];
	if (!err)
		return false;
	err->code = code;
	vsnprintf(raw, sizeof raw, format, args);
	npu_plain(raw, strlen(raw), err->text, sizeof err->text);
	npu_error_place(err, file, line, column);
	return false;
}

void npu_error_place(struct npu_error *err, const char *file, uint32_t line, uint32_t column)
{
	if (!err)
		return;
	npu_plain(file ? file : "", file ? strlen(file) : 0, err->file, sizeof err->file);
	err->line = line;
	err->column = column;
}

bool npu_fail(struct npu_error *err, enum npu_error_code code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	set(err, code, NULL, 0, 0, format, args);
	va_end(args);
	return false;
}

bool npu_fail_at(struct npu_error *err, enum npu_error_code code, const char *file, uint32_t line, uint32_t column,
		 const char *format, ...)
{
	va_list args;
	va_start(args, format);
	set(err, code, file, line, column, format, args);
	va_end(args);
	return false;
}

void npu_error_note(struct npu_error *err, const char *format, ...)
{
	if (!err)
		return;
	size_t used = strlen(err->text);
	if (used + 2 > sizeof err->text)
		return;
	if (used > 0)
		err->text[used++] = '\n';
	char raw[sizeof err->text];
	va_list args;
	va_start(args, format);
	vsnprintf(raw, sizeof raw, format, args);
	va_end(args);
	npu_plain(raw, strlen(raw), err->text + used, sizeof err->text - used);
}

void npu_error_notes(struct npu_error *err, const char *lines)
{
	while (*lines) {
		size_t length = strcspn(lines, "\n");
		npu_error_note(err, "%.*s", (int)length, lines);
		lines += length + (lines[length] == '\n');
	}
}

void npu_error_before(struct npu_error *err, const char *format, ...)
{
	char raw[sizeof err->text], text[sizeof err->text];
	va_list args;
	if (!err)
		return;
	va_start(args, format);
	vsnprintf(raw, sizeof raw, format, args);
	va_end(args);
	uint64_t used = npu_plain(raw, strlen(raw), text, sizeof text);
	snprintf(text + used, sizeof text - used, "%s", err->text);
	memcpy(err->text, text, sizeof text);
}

int npu_error_exit_status(enum npu_error_code code)
{
	switch (code) {
#define ERROR(CODE, exit_status, doc)                                                                                  \
	case NPU_ERR_##CODE:                                                                                           \
		return exit_status;
#include "isa/error.def"
	}
	return 2;
}

char *npu_error_print(const struct npu_error *err, char *out, uint64_t size)
{
	if (!err->file[0])
		snprintf(out, size, "%s", err->text);
	else if (!err->line)
		snprintf(out, size, "%s: %s", err->file, err->text);
	else if (!err->column)
		snprintf(out, size, "%s:%u: %s", err->file, err->line, err->text);
	else
		snprintf(out, size, "%s:%u:%u: %s", err->file, err->line, err->column, err->text);
	return out;
}

enum { LONGEST_NAME = 63 };

static unsigned least(unsigned a, unsigned b, unsigned c)
{
	unsigned ab = a < b ? a : b;
	return ab < c ? ab : c;
}

/* Insertions, deletions, substitutions and swaps of neighbours that turn a[0..na) into b[0..nb). */
static unsigned edit_distance(const char *a, unsigned na, const char *b, unsigned nb)
{
	unsigned rows[3][LONGEST_NAME + 1];
	unsigned *before = rows[0], *last = rows[1], *now = rows[2];
	for (unsigned j = 0; j <= nb; j++)
		last[j] = j;
	for (unsigned i = 1; i <= na; i++) {
		now[0] = i;
		for (unsigned j = 1; j <= nb; j++) {
			now[j] = least(last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < now[j])
				now[j] = before[j - 2] + 1;
		}
		unsigned *oldest = before;
		before = last;
		last = now;
		now = oldest;
	}
	return last[nb];
}

const char *npu_nearest(const char *name, const char *const *names, unsigned n)
{
	size_t length = strlen(name);
	if (length == 0 || length > LONGEST_NAME)
		return NULL;
	/* One slip for each three letters: more of them and it is another word. */
	unsigned best_distance = length < 3 ? 2 : (unsigned)length / 3 + 1;
	const char *best = NULL;
	for (unsigned i = 0; i < n; i++) {
		size_t other = strlen(names[i]);
		if (other > LONGEST_NAME)
			continue;
		unsigned distance = edit_distance(name, (unsigned)length, names[i], (unsigned)other);
		if (distance < best_distance) {
			best_distance = distance;
			best = names[i];
		}
	}
	return best;
}
