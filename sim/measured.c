/* SPDX-License-Identifier: Apache-2.0 */
/* CSV as RFC 4180 has it, but for lines inside of quotes. */
#include "sim/measured.h"

#include "isa/plain.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 256, ROWS_MAX = 1 << 20, WORD = 64 };

struct table {
	struct measured *m;
	const char *file;
	uint32_t line, room;
	unsigned name, value; /* columns */
	double scale;         /* to us */
};

/* Cuts a line into fields, in place; returns their number, 0 when a quote does not end. */
static unsigned split(char *line, char *fields[FIELDS])
{
	unsigned n = 0;
	char *to = line;
	for (char *at = line; n < FIELDS;) {
		fields[n++] = to;
		bool quoted = *at == '"';
		at += quoted;
		while (*at && (quoted ? *at != '"' || at[1] == '"' : *at != ',')) {
			at += quoted && *at == '"';
			*to++ = *at++;
		}
		if (quoted && *at++ != '"')
			return 0;
		while (*at && *at != ',')
			at++;
		bool more = *at == ',';
		at += more;
		*to++ = '\0';
		if (!more)
			break;
	}
	return n;
}

static bool is_one_of(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(word, *words) == 0)
			return true;
	return false;
}

/* "Task Duration(us)" is "task duration us": letters and digits, lower case, one space between. */
static void plain_word(const char *text, char out[WORD])
{
	unsigned n = 0;
	for (; *text && n + 1 < WORD; text++) {
		if (isalnum((unsigned char)*text))
			out[n++] = (char)tolower((unsigned char)*text);
		else if (n && out[n - 1] != ' ')
			out[n++] = ' ';
	}
	while (n && out[n - 1] == ' ')
		n--;
	out[n] = '\0';
}

/* The unit at the end of a column's name, if nothing else but a word for time is before it. */
static bool unit_of(const char *word, struct table *t)
{
	static const struct {
		const char *unit;
		double us;
	} units[] = { { "ns", 1e-3 }, { "us", 1 }, { "ms", 1e3 }, { "s", 1e6 }, { "cycles", 1 } };
	static const char *const before[] = { "", "time", "duration", "task duration", "total", "total time", NULL };
	const char *space = strrchr(word, ' '), *last = space ? space + 1 : word;
	char first[WORD];
	snprintf(first, sizeof first, "%.*s", space ? (int)(space - word) : 0, word);
	for (unsigned i = 0; i < sizeof units / sizeof units[0]; i++)
		if (strcmp(units[i].unit, last) == 0 && is_one_of(first, before)) {
			t->scale = units[i].us;
			t->m->in_cycles = strcmp(last, "cycles") == 0;
			return true;
		}
	return false;
}

static bool read_head(struct table *t, char *line, struct npu_error *err)
{
	static const char *const names[] = { "name", "operator", "op", "op name", "region", "kernel", "kernel name", NULL };
	char *fields[FIELDS], word[WORD];
	const char *other = strpbrk(line, ";\t");
	bool commas = strchr(line, ',') != NULL, tab = other && *other == '\t';
	unsigned n = split(line, fields);
	t->name = t->value = n;
	for (unsigned i = 0; i < n; i++) {
		plain_word(fields[i], word);
		if (t->name == n && is_one_of(word, names))
			t->name = i;
		else if (t->value == n && unit_of(word, t))
			t->value = i;
	}
	if (t->name < n && t->value < n)
		return true;
	if (other && !commas)
		return npu_fail_at(err, NPU_ERR_FORMAT, t->file, t->line, 1, "columns are separated by %s; commas between them would be right",
				   tab ? "tabs" : "semicolons");
	return npu_fail_at(err, NPU_ERR_FORMAT, t->file, t->line, 1,
			   "no column of %s; name,us or operator,cycles would be right", t->name == n ? "names" : "times");
}

static struct measured_row *row_named(struct table *t, const char *name)
{
	struct measured *m = t->m;
	for (uint32_t i = 0; i < m->n; i++)
		if (strcmp(m->rows[i].name, name) == 0)
			return &m->rows[i];
	if (m->n == t->room) {
		uint32_t room = t->room ? 2 * t->room : 64;
		struct measured_row *rows = realloc(m->rows, room * sizeof *rows);
		if (!rows)
			return NULL;
		m->rows = rows;
		t->room = room;
	}
	char *copy = strdup(name);
	if (!copy)
		return NULL;
	m->rows[m->n] = (struct measured_row){ .name = copy };
	return &m->rows[m->n++];
}

static bool read_row(struct table *t, char *line, struct npu_error *err)
{
	char *fields[FIELDS], name[256], *end;
	unsigned n = split(line, fields);
	if (n <= t->name || n <= t->value)
		return npu_fail_at(err, NPU_ERR_FORMAT, t->file, t->line, 1, "fewer fields than the first line has, or a quote without end");
	errno = 0;
	double value = strtod(fields[t->value], &end);
	while (*end == ' ' || *end == '\t')
		end++;
	if (end == fields[t->value] || *end || !isfinite(value) || value < 0)
		return npu_fail_at(err, NPU_ERR_VALUE, t->file, t->line, 1, "\"%.40s\" is no time", fields[t->value]);
	npu_plain(fields[t->name], strlen(fields[t->name]), name, sizeof name);
	struct measured_row *row = t->m->n < ROWS_MAX ? row_named(t, name) : NULL;
	if (!row)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	row->value += value * t->scale;
	row->count++;
	return true;
}

static bool read_lines(struct table *t, FILE *in, struct npu_error *err)
{
	char *line = NULL;
	size_t size = 0;
	bool ok = true, headed = false;
	ssize_t length;
	while (ok && (length = getline(&line, &size, in)) >= 0) {
		char *text = line;
		t->line++;
		while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r'))
			text[--length] = '\0';
		/* What some spreadsheets begin a file with. */
		if (t->line == 1 && strncmp(text, "\xef\xbb\xbf", 3) == 0)
			text += 3;
		if (!*text || *text == '#')
			continue;
		ok = headed ? read_row(t, text, err) : read_head(t, text, err);
		headed = true;
	}
	free(line);
	if (ok && ferror(in))
		return npu_fail(err, NPU_ERR_IO, "%s: %s", t->file, strerror(errno));
	if (ok && t->m->n == 0)
		return npu_fail(err, NPU_ERR_FORMAT, "%s: no measured times", t->file);
	return ok;
}

bool measured_read(struct measured *m, const char *path, struct npu_error *err)
{
	*m = (struct measured){ 0 };
	struct table t = { .m = m, .file = path };
	FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
	if (!in)
		return npu_fail(err, NPU_ERR_IO, "%s: %s", path, strerror(errno));
	bool ok = read_lines(&t, in, err);
	if (in != stdin)
		fclose(in);
	if (!ok)
		measured_fini(m);
	return ok;
}

void measured_fini(struct measured *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		free(m->rows[i].name);
	free(m->rows);
	*m = (struct measured){ 0 };
}
