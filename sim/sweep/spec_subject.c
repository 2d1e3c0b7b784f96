/* SPDX-License-Identifier: Apache-2.0 */
/* `run` and `model`: a kernel, a program, a plug-in or a model, with the names of its parameters. */
#include "sim/cli_work.h"
#include "sim/cmd/model.h"
#include "sim/config_file.h"
#include "sim/sweep/hash.h"
#include "sim/sweep/spec_parts.h"
#include "traces/model_config.h"

#include <stdlib.h>
#include <string.h>

/* The name of a preset's file, NULL: it is none. */
static char *preset_of(const char *path, enum config_preset_kind kind, const char *before)
{
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
	char *name = strndup(file, strcspn(file, "."));
	char *preset = name ? config_preset_path(kind, name) : NULL, *out = NULL;
	size_t size = strlen(before) + strlen(file) + 1;
	if (preset && strcmp(preset, path) == 0 && (out = malloc(size)))
		snprintf(out, size, "%s%s", before, file);
	free(preset);
	free(name);
	return out;
}

void spec_note_file(struct spec_reader *r, const char *path)
{
	char digest[17];
	char *whole = preset_of(path, CONFIG_PRESET_HW, "presets/");
	if (!whole)
		whole = preset_of(path, CONFIG_PRESET_DRAM, "presets/dram/");
	if (!whole)
		whole = realpath(path, NULL);
	if (whole && sweep_file_digest(path, digest))
		sweep_add_file(r->space, whole, digest);
	else
		free(whole);
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

/* Whatever it holds: also a macro that only some points use. */
static void note_include(void *context, const char *path)
{
	struct spec_reader *r = context;
	struct npu_error ignored;
	hash_file(&r->bytes_hash, path, &ignored);
	spec_note_file(r, path);
}

static bool open_program(struct spec_reader *r, const yaml_node_t *node)
{
	struct npu_error inner = { 0 };
	r->bytes_hash = SWEEP_HASH_BEGIN;
	if (!hash_file(&r->bytes_hash, r->spec->subject, &inner))
		return spec_fail_as(r, node, &inner);
	spec_note_file(r, r->spec->subject);
	/* Names of parameters, no matter where buffers lie. */
	struct macro_load load = { .note = note_include, .context = r };
	r->macro = macro_load(r->spec->subject, &load, &inner);
	return r->macro || spec_fail_as(r, node, &inner);
}

/* By its name, or by what the file beside the specification is. */
static bool names_plugin(const struct spec_reader *r, const char *name)
{
	char *path = strchr(name, '/') ? sweep_path(r->space, name) : spec_keep(name);
	bool plugin = path && is_plugin(path);
	free(path);
	return plugin;
}

static bool open_plugin(struct spec_reader *r, const yaml_node_t *node, const char *name)
{
	struct npu_error inner = { 0 };
	struct sweep_space *s = r->space;
	s->subject = spec_keep(name);
	r->spec->subject = sweep_path(s, name);
	if (!s->subject || !r->spec->subject)
		return npu_fail(r->err, NPU_ERR_MEMORY, "out of memory");
	r->spec->plugin = plugin_facts_of(r->spec->subject, &r->spec->limits, &inner);
	if (!r->spec->plugin) {
		spec_fail_as(r, node, &inner);
		/* That it crashed is no fault of the specification. */
		r->err->code = inner.code;
		return false;
	}
	r->spec->kernel = &r->spec->plugin->kernel;
	snprintf(s->digest, sizeof s->digest, "%s", r->spec->plugin->digest);
	spec_note_file(r, r->spec->subject);
	return true;
}

static bool read_run(struct spec_reader *r, const yaml_node_t *node)
{
	struct npu_error inner = { 0 };
	const char *name = yaml_scalar(node);
	if (!name || !*name || strcmp(name, "-") == 0)
		return spec_fail(r, node, "run takes the name of a kernel, a program's file or a plug-in");
	if (names_plugin(r, name))
		return open_plugin(r, node, name);
	if (strchr(name, '/') || strstr(name, ".npu")) {
		r->space->kind = SWEEP_PROGRAM;
		r->space->subject = spec_keep(name);
		r->spec->subject = sweep_path(r->space, name);
		return r->space->subject && r->spec->subject && open_program(r, node);
	}
	r->spec->kernel = kernel_find(name, &inner);
	r->space->subject = spec_keep(name);
	r->spec->subject = spec_keep(name);
	return r->spec->kernel || spec_fail_as(r, node, &inner);
}

static bool read_model(struct spec_reader *r, const yaml_node_t *node)
{
	struct npu_error inner = { 0 };
	const char *name = yaml_scalar(node);
	if (!name || !*name || strcmp(name, "-") == 0)
		return spec_fail(r, node, "model takes the name of a model or its config.json");
	r->space->kind = SWEEP_MODEL;
	r->spec->kernel = &model_ask_parameters;
	bool path = strchr(name, '/') || strstr(name, ".json");
	r->space->subject = spec_keep(name);
	r->spec->subject = path ? sweep_path(r->space, name) : spec_keep(name);
	if (!r->space->subject || !r->spec->subject)
		return npu_fail(r->err, NPU_ERR_MEMORY, "out of memory");
	if (!model_find(name))
		spec_note_file(r, r->spec->subject);
	return model_read(r->spec->subject, &r->spec->dims, &inner) || spec_fail_as(r, node, &inner);
}

bool spec_read_subject(struct spec_reader *r, const yaml_node_t *run, const yaml_node_t *model)
{
	const yaml_node_t *root = yaml_document_get_root_node(&r->file.document);
	if (run && model)
		return spec_fail(r, model, "run and model: one can be");
	if (!run && !model)
		return spec_fail(r, root, "run: KERNEL, run: FILE.npu, run: ./PLUGIN.so or model: NAME is missing");
	if (!(run ? read_run(r, run) : read_model(r, model)))
		return false;
	if (r->spec->kernel)
		npu_args_init(r->spec->kernel, &r->args);
	return true;
}

/* ---- its parameters ---- */

bool spec_unknown_param(struct spec_reader *r, const yaml_node_t *node, const char *key)
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
	return spec_fail(r, node, "%s has no parameter %.60s%s%s%s", r->spec->subject, key,
			 near ? "; did you mean " : "", near ? near : "",
			 near ? "?" : "; a hardware key has a dot, as in sram.size");
}

bool spec_has_param(const struct spec_reader *r, const char *key)
{
	if (r->spec->kernel)
		return npu_param_index(r->spec->kernel, key) >= 0 ||
		       (r->space->kind == SWEEP_KERNEL && strcmp(key, "tile") == 0);
	for (unsigned i = 0; i < r->macro->nparams; i++)
		if (strcmp(r->macro->params[i].name, key) == 0)
			return true;
	return false;
}
