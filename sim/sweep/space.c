/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of points and what they stand for. */
#define _GNU_SOURCE
#include "sim/sweep/space.h"
#include "isa/random.h"
#include "isa/units.h"
#include "sim/sweep/figures.h"
#include "sim/sweep/hash.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void sweep_space_free(struct sweep_space *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->nwith; i++) {
		free(s->with[i].key);
		free(s->with[i].value);
	}
	for (unsigned a = 0; a < SWEEP_AXES; a++) {
		struct sweep_axis *x = &s->axes[a];
		for (size_t i = 0; x->values && i < (size_t)x->nkeys * x->count; i++)
			free(x->values[i]);
		for (unsigned k = 0; k < SWEEP_KEYS; k++)
			free(x->keys[k]);
		free(x->values);
		free(x->name);
	}
	for (unsigned i = 0; i < s->nreport; i++)
		free(s->report[i]);
	for (unsigned i = 0; i < s->ngoals; i++)
		free(s->goals[i]);
	for (unsigned i = 0; i < s->nfiles; i++)
		free(s->files[i].path);
	free(s->beside);
	free(s->folder);
	free(s->spec);
	free(s->subject);
	free(s->hw);
	free(s->where);
	free(s->version);
	free(s);
}

static uint64_t stride(const struct sweep_space *s, unsigned axis)
{
	uint64_t n = 1;
	for (unsigned a = axis + 1; a < s->naxes; a++)
		n *= s->axes[a].count;
	return n;
}

uint32_t sweep_index(const struct sweep_space *s, uint64_t point, unsigned axis)
{
	return (uint32_t)(point / stride(s, axis) % s->axes[axis].count);
}

uint64_t sweep_move(const struct sweep_space *s, uint64_t point, unsigned axis, uint32_t to)
{
	uint64_t n = stride(s, axis);
	return point - sweep_index(s, point, axis) * n + to * n;
}

const char *sweep_label(const struct sweep_axis *x, uint32_t index, char *out, unsigned size)
{
	unsigned used = 0;
	bool numbers = true;
	for (unsigned k = 0; k < x->nkeys; k++)
		numbers = numbers && !x->values[(size_t)k * x->count + index][strspn(x->values[(size_t)k * x->count + index], "0123456789")];
	out[0] = '\0';
	for (unsigned k = 0; k < x->nkeys && used < size; k++)
		used += (unsigned)snprintf(out + used, size - used, "%s%s", k ? numbers ? "x" : "," : "",
					   x->values[(size_t)k * x->count + index]);
	return out;
}

/* ---- order ---- */

uint64_t sweep_shuffle(uint64_t i, uint64_t n, uint64_t seed)
{
	unsigned half = 1;
	while (half < 32 && ((uint64_t)1 << (2 * half)) < n)
		half++;
	uint64_t mask = ((uint64_t)1 << half) - 1;
	/* A Feistel network over the next power of four; what falls outside goes round again. */
	do {
		uint64_t left = i >> half, right = i & mask;
		for (unsigned round = 0; round < 4; round++) {
			uint64_t key = right + (seed << 8) + round * NPU_RANDOM_STEP;
			uint64_t next = left ^ (npu_random_mix(key) & mask);
			left = right;
			right = next;
		}
		i = (left << half) | right;
	} while (i >= n);
	return i;
}

uint64_t sweep_nth(const struct sweep_space *s, uint64_t n) { return sweep_shuffle(n, s->points, s->sample ? s->seed : 0); }

/* ---- names and texts ---- */

bool sweep_is_name(const char *name)
{
	if (!isalpha((unsigned char)*name) && *name != '_')
		return false;
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
	return !name[n] && n < 96;
}

static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);
	return n > m && strcmp(name + n - m, end) == 0;
}

bool sweep_is_path(const char *name) { return strchr(name, '/') || ends_in(name, ".yaml") || ends_in(name, ".yml"); }

bool sweep_is_path_key(const char *key) { return strcmp(key, "hw") == 0 || strcmp(key, "dram.part") == 0; }

static bool subject_is_path(const struct sweep_space *s)
{
	return s->kind == SWEEP_PROGRAM || *s->digest || strchr(s->subject, '/') || (s->kind == SWEEP_MODEL && strstr(s->subject, ".json"));
}

char *sweep_path(const struct sweep_space *s, const char *name)
{
	const char *before = *name == '/' ? "" : s->beside ? s->beside : "";
	/* What has a slash is a path for everybody. */
	bool bare = !*before && !strchr(name, '/');
	size_t size = strlen(before) + strlen(name) + 3;
	char *path = malloc(size);
	if (path)
		snprintf(path, size, "%s%s%s", before, bare ? "./" : "", name);
	return path;
}

