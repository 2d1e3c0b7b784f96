/* SPDX-License-Identifier: Apache-2.0 */
/* `npusim.report/1`: report.def walked from top to bottom. */
#include "sim/report_json.h"

#include "isa/plain.h"
#include "sim/budget.h"
#include "sim/facts.h"
#include "sim/critical.h"
#include "sim/insn_work.h"
#include "sim/memory_plugin.h"
#include "sim/values.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static json_t *json_UINT(uint64_t value) { return json_integer((json_int_t)value); }

static json_t *json_REAL(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *json_TEXT(const char *text) { return json_string(text); }

json_t *report_json_text(const char *text)
{
	size_t length = strlen(text), size = length * NPU_PLAIN_CHAR + 1;
	char *shown = malloc(size);
	if (!shown)
		return NULL;
	npu_plain(text, length, shown, size);
	json_t *value = json_string(shown);
	free(shown);
	return value;
}

/* Puts a value at "a.b.c", making objects on the way. The value is consumed. */
static bool put(json_t *object, const char *path, json_t *value)
{
	const char *dot = strchr(path, '.');
	if (!dot)
		return json_object_set_new(object, path, value) == 0;
	char name[64];
	snprintf(name, sizeof(name), "%.*s", (int)(dot - path), path);
	json_t *inner = json_object_get(object, name);
	if (!inner) {
		inner = json_object();
		if (json_object_set_new(object, name, inner) != 0) {
			json_decref(value);
			return false;
		}
	}
	return put(inner, dot + 1, value);
}

json_t *report_json(const struct simulation *s)
{
	const struct account *a = &s->account;
	json_t *root = json_object();
	bool ok = root != NULL;
#define FIGURE(type, field, path, unit, doc) ok = ok && put(root, path, json_##type(a->field));
#define BEGIN(path, writer, type, unit, doc) ok = ok && put(root, path, report_json_##writer(s));
#include "sim/report.def"
	if (ok)
		return root;
	json_decref(root);
	return NULL;
}

bool report_json_print(const json_t *value, FILE *out)
{
	return json_dumpf(value, out, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) == 0 && fputc('\n', out) != EOF;
}

bool report_write_json(const struct simulation *s, FILE *out, struct npu_error *err)
{
	json_t *root = report_json(s);
	if (!root)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory for the report");
	bool ok = report_json_print(root, out);
	json_decref(root);
	return ok || npu_fail(err, NPU_ERR_IO, "the report cannot be written");
}

json_t *report_json_schema(const struct simulation *s)
{
	(void)s;
	return json_string("npusim.report/1");
}

json_t *report_json_tool(const struct simulation *s)
{
	(void)s;
	return json_string("npusim " NPUSIM_VERSION);
}

json_t *report_json_command(const struct simulation *s)
{
	const struct simulation_request *r = &s->request;
	char *text = NULL, word[32];
	size_t size;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	fprintf(out, "%s %s", r->command, r->subject);
	for (unsigned i = 0; r->kernel && r->args && i < r->kernel->nparams; i++)
		fprintf(out, " %s=%s", r->kernel->params[i].name, simulate_arg_text(r->kernel, r->args, i, word));
	for (unsigned i = 0; r->macro && i < r->macro->nparams; i++)
		fprintf(out, " %s=%s", r->macro->params[i].name, r->macro->params[i].value);
	json_t *command = json_object();
	json_object_set_new(command, "subcommand", json_string(r->command));
	json_object_set_new(command, "subject", report_json_text(r->subject));
	json_object_set_new(command, "line", fclose(out) == 0 ? report_json_text(text) : NULL);
	if (r->memory)
		json_object_set_new(command, "memory", report_json_text(r->memory->name));
	free(text);
	return command;
}

json_t *report_json_params(const struct simulation *s)
{
	return report_json_args(s->request.kernel, s->request.args, s->request.macro);
}

json_t *report_json_args(const struct npu_kernel *kernel, const struct npu_args *args, const struct npu_macro *macro)
{
	char word[32];
	json_t *params = json_object();
	for (unsigned i = 0; kernel && args && i < kernel->nparams; i++) {
		json_t *value = kernel->params[i].type == NPU_PARAM_INT
					? json_integer(args->value[i])
					: json_string(simulate_arg_text(kernel, args, i, word));
		json_object_set_new(params, kernel->params[i].name, value);
	}
	for (unsigned i = 0; macro && i < macro->nparams; i++) {
		const char *text = macro->params[i].value;
		char *end;
		long long number = strtoll(text, &end, 10);
		json_object_set_new(params, macro->params[i].name, *end ? report_json_text(text) : json_integer(number));
	}
	return params;
}

json_t *report_json_ideal(const struct simulation *s)
{
	json_t *parts = json_array();
	for (unsigned bit = 0; simulate_ideal_name(bit); bit++)
		if (s->request.ideal & 1u << bit)
			json_array_append_new(parts, json_string(simulate_ideal_name(bit)));
	return parts;
}

json_t *report_json_program(const struct simulation *s)
{
	const struct npu_program *p = s->request.program;
	char hash[20];
	snprintf(hash, sizeof(hash), "%016" PRIx64, p->hash);
	json_t *program = json_object();
	json_object_set_new(program, "name", report_json_text(p->name));
	json_object_set_new(program, "hash", json_string(hash));
	json_object_set_new(program, "instructions", json_UINT(p->ninsns));
	return program;
}

json_t *report_json_states(const uint64_t states[NPU_STATES], bool all_stalls)
{
	json_t *engine = json_object(), *stalls = json_object();
	json_object_set_new(engine, "active", json_UINT(account_active(states)));
	json_object_set_new(engine, "busy", json_UINT(states[NPU_STATE_BUSY]));
	json_object_set_new(engine, "idle", json_UINT(states[NPU_STATE_IDLE]));
	for (unsigned i = 0; i < NPU_STATES; i++)
		if (account_state_is_stall((enum npu_state)i) && (all_stalls || states[i] > 0))
			json_object_set_new(stalls, account_state_name((enum npu_state)i), json_UINT(states[i]));
	json_object_set_new(engine, "stalls", stalls);
	return engine;
}

json_t *report_json_engines(const struct simulation *s)
{
	const struct account *a = &s->account;
	json_t *engines = json_object();
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		json_t *engine = report_json_states(a->states[e], true);
		json_object_set_new(engine, "instructions", json_UINT(a->instructions[e]));
		json_object_set_new(engines, npu_engine_name((enum npu_engine)e), engine);
	}
	return engines;
}

