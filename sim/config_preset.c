/* SPDX-License-Identifier: Apache-2.0 */
/* Where presets are found and what they are called. */
#include "sim/config.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_MAX_BYTES = 4096, FOLDERS = 2 };

static const char suffix[] = ".yaml";

/* The folder that belongs to this program: beside it once installed, else the source's. */
static const char *own_folder(char out[PATH_MAX_BYTES])
{
	char exe[PATH_MAX_BYTES - 64];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
	if (n > 0) {
		exe[n] = '\0';
		char *slash = strrchr(exe, '/');
		if (slash)
			*slash = '\0';
		snprintf(out, PATH_MAX_BYTES, "%s/../share/npusim/presets", exe);
		if (access(out, R_OK | X_OK) == 0)
			return out;
	}
	return NPUSIM_SOURCE_PRESETS;
}

/* Folder n to search, NULL past the last. */
static const char *folder(enum config_preset_kind kind, unsigned n, char out[PATH_MAX_BYTES])
{
	char own[PATH_MAX_BYTES];
	const char *person = getenv("NPUSIM_PRESETS");
	bool has_person = person && *person;
	if (n >= (has_person ? 2u : 1u))
		return NULL;
	const char *base = has_person && n == 0 ? person : own_folder(own);
	int length = snprintf(out, PATH_MAX_BYTES, "%s%s", base, kind == CONFIG_PRESET_DRAM ? "/dram" : "");
	return length < PATH_MAX_BYTES ? out : "";
}

char *config_preset_path(enum config_preset_kind kind, const char *name)
{
	char at[PATH_MAX_BYTES];
	if (!*name || *name == '.' || strchr(name, '/') || strlen(name) > 200)
		return NULL;
	for (unsigned n = 0; folder(kind, n, at); n++) {
		size_t size = strlen(at) + strlen(name) + sizeof suffix + 1;
		char *path = malloc(size);
		if (!path)
			return NULL;
		snprintf(path, size, "%s/%s%s", at, name, suffix);
		if (access(path, R_OK) == 0)
			return path;
		free(path);
	}
	return NULL;
}

static int is_preset(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);
	return entry->d_name[0] != '.' && n > strlen(suffix) && strcmp(entry->d_name + n - strlen(suffix), suffix) == 0;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Adds the names of one folder to names[0..n), which has room for them; returns the new number. */
static unsigned add_names(char **names, unsigned n, struct dirent **entries, int count)
{
	for (int i = 0; i < count; i++) {
		char *dot = strrchr(entries[i]->d_name, '.');
		*dot = '\0';
		bool known = false;
		for (unsigned k = 0; k < n && !known; k++)
			known = strcmp(names[k], entries[i]->d_name) == 0;
		char *name = known ? NULL : strdup(entries[i]->d_name);
		if (name)
			names[n++] = name;
	}
	return n;
}

char **config_preset_names(enum config_preset_kind kind)
{
	char at[PATH_MAX_BYTES];
	unsigned n = 0;
	char **names = calloc(1, sizeof *names);
	for (unsigned f = 0; names && folder(kind, f, at); f++) {
		struct dirent **entries = NULL;
		int count = scandir(at, &entries, is_preset, alphasort);
		char **more = count > 0 ? realloc(names, (n + (unsigned)count + 1) * sizeof *names) : names;
		if (more) {
			names = more;
			n = add_names(names, n, entries, count);
			names[n] = NULL;
		}
		for (int i = 0; i < count; i++)
			free(entries[i]);
		free(entries);
	}
	if (names && n)
		qsort(names, n, sizeof *names, by_name);
	return names;
}

void config_names_free(char **names)
{
	for (char **name = names; name && *name; name++)
		free(*name);
	free(names);
}
