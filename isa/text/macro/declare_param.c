/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters, which the command line may set, and variables. */
#include "isa/text/macro/declare.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "512", "32k", "2MiB": a size as kernels take it. */
static bool parse_size(const char *text, int64_t *out)
{
	static const struct {
		const char *name;
		int shift;
	} units[] = { { "", 0 }, { "k", 10 }, { "KiB", 10 }, { "MiB", 20 }, { "GiB", 30 } };
	char *end;
	errno = 0;
	long long value = strtoll(text, &end, 0);
	if (end == text || errno || *text == ' ')
		return false;
	for (unsigned i = 0; i < sizeof units / sizeof units[0]; i++)
		if (strcmp(end, units[i].name) == 0)
			return !__builtin_mul_overflow(value, (int64_t)1 << units[i].shift, out);
	return false;
}

/* What the command line says about a parameter; NULL: nothing. The last one counts. */
static const char *given_param(struct npu_mac *s, const char *name)
{
	const char *value = NULL;
	size_t length = strlen(name);
	for (unsigned i = 0; i < s->options->nparams; i++) {
		const char *text = s->options->params[i];
		if (strncmp(text, name, length) != 0 || text[length] != '=')
			continue;
		s->param_used[i] = true;
		value = text + length + 1;
	}
	return value;
}

/* The statement is forgotten when it has run. */
static bool keep_choices(struct npu_mac *s, const char **choices, unsigned n, struct npu_mac_choices *out)
{
	const char **names = npu_arena_alloc(s->arena, n, sizeof *names);
	if (!names)
		return npu_mac_no_memory(s);
	*out = (struct npu_mac_choices){ names, n, false };
	for (unsigned i = 0; i < n; i++)
		if (!(names[i] = npu_mac_kept_text(s, s->arena, choices[i])))
			return false;
	return true;
}

static bool choose(struct npu_mac *s, const struct npu_mac_decl *d, const char *given, struct npu_mac_value *out)
{
	const char *word = given ? given : d->choices[0];
	char list[160];
	size_t used = 0;
	unsigned n = 0;
	bool found = false;
	list[0] = '\0';
	for (; d->choices[n]; n++) {
		found |= strcmp(d->choices[n], word) == 0;
		if (used < sizeof list)
			used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", n ? ", " : "", d->choices[n]);
	}
	/* one word alone is a default, not a list */
	if (!found && n > 1)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, d->span, "%s=%.64s: one of %s would be right",
					 d->symbol->name, word, list);
	const struct npu_mac_symbol *symbol = npu_mac_symbol(s, word, strlen(word));
	if (!symbol)
		return false;
	*out = (struct npu_mac_value){ .kind = NPU_MAC_WORD, .word = symbol->name };
	return n < 2 || keep_choices(s, d->choices, n, &out->choices);
}

/* "none|causal"; NULL without an error where there is no list. One word alone is a default. */
static const char *list_choices(struct npu_mac *s, const char *const *choices)
{
	size_t bytes = 0;
	if (!choices || !choices[0] || !choices[1])
		return NULL;
	for (unsigned i = 0; choices[i]; i++)
		bytes += strlen(choices[i]) + 1;
	char *list = npu_arena_alloc(s->result, bytes, 1), *end = list;
	for (unsigned i = 0; list && choices[i]; i++) {
		size_t n = strlen(choices[i]);
		if (i)
			*end++ = '|';
		memcpy(end, choices[i], n + 1);
		end += n;
	}
	if (!list)
		npu_mac_no_memory(s);
	return list;
}

