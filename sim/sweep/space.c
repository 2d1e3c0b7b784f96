/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of points and what they stand for. */
#include "sim/sweep/space.h"
#include "isa/plain.h"
#include "isa/random.h"
#include "isa/units.h"
#include "sim/sweep/key.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sweep_space *sweep_space_new(void)
{
	struct sweep_space *s = calloc(1, sizeof *s);
	if (s && (s->judge = sweep_judge_new()))
		return s;
	free(s);
	return NULL;
}

void sweep_space_free(struct sweep_space *s)
{
	if (!s)
		return;
	sweep_judge_free(s->judge);
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
	free(s->files);
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
		numbers = numbers && !x->values[(size_t)k * x->count + index]
					       [strspn(x->values[(size_t)k * x->count + index], "0123456789")];
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

uint64_t sweep_nth(const struct sweep_space *s, uint64_t n)
{
	return sweep_shuffle(n, s->points, s->sample ? s->seed : 0);
}

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

bool sweep_is_path(const char *name)
{
	return strchr(name, '/') || ends_in(name, ".yaml") || ends_in(name, ".yml");
}

bool sweep_is_path_key(const char *key)
{
	return strcmp(key, "hw") == 0 || strcmp(key, "dram.part") == 0;
}

static bool subject_is_path(const struct sweep_space *s)
{
	return s->kind == SWEEP_PROGRAM || *s->digest || strchr(s->subject, '/') ||
	       (s->kind == SWEEP_MODEL && strstr(s->subject, ".json"));
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

/* What would steer a terminal, or is no UTF-8, becomes \n or \xNN, which $'...' takes back. */
static void add_quoted(struct text *t, const char *value)
{
	char shown[NPU_PLAIN_CHAR];
	bool steers = false;
	const char *end = value + strlen(value);
	for (const char *at = value; at < end && !steers;) {
		const char *from = at;
		unsigned n = npu_plain_char(&at, end, shown, NULL);
		steers = n != (unsigned)(at - from);
	}
	add(t, steers ? "$'" : "'");
	while (value < end) {
		if (*value == '\'' || (steers && *value == '\\')) {
			add(t, "%s%c%s", steers ? "\\" : "'\\", *value, steers ? "" : "'");
			value++;
			continue;
		}
		unsigned n = npu_plain_char(&value, end, shown, NULL);
		add(t, "%.*s", (int)n, shown);
	}
	add(t, "'");
}

const char *sweep_quoted(const char *word, char *out, unsigned size)
{
	struct text t = { out, size, 0 };
	add_quoted(&t, word);
	return out;
}

/* As a shell takes it. */
static void add_word(struct text *t, const char *key, const char *value)
{
	bool plain =
	    *value && !value[strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+:,@")];
	add(t, " %s%s", key, *key && key[0] != '-' ? "=" : *key ? " " : "");
	if (plain)
		add(t, "%s", value);
	else
		add_quoted(t, value);
}

static void add_shown(struct text *t, const char *value)
{
	char shown[NPU_PLAIN_CHAR];
	for (const char *at = value, *end = value + strlen(value); at < end;) {
		unsigned n = npu_plain_char(&at, end, shown, NULL);
		add(t, "%.*s", (int)n, shown);
	}
}

/* What is fixed, the machine and the axes; `parameters`: also what is no hardware key. */
static void add_settings(struct text *t, const struct sweep_space *s, uint64_t point, bool parameters)
{
	char path[4096];
	for (unsigned i = 0; i < s->nwith; i++)
		if (parameters || strchr(s->with[i].key, '.'))
			add_word(t, s->with[i].key,
				 sweep_is_path_key(s->with[i].key) && sweep_is_path(s->with[i].value)
				     ? shown_path(s, s->with[i].value, path)
				     : s->with[i].value);
	if (s->hw)
		add_word(t, "--hw", sweep_is_path(s->hw) ? shown_path(s, s->hw, path) : s->hw);
	for (unsigned a = 0; a < s->naxes; a++)
		for (unsigned k = 0; k < s->axes[a].nkeys; k++) {
			const char *key = s->axes[a].keys[k];
			bool hw = strcmp(key, "hw") == 0;
			const char *value = s->axes[a].values[(size_t)k * s->axes[a].count + sweep_index(s, point, a)];
			if (parameters || hw || strchr(key, '.'))
				add_word(t, hw ? "--hw" : key,
					 sweep_is_path_key(key) && sweep_is_path(value) ? shown_path(s, value, path)
											: value);
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
	add_shown(&t, slash ? slash + 1 : s->subject);
	for (unsigned i = 0; i < s->nwith; i++) {
		add(&t, " %s=", s->with[i].key);
		add_shown(&t, s->with[i].value);
	}
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
