/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of configuration: initial values, what a file extends, the file, the command line; the DRAM part below all of
 * them. Every value remembers its place. */
#include "sim/config.h"
#include "isa/plain.h"
#include "sim/config_parse.h"
#include "sim/config_yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXTENDS_MAX = 16 };

/* A file being read, and those that extend it. */
struct layer {
	const struct layer *above;
	const struct yaml_file *file;
	char *real; /* its one true path; NULL: not in the file system */
	unsigned depth;
	uint32_t line_of[CONFIG_KEYS_MAX]; /* where this file sets a key, 0: it does not */
	enum config_origin_kind kind;      /* PART: dram keys without their section, below what is set already */
};

static bool load_file(struct config *, const char *path, const struct layer *above, enum config_origin_kind,
		      struct npu_error *err);

static bool out_of_memory(struct npu_error *err) { return npu_fail(err, NPU_ERR_MEMORY, "out of memory"); }

static unsigned index_of(const struct config_key *key) { return (unsigned)(key - config_keys); }

/* Takes over a malloc'ed string, NULL too; returns it, "" when memory is short. */
static const char *own(struct config *config, char *text)
{
	char **more = text ? realloc(config->owned, (config->nowned + 1) * sizeof *more) : NULL;
	if (!more) {
		free(text);
		return "";
	}
	config->owned = more;
	return config->owned[config->nowned++] = text;
}

void config_init(struct config *config)
{
	*config = (struct config){ 0 };
#define KEY(section, type, name, initial, min, max, unit, doc) config->hw.section.name = initial;
#include "models/hw.def"
	dram_config_init(&config->hw.dram);
}

void config_fini(struct config *config)
{
	for (unsigned i = 0; i < config->nowned; i++)
		free(config->owned[i]);
	free(config->owned);
	config->owned = NULL;
	config->nowned = 0;
}

static const char *nearest_key(const char *name)
{
	const char *names[CONFIG_KEYS_MAX];
	for (unsigned i = 0; i < config_nkeys; i++)
		names[i] = config_keys[i].name;
	return npu_nearest(name, names, config_nkeys);
}

static const char *nearest_section(const char *name)
{
	const char *names[32];
	unsigned n = 0;
	while (n < 32 && (names[n] = config_section(n)))
		n++;
	return npu_nearest(name, names, n);
}

static void list_sections(char *out, unsigned size)
{
	unsigned used = 0;
	for (unsigned n = 0; config_section(n) && used < size; n++)
		used += (unsigned)snprintf(out + used, size - used, "%s%s", n ? ", " : "", config_section(n));
}

/* What is wrong with a key that does not exist, and what was meant. */
static void unknown_key(const char *name, char *text, unsigned size)
{
	char sections[160], section[64];
	const char *meant = nearest_key(name), *dot = strchr(name, '.');
	snprintf(section, sizeof section, "%.*s", (int)(dot ? dot - name : (long)strlen(name)), name);
	if (!meant && dot)
		for (unsigned n = 0; config_section(n); n++)
			if (strcmp(config_section(n), section) == 0) {
				snprintf(text, size, "unknown key %.80s; npusim hw show lists the keys of %s", name, section);
				return;
			}
	list_sections(sections, sizeof sections);
	if (meant)
		snprintf(text, size, "unknown key %.80s; did you mean %s?", name, meant);
	else if ((meant = nearest_section(section)))
		snprintf(text, size, "unknown section %s; did you mean %s?", section, meant);
	else
		snprintf(text, size, "unknown key %.80s; sections are %s", name, sections);
}

static bool set_part_name(struct config *config, const char *value, char *text, unsigned size)
{
	if (!*value || strlen(value) >= sizeof config->dram_part) {
		snprintf(text, size, "dram.part: a name or path of 1 to %u characters would be right",
			 (unsigned)sizeof config->dram_part - 1);
		return false;
	}
	snprintf(config->dram_part, sizeof config->dram_part, "%s", value);
	return true;
}

static bool set_value(struct config *config, const struct config_key *key, const char *value,
		      const struct config_origin *origin, char *text, unsigned size)
{
	bool ok = key->type == CONFIG_PART ? set_part_name(config, value, text, size)
					   : config_parse(key, value, &config->hw, text, size);
	if (!ok)
		return false;
	config->origin[index_of(key)] = *origin;
	config->origin[index_of(key)].order = ++config->settings;
	return true;
}

