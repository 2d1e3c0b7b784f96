/* SPDX-License-Identifier: Apache-2.0 */
/* A step as people read it. */
#include "sim/model/report.h"
#include "isa/units.h"
#include "sim/report_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const phases[] = { [MODEL_DECODE] = "decode", [MODEL_PREFILL] = "prefill" };
static const char *const types[] = { [MODEL_FP16] = "fp16", [MODEL_INT8] = "int8", [MODEL_INT4] = "int4" };

static struct npu_text cell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static struct npu_text cell(const char *format, ...)
{
	struct npu_text text;
	va_list args;
	va_start(args, format);
	vsnprintf(text.text, sizeof text.text, format, args);
	va_end(args);
	return text;
}

static uint64_t rounded(double value) { return value > 0 ? (uint64_t)(value + 0.5) : 0; }

/* MiB; few of them keep their digits. */
static struct npu_text mib_text(uint64_t bytes)
{
	return bytes < 10 << 20 ? cell("%.*f", bytes < 1 << 20 ? 3 : 1, (double)bytes / (1 << 20)) : npu_count_text((bytes + (1 << 19)) >> 20);
}

double model_ridge(const struct hw *hw)
{
	enum npu_dtype type = hw->matrix.dtype == HW_MATRIX_INT8 ? NPU_INT8 : NPU_FP16;
	return (double)hw_macs_per_cycle(hw, type) * hw->npu.clock_mhz * 1e6 / (model_peak_gb_per_s(hw) * 1e9);
}

static void print_model(const struct model_step *s, size_t width, FILE *out)
{
	const struct transformer *t = s->dims;
	uint64_t all = model_parameters(t), active = model_active_parameters(t);
	fprintf(out, "%-*s  %s parameters", (int)width, t->name, npu_count_text(all).text);
	if (active != all)
		fprintf(out, " (%s active)", npu_count_text(active).text);
	fprintf(out, ", %" PRIu32 " layer%s, %" PRIu32 " head%s", t->layers, t->layers == 1 ? "" : "s", t->heads, t->heads == 1 ? "" : "s");
	if (t->kv_rank)
		fprintf(out, ", latent %" PRIu32 " + %" PRIu32, t->kv_rank, t->rope_dim);
	else
		fprintf(out, ", %" PRIu32 " kv_head%s, head_dim %" PRIu32, t->kv_heads, t->kv_heads == 1 ? "" : "s", t->head_dim);
	if (t->experts)
		fprintf(out, ", %" PRIu32 " of %" PRIu32 " experts", t->experts_used, t->experts);
	fputc('\n', out);
}

static void print_machine(const struct model_step *s, size_t width, FILE *out)
{
	const struct hw *hw = &s->config->hw;
	const char *part = s->config->dram_part;
	double ghz = hw->npu.clock_mhz / 1000;
	fprintf(out, "%-*s  %" PRIu64 "x%" PRIu64 " MACs at %g %s, SRAM %s, %s %" PRIu32 " x%" PRIu32 " (%.2f GB/s)\n",
		(int)width, s->config->title, hw->matrix.rows, hw->matrix.cols, ghz >= 1 ? ghz : hw->npu.clock_mhz,
		ghz >= 1 ? "GHz" : "MHz",
		hw->sram.size % (1 << 20) ? npu_bytes_text(hw->sram.size).text
					  : cell("%s MiB", npu_count_text(hw->sram.size >> 20).text).text,
		part[0] ? part : "DRAM", hw->dram.channels, hw->dram.bus_bits, model_peak_gb_per_s(hw));
}

void model_print_head(const struct model_step *s, FILE *out)
{
	const struct model_ask *ask = s->ask;
	size_t width = strlen("prefill"), name = strlen(s->dims->name), title = strlen(s->config->title);
	width = name > width ? name : width;
	width = title > width ? title : width;
	print_model(s, width, out);
	print_machine(s, width, out);
	fprintf(out, "%-*s  context ", (int)width, phases[ask->phase]);
	if (ask->context_min && ask->context_min < ask->context)
		fprintf(out, "%s to ", npu_count_text(ask->context_min).text);
	fprintf(out, "%s, ", npu_count_text(ask->context).text);
	if (ask->phase == MODEL_PREFILL && model_chunk(ask) < ask->context)
		fprintf(out, "the last %s new, ", npu_count_text(model_chunk(ask)).text);
	fprintf(out, "batch %" PRIu32 ", weights %s", ask->batch, types[ask->weights]);
	if (ask->weights != MODEL_FP16)
		fprintf(out, ask->group ? " g%" PRIu32 : " a scale a channel", ask->group);
	fprintf(out, ", KV %s", types[ask->kv]);
	if (!s->dims->kv_rank)
		fprintf(out, ", %" PRIu32 "-token pages", ask->page);
	fprintf(out, "%s\n\n", s->exact ? ", exact" : "");
}

