/* SPDX-License-Identifier: Apache-2.0 */
/* npusim hotspots: the lines, instructions or regions of a run that most of its cycles are in. */
#include "sim/hotspots.h"

#include "sim/cli.h"
#include "sim/cmd/report_file.h"
#include "sim/report_json.h"
#include "sim/report_read.h"
#include "sim/report_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 20 };

static const char *const formats[] = { "table", "csv", "json", NULL };

/* The position of a word in a list that ends with NULL; the list's length when it is not in it. */
static unsigned index_of(const char *word, const char *(*name)(unsigned))
{
	unsigned i = 0;
	while (name(i) && strcmp(name(i), word) != 0)
		i++;
	return i;
}

static const char *format_name(unsigned i) { return formats[i]; }

/* Stalls that some row has, in the order of the report. */
static bool is_shown(const struct hotspots *h, unsigned state)
{
	for (uint32_t i = 0; i < h->n; i++)
		if (h->items[i].states[state] > 0)
			return account_state_is_decided((enum npu_state)state);
	return false;
}

static bool print_table(const struct hotspots *h, enum hotspots_by by, uint64_t rows)
{
	if (h->n == 0)
		return puts("the program has no instruction") >= 0;
	const char *titles[NPU_STATES + 8] = { hotspots_way(by), "engine", "count", "cycles", "busy" };
	unsigned columns = 5;
	for (unsigned s = 0; s < NPU_STATES; s++)
		if (is_shown(h, s))
			titles[columns++] = account_state_name((enum npu_state)s);
	titles[columns++] = "DRAM bytes";
	titles[columns] = "MACs";
	struct report_table *t = report_table_new(titles);
	for (uint32_t i = 0; t && i < h->n && i < rows; i++) {
		const struct hotspot *spot = &h->items[i];
		char place[128];
		if (by == HOTSPOTS_INSTRUCTION && spot->count > 0)
			snprintf(place, sizeof(place), "#%" PRIu32 " %.100s", spot->first, spot->place);
		report_table_row(t, by == HOTSPOTS_INSTRUCTION && spot->count > 0 ? place : spot->place);
		report_table_text(t, spot->engine);
		report_table_count(t, spot->count);
		report_table_count(t, spot->cycles);
		report_table_count(t, spot->states[NPU_STATE_BUSY]);
		for (unsigned s = 0; s < NPU_STATES; s++)
			if (is_shown(h, s))
				report_table_count(t, spot->states[s]);
		report_table_count(t, spot->dram_bytes);
		report_table_count(t, spot->macs);
	}
	const char *no_color = getenv("NO_COLOR");
	struct report_style style = { .color = isatty(STDOUT_FILENO) && !(no_color && *no_color) };
	bool ok = t && report_table_print(t, stdout, &style);
	if (ok && h->n > rows)
		printf("%" PRIu64 " more; --rows 0 lists all\n", h->n - rows);
	return ok;
}

static void put_quoted(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"')
			putchar('"');
		putchar(*text);
	}
	putchar('"');
}

static void print_csv(const struct hotspots *h, enum hotspots_by by)
{
	printf("%s,engine,first_instruction,count,cycles,busy_cycles", hotspots_way(by));
	for (unsigned s = 0; s < NPU_STATES; s++)
		if (account_state_is_decided((enum npu_state)s))
			printf(",%s_cycles", account_state_name((enum npu_state)s));
	puts(",dram_bytes,macs");
	for (uint32_t i = 0; i < h->n; i++) {
		const struct hotspot *spot = &h->items[i];
		put_quoted(spot->place);
		printf(",%s,", spot->engine);
		if (spot->count > 0)
			printf("%" PRIu32, spot->first);
		printf(",%" PRIu64 ",%" PRIu64 ",%" PRIu64, spot->count, spot->cycles, spot->states[NPU_STATE_BUSY]);
		for (unsigned s = 0; s < NPU_STATES; s++)
			if (account_state_is_decided((enum npu_state)s))
				printf(",%" PRIu64, spot->states[s]);
		printf(",%" PRIu64 ",%" PRIu64 "\n", spot->dram_bytes, spot->macs);
	}
}

static json_t *count(uint64_t value) { return json_integer((json_int_t)value); }

