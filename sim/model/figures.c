/* SPDX-License-Identifier: Apache-2.0 */
/* Figures as sums. */
#include "sim/model/figures.h"

#include <math.h>
#include <string.h>

const char *const model_bounds[MODEL_BOUNDS] = { "matrix", "vector", "sram", "dma", "dram", "dispatch", "latency" };

void model_figures_of(struct model_figures *f, const struct simulation *s)
{
	const struct account *a = &s->account;
	*f = (struct model_figures){ .sram_peak_bytes = a->sram_peak_bytes, .accum_peak_bytes = a->accum_peak_bytes };
#define FIGURE(field, member) f->field = (double)a->member;
#include "sim/model/figures.def"
	f->array_cycles = a->mac_utilization * (double)a->cycles;
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		f->instructions += (double)a->instructions[e];
		for (unsigned i = 0; i < NPU_STATES; i++)
			f->states[e][i] = (double)a->states[e][i];
	}
	for (unsigned i = 0; i < MODEL_BOUNDS; i++)
		if (strcmp(model_bounds[i], a->bound) == 0)
			f->bounds[i] = f->cycles;
}

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

void model_figures_add(struct model_figures *sum, const struct model_figures *f, double factor)
{
#define FIGURE(field, member) sum->field += factor * f->field;
#include "sim/model/figures.def"
	sum->array_cycles += factor * f->array_cycles;
	sum->instructions += factor * f->instructions;
	for (unsigned i = 0; i < MODEL_BOUNDS; i++)
		sum->bounds[i] += factor * f->bounds[i];
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		for (unsigned i = 0; i < NPU_STATES; i++)
			sum->states[e][i] += factor * f->states[e][i];
	sum->sram_peak_bytes = larger(sum->sram_peak_bytes, f->sram_peak_bytes);
	sum->accum_peak_bytes = larger(sum->accum_peak_bytes, f->accum_peak_bytes);
}

/* Whole numbers that add up to `all`, none below 0: a line goes below where the shorter run had more of something, and the others
 * are that much larger, each in proportion. */
static void make_whole(double *const *parts, unsigned n, double all)
{
	double total = 0, sum = 0, told = 0;
	for (unsigned i = 0; i < n; i++)
		total += *parts[i] = fmax(*parts[i], 0);
	for (unsigned i = 0; i < n; i++) {
		sum += *parts[i];
		double upto = total > 0 ? round(all * (sum / total)) : 0;
		*parts[i] = upto - told;
		told = upto;
	}
}

/* What a run counts it counts in whole numbers; cycles of engines, and of their overlap, add up to all cycles. */
static void make_all_whole(struct model_figures *f)
{
	double *parts[NPU_STATES], *const overlap[] = { &f->both, &f->dma_only, &f->compute_only, &f->neither };
#define FIGURE(field, member) \
	if (_Generic(((struct account *)0)->member, uint64_t : true, default : false)) \
		f->field = round(f->field);
#include "sim/model/figures.def"
	f->instructions = round(f->instructions);
	make_whole(overlap, sizeof overlap / sizeof *overlap, f->cycles);
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		for (unsigned i = 0; i < NPU_STATES; i++)
			parts[i] = &f->states[e][i];
		make_whole(parts, NPU_STATES, f->cycles);
	}
}

void model_figures_draw_out(struct model_figures *f, const struct model_figures *fa, double a,
			    const struct model_figures *fb, double b, double at)
{
	double slope = (at - b) / (b - a);
	*f = (struct model_figures){ 0 };
	model_figures_add(f, fb, 1 + slope);
	model_figures_add(f, fa, -slope);
	make_all_whole(f);
	/* What limits the longer one limits one that is longer still. */
	for (unsigned i = 0; i < MODEL_BOUNDS; i++)
		f->bounds[i] = fb->bounds[i] > 0 ? f->cycles : 0;
}

double model_figures_active(const struct model_figures *f, enum npu_engine e)
{
	double sum = 0;
	for (unsigned i = 0; i < NPU_STATES; i++)
		if (account_state_group((enum npu_state)i) == ACCOUNT_ACTIVE)
			sum += f->states[e][i];
	return sum;
}

const char *model_figures_bound(const struct model_figures *f)
{
	unsigned most = 0;
	for (unsigned i = 1; i < MODEL_BOUNDS; i++)
		if (f->bounds[i] > f->bounds[most])
			most = i;
	return f->bounds[most] > 0 ? model_bounds[most] : "";
}

double model_peak_gb_per_s(const struct hw *hw)
{
	return dram_peak_bytes_per_clk(&hw->dram) * 1000.0 * (double)hw->dram.tck_den / (double)hw->dram.tck_num;
}

double model_peak_fraction(const struct hw *hw, double gb_per_s)
{
	return hw->dram.ideal ? (double)NAN : gb_per_s / model_peak_gb_per_s(hw);
}