static void print_notes(const struct model_step *s, FILE *out)
{
	for (unsigned i = 0; i < s->plan.nnotes; i++)
		fprintf(out, "%-10s %s\n", i ? "" : "note", s->plan.notes[i]);
}

static void print_memory(const struct model_step *s, FILE *out)
{
	uint64_t sum = s->weight_bytes + s->kv_bytes + s->activation_bytes;
	fprintf(out, "DRAM use   weights %s MiB + KV %s MiB + activations %s MiB = %s of %s MiB\n",
		mib_text(s->weight_bytes).text, mib_text(s->kv_bytes).text, mib_text(s->activation_bytes).text,
		mib_text(sum).text, mib_text(s->dram_bytes).text);
}

/* ---- the plan ---- */

/* Resolved parameters, those that have an effect. */
static char *params_text(const struct model_run *r, char *text, size_t size)
{
	size_t used = 0;
	char word[32];
	text[0] = '\0';
	for (unsigned i = 0; i < r->kernel->nparams && used < size; i++)
		if (npu_param_matters(r->kernel, &r->args, i))
			used += (size_t)snprintf(text + used, size - used, "%s%s=%s", used ? " " : "", r->kernel->params[i].name,
						 simulate_arg_text(r->kernel, &r->args, i, word));
	return text;
}

bool model_print_plan(const struct model_step *s, FILE *out, bool color)
{
	static const char *const titles[] = { "operator", "count", "MACs", "DRAM MB", "SRAM KiB", "acc KiB", "instructions",
					      "kernel", NULL };
	struct report_table *table = report_table_new(titles);
	char text[512], label[128];
	if (!table)
		return false;
	for (unsigned i = 0; i < s->plan.nops; i++) {
		const struct model_op *op = &s->plan.ops[i];
		const struct model_step_op *r = &s->ops[i];
		uint64_t count = (uint64_t)op->repeat * s->plan.sections[op->section].count;
		double bytes = (double)(s->runs[i].expect.dram_read_bytes + s->runs[i].expect.dram_write_bytes);
		if (s->plan.nsections > 3 && s->plan.sections[op->section].is_layer)
			snprintf(label, sizeof label, "%s: %s", s->plan.sections[op->section].name, op->name);
		else
			snprintf(label, sizeof label, "%s", op->name);
		report_table_row(table, label);
		report_table_count(table, count);
		report_table_count(table, count * s->runs[i].expect.macs);
		report_table_real(table, (double)count * bytes / 1e6, 1);
		report_table_real(table, (double)r->sram_bytes / 1024, 1);
		report_table_real(table, (double)r->accum_bytes / 1024, 1);
		report_table_count(table, count * r->instructions);
		report_table_text(table, op->kernel);
	}
	if (!report_table_print(table, out, &(struct report_style){ .color = color }))
		return false;
	fputc('\n', out);
	for (unsigned i = 0; i < s->plan.nops; i++)
		fprintf(out, "%-20s  %s %s\n", s->plan.ops[i].name, s->plan.ops[i].kernel,
			params_text(&s->runs[i], text, sizeof text));
	fputc('\n', out);
	print_memory(s, out);
	print_notes(s, out);
	return true;
}

/* ---- figures ---- */

static void figures_cells(struct report_table *table, const struct model_step *s, const struct model_figures *f)
{
	double us = f->cycles / s->config->hw.npu.clock_mhz, bytes = f->dram_read_bytes + f->dram_write_bytes;
	report_table_count(table, rounded(f->cycles));
	report_table_text(table, cell("%.1f %%", 100 * model_ratio(f->cycles, s->total.cycles)).text);
	report_table_real(table, bytes / 1e6, 1);
	report_table_real(table, model_ratio(bytes, us * 1e3), 1);
	report_table_text(table, cell("%.1f %%", 100 * model_ratio(f->array_cycles, f->cycles)).text);
	report_table_real(table, f->energy_total_uj / 1e3, 2);
	report_table_text(table, model_figures_bound(f));
}

/* Operators of one name and kernel in all kinds of layers are one row, where the first stands. */
static bool first_of_name(const struct model_step *s, unsigned i)
{
	for (unsigned k = 0; k < i; k++)
		if (strcmp(s->plan.ops[k].name, s->plan.ops[i].name) == 0)
			return false;
	return true;
}

