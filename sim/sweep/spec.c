/* SPDX-License-Identifier: Apache-2.0 */
/* From YAML to points. */
#include "sim/sweep/spec.h"
#include "isa/units.h"
#include "sim/cli_work.h"
#include "sim/cmd/model.h"
#include "sim/config_file.h"
#include "sim/config_parse.h"
#include "sim/config_yaml.h"
#include "sim/sweep/figures.h"
#include "sim/sweep/hash.h"
#include "sim/sweep/identity.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct reader {
	struct yaml_file file;
	struct sweep_spec *spec;
	struct sweep_space *space;
	struct npu_args args;    /* scratch, to try values on */
	struct npu_macro *macro; /* of a program: its parameters */
	uint64_t bytes_hash;     /* of the program's file */
	struct npu_error *err;
};

static const char *const words[] = { "run", "model", "with", "hw", "axes", "where", "report", "sample", "seed", "search" };
enum { RUN, MODEL, WITH, HW, AXES, WHERE, REPORT, SAMPLE, SEED, SEARCH, WORDS };

static bool fail(struct reader *r, const yaml_node_t *node, const char *format, ...) __attribute__((format(printf, 3, 4)));
static bool fail(struct reader *r, const yaml_node_t *node, const char *format, ...)
{
	char text[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return yaml_fail(&r->file, node, r->err, "%s", text);
}

/* An error of somebody else, told at a node. */
static bool fail_as(struct reader *r, const yaml_node_t *node, const struct npu_error *inner)
{
	char text[sizeof inner->text + sizeof inner->file + 4];
	snprintf(text, sizeof text, "%s%s%s", inner->file, *inner->file ? ": " : "", inner->text);
	text[strcspn(text, "\n")] = '\0';
	return fail(r, node, "%s", text);
}

static const yaml_node_t *at(const struct reader *r, int node) { return yaml_file_node(&r->file, node); }

static char *keep(const char *text) { return strdup(text); }

/* ---- what is run ---- */

/* What results depend on; those past the most are in the hashes all the same. */
static void note_file(struct reader *r, const char *path)
{
	struct sweep_space *s = r->space;
	char *whole = s->nfiles < SWEEP_FILES ? realpath(path, NULL) : NULL;
	for (unsigned i = 0; whole && i < s->nfiles; i++)
		if (strcmp(s->files[i].path, whole) == 0) {
			free(whole);
			return;
		}
	if (!whole || !sweep_file_digest(whole, s->files[s->nfiles].digest)) {
		free(whole);
		return;
	}
	s->files[s->nfiles++].path = whole;
}

static bool hash_file(uint64_t *h, const char *path, struct npu_error *err)
{
	uint64_t nbytes;
	char *text = read_whole_file(path, (uint64_t)1 << 30, &nbytes, err);
	if (text)
		*h = sweep_hash_bytes(*h, text, nbytes);
	free(text);
	return text != NULL;
}

static bool open_program(struct reader *r, const yaml_node_t *node)
{
	struct npu_error inner = { 0 };
	r->bytes_hash = SWEEP_HASH_BEGIN;
	if (!hash_file(&r->bytes_hash, r->spec->subject, &inner))
		return fail_as(r, node, &inner);
	note_file(r, r->spec->subject);
	/* Names of parameters, no matter where buffers lie. */
	struct macro_load load = { NULL, NULL, 0, NULL };
	r->macro = macro_load(r->spec->subject, &load, &inner);
	/* What it includes. */
	struct npu_error ignored;
	for (uint32_t i = 0; r->macro && i < r->macro->program->nfiles; i++)
		if (strcmp(r->macro->program->files[i], r->spec->subject) != 0) {
			hash_file(&r->bytes_hash, r->macro->program->files[i], &ignored);
			note_file(r, r->macro->program->files[i]);
		}
	return r->macro || fail_as(r, node, &inner);
}

/* By its name, or by what the file beside the specification is. */
static bool names_plugin(const struct reader *r, const char *name)
{
	char *path = strchr(name, '/') ? sweep_path(r->space, name) : keep(name);
	bool plugin = path && is_plugin(path);
	free(path);
	return plugin;
}

static bool open_plugin(struct reader *r, const yaml_node_t *node, const char *name)
{
	struct npu_error inner = { 0 };
	struct sweep_space *s = r->space;
	s->subject = keep(name);
	r->spec->subject = sweep_path(s, name);
	if (!s->subject || !r->spec->subject)
		return npu_fail(r->err, NPU_ERR_MEMORY, "out of memory");
	r->spec->plugin = plugin_facts_of(r->spec->subject, &r->spec->limits, &inner);
	if (!r->spec->plugin) {
		fail_as(r, node, &inner);
		/* That it crashed is no fault of the specification. */
		r->err->code = inner.code;
		return false;
	}
	r->spec->kernel = &r->spec->plugin->kernel;
	snprintf(s->digest, sizeof s->digest, "%s", r->spec->plugin->digest);
	note_file(r, r->spec->subject);
	return true;
}

static bool read_run(struct reader *r, const yaml_node_t *node)
{
	struct npu_error inner = { 0 };
	const char *name = yaml_scalar(node);
	if (!name || !*name || strcmp(name, "-") == 0)
		return fail(r, node, "run takes the name of a kernel, a program's file or a plug-in");
	if (names_plugin(r, name))
		return open_plugin(r, node, name);
	if (strchr(name, '/') || strstr(name, ".npu")) {
		r->space->kind = SWEEP_PROGRAM;
		r->space->subject = keep(name);
		r->spec->subject = sweep_path(r->space, name);
		return r->space->subject && r->spec->subject && open_program(r, node);
	}
	r->spec->kernel = kernel_find(name, &inner);
	r->space->subject = keep(name);
	r->spec->subject = keep(name);
	return r->spec->kernel || fail_as(r, node, &inner);
}

static bool read_model(struct reader *r, const yaml_node_t *node)
{
	struct npu_error inner = { 0 };
	const char *name = yaml_scalar(node);
	if (!name || !*name || strcmp(name, "-") == 0)
		return fail(r, node, "model takes the name of a model or its config.json");
	r->space->kind = SWEEP_MODEL;
	r->spec->kernel = &model_ask_parameters;
	bool path = strchr(name, '/') || strstr(name, ".json");
	r->space->subject = keep(name);
	r->spec->subject = path ? sweep_path(r->space, name) : keep(name);
	if (!r->space->subject || !r->spec->subject)
		return npu_fail(r->err, NPU_ERR_MEMORY, "out of memory");
	if (path)
		note_file(r, r->spec->subject);
	return model_read(r->spec->subject, &r->spec->dims, &inner) || fail_as(r, node, &inner);
}

static bool read_subject(struct reader *r, const yaml_node_t *const top[WORDS])
{
	const yaml_node_t *root = yaml_document_get_root_node(&r->file.document);
	if (top[RUN] && top[MODEL])
		return fail(r, top[MODEL], "run and model: one can be");
	if (!top[RUN] && !top[MODEL])
		return fail(r, root, "run: KERNEL, run: FILE.npu, run: ./PLUGIN.so or model: NAME is missing");
	if (!(top[RUN] ? read_run(r, top[RUN]) : read_model(r, top[MODEL])))
		return false;
	if (r->spec->kernel)
		npu_args_init(r->spec->kernel, &r->args);
	return true;
}

/* ---- the machine ---- */

static bool add_machine(struct reader *r, const yaml_node_t *node, const char *name)
{
	struct npu_error inner = { 0 };
	return sweep_machines_add(&r->spec->machines, r->space, name, &inner) || fail_as(r, node, &inner);
}

/* What is a name or a path. */
static bool is_path_key(const char *key) { return strcmp(key, "hw") == 0 || strcmp(key, "dram.part") == 0; }

/* A preset or a DRAM part by its name, or where a file beside the specification is. */
static char *machine_name(struct reader *r, const char *name)
{
	char *path = sweep_is_path(name) ? sweep_path(r->space, name) : keep(name);
	if (path && sweep_is_path(name))
		note_file(r, path);
	return path;
}

static bool read_hw(struct reader *r, const yaml_node_t *node)
{
	const char *name = node ? yaml_scalar(node) : "edge-1mb";
	if (!name || !*name)
		return fail(r, node, "hw takes a preset or a YAML file; several machines are an axis: axes: {hw: [edge-1mb, edge-2mb]}");
	r->space->hw = keep(name);
	free(machine_name(r, name));
	return r->space->hw ? add_machine(r, node, name) : npu_fail(r->err, NPU_ERR_MEMORY, "out of memory");
}

/* ---- keys and values ---- */

static bool unknown_param(struct reader *r, const yaml_node_t *node, const char *key)
{
	const char *names[NPU_MAX_PARAMS + 2];
	unsigned n = 0;
	for (unsigned i = 0; r->spec->kernel && i < r->spec->kernel->nparams; i++)
		names[n++] = r->spec->kernel->params[i].name;
	for (unsigned i = 0; r->macro && i < r->macro->nparams && n < NPU_MAX_PARAMS; i++)
		names[n++] = r->macro->params[i].name;
	const char *near = npu_nearest(key, names, n);
	if (!near && (near = config_key_find(key) ? key : NULL) == NULL)
		for (unsigned i = 0; i < config_nkeys && !near; i++) {
			const char *dot = strchr(config_keys[i].name, '.');
			near = dot && strcmp(dot + 1, key) == 0 ? config_keys[i].name : NULL;
		}
	return fail(r, node, "%s has no parameter %.60s%s%s%s", r->spec->subject, key, near ? "; did you mean " : "", near ? near : "",
		    near ? "?" : "; a hardware key has a dot, as in sram.size");
}

static bool has_param(const struct reader *r, const char *key)
{
	if (r->spec->kernel)
		return npu_param_index(r->spec->kernel, key) >= 0 ||
		       (r->space->kind == SWEEP_KERNEL && strcmp(key, "tile") == 0);
	for (unsigned i = 0; i < r->macro->nparams; i++)
		if (strcmp(r->macro->params[i].name, key) == 0)
			return true;
	return false;
}

/* Whether a key exists, before its values. */
static bool check_key(struct reader *r, const yaml_node_t *node, const char *key)
{
	struct npu_error inner = { 0 };
	struct config scratch;
	if (strcmp(key, "hw") == 0)
		return true;
	if (!strchr(key, '.'))
		return has_param(r, key) || unknown_param(r, node, key);
	if (config_key_find(key))
		return true;
	char assignment[128];
	snprintf(assignment, sizeof assignment, "%.90s=", key);
	config_init(&scratch);
	config_set(&scratch, assignment, &inner);
	config_fini(&scratch);
	return fail_as(r, node, &inner);
}

static bool check_part(struct reader *r, const yaml_node_t *node, const char *name)
{
	char *path = strchr(name, '/') || strstr(name, ".yaml") ? keep(name) : config_preset_path(CONFIG_PRESET_DRAM, name);
	bool there = path && access(path, R_OK) == 0;
	free(path);
	if (there)
		return true;
	char **names = config_preset_names(CONFIG_PRESET_DRAM);
	unsigned n = 0;
	while (names && names[n])
		n++;
	const char *near = npu_nearest(name, (const char *const *)names, n);
	fail(r, node, "unknown DRAM part %.60s%s%s%s", name, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
	config_names_free(names);
	return false;
}

static bool check_value(struct reader *r, const yaml_node_t *node, const char *key, const char *value)
{
	struct npu_error inner = { 0 };
	char assignment[512];
	const struct config_key *hw = config_key_find(key);
	for (const char *at = value; *at; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			return fail(r, node, "%s: a value is one line of text", key);
	if (snprintf(assignment, sizeof assignment, "%s=%s", key, value) >= (int)sizeof assignment)
		return fail(r, node, "%s: the value is too long", key);
	if (strcmp(key, "hw") == 0)
		return true;
	if (hw && hw->type == CONFIG_PART)
		return check_part(r, node, value);
	if (hw) {
		struct hw scratch = r->spec->machines.bases[0].hw;
		char text[512];
		return config_parse(hw, value, &scratch, text, sizeof text) || fail(r, node, "%s", text);
	}
	if (r->space->kind == SWEEP_KERNEL && strcmp(key, "tile") == 0)
		return strcmp(value, "auto") == 0 || fail(r, node, "tile=%s: tile=auto would be right", value);
	/* Of a program, its own text judges. */
	return !r->spec->kernel || npu_args_set(r->spec->kernel, &r->args, assignment, &inner) || fail_as(r, node, &inner);
}

/* Whether it stands in settings or another axis already. */
static bool is_taken(const struct sweep_space *s, const char *key)
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

static bool set_with(struct reader *r, const yaml_node_t *key_node, const yaml_node_t *node)
{
	const char *key = yaml_scalar(key_node), *value = yaml_scalar(node);
	struct sweep_space *s = r->space;
	struct npu_error inner = { 0 };
	char assignment[512];
	if (!key || !value)
		return fail(r, key ? node : key_node, "with: one value a key; several are an axis");
	if (s->nwith == SWEEP_SETTINGS)
		return fail(r, key_node, "more than %d settings", SWEEP_SETTINGS);
	if (is_taken(s, key))
		return fail(r, key_node, "%s is set twice", key);
	if (strcmp(key, "hw") == 0)
		return fail(r, key_node, "hw stands beside with, not in it");
	if (!check_key(r, key_node, key))
		return false;
	s->with[s->nwith++] = (struct sweep_setting){ keep(key), keep(value) };
	char *path = is_path_key(key) ? machine_name(r, value) : keep(value);
	if (!path || !check_value(r, node, key, path)) {
		bool some = path != NULL;
		free(path);
		return some ? false : npu_fail(r->err, NPU_ERR_MEMORY, "out of memory");
	}
	snprintf(assignment, sizeof assignment, "%s=%s", key, path);
	free(path);
	for (unsigned i = 0; strchr(key, '.') && i < r->spec->machines.n; i++)
		if (!config_set(&r->spec->machines.bases[i], assignment, &inner))
			return fail_as(r, node, &inner);
	return true;
}

static bool read_with(struct reader *r, const yaml_node_t *node)
{
	if (node->type != YAML_MAPPING_NODE)
		return fail(r, node, "with takes keys and values: {seq: 512, heads: 8}");
	for (const yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top; p++)
		if (!set_with(r, at(r, p->key), at(r, p->value)))
			return false;
	return true;
}

/* ---- axes ---- */

struct list {
	char **values;
	uint32_t n, room;
};

static void list_free(struct list *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		free(l->values[i]);
	free(l->values);
}

/* `checked`: what stands for the value here, as a path does. */
static bool list_add_as(struct reader *r, const yaml_node_t *node, struct list *l, const char *key, const char *value, const char *checked)
{
	if (l->n == SWEEP_VALUES)
		return fail(r, node, "%s: more than %d values", key, SWEEP_VALUES);
	if (l->n == l->room) {
		uint32_t room = l->room ? 2 * l->room : 16;
		char **values = realloc(l->values, room * sizeof *values);
		if (!values)
			return npu_fail(r->err, NPU_ERR_MEMORY, "out of memory");
		l->values = values;
		l->room = room;
	}
	struct expr_value v = expr_value_of(value);
	for (uint32_t i = 0; l->n < 256 && i < l->n; i++) {
		struct expr_value other = expr_value_of(l->values[i]);
		if (strcmp(l->values[i], value) == 0)
			return fail(r, node, "%s: %s stands there twice", key, value);
		/* 1MiB and 1024KiB. */
		if (!v.text && !other.text && v.number == other.number)
			return fail(r, node, "%s: %s stands there already, as %s", key, value, l->values[i]);
	}
	if (!check_value(r, node, key, checked))
		return false;
	l->values[l->n++] = keep(value);
	return true;
}

static bool list_add(struct reader *r, const yaml_node_t *node, struct list *l, const char *key, const char *value)
{
	return list_add_as(r, node, l, key, value, value);
}

/* A number as a person would write it for this key. */
static const char *number_text(const char *key, uint64_t n, char out[32])
{
	const struct config_key *k = config_key_find(key);
	static const char *const units[] = { "", "KiB", "MiB", "GiB" };
	unsigned u = 0;
	for (; k && k->type == CONFIG_SIZE && n && n % 1024 == 0 && u < 3; u++)
		n /= 1024;
	snprintf(out, 32, "%" PRIu64 "%s", n, units[u]);
	return out;
}

static bool bounds(struct reader *r, const yaml_node_t *node, const char *what, unsigned n, uint64_t out[3])
{
	if (node->type != YAML_SEQUENCE_NODE || (unsigned)(node->data.sequence.items.top - node->data.sequence.items.start) != n)
		return fail(r, node, "%s takes %s", what, n == 2 ? "[first, last]" : "[first, last, step]");
	for (unsigned i = 0; i < n; i++) {
		const yaml_node_t *item = at(r, node->data.sequence.items.start[i]);
		const char *text = yaml_scalar(item);
		struct expr_value v = expr_value_of(text ? text : "");
		if (!text || v.text || v.number < 0 || v.number >= 0x1p62 || v.number != floor(v.number))
			return fail(r, item, "%s takes whole numbers, or sizes", what);
		out[i] = (uint64_t)v.number;
	}
	return true;
}

static bool read_pow2(struct reader *r, const yaml_node_t *node, const char *key, struct list *l)
{
	uint64_t b[3];
	char text[32];
	if (!bounds(r, node, "pow2", 2, b))
		return false;
	if (!b[0] || (b[0] & (b[0] - 1)) || (b[1] & (b[1] - 1)) || b[0] > b[1])
		return fail(r, node, "pow2 takes two powers of two, the smaller one first");
	for (uint64_t v = b[0]; v <= b[1]; v *= 2)
		if (!list_add(r, node, l, key, number_text(key, v, text)))
			return false;
	return true;
}

/* Of a key that takes fractions. */
static bool read_real_range(struct reader *r, const yaml_node_t *node, const char *key, struct list *l)
{
	double b[3];
	char text[32];
	if (node->type != YAML_SEQUENCE_NODE || node->data.sequence.items.top - node->data.sequence.items.start != 3)
		return fail(r, node, "range takes [first, last, step]");
	for (unsigned i = 0; i < 3; i++) {
		const yaml_node_t *item = at(r, node->data.sequence.items.start[i]);
		const char *number = yaml_scalar(item);
		struct expr_value v = expr_value_of(number ? number : "");
		if (!number || v.text || !isfinite(v.number) || v.number < 0)
			return fail(r, item, "range takes numbers");
		b[i] = v.number;
	}
	if (!(b[2] > 0) || b[0] > b[1])
		return fail(r, node, "range takes a first value, a last one that is not smaller, and a step above 0");
	/* The last one belongs to it, however the steps are rounded. */
	double steps = floor((b[1] - b[0]) / b[2] + 1e-9);
	if (steps >= SWEEP_VALUES)
		return fail(r, node, "%s: more than %s values: a longer step", key, npu_count_text(SWEEP_VALUES).text);
	for (double i = 0; i <= steps; i++) {
		snprintf(text, sizeof text, "%.12g", b[0] + i * b[2]);
		if (!list_add(r, node, l, key, text))
			return false;
	}
	return true;
}

static bool read_range(struct reader *r, const yaml_node_t *node, const char *key, struct list *l)
{
	uint64_t b[3];
	char text[32];
	const struct config_key *hw = config_key_find(key);
	if (hw && hw->type == CONFIG_REAL)
		return read_real_range(r, node, key, l);
	if (!bounds(r, node, "range", 3, b))
		return false;
	if (!b[2] || b[0] > b[1])
		return fail(r, node, "range takes a first value, a last one that is not smaller, and a step of 1 or more");
	if ((b[1] - b[0]) / b[2] >= SWEEP_VALUES)
		return fail(r, node, "%s: %s values, %s at most would be right: a longer step", key,
			    npu_count_text((b[1] - b[0]) / b[2] + 1).text, npu_count_text(SWEEP_VALUES).text);
	for (uint64_t v = b[0]; v <= b[1]; v += b[2])
		if (!list_add(r, node, l, key, number_text(key, v, text)))
			return false;
	return true;
}

/* The only pair of a mapping, its key into *word; NULL: something else. */
static const yaml_node_t *only_pair(const struct reader *r, const yaml_node_t *node, const char **word)
{
	if (node->type != YAML_MAPPING_NODE || node->data.mapping.pairs.top - node->data.mapping.pairs.start != 1)
		return NULL;
	*word = yaml_scalar(at(r, node->data.mapping.pairs.start->key));
	return *word ? at(r, node->data.mapping.pairs.start->value) : NULL;
}

static bool read_list(struct reader *r, const yaml_node_t *node, const char *key, struct list *l)
{
	for (const yaml_node_item_t *i = node->data.sequence.items.start; i < node->data.sequence.items.top; i++) {
		const yaml_node_t *item = at(r, *i);
		const char *value = yaml_scalar(item);
		if (!value || !*value)
			return fail(r, item, "%s: one value would be right here", key);
		char *name = is_path_key(key) ? machine_name(r, value) : NULL;
		bool ok = (strcmp(key, "hw") != 0 || add_machine(r, item, value)) && list_add_as(r, item, l, key, value, name ? name : value);
		free(name);
		if (!ok)
			return false;
	}
	return l->n || fail(r, node, "%s: the axis is empty", key);
}

static bool read_values(struct reader *r, const yaml_node_t *node, const char *key, struct list *l)
{
	const char *word = NULL;
	const yaml_node_t *inner = only_pair(r, node, &word);
	if (node->type == YAML_SEQUENCE_NODE)
		return read_list(r, node, key, l);
	if (node->type == YAML_SCALAR_NODE && node->data.scalar.length == 0)
		return fail(r, node, "%s: the axis is empty", key);
	if (inner && strcmp(key, "hw") != 0) {
		if (strcmp(word, "pow2") == 0)
			return read_pow2(r, inner, key, l);
		if (strcmp(word, "range") == 0)
			return read_range(r, inner, key, l);
	}
	return fail(r, node, "%s: [a, b, c], {pow2: [a, b]}, {range: [a, b, step]} or {zip: {...}} would be right", key);
}

/* Takes the values over. */
static bool add_key(struct reader *r, const yaml_node_t *key_node, const char *key, struct list *l)
{
	struct sweep_axis *x = &r->space->axes[r->space->naxes];
	if (x->nkeys && l->n != x->count)
		return fail(r, key_node, "%s: %u value%s, %u of the one before: zipped axes are equally long", key, l->n, l->n > 1 ? "s" : "", x->count);
	char **values = realloc(x->values, ((size_t)x->nkeys + 1) * l->n * sizeof *values);
	if (!values)
		return npu_fail(r->err, NPU_ERR_MEMORY, "out of memory");
	memcpy(values + (size_t)x->nkeys * l->n, l->values, l->n * sizeof *values);
	x->values = values;
	x->count = l->n;
	x->keys[x->nkeys++] = keep(key);
	free(l->values);
	*l = (struct list){ 0 };
	return true;
}

static bool read_key(struct reader *r, const yaml_node_t *key_node, const yaml_node_t *node)
{
	struct list l = { 0 };
	const char *key = yaml_scalar(key_node);
	if (!key)
		return fail(r, key_node, "a key is one word");
	if (is_taken(r->space, key))
		return fail(r, key_node, "%s is set twice", key);
	if (r->space->axes[r->space->naxes].nkeys == SWEEP_KEYS)
		return fail(r, key_node, "more than %d keys go together", SWEEP_KEYS);
	bool ok = check_key(r, key_node, key) && read_values(r, node, key, &l) && add_key(r, key_node, key, &l);
	list_free(&l);
	if (ok && strcmp(key, "hw") == 0)
		r->spec->machines.axis = (int)r->space->naxes;
	return ok;
}

static bool read_axis(struct reader *r, const yaml_node_t *key_node, const yaml_node_t *node)
{
	const char *name = yaml_scalar(key_node), *word = NULL;
	if (!name)
		return fail(r, key_node, "a key is one word");
	if (r->space->naxes == SWEEP_AXES)
		return fail(r, key_node, "more than %d axes", SWEEP_AXES);
	struct sweep_axis *x = &r->space->axes[r->space->naxes];
	*x = (struct sweep_axis){ .line = (uint32_t)key_node->start_mark.line + 1, .column = (uint32_t)key_node->start_mark.column + 1 };
	const yaml_node_t *zip = only_pair(r, node, &word);
	if (!zip || strcmp(word, "zip") != 0) {
		if (!read_key(r, key_node, node))
			return false;
	} else {
		if (zip->type != YAML_MAPPING_NODE)
			return fail(r, zip, "zip takes keys and their values, all equally many");
		if (zip->data.mapping.pairs.start == zip->data.mapping.pairs.top)
			return fail(r, zip, "%s: the axis is empty", name);
		if (!sweep_is_name(name))
			return fail(r, key_node, "an axis is called by one word of letters, digits, _ . and -, as in array");
		if (strcmp(name, "hw") == 0 || has_param(r, name) || config_key_find(name))
			return fail(r, key_node, "%s is a key itself: keys that go together are called by a name of their own", name);
		for (const yaml_node_pair_t *p = zip->data.mapping.pairs.start; p < zip->data.mapping.pairs.top; p++)
			if (!read_key(r, at(r, p->key), at(r, p->value)))
				return false;
	}
	x->name = keep(name);
	x->hardware = true;
	for (unsigned k = 0; k < x->nkeys; k++)
		x->hardware = x->hardware && (strchr(x->keys[k], '.') || strcmp(x->keys[k], "hw") == 0);
	for (unsigned a = 0; a < r->space->naxes; a++)
		if (strcmp(r->space->axes[a].name, name) == 0)
			return fail(r, key_node, "a second axis %s", name);
	r->space->naxes++;
	return true;
}

/* Bases come first that an axis of machines may have replaced: the one beside is dropped. */
static void drop_first_base(struct sweep_spec *spec)
{
	struct sweep_machines *m = &spec->machines;
	config_fini(&m->bases[0]);
	memmove(m->bases, m->bases + 1, --m->n * sizeof *m->bases);
}

static bool clocks_differ(const struct sweep_spec *spec)
{
	const struct sweep_space *s = spec->space;
	for (unsigned a = 0; a < s->naxes; a++)
		for (unsigned k = 0; k < s->axes[a].nkeys; k++)
			if (strcmp(s->axes[a].keys[k], "npu.clock_mhz") == 0)
				return s->axes[a].count > 1;
	for (unsigned i = 1; i < spec->machines.n; i++)
		if (spec->machines.bases[i].hw.npu.clock_mhz != spec->machines.bases[0].hw.npu.clock_mhz)
			return true;
	return false;
}

static bool read_axes(struct reader *r, const yaml_node_t *node, const yaml_node_t *hw)
{
	struct sweep_space *s = r->space;
	if (node->type != YAML_MAPPING_NODE || node->data.mapping.pairs.start == node->data.mapping.pairs.top)
		return fail(r, node, "axes takes keys and their values: {tile_q: [64, 128]}");
	for (const yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top; p++)
		if (!read_axis(r, at(r, p->key), at(r, p->value)))
			return false;
	if (r->spec->machines.axis >= 0) {
		if (hw)
			return fail(r, hw, "hw and an axis hw: one can be");
		drop_first_base(r->spec);
		free(s->hw);
		s->hw = NULL;
	}
	s->clocks = clocks_differ(r->spec);
	s->points = 1;
	for (unsigned a = 0; a < s->naxes; a++)
		if (__builtin_mul_overflow(s->points, s->axes[a].count, &s->points) || s->points > SWEEP_MOST_GRID)
			return fail(r, node, "more than 4 x 10^18 points: fewer axes or values would be right");
	return true;
}

/* ---- the condition ---- */

static const struct npu_param *param_of(const struct sweep_spec *spec, const char *name)
{
	int i = spec->kernel ? npu_param_index(spec->kernel, name) : -1;
	return i >= 0 ? &spec->kernel->params[i] : NULL;
}

static bool is_word_of(const struct reader *r, const char *name)
{
	const struct sweep_space *s = r->space;
	struct config_word word;
	for (unsigned a = 0; a < s->naxes; a++)
		for (size_t i = 0; i < (size_t)s->axes[a].nkeys * s->axes[a].count; i++)
			if (strcmp(s->axes[a].values[i], name) == 0)
				return true;
	for (unsigned i = 0; r->spec->kernel && i < r->spec->kernel->nparams; i++)
		for (const char *const *c = r->spec->kernel->params[i].choices; c && *c; c++)
			if (strcmp(*c, name) == 0)
				return true;
	for (unsigned i = 0; i < config_nkeys; i++)
		for (unsigned n = 0; config_key_word(&config_keys[i], n, &word); n++)
			if (strlen(name) == word.length && memcmp(word.text, name, word.length) == 0)
				return true;
	return false;
}

static bool bind(struct reader *r, const yaml_node_t *node)
{
	struct sweep_spec *spec = r->spec;
	const char *names[CONFIG_KEYS_MAX + NPU_MAX_PARAMS + SWEEP_AXES];
	char scratch[256];
	uint32_t column;
	const char *name;
	for (unsigned i = 0; (name = expr_name(spec->where, i, &column)); i++) {
		const struct npu_param *p = param_of(spec, name);
		if (expr_is_word(spec->where, i) || sweep_value(r->space, 0, name, scratch, sizeof scratch) || (p && !p->derived))
			continue;
		if (p || config_key_find(name) || (r->macro && has_param(r, name))) {
			spec->late = true;
			continue;
		}
		if (is_word_of(r, name)) {
			expr_make_word(spec->where, i);
			continue;
		}
		unsigned n = 0;
		for (unsigned a = 0; a < r->space->naxes; a++)
			names[n++] = r->space->axes[a].name;
		for (unsigned k = 0; spec->kernel && k < spec->kernel->nparams; k++)
			names[n++] = spec->kernel->params[k].name;
		for (unsigned k = 0; r->macro && k < r->macro->nparams && n < NPU_MAX_PARAMS; k++)
			names[n++] = r->macro->params[k].name;
		for (unsigned k = 0; k < config_nkeys; k++)
			names[n++] = config_keys[k].name;
		const char *near = npu_nearest(name, names, n);
		fail(r, node, "where: unknown name %s%s%s%s", name, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
		r->err->column += column - 1 + (node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE);
		return false;
	}
	return true;
}

static enum expr_kind kind_of(void *context, unsigned n)
{
	const struct reader *r = context;
	const char *name = expr_name(r->spec->where, n, NULL);
	enum expr_kind kind;
	const struct npu_param *p = param_of(r->spec, name);
	const struct config_key *key = config_key_find(name);
	if (sweep_kind(r->space, name, &kind))
		return kind;
	if (p)
		return p->type == NPU_PARAM_CHOICE ? EXPR_WORD : EXPR_NUMBER;
	return key && (key->type == CONFIG_PART || key->type == CONFIG_ENUM) ? EXPR_WORD : EXPR_ANY;
}

/* Parses and binds one condition, told at its node. */
static bool take_condition(struct reader *r, const yaml_node_t *node, const char *text)
{
	struct npu_error inner = { 0 };
	const char **known = sweep_words(r->space);
	expr_free(r->spec->where);
	r->spec->where = text && *text ? expr_parse(text, known, &inner) : NULL;
	free(known);
	if (r->spec->where && !bind(r, node))
		return false;
	if (r->spec->where && expr_check(r->spec->where, kind_of, r, &inner))
		return true;
	if (!text || !*text)
		return fail(r, node, "where takes a condition, or a list of them: tile_q * tile_kv <= 65536");
	fail(r, node, "where: %s", inner.text);
	if (inner.column)
		r->err->column += inner.column - 1 + (node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE);
	return false;
}

/* All of a list must hold. */
static bool read_where(struct reader *r, const yaml_node_t *node)
{
	if (node->type != YAML_SEQUENCE_NODE) {
		const char *text = yaml_scalar(node);
		r->space->where = text ? keep(text) : NULL;
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
		const char *text = yaml_scalar(at(r, *i));
		ok = take_condition(r, at(r, *i), text);
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
		return expr_value_of(text);
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

/* As far as can be looked at. */
static bool something_passes(const struct sweep_spec *spec)
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

/* ---- figures, samples ---- */

static bool check_figure(struct reader *r, const yaml_node_t *node, const char *name)
{
	const char *near;
	bool model = r->space->kind == SWEEP_MODEL;
	if (sweep_figure_find(name) >= 0)
		return sweep_figure_is_of(name, model) || fail(r, node, "%s: %s have no such figure", name, model ? "steps of a model" : "runs of a kernel or program");
	near = sweep_figure_near(name);
	return fail(r, node, "unknown figure %.60s%s%s%s", name, near ? "; did you mean " : "; npusim sweep figures lists them",
		    near ? near : "", near ? "?" : "");
}

static bool read_figures(struct reader *r, const yaml_node_t *node, char **list, unsigned *n, unsigned most)
{
	if (node->type != YAML_SEQUENCE_NODE)
		return fail(r, node, "a list of figures would be right: [cycles, mac_utilization]");
	for (const yaml_node_item_t *i = node->data.sequence.items.start; i < node->data.sequence.items.top; i++) {
		const yaml_node_t *item = at(r, *i);
		const char *name = yaml_scalar(item);
		if (!name)
			return fail(r, item, "a figure is one word");
		if (*n == most)
			return fail(r, item, "more than %u figures", most);
		if (!check_figure(r, item, name))
			return false;
		list[(*n)++] = keep(name);
	}
	return true;
}

static bool read_count(struct reader *r, const yaml_node_t *node, const char *what, uint64_t most, uint64_t *out)
{
	const char *text = yaml_scalar(node);
	char *end = NULL;
	if (!text || !*text || strspn(text, "0123456789") != strlen(text) || strlen(text) > 18)
		return fail(r, node, "%s takes a whole number", what);
	*out = strtoull(text, &end, 10);
	return (*out >= 1 && *out <= most) || fail(r, node, "%s: 1 to %s would be right", what, npu_count_text(most).text);
}

/* `search: pareto`, or {pareto: [cycles, sram.peak_bytes], points: 300}. */
static bool read_search(struct reader *r, const yaml_node_t *node)
{
	struct sweep_space *s = r->space;
	const char *const usual[] = { s->clocks ? "time_us" : "cycles", "sram.peak_bytes" };
	const char *text = yaml_scalar(node);
	s->budget = 500;
	if (text && strcmp(text, "pareto") == 0) {
		for (; s->ngoals < 2; s->ngoals++)
			s->goals[s->ngoals] = keep(usual[s->ngoals]);
	} else if (node->type == YAML_MAPPING_NODE) {
		for (const yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top; p++) {
			const char *word = yaml_scalar(at(r, p->key));
			if (word && strcmp(word, "pareto") == 0) {
				if (!read_figures(r, at(r, p->value), s->goals, &s->ngoals, SWEEP_GOALS))
					return false;
			} else if (word && strcmp(word, "points") == 0) {
				if (!read_count(r, at(r, p->value), "points", SWEEP_MOST_POINTS, &s->budget))
					return false;
			} else {
				return fail(r, at(r, p->key), "search takes pareto and points");
			}
		}
	}
	s->pareto = s->ngoals >= 1;
	return s->pareto || fail(r, node, "search: pareto or {pareto: [cycles, sram.peak_bytes], points: 500} would be right");
}

static bool read_sample(struct reader *r, const yaml_node_t *const top[WORDS])
{
	struct sweep_space *s = r->space;
	s->seed = 1;
	if (top[SAMPLE] && top[SEARCH])
		return fail(r, top[SEARCH], "sample and search: one can be");
	if (top[SAMPLE] && !read_count(r, top[SAMPLE], "sample", SWEEP_MOST_POINTS, &s->sample))
		return false;
	if (top[SEED] && !read_count(r, top[SEED], "seed", 999999999, &s->seed))
		return false;
	if (top[SEARCH] && !read_search(r, top[SEARCH]))
		return false;
	s->count = s->sample ? s->sample : s->pareto ? s->budget : s->points;
	if (s->count > s->points)
		s->count = s->points;
	if (s->count > SWEEP_MOST_POINTS)
		return fail(r, top[AXES], "%s points, %s at most are run one by one: `sample: N` takes some of them, `search: pareto` looks for the good ones",
			    npu_count_text(s->points).text, npu_count_text(SWEEP_MOST_POINTS).text);
	return true;
}

/* ---- the whole ---- */

static bool read_top(struct reader *r, const yaml_node_t *top[WORDS])
{
	const yaml_node_t *root = yaml_document_get_root_node(&r->file.document);
	if (!root)
		return npu_fail_at(r->err, NPU_ERR_SYNTAX, r->file.name, 0, 0, "the file is empty; a sweep would be right");
	if (root->type != YAML_MAPPING_NODE)
		return fail(r, root, "run, with, hw, axes and where would be right here");
	for (const yaml_node_pair_t *p = root->data.mapping.pairs.start; p < root->data.mapping.pairs.top; p++) {
		const yaml_node_t *key = at(r, p->key);
		const char *word = yaml_scalar(key);
		unsigned i = 0;
		while (word && i < WORDS && strcmp(words[i], word) != 0)
			i++;
		if (!word || i == WORDS) {
			const char *near = word ? npu_nearest(word, words, WORDS) : NULL;
			return fail(r, key, "unknown key %.60s%s%s%s", word ? word : "", near ? "; did you mean " : "; there are run, model, with, hw, axes, where, report, sample, seed, search",
				    near ? near : "", near ? "?" : "");
		}
		if (top[i])
			return fail(r, key, "a second %s", word);
		top[i] = at(r, p->value);
	}
	return true;
}

/* Where the specification is: for this process as it was named, for everybody else the whole path. */
static bool place(struct reader *r)
{
	struct sweep_space *s = r->space;
	const char *name = r->file.name, *slash = strrchr(name, '/');
	bool is_file = access(name, F_OK) == 0;
	s->beside = slash && is_file ? strndup(name, (size_t)(slash + 1 - name)) : keep("");
	s->folder = s->beside ? realpath(*s->beside ? s->beside : ".", NULL) : NULL;
	s->spec = is_file ? realpath(name, NULL) : NULL;
	if (!s->spec)
		s->spec = keep("-");
	return (s->beside && s->folder && s->spec) || npu_fail(r->err, NPU_ERR_IO, "%s: where it is cannot be told", name);
}

static bool read_spec(struct reader *r)
{
	const yaml_node_t *top[WORDS] = { NULL };
	struct sweep_space *s = r->space;
	if (!place(r) || !read_top(r, top) || !read_hw(r, top[HW]) || !read_subject(r, top) || (top[WITH] && !read_with(r, top[WITH])))
		return false;
	if (!top[AXES])
		return fail(r, yaml_document_get_root_node(&r->file.document), "axes is missing: what is to be swept, as in axes: {tile_q: [64, 128]}");
	if (!read_axes(r, top[AXES], top[HW]) || (top[WHERE] && !read_where(r, top[WHERE])) ||
	    (top[REPORT] && !read_figures(r, top[REPORT], s->report, &s->nreport, SWEEP_REPORT)) || !read_sample(r, top))
		return false;
	if (s->nreport && sweep_figures[sweep_figure_find(s->report[0])].type == SWEEP_TEXT)
		return fail(r, top[REPORT], "report: the first figure is what is made best, and %s is a word", s->report[0]);
	if (!something_passes(r->spec))
		return fail(r, top[WHERE], "where: excludes all %s points", npu_count_text(s->points).text);
	s->version = keep(NPUSIM_VERSION);
	return sweep_identify(r->spec, r->bytes_hash, r->macro ? r->macro->program->hash : 0, r->err);
}

struct sweep_spec *sweep_spec_read(const char *path, const struct plugin_limits *limits, struct npu_error *err)
{
	struct reader r = { .err = err };
	if (!yaml_file_open(&r.file, path, err))
		return NULL;
	r.spec = calloc(1, sizeof *r.spec);
	if (r.spec)
		r.space = r.spec->space = calloc(1, sizeof *r.space);
	if (r.space) {
		r.spec->machines.axis = -1;
		r.spec->limits = *limits;
	}
	bool ok = r.space ? read_spec(&r) : npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	if (r.macro)
		npu_macro_free(r.macro);
	yaml_file_close(&r.file);
	if (ok)
		return r.spec;
	sweep_spec_free(r.spec);
	return NULL;
}

void sweep_spec_free(struct sweep_spec *spec)
{
	if (!spec)
		return;
	sweep_machines_fini(&spec->machines);
	expr_free(spec->where);
	plugin_facts_free(spec->plugin);
	sweep_space_free(spec->space);
	free(spec->subject);
	free(spec);
}
