/* SPDX-License-Identifier: Apache-2.0 */
/* libyaml behind limits. A pass over the events refuses, before the tree is built, what would make it slow or
 * ambiguous. */
#include "sim/config_yaml.h"
#include "sim/config_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool out_of_memory(struct npu_error *err) { return npu_fail(err, NPU_ERR_MEMORY, "out of memory"); }

static bool fail_at_mark(const struct yaml_file *file, const yaml_mark_t *mark, struct npu_error *err, const char *text)
{
	return npu_fail_at(err, NPU_ERR_SYNTAX, file->name, (uint32_t)mark->line + 1, (uint32_t)mark->column + 1, "%s",
			   text);
}

/* libyaml gives bad bytes an offset, not a line. */
static bool fail_at_offset(const struct yaml_file *file, uint64_t offset, struct npu_error *err, const char *text)
{
	uint32_t line = 1, column = 1;
	for (uint64_t i = 0; i < offset && i < file->nbytes; i++) {
		column++;
		if (file->text[i] == '\n') {
			line++;
			column = 1;
		}
	}
	return npu_fail_at(err, NPU_ERR_SYNTAX, file->name, line, column, "%s; a YAML file is UTF-8 text", text);
}

static bool fail_parse(const struct yaml_file *file, const yaml_parser_t *parser, struct npu_error *err)
{
	const char *problem = parser->problem ? parser->problem : "not YAML";
	if (parser->error == YAML_MEMORY_ERROR)
		return out_of_memory(err);
	if (parser->error == YAML_READER_ERROR)
		return fail_at_offset(file, parser->problem_offset, err, problem);
	return fail_at_mark(file, &parser->problem_mark, err, problem);
}

static void parser_start(yaml_parser_t *parser, const struct yaml_file *file)
{
	/* Without an encoding libyaml would take UTF-16 where a file begins like it. */
	yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(parser, (const unsigned char *)file->text, file->nbytes);
}

/* One event of the first pass. */
static bool check_event(const struct yaml_file *file, const yaml_event_t *event, int *depth, int *documents,
			struct npu_error *err)
{
	const yaml_mark_t *mark = &event->start_mark;
	if (event->type == YAML_ALIAS_EVENT)
		return fail_at_mark(file, mark, err, "aliases (*name) are not taken: write the value again");
	if (event->type == YAML_DOCUMENT_START_EVENT && ++*documents > 1)
		return fail_at_mark(file, mark, err, "a second document: one is read");
	if (event->type == YAML_MAPPING_START_EVENT || event->type == YAML_SEQUENCE_START_EVENT)
		if (++*depth > YAML_DEPTH_MAX)
			return fail_at_mark(file, mark, err, "nested deeper than 32 levels");
	if (event->type == YAML_MAPPING_END_EVENT || event->type == YAML_SEQUENCE_END_EVENT)
		--*depth;
	return true;
}