/* "queue_full_load" is shown as queue_full.load: one number an engine. */
json_t *report_json_sequencer(const struct simulation *s)
{
	static const char full[] = "queue_full_";
	json_t *sequencer = json_object();
	for (unsigned i = 0; i < NPU_SEQ_STATES; i++) {
		const char *name = account_sequencer_name((enum npu_seq_state)i);
		char path[64];
		if (strncmp(name, full, sizeof(full) - 1) == 0)
			snprintf(path, sizeof(path), "queue_full.%s", name + sizeof(full) - 1);
		else
			snprintf(path, sizeof(path), "%s", name);
		put(sequencer, path, json_UINT(s->account.sequencer[i]));
	}
	return sequencer;
}

static json_t *insn_json(const struct insn_facts *f, const struct insn_work *work, const struct critical_enabled *enabled)
{
	json_t *row = json_object(), *stalls = json_object();
	json_object_set_new(row, "engine", json_string(npu_engine_name(f->event->engine)));
	json_object_set_new(row, "text", report_json_text(f->text));
	json_object_set_new(row, "source", report_json_text(f->source));
	json_object_set_new(row, "region", report_json_text(f->region));
	json_object_set_new(row, "dram_bytes", json_UINT(f->bytes));
	json_object_set_new(row, "macs", json_UINT(f->macs));
	json_object_set_new(row, "bursts", json_UINT(work->bursts));
	json_object_set_new(row, "granule_bytes", json_UINT(work->granule_bytes));
	json_object_set_new(row, "rearranged_bytes", json_UINT(work->rearranged_bytes));
	json_object_set_new(row, "m", json_UINT(work->m));
	json_object_set_new(row, "n", json_UINT(work->n));
	json_object_set_new(row, "k", json_UINT(work->k));
	json_object_set_new(row, "drain", json_UINT(work->drain));
	json_object_set_new(row, "issued", json_UINT(f->event->issued));
	json_object_set_new(row, "ready", json_UINT(f->event->head));
	json_object_set_new(row, "start", json_UINT(f->event->start));
	json_object_set_new(row, "end", json_UINT(f->event->end));
	json_object_set_new(row, "enabled", json_string(critical_enabler_name(enabled->by)));
	json_object_set_new(row, "enabled_by", enabled->insn == PROBE_NOBODY ? json_null() : json_UINT(enabled->insn));
	json_object_set_new(row, "busy", json_UINT(f->states[NPU_STATE_BUSY]));
	for (unsigned k = 0; k < NPU_STATES; k++)
		if (account_state_is_stall((enum npu_state)k) && f->states[k] > 0)
			json_object_set_new(stalls, account_state_name((enum npu_state)k), json_UINT(f->states[k]));
	json_object_set_new(row, "stalls", stalls);
	return row;
}

json_t *report_json_instructions(const struct simulation *s)
{
	json_t *rows = json_array();
	struct insn_works works = { 0 };
	struct facts *facts = s->request.want_insns ? calloc(1, sizeof(*facts)) : NULL;
	bool ok = facts && facts_init(facts, s) && insn_works_init(&works, s);
	for (uint32_t i = 0; ok && i < s->request.program->ninsns; i++) {
		struct insn_facts f = facts_of(facts, i);
		struct insn_work work = insn_works_next(&works, i);
		json_array_append_new(rows, insn_json(&f, &work, &s->critical->enabled[i]));
	}
	insn_works_fini(&works);
	if (facts)
		facts_fini(facts);
	free(facts);
	return rows;
}

