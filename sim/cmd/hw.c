/* SPDX-License-Identifier: Apache-2.0 */
/* npusim hw: presets, and every key of a machine with its value, unit, meaning and source. */
#include "sim/cmd/hw_reference.h"
#include "sim/cli_table.h"
#include "sim/cli_work.h"
#include "sim/cmd/hw_diagram.h"
#include "sim/graphviz.h"

#include <stdlib.h>
#include <string.h>

enum { SECONDS = 20 }; /* of a layout */

static void size_cell(char out[64], uint64_t bytes)
{
	bool mib = bytes % (1 << 20) == 0;
	snprintf(out, 64, "%llu %s", (unsigned long long)(bytes >> (mib ? 20 : 10)), mib ? "MiB" : "KiB");
}

static void list_row(struct libscols_table *table, const struct config *config)
{
	const struct hw *hw = &config->hw;
	char array[64], sram[64], accum[64], lanes[64], dram[640], peak[64];
	snprintf(array, sizeof array, "%llux%llu", (unsigned long long)hw->matrix.rows, (unsigned long long)hw->matrix.cols);
	size_cell(sram, hw->sram.size);
	size_cell(accum, hw->accum.size);
	snprintf(lanes, sizeof lanes, "%llu", (unsigned long long)hw->vector.lanes);
	snprintf(dram, sizeof dram, "%s %u x%u", config->dram_part, hw->dram.channels, hw->dram.bus_bits);
	double period_ns = (double)hw->dram.tck_num / hw->dram.tck_den * 1e-3;
	snprintf(peak, sizeof peak, "%.2f", dram_peak_bytes_per_clk(&hw->dram) / period_ns);
	const char *cells[] = { hw->name, array, sram, accum, lanes, dram, peak };
	table_row(table, cells, 7);
}

static int list(void)
{
	static const char *const titles[] = { "preset", "array", "SRAM", "accumulators", "lanes", "DRAM", "GB/s" };
	static const enum table_kind kinds[] = { TABLE_WORD,   TABLE_NUMBER, TABLE_NUMBER, TABLE_NUMBER,
						 TABLE_NUMBER, TABLE_WORD,   TABLE_NUMBER };
	struct libscols_table *table = table_new();
	char **names = config_preset_names(CONFIG_PRESET_HW);
	int status = 0;
	for (unsigned i = 0; i < 7; i++)
		table_column(table, titles[i], kinds[i]);
	for (char **name = names; name && *name; name++) {
		struct config config;
		struct npu_error err = { 0 };
		config_init(&config);
		if (config_read(&config, *name, NULL, 0, &err))
			list_row(table, &config);
		else
			status = cli_fail(&err);
		config_fini(&config);
	}
	config_names_free(names);
	return table_print(table) ? status : cli_usage("out of memory");
}

static void source_text(const struct config_origin *origin, char *out, unsigned size)
{
	switch (origin->kind) {
	case CONFIG_INITIAL:
		snprintf(out, size, "initial value");
		break;
	case CONFIG_FROM_COMMAND:
		snprintf(out, size, "command line");
		break;
	case CONFIG_FROM_PART:
	case CONFIG_FROM_PRESET:
	case CONFIG_FROM_FILE:
		if (*origin->comment)
			snprintf(out, size, "%s", origin->comment);
		else
			snprintf(out, size, "%s:%u", file_name(origin->file), origin->line);
		break;
	}
}

static void show_keys(const struct config *config)
{
	char value[96], source[512];
	struct libscols_table *table = table_new();
	table_column(table, "key", TABLE_WORD);
	table_column(table, "value", TABLE_NUMBER);
	table_column(table, "unit", TABLE_WORD);
	table_column(table, "meaning", TABLE_TEXT);
	table_column(table, "source", TABLE_TEXT);
	for (unsigned i = 0; i < config_nkeys; i++) {
		const struct config_key *key = &config_keys[i];
		config_value(&config->hw, config->dram_part, key, value, sizeof value);
		source_text(&config->origin[i], source, sizeof source);
		const char *cells[] = { key->name, value, key->unit, key->doc, source };
		table_row(table, cells, 5);
	}
	table_print(table);
}

static int show(struct cli *cli)
{
	struct work work;
	struct npu_error err = { 0 };
	int status = 0;
	if (cli->nwords == 2)
		cli->hw = cli->words[1];
	if (work_config(&work, cli, &err))
		show_keys(&work.config);
	else
		status = cli_fail(&err);
	work_fini(&work);
	return status;
}

static bool draw(const struct config *config, const char *path, struct npu_error *err)
{
	char *dot = NULL;
	size_t size;
	FILE *out = open_memstream(&dot, &size);
	if (!out)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	hw_diagram(config, out);
	bool ok = fclose(out) == 0 || npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	ok = ok && graphviz_draw(dot, path, SECONDS, err);
	free(dot);
	return ok;
}

static int diagram(struct cli *cli)
{
	struct work work;
	struct npu_error err = { 0 };
	const char *path = cli_value(cli, "output") ? cli_value(cli, "output") : "-";
	if (!graphviz_check(path, &err))
		return cli_fail(&err);
	if (cli->nwords == 2)
		cli->hw = cli->words[1];
	bool ok = work_config(&work, cli, &err) && draw(&work.config, path, &err);
	work_fini(&work);
	return ok ? 0 : cli_fail(&err);
}

static int run(struct cli *cli)
{
	const char *action = cli->words[0];
	if (cli_value(cli, "output") && strcmp(action, "diagram") != 0)
		return cli_usage("--output: of hw diagram");
	if (strcmp(action, "list") == 0 && cli->nwords == 1)
		return list();
	if (strcmp(action, "show") == 0)
		return show(cli);
	if (strcmp(action, "diagram") == 0)
		return diagram(cli);
	if (strcmp(action, "reference") == 0 && cli->nwords == 1)
		return hw_reference(stdout);
	return cli_usage("hw %.40s: list, show or diagram NAME|FILE.yaml would be right", action);
}

static const struct cli_option options[] = {
	{ "output", 'o', "FILE", "of diagram: .svg, .png, or .dot for the graph itself, which stdout (-, the default) gets, too" },
	{ 0 },
};

const struct cli_command cmd_hw = {
	.name = "hw",
	.synopsis = "list | show|diagram [NAME|FILE.yaml] [section.key=value...]",
	.summary = "list the hardware presets, show every key of one, or draw it",
	.text = "show prints each key after presets, files and the command line have been applied, with its unit, its meaning "
		"and its source: the comment beside it in the YAML file, or where it was set. `npusim hw reference` prints what every key "
		"means. diagram draws engines, memories and what connects them, with sizes and bandwidths.\n"
		"A machine of your own is a YAML file that extends a preset:\n"
		"\n"
		"  extends: edge-1mb\n"
		"  sram: {size: 2MiB, banks: 32}\n"
		"  dram: {part: LPDDR5-6400, channels: 2}\n",
	.options = options,
	.min_words = 1,
	.max_words = 2,
	.takes_hardware = true,
	.run = run,
};
