/* SPDX-License-Identifier: Apache-2.0 */
/* `hw` and `with`: machines, and keys with one value, or one of an axis. */
#include "sim/config_parse.h"
#include "sim/sweep/spec_parts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the machine ---- */

bool spec_add_machine(struct spec_reader *r, const yaml_node_t *node, const char *name)
{
	struct npu_error inner = { 0 };
	return sweep_machines_add(&r->spec->machines, r->space, name, &inner) || spec_fail_as(r, node, &inner);
}

char *spec_machine_name(struct spec_reader *r, const char *name)
{
	return sweep_is_path(name) ? sweep_path(r->space, name) : spec_keep(name);
}

bool spec_read_hw(struct spec_reader *r, const yaml_node_t *node)
{
	const char *name = node ? yaml_scalar(node) : "edge-1mb";
	if (!name || !*name)
		return spec_fail(
		    r, node,
		    "hw takes a preset or a YAML file; several machines are an axis: axes: {hw: [edge-1mb, edge-2mb]}");
	r->space->hw = spec_keep(name);
	return r->space->hw ? spec_add_machine(r, node, name) : npu_fail(r->err, NPU_ERR_MEMORY, "out of memory");
}

/* ---- keys and values ---- */

bool spec_check_key(struct spec_reader *r, const yaml_node_t *node, const char *key)
{
	struct npu_error inner = { 0 };
	struct config scratch;
	if (strcmp(key, "hw") == 0)
		return true;
	if (!sweep_is_name(key) && !strchr(key, '.') && spec_has_param(r, key))
		return spec_fail(r, node,
				 "%.60s cannot be swept or set here: a name of at most 95 letters, digits, _ and - would be right",
				 key);
	if (!strchr(key, '.'))
		return spec_has_param(r, key) || spec_unknown_param(r, node, key);
	if (config_key_find(key))
		return true;
	char assignment[128];
	snprintf(assignment, sizeof assignment, "%.90s=", key);
	config_init(&scratch);
	config_set(&scratch, assignment, &inner);
	config_fini(&scratch);
	return spec_fail_as(r, node, &inner);
}

static bool check_part(struct spec_reader *r, const yaml_node_t *node, const char *name)
{
	char *path =
	    strchr(name, '/') || strstr(name, ".yaml") ? spec_keep(name) : config_preset_path(CONFIG_PRESET_DRAM, name);
	bool there = path && access(path, R_OK) == 0;
	free(path);
	if (there)
		return true;
	char **names = config_preset_names(CONFIG_PRESET_DRAM);
	unsigned n = 0;
	while (names && names[n])
		n++;
	const char *near = npu_nearest(name, (const char *const *)names, n);
	spec_fail(r, node, "unknown DRAM part %.60s%s%s%s", name, near ? "; did you mean " : "", near ? near : "",
		  near ? "?" : "");
	config_names_free(names);
	return false;
}