bool config_set(struct config *config, const char *assignment, struct npu_error *err)
{
	char name[96], text[512];
	const char *equals = strchr(assignment, '=');
	if (!equals || equals == assignment || equals - assignment >= (long)sizeof name)
		return npu_fail(err, NPU_ERR_USAGE, "%.80s: section.key=value would be right, as in sram.size=2MiB",
				assignment);
	snprintf(name, sizeof name, "%.*s", (int)(equals - assignment), assignment);
	const struct config_key *key = config_key_find(name);
	if (!key) {
		unknown_key(name, text, sizeof text);
		return npu_fail(err, NPU_ERR_VALUE, "%s", text);
	}
	struct config_origin origin = { .kind = CONFIG_FROM_COMMAND, .comment = "" };
	return set_value(config, key, equals + 1, &origin, text, sizeof text) ||
	       npu_fail(err, NPU_ERR_VALUE, "%s", text);
}

/* `folder of file`/name for a relative name, malloc'ed. */
static char *beside(const char *file, const char *name)
{
	const char *slash = strrchr(file, '/');
	if (!slash || *name == '/')
		return strdup(name);
	size_t folder = (size_t)(slash + 1 - file), size = folder + strlen(name) + 1;
	char *path = malloc(size);
	if (path)
		snprintf(path, size, "%.*s%s", (int)folder, file, name);
	return path;
}

static bool looks_like_path(const char *name)
{
	size_t n = strlen(name);
	return strchr(name, '/') || strcmp(name, "-") == 0 || (n > 5 && strcmp(name + n - 5, ".yaml") == 0) ||
	       (n > 4 && strcmp(name + n - 4, ".yml") == 0);
}

static bool unknown_preset(enum config_preset_kind kind, const char *name, struct npu_error *err)
{
	char list[1024] = "";
	unsigned used = 0, n = 0;
	char **names = config_preset_names(kind);
	for (; names && names[n] && used < sizeof list; n++)
		used += (unsigned)snprintf(list + used, sizeof list - used, "%s%s", n ? ", " : "", names[n]);
	const char *meant = npu_nearest(name, (const char *const *)names, n);
	npu_fail(err, NPU_ERR_VALUE, "unknown %s \"%.60s\"; %s%s%s%s%s",
		 kind == CONFIG_PRESET_HW ? "hardware" : "DRAM part", name, meant ? "did you mean " : "",
		 meant ? meant : "", meant ? "? There are " : "", !meant && n ? "there are " : "",
		 n ? list : "no presets were found, NPUSIM_PRESETS names their folder");
	config_names_free(names);
	return false;
}

/* The file behind a preset's name or a path, malloc'ed; `from` is the file that says so, NULL: the command line. */
static char *find_file(enum config_preset_kind kind, const char *name, const char *from, struct npu_error *err)
{
	char *path = looks_like_path(name) ? NULL : config_preset_path(kind, name);
	if (path)
		return path;
	if (!looks_like_path(name)) {
		unknown_preset(kind, name, err);
		return NULL;
	}
	path = from ? beside(from, name) : strdup(name);
	if (!path)
		out_of_memory(err);
	return path;
}

static bool place_value(struct config *config, struct layer *layer, const struct config_key *key,
			const yaml_node_t *key_node, const yaml_node_t *node, struct npu_error *err)
{
	char text[512];
	const struct yaml_file *file = layer->file;
	unsigned i = index_of(key);
	const char *value = yaml_scalar(node);
	if (!value)
		return yaml_fail(file, node, err, "%s takes one value: %s", key->name,
				 config_key_range(key, text, sizeof text));
	if (layer->line_of[i])
		return yaml_fail(file, key_node, err, "%s is set twice; first on line %u", key->name, layer->line_of[i]);
	layer->line_of[i] = (uint32_t)key_node->start_mark.line + 1;
	if (layer->kind == CONFIG_FROM_PART && config->origin[i].kind != CONFIG_INITIAL)
		return true;
	struct config_origin origin = {
		.kind = layer->kind,
		.file = own(config, strdup(file->name)),
		.line = (uint32_t)node->start_mark.line + 1,
		.column = (uint32_t)node->start_mark.column + 1,
		.comment = own(config, yaml_comment(file, node)),
	};
	return set_value(config, key, value, &origin, text, sizeof text) || yaml_fail(file, node, err, "%s", text);
}

