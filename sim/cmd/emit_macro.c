/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the defaults of .param lines. It knows just as much of their syntax: NAME=number or NAME=word|word, with
 * commas between. NAME_buffers is the number of buffers of that name that the kernel placed. */
#include "sim/cmd/emit_macro.h"

#include "isa/macro.h"
#include "isa/units.h"
#include "sim/simulate_parts.h"
#include "traces/programs.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHOICES_BYTES = 256 };

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* "bf16|fp16|int8": the choices of a default with `word` in front. False: it is none of them. */
static bool put_first(const char *begin, const char *end, const char *word, char out[CHOICES_BYTES])
{
	size_t length = strlen(word), used = (size_t)snprintf(out, CHOICES_BYTES, "%s", word);
	bool found = false;
	while (begin < end) {
		const char *bar = memchr(begin, '|', (size_t)(end - begin));
		const char *stop = bar ? bar : end;
		bool same = (size_t)(stop - begin) == length && memcmp(begin, word, length) == 0;
		found |= same;
		if (!same && used < CHOICES_BYTES)
			used += (size_t)snprintf(out + used, CHOICES_BYTES - used, "|%.*s", (int)(stop - begin), begin);
		begin = bar ? bar + 1 : end;
	}
	return found;
}

/* Buffers that `param`, NAME_buffers, tells; 0: it is no such parameter, or there are none. */
static unsigned buffers_told(const struct npu_program *p, const char *param)
{
	static const char suffix[] = "_buffers";
	size_t length = strlen(param), name = length - (sizeof suffix - 1);
	unsigned n = 0;
	if (length < sizeof suffix || strcmp(param + name, suffix) != 0)
		return 0;
	for (uint32_t i = 0; i < p->nbuffers; i++) {
		const char *of = p->buffers[i].name;
		n += strncmp(of, param, name) == 0 && (of[name] == '\0' || of[name] == '[');
	}
	return n;
}

/* One NAME=default of a .param line, at `at`; writes it and returns where the next one begins. */
static const char *replace(const struct npu_kernel *kernel, const struct npu_args *args,
			   const struct npu_program *built, const char *at, const char *line_end, bool *written, FILE *out, struct npu_error *err)
{
	char name[64], word[32], choices[CHOICES_BYTES];
	const char *equals = memchr(at, '=', (size_t)(line_end - at));
	const char *comment = memchr(at, ';', (size_t)(line_end - at));
	if (!equals || (comment && comment < equals)) {
		fwrite(at, 1, (size_t)(line_end - at), out);
		return line_end;
	}
	const char *begin = equals;
	while (begin > at && is_word(begin[-1]))
		begin--;
	snprintf(name, sizeof name, "%.*s", (int)(equals - begin), begin);
	const char *end = equals + 1;
	while (end < line_end && (is_word(*end) || *end == '|'))
		end++;
	int i = npu_param_index(kernel, name);
	unsigned buffers = buffers_told(built, name);
	fwrite(at, 1, (size_t)(equals + 1 - at), out);
	if (buffers) {
		fprintf(out, "%u", buffers);
	} else if (i < 0) {
		fwrite(equals + 1, 1, (size_t)(end - equals - 1), out);
	} else if (kernel->params[i].type == NPU_PARAM_INT || !memchr(equals, '|', (size_t)(end - equals))) {
		written[i] = true;
		fprintf(out, "%" PRId64, args->value[i]);
	} else {
		const char *value = simulate_arg_text(kernel, args, (unsigned)i, word);
		written[i] = true;
		if (!put_first(equals + 1, end, value, choices)) {
			npu_fail(err, NPU_ERR_VALUE, "%s=%s: the source of %s knows %.*s; --style=flat writes the rest",
				 name, value, kernel->name, (int)(end - equals - 1), equals + 1);
			return NULL;
		}
		fputs(choices, out);
	}
	return end;
}

static bool write_lines(const struct npu_kernel *kernel, const struct npu_args *args, const struct npu_program *built,
			const struct traces_program *program, bool *written, FILE *out, struct npu_error *err)
{
	static const char directive[] = ".param";
	const char *end = program->text + program->nbytes;
	for (const char *at = program->text; at < end;) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *line_end = newline ? newline : end;
		bool param = line_end - at > (long)sizeof directive && memcmp(at, directive, sizeof directive - 1) == 0;
		while (param && at && at < line_end)
			at = replace(kernel, args, built, at, line_end, written, out, err);
		if (!at)
			return false;
		fwrite(at, 1, (size_t)(line_end - at), out);
		fputc('\n', out);
		at = line_end + 1;
	}
	return true;
}

