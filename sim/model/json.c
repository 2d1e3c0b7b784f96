/* SPDX-License-Identifier: Apache-2.0 */
/* npusim.model/1; report.def says what each key is. */
#include "sim/model/report.h"
#include "sim/report_json.h"

#include <math.h>

static void put(json_t *object, const char *key, json_t *value) { json_object_set_new(object, key, value); }

static void put_real(json_t *object, const char *key, double value)
{
	put(object, key, isfinite(value) ? json_real(value) : json_null());
}

static void put_uint(json_t *object, const char *key, uint64_t value)
{
	put(object, key, json_integer((json_int_t)value));
}

static json_t *engines_json(const struct model_figures *f)
{
	json_t *engines = json_object();
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		json_t *engine = json_object(), *stalls = json_object();
		put_real(engine, "active", model_figures_active(f, (enum npu_engine)e));
		put_real(engine, "busy", f->states[e][NPU_STATE_BUSY]);
		put_real(engine, "idle", f->states[e][NPU_STATE_IDLE]);
		for (unsigned i = 0; i < NPU_STATES; i++)
			if (account_state_is_stall((enum npu_state)i) && f->states[e][i] > 0)
				put_real(stalls, account_state_name((enum npu_state)i), f->states[e][i]);
		put(engine, "stalls", stalls);
		put(engines, npu_engine_name((enum npu_engine)e), engine);
	}
	return engines;
}

static void put_figures(json_t *row, const struct model_figures *f, const struct hw *hw)
{
	double us = f->cycles / hw->npu.clock_mhz, moved = f->both + f->dma_only;
	double gb = model_ratio(f->dram_read_bytes + f->dram_write_bytes, us * 1e3);
	put_real(row, "cycles", f->cycles);
	put_real(row, "time_us", us);
	put_real(row, "instructions", f->instructions);
	put_real(row, "macs", f->macs);
	put_real(row, "useful_macs", f->useful_macs);
	put_real(row, "mac_utilization", model_ratio(f->array_cycles, f->cycles));
	put_real(row, "matrix_active_fraction", model_ratio(model_figures_active(f, NPU_ENGINE_MATRIX), f->cycles));
	put_real(row, "hidden_fraction", moved > 0 ? f->both / moved : NAN);
	put_real(row, "dram_read_bytes", f->dram_read_bytes);
	put_real(row, "dram_write_bytes", f->dram_write_bytes);
	put_real(row, "dram_bus_bytes", f->dram_bus_bytes);
	put_real(row, "dram_gb_per_s", gb);
	put_real(row, "dram_peak_fraction", model_peak_fraction(hw, gb));
	put_real(row, "energy_uj", f->energy_total_uj);
	put(row, "bound", json_string(model_figures_bound(f)));
	put(row, "engines", engines_json(f));
}

static json_t *dims_json(const struct transformer *t)
{
	json_t *model = json_object();
	put(model, "name", report_json_text(t->name));
	put(model, "family", report_json_text(t->family));
	put_uint(model, "parameters", model_parameters(t));
	put_uint(model, "active_parameters", model_active_parameters(t));
	put_uint(model, "layers", t->layers);
	put_uint(model, "hidden", t->hidden);
	put_uint(model, "heads", t->heads);
	put_uint(model, "kv_heads", t->kv_heads);
	put_uint(model, "head_dim", t->head_dim);
	put_uint(model, "intermediate", t->intermediate);
	put_uint(model, "vocab", t->vocab);
	put_uint(model, "experts", t->experts);
	put_uint(model, "window", t->window);
	put_uint(model, "latent", t->kv_rank + (t->kv_rank ? t->rope_dim : 0));
	return model;
}

static json_t *memory_json(const struct model_step *s)
{
	json_t *memory = json_object();
	put_uint(memory, "weight_bytes", s->weight_bytes);
	put_uint(memory, "kv_bytes", s->kv_bytes);
	put_uint(memory, "activation_bytes", s->activation_bytes);
	put_uint(memory, "total_bytes", s->weight_bytes + s->kv_bytes + s->activation_bytes);
	put_uint(memory, "dram_bytes", s->dram_bytes);
	return memory;
}

