/* SPDX-License-Identifier: Apache-2.0 */
/* `where`: conditions, bound to what their names stand for. */
#include "sim/sweep/names.h"
#include "sim/sweep/spec_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct npu_param *param_of(const struct sweep_spec *spec, const char *name)
{
	int i = spec->kernel ? npu_param_index(spec->kernel, name) : -1;
	return i >= 0 ? &spec->kernel->params[i] : NULL;
}

static bool fail_in(struct spec_reader *r, const yaml_node_t *node, uint32_t column, const char *text)
{
	spec_fail(r, node, "where: %s", text);
	if (column)
		r->err->column += column - 1 + (node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE);
	return false;
}

static const struct npu_macro_param *macro_param_of(const struct spec_reader *r, const char *name)
{
	for (unsigned i = 0; r->macro && i < r->macro->nparams; i++)
		if (strcmp(r->macro->params[i].name, name) == 0)
			return &r->macro->params[i];
	return NULL;
}

static const char *known(void *context, unsigned at, enum expr_kind *kind)
{
	const struct spec_reader *r = context;
	const char *name = expr_name(r->spec->where, at, NULL);
	const struct npu_param *p = param_of(r->spec, name);
	const struct config_key *key = config_key_find(name);
	const struct npu_macro_param *m = macro_param_of(r, name);
	if (sweep_kind(r->space, name, kind))
		return name;
	if (p)
		*kind = p->type == NPU_PARAM_CHOICE ? EXPR_WORD : EXPR_NUMBER;
	else if (key)
		*kind = sweep_key_kind(key);
	else if (m)
		*kind = m->words ? EXPR_WORD : EXPR_ANY;
	return p || key || m ? name : NULL;
}

static bool fail_unknown(struct spec_reader *r, const yaml_node_t *node, const char *name, uint32_t column)
{
	const struct sweep_spec *spec = r->spec;
	const char *names[CONFIG_KEYS_MAX + 2 * NPU_MAX_PARAMS + SWEEP_AXES];
	char text[256];
	unsigned n = 0;
	for (unsigned a = 0; a < r->space->naxes; a++)
		names[n++] = r->space->axes[a].name;
	for (unsigned k = 0; spec->kernel && k < spec->kernel->nparams; k++)
		names[n++] = spec->kernel->params[k].name;
	for (unsigned k = 0; r->macro && k < r->macro->nparams && k < NPU_MAX_PARAMS; k++)
		names[n++] = r->macro->params[k].name;
	for (unsigned k = 0; k < config_nkeys; k++)
		names[n++] = config_keys[k].name;
	const char *near = npu_nearest(name, names, n);
	snprintf(text, sizeof text, "unknown name %s%s%s%s", name, near ? "; did you mean " : "", near ? near : "",
		 near ? "?" : "");
	return fail_in(r, node, column, text);
}

static bool bind(struct spec_reader *r, const yaml_node_t *node)
{
	struct sweep_spec *spec = r->spec;
	struct sweep_names names = { r->space, spec->kernel, r->macro, known, r };
	struct npu_error inner = { 0 };
	char scratch[256];
	uint32_t column;
	unsigned at;
	const char *name;
	if (!sweep_bind_words(spec->where, &names, &at, &inner)) {
		expr_name(spec->where, at, &column);
		return fail_in(r, node, column, inner.text);
	}
	for (unsigned i = 0; (name = expr_name(spec->where, i, &column)); i++) {
		enum expr_kind ignored;
		const struct npu_param *p = param_of(spec, name);
		if (expr_is_word(spec->where, i))
			continue;
		/* `sram` is sram.size, as it is after a sweep. */
		snprintf(scratch, sizeof scratch, "%.80s.size", name);
		if (!known(r, i, &ignored) && config_key_find(scratch))
			expr_rename(spec->where, i, scratch);
		if (!known(r, i, &ignored))
			return fail_unknown(r, node, name, column);
		/* What a point has without being built, and what it has to be built for. */
		if (!sweep_value(r->space, 0, name, scratch, sizeof scratch) && (!p || p->derived))
			spec->late = true;
	}
	return true;
}

