/* SPDX-License-Identifier: Apache-2.0 */
/* The report that people read: what ran on what, five lines of summary, and where the cycles went. */
#include "sim/simulate.h"

#include "isa/units.h"
#include "sim/memory_plugin.h"
#include "sim/report_critical.h"
#include "sim/report_table.h"
#include "sim/simulate_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_WIDTH = 15, VALUE_WIDTH = 11, FEW_REGIONS = 12, MANY_CHANGES = 8 };

/* "1 MiB", "320 KiB", "1,000 bytes". */
static struct npu_text size_text(uint64_t bytes)
{
	struct npu_text text;
	if (bytes >= 1u << 20 && bytes % (1u << 20) == 0)
		snprintf(text.text, sizeof(text.text), "%.30s MiB", npu_count_text(bytes >> 20).text);
	else if (bytes >= 1u << 10 && bytes % (1u << 10) == 0)
		snprintf(text.text, sizeof(text.text), "%.30s KiB", npu_count_text(bytes >> 10).text);
	else
		return npu_number_of(bytes, "byte");
	return text;
}

/* KiB without the unit: "320", "320.5". */
static struct npu_text kib_text(uint64_t bytes)
{
	struct npu_text text;
	if (bytes % 1024 == 0)
		return npu_count_text(bytes / 1024);
	snprintf(text.text, sizeof(text.text), "%.25s.%u", npu_count_text(bytes / 1024).text,
		 (unsigned)(bytes % 1024 * 10 / 1024));
	return text;
}

/* "34.0 MiB", "1.5 KiB", "96 B". */
static struct npu_text moved_text(uint64_t bytes)
{
	struct npu_text text;
	if (bytes >= 1u << 20)
		snprintf(text.text, sizeof(text.text), "%.1f MiB", (double)bytes / (1 << 20));
	else if (bytes >= 1u << 10)
		snprintf(text.text, sizeof(text.text), "%.1f KiB", (double)bytes / (1 << 10));
	else
		snprintf(text.text, sizeof(text.text), "%" PRIu64 " B", bytes);
	return text;
}

/* 2448.882 us -> "2,448.9 us"; what is short keeps its digits. */
static struct npu_text time_text(double us)
{
	struct npu_text text;
	if (us < 100) {
		snprintf(text.text, sizeof(text.text), "%.3f us", us);
		return text;
	}
	uint64_t tenths = (uint64_t)(us * 10 + 0.5);
	snprintf(text.text, sizeof(text.text), "%.25s.%u us", npu_count_text(tenths / 10).text, (unsigned)(tenths % 10));
	return text;
}

static void print_params(const struct simulation_request *r, FILE *out)
{
	char word[32];
	for (unsigned i = 0; r->kernel && r->args && i < r->kernel->nparams; i++) {
		const char *name = r->kernel->params[i].name;
		if (!npu_param_matters(r->kernel, r->args, i))
			continue;
		const char *value = simulate_arg_text(r->kernel, r->args, i, word);
		/* "fp16" says enough. */
		if (strcmp(name, "dtype") == 0)
			fprintf(out, "%s%s", i > 0 ? " " : "", value);
		else
			fprintf(out, "%s%s=%s", i > 0 ? " " : "", name, value);
	}
	for (unsigned i = 0; r->macro && i < r->macro->nparams; i++)
		fprintf(out, "%s%s=%s", i > 0 ? " " : "", r->macro->params[i].name, r->macro->params[i].value);
	if (!r->kernel && !(r->macro && r->macro->nparams))
		fprintf(out, "program %s", r->program->name);
}

static void print_machine(const struct simulation *s, FILE *out)
{
	const struct hw *hw = s->request.hw;
	const char *part = s->request.dram_part;
	fprintf(out, "%" PRIu64 "x%" PRIu64 " MACs at ", hw->matrix.rows, hw->matrix.cols);
	if (hw->npu.clock_mhz >= 1000)
		fprintf(out, "%g GHz", hw->npu.clock_mhz / 1000);
	else
		fprintf(out, "%g MHz", hw->npu.clock_mhz);
	fprintf(out, ", SRAM %s in %" PRIu64 " banks, %" PRIu64 " lanes, %s %" PRIu32 " x%" PRIu32 " (%.2f GB/s)",
		size_text(hw->sram.size).text, hw->sram.banks, hw->vector.lanes, part && part[0] ? part : "DRAM",
		hw->dram.channels, hw->dram.bus_bits, s->account.dram_peak_gb_per_s);
}

