/* SPDX-License-Identifier: Apache-2.0 */
/* npusim dram: the DRAM controller alone, on a trace of requests. */
#include "isa/units.h"
#include "sim/cli_work.h"
#include "sim/cmd/dram_trace.h"
#include "sim/cmd/report_file.h"
#include "sim/report_json.h"

#include <stdlib.h>
#include <string.h>

/* With --part and no --hw the part stands alone, one channel of it; else it takes the place of the machine's. */
static bool read_config(struct config *config, const struct cli *cli, struct npu_error *err)
{
	char assignment[128];
	const char *part = cli_value(cli, "part");
	bool ok = (part && !cli->hw) || config_base(config, cli->hw ? cli->hw : "edge-1mb", err);
	if (ok && part) {
		snprintf(assignment, sizeof assignment, "dram.part=%s", part);
		ok = config_set(config, assignment, err);
	}
	for (unsigned i = 0; ok && i < cli->nsets; i++)
		ok = config_set(config, cli->sets[i], err);
	return ok && config_finish(config, err);
}

static double period_ns(const struct dram_config *dram) { return (double)dram->tck_num / dram->tck_den * 1e-3; }

static void print_lines(const struct config *config, const struct dram_trace_figures *f, double per_clock, double share)
{
	const struct dram_stats *s = &f->stats;
	char text[32], remark[640];
	snprintf(remark, sizeof remark, "%d B each, %s, %u channel%s", DRAM_TRACE_BYTES, config->dram_part,
		 config->hw.dram.channels, config->hw.dram.channels == 1 ? "" : "s");
	report_line("requests", npu_count_text(f->requests).text, remark);
	snprintf(remark, sizeof remark, "(%.1f us)", (double)f->clocks * period_ns(&config->hw.dram) * 1e-3);
	report_line("clocks", npu_count_text(f->clocks).text, remark);
	snprintf(text, sizeof text, "%.2f GB/s", per_clock / period_ns(&config->hw.dram));
	snprintf(remark, sizeof remark, "%.1f %% of peak; %.3f B a clock", share * 100, per_clock);
	if (config->hw.dram.ideal)
		snprintf(remark, sizeof remark, "ideal; %.3f B a clock", per_clock);
	report_line("bandwidth", text, remark);
	snprintf(text, sizeof text, "%.1f", f->mean_latency);
	snprintf(remark, sizeof remark, "clocks a read, mean; median %.1f, at most %llu", f->median_latency,
		 (unsigned long long)f->max_latency);
	report_line("latency", f->reads ? text : "-", f->reads ? remark : "no reads");
	snprintf(remark, sizeof remark, "of %llu bursts; %llu refreshes", (unsigned long long)s->bursts,
		 (unsigned long long)s->refreshes);
	report_line("row hits", config->hw.dram.ideal ? "." : npu_count_text(s->row_hits).text, remark);
}

static json_t *latency_json(const struct dram_trace_figures *f)
{
	if (!f->reads)
		return json_pack("{s:n, s:n, s:n}", "mean", "median", "max");
	return json_pack("{s:f, s:f, s:I}", "mean", f->mean_latency, "median", f->median_latency, "max",
			 (json_int_t)f->max_latency);
}

static int report(const struct cli *cli, const struct config *config, const struct dram_trace_figures *f)
{
	const struct dram_stats *s = &f->stats;
	double bytes = (double)(s->read_bytes + s->write_bytes);
	double per_clock = f->clocks ? bytes / (double)f->clocks : 0;
	/* What the write queue answers crosses no bus: without it no share is above the peak. */
	double on_bus = bytes - (double)s->forwarded_bytes;
	double share = f->clocks ? on_bus / (double)f->clocks / dram_peak_bytes_per_clk(&config->hw.dram) : 0;
	if (report_wants_lines(cli))
		print_lines(config, f, per_clock, share);
	json_t *json = report_begin("npusim.dram/1", "dram", file_name(cli->words[0]));
	if (json) {
		json_object_set_new(json, "part", report_json_text(config->dram_part));
		json_object_set_new(json, "channels", json_integer(config->hw.dram.channels));
		json_object_set_new(json, "requests", json_integer((json_int_t)f->requests));
		json_object_set_new(json, "clocks", json_integer((json_int_t)f->clocks));
		json_object_set_new(json, "bytes", json_integer((json_int_t)(s->read_bytes + s->write_bytes)));
		json_object_set_new(json, "bytes_per_clock", json_real(per_clock));
		json_object_set_new(json, "peak_fraction", config->hw.dram.ideal ? json_null() : json_real(share));
		json_object_set_new(json, "latency", latency_json(f));
		json_object_set_new(json, "bursts", json_integer((json_int_t)s->bursts));
		json_object_set_new(json, "row_hits", config->hw.dram.ideal ? json_null() : json_integer((json_int_t)s->row_hits));
		json_object_set_new(json, "refreshes", json_integer((json_int_t)s->refreshes));
	}
	return report_finish(cli, json);
}

static int run(struct cli *cli)
{
	struct config config;
	struct npu_error err = { 0 };
	struct dram_trace_figures figures;
	config_init(&config);
	bool ok = read_config(&config, cli, &err) && dram_trace_run(&config.hw.dram, cli->words[0], &figures, &err);
	int status = ok ? report(cli, &config, &figures) : cli_fail(&err);
	config_fini(&config);
	return status;
}

static void values(const char *option, struct cli_words *words)
{
	char **names = strcmp(option, "part") == 0 ? config_preset_names(CONFIG_PRESET_DRAM) : NULL;
	for (char **name = names; name && *name; name++)
		cli_word(words, *name, NULL);
	config_names_free(names);
}

static const struct cli_option options[] = {
	{ "part", 0, "NAME|FILE.yaml", "the DRAM part; without --hw one channel of it alone" },
	{ "report", 0, "FILE.json", "write the figures as JSON (npusim.dram/1); - is stdout, instead of the lines" },
	{ 0 },
};

const struct cli_command cmd_dram = {
	.name = "dram",
	.synopsis = "TRACE|- [--part NAME] [dram.key=value...]",
	.summary = "the DRAM model alone on a trace of requests",
	.text = "A line of the trace is ADDRESS R|W [CYCLE], 64 bytes each within the part; # begins a comment. Cycles are DRAM clocks; without "
		"them each request is pushed as soon as the controller takes it. Latency counts reads, from there (or from the "
		"cycle) to the last byte.\n"
		"\n"
		"  npusim dram stream.trace --part LPDDR5-6400 dram.mapping=RoBaCoBg\n",
	.options = options,
	.min_words = 1,
	.max_words = 1,
	.takes_hardware = true,
	.run = run,
	.values = values,
};