/* The comment of the line of a declaration. */
static const char *comment_of(struct npu_mac *s, const struct npu_mac_decl *d)
{
	const struct npu_source *source = &s->cursor.file->source;
	const char *at = d->span.end, *end = memchr(at, '\n', (size_t)(source->end - at));
	bool quoted = false;
	for (end = end ? end : source->end; at < end && (quoted || *at != ';'); at++)
		quoted ^= *at == '"';
	while (at < end && (*at == ';' || *at == ' ' || *at == '\t'))
		at++;
	while (end > at && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	const char *copy = npu_arena_text(s->result, at, (size_t)(end - at));
	if (!copy)
		npu_mac_no_memory(s);
	return copy;
}

static bool record_param(struct npu_mac *s, const struct npu_mac_decl *d, const struct npu_mac_value *value)
{
	char text[32];
	if ((s->nparams & (s->nparams - 1)) == 0) {
		unsigned room = s->nparams ? 2 * s->nparams : 1;
		struct npu_macro_param *grown = realloc(s->params, room * sizeof *grown);
		if (!grown)
			return npu_mac_no_memory(s);
		s->params = grown;
	}
	snprintf(text, sizeof text, "%" PRId64, value->kind == NPU_MAC_INT ? value->number : 0);
	struct npu_macro_param *p = &s->params[s->nparams];
	p->name = npu_mac_kept_text(s, s->result, d->symbol->name);
	p->value = npu_mac_kept_text(s, s->result, value->kind == NPU_MAC_WORD ? value->word : text);
	p->words = list_choices(s, d->choices);
	p->meaning = comment_of(s, d);
	s->nparams++;
	return p->name && p->value && !s->failed;
}

/* What the default means when it is a name alone, which may have got a value since it was read. */
static const struct npu_mac_binding *default_name(struct npu_mac *s, const struct npu_mac_decl *d)
{
	const struct npu_mac_node *node = d->value;
	if (node)
		return node->kind == NPU_MAC_NAME && !node->n ? node->symbol->binding : NULL;
	if (!d->choices || d->choices[1])
		return NULL;
	const struct npu_symbol *found = npu_symbols_find(&s->symbols, d->choices[0], strlen(d->choices[0]));
	const struct npu_mac_symbol *symbol = found ? (void *)(uintptr_t)found->value : NULL;
	return symbol ? symbol->binding : NULL;
}

bool npu_mac_declare_param(struct npu_mac *s, const struct npu_mac_decl *d)
{
	struct npu_mac_value value = { .kind = NPU_MAC_INT };
	const char *given = given_param(s, d->symbol->name);
	if (d->symbol->binding)
		return npu_mac_refuse_second(s, d);
	if (s->depth)
		return npu_mac_refuse(s, d->span, ".param stands outside of .for, .if and .macro");
	const struct npu_mac_binding *same = default_name(s, d);
	bool word = same ? same->value.kind == NPU_MAC_WORD : d->choices != NULL;
	if (same && (word ? !given : !given && same->value.kind == NPU_MAC_INT)) {
		value = same->value;
	} else if (same && word) {
		const struct npu_mac_symbol *symbol = npu_mac_symbol(s, given, strlen(given));
		if (!symbol)
			return false;
		value = (struct npu_mac_value){ .kind = NPU_MAC_WORD, .word = symbol->name };
	} else if (word) {
		if (!choose(s, d, given, &value))
			return false;
	} else if (given) {
		if (!parse_size(given, &value.number))
			return npu_mac_refuse_as(s, NPU_ERR_VALUE, d->span, "%s=%.64s: a whole number would be right",
						 d->symbol->name, given);
	} else if (!d->value) {
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, d->span, "%s is no value", d->choices[0]);
	} else if (!npu_mac_int(s, d->value, &value.number)) {
		return false;
	}
	if (!record_param(s, d, &value))
		return false;
	struct npu_mac_binding *b = npu_mac_bind(s, d->symbol, value, d->span);
	if (b)
		b->fixed = true;
	return b != NULL;
}

/* Changes a variable of this macro (or of the file), else makes a new one. */
bool npu_mac_declare_let(struct npu_mac *s, const struct npu_mac_decl *d)
{
	struct npu_mac_value value;
	struct npu_mac_binding *b = npu_mac_bound(s, d->symbol);
	uint32_t frame = s->depth ? s->macro_frame + 1 : 0;
	if (!npu_mac_value(s, d->value, &value))
		return false;
	if (b && (b->frame == frame || b->frame == 0)) {
		if (b->fixed || b->value.kind == NPU_MAC_OBJECT)
			return npu_mac_refuse_as(
			    s, NPU_ERR_VALUE, d->span, "%s is %s, at %s: .let does not change it", d->symbol->name,
			    b->value.kind == NPU_MAC_OBJECT ? "declared" : "a parameter or counts a loop",
			    npu_mac_where(s, b->span).text);
		npu_mac_drop_value(s, &b->value);
		b->value = value;
		return true;
	}
	return npu_mac_bind(s, d->symbol, value, d->span) != NULL;
}