/* Few of them: a machine that is described by more is a file, and the report lists all. */
static void print_changes(const struct simulation_request *r, size_t width, FILE *out)
{
	unsigned n = 0;
	if (!r->changes || !r->changes[0])
		return;
	fprintf(out, "\n%-*s ", (int)width, "changed");
	for (; r->changes[n] && n < MANY_CHANGES; n++)
		fprintf(out, " %s", r->changes[n]);
	unsigned more = 0;
	while (r->changes[n + more])
		more++;
	if (more)
		fprintf(out, " and %u more", more);
	if (r->preset && r->preset[0] && strcmp(r->preset, simulate_hw_name(r->hw)) != 0)
		fprintf(out, ", against %s", r->preset);
}

static void print_head(const struct simulation *s, FILE *out)
{
	const char *subject = s->request.subject, *hw = simulate_title(&s->request);
	size_t width = LABEL_WIDTH;
	if (strlen(subject) > width)
		width = strlen(subject);
	if (strlen(hw) > width)
		width = strlen(hw);
	fprintf(out, "%-*s  ", (int)width, subject);
	print_params(&s->request, out);
	fprintf(out, "\n%-*s  ", (int)width, hw);
	print_machine(s, out);
	if (s->request.memory)
		fprintf(out, "\n%-*s  %s, in the DRAM's place", (int)width, "memory", s->request.memory->name);
	print_changes(&s->request, width, out);
	if (s->request.ideal) {
		const char *comma = "";
		fprintf(out, "\n%-*s  ", (int)width, "ideal");
		for (unsigned bit = 0; simulate_ideal_name(bit); bit++) {
			if (!(s->request.ideal & 1u << bit))
				continue;
			fprintf(out, "%s%s", comma, simulate_ideal_name(bit));
			comma = ", ";
		}
	}
	fprintf(out, "\n\n");
}

static void print_line(FILE *out, const char *label, const char *value, const char *note, ...)
	__attribute__((format(printf, 4, 5)));
static void print_line(FILE *out, const char *label, const char *value, const char *note, ...)
{
	va_list args;
	fprintf(out, "%-*s%*s   ", LABEL_WIDTH, label, VALUE_WIDTH, value);
	va_start(args, note);
	vfprintf(out, note, args);
	va_end(args);
	fputc('\n', out);
}

static void print_dram(const struct simulation *s, FILE *out)
{
	const struct account *a = &s->account;
	char value[32], peak[32] = "ideal; ", hits[32] = "";
	if (a->dram_read_bytes + a->dram_write_bytes == 0)
		return;
	snprintf(value, sizeof(value), "%.2f GB/s", a->dram_gb_per_s);
	if (!isnan(a->dram_peak_fraction))
		snprintf(peak, sizeof(peak), "%.1f %% of peak; ", 100 * a->dram_peak_fraction);
	else if (s->request.memory)
		peak[0] = '\0'; /* what it could do at most only that memory knows */
	if (!isnan(a->dram_row_hit_fraction))
		snprintf(hits, sizeof(hits), "; row hits %.1f %%", 100 * a->dram_row_hit_fraction);
	print_line(out, "DRAM", value, "%sread %s, written %s%s", peak, moved_text(a->dram_read_bytes).text,
		   moved_text(a->dram_write_bytes).text, hits);
}

static void print_summary(const struct simulation *s, FILE *out)
{
	const struct account *a = &s->account;
	const struct hw *hw = s->request.hw;
	char value[64], useful[64] = "";
	print_line(out, "cycles", npu_count_text(a->cycles).text, "(%s)   %s", time_text(a->time_us).text,
		   npu_number_of(s->request.program->ninsns, "instruction").text);
	if (a->macs > 0) {
		if (a->useful_macs != a->macs)
			snprintf(useful, sizeof(useful), ", %s useful", npu_count_text(a->useful_macs).text);
		snprintf(value, sizeof(value), "%.1f %%", 100 * a->mac_utilization);
		print_line(out, "MAC utilisation", value, "%s%s; matrix active %.1f %%", npu_number_of(a->macs, "MAC").text, useful,
			   100 * a->matrix_active_fraction);
	}
	print_dram(s, out);
	snprintf(value, sizeof(value), "%s KiB", kib_text(a->sram_peak_bytes).text);
	print_line(out, "SRAM", value, "peak, of %s KiB; accumulators %s of %s KiB", kib_text(hw->sram.size).text,
		   kib_text(a->accum_peak_bytes).text, kib_text(hw->accum.size).text);
	print_line(out, "bound", a->bound, "%s", a->bound_evidence);
	fputc('\n', out);
}

