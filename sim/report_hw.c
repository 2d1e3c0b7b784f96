/* SPDX-License-Identifier: Apache-2.0 */
/* The resolved hardware of a report, key by key out of the tables that declare them. */
#include "sim/config.h"
#include "sim/report_json.h"

#include <string.h>

static json_t *value_json(const struct simulation_request *r, const struct hw *hw, const struct config_key *key)
{
	char word[96];
	switch (key->type) {
	case CONFIG_UINT:
	case CONFIG_SIZE:
		return json_integer((json_int_t)config_uint(hw, key));
	case CONFIG_REAL:
		return json_real(config_real(hw, key));
	case CONFIG_FLAG:
		return json_boolean(config_uint(hw, key));
	case CONFIG_ENUM:
		return json_string(config_value(hw, NULL, key, word, sizeof word));
	case CONFIG_PART:
		break;
	}
	return r->dram_part && r->dram_part[0] ? report_json_text(r->dram_part) : json_null();
}

json_t *report_json_hw(const struct simulation *s)
{
	const struct simulation_request *r = &s->request;
	struct hw hw = *r->hw;
	json_t *root = json_object(), *changed = json_array();
	hw.matrix.activation_port = hw_activation_port(r->hw);
	hw.matrix.weight_port = hw_weight_port(r->hw);
	json_object_set_new(root, "name", report_json_text(simulate_hw_name(r->hw)));
	json_object_set_new(root, "preset", r->preset && r->preset[0] ? report_json_text(r->preset) : json_null());
	for (unsigned i = 0; r->changes && r->changes[i]; i++)
		json_array_append_new(changed, report_json_text(r->changes[i]));
	json_object_set_new(root, "changed", changed);
	for (unsigned i = 0; i < config_nkeys; i++) {
		const struct config_key *key = &config_keys[i];
		const char *dot = strchr(key->name, '.');
		char section[32];
		snprintf(section, sizeof section, "%.*s", (int)(dot - key->name), key->name);
		if (!json_object_get(root, section))
			json_object_set_new(root, section, json_object());
		json_object_set_new(json_object_get(root, section), dot + 1, value_json(r, &hw, key));
	}
	return root;
}