static bool print_json(const struct hotspots *h, enum hotspots_by by, const char *subject)
{
	json_t *report = report_begin("npusim.hotspots/1", "hotspots", subject), *rows = json_array();
	for (uint32_t i = 0; i < h->n; i++) {
		const struct hotspot *spot = &h->items[i];
		json_t *row = json_object(), *stalls = json_object();
		json_object_set_new(row, hotspots_way(by), json_string(spot->place));
		json_object_set_new(row, "engine", json_string(spot->engine));
		json_object_set_new(row, "first_instruction", spot->count > 0 ? count(spot->first) : json_null());
		json_object_set_new(row, "count", count(spot->count));
		json_object_set_new(row, "cycles", count(spot->cycles));
		json_object_set_new(row, "busy_cycles", count(spot->states[NPU_STATE_BUSY]));
		for (unsigned s = 0; s < NPU_STATES; s++)
			if (account_state_is_stall((enum npu_state)s) && spot->states[s] > 0) {
				char name[64];
				snprintf(name, sizeof(name), "%s_cycles", account_state_name((enum npu_state)s));
				json_object_set_new(stalls, name, count(spot->states[s]));
			}
		json_object_set_new(row, "stalls", stalls);
		json_object_set_new(row, "dram_bytes", count(spot->dram_bytes));
		json_object_set_new(row, "macs", count(spot->macs));
		json_array_append_new(rows, row);
	}
	json_object_set_new(report, "by", json_string(hotspots_way(by)));
	json_object_set_new(report, "rows", rows);
	bool ok = report_json_print(report, stdout);
	json_decref(report);
	return ok;
}

static int print(const struct cli *cli, const json_t *report, enum hotspots_by by, unsigned format, uint64_t rows)
{
	struct npu_error err = { 0 };
	struct hotspots h;
	if (!hotspots_init(&h, report, cli->words[0], by, &err))
		return cli_fail(&err);
	bool ok = true;
	if (format == 0)
		ok = print_table(&h, by, rows ? rows : h.n);
	else if (format == 1)
		print_csv(&h, by);
	else
		ok = print_json(&h, by, report_text(report, "command.subject"));
	hotspots_fini(&h);
	return ok ? 0 : cli_usage("out of memory");
}

static int run(struct cli *cli)
{
	struct npu_error err = { 0 };
	const char *by = cli_value(cli, "by") ? cli_value(cli, "by") : "line";
	const char *format = cli_value(cli, "format") ? cli_value(cli, "format") : "table";
	const char *rows = cli_value(cli, "rows") ? cli_value(cli, "rows") : "20";
	unsigned way = index_of(by, hotspots_way), form = index_of(format, format_name);
	if (way == HOTSPOTS_WAYS)
		return cli_usage("--by %.40s: line, instruction or region would be right", by);
	if (!formats[form])
		return cli_usage("--format %.40s: table, csv or json would be right", format);
	char *end;
	unsigned long long n = strtoull(rows, &end, 10);
	if (*rows < '0' || *rows > '9' || *end)
		return cli_usage("--rows %.40s: a number of rows would be right, 0 for all", rows);
	json_t *report = report_read(cli->words[0], &err);
	if (!report)
		return cli_fail(&err);
	int status = print(cli, report, (enum hotspots_by)way, form, n);
	json_decref(report);
	return status;
}

static void values(const char *option, struct cli_words *words)
{
	for (unsigned i = 0; strcmp(option, "by") == 0 && hotspots_way(i); i++)
		cli_word(words, hotspots_way(i), NULL);
	for (unsigned i = 0; strcmp(option, "format") == 0 && formats[i]; i++)
		cli_word(words, formats[i], NULL);
}

static const struct cli_option options[] = {
	{ "by", 0, "WAY", "what a row is: line (of source, when not given), instruction or region" },
	{ "format", 0, "WAY", "table (when not given), csv or json: all rows, and all stalls" },
	{ "rows", 0, "N", "of a table; 20 when not given, 0: all" },
	{ 0 },
};

const struct cli_command cmd_hotspots = {
	.name = "hotspots",
	.synopsis = "R.json",
	.summary = "the source lines, instructions or regions with most cycles",
	.text = "Of a report that has rows of instructions. Cycles are those of an engine in service whose state the row's "
		"instructions decided, so they add up to the engine's active cycles; stalls are listed by cause, waiting at the "
		"head of a queue, which is no service, too. Bytes add up to those of the run: where instructions are fetched from "
		"DRAM, these bytes have a row of their own, (instructions), of no count and no cycle.\n"
		"\n"
		"  npusim run gemm --report r.json --instructions -q && npusim hotspots r.json\n"
		"  npusim hotspots r.json --by region --format csv\n",
	.options = options,
	.min_words = 1,
	.max_words = 1,
	.run = run,
	.values = values,
};
