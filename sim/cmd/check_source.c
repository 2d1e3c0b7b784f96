/* SPDX-License-Identifier: Apache-2.0 */
/* Finds source files, their lines, and words in them. It reads assembly and C just well enough to place a caret. */
#include "sim/cmd/check_source.h"

#include "isa/text/syntax.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SOURCE_MAX = 16 << 20 };

struct source {
	bool tried;
	char *text;         /* NULL: cannot be read */
	const char **lines; /* [nlines + 1] where each begins */
	uint32_t nlines;
};

struct sources {
	const struct npu_program *program;
	char folder[4096]; /* with its slash, or empty */
	struct source *files;
};

struct sources *sources_new(const struct npu_program *program, const char *path)
{
	struct sources *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	const char *slash = path ? strrchr(path, '/') : NULL;
	if (slash)
		snprintf(s->folder, sizeof s->folder, "%.*s", (int)(slash - path + 1), path);
	s->program = program;
	s->files = calloc(program->nfiles ? program->nfiles : 1, sizeof *s->files);
	if (!s->files) {
		free(s);
		return NULL;
	}
	return s;
}

void sources_free(struct sources *s)
{
	for (uint32_t i = 0; s && i < s->program->nfiles; i++) {
		free(s->files[i].text);
		free(s->files[i].lines);
	}
	if (s)
		free(s->files);
	free(s);
}

/* A regular file: a pipe that the program came through has nothing more to give. NULL when it is none, or no text. */
static char *read_text(const char *path, uint64_t *length)
{
	struct stat st;
	FILE *file = stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= SOURCE_MAX ? fopen(path, "rb") : NULL;
	char *text = file ? malloc((size_t)st.st_size + 1) : NULL;
	size_t n = text ? fread(text, 1, (size_t)st.st_size, file) : 0;
	bool ok = text && !ferror(file) && memchr(text, '\0', n) == NULL;
	if (file)
		fclose(file);
	if (!ok) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	*length = n;
	return text;
}

static char *find_text(const struct sources *s, const char *name, uint64_t *length)
{
	/* The presets of a build folder's program lie in its source tree. */
	static const char presets[] = NPUSIM_SOURCE_PRESETS;
	int root = (int)(sizeof presets - sizeof "models/presets");
	char path[8192];
	char *text = read_text(name, length);
	if (text || name[0] == '/')
		return text;
	snprintf(path, sizeof path, "%s%s", s->folder, name);
	if (s->folder[0] && (text = read_text(path, length)))
		return text;
	snprintf(path, sizeof path, "%.*s%s", root, presets, name);
	return read_text(path, length);
}