static enum expr_kind kind_of(void *context, unsigned n)
{
	enum expr_kind kind;
	return known(context, n, &kind) ? kind : EXPR_ANY;
}

/* Whether YAML has taken a ! for a tag, and the condition without it for the text. Marks count characters. */
static bool begins_with_tag(const struct spec_reader *r, const yaml_node_t *node)
{
	const char *at = r->file.text;
	for (size_t n = node->start_mark.index; n && *at; n--)
		for (at++; (*at & 0xc0) == 0x80; at++)
			continue;
	return *at == '!';
}

/* Parses and binds one condition, told at its node. */
static bool take_condition(struct spec_reader *r, const yaml_node_t *node, const char *text)
{
	struct npu_error inner = { 0 };
	if (begins_with_tag(r, node))
		return spec_fail(r, node,
				 "where: YAML takes a ! at the beginning for itself; the condition in quotes would be "
				 "right, as in '!(a == b)'");
	char **words = sweep_words(r->space);
	expr_free(r->spec->where);
	r->spec->where = text && *text ? expr_parse(text, (const char *const *)words, &inner) : NULL;
	config_names_free(words);
	if (r->spec->where && !bind(r, node))
		return false;
	if (r->spec->where && expr_check(r->spec->where, kind_of, r, &inner))
		return true;
	if (!text || !*text)
		return spec_fail(r, node, "where takes a condition, or a list of them: tile_q * tile_kv <= 65536");
	return fail_in(r, node, inner.column, inner.text);
}

bool spec_read_where(struct spec_reader *r, const yaml_node_t *node)
{
	if (node->type != YAML_SEQUENCE_NODE) {
		const char *text = yaml_scalar(node);
		r->space->where = text ? spec_keep(text) : NULL;
		return take_condition(r, node, text);
	}
	char *all = NULL;
	size_t size;
	FILE *out = open_memstream(&all, &size);
	bool ok = out != NULL;
	const yaml_node_item_t *begin = node->data.sequence.items.start, *end = node->data.sequence.items.top;
	if (begin == end)
		ok = take_condition(r, node, NULL);
	for (const yaml_node_item_t *i = begin; ok && i < end; i++) {
		const char *text = yaml_scalar(spec_at(r, *i));
		ok = take_condition(r, spec_at(r, *i), text);
		if (ok)
			fprintf(out, "%s(%s)", i > begin ? " && " : "", text);
	}
	if (out)
		fclose(out);
	r->space->where = all;
	return ok && take_condition(r, node, all);
}

struct values {
	const struct sweep_spec *spec;
	uint64_t point;
	char scratch[256];
};

static struct expr_value early_value(void *context, unsigned n)
{
	struct values *v = context;
	const char *name = expr_name(v->spec->where, n, NULL);
	const char *text = sweep_value(v->spec->space, v->point, name, v->scratch, sizeof v->scratch);
	if (text)
		return sweep_value_of(name, text);
	const struct npu_param *p = param_of(v->spec, name);
	if (p && p->type == NPU_PARAM_CHOICE)
		return expr_value_of(p->choices[p->initial]);
	return (struct expr_value){ .number = p ? (double)p->initial : (double)NAN };
}

bool sweep_spec_passes(const struct sweep_spec *spec, uint64_t point, bool *divides)
{
	struct values v = { .spec = spec, .point = point };
	return !spec->where || spec->late || expr_holds(spec->where, early_value, &v, divides);
}

bool spec_something_passes(const struct sweep_spec *spec)
{
	enum { LOOKED_AT = 2000000 };
	for (uint64_t i = 0; i < spec->space->points; i++) {
		if (i == LOOKED_AT)
			return true;
		if (sweep_spec_passes(spec, sweep_nth(spec->space, i), NULL))
			return true;
	}
	return false;
}