static char *source_of(const struct npu_kernel *kernel, const struct npu_args *args, const struct npu_program *built,
		       struct npu_error *err)
{
	const struct traces_program *program = traces_program_find(kernel->name);
	bool written[NPU_MAX_PARAMS] = { false };
	char *text = NULL;
	size_t size;
	if (!program) {
		npu_fail(err, NPU_ERR_VALUE, "%s has no source in macro assembly; --style=flat writes its instructions",
			 kernel->name);
		return NULL;
	}
	FILE *out = open_memstream(&text, &size);
	if (!out) {
		npu_fail(err, NPU_ERR_MEMORY, "out of memory");
		return NULL;
	}
	bool ok = write_lines(kernel, args, built, program, written, out, err);
	for (unsigned i = 0; ok && i < kernel->nparams; i++)
		if (!written[i] && args->named[i] && npu_param_matters(kernel, args, i))
			ok = npu_fail(err, NPU_ERR_VALUE,
				      "%s: the source of %s has no such parameter; --style=flat takes it",
				      kernel->params[i].name, kernel->name);
	if (fclose(out) != 0 && ok)
		ok = npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	if (ok)
		return text;
	free(text);
	return NULL;
}

/* ---- buffers ---- */

static uint64_t buffer_bytes(const struct npu_program *p)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < p->nbuffers; i++)
		bytes += p->buffers[i].bytes;
	return bytes;
}

/* The size that is 0 where it is not by itself, which leaves nothing to tile; NULL: none. */
static const char *empty_size(const struct npu_kernel *kernel, const struct npu_args *args)
{
	for (unsigned i = 0; i < kernel->nparams; i++)
		if (kernel->params[i].type == NPU_PARAM_INT && args->named[i] && !args->value[i] &&
		    (kernel->params[i].derived || kernel->params[i].initial))
			return kernel->params[i].name;
	return NULL;
}

/* Whether the source makes of this what the kernel makes, in the buffers that it took. */
static bool makes_the_same(const struct npu_kernel *kernel, const struct npu_args *args, const char *text, const struct npu_program *program,
			   const struct npu_capacity *capacity, struct npu_error *err)
{
	struct npu_macro_options options = { .capacity = capacity };
	struct npu_error why = { .code = NPU_ERR_NONE };
	struct npu_macro *m = npu_macro_text(text, strlen(text), program->name, &options, &why);
	bool ok = false;
	const char *empty = m ? NULL : empty_size(kernel, args);
	if (empty)
		npu_fail(err, NPU_ERR_VALUE, "%s=0: the source of %s has tiles of at least one element; --style=flat writes the instructions",
			 empty, kernel->name);
	else if (!m)
		npu_fail(err, NPU_ERR_VALUE, "the source of %s does not take this: %.*s; --style=flat writes the instructions",
			 kernel->name, (int)strcspn(why.text, "\n"), why.text);
	else if (m->program->ninsns != program->ninsns)
		npu_fail(err, NPU_ERR_VALUE,
			 "the source of %s makes %s of this, and the kernel %" PRIu32 "; --style=flat writes the instructions",
			 kernel->name, npu_number_of(m->program->ninsns, "instruction").text, program->ninsns);
	else if (m->program->nbuffers != program->nbuffers || buffer_bytes(m->program) != buffer_bytes(program))
		npu_fail(err, NPU_ERR_FIT,
			 "the source of %s takes %" PRIu32 " buffers here, the kernel %" PRIu32
			 "; --style=flat writes the instructions",
			 kernel->name, m->program->nbuffers, program->nbuffers);
	else
		ok = true;
	npu_macro_free(m);
	return ok;
}

char *emit_macro(const struct npu_kernel *kernel, const struct npu_args *args, const struct npu_program *program,
		 const struct npu_capacity *capacity, struct npu_error *err)
{
	char *text = source_of(kernel, args, program, err);
	if (text && !makes_the_same(kernel, args, text, program, capacity, err)) {
		free(text);
		return NULL;
	}
	return text;
}