static bool place_pair(struct config *config, struct layer *layer, const char *section, const yaml_node_pair_t *pair,
		       struct npu_error *err)
{
	char name[160], text[512];
	const yaml_node_t *key_node = yaml_file_node(layer->file, pair->key);
	const char *word = yaml_scalar(key_node);
	if (!word)
		return yaml_fail(layer->file, key_node, err, "a key is one word");
	snprintf(name, sizeof name, "%.60s%s%.90s", section, *section ? "." : "", word);
	const struct config_key *key = config_key_find(name);
	if (!key) {
		unknown_key(name, text, sizeof text);
		return yaml_fail(layer->file, key_node, err, "%s", text);
	}
	if (layer->kind == CONFIG_FROM_PART && (key->type == CONFIG_PART || strncmp(key->name, "dram.", 5) != 0))
		return yaml_fail(layer->file, key_node, err, "%s is no key of a DRAM part", key->name);
	return place_value(config, layer, key, key_node, yaml_file_node(layer->file, pair->value), err);
}

static bool is_section(const char *name)
{
	for (unsigned n = 0; config_section(n); n++)
		if (strcmp(config_section(n), name) == 0)
			return true;
	return false;
}

static bool place_section(struct config *config, struct layer *layer, const char *section, const yaml_node_t *node,
			  struct npu_error *err)
{
	if (node->type == YAML_SCALAR_NODE && node->data.scalar.length == 0)
		return true; /* all its keys are commented out */
	if (node->type != YAML_MAPPING_NODE)
		return yaml_fail(layer->file, node, err, "%s is a section: keys and values below it would be right", section);
	for (const yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top; p++)
		if (!place_pair(config, layer, section, p, err))
			return false;
	return true;
}

static bool place_top(struct config *config, struct layer *layer, const yaml_node_pair_t *pair, struct npu_error *err)
{
	const yaml_node_t *key = yaml_file_node(layer->file, pair->key);
	const char *name = yaml_scalar(key);
	if (name && strcmp(name, "extends") == 0)
		return true;
	if (name && is_section(name))
		return place_section(config, layer, name, yaml_file_node(layer->file, pair->value), err);
	return place_pair(config, layer, layer->kind == CONFIG_FROM_PART ? "dram" : "", pair, err);
}

/* The cycle is told from the file that closes it. */
static bool check_cycle(const struct layer *layer, const yaml_node_t *node, const char *path, struct npu_error *err)
{
	char *real = realpath(path, NULL);
	bool again = false;
	for (const struct layer *l = layer; l && !again; l = l->above)
		again = real && l->real && strcmp(l->real, real) == 0;
	free(real);
	if (again)
		return yaml_fail(layer->file, node, err, "extends %s, which extends this file again", path);
	if (layer->depth >= EXTENDS_MAX)
		return yaml_fail(layer->file, node, err, "more than %d files extend one another", EXTENDS_MAX);
	return true;
}

/* What a machine or part called `name` is; the preset nearest to the person gives the machine its name. */
static enum config_origin_kind kind_of(struct config *config, enum config_origin_kind above, const char *name)
{
	if (above == CONFIG_FROM_PART || above == CONFIG_FROM_PRESET)
		return above;
	if (looks_like_path(name))
		return CONFIG_FROM_FILE;
	snprintf(config->preset, sizeof config->preset, "%s", name);
	return CONFIG_FROM_PRESET;
}

static bool extend(struct config *config, const struct layer *layer, const yaml_node_t *node, struct npu_error *err)
{
	struct npu_error inner = { 0 };
	const char *name = yaml_scalar(node);
	if (!name || !*name || strcmp(name, "-") == 0)
		return yaml_fail(layer->file, node, err, "extends takes the name of a preset or a YAML file");
	char *path = find_file(layer->kind == CONFIG_FROM_PART ? CONFIG_PRESET_DRAM : CONFIG_PRESET_HW, name, layer->file->name, &inner);
	bool ok = path && check_cycle(layer, node, path, err) &&
		  load_file(config, path, layer, kind_of(config, layer->kind, name), err);
	if (!path)
		yaml_fail(layer->file, node, err, "%s", inner.text);
	free(path);
	return ok;
}

