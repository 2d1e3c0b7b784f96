/* SPDX-License-Identifier: Apache-2.0 */
/* Names and words of a plan. */
#include "sim/sweep/names.h"
#include "sim/config_parse.h"
#include "sim/model/figures.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *sweep_value(const struct sweep_space *s, uint64_t point, const char *name, char *out, unsigned size)
{
	for (unsigned a = 0; a < s->naxes; a++) {
		const struct sweep_axis *x = &s->axes[a];
		uint32_t index = sweep_index(s, point, a);
		if (strcmp(x->name, name) == 0)
			return sweep_label(x, index, out, size);
		for (unsigned k = 0; k < x->nkeys; k++)
			if (strcmp(x->keys[k], name) == 0)
				return x->values[(size_t)k * x->count + index];
	}
	/* What a 0 of a machine's key stands for, as the width of a port, the machine tells. */
	for (unsigned i = 0; i < s->nwith; i++)
		if (strcmp(s->with[i].key, name) == 0)
			return strchr(name, '.') && expr_value_of(s->with[i].value).number == 0 ? NULL
											       : s->with[i].value;
	return strcmp(name, "hw") == 0 ? s->hw : NULL;
}

bool sweep_kind(const struct sweep_space *s, const char *name, enum expr_kind *kind)
{
	char label[256];
	bool words = false, numbers = false;
	for (unsigned a = 0; a < s->naxes; a++) {
		const struct sweep_axis *x = &s->axes[a];
		for (uint32_t i = 0; strcmp(x->name, name) == 0 && i < x->count; i++)
			*(expr_value_of(sweep_label(x, i, label, sizeof label)).text ? &words : &numbers) = true;
		for (unsigned k = 0; k < x->nkeys && !words && !numbers; k++)
			for (uint32_t i = 0; strcmp(x->keys[k], name) == 0 && i < x->count; i++)
				*(expr_value_of(x->values[(size_t)k * x->count + i]).text ? &words : &numbers) = true;
	}
	if (!words && !numbers) {
		const char *value = sweep_value(s, 0, name, label, sizeof label);
		if (!value)
			return false;
		*(expr_value_of(value).text ? &words : &numbers) = true;
	}
	*kind = words && numbers ? EXPR_ANY : words ? EXPR_WORD : EXPR_NUMBER;
	return true;
}

/* ---- words ---- */

struct list {
	char **words;
	size_t n;
};

static void add(struct list *l, const char *word, size_t length)
{
	char **more = realloc(l->words, (l->n + 2) * sizeof *more);
	if (!more)
		return;
	l->words = more;
	more[l->n] = strndup(word, length);
	l->n += more[l->n] != NULL;
	more[l->n] = NULL;
}

static void add_presets(struct list *l, enum config_preset_kind kind)
{
	char **names = config_preset_names(kind);
	for (char **name = names; name && *name; name++)
		add(l, *name, strlen(*name));
	config_names_free(names);
}

/* "none|causal" */
static void add_choices(struct list *l, const char *words)
{
	for (; *words; words += strcspn(words, "|"), words += *words == '|')
		add(l, words, strcspn(words, "|"));
}

static bool has_operator(const char *word)
{
	return isalpha((unsigned char)*word) && strchr(word, '-');
}

char **sweep_words(const struct sweep_space *s)
{
	struct list l = { calloc(1, sizeof *l.words), 0 };
	add_presets(&l, CONFIG_PRESET_HW);
	add_presets(&l, CONFIG_PRESET_DRAM);
	for (unsigned i = 0; i < s->nwith; i++)
		if (has_operator(s->with[i].value))
			add(&l, s->with[i].value, strlen(s->with[i].value));
	if (s->hw && has_operator(s->hw))
		add(&l, s->hw, strlen(s->hw));
	for (unsigned a = 0; a < s->naxes; a++)
		for (size_t i = 0; i < (size_t)s->axes[a].nkeys * s->axes[a].count; i++)
			if (has_operator(s->axes[a].values[i]))
				add(&l, s->axes[a].values[i], strlen(s->axes[a].values[i]));
	return l.words;
}

/* Of points of the plan. */
static void add_values(struct list *l, const struct sweep_space *s, const char *name)
{
	char label[256];
	for (unsigned a = 0; a < s->naxes; a++) {
		const struct sweep_axis *x = &s->axes[a];
		for (uint32_t i = 0; strcmp(x->name, name) == 0 && i < x->count; i++) {
			sweep_label(x, i, label, sizeof label);
			add(l, label, strlen(label));
		}
		for (unsigned k = 0; k < x->nkeys; k++)
			for (uint32_t i = 0; strcmp(x->keys[k], name) == 0 && i < x->count; i++)
				add(l, x->values[(size_t)k * x->count + i],
				    strlen(x->values[(size_t)k * x->count + i]));
	}
	for (unsigned i = 0; i < s->nwith; i++)
		if (strcmp(s->with[i].key, name) == 0)
			add(l, s->with[i].value, strlen(s->with[i].value));
	if (s->hw && strcmp(name, "hw") == 0)
		add(l, s->hw, strlen(s->hw));
}

