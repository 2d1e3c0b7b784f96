/* SPDX-License-Identifier: Apache-2.0 */
/* Names, texts and order of figures. */
#include "sim/sweep/shown.h"
#include "isa/units.h"
#include "sim/sweep/figures.h"
#include "sim/sweep/machines.h"
#include "sim/sweep/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void show(const char *names[SWEEP_ROW_FIGURES], unsigned *n, const char *name)
{
	for (unsigned i = 0; i < *n; i++)
		if (strcmp(names[i], name) == 0)
			return;
	if (*n < SWEEP_ROW_FIGURES)
		names[(*n)++] = name;
}

unsigned sweep_shown(const struct sweep_space *s, const char *names[SWEEP_ROW_FIGURES])
{
	static const char *const usual[] = { "cycles", "mac_utilization", "dram.bus_bytes", "sram.peak_bytes" };
	unsigned n = 0;
	/* A search is about its goals, also where others are shown. */
	for (unsigned i = 0; i < s->nreport && n + s->ngoals < SWEEP_ROW_FIGURES; i++)
		show(names, &n, s->report[i]);
	if (n && sweep_figures[sweep_figure_find(names[0])].type == SWEEP_TEXT)
		n = 0;
	bool reported = n > 0;
	for (unsigned i = 0; i < s->ngoals; i++)
		show(names, &n, s->goals[i]);
	if (reported)
		return n;
	if (s->kind == SWEEP_MODEL)
		show(names, &n, "tokens_per_s");
	if (s->clocks)
		show(names, &n, "time_us");
	for (unsigned i = 0; i < sizeof usual / sizeof *usual; i++)
		show(names, &n, usual[i]);
	return n;
}

const char *sweep_figure_title(const char *name)
{
	static const char *const titles[][2] = { { "mac_utilization", "MAC util" },
						 { "dram.bus_bytes", "DRAM MiB" },
						 { "sram.peak_bytes", "SRAM used" },
						 { "tokens_per_s", "tokens/s" },
						 { "time_us", "time us" },
						 { "dram.read_bytes", "DRAM read" },
						 { "dram.write_bytes", "DRAM written" } };
	for (unsigned i = 0; i < sizeof titles / sizeof *titles; i++)
		if (strcmp(titles[i][0], name) == 0)
			return titles[i][1];
	return name;
}

const char *sweep_figure_text(const char *name, double value, char *out, unsigned size)
{
	int f = sweep_figure_find(name);
	const char *unit = f >= 0 ? sweep_figures[f].unit : "";
	if (isnan(value))
		snprintf(out, size, "-");
	else if (strcmp(name, "dram.bus_bytes") == 0)
		snprintf(out, size, "%.1f", value / 1048576);
	else if (strcmp(unit, "byte") == 0 && value >= 10 * 1048576.0)
		snprintf(out, size, "%.1f MiB", value / 1048576);
	else if (strcmp(unit, "byte") == 0)
		snprintf(out, size, "%s KiB", npu_count_text((uint64_t)llround(value / 1024)).text);
	else if (strcmp(unit, "ratio") == 0)
		snprintf(out, size, "%.1f %%", value * 100);
	else if (f >= 0 && sweep_figures[f].type == SWEEP_UINT)
		snprintf(out, size, "%s", npu_count_text((uint64_t)llround(value)).text);
	else
		snprintf(out, size, value >= 100 ? "%.1f" : "%.3g", value);
	return out;
}

const char *sweep_rows_text(const struct sweep_rows *r, const struct sweep_row *row, unsigned figure, char *out,
			    unsigned size)
{
	struct expr_value v = sweep_rows_value(r, row, figure);
	return v.text ? v.text : sweep_figure_text(r->names[figure], v.number, out, size);
}

double sweep_gain(const char *name, double a, double b)
{
	if (fabs(a) <= 0 && fabs(b) <= 0)
		return 0;
	return (sweep_figure_wants_more(name) ? b - a : a - b) / fabs(a);
}

const struct sweep_row *sweep_best(const struct sweep_rows *r, unsigned figure, sweep_fits *fits, void *context)
{
	const struct sweep_row *best = NULL;
	double value = 0;
	for (uint64_t i = 0; i < r->n; i++) {
		double v = sweep_rows_figure(r, &r->row[i], figure);
		if (r->row[i].status != SWEEP_RUN || isnan(v) || (fits && !fits(context, &r->row[i])))
			continue;
		if (!best || (sweep_figure_wants_more(r->names[figure]) ? v > value : v < value)) {
			best = &r->row[i];
			value = v;
		}
	}
	return best;
}

/* Whether a machine has a value of an axis; files are where they lie, however they are named. */
static bool is_at(const struct sweep_space *s, const struct config *machine, const struct sweep_axis *x, uint32_t index)
{
	for (unsigned k = 0; k < x->nkeys; k++) {
		char own[512];
		const struct config_key *key = config_key_find(x->keys[k]);
		const char *value = x->values[(size_t)k * x->count + index];
		char *path = key && key->type == CONFIG_PART && sweep_is_path(value) ? sweep_path(s, value) : NULL;
		bool same = key && sweep_same_value(
				       key->name, config_value(&machine->hw, machine->dram_part, key, own, sizeof own),
				       path ? path : value);
		free(path);
		if (!same)
			return false;
	}
	return true;
}

uint32_t sweep_home(const struct sweep_rows *r, unsigned axis)
{
	const struct sweep_space *s = r->space;
	const struct sweep_axis *x = &s->axes[axis];
	const struct sweep_row *best = sweep_best(r, 0, NULL, NULL);
	uint32_t home = best ? sweep_index(s, best->point, axis) : 0;
	struct sweep_machines machines;
	struct npu_error ignored;
	if (!x->hardware || !s->hw)
		return home;
	if (sweep_machines_read(&machines, s, &ignored)) {
		struct config machine = machines.bases[0];
		machine.owned = NULL;
		machine.nowned = 0;
		/* What does not go together here may do so with other values of the axes. */
		config_finish(&machine, &ignored);
		for (uint32_t i = 0; i < x->count; i++)
			if (is_at(s, &machine, x, i)) {
				home = i;
				break;
			}
		config_fini(&machine);
	}
	sweep_machines_fini(&machines);
	return home;
}
