/* SPDX-License-Identifier: Apache-2.0 */
/* docs/hardware.md: every hardware key, and the presets beside each other. A test compares the page with this. */
#include "sim/cmd/hw_reference.h"
#include "sim/cli.h"
#include "sim/config.h"

#include <stdlib.h>
#include <string.h>

enum { PRESETS_MAX = 16 };

static const char introduction[] =
	"# Hardware keys\n\n"
	"This page is printed by `npusim hw reference`; a test keeps it fresh.\n\n"
	"A machine is a preset, a YAML file or both, and keys on the command line:\n\n"
	"```\n"
	"npusim run flash_attention --hw edge-1mb sram.size=2MiB\n"
	"npusim run flash_attention --hw mine.yaml dram.channels=4\n"
	"```\n\n"
	"```yaml\n"
	"extends: edge-1mb                 # a preset, or a file beside this one\n"
	"sram:   {size: 2MiB, banks: 32}   # the comment shows up in npusim hw show\n"
	"matrix: {rows: 64, cols: 64}\n"
	"dram:   {part: LPDDR5-6400, channels: 2}\n"
	"```\n\n"
	"Later settings replace earlier ones: initial values, what a file extends, the file, the command line from left to\n"
	"right. `dram.part` is special: its values lie below every `dram` key that is set anywhere, so `--hw edge-1mb\n"
	"dram.part=HBM2-2000` keeps the two channels of edge-1mb. A size takes bytes, `KiB`, `MiB` or `GiB`; a flag takes `yes`\n"
	"or `no`. `npusim hw show NAME` prints every key of a machine with the source of its value.\n\n"
	"A name is looked up in the folder `$NPUSIM_PRESETS`, where that is set, then among the presets that came with the\n"
	"program (DRAM parts in their folder `dram`). What holds a `/` or ends in `.yaml` is a file, beside the file that\n"
	"names it; `--hw -` reads stdin.\n";

static bool in_section(const struct config_key *key, const char *section)
{
	size_t n = strlen(section);
	return strncmp(key->name, section, n) == 0 && key->name[n] == '.';
}

/* A | would end the cell. */
static void cell(FILE *out, const char *text)
{
	for (; *text; text++)
		fprintf(out, *text == '|' ? "\\|" : "%c", *text);
}

static void print_words(FILE *out, const struct config_key *key)
{
	struct config_word word;
	bool any = false;
	for (unsigned n = 0; config_key_word(key, n, &word); n++)
		if (*word.doc) {
			fprintf(out, "%s`%.*s` ", any ? "; " : ": ", (int)word.length, word.text);
			cell(out, word.doc);
			any = true;
		}
}

static void print_section(FILE *out, const char *section, const char *doc, const struct config *initial)
{
	char value[96], range[256];
	fprintf(out, "\n## %s\n\n%s\n\n| key | initial | legal | unit | meaning |\n| --- | --- | --- | --- | --- |\n", section,
		doc);
	for (unsigned i = 0; i < config_nkeys; i++) {
		const struct config_key *key = &config_keys[i];
		if (!in_section(key, section))
			continue;
		fprintf(out, "| `%s` | %s | ", key->name, config_value(&initial->hw, "", key, value, sizeof value));
		cell(out, config_key_range(key, range, sizeof range));
		fprintf(out, " | %s | ", key->unit);
		cell(out, key->doc);
		print_words(out, key);
		fputs(" |\n", out);
	}
}

static void print_presets(FILE *out, char **names, const struct config *presets, unsigned n)
{
	char value[96];
	fputs("\n## Presets\n\n| key |", out);
	for (unsigned p = 0; p < n; p++)
		fprintf(out, " %s |", names[p]);
	fputs("\n| --- |", out);
	for (unsigned p = 0; p < n; p++)
		fputs(" --- |", out);
	for (unsigned i = 0; i < config_nkeys; i++) {
		bool set = false;
		for (unsigned p = 0; p < n; p++)
			set = set || presets[p].origin[i].kind == CONFIG_FROM_PRESET;
		if (!set)
			continue;
		fprintf(out, "\n| `%s` |", config_keys[i].name);
		for (unsigned p = 0; p < n; p++)
			fprintf(out, " %s |",
				config_value(&presets[p].hw, presets[p].dram_part, &config_keys[i], value, sizeof value));
	}
	fputs("\n\nKeys that no preset sets keep their initial value or come from the DRAM part.\n", out);
}

static void print_parts(FILE *out)
{
	char **names = config_preset_names(CONFIG_PRESET_DRAM);
	fputs("\nDRAM parts:", out);
	for (unsigned i = 0; names && names[i]; i++)
		fprintf(out, "%s `%s`", i ? "," : "", names[i]);
	fputs(".\n", out);
	config_names_free(names);
}

static int print_page(FILE *out, char **names, struct config *presets)
{
	struct npu_error err = { 0 };
	struct config initial;
	unsigned n = 0;
	int status = 0;
	for (; names && names[n] && n < PRESETS_MAX && !status; n++) {
		config_init(&presets[n]);
		if (!config_read(&presets[n], names[n], NULL, 0, &err))
			status = cli_fail(&err);
	}
	config_init(&initial);
	if (!status) {
		fputs(introduction, out);
		print_presets(out, names, presets, n);
		print_parts(out);
		for (unsigned s = 0; config_section(s); s++)
			print_section(out, config_section(s), config_section_doc(s), &initial);
	}
	config_fini(&initial);
	for (unsigned p = 0; p < n; p++)
		config_fini(&presets[p]);
	return status;
}

int hw_reference(FILE *out)
{
	struct config *presets = calloc(PRESETS_MAX, sizeof *presets);
	char **names = config_preset_names(CONFIG_PRESET_HW);
	int status = presets && names ? print_page(out, names, presets) : cli_usage("out of memory");
	config_names_free(names);
	free(presets);
	return status;
}
