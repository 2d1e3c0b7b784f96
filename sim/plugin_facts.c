/* SPDX-License-Identifier: Apache-2.0 */
/* What a plug-in says of itself, told by a child that loads it to a process that does not. */
#include "isa/plain.h"
#include "sim/child.h"
#include "sim/config_file.h"
#include "sim/plugin.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_SHOWN = 4096 };
#define MOST_BYTES ((uint64_t)1 << 30)

struct asked {
	const char *path;
	const struct plugin_limits *limits;
	int fd;
};

/* ---- the child ---- */

static void tell(int fd, json_t *o)
{
	char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	if (text)
		child_write(fd, text, strlen(text));
	free(text);
	json_decref(o);
}

/* JSON has no bytes that are no UTF-8: where there are some, text as it is shown. */
static json_t *text_or_null(const char *text)
{
	char shown[LONGEST_SHOWN];
	json_t *string = text ? json_string(text) : json_null();
	if (string)
		return string;
	npu_plain(text, strlen(text), shown, sizeof shown);
	return json_string(shown);
}

static json_t *json_of_param(const struct npu_param *p)
{
	json_t *choices = json_array();
	for (unsigned i = 0; p->choices && p->choices[i]; i++)
		json_array_append_new(choices, text_or_null(p->choices[i]));
	return json_pack("{so, si, sI, sI, sI, sb, so, so, so, so}", "name", text_or_null(p->name), "type",
			 (int)p->type, "initial", (json_int_t)p->initial, "min", (json_int_t)p->min, "max",
			 (json_int_t)p->max, "derived", (int)p->derived, "unit", text_or_null(p->unit), "meaning",
			 text_or_null(p->meaning), "with", text_or_null(p->with), "choices", choices);
}

static json_t *json_of_error(const struct npu_error *err)
{
	return json_pack("{s{si, so, so}}", "error", "code", (int)err->code, "file", text_or_null(err->file), "text",
			 text_or_null(err->text));
}

static void load_and_tell(void *context)
{
	const struct asked *asked = context;
	struct npu_error err = { 0 };
	const struct npu_kernel *k = plugin_kernel(asked->path, &err);
	if (!k) {
		tell(asked->fd, json_of_error(&err));
		return;
	}
	json_t *params = json_array();
	for (unsigned i = 0; i < k->nparams; i++)
		json_array_append_new(params, json_of_param(&k->params[i]));
	tell(asked->fd, json_pack("{so, so, so}", "name", text_or_null(k->name), "summary", text_or_null(k->summary),
				  "params", params));
}

static void watch(void *context, int fd)
{
	struct asked *asked = context;
	struct npu_error err = { 0 };
	asked->fd = fd;
	if (!plugin_guard(asked->path, asked->limits, load_and_tell, asked, &err))
		tell(fd, json_of_error(&err));
}

/* ---- the process that asks ---- */

static const char *text_of(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}
static int64_t number_of(const json_t *o, const char *key)
{
	return (int64_t)json_integer_value(json_object_get(o, key));
}

/* Strings stay those of `owned`. */
static bool take_param(struct plugin_facts *f, unsigned i, const json_t *o)
{
	const json_t *choices = json_object_get(o, "choices");
	size_t n = json_array_size(choices);
	f->params[i] = (struct npu_param){
		.name = text_of(o, "name"),
		.type = (enum npu_param_type)number_of(o, "type"),
		.initial = number_of(o, "initial"),
		.min = number_of(o, "min"),
		.max = number_of(o, "max"),
		.derived = json_is_true(json_object_get(o, "derived")),
		.unit = text_of(o, "unit"),
		.meaning = text_of(o, "meaning"),
		.with = text_of(o, "with"),
	};
	if (!n)
		return true;
	f->choices[i] = calloc(n + 1, sizeof *f->choices[i]);
	for (size_t c = 0; f->choices[i] && c < n; c++)
		f->choices[i][c] = json_string_value(json_array_get(choices, c));
	f->params[i].choices = f->choices[i];
	return f->choices[i] != NULL;
}

static bool take(struct plugin_facts *f, json_t *o)
{
	const json_t *params = json_object_get(o, "params");
	unsigned n = (unsigned)json_array_size(params);
	f->owned = o;
	f->kernel = (struct npu_kernel){
		.name = text_of(o, "name"), .summary = text_of(o, "summary"), .params = f->params, .nparams = n
	};
	for (unsigned i = 0; i < n; i++)
		if (!take_param(f, i, json_array_get(params, i)))
			return false;
	return true;
}

/* As it was: its lines stay lines. */
static void take_error(const json_t *error, struct npu_error *err)
{
	*err = (struct npu_error){ .code = (enum npu_error_code)number_of(error, "code") };
	snprintf(err->file, sizeof err->file, "%s", text_of(error, "file"));
	snprintf(err->text, sizeof err->text, "%s", text_of(error, "text"));
}

/* What the child told, NULL with an error. */
static json_t *ask(struct asked *asked, struct npu_error *err)
{
	struct child child;
	json_t *o = NULL;
	if (!child_start(&child, watch, asked, err))
		return NULL;
	while (!child_take(&child))
		continue;
	child_end(&child);
	if (child.got)
		o = json_loadb(child.bytes, child.got, 0, NULL);
	child_free(&child);
	const json_t *error = json_object_get(o, "error");
	if (o && !error)
		return o;
	if (error)
		take_error(error, err);
	else
		npu_fail_at(err, NPU_ERR_PLUGIN, asked->path, 0, 0, "the process that loaded it told nothing");
	json_decref(o);
	return NULL;
}

struct plugin_facts *plugin_facts_of(const char *path, const struct plugin_limits *limits, struct npu_error *err)
{
	struct plugin_facts *f = calloc(1, sizeof *f);
	if (!f) {
		npu_fail(err, NPU_ERR_MEMORY, "out of memory");
		return NULL;
	}
	json_t *o = plugin_digest(path, f->digest, err) ? ask(&(struct asked){ path, limits, -1 }, err) : NULL;
	if (o && take(f, o))
		return f;
	if (o)
		npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	plugin_facts_free(f);
	return NULL;
}

void plugin_facts_free(struct plugin_facts *f)
{
	if (!f)
		return;
	for (unsigned i = 0; i < NPU_MAX_PARAMS; i++)
		free(f->choices[i]);
	json_decref(f->owned);
	free(f);
}

bool plugin_digest(const char *path, char out[17], struct npu_error *err)
{
	uint64_t nbytes, h = 0xcbf29ce484222325u;
	char *bytes = read_whole_file(path, MOST_BYTES, &nbytes, err);
	if (!bytes)
		return false;
	for (uint64_t i = 0; i < nbytes; i++)
		h = (h ^ (uint8_t)bytes[i]) * 0x100000001b3u;
	free(bytes);
	snprintf(out, 17, "%016" PRIx64, h);
	return true;
}