static bool extend_first(struct config *config, const struct layer *layer, const yaml_node_t *root,
			 struct npu_error *err)
{
	const yaml_node_t *found = NULL;
	for (const yaml_node_pair_t *p = root->data.mapping.pairs.start; p < root->data.mapping.pairs.top; p++) {
		const yaml_node_t *key = yaml_file_node(layer->file, p->key);
		const char *name = yaml_scalar(key);
		if (!name || strcmp(name, "extends") != 0)
			continue;
		if (found)
			return yaml_fail(layer->file, key, err, "extends is set twice");
		found = yaml_file_node(layer->file, p->value);
	}
	return !found || extend(config, layer, found, err);
}

/* What is extended applies first. A part does it the other way round: there the first to set a key wins. */
static bool apply(struct config *config, struct layer *layer, struct npu_error *err)
{
	const yaml_node_t *root = yaml_file_node(layer->file, 1);
	if (!root || (root->type == YAML_SCALAR_NODE && root->data.scalar.length == 0))
		return npu_fail_at(err, NPU_ERR_SYNTAX, layer->file->name, 0, 0,
				   "the file holds no keys; \"extends: edge-1mb\" would be a machine");
	if (root->type != YAML_MAPPING_NODE)
		return yaml_fail(layer->file, root, err, "keys and values would be right, as in \"sram: {size: 2MiB}\"");
	if (layer->kind != CONFIG_FROM_PART && !extend_first(config, layer, root, err))
		return false;
	for (const yaml_node_pair_t *p = root->data.mapping.pairs.start; p < root->data.mapping.pairs.top; p++)
		if (!place_top(config, layer, p, err))
			return false;
	return layer->kind != CONFIG_FROM_PART || extend_first(config, layer, root, err);
}

static bool load_open(struct config *config, const struct yaml_file *file, const char *path, const struct layer *above,
		      enum config_origin_kind kind, struct npu_error *err)
{
	struct layer layer = { .above = above, .file = file, .kind = kind, .depth = above ? above->depth + 1 : 0 };
	layer.real = path ? realpath(path, NULL) : NULL;
	bool ok = apply(config, &layer, err);
	free(layer.real);
	return ok;
}

static bool load_file(struct config *config, const char *path, const struct layer *above, enum config_origin_kind kind,
		      struct npu_error *err)
{
	struct yaml_file file;
	if (!yaml_file_open(&file, path, err))
		return false;
	if (config->nfiles < CONFIG_FILES_MAX)
		config->files[config->nfiles++] = own(config, strdup(path));
	bool ok = load_open(config, &file, path, above, kind, err);
	yaml_file_close(&file);
	return ok;
}

static void name_machine(struct config *config, const char *base)
{
	const char *slash = strrchr(base, '/');
	const char *name = strcmp(base, "-") == 0 ? "stdin" : slash ? slash + 1 : base;
	npu_plain(name, strlen(name), config->hw.name, sizeof config->hw.name);
}

bool config_base(struct config *config, const char *base, struct npu_error *err)
{
	char *path = find_file(CONFIG_PRESET_HW, base, NULL, err);
	bool ok = path && load_file(config, path, NULL, kind_of(config, CONFIG_FROM_FILE, base), err);
	free(path);
	name_machine(config, base);
	return ok;
}

bool config_text(struct config *config, const char *text, uint64_t nbytes, const char *file, struct npu_error *err)
{
	struct yaml_file yaml;
	if (!yaml_file_text(&yaml, text, nbytes, file, err))
		return false;
	bool ok = load_open(config, &yaml, NULL, NULL, CONFIG_FROM_FILE, err);
	yaml_file_close(&yaml);
	name_machine(config, file);
	return ok;
}

/* Puts the place of a setting before an error that was found without one. */
static void blame(const struct config *config, const struct config_key *key, struct npu_error *err)
{
	const struct config_origin *origin = &config->origin[index_of(key)];
	if (!err || !origin->file || err->file[0])
		return;
	npu_error_place(err, origin->file, origin->line, origin->column);
}