static struct source *open_source(struct sources *s, uint32_t file)
{
	struct source *source = &s->files[file];
	uint64_t length = 0;
	if (source->tried)
		return source;
	source->tried = true;
	source->text = s->program->files[file][0] ? find_text(s, s->program->files[file], &length) : NULL;
	if (!source->text)
		return source;
	for (const char *at = source->text; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
		source->nlines++;
	source->lines = calloc(source->nlines + (size_t)1, sizeof *source->lines);
	if (!source->lines) {
		source->nlines = 0;
		return source;
	}
	const char *at = source->text;
	for (uint32_t i = 0; i < source->nlines; i++) {
		source->lines[i] = at;
		at += strcspn(at, "\n") + 1;
	}
	source->lines[source->nlines] = source->text + length + 1;
	return source;
}

static int line_of(const struct source *source, uint32_t number, const char **line)
{
	if (number < 1 || number > source->nlines)
		return -1;
	*line = source->lines[number - 1];
	int length = (int)(source->lines[number] - *line - 1);
	while (length > 0 && isspace((unsigned char)(*line)[length - 1]))
		length--;
	return length;
}

int source_line_at(struct sources *s, const struct npu_place *place, const char **line)
{
	return place->line ? line_of(open_source(s, place->file), place->line, line) : -1;
}

int source_line(struct sources *s, uint32_t insn, const char **line)
{
	return source_line_at(s, &s->program->place[insn], line);
}

/* ---- carets ---- */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Where `word` stands as a word of its own in line[from..length), -1 when it does not. */
static int find_word(const char *line, int from, int length, const char *word)
{
	int n = (int)strlen(word);
	for (int at = from; n && at + n <= length; at++)
		if (memcmp(line + at, word, (size_t)n) == 0 && (at == 0 || !is_word(line[at - 1])) &&
		    (at + n == length || !is_word(line[at + n])))
			return at;
	return -1;
}

/* The end of the operand that begins at `at`: a comma or blank outside of brackets, or the comment. */
static int operand_end(const char *line, int at, int length)
{
	int depth = 0;
	for (; at < length && line[at] != ';'; at++) {
		depth += line[at] == '[' || line[at] == '(';
		depth -= line[at] == ']' || line[at] == ')';
		if (depth == 0 && (line[at] == ',' || line[at] == ' ' || line[at] == '\t'))
			break;
	}
	return at;
}

static int skip_blanks(const char *line, int at, int length)
{
	while (at < length && (line[at] == ' ' || line[at] == '\t'))
		at++;
	return at;
}

/* Operand number `n` behind the mnemonic that ends at `at`. */
static bool find_operand(const char *line, int at, int length, unsigned n, int *from, int *to)
{
	for (;; n--) {
		at = skip_blanks(line, at, length);
		int end = operand_end(line, at, length);
		if (end == at)
			return false;
		if (n == 0) {
			*from = at;
			*to = end;
			return true;
		}
		at = skip_blanks(line, end, length);
		if (at == length || line[at] != ',')
			return false;
		at++;
	}
}

static int positional_index(const struct npu_insn *insn, const char *operand)
{
	const struct npu_field *fields[NPU_MAX_POSITIONAL];
	unsigned n = npu_syntax_positional(npu_op_info(insn->op), fields);
	for (unsigned i = 0; i < n; i++)
		if (strcmp(fields[i]->name, operand) == 0)
			return (int)i;
	return -1;
}

/* The semaphore behind the word wait or post. Its index may be an expression, so only its name is looked for. */
static bool find_sem(const struct npu_program *program, const char *role, uint32_t sem, const char *line, int length,
		     int *from, int *to)
{
	char base[NPU_MAX_NAME + 1];
	int verb = find_word(line, 0, length, role[0] == 'w' ? "wait" : "post");
	snprintf(base, sizeof base, "%s", program->sems[sem].name);
	base[strcspn(base, "[")] = '\0';
	*from = verb < 0 ? -1 : find_word(line, verb, length, base);
	*to = *from < 0 ? -1 : operand_end(line, *from, length);
	return *from >= 0;
}

static bool find_site(const struct npu_program *program, const struct npu_check_site *site, uint32_t sem,
		      const char *line, int length, int *from, int *to)
{
	const struct npu_insn *insn = &program->insns[site->insn];
	const char *mnemonic = npu_op_mnemonic(insn->op);
	if (sem != NPU_CHECK_NOBODY && find_sem(program, site->role, sem, line, length, from, to))
		return true;
	int index = positional_index(insn, site->operand);
	*from = find_word(line, 0, length, mnemonic);
	*to = *from + (int)strlen(mnemonic);
	if (*from >= 0 && index >= 0)
		find_operand(line, *to, length, (unsigned)index, from, to);
	return *from >= 0;
}

/* What a line of C emits; there the word of an instruction may be a field. */
static int find_emitted(const char *line, int length)
{
	static const char prefix[] = "NPU_OP_";
	for (int at = 0; at + (int)sizeof prefix <= length; at++)
		if (memcmp(line + at, prefix, sizeof prefix - 1) == 0)
			return at;
	return -1;
}

void source_caret(const struct npu_program *program, const struct npu_check_site *site, uint32_t sem, const char *line,
		  int length, unsigned *column, unsigned *width)
{
	int from = find_emitted(line, length), to = from;
	if (from < 0 && !find_site(program, site, sem, line, length, &from, &to))
		from = to = skip_blanks(line, 0, length);
	while (from == to || (to < length && is_word(line[to]) && is_word(line[to - 1])))
		to++;
	*column = (unsigned)from + 1;
	*width = (unsigned)(to - from);
}

void source_caret_word(const char *line, int length, const char *word, unsigned *column, unsigned *width)
{
	int from = find_word(line, 0, length, word), to = from + (int)strlen(word);
	if (from < 0)
		from = to = skip_blanks(line, 0, length);
	while (from == to || (to < length && is_word(line[to]) && is_word(line[to - 1])))
		to++;
	*column = (unsigned)from + 1;
	*width = (unsigned)(to - from);
}

/* The first line of a directive that holds the name, as it stands before an index. */
static bool find_declaration(const struct source *source, const char *directive, const char *name, struct check_place *found)
{
	char base[NPU_MAX_NAME + 1];
	const char *line;
	int n = (int)strlen(directive);
	snprintf(base, sizeof base, "%s", name);
	base[strcspn(base, "[")] = '\0';
	for (uint32_t i = 1; source && i <= source->nlines; i++) {
		int length = line_of(source, i, &line), at = skip_blanks(line, 0, length);
		if (at + n > length || memcmp(line + at, directive, (size_t)n) != 0)
			continue;
		at = find_word(line, at + n, length, base);
		if (at < 0)
			continue;
		*found = (struct check_place){ .line = i, .column = (unsigned)at + 1, .width = (unsigned)strlen(base),
					       .text = line, .length = length };
		return true;
	}
	return false;
}

bool source_of_sem(struct sources *s, uint32_t insn, uint32_t sem, struct check_place *found)
{
	const struct npu_place *place = &s->program->place[insn];
	const struct source *source = place->line ? open_source(s, place->file) : NULL;
	return find_declaration(source, ".sem", s->program->sems[sem].name, found);
}

bool source_of_name(struct sources *s, const char *name, bool tensor, struct check_place *found)
{
	static const char *const directives[] = { ".tensor", ".sram", ".acc", ".buffer" };
	for (uint32_t f = 0; f < s->program->nfiles; f++)
		for (unsigned d = tensor ? 0 : 1; d < (tensor ? 1 : sizeof directives / sizeof *directives); d++)
			if (find_declaration(open_source(s, f), directives[d], name, found)) {
				found->file = s->program->files[f];
				return true;
			}
	return false;
}