bool spec_check_value(struct spec_reader *r, const yaml_node_t *node, const char *key, const char *value)
{
	struct npu_error inner = { 0 };
	char assignment[512];
	const struct config_key *hw = config_key_find(key);
	for (const char *at = value; *at; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			return spec_fail(r, node, "%s: a value is one line of text", key);
	if (snprintf(assignment, sizeof assignment, "%s=%s", key, value) >= (int)sizeof assignment)
		return spec_fail(r, node, "%s: the value is too long", key);
	if (strcmp(key, "hw") == 0)
		return true;
	if (hw && hw->type == CONFIG_PART)
		return check_part(r, node, value);
	if (hw) {
		struct hw scratch = r->spec->machines.bases[0].hw;
		char text[512];
		return config_parse(hw, value, &scratch, text, sizeof text) || spec_fail(r, node, "%s", text);
	}
	if (r->space->kind == SWEEP_KERNEL && strcmp(key, "tile") == 0)
		return strcmp(value, "auto") == 0 || spec_fail(r, node, "tile=%s: tile=auto would be right", value);
	/* Of a program, its own text judges. */
	return !r->spec->kernel || npu_args_set(r->spec->kernel, &r->args, assignment, &inner) ||
	       spec_fail_as(r, node, &inner);
}

static char *whole_path(const char *name, enum config_preset_kind kind)
{
	char *preset = sweep_is_path(name) ? NULL : config_preset_path(kind, name);
	char *whole = realpath(preset ? preset : name, NULL);
	free(preset);
	return whole ? whole : spec_keep(name);
}

char *spec_plain_value(struct spec_reader *r, const char *key, const char *value)
{
	char text[64];
	const struct config_key *hw = config_key_find(key);
	struct hw scratch = r->spec->machines.bases[0].hw;
	int i = r->spec->kernel ? npu_param_index(r->spec->kernel, key) : -1;
	struct expr_value v = expr_value_of(value);
	if (strcmp(key, "hw") == 0 || (hw && hw->type == CONFIG_PART))
		return whole_path(value, hw ? CONFIG_PRESET_DRAM : CONFIG_PRESET_HW);
	if (hw && config_parse(hw, value, &scratch, text, sizeof text)) {
		if (hw->type == CONFIG_REAL)
			snprintf(text, sizeof text, "%.17g", config_real(&scratch, hw));
		else
			snprintf(text, sizeof text, "%llu", (unsigned long long)config_uint(&scratch, hw));
	} else if (i >= 0) {
		snprintf(text, sizeof text, "%lld", (long long)r->args.value[i]);
	} else if (!value[strspn(value, "0123456789")]) {
		/* A whole number of any length. */
		size_t zeros = strspn(value, "0");
		return spec_keep(value + zeros - (zeros && !value[zeros]));
	} else if (!v.text) {
		snprintf(text, sizeof text, "%.17g", v.number);
	} else {
		return spec_keep(value);
	}
	return spec_keep(text);
}

bool spec_is_taken(const struct sweep_space *s, const char *key)
{
	for (unsigned i = 0; i < s->nwith; i++)
		if (strcmp(s->with[i].key, key) == 0)
			return true;
	for (unsigned a = 0; a <= s->naxes && a < SWEEP_AXES; a++)
		for (unsigned k = 0; k < s->axes[a].nkeys; k++)
			if (strcmp(s->axes[a].keys[k], key) == 0)
				return true;
	return false;
}

static bool set_with(struct spec_reader *r, const yaml_node_t *key_node, const yaml_node_t *node)
{
	const char *key = yaml_scalar(key_node), *value = yaml_scalar(node);
	struct sweep_space *s = r->space;
	struct npu_error inner = { 0 };
	char assignment[512];
	if (!key || !value)
		return spec_fail(r, key ? node : key_node, "with: one value a key; several are an axis");
	if (s->nwith == SWEEP_SETTINGS)
		return spec_fail(r, key_node, "more than %d settings", SWEEP_SETTINGS);
	if (spec_is_taken(s, key))
		return spec_fail(r, key_node, "%s is set twice", key);
	if (strcmp(key, "hw") == 0)
		return spec_fail(r, key_node, "hw stands beside with, not in it");
	if (!spec_check_key(r, key_node, key))
		return false;
	s->with[s->nwith++] = (struct sweep_setting){ spec_keep(key), spec_keep(value) };
	char *path = sweep_is_path_key(key) ? spec_machine_name(r, value) : spec_keep(value);
	if (!path || !spec_check_value(r, node, key, path)) {
		bool some = path != NULL;
		free(path);
		return some ? false : npu_fail(r->err, NPU_ERR_MEMORY, "out of memory");
	}
	snprintf(assignment, sizeof assignment, "%s=%s", key, path);
	free(path);
	for (unsigned i = 0; strchr(key, '.') && i < r->spec->machines.n; i++)
		if (!config_set(&r->spec->machines.bases[i], assignment, &inner))
			return spec_fail_as(r, node, &inner);
	return true;
}

bool spec_read_with(struct spec_reader *r, const yaml_node_t *node)
{
	if (node->type != YAML_MAPPING_NODE)
		return spec_fail(r, node, "with takes keys and values: {seq: 512, heads: 8}");
	for (const yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top; p++)
		if (!set_with(r, spec_at(r, p->key), spec_at(r, p->value)))
			return false;
	return true;
}
