/* SPDX-License-Identifier: Apache-2.0 */
/* Messages: file, line, column, caret, then what was being expanded, innermost first. */
#include "isa/text/macro/state.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FRAMES = 12, MOST_MISTAKES = 1000, LONGEST_NAME = 64, MOST_NAMES = 4096 };

static const struct npu_source *source_of(const struct npu_mac *s, const char *at)
{
	for (const struct npu_mac_file *f = s->files; f; f = f->next)
		if (at >= f->source.begin && at <= f->source.end)
			return &f->source;
	return s->cursor.file ? &s->cursor.file->source : NULL;
}

const char *npu_mac_other_file(const struct npu_mac *s, struct npu_mac_span span)
{
	const struct npu_mac_file *f = s->files;
	while (f->next && !(span.begin >= f->source.begin && span.begin <= f->source.end))
		f = f->next;
	return f->next ? f->source.file : NULL; /* the last of the list was the first to be read */
}

void npu_mac_place_of(const struct npu_mac *s, struct npu_mac_span span, const char **file, uint32_t *line,
		      uint32_t *column)
{
	const struct npu_source *source = span.begin ? source_of(s, span.begin) : NULL;
	*file = source ? source->file : NULL;
	*line = *column = source ? 1 : 0;
	for (const char *c = source ? source->begin : span.begin; c < span.begin; c++) {
		*column = *c == '\n' ? 1 : *column + 1;
		*line += *c == '\n';
	}
}

struct npu_mac_where npu_mac_where(const struct npu_mac *s, struct npu_mac_span span)
{
	struct npu_mac_where where = { "" };
	const char *file;
	uint32_t line, column;
	npu_mac_place_of(s, span, &file, &line, &column);
	if (!file)
		return where;
	size_t length = strlen(file), shown = length < 72 ? length : 72;
	snprintf(where.text, sizeof where.text, "%s:%" PRIu32, file + (length - shown), line);
	return where;
}

static const struct npu_mac_object *object_of(const struct npu_mac_value *v)
{
	return v->kind == NPU_MAC_OBJECT ? v->object : v->kind == NPU_MAC_VIEW ? v->view->object : NULL;
}

/* " i=2, mask=causal, x=k": numbers and words as they are, the rest by name. */
static void args_text(const struct npu_mac_frame *f, char *out, size_t size)
{
	size_t used = 0;
	out[0] = '\0';
	for (unsigned i = 0; i < f->nargs && used < size; i++) {
		const struct npu_mac_value *v = &f->args[i];
		const char *name = f->symbol->macro->params[i]->name;
		if (v->kind == NPU_MAC_INT)
			used += (size_t)snprintf(out + used, size - used, "%s %s=%" PRId64, used ? "," : "", name,
						 v->number);
		else if (v->kind == NPU_MAC_WORD)
			used += (size_t)snprintf(out + used, size - used, "%s %s=%s", used ? "," : "", name, v->word);
		else if (object_of(v))
			used += (size_t)snprintf(out + used, size - used, "%s %s=%s%s", used ? "," : "", name,
						 object_of(v)->name,
						 v->kind == NPU_MAC_VIEW && !v->view->whole ? "[...]" : "");
	}
}

static void note_frames(struct npu_mac *s)
{
	char args[160];
	unsigned n = 0;
	for (const struct npu_mac_frame *f = s->frame; f; f = f->below) {
		if (++n > MOST_FRAMES)
			continue;
		struct npu_mac_where where = npu_mac_where(s, f->span);
		switch (f->kind) {
		case NPU_MAC_IN_LOOP:
			npu_error_note(s->err, "  with %s = %" PRId64 ", .for at %s", f->symbol->name, f->value,
				       where.text);
			break;
		case NPU_MAC_IN_MACRO:
			args_text(f, args, sizeof args);
			npu_error_note(s->err, "  in macro %s%s%s, used at %s", f->symbol->name, *args ? " with" : "",
				       args, where.text);
			break;
		case NPU_MAC_IN_FILE:
			npu_error_note(s->err, "  included at %s", where.text);
			break;
		}
	}
	if (n > MOST_FRAMES)
		npu_error_note(s->err, "  and %u more around it", n - MOST_FRAMES);
}

static bool refuse(struct npu_mac *s, enum npu_error_code code, struct npu_mac_span span, const char *format,
		   va_list args)
{
	char text[1024];
	vsnprintf(text, sizeof text, format, args);
	bool shown = npu_diag_has_room(&s->diag);
	s->diag.source = source_of(s, span.begin);
	npu_diag_at(&s->diag, code, span.begin, span.end, "%s", text);
	if (shown)
		note_frames(s);
	s->failed = true;
	s->stopped |= !s->reading || s->diag.count == MOST_MISTAKES;
	return false;
}