static bool print_states(const struct account *a, FILE *out, const struct report_style *style)
{
	const char *titles[NPU_ENGINES + 2] = { "cycles" };
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		titles[e + 1] = npu_engine_name((enum npu_engine)e);
	struct report_table *t = report_table_new(titles);
	if (!t)
		return false;
	for (unsigned i = 0; i < NPU_STATES; i++) {
		uint64_t all = 0;
		for (unsigned e = 0; e < NPU_ENGINES; e++)
			all += a->states[e][i];
		if (all == 0)
			continue;
		report_table_row(t, account_state_name((enum npu_state)i));
		for (unsigned e = 0; e < NPU_ENGINES; e++)
			report_table_count(t, a->states[e][i]);
	}
	report_table_row(t, "total");
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		report_table_count(t, a->cycles);
	return report_table_print(t, out, style);
}

static void print_overlap(const struct account *a, FILE *out)
{
	fprintf(out, "\noverlap   both %s   dma only %s   compute only %s   neither %s", npu_count_text(a->both).text,
		npu_count_text(a->dma_only).text, npu_count_text(a->compute_only).text, npu_count_text(a->neither).text);
	if (!isnan(a->hidden_fraction))
		fprintf(out, "   (%.1f %% of DMA hidden)", 100 * a->hidden_fraction);
	fputc('\n', out);
}

static uint64_t waiting(const uint64_t states[NPU_STATES])
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < NPU_STATES; i++)
		if (account_state_group((enum npu_state)i) == ACCOUNT_WAITING)
			sum += states[i];
	return sum;
}

static void region_row(struct report_table *t, const struct account_region *r)
{
	report_table_row(t, r->name);
	report_table_count(t, r->instructions);
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		report_table_count(t, account_active(r->states[e]));
	report_table_count(t, waiting(r->states[NPU_ENGINE_MATRIX]));
	report_table_real(t, (double)(r->dram_read_bytes + r->dram_write_bytes) / (1 << 20), 2);
}

static bool region_is_empty(const struct account_region *r)
{
	return r->instructions == 0 && r->dram_read_bytes == 0;
}

static bool print_regions(const struct account *a, FILE *out, const struct report_style *style)
{
	const char *titles[NPU_ENGINES + 5] = { "active cycles", "instructions" };
	unsigned n = 2;
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		titles[n++] = npu_engine_name((enum npu_engine)e);
	titles[n++] = "matrix waits";
	titles[n] = "DRAM MiB";
	struct report_table *t = report_table_new(titles);
	if (!t)
		return false;
	struct account_region total = { .name = "total" };
	for (uint32_t i = 0; i < a->nregions; i++) {
		const struct account_region *r = &a->regions[i];
		total.instructions += r->instructions;
		total.dram_read_bytes += r->dram_read_bytes;
		total.dram_write_bytes += r->dram_write_bytes;
		if (!region_is_empty(r))
			region_row(t, r);
	}
	memcpy(total.states, a->states, sizeof(total.states));
	region_row(t, &total);
	fputc('\n', out);
	return report_table_print(t, out, style);
}

static bool wants_regions(const struct account *a, const struct report_style *style)
{
	uint32_t filled = 0;
	for (uint32_t i = 0; i < a->nregions; i++)
		filled += !region_is_empty(&a->regions[i]);
	return filled > 1 && (style->regions || filled <= FEW_REGIONS);
}

bool report_print(const struct simulation *s, FILE *out, const struct report_style *style)
{
	const struct account *a = &s->account;
	print_head(s, out);
	print_summary(s, out);
	if (!print_states(a, out, style))
		return false;
	if (wants_regions(a, style) && !print_regions(a, out, style))
		return false;
	print_overlap(a, out);
	if (s->request.want_critical && !report_critical_print(s, out, style))
		return false;
	return !ferror(out);
}