/* Of whatever points there could be; true: these are all. */
static bool add_possible(struct list *l, const struct sweep_names *names, const char *name)
{
	const struct config_key *key = config_key_find(name);
	const struct npu_kernel *kernel = names->kernel;
	int param = kernel ? npu_param_index(kernel, name) : -1;
	struct config_word word;
	for (unsigned a = 0; a < names->space->naxes; a++)
		if (strcmp(names->space->axes[a].name, name) == 0 && names->space->axes[a].nkeys > 1)
			return true;
	if (strcmp(name, "bound") == 0 && param < 0) {
		for (unsigned i = 0; i < MODEL_BOUNDS; i++)
			add(l, model_bounds[i], strlen(model_bounds[i]));
		return true;
	}
	if (strcmp(name, "hw") == 0 || (key && key->type == CONFIG_PART)) {
		add_presets(l, key ? CONFIG_PRESET_DRAM : CONFIG_PRESET_HW);
		return true;
	}
	if (key) {
		for (unsigned n = 0; config_key_word(key, n, &word); n++)
			add(l, word.text, word.length);
		add_choices(l, key->type == CONFIG_FLAG ? "yes|no|true|false" : "");
		return true;
	}
	for (const char *const *c = param >= 0 ? kernel->params[param].choices : NULL; c && *c; c++)
		add(l, *c, strlen(*c));
	if (param >= 0)
		return true;
	for (unsigned i = 0; names->macro && i < names->macro->nparams; i++)
		if (strcmp(names->macro->params[i].name, name) == 0 && names->macro->params[i].words) {
			add_choices(l, names->macro->params[i].words);
			return true;
		}
	return false;
}

enum verdict { NEVER, POSSIBLE, ANYTHING };

static enum verdict judge(const struct sweep_names *names, const char *name, const char *word, char *why, unsigned size)
{
	struct list l = { NULL, 0 };
	add_values(&l, names->space, name);
	bool all = add_possible(&l, names, name) && !(sweep_is_path_key(name) && sweep_is_path(word));
	enum verdict verdict = all ? NEVER : ANYTHING;
	for (size_t i = 0; i < l.n; i++)
		if (strcmp(l.words[i], word) == 0)
			verdict = POSSIBLE;
	if (verdict == NEVER) {
		const char *near = npu_nearest(word, (const char *const *)l.words, (unsigned)l.n);
		unsigned used = (unsigned)snprintf(why, size, "%s is never %s%s%s%s", name, word,
						   near ? "; did you mean " : l.n ? "; there are " : "",
						   near ? near : "", near ? "?" : "");
		for (size_t i = 0; !near && i < l.n && i < 16 && used < size; i++)
			used += (unsigned)snprintf(why + used, size - used, "%s%s", i ? ", " : "", l.words[i]);
	}
	config_names_free(l.words);
	return verdict;
}

/* yes and true are one word. */
static const char *plain_word(const char *name, const char *word)
{
	const struct config_key *key = config_key_find(name);
	struct hw hw = { 0 };
	char text[256];
	if (!key || key->type != CONFIG_FLAG || !config_parse(key, word, &hw, text, sizeof text))
		return word;
	return config_uint(&hw, key) ? "yes" : "no";
}

enum expr_kind sweep_key_kind(const struct config_key *key)
{
	bool words = key->type == CONFIG_PART || key->type == CONFIG_ENUM || key->type == CONFIG_FLAG;
	return words ? EXPR_WORD : EXPR_NUMBER;
}

struct expr_value sweep_value_of(const char *name, const char *text)
{
	return expr_value_of(plain_word(name, text));
}

bool sweep_bind_words(struct expr *e, const struct sweep_names *names, unsigned *at, struct npu_error *err)
{
	const char *word;
	char why[400];
	for (unsigned i = 0; (word = expr_name(e, i, NULL)); i++) {
		int other = expr_opposite(e, i);
		enum expr_kind kind, ignored;
		const char *name = other >= 0 && !expr_is_word(e, (unsigned)other)
				       ? names->known(names->context, (unsigned)other, &kind)
				       : NULL;
		bool quoted = expr_is_word(e, i);
		if (!name || kind == EXPR_NUMBER || (quoted && !expr_value_of(word).text))
			continue;
		bool known = !quoted && names->known(names->context, i, &ignored);
		enum verdict verdict = judge(names, name, word, why, sizeof why);
		if (verdict == NEVER && !known) {
			*at = i;
			return npu_fail(err, NPU_ERR_VALUE, "%s", why);
		}
		const char *plain = plain_word(name, word);
		if (verdict == POSSIBLE || (verdict == ANYTHING && !known))
			expr_make_word(e, i, plain == word ? NULL : plain);
	}
	return true;
}
