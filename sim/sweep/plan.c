/* SPDX-License-Identifier: Apache-2.0 */
/* The plan file of a space: written, told apart from others, and read again, whoever wrote it. */
#define _GNU_SOURCE
#include "sim/config.h"
#include "sim/sweep/figures.h"
#include "sim/sweep/hash.h"
#include "sim/sweep/space.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

static const char *const kinds[] = { "kernel", "program", "model" };

/* A text of any bytes; NULL: null. What is not UTF-8, as names of files need not be, is {"hex": "66ff"}. */
static json_t *text_json(const char *text)
{
	json_t *value = text ? json_string(text) : json_null();
	size_t n = text ? strlen(text) : 0;
	char *hex = value ? NULL : malloc(2 * n + 1);
	for (size_t i = 0; hex && i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", (unsigned char)text[i]);
	if (hex)
		value = json_pack("{s:s}", "hex", hex);
	free(hex);
	return value;
}

static json_t *strings(char *const *list, size_t n)
{
	json_t *array = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(array, text_json(list[i]));
	return array;
}

json_t *sweep_space_json(const struct sweep_space *s)
{
	json_t *o = json_object(), *with = json_object(), *axes = json_array();
	for (unsigned i = 0; i < s->nwith; i++)
		json_object_set_new(with, s->with[i].key, text_json(s->with[i].value));
	for (unsigned a = 0; a < s->naxes; a++) {
		const struct sweep_axis *x = &s->axes[a];
		json_t *axis = json_object();
		json_object_set_new(axis, "name", json_string(x->name));
		json_object_set_new(axis, "hardware", json_boolean(x->hardware));
		json_object_set_new(axis, "keys", strings(x->keys, x->nkeys));
		json_object_set_new(axis, "values", strings(x->values, (size_t)x->nkeys * x->count));
		json_array_append_new(axes, axis);
	}
	json_t *files = json_array();
	for (unsigned i = 0; i < s->nfiles; i++) {
		json_t *file = json_object();
		json_object_set_new(file, "path", text_json(s->files[i].path));
		json_object_set_new(file, "digest", json_string(s->files[i].digest));
		json_array_append_new(files, file);
	}
	json_object_set_new(o, "schema", json_string("npusim.sweep/1"));
	json_object_set_new(o, "version", json_string(s->version));
	json_object_set_new(o, "identity", json_string(s->identity));
	json_object_set_new(o, "machines", json_string(s->machines));
	json_object_set_new(o, "inputs", json_string(s->inputs));
	json_object_set_new(o, "spec", text_json(s->spec));
	json_object_set_new(o, "folder", text_json(s->folder));
	json_object_set_new(o, "files", files);
	json_object_set_new(o, "clocks", json_boolean(s->clocks));
	json_object_set_new(o, "kind", json_string(kinds[s->kind]));
	json_object_set_new(o, "subject", text_json(s->subject));
	if (*s->digest)
		json_object_set_new(o, "digest", json_string(s->digest));
	json_object_set_new(o, "hw", text_json(s->hw));
	json_object_set_new(o, "with", with);
	json_object_set_new(o, "axes", axes);
	json_object_set_new(o, "where", text_json(s->where));
	json_object_set_new(o, "report", strings(s->report, s->nreport));
	json_object_set_new(o, "sample", json_integer((json_int_t)s->sample));
	json_object_set_new(o, "seed", json_integer((json_int_t)s->seed));
	json_object_set_new(o, "goals", strings(s->goals, s->ngoals));
	json_object_set_new(o, "points", json_integer((json_int_t)s->points));
	json_object_set_new(o, "count", json_integer((json_int_t)s->count));
	return o;
}

/* ---- identity ---- */

bool sweep_file_digest(const char *path, char out[17])
{
	uint8_t bytes[4096];
	uint64_t h = SWEEP_HASH_BEGIN;
	FILE *in = fopen(path, "re");
	if (!in)
		return false;
	for (size_t n; (n = fread(bytes, 1, sizeof bytes, in)) > 0;)
		h = sweep_hash_bytes(h, bytes, n);
	bool ok = !ferror(in);
	fclose(in);
	snprintf(out, 17, "%016" PRIx64, h);
	return ok;
}

bool sweep_add_file(struct sweep_space *s, char *path, const char *digest)
{
	for (unsigned i = 0; i < s->nfiles; i++)
		if (strcmp(s->files[i].path, path) == 0) {
			free(path);
			return true;
		}
	struct sweep_file *more = realloc(s->files, (s->nfiles + 1) * sizeof *more);
	if (!more) {
		free(path);
		return false;
	}
	s->files = more;
	more[s->nfiles].path = path;
	snprintf(more[s->nfiles++].digest, sizeof more->digest, "%s", digest);
	return true;
}

/* "presets/dram/LPDDR5-6400.yaml" is where this program has it. */
static char *place_of(const char *path)
{
	const char *dram = "presets/dram/", *hw = "presets/";
	bool part = strncmp(path, dram, strlen(dram)) == 0;
	if (*path == '/' || strncmp(path, hw, strlen(hw)) != 0)
		return strdup(path);
	const char *file = path + strlen(part ? dram : hw);
	char *name = strndup(file, strcspn(file, "."));
	char *place = name ? config_preset_path(part ? CONFIG_PRESET_DRAM : CONFIG_PRESET_HW, name) : NULL;
	free(name);
	return place;
}

const char *sweep_changed_file(const struct sweep_space *s)
{
	char digest[17];
	for (unsigned i = 0; i < s->nfiles; i++) {
		char *place = place_of(s->files[i].path);
		bool same = place && sweep_file_digest(place, digest) && strcmp(digest, s->files[i].digest) == 0;
		free(place);
		if (!same)
			return s->files[i].path;
	}
	return NULL;
}

/* Behind the folder of the specification, else as it is. */
static const char *inside(const struct sweep_space *s, const char *path)
{
	size_t n = s->folder ? strlen(s->folder) : 0;
	return n && strncmp(path, s->folder, n) == 0 && path[n] == '/' ? path + n + 1 : path;
}

const char *sweep_other_file(const struct sweep_space *s, const struct sweep_space *other)
{
	for (unsigned i = 0; i < s->nfiles; i++)
		for (unsigned k = 0; k < other->nfiles; k++) {
			const char *a = s->files[i].path, *b = other->files[k].path;
			if ((strcmp(a, b) == 0 || strcmp(inside(s, a), inside(other, b)) == 0) &&
			    strcmp(s->files[i].digest, other->files[k].digest) != 0)
				return a;
		}
	return NULL;
}

/* "other/mine.yaml" becomes "mine.yaml". */
static void forget_folder(json_t *value)
{
	const char *text = json_string_value(value), *slash = text ? strrchr(text, '/') : NULL;
	char *name = slash ? strdup(slash + 1) : NULL;
	if (name)
		json_string_set(value, name);
	free(name);
}

/* Where files lie decides nothing; what is in them does, and that is in `inputs`. */
static void forget_folders(json_t *plan, const struct sweep_space *s)
{
	if (s->kind == SWEEP_PROGRAM || *s->digest)
		json_object_del(plan, "subject");
	else
		forget_folder(json_object_get(plan, "subject"));
	json_object_del(plan, "hw");
	forget_folder(json_object_get(json_object_get(plan, "with"), "dram.part"));
	for (unsigned a = 0; a < s->naxes; a++)
		for (unsigned k = 0; k < s->axes[a].nkeys; k++)
			for (uint32_t i = 0; sweep_is_path_key(s->axes[a].keys[k]) && i < s->axes[a].count; i++)
				forget_folder(json_array_get(
				    json_object_get(json_array_get(json_object_get(plan, "axes"), a), "values"),
				    (size_t)k * s->axes[a].count + i));
}

bool sweep_space_identify(struct sweep_space *s, struct npu_error *err)
{
	static const char *const free_to_change[] = { "report", "identity", "spec", "folder", "files" };
	json_t *plan = sweep_space_json(s);
	for (unsigned i = 0; i < sizeof free_to_change / sizeof *free_to_change; i++)
		json_object_del(plan, free_to_change[i]);
	forget_folders(plan, s);
	char *line = json_dumps(plan, JSON_COMPACT);
	json_decref(plan);
	if (!line)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	snprintf(s->identity, sizeof s->identity, "%016" PRIx64,
		 sweep_hash_bytes(SWEEP_HASH_BEGIN, line, strlen(line)));
	free(line);
	return true;
}

/* ---- reading a plan, which may be anybody's ---- */

static int digit_of(char c)
{
	const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;
	return at ? (int)(at - digits) : -1;
}

/* What text_json() wrote, malloc'ed; NULL: something else. */
static char *any_text(const json_t *value)
{
	if (json_is_string(value))
		return strdup(json_string_value(value));
	const char *hex = json_string_value(json_object_get(value, "hex"));
	size_t n = hex ? strlen(hex) : 1;
	char *text = n % 2 ? NULL : malloc(n / 2 + 1);
	for (size_t i = 0; text && i < n / 2; i++) {
		int high = digit_of(hex[2 * i]), low = digit_of(hex[2 * i + 1]);
		if (high < 0 || low < 0 || high + low == 0) {
			free(text);
			return NULL;
		}
		text[i] = (char)(16 * high + low);
	}
	if (text)
		text[n / 2] = '\0';
	return text;
}

static char *text_of(const json_t *o, const char *key)
{
	return any_text(json_object_get(o, key));
}

/* Values of keys stand in tables and scripts: one line each, as a specification has them. */
static bool is_line(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return false;
	return true;
}

static unsigned read_strings(const json_t *array, char **list, size_t most)
{
	size_t n = json_array_size(array);
	if (n > most)
		return 0;
	for (size_t i = 0; i < n; i++) {
		const char *text = json_string_value(json_array_get(array, i));
		list[i] = strdup(text && is_line(text) ? text : "");
	}
	return (unsigned)n;
}

static bool read_axis(const json_t *o, struct sweep_axis *x)
{
	const json_t *values = json_object_get(o, "values");
	size_t n = json_array_size(values);
	x->name = text_of(o, "name");
	x->hardware = json_is_true(json_object_get(o, "hardware"));
	x->nkeys = read_strings(json_object_get(o, "keys"), x->keys, SWEEP_KEYS);
	if (!x->name || !x->nkeys || !n || n % x->nkeys || n / x->nkeys > SWEEP_VALUES ||
	    !(x->values = calloc(n, sizeof *x->values)))
		return false;
	x->count = (uint32_t)(n / x->nkeys);
	bool ok = read_strings(values, x->values, n) == n && sweep_is_name(x->name);
	for (unsigned k = 0; k < x->nkeys; k++)
		ok = ok && sweep_is_name(x->keys[k]);
	for (size_t i = 0; ok && i < n; i++)
		ok = *x->values[i];
	return ok;
}

static void read_files(const json_t *list, struct sweep_space *s)
{
	size_t i;
	json_t *file;
	json_array_foreach((json_t *)list, i, file)
	{
		const char *digest = json_string_value(json_object_get(file, "digest"));
		char *path = digest ? text_of(file, "path") : NULL;
		if (path)
			sweep_add_file(s, path, digest);
	}
}

static bool are_figures(char *const *list, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (sweep_figure_find(list[i]) < 0)
			return false;
	return true;
}

static bool read_all(const json_t *o, struct sweep_space *s)
{
	const char *kind = json_string_value(json_object_get(o, "kind")),
		   *identity = json_string_value(json_object_get(o, "identity"));
	const char *digest = json_string_value(json_object_get(o, "digest")),
		   *inputs = json_string_value(json_object_get(o, "inputs"));
	const char *machines = json_string_value(json_object_get(o, "machines"));
	const json_t *axes = json_object_get(o, "axes");
	const char *key;
	json_t *value;
	unsigned k = 0;
	while (kind && k < 3 && strcmp(kinds[k], kind) != 0)
		k++;
	if (!kind || k == 3 || !identity || json_array_size(axes) > SWEEP_AXES)
		return false;
	s->kind = (enum sweep_subject)k;
	snprintf(s->identity, sizeof s->identity, "%s", identity);
	if (digest)
		snprintf(s->digest, sizeof s->digest, "%s", digest);
	snprintf(s->machines, sizeof s->machines, "%s", machines ? machines : "");
	snprintf(s->inputs, sizeof s->inputs, "%s", inputs ? inputs : "");
	s->clocks = json_is_true(json_object_get(o, "clocks"));
	read_files(json_object_get(o, "files"), s);
	s->spec = text_of(o, "spec");
	s->folder = text_of(o, "folder");
	if (s->folder && asprintf(&s->beside, "%s/", s->folder) < 0)
		s->beside = NULL;
	s->version = text_of(o, "version");
	s->subject = text_of(o, "subject");
	s->hw = text_of(o, "hw");
	s->where = text_of(o, "where");
	json_object_foreach(json_object_get(o, "with"), key, value) if (s->nwith < SWEEP_SETTINGS &&
									json_is_string(value) && sweep_is_name(key) &&
									is_line(json_string_value(value)))
	    s->with[s->nwith++] = (struct sweep_setting){ strdup(key), strdup(json_string_value(value)) };
	s->points = 1;
	for (; s->naxes < json_array_size(axes); s->naxes++) {
		if (!read_axis(json_array_get(axes, s->naxes), &s->axes[s->naxes]) ||
		    __builtin_mul_overflow(s->points, s->axes[s->naxes].count, &s->points))
			return false;
	}
	s->nreport = read_strings(json_object_get(o, "report"), s->report, SWEEP_REPORT);
	s->ngoals = read_strings(json_object_get(o, "goals"), s->goals, SWEEP_GOALS);
	s->pareto = s->ngoals > 0;
	s->sample = (uint64_t)json_integer_value(json_object_get(o, "sample"));
	s->seed = (uint64_t)json_integer_value(json_object_get(o, "seed"));
	s->count = (uint64_t)json_integer_value(json_object_get(o, "count"));
	return s->version && s->subject && are_figures(s->report, s->nreport) && are_figures(s->goals, s->ngoals) &&
	       s->count && s->count <= s->points && s->count <= SWEEP_MOST_POINTS && s->points <= SWEEP_MOST_GRID;
}

struct sweep_space *sweep_space_read(const json_t *o, const char *file, struct npu_error *err)
{
	const char *schema = json_string_value(json_object_get(o, "schema"));
	struct sweep_space *s = sweep_space_new();
	char said[sizeof s->identity];
	if (!s)
		npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	else if (!schema || strcmp(schema, "npusim.sweep/1") != 0)
		npu_fail_at(err, NPU_ERR_FORMAT, file, 0, 0, "not the plan of a sweep");
	else if (!read_all(o, s))
		npu_fail_at(err, NPU_ERR_FORMAT, file, 0, 0, "the plan of a sweep is damaged");
	else if (snprintf(said, sizeof said, "%s", s->identity) > 0 && !sweep_space_identify(s, err))
		return sweep_space_free(s), NULL;
	/* Another version may see it otherwise; whoever asks is told of that. */
	else if (strcmp(s->version, NPUSIM_VERSION) != 0 || strcmp(said, s->identity) == 0)
		return snprintf(s->identity, sizeof s->identity, "%s", said), s;
	else
		npu_fail_at(err, NPU_ERR_FORMAT, file, 0, 0,
			    "the plan of a sweep was changed: results are of identity %s, it is %s", said, s->identity);
	sweep_space_free(s);
	return NULL;
}
