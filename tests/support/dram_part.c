/* SPDX-License-Identifier: Apache-2.0 */
/* Reads flat `key: value` lines into a struct dram_config. */
#include "tests/support/dram_part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const dram_part_names[] = { "LPDDR4-3200", "LPDDR4X-4266", "LPDDR5-6400", "LPDDR5X-8533",
					"DDR4-2400",   "DDR4-3200",    "HBM2-2000",   NULL };

const char *dram_part_root(void)
{
	static char root[4096];
	const char *src = getenv("SRC");
	if (src)
		return src;
	snprintf(root, sizeof root, "%s", __FILE__);
	char *end = strstr(root, "tests/support/");
	if (end == root)
		return ".";
	if (end)
		end[-1] = '\0';
	return root;
}

/* The position of a word in "a|b|c", -1 when it is none of them. */
static int word_index(const char *words, const char *word)
{
	size_t length = strlen(word);
	for (int i = 0; *words; i++) {
		size_t n = strcspn(words, "|");
		if (n == length && strncmp(words, word, n) == 0)
			return i;
		words += n + (words[n] == '|');
	}
	return -1;
}

/* False when the value is no number, no yes or no, and none of the words. */
static bool value_of(const char *text, const char *words, uint64_t *value)
{
	char *end;
	*value = strtoull(text, &end, 10);
	if (*end == '\0' && end != text)
		return true;
	int index = word_index(words, text);
	if (strcmp(text, "yes") == 0 || strcmp(text, "no") == 0)
		index = text[0] == 'y';
	*value = (uint64_t)index;
	return index >= 0;
}

static bool set_key(struct dram_config *c, const char *key, const char *text)
{
	uint64_t value;
#define DRAM_KEY(name, kind, dflt, min, max, unit, doc)                                                                \
	if (strcmp(key, #name) == 0)                                                                                   \
		return value_of(text, unit, &value) ? c->name = value, true : false;
#include "models/dram/keys.def"
#undef DRAM_KEY
#define DRAM_TIMING(name, min, doc)                                                                                    \
	if (strcmp(key, #name) == 0)                                                                                   \
		return value_of(text, "", &value) ? c->name = (uint32_t)value, true : false;
#include "models/dram/timing.def"
#undef DRAM_TIMING
	return false;
}

struct dram_config dram_part(const char *name)
{
	char path[4352], line[512], key[64], text[64];
	struct dram_config c;
	snprintf(path, sizeof path, "%s/models/presets/dram/%s.yaml", dram_part_root(), name);
	FILE *f = fopen(path, "r");
	if (!f) {
		perror(path);
		exit(2);
	}
	dram_config_init(&c);
	while (fgets(line, sizeof line, f)) {
		line[strcspn(line, "#\n")] = '\0';
		int fields = sscanf(line, " %63[^: ] : %63s", key, text);
		if (fields > 0 && (fields != 2 || !set_key(&c, key, text))) {
			fprintf(stderr, "%s: cannot read '%s'\n", path, line);
			exit(2);
		}
	}
	fclose(f);
	return c;
}
