/* SPDX-License-Identifier: Apache-2.0 */
/* Names and words of a plan. */
#include "sim/sweep/names.h"
#include "sim/config.h"

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
	for (unsigned i = 0; i < s->nwith; i++)
		if (strcmp(s->with[i].key, name) == 0)
			return s->with[i].value;
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

const char **sweep_words(const struct sweep_space *s)
{
	size_t most = s->nwith + 2, n = 0;
	for (unsigned a = 0; a < s->naxes; a++)
		most += (size_t)s->axes[a].nkeys * s->axes[a].count;
	const char **words = calloc(most, sizeof *words);
	for (unsigned i = 0; words && i < s->nwith; i++)
		if (isalpha((unsigned char)*s->with[i].value) && strchr(s->with[i].value, '-'))
			words[n++] = s->with[i].value;
	if (words && s->hw && isalpha((unsigned char)*s->hw) && strchr(s->hw, '-'))
		words[n++] = s->hw;
	for (unsigned a = 0; words && a < s->naxes; a++)
		for (size_t i = 0; i < (size_t)s->axes[a].nkeys * s->axes[a].count; i++)
			if (isalpha((unsigned char)*s->axes[a].values[i]) && strchr(s->axes[a].values[i], '-'))
				words[n++] = s->axes[a].values[i];
	return words;
}

bool sweep_is_word(const struct sweep_space *s, const struct npu_kernel *kernel, const char *word)
{
	struct config_word known;
	for (unsigned a = 0; a < s->naxes; a++)
		for (size_t i = 0; i < (size_t)s->axes[a].nkeys * s->axes[a].count; i++)
			if (strcmp(s->axes[a].values[i], word) == 0)
				return true;
	for (unsigned i = 0; kernel && i < kernel->nparams; i++)
		for (const char *const *c = kernel->params[i].choices; c && *c; c++)
			if (strcmp(*c, word) == 0)
				return true;
	for (unsigned i = 0; i < config_nkeys; i++)
		for (unsigned n = 0; config_key_word(&config_keys[i], n, &known); n++)
			if (strlen(word) == known.length && memcmp(word, known.text, known.length) == 0)
				return true;
	return false;
}