bool npu_mac_refuse(struct npu_mac *s, struct npu_mac_span span, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	refuse(s, NPU_ERR_SYNTAX, span, format, args);
	va_end(args);
	return false;
}

bool npu_mac_refuse_as(struct npu_mac *s, enum npu_error_code code, struct npu_mac_span span, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	refuse(s, code, span, format, args);
	va_end(args);
	return false;
}

bool npu_mac_no_memory(struct npu_mac *s)
{
	s->out_of_memory = true;
	s->failed = s->stopped = true;
	return false;
}

static struct npu_mac_hint meant(const char *nearest)
{
	struct npu_mac_hint hint = { "" };
	if (nearest)
		snprintf(hint.text, sizeof hint.text, "; did you mean %s?", nearest);
	return hint;
}

static bool wanted_of(struct npu_mac_span span, char out[LONGEST_NAME])
{
	size_t length = (size_t)(span.end - span.begin);
	if (length == 0 || length >= LONGEST_NAME)
		return false;
	memcpy(out, span.begin, length);
	out[length] = '\0';
	return true;
}

struct npu_mac_hint npu_mac_hint_of(const char *const *names, unsigned n, struct npu_mac_span span)
{
	char wanted[LONGEST_NAME];
	struct npu_mac_hint hint = { "" };
	const char *nearest = wanted_of(span, wanted) ? npu_nearest(wanted, names, n) : NULL;
	if (nearest)
		return meant(nearest);
	size_t used = (size_t)snprintf(hint.text, sizeof hint.text, "; one of");
	for (unsigned i = 0; i < n && used < sizeof hint.text; i++)
		used += (size_t)snprintf(hint.text + used, sizeof hint.text - used, "%s %s", i ? "," : "", names[i]);
	return hint;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The order of the slots means nothing: of equally near names the first in the alphabet is told. */
static struct npu_mac_hint nearest_of(const char **names, unsigned n, const char *wanted)
{
	qsort(names, n, sizeof *names, by_text);
	return meant(npu_nearest(wanted, names, n));
}

static bool is_of(const struct npu_mac_binding *b, unsigned kinds)
{
	switch (b ? b->value.kind : NPU_MAC_INT) {
	case NPU_MAC_OBJECT:
		return kinds >> b->value.object->kind & 1;
	case NPU_MAC_VIEW:
		return kinds >> NPU_MAC_BUFFER_OBJECT & 1;
	case NPU_MAC_SEM:
		return kinds >> NPU_MAC_SEM_OBJECT & 1;
	case NPU_MAC_INT:
	case NPU_MAC_WORD:
		break;
	}
	return false;
}

struct npu_mac_hint npu_mac_hint(const struct npu_mac *s, struct npu_mac_span span)
{
	return npu_mac_hint_kinds(s, span, 0);
}

struct npu_mac_hint npu_mac_hint_kinds(const struct npu_mac *s, struct npu_mac_span span, unsigned kinds)
{
	char wanted[LONGEST_NAME];
	const char *names[MOST_NAMES];
	unsigned n = 0;
	if (!npu_diag_has_room(&s->diag) || !wanted_of(span, wanted))
		return meant(NULL);
	for (uint32_t i = 0; i < s->symbols.capacity && n < MOST_NAMES; i++) {
		const struct npu_symbol *slot = &s->symbols.slots[i];
		const struct npu_mac_symbol *symbol = slot->name ? (void *)(uintptr_t)slot->value : NULL;
		const struct npu_mac_binding *bound = symbol ? npu_mac_bound(s, symbol) : NULL;
		if (bound && symbol->length < LONGEST_NAME && (!kinds || is_of(bound, kinds)))
			names[n++] = symbol->name;
	}
	return nearest_of(names, n, wanted);
}

struct npu_mac_hint npu_mac_hint_any(const struct npu_mac *s, struct npu_mac_span span)
{
	char wanted[LONGEST_NAME];
	const char *names[MOST_NAMES];
	unsigned n = 0;
	if (!npu_diag_has_room(&s->diag) || !wanted_of(span, wanted))
		return meant(NULL);
	for (; n < npu_nops && n < MOST_NAMES; n++)
		names[n] = npu_ops[n].mnemonic;
	for (uint32_t i = 0; i < s->symbols.capacity && n < MOST_NAMES; i++) {
		const struct npu_symbol *slot = &s->symbols.slots[i];
		const struct npu_mac_symbol *symbol = slot->name ? (void *)(uintptr_t)slot->value : NULL;
		if (symbol && symbol->macro && symbol->length < LONGEST_NAME)
			names[n++] = symbol->name;
	}
	return nearest_of(names, n, wanted);
}
