/* SPDX-License-Identifier: Apache-2.0 */
/* The resolved hardware of a report, key by key out of the tables that declare them. */
#include "sim/report_json.h"

#include <string.h>

static json_t *value_UINT(uint64_t value) { return json_integer((json_int_t)value); }
static json_t *value_SIZE(uint64_t value) { return json_integer((json_int_t)value); }
static json_t *value_REAL(double value) { return json_real(value); }
static json_t *value_FLAG(bool value) { return json_boolean(value); }

struct word {
	const char *section, *name, *text;
	uint32_t number;
};

static const struct word words[] = {
#define HW_ENUM(section, name, VALUE, number, text, doc) { #section, #name, text, number },
#include "models/hw.def"
};

static json_t *value_word(const char *section, const char *name, uint32_t value)
{
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i].number == value && strcmp(words[i].section, section) == 0 && strcmp(words[i].name, name) == 0)
			return json_string(words[i].text);
	return json_integer(value);
}

/* Word number `value` of "a|b|c". */
static json_t *value_of_list(const char *list, uint32_t value)
{
	for (; value > 0 && list; value--) {
		list = strchr(list, '|');
		if (list)
			list++;
	}
	return list ? json_stringn(list, strcspn(list, "|")) : json_null();
}

static json_t *dram_json(const struct dram_config *d, const char *part)
{
	json_t *o = json_object();
	json_object_set_new(o, "part", part && part[0] ? report_json_text(part) : json_null());
#define DRAM_VALUE_uint(name, unit) json_integer(d->name)
#define DRAM_VALUE_size(name, unit) json_integer((json_int_t)d->name)
#define DRAM_VALUE_bool(name, unit) json_boolean(d->name)
#define DRAM_VALUE_enum(name, unit) value_of_list(unit, d->name)
#define DRAM_KEY(name, kind, initial, min, max, unit, doc) json_object_set_new(o, #name, DRAM_VALUE_##kind(name, unit));
#include "models/dram/keys.def"
#undef DRAM_KEY
#define DRAM_TIMING(name, min, doc) json_object_set_new(o, #name, json_integer(d->name));
#include "models/dram/timing.def"
#undef DRAM_TIMING
	return o;
}

json_t *report_json_hw(const struct simulation *s)
{
	const struct hw *hw = s->request.hw;
	json_t *root = json_object(), *section_json = NULL;
	json_object_set_new(root, "name", report_json_text(simulate_hw_name(hw)));
#define SECTION(section, doc) section_json = json_object();
#define KEY(section, type, name, initial, min, max, unit, doc) \
	json_object_set_new(section_json, #name, KEY_VALUE_##type(section, name));
#define KEY_VALUE_UINT(section, name) value_UINT(hw->section.name)
#define KEY_VALUE_SIZE(section, name) value_SIZE(hw->section.name)
#define KEY_VALUE_REAL(section, name) value_REAL(hw->section.name)
#define KEY_VALUE_FLAG(section, name) value_FLAG(hw->section.name)
#define KEY_VALUE_ENUM(section, name) value_word(#section, #name, hw->section.name)
#define END_SECTION(section) json_object_set_new(root, #section, section_json);
#include "models/hw.def"
	json_object_set_new(root, "dram", dram_json(&hw->dram, s->request.dram_part));
	return root;
}