json_t *report_json_buffers(const struct simulation *s)
{
	return s->request.want_insns ? budget_json(s->request.program) : json_array();
}

/* The wait of an instruction that its engine stood still for: of those on that poster, the one that was satisfied last. */
static uint32_t waited_for(const struct simulation *s, uint32_t i, enum npu_engine poster)
{
	const struct npu_insn *insn = &s->request.program->insns[i];
	const struct probe_insn *events = s->record.events;
	uint32_t found = UINT32_MAX;
	uint64_t last = 0;
	for (unsigned w = 0; w < NPU_SYNC_SLOTS; w++) {
		uint32_t by = events[i].enabled_by[w];
		if (insn->wait[w].count == 0 || s->request.program->sems[insn->wait[w].sem].poster != poster)
			continue;
		uint64_t end = by == PROBE_NOBODY ? 0 : events[by].end;
		if (found == UINT32_MAX || end > last) {
			found = insn->wait[w].sem;
			last = end;
		}
	}
	return found;
}

json_t *report_json_semaphores(const struct simulation *s)
{
	static const struct {
		enum npu_state state;
		enum npu_engine poster;
	} waits[] = { { NPU_STATE_WAIT_LOAD, NPU_ENGINE_LOAD },     { NPU_STATE_WAIT_STORE, NPU_ENGINE_STORE },
		      { NPU_STATE_WAIT_MATRIX, NPU_ENGINE_MATRIX }, { NPU_STATE_WAIT_VECTOR, NPU_ENGINE_VECTOR } };
	const struct npu_program *p = s->request.program;
	json_t *rows = json_array();
	struct insn_states states = { 0 };
	uint64_t *cycles = s->request.want_insns ? calloc(p->nsems + 1u, sizeof(*cycles)) : NULL;
	bool ok = cycles && insn_states_init(&states, &s->record);
	for (uint32_t i = 0; ok && i < p->ninsns; i++) {
		uint64_t of[NPU_STATES] = { 0 };
		insn_states_of(&states, i, of);
		for (unsigned w = 0; w < sizeof(waits) / sizeof(waits[0]); w++) {
			uint32_t sem = of[waits[w].state] > 0 ? waited_for(s, i, waits[w].poster) : UINT32_MAX;
			if (sem != UINT32_MAX)
				cycles[sem] += of[waits[w].state];
		}
	}
	for (uint32_t i = 0; ok && i < p->nsems; i++) {
		const struct npu_sem *sem = &p->sems[i];
		json_t *row = json_object();
		json_object_set_new(row, "name", report_json_text(sem->name));
		json_object_set_new(row, "poster", json_string(sem->poster < NPU_ENGINES ? npu_engine_name(sem->poster) : ""));
		json_object_set_new(row, "waiter", json_string(sem->waiter < NPU_ENGINES ? npu_engine_name(sem->waiter) : ""));
		json_object_set_new(row, "initial", json_UINT(sem->initial));
		json_object_set_new(row, "wait_cycles", json_UINT(cycles[i]));
		json_array_append_new(rows, row);
	}
	if (ok)
		insn_states_fini(&states);
	free(cycles);
	return rows;
}

json_t *report_json_tensors(const struct simulation *s)
{
	const struct traffic *t = &s->account.traffic;
	json_t *rows = json_array();
	for (uint32_t i = 0; i < t->nrows; i++) {
		const struct traffic_row *r = &t->rows[i];
		double rereads = r->unique_bytes > 0 ? (double)r->read_bytes / (double)r->unique_bytes : NAN;
		json_t *row = json_object();
		json_object_set_new(row, "name", report_json_text(r->name));
		json_object_set_new(row, "read_bytes", json_UINT(r->read_bytes));
		json_object_set_new(row, "write_bytes", json_UINT(r->write_bytes));
		json_object_set_new(row, "unique_bytes", json_UINT(r->unique_bytes));
		json_object_set_new(row, "rereads", json_REAL(rereads));
		json_array_append_new(rows, row);
	}
	return rows;
}

json_t *report_json_regions(const struct simulation *s)
{
	const struct account *a = &s->account;
	json_t *rows = json_array();
	for (uint32_t i = 0; i < a->nregions; i++) {
		const struct account_region *r = &a->regions[i];
		json_t *row = json_object(), *engines = json_object();
		json_object_set_new(row, "name", report_json_text(r->name));
		json_object_set_new(row, "instructions", json_UINT(r->instructions));
		json_object_set_new(row, "macs", json_UINT(r->macs));
		json_object_set_new(row, "dram_read_bytes", json_UINT(r->dram_read_bytes));
		json_object_set_new(row, "dram_write_bytes", json_UINT(r->dram_write_bytes));
		for (unsigned e = 0; e < NPU_ENGINES; e++)
			json_object_set_new(engines, npu_engine_name((enum npu_engine)e), report_json_states(r->states[e], false));
		json_object_set_new(row, "engines", engines);
		json_array_append_new(rows, row);
	}
	return rows;
}

json_t *report_json_values(const struct simulation *s)
{
	return values_json(s->request.values);
}
