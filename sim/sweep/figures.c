/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of a run and of a step under the names of report.def. */
#include "sim/sweep/figures.h"
#include "sim/model/report.h"

#include <math.h>
#include <string.h>

const struct sweep_figure sweep_figures[] = {
#define COLUMN(name, type, unit, doc) { name, SWEEP_##type, unit, doc },
#include "sim/sweep/figures.def"
	{ 0 },
};

static bool is_sum(const char *name)
{
	const char *of = "";
#define FIGURE(type, field, path, unit, doc) of = strcmp(name, path) == 0 ? #field : of;
#include "sim/report.def"
#define FIGURE(field, member)                                                                                          \
	if (strcmp(of, #member) == 0)                                                                                  \
		return true;
#include "sim/model/figures.def"
	return strncmp(name, "engines.", 8) == 0;
}

bool sweep_figure_is_of(const char *name, bool model)
{
	static const char *const of_models[] = { "tokens_per_s", "ms_per_token", "uj_per_token" };
	static const char *const of_both[] = { "time_us",
					       "mac_utilization",
					       "matrix_active_fraction",
					       "overlap.hidden_fraction",
					       "dram.gb_per_s",
					       "dram.peak_gb_per_s",
					       "dram.peak_fraction",
					       "macs_per_dram_byte",
					       "ridge_macs_per_byte",
					       "sram.peak_bytes",
					       "accum.peak_bytes",
					       "bound",
					       "instructions" };
	for (unsigned i = 0; i < sizeof of_models / sizeof *of_models; i++)
		if (strcmp(of_models[i], name) == 0)
			return model;
	for (unsigned i = 0; i < sizeof of_both / sizeof *of_both; i++)
		if (strcmp(of_both[i], name) == 0)
			return true;
	return !model || is_sum(name);
}

int sweep_figure_find(const char *name)
{
	for (int i = 0; sweep_figures[i].name; i++)
		if (strcmp(sweep_figures[i].name, name) == 0)
			return i;
	return -1;
}

const char *sweep_figure_near(const char *name)
{
	const char *names[sizeof sweep_figures / sizeof *sweep_figures];
	unsigned n = 0;
	for (; sweep_figures[n].name; n++)
		names[n] = sweep_figures[n].name;
	return npu_nearest(name, names, n);
}

bool sweep_figure_wants_more(const char *name)
{
	static const char *const more[] = { "tokens_per_s",           "mac_utilization",
					    "matrix_active_fraction", "overlap.hidden_fraction",
					    "dram.gb_per_s",          "dram.peak_fraction",
					    "dram.row_hit_fraction",  "dram.bus_fraction",
					    "macs_per_dram_byte" };
	for (unsigned i = 0; i < sizeof more / sizeof *more; i++)
		if (strcmp(more[i], name) == 0)
			return true;
	return false;
}

static json_t *json_UINT(uint64_t value)
{
	return json_integer((json_int_t)value);
}
static json_t *json_REAL(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}
static json_t *json_TEXT(const char *value)
{
	return value ? json_string(value) : json_null();
}

static void put_states(json_t *o, record_states states)
{
	char name[96];
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		for (unsigned i = 0; i < NPU_STATES; i++) {
			snprintf(name, sizeof name, "engines.%s.%s", npu_engine_name((enum npu_engine)e),
				 account_state_name((enum npu_state)i));
			if (states[e][i])
				json_object_set_new(o, name, json_UINT(states[e][i]));
		}
}

json_t *sweep_figures_of(const struct simulation *s)
{
	json_t *o = json_object();
	record_states states;
	if (!o)
		return NULL;
#define FIGURE(type, field, path, unit, doc) json_object_set_new(o, path, json_##type(s->account.field));
#include "sim/report.def"
	memcpy(states, s->account.states, sizeof states);
	put_states(o, states);
	json_object_set_new(o, "instructions", json_UINT(s->request.program->ninsns));
	return o;
}

static void put_sums(json_t *o, const struct model_figures *f)
{
	record_states states;
#define FIGURE(field, member) json_object_set_new(o, #member, json_real(f->field));
#include "sim/model/figures.def"
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		for (unsigned i = 0; i < NPU_STATES; i++)
			states[e][i] = (uint64_t)llround(f->states[e][i]);
	put_states(o, states);
}

static void put_path(json_t *o, const json_t *fields, const char *field, const char *path, enum sweep_type type)
{
	json_t *value = json_object_get(fields, field);
	if (value && type == SWEEP_UINT)
		json_object_set_new(o, path, json_integer((json_int_t)llround(json_real_value(value))));
	else if (value)
		json_object_set(o, path, value);
}

/* Sums under the names that runs have: of a field of struct account, its path. */
static json_t *by_path(const json_t *fields)
{
	json_t *o = json_object();
#define FIGURE(type, field, path, unit, doc) put_path(o, fields, #field, path, SWEEP_##type);
#include "sim/report.def"
	const char *name;
	json_t *value;
	json_object_foreach((json_t *)fields, name, value) if (strncmp(name, "engines.", 8) == 0)
	    json_object_set(o, name, value);
	return o;
}

json_t *sweep_figures_of_step(const struct model_step *s)
{
	const struct model_figures *f = &s->total;
	json_t *fields = json_object();
	put_sums(fields, f);
	json_t *o = by_path(fields);
	json_decref(fields);
	const struct hw *hw = &s->config->hw;
	double us = f->cycles / hw->npu.clock_mhz, bytes = f->dram_read_bytes + f->dram_write_bytes;
	double tokens = (double)model_tokens(s->ask), each = tokens / s->ask->batch;
	json_object_set_new(o, "time_us", json_REAL(us));
	json_object_set_new(o, "mac_utilization", json_REAL(model_ratio(f->array_cycles, f->cycles)));
	json_object_set_new(o, "matrix_active_fraction",
			    json_REAL(model_ratio(model_figures_active(f, NPU_ENGINE_MATRIX), f->cycles)));
	json_object_set_new(o, "overlap.hidden_fraction", json_REAL(model_ratio(f->both, f->both + f->dma_only)));
	double gb_per_s = model_ratio(bytes * 1e-3, us);
	json_object_set_new(o, "dram.gb_per_s", json_REAL(gb_per_s));
	json_object_set_new(o, "dram.peak_gb_per_s", json_REAL(model_peak_gb_per_s(hw)));
	json_object_set_new(o, "dram.peak_fraction", json_REAL(model_peak_fraction(hw, gb_per_s)));
	json_object_set_new(o, "ridge_macs_per_byte", json_REAL(model_ridge(hw)));
	json_object_set_new(o, "macs_per_dram_byte", json_REAL(model_ratio(f->macs, bytes)));
	json_object_set_new(o, "sram.peak_bytes", json_UINT(f->sram_peak_bytes));
	json_object_set_new(o, "accum.peak_bytes", json_UINT(f->accum_peak_bytes));
	json_object_set_new(o, "bound", json_TEXT(model_figures_bound(f)));
	json_object_set_new(o, "instructions", json_UINT((uint64_t)llround(f->instructions)));
	json_object_set_new(o, "tokens_per_s", json_REAL(model_ratio(tokens * 1e6, us)));
	json_object_set_new(o, "ms_per_token", json_REAL(model_ratio(us * 1e-3, each)));
	json_object_set_new(o, "uj_per_token", json_REAL(model_ratio(f->energy_total_uj, tokens)));
	return o;
}