static bool print_operators(const struct model_step *s, FILE *out, bool color)
{
	static const char *const titles[] = { "operator", "count", "cycles", "share", "DRAM MB", "GB/s", "MAC util", "mJ",
					      "bound", NULL };
	struct report_table *table = report_table_new(titles);
	if (!table)
		return false;
	for (unsigned i = 0; i < s->plan.nops; i++) {
		struct model_figures sum = { 0 };
		uint64_t count = 0;
		if (!first_of_name(s, i))
			continue;
		for (unsigned k = i; k < s->plan.nops; k++)
			if (strcmp(s->plan.ops[k].name, s->plan.ops[i].name) == 0) {
				model_figures_add(&sum, &s->ops[k].total, 1);
				count += (uint64_t)s->plan.ops[k].repeat * s->plan.sections[s->plan.ops[k].section].count;
			}
		report_table_row(table, s->plan.ops[i].name);
		report_table_count(table, count);
		figures_cells(table, s, &sum);
	}
	report_table_row(table, "total");
	report_table_text(table, "");
	figures_cells(table, s, &s->total);
	return report_table_print(table, out, &(struct report_style){ .color = color });
}

static bool print_sections(const struct model_step *s, FILE *out, bool color)
{
	static const char *const titles[] = { "of these", "count", "cycles", "share", "DRAM MB", "GB/s", "MAC util", "mJ",
					      "bound", NULL };
	struct report_table *table = report_table_new(titles);
	if (!table)
		return false;
	for (unsigned k = 0; k < s->plan.nsections; k++) {
		report_table_row(table, s->plan.sections[k].name);
		report_table_count(table, s->plan.sections[k].count);
		figures_cells(table, s, &s->sections[k]);
	}
	return report_table_print(table, out, &(struct report_style){ .color = color });
}

static bool print_layers(const struct model_step *s, FILE *out, bool color)
{
	static const char *const titles[] = { "layer", "kind", "cycles", "share", "DRAM MB", "GB/s", "MAC util", "mJ", "bound",
					      NULL };
	struct report_table *table = report_table_new(titles);
	if (!table)
		return false;
	for (uint32_t l = 0; l < s->dims->layers; l++) {
		report_table_row(table, cell("%" PRIu32, l).text);
		report_table_text(table, s->plan.sections[s->plan.section_of[l]].name);
		figures_cells(table, s, &s->layers[l]);
	}
	return report_table_print(table, out, &(struct report_style){ .color = color });
}

static void print_rate(const struct model_step *s, FILE *out)
{
	double ms = s->total.cycles / s->config->hw.npu.clock_mhz / 1e3, tokens = (double)model_tokens(s->ask);
	const char *what = s->ask->phase == MODEL_DECODE ? (s->ask->batch == 1 ? "a token" : "a step") : "a prompt";
	if (s->ask->phase == MODEL_PREFILL && s->ask->batch > 1)
		what = "all prompts";
	fprintf(out, "%.*f ms %s, %.*f tokens/s; %.2f MAC/B against a ridge of %.1f\n", ms < 1 ? 4 : 2, ms, what,
		tokens / ms * 1e3 < 1e5 ? 2 : 0, tokens / ms * 1e3,
		model_ratio(s->total.macs, s->total.dram_read_bytes + s->total.dram_write_bytes),
		model_ridge(&s->config->hw));
	const struct model_figures *f = &s->total;
	fprintf(out, "energy     %.*f mJ %s: dram %.2f, sram %.2f, accumulators %.2f, mac %.2f, vector %.2f, idle %.2f\n",
		f->energy_total_uj < 1e3 ? 4 : 1, f->energy_total_uj / 1e3, what, f->energy_dram_uj / 1e3,
		f->energy_sram_uj / 1e3, f->energy_accum_uj / 1e3, f->energy_mac_uj / 1e3, f->energy_vector_uj / 1e3,
		f->energy_idle_uj / 1e3);
}

bool model_print_report(const struct model_step *s, FILE *out, bool color, bool layers)
{
	if (!print_operators(s, out, color))
		return false;
	fputc('\n', out);
	if (!print_sections(s, out, color))
		return false;
	fputc('\n', out);
	if (layers) {
		if (!print_layers(s, out, color))
			return false;
		fputc('\n', out);
	}
	print_rate(s, out);
	print_memory(s, out);
	print_notes(s, out);
	return !ferror(out);
}
