/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes and arrows of the machine; every figure is of struct hw. */
#include "sim/cmd/hw_diagram.h"

#include "isa/units.h"
#include "sim/graphviz.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void box(FILE *out, const char *id, const char *color, const char *format, ...) __attribute__((format(printf, 4, 5)));
static void box(FILE *out, const char *id, const char *color, const char *format, ...)
{
	char label[400];
	va_list args;
	va_start(args, format);
	vsnprintf(label, sizeof label, format, args);
	va_end(args);
	fprintf(out, "\t%s [fillcolor=\"%s\", label=", id, color);
	graphviz_quote(label, out);
	fputs("];\n", out);
}

/* An arrow that carries so many bytes a cycle. */
static void arrow(FILE *out, const struct hw *hw, const char *from, const char *to, double bytes, const char *more)
{
	double gb = bytes * hw->npu.clock_mhz / 1000;
	fprintf(out, "\t%s -> %s [label=\"%.0f B/cycle\\n%.1f GB/s\"%s];\n", from, to, bytes, gb, more);
}

static const char *size_text(uint64_t bytes, char out[64])
{
	if (bytes >= 1u << 30 && bytes % (1u << 30) == 0)
		snprintf(out, 64, "%" PRIu64 " GiB", bytes >> 30);
	else if (bytes >= 1u << 20 && bytes % (1u << 20) == 0)
		snprintf(out, 64, "%" PRIu64 " MiB", bytes >> 20);
	else if (bytes % 1024 == 0)
		snprintf(out, 64, "%" PRIu64 " KiB", bytes >> 10);
	else
		snprintf(out, 64, "%" PRIu64 " bytes", bytes);
	return out;
}

void hw_diagram(const struct config *config, FILE *out)
{
	const struct hw *hw = &config->hw;
	char size[64];
	double period_ns = (double)hw->dram.tck_num / hw->dram.tck_den * 1e-3;
	double peak = dram_peak_bytes_per_clk(&hw->dram) / period_ns; /* GB/s */
	double accum = (double)hw->accum.banks * 4.0 * (double)(hw->matrix.cols > hw->vector.lanes ? hw->matrix.cols : hw->vector.lanes);
	fputs("digraph machine {\n\tlabel=", out);
	snprintf(size, sizeof size, "%.40s, %g MHz", config->title, hw->npu.clock_mhz);
	graphviz_quote(size, out);
	fputs(";\n\tlabelloc=t;\n\trankdir=LR;\n\tnode [shape=box, style=\"filled,rounded\", fontname=\"sans\", fontsize=11];\n"
	      "\tedge [fontname=\"sans\", fontsize=9, dir=both];\n", out);
	box(out, "sequencer", "#eeeeee", "sequencer\n%" PRIu64 " %s an instruction\n4 queues of %" PRIu64 "\nposts seen after %" PRIu64
	    " cycles", hw->sequencer.issue_cycles, hw->sequencer.issue_cycles == 1 ? "cycle" : "cycles", hw->sequencer.queue_depth,
	    hw->sequencer.sync_latency);
	box(out, "load", "#cfe2f3", "load DMA\n%s\nbursts of %" PRIu64 " bytes, %" PRIu64 " in flight",
	    npu_number_of(hw->dma.load_channels, "channel").text, hw->dma.max_burst, hw->dma.outstanding);
	box(out, "store", "#d9ead3", "store DMA\n%s\nbursts of %" PRIu64 " bytes, %" PRIu64 " in flight",
	    npu_number_of(hw->dma.store_channels, "channel").text, hw->dma.max_burst, hw->dma.outstanding);
	box(out, "matrix", "#fce5cd", "matrix\n%" PRIu64 " x %" PRIu64 " MACs\n%.1f GMAC/s fp16, %.1f int8", hw->matrix.rows,
	    hw->matrix.cols, (double)(hw->matrix.rows * hw->matrix.cols) * hw->npu.clock_mhz / 1000,
	    (double)(hw->matrix.rows * hw->matrix.cols * hw->matrix.int8_macs_per_pe) * hw->npu.clock_mhz / 1000);
	box(out, "vector", "#e6d9f2", "vector\n%" PRIu64 " lanes of fp32\n%.1f G operations/s", hw->vector.lanes,
	    (double)hw->vector.lanes * hw->npu.clock_mhz / 1000);
	box(out, "sram", "#fff2cc", "SRAM %s\n%" PRIu64 " banks of %" PRIu64 " B/cycle in %s\n%.1f GB/s%s", size_text(hw->sram.size, size),
	    hw->sram.banks, hw->sram.bank_bytes, npu_number_of(hw->sram.groups, "group").text,
	    (double)(hw->sram.banks * hw->sram.bank_bytes) * hw->npu.clock_mhz / 1000,
	    hw->sram.ideal ? ", no bank is ever denied" : "");
	box(out, "accum", "#fff2cc", "accumulators %s\n%s\n%.1f GB/s read, as much written", size_text(hw->accum.size, size),
	    npu_number_of(hw->accum.banks, "bank").text, accum * hw->npu.clock_mhz / 1000);
	if (hw->dram.ideal)
		box(out, "dram", "#f4cccc", "DRAM, ideal\n%s\nanswers at once, no bandwidth is too much", size_text(dram_capacity(&hw->dram), size));
	else
		box(out, "dram", "#f4cccc", "DRAM %.60s\n%s\n%" PRIu32 " %s x%" PRIu32 ", %.2f GB/s", config->dram_part,
	    size_text(dram_capacity(&hw->dram), size), hw->dram.channels, hw->dram.channels == 1 ? "channel" : "channels", hw->dram.bus_bits, peak);
	if (hw->dram.ideal)
		fputs("\tdram -> load [dir=forward];\n\tdram -> store [dir=back];\n", out);
	else
		fprintf(out, "\tdram -> load [dir=forward, label=\"%.2f GB/s\\nof both\"];\n\tdram -> store [dir=back];\n", peak);
	arrow(out, hw, "load", "sram", (double)hw->dma.port, ", dir=forward");
	arrow(out, hw, "store", "sram", (double)hw->dma.port, ", dir=back");
	fputs("\tstore -> accum [dir=back];\n", out);
	fprintf(out, "\tsram -> matrix [dir=forward, label=\"streamed %" PRIu64 " B/cycle\\nstationary %" PRIu64 " B/cycle\"];\n",
		hw_activation_port(hw), hw_weight_port(hw));
	arrow(out, hw, "matrix", "accum", 4.0 * (double)hw->matrix.cols, "");
	arrow(out, hw, "sram", "vector", (double)hw->vector.port, "");
	arrow(out, hw, "vector", "accum", (double)hw->vector.port, "");
	fputs("\tedge [style=dotted, dir=forward, color=\"#888888\", constraint=false];\n\t{rank=same; load; store}\n\t{rank=same; matrix; vector}\n\t{rank=source; dram; sequencer}\n\tsequencer -> {load store matrix vector};\n}\n", out);
}