static json_t *energy_json(const struct model_figures *f)
{
	json_t *energy = json_object();
	put_real(energy, "total_uj", f->energy_total_uj);
	put_real(energy, "mac_uj", f->energy_mac_uj);
	put_real(energy, "vector_uj", f->energy_vector_uj);
	put_real(energy, "sram_uj", f->energy_sram_uj);
	put_real(energy, "accum_uj", f->energy_accum_uj);
	put_real(energy, "dram_uj", f->energy_dram_uj);
	put_real(energy, "idle_uj", f->energy_idle_uj);
	return energy;
}

static json_t *operators_json(const struct model_step *s)
{
	json_t *rows = json_array();
	for (unsigned i = 0; i < s->plan.nops; i++) {
		const struct model_op *op = &s->plan.ops[i];
		const struct model_section *section = &s->plan.sections[op->section];
		const struct model_step_op *r = &s->ops[i];
		json_t *row = json_object();
		put(row, "name", json_string(op->name));
		put(row, "section", json_string(section->name));
		put(row, "kernel", json_string(op->kernel));
		put(row, "params", report_json_args(s->runs[i].kernel, &s->runs[i].args, NULL));
		put_uint(row, "count", (uint64_t)op->repeat * section->count);
		put(row, "drawn_out", json_boolean(s->runs[i].lengths[2] > 0));
		put_uint(row, "sram_peak_bytes", r->total.sram_peak_bytes);
		put_uint(row, "accum_peak_bytes", r->total.accum_peak_bytes);
		put_figures(row, &r->total, &s->config->hw);
		json_array_append_new(rows, row);
	}
	return rows;
}

static json_t *layers_json(const struct model_step *s)
{
	json_t *rows = json_array();
	for (uint32_t l = 0; l < s->dims->layers; l++) {
		json_t *row = json_object();
		put_uint(row, "layer", l);
		put(row, "section", json_string(s->plan.sections[s->plan.section_of[l]].name));
		put_figures(row, &s->layers[l], &s->config->hw);
		json_array_append_new(rows, row);
	}
	return rows;
}

static json_t *hw_json(const struct config *config)
{
	struct simulation machine = { .request = { .hw = &config->hw, .dram_part = config->dram_part, .title = config->title,
						   .preset = config->preset, .changes = config->changes } };
	return report_json_hw(&machine);
}

json_t *model_report_json(const struct model_step *s, const char *command, json_t *params)
{
	const struct model_figures *f = &s->total;
	const struct hw *hw = &s->config->hw;
	json_t *root = json_object(), *words = json_object(), *notes = json_array(), *total = json_object();
	double us = f->cycles / hw->npu.clock_mhz;
	put(root, "schema", json_string("npusim.model/1"));
	put(root, "tool", json_string("npusim " NPUSIM_VERSION));
	put(words, "subcommand", json_string("model"));
	put(words, "subject", report_json_text(s->dims->name));
	put(words, "line", report_json_text(command));
	put(root, "command", words);
	put(root, "params", params);
	put(root, "model", dims_json(s->dims));
	put(root, "hw", hw_json(s->config));
	put(root, "exact", json_boolean(s->exact));
	put_uint(root, "runs", s->njobs);
	for (unsigned i = 0; i < s->plan.nnotes; i++)
		json_array_append_new(notes, json_string(s->plan.notes[i]));
	put(root, "notes", notes);
	put_uint(root, "tokens", model_tokens(s->ask));
	put_real(root, "tokens_per_s", (double)model_tokens(s->ask) / us * 1e6);
	put_real(root, "macs_per_dram_byte", model_ratio(f->macs, f->dram_read_bytes + f->dram_write_bytes));
	put_real(root, "ridge_macs_per_byte", model_ridge(hw));
	put(root, "memory", memory_json(s));
	put(root, "energy", energy_json(f));
	put_figures(total, f, hw);
	put(root, "total", total);
	put(root, "operators", operators_json(s));
	put(root, "layers", layers_json(s));
	return root;
}
