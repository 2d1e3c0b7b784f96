/* SPDX-License-Identifier: Apache-2.0 */
/* The table of hardware keys, expanded from models/hw.def and models/dram/{keys,timing}.def, and what can be asked of a
 * single key. */
#include "sim/config.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define CONFIG_uint CONFIG_UINT
#define CONFIG_size CONFIG_SIZE
#define CONFIG_bool CONFIG_FLAG
#define CONFIG_enum CONFIG_ENUM
/* The `unit` column of a DRAM enum holds its words. */
#define UNIT_uint(unit) unit, NULL
#define UNIT_size(unit) unit, NULL
#define UNIT_bool(unit) unit, NULL
#define UNIT_enum(unit) "", unit
#define DRAM_BYTES(name) sizeof((struct dram_config *)0)->name

const struct config_key config_keys[] = {
#define KEY(section, type, name, initial, min, max, unit, doc)                                                         \
	{ #section "." #name, CONFIG_##type, sizeof(HW_TYPE_##type), offsetof(struct hw, section.name), min, max,      \
	  unit, NULL, doc },
#include "models/hw.def"
	{ "dram.part", CONFIG_PART, 0, 0, 0, 0, "", NULL,
	  "the DRAM part: a file of presets/dram, or the path of one; it gives every dram key that is not set itself" },
#define DRAM_KEY(name, kind, initial, min, max, unit, doc)                                                             \
	{ "dram." #name, CONFIG_##kind, DRAM_BYTES(name), offsetof(struct hw, dram.name), min, max, UNIT_##kind(unit), \
	  doc },
#include "models/dram/keys.def"
#undef DRAM_KEY
#define DRAM_TIMING(name, min, doc)                                                                                    \
	{ "dram." #name, CONFIG_UINT, DRAM_BYTES(name), offsetof(struct hw, dram.name), min, DRAM_TIMING_MAX, "clk", NULL,  \
	  doc },
#include "models/dram/timing.def"
#undef DRAM_TIMING
};
const unsigned config_nkeys = sizeof config_keys / sizeof *config_keys;
_Static_assert(sizeof config_keys / sizeof *config_keys <= CONFIG_KEYS_MAX, "CONFIG_KEYS_MAX is too small");

static const struct {
	const char *key;
	const char *text;
	uint32_t number;
	const char *doc;
} hw_words[] = {
#define HW_ENUM(section, name, VALUE, number, text, doc) { #section "." #name, text, number, doc },
#include "models/hw.def"
};

static const struct {
	const char *name;
	const char *doc;
} sections[] = {
#define SECTION(section, doc) { #section, doc },
#include "models/hw.def"
	{ "dram", "external memory and its controller" },
};

const char *config_section(unsigned n) { return n < sizeof sections / sizeof *sections ? sections[n].name : NULL; }

const char *config_section_doc(unsigned n) { return n < sizeof sections / sizeof *sections ? sections[n].doc : NULL; }

const struct config_key *config_key_find(const char *name)
{
	for (unsigned i = 0; i < config_nkeys; i++)
		if (strcmp(config_keys[i].name, name) == 0)
			return &config_keys[i];
	return NULL;
}

static bool dram_word(const char *words, unsigned n, struct config_word *word)
{
	for (unsigned i = 0; i < n; i++) {
		const char *bar = strchr(words, '|');
		if (!bar)
			return false;
		words = bar + 1;
	}
	*word = (struct config_word){ words, (unsigned)strcspn(words, "|"), n, "" };
	return true;
}

bool config_key_word(const struct config_key *key, unsigned n, struct config_word *word)
{
	if (key->type != CONFIG_ENUM)
		return false;
	if (key->words)
		return dram_word(key->words, n, word);
	for (unsigned i = 0; i < sizeof hw_words / sizeof *hw_words; i++)
		if (strcmp(hw_words[i].key, key->name) == 0 && n-- == 0) {
			const char *text = hw_words[i].text;
			*word = (struct config_word){ text, (unsigned)strlen(text), hw_words[i].number, hw_words[i].doc };
			return true;
		}
	return false;
}

static void words_text(const struct config_key *key, char *out, unsigned size)
{
	struct config_word word, next;
	unsigned used = 0;
	*out = '\0';
	for (unsigned n = 0; config_key_word(key, n, &word) && used < size; n++) {
		const char *joint = n == 0 ? "" : config_key_word(key, n + 1, &next) ? ", " : " or ";
		used += (unsigned)snprintf(out + used, size - used, "%s%.*s", joint, (int)word.length, word.text);
	}
}

/* The largest unit that gives a whole number. */
static void size_text(uint64_t bytes, const char *space, char *out, unsigned size)
{
	static const char *const units[] = { "", "KiB", "MiB", "GiB" };
	unsigned u = 0;
	while (u < 3 && bytes && bytes % 1024 == 0) {
		bytes /= 1024;
		u++;
	}
	snprintf(out, size, "%llu%s%s", (unsigned long long)bytes, u ? space : "", units[u]);
}

char *config_key_range(const struct config_key *key, char *out, unsigned size)
{
	char low[32], high[32];
	switch (key->type) {
	case CONFIG_UINT:
	case CONFIG_REAL:
		snprintf(out, size, "%.15g to %.15g", key->min, key->max);
		break;
	case CONFIG_SIZE:
		size_text((uint64_t)key->min, " ", low, sizeof low);
		size_text((uint64_t)key->max, " ", high, sizeof high);
		snprintf(out, size, "%s to %s", low, high);
		break;
	case CONFIG_FLAG:
		snprintf(out, size, "yes or no");
		break;
	case CONFIG_ENUM:
		words_text(key, out, size);
		break;
	case CONFIG_PART:
		snprintf(out, size, "a name or a path");
		break;
	}
	return out;
}

uint64_t config_uint(const struct hw *hw, const struct config_key *key)
{
	const char *field = (const char *)hw + key->offset;
	unsigned nbytes = key->nbytes;
	uint64_t wide;
	uint32_t narrow;
	bool flag;
	if (nbytes == sizeof wide) {
		memcpy(&wide, field, sizeof wide);
		return wide;
	}
	if (nbytes == sizeof narrow) {
		memcpy(&narrow, field, sizeof narrow);
		return narrow;
	}
	memcpy(&flag, field, sizeof flag);
	return flag;
}

double config_real(const struct hw *hw, const struct config_key *key)
{
	double real;
	memcpy(&real, (const char *)hw + key->offset, sizeof real);
	return real;
}

char *config_value(const struct hw *hw, const char *part, const struct config_key *key, char *out, unsigned size)
{
	struct config_word word;
	switch (key->type) {
	case CONFIG_UINT:
		snprintf(out, size, "%llu", (unsigned long long)config_uint(hw, key));
		break;
	case CONFIG_SIZE:
		size_text(config_uint(hw, key), "", out, size);
		break;
	case CONFIG_REAL:
		snprintf(out, size, "%.15g", config_real(hw, key));
		break;
	case CONFIG_FLAG:
		snprintf(out, size, "%s", config_uint(hw, key) ? "yes" : "no");
		break;
	case CONFIG_ENUM:
		*out = '\0';
		for (unsigned n = 0; config_key_word(key, n, &word); n++)
			if (word.number == config_uint(hw, key))
				snprintf(out, size, "%.*s", (int)word.length, word.text);
		break;
	case CONFIG_PART:
		snprintf(out, size, "%s", part ? part : "");
		break;
	}
	return out;
}
