/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's configuration: struct hw from hw.def's initial values, a preset or YAML file with what it extends, a
 * DRAM part and the command line; and where each value came from. Hardware keys are declared in models, not here. */
#ifndef NPU_SIM_CONFIG_H
#define NPU_SIM_CONFIG_H

#include "models/hw.h"

/* The whole way for those who need the values only. `base` names a preset ("edge-1mb") or a YAML file ("./mine.yaml",
 * "-" is stdin), NULL for edge-1mb; sets are "section.key=value", applied left to right. False with an error that says
 * what would be right; *hw is then undefined. */
bool config_load(struct hw *hw, const char *base, const char *const *sets, unsigned nsets, struct npu_error *err);

enum config_type {
	CONFIG_UINT, /* a whole number */
	CONFIG_SIZE, /* bytes, or a number and KiB, MiB or GiB */
	CONFIG_REAL,
	CONFIG_FLAG, /* yes or no */
	CONFIG_ENUM, /* one of a few words */
	CONFIG_PART  /* dram.part: the name of a DRAM part */
};

/* One hardware key, "sram.size". All keys: config_keys[0..config_nkeys), in the order of their declaration. */
struct config_key {
	const char *name;
	enum config_type type;
	unsigned nbytes;  /* of the field */
	unsigned offset;  /* in struct hw */
	double min, max;  /* inclusive */
	const char *unit;  /* "" when there is none */
	const char *words; /* of a DRAM enum, in value order, with | between; else NULL */
	const char *doc;
};
extern const struct config_key config_keys[];
extern const unsigned config_nkeys;
enum { CONFIG_KEYS_MAX = 192, CONFIG_FILES_MAX = 64 };

/* The key of that name, NULL when there is none. */
const struct config_key *config_key_find(const char *name);
/* The n-th word of an ENUM key into *word (not NUL-terminated, `length` bytes) with its number and meaning; false past
 * the last one. */
struct config_word {
	const char *text;
	unsigned length;
	uint32_t number;
	const char *doc;
};
bool config_key_word(const struct config_key *, unsigned n, struct config_word *);
/* "256 KiB to 32 MiB", "ws, os or is", "yes or no": what the key takes. Returns `out`. */
char *config_key_range(const struct config_key *, char *out, unsigned size);
/* The names of all sections, in order, NULL past the last one; and what a section is. */
const char *config_section(unsigned n);
const char *config_section_doc(unsigned n);

enum config_origin_kind { CONFIG_INITIAL, CONFIG_FROM_PART, CONFIG_FROM_PRESET, CONFIG_FROM_FILE, CONFIG_FROM_COMMAND };

/* Where a value came from. Strings belong to the configuration. */
struct config_origin {
	enum config_origin_kind kind;
	const char *file; /* of PART, PRESET and FILE */
	uint32_t line, column;
	const char *comment; /* the comment on the value's line or above it, "" when there is none */
	unsigned order;      /* later settings have larger ones */
};

struct config {
	struct hw hw;
	char dram_part[512];   /* "" when none was named */
	const char *part_file; /* that it was read from, NULL: none was */
	char preset[64];       /* that is named or extended, "" when none is */
	char title[96];        /* after config_finish(): hw.name, and ", changed" where that is a preset and no longer is */
	struct config_origin origin[CONFIG_KEYS_MAX]; /* of config_keys[i] */
	/* After config_finish(): "sram.size=2MiB" of every key that a file or the command line sets above the preset, in the
	 * order of setting, NULL at the end. Without a preset: of the command line alone. */
	const char *changes[CONFIG_KEYS_MAX + 1];
	const char *files[CONFIG_FILES_MAX]; /* that were read: presets, what they extend, the DRAM part */
	unsigned nfiles;
	unsigned settings;
	char **owned; /* the strings */
	unsigned nowned;
};

void config_init(struct config *);
void config_fini(struct config *);
/* The steps of config_load(). Each may be left out, but for config_finish(), which loads the DRAM part below all dram
 * keys that were set, wherever they were, and checks the relations between keys; it blames the key that was set last. */
bool config_base(struct config *, const char *base, struct npu_error *err);
bool config_set(struct config *, const char *assignment, struct npu_error *err);
bool config_finish(struct config *, struct npu_error *err);
bool config_read(struct config *, const char *base, const char *const *sets, unsigned nsets, struct npu_error *err);
/* A YAML text from memory, as config_base() of a file called `file`. */
bool config_text(struct config *, const char *text, uint64_t nbytes, const char *file, struct npu_error *err);

/* The value of a UINT, SIZE, FLAG or ENUM key, and of a REAL key. */
uint64_t config_uint(const struct hw *, const struct config_key *);
double config_real(const struct hw *, const struct config_key *);
/* A value as a person would write it ("1MiB", "ws", "yes") into `out`, cut to `size`; returns `out`. `part` is what
 * dram.part shows. */
char *config_value(const struct hw *, const char *part, const struct config_key *, char *out, unsigned size);

/* Folders of presets: $NPUSIM_PRESETS, then ../share/npusim/presets beside the program, or the source folder's. */
enum config_preset_kind { CONFIG_PRESET_HW, CONFIG_PRESET_DRAM };
/* The path of a preset (malloc'ed), NULL when there is none of that name. */
char *config_preset_path(enum config_preset_kind, const char *name);
/* Names in alphabetical order, malloc'ed with config_names_free(); NULL-terminated. NULL when memory is short. */
char **config_preset_names(enum config_preset_kind);
void config_names_free(char **names);

#endif