static bool load_part(struct config *config, struct npu_error *err)
{
	const struct config_key *key = config_key_find("dram.part");
	const struct config_origin *origin = &config->origin[index_of(key)];
	if (!*config->dram_part)
		return config->hw.dram.CL || config->hw.dram.ideal ||
		       npu_fail(err, NPU_ERR_VALUE,
				"no DRAM: dram.part names one, as in dram.part=LPDDR4X-4266, or all its keys are set");
	char *path = find_file(CONFIG_PRESET_DRAM, config->dram_part, origin->file, err);
	bool ok = path && load_file(config, path, NULL, CONFIG_FROM_PART, err);
	if (!path)
		blame(config, key, err);
	config->part_file = path ? own(config, path) : NULL;
	/* A report names the part, not where it lies. */
	char *slash = strrchr(config->dram_part, '/');
	if (slash)
		memmove(config->dram_part, slash + 1, strlen(slash));
	return ok;
}

static bool mentions(const char *text, const char *name)
{
	size_t n = strlen(name);
	for (const char *at = strstr(text, name); at; at = strstr(at + 1, name)) {
		char after = at[n];
		if (!((after >= 'a' && after <= 'z') || (after >= 'A' && after <= 'Z') || after == '_'))
			return true;
	}
	return false;
}

/* When a person set it; a part lies below all that a person sets, though it is read last. */
static unsigned age(const struct config *config, const struct config_key *key)
{
	const struct config_origin *origin = &config->origin[index_of(key)];
	return origin->kind == CONFIG_FROM_PART ? 0 : origin->order;
}

/* Of the keys that the message is about, the one set last is what the person changed. */
static const struct config_key *last_set(const struct config *config, const char *key_name, const char *text)
{
	const struct config_key *last = key_name ? config_key_find(key_name) : NULL;
	for (unsigned i = 0; i < config_nkeys; i++) {
		const struct config_key *key = &config_keys[i];
		if (mentions(text, key->name) && (!last || age(config, key) > age(config, last)))
			last = key;
	}
	return last;
}

static bool is_change(const struct config *config, const struct config_origin *origin)
{
	return origin->kind == CONFIG_FROM_COMMAND || (origin->kind == CONFIG_FROM_FILE && *config->preset);
}

static bool list_changes(struct config *config, struct npu_error *err)
{
	char value[96], text[192];
	unsigned n = 0;
	/* Each setting has a number of its own. */
	for (unsigned order = 1; order <= config->settings; order++)
		for (unsigned i = 0; i < config_nkeys; i++) {
			if (config->origin[i].order != order || !is_change(config, &config->origin[i]))
				continue;
			config_value(&config->hw, config->dram_part, &config_keys[i], value, sizeof value);
			snprintf(text, sizeof text, "%s=%s", config_keys[i].name, value);
			config->changes[n] = own(config, strdup(text));
			if (!*config->changes[n++])
				return out_of_memory(err);
		}
	config->changes[n] = NULL;
	snprintf(config->title, sizeof config->title, "%s%s", config->hw.name,
		 n && strcmp(config->hw.name, config->preset) == 0 ? ", changed" : "");
	return true;
}

bool config_finish(struct config *config, struct npu_error *err)
{
	const char *key_name = NULL;
	struct npu_error inner = { 0 };
	if (!load_part(config, err))
		return false;
	if (hw_check(&config->hw, &key_name, &inner))
		return list_changes(config, err);
	const struct config_key *key = last_set(config, key_name, inner.text);
	if (key)
		blame(config, key, &inner);
	/* What nobody has set is missing in the part. */
	if (key && config->part_file && config->origin[index_of(key)].kind == CONFIG_INITIAL)
		npu_error_place(&inner, config->part_file, 0, 0);
	if (err)
		*err = inner;
	return false;
}

bool config_read(struct config *config, const char *base, const char *const *sets, unsigned nsets,
		 struct npu_error *err)
{
	if (!config_base(config, base ? base : "edge-1mb", err))
		return false;
	for (unsigned i = 0; i < nsets; i++)
		if (!config_set(config, sets[i], err))
			return false;
	return config_finish(config, err);
}

bool config_load(struct hw *hw, const char *base, const char *const *sets, unsigned nsets, struct npu_error *err)
{
	struct config config;
	config_init(&config);
	bool ok = config_read(&config, base, sets, nsets, err);
	*hw = config.hw;
	config_fini(&config);
	return ok;
}