/* For a command that a person types where this process is. */
static const char *shown_path(const struct sweep_space *s, const char *name, char out[4096])
{
	char here[4096];
	bool inside = s->folder && !s->abroad && getcwd(here, sizeof here) && strcmp(here, s->folder) == 0;
	if (*name == '/' || !s->folder)
		return name;
	while (strncmp(name, "./", 2) == 0)
		name += 2;
	if (inside)
		snprintf(out, 4096, "./%s", name);
	else
		snprintf(out, 4096, "%s/%s", s->folder, name);
	return out;
}

struct text {
	char *out;
	unsigned size, used;
};

static void add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct text *t, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	if (t->used < t->size)
		t->used += (unsigned)vsnprintf(t->out + t->used, t->size - t->used, format, args);
	va_end(args);
}

/* As a shell takes it. */
static void add_word(struct text *t, const char *key, const char *value)
{
	bool plain = *value && !value[strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+:,@")];
	add(t, " %s%s", key, *key && key[0] != '-' ? "=" : *key ? " " : "");
	if (plain)
		add(t, "%s", value);
	else {
		add(t, "'");
		for (; *value; value++)
			if (*value == '\'')
				add(t, "'\\''");
			else
				add(t, "%c", *value);
		add(t, "'");
	}
}

/* What is fixed, the machine and the axes; `parameters`: also what is no hardware key. */
static void add_settings(struct text *t, const struct sweep_space *s, uint64_t point, bool parameters)
{
	char path[4096];
	for (unsigned i = 0; i < s->nwith; i++)
		if (parameters || strchr(s->with[i].key, '.'))
			add_word(t, s->with[i].key,
				 sweep_is_path_key(s->with[i].key) && sweep_is_path(s->with[i].value) ? shown_path(s, s->with[i].value, path) : s->with[i].value);
	if (s->hw)
		add_word(t, "--hw", sweep_is_path(s->hw) ? shown_path(s, s->hw, path) : s->hw);
	for (unsigned a = 0; a < s->naxes; a++)
		for (unsigned k = 0; k < s->axes[a].nkeys; k++) {
			const char *key = s->axes[a].keys[k];
			bool hw = strcmp(key, "hw") == 0;
			const char *value = s->axes[a].values[(size_t)k * s->axes[a].count + sweep_index(s, point, a)];
			if (parameters || hw || strchr(key, '.'))
				add_word(t, hw ? "--hw" : key, sweep_is_path_key(key) && sweep_is_path(value) ? shown_path(s, value, path) : value);
		}
}

const char *sweep_command(const struct sweep_space *s, uint64_t point, char *out, unsigned size)
{
	struct text t = { out, size, 0 };
	add(&t, "npusim %s", s->kind == SWEEP_MODEL ? "model" : "run");
	char path[4096];
	add_word(&t, "", subject_is_path(s) ? shown_path(s, s->subject, path) : s->subject);
	add_settings(&t, s, point, true);
	return out;
}

const char *sweep_command_on(const struct sweep_space *s, uint64_t point, const char *run, char *out, unsigned size)
{
	struct text t = { out, size, 0 };
	add(&t, "npusim run %s", run);
	add_settings(&t, s, point, false);
	return out;
}

const char *sweep_title(const struct sweep_space *s, char *out, unsigned size)
{
	struct text t = { out, size, 0 };
	const char *slash = strrchr(s->subject, '/');
	add(&t, "%s", slash ? slash + 1 : s->subject);
	for (unsigned i = 0; i < s->nwith; i++)
		add(&t, " %s=%s", s->with[i].key, s->with[i].value);
	add(&t, ":");
	for (unsigned a = 0; a < s->naxes; a++)
		add(&t, "%s %" PRIu32 " %s", a ? " x" : "", s->axes[a].count, s->axes[a].name);
	add(&t, " = %s point%s", npu_count_text(s->points).text, s->points == 1 ? "" : "s");
	if (s->sample)
		add(&t, ", a sample of %s", npu_count_text(s->count).text);
	if (s->pareto)
		add(&t, ", a search of at most %s", npu_count_text(s->count).text);
	return out;
}

/* ---- the plan file ---- */

static const char *const kinds[] = { "kernel", "program", "model" };

static json_t *strings(char *const *list, size_t n)
{
	json_t *array = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(array, json_string(list[i]));
	return array;
}

json_t *sweep_space_json(const struct sweep_space *s)
{
	json_t *o = json_object(), *with = json_object(), *axes = json_array();
	for (unsigned i = 0; i < s->nwith; i++)
		json_object_set_new(with, s->with[i].key, json_string(s->with[i].value));
	for (unsigned a = 0; a < s->naxes; a++) {
		const struct sweep_axis *x = &s->axes[a];
		json_t *axis = json_object();
		json_object_set_new(axis, "name", json_string(x->name));
		json_object_set_new(axis, "hardware", json_boolean(x->hardware));
		json_object_set_new(axis, "keys", strings(x->keys, x->nkeys));
		json_object_set_new(axis, "values", strings(x->values, (size_t)x->nkeys * x->count));
		json_array_append_new(axes, axis);
	}
	json_t *files = json_object();
	for (unsigned i = 0; i < s->nfiles; i++)
		json_object_set_new(files, s->files[i].path, json_string(s->files[i].digest));
	json_object_set_new(o, "schema", json_string("npusim.sweep/1"));
	json_object_set_new(o, "version", json_string(s->version));
	json_object_set_new(o, "identity", json_string(s->identity));
	json_object_set_new(o, "machines", json_string(s->machines));
	json_object_set_new(o, "inputs", json_string(s->inputs));
	json_object_set_new(o, "spec", s->spec ? json_string(s->spec) : json_null());
	json_object_set_new(o, "folder", s->folder ? json_string(s->folder) : json_null());
	json_object_set_new(o, "files", files);
	json_object_set_new(o, "clocks", json_boolean(s->clocks));
	json_object_set_new(o, "kind", json_string(kinds[s->kind]));
	json_object_set_new(o, "subject", json_string(s->subject));
	if (*s->digest)
		json_object_set_new(o, "digest", json_string(s->digest));
	json_object_set_new(o, "hw", s->hw ? json_string(s->hw) : json_null());
	json_object_set_new(o, "with", with);
	json_object_set_new(o, "axes", axes);
	json_object_set_new(o, "where", s->where ? json_string(s->where) : json_null());
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

const char *sweep_changed_file(const struct sweep_space *s)
{
	char digest[17];
	for (unsigned i = 0; i < s->nfiles; i++)
		if (!sweep_file_digest(s->files[i].path, digest) || strcmp(digest, s->files[i].digest) != 0)
			return s->files[i].path;
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
				forget_folder(json_array_get(json_object_get(json_array_get(json_object_get(plan, "axes"), a), "values"),
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
	snprintf(s->identity, sizeof s->identity, "%016" PRIx64, sweep_hash_bytes(SWEEP_HASH_BEGIN, line, strlen(line)));
	free(line);
	return true;
}

/* ---- reading a plan, which may be anybody's ---- */

/* What would break a line of a table or a script is no text of a plan. */
static bool is_text(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return false;
	return true;
}

static char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));
	return text && is_text(text) ? strdup(text) : NULL;
}

static unsigned read_strings(const json_t *array, char **list, size_t most)
{
	size_t n = json_array_size(array);
	if (n > most)
		return 0;
	for (size_t i = 0; i < n; i++) {
		const char *text = json_string_value(json_array_get(array, i));
		list[i] = strdup(text && is_text(text) ? text : "");
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
	if (!x->name || !x->nkeys || !n || n % x->nkeys || n / x->nkeys > SWEEP_VALUES || !(x->values = calloc(n, sizeof *x->values)))
		return false;
	x->count = (uint32_t)(n / x->nkeys);
	bool ok = read_strings(values, x->values, n) == n && sweep_is_name(x->name);
	for (unsigned k = 0; k < x->nkeys; k++)
		ok = ok && sweep_is_name(x->keys[k]);
	for (size_t i = 0; ok && i < n; i++)
		ok = *x->values[i];
	return ok;
}

static void read_files(const json_t *o, struct sweep_space *s)
{
	const char *path;
	json_t *digest;
	json_object_foreach((json_t *)o, path, digest)
		if (s->nfiles < SWEEP_FILES && json_is_string(digest)) {
			s->files[s->nfiles].path = strdup(path);
			snprintf(s->files[s->nfiles++].digest, 17, "%s", json_string_value(digest));
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
	const char *kind = json_string_value(json_object_get(o, "kind")), *identity = json_string_value(json_object_get(o, "identity"));
	const char *digest = json_string_value(json_object_get(o, "digest")), *inputs = json_string_value(json_object_get(o, "inputs"));
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
	json_object_foreach(json_object_get(o, "with"), key, value)
		if (s->nwith < SWEEP_SETTINGS && json_is_string(value) && sweep_is_name(key) && is_text(json_string_value(value)))
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
	return s->version && s->subject && are_figures(s->report, s->nreport) && are_figures(s->goals, s->ngoals) && s->count &&
	       s->count <= s->points && s->count <= SWEEP_MOST_POINTS && s->points <= SWEEP_MOST_GRID;
}

struct sweep_space *sweep_space_read(const json_t *o, const char *file, struct npu_error *err)
{
	const char *schema = json_string_value(json_object_get(o, "schema"));
	struct sweep_space *s = calloc(1, sizeof *s);
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
		npu_fail_at(err, NPU_ERR_FORMAT, file, 0, 0, "the plan of a sweep was changed: results are of identity %s, it is %s", said, s->identity);
	sweep_space_free(s);
	return NULL;
}