static bool check_events(const struct yaml_file *file, struct npu_error *err)
{
	yaml_parser_t parser;
	yaml_event_t event;
	int depth = 0, documents = 0;
	bool ok = true, more = true;
	if (!yaml_parser_initialize(&parser))
		return out_of_memory(err);
	parser_start(&parser, file);
	while (ok && more) {
		if (!yaml_parser_parse(&parser, &event)) {
			ok = fail_parse(file, &parser, err);
			break;
		}
		more = event.type != YAML_STREAM_END_EVENT;
		ok = check_event(file, &event, &depth, &documents, err);
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	return ok;
}

static bool build_tree(struct yaml_file *file, struct npu_error *err)
{
	yaml_parser_t parser;
	if (!yaml_parser_initialize(&parser))
		return out_of_memory(err);
	parser_start(&parser, file);
	bool ok = yaml_parser_load(&parser, &file->document) != 0;
	if (!ok)
		fail_parse(file, &parser, err);
	yaml_parser_delete(&parser);
	return ok;
}

/* Takes the text over, also on failure. */
static bool open_text(struct yaml_file *file, char *text, uint64_t nbytes, const char *name, struct npu_error *err)
{
	/* A byte order mark says UTF-8, which it is anyway. */
	if (nbytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		memmove(text, text + 3, (size_t)(nbytes -= 3) + 1);
	*file = (struct yaml_file){ .name = strdup(name), .text = text, .nbytes = nbytes };
	if (file->name && check_events(file, err) && build_tree(file, err))
		return true;
	if (!file->name)
		out_of_memory(err);
	free(file->name);
	free(file->text);
	return false;
}

bool yaml_file_open(struct yaml_file *file, const char *path, struct npu_error *err)
{
	uint64_t nbytes;
	char *text = read_whole_file(path, YAML_FILE_MAX, &nbytes, err);
	return text && open_text(file, text, nbytes, strcmp(path, "-") == 0 ? "stdin" : path, err);
}

bool yaml_file_text(struct yaml_file *file, const char *text, uint64_t nbytes, const char *name, struct npu_error *err)
{
	if (nbytes > YAML_FILE_MAX)
		return npu_fail(err, NPU_ERR_IO, "%s: larger than 1024 KiB, the most that is read", name);
	char *copy = malloc(nbytes + 1);
	if (!copy)
		return out_of_memory(err);
	memcpy(copy, text, nbytes);
	copy[nbytes] = '\0';
	return open_text(file, copy, nbytes, name, err);
}

void yaml_file_close(struct yaml_file *file)
{
	yaml_document_delete(&file->document);
	free(file->name);
	free(file->text);
}

const yaml_node_t *yaml_file_node(const struct yaml_file *file, int node)
{
	/* libyaml's accessors take no const, and change nothing. */
	return yaml_document_get_node((yaml_document_t *)&file->document, node);
}

const char *yaml_scalar(const yaml_node_t *node)
{
	if (!node || node->type != YAML_SCALAR_NODE)
		return NULL;
	const char *text = (const char *)node->data.scalar.value;
	return strlen(text) == node->data.scalar.length ? text : NULL;
}

bool yaml_fail(const struct yaml_file *file, const yaml_node_t *node, struct npu_error *err, const char *format, ...)
{
	char text[sizeof err->text];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return npu_fail_at(err, NPU_ERR_VALUE, file->name, (uint32_t)node->start_mark.line + 1,
			   (uint32_t)node->start_mark.column + 1, "%s", text);
}

struct span {
	const char *at;
	size_t length;
};

/* Line `number` (from 0) without its end; false past the last. */
static bool find_line(const struct yaml_file *file, size_t number, struct span *line)
{
	const char *at = file->text, *end = file->text + file->nbytes;
	for (; number; number--) {
		at = memchr(at, '\n', (size_t)(end - at));
		if (!at++)
			return false;
	}
	const char *stop = memchr(at, '\n', (size_t)(end - at));
	*line = (struct span){ at, (size_t)((stop ? stop : end) - at) };
	return true;
}

static struct span trim(struct span s)
{
	while (s.length && (*s.at == ' ' || *s.at == '\t' || *s.at == '#')) {
		s.at++;
		s.length--;
	}
	while (s.length && strchr(" \t\r", s.at[s.length - 1]))
		s.length--;
	return s;
}

/* The comment behind column `from` of a line, without its #; empty when there is none. */
static struct span comment_behind(struct span line, size_t from)
{
	for (size_t i = from; i < line.length; i++)
		if (line.at[i] == '#' && (i == 0 || line.at[i - 1] == ' ' || line.at[i - 1] == '\t'))
			return trim((struct span){ line.at + i, line.length - i });
	return (struct span){ line.at, 0 };
}

static bool is_comment_line(struct span line)
{
	size_t i = 0;
	while (i < line.length && (line.at[i] == ' ' || line.at[i] == '\t'))
		i++;
	return i < line.length && line.at[i] == '#';
}

char *yaml_comment(const struct yaml_file *file, const yaml_node_t *value)
{
	char *text = NULL;
	size_t nbytes = 0, number = value->end_mark.line, first;
	struct span line;
	FILE *out = open_memstream(&text, &nbytes);
	if (!out)
		return NULL;
	struct span comment = { NULL, 0 };
	if (find_line(file, number, &line))
		comment = comment_behind(line, value->end_mark.column);
	fprintf(out, "%.*s", (int)comment.length, comment.at ? comment.at : "");
	for (first = number; !comment.length && first > 0 && find_line(file, first - 1, &line) && is_comment_line(line);)
		first--;
	for (size_t i = first; !comment.length && i < number; i++)
		if (find_line(file, i, &line)) {
			struct span above = trim(line);
			fprintf(out, "%s%.*s", i > first ? " " : "", (int)above.length, above.at);
		}
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
